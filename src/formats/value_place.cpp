#include "formats/value_place.hpp"

#include <algorithm>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// Each byte has a digit to the base 64, the least significant first. The bit kMore is set if another digit follows.
constexpr unsigned kDigitBits = 6, kDigit = (1u << kDigitBits) - 1, kMore = 64, kByte = 128;
/// The byte after the last place.
constexpr std::byte kMarkEnd{'~'};
/// Bits that are stored with the size of a value.
constexpr unsigned kQuoted = 1, kNull = 2, kFlags = 4;
/// Smaller first numbers of a place are a Flaw. This number is added to the offsets of values.
constexpr std::uint64_t kFirstOffset = static_cast<std::uint64_t>(ValuePlace::Flaw::kInSum) + 1;

[[noreturn]] void FailMark() { throw WrongResult("a record lost the places of the values that --sum adds"); }

void PutNumber(std::uint64_t value, std::vector<std::byte>& out) {
  for (; value > kDigit; value >>= kDigitBits) {
    out.push_back(static_cast<std::byte>(kByte | kMore | (value & kDigit)));
  }
  out.push_back(static_cast<std::byte>(kByte | value));
}

std::uint64_t TakeNumber(RecordSpan& mark) {
  constexpr unsigned kBits = 64;
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += kDigitBits) {
    const unsigned byte = mark.empty() ? 0 : static_cast<unsigned>(mark[0]);
    if (byte < kByte || shift >= kBits) FailMark();
    mark = mark.subspan(1);
    value |= static_cast<std::uint64_t>(byte & kDigit) << shift;
    if ((byte & kMore) == 0) return value;
  }
}

}  // namespace

void ValuePlace::Append(std::vector<std::byte>& mark) const {
  PutNumber(known ? at + kFirstOffset : static_cast<std::uint64_t>(flaw), mark);
  if (known) PutNumber(kFlags * size + (quoted ? kQuoted : 0) + (null ? kNull : 0), mark);
}

ValuePlace ValuePlace::Take(RecordSpan& mark) {
  ValuePlace place;
  const std::uint64_t at = TakeNumber(mark);
  place.known = at >= kFirstOffset;
  if (!place.known) {
    place.flaw = static_cast<Flaw>(at);
    return place;
  }
  place.at = at - kFirstOffset;
  const std::uint64_t size = TakeNumber(mark);
  place.size = size / kFlags;
  place.quoted = (size & kQuoted) != 0;
  place.null = (size & kNull) != 0;
  return place;
}

void EndMark(std::vector<std::byte>& mark) { mark.push_back(kMarkEnd); }

MarkedRecord::MarkedRecord(RecordSpan marked) {
  const auto end = std::ranges::find_if(marked, [](std::byte byte) { return static_cast<unsigned>(byte) < kByte; });
  if (end == marked.end() || *end != kMarkEnd) FailMark();
  const auto size = static_cast<std::size_t>(end - marked.begin());
  mark = marked.first(size);
  record = marked.subspan(size + 1);
}

}  // namespace gpusort

#include "formats/input_place.hpp"

#include <cstring>

#include "formats/key_bytes.hpp"

namespace gpusort {
namespace {

using keys::kBase;
using keys::kFirstDigit;

/// Appends the number of digits and then the digits of `value`, the most significant first. No byte needs an escape.
void PutNumber(std::uint64_t value, std::vector<std::byte>& out) {
  constexpr std::size_t kMost = 9;
  unsigned char digits[kMost];
  std::size_t count = 0;
  for (; value > 0; value /= kBase) digits[kMost - ++count] = static_cast<unsigned char>(kFirstDigit + value % kBase);
  out.push_back(static_cast<std::byte>(kFirstDigit + count));
  for (std::size_t i = kMost - count; i < kMost; ++i) out.push_back(static_cast<std::byte>(digits[i]));
}

[[noreturn]] void FailPlace() { throw WrongResult("a record lost its place in the input"); }

std::uint64_t TakeNumber(RecordSpan& rest) {
  const auto next = [&rest] {
    if (rest.empty() || static_cast<unsigned>(rest[0]) < kFirstDigit) FailPlace();
    const unsigned digit = static_cast<unsigned>(rest[0]) - kFirstDigit;
    rest = rest.subspan(1);
    return digit;
  };
  std::uint64_t value = 0;
  for (unsigned count = next(); count > 0; --count) value = value * kBase + next();
  return value;
}

/// Returns the keyed record from its place on: without the byte of flags and the sort key.
RecordSpan FromPlace(RecordSpan record) {
  constexpr std::size_t kFlags = 2;
  const std::byte* const end =
      record.size() < kFlags ? nullptr
                             : detail::FindDelimiter(record.data() + kFlags, record.data() + record.size(), kKeyEnd);
  if (end == nullptr) FailPlace();
  return record.subspan(static_cast<std::size_t>(end - record.data()) + 1);
}

}  // namespace

void InputPlace::Append(std::vector<std::byte>& out) const {
  PutNumber(input, out);
  PutNumber(offset, out);
  out.push_back(static_cast<std::byte>(kKeyEnd));
}

InputPlace InputPlace::Of(RecordSpan record) {
  RecordSpan rest = FromPlace(record);
  InputPlace place;
  place.input = TakeNumber(rest);
  place.offset = TakeNumber(rest);
  return place;
}

std::span<std::byte> KeysToPlaces(std::span<std::byte> records) {
  constexpr std::size_t kFlags = 2;
  std::byte* to = records.data();
  ForEachRecord(records, PlacedLayout(), [&to](RecordSpan record) {
    const RecordSpan rest = FromPlace(record);
    std::memmove(to, record.data(), kFlags);
    std::memmove(to + kFlags, rest.data(), rest.size());
    to += kFlags + rest.size();
  });
  return records.first(static_cast<std::size_t>(to - records.data()));
}

RecordLayout PlacedLayout() {
  RecordLayout layout;
  layout.delimiter = '\n';
  layout.keys = kTableKeys;
  return layout;
}

void AppendWithPlaceOf(RecordSpan placed, RecordSpan record, std::vector<std::byte>& out) {
  const std::size_t begin = out.size();
  const RecordSpan place = placed.first(placed.size() - FromPlace(placed).size());
  out.insert(out.end(), place.begin(), place.end());
  out[begin] = std::byte{kKeyedHead};
  StoreBody(record, begin, out);
}

}  // namespace gpusort

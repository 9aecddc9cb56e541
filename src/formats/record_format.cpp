#include "formats/record_format.hpp"

#include <algorithm>
#include <cstring>

#include "formats/text_reader.hpp"

namespace gpusort {

std::optional<std::uint64_t> RecordFormat::ByteOrderMark(RecordSpan front, bool all) {
  if (front.size() < kByteOrderMark.size()) return all ? std::optional<std::uint64_t>(0) : std::nullopt;
  return std::memcmp(front.data(), kByteOrderMark.data(), kByteOrderMark.size()) == 0 ? kByteOrderMark.size() : 0;
}

RecordSpan RecordFormat::HeaderText(RecordSpan header) const {
  const RecordSpan text = header.subspan(*ByteOrderMark(header, true));
  return text.subspan(*prefixed_.BytesOf(text, true));
}

RecordSpan RecordFormat::PrefixedHeader(RecordSpan header) const {
  const RecordSpan text = header.subspan(*ByteOrderMark(header, true));
  return text.first(*prefixed_.BytesOf(text, true));
}

std::optional<std::uint64_t> PrefixedLines::BytesOf(RecordSpan front, bool all) const {
  std::uint64_t at = 0;
  const auto begins = [&](const std::string& prefix) {
    const std::size_t size = std::min(prefix.size(), front.size() - at);
    // The front may be empty, and memcmp takes no null pointer.
    return (size == 0 || std::memcmp(prefix.data(), front.data() + at, size) == 0) && (size == prefix.size() || !all);
  };
  while (std::ranges::any_of(prefixes, begins)) {
    const RecordSpan rest = front.subspan(at);
    const std::byte* const end = detail::FindDelimiter(rest.data(), rest.data() + rest.size(), delimiter);
    if (end == nullptr) return all ? std::optional<std::uint64_t>(front.size()) : std::nullopt;
    at = static_cast<std::uint64_t>(end - front.data()) + 1;
  }
  return at;
}

RecordFormat::Ends RecordFormat::ScanGuessed(RecordSpan bytes, ScanState& state, const Guess& guess) const {
  // Scans the bytes before the guess. If a record ends where the guess begins, the guess is right.
  const std::uint64_t front = guess.from > 0 ? guess.from : bytes.size();
  Ends ends = Scan(bytes.first(front), state);
  if (guess.from == 0) return ends;
  if (ends.last == front) {  // the guess is right
    state = guess.state;
    if (guess.last > 0) {
      ends.last = guess.last;
      ends.state = guess.at_last;
    }
    return ends;
  }
  Ends rest;
  try {
    rest = Scan(bytes.subspan(front), state);
  } catch (const BadRecord& bad) {
    throw BadRecord(front + bad.at(), bad.what());
  }
  if (rest.last > 0) {
    if (ends.first == 0) ends.first = front + rest.first;
    ends.last = front + rest.last;
    ends.state = rest.state;
  }
  return ends;
}

std::optional<std::uint64_t> PlainFormat::HeaderBytes(RecordSpan front, bool all) const {
  std::uint64_t bytes = 0;
  if (!prefixed_.prefixes.empty()) {
    const std::optional<std::uint64_t> mark = ByteOrderMark(front, all);
    if (!mark) return std::nullopt;
    const std::optional<std::uint64_t> prefixed = prefixed_.BytesOf(front.subspan(*mark), all);
    if (!prefixed) return std::nullopt;
    // A byte order mark before a record stays a part of the record, as without --header-prefix.
    if (*prefixed > 0) bytes = *mark + *prefixed;
  }
  for (std::uint64_t lines = 0; lines < header_lines_; ++lines) {
    const std::uint64_t line = FirstRecordBytes(front.subspan(bytes), layout_);
    if (line == 0) return all ? std::optional<std::uint64_t>(front.size()) : std::nullopt;
    bytes += line;
  }
  return bytes;
}

std::string PlainFormat::Ending(RecordSpan, RecordSpan tail) const {
  const bool ended = layout_.fixed() || tail.empty() || tail.back() == static_cast<std::byte>(layout_.delimiter);
  return std::string(ended ? 0 : 1, static_cast<char>(layout_.delimiter));
}

RecordFormat::Ends PlainFormat::Scan(RecordSpan bytes, ScanState&) const {
  return {FirstRecordBytes(bytes, layout_), WholeRecordBytes(bytes, layout_), {}};
}

}  // namespace gpusort

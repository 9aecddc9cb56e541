#include "data/record_keyer.hpp"

#include <utility>

namespace gpusort {

void KeyTally::Seen::Add(const Seen& later, std::uint64_t before) {
  if (count == 0 && later.count > 0) {
    input = later.input;
    record = before + later.record;
  }
  count += later.count;
}

void KeyTally::Add(const KeyTally& later) {
  constexpr std::size_t kMostSamples = 100;
  if (std::exchange(input, later.input) != later.input) record = 0;
  columns.resize(std::max(columns.size(), later.columns.size()));
  for (std::size_t i = 0; i < later.columns.size(); ++i) {
    Column& column = columns[i];
    const Column& more = later.columns[i];
    column.bad.Add(more.bad, record);
    if (column.days.count == 0) column.day = more.day;
    column.days.Add(more.days, record);
    column.nulls += more.nulls;
    column.missing += more.missing;
    column.any |= more.any;
    for (const std::string& sample : more.samples) {
      if (column.samples.size() < kMostSamples) column.samples.push_back(sample);
    }
    column.values += more.values;
    column.looks_like &= more.looks_like;
  }
  short_records += later.short_records;
  lacks_zone |= later.lacks_zone;
  if (other_width.count == 0) first_width = later.first_width;
  other_width.Add(later.other_width, record);
  glued.Add(later.glued, record);
  if (example.empty()) example = later.example;
  delimiter = later.delimiter;
  record += later.record;
}

void StoreBody(RecordSpan record, std::size_t begin, std::vector<std::byte>& out) {
  constexpr std::byte kNewline{'\n'}, kEscape{detail::kBodyEscape};
  const bool ended = !record.empty() && record.back() == kNewline;
  RecordSpan inside = ended ? record.first(record.size() - 1) : record;
  if (ended && std::memchr(inside.data(), '\n', inside.size()) == nullptr) {
    out.insert(out.end(), record.begin(), record.end());
    return;
  }
  out[begin] |= std::byte{kEscapedBody};
  for (const std::byte byte : inside) {
    if (byte == kNewline || byte == kEscape) {
      const char code = byte == kNewline ? detail::kBodyNewline : detail::kBodyItself;
      out.insert(out.end(), {kEscape, static_cast<std::byte>(code)});
    } else {
      out.push_back(byte);
    }
  }
  if (!ended) out.insert(out.end(), {kEscape, static_cast<std::byte>(detail::kBodyNoNewline)});
  out.push_back(kNewline);
}

RecordSpan OwnBytes(RecordSpan record, const RecordLayout& layout, std::vector<std::byte>& scratch) {
  const RecordSpan body = Body(record, layout);
  if (!layout.keyed() || !HasEscapedBody(record)) return body;
  scratch.clear();
  BodyUnescaper().Add(body, [&](RecordSpan bytes) { scratch.insert(scratch.end(), bytes.begin(), bytes.end()); });
  return scratch;
}

std::span<std::byte> DropKeys(std::span<std::byte> records, const RecordLayout& layout) {
  std::byte* to = records.data();
  ForEachRecord(records, layout, [&](RecordSpan record) {
    const auto put = [&to](RecordSpan bytes) {
      std::memmove(to, bytes.data(), bytes.size());
      to += bytes.size();
    };
    const RecordSpan body = Body(record, layout);
    if (HasEscapedBody(record)) {
      BodyUnescaper().Add(body, put);
    } else {
      put(body);
    }
  });
  return records.first(static_cast<std::size_t>(to - records.data()));
}

}  // namespace gpusort

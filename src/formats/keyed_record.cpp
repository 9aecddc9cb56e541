#include "formats/keyed_record.hpp"

#include <memory>
#include <utility>

#include "formats/find_bytes.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

Order ByKeyField() {
  LineKey key;
  key.begin_field = key.end_field = 1;  // the field after the byte of flags
  LineOrder lines{{key}, kKeyEnd};
  lines.last_resort = false;
  Order order;
  order.lines = std::make_shared<LineOrdered>(std::move(lines));
  order.layout = MakeLineLayout('\n', order.lines->view);
  return order;
}

std::string FieldWriter::Unescape(RecordSpan record, std::size_t most) {
  std::string key;
  for (std::size_t i = 2; i < record.size() && key.size() < most; ++i) {
    const auto byte = static_cast<unsigned>(record[i]);
    if (byte == kKeyEnd) break;
    if (byte != kLow && byte != kNearNewline) {
      key += static_cast<char>(byte);
      continue;
    }
    if (++i == record.size()) break;
    key += static_cast<char>(static_cast<unsigned>(record[i]) - kLow + (byte == kLow ? 0 : kNearNewline));
  }
  return key;
}

void StoreBody(RecordSpan record, std::size_t begin, std::vector<std::byte>& out) {
  using Code = BodyUnescaper;
  constexpr std::byte kNewline{'\n'};
  const bool ended = !record.empty() && record.back() == kNewline;
  RecordSpan inside = ended ? record.first(record.size() - 1) : record;
  if (ended && std::memchr(inside.data(), '\n', inside.size()) == nullptr) {
    out.insert(out.end(), record.begin(), record.end());
    return;
  }
  out[begin] |= std::byte{kEscapedBody};
  const Byte* const end = AsBytes(inside.data()) + inside.size();
  for (const Byte* p = AsBytes(inside.data()); p != end;) {
    const Byte* const found = FindAny(p, end, '\n', Code::kEscape);
    const RecordSpan plain = RecordSpan(reinterpret_cast<const std::byte*>(p), static_cast<std::size_t>(found - p));
    out.insert(out.end(), plain.begin(), plain.end());
    p = found;
    if (p == end) break;
    out.insert(out.end(), {Code::kEscape, *p++ == '\n' ? Code::kNewlineCode : Code::kEscapeCode});
  }
  if (!ended) out.insert(out.end(), {Code::kEscape, Code::kNoNewlineCode});
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

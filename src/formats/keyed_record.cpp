#include "formats/keyed_record.hpp"

#include <bit>
#include <memory>
#include <utility>

#include "kernels/lines/fields.hpp"
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

namespace {

using BodyCode = BodyUnescaper;
constexpr std::byte kBodyEnd{'\n'};
constexpr std::size_t kCopyBlock = 16;  ///< the size of the blocks that are copied and searched at once

constexpr auto kBodyEscape = static_cast<unsigned char>(BodyCode::kEscape);

/// Copies [p, end) to `to` up to the first byte for which mask(block) has a bit. mask() gets a pointer to kCopyBlock
/// bytes and returns a bit for each of them. Moves `p` to this byte, or to `end`. Returns the end of the copy.
/// - begin: the first of the bytes before `p` that can be read
/// - to: memory for the copy and for kCopyBlock bytes more, which may overlap only bytes before `p`
template <typename Mask>
std::byte* CopyUntil(const std::byte* begin, const std::byte*& p, const std::byte* end, std::byte* to, Mask mask) {
  for (; end - p >= static_cast<std::ptrdiff_t>(kCopyBlock); p += kCopyBlock, to += kCopyBlock) {
    const std::uint32_t found = mask(p);
    std::memcpy(to, p, kCopyBlock);
    if (found == 0) continue;
    p += std::countr_zero(found);
    return to + std::countr_zero(found);
  }
  const auto rest = static_cast<std::size_t>(end - p);
  if (rest == 0) return to;
  std::uint32_t found = 0;
  if (end - begin >= static_cast<std::ptrdiff_t>(kCopyBlock)) {
    found = mask(end - kCopyBlock) >> (kCopyBlock - rest);
  } else {
    std::byte block[kCopyBlock] = {};
    std::memcpy(block, p, rest);
    found = mask(block) & ((1u << rest) - 1);
  }
  const std::size_t count = found == 0 ? rest : static_cast<std::size_t>(std::countr_zero(found));
  std::memmove(to, p, count);
  p += count;
  return to + count;
}

/// Copies the body of a keyed record to `to` without its escapes. Returns the end of the copy. At `to` there must be
/// kCopyBlock bytes more than the body has. The copy may lie before the body, at a distance of kCopyBlock bytes or
/// more.
std::byte* UnescapeBody(RecordSpan body, std::byte* to) {
  const std::byte* const begin = body.data();
  const std::byte* const end = begin + body.size();
  for (const std::byte* p = begin;;) {
    to = CopyUntil(begin, p, end, to,
                   [](const std::byte* block) { return detail::EqualMask16(AsBytes(block), kBodyEscape); });
    if (end - p < 2 || p[1] == BodyCode::kNoNewlineCode) return to;
    *to++ = p[1] == BodyCode::kNewlineCode ? kBodyEnd : BodyCode::kEscape;
    p += 2;
  }
}

}  // namespace

void StoreBody(RecordSpan record, std::size_t begin, std::vector<std::byte>& out) {
  const bool ended = !record.empty() && record.back() == kBodyEnd;
  RecordSpan inside = ended ? record.first(record.size() - 1) : record;
  if (ended && std::memchr(inside.data(), '\n', inside.size()) == nullptr) {
    out.insert(out.end(), record.begin(), record.end());
    return;
  }
  out[begin] |= std::byte{kEscapedBody};
  // Most records fit into one chunk. One call of insert() then appends all bytes.
  constexpr std::size_t kChunk = 512;
  std::byte made[2 * kChunk + kCopyBlock];
  do {
    const RecordSpan chunk = inside.first(std::min(kChunk, inside.size()));
    inside = inside.subspan(chunk.size());
    const std::byte* p = chunk.data();
    const std::byte* const end = p + chunk.size();
    std::byte* to = made;
    for (;;) {
      to = CopyUntil(chunk.data(), p, end, to, [](const std::byte* block) {
        return detail::EqualMask16(AsBytes(block), '\n') | detail::EqualMask16(AsBytes(block), kBodyEscape);
      });
      if (p == end) break;
      *to++ = BodyCode::kEscape;
      *to++ = *p++ == kBodyEnd ? BodyCode::kNewlineCode : BodyCode::kEscapeCode;
    }
    if (inside.empty()) {
      if (!ended) {
        *to++ = BodyCode::kEscape;
        *to++ = BodyCode::kNoNewlineCode;
      }
      *to++ = kBodyEnd;
    }
    out.insert(out.end(), made, to);
  } while (!inside.empty());
}

RecordSpan OwnBytes(RecordSpan record, const RecordLayout& layout, std::vector<std::byte>& scratch) {
  const RecordSpan body = Body(record, layout);
  if (!layout.keyed() || !HasEscapedBody(record)) return body;
  if (scratch.size() < body.size() + kCopyBlock) scratch.resize(body.size() + kCopyBlock);
  return {scratch.data(), UnescapeBody(body, scratch.data())};
}

std::span<std::byte> DropKeys(std::span<std::byte> records, const RecordLayout& layout) {
  std::byte* to = records.data();
  ForEachRecord(records, layout, [&](RecordSpan record) {
    const auto put = [&to](RecordSpan bytes) {
      std::memmove(to, bytes.data(), bytes.size());
      to += bytes.size();
    };
    const RecordSpan body = Body(record, layout);
    if (!HasEscapedBody(record)) {
      put(body);
    } else if (body.data() - to >= static_cast<std::ptrdiff_t>(kCopyBlock)) {
      to = UnescapeBody(body, to);
    } else {
      BodyUnescaper().Add(body, put);
    }
  });
  return records.first(static_cast<std::size_t>(to - records.data()));
}

}  // namespace gpusort

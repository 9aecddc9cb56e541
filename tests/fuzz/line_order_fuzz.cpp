// labels: brief
// Fuzzes the order of lines with arbitrary lines and keys. Byte 0 has the number of keys (3 bits), the separator (2
// bits), last resort and its reverse. Each key takes four bytes. The rest, cut at newlines, is lines. The order of any
// three lines must be consistent, and their encoded keys must have the order of CompareLines.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/lines/line_order.hpp"
#include "require.hpp"

namespace {

using namespace gpusort;

LineKey MakeKey(const std::uint8_t* bytes) {
  LineKey key;
  key.begin_field = bytes[0] & 3;
  key.begin_char = bytes[0] >> 2 & 3;
  const unsigned end = bytes[0] >> 4;
  if (end != 0) key.end_field = end & 3;
  key.end_char = end != 0 ? end >> 2 : 0;
  if (bytes[1] == 255) key.begin_field = key.begin_char = key.end_char = LineKey::kToEnd - 1;
  key.skip_start_blanks = (bytes[1] & 1) != 0;
  key.skip_end_blanks = (bytes[1] & 2) != 0;
  key.dictionary_order = (bytes[1] & 4) != 0;
  key.ignore_nonprinting = (bytes[1] & 8) != 0;
  key.fold_case = (bytes[1] & 16) != 0;
  key.reverse = (bytes[1] & 32) != 0;
  key.ordering = static_cast<LineOrdering>(bytes[2] % 7);
  // GNU sort accepts these letters with no other ordering, and neither does ResolveKeys.
  const bool ignores = key.ordering == LineOrdering::kBytes || key.ordering == LineOrdering::kVersion ||
                       key.ordering == LineOrdering::kRandom;
  key.dictionary_order &= ignores;
  key.ignore_nonprinting &= ignores;
  return key;
}

const Byte* Data(const std::string& line) { return reinterpret_cast<const Byte*>(line.data()); }

int Sign(int order) { return (order > 0) - (order < 0); }

int Compare(const std::string& a, const std::string& b, const LineOrderView& view) {
  return Sign(CompareLines(Data(a), a.size(), Data(b), b.size(), view));
}

int CompareEncoded(const std::string& a, const std::string& b, const LineOrderView& view) {
  for (std::uint64_t skip = 0;; skip += 12) {
    const LineChunk x = EncodeChunk(Data(a), a.size(), view, skip);
    const LineChunk y = EncodeChunk(Data(b), b.size(), view, skip);
    if (x.hi != y.hi) return x.hi < y.hi ? -1 : 1;
    if (x.lo != y.lo) return x.lo < y.lo ? -1 : 1;
    if (x.ended && y.ended) return ChunksDecide(view) ? 0 : Compare(a, b, view);
    Require(skip < 1 << 20, "an encoded key without an end");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count == 0 || count > 1000) return 0;
  LineOrder order;
  const std::size_t keys = std::min<std::size_t>(bytes[0] & 7, (count - 1) / 4);
  constexpr int kSeparators[] = {-1, ',', 'a', 0};
  order.separator = kSeparators[bytes[0] >> 3 & 3];
  order.last_resort = (bytes[0] & 32) != 0;
  order.last_resort_reverse = (bytes[0] & 64) != 0;
  order.salt[0] = bytes[0];
  for (std::size_t i = 0; i < keys; ++i) order.keys.push_back(MakeKey(bytes + 1 + 4 * i));
  const LineOrderView view = order.view();

  std::vector<std::string> lines(1);
  for (std::size_t i = 1 + 4 * keys; i < count && lines.size() < 6; ++i) {
    if (bytes[i] == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += static_cast<char>(bytes[i]);
    }
  }
  for (const std::string& a : lines) {
    Require(Compare(a, a, view) == 0, "a line that differs from itself");
    for (const std::string& b : lines) {
      const int ab = Compare(a, b, view);
      Require(ab == -Compare(b, a, view), "an order that depends on the side");
      Require(CompareEncoded(a, b, view) == ab, "encoded keys that order otherwise");
      for (const std::string& c : lines) {
        const int bc = Compare(b, c, view);
        if (ab <= 0 && bc <= 0) Require(Compare(a, c, view) == std::min(ab, bc), "an order that is not transitive");
      }
    }
  }
  return 0;
}

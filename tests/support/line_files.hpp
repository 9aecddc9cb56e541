// Blocks of random lines of many kinds and a reference sort, for tests of whole jobs.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "kernels/lines/line_order.hpp"
#include "records.hpp"

namespace gpusort::testing {

enum class Lines {
  kRandom,
  kShort,
  kEmpty,
  kAllEqual,
  kFewValues,
  kCommonPrefix,
  kSorted,
  kReversed,
  kLong,
  kNuls,
  kLongFields
};
inline constexpr Lines kAllLines[] = {Lines::kRandom,       Lines::kShort,  Lines::kEmpty,     Lines::kAllEqual,
                                      Lines::kFewValues,    Lines::kSorted, Lines::kReversed,  Lines::kLong,
                                      Lines::kCommonPrefix, Lines::kNuls,   Lines::kLongFields};

inline std::vector<std::string> SplitLines(const Bytes& bytes, unsigned char delimiter) {
  std::vector<std::string> lines;
  for (auto at = bytes.begin(); at != bytes.end();) {
    const auto end = std::find(at, bytes.end(), delimiter);
    lines.emplace_back(at, end);
    at = end == bytes.end() ? end : end + 1;
  }
  return lines;
}

inline Bytes JoinLines(const std::vector<std::string>& lines, unsigned char delimiter) {
  Bytes bytes;
  for (const std::string& line : lines) {
    bytes.insert(bytes.end(), line.begin(), line.end());
    bytes.push_back(delimiter);
  }
  return bytes;
}

inline int CompareText(const std::string& a, const std::string& b, const LineOrderView& view) {
  return CompareLines(reinterpret_cast<const Byte*>(a.data()), a.size(), reinterpret_cast<const Byte*>(b.data()),
                      b.size(), view);
}

/// The reference sort: sorts lines stably by CompareLines. If the last line has no delimiter, adds one.
inline Bytes StableSortedLines(const Bytes& input, unsigned char delimiter, const LineOrderView& view) {
  std::vector<std::string> lines = SplitLines(input, delimiter);
  std::stable_sort(lines.begin(), lines.end(),
                   [&](const std::string& a, const std::string& b) { return CompareText(a, b, view) < 0; });
  return JoinLines(lines, delimiter);
}

inline Bytes MakeLines(Lines kind, std::size_t count, unsigned char delimiter, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto text = [&](std::size_t length, unsigned letters) {
    std::string line(length, 0);
    for (char& c : line) {
      c = static_cast<char>(letters == 256 ? random() : 'a' + random() % letters);
      if (static_cast<unsigned char>(c) == delimiter) c = 'x';
      if (letters != 256 && random() % 6 == 0) c = ' ';
    }
    return line;
  };
  std::vector<std::string> lines(count);
  const std::string prefix = text(60, 26);
  const std::vector<std::string> values = {text(3, 26), text(30, 26), text(30, 26), "", " 12", "12 ", "9"};
  for (std::string& line : lines) {
    switch (kind) {
      case Lines::kEmpty:
        break;
      case Lines::kShort:
        line = text(random() % 3, 2);
        break;
      case Lines::kAllEqual:
        line = prefix;
        break;
      case Lines::kFewValues:
        line = values[random() % values.size()];
        break;
      case Lines::kCommonPrefix:
        line = prefix + std::to_string(random() % 1000);
        break;
      case Lines::kLong:
        line = random() % 100 == 0 ? text(random() % 90000, 2) : text(random() % 20, 2);
        break;
      // Groups of all sizes whose lines agree in at least all bytes of a sort entry (12) and of a wide key (56).
      case Lines::kLongFields:
        for (const char* const separator : {" ", "a", "b", " "}) {
          constexpr std::size_t kLengths[] = {1, 11, 25, 45, 80};
          line += std::string(kLengths[random() % 5], 'x') + std::to_string(random() % 8) + separator;
        }
        break;
      case Lines::kNuls:
        line = delimiter == 0 ? text(random() % 4, 1) : std::string(random() % 20, 0) + text(random() % 2, 2);
        break;
      default:
        line = text(random() % 40, random() % 2 == 0 ? 256 : 4) + " " + std::to_string(random() % 300);
    }
  }
  if (kind == Lines::kSorted || kind == Lines::kReversed) std::sort(lines.begin(), lines.end());
  if (kind == Lines::kReversed) std::reverse(lines.begin(), lines.end());
  return JoinLines(lines, delimiter);
}

/// Returns orders that compare cheaply or expensively: the whole line, one part of it, several keys, with and without
/// comparing whole lines last.
inline std::vector<LineOrder> SomeOrders() {
  std::vector<LineOrder> orders(8);
  orders[1].last_resort_reverse = true;
  orders[2].keys.resize(1);
  orders[2].keys[0].begin_field = orders[2].keys[0].end_field = 1;
  orders[2].last_resort = false;
  orders[3] = orders[2];
  orders[3].last_resort = true;
  orders[3].keys[0].ordering = LineOrdering::kNumeric;
  orders[4] = orders[3];
  orders[4].keys[0].reverse = true;
  orders[4].keys.push_back({});
  orders[4].keys[1].fold_case = true;
  orders[4].separator = 'a';
  orders[5] = orders[4];
  orders[5].last_resort = false;
  orders[6] = orders[2];
  orders[6].keys[0].reverse = true;
  orders[6].separator = 'b';
  orders[7].keys.resize(2);
  orders[7].keys[0].end_field = 0;
  orders[7].keys[1].begin_field = orders[7].keys[1].end_field = 1;
  orders[7].keys[1].reverse = true;
  return orders;
}

}  // namespace gpusort::testing

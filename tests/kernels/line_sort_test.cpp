#include "line_sort.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace gpusort {
namespace {

/// Lines in one block, each followed by a newline.
struct Lines {
  std::vector<Byte> text;
  std::vector<std::uint64_t> starts{0};

  void Add(const std::string& line) {
    text.insert(text.end(), line.begin(), line.end());
    text.push_back('\n');
    starts.push_back(text.size());
  }
  std::uint64_t count() const { return starts.size() - 1; }
  LineBlock block() const { return {text.data(), starts.data()}; }
};

Lines MakeLines() {
  Lines lines;
  // Few letters, prefixes and repetitions: many ties at every depth.
  const auto prefix = *rc::gen::element<std::string>("", "", "date ", std::string(12, 'p'), std::string(150, 'q'));
  const auto letters =
      *rc::gen::element<std::string>("ab", "ab ", std::string("a\0b", 3), "0123456789.- ", "aAbB~.\xff");
  const auto count = *rc::gen::weightedElement<int>({{3, 40}, {2, 300}, {1, 3000}});
  const auto longest = *rc::gen::element(3, 14, 40, 200);
  const auto pool = *rc::gen::container<std::vector<std::string>>(
      50, rc::gen::mapcat(rc::gen::inRange(0, longest), [letters](int length) {
        return rc::gen::container<std::string>(static_cast<std::size_t>(length), rc::gen::elementOf(letters));
      }));
  const bool repeats = *rc::gen::arbitrary<bool>();
  const auto seed = *rc::gen::inRange<std::uint32_t>(0, 1u << 30);
  std::uint32_t state = seed;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    std::string line = prefix + pool[(state >> 16) % pool.size()];
    if (!repeats) line += std::to_string(state >> 20);
    lines.Add(line);
  }
  return lines;
}

LineOrder MakeOrder() {
  LineOrder order;
  const int keys = *rc::gen::inRange(0, 3);
  for (int i = 0; i < keys; ++i) {
    LineKey key;
    key.begin_field = *rc::gen::inRange<std::uint64_t>(0, 3);
    key.begin_char = *rc::gen::inRange<std::uint64_t>(0, 3);
    if (*rc::gen::arbitrary<bool>()) key.end_field = key.begin_field + *rc::gen::inRange<std::uint64_t>(0, 2);
    key.reverse = *rc::gen::arbitrary<bool>();
    key.fold_case = *rc::gen::arbitrary<bool>();
    key.ordering = *rc::gen::element(LineOrdering::kBytes, LineOrdering::kBytes, LineOrdering::kNumeric,
                                     LineOrdering::kVersion, LineOrdering::kHuman, LineOrdering::kGeneral);
    order.keys.push_back(key);
  }
  order.last_resort = *rc::gen::arbitrary<bool>();
  order.last_resort_reverse = *rc::gen::arbitrary<bool>();
  return order;
}

RC_GTEST_PROP(SortLineEntries, IsAStableSortByCompareLines, ()) {
  const Lines lines = MakeLines();
  const LineOrder order = MakeOrder();
  const LineOrderView view = order.view();
  const LineBlock block = lines.block();
  // A part of the block, as a thread sorts it.
  const std::uint64_t first = lines.count() / 7;
  const std::uint64_t count = lines.count() - first;
  std::vector<Entry> entries(count);
  SortLineEntries(entries.data(), first, count, block, view);
  std::vector<std::uint32_t> expected(count);
  std::iota(expected.begin(), expected.end(), static_cast<std::uint32_t>(first));
  std::stable_sort(expected.begin(), expected.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return block.Compare(a, b, view) < 0; });
  for (std::uint64_t i = 0; i < count; ++i) RC_ASSERT(entries[i].row() == expected[i]);
}

TEST(SortLineEntries, TakesNothing) { SortLineEntries(nullptr, 0, 0, {}, {}); }

}  // namespace
}  // namespace gpusort

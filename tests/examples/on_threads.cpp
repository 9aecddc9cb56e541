// Merges on host threads, with any C++20 compiler: a user-defined comparator, and 100 runs of different lengths.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gpusort/gpusort.hpp"

namespace {

bool MergesByLength() {
  const auto shorter = [](const std::string& x, const std::string& y) { return x.size() < y.size(); };
  const std::vector<std::string> a = {"i", "am", "here", "alone"}, b = {"a", "be", "hour", "longest"};
  std::vector<std::string> out(a.size() + b.size());
  gpusort::MergeKeys(a.begin(), a.size(), b.begin(), b.size(), out.begin(), shorter);
  // Words of equal length keep their order: the words of the first list come first.
  return out == std::vector<std::string>{"i", "a", "am", "be", "here", "hour", "alone", "longest"};
}

bool MergesRuns() {
  constexpr std::uint32_t kRuns = 100;
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> bounds{0};
  for (std::uint32_t r = 0; r < kRuns; ++r)
    bounds.push_back(bounds.back() + (r % 7 == 0 ? 0 : random() % (1 << r % 18)));
  std::vector<std::int64_t> keys(bounds.back());
  for (std::int64_t& key : keys) key = static_cast<std::int64_t>(random());
  using Key = std::vector<std::int64_t>::const_iterator;
  std::vector<gpusort::Range<Key>> runs;
  for (std::uint32_t r = 0; r < kRuns; ++r) {
    const auto begin = static_cast<std::ptrdiff_t>(bounds[r]), end = static_cast<std::ptrdiff_t>(bounds[r + 1]);
    std::sort(keys.begin() + begin, keys.begin() + end, std::greater<>{});
    runs.push_back({keys.cbegin() + begin, bounds[r + 1] - bounds[r]});
  }
  std::vector<std::int64_t> out(keys.size());
  gpusort::MergeRuns(std::span<const gpusort::Range<Key>>(runs), out.begin(), std::greater<>{});
  std::sort(keys.begin(), keys.end(), std::greater<>{});
  return out == keys;
}

}  // namespace

int main() {
  const bool by_length = MergesByLength(), runs = MergesRuns();
  std::printf("merge with a comparator: %s; 100 runs: %s\n", by_length ? "right" : "WRONG", runs ? "right" : "WRONG");
  return by_length && runs ? 0 : 1;
}

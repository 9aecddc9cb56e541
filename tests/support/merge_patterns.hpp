// Items and patterns of keys for tests of the textbook merges, on the host and on a GPU.
#pragma once

#include <cstdint>
#include <random>

#include "gpusort/host_device.hpp"

namespace gpusort::testing {

/// A key with its origin, which shows whether a merge is stable. Only `key` is compared.
struct Tagged {
  std::int32_t key;
  std::uint32_t origin;
  friend bool operator==(const Tagged&, const Tagged&) = default;
};
/// A key and a value of 8 bytes.
struct Pair {
  std::int64_t key;
  std::int64_t origin;
  friend bool operator==(const Pair&, const Pair&) = default;
};
struct KeyLess {
  template <typename Item>
  GPUSORT_HD bool operator()(const Item& a, const Item& b) const {
    return a.key < b.key;
  }
};

/// Returns key i of a list with one of kPatterns patterns. The first three patterns describe pairs of lists: the other
/// list has `other_items` items, and `of_b` is true for the second list. Random keys are below `most`.
constexpr int kPatterns = 6;
inline std::uint64_t PatternKey(int pattern, std::uint64_t i, std::uint64_t other_items, bool of_b, std::uint64_t most,
                                std::mt19937_64& random) {
  switch (pattern) {
    case 0:
      return of_b ? other_items + i : i;  // disjoint, a first
    case 1:
      return of_b ? i : other_items + i;  // disjoint, b first
    case 2:
      return 2 * i + of_b;  // interleaved
    case 3:
      return 7;  // all equal
    case 4:
      return random() % 2;  // two values
    default:
      return random() % most;
  }
}

}  // namespace gpusort::testing

// Inputs that make the threads of a warp read the same bank of shared memory in every step of a pairwise merge.
// Source of the idea: Berney and Sitchinava, Engineering Worst-Case Inputs for Pairwise Merge Sort on GPUs, IPDPS 2020.
//
// When a thread block merges the lists A and B in shared memory, thread t writes the outputs [t E, (t + 1) E). It reads
// consecutive keys of A and consecutive keys of B. `width` = 128 / sizeof(key) consecutive keys lie in different banks.
// Suppose that each thread takes keys from A first, and that the indices in A at which the threads start are equal
// modulo `width`. Then all threads of a warp read the same bank in every step. To get this, each thread takes the
// following number of its E keys from A:
// - E >= width: the largest multiple of `width` that is at most E. The other keys come from B.
// - E < width: g = ceil(width / E) threads together take `width` keys. g - 1 of them take E keys, and the last thread
//   takes the rest. Then a warp reads g banks, each by 32 / g threads.
// In every second warp, A and B are exchanged, so that both lists are equally long. All keys are different, so the rank
// of a key in the output decides from which list it comes. Running the merge backwards ("unmerge") therefore gives the
// two lists. Unmerging each list again gives an input that is slow in every merge pass of a sort.
#pragma once

#include <cstdint>

#include "gpusort/host_device.hpp"

namespace gpusort::bench {

class ConflictPattern {
 public:
  /// Makes the pattern for merges of keys of `key_bytes` bytes in which each thread writes `thread_items` keys.
  GPUSORT_HD ConflictPattern(std::uint32_t thread_items, std::uint32_t key_bytes) : items_(thread_items) {
    const std::uint32_t width = key_bytes >= 128 ? 1 : 128 / key_bytes;
    if (thread_items >= width) {
      group_ = 1;
      from_a_ = thread_items / width * width;
    } else {
      group_ = (width + thread_items - 1) / thread_items;
      from_a_ = width;
    }
  }

  /// Returns how many of the first k outputs of the merge come from list A.
  GPUSORT_HD std::uint64_t FromA(std::uint64_t k) const {
    const std::uint64_t warp = std::uint64_t{kWarp} * items_;
    const std::uint64_t pairs = k / (2 * warp);
    const std::uint64_t rest = k % (2 * warp);
    // Two neighbouring warps together take as many keys from A as from B.
    const std::uint64_t before = pairs * warp;
    if (rest <= warp) return before + InWarp(rest);
    return before + InWarp(warp) + (rest - warp) - InWarp(rest - warp);
  }

  /// Returns where the key of output k is in a[0, m) followed by b[0, n). The pattern ends where the shorter list ends.
  GPUSORT_HD std::uint64_t Place(std::uint64_t k, std::uint64_t m, std::uint64_t n) const {
    const std::uint64_t a = FromA(k);
    const std::uint64_t b = k - a;
    if (a >= m) return k;      // A is used up: this is key k - m of B
    if (b >= n) return k - n;  // B is used up: this is key k - n of A
    return FromA(k + 1) > a ? a : m + b;
  }

 private:
  static constexpr std::uint32_t kWarp = 32;

  /// Returns how many of the first k outputs of one warp come from list A. Each thread of the warp takes from A first.
  GPUSORT_HD std::uint64_t InWarp(std::uint64_t k) const {
    const auto thread = static_cast<std::uint32_t>(k / items_);
    const auto within = static_cast<std::uint32_t>(k % items_);
    const std::uint32_t member = thread % group_;
    const std::uint32_t takes = member + 1 < group_ ? items_ : from_a_ - (group_ - 1) * items_;
    return std::uint64_t{thread / group_} * from_a_ + std::uint64_t{member} * items_ +
           (within < takes ? within : takes);
  }

  std::uint32_t items_;
  std::uint32_t group_;  ///< the number of threads that together take `from_a_` keys of A
  std::uint32_t from_a_;
};

}  // namespace gpusort::bench

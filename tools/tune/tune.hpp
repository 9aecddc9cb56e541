// gpusort_tune: times every tile shape of every kernel, to find the numbers of kernels/gpusort/tuning.hpp. Not part of
// the default build: its kernels take ptxas half an hour on two cores. Start at main.cpp; kernels.cu holds what is
// timed and is compiled once for each size of item, kind of kernel and number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpusort::tune {

/// The members of Tuning, in its order.
enum class Kind { kNetworkSort, kSort, kMerge, kMerge4, kMergePairs, kMergePairs4 };
inline constexpr int kKinds = 6;
const char* NameOf(Kind kind);

struct Shape {
  int threads, items, blocks;
};

/// One timing: the median of several runs, in milliseconds, to sort or merge 2^log2_items items of item_bytes.
/// 2-way and 4-way passes are compared per level, see Cost.
struct Timing {
  Kind kind;
  int item_bytes;
  int log2_items;
  Shape shape;
  double milliseconds;
  double levels;  ///< levels of merging that the kernel does, or that a sort leaves to passes
  bool current;   ///< the shape that tuning.hpp has
};

/// Times all shapes of kind `kKind` (a Kind) with kThreads threads for items of `kBytes`; the median of `repetitions`
/// runs. Prints a line for each as it goes.
template <int kBytes, int kKind, int kThreads>
void TimeShapes(int log2_items, int repetitions, std::vector<Timing>& timings);

}  // namespace gpusort::tune

// gpusort_tune: times every tile shape of every kernel, to find the numbers in kernels/gpusort/tuning.hpp. It is not
// part of the default build, because ptxas compiles its kernels for half an hour on two cores. Start at main.cpp.
// kernels.cu has the timed kernels and is compiled once for each item size, kind of kernel and number of threads.
#pragma once

#include <vector>

namespace gpusort::tune {

/// The kinds of kernels: the members of Tuning, in the same order.
enum class Kind { kNetworkSort, kSort, kMerge, kMerge4, kMergePairs, kMergePairs4 };
inline constexpr int kKinds = 6;
const char* NameOf(Kind kind);

struct Shape {
  int threads, items, blocks;
};

/// One timing: the median of several runs, in milliseconds, to sort or merge 2^log2_items items of item_bytes bytes.
/// 2-way and 4-way passes are compared by their time per level.
struct Timing {
  Kind kind;
  int item_bytes;
  int log2_items;
  Shape shape;
  double milliseconds;
  /// For a merge kernel: how many levels of pairwise merging it does. For a tile sort: how many levels remain after it.
  double levels;
  bool current;  ///< true if tuning.hpp has this shape
};

/// Times all shapes of kernels of one Kind (number kKind) with kThreads threads for items of kBytes bytes. Appends one
/// timing for each shape, the median of `repetitions` runs, and prints a line for it.
template <int kBytes, int kKind, int kThreads>
void TimeShapes(int log2_items, int repetitions, std::vector<Timing>& timings);

}  // namespace gpusort::tune

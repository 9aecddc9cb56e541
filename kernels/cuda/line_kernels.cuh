// The kernels that sort text lines on a GPU: they find and compare lines, and copy lines in sorted order. line_sort.cu
// launches the kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "kernels/cuda/line_sort.cuh"
#include "kernels/cuda/record_kernels.cuh"
#include "kernels/lines/line_order.hpp"
#include "kernels/records/key.hpp"

namespace gpusort::detail {

inline constexpr unsigned kLineThreads = 256;
/// The number of bytes of text in which one thread searches for line ends. kScanTile is the number for a thread block.
inline constexpr std::uint32_t kScanBytesPerThread = 64;
inline constexpr std::uint32_t kScanTile = kLineThreads * kScanBytesPerThread;

/// The lines of a text in GPU memory. Line i begins at text + starts[i]. `starts` has one number more than there are
/// lines: the last one is the size of the text.
struct DeviceLines {
  const Byte* text = nullptr;
  const std::uint32_t* starts = nullptr;

  GPUSORT_HD const Byte* line(std::uint32_t row) const { return text + starts[row]; }
  /// Returns the length of the line without its delimiter.
  GPUSORT_HD std::uint64_t length(std::uint32_t row) const { return starts[row + 1] - starts[row] - 1; }
};

/// Returns a negative number if line `a` comes before line `b`, 0 if the lines are equal, otherwise a positive number.
/// Not inlined, to keep the kernels small.
__host__ __device__ __noinline__ inline int CompareRows(const DeviceLines& lines, std::uint32_t a, std::uint32_t b,
                                                        const LineOrderView& view) {
  return CompareLines(lines.line(a), lines.length(a), lines.line(b), lines.length(b), view);
}

/// Returns twelve bytes of the encoded key of line number `row`, from byte `skip` on (see EncodeChunk). An encoded key
/// is a string of bytes that sorts as the line does. Not inlined, because a sort would otherwise contain hundreds of
/// copies of EncodeChunk.
__host__ __device__ __noinline__ inline LineChunk EncodeRow(const DeviceLines& lines, std::uint32_t row,
                                                            const LineOrderView& view, std::uint64_t skip) {
  return EncodeChunk(lines.line(row), lines.length(row), view, skip);
}

/// Special results of KeyDifference. kNoDifference: the lines are equal. kHiddenDifference: the lines differ, but their
/// encoded keys do not show the difference, so that CompareLines must compare the lines.
inline constexpr std::uint32_t kNoDifference = ~std::uint32_t{0};
inline constexpr std::uint32_t kHiddenDifference = ~std::uint32_t{0} - 1;

/// Limits for EncodedDifference. After kNearEncoded equal bytes, EncodedDifference tests whether the lines are equal.
/// After kFarEncoded equal bytes, it ends the comparison.
inline constexpr std::uint32_t kFarEncoded = 1020;
inline constexpr std::uint32_t kNearEncoded = 60;

/// Returns the result of KeyDifference for lines whose encoded keys must first be computed.
__device__ inline std::uint32_t EncodedDifference(const DeviceLines& lines, std::uint32_t a, std::uint32_t b,
                                                  const LineOrderView& view, std::uint32_t from) {
  // Each step encodes both keys again from their starts, so a long comparison is slow.
  for (const std::uint32_t first = from;; from += 12) {
    const LineChunk chunk_a = EncodeRow(lines, a, view, from);
    const LineChunk chunk_b = EncodeRow(lines, b, view, from);
    if (chunk_a.hi != chunk_b.hi) return from;
    if (chunk_a.lo != chunk_b.lo) return from + 8;
    if (chunk_a.ended && chunk_b.ended) {
      const bool equal = ChunksDecide(view) || CompareRows(lines, a, b, view) == 0;
      return equal ? kNoDifference : kHiddenDifference;
    }
    if (from - first == kNearEncoded && CompareRows(lines, a, b, view) == 0) return kNoDifference;
    if (from - first == kFarEncoded) return from;
  }
}

/// Returns the key position `at` in 32 bits, but at most 2^31.
__device__ inline std::uint32_t CapPosition(std::uint64_t at) {
  constexpr std::uint32_t kMost = std::uint32_t{1} << 31;
  return at < kMost ? static_cast<std::uint32_t>(at) : kMost;
}

/// The common prefix of the sort keys of two lines.
struct CommonFront {
  std::uint64_t bytes;  ///< the number of bytes before the first difference or the end of the shorter key
  /// The number of common bytes with the value 0 or 1, which an encoded key stores as two bytes.
  std::uint64_t escapes;
};
__device__ inline CommonFront FindCommonFront(const Byte* a, const Byte* b, std::uint64_t size, std::uint64_t known) {
  CommonFront common{known < size ? known : size, 0};
  while (common.bytes < size) {
    const std::uint64_t x = LoadWord(a, common.bytes, size), y = LoadWord(b, common.bytes, size);
    const std::uint64_t left = size - common.bytes;
    unsigned same = left < 8 ? static_cast<unsigned>(left) : 8;
    if (x != y) same = static_cast<unsigned>(__clzll(static_cast<long long>(x ^ y))) / 8;
    if (detail::ZeroBytes(x & ~kLowBits) != 0) {
      for (unsigned i = 0; i < same; ++i) common.escapes += (x >> (56 - 8 * i) & 0xFF) < 2;
    }
    common.bytes += same;
    if (x != y) break;
  }
  return common;
}

/// Compares the ends of two encoded keys, and returns the result of KeyDifference for the whole keys.
/// - front: how many bytes each key has before its end part; these bytes must be equal
/// - from: the first byte of the whole keys that needs to be compared
__device__ inline std::uint32_t RestDifference(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size,
                                               std::uint64_t front, std::uint64_t from) {
  const std::uint64_t size = a_size < b_size ? a_size : b_size, known = from > front ? from - front : 0;
  std::uint64_t at = FindCommonFront(a, b, size, known).bytes;
  if (at == size) {
    if (a_size == b_size) return kNoDifference;
    // The shorter part counts as padded with zeros. The keys are equal if the longer part has only zeros there.
    if (at < known) at = known;
    const Byte* const rest = a_size > b_size ? a : b;
    const std::uint64_t end = a_size > b_size ? a_size : b_size;
    while (at < end && rest[at] == 0) ++at;
    if (at >= end) return kHiddenDifference;
  }
  return CapPosition(front + at);
}

/// Returns how many bytes at the start of the encoded keys of lines `a` and `b` are equal, or a smaller number.
/// - from: the caller knows that the first `from` bytes are equal
/// - Returns kNoDifference if the lines are equal.
/// - Returns kHiddenDifference if the keys are equal, but the lines are not.
__device__ inline std::uint32_t KeyDifference(const DeviceLines& lines, std::uint32_t a, std::uint32_t b,
                                              const LineOrderView& view, std::uint32_t from) {
  const Byte* const line_a = lines.line(a);
  const Byte* const line_b = lines.line(b);
  const std::uint64_t length_a = lines.length(a), length_b = lines.length(b);
  std::uint64_t front = 0;  // the number of bytes known to be equal in both encoded keys
  for (std::uint32_t k = 0; k < view.key_count; ++k) {
    const LineKey& key = view.keys[k];
    if (!key.plain()) return EncodedDifference(lines, a, b, view, front > from ? CapPosition(front) : from);
    const KeyRange x = FindKey(line_a, length_a, key, view.separator);
    const KeyRange y = FindKey(line_b, length_b, key, view.separator);
    if (k + 1 == view.key_count && !view.last_resort) {
      return RestDifference(line_a + x.begin, x.size(), line_b + y.begin, y.size(), front, from);
    }
    const std::uint64_t size = x.size() < y.size() ? x.size() : y.size();
    const CommonFront common = FindCommonFront(line_a + x.begin, line_b + y.begin, size, 0);
    front += common.bytes + common.escapes;
    if (common.bytes < x.size() || common.bytes < y.size()) return CapPosition(front > from ? front : from);
    ++front;  // the byte that terminates a key
  }
  return RestDifference(line_a, length_a, line_b, length_b, front, from);
}

GPUSORT_HD inline bool SameKeyBytes(const Entry& a, const Entry& b) { return a.hi == b.hi && (a.lo ^ b.lo) >> 32 == 0; }

/// A line in a round of the sort; each round compares a few more key bytes. `place` is the index of the line in the
/// order so far. Lines that are still equal form a group. `group` is the place of the first line of this line's group.
struct ActiveLine {
  std::uint32_t place;
  std::uint32_t group;
};

// ---- Kernels. They are templates so that several files of a program may include this header.

/// Sets counts[t] to the number of delimiters (line ends) in tile t of the text. A tile is kScanTile bytes, the work of
/// one thread block.
template <typename = void>
__global__ void __launch_bounds__(kLineThreads)
    CountLinesKernel(const Byte* text, std::uint64_t bytes, Byte delimiter, std::uint32_t* counts) {
  using Reduce = cub::BlockReduce<std::uint32_t, kLineThreads>;
  __shared__ typename Reduce::TempStorage storage;
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * kScanTile;
  std::uint32_t count = 0;
  // Neighbouring threads read neighbouring words, so the GPU can combine their reads.
  for (std::uint32_t at = threadIdx.x * 16; at < kScanTile; at += kLineThreads * 16) {
    const std::uint64_t from = begin + at;
    if (from + 16 <= bytes) {
      const uint4 words = *reinterpret_cast<const uint4*>(text + from);
      const std::uint32_t wanted = 0x01010101u * delimiter;
      count += __popc(__vcmpeq4(words.x, wanted)) / 8 + __popc(__vcmpeq4(words.y, wanted)) / 8 +
               __popc(__vcmpeq4(words.z, wanted)) / 8 + __popc(__vcmpeq4(words.w, wanted)) / 8;
    } else {
      for (std::uint64_t i = from; i < bytes; ++i) count += text[i] == delimiter;
    }
  }
  const std::uint32_t all = Reduce(storage).Sum(count);
  if (threadIdx.x == 0) counts[blockIdx.x] = all;
}

/// Stores the start of each line: sets starts[0] to 0, and starts[k + 1] to the position after delimiter number k,
/// counted from 0. before[t] must be the number of delimiters before tile t. A tile is kScanTile bytes of the text, the
/// work of one thread block.
template <typename = void>
__global__ void __launch_bounds__(kLineThreads) LineStartsKernel(const Byte* text, std::uint64_t bytes, Byte delimiter,
                                                                 const std::uint32_t* before, std::uint32_t* starts) {
  using Scan = cub::BlockScan<std::uint32_t, kLineThreads>;
  __shared__ typename Scan::TempStorage storage;
  const std::uint64_t tile = std::uint64_t{blockIdx.x} * kScanTile;
  const std::uint64_t begin = tile + threadIdx.x * kScanBytesPerThread;
  const std::uint64_t end = begin + kScanBytesPerThread < bytes ? begin + kScanBytesPerThread : bytes;
  std::uint64_t found = 0;  // bit i is set if byte i is a delimiter
  if (begin + kScanBytesPerThread <= bytes) {
    const std::uint32_t wanted = 0x01010101u * delimiter;
#pragma unroll
    for (int w = 0; w < static_cast<int>(kScanBytesPerThread / 16); ++w) {
      const uint4 words = reinterpret_cast<const uint4*>(text + begin)[w];
      const std::uint32_t four[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t equal = __vcmpeq4(four[i], wanted) & 0x08040201u;
        const std::uint32_t bits = (equal | equal >> 8 | equal >> 16 | equal >> 24) & 0xF;
        found |= std::uint64_t{bits} << (w * 16 + i * 4);
      }
    }
  } else {
    for (std::uint64_t i = begin; i < end; ++i) found |= std::uint64_t{text[i] == delimiter} << (i - begin);
  }
  std::uint32_t index = 0;
  Scan(storage).ExclusiveSum(static_cast<std::uint32_t>(__popcll(found)), index);
  index += before[blockIdx.x];
  for (; found != 0; found &= found - 1) {
    starts[++index] = static_cast<std::uint32_t>(begin + __ffsll(static_cast<long long>(found)));
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) starts[0] = 0;
}

/// Lowers `skip` and status->skip to the number of leading key bytes that lines `a` and `b` share. `skip` belongs to
/// this thread, and `status` to all threads.
__device__ inline void LowerSkip(const DeviceLines& lines, std::uint32_t a, std::uint32_t b, const LineOrderView& view,
                                 std::uint32_t& skip, LineSortStatus* status) {
  const volatile LineSortStatus* const seen = status;
  if (skip == 0 || seen->skip == 0) return;
  const std::uint32_t difference = KeyDifference(lines, a, b, view, 0);
  if (difference >= kHiddenDifference || difference >= skip) return;
  skip = difference;
  if (skip < seen->skip) atomicMin(&status->skip, skip);
}

/// Finds out whether the lines are in order (status->in_order), and how many leading bytes are equal in all encoded
/// keys (status->skip). Encoded keys are bytes that sort as the lines do. Stops when the remaining lines cannot change
/// the result.
template <typename = void>
__global__ void __launch_bounds__(kLineThreads)
    InspectLinesKernel(const __grid_constant__ DeviceLines lines, std::uint32_t rows,
                       const __grid_constant__ LineOrderView view, LineSortStatus* status) {
  const volatile LineSortStatus* const seen = status;
  std::uint32_t skip = kNoDifference;
  for (std::uint64_t row = std::uint64_t{blockIdx.x} * kLineThreads + threadIdx.x + 1; row < rows;
       row += std::uint64_t{gridDim.x} * kLineThreads) {
    const std::uint32_t b = static_cast<std::uint32_t>(row), a = b - 1;
    const bool in_order = seen->in_order != 0;
    if (!in_order && (skip == 0 || seen->skip == 0)) break;
    if (in_order && CompareRows(lines, a, b, view) > 0) status->in_order = 0;
    LowerSkip(lines, a, b, view, skip, status);
  }
}

/// Finds out whether sorted runs of lines are in order as a whole (status->in_order), and how many leading bytes are
/// equal in all encoded keys (status->skip). Run r ends at byte ends[r].
template <typename = void>
__global__ void __launch_bounds__(kLineThreads)
    InspectRunsKernel(const __grid_constant__ DeviceLines lines, std::uint32_t rows, const std::uint32_t* ends,
                      std::uint32_t runs, const __grid_constant__ LineOrderView view, LineSortStatus* status) {
  const auto row_at = [&](std::uint32_t offset) {
    std::uint32_t low = 0, high = rows;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (lines.starts[middle] < offset) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  std::uint32_t skip = kNoDifference;
  for (std::uint32_t r = blockIdx.x * kLineThreads + threadIdx.x; r < runs; r += gridDim.x * kLineThreads) {
    const std::uint32_t first = r == 0 ? 0 : row_at(ends[r - 1]), behind = row_at(ends[r]);
    if (behind <= first) continue;
    if (behind - first > 1) LowerSkip(lines, first, behind - 1, view, skip, status);
    if (behind == rows) continue;
    if (CompareRows(lines, behind - 1, behind, view) > 0) status->in_order = 0;
    LowerSkip(lines, behind - 1, behind, view, skip, status);
  }
}

template <typename = void>
__global__ void __launch_bounds__(kLineThreads)
    LineEntriesKernel(const __grid_constant__ DeviceLines lines, std::uint32_t rows,
                      const __grid_constant__ LineOrderView view, std::uint32_t skip, Entry* entries) {
  for (std::uint64_t row = std::uint64_t{blockIdx.x} * kLineThreads + threadIdx.x; row < rows;
       row += std::uint64_t{gridDim.x} * kLineThreads) {
    const std::uint32_t r = static_cast<std::uint32_t>(row);
    const LineChunk chunk = EncodeRow(lines, r, view, skip);
    entries[row] = {std::uint64_t{chunk.lo} << 32 | r, chunk.hi};
  }
}

/// Stores the result of one round of the sort.
/// - sorted: the `count` entries of the round, in order
/// - active: active[j].place is the place of entry j among all lines; null: the place is j
/// - order: order[place] is set to the line number of the entry at this place
/// - heads: heads[j] is set to the place of entry j if entry j - 1 has another key, otherwise to 0
template <typename = void>
__global__ void __launch_bounds__(kLineThreads)
    StoreRoundKernel(const Entry* sorted, std::uint32_t count, const ActiveLine* active, std::uint32_t* order,
                     std::uint32_t* heads) {
  for (std::uint64_t j = std::uint64_t{blockIdx.x} * kLineThreads + threadIdx.x; j < count;
       j += std::uint64_t{gridDim.x} * kLineThreads) {
    const std::uint32_t place = active == nullptr ? static_cast<std::uint32_t>(j) : active[j].place;
    order[place] = sorted[j].row();
    heads[j] = j == 0 || !SameKeyBytes(sorted[j - 1], sorted[j]) ? place : 0;
  }
}

/// Sets skips[g] to the number of leading bytes that are equal in all keys of group g.
/// - active: the lines of this round; null in the first round, which has all lines
/// - order: the line numbers, sorted so far
/// - groups: groups[j] is the group of line j
/// - known: in the first round, the number of equal bytes of each group
/// - known_skips: in a later round, `skips` of the previous round
/// - skips: must contain kNoDifference before the call; keeps it for groups of equal lines
/// - status: `decided` becomes 0 if different lines have equal keys
template <typename = void>
__global__ void __launch_bounds__(kLineThreads)
    DifferencesKernel(const __grid_constant__ DeviceLines lines, const __grid_constant__ LineOrderView view,
                      std::uint32_t count, const ActiveLine* active, const std::uint32_t* order,
                      const std::uint32_t* groups, std::uint32_t known, const std::uint32_t* known_skips,
                      std::uint32_t* skips, LineSortStatus* status) {
  for (std::uint64_t j = std::uint64_t{blockIdx.x} * kLineThreads + threadIdx.x; j < count;
       j += std::uint64_t{gridDim.x} * kLineThreads) {
    if (j == 0 || groups[j] != groups[j - 1]) continue;
    // The lines of a group are equal in the key bytes of all earlier rounds.
    const std::uint32_t place = active == nullptr ? static_cast<std::uint32_t>(j) : active[j].place;
    const std::uint32_t from = active == nullptr ? known : known_skips[active[j].group] + 8;
    const std::uint32_t difference = KeyDifference(lines, order[place - 1], order[place], view, from);
    if (difference == kHiddenDifference) {
      status->decided = 0;
    } else if (difference != kNoDifference) {
      atomicMin(&skips[groups[j]], difference);
    }
  }
}

/// Returns true if the keys in the group of line j are not all equal. The group then needs another round of the sort.
struct StaysActive {
  const std::uint32_t* groups;
  const std::uint32_t* skips;
  __device__ bool operator()(std::uint32_t j) const { return skips[groups[j]] != kNoDifference; }
};
struct ToActiveLine {
  const ActiveLine* active;
  const std::uint32_t* groups;
  __device__ ActiveLine operator()(std::uint32_t j) const {
    return {active == nullptr ? j : active[j].place, groups[j]};
  }
};

template <typename = void>
__global__ void __launch_bounds__(kLineThreads)
    RoundEntriesKernel(const __grid_constant__ DeviceLines lines, const __grid_constant__ LineOrderView view,
                       const ActiveLine* active, std::uint32_t count, const std::uint32_t* order,
                       const std::uint32_t* skips, Entry* entries) {
  for (std::uint64_t j = std::uint64_t{blockIdx.x} * kLineThreads + threadIdx.x; j < count;
       j += std::uint64_t{gridDim.x} * kLineThreads) {
    const ActiveLine line = active[j];
    const std::uint32_t row = order[line.place];
    const LineChunk chunk = EncodeRow(lines, row, view, skips[line.group]);
    entries[j] = {chunk.hi << 32 | row, std::uint64_t{line.group} << 32 | chunk.hi >> 32};
  }
}

/// Returns true if line number `a` comes before line number `b`. If the lines are equal, the lower number comes first.
__device__ inline bool RowLess(const DeviceLines& lines, const LineOrderView& view, std::uint32_t a, std::uint32_t b) {
  const int order = CompareRows(lines, a, b, view);
  return order != 0 ? order < 0 : a < b;
}

/// The number of lines that one thread sorts or merges by CompareLines. The loops over these lines are not unrolled,
/// which keeps the kernels small.
inline constexpr std::uint32_t kExactItems = 8;

/// Sorts the line numbers of `order` in parts: each thread sorts kExactItems neighbouring line numbers. The order of
/// two lines is found by CompareLines.
template <typename = void>
__global__ void __launch_bounds__(kLineThreads)
    ExactTilesKernel(const __grid_constant__ DeviceLines lines, const __grid_constant__ LineOrderView view,
                     std::uint32_t* order, std::uint32_t rows) {
  const std::uint64_t begin = (std::uint64_t{blockIdx.x} * kLineThreads + threadIdx.x) * kExactItems;
  if (begin >= rows) return;
  const std::uint64_t end = begin + kExactItems < rows ? begin + kExactItems : rows;
#pragma unroll 1
  for (std::uint64_t i = begin + 1; i < end; ++i) {
    const std::uint32_t row = order[i];
    std::uint64_t at = i;
#pragma unroll 1
    for (; at > begin && RowLess(lines, view, row, order[at - 1]); --at) order[at] = order[at - 1];
    order[at] = row;
  }
}

/// Merges neighbouring sorted runs of line numbers pairwise. The order of two lines is found by CompareLines. Each run
/// has `run` line numbers, a multiple of kExactItems. The last run may be shorter.
template <typename = void>
__global__ void __launch_bounds__(kLineThreads)
    ExactMergeKernel(const __grid_constant__ DeviceLines lines, const __grid_constant__ LineOrderView view,
                     const std::uint32_t* in, std::uint32_t* out, std::uint32_t rows, std::uint64_t run) {
  const std::uint64_t begin = (std::uint64_t{blockIdx.x} * kLineThreads + threadIdx.x) * kExactItems;
  if (begin >= rows) return;
  const std::uint64_t first = begin / (2 * run) * (2 * run);
  const std::uint64_t middle = first + run < rows ? first + run : rows;
  const std::uint64_t last = first + 2 * run < rows ? first + 2 * run : rows;
  const std::uint64_t rank = begin - first, m = middle - first, n = last - middle;
  std::uint64_t low = rank > n ? rank - n : 0, high = rank < m ? rank : m;
#pragma unroll 1
  while (low < high) {
    const std::uint64_t i = low + (high - low) / 2;
    if (RowLess(lines, view, in[middle + rank - 1 - i], in[first + i])) {
      high = i;
    } else {
      low = i + 1;
    }
  }
  std::uint64_t a = first + low, b = middle + rank - low;
#pragma unroll 1
  for (std::uint64_t k = begin; k < begin + kExactItems && k < last; ++k) {
    const bool take_b = b < last && (a >= middle || RowLess(lines, view, in[b], in[a]));
    out[k] = in[take_b ? b++ : a++];
  }
}

struct Greatest {
  __device__ std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a > b ? a : b; }
};

/// Returns the size in bytes of the line at place j of the sorted order, with its delimiter.
struct LineBytes {
  const std::uint32_t* starts;
  const std::uint32_t* order;
  __device__ std::uint32_t operator()(std::uint32_t j) const { return starts[order[j] + 1] - starts[order[j]]; }
};

/// Copies the lines to `out` in the order that the line numbers in `order` give. Line number order[j] goes to the
/// address `out + offsets[j]`. Each warp copies one line at a time.
template <typename = void>
__global__ void __launch_bounds__(kLineThreads)
    GatherLinesKernel(DeviceLines lines, std::uint32_t rows, const std::uint32_t* order, const std::uint32_t* offsets,
                      Byte* out) {
  constexpr std::uint32_t kWarp = 32;
  const std::uint32_t lane = threadIdx.x % kWarp;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (kLineThreads / kWarp);
  for (std::uint64_t j = std::uint64_t{blockIdx.x} * (kLineThreads / kWarp) + threadIdx.x / kWarp; j < rows;
       j += warps) {
    const std::uint32_t row = order[j];
    const std::uint32_t begin = lines.starts[row], bytes = lines.starts[row + 1] - begin;
    const Byte* const from = lines.text + begin;
    Byte* const to = out + offsets[j];
#pragma unroll 4
    for (std::uint32_t i = lane; i < bytes; i += kWarp) to[i] = from[i];
  }
}

/// Sets bytes[i] to the size in bytes of all lines in ranges[i] that sort before the line `cut`.
/// - ranges: ranges of sorted lines, one for each thread block; CountRange::records is a number of bytes here
/// - cut: a line without its delimiter
template <typename = void>
__global__ void __launch_bounds__(kLineThreads)
    LineBytesBeforeKernel(const CountRange* ranges, const Byte* cut, std::uint64_t cut_length, Byte delimiter,
                          const __grid_constant__ LineOrderView view, std::uint64_t* bytes) {
  constexpr std::uint32_t kWarp = 32, kWarps = kLineThreads / kWarp, kAll = ~std::uint32_t{0};
  __shared__ std::uint64_t begins[kWarps], ends[kWarps];
  __shared__ bool before[kWarps];
  const std::uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const CountRange range = ranges[blockIdx.x];
  const Byte* const data = reinterpret_cast<const Byte*>(range.data);
  // Each warp looks at one line in each step of this search. `low` and `high` are starts of lines. Lines before `low`
  // come before the line `cut`, and lines from `high` on do not.
  std::uint64_t low = 0, high = range.records;
  while (low < high) {
    const std::uint64_t at = low + (high - low) * (warp + 1) / (kWarps + 1);
    std::uint64_t begin = low;  // the start of the line that contains byte `at`
    for (std::uint64_t right = at; right > low;) {
      const std::uint64_t left = right - low > kWarp ? right - kWarp : low;
      const bool ends_here = left + lane < right && data[left + lane] == delimiter;
      const std::uint32_t found = __ballot_sync(kAll, ends_here);
      if (found != 0) {
        begin = left + kWarp - __clz(static_cast<int>(found));
        break;
      }
      right = left;
    }
    std::uint64_t end = at;
    for (;; end += kWarp) {
      const std::uint32_t found = __ballot_sync(kAll, end + lane < high && data[end + lane] == delimiter);
      if (found != 0) {
        end += __ffs(static_cast<int>(found)) - 1;
        break;
      }
    }
    const int order = CompareLines(data + begin, end - begin, cut, cut_length, view);
    if (lane == 0) {
      begins[warp] = begin;
      ends[warp] = end;
      before[warp] = order < 0 || (order == 0 && range.inclusive);
    }
    __syncthreads();
    for (std::uint32_t w = 0; w < kWarps; ++w) {
      if (!before[w]) {
        high = begins[w];
        break;
      }
      low = ends[w] + 1;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) bytes[blockIdx.x] = low;
}

}  // namespace gpusort::detail

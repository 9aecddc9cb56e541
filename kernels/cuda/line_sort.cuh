// Sorts text lines on a GPU: first by twelve bytes of their keys, then lines with equal bytes by later bytes. Start at
// LineSort::Sort.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>

#include "gpusort/merge.cuh"
#include "kernels/cuda/device_memory.cuh"
#include "kernels/lines/line_order.hpp"
#include "kernels/records/key.hpp"

namespace gpusort::detail {

struct CountRange;
struct DeviceLines;

/// Kernels load lines in aligned blocks of this many bytes. If a block contains a byte of a line, the whole block must
/// be readable memory.
inline constexpr std::uint64_t kLoadedBytes = 16;
/// Queues work that sets the bytes after data[0, bytes) to zero, up to the next multiple of kLoadedBytes. Kernels load
/// lines in blocks of kLoadedBytes, and sanitizers would report uninitialized bytes in the last block.
inline void PadLoaded(const Stream& stream, std::byte* data, std::uint64_t bytes) {
  const std::uint64_t over = bytes % kLoadedBytes;
  if (over == 0) return;
  CheckCuda("cudaMemsetAsync", [&] { return cudaMemsetAsync(data + bytes, 0, kLoadedBytes - over, stream.get()); });
}

/// The results of the kernels that inspect and compare lines. Before the first kernel runs, the caller must set all
/// bits of the struct to 1.
struct LineSortStatus {
  std::uint32_t in_order;  ///< 0 if some line is smaller than the line before it
  std::uint32_t skip;      ///< the number of leading bytes that are known to be equal in all encoded keys
  std::uint32_t decided;   ///< 0 if the encoded keys of two different lines are equal
  std::uint32_t active;    ///< the number of lines in the next round of the sort, which compares more key bytes
};

/// Sorts the lines of one text at a time. The constructor only computes how much GPU memory Sort needs.
class LineSort {
 public:
  /// `bytes` is the maximum size of a text, below 4 GiB. `rows` is the maximum number of lines in a text.
  LineSort(std::uint64_t bytes, std::uint64_t rows);

  /// Returns how many bytes of GPU memory Sort needs.
  std::uint64_t bytes() const;

  struct Result {
    std::uint64_t rows = 0;
    bool was_sorted = false;  ///< true if the text was in order; `out` is not written then
    bool too_many = false;    ///< true if there are more than `rows` lines; nothing is sorted then
  };

  /// Sorts the lines of text[0, bytes) to `out`. When the function returns, work may still be queued on the stream.
  /// - memory: GPU memory of the size that LineSort::bytes() returns
  /// - pinned: in pinned (page-locked) host memory
  /// - text: whole lines in GPU memory, aligned to 16 bytes
  /// - ends: the end of each run in bytes if the text consists of sorted runs, otherwise empty. No run may be empty.
  /// - view.keys, out: in GPU memory
  Result Sort(const Stream& stream, std::byte* memory, LineSortStatus* pinned, const Byte* text, std::uint64_t bytes,
              std::span<const std::uint32_t> ends, Byte delimiter, const LineOrderView& view, Byte* out) const;

 private:
  struct Memory;

  void SortEntries(const Memory& at, DoubleBuffer<Entry>& keys, std::uint64_t n, cudaStream_t s) const;
  /// Sorts the line numbers in at.order by comparing the lines with CompareLines. Returns the GPU address of the sorted
  /// line numbers.
  static const std::uint32_t* SortExactly(const Stream& stream, const Memory& at, const DeviceLines& lines,
                                          const LineOrderView& view, std::uint32_t rows);
  /// Sorts lines with equal entries by their next key bytes, in rounds. `keys` contains the sorted entries of all
  /// lines. Leaves the sorted line numbers in at.order. Returns false if the rounds have not decided the order of all
  /// lines.
  bool Rounds(const Stream& stream, const Memory& at, LineSortStatus* pinned, const DeviceLines& lines,
              const LineOrderView& view, std::uint32_t rows, std::uint32_t skip, DoubleBuffer<Entry> keys) const;

  std::uint64_t rows_;
  std::uint64_t tiles_;
  std::uint64_t cub_bytes_;
  std::uint64_t sort_bytes_ = 0;
};

/// Queues a kernel that sets bytes[i] to the size in bytes of all lines in ranges[i] that sort before the line `cut`.
/// All pointers must be to GPU memory.
/// - ranges: `count` ranges of sorted lines; CountRange::records is a number of bytes here
/// - cut: a line without its delimiter
void CountLineBytesBefore(const Stream& stream, const CountRange* ranges, std::uint64_t count, const Byte* cut,
                          std::uint64_t cut_length, Byte delimiter, const LineOrderView& view, std::uint64_t* bytes);

}  // namespace gpusort::detail

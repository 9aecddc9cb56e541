// Sorts text lines on a GPU. Start at LineSort::Sort, which works in these steps:
// 1. Finds the starts of the lines.
// 2. Makes an Entry for each line (twelve bytes of its key, and the number of the line) and sorts the entries.
// 3. Sorts lines that are still equal by their next eight key bytes, in several rounds. Each round first skips the
//   bytes that are equal in all lines of a group.
// 4. Sorts all lines with CompareLines if the rounds cannot decide their order: because of NULs at the ends of keys, or
//   after kMostRounds rounds.
// 5. Copies each line once.
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

/// The results of kernels that inspect lines. The caller must set all bits of the struct to 1 before the first kernel
/// runs. The kernels then only set `in_order` and `decided` to 0, and lower `skip`.
struct LineSortStatus {
  std::uint32_t in_order;  ///< 0 if some line is smaller than the line before it
  std::uint32_t skip;      ///< a number of leading bytes that are equal in all encoded keys; more may be equal
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

  /// Sorts the lines of text[0, bytes) to `out`. The text must consist of whole lines and begin at a 16-byte aligned
  /// address. If the text consists of sorted runs, `ends` has the end of each run in bytes, and no run is allowed to be
  /// empty. Otherwise `ends` is empty. The keys of `view` must be in GPU memory. `memory` must point to bytes() bytes
  /// of GPU memory. `pinned` must point to one LineSortStatus in pinned host memory. When the function returns, work
  /// may still be queued on the stream.
  Result Sort(const Stream& stream, std::byte* memory, LineSortStatus* pinned, const Byte* text, std::uint64_t bytes,
              std::span<const std::uint32_t> ends, Byte delimiter, const LineOrderView& view, Byte* out) const;

 private:
  struct Memory;

  void SortEntries(const Memory& at, DoubleBuffer<Entry>& keys, std::uint64_t n, cudaStream_t s) const;
  /// Sorts the line numbers in at.order by comparing the lines with CompareLines. Returns the GPU address of the sorted
  /// line numbers.
  static const std::uint32_t* SortExactly(const Stream& stream, const Memory& at, const DeviceLines& lines,
                                          const LineOrderView& view, std::uint32_t rows);
  /// Sorts lines with equal entries by the next bytes of their keys, in rounds. An entry is twelve key bytes and a line
  /// number, and `keys` has the sorted entries of all lines. Leaves the sorted line numbers in at.order. Returns false
  /// if the order is not decided: after kMostRounds rounds, or if different lines have the same encoded key (bytes that
  /// sort as the line does).
  bool Rounds(const Stream& stream, const Memory& at, LineSortStatus* pinned, const DeviceLines& lines,
              const LineOrderView& view, std::uint32_t rows, std::uint32_t skip, DoubleBuffer<Entry> keys) const;

  std::uint64_t rows_;
  std::uint64_t tiles_;
  std::uint64_t cub_bytes_;
  std::uint64_t sort_bytes_ = 0;
};

/// Queues a search that sets bytes[i] to the size of all lines in ranges[i] whose keys come before the key of the line
/// `cut`. If ranges[i].inclusive is true, lines with the same key as `cut` count, too. The lines of a range must be
/// sorted. ranges[i].records is the size of the range in bytes. All lines except `cut` end with the delimiter. All
/// pointers must be to GPU memory.
void CountLineBytesBefore(const Stream& stream, const CountRange* ranges, std::uint64_t count, const Byte* cut,
                          std::uint64_t cut_length, Byte delimiter, const LineOrderView& view, std::uint64_t* bytes);

}  // namespace gpusort::detail

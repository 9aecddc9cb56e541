// Sorts text lines on the device. The steps: find the starts of the lines, sort entries of twelve key bytes, sort lines
// that are still equal by eight more bytes a round, and gather the lines once. Every round first determines how many
// bytes the lines of a group have in common, so that common bytes cost one comparison and no round. Lines that rounds
// cannot order (NULs at the ends of keys, or more than kMostRounds rounds) are sorted by CompareLines. Start at
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

/// Lines are loaded by aligned blocks of this many bytes. Such a block must be readable if it contains a byte of a
/// line.
inline constexpr std::uint64_t kLoadedBytes = 16;
/// Clears the bytes after the last of `bytes` bytes that a load may touch. Sanitizers would report them as
/// uninitialized.
inline void PadLoaded(const Stream& stream, std::byte* data, std::uint64_t bytes) {
  const std::uint64_t over = bytes % kLoadedBytes;
  if (over == 0) return;
  CheckCuda("cudaMemsetAsync", [&] { return cudaMemsetAsync(data + bytes, 0, kLoadedBytes - over, stream.get()); });
}

/// The results of kernels that inspect lines. The caller must set all bits before the first kernel runs.
struct LineFindings {
  std::uint32_t in_order;  ///< 0 if any line is smaller than the line before it
  std::uint32_t skip;      ///< a number of leading bytes that the encoded keys of all lines share; there may be more
  std::uint32_t decided;   ///< 0 if the chunks of two different lines are equal
  std::uint32_t active;    ///< the number of lines of the next round
};

/// Sorts the lines of one slot at a time, with its own memory on the device.
class LineSort {
 public:
  /// For text of up to `bytes` (below 4 GiB) bytes in up to `rows` lines.
  LineSort(std::uint64_t bytes, std::uint64_t rows);

  /// Returns how many bytes of device memory Sort needs.
  std::uint64_t bytes() const;

  struct Result {
    std::uint64_t rows = 0;
    bool was_sorted = false;  ///< if true, `out` was not written
    bool too_many = false;    ///< more lines than the index takes: nothing was sorted
  };

  /// Sorts the whole lines text[0, bytes), which is 16-byte aligned, to `out`. `ends` is empty, or has the ends of the
  /// sorted runs that the text consists of, none of them empty. The keys of `view` must be in device memory. `memory`
  /// must have bytes() bytes of device memory, and `pinned` one LineFindings in pinned host memory. Returns while work
  /// is still queued on the stream.
  Result Sort(const Stream& stream, std::byte* memory, LineFindings* pinned, const Byte* text, std::uint64_t bytes,
              std::span<const std::uint32_t> ends, Byte delimiter, const LineOrderView& view, Byte* out) const;

 private:
  struct Memory;

  void SortEntries(const Memory& at, DoubleBuffer<Entry>& keys, std::uint64_t n, cudaStream_t s) const;
  /// Sorts the rows in at.order by CompareLines. Returns the address of the sorted rows.
  static const std::uint32_t* SortExactly(const Stream& stream, const Memory& at, const DeviceLines& lines,
                                          const LineOrderView& view, std::uint32_t rows);
  /// Orders lines whose twelve bytes are equal by their next bytes. `keys` are all entries, sorted. Leaves the sorted
  /// rows in at.order. Returns false if chunks do not decide.
  bool Rounds(const Stream& stream, const Memory& at, LineFindings* pinned, const DeviceLines& lines,
              const LineOrderView& view, std::uint32_t rows, std::uint32_t skip, DoubleBuffer<Entry> keys) const;

  std::uint64_t rows_;
  std::uint64_t tiles_;
  std::uint64_t cub_bytes_;
  std::uint64_t sort_bytes_ = 0;
};

/// Queues on the stream the computation of bytes[i]: how many bytes of the sorted lines of ranges[i] come before the
/// line `cut`, by key. A line with an equal key comes before it if the range is `inclusive`. `records` of a range is
/// its size in bytes. All lines end with the delimiter, except `cut`. All pointers are to device memory.
void CountLineBytesBefore(const Stream& stream, const CountRange* ranges, std::uint64_t count, const Byte* cut,
                          std::uint64_t cut_length, Byte delimiter, const LineOrderView& view, std::uint64_t* bytes);

}  // namespace gpusort::detail

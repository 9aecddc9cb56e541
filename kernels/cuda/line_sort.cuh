// Sorting text lines on the device: where lines begin, entries of twelve key bytes, rounds of eight more for those that
// are still equal, and one gather of whole lines. Every round first asks how far the lines of a group agree, so that
// what they have in common costs one comparison and no round. What rounds cannot decide (NULs at the ends of keys, or
// more rounds than kMostRounds) is sorted by CompareLines itself. Start at LineSort::Sort.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>

#include "cuda/device_memory.cuh"
#include "gpusort/merge.cuh"
#include "lines/line_order.hpp"
#include "records/key.hpp"

namespace gpusort::detail {

struct CountRange;
struct DeviceLines;

/// Lines are loaded by aligned blocks of so many bytes, which must be there where a line has a byte.
inline constexpr std::uint64_t kLoadedBytes = 16;
/// Sets what may be loaded with the last of `bytes` bytes and belongs to nothing: sanitizers take it for an error.
inline void PadLoaded(const Stream& stream, std::byte* data, std::uint64_t bytes) {
  const std::uint64_t over = bytes % kLoadedBytes;
  if (over == 0) return;
  CheckCuda("cudaMemsetAsync", [&] { return cudaMemsetAsync(data + bytes, 0, kLoadedBytes - over, stream.get()); });
}

/// The results of the kernels that look at lines. Set to all ones before the first of them runs.
struct LineFindings {
  std::uint32_t in_order;  ///< 0 if some line orders before its predecessor
  std::uint32_t skip;      ///< encoded bytes that all lines have in common (a lower bound)
  std::uint32_t decided;   ///< 0 if some lines differ in a way that chunks do not show
  std::uint32_t active;    ///< lines that the next round takes
};

/// Sorts the lines of one slot at a time, with its own memory on the device.
class LineSort {
 public:
  /// For text of up to `bytes` (below 4 GiB) in up to `rows` lines.
  LineSort(std::uint64_t bytes, std::uint64_t rows);

  /// Device memory that `Sort` needs.
  std::uint64_t bytes() const;

  struct Result {
    std::uint64_t rows = 0;
    bool was_sorted = false;  ///< then `out` was not written
    bool too_many = false;    ///< more lines than the index takes: nothing was done
  };

  /// Sorts text[0, bytes), whole lines, 16-byte aligned, to `out`. `ends`: empty, or where each of the sorted runs ends
  /// that the text consists of, none of them empty. `view`: its keys lie on the device. `memory`: bytes() on the
  /// device; `pinned`: a LineFindings in pinned host memory. Returns with work queued on the stream.
  Result Sort(const Stream& stream, std::byte* memory, LineFindings* pinned, const Byte* text, std::uint64_t bytes,
              std::span<const std::uint32_t> ends, Byte delimiter, const LineOrderView& view, Byte* out) const;

 private:
  struct Memory;

  void SortEntries(const Memory& at, DoubleBuffer<Entry>& keys, std::uint64_t n, cudaStream_t s) const;
  /// Sorts the rows in at.order by CompareLines. Returns where they are then.
  static const std::uint32_t* SortExactly(const Stream& stream, const Memory& at, const DeviceLines& lines,
                                          const LineOrderView& view, std::uint32_t rows);
  /// Orders lines whose twelve bytes are equal by the bytes that follow. `keys`: all entries, sorted. Leaves the rows
  /// in order in at.order. Returns false if chunks do not decide.
  bool Rounds(const Stream& stream, const Memory& at, LineFindings* pinned, const DeviceLines& lines,
              const LineOrderView& view, std::uint32_t rows, std::uint32_t skip, DoubleBuffer<Entry> keys) const;

  std::uint64_t rows_;
  std::uint64_t tiles_;
  std::uint64_t cub_bytes_;
  std::uint64_t sort_bytes_ = 0;
};

/// Queues on the stream: bytes[i] = how many bytes of the sorted lines of ranges[i], whose `records` are bytes, come
/// before the line `cut`: by key, `inclusive` deciding ties. All lines end with the delimiter; `cut` is without it.
/// All pointers are to device memory.
void CountLineBytesBefore(const Stream& stream, const CountRange* ranges, std::uint64_t count, const Byte* cut,
                          std::uint64_t cut_length, Byte delimiter, const LineOrderView& view, std::uint64_t* bytes);

}  // namespace gpusort::detail

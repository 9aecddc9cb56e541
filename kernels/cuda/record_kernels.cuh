// The CUDA backend's kernels for records of fixed size, which inspect, convert, copy and count records. The logic is in
// GPUSORT_HD functions, which tests can run on the host. Only GatherKernel needs aligned records (see GatherWordBytes).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpusort/host_device.hpp"
#include "kernels/backend.hpp"
#include "kernels/records/key.hpp"
#include "kernels/records/record.hpp"

namespace gpusort::detail {

inline constexpr unsigned kRecordThreads = 256;

/// Returns how many leading bytes are equal in the normalized keys (bytes that sort as the keys do) of the records `a`
/// and `b`. Returns at most `limit`, which must be at most layout.key_bytes.
GPUSORT_HD inline std::uint64_t CommonKeyPrefix(const Byte* a, const Byte* b, const RecordLayout& layout,
                                                std::uint64_t limit) {
  std::uint64_t common = 0;
  for (std::uint32_t f = 0; f < layout.field_count && common < limit; ++f) {
    const KeyField& field = layout.fields[f];
    std::uint32_t same = 0;
    if (field.type == KeyType::kBytes) {
      const std::uint64_t most = limit - common < field.length ? limit - common : field.length;
      while (same < most && a[field.offset + same] == b[field.offset + same]) ++same;
    } else {
      const std::uint64_t differ = MapNumber(a, field) ^ MapNumber(b, field);
      while (same < field.length && (differ >> (8 * (field.length - 1 - same)) & 0xFF) == 0) ++same;
    }
    common += same;
    if (same < field.length) break;
  }
  return common < limit ? common : limit;
}

/// A range of sorted records for CountBeforeCut, which counts the records before a given record. If `inclusive` is
/// true, records with the same key as that record count, too.
struct CountRange {
  const std::byte* data = nullptr;
  std::uint64_t records = 0;
  bool inclusive = false;
};

/// Returns how many records of the sorted range have a smaller key than the record `cut`. If range.inclusive is true,
/// records with an equal key count, too.
GPUSORT_HD inline std::uint64_t CountBeforeCut(const CountRange& range, const Byte* cut, const RecordLayout& layout) {
  const Byte* const records = reinterpret_cast<const Byte*>(range.data);
  std::uint64_t low = 0, high = range.records;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const int order = CompareKeys(records + middle * layout.stride, cut, layout);
    if (order < 0 || (order == 0 && range.inclusive)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Returns the size in bytes of the largest word with which records of `stride` bytes can be copied: 1, 2, 4, 8 or 16.
/// The first record must be 16-byte aligned.
GPUSORT_HD inline std::uint32_t GatherWordBytes(std::uint64_t stride) {
  std::uint32_t word = 16;
  while (stride % word != 0) word /= 2;
  return word;
}

/// Returns which input word must be copied to a given output word, to write the records in the order of `entries`.
/// - first_record, offset: the output word is word number `offset`, counted from the start of record `first_record`
/// - record_words: the number of words of a record
GPUSORT_HD inline std::uint64_t GatherSource(const Entry* entries, std::uint64_t first_record, std::uint32_t offset,
                                             std::uint32_t record_words) {
  // `offset` has 32 bits, because a 64-bit division costs a GPU thread about a hundred instructions.
  const std::uint32_t record = offset / record_words;
  const std::uint32_t word = offset - record * record_words;
  return std::uint64_t{entries[first_record + record].row()} * record_words + word;
}

/// The result of a kernel that inspects records: whether they are in order, and how many leading bytes are equal in all
/// keys. The caller must set all members to 0 before the kernel runs.
struct InspectResult {
  unsigned long long differing;  ///< the key length minus the number of leading bytes that are equal in all keys
  std::uint32_t out_of_order;    ///< 1 if the key of some record is smaller than the key of the record before
};

/// Sets result->out_of_order to 1 if the `count` records are not in order. If want_prefix is true, also sets
/// result->differing (see InspectResult). The caller must set *result to 0 before the kernel runs.
template <typename = void>
__global__ void __launch_bounds__(kRecordThreads)
    InspectRecordsKernel(const Byte* records, std::uint64_t count, const __grid_constant__ RecordLayout layout,
                         bool want_prefix, InspectResult* result) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = 1 + std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    // Other threads may write these values at the same time. An old value is harmless: it makes this thread do needless
    // work, but does not change the result.
    const bool in_order = *static_cast<volatile std::uint32_t*>(&result->out_of_order) == 0;
    const std::uint64_t prefix =
        want_prefix ? layout.key_bytes - *static_cast<volatile unsigned long long*>(&result->differing) : 0;
    if (!in_order && prefix == 0) return;
    const Byte* const record = records + i * layout.stride;
    if (in_order && CompareKeys(record - layout.stride, record, layout) > 0) atomicExch(&result->out_of_order, 1u);
    if (prefix > 0) {
      const std::uint64_t common = CommonKeyPrefix(records, record, layout, prefix);
      if (common < prefix) {
        atomicMax(&result->differing, static_cast<unsigned long long>(layout.key_bytes - common));
      }
    }
  }
}

/// Sets result->out_of_order to 1 if the numbers are not in order. The caller must set *result to 0 before the kernel
/// runs.
template <typename U>
__global__ void __launch_bounds__(kRecordThreads)
    InspectNumbersKernel(const U* numbers, std::uint64_t count, NumberMap<U> map, InspectResult* result) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = 1 + std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    if (*static_cast<volatile std::uint32_t*>(&result->out_of_order) != 0) return;
    if (map.Map(numbers[i]) < map.Map(numbers[i - 1])) atomicExch(&result->out_of_order, 1u);
  }
}

/// Replaces each number x by map.Map(x), or by map.Unmap(x) if `back` is true.
template <typename U>
__global__ void __launch_bounds__(kRecordThreads)
    MapNumbersKernel(U* numbers, std::uint64_t count, NumberMap<U> map, bool back) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    numbers[i] = back ? map.Unmap(numbers[i]) : map.Map(numbers[i]);
  }
}

/// Sets entries[i] to the Entry of record i: the twelve key bytes after the first `skip` key bytes, and the number i.
/// `count` must be below 2^32.
template <typename = void>
__global__ void __launch_bounds__(kRecordThreads)
    MakeEntriesKernel(const Byte* records, std::uint64_t count, const __grid_constant__ RecordLayout layout,
                      std::uint64_t skip, Entry* entries) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    entries[i] = MakeEntry(records + i * layout.stride, layout, skip, static_cast<std::uint32_t>(i));
  }
}

/// kGatherItems is the number of words that each thread of GatherKernel copies, and kGatherTile is the number for each
/// thread block.
inline constexpr unsigned kGatherItems = 8;
inline constexpr std::uint64_t kGatherTile = std::uint64_t{kRecordThreads} * kGatherItems;

/// Copies whole records in the order of `entries`: output record i is input record entries[i].row(). Neighbouring
/// threads write neighbouring words, and read neighbouring words within a record.
template <typename Word>
__global__ void __launch_bounds__(kRecordThreads)
    GatherKernel(const Word* __restrict__ in, Word* __restrict__ out, const Entry* __restrict__ entries,
                 std::uint64_t words, std::uint32_t record_words) {
  const std::uint64_t first = blockIdx.x * kGatherTile;
  const std::uint64_t first_record = first / record_words;
  const std::uint32_t offset = static_cast<std::uint32_t>(first - first_record * record_words);
#pragma unroll
  for (unsigned i = 0; i < kGatherItems; ++i) {
    const std::uint32_t at = i * kRecordThreads + threadIdx.x;
    if (first + at < words) out[first + at] = in[GatherSource(entries, first_record, offset + at, record_words)];
  }
}

/// Pieces of memory that one kernel copies; the table is a parameter of the kernel. Each piece is divided into tiles of
/// kTile bytes, and each thread block copies one tile.
struct PieceTable {
  static constexpr unsigned kMost = 128;
  static constexpr std::uint64_t kTile = 1 << 14;  ///< the size of a tile, in bytes
  const Byte* from[kMost];
  std::uint64_t to[kMost];  ///< offsets in the output, in bytes
  std::uint64_t bytes[kMost];
  std::uint32_t first_tile[kMost];  ///< the number of the first tile of each piece, counted over all pieces
  std::uint32_t next_tile = 0, count = 0;

  bool full() const { return count == kMost; }
  std::uint32_t tiles() const { return next_tile; }
  void Add(const Byte* piece, std::uint64_t offset, std::uint64_t size) {
    if (count == 0) next_tile = 0;
    from[count] = piece;
    to[count] = offset;
    bytes[count] = size;
    first_tile[count++] = next_tile;
    next_tile += static_cast<std::uint32_t>((size + kTile - 1) / kTile);
  }
};

/// Copies n bytes with all threads of the block. If the two addresses have different alignments, reads aligned words of
/// `from` and shifts them. Reads only words that contain one of the n bytes.
__device__ inline void CopyByBlock(Byte* to, const Byte* from, std::uint32_t n) {
  const auto address = [](const Byte* p) { return reinterpret_cast<std::uintptr_t>(p); };
  if ((address(to) | address(from) | n) % 8 == 0) {
    const auto* const in = reinterpret_cast<const uint2*>(from);
    auto* const out = reinterpret_cast<uint2*>(to);
#pragma unroll 8
    for (std::uint32_t i = threadIdx.x; i < n / 8; i += kRecordThreads) out[i] = in[i];
    return;
  }
  const std::uint32_t head = min(static_cast<std::uint32_t>(-address(to) % 4), n);
  const std::uint32_t words = (n - head) / 4;
  const std::uint32_t rest = head + words * 4;
  if (threadIdx.x < head) to[threadIdx.x] = from[threadIdx.x];
  if (threadIdx.x < n - rest) to[rest + threadIdx.x] = from[rest + threadIdx.x];
  const Byte* const begin = from + head;
  const unsigned shift = static_cast<unsigned>(address(begin) % 4);
  const auto* const in = reinterpret_cast<const std::uint32_t*>(begin - shift);
  auto* const out = reinterpret_cast<std::uint32_t*>(to + head);
#pragma unroll 4
  for (std::uint32_t i = threadIdx.x; i < words; i += kRecordThreads) {
    out[i] = shift == 0 ? in[i] : __funnelshift_r(in[i], in[i + 1], 8 * shift);
  }
}

template <typename = void>
__global__ void __launch_bounds__(kRecordThreads)
    CopyPiecesKernel(const __grid_constant__ PieceTable pieces, Byte* to) {
  // Finds the piece that contains this block's tile: the last piece whose first tile number is at most the block
  // number.
  std::uint32_t low = 0, high = pieces.count - 1;
  while (low < high) {
    const std::uint32_t middle = (low + high + 1) / 2;
    if (pieces.first_tile[middle] <= blockIdx.x) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const std::uint64_t begin = (blockIdx.x - pieces.first_tile[low]) * PieceTable::kTile;
  const std::uint64_t left = pieces.bytes[low] - begin;
  CopyByBlock(to + pieces.to[low] + begin, pieces.from[low] + begin,
              static_cast<std::uint32_t>(left < PieceTable::kTile ? left : PieceTable::kTile));
}

/// Sets counts[i] to the number of records in ranges[i] that come before the record `cut` (see CountBeforeCut).
template <typename = void>
__global__ void __launch_bounds__(kRecordThreads)
    CountBeforeKernel(const CountRange* ranges, std::uint32_t count, const Byte* cut,
                      const __grid_constant__ RecordLayout layout, std::uint64_t* counts) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) counts[i] = CountBeforeCut(ranges[i], cut, layout);
}

}  // namespace gpusort::detail

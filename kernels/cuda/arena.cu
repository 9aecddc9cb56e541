#include <algorithm>

#include "gpusort/merge.cuh"
#include "kernels/cuda/arena.cuh"
#include "kernels/cuda/key_sorts.cuh"
#include "kernels/records/key.hpp"
#include "kernels/records/records.hpp"

namespace gpusort::cuda {
namespace {

/// Returns the size of the workspace for sorting `n` keys in two lists. The size depends only on `n`.
template <typename Key, typename LessT>
std::uint64_t SortWorkspace(std::uint64_t n, LessT less) {
  std::size_t bytes = 0;
  DoubleBuffer<Key> keys;
  CheckCuda("SortKeys", [&] { return KeySorts<Key, LessT>::Sort(nullptr, bytes, keys, n, less, nullptr); });
  return bytes;
}

}  // namespace

LaneMemoryMap::LaneMemoryMap(const RecordLayout& layout, std::uint64_t slot_bytes) {
  if (!layout.fixed()) {
    // The memory of a lane is for at least this many lines, because a merge window may have more lines than a batch.
    constexpr std::uint64_t kLeastRows = std::uint64_t{1} << 20;
    lines.emplace(slot_bytes, std::max(SlotRecords(layout, slot_bytes), std::min(slot_bytes, kLeastRows)));
    return;
  }
  rows = std::max<std::uint64_t>(1, slot_bytes / layout.stride);
  // A run costs 40 bytes of workspace. This is less than 0.2 bytes for each record. In a window of few records every
  // record may be a run.
  max_runs = static_cast<std::uint32_t>(std::max<std::uint64_t>(2, std::min(rows, 4096 + rows / 256)));
  if (!layout.direct()) {
    entries_bytes = RoundUp(rows * sizeof(Entry), kAlignment);
    workspace_bytes = std::max({SortWorkspace<Entry>(rows, ExactEntryLess{}),
                                SortWorkspace<Entry>(rows, PrefixEntryLess{nullptr, nullptr, 0}),
                                std::uint64_t{MergeRunsWorkspace<Entry>(rows, max_runs)}});
  } else if (layout.stride == 4) {
    workspace_bytes = std::max(SortWorkspace<std::uint32_t>(rows, Less{}),
                               std::uint64_t{MergeRunsWorkspace<std::uint32_t>(rows, max_runs)});
  } else {
    workspace_bytes = std::max(SortWorkspace<std::uint64_t>(rows, Less{}),
                               std::uint64_t{MergeRunsWorkspace<std::uint64_t>(rows, max_runs)});
  }
  workspace_bytes = RoundUp(workspace_bytes, kAlignment);
}

Arena::Arena(DevicePtr device, const ArenaShape& shape, HostMemory& memory)
    : SlotPool(shape.slots, shape.lanes),
      device_(device),
      shape_(shape),
      lane_map_(shape.layout, shape.slot_bytes),
      common_map_(shape.layout),
      slot_pitch_(RoundUp(shape.slot_bytes, kAlignment)),
      device_bytes_(shape.slots * slot_pitch_ + shape.lanes * lane_map_.bytes() + common_map_.bytes()),
      memory_(device, device_bytes_),
      pinned_(device, memory, CommonMemoryMap::kPinnedBytes + shape.lanes * kAlignment),
      streams_(device) {
  static_assert(CommonMemoryMap::kPinnedBytes + 4 * kAlignment <= kMostPinnedByGpu);  // for more lanes than a plan has
  const StreamPool::Borrowed stream(streams_);
  stream->Copy(common() + common_map_.layout(), &shape_.layout, sizeof(RecordLayout), cudaMemcpyHostToDevice);
  if (!shape_.layout.fixed()) {
    line_order_ = *shape_.layout.lines;
    stream->Copy(common() + common_map_.keys(), line_order_.keys, common_map_.keys_bytes, cudaMemcpyHostToDevice);
    line_order_.keys = reinterpret_cast<const LineKey*>(common() + common_map_.keys());
  }
  stream->Wait();
}

void Arena::Fetch(const std::byte* from, std::span<std::byte> out) {
  const std::lock_guard<std::mutex> lock(search_mutex_);
  const StreamPool::Borrowed stream(streams_);
  std::byte* const pinned = pinned_.data() + CommonMemoryMap::kPinnedFetched;
  stream->Fetch(pinned, from, out.size());
  stream->Wait();
  std::memcpy(out.data(), pinned, out.size());
}

void Arena::Read(std::span<const SlotRead> reads) {
  const std::lock_guard<std::mutex> lock(search_mutex_);
  const StreamPool::Borrowed stream(streams_);
  auto* const table = reinterpret_cast<FetchedBytes*>(pinned_.data());
  std::byte* const fetched = pinned_.data() + CommonMemoryMap::kPinnedFetched;
  static_assert(kSearchRanges * sizeof(FetchedBytes) <= CommonMemoryMap::kPinnedCounts);
  for (std::size_t first = 0, next = 0; first < reads.size(); first = next) {
    std::uint64_t bytes = 0, count = 0;
    for (; next < reads.size() && count < kSearchRanges; ++next) {
      const std::uint64_t size = reads[next].out.size();
      if (size > kMostFetched) {
        stream->Copy(reads[next].out.data(), reads[next].data, size, cudaMemcpyDeviceToHost);
        continue;
      }
      if (bytes + size > kFetchedTogether) break;
      table[count++] = {AsBytes(reads[next].data), static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(size)};
      bytes += size;
    }
    if (count > 0) stream->FetchAll(fetched, table, count);
    stream->Wait();
    const std::byte* from = fetched;
    for (; first < next; ++first) {
      if (reads[first].out.size() > kMostFetched) continue;
      std::memcpy(reads[first].out.data(), from, reads[first].out.size());
      from += reads[first].out.size();
    }
  }
}

void Arena::BytesBefore(std::span<const SearchRange> ranges, RecordSpan cut_record,
                        std::vector<std::uint64_t>& counts) {
  // Fixed records are counted in records, lines in bytes.
  const bool fixed = shape_.layout.fixed();
  const std::uint64_t stride = LeastRecordBytes(shape_.layout);
  const std::lock_guard<std::mutex> lock(search_mutex_);
  const StreamPool::Borrowed stream(streams_);
  auto* const d_ranges = reinterpret_cast<CountRange*>(common() + common_map_.ranges());
  auto* const d_counts = reinterpret_cast<std::uint64_t*>(common() + common_map_.counts());
  std::byte* const d_cut = CutMemory(RoundUp(cut_record.size(), kLoadedBytes));
  std::byte* const pinned_counts = pinned_.data() + CommonMemoryMap::kPinnedCounts;
  PadLoaded(*stream, d_cut, cut_record.size());
  // The cut stays valid until the wait below, whether it is pinned or not.
  stream->Copy(d_cut, cut_record.data(), cut_record.size(), cudaMemcpyHostToDevice);
  while (!ranges.empty()) {
    const std::span<const SearchRange> some = ranges.first(std::min<std::size_t>(ranges.size(), kSearchRanges));
    ranges = ranges.subspan(some.size());
    auto* const pinned_ranges = reinterpret_cast<CountRange*>(pinned_.data());
    for (std::size_t i = 0; i < some.size(); ++i) {
      pinned_ranges[i] = {some[i].data, some[i].bytes / stride, some[i].inclusive};
    }
    stream->Copy(d_ranges, pinned_.data(), some.size() * sizeof(CountRange), cudaMemcpyHostToDevice);
    if (fixed) {
      stream->Launch("CountBeforeKernel", CountBeforeKernel<>, DivideUp(some.size(), kRecordThreads), kRecordThreads,
                     d_ranges, static_cast<std::uint32_t>(some.size()), AsBytes(d_cut), shape_.layout, d_counts);
    } else {
      CountLineBytesBefore(*stream, d_ranges, some.size(), AsBytes(d_cut), cut_record.size() - 1,
                           shape_.layout.delimiter, line_order_, d_counts);
    }
    stream->Fetch(pinned_counts, d_counts, some.size() * sizeof(std::uint64_t));
    stream->Wait();
    const std::size_t have = counts.size();
    counts.resize(have + some.size());
    std::memcpy(counts.data() + have, pinned_counts, some.size() * sizeof(std::uint64_t));
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (counts[have + i] > some[i].bytes / stride) throw WrongResult("the GPU counts more records than there are");
      counts[have + i] *= stride;
    }
  }
}

std::byte* Arena::CutMemory(std::uint64_t bytes) {
  if (bytes <= RoundUp(common_map_.cut_bytes, kAlignment)) return common() + common_map_.cut();
  if (bytes > long_cut_bytes_) {
    // Keeps smaller memory until the arena is destroyed. Freeing GPU memory would wait for the work of all lanes.
    long_cut_bytes_ = std::max(bytes, 2 * long_cut_bytes_);
    long_cuts_.push_back(std::make_unique<DeviceMemory>(device_, long_cut_bytes_));
  }
  return long_cuts_.back()->data();
}

}  // namespace gpusort::cuda

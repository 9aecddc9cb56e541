#include "kernels/cuda/line_sort.cuh"

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <utility>

#include "kernels/cuda/key_sorts.cuh"
#include "kernels/cuda/line_kernels.cuh"

namespace gpusort::detail {
namespace {

constexpr std::uint64_t kMostLineBlocks = 4096;
/// After this many rounds, lines that are still equal are compared directly.
constexpr int kMostRounds = 64;

using EntrySorts = KeySorts<Entry, ExactEntryLess>;

std::uint64_t Round(std::uint64_t n) { return (n + 255) / 256 * 256; }
std::uint64_t Blocks(std::uint64_t items) {
  return std::max<std::uint64_t>(1, std::min((items + kLineThreads - 1) / kLineThreads, kMostLineBlocks));
}

std::uint64_t CubBytes(std::uint64_t rows, std::uint64_t tiles) {
  std::size_t sums = 0, sizes = 0, heads = 0, select = 0;
  std::uint32_t* const none = nullptr;
  const thrust::counting_iterator<std::uint32_t> numbers(0);
  const auto lengths = thrust::make_transform_iterator(numbers, LineBytes{});
  const auto lines = thrust::make_transform_iterator(numbers, ToActiveLine{});
  const auto stays = thrust::make_transform_iterator(numbers, StaysActive{});
  ActiveLine* const no_lines = nullptr;
  const bool known = cub::DeviceScan::ExclusiveSum(nullptr, sums, none, none, tiles) == cudaSuccess &&
                     cub::DeviceScan::ExclusiveSum(nullptr, sizes, lengths, none, rows) == cudaSuccess &&
                     cub::DeviceScan::InclusiveScan(nullptr, heads, none, none, Greatest{}, rows) == cudaSuccess &&
                     cub::DeviceSelect::Flagged(nullptr, select, lines, stays, no_lines, none,
                                                static_cast<std::int64_t>(rows)) == cudaSuccess;
  if (!known) throw Error(ErrorCode::kGpuLost, "CUB gives no workspace sizes");
  return std::max({sums, sizes, heads, select});
}

void Fetch(const Stream& stream, LineSortStatus* pinned, const LineSortStatus* status) {
  stream.Fetch(pinned, status, sizeof(LineSortStatus));
  stream.Wait();
}

}  // namespace

/// The parts of the memory that LineSort::Sort gets.
struct LineSort::Memory {
  LineSortStatus* status;
  Entry* entries[2];
  std::uint32_t *starts, *order, *groups, *skips[2];
  ActiveLine* active[2];
  std::uint32_t* tiles;
  std::byte* workspace;

  Memory(const LineSort& sort, std::byte* next) {
    const auto take = [&](std::uint64_t bytes) { return std::exchange(next, next + Round(bytes)); };
    status = reinterpret_cast<LineSortStatus*>(take(sizeof(LineSortStatus)));
    for (Entry*& list : entries) list = reinterpret_cast<Entry*>(take(sort.rows_ * sizeof(Entry)));
    for (std::uint32_t** list : {&starts, &order, &groups, &skips[0], &skips[1]}) {
      *list = reinterpret_cast<std::uint32_t*>(take((sort.rows_ + 1) * 4));
    }
    for (ActiveLine*& list : active) list = reinterpret_cast<ActiveLine*>(take(sort.rows_ * sizeof(ActiveLine)));
    tiles = reinterpret_cast<std::uint32_t*>(take(sort.tiles_ * 4));
    workspace = take(sort.sort_bytes_);
  }
};

LineSort::LineSort(std::uint64_t bytes, std::uint64_t rows)
    : rows_(rows), tiles_(bytes / kScanTile + 1), cub_bytes_(CubBytes(rows, tiles_)) {
  DoubleBuffer<Entry> keys;
  std::size_t bytes_of_sort = 0;
  CheckCuda("SortKeys", [&] { return EntrySorts::Sort(nullptr, bytes_of_sort, keys, rows, {}, nullptr); });
  sort_bytes_ = std::max<std::uint64_t>(bytes_of_sort, cub_bytes_);
}

std::uint64_t LineSort::bytes() const {
  return Round(sizeof(LineSortStatus)) + 2 * Round(rows_ * sizeof(Entry)) + 5 * Round((rows_ + 1) * 4) +
         2 * Round(rows_ * 8) + Round(tiles_ * 4) + Round(sort_bytes_);
}

LineSort::Result LineSort::Sort(const Stream& stream, std::byte* memory, LineSortStatus* pinned, const Byte* text,
                                std::uint64_t bytes, std::span<const std::uint32_t> ends, Byte delimiter,
                                const LineOrderView& view, Byte* out) const {
  const Memory at(*this, memory);
  const cudaStream_t s = stream.get();
  Result result;

  // Finds the starts of the lines.
  const std::uint64_t tiles = (bytes + kScanTile - 1) / kScanTile;
  stream.Launch("CountLinesKernel", CountLinesKernel<>, tiles, kLineThreads, text, bytes, delimiter, at.tiles);
  std::uint32_t last_tile = 0, last_before = 0;
  stream.Fetch(&pinned->skip, at.tiles + tiles - 1, 4);
  std::size_t temp = cub_bytes_;
  CheckCuda("cub::DeviceScan",
            [&] { return cub::DeviceScan::ExclusiveSum(at.workspace, temp, at.tiles, at.tiles, tiles, s); });
  stream.Fetch(&pinned->active, at.tiles + tiles - 1, 4);
  stream.Wait();
  last_tile = pinned->skip;
  last_before = pinned->active;
  const std::uint32_t rows = last_before + last_tile;
  result.rows = rows;
  if (rows == 0) throw WrongResult("the GPU finds no line where there are some");
  result.too_many = rows > rows_;
  if (result.too_many) return result;
  // `ends` is not pinned, so its copy would wait for queued work. It is copied while no other work is queued. There are
  // no more runs than lines.
  std::uint32_t* const run_ends = at.groups;
  if (!ends.empty()) stream.Copy(run_ends, ends.data(), ends.size_bytes(), cudaMemcpyHostToDevice);
  stream.Launch("LineStartsKernel", LineStartsKernel<>, tiles, kLineThreads, text, bytes, delimiter, at.tiles,
                at.starts);
  const DeviceLines lines{text, at.starts};

  CheckCuda("cudaMemsetAsync", [&] { return cudaMemsetAsync(at.status, 0xFF, sizeof(LineSortStatus), s); });
  if (ends.empty()) {
    stream.Launch("InspectLinesKernel", InspectLinesKernel<>, Blocks(rows), kLineThreads, lines, rows, view, at.status);
  } else {
    stream.Launch("InspectRunsKernel", InspectRunsKernel<>, Blocks(ends.size()), kLineThreads, lines, rows, run_ends,
                  static_cast<std::uint32_t>(ends.size()), view, at.status);
  }
  Fetch(stream, pinned, at.status);
  if (pinned->in_order != 0) {
    result.was_sorted = true;
    return result;
  }
  const std::uint32_t skip = pinned->skip >= kHiddenDifference ? 0 : pinned->skip;

  stream.Launch("LineEntriesKernel", LineEntriesKernel<>, Blocks(rows), kLineThreads, lines, rows, view, skip,
                at.entries[0]);
  DoubleBuffer<Entry> keys{at.entries[0], at.entries[1]};
  SortEntries(at, keys, rows, s);
  const std::uint32_t* order = at.order;
  if (!Rounds(stream, at, pinned, lines, view, rows, skip, keys)) order = SortExactly(stream, at, lines, view, rows);

  const auto sizes =
      thrust::make_transform_iterator(thrust::counting_iterator<std::uint32_t>(0), LineBytes{at.starts, order});
  temp = cub_bytes_;
  CheckCuda("cub::DeviceScan",
            [&] { return cub::DeviceScan::ExclusiveSum(at.workspace, temp, sizes, at.groups, rows, s); });
  stream.Launch("GatherLinesKernel", GatherLinesKernel<>, std::min<std::uint64_t>((rows + 7) / 8, 1 << 16),
                kLineThreads, lines, rows, order, at.groups, out);
  return result;
}

void LineSort::SortEntries(const Memory& at, DoubleBuffer<Entry>& keys, std::uint64_t n, cudaStream_t s) const {
  std::size_t bytes = sort_bytes_;
  CheckCuda("SortKeys", [&] { return EntrySorts::Sort(at.workspace, bytes, keys, n, {}, s); });
}

const std::uint32_t* LineSort::SortExactly(const Stream& stream, const Memory& at, const DeviceLines& lines,
                                           const LineOrderView& view, std::uint32_t rows) {
  const std::uint64_t blocks = (std::uint64_t{rows} + kLineThreads * kExactItems - 1) / (kLineThreads * kExactItems);
  std::uint32_t *from = at.order, *to = at.skips[0];
  stream.Launch("ExactTilesKernel", ExactTilesKernel<>, blocks, kLineThreads, lines, view, from, rows);
  for (std::uint64_t run = kExactItems; run < rows; run *= 2) {
    stream.Launch("ExactMergeKernel", ExactMergeKernel<>, blocks, kLineThreads, lines, view, from, to, rows, run);
    std::swap(from, to);
  }
  return from;
}

bool LineSort::Rounds(const Stream& stream, const Memory& at, LineSortStatus* pinned, const DeviceLines& lines,
                      const LineOrderView& view, std::uint32_t rows, std::uint32_t skip,
                      DoubleBuffer<Entry> keys) const {
  const cudaStream_t s = stream.get();
  const thrust::counting_iterator<std::uint32_t> numbers(0);
  const ActiveLine* active = nullptr;
  std::uint32_t count = rows;
  for (int round = 0; round < kMostRounds; ++round) {
    std::uint32_t* const skips = at.skips[round % 2];
    const std::uint32_t* const known_skips = at.skips[(round + 1) % 2];
    stream.Launch("StoreRoundKernel", StoreRoundKernel<>, Blocks(count), kLineThreads, keys.current, count, active,
                  at.order, at.groups);
    std::size_t temp = cub_bytes_;
    // The number of a group is the place of its first entry, which is the greatest number in heads[0..j].
    CheckCuda("cub::DeviceScan", [&] {
      return cub::DeviceScan::InclusiveScan(at.workspace, temp, at.groups, at.groups, Greatest{}, count, s);
    });
    CheckCuda("cudaMemsetAsync", [&] { return cudaMemsetAsync(skips, 0xFF, std::uint64_t{rows} * 4, s); });
    stream.Launch("DifferencesKernel", DifferencesKernel<>, Blocks(count), kLineThreads, lines, view, count, active,
                  at.order, at.groups, skip + 12, known_skips, skips, at.status);
    ActiveLine* const next = at.active[round % 2];
    const auto all = thrust::make_transform_iterator(numbers, ToActiveLine{active, at.groups});
    const auto stays = thrust::make_transform_iterator(numbers, StaysActive{at.groups, skips});
    temp = cub_bytes_;
    CheckCuda("cub::DeviceSelect", [&] {
      return cub::DeviceSelect::Flagged(at.workspace, temp, all, stays, next, &at.status->active,
                                        static_cast<std::int64_t>(count), s);
    });
    Fetch(stream, pinned, at.status);
    if (pinned->decided == 0) return false;
    if (pinned->active > count) throw WrongResult("the GPU counts more lines than there are");
    count = pinned->active;
    if (count == 0) return true;
    active = next;
    stream.Launch("RoundEntriesKernel", RoundEntriesKernel<>, Blocks(count), kLineThreads, lines, view, active, count,
                  at.order, skips, at.entries[0]);
    keys = {at.entries[0], at.entries[1]};
    SortEntries(at, keys, count, s);
  }
  return false;
}

void CountLineBytesBefore(const Stream& stream, const CountRange* ranges, std::uint64_t count, const Byte* cut,
                          std::uint64_t cut_length, Byte delimiter, const LineOrderView& view, std::uint64_t* bytes) {
  stream.Launch("LineBytesBeforeKernel", LineBytesBeforeKernel<>, count, kLineThreads, ranges, cut, cut_length,
                delimiter, view, bytes);
}

}  // namespace gpusort::detail

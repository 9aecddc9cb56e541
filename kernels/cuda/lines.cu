// Lanes (workers) of the CUDA backend for lines of text, which LineSort sorts.
#include "kernels/cuda/lane.cuh"
#include "kernels/cuda/line_sort.cuh"
#include "kernels/records/records.hpp"

namespace gpusort::cuda {
namespace {

class LineLane final : public CudaLane {
 public:
  using CudaLane::CudaLane;

 private:
  Sorted SortSlot(std::byte* in, std::uint64_t bytes, std::byte* out) override {
    const LineSort::Result sorted = SortLines(in, bytes, {}, out);
    if (sorted.too_many) throw WrongResult("a batch of more lines than a slot takes");
    return {sorted.was_sorted, sorted.was_sorted, sorted.rows};
  }

  /// Merges by sorting all lines. The starts of the lines must be found in any case, and sorting then costs less than
  /// copying the lines over the bus. The sort is stable, because pieces come in the order of their runs.
  Merged MergeSlot(std::byte* in, std::uint64_t bytes, std::vector<std::uint64_t> bounds, std::byte* spare) override {
    const std::vector<std::uint32_t> ends(bounds.begin() + 1, bounds.end());
    const LineSort::Result sorted = SortLines(in, bytes, ends, spare);
    if (sorted.too_many) return {nullptr, CutInHalf(in, bounds)};
    return {sorted.was_sorted ? in : spare};
  }

  std::vector<std::uint64_t> CutInHalf(const std::byte* in, std::span<const std::uint64_t> bounds) {
    const auto read = [&](std::uint64_t begin, std::span<std::byte> to) {
      stream().Copy(to.data(), in + begin, to.size(), cudaMemcpyDeviceToHost);
      stream().Wait();
    };
    const auto before = [&](std::span<const SearchRange> ranges, RecordSpan cut) {
      std::vector<std::uint64_t> counts;
      lane_memory().arena().BytesBefore(ranges, cut, counts);
      return counts;
    };
    return CutLinesInHalf(in, bounds, layout(), read, before);
  }

  LineSort::Result SortLines(std::byte* in, std::uint64_t bytes, std::span<const std::uint32_t> ends,
                             std::byte* out) const {
    static_assert(sizeof(LineSortStatus) <= kAlignment);
    // Either slot may become a run. The sizes of slots are multiples of the alignment.
    PadLoaded(stream(), in, bytes);
    PadLoaded(stream(), out, bytes);
    return map().lines->Sort(
        stream(), lane_memory().data(), reinterpret_cast<LineSortStatus*>(lane_memory().pinned_result()), AsBytes(in),
        bytes, ends, layout().delimiter, lane_memory().arena().device_line_order(), reinterpret_cast<Byte*>(out));
  }
};

}  // namespace

std::unique_ptr<Lane> MakeLineLane(const std::shared_ptr<Arena>& arena) { return std::make_unique<LineLane>(arena); }

}  // namespace gpusort::cuda

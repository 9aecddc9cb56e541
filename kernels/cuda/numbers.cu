// Lanes (workers) of the CUDA backend for records that are a single number: see NumberMap.
#include "kernels/cuda/fixed_lane.cuh"
#include "kernels/records/key.hpp"

namespace gpusort::cuda {
namespace {

template <typename U>
class NumberLane final : public FixedLaneBase {
 public:
  using FixedLaneBase::FixedLaneBase;

 private:
  void MapNumbers(U* numbers, std::uint64_t n, const NumberMap<U>& map, bool back) const {
    if (map.identity()) return;
    stream().Launch("MapNumbersKernel", MapNumbersKernel<U>, StridingBlocks(n), kRecordThreads, numbers, n, map, back);
  }

  Sorted SortSlot(std::byte* in, std::uint64_t bytes, std::byte* out) override {
    const std::uint64_t n = bytes / sizeof(U);
    U* const numbers = reinterpret_cast<U*>(in);
    const NumberMap<U> map = MakeNumberMap<U>(layout().fields[0]);
    const InspectResult found = Inspect([&] {
      stream().Launch("InspectNumbersKernel", InspectNumbersKernel<U>, StridingBlocks(n), kRecordThreads, numbers, n,
                      map, device_result());
    });
    if (found.out_of_order == 0) return {true, true, n};
    MapNumbers(numbers, n, map, false);
    DoubleBuffer<U> keys{numbers, reinterpret_cast<U*>(out)};
    SortInBuffer(keys, n, Less{});
    MapNumbers(keys.current, n, map, true);
    return {keys.current == numbers, false, n};
  }

  Merged MergeSlot(std::byte* in, std::uint64_t, std::vector<std::uint64_t> bounds, std::byte* spare) override {
    const std::uint64_t n = bounds.back();
    const NumberMap<U> map = MakeNumberMap<U>(layout().fields[0]);
    DoubleBuffer<U> keys{reinterpret_cast<U*>(in), reinterpret_cast<U*>(spare)};
    MapNumbers(keys.current, n, map, false);
    MergeInBuffer(keys, std::move(bounds), Less{});
    MapNumbers(keys.current, n, map, true);
    return {reinterpret_cast<const std::byte*>(keys.current)};
  }
};

}  // namespace

std::unique_ptr<Lane> MakeNumberLane(const std::shared_ptr<Arena>& arena) {
  if (arena->shape().layout.stride == 4) return std::make_unique<NumberLane<std::uint32_t>>(arena);
  return std::make_unique<NumberLane<std::uint64_t>>(arena);
}

}  // namespace gpusort::cuda

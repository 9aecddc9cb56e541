// The sorter of lines of the CPU backend, for cpu_backend.cpp, which passes threads (an executor) and memory. Start at
// LineSlotSorter.
#pragma once

#include "kernels/cpu/cpu_line_merge.hpp"
#include "kernels/cpu/cpu_line_sort.hpp"
#include "kernels/cpu/cpu_sorter.hpp"

namespace gpusort::detail {

class LineSlotSorter final : public SlotSorter {
 public:
  LineSlotSorter(const RecordLayout& layout, std::uint64_t slot_bytes, std::uint64_t batch_lines)
      : layout_(layout), shape_(layout, slot_bytes, batch_lines) {}
  std::uint64_t LaneBytes(unsigned workers) const override { return shape_.bytes(workers); }
  Sorted Sort(std::byte* in, std::uint64_t bytes, std::byte* out, std::byte* memory,
              const TeamExecutor& executor) const override {
    return LineSorter(layout_, shape_, memory).Sort(in, bytes, out, executor);
  }
  void Merge(std::span<const RecordSpan> pieces, std::byte* out, std::byte* memory,
             const TeamExecutor& executor) const override {
    LineMerger(layout_, shape_, memory).Merge(pieces, out, executor);
  }

 private:
  const RecordLayout& layout_;
  const LineShape shape_;
};

}  // namespace gpusort::detail

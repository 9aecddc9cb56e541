// A run: an immutable sorted sequence of records, and where its bytes are.
// A run lies in a slot (device or host memory), in host memory of its own, in blocks of the spill, or, if it arrived in
// order, still in the input. It does not remember who sorted it; dropping it frees it, but for spilled blocks, which
// FreeBlocks gives back. Runs of a job are kept in the order of their records' input positions.
#pragma once

#include <algorithm>
#include <compare>
#include <cstring>
#include <memory>
#include <variant>
#include <vector>

#include "backend.hpp"
#include "gpusort/key.hpp"
#include "inputs.hpp"
#include "proof.hpp"
#include "spill.hpp"

namespace gpusort {

/// The first 16 bytes of a normalized key: enough to guess which block is needed next. Never decides the order.
struct ForecastKey {
  std::uint64_t hi = 0, lo = 0;
  friend auto operator<=>(const ForecastKey&, const ForecastKey&) = default;
};

inline ForecastKey MakeForecast(const std::byte* record, const RecordLayout& layout) {
  const Byte* bytes = reinterpret_cast<const Byte*>(record);
  return {KeyWord(bytes, layout, 0), layout.key_bytes > 8 ? KeyWord(bytes, layout, 8) : 0};
}

/// The unit in which a run is read back: whole records.
struct RunBlock {
  std::uint64_t begin = 0;  ///< byte of the run at which it starts
  std::uint64_t bytes = 0;
  std::variant<SpillExtent, InputRange> place;
  ForecastKey last;  ///< of its last record, if `forecast`
  bool forecast = false;
};

struct Run {
  std::uint64_t id = 0;  ///< names the run in spilled blocks
  std::uint64_t bytes = 0;
  std::uint32_t level = 0;                 ///< merges that made it
  RecordSum sum;                           ///< of its records as read; of merged runs, the parts' sum
  std::vector<InputRange> origin;          ///< base runs: the records' places in the input
  std::shared_ptr<SortedRecords> records;  ///< the run in a slot or in host memory; else it is in `blocks`
  std::vector<RunBlock> blocks;

  bool on_device() const { return records != nullptr && records->on_device(); }
  bool spilled() const { return !blocks.empty() && std::holds_alternative<SpillExtent>(blocks.front().place); }
};

/// Sorted records in host memory of their own: the middle tier, for runs that the device has no room for.
class HostRecords : public SortedRecords {
 public:
  /// Copies `source` out of its slot.
  HostRecords(HostMemory& memory, const SortedRecords& source)
      : buffer_(memory, source.bytes()), records_(source.records()), was_sorted_(source.was_sorted()) {
    source.Read(0, {buffer_.data(), buffer_.size()});
  }
  const std::byte* data() const override { return buffer_.data(); }
  bool on_device() const override { return false; }
  std::uint64_t bytes() const override { return buffer_.size(); }
  std::uint64_t records() const override { return records_; }
  bool was_sorted() const override { return was_sorted_; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::memcpy(out.data(), buffer_.data() + offset, out.size());
  }

 private:
  HostBuffer buffer_;
  std::uint64_t records_;
  bool was_sorted_;
};

/// Makes `run`'s spilled blocks reusable; of a run that was given up, those that were written.
inline void FreeBlocks(const Run& run, SpillStore& store) {
  for (const RunBlock& block : run.blocks) {
    const SpillExtent* extent = std::get_if<SpillExtent>(&block.place);
    if (extent != nullptr && extent->payload_bytes > 0) store.Free(*extent);
  }
}

/// The blocks of a run that stays where it is in the input.
inline std::vector<RunBlock> InputBlocks(const std::vector<InputRange>& ranges, std::uint64_t block_bytes) {
  std::vector<RunBlock> blocks;
  std::uint64_t begin = 0;
  for (const InputRange& range : ranges) {
    for (std::uint64_t done = 0; done < range.bytes; done += block_bytes) {
      const std::uint64_t bytes = std::min(block_bytes, range.bytes - done);
      blocks.push_back({begin, bytes, InputRange{range.input, range.offset + done, bytes}, {}, false});
      begin += bytes;
    }
  }
  return blocks;
}

}  // namespace gpusort

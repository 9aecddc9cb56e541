// A run: an immutable sorted sequence of records, and where its bytes are.
// A run lies in a slot (device or host memory), in host memory of its own, in blocks of the spill, or, if it arrived in
// order, still in the input. It does not remember who sorted it; dropping it frees it, but for spilled blocks, which
// RunStore gives back. Runs of a job are kept in the order of their records' input positions.
#pragma once

#include <array>
#include <compare>
#include <map>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "data/inputs.hpp"
#include "data/proof.hpp"
#include "io/spill.hpp"
#include "kernels/backend.hpp"
#include "kernels/records/key.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

/// The first bytes of a normalized key, 16 of a fixed record and 72 of a line: enough to guess which block is needed
/// next. Never decides the order.
struct ForecastKey {
  std::array<std::uint32_t, 18> words{};
  friend auto operator<=>(const ForecastKey&, const ForecastKey&) = default;
};

ForecastKey MakeForecast(RecordSpan record, const RecordLayout& layout);

/// The unit in which a run is read back: whole records. RunBlocks keeps it.
struct RunBlock {
  std::uint64_t begin = 0;  ///< byte of the run at which it starts
  std::uint64_t bytes = 0;
  std::variant<SpillExtent, InputRange> place;
  std::vector<SpillExtent> more;  ///< the rest of a line that is longer than a block of the spill
  ForecastKey last;               ///< of its last record, if `forecast`
  bool forecast = false;
};

/// What a buffer for loading it needs. `block_bytes`: of the spill's blocks.
std::uint64_t LoadBytes(const RunBlock& block, std::uint64_t block_bytes);

/// The blocks of a run. There may be millions, so each takes what a merge must know and no more (kBytes), and those of
/// a sorted input, which any number tells, take nothing.
class RunBlocks {
 public:
  /// Memory of a block without its forecast, and memory of its slot in the spill.
  static constexpr std::uint64_t kBytes = 32, kSlotBytes = 16;
  /// Words of a forecast that differ from one record to another.
  static std::size_t ForecastWords(const RecordLayout& layout) {
    return layout.fixed() ? 4 : ForecastKey{}.words.size();
  }
  /// Returns all memory that describes a block.
  static std::uint64_t IndexBytes(const RecordLayout& layout) {
    return kBytes + kSlotBytes + sizeof(std::uint32_t) * ForecastWords(layout);
  }

  RunBlocks() = default;
  explicit RunBlocks(const RecordLayout& layout) : words_(ForecastWords(layout)) {}
  /// Those of a sorted input, of `block_bytes` each. A block of lines is those that begin in its bytes, which is seen
  /// when it is read.
  RunBlocks(const InputRange& range, std::uint64_t block_bytes) : range_(range), range_block_(block_bytes) {}

  std::size_t size() const {
    return range_block_ > 0 ? (range_.bytes + range_block_ - 1) / range_block_ : packed_.size();
  }
  bool empty() const { return size() == 0; }
  RunBlock operator[](std::size_t number) const;
  void reserve(std::size_t count);
  /// Puts a block in its place; makes room up to there if it must.
  void Set(std::size_t number, const RunBlock& block);
  /// What a buffer for loading any of them needs. `block_bytes`: of the spill's blocks.
  std::uint64_t MostLoadBytes(std::uint64_t block_bytes) const;

 private:
  struct Packed {
    std::uint64_t begin = 0;
    std::uint64_t offset = 0;
    std::uint32_t bytes = 0;   // no block of 4 GiB is made
    std::uint32_t stored = 0;  // of the spill's block
    std::uint32_t owner = 0;   // the input, or the spill's file
    std::uint8_t codec = 0;
    bool in_input = false;
    bool forecast = false;
    bool has_more = false;
  };
  static_assert(sizeof(Packed) == kBytes);

  InputRange range_;
  std::uint64_t range_block_ = 0;
  std::size_t words_ = 0;
  std::vector<Packed> packed_;
  std::vector<std::uint32_t> forecasts_;                                     ///< words_ for each block
  std::unique_ptr<std::map<std::uint64_t, std::vector<SpillExtent>>> more_;  ///< by number; null: none has more
  std::uint64_t most_parts_ = 0, most_input_bytes_ = 0;                      ///< of any block
};

struct Run {
  std::uint64_t id = 0;  ///< names the run in spilled blocks
  std::uint64_t bytes = 0;
  std::uint32_t level = 0;                 ///< merges that made it
  RecordSum sum;                           ///< of its records as read; of merged runs, the parts' sum
  std::vector<InputRange> origin;          ///< base runs: the records' places in the input
  std::uint64_t stored = 0;                ///< bytes of the inputs' files that its records were read from
  std::shared_ptr<SortedRecords> records;  ///< the run in a slot or in host memory; else it is in `blocks`
  RunBlocks blocks;

  bool on_device() const { return records != nullptr && records->on_device(); }
  bool spilled() const { return !blocks.empty() && std::holds_alternative<SpillExtent>(blocks[0].place); }
};

/// Memory that describes a run, without its blocks: the run itself, its place in the input, and its node in the map of
/// the runs that are being formed.
inline constexpr std::uint64_t kRunIndexBytes = sizeof(Run) + 128;

/// A copy in host memory, out of a slot: the middle tier, for runs that the device has no room for.
std::shared_ptr<SortedRecords> CopyToHost(HostMemory& memory, const SortedRecords& source);

/// The front of sorted records, which stay where they are.
class FrontRecords : public SortedRecords {
 public:
  FrontRecords(std::unique_ptr<SortedRecords> all, std::uint64_t bytes, std::uint64_t records)
      : all_(std::move(all)), bytes_(bytes), records_(records) {}
  const std::byte* data() const override { return all_->data(); }
  int device() const override { return all_->device(); }
  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t records() const override { return records_; }
  /// Also where all of them did: the places in the input are those of all.
  bool was_sorted() const override { return false; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override { all_->Read(offset, out); }

 private:
  std::unique_ptr<SortedRecords> all_;
  std::uint64_t bytes_, records_;
};

/// Counts off the first `count` records of a sorted sequence, or with `unique` those of the first `count` keys.
class FrontCounter {
 public:
  FrontCounter(std::uint64_t count, bool unique, const RecordLayout& layout)
      : left_(count), unique_(unique), layout_(layout) {}
  /// Bytes of the records at the front of `bytes`, the next of the sequence, that belong to it.
  std::uint64_t Take(RecordSpan bytes);
  /// True if no record behind belongs to it.
  bool done() const { return done_; }
  /// How many belonged to it so far.
  std::uint64_t records() const { return records_; }

 private:
  std::uint64_t left_, records_ = 0;
  const bool unique_;
  const RecordLayout layout_;
  bool done_ = false;
  std::vector<std::byte> last_;
};

/// The first `count` of `sorted`, as FrontCounter counts: all of it, as it is, if there are no more.
std::unique_ptr<SortedRecords> TakeFront(std::unique_ptr<SortedRecords> sorted, std::uint64_t count, bool unique,
                                         const RecordLayout& layout);

/// Looks at a run that lies in a slot. Of one on a device only the bytes around a border of records are fetched.
class RunView {
 public:
  RunView(const SortedRecords& records, const RecordLayout& layout) : records_(records), layout_(layout) {}
  /// The last end of a record in (begin, end]; `begin`, where a record begins, if there is none.
  std::uint64_t WholeEnd(std::uint64_t begin, std::uint64_t end) const;
  /// The end of the record that begins at `begin`.
  std::uint64_t RecordEnd(std::uint64_t begin) const;
  /// Whole records from `begin` on: as many as fit `room`, else one.
  std::uint64_t BlockEnd(std::uint64_t begin, std::uint64_t room) const;
  /// The record that begins at `begin`: where it lies, or a copy in `copy`.
  RecordSpan RecordAt(std::uint64_t begin, std::vector<std::byte>& copy) const;
  /// The last whole record in [begin, end), likewise, and where it ends. Empty if there is none; `begin` is a border.
  struct Last {
    RecordSpan record;
    std::uint64_t end;
  };
  /// `seen`: what FirstLook wants is in `copy`.
  Last LastBefore(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy, bool seen = false) const;
  /// What LastBefore looks at first, into `copy`, which gets its size: for who reads that of many runs at once.
  SlotRead FirstLook(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy) const;
  /// Its bytes [begin, end), likewise.
  RecordSpan Bytes(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy) const;

 private:
  /// Where the first look at the last record of [begin, end) begins; `end` becomes where it ends.
  std::uint64_t LookFrom(std::uint64_t begin, std::uint64_t& end) const;

  const SortedRecords& records_;
  const RecordLayout& layout_;
};

/// Blocks of whole records, as many as fit `payload` bytes each; a longer one is a block by itself. No places yet.
RunBlocks CutBlocks(const SortedRecords& sorted, std::uint64_t payload, const RecordLayout& layout);

/// The blocks of a run that stays where it is in the input: `sorted` are its records, which arrived in order.
RunBlocks InputBlocks(const std::vector<InputRange>& ranges, const SortedRecords& sorted, std::uint64_t payload,
                      const RecordLayout& layout);

}  // namespace gpusort

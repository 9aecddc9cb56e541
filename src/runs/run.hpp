// A run: an immutable sorted sequence of records, and where its bytes are.
// A run lies in a slot (device or host memory), in separate host memory, in blocks of the spill, or in the input, if its
// records arrived in order. Destroying a run frees its memory; RunStore frees spilled blocks. The runs of a job are kept
// in the order of their records' input positions.
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

/// The first bytes of a normalized key: 16 of a fixed record, 72 of a line. They are enough to guess which block is needed
/// next. They never decide the order.
struct ForecastKey {
  std::array<std::uint32_t, 18> words{};
  friend auto operator<=>(const ForecastKey&, const ForecastKey&) = default;
};

ForecastKey MakeForecast(RecordSpan record, const RecordLayout& layout);

/// A block of a run: whole records that are read back together.
struct RunBlock {
  std::uint64_t begin = 0;  ///< the first byte, as an offset in the run
  std::uint64_t bytes = 0;
  std::variant<SpillExtent, InputRange> place;
  std::vector<SpillExtent> more;  ///< the rest of a line that is longer than a block of the spill
  ForecastKey last;               ///< of the last record, if `forecast` is set
  bool forecast = false;
};

/// Returns the size of a buffer that holds the block. `block_bytes`: size of the spill's blocks.
std::uint64_t LoadBytes(const RunBlock& block, std::uint64_t block_bytes);

/// The blocks of a run. There may be millions, so a block takes only kBytes of memory and its forecast. The blocks of a
/// sorted input are computed from their number, and take no memory.
class RunBlocks {
 public:
  /// Memory of a block without its forecast, and memory of its slot in the spill.
  static constexpr std::uint64_t kBytes = 32, kSlotBytes = 16;
  /// The number of words of a forecast that the layout uses.
  static std::size_t ForecastWords(const RecordLayout& layout) {
    return layout.fixed() ? 4 : ForecastKey{}.words.size();
  }
  /// Returns all memory that describes a block.
  static std::uint64_t IndexBytes(const RecordLayout& layout) {
    return kBytes + kSlotBytes + sizeof(std::uint32_t) * ForecastWords(layout);
  }

  RunBlocks() = default;
  explicit RunBlocks(const RecordLayout& layout) : words_(ForecastWords(layout)) {}
  /// The blocks of a sorted input, with `block_bytes` each. A block of lines has the lines that begin in its bytes.
  /// ReadAhead finds these lines.
  RunBlocks(const InputRange& range, std::uint64_t block_bytes) : range_(range), range_block_(block_bytes) {}

  std::size_t size() const {
    return range_block_ > 0 ? (range_.bytes + range_block_ - 1) / range_block_ : packed_.size();
  }
  bool empty() const { return size() == 0; }
  RunBlock operator[](std::size_t number) const;
  void reserve(std::size_t count);
  /// Stores block `number`. Numbers may come in any order.
  void Set(std::size_t number, const RunBlock& block);
  /// Returns the size of a buffer that holds any of the blocks. `block_bytes`: size of the spill's blocks.
  std::uint64_t MostLoadBytes(std::uint64_t block_bytes) const;

 private:
  struct Packed {
    std::uint64_t begin = 0;
    std::uint64_t offset = 0;
    std::uint32_t bytes = 0;   // blocks are smaller than 4 GiB
    std::uint32_t stored = 0;  // size of the block in the spill
    std::uint32_t owner = 0;   // number of the input or of the spill's file
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
  std::unique_ptr<std::map<std::uint64_t, std::vector<SpillExtent>>> more_;  ///< the rest of long lines, by block number; may be null
  std::uint64_t most_parts_ = 0, most_input_bytes_ = 0;                      ///< of any block
};

struct Run {
  std::uint64_t id = 0;  ///< names the run in spilled blocks
  std::uint64_t bytes = 0;
  std::uint32_t level = 0;                 ///< number of merges that its records went through
  RecordSum sum;                           ///< of its records as they were read
  std::vector<InputRange> origin;          ///< the records' places in the input
  std::uint64_t stored = 0;                ///< bytes of the inputs' files that its records were read from
  std::shared_ptr<SortedRecords> records;  ///< the run in a slot or in host memory; else it is in `blocks`
  RunBlocks blocks;

  bool on_device() const { return records != nullptr && records->on_device(); }
  bool spilled() const { return !blocks.empty() && std::holds_alternative<SpillExtent>(blocks[0].place); }
};

/// Memory that describes a run, without its blocks: the run itself, its place in the input, and its node in the map of
/// the runs that are being formed.
inline constexpr std::uint64_t kRunIndexBytes = sizeof(Run) + 128;

/// Returns a copy in host memory of a run in a slot. This is the middle tier, for runs that the device has no room for.
std::shared_ptr<SortedRecords> CopyToHost(HostMemory& memory, const SortedRecords& source);

/// The first records of a sorted sequence. Owns the whole sequence.
class FrontRecords : public SortedRecords {
 public:
  FrontRecords(std::unique_ptr<SortedRecords> all, std::uint64_t bytes, std::uint64_t records)
      : all_(std::move(all)), bytes_(bytes), records_(records) {}
  const std::byte* data() const override { return all_->data(); }
  int device() const override { return all_->device(); }
  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t records() const override { return records_; }
  /// Always false, because the places in the input are those of the whole sequence.
  bool was_sorted() const override { return false; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override { all_->Read(offset, out); }

 private:
  std::unique_ptr<SortedRecords> all_;
  std::uint64_t bytes_, records_;
};

/// Finds the first `count` records of a sorted sequence, or with `unique` the records of the first `count` keys.
class FrontCounter {
 public:
  FrontCounter(std::uint64_t count, bool unique, const RecordLayout& layout)
      : left_(count), unique_(unique), layout_(layout) {}
  /// Returns the size of the prefix of `bytes` that belongs to the first `count` records or keys. `bytes` are
  /// the next records of the sequence.
  std::uint64_t Take(RecordSpan bytes);
  /// True if no later record belongs to the first `count` records or keys.
  bool done() const { return done_; }
  /// The number of records that belonged to them so far.
  std::uint64_t records() const { return records_; }

 private:
  std::uint64_t left_, records_ = 0;
  const bool unique_;
  const RecordLayout layout_;
  bool done_ = false;
  std::vector<std::byte> last_;
};

/// Returns the first `count` of `sorted`, as FrontCounter counts. Returns `sorted` if it has no more.
std::unique_ptr<SortedRecords> TakeFront(std::unique_ptr<SortedRecords> sorted, std::uint64_t count, bool unique,
                                         const RecordLayout& layout);

/// Reads records of a run that lies in a slot. From a device only the bytes around a border of records are fetched.
class RunView {
 public:
  RunView(const SortedRecords& records, const RecordLayout& layout) : records_(records), layout_(layout) {}
  /// Returns the last end of a record in (begin, end], or `begin` if no record ends there. A record begins at `begin`.
  std::uint64_t WholeEnd(std::uint64_t begin, std::uint64_t end) const;
  /// Returns the end of the record that begins at `begin`.
  std::uint64_t RecordEnd(std::uint64_t begin) const;
  /// Returns the end of the whole records from `begin` on that fit `room`, at least one.
  std::uint64_t BlockEnd(std::uint64_t begin, std::uint64_t room) const;
  /// Returns the record that begins at `begin`. The result refers to the slot, or to `copy`.
  RecordSpan RecordAt(std::uint64_t begin, std::vector<std::byte>& copy) const;
  /// The last whole record in [begin, end) and its end. Empty if there is none. A record begins at `begin`.
  struct Last {
    RecordSpan record;
    std::uint64_t end;
  };
  /// Returns the last record, which refers to the slot or to `copy`. `seen`: `copy` holds the bytes of FirstLook().
  Last LastBefore(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy, bool seen = false) const;
  /// Returns the read that LastBefore() does first, so that the caller can do it for many runs at once. Resizes `copy`,
  /// which receives the bytes.
  SlotRead FirstLook(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy) const;
  /// Returns the bytes [begin, end). The result refers to the slot, or to `copy`.
  RecordSpan Bytes(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy) const;

 private:
  /// Returns the first byte to read when the last record of [begin, end) is looked for. Moves `end` to the end of that
  /// read.
  std::uint64_t LookFrom(std::uint64_t begin, std::uint64_t& end) const;

  const SortedRecords& records_;
  const RecordLayout& layout_;
};

/// Divides a run into blocks of whole records, of up to `payload` bytes each. A longer record is a block by itself. The
/// blocks have no places yet.
RunBlocks CutBlocks(const SortedRecords& sorted, std::uint64_t payload, const RecordLayout& layout);

/// Returns the blocks of a run that stays in the input. `sorted` are its records, which arrived in order.
RunBlocks InputBlocks(const std::vector<InputRange>& ranges, const SortedRecords& sorted, std::uint64_t payload,
                      const RecordLayout& layout);

}  // namespace gpusort

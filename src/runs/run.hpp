// A run is an immutable sorted sequence of records. It lies in a slot (device or host memory), in separate host memory,
// in blocks of the spill, or in the input if its records were in order there. Destroying a Run frees its memory, but
// RunStore frees spilled blocks. The runs of a job are kept in the order of their places in the input. Start at Run.
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

/// The first bytes of a record's normalized key: 16 bytes for a fixed record, 72 bytes for a line. They are only used
/// to guess which block is needed next, and never decide the order of records.
struct ForecastKey {
  std::array<std::uint32_t, 18> words{};
  friend auto operator<=>(const ForecastKey&, const ForecastKey&) = default;
};

ForecastKey MakeForecast(RecordSpan record, const RecordLayout& layout);

/// A block of a run: whole records that are read together.
struct RunBlock {
  std::uint64_t begin = 0;  ///< offset of the block in the run
  std::uint64_t bytes = 0;
  std::variant<SpillExtent, InputRange> place;
  std::vector<SpillExtent> more;  ///< further blocks of a line that is longer than a block of the spill
  ForecastKey last;               ///< the beginning of the last record's key, if `forecast` is set
  bool forecast = false;
};

/// Returns the size of a buffer that holds the block. `block_bytes` is the size of a block of the spill.
std::uint64_t LoadBytes(const RunBlock& block, std::uint64_t block_bytes);

/// The list of the blocks of a run. There may be millions of blocks, so each takes only kBytes and its forecast in
/// memory. The blocks of a sorted input take no memory, because they are computed from their numbers.
class RunBlocks {
 public:
  /// Numbers of bytes that describe a block in memory: without its forecast, and for its slot in the spill.
  static constexpr std::uint64_t kBytes = 32, kSlotBytes = 16;
  /// Returns the number of words of ForecastKey that the layout uses.
  static std::size_t ForecastWords(const RecordLayout& layout) {
    return layout.fixed() ? 4 : ForecastKey{}.words.size();
  }
  /// Returns the number of bytes of memory that describe one block.
  static std::uint64_t IndexBytes(const RecordLayout& layout) {
    return kBytes + kSlotBytes + sizeof(std::uint32_t) * ForecastWords(layout);
  }

  RunBlocks() = default;
  explicit RunBlocks(const RecordLayout& layout) : words_(ForecastWords(layout)) {}
  /// Describes the blocks of a sorted input, each of `block_bytes` bytes. A block of lines contains the lines that
  /// begin in its bytes; ReadAhead finds these lines.
  RunBlocks(const InputRange& range, std::uint64_t block_bytes) : range_(range), range_block_(block_bytes) {}

  std::size_t size() const {
    return range_block_ > 0 ? (range_.bytes + range_block_ - 1) / range_block_ : packed_.size();
  }
  bool empty() const { return size() == 0; }
  RunBlock operator[](std::size_t number) const;
  void reserve(std::size_t count);
  /// Stores block `number`. The numbers may come in any order.
  void Set(std::size_t number, const RunBlock& block);
  /// Returns the size of a buffer that holds any of the blocks. `block_bytes` is the size of a block of the spill.
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
  std::vector<std::uint32_t> forecasts_;  ///< words_ words for each block
  /// Further blocks of long lines, by block number; may be null.
  std::unique_ptr<std::map<std::uint64_t, std::vector<SpillExtent>>> more_;
  std::uint64_t most_parts_ = 0, most_input_bytes_ = 0;  ///< largest numbers of extents and of input bytes of a block
};

struct Run {
  std::uint64_t id = 0;  ///< the id of the run in spilled blocks
  std::uint64_t bytes = 0;
  std::uint32_t level = 0;                 ///< number of merges that the records have passed
  RecordSum sum;                           ///< the sum of the records as they were read
  std::vector<InputRange> origin;          ///< the places of the records in the input
  std::uint64_t stored = 0;                ///< bytes of the input files from which the records were read
  std::shared_ptr<SortedRecords> records;  ///< the run in a slot or in host memory; null: it is in `blocks`
  RunBlocks blocks;

  bool on_device() const { return records != nullptr && records->on_device(); }
  bool spilled() const { return !blocks.empty() && std::holds_alternative<SpillExtent>(blocks[0].place); }
};

/// With kVerified, reading a run that lies in the input (-m) also checks the order of its records and computes their
/// sum. It throws Error(kBadInput) if the records are not sorted.
enum class RunOrder { kTrusted, kVerified };

/// The order that every input must have: any (kNone), sorted (kMerge, kCheck), or sorted without equal keys
/// (kCheckUnique). A violation is Error(kBadInput) with kMerge, and otherwise Error(kNotSorted).
enum class NeededOrder { kNone, kMerge, kCheck, kCheckUnique };

/// The memory that describes a run without its blocks, in bytes: the Run, its place in the input, and a node in the map
/// of runs that are being formed.
inline constexpr std::uint64_t kRunIndexBytes = sizeof(Run) + 128;

/// Copies the run `source` from its slot to host memory. Used when the device has no room for the run.
std::shared_ptr<SortedRecords> CopyToHost(HostMemory& memory, const SortedRecords& source);

/// The first records of a sorted sequence. Owns the memory of the whole sequence.
class FrontRecords : public SortedRecords {
 public:
  FrontRecords(std::unique_ptr<SortedRecords> all, std::uint64_t bytes, std::uint64_t records)
      : all_(std::move(all)), bytes_(bytes), records_(records) {}
  const std::byte* data() const override { return all_->data(); }
  int device() const override { return all_->device(); }
  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t records() const override { return records_; }
  /// Returns false: the places in the input are known only for the whole sequence.
  bool was_sorted() const override { return false; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override { all_->Read(offset, out); }

 private:
  std::unique_ptr<SortedRecords> all_;
  std::uint64_t bytes_, records_;
};

/// Finds the first `count` records of a sorted sequence, or with `unique` all records of its first `count` keys.
class FrontCounter {
 public:
  FrontCounter(std::uint64_t count, bool unique, const RecordLayout& layout)
      : left_(count), unique_(unique), layout_(layout) {}
  /// Returns the size of the prefix of `bytes` that belongs to the first `count` records or keys. `bytes` must contain
  /// the next records of the sequence.
  std::uint64_t Take(RecordSpan bytes);
  /// Returns true if no later record belongs to the first `count` records or keys.
  bool done() const { return done_; }
  /// Returns the number of records so far that belong to the first `count` records or keys.
  std::uint64_t records() const { return records_; }

 private:
  std::uint64_t left_, records_ = 0;
  const bool unique_;
  const RecordLayout layout_;
  bool done_ = false;
  std::vector<std::byte> last_;
};

/// Returns the first `count` records or keys of `sorted` (see FrontCounter), or `sorted` itself if it has no more.
std::unique_ptr<SortedRecords> TakeFront(std::unique_ptr<SortedRecords> sorted, std::uint64_t count, bool unique,
                                         const RecordLayout& layout);

/// Reads records of a run that lies in a slot. From a device, only the bytes near record borders are copied.
class RunView {
 public:
  RunView(const SortedRecords& records, const RecordLayout& layout) : records_(records), layout_(layout) {}
  /// Returns the last end of a record in (begin, end], or `begin` if there is none. A record must begin at `begin`.
  std::uint64_t WholeEnd(std::uint64_t begin, std::uint64_t end) const;
  std::uint64_t RecordEnd(std::uint64_t begin) const;
  /// Returns the end of the whole records that begin at `begin` and fit `room`, or of the first one if it is longer.
  std::uint64_t BlockEnd(std::uint64_t begin, std::uint64_t room) const;
  /// Returns the record that begins at `begin`. The result points into the slot or into `copy`.
  RecordSpan RecordAt(std::uint64_t begin, std::vector<std::byte>& copy) const;
  /// The last whole record of a range, and the offset of its end. `record` is empty if the range has no whole record.
  struct Last {
    RecordSpan record;
    std::uint64_t end;
  };
  /// Returns the last record in [begin, end). A record must begin at `begin`. The result points into the slot or into
  /// `copy`. If `seen` is true, `copy` already contains the bytes of FirstLook().
  Last LastBefore(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy, bool seen = false) const;
  /// Returns the first read that LastBefore() does, so that the caller can do this read for many runs at once. Resizes
  /// `copy`, into which the bytes must be read.
  SlotRead FirstLook(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy) const;
  /// Returns the bytes [begin, end). The result points into the slot or into `copy`.
  RecordSpan Bytes(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy) const;

 private:
  /// Returns the offset at which LastBefore() begins to read. Sets `end` to the end of that read.
  std::uint64_t LookFrom(std::uint64_t begin, std::uint64_t& end) const;

  const SortedRecords& records_;
  const RecordLayout& layout_;
};

/// Divides a run into blocks of whole records with at most `payload` bytes, or of one longer record. Sets no `place`.
RunBlocks CutBlocks(const SortedRecords& sorted, std::uint64_t payload, const RecordLayout& layout);

/// Returns the blocks of a run that stays in the input at `ranges`. `sorted` contains the records of the run.
RunBlocks InputBlocks(const std::vector<InputRange>& ranges, const SortedRecords& sorted, std::uint64_t payload,
                      const RecordLayout& layout);

}  // namespace gpusort

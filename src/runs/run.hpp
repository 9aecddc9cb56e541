// A run is a sorted part of the records. The records are in memory, in temp files, or in an input that was sorted
// already. Call RunStore::Free() to free the temp files of a run. Start at Run.
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

/// The first bytes of a record's sort key. ReadAhead uses them to guess which block a merge needs next. Records of
/// fixed size use 16 bytes, and lines use 72 bytes.
struct ForecastKey {
  std::array<std::uint32_t, 18> words{};
  friend auto operator<=>(const ForecastKey&, const ForecastKey&) = default;
};

ForecastKey MakeForecast(RecordSpan record, const RecordLayout& layout);

/// A block of a sorted run: some whole records of the run, which are stored and read together.
struct RunBlock {
  std::uint64_t begin = 0;  ///< the offset of the block in the sorted run, in bytes
  std::uint64_t bytes = 0;
  std::variant<SpillExtent, InputRange> place;
  std::vector<SpillExtent> more;  ///< the places of the other pieces of a line that is longer than one block
  ForecastKey last;               ///< the first bytes of the last record's sort key; set if `forecast` is true
  bool forecast = false;
};

/// Returns the size in bytes of a buffer into which `block` can be read. In a temp file, a block takes `block_bytes`
/// bytes, or a multiple of this size if the block is a single long line.
std::uint64_t LoadBytes(const RunBlock& block, std::uint64_t block_bytes);

/// The list of the blocks of a sorted run. Each block takes only a few bytes in this list, because a run may have
/// millions of blocks.
class RunBlocks {
 public:
  /// - kBytes: the memory for a block in this list, in bytes, without its ForecastKey.
  /// - kSlotBytes: the memory that a SpillStore needs for a block in a temp file, in bytes.
  static constexpr std::uint64_t kBytes = 32, kSlotBytes = 16;
  /// Returns how many words of ForecastKey::words are used for records of this layout.
  static std::size_t ForecastWords(const RecordLayout& layout) {
    return layout.fixed() ? 4 : ForecastKey{}.words.size();
  }
  /// Returns how many bytes of memory the description of one block of a sorted run takes.
  static std::uint64_t IndexBytes(const RecordLayout& layout) {
    return kBytes + kSlotBytes + sizeof(std::uint32_t) * ForecastWords(layout);
  }

  RunBlocks() = default;
  explicit RunBlocks(const RecordLayout& layout) : words_(ForecastWords(layout)) {}
  /// Makes the list of the blocks of a sorted input. Each block is the next `block_bytes` bytes of `range`. If records
  /// are lines, a block has the lines that begin in these bytes.
  RunBlocks(const InputRange& range, std::uint64_t block_bytes) : range_(range), range_block_(block_bytes) {}

  std::size_t size() const {
    return range_block_ > 0 ? (range_.bytes + range_block_ - 1) / range_block_ : packed_.size();
  }
  bool empty() const { return size() == 0; }
  RunBlock operator[](std::size_t number) const;
  void reserve(std::size_t count);
  /// Stores the description of block `number`. Blocks may be stored in any order.
  void Set(std::size_t number, const RunBlock& block);
  /// Returns the size in bytes of a buffer into which any block of this sorted run can be read. In a temp file, a block
  /// takes `block_bytes` bytes, or a multiple of this size if the block is a single long line.
  std::uint64_t MostLoadBytes(std::uint64_t block_bytes) const;

 private:
  struct Packed {
    std::uint64_t begin = 0;
    std::uint64_t offset = 0;
    std::uint32_t bytes = 0;   // the size of the block, which is less than 4 GiB
    std::uint32_t stored = 0;  // the size of the block in the temp file
    std::uint32_t owner = 0;   // the index of the input or of the temp file
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
  /// The first bytes of the sort key of each block's last record: `words_` elements for each block.
  std::vector<std::uint32_t> forecasts_;
  /// For each block that is stored in several pieces: the places of all pieces except the first. May be null.
  std::unique_ptr<std::map<std::uint64_t, std::vector<SpillExtent>>> more_;
  /// - most_parts_: the largest number of pieces in which a block is stored in temp files.
  /// - most_input_bytes_: the size of the largest block in an input, in bytes.
  std::uint64_t most_parts_ = 0, most_input_bytes_ = 0;
};

class KeyedInput;

struct Run {
  std::uint64_t id = 0;  ///< the id of the sorted run in the headers of its blocks in temp files
  /// The size of all records in bytes, with sort keys. If `keyed` is not null, this is only an estimate.
  std::uint64_t bytes = 0;
  std::uint32_t level = 0;                 ///< how often the records were merged; 0: they were only sorted
  RecordSum sum;                           ///< the checksum of the records, computed when they were read
  std::vector<InputRange> origin;          ///< the parts of the input that contain the records
  std::uint64_t stored = 0;                ///< the number of bytes that were read from input files to get the records
  std::shared_ptr<SortedRecords> records;  ///< the records in GPU or host memory; null: they are in `blocks`
  RunBlocks blocks;
  /// The object that reads a sorted input of -m and puts a sort key before each record. Null if no keys are needed.
  std::shared_ptr<KeyedInput> keyed;

  bool on_device() const { return records != nullptr && records->on_device(); }
  bool spilled() const { return !blocks.empty() && std::holds_alternative<SpillExtent>(blocks[0].place); }
};

/// Tells whether a merge must check the order of its sorted runs.
/// - kTrusted: the runs are known to be sorted.
/// - kVerified: some runs are inputs of -m. The merge checks the order of these inputs while it reads them, and throws
///   Error(kBadInput) if an input is not sorted. It also computes the checksum of their records.
enum class RunOrder { kTrusted, kVerified };

/// The order that every input must already have when it is read.
/// - kNone: any order.
/// - kMerge: sorted. Otherwise the error is kBadInput.
/// - kCheck: sorted. Otherwise the error is kNotSorted.
/// - kCheckUnique: sorted, without equal keys. Otherwise the error is kNotSorted.
enum class NeededOrder { kNone, kMerge, kCheck, kCheckUnique };

/// An estimate of the memory that a Run object takes, in bytes, without its records and its list of blocks.
inline constexpr std::uint64_t kRunIndexBytes = sizeof(Run) + 128;

/// Copies sorted records from GPU memory to host memory. Call this if the records cannot stay in GPU memory.
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
  /// Always false: the input has more records, so it cannot be used in place of this object.
  bool was_sorted() const override { return false; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override { all_->Read(offset, out); }

 private:
  std::unique_ptr<SortedRecords> all_;
  std::uint64_t bytes_, records_;
};

/// Finds the first `count` records of a sorted sequence. If `unique` is true, finds all records with one of the first
/// `count` different keys instead.
class FrontCounter {
 public:
  FrontCounter(std::uint64_t count, bool unique, const RecordLayout& layout)
      : left_(count), unique_(unique), layout_(layout) {}
  /// Takes the next records of the sorted sequence. Returns how many bytes at the beginning of `bytes` belong to the
  /// wanted records (the first records of the sequence).
  std::uint64_t Take(RecordSpan bytes);
  /// Returns true if all wanted records (the first records of the sequence) were found.
  bool done() const { return done_; }
  /// Returns the number of wanted records (the first records of the sequence) that were found so far.
  std::uint64_t records() const { return records_; }

 private:
  std::uint64_t left_, records_ = 0;
  const bool unique_;
  const RecordLayout layout_;
  bool done_ = false;
  std::vector<std::byte> last_;
};

/// Returns the first `count` records of `sorted`. If `unique` is true, returns all records with one of the first
/// `count` different keys. Returns `sorted` itself if these are all its records.
std::unique_ptr<SortedRecords> TakeFront(std::unique_ptr<SortedRecords> sorted, std::uint64_t count, bool unique,
                                         const RecordLayout& layout);

/// Reads single records of a sorted run that is in GPU or host memory. From GPU memory, copies only the bytes near a
/// record.
class RunView {
 public:
  RunView(const SortedRecords& records, const RecordLayout& layout) : records_(records), layout_(layout) {}
  /// Returns the last offset in (begin, end] at which a record ends, or `begin` if no record ends there. A record must
  /// begin at offset `begin`.
  std::uint64_t WholeEnd(std::uint64_t begin, std::uint64_t end) const;
  std::uint64_t RecordEnd(std::uint64_t begin) const;
  /// Returns the end of the block that begins at offset `begin`. The block has as many whole records as fit into `room`
  /// bytes, but always at least one record.
  std::uint64_t BlockEnd(std::uint64_t begin, std::uint64_t room) const;
  /// Returns the record that begins at offset `begin`. The result points into the memory of the sorted run or into
  /// `copy`.
  RecordSpan RecordAt(std::uint64_t begin, std::vector<std::byte>& copy) const;
  /// The last whole record of a range of bytes, and the offset of its end. `record` is empty if the range contains no
  /// whole record.
  struct Last {
    RecordSpan record;
    std::uint64_t end;
  };
  /// Returns the last whole record in the bytes [begin, end) of the sorted run.
  /// - A record must begin at `begin`.
  /// - The result points into the memory of the run or into `copy`.
  /// - `seen`: true if the caller has called FirstLook() and has read the bytes into `copy`.
  Last LastBefore(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy, bool seen = false) const;
  /// Resizes `copy`, and returns which bytes the caller must read into `copy`. Then call LastBefore(..., true).
  SlotRead FirstLook(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy) const;
  /// Returns the bytes [begin, end) of the sorted run. The result points into the memory of the run or into `copy`.
  RecordSpan Bytes(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy) const;

 private:
  std::uint64_t LookFrom(std::uint64_t begin, std::uint64_t& end) const;

  const SortedRecords& records_;
  const RecordLayout& layout_;
};

/// Divides sorted records into blocks. A block has at most `payload` bytes of whole records, or is a single longer
/// record. Does not set RunBlock::place, the place where a block is stored.
RunBlocks CutBlocks(const SortedRecords& sorted, std::uint64_t payload, const RecordLayout& layout);

/// Makes the list of blocks for a sorted run whose records stay in the inputs, because they are sorted there.
/// - `ranges`: the places of the records in the inputs.
/// - `sorted`: the records in memory.
/// - `payload`: the maximum size of a block in bytes. A longer record becomes one block.
RunBlocks InputBlocks(const std::vector<InputRange>& ranges, const SortedRecords& sorted, std::uint64_t payload,
                      const RecordLayout& layout);

}  // namespace gpusort

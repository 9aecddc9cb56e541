// A run is an immutable sorted sequence of records. Its records lie in GPU memory, in host memory, in blocks of temp
// files, or in the input if they were in order there. Destroying a Run frees its memory, but RunStore frees its blocks
// in temp files. The runs of a job are kept in the order of the input. Start at Run.
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

/// The first bytes of a record's sort key: 16 bytes for a fixed record, 72 bytes for a line. They are used only to
/// guess which block a merge needs next, and never decide the order of records.
struct ForecastKey {
  std::array<std::uint32_t, 18> words{};
  friend auto operator<=>(const ForecastKey&, const ForecastKey&) = default;
};

ForecastKey MakeForecast(RecordSpan record, const RecordLayout& layout);

/// A block of a run: whole records that are stored and read together.
struct RunBlock {
  std::uint64_t begin = 0;  ///< the offset of the block in the run, in bytes
  std::uint64_t bytes = 0;
  std::variant<SpillExtent, InputRange> place;
  std::vector<SpillExtent> more;  ///< the places of the rest of a line that is too long for one block of a temp file
  ForecastKey last;               ///< the beginning of the last record's key; set if `forecast` is true
  bool forecast = false;
};

/// Returns the size in bytes of a buffer that can hold the block. `block_bytes` is the size of a block in a temp file.
std::uint64_t LoadBytes(const RunBlock& block, std::uint64_t block_bytes);

/// The list of the blocks of a run. There may be millions of blocks, so each takes only kBytes in memory, and the
/// beginning of its last key (ForecastKey). The blocks of a sorted input take no memory, because they are computed from
/// their numbers.
class RunBlocks {
 public:
  /// How many bytes of memory describe a block: kBytes without its ForecastKey, and kSlotBytes for its place in a temp
  /// file.
  static constexpr std::uint64_t kBytes = 32, kSlotBytes = 16;
  /// Returns how many words of a ForecastKey are used for records of this layout.
  static std::size_t ForecastWords(const RecordLayout& layout) {
    return layout.fixed() ? 4 : ForecastKey{}.words.size();
  }
  /// Returns how many bytes of memory describe one block.
  static std::uint64_t IndexBytes(const RecordLayout& layout) {
    return kBytes + kSlotBytes + sizeof(std::uint32_t) * ForecastWords(layout);
  }

  RunBlocks() = default;
  explicit RunBlocks(const RecordLayout& layout) : words_(ForecastWords(layout)) {}
  /// Describes the blocks of a sorted input: `range` in steps of `block_bytes` bytes. For lines, a block means the
  /// lines that begin in its bytes. ReadAhead finds where these lines begin and end.
  RunBlocks(const InputRange& range, std::uint64_t block_bytes) : range_(range), range_block_(block_bytes) {}

  std::size_t size() const {
    return range_block_ > 0 ? (range_.bytes + range_block_ - 1) / range_block_ : packed_.size();
  }
  bool empty() const { return size() == 0; }
  RunBlock operator[](std::size_t number) const;
  void reserve(std::size_t count);
  /// Stores block `number`. The numbers may come in any order.
  void Set(std::size_t number, const RunBlock& block);
  /// Returns the size in bytes of a buffer that can hold any of the blocks. `block_bytes` is the size of a block in a
  /// temp file.
  std::uint64_t MostLoadBytes(std::uint64_t block_bytes) const;

 private:
  struct Packed {
    std::uint64_t begin = 0;
    std::uint64_t offset = 0;
    std::uint32_t bytes = 0;   // blocks are smaller than 4 GiB
    std::uint32_t stored = 0;  // the size of the block in the temp file
    std::uint32_t owner = 0;   // the number of the input or of the temp file
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
  std::vector<std::uint32_t> forecasts_;  ///< words_ elements for each block
  /// For each block that is the beginning of a long line, by block number: the places of the rest of the line. Null:
  /// there are no such lines.
  std::unique_ptr<std::map<std::uint64_t, std::vector<SpillExtent>>> more_;
  /// The largest number of extents of a block, and the largest number of input bytes of a block.
  std::uint64_t most_parts_ = 0, most_input_bytes_ = 0;
};

class KeyedInput;

struct Run {
  std::uint64_t id = 0;            ///< the id of the run in the headers of its blocks in temp files
  std::uint64_t bytes = 0;         ///< the size of the records with their keys; if `keyed` is set, an estimate
  std::uint32_t level = 0;         ///< how often the records were merged: 0 for a sorted batch
  RecordSum sum;                   ///< the checksum of the records, computed when they were read
  std::vector<InputRange> origin;  ///< where in the input the records are from
  std::uint64_t stored = 0;  ///< the size in bytes of the parts of the input files from which the records were read
  std::shared_ptr<SortedRecords> records;  ///< the records in GPU or host memory; null: they are in `blocks`
  RunBlocks blocks;
  /// With -m, if records need keys: reads the input and makes the keys; otherwise null.
  std::shared_ptr<KeyedInput> keyed;

  bool on_device() const { return records != nullptr && records->on_device(); }
  bool spilled() const { return !blocks.empty() && std::holds_alternative<SpillExtent>(blocks[0].place); }
};

/// kVerified: when a run is read from the input (-m), the order of its records is checked, and their checksum is
/// computed. Throws Error(kBadInput) if the records are not sorted. kTrusted: the records are known to be sorted.
enum class RunOrder { kTrusted, kVerified };

/// The order that every input must have already: none (kNone), sorted (kMerge, kCheck), or sorted without equal keys
/// (kCheckUnique). If an input is not in this order, the error is kBadInput for kMerge, and kNotSorted for the others.
enum class NeededOrder { kNone, kMerge, kCheck, kCheckUnique };

/// The number of bytes of memory that a run takes in addition to its blocks. They contain the object Run, the list of
/// its places in the input, and a node in the map of runs that are being made.
inline constexpr std::uint64_t kRunIndexBytes = sizeof(Run) + 128;

/// Copies the records of `source` from GPU memory to host memory. Used if GPU memory has no room for the run.
std::shared_ptr<SortedRecords> CopyToHost(HostMemory& memory, const SortedRecords& source);

/// The first records of a sorted sequence. Owns the memory of the whole sequence, including the records that are left
/// out.
class FrontRecords : public SortedRecords {
 public:
  FrontRecords(std::unique_ptr<SortedRecords> all, std::uint64_t bytes, std::uint64_t records)
      : all_(std::move(all)), bytes_(bytes), records_(records) {}
  const std::byte* data() const override { return all_->data(); }
  int device() const override { return all_->device(); }
  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t records() const override { return records_; }
  /// Returns false, because the places in the input are known only for the whole sequence and not for its first
  /// records.
  bool was_sorted() const override { return false; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override { all_->Read(offset, out); }

 private:
  std::unique_ptr<SortedRecords> all_;
  std::uint64_t bytes_, records_;
};

/// Finds the end of the first `count` records of a sorted sequence. If `unique` is true, finds the end of all records
/// that have one of the first `count` different keys.
class FrontCounter {
 public:
  FrontCounter(std::uint64_t count, bool unique, const RecordLayout& layout)
      : left_(count), unique_(unique), layout_(layout) {}
  /// Returns how many bytes at the beginning of `bytes` belong to the wanted records. `bytes` must contain the next
  /// records of the sequence.
  std::uint64_t Take(RecordSpan bytes);
  /// Returns true if no later record can be a wanted one.
  bool done() const { return done_; }
  /// Returns the number of wanted records found so far.
  std::uint64_t records() const { return records_; }

 private:
  std::uint64_t left_, records_ = 0;
  const bool unique_;
  const RecordLayout layout_;
  bool done_ = false;
  std::vector<std::byte> last_;
};

/// Returns the first `count` records of `sorted`, or with `unique` the records with its first `count` keys. Returns
/// `sorted` itself if it has no more.
std::unique_ptr<SortedRecords> TakeFront(std::unique_ptr<SortedRecords> sorted, std::uint64_t count, bool unique,
                                         const RecordLayout& layout);

/// Reads single records of a run in GPU or host memory. From GPU memory, only the bytes near the borders of records are
/// copied.
class RunView {
 public:
  RunView(const SortedRecords& records, const RecordLayout& layout) : records_(records), layout_(layout) {}
  /// Returns the last offset in (begin, end] at which a record ends, or `begin` if there is none. A record must begin
  /// at `begin`.
  std::uint64_t WholeEnd(std::uint64_t begin, std::uint64_t end) const;
  std::uint64_t RecordEnd(std::uint64_t begin) const;
  /// Returns the offset up to which whole records, from `begin` on, fit into `room` bytes. If the first record is
  /// longer than `room`, returns its end.
  std::uint64_t BlockEnd(std::uint64_t begin, std::uint64_t room) const;
  /// Returns the record that begins at `begin`. The result lies in the run's memory or in `copy`.
  RecordSpan RecordAt(std::uint64_t begin, std::vector<std::byte>& copy) const;
  /// The last whole record of a range of bytes, and the offset of its end. `record` is empty if the range has no whole
  /// record.
  struct Last {
    RecordSpan record;
    std::uint64_t end;
  };
  /// Returns the last whole record in [begin, end). A record must begin at `begin`. The result lies in the run's memory
  /// or in `copy`. If `seen` is true, the caller has already read the bytes of FirstLook() into `copy`.
  Last LastBefore(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy, bool seen = false) const;
  /// Returns a description of the bytes that LastBefore() looks at first, so that the caller can read them for many
  /// runs in one call. Resizes `copy`; the bytes must be read into it.
  SlotRead FirstLook(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy) const;
  /// Returns the bytes [begin, end). The result lies in the run's memory or in `copy`.
  RecordSpan Bytes(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy) const;

 private:
  /// Returns the offset of the first byte that LastBefore() reads. Sets `end` to the end of the bytes that it reads.
  std::uint64_t LookFrom(std::uint64_t begin, std::uint64_t& end) const;

  const SortedRecords& records_;
  const RecordLayout& layout_;
};

/// Divides a run into blocks of whole records: at most `payload` bytes, or a single longer record. RunBlock::place is
/// not set.
RunBlocks CutBlocks(const SortedRecords& sorted, std::uint64_t payload, const RecordLayout& layout);

/// Returns the list of the blocks of a run that stays in the input, in the ranges `ranges`. `sorted` contains the
/// records of the run.
RunBlocks InputBlocks(const std::vector<InputRange>& ranges, const SortedRecords& sorted, std::uint64_t payload,
                      const RecordLayout& layout);

}  // namespace gpusort

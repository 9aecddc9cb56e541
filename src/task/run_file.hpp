// The file with a run: the sorted records of one slice (range) of the input. Fences are some records of the run with
// their offsets. They allow a search in the run with few reads. Start at RunFile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "job/open_job.hpp"
#include "spec/job_spec.hpp"
#include "task/dump_runs.hpp"
#include "task/job_folder.hpp"

namespace gpusort {

/// Compares records of sorted runs. Comparable() extracts the first record from bytes that were read from a run.
class TaskOrder {
 public:
  /// The first record in a range of bytes of a sorted run.
  struct First {
    /// The record in the form that Compare() takes: with a sort key if records have columns.
    std::vector<std::byte> comparable;
    std::uint64_t bytes = 0;  ///< size of the record in the file
  };

  /// `ordered` gives the order of the records and their sort keys. It must outlive this object.
  explicit TaskOrder(const Ordered& ordered) : ordered_(ordered), layout_(ordered.comparable()) {}

  /// Returns true if the end of a record can be found without looking at the bytes before the record. This is false for
  /// formats with columns, such as CSV.
  bool plain() const { return !ordered_.table; }
  const Ordered& ordered() const { return ordered_; }
  /// Returns the layout of the records that Compare() takes: with sort keys if records have columns.
  const RecordLayout& layout() const { return layout_; }
  /// Compares two records in the form that Comparable() returns.
  int Compare(RecordSpan a, RecordSpan b) const { return CompareRecords(a, b, layout_); }
  /// Save() turns a state of the format's parser into text, and Load() turns such a text into the state again.
  std::string Save(const ScanState& state) const { return ordered_.format().SaveState(state); }
  ScanState Load(const std::string& state) const { return ordered_.format().LoadState(state); }
  /// Returns true if the sort key of a record can depend on bytes before the record. To read a record, a caller then
  /// needs the state of the format's parser before this record.
  bool depends() const { return !Save({}).empty(); }
  /// Returns the first record of `records` in the form that Compare() takes, or std::nullopt if the record is not
  /// complete. `state` is the state of the format's parser before the record, and is replaced by the state after it.
  /// `all` is true if `records` goes to the end of the run. `encoder` must come from MakeEncoder().
  std::optional<First> Comparable(RecordSpan records, bool all, ScanState& state, KeyEncoder* encoder) const;
  /// Returns an object that makes sort keys for one thread, or null if records have no columns and need no keys.
  std::unique_ptr<KeyEncoder> MakeEncoder() const { return plain() ? nullptr : ordered_.keyed->MakeEncoder(); }

 private:
  const Ordered& ordered_;
  const RecordLayout layout_;
};

/// The data that a task needs to work on one part of the output. The cut tells where each part begins in every sorted
/// run.
struct OpenCut {
  /// Reads the division of the sorted runs into `parts` parts of the output (the cut) from the job's folder `path`.
  /// Throws the errors of JobFolder.
  OpenCut(const JobSpec& spec, const std::string& path, std::uint64_t parts)
      : runs(SpecOfRuns(spec)), ordered(runs, true), folder(files, path), cut(folder.ReadCut(parts)) {
    ordered.ReadHeader(cut.header);
  }

  const JobSpec runs;  ///< the job as which runs are merged
  FileSystem files;
  const Ordered ordered;
  const TaskOrder order{ordered};
  JobFolder folder;
  const TaskCut cut;
};

/// A record of a sorted run whose offset is known and kept in memory. A search in the run first looks at the fences,
/// and then reads only the bytes between two of them.
struct Fence {
  std::uint64_t offset = 0;       ///< offset of the record in the file
  std::vector<std::byte> record;  ///< the record in the form that TaskOrder::Compare takes
  std::string state;              ///< the state of the format's parser before the record, as text (see TaskOrder::Save)
  DumpPlace place{};              ///< only for dumps: what comes before the record in the run
};

/// The file with a sorted run. Reads records, and finds the offset of the first record that sorts at or after a given
/// record.
class RunFile {
 public:
  /// Fences are records of a run whose offsets are stored for a fast search. kMostFences is the maximum number of
  /// fences of a run, so that the fences of all runs fit into memory. kFenceBytes is the smallest distance between two
  /// fences in bytes.
  static constexpr std::uint64_t kMostFences = 1024, kFenceBytes = std::uint64_t{64} << 10;

  /// Opens the file of run number `run`, which must have `bytes` bytes. `fences` are records of this run with their
  /// offsets, and must outlive this object. Throws Error(kIntegrity) if the file has another size or belongs to another
  /// run. If TaskOrder::depends() is true, the caller must not use offsets before the first fence, because the state of
  /// the format's parser is not known there.
  RunFile(FileSystem& files, JobFolder& folder, std::uint64_t run, std::uint64_t header_bytes,
          std::uint64_t trailer_bytes, std::uint64_t bytes, const TaskOrder& order, std::span<const Fence> fences);

  /// The offsets in the file at which the records begin and end. A header comes before them. A trailer comes after
  /// them, and then the RunLabel, which names the run and its job.
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }

  /// Returns the fences of the run, which are records with known offsets: its first record, and further records at
  /// about equal distances. A search reads only the bytes between two fences. `state` is the state of the format's
  /// parser before the first record. Sets `fields` to a number that must be the same in all runs that are merged, such
  /// as the number of columns.
  std::vector<Fence> MakeFences(ScanState state, std::uint64_t& fields);
  /// Returns the fences of the run of a dump, as MakeFences() does. A line of such a run is a record with its sort key
  /// before it. Adds the gaps of the run to `gaps`, and sets `sum` to the checksum of the lines. Throws WrongResult if
  /// the lines are not in order, or if the records without their sort keys do not have the checksum `own`.
  std::vector<Fence> MakeDumpFences(const RecordSum& own, DumpGaps& gaps, RecordSum& sum);
  /// Returns what comes before the record at `offset` in the run of a dump.
  DumpPlace PlaceAt(std::uint64_t offset);
  /// Returns the offset of the first record of this run that is not before `position` (see IsBefore). `own` is the
  /// index of this run, and `unique` is the argument of IsBefore(). Searches only the offsets [low, high], which must
  /// contain the result.
  std::uint64_t Find(const RecordPosition& position, std::uint64_t own, bool unique, std::uint64_t low,
                     std::uint64_t high);
  /// Returns the offset of the first record of this run that is not before `position` (see IsBefore). `own` is the
  /// index of this run, and `unique` is the argument of IsBefore(). Uses the fences (records whose offsets are known)
  /// to search only a part of the file.
  std::uint64_t Find(const RecordPosition& position, std::uint64_t own, bool unique);
  /// Calls `take` for each record in the bytes [low, high) of the file, which must be whole records.
  void ForEach(std::uint64_t low, std::uint64_t high,
               const std::function<void(std::uint64_t offset, TaskOrder::First&&)>& take);
  TaskOrder::First At(std::uint64_t offset) { return At(offset, StateAt(offset)); }
  /// Returns the state of the format's parser before the record at `offset`.
  ScanState StateAt(std::uint64_t offset);
  /// Returns the offset of a record near the middle of the bytes [low, high). A record must begin at `low`. Returns
  /// `low` if no other record is found near the middle.
  std::uint64_t Middle(std::uint64_t low, std::uint64_t high);

 private:
  TaskOrder::First At(std::uint64_t offset, ScanState state);
  std::vector<std::byte> Read(std::uint64_t begin, std::uint64_t end);
  std::uint64_t BorderAfter(std::uint64_t at);

  const TaskOrder& order_;
  const std::unique_ptr<File> file_;
  const std::uint64_t begin_, end_;
  const std::span<const Fence> fences_;
  const std::unique_ptr<KeyEncoder> encoder_;
};

/// PackFences() returns the content of a file that stores fences: some records of a run and their offsets, for a fast
/// search. For a dump, the file also has `gaps`, a result of DumpGaps::Save(). ReadFences() reads such a file, and
/// throws Error(kIntegrity) if the file was changed. It sets *gaps unless `gaps` is null.
std::vector<std::byte> PackFences(const std::vector<Fence>& fences, const std::string& gaps, const RunLabel& label);
std::vector<Fence> ReadFences(FileSystem& files, JobFolder& folder, std::uint64_t number, const TaskRun& run,
                              std::string* gaps = nullptr);
std::uint64_t HashOf(std::span<const std::byte> bytes);

/// Returns true if a record comes before `position` in the sorted sequence of all runs together. Records are sorted by
/// TaskOrder::Compare(), then by the index of their run, and then by their offset in the run. If `unique` is true, only
/// TaskOrder::Compare() decides, so that no part of the output begins between records with equal keys. `comparable` is
/// the record as TaskOrder::Comparable() returns it. It is at `offset` in the run with the index `own`.
bool IsBefore(RecordSpan comparable, std::uint64_t offset, std::uint64_t own, const RecordPosition& position,
              bool unique, const TaskOrder& order);

/// Returns the offset of the first record that begins at offset `at` or later, or `end` if there is none. The bytes
/// [begin, end) of the file must be lines or other delimited records.
std::uint64_t DelimitedBorder(File& file, std::uint64_t begin, std::uint64_t at, std::uint64_t end,
                              const RecordLayout& layout);
/// Reads the bytes [begin, end) of a file. Throws Error(kBadInput) if the file is shorter.
std::vector<std::byte> ReadBytes(File& file, std::uint64_t begin, std::uint64_t end);

}  // namespace gpusort

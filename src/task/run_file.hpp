// The file of a sorted run, which contains the sorted records of one slice of the input. The offsets of some of its
// records (fences) are stored separately, so that a search needs to read only a small part of the file. Start at
// RunFile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/checked_runs.hpp"
#include "io/file.hpp"
#include "job/open_job.hpp"
#include "spec/job_spec.hpp"
#include "task/job_folder.hpp"
#include "task/keyed_runs.hpp"

namespace gpusort {

/// Returns true if all records with equal keys must be in one part of the output, because it depends on all of them
/// which are written.
inline bool KeepsGroups(const JobSpec& spec) { return spec.order.unique || spec.order.set_inputs() > 0; }

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
  explicit TaskOrder(const Ordered& ordered) : ordered_(ordered), layout_(ordered.comparable()), keyed_(layout_) {
    keyed_.keys = ordered.copies ? kCheckedKeys : kTableKeys;
  }

  /// Returns true if the end of a record can be found without looking at the bytes before the record. This is false for
  /// formats with columns, such as CSV, unless the sorted runs have sort keys.
  bool plain() const { return !ordered_.table || ordered_.copies; }
  const Ordered& ordered() const { return ordered_; }
  /// Returns the layout of the records that Compare() takes. Records with columns have a sort key before them.
  const RecordLayout& layout() const { return layout_; }
  /// Returns the layout of the records in runs with sort keys, which tells where each record begins after its key.
  const RecordLayout& keyed_layout() const { return keyed_; }
  /// Compares two records in the form that Comparable() returns.
  int Compare(RecordSpan a, RecordSpan b) const { return CompareRecords(a, b, layout_); }
  /// Save() turns a state of the format's parser into a string, and Load() turns the string into the state again.
  std::string Save(const ScanState& state) const { return ordered_.format().SaveState(state); }
  ScanState Load(const std::string& state) const { return ordered_.format().LoadState(state); }
  /// Returns true if the sort key of a record can depend on bytes before the record. To read a record, a caller then
  /// needs the state of the format's parser before this record.
  bool depends() const { return !Save({}).empty(); }
  /// Returns the first record of `records`, for Compare(). No value: `records` ends inside this record.
  /// - `all`: true if no bytes follow `records` in the sorted run.
  /// - `state`: the parser's state before the record. Becomes the state after the record.
  /// - `encoder`: a result of MakeEncoder().
  std::optional<First> Comparable(RecordSpan records, bool all, ScanState& state, KeyEncoder* encoder) const;
  /// Returns an object that makes sort keys, for one thread. Returns null if records have no columns, because records
  /// without columns are compared without sort keys.
  std::unique_ptr<KeyEncoder> MakeEncoder() const { return plain() ? nullptr : ordered_.keyed->MakeEncoder(); }

 private:
  const Ordered& ordered_;
  const RecordLayout layout_;
  RecordLayout keyed_;
};

/// The data that a task needs to work on one part of the output. The cut tells where each part begins in every sorted
/// run.
struct OpenCut {
  /// Reads where each of the `parts` parts of the output begins. `path` is the folder of the job. Throws the errors of
  /// JobFolder::ReadCut().
  OpenCut(const JobSpec& spec, const std::string& path, std::uint64_t parts)
      : runs(SpecOfRuns(spec)), ordered(runs, true), folder(files, path), cut(folder.ReadCut(parts)) {
    ordered.ReadHeader(cut.header);
  }

  const JobSpec runs;  ///< the job as which sorted runs are merged
  FileSystem files;
  const Ordered ordered;
  const TaskOrder order{ordered};
  JobFolder folder;
  const TaskCut cut;
};

/// Returns the bytes `ranges` of the files `paths` of runs as inputs of a job.
Source RunSource(const OpenCut& open, std::vector<std::string> paths, std::vector<ByteRange> ranges);

/// A record of a sorted run, with its offset. A search in the run compares fences first, and then reads only the bytes
/// between two fences.
struct Fence {
  std::uint64_t offset = 0;       ///< offset of the record in the file
  std::vector<std::byte> record;  ///< the record in the form that TaskOrder::Compare takes
  std::string state;              ///< the state of the format's parser before the record (see TaskOrder::Save)
  /// Only for runs with sort keys: the counts of bytes and rows before the record in the sorted run.
  RunPlace place{};
};

/// The file with a sorted run. Reads records, and finds the offset of the first record that sorts at or after a given
/// record.
class RunFile {
 public:
  /// kMostFences is the maximum number of fences (records with stored offsets) of a sorted run. kFenceBytes is the
  /// minimum distance between two fences, in bytes.
  static constexpr std::uint64_t kMostFences = 1024, kFenceBytes = std::uint64_t{64} << 10;

  /// Opens the file of sorted run number `run`.
  /// - Throws Error(kIntegrity) if the size of the file is not `bytes`, or if it is the file of another run or job.
  /// - `fences`: some records of the run with their offsets; empty: not known yet. Must outlive this object.
  RunFile(FileSystem& files, JobFolder& folder, std::uint64_t run, std::uint64_t header_bytes,
          std::uint64_t trailer_bytes, std::uint64_t bytes, const TaskOrder& order, std::span<const Fence> fences);

  /// The offsets in the file at which the records begin and end. A header comes before the records, and a trailer and
  /// the RunLabel come after them.
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }

  /// Returns the fences of the sorted run: some records with their offsets.
  /// - `state`: the state of the format's parser before the first record.
  /// - `fields`: is set to the number of columns, or to 0 (see TaskRun::fields).
  std::vector<Fence> MakeFences(ScanState state, std::uint64_t& fields);
  /// Reads all records of this sorted run, which has sort keys, and returns some of them with their offsets.
  /// - Throws WrongResult if the records are not in order, or if their checksum without sort keys is not `own`.
  /// - `gaps`: gets the bytes between the rows of an SQL dump. Null: the run is not of a dump.
  /// - `sum`: the checksum of the records with sort keys is added to `sum`.
  std::vector<Fence> MakeKeyedFences(const RecordSum& own, DumpGaps* gaps, RecordSum& sum);
  /// Returns how many bytes and rows come before the record at `offset`. Call this only if the run has sort keys.
  RunPlace PlaceAt(std::uint64_t offset);
  /// Returns the offset of the first record in [low, high) that is not before `position`, or `high` if there is none.
  /// - The bytes [low, high) must be whole records.
  /// - `own`: the number of this sorted run.
  /// - `unique`: see IsBefore().
  std::uint64_t Find(const RecordPosition& position, std::uint64_t own, bool unique, std::uint64_t low,
                     std::uint64_t high);
  /// Returns the offset of the first record of this sorted run that is not before `position`. Returns end() if there is
  /// none.
  /// - `own`: the number of this run.
  /// - `unique`: see IsBefore().
  std::uint64_t Find(const RecordPosition& position, std::uint64_t own, bool unique);
  /// Calls `take` for each record in the bytes [low, high) of the file, which must be whole records.
  void ForEach(std::uint64_t low, std::uint64_t high,
               const std::function<void(std::uint64_t offset, TaskOrder::First&&)>& take);
  TaskOrder::First At(std::uint64_t offset) { return At(offset, StateAt(offset)); }
  /// Returns the state of the format's parser before the record at `offset`. Call this only if the constructor got
  /// `fences`.
  ScanState StateAt(std::uint64_t offset);
  /// Returns the offset of a record near the middle of the bytes [low, high). A record must begin at `low`. Returns
  /// `low` if no other record is found near the middle.
  std::uint64_t Middle(std::uint64_t low, std::uint64_t high);

 private:
  [[noreturn]] void Changed(const std::string& why) const;
  /// Calls TaskOrder::Comparable for records that begin at `offset`.
  std::optional<TaskOrder::First> Comparable(std::uint64_t offset, RecordSpan records, bool all,
                                             ScanState& state) const;
  TaskOrder::First At(std::uint64_t offset, ScanState state);
  std::vector<std::byte> Read(std::uint64_t begin, std::uint64_t end);
  std::uint64_t BorderAfter(std::uint64_t at);

  const TaskOrder& order_;
  const std::unique_ptr<File> file_;
  const std::uint64_t begin_, end_;
  const std::span<const Fence> fences_;
  const std::unique_ptr<KeyEncoder> encoder_;
};

/// PackFences() returns the content of a file that stores the fences of a sorted run. `gaps` is a result of
/// DumpGaps::Save(), or empty. ReadFences() reads such a file, and throws Error(kIntegrity) if the file is damaged or
/// belongs to another run. It sets *gaps unless `gaps` is null.
std::vector<std::byte> PackFences(const std::vector<Fence>& fences, const std::string& gaps, const RunLabel& label);
std::vector<Fence> ReadFences(FileSystem& files, JobFolder& folder, std::uint64_t number, const TaskRun& run,
                              std::string* gaps = nullptr);
std::uint64_t HashOf(std::span<const std::byte> bytes);

/// Throws Error(kIntegrity). `what` is the path of the file of a sorted run and why the file was changed after its task
/// had written it.
[[noreturn]] void FailChangedRun(const std::string& what);

/// Returns true if a record is sorted before `position`.
/// - `comparable`: the record, from TaskOrder::Comparable().
/// - `offset`: the offset of the record in the file of its sorted run.
/// - `own`: the number of this run.
/// - `unique`: if true, returns false for equal records. If false, compares their run numbers and then their offsets.
bool IsBefore(RecordSpan comparable, std::uint64_t offset, std::uint64_t own, const RecordPosition& position,
              bool unique, const TaskOrder& order);

/// Returns the offset of the first record that begins at offset `at` or later, or `end` if there is none. The bytes
/// [begin, end) of the file must be lines or other delimited records.
std::uint64_t DelimitedBorder(File& file, std::uint64_t begin, std::uint64_t at, std::uint64_t end,
                              const RecordLayout& layout);
/// Reads the bytes [begin, end) of a file. Throws Error(kBadInput) if the file is shorter.
std::vector<std::byte> ReadBytes(File& file, std::uint64_t begin, std::uint64_t end);

}  // namespace gpusort

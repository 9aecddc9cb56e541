// The sorted run of one slice of the input: a file of sorted records, and its fences. Fences are some records of the
// run with their offsets. They allow a search in the run with few reads. Start at RunFile.
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
#include "task/job_folder.hpp"

namespace gpusort {

/// Compares records of runs, and finds records in the bytes of a run.
class TaskOrder {
 public:
  /// The first record in a range of bytes of a run.
  struct First {
    std::vector<std::byte> comparable;  ///< the record in the form that Compare() takes
    std::uint64_t bytes = 0;            ///< size of the record in the file
  };

  /// `ordered` must outlive this object.
  explicit TaskOrder(const Ordered& ordered) : ordered_(ordered), layout_(ordered.comparable()) {}

  /// Returns true if the end of a record can be found without looking at the bytes before the record.
  bool plain() const { return !ordered_.table; }
  const Ordered& ordered() const { return ordered_; }
  /// Returns the layout of the records that Compare() takes.
  const RecordLayout& layout() const { return layout_; }
  /// Compares two records, which must have the form that Comparable() returns.
  int Compare(RecordSpan a, RecordSpan b) const { return CompareRecords(a, b, layout_); }
  /// Save() turns a state of the format into text, and Load() turns the text into the state again.
  std::string Save(const ScanState& state) const { return ordered_.format().SaveState(state); }
  ScanState Load(const std::string& state) const { return ordered_.format().LoadState(state); }
  /// Returns true if the key of a record can depend on bytes before the record. The format's state before a record is
  /// needed then.
  bool depends() const { return !Save({}).empty(); }
  /// Returns the first record of `records`, or std::nullopt if it is not complete. `state` is the format's state before
  /// the record, and is replaced by the state after it. `all` is true if `records` goes to the end of the run.
  /// `encoder` is from MakeEncoder().
  std::optional<First> Comparable(RecordSpan records, bool all, ScanState& state, KeyEncoder* encoder) const;
  /// Returns an encoder for one thread, or null if records have no columns.
  std::unique_ptr<KeyEncoder> MakeEncoder() const { return plain() ? nullptr : ordered_.keyed->MakeEncoder(); }

 private:
  const Ordered& ordered_;
  const RecordLayout layout_;
};

/// The data that a task needs to work on one part of the output. This is the division of the runs into parts (the cut),
/// the order of records, and the job's folder.
struct OpenCut {
  /// Reads the cut into `parts` parts from the job's folder `path`. Throws the errors of JobFolder.
  OpenCut(const JobSpec& spec, const std::string& path, std::uint64_t parts)
      : ordered(spec, true), folder(files, path), cut(folder.ReadCut(parts)) {
    ordered.ReadHeader(cut.header);
  }

  FileSystem files;
  const Ordered ordered;
  const TaskOrder order{ordered};
  JobFolder folder;
  const TaskCut cut;
};

/// A record of a run and its offset. A search in a run first looks at its fences, which are in memory.
struct Fence {
  std::uint64_t offset = 0;       ///< offset of the record in the file
  std::vector<std::byte> record;  ///< the record in the form that TaskOrder::Compare takes
  std::string state;              ///< the format's state before the record (see TaskOrder::Save)
};

/// The file of a run. Reads records, and finds the offset of the first record that sorts at or after a given record.
class RunFile {
 public:
  /// The largest number of fences of a run, and the smallest distance between two fences in bytes.
  static constexpr std::uint64_t kMostFences = 1024, kFenceBytes = std::uint64_t{64} << 10;

  /// Opens the file of run number `run`, which must have `bytes` bytes. `fences` belong to the run and must outlive
  /// this object. If TaskOrder::depends() is true, the caller must not use offsets before the first fence. Throws
  /// Error(kIntegrity) if the file has another size, or belongs to another run.
  RunFile(FileSystem& files, JobFolder& folder, std::uint64_t run, std::uint64_t header_bytes,
          std::uint64_t trailer_bytes, std::uint64_t bytes, const TaskOrder& order, std::span<const Fence> fences);

  /// The offsets in the file at which the records begin and end.
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }

  /// Returns the fences of the run: the first record, and further records at about equal distances. `state` is the
  /// format's state before the first record. Sets `shape` to the value of TaskRun::shape.
  std::vector<Fence> MakeFences(ScanState state, std::uint64_t& shape);
  /// Searches [low, high] for the offset in this run that corresponds to `place`, a place in the order of all records.
  /// The caller must know that it is in this range. `own` is the number of this run.
  std::uint64_t Find(const OrderPlace& place, std::uint64_t own, bool unique, std::uint64_t low, std::uint64_t high);
  /// Returns the offset in this run that corresponds to `place`, a place in the order of all records. Uses the fences
  /// to search only a part of the file. `own` is the number of this run.
  std::uint64_t Find(const OrderPlace& place, std::uint64_t own, bool unique);
  /// Calls `take` for each record in the bytes [low, high), which must be whole records.
  void ForEach(std::uint64_t low, std::uint64_t high,
               const std::function<void(std::uint64_t offset, TaskOrder::First&&)>& take);
  TaskOrder::First At(std::uint64_t offset) { return At(offset, StateAt(offset)); }
  /// Returns the format's state before the record at `offset`.
  ScanState StateAt(std::uint64_t offset);
  /// Returns the offset of a record near the middle of [low, high), or `low` if no other record is found.
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

/// PackFences() returns the content of a file of fences. ReadFences() reads such a file, and throws Error(kIntegrity)
/// if the file was changed.
std::vector<std::byte> PackFences(const std::vector<Fence>& fences, const RunLabel& label);
std::vector<Fence> ReadFences(FileSystem& files, JobFolder& folder, std::uint64_t number, const TaskRun& run);
std::uint64_t HashOf(std::span<const std::byte> bytes);

/// Returns true if the record `comparable`, which is at `offset` of run number `own`, comes before `place` in the order
/// of all records.
bool IsBefore(RecordSpan comparable, std::uint64_t offset, std::uint64_t own, const OrderPlace& place, bool unique,
              const TaskOrder& order);

/// Returns the offset of the first record that begins at `at` or later, or `end` if there is none. The bytes [begin,
/// end) of the file must be delimited records.
std::uint64_t DelimitedBorder(File& file, std::uint64_t begin, std::uint64_t at, std::uint64_t end,
                              const RecordLayout& layout);
/// Reads the bytes [begin, end) of a file. Throws Error(kBadInput) if the file is shorter.
std::vector<std::byte> ReadBytes(File& file, std::uint64_t begin, std::uint64_t end);

}  // namespace gpusort

// The run of one slice: a file of sorted records, and its fences. Fences are some records of the run with their
// offsets, by which a place in the order is found with few reads. Start at RunFile.
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

/// Compares records of runs, and decodes them from the bytes of a run.
class TaskOrder {
 public:
  /// The first record in a piece of a run.
  struct First {
    std::vector<std::byte> comparable;  ///< the record in the form that Compare() takes
    std::uint64_t bytes = 0;            ///< size of the record in the file
  };

  /// `ordered` must outlive this object.
  explicit TaskOrder(const Ordered& ordered) : ordered_(ordered), layout_(ordered.comparable()) {}

  /// Returns true if the end of a record can be found without the bytes before the record.
  bool plain() const { return !ordered_.table; }
  const Ordered& ordered() const { return ordered_; }
  /// Returns the layout of records in the form that Compare() takes.
  const RecordLayout& layout() const { return layout_; }
  /// Compares two records in the form that Comparable() returns.
  int Compare(RecordSpan a, RecordSpan b) const { return CompareRecords(a, b, layout_); }
  /// Save and Load call RecordFormat::SaveState and LoadState.
  std::string Save(const ScanState& state) const { return ordered_.format().SaveState(state); }
  ScanState Load(const std::string& state) const { return ordered_.format().LoadState(state); }
  /// Returns true if a key depends on bytes before its record. The state before the record must then be known.
  bool depends() const { return !Save({}).empty(); }
  /// Returns the first record of `records`, or std::nullopt if it is not complete. `state` is the format's state before
  /// the record, and is replaced by the state after it. `all` says that the run ends with `records`. `encoder` is from
  /// MakeEncoder().
  std::optional<First> Comparable(RecordSpan records, bool all, ScanState& state, KeyEncoder* encoder) const;
  /// Returns an encoder for one thread, or null if records have no columns.
  std::unique_ptr<KeyEncoder> MakeEncoder() const { return plain() ? nullptr : ordered_.keyed->MakeEncoder(); }

 private:
  const Ordered& ordered_;
  const RecordLayout layout_;
};

/// The cut of a job into parts, opened by a task that works on a part.
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

/// A record of a run and its offset. A search for a place in the order begins with the fences.
struct Fence {
  std::uint64_t offset = 0;       ///< offset of the record in the file
  std::vector<std::byte> record;  ///< the record in the form that TaskOrder::Compare takes
  std::string state;              ///< the format's state before the record (see TaskOrder::Save)
};

/// The file of a run. Reads records, and finds the offset that belongs to a place in the order.
class RunFile {
 public:
  /// The largest number of fences of a run, and the smallest number of bytes between two fences.
  static constexpr std::uint64_t kMostFences = 1024, kFenceBytes = std::uint64_t{64} << 10;

  /// Opens the file of run number `run`, which must have `bytes` bytes. `fences` belong to the run and must outlive
  /// this object. If TaskOrder::depends() is true, offsets before the first fence must not be used with this object.
  /// Throws Error(kIntegrity) if the file has another size, or belongs to another run.
  RunFile(FileSystem& files, JobFolder& folder, std::uint64_t run, std::uint64_t header_bytes,
          std::uint64_t trailer_bytes, std::uint64_t bytes, const TaskOrder& order, std::span<const Fence> fences);

  /// The offsets in the file at which the records begin and end.
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }

  /// Returns fences of the run: the first record, and further records at about equal distances. `state` is the state
  /// before the first record. Sets `shape` to the value of TaskRun::shape.
  std::vector<Fence> MakeFences(ScanState state, std::uint64_t& shape);
  /// Returns the offset of `place` in this run. `own` is the number of this run. The result must be in [low, high].
  std::uint64_t Find(const OrderPlace& place, std::uint64_t own, bool unique, std::uint64_t low, std::uint64_t high);
  /// Returns the offset of `place` in the whole file. Uses the fences.
  std::uint64_t Find(const OrderPlace& place, std::uint64_t own, bool unique);
  /// Calls `take` for each record in [low, high). `low` and `high` must not lie inside a record.
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

/// PackFences returns the content of a file of fences. ReadFences reads such a file, and throws Error(kIntegrity) if
/// the file was changed.
std::vector<std::byte> PackFences(const std::vector<Fence>& fences, const RunLabel& label);
std::vector<Fence> ReadFences(FileSystem& files, JobFolder& folder, std::uint64_t number, const TaskRun& run);
std::uint64_t HashOf(std::span<const std::byte> bytes);

/// Returns true if the record `comparable`, at `offset` of run number `own`, is before `place`.
bool IsBefore(RecordSpan comparable, std::uint64_t offset, std::uint64_t own, const OrderPlace& place, bool unique,
              const TaskOrder& order);

/// Returns the offset of the first record at or after `at`, or `end`. The file has delimited records in [begin, end).
std::uint64_t DelimitedBorder(File& file, std::uint64_t begin, std::uint64_t at, std::uint64_t end,
                              const RecordLayout& layout);
/// Reads the bytes [begin, end) of a file. Throws Error(kBadInput) if the file is shorter.
std::vector<std::byte> ReadBytes(File& file, std::uint64_t begin, std::uint64_t end);

}  // namespace gpusort

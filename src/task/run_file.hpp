// The run of one slice: a file of sorted records, and its fences. Fences are records from all over the run, with which
// a place in the order is found by few reads. Start at RunFile.
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
#include "job/order.hpp"
#include "spec/job_spec.hpp"
#include "task/job_folder.hpp"

namespace gpusort {

/// The order of the records of runs.
class TaskOrder {
 public:
  /// A record that is found at the front of some bytes.
  struct First {
    std::vector<std::byte> comparable;  ///< the record in the form that Compare takes
    std::uint64_t bytes = 0;            ///< its size in the file
  };

  /// `ordered` must outlive this object.
  explicit TaskOrder(const Ordered& ordered) : ordered_(ordered), layout_(ordered.comparable()) {}

  /// Returns whether the end of a record is found without the bytes before it.
  bool plain() const { return !ordered_.table; }
  const Ordered& ordered() const { return ordered_; }
  /// The layout of what Compare takes.
  const RecordLayout& layout() const { return layout_; }
  /// Compares two records, as Comparable returns them.
  int Compare(RecordSpan a, RecordSpan b) const { return CompareRecords(a, b, layout_); }
  /// As RecordFormat::SaveState and LoadState.
  std::string Save(const ScanState& state) const { return ordered_.format().SaveState(state); }
  ScanState Load(const std::string& state) const { return ordered_.format().LoadState(state); }
  /// Returns whether a key depends on the bytes before its record, so that the state there must be known.
  bool depends() const { return !Save({}).empty(); }
  /// Returns the first of `records`, or std::nullopt if there is no whole one. `state` is the state before the record,
  /// and afterwards the state after it. `all`: no record follows in the run. `encoder` is from MakeEncoder.
  std::optional<First> Comparable(RecordSpan records, bool all, ScanState& state, KeyEncoder* encoder) const;
  /// Returns the encoder of one thread; null if records have no columns.
  std::unique_ptr<KeyEncoder> MakeEncoder() const { return plain() ? nullptr : ordered_.keyed->MakeEncoder(); }

 private:
  const Ordered& ordered_;
  const RecordLayout layout_;
};

/// A cut of a job into parts, for the tasks that work on the parts.
struct OpenCut {
  /// Reads the cut into `parts` parts from the folder of the job. Errors are those of JobFolder.
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

/// A record of a run, by which places in the order are found.
struct Fence {
  std::uint64_t offset = 0;       ///< in the file, where the record begins
  std::vector<std::byte> record;  ///< as TaskOrder::Compare takes it
  std::string state;              ///< before the record, as TaskOrder::Save writes it
};

class RunFile {
 public:
  /// The most fences of a run, and the fewest bytes between two fences.
  static constexpr std::uint64_t kMostFences = 1024, kFenceBytes = std::uint64_t{64} << 10;

  /// Opens the file of run number `run`, which was written with `bytes` bytes. `fences` are its own and must outlive
  /// this object; if keys depend on the bytes before a record, every place that is asked for must lie after a fence.
  /// Throws Error(kIntegrity) if the file has another size, or is that of another run.
  RunFile(FileSystem& files, JobFolder& folder, std::uint64_t run, std::uint64_t header_bytes,
          std::uint64_t trailer_bytes, std::uint64_t bytes, const TaskOrder& order, std::span<const Fence> fences);

  /// The bytes of the file at which the records begin and end.
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }

  /// Reads the file and returns its fences: the first record, which begins in `state`, and one after each step. Sets
  /// `shape` to the value for TaskRun.
  std::vector<Fence> MakeFences(ScanState state, std::uint64_t& shape);
  /// Returns where `place` is in run number `own`: between `low` and `high`, which are borders of records.
  std::uint64_t Find(const OrderPlace& place, std::uint64_t own, bool unique, std::uint64_t low, std::uint64_t high);
  /// Finds `place` in the whole file, by its fences.
  std::uint64_t Find(const OrderPlace& place, std::uint64_t own, bool unique);
  /// Calls `take` for each record between `low` and `high`, which are borders of records.
  void ForEach(std::uint64_t low, std::uint64_t high,
               const std::function<void(std::uint64_t offset, TaskOrder::First&&)>& take);
  /// Returns the record that begins at `offset`.
  TaskOrder::First At(std::uint64_t offset) { return At(offset, StateAt(offset)); }
  /// Returns the state before the record at `offset`.
  ScanState StateAt(std::uint64_t offset);
  /// Returns a border in the middle of [low, high); `low` if there is none.
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

/// Returns the bytes of a file of fences. ReadFences reads such a file, and throws Error(kIntegrity) if its bytes are
/// not those that were written.
std::vector<std::byte> PackFences(const std::vector<Fence>& fences, const RunLabel& label);
std::vector<Fence> ReadFences(FileSystem& files, JobFolder& folder, std::uint64_t number, const TaskRun& run);
std::uint64_t HashOf(std::span<const std::byte> bytes);

/// Returns whether the record `comparable`, at `offset` of run `own`, is before `place`.
bool IsBefore(RecordSpan comparable, std::uint64_t offset, std::uint64_t own, const OrderPlace& place, bool unique,
              const TaskOrder& order);

/// Returns the first border at or after `at`, in a file whose delimited records begin at `begin` and end at `end`.
std::uint64_t DelimitedBorder(File& file, std::uint64_t begin, std::uint64_t at, std::uint64_t end,
                              const RecordLayout& layout);
/// Throws Error(kBadInput) if the file does not have all of these bytes.
std::vector<std::byte> ReadBytes(File& file, std::uint64_t begin, std::uint64_t end);

}  // namespace gpusort

// The run of one slice, as a file of sorted records, and its fences: records from all over it, with which a place in the
// order is found by few reads. Start at RunFile.
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

/// The order of records as they lie in runs.
class TaskOrder {
 public:
  /// `options` must outlive it.
  explicit TaskOrder(const JobSpec& spec)
      : ordered_(spec, true), layout_(ordered_.table ? ordered_.keyed->layout() : ordered_.plain) {}
  /// Of records with columns: what all inputs begin with, before anything else.
  void ReadHeader(RecordSpan header) {
    if (ordered_.table && !header.empty()) ordered_.keyed->ReadHeader(header);
  }

  /// Whether a record's end is seen without what is in front of it.
  bool plain() const { return !ordered_.table; }
  const Ordered& ordered() const { return ordered_; }
  /// As `layout`s of what Comparable gives.
  int Compare(RecordSpan a, RecordSpan b) const { return CompareRecords(a, b, layout_); }
  /// As RecordFormat::SaveState and LoadState.
  std::string Save(const ScanState& state) const { return ordered_.format().SaveState(state); }
  ScanState Load(const std::string& state) const { return ordered_.format().LoadState(state); }
  /// Whether keys depend on what is in front of a record: its state must be known.
  bool depends() const { return !Save({}).empty(); }
  /// The first of `records`, in the form that Compare takes, and its bytes as it lies; nothing if no whole one is there.
  /// `state`: in front of it, and then behind it.
  struct First {
    std::vector<std::byte> comparable;
    std::uint64_t bytes = 0;
  };
  /// `encoder`: the caller's, if records have columns.
  /// `all`: no record follows in the run.
  std::optional<First> Comparable(RecordSpan records, bool all, ScanState& state, KeyEncoder* encoder) const;
  std::unique_ptr<KeyEncoder> MakeEncoder() const { return plain() ? nullptr : ordered_.keyed->MakeEncoder(); }
  const RecordLayout& layout() const { return layout_; }

 private:
  const Ordered ordered_;
  const RecordLayout layout_;
};

struct Fence {
  std::uint64_t offset = 0;             ///< of the file, where the record begins
  std::vector<std::byte> record;        ///< as TaskOrder::Compare takes it
  std::string state;                    ///< in front of it, as TaskOrder::Save
};

class RunFile {
 public:
  /// Fences that a run has at most, and how many bytes there are between two at least.
  static constexpr std::uint64_t kMostFences = 1024, kFenceBytes = std::uint64_t{64} << 10;

  /// Opens the file of run number `run`. `bytes`: what the file was written with. Error(kIntegrity) if the file has
  /// another size, or is another run's. `fences`: its own, which must outlive this; where keys depend on what is in front
  /// of a record, what is looked at must lie behind one.
  RunFile(FileSystem& files, JobFolder& folder, std::uint64_t run, std::uint64_t header_bytes,
          std::uint64_t trailer_bytes, std::uint64_t bytes, const TaskOrder& order, std::span<const Fence> fences);

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }

  /// Reads the file for fences: the first record, which begins in `state`, and one behind each step. `shape`: that of a
  /// TaskRun.
  std::vector<Fence> MakeFences(ScanState state, std::uint64_t& shape);
  /// Where of [low, high], both borders of records, `place` is, for run number `own`.
  std::uint64_t Find(const OrderPlace& place, std::uint64_t own, bool unique, std::uint64_t low, std::uint64_t high);
  /// The same in the whole file, by its fences.
  std::uint64_t Find(const OrderPlace& place, std::uint64_t own, bool unique);
  /// Records of [low, high), both borders, one by one, with where each begins.
  void ForEach(std::uint64_t low, std::uint64_t high,
               const std::function<void(std::uint64_t offset, TaskOrder::First&&)>& take);
  /// The record that begins at `offset`.
  TaskOrder::First At(std::uint64_t offset) { return At(offset, StateAt(offset)); }
  /// In front of it.
  ScanState StateAt(std::uint64_t offset);
  /// A border in the middle of [low, high); `low` if there is none.
  std::uint64_t Middle(std::uint64_t low, std::uint64_t high);

 private:
  TaskOrder::First At(std::uint64_t offset, ScanState state);
  std::vector<std::byte> Read(std::uint64_t begin, std::uint64_t end);
  std::uint64_t BorderBehind(std::uint64_t at);

  const TaskOrder& order_;
  const std::unique_ptr<File> file_;
  const std::uint64_t begin_, end_;
  const std::span<const Fence> fences_;
  const std::unique_ptr<KeyEncoder> encoder_;
};

/// As a file, and back. Error(kIntegrity) if the bytes are not what was written.
std::vector<std::byte> PackFences(const std::vector<Fence>& fences, const RunLabel& label);
std::vector<Fence> ReadFences(FileSystem& files, JobFolder& folder, std::uint64_t number, const TaskRun& run);
std::uint64_t HashOf(std::span<const std::byte> bytes);

/// Whether a record that is `comparable`, at `offset` of run `own`, is in front of `place`.
bool IsBefore(RecordSpan comparable, std::uint64_t offset, std::uint64_t own, const OrderPlace& place, bool unique,
              const TaskOrder& order);

/// Of a file of delimited records that begin at `begin` and end at `end`: the first border at or behind `at`.
std::uint64_t DelimitedBorder(File& file, std::uint64_t begin, std::uint64_t at, std::uint64_t end,
                              const RecordLayout& layout);
/// Error(kBadInput) if the file has not all of these bytes.
std::vector<std::byte> ReadBytes(File& file, std::uint64_t begin, std::uint64_t end);

}  // namespace gpusort

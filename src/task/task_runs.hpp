// All runs of a job that tasks do, with their fences: what the cut looks at. Start at TaskRuns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "task/run_file.hpp"

namespace gpusort {

class TaskRuns {
 public:
  /// Error(kUsage) if one is not there yet, Error(kBadInput) if they do not agree. A run's records need not be here until they are asked for. `order` reads
  /// the runs' header; both must outlive this.
  TaskRuns(FileSystem& files, const std::string& folder, TaskOrder& order);

  std::size_t count() const { return runs_.size(); }
  /// Error(kIntegrity) if it has not the bytes that were written.
  RunFile& file(std::size_t run);
  const std::vector<Fence>& fences(std::size_t run) const { return fences_[run]; }
  /// Bytes of its records, and where in the file they begin and end.
  std::uint64_t bytes(std::size_t run) const { return end(run) - begin(run); }
  std::uint64_t begin(std::size_t run) const { return runs_[run].header.size(); }
  std::uint64_t end(std::size_t run) const { return runs_[run].bytes - runs_[run].trailer.size() - sizeof(RunLabel); }
  JobFolder& folder() { return folder_; }
  /// Of the first run that has one.
  const std::vector<std::byte>& header() const { return header_; }
  /// Of all runs.
  const std::vector<std::byte>& trailer() const { return trailer_; }
  /// What the keys of all runs are.
  const KeyTally& tally() const { return tally_; }

 private:
  void TakeEnd(std::size_t number);

  FileSystem& files_;
  const TaskOrder& order_;
  JobFolder folder_;
  std::vector<TaskRun> runs_;
  std::vector<std::unique_ptr<RunFile>> open_;
  std::vector<std::vector<Fence>> fences_;
  std::vector<std::byte> header_, trailer_;
  KeyTally tally_;
  std::uint64_t shape_ = 0;
};

}  // namespace gpusort

// All runs of a job and their fences, for the task that cuts the runs into parts. Start at TaskRuns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "task/run_file.hpp"

namespace gpusort {

class TaskRuns {
 public:
  /// Reads the facts and fences of all runs. Records are read when they are needed. Throws Error(kUsage) if a run is
  /// missing, and Error(kBadInput) if runs do not fit together. `files` and `order` must outlive this object.
  TaskRuns(FileSystem& files, const std::string& folder, const TaskOrder& order);

  std::size_t count() const { return runs_.size(); }
  /// Opens the file of a run. Throws Error(kIntegrity) if the file is not the one that was written.
  RunFile& file(std::size_t run);
  const std::vector<Fence>& fences(std::size_t run) const { return fences_[run]; }
  /// The size of the records of a run, and the offsets in the file at which they begin and end.
  std::uint64_t bytes(std::size_t run) const { return end(run) - begin(run); }
  std::uint64_t begin(std::size_t run) const { return runs_[run].header.size(); }
  std::uint64_t end(std::size_t run) const { return runs_[run].bytes - runs_[run].trailer.size() - sizeof(RunLabel); }
  JobFolder& folder() { return folder_; }
  /// Returns the header of the first run that has one.
  const std::vector<std::byte>& header() const { return header_; }
  const std::vector<std::byte>& trailer() const { return trailer_; }
  /// Returns the counts of the values in key columns of all runs.
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

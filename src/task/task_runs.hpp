// All runs of a job that tasks do, with their fences. Start at TaskRuns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "task/run_file.hpp"

namespace gpusort {

class TaskRuns {
 public:
  /// Error(kUsage) if one is not there yet. `order` reads the runs' header.
  TaskRuns(FileSystem& files, const std::string& folder, TaskOrder& order);

  std::size_t count() const { return runs_.size(); }
  RunFile& file(std::size_t run) { return *files_[run]; }
  const RunFile& file(std::size_t run) const { return *files_[run]; }
  const std::vector<Fence>& fences(std::size_t run) const { return fences_[run]; }
  /// Of its records.
  std::uint64_t bytes(std::size_t run) const { return files_[run]->end() - files_[run]->begin(); }
  const TaskRun& facts(std::size_t run) const { return runs_[run]; }
  JobFolder& folder() { return folder_; }
  /// Of the first run that has one.
  const std::vector<std::byte>& header() const { return header_; }

  /// Where in each run a part begins: of the last part's end, the runs' ends.
  std::vector<std::uint64_t> Borders(const CutPlace& place, bool unique);

 private:
  JobFolder folder_;
  std::vector<TaskRun> runs_;
  std::vector<std::unique_ptr<RunFile>> files_;
  std::vector<std::vector<Fence>> fences_;
  std::vector<std::byte> header_;
};

}  // namespace gpusort

#include "task/task_runs.hpp"

namespace gpusort {

TaskRuns::TaskRuns(FileSystem& files, const std::string& folder, TaskOrder& order)
    : files_(files), order_(order), folder_(files, folder) {
  const std::uint64_t count = folder_.ReadJob().slices;
  for (std::uint64_t run = 0; run < count; ++run) {
    runs_.push_back(folder_.ReadRun(run));
    fences_.push_back(ReadFences(files, folder_.FencesPath(run), runs_.back()));
    if (header_.empty()) header_ = runs_.back().header;
  }
  open_.resize(count);
  order.ReadHeader(header_);
}

RunFile& TaskRuns::file(std::size_t run) {
  if (!open_[run]) {
    open_[run] = std::make_unique<RunFile>(files_, folder_.RunPath(run), begin(run), end(run), order_);
  }
  return *open_[run];
}

}  // namespace gpusort

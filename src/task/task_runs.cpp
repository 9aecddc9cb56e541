#include "task/task_runs.hpp"

namespace gpusort {

TaskRuns::TaskRuns(FileSystem& files, const std::string& folder, const TaskOrder& order)
    : files_(files), order_(order), folder_(files, folder) {
  const std::uint64_t count = folder_.ReadJob().slices;
  for (std::uint64_t run = 0; run < count; ++run) {
    runs_.push_back(folder_.ReadRun(run));
    fences_.push_back(ReadFences(files, folder_, run, runs_.back()));
    if (header_.empty()) header_ = runs_.back().header;
    TakeEnd(run);
    tally_.Add(runs_.back().tally);
  }
  open_.resize(count);
  order.ordered().ReadHeader(header_);
}

/// Adds the end of a run to the trailer, as one process does for its inputs.
void TaskRuns::TakeEnd(std::size_t number) {
  const TaskRun& run = runs_[number];
  const auto differs = [&](const std::string& what) {
    throw Error(ErrorCode::kBadInput, EscapeName(folder_.RunPath(number)) + ": " + what + " another input's");
  };
  if (run.shape != 0 && shape_ != 0 && run.shape != shape_) differs("its records have not as many fields as");
  shape_ = std::max(shape_, run.shape);
  if (run.trailer.empty()) return;
  const bool joins = order_.ordered().format().joins_trailers();
  if (!joins && !trailer_.empty() && run.trailer != trailer_) differs("the end of its input is not");
  if (!joins) trailer_.clear();
  trailer_.insert(trailer_.end(), run.trailer.begin(), run.trailer.end());
}

RunFile& TaskRuns::file(std::size_t run) {
  if (!open_[run]) {
    open_[run] = std::make_unique<RunFile>(files_, folder_, run, begin(run), runs_[run].trailer.size(),
                                           runs_[run].bytes, order_, fences_[run]);
  }
  return *open_[run];
}

}  // namespace gpusort

#include "task/task_runs.hpp"

#include <algorithm>

#include "error.hpp"
#include "support/text.hpp"

namespace gpusort {

TaskRuns::TaskRuns(FileSystem& files, const std::string& folder, TaskOrder& order)
    : files_(files), order_(order), folder_(files, folder) {
  const std::uint64_t count = folder_.ReadJob().slices;
  for (std::uint64_t run = 0; run < count; ++run) {
    runs_.push_back(folder_.ReadRun(run));
    fences_.push_back(ReadFences(files, folder_.FencesPath(run), runs_.back()));
    if (header_.empty()) header_ = runs_.back().header;
    TakeEnd(run);
  }
  open_.resize(count);
  order.ReadHeader(header_);
}

/// As of inputs that are sorted by one process.
void TaskRuns::TakeEnd(std::size_t number) {
  const TaskRun& run = runs_[number];
  const auto differs = [&](const std::string& what) {
    throw Error(ErrorCode::kBadInput, EscapeName(folder_.RunPath(number)) + ": " + what + " another input's");
  };
  if (run.shape != 0 && shape_ != 0 && run.shape != shape_) differs("its records have not as many fields as");
  shape_ = std::max(shape_, run.shape);
  if (run.trailer.empty()) return;
  const bool joins = order_.ordered().keyed->joins_trailers();
  if (!joins && !trailer_.empty() && run.trailer != trailer_) differs("the end of its input is not");
  if (!joins) trailer_.clear();
  trailer_.insert(trailer_.end(), run.trailer.begin(), run.trailer.end());
}

RunFile& TaskRuns::file(std::size_t run) {
  if (open_[run]) return *open_[run];
  const std::string path = folder_.RunPath(run);
  const std::uint64_t trailer = runs_[run].trailer.size();
  open_[run] = std::make_unique<RunFile>(files_, path, begin(run), trailer, order_);
  if (open_[run]->end() != end(run)) {
    throw Error(ErrorCode::kIntegrity, EscapeName(path) + ": it has " + std::to_string(open_[run]->end() + trailer) +
                                           " bytes, and was written with " + std::to_string(runs_[run].bytes));
  }
  return *open_[run];
}

OrderPlace TaskRuns::At(const CutPlace& place) {
  const std::vector<Fence>& fences = fences_[place.run];
  const auto fence = std::lower_bound(fences.begin(), fences.end(), place.offset,
                                      [](const Fence& a, std::uint64_t offset) { return a.offset < offset; });
  if (fence != fences.end() && fence->offset == place.offset) return {place.run, place.offset, fence->record};
  return {place.run, place.offset, file(place.run).At(place.offset).comparable};
}

std::uint64_t TaskRuns::Border(const CutPlace& place, std::size_t run, bool unique) {
  if (place.run >= count()) return end(run);
  if (place.run == run && !unique) return place.offset;
  return file(run).Find(At(place), run, unique, fences(run));
}

}  // namespace gpusort

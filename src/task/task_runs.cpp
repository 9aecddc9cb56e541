#include "task/task_runs.hpp"

#include "error.hpp"
#include "support/text.hpp"

namespace gpusort {

TaskRuns::TaskRuns(FileSystem& files, const std::string& folder, TaskOrder& order) : folder_(files, folder) {
  const std::uint64_t count = folder_.ReadJob().slices;
  for (std::uint64_t run = 0; run < count; ++run) {
    runs_.push_back(folder_.ReadRun(run));
    files_.push_back(std::make_unique<RunFile>(files, folder_.RunPath(run), runs_.back().header_bytes, order));
    if (files_.back()->end() != runs_.back().bytes) {
      throw Error(ErrorCode::kIntegrity, EscapeName(folder_.RunPath(run)) + ": it has " +
                                             std::to_string(files_.back()->end()) + " bytes, and was written with " +
                                             std::to_string(runs_.back().bytes));
    }
    if (header_.empty() && runs_.back().header_bytes > 0) {
      header_ = files_.back()->Header();
      order.ReadHeader(header_);
    }
  }
  for (std::uint64_t run = 0; run < count; ++run) {
    fences_.push_back(ReadFences(files, folder_.FencesPath(run), runs_[run]));
  }
}

std::vector<std::uint64_t> TaskRuns::Borders(const CutPlace& place, bool unique) {
  std::vector<std::uint64_t> borders;
  for (std::size_t run = 0; run < count(); ++run) borders.push_back(file(run).end());
  if (place.run >= count()) return borders;
  const OrderPlace found{place.run, place.offset, file(place.run).At(place.offset).comparable};
  for (std::size_t run = 0; run < count(); ++run) {
    const bool own = run == place.run && !unique;
    borders[run] = own ? place.offset : file(run).Find(found, run, unique, fences(run));
  }
  return borders;
}

}  // namespace gpusort

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/log.hpp"
#include "base/own_folder.hpp"
#include "base/text.hpp"
#include "formats/locale_keys.hpp"
#include "io/path.hpp"
#include "job/sort_job.hpp"
#include "kernels/error.hpp"
#include "task/run_file.hpp"
#include "task/slices.hpp"
#include "task/tasks.hpp"

namespace gpusort {
namespace {

[[noreturn]] void RefuseTask(const std::string& why) { throw Error(ErrorCode::kUsage, why); }

/// Returns the text that must be equal for all tasks, so that they have one order and the same sums.
std::string Version() {
  constexpr const char* kFormat = ", format 4";  // the version of the files that tasks share
  return std::string(GPUSORT_VERSION) + kFormat + ", locale " + LocaleName();
}

const std::string& MakeFolder(const std::string& path) {
  const std::string name = WithoutSlashes(path);
  if (::mkdir(name.c_str(), 0700) == 0 || errno == EEXIST) return path;
  const int error = errno;
  // A read-only folder of another machine may report another error for a folder that exists.
  struct stat facts;
  if (::lstat(name.c_str(), &facts) == 0) return path;
  throw Error(detail::OpenErrorCode(error), EscapeName(path) + ": cannot make the folder: " + detail::ErrnoText(error));
}

/// The inputs and the folder of a job, for a task on a slice. Makes the folder if the inputs can be opened.
struct SliceTask {
  SliceTask(const JobSpec& spec, const std::vector<std::string>& arguments, std::uint64_t count,
            const std::string& path, CancelFlag& cancel)
      : open(spec, cancel, files), folder(files, MakeFolder(path)), slices(open, order, folder, count) {
    const Inputs& inputs = open.inputs;
    open.ordered.ReadHeader(inputs.header());
    TaskJob job{Version(), arguments, {}, count};
    for (std::uint32_t i = 0; i < inputs.count(); ++i) {
      job.inputs.push_back({std::filesystem::absolute(inputs.path(i)).lexically_normal().string(), inputs.facts(i).size,
                            static_cast<std::uint64_t>(inputs.facts(i).mtime_ns), inputs.facts(i)});
    }
    folder.Begin(job);
  }

  FileSystem files;
  OpenJob open;
  const TaskOrder order{open.ordered};
  JobFolder folder;
  Slices slices;
};

/// Returns whether a task has sorted the slice before, and all that it wrote is in place.
bool IsRunThere(SliceTask& task, std::uint64_t number, const TaskRun& run) {
  try {
    RunFile(task.files, task.folder, number, run.header.size(), run.trailer.size(), run.bytes, task.order, {});
    ReadFences(task.files, task.folder, number, run);
    return true;
  } catch (const Error&) {
    return false;  // the run is written again, which reports an error of writing
  }
}

}  // namespace

void CheckTaskOptions(const JobSpec& spec) {
  if (spec.order.merge) RefuseTask("-m has no meaning here: slices are sorted, and parts merged");
  if (spec.target.output == "-") RefuseTask("standard output has no place for parts: give a file, or a folder");
  if (spec.target.split > 0)
    RefuseTask("--split has no meaning here: gpusort_task cut --parts says how many parts there are");
  if (spec.order.debug) RefuseTask("--debug has no meaning here");
  if (!spec.survival.dir.empty()) RefuseTask("--resume-dir has no meaning here: a task is given again as a whole");
  if (spec.order.random && spec.order.random_source.empty()) {
    RefuseTask("-R needs --random-source: else every task has another order");
  }
  for (const std::string& input : spec.source.inputs) {
    if (IsStreamSource(input)) {
      RefuseTask("input " + EscapeName(input) + " is a stream, and each slice has to find its place in it: write it " +
                 "to a file first");
    }
  }
}

void ScanSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
               const std::string& folder, CancelFlag& cancel) {
  SliceTask task(spec, arguments, slice.count, folder, cancel);
  if (!task.slices.depend() || task.folder.FindScan(slice.number)) return;
  task.folder.Write(slice.number, task.slices.Scan(slice.number));
}

std::optional<SortResult> SortSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
                                    const std::string& folder, CancelFlag& cancel, JobRecord& record) {
  Slices::Records records;
  {
    SliceTask task(spec, arguments, slice.count, folder, cancel);
    if (const std::optional<TaskRun> run = task.folder.FindRun(slice.number)) {
      if (IsRunThere(task, slice.number, *run)) {
        LogInfo("run " + std::to_string(slice.number) + " is there already");
        return std::nullopt;
      }
    }
    records = task.slices.Of(slice.number);
    // A slice without records has the header, if that is found without them. An empty input may lack a header.
    const Inputs& inputs = task.open.inputs;
    if (records.paths.empty() && inputs.rereadable()) {
      records.paths.push_back(inputs.path(0));
      records.ranges.push_back({inputs.begin(0), inputs.begin(0), inputs.facts(0).size > 0});
    }
  }
  FileSystem files;
  JobFolder there(files, folder);
  const std::string path = there.RunPath(slice.number);
  SortResult result;
  const std::string state = records.ranges.empty() ? "" : records.ranges[0].state;
  const RunLabel label = there.LabelOf(slice.number);
  std::unique_ptr<OutputFile> run = CreateOwn(files, path);
  if (records.paths.empty()) {
    WriteWhole(std::move(run), std::as_bytes(std::span(&label, 1)));
  } else {
    Source source = spec.source;
    source.inputs = std::move(records.paths);
    source.ranges = std::move(records.ranges);
    Target target = spec.target;
    target.output = path;
    target.state = state;
    target.codec = Codec::kNone;
    const JobSpec job = SubJob(spec, std::move(source), std::move(target));
    run->Append(std::as_bytes(std::span(&label, 1)));
    if (!spec.target.no_fsync) run->WriteBackEarly();
    sigset_t signals;  // publishing blocks the signals that end a process, and fences are yet to be made
    pthread_sigmask(SIG_SETMASK, nullptr, &signals);
    result = SortJob(job, cancel, files, Output(std::move(run)), {}, {}, &record);
    pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  }
  const Ordered ordered(spec, true);
  ordered.ReadHeader(result.header);
  const TaskOrder order(ordered);
  const std::uint64_t bytes = result.bytes + sizeof label;
  RunFile file(files, there, slice.number, result.header.size(), result.trailer.size(), bytes, order, {});
  std::uint64_t shape = 0;
  const std::vector<std::byte> fences = PackFences(file.MakeFences(order.Load(state), shape), label);
  WriteWhole(CreateOwn(files, there.FencesPath(slice.number)), fences);
  there.Write(slice.number, TaskRun{bytes, result.header, result.trailer, shape, state, fences.size(), HashOf(fences),
                                    result.sum, result.tally});
  return result;
}

void CheckTaskVersion(const std::string& folder) {
  FileSystem files;
  const std::string version = JobFolder(files, folder).ReadJob().version;
  if (version != Version()) {
    RefuseTask(EscapeName(folder) + ": a job with another version or locale (" + EscapeName(version) + ") is there");
  }
}

std::vector<std::string> JobArguments(const std::string& folder) {
  FileSystem files;
  TaskJob job = JobFolder(files, folder).ReadJob();
  std::vector<std::string> arguments = std::move(job.arguments);
  arguments.push_back("--");
  for (TaskJob::Input& input : job.inputs) arguments.push_back(std::move(input.path));
  return arguments;
}

}  // namespace gpusort

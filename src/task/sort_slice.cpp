#include <algorithm>
#include <clocale>
#include <filesystem>
#include <utility>

#include "data/inputs.hpp"
#include "error.hpp"
#include "job/external_sort.hpp"
#include "support/log.hpp"
#include "support/machine.hpp"
#include "task/run_file.hpp"
#include "task/tasks.hpp"

namespace gpusort {
namespace {

[[noreturn]] void RefuseTask(const std::string& why) { throw Error(ErrorCode::kUsage, why); }

/// What of each input belongs to the slice; inputs without any are left out.
struct SliceInputs {
  std::vector<std::string> paths;
  std::vector<ByteRange> ranges;
};

SliceInputs CutSlice(const Options& options, FileSystem& files, const Inputs& inputs, const TaskOrder& order,
                     TaskNumber slice) {
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < inputs.count(); ++i) total += inputs.facts(i).size;
  // Without overflow: there are fewer than 2^20 slices.
  const auto border = [&](std::uint64_t number) {
    return total / slice.count * number + total % slice.count * number / slice.count;
  };
  const std::uint64_t begin = border(slice.number), end = border(slice.number + 1);
  SliceInputs taken;
  std::uint64_t at = 0;
  for (std::uint32_t i = 0; i < inputs.count(); ++i) {
    const std::uint64_t size = inputs.facts(i).size, first = at;
    at += size;
    const bool whole = options.input_codec.value_or(CodecOfPath(inputs.path(i))) != Codec::kNone;
    ByteRange range;
    if (whole) {
      if (first < begin || first >= end) continue;
    } else {
      if (at <= begin || first >= end) continue;
      const std::unique_ptr<File> file = files.OpenInput(inputs.path(i), false);
      const auto place = [&](std::uint64_t byte) {
        return BorderAt(*file, inputs.path(i), inputs.begin(i), byte, options, order);
      };
      range.begin = begin <= first ? 0 : place(begin - first);
      if (end < at) range.end = place(end - first);
      if (range.begin >= std::min(range.end, size)) continue;
    }
    taken.paths.push_back(inputs.path(i));
    taken.ranges.push_back(range);
  }
  return taken;
}

}  // namespace

void CheckTaskOptions(const Options& options) {
  if (options.merge) RefuseTask("-m has no meaning here: slices are sorted, and parts merged");
  if (options.split > 0) RefuseTask("--split has no meaning here: gpusort_task cut --parts says how many parts there are");
  if (options.debug) RefuseTask("--debug has no meaning here");
  if (!options.resume_dir.empty()) RefuseTask("--resume-dir has no meaning here: a task is given again as a whole");
  if (options.output_codec != Codec::kNone) RefuseTask("--compress has no meaning here: runs and parts are not compressed");
  if (options.random && options.random_source.empty()) {
    RefuseTask("-R needs --random-source: else every task has another order");
  }
  if (options.table && (options.table->kind != TableKind::kJsonLines && options.table->kind != TableKind::kCsv)) {
    RefuseTask("--format " + options.table->name + " is known to gpusort, but cannot be cut into slices");
  }
  if (options.table && options.table->comment >= 0) RefuseTask("--comment has no meaning here: sort such files in one job");
  for (const std::string& input : options.inputs) {
    if (IsStreamSource(input)) RefuseTask("input " + EscapeName(input) + " is a stream: a slice needs files");
  }
}

void SortSlice(const Options& options, const std::vector<std::string>& arguments, TaskNumber slice,
               const std::string& folder, CancelFlag& cancel) {
  FileSystem files;
  std::error_code made;
  std::filesystem::create_directory(folder, made);
  JobFolder there(files, folder);
  const MemoryFacts host = FindMemory();
  HostMemory memory(options.memory ? options.memory->Resolve(host.limit) : std::min(host.limit, host.available) / 2);
  TaskOrder order(options);
  SliceInputs taken;
  std::uint64_t header_bytes = 0;
  {
    Inputs inputs(files, options.inputs, MakeInputOptions(options, memory, order.ordered().format()),
                  order.ordered().plain, cancel);
    order.ReadHeader(inputs.header());
    const std::string locale = options.locale ? std::string(", locale ") + std::setlocale(LC_ALL, nullptr) : "";
    TaskJob job{GPUSORT_VERSION + locale, arguments, {}, slice.count};
    for (std::uint32_t i = 0; i < inputs.count(); ++i) {
      job.inputs.push_back({std::filesystem::absolute(inputs.path(i)).lexically_normal().string(),
                            inputs.facts(i).size, static_cast<std::uint64_t>(inputs.facts(i).mtime_ns)});
    }
    there.Begin(job);
    if (const std::optional<TaskRun> run = there.FindRun(slice.number)) {
      const std::optional<FileFacts> file = files.Identify(there.RunPath(slice.number));
      if (file && file->size == run->bytes && files.Identify(there.FencesPath(slice.number))) {
        LogInfo("run " + std::to_string(slice.number) + " is there already");
        return;
      }
    }
    taken = CutSlice(options, files, inputs, order, slice);
    // A slice without records has the header, if that can be had without them.
    if (taken.paths.empty() && inputs.rereadable()) {
      taken.paths.push_back(inputs.path(0));
      taken.ranges.push_back({inputs.begin(0), inputs.begin(0)});
    }
  }
  SortResult result;
  const std::string path = there.RunPath(slice.number);
  if (taken.paths.empty()) {
    WriteWhole(files, path, {});
  } else {
    Options job = options;
    job.inputs = taken.paths;
    job.ranges = taken.ranges;
    job.output = path;
    result = ExternalSort(job, cancel);
  }
  {
    Options run = options;
    run.input_codec = Codec::kNone;
    const Inputs inputs(files, {path}, MakeInputOptions(run, memory, order.ordered().format()), order.ordered().plain,
                        cancel);
    header_bytes = std::min(inputs.begin(0), inputs.facts(0).size);
    if (inputs.header().empty()) header_bytes = 0;
    order.ReadHeader(inputs.header());
  }
  RunFile file(files, path, header_bytes, order);
  const std::vector<std::byte> fences = PackFences(file.MakeFences());
  WriteWhole(files, there.FencesPath(slice.number), fences);
  there.Write(slice.number, TaskRun{file.end(), header_bytes, fences.size(), HashOf(fences), result.sum});
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

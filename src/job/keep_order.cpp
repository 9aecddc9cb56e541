#include "job/keep_order.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "formats/keyed_record.hpp"
#include "io/file.hpp"
#include "io/spill.hpp"
#include "job/open_job.hpp"
#include "job/sort_context.hpp"
#include "job/sort_job.hpp"
#include "job/survival.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {
namespace {

/// Returns the job that sorts by the keys, and that writes each kept record with its place.
JobSpec ByKeys(const JobSpec& spec) {
  Target target;
  target.output = spec.target.output;  // tells attempts of a job with --resume-dir apart from those of other jobs
  target.placed = true;
  JobSpec job = SubJob(spec, spec.source, std::move(target));
  job.survival = spec.survival;
  job.order.top = 0;
  job.reports.stats.clear();
  return job;
}

/// Returns the job that sorts the records of the file `kept` by their places, which stand before them. `by_keys` is the
/// result of the first sort.
JobSpec ByPlaces(const JobSpec& spec, const std::string& kept, const SortResult& by_keys) {
  Source source;
  source.inputs = {kept};
  source.codec = Codec::kNone;
  source.format = Format::kLines;
  source.force_format = true;
  source.type_note = "the kept records, in the order of the input";
  Target target = spec.target;
  target.header = by_keys.header;
  target.trailer = by_keys.trailer;
  JobSpec job = SubJob(spec, std::move(source), std::move(target));
  job.order = ByKeyField();  // the place
  job.order.layout.keys = kTableKeys;
  job.order.top = spec.order.top;
  // A record with its place may be longer than the longest record of the first sort.
  job.dialect.grows = true;
  return job;
}

}  // namespace

SortResult SortKeepingOrder(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus, JobRecord* record) {
  FileSystem files;
  Output output = Output::Open(files, spec, cancel);
  JobSpec first = ByKeys(spec);
  const std::vector<std::string> folders = TempDirectories(spec.limits.temp_dirs, output.file());
  if (spec.survival.dir.empty()) first.limits.temp_dirs = folders;
  const std::unique_ptr<File> kept = files.OpenTemp(folders.front(), false);
  SortResult by_keys;
  FirstSort done;
  {
    SortContext context(first, cancel, files,
                        Output(std::make_unique<PipeWriter>(kept->descriptor(), kept->path(), cancel)), {}, gpus,
                        record);
    by_keys = SortJob(context);
    context.FillStats();
    done = {by_keys.sum, std::move(context.sorting.stats)};
  }
  JobSpec second = ByPlaces(spec, detail::ProcPath(kept->descriptor()), by_keys);
  second.limits.temp_dirs = folders;
  SortContext context(second, cancel, files, std::move(output), {}, gpus, record);
  context.SetFirst(std::move(done));
  SortResult result;
  try {
    result = SortJob(context);
  } catch (const Error& error) {
    if (spec.survival.dir.empty() || error.code() != ErrorCode::kCancelled || !cancel.requested()) throw;
    throw Error(ErrorCode::kStopped, "stopped by a signal; kept in " + EscapeName(spec.survival.dir) +
                                         ": the sorted runs of the first sort. The same command continues from there");
  }
  FinishFirstSort(spec, files);
  result.read = by_keys.read;
  result.runs += by_keys.runs;
  result.temp_written += by_keys.temp_written + by_keys.bytes;
  result.tally = std::move(by_keys.tally);
  return result;
}

}  // namespace gpusort

#include "job/sort_job.hpp"

#include <future>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/out_of_memory.hpp"
#include "formats/count_form.hpp"
#include "formats/table_format.hpp"
#include "io/codec/row_module.hpp"
#include "io/codec/row_schema.hpp"
#include "io/path.hpp"
#include "job/check_sorted.hpp"
#include "job/keep_order.hpp"
#include "job/measure.hpp"
#include "job/recovery.hpp"
#include "kernels/error.hpp"
#include "kernels/thread.hpp"
#include "plan/memory_shares.hpp"

namespace gpusort {
namespace {

void BeginRecord(SortContext& context) {
  context.clock.LogPhases();
  if (context.record == nullptr) return;
  const auto temp_bytes = [&context] {
    const std::lock_guard lock(context.store_mutex);
    return context.store.bytes_in_use();
  };
  context.record->Begin(
      context.clock, ReportMemory(true, false, context.open.memory.limit()), context.facts.machine.threads,
      [&context] { return context.open.memory.used(); }, temp_bytes);
  context.job.recorder = context.record->recorder();
}

/// Returns true if all records of the input are written, as they are.
bool WritesAll(const JobSpec& spec) {
  return !spec.order.debug && !spec.order.unique && spec.order.top == 0 && !HasWindow(spec);
}

/// Continues the output that an earlier process has begun, if there is one, and reserves disk space for the output.
void PrepareOutput(SortContext& context) {
  const JobSpec& spec = context.open.spec;
  Output& output = context.output;
  context.survival.TakeUpOutput(context.sorting, output);
  if (output.file() != nullptr && DirectOutput(context.facts)) output.file()->MakeDirect();
  if (spec.target.codec != Codec::kNone) {
    EncoderOptions options;
    options.threads = context.sorting.shares.encoder_threads;
    options.compression = spec.target.compression;
    options.group_bytes = context.sorting.facts.asked.group_bytes;
    if (spec.target.group_bytes > 0) options.group_rows = kMaxSize;
    options.store = context.open.inputs.kept_rows();
    options.process_bytes = context.open.memory.limit();
    output.Compress(spec.target.codec, options, context.clock);
  } else if (output.file() != nullptr && context.open.inputs.rereadable() && WritesAll(spec) &&
             !spec.target.no_space_check) {
    output.Reserve(context.open.inputs.bytes());
  }
}

/// Makes the pages of an output in memory while the input is read, unless PrepareOutput() has reserved its space. A job
/// with temp files does not, because its temp files may need the memory.
void MakePages(SortContext& context) {
  const Inputs& inputs = context.open.inputs;
  const bool reserved = context.output.file() != nullptr && inputs.rereadable();
  if (reserved || !WritesAll(context.open.spec) || context.job.plan.temp_bytes > 0) return;
  context.output.MakePages(context.open.files,
                           [&inputs] { return inputs.rereadable() ? inputs.bytes() : inputs.stream_bytes_read(); });
}

/// Opens the temp files that the plan needs. Runs of an earlier process or attempt stay in them.
void OpenStore(SortContext& context) {
  Sorting& sorting = context.sorting;
  const Plan& plan = context.job.plan;
  // Disk space that is reserved for the output must not count as free for runs.
  if (context.open.spec.dialect.strict && plan.temp_bytes > 0) context.output.FinishReserving();
  const std::lock_guard lock(context.store_mutex);
  const bool first = !context.store.open();
  if (first) context.survival.Begin(sorting);
  context.store.Open(plan, sorting.shares.threads);
  if (!context.store.open()) return;
  if (first) context.survival.FindBlocks(sorting);
  sorting.facts.earlier.temp_workspaces = plan.temp_workspaces;
  sorting.facts.earlier.block_bytes = plan.block_bytes;
}

/// Logs how many values of keys are missing or of a wrong type. Throws Error(kBadInput) if a key has no value at all.
void TellKeyValues(Sorting& sorting) {
  const JobSpec& spec = sorting.job.spec;
  if (!sorting.ordered.table) return;
  // A single slice may lack values that other slices have. The task that cuts parts looks at all slices.
  if (spec.source.ranges.empty() && !spec.source.force_format) RefuseNoValues(spec, sorting.tally);
  for (const std::string& line : DescribeTally(spec, sorting.tally)) sorting.Note(line);
}

/// Checks that each input of -m is in order. Used before the inputs are sorted instead of merged.
void CheckEachInput(SortContext& context) {
  const JobSpec& spec = context.open.spec;
  for (std::size_t i = 0; i < spec.source.inputs.size(); ++i) {
    Source source = spec.source;
    source.inputs = {spec.source.inputs[i]};
    if (!source.ranges.empty()) source.ranges = {spec.source.ranges[i]};
    source.max_record = context.job.plan.ring.max_record;
    JobSpec one = SubJob(spec, std::move(source), spec.target);
    one.order.unique = false;
    one.limits.memory = Size{context.open.memory.left(), false};
    try {
      CheckSorted(one, context.open.cancel);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kNotSorted) throw;
      throw Error(ErrorCode::kBadInput, std::string(error.what()) + SortInstead(context.open.ordered.plain));
    }
  }
}

/// Begins another attempt after `error`, as Recover() decides. Call this in the handler of `error`. If no attempt would
/// help, throws `error` again. Runs that are not in GPU memory stay, and the rest of the input is sorted again. The
/// reader of a stream continues. If a run with sort keys was lost, the whole input is read again, because such a run
/// does not know its place in the input. After a wrong result no run stays, because it is not known which run is wrong.
void StartOver(SortContext& context, const Error& error) {
  Sorting& sorting = context.sorting;
  PlanFacts& facts = sorting.facts;
  const Inputs& inputs = context.open.inputs;
  Past& past = context.past;
  if (facts.machine.gpu) {
    past.suspect = context.attempt->backend().limits().full_name();
    past.of_gpu = true;
  }
  past.only_once = context.output.sent()  ? "the output, a stream, has taken a part of it"
                   : !inputs.rereadable() ? "an input is a stream or compressed, and is not read twice"
                                          : "";
  std::optional<Recovery> recovery;
  if (!context.open.cancel.requested()) recovery = Recover(error, facts, past);
  if (!recovery && dynamic_cast<const WrongResult*>(&error) != nullptr) {
    context.survival.GiveUpRuns(sorting);
    throw WrongResult(Blame(error, past));
  }
  if (!recovery) throw;
  Reading stream = context.attempt->TakeReading();
  const bool all_read = stream.feeders.empty();
  const std::size_t runs = sorting.runs.size();
  if (inputs.rereadable()) stream = {};
  // The next attempt gets a new backend, because the lanes of the old one are cancelled and stay so.
  context.attempt.reset();
  const bool lost = !all_read || sorting.runs.size() < runs;
  const bool wrong = recovery->way == Recovery::Way::kAnew;
  const bool sorts = recovery->way == Recovery::Way::kSort;
  const bool anew = wrong || sorts || (context.layout.keyed() && inputs.rereadable() && lost);
  if (sorting.merging() || anew) {
    const std::lock_guard lock(context.store_mutex);
    context.store.Drop(sorting.runs);
  }
  sorting.Note(recovery->note);
  facts = std::move(recovery->facts);
  if (recovery->way == Recovery::Way::kSmaller) ++past.smaller;
  if (wrong) {
    past.suspect.clear();
    context.output.Restart();
  }
  if (sorts) {
    {
      const std::lock_guard lock(context.store_mutex);
      context.store.Close();
    }
    // If keys are made, the stage that makes them checks the order.
    if (!context.layout.keyed()) CheckEachInput(context);
    const std::uint64_t left = context.open.memory.left();
    sorting.shares.memory = left - std::min(left, sorting.shares.keys.bytes());
    facts.earlier.block_bytes = 0;
  }
  context.attempt.emplace(sorting, std::move(stream));
  context.attempt->OpenBackend();
  if (sorting.merging() || (!anew && !context.job.rereadable())) return;
  const std::vector<InputRange> ranges = sorting.RangesToRead();
  if (!ranges.empty()) context.attempt->StartReading(ranges, MakeRing(facts, sorting.shares));
}

std::vector<std::byte> HeaderOfOutput(const SortContext& context) {
  const RecordSpan header = context.open.inputs.header();
  if (context.open.spec.order.count) return CountForm(context.open.spec).HeaderOf(header);
  return context.open.ordered.format().OutputHeader(header);
}

/// Sets the header and the trailer of the output, which are known when all of the input is read.
void BeginOutput(SortContext& context) {
  context.output.AllIsKnown();
  const Target& target = context.open.spec.target;
  context.output.ReleaseForParts();
  if (target.placed) return;
  if (!target.headless) context.output.SetHeader(target.header ? *target.header : HeaderOfOutput(context));
  context.output.SetTrailer(target.trailer.empty() ? context.sorting.trailer : target.trailer);
}

void VerifyOutput(SortContext& context, const RecordSum& sum) {
  const OpenJob& open = context.open;
  try {
    context.output.Verify(open.ordered.plain, open.ordered.format(), open.ordered.column_keys(), open.spec.order.unique,
                          context.job.plan.ring.max_record, sum, open.spec.target.state, context.open.memory,
                          open.cancel, context.progress);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIntegrity) context.survival.GiveUpOutput(context.sorting, context.output);
    throw;
  }
}

/// Gives the output its name, and reports the results of the job. `bytes` is the size of the output before compression.
void Publish(SortContext& context, std::uint64_t bytes) {
  const JobSpec& spec = context.open.spec;
  Sorting& sorting = context.sorting;
  Output& output = context.output;
  const bool sync = !spec.target.no_fsync;
  const RecordSum sum = context.attempt->proof().sum();
  context.clock.BeginPhase("publish");
  sorting.stats.stored_bytes = output.Finish(bytes);
  if (!sync) sorting.Note("--no-fsync: the output may be lost if the machine stops now");
  if (output.file() != nullptr) {
    if (spec.target.verify) VerifyOutput(context, sum);
    context.open.cancel.ThrowIfRequested();
    context.progress.SetPhase("publish", 0);
  }
  context.survival.SetPublishing(output, sync, sum.records);
  {
    // The disk takes the part of the output that is still in the page cache.
    std::optional<Busy> syncs;
    if (sync && output.file() != nullptr)
      syncs.emplace(context.clock, Resource::kDiskWrite, 0, SliceLabel{"sync output"});
    output.Publish(sync);
  }
  if (!spec.target.placed) SetOutOfMemoryText("out of memory; the output is in place");
  context.progress.Finish();
  for (const std::string& text : output.Lost()) sorting.Note(text);
  context.survival.Finish(sorting);
  sorting.stats.records_out = sum.records;
  if (sorting.stats.records_in == 0 && IsAllHeader(spec, context.open.inputs)) sorting.Note(kAllHeader);
  sorting.stats.bytes = bytes;
  if (const auto store = context.open.inputs.kept_rows(); store != nullptr) {
    const RowStore::Kept kept = store->kept();
    sorting.stats.bytes += kept.row_bytes - kept.rows * KeptRow::kBytes;
  }
  context.FillStats();
  if (!spec.reports.stats.empty()) WriteStatsFile(spec.reports.stats, sorting.stats);
}

}  // namespace

SortResult SortJob(SortContext& context) {
  Sorting& sorting = context.sorting;
  std::optional<Attempt>& attempt = context.attempt;
  try {
    // 1. Open the inputs. The context has done that. If no plan is possible, the job ends before the output takes
    // space. With a GPU, this check has to wait until the GPU's memory is known.
    BeginRecord(context);
    LogInfo("records: " + context.open.spec.source.type_note);
    if (!sorting.facts.machine.gpu) MakePlan(sorting.facts, sorting.shares, context.ring);

    // 2. Read the input and open the backend at the same time: opening a GPU takes 0.35 s.
    attempt.emplace(sorting);
    std::future<void> opening;
    if (sorting.facts.machine.gpu) opening = RunBeside([&] { attempt->OpenBackend(); });
    const bool formed = context.survival.TakeUpRuns(sorting, context.past);
    if (!sorting.merging() && !formed) attempt->StartReading(sorting.RangesToRead(), context.ring);
    PrepareOutput(context);
    opening.valid() ? opening.get() : attempt->OpenBackend();

    std::uint64_t bytes = 0;
    for (bool merged = false, told = false; !merged;) {
      try {
        // 3. Plan.
        attempt->Prepare();
        OpenStore(context);
        MakePages(context);
        // 4. Form runs.
        attempt->FormRuns();
        if (!sorting.merging() && !std::exchange(told, true)) TellKeyValues(sorting);
        context.survival.KeepRuns(sorting);
        // 5. Merge runs.
        BeginOutput(context);
        bytes = attempt->MergeRuns(context.output);
        if (!told) TellKeyValues(sorting);
        if (!context.job.missing_values.empty()) {
          const std::vector<std::string> lines =
              DescribeMissingValues(*context.open.spec.source.table, context.job.missing_values);
          for (const std::string& line : lines) sorting.Note(line);
        }
        merged = true;
      } catch (const Error& error) {
        context.open.inputs.BlameChange(error);
        StartOver(context, error);
      }
    }

    // 6. Prove and publish. MergeRuns has compared the records of the output with those that were read.
    Publish(context, bytes);
  } catch (const Error& error) {
    WarnOfTimes(context.open.spec, error);
    context.survival.ExplainFailure(error);
    throw;
  }
  const OutputProof& proof = attempt->proof();
  auto [first, last] = proof.Ends(context.open.ordered.table);
  return {proof.sum().records,
          sorting.stats.stored_bytes,
          sorting.stats.bytes,
          sorting.stats.base_runs,
          context.store.written_bytes(),
          proof.written(),
          attempt->read(),
          std::move(first),
          std::move(last),
          sorting.trailer,
          context.open.spec.target.placed ? HeaderOfOutput(context) : context.output.header(),
          sorting.tally};
}

SortResult SortJob(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus, JobRecord* record) {
  if (spec.order.keeps_input_order) return SortKeepingOrder(spec, cancel, gpus, record);
  FileSystem files;
  if (const std::optional<KeptOutput> done = FinishPublished(spec, files)) return {done->records, done->bytes};
  return SortJob(spec, cancel, files, Output::Open(files, spec, cancel), {}, gpus, record);
}

SortResult SortJob(const JobSpec& spec, CancelFlag& cancel, FileSystem& files, Output output, StreamFronts fronts,
                   const GpuSource& gpus, JobRecord* record) {
  SortContext context(spec, cancel, files, std::move(output), std::move(fronts), gpus, record);
  return SortJob(context);
}

namespace {

Explanation Explain(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus) {
  FileSystem files;
  // Opens the output, so that its errors are found. It has no name yet and is dropped. A pipe is not opened.
  Output output;
  if (!IsStreamTarget(spec.target.output)) output = Output::Open(files, spec, cancel);
  SortContext context(spec, cancel, files, std::move(output), {}, gpus, nullptr);
  context.attempt.emplace(context.sorting);
  context.attempt->OpenBackend();
  context.attempt->MakePlan(context.ring);
  context.store.CheckDirectories(context.job.plan);
  const Estimate estimate = MeasureJob(context);
  const bool known = !estimate.conclusion.empty();
  std::string conclusion = Conclude(context.job.plan) + (known ? ", " + estimate.conclusion : "");
  if (spec.order.keeps_input_order) conclusion += "; then the kept records are sorted again, in temp space";
  const FormatRows formats = DescribeFormats(context.open.inputs);
  return {TableRow("in short", conclusion) +
              (known ? "" : TableRow("expected", "nothing can be said: " + estimate.why_not)) +
              (spec.explains_all ? estimate.rows : "") + "\n" + context.PlanText(formats.text) +
              (spec.explains_all ? "\n" + DescribeSizes(context.job.plan) : ""),
          formats.error};
}

}  // namespace

Explanation ExplainJob(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus) {
  try {
    return Explain(spec, cancel, gpus);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput || !spec.source.table) throw;
    // There is no plan, but the inputs can be described.
    FormatRows formats;
    try {
      FileSystem files;
      const OpenJob open(spec, cancel, files, false, {}, {});
      formats = DescribeFormats(open.inputs);
    } catch (const Error&) {
      formats = {};
    }
    if (!formats.error) throw;
    return {formats.text, formats.error};
  }
}

}  // namespace gpusort

#include "job/sort_context.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "formats/annotator.hpp"
#include "formats/table_format.hpp"
#include "io/codec/row_module.hpp"
#include "job/find_facts.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "plan/make_plan.hpp"

namespace gpusort {
namespace {

/// Returns true if the threads of the CPU merge the sorted inputs of the job in less time than a GPU.
bool CpuMergesFaster(const JobSpec& spec, const GpuSource& gpus) {
  return spec.order.merge && CoresFor(spec.limits).cores >= gpus.merging_threads;
}

/// Returns true if a GPU may compare records. Keys that only save time are not made then.
bool MayUseGpu(const JobSpec& spec, const GpuSource& gpus) {
  if (spec.limits.device != DeviceChoice::kAuto) return spec.limits.device == DeviceChoice::kGpu;
  return gpus.lines && !CpuMergesFaster(spec, gpus) && gpus.likely();
}

}  // namespace

SortContext::SortContext(const JobSpec& spec, CancelFlag& cancel, FileSystem& files, Output out, StreamFronts fronts,
                         const GpuSource& gpus, JobRecord* job_record)
    : open(spec, cancel, files, MayUseGpu(spec, gpus), out.overwritten(), std::move(fronts)),
      cores(CoresFor(spec.limits)),
      survival(open),
      facts(FindFacts(spec, open.ordered, open.inputs, open.memory.limit(), survival.journal())),
      layout(MakesKeys(facts.input, open.memory.limit()) ? facts.input.keyed : facts.input.plain),
      clock("start"),
      progress(spec.reports.progress, clock),
      job{spec, layout, cancel, open.memory, open.inputs, clock, progress},
      sorting{job, open.ordered, gpus, facts},
      output(std::move(out)),
      store(
          spec, files, open.memory, cancel, TempDirectories(spec.limits.temp_dirs, output.file()),
          [this](const std::string& warning) { sorting.Note(warning); }, survival.journal()),
      record(job_record) {
  past.only_gpu = spec.limits.device == DeviceChoice::kGpu;
  job.store = &store;
  job.groups = open.ordered.groups;
  if (!open.memory_choice.warning.empty()) LogWarn(open.memory_choice.warning);
  if (!open.memory_choice.bound.empty()) LogInfo("memory is bounded: " + open.memory_choice.bound);
  if (!cores.limited_by.empty()) LogInfo("threads are bounded: " + ThreadBound());
  if (spec.limits.gpu_memory && spec.limits.device == DeviceChoice::kCpu) {
    LogWarn("--gpu-memory has no effect with --device cpu");
  }
  if (spec.order.debug) {
    job.format = [&spec](RecordSpan line, std::string& text) { Annotate(line, spec.order.lines->order, text); };
  }
  if (spec.order.debug && spec.target.verify) {
    throw Error(ErrorCode::kUsage, "--verify-output has no meaning with --debug: the output is more than the lines");
  }
  facts.machine.gpu = UsesGpu();
  if (facts.machine.gpu) facts.machine.gpus = WantedGpus(gpus, spec.limits, facts.input.bytes);
  // If the header is known, a key that names no column is refused here, before any work.
  open.ordered.ReadHeader(open.inputs.header());
  facts.asked.kept_bytes = KeptRowBytes(spec, open.inputs, open.memory.limit());
  if (facts.asked.kept_bytes > 0) {
    open.inputs.KeepRows(MakeRowStore(spec.target.codec, facts.asked.kept_bytes),
                         open.ordered.format().KeptColumns().value());
  }
  ShareMemory();
  ring = MakeRing(facts, sorting.shares);
  // The memory of the header is reserved already. The stage that makes keys reserves its own.
  open.memory.Reserve(sorting.shares.beside - sorting.shares.keys.bytes() - open.memory.used());
}

SortContext::~SortContext() {
  sorting.runs.clear();  // before the backend is destroyed, because runs lie in its slots
  if (record == nullptr) return;
  std::string plan;
  try {
    FillStats();
    if (job.plan.memory > 0) plan = PlanText("");
  } catch (...) {
    // Out of memory: the record says less.
  }
  try {
    record->Leave(plan, sorting.stats);  // in any case, because the record takes samples of this object until then
  } catch (...) {
  }
}

bool SortContext::UsesGpu() const {
  const JobSpec& spec = open.spec;
  const GpuSource& gpus = sorting.gpus;
  const bool takes = layout.fixed() || (gpus.lines && !NeedsHost(*layout.lines));
  if (!takes && spec.limits.device == DeviceChoice::kGpu) {
    throw Error(ErrorCode::kUsage, std::string("--device gpu: this order (") +
                                       (spec.order.locale ? "a locale's" : "-g") +
                                       ") is known on the CPU only; give --device cpu or auto");
  }
  const bool would = spec.limits.device == DeviceChoice::kAuto && takes && facts.input.expected >= gpus.min_bytes &&
                     !CpuMergesFaster(spec, gpus);
  if (spec.limits.device == DeviceChoice::kGpu || (would && gpus.likely())) return true;
  if (would) {
    if (const std::string why = WhyGpuIsUnused(); !why.empty()) LogInfo(why);
  }
  return false;
}

/// Measures how long keys and lines are, and divides the memory. The number of threads that fit depends on the length
/// of records with keys.
void SortContext::ShareMemory() {
  facts.machine.threads = FittingThreads(cores.cores);
  facts.machine.free_ram = open.machine.available - std::min(open.machine.available, open.memory.limit());
  if (MakesKeys(facts.input, open.memory.limit())) {
    MeasureKeys(facts.input, *open.ordered.keyed, open.inputs, open.memory);
  } else if (!layout.fixed() && !facts.merges()) {
    MeasureLines(facts.input, open.inputs, open.memory);
  }
  sorting.shares = gpusort::ShareMemory(facts);
  if (facts.machine.gpu && open.spec.limits.device == DeviceChoice::kAuto && !IsEnough(facts, sorting.shares)) {
    PlanFacts cpu = facts;
    cpu.machine.gpu = false;
    cpu.machine.gpus = 1;
    if (const MemoryShares shares = gpusort::ShareMemory(cpu); IsEnough(cpu, shares)) {
      LogInfo("the memory is too small for a GPU: the CPU needs less");
      facts = std::move(cpu);
      sorting.shares = shares;
    }
  }
  const unsigned planned = sorting.shares.threads, most = facts.machine.threads;
  if (most < cores.cores) {
    LogInfo("the limit on addresses (ulimit -v, -d) leaves room for " + std::to_string(most) + " threads");
  }
  if (planned < most) {
    LogInfo("the memory is enough for " + Counted(planned, "thread"));
  }
}

std::string SortContext::ThreadBound() const { return std::to_string(cores.cores) + " by " + cores.limited_by; }

FormatRows DescribeFormats(const Inputs& inputs) {
  FormatRows rows;
  std::uint64_t refused = 0;
  ScanState state;
  for (std::uint32_t i = 0; i < inputs.count(); ++i) {
    if (i > 0) state = inputs.format().NextInput(state);
    const std::vector<std::byte> front = inputs.Front(i, RecordFormat::kFrontBytes);
    if (front.empty()) continue;
    try {
      inputs.format().BeginInput(front, i, state);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
      if (refused++ == 0) rows.error = error;
      rows.text += TableRow("no format", error.what());
      continue;
    }
    const std::string format = inputs.format().DescribeInput(front, state);
    if (format.empty()) return {};
    rows.text += TableRow("format", EscapeName(inputs.path(i)) + ": " + format);
  }
  if (refused > 1) {
    rows.error = Error(ErrorCode::kBadInput, std::string(rows.error->what()) + "; the format of " +
                                                 Counted(refused - 1, "more input") + " is not known either");
  }
  return rows;
}

// The rows about the records and files come first, and after an empty line the rows about the machine.
std::string SortContext::PlanText(const std::string& formats) const {
  const JobSpec& spec = open.spec;
  const Inputs& inputs = open.inputs;
  std::string text = TableRow("record", spec.source.type_note);
  if (!spec.source.names_note.empty()) text += TableRow("names", spec.source.names_note);
  const std::string files = Counted(inputs.count(), "file");
  if (inputs.rereadable()) {
    text += TableRow("input", fmt::format("{} in {}, read {} the page cache", FormatBytes(inputs.bytes()), files,
                                          inputs.direct() ? "past" : "through"));
  } else if (inputs.stored_bytes() > 0) {
    text +=
        TableRow("input", fmt::format("{} in {}, {}", FormatBytes(inputs.stored_bytes()), files,
                                      inputs.of_columns() ? "decoded to rows" : "compressed: expanded as a stream"));
  } else {
    text += TableRow("input", inputs.compressed() ? "a stream, compressed" : "a stream");
  }
  if (spec.order.merge && !sorting.merging()) {
    text += TableRow("merge", inputs.rereadable() ? "the inputs are sorted again, which gives the same bytes"
                                                  : "streams are sorted again, which gives the same bytes");
  } else if (sorting.merging() && layout.keyed()) {
    text += TableRow("merge", "keys are made while the inputs are read");
  }
  if (spec.source.header > 0) text += TableRow("header", fmt::format("{} lines stay on top", spec.source.header));
  if (spec.order.minus > 0) text += TableRow("minus", Counted(spec.order.minus, "input"));
  if (spec.order.intersect > 0) text += TableRow("intersect", Counted(spec.order.intersect, "input"));
  if (spec.order.keeps_input_order) {
    text += TableRow("second sort",
                     "the kept records are sorted again, into the order of the input; they need temp space, at most as "
                     "much as the input");
  }
  if (spec.order.top > 0) text += TableRow("top", fmt::format("{} records", spec.order.top));
  if (spec.target.split > 0) text += TableRow("parts", fmt::format("{}, by ranges of keys", spec.target.split));
  if (spec.target.codec != Codec::kNone) {
    text += TableRow("compression", fmt::format("{}, {}", CodecName(spec.target.codec),
                                                Counted(sorting.shares.encoder_threads, "thread")));
  }
  text += formats;
  if (const std::string keys = open.ordered.format().DescribeKeys(); !keys.empty()) text += TableRow("keys", keys);
  if (IsColumnFile(spec.target.codec)) {
    // Arrow has no row groups.
    if (FindColumnFile(spec.target.codec)->has_ranges)
      text += TableRow("row groups", "end at " + FormatBytes(facts.asked.group_bytes) + ", encoded");
    text += TableRow("rows", facts.asked.kept_bytes == 0
                                 ? "travel with their keys"
                                 : "stay in memory, at most " + FormatBytes(facts.asked.kept_bytes) +
                                       "; only their keys are sorted");
    EncoderOptions encoder{.threads = sorting.shares.encoder_threads};
    encoder.group_bytes = facts.asked.group_bytes;
    text += TableRow("codec memory",
                     fmt::format("of the memory below, the decoder takes at most {} and then the encoder {}; the "
                                 "libraries take up to 300 MB beside it",
                                 FormatBytes(DecoderBytes(inputs.codecs(), open.memory.limit(), cores.cores)),
                                 FormatBytes(EncoderMemoryBytes(spec.target.codec, encoder))));
  }
  if (spec.source.table) {
    if (const std::string zone = DescribeZone(*spec.source.table); !zone.empty()) text += TableRow("time zone", zone);
  }
  text += "\n";
  text += TableRow("sorts on", job.backend == nullptr ? "the GPU, which is lost"
                               : job.plan.gpu         ? fmt::format("{}, with {}", job.backend->limits().name,
                                                                    Counted(sorting.shares.threads, "thread"))
                                                      : job.backend->limits().name);
  if (!cores.limited_by.empty()) text += TableRow("thread bound", ThreadBound());
  if (!open.memory_choice.bound.empty()) text += TableRow("memory bound", open.memory_choice.bound);
  return text + DescribeNeeds(job.plan);
}

void SortContext::SetFirst(FirstSort first) {
  sorting.expected = first.kept;
  sorting.stats.notes = std::move(first.stats.notes);
  first_ = std::move(first.stats);
}

void SortContext::FillStats() {
  SortStats& stats = sorting.stats;
  if (job.backend != nullptr) {
    stats.backend = job.backend->limits().name;
    stats.device_peak = std::max(stats.device_peak, job.backend->device_peak());
  }
  stats.gpu = facts.machine.gpu;
  stats.top = open.spec.order.top;
  stats.header_lines = output.header().empty() || !open.ordered.format().newlines()
                           ? 0
                           : CountRecords(output.header(), open.ordered.plain);
  const Inputs& inputs = open.inputs;
  stats.input_bytes = (inputs.rereadable() ? inputs.bytes() : inputs.stream_bytes_read()) + output.header().size();
  if (inputs.kept_rows() != nullptr) {
    const RowStore::Kept kept = inputs.kept_rows()->kept();
    stats.input_bytes += kept.row_bytes - kept.reference_bytes;
  }
  stats.stored_input_bytes = inputs.compressed() ? inputs.stored_bytes_read() : 0;
  stats.host_peak = open.memory.peak();
  stats.host_limit = open.memory.limit();
  stats.temp_peak = store.peak_bytes();
  stats.temp_written = store.written_bytes();
  stats.temp_codec = CodecName(store.codec());
  const Plan& plan = job.plan;
  stats.plan = {plan.gpu ? plan.gpus : 0, plan.fan_in,        plan.slot_bytes, plan.block_bytes,
                plan.window_bytes,        plan.device_memory, plan.temp_bytes};
  stats.phases = clock.phases();
  if (first_) stats.AddFirst(*first_);
}

}  // namespace gpusort

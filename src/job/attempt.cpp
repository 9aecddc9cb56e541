#include "job/attempt.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "io/path.hpp"
#include "kernels/error.hpp"
#include "runs/key_stage.hpp"
#include "runs/keyed_input.hpp"
#include "runs/merge_runs.hpp"

namespace gpusort {
namespace {

/// Returns the parts of the job from phase 1 on, and how much each will use the cores and disks. The plan must be made.
/// `merging` is true if the inputs are merged without being sorted.
std::vector<JobPart> ExpectedParts(const Job& job, bool merging) {
  const Inputs& inputs = job.inputs;
  const JobSpec& spec = job.spec;
  const bool spills = job.plan.spills && (job.plan.runs == 0 || job.plan.runs > job.plan.resident_runs);
  const double in = static_cast<double>(inputs.stored_bytes());
  const bool expands = !inputs.rereadable();
  std::vector<JobPart> parts;
  if (!merging) {
    parts.push_back({"form runs", inputs.stored_bytes(), in, in, spills ? in : 0, expands});
  }
  // With --top and with a window of time, it is not known how little is merged.
  const bool part = spec.order.front() > 0 || HasWindow(spec);
  const double merged = part ? 0 : in + static_cast<double>(job.plan.level_bytes);
  // Merging takes less time of the cores than sorting: 0.6 to 0.8 of it if runs are in temp files, otherwise half of
  // it. With a GPU, making keys is nearly all of the work of the cores.
  const bool from_disk = spills || merging;
  const double work = job.plan.gpu && job.layout.keyed() ? 0.2 : from_disk ? 0.75 : 0.5;
  const bool to_disk = spills && !job.plan.direct_temp && !spec.target.no_fsync && !IsStreamTarget(spec.target.output);
  parts.push_back({"merge runs", 0, work * merged, from_disk ? merged : 0, merged, expands, to_disk});
  if (part || IsStreamTarget(spec.target.output)) return parts;
  if (spec.target.verify) parts.push_back({"verify output", 0, 0.25 * in, in, 0, expands});
  return parts;
}

}  // namespace

void Sorting::Note(const std::string& text) {
  LogWarn(text);
  const std::lock_guard lock(notes_mutex);
  stats.notes.push_back(text);
}

std::vector<InputRange> Sorting::RangesToRead() const {
  const std::vector<InputRange> whole = job.inputs.Ranges();
  if (!job.rereadable()) return whole;
  std::vector<InputRange> held;
  for (const Run& run : runs) held.insert(held.end(), run.origin.begin(), run.origin.end());
  std::ranges::sort(held);
  std::vector<InputRange> missing;
  auto next = held.begin();
  for (const InputRange& range : whole) {
    std::uint64_t at = 0;
    for (; next != held.end() && next->input == range.input; ++next) {
      if (next->offset > at) missing.push_back({range.input, at, next->offset - at});
      at = next->offset + next->bytes;
    }
    if (at < range.bytes) missing.push_back({range.input, at, range.bytes - at});
  }
  return missing;
}

Attempt::Attempt(Sorting& sorting, Reading reading)
    : sorting_(sorting), job_(sorting.job), facts_(sorting.facts), reading_(std::move(reading)) {}

Attempt::~Attempt() {
  TakeReading();
  std::erase_if(sorting_.runs, [](const Run& run) { return run.on_device(); });
  if (backend_) sorting_.stats.device_peak = std::max(sorting_.stats.device_peak, backend_->device_peak());
  job_.ring_memory.reset();
  job_.backend = nullptr;
}

Reading Attempt::TakeReading() {
  if (reading_.memory) reading_.memory->Unpin();
  return std::move(reading_);
}

void Attempt::OpenBackend() {
  const Nanoseconds begin = StageClock::SteadyNow();
  if (facts_.machine.gpu) {
    try {
      backend_ =
          OpenGpus(sorting_.gpus, job_.spec.limits, WantedGpus(sorting_.gpus, job_.spec.limits, facts_.input.bytes),
                   [this](const std::string& text) { sorting_.Note(text); });
    } catch (const Error& error) {
      if (job_.spec.limits.device == DeviceChoice::kGpu) throw;
      sorting_.Note(std::string("no GPU: ") + error.what() + "; sorting on the CPU");
      facts_.machine.gpu = false;
    }
  }
  if (!backend_) backend_ = OpenCpuBackend(sorting_.shares.threads);
  job_.backend = backend_.get();
  facts_.machine.gpus = backend_->limits().gpus;
  job_.progress.SetGpus(facts_.machine.gpu ? facts_.machine.gpus : 0);
  const std::uint64_t free_bytes = backend_->limits().device_bytes;
  const std::uint64_t asked =
      job_.spec.limits.gpu_memory ? job_.spec.limits.gpu_memory->Resolve(free_bytes) : free_bytes / 10 * 9;
  const std::uint64_t before = facts_.machine.device_memory != 0 ? facts_.machine.device_memory : kMaxSize;
  facts_.machine.device_memory = facts_.machine.gpu ? std::min({asked, free_bytes, before}) : 0;
  LogInfo("sorts on: " + backend_->limits().full_name());
  sorting_.stats.open_seconds += InSeconds(StageClock::SteadyNow() - begin);
}

void Attempt::StartReading(const std::vector<InputRange>& ranges, const Ring& ring) {
  reading_.ring = ring;
  reading_.memory = std::make_shared<PinnedBuffer>(job_.memory, ring.bytes());
  KeyScheme* const keyed = job_.layout.keyed() ? sorting_.ordered.keyed : nullptr;
  const NeededOrder order = job_.spec.order.merge && sorting_.ordered.table ? NeededOrder::kMerge : NeededOrder::kNone;
  std::vector<std::vector<InputRange>> parts{ranges};
  if (ring.parts > 1) parts = DivideRanges(job_.inputs, ranges, job_.layout, ring.parts, job_.memory);
  for (const std::vector<InputRange>& part : parts) {
    reading_.feeders.push_back(std::make_unique<BatchFeeder>(
        job_.cancel, job_.memory, job_.inputs, ring.Part(), part, sorting_.ordered.plain, job_.clock, keyed,
        sorting_.shares.keys, order, reading_.memory, reading_.feeders.size() * ring.Part().blocks));
  }
}

void Attempt::MakePlan(const Ring& ring) {
  facts_.costs.gpu_lanes.clear();
  if (facts_.machine.gpu) {
    for (const std::uint64_t slot : LaneSlots(facts_, sorting_.shares, ring)) {
      facts_.costs.gpu_lanes[slot] = backend_->LaneBytes(job_.layout, slot);
    }
  }
  LogDebug("planned from " + Describe(facts_));
  job_.plan = gpusort::MakePlan(facts_, sorting_.shares, ring);
}

void Attempt::Prepare() {
  // The new plan counts the memory for reading and for compressing temp files again, including that of an earlier
  // attempt.
  MemoryShares& shares = sorting_.shares;
  const auto free_memory = [this] { return job_.memory.left() + job_.store->taken_bytes(); };
  if (reading_.feeders.size() > facts_.machine.gpus) {
    // Fewer GPUs could be opened than the job wanted. A plan has no room for the runs of more places than GPUs.
    reading_ = {};
    shares.memory = free_memory();
    StartReading(sorting_.RangesToRead(), MakeRing(facts_, shares));
  }
  shares.memory = free_memory();
  if (!reading_.feeders.empty()) {
    shares.memory += reading_.ring.bytes() + reading_.ring.caches_bytes();
    shares.memory -= shares.keys.bytes() - shares.keys.pool_bytes();
  } else if (sorting_.merging()) {
    shares.memory -= std::min(shares.memory, shares.keys.bytes());
  }
  MakePlan(!reading_.feeders.empty() ? reading_.ring : MakeRing(facts_, shares));
  LogPlan(job_.plan, job_.backend->limits().name);
  MakeArena(sorting_.merging() || (reading_.feeders.empty() && !facts_.machine.gpu));
  if (reading_.memory && facts_.machine.gpu) reading_.memory->Pin(*backend_);
}

/// Allocates the memory of the lanes. In the merge (`merging`), no run is in a slot on the CPU any more, so each lane
/// gets only the memory to merge a window.
void Attempt::MakeArena(bool merging) {
  ArenaShape shape;
  shape.layout = job_.layout;
  shape.slot_bytes = merging && !facts_.machine.gpu ? job_.plan.window_bytes : job_.plan.slot_bytes;
  shape.slots = merging && !facts_.machine.gpu ? 0 : job_.plan.slots;
  shape.lanes = merging ? job_.plan.merge_lanes : job_.plan.lanes;
  shape.grows = job_.plan.ring.grows && !facts_.machine.gpu;
  backend_->MakeArena(shape, job_.memory);
}

/// Makes a run of each input (-m).
void Attempt::MakeInputRuns() {
  sorting_.stats.base_runs = job_.inputs.count();
  // A block of lines is read to the end of its last line, so the buffer needs room after the bytes of the block.
  std::uint64_t block = job_.layout.fixed() ? job_.input_payload() : job_.input_payload() / 8 * 7;
  double growth = 1;  // the size of the keyed records divided by the size of the records
  const std::uint64_t max_record = job_.plan.ring.max_record;
  if (job_.layout.keyed()) {
    constexpr double kUsualGrowth = 1.5;
    constexpr std::uint64_t kPage = 4096;
    KeyScheme& scheme = *sorting_.ordered.keyed;
    scheme.ReadHeader(job_.inputs.header());
    scheme.LimitKeys(max_record + scheme.most_added(max_record));
    const std::uint64_t plain = std::max<std::uint64_t>(1, job_.inputs.bytes());
    growth = facts_.input.known ? static_cast<double>(facts_.input.bytes) / static_cast<double>(plain) : kUsualGrowth;
    // There is no key stage here, so the threads that read inputs and make keys get the memory of its buffers.
    block = std::min(static_cast<std::uint64_t>(static_cast<double>(block) / std::max(1.0, growth)),
                     3 * sorting_.shares.keys.piece_bytes);
    block = std::max(kPage, block / kPage * kPage);
  }
  for (const InputRange& range : job_.inputs.Ranges()) {
    Run run;
    run.id = job_.next_run_id++;
    run.bytes = static_cast<std::uint64_t>(static_cast<double>(range.bytes) * growth);
    run.origin = {range};
    run.blocks = RunBlocks(range, block);
    if (job_.layout.keyed()) {
      run.keyed = std::make_shared<KeyedInput>(job_.memory, job_.inputs, *sorting_.ordered.keyed, range.input,
                                               max_record, block);
    }
    sorting_.runs.push_back(std::move(run));
  }
}

void Attempt::FormRuns() {
  std::vector<Run>& runs = sorting_.runs;
  if (sorting_.merging()) return MakeInputRuns();
  if (reading_.feeders.empty()) {
    if (runs.empty() && facts_.input.known && facts_.input.bytes > 0) {
      throw Error(ErrorCode::kInternal, "the input was not read");
    }
    if (sorting_.stats.base_runs == 0) sorting_.stats.base_runs = runs.size();
    return;
  }
  job_.clock.BeginPhase("form runs");
  job_.progress.Expect(ExpectedParts(job_, sorting_.merging()));
  job_.progress.SetPhase("form runs", job_.inputs.stored_bytes());
  if (job_.inputs.stored_bytes() > 0) {
    for (const Run& run : runs) job_.progress.Skip(run.stored);
  } else {
    // The progress of a slow stream is shown as the bytes read. An earlier attempt may have read some of them.
    job_.progress.Skip(job_.inputs.stored_bytes_read());
    job_.progress.CountBy([&inputs = job_.inputs] { return inputs.stored_bytes_read(); });
  }
  gpusort::FormRuns(job_, reading_.feeders, runs);
  if (job_.rereadable() && !sorting_.RangesToRead().empty()) {
    throw Error(ErrorCode::kIntegrity, "a part of the input is in no run");
  }
  if (const KeyStage* keys = reading_.feeders.front()->keys()) {
    RecordSum formed;
    for (const Run& run : runs) formed += run.sum;
    if (!(formed == keys->sum())) throw Error(ErrorCode::kIntegrity, "records were changed when they got keys");
    sorting_.tally = keys->tally();
    sorting_.trailer = keys->trailer();
  }
  if (job_.plan.windows_in_ring) job_.ring_memory = reading_.memory;
  reading_.feeders.clear();
  reading_.memory.reset();
  job_.inputs.VerifyUnchanged();
  sorting_.stats.base_runs = runs.size();
  if (!facts_.machine.gpu && backend_->free_slots() == job_.plan.slots) MakeArena(true);
}

std::uint64_t Attempt::MergeRuns(Output& output) {
  job_.clock.BeginPhase("merge runs");
  if (sorting_.merging()) job_.progress.Expect(ExpectedParts(job_, sorting_.merging()));
  std::vector<std::shared_ptr<KeyedInput>> inputs;
  for (const Run& run : sorting_.runs) {
    if (run.keyed) inputs.push_back(run.keyed);
  }
  SortStats& stats = sorting_.stats;
  stats.device_runs = stats.host_runs = stats.temp_runs = stats.input_runs = 0;
  for (Run& run : sorting_.runs) {
    if (sorting_.merging()) run.sum = {};
    ++(run.on_device() ? stats.device_runs
       : run.records   ? stats.host_runs
       : run.spilled() ? stats.temp_runs
                       : stats.input_runs);
  }
  proof_ = std::make_unique<OutputProof>(job_.layout, job_.spec.order.unique);
  const std::uint64_t bytes = gpusort::MergeRuns(job_, sorting_.runs, output, *proof_,
                                                 sorting_.merging() ? RunOrder::kVerified : RunOrder::kTrusted);
  if (!inputs.empty()) sorting_.tally = {};
  for (const std::shared_ptr<KeyedInput>& input : inputs) sorting_.tally.Add(input->tally());
  RecordSum total;
  for (const Run& run : sorting_.runs) {
    total += run.sum;
    stats.levels = std::max(stats.levels, run.level + 1);
  }
  if (sorting_.merging() || stats.input_runs > 0) job_.inputs.VerifyUnchanged();
  // If fewer records than --top allows were written, none was left out, and all can be proved. With --by count, all
  // records are proved before the largest groups are chosen.
  const std::uint64_t top = job_.spec.order.top;
  const bool drops = job_.spec.order.unique || job_.spec.order.set_inputs() > 0;
  const bool left_out =
      top > 0 && !job_.spec.order.by_count && total.records > top && !(drops && proof_->sum().records < top);
  if (sorting_.expected && top == 0 && !(total == *sorting_.expected)) {
    throw WrongResult("records were lost or changed between the two sorts; nothing was published");
  }
  if (left_out) {
    proof_->CheckCount(top);
  } else {
    proof_->Check(total);
  }
  read_ = total;
  stats.records_outside = sorting_.tally.window.outside;
  stats.records_in = total.records + stats.records_outside;
  if (const unsigned refused = backend_->refused_threads(); refused > 0) {
    sorting_.Note("the system refused " + std::to_string(refused) + " of " + std::to_string(sorting_.shares.threads) +
                  " threads (ulimit -u, pids.max of the control group, or memory); sorted with the rest");
  }
  job_.ring_memory.reset();
  return bytes;
}

}  // namespace gpusort

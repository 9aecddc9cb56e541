#include "job/start_over.hpp"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "job/check_sorted.hpp"
#include "job/recovery.hpp"

namespace gpusort {
namespace {

/// Checks that each input of -m is in order, before the inputs are sorted instead of merged.
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

}  // namespace

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
  const bool all_read = !stream.feeder;
  const std::size_t runs = sorting.runs.size();
  if (inputs.rereadable()) stream.feeder.reset();
  // The next attempt gets a new backend: the lanes of the old one were cancelled for good.
  context.attempt.reset();
  const bool lost = !all_read || sorting.runs.size() < runs;
  const bool wrong = recovery->way == Recovery::Way::kAnew;
  const bool anew = wrong || (context.layout.keyed() && inputs.rereadable() && lost);
  if (sorting.merging() || anew) context.store.Drop(sorting.runs);
  sorting.Note(recovery->note);
  facts = std::move(recovery->facts);
  if (recovery->way == Recovery::Way::kSmaller) ++past.smaller;
  if (wrong) {
    past.suspect.clear();
    context.output.Restart();
  }
  if (recovery->way == Recovery::Way::kSort) {
    {
      const std::lock_guard lock(context.store_mutex);
      context.store.Close();
    }
    CheckEachInput(context);
    sorting.shares.memory = context.open.memory.left();
    facts.earlier.block_bytes = 0;
  }
  context.attempt.emplace(sorting, std::move(stream));
  context.attempt->OpenBackend();
  if (sorting.merging() || (!anew && !context.job.rereadable())) return;
  const std::vector<InputRange> ranges = sorting.RangesToRead();
  if (!ranges.empty()) context.attempt->StartReading(ranges, MakeRing(facts, sorting.shares));
}

}  // namespace gpusort

// Collects the facts about a job (its options, inputs and sort keys) from which its plan is made. Start at FindFacts.
#pragma once

#include <cstdint>

#include "data/inputs.hpp"
#include "job/open_job.hpp"
#include "plan/facts.hpp"
#include "runs/journal.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Returns true if the inputs are merged without being sorted first (-m). Inputs that are streams (pipes, compressed
/// files) are always sorted.
bool MergesInputs(const JobSpec& spec, const Ordered& ordered, const Inputs& inputs);
InputFacts FindInput(const JobSpec& spec, const Ordered& ordered, const Inputs& inputs);
KeyCost KeyCostOf(const KeyScheme& keys);

/// Returns the facts about a job that may use `limit` bytes of memory. PlanFacts::machine keeps its default values: the
/// caller must set this member of the result. `journal`, the log of the finished work, lists the sorted runs that an
/// earlier process has made. It may be null.
PlanFacts FindFacts(const JobSpec& spec, const Ordered& ordered, const Inputs& inputs, std::uint64_t limit,
                    const Journal* journal = nullptr);

/// Estimates the size of sort keys from a sample of the first inputs, and sets `facts.key_cost`. If the inputs can be
/// read again, does three more things:
/// - calls keys.Tune() with the sample
/// - adds the size of the keys to `facts.bytes` and to each size in `facts.sorted`
/// - estimates `facts.records`, the number of records
void MeasureKeys(InputFacts& facts, KeyScheme& keys, const Inputs& inputs, HostMemory& memory);

/// Estimates `facts.records`, the number of lines, from samples at several places of the inputs.
void MeasureLines(InputFacts& facts, const Inputs& inputs, HostMemory& memory);

}  // namespace gpusort

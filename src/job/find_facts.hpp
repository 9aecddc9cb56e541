// Collects what the plan of a job is made from. Start at FindFacts.
#pragma once

#include <cstdint>

#include "data/inputs.hpp"
#include "job/order.hpp"
#include "plan/facts.hpp"
#include "runs/journal.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

InputFacts FindInput(const JobSpec& spec, const Ordered& ordered, const Inputs& inputs);
KeyCost KeyCostOf(const KeyScheme& keys);

/// Returns the facts of a job within `limit` bytes of memory. Leaves facts about the machine to the caller, except the
/// memory. `journal` may be null; the facts of the process before are taken from it.
PlanFacts FindFacts(const JobSpec& spec, const Ordered& ordered, const Inputs& inputs, std::uint64_t limit,
                    const Journal* journal = nullptr);

/// Sets `key_cost`, and `bytes` of inputs that can be read again, as a sample of the first inputs shows. Tunes `keys`
/// for them.
void MeasureKeys(InputFacts& facts, KeyScheme& keys, const Inputs& inputs, HostMemory& memory);

}  // namespace gpusort

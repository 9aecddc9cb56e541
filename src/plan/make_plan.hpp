// Makes the plan of a sort by three pure functions: ShareMemory divides the memory, MakeRing plans the buffers for
// reading, and MakePlan plans all other sizes. A lost GPU or refused memory changes the facts, and so the plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/error.hpp"
#include "plan/facts.hpp"
#include "plan/memory_shares.hpp"
#include "plan/plan.hpp"

namespace gpusort {

/// Returns true if the output is written without the page cache. Ignores `facts.costs`.
bool DirectOutput(const PlanFacts& facts);

/// Plans the ring of buffers into which the input is read. Ignores `facts.costs`, which are unknown before a GPU is
/// open. Throws Error(kUsage) if the memory is too small for the smallest ring; the message says how much memory is
/// enough.
Ring MakeRing(const PlanFacts& facts, const MemoryShares& shares);

/// Returns true if the memory is enough for a plan. If the size of the GPU memory is not known yet, assumes 64 GiB.
bool IsEnough(const PlanFacts& facts, const MemoryShares& shares);

/// The error that the memory of a GPU is too small for the smallest plan.
struct TooLittleGpuMemory : Error {
  explicit TooLittleGpuMemory(const std::string& why) : Error(ErrorCode::kOutOfMemory, why) {}
};

/// Returns the slot sizes that MakePlan() may choose for a GPU. A slot is the memory for one batch of records. Before
/// MakePlan(), set facts.costs.gpu_lanes for each of these sizes.
std::vector<std::uint64_t> LaneSlots(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring);

/// Makes the plan. `ring` is a result of MakeRing(), which may have been called before it was known whether there is a
/// GPU. Throws Error(kUsage) if the memory is too small for the smallest plan; the message says how much memory is
/// enough. Also throws TooLittleGpuMemory.
Plan MakePlan(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring);

/// Returns the plan as text, one decision on each line.
std::string Describe(const Plan& plan);
/// Logs the lines of Describe(plan), or a single event if the log is in JSON. `backend` is the name of the backend.
void LogPlan(const Plan& plan, const std::string& backend);

}  // namespace gpusort

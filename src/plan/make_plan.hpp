// Makes the plan of a sort by three pure functions: ShareMemory divides the memory, MakeRing plans the buffers into
// which the input is read, and MakePlan plans all other sizes. If a GPU is lost or memory is refused, the PlanFacts
// change, and a new plan is made from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/error.hpp"
#include "plan/facts.hpp"
#include "plan/memory_shares.hpp"
#include "plan/plan.hpp"

namespace gpusort {

/// Returns true if the output is written without the page cache. Does not use `facts.costs`, which are unknown before a
/// GPU is open.
bool DirectOutput(const PlanFacts& facts);

/// Plans the ring, a fixed set of buffers into which the input is read. Ignores `facts.costs`, which are unknown before
/// a GPU is open. Throws Error(kUsage) if the memory is too small for the smallest ring; the message says how much
/// memory is enough.
Ring MakeRing(const PlanFacts& facts, const MemoryShares& shares);

/// Returns true if the memory is enough for at least one plan. If a GPU sorts a stream, it is also enough for the CPU
/// to take over the ring. Assumes 64 GiB of GPU memory if the size is not known yet.
bool IsEnough(const PlanFacts& facts, const MemoryShares& shares);

/// Thrown if the memory of a GPU is too small for every plan.
struct TooLittleGpuMemory : Error {
  explicit TooLittleGpuMemory(const std::string& why) : Error(ErrorCode::kOutOfMemory, why) {}
};

/// Returns the slot sizes that MakePlan() may choose for a GPU. A slot is the memory for the records that are sorted
/// together. Before MakePlan(), the caller must set facts.costs.gpu_lanes for each of these sizes.
std::vector<std::uint64_t> LaneSlots(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring);

/// Makes the plan of a sort. `ring` must be the result of MakeRing().
/// - The members of `facts` about GPUs may have changed since MakeRing().
/// - Throws Error(kUsage) if the memory is too small. The message says how much memory is enough.
/// - Throws TooLittleGpuMemory if the GPU memory is too small.
Plan MakePlan(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring);

/// Returns one sentence about the plan, without a full stop: "the input fits in memory: one pass, no temp files".
std::string Conclude(const Plan& plan);
/// Returns the memory and the temp space that the plan needs, and the number of sorted runs, as rows of a table for
/// users.
std::string DescribeNeeds(const Plan& plan);
/// Returns every size that the plan has chosen, such as the number of buffers, as rows of a table for developers.
std::string DescribeSizes(const Plan& plan);
/// Logs Conclude() and DescribeNeeds(), and DescribeSizes() with the level debug; or a single event if the log is in
/// JSON. `backend` is the name of the GPUs or the CPU that will sort.
void LogPlan(const Plan& plan, const std::string& backend);

}  // namespace gpusort

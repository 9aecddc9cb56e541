// Makes the plan of a sort, in three steps: ShareMemory divides the memory, MakeRing plans the reading, MakePlan the
// rest. All three are pure functions. A smaller plan, after memory was refused or a GPU was lost, is a new plan from
// smaller facts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/error.hpp"
#include "plan/facts.hpp"
#include "plan/memory_shares.hpp"
#include "plan/plan.hpp"

namespace gpusort {

/// Whether the output is written without the page cache. Needs no backend.
bool DirectOutput(const PlanFacts& facts);

/// Plans the reading. Needs no costs of the backend. Throws Error(kUsage) if the memory cannot hold what the smallest
/// ring needs; the message says how much memory is enough.
Ring MakeRing(const PlanFacts& facts, const MemoryShares& shares);

/// Whether MakePlan makes a plan. Device memory that is not known yet counts as large.
bool IsEnough(const PlanFacts& facts, const MemoryShares& shares);

/// The memory of a GPU cannot hold what the smallest plan needs.
struct TooLittleGpuMemory : Error {
  explicit TooLittleGpuMemory(const std::string& why) : Error(ErrorCode::kOutOfMemory, why) {}
};

/// Returns the slot sizes that MakePlan may choose for a GPU. `facts.costs.gpu_lanes` must have the cost of each.
std::vector<std::uint64_t> LaneSlots(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring);

/// `ring` is a result of MakeRing, perhaps for another backend. Throws Error(kUsage) if the memory cannot hold what the
/// smallest plan needs (the message says how much is enough), and TooLittleGpuMemory.
Plan MakePlan(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring);

/// Returns the plan as text, one decision on each line.
std::string Describe(const Plan& plan);
/// Logs the plan: a line for each line of Describe, or one event in the JSON format.
void LogPlan(const Plan& plan, const std::string& backend);

/// Returns the size of the longest line that is taken if --max-record is not given.
std::uint64_t UsualMaxRecord(std::uint64_t memory);

}  // namespace gpusort

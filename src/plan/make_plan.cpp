#include "plan/make_plan.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "plan/planner.hpp"

namespace gpusort {
namespace {

using planning::TooLittleMemory;

/// If the index of runs takes more than kFreeIndex, blocks get larger. If that is not enough, the rest of the index is
/// taken from the memory of a plan that is made anew.
Plan PlanFor(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring, bool with_levels) {
  MemoryShares rest = shares;
  constexpr int kMostDoublings = 8, kMostTries = 16;
  for (int tries = 0; tries < kMostTries; ++tries) {
    planning::Planner planner(facts, rest, ring, std::min(tries, kMostDoublings));
    Plan plan = planner.Make();
    const std::uint64_t counted = plan.index_bytes - std::min(plan.index_bytes, kFreeIndex);
    if (counted <= shares.memory - rest.memory) {
      if (with_levels) plan = planner.WithLevels();
      plan.memory = shares.memory;
      return plan;
    }
    if (tries < kMostDoublings) continue;
    if (counted >= shares.memory / 2) break;
    rest.memory = shares.memory - counted - counted / 16;
  }
  throw TooLittleMemory{"what must be known of the runs of " + FormatBytes(facts.input.bytes)};
}

bool IsEnoughAt(const PlanFacts& facts, std::uint64_t limit) {
  PlanFacts other = facts;
  other.asked.limit = limit;
  return IsEnough(other, ShareMemory(other));
}

/// Throws the error that says how much memory is enough. Finds it by planning with more and more memory.
[[noreturn]] void Advise(const PlanFacts& facts, const TooLittleMemory& error) {
  const std::uint64_t limit = facts.asked.limit;
  std::string message = "memory of " + FormatBytes(limit) + " is too small for " + error.for_what;
  const std::uint64_t least = std::max<std::uint64_t>(limit, std::uint64_t{64} << 10);
  std::uint64_t low = least, high = least;
  const auto climb = [&](std::uint64_t steps) {
    while (high < kMaxSize && !IsEnoughAt(facts, high)) {
      low = high;
      high += high / steps;
    }
  };
  climb(1);
  // Small steps follow: where a plan of another kind or with more threads begins, a little more memory may not be
  // enough.
  low = high = std::max(least, high / 4);
  climb(8);
  if (high < kMaxSize) {
    constexpr std::uint64_t kExact = 64;
    while (high - low > high / kExact) {
      const std::uint64_t middle = low + (high - low) / 2;
      (IsEnoughAt(facts, middle) ? high : low) = middle;
    }
    const auto parsed = [](std::uint64_t bytes) { return ParseSize(SizeArgument(bytes), 1).value; };
    while (!IsEnoughAt(facts, parsed(high))) high += high / kExact;
    message += ": give at least --memory " + SizeArgument(high);
  }
  throw Error(ErrorCode::kUsage, message);
}

}  // namespace

bool DirectOutput(const PlanFacts& facts) {
  // -u and --top write in order, at offsets that are not known in advance.
  const Asked& asked = facts.asked;
  return asked.in_place && !asked.unique && asked.top == 0 && facts.input.known &&
         facts.input.bytes >= std::uint64_t{64} << 20;
}

bool IsEnough(const PlanFacts& facts, const MemoryShares& shares) {
  if (facts.machine.gpu && facts.machine.device_memory == 0) {
    PlanFacts guess = facts;
    guess.machine.device_memory = std::uint64_t{64} << 30;
    return IsEnough(guess, shares);
  }
  try {
    const Ring ring = planning::RingFor(facts, shares);
    if (!facts.asked.checks) PlanFor(facts, shares, ring, false);
    return true;
  } catch (const TooLittleMemory&) {
  } catch (const Error&) {
    // The memory of the GPU is too small, or no memory would be enough.
  }
  return false;
}

Ring MakeRing(const PlanFacts& facts, const MemoryShares& shares) {
  try {
    return planning::RingFor(facts, shares);
  } catch (const TooLittleMemory& error) {
    Advise(facts, error);
  }
}

std::vector<std::uint64_t> LaneSlots(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring) {
  return planning::Planner(facts, shares, ring, 0).LaneSlots();
}

Plan MakePlan(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring) {
  try {
    return PlanFor(facts, shares, ring, true);
  } catch (const TooLittleMemory& error) {
    Advise(facts, error);
  }
}

}  // namespace gpusort

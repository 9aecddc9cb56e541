// What follows when an attempt at a sort fails. Start at Recover.
#pragma once

#include <optional>
#include <string>

#include "error.hpp"
#include "job/make_plan.hpp"

namespace gpusort {

struct Recovery {
  enum class Way {
    kSmaller,  ///< with half of the device memory
    kCpu,
    kSort,  ///< in place of -m: once the inputs are checked that gives the same bytes
  };
  Way way;
  PlanFacts facts;   ///< of the next attempt
  std::string note;  ///< for the log and --stats
};

/// How often GPU memory may be refused before the CPU takes over.
inline constexpr unsigned kSmallerPlans = 2;

/// A pure function of the error and of the facts that the attempt was planned from. `smaller`: how many attempts were
/// made smaller before; `only_gpu`: the CPU must not take over. Nothing if no other attempt would help.
std::optional<Recovery> Recover(const Error& error, const PlanFacts& facts, unsigned smaller, bool only_gpu);

}  // namespace gpusort

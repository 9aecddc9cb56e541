// The decision about the next attempt at a sort after one that failed. Start at Recover.
#pragma once

#include <optional>
#include <string>

#include "kernels/error.hpp"
#include "plan/make_plan.hpp"

namespace gpusort {

/// The next attempt.
struct Recovery {
  enum class Way {
    kSmaller,  ///< with half of the device memory
    kFewer,    ///< without the GPU that failed
    kCpu,      ///< on the CPU
    kSort,     ///< by sorting instead of -m, which gives the same bytes for inputs that are in order
    kAnew,     ///< on the CPU, from the inputs on, without any run that was made so far
  };
  Way way;
  PlanFacts facts;   ///< of the next attempt
  std::string note;  ///< for the log and --stats
};

/// The earlier attempts, and other facts that decide.
struct Past {
  unsigned smaller = 0;   ///< number of attempts with a smaller plan
  bool only_gpu = false;  ///< the CPU must not take over
  std::string suspect;    ///< the device that may have made wrong runs; empty: only the cores of this process
  bool of_gpu = false;    ///< the suspect is a GPU
  std::string only_once;  ///< why the job cannot begin anew; empty: it can
};

/// How often GPU memory may be refused before the CPU takes over.
inline constexpr unsigned kSmallerPlans = 2;

/// Returns the next attempt, or std::nullopt if no other attempt would help. A pure function of the error, of the facts
/// that the failed attempt was planned from, and of the earlier attempts.
std::optional<Recovery> Recover(const Error& error, const PlanFacts& facts, const Past& past);

/// Returns the message about a wrong result: which device is suspect, and what to do.
std::string Blame(const Error& error, const Past& past);

}  // namespace gpusort

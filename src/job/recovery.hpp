// What follows when an attempt at a sort fails. Start at Recover.
#pragma once

#include <optional>
#include <string>

#include "kernels/error.hpp"
#include "plan/make_plan.hpp"

namespace gpusort {

struct Recovery {
  enum class Way {
    kSmaller,  ///< with half of the device memory
    kFewer,    ///< without the GPU that failed
    kCpu,
    kSort,  ///< in place of -m: once the inputs are checked that gives the same bytes
    kAnew,  ///< on the CPU, from the inputs on: no run that was made so far is relied on
  };
  Way way;
  PlanFacts facts;   ///< of the next attempt
  std::string note;  ///< for the log and --stats
};

/// What went before, and the rest of what decides.
struct Past {
  unsigned smaller = 0;   ///< attempts that were made smaller
  bool only_gpu = false;  ///< the CPU must not take over
  std::string suspect;    ///< who made runs and may have made them wrong; empty: nobody but this process's cores
  bool of_gpu = false;    ///< the suspect is a GPU
  std::string only_once;  ///< why the job cannot begin anew; empty: it can
};

/// How often GPU memory may be refused before the CPU takes over.
inline constexpr unsigned kSmallerPlans = 2;

/// A pure function of the error, of the facts that the attempt was planned from, and of what went before. Nothing if no
/// other attempt would help.
std::optional<Recovery> Recover(const Error& error, const PlanFacts& facts, const Past& past);

/// Says of a wrong result who is suspect, and what to do.
std::string Blame(const Error& error, const Past& past);

}  // namespace gpusort

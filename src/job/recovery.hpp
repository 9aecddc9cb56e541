// Decides how a sort continues after an attempt has failed. Start at Recover.
#pragma once

#include <optional>
#include <string>

#include "kernels/error.hpp"
#include "plan/make_plan.hpp"

namespace gpusort {

/// The decision about the next attempt at a sort: what it does differently, and the facts for its plan.
struct Recovery {
  enum class Way {
    kSmaller,  ///< try again with half of the device memory
    kCpu,      ///< try again on the CPU
    kSort,     ///< sort the inputs instead of merging them (-m); the output is the same
    kAnew,     ///< drop all runs, and sort the inputs again on the CPU
  };
  Way way;
  PlanFacts facts;   ///< the facts from which the next attempt is planned
  std::string note;  ///< the text about the failure for the log and --stats
};

/// The earlier attempts of a sort, and other facts on which the next attempt depends.
struct Past {
  unsigned smaller = 0;   ///< number of attempts so far that had a smaller plan because GPU memory was refused
  bool only_gpu = false;  ///< true if the options do not allow a sort on the CPU
  /// The name of the device that may have made wrong runs. Empty: only the cores of this process made runs.
  std::string suspect;
  bool of_gpu = false;    ///< true if `suspect` is a GPU
  std::string only_once;  ///< the reason why the job cannot begin again; empty: it can
};

/// The number of times that GPU memory may be refused before the CPU takes over.
inline constexpr unsigned kSmallerPlans = 2;

/// Decides what to do after `error`. Returns std::nullopt if no further attempt would help. `facts` are those from
/// which the failed attempt was planned. This is a pure function.
std::optional<Recovery> Recover(const Error& error, const PlanFacts& facts, const Past& past);

/// Returns the message about a wrong result of a sort: which device may be the cause, and what the user should do.
std::string Blame(const Error& error, const Past& past);

}  // namespace gpusort

// Decides how a sort continues after it has failed, for example because a GPU was lost. Start at Recover.
#pragma once

#include <optional>
#include <string>

#include "kernels/error.hpp"
#include "plan/make_plan.hpp"

namespace gpusort {

/// How a job continues after an attempt at a sort has failed: what the next attempt does differently, and the values
/// for its plan.
struct Recovery {
  enum class Way {
    kSmaller,  ///< try again with half of the device memory
    kCpu,      ///< try again on the CPU
    kSort,     ///< sort the inputs instead of merging them (-m); the output is the same
    kAnew,     ///< drop all sorted runs, and sort the inputs again on the CPU
  };
  Way way;
  PlanFacts facts;   ///< the values from which the next attempt is planned
  std::string note;  ///< the text about the failure, for the log and for --stats
};

/// The earlier attempts of a sort that have failed, and other values on which the next attempt depends.
struct Past {
  unsigned smaller = 0;   ///< the number of attempts so far that had a smaller plan because GPU memory was refused
  bool only_gpu = false;  ///< true: the options do not allow a sort on the CPU
  /// The device that may be the cause of a wrong result, such as the name of a GPU. Empty: only the CPU and the memory
  /// of this machine can be the cause.
  std::string suspect;
  bool of_gpu = false;    ///< true if `suspect` is a GPU
  std::string only_once;  ///< the reason why the job cannot begin again; empty: it can begin again
};

/// The number of times that the job tries again with less GPU memory after an allocation was refused. After that, the
/// CPU sorts.
inline constexpr unsigned kSmallerPlans = 2;

/// Decides what to do after a sort has failed with `error`. Returns std::nullopt if trying again would not help.
/// `facts` are the values from which the failed attempt was planned. This is a pure function.
std::optional<Recovery> Recover(const Error& error, const PlanFacts& facts, const Past& past);

/// Returns the error message for a sort that has given a wrong result. The message names the device that may be the
/// cause, and tells the user what to do.
std::string Blame(const Error& error, const Past& past);

}  // namespace gpusort

// Finds how much memory and how many cores this process may use. Start at FindMemory and FindCores.
// Memory is bounded by the machine, the control groups, RLIMIT_AS and RLIMIT_DATA, and the default also by the grant of
// a batch system. Cores are bounded by the CPU mask, the quotas of the control groups, and the batch system.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/text.hpp"

namespace gpusort {

struct MemoryFacts {
  std::uint64_t limit = 0;      ///< the most memory that this process can have
  std::uint64_t available = 0;  ///< memory that is free now without swapping
  std::string limited_by{};     ///< the origin of `limit`, such as "the control group /job"; empty for the machine
  /// The memory that a batch system granted the job on this machine. Nothing enforces it, so it bounds defaults only.
  std::uint64_t granted = UINT64_MAX;
  std::string granted_by{};  ///< the variable or limit that says so
};

struct CoreFacts {
  unsigned cores = 1;
  std::string limited_by{};  ///< the origin of a number below the machine's; empty if there is none
};

/// Reads a small file. Returns std::nullopt if it does not exist. Tests pass their own function.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;
/// Returns an environment variable, or std::nullopt if it is not set. Tests pass their own function.
using ReadVariable = std::function<std::optional<std::string>(const std::string& name)>;

/// The resource limits that matter. 0 means no limit.
struct ResourceLimits {
  std::uint64_t addresses = 0;  ///< the lesser of RLIMIT_AS and RLIMIT_DATA
  std::uint64_t resident = 0;   ///< RLIMIT_RSS, which batch systems set to the job's memory; Linux does not enforce it
};

/// Reads /proc/meminfo, /proc/self/cgroup with the limits of version 1 and 2 of the group and its parents, and the
/// variables of Slurm.
MemoryFacts FindMemory(const ReadText& read, const ReadVariable& variable, const ResourceLimits& limits);
/// Finds the memory of this process.
MemoryFacts FindMemory();

/// The memory of a job.
struct MemoryChoice {
  std::uint64_t bytes = 0;
  std::string bound{};    ///< the bound of the default, for the plan: "500.0 MiB by SLURM_MEM_PER_NODE"; may be empty
  std::string warning{};  ///< if `asked` is more than the process can have
};
/// Returns the memory of a job. Without `asked`, takes half of the memory that is free and granted. A percentage counts
/// from the smaller one of limit and grant. Lowers a size that the process cannot have, so that the kernel kills no
/// job.
MemoryChoice ChooseMemory(const std::optional<Size>& asked, const MemoryFacts& facts);

/// Returns `cores` or fewer: the quotas of the control group and its parents (version 1 and 2), and the grants of
/// Slurm, PBS, LSF and Grid Engine. With more threads than the quota, threads would wait for throttled threads.
CoreFacts FindCores(const ReadText& read, const ReadVariable& variable, unsigned cores);
/// Finds the cores of this process.
CoreFacts FindCores();

/// Saves addresses if RLIMIT_AS or RLIMIT_DATA is set: all threads share one heap, and stacks have 512 KiB. A heap for
/// each thread would take 64 MiB of addresses. Call this before any thread starts.
void SaveAddresses();

/// Returns `threads`, or the number of threads whose stacks fit an eighth of the address limit.
unsigned FittingThreads(unsigned threads);

}  // namespace gpusort

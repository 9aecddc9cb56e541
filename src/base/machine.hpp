// Finds out how much memory and how many cores this process may use. The memory is limited by the machine, the control
// groups (cgroups), RLIMIT_AS and RLIMIT_DATA. The default of --memory is also limited by the memory that a batch
// system, such as Slurm, has granted the job. The cores are limited by the CPU mask, control groups and batch systems.
// Start at FindMemory and FindCores.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/text.hpp"

namespace gpusort {

struct MemoryFacts {
  std::uint64_t limit = 0;      ///< the most memory that this process can have, in bytes
  std::uint64_t available = 0;  ///< the memory that is free now, without swapping, in bytes
  std::string limited_by{};     ///< the cause of `limit`, such as "the control group /job"; empty: the machine's RAM
  /// How many bytes of memory a batch system such as Slurm has granted the job on this machine. This limits only the
  /// default of --memory, and a --memory in percent.
  std::uint64_t granted = UINT64_MAX;
  std::string granted_by{};  ///< the name of the environment variable or resource limit from which `granted` was read
};

struct CoreFacts {
  unsigned cores = 1;
  std::string limited_by{};  ///< the cause if `cores` is less than the number of cores of the machine; otherwise empty
};

/// A function that returns the text of a small file, or std::nullopt if the file does not exist. Tests pass other
/// functions.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;
/// A function that returns an environment variable, or std::nullopt if the variable is not set. Tests pass other
/// functions.
using ReadVariable = std::function<std::optional<std::string>(const std::string& name)>;

/// Resource limits (getrlimit) of the process in bytes. 0 means no limit.
struct ResourceLimits {
  std::uint64_t addresses = 0;  ///< the smaller of RLIMIT_AS and RLIMIT_DATA
  /// The value of RLIMIT_RSS. Batch systems set it to the memory of the job, and Linux does not enforce it.
  std::uint64_t resident = 0;
};

/// Returns how much memory a process may use, from /proc/meminfo, the limits of its control group and the group's
/// parents (cgroup versions 1 and 2), Slurm's variables, and `limits`.
MemoryFacts FindMemory(const ReadText& read, const ReadVariable& variable, const ResourceLimits& limits);
/// Returns how much memory this process may use.
MemoryFacts FindMemory();

/// How much memory a job uses, and why: the result of ChooseMemory().
struct MemoryChoice {
  std::uint64_t bytes = 0;
  std::string bound{};    ///< the limit that reduced a default or a percentage: "500.0 MiB by SLURM_MEM_PER_NODE"
  std::string warning{};  ///< a warning if the user asked for more than is possible or granted; otherwise empty
};
/// Chooses how much memory a job uses. `asked` is the value of --memory. Without a value, the job uses half of the
/// memory that is free, but at most half of what a batch system has granted. A percentage is a share of the memory that
/// the process can have or that was granted, whichever is smaller. A size above what the process can have is reduced,
/// because the kernel would kill the job.
MemoryChoice ChooseMemory(const std::optional<Size>& asked, const MemoryFacts& facts);

/// Returns how many cores a process may use: `cores`, or less if a quota of the control groups (cgroup versions 1 and
/// 2), Slurm, PBS, LSF or Grid Engine allows fewer. If a job had more threads than its quota allows, the kernel would
/// often pause them.
CoreFacts FindCores(const ReadText& read, const ReadVariable& variable, unsigned cores);
/// Returns how many cores this process may use. Reads the quotas of the running system, and counts only the cores that
/// the CPU mask of this process allows.
CoreFacts FindCores();

/// Reduces the address space that threads take, if RLIMIT_AS or RLIMIT_DATA is set: all threads share one heap, and
/// stacks have 512 KiB. A heap for each thread would take 64 MiB of addresses. Call this before any thread starts.
void SaveAddresses();

/// Returns how many threads, from 1 to `threads`, may run. Their stacks must fit into an eighth of the memory
/// addresses that the process may use (ResourceLimits::addresses; `ulimit -v`).
unsigned FittingThreads(unsigned threads);

}  // namespace gpusort

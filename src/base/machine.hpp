// Finds how much memory and how many cores this process may use. Start at FindMemory and FindCores.
// The memory is bounded by the machine, the control groups, RLIMIT_AS and RLIMIT_DATA. The default of --memory is also
// bounded by the grant of a batch system. The cores are bounded by the CPU mask, control groups and batch systems.
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
  std::string limited_by{};     ///< the cause of `limit`, such as "the control group /job"; empty: the machine's RAM
  /// The memory that a batch system granted the job on this machine. Limits only defaults and percentages of --memory.
  std::uint64_t granted = UINT64_MAX;
  std::string granted_by{};  ///< the variable or the resource limit from which `granted` was read
};

struct CoreFacts {
  unsigned cores = 1;
  std::string limited_by{};  ///< the limit that makes `cores` smaller than the machine's number of cores; may be empty
};

/// A function that returns the text of a small file, or std::nullopt if the file does not exist. Tests pass fakes.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;
/// A function that returns an environment variable, or std::nullopt if the variable is not set. Tests pass fakes.
using ReadVariable = std::function<std::optional<std::string>(const std::string& name)>;

/// Resource limits (getrlimit) of the process in bytes. 0 means no limit.
struct ResourceLimits {
  std::uint64_t addresses = 0;  ///< the lesser of RLIMIT_AS and RLIMIT_DATA
  std::uint64_t resident = 0;   ///< RLIMIT_RSS, which batch systems set to the job's memory; Linux does not enforce it
};

/// Returns how much memory a process may use, from /proc/meminfo, the limits of its control group and the group's
/// parents (versions 1 and 2), Slurm's variables, and `limits`.
MemoryFacts FindMemory(const ReadText& read, const ReadVariable& variable, const ResourceLimits& limits);
/// Returns how much memory this process may use.
MemoryFacts FindMemory();

/// The result of ChooseMemory.
struct MemoryChoice {
  std::uint64_t bytes = 0;
  std::string bound{};    ///< names the limit on a default or percentage: "500.0 MiB by SLURM_MEM_PER_NODE"
  std::string warning{};  ///< the text of a warning if `asked` exceeds the limit or the grant; otherwise empty
};
/// Chooses how much memory a job uses. If `asked` has no value, the job uses half of the memory that is free and
/// granted. A percentage is a share of the limit or of the grant, whichever is smaller. A size above the limit is
/// reduced, because the kernel would kill the job.
MemoryChoice ChooseMemory(const std::optional<Size>& asked, const MemoryFacts& facts);

/// Returns how many cores a process may use: `cores`, or fewer if a quota of its control groups (versions 1 and 2) or a
/// grant of Slurm, PBS, LSF or Grid Engine is smaller. If there were more threads, the kernel would often pause them.
CoreFacts FindCores(const ReadText& read, const ReadVariable& variable, unsigned cores);
/// Returns how many cores this process may use, including the restriction by its CPU mask.
CoreFacts FindCores();

/// Makes threads take less address space if RLIMIT_AS or RLIMIT_DATA is set: all threads share one heap, and stacks
/// have 512 KiB. A heap for each thread would take 64 MiB of addresses. Call this before any thread starts.
void SaveAddresses();

/// Returns the largest number of threads, from 1 to `threads`, whose stacks fit into 1/8 of ResourceLimits::addresses.
unsigned FittingThreads(unsigned threads);

}  // namespace gpusort

// Finds out how much memory and how many cores this process may use. Considers the machine, control groups (cgroups),
// resource limits, and batch systems such as Slurm. Start at FindMemory and FindCores.
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
  /// The memory in bytes that a batch system, such as Slurm, has granted the job on this machine. ChooseMemory() uses
  /// it.
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

/// Returns how much memory a process may use. `read` reads the files of /proc and of the control groups, and `variable`
/// reads the variables of batch systems.
MemoryFacts FindMemory(const ReadText& read, const ReadVariable& variable, const ResourceLimits& limits);
/// Returns how much memory this process may use.
MemoryFacts FindMemory();

/// How much memory a job uses, and why: the result of ChooseMemory().
struct MemoryChoice {
  std::uint64_t bytes = 0;
  std::string bound{};    ///< the limit that reduced a default or a percentage: "500.0 MiB by SLURM_MEM_PER_NODE"
  std::string warning{};  ///< a warning if the user asked for more than is possible or granted; otherwise empty
};
/// Chooses how much memory a job uses. `asked` is the value of --memory.
/// - No value: half of the smallest of facts.available, facts.limit and facts.granted.
/// - A percentage: a percentage of the smaller of facts.limit and facts.granted.
/// - More memory than facts.limit allows: a smaller size, and a warning.
MemoryChoice ChooseMemory(const std::optional<Size>& asked, const MemoryFacts& facts);

/// Returns how many cores a process may use: `cores`, or fewer if a control group or a batch system allows fewer.
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

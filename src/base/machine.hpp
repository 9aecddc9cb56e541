// How much memory and how many cores this process may take. Memory: the least of the machine's, the control groups',
// RLIMIT_AS and RLIMIT_DATA; for defaults also what a batch system granted the job. Cores: those that the process may
// run on, as far as the control groups' quotas and the batch system allow.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/text.hpp"

namespace gpusort {

struct MemoryFacts {
  std::uint64_t limit = 0;      ///< what this process could ever have
  std::uint64_t available = 0;  ///< what is free now without swapping
  std::string limited_by{};     ///< the origin of `limit`: "the control group /job". Empty: the machine
  /// The memory that a batch system granted the job on this machine. Nothing enforces it, so it bounds defaults only.
  std::uint64_t granted = UINT64_MAX;
  std::string granted_by{};  ///< the variable or limit that says so
};

struct CoreFacts {
  unsigned cores = 1;
  std::string limited_by{};  ///< the origin of a number that is less than the machine's; empty: none
};

/// Reads a small file; nothing if it does not exist. The seam for tests.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;
/// Returns an environment variable; nothing if it is not set. The seam for tests.
using ReadVariable = std::function<std::optional<std::string>(const std::string& name)>;

/// The resource limits that count; 0: no limit.
struct ResourceLimits {
  std::uint64_t addresses = 0;  ///< the lesser of RLIMIT_AS and RLIMIT_DATA
  std::uint64_t resident = 0;   ///< RLIMIT_RSS, by which batch systems tell a job its memory; Linux enforces none
};

/// Reads /proc/meminfo, /proc/self/cgroup with the limits of version 1 and 2 of the group and its parents, and the
/// variables of Slurm.
MemoryFacts FindMemory(const ReadText& read, const ReadVariable& variable, const ResourceLimits& limits);
/// Finds the memory of this process.
MemoryFacts FindMemory();

/// The memory of a job.
struct MemoryChoice {
  std::uint64_t bytes = 0;
  std::string bound{};    ///< what bounds the default, for the plan: "500.0 MiB by SLURM_MEM_PER_NODE"; may be empty
  std::string warning{};  ///< if `asked` is more than the process can have
};
/// Without `asked`: half of what is free and granted. A percentage is of the least of limit and grant. What the process
/// cannot have is lowered, so that the plan holds and nothing has to be killed.
MemoryChoice ChooseMemory(const std::optional<Size>& asked, const MemoryFacts& facts);

/// Returns `cores`, or fewer. The quotas of the control group and its parents, of version 1 and 2, keep no more busy:
/// with more, threads wait for each other while they are throttled. Slurm, PBS, LSF and Grid Engine may grant fewer.
CoreFacts FindCores(const ReadText& read, const ReadVariable& variable, unsigned cores);
/// Finds the cores of this process.
CoreFacts FindCores();

/// Under RLIMIT_AS or RLIMIT_DATA: no heap of its own for each thread, which takes 64 MiB of addresses that stacks then
/// lack, and stacks of 512 KiB. Before any thread is started.
void SaveAddresses();

/// `threads`, or as many as have room for their stacks in an eighth of what these limits leave.
unsigned FittingThreads(unsigned threads);

}  // namespace gpusort

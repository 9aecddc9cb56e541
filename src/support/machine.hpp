// What this process may take: of memory the least of the machine's, its control groups', RLIMIT_AS and RLIMIT_DATA; of
// cores those that it may run on, and no more than its control groups' quota is worth.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace gpusort {

struct MemoryFacts {
  std::uint64_t limit = 0;      ///< what this process could ever have
  std::uint64_t available = 0;  ///< what is free now without swapping
};

/// Reads a small file; nothing if it does not exist. The seam for tests.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;

/// /proc/meminfo, /proc/self/cgroup with the limits of version 1 and 2 of the group and its parents, and `addresses`
/// (0: no limit).
MemoryFacts FindMemory(const ReadText& read, std::uint64_t addresses);
/// Of this process.
MemoryFacts FindMemory();

/// `cores`, or as many as the quotas of version 1 and 2 of the group and its parents keep busy: with more, threads wait
/// for each other while they are throttled.
unsigned FindCores(const ReadText& read, unsigned cores);
/// Of this process.
unsigned FindCores();

/// Under RLIMIT_AS or RLIMIT_DATA: no heap of its own for each thread, which takes 64 MiB of addresses that stacks then
/// lack, and stacks of 512 KiB. Before any thread is started.
void SaveAddresses();

/// `threads`, or as many as have room for their stacks in an eighth of what these limits leave.
unsigned FittingThreads(unsigned threads);

}  // namespace gpusort

// How much memory this process may take: the least of the machine's, its control groups' and RLIMIT_AS.
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

/// /proc/meminfo, /proc/self/cgroup with the limits of version 1 and 2 of the group and its parents, and `rlimit_as`
/// (0: none).
MemoryFacts FindMemory(const ReadText& read, std::uint64_t rlimit_as);
/// Of this process.
MemoryFacts FindMemory();

/// Under RLIMIT_AS: no heap of its own for each thread, which takes 64 MiB of addresses that stacks then lack, and
/// stacks of 512 KiB. Before any thread is started.
void SaveAddresses();

/// `threads`, or as many as have room for their stacks in an eighth of the address space that RLIMIT_AS leaves.
unsigned FittingThreads(unsigned threads);

}  // namespace gpusort

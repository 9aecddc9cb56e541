#include "io/codec/freed_memory.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace gpusort {
namespace {

/// Returns the resident memory of this process in bytes, or 0 if it is not known.
std::uint64_t ResidentBytes() {
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[64] = {};  // "size resident shared ...", in pages
  const ssize_t got = read(file, text, sizeof(text) - 1);
  close(file);
  if (got <= 0) return 0;
  char* at = text;
  std::strtoull(at, &at, 10);
  return std::strtoull(at, nullptr, 10) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

FreedMemory::FreedMemory(std::uint64_t most) : most_(most), next_(most) {
  // The allocator maps large allocations one by one, and unmaps them when they are freed. What counts as large grows up
  // to 32 MiB, and then each thread may keep about as much of what it frees. A fixed size prevents that, and causes
  // more page faults: a job with 600 MB took a tenth more CPU time. Only jobs with less memory than kLow have a fixed
  // size.
  constexpr std::uint64_t kLow = std::uint64_t{384} << 20, kLeast = std::uint64_t{128} << 10;
  if (most == 0 || most >= kLow) return;
  const int large = static_cast<int>(std::max(most / 128, kLeast));
  mallopt(M_MMAP_THRESHOLD, large);
  mallopt(M_TRIM_THRESHOLD, 2 * large);  // as the allocator would choose it
}

void FreedMemory::LookAndReturn() {
  counted_ = 0;
  if (most_ == 0 || ResidentBytes() <= next_) return;
  malloc_trim(0);
  // If the memory is in use, the next look that could help comes only after the process has grown.
  next_ = std::max(most_, ResidentBytes() + most_ / 16);
}

}  // namespace gpusort

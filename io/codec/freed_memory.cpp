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

void FreedMemory::LookAndReturn() {
  counted_ = 0;
  if (most_ == 0 || ResidentBytes() <= next_) return;
  malloc_trim(0);
  // If the memory is in use, the next look that could help comes only after the process has grown.
  next_ = std::max(most_, ResidentBytes() + most_ / 16);
}

}  // namespace gpusort

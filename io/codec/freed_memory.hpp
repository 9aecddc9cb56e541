// Gives memory that was freed back to the system. Start at FreedMemory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gpusort {

/// Keeps a process near its limit of memory although the allocator does not give freed memory back: each thread has its
/// own freed memory, which other threads do not use. Not thread-safe. Under a low limit, the process gives back every
/// large allocation as soon as it is freed.
class FreedMemory {
 public:
  /// - most: the limit on the memory of the process in bytes; 0: freed memory stays
  explicit FreedMemory(std::uint64_t most);
  /// Call this after each piece of work that has allocated about `bytes` bytes. Now and then the call looks how much
  /// memory the process has, and gives freed memory back if this is more than the limit.
  void Count(std::size_t bytes) {
    // Looking takes about 10 us. Few bytes can stand for many: the places of rows that are kept elsewhere.
    constexpr std::size_t kStep = std::size_t{1} << 20, kLeast = kStep / 16;
    counted_ += std::max(bytes, kLeast);
    if (counted_ >= kStep) LookAndReturn();
  }

 private:
  void LookAndReturn();

  const std::uint64_t most_;
  std::uint64_t next_;  ///< from this size of the process on, freed memory is given back
  std::size_t counted_ = 0;
};

}  // namespace gpusort

// An array of items in pages of memory (mmap) that grows without copying its bytes. Start at PageBuffer.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

namespace gpusort {

/// An array of items that grows without copying: the operating system moves the pages of the array to other addresses.
/// Pages that were never written take no memory, so the capacity may be larger than needed.
template <typename T>
class PageBuffer {
 public:
  PageBuffer() = default;
  PageBuffer(const PageBuffer&) = delete;
  PageBuffer& operator=(const PageBuffer&) = delete;
  ~PageBuffer() { Release(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::uint64_t i) { return data_[i]; }
  const T& operator[](std::uint64_t i) const { return data_[i]; }
  std::uint64_t capacity() const { return capacity_; }

  /// Makes room for at least `count` items, and keeps the old items. Returns false if the system refuses the memory.
  bool Reserve(std::uint64_t count) {
    if (count <= capacity_) return true;
    constexpr std::uint64_t kPage = 4096;
    for (const std::uint64_t wanted : {std::max(count, capacity_ * 2), count}) {
      const std::uint64_t bytes = (wanted * sizeof(T) + kPage - 1) / kPage * kPage;
      void* const grown = data_ == nullptr
                              ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                              : ::mremap(data_, bytes_, bytes, MREMAP_MAYMOVE);
      if (grown == MAP_FAILED) continue;
      // Huge pages of 2 MiB save page faults, each of which takes time.
      if (bytes >= (std::uint64_t{4} << 20)) ::madvise(grown, bytes, MADV_HUGEPAGE);
      data_ = static_cast<T*>(grown);
      bytes_ = bytes;
      capacity_ = bytes / sizeof(T);
      return true;
    }
    return false;
  }
  void Release() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
    data_ = nullptr;
    bytes_ = capacity_ = 0;
  }

 private:
  T* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t capacity_ = 0;
};

}  // namespace gpusort

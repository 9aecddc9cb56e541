#include "kernels/backend.hpp"

#include <sys/mman.h>

#include <utility>

#include "kernels/error.hpp"

namespace gpusort {

void HostMemory::Reserve(std::uint64_t bytes) {
  std::uint64_t used = used_.load();
  do {
    if (!elastic_ && bytes > limit_ - used) {
      throw Error(ErrorCode::kOutOfMemory, "host memory: need " + std::to_string(bytes) + " bytes more, " +
                                               std::to_string(limit_ - used) + " of the limit of " +
                                               std::to_string(limit_) + " are left");
    }
  } while (!used_.compare_exchange_weak(used, used + bytes));
  const std::uint64_t now = used + bytes;
  std::uint64_t peak = peak_.load();
  while (peak < now && !peak_.compare_exchange_weak(peak, now)) {
  }
}

void HostMemory::Release(std::uint64_t bytes) noexcept { used_ -= bytes; }

HostBuffer::HostBuffer(HostMemory& memory, std::uint64_t bytes) : memory_(&memory), bytes_(bytes) {
  memory.Reserve(bytes);
  if (bytes == 0) return;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    memory.Release(bytes);
    throw Error(ErrorCode::kOutOfMemory, "host memory: mmap of " + std::to_string(bytes) + " bytes failed");
  }
  // Huge pages save page faults if the kernel has any. Otherwise the advice has no effect.
  constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
  if (bytes >= 4 * kHugePage) madvise(data, bytes, MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(data);
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

HostBuffer::~HostBuffer() {
  if (data_ != nullptr) munmap(data_, bytes_);
  if (memory_ != nullptr) memory_->Release(bytes_);
}

}  // namespace gpusort

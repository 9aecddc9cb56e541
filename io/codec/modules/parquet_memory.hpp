// The memory of the libraries for Parquet, which is used again and again. Start at RecyclingPool.
#pragma once

#include <arrow/memory_pool.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace gpusort {

/// Keeps freed buffers for later ones of about the same size. The libraries allocate buffers for each page, and the
/// system would have to clear the memory of each large buffer. Thread-safe.
class RecyclingPool : public arrow::MemoryPool {
 public:
  /// - most: no buffers are kept if the buffers in use and the kept ones would take more bytes than this
  explicit RecyclingPool(std::uint64_t most) : most_(most) {}
  ~RecyclingPool() override { ReleaseUnused(); }

  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;
  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override;
  arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                           std::uint8_t** buffer) override;
  void Free(std::uint8_t* buffer, std::int64_t size, std::int64_t alignment) override;
  /// Frees the buffers that are kept.
  void ReleaseUnused() override;
  std::int64_t bytes_allocated() const override { return static_cast<std::int64_t>(used_.load()); }
  std::int64_t total_bytes_allocated() const override { return static_cast<std::int64_t>(total_.load()); }
  std::int64_t num_allocations() const override { return static_cast<std::int64_t>(count_.load()); }
  std::string backend_name() const override { return "recycling"; }

  /// Returns the memory of the buffers that are kept.
  std::uint64_t kept_bytes() const { return kept_.load(); }

 private:
  static constexpr std::size_t kSizes = 60;
  /// The size of a buffer. It is not kept if `index` is kSizes.
  struct Room {
    std::uint64_t bytes;
    std::size_t index;
  };
  /// The buffers of one size that are kept.
  struct Kept {
    std::mutex mutex;
    std::vector<std::uint8_t*> buffers;
  };

  static Room RoomFor(std::int64_t size);
  /// Returns the size of a buffer, which stands before it.
  static Room& RoomOf(std::uint8_t* buffer);
  static void FreeToSystem(std::uint8_t* buffer);
  /// Returns a buffer that was kept, or null.
  std::uint8_t* Take(const Room& room);

  const std::uint64_t most_;
  std::atomic<std::uint64_t> used_{0}, kept_{0}, total_{0}, count_{0};
  std::array<Kept, kSizes> kept_buffers_;
};

}  // namespace gpusort

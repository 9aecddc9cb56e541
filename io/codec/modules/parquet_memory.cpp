#include "io/codec/modules/parquet_memory.hpp"

#include <arrow/status.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>

namespace gpusort {
namespace {

// Each power of two has kSteps sizes. Smaller buffers are left to the system.
constexpr unsigned kSteps = 4, kLeastBits = 12;
constexpr std::int64_t kAlignment = arrow::kDefaultBufferAlignment;
/// The bytes before a buffer, which hold its size.
constexpr std::uint64_t kHead = kAlignment;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kKeeps = false;  // the tool shall see each use of a freed buffer
#else
constexpr bool kKeeps = true;
#endif

arrow::MemoryPool& System() { return *arrow::system_memory_pool(); }

/// All buffers of no bytes have this address.
alignas(kAlignment) std::uint8_t no_bytes[1];

}  // namespace

RecyclingPool::Room RecyclingPool::RoomFor(std::int64_t size) {
  const auto bytes = static_cast<std::uint64_t>(size);
  if (!kKeeps || bytes <= std::uint64_t{1} << kLeastBits) return {bytes, kSizes};
  const auto bits = static_cast<unsigned>(std::bit_width(bytes - 1)) - 1;  // `bytes` is in (2^bits, 2^(bits+1)]
  const std::uint64_t begin = std::uint64_t{1} << bits, step = begin / kSteps;
  const std::uint64_t steps = (bytes - begin + step - 1) / step;
  const std::size_t index = (bits - kLeastBits) * kSteps + static_cast<std::size_t>(steps - 1);
  if (index >= kSizes) return {bytes, kSizes};
  return {begin + steps * step, index};
}

RecyclingPool::Room& RecyclingPool::RoomOf(std::uint8_t* buffer) {
  return *std::launder(reinterpret_cast<Room*>(buffer - kHead));
}

void RecyclingPool::FreeToSystem(std::uint8_t* buffer) {
  const auto bytes = static_cast<std::int64_t>(RoomOf(buffer).bytes + kHead);
  System().Free(buffer - kHead, bytes, kAlignment);
}

std::uint8_t* RecyclingPool::Take(const Room& room) {
  if (room.index == kSizes) return nullptr;
  Kept& kept = kept_buffers_[room.index];
  const std::lock_guard lock(kept.mutex);
  if (kept.buffers.empty()) return nullptr;
  std::uint8_t* const buffer = kept.buffers.back();
  kept.buffers.pop_back();
  kept_ -= room.bytes;
  return buffer;
}

arrow::Status RecyclingPool::Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) {
  if (size < 0) return arrow::Status::Invalid("a buffer of a negative size");
  if (size > std::numeric_limits<std::int64_t>::max() / 2) return arrow::Status::OutOfMemory("a buffer is too large");
  if (alignment > kAlignment) return arrow::Status::NotImplemented("a buffer with a larger alignment");
  *out = no_bytes;
  if (size == 0) return arrow::Status::OK();
  const Room room = RoomFor(size);
  std::uint8_t* buffer = Take(room);
  if (buffer == nullptr) {
    if (kept_ > 0 && used_ + kept_ + room.bytes > most_) ReleaseUnused();
    ARROW_RETURN_NOT_OK(System().Allocate(static_cast<std::int64_t>(room.bytes + kHead), kAlignment, &buffer));
    ::new (buffer) Room(room);
    buffer += kHead;
  }
  *out = buffer;
  used_ += room.bytes;
  total_ += room.bytes;
  ++count_;
  return arrow::Status::OK();
}

arrow::Status RecyclingPool::Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                                        std::uint8_t** buffer) {
  // The libraries shrink each buffer to the size that they need. A copy would save little memory.
  const std::uint64_t room = *buffer == no_bytes ? 0 : RoomOf(*buffer).bytes;
  const auto wanted = static_cast<std::uint64_t>(new_size);
  if (kKeeps && new_size > 0 && wanted <= room && wanted >= room / 2) return arrow::Status::OK();
  std::uint8_t* moved = nullptr;
  ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
  if (const std::int64_t bytes = std::min(old_size, new_size); bytes > 0) {
    std::memcpy(moved, *buffer, static_cast<std::size_t>(bytes));
  }
  Free(*buffer, old_size, alignment);
  *buffer = moved;
  return arrow::Status::OK();
}

void RecyclingPool::Free(std::uint8_t* buffer, std::int64_t, std::int64_t) {
  if (buffer == no_bytes) return;
  const Room room = RoomOf(buffer);
  used_ -= room.bytes;
  if (room.index < kSizes && used_ + kept_ + room.bytes <= most_) {
    Kept& kept = kept_buffers_[room.index];
    const std::lock_guard lock(kept.mutex);
    try {
      kept.buffers.push_back(buffer);
      kept_ += room.bytes;
      return;
    } catch (const std::bad_alloc&) {  // the vector cannot grow, so the buffer is freed
    }
  }
  FreeToSystem(buffer);
}

void RecyclingPool::ReleaseUnused() {
  for (Kept& kept : kept_buffers_) {
    const std::lock_guard lock(kept.mutex);
    for (std::uint8_t* const buffer : kept.buffers) {
      kept_ -= RoomOf(buffer).bytes;
      FreeToSystem(buffer);
    }
    kept.buffers.clear();
  }
}

}  // namespace gpusort

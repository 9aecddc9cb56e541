#include "io/codec/modules/kept_rows.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20, kSlabBytes = 16 * kHugePage;

}  // namespace

KeptRows::KeptRows(std::uint64_t most_bytes) : most_bytes_(most_bytes) {
  const std::uint64_t most_slabs = std::uint64_t{1} << (KeptRow::kPlaceBits - kOffsetBits);
  slabs_.reserve(std::min(most_slabs, 2 * (most_bytes / kSlabBytes) + 1));
}

KeptRows::Room KeptRows::Take(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (slabs_.empty() || bytes > slabs_.back().size - used_) {
    const std::uint64_t size = std::max(kSlabBytes, (bytes + kHugePage - 1) / kHugePage * kHugePage);
    if (size >> kOffsetBits > 0 || bytes_ + size > most_bytes_ || slabs_.size() == slabs_.capacity()) return {};
    Slab slab{std::unique_ptr<unsigned char, Free>(static_cast<unsigned char*>(std::aligned_alloc(kHugePage, size))),
              size};
    if (!slab.bytes) throw std::bad_alloc();
    madvise(slab.bytes.get(), size, MADV_HUGEPAGE);  // only saves time
    bytes_ += size;
    used_ = 0;
    slabs_.push_back(std::move(slab));
    count_.store(slabs_.size(), std::memory_order_release);
  }
  const std::uint64_t place = std::uint64_t{slabs_.size() - 1} << kOffsetBits | used_;
  return {slabs_.back().bytes.get() + std::exchange(used_, used_ + bytes), place};
}

void KeptRows::Count(const Kept& rows) {
  const std::lock_guard lock(mutex_);
  kept_.rows += rows.rows;
  kept_.row_bytes += rows.row_bytes;
  kept_.reference_bytes += rows.reference_bytes;
}

RowStore::Kept KeptRows::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

std::span<const std::byte> KeptRows::Row(const KeptRow& row) const {
  const std::uint64_t slab = row.place >> kOffsetBits, offset = row.place & ((std::uint64_t{1} << kOffsetBits) - 1);
  if (slab >= count_.load(std::memory_order_acquire) || offset + row.bytes > slabs_[slab].size) {
    throw Error(ErrorCode::kIntegrity, "a record of the output refers to no row");
  }
  return {reinterpret_cast<const std::byte*>(slabs_[slab].bytes.get()) + offset, row.bytes};
}

std::shared_ptr<RowStore> MakeKeptRows(std::uint64_t most_bytes) { return std::make_shared<KeptRows>(most_bytes); }

}  // namespace gpusort

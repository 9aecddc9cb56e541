// The rows that a job keeps in memory while only their keys are sorted. Start at KeptRows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "io/codec/row_module.hpp"
#include "io/codec/row_schema.hpp"

namespace gpusort {

class KeptRows : public RowStore {
 public:
  explicit KeptRows(std::uint64_t most_bytes);

  struct Room {
    unsigned char* data = nullptr;  ///< null: the store is full
    std::uint64_t place = 0;        ///< KeptRow::place of the first byte; the next byte has the next place
  };
  /// Returns memory for rows of `bytes` bytes together.
  Room Take(std::uint64_t bytes);
  /// Counts rows for which Take() has returned memory.
  void Count(const Kept& rows);
  Kept kept() const override;
  /// Returns a row, which must be written already. Throws Error(kIntegrity) if the store has no such row.
  std::span<const std::byte> Row(const KeptRow& row) const;

 private:
  struct Free {
    void operator()(unsigned char* bytes) const { std::free(bytes); }
  };
  struct Slab {
    std::unique_ptr<unsigned char, Free> bytes;
    std::uint64_t size = 0;
  };
  /// A place is the number of a slab and an offset of so many bits.
  static constexpr unsigned kOffsetBits = 33;

  const std::uint64_t most_bytes_;
  mutable std::mutex mutex_;
  Kept kept_;
  std::uint64_t bytes_ = 0;  ///< the size of all slabs
  std::uint64_t used_ = 0;   ///< how many bytes of the last slab are taken
  std::vector<Slab> slabs_;  ///< never grows beyond its capacity, so that Row() needs no lock
  std::atomic<std::size_t> count_{0};
};

/// Does what RowModule::make_store does.
std::shared_ptr<RowStore> MakeKeptRows(std::uint64_t most_bytes);

}  // namespace gpusort

// Computes the checksum (RecordSum) of records of at most 16 bytes. Start at SumShortRecords.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/proof.hpp"

namespace gpusort {

/// The largest record that SumShortRecords() can hash, in bytes.
inline constexpr std::uint64_t kMostShortRecord = 16;

/// A function that returns the checksum of records of equal size. `records` is the number of records (at most 2^31),
/// and `stride` is the size of a record in bytes (1 to kMostShortRecord).
using SumShort = RecordSum (*)(const std::byte* bytes, std::uint64_t records, std::uint64_t stride);

/// Returns all implementations of the checksum that this machine can run, the fastest one first. All implementations
/// return the same checksums.
std::vector<SumShort> SumShortWays();

/// Returns the checksum of short records, computed by the fastest implementation. The parameters are those of SumShort.
RecordSum SumShortRecords(const std::byte* bytes, std::uint64_t records, std::uint64_t stride);

}  // namespace gpusort

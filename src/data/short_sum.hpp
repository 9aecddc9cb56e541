// The sum of short records for the proof: three rounds of AES over each, padded with zeros to 16 bytes. All bytes of a
// record reach all bits of its hash in two rounds; a core with instructions for AES does three in a cycle or two a
// record, where two 64-bit multipliers took five times that and were what 16 cores waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/proof.hpp"

namespace gpusort {

inline constexpr std::uint64_t kMostShortRecord = 16;  ///< bytes

/// Of `records` (at most 2^31) records of `stride` bytes (1 to kMostShortRecord) each.
using SumShort = RecordSum (*)(const std::byte* bytes, std::uint64_t records, std::uint64_t stride);

/// All that this machine can run, quickest first: they give the same sums. The last one is portable.
std::vector<SumShort> SumShortWays();

/// By the quickest.
RecordSum SumShortRecords(const std::byte* bytes, std::uint64_t records, std::uint64_t stride);

}  // namespace gpusort

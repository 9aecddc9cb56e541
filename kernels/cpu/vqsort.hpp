// Highway's vqsort, ascending, for the instructions that this machine has.
#pragma once

#include <cstdint>

#include "records/key.hpp"

namespace gpusort::detail {

void VqSort(std::uint32_t* p, std::uint64_t n);
void VqSort(std::uint64_t* p, std::uint64_t n);
/// By key and ordinal: as little-endian integers of 128 bits.
void VqSort(Entry* p, std::uint64_t n);

}  // namespace gpusort::detail

// Highway's vqsort: ascending sorts with the widest vector instructions that this machine has.
#pragma once

#include <cstdint>

#include "kernels/records/key.hpp"

namespace gpusort::detail {

void VqSort(std::uint32_t* p, std::uint64_t n);
void VqSort(std::uint64_t* p, std::uint64_t n);
/// Sorts entries by key bytes and row, as little-endian 128-bit integers.
void VqSort(Entry* p, std::uint64_t n);

}  // namespace gpusort::detail

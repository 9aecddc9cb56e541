// The function vqsort of the library Highway. It sorts in ascending order with the widest vector instructions of this
// machine.
#pragma once

#include <cstdint>

#include "kernels/records/key.hpp"

namespace gpusort::detail {

void VqSort(std::uint32_t* p, std::uint64_t n);
void VqSort(std::uint64_t* p, std::uint64_t n);
/// Sorts entries (key bytes and a record index) by their key bytes, then by their index. Each entry is sorted as a
/// 128-bit little-endian integer.
void VqSort(Entry* p, std::uint64_t n);

}  // namespace gpusort::detail

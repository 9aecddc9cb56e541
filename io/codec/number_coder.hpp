// Compresses blocks of sorted numbers: stores the differences of neighbouring numbers, with no more bits than the
// largest difference of a group needs. Start at MakeNumberCoder.
#pragma once

#include <memory>

#include "io/codec/codec_module.hpp"

namespace gpusort::detail {

/// Makes the coder for Codec::kNumbers. Compress accepts any bytes, and detects whether they are numbers of 4 or 8
/// bytes, little-endian or big-endian. Compress returns 0 if the result would not be clearly shorter than the numbers.
/// The coder allocates no memory.
std::unique_ptr<BlockCoder> MakeNumberCoder();

}  // namespace gpusort::detail

// Compresses blocks of sorted numbers: stores the differences of neighbours, each in as few bits as its group needs. A
// block of random u64 out of a run of 32 million takes 0.65 of its size, a block of dense identifiers a few percent.
// General codecs save nothing there.
#pragma once

#include <memory>

#include "io/codec/codec_module.hpp"

namespace gpusort::detail {

/// Makes the coder for Codec::kNumbers. It takes any bytes. Compress finds out by itself whether they are numbers of 4
/// or 8 bytes, little-endian or big-endian, and returns 0 if differences would not be shorter. It allocates no memory.
std::unique_ptr<BlockCoder> MakeNumberCoder();

}  // namespace gpusort::detail

// Loads the modules of the codecs.
#pragma once

#include "io/codec/codec.hpp"
#include "io/codec/codec_module.hpp"

namespace gpusort::detail {

/// Returns the module of a codec and loads the module at the first call. Throws Error(kIo) with the reason if the
/// module or its library cannot be loaded, and Error(kInternal) for kNone and kProgram. Thread-safe.
const CodecModule& LoadCodec(Codec codec);

}  // namespace gpusort::detail

// Loads the modules of codecs.
#pragma once

#include "io/codec/codec.hpp"
#include "io/codec/codec_module.hpp"

namespace gpusort::detail {

/// Returns the module of a built-in codec, loaded when it is first asked for. Error(kIo) with the reason if the module
/// or a library that it needs cannot be loaded. Error(kInternal) for kNone and kProgram. Any thread may call this.
const CodecModule& LoadCodec(Codec codec);

}  // namespace gpusort::detail

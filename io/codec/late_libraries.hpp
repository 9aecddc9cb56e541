// The codecs' libraries, loaded when one is first used: five libraries that most jobs do not need are a sixth of the
// time that the program takes to start. Their functions keep their names, of which late_libraries.cpp has the list.
#pragma once

#include "io/codec/codec.hpp"

namespace gpusort::detail {

/// Before the first call of a codec's functions: Error(kIo) if its library cannot be loaded.
#if GPUSORT_LATE_CODECS
void NeedLibrary(Codec codec);
#else
inline void NeedLibrary(Codec) {}
#endif

}  // namespace gpusort::detail

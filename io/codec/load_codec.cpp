#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <string>

#include "io/codec/codec.hpp"
#include "io/codec/codec_module.hpp"
#include "kernels/module.hpp"
#include "version.hpp"

#pragma weak gpusort_codec_gz
#pragma weak gpusort_codec_bgzf
#pragma weak gpusort_codec_bz2
#pragma weak gpusort_codec_xz
#pragma weak gpusort_codec_zst
#pragma weak gpusort_codec_lz4

namespace gpusort::detail {
namespace {

using Entry = const CodecModule* (*)();

/// Returns the function of a codec that is linked into this program, or null.
Entry Linked(Codec codec) {
  switch (codec) {
    case Codec::kGz:
      return gpusort_codec_gz;
    case Codec::kBgzf:
      return gpusort_codec_bgzf;
    case Codec::kBz2:
      return gpusort_codec_bz2;
    case Codec::kXz:
      return gpusort_codec_xz;
    case Codec::kZst:
      return gpusort_codec_zst;
    case Codec::kLz4:
      return gpusort_codec_lz4;
    case Codec::kNone:
    case Codec::kProgram:
    case Codec::kNumbers:
    case Codec::kParquet:
    case Codec::kArrow:
    case Codec::kArrowStream:
      break;
  }
  throw Error(ErrorCode::kInternal, "unknown codec");
}

const CodecModule& Load(Codec codec) {
  if (const Entry linked = Linked(codec); linked != nullptr) return *linked();
  const std::string name(CodecName(codec));
  const std::string library(codec == Codec::kBgzf ? CodecName(Codec::kGz) : name);
  const Module module({.name = "module of codec " + library,
                       .file = "gpusort_" + library + ".so",
                       .entry = "gpusort_codec_" + name,
                       .version = GPUSORT_CODEC_VERSION,
                       .error = ErrorCode::kIo,
                       .advice = "install gpusort and its libraries again"});
  try {
    return *static_cast<const CodecModule*>(module.Load());
  } catch (const Error& error) {
    // Finds out from the error text of dlopen or of the system if memory was refused. If memory is short, dlopen may
    // cut its text. The beginnings of its messages therefore count, too. Names of folders must not count.
    std::string why = error.what();
    why.erase(0, std::min(why.find(" cannot be "), why.size()));
    if (const std::size_t slash = why.rfind('/'); slash != std::string::npos) why.erase(0, slash);
    for (const char* const refused : {"memory", "cannot allocate", "cannot create", "cannot map"}) {
      if (why.find(refused) != std::string::npos) throw std::bad_alloc();
    }
    throw;
  }
}

}  // namespace

const CodecModule& LoadCodec(Codec codec) {
  static std::array<std::atomic<const CodecModule*>, static_cast<std::size_t>(Codec::kBgzf) + 1> loaded;
  if (codec == Codec::kNone || codec == Codec::kProgram || codec == Codec::kNumbers) Linked(codec);
  std::atomic<const CodecModule*>& module = loaded[static_cast<std::size_t>(codec)];
  // Loading twice gives the same module, so a race between two threads is harmless.
  if (module == nullptr) module = &Load(codec);
  return *module.load();
}

}  // namespace gpusort::detail

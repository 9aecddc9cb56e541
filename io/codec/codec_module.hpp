// The interface between the program and the shared library of one codec (a module: gpusort_gz.so and others). The
// program loads a module when it first needs the codec. Start at CodecModule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/error.hpp"

namespace gpusort {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
/// The largest number of bytes that one call passes to a compression library. The libraries count bytes in 32 bits.
inline constexpr std::uint64_t kMaxStepBytes = 1 << 30;

/// Thrown by the code of a codec if it cannot expand the data. Decoder catches it, and throws an Error with path,
/// offset and the string `why`.
struct Refusal {
  std::string why;
  /// If the data needs more memory than the limit allows: the memory needed, in bytes. Otherwise 0. The message of
  /// Decoder contains this number.
  std::uint64_t needed = 0;
};

/// Expands the members of a compressed file one after the other. A member is a part that can be expanded by itself. Not
/// thread-safe.
class MemberDecoder {
 public:
  virtual ~MemberDecoder() = default;
  /// Starts a member (a part of a compressed file that can be expanded by itself). `head` has the first
  /// CodecModule::head_bytes bytes of the member. The input of the next Decode must begin with these bytes again.
  /// Throws Refusal if the data is damaged or needs too much memory.
  virtual void Begin(std::span<const std::byte> head) = 0;
  /// Expands `in` into `out`, and moves both spans past the used bytes, even if it throws. Returns true once the part
  /// of the file that Begin started is complete and its checksums are right. Throws Refusal if the data is damaged.
  virtual bool Decode(std::span<const std::byte>& in, std::span<std::byte>& out) = 0;
};

/// Compresses members of a compressed file (parts that can be expanded by themselves), one with each call of Encode.
/// Not thread-safe.
class MemberEncoder {
 public:
  virtual ~MemberEncoder() = default;
  /// Compresses `in` to one member, which replaces the content of `out`.
  virtual void Encode(std::span<const std::byte> in, std::vector<char>& out) = 0;
};

/// Compresses and expands blocks of memory, without file headers. Not thread-safe.
class BlockCoder {
 public:
  virtual ~BlockCoder() = default;
  /// Compresses `in` to the beginning of `out`. Returns the number of bytes written, or 0 if the compressed bytes do
  /// not fit.
  virtual std::uint64_t Compress(std::span<const std::byte> in, std::span<std::byte> out) = 0;
  /// Expands `in` to the beginning of `out`. Returns the number of bytes written. Throws Refusal if the data is
  /// damaged.
  virtual std::uint64_t Decompress(std::span<const std::byte> in, std::span<std::byte> out) = 0;
};

/// The first bytes of compressed data, such as 1f 8b for gz.
struct Magic {
  std::string_view bytes;
  unsigned char first_mask = 0xff;  ///< the bits of the first byte that must match
};

/// The zero bytes that a file may have after a member (a part that can be expanded by itself).
enum class Padding {
  kNone,
  kAtEnd,  ///< any number of zeros after the last member, as on tapes and block devices
  kFours,  ///< a multiple of 4 zeros after each member
};

/// The largest size of a member whose head tells its size, and the largest size that it expands to.
inline constexpr std::uint64_t kMostSizedBytes = 64 * kKiB;

/// The memory that is needed to expand a file, in bytes.
struct DecoderMemory {
  std::uint64_t window = 0;  ///< the size of the file's window or dictionary; make_decoder takes it as argument
  std::uint64_t total = 0;
};

/// The functions and constants of the shared library of a codec. The program and the library must be compiled from the
/// same headers. The program compares `version` before it reads anything else, so `version` must stay the first member.
struct CodecModule {
  const char* version;  ///< GPUSORT_CODEC_VERSION: the release and a checksum of the shared headers
  std::span<const Magic> magics;
  std::size_t head_bytes;  ///< how many bytes MemberDecoder::Begin gets; at least the size of the longest magic
  Padding padding;
  std::uint64_t member_bytes;                            ///< the default size of the input of one member
  DecoderMemory (*decoder_memory)(std::uint64_t limit);  ///< returns an upper bound; only zst and xz obey `limit`
  std::uint64_t (*encoder_memory)();                     ///< returns an upper bound in bytes
  std::unique_ptr<MemberDecoder> (*make_decoder)(std::uint64_t window);
  std::unique_ptr<MemberEncoder> (*make_encoder)();
  std::unique_ptr<BlockCoder> (*make_block_coder)() = nullptr;  ///< null: a block is compressed as a member
  /// Returns the size in bytes of the member that begins with `head`, if the head tells (only BGZF does), and
  /// otherwise 0. Such a member has at most kMostSizedBytes bytes, and expands to at most as many. Null: no head tells.
  std::uint64_t (*member_size)(std::span<const std::byte> head) = nullptr;
  /// The bytes at the end of each file, such as the end marker of BGZF. Empty for a codec without an end marker.
  std::string_view end{};
};

/// Returns a new object of the class `Made`, which must be derived from `Interface`.
template <class Interface, class Made, class... Arguments>
std::unique_ptr<Interface> Make(Arguments... arguments) {
  return std::make_unique<Made>(arguments...);
}
/// A function for CodecModule::decoder_memory, for a codec that always needs kBytes bytes to expand a file. Ignores the
/// memory limit.
template <std::uint64_t kBytes>
DecoderMemory AlwaysTakes(std::uint64_t) {
  return {kBytes, kBytes};
}

[[noreturn]] inline void ThrowOutOfMemory(std::string_view codec) {
  throw Error(ErrorCode::kOutOfMemory, "no memory for the codec " + std::string(codec));
}
[[noreturn]] inline void ThrowInternal(std::string_view codec, const std::string& why) {
  throw Error(ErrorCode::kInternal, "codec " + std::string(codec) + ": " + why);
}

enum class Codec;  // defined in codec.hpp
namespace detail {

/// Returns the functions of a codec. Loads the shared library of the codec at the first call. Throws Error(kIo) with
/// the reason if the library cannot be loaded, and Error(kInternal) for kNone, kProgram and kNumbers. Thread-safe.
const CodecModule& LoadCodec(Codec codec);

}  // namespace detail
}  // namespace gpusort

/// The functions that the shared libraries of the codecs export, one for each codec: gpusort_gz.so has those of gz and
/// bgzf. Each returns the table of its codec's functions. If such a function is linked into the program, LoadCodec
/// calls the function and loads no library.
extern "C" {
__attribute__((visibility("default"))) const gpusort::CodecModule* gpusort_codec_gz();
__attribute__((visibility("default"))) const gpusort::CodecModule* gpusort_codec_bgzf();
__attribute__((visibility("default"))) const gpusort::CodecModule* gpusort_codec_bz2();
__attribute__((visibility("default"))) const gpusort::CodecModule* gpusort_codec_xz();
__attribute__((visibility("default"))) const gpusort::CodecModule* gpusort_codec_zst();
__attribute__((visibility("default"))) const gpusort::CodecModule* gpusort_codec_lz4();
}

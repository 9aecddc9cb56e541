// The interface between the program and the module of one codec (gpusort_gz.so and its like), which the program loads
// when it first needs the codec. Each codec has its own module, so that a missing library affects one codec only.
// The program adds files, offsets, padding, limits and threads. Start at CodecModule.
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
/// The largest number of bytes of one call. The libraries count in 32 bits.
inline constexpr std::uint64_t kMaxStepBytes = 1 << 30;

/// The reason why a decoder cannot expand the data. Decoder adds path and offset.
struct Refusal {
  std::string why;
  std::uint64_t needed = 0;  ///< not 0: the library needs more memory than allowed, and `why` ends before "more than"
};

/// Expands members one after the other, from one thread at a time.
class MemberDecoder {
 public:
  virtual ~MemberDecoder() = default;
  /// Starts a member. `head` has its first CodecModule::head_bytes bytes; Decode gets them, too. Throws Refusal.
  virtual void Begin(std::span<const std::byte> head) = 0;
  /// Removes the bytes that it read and wrote from the front of both spans, also if it throws Refusal. Returns true
  /// once the end of the member is verified.
  virtual bool Decode(std::span<const std::byte>& in, std::span<std::byte>& out) = 0;
};

/// Compresses members one after the other, from one thread at a time.
class MemberEncoder {
 public:
  virtual ~MemberEncoder() = default;
  /// Replaces the content of `out` by one member that expands to `in`.
  virtual void Encode(std::span<const std::byte> in, std::vector<char>& out) = 0;
};

/// Compresses blocks without headers, from one thread at a time.
class BlockCoder {
 public:
  virtual ~BlockCoder() = default;
  /// Returns the bytes written to `out`, or 0 if they do not fit.
  virtual std::uint64_t Compress(std::span<const std::byte> in, std::span<std::byte> out) = 0;
  /// Returns the bytes written to `out`. Throws Refusal.
  virtual std::uint64_t Decompress(std::span<const std::byte> in, std::span<std::byte> out) = 0;
};

/// The bytes that a member begins with. A skippable frame of zst and lz4 is a member that expands to nothing.
struct Magic {
  std::string_view bytes;
  unsigned char first_mask = 0xff;  ///< the bits of the first byte that count
};

/// The zeros that may follow members.
enum class Padding {
  kNone,
  kAtEnd,  ///< any number after the last member, as tapes and block devices leave them
  kFours,  ///< a multiple of 4 after each member
};

/// The memory of a decoder.
struct DecoderMemory {
  std::uint64_t window = 0;  ///< bytes of the window or dictionary, for make_decoder
  std::uint64_t total = 0;
};

/// The functions of a module. Both sides must be compiled from the same headers, so the program reads only `version`
/// until the versions are known to agree. `version` stays the first member.
struct CodecModule {
  const char* version;  ///< GPUSORT_CODEC_VERSION: the release, and a sum of the headers that the two sides share
  std::span<const Magic> magics;
  std::size_t head_bytes;  ///< bytes of a member that Begin gets, at least those of the longest magic
  Padding padding;
  std::uint64_t member_bytes;                            ///< the usual input of one member
  DecoderMemory (*decoder_memory)(std::uint64_t limit);  ///< an upper bound; only zst and xz can keep to a limit
  std::uint64_t (*encoder_memory)();                     ///< an upper bound
  std::unique_ptr<MemberDecoder> (*make_decoder)(std::uint64_t window);
  std::unique_ptr<MemberEncoder> (*make_encoder)();
  std::unique_ptr<BlockCoder> (*make_block_coder)();  ///< null: blocks are members
};

[[noreturn]] inline void ThrowOutOfMemory(std::string_view codec) {
  throw Error(ErrorCode::kOutOfMemory, "no memory for the codec " + std::string(codec));
}
[[noreturn]] inline void ThrowInternal(std::string_view codec, const std::string& why) {
  throw Error(ErrorCode::kInternal, "codec " + std::string(codec) + ": " + why);
}

}  // namespace gpusort

/// Each returns the functions of one module, which exports no other name. A program that links one of these functions
/// does not load that module.
extern "C" {
__attribute__((visibility("default"))) const gpusort::CodecModule* gpusort_codec_gz();
__attribute__((visibility("default"))) const gpusort::CodecModule* gpusort_codec_bz2();
__attribute__((visibility("default"))) const gpusort::CodecModule* gpusort_codec_xz();
__attribute__((visibility("default"))) const gpusort::CodecModule* gpusort_codec_zst();
__attribute__((visibility("default"))) const gpusort::CodecModule* gpusort_codec_lz4();
}

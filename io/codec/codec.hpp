// Compresses and expands gz, bz2, xz, zst and lz4: whole files, and single blocks of temporary files. A compressed file
// is one or more members (zst and lz4 call them frames). Each member can be expanded without the others. A Decoder
// reports the end of the data only after it has verified the end of every member. If data is damaged or truncated,
// exceeds a limit, or has other bytes after its end, a Decoder throws Error(kBadInput) with path and offset. An Encoder
// cuts its input into members of a fixed size and compresses them on all threads. The number of threads does not change
// the output. Decoders and Encoders hold only a few members in memory. Each codec is a module (see codec_module.hpp).
// If a module cannot be loaded, constructors and functions that return memory sizes throw Error(kIo). Start at Decoder
// and Encoder, or at BlockCodec for blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpusort {

class BlockCoder;

/// A compression method. kProgram marks blocks that were compressed by the program of --compress-program. No function
/// in this file accepts kProgram.
enum class Codec { kNone, kGz, kBz2, kXz, kZst, kLz4, kProgram };
/// The codecs that this file implements.
inline constexpr Codec kAllCodecs[] = {Codec::kNone, Codec::kGz, Codec::kBz2, Codec::kXz, Codec::kZst, Codec::kLz4};

/// Returns the codec for the extension of `path`: .gz, .bz2, .xz, .zst or .lz4. Returns kNone for any other extension.
Codec CodecOfPath(std::string_view path);
/// Returns `path` without the extension of its codec: "access.log" for "access.log.gz".
std::string_view WithoutCodecExtension(std::string_view path);
/// Returns the codec that a user names: none, gz or gzip, bz2 or bzip2, xz, zst or zstd, lz4. Returns std::nullopt for
/// any other name.
std::optional<Codec> CodecOfName(std::string_view name);
/// Returns "none", "gz", "bz2", "xz", "zst", "lz4" or "program".
std::string_view CodecName(Codec codec);

/// Upper limits for one compressed input.
struct DecoderLimits {
  std::uint64_t expanded_bytes = std::numeric_limits<std::uint64_t>::max();  ///< the largest output; kNone ignores it
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();    ///< the largest window or dictionary
  /// If `memory_bytes` is too small, the message asks for a --memory of memory_share times the bytes needed.
  unsigned memory_share = 1;
};

/// Expands a compressed file of one or more members. Not thread-safe. A window or dictionary above 256 MiB (zst: 128
/// MiB) is an Error(kBadInput). A smaller window or dictionary above DecoderLimits::memory_bytes is an Error(kUsage),
/// whose message names a sufficient --memory. Do not use a Decoder again after an error.
class Decoder {
 public:
  /// Reads compressed bytes into a span that is not empty. Returns the number of bytes read, 0 only at the end. May
  /// throw.
  using Source = std::function<std::uint64_t(std::span<std::byte>)>;

  /// `path` is for messages. A Decoder for kNone returns the bytes of the source unchanged.
  Decoder(Codec codec, std::string path, Source source, const DecoderLimits& limits = {});
  ~Decoder();
  /// Waits for data and writes expanded bytes into `out`, which must not be empty. Returns the number of bytes written,
  /// 0 only at the verified end. Do not trust the bytes before that end, because the checksum of a member follows its
  /// bytes.
  std::uint64_t Read(std::span<std::byte> out);
  /// The number of compressed bytes used so far.
  std::uint64_t offset() const;
  std::uint64_t expanded_bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

struct EncoderOptions {
  unsigned threads = 1;            ///< with 1, Write compresses in the calling thread; the system may allow fewer
  std::uint64_t member_bytes = 0;  ///< expanded bytes of one member; 0: the codec's default, 1 to 8 MiB
};

/// Compresses into members that any program for the codec reads as one file. Not thread-safe.
class Encoder {
 public:
  /// Receives the compressed bytes in order. Write and Finish call the sink. The sink may throw.
  using Sink = std::function<void(std::span<const std::byte>)>;

  /// Compresses at the default level of the codec.
  Encoder(Codec codec, const EncoderOptions& options, Sink sink);
  /// Drops the bytes that are not written yet. Without Finish the output is incomplete.
  ~Encoder();
  void Write(std::span<const std::byte> data);
  /// Writes the remaining bytes to the sink. Empty input gives one member. Call this once, after the last Write.
  void Finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The next two functions return an upper bound of the memory that is allocated, in bytes. `limit` is
/// DecoderLimits::memory_bytes. Only zst and xz can obey a limit. The smallest limit that they obey is half a MiB.
std::uint64_t EncoderMemoryBytes(Codec codec, const EncoderOptions& options);
std::uint64_t DecoderMemoryBytes(Codec codec, std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());

/// Compresses and expands single blocks. The caller must store the compressed and the expanded size of each block. Each
/// thread needs its own BlockCodec, which keeps the codec's working memory so that no call of lz4 and zst allocates.
class BlockCodec {
 public:
  /// Compresses at the fastest level of lz4 and zst, and at the default level of the other codecs.
  explicit BlockCodec(Codec codec);
  ~BlockCodec();
  /// Returns the number of bytes written to `out`, or 0 if the compressed bytes do not fit.
  std::uint64_t Compress(std::span<const std::byte> in, std::span<std::byte> out);
  /// Expands a block. Throws Error(kIntegrity) if `in` does not expand to exactly out.size() bytes.
  void Decompress(std::span<const std::byte> in, std::span<std::byte> out);

 private:
  const Codec codec_;
  std::unique_ptr<BlockCoder> coder_;
};

/// Returns the fastest codec for spill blocks: kNone, kLz4 or kZst. Compares the times to write a block and to read it
/// back, assuming that the disk reads as fast as it writes. Each of these times is the longer of disk time and codec
/// time, with half of the threads for the codec (the others sort). Codec times come from a table, so that the result
/// depends only on the arguments. `sample` is compressed to estimate the ratio. The result is kNone if `sample` is
/// below 4 KiB, or if no codec saves 10 % of the time.
Codec ChooseTempCodec(std::span<const std::byte> sample, double disk_write_bytes_per_second, unsigned threads);

}  // namespace gpusort

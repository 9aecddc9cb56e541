// Compressed bytes: gz, bz2, xz, zst and lz4, as files (any number of members or frames) and as spill blocks.
// A Decoder reports the end of the data only after it has verified the end of every member. Data that is corrupt, cut
// short, followed by other bytes or larger than allowed is Error(kBadInput) with path and offset. An Encoder compresses
// members of a fixed size on all threads and writes the same bytes for any number of threads. Both hold only a few
// members in memory. Each codec is a module: see codec_module.hpp. If it cannot be loaded, constructors and functions
// of memory throw Error(kIo). Start at Decoder and Encoder; for temporary files at BlockCodec.
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

#include "kernels/error.hpp"

namespace gpusort {

class BlockCoder;

/// kProgram: a program of the user compressed a spill block. Nothing in this file takes it.
enum class Codec { kNone, kGz, kBz2, kXz, kZst, kLz4, kProgram };
/// The built-in codecs.
inline constexpr Codec kAllCodecs[] = {Codec::kNone, Codec::kGz, Codec::kBz2, Codec::kXz, Codec::kZst, Codec::kLz4};

/// Returns the codec of the extension .gz, .bz2, .xz, .zst or .lz4, or kNone.
Codec CodecOfPath(std::string_view path);
/// Returns the name of the expanded bytes: "access.log" for "access.log.gz".
std::string_view WithoutCodecExtension(std::string_view path);
/// Returns the codec of a name: none, gz or gzip, bz2 or bzip2, xz, zst or zstd, lz4.
std::optional<Codec> CodecOfName(std::string_view name);
/// "none", "gz", "bz2", "xz", "zst", "lz4", "program".
std::string_view CodecName(Codec codec);

/// The limits of one compressed input.
struct DecoderLimits {
  std::uint64_t expanded_bytes = std::numeric_limits<std::uint64_t>::max();  ///< not for kNone
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();    ///< for windows and dictionaries
  unsigned memory_share = 1;  ///< --memory is this many times `memory_bytes`, for messages
};

/// Expands a stream of members, from one thread at a time. Error(kBadInput) for windows and dictionaries of more than
/// 256 MiB (zst: windows of more than 128 MiB). Error(kUsage), with the --memory that is enough, for those of more than
/// the limit. Do not use a Decoder again after an error.
class Decoder {
 public:
  /// Fills the front of a span, which is not empty. Returns how many bytes, 0 only at the end. May throw.
  using Source = std::function<std::uint64_t(std::span<std::byte>)>;

  /// `path` is for messages. kNone passes on the bytes of the source.
  Decoder(Codec codec, std::string path, Source source, const DecoderLimits& limits = {});
  ~Decoder();
  /// Waits for data. Returns how many bytes it put into `out` (not empty), 0 only at the verified end. Do not trust the
  /// bytes before this returns 0, because the checksum of a member follows its bytes.
  std::uint64_t Read(std::span<std::byte> out);
  /// The number of compressed bytes used so far.
  std::uint64_t offset() const;
  std::uint64_t expanded_bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

struct EncoderOptions {
  unsigned threads = 1;            ///< 1: Write compresses itself. Fewer are used if the system refuses threads
  std::uint64_t member_bytes = 0;  ///< input of one member; 0: the codec's own choice, 1 to 8 MiB
};

/// Compresses into members that any program for the codec reads as one file. For one thread at a time.
class Encoder {
 public:
  /// Takes the compressed bytes, in order, inside Write and Finish. May throw.
  using Sink = std::function<void(std::span<const std::byte>)>;

  /// Compresses at the usual level of the codec.
  Encoder(Codec codec, const EncoderOptions& options, Sink sink);
  /// Without Finish the output is incomplete.
  ~Encoder();
  void Write(std::span<const std::byte> data);
  /// Passes the remaining bytes to the sink. Empty input gives one member. Call this once, at the end.
  void Finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Return upper bounds of the memory that an Encoder and a Decoder allocate, measured and rounded up. `limit` is
/// DecoderLimits::memory_bytes. Only zst and xz can keep to a limit, down to half a MiB.
std::uint64_t EncoderMemoryBytes(Codec codec, const EncoderOptions& options);
std::uint64_t DecoderMemoryBytes(Codec codec, std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());

/// Compresses blocks. The caller stores both sizes of a block, as in a spill block's header. Each thread needs an
/// object, which keeps the working memory of its codec, so that no call allocates. (gz, bz2 and xz, which are slow,
/// allocate.)
class BlockCodec {
 public:
  /// Compresses at the fastest level of lz4 and zst, or at the usual level of the other codecs.
  explicit BlockCodec(Codec codec);
  ~BlockCodec();
  /// Returns the number of bytes written to `out`, or 0 if they do not fit because `in` cannot be compressed.
  std::uint64_t Compress(std::span<const std::byte> in, std::span<std::byte> out);
  /// Expands a block. Error(kIntegrity) if `in` does not expand to exactly out.size() bytes.
  void Decompress(std::span<const std::byte> in, std::span<std::byte> out);

 private:
  const Codec codec_;
  std::unique_ptr<BlockCoder> coder_;
};

/// Returns the codec for spill blocks: kNone, kLz4 or kZst, by the time that a block needs to the disk and back.
/// The time of each way is the longer of the time on the disk and the time on half of the threads; the other threads
/// sort. The disk is assumed to read as fast as it writes. `sample` is compressed to know the size; less than 4 KiB
/// give kNone. The speed of a thread is from a table, so that the result depends on the arguments alone. A codec must
/// save 10 % of the time.
Codec ChooseTempCodec(std::span<const std::byte> sample, double disk_write_bytes_per_second, unsigned threads);

}  // namespace gpusort

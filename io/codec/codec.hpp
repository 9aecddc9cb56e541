// Compressed bytes: gz, bz2, xz, zst and lz4, as files (members or frames, any number of them) and as spill blocks.
// A Decoder says that the data has ended only after it has verified the end of every member: data that is corrupt, cut
// short, followed by anything else or larger than allowed is Error(kBadInput) with path and offset. An Encoder
// compresses members of a fixed size on all threads and writes the same bytes for any number of them. Neither holds
// more than a few members in memory. Start at Decoder and Encoder; for temporary files at BlockCodec.
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

/// kProgram is of spill blocks only, and none of what is here: a program of the user's made them.
enum class Codec { kNone, kGz, kBz2, kXz, kZst, kLz4, kProgram };
/// Those that are built in.
inline constexpr Codec kAllCodecs[] = {Codec::kNone, Codec::kGz, Codec::kBz2, Codec::kXz, Codec::kZst, Codec::kLz4};

/// By extension: .gz, .bz2, .xz, .zst, .lz4; else kNone.
Codec CodecOfPath(std::string_view path);
/// "access.log" for "access.log.gz": what the bytes are once expanded.
std::string_view WithoutCodecExtension(std::string_view path);
/// By name: none, gz or gzip, bz2 or bzip2, xz, zst or zstd, lz4.
std::optional<Codec> CodecOfName(std::string_view name);
/// "none", "gz", "bz2", "xz", "zst", "lz4", "program".
std::string_view CodecName(Codec codec);

/// What one input may take of the machine.
struct DecoderLimits {
  std::uint64_t expanded_bytes = std::numeric_limits<std::uint64_t>::max();  ///< not for kNone
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();    ///< for windows and dictionaries
  unsigned memory_share = 1;  ///< `memory_bytes` is one part of so many of --memory, for messages
};

/// Expands a stream of members, from one thread at a time. Windows and dictionaries that need more than 256 MiB (zst:
/// windows of more than 128 MiB) are Error(kBadInput); those that need more than the limit are Error(kUsage), which
/// says how much --memory would do. Not to be used again after an error.
class Decoder {
 public:
  /// Fills the front of a span that is not empty; returns how many bytes, 0 only at the end. May throw.
  using Source = std::function<std::uint64_t(std::span<std::byte>)>;

  /// `path` is for messages. kNone hands the source's bytes on.
  Decoder(Codec codec, std::string path, Source source, const DecoderLimits& limits = {});
  ~Decoder();
  /// Waits for data. Returns how many bytes it put into `out` (not empty), 0 only at the verified end. Bytes handed out
  /// before belong to a member whose checksum may not have been seen yet: nothing is good until this returns 0.
  std::uint64_t Read(std::span<std::byte> out);
  /// Compressed bytes used so far.
  std::uint64_t offset() const;
  std::uint64_t expanded_bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

struct EncoderOptions {
  unsigned threads = 1;            ///< 1: in Write itself. Fewer are used if the system does not grant them
  std::uint64_t member_bytes = 0;  ///< input of one member; 0: the codec's own choice, 1 to 8 MiB
};

/// Compresses into members that any program for the codec reads one after the other, from one thread at a time.
class Encoder {
 public:
  /// Takes the compressed bytes, in order, inside Write and Finish. May throw.
  using Sink = std::function<void(std::span<const std::byte>)>;

  /// At the codec's usual level.
  Encoder(Codec codec, const EncoderOptions& options, Sink sink);
  /// Without Finish the output stays cut short.
  ~Encoder();
  void Write(std::span<const std::byte> data);
  /// Hands out the rest: one member at least, also for no input. Call once, last.
  void Finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Upper bounds of what an Encoder and a Decoder allocate: measured, and rounded up. `limit`: DecoderLimits'. Only zst
/// and xz can keep to one, down to half a MiB.
std::uint64_t EncoderMemoryBytes(Codec codec, const EncoderOptions& options);
std::uint64_t DecoderMemoryBytes(Codec codec, std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());

/// Compresses blocks whose two sizes are kept elsewhere (a spill block's header). One for each thread: it keeps what
/// its codec works in, so that no call allocates (but for gz, bz2 and xz, which are slow anyway).
class BlockCodec {
 public:
  /// lz4 and zst at their fastest level; the others at their usual one.
  explicit BlockCodec(Codec codec);
  ~BlockCodec();
  /// Returns the bytes it put into `out`, or 0 if they do not fit, as when `in` cannot be compressed: keep `in` then.
  std::uint64_t Compress(std::span<const std::byte> in, std::span<std::byte> out);
  /// Error(kIntegrity) if `in` is anything but a block that expands to exactly `out.size()` bytes.
  void Decompress(std::span<const std::byte> in, std::span<std::byte> out);

 private:
  const Codec codec_;
  std::unique_ptr<BlockCoder> coder_;
};

/// What to compress spill blocks with: kNone, kLz4 or kZst, whichever gets a byte to the disk and back soonest.
/// A block costs the longer of its time on the disk and its time on half of the threads (the rest sort), once for the
/// way out and once for the way back; the disk is taken to read as fast as it writes. The size comes from compressing
/// `sample` (kNone if it has less than 4 KiB), the speed of a thread from a table, so the answer depends on the
/// arguments alone. A codec must save 10 %.
Codec ChooseTempCodec(std::span<const std::byte> sample, double disk_write_bytes_per_second, unsigned threads);

}  // namespace gpusort

// Compresses and expands gz, bgzf, bz2, xz, zst and lz4. Decoder and Encoder are for whole files, and BlockCodec is for
// blocks of temporary files. Each codec is a separate shared library. If it cannot be loaded, the first use of the
// codec throws Error(kIo). Start at Decoder and Encoder.
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
#include <vector>

#include "io/codec/freed_memory.hpp"

namespace gpusort {

class BlockCoder;
class RowDecoder;
class RowEncoder;
class RowStore;
struct MarkedRows;
struct RowEncoderOptions;
struct RowFile;

/// A compression method. kProgram and kNumbers are only for blocks of temporary files. Temporary files store these
/// numbers, so a new method goes to the end.
/// - kProgram: the program of the option --compress-program
/// - kNumbers: stores the differences of sorted numbers
/// - kBgzf: gzip in blocks of at most 64 KiB, as bgzip writes it; only for files
/// - kParquet, kArrow, kArrowStream: files of columns (ColumnFile), which expand to rows (io/codec/row_schema.hpp)
enum class Codec { kNone, kGz, kBz2, kXz, kZst, kLz4, kProgram, kNumbers, kBgzf, kParquet, kArrow, kArrowStream };
/// All compression methods of files.
inline constexpr Codec kAllCodecs[] = {Codec::kNone, Codec::kGz,  Codec::kBz2, Codec::kXz,
                                       Codec::kZst,  Codec::kLz4, Codec::kBgzf};

/// A format of files of columns. Such a file is read at any offset, so it cannot be a stream. Its header is the schema
/// (RowSchema), and a row module decodes and encodes it (io/codec/row_module.hpp).
struct ColumnFile {
  Codec codec;
  /// For messages. Formats with the same title have the same rows, so one can be read and the other one written.
  std::string_view title;
  std::string_view magic;  ///< the bytes with which a file begins and ends; empty: a name or an option tells the format
  /// True: a file says the least and the greatest value of its columns (RowSchema::ranges).
  bool has_ranges;
};
inline constexpr ColumnFile kColumnFiles[] = {{Codec::kParquet, "Parquet", "PAR1", true},
                                              {Codec::kArrow, "Arrow", "ARROW1", false},
                                              {Codec::kArrowStream, "Arrow", "", false}};

/// Returns the format of files of columns with this codec, or null if the codec is another one.
constexpr const ColumnFile* FindColumnFile(Codec codec) {
  for (const ColumnFile& file : kColumnFiles) {
    if (file.codec == codec) return &file;
  }
  return nullptr;
}
constexpr bool IsColumnFile(Codec codec) { return FindColumnFile(codec) != nullptr; }

/// Returns the compression method for the extension of `path`: .gz, .bgz, .bz2, .xz, .zst or .lz4. Returns kNone for
/// any other extension.
Codec CodecOfPath(std::string_view path);
/// Returns `path` without the extension of a compression method: "access.log" for "access.log.gz".
std::string_view WithoutCodecExtension(std::string_view path);
/// Returns the compression method that a user names: none, gz or gzip, bgzf or bgzip, bz2 or bzip2, xz, zst or
/// zstd, lz4. Returns std::nullopt for any other name.
std::optional<Codec> CodecOfName(std::string_view name);
/// Returns the name of the codec in lower case, such as "gz" for Codec::kGz or "none" for Codec::kNone.
std::string_view CodecName(Codec codec);
/// Returns the extension of files that the codec compresses, such as ".gz" for Codec::kGz or "" for Codec::kNone.
std::string_view CodecExtension(Codec codec);
/// Returns true if `codec` writes or reads what the name of a file with the codec `named` promises. BGZF is gzip, so
/// kBgzf fits a file named .gz.
bool FitsName(Codec codec, Codec named);

/// Upper limits for one compressed input.
struct DecoderLimits {
  std::uint64_t expanded_bytes = std::numeric_limits<std::uint64_t>::max();  ///< the largest output; ignored for kNone
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();    ///< the largest window or dictionary
  /// If a decoder gets only an n-th part of --memory, set this to n. The error message about too little memory then
  /// asks for a --memory of n times the bytes needed.
  unsigned memory_share = 1;
  unsigned threads = 1;  ///< number of threads that expand BGZF or a file of columns; the system may allow fewer
  // Only for files of columns. See RowDecoderOptions.
  bool ranges = false;
  std::shared_ptr<RowStore> store{};
  std::vector<std::uint32_t> key_columns{};
  std::uint64_t process_bytes = 0;  ///< for files of columns: the limit of FreedMemory
};

/// Expands a compressed file. Not thread-safe. Do not use a Decoder again after an exception. Throws:
/// - Error(kBadInput) if the data is damaged, truncated or followed by other bytes.
/// - Error(kBadInput) if the output exceeds DecoderLimits::expanded_bytes.
/// - Error(kBadInput) if the data needs a window or dictionary of more than 256 MiB (zst: 128 MiB).
/// - Error(kUsage) if DecoderLimits::memory_bytes is too small. The message tells how much --memory is enough.
class Decoder {
 public:
  /// A function that reads compressed bytes into a span that is not empty. It returns the number of bytes read, 0 only
  /// at the end of the file. It may throw.
  using Source = std::function<std::uint64_t(std::span<std::byte>)>;

  /// Makes a Decoder for the compressed bytes that `source` returns. `path` is the name of the file in messages. For
  /// kNone, Read returns the bytes of the source unchanged. `codec` must not be that of a file of columns.
  Decoder(Codec codec, std::string path, Source source, const DecoderLimits& limits = {});
  /// Makes a Decoder for any compressed file.
  Decoder(Codec codec, std::string path, RowFile file, const DecoderLimits& limits = {});
  ~Decoder();
  /// Waits for data and writes expanded bytes into `out`, which must not be empty. Returns the number of bytes written.
  /// A result of 0 means that the end is reached and all checksums are right. Until then, the caller must not trust the
  /// bytes, because a checksum follows the bytes that it protects.
  std::uint64_t Read(std::span<std::byte> out);
  /// Returns how many bytes of the compressed input have been expanded so far.
  std::uint64_t offset() const;
  std::uint64_t expanded_bytes() const;
  /// Returns what of the file the expanded bytes do not have, for a warning, or an empty string. Call this at the end.
  std::string Lost() const;

 private:
  class Impl;
  class Rows;
  std::unique_ptr<Impl> impl_;
  std::unique_ptr<Rows> rows_;  ///< only for a file of columns, instead of `impl_`
};

struct EncoderOptions {
  unsigned threads = 1;  ///< number of threads; 1: Write compresses in the calling thread; the system may allow fewer
  std::uint64_t member_bytes = 0;  ///< expanded bytes of one member; 0: the codec's default, 1 to 8 MiB
  // Only for files of columns. See RowEncoderOptions.
  std::string compression{};
  std::uint64_t group_bytes = 0, group_rows = 0;
  std::shared_ptr<const RowStore> store{};
  std::uint64_t process_bytes = 0;  ///< the limit of FreedMemory
};

/// Compresses data into a file of members (parts that can be expanded without the others). Any program for the codec
/// reads all members as one file. The number of threads does not change the output. Not thread-safe.
class Encoder {
 public:
  /// A function that receives the compressed bytes in order. Write and Finish call it. For a file of columns, another
  /// thread calls it at any time until Finish returns or Pause is called. It may throw.
  using Sink = std::function<void(std::span<const std::byte>)>;

  /// Makes an Encoder that compresses at the default level of the codec.
  Encoder(Codec codec, const EncoderOptions& options, Sink sink);
  /// Drops the bytes that are not written yet. Without a call of Finish the output is incomplete.
  ~Encoder();
  void Write(std::span<const std::byte> data);
  /// For files of columns: see RowEncoder.
  void Lend(const MarkedRows& rows);
  void Return() noexcept;
  /// Compresses the remaining bytes and passes them to the sink. If nothing was written at all, makes a valid file that
  /// expands to nothing. Call this once, after the last Write.
  void Finish();
  /// Waits until the sink is not called. It is not called until the next call of Write, Lend or Finish.
  void Pause();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
  std::unique_ptr<RowEncoder> rows_;  ///< only for a file of columns, instead of `impl_`
  FreedMemory freed_;                 ///< only for `rows_`
};

/// EncoderMemoryBytes and DecoderMemoryBytes return an upper bound of the memory that an Encoder or a Decoder
/// allocates, in bytes. `limit` is DecoderLimits::memory_bytes. Only zst and xz obey a limit. A limit below half a MiB
/// counts as half a MiB.
std::uint64_t EncoderMemoryBytes(Codec codec, const EncoderOptions& options);
/// `threads` is DecoderLimits::threads.
std::uint64_t DecoderMemoryBytes(Codec codec, std::uint64_t limit = std::numeric_limits<std::uint64_t>::max(),
                                 unsigned threads = 1);

/// Compresses and expands single blocks of memory. The caller must store the compressed and the expanded size of each
/// block. Each thread needs its own BlockCodec. The object keeps the codec's working memory, so that calls with lz4 or
/// zst allocate nothing.
class BlockCodec {
 public:
  /// Makes a BlockCodec that compresses at the fastest level of lz4 and zst, and at the default level of the other
  /// codecs.
  explicit BlockCodec(Codec codec);
  ~BlockCodec();
  /// Compresses `in` to the beginning of `out`. Returns the number of bytes written, or 0 if the compressed bytes do
  /// not fit.
  std::uint64_t Compress(std::span<const std::byte> in, std::span<std::byte> out);
  /// Expands the compressed block `in` to `out`. Throws Error(kIntegrity) if `in` does not expand to exactly out.size()
  /// bytes.
  void Decompress(std::span<const std::byte> in, std::span<std::byte> out);

 private:
  const Codec codec_;
  std::unique_ptr<BlockCoder> coder_;
};

/// Returns the codec that probably makes writing and reading of temporary files fastest: kNone, kNumbers, kLz4 or kZst.
/// - sample: a part of the data to write. If it is shorter than 4 KiB, the result is kNone.
/// - threads: the number of threads of the job
Codec ChooseTempCodec(std::span<const std::byte> sample, double disk_write_bytes_per_second, unsigned threads);

}  // namespace gpusort

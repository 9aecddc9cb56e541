// The interface between the program and a module that decodes and encodes files of columns: gpusort_parquet.so. To the
// rest of the program, such a file is a compressed input or output (IsColumnFile), whose expanded bytes are rows
// (io/codec/row_schema.hpp). Start at RowModule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/codec/codec.hpp"
#include "io/codec/row_marks.hpp"

namespace gpusort {

struct RowFile {
  std::uint64_t size = 0;
  /// Reads bytes of the file from an offset on. Returns the number of bytes, which is smaller than the span only at the
  /// end of the file. Several threads may call this at the same time. It may throw.
  std::function<std::uint64_t(std::uint64_t offset, std::span<std::byte>)> read;
};

/// Keeps rows in memory while only their keys are sorted. Decoders put rows into the store and give references
/// (KeptRow), and an encoder looks up the rows. Thread-safe.
class RowStore {
 public:
  virtual ~RowStore() = default;
  struct Kept {
    std::uint64_t rows = 0, row_bytes = 0;
    std::uint64_t reference_bytes = 0;  ///< the size of the references that decoders have given instead of the rows
  };
  /// Returns the sums over all rows so far.
  virtual Kept kept() const = 0;
};

struct RowDecoderOptions {
  std::uint64_t memory_bytes = 0;  ///< how much memory the decoder may take
  /// If a decoder gets only an n-th part of --memory, set this to n, for the message about too little memory.
  unsigned memory_share = 1;
  unsigned threads = 1;
  bool ranges = false;  ///< true: the header gets the ranges of the columns (RowSchema::ranges)
  /// Keeps the rows. Null, or a full store: the decoder gives whole rows.
  std::shared_ptr<RowStore> store{};
  std::vector<std::uint32_t> key_columns{};  ///< the columns that go with each reference, in ascending order
};

/// Decodes one file. Not thread-safe.
class RowDecoder {
 public:
  virtual ~RowDecoder() = default;
  /// Writes the next bytes of the header and the rows into `out`, which must not be empty. Returns their number, which
  /// is 0 only at the end. Throws Refusal if the file is damaged or needs too much memory.
  virtual std::uint64_t Read(std::span<std::byte> out) = 0;
  /// Returns what of the file the rows do not have, for a warning, or an empty string. Call this at the end.
  virtual std::string Lost() const { return {}; }
};

struct RowEncoderOptions {
  /// How many row groups an encoder holds in memory, if they have `group_bytes`. Rows of a row group take no more.
  static constexpr std::uint64_t kGroupsInMemory = 8;

  std::string compression;        ///< a codec of the file, such as "zstd" or "zstd:3"; empty: the codecs of the input
  std::uint64_t group_bytes = 0;  ///< the encoded size of a row group, as far as it is known before the encoding
  std::uint64_t group_rows = 0;   ///< the greatest number of rows of a row group; 0: as the input has
  unsigned threads = 1;
  std::shared_ptr<const RowStore> store{};  ///< the store of the decoders, if they have one
};

/// Encodes one file. Not thread-safe. Other threads may call the sink at any time, but only one at a time.
class RowEncoder {
 public:
  virtual ~RowEncoder() = default;
  /// Takes bytes of the header and the rows, divided anywhere. Throws Error(kIo) if the rows cannot be encoded.
  virtual void Write(std::span<const std::byte> bytes) = 0;
  /// Takes whole rows as Write() does. The rows must stay unchanged until the next call of Return().
  virtual void Lend(const MarkedRows& rows) { Write(rows.bytes); }
  /// Waits until no thread reads the rows of Lend(). Call this also after an exception.
  virtual void Return() noexcept {}
  /// Ends the file. Call this once, after the last Write.
  virtual void Finish() = 0;
  /// Waits until the sink is not called. It is not called until the next call of Write(), Lend() or Finish().
  virtual void Pause() {}
};

/// The functions of the module. `version` must stay the first member.
struct RowModule {
  const char* version;  ///< GPUSORT_ROWS_VERSION: the release and a checksum of the shared headers
  std::unique_ptr<RowDecoder> (*make_decoder)(RowFile file, const RowDecoderOptions& options);
  std::unique_ptr<RowEncoder> (*make_encoder)(const RowEncoderOptions& options,
                                              std::function<void(std::span<const std::byte>)> sink);
  /// Makes a store that takes at most `most_bytes` of memory.
  std::shared_ptr<RowStore> (*make_store)(std::uint64_t most_bytes);
  /// Returns why `compression` is no codec of the file, or an empty string.
  std::string (*why_no_codec)(const std::string& compression);
};

/// Returns the functions for a format of files of columns. Loads the module at the first call. Throws Error(kUsage) if
/// the module cannot be loaded. Thread-safe.
const RowModule& LoadRows(Codec codec);

/// Makes a store of the module of `codec` that takes at most `most_bytes` of memory. Throws as LoadRows().
std::shared_ptr<RowStore> MakeRowStore(Codec codec, std::uint64_t most_bytes);

/// Returns an upper bound of the memory that a decoder takes if it may take `limit` bytes.
std::uint64_t RowDecoderBytes(std::uint64_t limit);
/// Returns how many bytes of rows, encoded columns and Bloom filters an encoder holds. If a single row group takes
/// more, the encoder holds that row group.
constexpr std::uint64_t RowEncoderBudget(const RowEncoderOptions& options) {
  constexpr std::uint64_t kThread = std::uint64_t{2} << 20;
  return RowEncoderOptions::kGroupsInMemory * options.group_bytes + std::max(1U, options.threads) * kThread;
}
/// Returns the memory that an encoder takes, without the memory of its libraries.
std::uint64_t RowEncoderBytes(const RowEncoderOptions& options);

}  // namespace gpusort

extern "C" __attribute__((visibility("default"))) const gpusort::RowModule* gpusort_rows_parquet();
extern "C" __attribute__((visibility("default"))) const gpusort::RowModule* gpusort_rows_arrow();
extern "C" __attribute__((visibility("default"))) const gpusort::RowModule* gpusort_rows_arrow_stream();

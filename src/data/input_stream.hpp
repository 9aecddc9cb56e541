// An input that is read once, from its begin to its end: a pipe, a terminal, or a compressed file.
// Start at InputStream.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/header.hpp"
#include "data/input_file.hpp"
#include "data/input_kind.hpp"
#include "formats/record_format.hpp"
#include "io/codec/codec.hpp"
#include "io/stream.hpp"
#include "kernels/records/record.hpp"

namespace gpusort {

/// Throws Error(kBadInput): `bytes` bytes are not a multiple of the record of `stride` bytes.
[[noreturn]] void ThrowPartialRecord(const std::string& path, std::uint64_t bytes, std::uint64_t stride);

class InputStream {
 public:
  struct Source {
    std::string path, expanded_path;  ///< expanded: without the extension of a codec
    Codec codec = Codec::kNone;
    PipeReader* pipe = nullptr;  ///< null: `file` is read
    const InputFile* file = nullptr;
    std::vector<std::byte> front;  ///< bytes that were read from the pipe before
  };
  /// The common settings of all inputs of a job. All must outlive the stream.
  struct Job {
    const RecordFormat& format;
    const RecordLayout& layout;
    const KindCheck& kinds;
    const DecoderLimits& limits;
    InputHeader& header;
    std::atomic<std::uint64_t>& stored_read;  ///< counts the bytes that are read from pipes and files
  };
  InputStream(const Job& job, Source source);
  InputStream(const InputStream&) = delete;
  InputStream& operator=(const InputStream&) = delete;

  /// Reads the next bytes of records into `buffer`, at most `limit`, and waits for them. `buffer` must have kReadSlack
  /// bytes more, for the end of a record that lacks it. Returns how many bytes: 0 only at the end. Fixed records are
  /// whole. Error(kBadInput).
  std::uint64_t Read(std::span<std::byte> buffer, std::uint64_t limit);
  /// The size of the header. Known after the first Read.
  std::uint64_t header_bytes() const { return header_bytes_; }

 private:
  std::uint64_t ReadStored(std::span<std::byte> out);
  std::uint64_t Next(std::span<std::byte> out);
  void TakeHeader();
  void KeepTail(std::span<const std::byte> bytes);

  const Job job_;
  Source source_;
  std::shared_ptr<File> stored_;  ///< the handle of source_.file
  std::uint64_t stored_offset_ = 0;
  std::vector<std::byte> ahead_;  ///< read before, and not yet handed out from ahead_taken_ on
  std::uint64_t ahead_taken_ = 0;
  Decoder decoder_;
  std::uint64_t offset_ = 0;  ///< bytes of records so far
  std::uint64_t header_bytes_ = 0;
  bool begun_ = false;
  std::vector<std::byte> tail_;  ///< the last bytes, as RecordFormat::Ending takes them
};

}  // namespace gpusort

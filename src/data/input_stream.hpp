// Reads an input that can be read only once: a pipe, a terminal, or a compressed file. Start at InputStream.
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

/// Throws Error(kBadInput) because the size of an input, `bytes`, is not a multiple of the record size, `stride`.
[[noreturn]] void ThrowPartialRecord(const std::string& path, std::uint64_t bytes, std::uint64_t stride);

class InputStream {
 public:
  struct Source {
    std::string path, expanded_path;  ///< the path, and the path without the extension of a codec
    Codec codec = Codec::kNone;
    PipeReader* pipe = nullptr;  ///< the pipe that is read; null: `file` is read instead
    const InputFile* file = nullptr;
    std::vector<std::byte> front;  ///< the first bytes of the input, which were read from the pipe already
  };
  /// The settings that all inputs of a job share. All members must outlive the InputStream.
  struct Job {
    const RecordFormat& format;
    const RecordLayout& layout;
    const KindCheck& kinds;
    const DecoderLimits& limits;
    InputHeader& header;
    std::atomic<std::uint64_t>& stored_read;  ///< counts the bytes that are read from pipes and files, before expansion
  };
  InputStream(const Job& job, Source source);
  InputStream(const InputStream&) = delete;
  InputStream& operator=(const InputStream&) = delete;

  /// Waits for up to `limit` bytes of records and reads them into `buffer`. Returns the number of bytes, which is 0
  /// only at the end of the input. `buffer` must have kReadSlack bytes more than `limit`, because the end of the last
  /// record is added if it is missing. Returns whole records if records have a fixed size. Throws Error(kBadInput).
  std::uint64_t Read(std::span<std::byte> buffer, std::uint64_t limit);
  /// Returns the size of the header. Call this after the first Read.
  std::uint64_t header_bytes() const { return header_bytes_; }

 private:
  std::uint64_t ReadStored(std::span<std::byte> out);
  std::uint64_t Next(std::span<std::byte> out);
  void TakeHeader();
  void KeepTail(std::span<const std::byte> bytes);

  const Job job_;
  Source source_;
  std::shared_ptr<File> stored_;  ///< the open file of source_.file
  std::uint64_t stored_offset_ = 0;
  std::vector<std::byte> ahead_;  ///< bytes that were read too early; Read returned the first ahead_taken_ of them
  std::uint64_t ahead_taken_ = 0;
  Decoder decoder_;
  std::uint64_t offset_ = 0;  ///< number of bytes of records that Read has returned
  std::uint64_t header_bytes_ = 0;
  bool begun_ = false;
  std::vector<std::byte> tail_;  ///< the last bytes that Read has returned, for RecordFormat::Ending
};

}  // namespace gpusort

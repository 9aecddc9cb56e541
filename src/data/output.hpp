// Writes the output of a job: a new file that gets its name when it is complete, an old file that is overwritten, the
// parts of --split, or a stream. The output may be compressed. Start at Output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/output_parts.hpp"
#include "data/proof.hpp"
#include "formats/key_encoder.hpp"
#include "io/codec/codec.hpp"
#include "io/file.hpp"
#include "io/output_file.hpp"
#include "io/stream.hpp"
#include "kernels/backend.hpp"
#include "spec/job_spec.hpp"
#include "watch/progress.hpp"

namespace gpusort {

/// The output of all attempts of a job. (If a GPU is lost, another attempt writes the output again.) Do not move an
/// Output after Compress or Reserve was called.
class Output {
 public:
  /// Makes an object without an output, for a job that is only explained.
  Output() = default;
  explicit Output(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}
  explicit Output(std::unique_ptr<OutputParts> parts) : file_(parts->TakeManifest()), parts_(std::move(parts)) {}
  explicit Output(std::unique_ptr<PipeWriter> stream) : stream_(std::move(stream)) {}
  /// Opens the output of the job before any work is done. Throws Error(kUsage) if the output cannot be written.
  static Output Open(FileSystem& files, const JobSpec& spec, CancelFlag& cancel);

  /// Returns the output file, or the manifest of the parts of --split. Returns null for a stream.
  OutputFile* file() const { return file_.get(); }
  /// Returns the parts of --split, or null. If there are parts, records are written to the parts and not by Write.
  OutputParts* parts() const { return parts_.get(); }
  /// Returns the attributes of a file that is written in place. An input that is this file must be read completely
  /// before the output is written. Returns std::nullopt if the output is a new file.
  std::optional<FileFacts> overwritten() const;
  /// Returns true if Write must be called in the order of the offsets.
  bool in_order() const { return !file_ || encoder_; }
  bool compressed() const { return encoder_ != nullptr; }
  /// Returns the bytes of the output before the records.
  const std::vector<std::byte>& header() const { return header_; }
  void SetHeader(std::span<const std::byte> header) { header_.assign(header.begin(), header.end()); }
  /// Returns the bytes of the output after the records.
  const std::vector<std::byte>& trailer() const { return trailer_; }
  void SetTrailer(std::span<const std::byte> trailer) { trailer_.assign(trailer.begin(), trailer.end()); }

  /// Makes Write compress the output from now on. `clock` measures the work and must outlive this object.
  void Compress(Codec codec, const EncoderOptions& options, StageClock& clock);
  /// Returns true if a stream has accepted records, which cannot be taken back.
  bool sent() const { return stream_ && (encoder_ ? stored_ > 0 : streamed_ > header_.size()); }
  /// Forgets all bytes that were written, because the next attempt writes them again. Do not call this if sent().
  void Restart();
  /// Reserves disk space for `bytes` bytes, so that a full disk ends the job now and not after hours. Works on a
  /// thread, because a tmpfs is slow. With --split, the manifest holds the space until parts are written.
  void Reserve(FileSystem& files, std::uint64_t bytes);
  /// Waits until Reserve is done.
  void FinishReserving() {
    if (reserving_.valid()) reserving_.get();
  }
  /// Frees the space that the manifest holds, before the parts are written.
  void ReleaseForParts() {
    if (parts_) file_->Release();
  }

  /// Writes `bytes` at offset `at` of the uncompressed output. Skips bytes that a stream got in an earlier attempt.
  void Write(std::uint64_t at, std::span<const std::byte> bytes);
  /// Ends the output, whose size before compression is `bytes`. Returns its size after compression.
  std::uint64_t Finish(std::uint64_t bytes);
  /// Reads the finished file back from the disk. Throws Error(kIntegrity) if the header, or the order or the sum of the
  /// records is wrong. `longest` is the size of the longest record, and `state` the parser's state before the first
  /// record. `keys` makes keys for records that cannot be compared by `layout`, or is null.
  void Verify(const RecordLayout& layout, const RecordFormat& format, const KeyScheme* keys, bool unique,
              std::uint64_t longest, const RecordSum& sum, const std::string& state, HostMemory& memory,
              const CancelFlag& cancel, Progress& progress);
  /// Reads back the first `bytes` bytes, which an earlier process has written. Returns false if their records are not
  /// the records of `front`. Call this before SetTrailer. All other parameters are as in Verify.
  bool HasFront(std::uint64_t bytes, const OutputProof::Front& front, const RecordLayout& layout,
                const RecordFormat& format, const KeyScheme* keys, bool unique, std::uint64_t longest,
                HostMemory& memory, const CancelFlag& cancel, Progress& progress);
  /// Sets size and permissions of the finished files, and syncs them if `sync` is true. Call Finish before this.
  void Complete(bool sync);
  /// Completes the files and gives them their names, or closes the stream. Call Finish before this.
  void Publish(bool sync);
  /// Returns a message for each published file that lacks permissions or attributes of the file that it replaced.
  std::vector<std::string> Lost() const;

 private:
  /// Reads the first `bytes` bytes of the file and passes the records to `read_back`.
  void ReadBack(OutputFile& file, std::uint64_t bytes, const RecordLayout& layout, const RecordFormat& format,
                const KeyScheme* keys, std::uint64_t longest, ScanState state, OutputProof& read_back,
                HostMemory& memory, const CancelFlag& cancel, Progress& progress);

  std::unique_ptr<OutputFile> file_;    ///< null if the output is a stream
  std::unique_ptr<PipeWriter> stream_;  ///< null if the output is a file
  std::unique_ptr<OutputParts> parts_;
  std::vector<std::byte> header_, trailer_;
  std::future<void> reserving_;
  Codec codec_ = Codec::kNone;
  EncoderOptions encoder_options_;
  StageClock* clock_ = nullptr;  ///< measures the encoder
  std::unique_ptr<Encoder> encoder_;
  std::uint64_t streamed_ = 0;  ///< number of bytes that the stream or the encoder has accepted
  std::uint64_t bytes_ = 0;     ///< size of the finished output before compression
  std::uint64_t stored_ = 0;    ///< size of the output after compression
};

}  // namespace gpusort

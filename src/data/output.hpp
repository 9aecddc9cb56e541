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

/// The output of a job. If a GPU fails, the job begins a new attempt, which writes the same output again. Do not move
/// an Output after Compress() or Reserve() was called.
class Output {
 public:
  /// Makes an object that writes nothing, for a job that is only explained (--explain).
  Output() = default;
  explicit Output(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}
  explicit Output(std::unique_ptr<OutputParts> parts) : file_(parts->TakeManifest()), parts_(std::move(parts)) {}
  explicit Output(std::unique_ptr<PipeWriter> stream) : stream_(std::move(stream)) {}
  /// Opens the output of the job before any work is done. Throws Error(kUsage) if the output cannot be written.
  static Output Open(FileSystem& files, const JobSpec& spec, CancelFlag& cancel);

  /// Returns the output file. With --split, returns the file that lists the parts. Returns null for a stream.
  OutputFile* file() const { return file_.get(); }
  /// Returns the parts of --split, or null without --split. If there are parts, records are written to them, and not by
  /// Write().
  OutputParts* parts() const { return parts_.get(); }
  /// Returns the attributes of the output file if an existing file is overwritten in place; if it is also an input, the
  /// caller must read it completely before it writes. Returns std::nullopt if the output is a new file.
  std::optional<FileFacts> overwritten() const;
  /// Returns true if Write() must be called in the order of the offsets.
  bool in_order() const { return !file_ || encoder_; }
  bool compressed() const { return encoder_ != nullptr; }
  /// Returns the header of the output: the bytes before its first record.
  const std::vector<std::byte>& header() const { return header_; }
  void SetHeader(std::span<const std::byte> header) { header_.assign(header.begin(), header.end()); }
  /// Returns the trailer of the output: the bytes after its last record.
  const std::vector<std::byte>& trailer() const { return trailer_; }
  void SetTrailer(std::span<const std::byte> trailer) { trailer_.assign(trailer.begin(), trailer.end()); }

  /// Lets Write() compress the output from now on. `clock` measures the work and must outlive this object.
  void Compress(Codec codec, const EncoderOptions& options, StageClock& clock);
  /// Returns true if the output is a stream that has accepted records, which cannot be taken back.
  bool sent() const { return stream_ && (encoder_ ? stored_ > 0 : streamed_ > header_.size()); }
  /// Prepares for the next attempt, which writes all bytes again: forgets what was written. Do not call this if sent()
  /// is true.
  void Restart();
  /// Reserves disk space for `bytes` bytes, so that a full disk ends the job now and not after hours. Works on another
  /// thread, because this is slow on a tmpfs. With --split, the space is held by the file that lists the parts.
  void Reserve(FileSystem& files, std::uint64_t bytes);
  /// Waits until Reserve is done.
  void FinishReserving() {
    if (reserving_.valid()) reserving_.get();
  }
  /// With --split: frees the space that Reserve() has reserved. Call this before the parts are written.
  void ReleaseForParts() {
    if (parts_) file_->Release();
  }

  /// Writes `bytes` at offset `at` of the output; offsets count before compression. Skips bytes that a stream has
  /// already accepted in an earlier attempt.
  void Write(std::uint64_t at, std::span<const std::byte> bytes);
  /// Ends the output. `bytes` is its size before compression. Returns its size after compression.
  std::uint64_t Finish(std::uint64_t bytes);
  /// Reads the finished file back from the disk. Throws Error(kIntegrity) if the header, the order of the records or
  /// their checksum is wrong. `longest` is the size of the longest record, and `state` is the parser's state before the
  /// first record. `keys` makes keys for records that cannot be compared in `layout`; otherwise it is null. If `unique`
  /// is true, no two keys may be equal.
  void Verify(const RecordLayout& layout, const RecordFormat& format, const KeyScheme* keys, bool unique,
              std::uint64_t longest, const RecordSum& sum, const std::string& state, HostMemory& memory,
              const CancelFlag& cancel, Progress& progress);
  /// Reads back the first `bytes` bytes of the output, which an earlier process has written. Returns false if they are
  /// not the records of which `front` holds the checksum. Call this before SetTrailer(). The other parameters are as in
  /// Verify().
  bool HasFront(std::uint64_t bytes, const OutputProof::Front& front, const RecordLayout& layout,
                const RecordFormat& format, const KeyScheme* keys, bool unique, std::uint64_t longest,
                HostMemory& memory, const CancelFlag& cancel, Progress& progress);
  /// Sets the size and the permissions of the finished files. If `sync` is true, waits until they are on the disk. Call
  /// Finish() before this.
  void Complete(bool sync);
  /// Does what Complete() does, and then gives the files their names. Closes the output if it is a stream. Call
  /// Finish() before this.
  void Publish(bool sync);
  /// Returns a message for each file that could not be given all permissions or attributes of the file that it
  /// replaced.
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
  std::uint64_t streamed_ = 0;  ///< how many bytes the stream or the encoder has accepted
  std::uint64_t bytes_ = 0;     ///< the size of the finished output before compression
  std::uint64_t stored_ = 0;    ///< the size of the output after compression
};

}  // namespace gpusort

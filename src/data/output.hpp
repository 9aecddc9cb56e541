// Where the result goes: a file that appears when it is whole, one that is written in place, parts that appear when all
// are, or a stream; compressed on the way, if it shall be. Opened, and where its size is known reserved, before the
// work. Start at Output.
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

/// Outlives attempts that a lost GPU cuts short. Until Compress and Reserve it can be moved.
class Output {
 public:
  /// Nowhere: for a job that is only explained.
  Output() = default;
  explicit Output(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}
  explicit Output(std::unique_ptr<OutputParts> parts) : file_(parts->TakeManifest()), parts_(std::move(parts)) {}
  explicit Output(std::unique_ptr<PipeWriter> stream) : stream_(std::move(stream)) {}
  /// Where the options want it. Error(kUsage) if that cannot be, before any work.
  static Output Open(FileSystem& files, const JobSpec& spec, CancelFlag& cancel);

  /// Null if it is a stream. Of parts, their manifest.
  OutputFile* file() const { return file_.get(); }
  /// Null if there are none; else records are written there, and not by Write.
  OutputParts* parts() const { return parts_.get(); }
  /// The file that is written into, if it is not a new one: an input that is the same must be read before that.
  std::optional<FileFacts> overwritten() const;
  /// Whether Write must be called for one byte after the other.
  bool in_order() const { return !file_ || encoder_; }
  bool compressed() const { return encoder_ != nullptr; }
  /// What it begins with; it is no record.
  const std::vector<std::byte>& header() const { return header_; }
  void SetHeader(std::span<const std::byte> header) { header_.assign(header.begin(), header.end()); }
  /// What it ends with, behind the records.
  const std::vector<std::byte>& trailer() const { return trailer_; }
  void SetTrailer(std::span<const std::byte> trailer) { trailer_.assign(trailer.begin(), trailer.end()); }

  void Compress(Codec codec, const EncoderOptions& options, StageClock& clock);
  /// A stream has taken records, or what they were compressed to: nothing takes them back.
  bool sent() const { return stream_ && (encoder_ ? stored_ > 0 : streamed_ > header_.size()); }
  /// What was written is not to be relied on: the next attempt writes all of it again. Not if something was sent.
  void Restart();
  /// So that a full disk ends the job at once, not after hours. A tmpfs takes as long as for writing: if it has the
  /// room now, that goes on until FinishReserving. Of parts nobody knows the sizes yet: the manifest keeps the space
  /// for them until ReleaseForParts.
  void Reserve(FileSystem& files, std::uint64_t bytes);
  void FinishReserving() {
    if (reserving_.valid()) reserving_.get();
  }
  void ReleaseForParts() {
    if (parts_) file_->Release();
  }

  /// The bytes from `at` on, header included. What a stream has taken in an attempt before is not repeated.
  void Write(std::uint64_t at, std::span<const std::byte> bytes);
  /// All `bytes` are written. Returns how many are stored: fewer if they are compressed.
  std::uint64_t Finish(std::uint64_t bytes);
  /// Reads the finished file back from the disk and compares it with the header and the sum of the records; the
  /// first record begins in `state`. `keys` are those of records that cannot be compared as `layout`, else null.
  void Verify(const RecordLayout& layout, const RecordFormat& format, const KeyScheme* keys, bool unique,
              std::uint64_t longest, const RecordSum& sum, const std::string& state, HostMemory& memory,
              const CancelFlag& cancel, Progress& progress);
  /// Reads back what a process before has written, the header and so many bytes in all; false if its records are not
  /// those of `front`. Before SetTrailer, the rest as for Verify.
  bool HasFront(std::uint64_t bytes, const OutputProof::Front& front, const RecordLayout& layout,
                const RecordFormat& format, const KeyScheme* keys, bool unique, std::uint64_t longest,
                HostMemory& memory, const CancelFlag& cancel, Progress& progress);
  /// Does all of Publish but the renames and the sync of the folder. Call Finish before.
  void Complete(bool sync);
  void Publish(bool sync);
  /// Of each published file that replaced another what it has not got of that: one text.
  std::vector<std::string> Lost() const;

 private:
  /// All `bytes` of it; hands its records to `read_back`.
  void ReadBack(OutputFile& file, std::uint64_t bytes, const RecordLayout& layout, const RecordFormat& format,
                const KeyScheme* keys, std::uint64_t longest, ScanState state, OutputProof& read_back,
                HostMemory& memory, const CancelFlag& cancel, Progress& progress);

  std::unique_ptr<OutputFile> file_;  ///< or
  std::unique_ptr<PipeWriter> stream_;
  std::unique_ptr<OutputParts> parts_;
  std::vector<std::byte> header_, trailer_;
  std::future<void> reserving_;
  Codec codec_ = Codec::kNone;
  EncoderOptions encoder_options_;
  StageClock* clock_ = nullptr;  ///< of the encoder
  std::unique_ptr<Encoder> encoder_;
  std::uint64_t streamed_ = 0;  ///< bytes that stream or encoder has taken
  std::uint64_t bytes_ = 0;     ///< of the finished output
  std::uint64_t stored_ = 0;    ///< of them as they lie in the file
};

}  // namespace gpusort

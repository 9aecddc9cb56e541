// The output of a job. It is a new file that appears when it is complete, a file that is written in place, parts that
// appear when all are complete, or a stream. It may be compressed. It is opened before the work, and its space is
// reserved if its size is known. Start at Output.
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

/// Serves all attempts of a job: another attempt follows if a GPU is lost. Movable until Compress or Reserve is called.
class Output {
 public:
  /// Makes no output, for a job that is only explained.
  Output() = default;
  explicit Output(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}
  explicit Output(std::unique_ptr<OutputParts> parts) : file_(parts->TakeManifest()), parts_(std::move(parts)) {}
  explicit Output(std::unique_ptr<PipeWriter> stream) : stream_(std::move(stream)) {}
  /// Opens the output that the options name. Error(kUsage) if that is impossible.
  static Output Open(FileSystem& files, const JobSpec& spec, CancelFlag& cancel);

  /// The file, or the manifest of the parts. Null for a stream.
  OutputFile* file() const { return file_.get(); }
  /// The parts, to which records are written instead of calling Write. Null if there are none.
  OutputParts* parts() const { return parts_.get(); }
  /// The facts of a file that is written in place. An input that is the same file must be read before that.
  std::optional<FileFacts> overwritten() const;
  /// True if Write must be called in the order of the bytes.
  bool in_order() const { return !file_ || encoder_; }
  bool compressed() const { return encoder_ != nullptr; }
  /// The bytes before the records.
  const std::vector<std::byte>& header() const { return header_; }
  void SetHeader(std::span<const std::byte> header) { header_.assign(header.begin(), header.end()); }
  /// The bytes after the records.
  const std::vector<std::byte>& trailer() const { return trailer_; }
  void SetTrailer(std::span<const std::byte> trailer) { trailer_.assign(trailer.begin(), trailer.end()); }

  void Compress(Codec codec, const EncoderOptions& options, StageClock& clock);
  /// True if a stream has taken records, which cannot be taken back.
  bool sent() const { return stream_ && (encoder_ ? stored_ > 0 : streamed_ > header_.size()); }
  /// Forgets the written bytes, because the next attempt writes all of them again. Not after sent().
  void Restart();
  /// Reserves the space of the output, so that a full disk ends the job now and not after hours. On a tmpfs this takes
  /// as long as writing, so it continues on a thread until FinishReserving. The sizes of parts are not known yet: the
  /// manifest keeps the space for all of them until ReleaseForParts.
  void Reserve(FileSystem& files, std::uint64_t bytes);
  void FinishReserving() {
    if (reserving_.valid()) reserving_.get();
  }
  void ReleaseForParts() {
    if (parts_) file_->Release();
  }

  /// Writes `bytes` at the offset `at`, which counts the header. A stream does not get again what it took in an earlier
  /// attempt.
  void Write(std::uint64_t at, std::span<const std::byte> bytes);
  /// Ends the output, which has `bytes` bytes before compression. Returns the number of stored bytes.
  std::uint64_t Finish(std::uint64_t bytes);
  /// Reads the finished file back from the disk and compares it with the header and the sum of the records. The first
  /// record begins in `state`. `keys` makes the keys of records that cannot be compared as `layout`, and is null for
  /// other records. Error(kIntegrity) if they differ.
  void Verify(const RecordLayout& layout, const RecordFormat& format, const KeyScheme* keys, bool unique,
              std::uint64_t longest, const RecordSum& sum, const std::string& state, HostMemory& memory,
              const CancelFlag& cancel, Progress& progress);
  /// Reads back the first `bytes` bytes, which an earlier process has written. Returns false if the records are not
  /// those of `front`. Call this before SetTrailer. The other parameters are those of Verify.
  bool HasFront(std::uint64_t bytes, const OutputProof::Front& front, const RecordLayout& layout,
                const RecordFormat& format, const KeyScheme* keys, bool unique, std::uint64_t longest,
                HostMemory& memory, const CancelFlag& cancel, Progress& progress);
  /// Does the work of Publish without the renames and the sync of the folder. Call Finish before this.
  void Complete(bool sync);
  void Publish(bool sync);
  /// Returns a text for each published file that lacks rights or attributes of the file that it replaced.
  std::vector<std::string> Lost() const;

 private:
  /// Reads the first `bytes` bytes of the file and passes the records to `read_back`.
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
  std::uint64_t streamed_ = 0;  ///< bytes that the stream or the encoder has taken
  std::uint64_t bytes_ = 0;     ///< the size of the finished output before compression
  std::uint64_t stored_ = 0;    ///< the size of the finished output as it is stored
};

}  // namespace gpusort

// Writes the output of a job, which may be compressed. The output is a new file that gets its name when it is complete,
// an existing file that is overwritten, several files (--split), or a stream. Start at Output.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/block_index.hpp"
#include "data/output_parts.hpp"
#include "data/proof.hpp"
#include "formats/key_encoder.hpp"
#include "io/codec/codec.hpp"
#include "io/file.hpp"
#include "io/output_file.hpp"
#include "io/stream.hpp"
#include "kernels/backend.hpp"
#include "spec/job_spec.hpp"
#include "watch/clock.hpp"
#include "watch/progress.hpp"

namespace gpusort {

/// Allocates the memory of a file on a tmpfs (a file system in memory) in advance, on another thread. Later writes to
/// the file then take less time.
class PageMaker {
 public:
  /// Starts the thread. The thread ends early if make() fails or if the file system has little free space.
  /// - known(): returns the number of bytes to write. The number may grow until AllIsKnown() is called.
  /// - make(begin, end): allocates the memory of these bytes of the file. Returns false or throws Error on failure.
  /// - free_space(): returns how many bytes are free in the file system.
  PageMaker(std::function<std::uint64_t()> known, std::function<bool(std::uint64_t begin, std::uint64_t end)> make,
            std::function<std::uint64_t()> free_space);
  ~PageMaker();
  /// Call this when known() returns the final number of bytes. Any thread may call this.
  void AllIsKnown() { all_known_ = true; }

 private:
  std::atomic<bool> stop_{false}, all_known_{false};
  std::future<void> making_;
};

/// The output of a job. If an attempt at the job fails, the next attempt writes the same output again from its
/// beginning. Do not move an Output after Compress(), Reserve() or MakePages() was called.
class Output {
 public:
  /// Makes an object that writes nothing, for --explain, which only prints the plan of a job.
  Output() = default;
  explicit Output(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}
  explicit Output(std::unique_ptr<OutputParts> parts) : file_(parts->TakeManifest()), parts_(std::move(parts)) {}
  explicit Output(std::unique_ptr<PipeWriter> stream) : stream_(std::move(stream)) {}
  /// Opens the output of the job `spec`. Call this before any work is done. Throws Error(kUsage) if the output cannot
  /// be written.
  static Output Open(FileSystem& files, const JobSpec& spec, CancelFlag& cancel);

  /// Returns the output file. With --split, which writes several files, returns the file that lists them. Returns null
  /// for a stream.
  OutputFile* file() const { return file_.get(); }
  /// Returns the files into which --split divides the output, or null without --split. With --split, write records by
  /// OutputParts::Write() and not by Write().
  OutputParts* parts() const { return parts_.get(); }
  /// If the output overwrites an existing file in place, returns the attributes of that file. If that file is also an
  /// input, the caller must read it completely before writing. Returns std::nullopt if the output is a new file.
  std::optional<FileFacts> overwritten() const;
  /// Returns true if the caller must write the output from its beginning to its end, without jumps to other offsets.
  bool in_order() const { return !file_ || encoder_; }
  bool compressed() const { return encoder_ != nullptr; }
  /// Returns the resource that is busy while bytes are written: a disk, or a pipe to another program.
  Resource target() const { return stream_ && !stream_->on_disk() ? Resource::kPipeWrite : Resource::kDiskWrite; }
  /// Returns the header of the output: the bytes before its first record.
  const std::vector<std::byte>& header() const { return header_; }
  void SetHeader(std::span<const std::byte> header) { header_.assign(header.begin(), header.end()); }
  /// Returns the trailer of the output: the bytes after its last record.
  const std::vector<std::byte>& trailer() const { return trailer_; }
  void SetTrailer(std::span<const std::byte> trailer) { trailer_.assign(trailer.begin(), trailer.end()); }

  /// Makes later calls of Write() compress the output. `clock` measures the time that compression takes, and must
  /// outlive this object.
  void Compress(Codec codec, const EncoderOptions& options, StageClock& clock);
  /// Returns true if the output is a stream and some records were already sent to it. They cannot be taken back.
  /// Call this after a failure. Nothing more is sent before the next call of Write(), LendRows() or Finish().
  bool sent();
  /// Prepares to write the output again from its beginning, after a failure. Do not call this if sent() is true.
  void Restart();
  /// Reserves disk space for `bytes` bytes. FinishReserving() waits until the work is done.
  void Reserve(std::uint64_t bytes);
  /// If the output is on a tmpfs (a file system in memory), starts a thread that allocates memory for the output. Call
  /// this once, and call AllIsKnown() after the whole input was read.
  /// - known() returns how many bytes will be written, as far as this is known so far.
  /// - Does nothing with --split or if the output is compressed.
  void MakePages(FileSystem& files, const std::function<std::uint64_t()>& known);
  void AllIsKnown() {
    if (pages_) pages_->AllIsKnown();
  }
  /// Waits until all disk space of Reserve() is reserved.
  void FinishReserving() {
    if (reserving_.valid()) reserving_.get();
  }
  /// With --split: frees the space that Reserve() has reserved, so that the parts can use this space. Call this before
  /// the parts are written.
  void ReleaseForParts() {
    if (!parts_) return;
    FinishReserving();
    file_->Release();
  }

  /// Writes `bytes` at offset `at` of the output. If the output is compressed, `at` is an offset before compression. If
  /// an earlier attempt has failed, skips the bytes that a stream has already accepted.
  void Write(std::uint64_t at, std::span<const std::byte> bytes);
  /// Returns true if LendRows() saves time: the encoder uses the marks of rows.
  bool takes_marks() const { return encoder_ && codec_ == Codec::kParquet; }
  /// Writes whole rows as Write() does. The rows must stay unchanged until the next call of ReturnRows(). Call this
  /// only if takes_marks() is true.
  void LendRows(std::uint64_t at, const MarkedRows& rows);
  /// Waits until no thread reads the rows of LendRows(). Call this also after an exception.
  void ReturnRows() noexcept {
    if (encoder_) encoder_->Return();
  }
  /// Ends the output. `bytes` is the size of the output before compression. Returns the size after compression.
  std::uint64_t Finish(std::uint64_t bytes);
  /// Reads the finished output file back. Throws Error(kIntegrity) if the header, the order or the checksum `sum` is
  /// wrong.
  /// - `keys` makes the sort keys of the records, or is null.
  /// - If `unique` is true, two equal keys are an error, too.
  /// - `longest` is the size of the longest record in bytes.
  /// - `state` is the state of the format's parser before the first record.
  void Verify(const RecordLayout& layout, const RecordFormat& format, const KeyScheme* keys, bool unique,
              std::uint64_t longest, const RecordSum& sum, const std::string& state, HostMemory& memory,
              const CancelFlag& cancel, Progress& progress);
  /// Reads the first `bytes` bytes of the output, which an earlier process has written. Returns true if these bytes
  /// match `front`, which the earlier process has stored. Call this before SetTrailer(). The other parameters are as in
  /// Verify().
  bool HasFront(std::uint64_t bytes, const OutputProof::Front& front, const RecordLayout& layout,
                const RecordFormat& format, const KeyScheme* keys, bool unique, std::uint64_t longest,
                HostMemory& memory, const CancelFlag& cancel, Progress& progress);
  /// Sets the size and the permissions of the finished files. If `sync` is true, waits until the files are on the disk.
  /// Call Finish() before this.
  void Complete(bool sync);
  /// Completes the files as Complete() does, and then gives them their final names: first the output, and then its
  /// index. If the output is a stream, closes it. Call Finish() before this.
  void Publish(bool sync);
  /// Returns a message for each output file that replaces an old file but did not get all of its permissions and
  /// attributes.
  std::vector<std::string> Lost() const;

 private:
  /// Publishes the output and its index. If that fails, the error says that there is no index.
  void PublishWithIndex(bool sync);
  /// Reads the first `bytes` bytes of `file` and adds their records to `read_back`. See Verify() for other parameters.
  void ReadBack(OutputFile& file, std::uint64_t bytes, const RecordLayout& layout, const RecordFormat& format,
                const KeyScheme* keys, std::uint64_t longest, ScanState state, OutputProof& read_back,
                HostMemory& memory, const CancelFlag& cancel, Progress& progress);

  /// Does the same for a file of columns with `stored` bytes, which is decoded into rows.
  void ReadRowsBack(OutputFile& file, std::uint64_t stored, const RecordFormat& format, const KeyScheme& keys,
                    std::uint64_t longest, OutputProof& read_back, HostMemory& memory, const CancelFlag& cancel,
                    Progress& progress);

  std::unique_ptr<OutputFile> file_;    ///< null if the output is a stream
  std::unique_ptr<PipeWriter> stream_;  ///< null if the output is a file
  std::unique_ptr<OutputParts> parts_;
  std::vector<std::byte> header_, trailer_;
  std::future<void> reserving_;
  std::unique_ptr<PageMaker> pages_;
  std::unique_ptr<BlockIndex> index_;  ///< null: no index is written
  Codec codec_ = Codec::kNone;
  EncoderOptions encoder_options_;
  StageClock* clock_ = nullptr;  ///< measures the time of `encoder_`
  std::unique_ptr<Encoder> encoder_;
  std::uint64_t streamed_ = 0;  ///< how many bytes the stream or the encoder has accepted
  std::uint64_t bytes_ = 0;     ///< the size of the finished output before compression
  std::uint64_t stored_ = 0;    ///< the size of the output after compression
};

}  // namespace gpusort

// Writes the output of a job: a new file that gets its name when it is complete, an existing file that is overwritten,
// several files (--split), or a stream. The output may be compressed. Start at Output.
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

/// Makes the pages of a file on a tmpfs in advance, on another thread. A write to a page that exists takes less time.
class PageMaker {
 public:
  /// `known` returns how many bytes will be written, as far as this is known now. `make` makes the pages of a range of
  /// bytes, and returns false or throws if it cannot. `free_space` returns how many bytes are free in the file system.
  /// The thread stops when less space is free than the pages take, because temp files may need it. The thread calls
  /// all three functions.
  PageMaker(std::function<std::uint64_t()> known, std::function<bool(std::uint64_t begin, std::uint64_t end)> make,
            std::function<std::uint64_t()> free_space);
  ~PageMaker();
  /// Says that `known` returns its last result from now on. Any thread may call this.
  void AllIsKnown() { all_known_ = true; }

 private:
  std::atomic<bool> stop_{false}, all_known_{false};
  std::future<void> making_;
};

/// The output of a job. If a GPU fails, the job tries again, and writes the same output once more from its beginning.
/// Do not move an Output after Compress(), Reserve() or MakePages() was called.
class Output {
 public:
  /// Makes an object that writes nothing, for --explain, which only prints the plan of a job.
  Output() = default;
  explicit Output(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}
  explicit Output(std::unique_ptr<OutputParts> parts) : file_(parts->TakeManifest()), parts_(std::move(parts)) {}
  explicit Output(std::unique_ptr<PipeWriter> stream) : stream_(std::move(stream)) {}
  /// Opens the output of the job `spec` before any work is done. Throws Error(kUsage) if the output cannot be written.
  static Output Open(FileSystem& files, const JobSpec& spec, CancelFlag& cancel);

  /// Returns the output file. With --split, which writes several files, returns the file that lists them. Returns null
  /// for a stream.
  OutputFile* file() const { return file_.get(); }
  /// Returns the files into which --split divides the output, or null without --split. If there are such files, records
  /// are written to them, and not by Write().
  OutputParts* parts() const { return parts_.get(); }
  /// Returns the attributes of the output file if it already exists and is overwritten in place. If this file is also
  /// an input, the caller must read it completely before writing. Returns std::nullopt if the output is a new file.
  std::optional<FileFacts> overwritten() const;
  /// Returns true if Write() must be called in the order of the offsets.
  bool in_order() const { return !file_ || encoder_; }
  bool compressed() const { return encoder_ != nullptr; }
  /// Returns the resource that is busy while bytes are written: a disk, or a pipe to another program.
  Resource target() const { return stream_ && !stream_->on_disk() ? Resource::kPipeWrite : Resource::kDiskWrite; }
  /// Returns the header of the output, which is the bytes before its first record.
  const std::vector<std::byte>& header() const { return header_; }
  void SetHeader(std::span<const std::byte> header) { header_.assign(header.begin(), header.end()); }
  /// Returns the trailer of the output, which is the bytes after its last record.
  const std::vector<std::byte>& trailer() const { return trailer_; }
  void SetTrailer(std::span<const std::byte> trailer) { trailer_.assign(trailer.begin(), trailer.end()); }

  /// Lets Write() compress the output from now on. `clock` measures the time of the work and must outlive this object.
  void Compress(Codec codec, const EncoderOptions& options, StageClock& clock);
  /// Returns true if the output is a stream that has accepted records, which cannot be taken back.
  bool sent() const { return stream_ && (encoder_ ? stored_ > 0 : streamed_ > header_.size()); }
  /// Prepares to write the output again from its beginning, after a failure. Do not call this if sent() is true.
  void Restart();
  /// Reserves disk space for `bytes` bytes, so that a full disk ends the job now and not after hours. On a tmpfs this
  /// is slow, so another thread does it, and Write() waits only for the bytes that it writes. With --split, the file
  /// that lists the parts holds the space.
  void Reserve(FileSystem& files, std::uint64_t bytes);
  /// If the output is kept in memory (tmpfs), starts to make its pages on another thread while the input is read.
  /// `known` returns how many bytes will be written, as far as this is known now. Does nothing if the output is
  /// compressed or divided. Call this once, and AllIsKnown() when the input is read.
  void MakePages(FileSystem& files, const std::function<std::uint64_t()>& known);
  void AllIsKnown() {
    if (pages_) pages_->AllIsKnown();
  }
  /// Waits until the disk space that Reserve() asks for is reserved.
  void FinishReserving() {
    if (reserving_.valid()) reserving_.get();
  }
  /// With --split: frees the space that Reserve() has reserved. Call this before the parts are written, which then take
  /// it.
  void ReleaseForParts() {
    if (!parts_) return;
    FinishReserving();
    file_->Release();
  }

  /// Writes `bytes` at offset `at` of the output; offsets count before compression. If an earlier attempt has failed,
  /// skips the bytes that a stream has already accepted.
  void Write(std::uint64_t at, std::span<const std::byte> bytes);
  /// Ends the output. `bytes` is its size before compression. Returns its size after compression.
  std::uint64_t Finish(std::uint64_t bytes);
  /// Reads the finished file back from the disk. Throws Error(kIntegrity) if the header, the order of the records or
  /// their checksum `sum` is wrong. `longest` is the size of the longest record, and `state` is the state of the
  /// format's parser before the first record. `keys` makes sort keys if records cannot be compared in `layout`;
  /// otherwise it is null. If `unique` is true, no two keys may be equal.
  void Verify(const RecordLayout& layout, const RecordFormat& format, const KeyScheme* keys, bool unique,
              std::uint64_t longest, const RecordSum& sum, const std::string& state, HostMemory& memory,
              const CancelFlag& cancel, Progress& progress);
  /// Reads back the first `bytes` bytes of the output, which an earlier process has written. Returns false if they are
  /// not the records whose checksum `front` holds. Call this before SetTrailer(), because these bytes have no trailer.
  /// The other parameters are as in Verify().
  bool HasFront(std::uint64_t bytes, const OutputProof::Front& front, const RecordLayout& layout,
                const RecordFormat& format, const KeyScheme* keys, bool unique, std::uint64_t longest,
                HostMemory& memory, const CancelFlag& cancel, Progress& progress);
  /// Sets the size and the permissions of the finished files. If `sync` is true, waits until the files are on the disk.
  /// Call Finish() before this.
  void Complete(bool sync);
  /// Does what Complete() does, and then gives the files their names. If the output is a stream, closes it. Call
  /// Finish() before this.
  void Publish(bool sync);
  /// Returns one message for each file that could not be given all permissions or attributes of the file that it has
  /// replaced.
  std::vector<std::string> Lost() const;

 private:
  /// Reads the first `bytes` bytes of `file` and passes the records to `read_back`, which checks them.
  void ReadBack(OutputFile& file, std::uint64_t bytes, const RecordLayout& layout, const RecordFormat& format,
                const KeyScheme* keys, std::uint64_t longest, ScanState state, OutputProof& read_back,
                HostMemory& memory, const CancelFlag& cancel, Progress& progress);

  std::unique_ptr<OutputFile> file_;    ///< null if the output is a stream
  std::unique_ptr<PipeWriter> stream_;  ///< null if the output is a file
  std::unique_ptr<OutputParts> parts_;
  std::vector<std::byte> header_, trailer_;
  std::future<void> reserving_;
  std::unique_ptr<PageMaker> pages_;
  Codec codec_ = Codec::kNone;
  EncoderOptions encoder_options_;
  StageClock* clock_ = nullptr;  ///< measures the encoder
  std::unique_ptr<Encoder> encoder_;
  std::uint64_t streamed_ = 0;  ///< how many bytes the stream or the encoder has accepted
  std::uint64_t bytes_ = 0;     ///< the size of the finished output before compression
  std::uint64_t stored_ = 0;    ///< the size of the output after compression
};

}  // namespace gpusort

// Writes the output of --split: several files (the parts), and a file that lists the parts (the manifest). The parts
// get their names only when all parts are complete. Start at OutputParts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/proof.hpp"
#include "io/codec/codec.hpp"
#include "io/file.hpp"
#include "io/output_file.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// The maximum number of files into which --split divides an output. Each file needs two file descriptors, and the
/// usual limit of a process is 1024.
inline constexpr unsigned kMostParts = 256;

/// Returns the name of the index that --index writes.
std::string IndexName(const JobSpec& spec);

/// Returns the names of the files that are written in addition to OUTPUT. With --split: the parts and then the
/// manifest, which lists the parts. With --index: the index. Otherwise returns an empty list.
std::vector<std::string> PartNames(const JobSpec& spec);

/// Returns the error message for --split with the output `output`, which is a folder.
std::string SplitIntoFolder(const std::string& output);

/// The files that --split writes. Several threads may call Write() at the same time. Only one thread at a time may call
/// the other members.
class OutputParts {
 public:
  /// Creates the files. Throws Error(kUsage) if a file cannot be created or replaced.
  OutputParts(FileSystem& files, const JobSpec& spec);

  /// Returns the file that lists the parts (the manifest). The caller then owns the file. Call this once.
  std::unique_ptr<OutputFile> TakeManifest() { return std::move(manifest_); }

  /// Writes `header` at the beginning of every file of --split. Also forgets all records that a failed earlier attempt
  /// has written.
  void Begin(RecordSpan header);
  /// Reserves a place in file number `part` for records of `bytes` bytes. Returns the offset at which the caller must
  /// write them.
  /// - `sum`: the checksum of the records.
  /// - `first` and `last`: the first and the last of these records.
  std::uint64_t Add(unsigned part, std::uint64_t bytes, const RecordSum& sum, RecordSpan first, RecordSpan last);
  void Write(unsigned part, std::uint64_t at, RecordSpan bytes) { parts_[part].file->WriteAt(at, bytes); }
  /// Makes Append() encode the files, which replaces Add() and Write(). Call this before Begin().
  void Encode(Codec codec, const EncoderOptions& options) {
    codec_ = codec;
    encoder_options_ = options;
  }
  bool encoded() const { return codec_ != Codec::kNone; }
  /// Encodes `records` to the end of file number `part`, which must not be smaller than in the call before. `sum` is
  /// the checksum of the records.
  void Append(unsigned part, RecordSpan records, const RecordSum& sum);
  /// Writes `trailer` at the end of every file of --split.
  void End(RecordSpan trailer);
  /// Returns the size of all files of --split together, in bytes.
  std::uint64_t bytes() const;

  /// Returns the text of the file that lists the parts (the manifest), in JSON.
  std::string Manifest() const;
  /// Sets the final size and the permissions of all files. If `sync` is true, waits until the files are on the disk.
  /// `manifest` is the file that lists the parts, and has `manifest_bytes` bytes.
  void Complete(OutputFile& manifest, std::uint64_t manifest_bytes, bool sync);
  /// Calls Complete(). Then gives all files their final names, and `manifest` last. If a file fails after others got
  /// their names, the error message says so.
  void Publish(OutputFile& manifest, std::uint64_t manifest_bytes, bool sync);

  // The following members are used when the files are read back and checked.
  unsigned count() const { return static_cast<unsigned>(parts_.size()); }
  OutputFile& file(unsigned part) const { return *parts_[part].file; }
  std::uint64_t bytes(unsigned part) const { return parts_[part].bytes; }
  const RecordSum& sum(unsigned part) const { return parts_[part].sum; }

 private:
  struct Part {
    std::string name;
    std::unique_ptr<OutputFile> file;
    std::uint64_t bytes = 0;
    RecordSum sum{};
    std::string first{}, last{};  ///< the beginning of the first and of the last record
  };

  /// Ends all files before file number `part`, and begins this file.
  void BeginEncoded(std::size_t part);

  const std::string format_;
  std::unique_ptr<OutputFile> manifest_;
  std::vector<Part> parts_;
  std::uint64_t header_bytes_ = 0;
  // Only after Encode(): the header, and the file that `encoder_` writes. Files from `next_` on have not begun.
  Codec codec_ = Codec::kNone;
  EncoderOptions encoder_options_;
  std::vector<std::byte> header_;
  std::size_t next_ = 0;
  std::unique_ptr<Encoder> encoder_;
};

}  // namespace gpusort

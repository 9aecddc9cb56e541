// The files of an output that --split cuts into parts, and their manifest. No part gets its name before all parts are
// complete and synced. Output owns the parts; the sink decides which records belong to which part. Start at
// OutputParts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/proof.hpp"
#include "io/file.hpp"
#include "io/output_file.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Each part takes two file descriptors.
inline constexpr unsigned kMostParts = 256;

/// Returns the names of all files that --split writes, the manifest last. Empty without --split.
std::vector<std::string> PartNames(const JobSpec& spec);

/// The message for an OUTPUT of --split that is a folder.
std::string SplitIntoFolder(const std::string& output);

/// One thread at a time may call this. Any number of threads may call Write.
class OutputParts {
 public:
  /// Error(kUsage) if a file cannot be made or replaced.
  OutputParts(FileSystem& files, const JobSpec& spec);

  /// Returns the file for the manifest. Call this once.
  std::unique_ptr<OutputFile> TakeManifest() { return std::move(manifest_); }

  /// Begins every part with `header`, over the bytes of an earlier attempt.
  void Begin(RecordSpan header);
  /// Returns the offset for the next `bytes` bytes of records of a part. `first` and `last` are the first and the last
  /// of these records, as they are written.
  std::uint64_t Add(unsigned part, std::uint64_t bytes, const RecordSum& sum, RecordSpan first, RecordSpan last);
  void Write(unsigned part, std::uint64_t at, RecordSpan bytes) { parts_[part].file->WriteAt(at, bytes); }
  /// Ends every part with `trailer`.
  void End(RecordSpan trailer);
  /// The size of all parts together.
  std::uint64_t bytes() const;

  /// Returns the text of the manifest, in JSON.
  std::string Manifest() const;
  /// Gives each file its size and its rights, and syncs it if asked. The manifest has `manifest_bytes` bytes.
  void Complete(OutputFile& manifest, std::uint64_t manifest_bytes, bool sync);
  /// Completes the files, then renames the parts and at last the manifest. The text of an error, or OutOfMemoryText,
  /// says if some parts are in place.
  void Publish(OutputFile& manifest, std::uint64_t manifest_bytes, bool sync);

  // For reading the parts back:
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
    std::string first{}, last{};  ///< the records
  };

  const std::string format_;
  std::unique_ptr<OutputFile> manifest_;
  std::vector<Part> parts_;
  std::uint64_t header_bytes_ = 0;
};

}  // namespace gpusort

// Writes the parts into which --split cuts an output, and the manifest that lists the parts. No part gets its name
// before all parts are complete and synced. A sink decides which records go to which part. Start at OutputParts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/proof.hpp"
#include "io/file.hpp"
#include "io/output_file.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// The maximum number of parts of --split. Each part needs two file descriptors.
inline constexpr unsigned kMostParts = 256;

/// Returns the names of all files that --split writes; the last name is the manifest's. Returns {} without --split.
std::vector<std::string> PartNames(const JobSpec& spec);

/// Returns the error message for an OUTPUT of --split that is a folder.
std::string SplitIntoFolder(const std::string& output);

/// Only Write may be called by several threads at the same time.
class OutputParts {
 public:
  /// Creates the files. Throws Error(kUsage) if a file cannot be created or replaced.
  OutputParts(FileSystem& files, const JobSpec& spec);

  /// Passes the ownership of the manifest's file to the caller. Call this once.
  std::unique_ptr<OutputFile> TakeManifest() { return std::move(manifest_); }

  /// Begins every part with `header`. Forgets the bytes of an earlier attempt.
  void Begin(RecordSpan header);
  /// Adds `bytes` bytes of records to a part, and returns the offset at which the caller must write these records.
  /// `sum` is the sum of these records. `first` and `last` are the first and the last of these records.
  std::uint64_t Add(unsigned part, std::uint64_t bytes, const RecordSum& sum, RecordSpan first, RecordSpan last);
  void Write(unsigned part, std::uint64_t at, RecordSpan bytes) { parts_[part].file->WriteAt(at, bytes); }
  /// Writes `trailer` at the end of every part.
  void End(RecordSpan trailer);
  /// Returns the size of all parts together.
  std::uint64_t bytes() const;

  /// Returns the text of the manifest, in JSON.
  std::string Manifest() const;
  /// Sets size and permissions of all files, and syncs them if `sync` is true. The manifest has `manifest_bytes` bytes.
  void Complete(OutputFile& manifest, std::uint64_t manifest_bytes, bool sync);
  /// Completes the files, then renames the parts and finally the manifest. If only some files were renamed, the message
  /// of the error, or OutOfMemoryText(), says so.
  void Publish(OutputFile& manifest, std::uint64_t manifest_bytes, bool sync);

  // Members for reading the parts back:
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

  const std::string format_;
  std::unique_ptr<OutputFile> manifest_;
  std::vector<Part> parts_;
  std::uint64_t header_bytes_ = 0;
};

}  // namespace gpusort

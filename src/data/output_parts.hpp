// The files of an output that --split cuts into parts, and what their manifest says of each. Promises that no part gets
// its name before all are whole and synced. Output holds them; the sink says what goes where. Start at OutputParts.
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

/// Each takes two file descriptors.
inline constexpr unsigned kMostParts = 256;

/// With --split the names of all files that are written, the manifest last; else none.
std::vector<std::string> PartNames(const JobSpec& spec);

/// The message for an OUTPUT of --split that is a folder.
std::string SplitIntoFolder(const std::string& output);

/// One thread at a time, but for Write.
class OutputParts {
 public:
  /// Error(kUsage) if a file cannot be made or replaced.
  OutputParts(FileSystem& files, const JobSpec& spec);

  /// The file for Manifest, once.
  std::unique_ptr<OutputFile> TakeManifest() { return std::move(manifest_); }

  /// Begins every part with `header`, in place of what an attempt before has written.
  void Begin(RecordSpan header);
  /// Gives `bytes` of records, the next of the part, their place. `first` and `last` are those of them, as they lie.
  std::uint64_t Add(unsigned part, std::uint64_t bytes, const RecordSum& sum, RecordSpan first, RecordSpan last);
  /// Any thread.
  void Write(unsigned part, std::uint64_t at, RecordSpan bytes) { parts_[part].file->WriteAt(at, bytes); }
  /// Ends every part with `trailer`.
  void End(RecordSpan trailer);
  /// Of all parts.
  std::uint64_t bytes() const;

  /// JSON.
  std::string Manifest() const;
  /// Gives each file its size and its rights, and syncs it if asked. The manifest has `manifest_bytes` bytes.
  void Complete(OutputFile& manifest, std::uint64_t manifest_bytes, bool sync);
  /// Completes the files, then renames the parts and last the manifest. An error, or OutOfMemoryText, tells if some
  /// parts are in place.
  void Publish(OutputFile& manifest, std::uint64_t manifest_bytes, bool sync);

  /// For who reads them back:
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
    std::string first{}, last{};  ///< record
  };

  const std::string format_;
  std::unique_ptr<OutputFile> manifest_;
  std::vector<Part> parts_;
  std::uint64_t header_bytes_ = 0;
};

}  // namespace gpusort

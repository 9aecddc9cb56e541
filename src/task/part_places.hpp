// The files that the parts of an output lie in until the whole output is proved. Start at PartPlaces.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/file.hpp"
#include "spec/job_spec.hpp"
#include "task/job_folder.hpp"
#include "task/run_file.hpp"

namespace gpusort {

/// There are three kinds of output. In a folder, every part stays a file. Into a single plain file, every part writes
/// at its offset. A single compressed file is joined from files of the parts by the proof, because the sizes of
/// compressed parts are not known before.
class PartPlaces {
 public:
  /// `output` ends with '/' for a folder. Throws Error(kUsage) if a single output cannot be replaced.
  PartPlaces(FileSystem& files, const JobSpec& spec, const std::string& output, const TaskCut& cut);

  /// The output is a folder.
  bool apart() const { return !whole_; }
  /// The proof joins the files of the parts.
  bool joins() const { return whole_ && codec_ != Codec::kNone; }
  /// Every part has its own file.
  bool own_files() const { return apart() || joins(); }
  /// The folder of these files.
  std::string folder() const { return apart() ? output_ : hidden_ + "/"; }
  std::string PathOf(std::uint64_t part) const;
  /// The single output; null for a folder.
  OutputFile* whole() const { return whole_.get(); }
  /// The name of the hidden file or folder, in the folder of the output.
  std::string hidden_name() const { return hidden_.substr(hidden_.rfind('/') + 1); }

  /// Creates the file of a part, and its folder. A hidden folder is for this user alone.
  std::unique_ptr<OutputFile> Create(std::uint64_t part) const;
  /// Opens the shared hidden file at byte `at`. The first part that comes makes the file.
  detail::Fd OpenShared(std::uint64_t at) const;
  /// Returns whether the proof has joined the parts. The facts of the first part then describe the output.
  bool IsJoined(JobFolder& folder) const;
  /// Returns whether the file at `path` is the one that `part` was written to, and has all of its bytes.
  bool IsThere(const TaskPart& part, const std::string& path) const;

 private:
  FileSystem& files_;
  const std::string output_;
  const std::uint64_t parts_;
  const Codec codec_;
  const bool no_clobber_;
  const std::unique_ptr<OutputFile> whole_;
  std::string hidden_;
};

/// Returns when the file was made, in ns; 0 if the file system does not say.
std::uint64_t BirthOf(const std::string& path);

/// Throws Error about a call that failed on the file of a part: `path` cannot be `verb`ed, for the reason in errno.
[[noreturn]] void PartFailed(const std::string& path, const char* verb);

}  // namespace gpusort

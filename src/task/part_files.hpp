// The files into which tasks (processes of one large sort) write the parts of the output. They are not the final output
// until ProveParts() has checked all parts. Start at PartFiles.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/file.hpp"
#include "spec/job_spec.hpp"
#include "task/job_folder.hpp"

namespace gpusort {

/// Names and opens the files into which tasks write the parts of the output. There are three cases:
/// - The output is a folder: each part has a file in it.
/// - The output is a single plain file: every part is written at its offset in this file.
/// - The output is a single compressed file: each part has a separate file, and ProveParts() joins these files.
class PartFiles {
 public:
  /// `output` ends with '/' if it is a folder. Throws Error(kUsage) if the output is a single file that cannot be
  /// replaced.
  PartFiles(FileSystem& files, const JobSpec& spec, const std::string& output, const TaskCut& cut);

  /// Returns true if the output is a folder with a file for each part.
  bool apart() const { return !whole_; }
  /// Returns true if the parts of the output are written to separate files, which ProveParts() joins to a single
  /// compressed file at the end.
  bool joins() const { return whole_ && codec_ != Codec::kNone; }
  /// Returns true if every part of the output has a separate file.
  bool own_files() const { return apart() || joins(); }
  /// Returns the folder that contains the separate files of the parts, with '/' at the end.
  std::string folder() const { return apart() ? output_ : hidden_ + "/"; }
  std::string PathOf(std::uint64_t part) const;
  /// Returns the single output file, or null if the output is a folder.
  OutputFile* whole() const { return whole_.get(); }
  /// Returns the name of the hidden file or folder, next to the final output, that holds the unfinished output. Returns
  /// an empty name if the final output is a folder: its files are written there directly and are not hidden.
  std::string hidden_name() const { return hidden_.substr(hidden_.rfind('/') + 1); }

  /// Creates the file of a part of the output, and its folder.
  std::unique_ptr<OutputFile> Create(std::uint64_t part) const;
  /// Opens the hidden file into which all tasks write their parts, for writing from byte `at` on. Creates the file if
  /// it does not exist.
  detail::Fd OpenShared(std::uint64_t at) const;
  /// Returns true if the separate files of the parts have already been joined to one file. The stored description of
  /// the first part (TaskPart) then describes the whole output.
  bool IsJoined(JobFolder& folder) const;
  /// Returns true if the hidden file into which all parts were written has the name of the output. The output is then
  /// proved.
  bool IsRenamed(JobFolder& folder) const;
  /// Returns true if `path` is the file into which `part` was written, and the file is not too short. Does not read the
  /// file.
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

/// Returns the time when the file was created, in ns since 1970-01-01, or 0 if the file system does not know it.
std::uint64_t BirthOf(const std::string& path);

/// Throws an Error with the text "`path`: cannot `verb`" and the reason from errno. `path` is the file of a part of the
/// output.
[[noreturn]] void PartFailed(const std::string& path, const char* verb);

}  // namespace gpusort

// The folder of a job that survives a kill (--resume-dir): a lock, and the manifest. The manifest only grows. A line is
// on the disk before the job relies on it. Start at Journal.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "io/spill.hpp"
#include "runs/manifest.hpp"

namespace gpusort {

/// Any thread may call Add. All other functions are for one thread.
class Journal {
 public:
  /// Makes the folder if it is missing, locks it and reads its manifest. Throws Error(kUsage) if other users can write
  /// the folder, or if another process, which is named, holds the lock.
  Journal(FileSystem& files, std::string folder);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  /// Removes the folder if no job was begun.
  ~Journal();

  const std::string& folder() const { return folder_; }
  const Manifest& manifest() const { return manifest_; }
  /// Whether an earlier process has begun the job.
  bool resumes() const { return manifest_.job && !manifest_.done; }
  /// Throws Error(kUsage), which names the first difference, if `now` differs from the values that the job began with.
  void RequireSame(const Fingerprint& now) const;

  /// Begins an attempt. Call it before the first run is written. `job` is used unless the journal resumes a job. Makes
  /// folders below `temp_dirs`, which are used from now on in addition to earlier ones.
  void Begin(KeptJob job, const KeptAttempt& attempt, const std::vector<std::string>& temp_dirs);
  /// The directories of the spill.
  std::vector<std::string> directories() const;
  NamedSpill spill() const;

  // Each of these returns once its line is on the disk.
  /// Records a run, which replaces the runs that it was merged from.
  void Add(const KeptRun& run, const std::vector<std::uint64_t>& replaces);
  void SetFormed(const std::vector<std::byte>& trailer);
  void SetMerged(const KeptMerge& merge);
  void SetPublishing(const KeptOutput& output);
  /// Drops the checkpoint: the last merge begins anew.
  void ForgetMerge();
  /// Drops all runs so far.
  void DropRuns();
  /// Records that the output is in place. Unless `keep`, removes all files of the job, and the folder if it is then
  /// empty.
  void Finish(bool keep);

  /// As DescribeProgress. Any thread.
  std::string Progress() const;

 private:
  void Lock();
  /// Writes a line and syncs it. The line counts only after that.
  void Put(const char* kind, const nlohmann::ordered_json& value);
  void MakeDirectory(const std::string& directory, bool has_runs);
  void RemoveRuns();
  void RemoveFolder(bool all);

  FileSystem& files_;
  const std::string folder_;
  detail::Fd directory_, lock_;
  std::unique_ptr<File> file_;
  mutable std::mutex mutex_;
  Manifest manifest_;
  bool made_ = false;           ///< this process has made the folder
  std::exception_ptr failure_;  ///< of the first write that failed: the content of the file is unknown after it
};

/// Returns the text of --status. Throws Error(kUsage) if there is no job in the folder.
std::string DescribeJob(FileSystem& files, const std::string& folder);

}  // namespace gpusort

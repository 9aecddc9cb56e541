// The folder of a job that survives a kill (--resume-dir). It contains a lock file and the manifest, to which lines are
// only appended. A line is on the disk before the job relies on it. Start at Journal.
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

/// Owns the folder and the manifest of a job that can be resumed. Any thread may call Add, SetMerged and Progress. Only
/// the thread of the job may call the other functions.
class Journal {
 public:
  /// Makes the folder if it is missing, locks it and reads the manifest. Throws Error(kUsage) if other users can write
  /// to the folder, or if another process holds the lock. The message names that process.
  Journal(FileSystem& files, std::string folder);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  /// Removes the folder if no job was begun.
  ~Journal();

  const std::string& folder() const { return folder_; }
  const Manifest& manifest() const { return manifest_; }
  /// Returns true if an earlier process has begun the job and no process has finished it.
  bool resumes() const { return manifest_.job && !manifest_.done; }
  /// Throws Error(kUsage), which names the first difference, if `now` differs from the fingerprint of the begun job.
  void RequireSame(const Fingerprint& now) const;

  /// Begins an attempt. Call it before the first run is written. `job` is ignored if an earlier process has begun the
  /// job. Makes folders for the spill below `temp_dirs`, in addition to those of earlier attempts.
  void Begin(KeptJob job, const KeptAttempt& attempt, const std::vector<std::string>& temp_dirs);
  /// Returns the directories of the spill.
  std::vector<std::string> directories() const;
  NamedSpill spill() const;

  // Each of the following functions returns after its line is on the disk.
  /// Records a run and removes the runs with the ids `replaces`, from which the run was merged.
  void Add(const KeptRun& run, const std::vector<std::uint64_t>& replaces);
  void SetFormed(const std::vector<std::byte>& trailer);
  void SetMerged(const KeptMerge& merge);
  void SetPublishing(const KeptOutput& output);
  /// Drops the last checkpoint. The last merge must then begin again.
  void ForgetMerge();
  void DropRuns();
  /// Records that the output is published. Unless `keep`, removes the job's files, and the folder if it is then empty.
  void Finish(bool keep);

  /// Returns DescribeProgress() of the manifest. Any thread may call this.
  std::string Progress() const;

 private:
  void Lock();
  /// Appends a line to the manifest, syncs the file, and then adds the line to manifest_.
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
  std::exception_ptr failure_;  ///< the error of the first failed write, after which the manifest is unusable
};

/// Returns the text of --status. Throws Error(kUsage) if there is no job in the folder.
std::string DescribeJob(FileSystem& files, const std::string& folder);

}  // namespace gpusort

// The folder of a job that survives a kill (--resume-dir). It contains a lock file and the manifest, a log of what is
// done: lines are only appended. Each line is on the disk before the job relies on it. Start at Journal.
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
/// the main thread of the job may call the other functions.
class Journal {
 public:
  /// Makes the folder if it is missing, locks it and reads the manifest. Throws Error(kUsage) if other users can write
  /// to the folder, or if another process has locked it; the message names that process.
  Journal(FileSystem& files, std::string folder);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  /// If no job was begun: removes the files in the folder, and the folder too if this process made it.
  ~Journal();

  const std::string& folder() const { return folder_; }
  const Manifest& manifest() const { return manifest_; }
  /// Returns true if an earlier process has begun the job and no process has finished it.
  bool resumes() const { return manifest_.job && !manifest_.done; }
  /// Throws Error(kUsage) if the options or inputs of the job have changed: `now` must equal the fingerprint in the
  /// manifest. The message names the first difference.
  void RequireSame(const Fingerprint& now) const;

  /// Begins an attempt, which is the work of one process at the job. Call it before the first run is written. `job` is
  /// ignored if an earlier process has begun the job. Makes folders for temp files below `temp_dirs`, in addition to
  /// those of earlier attempts.
  void Begin(KeptJob job, const KeptAttempt& attempt, const std::vector<std::string>& temp_dirs);
  /// Returns the directories of the temp files.
  std::vector<std::string> directories() const;
  NamedSpill spill() const;

  // Each of the following functions appends a line to the manifest, and returns when the line is on the disk.
  /// Adds a complete run. If the run was merged from other runs, `replaces` has their ids, and they are removed.
  void Add(const KeptRun& run, const std::vector<std::uint64_t>& replaces);
  void SetFormed(const std::vector<std::byte>& trailer);
  void SetMerged(const KeptMerge& merge);
  void SetPublishing(const KeptOutput& output);
  /// Drops the checkpoint of the output, so that the output is merged from its beginning.
  void ForgetMerge();
  void DropRuns();
  /// Records that the output is complete and was renamed to its final name. If `keep` is false, removes the job's
  /// files, and then the folder if it is empty.
  void Finish(bool keep);

  /// Returns how far the job is, as text for people: DescribeProgress() of the manifest. Any thread may call this.
  std::string Progress() const;

 private:
  void Lock();
  /// Appends a line to the manifest and syncs the file. Then changes manifest_ accordingly.
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
  bool made_ = false;  ///< true: this process has made the folder
  /// The error of the first write that failed; null: none. The manifest cannot be used after it.
  std::exception_ptr failure_;
};

/// Returns the text that --status prints about the job in `folder`. Throws Error(kUsage) if there is no job.
std::string DescribeJob(FileSystem& files, const std::string& folder);

}  // namespace gpusort

// The folder of a job that can be resumed after a kill (--resume-dir). It contains two files: a lock file, and a log of
// the finished work (the manifest). The job waits until each line of the log is on the disk. Start at Journal.
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

/// Owns the folder of a job that can be resumed, and the manifest (log file) in it. Any thread may call Add, SetMerged
/// and Progress. Only the main thread of the job may call the other functions.
class Journal {
 public:
  /// Opens the folder of a job: makes it if it is missing, locks it, and reads the manifest (log file) in it. Throws
  /// Error(kUsage) if other users can write to the folder, or if another process has locked the folder. The message
  /// names that process.
  Journal(FileSystem& files, std::string folder);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  /// If no job has begun: removes the files in the folder, and also the folder itself if this process has made it.
  ~Journal();

  const std::string& folder() const { return folder_; }
  const Manifest& manifest() const { return manifest_; }
  /// Returns true if an earlier process has begun the job and no process has finished it.
  bool resumes() const { return manifest_.job && !manifest_.done; }
  /// Checks that `now`, the options and inputs of this process, are the same as those in the manifest. Throws
  /// Error(kUsage) if they differ, with a message that names the first difference.
  void RequireSame(const Fingerprint& now) const;

  /// Writes to the manifest that this process begins to work on the job. Call this before the first sorted run is
  /// written.
  /// - `job`: the values that never change. Not used if resumes() is true.
  /// - `temp_dirs`: the directories in which this call makes folders for temp files.
  void Begin(KeptJob job, const KeptAttempt& attempt, const std::vector<std::string>& temp_dirs);
  /// Returns the directories that contain the temp files of the job.
  std::vector<std::string> directories() const;
  NamedSpill spill() const;

  // Each of the following functions appends a line to the manifest (the log file of the job), and returns when this
  // line is on the disk.

  /// Adds a sorted run to the manifest. The run must be completely in temp files. If it was merged from other runs,
  /// `replaces` has the ids of these runs, which are removed from the manifest.
  void Add(const KeptRun& run, const std::vector<std::uint64_t>& replaces);
  void SetFormed(const std::vector<std::byte>& trailer);
  void SetMerged(const KeptMerge& merge);
  void SetPublishing(const KeptOutput& output);
  /// Drops the checkpoint of the output, so that a later process writes the output from its beginning.
  void ForgetMerge();
  void DropRuns();
  /// Records that the output is complete and has got its final name. If `keep` is false, removes the files of the job
  /// from its folder, and then the folder if it is empty.
  void Finish(bool keep);

  /// Returns how far the job has come, as text for people (see DescribeProgress). Any thread may call this.
  std::string Progress() const;

 private:
  void Lock();
  /// Appends a line to the manifest (the log file of the job) and syncs the file. Then updates `manifest_`, its content
  /// in memory.
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
  /// The error of the first write to the manifest that has failed; null: no write has failed. After such an error,
  /// nothing more is written to the manifest.
  std::exception_ptr failure_;
};

/// Returns the text that --status prints about the job in `folder`. Throws Error(kUsage) if the folder contains no job.
std::string DescribeJob(FileSystem& files, const std::string& folder);

}  // namespace gpusort

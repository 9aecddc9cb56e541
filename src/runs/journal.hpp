// The folder of a job that survives a kill (--resume-dir): a lock, and a manifest that says what is on the disk. The
// manifest only grows, by lines of JSON that are on the disk before what they say is relied on; io/FORMAT.md has them.
// Each has a hash that covers the lines in front of it, so that a torn last line is dropped and any other damage is
// kIntegrity. Start at Journal; ReadManifest is a pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/inputs.hpp"
#include "data/proof.hpp"
#include "io/file.hpp"
#include "io/spill.hpp"

namespace gpusort {

/// The file in the folder that makes it one of a job.
inline constexpr const char* kManifestName = "gpusort.manifest";

/// What must be as it was for a job to go on: names, as messages have them, and values.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

/// What holds for all attempts at a job: its first line.
struct KeptJob {
  std::uint64_t id = 0;           ///< of its blocks
  std::uint64_t block_bytes = 0;  ///< of the spill
  bool keyed = false;             ///< runs hold keyed records
  std::string partial;            ///< name of what is written of the output, in its folder
  std::string input, output;      ///< for people
  std::uint64_t input_bytes = 0;
  Fingerprint fingerprint;
};

/// What one process did.
struct KeptAttempt {
  std::string host;
  std::uint64_t pid = 0;
  std::string begin;                     ///< UTC
  bool compresses = false;               ///< what it spilled may be compressed
  std::vector<std::string> directories;  ///< of the spill, by their numbers; ".": the folder itself
  std::vector<std::uint64_t> ctimes;     ///< of each input, in ns: the inode's time of the last change
  std::uint64_t runs_kept = 0;           ///< that were there when it began
  // Of its runs:
  std::uint64_t runs_made = 0, bytes_read = 0;
};

/// A run, but for its blocks: those its index tells, which lies in blocks of the spill, too.
struct KeptRun {
  std::uint64_t id = 0, bytes = 0;
  std::uint32_t level = 0;
  RecordSum sum;
  std::vector<InputRange> origin;
  std::uint64_t blocks = 0, longest = 0;  ///< their number, and bytes of the longest: no record is longer
  std::vector<SpillExtent> index;
};

/// How far the last merge is.
struct KeptMerge {
  std::uint64_t output_bytes = 0;  ///< that are on the disk
  OutputProof::Front front;
  std::map<std::uint64_t, std::uint64_t> taken;  ///< bytes of each run, by id
};

/// The complete output, which keeps inode, size and time when it gets its name.
struct KeptOutput {
  std::uint64_t inode = 0, bytes = 0, mtime_ns = 0, records = 0;
  friend bool operator==(const KeptOutput&, const KeptOutput&) = default;
};

/// What a manifest says.
struct Manifest {
  std::optional<KeptJob> job;
  std::vector<KeptAttempt> attempts;
  std::map<std::uint64_t, KeptRun> runs;  ///< by id
  bool formed = false;                    ///< all of the input is in runs
  std::vector<std::byte> trailer;         ///< of the output, once formed
  std::optional<KeptMerge> merge;         ///< of just these runs
  std::optional<KeptOutput> publishing;   ///< that a process was about to put in place
  bool done = false;
  std::uint64_t bytes = 0;  ///< of the lines that count
  std::uint64_t hash = 0;   ///< of the last one

  /// Bytes of the input that runs hold.
  std::uint64_t bytes_formed() const;
};
/// `name`: for messages. Error(kIntegrity) naming the line if anything but the end of the last one is damaged, and
/// Error(kUsage) if a later version wrote it.
Manifest ReadManifest(std::string_view text, const std::string& name);

/// Any thread may add runs; all else is for one.
class Journal {
 public:
  /// Makes the folder if there is none, locks it and reads its manifest. Error(kUsage) if it is no folder of this user
  /// alone, or another job has it, which is named.
  Journal(FileSystem& files, std::string folder);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  /// What was never begun is removed.
  ~Journal();

  const std::string& folder() const { return folder_; }
  const Manifest& manifest() const { return manifest_; }
  /// A job that another process began goes on.
  bool resumes() const { return manifest_.job && !manifest_.done; }
  /// Error(kUsage) that names the first thing that differs from what the job began with.
  void RequireSame(const Fingerprint& now) const;

  /// Before the first run is written: `job` counts if this one does not go on. Makes folders below `temp_dirs`, which
  /// are used from now on beside those before.
  void Begin(KeptJob job, const KeptAttempt& attempt, const std::vector<std::string>& temp_dirs);
  /// Of the spill.
  std::vector<std::string> directories() const;
  NamedSpill spill() const;

  // Each returns when it is on the disk.
  /// The run is kept, in place of those that it was merged from.
  void Add(const KeptRun& run, const std::vector<std::uint64_t>& replaces);
  void SetFormed(const std::vector<std::byte>& trailer);
  void SetMerged(const KeptMerge& merge);
  void SetPublishing(const KeptOutput& output);
  /// The last merge begins anew.
  void ForgetMerge();
  /// None of the runs so far counts.
  void DropRuns();
  /// The output is in place. Removes what was made here, and the folder if nothing else is in it, unless all is kept.
  void Finish(bool keep);

  /// How far it is, for people: "12 runs (3.0 GiB of the input's 8.0 GiB)".
  std::string Progress() const;

 private:
  void Lock();
  /// A line, which counts when it is on the disk.
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
  bool made_ = false;    ///< the folder
  std::exception_ptr failure_;  ///< to write: what is in the file then nobody knows
};

/// What --status prints. Error(kUsage) if there is no job in the folder.
std::string DescribeJob(FileSystem& files, const std::string& folder);

}  // namespace gpusort

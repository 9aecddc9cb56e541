// The folder of a job that is done by many tasks (processes), on one machine or on many. Start at JobFolder.
// A file appears only when it is complete:
// - job.json: the options, the contents of the files that decide about the order, the inputs, and the number of
//   slices (ranges of the input)
// - scan-00003.json: the scan of slice 3 (TaskScan); only for some formats
// - run-00003: a sorted run with the records of slice 3
// - run-00003.fences: some records of the run with their offsets
// - run-00003.json: the description of the run (TaskRun), written last
// - cut-64.begins: the offset in each run where each of 64 parts of the output begins
// - cut-64.gaps: the bytes between the rows of a dump (DumpGaps)
// - cut-64.json: the records at which the parts begin (TaskCut), written last
// - part-00007-of-00064.json: the description of a part of the output (TaskPart)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "io/output_file.hpp"
#include "task/task_records.hpp"

namespace gpusort {

class JobFolder {
 public:
  /// Opens the folder `path` of a job. Throws Error(kUsage) if it does not exist, or if other users can write to it.
  JobFolder(FileSystem& files, std::string path);

  /// Writes job.json (options and inputs), unless an earlier task has written it. Throws Error(kUsage) if the folder
  /// belongs to another job; the message names the difference.
  void Begin(const TaskJob& job);
  /// Returns a number that identifies the job: a checksum of its options, and of the names and sizes of its inputs.
  std::uint64_t Id();
  RunLabel LabelOf(std::uint64_t run);

  // Each Read function returns the content of one file, and throws Error(kUsage) if the task that writes this file has
  // not finished. Each Find function returns std::nullopt in this case. All these functions throw Error(kIntegrity) if
  // the file is damaged.
  TaskJob ReadJob();
  TaskRun ReadRun(std::uint64_t number);
  TaskCut ReadCut(std::uint64_t parts);
  TaskPart ReadPart(std::uint64_t number, std::uint64_t parts);
  /// Returns where part number `part` of the output begins in each sorted run. If `part` is the number of parts,
  /// returns where each run ends.
  RunOffsets ReadBegins(const TaskCut& cut, std::uint64_t part);
  /// Returns the bytes between the rows of an SQL dump, as a string for DumpGaps::Load(). Empty if there are none.
  std::string ReadGaps(const TaskCut& cut);
  std::optional<std::vector<TaskScan>> FindScan(std::uint64_t number);
  std::optional<TaskRun> FindRun(std::uint64_t number);
  std::optional<TaskCut> FindCut(std::uint64_t parts);
  std::optional<TaskPart> FindPart(std::uint64_t number, std::uint64_t parts);

  void Write(std::uint64_t number, const std::vector<TaskScan>& scans);
  void Write(std::uint64_t number, const TaskRun& run);
  /// Writes cut-N.begins, cut-N.gaps and cut-N.json, where N is cut.parts. Keeps an existing cut-N.json.
  /// - `cut`: the content of cut-N.json. This function sets the members gaps_bytes and gaps_hash.
  /// - `gaps`: the content of cut-N.gaps (see DumpGaps::Save). Empty: this file is not written.
  /// - `begins`: returns where part number `part` begins in each sorted run. begins(N) returns the end of each run.
  void Write(TaskCut cut, const std::string& gaps, const std::function<RunOffsets(std::uint64_t part)>& begins);
  void Write(std::uint64_t number, std::uint64_t parts, const TaskPart& part);

  std::string RunPath(std::uint64_t number) const;
  std::string FencesPath(std::uint64_t number) const { return RunPath(number) + ".fences"; }
  const std::string& path() const { return path_; }

 private:
  std::string CutPath(std::uint64_t parts) const { return path_ + "/cut-" + std::to_string(parts) + ".json"; }
  std::string BeginsPath(std::uint64_t parts) const { return path_ + "/cut-" + std::to_string(parts) + ".begins"; }
  std::string GapsPath(std::uint64_t parts) const { return path_ + "/cut-" + std::to_string(parts) + ".gaps"; }
  std::string ScanPath(std::uint64_t number) const;
  std::string PartPath(std::uint64_t number, std::uint64_t parts) const;
  /// Reads a JSON file and returns the result of the function `read`. Returns std::nullopt if the file does not exist.
  /// Throws Error(kIntegrity) if the file is damaged, was renamed, or belongs to another job.
  template <typename T>
  std::optional<T> Find(const std::string& path, const std::function<T(const nlohmann::json& found)>& read);
  template <typename T>
  std::optional<T> Find(const std::string& path);
  void Put(const std::string& path, nlohmann::json json, OldFile old = OldFile::kReplace);

  FileSystem& files_;
  const std::string path_;
  std::optional<std::uint64_t> id_;
};

/// Returns the file name of a part of the output, such as "part-00007-of-00064".
std::string PartFileName(std::uint64_t number, std::uint64_t parts);

/// Creates a file that only its owner can read. `old` tells what happens to a file that already has this name. Throws
/// Error(kUsage) if `path` is a link or another user's file.
std::unique_ptr<OutputFile> CreateOwn(FileSystem& files, const std::string& path, OldFile old = OldFile::kReplace);

/// Writes `bytes` to `file`, waits until they are on the disk, and gives the file its final name.
void WriteWhole(std::unique_ptr<OutputFile> file, std::span<const std::byte> bytes);

}  // namespace gpusort

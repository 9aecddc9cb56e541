// The folder of a job that many tasks do, on one machine or on many: what each of them has done, as files that appear
// when they are whole. Whatever is written twice is written the same.
//   job.json                  options, inputs and the number of slices: of the first task
//   scan-00003.json           if it was asked for: how slice 3 goes on from what is in front of it
//   run-00003                 the sorted records of slice 3, behind the inputs' header and in front of their trailer
//   run-00003.fences          some of its records, for the cut
//   run-00003.json            what is known of both; written last
//   cut-64.json               where 64 parts begin
//   part-00007-of-00064.json  what is known of that part of the output
// The JSON files end with a checksum of what is in front. Start at JobFolder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/proof.hpp"
#include "file.hpp"

namespace gpusort {

/// What all tasks of a job agree in.
struct TaskJob {
  struct Input {
    std::string path;  ///< absolute
    std::uint64_t bytes = 0, mtime_ns = 0;
    friend bool operator==(const Input&, const Input&) = default;
  };
  std::string version;
  std::vector<std::string> arguments;  ///< options that decide the output's bytes, as ParseOptions takes them
  std::vector<Input> inputs;
  std::uint64_t slices = 0;
};

/// Bytes [begin, end) of an input, and the mode behind them for each mode in front of them, of ScanState; where there
/// are no records, one that is none. Of inputs that are looked at from the front on: `end` is the first border at or
/// behind `begin`.
struct TaskScan {
  std::uint32_t input = 0;
  std::uint64_t begin = 0, end = 0;
  std::vector<std::uint32_t> behind;
};

struct TaskRun {
  std::uint64_t bytes = 0;        ///< of the file
  std::vector<std::byte> header, trailer;  ///< in front of its records, and behind them
  std::uint64_t shape = 0;                 ///< what records of all inputs must agree in; 0: nothing
  std::uint64_t fences_bytes = 0, fences_hash = 0;
  RecordSum sum;
};

/// Where a part begins: in front of the record of `run` at `offset` of its file, and of all that order behind it. A run
/// that is none: behind all records.
struct CutPlace {
  std::uint64_t run = 0, offset = 0;
  std::optional<std::uint64_t> bytes_before;  ///< of records, in all runs; none: nobody looked
};

struct TaskCut {
  std::uint64_t parts = 0;
  std::vector<CutPlace> places;  ///< one fewer than parts
};

struct TaskPart {
  std::uint64_t bytes = 0;     ///< as stored, with header and trailer if it has them
  std::uint64_t offset = 0;    ///< in the output; 0 of a file of its own
  std::uint64_t inode = 0;     ///< of the file
  RecordSum sum;
  RecordSum read;              ///< of what it was merged from: with -u more than it has
  std::vector<std::byte> first, last;  ///< record; empty if there is none
};

class JobFolder {
 public:
  /// Error(kUsage) if there is no such folder.
  JobFolder(FileSystem& files, std::string path);

  /// Writes what the first task knows. Error(kUsage) that says what differs, if another job is there.
  void Begin(const TaskJob& job);
  /// Each: Error(kUsage) if it is not there yet, Error(kIntegrity) if it is damaged.
  TaskJob ReadJob();
  /// Of what the job is: the same for each that has its bytes.
  std::string Id();
  TaskRun ReadRun(std::uint64_t number);
  TaskCut ReadCut(std::uint64_t parts);
  TaskPart ReadPart(std::uint64_t number, std::uint64_t parts);
  /// Nothing if they are not there yet.
  std::optional<std::vector<TaskScan>> FindScan(std::uint64_t number);
  std::optional<TaskRun> FindRun(std::uint64_t number);
  std::optional<TaskCut> FindCut(std::uint64_t parts);
  std::optional<TaskPart> FindPart(std::uint64_t number, std::uint64_t parts);
  void Write(std::uint64_t number, const std::vector<TaskScan>& scans);
  void Write(std::uint64_t number, const TaskRun& run);
  void Write(const TaskCut& cut);
  void Write(std::uint64_t number, std::uint64_t parts, const TaskPart& part);

  std::string RunPath(std::uint64_t number) const;
  std::string FencesPath(std::uint64_t number) const { return RunPath(number) + ".fences"; }
  const std::string& path() const { return path_; }

 private:
  FileSystem& files_;
  const std::string path_;
};

/// "part-00007-of-00064".
std::string PartFileName(std::uint64_t number, std::uint64_t parts);

/// Writes a file of so many bytes, whole or not at all, and syncs it.
void WriteWhole(FileSystem& files, const std::string& path, std::span<const std::byte> bytes,
                OldFile old = OldFile::kReplace);

}  // namespace gpusort

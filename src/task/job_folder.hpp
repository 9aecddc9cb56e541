// The folder of a job that many tasks do, on one machine or on many: what each of them has done, as files that appear
// when they are whole. Whatever is written twice is written the same.
//   job.json                  options, inputs and the number of slices: of the first task
//   scan-00003.json           if it was asked for: how slice 3 goes on from what is in front of it
//   run-00003                 the sorted records of slice 3, behind the inputs' header and in front of their trailer
//   run-00003.fences          some of its records, for the cut
//   run-00003.json            what is known of both; written last
//   cut-64.begins             where in each run each of 64 parts begins, or between which bytes: a row for each part, which reads
//                             that row and the next one, and opens no more than what it merges
//   cut-64.json               the records at which they begin; written last
//   part-00007-of-00064.json  what is known of that part of the output
// The JSON files end with a checksum of what is in front. Every file but job.json names its job and itself: the JSON files by
// "job" and "file", a run by the RunLabel that it ends with, fences and begins by their first numbers and their checksums. A
// file that got another's name is found by that.
// The folder belongs to one user, nobody else can write in it, and its files have mode 0600. Start at JobFolder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/proof.hpp"
#include "formats/key_tally.hpp"
#include "io/file.hpp"
#include "io/output_file.hpp"
#include "io/piece_sums.hpp"

namespace gpusort {

/// What all tasks of a job agree in.
struct TaskJob {
  struct Input {
    std::string path;  ///< absolute
    std::uint64_t bytes = 0, mtime_ns = 0;
    FileFacts facts{};  ///< of the first task: inode, ctime, and what explains another ctime

    /// Whether it is the same input at another task. Machines may have copies, whose inode is another.
    bool operator==(const Input& other) const {
      return path == other.path && bytes == other.bytes && mtime_ns == other.mtime_ns &&
             (facts.ino != other.facts.ino || !facts.hides_change(other.facts));
    }
  };
  std::string version;
  std::vector<std::string> arguments;  ///< options that decide the output's bytes, as ParseOptions takes them
  std::vector<Input> inputs;
  std::uint64_t slices = 0;
};

/// Bytes [begin, end) of an input, and the mode behind them for each mode in front of them, of ScanState; where there
/// are no records, one that is none. Of inputs that are looked at from the front on: `end` is the first border at or
/// behind `begin`, and `state` what is known there, as RecordFormat::SaveState.
struct TaskScan {
  std::uint32_t input = 0;
  std::uint64_t begin = 0, end = 0;
  std::vector<std::uint32_t> behind;
  std::string state{};
};

/// The last bytes of a run's file.
struct RunLabel {
  std::uint64_t magic = 0x6c'6e'75'52'73'75'70'47;  ///< "GpusRunl"
  std::uint64_t job = 0, run = 0;
  std::uint64_t check = 0;  ///< of the rest
  friend bool operator==(const RunLabel&, const RunLabel&) = default;
};

/// Whether the label is one, of whatever run and job.
bool IsWhole(const RunLabel& label);

struct TaskRun {
  std::uint64_t bytes = 0;        ///< of the file, with its label
  std::vector<std::byte> header, trailer;  ///< in front of its records, and behind them
  std::uint64_t shape = 0;                 ///< what records of all inputs must agree in; 0: nothing
  std::string state;  ///< in front of its first record, as RecordFormat::SaveState
  std::uint64_t fences_bytes = 0, fences_hash = 0;
  RecordSum sum;
  KeyTally tally{};  ///< of each key, what RefuseNoValues asks
};

/// A place between records of several runs: in front of the record at `offset` of the file of `run`, and of all that
/// order behind it. With -u records of equal keys are never parted: it is in front of all of them.
struct OrderPlace {
  std::uint64_t run = 0, offset = 0;
  std::vector<std::byte> record;  ///< that one, as TaskOrder::Compare takes it
};

/// Where a part begins. A run that is none: behind all records.
struct CutPlace : OrderPlace {
  std::optional<std::uint64_t> bytes_before{};  ///< of records, in all runs; none: nobody looked
  std::string state{};                          ///< in front of the record, as RecordFormat::SaveState
};

struct TaskCut {
  std::uint64_t parts = 0, runs = 0;
  std::vector<std::byte> header;   ///< of the first run that has one
  std::vector<std::byte> trailer;  ///< of all runs
  std::vector<CutPlace> places;    ///< one fewer than parts
  std::uint64_t secret = 0;        ///< names what is hidden beside the output, so that nobody else can make the name
};

/// Of each run the bytes of its file between which a part begins: the same twice where that is known.
using PartBegins = std::vector<std::array<std::uint64_t, 2>>;

struct TaskPart {
  std::uint64_t bytes = 0;     ///< as stored, with header and trailer if it has them
  std::uint64_t offset = 0;    ///< in the output; 0 of a file of its own
  std::uint64_t inode = 0;     ///< of the file
  std::uint64_t birth_ns = 0;  ///< when the file was made; 0 where the file system does not say
  RecordSum sum;
  RecordSum read;              ///< of what it was merged from: with -u more than it has
  std::vector<std::byte> first, last;  ///< record, as TaskOrder::Compare takes it; empty if there is none
  std::vector<PieceSum> pieces;        ///< of the bytes as stored; offsets count from the beginning of the part
};

class JobFolder {
 public:
  /// Error(kUsage) if there is no such folder, or others can write in it.
  JobFolder(FileSystem& files, std::string path);

  /// Writes what the first task knows. Error(kUsage) that says what differs, if another job is there.
  void Begin(const TaskJob& job);
  /// Each: Error(kUsage) if it is not there yet, Error(kIntegrity) if it is damaged.
  TaskJob ReadJob();
  /// A checksum of what decides the bytes of the job's files: options, and the inputs' names and sizes.
  std::uint64_t Id();
  RunLabel LabelOf(std::uint64_t run);
  TaskRun ReadRun(std::uint64_t number);
  TaskCut ReadCut(std::uint64_t parts);
  /// Of a part, or with the number of parts: where runs end.
  PartBegins ReadBegins(const TaskCut& cut, std::uint64_t part);
  TaskPart ReadPart(std::uint64_t number, std::uint64_t parts);
  /// Nothing if they are not there yet.
  std::optional<std::vector<TaskScan>> FindScan(std::uint64_t number);
  std::optional<TaskRun> FindRun(std::uint64_t number);
  std::optional<TaskCut> FindCut(std::uint64_t parts);
  std::optional<TaskPart> FindPart(std::uint64_t number, std::uint64_t parts);
  void Write(std::uint64_t number, const std::vector<TaskScan>& scans);
  void Write(std::uint64_t number, const TaskRun& run);
  /// `begins` of parts from 0 on, and of one behind the last: where runs end. It is asked for them one by one.
  /// Keeps a cut of another process that was quicker.
  void Write(const TaskCut& cut, const std::function<PartBegins(std::uint64_t part)>& begins);
  void Write(std::uint64_t number, std::uint64_t parts, const TaskPart& part);

  std::string RunPath(std::uint64_t number) const;
  std::string FencesPath(std::uint64_t number) const { return RunPath(number) + ".fences"; }
  const std::string& path() const { return path_; }

 private:
  std::string CutPath(std::uint64_t parts) const { return path_ + "/cut-" + std::to_string(parts) + ".json"; }
  std::string BeginsPath(std::uint64_t parts) const { return path_ + "/cut-" + std::to_string(parts) + ".begins"; }
  std::optional<nlohmann::json> Find(const std::string& path);
  void Put(const std::string& path, nlohmann::json json, OldFile old = OldFile::kReplace);
  FileSystem& files_;
  const std::string path_;
  std::optional<std::uint64_t> id_;
};

/// "part-00007-of-00064".
std::string PartFileName(std::uint64_t number, std::uint64_t parts);

/// Begins a file that nobody else can read. Error(kUsage) if the name is that of a link or of another user's file.
std::unique_ptr<OutputFile> CreateOwn(FileSystem& files, const std::string& path, OldFile old = OldFile::kReplace);

/// Gives `file` these bytes, whole or not at all, and syncs it.
void WriteWhole(std::unique_ptr<OutputFile> file, std::span<const std::byte> bytes);

}  // namespace gpusort

// The facts that the tasks of a job write to files for each other, and their form in JSON. Start at TaskJob.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/proof.hpp"
#include "formats/key_tally.hpp"
#include "io/file.hpp"
#include "io/piece_sums.hpp"

namespace gpusort {

/// The facts of a job that must be the same for all its tasks.
struct TaskJob {
  struct Input {
    std::string path;  ///< the absolute path
    std::uint64_t bytes = 0, mtime_ns = 0;
    FileFacts facts{};  ///< the inode facts that the first task saw

    /// Returns true if two tasks see the same input. The inodes may differ, because machines may have copies.
    bool operator==(const Input& other) const {
      return path == other.path && bytes == other.bytes && mtime_ns == other.mtime_ns &&
             (facts.ino != other.facts.ino || !facts.hides_change(other.facts));
    }
  };
  std::string version;
  std::vector<std::string> arguments;  ///< options that decide the bytes of the output, in ParseOptions' form
  std::vector<Input> inputs;
  std::uint64_t slices = 0;
};

/// The result of scanning the bytes [begin, end) of an input, for later slices. If the format has modes, after[mode] is
/// the mode after the bytes if `mode` is the mode before them. If `mode` is impossible there, after[mode] is the number
/// of modes. If the format has no modes, `end` is the end of the first record that ends at or after `begin`.
/// `state` is then the state at `end` (RecordFormat::SaveState).
struct TaskScan {
  std::uint32_t input = 0;
  std::uint64_t begin = 0, end = 0;
  std::vector<std::uint32_t> after;
  std::string state{};
};

/// The last bytes of the file of a run, which name the run and its job.
struct RunLabel {
  std::uint64_t magic = 0x6c'6e'75'52'73'75'70'47;  ///< "GpusRunl"
  std::uint64_t job = 0, run = 0;
  std::uint64_t check = 0;  ///< checksum of the members before this one
  friend bool operator==(const RunLabel&, const RunLabel&) = default;
};

/// Returns the value of RunLabel::check for `label`.
std::uint64_t CheckOfLabel(const RunLabel& label);
/// Returns true if `label` is an undamaged label, of any run and job.
bool IsWhole(const RunLabel& label);

/// The facts of a run, which contains the sorted records of one slice.
struct TaskRun {
  std::uint64_t bytes = 0;                 ///< size of the file with its label
  std::vector<std::byte> header, trailer;  ///< the bytes before and after the records
  std::uint64_t shape = 0;                 ///< a value that must be equal in all runs; 0: not checked for this run
  std::string state;                       ///< the state before the first record (RecordFormat::SaveState)
  std::uint64_t fences_bytes = 0, fences_hash = 0;
  RecordSum sum;
  KeyTally tally{};  ///< only the counts that RefuseNoValues reads
};

/// A place in the order of the records of several runs. It is directly before the record at `offset` of run number
/// `run`. With -u, it is before all records with the same key.
struct OrderPlace {
  std::uint64_t run = 0, offset = 0;
  std::vector<std::byte> record;  ///< the record in the form that TaskOrder::Compare takes
};

/// The place where a part begins. If `run` is the number of runs, the place is after all records.
struct CutPlace : OrderPlace {
  std::optional<std::uint64_t> bytes_before{};  ///< size of all records before the place, in all runs, if known
  std::string state{};                          ///< the state before the record (RecordFormat::SaveState)
};

/// The cut of all runs into parts.
struct TaskCut {
  std::uint64_t parts = 0, runs = 0;
  std::vector<std::byte> header;   ///< the header of the first run that has one
  std::vector<std::byte> trailer;  ///< the trailer of all runs
  std::vector<CutPlace> places;    ///< the beginnings of all parts except the first
  std::uint64_t secret = 0;        ///< a random number in the names of hidden files, so that nobody guesses them
};

/// For each run, the two offsets in its file between which a part begins. They are equal if the exact place is known.
using PartBegins = std::vector<std::array<std::uint64_t, 2>>;

/// The facts of a merged part of the output.
struct TaskPart {
  std::uint64_t bytes = 0;   ///< stored size, with the header and trailer of the part
  std::uint64_t offset = 0;  ///< offset in the output; 0 if the part has a separate file
  std::uint64_t inode = 0;
  std::uint64_t birth_ns = 0;          ///< time when the file was made, in ns; 0 if the file system does not know it
  RecordSum sum;                       ///< sum of the records of the part
  RecordSum read;                      ///< sum of the merged records; with -u, more than the part contains
  std::vector<std::byte> first, last;  ///< the two records as TaskOrder::Compare takes them; may be empty
  std::vector<PieceSum> pieces;        ///< sums of the stored bytes; offsets count from the beginning of the part
};

// The conversions by which nlohmann's JSON finds these facts. They throw an exception of that library if a member is
// missing or has a wrong type.
void to_json(nlohmann::json& json, const TaskJob& job);
void from_json(const nlohmann::json& json, TaskJob& job);
void to_json(nlohmann::json& json, const TaskScan& scan);
void from_json(const nlohmann::json& json, TaskScan& scan);
void to_json(nlohmann::json& json, const TaskRun& run);
void from_json(const nlohmann::json& json, TaskRun& run);
void to_json(nlohmann::json& json, const TaskCut& cut);
void from_json(const nlohmann::json& json, TaskCut& cut);
void to_json(nlohmann::json& json, const TaskPart& part);
void from_json(const nlohmann::json& json, TaskPart& part);

/// Returns the inode facts of the inputs. Machines with copies of the inputs have other inode facts for the same job.
nlohmann::json InodesJson(const TaskJob& job);

}  // namespace gpusort

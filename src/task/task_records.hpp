// The facts that the tasks of a job write for each other, and their form in JSON. Start at TaskJob.
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

/// The facts that all tasks of a job must agree in.
struct TaskJob {
  struct Input {
    std::string path;  ///< absolute
    std::uint64_t bytes = 0, mtime_ns = 0;
    FileFacts facts{};  ///< as the first task saw them: inode, ctime, and the facts that explain another ctime

    /// Returns whether another task sees the same input. Machines may have copies, whose inodes differ.
    bool operator==(const Input& other) const {
      return path == other.path && bytes == other.bytes && mtime_ns == other.mtime_ns &&
             (facts.ino != other.facts.ino || !facts.hides_change(other.facts));
    }
  };
  std::string version;
  std::vector<std::string> arguments;  ///< options that decide the bytes of the output, as ParseOptions takes them
  std::vector<Input> inputs;
  std::uint64_t slices = 0;
};

/// The scan of bytes [begin, end) of an input, for the slices after them. There are two kinds. If the format has modes
/// (ScanState::mode), `after` has the mode after the bytes for each mode before them. A mode that cannot occur there
/// becomes the number of modes. If the input is scanned from its beginning, `end` is the first border of records at or
/// after `begin`, and `state` is the state there, as RecordFormat::SaveState writes it.
struct TaskScan {
  std::uint32_t input = 0;
  std::uint64_t begin = 0, end = 0;
  std::vector<std::uint32_t> after;
  std::string state{};
};

/// The last bytes of the file of a run.
struct RunLabel {
  std::uint64_t magic = 0x6c'6e'75'52'73'75'70'47;  ///< "GpusRunl"
  std::uint64_t job = 0, run = 0;
  std::uint64_t check = 0;  ///< the checksum of the fields before it
  friend bool operator==(const RunLabel&, const RunLabel&) = default;
};

/// Returns the checksum that belongs into `label`.
std::uint64_t CheckOfLabel(const RunLabel& label);
/// Returns whether the bytes are an undamaged label, of any run and job.
bool IsWhole(const RunLabel& label);

/// The facts of a run: the sorted records of a slice.
struct TaskRun {
  std::uint64_t bytes = 0;                 ///< of the file, with its label
  std::vector<std::byte> header, trailer;  ///< the bytes before and after its records
  std::uint64_t shape = 0;                 ///< must be equal in the records of all inputs; 0: no such rule
  std::string state;                       ///< before its first record, as RecordFormat::SaveState writes it
  std::uint64_t fences_bytes = 0, fences_hash = 0;
  RecordSum sum;
  KeyTally tally{};  ///< the part of the tally that RefuseNoValues reads
};

/// A place between the records of several runs: before the record at `offset` in the file of `run`, and before all
/// records that order after it. With -u, records of equal keys are never parted: the place is before all of them.
struct OrderPlace {
  std::uint64_t run = 0, offset = 0;
  std::vector<std::byte> record;  ///< the record, as TaskOrder::Compare takes it
};

/// The place where a part begins. If `run` is the number of runs, the place is after all records.
struct CutPlace : OrderPlace {
  std::optional<std::uint64_t>
      bytes_before{};   ///< bytes of records before the place, in all runs; if not given: unknown
  std::string state{};  ///< before the record, as RecordFormat::SaveState writes it
};

/// The cut of all runs into parts.
struct TaskCut {
  std::uint64_t parts = 0, runs = 0;
  std::vector<std::byte> header;   ///< of the first run that has one
  std::vector<std::byte> trailer;  ///< of all runs
  std::vector<CutPlace> places;    ///< one fewer than parts
  std::uint64_t secret = 0;        ///< makes the names of hidden files unknown to other users
};

/// The two bytes of each run's file between which a part begins; both are equal if the place is known.
using PartBegins = std::vector<std::array<std::uint64_t, 2>>;

/// The facts of a merged part of the output.
struct TaskPart {
  std::uint64_t bytes = 0;             ///< as stored, with header and trailer if the part has them
  std::uint64_t offset = 0;            ///< in the output; 0 if the part has its own file
  std::uint64_t inode = 0;             ///< of the file
  std::uint64_t birth_ns = 0;          ///< when the file was made; 0 if the file system does not say
  RecordSum sum;                       ///< of the records of the part
  RecordSum read;                      ///< of the merged records; with -u more than the part has
  std::vector<std::byte> first, last;  ///< records, as TaskOrder::Compare takes them; empty if there is none
  std::vector<PieceSum> pieces;        ///< of the stored bytes; offsets count from the beginning of the part
};

// The conversions by which nlohmann's JSON finds these facts. A member that is missing or of another type is an
// exception of that library.
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

/// Returns the facts of the inputs that differ where machines have copies, and so do not belong to TaskJob's identity.
nlohmann::json InodesJson(const TaskJob& job);

}  // namespace gpusort

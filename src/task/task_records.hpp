// Data that the tasks (processes) of one large sort write to files for each other, and its form in JSON. Start at
// TaskJob.
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

/// The description of a large sort that is divided into tasks. It must be the same for all its tasks.
struct TaskJob {
  struct Input {
    std::string path;  ///< the absolute path
    std::uint64_t bytes = 0, mtime_ns = 0;
    FileFacts facts{};    ///< inode and times of the file, as the first task saw them
    bool of_set = false;  ///< true: a file of --minus or --intersect
    std::string name{};   ///< only with --prefix-name: the name in the command line, which the output has

    /// Returns true if two tasks see the same input. Inode numbers may differ, because each machine may have a copy of
    /// the input. If the inode number is the same but the ctime has changed, returns false: a process may have written
    /// to the file and set back its mtime.
    bool operator==(const Input& other) const {
      return path == other.path && of_set == other.of_set && name == other.name && bytes == other.bytes &&
             mtime_ns == other.mtime_ns && (facts.ino != other.facts.ino || !facts.hides_change(other.facts));
    }
  };
  std::string version;
  /// The options that can change the content of the output, as words of a command line.
  std::vector<std::string> arguments;
  /// A file that decides about the order: the file of --random-source, or of a key of the type order(FILE).
  struct OrderFile {
    std::string name;     ///< as the option gives it
    std::string content;  ///< the text that decides about the order

    friend bool operator==(const OrderFile&, const OrderFile&) = default;
  };
  std::vector<OrderFile> order_files{};  ///< those of the keys, in their order, and then that of --random-source
  std::vector<Input> inputs;
  std::uint64_t slices = 0;
  /// How many of the slices have the records of the files of --minus and --intersect. They are the first ones, and have
  /// no other records. The last of them have one file of --intersect each.
  std::uint64_t set_slices = 0;
};

/// The result of scanning the bytes [begin, end) of an input. Other tasks use it to find where their records begin.
struct TaskScan {
  std::uint32_t input = 0;
  /// The offsets in bytes. If `after` is empty, `end` is the beginning of a record: the first at or after `begin`.
  std::uint64_t begin = 0, end = 0;
  /// after[m] is the parser's mode at `end` if its mode at `begin` is m. "In quotes" is an example of a mode. The value
  /// after.size() stands for an error.
  std::vector<std::uint32_t> after;
  std::string state{};  ///< the parser's state at `end`; set only if `after` is empty
};

/// The last bytes of the file of a sorted run. They identify the run and its job.
struct RunLabel {
  std::uint64_t magic = 0x6c'6e'75'52'73'75'70'47;  ///< the letters "GpusRunl", which marks a label
  std::uint64_t job = 0, run = 0;
  std::uint64_t check = 0;  ///< the checksum of the members before this one
  friend bool operator==(const RunLabel&, const RunLabel&) = default;
};

/// Returns the value that RunLabel::check must have: the checksum of the other members of `label`. A label is the last
/// bytes of the file of a sorted run.
std::uint64_t CheckOfLabel(const RunLabel& label);
/// Returns true if the checksum in `label` is right. Does not check to which sorted run and job the label belongs. A
/// label is the last bytes of the file of a run.
bool IsWhole(const RunLabel& label);

/// The description of a sorted run, which is the sorted records of one slice (range) of the input.
struct TaskRun {
  std::uint64_t bytes = 0;                 ///< the size of the file in bytes, with the RunLabel at its end
  std::vector<std::byte> header, trailer;  ///< the bytes before and after the records
  /// A number that must be equal in all sorted runs that are merged, such as the number of columns. 0: the run has no
  /// records, or the format has no such number.
  std::uint64_t fields = 0;
  std::string state;  ///< the state of the format's parser before the first record (RecordFormat::SaveState)
  std::uint64_t fences_bytes = 0, fences_hash = 0;
  RecordSum sum;
  /// The bytes [begin, end) of an input that the run was made from. Whole records; `end` may be after the end of the
  /// input.
  struct Range {
    std::uint32_t input = 0;
    std::uint64_t begin = 0, end = 0;
  };
  std::vector<Range> ranges{};  ///< in the order of the inputs
  KeyTally tally{};             ///< counts of unusual values in key columns, as far as CutParts() needs them
};

/// The counts of bytes and rows before a position in a sorted run with sort keys. A part of a dump is, for example, the
/// rows of one table. In a log, only the sum of all bytes has a meaning.
struct RunPlace {
  std::uint64_t part = 0;        ///< the index of the part that contains the last record before the position
  std::uint64_t earlier = 0;     ///< the bytes of all records of earlier parts, without sort keys
  std::uint64_t gaps = 0;        ///< in part `part`: the number of bytes between rows
  std::uint64_t bytes = 0;       ///< in part `part`: the bytes of all other records, without sort keys
  std::uint64_t rows = 0;        ///< in part `part`: the number of rows
  std::uint64_t separators = 0;  ///< how many of these rows have the usual bytes after them, such as a comma
  std::uint64_t statements = 0;  ///< how many of these rows are whole INSERT statements
};

/// The numbers of bytes, rows, separators and statements before a record of an SQL dump.
struct DumpBefore {
  std::uint64_t bytes = 0, rows = 0, separators = 0, statements = 0;

  DumpBefore& operator+=(const DumpBefore& other) {
    bytes += other.bytes;
    rows += other.rows;
    separators += other.separators;
    statements += other.statements;
    return *this;
  }
  friend bool operator==(const DumpBefore&, const DumpBefore&) = default;
};

/// A position in the records of all sorted runs: directly before the record at `offset` of run number `run`. With -u:
/// before all records that are equal to `record`.
struct RecordPosition {
  std::uint64_t run = 0, offset = 0;
  std::vector<std::byte> record;  ///< the record in the form that TaskOrder::Compare takes
};

/// The position where a part of the output begins. If no records follow, `run` is the number of all sorted runs.
struct PartStart : RecordPosition {
  /// The size in bytes of all records that come before this part of the output, in all sorted runs together. No value:
  /// not known.
  std::optional<std::uint64_t> bytes_before{};
  std::string state{};  ///< the state of the format's parser before `record`, as RecordFormat::SaveState returns it
  /// Only for dumps: how many bytes and rows come before `record`, summed over all sorted runs. May be missing.
  std::optional<DumpBefore> before{};
};

/// The beginnings of all parts of the output, and other data that every merge task (a process that merges one part)
/// needs, such as the header of the output.
struct TaskCut {
  std::uint64_t parts = 0, runs = 0;
  std::vector<std::byte> header;   ///< the header of the first sorted run that has one
  std::vector<std::byte> trailer;  ///< the trailer of all sorted runs
  std::vector<PartStart> starts;   ///< the beginnings of all parts except the first
  /// A random number that is a part of the names of hidden files, so that other users cannot guess these names.
  std::uint64_t secret = 0;
  std::uint64_t gaps_bytes = 0, gaps_hash = 0;  ///< the size and the checksum of the file cut-N.gaps
};

/// For each sorted run: the lowest and the highest possible offset at which a part of the output begins.
using RunOffsets = std::vector<std::array<std::uint64_t, 2>>;

/// The description of a part of the output, after this part was merged.
struct TaskPart {
  std::uint64_t bytes = 0;   ///< the size in the file, after compression, with the header and the trailer of the part
  std::uint64_t offset = 0;  ///< the offset in the output; 0 if the part has a separate file
  /// Only for dumps: the offsets in the uncompressed output where the part begins and ends.
  std::uint64_t dump_begin = 0, dump_end = 0;
  /// Only for dumps with --pieces: how many bytes, rows and so on come before this part, and before the next part.
  std::optional<DumpBefore> before{}, after{};
  std::uint64_t inode = 0;
  std::uint64_t birth_ns = 0;  ///< the time when the file was made, in ns; 0 if the file system does not know it
  RecordSum sum;               ///< the checksum of the records of the part
  RecordSum read;              ///< the checksum of the records that were merged; with -u, some are not in the part
  /// The first and the last record of this part of the output, in the form that TaskOrder::Compare takes. Empty if the
  /// part has no record.
  std::vector<std::byte> first, last;
  /// Checksums of pieces of the file, with which ProveParts() checks the part. Their offsets count from the beginning
  /// of this part of the output.
  std::vector<PieceSum> pieces;
};

// The JSON library calls these conversions. They throw an exception of that library if a member is missing or has a
// wrong type.
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

/// Returns the inode numbers and times of the inputs as JSON. They differ between machines that have copies of the
/// inputs.
nlohmann::json InodesJson(const TaskJob& job);

}  // namespace gpusort

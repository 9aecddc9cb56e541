// A job as plain data: which records are read and written, in which order, within which limits on memory and threads.
// The programs make a JobSpec from their command lines. Each stage of a sort takes the part that it needs. Start at
// JobSpec.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "io/codec/codec.hpp"
#include "kernels/lines/line_order.hpp"
#include "kernels/records/record.hpp"
#include "spec/column_key.hpp"
#include "spec/typed_keys.hpp"

namespace gpusort {

/// The action of the program. If the options ask for several actions, the program does only the one that comes last in
/// this list.
enum class Action { kSort, kExplain, kCheck, kStatus, kCompletion, kInstallSort, kVersion, kHelp };
enum class Format { kBinary, kLines, kTable };
enum class DeviceChoice { kAuto, kCpu, kGpu };
enum class HelpTopic { kShort, kAll, kKeys, kExamples, kManual, kJson };
enum class When { kAuto, kAlways, kNever };
/// Which groups of records with equal keys -u keeps: all groups, groups of only one record, or groups of several
/// records.
enum class KeptGroups { kAll, kSingle, kRepeated };

/// The part of an input that a process sorts: the bytes [begin, end).
struct ByteRange {
  std::uint64_t begin = 0, end = ~std::uint64_t{0};
  /// True: a record ends at `end`, and this process ignores the bytes after it.
  bool inside = false;
  std::string state{};  ///< the state of the format's parser at `begin`, as RecordFormat::SaveState returns it
};

/// Owns an order of lines, and the view of it that comparisons on CPU and GPU use. A RecordLayout has a pointer to the
/// view, so this object must outlive the layout.
struct LineOrdered {
  explicit LineOrdered(LineOrder given) : order(std::move(given)), view(order.view()) {}
  LineOrdered(const LineOrdered&) = delete;
  LineOrdered& operator=(const LineOrdered&) = delete;

  const LineOrder order;
  const LineOrderView view;
};

/// The inputs, and how their bytes are divided into records.
struct Source {
  std::vector<std::string> inputs;  ///< at least one name; "-" means standard input and occurs at most once
  bool implied = false;             ///< true: the user named no input, so `inputs` is standard input
  /// Text for --explain: which names are inputs and which is the output; empty if this is clear.
  std::string names_note;
  std::string names_file;         ///< the file of --files0-from, which contains the names of the inputs; may be empty
  std::vector<ByteRange> ranges;  ///< the part of each input that is sorted; empty: all inputs are sorted completely
  std::optional<Codec> codec;     ///< the codec of all inputs; no value: the extension of each name decides
  std::uint64_t max_expanded = std::numeric_limits<std::uint64_t>::max();  ///< maximum size of an input after expansion

  Format format = Format::kBinary;
  bool format_assumed = false;        ///< true: no option names the format
  bool format_guessed = false;        ///< true: lines were chosen while no input was named yet (--files0-from)
  bool force_format = false;          ///< true: inputs that seem to have another format are not refused
  std::string type_note;              ///< the record type and how it was decided: "i32 (from the extension .bin)"
  std::string lines_because;          ///< the option or key that means that records are lines, or empty
  std::string column_form;            ///< for a warning: the same keys in the syntax for columns of CSV
  std::optional<TableOptions> table;  ///< the options of records with columns; set only for Format::kTable
  std::uint64_t header = 0;           ///< number of lines at the top of every input that are not sorted
  /// Lines at the top of an input that begin with one of these strings belong to the header, which is not sorted.
  std::vector<std::string> header_prefixes;
  std::uint64_t max_record = 0;  ///< size of the longest line that is accepted; 0: the planner decides
  /// True: each line of the inputs is a record with its sort key before it. An earlier job with Target::keyed has
  /// written these lines. The output gets the records without the keys. With `table`, each key has a checksum
  /// (TableOptions::checked). Without `table`, the records are those of an SQL dump.
  bool keyed = false;
};

/// The options for the output, such as its name and its codec.
struct Target {
  /// The path of the output, or "-" for standard output. kInstallSort: the folder of the new link. kCheck: empty.
  std::string output;
  bool implied = false;          ///< true: the user named no output, so `output` is standard output
  bool asks = false;             ///< true: a person at a terminal is asked before an existing output is replaced
  bool no_clobber = false;       ///< true: it is an error if the output exists
  unsigned split = 0;            ///< number of files into which the output is split, named after `output`; 0: one file
  std::uint64_t part_bytes = 0;  ///< the size of these files (--target-size), from which `split` follows; 0: not given
  Codec codec = Codec::kNone;
  /// For a file of columns: the codec inside the file as typed, such as "zstd:3". Empty: the codecs of the input.
  std::string compression{};
  std::uint64_t group_bytes = 0;  ///< for a file of columns: the encoded size of a row group; 0: the planner decides
  bool index = false;             ///< true: an index of the BGZF blocks is written beside the output (IndexName)
  bool headless = false;          ///< true: the output does not get the header of the inputs
  /// The bytes before the first record; no value: the header of the inputs.
  std::optional<std::vector<std::byte>> header{};
  std::vector<std::byte> trailer;  ///< the bytes after the last record; empty: the trailer of the inputs
  std::string state;               ///< the state of the format's parser before the first record of the output
  /// True: the output gets each record with its sort key before it, as one line (formats/keyed_record.hpp).
  bool keyed = false;
  /// True: each line of the output has the place of a record in the input, and then the record without its sort key
  /// (formats/input_place.hpp).
  bool placed = false;
  /// The bytes between the rows (gaps) of an SQL dump, as GapFront::Save() returns them. Set only if the job writes one
  /// part of a larger output; otherwise empty.
  std::string gaps;
  bool no_fsync = false;
  bool no_space_check = false;
  bool verify = false;  ///< true: the output is read back before it gets its name
};

/// The order of the records, and which records the output keeps. Option names such as -R are those of GNU sort.
struct Order {
  RecordLayout layout;                       ///< how records are divided and compared; --reverse is already applied
  std::shared_ptr<const LineOrdered> lines;  ///< owns the order of lines to which `layout` points
  bool locale = false;                       ///< true: lines are compared by the collation of the environment's locale
  bool random = false;        ///< true: a key of `lines` orders by a random hash (-R); ReadNamedFiles() sets its salt
  std::string random_source;  ///< the file from which the salt is read; empty: /dev/urandom
  bool unique = false;        ///< true: the output keeps only the first of records with equal keys
  KeptGroups groups = KeptGroups::kAll;  ///< with `unique`: which groups of equal records are kept
  bool count = false;     ///< the output has the number of equal records with each record; only with `unique`
  bool sum = false;       ///< columns of the output have the sums over the equal records (--sum); only with `unique`
  bool by_count = false;  ///< the output has the `top` largest groups, the largest first; only with `count` and `top`
  /// The first `minus` inputs are the files of --minus, and the next `intersect` inputs are the files of --intersect.
  /// The output has no record of these files. It has the records of the other inputs whose keys are in no file of
  /// --minus and in each file of --intersect.
  std::uint32_t minus = 0, intersect = 0;
  bool has_union = false;  ///< true: the last inputs are the files of --union
  /// True: the kept records are written in the order of the input. The keys only decide which records are kept.
  bool keeps_input_order = false;
  std::uint64_t top = 0;  ///< the maximum number of records in the output; 0: no maximum
  bool merge = false;     ///< true: the inputs are sorted already

  bool debug = false;        ///< true: the output shows which part of each line is compared
  std::vector<KeyDef> keys;  ///< the keys of lines as typed, for the warnings of `debug`
  KeyOptions ordering;       ///< the options such as -n and -r that belong to no key, for the warnings of `debug`
  bool stable = false;       ///< -s was given; for the warnings of `debug`
  bool reverse = false;      ///< -r was given; `layout` is reversed already

  /// Returns true if the last record of a group of equal records must be known before its first record is written.
  bool needs_groups() const { return writes_groups() || groups != KeptGroups::kAll; }
  /// Returns true if the output has a number for each group of equal records: their count or a sum.
  bool writes_groups() const { return count || sum; }
  /// Returns the number of inputs that only decide which records of the other inputs are kept.
  std::uint32_t set_inputs() const { return minus + intersect; }
  /// Returns how many records at the beginning of each sorted run are enough for the output. 0: all records. With
  /// `unique`, returns the number of different keys of these records.
  std::uint64_t front() const { return by_count || groups != KeptGroups::kAll || set_inputs() > 0 ? 0 : top; }
};

/// The memory, the temp space, the threads and the GPUs that a job may use.
struct Limits {
  std::optional<Size> memory;
  std::optional<Size> gpu_memory;
  std::vector<std::string> temp_dirs;  ///< folders for temporary files; empty: chosen when the job starts
  std::optional<Codec> temp_codec;     ///< the codec of temp files; no value: chosen during the first writes
  std::string temp_program;            ///< the program that compresses temp files; empty: `temp_codec` decides
  unsigned threads = 0;                ///< 0: one thread for each core
  DeviceChoice device = DeviceChoice::kAuto;
  std::vector<int> gpus{};               ///< CUDA ordinals; empty: all visible GPUs (with kAuto: one for a small input)
  std::chrono::seconds gpu_timeout{60};  ///< a GPU that makes no progress for this long counts as lost
  std::uint64_t batch_bytes = 0;         ///< how many bytes are sorted in memory at once; 0: the planner decides
  std::uint64_t block_bytes = 0;         ///< size of a block in temp files; 0: the planner decides
  /// The greatest number of sorted lists that one merge reads, at least 2. 0: the planner decides.
  unsigned max_fan_in = 0;
};

/// How a new process continues a job whose process was killed (--resume-dir).
struct Survival {
  std::string dir;    ///< the folder with the finished part of the job; empty: the job cannot continue
  bool keep = false;  ///< true: the folder is kept when the job is done
  std::uint64_t checkpoint_bytes = std::uint64_t{32} << 30;  ///< output bytes between two checkpoints
  /// The options that must have the same values when a new process continues the job: their names and values as typed.
  std::vector<std::pair<std::string, std::string>> typed;
};

/// The reports of a job, and the names of their files. A file with an empty name is not written.
struct Reports {
  std::string stats, trace, page;
  When progress = When::kAuto;
  bool json_log = false;
  std::string log_level = "warn";  ///< trace, debug, info, warn, error or off
  std::string log_file;
  bool quiet = false;  ///< Action::kCheck prints no message
};

/// How a job behaves differently if the program runs under the name `sort`, as GNU sort. The defaults are for
/// `gpusort`.
struct Dialect {
  bool strict = true;           ///< true: unusable temp folders, and inputs that change while they are read, are errors
  bool grows = false;           ///< true: a line that is longer than planned takes more memory; false: it is an error
  bool ignore_sigpipe = false;  ///< true: compression programs ignore SIGPIPE, as the caller of this process does
  /// The function that prints the message if a compression program cannot be run. Empty: the message becomes a warning
  /// in the log.
  std::function<void(const std::string&)> say;
};

struct JobSpec {
  Action action = Action::kSort;
  bool explains_all = false;           ///< true: Action::kExplain prints every size of the plan and every speed
  HelpTopic help = HelpTopic::kShort;  ///< the text that Action::kHelp prints
  std::string shell;                   ///< the shell of Action::kCompletion: bash, zsh or fish

  Source source;
  Target target;
  Order order;
  Limits limits;
  Survival survival;
  Reports reports;
  Dialect dialect;
};

/// Returns true if the job leaves out records because of their timestamps (--since, --until).
inline bool HasWindow(const JobSpec& spec) { return spec.source.table && spec.source.table->has_window(); }

/// Returns the name of an input without an extension such as .gz: a.csv for a.csv.gz.
inline std::string ExpandedName(const std::string& input, const Source& source) {
  const Codec named = CodecOfPath(input);
  return named != Codec::kNone && FitsName(source.codec.value_or(named), named)
             ? std::string(WithoutCodecExtension(input))
             : input;
}

}  // namespace gpusort

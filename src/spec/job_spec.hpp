// A job as plain data: which records are read and written, in which order, within which limits. The front ends make a
// JobSpec out of a command line, and every stage takes the part that it needs. Start at JobSpec.
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
#include "spec/table_options.hpp"
#include "spec/typed_keys.hpp"

namespace gpusort {

/// In the order of precedence: if options ask for several actions, the last one counts.
enum class Action { kSort, kExplain, kCheck, kStatus, kCompletion, kVersion, kHelp };
enum class Format { kBinary, kLines, kTable };
enum class DeviceChoice { kAuto, kCpu, kGpu };
enum class HelpTopic { kShort, kAll, kKeys, kExamples, kManual, kJson };
enum class When { kAuto, kAlways, kNever };

/// Bytes [begin, end) of a file.
struct ByteRange {
  std::uint64_t begin = 0, end = ~std::uint64_t{0};
  bool inside = false;  ///< the range ends with a record: the bytes after the file's last record are not in it
  std::string state{};  ///< the state of the format at `begin`, as RecordFormat::SaveState writes it
};

/// The order of lines, together with the view of it that record layouts point to.
struct LineOrdered {
  explicit LineOrdered(LineOrder given) : order(std::move(given)), view(order.view()) {}
  LineOrdered(const LineOrdered&) = delete;
  LineOrdered& operator=(const LineOrdered&) = delete;

  const LineOrder order;
  const LineOrderView view;
};

/// The inputs, and how their bytes are divided into records.
struct Source {
  std::vector<std::string> inputs;  ///< at least one; "-" (standard input) at most once
  bool implied = false;             ///< no name was given: `inputs` is standard input
  std::string names_file;           ///< of --files0-from: the file with the names of the inputs; empty: none
  std::vector<ByteRange> ranges;    ///< the part of each input that is sorted, headers apart; empty: all of each
  std::optional<Codec> codec;       ///< of every input; if not given, of each input by its extension
  std::uint64_t max_expanded = std::numeric_limits<std::uint64_t>::max();  ///< bytes that one input may expand to

  Format format = Format::kBinary;
  bool format_assumed = false;        ///< no option names the format: lines, or the numbers that extensions name
  bool format_guessed = false;        ///< lines were chosen before the name of any input was known
  bool force_format = false;          ///< inputs that seem to be of another kind are read in `format` all the same
  std::string type_note;              ///< the record type and how it was decided: "i32 (from the extension .bin)"
  std::string lines_because;          ///< the option or key that chose lines; empty: --format or the names chose them
  std::string column_form;            ///< if `lines_because` is set: the keys that sort the same inputs by columns
  std::optional<TableOptions> table;  ///< of Format::kTable; `Order::layout` is then the layout of the rows' lines
  std::uint64_t header = 0;           ///< lines at the top of every input that are not sorted
  std::uint64_t max_record = 0;       ///< bytes of the longest line; 0: planned
};

/// The output, and how it gets its name.
struct Target {
  std::string output;       ///< "-" is standard output; empty for Action::kCheck
  bool implied = false;     ///< no OUTPUT was given: `output` is standard output
  bool asks = false;        ///< a person at a terminal is asked before an existing output is replaced
  bool no_clobber = false;  ///< an output that exists is not replaced
  unsigned split = 0;       ///< number of files that the output consists of, named after `output`; 0: one file
  Codec codec = Codec::kNone;
  bool headless = false;           ///< the output begins without the header of the inputs
  std::vector<std::byte> trailer;  ///< the last bytes of the output, if the inputs are given without their end
  std::string state;               ///< the state of the format before the first record, as RecordFormat::SaveState
  bool no_fsync = false;
  bool no_space_check = false;
  bool verify = false;  ///< the output is read back before it gets its name
};

/// The order of the records, and which of them the output keeps.
struct Order {
  RecordLayout layout;                       ///< with --reverse folded into the direction of every field
  std::shared_ptr<const LineOrdered> lines;  ///< what the layout of lines refers to
  bool locale = false;                       ///< lines are ordered as the locale of the environment says
  bool random = false;                       ///< a key of `lines` is ordered at random: ReadNamedFiles sets the salt
  std::string random_source;                 ///< the file that the salt is read from; empty: the system
  bool unique = false;                       ///< only the first of equal records is kept
  std::uint64_t top = 0;                     ///< number of records that the output has at most; 0: all
  bool merge = false;                        ///< the inputs are sorted already

  bool debug = false;        ///< the output shows which part of each line is compared
  std::vector<KeyDef> keys;  ///< the keys of lines as typed, for `debug`
  KeyOptions ordering;       ///< the ordering letters of the command line, for `debug`
  bool stable = false;       ///< -s, for `debug`
  bool reverse = false;      ///< -r as typed; `layout` holds its effect
};

/// Memory, temp space, threads and devices.
struct Limits {
  std::optional<Size> memory;
  std::optional<Size> gpu_memory;
  std::vector<std::string> temp_dirs;  ///< empty: planned
  std::optional<Codec> temp_codec;     ///< of spilled blocks; if not given, chosen while the first blocks are written
  std::string temp_program;            ///< a program that compresses spilled blocks instead; empty: none
  unsigned threads = 0;                ///< 0: one for each core
  DeviceChoice device = DeviceChoice::kAuto;
  std::vector<int> gpus{};               ///< CUDA ordinals; empty: all that are visible, or with auto as many as pay
  std::chrono::seconds gpu_timeout{60};  ///< a GPU that gives no sign for this long counts as lost
  std::uint64_t batch_bytes = 0;         ///< 0: planned
  std::uint64_t block_bytes = 0;         ///< 0: planned
  unsigned max_fan_in = 0;               ///< 0: planned; else at least 2
};

/// How a job goes on after its process was killed (--resume-dir).
struct Survival {
  std::string dir;    ///< the folder that keeps the finished part of the job for a later process; empty: none
  bool keep = false;  ///< the folder stays when the job is done
  std::uint64_t checkpoint_bytes = std::uint64_t{32} << 30;  ///< output bytes between two points to go on from
  /// Names and values of the typed options that must be the same for a job to go on.
  std::vector<std::pair<std::string, std::string>> typed;
};

/// The reports about a job. An empty file name means no report.
struct Reports {
  std::string stats, trace, page;
  When progress = When::kAuto;
  bool json_log = false;
  std::string log_level = "warn";  ///< trace, debug, info, warn, error or off
  std::string log_file;
  bool quiet = false;  ///< of Action::kCheck: no message
};

/// Behaviour in which `gpusort` and `sort` differ.
struct Dialect {
  bool strict = true;           ///< inputs that change meanwhile and unusable temp folders are errors
  bool grows = false;           ///< lines that are longer than planned take more memory instead of failing
  bool ignore_sigpipe = false;  ///< the caller ignored SIGPIPE: programs that are run ignore it as well
  std::function<void(const std::string&)> say;  ///< reports a program that cannot be run; empty: a log warning
};

struct JobSpec {
  Action action = Action::kSort;
  bool probes = false;                 ///< of Action::kExplain: measures how long the job will take
  HelpTopic help = HelpTopic::kShort;  ///< of Action::kHelp
  std::string shell;                   ///< of Action::kCompletion: bash, zsh or fish

  Source source;
  Target target;
  Order order;
  Limits limits;
  Survival survival;
  Reports reports;
  Dialect dialect;
};

/// Returns the name that the expanded content of `input` would have as a file.
inline std::string ExpandedName(const std::string& input, const Source& source) {
  const Codec named = CodecOfPath(input);
  return named != Codec::kNone && source.codec.value_or(named) == named ? std::string(WithoutCodecExtension(input))
                                                                        : input;
}

}  // namespace gpusort

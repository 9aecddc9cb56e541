// What is meant by a command line, checked and turned into plain data by one of the front ends: inputs, output, order,
// limits, reports. The record type is decided, with --reverse folded into it. Start at Options.
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

#include "codec/codec.hpp"
#include "lines/line_order.hpp"
#include "records/record.hpp"
#include "support/table_options.hpp"
#include "support/text.hpp"
#include "support/typed_keys.hpp"

namespace gpusort {

enum class Action { kSort, kCheck, kExplain, kStatus, kHelp, kVersion, kCompletion };
enum class Format { kBinary, kLines, kTable };
enum class DeviceChoice { kAuto, kCpu, kGpu };
enum class HelpTopic { kShort, kAll, kKeys, kExamples, kManual };
enum class When { kAuto, kAlways, kNever };

/// Bytes [begin, end) of a file.
struct ByteRange {
  std::uint64_t begin = 0, end = ~std::uint64_t{0};
  bool inside = false;  ///< it ends with a record: what the file ends with is not in it
  std::string state{};  ///< in front of it, as RecordKeyer::SaveState
};

/// The order of lines and the view of it that layouts point to.
struct LineOrdered {
  explicit LineOrdered(LineOrder given) : order(std::move(given)), view(order.view()) {}
  LineOrdered(const LineOrdered&) = delete;
  LineOrdered& operator=(const LineOrdered&) = delete;

  const LineOrder order;
  const LineOrderView view;
};

struct Options {
  Action action = Action::kSort;
  bool probes = false;                 ///< kExplain: measures how long the job will take
  HelpTopic help = HelpTopic::kShort;  ///< for kHelp
  std::string shell;                   ///< for kCompletion: bash, zsh or fish
  std::vector<std::string> inputs;     ///< at least one; "-" (standard input) at most once
  std::vector<ByteRange> ranges;       ///< what of each input is sorted, headers apart: whole records; empty: all
  std::string output;                  ///< "-" is standard output; empty for kCheck
  bool input_implied = false;          ///< no name was given: `inputs` is standard input
  bool output_implied = false;         ///< no OUTPUT was given: `output` is standard output
  bool asks = false;                   ///< a person at a terminal is asked before an existing output is replaced
  bool headless = false;               ///< the output begins without the inputs' header
  std::vector<std::byte> trailer;      ///< what it ends with, if the inputs have no end
  std::string state;                   ///< in front of its first record, as RecordKeyer::SaveState

  Format format = Format::kBinary;
  bool format_assumed = false;  ///< no option names it: lines, or the numbers that extensions name
  bool force_format = false;    ///< inputs that seem to be of another kind are read in it all the same
  RecordLayout layout;                       ///< resolved; --reverse has flipped the direction of every field
  std::shared_ptr<const LineOrdered> lines;  ///< what the layout of lines refers to
  std::optional<TableOptions> table;         ///< of kTable, whose layout is that of its lines
  std::uint64_t header = 0;                  ///< lines at the top of every input that are not sorted
  std::uint64_t max_record = 0;              ///< bytes of the longest line; 0: planned
  bool grows = false;                        ///< longer lines take more memory than was planned, as by `sort`
  bool strict = true;           ///< inputs that change meanwhile, and temp directories that may not do, are errors
  bool locale = false;          ///< lines are ordered as the environment's locale says
  bool debug = false;           ///< show what lines are compared by
  std::vector<KeyDef> keys;     ///< of lines, as typed; for debug
  KeyOptions ordering;          ///< the letters of the command line; for debug
  bool stable = false;          ///< -s; for debug
  bool format_guessed = false;  ///< lines, before any input had a name that tells
  std::string lines_because;    ///< the option or key that made lines of the inputs; empty: --format or their names
  std::string column_form;      ///< if `lines_because` is set: what sorts the same inputs by columns
  bool random = false;          ///< a key of `lines` is ordered at random: ReadNamedFiles gives the salt
  std::string random_source;    ///< where from; empty: the system
  std::string names_file;       ///< --files0-from: the inputs' names are there; empty: none
  std::string type_note;        ///< what a record is and how that was decided: "i32 (from the extension .bin)"

  bool reverse = false;  ///< as typed; the layout holds its effect
  bool unique = false;
  std::uint64_t top = 0;  ///< how many records the output has at most; 0: all
  unsigned split = 0;     ///< the output is so many parts, `output` what their names begin with; 0: it is one file
  bool merge = false;     ///< inputs are sorted already
  bool quiet = false;     ///< kCheck: no message

  std::optional<Codec> input_codec;   ///< of every input; each by its extension if not given
  Codec output_codec = Codec::kNone;  ///< resolved
  std::uint64_t max_expanded = std::numeric_limits<std::uint64_t>::max();  ///< bytes that one input may expand to

  std::optional<Size> memory;
  std::optional<Size> gpu_memory;
  std::vector<std::string> temp_dirs;           ///< empty: the plan chooses
  std::optional<Codec> temp_codec;              ///< of what is spilled; chosen while it is written if not given
  std::string temp_program;                     ///< what is spilled goes through it instead; empty: through none
  std::function<void(const std::string&)> say;  ///< for a program that cannot be run; none: a warning of the log
  bool ignore_sigpipe = false;                  ///< the caller ignored SIGPIPE: programs that are run do, too
  unsigned threads = 0;                         ///< 0: one a core
  DeviceChoice device = DeviceChoice::kAuto;
  std::vector<int> gpus{};  ///< CUDA ordinals; none: all that are visible, or with auto as many as pay
  std::chrono::seconds gpu_timeout{60};  ///< a GPU that gives no sign for so long is lost

  std::string resume_dir;        ///< where what is done is kept for a process that comes later; empty: nowhere
  bool keep_resume_dir = false;  ///< also when the job is done
  /// Of the output, that the disk has before the last merge goes on.
  std::uint64_t checkpoint_bytes = std::uint64_t{32} << 30;
  /// What was typed of options that must be the same for a job to go on: names and values.
  std::vector<std::pair<std::string, std::string>> typed;

  bool no_fsync = false;
  bool no_clobber = false;  ///< an output that exists is not replaced
  bool verify_output = false;
  bool no_space_check = false;
  std::string stats_file;   ///< empty: none
  std::string trace_file;   ///< empty: none
  std::string report_file;  ///< empty: none
  When progress = When::kAuto;
  bool json_log = false;
  std::string log_level = "warn";  ///< trace, debug, info, warn, error or off
  std::string log_file;            ///< empty: none

  std::uint64_t batch_bytes = 0;  ///< 0: planned
  std::uint64_t block_bytes = 0;  ///< 0: planned
  unsigned max_fan_in = 0;        ///< 0: planned; else at least 2
};

/// The name of what an input holds once it is expanded.
inline std::string ExpandedName(const std::string& input, const Options& options) {
  const Codec named = CodecOfPath(input);
  return named != Codec::kNone && options.input_codec.value_or(named) == named
             ? std::string(WithoutCodecExtension(input))
             : input;
}

}  // namespace gpusort

#include "cli/parse_options.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <filesystem>
#include <utility>

#include "base/ascii.hpp"
#include "base/did_you_mean.hpp"
#include "cli/command_line.hpp"
#include "cli/names_of_inputs.hpp"
#include "cli/option_table.hpp"
#include "cli/option_values.hpp"
#include "cli/resolve.hpp"
#include "cli/typed.hpp"
#include "data/output_parts.hpp"
#include "io/path.hpp"
#include "io/stream.hpp"
#include "version.hpp"

namespace gpusort {
namespace {

namespace po = boost::program_options;

std::string UnknownOption(const std::string& typed) {
  std::vector<std::string> known;
  for (const OptionRow& row : kOptionRows) {
    if (row.name[0] != '\0') known.push_back(LongName(row));
  }
  return "unrecognised option " + InQuotes(typed) + DidYouMean(typed.substr(0, typed.find('=')), known) +
         "; see gpusort --help";
}

/// Throws an error if the name of a file is an option: the user has probably forgotten the name.
void RefuseOptionAsFile(const OptionRow& row, const std::string& value) {
  const std::string_view argument = row.argument;
  if ((argument != "FILE" && argument != "DIR") || !value.starts_with("--")) return;
  if (FindOption(value.substr(0, value.find('='))) == nullptr) return;
  FailUsage(LongName(row) + ": " + InQuotes(value) + " is an option; for a file of that name give ./" + value);
}

/// Adds an option of the command line, with its value, to typed.given.
void Take(const Argument& argument, Typed& typed) {
  if (argument.row == nullptr) FailUsage(UnknownOption(argument.text));
  const OptionRow& row = *argument.row;
  const std::string name = LongName(row), value = argument.value.value_or("");
  std::vector<std::string>& values = typed.given[&row];
  if (!TakesValue(row)) {
    if (argument.value && row.words[0] == '\0') FailUsage(name + " takes no value");
    if (argument.value) Named(name, [&] { RequireWord(value, WordsOf(row)); });
  } else {
    if (value.empty()) FailUsage(name + " needs a value: " + name + " " + row.argument);
    if (!values.empty() && (row.traits & kRepeats) == 0) {
      if (values.front() == value) return;
      FailUsage(name + " is given twice: " + InQuotes(values.front()) + " and " + InQuotes(value));
    }
    RefuseOptionAsFile(row, value);
  }
  values.push_back(value);
}

Typed ReadTyped(std::span<const std::string> words) {
  Typed typed;
  for (const Argument& argument : ReadCommandLine(words)) {
    argument.option ? Take(argument, typed) : typed.names.push_back(argument.text);
  }
  for (const auto& [row, values] : typed.given) {
    if (row->same_as[0] == '\0' || (row->traits & kRepeats) != 0) continue;
    const OptionRow& same = *FindOption(std::string("--") + row->same_as);
    if (typed.given.contains(&same)) {
      FailUsage(LongName(same) + " and " + LongName(*row) + " are the same option, given twice");
    }
  }
  return typed;
}

/// Describes all options to Boost. The notifier of an option is the setter of its row.
po::options_description Describe(Typed& typed) {
  po::options_description known;
  for (const OptionRow& row : kOptionRows) {
    const auto set = [&row, &typed](const std::vector<std::string>& values) {
      Named(LongName(row), [&] {
        for (const std::string& value : values) {
          if ((row.traits & kWordsOnly) != 0) RequireWord(value, WordsOf(row));
          row.set(typed, value);
        }
      });
    };
    const std::string names = row.name + (row.letter != 0 ? std::string(",") + row.letter : "");
    known.add_options()(names.c_str(), po::value<std::vector<std::string>>()->composing()->notifier(set), row.help);
  }
  return known;
}

/// Runs the setters of the given options that have the trait kFirst, or of those that do not have it.
void Set(const po::options_description& known, const Typed& typed, bool first) {
  po::parsed_options parsed(&known);
  for (const auto& [row, values] : typed.given) {
    if (((row->traits & kFirst) != 0) != first) continue;
    parsed.options.emplace_back(row->name[0] != '\0' ? row->name : LongName(*row), values);
  }
  po::variables_map values;
  po::store(parsed, values);
  po::notify(values);
}

/// Returns the option because of which the output is several files.
const char* NameOfSplit(const JobSpec& spec) { return spec.target.part_bytes > 0 ? "--target-size" : "--split"; }

/// Throws an error for options that have no meaning with the action.
void RefuseForAction(const Typed& typed) {
  const JobSpec& spec = typed.spec;
  if (spec.action == Action::kStatus) {
    if (spec.survival.dir.empty()) FailUsage("--status needs --resume-dir DIR");
    if (!typed.names.empty()) FailUsage("--status takes no files, and " + InQuotes(typed.names[0]) + " is given");
  }
  if (spec.action != Action::kCheck) return;
  for (const auto& [row, values] : typed.given) {
    if ((row->traits & kWithCheck) != 0) continue;
    FailUsage(LongName(*row) + " has no meaning with " + (spec.reports.quiet ? "-C" : "--check"));
  }
}

/// Returns true if all names, two or more, are inputs of a plan: --explain writes nothing, so that no name has to be
/// the output. All names must be readable. The second of two names is an input only if the job would hardly replace it:
/// in a merge, or among logs, which a pattern such as logs/* names.
bool AreInputsOfPlan(const Typed& typed, const JobSpec& spec) {
  if (spec.action != Action::kExplain) return false;
  const auto is_input = [](const std::string& name) {
    std::error_code unknown;
    const bool file = std::filesystem::is_regular_file(name, unknown) || std::filesystem::is_fifo(name, unknown);
    return name == "-" || (file && ::access(name.c_str(), R_OK) == 0);
  };
  const bool names_output = typed.force || spec.target.no_clobber || typed.compress_given || spec.target.index ||
                            spec.target.split > 0 || spec.target.verify || !spec.survival.dir.empty();
  if (names_output || !std::ranges::all_of(typed.names, is_input)) return false;
  return typed.names.size() > 2 || ((spec.order.merge || typed.format == "log") && typed.names[1] != "-");
}

/// Decides which names on the command line are inputs and which one is the output, if neither --output nor
/// --files0-from is given.
void PlaceBareNames(const Typed& typed, JobSpec& spec) {
  const std::vector<std::string>& names = typed.names;
  if (names.size() > 1 && AreInputsOfPlan(typed, spec)) {
    spec.source.inputs = names;
    const std::string all = names.size() == 2 ? "both" : "all " + std::to_string(names.size());
    spec.source.names_note = all + " names are inputs, because all are files that exist; -o gives the OUTPUT";
    spec.target.output = "-";
    spec.target.implied = true;
    return;
  }
  if (names.size() < 2) {
    spec.source.implied = names.empty();
    spec.source.inputs = names.empty() ? std::vector<std::string>{"-"} : names;
    const std::pair<const char*, bool> need_file[] = {{NameOfSplit(spec), spec.target.split > 0},
                                                      {"--resume-dir", !spec.survival.dir.empty()},
                                                      {"--verify-output", spec.target.verify},
                                                      {"--index", spec.target.index}};
    for (const auto& [name, given] : need_file) {
      if (given) FailUsage(NoOutput(spec) + "; " + name + " needs a file");
    }
    spec.target.output = "-";
    spec.target.implied = true;
    return;
  }
  // Two names may be two inputs and a forgotten -o.
  if (spec.order.merge) {
    FailUsage("-m needs -o: gpusort -m -o OUTPUT " + InQuotes(names[0]) + " " + InQuotes(names[1]) +
              (names.size() > 2 ? " ..." : "") + " merges them, and no input is replaced");
  }
  if (names.size() > 2) {
    FailUsage("there are " + std::to_string(names.size()) + " names; for several inputs give gpusort -o OUTPUT " +
              "INPUT..., where - is standard output");
  }
  spec.source.inputs = {names[0]};
  spec.target.output = names[1];
  if (std::error_code unknown; spec.action == Action::kExplain && std::filesystem::is_regular_file(names[1], unknown)) {
    spec.source.names_note =
        "the OUTPUT is " + InQuotes(names[1]) + ", which exists; -o OUTPUT makes both names inputs";
  }
  spec.target.asks = !typed.force && !spec.target.no_clobber;
}

void RefuseSecondStdin(const JobSpec& spec) {
  if (std::count(spec.source.inputs.begin(), spec.source.inputs.end(), "-") > 1) {
    FailUsage("standard input (-) can be read only once");
  }
}

void PlaceNames(const Typed& typed, JobSpec& spec) {
  const std::vector<std::string>& names = typed.names;
  if (std::find(names.begin(), names.end(), "") != names.end()) FailUsage("a file name is empty");
  if (!spec.source.names_file.empty()) {
    if (!names.empty()) {
      FailUsage("--files0-from: it gives the inputs, so " + InQuotes(names[0]) + " cannot be one, too");
    }
    if (spec.target.output.empty()) FailUsage("no output is given: gpusort --files0-from FILE -o OUTPUT");
  } else if (spec.action == Action::kCheck) {
    if (names.size() != 1) {
      FailUsage("--check takes exactly one input, and " + std::to_string(names.size()) + " are given");
    }
    spec.source.inputs = names;
  } else if (!spec.target.output.empty()) {
    if (names.empty()) FailUsage("no input is given: gpusort -o OUTPUT INPUT...");
    spec.source.inputs = names;
  } else {
    PlaceBareNames(typed, spec);
  }
  RefuseSecondStdin(spec);
}

/// Adds the files of --minus and --intersect before the inputs, and those of --union after them.
void PlaceSets(const Typed& typed, JobSpec& spec) {
  std::vector<std::string> front = typed.minus;
  front.insert(front.end(), typed.intersect.begin(), typed.intersect.end());
  if (front.empty() && typed.unions.empty()) return;
  const std::string name = !typed.minus.empty() ? "--minus" : !typed.intersect.empty() ? "--intersect" : "--union";
  if (!spec.source.names_file.empty()) FailUsage(name + " cannot be combined with --files0-from yet: name the inputs");
  std::vector<std::string>& inputs = spec.source.inputs;
  inputs.insert(inputs.begin(), front.begin(), front.end());
  inputs.insert(inputs.end(), typed.unions.begin(), typed.unions.end());
  spec.order.minus = static_cast<std::uint32_t>(typed.minus.size());
  spec.order.intersect = static_cast<std::uint32_t>(typed.intersect.size());
  spec.order.has_union = !typed.unions.empty();
  RefuseSecondStdin(spec);
}

void ResolveTarget(const Typed& typed, JobSpec& spec) {
  Target& target = spec.target;
  if (target.no_clobber && typed.force) FailUsage("--force and --no-clobber exclude each other");
  if (target.verify && target.output == "-") FailUsage("--verify-output cannot read standard output back");
  if (target.split == 0) return;
  Named(NameOfSplit(spec), [&] {
    if (IsStreamTarget(target.output)) FailUsage("it makes files, and " + InQuotes(target.output) + " is a stream");
    if (target.output.ends_with('/')) {
      FailUsage("it needs the beginning of the files' names after " + InQuotes(target.output));
    }
    const std::string last = std::filesystem::path(target.output).filename().string();
    if (last == "." || last == "..") FailUsage(SplitIntoFolder(target.output));
    if (spec.target.index) FailUsage("--index has no meaning with it, because the parts are not compressed");
    if (spec.order.debug) FailUsage("--debug has no meaning with it");
  });
}

/// Throws an error if --index is given and the output has no index.
void CheckIndex(const JobSpec& spec) {
  if (!spec.target.index) return;
  Named("--index", [&] {
    if (IsStreamTarget(spec.target.output)) {
      FailUsage("it makes a file beside the output, and " +
                (spec.target.output == "-" ? "standard output" : InQuotes(spec.target.output)) + " is a stream");
    }
    if (spec.target.codec != Codec::kBgzf) {
      FailUsage(
          "only an output that bgzf compresses has an index: give --compress bgzf, or a name that ends with .bgz");
    }
  });
}

void ResolveCodecs(const Typed& typed, JobSpec& spec) {
  if (!spec.source.codec) {
    for (const std::string& input : spec.source.inputs) RefuseCodecInDoubt(input, "--decompress");
  }
  if (spec.action == Action::kCheck) return;
  if (typed.temp_codec_given && typed.temp_program_given) {
    FailUsage("--compress-temp and --compress-program exclude each other");
  }
  if (spec.target.split > 0) return;  // the name of the output is only the beginning of the files' names
  const Codec named = CodecOfPath(spec.target.output);
  if (typed.compress && *typed.compress != Codec::kNone && named != Codec::kNone && !FitsName(*typed.compress, named)) {
    FailUsage("--compress " + std::string(CodecName(*typed.compress)) + ": the name " + InQuotes(spec.target.output) +
              " means " + std::string(CodecName(named)));
  }
  if (!typed.compress_given) RefuseCodecInDoubt(spec.target.output, "--compress");
  spec.target.codec = typed.compress.value_or(named);
  CheckIndex(spec);
}

/// Returns true if the records are lines, with keys of GNU sort or keys with a type.
bool SortsLines(const Source& source) {
  return source.format == Format::kLines || (source.table && source.table->name == "lines");
}

/// Throws an error if a report has the name of an input or of the output.
void CheckReports(const JobSpec& spec) {
  const Reports& reports = spec.reports;
  const std::pair<const char*, const std::string&> files[] = {{"--stats", reports.stats},
                                                              {"--trace", reports.trace},
                                                              {"--report", reports.page},
                                                              {"--log-file", reports.log_file}};
  for (const auto& [name, file] : files) {
    const std::string front = std::string(name) + ": " + InQuotes(file);
    if (file.empty()) continue;
    if (file == "-") FailUsage(front + " is not a file; give a file name");
    if (file == spec.target.output) FailUsage(front + " is the output");
    if (std::count(spec.source.inputs.begin(), spec.source.inputs.end(), file) != 0) FailUsage(front + " is an input");
    if (spec.action == Action::kExplain && &file != &reports.log_file) {
      FailUsage(name + std::string(" has no meaning with --explain, which sorts nothing"));
    }
  }
  if (!reports.stats.empty() && reports.stats == reports.log_file) {
    FailUsage("--stats and --log-file name the same file " + InQuotes(reports.stats));
  }
}

/// Throws an error if two options say differently what standard error shows.
void CheckVerbosity(const Typed& typed) {
  constexpr std::pair<const char*, const char*> kEither[] = {
      {"--quiet", "--verbose"}, {"--quiet", "--log-level"}, {"--quiet", "--progress"}, {"--verbose", "--log-level"}};
  for (const auto& [one, other] : kEither) {
    if (!typed.given.contains(FindOption(one)) || !typed.given.contains(FindOption(other))) continue;
    FailUsage(one + std::string(" and ") + other + " exclude each other");
  }
}

void ResolveBatchSize(const Typed& typed, JobSpec& spec) {
  if (typed.batch_size.empty()) return;
  const bool lines = spec.source.format != Format::kBinary;
  const auto twice = [](const std::string& other) {
    FailUsage("--batch-size and " + other + " are the same option, given twice");
  };
  if (lines && spec.limits.max_fan_in != 0) twice("--fan-in");
  if (!lines && spec.limits.batch_bytes != 0) twice("--batch-bytes");
  Named("--batch-size", [&] {
    if (lines) {
      spec.limits.max_fan_in = ParseFanIn(typed.batch_size);
    } else {
      spec.limits.batch_bytes = ParseBytes(typed.batch_size);
    }
  });
}

/// Returns the names and values of those options that must not change when a stopped job continues.
std::vector<std::pair<std::string, std::string>> FixedOptions(const Typed& typed) {
  std::vector<std::pair<std::string, std::string>> fixed;
  for (const auto& [row, values] : typed.given) {
    if ((row->traits & kAnyAttempt) != 0) continue;
    std::string all = TakesValue(*row) ? values[0] : "given";
    for (std::size_t i = 1; i < values.size() && TakesValue(*row); ++i) all += ", " + values[i];
    fixed.emplace_back(LongName(*row), all);
  }
  return fixed;
}

void ResolveSurvival(const Typed& typed, JobSpec& spec) {
  if (spec.survival.dir.empty()) {
    if (spec.survival.keep) FailUsage("--keep-resume-dir has no meaning without --resume-dir");
    if (typed.checkpoint_given) FailUsage("--checkpoint has no meaning without --resume-dir");
    return;
  }
  spec.survival.typed = FixedOptions(typed);
  if (spec.order.merge) FailUsage("--resume-dir has nothing to keep with -m, which makes no runs: leave it out");
  if (IsStreamTarget(spec.target.output)) {
    FailUsage("--resume-dir: the output " + InQuotes(spec.target.output) +
              " is a stream, which cannot be continued in the middle");
  }
  if (std::count(spec.source.inputs.begin(), spec.source.inputs.end(), "-") > 0) {
    FailUsage("--resume-dir: standard input cannot be continued in the middle: give a file");
  }
  if (spec.order.random && spec.order.random_source.empty()) {
    FailUsage("--resume-dir with -R needs --random-source: else every attempt has another order");
  }
  if (typed.shuffle && !typed.seed) {
    FailUsage("--resume-dir with --shuffle needs --seed: else every attempt has another order");
  }
}

/// Throws an error for options that say something else about the order than --shuffle.
void RefuseForShuffle(const Typed& typed) {
  if (!typed.shuffle) {
    if (typed.seed) FailUsage("--seed has no meaning without --shuffle");
    return;
  }
  for (const auto& [row, values] : typed.given) {
    const std::string name = LongName(*row);
    const bool orders = row->section == Section::kOrder && name != "--shuffle" && name != "--seed" && name != "--top";
    const bool of_lines = row->section == Section::kLines && name != "--header" && name != "--header-prefix" &&
                          name != "--zero-terminated" && name != "--max-record";
    if (orders || of_lines || name == "--merge") FailUsage(name + " has no meaning with --shuffle");
  }
  if (typed.spec.target.verify) {
    FailUsage("--verify-output has no meaning with --shuffle: the order does not follow from the records");
  }
}

/// Returns the option because of which groups of equal records must be known as a whole.
std::string NameOfGroups(const Order& order) {
  if (order.sum) return "--sum";
  if (order.count) return "--count";
  return order.groups == KeptGroups::kSingle ? "--only-unique" : "--only-duplicates";
}

/// Returns true for binary records, also if they have their places before them.
bool IsBinary(const JobSpec& spec) {
  return spec.source.format == Format::kBinary || (spec.source.table && spec.source.table->name == kPlainRecords.name);
}

/// Throws an error if --sum is given and the job has no fields or no keys.
void CheckSum(const JobSpec& spec) {
  if (!spec.order.sum) return;
  if (IsBinary(spec)) {
    FailUsage("--sum has no form for binary records, because a sum may be larger than its field");
  }
  if (std::ranges::all_of(spec.source.table->keys, &ColumnKey::summed)) {
    FailUsage("--sum needs -k: without a key, records are equal only if all their values are");
  }
}

/// Decides which groups of equal records are kept and how they are counted.
void ResolveGroups(const Typed& typed, JobSpec& spec) {
  Order& order = spec.order;
  if (typed.only_single && typed.only_repeated) {
    FailUsage("--only-unique and --only-duplicates exclude each other: together they keep no record");
  }
  if (typed.only_single) order.groups = KeptGroups::kSingle;
  if (typed.only_repeated) order.groups = KeptGroups::kRepeated;
  if (order.by_count && (!order.count || order.top == 0)) {
    FailUsage("--by count needs --count and --top N: it writes the N most frequent records");
  }
  if (!order.needs_groups()) return;
  const std::string name = NameOfGroups(order);
  if (spec.target.split > 0) {
    FailUsage(name + " cannot be combined with " + NameOfSplit(spec) + " yet: give one file as the output");
  }
  const std::optional<TableOptions>& table = spec.source.table;
  if (IsDump(spec)) {
    FailUsage(name + " has no meaning with --format " + table->name + ": a dump is put in order as a whole");
  }
  CheckSum(spec);
  if (order.sum && order.set_inputs() > 0) spec.source.table->late_sums = true;
  if (!order.writes_groups()) return;
  if (order.count && IsBinary(spec)) {
    FailUsage(
        "--count has no form for binary records, which all have one size; --only-unique and --only-duplicates do");
  }
  if (order.debug) FailUsage(name + " and --debug exclude each other: both write something else than the lines");
  if (spec.target.verify) {
    FailUsage("--verify-output has no meaning with " + name + ": the output is more than the records");
  }
  if (!order.count || !table || (RowOf(*table).takes & kCountsColumn) == 0) return;
  if (table->comment >= 0) FailUsage("--count cannot be combined with --comment: a comment is part of its record");
  if (table->header > 1) {
    FailUsage("--count cannot be combined with --header " + std::to_string(table->header) +
              ": the new column has one name");
  }
  if (std::isdigit(table->delimiter) != 0) FailUsage("--count cannot be combined with a digit as --delimiter");
}

/// Throws an error for options that have no meaning with sets of records (--minus, --intersect).
void RefuseForSets(const Typed& typed) {
  const JobSpec& spec = typed.spec;
  if (spec.order.set_inputs() == 0) return;
  if (spec.target.split == 0) return;
  FailUsage(std::string(NameOfSplit(spec)) + " cannot be combined with " + typed.WhyPlaced() +
            " yet: give one file as the output");
}

/// Throws an error for options that have no meaning if the output has the order of the input.
void RefuseForKeepOrder(const Typed& typed) {
  const JobSpec& spec = typed.spec;
  if (!spec.order.keeps_input_order) return;
  if (!spec.order.unique && spec.order.set_inputs() == 0) {
    FailUsage("--keep-order needs -u, --count, --sum, --only-unique, --only-duplicates, --minus or --intersect: all " +
              std::string("records in the order of the input are the input itself"));
  }
  if (spec.order.by_count) {
    FailUsage("--by count and --keep-order exclude each other: each of them gives the order of the output");
  }
  if (spec.target.split > 0) {
    FailUsage(std::string(NameOfSplit(spec)) + " has no meaning with --keep-order: parts are ranges of keys");
  }
  if (spec.target.verify) {
    FailUsage("--verify-output has no meaning with --keep-order: the order does not follow from the records");
  }
}

/// Throws an error for options that cannot be combined with places of records in the input.
void RefuseForPlaces(const Typed& typed) {
  const JobSpec& spec = typed.spec;
  if (!typed.placed()) return;
  const std::string name = typed.WhyPlaced();
  if (spec.order.debug) FailUsage("--debug cannot be combined with " + name + ": leave one of them out");
  if (IsDump(spec)) {
    FailUsage(name + " has no meaning with --format " + spec.source.table->name +
              ": a dump is put in order as a whole");
  }
}

/// Throws an error if standard input would be read for two purposes.
void CheckRandomSource(const JobSpec& spec) {
  if (spec.order.random_source != "-") return;
  const bool names = spec.source.names_file == "-";
  if (names || std::count(spec.source.inputs.begin(), spec.source.inputs.end(), "-") > 0) {
    FailUsage("standard input (-) can be read only once: --random-source needs a file");
  }
}

}  // namespace

JobSpec ParseOptions(std::span<const std::string> words, const std::function<void(const std::string&)>& look) {
  Typed typed = ReadTyped(words);
  JobSpec& spec = typed.spec;
  const po::options_description known = Describe(typed);
  Set(known, typed, true);
  if (spec.action == Action::kInstallSort && (typed.given.size() > 1 || !typed.names.empty())) {
    FailUsage("--install-sort takes no files and no other options: gpusort --install-sort DIR");
  }
  if (spec.action >= Action::kCompletion) return spec;  // completion, a link, version or help
  RefuseForAction(typed);
  if (spec.action == Action::kStatus) return spec;
  Set(known, typed, false);
  if (spec.target.part_bytes > 0) {
    if (spec.target.split > 0)
      FailUsage("--split and --target-size exclude each other: both say how many parts there are");
    spec.target.split = 1;  // ChooseParts() knows the number
  }
  PlaceNames(typed, spec);
  PlaceSets(typed, spec);
  ResolveTarget(typed, spec);
  ResolveCodecs(typed, spec);
  RefuseForShuffle(typed);
  try {
    ResolveRecords(typed);
  } catch (const Error&) {
    if (look) std::for_each(spec.source.inputs.begin(), spec.source.inputs.end(), look);
    throw;
  }
  if (!IsColumnFile(spec.target.codec) && typed.compress_given && !typed.compress) {
    Named("--compress", [&] { ParseCodec(typed.compress_text); });
  }
  if (!IsColumnFile(spec.target.codec) && spec.target.split > 0 && typed.compress_given) {
    FailUsage(std::string(NameOfSplit(spec)) + ": --compress has no meaning with it");
  }
  if (spec.target.split > 0 && spec.source.table && (RowOf(*spec.source.table).takes & kTakesSplit) == 0) {
    FailUsage(NameOfSplit(spec) + (" has no meaning with " + spec.source.table->name) +
              ": the rows of a dump stand between its other statements");
  }
  if (typed.shuffle && IsDump(spec)) {
    FailUsage("--shuffle has no meaning with --format " + spec.source.table->name +
              ": a dump is put in order as a whole");
  }
  ResolveGroups(typed, spec);
  RefuseForSets(typed);
  RefuseForKeepOrder(typed);
  RefuseForPlaces(typed);
  CheckRandomSource(spec);
  CheckReports(spec);
  CheckVerbosity(typed);
  ResolveBatchSize(typed, spec);
  ResolveSurvival(typed, spec);
  return spec;
}

void ChooseParts(JobSpec& spec) {
  Target& target = spec.target;
  if (target.part_bytes == 0) return;
  std::uint64_t bytes = 0;
  for (const std::string& input : spec.source.inputs) {
    const Codec codec = spec.source.codec.value_or(CodecOfPath(input));
    const bool packed = codec != Codec::kNone && !IsColumnFile(codec);
    if (input == "-" || packed || IsStreamSource(input)) {
      FailUsage("--target-size: the size of " + (input == "-" ? "standard input" : InQuotes(input)) + " is not known" +
                (packed ? ", because it is compressed" : "") + ": give --split");
    }
    std::error_code missing;
    const std::uint64_t size = std::filesystem::file_size(input, missing);
    if (!missing) bytes += size;
  }
  const std::uint64_t parts = std::max<std::uint64_t>(1, (bytes + target.part_bytes - 1) / target.part_bytes);
  if (parts > kMostParts) {
    FailUsage("--target-size makes " + std::to_string(parts) + " files, and " + std::to_string(kMostParts) +
              " are possible: give at least " + SizeArgument((bytes + kMostParts - 1) / kMostParts));
  }
  target.split = static_cast<unsigned>(parts);
}

std::vector<std::string> DecidingOptions(std::span<const std::string> words) {
  std::vector<std::string> options;
  for (const auto& [row, values] : ReadTyped(words).given) {
    if (!ChangesBytes(*row)) continue;
    if (!TakesValue(*row)) options.push_back(LongName(*row));
    for (const std::string& value : TakesValue(*row) ? values : std::vector<std::string>()) {
      if (IsObsolescent(value)) FailUsage("give keys with -k: " + KeyText(value));
      // Tasks run in other folders, and must find the same file.
      const bool file = (row->traits & kSameFile) != 0;
      options.push_back(LongName(*row) + "=" + (file ? std::filesystem::absolute(value).string() : value));
    }
  }
  return options;
}

std::string NoOutput(const JobSpec& spec) {
  if (spec.source.implied)
    return "no input is given: gpusort INPUT OUTPUT, or gpusort <INPUT >OUTPUT; see gpusort --help";
  return "no output is given for " + InQuotes(spec.source.inputs[0]) +
         ": gpusort INPUT OUTPUT, where - is standard output, or gpusort INPUT >OUTPUT";
}

std::string TakenForLines(const JobSpec& spec) {
  if (!SortsLines(spec.source) || spec.source.lines_because.empty()) return "";
  for (const std::string& input : spec.source.inputs) {
    const FormatRow* const row = input == "-" ? nullptr : FormatOfFile(ExpandedName(input, spec.source));
    if (row == nullptr) continue;
    const bool json = row->names == ColumnNames::kPaths;
    return InQuotes(input) + " is sorted as lines because of " + spec.source.lines_because +
           (json ? "; by its members: -k PATH, like -k user.id:int"
                 : ": a header is sorted like any line, and a newline in quotes ends a record; by columns: " +
                       spec.source.column_form) +
           "; for lines, and without this warning: --format lines";
  }
  return "";
}

std::string MisnamedOutput(const JobSpec& spec) {
  const std::string& output = spec.target.output;
  if (spec.action != Action::kSort || !spec.source.format_assumed || spec.target.split > 0 || IsStreamTarget(output)) {
    return "";
  }
  const std::string name(WithoutCodecExtension(output));
  const std::string get = InQuotes(output) + " gets ";
  if (const FormatRow* const row = FormatOfFile(name)) {
    if (spec.source.table && spec.source.table->name == row->name) return "";
    // The name of the output has told which codec of Arrow to write.
    if (IsColumnFile(spec.target.codec) && IsColumnFile(row->codec)) return "";
    if (!SortsLines(spec.source)) {
      const std::string has = spec.source.table ? spec.source.table->name + " records" : "binary records";
      return get + has + ", as the input has them: gpusort converts nothing";
    }
    if (!spec.source.lines_because.empty()) return "";
    return get + "lines" + (row->header > 0 ? ", and a header is sorted like any line" : "") + ": give --format " +
           row->name + ", or --format lines for lines without this warning";
  }
  static constexpr const char* kOthers[] = {".7z",      ".arrow",  ".avro", ".db",  ".ods",  ".orc", ".rar",
                                            ".sqlite3", ".sqlite", ".tar",  ".xls", ".xlsx", ".zip"};
  const auto has = [](const std::string& path, const char* extension) { return LowerText(path).ends_with(extension); };
  for (const char* const extension : kOthers) {
    if (!has(name, extension)) continue;
    // An input of the same kind is refused, unless its name says something wrong, too.
    if (std::ranges::any_of(spec.source.inputs, [&](const std::string& input) { return has(input, extension); })) break;
    return get + "the records as they are, and is no " + extension + " file";
  }
  return "";
}

std::string VersionText(const std::vector<std::string>& backends) {
  std::string text = "gpusort " GPUSORT_VERSION "\n";
  for (const std::string& backend : backends) text += "backend: " + EscapeName(backend) + "\n";
  return text;
}

}  // namespace gpusort

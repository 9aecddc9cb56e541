#include "cli/parse_options.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <sstream>
#include <utility>

#include "base/did_you_mean.hpp"
#include "cli/column_key.hpp"
#include "cli/gnu_options.hpp"
#include "cli/key_def.hpp"
#include "cli/option_table.hpp"
#include "data/output_parts.hpp"
#include "io/file.hpp"
#include "io/path.hpp"
#include "io/stream.hpp"

namespace gpusort {
namespace {

namespace po = boost::program_options;

[[noreturn]] void Fail(const std::string& why) { throw Error(ErrorCode::kUsage, why); }

std::string Quote(std::string_view text) { return "'" + EscapeName(text) + "'"; }

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

constexpr const char* kTypeHelp =
    "give --type (i8 i16 i32 i64 u8 u16 u32 u64 f32 f64) or --record-size N; the extensions .bin (i32) and .i8 to "
    ".f64 name a type by themselves";

/// The shortest name of an option: what a user most likely typed.
std::string ShortName(const OptionRow& row) {
  return row.letter != 0 ? std::string("-") + row.letter : std::string("--") + row.name;
}

/// The name that messages and the map of values use.
std::string KeyOf(const OptionRow& row) {
  return row.name[0] == '\0' ? std::string("-") + row.letter : std::string("--") + row.name;
}

/// Whether Boost's messages call it so.
bool IsName(const OptionRow& row, const std::string& name) {
  return name == KeyOf(row) || (row.letter != 0 && name == std::string("-") + row.letter);
}

std::string EmptyValue(const OptionRow& row) {
  return KeyOf(row) + " needs a value: " + KeyOf(row) + " " + row.argument;
}

/// What was typed, by KeyOf; positional arguments apart.
struct Typed {
  std::map<std::string, std::vector<std::string>> values;  // a flag has an empty vector
  std::vector<std::string> names;
  HelpTopic help = HelpTopic::kShort;  // of --help, the last one
  bool probes = false;                 // --explain=full

  bool has(const std::string& key) const { return values.count(key) != 0; }
  const std::string* value(const std::string& key) const {
    const auto it = values.find(key);
    return it == values.end() ? nullptr : &it->second.front();
  }
};

/// Marks a key that was written as +F.C -F.C: no argument has such a byte.
constexpr char kObsolescent = '\0';
bool IsObsolescent(const std::string& key) { return key.starts_with(kObsolescent); }

KeyDef ParseKeyText(const std::string& text) {
  if (!IsObsolescent(text)) return ParseKeyDef(text);
  const std::size_t space = std::min(text.find(' '), text.size());
  const auto end = space < text.size() ? std::optional(text.substr(space + 1)) : std::nullopt;
  const std::optional<KeyDef> key = ParseObsolescentKey(text.substr(1, space - 1), end);
  if (!key) throw Error(ErrorCode::kInternal, "a key that was one is none");
  return *key;
}
/// As it was typed.
std::string KeyText(const std::string& text) { return EscapeName(IsObsolescent(text) ? text.substr(1) : text); }

/// What the user must have forgotten the file's name for.
void RefuseOptionAsFile(const OptionRow& row, const std::string& value) {
  const std::string_view argument = row.argument;
  if (argument != "FILE" && argument != "DIR") return;
  const std::string name = value.substr(0, value.find('='));
  const bool option =
      name.starts_with("--") && std::any_of(std::begin(kOptionRows), std::end(kOptionRows),
                                            [&](const OptionRow& known) { return name == KeyOf(known); });
  if (option) Fail(KeyOf(row) + ": " + Quote(value) + " is an option; for a file of that name give ./" + value);
}

std::string UnknownOption(const std::string& typed) {
  std::vector<std::string> known;
  for (const OptionRow& row : kOptionRows) {
    if (row.name[0] != '\0') known.push_back(KeyOf(row));
  }
  return "unrecognised option " + Quote(typed) + DidYouMean(typed.substr(0, typed.find('=')), known);
}

/// True if the argument is an option whose value is the next argument.
bool TakesNext(const std::string& argument) {
  const auto takes = [](const OptionRow& row) { return row.argument[0] != '\0'; };
  if (argument.starts_with("--")) {
    return std::any_of(std::begin(kOptionRows), std::end(kOptionRows),
                       [&](const OptionRow& row) { return takes(row) && argument == KeyOf(row); });
  }
  if (!argument.starts_with('-')) return false;
  for (std::size_t i = 1; i < argument.size(); ++i) {
    const auto row = std::find_if(std::begin(kOptionRows), std::end(kOptionRows),
                                  [&](const OptionRow& candidate) { return candidate.letter == argument[i]; });
    if (row == std::end(kOptionRows)) return false;
    if (takes(*row)) return i + 1 == argument.size();
  }
  return false;
}

/// Runs `parse` and puts the option's name before what it complains about.
template <typename Parse>
auto Named(const std::string& key, Parse parse) {
  try {
    return parse();
  } catch (const Error& error) {
    throw Error(error.code(), key + ": " + error.what());
  }
}

template <typename T>
T Choose(const std::string& text, std::initializer_list<std::pair<const char*, T>> choices) {
  std::string all;
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
    all += (all.empty() ? "" : ", ") + std::string(name);
    names.emplace_back(name);
  }
  Fail(Quote(text) + " is none of: " + all + DidYouMean(text, names));
}

/// `text`, which must be one of the words that the table has for the option.
std::string OneOfWords(std::string_view option, const std::string& text) {
  std::istringstream words{std::string(WordsOf(option))};
  const std::vector<std::string> known{std::istream_iterator<std::string>(words), {}};
  if (std::find(known.begin(), known.end(), text) != known.end()) return text;
  std::string all;
  for (const std::string& word : known) all += (all.empty() ? "" : ", ") + word;
  Fail(Quote(text) + " is none of: " + all + DidYouMean(text, known));
}

/// Puts forms that Boost does not know into ones that it does: --help=TOPIC and --explain=full, which go into `typed`,
/// and GNU sort's --check=WORD and +F.C -F.C.
std::vector<std::string> Translate(const std::vector<std::string>& arguments, Typed& typed) {
  std::vector<std::string> translated;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    translated.push_back(argument);
    if (argument == "--") {
      translated.insert(translated.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, arguments.end());
      break;
    }
    if (TakesNext(argument) && i + 1 < arguments.size()) {
      translated.push_back(arguments[++i]);
      continue;
    }
    const auto word = [&] { return argument.substr(argument.find('=') + 1); };
    if (argument.starts_with("--check=")) {
      translated.back() = Named("--check", [&] {
        return Choose<const char*>(word(), {{"quiet", "-C"}, {"silent", "-C"}, {"diagnose-first", "--check"}});
      });
    }
    if (argument.starts_with("--explain=")) {
      typed.probes = Named("--explain", [&] { return Choose<bool>(word(), {{"full", true}}); });
      translated.back() = "--explain";
    }
    if (argument == "--help") typed.help = HelpTopic::kShort;
    if (argument.starts_with("--help=")) {
      typed.help = Named("--help", [&] {
        return Choose<HelpTopic>(word(), {{"all", HelpTopic::kAll},
                                          {"keys", HelpTopic::kKeys},
                                          {"examples", HelpTopic::kExamples},
                                          {"man", HelpTopic::kManual},
                                          {"json", HelpTopic::kJson}});
      });
      translated.back() = "--help";
    }
    if (!argument.starts_with('+')) continue;
    std::optional<std::string> end;
    if (i + 1 < arguments.size() && arguments[i + 1].size() > 1 && arguments[i + 1][0] == '-' &&
        std::isdigit(static_cast<unsigned char>(arguments[i + 1][1])) != 0) {
      end = arguments[i + 1];
    }
    if (!TakesObsolescentKey(end.has_value()) || !ParseObsolescentKey(argument, end)) continue;
    translated.back() = "-k";
    translated.push_back(kObsolescent + argument + (end ? " " + *end : ""));
    i += end ? 1 : 0;
  }
  return translated;
}

/// Splits the command line. Boost only finds the tokens: guessing of shortened names is off, so that a new option
/// never changes what an old script means, and no option takes its value optionally.
Typed Split(int argc, const char* const* argv) {
  po::options_description known;
  for (const OptionRow& row : kOptionRows) {
    std::string names = row.name;
    if (row.letter != 0) names += std::string(",") + row.letter;
    if (row.argument[0] == '\0') {
      known.add_options()(names.c_str(), "");
    } else {
      known.add_options()(names.c_str(), po::value<std::string>(), "");
    }
  }
  Typed typed;
  try {
    const std::vector<std::string> arguments = Translate({argv + std::min(argc, 1), argv + argc}, typed);
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    for (const po::option& option : po::command_line_parser(arguments).options(known).style(style).run().options) {
      if (option.position_key >= 0) {
        typed.names.insert(typed.names.end(), option.value.begin(), option.value.end());
        continue;
      }
      const auto row = std::find_if(std::begin(kOptionRows), std::end(kOptionRows), [&](const OptionRow& candidate) {
        return option.string_key == candidate.name || option.string_key == KeyOf(candidate);
      });
      if (row == std::end(kOptionRows)) throw Error(ErrorCode::kInternal, "option without a row: " + option.string_key);
      const std::string key = KeyOf(*row);
      std::vector<std::string>& values = typed.values[key];
      if (row->argument[0] == '\0') continue;
      if (!values.empty() && (row->marks & kRepeats) == 0 && values != option.value) {
        Fail(key + " is given twice: " + Quote(values.front()) + " and " + Quote(option.value.front()));
      }
      values.insert(values.end(), option.value.begin(), option.value.end());
      if (values.back().empty()) Fail(EmptyValue(*row));
      RefuseOptionAsFile(*row, values.back());
    }
  } catch (const po::unknown_option& error) {
    Fail(UnknownOption(error.get_option_name()) + "; see gpusort --help");
  } catch (const po::invalid_command_line_syntax& error) {
    const std::string& typed_name = error.get_option_name();
    const auto row = std::find_if(std::begin(kOptionRows), std::end(kOptionRows),
                                  [&](const OptionRow& known_row) { return IsName(known_row, typed_name); });
    if (row == std::end(kOptionRows)) Fail(EscapeName(error.what()) + "; see gpusort --help");
    if (error.kind() == error.extra_parameter) Fail(KeyOf(*row) + " takes no value");
    Fail(EmptyValue(*row));
  } catch (const po::error& error) {
    Fail(EscapeName(error.what()) + "; see gpusort --help");
  }
  for (const auto& [a, b] : {std::pair("--memory", "--buffer-size"), std::pair("--threads", "--parallel")}) {
    if (typed.has(a) && typed.has(b)) Fail(std::string(a) + " and " + b + " are the same option, given twice");
  }
  return typed;
}

std::uint64_t ParseCount(std::string_view text, std::uint64_t least, std::uint64_t most) {
  const std::optional<std::uint64_t> value = ParseDigits(text);
  if (!value || *value < least || *value > most) {
    Fail(Quote(text) + " is not a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return *value;
}

/// A size in bytes above 0; a share of a limit has no meaning here.
std::uint64_t ParseBytes(std::string_view text) {
  const Size size = ParseSize(text, 1);
  if (size.percent) Fail(Quote(text) + " is a share; give bytes, or K M G T");
  if (size.value == 0) Fail("must be more than 0");
  return size.value;
}

}  // namespace

void ParseDevice(const std::string& text, JobSpec& spec) {
  if (text.starts_with("gpu:")) {
    spec.limits.device = DeviceChoice::kGpu;
    // Behind the colon, and behind each comma, there is a number.
    for (std::string_view rest = std::string_view(text).substr(3); !rest.empty();) {
      rest.remove_prefix(1);
      const std::string_view one = rest.substr(0, rest.find(','));
      spec.limits.gpus.push_back(static_cast<int>(ParseCount(one, 0, 1023)));
      if (std::count(spec.limits.gpus.begin(), spec.limits.gpus.end(), spec.limits.gpus.back()) > 1) {
        Fail("GPU " + std::string(one) + " is named twice");
      }
      rest.remove_prefix(one.size());
    }
    return;
  }
  spec.limits.device = Choose<DeviceChoice>(
      text, {{"auto", DeviceChoice::kAuto}, {"cpu", DeviceChoice::kCpu}, {"gpu", DeviceChoice::kGpu}});
}

namespace {

/// Nothing for auto.
std::optional<Codec> ParseCodec(const std::string& text) {
  if (text == "auto") return std::nullopt;
  const std::optional<Codec> codec = CodecOfName(text);
  if (!codec) {
    Fail(Quote(text) + " is none of: auto, none, gz, bz2, xz, zst, lz4" +
         DidYouMean(text, {"auto", "none", "gz", "gzip", "bz2", "bzip2", "xz", "zst", "zstd", "lz4"}));
  }
  return codec;
}

/// The codec that a name seems to mean by an extension that is none of ours: in upper case, a program's name, or tar's.
std::optional<Codec> CodecInDoubt(const std::string& path) {
  static constexpr std::pair<const char*, Codec> kOthers[] = {
      {".gzip", Codec::kGz},  {".tgz", Codec::kGz},   {".taz", Codec::kGz}, {".bzip2", Codec::kBz2},
      {".tbz", Codec::kBz2},  {".tbz2", Codec::kBz2}, {".txz", Codec::kXz}, {".zstd", Codec::kZst},
      {".tzst", Codec::kZst}, {".tlz4", Codec::kLz4}};
  if (CodecOfPath(path) != Codec::kNone) return std::nullopt;
  const std::string lower = Lower(path);
  if (const Codec codec = CodecOfPath(lower); codec != Codec::kNone) return codec;
  for (const auto& [extension, codec] : kOthers) {
    if (lower.ends_with(extension)) return codec;
  }
  return std::nullopt;
}

/// `option`: the one that decides in place of the name.
void RefuseCodecInDoubt(const std::string& path, const std::string& option) {
  const std::optional<Codec> codec = CodecInDoubt(path);
  if (!codec) return;
  Fail("the name " + Quote(path) + " looks compressed, but only .gz .bz2 .xz .zst .lz4 tell that: give " + option +
       " " + std::string(CodecName(*codec)) + ", or " + option + " none for bytes as they are");
}

void ResolveCodecs(const Typed& typed, JobSpec& spec) {
  if (const std::string* text = typed.value("--decompress")) {
    spec.source.codec = Named("--decompress", [&] { return ParseCodec(*text); });
  }
  if (const std::string* text = typed.value("--max-expanded")) {
    spec.source.max_expanded = Named("--max-expanded", [&] { return ParseBytes(*text); });
  }
  if (!spec.source.codec) {
    for (const std::string& input : spec.source.inputs) RefuseCodecInDoubt(input, "--decompress");
  }
  if (spec.action == Action::kCheck) return;
  if (const std::string* text = typed.value("--compress-temp")) {
    if (typed.has("--compress-program")) Fail("--compress-temp and --compress-program exclude each other");
    spec.limits.temp_codec = Named("--compress-temp", [&] {
      return Choose<std::optional<Codec>>(*text, {{"auto", std::nullopt},
                                                  {"none", Codec::kNone},
                                                  {"lz4", Codec::kLz4},
                                                  {"zst", Codec::kZst},
                                                  {"zstd", Codec::kZst}});
    });
  }
  if (const std::string* text = typed.value("--compress-program")) {
    static constexpr std::pair<std::string_view, Codec> kBuiltIn[] = {
        {"gzip", Codec::kGz}, {"bzip2", Codec::kBz2}, {"xz", Codec::kXz}, {"zstd", Codec::kZst}, {"lz4", Codec::kLz4}};
    for (const auto& [program, codec] : kBuiltIn) {
      if (*text == program) spec.limits.temp_codec = codec;
    }
    if (!spec.limits.temp_codec) spec.limits.temp_program = *text;
  }
  if (spec.target.split > 0) return;  // the output's name is a part of names
  const Codec named = CodecOfPath(spec.target.output);
  std::optional<Codec> asked;
  if (const std::string* text = typed.value("--compress")) {
    asked = Named("--compress", [&] { return ParseCodec(*text); });
  }
  if (asked && *asked != Codec::kNone && named != Codec::kNone && *asked != named) {
    Fail("--compress " + std::string(CodecName(*asked)) + ": the name " + Quote(spec.target.output) + " means " +
         std::string(CodecName(named)));
  }
  if (!typed.has("--compress")) RefuseCodecInDoubt(spec.target.output, "--compress");
  spec.target.codec = asked.value_or(named);
}

/// The number type that a file's extension names, with the extension; nothing if it names none.
struct NamedType {
  KeyField field;
  std::string extension;
};

std::optional<NamedType> TypeOfName(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0) return std::nullopt;
  const std::string extension = name.substr(dot + 1);
  if (extension == "bin") return NamedType{ParseType("i32"), ".bin"};
  try {
    const KeyField field = ParseType(extension);
    if (field.type != KeyType::kBytes) return NamedType{field, "." + extension};
  } catch (const Error&) {
    // Any other extension.
  }
  return std::nullopt;
}

/// Of lines, for want of anything that says otherwise.
void RefuseTypeInDoubt(const std::string& input, const JobSpec& spec) {
  const std::string name = ExpandedName(input, spec.source);
  if (TypeOfName(name)) return;
  if (const std::optional<NamedType> type = TypeOfName(Lower(name))) {
    Fail("the name " + Quote(input) + " looks like numbers, but extensions are in lower case: give --type " +
         FormatType(type->field) + ", or --format lines");
  }
}

NamedType TypeOfInputs(const JobSpec& spec) {
  if (spec.source.inputs.empty()) Fail("the names that --files0-from gives do not tell: " + std::string(kTypeHelp));
  std::optional<NamedType> first;
  for (const std::string& input : spec.source.inputs) {
    const std::optional<NamedType> type = input == "-" ? std::nullopt : TypeOfName(ExpandedName(input, spec.source));
    if (!type) {
      Fail((input == "-" ? "standard input has no extension that tells"
                         : "the name " + Quote(input) + " does not tell") +
           " the type of its records: " + kTypeHelp);
    }
    if (first && !(first->field == type->field)) {
      Fail("the inputs' extensions " + first->extension + " and " + type->extension +
           " name different types: " + kTypeHelp);
    }
    if (!first) first = type;
  }
  return *first;
}

/// Sets the defaults of the format.
void SetTable(const FormatRow& row, JobSpec& spec) {
  spec.source.table = TableOptions{row.name, row.delimiter, row.quote, row.escape, -1, row.header};
}

/// The format with columns that all inputs' names tell; null: they tell none.
const FormatRow* TableOfInputs(const JobSpec& spec) {
  const FormatRow* first = nullptr;
  for (const std::string& input : spec.source.inputs) {
    const FormatRow* const row = input == "-" ? nullptr : FormatOfFile(ExpandedName(input, spec.source));
    if (row == nullptr || (first != nullptr && first != row)) return nullptr;
    first = row;
  }
  return first;
}

/// A key as of sort: fields by number.
bool IsFieldKey(const std::string& text) { return std::isdigit(static_cast<unsigned char>(text[0])) != 0; }

/// Whether the text is a key of columns, and of nothing else: "id:int", "#3", "user.id".
bool IsColumnKey(const std::string& text) {
  if (IsFieldKey(text) || IsObsolescent(text)) return false;
  try {
    ParseColumnKey(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Whether the text names a column and says more about it: "id:int". The header will tell if there is such a column.
bool IsNamedColumnKey(const std::string& text) {
  return text[0] != '#' && text.find(':') != text.npos && IsColumnKey(text);
}

/// Throws Error(kUsage) if the inputs' names tell different formats, of which one has columns.
void RefuseMixedFormats(const JobSpec& spec) {
  const auto table = [&](const std::string& input) {
    return input == "-" ? nullptr : FormatOfFile(ExpandedName(input, spec.source));
  };
  const auto named = std::find_if(spec.source.inputs.begin(), spec.source.inputs.end(), table);
  if (named == spec.source.inputs.end()) return;
  const FormatRow* const first = table(*named);
  const auto other = std::find_if(spec.source.inputs.begin(), spec.source.inputs.end(), [&](const std::string& input) {
    return table(input) != first;
  });
  if (other == spec.source.inputs.end()) return;
  const FormatRow* const format = table(*other);
  Fail("the name " + Quote(*named) + " means " + first->name + ", and " +
       (*other == "-" ? "standard input has no name that tells"
                      : Quote(*other) + " means " + (format != nullptr ? format->name : "lines")) +
       ": give --format " + first->name + " or --format lines, or sort one format at a time");
}

/// What the options say, else what the names say. Throws Error(kUsage) if they contradict each other. Sets
/// options.lines_because.
Format ResolveFormat(const Typed& typed, JobSpec& spec) {
  std::optional<Format> format;
  std::string because;
  if (const std::string* text = typed.value("--format")) {
    format = Named("--format", [&] {
      const std::string choice = OneOfWords("format", *text);
      if (choice == "binary") return Format::kBinary;
      if (choice == "lines") return Format::kLines;
      SetTable(*FindFormat(choice), spec);
      return Format::kTable;
    });
    because = "--format " + *text;
  }
  for (const OptionRow& row : kOptionRows) {
    const std::string key = KeyOf(row);
    if ((row.marks & (kLinesOnly | kBinaryOnly | kTablesOnly)) == 0 || !typed.has(key)) continue;
    if ((row.marks & kTablesToo) != 0 && (format ? *format == Format::kTable : TableOfInputs(spec) != nullptr)) {
      continue;
    }
    const Format means = (row.marks & kLinesOnly) != 0    ? Format::kLines
                         : (row.marks & kBinaryOnly) != 0 ? Format::kBinary
                                                          : Format::kTable;
    if (format && *format != means) {
      const bool separator = key == "--field-separator" && *format == Format::kTable;
      Fail(key + " is for " +
           (means == Format::kLines    ? "lines"
            : means == Format::kBinary ? "binary records"
                                       : "records with columns") +
           ", " + because + " is not" +
           (separator ? ": give --delimiter" : ""));
    }
    if (!format && means == Format::kLines) spec.source.lines_because = ShortName(row);
    format = means;
    because = key;
  }
  if (format) {
    if (*format == Format::kTable && !spec.source.table) {
      const FormatRow* const named = TableOfInputs(spec);
      SetTable(named != nullptr ? *named : *FindFormat("csv"), spec);
    }
    return *format;
  }
  bool field_keys = false, column_keys = false;
  if (const auto keys = typed.values.find("--key"); keys != typed.values.end()) {
    const auto field = std::find_if(keys->second.begin(), keys->second.end(),
                                    [](const std::string& text) { return IsObsolescent(text) || IsFieldKey(text); });
    field_keys = field != keys->second.end();
    if (field_keys) spec.source.lines_because = IsObsolescent(*field) ? KeyText(*field) : "-k" + KeyText(*field);
    if (field_keys && IsObsolescent(*field)) return Format::kLines;
    column_keys = !field_keys && std::all_of(keys->second.begin(), keys->second.end(), IsNamedColumnKey);
  }
  if (const FormatRow* const named = field_keys ? nullptr : TableOfInputs(spec)) {
    SetTable(*named, spec);
    return Format::kTable;
  }
  if (!field_keys) RefuseMixedFormats(spec);
  const auto binary = [&](const std::string& input) {
    return input != "-" && TypeOfName(ExpandedName(input, spec.source)).has_value();
  };
  const auto first = std::find_if(spec.source.inputs.begin(), spec.source.inputs.end(), binary);
  if (first == spec.source.inputs.end()) {
    for (const std::string& input : spec.source.inputs) RefuseTypeInDoubt(input, spec);
    if (column_keys && !spec.source.inputs.empty()) {
      SetTable(*FindFormat("csv"), spec);
      return Format::kTable;
    }
    spec.source.format_guessed = spec.source.inputs.empty();
    return Format::kLines;
  }
  const auto other = std::find_if_not(spec.source.inputs.begin(), spec.source.inputs.end(), binary);
  if (other != spec.source.inputs.end()) {
    Fail("the name " + Quote(*first) + " means numbers and " + Quote(*other) + " means lines: give --format");
  }
  return Format::kBinary;
}

unsigned char ParseSeparator(const std::string& text) {
  if (text == "\\0") return 0;
  if (text.size() != 1) Fail(Quote(text) + " is not one character");
  return static_cast<unsigned char>(text[0]);
}

KeyOptions GlobalLetters(const Typed& typed) {
  static constexpr std::pair<const char*, char> kWords[] = {{"general-numeric", 'g'}, {"human-numeric", 'h'},
                                                            {"month", 'M'},           {"numeric", 'n'},
                                                            {"random", 'R'},          {"version", 'V'}};
  KeyOptions global;
  for (const OptionRow& row : kOptionRows) {
    const char letter[] = {row.letter, 0};
    if (row.letter == 0 || std::string_view("bdfghiMnRrV").find(row.letter) == std::string_view::npos) continue;
    if (typed.has(KeyOf(row))) AddOrderingLetters(letter, KeyEnd::kBoth, global);
  }
  if (const std::string* word = typed.value("--sort")) {
    const auto known =
        std::find_if(std::begin(kWords), std::end(kWords), [&](const auto& pair) { return *word == pair.first; });
    if (known == std::end(kWords)) {
      std::vector<std::string> words;
      for (const auto& pair : kWords) words.emplace_back(pair.first);
      Fail("--sort: " + Quote(*word) + " is none of: general-numeric, human-numeric, month, numeric, random, version" +
           DidYouMean(*word, words));
    }
    AddOrderingLetters(std::string_view(&known->second, 1), KeyEnd::kBoth, global);
  }
  return global;
}

/// The key of columns that orders as the key of lines does, as far as there is one.
std::string AsColumnKey(const KeyDef& key) {
  std::string text = "-k '#" + std::to_string(key.begin_field + 1);
  if (key.options.numeric) text += ":decimal";
  if (key.options.general) text += ":float";
  if (key.options.version) text += ":natural";
  if (key.options.fold_case) text += ":nocase";
  return text + (key.options.reverse ? ":desc'" : "'");
}

/// The message about a key that `error` says is none of lines: what is wrong, and what to give instead.
std::string AboutLineKey(const Typed& typed, const JobSpec& spec, const std::string& text, const Error& error) {
  const std::string key = "'" + KeyText(text) + "' is not a key of lines", why = ": " + EscapeName(error.what());
  if (IsFieldKey(text) || IsObsolescent(text)) {
    const bool binary = text.find(':') != text.npos;
    return key + why + (binary ? "; for fields of binary records give --type or --record-size, too"
                               : "; give F[.C][OPTS][,F[.C][OPTS]], like 2,2 or 3,3nr");
  }
  if (spec.source.lines_because.empty() || !IsColumnKey(text)) {
    return key + why + "; for columns by name give " +
           (typed.has("--format") ? "another --format, like csv" : "--format, too, like csv");
  }
  const std::string& because = spec.source.lines_because;
  if (because.starts_with("-k")) return key + ", and " + because + " is one: give columns by number as #N";
  return key + ", and " + because + " is for lines: for columns by name " +
         (because == "-t" ? "give --delimiter " + Quote(*typed.value("--field-separator")) + " instead" : "leave it out");
}

void ResolveLines(const Typed& typed, JobSpec& spec) {
  const KeyOptions global = GlobalLetters(typed);
  std::vector<KeyDef> keys;
  if (const auto typed_keys = typed.values.find("--key"); typed_keys != typed.values.end()) {
    for (const std::string& text : typed_keys->second) {
      keys.push_back(Named("--key", [&] {
        try {
          return ParseKeyText(text);
        } catch (const Error& error) {
          Fail(AboutLineKey(typed, spec, text, error));
        }
      }));
    }
  }
  int separator = -1;
  if (const std::string* text = typed.value("--field-separator")) {
    separator = Named("--field-separator", [&] { return ParseSeparator(*text); });
  }
  const bool stable = spec.order.stable = typed.has("--stable");
  spec.order.keys = keys;
  spec.order.ordering = global;
  const std::vector<KeyDef> resolved = ResolveKeys(keys, global);
  if (!spec.source.lines_because.empty()) {
    if (separator >= 0) spec.source.column_form = "--delimiter " + Quote(*typed.value("--field-separator"));
    for (const KeyDef& key : resolved) {
      spec.source.column_form += (spec.source.column_form.empty() ? "" : " ") + AsColumnKey(key);
    }
    if (spec.source.column_form.empty()) spec.source.column_form = "-k NAME";
  }
  LineOrder order = MakeLineOrder(resolved, global, separator, !stable && !spec.order.unique);
  const bool whole_line = order.keys.empty();
  spec.order.random = std::any_of(order.keys.begin(), order.keys.end(),
                                  [](const LineKey& key) { return key.ordering == LineOrdering::kRandom; });
  spec.order.lines = std::make_shared<const LineOrdered>(std::move(order));
  spec.order.layout = MakeLineLayout(typed.has("--zero-terminated") ? 0 : '\n', spec.order.lines->view);
  spec.source.type_note = typed.has("--zero-terminated") ? "lines that end with NUL" : "lines";
  if (whole_line) {
    spec.source.type_note += std::string(", key: the whole line") + (spec.order.reverse ? ", descending" : "");
  } else if (const auto typed_keys = typed.values.find("--key"); typed_keys != typed.values.end()) {
    for (const std::string& text : typed_keys->second) spec.source.type_note += ", key " + KeyText(text);
  }
  if (!global.none() && !whole_line) spec.source.type_note += ", all keys -" + global.letters();
  if (stable) spec.source.type_note += ", equal keys in their order";
}

/// Returns the key without the colon that ends the name of a field: "Package" for "Package:".
std::string WithoutFieldColon(std::string key) {
  const std::size_t colon = key.find(':');
  if (key[0] != '"' && colon != key.npos && (colon + 1 == key.size() || key[colon + 1] == ':')) key.erase(colon, 1);
  return key;
}

void ResolveTable(const Typed& typed, JobSpec& spec) {
  TableOptions& table = *spec.source.table;
  const auto byte = [&](const std::string& key) -> std::optional<unsigned char> {
    const std::string* text = typed.value(key);
    if (text == nullptr) return std::nullopt;
    return Named(key, [&] {
      const unsigned char separator = *text == "\\t" ? '\t' : ParseSeparator(*text);
      if (separator == '\n' || separator == '\r') Fail("the end of a line cannot be that");
      return separator;
    });
  };
  const FormatRow& row = RowOf(table);
  static constexpr std::pair<const char*, unsigned> kOnly[] = {
      {"--delimiter", kTakesDelimiter}, {"--quote", kTakesQuote},      {"--escape", kTakesQuote},
      {"--comment", kTakesComment},     {"--header", kTakesHeader},    {"--no-header", kTakesNoHeader},
      {"--null", kTakesNull},           {"--thousands", kTakesDecimal}, {"--decimal-point", kTakesDecimal}};
  for (const auto& [key, takes] : kOnly) {
    if (typed.has(key) && (row.takes & takes) == 0) Fail(std::string(key) + " has no meaning with --format " + table.name);
  }
  if (const auto given = byte("--delimiter")) table.delimiter = *given;
  if (const std::string* text = typed.value("--quote"); text != nullptr && *text == "none") {
    table.quote = -1;
  } else if (const auto given = byte("--quote")) {
    table.quote = *given;
  }
  if (const auto given = byte("--escape"); given && *given != table.quote) table.escape = *given;
  if (row.escape < 0 && table.escape >= 0 && table.quote < 0) {
    Fail(table.name == "tsv" && !typed.has("--quote") ? "--escape has no meaning without quotes: tsv has some with --quote '\"'"
                                                      : "--escape has no meaning with --quote none");
  }
  if (const auto given = byte("--comment")) table.comment = *given;
  if (table.delimiter == table.quote || table.delimiter == table.escape || table.delimiter == table.comment ||
      (table.comment >= 0 && table.comment == table.quote) || (table.escape >= 0 && table.quote == table.escape)) {
    Fail("--delimiter, --quote, --escape and --comment must be different bytes");
  }
  if (typed.has("--no-header")) table.header = 0;
  if (const std::string* text = typed.value("--header")) {
    if (typed.has("--no-header")) Fail("--header and --no-header exclude each other");
    table.header = Named("--header", [&] { return ParseCount(*text, 1, 1000000); });
  }
  if (const auto nulls = typed.values.find("--null"); nulls != typed.values.end()) table.nulls = nulls->second;
  if (*row.null != 0) table.nulls.emplace_back(row.null);
  table.strict = typed.has("--strict");
  table.reverse = spec.order.reverse;
  const auto point = byte("--decimal-point"), thousands = byte("--thousands");
  const char decimal_point = static_cast<char>(point.value_or('.'));
  if (thousands && *thousands == static_cast<unsigned char>(decimal_point)) {
    Fail("--thousands and --decimal-point must be different bytes");
  }
  spec.source.type_note = table.name;
  if (const auto keys = typed.values.find("--key"); keys != typed.values.end()) {
    if (keys->second.size() > kMaxKeyFields) {
      Fail("there are " + std::to_string(keys->second.size()) + " keys; at most " + std::to_string(kMaxKeyFields));
    }
    for (const std::string& text : keys->second) {
      const std::string key_text = row.names == ColumnNames::kFields ? WithoutFieldColon(text) : text;
      ColumnKey key =
          Named("--key", [&] { return ParseColumnKey(key_text, decimal_point, thousands ? *thousands : -1); });
      if (spec.order.reverse) key.rule.descending = !key.rule.descending;
      table.keys.push_back(std::move(key));
      spec.source.type_note += ", key " + EscapeName(text);
    }
  } else {
    spec.source.type_note += ", key: all columns as text";
  }
  spec.order.lines = std::make_shared<const LineOrdered>(LineOrder{});
  spec.order.layout = MakeLineLayout('\n', spec.order.lines->view);
}

void ResolveLayout(const Typed& typed, JobSpec& spec) {
  const std::string* type_text = typed.value("--type");
  const std::string* size_text = typed.value("--record-size");
  if (type_text != nullptr && size_text != nullptr) {
    Fail("--type and --record-size exclude each other: --type already gives the record's size");
  }

  KeySpec keys_of_record;
  std::uint64_t record_bytes = 0;
  std::string what;
  std::string source;
  if (size_text != nullptr) {
    record_bytes = Named("--record-size", [&] {
      const std::uint64_t bytes = ParseBytes(*size_text);
      MakeFixedLayout(bytes, {});
      return bytes;
    });
    source = "--record-size";
  } else {
    KeyField field;
    if (type_text != nullptr) {
      field = Named("--type", [&] { return ParseType(*type_text); });
      if (field.type == KeyType::kBytes) {
        Fail("--type: " + Quote(*type_text) + " is not a number; for records of bytes give --record-size " +
             std::to_string(field.length));
      }
      source = "from --type";
    } else {
      const NamedType named = TypeOfInputs(spec);
      field = named.field;
      source = "from the extension " + named.extension;
    }
    record_bytes = field.length;
    what = FormatType(field);
    if (!typed.has("--key")) keys_of_record.fields.push_back(field);
  }

  const std::string record = "the record of " + std::to_string(record_bytes) + " bytes (" +
                             (what.empty() ? source : what + " " + source) + ")";
  if (const auto keys = typed.values.find("--key"); keys != typed.values.end()) {
    if (keys->second.size() > kMaxKeyFields) {
      Fail("--key is given " + std::to_string(keys->second.size()) + " times; at most " +
           std::to_string(kMaxKeyFields));
    }
    for (const std::string& text : keys->second) {
      const KeyField field = Named("--key", [&] {
        if (IsObsolescent(text)) Fail(Quote(KeyText(text)) + " is a key of lines");
        return ParseKey(text);
      });
      if (field.offset > record_bytes || field.length > record_bytes - field.offset) {
        Fail("--key: " + Quote(text) + " leaves " + record);
      }
      keys_of_record.fields.push_back(field);
    }
  }

  spec.order.layout = MakeFixedLayout(record_bytes, keys_of_record);
  std::string keys;
  for (std::uint32_t i = 0; i < spec.order.layout.field_count; ++i) {
    KeyField& field = spec.order.layout.fields[i];
    field.descending ^= spec.order.reverse;
    keys += (i == 0 ? " " : ", ") + FormatKey(field);
  }
  if (what.empty() || typed.has("--key")) {
    const std::string size = "records of " + std::to_string(record_bytes) + " bytes";
    spec.source.type_note =
        size + " (" + (what.empty() ? source : what + " " + source) + "), " +
        (typed.has("--key") ? (spec.order.layout.field_count == 1 ? "key" : "keys") + keys
                            : std::string("key: all bytes") + (spec.order.reverse ? ", descending" : ""));
  } else {
    spec.source.type_note = what + (spec.order.reverse ? " descending" : "") + " (" + source + ")";
  }
}

void PlaceNames(const Typed& typed, JobSpec& spec) {
  const std::vector<std::string>& names = typed.names;
  for (const std::string& name : names) {
    if (name.empty()) Fail("a file name is empty");
  }
  if (const std::string* file = typed.value("--files0-from")) {
    if (!names.empty()) Fail("--files0-from: it gives the inputs, so " + Quote(names[0]) + " cannot be one, too");
    const std::string* output = typed.value("--output");
    if (output == nullptr) Fail("no output is given: gpusort --files0-from FILE -o OUTPUT");
    spec.source.names_file = *file;
    spec.target.output = *output;
    return;
  }
  if (spec.action == Action::kCheck) {
    if (names.size() != 1) {
      Fail("--check takes exactly one input, and " + std::to_string(names.size()) + " are given");
    }
    spec.source.inputs = names;
  } else if (const std::string* output = typed.value("--output")) {
    if (names.empty()) Fail("no input is given: gpusort -o OUTPUT INPUT...");
    spec.source.inputs = names;
    spec.target.output = *output;
  } else if (names.size() < 2) {
    spec.source.implied = names.empty();
    spec.source.inputs = names.empty() ? std::vector<std::string>{"-"} : names;
    for (const char* key : {"--split", "--resume-dir", "--verify-output"}) {
      if (typed.has(key)) Fail(NoOutput(spec) + "; " + key + " needs a file");
    }
    spec.target.output = "-";
    spec.target.implied = true;
  } else {
    // Two names may as well be two inputs and a forgotten -o.
    if (typed.has("--merge")) {
      Fail("-m needs -o: gpusort -m -o OUTPUT " + Quote(names[0]) + " " + Quote(names[1]) +
           (names.size() > 2 ? " ..." : "") + " merges them, and no input is replaced");
    }
    if (names.size() > 2) {
      Fail("there are " + std::to_string(names.size()) + " names; for several inputs give gpusort -o OUTPUT INPUT..." +
           ", where - is standard output");
    }
    spec.source.inputs = {names[0]};
    spec.target.output = names[1];
    spec.target.asks = !typed.has("--force") && !typed.has("--no-clobber");
  }
  if (std::count(spec.source.inputs.begin(), spec.source.inputs.end(), "-") > 1) {
    Fail("standard input (-) can be read only once");
  }
}

/// The files that the run writes beside its output must not be its data.
std::string ReportFile(const Typed& typed, const std::string& key, const JobSpec& spec) {
  const std::string* path = typed.value(key);
  if (path == nullptr) return "";
  if (*path == "-") Fail(key + ": '-' is not a file; give a file name");
  if (*path == spec.target.output) Fail(key + ": " + Quote(*path) + " is the output");
  if (std::count(spec.source.inputs.begin(), spec.source.inputs.end(), *path) != 0) {
    Fail(key + ": " + Quote(*path) + " is an input");
  }
  return *path;
}

/// What of it must be the same for a job to go on that was stopped.
std::vector<std::pair<std::string, std::string>> WhatDecides(const Typed& typed) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const OptionRow& row : kOptionRows) {
    const auto given = typed.values.find(KeyOf(row));
    if ((row.marks & kAnyAttempt) != 0 || given == typed.values.end()) continue;
    std::string all = row.argument[0] == '\0' ? "given" : "";
    for (const std::string& value : given->second) all += (all.empty() ? "" : ", ") + value;
    values.emplace_back(KeyOf(row), all);
  }
  return values;
}

void ResolveResume(const Typed& typed, JobSpec& spec) {
  const std::string* folder = typed.value("--resume-dir");
  if (folder == nullptr) {
    for (const char* key : {"--keep-resume-dir", "--checkpoint"}) {
      if (typed.has(key)) Fail(std::string(key) + " has no meaning without --resume-dir");
    }
    return;
  }
  spec.survival.dir = *folder;
  spec.survival.keep = typed.has("--keep-resume-dir");
  if (const std::string* text = typed.value("--checkpoint")) {
    spec.survival.checkpoint_bytes = Named("--checkpoint", [&] { return ParseBytes(*text); });
  }
  spec.survival.typed = WhatDecides(typed);
  if (spec.order.merge) Fail("--resume-dir has nothing to keep with -m, which makes no runs: leave it out");
  if (IsStreamTarget(spec.target.output)) {
    Fail("--resume-dir: the output " + Quote(spec.target.output) +
         " is a stream, which cannot be taken up in its middle");
  }
  if (std::count(spec.source.inputs.begin(), spec.source.inputs.end(), "-") > 0) {
    Fail("--resume-dir: standard input cannot be taken up in its middle: give a file");
  }
  if (spec.order.random && spec.order.random_source.empty()) {
    Fail("--resume-dir with -R needs --random-source: else every attempt has another order");
  }
}

}  // namespace

JobSpec ParseOptions(int argc, const char* const* argv, const std::function<void(const std::string&)>& look) {
  const Typed typed = Split(argc, argv);
  JobSpec spec;
  const auto with = [&](const std::string& key, const auto& use) {
    if (const std::string* text = typed.value(key)) Named(key, [&] { use(*text); });
  };
  with("--log-format", [&](const std::string& text) {
    spec.reports.json_log = Choose<bool>(text, {{"text", false}, {"json", true}});
    if (spec.reports.json_log) spec.reports.log_level = "info";
  });
  if (typed.has("--help") || typed.has("--version")) {
    spec.action = typed.has("--help") ? Action::kHelp : Action::kVersion;
    spec.help = typed.help;
    return spec;
  }
  if (typed.has("--completion")) {
    spec.action = Action::kCompletion;
    with("--completion", [&](const std::string& text) { spec.shell = OneOfWords("completion", text); });
    return spec;
  }
  if (typed.has("--status")) {
    if (!typed.has("--resume-dir")) Fail("--status needs --resume-dir DIR");
    if (!typed.names.empty()) Fail("--status takes no files, and " + Quote(typed.names[0]) + " is given");
    spec.action = Action::kStatus;
    spec.survival.dir = *typed.value("--resume-dir");
    return spec;
  }
  spec.reports.quiet = typed.has("-C");
  if (typed.has("--check") || spec.reports.quiet) {
    for (const OptionRow& row : kOptionRows) {
      const std::string key = KeyOf(row);
      if ((row.marks & kWithCheck) == 0 && typed.has(key)) {
        Fail(key + " has no meaning with " + (spec.reports.quiet ? "-C" : "--check"));
      }
    }
    spec.action = Action::kCheck;
  } else if (typed.has("--explain")) {
    for (const std::string report : {"--stats", "--trace", "--report"}) {
      if (typed.has(report)) Fail(report + " has no meaning with --explain, which sorts nothing");
    }
    spec.action = Action::kExplain;
    spec.probes = typed.probes;
  }

  PlaceNames(typed, spec);
  with("--split", [&](const std::string& text) {
    spec.target.split = static_cast<unsigned>(ParseCount(text, 1, kMostParts));
    if (IsStreamTarget(spec.target.output)) Fail("it makes files, and " + Quote(spec.target.output) + " is a stream");
    if (spec.target.output.ends_with('/')) Fail("it needs what names begin with, behind " + Quote(spec.target.output));
    const std::string last = std::filesystem::path(spec.target.output).filename().string();
    if (last == "." || last == "..") Fail(SplitIntoFolder(spec.target.output));
    for (const char* key : {"--compress", "--debug"}) {
      if (typed.has(key)) Fail(std::string(key) + " has no meaning with it");
    }
  });
  ResolveCodecs(typed, spec);
  spec.order.reverse = typed.has("--reverse");
  spec.order.unique = typed.has("--unique");
  spec.order.merge = typed.has("--merge");
  spec.source.format_assumed = !typed.has("--format") && !typed.has("--type") && !typed.has("--record-size");
  spec.source.force_format = typed.has("--force-format");
  try {
    spec.source.format = ResolveFormat(typed, spec);
    if (spec.source.format == Format::kLines) {
      ResolveLines(typed, spec);
    } else if (spec.source.format == Format::kTable) {
      ResolveTable(typed, spec);
    } else {
      ResolveLayout(typed, spec);
    }
  } catch (const Error&) {
    for (const std::string& input : spec.source.inputs) {
      if (look) look(input);
    }
    throw;
  }
  if (spec.target.split > 0 && spec.source.table && (RowOf(*spec.source.table).takes & kTakesSplit) == 0) {
    Fail("--split: the rows of a dump stand between what else is in it; it has no meaning with " +
         spec.source.table->name);
  }
  spec.order.locale = typed.has("--locale");
  spec.order.debug = typed.has("--debug");
  with("--top", [&](const std::string& text) { spec.order.top = ParseCount(text, 1, kMaxSize); });
  if (!spec.source.table) {
    with("--header", [&](const std::string& text) { spec.source.header = ParseCount(text, 1, kMaxSize); });
  }
  with("--max-record", [&](const std::string& text) {
    spec.source.max_record = ParseBytes(text);
    if (spec.source.max_record >= std::uint64_t{1} << 32)
      Fail("the longest line that can be sorted has 4294967295 bytes");
  });
  if (const std::string* path = typed.value("--random-source")) spec.order.random_source = *path;
  if (spec.order.random_source == "-" &&
      (spec.source.names_file == "-" || std::count(spec.source.inputs.begin(), spec.source.inputs.end(), "-") > 0)) {
    Fail("standard input (-) can be read only once: --random-source needs a file");
  }

  const auto memory = [](std::optional<Size>& target, std::uint64_t bare_unit) {
    return [&target, bare_unit](const std::string& text) {
      target = ParseSize(text, bare_unit);
      if (target->value == 0) Fail("must be more than 0");
    };
  };
  with("--memory", memory(spec.limits.memory, 1));
  with("--buffer-size", memory(spec.limits.memory, 1024));
  with("--gpu-memory", memory(spec.limits.gpu_memory, 1));
  if (const auto dirs = typed.values.find("--temp-dir"); dirs != typed.values.end())
    spec.limits.temp_dirs = dirs->second;
  if (const auto dirs = typed.values.find("--temporary-directory"); dirs != typed.values.end()) {
    spec.limits.temp_dirs.insert(spec.limits.temp_dirs.end(), dirs->second.begin(), dirs->second.end());
  }
  const auto threads = [&](const std::string& text) {
    spec.limits.threads = static_cast<unsigned>(ParseCount(text, 1, 4096));
  };
  with("--threads", threads);
  with("--parallel", threads);
  with("--device", [&](const std::string& text) { ParseDevice(text, spec); });
  with("--gpu-timeout",
       [&](const std::string& text) { spec.limits.gpu_timeout = std::chrono::seconds(ParseCount(text, 1, 86400)); });

  spec.target.no_fsync = typed.has("--no-fsync");
  spec.target.no_clobber = typed.has("--no-clobber");
  if (spec.target.no_clobber && typed.has("--force")) Fail("--force and --no-clobber exclude each other");
  spec.target.verify = typed.has("--verify-output");
  spec.target.no_space_check = typed.has("--no-space-check");
  if (spec.target.verify && spec.target.output == "-") Fail("--verify-output cannot read standard output back");
  spec.reports.stats = ReportFile(typed, "--stats", spec);
  spec.reports.trace = ReportFile(typed, "--trace", spec);
  spec.reports.page = ReportFile(typed, "--report", spec);
  spec.reports.log_file = ReportFile(typed, "--log-file", spec);
  if (!spec.reports.stats.empty() && spec.reports.stats == spec.reports.log_file) {
    Fail("--stats and --log-file name the same file " + Quote(spec.reports.stats));
  }
  with("--progress", [&](const std::string& text) {
    spec.reports.progress =
        Choose<When>(text, {{"auto", When::kAuto}, {"always", When::kAlways}, {"never", When::kNever}});
  });
  with("--log-level", [&](const std::string& text) { spec.reports.log_level = OneOfWords("log-level", text); });

  const auto fan_in = [&](const std::string& text) {
    spec.limits.max_fan_in = static_cast<unsigned>(ParseCount(text, 2, std::numeric_limits<std::int32_t>::max()));
  };
  const bool lines = spec.source.format != Format::kBinary;
  if (typed.has("--batch-size") && typed.has(lines ? "--fan-in" : "--batch-bytes")) {
    Fail(std::string("--batch-size and ") + (lines ? "--fan-in" : "--batch-bytes") +
         " are the same option, given twice");
  }
  with("--batch-bytes", [&](const std::string& text) { spec.limits.batch_bytes = ParseBytes(text); });
  with("--batch-size", [&](const std::string& text) {
    if (lines) return fan_in(text);
    spec.limits.batch_bytes = ParseBytes(text);
  });
  with("--block-size", [&](const std::string& text) { spec.limits.block_bytes = ParseBytes(text); });
  with("--fan-in", fan_in);
  ResolveResume(typed, spec);
  return spec;
}

SplitArguments SplitOptions(const std::vector<std::string>& arguments) {
  SplitArguments split;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--") {
      split.names.insert(split.names.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, arguments.end());
      break;
    }
    if (!arguments[i].starts_with('-') || arguments[i] == "-") {
      split.names.push_back(arguments[i]);
      continue;
    }
    split.options.push_back(arguments[i]);
    if (TakesNext(arguments[i]) && i + 1 < arguments.size()) split.options.push_back(arguments[++i]);
  }
  return split;
}

std::vector<std::string> DecidingOptions(int argc, const char* const* argv) {
  const Typed typed = Split(argc, argv);
  std::vector<std::string> options;
  for (const OptionRow& row : kOptionRows) {
    const auto given = typed.values.find(KeyOf(row));
    if (!ChangesBytes(row) || given == typed.values.end()) continue;
    if (row.argument[0] == '\0') options.push_back(KeyOf(row));
    for (const std::string& value : given->second) {
      if (IsObsolescent(value)) Fail("give keys with -k: " + KeyText(value));
      const std::string meant = (row.marks & kSameFile) != 0 ? std::filesystem::absolute(value).string() : value;
      options.push_back(KeyOf(row) + (row.name[0] == '\0' ? "" : "=") + meant);
    }
  }
  return options;
}

bool AsksForJsonLog(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--") return false;
    if (argument == "--log-format=json") return true;
    if (!TakesNext(argument) || ++i == argc) continue;
    if (argument == "--log-format" && argv[i] == std::string("json")) return true;
  }
  return false;
}

std::string NoOutput(const JobSpec& spec) {
  if (spec.source.implied)
    return "no input is given: gpusort INPUT OUTPUT, or gpusort <INPUT >OUTPUT; see gpusort --help";
  return "no output is given for " + Quote(spec.source.inputs[0]) +
         ": gpusort INPUT OUTPUT, where - is standard output, or gpusort INPUT >OUTPUT";
}

void RequireInput(const std::string& input) {
  if (input != "-" && !IsStreamSource(input)) FileSystem().OpenInput(input, false);
}

std::string TakenForLines(const JobSpec& spec) {
  if (spec.source.format != Format::kLines || spec.source.lines_because.empty()) return "";
  for (const std::string& input : spec.source.inputs) {
    const FormatRow* const row = input == "-" ? nullptr : FormatOfFile(ExpandedName(input, spec.source));
    if (row == nullptr) continue;
    const bool json = row->names == ColumnNames::kPaths;
    return Quote(input) + " is sorted as lines because of " + spec.source.lines_because +
           (json ? "; by its members: -k PATH, like -k user.id:int"
                 : ": a header is sorted like any line, and a newline in quotes ends a record; by columns: " +
                       spec.source.column_form) +
           "; for lines, and without this warning: --format lines";
  }
  return "";
}

void ReadNamedFiles(JobSpec& spec, const CancelFlag& cancel) {
  const auto read = [&](const std::string& path, std::size_t most) {
    // Not /dev/stdin: opening that reads a file from its start again, and is refused for sockets and others' pipes.
    const detail::Fd opened(path == "-" ? -1 : detail::OpenPath(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (path != "-" && !opened.open()) Fail(Quote(path) + " cannot be read: " + detail::ErrnoText(errno));
    std::string text;
    try {
      PipeReader source(path == "-" ? STDIN_FILENO : opened.get(), path, cancel);
      std::byte block[4096];
      while (text.size() < most) {
        const std::size_t got = source.ReadSome(std::span(block).first(std::min(most - text.size(), sizeof block)));
        if (got == 0) break;
        text.append(reinterpret_cast<const char*>(block), got);
      }
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
      Fail(Quote(path) + " cannot be read: " + error.what());
    }
    return text;
  };
  if (!spec.source.names_file.empty()) {
    Named("--files0-from", [&] {
      const std::string text = read(spec.source.names_file, std::string::npos);
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\0', at), text.size());
        if (end == at) {
          Fail("name " + std::to_string(spec.source.inputs.size() + 1) + " in " + Quote(spec.source.names_file) +
               " is empty");
        }
        spec.source.inputs.push_back(text.substr(at, end - at));
        if (spec.source.names_file == "-" && spec.source.inputs.back() == "-") {
          Fail("standard input gives the names, so it cannot be one of the inputs");
        }
        at = end + 1;
      }
      if (spec.source.inputs.empty()) Fail(Quote(spec.source.names_file) + " names no input");
      for (const std::string& input : spec.source.inputs) {
        if (spec.source.format_guessed && input != "-" && TypeOfName(ExpandedName(input, spec.source))) {
          Fail("the name " + Quote(input) + " means numbers: give --format lines, or " + kTypeHelp);
        }
        if (spec.source.format_guessed) RefuseTypeInDoubt(input, spec);
        if (const FormatRow* row = FormatOfFile(ExpandedName(input, spec.source));
            spec.source.format_guessed && row != nullptr) {
          Fail("the name " + Quote(input) + " means records with columns: give --format " + row->name +
               ", or --format lines");
        }
        if (!spec.source.codec) RefuseCodecInDoubt(input, "--decompress");
      }
      if (std::count(spec.source.inputs.begin(), spec.source.inputs.end(), "-") > 1) {
        Fail("standard input (-) can be read only once");
      }
    });
  }
  if (!spec.order.random) return;
  Named("--random-source", [&] {
    std::string salt = read(spec.order.random_source.empty() ? "/dev/urandom" : spec.order.random_source, 16);
    if (salt.size() < 16) Fail(Quote(spec.order.random_source) + " has fewer than 16 bytes");
    LineOrder order = spec.order.lines->order;
    std::memcpy(order.salt, salt.data(), 16);
    spec.order.lines = std::make_shared<const LineOrdered>(std::move(order));
    spec.order.layout = MakeLineLayout(spec.order.layout.delimiter, spec.order.lines->view);
  });
}

std::string VersionText(const std::vector<std::string>& backends) {
  std::string text = "gpusort " GPUSORT_VERSION "\n";
  for (const std::string& backend : backends) text += "backend: " + EscapeName(backend) + "\n";
  return text;
}

KeyField ParseType(std::string_view text) {
  KeyField field;
  if (text.starts_with("bytes")) {
    const std::optional<std::uint64_t> length = ParseDigits(text.substr(5));
    constexpr std::uint64_t kMaxFieldBytes = std::uint64_t{1} << 30;
    if (!length || *length == 0 || *length > kMaxFieldBytes) {
      Fail(Quote(text) + " is not a type: bytesN needs a length from 1 to " + std::to_string(kMaxFieldBytes));
    }
    field.length = static_cast<std::uint32_t>(*length);
    return field;
  }
  std::string_view number = text;
  if (number.ends_with("le") || number.ends_with("be")) {
    field.big_endian = number.ends_with("be");
    number.remove_suffix(2);
  }
  struct Known {
    std::string_view name;
    KeyType type;
    std::uint32_t length;
  };
  static constexpr Known kKnown[] = {
      {"i8", KeyType::kSigned, 1},    {"i16", KeyType::kSigned, 2},   {"i32", KeyType::kSigned, 4},
      {"i64", KeyType::kSigned, 8},   {"u8", KeyType::kUnsigned, 1},  {"u16", KeyType::kUnsigned, 2},
      {"u32", KeyType::kUnsigned, 4}, {"u64", KeyType::kUnsigned, 8}, {"f32", KeyType::kFloat, 4},
      {"f64", KeyType::kFloat, 8},
  };
  for (const Known& known : kKnown) {
    if (number != known.name) continue;
    field.type = known.type;
    field.length = known.length;
    if (known.length == 1) field.big_endian = false;  // one byte has no order of bytes
    return field;
  }
  std::vector<std::string> names;
  for (const Known& known : kKnown) names.emplace_back(known.name);
  Fail(Quote(text) + " is not a type: give i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 (then le or be if wanted) or bytesN" +
       DidYouMean(text, names));
}

KeyField ParseKey(std::string_view text) {
  const auto fail = [&](const std::string& why) {
    Fail(Quote(text) + " is not a key: " + why + "; give OFFSET:TYPE[:asc|desc], like 8:i64:desc or 0:bytes10");
  };
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos) fail("it has no ':'");
  const std::size_t second = text.find(':', first + 1);
  const std::string_view offset_text = text.substr(0, first);
  const std::optional<std::uint64_t> offset = ParseDigits(offset_text);
  if (!offset) fail(Quote(offset_text) + " is not an offset");
  KeyField field;
  try {
    field = ParseType(text.substr(first + 1, second == std::string_view::npos ? second : second - first - 1));
  } catch (const Error& error) {
    Fail(Quote(text) + " is not a key: " + error.what());
  }
  field.offset = *offset;
  if (second != std::string_view::npos) {
    const std::string_view direction = text.substr(second + 1);
    if (direction != "asc" && direction != "desc") fail(Quote(direction) + " is neither asc nor desc");
    field.descending = direction == "desc";
  }
  return field;
}

std::string FormatType(const KeyField& field) {
  if (field.type == KeyType::kBytes) return "bytes" + std::to_string(field.length);
  const char letter = field.type == KeyType::kFloat ? 'f' : field.type == KeyType::kSigned ? 'i' : 'u';
  return letter + std::to_string(8 * field.length) + (field.big_endian ? "be" : "");
}

std::string FormatKey(const KeyField& field) {
  return std::to_string(field.offset) + ":" + FormatType(field) + (field.descending ? ":desc" : "");
}

}  // namespace gpusort

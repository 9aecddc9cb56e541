#include "cli/option_table.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>

#include "base/gnu_quote.hpp"
#include "cli/key_def.hpp"
#include "cli/option_values.hpp"
#include "cli/typed.hpp"
#include "data/output_parts.hpp"
#include "formats/registry.hpp"
#include "formats/time_text.hpp"
#include "formats/time_window.hpp"

namespace gpusort {
namespace option_table {
namespace {

using enum Section;
using Text = const std::string&;

/// Adds a letter such as -n to the letters that apply to all keys of lines.
template <char kLetter>
void AddLetter(Typed& to, Text) {
  const char letter = kLetter;
  AddOrderingLetters({&letter, 1}, KeyEnd::kBoth, to.spec.order.ordering);
}
void AddSortWord(Typed& to, Text word) {
  const char letter = Choose<char>(word, {{"general-numeric", 'g'}, {"human-numeric", 'h'}, {"month", 'M'},
                                          {"numeric", 'n'}, {"random", 'R'}, {"version", 'V'}});
  AddOrderingLetters({&letter, 1}, KeyEnd::kBoth, to.spec.order.ordering);
}

/// Sets the action of the program. If several are asked for, the last one in the order of Action counts.
void Ask(Typed& to, Action action) { to.spec.action = std::max(to.spec.action, action); }

void AskHelp(Typed& to, Text topic) {
  Ask(to, Action::kHelp);
  to.spec.help = topic.empty() ? HelpTopic::kShort
                               : Choose<HelpTopic>(topic, {{"all", HelpTopic::kAll},
                                                           {"keys", HelpTopic::kKeys},
                                                           {"examples", HelpTopic::kExamples},
                                                           {"man", HelpTopic::kManual},
                                                           {"json", HelpTopic::kJson}});
}

void SetMaxRecord(Typed& to, Text text) {
  to.spec.source.max_record = ParseBytes(text);
  if (to.spec.source.max_record >= std::uint64_t{1} << 32) {
    FailUsage("the longest line that can be sorted has 4294967295 bytes");
  }
}

void SetTempCodec(Typed& to, Text text) {
  to.temp_codec_given = true;
  to.spec.limits.temp_codec = Choose<std::optional<Codec>>(text, {{"auto", std::nullopt},
                                                                  {"none", Codec::kNone},
                                                                  {"lz4", Codec::kLz4},
                                                                  {"zst", Codec::kZst},
                                                                  {"zstd", Codec::kZst},
                                                                  {"numbers", Codec::kNumbers}});
}

/// Sets the program that compresses temp files. If gpusort has a codec of the same name, such as zstd, the codec is
/// used instead of the program.
void SetTempProgram(Typed& to, Text program) {
  to.temp_program_given = true;
  static constexpr std::string_view kBuiltIn[] = {"gzip", "bzip2", "xz", "zstd", "lz4"};
  if (std::find(std::begin(kBuiltIn), std::end(kBuiltIn), program) != std::end(kBuiltIn)) {
    to.spec.limits.temp_codec = CodecOfName(program);
  } else {
    to.spec.limits.temp_program = program;
  }
}

void SetThreads(Typed& to, Text text) { to.spec.limits.threads = static_cast<unsigned>(ParseCount(text, 1, 4096)); }
void AddTempDir(Typed& to, Text folder) { to.spec.limits.temp_dirs.push_back(folder); }

void SetLogFormat(Typed& to, Text text) {
  to.spec.reports.json_log = text == "json";
  if (to.spec.reports.json_log) to.spec.reports.log_level = "info";
}

constexpr OptionRow kRows[] = {
    {.section = kInput, .name = "type", .argument = "TYPE", .traits = kWithCheck | kBinaryOnly,
     .set = [](Typed& to, Text text) { to.type = text; },
     .words = "i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 i16be i32be i64be u16be u32be u64be f32be f64be",
     .help = "a record is one number: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64, little-endian (le, the default) or "
             "big-endian (be): u32be",
     .brief = "a record is one number: i32 u64 f64 u32be ..."},
    {.section = kInput, .name = "record-size", .argument = "N", .traits = kWithCheck | kBinaryOnly,
     .set = [](Typed& to, Text text) { to.record_size = text; },
     .help = "records of N bytes; without --key they are ordered by all their bytes", .about = "records of N bytes"},
    {.section = kInput, .name = "format", .argument = "FORMAT", .traits = kWithCheck | kWordsOnly | kSaysFormat,
     .set = [](Typed& to, Text text) { to.format = text; },
     .words = kFormatWords.text, .help = kFormatHelp.text,
     .more = "See Records with columns in the manual page.",
     .brief = "log csv jsonl pgdump ... (default: by extension)",
     .about = "what records are: lines, binary, or of a format with columns"},
    {.section = kInput, .name = "force-format", .traits = kWithCheck | kAnyAttempt,
     .set = [](Typed& to, Text) { to.spec.source.force_format = true; },
     .help = "read inputs in the given format, or as lines, although they seem to be of another kind",
     .more = "Without the option, an input of another kind, or an input of which nothing would be sorted, is exit 3. "
             "See Inputs of another kind in the manual page."},
    {.section = kInput, .name = "files0-from", .argument = "FILE", .traits = kAnyAttempt,
     .set = [](Typed& to, Text file) { to.spec.source.names_file = file; },
     .help = "read the names of the inputs from FILE (-: standard input), each ended by a NUL; needs --output"},
    {.section = kInput, .name = "merge", .letter = 'm',
     .set = [](Typed& to, Text) { to.spec.order.merge = true; },
     .help = "merge inputs that are sorted already",
     .more = "It needs --output. An input that is out of order is exit 3.",
     .brief = "merge inputs that are sorted already"},

    {.section = kOrder, .name = "key", .letter = 'k', .argument = "KEY", .traits = kRepeats | kWithCheck,
     .set = [](Typed& to, Text key) { to.keys.push_back(key); },
     .help = "binary: OFFSET:TYPE[:asc|desc] with TYPE as above or bytesN (unsigned bytes): a field of the record. Up "
             "to 64 keys, the most important first. With --type, the type gives only the size of the record.\n"
             "Lines: F[.C][OPTS][,F[.C][OPTS]], fields and bytes from 1, OPTS letters of the orderings below; or "
             "N[,M]:TYPE (fields) or ~RE[:TYPE] (the first group of a regular expression), TYPE one of columns.\n"
             "Columns: NAME or #N or PATH, then [:TYPE][:asc|desc][:nulls-first|nulls-last]",
     .brief = "lines: 3,3nr (as sort) or 3:int; records: 8:i64:desc", .about = "what records are ordered by"},
    {.section = kOrder, .name = "reverse", .letter = 'r', .traits = kWithCheck,
     .set = [](Typed& to, Text) { to.spec.order.reverse = true; to.spec.order.ordering.reverse = true; },
     .help = "reverse the order of every key", .more = "Records with equal keys keep the order of the input.",
     .brief = "largest first", .about = "reverse the order"},
    {.section = kOrder, .name = "unique", .letter = 'u', .traits = kWithCheck,
     .set = [](Typed& to, Text) { to.spec.order.unique = true; },
     .help = "keep the first of records with equal keys; with --check, equal keys are out of order",
     .brief = "keep the first of records with equal keys"},
    {.section = kOrder, .name = "count",
     .set = [](Typed& to, Text) { to.spec.order.unique = to.spec.order.count = true; },
     .takes = kTakesCount,
     .help = "keep the first of records with equal keys, and write how many there are: before a line as uniq -c does, "
             "as the first column count of rows, or as the first member \"count\" of JSON objects",
     .more = "See Equal records in the manual page.",
     .about = "keep the first of equal records, and count them"},
    {.section = kOrder, .name = "sum", .argument = "COLUMN", .traits = kRepeats,
     .set = [](Typed& to, Text column) { to.sums.push_back(column); to.spec.order.unique = to.spec.order.sum = true; },
     .takes = kTakesSum,
     .help = "keep the first of records with equal keys, and replace its value in COLUMN by the exact sum over all of "
             "them; needs -k; COLUMN is as in -k, without a type",
     .more = "See Equal records in the manual page.",
     .about = "keep the first of equal records, with the sum of a column"},
    {.section = kOrder, .name = "only-unique",
     .set = [](Typed& to, Text) { to.spec.order.unique = to.only_single = true; },
     .help = "write only the records whose key occurs once, as uniq -u does", .about = "records whose key occurs once"},
    {.section = kOrder, .name = "only-duplicates",
     .set = [](Typed& to, Text) { to.spec.order.unique = to.only_repeated = true; },
     .help = "write only the first record of each key that occurs more than once, as uniq -d does",
     .about = "the first record of each key that occurs again"},
    {.section = kOrder, .name = "minus", .argument = "FILE", .traits = kRepeats | kSameFile,
     .set = [](Typed& to, Text file) { to.minus.push_back(file); },
     .help = "write only the records whose keys are not in FILE",
     .more = "See Sets of records in the manual page.", .about = "without the records whose keys are in FILE"},
    {.section = kOrder, .name = "intersect", .argument = "FILE", .traits = kRepeats | kSameFile,
     .set = [](Typed& to, Text file) { to.intersect.push_back(file); },
     .help = "write only the records whose keys are in FILE, too; with several files: in each of them",
     .about = "only the records whose keys are in FILE, too"},
    {.section = kOrder, .name = "union", .argument = "FILE", .traits = kRepeats,
     .set = [](Typed& to, Text file) { to.unions.push_back(file); to.spec.order.unique = true; },
     .help = "FILE is one more input, after the others; implies -u, so each key occurs once",
     .about = "one more input, each key once"},
    {.section = kOrder, .name = "keep-order",
     .set = [](Typed& to, Text) { to.spec.order.keeps_input_order = true; },
     .help = "with -u, --count, --sum, --only-unique, --only-duplicates or sets of records: write the kept records in "
             "the order of the input, as awk '!seen[$0]++' does, also if they are larger than memory",
     .more = "The keys then only say which records are equal. The kept records are sorted a second time, by their "
             "places.",
     .about = "with -u: the kept records in the order of the input"},
    {.section = kOrder, .name = "top", .argument = "N",
     .set = [](Typed& to, Text text) { to.spec.order.top = ParseCount(text, 1, kMaxSize); },
     .help = "write only the first N records of the order; with -u, the first N of the records that -u keeps",
     .more = "The output has the bytes that head would print of the whole output. Each batch keeps its first N "
             "records, so little goes to temp files.",
     .brief = "write only the first N records of the order"},
    {.section = kOrder, .name = "by", .argument = "WHAT", .traits = kWordsOnly,
     .set = [](Typed& to, Text) { to.spec.order.by_count = true; },
     .words = "count",
     .help = "count: with --count and --top N, write the N most frequent records, the most frequent first",
     .more = "Of records that are equally frequent, the first in the order of the keys come first. The N records must "
             "fit into a sixteenth of --memory.",
     .about = "with --count and --top: the most frequent records"},
    {.section = kOrder, .name = "shuffle",
     .set = [](Typed& to, Text) { to.shuffle = true; },
     .help = "write the records in a random order: every order is equally likely; with --top N, a random sample",
     .more = "Equal records are not kept together, unlike with -R. The order depends only on the seed and on the "
             "places of the records in the inputs.",
     .about = "write the records in a random order"},
    {.section = kOrder, .name = "seed", .argument = "N",
     .set = [](Typed& to, Text text) { to.seed = ParseCount(text, 0, std::numeric_limits<std::uint64_t>::max()); },
     .help = "with --shuffle: the same seed gives the same order (default: another one each time, which --verbose "
             "shows)",
     .about = "the seed of --shuffle"},

    {.section = kLines, .name = "field-separator", .letter = 't', .argument = "CHAR", .traits = kWithCheck | kLinesOnly,
     .set = [](Typed& to, Text text) { to.separator = text; },
     .takes = kTakesFields,
     .help = "CHAR separates fields ('\\t' is a tab, '\\0' is NUL); without the option a field begins with the blanks "
             "before it",
     .brief = "CHAR between the fields of lines (default: blanks)"},
    {.section = kLines, .name = "ignore-leading-blanks", .letter = 'b', .traits = kWithCheck | kLinesOnly,
     .set = AddLetter<'b'>, .help = "ignore blanks at the beginning of keys"},
    {.section = kLines, .name = "dictionary-order", .letter = 'd', .traits = kWithCheck | kLinesOnly,
     .set = AddLetter<'d'>, .help = "compare only blanks, letters and digits"},
    {.section = kLines, .name = "ignore-case", .letter = 'f', .traits = kWithCheck | kLinesOnly, .set = AddLetter<'f'>,
     .help = "compare lower case letters as upper case"},
    {.section = kLines, .name = "ignore-nonprinting", .letter = 'i', .traits = kWithCheck | kLinesOnly,
     .set = AddLetter<'i'>, .help = "compare only printable characters"},
    {.section = kLines, .name = "numeric-sort", .letter = 'n', .traits = kWithCheck | kLinesOnly, .set = AddLetter<'n'>,
     .help = "order by decimal numbers of any length", .about = "lines by the numbers they begin with"},
    {.section = kLines, .name = "general-numeric-sort", .letter = 'g', .traits = kWithCheck | kLinesOnly,
     .set = AddLetter<'g'>, .help = "order by floating-point numbers",
     .more = "Runs on the CPU. All other orderings also run on the GPU."},
    {.section = kLines, .name = "human-numeric-sort", .letter = 'h', .traits = kWithCheck | kLinesOnly,
     .set = AddLetter<'h'>, .help = "order by numbers with suffixes: 2K 1G"},
    {.section = kLines, .name = "month-sort", .letter = 'M', .traits = kWithCheck | kLinesOnly, .set = AddLetter<'M'>,
     .help = "order by months: JAN < ... < DEC"},
    {.section = kLines, .name = "random-sort", .letter = 'R', .traits = kWithCheck | kLinesOnly, .set = AddLetter<'R'>,
     .help = "order by a hash of the keys: equal keys stay together"},
    {.section = kLines, .name = "version-sort", .letter = 'V', .traits = kWithCheck | kLinesOnly, .set = AddLetter<'V'>,
     .help = "order by version numbers in the text"},
    {.section = kLines, .name = "sort", .argument = "WORD", .traits = kWithCheck | kLinesOnly, .set = AddSortWord,
     .words = "general-numeric human-numeric month numeric random version",
     .help = "general-numeric, human-numeric, month, numeric, random or version: the same as the letter",
     .about = "order lines by this"},
    {.section = kLines, .name = "stable", .letter = 's', .traits = kWithCheck | kLinesOnly,
     .set = [](Typed& to, Text) { to.spec.order.stable = true; },
     .takes = kTakesLines,
     .help = "keep lines with equal keys in the order of the input; without the option the whole line decides"},
    {.section = kLines, .name = "zero-terminated", .letter = 'z', .traits = kWithCheck | kLinesOnly,
     .set = [](Typed& to, Text) { to.zero_terminated = true; },
     .takes = kTakesLines,
     .help = "lines end with NUL"},
    {.section = kLines, .name = "locale", .traits = kWithCheck | kLinesOnly,
     .set = [](Typed& to, Text) { to.spec.order.locale = true; },
     .help = "order text, numbers and months as the environment's locale does (LC_ALL); on the CPU",
     .more = "The bytes are those of sort in that locale. In a locale with the order of C, nothing changes."},
    {.section = kLines, .name = "debug", .traits = kLinesOnly,
     .set = [](Typed& to, Text) { to.spec.order.debug = true; },
     .help = "underline in the output the part of each line that is compared, and warn about doubtful options",
     .about = "underline the part of each line that is compared"},
    {.section = kLines, .name = "header", .argument = "N", .traits = kWithCheck | kLinesOnly | kTablesToo,
     .set = [](Typed& to, Text text) { to.header = text; },
     .takes = kTakesHeader,
     .help = "the first N lines stay on top, unsorted; several inputs must have the same N lines, which appear once",
     .more = "See Headers in the manual page."},
    {.section = kLines, .name = "header-prefix", .argument = "TEXT",
     .traits = kRepeats | kWithCheck | kLinesOnly | kTablesToo,
     .set = [](Typed& to, Text text) { to.spec.source.header_prefixes.push_back(text); },
     .takes = kTakesPrefix,
     .help = "the lines at the top that begin with TEXT stay on top, unsorted, before the lines of --header",
     .more = "See Headers in the manual page.", .about = "lines that begin with TEXT stay on top"},
    {.section = kLines, .name = "random-source", .argument = "FILE",
     .traits = kWithCheck | kLinesOnly | kAnyAttempt | kSameFile,
     .set = [](Typed& to, Text file) { to.spec.order.random_source = file; },
     .help = "16 bytes of FILE choose the hash of -R"},
    {.section = kLines, .name = "max-record", .argument = "SIZE",
     .traits = kWithCheck | kLinesOnly | kTablesToo | kAnyAttempt, .set = SetMaxRecord,
     .help = "the longest line that is accepted (default 64M, or a sixteenth of --memory if that is less)",
     .more = "A longer line is exit 3, and the message names its place."},

    {.section = kTables, .name = "delimiter", .argument = "CHAR", .traits = kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text text) { to.table.delimiter = ParseTableByte(text); },
     .takes = kTakesDelimiter,
     .help = "CHAR separates fields ('\\t' is a tab)"},
    {.section = kTables, .name = "quote", .argument = "CHAR", .traits = kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text text) { to.table.quote = text == "none" ? -1 : ParseTableByte(text); },
     .takes = kTakesQuote, .words = "none",
     .help = "CHAR encloses fields (default: \", in tsv none); with none, quotes are text"},
    {.section = kTables, .name = "escape", .argument = "CHAR", .traits = kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text text) { to.table.escape = ParseTableByte(text); },
     .takes = kTakesQuote,
     .help = "in quotes, the byte after CHAR is text; without the option a quote in quotes is doubled"},
    {.section = kTables, .name = "comment", .argument = "CHAR", .traits = kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text text) { to.table.comment = ParseTableByte(text); },
     .takes = kTakesComment,
     .help = "lines that begin with CHAR are not records: they stay before the record that follows them",
     .more = "Such lines after the last record stay at the end."},
    {.section = kTables, .name = "no-header", .traits = kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text) { to.table.no_header = true; },
     .takes = kTakesNoHeader,
     .help = "the first record is not a header: keys are #N"},
    {.section = kTables, .name = "null", .argument = "TEXT", .traits = kRepeats | kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text text) { to.table.nulls.push_back(text); },
     .takes = kTakesNull,
     .help = "fields that are TEXT, without quotes, are null; empty fields and \\N are null, too"},
    {.section = kTables, .name = "time", .argument = "FORMAT", .traits = kRepeats | kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text text) { to.table.times.push_back(CheckedTimeFormat(text)); },
     .takes = kTakesTime,
     .help = "how the times of a log are written, in strptime's letters and %f for a fraction; if there are several, "
             "each input takes the one that fits",
     .more = "The known forms are not tried then. The time may stand at any place that is the same in all lines.",
     .about = "the form of the times of a log"},
    {.section = kTables, .name = "time-regex", .argument = "RE", .traits = kRepeats | kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text text) { to.table.time_patterns.push_back(text); },
     .takes = kTakesTime,
     .help = "the first group of the regular expression RE (RE2) is the time of a log's line; if there are several, "
             "each input takes the one that fits",
     .more = "The parts of the time may be named groups: (?P<year>...), month, day, hour, minute, second, fraction, "
             "ampm and zone. Without them the first group is a time in a known form, or in the form of --time.",
     .about = "a regular expression that finds the times of a log"},
    {.section = kTables, .name = "timezone", .argument = "ZONE", .traits = kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text text) { to.table.zone = text; },
     .takes = kTakesZone,
     .help = "the time zone of times without a zone, and of abbreviations such as CST: a name of the IANA database or "
             "an offset (default: TZ, then the machine's zone; UTC for columns without a zone)"},
    {.section = kTables, .name = "year", .argument = "N", .traits = kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text text) { to.table.year = static_cast<unsigned>(ParseCount(text, 1000, 9999)); },
     .takes = kTakesTime,
     .help = "the year of the first time of each log, if the times have no year; a step back of more than a month "
             "begins the next year (default: by the age of the file)",
     .about = "the year of a log whose times have none"},
    {.section = kTables, .name = "date", .argument = "DAY", .traits = kWithCheck | kTablesOnly,
     .set =
         [](Typed& to, Text text) {
           const std::optional<Day> day = ParseDay(text);
           constexpr std::string_view kForm = "YYYY-MM-DD";
           if (!day || day->infinite != 0 || text.size() != kForm.size()) {
             throw Error(ErrorCode::kUsage, QuoteWord(text) + " is no day, YYYY-MM-DD");
           }
           to.table.date = day->days;
         },
     .takes = kTakesTime,
     .help = "the day (YYYY-MM-DD) of the first time of each log, if the times have no day; a step back of more than "
             "12 hours begins the next day",
     .about = "the day of a log whose times have none"},
    {.section = kTables, .name = "multiline", .argument = "WHEN", .traits = kWithCheck | kTablesOnly | kWordsOnly,
     .set =
         [](Typed& to, Text text) {
           to.table.multiline = text == "none"     ? Multiline::kNone
                                : text == "indent" ? Multiline::kIndent
                                                   : Multiline::kAuto;
           to.table.multiline_given = true;
         },
     .takes = kTakesTime,
     .words = "auto indent none",
     .help = "which lines continue a record of a log: auto (those without a time), indent (those that begin with a "
             "blank), none; a record without a time has the time of the record before it",
     .about = "which lines continue a record of a log"},
    {.section = kTables, .name = "since", .argument = "TIME", .traits = kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text text) { to.table.since = CheckedWindowTime(text); },
     .takes = kTakesTime,
     .help = "only the records of a log with this time or a later one: 2026-11-23, 2026-11-23T06:00, or @ and seconds "
             "since 1970; a time without a zone is one of --timezone",
     .more = "A record without a time is left out.",
     .about = "only records of a log from this time on"},
    {.section = kTables, .name = "until", .argument = "TIME", .traits = kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text text) { to.table.until = CheckedWindowTime(text); },
     .takes = kTakesTime,
     .help = "only the records of a log before this time, without this time itself; written as for --since",
     .about = "only records of a log before this time"},
    {.section = kTables, .name = "prefix-name", .traits = kTablesOnly,
     .set = [](Typed& to, Text) { to.table.prefix_name = true; },
     .takes = kTakesTime,
     .help = "write the name of the input, a colon and a blank before the first line of each record of a log",
     .more = "The names do not change the order. Standard input is named (standard input).",
     .about = "write the input's name before each record"},
    {.section = kTables, .name = "strip-volatile", .traits = kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text) { to.table.strip_volatile = true; },
     .takes = kTakesDump,
     .help = "leave out the lines of a dump that have a random word or the time of the dump",
     .more = "These are \\restrict and \\unrestrict of pg_dump, and comments such as \"-- Dump completed on\" between "
             "two statements, but not between two INSERT statements of one table. Two dumps of equal databases then "
             "have equal bytes, if statements with several rows are cut at the same rows: mysqldump "
             "--skip-extended-insert writes one row a statement.",
     .about = "leave out the random words and the times of a dump"},
    {.section = kTables, .name = "row-group-size", .argument = "SIZE", .traits = kTablesOnly,
     .set = [](Typed& to, Text text) { to.spec.target.group_bytes = ParseBytes(text); },
     .takes = kTakesRowGroups,
     .help = "Parquet: end each row group of the output at this size (default: 128 MiB, or the rows of the input's)",
     .more = "This is about the encoded size: the number of rows follows from the sizes in the first input. A row group "
             "takes at most a 48th of --memory, and its rows before the encoding at most eight times the size.",
     .about = "the size of the row groups of Parquet"},
    {.section = kTables, .name = "strict", .traits = kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text) { to.table.strict = true; },
     .help = "stop at a value that is not of its key's type, at a record whose number of columns differs from the "
             "header's, and at text after a closing quote",
     .more = "That is exit 3 with the place. Without the option such values are ordered as null, and a warning "
             "counts all of these.",
     .about = "stop at values and records that do not fit their type or the header"},
    {.section = kTables, .name = "decimal-point", .argument = "CHAR", .traits = kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text text) { to.table.decimal_point = ParseTableByte(text); },
     .takes = kTakesDecimal,
     .help = "CHAR is the decimal point in numbers (default: .)", .about = "CHAR in numbers instead of ."},
    {.section = kTables, .name = "thousands", .argument = "CHAR", .traits = kWithCheck | kTablesOnly,
     .set = [](Typed& to, Text text) { to.table.thousands = ParseTableByte(text); },
     .takes = kTakesDecimal,
     .help = "CHAR may separate the digits of numbers; the type number takes the usual separators without this option",
     .about = "CHAR between the digits of numbers"},

    {.section = kCompressed, .name = "decompress", .argument = "CODEC", .traits = kWithCheck | kSaysFormat,
     .set = [](Typed& to, Text text) { to.spec.source.codec = ParseCodec(text); },
     .words = "auto none gz bgzf bz2 xz zst lz4",
     .help = "auto (the default: inputs named .gz .bgz .bz2 .xz .zst .lz4 are expanded), none, or gz bgzf bz2 xz zst "
             "lz4 for every input",
     .more = "gzip, bgzip, bzip2 and zstd are accepted as well. A codec applies to inputs of any name.",
     .about = "how the inputs are compressed"},
    {.section = kCompressed, .name = "max-expanded", .argument = "SIZE", .traits = kWithCheck | kAnyAttempt,
     .set = [](Typed& to, Text text) { to.spec.source.max_expanded = ParseBytes(text); },
     .help = "stop if an input expands to more (default: no limit)",
     .more = "A larger input is exit 3. This protects against decompression bombs."},
    {.section = kCompressed, .name = "compress", .argument = "CODEC",
     .set = [](Typed& to, Text text) {
       to.compress = CodecOfName(text);
       to.compress_text = text;
       to.compress_given = true;
     },
     .words = "auto none gz bgzf bz2 xz zst lz4",
     .help = "auto (the default: by the output's extension), none, or gz bgzf bz2 xz zst lz4",
     .more = "Inside Parquet: none, snappy, zstd, lz4, gz or brotli, or one with a level, like zstd:3; without the "
             "option, the codec of each column of the input. A codec that contradicts the output's extension is "
             "exit 2. bgzf is gzip in blocks, as bgzip writes it for tabix, samtools and bcftools; the output may be "
             "named .bgz or .gz.",
     .about = "how to compress the output"},
    {.section = kCompressed, .name = "index", .set = [](Typed& to, Text) { to.spec.target.index = true; },
     .help = "with bgzf: also write the index OUTPUT.gzi, as bgzip -i does",
     .more = "The index gets its name just after the output. It needs one file as the output.",
     .about = "write the index OUTPUT.gzi of a bgzf output"},
    {.section = kCompressed, .name = "compress-temp", .argument = "CODEC", .traits = kAnyAttempt, .set = SetTempCodec,
     .words = "auto none lz4 zst numbers",
     .help = "compress temp files: auto (the default: if that saves time), none, lz4, zst or numbers",
     .more = "auto measures how fast blocks reach the disk, and compresses them if the disk is slower than a codec. "
             "numbers stores the differences of sorted binary numbers. Blocks that the page cache takes at the speed "
             "of RAM are not compressed.",
     .about = "how to compress temp files"},
    {.section = kCompressed, .name = "compress-program", .argument = "PROGRAM", .set = SetTempProgram,
     .words = "gzip bzip2 xz zstd lz4",
     .help = "compress temp files with PROGRAM, and expand them with PROGRAM -d, as for sort; gzip, bzip2, xz, zstd "
             "and lz4 are built in",
     .more = "Each block and each direction takes a process. A block that does not get shorter is stored uncompressed, "
             "so the option does not encrypt. If the program cannot be started, a warning says so and nothing is "
             "compressed. If it fails: exit 4. If it does not return the bytes it was given: exit 8. Its memory does "
             "not count towards --memory."},

    {.section = kResources, .name = "memory", .argument = "SIZE", .traits = kWithCheck | kShare | kAnyAttempt,
     .set = [](Typed& to, Text text) { to.spec.limits.memory = ParseMemory(text, 1); },
     .help = "host memory to use: bytes, or K M G T (by 1024), or % of all (default: half of what is available)",
     .more = "Sizes take K M G T P E, also a fraction of a unit: 1.5G. A % is of all memory, or of the limit of a "
             "control group or a batch system. A size over that limit is lowered to it, with a warning.",
     .brief = "host memory: 2G, 50% (default: half of what is free)"},
    {.section = kResources, .name = "buffer-size", .letter = 'S', .argument = "SIZE",
     .traits = kWithCheck | kShare | kAnyAttempt,
     .set = [](Typed& to, Text text) { to.spec.limits.memory = ParseMemory(text, 1024); }, .same_as = "memory",
     .help = "the same as --memory; a number without a unit counts KiB, as for sort",
     .about = "host memory to use, a bare number in KiB"},
    {.section = kResources, .name = "gpu-memory", .argument = "SIZE", .traits = kShare | kAnyAttempt,
     .set = [](Typed& to, Text text) { to.spec.limits.gpu_memory = ParseMemory(text, 1); },
     .help = "GPU memory to use; % of what is free (default 90%)",
     .more = "With --device cpu a warning says that it has no effect."},
    {.section = kResources, .name = "gpu-timeout", .argument = "SECONDS", .traits = kAnyAttempt,
     .set = [](Typed& to, Text text) { to.spec.limits.gpu_timeout = std::chrono::seconds(ParseCount(text, 1, 86400)); },
     .help = "a GPU that does not answer for this time counts as lost (default 60)",
     .more = "From 1 to 86400. A wait for one batch, one window of the merge, or the driver's start must not take "
             "longer. See GPUs that fail in the manual page."},
    {.section = kResources, .name = "temp-dir", .letter = 'T', .argument = "DIR", .traits = kRepeats | kAnyAttempt,
     .set = AddTempDir,
     .help = "the folder for temp files; several folders share the load (default: TMPDIR, or the output's folder, or "
             "/var/tmp for a stream)",
     .brief = "folder for temp files; several share the load"},
    {.section = kResources, .name = "temporary-directory", .argument = "DIR", .traits = kRepeats | kAnyAttempt,
     .set = AddTempDir, .same_as = "temp-dir", .help = "the same as --temp-dir"},
    {.section = kResources, .name = "threads", .letter = 'j', .argument = "N", .traits = kAnyAttempt,
     .set = SetThreads,
     .help = "CPU threads (default: one for each core that a control group and a batch system allow)",
     .more = "For lines at most one for each 6 MiB of --memory, and no more than a plan has memory for."},
    {.section = kResources, .name = "parallel", .argument = "N", .traits = kAnyAttempt, .set = SetThreads,
     .same_as = "threads", .help = "the same as --threads"},
    {.section = kResources, .name = "device", .argument = "WHERE", .traits = kWithCheck | kAnyAttempt,
     .set = [](Typed& to, Text text) { ParseDevice(text, to.spec.limits); }, .words = "auto cpu gpu gpu:",
     .help = "auto (the default: GPUs if there are any), cpu, gpu (never the CPU), or gpu:0,2 for the GPUs with these "
             "numbers",
     .more = "auto and gpu take one GPU, and all GPUs where this is faster. The bytes are the same with any number of "
             "GPUs. See Several GPUs in the manual page. --check accepts the option, and always works on the CPU.",
     .about = "where to sort: on a GPU or on the CPU"},
    {.section = kResources, .name = "resume-dir", .argument = "DIR", .traits = kAnyAttempt | kFirst,
     .set = [](Typed& to, Text folder) { to.spec.survival.dir = folder; },
     .help = "keep the finished part of the job in DIR: after a kill, a crash or a full disk the same command "
             "continues",
     .more = "DIR is made if it is missing, and removed when the job is done. See Jobs that survive in the manual "
             "page.",
     .about = "after a kill the same command continues the job"},
    {.section = kResources, .name = "keep-resume-dir", .traits = kAnyAttempt,
     .set = [](Typed& to, Text) { to.spec.survival.keep = true; },
     .help = "do not remove the folder of --resume-dir when the job is done"},

    {.section = kOutput, .name = "output", .letter = 'o', .argument = "FILE", .traits = kAnyAttempt,
     .set = [](Typed& to, Text file) { to.spec.target.output = file; },
     .help = "the output; needed for several inputs",
     .more = "The output may be one of the inputs, which is then replaced at the end.",
     .brief = "the output, for any number of inputs"},
    {.section = kOutput, .name = "check", .letter = 'c', .traits = kWithCheck | kFirst,
     .set = [](Typed& to, Text word) {
       Ask(to, Action::kCheck);
       to.spec.reports.quiet |= word == "quiet" || word == "silent";
     },
     .words = "quiet silent diagnose-first", .help = "only check that the one input is sorted; --check=quiet is -C",
     .more = "Exit 0: sorted; 1: not sorted, and the message names the first record that is out of order. "
             "--check=silent is the same as --check=quiet, and --check=diagnose-first the same as --check.",
     .brief = "only check that the one input is sorted: exit 0 or 1"},
    {.section = kOutput, .letter = 'C', .traits = kWithCheck | kFirst,
     .set = [](Typed& to, Text) { Ask(to, Action::kCheck); to.spec.reports.quiet = true; },
     .help = "the same as --check, without a message", .about = "check without a message"},
    {.section = kOutput, .name = "split", .argument = "N",
     .set = [](Typed& to, Text text) { to.spec.target.split = static_cast<unsigned>(ParseCount(text, 1, kMostParts)); },
     .help = "write N files of about the same size, OUTPUT-0.csv to OUTPUT-(N-1).csv (with the input's extension, a "
             "stream has none), and OUTPUT.manifest.json; records with equal keys are in one file",
     .more = "See Parts in the manual page.", .about = "write N parts and a manifest: OUTPUT-0.csv ..."},
    {.section = kOutput, .name = "target-size", .argument = "SIZE",
     .set = [](Typed& to, Text text) { to.spec.target.part_bytes = ParseBytes(text); },
     .help = "as --split, with as many files as that makes: the size of the inputs divided by SIZE, rounded up",
     .more = "A file may be larger or smaller than SIZE. The sizes of the inputs must be known: streams and compressed "
             "inputs need --split.", .about = "write parts of about this size, and a manifest"},
    {.section = kOutput, .name = "force", .traits = kAnyAttempt, .set = [](Typed& to, Text) { to.force = true; },
     .help = "replace an OUTPUT that exists without asking a person at a terminal; -o does not ask either",
     .more = "See Output in the manual page."},
    {.section = kOutput, .name = "no-clobber", .traits = kAnyAttempt,
     .set = [](Typed& to, Text) { to.spec.target.no_clobber = true; },
     .help = "stop if the output exists, instead of replacing it",
     .more = "That is exit 2. An output that appears during the job is kept as well (exit 4). Excludes --force."},
    {.section = kOutput, .name = "verify-output", .traits = kAnyAttempt,
     .set = [](Typed& to, Text) { to.spec.target.verify = true; },
     .help = "read the output back from the disk before it gets its name"},
    {.section = kOutput, .name = "no-fsync", .traits = kAnyAttempt,
     .set = [](Typed& to, Text) { to.spec.target.no_fsync = true; },
     .help = "do not wait for the disk: a crash may lose the output"},
    {.section = kOutput, .name = "no-space-check", .traits = kAnyAttempt,
     .set = [](Typed& to, Text) { to.spec.target.no_space_check = true; },
     .help = "start even if the disk looks too full"},

    {.section = kReports, .name = "explain", .traits = kAnyAttempt | kFirst,
     .set = [](Typed& to, Text word) { Ask(to, Action::kExplain); to.spec.explains_all |= word == "full"; },
     .words = "full",
     .help = "print how long the job will take, how the input is read and what the job will need, and sort nothing; "
             "--explain=full also prints the measured speeds and every size of the plan",
     .more = "See Watching a job in the manual page.",
     .brief = "print how long it will take and what it needs"},
    {.section = kReports, .name = "stats", .argument = "FILE", .traits = kAnyAttempt,
     .set = [](Typed& to, Text file) { to.spec.reports.stats = file; },
     .help = "write times, bytes and sizes of the job as JSON",
     .more = "The file also says how busy each part was. /dev/stderr is accepted, too."},
    {.section = kReports, .name = "trace", .argument = "FILE", .traits = kAnyAttempt,
     .set = [](Typed& to, Text file) { to.spec.reports.trace = file; },
     .help = "write when each thread, disk, codec and GPU stream did what, for https://ui.perfetto.dev or "
             "chrome://tracing",
     .more = "See What happened when.", .about = "write when each thread, disk, codec and GPU stream did what"},
    {.section = kReports, .name = "report", .argument = "FILE", .traits = kAnyAttempt,
     .set = [](Typed& to, Text file) { to.spec.reports.page = file; },
     .help = "write a page (HTML) with what the job did over time, its plan, notes and statistics, and how it ended",
     .more = "See What happened when.", .about = "write a page with what the job did over time"},
    {.section = kReports, .name = "progress", .argument = "WHEN", .traits = kWithCheck | kAnyAttempt,
     .set = [](Typed& to, Text text) {
       to.spec.reports.progress =
           Choose<When>(text, {{"auto", When::kAuto}, {"always", When::kAlways}, {"never", When::kNever}});
     },
     .words = "auto always never",
     .help = "show the progress: auto (the default: on a terminal), always or never",
     .more = "See Watching a job in the manual page.", .about = "when to show the progress"},
    {.section = kReports, .name = "quiet", .letter = 'q', .traits = kWithCheck | kAnyAttempt,
     .set =
         [](Typed& to, Text) {
           to.spec.reports.log_level = "error";
           to.spec.reports.progress = When::kNever;
         },
     .help = "print only errors: no warnings, no progress and no summary",
     .more = "--log-file still gets the warnings."},
    {.section = kReports, .name = "verbose", .letter = 'v', .traits = kWithCheck | kAnyAttempt,
     .set = [](Typed& to, Text) { to.spec.reports.log_level = "info"; },
     .help = "print what the program does: the same as --log-level info"},
    {.section = kReports, .name = "log-level", .argument = "LEVEL", .traits = kWithCheck | kAnyAttempt | kWordsOnly,
     .set = [](Typed& to, Text text) { to.spec.reports.log_level = text; }, .words = "trace debug info warn error off",
     .help = "what standard error shows: trace debug info warn (the default) error off",
     .about = "what standard error shows"},
    {.section = kReports, .name = "log-file", .argument = "FILE", .traits = kWithCheck | kAnyAttempt,
     .set = [](Typed& to, Text file) { to.spec.reports.log_file = file; },
     .help = "append the log, from info on, with UTC times; the last line tells how the job ended",
     .more = "The first line of a job names version, pid, inputs and output. The last line says done or failed, "
             "with exit code, records and bytes of the output, and seconds. A job that is killed outright has no last "
             "line."},
    {.section = kReports, .name = "log-format", .argument = "FORMAT",
     .traits = kWithCheck | kAnyAttempt | kFirst | kWordsOnly, .set = SetLogFormat, .words = "text json",
     .help = "text (the default), or json: each line on standard error and in --log-file is one JSON object",
     .more = "With json, --log-level is info, unless --log-level or --quiet is given. See The log as JSON.",
     .about = "write the log as text, or as a JSON object on each line"},
    {.section = kReports, .name = "status", .traits = kAnyAttempt | kFirst,
     .set = [](Typed& to, Text) { Ask(to, Action::kStatus); },
     .help = "only print how far the job of --resume-dir DIR is"},
    {.section = kReports, .name = "version", .traits = kWithCheck | kFirst,
     .set = [](Typed& to, Text) { Ask(to, Action::kVersion); },
     .help = "print the version, and the backends that are built and found"},
    {.section = kReports, .name = "help", .traits = kWithCheck | kFirst, .set = AskHelp,
     .words = "all keys examples man json",
     .help = "print the options that are needed most; --help=all: all options; --help=keys: keys and their types; "
             "--help=examples: common tasks; --help=man: the manual page; --help=json: the options for "
             "programs",
     .more = "The manual page is roff: gpusort --help=man | man -l -. --help=json prints an array with one object for "
             "each option: name, letter, argument (empty for a flag), words that the value may be, whether it repeats, "
             "changes_bytes (of the output), section and help. The option format also has formats: of each format with "
             "columns the name, the extensions, and scanned, which is true if the bytes before a record can decide "
             "where it begins."},
    {.section = kReports, .name = "completion", .argument = "SHELL", .traits = kWithCheck | kFirst | kWordsOnly,
     .set = [](Typed& to, Text shell) { Ask(to, Action::kCompletion); to.spec.shell = shell; },
     .words = "bash zsh fish",
     .help = "print the script that completes command lines of gpusort in that shell: bash, zsh or fish",
     .more = "Packages and cmake --install put the script where the shells look for it. Otherwise write in a "
             "start-up file of the shell: source <(gpusort --completion bash). Keys of CSV are completed by the header "
             "of the input on the line."},
    {.section = kReports, .name = "install-sort", .argument = "DIR", .traits = kAnyAttempt | kFirst,
     .set = [](Typed& to, Text folder) { Ask(to, Action::kInstallSort); to.spec.target.output = folder; },
     .help = "only make the link DIR/sort to this program, which is GNU sort under that name",
     .more = "DIR is made if it is missing. A link to a program gpusort is replaced, anything else of that name is "
             "exit 2. The program prints which sort the commands in PATH run now, and how to undo it.",
     .about = "make a link under whose name this program is GNU sort"},

    {.section = kTuning, .name = "batch-bytes", .argument = "SIZE", .traits = kAnyAttempt,
     .set = [](Typed& to, Text text) { to.spec.limits.batch_bytes = ParseBytes(text); },
     .help = "bytes that are sorted at once"},
    {.section = kTuning, .name = "batch-size", .argument = "SIZE", .traits = kAnyAttempt,
     .set = [](Typed& to, Text text) { to.batch_size = text; },
     .help = "binary: the same as --batch-bytes; lines: the same as --fan-in, as for sort",
     .about = "bytes sorted at once; for lines, runs merged at once"},
    {.section = kTuning, .name = "block-size", .argument = "SIZE", .traits = kAnyAttempt,
     .set = [](Typed& to, Text text) { to.spec.limits.block_bytes = ParseBytes(text); },
     .help = "bytes of one read or write"},
    {.section = kTuning, .name = "fan-in", .argument = "N", .traits = kAnyAttempt,
     .set = [](Typed& to, Text text) { to.spec.limits.max_fan_in = ParseFanIn(text); },
     .help = "largest number of runs that are merged at once (at least 2)"},
    {.section = kTuning, .name = "checkpoint", .argument = "SIZE", .traits = kAnyAttempt,
     .set = [](Typed& to, Text text) {
       to.spec.survival.checkpoint_bytes = ParseBytes(text);
       to.checkpoint_given = true;
     },
     .help = "with --resume-dir: bytes of the output between two points from which the job can continue (default 32G, "
             "or 5 minutes)",
     .about = "bytes of the output between two points from which the job can continue"},
};

}  // namespace
}  // namespace option_table

constinit const std::span<const OptionRow> kOptionRows = option_table::kRows;

}  // namespace gpusort

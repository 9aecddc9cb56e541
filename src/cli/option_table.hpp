// Every option of gpusort, once: the parser (parse_options.cpp), `--help`, `--help=all`, the manual page (help.cpp) and
// completion (completion.cpp) are made from these rows. Under the name `sort` another grammar holds (gnu_options.hpp).
#pragma once

#include <string>
#include <string_view>

#include "formats/registry.hpp"

namespace gpusort {

enum class Section { kInput, kOrder, kLines, kTables, kCompressed, kResources, kOutput, kReports, kTuning };

enum OptionMark : unsigned {
  kRepeats = 1,
  kWithCheck = 2,    ///< has a meaning with --check
  kBinaryOnly = 4,   ///< typed, it says that records are binary
  kLinesOnly = 8,    ///< typed, it says that records are lines
  kTablesOnly = 16,  ///< typed, it says that records have columns
  kTablesToo = 32,   ///< beside kLinesOnly: or that
  kShare = 128,      ///< a size that may be a share: 50%
  kAnyAttempt = 64,  ///< may be another when a job goes on that was stopped (--resume-dir): it changes no bytes of it
  kSameFile = 256,   ///< beside kAnyAttempt: all tasks of a job must have the same file
};

/// One option. Texts are plain, with `\n` where a line ends; help.cpp wraps and escapes them.
struct OptionRow {
  Section section;
  const char* name;      ///< without the hyphens; empty: only the letter
  char letter;           ///< 0: none
  const char* argument;  ///< empty: a flag
  unsigned marks;
  const char* help;        ///< for --help=all and the manual page
  const char* more = "";   ///< sentences that the manual page adds
  const char* brief = "";  ///< one line for --help; empty: not there
};

inline constexpr OptionRow kOptionRows[] = {
    {Section::kInput, "type", 0, "TYPE", kWithCheck | kBinaryOnly,
     "a record is one number: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64, little-endian (le, the default) or be: u32be", "",
     "a record is one number: i32 u64 f64 u32be ..."},
    {Section::kInput, "record-size", 0, "N", kWithCheck | kBinaryOnly,
     "records of N bytes; without --key ordered by all their bytes", "", "records of N bytes"},
    {Section::kInput, "format", 0, "FORMAT", kWithCheck,
     kFormatHelp.text,
     "See Records with columns in the manual page."},
    {Section::kInput, "force-format", 0, "", kWithCheck | kAnyAttempt,
     "read inputs in the format given, or in lines, although they seem to be something else",
     "Without the option, an input of another kind, or one of which nothing would be sorted, is exit 3. See "
     "Inputs of another kind in the manual page."},
    {Section::kInput, "files0-from", 0, "FILE", kAnyAttempt,
     "the inputs' names, each with a NUL behind it, are in FILE (-: standard input); needs --output"},
    {Section::kInput, "merge", 'm', "", 0, "the inputs are sorted already: only merge them",
     "It needs --output. An input that is out of order is exit 3.", "merge inputs that are sorted already"},

    {Section::kOrder, "key", 'k', "KEY", kRepeats | kWithCheck,
     "binary: OFFSET:TYPE[:asc|desc], TYPE as above or bytesN (unsigned bytes): a field of the record. Up to 64 "
     "times, most important first. With --type, the type gives the record's size only.\n"
     "Lines: F[.C][OPTS][,F[.C][OPTS]], fields and bytes from 1, OPTS letters of the orderings below.\n"
     "Columns: NAME or #N or PATH, then [:TYPE][:asc|desc][:nulls-first|nulls-last]",
     "", "lines: 2,2 or 3,3nr as for sort; records: 8:i64:desc"},
    {Section::kOrder, "reverse", 'r', "", kWithCheck, "turn the order of every key around",
     "Records with equal keys keep the order of the input.", "largest first"},
    {Section::kOrder, "unique", 'u', "", kWithCheck,
     "keep the first of records with equal keys; with --check, equal keys are out of order", "",
     "keep the first of records with equal keys"},
    {Section::kOrder, "top", 0, "N", 0, "only the first N records of the order; with -u, of those it keeps",
     "The same bytes as head leaves of the whole output. Each batch keeps its first N, so little is spilled.",
     "write only the first N records of the order"},

    {Section::kLines, "field-separator", 't', "CHAR", kWithCheck | kLinesOnly,
     "CHAR between fields ('\\0' is NUL); else a field begins with the blanks in front of it", "",
     "CHAR between the fields of lines (default: blanks)"},
    {Section::kLines, "ignore-leading-blanks", 'b', "", kWithCheck | kLinesOnly, "leave out blanks in front of keys"},
    {Section::kLines, "dictionary-order", 'd', "", kWithCheck | kLinesOnly, "only blanks, letters and digits count"},
    {Section::kLines, "ignore-case", 'f', "", kWithCheck | kLinesOnly, "lower case counts as upper case"},
    {Section::kLines, "ignore-nonprinting", 'i', "", kWithCheck | kLinesOnly, "only printable characters count"},
    {Section::kLines, "numeric-sort", 'n', "", kWithCheck | kLinesOnly, "by decimal numbers of any length", "",
     "lines by the numbers they begin with"},
    {Section::kLines, "general-numeric-sort", 'g', "", kWithCheck | kLinesOnly, "by floating-point numbers",
     "On the CPU; all other orderings also run on the GPU."},
    {Section::kLines, "human-numeric-sort", 'h', "", kWithCheck | kLinesOnly, "by numbers with suffixes: 2K 1G"},
    {Section::kLines, "month-sort", 'M', "", kWithCheck | kLinesOnly, "by months: JAN < ... < DEC"},
    {Section::kLines, "random-sort", 'R', "", kWithCheck | kLinesOnly,
     "by a hash of the keys: equal keys stay together"},
    {Section::kLines, "version-sort", 'V', "", kWithCheck | kLinesOnly, "by version numbers in the text"},
    {Section::kLines, "sort", 0, "WORD", kWithCheck | kLinesOnly,
     "general-numeric, human-numeric, month, numeric, random or version: the same as the letter"},
    {Section::kLines, "stable", 's', "", kWithCheck | kLinesOnly,
     "leave lines with equal keys in their order; else the whole line decides"},
    {Section::kLines, "zero-terminated", 'z', "", kWithCheck | kLinesOnly, "lines end with NUL"},
    {Section::kLines, "locale", 0, "", kWithCheck | kLinesOnly,
     "order text, numbers and months as the environment's locale does (LC_ALL); on the CPU",
     "The output has the bytes that sort gives there. In a locale that orders as C does, it changes nothing."},
    {Section::kLines, "debug", 0, "", kLinesOnly,
     "underline in the output what each line is sorted by, and warn about doubtful options"},
    {Section::kLines, "header", 0, "N", kWithCheck | kLinesOnly | kTablesToo,
     "the first N lines stay on top, unsorted; several inputs must have the same ones, which are kept once",
     "See Headers in the manual page."},
    {Section::kLines, "random-source", 0, "FILE", kWithCheck | kLinesOnly | kAnyAttempt | kSameFile,
     "16 bytes of FILE choose the hash of -R"},
    {Section::kLines, "max-record", 0, "SIZE", kWithCheck | kLinesOnly | kTablesToo | kAnyAttempt,
     "the longest line that is taken (default 64M, or a sixteenth of --memory if that is less)",
     "A longer one is exit 3 with its place."},

    {Section::kTables, "delimiter", 0, "CHAR", kWithCheck | kTablesOnly, "CHAR between fields ('\\t' is a tab)"},
    {Section::kTables, "quote", 0, "CHAR", kWithCheck | kTablesOnly,
     "CHAR around fields (default: \", in tsv none); none: quotes are text"},
    {Section::kTables, "escape", 0, "CHAR", kWithCheck | kTablesOnly,
     "in quotes, CHAR takes the next byte as it is; else a quote there is doubled"},
    {Section::kTables, "comment", 0, "CHAR", kWithCheck | kTablesOnly,
     "lines that begin with CHAR are no records: they go with the record behind them",
     "Those behind the last record stay at the end."},
    {Section::kTables, "no-header", 0, "", kWithCheck | kTablesOnly, "the first record is no header: keys are #N"},
    {Section::kTables, "null", 0, "TEXT", kRepeats | kWithCheck | kTablesOnly,
     "fields that are TEXT, without quotes, are null, as empty ones and \\N are"},
    {Section::kTables, "strict", 0, "", kWithCheck | kTablesOnly,
     "stop at a value that is not of its key's type, a record with another number of columns than the header, text "
     "behind a closing quote",
     "Exit 3 with the place. Without the option such values are ordered as null, and all of these are counted."},
    {Section::kTables, "decimal-point", 0, "CHAR", kWithCheck | kTablesOnly, "in numbers (default: .)"},
    {Section::kTables, "thousands", 0, "CHAR", kWithCheck | kTablesOnly, "between the digits of numbers"},

    {Section::kCompressed, "decompress", 0, "CODEC", kWithCheck,
     "auto (the default: inputs named .gz .bz2 .xz .zst .lz4 are expanded), none, or gz bz2 xz zst lz4 for every "
     "input",
     "gzip, bzip2 and zstd are taken, too. A codec counts whatever the inputs' names are."},
    {Section::kCompressed, "max-expanded", 0, "SIZE", kWithCheck | kAnyAttempt,
     "stop if an input expands to more (default: no limit)", "A guard against bombs: exit 3."},
    {Section::kCompressed, "compress", 0, "CODEC", 0,
     "auto (the default: by the output's extension), none, or gz bz2 xz zst lz4",
     "For an output whose name names none: against one that does, a codec is exit 2."},
    {Section::kCompressed, "compress-temp", 0, "CODEC", kAnyAttempt,
     "what is spilled: auto (the default: if the disk is so slow that it pays), none, lz4 or zst",
     "auto measures how fast blocks reach the disk, and compresses them if that is slower than lz4 or zst; what the "
     "page "
     "cache takes at the speed of RAM is left as it is."},
    {Section::kCompressed, "compress-program", 0, "PROGRAM", 0,
     "what is spilled goes through PROGRAM, and PROGRAM -d when it is read, as for sort; gzip, bzip2, xz, zstd and lz4 "
     "are built in",
     "A process for each block and each way. A block that does not get shorter is stored as it is, so this is no means "
     "to encrypt. If the program cannot be started, a warning says so and nothing is compressed; if it fails: exit 4; "
     "if it does not give back what it was given: exit 8. Its memory does not count towards --memory."},

    {Section::kResources, "memory", 0, "SIZE", kWithCheck | kShare | kAnyAttempt,
     "host memory to use: bytes, or K M G T (by 1024), or % of all (default: half of what is available)",
     "Sizes take K M G T P E, also a fraction of a unit: 1.5G. % is of all memory, or of what a control group or a batch "
     "system leaves. More than there is becomes what there is, with a warning.",
     "host memory: 2G, 50% (default: half of what is free)"},
    {Section::kResources, "buffer-size", 'S', "SIZE", kWithCheck | kShare | kAnyAttempt,
     "the same; a bare number counts KiB, as for sort"},
    {Section::kResources, "gpu-memory", 0, "SIZE", kShare | kAnyAttempt, "GPU memory to use; % of what is free (default 90%)",
     "With --device cpu a warning says that it has no effect."},
    {Section::kResources, "gpu-timeout", 0, "SECONDS", kAnyAttempt,
     "a GPU that gives no sign for so long counts as lost (default 60)",
     "From 1 to 86400. A wait for one batch, one window of the merge, or the driver's start must not take longer. See "
     "GPUs that fail in the manual page."},
    {Section::kResources, "temp-dir", 'T', "DIR", kRepeats | kAnyAttempt,
     "where to spill; several spread the load (default: TMPDIR, else the output's folder, /var/tmp for a stream)", "",
     "where to spill; several spread the load"},
    {Section::kResources, "temporary-directory", 0, "DIR", kRepeats | kAnyAttempt, "the same as --temp-dir"},
    {Section::kResources, "threads", 0, "N", kAnyAttempt,
     "CPU threads (default: one a core, within a control group's quota and what a batch system granted)",
     "For lines at most one for each 6 MiB of --memory, and no more than a plan has memory for."},
    {Section::kResources, "parallel", 0, "N", kAnyAttempt, "the same as --threads"},
    {Section::kResources, "device", 0, "WHERE", kWithCheck | kAnyAttempt,
     "auto (the default: GPUs if there are any), cpu, gpu for all that are visible, or gpu:0,2 for those of these numbers",
     "auto takes one GPU for less than 8 GiB, and all for more. The bytes are the same with any number of them. See "
     "Several GPUs in the manual page. --check takes the option, and works on the CPU whatever it says.",
     "auto (GPUs if there are any), cpu, gpu or gpu:0,2"},

    {Section::kResources, "resume-dir", 0, "DIR", kAnyAttempt,
     "keep what is done in DIR: after a kill, a crash or a full disk the same command goes on there",
     "DIR is made if it is missing, and removed when the job is done. See Jobs that survive in the manual page.",
     "after a kill the same command goes on there"},
    {Section::kResources, "keep-resume-dir", 0, "", kAnyAttempt, "leave DIR as it is when the job is done"},

    {Section::kOutput, "output", 'o', "FILE", kAnyAttempt, "the output; needed for several inputs",
     "It may be one of the inputs: it is replaced when all is done.", "the output; needed for several inputs"},
    {Section::kOutput, "check", 'c', "", kWithCheck, "only check that the one input is sorted; --check=quiet is -C",
     "Exit 0: sorted; 1: not, and the first bad record is named. --check=silent is the same as --check=quiet, and "
     "--check=diagnose-first the same as --check.",
     "only check that the one input is sorted: exit 0 or 1"},
    {Section::kOutput, "", 'C', "", kWithCheck, "the same, without a message"},
    {Section::kOutput, "split", 0, "N", 0,
     "the output is N files of about the same bytes, OUTPUT-0.csv to OUTPUT-(N-1).csv (the input's extension, none of "
     "a stream), and OUTPUT.manifest.json; records with equal keys are in one",
     "See Parts in the manual page.", "write N parts and a manifest: OUTPUT-0.csv ..."},
    {Section::kOutput, "force", 0, "", kAnyAttempt,
     "replace an OUTPUT that exists without asking a person at a terminal; -o does not ask either",
     "See Output in the manual page."},
    {Section::kOutput, "no-clobber", 0, "", kAnyAttempt, "stop if the output exists, instead of replacing it",
     "That is exit 2; one that comes into being meanwhile is kept, too (exit 4). It excludes --force."},
    {Section::kOutput, "verify-output", 0, "", kAnyAttempt, "read the output back from the disk before it is named"},
    {Section::kOutput, "no-fsync", 0, "", kAnyAttempt, "do not wait for the disk: a crash may lose the output"},
    {Section::kOutput, "no-space-check", 0, "", kAnyAttempt, "start even if the disk looks too full"},

    {Section::kReports, "explain", 0, "", kAnyAttempt,
     "print the plan and write nothing; --explain=full: how long the job will take, too",
     "Sizes, runs, levels, memory and temp space. See Watching a job in the manual page.",
     "print the plan and write nothing"},
    {Section::kReports, "stats", 0, "FILE", kAnyAttempt, "write times, bytes and sizes of the run as JSON",
     "And how busy each part was. /dev/stderr is taken, too."},
    {Section::kReports, "trace", 0, "FILE", kAnyAttempt,
     "write what each thread, disk, codec and GPU stream did when, for https://ui.perfetto.dev or chrome://tracing",
     "See What happened when."},
    {Section::kReports, "report", 0, "FILE", kAnyAttempt,
     "write a page (HTML) with what the job did over time, its plan, notes and statistics, and how it ended",
     "See What happened when."},
    {Section::kReports, "progress", 0, "WHEN", kWithCheck | kAnyAttempt,
     "auto (the default: on a terminal), always, never", "See Watching a job in the manual page."},
    {Section::kReports, "log-level", 0, "LEVEL", kWithCheck | kAnyAttempt,
     "trace debug info warn (the default) error off: what to say on standard error"},
    {Section::kReports, "log-file", 0, "FILE", kWithCheck | kAnyAttempt,
     "append the log, from info on, with UTC times; the last line tells how the job ended",
     "A job's first line there names version, pid, inputs and output, its last one says done or failed, with exit "
     "code, "
     "records, bytes and seconds (of the output; a job that is killed outright has none)."},
    {Section::kReports, "log-format", 0, "FORMAT", kWithCheck | kAnyAttempt,
     "text (the default), or json: each line on standard error and in --log-file is one JSON object",
     "Then --log-level is info unless it is given. See The log as JSON."},
    {Section::kReports, "status", 0, "", kAnyAttempt, "only print how far the job is that --resume-dir DIR keeps"},
    {Section::kReports, "version", 0, "", kWithCheck, "version, and the backends built and found"},
    {Section::kReports, "help", 0, "", kWithCheck,
     "the options needed most; --help=all: all options; --help=keys: keys and their types; --help=examples: tasks "
     "out of practice; --help=man: the manual page; --help=json: the options for programs",
     "The manual page is roff: gpusort --help=man | man -l -. --help=json prints an array with one object for each "
     "option: name, letter, argument (empty for a flag), words that the value may be, whether it repeats, "
     "changes_bytes (of the output), section and help."},
    {Section::kReports, "completion", 0, "SHELL", kWithCheck,
     "print what completes the command lines of gpusort in that shell: bash, zsh or fish",
     "Packages and cmake --install put it where the shells look for it; else, in a shell's start-up file: source "
     "<(gpusort --completion bash). Keys of CSV are completed by the header of the input on the line."},

    {Section::kTuning, "batch-bytes", 0, "SIZE", kAnyAttempt, "bytes sorted at once"},
    {Section::kTuning, "batch-size", 0, "SIZE", kAnyAttempt, "binary: the same; lines: as --fan-in, as for sort"},
    {Section::kTuning, "block-size", 0, "SIZE", kAnyAttempt, "bytes of one read or write"},
    {Section::kTuning, "fan-in", 0, "N", kAnyAttempt, "most runs merged at once (at least 2)"},
    {Section::kTuning, "checkpoint", 0, "SIZE", kAnyAttempt,
     "with --resume-dir: most that is written of the output between two places to go on from (default 32G, or 5 "
     "minutes)"},
};

/// The words that an option may have as its value or, if it is a flag, behind =. The parser and completion take them
/// from here, or a test compares the parser with them.
struct OptionWords {
  const char* name;
  const char* words;  ///< with blanks between them; what ends with : wants more behind it
};

inline constexpr OptionWords kOptionWords[] = {
    {"type", "i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 i16be i32be i64be u16be u32be u64be f32be f64be"},
    {"format", kFormatWords.text},
    {"sort", "general-numeric human-numeric month numeric random version"},
    {"quote", "none"},
    {"decompress", "auto none gz bz2 xz zst lz4"},
    {"compress", "auto none gz bz2 xz zst lz4"},
    {"compress-temp", "auto none lz4 zst"},
    {"compress-program", "gzip bzip2 xz zstd lz4"},
    {"device", "auto cpu gpu gpu:"},
    {"check", "quiet silent diagnose-first"},
    {"explain", "full"},
    {"progress", "auto always never"},
    {"log-level", "trace debug info warn error off"},
    {"log-format", "text json"},
    {"help", "all keys examples man json"},
    {"completion", "bash zsh fish"},
};

/// Empty for an option that has none.
constexpr std::string_view WordsOf(std::string_view name) {
  for (const OptionWords& row : kOptionWords) {
    if (row.name == name) return row.words;
  }
  return {};
}

/// What an option means, for completion, where the first words of its help are its values or do not say it.
struct OptionAbout {
  const char* name;  ///< or its letter
  const char* about;
};

inline constexpr OptionAbout kOptionAbouts[] = {
    {"format", "what records are: lines, binary, or of a format with columns"},
    {"key", "what records are ordered by"},
    {"reverse", "turn the order around"},
    {"sort", "order lines by this"},
    {"strict", "stop at what is not as its key's type or the header wants it"},
    {"decimal-point", "CHAR in numbers instead of ."},
    {"thousands", "CHAR between the digits of numbers"},
    {"decompress", "how the inputs are compressed"},
    {"compress", "how the output is to be compressed"},
    {"compress-temp", "how what is spilled is to be compressed"},
    {"buffer-size", "host memory to use, a bare number in KiB"},
    {"device", "where to sort: on a GPU or on the CPU"},
    {"C", "check without a message"},
    {"trace", "write what each thread, disk, codec and GPU stream did when"},
    {"report", "write a page with what the job did over time"},
    {"progress", "when to show how far the job is"},
    {"log-level", "what to say on standard error"},
    {"log-format", "text, or a JSON object on each line"},
    {"help", "what is needed most, or more of it"},
    {"batch-size", "bytes sorted at once, of lines runs merged at once"},
    {"checkpoint", "most of the output between two places to go on from"},
};

struct SectionTitle {
  Section section;
  const char* title;
};

inline constexpr SectionTitle kSectionTitles[] = {
    {Section::kInput, "Input and records"},
    {Section::kOrder, "Order"},
    {Section::kLines, "Lines (orderings as those of sort, in the C locale)"},
    {Section::kTables, "Records with columns (CSV, TSV)"},
    {Section::kCompressed, "Compressed files"},
    {Section::kResources, "Resources"},
    {Section::kOutput, "Output"},
    {Section::kReports, "Reports"},
    {Section::kTuning, "Tuning (all are planned; for tests and measurements)"},
};

/// Returns whether the option may change the bytes of the output.
bool ChangesBytes(const OptionRow& row);

/// Returns all rows as a JSON array, for programs (--help=json).
std::string OptionsAsJson();

}  // namespace gpusort

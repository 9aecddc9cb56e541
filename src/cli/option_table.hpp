// The table of all options of gpusort, for the parser, the help texts, completion in a shell, and gpusort_task. The
// options of the program `sort` are in gnu_options.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

struct Typed;

enum class Section { kInput, kOrder, kLines, kTables, kCompressed, kResources, kOutput, kReports, kTuning };

/// Properties of an option of the command line, as bits.
enum OptionTrait : unsigned {
  kRepeats = 1,      ///< the option may be given several times
  kWithCheck = 2,    ///< the option has a meaning with --check
  kBinaryOnly = 4,   ///< the option is only for binary records, and implies them
  kLinesOnly = 8,    ///< the option is only for lines, and implies them
  kTablesOnly = 16,  ///< the option is only for records with columns, and implies them
  kTablesToo = 32,   ///< with kLinesOnly: the option is also for records with columns
  kAnyAttempt = 64,  ///< the option changes no byte of the output, so a stopped job may continue with another value
  kShare = 128,      ///< the value is a size, which may be a percentage
  kSameFile = 256,   ///< the value is the name of a file that must have the same content for all tasks of a job
  kFirst = 512,  ///< the option decides what the program does, so its value is stored before those of all other options
  kWordsOnly = 1024,  ///< the value must be one of OptionRow::words
  kSaysFormat = 2048  ///< the option helps to decide which format the inputs have, so completion must know it
};

/// An option of the command line. Its texts are plain text, with `\n` at the end of each line. help.cpp wraps and
/// escapes the texts.
struct OptionRow {
  Section section;
  const char* name = "";      ///< the long name without hyphens; empty: the option has only a letter
  char letter = 0;            ///< the short name; 0: the option has only a long name
  const char* argument = "";  ///< the name of the value in help texts; empty: the option is a flag
  unsigned traits = 0;        ///< bits of OptionTrait
  /// A function that stores the value of the option in `typed`. If the option is a flag, `value` is the word after its
  /// "=", or "". Otherwise `value` is not empty. Throws Error(kUsage); the message does not name the option.
  void (*set)(Typed& typed, const std::string& value) = nullptr;
  /// A format with columns accepts the option if FormatRow::takes has this bit. 0: all formats accept the option.
  unsigned takes = 0;
  const char* same_as = "";  ///< another option with the same meaning; only one may be given, unless both have kRepeats
  /// The values that are allowed, with blanks between them. For a flag: the words that may follow its "=".
  const char* words = "";
  const char* help = "";  ///< the text for --help=all and the manual page
  const char* more = "";  ///< sentences that the manual page adds to `help`
  /// The text about this option in --help, at most one line. All of --help must fit a screen of 24 lines. Empty: --help
  /// does not show the option.
  const char* brief = "";
  const char* about = "";  ///< a few words that completion shows; empty: the beginning of `brief` or `help`
};

/// All options, in the order in which help texts show them.
extern const std::span<const OptionRow> kOptionRows;

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

/// Returns the option with a name such as "--memory" or "-S", or null.
const OptionRow* FindOption(std::string_view name);

inline bool TakesValue(const OptionRow& row) { return row.argument[0] != '\0'; }
/// Returns the name of an option for messages: "--memory", or "-C" if the option has only a letter.
std::string LongName(const OptionRow& row);
/// Returns the short name of an option, such as "-S", or its long name if it has no short one.
std::string ShortName(const OptionRow& row);
std::vector<std::string> WordsOf(const OptionRow& row);
/// Returns true if the option may change the bytes of the output. All tasks of a job must agree on such an option.
bool ChangesBytes(const OptionRow& row);

/// Returns the whole table as a JSON array, for --help=json.
std::string OptionsAsJson();

}  // namespace gpusort

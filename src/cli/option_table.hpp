// All options of gpusort. The parser (parse_options.cpp), `--help`, `--help=all`, `--help=json`, the manual page
// (help.cpp), completion (completion.cpp) and tasks read these rows. Under the name `sort` another grammar holds
// (gnu_options.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

struct Typed;

enum class Section { kInput, kOrder, kLines, kTables, kCompressed, kResources, kOutput, kReports, kTuning };

enum OptionMark : unsigned {
  kRepeats = 1,
  kWithCheck = 2,    ///< has a meaning with --check
  kBinaryOnly = 4,   ///< implies binary records
  kLinesOnly = 8,    ///< implies lines
  kTablesOnly = 16,  ///< implies records with columns
  kTablesToo = 32,   ///< in addition to kLinesOnly: implies lines or records with columns
  kAnyAttempt = 64,  ///< may differ when a stopped job continues (--resume-dir): changes no byte of the output
  kShare = 128,      ///< a size that may be a share: 50%
  kSameFile = 256,   ///< in addition to kAnyAttempt: all tasks of a job must have the same file
  kFirst = 512,      ///< decides what the program does, so that its setter runs before the others
  kWordsOnly = 1024,  ///< the value must be one of `words`
  kSaysFormat = 2048  ///< completion needs the option to tell what records are
};

/// One option. Texts are plain, with `\n` where a line ends. help.cpp wraps and escapes them.
struct OptionRow {
  Section section;
  const char* name = "";      ///< without the hyphens; empty: the option has only a letter
  char letter = 0;            ///< 0: none
  const char* argument = "";  ///< empty: a flag
  unsigned marks = 0;         ///< of OptionMark
  /// Stores the value, which is not empty. A flag has the value "", or its word after "=". Throws Error(kUsage) without
  /// the name of the option.
  void (*set)(Typed& typed, const std::string& value) = nullptr;
  unsigned takes = 0;        ///< the FormatOption of formats with columns that have the option; 0: all formats
  const char* same_as = "";  ///< another name of the option. Only one of the two may be given, unless both may repeat
  const char* words = "";    ///< the words that may be the value, or follow "=" of a flag, with blanks between them
  const char* help = "";     ///< for --help=all and the manual page
  const char* more = "";     ///< sentences that the manual page adds
  const char* brief = "";    ///< one line for --help; empty: not shown there
  const char* about = "";    ///< a few words for completion; empty: the beginning of `brief` or `help`
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

/// Returns the option that `name` names, "--memory" or "-S", or null.
const OptionRow* FindOption(std::string_view name);

inline bool TakesValue(const OptionRow& row) { return row.argument[0] != '\0'; }
/// "--memory"; "-C" for an option without a name. Messages use this name.
std::string LongName(const OptionRow& row);
/// "-S" if the option has a letter.
std::string ShortName(const OptionRow& row);
std::vector<std::string> WordsOf(const OptionRow& row);
/// Returns whether the option may change the bytes of the output.
bool ChangesBytes(const OptionRow& row);

/// Returns all rows as a JSON array, for programs (--help=json).
std::string OptionsAsJson();

}  // namespace gpusort

// The formats of records with columns, one row each. Options, file names, help, the manual page, completion and messages
// take from a row what they say about a format. A new format needs a class and a row here. Start at kFormatRows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "formats/copy_format.hpp"
#include "formats/csv_format.hpp"
#include "formats/json_format.hpp"
#include "formats/paragraphs_format.hpp"
#include "formats/pgcopy_binary_format.hpp"
#include "formats/pgdump_format.hpp"
#include "formats/table_format.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Options that only some formats take.
enum FormatOption : unsigned {
  kTakesDelimiter = 1,
  kTakesQuote = 2,  ///< --quote and --escape
  kTakesComment = 4,
  kTakesHeader = 8,     ///< --header
  kTakesNoHeader = 16,  ///< --no-header
  kTakesNull = 32,
  kTakesDecimal = 64,  ///< --decimal-point and --thousands
  kTakesSplit = 128,
};

/// How a key names its column.
enum class ColumnNames { kHeader, kNumbers, kPaths, kTables, kFields };

/// What a job takes its inputs for. KindCheck refuses inputs that seem to be something else.
enum Reads : unsigned {
  kReadsLines = 1,
  kReadsNulLines = 2,  ///< lines that end with NUL
  kReadsNumbers = 4,
  kReadsCsv = 8,
  kReadsOtherCsv = 16,  ///< CSV with another delimiter or without quotes, so that a field may be JSON
  kReadsRows = 32,      ///< text in which a record may begin with any byte
  kReadsJson = 64,
  kReadsBinaryRows = 128,
  kReadsDump = 256,
};

struct FormatRow {
  const char* name;        ///< the value of --format
  const char* extensions;  ///< of files in this format: lower case, with blanks between them; empty: none
  Reads reads;
  ColumnNames names;
  unsigned takes;  ///< bits of FormatOption
  /// The defaults of TableOptions. `null` is a text that is null without --null; empty: there is none.
  unsigned char delimiter;
  int quote, escape;
  std::uint64_t header;
  const char* null;
  std::unique_ptr<TableFormat> (*make)(const JobSpec& spec);
  /// Returns a hint for the message that no record has the column; `record` lacks it. Null: there is no hint.
  std::string (*hint)(const std::string& column, const std::string& record) = nullptr;
  /// What records have that KeyTally::glued counts, and what to do about it.
  const char* glued = "a newline in quotes and text after the closing quote";
  const char* glued_advice = "if quotes are text there, say --quote none";
};

template <typename Format>
std::unique_ptr<TableFormat> MakeFormat(const JobSpec& spec) {
  return std::make_unique<Format>(spec);
}

inline constexpr unsigned kTakesValues = kTakesNull | kTakesDecimal | kTakesSplit,
                          kTakesRows = kTakesValues | kTakesDelimiter | kTakesHeader,
                          kTakesCsv = kTakesRows | kTakesQuote | kTakesComment | kTakesNoHeader;

inline constexpr FormatRow kFormatRows[] = {
    {"csv", ".csv", kReadsCsv, ColumnNames::kHeader, kTakesCsv, ',', '"', -1, 1, "\\N", MakeFormat<CsvFormat>},
    {"tsv", ".tsv", kReadsOtherCsv, ColumnNames::kHeader, kTakesCsv, '\t', -1, -1, 1, "\\N", MakeFormat<CsvFormat>},
    {"jsonl", ".jsonl .ndjson .json", kReadsJson, ColumnNames::kPaths, kTakesDecimal | kTakesSplit, 0, -1, '\\', 0, "",
     MakeFormat<JsonFormat>, PathHint},
    {"pgcopy", "", kReadsRows, ColumnNames::kNumbers, kTakesRows, '\t', -1, '\\', 0, "", MakeFormat<CopyFormat>},
    {"pgcopy-csv", "", kReadsOtherCsv, ColumnNames::kHeader, kTakesCsv, ',', '"', -1, 0, "", MakeFormat<CsvFormat>},
    {"pgcopy-binary", "", kReadsBinaryRows, ColumnNames::kNumbers, kTakesSplit, 0, -1, '\\', 0, "",
     MakeFormat<PgCopyBinaryFormat>},
    {"pgdump", "", kReadsDump, ColumnNames::kTables, kTakesNull | kTakesDecimal, '\t', -1, '\\', 0, "",
     MakeFormat<PgDumpFormat>},
    {"mysql", "", kReadsRows, ColumnNames::kNumbers, kTakesRows | kTakesQuote, '\t', -1, '\\', 0, "",
     MakeFormat<CopyFormat>},
    {"paragraphs", "", kReadsRows, ColumnNames::kFields, kTakesValues, 0, -1, '\\', 0, "",
     MakeFormat<ParagraphsFormat>, FieldHint, "a field of a key twice", "an empty line may be missing between two records"},
};

/// Returns the row of that name; null: there is none.
const FormatRow* FindFormat(std::string_view name);
/// Returns the row that a file name tells, in any case; null: it tells none.
const FormatRow* FormatOfFile(std::string_view path);
/// Returns the row of the format that `table` names.
const FormatRow& RowOf(const TableOptions& table);
/// Returns what users of the format call a column: "column", "path" or "field".
std::string ColumnWord(const FormatRow& row);

namespace detail {

/// A text that is made when the program is compiled.
struct StaticText {
  char text[512] = {};
  std::size_t size = 0;
  constexpr void Add(std::string_view more) {
    for (const char c : more) text[size++] = c;
  }
  /// Adds a member of each row, with blanks between the members.
  constexpr void AddOfRows(const char* FormatRow::*member) {
    bool any = false;
    for (const FormatRow& row : kFormatRows) {
      const std::string_view of_row = row.*member;
      if (of_row.empty()) continue;
      if (any) Add(" ");
      Add(of_row);
      any = true;
    }
  }
};

constexpr StaticText MakeFormatWords() {
  StaticText words;
  words.Add("binary lines ");
  words.AddOfRows(&FormatRow::name);
  return words;
}

constexpr StaticText MakeFormatHelp() {
  StaticText help;
  help.Add("binary, lines, or one with columns: ");
  help.AddOfRows(&FormatRow::name);
  help.Add("; else the options and the inputs' extensions tell: ");
  help.AddOfRows(&FormatRow::extensions);
  help.Add(", numbers, else lines");
  return help;
}

}  // namespace detail

/// The values of --format with blanks between them, and the help of --format.
inline constexpr detail::StaticText kFormatWords = detail::MakeFormatWords(), kFormatHelp = detail::MakeFormatHelp();

}  // namespace gpusort

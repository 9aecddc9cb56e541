// The table of all formats of records with columns, one row per format. The options, file extensions, help, manual
// page, completion and messages read this table. A new format needs a class and a row here. Start at kFormatRows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "formats/copy_format.hpp"
#include "formats/csv_format.hpp"
#include "formats/fields_format.hpp"
#include "formats/json_format.hpp"
#include "formats/log_fields.hpp"
#include "formats/logs_format.hpp"
#include "formats/paragraphs_format.hpp"
#include "formats/pgcopy_binary_format.hpp"
#include "formats/pgdump_format.hpp"
#include "formats/table_format.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// The options that only some formats accept, one bit each.
enum FormatOption : unsigned {
  kTakesDelimiter = 1,
  kTakesQuote = 2,  ///< the options --quote and --escape
  kTakesComment = 4,
  kTakesHeader = 8,
  kTakesNoHeader = 16,
  kTakesNull = 32,
  kTakesDecimal = 64,  ///< the options --decimal-point and --thousands
  kTakesSplit = 128,
  kTakesTime = 256,    ///< the options of logs: --time, --timezone, --since, --until, --prefix-name
  kTakesFields = 512,  ///< keys of text (~RE, N:TYPE) and the option -t
  kTakesLines = 1024,  ///< the options -s and -z
};

/// How the user names a column in a key, for example by the header or by a number.
enum class ColumnNames { kHeader, kNumbers, kPaths, kTables, kFields };

/// The kind of input that a job expects. KindCheck refuses an input that seems to be of another kind.
enum Reads : unsigned {
  kReadsLines = 1,
  kReadsNulLines = 2,  ///< lines that end with a NUL byte
  kReadsNumbers = 4,
  kReadsCsv = 8,
  kReadsOtherCsv = 16,  ///< other dialects of CSV, such as TSV. Fields may be JSON, so KindCheck accepts JSON
  kReadsRows = 32,      ///< text in which a record may begin with any byte
  kReadsJson = 64,
  kReadsBinaryRows = 128,
  kReadsDump = 256,
};

struct FormatRow {
  const char* name;  ///< the value of --format
  /// The file extensions in lower case, separated by blanks; empty: the format has no extension.
  const char* extensions;
  Reads reads;
  ColumnNames names;
  unsigned takes;  ///< the accepted options, as bits of FormatOption
  /// The defaults of the table options. `null` is the default of --null: the text of fields that are null values.
  unsigned char delimiter;
  int quote, escape;
  std::uint64_t header;
  const char* null;
  std::unique_ptr<TableFormat> (*make)(const JobSpec& spec);
  /// Returns a hint for the error "no record has the column". `record` is an example. Null if the format has no hints.
  std::string (*hint)(const std::string& column, const std::string& record) = nullptr;
  /// The warning about a record that is probably several records: what the record has, and what the user can do.
  const char* glued = "a newline in quotes and text after the closing quote";
  const char* glued_advice = "if quotes are text there, say --quote none";
  const char* key = "";  ///< the key of a job without -k, a timestamp; empty: all columns as text
  /// True if the keys of records can be made again from the output alone, as --verify-output does.
  bool again = true;
  /// True if a record without the value of a key is unusual. A warning counts such records.
  bool warns_missing = false;
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
     MakeFormat<ParagraphsFormat>, FieldHint, "a field of a key twice",
     "an empty line may be missing between two records"},
    {"log", "", kReadsRows, ColumnNames::kFields, kTakesValues | kTakesTime | kTakesFields, 0, -1, '\\', 0, "",
     MakeFormat<LogsFormat>, LogHint, "", "", "time", false, true},
};

/// The format of lines whose keys are typed. Lines with the keys of sort, and lines without keys, are no table.
inline constexpr FormatRow kTypedLines = {.name = "lines", .extensions = "", .reads = kReadsLines,
                                          .names = ColumnNames::kFields,
                                          .takes = kTakesValues | kTakesHeader | kTakesFields | kTakesLines,
                                          .delimiter = 0, .quote = -1, .escape = -1, .header = 0, .null = "",
                                          .make = MakeFormat<FieldsFormat>, .hint = LineHint, .warns_missing = true};

/// Returns the format with the name `name`, or null if there is no such format. kTypedLines is none.
const FormatRow* FindFormat(std::string_view name);
/// Returns the format whose extension the file name `path` has, in any case, or null if there is none.
const FormatRow* FormatOfFile(std::string_view path);
/// Returns the format that `table` names. Throws Error(kInternal) if there is none.
const FormatRow& RowOf(const TableOptions& table);
/// Returns the word for a column in messages about this format: "column", "path" or "field".
std::string ColumnWord(const FormatRow& row);

/// A text that is put together at compile time.
struct StaticText {
  char text[512] = {};
  std::size_t size = 0;

  constexpr StaticText& Add(std::string_view more) {
    for (const char c : more) text[size++] = c;
    return *this;
  }
  /// Appends the given member of every row of kFormatRows, each after a blank. Leaves out empty members.
  constexpr StaticText& AddOfRows(const char* FormatRow::*member) {
    for (const FormatRow& row : kFormatRows) {
      if (*(row.*member) != '\0') Add(" ").Add(row.*member);
    }
    return *this;
  }
};

/// The values of --format, separated by blanks, and the help text of --format.
inline constexpr StaticText kFormatWords = StaticText().Add("binary lines").AddOfRows(&FormatRow::name),
                            kFormatHelp = StaticText()
                                              .Add("binary, lines, or one with columns:")
                                              .AddOfRows(&FormatRow::name)
                                              .Add("; else the options and the inputs' extensions tell:")
                                              .AddOfRows(&FormatRow::extensions)
                                              .Add(", numbers, else lines");

}  // namespace gpusort

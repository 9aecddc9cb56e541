// The table of all formats of records with columns, with one row for each format. The options, file extensions, help,
// manual page, completion and messages are made from this table, and programs read it from --help=json. A new format
// needs a class, a row here, and, if the class is not in a header, a function in formats.hpp. Start at kFormatRows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "formats/copy_format.hpp"
#include "formats/formats.hpp"
#include "formats/log_fields.hpp"
#include "formats/logs_format.hpp"
#include "formats/sql_dump_format.hpp"
#include "formats/table_format.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Options that only some formats accept. Each bit stands for one option or a group of options.
enum FormatOption : unsigned {
  kTakesDelimiter = 1,
  kTakesQuote = 2,  ///< the options --quote and --escape
  kTakesComment = 4,
  kTakesHeader = 8,
  kTakesNoHeader = 16,
  kTakesNull = 32,
  kTakesDecimal = 64,  ///< the options --decimal-point and --thousands
  kTakesSplit = 128,
  kTakesTime = 256,       ///< the options of logs: --time, --since, --until, --prefix-name
  kTakesFields = 512,     ///< keys that are regular expressions (~RE) or typed fields (N:TYPE), and the option -t
  kTakesLines = 1024,     ///< the options -s and -z
  kTakesDump = 2048,      ///< the option --strip-volatile
  kCountsBefore = 4096,   ///< the option --count, which writes each count before its record, as uniq -c does
  kCountsColumn = 8192,   ///< the option --count, which writes the counts as the first column
  kCountsMember = 16384,  ///< the option --count, which writes each count as the first member of a JSON object
  kTakesCount = kCountsBefore | kCountsColumn | kCountsMember,
  kTakesPrefix = 32768,      ///< the option --header-prefix
  kTakesSum = 65536,         ///< the option --sum, which replaces a value of a record by a sum
  kTakesZone = 131072,       ///< the option --timezone
  kTakesRowGroups = 262144,  ///< the option --row-group-size
};

/// The names of columns in -k options: names in the header, numbers, JSON paths, TABLE.COLUMN, or names of fields.
enum class ColumnNames { kHeader, kNumbers, kPaths, kTables, kFields };

/// The kind of input that a job expects. The job ends with an error if the beginning of its input looks like another
/// kind (KindCheck).
enum Reads : unsigned {
  kReadsLines = 1,
  kReadsNulLines = 2,  ///< lines that end with a NUL byte
  kReadsNumbers = 4,
  kReadsCsv = 8,
  /// CSV with other delimiters or quotes, such as TSV.
  kReadsOtherCsv = 16,
  kReadsRows = 32,  ///< rows of text in any other format
  kReadsJson = 64,
  kReadsBinaryRows = 128,
  kReadsPgDump = 256,
  kReadsMysqlDump = 512,
  kReadsSqliteDump = 1024,
  kReadsSqlDump = 2048,  ///< a dump of any of these databases
  kReadsParquet = 4096,  ///< rows of Parquet, which a module decodes
  kReadsArrow = 8192,    ///< rows of Arrow, which a module decodes
};

struct FormatRow {
  const char* name;  ///< the value of --format
  /// The file extensions in lower case, with spaces between them. Empty: the format has no extension.
  const char* extensions;
  Reads reads;
  ColumnNames names;
  unsigned takes;  ///< the accepted options, as bits of FormatOption
  /// The default values of --delimiter, --quote, --escape, --header and --null. -1 as `quote` or `escape` means that
  /// there is no such byte. `null` is the string that stands for a null value.
  unsigned char delimiter;
  int quote, escape;
  std::uint64_t header;
  const char* null;
  std::unique_ptr<TableFormat> (*make)(const JobSpec& spec);
  /// A function that returns advice for the error "no record has the column of this key". `column` is the name of the
  /// column, and `record` is an example of a record. Null: the format has no advice.
  std::string (*hint)(const std::string& column, const std::string& record) = nullptr;
  /// The warning that one record may really be several records: the reason, and the advice for the user.
  const char* glued = "a newline in quotes and text after the closing quote";
  const char* glued_advice = "if quotes are text there, say --quote none";
  /// The column of timestamps by which a job without -k sorts. Empty: the job sorts by all columns, as text.
  const char* key = "";
  /// True if --verify-output can be used, which computes the sort keys again from the output. False for logs, whose
  /// sort keys can be computed only from the inputs.
  bool again = true;
  /// True if a job warns about records without a value for a key. This is so for formats whose records usually have a
  /// value for each key.
  bool warns_missing = false;
  /// The codec of a file of columns. Codec::kNone: the format is no file of columns.
  Codec codec = Codec::kNone;
};

template <typename Format>
std::unique_ptr<TableFormat> MakeFormat(const JobSpec& spec) {
  return std::make_unique<Format>(spec);
}

/// Returns the row of a format whose inputs and outputs are files of columns.
constexpr FormatRow ColumnFileRow(const char* name, const char* extensions, Reads reads, unsigned takes, Codec codec) {
  FormatRow row{name, extensions, reads, ColumnNames::kHeader, takes | kTakesSplit, 0, -1, -1, 1, "", MakeRowsFormat};
  row.codec = codec;
  return row;
}

inline constexpr unsigned kTakesValues = kTakesNull | kTakesDecimal | kTakesSplit | kTakesZone,
                          kTakesRows = kTakesValues | kTakesDelimiter | kTakesHeader | kCountsColumn | kTakesSum,
                          kTakesInserts = kTakesDecimal | kTakesDump, kTakesCopies = kTakesInserts | kTakesNull,
                          kTakesCsv = kTakesRows | kTakesQuote | kTakesComment | kTakesNoHeader | kTakesPrefix;

inline constexpr FormatRow kFormatRows[] = {
    {"csv", ".csv", kReadsCsv, ColumnNames::kHeader, kTakesCsv, ',', '"', -1, 1, "\\N", MakeCsvFormat},
    {"tsv", ".tsv", kReadsOtherCsv, ColumnNames::kHeader, kTakesCsv, '\t', -1, -1, 1, "\\N", MakeCsvFormat},
    {"jsonl", ".jsonl .ndjson .json", kReadsJson, ColumnNames::kPaths,
     kTakesDecimal | kTakesSplit | kTakesZone | kCountsMember | kTakesSum, 0, -1, '\\', 0, "", MakeJsonFormat,
     PathHint},
    {"pgcopy", "", kReadsRows, ColumnNames::kNumbers, kTakesRows, '\t', -1, '\\', 0, "", MakeFormat<CopyFormat>},
    {"pgcopy-csv", "", kReadsOtherCsv, ColumnNames::kHeader, kTakesCsv, ',', '"', -1, 0, "", MakeCsvFormat},
    {"pgcopy-binary", "", kReadsBinaryRows, ColumnNames::kNumbers, kTakesSplit, 0, -1, '\\', 0, "",
     MakePgCopyBinaryFormat},
    {"pgdump", "", kReadsPgDump, ColumnNames::kTables, kTakesCopies, '\t', -1, '\\', 0, "", MakeFormat<SqlDumpFormat>},
    {"mysqldump", "", kReadsMysqlDump, ColumnNames::kTables, kTakesInserts, '\t', -1, '\\', 0, "",
     MakeFormat<SqlDumpFormat>},
    {"sqlitedump", "", kReadsSqliteDump, ColumnNames::kTables, kTakesInserts, '\t', -1, '\\', 0, "",
     MakeFormat<SqlDumpFormat>},
    {"sqldump", ".sql", kReadsSqlDump, ColumnNames::kTables, kTakesCopies, '\t', -1, '\\', 0, "",
     MakeFormat<SqlDumpFormat>},
    {"mysql", "", kReadsRows, ColumnNames::kNumbers, kTakesRows | kTakesQuote, '\t', -1, '\\', 0, "",
     MakeFormat<CopyFormat>},
    {"paragraphs", "", kReadsRows, ColumnNames::kFields, kTakesValues | kTakesSum, 0, -1, '\\', 0, "",
     MakeParagraphsFormat, FieldHint, "a field of a key twice", "an empty line may be missing between two records"},
    ColumnFileRow("parquet", ".parquet", kReadsParquet, kTakesRowGroups, Codec::kParquet),
    ColumnFileRow("arrow", ".arrow .feather", kReadsArrow, 0, Codec::kArrow),
    ColumnFileRow("arrow-stream", ".arrows", kReadsArrow, 0, Codec::kArrowStream),
    {"log", "", kReadsRows, ColumnNames::kFields, kTakesValues | kTakesTime | kTakesFields | kCountsBefore | kTakesSum,
     0, -1, '\\', 0, "", MakeFormat<LogsFormat>, LogHint, "", "", "time", false, true},
};

/// The format of lines that are sorted by keys with a type, such as -k 2:int, or that carry their place (--keep-order).
/// There is no FormatRow for other lines that are sorted by the keys of GNU sort, such as -k 2,2n, or without keys.
inline constexpr FormatRow kTypedLines = {
    .name = "lines",
    .extensions = "",
    .reads = kReadsLines,
    .names = ColumnNames::kFields,
    .takes = kTakesValues | kTakesHeader | kTakesFields | kTakesLines | kCountsBefore | kTakesPrefix | kTakesSum,
    .delimiter = 0,
    .quote = -1,
    .escape = -1,
    .header = 0,
    .null = "",
    .make = MakeFieldsFormat,
    .hint = LineHint,
    .warns_missing = true};

/// The format of binary records whose order must be computed (--shuffle), or that carry their place (--keep-order).
/// Other binary records have no FormatRow.
inline constexpr FormatRow kPlainRecords = {.name = "binary",
                                            .extensions = "",
                                            .reads = kReadsNumbers,
                                            .names = ColumnNames::kNumbers,
                                            .takes = kTakesSplit,
                                            .delimiter = 0,
                                            .quote = -1,
                                            .escape = -1,
                                            .header = 0,
                                            .null = "",
                                            .make = MakeFixedFormat};

/// Returns the format with the name `name`, or null if there is no such format. Searches only kFormatRows, so it never
/// returns kTypedLines or kPlainRecords.
const FormatRow* FindFormat(std::string_view name);
/// Returns the format that belongs to the extension of the file name `path`. Upper and lower case do not matter.
/// Returns null if no format has the extension.
const FormatRow* FormatOfFile(std::string_view path);
/// Returns the format that table.name names. Throws Error(kInternal) if there is no such format.
const FormatRow& RowOf(const TableOptions& table);
/// Returns true if the meaning of a time can depend on the zone of the job (--timezone).
bool NeedsZone(const TableOptions& table);
/// Returns true if the job sorts a dump of a database, whose rows stand between other statements.
bool IsDump(const JobSpec& spec);
/// Returns the word that messages use for a column of this format: "column", "path" or "field".
std::string ColumnWord(const FormatRow& row);

/// A string that is put together at compile time. It has at most 512 bytes.
struct StaticText {
  char text[512] = {};
  std::size_t size = 0;

  constexpr StaticText& Add(std::string_view more) {
    for (const char c : more) text[size++] = c;
    return *this;
  }
  /// Appends the text `member` of each row of kFormatRows, with a space before each string. Leaves out empty strings.
  constexpr StaticText& AddOfRows(const char* FormatRow::*member) {
    for (const FormatRow& row : kFormatRows) {
      if (*(row.*member) != '\0') Add(" ").Add(row.*member);
    }
    return *this;
  }
};

/// kFormatWords: the values of --format, with spaces between them. kFormatHelp: the help text of --format.
inline constexpr StaticText kFormatWords = StaticText().Add("binary lines").AddOfRows(&FormatRow::name),
                            kFormatHelp = StaticText()
                                              .Add("binary, lines, or one with columns:")
                                              .AddOfRows(&FormatRow::name)
                                              .Add("; else the options and the inputs' extensions tell:")
                                              .AddOfRows(&FormatRow::extensions)
                                              .Add(", numbers, else lines");

}  // namespace gpusort

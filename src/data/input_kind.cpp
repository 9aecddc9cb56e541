#include "data/input_kind.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "formats/json_record.hpp"
#include "formats/registry.hpp"
#include "formats/text_reader.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

constexpr unsigned kDumps = kReadsPgDump | kReadsMysqlDump | kReadsSqliteDump | kReadsSqlDump,
                   kTables = kReadsCsv | kReadsOtherCsv | kReadsRows | kReadsJson | kReadsBinaryRows | kDumps,
                   kText = kReadsLines | (kTables & ~kReadsBinaryRows),
                   kAll = kReadsLines | kReadsNulLines | kReadsNumbers | kTables;

struct Kind {
  const char* name;
  const char* advice;
  unsigned refused = kAll;         ///< the jobs that refuse this kind, as bits of Reads
  bool codec = false;              ///< a compressed file; --decompress none says that its bytes are the records
  const char* encoding = nullptr;  ///< for iconv, whose command begins the advice; null: the advice is complete
};

/// Bytes at an offset by which a kind of file is recognised. If `binary` is true, these bytes could also be text, so
/// there must also be a control character among the first bytes.
struct Magic {
  std::uint64_t offset;
  std::string_view bytes;
  Kind kind;
  bool binary = false;
};

using namespace std::string_view_literals;

constexpr const char* kWriteCsv =
    "write its rows as CSV, as pyarrow.csv.write_csv does, and sort these with --format csv";

constexpr Kind kGzip{"compressed by gzip", "give --decompress gz", kAll, true};

constexpr Magic kMagics[] = {
    {0, "\x1f\x8b\x08\0"sv, kGzip},  // the fourth byte contains flags
    {0, "\x1f\x8b\x08\x04"sv, kGzip},
    {0, "\x1f\x8b\x08\x08"sv, kGzip},
    {0, "\x1f\x8b\x08"sv, kGzip},
    {0, "\x28\xb5\x2f\xfd"sv, {"compressed by zstd", "give --decompress zst", kAll, true}},
    {0, "\x50\x2a\x4d\x18"sv, {"compressed by pzstd", "give --decompress zst", kAll, true}},
    {0, "\x5d\0\0"sv, {"compressed by lzma", "xz -dc FILE | gpusort - OUTPUT sorts it", kAll, true}, true},
    {0,
     "!<arch>\n"sv,
     {"an ar archive or a Debian package", "ar p FILE NAME | gpusort - OUTPUT sorts a file of it"},
     true},
    {0, "\xfd\x37\x7a\x58\x5a\x00"sv, {"compressed by xz", "give --decompress xz", kAll, true}},
    {0, "\x04\x22\x4d\x18"sv, {"compressed by lz4", "give --decompress lz4", kAll, true}},
    {4, "1AY&SY"sv, {"compressed by bzip2", "give --decompress bz2", kAll, true}, true},
    {0, "\x1f\x9d"sv, {"compressed by compress (.Z)", "gzip -dc FILE | gpusort - OUTPUT sorts it", kAll, true}, true},
    {0, "LZIP\x01"sv, {"compressed by lzip", "lzip -dc FILE | gpusort - OUTPUT sorts it", kAll, true}},
    {0, "\x89LZO\0\r\n\x1a\n"sv, {"compressed by lzop", "lzop -dc FILE | gpusort - OUTPUT sorts it", kAll, true}},
    {0, "7z\xbc\xaf\x27\x1c"sv, {"a 7-Zip archive", "7z e -so FILE NAME | gpusort - OUTPUT sorts a file of it"}},
    {0, "Rar!\x1a\x07"sv, {"a RAR archive", "unrar p -inul FILE NAME | gpusort - OUTPUT sorts a file of it"}},
    {0,
     "PGDMP"sv,
     {"a dump in pg_dump's custom format (-Fc)", "pg_restore -f - FILE | gpusort --format pgdump - OUTPUT sorts it"},
     true},
    {0,
     "PGCOPY\n\xff\r\n\0"sv,
     {"rows of COPY ... WITH (FORMAT binary)", "give --format pgcopy-binary", kAll & ~kReadsBinaryRows}},
    {0, "PAR1"sv, {"a Parquet file", "give --format parquet"}, true},
    {0, "ARROW1\0\0"sv, {"an Arrow file", "give --format arrow"}},
    {0, "FEA1"sv, {"a Feather file of version 1", kWriteCsv}, true},
    {0, "ORC"sv, {"an ORC file", kWriteCsv}, true},
    {0,
     "Obj\x01"sv,
     {"an Avro file", "avro-tools tojson FILE | gpusort --format jsonl -k PATH - OUTPUT sorts its records"}},
    {0,
     "SQLite format 3\0"sv,
     {"a SQLite database",
      "sqlite3 -csv -header FILE 'SELECT * FROM TABLE' | gpusort --format csv -k COLUMN - OUTPUT sorts a table"}},
    {8,
     "DUCK"sv,
     {"a DuckDB database", "duckdb -csv FILE 'FROM TABLE' | gpusort --format csv -k COLUMN - OUTPUT sorts a table"},
     true},
    {0, "\x89HDF\r\n\x1a\n"sv, {"an HDF5 file", "write its rows as CSV first"}},
    {0, "\x93NUMPY"sv, {"an array of NumPy (.npy)", "numpy.load(FILE).tofile(NAME) writes numbers for --type"}},
    {0,
     "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv,
     {"an old Office document (.xls, .doc)", "libreoffice --convert-to csv FILE writes a sheet as CSV"}},
    {0, "%PDF-"sv, {"a PDF document", "pdftotext -layout FILE - | gpusort - OUTPUT sorts its lines"}, true},
    {0, "\x7f\x45LF"sv, {"a program or library (ELF)", "nothing in it can be sorted"}},
    {0, "\x89PNG\r\n\x1a\n"sv, {"a PNG image", "nothing in it can be sorted"}},
    {0, "\xff\xd8\xff"sv, {"a JPEG image", "nothing in it can be sorted"}, true},
};

constexpr Kind kTar{"a tar archive", "tar -xOf FILE NAME | gpusort - OUTPUT sorts a file of it"};
constexpr Kind kTarDump{"a dump in pg_dump's tar format (-Ft)",
                        "pg_restore -f - FILE | gpusort --format pgdump - OUTPUT sorts it"};
constexpr Kind kZip{"a ZIP archive", "unzip -p FILE NAME | gpusort - OUTPUT sorts a file of it"};
constexpr Kind kWorkbook{"a spreadsheet (.xlsx, .ods)", "libreoffice --convert-to csv FILE writes a sheet as CSV"};
constexpr const char* kRecode = " -t UTF-8 FILE | gpusort - OUTPUT sorts it, with --format FORMAT for columns";
constexpr unsigned kAllText = kText | kReadsBinaryRows;
constexpr const char *kNoMark16 = "UTF-16 text without a byte order mark",
                     *kNoMark32 = "UTF-32 text without a byte order mark";
constexpr Kind kUtf16{"UTF-16 text", kRecode, kAllText, false, "UTF-16"},
    kUtf16Le{kNoMark16, kRecode, kAllText, false, "UTF-16LE"},
    kUtf16Be{kNoMark16, kRecode, kAllText, false, "UTF-16BE"},
    kUtf32{"UTF-32 text", kRecode, kAllText, false, "UTF-32"},
    kUtf32Le{kNoMark32, kRecode, kAllText, false, "UTF-32LE"},
    kUtf32Be{kNoMark32, kRecode, kAllText, false, "UTF-32BE"};
constexpr Kind kReturns{"text whose lines end with CR alone",
                        "tr '\\r' '\\n' <FILE | gpusort - OUTPUT sorts it, with --format FORMAT for columns", kText};

constexpr Kind kPgDump{"a plain dump of PostgreSQL", "give --format pgdump, which sorts the rows of its tables",
                       kAllText & ~(kReadsPgDump | kReadsSqlDump)};
constexpr Kind kMysqlDump{"a dump of MySQL or MariaDB", "give --format mysqldump, which sorts the rows of its tables",
                          kAllText & ~(kReadsMysqlDump | kReadsSqlDump)};
constexpr Kind kSqliteDump{"a dump of SQLite", "give --format sqlitedump, which sorts the rows of its tables",
                           kAllText & ~(kReadsSqliteDump | kReadsSqlDump)};
constexpr Kind kSqlFile{"SQL, by its name", "give --format sqldump, which sorts the rows of its tables", kReadsLines};
constexpr Kind kStatements{"SQL statements", "give --format sqldump, which sorts the rows of COPY and INSERT",
                           kAllText & ~kReadsLines & ~kDumps};

constexpr Kind kJsonArray{"a JSON array",
                          "jq -c '.[]' FILE | gpusort --format jsonl -k PATH - OUTPUT sorts its elements",
                          kReadsLines | kReadsCsv | kReadsJson | kReadsBinaryRows | kDumps};
constexpr Kind kJsonOverLines{"JSON with values over several lines",
                              "jq -c . FILE | gpusort --format jsonl -k PATH - OUTPUT sorts values, and jq -c "
                              "'.NAME[]' takes an array out of one",
                              kReadsLines | kReadsCsv | kReadsJson | kReadsBinaryRows | kDumps};
constexpr Kind kJsonLines{"JSON Lines", "give --format jsonl", kReadsCsv | kReadsBinaryRows};
constexpr Kind kMarkup{"HTML or XML", "write its rows as CSV first",
                       kReadsCsv | kReadsOtherCsv | kReadsJson | kReadsBinaryRows};

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 && (byte < '\t' || byte > '\r') && byte != 0x1b;
}

bool HasControl(std::string_view text) { return std::any_of(text.begin(), text.end(), IsControl); }

bool StartsWithAnyCase(std::string_view text, std::string_view lower) {
  return IsWord(text.substr(0, lower.size()), lower);
}

/// Returns true if `front` begins with the header of a tar file. The number at byte 148 is then the sum of all bytes of
/// the header, where the number itself counts as blanks. The header must also contain NULs, which fill up its fields:
/// a text could have the right sum by chance, but has no NULs.
bool HasTarSum(std::string_view front) {
  constexpr std::size_t kHeader = 512, kSum = 148, kSumBytes = 8;
  if (front.size() < kHeader || front.substr(0, kHeader).find('\0') == front.npos) return false;
  unsigned long sum = 0, stored = 0;
  bool digits = false;
  for (std::size_t i = 0; i < kHeader; ++i) {
    const bool own = i >= kSum && i < kSum + kSumBytes;
    sum += own ? ' ' : static_cast<unsigned char>(front[i]);
    if (!own || front[i] < '0' || front[i] > '7') continue;
    stored = stored * 8 + static_cast<unsigned long>(front[i] - '0');
    digits = true;
  }
  return digits && sum == stored;
}

const Kind* FindArchive(std::string_view front) {
  if (HasTarSum(front)) return front.starts_with("toc.dat\0"sv) ? &kTarDump : &kTar;
  if (!front.starts_with("PK\x03\x04") && !front.starts_with("PK\x05\x06")) return nullptr;
  const bool office = front.find("[Content_Types].xml") != front.npos || front.find("xl/") != front.npos ||
                      front.find("opendocument.spreadsheet") != front.npos;
  return office ? &kWorkbook : &kZip;
}

const Kind* FindMagic(std::string_view front, unsigned reads) {
  constexpr std::size_t kNear = 256;
  constexpr std::size_t kLeastOfNumbers = 4;  // fewer bytes could be a number
  for (const Magic& magic : kMagics) {
    if (reads == kReadsNumbers && magic.bytes.size() < kLeastOfNumbers) continue;
    if (front.size() < magic.offset || !front.substr(magic.offset).starts_with(magic.bytes)) continue;
    const std::string_view rest = front.substr(magic.offset + magic.bytes.size());
    if (!magic.binary || HasControl(rest.substr(0, kNear))) return &magic.kind;
  }
  return FindArchive(front);
}

/// Counts of the characters in text of two bytes per character (UTF-16).
struct Units {
  std::size_t all = 0, ascii = 0;
  bool broken = false;  ///< there is half of a surrogate pair, or a NUL
};
Units CountUnits(std::string_view front, bool big) {
  Units units;
  bool high = false;
  for (std::size_t i = 0; i + 1 < front.size(); i += 2) {
    const auto a = static_cast<unsigned char>(front[i]), b = static_cast<unsigned char>(front[i + 1]);
    const unsigned unit = big ? a * 256u + b : b * 256u + a;
    const bool low = unit >= 0xDC00 && unit < 0xE000;
    ++units.all;
    units.ascii += (unit >= 0x20 && unit < 0x7F) || (unit >= '\t' && unit <= '\r') ? 1 : 0;
    units.broken |= unit == 0 || low != high;
    high = unit >= 0xD800 && unit < 0xDC00;
  }
  return units;
}

/// Returns true if nearly all groups of four bytes are ASCII characters in UTF-32.
bool IsUtf32(std::string_view front, bool big) {
  constexpr std::size_t kLeast = 4;
  std::size_t all = 0, ascii = 0;
  for (; (all + 1) * 4 <= front.size(); ++all) {
    const std::string_view one = front.substr(all * 4, 4);
    ascii += one[big ? 3 : 0] != '\0' && one.substr(big ? 0 : 1, 3) == "\0\0\0"sv ? 1 : 0;
  }
  return all >= kLeast && ascii * 8 >= all * 7;
}

const Kind* FindWideText(std::string_view front) {
  if (front.starts_with("\xff\xfe\0\0"sv) || front.starts_with("\0\0\xfe\xff"sv)) return &kUtf32;
  const bool little = front.starts_with("\xff\xfe"), big = front.starts_with("\xfe\xff");
  if (little || big) return CountUnits(front, big).broken ? nullptr : &kUtf16;
  if (front.find('\0') == front.npos) return nullptr;
  for (const bool is_big : {false, true}) {
    if (IsUtf32(front, is_big)) return is_big ? &kUtf32Be : &kUtf32Le;
  }
  // Without a byte order mark, nearly all characters must be ASCII. Text of one byte per character never looks like
  // this.
  constexpr std::size_t kLeastUnits = 4;
  for (const bool is_big : {false, true}) {
    const Units units = CountUnits(front, is_big);
    if (units.all >= kLeastUnits && !units.broken && units.ascii * 8 >= units.all * 7) {
      return is_big ? &kUtf16Be : &kUtf16Le;
    }
  }
  return nullptr;
}

const Kind* FindDump(std::string_view text) {
  static constexpr std::pair<std::string_view, const Kind*> kSignatures[] = {
      {"-- postgresql database dump", &kPgDump},
      {"-- postgresql database cluster dump", &kPgDump},
      {"-- mysql dump", &kMysqlDump},
      {"-- mariadb dump", &kMysqlDump},
      {"-- dump created by mysql", &kMysqlDump},
      {"-- phpmyadmin sql dump", &kMysqlDump},
      {"-- mysql administrator dump", &kMysqlDump},
      {"pragma foreign_keys=off;", &kSqliteDump},
      {"pragma foreign_keys=0;", &kSqliteDump}};
  static constexpr std::string_view kStatementWords[] = {
      "insert into ", "create table ", "create database ",  "drop table ",       "set names ", "lock tables ",
      "use `",        "copy ",         "start transaction", "begin transaction;"};
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    for (const auto& [signature, kind] : kSignatures) {
      if (!StartsWithAnyCase(line, signature)) continue;
      return kind;
    }
    if (StartsWithAnyCase(line, "-- adminer ") && LowerText(line).find("mysql") != std::string::npos)
      return &kMysqlDump;
    // A comment that begins with ! and a number is a statement for servers of that version.
    for (const std::string_view opens : {"/*!"sv, "/*M!"sv}) {
      const std::string_view number = line.substr(std::min(line.size(), opens.size()), 5);
      if (line.starts_with(opens) && number.size() == 5 && number.find_first_not_of("0123456789") == number.npos) {
        return &kMysqlDump;
      }
    }
    if (line.starts_with("--") || line.starts_with('\\') || line.find_first_not_of(" \t\r") == line.npos) continue;
    const auto begins = [&](std::string_view word) { return StartsWithAnyCase(line, word); };
    if (!std::any_of(std::begin(kStatementWords), std::end(kStatementWords), begins)) return nullptr;
    const std::string words = LowerText(line);
    if (begins("insert into ")) return words.find("values") != words.npos ? &kStatements : nullptr;
    if (begins("copy ")) return words.find(" from stdin") != words.npos ? &kStatements : nullptr;
    const std::size_t last = line.find_last_not_of(" \t\r");
    return line[last] == ';' || line[last] == '(' ? &kStatements : nullptr;
  }
  return nullptr;
}

/// The first JSON array or object in the first bytes of an input. These bytes may end inside it.
struct JsonFront {
  bool valid = false;     ///< it is valid JSON so far, and it is not empty
  bool ended = false;     ///< its end is in these bytes
  std::string_view text;  ///< from the opening bracket on
  std::string_view rest;  ///< the bytes after it
};

JsonFront ReadJson(std::string_view input) {
  const std::string_view text = input.substr(std::min(input.find_first_not_of(kJsonBlanks), input.size()));
  const std::size_t first = text.find_first_not_of(kJsonBlanks, 1);
  if (!text.starts_with('{') && !text.starts_with('[')) return {};
  if (first == text.npos || text[first] == ']' || text[first] == '}') return {};
  // Strings may have any encoding and any escapes here. The parser wants UTF-8 and refuses half of a surrogate pair, so
  // other bytes and escapes are replaced.
  std::string ascii(text);
  for (std::size_t i = 0; i < ascii.size(); ++i) {
    const bool escape = ascii[i] == '\\';
    if (escape || static_cast<signed char>(ascii[i]) < 0) ascii[i] = 'x';
    if (escape && ++i < ascii.size()) ascii[i] = 'x';
  }
  std::istringstream in(ascii);
  try {
    nlohmann::json value;
    in >> value;
    const auto size = static_cast<std::size_t>(in.tellg());
    return {true, true, text.substr(0, size), text.substr(size)};
  } catch (const nlohmann::json::parse_error& error) {
    // If the value goes on after these bytes, the parser fails after the last one.
    return {error.byte > text.size(), false, text, {}};
  } catch (const nlohmann::json::out_of_range&) {
    return {};
  }
}

const Kind* FindJson(std::string_view input, bool all, bool named_json, unsigned reads) {
  const JsonFront json = ReadJson(input);
  if (!json.valid || (all && !json.ended)) return nullptr;
  const bool array = json.text[0] == '[';
  if (json.text.find('\n') != json.text.npos) return array ? &kJsonArray : &kJsonOverLines;
  const std::size_t next = json.rest.find_first_not_of(kJsonBlanks);
  if (array) {
    // A single line with an array of scalars may be a line of JSON Lines, or of text.
    const char first = json.text[json.text.find_first_not_of(kJsonBlanks, 1)];
    const bool alone = json.ended ? all && next == json.rest.npos : !all;
    return alone && (first == '[' || first == '{' || (named_json && all)) ? &kJsonArray : nullptr;
  }
  const bool lines = json.ended && json.rest.find('\n') < next;
  return reads == kReadsCsv && lines ? &kJsonLines : nullptr;
}

bool HasReturnsAlone(std::string_view text, bool all, unsigned reads) {
  if (text.find('\n') != text.npos || HasControl(text)) return false;
  const std::size_t first = text.find('\r');
  if (first == text.npos || first + 1 == text.size()) return false;
  // A long line of a log may contain carriage returns, such as those of a progress bar.
  return reads != kReadsLines || all;
}

const Kind* FindText(std::string_view front, bool all, const std::string& lower_name, unsigned reads) {
  if (front.starts_with("\xef\xbb\xbf")) front.remove_prefix(3);
  if (HasReturnsAlone(front, all, reads)) return &kReturns;
  const Kind* const dump = FindDump(front);
  if (dump != nullptr && (dump->refused & reads) != 0) return dump;
  if (lower_name.ends_with(".sql") && reads == kReadsLines) return &kSqlFile;
  const bool named_json = lower_name.ends_with(".json");
  if (const Kind* const json = FindJson(front, all, named_json, reads)) return json;
  const std::string_view words = front.substr(std::min(front.find_first_not_of(" \t\r\n"), front.size()));
  for (const std::string_view opens : {"<?xml "sv, "<!doctype html"sv, "<html"sv}) {
    if (StartsWithAnyCase(words, opens)) return &kMarkup;
  }
  return nullptr;
}

unsigned ReadsOf(const TableOptions& table) {
  const FormatRow& row = RowOf(table);
  const bool other = row.reads == kReadsCsv && (table.delimiter != row.delimiter || table.quote != row.quote);
  return other ? kReadsOtherCsv : row.reads;
}

}  // namespace

KindCheck::KindCheck(const JobSpec& spec) : raw_(spec.source.codec == Codec::kNone) {
  if (spec.source.force_format) return;
  if (spec.source.table && ReadsOf(*spec.source.table) != kReadsLines) {
    reads_ = ReadsOf(*spec.source.table);
    as_ = spec.source.table->name;
  } else if (spec.source.format_assumed) {
    reads_ = spec.source.format == Format::kBinary ? kReadsNumbers
             : spec.order.layout.delimiter == 0    ? kReadsNulLines
                                                   : kReadsLines;
    as_ = reads_ == kReadsNumbers ? "numbers" : "lines";
  }
}

void KindCheck::Look(const std::string& name, const std::string& expanded, std::span<const std::byte> front,
                     bool all) const {
  if (!active() || front.empty()) return;
  const std::string_view text(reinterpret_cast<const char*>(front.data()), front.size());
  const Kind* kind = FindMagic(text, reads_);
  if (kind == nullptr) kind = FindWideText(text);
  if (kind == nullptr) kind = FindText(text, all, LowerText(expanded), reads_);
  if (kind == nullptr || (kind->refused & reads_) == 0) return;
  if (kind->codec && raw_ && (reads_ & kTables) == 0) return;
  const bool expand_first = name != expanded && std::string_view(kind->advice).find("FILE") != std::string_view::npos;
  const char* const first = expand_first ? ", compressed: expand it to FILE, then " : ": ";
  const char* const insist =
      reads_ == kReadsLines ? "; --format lines sorts its lines as text" : "; --force-format reads it as ";
  throw Error(ErrorCode::kBadInput, EscapeName(name) + ": this seems to be " + kind->name + first +
                                        (kind->encoding != nullptr ? std::string("iconv -f ") + kind->encoding : "") +
                                        kind->advice + insist + (reads_ == kReadsLines ? "" : as_));
}

void KindCheck::LookAtHeader(const std::string& name, std::span<const std::byte> header, std::uint64_t lines) const {
  const auto ends = static_cast<std::uint64_t>(std::count(header.begin(), header.end(), std::byte{'\n'}));
  const bool open = !header.empty() && header.back() != std::byte{'\n'};
  if (ends + (open ? 1 : 0) <= lines) return;
  throw Error(ErrorCode::kBadInput, EscapeName(name) + ": all of it is one header of " +
                                        std::to_string(ends + (open ? 1 : 0)) +
                                        " lines, so there is nothing to sort: a quote that is text may have opened a "
                                        "field (--quote none); --force-format takes it for a header");
}

void KindCheck::LookAtColumns(const std::string& name, const ColumnFile& columns, std::span<const std::byte> front,
                              bool all) {
  const std::string_view text(reinterpret_cast<const char*>(front.data()), front.size());
  const std::string title(columns.title);
  // The library of the format says best what is wrong with a file that begins as it should.
  constexpr std::string_view kStream = "\xff\xff\xff\xff", kTableFollows = "\x10\0\0\0"sv;
  for (const ColumnFile& file : kColumnFiles) {
    if (file.title == title && text.starts_with(file.magic.empty() ? kStream : file.magic)) return;
  }
  const auto fail = [&](const std::string& kind, const std::string& advice) {
    throw Error(ErrorCode::kBadInput,
                EscapeName(name) + ": it is no " + title + " file, but seems to be " + kind + advice);
  };
  if (text.empty() || text.starts_with("FEA1")) return;
  constexpr std::size_t kTableAt = 8;
  const bool stream = text.starts_with(kStream) && text.size() > kTableAt;
  if (stream && text.substr(kTableAt).starts_with(kTableFollows))
    fail("an Arrow stream", ": give --format arrow-stream");
  const Kind* kind = FindMagic(text, kReadsLines);
  if (kind == nullptr) kind = FindWideText(text);
  if (kind == nullptr) kind = FindText(text, all, "", kAllText);
  if (kind != nullptr) {
    const bool known = std::string_view(kind->advice).starts_with("give --format");
    fail(kind->name, kind->codec ? ": expand it first" : known ? std::string(": ") + kind->advice : "");
  }
  if (!HasControl(text)) fail("text", ": give its --format, such as csv or lines");
}

}  // namespace gpusort

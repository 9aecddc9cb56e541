// Readers of lines and of records with columns, for gpusort_check. The readers read one byte after the other and follow
// the manual page. They share no code with gpusort's readers. Start at TableReader.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "check/value.hpp"

namespace check {

struct Key {
  std::string text;          ///< the key as the user typed it
  std::string column;        ///< the name or path of the column
  std::uint64_t number = 0;  ///< the number of the column if the key is #N, from 1; otherwise 0
  Rule rule;
  bool typed = false;  ///< the user gave a type
  friend bool operator==(const Key&, const Key&) = default;
};

enum class Kind { kLines, kCsv, kJson, kCopy, kCopyBinary, kDump, kInserts, kParagraphs };

struct Table {
  std::string name;  ///< the name of the format
  Kind kind = Kind::kLines;
  char line_end = '\n';
  int delimiter = ',', quote = -1, escape = -1, comment = -1;  ///< -1: the format has no such byte
  std::uint64_t header = 0;                                    ///< the number of records at the top that are not sorted
  std::vector<std::string> nulls;
  std::vector<Key> keys;
  Key whole;  ///< the rule for every column, and for whole lines if there are no keys
  /// Only for Kind::kInserts. True: the header of a dump does not have the lines that gpusort --strip-volatile leaves
  /// out.
  bool strip_volatile = false;
};

/// Returns the names of gpusort's formats, with blanks between them. The last is "log", which has no Table.
std::string FormatNames();
/// Returns the description of the format of gpusort that has this name. Throws BadRule if there is no such format.
Table TableOf(const std::string& name);
/// Parses a key: NAME|#N|PATH[:TYPE][:asc|desc][:nulls-first|nulls-last]. Throws BadRule if the key is wrong.
Key ReadKey(const std::string& text, char point, int thousands);

/// An error: a key names a column that the file does not have.
struct NoColumn : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct KeyValue {
  const Key* key = nullptr;
  Value value;
  std::string text;  ///< the text of the value, for messages; not set if the value is null
};

struct Row {
  std::string bytes;                             ///< the record without its last line end
  std::uint64_t number = 0, line = 0, byte = 0;  ///< the record's number from 0, first line from 1 and offset
  std::uint64_t block = 0;                       ///< in a dump: the number of the block of rows, from 1
  std::vector<KeyValue> values;
};

/// Returns the value of a member of a JSON object, as text: a string without its escapes, other values as they are
/// written. A point in `path` separates the name of a member from the object that contains it. Returns std::nullopt if
/// `line` is no JSON or has no such member, or if the member is null, an array or an object.
std::optional<std::string> FindMember(std::string_view line, std::string_view path);

std::strong_ordering CompareRows(const Row& a, const Row& b);
/// Appends bytes that identify the row. Two rows have the same bytes if, and only if, CompareRows calls them equal.
void AppendIdentity(const Row& row, std::string& to);
/// Returns the index of the first key in which the rows differ, or of the last key if no key differs.
std::size_t DecidingKey(const Row& a, const Row& b);

class TableReader {
 public:
  /// Reads the next bytes of the file. Returns the number of bytes, 0 only at the end of the file.
  using Source = std::function<std::size_t(std::span<char>)>;

  /// `table` must outlive the reader and the rows that the reader fills.
  TableReader(const Table& table, Source source);
  virtual ~TableReader() = default;
  TableReader(const TableReader&) = delete;

  /// Reads the header of the file. The first Next() calls this if the caller did not.
  void Begin();
  /// Starts to read in the middle of a file. Call this instead of Begin(). `first` is a reader of the same file that
  /// has read the header. The source must begin at the offset `place`, where a record begins (see RecordBorders).
  virtual void GoOn(const TableReader& first, std::uint64_t place);
  /// For a dump: reads up to the next block of rows. The caller must have read or skipped (SkipTo) all rows of the
  /// block before. Returns false if there are no more rows.
  virtual bool ToRows() { return false; }
  /// Continues at the offset `place` of the file. `source` must begin at that offset.
  void SkipTo(std::uint64_t place, Source source);
  /// Reads the next record into `row`. Returns false at the end.
  bool Next(Row& row);
  /// Returns true if every row of PostgreSQL's binary COPY format has an OID before its fields.
  virtual bool has_oids() const { return false; }
  /// The offset of the next byte in the file.
  std::uint64_t place() const { return offset_ + at_; }
  /// The bytes before the first record, which are not sorted. For a dump: all bytes outside of rows.
  const std::string& header() const { return header_; }
  /// The bytes after the last record. Only complete at the end of the file.
  const std::string& trailer() const { return trailer_; }
  /// The number of values so far that do not have the type of their key.
  std::uint64_t no_values() const { return no_values_; }
  /// Returns true if the last line or record has its line end. Only valid at the end of the file.
  bool ended() const { return ended_; }

 protected:
  static constexpr int kEnd = -1;

  struct Cell {
    bool null = false;
    std::string text;
  };

  /// Reads a record into `row.bytes`, and its columns into cells_ (JSON: only the values of the keys). Returns false at
  /// the end.
  virtual bool Read(Row& row) = 0;
  virtual void ReadHeader() {}
  virtual Value ValueOf(const Rule& rule, const std::string& text) const { return ReadValue(rule, text); }

  int Peek() {
    if (at_ == end_) Fill();
    return at_ == end_ ? kEnd : static_cast<unsigned char>(buffer_[at_]);
  }
  /// Reads the next byte and appends it to `to`. Returns kEnd at the end of the file.
  int Take(std::string& to) {
    const int byte = Peek();
    if (byte == kEnd) return byte;
    to += static_cast<char>(byte);
    ++at_;
    if (byte == '\n') ++line_;
    return byte;
  }
  /// Reads up to the next byte `end` and appends the bytes before it to `to`. Returns false if there are no more bytes.
  bool TakeLine(std::string& to, char end);
  /// If the next bytes are a UTF-8 byte order mark, reads them and appends them to `to`.
  void TakeMark(std::string& to);
  /// Appends an empty cell to the cells of the current record and returns the cell.
  Cell& AddCell() {
    if (cell_count_ == cells_.size()) cells_.emplace_back();
    Cell& cell = cells_[cell_count_++];
    cell.null = false;
    cell.text.clear();
    return cell;
  }
  /// Reads `count` bytes and appends them to `to`. Returns false if the file has fewer bytes.
  bool TakeBytes(std::uint64_t count, std::string& to);
  /// Reads up to the next byte `a` or `b`. Appends all bytes read to `to`, and the bytes before `a` or `b` also to
  /// `text`. Returns the byte that was found, or kEnd.
  int TakeUpTo(std::string& to, std::string& text, int a, int b);
  void SetPlace(Row& row) const {
    row.line = line_;
    row.byte = place();
  }
  [[noreturn]] void Fail(const std::string& why) const;
  bool IsNull(std::string_view text) const;
  /// Finds the column of each key in `names`, the names of all columns. Throws NoColumn if a key has no column.
  void Resolve(const std::vector<std::string>& names);

  const Table& table_;
  std::vector<const Key*> keys_;      ///< the keys of the current records; if empty, records are sorted by all cells
  std::vector<std::size_t> columns_;  ///< the index of each key's column, from 0
  std::vector<Cell> cells_;
  std::size_t cell_count_ = 0;
  std::string header_, trailer_;
  bool ended_ = true;

 private:
  void Fill();

  Source source_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;  ///< the offset of the buffer's first byte in the file
  std::uint64_t line_ = 1, number_ = 0, no_values_ = 0;
  bool begun_ = false;
};

std::unique_ptr<TableReader> MakeReader(const Table& table, TableReader::Source source);

/// An error: the file is damaged at this line and byte.
struct BadRecord : BadTable {
  BadRecord(const std::string& why, std::uint64_t at_line, std::uint64_t at_byte);
  std::string reason;
  std::uint64_t byte;
};

}  // namespace check

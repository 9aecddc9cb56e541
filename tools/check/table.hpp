// Reads lines, and records with columns, one after the other, for gpusort_check. The readers go from byte to byte and
// follow what the manual page says of records. They share nothing with gpusort's readers. Start at TableReader.
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
  std::string text;          ///< as it was typed
  std::string column;        ///< a name or path
  std::uint64_t number = 0;  ///< of #N, from 1
  Rule rule;
};

enum class Kind { kLines, kCsv, kJson, kCopy, kCopyBinary, kDump, kParagraphs };

struct Table {
  std::string name;  ///< of the format
  Kind kind = Kind::kLines;
  char line_end = '\n';
  int delimiter = ',', quote = -1, escape = -1, comment = -1;  ///< -1: none
  std::uint64_t header = 0;                                    ///< records on top that are not ordered
  std::vector<std::string> nulls;
  std::vector<Key> keys;
  Key whole;  ///< where there are no keys: of every column, and of lines
};

/// By gpusort's name for it. Throws BadRule.
Table TableOf(const std::string& name);
/// NAME|#N|PATH[:TYPE][:asc|desc][:nulls-first|nulls-last]. Throws BadRule.
Key ReadKey(const std::string& text, char point, int thousands);

/// A key's name that the file does not have.
struct NoColumn : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct KeyValue {
  const Key* key = nullptr;
  Value value;
  std::string text;  ///< for messages; of a null it is not read
};

struct Row {
  std::string bytes;                             ///< without the line's end that a last record may lack
  std::uint64_t number = 0, line = 0, byte = 0;  ///< where it begins: from 0, from 1, from 0
  std::uint64_t block = 0;                       ///< of a dump: the table's rows that it is one of, from 1
  std::vector<KeyValue> values;
};

std::strong_ordering CompareRows(const Row& a, const Row& b);
/// Appends bytes that are the same for two rows if, and only if, CompareRows calls them equal.
void AppendIdentity(const Row& row, std::string& to);
/// The place of the first key by which the rows differ; the last one if none does.
std::size_t DecidingKey(const Row& a, const Row& b);

class TableReader {
 public:
  /// Reads the next bytes; 0: there are no more.
  using Source = std::function<std::size_t(std::span<char>)>;

  /// `table` must outlive it and its rows.
  TableReader(const Table& table, Source source);
  virtual ~TableReader() = default;
  TableReader(const TableReader&) = delete;

  /// Reads the header. Next() does that if nobody did before.
  void Begin();
  /// Call instead of Begin() to read from the middle of a file. `first` has read its header; `place` is where the
  /// source begins, and where a record begins (see RecordBorders).
  virtual void GoOn(const TableReader& first, std::uint64_t place);
  /// Dumps: reads up to the next rows of a table; those that were begun must be read, or skipped by SkipTo. False if
  /// there are no more rows.
  virtual bool ToRows() { return false; }
  /// Goes on at `place`, where `source` begins.
  void SkipTo(std::uint64_t place, Source source);
  /// False at the end.
  bool Next(Row& row);
  /// Returns true if tuples of COPY's binary form have a field before the fields that they count.
  virtual bool has_oids() const { return false; }
  /// The offset of the next byte.
  std::uint64_t place() const { return offset_ + at_; }
  /// The bytes before the records, which are not sorted. For a dump that is read: all bytes that are no rows.
  const std::string& header() const { return header_; }
  /// The bytes after the records, once everything is read.
  const std::string& trailer() const { return trailer_; }
  /// Values that are none of their key's type.
  std::uint64_t no_values() const { return no_values_; }
  /// When all is read: whether the last line, or record, has its end.
  bool ended() const { return ended_; }

 protected:
  static constexpr int kEnd = -1;

  struct Cell {
    bool null = false;
    std::string text;
  };

  /// Reads a record into `row.bytes` and its columns, or what the keys' paths lead to, into cells_. False at the end.
  virtual bool Read(Row& row) = 0;
  virtual void ReadHeader() {}
  virtual Value ValueOf(const Rule& rule, const std::string& text) const { return ReadValue(rule, text); }

  int Peek() {
    if (at_ == end_) Fill();
    return at_ == end_ ? kEnd : static_cast<unsigned char>(buffer_[at_]);
  }
  /// The next byte, which goes to `to`.
  int Take(std::string& to) {
    const int byte = Peek();
    if (byte == kEnd) return byte;
    to += static_cast<char>(byte);
    ++at_;
    if (byte == '\n') ++line_;
    return byte;
  }
  /// All up to and with `end`, which does not go to `to`. False if the file ends before it.
  bool TakeLine(std::string& to, char end);
  /// "\xEF\xBB\xBF", if it stands there.
  void TakeMark(std::string& to);
  /// Cells of the record that begins here, which are numbered from 0.
  Cell& AddCell() {
    if (cell_count_ == cells_.size()) cells_.emplace_back();
    Cell& cell = cells_[cell_count_++];
    cell.null = false;
    cell.text.clear();
    return cell;
  }
  /// Takes `count` bytes. Returns false if the file ends before.
  bool TakeBytes(std::uint64_t count, std::string& to);
  /// All up to and with `a` or `b`, whichever comes first, goes to `to`; what stands before that also to `text`.
  /// Returns that byte, or kEnd.
  int TakeUpTo(std::string& to, std::string& text, int a, int b);
  void SetPlace(Row& row) const {
    row.line = line_;
    row.byte = place();
  }
  [[noreturn]] void Fail(const std::string& why) const;
  bool IsNull(std::string_view text) const;
  /// Finds the keys' columns by name. Throws NoColumn.
  void Resolve(const std::vector<std::string>& names);

  const Table& table_;
  std::vector<const Key*> keys_;      ///< those that records are ordered by now; none: all cells
  std::vector<std::size_t> columns_;  ///< of each, from 0
  std::vector<Cell> cells_;
  std::size_t cell_count_ = 0;
  std::string header_, trailer_;
  bool ended_ = true;

 private:
  void Fill();

  Source source_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;  ///< of the buffer's front
  std::uint64_t line_ = 1, number_ = 0, no_values_ = 0;
  bool begun_ = false;
};

std::unique_ptr<TableReader> MakeReader(const Table& table, TableReader::Source source);

/// An error of a file, at a byte.
struct BadRecord : BadTable {
  BadRecord(const std::string& why, std::uint64_t at_line, std::uint64_t at_byte);
  std::string reason;
  std::uint64_t byte;
};

}  // namespace check

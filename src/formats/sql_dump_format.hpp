// The format of SQL dumps of PostgreSQL, MySQL, MariaDB and SQLite. The rows of each COPY block, and the rows of INSERT
// statements that follow each other and insert into one table, are sorted. All else stays in place. This is one sort,
// because every key begins with the number of the part of the dump: rows, or the SQL before or after them.
//
// Records of SQL are lines, and records of COPY blocks are those of pgcopy. An INSERT with one row is a record. Of an
// INSERT with several rows, each row is a record with the comma after it, and the text between the last row of a
// statement and the first row of the next one is a gap: a record whose key is its place among the rows, and which
// keeps that place in the output (runs/gap_filler.hpp).
//
// A key names its table: [SCHEMA.]TABLE.COLUMN. An INSERT that cannot be parsed stays in place. Start at Scan.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/copy_format.hpp"
#include "formats/sql_text.hpp"

namespace gpusort {

struct InsertPart;

class SqlDumpFormat : public CopyFormat {
 public:
  explicit SqlDumpFormat(const JobSpec& spec);
  ~SqlDumpFormat() override;

  Ends Scan(RecordSpan bytes, ScanState& state) const override;
  /// Throws Error(kUsage) if a key names no table of the dump, and Error(kBadInput) if the dump has no rows to sort.
  /// Only the end of the dump can show these errors.
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override;
  unsigned modes() const override { return 0; }
  std::string SaveState(const ScanState& state) const override;
  /// Throws Error(kIntegrity) if `text` is not the result of SaveState().
  ScanState LoadState(const std::string& text) const override;
  std::string WhyOpen(const ScanState&) const override { return {}; }
  bool has_gaps() const override { return true; }

 protected:
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;

 private:
  struct Name {
    std::string schema, table, column;  ///< `schema` is empty if the user gave none
  };
  struct Marks;
  Name ParseName(const ColumnKey& key) const;
  enum class Statement { kOther, kUnfinished, kUnknownCopy, kCopy };
  /// Returns the kind of the statement that `text` begins with. For kCopy, sets `copy` to its table and columns.
  static Statement ParseCopy(std::string_view text, SqlTarget& copy);
  const DumpPlace& PlaceOf(const ScanState& state) const;
  /// Returns a copy of the place, which the caller may change until the next call of a function with `state`.
  DumpPlace& Change(ScanState& state) const;
  /// Advances `state` over one line of SQL. Throws BadRecord at offset `at` for a COPY that cannot be parsed.
  void TakeLine(std::string_view line, std::uint64_t at, ScanState& state) const;
  /// Finds the columns of the keys in a table of `place`. Throws Error(kUsage) if a column is missing.
  KeyColumns FindKeys(const SqlTarget& target, DumpPlace& place) const;
  void BeginRows(const SqlTarget& copy, ScanState& state) const;
  static void EndRows(ScanState& state);

  /// The beginning of an INSERT with rows.
  struct Insert {
    InsertHead::Is is = InsertHead::kNone;
    std::size_t size = 0;   ///< of the head
    bool goes_on = false;   ///< the rows belong to the part of the statement before
    SqlTarget target;
  };
  /// Looks for an INSERT at the front of `text`, which must be the front of a line. Throws BadRecord if the dialect is
  /// not known.
  Insert FindInsert(std::string_view text, ScanState& state) const;
  /// Begins the statement. A new part is not decided.
  void BeginInsert(const Insert& insert, std::string_view head, ScanState& state) const;
  /// Decides whether the statements of the part have several rows, when the first row of a statement was read.
  void DecidePart(bool several, std::string_view separator, ScanState& state) const;
  void EndInsert(std::string_view tail, std::uint64_t at, ScanState& state) const;
  std::shared_ptr<const InsertPart> MakePart(const SqlTarget& target, DumpPlace& place) const;

  const Byte* ScanText(const Byte* p, const Byte* end, const Byte* until, Marks& marks, ScanState& state) const;
  const Byte* ScanSql(const Byte* p, const Byte* end, Marks& marks, ScanState& state) const;
  const Byte* PutInsert(const Byte* begin, const Byte* end, const Insert& insert, ScanState& state, Scratch& scratch,
                        FieldWriter& out, KeyTally& tally) const;
  const Byte* PutInsertRow(const Byte* begin, const Byte* end, ScanState& state, Scratch& scratch, FieldWriter& out,
                           KeyTally& tally) const;
  void PutGap(const ScanState& state, Scratch& scratch, FieldWriter& out) const;
  const Byte* RowEnd(const Byte* p, const Byte* end, const Byte* record, const DumpPlace& place) const;
  void PutRowKeys(const Byte* record, const Byte* row, const Byte* end, const DumpPlace& place, Scratch& scratch,
                  FieldWriter& out, KeyTally& tally) const;

  const std::string input_;  ///< the name of the dump, for error messages
  const bool force_;         ///< true: a statement that cannot be parsed counts as other SQL and is no error
  const bool check_;         ///< true: the job checks the order of the rows, so that gaps are left out
  const char* const no_gaps_;  ///< the task or option that cannot move gaps, for a message; empty: none
  const bool strip_;         ///< true: lines that differ between dumps of equal databases are left out
  std::vector<Name> names_;  ///< one per key
  std::unique_ptr<const DumpPlace> front_;  ///< the place at the beginning of a dump
  /// The orders of columns whose type CREATE TABLE gives, by ValueType. Empty: the type is not used so.
  std::vector<std::unique_ptr<const ValueKey>> of_type_;
  std::vector<std::vector<std::unique_ptr<const ValueKey>>> of_key_;  ///< the same for each key without a type
};

}  // namespace gpusort

// The format of SQL dumps of PostgreSQL, MySQL, MariaDB and SQLite. The rows of each COPY block are sorted, and so are
// the rows of consecutive INSERT statements for one table. Everything else stays in place. The dump is divided into
// parts: the rows that are sorted together, or the SQL before or after such rows. One sort does all the work, because
// every sort key begins with the number of a part.
//
// Outside of rows, a record is a line. In a COPY block, a record is a row. An INSERT with one row is a record. From the
// first INSERT with several rows on, each row is a record, together with the comma after it. The text between the last
// row of a statement and the first row of the next one is a record, too. Such a record is called a gap. It keeps its
// place: in the output, a gap comes after the same number of rows as in the input (runs/gap_filler.hpp).
//
// The sort keys of the user name a table and a column: [SCHEMA.]TABLE.COLUMN. An INSERT that cannot be parsed stays in
// place.
//
// One file each has: the scan, which finds the records (sql_dump_scan.cpp); the sort keys of records
// (sql_dump_keys.cpp); what statements say about tables (sql_dump_schema.cpp); the state that another process can load
// (sql_dump_state.cpp). sql_dump_format.cpp follows lines of SQL and the statements of a part. Start at Scan.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/copy_format.hpp"
#include "formats/sql_text.hpp"

namespace gpusort {

struct RowsPart;

class SqlDumpFormat : public CopyFormat {
 public:
  explicit SqlDumpFormat(const JobSpec& spec);
  ~SqlDumpFormat() override;

  Ends Scan(RecordSpan bytes, ScanState& state) const override { return ScanBlock(bytes, state, nullptr); }
  /// Finds rows of the dump in `block`, a block whose preceding bytes need not be known: rows of COPY, and rows of
  /// INSERT statements with several rows. ScanGuessed() can then skip these rows. Several threads can look at blocks at
  /// the same time.
  Guess LookAhead(RecordSpan block) const override;
  Ends ScanGuessed(RecordSpan bytes, ScanState& state, const Guess& guess) const override {
    return ScanBlock(bytes, state, guess.rows.get());
  }
  /// Handles the end of the dump. Throws Error(kUsage) if a key of the user names a table that the dump does not have,
  /// and Error(kBadInput) if the dump has no rows to sort.
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override;
  bool has_trailer() const override { return true; }
  unsigned modes() const override { return 0; }
  std::string SaveState(const ScanState& state) const override;
  /// Throws Error(kIntegrity) if `text` is not a result of SaveState(). Throws Error(kUsage) if the dump has text
  /// between rows that must keep its place, and an option or task of the job does not allow that.
  ScanState LoadState(const std::string& text) const override;
  std::string WhyOpen(const ScanState&) const override { return {}; }
  bool has_gaps() const override { return true; }

 protected:
  std::unique_ptr<Scratch> MakeScratch() const override;
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;

 private:
  struct Name {
    std::string schema, table, column;  ///< empty `schema`: the key names only table and column
  };
  struct Marks;
  struct RowScratch;
  using Orders = std::vector<std::shared_ptr<const ValueKey>>;
  Name ParseName(const ColumnKey& key) const;
  enum class Statement { kOther, kUnfinished, kUnknownCopy, kCopy };
  /// Returns the kind of the SQL statement at the beginning of `text`. If it is a COPY statement (kCopy), sets `copy`
  /// to the table and columns that the statement names.
  static Statement ParseCopy(std::string_view text, SqlTarget& copy);
  const DumpState& StateOf(const ScanState& state) const;
  /// Gives `state` a new DumpState, a copy of the old one, and returns the copy, so that the caller can change it.
  /// Other states may share the old DumpState, which therefore never changes. The caller may use the result until the
  /// next call of a function with `state`.
  DumpState& Change(ScanState& state) const;
  /// Updates `state`, the parser's state, for one line of SQL at offset `at`. Counts in `tally`, unless it is null, an
  /// INSERT that begins after other text, and a table whose rows the line numbers. Throws BadRecord if the line
  /// completes a COPY statement that cannot be parsed.
  void TakeLine(std::string_view line, std::uint64_t at, ScanState& state, KeyTally* tally) const;
  /// Notes in `dump` what `statement` describes or changes: a table or an enum type.
  void Describe(const std::string& statement, DumpState& dump, KeyTally* tally) const;
  /// Finds the columns in the table `target` that the keys of the user name. Throws Error(kUsage) if the table lacks
  /// such a column.
  KeyColumns FindKeys(const SqlTarget& target, DumpState& dump) const;
  /// Updates `state` for the beginning of the rows of a COPY statement. `text` is the statement, and `copy` its table
  /// and columns.
  void BeginRows(const SqlTarget& copy, std::string text, ScanState& state) const;
  static void EndRows(ScanState& state);

  /// The beginning of an INSERT statement that has rows.
  struct Insert {
    InsertHead::Is is = InsertHead::kNone;
    std::size_t lead = 0;   ///< the size of the white space and the comments before the statement, in bytes
    std::size_t size = 0;   ///< the size of the text before the first row, without `lead`
    bool goes_on = false;   ///< true: the rows are sorted together with those of the statement before
    bool replaces = false;  ///< see InsertHead
    bool counts = false;    ///< see InsertHead
    SqlTarget target;
  };
  /// Parses an INSERT at the beginning of `text`, which must be the beginning of a line or the text after another
  /// INSERT. Throws BadRecord if no earlier text shows which database system has written the dump.
  Insert FindInsert(std::string_view text, ScanState& state) const;
  /// Updates `state` for `insert`, a statement with rows at the beginning of `text`. Its rows are either sorted
  /// together with those of the statement before, or begin a new part of the dump. DecidePart() decides later whether
  /// each row or each whole statement of the new part is a record.
  void BeginInsert(const Insert& insert, std::string_view text, ScanState& state) const;
  /// Throws Error(kUsage) if an option or task of the job does not allow that text between rows keeps its place.
  void RefuseGaps() const;
  /// Begins a new part of the dump (rows that are sorted together) with the current statement if the statements of the
  /// part so far have one row each, but not the same text after the row: different clauses, such as ON CONFLICT, or
  /// different white space up to the end of the statement. Must be called when the current statement turns out to have
  /// several rows. All rows of a statement with several rows share one end, so rows with different ends cannot move
  /// into it.
  void SplitPart(ScanState& state) const;
  /// Decides whether, from here on, each row or each whole INSERT statement is a record. From the first statement with
  /// several rows on, each row is a record. Must be called when the first row of a statement was read. `several` is
  /// true if another row follows in the statement; `separator` is the text between the two rows. If `several` is true,
  /// SplitPart() must have been called.
  void DecidePart(bool several, std::string_view separator, ScanState& state) const;
  /// Updates `state` for the end of an INSERT statement. `end` is the text after the last row, with the semicolon and
  /// the newline. Throws BadRecord at offset `at` if this statement and the one before have several rows, but different
  /// clauses after the last row. Their rows cannot be mixed then.
  void EndInsert(const AfterRow& after, std::string_view end, std::uint64_t at, ScanState& state) const;
  /// Calls EndInsert() for a statement whose last row ends at `row_end`. The statement may be the first of its part
  /// that says what happens to a row whose key exists already (ON CONFLICT). Then also counts the table in `tally`.
  void TakeEnd(const AfterRow& after, const Byte* row_end, ScanState& state, KeyTally& tally) const;
  /// Counts a table that REPLACE, INSERT IGNORE or ON CONFLICT fills.
  static void NoteReplacing(const RowsPart& part, KeyTally& tally);
  /// Returns a description of the rows of the table `target` that are sorted together. It says how to make their sort
  /// keys, from the keys of the user and from CREATE TABLE.
  std::shared_ptr<const RowsPart> MakePart(const SqlTarget& target, DumpState& dump) const;

  /// Does the work of Scan(). `known` are the rows that LookAhead() has found in `bytes`, which are then skipped, or
  /// null.
  Ends ScanBlock(RecordSpan bytes, ScanState& state, const KnownRows* known) const;
  const Byte* ScanText(const Byte* p, const Byte* end, const Byte* until, Marks& marks, ScanState& state) const;
  const Byte* ScanSql(const Byte* p, const Byte* end, Marks& marks, ScanState& state) const;
  const Byte* PutInsert(const Byte* begin, const Byte* end, const Insert& insert, ScanState& state, Scratch& scratch,
                        FieldWriter& out, KeyTally& tally) const;
  const Byte* PutInsertRow(const Byte* begin, const Byte* end, ScanState& state, Scratch& scratch, FieldWriter& out,
                           KeyTally& tally) const;
  void PutGap(const ScanState& state, Scratch& scratch, FieldWriter& out) const;
  /// Returns the end of the row of an INSERT that begins at `p`, in the record that begins at `record`. Sets `depends`
  /// if a value of the row can depend on the rows before it.
  const Byte* RowEnd(const Byte* p, const Byte* end, const Byte* record, const DumpState& dump, bool& depends) const;
  /// Writes the sort key of a value of SQLite, whose columns can mix types: nulls come first, then numbers, texts and
  /// blobs. `orders` has the object that makes keys for each ValueType. If `whole` is true, equal numbers that are
  /// written differently, such as 1 and 1.0, have different keys.
  static void PutLite(const Orders& orders, SqlValue::Is is, const Field& field, bool whole, FieldWriter& out);
  class InsertColumns;
  class CopyColumns;
  /// Writes the sort keys of a row. `columns` reads the columns of the row: it is an InsertColumns for a row of INSERT,
  /// and a CopyColumns for a row of COPY.
  template <typename Columns>
  void PutRowKeys(Columns& columns, const DumpState& dump, Scratch& scratch, FieldWriter& out, KeyTally& tally) const;

  const std::string input_;  ///< the name of the dump, for error messages
  /// True: a COPY statement that cannot be parsed is copied to the output like other SQL. False: such a statement is an
  /// error.
  const bool force_;
  const bool check_;                        ///< true: the job only checks the order of the rows, so gaps are ignored
  const char* const no_gaps_;               ///< for a message: what cannot move gaps, and what to do; empty: none
  const bool strip_;                        ///< true: lines that differ between dumps of equal databases are left out
  std::vector<Name> names_;                 ///< one per key
  std::unique_ptr<const DumpState> front_;  ///< the state at the beginning of a dump
  /// The dialect of the dump and the meaning of a backslash, as far as the dump was scanned: see PackRules. LookAhead()
  /// uses them, and notes in its result which ones it has used.
  mutable std::atomic<unsigned> rules_;
  /// For each ValueType: the object that makes the keys of columns that have this type by CREATE TABLE. Null: no column
  /// has this type.
  Orders of_type_;
  /// For each key that the user gave without a type: one object for each ValueType. An object makes the keys of columns
  /// that have its type by CREATE TABLE, and obeys the other options of the key, such as desc.
  std::vector<Orders> of_key_;
};

}  // namespace gpusort

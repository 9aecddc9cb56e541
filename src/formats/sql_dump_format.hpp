// The format of SQL dumps of PostgreSQL, MySQL, MariaDB and SQLite. Start at Scan.
// - Sorts the rows of each COPY block, and the rows of consecutive INSERT statements for one table.
// - All other bytes stay in their place.
// - A sort key names a column: [SCHEMA.]TABLE.COLUMN.
// - The functions are in sql_dump_scan.cpp, sql_dump_keys.cpp, sql_dump_schema.cpp, sql_dump_state.cpp and
//   sql_dump_format.cpp.
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
  /// Finds rows of the dump in `block` without knowing the bytes before it: rows of COPY, and rows of INSERT statements
  /// with several rows. ScanGuessed() can then skip these rows. Several threads can look at blocks at the same time.
  Guess LookAhead(RecordSpan block) const override;
  Ends ScanGuessed(RecordSpan bytes, ScanState& state, const Guess& guess) const override {
    return ScanBlock(bytes, state, guess.rows.get());
  }
  /// Handles the end of the dump. Throws Error(kUsage) if a key names a table that the dump does not have. Throws
  /// Error(kBadInput) if the dump has no rows to sort.
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override;
  void NoteEnd(const ScanState& state, KeyTally& tally) const override;
  bool has_trailer() const override { return true; }
  unsigned modes() const override { return 0; }
  std::string SaveState(const ScanState& state) const override;
  /// Throws Error(kIntegrity) if `text` is not a result of SaveState(). Throws Error(kUsage) if the dump has text
  /// between rows that must stay in its place, and an option of the job does not allow this.
  ScanState LoadState(const std::string& text) const override;
  std::string WhyOpen(const ScanState&) const override { return {}; }
  bool ends_in(const ScanState& state) const override { return !state.held.empty(); }
  bool has_gaps() const override { return true; }

 protected:
  std::unique_ptr<Scratch> MakeScratch() const override;
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;

 private:
  struct Name {
    std::string schema, table, column;  ///< `schema` is empty if the key names only a table and a column
  };
  struct Marks;
  struct RowScratch;
  using Orders = std::vector<std::shared_ptr<const ValueKey>>;
  Name ParseName(const ColumnKey& key) const;
  enum class Statement { kOther, kUnfinished, kUnknownCopy, kCopy };
  /// Returns the kind of the SQL statement at the beginning of `text`. If it is a COPY statement (kCopy), sets `copy`
  /// to the table and the columns that it names.
  static Statement ParseCopy(std::string_view text, SqlTarget& copy);
  const DumpState& StateOf(const ScanState& state) const;
  /// Returns the DumpState of `state` for changes. Earlier references to this DumpState become invalid.
  DumpState& Change(ScanState& state) const;
  /// Updates `state` for `line`, a line of SQL at offset `at`. Unless `tally` is null, also counts statements that the
  /// job warns about, such as an INSERT that cannot be sorted. Throws BadRecord if the line shows that the rows of a
  /// COPY statement cannot be read.
  void TakeLine(std::string_view line, std::uint64_t at, ScanState& state, KeyTally* tally) const;
  /// Updates `dump` for `statement`, which may describe or change a table, a type or a trigger. `tally` may be null.
  void Describe(const std::string& statement, DumpState& dump, KeyTally* tally) const;
  /// Returns the columns of the table `target` that the job sorts by. Also notes in `dump` that the dump has this
  /// table. Throws Error(kUsage) if the table lacks such a column.
  KeyColumns FindKeys(const SqlTarget& target, DumpState& dump) const;
  /// Updates `state` for the beginning of the rows of a COPY statement. `text` is the statement, and `copy` has its
  /// table and columns.
  void BeginRows(const SqlTarget& copy, std::string text, ScanState& state) const;
  static void EndRows(ScanState& state);

  /// The beginning of an INSERT statement that has rows.
  struct Insert {
    InsertHead::Is is = InsertHead::kNone;
    std::size_t lead = 0;   ///< the number of bytes of white space and comments before the statement
    std::size_t size = 0;   ///< the number of bytes before the first row, without `lead`
    bool goes_on = false;   ///< true: the rows are sorted together with those of the previous statement
    bool replaces = false;  ///< see InsertHead
    bool counts = false;    ///< see InsertHead
    SqlTarget target;
  };
  /// Parses an INSERT at the beginning of `text`, which must begin a line or follow another INSERT. Throws BadRecord if
  /// it is not yet known which database system wrote the dump.
  Insert FindInsert(std::string_view text, ScanState& state) const;
  /// Updates `state` for an INSERT statement with rows. `text` begins with the statement, and `insert` describes it.
  /// Unless insert.goes_on is true, the statement begins a new group of rows that are sorted together.
  void BeginInsert(const Insert& insert, std::string_view text, ScanState& state) const;
  /// Throws Error(kUsage) if an option of the job, such as -m, does not allow a dump with bytes between rows.
  void RefuseGaps() const;
  /// Begins a new group of rows if the statements of the current group end differently. Call before DecidePart().
  void SplitPart(ScanState& state) const;
  /// Decides what is sorted from the current INSERT on: single rows if `multi_row` is true, otherwise whole INSERT
  /// statements.
  /// - `separator`: the bytes after the first row
  /// - Throws Error(kUsage) if single rows would be sorted, but an option such as -m does not allow this.
  void DecidePart(bool multi_row, std::string_view separator, ScanState& state) const;
  /// Updates `state` for the end of an INSERT statement.
  /// - `end`: the bytes after the last row, including the semicolon and the newline
  /// - Throws BadRecord at offset `at` if the statement cannot be sorted together with the statements before it.
  void EndInsert(const AfterRow& after, std::string_view end, std::uint64_t at, ScanState& state) const;
  /// Calls EndInsert() for a statement whose last row ends at `row_end`. Updates `tally` if the statement has a clause
  /// such as ON CONFLICT.
  void TakeEnd(const AfterRow& after, const Byte* row_end, ScanState& state, KeyTally& tally) const;
  /// Notes in `tally` that INSERT statements for the table of `part` can replace or skip rows.
  static void NoteReplacing(const RowsPart& part, KeyTally& tally);
  /// Returns the description of a new group of rows of the table `target`, including how their sort keys are computed.
  /// Also notes in `dump` that the table has rows. Throws Error(kUsage) if the table lacks a column that the job sorts
  /// by.
  std::shared_ptr<const RowsPart> MakePart(const SqlTarget& target, DumpState& dump) const;

  /// Does the work of Scan(). Skips the rows in `known`, which LookAhead() found in `bytes`. `known` is null if
  /// LookAhead() was not called.
  Ends ScanBlock(RecordSpan bytes, ScanState& state, const KnownRows* known) const;
  /// Returns the parser's state after the end of the dump. A scan holds back lines that may be the beginning of an
  /// INSERT. `state` is the state with such lines, which are now known to be no INSERT. Throws BadRecord at offset `at`
  /// if the dump ends inside rows.
  ScanState AfterHeld(std::uint64_t at, const ScanState& state) const;
  const Byte* ScanText(const Byte* p, const Byte* end, const Byte* until, Marks& marks, ScanState& state) const;
  /// Each of these functions scans one thing that begins at `p`, and updates `state`. Returns the byte after it, or
  /// null if more bytes are needed.
  /// - ScanSql: a line of SQL, or the beginning of an INSERT
  /// - ScanInsertRow: a row of an INSERT, or its bytes in this block
  /// - ScanAfterRow: the bytes after such a row: a comma, or the end of the statement
  /// - ScanToRow: the bytes between that comma and the next row
  /// - ScanCopyRows: rows of a COPY block
  const Byte* ScanSql(const Byte* p, const Byte* end, Marks& marks, ScanState& state) const;
  const Byte* ScanInsertRow(const Byte* p, const Byte* end, const Marks& marks, ScanState& state) const;
  const Byte* ScanAfterRow(const Byte* p, const Byte* end, Marks& marks, ScanState& state) const;
  const Byte* ScanToRow(const Byte* p, const Byte* end, const Marks& marks, ScanState& state) const;
  const Byte* ScanCopyRows(const Byte* p, const Byte* end, Marks& marks, ScanState& state) const;
  /// Returns the end of the complete rows of an INSERT that begin after the comma before `p`. Returns `p` if it cannot
  /// find them without ScanInsertRow().
  const Byte* SkipWholeRows(const Byte* p, const Byte* end, Marks& marks, ScanState& state) const;
  const Byte* PutInsert(const Byte* begin, const Byte* end, const Insert& insert, ScanState& state, Scratch& scratch,
                        FieldWriter& out, KeyTally& tally) const;
  const Byte* PutInsertRow(const Byte* begin, const Byte* end, ScanState& state, Scratch& scratch, FieldWriter& out,
                           KeyTally& tally) const;
  void PutGap(const ScanState& state, Scratch& scratch, FieldWriter& out) const;
  /// Returns the end of the INSERT row at `p`. Throws BadRecord.
  /// - `record`: the beginning of the record that contains the row
  /// - `depends`: set to true if a value can depend on earlier rows, such as nextval('s'), and to false otherwise
  const Byte* RowEnd(const Byte* p, const Byte* end, const Byte* record, const DumpState& dump, bool& depends) const;
  /// Writes the sort key of a value of SQLite, where a column can mix nulls, numbers, strings and blobs.
  /// - `orders` has the object that makes keys for each ValueType.
  /// - If `whole` is true, equal numbers with different spellings, such as 1 and 1.0, get different keys.
  static void PutLite(const Orders& orders, SqlValue::Is is, const Field& field, bool whole, FieldWriter& out);
  class InsertColumns;
  class CopyColumns;
  /// Writes the sort keys of a row. `columns` reads the columns of the row: it is an InsertColumns for a row of INSERT,
  /// and a CopyColumns for a row of COPY.
  template <typename Columns>
  void PutRowKeys(Columns& columns, const DumpState& dump, Scratch& scratch, FieldWriter& out, KeyTally& tally) const;

  const std::string input_;  ///< the name of the dump, for error messages
  /// True: a COPY statement that cannot be parsed is copied to the output like other SQL. False: it is an error.
  const bool force_;
  const bool check_;  ///< true: the job only checks the order of the rows, so it ignores gaps
  /// The reason why the job does not allow gaps (bytes between rows); empty: it allows them.
  const char* const no_gaps_;
  const bool strip_;                        ///< true: lines that differ between dumps of the same data are left out
  std::vector<Name> names_;                 ///< the table and the column of each key of the user
  std::unique_ptr<const DumpState> front_;  ///< the state at the beginning of a dump
  /// The dialect and the meaning of a backslash after the last Scan(), as PackRules() returns them.
  mutable std::atomic<unsigned> rules_;
  /// The order of the values of each ValueType. Null for kEnum, kSet, and types that no SQL column has.
  Orders of_type_;
  /// For each -k option without a type: an order for each type that its column can have. Empty for other options.
  std::vector<Orders> of_key_;
};

}  // namespace gpusort

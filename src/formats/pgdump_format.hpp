// The format of plain dumps of pg_dump. The rows of each COPY block are sorted, and all else stays in place. This is
// one sort, because every key begins with the number of the part of the dump: a COPY block, or the SQL between two
// blocks. Records are lines, and within blocks the rows of pgcopy. A key names its table: [SCHEMA.]TABLE.COLUMN. Tables
// without a key are sorted by all columns as text. A COPY statement may span lines, and is ignored inside strings,
// quoted names and comments. A dump without COPY is an error, and so is a COPY that cannot be parsed. Start at Scan.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/copy_format.hpp"

namespace gpusort {

class PgDumpFormat : public CopyFormat {
 public:
  explicit PgDumpFormat(const JobSpec& spec);

  Ends Scan(RecordSpan bytes, ScanState& state) const override;
  /// Throws Error(kUsage) if a key names no table of the dump, and Error(kBadInput) if the dump has no COPY block. Only
  /// the end of the dump can show these errors.
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override;
  unsigned modes() const override { return 0; }
  std::string SaveState(const ScanState& state) const override;
  /// Throws Error(kIntegrity) if `text` is not the result of SaveState().
  ScanState LoadState(const std::string& text) const override;
  std::string WhyOpen(const ScanState&) const override { return {}; }

 protected:
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;

 private:
  struct Name {
    std::string schema, table, column;  ///< empty `schema`: the key names only table and column
  };
  struct Copy {
    std::string schema, table;
    std::vector<std::string> columns;
    std::string name() const { return schema.empty() ? table : schema + "." + table; }
  };
  static Name ParseName(const ColumnKey& key);
  enum class Statement { kOther, kUnfinished, kUnknownCopy, kCopy };
  /// Returns the kind of the SQL statement at the beginning of `text`. For kCopy, sets `copy` to the statement's table
  /// and columns.
  static Statement ParseCopy(std::string_view text, Copy& copy);
  /// Updates `state` for one line of SQL. Throws BadRecord at offset `at` if the line completes a COPY statement that
  /// cannot be parsed.
  void TakeLine(std::string_view line, std::uint64_t at, ScanState& state) const;
  void BeginRows(const Copy& copy, ScanState& state) const;
  static void EndRows(ScanState& state);

  std::vector<Name> names_;  ///< one per key
  const std::string input_;  ///< the name of the dump, for error messages
  /// True: a COPY statement that cannot be parsed is copied to the output like other SQL, instead of an error.
  const bool force_;
};

}  // namespace gpusort

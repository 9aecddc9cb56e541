// Plain dumps of pg_dump: the rows of every COPY block are sorted among themselves, all else stays where it is. One
// sort does it, by a key that begins with the number of the part of the dump: each stretch of SQL is one, and each
// block of rows. Records are lines, in blocks as pgcopy's. A key names its table, too: [SCHEMA.]TABLE.COLUMN, names
// with dots in double quotes; the rows of tables without a key are ordered by all columns as text. COPY is looked for
// at the front of a line outside of strings, quoted names and comments, in any case and over any number of lines. A
// dump without a COPY block, and rows of a COPY that was not understood, are errors. Start at Scan.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/copy_format.hpp"

namespace gpusort {

class PgDumpFormat : public CopyFormat {
 public:
  explicit PgDumpFormat(const JobSpec& spec);

  Ends Scan(RecordSpan bytes, ScanState& state) const override;
  /// Error(kUsage) if a key names no table of the dump, Error(kBadInput) if the dump has no COPY block: only its end
  /// tells.
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override;
  unsigned modes() const override { return 0; }
  std::string SaveState(const ScanState& state) const override;
  /// Error(kIntegrity) if it is none.
  ScanState LoadState(const std::string& text) const override;
  std::string WhyOpen(const ScanState&) const override { return {}; }

  std::unique_ptr<KeyEncoder> MakeEncoder() const override {
    return std::make_unique<TableEncoder<PgDumpFormat>>(*this);
  }

 protected:
  friend class TableEncoder<PgDumpFormat>;
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const;

 private:
  struct Name {
    std::string schema, table, column;  ///< schema: empty if it is not said
  };
  struct Copy {
    std::string schema, table;
    std::vector<std::string> columns;
    std::string name() const { return schema.empty() ? table : schema + "." + table; }
  };
  static Name ParseName(const ColumnKey& key);
  enum class Statement { kOther, kUnfinished, kUnknownCopy, kCopy };
  /// Tells what statement `text` begins. Sets `copy` if that is a COPY whose rows follow in the format of pg_dump.
  static Statement ParseCopy(std::string_view text, Copy& copy);
  /// Takes `state` over a line of SQL. Throws BadRecord at `at` if the line belongs to rows that cannot be read.
  void TakeLine(std::string_view line, std::uint64_t at, ScanState& state) const;
  void BeginRows(const Copy& copy, ScanState& state) const;
  static void EndRows(ScanState& state);

  std::vector<Name> names_;  ///< of the keys
  const std::string input_;  ///< the name of the dump, for messages
  const bool force_;         ///< statements that cannot be parsed are taken for other SQL instead of an error
};

}  // namespace gpusort

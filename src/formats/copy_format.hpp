// The format of tables that databases write as text: PostgreSQL's COPY (pgcopy), and SELECT INTO OUTFILE and mysqldump
// --tab of MySQL and MariaDB (mysql). A backslash changes the meaning of the next byte, so that a newline after a
// backslash ends no record. A field \N is null, and an empty field is an empty text. In pgcopy a line \. ends the data
// and becomes the output's trailer. In mysql fields may be quoted. With --header the first records name the columns. A
// CR before the newline of a record belongs to no field. Start at Scan and PutKeys.
#pragma once

#include <string>

#include "formats/table_format.hpp"

namespace gpusort {

class CopyFormat : public TableFormat {
 public:
  explicit CopyFormat(const JobSpec& spec);

  bool has_header() const override { return table_.header > 0; }
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override;
  void ReadHeader(RecordSpan header) override;
  Ends Scan(RecordSpan bytes, ScanState& state) const override;
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override;
  unsigned modes() const override { return kQuoteReturn + 1; }
  std::string WhyOpen(const ScanState& state) const override;

 protected:
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;

  /// The state after a byte. kStart is the beginning of a record, and if fields may be quoted, of any field.
  enum Mode : unsigned {
    kStart,
    kPlain,
    kEscape,
    kStartEscape,  ///< after a backslash that is the first byte of a record
    kDot,          ///< after \. at the beginning of a record
    kDotReturn,    ///< after \. and a CR at the beginning of a record
    kEnded,        ///< after the line that ends the data
    kQuoted,
    kQuotedEscape,
    kQuote,  ///< after a quote that may be the closing quote
    kQuoteReturn,
  };
  /// Scans rows from `p` in `mode`. Stops at `end` or after the line that ends the data, and returns that place. Adds
  /// the ends of the rows, as offsets from `begin`, to `ends`.
  const Byte* ScanRows(const Byte* begin, const Byte* p, const Byte* end, Mode& mode, Ends& ends) const;
  /// Writes the keys of the row at `begin`: the values of the columns `wanted`. If `wanted` is empty, writes all
  /// columns with PutWhole. Returns the end of the row.
  const Byte* PutRow(const Byte* begin, const Byte* end, const KeyColumns& wanted, Scratch& scratch, FieldWriter& out,
                     KeyTally& tally) const;

 private:
  const Byte* ScanQuotedRow(const Byte* p, const Byte* end, Mode& mode) const;
  const Byte* RowEnd(const Byte* p, const Byte* end) const;
  /// Returns the end of the unquoted field at `p`: a delimiter, a newline, or `end`. Sets `escaped` to the byte after
  /// the last escaped byte of the field, or to null if no byte is escaped.
  const Byte* FieldEnd(const Byte* p, const Byte* end, const Byte*& escaped) const;
  /// ReadField and ReadQuoted read the field at `p` and return its end. `field` may refer to `scratch`.
  const Byte* ReadField(const Byte* begin, const Byte* p, const Byte* end, Field& field, std::string& scratch) const;
  const Byte* ReadQuoted(const Byte* p, const Byte* end, Field& field, std::string& scratch) const;
  const Byte* SkipField(const Byte* p, const Byte* end, std::string& scratch) const;
  bool IsNullField(std::string_view raw) const;
  /// Appends the meaning of an escape sequence to `text`. Moves `p` from after the backslash to after the sequence.
  void TakeEscaped(const Byte*& p, const Byte* end, std::string& text) const;

  const bool postgres_;
  const unsigned char delimiter_, escape_;
  const int quote_;  ///< -1: fields have no quotes
};

}  // namespace gpusort

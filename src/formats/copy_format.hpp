// Tables as databases write them in text: PostgreSQL's COPY (pgcopy), and SELECT INTO OUTFILE and mysqldump --tab of
// MySQL and MariaDB (mysql). A delimiter stands between columns. A backslash gives the next byte another meaning, so
// that a newline after a backslash ends no record. A field \N is null, and an empty field is an empty text. In pgcopy a
// line \. ends the data and is the output's trailer. In mysql fields may be in quotes. With --header the records on top
// have the names of columns, as COPY WITH (HEADER) writes them. A CR before the newline of a record is part of no
// field. Start at Scan and PutKeys. Dumps also use ScanRows and PutRow.
#pragma once

#include <string>

#include "formats/key_columns.hpp"
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

  std::unique_ptr<KeyEncoder> MakeEncoder() const override { return std::make_unique<TableEncoder<CopyFormat>>(*this); }

 protected:
  friend class TableEncoder<CopyFormat>;
  using Scratch = FieldScratch;
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const;

  /// The meaning of the byte that was read last. With quotes there are quoted modes, and kStart is also the front of a
  /// field.
  enum Mode : unsigned {
    kStart,
    kPlain,
    kEscape,
    kStartEscape,  ///< a backslash is the first byte of a record
    kDot,          ///< the record is \. so far
    kDotReturn,    ///< and a CR
    kEnded,        ///< the line that ends the data
    kQuoted,
    kQuotedEscape,
    kQuote,  ///< what may be the closing quote
    kQuoteReturn,
  };
  /// The ends of the first and the last record; null: no record ends.
  struct RowEnds {
    const Byte* first = nullptr;
    const Byte* last = nullptr;
  };
  /// Goes over rows in `mode` up to `end`, or up to the end of the line that ends the data (kEnded).
  const Byte* ScanRows(const Byte* p, const Byte* end, Mode& mode, RowEnds& ends) const;
  /// Puts the keys of the row at `begin`: those that are wanted, or if there are none, every column by PutWhole.
  /// Returns its end.
  const Byte* PutRow(const Byte* begin, const Byte* end, const KeyColumns& wanted, Scratch& scratch, FieldWriter& out,
                     KeyTally& tally) const;

 private:
  const Byte* ScanQuotedRow(const Byte* p, const Byte* end, Mode& mode) const;
  const Byte* RowEnd(const Byte* p, const Byte* end) const;
  /// Returns the end of the plain field at `p`: a delimiter, a newline, or `end`. Sets `escaped` to the byte after the
  /// last escaped byte, or to null if no byte is escaped.
  const Byte* FieldEnd(const Byte* p, const Byte* end, const Byte*& escaped) const;
  /// ReadField and ReadQuoted read the field at `p` and return its end. `scratch` may hold the text of the field.
  const Byte* ReadField(const Byte* begin, const Byte* p, const Byte* end, Field& field, std::string& scratch) const;
  const Byte* ReadQuoted(const Byte* p, const Byte* end, Field& field, std::string& scratch) const;
  const Byte* SkipField(const Byte* p, const Byte* end, std::string& scratch) const;
  bool IsNullField(std::string_view raw) const;
  /// Appends what an escape and the bytes at `p` stand for, and takes them.
  void TakeEscaped(const Byte*& p, const Byte* end, std::string& text) const;

  const bool postgres_;
  const unsigned char delimiter_, escape_;
  const int quote_;  ///< -1: none
  KeyColumns wanted_;
};

}  // namespace gpusort

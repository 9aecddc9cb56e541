// The text formats in which databases write tables. Start at Scan and PutKeys.
// - pgcopy: the COPY of PostgreSQL. A line \. ends the data, and is also the last line of the output.
// - mysql: SELECT INTO OUTFILE and mysqldump --tab of MySQL and MariaDB. Fields may be in quotes.
// - A backslash changes the meaning of the next byte. A newline after a backslash ends no record.
// - A field \N is null, and an empty field is an empty string. A CR before the newline of a record belongs to no field.
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
  Guess LookAhead(RecordSpan block) const override;
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override;
  bool has_trailer() const override { return true; }
  unsigned modes() const override { return kQuoteReturn + 1; }
  std::string WhyOpen(const ScanState& state) const override;

 protected:
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;

  /// The state of the parser that searches for the ends of records. kStart is the state at the beginning of a record.
  /// If fields may be in quotes, kStart is also the state at the beginning of each field.
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
  /// Adds the ends of the records in [p, end) to `ends`, as offsets from `begin`. Returns `end`, or the end of the line
  /// with \. that ends the data. `mode` is the state of the parser at `p`, and after the call at the returned pointer.
  const Byte* ScanRows(const Byte* begin, const Byte* p, const Byte* end, Mode& mode, Ends& ends) const;
  /// Returns the end of the record that contains the byte at `p`. A field of the record must begin at `p`.
  const Byte* RecordEnd(const Byte* p, const Byte* end) const;
  /// Sets `field` to the value of the field that begins at `p`. Returns the end of the field: a pointer to a delimiter
  /// or a newline, or `end`.
  /// - `begin` is the beginning of the record, from which the offset of the field is counted.
  /// - If the field has escapes, the decoded field lies in `scratch`.
  const Byte* ReadField(const Byte* begin, const Byte* p, const Byte* end, Field& field, std::string& scratch) const;
  /// Returns the end of the field that begins at `p`: a pointer to a delimiter or a newline, or `end`. The function
  /// uses `scratch` as a buffer.
  const Byte* SkipField(const Byte* p, const Byte* end, std::string& scratch) const;

 private:
  const Byte* ScanQuotedRow(const Byte* p, const Byte* end, Mode& mode) const;
  /// Returns the end of the unquoted field that begins at `p`: a pointer to a delimiter or newline, or `end`. Sets
  /// `escaped` to the byte after the last escape sequence in the field, or to null.
  const Byte* FieldEnd(const Byte* p, const Byte* end, const Byte*& escaped) const;
  /// Sets `field` to the value of the quoted field that begins at `p`, and returns the end of the field. The decoded
  /// text of the field can lie in `scratch`.
  const Byte* ReadQuoted(const Byte* p, const Byte* end, Field& field, std::string& scratch) const;
  bool IsNullField(std::string_view raw) const;
  /// Decodes one escape sequence, such as \t, and appends the result to `text`. On entry, `p` must point to the byte
  /// after the backslash. On return, it points to the byte after the sequence.
  void TakeEscaped(const Byte*& p, const Byte* end, std::string& text) const;

  const bool postgres_;
  const unsigned char delimiter_, escape_;
  const int quote_;  ///< -1: fields have no quotes
};

}  // namespace gpusort

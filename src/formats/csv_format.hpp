// The format of CSV and TSV: RFC 4180 with any one-byte delimiter and quote. TSV has no quotes unless --quote names
// one. A quote character in the middle of a field is ordinary text. Text after a closing quote belongs to the field.
// Comment lines before a record move with the record. Comments after the last record stay at the end of the output.
#pragma once

#include "formats/table_format.hpp"

namespace gpusort {

class CsvFormat : public TableFormat {
 public:
  explicit CsvFormat(const JobSpec& spec);

  std::uint64_t header_lines() const override { return table_.comment < 0 ? table_.header : 0; }
  bool has_header() const override { return true; }  // an input may begin with a byte order mark
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override;
  void ReadHeader(RecordSpan header) override;
  /// Returns the line end that must be added to an input whose last line has none: CR LF if the header ends with CR LF,
  /// otherwise a newline. Returns an empty text if the last line is complete.
  std::string Ending(RecordSpan header, RecordSpan tail) const override;
  /// Returns the column names: the fields of the last record in `header`, or none if `header` is empty.
  std::vector<std::string> NamesOf(RecordSpan header) const;
  Ends Scan(RecordSpan bytes, ScanState& state) const override;
  Guess LookAhead(RecordSpan block) const override;
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override;
  bool has_trailer() const override { return comment_ >= 0; }
  bool joins_trailers() const override { return true; }
  unsigned modes() const override { return quote_ < 0 && comment_ < 0 ? 1 : kComment + 1; }
  std::string WhyOpen(const ScanState& state) const override;

 protected:
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;

 private:
  enum Mode : unsigned { kRecord, kField, kPlain, kQuoted, kQuote, kEscape, kComment };

  /// Finds the end of the record that contains the byte at `p`. `mode` is the parser's state at `p`, and is replaced by
  /// the state at the returned place. If the record ends in [p, end), sets `ended` to true and returns the end of the
  /// record. Otherwise returns `end`.
  const Byte* RecordEnd(const Byte* p, const Byte* end, Mode& mode, bool& ended) const;
  /// Returns true if the fast search by vector instructions (CsvMarks) can find the ends of fields and records. It
  /// cannot do this if the format has an escape byte.
  bool marks() const { return escape_ < 0; }
  /// Returns a pointer to the first quote or escape byte in [p, end), or `end` if there is none.
  const Byte* FindQuote(const Byte* p, const Byte* end) const;
  /// Returns the end of the comment lines that begin at `p`.
  const Byte* SkipComments(const Byte* p, const Byte* end) const;
  /// The text between the closing quote of a field and the next delimiter, as `xyz` in "abc"xyz.
  struct Trailing {
    const Byte* text = nullptr;  ///< null: there is no text after the closing quote
    bool newlines = false;       ///< true: the quoted part of the field contains newlines
  };
  /// Returns the end of the field that begins at `p`: a pointer to the delimiter, or to the end of the line. Sets
  /// `trailing` to the text after the closing quote of the field.
  const Byte* SkipField(const Byte* p, const Byte* end, Trailing& trailing) const;
  /// Checks the number of columns of a record. If the record has more or fewer columns than the header, counts the
  /// record in `tally`; with --strict, throws BadRecord.
  void CheckWidth(std::uint64_t width, KeyTally& tally) const {
    if (width != width_ && width_ != 0) NoteWidth(width, tally);
  }
  void NoteWidth(std::uint64_t width, KeyTally& tally) const;
  /// Sets `field` to the text [p, stop), which is not quoted. The record begins at `begin`, from which error messages
  /// count the place of the field. The buffer ends at `end`.
  void SetPlain(const Byte* begin, const Byte* p, const Byte* stop, const Byte* end, Field& field) const;
  /// Sets `field` to the value of the field that begins at `p`, in the record that begins at `begin`. Returns the end
  /// of the field: a pointer to the delimiter, or to the end of the line. If the text must be decoded, for example
  /// "a""b", `field` refers to the decoded text in `scratch`.
  const Byte* ReadField(const Byte* begin, const Byte* p, const Byte* end, Field& field, std::string& scratch,
                        Trailing& trailing) const;

  const unsigned char delimiter_;
  const int quote_, escape_, comment_;
  std::uint64_t width_ = 0;  ///< number of columns in the header; 0: there is no header
};

}  // namespace gpusort

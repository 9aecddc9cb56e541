// CSV and TSV: RFC 4180 with any one-byte delimiter and quote. TSV has no quotes unless --quote names one. A quote
// opens quotes only at the front of a field, and text after a closing quote is kept. Lines that begin with the comment
// byte stay with the record that follows. Comments after the last record stay at the end of the output.
#pragma once

#include "formats/csv_marks.hpp"
#include "formats/table_format.hpp"

namespace gpusort {

class CsvFormat : public TableFormat {
 public:
  explicit CsvFormat(const JobSpec& spec);

  std::uint64_t header_lines() const override { return table_.comment < 0 ? table_.header : 0; }
  bool has_header() const override { return true; }  // or at least a byte order mark
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override;
  void ReadHeader(RecordSpan header) override;
  /// Returns the names of the columns, from the last record of the header. Empty: the header is empty.
  std::vector<std::string> NamesOf(RecordSpan header) const;
  Ends Scan(RecordSpan bytes, ScanState& state) const override;
  Guess LookAhead(RecordSpan block) const override;
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override;
  bool joins_trailers() const override { return true; }
  unsigned modes() const override { return quote_ < 0 && comment_ < 0 ? 1 : kComment + 1; }
  std::string WhyOpen(const ScanState& state) const override;

  std::unique_ptr<KeyEncoder> MakeEncoder() const override { return std::make_unique<TableEncoder<CsvFormat>>(*this); }

 protected:
  friend class TableEncoder<CsvFormat>;
  bool EndsInReturns(RecordSpan header) const override;
  using Scratch = FieldScratch;
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const;

 private:
  enum Mode : unsigned { kRecord, kField, kPlain, kQuoted, kQuote, kEscape, kComment };
  struct Column {
    const Byte *begin, *end;  ///< quotes are in it
  };

  /// Walks on in `mode` from `p`. Returns the end of the record and sets `ended`. Returns `end` if the record goes on,
  /// and `mode` is the mode there.
  const Byte* RecordEnd(const Byte* p, const Byte* end, Mode& mode, bool& ended) const;
  /// Whether CsvMarks tell where records and fields end, unless there are comments.
  bool marks() const { return escape_ < 0; }
  Mode ModeBehind(Byte byte, const CsvMarks::State& marked) const;
  /// Finds the columns that are keys in the record at `p`, in the order of by_column_, and counts all columns in
  /// `width`. Returns the end of the record; null if that takes a walk byte by byte.
  const Byte* Split(const Byte* p, const Byte* end, Column* columns, std::size_t& found, std::uint64_t& width) const {
    return CsvMarks::HasAvx2() ? SplitByAvx2(p, end, columns, found, width)
                               : SplitBy<false>(p, end, columns, found, width);
  }
  template <bool kAvx2>
  const Byte* SplitBy(const Byte* p, const Byte* end, Column* columns, std::size_t& found, std::uint64_t& width) const;
  GPUSORT_AVX2 const Byte* SplitByAvx2(const Byte* p, const Byte* end, Column* columns, std::size_t& found,
                                       std::uint64_t& width) const;
  /// Puts the keys that PutKeys would put, for a record that Split() has split.
  void PutColumns(const Byte* begin, const Byte* end, const Column* columns, std::size_t found, std::string& text,
                  FieldWriter& out, KeyTally& tally) const;
  /// Returns the end of the comments at `p`.
  const Byte* SkipComments(const Byte* p, const Byte* end) const;
  /// A field in quotes that has text after its closing quote.
  struct Trailing {
    const Byte* text = nullptr;  ///< null: there is none
    bool newlines = false;       ///< there are newlines in the quotes
  };
  /// Returns the end of the field at `p`: a delimiter, or the end of its line.
  const Byte* SkipField(const Byte* p, const Byte* end, Trailing& trailing) const;
  /// Counts a record with another number of columns than the header. Throws BadRecord with --strict.
  void CheckWidth(std::uint64_t width, KeyTally& tally) const {
    if (width != width_ && width_ != 0) NoteWidth(width, tally);
  }
  void NoteWidth(std::uint64_t width, KeyTally& tally) const;
  void OrderColumns();
  /// The field without quotes from `p` to `stop`.
  void SetPlain(const Byte* begin, const Byte* p, const Byte* stop, const Byte* end, Field& field) const;
  /// Reads the field at `p` of the record at `begin`. Returns its end: a delimiter, or the end of its line. `scratch`
  /// may hold its text.
  const Byte* ReadField(const Byte* begin, const Byte* p, const Byte* end, Field& field, std::string& scratch,
                        Trailing& trailing) const;

  const unsigned char delimiter_;
  const int quote_, escape_, comment_;
  std::vector<std::size_t> by_column_;  ///< keys in the order of their columns
  std::vector<std::size_t> places_;     ///< of keys, in by_column_
  std::uint64_t width_ = 0;             ///< columns of the header; 0: there is none
};

}  // namespace gpusort

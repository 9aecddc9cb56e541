// The format of PostgreSQL's COPY ... BINARY: a header, tuples, and a trailer of two bytes. A tuple is the number of
// its fields, and the length and bytes of each field. Values sort as in the text formats. The type of a key must match
// the column's type: int for int2, int4 and int8, float for float4 and float8, decimal for numeric. A key of type
// bytes-hex or of a text type can read any column. The file does not name the columns' types, and an int8 can look like
// a numeric. A key of an int8 column therefore needs the type int. All tuples of all inputs must have the same number
// of fields. Start at Scan.
#pragma once

#include <string>

#include "formats/table_format.hpp"

namespace gpusort {

class PgCopyBinaryFormat : public TableFormat {
 public:
  using TableFormat::TableFormat;

  bool newlines() const override { return false; }
  std::string Ending(RecordSpan, RecordSpan) const override { return {}; }
  bool has_header() const override { return true; }
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override;
  void ReadHeader(RecordSpan header) override;
  Ends Scan(RecordSpan bytes, ScanState& state) const override;
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override;
  ScanState NextInput(const ScanState& end) const override;
  bool has_trailer() const override { return true; }
  unsigned modes() const override { return 0; }

 protected:
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;
  bool PutValue(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally) const override;

 private:
  /// The number of fields of a row before its first column: 1 if the header says that rows have OIDs, otherwise 0.
  unsigned oids_ = 0;
};

}  // namespace gpusort

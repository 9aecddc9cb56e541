// PostgreSQL's COPY ... BINARY: a header, tuples, and a trailer of two bytes. A tuple is a count of fields, and for
// each field its length and its bytes. Keys read values as the server sends them and order them as their texts: int
// reads int2, int4 and int8, float reads float4 and float8, decimal reads numeric, and bytes-hex and the types of text
// read any bytes. A column of int8 needs the type int, because an int8 may look like a numeric. All tuples of all
// inputs must have as many fields as the first tuple. Start at Scan.
#pragma once

#include <string>

#include "formats/key_columns.hpp"
#include "formats/table_format.hpp"

namespace gpusort {

class PgCopyBinaryFormat : public TableFormat {
 public:
  explicit PgCopyBinaryFormat(const JobSpec& spec);

  bool newlines() const override { return false; }
  std::string Ending(RecordSpan, RecordSpan) const override { return {}; }
  bool has_header() const override { return true; }
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override;
  void ReadHeader(RecordSpan header) override;
  Ends Scan(RecordSpan bytes, ScanState& state) const override;
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override;
  ScanState NextInput(const ScanState& end) const override;
  unsigned modes() const override { return 0; }

  std::unique_ptr<KeyEncoder> MakeEncoder() const override {
    return std::make_unique<TableEncoder<PgCopyBinaryFormat>>(*this);
  }

 protected:
  friend class TableEncoder<PgCopyBinaryFormat>;
  using Scratch = FieldScratch;
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const;
  bool PutValue(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally) const override;

 private:
  const KeyColumns wanted_;
  unsigned oids_ = 0;  ///< fields before the columns that the counts leave out: 1 if the tables had OIDs
};

}  // namespace gpusort

// PostgreSQL's COPY ... BINARY: a header, tuples (a count of fields, then of each its length and its bytes), and a
// trailer of two bytes. Keys read values as the servers' types send them and order them as their texts: int reads int2,
// int4 and int8, float float4 and float8, decimal only numeric (an int8 may look like one, so it is int that such a
// column needs), bytes-hex and the types of text any bytes. All tuples of all inputs have as many fields as the first.
// Start at Scan.
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

  std::unique_ptr<KeyEncoder> MakeEncoder() const override { return std::make_unique<TableEncoder<PgCopyBinaryFormat>>(*this); }

 protected:
  friend class TableEncoder<PgCopyBinaryFormat>;
  using Scratch = FieldScratch;
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const;
  bool PutValue(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally) const override;

 private:
  const KeyColumns wanted_;
  unsigned oids_ = 0;  ///< fields in front of the columns that the counts leave out: 1 if the tables had OIDs
};

}  // namespace gpusort

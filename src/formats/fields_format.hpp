// Lines whose keys are typed fields and matches of regular expressions. Start at FieldsFormat.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "formats/table_format.hpp"

namespace gpusort {

/// The format of plain lines with typed keys. A carriage return at the end of a line belongs to no field.
class FieldsFormat : public TableFormat {
 public:
  /// Throws Error(kUsage) if a regular expression is invalid.
  explicit FieldsFormat(const JobSpec& spec);

  bool has_header() const override { return lines_.has_header(); }
  bool counts_header() const override { return lines_.counts_header(); }
  bool ends_header(RecordSpan header) const override { return lines_.ends_header(header); }
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override {
    return lines_.HeaderBytes(front, all);
  }
  std::string Ending(RecordSpan header, RecordSpan tail) const override { return lines_.Ending(header, tail); }
  Ends Scan(RecordSpan bytes, ScanState& state) const override { return lines_.Scan(bytes, state); }

 private:
  struct TextScratch;
  std::unique_ptr<Scratch> MakeScratch() const override;
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;

  const unsigned char delimiter_;
  const PlainFormat lines_;
};

/// Returns a text that is appended to the error message about a key for which no record has a value. `key` is
/// ColumnKey::column: the text of the key. `record` is one of the records.
std::string LineHint(const std::string& key, const std::string& record);

}  // namespace gpusort

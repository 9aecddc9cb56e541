// Lines that are sorted by keys with a type. Such a key is a field (-k 3:int) or the match of a regular expression (-k
// ~RE:decimal). Start at FieldsFormat.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "formats/table_format.hpp"

namespace gpusort {

/// The format of plain lines that are sorted by keys with a type, such as -k 3:int. A carriage return at the end of a
/// line belongs to no field.
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

/// Returns advice that is appended to the error "no record has a value for this key". `key` is the key as the user
/// typed it, without its type. `record` is an example of a record.
std::string LineHint(const std::string& key, const std::string& record);

}  // namespace gpusort

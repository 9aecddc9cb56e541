// The format of JSON Lines: each line is one JSON value, and a key is a path to a value inside it.
#pragma once

#include "formats/json_record.hpp"
#include "formats/table_format.hpp"

namespace gpusort {

class JsonFormat : public TableFormat {
 public:
  explicit JsonFormat(const JobSpec& spec);

  bool has_header() const override { return true; }  // an input may begin with a byte order mark
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override;
  Ends Scan(RecordSpan bytes, ScanState& state) const override;

 private:
  struct JsonScratch;
  std::unique_ptr<Scratch> MakeScratch() const override;
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;

  std::vector<JsonPath> paths_;
};

/// Returns advice that is appended to the error "no record has the path of this key". The advice lists the paths that
/// `record`, an example of a record, has. The paths most similar to `path` come first.
std::string PathHint(const std::string& path, const std::string& record);

}  // namespace gpusort

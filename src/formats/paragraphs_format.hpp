// Records of several lines with blank lines between them, as in Debian's control files (deb822: Packages, Sources,
// /var/lib/dpkg/status) and the history of apt. A line "Name: value" is a field, and lines that begin with a blank or a
// tab continue its value. Names are the same in any case. A line that begins with # is a comment. A blank line is empty
// or has a CR alone. A record keeps the blank lines after it, and the comments before its first line. An input that does
// not end with a blank line gets one, so that no record can be joined to another. Start at Scan and PutKeys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/table_format.hpp"

namespace gpusort {

class ParagraphsFormat : public TableFormat {
 public:
  /// Throws Error(kUsage) if a key is a number.
  explicit ParagraphsFormat(const JobSpec& spec);

  bool has_header() const override { return true; }
  /// The header is a byte order mark and blank lines. The headers of inputs may differ.
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override;
  RecordSpan HeaderText(RecordSpan) const override { return {}; }
  std::string Ending(RecordSpan header, RecordSpan tail) const override;
  Ends Scan(RecordSpan bytes, ScanState& state) const override;
  bool ends_in(const ScanState& state) const override { return state.mode == kBlank; }
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override;
  bool joins_trailers() const override { return true; }
  unsigned modes() const override { return kBlankReturn + 1; }
  std::string WhyOpen(const ScanState&) const override { return "no blank line ends this record"; }
  std::unique_ptr<KeyEncoder> MakeEncoder() const override {
    return std::make_unique<TableEncoder<ParagraphsFormat>>(*this);
  }

 private:
  friend class TableEncoder<ParagraphsFormat>;
  /// The place of a byte. The first three are before the first line of a record.
  enum Mode : unsigned {
    kFront,         ///< at the beginning of a line
    kFrontReturn,   ///< after a CR at the beginning of a line
    kFrontComment,  ///< in a comment
    kLine,          ///< in a line of the record
    kStart,         ///< at the beginning of a line after a line of the record
    kReturn,        ///< after a CR there
    kBlank,         ///< at the beginning of a line after a blank line: the record ends here, or another blank line follows
    kBlankReturn,   ///< after a CR there
  };
  using Scratch = FieldScratch;
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const;
  /// Walks on in `mode` from `p`. Returns the end of the record, with kFront, or `end`. Throws BadRecord.
  static const Byte* Walk(const Byte* begin, const Byte* p, const Byte* end, Mode& mode);
  /// Finds the values of fields_ in a record. Names that occur twice are counted as KeyTally::glued.
  void FindFields(const Byte* begin, const Byte* end, Scratch& scratch, KeyTally& tally) const;

  std::vector<std::string> fields_;        ///< the different names that are keys, in lower case
  std::vector<std::size_t> field_of_key_;  ///< the place of each key's name in fields_
};

/// Returns a hint for the message that no record has the field `name`: the names in `record`, the most similar first.
std::string FieldHint(const std::string& name, const std::string& record);

}  // namespace gpusort

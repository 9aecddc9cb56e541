// The format of records with several lines, separated by blank lines, as in Debian's control files (deb822: Packages,
// /var/lib/dpkg/status) and the history of apt. A line "Name: value" is a field. Lines that begin with a blank or a tab
// continue the value. Upper and lower case letters of a name are equal. Lines that begin with # are comments. A blank
// line is empty or a single CR. Comments before a record and blank lines after it belong to the record. If an input
// does not end with a blank line, one is added, so that records of two inputs stay apart. Start at Scan and PutKeys.
#pragma once

#include <string>
#include <vector>

#include "formats/table_format.hpp"

namespace gpusort {

class ParagraphsFormat : public TableFormat {
 public:
  /// Throws Error(kUsage) if a key names its column by number.
  explicit ParagraphsFormat(const JobSpec& spec);

  bool has_header() const override { return true; }
  /// The header of an input is the byte order mark and the blank lines at its beginning. Inputs may have different
  /// headers.
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override;
  RecordSpan HeaderText(RecordSpan) const override { return {}; }
  std::string Ending(RecordSpan header, RecordSpan tail) const override;
  Ends Scan(RecordSpan bytes, ScanState& state) const override;
  bool ends_in(const ScanState& state) const override { return state.mode == kBlank; }
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override;
  bool has_trailer() const override { return true; }
  bool joins_trailers() const override { return true; }
  unsigned modes() const override { return kBlankReturn + 1; }
  std::string WhyOpen(const ScanState&) const override { return "no blank line ends this record"; }

 private:
  /// The state of the parser that searches for the ends of records. A record is a paragraph. In the first three modes,
  /// no line of the record was read yet except comments.
  enum Mode : unsigned {
    kFront,         ///< at the beginning of a line
    kFrontReturn,   ///< after a CR at the beginning of a line
    kFrontComment,  ///< in a comment
    kLine,          ///< in a line of the record
    kStart,         ///< at the beginning of a line after a line of the record
    kReturn,        ///< after a CR in the mode kStart
    /// At the beginning of a line after a blank line. The record ends before this line, unless this line is blank too.
    kBlank,
    kBlankReturn,  ///< after a CR in the mode kBlank
  };
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;
  /// Finds the end of the record that contains the byte at `p`. `mode` is the parser's state at `p`, and is replaced by
  /// the state at the returned place. Returns the end of the record, and sets `mode` to kFront. If the record does not
  /// end in [p, end), returns `end`. Throws BadRecord.
  static const Byte* Walk(const Byte* begin, const Byte* p, const Byte* end, Mode& mode);
  /// Finds the values of the fields that the job sorts by (fields_) in the record [begin, end), and stores them in
  /// `scratch`. If a field name occurs twice, counts the record in KeyTally::glued, because an empty line between two
  /// records may be missing.
  void FindFields(const Byte* begin, const Byte* end, Scratch& scratch, KeyTally& tally) const;

  std::vector<std::string> fields_;        ///< the names of all fields that are keys, in lower case, without repetition
  std::vector<std::size_t> field_of_key_;  ///< for each key: the index of its name in fields_
};

/// Returns advice that is appended to the error "no record has the field of this key". The advice lists the field names
/// in `record`, an example of a record. The names most similar to `name` come first.
std::string FieldHint(const std::string& name, const std::string& record);

}  // namespace gpusort

// Puts the texts between the rows of a sorted SQL dump back to their places. In an INSERT statement with several rows,
// the text between two rows (such as the end of one statement and the beginning of the next) belongs to a place in the
// dump, and not to a row. Most rows are followed by the same text, the separator (","), which moves with the row. Any
// other text between two rows is a gap.
//
// A gap is sorted like a record, and comes before all rows of its part of the dump, such as the rows of one table. Its
// sort key contains the number of the part, the number of the row before the gap, and the separator. GapFiller reads
// the sorted records, removes the gaps, and inserts each gap again after the same number of rows as in the input. The
// output keeps its size: a row before a gap loses its separator, and a row that had no separator gets one. Start at
// GapFiller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/records/record.hpp"

namespace gpusort {

/// Sorted records of an SQL dump without their sort keys, and a description of the rows and gaps among them. A gap is
/// text between two rows that is not the usual separator, such as the end of an INSERT statement.
struct StrippedRecords {
  struct Gap {
    std::string key;   ///< the first field of the gap's sort key, without escapes
    std::string text;  ///< the gap, which is text between two rows
  };
  /// Neighbouring records of the same kind, such as rows.
  struct Run {
    enum Is : std::uint8_t { kOther, kGaps, kRows, kStatements } is = kOther;
    /// Only for kStatements: true if the records have the bit kOddPart in the byte of flags before their sort keys.
    /// Statements of neighbouring parts of the dump (ranges that are sorted separately) differ in this bit, so that the
    /// border between the parts can be seen.
    bool odd = false;
    std::uint64_t count = 0;  ///< the number of gaps, rows or statements
    std::uint32_t begin = 0;  ///< the offset of the first row or statement in the bytes
  };
  std::vector<Run> runs;
  std::vector<Gap> gaps;
  std::vector<std::uint32_t> row_ends;   ///< the offset of the end of each row and statement in the bytes
  std::vector<std::uint64_t> bare_rows;  ///< the rows that are not followed by the separator, as indices of `row_ends`
};

/// Removes the sort keys and the gaps (texts between rows of an SQL dump) from `records`, which must be whole records.
/// Works in place. Returns the beginning of the span, which contains the remaining rows and statements. `stripped` gets
/// the removed gaps and the places of the rows.
std::span<std::byte> StripGaps(std::span<std::byte> records, const RecordLayout& layout, StrippedRecords& stripped);

/// A change to a sequence of bytes: the `removed` bytes before `offset` are left out, and `text` is inserted at
/// `offset`.
struct GapEdit {
  std::uint64_t offset = 0;
  std::uint32_t removed = 0;
  const std::string* text = nullptr;  ///< null: nothing is inserted
};

/// Reads the sorted records of an SQL dump in order, and tells where gaps (texts between two rows) must be inserted.
/// Only one thread at a time may call the functions.
class GapFiller {
 public:
  /// `most_bytes` is the limit on the memory of this object in bytes. The memory holds the places of the gaps (texts
  /// between rows) in one part of the dump, such as the rows of one table, and each different text once.
  explicit GapFiller(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  /// Returns the changes to the bytes that `records` describes: where a separator is removed or added, and where a gap
  /// (text between two rows) is inserted. Call this in the order of the output. The texts in the result are valid as
  /// long as this object. Throws Error(kUsage) if the gaps take more memory than allowed.
  std::vector<GapEdit> Take(const StrippedRecords& records);
  /// Ends the last part of the dump. Call this after the last records. Throws Error(kInternal) if some gap (text
  /// between two rows) was not inserted.
  void Finish() { EndPart(); }

 private:
  void AddGap(const StrippedRecords::Gap& gap);
  void EndPart();
  /// Begins to read the rows of the current part of the dump. Call this before its first row. All gaps of the part
  /// (texts between rows) were read before, because they are sorted before its rows.
  void BeginRows();
  /// Adds the changes to one row or one statement with a single row, the bytes [begin, end), to `edits`. Used for a
  /// part of the dump that begins with INSERT statements of one row each, before statements with several rows. Sorting
  /// may move a row of a longer statement to the place of such a short statement. The row then gets the text of a
  /// statement around it ("INSERT INTO ... VALUES" and ";"). A short statement that moves to the place of a row loses
  /// this text. Also adds and removes separators, and inserts gaps. `bare` is true for a row without a separator after
  /// it.
  void TakeMixed(std::uint32_t begin, std::uint32_t end, bool statement, bool bare, std::vector<GapEdit>& edits);
  /// Reads the next gap (text between two rows) of this part of the dump into `next_at_` and `next_text_`.
  void ReadGap();
  std::uint32_t TextNumber(std::string text);

  const std::uint64_t most_bytes_;
  std::deque<std::string> texts_;  ///< all different gaps (texts between rows) and separators
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::uint64_t text_bytes_ = 0;

  // The following members describe the current part of the dump, such as the rows of one table.
  bool reading_ = false;  ///< true: a row of the part was read
  const std::string* separator_ = nullptr;
  /// True if the records of the current part (a range that is sorted separately) have the bit kOddPart in the byte of
  /// flags before their sort keys. Neighbouring parts differ in this bit, so that the border between them can be seen.
  bool odd_ = false;
  std::uint64_t singles_ = 0;          ///< the number of statements with one row, which come first in the part
  const std::string* head_ = nullptr;  ///< the text before the row of a statement with one row
  const std::string* tail_ = nullptr;  ///< the text after the row of a statement with one row
  /// The gaps in compact form. For each gap: the number of rows since the gap before it, and the index of its text in
  /// `texts_`.
  std::string encoded_;
  std::size_t read_ = 0;       ///< how many bytes of `encoded_` were read
  std::uint64_t last_at_ = 0;  ///< the last gap in `encoded_` comes after the row with this number
  bool pending_ = false;       ///< true: `pending_at_` and `pending_text_` are a gap that is not in `encoded_` yet
  std::uint64_t pending_at_ = 0;
  std::string pending_text_;
  std::uint64_t next_at_ = 0;  ///< the number of the row before the next gap, or kNone
  std::uint32_t next_text_ = 0;
  std::uint64_t read_at_ = 0;  ///< the number of the row before the gap that was read last
  std::uint64_t row_ = 0;      ///< the number of rows so far
  std::int64_t balance_ = 0;   ///< the number of separators that were added, minus the number that were removed
  /// The number of statement heads ("INSERT INTO ...") that were inserted into the current part of the dump, minus the
  /// number that were removed from it. At the end of the part this must be 0, because heads are only moved.
  std::int64_t statements_ = 0;
};

}  // namespace gpusort

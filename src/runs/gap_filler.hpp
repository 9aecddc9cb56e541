// Puts the texts between the rows of a sorted SQL dump back to their places. Most rows are followed by the same text,
// the separator (","), which belongs to its row and moves with it. Any other text between two rows is a gap, such as
// the end of one INSERT statement and the beginning of the next. A gap belongs to a place in the dump, and not to a
// row.
//
// The dump consists of parts that are sorted separately, such as the rows of one table. A gap is sorted like a record,
// and comes before all rows of its part. The sort key of a gap contains the number of the part, the index of the row
// before the gap, and the separator. GapFiller reads the sorted records, removes the gaps, and inserts each gap again
// after the same number of rows as in the input. The output keeps its size: a row that comes before a gap loses its
// separator, and a row that had no separator gets one. Start at GapFiller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/records/record.hpp"
#include "runs/gap_list.hpp"

namespace gpusort {

/// The result of StripGaps(): a description of the rows and gaps in sorted records of an SQL dump. The usual text
/// between two rows is a separator (","). Any other text between two rows is a gap, such as the end of an INSERT
/// statement and the beginning of the next.
struct StrippedRecords {
  struct Gap {
    std::string key;   ///< the first field of the gap's sort key, without escapes
    std::string text;  ///< the text of the gap
  };
  /// Neighbouring records of the same kind, such as rows.
  struct Run {
    enum Is : std::uint8_t { kOther, kGaps, kRows, kStatements } is = kOther;
    /// Used only if `is` is kStatements: the bit kOddPart of the records. The bit changes from each part of the dump to
    /// the next.
    bool odd = false;
    std::uint64_t count = 0;  ///< the number of gaps, rows or statements
    std::uint32_t begin = 0;  ///< the offset of the first row or statement, in the result of StripGaps()
  };
  std::vector<Run> runs;
  std::vector<Gap> gaps;
  /// The offset of the end of each row and statement, in the result of StripGaps().
  std::vector<std::uint32_t> row_ends;
  std::vector<std::uint64_t> bare_rows;  ///< the rows without a separator after them, as indices of `row_ends`
};

/// Removes the sort keys and the gaps (texts between rows of an SQL dump) from `records`, which must be whole records.
/// Works in place: the remaining rows and statements are moved to the beginning of `records`, and the function returns
/// this part. `stripped` gets the removed gaps and the places of the rows.
std::span<std::byte> StripGaps(std::span<std::byte> records, const RecordLayout& layout, StrippedRecords& stripped);

/// A change to a sequence of bytes: removes bytes before an offset, and inserts a text at this offset.
struct GapEdit {
  std::uint64_t offset = 0;
  std::uint32_t removed = 0;          ///< the number of bytes to remove before `offset`
  const std::string* text = nullptr;  ///< null: nothing is inserted
};

/// Reads the sorted records of an SQL dump in order, and tells where gaps (texts between two rows) must be inserted.
/// Only one thread at a time may call a function of this object.
class GapFiller {
 public:
  /// `most_bytes` is the memory limit of this object in bytes. If the object reads all sorted records of a dump,
  /// `front` must be empty. If it reads only a range of the records, `front` must be a result of GapFront::Save().
  explicit GapFiller(std::uint64_t most_bytes, const std::string& front = {});

  /// Returns the changes that the caller must make to the rows and statements that `records` describes: separators to
  /// remove or add, and gaps (texts between two rows) to insert. Call this in the order of the output. The texts in the
  /// result are valid as long as this object exists. Throws Error(kUsage) if the gaps take more memory than allowed.
  std::vector<GapEdit> Take(const StrippedRecords& records);
  /// Ends the last part of the dump. Call this after the last Take(). Throws Error(kInternal) if a gap (text between
  /// two rows) was not inserted, unless `front` says that another object handles the last rows of the part.
  void Finish();

 private:
  void AddGap(const StrippedRecords::Gap& gap);
  /// Begins a part of the dump that has gaps.
  void BeginPart(GapList gaps);
  void CheckMemory() const;
  void EndPart();
  /// Begins to read the rows of the current part of the dump. Call this after all gaps (texts between two rows) of the
  /// part were added, and before the first row.
  void BeginRows();
  /// Appends to `edits` the changes to one record, the bytes [begin, end): a row, or an INSERT with one row if
  /// `statement` is true. `bare` is true for a row without a separator after it.
  ///
  /// Used for a part of the dump in which INSERT statements with one row come before statements with several rows.
  /// Sorting may move a row from one kind of statement to the other.
  void TakeMixed(std::uint32_t begin, std::uint32_t end, bool statement, bool bare, std::vector<GapEdit>& edits);
  /// Reads the next gap (text between two rows) of this part of the dump into `next_at_` and `next_text_`.
  void ReadGap();

  const std::uint64_t most_bytes_;
  GapTexts texts_;        ///< all different gaps (texts between rows) and separators
  bool goes_on_ = false;  ///< true: the records end before the last row of a part of the dump

  // The following members describe the current part of the dump, such as the rows of one table.
  std::optional<GapList> gaps_;            ///< the gaps of the part; no value: no gap was read
  std::optional<GapList::Reader> reader_;  ///< set when the first row of the part is read
  /// True: the gaps of this part came from `front`, an argument of the constructor. The same gaps among the records are
  /// ignored.
  bool given_ = false;
  const std::string* separator_ = nullptr;
  const std::string* head_ = nullptr;  ///< the text before the row of a statement with one row
  const std::string* tail_ = nullptr;  ///< the text after the row of a statement with one row
  std::uint64_t next_at_ = 0;          ///< the index of the row before the next gap, or kNone
  std::uint32_t next_text_ = 0;
  std::uint64_t row_ = 0;     ///< the number of rows so far
  std::int64_t balance_ = 0;  ///< the number of added separators minus the number of removed separators
  /// The number of statement heads ("INSERT INTO ...") that were inserted into the current part of the dump, minus the
  /// number of heads that were removed from it. At the end of the part this must be 0, because heads are only moved.
  std::int64_t statements_ = 0;
};

}  // namespace gpusort

// Puts the bytes between the rows of an SQL dump back to their places after the rows were sorted. Most rows have a
// separator (",") after them, which moves with its row. Any other bytes between two rows are a gap, which keeps its
// place. Start at GapFiller.
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

/// The result of StripGaps(): a description of the rows and gaps in sorted records of an SQL dump. The usual bytes
/// between two rows are a separator (","). Any other bytes between two rows are a gap, such as the end of an INSERT
/// statement and the beginning of the next.
struct StrippedRecords {
  struct Gap {
    std::string key;   ///< the first field of the gap's sort key, without escapes
    std::string text;  ///< the bytes of the gap
  };
  /// Neighbouring records of the same kind, such as rows.
  struct Run {
    enum Is : std::uint8_t { kOther, kGaps, kRows, kStatements } is = kOther;
    /// Only for statements: true in every second part of the dump. An example of a part is the rows of one table.
    bool odd = false;
    std::uint64_t count = 0;  ///< the number of gaps, rows or statements
    std::uint32_t begin = 0;  ///< the offset of the first row or statement, in the result of StripGaps()
  };
  std::vector<Run> runs;
  std::vector<Gap> gaps;
  /// For each row and statement: the offset of its end in the bytes that StripGaps() returns.
  std::vector<std::uint32_t> row_ends;
  std::vector<std::uint64_t> bare_rows;  ///< the rows without a separator after them, as indices of `row_ends`
};

/// Removes the sort keys and the gaps (bytes between rows) from `records`, which must be whole records. Works in place,
/// and returns the remaining rows and statements. `stripped` describes them and the gaps.
std::span<std::byte> StripGaps(std::span<std::byte> records, const RecordLayout& layout, StrippedRecords& stripped);

/// A change to a sequence of bytes: removes bytes before an offset, and inserts bytes at this offset.
struct GapEdit {
  std::uint64_t offset = 0;
  std::uint32_t removed = 0;          ///< the number of bytes to remove before `offset`
  const std::string* text = nullptr;  ///< null: nothing is inserted
};

/// Reads the sorted records of an SQL dump in order, and tells where gaps (bytes between two rows) must be inserted.
/// Only one thread at a time may call a function of this object.
class GapFiller {
 public:
  /// `most_bytes` is the memory limit in bytes. To read only a range of the records of a dump, pass the result of
  /// GapFront::Save() as `front`.
  explicit GapFiller(std::uint64_t most_bytes, const std::string& front = {});

  /// Returns the changes that the caller must make to the rows in `records`. Call this in the order of the output.
  /// - The strings in the result are valid as long as this object exists.
  /// - Throws Error(kUsage) if the gaps take too much memory.
  std::vector<GapEdit> Take(const StrippedRecords& records);
  /// Call this after the last Take(). Throws Error(kInternal) if a gap (bytes between rows) was not inserted.
  void Finish();

 private:
  void AddGap(const StrippedRecords::Gap& gap);
  /// Begins a part of the dump that has gaps (bytes between two rows).
  void BeginPart(GapList gaps);
  void CheckMemory() const;
  void EndPart();
  /// Begins to read the rows of the current part of the dump. Call this after all gaps (bytes between two rows) of the
  /// part were added, and before the first row.
  void BeginRows();
  void TakeMixed(std::uint32_t begin, std::uint32_t end, bool statement, bool bare, std::vector<GapEdit>& edits);
  /// Reads the next gap (bytes between two rows) of this part of the dump into `next_at_` and `next_text_`.
  void ReadGap();

  const std::uint64_t most_bytes_;
  GapTexts texts_;        ///< all different gaps (bytes between rows) and separators
  bool goes_on_ = false;  ///< true: the records end before the last row of a part of the dump

  // The following members describe the current part of the dump, such as the rows of one table.
  std::optional<GapList> gaps_;            ///< the bytes between the rows; no value: nothing was read
  std::optional<GapList::Reader> reader_;  ///< set when the first row of the part is read
  /// True: the constructor got all gaps (bytes between rows) of this part. AddGap() must not add these gaps again.
  bool given_ = false;
  const std::string* separator_ = nullptr;
  const std::string* head_ = nullptr;  ///< the bytes before the row of a statement with one row
  const std::string* tail_ = nullptr;  ///< the bytes after the row of a statement with one row
  std::uint64_t next_at_ = 0;          ///< the index of the row before the next gap, or kNone
  std::uint32_t next_text_ = 0;
  std::uint64_t row_ = 0;  ///< the number of rows so far
  /// The number of separators (such as commas) that were added, minus the number that were removed.
  std::int64_t balance_ = 0;
  /// The number of added statement heads ("INSERT INTO ...") minus the number of removed heads.
  std::int64_t statements_ = 0;
};

}  // namespace gpusort

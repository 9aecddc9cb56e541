// Puts gaps back between sorted rows. In some formats (INSERT statements with several rows), the text between two rows
// belongs to a place and not to a row. Most rows end with the same text, the separator, which moves with the row. Any
// other text between rows is a gap. A gap is a keyed record and sorts before the rows of its part of the dump. Its key
// has the number of the part, its place among the rows, and the separator. GapFiller reads sorted records and removes
// the gaps. It inserts each gap again after the same number of rows as in the input. The output keeps its size: a row
// before a gap loses its separator, and a row that had no separator gets one. Start at GapFiller.
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

/// A sequence of sorted records without their keys, and where its gaps and rows are.
struct StrippedRecords {
  struct Gap {
    std::string key;   ///< the key field without escapes
    std::string text;  ///< the gap
  };
  /// Records of one kind, in their order.
  struct Run {
    enum Is : std::uint8_t { kOther, kGaps, kRows, kStatements } is = kOther;
    bool odd = false;         ///< only for kStatements; see kOddPart
    std::uint64_t count = 0;  ///< the number of gaps, rows or statements
    std::uint32_t begin = 0;  ///< the offset of the first row or statement in the bytes
  };
  std::vector<Run> runs;
  std::vector<Gap> gaps;
  std::vector<std::uint32_t> row_ends;   ///< the offset of the end of each row and statement in the bytes
  std::vector<std::uint64_t> bare_rows;  ///< the numbers of the rows without a separator, as indices of `row_ends`
};

/// Removes the keys and the gaps from `records`, which must be whole records. Works in place. Returns the part of the
/// span that contains the remaining bytes, and describes them in `stripped`.
std::span<std::byte> StripGaps(std::span<std::byte> records, const RecordLayout& layout, StrippedRecords& stripped);

/// A change to a sequence of bytes: the `removed` bytes before `offset` are left out, and `text` is inserted at
/// `offset`.
struct GapEdit {
  std::uint64_t offset = 0;
  std::uint32_t removed = 0;
  const std::string* text = nullptr;  ///< null: nothing is inserted
};

/// Reads the sorted records of a job in order, and says where gaps must be inserted. One thread at a time may call the
/// functions.
class GapFiller {
 public:
  /// `most_bytes` is the limit on memory in bytes, for the places of the gaps of one part of the dump and all different
  /// texts of gaps.
  explicit GapFiller(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  /// Returns the changes to the bytes that `records` describes. Call this in the order of the output. The texts of the
  /// changes are valid as long as this object. Throws Error(kUsage) if the gaps take too much memory.
  std::vector<GapEdit> Take(const StrippedRecords& records);
  /// Call this after the last records. Throws Error(kInternal) if a gap has not been inserted.
  void Finish() { EndPart(); }

 private:
  void AddGap(const StrippedRecords::Gap& gap);
  void EndPart();
  /// Begins to read the rows of the part.
  void BeginRows();
  /// Changes the row or statement [begin, end) of a part that begins with statements of one row.
  void TakeMixed(std::uint32_t begin, std::uint32_t end, bool statement, bool bare, std::vector<GapEdit>& edits);
  /// Reads the next gap of this part of the dump into `next_at_` and `next_text_`.
  void ReadGap();
  std::uint32_t TextNumber(std::string text);

  const std::uint64_t most_bytes_;
  std::deque<std::string> texts_;  ///< all different gaps and separators
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::uint64_t text_bytes_ = 0;

  // The following members are about the current part of the dump.
  bool reading_ = false;  ///< true: a row of the part was read
  const std::string* separator_ = nullptr;
  bool odd_ = false;                   ///< see kOddPart
  std::uint64_t singles_ = 0;          ///< the number of statements with one row, which come first in the part
  const std::string* head_ = nullptr;  ///< the text before the row of a statement with one row
  const std::string* tail_ = nullptr;  ///< the text after the row of a statement with one row
  std::string encoded_;   ///< the gaps in compact form: the differences of their places, and the numbers of their texts
  std::size_t read_ = 0;  ///< how many bytes of `encoded_` were read
  std::uint64_t last_at_ = 0;  ///< the place of the last gap in `encoded_`
  bool pending_ = false;       ///< true: `pending_at_` and `pending_text_` are a gap that is not in `encoded_` yet
  std::uint64_t pending_at_ = 0;
  std::string pending_text_;
  std::uint64_t next_at_ = 0;  ///< the place of the next gap, or kNone
  std::uint32_t next_text_ = 0;
  std::uint64_t read_at_ = 0;    ///< the place of the gap that was read last
  std::uint64_t row_ = 0;        ///< the number of rows so far
  std::int64_t balance_ = 0;     ///< the number of separators that were added, minus the number that were removed
  std::int64_t statements_ = 0;  ///< the number of heads that were added, minus the number that were removed
};

}  // namespace gpusort

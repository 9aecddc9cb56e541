// Puts gaps back between sorted rows. In some formats (INSERT statements with several rows) the text between two rows
// belongs to a place and not to a row. Most rows end with the same text, the separator, which moves with the row. The
// other texts are gaps. A gap is a keyed record of its own, and sorts before the rows of its part: its key has the
// part, its place among the rows, and the separator. GapFiller reads sorted records, takes the gaps out, and puts each
// gap after the row that has reached its place. The output has the same bytes in number: a row that comes to a gap
// loses its separator, and a row that had none gets one. Start at GapFiller.
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

/// Some sorted records without their keys.
struct StrippedRecords {
  struct Gap {
    std::string key;   ///< the key field without escapes
    std::string text;  ///< the gap
  };
  /// Records of one kind, in their order.
  struct Run {
    enum Is : std::uint8_t { kOther, kGaps, kRows } is = kOther;
    std::uint64_t count = 0;  ///< of kGaps and kRows
  };
  std::vector<Run> runs;
  std::vector<Gap> gaps;
  std::vector<std::uint32_t> row_ends;   ///< the offset of the end of each row in the bytes
  std::vector<std::uint64_t> bare_rows;  ///< the numbers of the rows without a separator, as indices of `row_ends`
};

/// Removes the keys and the gaps from `records` in place. Returns the part of the span that contains the other bytes,
/// and describes them in `stripped`.
std::span<std::byte> StripGaps(std::span<std::byte> records, const RecordLayout& layout, StrippedRecords& stripped);

/// A change of bytes: `removed` bytes before `offset` are left out, and `text` is inserted at `offset`.
struct GapEdit {
  std::uint64_t offset = 0;
  std::uint32_t removed = 0;
  const std::string* text = nullptr;  ///< null: nothing is inserted
};

/// Follows the sorted records of a job. One thread at a time may call the functions.
class GapFiller {
 public:
  /// `most_bytes` limits the memory of the gaps of one part.
  explicit GapFiller(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  /// Returns the changes to the bytes that `records` describes. Call this in the order of the output. The texts live as
  /// long as this object. Throws Error(kUsage) if the gaps take too much memory.
  std::vector<GapEdit> Take(const StrippedRecords& records);
  /// Throws Error(kInternal) if gaps are left. Call this after the last records.
  void Finish() { EndPart(); }

 private:
  void AddGap(const StrippedRecords::Gap& gap);
  void EndPart();
  /// Reads the next gap of the part into `next_at_` and `next_text_`.
  void ReadGap();
  std::uint32_t TextNumber(std::string text);

  const std::uint64_t most_bytes_;
  std::deque<std::string> texts_;  ///< all different gaps and separators
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::uint64_t text_bytes_ = 0;

  // The part.
  bool reading_ = false;             ///< a row of the part has come
  const std::string* separator_ = nullptr;
  std::string encoded_;              ///< the gaps: places as differences, and numbers of texts
  std::size_t read_ = 0;             ///< the bytes of `encoded_` that were read
  std::uint64_t last_at_ = 0;        ///< the place of the last gap in `encoded_`
  bool pending_ = false;             ///< `pending_at_` and `pending_text_` are a gap that is not in `encoded_` yet
  std::uint64_t pending_at_ = 0;
  std::string pending_text_;
  std::uint64_t next_at_ = 0;        ///< the place of the next gap, or kNone
  std::uint32_t next_text_ = 0;
  std::uint64_t read_at_ = 0;        ///< the place of the gap that was read last
  std::uint64_t row_ = 0;            ///< the rows so far
  std::int64_t balance_ = 0;         ///< separators that were added, minus those that were removed
};

}  // namespace gpusort

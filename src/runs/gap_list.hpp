// Stores the bytes between the rows of an SQL dump (gaps) in compact form. Sorting moves the rows, but each gap stays
// after the same number of rows as in the input. An example of a gap is the end of one INSERT statement and the
// beginning of the next. Start at GapList.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "formats/gap_key.hpp"

namespace gpusort {

/// A set of strings, with indices from 0 in the order in which the strings were added. References to strings stay valid
/// as long as this object exists.
class GapTexts {
 public:
  /// Returns the index of `text`. Adds `text` to the set if it is new.
  std::uint32_t Number(const std::string& text);
  const std::string& operator[](std::uint32_t number) const { return texts_[number]; }
  /// Returns the memory that the strings take, in bytes.
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::deque<std::string> texts_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::uint64_t bytes_ = 0;
};

/// The gaps (bytes between two rows) of one part of an SQL dump, in their order. A part consists of rows that are
/// sorted together, such as the rows of one table. Equal gaps are stored only once.
class GapList {
 public:
  /// The comments of GapKey describe these members.
  std::uint64_t part = 0;
  std::string separator, head, tail;
  std::uint64_t singles = 0;

  GapList() = default;
  /// Makes an empty list. `key` must be the GapKey of the first gap (bytes between two rows) that will be added.
  explicit GapList(const GapKey& key);

  /// Adds the gap `text`, directly after the row with the index `place` (from 0). `place` must not be less than in the
  /// previous call. Several calls with one `place` make one gap.
  void Add(std::uint64_t place, std::string_view text, GapTexts& texts);
  /// Adds the gaps of `other`, a list for the same part of the dump. These gaps must come after the gaps of this list.
  /// Call Close() of `other` first.
  void Add(const GapList& other, const GapTexts& other_texts, GapTexts& texts);
  /// Returns a copy of this list without its gaps (bytes between two rows).
  GapList WithoutGaps() const;
  /// Returns the memory that the list takes, in bytes. The strings in GapTexts are not included.
  std::uint64_t bytes() const { return encoded_.size() + open_text_.size(); }

  /// Reads the gaps of a list, from the first to the last. Call GapList::Close() before making a Reader, and do not
  /// change the list while the Reader is in use.
  class Reader {
   public:
    explicit Reader(const GapList& list) : list_(list) {}
    /// Moves to the next gap (bytes between two rows). Returns false if the list has no more gaps.
    bool Next();
    /// Returns the number of the row (from 0) after which the current gap of the list is inserted.
    std::uint64_t place() const { return place_; }
    /// Returns the index of the current gap in GapTexts.
    std::uint32_t text() const { return text_; }

   private:
    const GapList& list_;
    std::size_t at_ = 0;
    std::uint64_t place_ = 0;
    std::uint32_t text_ = 0;
  };
  /// Completes the last gap (bytes between two rows) of the list. Call this before the list is read or saved. A later
  /// Add() begins a new gap.
  void Close(GapTexts& texts);

  /// Appends the list to `out`. Load() can read it again. Call Close() first.
  void Save(const GapTexts& texts, std::string& out) const;
  /// Removes a list that Save() has written from the beginning of `from`, and returns the list. Adds its gaps to
  /// `texts`. Throws Error(kIntegrity) if `from` is damaged.
  static GapList Load(std::string_view& from, GapTexts& texts);

 private:
  std::string encoded_;     ///< for each gap: the number of rows after the previous gap, and its index in GapTexts
  std::uint64_t last_ = 0;  ///< the place of the last gap in `encoded_`
  bool open_ = false;       ///< true: `open_place_` and `open_text_` are a gap that is not in `encoded_` yet
  std::uint64_t open_place_ = 0;
  std::string open_text_;
};

/// The place in a sorted SQL dump where a GapFiller begins to read, such as row 5 of a table.
struct GapFront {
  std::uint64_t row = 0;        ///< how many rows of this table (or other part of the dump) come before the place
  std::optional<GapList> list;  ///< the bytes between the rows of this part of the dump; no value: there are none
  bool goes_on = false;         ///< true: the records may end before the last row of a part of the dump

  std::string Save(const GapTexts& texts) const;
  static GapFront Load(std::string_view from, GapTexts& texts);
};

}  // namespace gpusort

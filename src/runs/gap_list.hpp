// Stores the texts between the rows of an SQL dump (gaps) in compact form. Sorting moves the rows, but each gap stays
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

/// A set of texts, with indices from 0 in the order in which the texts were added. References to texts stay valid as
/// long as this object exists.
class GapTexts {
 public:
  /// Returns the index of `text`. Adds `text` to the set if it is new.
  std::uint32_t Number(const std::string& text);
  const std::string& operator[](std::uint32_t number) const { return texts_[number]; }
  /// Returns the memory that the texts take, in bytes.
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::deque<std::string> texts_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::uint64_t bytes_ = 0;
};

/// The texts between the rows (gaps) of one part of an SQL dump, in their order. A part consists of rows that are
/// sorted together, such as the rows of one table. Equal texts are stored only once.
class GapList {
 public:
  /// These members are copied from the GapKey of the first gap.
  std::uint64_t part = 0;
  std::string separator, head, tail;
  std::uint64_t singles = 0;

  GapList() = default;
  /// Makes an empty list. `key` must be the GapKey of the first gap that will be added.
  explicit GapList(const GapKey& key);

  /// Adds a gap with the text `text`, directly after the row with the index `place` (from 0). `place` must not be less
  /// than in the previous call. Texts with the same place become one gap.
  void Add(std::uint64_t place, std::string_view text, GapTexts& texts);
  /// Adds the gaps of `other`, a list for the same part of the dump. These gaps must come after the gaps of this list.
  /// Call Close() of `other` first.
  void Add(const GapList& other, const GapTexts& other_texts, GapTexts& texts);
  /// Returns a copy of this list that contains no gaps.
  GapList WithoutGaps() const;
  /// Returns the memory that the list takes, in bytes. The texts in GapTexts are not included.
  std::uint64_t bytes() const { return encoded_.size() + open_text_.size(); }

  /// Reads the gaps of a list, from the first to the last. Call GapList::Close() before making a Reader, and do not
  /// change the list while the Reader is in use.
  class Reader {
   public:
    explicit Reader(const GapList& list) : list_(list) {}
    /// Moves to the next gap (text between two rows). Returns false if the list has no more gaps.
    bool Next();
    /// Return the index of the row before the gap, and the index of the gap's text in GapTexts.
    std::uint64_t place() const { return place_; }
    std::uint32_t text() const { return text_; }

   private:
    const GapList& list_;
    std::size_t at_ = 0;
    std::uint64_t place_ = 0;
    std::uint32_t text_ = 0;
  };
  /// Completes the last gap (text between two rows) of the list. Call this before the list is read or saved. A later
  /// Add() begins a new gap.
  void Close(GapTexts& texts);

  /// Appends the list to `out`, in the form that Load() reads. Call Close() first.
  void Save(const GapTexts& texts, std::string& out) const;
  /// Removes a list that Save() has written from the beginning of `from`, and returns the list. Adds its texts to
  /// `texts`. Throws Error(kIntegrity) if `from` is damaged.
  static GapList Load(std::string_view& from, GapTexts& texts);

 private:
  std::string encoded_;     ///< for each gap: the number of rows after the previous gap, and the index of its text
  std::uint64_t last_ = 0;  ///< the place of the last gap in `encoded_`
  bool open_ = false;       ///< true: `open_place_` and `open_text_` are a gap that is not in `encoded_` yet
  std::uint64_t open_place_ = 0;
  std::string open_text_;
};

/// The data about the texts between rows (gaps) that a task needs to write only a range of the sorted records of an SQL
/// dump.
struct GapFront {
  std::uint64_t row = 0;        ///< the number of rows before the range, in the part of the dump where the range begins
  std::optional<GapList> list;  ///< the gaps of this part of the dump; no value: the part has no gaps
  bool goes_on = false;         ///< true: the range may end before the last row of a part of the dump

  std::string Save(const GapTexts& texts) const;
  static GapFront Load(std::string_view from, GapTexts& texts);
};

}  // namespace gpusort

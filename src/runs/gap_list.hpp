// The gaps of a part of an SQL dump, in compact form. A part is a range of rows that are sorted together, such as the
// rows of one table. A gap is text between two rows that keeps its place while the rows are sorted, such as the end of
// one INSERT statement and the beginning of the next. Start at GapList.
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

/// A set of texts. Each text is stored once, and has an index: 0 for the text that was stored first, and so on. A
/// reference to a text is valid as long as this object exists.
class GapTexts {
 public:
  /// Returns the index of `text` in this object. Stores `text` if it is new.
  std::uint32_t Number(const std::string& text);
  const std::string& operator[](std::uint32_t number) const { return texts_[number]; }
  /// Returns the memory that the texts take, in bytes.
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::deque<std::string> texts_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::uint64_t bytes_ = 0;
};

/// The gaps of one part of a dump, in the order of their places. A gap takes a few bytes, and each different text is
/// stored once. See GapKey for the members.
class GapList {
 public:
  std::uint64_t part = 0;
  std::string separator, head, tail;
  std::uint64_t singles = 0;

  GapList() = default;
  /// Makes an empty list for the gaps of one part of the dump. `key` is the key of any gap of this part.
  explicit GapList(const GapKey& key);

  /// Adds the gap `text` after row number `place`. `place` must not be less than in the call before. Texts with the
  /// same place are joined.
  void Add(std::uint64_t place, std::string_view text, GapTexts& texts);
  /// Adds the gaps of `other`, which come after those of this list. Both describe the same part of the dump.
  void Add(const GapList& other, const GapTexts& other_texts, GapTexts& texts);
  /// Returns a list for the same part of the dump that has no gaps yet.
  GapList WithoutGaps() const;
  /// Returns the memory that the list takes, in bytes.
  std::uint64_t bytes() const { return encoded_.size() + open_text_.size(); }

  /// Reads the gaps of a list from the first one. The list must not change meanwhile.
  class Reader {
   public:
    /// Call GapList::Close() before.
    explicit Reader(const GapList& list) : list_(list) {}
    /// Reads the next gap. Returns false if there is none.
    bool Next();
    std::uint64_t place() const { return place_; }
    std::uint32_t text() const { return text_; }

   private:
    const GapList& list_;
    std::size_t at_ = 0;
    std::uint64_t place_ = 0;
    std::uint32_t text_ = 0;
  };
  /// Ends the text of the last gap, so that Reader sees it. A later Add() begins a new gap.
  void Close(GapTexts& texts);

  /// Appends the list to `out`. Close() must have been called.
  void Save(const GapTexts& texts, std::string& out) const;
  /// Reads a list that Save() has written, from the front of `from`, and removes it there. Throws Error(kIntegrity) if
  /// `from` is damaged.
  static GapList Load(std::string_view& from, GapTexts& texts);

 private:
  std::string encoded_;     ///< for each gap: the number of rows since the gap before it, and the number of its text
  std::uint64_t last_ = 0;  ///< the place of the last gap in `encoded_`
  bool open_ = false;       ///< true: `open_place_` and `open_text_` are a gap that is not in `encoded_` yet
  std::uint64_t open_place_ = 0;
  std::string open_text_;
};

/// Facts about gaps for a task that merges only a range of the sorted records of a dump.
struct GapFront {
  std::uint64_t row = 0;        ///< the number of rows of the first part of the dump that come before the range
  std::optional<GapList> list;  ///< the gaps of the first part of the dump; no value: it has none
  bool goes_on = false;         ///< the range ends before the last row of a part of the dump

  std::string Save(const GapTexts& texts) const;
  static GapFront Load(std::string_view from, GapTexts& texts);
};

}  // namespace gpusort

// A fast reader of timestamps in the lines of logs. It reads a timestamp that consists of a date, a time of day
// HH:MM:SS, an optional fraction, and an optional time zone. It knows only dates that were passed to KeepDate(). A
// slower parser must read all other timestamps. Start at QuickTime.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "formats/time_text.hpp"

namespace gpusort {

/// A fast reader of timestamps in one format, such as "Feb  5 17:32:18". Only one thread at a time may use an object.
/// It can read a timestamp only if its date ("Feb  5") was passed to KeepDate().
class QuickTime {
 public:
  /// `format` is the format of the timestamps (TimeForm::format). It must consist of a date, a time of day and an
  /// optional time zone. For any other format, Take() always returns false.
  explicit QuickTime(std::string_view format);

  /// Returns false if `first` cannot be the first character of a timestamp.
  bool can_begin(char first) const { return can_begin_[static_cast<unsigned char>(first)]; }

  /// A timestamp that Take() has read. The slower parser, TakeWholeTime(), would read the same values.
  struct Found {
    std::int64_t seconds = 0;          ///< seconds since 1970-01-01 00:00:00 local time
    std::optional<std::int64_t> east;  ///< local time minus UTC, in seconds; no value: the timestamp has no zone
    std::string_view fraction;         ///< the digits of the fraction of a second, without trailing zeros
    bool lacks_year = false;
    std::size_t size = 0;    ///< the size of the timestamp in bytes
    ZoneWord zone_word = 0;  ///< the abbreviation, such as CET, from which `east` was read; 0: none
  };
  /// Reads the timestamp at the beginning of `text`, which must be the rest of a line. Returns false if the timestamp
  /// does not have the format of this reader, or if its date was not passed to KeepDate(). The slower parser
  /// TakeWholeTime() may still be able to read the timestamp.
  bool Take(std::string_view text, Found& found);

  /// Stores a date. Take() can then read timestamps with this date.
  /// - `date`: the part of the timestamp before the time of day; ignored if it has more than 24 bytes
  /// - `midnight`: the beginning of the day, in seconds since 1970-01-01 00:00:00 local time
  /// - `lacks_year`: true if the timestamp has no year
  void KeepDate(std::string_view date, std::int64_t midnight, bool lacks_year);

 private:
  /// The bytes of a date, packed into numbers, which are faster to compare.
  struct Words {
    std::uint64_t front = 0, middle = 0, back = 0;
    bool operator==(const Words&) const = default;
  };
  struct Date {
    Words words;
    std::uint32_t size = 0;  ///< the size of the date in bytes; 0: there is no date
    bool lacks_year = false;
    std::int64_t midnight = 0;
  };
  static constexpr unsigned kDateBits = 7;
  /// The name of a time zone that was read before, and its offset from UTC.
  struct ZoneName {
    std::uint64_t name = 0;  ///< up to seven capital letters, one per byte; 0: there is no name
    std::optional<std::int64_t> east;
    ZoneWord word = 0;
  };
  static constexpr unsigned kZoneBits = 4;

  static Words WordsOf(const char* date, std::size_t size);
  static std::size_t IndexOf(const Words& words);
  /// Reads the optional time zone at offset `at` of `text`, and moves `at` to its end. Sets `found.east` to local time
  /// minus UTC in seconds, or to no value if there is no time zone, and `found.zone_word`. Returns false if only the
  /// slower parser can read the zone.
  bool TakeZone(std::string_view text, std::size_t& at, Found& found);

  bool usual_ = false;    ///< true: the format is a date, a time of day, and an optional zone
  bool zone_ = false;     ///< true: a zone can follow the time of day
  bool no_year_ = false;  ///< true: a timestamp with a year after it does not have this format
  std::array<bool, 256> can_begin_;
  /// The last two different sizes, in bytes, of dates that were read. The latest size comes first. 0: not set.
  std::array<std::uint32_t, 2> sizes_{};
  std::array<Date, 1u << kDateBits> dates_{};
  std::array<ZoneName, 1u << kZoneBits> zones_{};
};

}  // namespace gpusort

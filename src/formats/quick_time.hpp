// Reads times in the lines of logs fast. Such a time is a date that was read before, a clock HH:MM:SS, perhaps a
// fraction, and perhaps a time zone. A slower parser must read all other times. Start at QuickTime.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpusort {

/// A fast reader for log times that are all written in one form, such as "Feb  5 17:32:18". It can read only times of
/// dates that KeepDate() was called with before. One thread at a time may use an object.
class QuickTime {
 public:
  /// `format` is a TimeForm::format. If `format` is not a date with a clock and perhaps a time zone, or is empty,
  /// Take() always returns false.
  explicit QuickTime(std::string_view format);

  /// Returns false if no time of this reader's form can begin with the character `first`.
  bool can_begin(char first) const { return can_begin_[static_cast<unsigned char>(first)]; }

  /// A time that Take() has read. It is the same time that the slower parser, TakeWholeTime(), would read from this
  /// text.
  struct Found {
    std::int64_t seconds = 0;          ///< seconds since 1970-01-01 00:00:00 in the zone of the text
    std::optional<std::int64_t> east;  ///< local time minus UTC in seconds; no value: the text has no zone
    std::string_view fraction;         ///< the digits of the fraction of a second, without zeros at the end
    bool lacks_year = false;
    std::size_t size = 0;  ///< the size of the text of the time, in bytes
  };
  /// Reads a time at the front of `text`, which must be the rest of a line. Returns false if the text has another form,
  /// or if its date was not passed to KeepDate(). The text may then still be a time that TakeWholeTime() can read.
  bool Take(std::string_view text, Found& found);

  /// Remembers a date for later calls of Take(). `date` is its text, up to the clock. `midnight` is the beginning of
  /// that day in seconds since 1970-01-01 00:00:00 in the zone of the text. `lacks_year` is true if the text has no
  /// year; Take() returns this with the time.
  void KeepDate(std::string_view date, std::int64_t midnight, bool lacks_year);

 private:
  /// The text of a date of at most 24 bytes as three numbers, which are faster to compare: its first eight bytes, the
  /// next eight, and its last eight. The three pieces can overlap.
  struct Words {
    std::uint64_t front = 0, middle = 0, back = 0;
    bool operator==(const Words&) const = default;
  };
  struct Date {
    Words words;
    std::uint32_t size = 0;  ///< the size of the text of the date in bytes; 0: there is no date
    bool lacks_year = false;
    std::int64_t midnight = 0;
  };
  static constexpr unsigned kDateBits = 7;
  /// The name of a time zone that was read before, and its offset. Most lines have a zone that an earlier line had, so
  /// that the offset need not be searched again.
  struct ZoneName {
    std::uint64_t name = 0;  ///< up to seven capital letters, one per byte; 0: there is no name
    std::optional<std::int64_t> east;
  };
  static constexpr unsigned kZoneBits = 4;

  static Words WordsOf(const char* date, std::size_t size);
  static std::size_t IndexOf(const Words& words);
  /// Reads the time zone at offset `at` of `text`, if there is one, and moves `at` to its end. Returns false if the
  /// text there has an unusual form.
  bool TakeZone(std::string_view text, std::size_t& at, std::optional<std::int64_t>& east);

  bool usual_ = false;    ///< true: the form is a date, a clock, and perhaps a zone
  bool zone_ = false;     ///< true: a zone can follow the clock
  bool no_year_ = false;  ///< true: the text is not a time of this form if a year follows it
  std::array<bool, 256> can_begin_;
  /// The sizes of the texts of dates that were read last, in bytes: two different sizes, because "1 Nov" can follow "31
  /// Oct". The size of the last date comes first.
  std::array<std::uint32_t, 2> sizes_{};
  std::array<Date, 1u << kDateBits> dates_{};
  std::array<ZoneName, 1u << kZoneBits> zones_{};
};

}  // namespace gpusort

// Reads the usual times of logs quickly: a date that was read before, a clock HH:MM:SS, perhaps a fraction, and perhaps
// a zone. Start at QuickTime.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpusort {

/// Reads times of one form of KnownForms(). One thread at a time may use an object.
class QuickTime {
 public:
  /// `format` is the format of a TimeForm. Empty: no time is of the usual form.
  explicit QuickTime(std::string_view format);

  /// Returns false if no time of the form begins with `first`.
  bool can_begin(char first) const { return can_begin_[static_cast<unsigned char>(first)]; }

  /// A time, as TakeWholeTime() reads it.
  struct Found {
    std::int64_t seconds = 0;          ///< seconds since 1970, as local time in the zone of the text
    std::optional<std::int64_t> east;  ///< the zone: local time minus UTC in seconds; no value: the text has no zone
    std::string_view fraction;         ///< digits of the text, without zeros at the end
    bool lacks_year = false;
    std::size_t size = 0;  ///< of the text of the time
  };
  /// Reads the time at the front of `text`, which is the rest of a line. Returns false if the text is not of the usual
  /// form, or if its date was not passed to KeepDate(): then the text may be a time or not.
  bool Take(std::string_view text, Found& found);

  /// Keeps a date that was read. `date` is the text before the clock, and `midnight` the beginning of that day in
  /// seconds since 1970.
  void KeepDate(std::string_view date, std::int64_t midnight, bool lacks_year);

 private:
  /// The bytes of a date, without the bytes between the first, the middle and the last eight.
  struct Words {
    std::uint64_t front = 0, middle = 0, back = 0;
    bool operator==(const Words&) const = default;
  };
  struct Date {
    Words words;
    std::uint32_t size = 0;  ///< 0: no date
    bool lacks_year = false;
    std::int64_t midnight = 0;
  };
  static constexpr unsigned kDateBits = 7;
  /// The names of zones that were read, and their offsets.
  struct ZoneName {
    std::uint64_t name = 0;  ///< 0: no name
    std::optional<std::int64_t> east;
  };
  static constexpr unsigned kZoneBits = 4;

  static Words WordsOf(const char* date, std::size_t size);
  static std::size_t IndexOf(const Words& words);
  /// Reads the zone at offset `at` of `text`, if there is one, and moves `at` to its end. Returns false if the text is
  /// not of the usual form.
  bool TakeZone(std::string_view text, std::size_t& at, std::optional<std::int64_t>& east);

  bool usual_ = false;    ///< the form is a date, a clock, and perhaps a zone
  bool zone_ = false;     ///< a zone can follow the clock
  bool no_year_ = false;  ///< no year may follow the time
  std::array<bool, 256> can_begin_;
  std::array<std::uint32_t, 2> sizes_{};  ///< the sizes of the last dates, the last one first
  std::array<Date, 1u << kDateBits> dates_{};
  std::array<ZoneName, 1u << kZoneBits> zones_{};
};

}  // namespace gpusort

// The formats of timestamps that known programs write in logs, and a parser for these timestamps. A format is a way to
// write a timestamp, such as "Feb  5 17:32:18". Start at KnownForms.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "formats/text_reader.hpp"
#include "formats/time_text.hpp"

namespace gpusort {

/// A format of timestamps in logs: a way to write a timestamp, such as "Feb  5 17:32:18" in syslog.
struct TimeForm {
  const char* name;
  const char* format;  ///< the format as a string for TakeLogTime()
  /// Null if timestamps of this format can be used. Otherwise such timestamps are ambiguous or have no date, and
  /// `refusal` is an error message. It says what is wrong, and what the user can do.
  const char* refusal = nullptr;
  /// Formats with the same group number can be mistaken for each other: 01/02 can be day/month or month/day. Such a
  /// format is used only if the log has a timestamp that no other format of the group matches, such as 13/02. 0: the
  /// format is in no group.
  unsigned group = 0;
};

/// Returns all formats of timestamps that gpusort knows.
std::span<const TimeForm> KnownForms();

/// Each function tells how the timestamps of `form`, one of KnownForms(), are written:
/// - IsClock(): as a time of day without a date
/// - IsCount(): as digits only, such as seconds since 1970
/// - IsCommonLog(): as by web servers: 23/Nov/2026:22:10:01 +0100
bool IsClock(const TimeForm& form);
bool IsCount(const TimeForm& form);
bool IsCommonLog(const TimeForm& form);

/// The ways in which a timestamp can begin, such as "two digits and then '/'" or "the name of a month".
struct FormFront {
  /// How many digits a timestamp can begin with. Bit N is set if N digits are possible. 0: a timestamp begins with no
  /// digit.
  std::uint32_t runs = 0;
  char next = '\0';      ///< the byte after the digits; '\0': any byte
  bool month = false;    ///< the timestamp can begin with the name of a month
  bool weekday = false;  ///< the timestamp can begin with the name of a weekday
  bool zone = false;     ///< the timestamp begins with the name of a zone
  bool capital = false;  ///< the timestamp begins with a capital letter and a digit
  bool blank = false;    ///< the timestamp can begin with a blank
  bool tai = false;      ///< the timestamp begins with '@'
};
FormFront FrontOf(std::string_view format);

/// Returns true if `text` may begin with a month's name that is not English, followed by a number: "Okt 12".
bool MayBeMonth(std::string_view text);

/// Reads the timestamp at the beginning of `reader`, and moves `reader` to the end of the timestamp.
/// - `format` is the TimeForm::format of one of KnownForms().
/// - Returns false if there is no timestamp in this format. `reader` and `parts` are then undefined.
bool TakeLogTime(std::string_view format, TextReader& reader, TimeParts& parts);

/// The bytes that may follow a zone which stands after a blank.
inline constexpr std::string_view kAfterZone = " \t])},;:|>\"'";

}  // namespace gpusort

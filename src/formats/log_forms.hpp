// The forms of times that known programs write in logs, and a parser for these times. A form is a way to write a time,
// such as "Feb  5 17:32:18". Start at KnownForms.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "formats/text_reader.hpp"
#include "formats/time_text.hpp"

namespace gpusort {

/// A form of times in logs: a way to write a time, such as "Feb  5 17:32:18" in syslog.
struct TimeForm {
  const char* name;
  const char* format;  ///< the format of the time, in the letters that TakeLogTime() knows
  /// Null if times of this form can be used. Otherwise such times are ambiguous or have no date, and `refusal` is an
  /// error message. It says what is wrong, and what the user can do.
  const char* refusal = nullptr;
  /// Forms with the same group number can be mistaken for each other: 01/02 can be day/month or month/day. Such a form
  /// is used only if the log has a time that no other form of the group matches, such as 13/02. 0: the form is in no
  /// group.
  unsigned group = 0;
};

/// Returns all forms of times that gpusort knows.
std::span<const TimeForm> KnownForms();

/// IsClock() returns true if the times of `form` have a time of day, but no date. IsCount() returns true if the times
/// are digits only, such as seconds since 1970. IsCommonLog() returns true if the times are those of web servers, such
/// as 23/Nov/2026:22:10:01 +0100. `form` must be one of KnownForms().
bool IsClock(const TimeForm& form);
bool IsCount(const TimeForm& form);
bool IsCommonLog(const TimeForm& form);

/// The bytes with which times of one form can begin. A text that begins differently is no such time, so it need not be
/// parsed.
struct FormFront {
  /// Bit N is set if a time can begin with exactly N digits and then the byte `next`. 0: a time does not begin with
  /// digits.
  std::uint32_t runs = 0;
  char next = '\0';      ///< the byte after the digits; '\0': any byte
  bool month = false;    ///< the time can begin with the name of a month
  bool weekday = false;  ///< the time can begin with the name of a weekday
  bool zone = false;     ///< the time begins with the name of a zone
  bool capital = false;  ///< the time begins with a capital letter and a digit
  bool blank = false;    ///< the time can begin with a blank
  bool tai = false;      ///< the time begins with '@'
};
FormFront FrontOf(std::string_view format);

/// Returns true if `text` begins with the name of a month in another language than English, and a number follows.
bool MayBeMonth(std::string_view text);

/// Reads the time at the beginning of `reader`, and moves `reader` to the end of the time. `format` is a
/// TimeForm::format. Its letters are described in log_forms.cpp. If the text does not match, returns false, and
/// `reader` and `parts` are undefined.
bool TakeLogTime(std::string_view format, TextReader& reader, TimeParts& parts);

}  // namespace gpusort

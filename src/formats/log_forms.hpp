// The ways in which known programs write times in logs, called forms, and a parser for such times. Start at KnownForms.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "formats/text_reader.hpp"
#include "formats/time_text.hpp"

namespace gpusort {

/// A way to write a time in logs, such as that of syslog: "Feb  5 17:32:18".
struct TimeForm {
  const char* name;
  const char* format;  ///< the format of the time, in the letters of TakeLogTime()
  /// Null: the times of this form can be used. Otherwise they are ambiguous or have no date. `refusal` is then the
  /// error message: what is wrong, and what the user can do.
  const char* refusal = nullptr;
  /// Forms that can read the same text, such as day/month and month/day, have the same group number. Such a form is
  /// used only if the log has a time that the other forms of the group cannot read, such as 13/02. 0: no group.
  unsigned group = 0;
};

/// Returns all forms of times that gpusort knows.
std::span<const TimeForm> KnownForms();

/// IsClock() returns true if the times of `form` have no date, only a time of day. IsCount() returns true if they are
/// digits only, such as seconds since 1970. `form` must be one of KnownForms().
bool IsClock(const TimeForm& form);
bool IsCount(const TimeForm& form);

/// The bytes with which the times of one form can begin. A text that begins with other bytes needs no parsing.
struct FormFront {
  /// Bit N is set if a time can begin with exactly N digits and then `next`; 0: times do not begin with digits.
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

/// Reads a time that begins at the front of `reader`, and moves `reader` to the end of the time. `format` is a
/// TimeForm::format, whose letters log_forms.cpp describes. Returns false if the text does not match; `reader` and
/// `parts` are then undefined.
bool TakeLogTime(std::string_view format, TextReader& reader, TimeParts& parts);

}  // namespace gpusort

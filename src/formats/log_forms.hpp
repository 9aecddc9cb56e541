// The forms of times that logs have, and their parser. Start at KnownForms.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "formats/text_reader.hpp"
#include "formats/time_text.hpp"

namespace gpusort {

/// A form of times that logs have.
struct TimeForm {
  const char* name;
  const char* format;             ///< for TakeLogTime()
  const char* refusal = nullptr;  ///< why times of the form cannot be used, and what to do; null: they can
  /// Forms of one group read the same texts, such as day/month and month/day. A form of a group is used only if some
  /// text is no time in the others. 0: no group.
  unsigned group = 0;
};

/// Returns all known forms.
std::span<const TimeForm> KnownForms();

/// Returns true if a form of KnownForms() lacks the date, or counts seconds since 1970.
bool IsClock(const TimeForm& form);
bool IsCount(const TimeForm& form);

/// The bytes with which times of a form begin.
struct FormFront {
  std::uint32_t runs = 0;  ///< bit N is set if N digits, followed by `next`, can begin a time; 0: it begins otherwise
  char next = '\0';        ///< the byte after the digits; '\0': any byte
  bool month = false;      ///< the time can begin with the name of a month
  bool weekday = false;    ///< the time can begin with the name of a weekday
  bool zone = false;       ///< the time begins with the name of a zone
  bool capital = false;    ///< the time begins with a capital letter and a digit
  bool blank = false;      ///< the time can begin with a blank
  bool tai = false;        ///< the time begins with '@'
};
FormFront FrontOf(std::string_view format);

/// Reads a time by the format of a TimeForm at the front of `reader` and skips it. Returns false if the text does not
/// match. `reader` and `parts` are undefined then. The formats are described in log_forms.cpp.
bool TakeLogTime(std::string_view format, TextReader& reader, TimeParts& parts);

}  // namespace gpusort

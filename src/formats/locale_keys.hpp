// Sort keys of lines in a locale other than C, and for -g, -V and -R in any locale. Text is ordered by strcoll, and its
// key is the first level of strxfrm's weights. Numbers, months and classes of characters are those of the locale.
// Versions and the division into fields are as in C. Start at MakeLocaleKeys.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "formats/keyed_lines.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Sets the locale of the environment if the job needs it: with --locale, or with a key of type locale. Call this once,
/// before any thread starts. Throws Error(kUsage) if the system does not have the locale.
void UseLocale(const JobSpec& spec);

/// Returns the name of the locale that UseLocale set, with the version of the C library. Returns "C" before that.
std::string LocaleName();

/// The decimal point and the thousands separator of the current locale.
struct LocaleNumbers {
  int decimal_point;        ///< the decimal point, or '.' if the locale's is not a single byte
  int thousands_separator;  ///< the thousands separator; -1: none of one byte
  bool separator_too_long;  ///< the locale's separator has several bytes
};
LocaleNumbers FindLocaleNumbers();

/// Returns true if text is ordered by strcoll. --debug then names the locale's rules.
bool CollatesByLocale();

/// Returns the size of the blanks and the month name at the front of `text`, or 0 if no month is there.
std::size_t MonthBytes(std::string_view text);

/// Makes the keys for the current locale. Returns null if lines are ordered as in C. `order` must outlive the result.
std::unique_ptr<KeyMaker> MakeLocaleKeys(const LineOrder& order);
/// Makes the keys for the C locale. Returns null if comparing lines without keys is as fast, on a GPU if `gpu` is true.
/// The data that `order` refers to must outlive the result.
std::unique_ptr<KeyMaker> MakeKeys(const LineOrderView& order, bool gpu);

}  // namespace gpusort

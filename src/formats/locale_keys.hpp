// Keys of lines in other locales than C, and for -g, -V and -R. Text is collated by strcoll, and its key is the first
// level of strxfrm's weights. Numbers, months and classes of characters are those of the locale. Versions and fields
// are as in C. Start at MakeLocaleKeys.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "formats/keyed_lines.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Sets the locale of the environment if the order of `options` depends on the locale: --locale, or a key of a column
/// of the type locale. Call this once, before any thread starts. Throws Error(kUsage) if the system does not have the
/// locale.
void UseLocale(const JobSpec& spec);

/// The name of the locale that UseLocale set, with the version of the library that holds its rules; "C" before that.
std::string LocaleName();

/// How numbers are written here.
struct LocaleNumbers {
  int decimal_point;        ///< '.' where the locale's is no single byte
  int thousands_separator;  ///< -1: none
  bool separator_too_long;  ///< the locale has one of several bytes
};
LocaleNumbers FindLocaleNumbers();

/// True if text is compared by strcoll's rules, so that --debug names them.
bool CollatesByLocale();

/// Returns the size of the blanks and the month of this locale at the front of `text`, or 0 if there is no month.
std::size_t MonthBytes(std::string_view text);

/// Null if the current locale orders lines as C does. `order` must outlive the result.
std::unique_ptr<KeyMaker> MakeLocaleKeys(const LineOrder& order);
/// Makes keys in the C locale. Returns null if lines without keys are compared as fast; `gpu`: by a GPU, if it can. The
/// data that `order` refers to must outlive the result.
std::unique_ptr<KeyMaker> MakeKeys(const LineOrderView& order, bool gpu);

}  // namespace gpusort

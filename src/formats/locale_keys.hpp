// Sort keys of lines in a locale other than C, and for -g, -V and -R in any locale. Text is ordered by strcoll, and its
// key is the first level of strxfrm's weights. Numbers, months and classes of characters are those of the locale.
// Versions and the division into fields are as in C. Start at MakeLocaleKeys.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "formats/keyed_lines.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Makes the environment's locale the current one if the job needs it: with --locale, or with a key of type locale.
/// Call this once, before any thread starts. Throws Error(kUsage) if the system does not have the locale.
void UseLocale(const JobSpec& spec);

/// Returns the name of the locale that UseLocale set, with the version of the C library. Before UseLocale: "C".
std::string LocaleName();

/// The decimal point and the thousands separator of the current locale.
struct LocaleNumbers {
  int decimal_point;        ///< '.' if the locale's decimal point is not a single byte
  int thousands_separator;  ///< -1 if the locale's separator is not a single byte
  bool separator_too_long;  ///< the locale's separator has several bytes
};
LocaleNumbers FindLocaleNumbers();

/// Returns true if text is ordered by strcoll: the current locale is not C or POSIX.
bool CollatesByLocale();

/// Texts for the functions of the C library, which want a NUL at the end. Short texts need no memory of the heap.
using TextBuffer = boost::container::small_vector<char, 512>;
inline TextBuffer EndedText(std::string_view text) {
  TextBuffer ended(text.begin(), text.end());
  ended.push_back('\0');
  return ended;
}

/// Returns the size of the blanks and the month name at the front of `text`, or 0 if no month is there.
std::size_t MonthBytes(std::string_view text);

/// Makes the keys for the current locale. Returns null if lines are ordered as in C. `order` must outlive the result.
std::unique_ptr<KeyMaker> MakeLocaleKeys(const LineOrder& order);
/// Makes the keys for the C locale. Returns null if keys would not make comparisons faster. `gpu` is true if a GPU may
/// compare lines. The data that `order` refers to must outlive the result.
std::unique_ptr<KeyMaker> MakeKeys(const LineOrderView& order, bool gpu);

}  // namespace gpusort

// Sort keys of lines in a locale other than C, and for sort's options -g, -V and -R in any locale. Text is ordered by
// strcoll. The key of a text is only the first part of what strxfrm returns, which usually tells letters apart, but not
// accents or upper and lower case. Lines whose keys are equal are then compared by strcoll. Numbers, months and classes
// of characters are those of the locale. Versions and the division into fields are as in the C locale. Start at
// MakeLocaleKeys.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "formats/keyed_lines.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Sets the process's locale to that of the environment if the job needs it: with --locale, or with a key of type
/// locale. Call this once, before any thread starts. Throws Error(kUsage) if the system does not have the locale.
void UseLocale(const JobSpec& spec);

/// Returns the name of the locale that UseLocale set, with the version of the C library. Before UseLocale: "C".
std::string LocaleName();

/// The decimal point and the thousands separator of the current locale.
struct LocaleNumbers {
  int decimal_point;        ///< '.' if the locale's decimal point is not a single byte
  int thousands_separator;  ///< -1 if the locale's separator is not a single byte
  bool separator_too_long;  ///< the locale has a thousands separator of several bytes, which cannot be used
};
LocaleNumbers FindLocaleNumbers();

/// Returns true if text must be compared with strcoll, because the current locale is neither C nor POSIX.
bool CollatesByLocale();

/// A copy of a text that ends with a NUL byte, for functions of the C library. Copies of up to 512 bytes need no heap
/// memory.
using TextBuffer = boost::container::small_vector<char, 512>;
inline TextBuffer EndedText(std::string_view text) {
  TextBuffer ended(text.begin(), text.end());
  ended.push_back('\0');
  return ended;
}

/// Returns how many bytes the month name at the front of `text` takes, with the blanks before it. Month names are those
/// of the current locale. Returns 0 if `text` does not begin with one.
std::size_t MonthBytes(std::string_view text);

/// Returns the size of the number at the front of `text`, in bytes, as the option -n reads it; if `human` is true, as
/// the option -h reads it. `text` must not begin with blanks.
std::size_t NumberBytes(std::string_view text, bool human, const LocaleNumbers& numbers);
/// Returns an object that computes the sort keys of lines in the current locale. Returns null if the locale orders
/// lines as the C locale does, so that no keys are needed. `order` must outlive the result.
std::unique_ptr<KeyMaker> MakeLocaleKeys(const LineOrder& order);
/// Returns an object that computes the sort keys of lines in the C locale. Returns null if comparing computed keys
/// would not be faster than comparing the lines. `gpu` is true if a GPU may compare lines. The data that `order` refers
/// to must outlive the result.
std::unique_ptr<KeyMaker> MakeKeys(const LineOrderView& order, bool gpu);

}  // namespace gpusort

// Sort keys of lines for orders that must be computed: in a locale other than C, and for the options -g, -V and -R of
// sort. Text, numbers, months and classes of characters are those of the locale. Start at MakeLocaleKeys.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "formats/keyed_lines.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Sets the locale of the process to that of the environment. Does so only if the job needs it: with --locale, or with
/// a key of type locale. Call this once, before any thread starts. Throws Error(kUsage) if the system does not have the
/// locale.
void UseLocale(const JobSpec& spec);

/// Returns the name of the locale that UseLocale() has set, and the version of the C library. Returns "C" before
/// UseLocale() is called.
std::string LocaleName();

/// The decimal point and the thousands separator of the current locale.
struct LocaleNumbers {
  int decimal_point;        ///< a byte; '.' if the locale's decimal point has several bytes
  int thousands_separator;  ///< a byte; -1 if the locale's separator has several bytes or is empty
  bool separator_too_long;  ///< true: the locale's separator has several bytes, so it is not used
};
LocaleNumbers FindLocaleNumbers();

/// Returns true if the current locale is neither C nor POSIX, so that text must be compared with strcoll.
bool CollatesByLocale();

/// A copy of a string with a NUL byte after it, for functions of the C library. Copies of up to 512 bytes need no heap
/// memory.
using TextBuffer = boost::container::small_vector<char, 512>;
inline TextBuffer EndedText(std::string_view text) {
  TextBuffer ended(text.begin(), text.end());
  ended.push_back('\0');
  return ended;
}

/// Returns the size in bytes of the month name at the beginning of `text`, with the blanks before it. Month names are
/// those of the current locale. Returns 0 if there is no month name.
std::size_t MonthBytes(std::string_view text);

/// Returns the size in bytes of the number at the beginning of `text`, or 0. If `human` is true, the number may have a
/// suffix, as with the option -h of sort. `text` must not begin with blanks.
std::size_t NumberBytes(std::string_view text, bool human, const LocaleNumbers& numbers);
/// Returns an object that computes the sort keys of lines in the current locale. Returns null if the locale orders
/// lines as the C locale does. No keys are needed then. `order` must outlive the result.
std::unique_ptr<KeyMaker> MakeLocaleKeys(const LineOrder& order);
/// Returns an object that computes the sort keys of lines in the C locale, or null if sort keys bring no advantage.
/// `gpu` is true if a GPU may compare lines. The data that `order` refers to must outlive the result.
std::unique_ptr<KeyMaker> MakeKeys(const LineOrderView& order, bool gpu);

}  // namespace gpusort

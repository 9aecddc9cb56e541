// Lines in other locales than C: what a line is compared by becomes a string of bytes, made once, that any order of
// bytes serves. Text is collated by strxfrm; numbers, months and classes of characters are the locale's; versions and
// fields are as in C. Start at MakeLocaleKeys.
#pragma once

#include <memory>

#include "line_sorter.hpp"

namespace gpusort {

/// How numbers are written here.
struct LocaleNumbers {
  int decimal_point;        ///< '.' where the locale's is no single byte
  int thousands_separator;  ///< -1: none
  bool separator_too_long;  ///< the locale has one of several bytes
};
LocaleNumbers FindLocaleNumbers();

/// True if text is compared by strcoll's rules, so that --debug names them.
bool CollatesByLocale();

/// How many bytes of the text at the front are a month of this locale, behind blanks; 0: none.
std::size_t MonthBytes(std::string_view text);

/// Null if the current locale orders lines as C does. `order` must outlive the result. Prefixes are in the order of
/// bytes, reversed by ReversesFirst.
std::unique_ptr<LineKeyMaker> MakeLocaleKeys(const LineOrder& order);
bool ReversesFirst(const LineOrder& order);

}  // namespace gpusort

// Sort keys of lines as the user typed them, in the syntax of GNU sort (-k 2,2nr). Plain data; cli/key_def.hpp makes an
// order of lines from the keys. Start at KeyDef.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "kernels/lines/line_key.hpp"

namespace gpusort {

/// The options of GNU sort that say how to compare, such as n (numeric) and r (reverse). An option is given for one key
/// (-k 2n), or for all keys that have no options (-n).
struct KeyOptions {
  bool skip_start_blanks = false;
  bool skip_end_blanks = false;
  bool dictionary_order = false;
  bool ignore_nonprinting = false;
  bool fold_case = false;
  bool general = false;
  bool human = false;
  bool month = false;
  bool numeric = false;
  bool random = false;
  bool reverse = false;
  bool version = false;

  /// Returns true if no option is set.
  bool none() const { return *this == KeyOptions{}; }
  /// Returns the letters of the options that are set, such as "nr", in the order of GNU sort's messages.
  std::string letters() const;

  friend bool operator==(const KeyOptions&, const KeyOptions&) = default;
};

/// The letters of sort keys, and for each letter the member of KeyOptions that the letter sets. The order is that of
/// KeyOptions::letters(). The letter b is not here, because it can set two members.
inline constexpr std::pair<char, bool KeyOptions::*> kKeyLetters[] = {{'d', &KeyOptions::dictionary_order},
                                                                      {'f', &KeyOptions::fold_case},
                                                                      {'g', &KeyOptions::general},
                                                                      {'h', &KeyOptions::human},
                                                                      {'i', &KeyOptions::ignore_nonprinting},
                                                                      {'M', &KeyOptions::month},
                                                                      {'n', &KeyOptions::numeric},
                                                                      {'R', &KeyOptions::random},
                                                                      {'r', &KeyOptions::reverse},
                                                                      {'V', &KeyOptions::version}};

inline std::string KeyOptions::letters() const {
  std::string all = skip_start_blanks || skip_end_blanks ? "b" : "";
  for (const auto& [letter, member] : kKeyLetters) {
    if (this->*member && !(letter == 'i' && dictionary_order)) all += letter;  // the option d implies i
  }
  return all;
}

/// A sort key of lines: a piece of the line with a begin and an end. Each of them is given by a field and a character
/// in this field. LineKey says how fields and characters are counted.
struct KeyDef {
  std::uint64_t begin_field = 0;
  std::uint64_t begin_char = 0;
  std::uint64_t end_field = LineKey::kToEnd;
  std::uint64_t end_char = 0;
  KeyOptions options;
  bool obsolescent = false;  ///< true: the user wrote the key in the old form, +1.2 -2

  friend bool operator==(const KeyDef&, const KeyDef&) = default;
};

}  // namespace gpusort

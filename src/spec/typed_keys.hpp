// Sort keys of lines as the user typed them; key_def.hpp turns them into an order. Plain data. Start at KeyDef.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "kernels/lines/line_key.hpp"

namespace gpusort {

/// The letters of GNU sort that say how to compare, such as n and r, of a key or of the command line.
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

  /// Returns true if no letter is set. A key without letters inherits the letters of the command line.
  bool none() const { return *this == KeyOptions{}; }
  /// Returns the letters in the order that GNU sort's messages use. Has b if either end of the key has b. Has no i if d
  /// is set.
  std::string letters() const {
    const std::pair<bool, char> letters[] = {{skip_start_blanks || skip_end_blanks, 'b'},
                                             {dictionary_order, 'd'},
                                             {fold_case, 'f'},
                                             {general, 'g'},
                                             {human, 'h'},
                                             {ignore_nonprinting && !dictionary_order, 'i'},
                                             {month, 'M'},
                                             {numeric, 'n'},
                                             {random, 'R'},
                                             {reverse, 'r'},
                                             {version, 'V'}};
    std::string all;
    for (const auto& [given, letter] : letters) {
      if (given) all += letter;
    }
    return all;
  }

  friend bool operator==(const KeyOptions&, const KeyOptions&) = default;
};

/// A key of lines as typed. Fields and characters are counted as in LineKey.
struct KeyDef {
  std::uint64_t begin_field = 0;
  std::uint64_t begin_char = 0;
  std::uint64_t end_field = LineKey::kToEnd;
  std::uint64_t end_char = 0;
  KeyOptions options;
  bool obsolescent = false;  ///< true: the user wrote the key in the old form, +F.C -F.C

  friend bool operator==(const KeyDef&, const KeyDef&) = default;
};

}  // namespace gpusort

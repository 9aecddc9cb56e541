// Keys of lines as typed, before they are resolved into an order. Both grammars fill them in, and the warnings about
// doubtful keys read them.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/lines/line_order.hpp"

namespace gpusort {

/// The ordering letters of a key or of the command line, as typed.
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

  /// True if a key with these options takes over those of the command line.
  bool none() const { return *this == KeyOptions{}; }
  /// Returns the letters in GNU's order, with b if either end has it, and without i if there is d.
  std::string letters() const;

  friend bool operator==(const KeyOptions&, const KeyOptions&) = default;
};

/// One key as typed, counted as LineKey counts.
struct KeyDef {
  std::uint64_t begin_field = 0;
  std::uint64_t begin_char = 0;
  std::uint64_t end_field = LineKey::kToEnd;
  std::uint64_t end_char = 0;
  KeyOptions options;
  bool obsolescent = false;  ///< written as +F.C -F.C

  friend bool operator==(const KeyDef&, const KeyDef&) = default;
};

}  // namespace gpusort

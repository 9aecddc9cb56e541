// Turns the sort keys of lines into a LineOrder: -k F[.C][OPTS][,F[.C][OPTS]], the old form +F.C -F.C, and letters such
// as -n of the command line. Keys are parsed one by one, and then resolved together, because they inherit the letters
// of the command line. Mistakes are thrown as Error(kUsage) in the words of GNU sort, without "sort: ".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/lines/line_key.hpp"
#include "spec/typed_keys.hpp"

namespace gpusort {

/// The end of a key at which the letter b skips blanks: its start, its end, or both.
enum class KeyEnd { kStart, kEnd, kBoth };

/// Reads the letters (bdfghiMnRrV) at the beginning of `text` and sets their members of `options`. `end` says which end
/// of the key the letter b is for. Returns the number of letters.
std::size_t AddOrderingLetters(std::string_view text, KeyEnd end, KeyOptions& options);

/// Parses the operand of -k. Numbers of 2^64 or more count as 2^64 - 1.
KeyDef ParseKeyDef(const std::string& text);

/// Parses a key in the old form. `start` is "+F[.C][OPTS]", and `end` is "-F[.C][OPTS]" if it has a value. Returns
/// std::nullopt if `start` is no such key; the words are then names of files. The caller must first make sure that such
/// keys are allowed.
std::optional<KeyDef> ParseObsolescentKey(const std::string& start, const std::optional<std::string>& end);

/// Returns `keys` with all their options: a key without options gets `global`, the options of the command line. If
/// there are no keys, `global` becomes a key of the whole line. Throws an error such as "options '-gn' are
/// incompatible".
std::vector<KeyDef> ResolveKeys(std::vector<KeyDef> keys, const KeyOptions& global);

/// Returns the order of lines by the keys `resolved`, which ResolveKeys() has returned. `separator` is the byte of -t,
/// or -1. If `last_resort` is true (neither -s nor -u was given), lines with equal keys are compared as a whole.
LineOrder MakeLineOrder(const std::vector<KeyDef>& resolved, const KeyOptions& global, int separator, bool last_resort);

}  // namespace gpusort

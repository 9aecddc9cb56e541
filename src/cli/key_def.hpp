// Makes an order of lines from sort keys in the syntax of GNU sort, such as -k 2.3n,2 or the old form +1.2n -2.
// Mistakes are thrown as Error(kUsage) in the words of GNU sort, without "sort: ".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/lines/line_key.hpp"
#include "spec/typed_keys.hpp"

namespace gpusort {

/// The side of a sort key on which the letter b skips blanks: its start (-k 2b,3), its end (-k 2,3b), or both.
enum class KeyEnd { kStart, kEnd, kBoth };

/// Adds the letters (bdfghiMnRrV) at the beginning of `text` to `options`. Returns the number of letters.
/// - end: the ends of the sort key at which the letter b skips blanks
std::size_t AddOrderingLetters(std::string_view text, KeyEnd end, KeyOptions& options);

/// Parses the operand of -k, in the syntax of GNU sort. Numbers of 2^64 or more count as 2^64 - 1.
KeyDef ParseKeyDef(const std::string& text);

/// Parses a sort key in the old form of GNU sort, such as +1.2n -2: the word `start`, and the word `end` if there is
/// one. Returns std::nullopt if `start` is the name of a file. Call this only where old keys are allowed.
std::optional<KeyDef> ParseObsolescentKey(const std::string& start, const std::optional<std::string>& end);

/// Returns `keys`. A key without options, such as n for numbers, gets the options `global`.
/// - If `keys` is empty and `global` has an option other than -r, returns one key for the whole line.
/// - Throws Error(kUsage) if options contradict each other: "options '-gn' are incompatible".
std::vector<KeyDef> ResolveKeys(std::vector<KeyDef> keys, const KeyOptions& global);

/// Returns the order of lines by the keys `resolved`, the result of ResolveKeys().
/// - `global`: the options that belong to no key. -r reverses the comparison of whole lines.
/// - `separator`: the byte of the option -t, or -1 if fields end at blanks.
/// - `last_resort`: true if lines with equal keys are compared as a whole (neither -s nor -u was given).
LineOrder MakeLineOrder(const std::vector<KeyDef>& resolved, const KeyOptions& global, int separator, bool last_resort);

}  // namespace gpusort

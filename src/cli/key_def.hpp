// Makes an order of lines from sort keys in the syntax of GNU sort: -k 2.3n,2, the old form +1.2n -2, and options such
// as -n that belong to no key. Each key is parsed alone. Then all keys are completed, because a key without letters
// takes the letters of options such as -n. Mistakes are thrown as Error(kUsage) in the words of GNU sort, without
// "sort: ".
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

/// Reads the letters (bdfghiMnRrV) at the beginning of `text`, and sets the members of `options` that these letters
/// stand for. `end` says where the letter b skips blanks: at the start of the key, at its end, or at both. Returns how
/// many letters were read.
std::size_t AddOrderingLetters(std::string_view text, KeyEnd end, KeyOptions& options);

/// Parses the operand of -k, in the syntax of GNU sort. Numbers of 2^64 or more count as 2^64 - 1.
KeyDef ParseKeyDef(const std::string& text);

/// Parses a sort key in the old form of GNU sort, +1.2n -2. `start` is the first word, and `end` the second word, if
/// there is one. Returns std::nullopt if `start` is not such a key; the words are then names of files. The caller must
/// first make sure that such keys are allowed.
std::optional<KeyDef> ParseObsolescentKey(const std::string& start, const std::optional<std::string>& end);

/// Returns `keys` with completed letters: a key without letters gets `global`, the letters that belong to no key, such
/// as -n. If `keys` is empty, returns one key for the whole line, with the letters `global`. Throws Error(kUsage) if
/// letters contradict each other: "options '-gn' are incompatible".
std::vector<KeyDef> ResolveKeys(std::vector<KeyDef> keys, const KeyOptions& global);

/// Returns the order of lines by the keys `resolved`, which ResolveKeys() has returned. `separator` is the byte of the
/// option -t, or -1 if fields end at blanks. If `last_resort` is true (neither -s nor -u was given), lines with equal
/// keys are compared as a whole. `global` has the letters that belong to no key; its letter r reverses the comparison
/// of whole lines.
LineOrder MakeLineOrder(const std::vector<KeyDef>& resolved, const KeyOptions& global, int separator, bool last_resort);

}  // namespace gpusort

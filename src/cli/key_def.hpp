// The order of lines as users of sort write it: KEYDEFs (-k F[.C][OPTS][,F[.C][OPTS]]), the ordering letters of the
// command line, and the obsolescent +F.C -F.C. Keys are parsed one by one, resolved together (inheritance,
// compatibility), and become a LineOrder. Mistakes are Error(kUsage) in GNU sort's words, without "sort: ". Start at
// ParseKeyDef.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/lines/line_order.hpp"
#include "spec/typed_keys.hpp"

namespace gpusort {

/// The end of a key that a letter b applies to.
enum class KeyEnd { kStart, kEnd, kBoth };

/// Adds the ordering letters (bdfghiMnRrV) at the beginning of `text`, and returns their number.
std::size_t AddOrderingLetters(std::string_view text, KeyEnd end, KeyOptions& options);

/// Parses the operand of -k. Larger numbers count as 2^64 - 1.
KeyDef ParseKeyDef(const std::string& text);

/// Parses "+F[.C][OPTS]" and, if `end` is set, "-F[.C][OPTS]". Returns std::nullopt if `start` is not such a key: GNU
/// sort then reads it as a file, and leaves `end` alone. The caller decides whether such operands are keys at all.
std::optional<KeyDef> ParseObsolescentKey(const std::string& start, const std::optional<std::string>& end);

/// Returns the keys with the options that hold for them. Keys without options get `global`. Without keys, `global`
/// becomes a key of the whole line. Throws "options '-gn' are incompatible".
std::vector<KeyDef> ResolveKeys(std::vector<KeyDef> keys, const KeyOptions& global);

/// The order that resolved keys mean. `last_resort`: neither -s nor -u. `separator`: -t, or -1.
LineOrder MakeLineOrder(const std::vector<KeyDef>& resolved, const KeyOptions& global, int separator, bool last_resort);

}  // namespace gpusort

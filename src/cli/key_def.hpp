// What sort's users write about order: KEYDEFs (-k F[.C][OPTS][,F[.C][OPTS]]), the ordering letters of the command
// line, and the obsolescent +F.C -F.C. Keys are parsed one by one, resolved together (inheritance, compatibility), and
// become a LineOrder. Mistakes are Error(kUsage) in GNU sort's words, without "sort: " in front. Start at ParseKeyDef.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/lines/line_order.hpp"
#include "spec/typed_keys.hpp"

namespace gpusort {

/// The end of a key that a letter b speaks of.
enum class KeyEnd { kStart, kEnd, kBoth };

/// Adds the ordering letters (bdfghiMnRrV) at the front of `text` and returns how many there are.
std::size_t AddOrderingLetters(std::string_view text, KeyEnd end, KeyOptions& options);

/// The operand of -k. Numbers beyond 2^64 - 1 count as that.
KeyDef ParseKeyDef(const std::string& text);

/// "+F[.C][OPTS]" and, if it follows, "-F[.C][OPTS]". Nothing if `start` is no such key: GNU sort takes it for a file
/// then, and leaves `end` alone. When such operands are keys at all is the command line's business.
std::optional<KeyDef> ParseObsolescentKey(const std::string& start, const std::optional<std::string>& end);

/// The keys as they apply: those without options take over `global`, and `global` alone becomes a key of the whole
/// line. Throws "options '-gn' are incompatible".
std::vector<KeyDef> ResolveKeys(std::vector<KeyDef> keys, const KeyOptions& global);

/// The order that resolved keys mean. `last_resort`: neither -s nor -u. `separator`: -t, or -1.
LineOrder MakeLineOrder(const std::vector<KeyDef>& resolved, const KeyOptions& global, int separator, bool last_resort);

}  // namespace gpusort

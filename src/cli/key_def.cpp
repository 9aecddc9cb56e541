#include "cli/key_def.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/gnu_quote.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void FailSpec(const std::string& why, const std::string& spec) {
  throw Error(ErrorCode::kUsage, why + ": invalid field specification " + QuoteWord(spec));
}

/// Reads a number at offset `at` of `text` as strtoumax does: white space and '+' may precede it. Moves `at` after the
/// number. Returns std::nullopt if there is no number.
std::optional<std::uint64_t> TakeCount(const std::string& text, std::size_t& at) {
  std::size_t i = text.find_first_not_of(" \t\n\v\f\r", at);
  if (i != std::string::npos && text[i] == '+') ++i;
  std::uint64_t count = 0;
  const std::size_t first = i;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    const auto digit = static_cast<std::uint64_t>(text[i] - '0');
    count = count > (kMax - digit) / 10 ? kMax : count * 10 + digit;
  }
  if (i == first || i == std::string::npos) return std::nullopt;
  at = i;
  return count;
}

std::uint64_t NeedCount(const std::string& text, std::size_t& at, const std::string& why) {
  const std::optional<std::uint64_t> count = TakeCount(text, at);
  if (!count) {
    throw Error(ErrorCode::kUsage, why + ": invalid count at start of " + QuoteWord(text.substr(at)));
  }
  return *count;
}

bool TakeChar(const std::string& text, std::size_t& at, char c) {
  if (at >= text.size() || text[at] != c) return false;
  ++at;
  return true;
}

std::size_t TakeLetters(const std::string& text, std::size_t at, KeyEnd end, KeyOptions& options) {
  return at + AddOrderingLetters(std::string_view(text).substr(at), end, options);
}

void CheckCompatible(KeyOptions options) {
  const bool ignores = options.dictionary_order || options.ignore_nonprinting;
  const int kinds = options.numeric + options.general + options.human + options.month +
                    (options.version || options.random || ignores);
  if (kinds <= 1) return;
  options.skip_start_blanks = options.skip_end_blanks = options.reverse = false;
  throw Error(ErrorCode::kUsage, "options '-" + options.letters() + "' are incompatible");
}

LineKey MakeLineKey(const KeyDef& def) {
  const KeyOptions& options = def.options;
  LineKey key;
  key.begin_field = def.begin_field;
  key.begin_char = def.begin_char;
  key.end_field = def.end_field;
  key.end_char = def.end_char;
  key.skip_start_blanks = options.skip_start_blanks;
  key.skip_end_blanks = options.skip_end_blanks;
  key.dictionary_order = options.dictionary_order;
  key.ignore_nonprinting = options.ignore_nonprinting;
  key.fold_case = options.fold_case;
  key.reverse = options.reverse;
  // -R may be combined with -V, and takes precedence.
  key.ordering = options.numeric   ? LineOrdering::kNumeric
                 : options.general ? LineOrdering::kGeneral
                 : options.human   ? LineOrdering::kHuman
                 : options.month   ? LineOrdering::kMonth
                 : options.random  ? LineOrdering::kRandom
                 : options.version ? LineOrdering::kVersion
                                   : LineOrdering::kBytes;
  return key;
}

}  // namespace

std::size_t AddOrderingLetters(std::string_view text, KeyEnd end, KeyOptions& options) {
  std::size_t taken = 0;
  for (; taken < text.size(); ++taken) {
    const auto is_letter = [&](const auto& known) { return known.first == text[taken]; };
    const auto* const found = std::ranges::find_if(kKeyLetters, is_letter);
    if (found != std::end(kKeyLetters)) {
      options.*found->second = true;
    } else if (text[taken] == 'b') {
      options.skip_start_blanks |= end != KeyEnd::kEnd;
      options.skip_end_blanks |= end != KeyEnd::kStart;
    } else {
      break;
    }
  }
  return taken;
}

KeyDef ParseKeyDef(const std::string& text) {
  KeyDef key;
  std::size_t at = 0;
  const std::string no_field = "field number is zero";
  key.begin_field = NeedCount(text, at, "invalid number at field start");
  if (key.begin_field-- == 0) FailSpec(no_field, text);
  if (TakeChar(text, at, '.')) {
    key.begin_char = NeedCount(text, at, "invalid number after '.'");
    if (key.begin_char-- == 0) FailSpec("character offset is zero", text);
  }
  at = TakeLetters(text, at, KeyEnd::kStart, key.options);
  if (TakeChar(text, at, ',')) {
    key.end_field = NeedCount(text, at, "invalid number after ','");
    if (key.end_field-- == 0) FailSpec(no_field, text);
    if (TakeChar(text, at, '.')) key.end_char = NeedCount(text, at, "invalid number after '.'");
    at = TakeLetters(text, at, KeyEnd::kEnd, key.options);
  }
  if (at != text.size()) FailSpec("stray character in field spec", text);
  return key;
}

std::optional<KeyDef> ParseObsolescentKey(const std::string& start, const std::optional<std::string>& end) {
  if (start.empty() || start[0] != '+') return std::nullopt;
  KeyDef key;
  key.obsolescent = true;
  std::size_t at = 1;
  std::optional<std::uint64_t> count = TakeCount(start, at);
  if (!count) return std::nullopt;
  key.begin_field = *count;
  if (TakeChar(start, at, '.')) {
    count = TakeCount(start, at);
    if (!count) return std::nullopt;
    key.begin_char = *count;
  }
  if (TakeLetters(start, at, KeyEnd::kStart, key.options) != start.size()) return std::nullopt;
  // In GNU sort the greatest number means "from the beginning of the line", and a user can type it here.
  if (key.begin_field == kMax) key.begin_field = key.begin_char = 0;
  if (!end) return key;

  at = 1;
  key.end_field = NeedCount(*end, at, "invalid number after '-'");
  if (TakeChar(*end, at, '.')) key.end_char = NeedCount(*end, at, "invalid number after '.'");
  // +A -B ends at the beginning of field B, which is the end of field B - 1.
  if (key.end_char == 0 && key.end_field != 0) --key.end_field;
  if (TakeLetters(*end, at, KeyEnd::kEnd, key.options) != end->size()) FailSpec("stray character in field spec", *end);
  return key;
}

std::vector<KeyDef> ResolveKeys(std::vector<KeyDef> keys, const KeyOptions& global) {
  for (KeyDef& key : keys) {
    if (key.options.none()) key.options = global;
  }
  KeyOptions order = global;
  order.reverse = false;  // -r alone reverses the comparison of whole lines
  if (keys.empty() && !order.none()) {
    keys.emplace_back();
    keys.back().options = global;
  }
  for (const KeyDef& key : keys) CheckCompatible(key.options);
  return keys;
}

LineOrder MakeLineOrder(const std::vector<KeyDef>& resolved, const KeyOptions& global, int separator,
                        bool last_resort) {
  LineOrder order;
  for (const KeyDef& key : resolved) order.keys.push_back(MakeLineKey(key));
  order.separator = separator;
  order.last_resort = last_resort;
  order.last_resort_reverse = global.reverse;
  return order;
}

}  // namespace gpusort

#include "cli/debug_warnings.hpp"

#include <clocale>

#include "base/gnu_quote.hpp"
#include "cli/key_def.hpp"
#include "formats/locale_keys.hpp"

namespace gpusort {
namespace {

bool Numeric(const KeyOptions& options) { return options.numeric || options.general || options.human; }

std::string Quoted(int byte) { return QuoteWord(std::string(1, static_cast<char>(byte))); }

/// "obsolescent key '+1 -2' used; consider '-k 2,2' instead".
std::string Modern(const KeyDef& key) {
  std::string old = std::string(1, '+').append(std::to_string(key.begin_field));
  std::string modern = "-k " + std::to_string(key.begin_field + 1);
  if (key.end_field != LineKey::kToEnd) {
    old += " -" + std::to_string(key.end_field + 1);
    modern += ',';
    modern += std::to_string(key.end_field + 1 + (key.end_char == LineKey::kToEnd));
  }
  return "obsolescent key " + QuoteWord(old) + " used; consider " + QuoteWord(modern) + " instead";
}

/// Returns those letters of the command line, such as -n, that no key uses.
KeyOptions Unused(KeyOptions ordering, const std::vector<KeyDef>& keys) {
  for (const KeyDef& key : keys) {
    const KeyOptions& taken = key.options;
    const bool same_ignore =
        ordering.dictionary_order ? taken.dictionary_order : taken.ignore_nonprinting && !taken.dictionary_order;
    if (same_ignore) ordering.dictionary_order = ordering.ignore_nonprinting = false;
    ordering.skip_start_blanks &= !taken.skip_start_blanks;
    ordering.skip_end_blanks &= !taken.skip_end_blanks;
    for (const auto& [letter, member] : kKeyLetters) {
      if (letter != 'd' && letter != 'i') ordering.*member &= !(taken.*member);
    }
  }
  return ordering;
}

}  // namespace

std::vector<std::string> DebugWarnings(const TypedOrder& options, bool locale_set) {
  const std::vector<KeyDef> keys = ResolveKeys(options.keys, options.ordering);
  std::vector<std::string> said;
  if (!locale_set) said.emplace_back("failed to set locale");
  said.push_back(CollatesByLocale() ? "text ordering performed using " +
                                          QuoteWord(std::setlocale(LC_COLLATE, nullptr)) + " sorting rules"
                                    : "text ordering performed using simple byte comparison");

  const bool typed = !options.keys.empty();
  bool decimal = false, decimal_spans = false, general = false, general_spans = false;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const KeyDef& key = keys[i];
    const std::string number = std::to_string(i + 1);
    if (key.obsolescent) said.push_back(Modern(key));
    const bool from_start = key.begin_field == 0 && key.begin_char == 0;
    const bool zero_width = !from_start && key.end_field < key.begin_field;
    if (zero_width) said.push_back("key " + number + " has zero width and will be ignored");
    const bool numeric = Numeric(key.options);
    const bool skips = numeric || key.options.month;
    const bool within_first = key.end_field == 0 && key.end_char != 0;
    if (typed && !zero_width && options.separator < 0 && !within_first &&
        ((!key.options.skip_start_blanks && (!skips || key.begin_char != 0)) ||
         (!key.options.skip_end_blanks && key.end_char != 0))) {
      said.push_back("leading blanks are significant in key " + number + "; consider also specifying 'b'");
    }
    if (!numeric) continue;
    general |= key.options.general;
    decimal |= !key.options.general;
    const std::uint64_t begin = from_start ? 1 : key.begin_field + 1;
    const std::uint64_t end = key.end_field + 1;  // 0: the end of the line
    if (typed && (end == 0 || begin < end)) {
      said.push_back("key " + number + " is numeric and spans multiple fields");
      (key.options.general ? general_spans : decimal_spans) = true;
    }
  }

  const LocaleNumbers numbers = FindLocaleNumbers();
  const auto divides = [&](int byte) {
    return options.separator < 0 ? byte >= 0 && detail::IsBlank(static_cast<unsigned>(byte))
                                 : options.separator == byte;
  };
  bool locale_said = false;
  if (decimal_spans && divides(numbers.thousands_separator)) {
    said.push_back("field separator " + Quoted(numbers.thousands_separator) +
                   " is treated as a group separator in numbers");
    locale_said = true;
  }
  if (decimal_spans || general_spans) {
    if (divides(numbers.decimal_point)) {
      said.push_back("field separator " + Quoted(numbers.decimal_point) + " is treated as a decimal point in numbers");
      locale_said = true;
    } else if (options.separator == '-') {
      said.push_back("field separator " + Quoted('-') + " is treated as a minus sign in numbers");
    } else if (general_spans && options.separator == '+') {
      said.push_back("field separator " + Quoted('+') + " is treated as a plus sign in numbers");
    }
  }
  if ((decimal || general) && !locale_said) {
    said.push_back("numbers use " + Quoted(numbers.decimal_point) + " as a decimal point in this locale");
  }

  if (decimal && numbers.separator_too_long) {
    said.emplace_back("the multi-byte number group separator in this locale is not supported");
  }

  KeyOptions unused = Unused(options.ordering, keys);
  const bool last_resort = !options.stable && !options.unique;
  const bool reverse = unused.reverse;
  if (last_resort || keys.empty()) unused.reverse = false;
  if (!unused.none()) {
    const std::string letters = unused.letters();
    said.push_back(letters.size() == 1 ? "option '-" + letters + "' is ignored"
                                       : "options '-" + letters + "' are ignored");
  }
  if (reverse && last_resort && !keys.empty()) said.emplace_back("option '-r' only applies to last-resort comparison");
  return said;
}

}  // namespace gpusort

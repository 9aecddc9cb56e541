#include "sort_debug.hpp"

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <cwchar>
#include <cwctype>
#include <string_view>

#include "gnu_quote.hpp"
#include "locale_keys.hpp"

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

/// What the command line orders that no key takes over.
KeyOptions Unused(KeyOptions ordering, const std::vector<KeyDef>& keys) {
  for (const KeyDef& key : keys) {
    const KeyOptions& taken = key.options;
    const bool same_ignore =
        ordering.dictionary_order ? taken.dictionary_order : taken.ignore_nonprinting && !taken.dictionary_order;
    if (same_ignore) ordering.dictionary_order = ordering.ignore_nonprinting = false;
    ordering.skip_start_blanks &= !taken.skip_start_blanks;
    ordering.skip_end_blanks &= !taken.skip_end_blanks;
    ordering.fold_case &= !taken.fold_case;
    ordering.general &= !taken.general;
    ordering.human &= !taken.human;
    ordering.month &= !taken.month;
    ordering.numeric &= !taken.numeric;
    ordering.random &= !taken.random;
    ordering.reverse &= !taken.reverse;
    ordering.version &= !taken.version;
  }
  return ordering;
}

/// Columns of text on a terminal; a tab, shown as '>', takes one.
std::size_t Columns(std::string_view text) {
  std::size_t columns = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\t'));
  std::mbstate_t state{};
  while (!text.empty()) {
    wchar_t c = 0;
    std::size_t bytes = std::mbrtowc(&c, text.data(), text.size(), &state);
    if (bytes > text.size()) {
      // What is no character takes a column a byte; what is cut off, one column in all.
      const bool cut = bytes == static_cast<std::size_t>(-2);
      state = {};
      bytes = cut ? text.size() : 1;
      ++columns;
    } else {
      bytes = std::max<std::size_t>(bytes, 1);
      const int width = ::wcwidth(c);
      columns += width >= 0 ? static_cast<std::size_t>(width) : std::iswcntrl(static_cast<std::wint_t>(c)) == 0;
    }
    text.remove_prefix(bytes);
  }
  return columns;
}

/// How many bytes at the front of `text` -n or -h read as a number; blanks are skipped already.
std::size_t NumberBytes(std::string_view text, bool human) {
  const LocaleNumbers numbers = FindLocaleNumbers();
  const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  const auto is = [&](std::size_t i, int c) { return i < text.size() && static_cast<unsigned char>(text[i]) == c; };
  std::size_t at = is(0, '-') ? 1 : 0;
  bool any = false;
  bool unit = human;
  while (digit(at)) {
    any = true;
    ++at;
    if (!is(at, numbers.thousands_separator)) continue;
    if (!digit(at + 1)) {
      unit = false;
      break;
    }
    ++at;
  }
  if (!is(at, numbers.thousands_separator) && is(at, numbers.decimal_point)) {
    ++at;
    for (; digit(at); ++at) any = true;
  }
  if (!any) return 0;
  if (unit && at < text.size() && std::string_view("KkMGTPEZYRQ").find(text[at]) != std::string_view::npos) ++at;
  return at;
}

/// The part of a key that its ordering reads.
KeyRange Read(const Byte* line, std::uint64_t length, const LineKey& key, int separator) {
  KeyRange range = FindKey(line, length, key, separator);
  const bool number = key.ordering == LineOrdering::kNumeric || key.ordering == LineOrdering::kHuman ||
                      key.ordering == LineOrdering::kGeneral;
  if (!number && key.ordering != LineOrdering::kMonth) return range;
  // GNU sort looks for the number behind the blanks even if the key ends before it begins.
  LineKey from_start = key;
  from_start.begin_field = from_start.begin_char = 0;
  from_start.skip_start_blanks = false;
  const bool ends_first = FindKey(line, length, from_start, separator).end < range.begin;
  range.begin = detail::SkipBlanks(line, range.begin, ends_first ? length : range.end);
  range.end = std::max(range.begin, range.end);
  const std::string text(reinterpret_cast<const char*>(line) + range.begin, range.size());
  std::size_t bytes = 0;
  if (key.ordering == LineOrdering::kMonth) {
    bytes = MonthBytes(text);
  } else if (key.ordering == LineOrdering::kGeneral) {
    char* end = nullptr;
    std::strtold(text.c_str(), &end);
    bytes = static_cast<std::size_t>(end - text.c_str());
  } else {
    bytes = NumberBytes(text, key.ordering == LineOrdering::kHuman);
  }
  range.end = range.begin + bytes;
  return range;
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

namespace {

void Mark(const Byte* line, KeyRange range, std::string& out) {
  const std::string_view text(reinterpret_cast<const char*>(line), range.end);
  out.append(Columns(text.substr(0, range.begin)), ' ');
  const std::size_t columns = Columns(text.substr(range.begin));
  out += columns > 0 ? std::string(columns, '_') : "^ no match for key";
  out += '\n';
}

}  // namespace

void Annotator::Append(RecordSpan line, std::string& out) const {
  const Byte* const bytes = AsBytes(line.data());
  const std::uint64_t length = line.size() - 1;
  const std::size_t begin = out.size();
  out.append(reinterpret_cast<const char*>(bytes), length);
  std::replace(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), '\t', '>');
  out += '\n';
  for (const LineKey& key : order_.keys) Mark(bytes, Read(bytes, length, key, order_.separator), out);
  if (whole_line_) Mark(bytes, {0, length}, out);
}

}  // namespace gpusort

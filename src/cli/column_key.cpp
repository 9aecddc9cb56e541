#include "cli/column_key.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/did_you_mean.hpp"
#include "base/gnu_quote.hpp"
#include "cli/option_values.hpp"
#include "formats/curve_key.hpp"
#include "formats/text_reader.hpp"
#include "formats/value_key.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

[[noreturn]] void Fail(std::string_view key, const std::string& why) {
  throw Error(ErrorCode::kUsage, "invalid key " + QuoteWord(key) + ": " + why);
}

/// Removes the name in double quotes from the front of `text`, and returns it without the quotes.
std::string TakeQuoted(std::string_view key, std::string_view& text) {
  std::string name;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"' && (i + 1 == text.size() || text[i + 1] != '"')) {
      text.remove_prefix(i + 1);
      return name;
    }
    if (text[i] == '"') ++i;
    name += text[i];
  }
  Fail(key, "its name has no closing quote");
}

/// Returns the size of the name at the front of `text`, which ends at a colon. Parts of the name in double quotes, as
/// in "my schema"."t".id, may contain colons.
std::size_t NameSize(std::string_view text) {
  bool open = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!open && text[i] == ':') return i;
    if (text[i] != '"') continue;
    if (!open) {
      open = i == 0 || text[i - 1] == '.';
    } else if (i + 1 < text.size() && text[i + 1] == '"') {
      ++i;
    } else {
      open = false;
    }
  }
  return open ? std::min(text.find(':'), text.size()) : text.size();
}

/// The types that text in brackets follows: a format, words, or the file of an order.
constexpr std::string_view kBracketTypes[] = {"timestamp", "date", "enum", "set", "order"};

/// Returns the name of the type if `text` begins with the type and a bracket. Otherwise returns an empty text.
std::string_view BracketType(std::string_view text) {
  for (const std::string_view name : kBracketTypes) {
    if (text.starts_with(name) && text.substr(name.size()).starts_with('(')) return name;
  }
  return {};
}

/// Removes the text up to the next colon from the front of `text`, and returns it.
std::string_view TakePart(std::string_view& text) {
  std::size_t size = std::min(text.find(':'), text.size());
  if (!BracketType(text).empty()) {
    // The text in brackets may contain colons and brackets.
    for (std::size_t at = text.rfind(')'); at != std::string_view::npos;
         at = at == 0 ? at - 1 : text.rfind(')', at - 1)) {
      if (at + 1 != text.size() && text[at + 1] != ':') continue;
      size = at + 1;
      break;
    }
  }
  const std::string_view part = text.substr(0, size);
  text.remove_prefix(size);
  return part;
}

/// Returns the words of an enum or a set: texts between commas, or SQL strings in single quotes.
std::vector<std::string> ParseLabels(std::string_view key, ValueType type, std::string_view text) {
  const bool set = type == ValueType::kSet;
  const std::string name = set ? "set" : "enum";
  if (text.empty()) {
    Fail(key, set ? "a set needs its words, the least first: set(read,write,run)"
                  : "an enum needs its words, the least first: enum(low,medium,high)");
  }
  std::vector<std::string> labels;
  for (bool more = true; more;) {
    std::string label;
    while (text.starts_with(' ')) text.remove_prefix(1);
    if (text.starts_with('\'')) {
      std::size_t at = 1;
      for (; at < text.size() && (text[at] != '\'' || text.substr(at + 1).starts_with('\'')); ++at) {
        label += text[at];
        at += text[at] == '\'';
      }
      if (at >= text.size()) Fail(key, "a word of the " + name + " has no closing quote");
      text.remove_prefix(at + 1);
      if (!text.empty() && text[0] != ',') Fail(key, "there is no comma after a word of the " + name);
    } else {
      label = text.substr(0, text.find(','));
      text.remove_prefix(label.size());
    }
    if (label.empty()) Fail(key, "a word of the " + name + " is empty");
    if (std::ranges::find(labels, label) != labels.end())
      Fail(key, "the " + name + " has " + QuoteWord(label) + " twice");
    if (set && label.find(',') != label.npos) Fail(key, "a word of the set has a comma");
    labels.push_back(std::move(label));
    if (set && labels.size() > kMostInSet) Fail(key, "a set has at most " + std::to_string(kMostInSet) + " words");
    more = !text.empty();
    if (more) text.remove_prefix(1);
  }
  return labels;
}

/// The words after the column of a key: a type, a direction and the place of nulls.
class KeyWords {
 public:
  /// Adds the words to `rule`. `key` is the whole key, for messages.
  KeyWords(std::string_view key, ValueRule& rule) : key_(key), rule_(rule) {}

  /// Adds a word. Returns false if the word is not known. Throws if a word of its kind was added before.
  bool Add(std::string_view word) {
    const std::string_view bracketed = word.ends_with(')') ? BracketType(word) : std::string_view();
    if (const std::optional<ValueType> type = FindValueType(bracketed.empty() ? word : bracketed)) {
      if (rule_.typed) Fail(key_, "a second type, " + QuoteWord(word));
      rule_.type = *type;
      rule_.typed = true;
      std::string_view inside;
      if (!bracketed.empty()) inside = word.substr(bracketed.size() + 1, word.size() - bracketed.size() - 2);
      if (HasLabels(rule_.type)) {
        rule_.labels = ParseLabels(key_, rule_.type, inside);
      } else if (rule_.type == ValueType::kOrder) {
        if (inside.empty()) Fail(key_, "an order needs a file with its values, one a line: order(FILE)");
        rule_.order_file = inside;
      } else if (!bracketed.empty()) {
        rule_.time_format = inside;
        if (inside.empty()) Fail(key_, "an empty time format");
      }
    } else if (word == "asc" || word == "desc") {
      if (directed_) Fail(key_, "a second direction, " + QuoteWord(word));
      rule_.descending = word == "desc";
      directed_ = true;
    } else if (word == "nulls-first" || word == "nulls-last") {
      if (rule_.nulls_first) Fail(key_, "a second place for nulls, " + QuoteWord(word));
      rule_.nulls_first = word == "nulls-first";
    } else {
      return false;
    }
    return true;
  }
  /// Returns the known words that resemble `word`, for messages.
  static std::string Nearest(std::string_view word) {
    std::vector<std::string> words{"asc", "desc", "nulls-first", "nulls-last"};
    std::istringstream names(ValueTypeNames());
    for (std::string name; names >> name;) words.push_back(name.substr(0, name.find(',')));
    return DidYouMean(word, words);
  }

 private:
  const std::string_view key_;
  ValueRule& rule_;
  bool directed_ = false;
};

/// Adds the words in `rest`. Each word follows a colon.
void TakeWords(std::string_view key, std::string_view rest, KeyWords& words) {
  while (!rest.empty()) {
    if (rest[0] != ':') Fail(key, QuoteWord(rest) + " after the closing quote of its name");
    rest.remove_prefix(1);
    const std::string_view part = TakePart(rest);
    if (words.Add(part)) continue;
    Fail(key, "unknown " + QuoteWord(part) + KeyWords::Nearest(part) + "; a column may be followed by a type (" +
                  ValueTypeNames() +
                  ", date(FORMAT) or timestamp(FORMAT)), asc or desc, and nulls-first or nulls-last; put a name with "
                  "colons in double quotes");
  }
}

/// Returns the text after the last colon of `text`. If `text` ends with a type and its text in brackets, returns these.
/// A FORMAT must contain a %, the words of an enum or a set a comma, and the name of a file no character that is
/// special in regular expressions (except the dot), so that no group of a regular expression is taken for them. Returns
/// `text` itself if there is no such part.
std::string_view LastPart(std::string_view text) {
  if (!text.ends_with(')')) {
    const std::size_t colon = text.rfind(':');
    return colon == text.npos ? text : text.substr(colon + 1);
  }
  for (const std::string_view name : kBracketTypes) {
    const std::size_t colon = text.rfind(":" + std::string(name) + "(");
    if (colon == text.npos) continue;
    const std::string_view inside = text.substr(colon + name.size() + 2);
    const char mark = name == "enum" || name == "set" ? ',' : '%';
    const bool is_type =
        name == "order" ? inside.find_first_of("\\^$|?*+[]{}(") == inside.npos : inside.find(mark) != inside.npos;
    if (is_type) return text.substr(colon + 1);
  }
  return text;
}

/// Returns the regular expression of the key ~RE. Removes the words at its end, such as a type, and adds them to
/// `words`. `rest` is the text after the tilde.
std::string_view TakePattern(std::string_view key, std::string_view rest, KeyWords& words) {
  for (;;) {
    const std::string_view part = LastPart(rest);
    if (part.size() == rest.size()) break;
    if (words.Add(part)) {
      rest.remove_suffix(part.size() + 1);
      continue;
    }
    const bool word = std::ranges::all_of(part, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
    constexpr std::size_t kLeast = 3;  // shorter words resemble many others
    const std::string nearest = word && part.size() >= kLeast ? KeyWords::Nearest(part) : "";
    if (nearest.empty()) break;
    Fail(key, "unknown " + QuoteWord(part) + nearest + "; a colon of the regular expression before such a word is " +
                  "written [:]");
  }
  if (rest.empty()) Fail(key, "it has no regular expression");
  return rest;
}

/// Removes the digits from the front of `text` and returns their number. Throws an error if there are none, or if they
/// are 0.
std::uint64_t TakeField(std::string_view key, std::string_view& text) {
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number == 0) Fail(key, "its fields are numbers from 1: N:TYPE or N,M:TYPE");
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return number;
}

/// Returns the curve whose name and bracket are at the beginning of `text`, or Curve::kNone.
Curve CurveOf(std::string_view text) {
  if (text.starts_with("zorder(")) return Curve::kZorder;
  return text.starts_with("hilbert(") ? Curve::kHilbert : Curve::kNone;
}

/// Returns the front of `text` that consists of digits and commas.
std::string_view FieldsOf(std::string_view text) {
  return text.substr(0, std::min(text.find_first_not_of("0123456789,"), text.size()));
}

ColumnKey NewKey(std::string_view text, char decimal_point, int thousands) {
  ColumnKey made;
  made.text = text;
  made.rule.decimal_point = decimal_point;
  made.rule.thousands = thousands;
  return made;
}

/// Sets the column of `made`, a key or a column of a curve, to `name`, which has no quotes.
template <typename Named>
void SetColumn(std::string_view key, std::string_view name, Named& made) {
  if (name.empty()) Fail(key, "it names no column");
  made.column = name;
  if (name[0] != '#') return;
  made.column.erase(0, 1);
  const char* const end = made.column.data() + made.column.size();
  const auto [stop, error] = std::from_chars(made.column.data(), end, made.number);
  if (error != std::errc{} || stop != end || made.number == 0) {
    Fail(key, QuoteWord(name) +
                  " is no column's number, which count from #1; a name that begins with # goes in double quotes");
  }
}

/// Sets the columns of the key `made`, which is a curve.
void SetCurve(std::string_view key, Curve curve, ColumnKey& made) {
  made.curve = curve;
  made.column = key;
  std::string_view rest = key.substr(key.find('(') + 1);
  for (bool more = true; more;) {
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    CurveColumn column;
    if (rest.starts_with('"')) {
      column.column = TakeQuoted(key, rest);
    } else {
      std::string_view name = rest.substr(0, rest.find_first_of(",)"));
      rest.remove_prefix(name.size());
      while (name.ends_with(' ')) name.remove_suffix(1);
      SetColumn(key, name, column);
    }
    made.curve_columns.push_back(std::move(column));
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    if (!rest.starts_with(',') && !rest.starts_with(')')) Fail(key, "its columns stand between commas, and ) ends it");
    more = rest.starts_with(',');
    rest.remove_prefix(1);
  }
  if (!rest.empty()) Fail(key, "a curve has no type and no direction: leave " + QuoteWord(rest) + " out");
  if (made.curve_columns.size() < kLeastCurveColumns || made.curve_columns.size() > kMostCurveColumns) {
    Fail(key, "a curve has 2 to 8 columns");
  }
}

}  // namespace

bool IsTextKey(std::string_view text) {
  if (text.starts_with('~')) return true;
  const std::string_view fields = FieldsOf(text);
  std::string_view rest = text.substr(fields.size());
  if (fields.empty() || !IsDigit(fields[0]) || !rest.starts_with(':')) return false;
  rest.remove_prefix(1);
  try {
    ParseType(TakePart(rest));
    return false;
  } catch (const Error&) {
    return true;
  }
}

ColumnKey ParseTextKey(std::string_view text, char decimal_point, int thousands) {
  if (text.starts_with('~')) return ParseColumnKey(text, decimal_point, thousands);
  ColumnKey made = NewKey(text, decimal_point, thousands);
  std::string_view rest = text;
  made.column = FieldsOf(text);
  made.first_field = made.last_field = TakeField(text, rest);
  if (rest.starts_with(',')) {
    rest.remove_prefix(1);
    made.last_field = TakeField(text, rest);
    if (made.last_field < made.first_field) Fail(text, "its last field is before its first");
  }
  if (!rest.starts_with(':')) Fail(text, "its fields are numbers from 1: N:TYPE or N,M:TYPE");
  KeyWords words(text, made.rule);
  TakeWords(text, rest, words);
  return made;
}

ColumnKey ParseColumnKey(std::string_view text, char decimal_point, int thousands) {
  ColumnKey made = NewKey(text, decimal_point, thousands);
  KeyWords words(text, made.rule);
  std::string_view rest = text;
  if (rest.starts_with('~')) {
    made.pattern = TakePattern(text, rest.substr(1), words);
    made.column = "~" + made.pattern;
    return made;
  }
  if (const Curve curve = CurveOf(text); curve != Curve::kNone) {
    SetCurve(text, curve, made);
    return made;
  }
  if (rest.starts_with('"')) {
    made.column = TakeQuoted(text, rest);
    if (rest.starts_with('.')) {  // a name of a dump, whose format removes the quotes
      made.column = text.substr(0, NameSize(text));
      rest = text.substr(made.column.size());
    }
  } else {
    const std::string_view name = rest.substr(0, NameSize(rest));
    SetColumn(text, name, made);
    rest.remove_prefix(name.size());
  }
  TakeWords(text, rest, words);
  return made;
}

}  // namespace gpusort

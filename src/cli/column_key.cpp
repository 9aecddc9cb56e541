#include "cli/column_key.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string>
#include <vector>

#include "base/did_you_mean.hpp"
#include "base/gnu_quote.hpp"
#include "formats/value_key.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

[[noreturn]] void Fail(std::string_view key, const std::string& why) {
  throw Error(ErrorCode::kUsage, "invalid key " + QuoteWord(key) + ": " + why);
}

/// Takes the name in double quotes off the front of `text`, and returns it without quotes.
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

/// Returns the size of the name at the front of `text`, which ends at a colon. A part of the name may stand in double
/// quotes, as in "my schema"."t".id, and may then have colons.
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

/// Takes the text up to the next colon off the front of `text`, and returns it.
std::string_view TakePart(std::string_view& text) {
  std::size_t size = std::min(text.find(':'), text.size());
  if (text.starts_with("timestamp(")) {
    // A format may hold colons and brackets.
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

/// Sets the column by `name`, which is not quoted.
void SetColumn(std::string_view key, std::string_view name, ColumnKey& made) {
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

}  // namespace

ColumnKey ParseColumnKey(std::string_view text, char decimal_point, int thousands) {
  ColumnKey made;
  made.text = text;
  made.rule.decimal_point = decimal_point;
  made.rule.thousands = thousands;
  std::string_view rest = text;
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
  bool directed = false;
  while (!rest.empty()) {
    if (rest[0] != ':') Fail(text, QuoteWord(rest) + " behind the closing quote of its name");
    rest.remove_prefix(1);
    const std::string_view part = TakePart(rest);
    const bool formatted = part.starts_with("timestamp(") && part.ends_with(')');
    if (const std::optional<ValueType> type = formatted ? ValueType::kTimestamp : FindValueType(part)) {
      if (made.rule.typed) Fail(text, "a second type, " + QuoteWord(part));
      made.rule.type = *type;
      made.rule.typed = true;
      if (!formatted) continue;
      made.rule.time_format = part.substr(10, part.size() - 11);
      if (made.rule.time_format.empty()) Fail(text, "an empty time format");
    } else if (part == "asc" || part == "desc") {
      if (directed) Fail(text, "a second direction, " + QuoteWord(part));
      made.rule.descending = part == "desc";
      directed = true;
    } else if (part == "nulls-first" || part == "nulls-last") {
      if (made.rule.nulls_first) Fail(text, "a second place for nulls, " + QuoteWord(part));
      made.rule.nulls_first = part == "nulls-first";
    } else {
      std::vector<std::string> words{"asc", "desc", "nulls-first", "nulls-last"};
      std::istringstream names(ValueTypeNames());
      for (std::string name; names >> name;) words.push_back(name.substr(0, name.find(',')));
      Fail(text, "unknown " + QuoteWord(part) + DidYouMean(part, words) + "; behind a column stand a type (" +
                     ValueTypeNames() + " or timestamp(FORMAT)), asc or desc, nulls-first or nulls-last; a name with "
                     "colons goes in double quotes");
    }
  }
  return made;
}

}  // namespace gpusort

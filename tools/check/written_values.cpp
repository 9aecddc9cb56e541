#include "check/written_values.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <utility>

namespace check {
namespace {

using Match = std::cmatch;
__extension__ using Wide = __int128;
constexpr Wide kSecond = 1000000000, kDay = 86400 * kSecond;

std::regex Regex(const std::string& text) { return std::regex(text, std::regex::ECMAScript | std::regex::optimize); }
std::regex AnyCase(const std::string& text) {
  return std::regex(text, std::regex::ECMAScript | std::regex::optimize | std::regex::icase);
}

/// std::regex takes some stack for each byte of the text.
constexpr std::size_t kMostText = 4096;

bool Matches(std::string_view text, const std::regex& regex, Match& match) {
  if (text.size() > kMostText) {
    throw BadTable("a value of more than " + std::to_string(kMostText) + " bytes cannot be checked with such a type");
  }
  return std::regex_match(text.data(), text.data() + text.size(), match, regex);
}

std::string Digits(Wide number) {
  std::string text;
  for (; number > 0; number /= 10) text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(number % 10)));
  return text.empty() ? "0" : text;
}

/// Returns text in the order of the numbers, which are less than 10^27.
std::string Ordered(Wide number) {
  Wide most = 1;
  for (int i = 0; i < 27; ++i) most *= 10;
  return Digits(number + 2 * most);
}

Wide Parse(const std::string& digits) {
  Wide number = 0;
  for (const char c : digits) number = number * 10 + (c - '0');
  return number;
}
Wide Billionths(std::string fraction) {
  fraction.resize(9, '0');
  return Parse(fraction);
}

// ---- Numbers -----------------------------------------------------------------------------------------------------

/// Returns an expression of the digits before the decimal point.
std::string WholePattern(const Rule& rule) {
  const auto escaped = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ? std::string(1, c) : std::string("\\") + c;
  };
  if (rule.thousands >= 0) return "(?:\\d+(?:" + escaped(static_cast<char>(rule.thousands)) + "\\d+)*)?";
  std::string pattern = "\\d*";
  const std::string first = rule.point == ',' ? "\\." : ",";
  for (const std::string& separator :
       {first, std::string("'"), std::string("_"), std::string(" "), std::string("\u00A0"), std::string("\u2009"),
        std::string("\u2019"), std::string("\u202F")}) {
    pattern += "|\\d{1,3}(?:" + separator + "\\d{3})+";
  }
  if (first == ",") pattern += "|\\d{1,2}(?:,\\d{2})+,\\d{3}";
  return pattern;
}

Value ReadLooseNumber(const Rule& rule, std::string_view text) {
  const std::string sign = "(-|\\+|\u2212)?";
  const std::string currency = "(\\$|\xC2[\xA2-\xA5]|\xE2\x82[\xA0-\xBF]|\xE2\x83[\x80-\x8F])";
  static thread_local std::map<std::pair<char, int>, std::regex> patterns;
  const auto [found, made] = patterns.try_emplace({rule.point, rule.thousands});
  if (made) {
    found->second = Regex(sign + "(?:" + currency + "\\s*)?" + sign + "(" + WholePattern(rule) + ")(?:\\" + rule.point +
                          "(\\d*))?(?:[eE]([-+]?\\d+))?\\s*(?:([kKMGTPE])(i?)B?|([bB]))?\\s*(?:" + currency + "|(%))?");
  }
  bool negative = text.size() > 1 && text.front() == '(' && text.back() == ')';
  const bool brackets = negative;
  if (brackets) {
    text = text.substr(1, text.size() - 2);
    const auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  }
  Match match;
  if (!Matches(text, found->second, match)) return Null{};
  enum { kSign = 1, kBefore, kInner, kWhole, kFraction, kExponent, kPower, kBinary, kB, kAfter, kPercent };
  const auto has = [&](int part) { return match[part].matched && match[part].length() > 0; };
  if ((brackets && (has(kSign) || has(kInner))) || (has(kInner) && (has(kSign) || !has(kBefore)))) return Null{};
  if (has(kBefore) && (has(kAfter) || has(kPercent))) return Null{};
  const bool money = has(kBefore) || has(kAfter);
  if (has(kPercent) && (has(kPower) || has(kB))) return Null{};
  if (has(kB) && match[kB] == "b" && !money) return Null{};
  for (const int part : {kSign, kInner}) negative = negative || (has(part) && match[part] != "+");
  std::string plain = match[kWhole];
  std::erase_if(plain, [](char c) { return c < '0' || c > '9'; });
  if (plain.empty() && !has(kFraction)) return Null{};
  plain += "." + match[kFraction].str() + (has(kExponent) ? "e" + match[kExponent].str() : "");
  Rule decimal;
  decimal.type = Type::kDecimal;
  Value value = ReadValue(decimal, (negative ? "-" : "") + plain);
  auto* const number = std::get_if<Number>(&value);
  unsigned power = 0;
  if (has(kPower))
    power = static_cast<unsigned>(std::string("KMGTPE").find(match[kPower] == "k" ? "K" : match[kPower].str())) + 1;
  if (has(kB) && money) power = 3;
  if (power == 0 || number == nullptr) return value;
  std::string exponent = match[kExponent];
  exponent.erase(0, exponent.find_first_of("123456789"));
  if (exponent.find_first_not_of("0123456789") == exponent.npos && exponent.size() > 17) return Null{};
  if (number->digits.empty()) return value;
  if (!has(kBinary)) {
    number->exponent += 3 * power;
    return value;
  }
  if (number->digits.size() > 18) return Null{};
  std::string product = Digits(Parse(number->digits) << 10 * power);
  number->exponent += static_cast<Wide>(product.size()) - static_cast<Wide>(number->digits.size());
  product.erase(product.find_last_not_of('0') + 1);
  number->digits = product;
  return value;
}

// ---- Times of day and intervals ----------------------------------------------------------------------------------

/// Returns h:mm[:ss[.fraction]] in nanoseconds, from four groups of the match.
Wide ClockOf(const Match& match, std::size_t first) {
  const auto part = [&](std::size_t i) { return Parse(match[first + i].str()); };
  return ((part(0) * 60 + part(1)) * 60 + part(2)) * kSecond + Billionths(match[first + 3]);
}
constexpr const char* kClock = "(\\d{1,10}):([0-5]\\d)(?::([0-5]\\d|60)(?:[.,](\\d{1,9}))?)?";

Value ReadTime(std::string_view text) {
  static const std::regex pattern = AnyCase(std::string("([-+]?)") + kClock + "\\s*([ap]m)?\\s*(\\S.*)?");
  Match match;
  if (!Matches(text, pattern, match)) return Null{};
  Wide time = ClockOf(match, 2);
  if (match[6].matched) {
    if (match[1].length() > 0 || match[2].length() > 2 || time < kDay / 24 || time >= kDay / 24 * 13) return Null{};
    time = time % (kDay / 2) + ((*match[6].first | 0x20) == 'p' ? kDay / 2 : 0);
  }
  if (match[1] == "-") time = -time;
  std::int64_t east = 0;
  if (match[7].matched) {
    Rule stamp;
    stamp.type = Type::kTimestamp;
    const Value zone = ReadValue(stamp, "1970-01-01 00:00:00 " + match[7].str());
    const auto* const instant = std::get_if<Instant>(&zone);
    if (instant == nullptr || match[7].str().find(' ') != std::string::npos || Lowered(match[7].str()) == "bc") {
      return Null{};
    }
    east = -instant->count;
  }
  return Ordered(time - east * kSecond) + Ordered(-east);
}

/// The unit of an interval in nanoseconds; 0: there is no such unit.
Wide UnitOf(const std::string& name) {
  static const std::pair<const char*, Wide> units[] = {{"(y|yrs?|years?)", 360 * kDay},
                                                       {"(mons?|months?)", 30 * kDay},
                                                       {"(w|weeks?)", 7 * kDay},
                                                       {"(d|days?)", kDay},
                                                       {"(h|hrs?|hours?)", 3600 * kSecond},
                                                       {"(m|mins?|minutes?)", 60 * kSecond},
                                                       {"(s|secs?|seconds?)", kSecond},
                                                       {"(ms|msecs?|milliseconds?)", 1000000},
                                                       {"(us|\u00B5s|\u03BCs|usecs?|microseconds?)", 1000},
                                                       {"(ns|nsecs?|nanoseconds?)", 1}};
  for (const auto& [pattern, size] : units) {
    if (std::regex_match(name, AnyCase(pattern))) return size;
  }
  return 0;
}

constexpr const char* kCount = "(?:(\\d{1,18})(?:[.,](\\d{1,9}))?|[.,](\\d{1,9}))";
/// Returns a number times a unit, from three groups of the match.
Wide Times(const Match& match, std::size_t first, Wide unit) {
  const std::string fraction = match[first + 1].str() + match[first + 2].str();
  return Parse(match[first].str()) * unit + Billionths(fraction) * unit / kSecond;
}

Value IntervalValue(Wide time) {
  constexpr Wide kMost = 9000000000000000 * kSecond;
  if (time >= kMost || time <= -kMost) return Null{};
  return "1" + Ordered(time);
}

Value ReadIsoInterval(const Match& iso) {
  static const std::regex piece = AnyCase(std::string("([-+]?)") + kCount + "([YMWDHS])");
  Wide sum = 0;
  for (const int half : {2, 3}) {
    for (std::cregex_iterator at(iso[half].first, iso[half].second, piece), end; at != end; ++at) {
      const char letter = static_cast<char>(*(*at)[5].first & ~0x20);
      const Wide unit = letter == 'M' ? (half == 2 ? 30 * kDay : 60 * kSecond) : UnitOf(std::string(1, letter));
      sum += (*at)[1] == "-" ? -Times(*at, 2, unit) : Times(*at, 2, unit);
    }
  }
  return IntervalValue(iso[1] == "-" ? -sum : sum);
}

Value ReadInterval(std::string_view text) {
  static const std::regex infinity = AnyCase("([-+]?)infinity");
  Match match;
  if (Matches(text, infinity, match)) return std::string(match[1] == "-" ? "0" : "2");
  const std::string number = std::string("[-+]?") + "(?:\\d{1,18}(?:[.,]\\d{1,9})?|[.,]\\d{1,9})";
  static const std::regex iso = AnyCase("([-+]?)P(?=.*\\d)((?:" + number + "[YMWD])*)(?:T((?:" + number + "[HMS])+))?");
  if (Matches(text, iso, match)) return ReadIsoInterval(match);
  static const std::regex front = Regex("@?\\s*");
  std::regex_search(text.data(), text.data() + text.size(), match, front, std::regex_constants::match_continuous);
  const char* at = match[0].second;
  const char* const end = text.data() + text.size();
  // One of: a year and a month, hours, a number with a unit, a number without one.
  static const std::regex part =
      AnyCase(std::string("([-+]?)(?:(\\d{1,18})-(\\d{1,18})(?=\\s|$)|") + kClock + "(?=\\s|$)|" + kCount +
              "(?:\\s*((?:[a-z]|\xC2\xB5|\xCE\xBC)+),?|(?=\\s|$)))\\s*");
  static const std::regex ago = AnyCase("ago");
  enum { kSign = 1, kYear, kMonth, kHour, kNumber = 8, kUnit = 11 };
  Wide sum = 0, unsigned_sum = 0;
  bool units = false, years = false, days = false, hours = false, negative = false;
  unsigned count = 0;
  for (; at != end; ++count) {
    if (units && std::regex_match(at, end, ago)) {
      sum = -(sum + unsigned_sum);
      unsigned_sum = 0;
      break;
    }
    if (!std::regex_search(at, end, match, part, std::regex_constants::match_continuous)) return Null{};
    at = match[0].second;
    const bool minus = match[kSign] == "-", sign = match[kSign].length() > 0;
    if (count == 0) negative = minus;
    Wide value = 0;
    if (match[kYear].matched) {
      if (count > 0 || Parse(match[kMonth]) > 11) return Null{};
      value = Parse(match[kYear]) * 360 * kDay + Parse(match[kMonth]) * 30 * kDay;
      years = true;
    } else if (match[kHour].matched) {
      if (std::exchange(hours, true)) return Null{};
      value = ClockOf(match, kHour);
    } else if (match[kUnit].matched) {
      const Wide unit = UnitOf(match[kUnit]);
      if (unit == 0) return Null{};
      value = Times(match, kNumber, unit);
      units = true;
    } else if (at == end && count == 0) {
      value = Times(match, kNumber, kSecond);
    } else if (std::exchange(days, true)) {
      return Null{};
    } else {
      value = Times(match, kNumber, kDay);
    }
    (sign || count == 0 ? sum : unsigned_sum) += minus ? -value : value;
  }
  if (count == 0 || (units && (years || days)) || (days && count > 1 && !hours && !years)) return Null{};
  return IntervalValue(sum + (negative && !units ? -unsigned_sum : unsigned_sum));
}

// ---- Addresses of hardware, bits, levels -------------------------------------------------------------------------

Value ReadMacAddress(std::string_view text) {
  constexpr std::size_t kMost = 23;  // eight pairs of digits, and the signs between them
  if (text.size() > kMost) return Null{};
  static const std::regex patterns[] = {
      AnyCase("[0-9a-f]{12}(?:[0-9a-f]{4})?"),
      AnyCase("[0-9a-f]{1,2}([:-])(?:[0-9a-f]{1,2}\\1){4}(?:(?:[0-9a-f]{1,2}\\1){2})?[0-9a-f]{1,2}"),
      AnyCase("[0-9a-f]{4}([:.-])[0-9a-f]{4}\\1[0-9a-f]{4}(?:\\1[0-9a-f]{4})?"),
      AnyCase("[0-9a-f]{6}[:-][0-9a-f]{6}|[0-9a-f]{8}[:-][0-9a-f]{8}")};
  Match match;
  if (std::ranges::none_of(patterns, [&](const std::regex& pattern) { return Matches(text, pattern, match); }))
    return Null{};
  std::string digits, group;
  for (const char c : std::string(text) + ":") {
    if (c != ':' && c != '-' && c != '.') {
      group += c;
      continue;
    }
    digits += (group.size() == 1 ? "0" : "") + group;
    group.clear();
  }
  return (digits.size() == 12 ? "6" : "8") + Lowered(digits);
}

Value ReadBits(std::string_view text) {
  if (text.size() > 2 && (text[0] | 0x20) == 'b' && text[1] == '\'' && text.ends_with('\'')) {
    text = text.substr(2, text.size() - 3);
  }
  if (text.find_first_not_of("01") != text.npos) return Null{};
  return std::string(text);
}

Value ReadSeverity(std::string_view text) {
  static const std::regex patterns[] = {AnyCase("trace|trc|verb(?:ose)?|vrb|finest|finer|t|v"),
                                        AnyCase("debug[1-5]?|dbg|debu|fine|d"),
                                        AnyCase("info?|information(?:al)?|log|i"),
                                        AnyCase("notice|note|n"),
                                        AnyCase("warn(?:ing)?|wrn|w"),
                                        AnyCase("err|erro|error|eror|severe|e"),
                                        AnyCase("crit(?:ical)?|fatal?|ftl|c|f"),
                                        AnyCase("alert|a"),
                                        AnyCase("emerg(?:ency)?|panic?")};
  static const std::regex around = Regex("(?:\\[(\\w+)\\]|<(\\w+)>|\\((\\w+)\\)|(\\w+)):?");
  constexpr std::size_t kMost = 20;  // no level is longer
  Match match;
  if (text.size() > kMost || !Matches(text, around, match)) return Null{};
  const std::string word = match[1].str() + match[2].str() + match[3].str() + match[4].str();
  const auto* const level =
      std::ranges::find_if(patterns, [&](const std::regex& pattern) { return std::regex_match(word, pattern); });
  if (level == std::end(patterns)) return Null{};
  return std::string(1, static_cast<char>('0' + (level - std::begin(patterns))));
}

}  // namespace

Value ReadWrittenValue(const Rule& rule, std::string_view text) {
  switch (rule.type) {
    case Type::kNumber:
      return ReadLooseNumber(rule, text);
    case Type::kTime:
      return ReadTime(text);
    case Type::kInterval:
      return ReadInterval(text);
    case Type::kMacAddress:
      return ReadMacAddress(text);
    case Type::kBits:
      return ReadBits(text);
    case Type::kSeverity:
      return ReadSeverity(text);
    default:
      return Null{};
  }
}

}  // namespace check

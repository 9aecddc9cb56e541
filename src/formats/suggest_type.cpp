#include "formats/suggest_type.hpp"

#include <algorithm>
#include <cstddef>

#include "formats/text_reader.hpp"
#include "formats/time_text.hpp"
#include "formats/value_key.hpp"

namespace gpusort {
namespace {

constexpr char kPlace = '\1';  ///< stands for a letter of a time format that is not known yet

bool IsLetter(char c) { return Lower(c) >= 'a' && Lower(c) <= 'z'; }

/// Returns true if `letters` is one of the names, or the first three letters of a name.
template <typename Names>
bool IsName(std::string_view letters, const Names& names) {
  TextReader reader{letters.data(), letters.data() + letters.size()};
  return TakeName(reader, names) >= 0 && reader.done();
}

/// The format of a text that is a time. The order of day, month and year is not decided yet.
struct OpenFormat {
  std::string format;
  unsigned places = 0;  ///< the number of numbers with one or two digits outside of the clock
  bool month = false, year = false, year_first = false, clock = false, afternoon = false;
  bool short_places = false;  ///< true: one of these numbers has a single digit

  /// Reads hh:mm[:ss[.fraction]] and appends its format. `reader` must be at the first digit.
  bool TakeClock(TextReader& reader) {
    if (clock) return false;
    clock = true;
    format += "%H:%M";
    for (int part = 0; part < 3; ++part) {
      const std::size_t digits = reader.digits();
      if (digits == 0 || digits > 2 || (part > 0 && digits != 2)) return false;
      reader.at += digits;
      if (part == 2) format += ":%S";
      if (part == 2 || (part == 1 && !reader.Is(':'))) break;
      if (!reader.Take(':')) return false;
    }
    if ((reader.Is('.') || reader.Is(',')) && format.ends_with("%S")) {
      format += *reader.at++;
      format += "%f";
      if (reader.digits() == 0) return false;
      reader.at += reader.digits();
    }
    return true;
  }

  bool TakeDigits(TextReader& reader) {
    const std::size_t digits = reader.digits();
    if (digits <= 2 && reader.at + digits != reader.end && reader.at[digits] == ':') return TakeClock(reader);
    reader.at += digits;
    if (digits == 4 && !year) {
      year = true;
      year_first = places == 0 && !month;
      format += "%Y";
    } else if (digits == 8 && !year && places == 0) {
      year = month = true;
      format += "%Y%m%d";
    } else if (digits <= 2) {
      ++places;
      short_places |= digits == 1;
      format += kPlace;
    } else {
      return false;
    }
    return true;
  }

  bool TakeLetters(TextReader& reader) {
    TextReader zone = reader;
    const char* const begin = reader.at;
    while (!reader.done() && IsLetter(*reader.at)) ++reader.at;
    const std::string_view letters(begin, static_cast<std::size_t>(reader.at - begin));
    if (!month && IsName(letters, kMonths)) {
      month = true;
      format += "%b";
    } else if (IsName(letters, kWeekdays)) {
      format += "%a";
    } else if (clock && (IsWord(letters, "am") || IsWord(letters, "pm"))) {
      afternoon = true;
      format += "%p";
    } else if (clock && TakeZoneName(zone) && zone.at == reader.at) {
      format += "%z";  // %z also reads the names of zones
    } else if (IsWord(letters, "t")) {
      format += letters;
    } else {
      return false;
    }
    return true;
  }

  bool Take(TextReader reader) {
    while (!reader.done()) {
      if (IsDigit(*reader.at)) {
        if (!TakeDigits(reader)) return false;
      } else if (IsLetter(*reader.at)) {
        if (!TakeLetters(reader)) return false;
      } else if (clock && (reader.Is('+') || reader.Is('-'))) {
        format += "%z";
        for (++reader.at; !reader.done() && (IsDigit(*reader.at) || reader.Is(':'));) ++reader.at;
      } else {
        format += reader.Is('%') ? "%%" : std::string(1, *reader.at);
        ++reader.at;
      }
    }
    return true;
  }

  /// Returns the format letters of the open places, in each order in which people write them, the most likely first.
  std::vector<std::string_view> Orders() const {
    const bool slashes = format.find('/') != std::string::npos;
    if (month) return {"", "d", "dy"};
    if (year && year_first) return {"m", "md"};
    if (year && slashes) return {"m", "md", "dm"};
    if (year) return {"m", "dm", "md"};
    if (slashes) return {"mdy", "dmy", "ymd"};
    if (short_places) return {};  // 1.2.3 is more likely a version
    return {"dmy", "mdy", "ymd"};
  }
};

/// Returns the formats that `text` may have as a time.
std::vector<std::string> TimeFormatsOf(std::string_view text) {
  OpenFormat open;
  std::vector<std::string> formats;
  if (!open.Take(TextReader::Trimmed(text)) || (!open.month && !open.year && open.places < 3)) return formats;
  for (const std::string_view order : open.Orders()) {
    if (order.size() != open.places || (open.year && order.ends_with('y'))) continue;
    std::string format;
    std::size_t place = 0;
    for (std::size_t i = 0; i < open.format.size(); ++i) {
      const char c = open.format[i];
      if (c == kPlace) {
        format += {'%', order[place++]};
      } else {
        format += open.afternoon && c == 'H' && i > 0 && open.format[i - 1] == '%' ? 'I' : c;
      }
    }
    formats.push_back(std::move(format));
  }
  return formats;
}

bool ReadsAll(const ValueRule& rule, const std::vector<std::string>& samples) {
  const ValueKey key(rule);
  std::vector<std::byte> made;
  FieldWriter out(made);
  out.Begin(std::uint64_t{1} << 20);
  return std::all_of(samples.begin(), samples.end(), [&](const std::string& sample) {
    made.clear();
    return key.Put(sample, out);
  });
}

}  // namespace

std::vector<Suggestion> SuggestTypes(const std::vector<std::string>& samples, const ValueRule& given) {
  std::vector<Suggestion> found;
  if (samples.empty()) return found;
  constexpr std::size_t kMost = 2;
  const auto reads = [&](ValueType type, char point, int thousands, std::string options) {
    ValueRule rule;
    rule.type = type;
    rule.decimal_point = point;
    rule.thousands = thousands;
    if (!ReadsAll(rule, samples)) return false;
    found.push_back({std::string(ValueTypeName(type)), std::move(options)});
    return true;
  };
  constexpr ValueType kNumbers[] = {ValueType::kInt, ValueType::kDecimal};
  for (const ValueType type : kNumbers) {
    if (reads(type, given.decimal_point, given.thousands, "")) return found;
  }
  for (const ValueType type : {ValueType::kUuid, ValueType::kIp, ValueType::kDate, ValueType::kTimestamp}) {
    // Digits are more often something else than a count since 1970, and a::b is more often something else than an
    // address.
    const auto plain = [type](const std::string& sample) {
      return type == ValueType::kTimestamp ? sample.find_first_of("-/:", 1) != std::string::npos
                                           : std::any_of(sample.begin(), sample.end(), IsDigit);
    };
    if (std::all_of(samples.begin(), samples.end(), plain) && reads(type, '.', -1, "")) return found;
  }
  if (given.typed && reads(ValueType::kBool, '.', -1, "")) return found;
  // 1,234 may be a whole number, or a decimal with a comma as its point.
  const bool comma = given.decimal_point == '.' && given.thousands < 0 &&
                     std::any_of(samples.begin(), samples.end(), [](const std::string& sample) {
                       return sample.find(',') != std::string::npos || std::ranges::count(sample, '.') > 1;
                     });
  reads(ValueType::kNumber, given.decimal_point, given.thousands, "");
  for (const ValueType type : {ValueType::kDecimal, ValueType::kNumber}) {
    if (comma && reads(type, ',', -1, " --decimal-point ','")) break;
  }
  if (!found.empty()) return found;
  const auto shorter = [](const std::string& a, const std::string& b) { return a.size() < b.size(); };
  for (const std::string& format : TimeFormatsOf(*std::min_element(samples.begin(), samples.end(), shorter))) {
    const auto fits = [&format](const std::string& sample) { return ParseInstantBy(format, sample).has_value(); };
    if (found.size() < kMost && std::all_of(samples.begin(), samples.end(), fits)) {
      const bool clock = format.find("%H") != std::string::npos || format.find("%I") != std::string::npos;
      found.push_back({(clock ? "timestamp(" : "date(") + format + ")", ""});
    }
  }
  return found;
}

bool IsCompactTime(std::string_view text) {
  if (text.size() != 8 && text.size() != 12 && text.size() != 14) return false;
  TextReader reader{text.data(), text.data() + text.size()};
  if (reader.digits() != text.size()) return false;
  const std::int64_t year = TextReader(reader).TakeNumber(4);
  if (year < 1900 || year >= 2200 || !ParseDay(text.substr(0, 8))) return false;
  reader.at += 8;
  unsigned hour = 0, minute = 0, second = 0;
  if (!reader.done() && (!reader.TakeTwo(hour) || !reader.TakeTwo(minute))) return false;
  if (!reader.done() && !reader.TakeTwo(second)) return false;
  return hour < 24 && minute < 60 && second < 60;
}

}  // namespace gpusort

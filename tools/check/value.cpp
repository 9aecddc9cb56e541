#include "check/value.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

#include "check/written_values.hpp"
#include "check/zone_file.hpp"

namespace check {
namespace {

// The locale of the process only decides the order of the type locale. Letters, digits and blanks are ASCII.
bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool IsLetter(char c) { return ToLower(c) >= 'a' && ToLower(c) <= 'z'; }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

std::size_t DigitsAt(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), IsDigit) - text.begin());
}

bool Take(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

/// Removes the word from the front of the text, in any case. Returns false if it is not there.
bool TakeWord(std::string_view& text, std::string_view lower) {
  if (Lowered(text.substr(0, lower.size())) != lower) return false;
  text.remove_prefix(lower.size());
  return true;
}

bool TakeBlanks(std::string_view& text) {
  const std::size_t before = text.size();
  while (!text.empty() && IsBlank(text[0])) text.remove_prefix(1);
  return text.size() != before;
}

std::int64_t TakeNumber(std::string_view& text, std::size_t digits) {
  std::int64_t number = 0;
  for (const char c : text.substr(0, digits)) number = number * 10 + (c - '0');
  text.remove_prefix(digits);
  return number;
}

bool TakeTwo(std::string_view& text, std::int64_t& number) {
  if (DigitsAt(text.substr(0, 2)) != 2) return false;
  number = TakeNumber(text, 2);
  return true;
}

// ---- Numbers -----------------------------------------------------------------------------------------------------

/// The parts of a number as they are written.
struct Written {
  bool sign = false, negative = false;
  bool negative_exponent = false;
  std::string whole, fraction, exponent;  ///< only digits
};

bool ReadWritten(const Rule& rule, std::string_view text, Written& written) {
  written.negative = Take(text, '-');
  written.sign = written.negative || Take(text, '+');
  for (; !text.empty(); text.remove_prefix(1)) {
    const bool between = static_cast<unsigned char>(text[0]) == rule.thousands && !written.whole.empty() &&
                         DigitsAt(text.substr(1, 1)) == 1;
    if (!IsDigit(text[0]) && !between) break;
    if (!between) written.whole += text[0];
  }
  if (rule.type != Type::kInt && Take(text, rule.point)) {
    written.fraction = text.substr(0, DigitsAt(text));
    text.remove_prefix(written.fraction.size());
  }
  if (written.whole.empty() && written.fraction.empty()) return false;
  if (rule.type != Type::kInt && (Take(text, 'e') || Take(text, 'E'))) {
    written.negative_exponent = Take(text, '-');
    if (!written.negative_exponent) Take(text, '+');
    const std::size_t digits = DigitsAt(text);
    if (digits == 0) return false;
    written.exponent = text.substr(0, digits);
    text.remove_prefix(digits);
  }
  return text.empty();
}

Number Normal(bool negative, std::string digits, __int128 exponent) {
  const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  digits.erase(0, zeros);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.empty()) return {};
  return {Number::kFinite, negative, std::move(digits), exponent - static_cast<__int128>(zeros)};
}

/// Returns true if the text, which has no sign, means infinity.
bool IsInfinity(std::string_view text) { return Lowered(text) == "inf" || Lowered(text) == "infinity"; }

Value ReadNumber(const Rule& rule, std::string_view text) {
  Written written;
  if (ReadWritten(rule, text, written)) {
    __int128 exponent = 0;
    std::string_view digits = written.exponent;
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    if (digits.size() > 36) throw BadTable("an exponent of more than 36 digits cannot be checked");
    for (const char c : digits) exponent = exponent * 10 + (c - '0');
    return Normal(written.negative, written.whole + written.fraction,
                  (written.negative_exponent ? -exponent : exponent) + static_cast<__int128>(written.whole.size()));
  }
  if (rule.type == Type::kInt) return Null{};
  Number number;
  if (Lowered(text) == "nan") return Number{Number::kNan, false, {}, 0};
  const bool negative = Take(text, '-');
  if (!negative) Take(text, '+');
  if (!IsInfinity(text)) return Null{};
  number.kind = negative ? Number::kMinusInfinity : Number::kInfinity;
  return number;
}

Value ReadFloat(const Rule& rule, std::string_view text) {
  Written written;
  if (ReadWritten(rule, text, written)) {
    // Uses the decimal point of the C locale, because the program only sets LC_COLLATE.
    const std::string plain =
        "0" + written.whole + "." + written.fraction + (written.negative_exponent ? "e-0" : "e0") + written.exponent;
    const double value = std::strtod(plain.c_str(), nullptr);
    return written.negative ? -value : value;
  }
  const bool negative = Take(text, '-');
  if (!negative) Take(text, '+');
  const bool nan = Lowered(text) == "nan";
  if (!nan && !IsInfinity(text)) return Null{};
  const double value = nan ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  return std::copysign(value, negative ? -1 : 1);
}

std::strong_ordering CompareNumbers(const Number& a, const Number& b) {
  if (a.kind != b.kind || a.kind != Number::kFinite) return a.kind <=> b.kind;
  const auto sign = [](const Number& x) { return x.digits.empty() ? 0 : x.negative ? -1 : 1; };
  if (sign(a) != sign(b) || sign(a) == 0) return sign(a) <=> sign(b);
  const std::strong_ordering size =
      a.exponent != b.exponent ? a.exponent <=> b.exponent : a.digits.compare(b.digits) <=> 0;
  return a.negative ? 0 <=> size : size;
}

// ---- Days and instants -------------------------------------------------------------------------------------------

constexpr std::int64_t kDaySeconds = 86400;

struct Date {
  std::int64_t year = 1972, month = 1, day = 1;
};
struct Time {
  std::int64_t hour = 0, minute = 0, second = 0;
  std::string fraction;
  std::int64_t east = 0;  ///< the offset of the zone from UTC, in seconds
};

/// Returns the days since 1970. Uses the calendar of the C++ library, which repeats after 400 years, also for years
/// that the library does not support.
std::optional<std::int64_t> DaysOf(const Date& date) {
  using namespace std::chrono;
  constexpr std::int64_t kEra = 400, kEraDays = 146097;
  const std::int64_t of_era = ((date.year % kEra) + kEra) % kEra;
  const year_month_day day(year(static_cast<int>(2000 + of_era)), month(static_cast<unsigned>(date.month)),
                           std::chrono::day(static_cast<unsigned>(date.day)));
  if (!day.ok()) return std::nullopt;
  return sys_days(day).time_since_epoch().count() + (date.year - of_era - 2000) / kEra * kEraDays;
}

/// Returns the instant `seconds` plus a fraction, or minus the fraction if `minus` is true.
Instant MakeInstant(std::int64_t seconds, std::string fraction, bool minus = false) {
  fraction.erase(fraction.find_last_not_of('0') + 1);
  if (minus) seconds = -seconds;
  if (minus && !fraction.empty()) {
    --seconds;
    for (char& digit : fraction) digit = static_cast<char>('9' - (digit - '0'));
    ++fraction.back();  // the digit was not 0
  }
  return {0, seconds, std::move(fraction)};
}

Value MakeValue(const Date& date, const Time& time) {
  const std::optional<std::int64_t> days = DaysOf(date);
  if (!days || time.hour > 24 || time.minute > 59 || time.second > 60) return Null{};
  const bool round = time.minute == 0 && time.second == 0 && time.fraction.find_first_not_of('0') == std::string::npos;
  if (time.hour == 24 && !round) return Null{};
  return MakeInstant(*days * kDaySeconds + (time.hour * 60 + time.minute) * 60 + time.second - time.east,
                     time.fraction);
}

std::optional<Instant> ReadInfinity(std::string_view text) {
  const bool minus = Take(text, '-');
  if (!minus) Take(text, '+');
  if (Lowered(text) != "infinity") return std::nullopt;
  return Instant{minus ? -1 : 1, 0, {}};
}

/// Reads YYYYMMDD, YYYY/MM/DD, or YYYY-MM-DD with more digits of the year and a sign.
bool TakeDate(std::string_view& text, Date& date, bool* compact = nullptr) {
  const bool minus = Take(text, '-');
  const bool sign = minus || Take(text, '+');
  const std::size_t digits = DigitsAt(text);
  if (digits == 8 && !sign) {
    if (compact != nullptr) *compact = true;
    date.year = TakeNumber(text, 4);
    return TakeTwo(text, date.month) && TakeTwo(text, date.day);
  }
  if (digits < 4 || digits > 7) return false;
  date.year = TakeNumber(text, digits);
  if (minus) date.year = -date.year;
  const char between = digits == 4 && !sign && text.starts_with('/') ? '/' : '-';
  return Take(text, between) && TakeTwo(text, date.month) && Take(text, between) && TakeTwo(text, date.day);
}

/// Removes " BC" from the end of the text, which makes the year 1 the year 0. Returns false for a year before 1.
bool TakeChrist(std::string_view& text, Date& date) {
  if (text.empty() || !IsBlank(text[0]) || Lowered(Trim(text)) != "bc") return true;
  text = {};
  date.year = 1 - date.year;
  return date.year <= 0;
}

/// Reads hh:mm or hh:mm:ss and a fraction. After a compact date the colons may be missing.
bool TakeTime(std::string_view& text, bool compact, Time& time) {
  if (!TakeTwo(text, time.hour)) return false;
  const bool colons = Take(text, ':');
  if ((!colons && !compact) || !TakeTwo(text, time.minute)) return false;
  if (colons ? !Take(text, ':') : DigitsAt(text) == 0) return true;
  if (!TakeTwo(text, time.second)) return false;
  if (!Take(text, '.') && !Take(text, ',')) return true;
  time.fraction = text.substr(0, DigitsAt(text));
  text.remove_prefix(time.fraction.size());
  return !time.fraction.empty();
}

/// Names of time zones as PostgreSQL knows them, and a few more, each with its minutes east of UTC.
constexpr const char* kZones =
    "acdt 630 acsst 630 acst 570 act -300 acwst 525 adt -180 aedt 660 aesst 660 aest 600 aft 270 akdt -480 "
    "akst -540 almst 420 almt 360 amt -240 ast -240 awsst 540 awst 480 azost 0 azot -60 bdst 120 bdt 360 bnt "
    "480 bort 480 bot -240 bra -180 brst -120 brt -180 bst 60 btt 360 cadt 630 cast 570 cat 120 cct 480 cdt "
    "-300 cest 120 cet 60 cetdst 120 chadt 825 chast 765 chst 600 chut 600 clst -180 cot -300 cst -360 cxt "
    "420 ddut 600 eat 180 edt -240 eest 180 eet 120 eetdst 180 egst 0 egt -60 est -300 fet 180 fjst 780 fjt "
    "720 fnst -60 fnt -120 galt -360 gamt -540 gft -180 gilt 720 gmt 0 hdt -540 hkt 480 hst -600 ict 420 idt "
    "180 irt 210 ist 120 jayt 540 jst 540 kdt 600 kgst 360 kst 540 lhst 630 ligt 600 mart -570 mdt -360 mest "
    "120 mesz 120 met 60 metdst 120 mez 60 mht 720 mmt 390 mpt 600 msd 240 msk 180 mst -420 must 300 mut 240 "
    "mvt 300 myt 480 ndt -150 nft -210 npt 345 nst -210 nzdt 780 nzst 720 nzt 720 pdt -420 pet -300 pgt 600 "
    "pht 480 pkst 360 pkt 300 pmdt -120 pmst -180 pont 660 pst -480 pwt 540 pyst -180 ret 240 sadt 630 sast "
    "120 sct 240 sst -660 taht -600 tft 300 tjt 300 tot 780 trut 600 tvt 720 uct 0 ulast 540 ut 0 utc 0 uyst "
    "-120 uyt -180 uzst 360 uzt 300 vut 660 wadt 480 wakt 720 wast 420 wat 60 wdt 540 west 60 wet 0 wetdst 60 "
    "wft 720 wgst -120 wgt -180 wib 420 wit 540 wita 480 xjt 360 yapt 600 yekst 360 z 0 zulu 0";

std::map<std::string, std::int64_t>& Zones() {
  static std::map<std::string, std::int64_t> zones = [] {
    std::map<std::string, std::int64_t> made;
    std::istringstream in(kZones);
    for (std::string name; in >> name;) in >> made[name];
    return made;
  }();
  return zones;
}

bool times_are_local = false;  ///< whether timestamps without a zone are local times and not UTC

}  // namespace

void ReadTimesAsLocal() { times_are_local = true; }

void UseNamesOfLocalZone() {
  constexpr std::time_t kFirst = 946684800, kLast = 2145916800, kWeek = 7 * 86400;  // 2000 and 2038
  for (std::time_t at = kFirst; at < kLast; at += kWeek) {
    std::tm local{};
    ::localtime_r(&at, &local);
    if (const auto known = Zones().find(Lowered(local.tm_zone)); known != Zones().end()) {
      known->second = local.tm_gmtoff / 60;
    }
  }
}

bool TakeZoneName(std::string_view& text, std::int64_t& east) {
  const std::map<std::string, std::int64_t>& zones = Zones();
  std::size_t size = 0;
  while (size < text.size() && IsLetter(text[size])) ++size;
  const auto found = zones.find(Lowered(text.substr(0, size)));
  if (found == zones.end()) return false;
  text.remove_prefix(size);
  east = found->second * 60;
  return true;
}

namespace {

/// Reads Z, the name of a zone, +hh, +hhmm, +hh:mm or +hh:mm:ss. Sets `any` to true if there is a zone. Returns false
/// if the zone is wrong.
bool TakeZone(std::string_view& text, std::int64_t& east, bool& any) {
  any = true;
  east = 0;
  if (TakeZoneName(text, east)) return true;
  if (Take(text, 'Z') || Take(text, 'z') || TakeWord(text, "utc") || TakeWord(text, "gmt")) return true;
  const bool minus = Take(text, '-');
  any = minus || Take(text, '+');
  if (!any) return true;
  std::int64_t hour = 0, minute = 0, second = 0;
  if (!TakeTwo(text, hour)) return false;
  const bool colons = Take(text, ':');
  if (colons || DigitsAt(text) > 0) {
    if (!TakeTwo(text, minute)) return false;
    if (colons && Take(text, ':') && !TakeTwo(text, second)) return false;
  }
  if (hour > 23 || minute > 59 || second > 59) return false;
  east = (hour * 60 + minute) * 60 + second;
  if (minus) east = -east;
  return true;
}

constexpr const char* kMonths[] = {"january", "february", "march",     "april",   "may",      "june",
                                   "july",    "august",   "september", "october", "november", "december"};
constexpr const char* kWeekdays[] = {"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};

/// Reads one of the names or its first three letters. Returns its number from 1, or 0 if there is none.
template <std::size_t kCount>
std::int64_t TakeName(std::string_view& text, const char* const (&names)[kCount]) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (TakeWord(text, names[i]) || TakeWord(text, std::string(names[i], 3))) return static_cast<std::int64_t>(i + 1);
  }
  return 0;
}

Value ReadDay(std::string_view text) {
  if (const auto infinite = ReadInfinity(text)) return *infinite;
  Date date;
  if (!TakeDate(text, date) || !TakeChrist(text, date) || !text.empty()) return Null{};
  const std::optional<std::int64_t> days = DaysOf(date);
  if (!days) return Null{};
  return Instant{0, *days, {}};
}

/// Reads 31/Dec/2026:23:59:59 +0100.
Value ReadLogInstant(std::string_view text, bool& zoned) {
  Date date;
  Time time;
  if (!TakeTwo(text, date.day) || !Take(text, '/')) return Null{};
  date.month = TakeName(text, kMonths);
  if (date.month == 0 || !Take(text, '/') || DigitsAt(text) != 4) return Null{};
  date.year = TakeNumber(text, 4);
  if (!Take(text, ':') || !TakeTime(text, false, time)) return Null{};
  TakeBlanks(text);
  if (!TakeZone(text, time.east, zoned) || !text.empty()) return Null{};
  return MakeValue(date, time);
}

/// Takes a name of the IANA database with a slash, perhaps after blanks, or any name in brackets. Empty: there is none.
std::string TakeRegion(std::string_view& text) {
  const std::size_t blanks = std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size());
  std::string_view name = text.substr(blanks);
  const bool bracket = name.starts_with('[');
  if (bracket) name.remove_prefix(1);
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("/_+=-").find(c) != std::string_view::npos;
  };
  name = name.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(name, in_name) - name.begin()));
  const std::string_view rest = text.substr(blanks + (bracket ? 1 : 0) + name.size());
  if (bracket ? name.empty() || !rest.starts_with(']') : name.find('/') == name.npos) return {};
  text = rest.substr(bracket ? 1 : 0);
  return std::string(name);
}

/// Sets `zoned` to true if the text has a zone or counts seconds since 1970.
Value ReadInstant(std::string_view text, bool& zoned) {
  zoned = true;
  if (const auto infinite = ReadInfinity(text)) return *infinite;
  // A number of seconds since 1970, perhaps with a fraction. From 11 digits on it counts milliseconds, from 15 on
  // microseconds, from 18 on nanoseconds.
  std::string_view count = text;
  const bool minus = Take(count, '-');
  if (!minus) Take(count, '+');
  const std::size_t digits = DigitsAt(count);
  const std::string_view behind = count.substr(digits);
  if (digits > 0 && digits <= 19 && behind.empty()) {
    const std::size_t parts = digits <= 10 ? 0 : digits <= 14 ? 3 : digits <= 17 ? 6 : 9;
    const std::int64_t seconds = TakeNumber(count, digits - parts);
    return MakeInstant(seconds, std::string(count), minus);
  }
  if (digits > 0 && digits <= 10 && (behind[0] == '.' || behind[0] == ',')) {
    std::string_view rest = behind.substr(1);
    std::string all(count.substr(0, digits)), fraction(rest.substr(0, DigitsAt(rest)));
    rest.remove_prefix(fraction.size());
    std::size_t exponent = 0;
    if (Take(rest, 'e') || Take(rest, 'E')) {
      Take(rest, '+');
      const std::size_t size = DigitsAt(rest);
      if (size == 0 || size > 2) return Null{};
      exponent = static_cast<std::size_t>(TakeNumber(rest, size));
      if (digits + exponent > 10) return Null{};
    }
    if (fraction.empty() || !rest.empty()) return Null{};
    fraction.resize(std::max(fraction.size(), exponent), '0');
    all += fraction.substr(0, exponent);
    std::string_view whole = all;
    const std::int64_t seconds = TakeNumber(whole, whole.size());
    return MakeInstant(seconds, fraction.substr(exponent), minus);
  }
  if (digits == 2) return ReadLogInstant(text, zoned);
  Date date;
  Time time;
  bool compact = false;
  zoned = false;
  if (!TakeDate(text, date, &compact) || !TakeChrist(text, date)) return Null{};
  if (text.empty()) return MakeValue(date, time);
  if (!Take(text, 'T') && !Take(text, 't') && !TakeBlanks(text)) return Null{};
  if (!TakeTime(text, compact, time)) return Null{};
  std::string_view zone = text;
  TakeBlanks(zone);
  if (!TakeZone(zone, time.east, zoned)) return Null{};
  if (zoned) text = zone;
  const std::string region = TakeRegion(text);
  while (!region.empty() && text.starts_with('[') && !TakeRegion(text).empty()) {
  }
  if (!TakeChrist(text, date) || !text.empty()) return Null{};
  Value value = MakeValue(date, time);
  auto* const instant = std::get_if<Instant>(&value);
  if (region.empty() || zoned || instant == nullptr) return value;
  const std::optional<std::int64_t> utc = UtcIn(region, instant->count);
  if (!utc) return Null{};
  zoned = true;
  instant->count = *utc;
  return value;
}

/// Replaces letters that stand for several other letters.
std::string PlainFormat(std::string_view format) {
  std::string plain;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      plain += format[i];
      continue;
    }
    const char letter = ++i < format.size() ? format[i] : '\0';
    switch (letter) {
      case 'T':
        plain += "%H:%M:%S";
        break;
      case 'D':
        plain += "%m/%d/%y";
        break;
      case 'F':
        plain += "%Y-%m-%d";
        break;
      case 'R':
        plain += "%H:%M";
        break;
      case 'n':
      case 't':
        plain += ' ';
        break;
      default:
        if (letter == '\0' || std::strchr("YymbBdejaAHIpMSfszZ%", letter) == nullptr) {
          throw BadRule("a time format has no %" + std::string(1, letter));
        }
        plain.append("%").push_back(letter);
    }
  }
  return plain;
}

/// Reads an instant at the front of the text. Sets `zoned` to true if the text has a zone or counts seconds since 1970.
Value TakeInstant(const std::string& format, std::string_view& text, bool& zoned) {
  Date date;
  Time time;
  std::optional<std::int64_t> count, day_of_year;
  bool minus = false, afternoon = false, twelve = false, day_known = false, by_name = false;
  const auto number = [&](std::size_t most, std::int64_t low, std::int64_t high, std::int64_t& to) {
    TakeBlanks(text);
    const std::size_t digits = std::min(most, DigitsAt(text));
    if (digits == 0) return false;
    to = TakeNumber(text, digits);
    return to >= low && to <= high;
  };
  const auto take = [&](char letter) {
    switch (letter) {
      case 'Y':
        return number(4, 0, 9999, date.year);
      case 'y': {
        const bool good = number(2, 0, 99, date.year);
        date.year += date.year < 69 ? 2000 : 1900;
        return good;
      }
      case 'm':
        day_known = true;
        return number(2, 1, 12, date.month);
      case 'b':
      case 'B':
        day_known = true;
        date.month = TakeName(text, kMonths);
        return date.month != 0;
      case 'd':
      case 'e':
        day_known = true;
        return number(2, 1, 31, date.day);
      case 'j':
        day_of_year = 0;
        return number(3, 1, 366, *day_of_year);
      case 'a':
      case 'A':
        return TakeName(text, kWeekdays) != 0;
      case 'H':
        return number(2, 0, 24, time.hour);
      case 'I':
        twelve = true;
        return number(2, 1, 12, time.hour);
      case 'p':
        afternoon = TakeWord(text, "pm");
        return afternoon || TakeWord(text, "am");
      case 'M':
        return number(2, 0, 59, time.minute);
      case 'S':
        return number(2, 0, 60, time.second);
      case 'f':
        time.fraction = text.substr(0, DigitsAt(text));
        text.remove_prefix(time.fraction.size());
        return !time.fraction.empty();
      case 's': {
        TakeBlanks(text);
        minus = Take(text, '-');
        if (!minus) Take(text, '+');
        const std::size_t digits = DigitsAt(text);
        if (digits == 0 || digits > 12) return false;
        count = TakeNumber(text, digits);
        return true;
      }
      case 'z': {
        TakeBlanks(text);
        const bool good = TakeZone(text, time.east, zoned);
        return good && zoned;
      }
      case 'Z': {
        std::int64_t east = 0;
        if (!TakeZoneName(text, east)) return false;
        if (!zoned) time.east = east;
        by_name = true;
        return true;
      }
      default:
        return Take(text, '%');
    }
  };
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (IsBlank(format[i])) {
      TakeBlanks(text);
    } else if (format[i] == '%' ? !take(format[++i]) : !Take(text, format[i])) {
      return Null{};
    }
  }
  zoned = zoned || by_name || count;
  if (count) return MakeInstant(*count, time.fraction, minus);
  if (twelve) time.hour = time.hour % 12 + (afternoon ? 12 : 0);
  if (!day_of_year || day_known) return MakeValue(date, time);
  if (*day_of_year == 366 && !DaysOf({date.year, 2, 29})) return Null{};
  Value value = MakeValue({date.year, 1, 1}, time);
  if (auto* const instant = std::get_if<Instant>(&value)) instant->count += (*day_of_year - 1) * kDaySeconds;
  return value;
}

/// Reads YYYY-MM-DD, also with a time, where the month or the day is 00. It comes between the last microsecond before
/// the year or month and the first day.
Value ReadZeroDate(std::string_view text) {
  const bool no_month = text.substr(5, 2) == "00";
  std::string first(text.substr(0, 10));
  if (no_month) first.replace(5, 2, "01");
  const Value day = ReadDay(first.replace(8, 2, "01"));
  if (!std::holds_alternative<Instant>(day)) return Null{};
  Instant instant = std::get<Instant>(day);
  instant.count = instant.count * 86400 - 1;
  instant.fraction = (no_month ? "9999990" : "9999991") + std::string(text.substr(8, 2));
  for (const char c : text.substr(10)) {
    if (c >= '0' && c <= '9') instant.fraction += c;
  }
  instant.fraction += '1';
  return instant;
}

Value ReadInstantBy(const std::string& format, std::string_view text, bool& zoned) {
  Value value = TakeInstant(format, text, zoned);
  return text.empty() ? value : Null{};
}

/// The offset from UTC in the zone of TZ.
std::int64_t LocalOffset(std::int64_t utc) {
  const auto time = static_cast<std::time_t>(utc);
  std::tm parts{};
  ::localtime_r(&time, &parts);
  return parts.tm_gmtoff;
}

/// Reads an instant. Without a zone it is UTC, or a local time of the zone of TZ: the second one if it occurs twice.
Value ReadLocal(const Rule& rule, std::string_view text) {
  bool zoned = false;
  Value value =
      rule.time_format.empty() ? ReadInstant(text, zoned) : ReadInstantBy(PlainFormat(rule.time_format), text, zoned);
  auto* const instant = std::get_if<Instant>(&value);
  if (!times_are_local || zoned || instant == nullptr) return value;
  // Clocks change at most once in two days.
  constexpr std::int64_t kDay = 86400;
  const std::int64_t before = LocalOffset(instant->count - kDay), after = LocalOffset(instant->count + kDay);
  instant->count -= LocalOffset(instant->count - after) == after ? after : before;
  return value;
}

/// The format has no time of day.
Value ReadDayBy(const std::string& format, std::string_view text) {
  bool zoned = false;
  Value value = ReadInstantBy(format, text, zoned);
  if (auto* const instant = std::get_if<Instant>(&value)) instant->count /= kDaySeconds;
  return value;
}

std::strong_ordering CompareInstants(const Instant& a, const Instant& b) {
  if (a.infinite != b.infinite || a.infinite != 0) return a.infinite <=> b.infinite;
  return a.count != b.count ? a.count <=> b.count : a.fraction.compare(b.fraction) <=> 0;
}

// ---- What is compared as bytes -----------------------------------------------------------------------------------

Value ReadBool(std::string_view text) {
  const std::string lower = Lowered(text);
  for (const char* word : {"t", "true", "y", "yes", "on", "1"}) {
    if (lower == word) return std::string("1");
  }
  for (const char* word : {"f", "false", "n", "no", "off", "0"}) {
    if (lower == word) return std::string("0");
  }
  return Null{};
}

int HexDigit(char c) {
  const char lower = ToLower(c);
  return IsDigit(c) ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

Value ReadHex(std::string_view text) {
  if (text.size() >= 2 && (text[0] == '\\' || text[0] == '0') && ToLower(text[1]) == 'x') text.remove_prefix(2);
  if (text.size() % 2 != 0) return Null{};
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    if (HexDigit(text[i]) < 0 || HexDigit(text[i + 1]) < 0) return Null{};
    bytes += static_cast<char>(HexDigit(text[i]) * 16 + HexDigit(text[i + 1]));
  }
  return bytes;
}

/// Reads a UUID. A hyphen may stand after every four digits.
Value ReadUuid(std::string_view text) {
  if (text.size() >= 2 && text.front() == '{' && text.back() == '}') text = text.substr(1, text.size() - 2);
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '-') {
      digits += text[i];
    } else if (digits.empty() || digits.size() % 4 != 0 || digits.size() >= 32 || text[i - 1] == '-') {
      return Null{};
    }
  }
  if (digits.size() != 32 || HexDigit(digits[1]) < 0) return Null{};
  return ReadHex(digits);
}

/// Returns the bytes that order an address as PostgreSQL's type inet does: the family, the network's bits, the length
/// of the prefix, all bits.
std::string AddressValue(bool v6, std::string_view address, unsigned prefix) {
  std::string network(address);
  for (std::size_t bit = prefix; bit < 8 * network.size(); ++bit) {
    network[bit / 8] = static_cast<char>(network[bit / 8] & ~(0x80 >> bit % 8));
  }
  return std::string(1, v6 ? '6' : '4') + network + static_cast<char>(prefix) + std::string(address);
}

Value ReadAddress(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string number(text.substr(0, slash));
  const bool v6 = number.find(':') != number.npos;
  std::array<char, 16> address{};
  if (number.find('\0') != number.npos || ::inet_pton(v6 ? AF_INET6 : AF_INET, number.c_str(), address.data()) != 1) {
    return Null{};
  }
  const int full = v6 ? 128 : 32;
  int prefix = full;
  if (slash < text.size()) {
    std::string_view digits = text.substr(slash + 1);
    if (digits.empty() || digits.size() > 3 || DigitsAt(digits) != digits.size()) return Null{};
    prefix = static_cast<int>(TakeNumber(digits, digits.size()));
  }
  if (prefix > full) return Null{};
  return AddressValue(v6, {address.data(), v6 ? 16u : 4u}, static_cast<unsigned>(prefix));
}

std::string Folded(std::string_view text) { return Lowered(text); }

// ---- Versions, as GNU sort -V: https://www.gnu.org/software/coreutils/manual, "Version sort ordering" --------------

/// Returns the weight of the first character. A tilde is before the end of the text, which is before letters, which are
/// before all other bytes.
int Weight(std::string_view text) {
  if (text.empty() || IsDigit(text[0])) return text.empty() ? -1 : 0;
  const int byte = static_cast<unsigned char>(text[0]);
  return IsLetter(text[0]) ? byte : text[0] == '~' ? -2 : byte + 256;
}

/// Compares two versions: in turns, text without digits by Weight, and numbers by value.
int CompareParts(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    while ((!a.empty() && !IsDigit(a[0])) || (!b.empty() && !IsDigit(b[0]))) {
      if (Weight(a) != Weight(b)) return Weight(a) - Weight(b);
      a.remove_prefix(std::min<std::size_t>(1, a.size()));
      b.remove_prefix(std::min<std::size_t>(1, b.size()));
    }
    const auto number = [](std::string_view& text) {
      const std::string_view digits = text.substr(0, DigitsAt(text));
      text.remove_prefix(digits.size());
      return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
    };
    const std::string_view x = number(a), y = number(b);
    if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
    if (const int order = x.compare(y); order != 0) return order;
  }
  return 0;
}

/// Returns the text without the longest text at its end that matches (\.[A-Za-z~][A-Za-z0-9~]*)*$. Keeps the first
/// byte.
std::string_view WithoutSuffix(std::string_view text) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    std::size_t end = at;
    while (end + 1 < text.size() && text[end] == '.' && (IsLetter(text[end + 1]) || text[end + 1] == '~')) {
      for (end += 2; end < text.size() && (IsLetter(text[end]) || IsDigit(text[end]) || text[end] == '~');) ++end;
    }
    if (end == text.size()) return text.substr(0, at);
    at = end;
  }
  return text;
}

std::strong_ordering CompareNatural(std::string_view a, std::string_view b) {
  // The order of classes: an empty text, ".", "..", texts that begin with a point, all other texts.
  const auto rank = [](std::string_view text) {
    return text.empty() ? 0 : text == "." ? 1 : text == ".." ? 2 : text[0] == '.' ? 3 : 4;
  };
  if (rank(a) != rank(b) || rank(a) < 3) return rank(a) <=> rank(b);
  if (const int order = CompareParts(WithoutSuffix(a), WithoutSuffix(b)); order != 0) return order <=> 0;
  return CompareParts(a, b) <=> 0;
}

/// Returns the weights of the text in the order of the locale, from strxfrm. Parts between NULs are weighed one by one.
std::string Collated(std::string_view text) {
  const std::string parts(text);
  std::string weights;
  for (std::size_t at = 0;; ++at) {
    const char* const part = parts.c_str() + at;
    const std::size_t before = weights.size(), size = std::strxfrm(nullptr, part, 0);
    weights.resize(before + size + 1);
    std::strxfrm(weights.data() + before, part, size + 1);
    at += std::strlen(part);
    if (at == parts.size()) return weights;
  }
}

// ---- PostgreSQL's binary values ----------------------------------------------------------------------------------

template <typename T>
T Load(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes.substr(0, sizeof(T))) value = value << 8 | static_cast<unsigned char>(c);
  return static_cast<T>(value);
}

Value ReadNumeric(std::string_view bytes) {
  if (bytes.size() < 8 || bytes.size() % 2 != 0 || Load<std::uint16_t>(bytes) != bytes.size() / 2 - 4) return Null{};
  const auto weight = Load<std::int16_t>(bytes.substr(2));
  const auto sign = Load<std::uint16_t>(bytes.substr(4));
  if (sign == 0xC000) return Number{Number::kNan, false, {}, 0};
  if (sign == 0xD000) return Number{Number::kInfinity, false, {}, 0};
  if (sign == 0xF000) return Number{Number::kMinusInfinity, false, {}, 0};
  if (sign != 0 && sign != 0x4000) return Null{};
  std::string digits;
  for (std::size_t at = 8; at < bytes.size(); at += 2) {
    const auto four = Load<std::uint16_t>(bytes.substr(at));
    if (four > 9999) return Null{};
    digits += std::to_string(10000 + four).substr(1);
  }
  return Normal(sign != 0, digits, (weight + 1) * 4);
}

template <typename T>
int InfinityOf(T number) {
  return number == std::numeric_limits<T>::max() ? 1 : number == std::numeric_limits<T>::min() ? -1 : 0;
}

Value ReadMicros(std::int64_t micros) {
  constexpr std::int64_t kSecond = 1000000, kEpoch = 946684800;  // 2000
  if (InfinityOf(micros) != 0) return Instant{InfinityOf(micros), 0, {}};
  const std::int64_t part = ((micros % kSecond) + kSecond) % kSecond;
  return MakeInstant((micros - part) / kSecond + kEpoch, std::to_string(kSecond + part).substr(1));
}

/// Microseconds, and perhaps the seconds that the zone is west of UTC.
Value ReadBinaryTime(const Rule& rule, std::string_view bytes) {
  if (bytes.size() != 8 && bytes.size() != 12) return Null{};
  const auto micros = Load<std::int64_t>(bytes);
  if (micros < 0 || micros > kDaySeconds * 1000000) return Null{};
  const auto two = [](std::int64_t number) { return std::to_string(100 + number).substr(1); };
  const auto clock = [&](std::int64_t time) {
    return two(time / 3600) + ":" + two(time / 60 % 60) + ":" + two(time % 60);
  };
  std::string text = clock(micros / 1000000) + "." + std::to_string(1000000 + micros % 1000000).substr(1);
  if (bytes.size() == 12) {
    const auto west = Load<std::int32_t>(bytes.substr(8));
    text += (west > 0 ? "-" : "+") + clock(std::abs(west));
  }
  return ReadValue(rule, text);
}

Value ReadDays(std::int32_t days) {
  constexpr std::int32_t kEpoch = 10957;  // 2000
  if (InfinityOf(days) != 0) return Instant{InfinityOf(days), 0, {}};
  if (days >= std::numeric_limits<std::int32_t>::max() - kEpoch) return Null{};
  return Instant{0, days + kEpoch, {}};
}

Value ReadInet(std::string_view bytes) {
  if (bytes.size() < 4 || (bytes[0] != 2 && bytes[0] != 3)) return Null{};
  const std::size_t size = bytes[0] == 2 ? 4 : 16;
  if (bytes.size() != 4 + size || static_cast<unsigned char>(bytes[3]) != size) return Null{};
  if (static_cast<unsigned char>(bytes[1]) > 8 * size) return Null{};
  return AddressValue(size == 16, bytes.substr(4), static_cast<unsigned char>(bytes[1]));
}

// ---- What makes values equal -------------------------------------------------------------------------------------

template <typename T>
void AppendRaw(const T& value, std::string& to) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.append(bytes, sizeof(T));
}

void AppendText(std::string_view text, std::string& to) {
  AppendRaw(text.size(), to);
  to.append(text);
}

/// Returns bytes that are equal for texts that the type natural calls equal. Ignores zeros before numbers, and a zero
/// at the end of the text.
std::string NaturalIdentity(std::string_view text) {
  std::string identity;
  while (!text.empty()) {
    const std::string_view digits = text.substr(0, DigitsAt(text));
    const std::string_view number = digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
    text.remove_prefix(digits.size());
    identity += number;
    if (number.empty() && !digits.empty() && !text.empty()) identity += '0';
    const auto end = std::find_if(text.begin(), text.end(), IsDigit);
    identity.append(text.begin(), end);
    text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
  }
  return identity;
}

}  // namespace

Type TypeOf(std::string_view name) {
  static constexpr std::pair<std::string_view, Type> kNames[] = {{"text", Type::kText},
                                                                 {"json", Type::kText},
                                                                 {"nocase", Type::kNoCase},
                                                                 {"natural", Type::kNatural},
                                                                 {"locale", Type::kLocale},
                                                                 {"int", Type::kInt},
                                                                 {"int2", Type::kInt},
                                                                 {"int4", Type::kInt},
                                                                 {"int8", Type::kInt},
                                                                 {"decimal", Type::kDecimal},
                                                                 {"numeric", Type::kDecimal},
                                                                 {"float", Type::kFloat},
                                                                 {"float4", Type::kFloat},
                                                                 {"float8", Type::kFloat},
                                                                 {"number", Type::kNumber},
                                                                 {"amount", Type::kNumber},
                                                                 {"money", Type::kNumber},
                                                                 {"bool", Type::kBool},
                                                                 {"date", Type::kDate},
                                                                 {"time", Type::kTime},
                                                                 {"timetz", Type::kTime},
                                                                 {"timestamp", Type::kTimestamp},
                                                                 {"timestamptz", Type::kTimestamp},
                                                                 {"interval", Type::kInterval},
                                                                 {"ip", Type::kIp},
                                                                 {"inet", Type::kIp},
                                                                 {"cidr", Type::kIp},
                                                                 {"macaddr", Type::kMacAddress},
                                                                 {"macaddr8", Type::kMacAddress},
                                                                 {"uuid", Type::kUuid},
                                                                 {"bytes-hex", Type::kBytesHex},
                                                                 {"bytea", Type::kBytesHex},
                                                                 {"bit", Type::kBits},
                                                                 {"varbit", Type::kBits},
                                                                 {"severity", Type::kSeverity}};
  for (const auto& [known, type] : kNames) {
    if (known == name) return type;
  }
  throw BadRule("'" + std::string(name) + "' is none of a type, asc, desc, nulls-first and nulls-last");
}

std::string Lowered(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), ToLower);
  return lower;
}

void CheckTimeFormat(std::string_view format) { PlainFormat(format); }

std::optional<Instant> TakeInstantBy(std::string_view format, std::string_view& text, bool& zoned) {
  const Value value = TakeInstant(PlainFormat(format), text, zoned);
  const auto* const instant = std::get_if<Instant>(&value);
  return instant == nullptr ? std::nullopt : std::optional(*instant);
}

namespace {

/// Returns one digit for each word of a set, the last word first: 1 if `text` has the word.
Value ReadSet(const std::vector<std::string>& labels, std::string_view text) {
  std::string digits(labels.size(), '0');
  for (bool more = !text.empty(); more;) {
    const std::size_t comma = text.find(',');
    more = comma != text.npos;
    const auto found = std::ranges::find(labels, text.substr(0, comma));
    if (found == labels.end()) return Null{};
    digits[static_cast<std::size_t>(labels.end() - found) - 1] = '1';
    if (more) text.remove_prefix(comma + 1);
  }
  return digits;
}

}  // namespace

Value ReadValue(const Rule& rule, std::string_view text) {
  const std::string_view trimmed = Trim(text);
  switch (rule.type) {
    case Type::kText:
      while (!text.empty() && static_cast<unsigned char>(text.back()) == rule.padding) text.remove_suffix(1);
      return std::string(text);
    case Type::kNatural:
      return std::string(text);
    case Type::kLocale:
      return Collated(text);
    case Type::kNoCase:
      return Folded(text);
    case Type::kInt:
    case Type::kDecimal:
      return ReadNumber(rule, trimmed);
    case Type::kFloat:
      return ReadFloat(rule, trimmed);
    case Type::kBool:
      return ReadBool(trimmed);
    case Type::kDate:
      return rule.time_format.empty() ? ReadDay(trimmed) : ReadDayBy(PlainFormat(rule.time_format), trimmed);
    case Type::kTimestamp:
      if (rule.zero_dates && trimmed.size() > 9 && (trimmed.substr(5, 2) == "00" || trimmed.substr(8, 2) == "00")) {
        return ReadZeroDate(trimmed);
      }
      return ReadLocal(rule, trimmed);
    case Type::kIp:
      return ReadAddress(trimmed);
    case Type::kUuid:
      return ReadUuid(trimmed);
    case Type::kBytesHex:
      return ReadHex(trimmed);
    case Type::kEnum: {
      auto found = std::ranges::find(rule.labels, text);
      if (found == rule.labels.end()) found = std::ranges::find(rule.labels, trimmed);
      if (found == rule.labels.end()) return Null{};
      return std::to_string(1000000 + (found - rule.labels.begin()));
    }
    case Type::kOrder: {  // the values of the file, and then all others
      const auto found = rule.listed.find(trimmed);
      if (found == rule.listed.end()) return "1" + std::string(trimmed);
      return "0" + std::to_string(1000000 + found->second);
    }
    case Type::kSet: {
      const Value value = ReadSet(rule.labels, text);
      return std::holds_alternative<Null>(value) ? ReadSet(rule.labels, trimmed) : value;
    }
    default:
      return ReadWrittenValue(rule, trimmed);
  }
}

Value ReadBinaryValue(const Rule& rule, std::string_view bytes) {
  const std::size_t size = bytes.size();
  switch (rule.type) {
    case Type::kInt:
      if (size == 2) return ReadValue(rule, std::to_string(Load<std::int16_t>(bytes)));
      if (size == 4) return ReadValue(rule, std::to_string(Load<std::int32_t>(bytes)));
      if (size == 8) return ReadValue(rule, std::to_string(Load<std::int64_t>(bytes)));
      return Null{};
    case Type::kNumber:  // the number counts cents
      if (size == 8) return ReadNumber(rule, std::to_string(Load<std::int64_t>(bytes)));
      return Null{};
    case Type::kDecimal:
      return ReadNumeric(bytes);
    case Type::kFloat: {
      if (size != 4 && size != 8) return Null{};
      const double value = size == 4 ? std::bit_cast<float>(Load<std::uint32_t>(bytes))
                                     : std::bit_cast<double>(Load<std::uint64_t>(bytes));
      return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
    }
    case Type::kBool:
      if (size != 1) return Null{};
      return std::string(bytes[0] != 0 ? "1" : "0");
    case Type::kDate:
      if (!rule.time_format.empty()) return ReadValue(rule, bytes);
      if (size != 4) return Null{};
      return ReadDays(Load<std::int32_t>(bytes));
    case Type::kTimestamp:
      if (!rule.time_format.empty()) return ReadValue(rule, bytes);
      if (size != 8) return Null{};
      return ReadMicros(Load<std::int64_t>(bytes));
    case Type::kIp:
      return ReadInet(bytes);
    case Type::kUuid:
      if (size != 16) return Null{};
      return std::string(bytes);
    case Type::kTime:
      return ReadBinaryTime(rule, bytes);
    case Type::kInterval: {
      if (size != 16) return Null{};
      const auto micros = Load<std::int64_t>(bytes);
      return ReadValue(rule, std::to_string(Load<std::int32_t>(bytes.substr(12))) + " mons " +
                                 std::to_string(Load<std::int32_t>(bytes.substr(8))) + " days " +
                                 std::to_string(micros / 1000) + " ms " + std::to_string(micros % 1000) + " us");
    }
    case Type::kMacAddress: {
      if (size != 6 && size != 8) return Null{};
      std::string digits;
      for (const char byte : bytes) {
        for (const int half : {byte >> 4 & 15, byte & 15}) digits += "0123456789abcdef"[half];
      }
      return ReadValue(rule, digits);
    }
    case Type::kBits: {
      if (size < 4) return Null{};
      std::string bits;
      for (const char byte : bytes.substr(4)) {
        for (int bit = 7; bit >= 0; --bit) bits += (byte >> bit & 1) != 0 ? '1' : '0';
      }
      const std::size_t count = Load<std::uint32_t>(bytes);
      if (count > bits.size() || bits.size() - count > 7) return Null{};
      return bits.substr(0, count);
    }
    case Type::kSeverity:
    case Type::kEnum:
    case Type::kSet:
    case Type::kOrder:
      return ReadValue(rule, bytes);
    case Type::kNoCase:
      return Folded(bytes);
    case Type::kLocale:
      return Collated(bytes);
    default:
      return std::string(bytes);
  }
}

std::strong_ordering CompareValues(const Rule& rule, const Value& a, const Value& b) {
  const bool a_null = std::holds_alternative<Null>(a), b_null = std::holds_alternative<Null>(b);
  if (a_null || b_null) {
    return rule.nulls_first.value_or(rule.descending) ? b_null <=> a_null : a_null <=> b_null;
  }
  const std::strong_ordering order = [&] {
    switch (rule.type) {
      case Type::kNatural:
        return CompareNatural(std::get<std::string>(a), std::get<std::string>(b));
      case Type::kInt:
      case Type::kDecimal:
      case Type::kNumber:
        return CompareNumbers(std::get<Number>(a), std::get<Number>(b));
      case Type::kFloat:
        return std::strong_order(std::get<double>(a), std::get<double>(b));
      case Type::kDate:
      case Type::kTimestamp:
        return CompareInstants(std::get<Instant>(a), std::get<Instant>(b));
      default:
        return std::get<std::string>(a).compare(std::get<std::string>(b)) <=> 0;
    }
  }();
  return rule.descending ? 0 <=> order : order;
}

void AppendIdentity(const Rule& rule, const Value& value, std::string& to) {
  to += static_cast<char>('0' + value.index());
  if (const auto* const text = std::get_if<std::string>(&value)) {
    // These three texts have their own rank, which distinguishes them from ".0" and similar texts.
    const bool natural = rule.type == Type::kNatural && *text != "" && *text != "." && *text != "..";
    to += natural ? 'n' : 't';
    AppendText(natural ? NaturalIdentity(*text) : *text, to);
  } else if (const auto* const number = std::get_if<Number>(&value)) {
    to += static_cast<char>('0' + number->kind);
    if (number->kind != Number::kFinite) return;
    AppendText(number->digits, to);
    if (number->digits.empty()) return;
    to += number->negative ? '-' : '+';
    AppendRaw(number->exponent, to);
  } else if (const auto* const real = std::get_if<double>(&value)) {
    AppendRaw(*real, to);
  } else if (const auto* const instant = std::get_if<Instant>(&value)) {
    to += static_cast<char>('1' + instant->infinite);
    if (instant->infinite != 0) return;
    AppendRaw(instant->count, to);
    AppendText(instant->fraction, to);
  }
}

}  // namespace check

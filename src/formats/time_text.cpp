// The parsers allocate no memory, except for the names of zones with a slash or in brackets.
#include "formats/time_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/gnu_quote.hpp"
#include "formats/zone.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

constexpr std::int64_t kDaySeconds = 86400;
constexpr std::size_t kMostYearDigits = 7;

struct Civil {
  std::int64_t year = 1972;
  unsigned month = 1;
  unsigned day = 1;
};

struct Clock {
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
  std::string_view fraction;
};

// Abbreviations of time zones with their offsets, as in PostgreSQL's set `Default`: IST is Israel's, BST is Britain's,
// and CST and EST are North America's. Names whose offset changed over the years are left out (MSK is +3). WEST, CAT,
// HDT, ChST, SST (Samoa), WIB, WITA and WIT are added, because programs write them.
struct ZoneName {
  std::string_view name;  ///< in lower case
  std::int16_t minutes;   ///< offset from UTC in minutes; positive: east
};

constexpr ZoneName kZoneNames[] = {
    {"acdt", 630},   {"acsst", 630}, {"acst", 570},   {"act", -300},  {"acwst", 525}, {"adt", -180},  {"aedt", 660},
    {"aesst", 660},  {"aest", 600},  {"aft", 270},    {"akdt", -480}, {"akst", -540}, {"almst", 420}, {"almt", 360},
    {"amt", -240},   {"ast", -240},  {"awsst", 540},  {"awst", 480},  {"azost", 0},   {"azot", -60},  {"bdst", 120},
    {"bdt", 360},    {"bnt", 480},   {"bort", 480},   {"bot", -240},  {"bra", -180},  {"brst", -120}, {"brt", -180},
    {"bst", 60},     {"btt", 360},   {"cadt", 630},   {"cast", 570},  {"cat", 120},   {"cct", 480},   {"cdt", -300},
    {"cest", 120},   {"cet", 60},    {"cetdst", 120}, {"chadt", 825}, {"chast", 765}, {"chst", 600},  {"chut", 600},
    {"clst", -180},  {"cot", -300},  {"cst", -360},   {"cxt", 420},   {"ddut", 600},  {"eat", 180},   {"edt", -240},
    {"eest", 180},   {"eet", 120},   {"eetdst", 180}, {"egst", 0},    {"egt", -60},   {"est", -300},  {"fet", 180},
    {"fjst", 780},   {"fjt", 720},   {"fnst", -60},   {"fnt", -120},  {"galt", -360}, {"gamt", -540}, {"gft", -180},
    {"gilt", 720},   {"gmt", 0},     {"hdt", -540},   {"hkt", 480},   {"hst", -600},  {"ict", 420},   {"idt", 180},
    {"irt", 210},    {"ist", 120},   {"jayt", 540},   {"jst", 540},   {"kdt", 600},   {"kgst", 360},  {"kst", 540},
    {"lhst", 630},   {"ligt", 600},  {"mart", -570},  {"mdt", -360},  {"mest", 120},  {"mesz", 120},  {"met", 60},
    {"metdst", 120}, {"mez", 60},    {"mht", 720},    {"mmt", 390},   {"mpt", 600},   {"msd", 240},   {"msk", 180},
    {"mst", -420},   {"must", 300},  {"mut", 240},    {"mvt", 300},   {"myt", 480},   {"ndt", -150},  {"nft", -210},
    {"npt", 345},    {"nst", -210},  {"nzdt", 780},   {"nzst", 720},  {"nzt", 720},   {"pdt", -420},  {"pet", -300},
    {"pgt", 600},    {"pht", 480},   {"pkst", 360},   {"pkt", 300},   {"pmdt", -120}, {"pmst", -180}, {"pont", 660},
    {"pst", -480},   {"pwt", 540},   {"pyst", -180},  {"ret", 240},   {"sadt", 630},  {"sast", 120},  {"sct", 240},
    {"sst", -660},   {"taht", -600}, {"tft", 300},    {"tjt", 300},   {"tot", 780},   {"trut", 600},  {"tvt", 720},
    {"uct", 0},      {"ulast", 540}, {"ut", 0},       {"utc", 0},     {"uyst", -120}, {"uyt", -180},  {"uzst", 360},
    {"uzt", 300},    {"vut", 660},   {"wadt", 480},   {"wakt", 720},  {"wast", 420},  {"wat", 60},    {"wdt", 540},
    {"west", 60},    {"wet", 0},     {"wetdst", 60},  {"wft", 720},   {"wgst", -120}, {"wgt", -180},  {"wib", 420},
    {"wit", 540},    {"wita", 480},  {"xjt", 360},    {"yapt", 600},  {"yekst", 360}, {"z", 0},       {"zulu", 0},
};

/// The names of kZoneNames that zones with other offsets use, too: India, Ireland (IST), China, Cuba (CST), Bangladesh
/// (BST), Arabia (AST, ADT), Singapore, the Solomon Islands (SST), Armenia (AMT), Brunei (BDT), the Cocos Islands
/// (CCT), Norfolk Island (NFT) and Namibia (WAST). EST, PST, MST and CDT are nearly always those of North America.
constexpr std::string_view kAmbiguousZones[] = {"adt", "amt", "ast", "bdt", "bst", "cct",
                                                "cst", "ist", "nft", "sst", "wast"};
static_assert(std::size(kZoneNames) < 256);

constexpr std::uint32_t kEraYears = 400, kEraDays = 146097;

/// Returns the number of years since a leap year before all others, which is a multiple of 400. Such unsigned numbers
/// are fast to divide.
std::uint32_t Counted(std::int64_t year) {
  constexpr std::int64_t kFirst = 25'000 * kEraYears;
  static_assert(kFirst > 9'999'999);
  return static_cast<std::uint32_t>(year + kFirst);
}

bool IsLeap(std::int64_t year) {
  const std::uint32_t counted = Counted(year);
  return counted % 4 == 0 && (counted % 100 != 0 || counted % 400 == 0);
}

/// Returns the days since 1970-01-01. Counts in eras of 400 years that begin in March: Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms".
std::optional<std::int64_t> DaysOf(const Civil& civil) {
  constexpr unsigned char kDays[] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (civil.month < 1 || civil.month > 12) return std::nullopt;
  if (civil.day < 1 || civil.day > kDays[civil.month]) {
    if (civil.month != 2 || civil.day != 29 || !IsLeap(civil.year)) return std::nullopt;
  }
  const std::uint32_t year = Counted(civil.year) - (civil.month <= 2);
  const std::uint32_t era = year / kEraYears, of_era = year % kEraYears;
  const std::uint32_t of_year = (153 * (civil.month + (civil.month > 2 ? -3u : 9u)) + 2) / 5 + civil.day - 1;
  const std::uint32_t day = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
  return (std::int64_t{era} - Counted(0) / kEraYears) * kEraDays + day - 719468;
}

bool AllZeros(std::string_view digits) { return digits.find_first_not_of('0') == std::string_view::npos; }

/// Returns the number of seconds since midnight, or std::nullopt if there is no such time of day.
std::optional<std::int64_t> SecondsOf(const Clock& clock) {
  if (clock.hour > 24 || clock.minute > 59 || clock.second > 60) return std::nullopt;
  if (clock.hour == 24 && (clock.minute > 0 || clock.second > 0 || !AllZeros(clock.fraction))) return std::nullopt;
  // 24:00:00 is the next midnight, and a second 60 is the first second of the next minute.
  return (clock.hour * std::int64_t{60} + clock.minute) * 60 + clock.second;
}

/// Makes the instant that is `seconds` and a fraction after 1970. If `minus` is true, makes the instant that is this
/// long before 1970.
Instant MakeInstant(std::int64_t seconds, std::string_view fraction, bool minus = false) {
  while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
  Instant instant;
  instant.from_next = minus && !fraction.empty();
  instant.seconds = (minus ? -seconds : seconds) - instant.from_next;
  instant.fraction = fraction;
  return instant;
}

int TakeInfinity(TextReader& reader) {
  const std::string_view rest = reader.rest();
  if (rest.size() < 8 || rest.size() > 9) return 0;
  const bool sign = rest[0] == '-' || rest[0] == '+';
  if (!IsWord(rest.substr(sign), "infinity")) return 0;
  reader.at = reader.end;
  return rest[0] == '-' ? -1 : 1;
}

bool TakeDate(TextReader& reader, Civil& civil, bool* compact = nullptr) {
  const char* const begin = reader.at;
  const bool minus = reader.TakeSign();
  const bool sign = reader.at != begin;
  const std::size_t digits = reader.digits();
  if (digits == 8 && !sign) {
    civil.year = reader.TakeNumber(4);
    if (compact != nullptr) *compact = true;
    return reader.TakeTwo(civil.month) && reader.TakeTwo(civil.day);
  }
  if (digits < 4 || digits > kMostYearDigits) return false;
  civil.year = reader.TakeNumber(digits);
  if (minus) civil.year = -civil.year;
  const char between = reader.Is('/') && digits == 4 && !sign ? '/' : '-';
  return reader.Take(between) && reader.TakeTwo(civil.month) && reader.Take(between) && reader.TakeTwo(civil.day);
}

/// Skips " BC" at the end of the text, and makes the year one before Christ. Returns false if the year cannot be one.
bool TakeBc(TextReader& reader, Civil& civil) {
  TextReader behind = reader;
  if (!behind.SkipSpace() || !IsWord(behind.rest(), "bc")) return true;
  reader.at = reader.end;
  civil.year = 1 - civil.year;
  return civil.year <= 0;
}

/// Reads the fraction after the seconds, if there is one: '.' or ',' and digits.
bool TakeFraction(TextReader& reader, Clock& clock) {
  if (!reader.Take('.') && !reader.Take(',')) return true;
  clock.fraction = reader.rest().substr(0, reader.digits());
  reader.at += clock.fraction.size();
  return !clock.fraction.empty();
}

bool TakeClock(TextReader& reader, bool compact, Clock& clock) {
  if (!reader.TakeTwo(clock.hour)) return false;
  const bool colons = reader.Take(':');
  if ((!colons && !compact) || !reader.TakeTwo(clock.minute)) return false;
  if (colons ? !reader.Take(':') : reader.digits() == 0) return true;
  return reader.TakeTwo(clock.second) && TakeFraction(reader, clock);
}

/// Reads YYYY-MM-DD, one of T, t and a blank, and hh:mm:ss. Nearly all times have this form, and this takes half of the
/// time. Returns false and skips nothing if the text has another form.
bool TakeUsual(TextReader& reader, Civil& civil, Clock& clock) {
  const char* const c = reader.at;
  if (reader.end - c < 19 || c[4] != '-' || c[7] != '-' || c[13] != ':' || c[16] != ':') return false;
  if (c[10] != 'T' && c[10] != ' ' && c[10] != 't') return false;
  bool digits = true;
  const auto two = [&](unsigned at) {
    const unsigned high = static_cast<unsigned char>(c[at] - '0'), low = static_cast<unsigned char>(c[at + 1] - '0');
    digits = digits & (high <= 9) & (low <= 9);
    return high * 10 + low;
  };
  civil = {two(0) * 100 + two(2), two(5), two(8)};
  clock = {two(11), two(14), two(17), {}};
  if (digits) reader.at += 19;
  return digits;
}

std::optional<Instant> InstantOf(const Civil& civil, const Clock& clock, std::optional<std::int64_t> offset,
                                 ZoneWord word = 0) {
  const std::optional<std::int64_t> days = DaysOf(civil), seconds = SecondsOf(clock);
  if (!days || !seconds) return std::nullopt;
  Instant instant = MakeInstant(*days * kDaySeconds + *seconds - offset.value_or(0), clock.fraction);
  instant.zoned = offset.has_value();
  instant.zone_word = word;
  return instant;
}

/// Reads dd/Mon/yyyy:hh:mm:ss and a zone, as Apache writes them.
std::optional<Instant> ParseApache(TextReader reader) {
  Civil civil;
  Clock clock;
  std::optional<std::int64_t> offset;
  if (!reader.TakeTwo(civil.day) || !reader.Take('/')) return std::nullopt;
  const int month = TakeName(reader, kMonths);
  if (month < 0 || !reader.Take('/') || reader.digits() != 4) return std::nullopt;
  civil.month = static_cast<unsigned>(month) + 1;
  civil.year = reader.TakeNumber(4);
  if (!reader.Take(':') || !TakeClock(reader, false, clock)) return std::nullopt;
  reader.SkipSpace();
  const ZoneWord word = ZoneWordOf(reader.rest());
  if (!TakeZone(reader, offset) || !reader.done()) return std::nullopt;
  return InstantOf(civil, clock, offset, word);
}

/// Reads digits that count time since 1970. `reader` holds `digits` digits and perhaps a fraction, after which an
/// exponent may stand, as in "1.7954718e+09".
std::optional<Instant> ParseCount(TextReader reader, std::size_t digits, bool minus) {
  const std::size_t behind = digits <= 10 ? 0 : digits <= 14 ? 3 : digits <= 17 ? 6 : 9;
  std::int64_t seconds = reader.TakeNumber(digits - behind);
  if (behind > 0 || reader.done()) return MakeInstant(seconds, reader.rest(), minus);
  ++reader.at;
  const std::string_view fraction = reader.rest().substr(0, reader.digits());
  reader.at += fraction.size();
  std::size_t exponent = 0;
  if (reader.Take('e') || reader.Take('E')) {
    constexpr std::size_t kMostSeconds = 10;
    reader.Take('+');
    const std::size_t size = reader.digits();
    if (size == 0 || size > 2) return std::nullopt;
    exponent = static_cast<std::size_t>(reader.TakeNumber(size));
    if (digits + exponent > kMostSeconds) return std::nullopt;
  }
  if (fraction.empty() || !reader.done()) return std::nullopt;
  for (std::size_t i = 0; i < exponent; ++i) seconds = seconds * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
  return MakeInstant(seconds, fraction.substr(std::min(exponent, fraction.size())), minus);
}

/// How a letter of a format reads a number. `most` is the maximum number of digits; 0: the letter reads no number.
struct NumberLetter {
  std::size_t most = 0;
  unsigned low = 0, high = 0;
  unsigned TimeParts::*to = nullptr;
};

constexpr auto kNumberLetters = [] {
  std::array<NumberLetter, 128> letters{};
  letters['Y'] = {4, 0, 9999, &TimeParts::year};
  letters['y'] = {2, 0, 99, &TimeParts::year};
  letters['m'] = {2, 1, 12, &TimeParts::month};
  letters['d'] = letters['e'] = {2, 1, 31, &TimeParts::day};
  letters['j'] = {3, 1, 366, &TimeParts::day_of_year};
  letters['H'] = {2, 0, 24, &TimeParts::hour};
  letters['I'] = {2, 1, 12, &TimeParts::hour_of_half};
  letters['M'] = {2, 0, 59, &TimeParts::minute};
  letters['S'] = {2, 0, 60, &TimeParts::second};
  return letters;
}();

/// Reads the number of `letter` after white space. Returns false if there is none in the range of the letter.
bool TakeFormatNumber(char letter, TextReader& reader, TimeParts& parts) {
  const NumberLetter& known = kNumberLetters[static_cast<unsigned char>(letter) % kNumberLetters.size()];
  reader.SkipSpace();
  const std::size_t digits = std::min(known.most, reader.digits());
  if (digits == 0) return false;
  unsigned& number = parts.*known.to;
  number = static_cast<unsigned>(reader.TakeNumber(digits));
  const bool good = number >= known.low && number <= known.high;
  if (letter == 'y') number += number < 69 ? 2000 : 1900;
  return good;
}

/// The letters that a format can contain. Letters that stand for several others were replaced before.
constexpr std::string_view kFormatLetters = "YmdHMSybBaAejpIzZsf%";
/// Letters that stand for other letters.
constexpr std::pair<char, std::string_view> kShortLetters[] = {{'T', "%H:%M:%S"}, {'D', "%m/%d/%y"}, {'F', "%Y-%m-%d"},
                                                               {'R', "%H:%M"},    {'n', " "},        {'t', " "}};

/// Takes a name of the IANA database with a slash, which blanks may precede, or any name in brackets as in RFC 9557.
/// Returns an empty text, and takes nothing, if there is neither.
std::string_view TakeRegion(TextReader& reader) {
  TextReader ahead = reader;
  ahead.SkipSpace();
  const bool bracket = ahead.Take('[');
  const char* const begin = ahead.at;
  const auto in_name = [](char c) {
    return IsLetterOrDigit(c) || std::string_view("/_+-=").find(c) != std::string_view::npos;
  };
  while (!ahead.done() && in_name(*ahead.at)) ++ahead.at;
  const std::string_view name(begin, static_cast<std::size_t>(ahead.at - begin));
  if (name.empty() || (bracket ? !ahead.Take(']') : name.find('/') == std::string_view::npos)) return {};
  reader.at = ahead.at;
  return name;
}

}  // namespace

bool TakeZone(TextReader& reader, std::optional<std::int64_t>& offset) {
  if (reader.done()) return true;
  if (!reader.Is('+') && !reader.Is('-')) {
    const bool utc = reader.end - reader.at == 1 && Lower(*reader.at) == 'z';
    if (const std::optional<std::int64_t> named = utc ? std::nullopt : TakeZoneName(reader)) {
      offset = named;
    } else if (reader.Take('Z') || reader.Take('z') || reader.TakeWord("utc") || reader.TakeWord("gmt")) {
      offset = 0;
    }
    return true;
  }
  const bool minus = reader.TakeSign();
  unsigned hour = 0, minute = 0, second = 0;
  if (!reader.TakeTwo(hour)) return false;
  const bool colons = reader.Take(':');
  if (colons || reader.digits() > 0) {
    if (!reader.TakeTwo(minute)) return false;
    if (colons && reader.Take(':') && !reader.TakeTwo(second)) return false;
  }
  if (hour > 23 || minute > 59 || second > 59) return false;
  const std::int64_t east = (hour * std::int64_t{60} + minute) * 60 + second;
  offset = minus ? -east : east;
  return true;
}

ZoneWord ZoneWordOf(std::string_view text) {
  char lower[6];
  std::size_t size = 0;
  for (; size < text.size() && Lower(text[size]) >= 'a' && Lower(text[size]) <= 'z'; ++size) {
    if (size == sizeof(lower)) return 0;
    lower[size] = Lower(text[size]);
  }
  const std::string_view name(lower, size);
  const auto* const found = std::ranges::lower_bound(kZoneNames, name, {}, &ZoneName::name);
  if (found == std::end(kZoneNames) || found->name != name) return 0;
  return static_cast<ZoneWord>(found - std::begin(kZoneNames) + 1);
}

ZoneWordFacts FactsOf(ZoneWord word) {
  const ZoneName& name = kZoneNames[word - 1];
  const bool ambiguous = std::ranges::find(kAmbiguousZones, name.name) != std::end(kAmbiguousZones);
  return {name.name, std::int64_t{name.minutes} * 60, ambiguous};
}

ZoneWord LastZoneWord() { return std::size(kZoneNames); }

std::optional<std::int64_t> TakeZoneName(TextReader& reader) {
  const ZoneWord word = ZoneWordOf(reader.rest());
  if (word == 0) return std::nullopt;
  reader.at += kZoneNames[word - 1].name.size();
  return FactsOf(word).east;
}

std::optional<Day> ParseDay(std::string_view text) {
  TextReader reader = TextReader::Trimmed(text);
  if (const int infinite = TakeInfinity(reader); infinite != 0) return Day{infinite, 0};
  Civil civil;
  if (!TakeDate(reader, civil) || !TakeBc(reader, civil) || !reader.done()) return std::nullopt;
  const std::optional<std::int64_t> days = DaysOf(civil);
  if (!days) return std::nullopt;
  return Day{0, *days};
}

std::optional<Instant> ParseInstant(std::string_view text) {
  TextReader reader = TextReader::Trimmed(text);
  Civil civil;
  Clock clock;
  std::optional<std::int64_t> offset;
  if (TakeUsual(reader, civil, clock)) {
    if (!TakeFraction(reader, clock)) return std::nullopt;
  } else {
    if (const int infinite = TakeInfinity(reader); infinite != 0) {
      Instant instant;
      instant.infinite = infinite;
      return instant;
    }
    TextReader number = reader;
    const bool minus = number.TakeSign();
    const std::size_t digits = number.digits();
    const char* const behind = number.at + digits;
    if (digits > 0 && digits <= 19 && (behind == reader.end || (digits <= 10 && (*behind == '.' || *behind == ',')))) {
      return ParseCount(number, digits, minus);
    }
    if (digits == 2) return ParseApache(reader);
    bool compact = false;
    if (!TakeDate(reader, civil, &compact) || !TakeBc(reader, civil)) return std::nullopt;
    if (reader.done()) return InstantOf(civil, clock, offset);
    if (!reader.Take('T') && !reader.Take('t') && !reader.SkipSpace()) return std::nullopt;
    if (!TakeClock(reader, compact, clock)) return std::nullopt;
  }
  const char* const behind = reader.at;
  reader.SkipSpace();
  const ZoneWord word = ZoneWordOf(reader.rest());
  if (!TakeZone(reader, offset)) return std::nullopt;
  if (!offset) reader.at = behind;
  const std::string_view region = reader.done() ? std::string_view() : TakeRegion(reader);
  // Words such as [u-ca=gregory] may follow.
  while (!region.empty() && reader.Is('[') && !TakeRegion(reader).empty()) {
  }
  if (!reader.done() && (!TakeBc(reader, civil) || !reader.done())) return std::nullopt;
  std::optional<Instant> instant = InstantOf(civil, clock, offset, offset ? word : ZoneWord{0});
  // An offset has precedence over the name of a zone.
  if (region.empty() || offset || !instant) return instant;
  if (!Zone::Exists(region)) return std::nullopt;
  instant->seconds = Zone(std::string(region)).ToUtc(instant->seconds, true);
  instant->zoned = true;
  return instant;
}

std::string CheckedTimeFormat(std::string_view format) {
  std::string plain;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      plain += IsSpace(format[i]) ? ' ' : format[i];
      continue;
    }
    const char letter = ++i < format.size() ? format[i] : '\0';
    const auto* const known = std::ranges::find(kShortLetters, letter, [](const auto& pair) { return pair.first; });
    if (known != std::end(kShortLetters)) {
      plain += known->second;
    } else if (letter != '\0' && kFormatLetters.find(letter) != std::string_view::npos) {
      plain += {'%', letter};
    } else {
      throw Error(ErrorCode::kUsage, "time format " + QuoteWord(format) + ": unknown " +
                                         QuoteWord(format.substr(i - 1, 2)) +
                                         "; known are %Y %m %d %H %M %S %y %b %B %a %A %e %j %p %I %z %Z %s %f %T %D "
                                         "%F %R %n %t %%");
    }
  }
  return plain;
}

std::optional<Instant> TimeParts::instant() const {
  if (count) return MakeInstant(*count, fraction, minus);
  const Clock clock{hour_of_half == 0 ? hour : hour_of_half % 12 + (afternoon ? 12 : 0), minute, second, fraction};
  const bool by_year = day_of_year > 0 && month == 0 && day == 0;
  const Civil civil{year == kNoYear ? 1972 : year, std::max(month, 1u), std::max(day, 1u)};
  if (by_year && day_of_year > 365u + IsLeap(civil.year)) return std::nullopt;
  std::optional<Instant> instant = InstantOf(civil, clock, offset, zone_word);
  if (instant && by_year) instant->seconds += (day_of_year - 1) * kDaySeconds;
  if (instant && week > 0) {
    // The week that has January 4 is the first one. 1970-01-01 was a Thursday.
    constexpr std::int64_t kFourth = 3, kThursday = 3, kWeek = 7;
    const std::int64_t fourth = *DaysOf({civil.year, 1, 1}) + kFourth;
    const std::int64_t weekday = ((fourth + kThursday) % kWeek + kWeek) % kWeek;
    const std::int64_t days = kFourth - weekday + std::int64_t{week - 1} * kWeek + day_of_week - 1;
    instant->seconds += days * kDaySeconds;
  }
  return instant;
}

namespace {

/// Reads the part of a time that `letter` stands for.
bool TakePart(char letter, TextReader& reader, TimeParts& parts) {
  switch (letter) {
    case 'b':
    case 'B':
      parts.month = static_cast<unsigned>(TakeName(reader, kMonths) + 1);
      return parts.month > 0;
    case 'a':
    case 'A':
      return TakeName(reader, kWeekdays) >= 0;
    case 'p':
      parts.afternoon = reader.TakeWord("pm");
      return parts.afternoon || reader.TakeWord("am");
    case 'f':
      parts.fraction = reader.rest().substr(0, reader.digits());
      reader.at += parts.fraction.size();
      return !parts.fraction.empty();
    case 's':
      reader.SkipSpace();
      parts.minus = reader.TakeSign();
      if (reader.digits() == 0 || reader.digits() > 12) return false;
      parts.count = reader.TakeNumber(reader.digits());
      return true;
    case 'z':
      reader.SkipSpace();
      parts.offset.reset();
      parts.zone_word = ZoneWordOf(reader.rest());
      return TakeZone(reader, parts.offset) && parts.offset.has_value();
    case 'Z': {
      const ZoneWord word = ZoneWordOf(reader.rest());
      const std::optional<std::int64_t> named = TakeZoneName(reader);
      if (!parts.offset) {
        parts.offset = named;
        parts.zone_word = word;
      }
      return named.has_value();
    }
    case '%':
      return reader.Take('%');
    default:
      return TakeFormatNumber(letter, reader, parts);
  }
}

}  // namespace

bool TakeTime(std::string_view format, TextReader& reader, TimeParts& parts) {
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] == ' ') {
      reader.SkipSpace();
    } else if (format[i] == '%') {
      if (!TakePart(format[++i], reader, parts)) return false;
    } else if (!reader.Take(format[i])) {
      return false;
    }
  }
  return true;
}

std::optional<Instant> ParseInstantBy(std::string_view format, std::string_view text) {
  TextReader reader = TextReader::Trimmed(text);
  TimeParts parts;
  if (!TakeTime(format, reader, parts) || !reader.done()) return std::nullopt;
  return parts.instant();
}

}  // namespace gpusort

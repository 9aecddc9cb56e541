// A format of a known form is a text of elements. A byte stands for itself, a blank for blanks and tabs, and:
// %Y     a year of four digits, from 1000 on      %C     the same, from 1970 to 2100
// %y     a year of two digits                     %m %d  a month, a day: one or two digits
// %e     a day, perhaps after a blank             %j     a day of the year: three digits
// %V %u  an ISO week, a day of it                 %b     the name of a month, perhaps with a point
// %w     the name of a weekday and its separator, or nothing; %v: not nothing
// %^     separators between date and clock        %,     a comma, or nothing
// %#     a clock: hour, minute, second, perhaps a fraction, perhaps AM or PM
// %J     a clock hh.mm.ss and the number of a job of JES2
// %@     a clock, perhaps without a second        %h     a clock without separators, perhaps with a fraction
// %!     nothing, but the clock must have had a fraction
// %z     a zone, perhaps after a blank, or nothing
// %Z     a zone
// %-     nothing, but no year may follow
// %o     the same as %z, and two digits after a blank and a sign are the hours of a zone, too: " -03"
// %W     a blank and a word in capitals that is neither a zone nor a level
// %N     10, 13, 16 or 19 digits that count seconds or parts of them since 1970, from 1990 to 2100; also 1.7954718e+09
// %f     '.' and digits, or nothing
// %T     a TAI64 or TAI64N label                  %L     a capital letter
// %X     hexadecimal seconds since 1970, a fraction, and the number of a thread: 5fdb1c2e.1a2b3c4d 0x7f00
// %E     mmddhhmmyy                               %K     a zone after '#', such as "#+0200" or "#0-500", or nothing
// %;     nothing, but no clock may follow         %M     a number of hours east of UTC in parentheses, or nothing
// %x     the clock and the date of Configuration Manager: 22:10:01.123-060" date="11-23-2026
#include "formats/log_forms.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "formats/zone.hpp"

namespace gpusort {
namespace {

constexpr const char kOrderAdvice[] =
    "day or month first? Give --time '%d/%m/%Y %H:%M:%S' or --time '%m/%d/%Y %H:%M:%S'";
constexpr const char kDashAdvice[] =
    "day or month first? Give --time '%d-%m-%Y %H:%M:%S' or --time '%m-%d-%Y %H:%M:%S'";
constexpr const char kShortAdvice[] = "day or month first? Give --time '%d/%m %H:%M:%S' or --time '%m/%d %H:%M:%S'";
constexpr const char kYearAdvice[] =
    "year or day first? Give --time '%y/%m/%d %H:%M:%S', --time '%d/%m/%y %H:%M:%S' or --time '%m/%d/%y %H:%M:%S'";
constexpr const char kClockFirstAdvice[] =
    "day or month first? Give --time '%H:%M:%S %d/%m/%Y' or --time '%H:%M:%S %m/%d/%Y'";
constexpr const char kErrptAdvice[] =
    "the times look as errpt writes them, from month to year without separators: --time '%m%d%H%M%y' reads them";
constexpr const char kStartAdvice[] =
    "the times count from the start of the machine or program: write the log with dates, as dmesg --time-format iso or "
    "journalctl -k do";
constexpr const char kClockAdvice[] = "the times have no date: --date YYYY-MM-DD gives the day of the first one";

constexpr TimeForm kForms[] = {
    {"ISO 8601", "%w%Y-%m-%d%^%@%z"},
    {"year/month/day", "%w%Y/%m/%d%^%@%z"},
    {"year.month.day", "%w%Y.%m.%d%^%@%z"},
    {"year:month:day", "%Y:%m:%d%^%#%z"},
    {"year-month-day, month by name", "%Y-%b-%d%^%@%z"},
    {"year/month/day, month by name", "%Y/%b/%d%^%@%z"},
    {"year month day, month by name", "%Y %b %e%^%#%z"},
    {"year and month without separators", "%C%m%d%^%@%z"},
    {"ISO 8601, basic form", "%C%m%d%^%h%z"},
    {"digits from year to second", "%C%m%d%h%z"},
    {"ISO 8601 with a point", "%Y-%m-%d.%@%z"},
    {"date in Chinese or Japanese", "%Y年%m月%d日%^%@%z"},
    {"ISO 8601, clock without separators", "%Y-%m-%dT%h%z"},
    {"year-month-day-clock without separators", "%Y-%m-%d-%h%z"},
    {"SAP trace", "%Y %m %d %#%K"},
    {"ISO 8601, day of the year", "%Y-%j%^%#%z"},
    {"year/day of the year", "%Y/%j%^%#%z"},
    {"year:day of the year", "%Y:%j%^%#%z"},
    {"year.day of the year", "%Y.%j.%#%z"},
    {"year.month.day.clock", "%Y.%m.%d.%#%z"},
    {"year and day of the year without separators", "%C%j%^%#%z"},
    {"ISO 8601, week", "%Y-W%V-%u%^%#%z"},
    {"common log", "%d/%b/%Y%^%@%z"},
    {"day/month/year of two digits", "%d/%b/%y%^%@%z"},
    {"day-month-year", "%d-%b-%Y%^%@%z"},
    {"day-month-year of two digits", "%d-%b-%y%^%@%z"},
    {"day.month.year, month by name", "%d.%b.%Y%^%@%z"},
    {"day, month by name and year without separators", "%w%d%b%Y%^%@%z"},
    {"day, month by name and year of two digits without separators", "%w%d%b%y%^%#%z"},
    {"day month year", "%w%e %b%, %Y%^%@%z"},
    {"day. month year", "%w%e. %b%, %Y%^%@%z"},
    {"day month year of two digits", "%w%e %b %y%^%#%z"},
    {"day month clock year", "%w%e %b%^%#%o %C%z"},
    {"day month clock year, with another word for the zone", "%v%e %b%^%#%W %C"},
    {"month day year", "%w%b %e%, %Y%^%@%z"},
    {"month-day-year, month by name", "%b-%d-%Y%^%@%z"},
    {"month/day/year, month by name", "%b/%d/%Y%^%@%z"},
    {"month/day, month by name", "%b/%d %#%z"},
    {"month-day, month by name", "%b-%d %#%z"},
    {"month by name and day without separators", "%b%d %#%z"},
    {"numbered month in Chinese or Japanese, day, year", "%m月 %e%, %Y%^%@%z"},
    {"numbered month in Korean, day, year", "%m월 %e%, %Y%^%@%z"},
    {"numbered month in Chinese or Japanese, day", "%m月 %e%^%#%z%-"},
    {"numbered month in Korean, day", "%m월 %e%^%#%z%-"},
    {"ctime", "%w%b %e%^%#%o %C%z"},
    {"ctime with another word for the zone", "%v%b %e%^%#%W %C"},
    {"syslog", "%w%b %e%^%#%z%-"},
    {"monit", "%Z %b %e %#"},
    {"day month", "%w%e %b%^%#%z%-"},
    {"day-month", "%d-%b%^%@%z"},
    {"day.month.year", "%w%d.%m.%Y%^%@%z"},
    {"month-day-year of two digits, month by name", "%b-%d-%y%^%#%z"},
    {"snort with a year", "%m/%d/%y-%#%!"},
    {"suricata", "%m/%d/%Y-%#%!"},
    {"snort", "%m/%d-%#%!"},
    {"chromium", "%m%d/%h"},
    {"logcat", "%m-%d %#%z"},
    {"geth", "%m-%d|%#"},
    {"glog", "%L%m%d %#"},
    {"glog with a year", "%L%C%m%d %#%z"},
    {"glog with a year of two digits", "%L%y%m%d %#%z"},
    {"Meteor", "%L%C%m%d-%#%M"},
    {"Configuration Manager", "%x"},
    {"clock, year-month-day", "%#%z%^%Y-%m-%d%;"},
    {"clock, year/month/day", "%#%z%^%Y/%m/%d%;"},
    {"clock, day.month.year", "%#%z%^%d.%m.%Y%;"},
    {"clock, day-month-year", "%#%z%^%d-%b-%Y%;"},
    {"clock, day/month/year", "%#%z%^%d/%b/%Y%;"},
    {"clock, day month year", "%#%z%^%d %b %Y%;"},
    {"clock, day/month/year in digits", "%#%z%^%d/%m/%Y%;", kClockFirstAdvice, 8},
    {"clock, month/day/year in digits", "%#%z%^%m/%d/%Y%;", kClockFirstAdvice, 8},
    {"yymmdd", "%y%m%d %#%z"},
    {"yymmdd hhmmss", "%y%m%d %h%z"},
    {"seconds since 1970", "%N%f"},
    {"TAI64N", "%T"},
    {"OpenLDAP", "%X"},
    {"day/month/year in digits", "%w%d/%m/%Y%^%@%z", kOrderAdvice, 1},
    {"month/day/year in digits", "%w%m/%d/%Y%^%@%z", kOrderAdvice, 1},
    {"day-month-year in digits", "%w%d-%m-%Y%^%@%z", kDashAdvice, 2},
    {"month-day-year in digits", "%w%m-%d-%Y%^%@%z", kDashAdvice, 2},
    {"year/month/day of two digits", "%w%y/%m/%d%^%@%z", kYearAdvice, 3},
    {"day/month/year of two digits", "%w%d/%m/%y%^%@%z", kYearAdvice, 3},
    {"month/day/year of two digits", "%w%m/%d/%y%^%@%z", kYearAdvice, 3},
    {"year-month-day of two digits", "%y-%m-%d%^%@%z", kYearAdvice, 4},
    {"day-month-year of two digits", "%d-%m-%y%^%@%z", kYearAdvice, 4},
    {"month-day-year of two digits", "%m-%d-%y%^%@%z", kYearAdvice, 4},
    {"year.month.day of two digits", "%y.%m.%d%^%@%z", kYearAdvice, 5},
    {"day.month.year of two digits", "%d.%m.%y%^%@%z", kYearAdvice, 5},
    {"month.day.year of two digits", "%m.%d.%y%^%@%z", kYearAdvice, 5},
    {"day/month", "%d/%m%^%#%z", kShortAdvice, 6},
    {"month/day", "%m/%d%^%#%z", kShortAdvice, 6},
    {"day.month", "%d.%m%^%#%z", kShortAdvice, 7},
    {"month.day", "%m.%d%^%#%z", kShortAdvice, 7},
    {"time of day", "%#%z", kClockAdvice},
    {"JES2", "%J", kClockAdvice},
    {"seconds since the start", "%s", kStartAdvice},
    {"errpt", "%E", kErrptAdvice},
};

/// Takes a number of one to `most` digits in [low, high].
bool TakeIn(TextReader& reader, std::size_t most, unsigned low, unsigned high, unsigned& number) {
  unsigned value = 0;
  std::size_t digits = 0;
  while (digits < most && reader.at != reader.end && IsDigit(*reader.at)) {
    value = value * 10 + static_cast<unsigned>(*reader.at++ - '0');
    ++digits;
  }
  number = value;
  return digits > 0 && value >= low && value <= high;
}

bool TakeDigits(TextReader& reader, std::size_t digits, unsigned low, unsigned high, unsigned& number) {
  const char* const begin = reader.at;
  return TakeIn(reader, digits, low, high, number) && reader.at == begin + digits;
}

/// Skips at most `most` blanks, among them the blanks without a break that Java and Windows write before AM and PM.
void SkipBlanks(TextReader& reader, std::size_t most) {
  for (; most > 0; --most) {
    if (reader.Take(' ') || reader.Take('\t')) continue;
    if (reader.rest().starts_with("\xC2\xA0")) {
      reader.at += 2;
    } else if (reader.rest().starts_with("\xE2\x80\xAF")) {
      reader.at += 3;
    } else {
      return;
    }
  }
}

/// Returns a number of milliseconds as three digits.
std::string_view MillisecondsText(unsigned number) {
  static constexpr auto kTexts = [] {
    std::array<char, 3000> texts{};
    for (unsigned i = 0; i < 1000; ++i) {
      texts[3 * i] = static_cast<char>('0' + i / 100);
      texts[3 * i + 1] = static_cast<char>('0' + i / 10 % 10);
      texts[3 * i + 2] = static_cast<char>('0' + i % 10);
    }
    return texts;
  }();
  return {kTexts.data() + 3 * std::size_t{number}, 3};
}

/// Takes the fraction of a second, if there is one: a point or a comma and digits, or a colon and milliseconds. Commas
/// before and after the digits separate columns, and begin no fraction.
void TakeFractionOfLog(TextReader& reader, TimeParts& parts) {
  if (!reader.Is('.') && !reader.Is(',') && !reader.Is(':')) return;
  const TextReader after{reader.at + 1, reader.end};
  const std::size_t digits = after.digits();
  constexpr std::size_t kMostDigits = 30;
  if (digits == 0 || (*reader.at != '.' && digits > kMostDigits)) return;
  const char* const end = after.at + digits;
  const char next = end == reader.end ? '\0' : *end;
  if (*reader.at == ',' && next == ',') return;
  parts.fraction = {after.at, digits};
  if (*reader.at == ':') {
    constexpr std::size_t kMilliseconds = 3;
    if (next == ':') parts.fraction = {};
    if (parts.fraction.empty()) return;
    if (digits < kMilliseconds) {
      TextReader number = after;
      parts.fraction = MillisecondsText(static_cast<unsigned>(number.TakeNumber(digits)));
    }
  }
  reader.at = end;
}

/// Takes AM, PM, a.m. or p.m., or the words for them that Java writes in Chinese, Japanese or Korean, if there are such
/// letters.
void TakeHalfOfDay(TextReader& reader, TimeParts& parts) {
  constexpr std::size_t kMostBlanks = 2;
  constexpr unsigned kNoon = 12;
  static constexpr std::pair<std::string_view, bool> kHalves[] = {{"上午", false}, {"下午", true},  {"午前", false},
                                                                  {"午後", true},  {"오전", false}, {"오후", true}};
  TextReader half = reader;
  SkipBlanks(half, kMostBlanks);
  if (half.TakeWord("o'clock")) SkipBlanks(half, kMostBlanks);
  for (const auto& [word, of_afternoon] : kHalves) {
    if (!half.rest().starts_with(word)) continue;
    half.at += word.size();
    reader = half;
    if (parts.hour == 0 || parts.hour > kNoon) return;
    parts.hour_of_half = parts.hour;
    parts.afternoon = of_afternoon;
    return;
  }
  const bool afternoon = half.TakeWord("p");
  if (!afternoon && !half.TakeWord("a")) return;
  const bool points = half.Take('.');
  if (!half.TakeWord("m") || (points && !half.Take('.')) || (!half.done() && IsLetterOrDigit(*half.at))) return;
  reader = half;
  if (parts.hour == 0 || parts.hour > kNoon) return;  // 13:10 PM is taken as 13:10
  parts.hour_of_half = parts.hour;
  parts.afternoon = afternoon;
}

bool TakeClockOfLog(TextReader& reader, TimeParts& parts, bool seconds) {
  constexpr unsigned kMostHour = 24, kMostMinute = 59, kMostSecond = 60;
  parts.clock = reader.at;
  if (!TakeIn(reader, 2, 0, kMostHour, parts.hour) || reader.done()) return false;
  const bool letter = *reader.at == 'h';  // OpenVAS writes 22h10.01
  const char separator = letter ? '.' : *reader.at;
  if (separator != ':' && separator != '.' && separator != '-') return false;
  ++reader.at;
  const std::size_t least = separator == ':' ? 1 : 2;
  const char* const minute = reader.at;
  if (!TakeIn(reader, 2, 0, kMostMinute, parts.minute) || reader.at < minute + least) return false;
  const char* const second = reader.at + 1;
  if (reader.Is(separator) && second != reader.end && IsDigit(*second)) {
    ++reader.at;
    if (!TakeIn(reader, 2, 0, kMostSecond, parts.second) || reader.at < second + least) return false;
    TakeFractionOfLog(reader, parts);
  } else if (seconds || separator != ':' || reader.at != minute + 2) {
    return false;
  }
  TakeHalfOfDay(reader, parts);
  return true;
}

/// Takes the clock before the number of a job of JES2: "22.10.01 JOB00123".
bool TakeClockOfJob(TextReader& reader, TimeParts& parts) {
  constexpr std::size_t kSize = 8;
  if (reader.rest().size() <= kSize) return false;
  const char* const end = reader.at + kSize;
  if (end[-3] != '.' || !TakeClockOfLog(reader, parts, true) || reader.at != end) return false;
  TextReader job = reader;
  while (job.Is(' ')) ++job.at;
  const std::string_view kind = job.rest().substr(0, 3);
  if (job.at == end || (kind != "JOB" && kind != "STC" && kind != "TSU")) return false;
  job.at += kind.size();
  return job.digits() >= 5;
}

/// Skips the name of a zone of the IANA database, such as Europe/Berlin, if the text begins with one.
bool TakePlace(TextReader& reader, TimeParts& parts) {
  static constexpr std::string_view kAreas[] = {"Africa", "America", "Antarctica", "Arctic",   "Asia",   "Atlantic",
                                                "Brazil", "Canada",  "Chile",      "Etc",      "Europe", "Indian",
                                                "Mexico", "Pacific", "US",         "Australia"};
  const char* const end = std::find_if(reader.at, reader.end, [](char c) {
    return !IsLetterOrDigit(c) && c != '/' && c != '_' && c != '-' && c != '+';
  });
  const std::string_view name(reader.at, static_cast<std::size_t>(end - reader.at));
  const std::size_t slash = name.find('/');
  if (slash == name.npos || std::ranges::find(kAreas, name.substr(0, slash)) == std::end(kAreas)) return false;
  if (!Zone::Exists(name)) return false;
  parts.zone = name;
  reader.at = end;
  return true;
}

/// Takes the hours of "GMT +1", as TIBCO writes them, and sets `offset`.
void TakeHoursAfterGmt(TextReader& reader, std::optional<std::int64_t>& offset) {
  constexpr std::int64_t kHour = 3600, kMost = 14;
  TextReader hours = reader;
  if (!hours.Take(' ') || (!hours.Is('+') && !hours.Is('-'))) return;
  const bool west = hours.TakeSign();
  const std::size_t digits = hours.digits();
  if (digits == 0 || digits > 2) return;
  const std::int64_t east = hours.TakeNumber(digits);
  if (east > kMost || (!hours.done() && !IsBlankChar(*hours.at))) return;
  reader = hours;
  offset = (west ? -east : east) * kHour;
}

/// Takes a sign and an offset after "GMT" or "UTC": "+01:00" as Java writes it, "+3" or "+5:30" as JavaScript does.
/// Returns false if there is no such offset.
bool TakeOffsetAfterUtc(TextReader& reader, std::optional<std::int64_t>& offset) {
  constexpr std::int64_t kMost = 14 * 60, kQuarter = 15;
  TextReader hours = reader;
  const bool west = hours.TakeSign();
  const std::size_t digits = hours.digits();
  if (digits != 1 && digits != 2 && digits != 4) return false;
  std::int64_t east = hours.TakeNumber(digits == 4 ? 2 : digits) * 60, minutes = 0;
  TextReader more = hours;
  if ((digits == 4 || more.Take(':')) && more.digits() == 2) {
    minutes = more.TakeNumber(2);
    hours = more;
  }
  east += minutes;
  if (minutes >= 60 || east > kMost || east % kQuarter != 0) return false;
  reader = hours;
  offset = (west ? -east : east) * 60;
  return true;
}

/// Skips a zone at the front, or after a blank, if there is one, and sets its seconds east of UTC. Any text may follow
/// the time of a log, so only words in capitals that are names of zones, and numbers that are offsets, count as zones.
/// After a blank, two digits count if `hours` is true, and as in PostgreSQL's "-03 [77]".
void TakeZoneOfLog(TextReader& reader, TimeParts& parts, bool hours) {
  constexpr std::string_view kWords[] = {"ACT", "CAST", "CAT", "EAT", "MET", "MUST", "PET", "RET", "TOT", "WIT"};
  constexpr std::int64_t kMost = 14 * 3600, kQuarter = 15 * 60;
  TextReader zone = reader;
  const bool blank = zone.Take(' ');
  if (zone.done()) return;
  const std::string_view rest = zone.rest();
  std::optional<std::int64_t> found;
  ZoneWord word = 0;
  bool before_letter = false;
  if (rest[0] == '+' || rest[0] == '-') {
    before_letter = !blank && rest.size() > 3 && rest[3] == ':';  // Tivoli writes "10:10:01.123+01:00I-----"
    const std::size_t digits = TextReader{zone.at + 1, zone.end}.digits();
    const bool number = blank && digits == 2 && !rest.substr(3).starts_with(':') && !rest.substr(3).starts_with(" [");
    if (number && (!hours || (rest.size() > 3 && kAfterZone.find(rest[3]) == kAfterZone.npos))) return;
    if (digits == 3) {  // Db2 writes the offset in minutes, after a fraction; cron writes the number of a process
      if (parts.fraction.empty()) return;
      const bool minus = zone.TakeSign();
      found = zone.TakeNumber(3) * 60 * (minus ? -1 : 1);
    } else if (!TakeZone(zone, found) || !found) {
      return;
    }
    if (std::abs(*found) > kMost || *found % kQuarter != 0) return;
  } else {
    const bool bracket = zone.Take('(');
    const char* const end = std::find_if(zone.at, zone.end, [](char c) { return c < 'A' || c > 'Z'; });
    const std::string_view name(zone.at, static_cast<std::size_t>(end - zone.at));
    if (zone.done() || (name.empty() && (blank || *zone.at != 'z'))) return;
    if (TakePlace(zone, parts)) {
      reader = zone;
      return;
    }
    if (std::ranges::find(kWords, name) != std::end(kWords) || !TakeZone(zone, found) || !found) return;
    if (!name.empty() && zone.at != end) return;
    const bool utc = name == "GMT" || name == "UTC";
    if (*found == 0 && (zone.Is('+') || zone.Is('-'))) {
      if (utc ? !TakeOffsetAfterUtc(zone, found) : !TakeZone(zone, found) || !found) return;
    } else if (const std::string_view next = zone.rest(); utc && next.size() >= 5 && next[4] == ':') {
      TextReader after = zone;  // "GMT +01:00"
      if (after.Take(' ') && (after.Is('+') || after.Is('-')) && TakeOffsetAfterUtc(after, found)) zone = after;
    } else if (name == "GMT") {
      TakeHoursAfterGmt(zone, found);
    }
    word = ZoneWordOf(name);
    if (word != 0 && FactsOf(word).east != *found) word = 0;
    if (bracket && !zone.Take(')')) return;
    // "CET-fw01" and "est.example.org" are names of hosts and not zones.
    if (blank && !zone.done() && kAfterZone.find(*zone.at) == kAfterZone.npos) return;
  }
  if (!zone.done() && IsLetterOrDigit(*zone.at) && (IsDigit(*zone.at) || !before_letter)) return;
  reader = zone;
  parts.offset = found;
  parts.zone_word = word;
}

/// Skips the separators between a date and a clock.
bool TakeBetween(TextReader& reader) {
  if (reader.Take('T') || reader.Take('t')) return true;
  const char* const begin = reader.at;
  constexpr std::string_view kSeparators = " \t,;|_:-\"/@";
  constexpr std::ptrdiff_t kMost = 6;
  while (reader.at != reader.end && reader.at - begin < kMost && kSeparators.find(*reader.at) != kSeparators.npos) {
    ++reader.at;
  }
  if (reader.at == begin) {  // as in "[2026-11-23][22:10:01]"
    for (const std::string_view brackets : {"][", "] ["}) {
      if (!reader.rest().starts_with(brackets)) continue;
      reader.at += brackets.size();
      return true;
    }
    return false;
  }
  for (const std::string_view word : {"at ", "time=", "time=\""}) {  // Fortinet writes "date=2026-11-23 time=22:10:01"
    if (!reader.rest().starts_with(word)) continue;
    reader.at += word.size();
    return true;
  }
  return true;
}

/// Skips one of `names`, in full or its first three letters. Returns its index, or the number of names.
template <std::size_t kNames>
unsigned TakeKnownName(TextReader& reader, const std::string_view (&names)[kNames]) {
  constexpr std::size_t kShort = 3;
  if (reader.end - reader.at < static_cast<std::ptrdiff_t>(kShort)) return kNames;
  const char letters[kShort] = {Lower(reader.at[0]), Lower(reader.at[1]), Lower(reader.at[2])};
  unsigned found = 0;
  while (found < kNames && std::memcmp(letters, names[found].data(), kShort) != 0) ++found;
  if (found == kNames) return found;
  reader.at += kShort;
  if (!reader.done() && IsLetterOrDigit(*reader.at)) reader.TakeWord(names[found].substr(kShort));
  return found;
}

/// For each month, the names in German, French, Spanish, Italian, Portuguese, Dutch, Swedish, Danish, Norwegian,
/// Russian and Chinese, in lower case.
constexpr std::string_view kOtherMonths[] = {
    "jänner jän januari januar janvier janv janeiro gennaio gen enero ene января январь янв 一月",
    "februari februar février févr fév febrero febbraio fevereiro fev февраля февраль февр фев 二月",
    "märz mär mrz mars marzo março maart mrt марта март мар 三月",
    "avril avr abril abr aprile апреля апрель апр 四月",
    "mai mayo maio maggio mag mei maj мая май 五月",
    "juni juin junio junho giugno giu июня июнь июн 六月",
    "juli juillet juil julio julho luglio lug июля июль июл 七月",
    "août aoû agosto ago augustus augusti августа август авг 八月",
    "septembre septiembre settembre setembro set сентября сентябрь сент сен 九月",
    "oktober okt octobre octubre ottobre ott outubro out октября октябрь окт 十月",
    "novembre noviembre novembro ноября ноябрь нояб ноя 十一月",
    "dezember dez décembre déc diciembre dicembre dic dezembro des декабря декабрь дек 十二月"};

bool IsLetterByte(char c) { return (IsLetterOrDigit(c) && !IsDigit(c)) || static_cast<unsigned char>(c) >= 0x80; }

/// For each byte that can be the first or the second byte of a name, the months with such a name: bit 0 is January.
constexpr auto kOtherMonthsByByte = [] {
  std::array<std::array<std::uint16_t, 256>, 2> months{};
  for (unsigned month = 0; month < std::size(kOtherMonths); ++month) {
    const std::string_view names = kOtherMonths[month];
    for (std::size_t at = 0; at < names.size(); ++at) {
      if (at > 0 && names[at - 1] != ' ') continue;
      months[0][static_cast<unsigned char>(names[at])] |= static_cast<std::uint16_t>(1u << month);
      months[1][static_cast<unsigned char>(names[at + 1])] |= static_cast<std::uint16_t>(1u << month);
    }
  }
  return months;
}();

/// Skips the name of a month in another language than English. Returns 0 if there is none.
unsigned TakeOtherMonth(TextReader& reader) {
  if (reader.end - reader.at < 2) return 0;
  const auto lower = [&](int i) { return static_cast<unsigned char>(Lower(reader.at[i])); };
  const unsigned months = kOtherMonthsByByte[0][lower(0)] & kOtherMonthsByByte[1][lower(1)];
  if (months == 0) return 0;
  for (unsigned month = 1; month <= std::size(kOtherMonths); ++month) {
    if ((months >> (month - 1)) % 2 == 0) continue;
    for (std::string_view names = kOtherMonths[month - 1]; !names.empty();) {
      const std::string_view name = names.substr(0, names.find(' '));
      names.remove_prefix(std::min(names.size(), name.size() + 1));
      TextReader after = reader;
      if (!after.TakeWord(name) || (!after.done() && IsLetterByte(*after.at))) continue;
      reader = after;
      return month;
    }
  }
  return 0;
}

bool TakeMonth(TextReader& reader, TimeParts& parts) {
  const TextReader begin = reader;
  parts.month = TakeKnownName(reader, kMonths) + 1;
  constexpr unsigned kSeptember = 9;
  if (parts.month == kSeptember && reader.Is('t')) ++reader.at;
  if (parts.month > std::size(kMonths) || (!reader.done() && IsLetterByte(*reader.at))) {
    reader = begin;
    parts.month = TakeOtherMonth(reader);
    if (parts.month == 0) return false;
  }
  reader.Take('.');
  return reader.done() || !IsLetterByte(*reader.at);
}

void TakeWeekday(TextReader& reader) {
  if (reader.done() || IsDigit(*reader.at)) return;
  TextReader day = reader;
  if (TakeKnownName(day, kWeekdays) == std::size(kWeekdays) || (!day.done() && IsLetterOrDigit(*day.at))) return;
  while (day.Is('.') || day.Is(',') || day.Is(' ')) ++day.at;
  reader = day;
}

constexpr std::int64_t kIn1990 = 631152000, kIn2100 = 4102444800;  // numbers outside of these years are no times

/// Takes a count of seconds since 1970 with an exponent, such as 1.795471801123e+09.
bool TakeExponent(TextReader& reader, TimeParts& parts) {
  constexpr std::size_t kDigits = 9;  // of the seconds after the point
  constexpr std::string_view kExponent = "e+09";
  std::int64_t seconds = reader.TakeNumber(1);
  if (!reader.Take('.')) return false;
  const std::size_t digits = reader.digits();
  const std::string_view text = reader.rest();
  if (digits == 0 || !text.substr(digits).starts_with(kExponent)) return false;
  for (std::size_t i = 0; i < kDigits; ++i) seconds = seconds * 10 + (i < digits ? text[i] - '0' : 0);
  if (seconds < kIn1990 || seconds > kIn2100) return false;
  parts.count = seconds;
  if (digits > kDigits) parts.fraction = text.substr(kDigits, digits - kDigits);
  reader.at += digits + kExponent.size();
  return true;
}

/// Takes the digits of a count of seconds, or of parts of seconds, since 1970. A count of milliseconds or microseconds
/// can have a fraction.
bool TakeCount(TextReader& reader, TimeParts& parts) {
  constexpr std::size_t kSeconds = 10, kMost = 19;
  const std::size_t digits = reader.digits();
  if (digits == 1) return TakeExponent(reader, parts);
  if (digits < kSeconds || digits > kMost || digits % 3 != 1) return false;
  parts.count = reader.TakeNumber(kSeconds);
  if (*parts.count < kIn1990 || *parts.count > kIn2100) return false;
  parts.fraction = reader.rest().substr(0, digits - kSeconds);
  reader.at += digits - kSeconds;
  const TextReader after{reader.at + 1, reader.end};
  if (digits == kSeconds || !reader.Is('.') || after.digits() == 0) return true;
  constexpr std::size_t kNanoseconds = 9;
  std::string nanoseconds(parts.fraction);
  nanoseconds += after.rest().substr(0, after.digits());
  nanoseconds.resize(kNanoseconds, '0');
  parts.fraction = {};
  parts.nanoseconds =
      static_cast<unsigned>(TextReader{nanoseconds.data(), nanoseconds.data() + kNanoseconds}.TakeNumber(kNanoseconds));
  reader.at = after.at + after.digits();
  return true;
}

/// Takes '@' and a TAI64 label of 16 digits, and perhaps 8 digits of nanoseconds. As in daemontools and runit, the
/// label is 2^62 + 10 plus the seconds since 1970.
bool TakeTai(TextReader& reader, TimeParts& parts) {
  constexpr std::size_t kLabel = 16, kNanoseconds = 8;
  if (!reader.Take('@')) return false;
  std::uint64_t numbers[2] = {};
  std::size_t digits = 0;
  for (; digits < kLabel + kNanoseconds && !reader.done() && HexDigit(*reader.at) >= 0; ++digits, ++reader.at) {
    std::uint64_t& number = numbers[digits >= kLabel];
    number = number * 16 + static_cast<std::uint64_t>(HexDigit(*reader.at));
  }
  constexpr std::uint64_t kFirst = (std::uint64_t{1} << 62) + 10, kSpan = std::uint64_t{1} << 33;
  constexpr std::uint64_t kSecond = 1'000'000'000;
  if (digits < kLabel || (digits > kLabel && digits < kLabel + kNanoseconds)) return false;
  if (numbers[0] < kFirst || numbers[0] > kFirst + kSpan || numbers[1] >= kSecond) return false;
  parts.count = static_cast<std::int64_t>(numbers[0] - kFirst);
  parts.nanoseconds = static_cast<unsigned>(numbers[1]);
  return true;
}

/// Takes `digits` hexadecimal digits.
bool TakeHex(TextReader& reader, std::size_t digits, std::uint64_t& number) {
  number = 0;
  for (; digits > 0; --digits, ++reader.at) {
    if (reader.done() || HexDigit(*reader.at) < 0) return false;
    number = number * 16 + static_cast<std::uint64_t>(HexDigit(*reader.at));
  }
  return true;
}

/// Takes the time of OpenLDAP's slapd: hexadecimal seconds since 1970, and 8 digits of nanoseconds or 5 digits of
/// microseconds. The number of a thread must follow.
bool TakeHexCount(TextReader& reader, TimeParts& parts) {
  constexpr std::uint64_t kSecond = 1'000'000'000, kMicrosecond = 1000;
  constexpr std::size_t kSeconds = 8, kNanoseconds = 8, kMicroseconds = 5;
  std::uint64_t seconds = 0, fraction = 0;
  if (!TakeHex(reader, kSeconds, seconds) || !reader.Take('.')) return false;
  if (static_cast<std::int64_t>(seconds) < kIn1990 || static_cast<std::int64_t>(seconds) > kIn2100) return false;
  TextReader digits = reader;
  if (TakeHex(digits, kNanoseconds, fraction)) {
    reader = digits;
  } else {
    if (!TakeHex(reader, kMicroseconds, fraction)) return false;
    fraction *= kMicrosecond;
  }
  if (fraction >= kSecond || !reader.rest().starts_with(" 0x")) return false;
  parts.count = static_cast<std::int64_t>(seconds);
  parts.nanoseconds = static_cast<unsigned>(fraction);
  return true;
}

/// Takes a number of seconds since a start, such as "12.345", and then "s", ":" or "]". Blanks may precede it.
bool TakeUptime(TextReader& reader, TimeParts& parts) {
  SkipBlanks(reader, reader.rest().size());
  const std::size_t digits = reader.digits();
  if (digits == 0 || digits > 9) return false;
  parts.count = reader.TakeNumber(digits);
  if (!reader.Take('.') || reader.digits() < 3) return false;
  reader.at += reader.digits();
  reader.Take('s');
  return reader.Is(']') || reader.Is(':');
}

/// Takes a number of hours east of UTC in parentheses, such as "(2)" or "(-5)", if there is one.
void TakeHours(TextReader& reader, TimeParts& parts) {
  constexpr std::int64_t kHour = 3600, kMost = 14;
  TextReader hours = reader;
  if (!hours.Take('(')) return;
  const bool west = hours.TakeSign();
  const std::size_t digits = hours.digits();
  if (digits == 0 || digits > 2) return;
  const std::int64_t east = hours.TakeNumber(digits);
  if (!hours.Take(')') || east > kMost) return;
  reader = hours;
  parts.offset = (west ? -east : east) * kHour;
}

/// Takes the zone of SAP's traces, such as "#+0200" or "#0-500", if there is one.
void TakeZoneOfSap(TextReader& reader, TimeParts& parts) {
  TextReader zone = reader;
  if (!zone.Take('#')) return;
  zone.Take('0');
  if (!zone.Is('+') && !zone.Is('-')) return;
  const bool west = zone.TakeSign();
  const std::size_t digits = zone.digits();
  if (digits < 3 || digits > 4) return;
  const std::int64_t number = zone.TakeNumber(digits);
  if (!zone.Is('#')) return;
  constexpr std::int64_t kHour = 3600, kMinute = 60;
  reader = zone;
  parts.offset = (number / 100 * kHour + number % 100 * kMinute) * (west ? -1 : 1);
}

/// Takes 22:10:01.123-060" date="11-23-2026, the values of two attributes. The month precedes the day. After the clock,
/// the number of minutes by which UTC is later than local time may follow.
bool TakeConfigurationManager(TextReader& reader, TimeParts& parts) {
  if (!TakeClockOfLog(reader, parts, true)) return false;
  if (reader.Is('+') || reader.Is('-')) {
    const bool minus = reader.TakeSign();
    const std::size_t digits = reader.digits();
    if (digits == 0 || digits > 3) return false;
    constexpr std::int64_t kMinute = 60;
    const std::int64_t minutes = reader.TakeNumber(digits);
    parts.offset = (minus ? minutes : -minutes) * kMinute;
  }
  constexpr std::string_view kDate = "\" date=\"";
  if (!reader.rest().starts_with(kDate)) return false;
  reader.at += kDate.size();
  return TakeIn(reader, 2, 1, 12, parts.month) && reader.Take('-') && TakeIn(reader, 2, 1, 31, parts.day) &&
         reader.Take('-') && TakeDigits(reader, 4, 1000, 9999, parts.year);
}

/// Takes hhmmss and perhaps a fraction. The fraction may be three digits without a point.
bool TakeCompactClock(TextReader& reader, TimeParts& parts) {
  const std::size_t digits = reader.digits();
  if (digits != 6 && digits != 9) return false;
  if (!TakeDigits(reader, 2, 0, 24, parts.hour) || !TakeDigits(reader, 2, 0, 59, parts.minute) ||
      !TakeDigits(reader, 2, 0, 60, parts.second)) {
    return false;
  }
  if (digits == 9) {
    parts.fraction = reader.rest().substr(0, 3);
    reader.at += 3;
  } else {
    TakeFractionOfLog(reader, parts);
  }
  return true;
}

bool TakeElement(char letter, TextReader& reader, TimeParts& parts) {
  switch (letter) {
    case 'Y':
      return TakeDigits(reader, 4, 1000, 9999, parts.year);
    case 'C':
      return TakeDigits(reader, 4, 1970, 2100, parts.year);
    case 'y':
      if (!TakeDigits(reader, 2, 0, 99, parts.year)) return false;
      parts.year += parts.year < 69 ? 2000 : 1900;
      return true;
    case 'm':
      return TakeIn(reader, 2, 1, 12, parts.month);
    case 'e':
      SkipBlanks(reader, reader.rest().size());
      [[fallthrough]];
    case 'd':
      return TakeIn(reader, 2, 1, 31, parts.day);
    case 'j':
      return TakeDigits(reader, 3, 1, 366, parts.day_of_year);
    case 'V':
      return TakeDigits(reader, 2, 1, 53, parts.week);
    case 'u':
      return TakeDigits(reader, 1, 1, 7, parts.day_of_week);
    case 'b':
      return TakeMonth(reader, parts);
    case 'w':
      TakeWeekday(reader);
      return true;
    case 'v': {
      const char* const begin = reader.at;
      TakeWeekday(reader);
      return reader.at != begin;
    }
    case '^':
      return TakeBetween(reader);
    case ',':
      reader.Take(',');
      return true;
    case '#':
    case '@':
      return TakeClockOfLog(reader, parts, letter == '#');
    case '!':
      return !parts.fraction.empty();
    case '-': {
      TextReader year = reader;
      unsigned number = 0;
      return !year.Take(' ') || !TakeDigits(year, 4, 1970, 2100, number) || (!year.done() && IsLetterOrDigit(*year.at));
    }
    case ';': {
      TextReader clock = reader;
      TimeParts unused;
      return !TakeBetween(clock) || !TakeClockOfLog(clock, unused, false);
    }
    case 'h':
      return TakeCompactClock(reader, parts);
    case 'J':
      return TakeClockOfJob(reader, parts);
    case 'E':
      return reader.digits() == 10 && TakeDigits(reader, 2, 1, 12, parts.month) &&
             TakeDigits(reader, 2, 1, 31, parts.day) && TakeDigits(reader, 2, 0, 23, parts.hour) &&
             TakeDigits(reader, 2, 0, 59, parts.minute) && TakeElement('y', reader, parts);
    case 'K':
      TakeZoneOfSap(reader, parts);
      return true;
    case 'M':
      TakeHours(reader, parts);
      return true;
    case 'x':
      return TakeConfigurationManager(reader, parts);
    case 'W': {
      if (!reader.Take(' ')) return false;
      const char* const begin = reader.at;
      TextReader zone = reader;
      TakeZoneOfLog(zone, parts, false);
      while (!reader.done() && *reader.at >= 'A' && *reader.at <= 'Z') ++reader.at;
      const std::string_view word(begin, static_cast<std::size_t>(reader.at - begin));
      constexpr std::string_view kLevels[] = {"INFO",  "WARN", "ERROR", "DEBUG", "TRACE",
                                              "FATAL", "NOTE", "CRIT",  "ERR"};
      const bool level = std::ranges::find(kLevels, word) != std::end(kLevels);
      return zone.at == begin && !level && word.size() >= 2 && word.size() <= 5;
    }
    case 'o':
      TakeZoneOfLog(reader, parts, true);
      return true;
    case 'z':
      TakeZoneOfLog(reader, parts, false);
      return true;
    case 'Z':
      TakeZoneOfLog(reader, parts, false);
      return parts.offset.has_value();
    case 'N':
      return TakeCount(reader, parts);
    case 'f':
      if (reader.Is('.')) TakeFractionOfLog(reader, parts);
      return true;
    case 'T':
      return TakeTai(reader, parts);
    case 's':
      return TakeUptime(reader, parts);
    case 'X':
      return TakeHexCount(reader, parts);
    default:  // 'L'
      return !reader.done() && *reader.at >= 'A' && *reader.at <= 'Z' && reader.Take(*reader.at);
  }
}

}  // namespace

std::span<const TimeForm> KnownForms() { return kForms; }

bool IsClock(const TimeForm& form) {
  return std::string_view(form.format) == "%#%z" || std::string_view(form.format) == "%J";
}
bool IsCount(const TimeForm& form) {
  return std::string_view(form.format).starts_with("%N") || std::string_view(form.format) == "%E";
}

bool IsCommonLog(const TimeForm& form) { return std::string_view(form.format).starts_with("%d/%b/%Y"); }

bool MayBeMonth(std::string_view text) {
  constexpr std::size_t kLongest = 18;  // the size of the longest name in bytes
  std::size_t size = 0;
  while (size < text.size() && size <= kLongest && IsLetterByte(text[size])) ++size;
  TextReader name{text.data(), text.data() + size};
  text.remove_prefix(size);
  if (text.starts_with('.')) text.remove_prefix(1);
  constexpr std::string_view kSeparators = " \t-/";
  for (int most = 2; most > 0 && !text.empty() && kSeparators.find(text[0]) != text.npos; --most) text.remove_prefix(1);
  return !text.empty() && IsDigit(text[0]) && TakeOtherMonth(name) != 0 && name.done();
}

FormFront FrontOf(std::string_view format) {
  FormFront front;
  if (format.starts_with("%w") || format.starts_with("%v")) {
    front.weekday = true;
    format.remove_prefix(2);
  }
  const char first = format[1];
  constexpr auto kBit = [](unsigned digits) { return std::uint32_t{1} << digits; };
  if (first == 'b') front.month = true;
  if (first == 'L') front.capital = true;
  if (first == 'Z') front.zone = true;
  if (first == 'T') front.tai = true;
  if (first == 'E') front.runs = kBit(10);
  if (first == 'N') front.runs = kBit(1) | kBit(10) | kBit(13) | kBit(16) | kBit(19);
  if (first == '#' || first == 'x') front = {.runs = kBit(1) | kBit(2), .next = ':'};
  if (first == 'J') front = {.runs = kBit(2), .next = '.'};
  if (first == 'X') {
    for (unsigned digits = 1; digits <= 8; ++digits) front.runs |= kBit(digits);
  }
  if (first == 's') {
    front.blank = true;
    for (unsigned digits = 1; digits <= 9; ++digits) front.runs |= kBit(digits);
    front.next = '.';
  }
  const bool compact = format.substr(2).starts_with("%m%d");
  if (first == 'Y') front.runs = kBit(4);
  if (format.starts_with("%C%j")) {
    front.runs = kBit(7);
  } else if (first == 'C') {
    front.runs = format.substr(6).starts_with("%h") ? kBit(14) | kBit(17) : kBit(8);
  }
  if (first == 'y') front.runs = compact ? kBit(6) : kBit(2);
  if (first == 'm' || first == 'd' || first == 'e') front.runs = kBit(1) | kBit(2);
  if (format.starts_with("%m%d")) front = {.runs = kBit(4), .next = '/'};
  if (front.runs != 0 && front.next == '\0' && !compact && format.size() > 2 && format[2] != '%') {
    front.next = format[2];
  }
  return front;
}

bool TakeLogTime(std::string_view format, TextReader& reader, TimeParts& parts) {
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] == ' ') {
      const char* const begin = reader.at;
      while (reader.Is(' ') || reader.Is('\t')) ++reader.at;
      if (reader.at == begin) return false;
    } else if (format[i] == '%') {
      if (!TakeElement(format[++i], reader, parts)) return false;
    } else if (!reader.Take(format[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace gpusort

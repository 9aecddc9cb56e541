#include "formats/quick_time.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "formats/log_forms.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15u;

std::uint64_t LoadWord(const char* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

/// Reads HH:MM:SS. Returns the seconds since midnight, or -1 if the hour is over 23, the minute or second over 59, or
/// the text is something else.
std::int64_t ClockOf(const char* text) {
  // XOR leaves the values of digits, and 0 of a colon. The sum sets the highest bit of any other byte.
  constexpr char kZeros[] = "00:00:00", kLimits[] = "\x76\x76\x7F\x76\x76\x7F\x76\x76";
  constexpr std::uint64_t kHighBits = 0x8080808080808080u;
  const std::uint64_t word = LoadWord(text) ^ LoadWord(kZeros);
  if (((word | (word + LoadWord(kLimits))) & kHighBits) != 0) return -1;
  const auto two = [text](int i) { return (text[i] - '0') * 10 + (text[i + 1] - '0'); };
  const int hour = two(0), minute = two(3), second = two(6);
  if (hour > 23 || minute > 59 || second > 59) return -1;
  return (hour * 60 + minute) * 60 + second;
}

}  // namespace

QuickTime::QuickTime(std::string_view format) {
  can_begin_.fill(true);
  if (format.empty()) return;
  const bool weekday = format.starts_with("%w");
  const char first = format[weekday ? 3 : 1];
  const std::string_view digits_first = "YCymdNj#";
  const bool known = first == 'b' || digits_first.find(first) != digits_first.npos;
  can_begin_.fill(!known);
  const auto letters = [&](std::string_view list) {
    for (const char c : list) can_begin_[static_cast<unsigned char>(c)] = true;
  };
  if (weekday) letters("smtwfSMTWF");
  if (known) letters(first == 'b' ? "jfmasondgelJFMASONDGEL" : "0123456789");
  // Names of months and weekdays may begin with bytes beyond ASCII.
  if (first == 'b') std::fill(can_begin_.begin() + 0x80, can_begin_.end(), true);

  const std::size_t clock = std::min(format.find("%#"), format.find("%@"));
  if (clock == format.npos || clock == 0) return;
  const std::string_view date = format.substr(0, clock), rest = format.substr(clock + 2);
  for (std::size_t i = 0; i + 1 < date.size(); ++i) {
    constexpr std::string_view kDates = "wYCymdebL,^";
    if (date[i] == '%' && kDates.find(date[i + 1]) == kDates.npos) return;
  }
  usual_ = rest.empty() || rest == "%z" || rest == "%z%-" || rest == "%-";
  zone_ = rest.starts_with("%z");
  no_year_ = rest.ends_with("%-");
}

QuickTime::Words QuickTime::WordsOf(const char* date, std::size_t size) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (size <= kWord) return {LoadWord(date) & (~std::uint64_t{0} >> (8 * (kWord - size))), 0, 0};
  return {LoadWord(date), LoadWord(date + std::min(kWord, size - kWord)), LoadWord(date + size - kWord)};
}

std::size_t QuickTime::IndexOf(const Words& words) {
  const std::uint64_t mixed = (words.front * kMultiplier ^ words.middle) * kMultiplier ^ words.back;
  return static_cast<std::size_t>(mixed * kMultiplier >> (64 - kDateBits));
}

void QuickTime::KeepDate(std::string_view date, std::int64_t midnight, bool lacks_year) {
  constexpr std::size_t kMost = 24;
  if (!usual_ || date.empty() || date.size() > kMost) return;
  char padded[kMost] = {};
  std::memcpy(padded, date.data(), date.size());
  const Words words = WordsOf(padded, date.size());
  const auto size = static_cast<std::uint32_t>(date.size());
  dates_[IndexOf(words)] = {words, size, lacks_year, midnight};
  // Two sizes are stored, because "1 Nov" can follow "31 Oct".
  if (sizes_[0] != size) sizes_ = {size, sizes_[0]};
}

bool QuickTime::TakeZone(std::string_view text, std::size_t& at, Found& found) {
  // Bytes after the end of the line count as newlines, because a line contains no newline.
  const auto byte = [text](std::size_t i) { return i < text.size() ? text[i] : '\n'; };
  const bool blank = byte(at) == ' ';
  const std::size_t begin = at + blank;
  const char first = byte(begin);
  if (first == '+' || first == '-') {
    constexpr std::size_t kLong = 6;  // the size of +HH:MM
    const bool colon = byte(begin + 3) == ':';
    const std::size_t end = begin + kLong - !colon;
    if (text.size() < end || IsLetterOrDigit(byte(end)) || byte(end) == ':') return false;
    unsigned wrong = 0;
    const auto two = [&](std::size_t i) {
      const unsigned high = static_cast<unsigned char>(text[i]) - unsigned{'0'};
      const unsigned low = static_cast<unsigned char>(text[i + 1]) - unsigned{'0'};
      wrong |= static_cast<unsigned>(high > 9) | static_cast<unsigned>(low > 9);
      return static_cast<int>(high * 10 + low);
    };
    const int hours = two(begin + 1), minutes = two(end - 2);
    constexpr int kMost = 14 * 60, kQuarter = 15;
    if (wrong != 0 || minutes > 59 || hours * 60 + minutes > kMost || minutes % kQuarter != 0) return false;
    const int seconds = (hours * 60 + minutes) * 60;
    found.east = first == '-' ? -seconds : seconds;
    at = end;
    return true;
  }
  if (first < 'A' || first > 'Z') {
    if (first == '(' || (!blank && first == 'z')) return false;
    return true;
  }
  constexpr std::size_t kMostName = 7;
  std::size_t end = begin;
  std::uint64_t name = 0;
  for (; end < begin + kMostName && byte(end) >= 'A' && byte(end) <= 'Z'; ++end) {
    name = name << 8 | static_cast<unsigned char>(byte(end));
  }
  // The letters may be the name of a place, or a word that begins with the name of a zone.
  const char next = byte(end);
  if (IsLetterOrDigit(next) || next == '/' || next == '_' || next == '-' || next == '+') return false;
  if (next == ' ' && (byte(end + 1) == '+' || byte(end + 1) == '-')) return false;  // "GMT +1"
  constexpr std::string_view kAfter = "\n \t])},;:|>\"'";
  if (blank && kAfter.find(next) == kAfter.npos) return false;
  ZoneName& known = zones_[name * kMultiplier >> (64 - kZoneBits)];
  if (known.name != name) {
    TextReader reader{text.data() + begin, text.data() + end};
    TimeParts parts;
    TakeLogTime("%z", reader, parts);
    known = {name, parts.offset, parts.zone_word};
  }
  found.east = known.east;
  found.zone_word = known.word;
  if (found.east) at = end;
  return true;
}

bool QuickTime::Take(std::string_view text, Found& found) {
  constexpr std::size_t kClock = 8;
  const auto byte = [text](std::size_t i) { return i < text.size() ? text[i] : '\n'; };
  for (std::uint32_t& size : sizes_) {
    if (size == 0 || text.size() < size + kClock) continue;
    const std::int64_t clock = ClockOf(text.data() + size);
    if (clock < 0) continue;
    const Words words = WordsOf(text.data(), size);
    const Date& date = dates_[IndexOf(words)];
    if (date.size != size || date.words != words) continue;

    std::size_t at = size + kClock;
    found.fraction = {};
    if (byte(at) == '.' || byte(at) == ',' || byte(at) == ':') {
      constexpr std::size_t kMostDigits = 9;
      const std::size_t begin = at + 1;
      std::size_t end = begin, last = begin;  // `last` is the end of the fraction without zeros at its end
      while (end < text.size() && IsDigit(text[end])) {
        if (text[end++] != '0') last = end;
      }
      if (text[at] == ':' || end == begin || end > begin + kMostDigits) return false;
      if (text[at] == ',' && byte(end) == ',') return false;
      found.fraction = text.substr(begin, last - begin);
      at = end;
    }
    // AM or PM can follow, after up to two blanks.
    std::size_t half = at;
    if (byte(half) == ' ') ++half;
    if (byte(half) == ' ') ++half;
    const char letter = Lower(byte(half)), after = Lower(byte(half + 1));
    // The first bytes of blanks, and of words for AM and PM.
    constexpr std::string_view kFirst = "\t\xC2\xE2\xE4\xE5\xEC";
    if (kFirst.find(letter) != kFirst.npos) return false;
    if ((letter == 'a' || letter == 'p') && (after == 'm' || after == '.')) return false;
    if (letter == 'o' && after == '\'') return false;
    found.east.reset();
    found.zone_word = 0;
    if (zone_ && !TakeZone(text, at, found)) return false;
    if (IsDigit(byte(at)) || (no_year_ && byte(at) == ' ' && IsDigit(byte(at + 1)))) return false;
    found.seconds = date.midnight + clock;
    found.lacks_year = date.lacks_year;
    found.size = at;
    if (&size != sizes_.data()) std::swap(sizes_[0], sizes_[1]);
    return true;
  }
  return false;
}

}  // namespace gpusort

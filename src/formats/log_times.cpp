#include "formats/log_times.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <utility>

#include "formats/log_forms.hpp"
#include "formats/log_sample.hpp"

namespace gpusort {
namespace {

constexpr std::size_t kMostBefore = 1024;  ///< the largest number of bytes before a time whose place is not fixed

/// Skips a word and the blanks after it. Returns false at the end of the line.
bool SkipWord(TextReader& reader) {
  while (reader.at != reader.end && !IsBlankChar(*reader.at)) ++reader.at;
  while (reader.at != reader.end && IsBlankChar(*reader.at)) ++reader.at;
  if (reader.Is('\x1b')) SkipColours(reader);
  return !reader.done();
}

bool TakeText(TextReader& reader, std::string_view text) {
  if (text.empty()) return true;
  if (!reader.rest().starts_with(text)) return false;
  reader.at += text.size();
  return true;
}

/// Returns the offset of the next `lead` in `text`, from the offset `from` on, or npos. A lead inside a word does not
/// count.
std::size_t FindLead(const TimeShape& shape, std::string_view text, std::size_t from) {
  const bool word = IsLetterOrDigit(shape.lead[0]);
  if (shape.lead.size() == 1 && !word) return text.find(shape.lead[0], from);
  for (std::size_t at = text.find(shape.lead, from); at != text.npos; at = text.find(shape.lead, at + 1)) {
    if (word && at > 0 && (IsLetterOrDigit(text[at - 1]) || text[at - 1] == '_' || text[at - 1] == '-')) continue;
    return at;
  }
  return text.npos;
}

/// Looks for the time of a shape whose place is kAnywhere. `reader` is at the beginning of the line. If `later` is
/// true, skips the first possible place.
const char* TakeAnywhere(const TimeShape& shape, TextReader reader, TimeParts& parts, bool later = false) {
  if (!shape.lead.empty()) {
    const std::string_view text = reader.rest().substr(0, kMostBefore);
    for (std::size_t at = FindLead(shape, text, 0); at != text.npos; at = FindLead(shape, text, at + 1)) {
      if (std::exchange(later, false)) continue;
      TextReader time{reader.at + at + shape.lead.size(), reader.end};
      parts = {};
      if (TakeWholeTime(shape.kind, shape.format, time, parts)) return time.at;
    }
    return nullptr;
  }
  for (unsigned i = 0; i <= kMostWords; ++i) {
    TextReader time = reader;
    parts = {};
    if (!std::exchange(later, false) && TakeWholeTime(shape.kind, shape.format, time, parts)) return time.at;
    if (!SkipWord(reader)) return nullptr;
  }
  return nullptr;
}

/// Goes from the beginning of a line to the place of the time, or to the first possible place if the shape has several.
/// Returns false if the line has no such place.
bool GoToPlace(const TimeShape& shape, TextReader& reader) {
  switch (shape.place) {
    case TimeShape::kWord:
      for (unsigned i = 0; i < shape.count; ++i) {
        if (!SkipWord(reader)) return false;
      }
      break;
    case TimeShape::kColumn:
      for (unsigned i = 0; i < shape.count; ++i) {
        const void* const found =
            reader.done() ? nullptr
                          : std::memchr(reader.at, shape.separator, static_cast<std::size_t>(reader.end - reader.at));
        if (found == nullptr) return false;
        reader.at = static_cast<const char*>(found) + 1;
      }
      while (reader.Is(' ')) ++reader.at;
      break;
    case TimeShape::kLabel:
      break;
    case TimeShape::kAnywhere: {
      if (shape.lead.empty()) return true;
      const std::string_view text = reader.rest().substr(0, kMostBefore);
      const std::size_t at = FindLead(shape, text, 0);
      if (at == text.npos) return false;
      reader.at += at + shape.lead.size();
      return true;
    }
  }
  return TakeText(reader, shape.lead);
}

/// Returns the member with the nanoseconds of the time whose seconds are in `member`, or an empty text. Log4j and
/// protobuf divide times in this way.
std::string NanosecondsOf(std::string_view member) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"/epochSecond", "/nanoOfSecond"},
                                                                      {"/seconds", "/nanos"}};
  for (const auto& [seconds, nanoseconds] : kNames) {
    if (!member.ends_with(seconds)) continue;
    return std::string(member.substr(0, member.size() - seconds.size())) + std::string(nanoseconds);
  }
  return {};
}

/// Goes to the byte from which the place of a time is counted. Returns false if the line cannot have a time.
bool GoToFront(const TimeShape& shape, TextReader& reader) {
  if (!reader.done() && IsBlankChar(*reader.at)) {
    if (!shape.indented) return false;
    const char* const begin = reader.at;
    while (!reader.done() && IsBlankChar(*reader.at)) ++reader.at;
    const auto end_of_word = std::find_if(reader.at, reader.end, IsBlankChar) - begin;
    // The first words are aligned on the right: " INFO" and "ERROR" both end at offset 5.
    if (shape.margin != 0 && end_of_word != static_cast<std::ptrdiff_t>(shape.margin)) return false;
  }
  if (reader.Is('\xEF') || reader.Is('\x1b') || reader.Is('<')) SkipFront(reader);
  return true;
}

}  // namespace

std::uint64_t NewLogId() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

bool BeginsWithStart(std::string_view start, std::string_view line) {
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  const std::string_view first = start.substr(0, start.find('%'));
  if (start.starts_with("----")) return line == start;  // svn log; a message can have a longer line
  if (!line.starts_with(first) || first.size() == start.size()) return line.starts_with(first);
  line.remove_prefix(first.size());
  const auto end = std::ranges::find_if_not(line, IsLetterOrDigit);
  return end != line.begin() && std::string_view(end, line.end()).starts_with(start.substr(first.size() + 1));
}

void SkipColours(TextReader& reader) {
  while (reader.end - reader.at > 2 && reader.at[0] == '\x1b' && reader.at[1] == '[') {
    const char* const end = std::find(reader.at, reader.end, 'm');
    if (end == reader.end) return;
    reader.at = end + 1;
  }
}

// All of these are optional: a byte order mark, escape sequences for the colours of a terminal, and the priority of
// syslog ("<34>") with its version ("1 ").
void SkipFront(TextReader& reader) {
  if (reader.Is(kByteOrderMark[0]) && reader.rest().starts_with(kByteOrderMark)) reader.at += kByteOrderMark.size();
  if (reader.Is('\x1b')) SkipColours(reader);
  if (!reader.Is('<')) return;
  TextReader priority{reader.at + 1, reader.end};
  const std::size_t digits = priority.digits();
  priority.at += digits;
  if (digits == 0 || digits > 3 || !priority.Take('>')) return;
  reader.at = priority.at;
  if (reader.rest().starts_with("1 ")) reader.at += 2;
  while (reader.Is(' ')) ++reader.at;
}

std::string_view JsonObjectOf(std::string_view line) {
  std::string_view object = line;
  if (object.starts_with(kByteOrderMark)) object.remove_prefix(kByteOrderMark.size());
  if (object.starts_with("[{") || object.starts_with(",{")) object.remove_prefix(1);
  if (!object.starts_with('{')) return line;
  while (!object.ends_with('}') && !object.empty() &&
         (object.ends_with(',') || object.ends_with(']') || IsSpace(object.back()))) {
    object.remove_suffix(1);
  }
  return object.empty() ? line : object;
}

bool TakeWholeTime(TimeShape::Kind kind, std::string_view format, TextReader& reader, TimeParts& parts) {
  if (reader.done()) return false;
  if (kind == TimeShape::kKnown) {
    if (!TakeLogTime(format, reader, parts)) return false;
    if (reader.done()) return true;
    if (IsDigit(*reader.at)) return false;
    // Numbers before a letter, a digit or '-' are parts of IDs, of network addresses, or of addresses in memory.
    if (parts.count || parts.lacks_date()) return !IsLetterOrDigit(*reader.at) && *reader.at != '-';
    return true;
  }
  if (IsSpace(*reader.at) && !format.starts_with("%s")) return false;
  if (!TakeTime(format, reader, parts) || (!reader.done() && IsDigit(*reader.at))) return false;
  constexpr unsigned kFirstYear = 1000;
  // 26/11/23 is not a year of four digits.
  if (parts.year < kFirstYear && format.find("%Y") != format.npos) return false;
  TextReader next = reader;
  for (int blanks = 0; blanks < 2 && !next.done() && IsSpace(*next.at); ++blanks) ++next.at;
  const std::string_view word = next.rest().substr(0, std::min(next.rest().find_first_of(" ]"), next.rest().size()));
  return !(IsWord(word, "am") || IsWord(word, "pm")) || parts.hour_of_half != 0;
}

const char* TakeShape(const TimeShape& shape, std::string_view line, TimeParts& parts) {
  TextReader reader{line.data(), line.data() + line.size()};
  if (!GoToFront(shape, reader)) return nullptr;
  if (shape.place == TimeShape::kAnywhere) return TakeAnywhere(shape, reader, parts);
  if (!GoToPlace(shape, reader) || !TakeWholeTime(shape.kind, shape.format, reader, parts)) return nullptr;
  return reader.at;
}

LookAlike LookAlikeOf(const LogTimes& log, std::string_view line) {
  constexpr std::size_t kMostFront = 200, kYear = 4;
  std::string likely(line.substr(0, kMostFront));
  if (static_cast<std::size_t>(std::ranges::count_if(likely, IsDigit)) < kYear) return LookAlike::kNone;
  // The number 11 is a possible day, month, hour, minute and second. Years stay as they are.
  for (std::size_t at = 0; at < likely.size(); ++at) {
    const TextReader rest{likely.data() + at, likely.data() + likely.size()};
    const std::size_t digits = rest.digits();
    if (digits == 0) continue;
    const bool year = digits >= kYear && (rest.rest().starts_with("19") || rest.rest().starts_with("20"));
    std::fill_n(likely.begin() + static_cast<std::ptrdiff_t>(at + (year ? kYear : 0)), digits - (year ? kYear : 0),
                '1');
    at += digits;
  }
  TimeParts parts;
  for (const TimeShape& shape : log.shapes) {
    if (shape.kind == TimeShape::kJson || !shape.pattern.empty()) continue;
    parts = {};
    if (TakeShape(shape, likely, parts) != nullptr) return LookAlike::kImpossible;
  }
  TextReader front{line.data(), line.data() + line.size()};
  SkipFront(front);
  if (front.Is('[') || front.Is('"')) ++front.at;
  if (front.done() || (!IsDigit(*front.at) && (*front.at < 'A' || *front.at > 'Z'))) return LookAlike::kNone;
  for (const TimeForm& form : KnownForms()) {
    // A number at the beginning of a line need not be a time.
    if (IsClock(form) || IsCount(form)) continue;
    TextReader time = front;
    parts = {};
    if (TakeWholeTime(TimeShape::kKnown, form.format, time, parts) && !parts.count && InstantOf(parts, log.latest)) {
      return LookAlike::kOtherForm;
    }
  }
  return LookAlike::kNone;
}

std::optional<Instant> InstantOf(TimeParts parts, std::int64_t latest) {
  if (parts.lacks_date()) parts.year = 1970;
  if (!parts.lacks_year()) return parts.instant();
  constexpr std::int64_t kYearSeconds = 31556952;
  constexpr int kMostYears = 10;  // there can be eight years between two leap years
  parts.year = static_cast<unsigned>(1970 + latest / kYearSeconds + 1);
  for (int i = 0; i < kMostYears; ++i, --parts.year) {
    const std::optional<Instant> instant = parts.instant();
    if (instant && instant->seconds <= latest) return instant;
  }
  return std::nullopt;
}

namespace {

/// Appends a text with its size, such as "3:abc".
void Save(std::string_view text, std::string& to) {
  to += std::to_string(text.size()) + ':';
  to += text;
}
void Save(std::uint64_t number, std::string& to) { Save(std::to_string(number), to); }

/// Reads the texts that Save() appended.
class SavedTexts {
 public:
  explicit SavedTexts(std::string_view saved) : reader_{saved.data(), saved.data() + saved.size()} {}

  bool done() const { return reader_.done(); }
  std::string Text() {
    const std::size_t digits = reader_.digits();
    if (digits == 0 || digits > 18) Fail();
    const auto size = static_cast<std::size_t>(reader_.TakeNumber(digits));
    if (!reader_.Take(':') || reader_.rest().size() < size) Fail();
    std::string text(reader_.rest().substr(0, size));
    reader_.at += size;
    return text;
  }
  std::uint64_t Number(std::uint64_t most = ~std::uint64_t{0}) {
    std::uint64_t number = 0;
    const std::string text = Text();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number > most) Fail();
    return number;
  }

 private:
  [[noreturn]] static void Fail() { throw Error(ErrorCode::kIntegrity, "the saved format of a log is damaged"); }

  TextReader reader_;
};

}  // namespace

std::string NoteText(const std::pair<const std::string, std::string>& note) {
  return note.second.empty() ? note.first : note.first + "; the first is " + ShownLine(note.second);
}

std::string SaveLog(const LogTimes& log) {
  std::string saved;
  for (const std::uint64_t number : {static_cast<std::uint64_t>(log.latest), log.looked, log.matched}) {
    Save(number, saved);
  }
  Save(log.start, saved);
  Save(log.end, saved);
  Save(std::uint64_t{log.notes.size()}, saved);
  for (const auto& [text, line] : log.notes) {
    Save(text, saved);
    Save(line, saved);
  }
  for (const TimeShape& shape : log.shapes) {
    for (const std::string& text : {shape.name, shape.format, shape.member, shape.lead, shape.pattern})
      Save(text, saved);
    for (const unsigned number : {unsigned{shape.kind}, unsigned{shape.place}, shape.count,
                                  unsigned{static_cast<unsigned char>(shape.separator)}, unsigned{shape.indented},
                                  shape.margin, unsigned{shape.utc}}) {
      Save(std::uint64_t{number}, saved);
    }
  }
  return saved;
}

std::shared_ptr<const LogTimes> LoadLog(std::string_view saved) {
  const auto log = std::make_shared<LogTimes>();
  SavedTexts texts(saved);
  log->latest = static_cast<std::int64_t>(texts.Number());
  log->looked = texts.Number();
  log->matched = texts.Number();
  log->start = texts.Text();
  log->end = texts.Text();
  for (std::uint64_t notes = texts.Number(); notes > 0; --notes) {
    const std::string text = texts.Text();
    log->notes[text] = texts.Text();
  }
  while (!texts.done()) {
    TimeShape& shape = log->shapes.emplace_back();
    for (std::string* const text : {&shape.name, &shape.format, &shape.member, &shape.lead, &shape.pattern})
      *text = texts.Text();
    shape.kind = static_cast<TimeShape::Kind>(texts.Number(TimeShape::kParts));
    shape.place = static_cast<TimeShape::Place>(texts.Number(TimeShape::kAnywhere));
    shape.count = static_cast<unsigned>(texts.Number());
    shape.separator = static_cast<char>(texts.Number(0xFF));
    shape.indented = texts.Number(1) != 0;
    shape.margin = static_cast<unsigned>(texts.Number(~0u));
    shape.utc = texts.Number(1) != 0;
  }
  return log;
}

void LogTimeReader::Prepare(const LogTimes& log) {
  quick_.clear();
  for (const TimeShape& shape : log.shapes) {
    const bool iso = shape.kind == TimeShape::kJson && shape.format.empty();
    const bool given = shape.kind == TimeShape::kGiven || shape.kind == TimeShape::kParts;
    quick_.emplace_back(iso ? "%Y-%m-%d%^%#%z" : given ? "" : shape.format);
  }
  all_json_ =
      !log.shapes.empty() && log.shapes.front().kind == TimeShape::kJson && log.shapes.back().kind == TimeShape::kJson;
  prepared_ = log.id;
}

bool LogTimeReader::Find(const LogTimes& log, std::string_view line, bool needs, LogTime& time) {
  if (prepared_ != log.id) Prepare(log);
  for (std::size_t i = 0; i < log.shapes.size(); ++i) {
    const TimeShape& shape = log.shapes[i];
    if (!shape.pattern.empty()) {
      if (FindPattern(log, shape, line, time)) return true;
    } else if (shape.kind != TimeShape::kJson) {
      if (FindAt(log, shape, line, quick_[i], time)) return true;
    } else if (JsonObjectOf(line).starts_with('{')) {
      // If all lines are JSON, the brace is enough to recognize a record. The object is then parsed only for its time.
      if (!all_json_ || needs) {
        if (FindMember(log, line, time)) return true;
        time = {};
      }
      if (all_json_) return true;
    }
  }
  return false;
}

bool LogTimeReader::FindAt(const LogTimes& log, const TimeShape& shape, std::string_view line, QuickTime& quick,
                           LogTime& time) {
  TextReader reader{line.data(), line.data() + line.size()};
  if (!GoToFront(shape, reader)) return false;
  TextReader place = reader;
  if (!GoToPlace(shape, place) || place.done()) return false;
  const bool anywhere = shape.place == TimeShape::kAnywhere;
  if (!anywhere && !quick.can_begin(*place.at)) return false;
  if (TakeQuick(shape, place.rest(), quick, time)) return true;
  TimeParts parts;
  const char* const begin = place.at;
  const bool first = TakeWholeTime(shape.kind, shape.format, place, parts);
  if (!first && (!anywhere || TakeAnywhere(shape, reader, parts, true) == nullptr)) return false;
  if (!Keep(parts, log, shape, time)) return false;
  if (first) KeepDate(begin, parts, quick);
  return true;
}

bool LogTimeReader::TakeQuick(const TimeShape& shape, std::string_view text, QuickTime& quick, LogTime& time) {
  QuickTime::Found found;
  if (!quick.Take(text, found)) return false;
  time.east = found.east.value_or(0);
  time.instant.emplace();
  time.instant->seconds = found.seconds - time.east;
  time.instant->fraction = found.fraction;
  time.instant->zoned = found.east.has_value();
  time.instant->zone_word = found.zone_word;
  time.lacks_zone = !found.east && !shape.utc;
  time.lacks_year = found.lacks_year;
  time.lacks_date = false;
  return true;
}

void LogTimeReader::KeepDate(const char* begin, const TimeParts& parts, QuickTime& quick) const {
  if (parts.clock == nullptr || date_.day == 0) return;
  const std::string_view date(begin, static_cast<std::size_t>(parts.clock - begin));
  quick.KeepDate(date, date_.midnight, parts.lacks_year());
}

bool LogTimeReader::FindPattern(const LogTimes& log, const TimeShape& shape, std::string_view line, LogTime& time) {
  const auto pattern = patterns_.try_emplace(shape.pattern, shape.pattern).first;
  TimeParts parts;
  if (shape.kind == TimeShape::kParts) {
    if (!pattern->second.Take(line, parts)) return false;
  } else {
    const std::string_view text = pattern->second.Find(line);
    if (text.data() == nullptr || TakeShape(shape, text, parts) == nullptr) return false;
  }
  return Keep(parts, log, shape, time);
}

bool LogTimeReader::FindMember(const LogTimes& log, std::string_view line, LogTime& time) {
  if (parsed_ != log.id) {
    std::vector<JsonPath> paths;
    for (const TimeShape& shape : log.shapes) {
      if (shape.kind != TimeShape::kJson) continue;
      paths.emplace_back(shape.member);
      if (const std::string rest = NanosecondsOf(shape.member); !rest.empty()) paths.emplace_back(rest);
    }
    values_.resize(paths.size());
    parser_.emplace(std::move(paths));
    parsed_ = log.id;
  }
  try {
    parser_->Find(std::as_bytes(std::span(JsonObjectOf(line))), values_);
  } catch (const JsonError&) {
    return false;
  }
  std::size_t member = 0;
  for (std::size_t i = 0; i < log.shapes.size(); ++i) {
    const TimeShape& shape = log.shapes[i];
    if (shape.kind != TimeShape::kJson) continue;
    const std::string_view text = values_[member++].text;
    const std::string_view nanoseconds = NanosecondsOf(shape.member).empty() ? "" : values_[member++].text;
    if (shape.format.empty() ? !TakeIso(text, quick_[i], time) : !TakeMember(log, shape, text, quick_[i], time)) {
      continue;
    }
    // The text of a member with escapes lies in `parser_`.
    if (time.instant) KeepInstant(*time.instant, time);
    const std::size_t digits = TextReader{nanoseconds.data(), nanoseconds.data() + nanoseconds.size()}.digits();
    if (digits > 0 && digits < 10 && digits == nanoseconds.size() && time.instant) KeepNanoseconds(nanoseconds, time);
    return true;
  }
  return false;
}

bool LogTimeReader::TakeIso(std::string_view text, QuickTime& quick, LogTime& time) {
  constexpr std::size_t kDay = 10, kUsual = 19;  // the sizes of YYYY-MM-DD, and of YYYY-MM-DD with a clock
  QuickTime::Found found;
  time = {};
  if (quick.Take(text, found) && found.size == text.size()) {
    time.instant.emplace();
    time.instant->seconds = found.seconds - found.east.value_or(0);
    time.instant->fraction = found.fraction;
    time.instant->zoned = found.east.has_value();
    time.instant->zone_word = found.zone_word;
  } else {
    time.instant = ParseInstant(text);
    if (!time.instant) return false;
    if (text.size() >= kUsual && (text[kDay] == 'T' || text[kDay] == ' ')) {
      const std::optional<Day> day = ParseDay(text.substr(0, kDay));
      constexpr std::int64_t kSeconds = 86400;
      if (day && text[4] == '-') quick.KeepDate(text.substr(0, kDay + 1), day->days * kSeconds, false);
    }
  }
  time.lacks_zone = !time.instant->zoned;
  return true;
}

bool LogTimeReader::TakeMember(const LogTimes& log, const TimeShape& shape, std::string_view text, QuickTime& quick,
                               LogTime& time) {
  TextReader reader = TextReader::Trimmed(text);
  if (TakeQuick(shape, reader.rest(), quick, time)) return true;
  TimeParts parts;
  const char* const begin = reader.at;
  if (!TakeWholeTime(TimeShape::kKnown, shape.format, reader, parts) || !Keep(parts, log, shape, time)) return false;
  KeepDate(begin, parts, quick);
  return true;
}

bool LogTimeReader::Keep(const TimeParts& parts, const LogTimes& log, const TimeShape& shape, LogTime& time) {
  std::optional<Instant> instant = FindInstant(parts, log.latest);
  if (!instant) return false;
  time.lacks_zone = !instant->zoned && parts.zone.empty() && !shape.utc;
  time.east = parts.offset.value_or(0);
  time.lacks_year = parts.lacks_year();
  time.lacks_date = parts.lacks_date();
  if (!parts.zone.empty()) {
    auto found = zones_.find(parts.zone);
    if (found == zones_.end()) {
      const std::string name(parts.zone);
      found = zones_.emplace(std::piecewise_construct, std::tuple(name), std::tuple(name)).first;
    }
    auto& [zone, span] = found->second;
    if (!span.has(instant->seconds)) span = zone.SpanOf(instant->seconds);
    instant->seconds = span.has(instant->seconds) ? instant->seconds - span.east : zone.ToUtc(instant->seconds);
  }
  KeepInstant(*instant, time);
  if (parts.nanoseconds != 0) {
    KeepNanoseconds(std::to_string(parts.nanoseconds), time);
  }
  if (parts.second == 60 && !parts.count) {
    // A leap second comes after every fraction of the second before it, and belongs to the same day.
    --time.instant->seconds;
    fraction_.insert(0, "999999999999");
    time.instant->fraction = fraction_;
  }
  return true;
}

/// Returns the same as InstantOf(), but faster.
std::optional<Instant> LogTimeReader::FindInstant(const TimeParts& parts, std::int64_t latest) {
  constexpr std::int64_t kDay = 86400, kHour = 3600, kMinute = 60;
  constexpr unsigned kHours = 24, kMinutes = 60, kSeconds = 61, kNoon = 12;
  const unsigned hour =
      parts.hour_of_half == 0 ? parts.hour : parts.hour_of_half % kNoon + (parts.afternoon ? kNoon : 0);
  const bool usual =
      !parts.count && parts.day != 0 && hour < kHours && parts.minute < kMinutes && parts.second < kSeconds;
  const std::int64_t clock = hour * kHour + parts.minute * kMinute + parts.second;
  if (usual && parts.day == date_.day && parts.month == date_.month && parts.year == date_.year &&
      latest == date_.latest) {
    Instant instant;
    instant.seconds = date_.midnight + clock - parts.offset.value_or(0);
    instant.fraction = parts.fraction.substr(0, parts.fraction.find_last_not_of('0') + 1);
    instant.zoned = parts.offset.has_value();
    instant.zone_word = parts.zone_word;
    return instant;
  }
  const std::optional<Instant> instant = InstantOf(parts, latest);
  date_.day = 0;
  if (!instant || !usual) return instant;
  const std::int64_t midnight = instant->seconds + parts.offset.value_or(0) - clock;
  // If a date lacks the year, the year can depend on the time of the day.
  if (!parts.lacks_year() || midnight + kDay <= latest) date_ = {parts.year, parts.month, parts.day, midnight, latest};
  return instant;
}

void LogTimeReader::KeepNanoseconds(std::string_view digits, LogTime& time) {
  constexpr std::size_t kDigits = 9;
  fraction_.assign(kDigits - std::min(kDigits, digits.size()), '0');
  fraction_ += digits;
  fraction_.resize(fraction_.find_last_not_of('0') + 1);
  time.instant->fraction = fraction_;
}

void LogTimeReader::KeepInstant(Instant instant, LogTime& time) {
  fraction_ = instant.fraction;
  instant.fraction = fraction_;
  time.instant = instant;
}

}  // namespace gpusort

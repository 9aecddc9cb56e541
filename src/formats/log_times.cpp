#include "formats/log_times.hpp"

#include <algorithm>
#include <bitset>
#include <charconv>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "base/gnu_quote.hpp"
#include "base/text.hpp"

namespace gpusort {
namespace {

/// A form of times that logs use.
struct TimeForm {
  const char* name;
  const char* format;             ///< for TakeTime()
  const char* refusal = nullptr;  ///< why the form cannot be used, and what to do; null: it can
  bool floats = false;
  bool lacks_date = false;  ///< `refusal` holds unless the user gives the date
};

constexpr const char kOrderAdvice[] =
    "day or month first? Give --time '%d/%m/%Y %H:%M:%S' or --time '%m/%d/%Y %H:%M:%S'";

constexpr const char kYearAdvice[] =
    "year or day first? Give --time '%y/%m/%d %H:%M:%S', --time '%d/%m/%y %H:%M:%S' or --time '%m/%d/%y %H:%M:%S'";

constexpr const char kSecondsForm[] = "%N%?";

constexpr TimeForm kForms[] = {
    {"ISO 8601", "%Y-%m-%d%^%H:%M:%S%?%~"},
    {"ISO 8601 with AM and PM", "%Y-%m-%d%^%I:%M:%S%? %p%~"},
    {"year and month without separators", "%Y%m%d%^%H:%M:%S%?%~"},
    {"digits from year to second", "%Y%m%d%H%M%S%?%~"},
    {"Gin", "%Y/%m/%d - %H:%M:%S%?"},
    {"date with AM and PM", "%a %b %e %I:%M:%S %p %Z %Y"},
    {"date with AM and PM, day first", "%a %d %b %Y %I:%M:%S %p%~"},
    {"glog with a year", "%L%Y%m%d %H:%M:%S%?"},
    {"ISO 8601, basic form", "%Y%m%dT%H%M%S%?%~"},
    {"common log", "%d/%b/%Y:%H:%M:%S%?%~", nullptr, true},
    {"syslog", "%b %e %H:%M:%S%?"},
    {"syslog with a year", "%b %e %Y %H:%M:%S%?%~"},
    {"year/month/day", "%Y/%m/%d%^%H:%M:%S%?%~"},
    {"ctime", "%a %b %e %H:%M:%S%? %Y"},
    {"date", "%a %b %e %H:%M:%S %Z %Y"},
    {"RFC 2822", "%a, %d %b %Y %H:%M:%S%?%~"},
    {"java.util.logging", "%b %e, %Y %I:%M:%S %p"},
    {"day-month-year", "%d-%b-%Y %H:%M:%S%?%~"},
    {"day month year", "%d %b %Y %H:%M:%S%?%~"},
    {"day.month.year", "%d.%m.%Y %H:%M:%S%?%~"},
    {"glog", "%L%m%d %H:%M:%S%?"},
    {"logcat", "%m-%d %H:%M:%S%?"},
    {"yymmdd", "%y%m%d %H:%M:%S%?"},
    {"seconds since 1970", kSecondsForm},
    {"day/month/year", "%d/%m/%Y%^%H:%M:%S", kOrderAdvice},
    {"month/day/year", "%m/%d/%Y%^%H:%M:%S", kOrderAdvice},
    {"year/month/day of two digits", "%y/%m/%d%^%H:%M:%S", kYearAdvice},
    {"year-month-day of two digits", "%y-%m-%d%^%H:%M:%S", kYearAdvice},
    {"day.month.year of two digits", "%d.%m.%y%^%H:%M:%S", kYearAdvice},
    {"seconds since the start", "%s.%f]",
     "the times count from the start of the machine: write the log with dates, as dmesg --time-format iso or "
     "journalctl -k do"},
    {"time of day", "%H:%M:%S%?%~", "the times have no date: --date YYYY-MM-DD gives the day of the first one", false,
     true},
};

/// Bytes of a word that may stand before its time.
constexpr const char* kLeads[] = {"",
                                  "*",
                                  "[",
                                  "(",
                                  "\"",
                                  "'",
                                  "<",
                                  "msg=audit(",
                                  "time=",
                                  "time=\"",
                                  "ts=",
                                  "ts=\"",
                                  "t=",
                                  "t=\"",
                                  "timestamp=",
                                  "timestamp=\"",
                                  "@timestamp=",
                                  "date=",
                                  "date=\""};

/// Members of JSON Lines that hold a time, the first that a line has counts.
constexpr const char* kMembers[] = {
    "time", "ts", "timestamp", "/@timestamp", "t.$date", "date", "t", "/__REALTIME_TIMESTAMP", "@t"};

constexpr unsigned kMostTokens = 8;
constexpr std::size_t kMostLines = 400;
constexpr std::size_t kMostFront = std::size_t{64} << 10;

/// Skips sequences that set colours.
void SkipColours(TextReader& reader) {
  while (reader.end - reader.at > 2 && reader.at[0] == '\x1b' && reader.at[1] == '[') {
    const char* const end = std::find(reader.at, reader.end, 'm');
    if (end == reader.end) return;
    reader.at = end + 1;
  }
}

/// Skips a byte order mark, colours, and the priority of syslog ("<34>") with its version ("1 ").
void SkipFront(TextReader& reader) {
  if (reader.rest().starts_with("\xEF\xBB\xBF")) reader.at += 3;
  SkipColours(reader);
  if (!reader.Is('<')) return;
  TextReader priority{reader.at + 1, reader.end};
  const std::size_t digits = priority.digits();
  priority.at += digits;
  if (digits == 0 || digits > 3 || !priority.Take('>')) return;
  reader.at = priority.at;
  if (reader.rest().starts_with("1 ")) reader.at += 2;
}

/// Skips a word and the blanks after it. Returns false at the end of the line.
bool SkipToken(TextReader& reader) {
  while (reader.at != reader.end && !IsBlankChar(*reader.at)) ++reader.at;
  while (reader.at != reader.end && IsBlankChar(*reader.at)) ++reader.at;
  SkipColours(reader);
  return !reader.done();
}

bool TakeLead(TextReader& reader, std::string_view lead) {
  if (!reader.rest().starts_with(lead)) return false;
  reader.at += lead.size();
  return true;
}

/// Takes a time that is no part of a longer number.
bool TakeWholeTime(std::string_view format, TextReader& reader, TimeParts& parts) {
  if (reader.done() || (IsSpace(*reader.at) && !format.starts_with("%s"))) return false;
  if (!TakeTime(format, reader, parts) || (!reader.done() && IsDigit(*reader.at))) return false;
  constexpr unsigned kFirstYear = 1000;
  if (parts.year < kFirstYear && format.find("%Y") != format.npos) return false;  // 26/11/23
  TextReader next = reader;
  next.SkipSpace();
  const std::string_view rest = next.rest();
  // A half of the day, or the name of a place (as PHP writes "America/New_York"), would change the time.
  const std::string_view word = rest.substr(0, std::min(rest.find_first_of(" ]"), rest.size()));
  const bool half_of_day = (IsWord(word, "am") || IsWord(word, "pm")) && parts.hour_of_half == 0;
  const bool place = !word.empty() && word[0] >= 'A' && word[0] <= 'Z' && word.find('/') != word.npos &&
                     std::ranges::all_of(word, [](char c) { return IsLetterOrDigit(c) || c == '/' || c == '_'; });
  return !half_of_day && !place;
}

/// Returns the end of the time in the line, or null if the line has no time at its place.
const char* TakeAt(const LogShape& log, std::string_view line, TimeParts& parts) {
  TextReader reader{line.data(), line.data() + line.size()};
  SkipFront(reader);
  for (unsigned i = 0; i < log.token; ++i) {
    if (!SkipToken(reader)) return nullptr;
  }
  for (unsigned more = 0;; ++more) {
    TextReader at = reader;
    if (TakeLead(at, log.lead) && TakeWholeTime(log.format, at, parts)) return at.at;
    if (!log.floats || more == kMostTokens || !SkipToken(reader)) return nullptr;
    parts = {};
  }
}

/// Returns the instant of the parts. A year that they lack is the last one in which the instant is not after `latest`.
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

/// Returns the complete lines of the front that do not begin with a blank, are not empty, and have no NUL. If all lines
/// begin with a blank, returns those.
std::vector<std::string_view> SampleLines(std::string_view front) {
  std::vector<std::string_view> lines;
  front = front.substr(0, kMostFront);
  if (const std::size_t end = front.rfind('\n'); end != front.npos) front = front.substr(0, end + 1);
  std::vector<std::string_view> indented;
  while (!front.empty() && lines.size() < kMostLines) {
    std::string_view line = front.substr(0, front.find('\n'));
    front.remove_prefix(std::min(front.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.find('\0') != line.npos) continue;
    if (!IsBlankChar(line[0])) lines.push_back(line);
    if (IsBlankChar(line[0]) && indented.size() < kMostLines) indented.push_back(line);
  }
  return lines.empty() ? indented : lines;
}

std::string ShownLine(std::string_view line) {
  constexpr std::size_t kMost = 100;
  return QuoteWord(line.substr(0, kMost)) + (line.size() > kMost ? "..." : "");
}

/// A form of times at a place in the line, and the lines of the sample that have a time of the form there. Candidates
/// further to the left in the line come first.
struct Candidate {
  unsigned token;
  std::size_t lead, form;
  std::bitset<kMostLines> lines;
};

/// Returns the candidates that are found in any line.
std::vector<Candidate> FindCandidates(const std::vector<std::string_view>& lines, const std::vector<TimeForm>& forms) {
  std::map<std::tuple<unsigned, std::size_t, std::size_t>, std::bitset<kMostLines>> found;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    TextReader reader{lines[i].data(), lines[i].data() + lines[i].size()};
    SkipFront(reader);
    for (unsigned token = 0; token <= kMostTokens; ++token) {
      for (std::size_t lead = 0; lead < std::size(kLeads); ++lead) {
        TextReader at = reader;
        if (!TakeLead(at, kLeads[lead])) continue;
        for (std::size_t form = 0; form < forms.size(); ++form) {
          TextReader time = at;
          TimeParts parts;
          if (!TakeWholeTime(forms[form].format, time, parts) || !parts.instant()) continue;
          found[{forms[form].floats ? 0 : token, lead, form}].set(i);
        }
      }
      if (!SkipToken(reader)) break;
    }
  }
  std::vector<Candidate> candidates;
  for (const auto& [place, of] : found) {
    candidates.push_back({std::get<0>(place), std::get<1>(place), std::get<2>(place), of});
  }
  return candidates;
}

/// Returns the lines that are JSON objects with a time in a member, and sets the member.
std::bitset<kMostLines> FindJson(const std::vector<std::string_view>& lines, std::string& member) {
  std::vector<JsonPath> paths;
  for (const char* const path : kMembers) paths.emplace_back(path);
  JsonRecords parser(paths);
  std::vector<JsonValue> values(paths.size());
  std::vector<std::bitset<kMostLines>> found(paths.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i][0] != '{') continue;
    try {
      parser.Find(std::as_bytes(std::span(lines[i])), values);
    } catch (const JsonError&) {
      continue;
    }
    for (std::size_t path = 0; path < paths.size(); ++path) {
      if (ParseInstant(values[path].text)) found[path].set(i);
    }
  }
  const auto best = std::ranges::max_element(found, {}, [](const auto& of) { return of.count(); });
  member = kMembers[best - found.begin()];
  return *best;
}

/// Returns the candidate with the most of `lines`, and of equal ones the first. Null: no candidate has any. A candidate
/// that is not at the front of a line must have at least `least` lines.
const Candidate* BestOf(const std::vector<Candidate>& candidates, const std::vector<TimeForm>& forms, bool refused,
                        const std::bitset<kMostLines>& lines, std::size_t least = 1) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    const std::size_t count = (candidate.lines & lines).count();
    if ((forms[candidate.form].refusal != nullptr) != refused || count < (candidate.token == 0 ? 1 : least)) continue;
    const std::size_t most = best == nullptr ? 0 : (best->lines & lines).count();
    // A number and a time of another form in the same lines: the number is more likely an ID than seconds since 1970.
    const bool number = best != nullptr && std::string_view(forms[best->form].format) == kSecondsForm;
    if (count > most || (count == most && number)) best = &candidate;
  }
  return best;
}

}  // namespace

std::shared_ptr<const LogTimes> LearnLog(std::string_view front, const LogForms& allowed, std::int64_t latest) {
  const std::vector<std::string>& formats = allowed.times;
  const auto log = std::make_shared<LogTimes>();
  const std::vector<std::string_view> lines = SampleLines(front);
  log->latest = latest;
  log->looked = lines.size();
  std::vector<TimeForm> forms;
  for (const std::string& format : formats) forms.push_back({"--time", format.c_str()});
  if (forms.empty()) forms.assign(std::begin(kForms), std::end(kForms));
  for (TimeForm& form : forms) {
    if (form.lacks_date && allowed.dated) form.refusal = nullptr;
  }
  const std::vector<Candidate> candidates = FindCandidates(lines, forms);
  std::bitset<kMostLines> found, rest;
  for (std::size_t i = 0; i < lines.size(); ++i) rest.set(i);
  // A form that fewer lines than one in kRare have is taken for a part of the text. So is a form that is not at the
  // front of the line and that fewer than one in kFew have, if there is another form.
  constexpr std::size_t kRare = 50, kFew = 10;
  bool at_front = false;  // the first line begins with a time
  if (formats.empty()) {
    LogShape shape;
    const std::bitset<kMostLines> json = FindJson(lines, shape.member);
    shape.name = "JSON Lines, member " + shape.member;
    if (json.any() && kRare * json.count() >= lines.size()) {
      log->shapes.push_back(shape);
      found = json;
      at_front = json[0];
    }
  }
  // If half of the lines have a time, the other lines continue records. Of the times in these lines, only those at the
  // front of a line begin records, and all others are text.
  const auto half = [&] { return 2 * found.count() >= lines.size(); };
  for (;;) {
    const std::size_t least = log->shapes.empty()         ? 1
                              : half() && formats.empty() ? lines.size() + 1
                                                          : lines.size() / kFew + 1;
    const Candidate* const best = BestOf(candidates, forms, false, rest & ~found, least);
    if (best != nullptr && log->shapes.empty()) log->matched = best->lines.count();
    if (best == nullptr || kRare * (best->lines & ~found).count() < lines.size()) break;
    const TimeForm& form = forms[best->form];
    log->shapes.push_back({form.name, form.format, "", best->token, kLeads[best->lead], form.floats});
    found |= best->lines;
    at_front |= best->token == 0 && best->lines[0];
  }
  // Long stack traces can have more lines than the records have times. An input that begins with a time is a log then.
  const auto enough = [&] { return half() || (at_front && kFew * found.count() >= lines.size()); };
  log->matched = std::max<std::uint64_t>(log->matched, found.count());
  if (lines.empty()) return log;  // blank lines
  if (found.any() && (enough() || !formats.empty())) return log;
  const std::string shown =
      "; the first lines are " + ShownLine(lines[0]) + (lines.size() > 1 ? " and " + ShownLine(lines[1]) : "");
  const Candidate* const refused = BestOf(candidates, forms, true, rest);
  if (refused != nullptr && 2 * refused->lines.count() >= lines.size()) {
    throw BadRecord(0, forms[refused->form].refusal + shown);
  }
  const std::string of_lines =
      " of " + std::to_string(lines.size()) + " lines" + (lines.size() == kMostLines ? " at the front" : "");
  throw BadRecord(0, (log->matched == 0 ? "none" + of_lines + " has a time"
                                        : "only " + std::to_string(log->matched) + of_lines +
                                              (log->matched == 1 ? " has a time" : " have a time")) +
                         (formats.empty() ? " in a known form" : " in the form that --time gives") + shown +
                         "; --time FORMAT says how the times are written, such as --time '%Y-%m-%d %H:%M:%S', and "
                         "--format lines sorts the lines as text");
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
  std::uint64_t Number() {
    std::uint64_t number = 0;
    const std::string text = Text();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) Fail();
    return number;
  }

 private:
  [[noreturn]] static void Fail() { throw Error(ErrorCode::kIntegrity, "the saved format of a log is damaged"); }

  TextReader reader_;
};

}  // namespace

std::string SaveLog(const LogTimes& log) {
  std::string saved;
  for (const std::uint64_t number : {static_cast<std::uint64_t>(log.latest), log.looked, log.matched}) {
    Save(number, saved);
  }
  for (const LogShape& shape : log.shapes) {
    for (const std::string& text : {shape.name, shape.format, shape.member, shape.lead}) Save(text, saved);
    Save(shape.token, saved);
    Save(shape.floats, saved);
  }
  return saved;
}

std::shared_ptr<const LogTimes> LoadLog(std::string_view saved) {
  const auto log = std::make_shared<LogTimes>();
  SavedTexts texts(saved);
  log->latest = static_cast<std::int64_t>(texts.Number());
  log->looked = texts.Number();
  log->matched = texts.Number();
  while (!texts.done()) {
    LogShape& shape = log->shapes.emplace_back();
    for (std::string* const text : {&shape.name, &shape.format, &shape.member, &shape.lead}) *text = texts.Text();
    shape.token = static_cast<unsigned>(texts.Number());
    shape.floats = texts.Number() != 0;
  }
  return log;
}

LogTimeReader::Found LogTimeReader::Find(const LogTimes& log, std::string_view line) {
  constexpr std::size_t kAfter = 24;  // more bytes than the end of a time can depend on
  if (of_ == &log && line.starts_with(front_) && (!whole_ || line.size() == front_.size())) {
    time_.instant->fraction = line.substr(fraction_at_, time_.instant->fraction.size());
    return Found::kTime;
  }
  for (const LogShape& shape : log.shapes) {
    if (!shape.member.empty()) {
      // In a mixture a brace may begin a part of another record.
      if (line.starts_with('{') && (log.shapes.size() == 1 || ReadMember(shape.member, line))) return Found::kJson;
      continue;
    }
    TimeParts parts;
    const char* const end = TakeAt(shape, line, parts);
    if (end == nullptr) continue;
    std::optional<Instant> instant = InstantOf(parts, log.latest);
    if (!instant) continue;
    time_ = {instant, !instant->zoned, parts.lacks_year(), parts.lacks_date()};
    front_ = line.substr(0, static_cast<std::size_t>(end - line.data()) + kAfter);
    whole_ = front_.size() == line.size();
    fraction_at_ = instant->fraction.empty() ? 0 : static_cast<std::size_t>(instant->fraction.data() - line.data());
    of_ = &shape == &log.shapes.front() ? &log : nullptr;  // an earlier form may stand after this front
    return Found::kTime;
  }
  return Found::kNothing;
}

LogTime LogTimeReader::Read(const LogTimes& log, std::string_view line) {
  const Found found = Find(log, line);
  if (found == Found::kTime) return time_;
  LogTime time;
  for (const LogShape& shape : log.shapes) {
    if (found == Found::kJson && !shape.member.empty()) time.instant = ReadMember(shape.member, line);
  }
  time.lacks_zone = time.instant && !time.instant->zoned;
  return time;
}

std::optional<Instant> LogTimeReader::ReadMember(const std::string& member, std::string_view line) {
  if (!line.starts_with('{')) return std::nullopt;
  if (!parser_ || member_ != member) {
    parser_.emplace(std::vector<JsonPath>{JsonPath(member)});
    member_ = member;
  }
  JsonValue value;
  try {
    parser_->Find(std::as_bytes(std::span(line)), std::span(&value, 1));
  } catch (const JsonError&) {
    return std::nullopt;
  }
  return ParseInstant(value.text);
}

}  // namespace gpusort

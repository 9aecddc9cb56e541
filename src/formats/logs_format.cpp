#include "formats/logs_format.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <utility>

#include "base/gnu_quote.hpp"
#include "base/text.hpp"
#include "formats/find_bytes.hpp"
#include "formats/log_sample.hpp"
#include "formats/time_pattern.hpp"
#include "io/file.hpp"

namespace gpusort {
namespace {

constexpr std::int64_t kMinute = 60, kHour = 3600, kDay = 86400;

/// Returns the line without its newline and without a carriage return before it.
std::string_view LineOf(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Returns the line at the front of [begin, end) without its end.
std::string_view LineAt(const Byte* begin, const Byte* end) { return LineOf(Text(begin, FindByte(begin, end, '\n'))); }

/// Returns the beginning of the line after the line at `p`, or `end`.
const Byte* AfterLine(const Byte* p, const Byte* end) {
  p = FindByte(p, end, '\n');
  return p == end ? end : p + 1;
}

const Byte* BytesOf(std::string_view text) { return reinterpret_cast<const Byte*>(text.data()); }

/// Returns the beginning of the line after `line`, or `end`. `line` is without its newline.
const Byte* AfterLine(std::string_view line, const Byte* end) {
  const Byte* const p = BytesOf(line) + line.size();
  return p != end && *p == '\n' ? p + 1 : AfterLine(p, end);
}

/// Returns the local time with its year replaced. February 29 becomes March 1 in a year without it.
std::int64_t InYear(std::int64_t local, std::int64_t year) {
  const absl::CivilSecond civil = CivilOf(local);
  return absl::CivilSecond(year, civil.month(), civil.day(), civil.hour(), civil.minute(), civil.second()) -
         absl::CivilSecond(1970, 1, 1);
}

/// Returns the place of the time in its line, for people.
std::string PlaceText(const TimeShape& shape) {
  if (!shape.pattern.empty()) return ", found by " + QuoteWord(shape.pattern);
  if (shape.kind == TimeShape::kJson) return "";
  const std::string after = shape.lead.empty() ? "" : " after " + QuoteWord(shape.lead);
  switch (shape.place) {
    case TimeShape::kWord:
      return " in word " + std::to_string(shape.count + 1) + after;
    case TimeShape::kColumn:
      return " in column " + std::to_string(shape.count + 1) + " between " + QuoteWord(std::string{shape.separator}) +
             after;
    case TimeShape::kLabel:
    case TimeShape::kAnywhere:
      break;
  }
  return after.empty() ? " in any word" : after;
}

/// Returns true if the front of the line has a colon between digits, as a clock has.
bool FrontHasClock(std::string_view line) {
  constexpr std::size_t kMostSearched = 400;
  line = line.substr(0, kMostSearched);
  for (std::size_t at = line.find(':', 1); at != line.npos && at + 1 < line.size(); at = line.find(':', at + 1)) {
    const std::size_t digits = TextReader{line.data() + at + 1, line.data() + line.size()}.digits();
    if (IsDigit(line[at - 1]) && (digits == 2 || digits == 6)) return true;
  }
  return false;
}

/// Counts the second line of a record if it begins as the second line of the first record does. If nearly all records
/// have such a line, records of several lines are normal in the log, and no warning about lines without a time is
/// needed.
void NoteSecond(std::string_view line, KeyTally& tally) {
  constexpr std::size_t kFront = 4;
  line = line.substr(0, kFront);
  if (tally.second_line.empty()) tally.second_line = line;
  tally.alike_lines += !line.empty() && line == tally.second_line;
}

/// Counts a line that continues a record. `before` is the line before it, and `time` is the time of the record. If
/// records begin with LogTimes::start, the line must not have the time of a record, and `ended` is true if the line
/// comes after one with LogTimes::end.
void NoteUntimed(std::string_view line, std::string_view before, bool ended, const LogTimes& times, const LogTime& time,
                 InnerTimes& inner, KeyTally& tally) {
  constexpr std::uint64_t kMostLooked = 1000;  // of a piece of the input
  if (line.empty()) return;
  if (!times.start.empty()) {
    if (ended && FrontHasClock(line)) tally.inner_times.Note(line);
    if (ended || IsBlankChar(line[0])) return;
    if (LookAlikeOf(times, line) == LookAlike::kOtherForm) {
      tally.other_form_lines.Note(line);
    } else if (FrontHasClock(line) && tally.inner_times.count <= kMostLooked && inner.IsOfOther(times, line, time)) {
      tally.inner_times.Note(line);
    }
    return;
  }
  bool few = true;
  if (!IsBlankChar(line[0])) {
    constexpr std::size_t kMostShown = 100;
    if (tally.untimed_lines++ == 0) tally.untimed_line = line.substr(0, kMostShown);
    few = tally.untimed_lines <= kMostLooked;
    const LookAlike alike = few ? LookAlikeOf(times, line) : LookAlike::kNone;
    if (alike == LookAlike::kImpossible) tally.impossible_lines.Note(line);
    if (alike == LookAlike::kOtherForm) tally.other_form_lines.Note(line);
    if (alike != LookAlike::kNone) return;
  }
  if (times.shapes.empty() || times.shapes[0].kind == TimeShape::kGiven || !times.shapes[0].pattern.empty()) return;
  if (tally.inner_times.count > kMostLooked) return;
  // Lines with clocks are rare in stack traces, so all of them are examined. Of other lines, the first ones with enough
  // digits for a date and a time are.
  constexpr std::size_t kMostFront = 100, kDateAndTime = 10;
  const auto has_digits = [&] {
    return static_cast<std::size_t>(std::ranges::count_if(line.substr(0, kMostFront), IsDigit)) >= kDateAndTime;
  };
  // An indented line can begin with seconds since 1970 and their fraction.
  const auto has_count = [&] {
    constexpr std::size_t kSeconds = 10;
    const std::string_view text = line.substr(FirstWords(line, 0).size());
    return TextReader{text.data(), text.data() + text.size()}.digits() == kSeconds &&
           text.substr(kSeconds).starts_with('.');
  };
  const bool examined = IsBlankChar(line[0]) ? has_count() : few && has_digits();
  if (!examined && !FrontHasClock(line)) return;
  // Fields of a mail or of HTTP that follow one another belong together.
  if (IsHeaderField(line) && IsHeaderField(before)) return;
  if (inner.Holds(times, line, time, false)) tally.inner_times.Note(line);
}

/// Counts the lines before the first record of an input that have times. A single line can say when a program was
/// built, so that times a month away from that of the record count only if there are several.
void NoteHead(std::string_view head, const LogTimes& times, const LogTime& time, InnerTimes& inner, KeyTally& tally) {
  KeyTally::Lines near, all;
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(head.size(), line.size() + 1));
    if (!FrontHasClock(line)) continue;
    if (inner.Holds(times, LineOf(line), time, true)) near.Note(LineOf(line));
    if (inner.Holds(times, LineOf(line), {}, true)) all.Note(LineOf(line));
  }
  tally.inner_times.Add(all.count > 1 ? all : near);
}

/// Returns the time in the header of a file of gzip that has one member, in seconds since 1970. Returns 0 if the header
/// has no time, or if the file is large or may have several members, which can be of different years. Throws Error if
/// the file cannot be read.
std::int64_t GzipTimeOf(const std::string& path, std::int64_t size) {
  constexpr std::size_t kHeader = 8;  // up to the time, the last field that is read
  constexpr std::int64_t kMost = 16 << 20;
  constexpr std::string_view kMagic = "\x1f\x8b\x08";
  if (size < static_cast<std::int64_t>(kHeader) || size > kMost) return 0;
  FileSystem files;
  const std::unique_ptr<File> file = files.OpenInput(path, false);
  const auto front = [&](std::size_t bytes) {
    std::string text(bytes, '\0');
    text.resize(file->ReadAt(0, std::as_writable_bytes(std::span(text))));
    return text;
  };
  if (!front(kHeader).starts_with(kMagic)) return 0;
  const std::string bytes = front(static_cast<std::size_t>(size));
  if (bytes.size() < kHeader || bytes.find(kMagic, kHeader) != bytes.npos) return 0;
  std::int64_t time = 0;
  for (std::size_t i = kHeader; i > kHeader - 4; --i) time = time << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return time;
}

}  // namespace

LogsFormat::LogsFormat(const JobSpec& spec)
    : TableFormat(spec),
      inputs_(spec.source.inputs),
      zone_(words_->zone()),
      window_(table_.since, table_.until, zone_),
      walks_(table_.year != 0 || table_.date || table_.multiline != Multiline::kAuto) {
  for (const ColumnKey& key : table_.keys) {
    is_time_.push_back(LogKeys::IsTime(key));
    if (!is_time_.back() || key.rule.type == ValueType::kTimestamp) continue;
    FailKey(key, "the time of a log is a timestamp: give time, or time:desc");
  }
  MakeScratch();  // checks the other keys
  for (const std::string& format : table_.times) {
    const bool dated = table_.date || std::ranges::any_of(std::string_view("dejs"), [&](char letter) {
                         return format.find(std::string{'%', letter}) != format.npos;
                       });
    if (!dated) throw Error(ErrorCode::kUsage, "--time: " + QuoteWord(format) + " has no day (%d, %j) and no %s");
  }
  for (const std::string& pattern : table_.time_patterns) TimePattern(pattern, table_.date.has_value());
}

std::string LogsFormat::SaveState(const ScanState& state) const {
  const LogState& log = state.log;
  if (!log.times) return "log";
  return fmt::format("log {} {} {} {} {} {} {} .{} {}", state.mode, unsigned{log.local}, unsigned{log.second_pass},
                     log.at, log.year, log.day, log.seconds, log.fraction, SaveLog(*log.times));
}

ScanState LogsFormat::LoadState(const std::string& text) const {
  ScanState state;
  LogState& log = state.log;
  std::istringstream in(text);
  std::string word, fraction;
  in >> word >> state.mode >> log.local >> log.second_pass >> log.at >> log.year >> log.day >> log.seconds >> fraction;
  if (!in) return {};
  in.get();
  log.fraction = fraction.substr(1);
  log.times = LoadLog(std::string_view(text).substr(static_cast<std::size_t>(in.tellg())));
  return state;
}

std::unique_ptr<TableFormat::Scratch> LogsFormat::MakeScratch() const {
  auto made = std::make_unique<LogScratch>();
  made->keys.emplace(table_);
  made->inner.emplace();
  return made;
}

std::int64_t LogsFormat::LatestOf(std::uint64_t input) const {
  // The result is one day after the last change of a file, or after now for other inputs. The day is a margin, for
  // example for logs from another time zone. gzip notes the time of the file that it compresses.
  struct stat facts;
  const std::string& path = inputs_.at(input);
  const bool found = path != "-" && ::stat(path.c_str(), &facts) == 0;
  if (path != "-" && !found && errno != ENOENT) {  // a file that is read may be removed meanwhile
    throw Error(ErrorCode::kIo, FileMessage("cannot find out when the file was changed", path, errno));
  }
  if (!found || !S_ISREG(facts.st_mode)) return zone_.ToLocal(std::time(nullptr) + kDay);
  const std::int64_t changed = facts.st_mtim.tv_sec, member = GzipTimeOf(path, facts.st_size);
  return zone_.ToLocal((member != 0 ? std::min(member, changed) : changed) + kDay);
}

void LogsFormat::BeginInput(RecordSpan front, std::uint32_t input, ScanState& state) const {
  const Byte* const begin = AsBytes(front.data());
  try {
    state.log.times = LearnLog(Text(begin, begin + std::min(front.size(), kFrontBytes)),
                               {.times = table_.times,
                                .patterns = table_.time_patterns,
                                .starts = table_.multiline == Multiline::kAuto,
                                .prose = table_.multiline_given,
                                .dated = table_.date.has_value()},
                               LatestOf(input));
  } catch (const BadRecord& unknown) {
    throw Error(ErrorCode::kBadInput, EscapeName(inputs_.at(input)) + ": " + unknown.what());
  }
  state.log.year = table_.year;
  state.log.day = table_.date.value_or(0);
}

std::string LogsFormat::DescribeInput(RecordSpan front, const ScanState& state) const {
  const LogTimes& log = *state.log.times;
  if (log.shapes.empty()) return "no lines";
  std::string text;
  for (const TimeShape& shape : log.shapes) text += (text.empty() ? "" : "; ") + shape.name + PlaceText(shape);
  text += "; " + std::to_string(log.matched) + " of " + Counted(log.looked, "line");
  LogScratch scratch;
  std::map<std::string, std::string> notes = log.notes;
  const Byte* const end = AsBytes(front.data()) + front.size();
  for (const Byte* p = AsBytes(front.data()); p != end; p = AfterLine(p, end)) {
    const std::string_view line = LineAt(p, end);
    const LogTime time = scratch.times.Read(log, line);
    if (!time.instant || time.instant->zone_word == 0) continue;
    const std::string doubt = words_->Doubt(time.instant->zone_word);
    if (!doubt.empty()) notes.try_emplace(doubt, line);
  }
  for (const auto& note : notes) text += "; " + NoteText(note);
  ScanState at = state;
  for (const Byte* p = AsBytes(front.data()); p != end; p = AfterLine(p, end)) {
    const std::string_view line = LineAt(p, end);
    if (!scratch.times.Begins(log, line)) continue;
    const LogTime time = TakeTime(line, at.log, scratch);
    if (!time.instant) continue;
    constexpr std::size_t kMost = 60;
    const std::string fraction(time.instant->fraction);
    text += "; " + QuoteFront(line, kMost) + " is " +
            absl::FormatTime("%Y-%m-%dT%H:%M:%S", absl::FromUnixSeconds(time.instant->seconds), absl::UTCTimeZone()) +
            (fraction.empty() ? "" : "." + fraction) + "Z";
    break;
  }
  return text;
}

bool LogsFormat::Begins(const LogState& log, LogTimeReader& times, std::string_view line) const {
  if (!log.times->start.empty()) return BeginsWithStart(log.times->start, line);
  switch (table_.multiline) {
    case Multiline::kNone:
      return true;
    case Multiline::kIndent:
      return !line.empty() && !IsBlankChar(line[0]);
    case Multiline::kAuto:
      break;
  }
  return times.Begins(*log.times, line);
}

bool LogsFormat::Begins(const LogState& log, LogTimeReader& times, std::string_view line, LogTime& time) const {
  if (!log.times->start.empty()) {
    time = {};
    return BeginsWithStart(log.times->start, line);
  }
  if (table_.multiline != Multiline::kAuto) {
    if (!Begins(log, times, line)) return false;
    time = times.Read(*log.times, line);
    return true;
  }
  return times.Take(*log.times, line, time);
}

std::int64_t LogsFormat::ToUtc(std::int64_t local, LogState& log, Zone::Span& span) const {
  // Some logs go back by some seconds, because a program writes records later than it takes their times.
  constexpr std::int64_t kStepBack = 5 * kMinute;
  const bool after = std::exchange(log.local, true);
  const std::int64_t before = std::exchange(log.at, local);
  if (!span.has(local)) span = zone_.SpanOf(local);
  if (span.has(local)) {
    log.second_pass = false;
    return local - span.east;
  }
  const bool late = local < before && !zone_.IsTwice(before);  // the record is from the hour that the log has just left
  log.second_pass = after && zone_.IsTwice(local) && (log.second_pass || late || local < before - kStepBack);
  return zone_.ToUtc(local, log.second_pass);
}

void LogsFormat::SetLocalTime(std::int64_t utc, LogState& log, Zone::Span& span) const {
  log.second_pass = false;
  log.at = utc + span.east;
  if (span.has(log.at)) return;
  log.at = zone_.ToLocal(utc);
  span = zone_.SpanOf(log.at);
  log.second_pass = zone_.IsTwice(log.at) && zone_.ToUtc(log.at) != utc;
}

bool LogsFormat::SetDate(LogTime& time, LogState& log) const {
  // A record from the last hour of a day or year can come after the first records of the next day or year.
  const bool zoned = !time.lacks_zone;
  const std::int64_t given = time.instant->seconds + (zoned ? time.east : 0);
  // Converts a local time in the zone of the text to the zone of `log.at`.
  const auto here = [&](std::int64_t local) { return zoned ? zone_.ToLocal(local - time.east) : local; };
  std::int64_t local = given;
  if (time.lacks_date) {
    const auto on_day = [&](std::int64_t day) { return given + day * kDay; };
    if (log.local && here(on_day(log.day)) < log.at - 12 * kHour) ++log.day;
    local = on_day(log.day);
    if (log.local && here(local) > log.at && here(local) - kDay >= log.at - kHour) local -= kDay;
  }
  if (time.lacks_year) {
    constexpr std::int64_t kMonth = 31 * kDay;
    if (log.local && here(InYear(given, log.year)) < log.at - kMonth) ++log.year;
    local = InYear(given, log.year);
    const std::int64_t earlier = InYear(given, log.year - 1);
    if (log.local && here(local) > log.at && here(earlier) >= log.at - kHour) local = earlier;
    if (CivilOf(local).day() != CivilOf(given).day()) return false;
  }
  time.instant->seconds = local - (zoned ? time.east : 0);
  return true;
}

void LogsFormat::CompleteTime(LogTime& time, LogState& log, LogScratch& scratch) const {
  if (time.instant && time.instant->zone_word != 0) {
    words_->Apply(*time.instant);
    time.east = words_->EastOf(time.instant->zone_word);
  }
  const bool dated = !time.lacks_date && (!time.lacks_year || table_.year == 0);
  if (time.instant && !dated && !SetDate(time, log)) time = {};
  if (time.instant && !time.lacks_zone) {
    log.local = time.instant->infinite == 0 && zone_.known();
    if (log.local) SetLocalTime(time.instant->seconds, log, scratch.span);
  } else if (time.instant) {
    time.instant->seconds = ToUtc(time.instant->seconds, log, scratch.span);
  }
  if (table_.multiline == Multiline::kAuto) return;
  if (time.instant) {
    log.seconds = time.instant->seconds;
    log.fraction = time.instant->fraction;
  } else if (log.seconds != LogState::kNoTime) {
    time.instant.emplace();
    time.instant->seconds = log.seconds;
    time.instant->fraction = log.fraction;
  }
}

LogTime LogsFormat::TakeLateTime(RecordSpan record, const LogState& log, LogScratch& scratch) const {
  const Byte* const end = AsBytes(record.data()) + record.size();
  LogTime time;
  for (const Byte* p = AsBytes(record.data()); p != end; p = AfterLine(p, end)) {
    if (!scratch.times.Take(*log.times, LineAt(p, end), time)) continue;
    LogState before;
    before.times = log.times;
    before.year = table_.year;
    before.day = table_.date.value_or(0);
    CompleteTime(time, before, scratch);
    return time;
  }
  return {};
}

void LogsFormat::Walk(const Byte* begin, const Byte* end, LogState& log, LogScratch& scratch) const {
  for (const Byte* p = begin; p != end; p = AfterLine(p, end)) {
    const std::string_view line = LineAt(p, end);
    if (Begins(log, scratch.times, line)) TakeTime(line, log, scratch);
  }
}

bool LogsFormat::IsEnough(std::string_view line, const LogTimes& times) const {
  constexpr std::size_t kEnough = 4096;
  if (line.size() < kEnough || JsonObjectOf(line).starts_with('{') || line.starts_with("<![LOG[")) return false;
  // If the time is not at the beginning of the line, it can come after any number of bytes.
  return std::ranges::all_of(times.shapes, [](const TimeShape& shape) {
    const bool first = shape.place == TimeShape::kLabel || (shape.place == TimeShape::kWord && shape.count == 0);
    return first && shape.pattern.empty();
  });
}

RecordFormat::Ends LogsFormat::Scan(RecordSpan bytes, ScanState& state) const {
  Ends ends;
  if (bytes.empty()) return ends;
  const Byte* const begin = AsBytes(bytes.data());
  const Byte* const end = begin + bytes.size();
  LogScratch scratch;
  bool head = state.mode == kHead || state.mode == kInHead;
  // Before the first time of an input, only a line with a time begins a record.
  const bool late = !state.log.times->start.empty();
  const auto begins = [&](std::string_view line) {
    return head && !late ? scratch.times.Begins(*state.log.times, line) : Begins(state.log, scratch.times, line);
  };
  const Byte* p = state.mode == kHead || state.mode == kLine ? begin : AfterLine(begin, end);
  if (!state.held.empty()) {
    state.held += Text(begin, p);
    if (p == end && end[-1] != '\n' && !IsEnough(state.held, *state.log.times)) return ends;
    const std::string held = std::exchange(state.held, {});
    const std::string_view line = LineOf(held);
    if (begins(line)) {
      head = false;
      TakeTime(line, state.log, scratch);
    }
  }
  // If the bytes end inside a line, the line is examined when enough of it is known.
  const Byte* stop = end;
  while (stop != p && stop[-1] != '\n') --stop;
  if (IsEnough(Text(stop, end), *state.log.times)) stop = end;
  state.held = Text(stop, end);
  for (; p != stop; p = AfterLine(p, end)) {
    const std::string_view line = LineAt(p, end);
    if (!begins(line)) continue;
    if (!head) break;
    head = false;
    TakeTime(line, state.log, scratch);
  }
  if (p != stop) {
    const Byte* last = stop;  // the beginning of a line
    do {
      const void* const newline = last - 1 == p ? nullptr : memrchr(p, '\n', static_cast<std::size_t>(last - 1 - p));
      last = newline == nullptr ? p : static_cast<const Byte*>(newline) + 1;
    } while (last != p && !begins(LineAt(last, end)));
    ends.first = static_cast<std::uint64_t>(p - begin);
    ends.last = static_cast<std::uint64_t>(last - begin);
    ends.at_front = p == begin;
    // The time of the last record tells the state after it, unless the record has no time or the time occurs twice.
    const LogTime time = scratch.times.Read(*state.log.times, LineAt(last, end));
    const bool unknown = !time.instant || (time.lacks_zone && zone_.IsTwice(time.instant->seconds));
    if (!late && (walks_ || unknown)) Walk(p, last, state.log, scratch);
    ends.state.log = state.log;
    TakeTime(LineAt(last, end), state.log, scratch);
  }
  const bool at_line = end[-1] == '\n';
  state.mode = head ? (at_line ? kHead : kInHead) : at_line ? kLine : kInLine;
  ends.state.mode = kLine;
  return ends;
}

std::uint64_t LogsFormat::PutKeys(RecordSpan records, ScanState& state, Scratch& buffers, FieldWriter& out,
                                  KeyTally& tally) const {
  auto& scratch = static_cast<LogScratch&>(buffers);
  const Byte* const begin = AsBytes(records.data());
  const Byte* const end = begin + records.size();
  // Lines before the first line with a time belong to the first record. With --multiline, a line without a time can
  // begin a record. It then gets the time of the record before it.
  const bool head = std::exchange(state.mode, kLine) == kHead, late = !state.log.times->start.empty();
  // If the record follows the last one, its first line was read already.
  const bool follows =
      std::exchange(state.log.next, nullptr) == begin && scratch.next_end == end && BytesOf(scratch.next) == begin;
  if (follows) scratch.now ^= 1;
  LogTime& time = scratch.pair[scratch.now];
  const Byte* p = begin;  // the beginning of the line with the time
  std::string_view line = scratch.next;
  if (!follows) {
    const auto begins = [&](std::string_view text) {
      return head && !late ? scratch.times.Take(*state.log.times, text, time)
                           : Begins(state.log, scratch.times, text, time);
    };
    for (line = LineAt(p, end); p != end && !begins(line); line = LineAt(p, end)) p = AfterLine(line, end);
  }
  std::string fraction;
  const auto end_of = [&] {
    const Byte* q = p;
    std::string_view next = line;
    LogTime inside;  // the time of a record whose first line has none
    bool second = true, ended = false;
    while (q != end && (q = AfterLine(next, end)) != end) {
      const std::string_view before = std::exchange(next, LineAt(q, end));
      if (Begins(state.log, scratch.times, next, scratch.pair[scratch.now ^ 1])) {
        scratch.next = next;
        scratch.next_end = end;
        state.log.next = q;
        break;
      }
      if (table_.multiline == Multiline::kAuto || (!next.empty() && !IsBlankChar(next[0]))) {
        if (LogTime found; late && scratch.times.Take(*state.log.times, next, found)) {
          inside = found;
        } else {
          if (std::exchange(second, false)) NoteSecond(next, tally);
          const std::string& last = state.log.times->end;
          ended = ended || (!last.empty() && BeginsWithStart(last, before));
          NoteUntimed(next, before, ended, *state.log.times, late ? inside : time, *scratch.inner, tally);
        }
      }
    }
    return q;
  };
  const Byte* record_end = nullptr;
  if (p == end) {
    line = LineAt(begin, end);
    time = {};
  } else if (late) {
    record_end = end_of();
    time = TakeLateTime(records.first(static_cast<std::size_t>(record_end - begin)), state.log, scratch);
  } else {
    CompleteTime(time, state.log, scratch);
  }
  if (head && !late && p != end) {
    NoteHead(Text(begin, p), *state.log.times, time, *scratch.inner, tally);
  }
  if (!state.log.times->notes.empty()) tally.time_notes.try_emplace(tally.input, state.log.times->notes);
  if (time.instant) NoteZone(time.instant->zone_word, line, tally);
  tally.lacks_zone |= time.lacks_zone;
  tally.lacks_year |= time.lacks_year && table_.year == 0;
  scratch.left_out = !window_.Takes(time.instant, tally.window);
  LogKeys& fields = *scratch.keys;
  if (time.instant && fields.in_record()) {
    time.instant->fraction = fraction = time.instant->fraction;  // end_of() can change the text in scratch.times
  }
  if (record_end == nullptr && fields.in_record()) record_end = end_of();
  if (fields.any() && !scratch.left_out) {
    fields.Begin(*state.log.times, line, record_end == nullptr ? line : LineOf(Text(begin, record_end)));
  }
  for (std::size_t key = 0; key < keys_.size() && !scratch.left_out; ++key) {
    if (!is_time_[key]) {
      PutText(key, fields.Find(key), line, out, tally);
    } else if (time.instant) {
      keys_[key].PutInstant(*time.instant, out);
      tally.columns[key].any = true;
    } else {
      // The record has no time. PutKey() counts its first line as a value that is no timestamp, unless this is the line
      // of dashes at the end of svn log.
      const bool last = late && line == state.log.times->start && record_end == AfterLine(line, end);
      PutKey(key, {LineAt(begin, end), last ? Field::kNull : Field::kValue, 0}, out, tally);
    }
  }
  if (fields.any() && !scratch.left_out && fields.repeated()) {
    throw BadRecord(static_cast<std::uint64_t>(BytesOf(line) - begin) + *fields.repeated(), kRepeatedMember);
  }
  if (record_end == nullptr) record_end = end_of();
  ++tally.log_records;
  const auto size = static_cast<std::uint64_t>(record_end - begin);
  scratch.one_line = p == begin && record_end == AfterLine(line, end) && record_end[-1] == '\n';
  return size;
}

}  // namespace gpusort

#include "formats/inner_times.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/text.hpp"
#include "formats/log_sample.hpp"

namespace gpusort {
namespace {

/// Returns true if the text can be the end of a record's time span, as in "End-Date: " and "Log ended: ".
bool IsEndLabel(std::string_view line) {
  const std::size_t end = line.find(": ");
  if (end == line.npos) return false;
  const std::string label = LowerText(line.substr(0, end));
  return label.find("end") != label.npos || label.find("finish") != label.npos;
}

/// Returns true if a time of day stands in one of the first words of the line, as in "[22:10:01] text" and "Xyz 23
/// 22:10:01 text". The date before it may be in an unknown form. At the front the seconds may lack.
bool HasClockInFront(std::string_view line) {
  constexpr unsigned kFewWords = 3;
  for (unsigned word = 0; word <= kFewWords; ++word) {
    std::string_view text = line.substr(FirstWords(line, word).size());
    if (text.starts_with('[') || text.starts_with('(')) text.remove_prefix(1);
    TextReader reader{text.data(), text.data() + text.size()};
    TimeParts parts;
    if (TakeLogTime(word == 0 ? "%@" : "%#", reader, parts) && parts.instant() &&
        (reader.done() || IsBlankChar(*reader.at) || reader.Is(']') || reader.Is(')'))) {
      return true;
    }
  }
  return false;
}

/// Returns true if the two times are the same, apart from the time zone. In the slow log of MySQL, the statement SET
/// timestamp=... repeats the time of the record.
bool IsSameTime(const Instant& time, const LogTime& record) {
  constexpr std::int64_t kZones = 15 * 3600, kZone = 900, kNear = 5;
  if (!record.instant) return false;
  const std::int64_t apart = std::abs(time.seconds - record.instant->seconds);
  return apart <= kZones && (apart + kNear) % kZone <= 2 * kNear;
}

}  // namespace

// A time that is not near the beginning of the line must be at most a month away from the time of the record. In an
// indented line, only a time near the beginning counts. The same is true of a time of day without a date.
bool InnerTimes::Holds(const LogTimes& log, std::string_view line, const LogTime& record, bool only_front) {
  constexpr std::int64_t kDay = 86400, kMonth = 31 * kDay;
  const unsigned few_words = only_front ? 3 : 2;
  if (line.starts_with('#') && line.size() > 1 && IsLetterOrDigit(line[1]) && !IsDigit(line[1])) return false;
  const bool spans = !log.shapes.empty() && log.shapes[0].place == TimeShape::kLabel;
  if (spans && IsEndLabel(line)) return false;
  const bool indented = !line.empty() && IsBlankChar(line[0]);
  bool holds = false, dated = false;
  const unsigned words = indented || only_front ? few_words : kMostWords;
  finder_.Walk(
      line, words, [&](std::size_t form, const char* end, const TimeParts& parts, const TimeFinder::Where& where) {
        if (holds || IsClock(forms_[form]) || (forms_[form].refusal != nullptr && forms_[form].group == 0)) return;
        const std::string_view lead(where.word_begin, static_cast<std::size_t>(where.time - where.word_begin));
        const bool letters = std::ranges::any_of(lead, [](char c) { return IsLetterOrDigit(c) && !IsDigit(c); });
        const bool common = lead == "[" && IsCommonLog(forms_[form]);  // of a web server, after the name of the user
        const bool front = common || (where.word <= few_words && !letters && lead.find_first_of("\"'") == lead.npos);
        if (!front && (indented || only_front)) return;
        const bool id = parts.count && (where.word > 0 || parts.fraction.empty());  // perhaps not a time
        if (id && (indented || (only_front && where.word > 0))) return;
        const std::optional<Instant> instant = InstantOf(parts, log.latest);
        if (!instant || (line.starts_with("SET timestamp=") && IsSameTime(*instant, record))) return;
        dated = dated || (front && !parts.count);
        // A line with nothing but a time is no record.
        const bool alone = indented && std::all_of(end, line.data() + line.size(), IsBlankChar);
        if (record.instant &&
            (!front || id || alone || (indented && parts.count) || ((indented || only_front) && where.word > 0))) {
          constexpr std::int64_t kMeanYear = 31556952;
          std::int64_t apart = std::abs(instant->seconds - record.instant->seconds);
          if (record.lacks_year || parts.lacks_year())
            apart = std::min(apart % kMeanYear, kMeanYear - apart % kMeanYear);
          holds = apart <= kMonth;
        } else {
          holds = true;
        }
      });
  return holds || (!dated && !indented && !only_front && HasClockInFront(line));
}

bool InnerTimes::IsOfOther(const LogTimes& log, std::string_view line, const LogTime& record) {
  if (line.empty() || IsBlankChar(line[0]) || BeginsWithStart(log.start, line)) return false;
  // LearnGitLog has looked at the other lines of git's log. An entry of Configuration Manager has a mark at its end.
  if (log.start == "commit " || log.start == "<![LOG[") return false;
  if (log.start.starts_with(">>>") && line.starts_with("<<<")) return false;  // the end of a section of SetupAPI
  return Holds(log, line, record, true);
}

}  // namespace gpusort

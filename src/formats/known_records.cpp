#include "formats/known_records.hpp"

#include <algorithm>
#include <string>

#include "formats/inner_times.hpp"
#include "formats/learn_sample.hpp"
#include "formats/log_sample.hpp"

namespace gpusort {
namespace {

/// Calls take(line) with each whole line of the text, without its end.
template <typename Take>
void ForEachLine(std::string_view text, Take take) {
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    take(line);
  }
}

/// Learns the times of a log whose records begin with lines that begin with `start` (see LogTimes::start). `pattern`
/// finds the time in a line of a record. If the pattern begins with "^ ", lines that begin with a blank have the times.
/// `end` is the beginning of the last line of a record (see LogTimes::end). Returns null if fewer than half of the
/// records have a time.
std::shared_ptr<const LogTimes> LearnRecords(std::string_view front, std::string_view start, const std::string& pattern,
                                             std::int64_t latest, std::string_view end = {}) {
  try {
    const LogForms allowed{.patterns = {pattern}};
    const auto log =
        std::make_shared<LogTimes>(*LearnPatterns(SampleOf(front, pattern.starts_with("^ ")), allowed, latest));
    log->id = NewLogId();
    log->start = start;
    log->end = end;
    log->looked = log->matched = 0;
    LogTimeReader reader;
    bool timed = true;
    std::uint64_t more = 0;  // the number of times that follow the time of their record
    ForEachLine(front, [&](std::string_view line) {
      if (BeginsWithStart(log->start, line)) {
        ++log->looked;
        timed = false;
      }
      if (!reader.Begins(*log, line)) return;
      more += timed;
      log->matched += !timed;
      timed = true;
    });
    // Short alerts of Snort have no start of their own.
    const bool mixed = start == "[**] [" && 10 * more > log->looked;
    return 2 * log->matched >= log->looked && !mixed ? log : nullptr;
  } catch (const BadRecord&) {
    return nullptr;
  }
}

/// Learns the times of a log of a program whose records begin with a fixed text, and have their times in later lines or
/// after texts of any length. Returns null if `front` is no such log, or if other lines begin with times, too.
std::shared_ptr<const LogTimes> LearnKnownRecords(std::string_view front, std::int64_t latest) {
  static constexpr struct {
    const char* start;
    const char* pattern;
    const char* end = "";
  } kKinds[] = {
      {"--%-A--", R"(^\[(\d\d/\w{3}/\d{4}:\d.*))", "--%-Z--"},      // ModSecurity
      {">>>  [", "^>>>  Section start (.*)", "<<<  [Exit status"},  // SetupAPI of Windows
      {"Event[", R"(^ *Date:? +(\d.*))"},                           // wevtutil
      {"changeset:  ", R"(^date: +(.*))"},                          // hg log
      {"revno: ", R"(^timestamp: (.*))"},                           // bzr log
      {"LABEL:", R"(^Date/Time:\s+(.*))"},                          // errpt -a
      {"[**] [", R"(^(\d\d/\d\d(?:/\d\d)?-\d\d:\d\d:\d.*))"},       // alerts of Snort
      {"- cmd: ", "^ +when: (\\d+)"},                               // history of fish
      {"__CURSOR=", "^__REALTIME_TIMESTAMP=(.*)"},                  // journalctl -o export
      // The line before each commit of svn log. A message can quote the line of a commit, but not also this line.
      {"------------------------------------------------------------------------", R"(^r\d+ \| [^|]*\| (\d.*))"},
  };
  constexpr std::size_t kMostAhead = 20;  // lines before the first record
  std::size_t ahead = 0, searched = 0;
  while (ahead++ < kMostAhead && searched != front.npos) {
    searched = front.find('\n', searched == 0 ? 0 : searched + 1);
  }
  for (const auto& kind : kKinds) {
    bool begins = false;
    ForEachLine(front.substr(0, searched == front.npos ? searched : searched + 1),
                [&](std::string_view line) { begins = begins || BeginsWithStart(kind.start, line); });
    if (!begins) continue;
    const auto log = LearnRecords(front, kind.start, kind.pattern, latest, kind.end);
    if (log == nullptr) continue;
    // Other lines with times may be records of other programs.
    std::uint64_t others = 0;
    LogTimeReader reader;
    InnerTimes inner;
    LogTime record;
    ForEachLine(front, [&](std::string_view line) {
      LogTime time;
      if (BeginsWithStart(log->start, line)) return;
      if (reader.Take(*log, line, time)) {
        record = time;
      } else {
        others += inner.IsOfOther(*log, line, record);
      }
    });
    if (10 * others <= log->looked) return log;
  }
  return nullptr;
}

/// Learns the form of a log of Configuration Manager or Intune: <![LOG[text]LOG]!><time="..." date="..." ...>. The text
/// can have several lines. Returns null if `front` is not such a log. If `starts` is false, or other lines stand
/// between the records, only the records of one line have times.
std::shared_ptr<const LogTimes> LearnConfigurationManager(std::string_view front, bool starts, std::int64_t latest) {
  constexpr std::string_view kStart = "<![LOG[", kEnd = "]LOG]!><";
  if (!front.starts_with(kStart)) return nullptr;
  bool inside = false, between = false;
  ForEachLine(front, [&](std::string_view line) {
    inside = inside || line.starts_with(kStart);
    between = between || (!inside && !line.empty());
    if (line.find(kEnd) != line.npos) inside = false;
  });
  if (starts && !between) {
    auto log = LearnRecords(front, kStart, R"(\]LOG\]!><(time=".*))", latest);
    if (log == nullptr) throw BadRecord(0, "fewer than half of the entries of Configuration Manager have a time");
    return log;
  }
  try {
    const LogForms allowed{.patterns = {R"(^(?:\xEF\xBB\xBF)?<!\[LOG\[.*\]LOG\]!><(time=".*))"}};
    return LearnPatterns(SampleOf(front, false), allowed, latest);
  } catch (const BadRecord&) {
    return nullptr;
  }
}

/// Returns true if the line is the first line of a commit in the output of git log.
bool IsCommit(std::string_view line) {
  constexpr std::string_view kCommit = "commit ";
  constexpr std::size_t kLeast = 7;
  if (!line.starts_with(kCommit)) return false;
  line.remove_prefix(kCommit.size());
  const auto digits =
      static_cast<std::size_t>(std::ranges::find_if(line, [](char c) { return HexDigit(c) < 0; }) - line.begin());
  return digits >= kLeast && (digits == line.size() || line[digits] == ' ');
}

/// Learns the form of the dates in the output of git log. Returns null if `front` is no such output, or if other lines
/// than those of git have times.
std::shared_ptr<const LogTimes> LearnGitLog(std::string_view front, std::int64_t latest) {
  static constexpr std::string_view kLabels[] = {"commit ",      "Merge: ", "Author: ", "AuthorDate: ",     "Commit: ",
                                                 "CommitDate: ", "Date: ",  "Reflog: ", "Reflog message: ", "Notes"};
  if (!IsCommit(front.substr(0, front.find_first_of("\r\n")))) return nullptr;
  std::string others;
  ForEachLine(front, [&](std::string_view line) {
    constexpr std::string_view kOfPatch = " \t+-@";
    const bool of_git = line.empty() || kOfPatch.find(line[0]) != kOfPatch.npos ||
                        std::ranges::any_of(kLabels, [&](std::string_view label) { return line.starts_with(label); });
    if (!of_git) (others += line) += '\n';
  });
  if (!others.empty()) {
    bool mixed = true;
    try {
      LearnSample(SampleOf(others, false), {}, latest);
    } catch (const BadRecord&) {
      mixed = false;
    }
    if (mixed) return nullptr;
  }
  return LearnRecords(front, "commit ", "^(?:Author)?Date: +(.*)", latest);
}

}  // namespace

std::shared_ptr<const LogTimes> LearnKnownLog(std::string_view front, bool starts, std::int64_t latest) {
  if (front.starts_with(kByteOrderMark)) front.remove_prefix(kByteOrderMark.size());
  if (auto log = LearnConfigurationManager(front, starts, latest)) return log;
  if (!starts) return nullptr;
  if (auto log = LearnGitLog(front, latest)) return log;
  return LearnKnownRecords(front, latest);
}

}  // namespace gpusort

// LearnLog() finds out how the times of an input are written.
#include <algorithm>
#include <map>
#include <set>

#include "formats/known_records.hpp"
#include "formats/learn_sample.hpp"
#include "formats/log_sample.hpp"
#include "formats/log_times.hpp"

namespace gpusort {
namespace {

/// Learns the forms of an input in which lines with a time may begin with blanks, for example to align numbers at their
/// last digits, or levels such as " INFO" and "ERROR" at their last letters. Numbers: at least half of the lines that
/// begin with blanks must have a number after the blanks. Nine of ten of these lines must have a time at the learnt
/// place. Levels: in three of four lines with a time, the first word must end at the same byte, and these words must
/// differ in size or begin the input. Otherwise returns null.
std::shared_ptr<const LogTimes> LearnIndented(std::string_view front, const LogForms& allowed, std::int64_t latest) {
  const LogSample sample = SampleOf(front, true);
  std::vector<std::string_view> indented;
  std::size_t numbers = 0;
  for (const std::string_view line : sample.lines) {
    if (!IsBlankChar(line[0])) continue;
    indented.push_back(line);
    const std::size_t at = std::min(line.find_first_not_of(" \t["), line.size() - 1);
    numbers += IsDigit(line[at]);
  }
  if (indented.empty() || indented.size() == sample.lines.size()) return nullptr;
  try {
    std::shared_ptr<const LogTimes> log = LearnSample(sample, allowed, latest);
    LogTimeReader reader;
    const auto begins = [&](std::string_view line) { return reader.Begins(*log, line); };
    const auto found = static_cast<std::size_t>(std::ranges::count_if(indented, begins));
    if (numbers > 0 && 2 * numbers >= indented.size()) {
      return 10 * found >= 9 * numbers && found <= numbers ? log : nullptr;
    }
    std::map<std::size_t, std::size_t> ends;  // how many lines have a time and a first word that ends at a byte
    std::set<std::size_t> sizes;              // of these words
    std::size_t words = 0, others = 0;
    for (const std::string_view line : sample.lines) {
      if (!begins(line)) continue;
      ++words;
      const std::size_t end = FirstWords(line, 1).find_last_not_of(" \t") + 1;
      const std::string_view word = TextReader::Trimmed(line.substr(0, end)).rest();
      if (std::ranges::all_of(word, [](char c) { return IsLetterOrDigit(c) && !IsDigit(c); })) {
        ++ends[end];
        sizes.insert(word.size());
      } else {
        others += !IsBlankChar(line[0]);
      }
    }
    if (found == 0 || others > 0 || ends.empty()) return nullptr;
    const auto most = std::ranges::max_element(ends, {}, [](const auto& end) { return end.second; });
    if (4 * most->second < 3 * words) return nullptr;
    if (sizes.size() < 2 && !begins(sample.lines[0])) return nullptr;  // indented lines of text
    const auto aligned = std::make_shared<LogTimes>(*log);
    aligned->id = NewLogId();
    for (TimeShape& shape : aligned->shapes) shape.margin = static_cast<unsigned>(most->first);
    return aligned;
  } catch (const BadRecord&) {
    return nullptr;
  }
}

}  // namespace

std::shared_ptr<const LogTimes> LearnLog(std::string_view front, const LogForms& allowed, std::int64_t latest) {
  if (front.starts_with("\xFF\xFE") || front.starts_with("\xFE\xFF") ||
      (front.size() > 3 && front[0] != '\0' && front[1] == '\0' && front[2] != '\0' && front[3] == '\0')) {
    throw BadRecord(0, "the text is UTF-16: iconv -f UTF-16 -t UTF-8 FILE writes it as UTF-8");
  }
  if (!allowed.patterns.empty()) return LearnPatterns(SampleOf(front, true), allowed, latest);
  if (allowed.times.empty()) {
    if (auto log = LearnKnownLog(front, allowed.starts, latest)) return log;
    if (std::shared_ptr<const LogTimes> log = LearnIndented(front, allowed, latest)) return log;
  }
  return LearnSample(SampleOf(front, false), allowed, latest);
}

}  // namespace gpusort

// labels: brief
// Fuzzes the detector of the times of logs with arbitrary text, and each form of times. A refusal must be a BadRecord
// of one line. What was learnt must be the same after SaveLog and LoadLog. A reader must find the same time in a line,
// whichever line it has read before.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/log_forms.hpp"
#include "formats/log_times.hpp"
#include "require.hpp"

namespace {

using namespace gpusort;

constexpr std::int64_t kLatest = 1795521600;  // 2026-11-24T12:00:00Z

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), lines.back().size() + 1));
  }
  return lines;
}

std::string Shown(const LogTime& time) {
  if (!time.instant) return "none";
  return std::to_string(time.instant->seconds) + "." + std::string(time.instant->fraction) +
         (time.lacks_zone ? " local" : "") + (time.lacks_year ? " year" : "") + (time.lacks_date ? " date" : "");
}

/// Reads each form of times at the front of a line. A read must stay inside the line, and the parts of a time must be
/// in their ranges.
void TakeForms(std::string_view line) {
  for (const TimeForm& form : KnownForms()) {
    TextReader reader{line.data(), line.data() + line.size()};
    TimeParts parts;
    if (!TakeLogTime(form.format, reader, parts)) continue;
    Require(reader.at >= line.data() && reader.at <= line.data() + line.size(), "a time beyond its line");
    Require(parts.month <= 12 && parts.day <= 31 && parts.hour <= 24 && parts.minute <= 59 && parts.second <= 60,
            "a part of a time out of its range");
    for (const char c : parts.fraction) Require(IsDigit(c), "a fraction that is no number");
  }
}

void Learn(const std::string& text, const LogForms& forms) {
  std::shared_ptr<const LogTimes> log;
  try {
    log = LearnLog(text, forms, kLatest);
  } catch (const BadRecord& refused) {
    Require(std::string(refused.what()).find('\n') == std::string::npos, "a refusal of two lines");
    return;
  }
  Require(log->matched <= log->looked, "more times than lines");
  const std::string saved = SaveLog(*log);
  const std::shared_ptr<const LogTimes> loaded = LoadLog(saved);
  Require(SaveLog(*loaded) == saved, "another log after it is saved and loaded");
  LogTimeReader used;
  for (const std::string_view line : LinesOf(text)) {
    LogTimeReader fresh;
    const bool begins = fresh.Begins(*loaded, line);
    Require(used.Begins(*log, line) == begins, "a line begins a record only after another line");
    if (!begins) {
      LookAlikeOf(*log, line);
      continue;
    }
    Require(Shown(LogTimeReader().Read(*loaded, line)) == Shown(used.Read(*log, line)),
            "another time after another line");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count < 1 || count > 8192) return 0;
  const std::string text(reinterpret_cast<const char*>(bytes) + 1, count - 1);
  for (const std::string_view line : LinesOf(text)) TakeForms(line);
  LogForms forms;
  forms.dated = bytes[0] % 2 != 0;
  if (bytes[0] / 2 % 4 == 1) forms.times = {CheckedTimeFormat("%d/%m/%Y %H:%M:%S"), CheckedTimeFormat("%s")};
  if (bytes[0] / 2 % 4 == 2) forms.patterns = {"<(.*)>", "(?P<month>\\w+) (?P<day>\\d+) (?P<hour>\\d+)"};
  Learn(text, forms);
  return 0;
}

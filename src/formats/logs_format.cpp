#include "formats/logs_format.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>

#include "base/gnu_quote.hpp"
#include "base/text.hpp"
#include "formats/find_bytes.hpp"

namespace gpusort {
namespace {

/// A line of which at least this many bytes are known can be told to begin a record.
constexpr std::size_t kEnoughOfLine = 4096;

/// Returns the line at the front of `text` without its end.
std::string_view LineAt(const Byte* begin, const Byte* end) {
  std::string_view line = Text(begin, FindByte(begin, end, '\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Returns the front of the line after the line at `p`, or `end`.
const Byte* AfterLine(const Byte* p, const Byte* end) {
  p = FindByte(p, end, '\n');
  return p == end ? end : p + 1;
}

}  // namespace

LogsFormat::LogsFormat(const JobSpec& spec) : TableFormat(spec), inputs_(spec.source.inputs), zone_(table_.zone) {
  for (const ColumnKey& key : table_.keys) {
    if (key.column == "time" && key.number == 0 && key.rule.type == ValueType::kTimestamp) continue;
    throw Error(ErrorCode::kUsage, "--key: '" + EscapeName(key.text) + "': the key of a log is time, or time:desc");
  }
  for (const std::string& format : table_.times) {
    const bool dated = std::ranges::any_of(std::string_view("dejs"), [&](char letter) {
      return format.find(std::string{'%', letter}) != format.npos;
    });
    if (!dated) throw Error(ErrorCode::kUsage, "--time: " + QuoteWord(format) + " has no day (%d, %j) and no %s");
  }
}

std::int64_t LogsFormat::LatestOf(std::uint64_t input) const {
  constexpr std::int64_t kDay = 86400;
  struct stat facts;
  const std::string& path = inputs_.at(input);
  const bool file = path != "-" && ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
  return zone_.ToLocal((file ? facts.st_mtim.tv_sec : std::time(nullptr)) + kDay);
}

std::shared_ptr<const LogTimes> LogsFormat::FormatOf(std::uint64_t input, std::string_view front) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const LogTimes>& found = found_[input];
  if (found) return found;
  try {
    found = LearnLog(front, {.times = table_.times}, LatestOf(input));
  } catch (const BadRecord& unknown) {
    throw Error(ErrorCode::kBadInput, EscapeName(inputs_.at(input)) + ": " + unknown.what());
  }
  return found;
}

ScanState LogsFormat::NextInput(const ScanState& state) const {
  ScanState next;
  next.count = state.count + 1;
  return next;
}

RecordFormat::Ends LogsFormat::Scan(RecordSpan bytes, ScanState& state) const {
  Ends ends;
  if (bytes.empty()) return ends;
  const Byte* const begin = AsBytes(bytes.data());
  const Byte* const end = begin + bytes.size();
  const std::shared_ptr<const LogTimes> log = FormatOf(state.count, Text(begin, end));
  LogTimeReader times(zone_);
  // A line that the bytes cut off is looked at by PutKeys, which gets it whole.
  const auto begins = [&](const Byte* p) {
    return (static_cast<std::size_t>(end - p) >= kEnoughOfLine || FindByte(p, end, '\n') != end) &&
           times.Begins(*log, LineAt(p, end));
  };
  const Byte* p = state.mode == kHead || state.mode == kLine ? begin : AfterLine(begin, end);
  bool head = state.mode == kHead || state.mode == kInHead;
  for (; p != end && (head || !begins(p)); p = AfterLine(p, end)) {
    if (head && begins(p)) head = false;
  }
  if (p != end) {
    const Byte* last = end;  // the front of a line
    do {
      const void* const newline = last - 1 == p ? nullptr : memrchr(p, '\n', static_cast<std::size_t>(last - 1 - p));
      last = newline == nullptr ? p : static_cast<const Byte*>(newline) + 1;
    } while (last != p && !begins(last));
    ends.first = static_cast<std::uint64_t>(p - begin);
    ends.last = static_cast<std::uint64_t>(last - begin);
    ends.at_front = p == begin;
  }
  const bool at_line = end[-1] == '\n';
  state.mode = head ? (at_line ? kHead : kInHead) : at_line ? kLine : kInLine;
  ends.state = state;
  ends.state.mode = kLine;
  return ends;
}

std::uint64_t LogsFormat::PutKeys(RecordSpan records, ScanState& state, Scratch& buffers, FieldWriter& out,
                                  KeyTally& tally) const {
  auto& scratch = static_cast<LogScratch&>(buffers);
  const Byte* const begin = AsBytes(records.data());
  const Byte* const end = begin + records.size();
  if (scratch.input != state.count) scratch.log = FormatOf(scratch.input = state.count, Text(begin, end));
  const LogTimes& log = *scratch.log;
  const Byte* p = begin;  // of the line with the time
  while (p != end && !scratch.times.Begins(log, LineAt(p, end))) p = AfterLine(p, end);
  LogTime time;
  if (p != end) time = scratch.times.Read(log, LineAt(p, end));
  tally.lacks_zone |= time.lacks_zone;
  tally.lacks_year |= time.lacks_year;
  for (std::size_t key = 0; key < keys_.size(); ++key) {
    if (time.instant) {
      keys_[key].PutInstant(*time.instant, out);
      tally.columns[key].any = true;
    } else {
      // The text of the record's first line is no timestamp.
      PutKey(key, {LineAt(begin, end), Field::kValue, 0}, out, tally);
    }
  }
  while (p != end && (p = AfterLine(p, end)) != end && !scratch.times.Begins(log, LineAt(p, end))) {
  }
  return static_cast<std::uint64_t>(p - begin);
}

}  // namespace gpusort

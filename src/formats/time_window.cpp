#include "formats/time_window.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "base/gnu_quote.hpp"
#include "base/text.hpp"
#include "formats/value_key.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// Returns true if the text has only digits, a point, and perhaps a sign before them.
bool IsCount(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.find_first_not_of(".0123456789") == text.npos;
}

/// Returns the time that an operand of --since or --until gives, or std::nullopt if the operand is not valid. The
/// fraction of the result lies in `text`.
std::optional<Instant> TimeOf(std::string_view text) {
  const bool counts = text.starts_with('@');
  if (counts) text.remove_prefix(1);
  if (IsCount(text) != counts) return std::nullopt;
  const std::optional<Instant> instant = ParseInstant(text);
  return instant && instant->infinite == 0 ? instant : std::nullopt;
}

std::optional<Instant> BoundOf(std::string_view text, const Zone& zone) {
  if (text.empty()) return std::nullopt;
  std::optional<Instant> instant = TimeOf(text);
  if (!instant) throw Error(ErrorCode::kInternal, "a bound of the window is no time");
  if (!instant->zoned) instant->seconds = zone.ToUtc(instant->seconds);
  if (instant->zone_word != 0) ZoneWords(zone, true).Apply(*instant);  // as in the times of the log
  return instant;
}

/// Returns bytes that sort in the order of the instants.
std::vector<std::byte> BytesOf(const Instant& instant) {
  static const ValueKey key = [] {
    ValueRule rule;
    rule.type = ValueType::kTimestamp;
    return ValueKey(rule);
  }();
  std::vector<std::byte> bytes;
  FieldWriter writer(bytes);
  writer.Begin(~std::uint32_t{0});
  key.PutInstant(instant, writer);
  return bytes;
}

bool IsBefore(const Instant& a, const Instant& b) {
  const auto whole = [](const Instant& instant) { return std::tuple(instant.infinite, instant.seconds); };
  if (whole(a) != whole(b)) return whole(a) < whole(b);
  return BytesOf(a) < BytesOf(b);
}

/// Returns "2026-11-23 22:10:01" for a time in seconds since 1970.
std::string Shown(std::int64_t utc, const Zone& zone) {
  return absl::FormatTime("%E4Y-%m-%d %H:%M:%S", absl::FromUnixSeconds(zone.ToLocal(utc)), absl::UTCTimeZone());
}

}  // namespace

std::string CheckedWindowTime(const std::string& text) {
  if (TimeOf(text)) return text;
  if (!IsCount(text)) {
    throw Error(ErrorCode::kUsage, QuoteWord(text) +
                                       " is no time: give one like 2026-11-23, 2026-11-23T06:00, "
                                       "2026-11-23T06:00:00.5+01:00 or @1795471801");
  }
  throw Error(ErrorCode::kUsage, QuoteWord(text) +
                                     " could be a day or a count of seconds: give a day like 2026-11-23, "
                                     "or @ before a count of seconds since 1970");
}

TimeWindow::TimeWindow(std::string_view since, std::string_view until, const Zone& zone)
    : since_(BoundOf(since, zone)), until_(BoundOf(until, zone)) {
  if (!since_ || !until_ || IsBefore(*since_, *until_)) return;
  throw Error(ErrorCode::kUsage, fmt::format("--since {} is not before --until {}", QuoteWord(std::string(since)),
                                             QuoteWord(std::string(until))));
}

bool TimeWindow::Takes(const std::optional<Instant>& time, WindowTally& tally) const {
  if (!since_ && !until_) return true;
  if (!time) {
    ++tally.outside;
    ++tally.timeless;
    return false;
  }
  if ((!since_ || !IsBefore(*time, *since_)) && (!until_ || IsBefore(*time, *until_))) {
    ++tally.inside;
    return true;
  }
  ++tally.outside;
  if (time->infinite == 0) {
    tally.earliest = std::min(tally.earliest, time->seconds);
    tally.latest = std::max(tally.latest, time->seconds);
  }
  return false;
}

std::vector<std::string> DescribeWindow(std::string_view since, std::string_view until, const Zone& zone,
                                        const WindowTally& tally) {
  std::vector<std::string> lines;
  if (tally.timeless > 0) {
    lines.push_back(fmt::format("{} no time and {} left out, because of --since and --until",
                                Counted(tally.timeless, "record") + (tally.timeless == 1 ? " has" : " have"),
                                tally.timeless == 1 ? "is" : "are"));
  }
  if (tally.inside > 0 || tally.earliest > tally.latest) return lines;
  std::string window;
  for (const auto& [from, text] : {std::pair("from ", since), std::pair("until ", until)}) {
    if (text.empty()) continue;
    window += (window.empty() ? "" : " ") + (from + Shown(BoundOf(text, zone)->seconds, zone));
  }
  lines.push_back(fmt::format("no record is in the window {}; the records are from {} until {}, in the zone {}", window,
                              Shown(tally.earliest, zone), Shown(tally.latest, zone), zone.name()));
  return lines;
}

}  // namespace gpusort

#include "formats/time_pattern.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <map>

#include "base/gnu_quote.hpp"
#include "formats/log_forms.hpp"
#include "formats/text_keys.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// Reads a number of at most `most` digits in [low, high].
template <unsigned TimeParts::*kTo, std::size_t kMost, unsigned kLow, unsigned kHigh>
bool SetNumber(std::string_view text, TimeParts& parts) {
  TextReader reader = TextReader::Trimmed(text);
  const std::size_t digits = reader.digits();
  if (digits == 0 || digits > kMost || digits != reader.rest().size()) return false;
  parts.*kTo = static_cast<unsigned>(reader.TakeNumber(digits));
  return parts.*kTo >= kLow && parts.*kTo <= kHigh;
}

bool SetYear(std::string_view text, TimeParts& parts) {
  if (!SetNumber<&TimeParts::year, 4, 0, 9999>(text, parts)) return false;
  constexpr unsigned kPivot = 69, kCentury = 100;
  if (parts.year < kCentury) parts.year += parts.year < kPivot ? 2000 : 1900;
  return true;
}

bool SetMonth(std::string_view text, TimeParts& parts) {
  if (SetNumber<&TimeParts::month, 2, 1, 12>(text, parts)) return true;
  TextReader reader{text.data(), text.data() + text.size()};
  return TakeLogTime("%b", reader, parts) && reader.done();
}

bool SetHalf(std::string_view text, TimeParts& parts) {
  if (text.empty()) return true;
  parts.afternoon = Lower(text[0]) == 'p';
  if (!parts.afternoon && Lower(text[0]) != 'a') return false;
  parts.hour_of_half = parts.hour <= 12 ? parts.hour : 0;
  return true;
}

bool SetFraction(std::string_view text, TimeParts& parts) {
  parts.fraction = text;
  return std::ranges::all_of(text, IsDigit);
}

bool SetZone(std::string_view text, TimeParts& parts) {
  if (text.empty()) return true;
  TextReader reader = TextReader::Trimmed(text);
  if (TakeLogTime("%z", reader, parts) && reader.done()) return true;
  parts.zone_word = ZoneWordOf(reader.rest());
  return TakeZone(reader, parts.offset) && parts.offset && reader.done();
}

struct Group {
  const char* name;
  bool (*set)(std::string_view text, TimeParts& parts);
};

// The hour must come before the half of the day (AM, PM), which changes it.
constexpr Group kGroups[] = {{"year", SetYear},
                             {"month", SetMonth},
                             {"day", SetNumber<&TimeParts::day, 2, 1, 31>},
                             {"hour", SetNumber<&TimeParts::hour, 2, 0, 24>},
                             {"minute", SetNumber<&TimeParts::minute, 2, 0, 59>},
                             {"second", SetNumber<&TimeParts::second, 2, 0, 60>},
                             {"fraction", SetFraction},
                             {"ampm", SetHalf},
                             {"zone", SetZone}};

}  // namespace

TimePattern::TimePattern(const std::string& pattern, bool dated)
    : pattern_(CompileExpression(pattern, "--time-regex")) {
  const std::map<std::string, int>& names = pattern_->NamedCapturingGroups();
  const std::string of = "--time-regex: " + QuoteWord(pattern);
  if (names.empty()) {
    if (pattern_->NumberOfCapturingGroups() == 0) {
      throw Error(ErrorCode::kUsage, of + " has no group: put the time in parentheses");
    }
    return;
  }
  for (const auto& [name, number] : names) {
    if (std::ranges::find(kGroups, name, &Group::name) != std::end(kGroups)) continue;
    throw Error(ErrorCode::kUsage, of + ": no part of a time is named " + QuoteWord(name) +
                                       "; the names are year, month, day, hour, minute, second, fraction, ampm, zone");
  }
  for (const char* const needed : {"month", "day", "hour"}) {
    if (names.contains(needed) || (dated && std::string_view(needed) != "hour")) continue;
    throw Error(ErrorCode::kUsage, of + " has no group named " + needed);
  }
  for (const Group& group : kGroups) {
    if (const auto found = names.find(group.name); found != names.end()) parts_.emplace_back(found->second, group.set);
  }
}

TimePattern::~TimePattern() = default;
TimePattern::TimePattern(TimePattern&&) noexcept = default;

std::string_view TimePattern::Find(std::string_view line) const {
  re2::StringPiece found[2];
  if (!pattern_->Match({line.data(), line.size()}, 0, line.size(), re2::RE2::UNANCHORED, found, 2)) return {};
  return {found[1].data(), found[1].size()};
}

bool TimePattern::Take(std::string_view line, TimeParts& parts) const {
  constexpr int kMostGroups = 32;
  re2::StringPiece found[kMostGroups];
  const int groups = std::min(pattern_->NumberOfCapturingGroups() + 1, kMostGroups);
  if (!pattern_->Match({line.data(), line.size()}, 0, line.size(), re2::RE2::UNANCHORED, found, groups)) return false;
  return std::ranges::all_of(parts_, [&](const auto& part) {
    const auto& [number, set] = part;
    if (number >= groups) return false;
    const re2::StringPiece& text = found[number];
    return text.data() == nullptr || set({text.data(), text.size()}, parts);
  });
}

}  // namespace gpusort

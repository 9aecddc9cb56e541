#include "formats/time_candidates.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace gpusort {
namespace {

bool SamePlace(const TimeCandidate& a, const TimeCandidate& b) {
  return a.shape.place == b.shape.place && a.shape.count == b.shape.count && a.shape.separator == b.shape.separator &&
         a.shape.lead == b.shape.lead;
}

}  // namespace

void TimeCandidates::Search(TimeShape::Kind kind, const LineSet& lines) {
  TimeFinder finder(forms_, kind, sample_.indented);
  for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
    if (lines[i]) finder.Search(i, sample_.lines[i]);
  }
  all_ = finder.Candidates();
}

void TimeCandidates::KeepFront() {
  std::erase_if(all_, [](const TimeCandidate& candidate) { return !candidate.at_front(); });
}

void TimeCandidates::Weed(bool paragraphs) {
  ResolveGroups();
  if (paragraphs) RefuseLateTimes();
  RefuseNumbers();
}

bool TimeCandidates::IsResolved(const TimeCandidate& candidate) const {
  return std::ranges::find(resolved_, candidate.form) != resolved_.end();
}

std::int64_t TimeCandidates::SecondsIn(const TimeShape& shape, std::size_t line) const {
  TimeParts parts;
  if (TakeShape(shape, sample_.lines[line], parts) == nullptr) return 0;
  const std::optional<Instant> instant = InstantOf(parts, latest_);
  return instant ? instant->seconds : 0;
}

/// Uses a form of a group if some text is no time in all other forms of the group.
void TimeCandidates::ResolveGroups() {
  for (TimeCandidate& candidate : all_) {
    const unsigned group = forms_[candidate.form].group;
    if (group == 0) continue;
    bool known = true;
    for (const TimeCandidate& other : all_) {
      if (&other == &candidate || forms_[other.form].group != group || !SamePlace(candidate, other)) continue;
      known = known && (candidate.lines & other.lines) == other.lines &&
              (candidate.lines != other.lines || ShownByAll(candidate, other) || ShownByDates(candidate, other));
    }
    if (!known) continue;
    candidate.refused = false;
    resolved_.push_back(candidate.form);
  }
}

/// Returns true if some line of the whole input front is a time only in `candidate`, and no line is a time only in
/// `other`.
bool TimeCandidates::ShownByAll(const TimeCandidate& candidate, const TimeCandidate& other) const {
  bool shown = false;
  if (sample_.all.size() == sample_.lines.size()) return false;
  for (const std::string_view line : sample_.all) {
    const auto reads = [&](const TimeCandidate& by) {
      TimeParts parts;
      return TakeShape(by.shape, line, parts) != nullptr && parts.instant();
    };
    const bool first = reads(candidate), second = reads(other);
    if (second && !first) return false;
    shown |= first && !second;
  }
  return shown;
}

/// Returns true if the dates of the sample show that the fields of `candidate`, whose years have two digits, are in
/// the right order, and those of `other` are not. Times after the last change of the file are wrong. Times that grow
/// over a few days are right if the other order spreads them over years. Spark writes the year first, unless only the
/// other order gives times near the last change of the file.
bool TimeCandidates::ShownByDates(const TimeCandidate& candidate, const TimeCandidate& other) const {
  const std::string_view format = forms_[candidate.form].format;
  if (format.find("%y") == format.npos) return false;
  struct Dates {
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = std::numeric_limits<std::int64_t>::min();
    std::set<std::int64_t> days;
    std::size_t back = 0;
  } right, wrong;
  constexpr std::int64_t kDay = 86400, kYear = 365 * kDay, kSteps = 100;
  for (const auto& [of, dates] : {std::pair(&candidate, &right), std::pair(&other, &wrong)}) {
    std::int64_t before = 0;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (!of->lines[i]) continue;
      const std::int64_t seconds = SecondsIn(of->shape, i);
      dates->first = std::min(dates->first, seconds);
      dates->last = std::max(dates->last, seconds);
      dates->days.insert(seconds / kDay);
      dates->back += seconds < before;
      before = seconds;
    }
  }
  if (right.last <= latest_ && wrong.last > latest_) return true;
  const std::int64_t right_span = right.last - right.first, wrong_span = wrong.last - wrong.first;
  if (right.days.size() > 1 && right.back * 10 <= candidate.lines.count() && wrong_span > kYear * 9 / 10 &&
      right_span < wrong_span / kSteps) {
    return true;
  }
  constexpr std::int64_t kLately = 400 * kDay;
  const bool wrong_is_recent = wrong.last <= latest_ && wrong.last > latest_ - kLately;
  return right.last <= latest_ && right.back * 10 <= candidate.lines.count() &&
         (right.last > latest_ - kLately || !wrong_is_recent) && IsOfHadoop(candidate);
}

bool TimeCandidates::IsOfHadoop(const TimeCandidate& candidate) const {
  if (!candidate.shape.format.starts_with("%w%y/%m/%d")) return false;
  std::size_t classes = 0;
  for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
    const std::string_view line = sample_.lines[i];
    for (const std::string_view name : {"SparkContext", "SparkEnv", " spark.", "org.apache.spark"}) {
      if (line.find(name) != line.npos) return true;
    }
    TimeParts parts;
    const char* const end = candidate.lines[i] ? TakeShape(candidate.shape, line, parts) : nullptr;
    if (end == nullptr) continue;
    const std::string_view level = FirstWords(line.substr(static_cast<std::size_t>(end - line.data())), 1);
    std::string_view name(level.data() + level.size(), line.data() + line.size());
    name = name.substr(0, name.find(' '));
    const std::size_t point = name.find('.');
    const bool capitals = !level.empty() && std::ranges::all_of(level, [](char c) { return c < 'a' || c > 'z'; });
    classes += capitals && name.ends_with(':') && point != name.npos && point + 2 < name.size() && name[0] >= 'a' &&
               name[0] <= 'z' && name[point + 1] >= 'A' && name[point + 1] <= 'Z';
  }
  return 2 * classes >= candidate.lines.count();
}

/// In an input of paragraphs, refuses times that are not in the first line of a paragraph, because they begin no
/// record.
void TimeCandidates::RefuseLateTimes() {
  const std::size_t paragraphs = sample_.after_blank.count();
  for (TimeCandidate& candidate : all_) {
    const std::size_t count = candidate.lines.count();
    std::size_t timed = 0;  // the number of paragraphs that have a time of the candidate
    bool counted = false;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      counted = counted && !sample_.after_blank[i];
      timed += candidate.lines[i] && !std::exchange(counted, true);
    }
    if (candidate.lines[0] || count < 2 || 10 * std::max(timed, paragraphs) < 7 * count) continue;
    if (10 * (candidate.lines & sample_.after_blank).count() > 3 * count) continue;
    weeded_ = weeded_ || !candidate.refused;
    candidate.dropped = true;
  }
  std::erase_if(all_, [](const TimeCandidate& candidate) { return candidate.dropped; });
}

bool TimeCandidates::AreOfSameDays(const TimeCandidate& numbers, const TimeCandidate& times) const {
  constexpr std::int64_t kDay = 86400;
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
    if (!times.lines[i]) continue;
    first = std::min(first, SecondsIn(times.shape, i) - kDay);
    last = std::max(last, SecondsIn(times.shape, i) + kDay);
  }
  std::size_t same = 0;
  for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
    if (!numbers.lines[i] || times.lines[i]) continue;
    const std::int64_t seconds = SecondsIn(numbers.shape, i);
    same += first <= seconds && seconds <= last;
  }
  // At least nine of ten lines with a number must have no time of `times`, and be at most a day before or after these
  // times.
  return 10 * same >= 9 * numbers.lines.count();
}

/// Returns true if the numbers are dates without separators, from month to year, most of them in the same year (errpt
/// of AIX).
bool TimeCandidates::IsOfErrpt(const TimeCandidate& numbers) const {
  constexpr std::size_t kLeast = 3;
  const auto dates = std::ranges::find_if(all_, [&](const TimeCandidate& other) {
    return &other != &numbers && forms_[other.form].refusal != nullptr && IsCount(forms_[other.form]) &&
           SamePlace(numbers, other) && other.lines == numbers.lines;
  });
  if (dates == all_.end() || numbers.lines.count() < kLeast) return false;
  std::map<unsigned, std::size_t> years;
  for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
    TimeParts parts;
    if (dates->lines[i] && TakeShape(dates->shape, sample_.lines[i], parts) != nullptr) ++years[parts.year];
  }
  return std::ranges::any_of(years, [&](const auto& year) { return 10 * year.second >= 9 * numbers.lines.count(); });
}

/// Refuses numbers that are more likely IDs than seconds since 1970. Such numbers do not grow from line to line. They
/// also agree with no other time in the same line or, in a merged log, in the other lines.
void TimeCandidates::RefuseNumbers() {
  const TimeCandidate* strong = nullptr;
  for (const TimeCandidate& candidate : all_) {
    if (candidate.refused || IsCount(forms_[candidate.form])) continue;
    if (strong == nullptr || candidate.lines.count() > strong->lines.count()) strong = &candidate;
  }
  for (TimeCandidate& candidate : all_) {
    if (!IsCount(forms_[candidate.form]) || candidate.refused) continue;
    if (IsOfErrpt(candidate)) {
      candidate.dropped = true;
      continue;
    }
    std::size_t grows = 0, pairs = 0, agrees = 0, both = 0;
    std::int64_t before = 0;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (!candidate.lines[i]) continue;
      const std::int64_t seconds = SecondsIn(candidate.shape, i);
      if (before != 0) {
        ++pairs;
        constexpr std::int64_t kNear = 3600;
        grows += seconds >= before && seconds <= latest_ + kNear * 24;
        grows += seconds < before && before - seconds < kNear;
      }
      before = seconds;
      if (strong != nullptr && strong->lines[i]) {
        constexpr std::int64_t kZones = 15 * 3600, kYear = 31556952;
        const std::int64_t apart = std::abs(SecondsIn(strong->shape, i) - seconds);
        ++both;
        agrees += apart <= kZones || (kYear - apart % kYear) <= 2 * kZones || apart % kYear <= 2 * kZones;
      }
    }
    const bool other = strong != nullptr && 2 * strong->lines.count() >= candidate.lines.count();
    if (other && 2 * both >= candidate.lines.count() && 10 * agrees >= 9 * both) continue;
    if (candidate.names_number()) {
      candidate.dropped = true;
      continue;
    }
    if (candidate.named() || (other && candidate.at_front() && AreOfSameDays(candidate, *strong))) continue;
    candidate.dropped = other || (!candidate.at_front() && 10 * grows < 7 * pairs);
  }
  std::erase_if(all_, [](const TimeCandidate& candidate) { return candidate.dropped; });
}

bool TimeCandidates::FillsLines(const TimeCandidate& candidate) const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
    if (candidate.lines[i]) bytes += sample_.lines[i].size();
  }
  return bytes == candidate.at + candidate.size;
}

bool TimeCandidates::Varies(const TimeCandidate& candidate) const {
  constexpr std::size_t kLeast = 5;
  if (candidate.lines.count() < kLeast) return true;
  std::optional<std::int64_t> first;
  for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
    if (!candidate.lines[i]) continue;
    const std::int64_t seconds = SecondsIn(candidate.shape, i);
    if (first && *first != seconds) return true;
    first = seconds;
  }
  return false;
}

}  // namespace gpusort

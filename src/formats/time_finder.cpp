#include "formats/time_finder.hpp"

#include "base/text.hpp"
#include "formats/log_fields.hpp"

namespace gpusort {
namespace {

constexpr std::string_view kAudit = "audit(";  ///< precedes the times of the Linux audit system

/// Returns true if an escape sequence for a colour ends before `p`.
bool ColourBefore(const char* p, const char* begin) {
  const char* at = p - 1;
  while (at != begin && (IsDigit(at[-1]) || at[-1] == ';')) --at;
  return at != begin && at[-1] == '[' && at - 1 != begin && at[-2] == '\x1b';
}

/// Returns true if `label` names the time at which a record starts, as in "Start-Date: ".
bool IsStartLabel(std::string_view label) {
  constexpr std::size_t kMost = 32;
  if (label.size() > kMost || label.size() < 2 || !label.ends_with(' ')) return false;
  if (!IsLetterOrDigit(label[0]) || std::ranges::any_of(label, IsDigit)) return false;
  const std::string lower = LowerText(label);
  return lower.find("start") != lower.npos || lower.find("begin") != lower.npos;
}

/// Returns the beginning of the key whose value begins at `time`: of ts=, "ts":, TimeCreated=', <time> or audit(.
/// Returns null if there is no key.
const char* KeyBefore(const char* time, const char* begin) {
  const auto skip_quote = [&](const char*& at) {
    if (at != begin && (at[-1] == '"' || at[-1] == '\'')) --at;
  };
  const char* at = time;
  if (std::string_view(begin, static_cast<std::size_t>(time - begin)).ends_with(kAudit)) return time - kAudit.size();
  if (at != begin && at[-1] == '>') {  // <time>2026-11-23T22:10:01Z</time>
    const char* const name = --at;
    while (at != begin && (IsLetterOrDigit(at[-1]) || at[-1] == '_' || at[-1] == ':' || at[-1] == '-')) --at;
    return at != name && at != begin && at[-1] == '<' ? at - 1 : nullptr;
  }
  skip_quote(at);
  if (at == begin || (at[-1] != '=' && at[-1] != ':')) return nullptr;
  const bool colon = at[-1] == ':';
  const char* const value = --at;
  skip_quote(at);
  if (colon && at == value) return nullptr;
  const char* name = at;
  while (name != begin &&
         (IsLetterOrDigit(name[-1]) || name[-1] == '_' || name[-1] == '@' || name[-1] == '-' || name[-1] == '.')) {
    --name;
  }
  if (name == at || IsDigit(*name)) return nullptr;
  if (at != value && name != begin) skip_quote(name);
  return name;
}

}  // namespace

bool IsTimeName(std::string_view name) {
  const std::string lower = LowerText(name);
  for (const std::string_view part : {"time", "date", "stamp", "epoch"}) {
    if (lower.find(part) != lower.npos) return true;
  }
  return lower == "ts" || lower == "t" || lower == "@t" || lower.ends_with("_ts") || lower.ends_with("at");
}

std::string_view TimeCandidate::name() const {
  std::string_view name = named() ? shape.lead : std::string_view();
  while (!name.empty() && !IsLetterOrDigit(name.front()) && name.front() != '@') name.remove_prefix(1);
  while (!name.empty() && !IsLetterOrDigit(name.back())) name.remove_suffix(1);
  return name;
}

bool TimeCandidate::names_number() const {
  constexpr std::string_view kEnds[] = {"id", "number", "count", "size", "bytes", "port", "seq", "key", "phone"};
  const std::string lower = LowerText(name());
  const bool number = std::ranges::any_of(kEnds, [&](std::string_view end) { return lower.ends_with(end); });
  return !name().empty() && !names_time() && (number || shape.lead.starts_with('<'));
}

bool TimeCandidate::of_audit() const { return shape.lead == kAudit; }

TimeFinder::TimeFinder(const std::vector<TimeForm>& forms, TimeShape::Kind kind, bool indented)
    : forms_(forms), kind_(kind), indented_(indented) {
  for (std::size_t i = 0; i < forms.size() && kind == TimeShape::kKnown; ++i) {
    fronts_.push_back(FrontOf(forms[i].format));
    for (std::size_t run = 0; run < by_run_.size(); ++run) {
      if ((fronts_[i].runs >> run) % 2 != 0) by_run_[run].push_back(i);
    }
    if (fronts_[i].month) months_.push_back(i);
    if (fronts_[i].weekday) weekdays_.push_back(i);
    if (fronts_[i].zone) zones_.push_back(i);
    if (fronts_[i].capital) capitals_.push_back(i);
    if (fronts_[i].tai) tai_.push_back(i);
    if (fronts_[i].blank) blanks_.push_back(i);
  }
  for (std::size_t i = 0; i < forms.size() && kind == TimeShape::kGiven; ++i) given_.push_back(i);
}

std::vector<TimeCandidate> TimeFinder::Candidates() const {
  std::vector<TimeCandidate> candidates;
  for (const auto& [key, found] : found_) {
    TimeCandidate& candidate = candidates.emplace_back();
    const auto& [place, count, separator, form, lead] = key;
    candidate.form = form;
    candidate.lines = found.lines;
    candidate.at = found.at;
    candidate.size = found.size;
    candidate.refused = forms_[form].refusal != nullptr;
    candidate.shape.name = forms_[form].name;
    candidate.shape.kind = kind_;
    candidate.shape.format = forms_[form].format;
    candidate.shape.place = place;
    candidate.shape.count = count;
    candidate.shape.separator = separator;
    candidate.shape.lead = lead;
    candidate.shape.indented = indented_;
  }
  return candidates;
}

void TimeFinder::Separator(char c, const char* p, Where& where) {
  const std::size_t separator = kSeparators.find(c);
  if (separator == kSeparators.npos) return;
  ++where.columns[separator];
  where.after[separator] = p + 1;
}

const std::vector<std::size_t>* TimeFinder::FormsAt(const char* p, const TextReader& line) {
  const char before = p == line.at ? ' ' : p[-1];
  if (!given_.empty()) return IsLetterOrDigit(before) ? nullptr : &given_;
  if (IsDigit(*p)) {
    if (IsLetterOrDigit(before) && !(before == 'm' && ColourBefore(p, line.at))) return nullptr;
    const std::size_t run = TextReader{p, line.end}.digits();
    if (run >= by_run_.size()) return nullptr;
    constexpr std::size_t kYear = 4;
    if (before == '-' || before == '/' || before == '.' || before == '_') return nullptr;
    if (before == '+' && p - 1 != line.at && p[-2] != '#') return nullptr;
    if (before == ':' && p - 1 != line.at && IsDigit(p[-2]) && run < kYear) return nullptr;
    const char next = p + run == line.end ? '\0' : p[run];
    chosen_.clear();
    for (const std::size_t form : by_run_[run]) {
      if (fronts_[form].next == '\0' || fronts_[form].next == next || (fronts_[form].next == ' ' && next == '\t')) {
        chosen_.push_back(form);
      }
    }
    return chosen_.empty() ? nullptr : &chosen_;
  }
  if (*p == '@') return IsLetterOrDigit(before) ? nullptr : &tai_;
  const char lower = Lower(*p);
  const auto beyond_ascii = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  if ((lower < 'a' || lower > 'z') && !beyond_ascii(lower)) return nullptr;
  if (beyond_ascii(before)) return nullptr;
  if (before == '_' || before == '-' || before == '/') return nullptr;
  if (IsLetterOrDigit(before) && !(before == 'm' && ColourBefore(p, line.at))) return nullptr;
  if (before == '.' && p - 1 != line.at && IsLetterOrDigit(p[-2])) return nullptr;
  if (line.end - p < 3) return nullptr;
  if (IsDigit(p[1])) return lower == *p ? nullptr : &capitals_;
  const auto is_name = [&](const auto& names) {
    return std::ranges::any_of(names, [&](std::string_view name) {
      return name[0] == lower && name[1] == Lower(p[1]) && name[2] == Lower(p[2]);
    });
  };
  if (is_name(kWeekdays)) return &weekdays_;
  if (is_name(kMonths) || MayBeMonth({p, line.end})) return &months_;
  return lower != *p && p[1] < 'a' && p[2] < 'a' ? &zones_ : nullptr;
}

void TimeFinder::AddPlaces(std::size_t form, const char* end, const Where& where) {
  constexpr std::size_t kMostLead = 40;
  const char* const time = where.time;
  const auto text = [&](const char* from) { return std::string_view(from, static_cast<std::size_t>(time - from)); };
  if (const std::string_view label = text(where.begin); IsStartLabel(label)) {
    Add(TimeShape::kLabel, 0, '\0', form, label, end, where);
  }
  if (const char* const key = KeyBefore(time, where.word_begin)) {
    Add(TimeShape::kAnywhere, 0, '\0', form, text(key), end, where);
    return;
  }
  if (text(where.word_begin).size() <= kMostLead) {
    Add(TimeShape::kWord, where.word, '\0', form, text(where.word_begin), end, where);
  }
  const char* mark = time;  // the first byte of the punctuation before the time
  while (mark != where.word_begin && !IsLetterOrDigit(mark[-1])) --mark;
  if (mark != time || time == where.word_begin) {
    Add(TimeShape::kAnywhere, 0, '\0', form, text(mark), end, where);
  }
  constexpr unsigned kMostColumns = 40;
  for (std::size_t i = 0; i < kSeparators.size(); ++i) {
    if (where.columns[i] == 0 || where.columns[i] > kMostColumns) continue;
    const char* from = where.after[i];
    while (from != time && *from == ' ') ++from;
    if (text(from).size() > 2) continue;
    Add(TimeShape::kColumn, where.columns[i], kSeparators[i], form, text(from), end, where);
  }
}

void TimeFinder::Add(TimeShape::Place place, unsigned count, char separator, std::size_t form, std::string_view lead,
                     const char* end, const Where& where) {
  Found& found = found_[{place, count, separator, form, lead}];
  if (found.lines[where.line]) return;
  found.lines.set(where.line);
  found.at += static_cast<std::uint64_t>(where.time - where.begin);
  found.size += static_cast<std::uint64_t>(end - where.time);
}

}  // namespace gpusort

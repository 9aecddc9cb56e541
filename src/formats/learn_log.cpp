// Learns the forms of the times of an input from its first lines (LearnLog). Each line of a sample is searched for
// times of all forms. Each time that is found adds candidates. A candidate is a form and a place in the line. The
// candidate that most lines have is chosen.
#include <algorithm>
#include <array>
#include <bitset>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/gnu_quote.hpp"
#include "base/text.hpp"
#include "formats/log_fields.hpp"
#include "formats/log_forms.hpp"
#include "formats/log_times.hpp"

namespace gpusort {
namespace {

constexpr std::size_t kMostLines = 400;
constexpr std::size_t kMostFront = RecordFormat::kFrontBytes;
constexpr std::size_t kMostSearched = 400;  ///< how many bytes of a line are searched
constexpr unsigned kMostColumns = 40;

using LineSet = std::bitset<kMostLines>;

/// The lines of an input that are searched for times.
struct Sample {
  std::vector<std::string_view> lines;
  std::vector<std::string_view> all;  ///< all lines of the first bytes that can have a time
  LineSet after_blank;                ///< the lines with an empty line before them
  bool indented = false;              ///< lines that begin with a blank can have a time
};

/// Takes the lines of `front` that do not begin with a blank, are not empty, and have no NUL. If all lines begin with a
/// blank, or `any_line` is true, also takes lines that begin with a blank. If there are many lines, takes the first
/// ones, and others at equal distances.
Sample SampleOf(std::string_view front, bool any_line) {
  if (front.size() >= kMostFront) {
    front = front.substr(0, kMostFront);
    if (const std::size_t end = front.rfind('\n'); end != front.npos) front = front.substr(0, end + 1);
  }
  struct Kind {
    std::vector<std::string_view> lines;
    std::vector<bool> after_blank;
  } kinds[2];
  bool blank = false;
  while (!front.empty()) {
    std::string_view line = front.substr(0, front.find('\n'));
    front.remove_prefix(std::min(front.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    const bool empty = line.empty();
    if (!empty && line.find('\0') == line.npos) {
      Kind& kind = kinds[!any_line && IsBlankChar(line[0]) && line.find_first_not_of(" \t") != line.npos ? 1 : 0];
      kind.lines.push_back(line);
      kind.after_blank.push_back(blank);
    }
    blank = empty;
  }
  Sample sample;
  Kind& kind = kinds[kinds[0].lines.empty()];
  sample.indented = any_line || kinds[0].lines.empty();
  const std::size_t count = kind.lines.size();
  for (std::size_t i = 0; i < std::min(count, kMostLines); ++i) {
    constexpr std::size_t kHalf = kMostLines / 2;
    const std::size_t at =
        count <= kMostLines || i < kHalf ? i : kHalf + (i - kHalf) * (count - kHalf) / (kMostLines - kHalf);
    sample.lines.push_back(kind.lines[at]);
    sample.after_blank[i] = kind.after_blank[at];
  }
  sample.all = std::move(kind.lines);
  return sample;
}

/// Returns true if a field of this name can be a number of seconds since 1970.
bool IsTimeName(std::string_view name) {
  const std::string lower = LowerText(name);
  for (const std::string_view part : {"time", "date", "stamp", "epoch"}) {
    if (lower.find(part) != lower.npos) return true;
  }
  return lower == "ts" || lower == "t" || lower == "@t" || lower.ends_with("_ts") || lower.ends_with("at");
}

constexpr std::string_view kAudit = "audit(";  ///< precedes the times of the Linux audit system

std::string ShownLine(std::string_view line) {
  constexpr std::size_t kMost = 100;
  return QuoteFront(line, kMost);
}

/// A form of times at a place in the line, and the lines of the sample that have a time of the form there.
struct Candidate {
  TimeShape shape;
  std::size_t form = 0;
  LineSet lines;
  std::uint64_t at = 0, size = 0;  ///< sums over the lines: the offset of the time, and its size
  bool refused = false, dropped = false;

  /// Returns true if the text before the time names it, as a key names its value. The place is then certain in all
  /// lines.
  bool named() const { return shape.place == TimeShape::kAnywhere && shape.lead.size() > 1 && shape.lead[0] != '['; }
  /// Returns the name before the time: "ts" of ts= and <ts>.
  std::string_view name() const {
    std::string_view name = named() ? shape.lead : std::string_view();
    while (!name.empty() && !IsLetterOrDigit(name.front()) && name.front() != '@') name.remove_prefix(1);
    while (!name.empty() && !IsLetterOrDigit(name.back())) name.remove_suffix(1);
    return name;
  }
  /// Returns true if the text before the time names a time, as in ts= and <time>.
  bool names_time() const { return IsTimeName(name()) || shape.lead == kAudit; }
  /// Returns true if the text before the time names something else than a time, as in <id> and pid=.
  bool names_number() const {
    constexpr std::string_view kEnds[] = {"id", "number", "count", "size", "bytes", "port", "seq", "key", "phone"};
    const std::string lower = LowerText(name());
    const bool number = std::ranges::any_of(kEnds, [&](std::string_view end) { return lower.ends_with(end); });
    return !name().empty() && !names_time() && (number || shape.lead.starts_with('<'));
  }
  /// Returns true if only `lead` can stand before the time in a line.
  bool at_front() const {
    return shape.place != TimeShape::kLabel && at == lines.count() * shape.lead.size() &&
           shape.lead.find(' ') == shape.lead.npos;
  }
};

/// Searches lines for times.
class Finder {
 public:
  explicit Finder(const std::vector<TimeForm>& forms, TimeShape::Kind kind, bool indented)
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

  /// Adds candidates for the times in a line of the sample.
  void Search(std::size_t number, std::string_view text) {
    Walk(text, [&](std::size_t form, const char* end, const TimeParts&, Where& where) {
      where.line = number;
      AddPlaces(form, end, where);
    });
  }

  /// Where a time was found in a line.
  static constexpr std::string_view kSeparators = ",;|\t";
  struct Where {
    std::size_t line;
    const char* begin;  ///< the beginning of the line
    const char* word_begin;
    const char* time;
    unsigned word;                                     ///< the number of words before this word
    std::array<unsigned, kSeparators.size()> columns;  ///< for each separator, how often it occurred in the line so far
    std::array<const char*, kSeparators.size()> after;  ///< for each separator, the byte after its last occurrence
  };

  /// Calls take(form, end, parts, where) for each time in a line. `end` is the end of the time.
  template <typename Take>
  void Walk(std::string_view text, Take take) {
    const TextReader all{text.data(), text.data() + text.size()};
    TextReader line = all;
    while (indented_ && !line.done() && IsBlankChar(*line.at)) ++line.at;
    SkipFront(line);
    const char* const last = std::min(line.end, line.at + kMostSearched);
    Where where{0, line.at, line.at, line.at, 0, {}, {}};
    for (const char* p = line.at; p < last && where.word <= kMostWords;) {
      if (IsBlankChar(*p)) {
        if (p > line.at && p[-1] == '[') Try(blanks_, TextReader{p, line.end}, where, take);
        for (; p != line.end && IsBlankChar(*p); ++p) Separator(*p, p, where);
        ++where.word;
        TextReader word{p, line.end};
        SkipColours(word);
        where.word_begin = p = word.at;
        continue;
      }
      const char* end = nullptr;
      if (const std::vector<std::size_t>* const forms = FormsAt(p, line)) {
        end = Try(*forms, TextReader{p, line.end}, where, take);
      }
      if (end != nullptr) {
        for (; p != end; ++p) {
          if (!IsBlankChar(*p)) continue;
          while (p + 1 != end && IsBlankChar(p[1])) ++p;
          ++where.word;
          where.word_begin = p + 1;
        }
        continue;
      }
      Separator(*p, p, where);
      ++p;
    }
  }

  std::vector<Candidate> Candidates() {
    std::vector<Candidate> candidates;
    for (auto& [key, found] : found_) {
      Candidate& candidate = candidates.emplace_back();
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

 private:
  struct Found {
    LineSet lines;
    std::uint64_t at = 0, size = 0;
  };

  static void Separator(char c, const char* p, Where& where) {
    const std::size_t separator = kSeparators.find(c);
    if (separator == kSeparators.npos) return;
    ++where.columns[separator];
    where.after[separator] = p + 1;
  }

  /// Returns the forms that a time at `p` can have, or null if no time can begin there.
  const std::vector<std::size_t>* FormsAt(const char* p, const TextReader& line) {
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

  /// Returns true if an escape sequence for a colour ends before `p`.
  static bool ColourBefore(const char* p, const char* begin) {
    const char* at = p - 1;
    while (at != begin && (IsDigit(at[-1]) || at[-1] == ';')) --at;
    return at != begin && at[-1] == '[' && at - 1 != begin && at[-2] == '\x1b';
  }

  /// Calls take() for the times that begin at `reader`. Returns the end of the longest time, or null.
  template <typename Take>
  const char* Try(const std::vector<std::size_t>& forms, const TextReader& reader, Where& where, Take take) {
    const char* end = nullptr;
    for (const std::size_t form : forms) {
      TextReader time = reader;
      TimeParts parts;
      if (!TakeWholeTime(kind_, forms_[form].format, time, parts)) continue;
      if (!parts.instant()) continue;
      if (IsClock(forms_[form]) && time.Is(':')) continue;  // these digits and colons are an address
      where.time = reader.at;
      take(form, time.at, parts, where);
      end = std::max(end, time.at);
    }
    return end;
  }

  void AddPlaces(std::size_t form, const char* end, const Where& where) {
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
    for (std::size_t i = 0; i < kSeparators.size(); ++i) {
      if (where.columns[i] == 0 || where.columns[i] > kMostColumns) continue;
      const char* from = where.after[i];
      while (from != time && *from == ' ') ++from;
      if (text(from).size() > 2) continue;
      Add(TimeShape::kColumn, where.columns[i], kSeparators[i], form, text(from), end, where);
    }
  }

  /// Returns true if `label` names the time at which a record starts, as in "Start-Date: ".
  static bool IsStartLabel(std::string_view label) {
    constexpr std::size_t kMost = 32;
    if (label.size() > kMost || label.size() < 2 || !label.ends_with(' ')) return false;
    if (!IsLetterOrDigit(label[0]) || std::ranges::any_of(label, IsDigit)) return false;
    const std::string lower = LowerText(label);
    return lower.find("start") != lower.npos || lower.find("begin") != lower.npos;
  }

  /// Returns the beginning of the key whose value begins at `time`: of ts=, "ts":, TimeCreated=', <time> or audit(.
  /// Returns null if there is no key.
  static const char* KeyBefore(const char* time, const char* begin) {
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

  void Add(TimeShape::Place place, unsigned count, char separator, std::size_t form, std::string_view lead,
           const char* end, const Where& where) {
    Found& found = found_[{place, count, separator, form, lead}];
    if (found.lines[where.line]) return;
    found.lines.set(where.line);
    found.at += static_cast<std::uint64_t>(where.time - where.begin);
    found.size += static_cast<std::uint64_t>(end - where.time);
  }

  const std::vector<TimeForm>& forms_;
  const TimeShape::Kind kind_;
  const bool indented_;
  std::vector<FormFront> fronts_;
  std::array<std::vector<std::size_t>, 20> by_run_;
  std::vector<std::size_t> months_, weekdays_, capitals_, zones_, tai_, blanks_, given_, chosen_;
  std::map<std::tuple<TimeShape::Place, unsigned, char, std::size_t, std::string_view>, Found> found_;
};

/// Finds the members of JSON Lines that hold times.
class MemberFinder {
 public:
  explicit MemberFinder(const std::vector<TimeForm>& forms) : forms_(forms) {}

  void Search(std::size_t number, std::string_view line) {
    line_ = number;
    reader_ = {line.data(), line.data() + line.size()};
    path_.clear();
    if (reader_.Take('{')) Object(0);
  }

  /// A member, the form of its times, and the lines that have a time in it.
  struct Member {
    std::string path;
    const TimeForm* form = nullptr;  ///< null: ParseInstant() reads the times
    LineSet lines;
    std::size_t rank = 0;
  };
  const std::vector<Member>& members() const { return members_; }
  /// The usual names of members for the time of a record, the best first.
  static constexpr std::string_view kNames[] = {"/time",
                                                "/ts",
                                                "/timestamp",
                                                "/@timestamp",
                                                "/t/$date",
                                                "/date",
                                                "/t",
                                                "/datetime",
                                                "/__REALTIME_TIMESTAMP",
                                                "/@t",
                                                "/Time",
                                                "/time_local",
                                                "/eventTime",
                                                "/asctime",
                                                "/instant/epochSecond",
                                                "/timestamp/seconds"};

 private:
  static constexpr std::size_t kMostDepth = 3, kMostMembers = 200;

  void SkipBlanks() {
    while (reader_.Is(' ') || reader_.Is('\t')) ++reader_.at;
  }
  /// Reads a string, after its first quote was read.
  std::string_view String() {
    const char* const begin = reader_.at;
    while (!reader_.done() && *reader_.at != '"')
      reader_.at += *reader_.at == '\\' && reader_.at + 1 != reader_.end ? 2 : 1;
    const std::string_view text(begin, static_cast<std::size_t>(reader_.at - begin));
    reader_.Take('"');
    return text;
  }
  /// Skips an array or an object, after its opening bracket was read.
  void Skip() {
    for (unsigned depth = 1; depth > 0 && !reader_.done();) {
      const char c = *reader_.at++;
      if (c == '"') String();
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
    }
  }
  void Object(std::size_t depth) {
    for (;;) {
      SkipBlanks();
      if (!reader_.Take('"')) {
        reader_.Take('}');
        return;
      }
      const std::string_view name = String();
      SkipBlanks();
      if (!reader_.Take(':')) return;
      SkipBlanks();
      Value(name, depth);
      SkipBlanks();
      if (!reader_.Take(',')) {
        reader_.Take('}');
        return;
      }
    }
  }
  void Value(std::string_view name, std::size_t depth) {
    const std::size_t size = path_.size();
    path_ += '/';
    for (const char c : name) path_ += c == '~' ? "~0" : c == '/' ? "~1" : std::string{c};
    if (reader_.Take('"')) {
      Time(name, String(), true);
    } else if (reader_.Take('{')) {
      if (depth + 1 < kMostDepth) {
        Object(depth + 1);
      } else {
        Skip();
      }
    } else if (reader_.Take('[')) {
      Skip();
    } else {
      const char* const begin = reader_.at;
      while (!reader_.done() && *reader_.at != ',' && *reader_.at != '}' && !IsBlankChar(*reader_.at)) ++reader_.at;
      Time(name, {begin, static_cast<std::size_t>(reader_.at - begin)}, false);
    }
    path_.resize(size);
  }

  void Time(std::string_view name, std::string_view text, bool is_string) {
    constexpr std::size_t kLeast = 10, kMost = 48;
    if (text.size() < kLeast || text.size() > kMost || name.find('\\') != name.npos) return;
    const TimeForm* form = nullptr;
    TextReader number{text.data(), text.data() + text.size()};
    const bool count = number.digits() == text.size() || !is_string;
    if (count) {
      TimeParts parts;
      // The parts of {"timestamp":{"seconds":1795471801,"nanos":5000000}} are named by the object that contains them.
      constexpr std::string_view kSeconds = "/seconds";
      std::string_view named = name;
      if (std::string_view(path_).ends_with(kSeconds)) {
        named = std::string_view(path_).substr(0, path_.size() - kSeconds.size());
        named = named.substr(named.rfind('/') + 1);
      }
      if (!IsTimeName(named) || !TakeLogTime("%N%f", number, parts) || !number.done()) return;
    } else if (!IsDigit(text[0]) || !ParseInstant(text)) {
      for (const TimeForm& known : forms_) {
        if (known.refusal != nullptr || IsCount(known) || IsClock(known)) continue;
        TextReader reader = TextReader::Trimmed(text);
        TimeParts parts;
        if (!TakeWholeTime(TimeShape::kKnown, known.format, reader, parts) || !reader.done() || !parts.instant())
          continue;
        form = &known;
        break;
      }
      if (form == nullptr) return;
    } else if (number.digits() == text.find_first_of(".,")) {
      return;  // the text is a number with a fraction
    }
    auto member = std::ranges::find_if(members_, [&](const Member& of) { return of.path == path_ && of.form == form; });
    if (member == members_.end()) {
      if (members_.size() == kMostMembers) return;
      member = members_.insert(members_.end(), {path_, form, {}, Rank(path_)});
    }
    member->lines.set(line_);
  }

  /// Returns the rank of the member's name in kNames. A low rank is better.
  static std::size_t Rank(std::string_view path) {
    return static_cast<std::size_t>(std::ranges::find(kNames, path) - std::begin(kNames));
  }

  const std::vector<TimeForm>& forms_;
  std::size_t line_ = 0;
  TextReader reader_{};
  std::string path_;
  std::vector<Member> members_;
};

/// Returns the first `words` words of a line, with the blanks before and after them.
std::string_view FirstWords(std::string_view line, unsigned words) {
  constexpr std::string_view kBlanks = " \t";
  std::size_t at = std::min(line.find_first_not_of(kBlanks), line.size());
  for (; words > 0; --words) {
    at = std::min(line.find_first_of(kBlanks, at), line.size());
    at = std::min(line.find_first_not_of(kBlanks, at), line.size());
  }
  return line.substr(0, at);
}

/// Learns the forms of one input.
class Learner {
 public:
  /// If `groups` is true, the lines of the sample are texts that a group of a regular expression matched. They begin
  /// with times.
  Learner(Sample sample, const LogForms& allowed, std::int64_t latest, bool groups)
      : given_(!allowed.times.empty()),
        groups_(groups),
        sample_(std::move(sample)),
        log_(std::make_shared<LogTimes>()) {
    log_->latest = latest;
    for (const std::string& format : allowed.times) forms_.push_back({"--time", format.c_str()});
    if (!given_) forms_.assign(KnownForms().begin(), KnownForms().end());
    for (TimeForm& form : forms_) {
      if (!given_ && IsClock(form) && allowed.dated) form.refusal = nullptr;
    }
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      rest_.set(i);
      w3c_ = w3c_ || sample_.lines[i].starts_with("#Fields:");
    }
  }

  std::shared_ptr<const LogTimes> Learn() {
    const std::size_t lines = sample_.lines.size();
    if (lines == 0) return log_;  // all lines are blank
    if (!given_ && !groups_) TakeMembers();
    Finder finder(forms_, given_ ? TimeShape::kGiven : TimeShape::kKnown, sample_.indented);
    for (std::size_t i = 0; i < lines; ++i) {
      if (!found_[i] && !(w3c_ && sample_.lines[i][0] == '#')) finder.Search(i, sample_.lines[i]);
    }
    candidates_ = finder.Candidates();
    if (groups_) std::erase_if(candidates_, [](const Candidate& candidate) { return !candidate.at_front(); });
    if (!given_) {
      ResolveGroups();
      RefuseLateTimes();
      RefuseNumbers();
    }
    TakeBest();
    Count();
    const Candidate* const refused = Best(true);
    if (log_->shapes.empty() || !Enough()) {
      Refuse(refused != nullptr && 2 * refused->lines.count() >= log_->looked ? refused : nullptr);
    }
    if (refused != nullptr && !given_) {
      // An error, because more lines have times that cannot be used, or because many other lines begin with such a
      // time.
      const std::size_t more = (refused->lines & ~found_).count();
      if (10 * refused->lines.count() >= 11 * found_.count() ||
          ((refused->at_front() || refused->shape.lead == "[") && forms_[refused->form].group != 0 &&
           kFew * more >= lines)) {
        Refuse(refused);
      }
    }
    RefuseClocks();
    return log_;
  }

 private:
  // A form counts as part of the text if fewer lines than one in kRare have it. If there is another form, this also
  // holds for a form that fewer lines than one in kFew have, unless it is at the front of the line.
  static constexpr std::size_t kRare = 50, kFew = 10, kQuarter = 4;

  bool half() const { return 2 * log_->matched >= log_->looked; }

  void TakeMembers() {
    MemberFinder finder(forms_);
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      const std::string_view object = JsonObjectOf(sample_.lines[i]);
      if (object.starts_with('{')) finder.Search(i, object);
    }
    for (;;) {
      const MemberFinder::Member* best = nullptr;
      std::size_t most = 0;
      for (const MemberFinder::Member& member : finder.members()) {
        const std::size_t count = (member.lines & ~found_).count();
        // Objects in the text of other records rarely use the usual names.
        const bool usual = member.rank < std::size(MemberFinder::kNames) || sample_.lines[0].starts_with('{');
        if (!usual && 4 * count < 3 * sample_.lines.size()) continue;
        if (count > most || (count == most && best != nullptr && member.rank < best->rank)) {
          best = &member;
          most = count;
        }
      }
      if (best == nullptr || most == 0 || kRare * most < sample_.lines.size()) return;
      TimeShape shape;
      shape.kind = TimeShape::kJson;
      shape.member = best->path;
      shape.name = "JSON Lines, member " + best->path.substr(1);
      if (best->form != nullptr) {
        shape.format = best->form->format;
        shape.name += ", " + std::string(best->form->name);
      }
      log_->shapes.push_back(shape);
      found_ |= best->lines;
    }
  }

  /// Returns the seconds since 1970 of the candidate's time in a line that has it.
  std::int64_t SecondsIn(const Candidate& candidate, std::size_t line) const {
    return SecondsIn(candidate.shape, line);
  }
  std::int64_t SecondsIn(const TimeShape& shape, std::size_t line) const {
    TimeParts parts;
    if (TakeShape(shape, sample_.lines[line], parts) == nullptr) return 0;
    const std::optional<Instant> instant = InstantOf(parts, log_->latest);
    return instant ? instant->seconds : 0;
  }

  /// Uses a form of a group if some text is no time in all other forms of the group.
  void ResolveGroups() {
    for (Candidate& candidate : candidates_) {
      const unsigned group = forms_[candidate.form].group;
      if (group == 0) continue;
      bool known = true;
      for (const Candidate& other : candidates_) {
        if (&other == &candidate || forms_[other.form].group != group || !SamePlace(candidate, other)) continue;
        known = known && (candidate.lines & other.lines) == other.lines &&
                (candidate.lines != other.lines || ShownByAll(candidate, other) || ShownByDates(candidate, other));
      }
      if (!known) continue;
      candidate.refused = false;
      resolved_.push_back(candidate.form);
    }
  }

  static bool SamePlace(const Candidate& a, const Candidate& b) {
    return a.shape.place == b.shape.place && a.shape.count == b.shape.count && a.shape.separator == b.shape.separator &&
           a.shape.lead == b.shape.lead;
  }

  /// Returns true if some line of the whole input front is a time only in `candidate`, and no line is a time only in
  /// `other`.
  bool ShownByAll(const Candidate& candidate, const Candidate& other) const {
    bool shown = false;
    if (sample_.all.size() == sample_.lines.size()) return false;
    for (const std::string_view line : sample_.all) {
      const auto reads = [&](const Candidate& by) {
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
  bool ShownByDates(const Candidate& candidate, const Candidate& other) const {
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
        const std::int64_t seconds = SecondsIn(*of, i);
        dates->first = std::min(dates->first, seconds);
        dates->last = std::max(dates->last, seconds);
        dates->days.insert(seconds / kDay);
        dates->back += seconds < before;
        before = seconds;
      }
    }
    if (right.last <= log_->latest && wrong.last > log_->latest) return true;
    const std::int64_t right_span = right.last - right.first, wrong_span = wrong.last - wrong.first;
    if (right.days.size() > 1 && right.back * 10 <= candidate.lines.count() && wrong_span > kYear * 9 / 10 &&
        right_span < wrong_span / kSteps) {
      return true;
    }
    constexpr std::int64_t kLately = 400 * kDay;
    const bool wrong_is_recent = wrong.last <= log_->latest && wrong.last > log_->latest - kLately;
    return right.last <= log_->latest && right.back * 10 <= candidate.lines.count() &&
           (right.last > log_->latest - kLately || !wrong_is_recent) && IsOfHadoop(candidate);
  }

  /// Returns true if the year stands first in the candidate's form, and the lines resemble those of Apache Hadoop or
  /// Spark. Both write the level and the last parts of the name of a class after the time: "26/11/23 22:10:01 INFO
  /// mapred.JobClient: text".
  bool IsOfHadoop(const Candidate& candidate) const {
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
  void RefuseLateTimes() {
    if (w3c_) return;
    const std::size_t paragraphs = sample_.after_blank.count();
    for (Candidate& candidate : candidates_) {
      const std::size_t count = candidate.lines.count();
      std::size_t timed = 0;  // the number of paragraphs that have a time of the candidate
      bool counted = false;
      for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
        counted = counted && !sample_.after_blank[i];
        timed += candidate.lines[i] && !std::exchange(counted, true);
      }
      if (candidate.lines[0] || count < 2 || 10 * std::max(timed, paragraphs) < 7 * count) continue;
      if (10 * (candidate.lines & sample_.after_blank).count() > 3 * count) continue;
      late_ = late_ || !candidate.refused;
      candidate.dropped = true;
    }
    std::erase_if(candidates_, [](const Candidate& candidate) { return candidate.dropped; });
  }

  /// Returns true if nine of ten lines of `numbers` have no other time, and their numbers mean the same days as the
  /// lines of `times`. Merged logs have such lines.
  bool AreOfSameDays(const Candidate& numbers, const Candidate& times) const {
    constexpr std::int64_t kDay = 86400;
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (!times.lines[i]) continue;
      first = std::min(first, SecondsIn(times, i) - kDay);
      last = std::max(last, SecondsIn(times, i) + kDay);
    }
    std::size_t same = 0;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (!numbers.lines[i] || times.lines[i]) continue;
      const std::int64_t seconds = SecondsIn(numbers, i);
      same += first <= seconds && seconds <= last;
    }
    return 10 * same >= 9 * numbers.lines.count();
  }

  /// Returns true if the numbers are dates without separators, from month to year, most of them in the same year (errpt
  /// of AIX).
  bool IsOfErrpt(const Candidate& numbers) const {
    constexpr std::size_t kLeast = 3;
    const auto dates = std::ranges::find_if(candidates_, [&](const Candidate& other) {
      return &other != &numbers && forms_[other.form].refusal != nullptr && IsCount(forms_[other.form]) &&
             SamePlace(numbers, other) && other.lines == numbers.lines;
    });
    if (dates == candidates_.end() || numbers.lines.count() < kLeast) return false;
    std::map<unsigned, std::size_t> years;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      TimeParts parts;
      if (dates->lines[i] && TakeShape(dates->shape, sample_.lines[i], parts) != nullptr) ++years[parts.year];
    }
    return std::ranges::any_of(years, [&](const auto& year) { return 10 * year.second >= 9 * numbers.lines.count(); });
  }

  /// Refuses numbers that are more likely IDs than seconds since 1970. Such numbers do not grow from line to line. They
  /// also agree with no other time in the same line or, in a merged log, in the other lines.
  void RefuseNumbers() {
    const Candidate* strong = nullptr;
    for (const Candidate& candidate : candidates_) {
      if (candidate.refused || IsCount(forms_[candidate.form])) continue;
      if (strong == nullptr || candidate.lines.count() > strong->lines.count()) strong = &candidate;
    }
    for (Candidate& candidate : candidates_) {
      if (!IsCount(forms_[candidate.form]) || candidate.refused) continue;
      if (IsOfErrpt(candidate)) {
        candidate.dropped = true;
        continue;
      }
      std::size_t grows = 0, pairs = 0, agrees = 0, both = 0;
      std::int64_t before = 0;
      for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
        if (!candidate.lines[i]) continue;
        const std::int64_t seconds = SecondsIn(candidate, i);
        if (before != 0) {
          ++pairs;
          constexpr std::int64_t kNear = 3600;
          grows += seconds >= before && seconds <= log_->latest + kNear * 24;
          grows += seconds < before && before - seconds < kNear;
        }
        before = seconds;
        if (strong != nullptr && strong->lines[i]) {
          constexpr std::int64_t kZones = 15 * 3600, kYear = 31556952;
          const std::int64_t apart = std::abs(SecondsIn(*strong, i) - seconds);
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
    std::erase_if(candidates_, [](const Candidate& candidate) { return candidate.dropped; });
  }

  /// Returns true if the times are values of SQL, as in "(1,'2026-11-23 22:10:01')". Such a row belongs to the
  /// statement in the lines before it.
  static bool IsQuoted(const Candidate& candidate) {
    const std::string_view lead = candidate.shape.lead;
    const bool named = candidate.shape.place == TimeShape::kAnywhere && std::ranges::any_of(lead, IsLetterOrDigit);
    return lead.ends_with('\'') && !named;
  }

  /// Returns how many of `lines` have the candidate, times 100. The result is smaller if the place is less certain.
  std::size_t Worth(const Candidate& candidate, const LineSet& lines) const {
    const std::size_t count = (candidate.lines & lines).count();
    if (IsQuoted(candidate)) return count * 20;
    if (candidate.shape.place == TimeShape::kColumn) return count * 97;
    if (candidate.shape.place == TimeShape::kAnywhere && !candidate.named()) {
      return IsCommon(candidate) ? count * 101 : count * 75 - std::min<std::size_t>(count, 1) * 50;
    }
    // Such a record has one line with the time of its start and one line with the time of its end, so it counts twice.
    if (candidate.shape.place == TimeShape::kLabel) return count * 210;
    return count * 100;
  }

  /// Returns the best candidate for the lines that have no time yet, or null if there is none. If `refused` is true,
  /// returns the best refused candidate for all lines.
  const Candidate* Best(bool refused) const {
    const Candidate* best = nullptr;
    LineSet lines = refused ? rest_ : rest_ & ~found_;
    if (!refused && log_->shapes.empty()) lines &= ~CopiedLines();
    std::size_t most = 0;
    for (const Candidate& candidate : candidates_) {
      if (candidate.refused != refused) continue;
      const std::size_t worth = Worth(candidate, lines);
      if (worth == 0 || (!refused && !Joins(candidate, lines))) continue;
      if (best != nullptr && (worth < most || (worth == most && !IsBefore(candidate, *best)))) continue;
      best = &candidate;
      most = worth;
    }
    if (best == nullptr || refused || !log_->shapes.empty() || given_) return best;
    // If the best candidate is a web server's time inside the line, a time at the front of the lines is better. A
    // program that collects logs has put it there.
    for (const Candidate& candidate : candidates_) {
      if (candidate.refused || !IsCommon(*best) || !candidate.at_front() || IsCount(forms_[candidate.form])) continue;
      if ((best->lines & lines & ~candidate.lines).none() && Varies(candidate)) return &candidate;
    }
    // If the input begins with a time at the front of a line, times in the middle of lines are part of the text, such
    // as the columns of a table.
    for (const Candidate& candidate : candidates_) {
      if (best->at_front() && best->shape.lead.size() <= 1) break;
      if (IsCommon(*best) || candidate.refused || !candidate.lines[0] || IsCount(forms_[candidate.form])) continue;
      if (!candidate.at_front() || candidate.shape.lead.size() > 1) continue;
      if (best->lines[0] && candidate.form != best->form) continue;
      if (kQuarter * candidate.lines.count() >= best->lines.count() && Varies(candidate)) return &candidate;
    }
    // A time that is the same in all lines is part of a file name or the start of a program. Another time that varies
    // is better.
    for (const Candidate& candidate : candidates_) {
      if (candidate.refused || &candidate == best || 10 * Worth(candidate, lines) < 9 * most) continue;
      if (!Varies(*best) && Varies(candidate)) return &candidate;
    }
    return best;
  }

  /// Returns true if the lines of the candidate consist only of the time.
  bool FillsLines(const Candidate& candidate) const {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (candidate.lines[i]) bytes += sample_.lines[i].size();
    }
    return bytes == candidate.at + candidate.size;
  }

  bool Varies(const Candidate& candidate) const {
    constexpr std::size_t kLeast = 5;
    if (candidate.lines.count() < kLeast) return true;
    std::optional<std::int64_t> first;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (!candidate.lines[i]) continue;
      const std::int64_t seconds = SecondsIn(candidate, i);
      if (first && *first != seconds) return true;
      first = seconds;
    }
    return false;
  }

  /// Returns true if `a` is better than `b`; equally many lines must have them. The candidate further to the left is
  /// better. If both are at the same place, the longer one is better.
  bool IsBefore(const Candidate& a, const Candidate& b) const {
    const std::uint64_t a_count = a.lines.count(), b_count = b.lines.count();
    if (a.at * b_count != b.at * a_count) return a.at * b_count < b.at * a_count;
    if (a.size * b_count != b.size * a_count) return a.size * b_count > b.size * a_count;
    // A user name before the time of a web log can have blanks.
    if (IsCommon(a) && IsCommon(b)) return a.shape.place > b.shape.place;
    return a.shape.place < b.shape.place;
  }
  bool IsCommon(const Candidate& candidate) const {
    return std::string_view(forms_[candidate.form].format).starts_with("%d/%b/%Y");
  }

  /// Returns the features in which the texts before times are alike: the kind of the first byte, and the punctuation at
  /// the end of the last word. Without punctuation, the feature is the last word.
  static std::string LikenessOf(std::string_view before) {
    before = before.substr(0, before.find_last_not_of(" \t") + 1);
    if (before.empty()) return {};
    const char first = before[0], last = before.back();
    std::string likeness{IsDigit(first) ? '0' : IsLetterOrDigit(first) ? 'a' : first};
    if (!IsLetterOrDigit(last)) return likeness += last;
    return likeness += before.substr(before.find_last_of(" \t") + 1);
  }

  /// Returns true if the text before the candidate's times resembles the text before the times that were found in the
  /// same form. Such texts are names of threads with different numbers of words.
  bool IsAlikeBefore(const Candidate& candidate, const LineSet& lines) const {
    if (candidate.shape.place != TimeShape::kWord || candidate.shape.count == 0) return false;
    if (std::ranges::any_of(candidate.shape.lead, IsLetterOrDigit)) return false;
    std::set<std::string> known;
    for (const TimeShape& shape : log_->shapes) {
      if (shape.place != TimeShape::kWord || shape.format != candidate.shape.format) continue;
      for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
        TimeParts parts;
        if (!found_[i] || TakeShape(shape, sample_.lines[i], parts) == nullptr) continue;
        known.insert(LikenessOf(FirstWords(sample_.lines[i], shape.count)));
      }
    }
    std::size_t alike = 0;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (!candidate.lines[i] || !lines[i]) continue;
      alike += known.contains(LikenessOf(FirstWords(sample_.lines[i], candidate.shape.count)));
    }
    return 10 * alike >= 9 * (candidate.lines & lines).count();
  }

  /// Returns true if the only word before the candidate's times is a UUID. FreeSWITCH and others write a UUID in the
  /// lines of a call, and none in other lines.
  bool IsAfterUuid(const Candidate& candidate, const LineSet& lines) const {
    const TimeShape& shape = candidate.shape;
    if (shape.place != TimeShape::kWord || shape.count != 1 || !shape.lead.empty()) return false;
    const auto alike = [](char c, char like) { return like == 'h' ? HexDigit(c) >= 0 : c == like; };
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (!candidate.lines[i] || !lines[i]) continue;
      constexpr std::string_view kUuid = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh ";
      if (!std::ranges::equal(FirstWords(sample_.lines[i], 1), kUuid, alike)) return false;
    }
    return true;
  }

  static bool LacksYear(const Candidate& candidate) {
    return candidate.shape.format.find_first_of("YCyNTXxE") == std::string::npos;
  }

  /// Returns true if nearly all lines have a time, and none was found at the front of a line. In this case no line
  /// continues the record of another line.
  bool AllHaveTimes() const {
    LineSet lines = found_;
    for (const Candidate& candidate : candidates_) {
      if (!candidate.refused) lines |= candidate.lines;
    }
    return !front_ && 20 * lines.count() >= 19 * sample_.lines.size();
  }

  /// Returns true if all of `lines` begin with '#'.
  bool IsComment(const LineSet& lines) const {
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (lines[i] && sample_.lines[i][0] != '#') return false;
    }
    return true;
  }

  /// Returns true if the line looks like text that a program copied into a record: a field of mail or HTTP, such as
  /// "Received: from a by b; 23 Nov 2026 22:10:01", a quoted line, a value that is set, or a row of ls -l.
  static bool IsCopied(std::string_view line) {
    constexpr std::string_view kQuotes[] = {">", ">>", "<", "->", "-->", "+", "++", "|"};
    const std::string_view first = FirstWords(line, 1), word = first.substr(0, first.find_last_not_of(" \t") + 1);
    if (std::ranges::find(kQuotes, word) != std::end(kQuotes)) return true;
    if (line.substr(first.size()).starts_with("= ")) return true;
    constexpr std::string_view kRights = "drwxsStT-l";
    if (word.size() >= kRights.size() && word.find_first_not_of("+.@", word.find_first_not_of(kRights)) == word.npos) {
      return word.find('r') != word.npos;
    }
    const std::string_view name = line.substr(0, line.find(": "));
    if (name.size() == line.size() || name.size() < 3 || IsLevelWord(name)) return false;
    const auto of_name = [](char c) { return c == '-' || c == ' ' || (IsLetterOrDigit(c) && !IsDigit(c)); };
    return name[0] >= 'A' && name[0] <= 'Z' && name[1] >= 'a' && std::ranges::all_of(name, of_name);
  }
  /// Returns the lines that were copied into the text of records, and those whose only times have other names than
  /// that of a time, as in <created>. At least a third of the lines with times must be other lines, and the first line
  /// with a time must be one. Otherwise returns no lines.
  LineSet CopiedLines() const {
    LineSet timed, named, copied;
    for (const Candidate& candidate : candidates_) {
      timed |= candidate.lines;
      if (candidate.name().empty() || candidate.names_time()) copied |= candidate.lines;
    }
    named = timed & ~copied;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i)
      copied[i] = named[i] || (timed[i] && IsCopied(sample_.lines[i]));
    const bool first = timed.any() && !copied[timed._Find_first()];
    return !given_ && !groups_ && first && 3 * (timed & ~copied).count() >= timed.count() ? copied : LineSet();
  }
  bool AreCopied(const LineSet& lines) const {
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (lines[i] && !IsCopied(sample_.lines[i])) return false;
    }
    return true;
  }

  /// Returns true if the only word before the candidate's times is a label, as in "Date: 23 Nov 2026 22:10:01".
  bool IsAfterLabel(const Candidate& candidate, const LineSet& lines) const {
    if (candidate.shape.place != TimeShape::kWord || candidate.shape.count != 1) return false;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (candidate.lines[i] && lines[i] && !FirstWords(sample_.lines[i], 1).ends_with(": ")) return false;
    }
    return true;
  }

  /// Returns true if nearly all lines have a time of the candidate's form, at places that differ. In this case no line
  /// continues the record of another line.
  bool IsFormOfAll(const Candidate& candidate) const {
    if (front_ || forms_[candidate.form].format != log_->shapes[0].format) return false;
    LineSet lines;
    for (const Candidate& other : candidates_) {
      if (other.form == candidate.form && !other.refused) lines |= other.lines;
    }
    return 20 * lines.count() >= 19 * sample_.lines.size() || lines.count() + 1 >= sample_.lines.size();
  }

  /// Returns true if the candidate may be added to the forms that were found.
  bool Joins(const Candidate& candidate, const LineSet& lines) const {
    if (log_->shapes.empty()) return true;
    const std::size_t all = sample_.lines.size(), count = (candidate.lines & lines).count();
    if (kRare * count < all || candidate.shape.place == TimeShape::kLabel) return false;
    if (IsQuoted(candidate)) return false;
    const auto alike = [&] { return IsAlikeBefore(candidate, lines) || IsAfterUuid(candidate, lines); };
    const bool named = !candidate.name().empty() && !candidate.names_time();
    if (!given_ && (named || AreCopied(candidate.lines & lines)) && !alike()) return false;
    const auto same_days = [&] {
      const auto first = std::ranges::find(candidates_, log_->shapes[0], &Candidate::shape);
      return first == candidates_.end() || given_ || LacksYear(candidate) || LacksYear(*first) ||
             AreOfSameDays(candidate, *first);
    };
    // A time after the name of an element or a key is part of the text, unless it is of the same days.
    if (candidate.at_front() && std::ranges::any_of(candidate.shape.lead, IsLetterOrDigit)) {
      return (candidate.named() || !IsCount(forms_[candidate.form])) && same_days();
    }
    if (IsComment(candidate.lines & lines) && !IsComment(found_)) return false;
    if (candidate.at_front() || given_) return true;
    if (alike() || IsFormOfAll(candidate)) return true;
    if (candidate.shape.lead == kAudit && same_days()) return true;
    if (IsCount(forms_[candidate.form])) return false;
    if (IsCommon(candidate) || (AllHaveTimes() && same_days())) return true;
    // If half of the lines have a time, the other lines continue records. A time in such a line begins a record only if
    // it is at the front of the line. If fewer lines have a time, other times begin records if they are of the same
    // days.
    if (2 * found_.count() >= all || kFew * count <= all || count < 2) return false;
    return !IsAfterLabel(candidate, lines) && same_days();
  }

  /// Returns the candidate for a first line that says when a program was started, or null if there is no such line. The
  /// output of the program can follow it in many lines.
  const Candidate* StartOfOutput() const {
    const auto found = std::ranges::find_if(candidates_, [](const Candidate& candidate) {
      return candidate.shape.place == TimeShape::kLabel && candidate.lines[0] && !candidate.refused;
    });
    return found == candidates_.end() ? nullptr : &*found;
  }

  /// Announces a further form of times that was found, if it can be a part of the text of other records.
  void AnnounceOther(const Candidate& candidate) {
    const TimeShape& shape = candidate.shape;
    const LineSet lines = rest_ & ~found_;
    if (given_ || groups_ || candidate.names_time()) return;
    const bool certain = IsCommon(candidate) || IsAlikeBefore(candidate, lines) || IsAfterUuid(candidate, lines) ||
                         IsFormOfAll(candidate);
    if (certain && candidate.name().empty() && !AreCopied(candidate.lines & lines)) return;
    constexpr std::string_view kUsualLeads = "[\"*";
    const bool usual =
        shape.lead.empty() || (shape.lead.size() == 1 && kUsualLeads.find(shape.lead) != kUsualLeads.npos);
    if (candidate.at_front() && usual && !IsCount(forms_[candidate.form])) return;
    if (std::exchange(announced_, true)) return;
    if (!log_->note.empty()) log_->note += "; ";
    log_->note += "lines such as " + ShownLine(sample_.lines[(candidate.lines & ~found_)._Find_first()]) +
                  " have times at another place than most lines and were taken for records";
  }

  void TakeBest() {
    while (const Candidate* best = Best(false)) {
      if (kRare * (best->lines & ~found_).count() < sample_.lines.size()) {
        best = log_->shapes.empty() ? StartOfOutput() : nullptr;
        if (best == nullptr) break;
      }
      log_->shapes.push_back(best->shape);
      if (std::ranges::find(resolved_, best->form) != resolved_.end()) {
        log_->note = "the times are " + best->shape.name +
                     (IsOfHadoop(*best) ? ", as in logs of Hadoop and Spark" : ", as the values of other lines show");
      }
      if (log_->shapes.size() > 1) AnnounceOther(*best);
      found_ |= best->lines;
      front_ |= best->at_front() && !best->named() && !IsCount(forms_[best->form]);
      alone_ |= best->shape.place == TimeShape::kLabel || FillsLines(*best);
      if (best->shape.place == TimeShape::kLabel) break;
    }
    if (const Candidate* const anywhere = log_->shapes.size() > 1 ? FrontOfWord() : nullptr) {
      log_->shapes.push_back(anywhere->shape);
    }
    JoinWords();
    // The extended log format of the W3C, as IIS writes it, is in UTC. The firewall of Windows writes local times.
    const bool local = std::ranges::any_of(
        sample_.lines, [](std::string_view line) { return line.starts_with("#Time Format: Local"); });
    const bool w3c = !local && std::ranges::any_of(sample_.lines, [](std::string_view line) {
      return line.starts_with("#Fields:") && line.find("time") != line.npos && line.find("-local") == line.npos;
    });
    for (TimeShape& shape : log_->shapes) {
      shape.utc = w3c && shape.place == TimeShape::kWord && shape.count == 0 && shape.format == KnownForms()[0].format;
    }
  }

  /// If all shapes have one form, and all lines have it, returns the candidate whose times begin any word.
  const Candidate* FrontOfWord() const {
    for (const Candidate& candidate : candidates_) {
      const TimeShape& shape = candidate.shape;
      if (shape.place != TimeShape::kAnywhere || !shape.lead.empty() || candidate.refused) continue;
      if (IsCount(forms_[candidate.form]) || !IsFormOfAll(candidate)) continue;
      const auto same = [&](const TimeShape& found) { return found.format == shape.format && found != shape; };
      if (std::ranges::all_of(log_->shapes, same)) return &candidate;
    }
    return nullptr;
  }

  /// Joins the places of times of one form that come after different numbers of words. All these words must end with
  /// the same punctuation and a blank. The joined place is the place after this punctuation.
  void JoinWords() {
    std::vector<TimeShape>& shapes = log_->shapes;
    if (shapes.size() < 2 || given_ || groups_) return;
    std::set<std::string> ends;
    for (const TimeShape& shape : shapes) {
      if (shape.kind != TimeShape::kKnown || shape.place != TimeShape::kWord || shape.count == 0) return;
      if (shape.format != shapes[0].format || !shape.lead.empty()) return;
      for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
        TimeParts parts;
        if (TakeShape(shape, sample_.lines[i], parts) == nullptr) continue;
        const std::string_view before = FirstWords(sample_.lines[i], shape.count);
        ends.emplace(before.substr(before.size() - std::min<std::size_t>(before.size(), 2)));
      }
    }
    const std::string& end = *ends.begin();
    if (ends.size() > 1 || end.size() < 2 || IsLetterOrDigit(end[0]) || end[1] != ' ') return;
    shapes.resize(1);
    shapes[0].place = TimeShape::kAnywhere;
    shapes[0].count = 0;
    shapes[0].lead = end;
  }

  /// Counts the lines of the sample that can have a time, without comments, and the lines that have one.
  void Count() {
    log_->matched = found_.count();
    log_->looked = 0;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      log_->looked += found_[i] || sample_.lines[i][0] != '#';
    }
    if (log_->matched == 0) log_->looked = sample_.lines.size();
  }

  bool Enough() const {
    if (log_->matched == 0) return false;
    if (given_ || groups_ || half()) return true;
    // Long stack traces can have more lines than there are times. If the input begins with a time, it is still a log.
    std::size_t first = 0;
    while (first + 1 < sample_.lines.size() && !found_[first] && sample_.lines[first][0] == '#') ++first;
    if (found_[first]) return alone_ || kFew * log_->matched >= log_->looked;
    // The first record of a rotated log can lack its beginning. The input is a log if the other lines have nothing that
    // looks like a time.
    LineSet others;
    for (const Candidate& candidate : candidates_) others |= candidate.lines & ~found_;
    // A description of the columns can precede the records.
    while (!found_[first] && !others[first]) ++first;
    if (log_->matched > 2 && 10 * log_->matched >= 9 * (sample_.lines.size() - first)) return true;
    return (front_ && log_->matched > 1 && kQuarter * log_->matched >= log_->looked &&
            (kFew * others.count() <= log_->looked || others.count() <= 2)) ||
           (kFew * log_->matched >= log_->looked && Grow());
  }

  /// Returns true if the places of the times are certain, most times are not earlier than the time before, and no
  /// record begins before the line that has its time.
  bool Grow() const {
    constexpr std::size_t kLeast = 3;
    std::size_t pairs = 0, grow = 0;
    std::optional<std::int64_t> before;
    for (const TimeShape& shape : log_->shapes) {
      if (shape.kind != TimeShape::kKnown || shape.format.starts_with("%N")) return false;
      if (shape.place == TimeShape::kAnywhere && shape.lead.size() < 2) return false;
    }
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      std::int64_t seconds = 0;
      for (const TimeShape& shape : log_->shapes) {
        if (seconds == 0 && found_[i]) seconds = SecondsIn(shape, i);
      }
      if (seconds == 0) continue;
      pairs += before.has_value();
      grow += before && *before <= seconds;
      before = seconds;
    }
    return pairs >= kLeast - 1 && 4 * grow >= 3 * pairs && !BeginEarlier();
  }

  /// Returns true if the input consists of blocks, and the times are not in the first lines of the blocks. Blank lines
  /// or lines of dashes separate blocks. The time must be as far from the beginning of its block as in the first block.
  bool BeginEarlier() const {
    constexpr std::size_t kFarthest = 8;
    std::size_t ahead = 0;
    while (!found_[ahead]) ++ahead;
    if (ahead == 0 || ahead > kFarthest) return false;
    const auto front = [&](std::size_t line) {
      const std::string_view text = sample_.lines[line];
      const bool letter = IsLetterOrDigit(text[0]);
      const auto end = std::ranges::find_if(text, [&](char c) { return IsDigit(c) || IsLetterOrDigit(c) != letter; });
      return std::string_view(text.begin(), end);
    };
    const std::size_t in_order = sample_.all.size() == sample_.lines.size() ? kMostLines : kMostLines / 2;
    std::size_t others = 0, alike = 0;
    for (std::size_t i = ahead + 1; i < std::min(sample_.lines.size(), in_order); ++i) {
      if (!found_[i]) continue;
      ++others;
      const std::size_t begin = i - ahead;
      const std::string_view line = sample_.lines[begin];
      const bool dashes = line.size() > 1 && line[0] == line[1] && !IsLetterOrDigit(line[0]);
      alike += front(begin) == front(0) && (sample_.after_blank[begin] || dashes);
    }
    return others > 0 && 10 * alike >= 9 * others;
  }

  /// Refuses a log whose lines begin with times of day, as irssi and Pidgin write them. Their dates stand in other
  /// lines.
  void RefuseClocks() const {
    if (given_ || groups_) return;
    std::size_t clocks = 0, others = 0;
    std::string_view shown;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      std::string_view line = sample_.lines[i];
      if (found_[i] || line[0] == '#') continue;
      ++others;
      if (line[0] == '[' || line[0] == '(') line.remove_prefix(1);
      TextReader reader{line.data(), line.data() + line.size()};
      TimeParts parts;
      if (!TakeLogTime("%@", reader, parts) || !parts.instant()) continue;
      if (!reader.done() && !IsBlankChar(*reader.at) && !reader.Is(']') && !reader.Is(')')) continue;
      if (clocks++ == 0) shown = sample_.lines[i];
    }
    // A line such as "22:10:01 up 3 days" can follow each date.
    constexpr std::size_t kLeast = 2;
    if (clocks < kLeast || 4 * clocks < 3 * others || 2 * clocks < 3 * found_.count()) return;
    throw BadRecord(
        0,
        Counted(clocks, "line") + (clocks == 1 ? " begins" : " begin") +
            " with a time of day without its date, such as " + ShownLine(shown) +
            ", and other lines have dates, such as " + ShownLine(sample_.lines[found_._Find_first()]) +
            "; a record needs its date: --time FORMAT says which lines begin records, and --format lines sorts text");
  }

  /// Throws the error that the times cannot be found. `refused` is a form that the lines have but that cannot be used,
  /// or null.
  [[noreturn]] void Refuse(const Candidate* refused) const {
    const std::vector<std::string_view>& lines = sample_.lines;
    const std::string shown =
        "; the first lines are " + ShownLine(lines[0]) + (lines.size() > 1 ? " and " + ShownLine(lines[1]) : "");
    if (refused != nullptr && forms_[refused->form].refusal != nullptr) {
      throw BadRecord(0, forms_[refused->form].refusal + shown);
    }
    const std::string of_lines =
        " of " + std::to_string(log_->looked) + " lines" + (lines.size() == kMostLines ? " at the front" : "");
    const std::string why = late_ ? "the times are not in the first lines of the records, which blank lines separate"
                            : log_->matched == 0 ? "none" + of_lines + " has a time" +
                                                       (given_ ? " in the form that --time gives" : " in a known form")
                                                 : "only " + std::to_string(log_->matched) + of_lines +
                                                       (log_->matched == 1 ? " has a time" : " have a time") +
                                                       (given_ ? " in the form that --time gives" : " in a known form");
    throw BadRecord(0, why + shown +
                           "; --time FORMAT says how the times are written, such as --time '%Y-%m-%d %H:%M:%S', and "
                           "--format lines sorts the lines as text");
  }

  const bool given_, groups_;
  const Sample sample_;
  const std::shared_ptr<LogTimes> log_;
  std::vector<TimeForm> forms_;
  std::vector<Candidate> candidates_;
  std::vector<std::size_t> resolved_;  ///< the forms of groups that only one form of the group can read in some line
  LineSet rest_;                       ///< all lines
  LineSet found_;                      ///< lines that have a time
  bool front_ = false;                 ///< dates were found at the front of lines
  bool alone_ = false;                 ///< lines were found that have only a time and perhaps its name
  bool w3c_ = false;                   ///< the input is in the W3C's extended log format, whose comments begin with #
  bool announced_ = false;             ///< LogTimes::note shows a line of another form
  bool late_ = false;                  ///< a candidate was refused because its lines are not the first of paragraphs
};

/// Learns the forms of the times that regular expressions find.
std::shared_ptr<const LogTimes> LearnPatterns(const Sample& sample, const LogForms& allowed, std::int64_t latest) {
  struct Matches {
    std::string pattern;
    bool named = false;
    LineSet lines;
    Sample groups;
  };
  std::vector<Matches> all;
  for (const std::string& text : allowed.patterns) {
    const TimePattern pattern(text);
    Matches& matches = all.emplace_back();
    matches.pattern = text;
    matches.named = pattern.named();
    for (std::size_t i = 0; i < sample.lines.size(); ++i) {
      TimeParts parts;
      const std::string_view group = pattern.named() ? std::string_view() : pattern.Find(sample.lines[i]);
      if (pattern.named() ? !pattern.Take(sample.lines[i], parts) || !parts.instant() : group.empty()) continue;
      matches.lines.set(i);
      matches.groups.lines.push_back(group);
    }
    matches.groups.all = matches.groups.lines;
    matches.groups.indented = true;
  }
  std::ranges::stable_sort(all, std::greater(), [](const Matches& matches) { return matches.lines.count(); });
  const auto log = std::make_shared<LogTimes>();
  log->latest = latest;
  log->looked = sample.lines.size();
  LineSet found;
  for (const Matches& matches : all) {
    if ((matches.lines & ~found).none()) continue;
    std::vector<TimeShape> shapes;
    if (matches.named) {
      shapes.resize(1);
      shapes[0].name = "--time-regex";
      shapes[0].kind = TimeShape::kParts;
    } else {
      const std::shared_ptr<const LogTimes> learnt = Learner(matches.groups, allowed, latest, true).Learn();
      shapes = learnt->shapes;
      log->note = learnt->note;
    }
    for (TimeShape& shape : shapes) {
      shape.pattern = matches.pattern;
      shape.indented = true;
      log->shapes.push_back(shape);
    }
    found |= matches.lines;
  }
  log->matched = found.count();
  if (log->matched > 0 || sample.lines.empty()) return log;
  throw BadRecord(0, "none of " + std::to_string(log->looked) + " lines matches --time-regex; the first lines are " +
                         ShownLine(sample.lines[0]) +
                         (sample.lines.size() > 1 ? " and " + ShownLine(sample.lines[1]) : ""));
}

/// Learns the forms of an input in which lines with a time may begin with blanks, for example to align numbers at their
/// last digits, or levels such as " INFO" and "ERROR" at their last letters. Numbers: at least half of the lines that
/// begin with blanks must have a number after the blanks. Nine of ten of these lines must have a time at the learnt
/// place. Levels: in three of four lines with a time, the first word must end at the same byte, and these words must
/// differ in size or begin the input. Otherwise returns null.
std::shared_ptr<const LogTimes> LearnIndented(std::string_view front, const LogForms& allowed, std::int64_t latest) {
  const Sample sample = SampleOf(front, true);
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
    std::shared_ptr<const LogTimes> log = Learner(sample, allowed, latest, false).Learn();
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
/// Returns null if fewer than half of the records have a time.
std::shared_ptr<const LogTimes> LearnRecords(std::string_view front, std::string_view start, const std::string& pattern,
                                             std::int64_t latest) {
  try {
    const LogForms allowed{.patterns = {pattern}};
    const auto log =
        std::make_shared<LogTimes>(*LearnPatterns(SampleOf(front, pattern.starts_with("^ ")), allowed, latest));
    log->id = NewLogId();
    log->start = start;
    log->looked = log->matched = 0;
    LogTimeReader reader;
    bool timed = true;
    std::uint64_t more = 0;  // the number of times that follow the time of their record
    ForEachLine(front, [&](std::string_view line) {
      if (BeginsWithStart(*log, line)) {
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
  } kKinds[] = {
      {"--%-A--", R"(^\[(\d\d/\w{3}/\d{4}:\d.*))"},            // ModSecurity
      {">>>  [", "^>>>  Section start (.*)"},                  // SetupAPI of Windows
      {"Event[", R"(^ *Date:? +(\d.*))"},                      // wevtutil
      {"changeset:  ", R"(^date: +(.*))"},                     // hg log
      {"revno: ", R"(^timestamp: (.*))"},                      // bzr log
      {"LABEL:", R"(^Date/Time:\s+(.*))"},                     // errpt -a
      {"[**] [", R"(^(\d\d/\d\d(?:/\d\d)?-\d\d:\d\d:\d.*))"},  // alerts of Snort
      {"- cmd: ", "^ +when: (\\d+)"},                          // history of fish
      {"__CURSOR=", "^__REALTIME_TIMESTAMP=(.*)"},             // journalctl -o export
      // The line before each commit of svn log. A message can quote the line of a commit, but not also this line.
      {"------------------------------------------------------------------------", R"(^r\d+ \| [^|]*\| (\d.*))"},
  };
  constexpr std::size_t kMostAhead = 20;  // lines before the first record
  std::size_t ahead = 0, end = 0;
  while (ahead++ < kMostAhead && end != front.npos) end = front.find('\n', end == 0 ? 0 : end + 1);
  for (const auto& [start, pattern] : kKinds) {
    LogTimes kind;
    kind.start = start;
    bool begins = false;
    ForEachLine(front.substr(0, end == front.npos ? end : end + 1),
                [&](std::string_view line) { begins = begins || BeginsWithStart(kind, line); });
    if (!begins) continue;
    const auto log = LearnRecords(front, start, pattern, latest);
    if (log == nullptr) continue;
    // Other lines with times may be records of other programs.
    std::uint64_t others = 0;
    LogTimeReader reader;
    LogTime record;
    ForEachLine(front, [&](std::string_view line) {
      LogTime time;
      if (BeginsWithStart(*log, line)) return;
      if (reader.Take(*log, line, time)) {
        record = time;
      } else {
        others += IsOfOther(*log, line, record);
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
      Learner(SampleOf(others, false), {}, latest, false).Learn();
    } catch (const BadRecord&) {
      mixed = false;
    }
    if (mixed) return nullptr;
  }
  return LearnRecords(front, "commit ", "^(?:Author)?Date: +(.*)", latest);
}

/// Returns true if the text can be the end of a record's time span, as in "End-Date: ".
bool IsEndLabel(std::string_view line) {
  const std::string label = LowerText(line.substr(0, line.find(' ')));
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

}  // namespace

bool HoldsTime(const LogTimes& log, std::string_view line, const LogTime& record, bool only_front) {
  constexpr std::int64_t kDay = 86400, kMonth = 31 * kDay;
  const unsigned few_words = only_front ? 3 : 2;
  static const std::vector<TimeForm> forms(KnownForms().begin(), KnownForms().end());
  static thread_local Finder finder(forms, TimeShape::kKnown, true);
  if (line.starts_with('#') && line.size() > 1 && IsLetterOrDigit(line[1]) && !IsDigit(line[1])) return false;
  const bool spans = !log.shapes.empty() && log.shapes[0].place == TimeShape::kLabel;
  if (spans && IsEndLabel(line)) return false;
  const bool indented = !line.empty() && IsBlankChar(line[0]);
  bool holds = false, dated = false;
  finder.Walk(line, [&](std::size_t form, const char*, const TimeParts& parts, const Finder::Where& where) {
    if (holds || IsClock(forms[form]) || (forms[form].refusal != nullptr && forms[form].group == 0)) return;
    const std::string_view lead(where.word_begin, static_cast<std::size_t>(where.time - where.word_begin));
    const bool letters = std::ranges::any_of(lead, [](char c) { return IsLetterOrDigit(c) && !IsDigit(c); });
    const bool front = where.word <= few_words && !letters && lead.find_first_of("\"'") == lead.npos;
    if (!front && (indented || only_front)) return;
    if (parts.count && (indented || (only_front && where.word > 0))) return;
    const std::optional<Instant> instant = InstantOf(parts, log.latest);
    if (!instant) return;
    dated = dated || (front && !parts.count);
    if (record.instant && (!front || parts.count || indented || (only_front && where.word > 0))) {
      constexpr std::int64_t kMeanYear = 31556952;
      std::int64_t apart = std::abs(instant->seconds - record.instant->seconds);
      if (record.lacks_year || parts.lacks_year()) apart = std::min(apart % kMeanYear, kMeanYear - apart % kMeanYear);
      holds = apart <= kMonth;
    } else {
      holds = true;
    }
  });
  return holds || (!dated && !indented && !only_front && HasClockInFront(line));
}

bool IsOfOther(const LogTimes& log, std::string_view line, const LogTime& record) {
  if (line.empty() || IsBlankChar(line[0]) || BeginsWithStart(log, line)) return false;
  // LearnGitLog has looked at the other lines of git's log. An entry of Configuration Manager has a mark at its end.
  if (log.start == "commit " || log.start == "<![LOG[") return false;
  if (log.start.starts_with(">>>") && line.starts_with("<<<")) return false;  // the end of a section of SetupAPI
  return HoldsTime(log, line, record, true);
}

std::shared_ptr<const LogTimes> LearnLog(std::string_view front, const LogForms& allowed, std::int64_t latest) {
  if (front.starts_with("\xFF\xFE") || front.starts_with("\xFE\xFF") ||
      (front.size() > 3 && front[0] != '\0' && front[1] == '\0' && front[2] != '\0' && front[3] == '\0')) {
    throw BadRecord(0, "the text is UTF-16: iconv -f UTF-16 -t UTF-8 FILE writes it as UTF-8");
  }
  if (!allowed.patterns.empty()) return LearnPatterns(SampleOf(front, true), allowed, latest);
  if (allowed.times.empty()) {
    const std::string_view text = front.substr(front.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
    if (auto log = LearnConfigurationManager(text, allowed.starts, latest)) return log;
    if (auto log = allowed.starts ? LearnGitLog(text, latest) : nullptr) return log;
    if (auto log = allowed.starts ? LearnKnownRecords(text, latest) : nullptr) return log;
    if (std::shared_ptr<const LogTimes> log = LearnIndented(front, allowed, latest)) return log;
  }
  return Learner(SampleOf(front, false), allowed, latest, false).Learn();
}

}  // namespace gpusort

#include "formats/learn_sample.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "formats/log_forms.hpp"
#include "formats/member_finder.hpp"
#include "formats/time_candidates.hpp"

namespace gpusort {
namespace {

/// Learns the forms of one input.
class Learner {
 public:
  /// If `groups` is true, the lines of the sample are texts that a group of a regular expression matched. They begin
  /// with times.
  Learner(LogSample sample, const LogForms& allowed, std::int64_t latest, bool groups)
      : given_(!allowed.times.empty()),
        groups_(groups),
        prose_(allowed.prose),
        sample_(std::move(sample)),
        log_(std::make_shared<LogTimes>()),
        candidates_(sample_, forms_, latest) {
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
    LineSet searched;
    for (std::size_t i = 0; i < lines; ++i) searched[i] = !found_[i] && !(w3c_ && sample_.lines[i][0] == '#');
    candidates_.Search(given_ ? TimeShape::kGiven : TimeShape::kKnown, searched);
    if (groups_) candidates_.KeepFront();
    if (!given_) candidates_.Weed(!w3c_);
    TakeBest();
    for (TimeShape& shape : log_->shapes) {
      LearnHours(shape);
      DropNumbers(shape);
    }
    AnnounceJumps();
    AnnounceLocalTimes();
    AnnounceEarlier();
    AnnounceLabels();
    Count();
    const TimeCandidate* const refused = Best(true);
    if (log_->shapes.empty() || !Enough()) {
      Refuse(refused != nullptr && 2 * refused->lines.count() >= log_->looked ? refused : nullptr);
    }
    RefuseProse();
    if (!AnyRead()) RefuseLongObjects();
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

  static TimeShape ShapeOf(const MemberFinder::Member& member) {
    TimeShape shape;
    shape.kind = TimeShape::kJson;
    shape.member = member.path;
    shape.name = "JSON Lines, member " + member.path.substr(1);
    if (member.form != nullptr) {
      shape.format = member.form->format;
      shape.name += ", " + std::string(member.form->name);
    }
    return shape;
  }

  /// Returns true if the member `a` is more likely to have the times of records than `b`; equally many lines must have
  /// them.
  static bool IsBetter(const MemberFinder::Member& a, const MemberFinder::Member& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    if (a.varies != b.varies) return a.varies;
    return std::ranges::count(a.path, '/') < std::ranges::count(b.path, '/');
  }

  /// Returns true if `other` is as good a choice for the times as `best`, and the sample has two lines that the two
  /// members put in different orders.
  bool OrdersOtherwise(const MemberFinder::Member& best, const MemberFinder::Member& other) const {
    const bool usual = best.rank < std::size(MemberFinder::kNames) && other.rank == std::size(MemberFinder::kNames);
    const LineSet both = best.lines & other.lines;
    if (usual || 10 * both.count() < 9 * best.lines.count() || best.path == other.path) return false;
    LogTimes logs[2];
    LogTimeReader readers[2];
    std::optional<std::int64_t> before[2];
    logs[0].shapes = {ShapeOf(best)};
    logs[1].shapes = {ShapeOf(other)};
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (!both[i]) continue;
      std::int64_t steps[2] = {0, 0};
      for (int of : {0, 1}) {
        const LogTime time = readers[of].Read(logs[of], sample_.lines[i]);
        if (!time.instant) return false;
        steps[of] = before[of] ? time.instant->seconds - *before[of] : 0;
        before[of] = time.instant->seconds;
      }
      if ((steps[0] < 0 && steps[1] > 0) || (steps[0] > 0 && steps[1] < 0)) return true;
    }
    return false;
  }

  /// Announces that the times of the member `best` are used, if other members are equally good choices and would give
  /// another order.
  void AnnounceMembers(const MemberFinder::Member& best, const std::vector<MemberFinder::Member>& members) {
    std::set<std::string> others;
    std::string first;
    for (const MemberFinder::Member& other : members) {
      if (!OrdersOtherwise(best, other)) continue;
      if (others.empty()) first = other.path.substr(1);
      others.insert(other.path);
    }
    if (others.empty()) return;
    const std::string more = others.size() > 1 ? " and of " + Counted(others.size() - 1, "more member") : "";
    Announce("the times are those of the member " + best.path.substr(1) + ", and those of the member " + first + more +
             " would give another order: --format jsonl -k NAME:timestamp sorts by any member");
  }

  /// Adds a text to LogTimes::notes. `line` shows what the text says, or is empty.
  void Announce(const std::string& text, std::string_view line = {}) { log_->notes.try_emplace(text, line); }

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
        if (count > most || (count == most && best != nullptr && IsBetter(member, *best))) {
          best = &member;
          most = count;
        }
      }
      if (best == nullptr || most == 0 || kRare * most < sample_.lines.size()) return;
      AnnounceMembers(*best, finder.members());
      log_->shapes.push_back(ShapeOf(*best));
      found_ |= best->lines;
    }
  }

  /// Returns true if the times are values of SQL, as in "(1,'2026-11-23 22:10:01')". Such a row belongs to the
  /// statement in the lines before it.
  static bool IsQuoted(const TimeCandidate& candidate) {
    const std::string_view lead = candidate.shape.lead;
    const bool named = candidate.shape.place == TimeShape::kAnywhere && std::ranges::any_of(lead, IsLetterOrDigit);
    return lead.ends_with('\'') && !named;
  }

  /// Returns how many of `lines` have the candidate, times 100. The result is smaller if the place is less certain.
  std::size_t Worth(const TimeCandidate& candidate, const LineSet& lines) const {
    const std::size_t count = (candidate.lines & lines).count();
    if (IsQuoted(candidate)) return count * 20;
    if (candidate.shape.place == TimeShape::kColumn) return count * 97;
    if (candidate.shape.place == TimeShape::kAnywhere && !candidate.named()) {
      return IsCommonLog(forms_[candidate.form]) ? count * 101 : count * 75 - std::min<std::size_t>(count, 1) * 50;
    }
    // Such a record has one line with the time of its start and one line with the time of its end, so it counts twice.
    if (candidate.shape.place == TimeShape::kLabel) return count * 210;
    return count * 100;
  }

  /// Returns the best candidate for the lines that have no time yet, or null if there is none. If `refused` is true,
  /// returns the best refused candidate for all lines.
  const TimeCandidate* Best(bool refused) const {
    const TimeCandidate* best = nullptr;
    LineSet lines = refused ? rest_ : rest_ & ~found_;
    if (!refused && log_->shapes.empty()) lines &= ~CopiedLines();
    std::size_t most = 0;
    for (const TimeCandidate& candidate : candidates_) {
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
    for (const TimeCandidate& candidate : candidates_) {
      if (candidate.refused || !IsCommonLog(forms_[best->form]) || !candidate.at_front() ||
          IsCount(forms_[candidate.form]))
        continue;
      if ((best->lines & lines & ~candidate.lines).none() && candidates_.Varies(candidate)) return &candidate;
    }
    // If the input begins with a time at the front of a line, times in the middle of lines are part of the text, such
    // as the columns of a table.
    for (const TimeCandidate& candidate : candidates_) {
      if (best->at_front() && best->shape.lead.size() <= 1) break;
      if (IsCommonLog(forms_[best->form]) || candidate.refused || !candidate.lines[0] ||
          IsCount(forms_[candidate.form]))
        continue;
      if (!candidate.at_front() || candidate.shape.lead.size() > 1) continue;
      if (best->lines[0] && candidate.form != best->form) continue;
      if (kQuarter * candidate.lines.count() >= best->lines.count() && candidates_.Varies(candidate)) return &candidate;
    }
    // A time that is the same in all lines is part of a file name or the start of a program. Another time that varies
    // is better.
    for (const TimeCandidate& candidate : candidates_) {
      if (candidate.refused || &candidate == best || 10 * Worth(candidate, lines) < 9 * most) continue;
      if (!candidates_.Varies(*best) && candidates_.Varies(candidate)) return &candidate;
    }
    return best;
  }

  /// Returns true if `a` is better than `b`; equally many lines must have them. The candidate further to the left is
  /// better. If both are at the same place, the longer one is better.
  bool IsBefore(const TimeCandidate& a, const TimeCandidate& b) const {
    const std::uint64_t a_count = a.lines.count(), b_count = b.lines.count();
    if (a.at * b_count != b.at * a_count) return a.at * b_count < b.at * a_count;
    if (a.size * b_count != b.size * a_count) return a.size * b_count > b.size * a_count;
    // A user name before the time of a web log can have blanks.
    if (IsCommonLog(forms_[a.form]) && IsCommonLog(forms_[b.form])) return a.shape.place > b.shape.place;
    return a.shape.place < b.shape.place;
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
  bool IsAlikeBefore(const TimeCandidate& candidate, const LineSet& lines) const {
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
  bool IsAfterUuid(const TimeCandidate& candidate, const LineSet& lines) const {
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

  static bool LacksYear(const TimeCandidate& candidate) {
    return candidate.shape.format.find_first_of("YCyNTXxE") == std::string::npos;
  }

  /// Returns true if nearly all lines have a time, and none was found at the front of a line. In this case no line
  /// continues the record of another line.
  bool AllHaveTimes() const {
    LineSet lines = found_;
    for (const TimeCandidate& candidate : candidates_) {
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
    return IsHeaderField(line);
  }
  /// Returns the lines that were copied into the text of records, and those whose only times have other names than
  /// that of a time, as in <created>. At least a third of the lines with times must be other lines, and the first line
  /// with a time must be one. Otherwise returns no lines.
  LineSet CopiedLines() const {
    LineSet timed, named, copied;
    for (const TimeCandidate& candidate : candidates_) {
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
  bool IsAfterLabel(const TimeCandidate& candidate, const LineSet& lines) const {
    if (candidate.shape.place != TimeShape::kWord || candidate.shape.count != 1) return false;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (candidate.lines[i] && lines[i] && !FirstWords(sample_.lines[i], 1).ends_with(": ")) return false;
    }
    return true;
  }

  /// Returns true if nearly all lines have a time of the candidate's form, at places that differ. In this case no line
  /// continues the record of another line.
  bool IsFormOfAll(const TimeCandidate& candidate) const {
    if (front_ || forms_[candidate.form].format != log_->shapes[0].format) return false;
    LineSet lines;
    for (const TimeCandidate& other : candidates_) {
      if (other.form == candidate.form && !other.refused) lines |= other.lines;
    }
    return 20 * lines.count() >= 19 * sample_.lines.size() || lines.count() + 1 >= sample_.lines.size();
  }

  /// Returns true if the candidate may be added to the forms that were found.
  bool Joins(const TimeCandidate& candidate, const LineSet& lines) const {
    if (log_->shapes.empty()) return true;
    const std::size_t all = sample_.lines.size(), count = (candidate.lines & lines).count();
    if (kRare * count < all || candidate.shape.place == TimeShape::kLabel) return false;
    if (IsQuoted(candidate)) return false;
    const auto alike = [&] { return IsAlikeBefore(candidate, lines) || IsAfterUuid(candidate, lines); };
    const bool named = !candidate.name().empty() && !candidate.names_time();
    if (!given_ && (named || AreCopied(candidate.lines & lines)) && !alike()) return false;
    const auto same_days = [&] {
      const auto first = std::ranges::find(candidates_, log_->shapes[0], &TimeCandidate::shape);
      return first == candidates_.end() || given_ || LacksYear(candidate) || LacksYear(*first) ||
             candidates_.AreOfSameDays(candidate, *first);
    };
    // A time after the name of an element or a key is part of the text, unless it is of the same days.
    if (candidate.at_front() && std::ranges::any_of(candidate.shape.lead, IsLetterOrDigit)) {
      return (candidate.named() || !IsCount(forms_[candidate.form])) && same_days();
    }
    if (IsComment(candidate.lines & lines) && !IsComment(found_)) return false;
    if (candidate.at_front() || given_) return true;
    if (alike() || IsFormOfAll(candidate)) return true;
    if (candidate.of_audit() && same_days()) return true;
    if (IsCount(forms_[candidate.form])) return false;
    if (IsCommonLog(forms_[candidate.form]) || (AllHaveTimes() && same_days())) return true;
    // If half of the lines have a time, the other lines continue records. A time in such a line begins a record only if
    // it is at the front of the line. If fewer lines have a time, other times begin records if they are of the same
    // days.
    if (2 * found_.count() >= all || kFew * count <= all || count < 2) return false;
    return !IsAfterLabel(candidate, lines) && same_days();
  }

  /// Returns the candidate for a first line that says when a program was started, or null if there is no such line. The
  /// output of the program can follow it in many lines.
  const TimeCandidate* StartOfOutput() const {
    const auto found = std::ranges::find_if(candidates_, [](const TimeCandidate& candidate) {
      return candidate.shape.place == TimeShape::kLabel && candidate.lines[0] && !candidate.refused;
    });
    return found == candidates_.end() ? nullptr : &*found;
  }

  /// Announces a further form of times that was found, if it can be a part of the text of other records.
  void AnnounceOther(const TimeCandidate& candidate) {
    const TimeShape& shape = candidate.shape;
    const LineSet lines = rest_ & ~found_;
    if (given_ || groups_ || candidate.names_time()) return;
    const bool certain = IsCommonLog(forms_[candidate.form]) || IsAlikeBefore(candidate, lines) ||
                         IsAfterUuid(candidate, lines) || IsFormOfAll(candidate);
    if (certain && candidate.name().empty() && !AreCopied(candidate.lines & lines)) return;
    constexpr std::string_view kUsualLeads = "[\"*";
    const bool usual =
        shape.lead.empty() || (shape.lead.size() == 1 && kUsualLeads.find(shape.lead) != kUsualLeads.npos);
    if (candidate.at_front() && usual && !IsCount(forms_[candidate.form])) return;
    if (std::exchange(announced_, true)) return;
    Announce("some lines have times at another place than most lines and were taken for records",
             sample_.lines[(candidate.lines & ~found_)._Find_first()]);
  }

  /// Announces lines that were taken for records, but whose times are far from those of the lines before and after
  /// them. They may be parts of records: a payload in JSON, or quoted lines of another log. A block of such lines must
  /// stand between lines of one other form, and the times of that form must grow, so that neither files which were
  /// joined one after another nor shuffled lines are announced. Merged logs have no such lines, because the times
  /// before, in and after a block grow, perhaps after a change of the zone.
  void AnnounceJumps() {
    constexpr std::int64_t kDay = 86400, kHours = 7200, kJitter = 300;
    if (given_ || groups_ || announced_ || log_->shapes.empty()) return;
    struct Block {
      std::size_t shape = 0, line = 0;
      std::int64_t least = 0, most = 0, first = 0, last = 0;
    };
    struct Order {
      std::size_t steps = 0, back = 0, far_back = 0;
      std::optional<std::int64_t> last;

      bool grows() const { return kQuarter * back < steps && kFew * far_back < steps; }
    };
    std::vector<Block> blocks;
    std::vector<Order> orders(log_->shapes.size() + 1);
    struct Line {
      std::int64_t seconds;
      std::size_t shape, line;
    };
    std::vector<Line> lines;
    LogTimeReader reader;
    for (std::size_t i = 0; i < std::min(sample_.lines.size(), in_order()); ++i) {
      if (!found_[i]) continue;
      const LogTime time = reader.Read(*log_, sample_.lines[i]);
      if (!time.instant || time.lacks_date) continue;
      const std::size_t shape = ShapeIn(sample_.lines[i]);
      const std::int64_t seconds = time.instant->seconds;
      lines.push_back({seconds, shape, i});
      Order& order = orders[shape];
      order.steps += order.last.has_value();
      order.back += order.last && seconds < *order.last;
      order.far_back += order.last && seconds < *order.last - kJitter;
      order.last = seconds;
      if (blocks.empty() || blocks.back().shape != shape) blocks.push_back({shape, i, seconds, seconds, seconds});
      Block& block = blocks.back();
      block.least = std::min(block.least, seconds);
      block.most = std::max(block.most, seconds);
      block.last = seconds;
    }
    // A single line may have the form of the lines around it. A web server may write when a request began, and an
    // object of JSON is a record.
    for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
      const Line &before = lines[i - 1], &line = lines[i], &after = lines[i + 1];
      if (before.shape != line.shape || after.shape != line.shape || !orders[line.shape].grows()) continue;
      const bool whole = line.shape == log_->shapes.size() || log_->shapes[line.shape].kind == TimeShape::kJson;
      if (whole || log_->shapes[line.shape].name == "common log") continue;
      if (after.seconds < before.seconds - kJitter || after.seconds > before.seconds + kDay) continue;
      if (line.seconds >= before.seconds - kDay - kHours && line.seconds <= after.seconds + kDay + kHours) continue;
      Announce(
          "a line has another time than the lines around it and was taken for a record: if it is a part of another "
          "record, --time FORMAT gives the form of those that begin records",
          sample_.lines[line.line]);
      return;
    }
    struct Jump {
      std::int64_t in = std::numeric_limits<std::int64_t>::max(), out = in;
      std::size_t line = 0;
    };
    std::map<std::size_t, Jump> jumps;
    for (std::size_t i = 1; i + 1 < blocks.size(); ++i) {
      const Block &before = blocks[i - 1], &block = blocks[i], &after = blocks[i + 1];
      if (before.shape != after.shape || block.shape == blocks[0].shape || !orders[before.shape].grows()) continue;
      if (after.first < before.last - kJitter) continue;
      Jump& jump = jumps[block.shape];
      if (jump.line == 0) jump.line = block.line;  // the first line of the sample with a time is in no such block
      jump.in = std::min(jump.in, block.least - before.last);
      jump.out = std::min(jump.out, after.first - block.most);
    }
    for (const auto& [shape, jump] : jumps) {
      if (jump.in + jump.out >= -kJitter && jump.in >= -kDay - kHours) continue;
      Announce(
          "some lines have other times than the lines around them and were taken for records: if they are parts "
          "of other records, --time FORMAT gives the form of those that begin records",
          sample_.lines[jump.line]);
      return;
    }
  }

  /// Returns the index of the shape that finds the time in a line which has one.
  std::size_t ShapeIn(std::string_view line) const {
    const bool object = JsonObjectOf(line).starts_with('{');
    for (std::size_t i = 0; i < log_->shapes.size(); ++i) {
      TimeParts parts;
      const TimeShape& shape = log_->shapes[i];
      if (shape.kind == TimeShape::kJson ? object : TakeShape(shape, line, parts) != nullptr) return i;
    }
    return log_->shapes.size();
  }

  /// What stands after a clock: nothing of interest, an offset from UTC for certain, four digits that can be such an
  /// offset, or a number that cannot.
  enum class AfterClock : std::uint8_t { kOther, kZone, kOffset, kNumber };
  /// Returns what `text` begins with. `fraction` is true if the clock has a fraction of a second.
  static AfterClock KindAfterClock(std::string_view text, bool fraction) {
    constexpr std::int64_t kHour = 100, kMostWest = 1200, kMostEast = 1400, kQuarter = 15;
    const bool blank = text.starts_with(' ');
    text.remove_prefix(blank);
    if (text.size() < 2 || (text[0] != '-' && text[0] != '+')) return AfterClock::kOther;
    TextReader reader{text.data() + 1, text.data() + text.size()};
    const std::size_t digits = reader.digits();
    const std::string_view rest = reader.rest().substr(digits);
    if (digits == 0 || (!rest.empty() && (IsLetterOrDigit(rest[0]) || rest[0] == '-'))) return AfterClock::kOther;
    if (digits == 2 && blank) return AfterClock::kOther;
    if (digits == 2) return reader.TakeNumber(digits) <= kMostEast / kHour ? AfterClock::kZone : AfterClock::kNumber;
    if (digits == 3 && fraction) return AfterClock::kZone;  // minutes, as in Db2
    if (digits != 4) return AfterClock::kNumber;
    const std::int64_t number = reader.TakeNumber(digits), minutes = number % kHour;
    if (number > (text[0] == '-' ? kMostWest : kMostEast) || minutes >= 60 || minutes % kQuarter != 0) {
      return AfterClock::kNumber;
    }
    return blank && rest.starts_with(']') ? AfterClock::kZone : AfterClock::kOffset;  // as web servers write it
  }

  static constexpr std::string_view kZone = "%z";

  /// Returns where the zone stands at the end of the shape's format, or npos if no zone stands there.
  static std::size_t LastZoneOf(const TimeShape& shape) {
    constexpr std::string_view kNoYear = "%-";
    std::string_view format = shape.format;
    if (format.ends_with(kNoYear)) format.remove_suffix(kNoYear.size());
    const bool has = shape.kind == TimeShape::kKnown && format.ends_with(kZone);
    return has ? format.size() - kZone.size() : std::string::npos;
  }
  /// Returns the shape without its zone, which stands at `zone`.
  static TimeShape WithoutZone(TimeShape shape, std::size_t zone) {
    shape.format.erase(zone, kZone.size());
    return shape;
  }

  /// The rest of a line after its time.
  struct TextAfter {
    std::string_view line, text;
    bool fraction;  ///< the clock has a fraction of a second
  };
  /// Returns the rest of each line of the sample that has a time of this shape.
  std::vector<TextAfter> TextsAfter(const TimeShape& shape) const {
    std::vector<TextAfter> texts;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      const std::string_view line = sample_.lines[i];
      TimeParts parts;
      const char* const end = found_[i] ? TakeShape(shape, line, parts) : nullptr;
      if (end == nullptr) continue;
      texts.push_back({line, line.substr(static_cast<std::size_t>(end - line.data())), !parts.fraction.empty()});
    }
    return texts;
  }

  /// Two digits after a blank and a sign, as in "10:00:03 -03", may be the hours of a zone or text. They are hours if
  /// more than half of the times have them and few of these numbers are no hours. There must be one value, or two with
  /// an hour between them when the clocks change. Announces what is not certain.
  void LearnHours(TimeShape& shape) {
    constexpr std::size_t kSure = 10, kMostChanges = 2;
    constexpr int kMostWest = 12, kMostEast = 14;
    const std::size_t zone = LastZoneOf(shape);
    if (zone == std::string::npos) return;
    const std::vector<TextAfter> texts = TextsAfter(WithoutZone(shape, zone));
    std::size_t count = 0, others = 0, changes = 0;
    std::set<int> values;
    std::optional<int> last;
    std::string_view first;
    for (const auto& [line, text, fraction] : texts) {
      if (text.size() < 4 || text[0] != ' ' || (text[1] != '+' && text[1] != '-')) continue;
      TextReader reader{text.data() + 2, text.data() + text.size()};
      if (reader.digits() != 2) continue;
      const bool west = text[1] == '-';
      const int number = static_cast<int>(reader.TakeNumber(2)), hours = west ? -number : number;
      if (reader.Is(':')) continue;
      if (hours < -kMostWest || hours > kMostEast ||
          (!reader.done() && kAfterZone.find(*reader.at) == kAfterZone.npos)) {
        ++others;
        continue;
      }
      if (count == 0) first = line;
      ++count;
      changes += last && *last != hours;
      last = hours;
      values.insert(hours);
    }
    if (2 * count <= texts.size() || 2 * others > count) return;
    const bool sure = count >= kSure && values.size() == 1;
    const bool clocks = values.size() == 2 && *values.rbegin() - *values.begin() == 1 && changes <= kMostChanges;
    const bool likely = sure || (values.size() == 1 && *values.begin() > -10) || (clocks && count >= kSure);
    const bool are_hours = likely && kFew * others <= count;
    if (are_hours) shape.format.replace(zone, kZone.size(), "%o");
    if (sure && others == 0) return;
    Announce(
        are_hours
            ? "numbers after the times were taken for the hours of zones: --time without %z takes them for text"
            : "numbers after the times, which can be the hours of zones, were taken for text: --time with %z reads "
              "the hours",
        first);
  }

  /// Numbers such as "-1015" directly after the times may be offsets from UTC or, as in the log of cron, numbers of
  /// processes. If most numbers of a log cannot be offsets, all of them are text. Announces what is not certain, also
  /// offsets that no zone has now.
  void DropNumbers(TimeShape& shape) {
    const std::size_t zone = LastZoneOf(shape);
    if (zone == std::string::npos) return;
    const TimeShape without = WithoutZone(shape, zone);
    const std::vector<TextAfter> texts = TextsAfter(without);
    std::size_t offsets = 0, numbers = 0;
    bool plus = false, certain = false, unknown = false;
    std::set<std::string_view> values;
    std::string_view offset_line, number_line;
    for (const auto& [line, text, fraction] : texts) {
      switch (KindAfterClock(text, fraction)) {
        case AfterClock::kOther:
          break;
        case AfterClock::kZone:
          certain = true;
          break;
        case AfterClock::kNumber:
          if (numbers++ == 0) number_line = line;
          break;
        case AfterClock::kOffset: {
          if (offsets++ == 0) offset_line = line;
          const std::string_view value = text.substr(text.starts_with(' '), 5);
          values.insert(value);
          plus |= value[0] == '+';
          certain |= plus || value[1] == '0';
          unknown |= value[0] == '-' && value[1] != '0' && value != "-1000" && value != "-1100" && value != "-1200";
        }
      }
    }
    if (numbers == 0 && (offsets == 0 || (!unknown && (certain || values.size() == 1)))) return;
    const bool text = !plus && numbers > 0 && numbers >= offsets && 2 * numbers >= texts.size();
    if (text) shape = without;
    if (offsets == 0 || (!text && kFew * numbers < offsets && numbers > 0)) return;
    Announce(text
                 ? "numbers after the times, which can be offsets from UTC or the numbers of processes, were taken for "
                   "text, because the numbers of other lines are no offsets: --time with %z reads offsets"
                 : "numbers after the times, which can be the numbers of processes, were taken for offsets from UTC: "
                   "--time without %z takes them for text",
             !text && numbers > 0 ? number_line : offset_line);
  }

  /// Announces lines whose times were taken as UTC because of a line with the names of fields, but which have other
  /// fields than that line names.
  void AnnounceLocalTimes() {
    if (std::ranges::none_of(log_->shapes, &TimeShape::utc)) return;
    std::size_t fields = 0;
    for (const std::string_view line : sample_.all) {
      constexpr std::string_view kFields = "#Fields:";
      if (line.starts_with(kFields)) fields = CountWords(line.substr(kFields.size()), false);
      TimeParts parts;
      const auto reads = [&](const TimeShape& shape) { return shape.utc && TakeShape(shape, line, parts) != nullptr; };
      if (line[0] == '#' || HasFields(line, fields) || std::ranges::none_of(log_->shapes, reads) || parts.offset) {
        continue;
      }
      Announce(
          "the times were taken as UTC because of the line #Fields, also those of lines with other fields: sort "
          "the lines of each program apart if one writes local times",
          line);
      return;
    }
  }

  /// Returns true if the line can have `fields` fields. Fields are separated by tabs, or by blanks outside of quotes.
  /// They can be empty.
  static bool HasFields(std::string_view line, std::size_t fields) {
    const auto tabs = static_cast<std::size_t>(std::ranges::count(line, '\t'));
    if (tabs > 0) return tabs + 1 == fields || (tabs == fields && line.ends_with('\t'));
    bool quoted = false;
    std::size_t blanks = 0;
    for (const char c : line) {
      quoted ^= c == '"';
      blanks += c == ' ' && !quoted;
    }
    return CountWords(line, true) == fields || CountWords(line, false) == fields || blanks + 1 == fields;
  }

  /// Returns the number of words. If `quotes` is true, blanks between quotes are parts of words.
  static std::size_t CountWords(std::string_view line, bool quotes) {
    std::size_t words = 0;
    bool quoted = false, inside = false;
    for (const char c : line) {
      quoted ^= quotes && c == '"';
      const bool word = quoted || !IsBlankChar(c);
      words += word && !inside;
      inside = word;
    }
    return words;
  }

  /// Returns the number of lines at the front of the sample that follow one another in the input.
  std::size_t in_order() const { return sample_.all.size() == sample_.lines.size() ? kSampleLines : kSampleLines / 2; }

  void TakeBest() {
    while (const TimeCandidate* best = Best(false)) {
      if (kRare * (best->lines & ~found_).count() < sample_.lines.size()) {
        best = log_->shapes.empty() ? StartOfOutput() : nullptr;
        if (best == nullptr) break;
      }
      log_->shapes.push_back(best->shape);
      if (candidates_.IsResolved(*best)) {
        Announce("the times are " + best->shape.name +
                 (candidates_.IsOfHadoop(*best) ? ", as in logs of Hadoop and Spark"
                                                : ", as the values of other lines show"));
      }
      if (log_->shapes.size() > 1) AnnounceOther(*best);
      found_ |= best->lines;
      front_ |= best->at_front() && !best->named() && !IsCount(forms_[best->form]);
      alone_ |= best->shape.place == TimeShape::kLabel || candidates_.FillsLines(*best);
      if (best->shape.place == TimeShape::kLabel) break;
    }
    if (const TimeCandidate* const anywhere = log_->shapes.size() > 1 ? FrontOfWord() : nullptr) {
      log_->shapes.push_back(anywhere->shape);
    }
    // In a line that begins with a time, other times are part of the text.
    const auto in_any_word = [](const TimeShape& shape) {
      return shape.place == TimeShape::kAnywhere && shape.lead.empty();
    };
    if (std::ranges::any_of(log_->shapes, in_any_word)) {
      std::ranges::stable_partition(
          log_->shapes, [](const TimeShape& shape) { return shape.place == TimeShape::kWord && shape.count == 0; });
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
  const TimeCandidate* FrontOfWord() const {
    for (const TimeCandidate& candidate : candidates_) {
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
    for (const TimeCandidate& candidate : candidates_) others |= candidate.lines & ~found_;
    // A description of the columns can precede the records.
    while (!found_[first] && !others[first]) ++first;
    if (log_->matched > 2 && 10 * log_->matched >= 9 * (sample_.lines.size() - first)) return true;
    return (front_ && log_->matched > 1 && kQuarter * log_->matched >= log_->looked &&
            (kFew * others.count() <= log_->looked || others.count() <= 2)) ||
           (kFew * log_->matched >= log_->looked && Grow());
  }

  /// Returns true if the line is a sentence: words of letters with one blank between them, and no sign of code, of a
  /// table, of an error or of a statement.
  static bool IsProse(std::string_view line) {
    constexpr std::string_view kSql[] = {"select", "from",   "where", "and",    "or",     "order",  "group", "having",
                                         "insert", "update", "set",   "delete", "values", "join",   "left",  "inner",
                                         "create", "alter",  "drop",  "with",   "union",  "commit", "begin", "limit"};
    const auto is_letter = [](char c) {
      return (IsLetterOrDigit(c) && !IsDigit(c)) || static_cast<unsigned char>(c) >= 0x80;
    };
    const auto of_text = [&](char c) {
      return is_letter(c) || IsDigit(c) || std::string_view(" .,!?'-").find(c) != std::string_view::npos;
    };
    if (line.empty() || !is_letter(line[0]) || !std::ranges::all_of(line, of_text)) return false;
    if (line.find("  ") != line.npos ||
        std::ranges::find(kSql, LowerText(line.substr(0, line.find(' ')))) != std::end(kSql))
      return false;
    std::size_t words = 0, of_letters = 0;
    for (std::size_t at = 0; at < line.size(); ++words) {
      of_letters += is_letter(line[at]);
      at = std::min(line.find(' ', at), line.size() - 1) + 1;
    }
    constexpr std::size_t kLeast = 3;
    return words >= kLeast && 2 * of_letters > words;
  }

  /// Returns true if the input has at least eight times, and none is earlier than the time before. Such times are those
  /// of a log, whatever stands between them.
  bool AllGrow() const {
    constexpr std::size_t kLeast = 8;
    LogTimeReader reader;
    std::optional<std::int64_t> before;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (!found_[i]) continue;
      const LogTime time = reader.Read(*log_, sample_.lines[i]);
      if (!time.instant || (before && time.instant->seconds < *before)) return false;
      before = time.instant->seconds;
    }
    return log_->matched >= kLeast;
  }

  /// Refuses an input if most of its lines are sentences without a time. Many lines of a log can follow a line with a
  /// time, but they are parts of stack traces, statements or tables. If blank lines separate the records, as in the log
  /// of OPCOM, the lines can be sentences.
  void RefuseProse() const {
    if (given_ || groups_ || prose_ || alone_ || half()) return;
    std::size_t prose = 0;
    std::string_view shown[2];
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (found_[i] || !IsProse(sample_.lines[i])) continue;
      if (prose < std::size(shown)) shown[prose] = sample_.lines[i];
      ++prose;
    }
    const bool separated = 10 * ((found_ & sample_.after_blank).count() + 1) >= 9 * log_->matched;
    if (2 * prose <= log_->looked || (separated && sample_.after_blank.any()) || AllGrow()) return;
    throw BadRecord(0, "only " + std::to_string(log_->matched) + " of " + std::to_string(log_->looked) +
                           " lines have a time in a known form, and most lines are text, such as " +
                           ShownLine(shown[0]) + " and " + ShownLine(shown[1]) +
                           "; --multiline auto takes such lines for parts of the records before them, and --multiline "
                           "none for records of the same time; --format lines sorts the lines as text");
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
        if (seconds == 0 && found_[i]) seconds = candidates_.SecondsIn(shape, i);
      }
      if (seconds == 0) continue;
      pairs += before.has_value();
      grow += before && *before <= seconds;
      before = seconds;
    }
    return pairs >= kLeast - 1 && 4 * grow >= 3 * pairs && !BeginEarlier(true);
  }

  /// Returns true if the input consists of blocks, and the times are not in the first lines of the blocks. If `apart`
  /// is true, blank lines or lines of dashes must separate the blocks. A block must begin as the first line of the
  /// input does, and its time must be as far from its beginning as in the first block.
  bool BeginEarlier(bool apart) const {
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
    const std::size_t least = apart ? 1 : 2;
    std::size_t others = 0, alike = 0, last = ahead;
    for (std::size_t i = ahead + 1; i < std::min(sample_.lines.size(), in_order()); ++i) {
      if (!found_[i]) continue;
      ++others;
      const std::size_t begin = i - ahead;
      const std::string_view line = sample_.lines[begin];
      const bool dashes = line.size() > 1 && line[0] == line[1] && !IsLetterOrDigit(line[0]);
      const bool begins = apart ? sample_.after_blank[begin] || dashes : begin > last && !front(0).empty();
      alike += front(begin) == front(0) && begins;
      last = i;
    }
    return others >= least && 10 * alike >= 9 * others;
  }

  /// Announces that records may begin before the lines with their times.
  void AnnounceEarlier() {
    const auto ends = [&](std::string_view end) { return sample_.lines[0].starts_with(end); };
    constexpr std::string_view kEnds[] = {"#", "}", "]", ")", "</", "Caused by"};
    if (given_ || groups_ || found_.none() || std::ranges::any_of(kEnds, ends)) return;
    // An object that is cut off has no time.
    const auto json = [](const TimeShape& shape) { return shape.kind == TimeShape::kJson; };
    if (std::ranges::any_of(log_->shapes, json) || !BeginEarlier(false)) return;
    Announce(
        "lines like the first line of the input stand before most times and were taken for parts of the records "
        "before them; if they begin records, join the lines of each record to one line before the sort",
        sample_.lines[0]);
  }

  /// Announces a few lines such as "ValueError: 2026-01-01 00:00:00 is too early" among those with other words before
  /// the times, such as levels. If there are many, they are records of a program that writes a colon.
  void AnnounceLabels() {
    if (given_ || groups_) return;
    for (const TimeShape& shape : log_->shapes) {
      if (shape.kind != TimeShape::kKnown || shape.place != TimeShape::kWord || shape.count == 0) continue;
      std::size_t labels = 0, others = 0, first = 0;
      for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
        TimeParts parts;
        if (!found_[i] || TakeShape(shape, sample_.lines[i], parts) == nullptr) continue;
        const bool label = FirstWords(sample_.lines[i], shape.count).ends_with(": ");
        if (label && labels++ == 0) first = i;
        others += !label;
      }
      if (labels == 0 || kFew * labels > labels + others) continue;
      Announce(
          "some lines have a word with a colon before their timestamps, unlike most lines, and were taken for records",
          sample_.lines[first]);
    }
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

  /// Returns true if at least one time can be read. The lines can be the beginnings of objects of JSON that end in
  /// later lines.
  bool AnyRead() const {
    LogTimeReader reader;
    for (std::size_t i = 0; i < sample_.lines.size(); ++i) {
      if (found_[i] && reader.Read(*log_, sample_.lines[i]).instant) return true;
    }
    return false;
  }

  /// If the input certainly begins with JSON whose objects have several lines, such as the output of jq without -c,
  /// throws the error that the times cannot be found. An object that is cut off has one line.
  void RefuseLongObjects() const {
    if (given_ || groups_) return;
    const auto trimmed = [](std::string_view line) {
      while (!line.empty() && (IsBlankChar(line.back()) || line.back() == ',')) line.remove_suffix(1);
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      return line;
    };
    const std::string_view first = trimmed(sample_.lines[0]);
    const bool array = first.starts_with('[');
    const bool alone = first.find_first_not_of("[{ \t") == first.npos && !first.empty();
    const bool open = first.size() > 1 && first[0] == '{' && (IsBlankChar(first[1]) || first[1] == '"');
    const auto closes = [&](std::string_view line) { return trimmed(line).starts_with('}'); };
    const auto whole = [&](std::string_view line) { return line.starts_with('{') && trimmed(line).ends_with('}'); };
    const bool certain = alone ? sample_.all.size() > 1 && std::ranges::none_of(sample_.all, whole)
                               : open && !first.ends_with('}') && std::ranges::any_of(sample_.all, closes);
    if (!certain) return;
    throw BadRecord(0, "the objects of JSON have several lines: jq -c " + std::string(array ? "'.[]' " : ". ") +
                           "FILE writes each on one line; --format lines sorts the lines as text");
  }

  /// Throws the error that the times cannot be found. `refused` is a form that the lines have but that cannot be used,
  /// or null.
  [[noreturn]] void Refuse(const TimeCandidate* refused) const {
    RefuseLongObjects();
    const std::vector<std::string_view>& lines = sample_.lines;
    const std::string shown =
        "; the first lines are " + ShownLine(lines[0]) + (lines.size() > 1 ? " and " + ShownLine(lines[1]) : "");
    if (refused != nullptr && forms_[refused->form].refusal != nullptr) {
      throw BadRecord(0, forms_[refused->form].refusal + shown);
    }
    const std::string of_lines =
        " of " + std::to_string(log_->looked) + " lines" + (lines.size() == kSampleLines ? " at the front" : "");
    const std::string why =
        candidates_.weeded() ? "the times are not in the first lines of the records, which blank lines separate"
        : log_->matched == 0
            ? "none" + of_lines + " has a time" + (given_ ? " in the form that --time gives" : " in a known form")
            : "only " + std::to_string(log_->matched) + of_lines +
                  (log_->matched == 1 ? " has a time" : " have a time") +
                  (given_ ? " in the form that --time gives" : " in a known form");
    throw BadRecord(0, why + shown +
                           "; --time FORMAT says how the times are written, such as --time '%Y-%m-%d %H:%M:%S', "
                           "--time-regex RE finds them anywhere in the line, such as --time-regex "
                           "'^(?:[^ ]+ ){4}([0-9]+)' in word 5, and --format lines sorts the lines as text");
  }

  const bool given_, groups_, prose_;
  const LogSample sample_;
  const std::shared_ptr<LogTimes> log_;
  std::vector<TimeForm> forms_;
  TimeCandidates candidates_;
  LineSet rest_;            ///< all lines
  LineSet found_;           ///< lines that have a time
  bool front_ = false;      ///< dates were found at the front of lines
  bool alone_ = false;      ///< lines were found that have only a time and perhaps its name
  bool w3c_ = false;        ///< the input is in the W3C's extended log format, whose comments begin with #
  bool announced_ = false;  ///< LogTimes::note shows a line of another form
};

}  // namespace

std::shared_ptr<const LogTimes> LearnSample(LogSample sample, const LogForms& allowed, std::int64_t latest) {
  return Learner(std::move(sample), allowed, latest, false).Learn();
}

std::shared_ptr<const LogTimes> LearnPatterns(const LogSample& sample, const LogForms& allowed, std::int64_t latest) {
  struct Matches {
    std::string pattern;
    bool named = false;
    LineSet lines;
    LogSample groups;
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
      log->notes.insert(learnt->notes.begin(), learnt->notes.end());
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

}  // namespace gpusort

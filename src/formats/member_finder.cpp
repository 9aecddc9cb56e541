#include "formats/member_finder.hpp"

#include <algorithm>
#include <iterator>

#include "formats/log_times.hpp"
#include "formats/time_finder.hpp"
#include "formats/time_text.hpp"

namespace gpusort {
namespace {

/// Returns the rank of the member's name in MemberFinder::kNames. A low rank is better.
std::size_t Rank(std::string_view path) {
  return static_cast<std::size_t>(std::ranges::find(MemberFinder::kNames, path) - std::begin(MemberFinder::kNames));
}

}  // namespace

void MemberFinder::Search(std::size_t number, std::string_view line) {
  line_ = number;
  reader_ = {line.data(), line.data() + line.size()};
  path_.clear();
  if (reader_.Take('{')) Object(0);
}

void MemberFinder::SkipBlanks() {
  while (reader_.Is(' ') || reader_.Is('\t')) ++reader_.at;
}

std::string_view MemberFinder::String() {
  const char* const begin = reader_.at;
  while (!reader_.done() && *reader_.at != '"')
    reader_.at += *reader_.at == '\\' && reader_.at + 1 != reader_.end ? 2 : 1;
  const std::string_view text(begin, static_cast<std::size_t>(reader_.at - begin));
  reader_.Take('"');
  return text;
}

void MemberFinder::Skip() {
  for (unsigned depth = 1; depth > 0 && !reader_.done();) {
    const char c = *reader_.at++;
    if (c == '"') String();
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
  }
}

void MemberFinder::Object(std::size_t depth) {
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

void MemberFinder::Value(std::string_view name, std::size_t depth) {
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

void MemberFinder::Time(std::string_view name, std::string_view text, bool is_string) {
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
    // ParseInstant() does not know milliseconds with a fraction.
    const std::size_t point = text.find('.');
    if (point != text.npos && point > kLeast) form = &*std::ranges::find_if(forms_, IsCount);
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
    member =
        members_.insert(members_.end(), {.path = path_, .form = form, .rank = Rank(path_), .first = std::string(text)});
  }
  member->varies |= member->first != text;
  member->lines.set(line_);
}

}  // namespace gpusort

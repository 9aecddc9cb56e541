#include "formats/log_fields.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "base/did_you_mean.hpp"
#include "base/text.hpp"
#include "formats/formats.hpp"
#include "formats/text_reader.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

constexpr std::string_view kBlankChars = " \t";

/// The names of LogKeys::Name, in its order.
constexpr std::string_view kFieldNames[] = {
    "vhost", "host",    "client", "ident",   "user", "request", "method",   "path",     "protocol", "status",
    "bytes", "referer", "agent",  "program", "pid",  "message", "priority", "facility", "severity", "level"};

/// Other names that programs use for a field. If a line has several of them, the first one counts.
struct OtherPaths {
  std::string_view name;
  std::array<const char*, 6> paths;
};
constexpr OtherPaths kOtherPaths[] = {
    {"level", {"severity", "lvl", "levelname", "loglevel", "log.level", "/log.level"}},
    {"message", {"msg", "MESSAGE", "log"}},
    {"host", {"hostname", "_HOSTNAME"}},
    {"program", {"SYSLOG_IDENTIFIER"}},
    {"pid", {"_PID"}}};

constexpr std::string_view kLevelWords[] = {"trace", "debug",  "info",  "notice",   "warn",  "warning",
                                            "error", "severe", "fatal", "critical", "emerg", "alert",
                                            "panic", "err",    "crit",  "verbose"};

std::string_view AfterBlanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kBlankChars), text.size()));
}

/// Removes a word and the blanks after it from the front of `text`, and returns the word.
std::string_view NextWord(std::string_view& text) {
  const std::string_view word = text.substr(0, std::min(text.find_first_of(kBlankChars), text.size()));
  text = AfterBlanks(text.substr(word.size()));
  return word;
}

/// Removes a text in double quotes and the blanks after it from the front of `text`. Returns the text without the
/// quotes, or std::nullopt if no such text is there. A quote after a backslash is part of the text.
std::optional<std::string_view> NextQuoted(std::string_view& text) {
  if (!text.starts_with('"')) return std::nullopt;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      const std::string_view quoted = text.substr(1, i - 1);
      text = AfterBlanks(text.substr(i + 1));
      return quoted;
    }
  }
  return std::nullopt;
}

/// Returns `text`, or an empty text in the same place for "-".
std::optional<std::string_view> OrNull(std::string_view text) { return text == "-" ? text.substr(0, 0) : text; }

bool IsNumber(std::string_view text) { return !text.empty() && std::ranges::all_of(text, IsDigit); }

/// Returns true if the word looks like an address: 10.0.0.1, ::1.
bool IsAddress(std::string_view word) {
  return std::ranges::all_of(word, [](char c) { return HexDigit(c) >= 0 || c == '.' || c == ':'; }) &&
         (std::ranges::count(word, '.') == 3 || std::ranges::count(word, ':') >= 2);
}

/// Returns the first word of `text` that is usual for a level.
std::optional<std::string_view> FindLevel(std::string_view text) {
  const auto in_word = [](char c) { return IsLetterOrDigit(c) || c == '_'; };
  for (auto at = text.begin(); at != text.end();) {
    if (!in_word(*at)) {
      ++at;
      continue;
    }
    const auto end = std::find_if_not(at, text.end(), in_word);
    const std::string_view word = text.substr(static_cast<std::size_t>(at - text.begin()), end - at);
    if (IsLevelWord(word)) return word;
    at = end;
  }
  return std::nullopt;
}

/// Removes the punctuation after the value of NAME=VALUE in a sentence. A closing bracket stays if its opening bracket
/// is in the value.
std::string_view WithoutEnd(std::string_view value) {
  constexpr std::string_view kOpening = "([{<", kClosing = ")]}>";
  for (; !value.empty(); value.remove_suffix(1)) {
    const std::size_t bracket = kClosing.find(value.back());
    const bool punctuation = value.back() == ',' || value.back() == ';' || value.back() == '"';
    if (!punctuation && (bracket == kClosing.npos || value.find(kOpening[bracket]) != value.npos)) break;
  }
  return value;
}

/// Calls each(name, value) for every NAME=VALUE and NAME="VALUE" in the text, until a call returns true.
template <typename Each>
void ForEachPair(std::string_view text, bool logfmt, Each each) {
  while (!(text = AfterBlanks(text)).empty()) {
    if (!logfmt) text.remove_prefix(std::min(text.find_first_not_of("([{<,;"), text.size()));
    const std::size_t stop = std::min(text.find_first_of(" \t=\""), text.size());
    if (stop == 0 || stop == text.size() || text[stop] != '=') {
      text.remove_prefix(std::min(std::max<std::size_t>(stop, 1), text.size()));
      continue;
    }
    const std::string_view name = text.substr(0, stop);
    text.remove_prefix(stop + 1);
    std::string_view rest = text;
    std::optional<std::string_view> value = NextQuoted(rest);
    if (!value) {
      value = logfmt ? NextWord(rest) : WithoutEnd(NextWord(rest));
    }
    if (each(name, *value)) return;
    text = rest;
  }
}

std::optional<std::string_view> FindPair(std::string_view text, bool logfmt, std::string_view name) {
  std::optional<std::string_view> found;
  ForEachPair(text, logfmt, [&](std::string_view pair, std::string_view value) {
    if (pair != name) return false;
    found = value;
    return true;
  });
  return found;
}

/// Returns the address after "client: " or "[client ", as the error logs of nginx and Apache write it, without a port.
std::optional<std::string_view> FindClient(std::string_view line) {
  for (const std::string_view front : {"[client ", ", client: "}) {
    const std::size_t at = line.find(front);
    if (at == line.npos) continue;
    std::string_view value = line.substr(at + front.size());
    value = value.substr(0, std::min(value.find_first_of(",] "), value.size()));
    if (std::ranges::count(value, ':') == 1) value = value.substr(0, value.find(':'));
    return value;
  }
  return std::nullopt;
}

/// Returns the priority <N> at the front of a line of syslog. Sets `rest` to the line after it.
std::optional<std::string_view> TakePriority(std::string_view& rest) {
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  const std::size_t end = rest.substr(0, 5).find('>');
  if (!rest.starts_with('<') || end == rest.npos || !IsNumber(rest.substr(1, end - 1))) return std::nullopt;
  const std::string_view number = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  return number;
}

/// Skips the structured data of RFC 5424: "-", or elements in brackets with values in quotes.
std::string_view SkipStructuredData(std::string_view rest) {
  if (!rest.starts_with('[')) {
    NextWord(rest);
    return rest;
  }
  bool quoted = false;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '\\' && quoted) {
      ++i;
    } else if (rest[i] == '"') {
      quoted = !quoted;
    } else if (rest[i] == ']' && !quoted && !rest.substr(i + 1).starts_with('[')) {
      return AfterBlanks(rest.substr(i + 1));
    }
  }
  return {};
}

}  // namespace

bool IsLevelWord(std::string_view word) {
  return std::ranges::any_of(
      kLevelWords, [&](std::string_view level) { return level.size() == word.size() && IsWord(word, level); });
}

// A key can name these fields:
// - access logs of web servers: host (also client), ident, user, request, method, path, protocol, status, bytes,
//   referer, agent, vhost
// - error logs of web servers: client
// - syslog: host, program, pid, message
// - syslog lines that begin with <N>: also priority, facility and severity, as numbers
// - JSON: the path of any member. The paths level, message, host, program and pid also find members with other usual
//   names.
// - all lines except access logs and JSON: level, message
// - all lines except JSON: any other NAME, if the line has NAME=VALUE or NAME="VALUE"
LogKeys::Name LogKeys::NameOf(std::string_view name) {
  const auto* const known = std::ranges::find(kFieldNames, name);
  return static_cast<Name>(known - std::begin(kFieldNames));
}

bool LogKeys::IsTime(const ColumnKey& key) { return !key.of_text() && key.number == 0 && key.column == "time"; }

LogKeys::LogKeys(const TableOptions& table)
    : table_(table), text_(table), paths_(PathsOf(table)), json_(paths_.all, paths_.single) {
  values_.resize(paths_.all.size());
  for (const ColumnKey& key : table.keys) {
    names_.push_back(NameOf(key.column));
    any_ |= !IsTime(key);
    in_record_ |= !key.pattern.empty();
  }
}

LogKeys::Paths LogKeys::PathsOf(const TableOptions& table) {
  Paths paths;
  for (const ColumnKey& key : table.keys) {
    paths.first.push_back(paths.all.size());
    if (key.summed) paths.single = std::min(paths.single, paths.all.size());
    if (key.of_text() || IsTime(key)) continue;
    const auto fail = [&](const std::string& why) {
      throw Error(ErrorCode::kUsage, (key.summed ? "--sum: " : "--key: ") + InQuotes(key.text) + ": " + why);
    };
    if (IsDigit(key.column[0])) fail("a field by its number needs a type: N:TYPE or N,M:TYPE, like 3:text");
    try {
      paths.all.emplace_back(key.column);
    } catch (const Error& error) {
      fail(error.what());
    }
    for (const auto& [name, more] : kOtherPaths) {
      if (name != key.column) continue;
      for (const char* const path : more) {
        if (path != nullptr) paths.all.emplace_back(path);
      }
    }
  }
  paths.first.push_back(paths.all.size());
  return paths;
}

void LogKeys::Begin(const LogTimes& log, std::string_view line, std::string_view record) {
  log_ = &log;
  line_ = line;
  record_ = record;
  form_ = kUnread;
}

void LogKeys::ReadLine() {
  std::ranges::fill(found_, std::nullopt);
  form_ = kOther;
  // In an access log, the time has brackets around it. They show where it ends, so that the time is not read again.
  if (log_->shapes.size() == 1 && log_->shapes[0].lead.ends_with('[')) {
    const std::size_t close = line_.find("] \"");
    if (close != line_.npos && ReadWeb(close)) return;
  }
  const TimeShape* shape = nullptr;
  std::size_t end = 0;  // the end of the time
  for (const TimeShape& known : log_->shapes) {
    if (known.kind == TimeShape::kJson) {
      if (line_.starts_with('{')) return ReadJson();
      continue;
    }
    TimeParts parts;
    const char* const stop = TakeShape(known, line_, parts);
    if (stop == nullptr) continue;
    shape = &known;
    end = static_cast<std::size_t>(stop - line_.data());
    break;
  }
  if (ReadWeb(end)) return;
  std::string_view rest = line_.substr(end);
  rest = AfterBlanks(rest.substr(std::min(rest.find_first_not_of("])>\"',:"), rest.size())));
  found_[kMessage] = rest;
  if (shape == nullptr) return;
  const std::string_view lead = shape->lead, name = shape->name;
  if (lead.ends_with('=') || lead.ends_with("=\"")) {
    form_ = kLogfmt;
    found_[kMessage] = std::nullopt;
  } else if (name.starts_with("glog")) {
    TextReader reader{line_.data(), line_.data() + end};
    SkipFront(reader);
    found_[kLevel] = reader.rest().substr(0, 1);
  } else if (name == "logcat") {
    ReadLogcat(rest);
  } else if (shape->place == TimeShape::kWord && shape->count == 0 && lead.empty()) {
    ReadSyslog(rest, name.starts_with("syslog"));
  }
}

void LogKeys::ReadJson() {
  form_ = kJson;
  try {
    json_.Find(std::as_bytes(std::span(line_)), values_);
  } catch (const JsonError&) {
    std::ranges::fill(values_, JsonValue());
  }
}

// A line of an access log has a request in quotes after a time in brackets.
bool LogKeys::ReadWeb(std::size_t time_end) {
  const std::size_t bracket = line_.substr(0, time_end).rfind('[');
  const std::size_t close = line_.find(']', time_end);
  if (bracket == line_.npos || close == line_.npos) return false;
  std::string_view rest = AfterBlanks(line_.substr(close + 1));
  const std::optional<std::string_view> request = NextQuoted(rest);
  const std::string_view status = NextWord(rest);
  if (!request || (status != "-" && !IsNumber(status))) return false;
  std::string_view front = line_.substr(0, bracket);
  front = front.substr(0, front.find_last_not_of(kBlankChars) + 1);  // npos + 1 is 0
  if (front.empty()) return false;
  form_ = kWeb;
  std::string_view words = front;
  std::string_view first = NextWord(words), after = words;
  if (IsAddress(NextWord(after)) && !IsAddress(first) && after.find_first_of(kBlankChars) != after.npos) {
    found_[kVhost] = first;
    first = NextWord(words);
  }
  found_[kHost] = found_[kClient] = OrNull(first);
  // A user may have blanks. A single word after the host is the user.
  if (words.find_first_of(kBlankChars) != words.npos) found_[kIdent] = OrNull(NextWord(words));
  if (!words.empty()) found_[kUser] = OrNull(words);
  found_[kStatus] = OrNull(status);
  if (!rest.empty()) found_[kBytes] = OrNull(NextWord(rest));
  for (const Name name : {kReferer, kAgent}) {
    if (const std::optional<std::string_view> quoted = NextQuoted(rest)) found_[name] = OrNull(*quoted);
  }
  found_[kRequest] = OrNull(*request);
  const std::size_t method = request->find(' ');
  if (method == request->npos) return true;
  std::string_view path = request->substr(method + 1);
  const std::size_t protocol = path.rfind(' ');
  if (protocol != path.npos && path.substr(protocol + 1).starts_with("HTTP/")) {
    found_[kProtocol] = path.substr(protocol + 1);
    path = path.substr(0, protocol);
  }
  found_[kMethod] = request->substr(0, method);
  found_[kPath] = path;
  return true;
}

void LogKeys::ReadLogcat(std::string_view rest) {
  // "PID TID LEVEL PROGRAM: MESSAGE", or "LEVEL/PROGRAM( PID): MESSAGE".
  const auto is_level = [](std::string_view word) { return word.size() == 1 && word[0] >= 'A' && word[0] <= 'Z'; };
  if (rest.size() > 1 && rest[1] == '/' && is_level(rest.substr(0, 1))) {
    found_[kLevel] = rest.substr(0, 1);
    return;
  }
  const std::string_view pid = NextWord(rest);
  NextWord(rest);
  const std::string_view level = NextWord(rest);
  if (!IsNumber(pid) || !is_level(level)) return;
  found_[kPid] = pid;
  found_[kLevel] = level;
  const std::size_t colon = rest.find(": ");
  if (colon == rest.npos) return;
  found_[kProgram] = rest.substr(0, rest.find_last_not_of(kBlankChars, colon - 1) + 1);
  found_[kMessage] = AfterBlanks(rest.substr(colon + 2));
}

void LogKeys::ReadSyslog(std::string_view rest, bool always) {
  std::string_view front = line_;
  if (const std::optional<std::string_view> priority = TakePriority(front)) {
    static constexpr std::string_view kNumbers[] = {"0",  "1",  "2",  "3",  "4",  "5",  "6",  "7",
                                                    "8",  "9",  "10", "11", "12", "13", "14", "15",
                                                    "16", "17", "18", "19", "20", "21", "22", "23"};
    TextReader reader{priority->data(), priority->data() + priority->size()};
    const auto number = static_cast<std::size_t>(reader.TakeNumber(priority->size()));
    found_[kPriority] = priority;
    if (number / 8 < std::size(kNumbers)) found_[kFacility] = kNumbers[number / 8];
    found_[kSeverity] = kNumbers[number % 8];
    if (front.starts_with("1 ")) {
      form_ = kSyslog;
      found_[kHost] = OrNull(NextWord(rest));
      found_[kProgram] = OrNull(NextWord(rest));
      found_[kPid] = OrNull(NextWord(rest));
      NextWord(rest);  // the kind of the message
      rest = SkipStructuredData(rest);
      if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
      found_[kMessage] = rest;
      return;
    }
  }
  const std::string_view host = NextWord(rest);
  std::string_view after = rest;
  const std::string_view tag = NextWord(after);  // PROGRAM: or PROGRAM[PID]:
  const std::size_t open = tag.find('['), close = tag.find(']'), colon = tag.find(':');
  const bool has_pid = open != tag.npos && close != tag.npos && open > 0 && open < close;
  const bool tagged = has_pid || (colon != tag.npos && colon > 0);
  const bool named =
      std::ranges::all_of(host, [](char c) { return IsLetterOrDigit(c) || c == '.' || c == '-' || c == '_'; });
  if (!always && (!named || !tag.ends_with(':') || FindLevel(host))) return;
  form_ = kSyslog;
  found_[kHost] = host;
  found_[kMessage] = rest;
  if (!tagged) return;
  found_[kProgram] = tag.substr(0, has_pid ? open : colon);
  if (has_pid) found_[kPid] = tag.substr(open + 1, close - open - 1);
  std::size_t end = (has_pid ? close : colon - 1) + 1;  // the end of the program and its number in `rest`
  if (rest.substr(end).starts_with(':')) ++end;
  found_[kMessage] = AfterBlanks(rest.substr(end));
}

std::optional<std::string_view> LogKeys::FindMember(std::size_t key) const {
  for (std::size_t path = paths_.first[key]; path < paths_.first[key + 1]; ++path) {
    const JsonValue& value = values_[path];
    // The place is that of the null, which --sum replaces.
    if (value.kind == JsonValue::Kind::kNull) return value.text.substr(0, 0);
    if (value.kind != JsonValue::Kind::kMissing) return value.text;
  }
  return std::nullopt;
}

std::optional<std::string_view> LogKeys::Find(std::size_t key) {
  const ColumnKey& wanted = table_.keys[key];
  if (wanted.of_text()) return text_.Find(key, wanted.pattern.empty() ? line_ : record_);
  if (form_ == kUnread) ReadLine();
  if (form_ == kJson) return FindMember(key);
  const Name name = names_[key];
  if (name != kAnother && (found_[name] || (form_ == kWeb && name <= kAgent))) return found_[name];
  std::optional<std::string_view> value;
  if (name == kClient) value = FindClient(line_);
  if (name == kLevel && (form_ == kOther || form_ == kSyslog)) {
    value = FindLevel(form_ == kSyslog ? *found_[kMessage] : line_);
  }
  if (!value) value = FindPair(line_, form_ == kLogfmt, wanted.column);
  for (const auto& [usual, names] : kOtherPaths) {
    if (usual != wanted.column) continue;
    for (const char* const other : names) {
      if (!value && other != nullptr) value = FindPair(line_, form_ == kLogfmt, other);
    }
  }
  return value;
}

std::vector<std::string> LogKeys::Names() {
  constexpr std::size_t kMost = 50;
  if (form_ == kUnread) ReadLine();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kAnother; ++i) {
    if (found_[i]) names.emplace_back(kFieldNames[i]);
  }
  if (form_ == kWeb) return names;
  if (!found_[kLevel] && FindLevel(line_)) names.emplace_back("level");
  ForEachPair(line_, form_ == kLogfmt, [&](std::string_view name, std::string_view) {
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
    return names.size() >= kMost;
  });
  return names;
}

std::string LogHint(const std::string& key, const std::string& record) {
  if (key.starts_with('~') || IsDigit(key[0])) return LineHint(key, record);
  if (record.starts_with('{')) return PathHint(key, record);
  constexpr std::int64_t kLatest = 4102444800;  // the year 2100
  try {
    const std::shared_ptr<const LogTimes> log = LearnLog(record, {.dated = true}, kLatest);
    const TableOptions none;
    LogKeys fields(none);
    fields.Begin(*log, record, record);
    const std::vector<std::string> names = fields.Names();
    return " (a record has " + NearestFirst(key, names) + ")" + DidYouMean(key, names);
  } catch (const Error&) {
    return LineHint("~", record);  // the form of the record is known only from other records
  }
}

}  // namespace gpusort

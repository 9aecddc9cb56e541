#include "formats/zone.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <set>
#include <span>

#include "base/ascii.hpp"
#include "base/gnu_quote.hpp"
#include "io/file.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// Reads +hh, +hhmm or +hh:mm. Returns the distance from UTC in seconds, positive in the east.
std::optional<int> OffsetOf(std::string_view text) {
  constexpr std::size_t kMost = 6;  // no seconds
  TextReader reader{text.data(), text.data() + text.size()};
  std::optional<std::int64_t> east;
  if (text.size() > kMost || (!reader.Is('+') && !reader.Is('-'))) return std::nullopt;
  if (!TakeZone(reader, east) || !reader.done()) return std::nullopt;
  return static_cast<int>(*east);
}

/// Returns the name of the machine's zone: the end of the path that /etc/localtime links to. Returns an empty string if
/// the machine has no zone.
std::string MachineZone() {
  constexpr std::string_view kFolder = "zoneinfo/";
  std::error_code error;
  const std::string path = std::filesystem::read_symlink("/etc/localtime", error).string();
  const std::size_t at = path.find(kFolder);
  if (at != path.npos) return path.substr(at + kFolder.size());
  return std::filesystem::exists("/etc/localtime", error) || error ? "/etc/localtime" : "";
}

/// Returns the names of all zones of the IANA database: the paths of its files that begin as zones do. Returns no name
/// if the database is not installed. Throws Error(kIo) if a folder or a file of it cannot be read.
std::set<std::string, std::less<>> NamesOfZones() {
  namespace fs = std::filesystem;
  constexpr std::string_view kMagic = "TZif";
  const char* const variable = std::getenv("TZDIR");
  const std::string folder = variable != nullptr && *variable != '\0' ? variable : "/usr/share/zoneinfo";
  std::set<std::string, std::less<>> names;
  FileSystem files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code unknown;
    const fs::file_status status = entry->status(unknown);
    // A link may lead to no file. absl refuses the files in right/, which have leap seconds.
    const std::string name = entry->path().lexically_relative(folder).string();
    const bool nowhere = status.type() == fs::file_type::not_found || unknown == std::errc::too_many_symbolic_link_levels;
    if (nowhere || name.starts_with("right/")) continue;
    error = unknown;
    if (error) break;
    if (!fs::is_regular_file(status)) continue;
    std::array<char, kMagic.size()> front{};
    try {
      files.OpenInput(entry->path().string(), false)->ReadAt(0, std::as_writable_bytes(std::span(front)));
    } catch (const Error& unread) {
      throw Error(ErrorCode::kIo, std::string("cannot read the time zones: ") + unread.what());
    }
    if (std::string_view(front.data(), front.size()) == kMagic) names.insert(name);
  }
  if (error == std::errc::interrupted) return NamesOfZones();
  if (error == std::errc::not_enough_memory) throw std::bad_alloc();
  if (error) throw Error(ErrorCode::kIo, FileMessage("cannot read the time zones", folder, error.value()));
  return names;
}

}  // namespace

Zone::Zone(const std::string& name) : name_(name), bare_name_(name), given_(!name.empty()) {
  if (const std::optional<int> offset = OffsetOf(name)) {
    zone_ = absl::FixedTimeZone(*offset);
    return;
  }
  std::string wanted = name, from;
  if (wanted.empty()) {
    const char* const variable = std::getenv("TZ");
    wanted = variable != nullptr ? variable + (*variable == ':') : MachineZone();
    from = variable != nullptr ? " (the value of TZ)" : " (the zone of this machine)";
    if (wanted.empty()) wanted = "UTC";
  }
  if (!absl::LoadTimeZone(wanted, &zone_)) {
    // absl does not say why.
    if (!name.empty() && Exists(name)) {
      throw Error(ErrorCode::kUsage, "cannot load the time zone " + QuoteWord(name) +
                                         ": its file cannot be read, it has leap seconds, or there is no memory for it");
    }
    problem_ =
        "there is no time zone " + QuoteWord(wanted) + from +
        ": give --timezone a name like Europe/Berlin, or an offset like +01:00; the package tzdata has the names";
    if (!name.empty()) Require();
  }
  bare_name_ = wanted;
  name_ = wanted + from;
}

void Zone::Require() const {
  if (!problem_.empty()) throw Error(ErrorCode::kUsage, problem_);
}

std::int64_t Zone::ToUtc(std::int64_t local, bool second) const {
  Require();
  const absl::TimeZone::TimeInfo info = zone_.At(CivilOf(local));
  return absl::ToUnixSeconds(second && info.kind == absl::TimeZone::TimeInfo::REPEATED ? info.post : info.pre);
}

bool Zone::IsTwice(std::int64_t local) const {
  return zone_.At(CivilOf(local)).kind == absl::TimeZone::TimeInfo::REPEATED;
}

Zone::Span Zone::SpanOf(std::int64_t local) const {
  Require();
  const absl::TimeZone::TimeInfo info = zone_.At(CivilOf(local));
  if (info.kind != absl::TimeZone::TimeInfo::UNIQUE) return {};
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  const auto seconds = [](absl::CivilSecond civil) { return civil - absl::CivilSecond(1970, 1, 1); };
  Span span{-kFar, kFar, local - absl::ToUnixSeconds(info.pre)};
  absl::TimeZone::CivilTransition change;
  // A transition at this very instant counts as before it.
  if (zone_.PrevTransition(info.pre + absl::Seconds(1), &change)) {
    span.begin = std::max(seconds(change.from), seconds(change.to));
  }
  if (zone_.NextTransition(info.pre, &change)) span.end = std::min(seconds(change.from), seconds(change.to));
  return span;
}

std::map<std::string, std::int64_t> Zone::Abbreviations() const {
  std::map<std::string, std::int64_t> offsets;
  absl::Time at = absl::FromCivil(absl::CivilDay(2000, 1, 1), absl::UTCTimeZone());
  const absl::Time last = absl::FromCivil(absl::CivilDay(2038, 1, 1), absl::UTCTimeZone());
  absl::TimeZone::CivilTransition change;
  do {
    const absl::TimeZone::CivilInfo info = zone_.At(at);
    offsets[LowerText(info.zone_abbr)] = info.offset;
    if (!zone_.NextTransition(at, &change)) break;
    at = zone_.At(change.to).trans;
  } while (at < last);
  return offsets;
}

std::string Zone::Rules() const {
  std::string rules;
  absl::Time at = absl::FromCivil(absl::CivilYear(1800), absl::UTCTimeZone());
  const absl::Time last = absl::FromCivil(absl::CivilYear(2200), absl::UTCTimeZone());
  absl::TimeZone::CivilTransition change;
  while (at < last) {
    const absl::TimeZone::CivilInfo info = zone_.At(at);
    rules += fmt::format("{} {} {}\n", absl::ToUnixSeconds(at), info.offset, info.zone_abbr);
    if (!zone_.NextTransition(at, &change)) break;
    at = zone_.At(change.to).trans;
  }
  return rules;
}

bool Zone::Exists(std::string_view name) {
  static const std::set<std::string, std::less<>> names = NamesOfZones();
  return names.contains(name);
}

std::int64_t Zone::ToLocal(std::int64_t utc) const {
  return zone_.At(absl::FromUnixSeconds(utc)).cs - absl::CivilSecond(1970, 1, 1);
}

ZoneWords::ZoneWords(const Zone& zone, bool local) : zone_(zone), local_(local) {
  const std::map<std::string, std::int64_t> used = zone_.Abbreviations();
  for (unsigned word = 1; word <= LastZoneWord(); ++word) {
    const ZoneWordFacts facts = FactsOf(static_cast<ZoneWord>(word));
    const auto found = used.find(std::string(facts.name));
    Meaning& meaning = meanings_.emplace_back();
    meaning.of_zone = found != used.end();
    meaning.east = meaning.of_zone ? found->second : facts.east;
    meaning.later = meaning.east - facts.east;
    meaning.warns = meaning.of_zone ? meaning.later != 0 && !zone_.given() : facts.ambiguous;
  }
}

std::string ZoneWords::Doubt(ZoneWord word) const {
  constexpr std::int64_t kMinute = 60;
  const Meaning& meaning = meanings_[word - 1u];
  if (!meaning.warns) return "";
  std::string name(FactsOf(word).name);
  for (char& letter : name) letter = static_cast<char>(letter - 'a' + 'A');
  const std::int64_t minutes = std::abs(meaning.east) / kMinute;
  const std::string taken = fmt::format("the zone {} was taken for {}{:02}:{:02}", name, meaning.east < 0 ? '-' : '+',
                                        minutes / 60, minutes % 60);
  if (meaning.of_zone) return taken + ", as in " + zone_.name() + "; --timezone NAME gives the meaning in another zone";
  const char* const example = name == "IST"   ? ", such as Asia/Kolkata,"
                              : name == "CST" ? ", such as Asia/Shanghai,"
                                              : "";
  return taken + ", and has other meanings; --timezone of a zone that uses the word" + example +
         " gives its meaning, and a format with " + name + " as text instead of %Z reads times of any --timezone";
}

}  // namespace gpusort

#include "check/zone_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <system_error>
#include <vector>

#include "check/value.hpp"

namespace check {
namespace {

/// The changes of a zone's offset, as in a file of RFC 8536.
struct ZoneFile {
  struct Change {
    std::int64_t at = 0, east = 0;  ///< the first second of the offset, and the offset
  };
  std::vector<Change> changes;  ///< in order; the first one is before all times
  bool goes_on = false;         ///< rules for summer time count after the last change

  std::int64_t EastAt(std::int64_t utc) const {
    const auto after = std::ranges::upper_bound(changes, utc, {}, &Change::at);
    return after == changes.begin() ? changes.front().east : std::prev(after)->east;
  }
};

std::int64_t Number(const std::string& bytes, std::size_t at, std::size_t size) {
  std::int64_t number = bytes.at(at) < 0 ? -1 : 0;
  for (std::size_t i = 0; i < size; ++i) number = number * 256 + static_cast<unsigned char>(bytes.at(at + i));
  return number;
}

std::optional<ZoneFile> ReadZone(const std::string& zone) {
  const std::string path = "/usr/share/zoneinfo/" + zone;
  std::error_code error;  // such as a name that is too long
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  constexpr std::size_t kHeader = 44;
  if (!bytes.starts_with("TZif2") && !bytes.starts_with("TZif3")) return std::nullopt;
  // A header has six counts: UTC flags, standard flags, leap seconds, changes, offsets, and letters.
  const auto counts = [&](std::size_t header) {
    std::array<std::size_t, 6> made{};
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] = static_cast<std::size_t>(Number(bytes, header + 20 + 4 * i, 4));
    }
    return made;
  };
  const auto old = counts(0);  // the numbers of the first half have 32 bits
  const std::size_t header = kHeader + old[0] + old[1] + 8 * old[2] + 5 * old[3] + 6 * old[4] + old[5];
  const auto count = counts(header);
  const std::size_t times = header + kHeader, kinds = times + 8 * count[3], offsets = kinds + count[3];
  ZoneFile made;
  made.changes.push_back({std::numeric_limits<std::int64_t>::min(), Number(bytes, offsets, 4)});
  for (std::size_t i = 0; i < count[3]; ++i) {
    const auto kind = static_cast<std::size_t>(Number(bytes, kinds + i, 1) & 255);
    made.changes.push_back({Number(bytes, times + 8 * i, 8), Number(bytes, offsets + 6 * kind, 4)});
  }
  made.goes_on = bytes.find(',', offsets + 6 * count[4] + count[5]) != bytes.npos;
  return made;
}

}  // namespace

std::optional<std::int64_t> UtcIn(const std::string& zone, std::int64_t local) {
  static std::mutex lock;
  static std::map<std::string, std::optional<ZoneFile>> known;
  const std::lock_guard guard(lock);
  const auto [found, first] = known.try_emplace(zone);
  if (first) found->second = ReadZone(zone);
  if (!found->second) return std::nullopt;
  const ZoneFile& file = *found->second;
  constexpr std::int64_t kDay = 86400;
  if (file.goes_on && local > file.changes.back().at - kDay) {
    throw BadTable("times after the last change in the file of " + zone + " cannot be checked");
  }
  std::optional<std::int64_t> utc, skipped;
  for (const ZoneFile::Change& change : file.changes) {
    const std::int64_t after = local - change.east, before = local - file.EastAt(after);
    if (file.EastAt(after) == change.east) utc = std::max(utc.value_or(after), after);
    if (file.EastAt(before) == change.east) skipped = std::max(skipped.value_or(before), before);
  }
  return utc ? utc : skipped;
}

}  // namespace check

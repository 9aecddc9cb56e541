// Time zones of the IANA database, for timestamps that do not name their zones, and abbreviations of zones, which can
// have several meanings. Start at Zone and ZoneWords.
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/time_text.hpp"

namespace gpusort {

/// Returns the calendar date and the time of day of `local`, which is in seconds since 1970-01-01 00:00:00 local time.
inline absl::CivilSecond CivilOf(std::int64_t local) { return absl::CivilSecond(1970, 1, 1) + local; }

class Zone {
 public:
  /// `name` is a name of the IANA database (Europe/Berlin), UTC, or an offset (+hh, +hhmm, +hh:mm). An empty name
  /// stands for the zone in the environment variable TZ, or for the zone of the machine if TZ is not set. Throws
  /// Error(kUsage) if there is no zone with the given name.
  explicit Zone(const std::string& name);

  /// A range of local times in which the zone's offset from UTC does not change.
  struct Span {
    /// The range is [begin, end), in seconds since 1970-01-01 00:00:00 local time. It is empty if `begin` and `end` are
    /// equal.
    std::int64_t begin = 0, end = 0;
    std::int64_t east = 0;  ///< local time minus UTC, in seconds

    bool has(std::int64_t local) const { return local >= begin && local < end; }
  };
  /// Converts a local time to UTC. `local` is in seconds since 1970-01-01 00:00:00 local time, and the result is in
  /// seconds since 1970 in UTC. Throws Error(kUsage) if TZ names no zone.
  /// * When clocks are set back, some local times occur twice. `second` chooses the occurrence: false for the first
  ///   one.
  /// * When clocks are set forward, some local times do not occur. They are moved forward by the same amount as the
  ///   clocks.
  std::int64_t ToUtc(std::int64_t local, bool second = false) const;
  /// Returns true if the local time `local` occurs twice, because clocks are set back. `local` is in seconds since
  /// 1970-01-01 00:00:00 local time.
  bool IsTwice(std::int64_t local) const;
  /// Returns the longest range of local times around `local` in which the zone's offset from UTC does not change. The
  /// range is empty if `local` occurs twice or never, because clocks are set back or forward. Throws Error(kUsage) if
  /// TZ names no zone.
  Span SpanOf(std::int64_t local) const;
  /// Converts seconds since 1970 in UTC to seconds since 1970-01-01 00:00:00 local time.
  std::int64_t ToLocal(std::int64_t utc) const;
  /// Returns the abbreviations that the zone has used since 2000, in lower case, such as "ist", with local time minus
  /// UTC in seconds. If an abbreviation had several offsets, the latest one counts.
  std::map<std::string, std::int64_t> Abbreviations() const;
  /// Returns true if the IANA database has a zone of this name.
  static bool Exists(std::string_view name);
  /// Returns false if TZ or the machine names a zone that does not exist.
  bool known() const { return problem_.empty(); }
  /// An error message if known() is false. Otherwise empty.
  const std::string& problem() const { return problem_; }
  /// Returns true if the constructor got a name, and false if the zone is that of TZ or of the machine.
  bool given() const { return given_; }
  /// The name of the zone and its origin, for example "Europe/Berlin (the zone of this machine)".
  const std::string& name() const { return name_; }
  /// The name of the zone without its origin.
  const std::string& bare_name() const { return bare_name_; }
  /// Returns a text that is different for zones with different local times in some year from 1800 to 2200. TZ and the
  /// machine can name a file instead of a zone, so that two zones of one name can have different times.
  std::string Rules() const;

 private:
  void Require() const;

  absl::TimeZone zone_;
  std::string name_, bare_name_;
  std::string problem_;  ///< an error message if TZ or the machine names no zone; otherwise empty
  bool given_;
};

/// How the abbreviations of zones in the timestamps of a job are read. If the zone of the job uses an abbreviation, it
/// means the time of this zone: IST is +05:30 in Asia/Kolkata. Otherwise FactsOf() gives the meaning.
class ZoneWords {
 public:
  /// If `local` is true, timestamps without a zone are local times of `zone`. Otherwise they are UTC.
  ZoneWords(const Zone& zone, bool local);

  /// Returns local time minus UTC, in seconds, for the abbreviation `word`, which must not be 0.
  std::int64_t EastOf(ZoneWord word) const { return meanings_[word - 1u].east; }
  /// If the zone of `instant` was given by an abbreviation, changes `instant` to the meaning that the abbreviation has
  /// in this job.
  void Apply(Instant& instant) const {
    if (instant.zone_word != 0) instant.seconds -= meanings_[instant.zone_word - 1u].later;
  }
  /// Returns a warning that says which meaning the abbreviation `word` has in this job. `word` must not be 0. Returns
  /// an empty text if no warning is needed.
  std::string Doubt(ZoneWord word) const;
  const Zone& zone() const { return zone_; }
  bool local() const { return local_; }

 private:
  struct Meaning {
    std::int64_t east = 0;   ///< local time minus UTC in seconds
    std::int64_t later = 0;  ///< `east` minus the usual offset of the abbreviation (ZoneWordFacts::east)
    bool of_zone = false;    ///< true: `zone_` uses the abbreviation
    /// True: a warning is needed, because the abbreviation has several meanings and no option selects one.
    bool warns = false;
  };

  const Zone zone_;
  const bool local_;
  std::vector<Meaning> meanings_;  ///< for each ZoneWord, from 1 on: its meaning is element `word - 1`
};

}  // namespace gpusort

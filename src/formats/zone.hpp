// Time zones of the IANA database, for times that do not name their zone. Start at Zone.
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace gpusort {

/// Returns the calendar date and the time of day of `local`, seconds since 1970-01-01 00:00:00 local time.
inline absl::CivilSecond CivilOf(std::int64_t local) { return absl::CivilSecond(1970, 1, 1) + local; }

class Zone {
 public:
  /// `name` is a name of the IANA database (Europe/Berlin), UTC, or an offset (+hh, +hhmm, +hh:mm). Empty: the zone of
  /// the environment variable TZ, otherwise the machine's. Throws Error(kUsage) if there is no zone `name`.
  explicit Zone(const std::string& name);

  /// A range of local times in which the distance to UTC does not change.
  struct Span {
    /// The first local time of the range, and the second after its last one, both in seconds since 1970-01-01 00:00:00
    /// local time. If they are equal, the range is empty.
    std::int64_t begin = 0, end = 0;
    std::int64_t east = 0;  ///< local time minus UTC, in seconds

    bool has(std::int64_t local) const { return local >= begin && local < end; }
  };
  /// Converts a local time to UTC. `local` is the seconds since 1970-01-01 00:00:00 local time; the result is the
  /// seconds since 1970 in UTC. A local time that occurs twice, because clocks are set back, is taken for its first
  /// occurrence, or for its second one if `second` is true. A time in the hour that is left out when clocks are set
  /// forward is moved forward by an hour. Throws Error(kUsage) if TZ names no zone.
  std::int64_t ToUtc(std::int64_t local, bool second = false) const;
  /// Returns true if the local time `local` occurs twice, because clocks are set back.
  bool IsTwice(std::int64_t local) const;
  /// Returns the longest range around `local` in which the distance to UTC does not change. The range is empty if the
  /// time `local` occurs twice or never, because clocks are set back or forward. Throws Error(kUsage) if TZ names no
  /// zone.
  Span SpanOf(std::int64_t local) const;
  /// Converts seconds since 1970 in UTC to seconds since 1970-01-01 00:00:00 local time.
  std::int64_t ToLocal(std::int64_t utc) const;
  /// Returns true if the IANA database has a zone of this name.
  static bool Exists(std::string_view name);
  /// Returns false if TZ or the machine names a zone that does not exist.
  bool known() const { return problem_.empty(); }
  /// The name of the zone, and where it comes from: "Europe/Berlin (the zone of this machine)".
  const std::string& name() const { return name_; }

 private:
  void Require() const;

  absl::TimeZone zone_;
  std::string name_;
  std::string problem_;  ///< the message if TZ or the machine names no zone; empty: there is a zone
};

}  // namespace gpusort

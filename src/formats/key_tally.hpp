// Counts what was seen in the values of key columns while keys were made. The messages after a job report these counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpusort {

struct KeyTally {
  /// How often something was seen, and where first.
  struct Seen {
    std::uint64_t count = 0;
    std::uint32_t input = 0;
    std::uint64_t record = 0;  ///< the number of the record in its input, from 0

    /// Counts the record that `tally` stands at.
    void Note(const KeyTally& tally) {
      if (count++ > 0) return;
      input = tally.input;
      record = tally.record;
    }
    /// Adds a count of records that come after `before` records.
    void Add(const Seen& later, std::uint64_t before);
  };
  struct Column {
    Seen bad;                          ///< values that are not of the column's type
    Seen days;                         ///< digits that are a day, and were taken as seconds since 1970
    std::uint64_t nulls = 0;           ///< null values, with those that are `missing` in their records
    std::uint64_t missing = 0;
    bool any = false;                  ///< there is a value of the column's type
    std::vector<std::string> samples;  ///< some of the bad values, or of the values that the type is guessed from
    std::string day;                   ///< the first of `days`
    std::uint64_t values = 0;          ///< the number of values that the type is guessed from
    unsigned looks_like = ~0u;         ///< a bit for each type that all of these values may be
  };
  std::vector<Column> columns;
  std::uint64_t short_records = 0;  ///< records without a column that is a key
  bool lacks_zone = false;          ///< timestamps were taken as UTC
  Seen other_width;                 ///< records with another number of columns than the header
  std::uint64_t first_width = 0;    ///< columns of the first of them
  Seen glued;                       ///< records that may be several records; the format's row says how they look
  std::string example;              ///< a record without a column that is a key
  unsigned char delimiter = 0;      ///< the probable delimiter, if the header is a single column; 0: none
  /// The place of the record that is read. In a sum: `record` counts the records of the last input.
  std::uint32_t input = 0;
  std::uint64_t record = 0, offset = 0;

  /// Adds the tally of the records that follow.
  void Add(const KeyTally& later);
};

}  // namespace gpusort

// KeyTally counts irregular values in key columns. The warnings at the end of a job report the counts.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace gpusort {

/// The records of a log inside and outside of the window of --since and --until. Zeros if there is no window.
struct WindowTally {
  std::uint64_t inside = 0, outside = 0;
  std::uint64_t timeless = 0;  ///< how many of the records outside have no time
  /// The earliest and the latest time of the other records outside, in whole seconds since 1970.
  std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
  std::int64_t latest = std::numeric_limits<std::int64_t>::min();

  void Add(const WindowTally& other);
};

struct KeyTally {
  /// The number of records with some irregularity, and the place of the first one.
  struct Seen {
    std::uint64_t count = 0;
    std::uint32_t input = 0;
    std::uint64_t record = 0;  ///< the number of the record in its input, counted from 0

    /// Counts the record at `tally.input` and `tally.record`.
    void Note(const KeyTally& tally) {
      if (count++ > 0) return;
      input = tally.input;
      record = tally.record;
    }
    /// Adds the count of a later part of the input. `before` is the number of records of this input before that part.
    void Add(const Seen& later, std::uint64_t before);
  };
  struct Column {
    Seen bad;   ///< values that the column's type cannot read
    Seen days;  ///< digits that look like a date but were read as seconds since 1970
    /// The number of null values, including the columns that a record lacks (`missing`).
    std::uint64_t nulls = 0;
    std::uint64_t missing = 0;
    bool any = false;  ///< at least one value is of the column's type
    /// Some bad values, or for a key without a type, some values from which the type is guessed.
    std::vector<std::string> samples;
    std::string day;            ///< the first value that `days` counts
    std::uint64_t values = 0;   ///< the number of values from which the type is guessed
    unsigned looks_like = ~0u;  ///< a bit for each type that can read all of these values
  };
  std::vector<Column> columns;
  std::uint64_t short_records = 0;  ///< how often a record lacked the column of a key
  bool lacks_zone = false;          ///< some timestamp had no zone and was read as UTC, or in a log as local time
  bool lacks_year = false;          ///< some time of a log had no year
  WindowTally window;
  /// The number of lines of a log with a time, and without one that do not begin with a blank; the first of the latter.
  std::uint64_t timed_lines = 0, untimed_lines = 0;
  std::string untimed_line;
  /// Lines of a log, and the first one.
  struct Lines {
    std::uint64_t count = 0;
    std::string first;

    void Note(std::string_view line) {
      constexpr std::size_t kMostShown = 100;
      if (count++ == 0) first = line.substr(0, kMostShown);
    }
    void Add(const Lines& later) {
      if (count == 0) first = later.first;
      count += later.count;
    }
  };
  Lines impossible_lines;  ///< lines whose time does not exist, among some of the lines without a time
  Lines other_form_lines;  ///< lines that begin with a time of another form, among some of the lines without a time
  std::string log_note;  ///< an input whose lines show the order of day and month, and that order; empty: there is none
  Seen other_width;      ///< records that have more or fewer columns than the header
  std::uint64_t first_width = 0;  ///< the number of columns of the first such record
  /// Records that probably are several records, joined by a mistake in the input. FormatRow::glued describes them.
  Seen glued;
  std::string example;  ///< a record that lacks the column of a key
  /// The probable delimiter of the file, set if the delimiter in use does not divide the header. 0 if not set.
  unsigned char delimiter = 0;
  /// The place of the current record. In a sum of tallies, `record` is the record count of the last input.
  std::uint32_t input = 0;
  std::uint64_t record = 0, offset = 0;

  /// Adds the tally of the part of the input that follows this tally's part.
  void Add(const KeyTally& later);
};

}  // namespace gpusort

// KeyTally counts irregular values in the columns that a job sorts by, such as a string in a column of numbers. A job
// prints warnings about these values at its end.
#pragma once

#include <bitset>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/value_place.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

/// Counts the log records inside and outside of the time window that the options --since and --until give. If there is
/// no window, all counts are 0.
struct WindowTally {
  std::uint64_t inside = 0, outside = 0;
  std::uint64_t timeless = 0;  ///< how many of the `outside` records have no timestamp
  /// The earliest and the latest timestamp among the records outside of the window, in whole seconds since 1970. A
  /// warning shows both if no record is in the window.
  std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
  std::int64_t latest = std::numeric_limits<std::int64_t>::min();

  void Add(const WindowTally& other);
};

struct KeyTally {
  /// Counts the records with one kind of irregular value, and stores the place of the first of these records.
  struct Seen {
    std::uint64_t count = 0;
    std::uint32_t input = 0;
    std::uint64_t record = 0;  ///< the index of the record in its input, from 0

    /// Counts one record, and stores its place if it is the first one. The place is tally.input and tally.record.
    void Note(const KeyTally& tally) {
      if (count++ > 0) return;
      input = tally.input;
      record = tally.record;
    }
    /// Adds `later`, the counts of a later part of the same input. `before` is the number of records of the input
    /// before this part. It is added to the record indexes in `later`, which count from the beginning of the part.
    void Add(const Seen& later, std::uint64_t before);
  };
  struct Column {
    Seen bad;   ///< values that are not valid for the column's type
    Seen days;  ///< values such as 20260101, which look like a date but were read as seconds since 1970
    /// `nulls` counts the records without a value in this column: the field is null, or the record has no such column.
    /// `missing` counts only the records without the column.
    std::uint64_t nulls = 0;
    std::uint64_t missing = 0;
    bool any = false;  ///< true: at least one value is of the column's type
    /// Examples of values, for messages. If the column has a given type: only values that this type cannot read.
    std::vector<std::string> samples;
    Seen unlisted;               ///< values of the type order(FILE) that are not in the file
    std::string unlisted_value;  ///< the first value that `unlisted` counts
    std::string day;             ///< the first value that `days` counts
    std::uint64_t values = 0;    ///< the number of values from which the type is guessed
    unsigned looks_like = ~0u;   ///< one bit for each ValueType, which is set if the type can read all these values
  };
  std::vector<Column> columns;
  std::uint64_t short_records = 0;  ///< how many times a record lacked the column of a key
  bool lacks_zone = false;          ///< true: a timestamp had no zone; it was read as UTC, or as local time in a log
  bool lacks_year = false;          ///< true: a timestamp in a log had no year
  WindowTally window;
  /// Only for logs. `log_records`: the number of records. `untimed_lines`: the number of lines that neither begin a
  /// record nor begin with a blank. `untimed_line`: the first of these lines, for a warning.
  std::uint64_t log_records = 0, untimed_lines = 0;
  std::string untimed_line;
  /// Only for logs: the beginning of line 2 of a record, from the first record that has more than one line.
  std::string second_line;
  /// Only for logs: the number of records whose line 2 begins with `second_line`.
  std::uint64_t alike_lines = 0;
  /// Counts lines, statements, rows or tables of one kind. `first` is the beginning of the first line or statement, or
  /// the name of the first table. It is shown in a warning.
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
  Lines impossible_lines;  ///< lines of a log with a timestamp that does not exist, such as February 30
  /// Lines of a log that begin with a timestamp in another format than the other timestamps of the log.
  Lines other_form_lines;
  Lines inner_times;  ///< other lines of a log that have a timestamp but begin no record
  /// Statements of a dump whose rows belong to a table that already had rows in an earlier part of the dump.
  Lines parted_rows;
  /// Rows of a dump with a value that the server computes, such as the next ID of the table.
  Lines renumbered_rows;
  /// Tables of a dump whose existing rows are numbered by an ALTER TABLE. Sorting can change these numbers.
  Lines renumbered_tables;
  Lines order_statements;  ///< statements of a dump whose results can depend on the order of the rows before them
  /// The names of the tables to which a dump adds a trigger or rule before it inserts rows.
  std::set<std::string> triggered_tables;
  /// Tables of a dump with a foreign key that refers to the same table, unless the dump turns off the checks of foreign
  /// keys. The server may refuse a row that comes before the row that it refers to.
  Lines self_references;
  /// Tables of a dump in which the server may keep another row after sorting, if two rows have equal unique keys.
  Lines conflict_tables;
  /// For each table of a dump: the number of rows whose key the server may truncate or convert. The keys of two rows
  /// can then become equal. See odd_keys().
  std::map<std::string, std::uint64_t> odd_rows;
  std::set<std::string> replaced_tables;  ///< tables of a dump that REPLACE, INSERT IGNORE or ON CONFLICT fills
  /// INSERT statements of a dump that are not sorted, because they have no rows (INSERT ... SELECT) or do not begin at
  /// the start of a line.
  Lines left_inserts;
  /// Warnings about timestamps that may have been read wrongly. The key is the index of the input. The value has the
  /// warnings about this input (see LogTimes::notes).
  std::map<std::uint32_t, std::map<std::string, std::string>> time_notes;
  /// The abbreviations of time zones (ZoneWord) that were already checked for a warning in `time_notes`. Add() ignores
  /// this member.
  std::bitset<256> noted_words;
  Seen other_width;               ///< records that have more or fewer columns than the header
  std::uint64_t first_width = 0;  ///< the number of columns in the first record that `other_width` counts
  /// Records that are probably several records in one, because of a mistake in the input such as a missing quote.
  Seen glued;
  std::string example;  ///< for messages: an example of a record without a column that a key names
  /// A guess of the delimiter in the file, if the chosen delimiter does not occur in the header. 0: there is no guess.
  unsigned char delimiter = 0;
  /// The place of the record that is counted next: the index of its input, the index of the record in this input, and
  /// its offset in bytes.
  std::uint32_t input = 0;
  std::uint64_t record = 0, offset = 0;
  /// With --sum: the bytes that begin with the record that is counted next, and the places of the values of this
  /// record.
  RecordSpan bytes{};
  std::vector<ValuePlace> places{};

  /// Returns the total of `odd_rows` over the tables in `replaced_tables`. `Lines::first` is the name of one of these
  /// tables.
  Lines odd_keys() const;
  /// Returns the size of `triggered_tables`. `Lines::first` is the name of one of these tables.
  Lines triggered() const;
  /// Adds `later`, the counts of the next part of the input. The caller must add the parts in the order of the input.
  void Add(const KeyTally& later);
};

}  // namespace gpusort

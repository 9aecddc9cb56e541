// KeyTally counts irregular values in the columns that a job sorts by, such as a text in a column of numbers. The
// warnings at the end of a job report the counts.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

/// Counts of the log records inside and outside of the time window that the options --since and --until give. All
/// counts are 0 if there is no window.
struct WindowTally {
  std::uint64_t inside = 0, outside = 0;
  std::uint64_t timeless = 0;  ///< how many of the `outside` records have no time at all
  /// The earliest and the latest time of the records outside of the window that have a time, in whole seconds since
  /// 1970. The warning that no record is in the window shows both.
  std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
  std::int64_t latest = std::numeric_limits<std::int64_t>::min();

  void Add(const WindowTally& other);
};

struct KeyTally {
  /// Counts the records with one kind of irregular value, and remembers where the first of these records is.
  struct Seen {
    std::uint64_t count = 0;
    std::uint32_t input = 0;
    std::uint64_t record = 0;  ///< the number of the record in its input, counted from 0

    /// Counts the current record, which is record number `tally.record` of the input number `tally.input`.
    void Note(const KeyTally& tally) {
      if (count++ > 0) return;
      input = tally.input;
      record = tally.record;
    }
    /// Adds the counts of a later part of the same input file. The record numbers in `later` count from the beginning
    /// of that part. `before`, the number of records in the file before the part, is added to them.
    void Add(const Seen& later, std::uint64_t before);
  };
  struct Column {
    Seen bad;   ///< values that the column's type cannot read
    Seen days;  ///< values such as 20260101, which look like a date but were read as seconds since 1970
    /// `nulls` is the number of records without a value in this column: the field is null, or the record has no such
    /// column. `missing` counts only the records without the column.
    std::uint64_t nulls = 0;
    std::uint64_t missing = 0;
    bool any = false;  ///< at least one value is of the column's type
    /// Examples for messages: some of the bad values. If the user gave no type for the key: some of the values from
    /// which a type is guessed.
    std::vector<std::string> samples;
    std::string day;            ///< the first value that `days` counts
    std::uint64_t values = 0;   ///< the number of values from which the type is guessed
    unsigned looks_like = ~0u;  ///< one bit per ValueType: set if the type can read all of these values
  };
  std::vector<Column> columns;
  std::uint64_t short_records = 0;  ///< how often a record had no column for a key
  bool lacks_zone = false;          ///< some timestamp had no zone and was read as UTC, or in a log as local time
  bool lacks_year = false;          ///< some time of a log had no year
  WindowTally window;
  /// `timed_lines` counts the lines of a log that have a time. `untimed_lines` counts the lines that have no time and
  /// do not begin with a blank. `untimed_line` is the first of these. A warning shows it if `untimed_lines` is the
  /// larger number.
  std::uint64_t timed_lines = 0, untimed_lines = 0;
  std::string untimed_line;
  /// Counts lines of one kind in a log (in a dump: statements or tables), and keeps the beginning of the first for a
  /// message.
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
  Lines impossible_lines;   ///< lines with a time that does not exist, such as February 30
  Lines other_form_lines;   ///< lines that begin with a time that is written in another way than the times of this log
  Lines inner_times;        ///< other lines of a log that have a time but begin no record
  Lines parted_rows;        ///< the statements of a dump with rows of a table that had rows in another part of it
  Lines renumbered_rows;    ///< the tables of rows of a dump that lack a value which the server counts up
  Lines renumbered_tables;  ///< tables of a dump that get a column after their rows, whose values the server counts up
  Lines order_statements;   ///< statements after rows of a dump whose results can depend on the order of the rows
  /// Tables of a dump that have rows, and tables that have no rows before a trigger or rule that their rows start.
  std::set<std::string> filled_tables, triggered_tables;
  /// Tables of a dump with a foreign key to themselves. After sorting, a row may stand before the row that it refers
  /// to, which the server may refuse. Not counted if the dump turns off the checks of foreign keys.
  Lines self_references;
  /// Tables of a dump that REPLACE, INSERT IGNORE or ON CONFLICT fills, and that are not sorted by their primary keys.
  /// If two rows have the same primary key, the server may keep another one of them after sorting.
  Lines replacing_inserts;
  /// For each table of a dump: the number of rows with a key that the server may change, so that it becomes equal to
  /// another key. This matters only for tables that are also in `replaced_tables`: see odd_keys().
  std::map<std::string, std::uint64_t> odd_rows;
  std::set<std::string> replaced_tables;  ///< tables of a dump that REPLACE, INSERT IGNORE or ON CONFLICT fills
  /// INSERT statements of a dump that stay where they are, because they have no rows to sort (INSERT ... SELECT), or
  /// begin after other text on a line.
  Lines left_inserts;
  /// For a message: the name of an input whose dates can be read in several ways, such as day/month or month/day, and
  /// which of these was chosen, and why (LogTimes::note). Empty: there is no such input.
  std::string log_note;
  Seen other_width;               ///< records whose number of columns differs from the header's
  std::uint64_t first_width = 0;  ///< the number of columns of the first record that `other_width` counts
  /// Records that are probably several records in one, because of a mistake in the input such as a missing quote.
  /// FormatRow::glued says for each format how this is noticed.
  Seen glued;
  std::string example;  ///< an example of a record without the column of a key, for messages
  /// The delimiter that the file probably uses, if the chosen delimiter does not occur in the header. 0: there is no
  /// reason for such a guess.
  unsigned char delimiter = 0;
  /// The position of the current record: the number of its input file, the number of the record in the file, and its
  /// offset in bytes. After Add(), `record` is the number of records that were counted in the last file.
  std::uint32_t input = 0;
  std::uint64_t record = 0, offset = 0;

  /// Returns the rows that `odd_rows` counts for tables in `replaced_tables`, and the name of the first such table.
  Lines odd_keys() const;
  /// Returns the tables in `filled_tables` that are also in `triggered_tables`.
  Lines triggered() const;
  /// Adds the counts of the next part of the input. The caller must add the parts in their order in the input.
  void Add(const KeyTally& later);
};

}  // namespace gpusort

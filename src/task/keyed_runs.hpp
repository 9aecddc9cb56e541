// Sorted runs of SQL dumps and logs, for a sort that is divided into tasks. Each line of a run is a sort key, followed
// by a record. Tasks merge the runs as lines, and remove the keys from the output. Start at HasKeyedRuns.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kernels/records/record.hpp"
#include "runs/gap_list.hpp"
#include "spec/job_spec.hpp"
#include "task/task_records.hpp"

namespace gpusort {

/// Returns true if the sorted runs of the job have sort keys, because the keys cannot be made from the records alone.
/// In a dump, they depend on the table; in a log, on the input and on the records before.
bool HasKeyedRuns(const JobSpec& spec);
/// Returns the JobSpec for reading and merging the sorted runs of the job `spec`. It differs from `spec` only if
/// HasKeyedRuns() is true.
JobSpec SpecOfRuns(const JobSpec& spec);

/// The gaps (bytes between two rows) of all parts of an SQL dump. A part consists of rows that are sorted together,
/// such as the rows of one table.
struct DumpGaps {
  GapTexts texts;
  std::map<std::uint64_t, GapList> lists;  ///< the list of each part; the map key is the index of the part

  /// Adds `text`, the bytes between two rows. `key` contains their position in the dump. The gaps of a part must be
  /// added in the order of the dump.
  void Add(const GapKey& key, std::string_view text);
  /// Adds all gaps (bytes between two rows) in `others`, a result of Load(). They must come later in the dump.
  void Add(const DumpGaps& others);
  /// Returns the list of part number `part`, or null if the part has no bytes between its rows.
  const GapList* Find(std::uint64_t part) const;
  /// Calls GapList::Close() for all lists, and returns the lists as a string for Load().
  std::string Save();
  /// Throws Error(kIntegrity) if `from` is not a result of Save().
  static DumpGaps Load(std::string_view from);
};

/// Reads one sorted run with sort keys in order, and counts the bytes and rows that it has read.
class KeyedRunReader {
 public:
  /// - `runs`: the layout of the records that Take() will get, with the number of fields before each of them.
  /// - `place`: the position of the first of these records.
  explicit KeyedRunReader(const RecordLayout& runs, const RunPlace& place = {}) : keyed_(runs), place_(place) {}
  /// Reads `records`, the next whole records of the sorted run. Adds the bytes between rows to *gaps, unless `gaps` is
  /// null.
  void Take(RecordSpan records, DumpGaps* gaps = nullptr);
  const RunPlace& place() const { return place_; }

 private:
  const RecordLayout keyed_;
  RunPlace place_;
  std::vector<std::byte> scratch_;
};

/// Returns how many bytes come before `place` in its sorted run, and how many rows of part number `part` of the dump. A
/// part is, for example, the rows of one table.
DumpBefore BeforePart(const RunPlace& place, std::uint64_t part);

/// Returns the offset of a record in the output, in bytes, without the header.
/// - `before`: the numbers of bytes and rows before the record in all sorted runs (the sum of BeforePart()).
/// - `gaps`: the bytes between the rows of the record's table. Null: there are none.
std::uint64_t OutputBytes(const DumpBefore& before, const GapList* gaps, const GapTexts& texts);

}  // namespace gpusort

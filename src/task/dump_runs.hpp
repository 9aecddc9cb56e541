// Sorted runs of SQL dumps, for a sort that is divided into tasks. Each line of such a run is a sort key, followed by a
// record of the dump. Tasks merge the runs as lines, and remove the keys from the output. Start at DumpPlace.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kernels/records/record.hpp"
#include "runs/gap_list.hpp"
#include "spec/job_spec.hpp"
#include "task/task_records.hpp"

namespace gpusort {

/// Returns the JobSpec for reading and merging the sorted runs of the job `spec`. It differs from `spec` only if the
/// job sorts an SQL dump.
JobSpec SpecOfRuns(const JobSpec& spec);

/// The texts between the rows (gaps) of all parts of an SQL dump. A part consists of rows that are sorted together,
/// such as the rows of one table.
struct DumpGaps {
  GapTexts texts;
  std::map<std::uint64_t, GapList> lists;  ///< the list of each part; the map key is the index of the part

  /// Adds `text`, a text between two rows. `key` contains the position of `text` in the dump. The texts of a part must
  /// be added in the order of the dump.
  void Add(const GapKey& key, std::string_view text);
  /// Adds the texts of `others`, which come later in the dump. `others` must be a result of Load().
  void Add(const DumpGaps& others);
  /// Returns the list of part number `part`, or null if the part has no texts between its rows.
  const GapList* Find(std::uint64_t part) const;
  /// Completes all lists, and returns them in the form that Load() reads.
  std::string Save();
  /// Throws Error(kIntegrity) if `from` is not a result of Save().
  static DumpGaps Load(std::string_view from);
};

/// Reads one sorted run of an SQL dump in order, and counts the bytes and rows that it has read.
class DumpReader {
 public:
  /// `runs` is the layout of the lines of the run. `place` is the position at which reading begins. The default is the
  /// beginning of the run.
  explicit DumpReader(const RecordLayout& runs, const DumpPlace& place = {});
  /// Reads `records`, the next whole records of the run. Adds the texts between rows to *gaps, unless `gaps` is null.
  void Take(RecordSpan records, DumpGaps* gaps = nullptr);
  const DumpPlace& place() const { return place_; }

 private:
  RecordLayout keyed_;
  DumpPlace place_;
  std::vector<std::byte> scratch_;
};

/// Returns the counts of bytes and rows in one run that are sorted before a certain record. `place` is the position in
/// the run after these bytes and rows. `part` is the index of the record's part of the dump, such as its table.
DumpBefore BeforePart(const DumpPlace& place, std::uint64_t part);

/// Returns the size in bytes of the output before a certain record, without the header. `before` is the sum of
/// BeforePart() for all runs. `gaps` is the list of texts between rows in the record's part of the dump, or null if
/// there are none.
std::uint64_t OutputBytes(const DumpBefore& before, const GapList* gaps, const GapTexts& texts);

}  // namespace gpusort

// Runs of SQL dumps. A row of a dump names neither its table nor its statement, and text between two rows (a gap, see
// runs/gap_list.hpp) keeps its place among all rows of the table. A run of a dump therefore has each record with its
// sort key before it, as a line. Runs are merged as lines, and the keys are removed from the output. Each task that
// merges a part of the output must know how many rows of the table come before its first row. Start at DumpPlace.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kernels/records/record.hpp"
#include "runs/gap_list.hpp"
#include "spec/job_spec.hpp"
#include "task/task_records.hpp"

namespace gpusort {

/// Returns the JobSpec for reading and merging the sorted runs of a job. `spec` describes the job. The result differs
/// from `spec` only if the job sorts a dump.
JobSpec SpecOfRuns(const JobSpec& spec);

/// The gaps (texts between two rows) of all parts of a dump. The keys of `lists` are the indices of the parts.
struct DumpGaps {
  GapTexts texts;
  std::map<std::uint64_t, GapList> lists;

  /// Adds `text`, a gap whose sort key is `key`.
  void Add(const GapKey& key, std::string_view text);
  /// Adds the gaps of `others`, whose rows come later in the dump.
  void Add(const DumpGaps& others);
  /// Returns the gaps of the part, or null if it has none.
  const GapList* Find(std::uint64_t part) const;
  std::string Save();
  /// Throws Error(kIntegrity) if `from` is not a result of Save().
  static DumpGaps Load(std::string_view from);
};

/// Reads the records of one run of a dump, one after the other. Counts the bytes and rows before the place that it has
/// reached in the run (DumpPlace).
class DumpReader {
 public:
  /// `runs` is the layout of the lines in runs. `place` says what comes before the record at which reading begins. By
  /// default, reading begins at the first record of the run.
  explicit DumpReader(const RecordLayout& runs, const DumpPlace& place = {});
  /// Reads `records`, which must be whole records and the next records of the run. If some of the records are gaps
  /// (texts between two rows), adds these gaps to *gaps, unless `gaps` is null.
  void Take(RecordSpan records, DumpGaps* gaps = nullptr);
  const DumpPlace& place() const { return place_; }
  /// Returns the checksum of all taken records as they are in the output, without their sort keys.
  const RecordSum& sum() const { return sum_; }

 private:
  RecordLayout keyed_;
  DumpPlace place_;
  RecordSum sum_;
  std::vector<std::byte> scratch_;
};

/// Converts `place` to the counts that OutputBytes() needs. `place` is the place in a run where a part of the output
/// begins. `part` is the index of the part of the dump that has the first record of this part of the output. The record
/// may be in another run.
DumpBefore BeforePart(const DumpPlace& place, std::uint64_t part);

/// Returns the size of the output before a record. `before` is what comes before the record in all runs, and `gaps` has
/// the gaps of the record's part of the dump, or is null.
std::uint64_t OutputBytes(const DumpBefore& before, const GapList* gaps, const GapTexts& texts);

}  // namespace gpusort

// Finds where --split ends a part of the output: at the first change of the key after the part has its share of all
// bytes. The caller passes all records of the output in order, in the layout of runs. Start at PartBorders::Take.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/records/records.hpp"
#include "runs/job.hpp"

namespace gpusort {

class PartBorders {
 public:
  /// `bytes` is the size of all records that will be passed. With -u and --top, later stages may drop some of them.
  PartBorders(const Job& job, std::uint64_t bytes) : job_(job), bytes_(static_cast<double>(bytes)) {}

  /// Returns the size of the longest prefix of `records` that lies in a single part. `records` must contain the next
  /// records, at least one. The caller passes the remaining records to the next call.
  std::uint64_t Take(RecordSpan records);
  /// Returns the index of the part that contains the prefix of the last Take().
  unsigned part() const { return part_; }

 private:
  /// Returns true if the next part should begin at byte `at` or earlier.
  bool Due(std::uint64_t at) const;
  bool SameKey(RecordSpan a, RecordSpan b) const;
  double BytesOfTop(RecordSpan first) const;

  const Job& job_;
  double bytes_;  ///< size of all records; each part has an equal share
  unsigned part_ = 0;
  std::uint64_t at_ = 0;         ///< size of the records so far
  std::vector<std::byte> last_;  ///< the last record so far
};

}  // namespace gpusort

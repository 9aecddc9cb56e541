// Where --split ends a part and begins the next: at the first change of the key at or behind the part's share of all
// bytes. Goes over the records of the output in order, as they lie in runs. Start at PartBorders::Take.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/records/records.hpp"
#include "runs/job.hpp"

namespace gpusort {

class PartBorders {
 public:
  /// Of `bytes` of records, of which -u and --top may leave some out behind this.
  PartBorders(const Job& job, std::uint64_t bytes) : job_(job), bytes_(static_cast<double>(bytes)) {}

  /// Looks at the next records, at least one. Returns how many bytes at the front are in one part; the rest come again.
  std::uint64_t Take(RecordSpan records);
  /// Of what Take returned.
  unsigned part() const { return part_; }

 private:
  /// The next part should begin at byte `at`.
  bool Due(std::uint64_t at) const;
  bool SameKey(RecordSpan a, RecordSpan b) const;
  double BytesOfTop(RecordSpan first) const;

  const Job& job_;
  double bytes_;  ///< of which each part has its share
  unsigned part_ = 0;
  std::uint64_t at_ = 0;         ///< bytes that were taken
  std::vector<std::byte> last_;  ///< record of them
};

}  // namespace gpusort

// Finds the places in the output where --split=N begins a new part. Each part should get an Nth of all bytes, but
// records with equal keys stay in one part. A part that has its share of the bytes therefore ends at the next change of
// the key. Start at PartBorders::Take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/records/records.hpp"
#include "runs/job.hpp"

namespace gpusort {

class PartBorders {
 public:
  /// `bytes` is the total size of all records that will be passed to Take(), including records that -u or --top drop
  /// later.
  PartBorders(const Job& job, std::uint64_t bytes) : job_(job), bytes_(static_cast<double>(bytes)) {}

  /// Returns how many bytes at the beginning of `records` belong to the part with the number part().
  /// - `records`: the next records of the output, at least one.
  /// - Pass the remaining records to the next call.
  std::uint64_t Take(RecordSpan records) {
    if (at_ == 0 && job_.spec.order.top > 0) bytes_ = std::min(bytes_, BytesOfTop(records));
    const RecordLayout& layout = job_.layout;
    std::uint64_t count = records.size();
    // `last_` is the record before `records`. If the last record has an equal key, all keys between are equal, too.
    if (Due(at_ + count) && (last_.empty() || !SameKey(last_, LastRecord(records, layout)))) {
      RecordSpan before = last_;
      for (count = 0; count < records.size();) {
        const RecordSpan record = FirstRecord(records.subspan(count), layout);
        if (Due(at_ + count) && !before.empty() && !SameKey(before, record)) {
          if (count > 0) break;
          while (Due(at_)) ++part_;
        }
        before = record;
        count += record.size();
      }
    }
    at_ += count;
    const RecordSpan last = LastRecord(records.first(count), layout);
    last_.assign(last.begin(), last.end());
    return count;
  }

  /// Returns the number of the part (0, 1, ...) that contains the records for which Take() was last called.
  unsigned part() const { return part_; }

 private:
  /// Returns true if the current part may end at byte `at` of the output, because it is large enough: with --split=N,
  /// part i may end after (i + 1) / N of all bytes. Returns false for the last part.
  bool Due(std::uint64_t at) const {
    const unsigned next = part_ + 1;
    return next < job_.spec.target.split && static_cast<double>(at) * job_.spec.target.split >= bytes_ * next;
  }

  bool SameKey(RecordSpan a, RecordSpan b) const {
    if (job_.layout.keyed() && !job_.groups.keyed()) {
      a = Body(a, job_.layout);
      b = Body(b, job_.layout);
    }
    return CompareRecords(a, b, job_.groups) == 0;
  }

  /// Estimates the size of the records that --top keeps, in bytes. `first` are the first records of the output.
  double BytesOfTop(RecordSpan first) const {
    std::uint64_t kept = 0;
    RecordSpan before;
    ForEachRecord(first, job_.layout, [&](RecordSpan record) {
      kept += before.empty() || !job_.spec.order.unique || CompareRecords(before, record, job_.layout) != 0;
      before = record;
    });
    return static_cast<double>(first.size()) / static_cast<double>(kept) * static_cast<double>(job_.spec.order.top);
  }

  const Job& job_;
  double bytes_;  ///< the total size of all records in bytes, of which each part gets an equal share
  unsigned part_ = 0;
  std::uint64_t at_ = 0;         ///< the size in bytes of the records that were passed so far
  std::vector<std::byte> last_;  ///< the last record that was passed to Take()
};

}  // namespace gpusort

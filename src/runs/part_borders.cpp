#include "runs/part_borders.hpp"

#include <algorithm>

namespace gpusort {

std::uint64_t PartBorders::Take(RecordSpan records) {
  if (at_ == 0 && job_.spec.order.top > 0) bytes_ = std::min(bytes_, BytesOfTop(records));
  const RecordLayout& layout = job_.layout;
  std::uint64_t count = records.size();
  // Records are compared only if a border is due, and only if the key changes among them.
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

bool PartBorders::Due(std::uint64_t at) const {
  const unsigned next = part_ + 1;
  return next < job_.spec.target.split && static_cast<double>(at) * job_.spec.target.split >= bytes_ * next;
}

bool PartBorders::SameKey(RecordSpan a, RecordSpan b) const {
  if (job_.layout.keyed() && !job_.groups.keyed()) {
    a = Body(a, job_.layout);
    b = Body(b, job_.layout);
  }
  return CompareRecords(a, b, job_.groups) == 0;
}

/// Estimates the size of the records that --top keeps from the `first` records.
double PartBorders::BytesOfTop(RecordSpan first) const {
  std::uint64_t kept = 0;
  RecordSpan before;
  ForEachRecord(first, job_.layout, [&](RecordSpan record) {
    kept += before.empty() || !job_.spec.order.unique || CompareRecords(before, record, job_.layout) != 0;
    before = record;
  });
  return static_cast<double>(first.size()) / static_cast<double>(kept) * static_cast<double>(job_.spec.order.top);
}

}  // namespace gpusort

// Sorted runs and a reference sort for records of any layout, for tests of the stages between sorting and writing.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/records/records.hpp"
#include "records.hpp"

namespace gpusort::testing {

inline RecordSpan View(const Bytes& bytes) { return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}; }

inline void Append(Bytes& bytes, RecordSpan more) {
  const auto* const begin = reinterpret_cast<const unsigned char*>(more.data());
  bytes.insert(bytes.end(), begin, begin + more.size());
}

inline std::vector<RecordSpan> SplitRecords(RecordSpan bytes, const RecordLayout& layout) {
  std::vector<RecordSpan> records;
  ForEachRecord(bytes, layout, [&](RecordSpan record) { records.push_back(record); });
  return records;
}

/// The reference sort: sorts records stably by CompareRecords.
inline Bytes StableSortedRecords(RecordSpan bytes, const RecordLayout& layout) {
  std::vector<RecordSpan> records = SplitRecords(bytes, layout);
  std::stable_sort(records.begin(), records.end(),
                   [&](RecordSpan a, RecordSpan b) { return CompareRecords(a, b, layout) < 0; });
  Bytes sorted;
  for (const RecordSpan record : records) Append(sorted, record);
  return sorted;
}

/// Sorted records as a lane (a worker of a backend) returns them, in host memory or in memory that counts as a
/// device's.
class RecordsInMemory : public SortedRecords {
 public:
  RecordsInMemory(Bytes bytes, const RecordLayout& layout, bool on_device = false)
      : bytes_(std::move(bytes)), records_(CountRecords(View(bytes_), layout)), on_device_(on_device) {}
  const std::byte* data() const override { return View(bytes_).data(); }
  int device() const override { return on_device_ ? 0 : kOnHost; }
  std::uint64_t bytes() const override { return bytes_.size(); }
  std::uint64_t records() const override { return records_; }
  bool was_sorted() const override { return false; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }

 private:
  Bytes bytes_;
  std::uint64_t records_;
  bool on_device_;
};

}  // namespace gpusort::testing

// The form in which --count writes the number of equal records: in front of a line as uniq -c does, as the first column
// of a row, or as the first member of a JSON object. Start at CountForm.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/records/records.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

class CountForm {
 public:
  /// The bytes that a record gets, and where.
  struct Insertion {
    std::uint64_t at = 0;  ///< the offset in the record
    std::uint8_t size = 0;
    char text[39];

    RecordSpan bytes() const { return std::as_bytes(std::span(text, size)); }
  };

  explicit CountForm(const JobSpec& spec);

  /// Returns the header of the output: `header`, the header of the inputs, with the name of the new column.
  std::vector<std::byte> HeaderOf(RecordSpan header) const;
  /// Returns the bytes that say that `count` records are equal to `record`, which has no sort key. Throws
  /// Error(kBadInput) if the record has no place for them. Any thread may call this.
  Insertion For(std::uint64_t count, RecordSpan record) const;

 private:
  enum class Place { kBefore, kColumn, kMember };

  Place place_ = Place::kBefore;
  char delimiter_ = ' ';
  mutable std::atomic<bool> warned_{false};
};

}  // namespace gpusort

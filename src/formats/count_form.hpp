// Writes the counts of equal records (--count) into the records. The place of a count is before a line, as in uniq -c,
// or the first column of a row, or the first member of a JSON object. Start at CountForm.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "formats/record_format.hpp"
#include "kernels/records/records.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

class CountForm {
 public:
  /// The string that is inserted into a record, and the place for it.
  struct Insertion {
    std::uint64_t at = 0;  ///< the offset in the record
    std::uint8_t size = 0;
    char text[39];

    RecordSpan bytes() const { return std::as_bytes(std::span(text, size)); }
  };

  explicit CountForm(const JobSpec& spec);

  /// Returns the header of the output. `header` is the header of the inputs. If the counts are a column, adds the name
  /// of this column before the other names.
  std::vector<std::byte> HeaderOf(RecordSpan header) const;
  /// Returns `count` as a string to insert into `record`, and its place. `record` has no sort key before it.
  /// - Throws Error(kBadInput) if the format is JSON and `record` is not an object.
  /// - Any thread may call this.
  Insertion For(std::uint64_t count, RecordSpan record) const;

 private:
  enum class Place { kBefore, kColumn, kMember };

  Place place_ = Place::kBefore;
  char delimiter_ = ' ';
  PrefixedLines prefixed_;
  mutable std::atomic<bool> warned_{false};
};

}  // namespace gpusort

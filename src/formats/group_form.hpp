// The output can have one record for each group of equal records. GroupForm writes the number of records in the group
// (--count) and the sums of columns (--sum) into this record. Start at GroupForm.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/count_form.hpp"
#include "formats/decimal_sum.hpp"
#include "formats/value_place.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// What the output tells about a group of equal records.
struct GroupResult {
  std::uint64_t count = 1;       ///< the number of records
  std::string_view sum_texts{};  ///< with --sum: the result of GroupForm::TextsOf()
};

class GroupForm {
 public:
  /// `spec` must outlive this object.
  explicit GroupForm(const JobSpec& spec);

  /// Returns true with --sum. Each record then has a mark before it, which tells where in the record the values of
  /// --sum are (formats/value_place.hpp).
  bool sums() const { return !columns_.empty(); }
  ColumnSums NoSums() const { return ColumnSums(columns_.size()); }
  /// Adds the values of --sum in a record to `sums` and to `totals`. `marked` is the record with its mark. A value that
  /// is null adds nothing. Throws WrongResult if a value is no number.
  void AddValues(RecordSpan marked, ColumnSums& sums, ColumnSums& totals) const;
  /// Returns the sums of a group as text, in which long runs of the same digit are abbreviated. The text of a sum is
  /// empty if the group has no value.
  std::string TextsOf(const ColumnSums& sums) const;
  /// Returns the texts for a group of one record: an empty text for each sum, so that the record is not changed.
  std::string NoTexts() const { return std::string(columns_.size(), '\0'); }
  /// Adds the sums in `texts`, which TextsOf() has made, to `totals`. Throws WrongResult if one of them is no number.
  void AddTexts(std::string_view texts, ColumnSums& totals) const;

  /// Calls put(bytes) with the bytes of a group in the output, in consecutive pieces. `record` is the kept record of
  /// the group without its sort key, and with its mark if there is one.
  /// - Throws Error(kBadInput) if the record has no place for the count or for a sum.
  /// - Any thread may call this.
  template <typename Put>
  void Write(const GroupResult& group, RecordSpan record, Put put) const {
    if (!sums()) {
      const CountForm::Insertion insertion = count_->For(group.count, record);
      if (insertion.at > 0) put(record.first(insertion.at));
      put(insertion.bytes());
      return put(record.subspan(insertion.at));
    }
    const MarkedRecord marked(record);
    std::uint64_t at = 0;
    for (const Edit& edit : EditsOf(group, marked)) {
      if (edit.at > at) put(marked.record.subspan(at, edit.at - at));
      put(std::as_bytes(std::span(edit.text)));
      at = edit.at + edit.removed;
    }
    if (at < marked.record.size()) put(marked.record.subspan(at));
  }

 private:
  /// A change of a record: `text` replaces the `removed` bytes at the offset `at`.
  struct Edit {
    std::uint64_t at = 0, removed = 0;
    std::string text;
  };
  struct Column {
    const ColumnKey* key;
    /// For JSON: the name of the member with the value, with quotes and a colon. Empty if the value is not in the
    /// outermost object.
    std::string member;
  };

  /// Returns the changes of the record in their order.
  std::vector<Edit> EditsOf(const GroupResult& group, const MarkedRecord& marked) const;
  /// Returns the change that replaces the value at `place` by its sum, which is `sum`.
  Edit Replace(const Column& column, const ValuePlace& place, std::string_view sum, RecordSpan record) const;
  /// Returns the change that adds a member with the sum to a JSON object.
  Edit AddMember(const Column& column, std::string_view sum, RecordSpan record) const;
  /// Returns the sum as a JSON number. If the sum is not in the syntax of JSON numbers, returns it as a JSON string.
  static std::string JsonOf(const ColumnKey& key, std::string_view sum);

  std::optional<CountForm> count_;
  std::vector<Column> columns_;
  bool json_ = false;
  bool log_ = false;    ///< true: a record can be a line of JSON
  int quote_ = -1;      ///< -1: the format has no quotes
  int delimiter_ = -1;  ///< the byte that ends a field; -1: a field ends at blanks
};

}  // namespace gpusort

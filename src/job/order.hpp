// The order of the records of a job, and the layouts of plain records and of records with keys. Start at Ordered.
#pragma once

#include <memory>

#include "formats/keyed_lines.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// The order of a job. Records are sorted as they are in the inputs and the output, or as keyed records. The
/// JobSpec must outlive this object.
struct Ordered {
  std::unique_ptr<KeyMaker> maker;
  KeyScheme* keyed = nullptr;  ///< null: records are sorted without keys
  RecordLayout plain;          ///< the layout of records without keys
  bool table = false;          ///< records have columns and are compared only by their keys
  bool optional = false;       ///< `keyed` only saves time, and `plain` gives the same order
  /// The layout for --split: neighbours that compare equal have equal keys. Like `plain`, without the last resort. For
  /// a table, the layout of keyed records.
  RecordLayout groups;

  const RecordFormat& format() const { return *format_; }
  /// Returns the keys of records with columns, or null if records can be compared as `plain`.
  KeyScheme* column_keys() const { return table ? keyed : nullptr; }
  /// Returns the layout in which two records can be compared: with keys for a table, otherwise without.
  RecordLayout comparable() const { return table ? keyed->layout() : plain; }
  /// Finds the columns of the keys in the header that all inputs share. Does nothing for other records and without a
  /// header. Throws Error if a key names no column.
  void ReadHeader(RecordSpan header) const {
    if (table && !header.empty()) keyed->ReadHeader(header);
  }

  /// `gpu`: a GPU may compare the records, so keys that only save time are not made.
  Ordered(const JobSpec& spec, bool gpu);

 private:
  void FindGroups(const JobSpec& spec);

  std::unique_ptr<RecordFormat> format_;
  std::unique_ptr<KeyedOrder> lines_;
  std::unique_ptr<LineOrdered> group_order_;
  std::unique_ptr<KeyMaker> group_keys_;
  std::unique_ptr<KeyedOrder> group_lines_;
};

}  // namespace gpusort

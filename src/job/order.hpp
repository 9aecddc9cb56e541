// The order of records as they lie in inputs and output, and of what is sorted.
#pragma once

#include <memory>

#include "formats/keyed_lines.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Both are the same, or records are sorted with keys. The JobSpec must outlive this object.
struct Ordered {
  std::unique_ptr<KeyMaker> maker;
  KeyScheme* keyed = nullptr;  ///< null: records are sorted as they lie
  RecordLayout plain;
  bool table = false;  ///< records have columns, and cannot be compared without `keyed`
  bool optional = false;  ///< `keyed` only saves time: `plain` does without
  /// With --split: neighbours that are equal in it have equal keys. As `plain`, without the last resort; of a table, of
  /// keyed records.
  RecordLayout groups;

  const RecordFormat& format() const { return *format_; }
  /// The keys of records with columns; null: records can be compared as `plain`.
  KeyScheme* column_keys() const { return table ? keyed : nullptr; }

  /// `gpu`: one may compare them as they lie, so that keys that only save time are not made.
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

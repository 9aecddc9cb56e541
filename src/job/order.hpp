// The order of records as they lie in inputs and output, and of what is sorted.
#pragma once

#include <memory>

#include "data/keyed_lines.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Both are the same, or lines are sorted with keys. The JobSpec must outlive this object.
struct Ordered {
  std::unique_ptr<KeyMaker> keys;
  std::unique_ptr<RecordKeyer> keyed;  ///< null: records are sorted as they lie
  RecordLayout plain;
  bool table = false;  ///< they cannot be compared as they lie: `keyed` knows a format
  bool optional = false;  ///< `keyed` only saves time: `plain` does without
  /// With --split: neighbours that are equal in it have equal keys. As `plain`, without the last resort; of a table, of
  /// keyed records.
  RecordLayout groups;

  /// What knows the format; null: records are fixed, or lines.
  RecordKeyer* format() const { return table ? keyed.get() : nullptr; }

  /// `gpu`: one may compare them as they lie, so that keys that only save time are not made.
  Ordered(const JobSpec& spec, bool gpu);

 private:
  void FindGroups(const JobSpec& spec);

  std::unique_ptr<LineOrdered> group_order_;
  std::unique_ptr<KeyMaker> group_keys_;
  std::unique_ptr<KeyedOrder> group_lines_;
};

}  // namespace gpusort

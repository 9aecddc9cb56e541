// The order of records as they lie in inputs and output, and of what is sorted.
#pragma once

#include <memory>

#include "data/keyed_lines.hpp"
#include "support/options.hpp"

namespace gpusort {

/// Both are the same, or lines are sorted with keys. Options must outlive it.
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
  Ordered(const Options& options, bool gpu);

 private:
  void FindGroups(const Options& options);

  std::unique_ptr<LineOrdered> group_order_;
  std::unique_ptr<KeyMaker> group_keys_;
  std::unique_ptr<KeyedOrder> group_lines_;
};

}  // namespace gpusort

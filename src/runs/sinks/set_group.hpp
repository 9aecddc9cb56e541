// Decides which records of a group of equal records the output keeps, by the inputs from which the records of the group
// come (--minus, --intersect). Start at SetGroup.
#pragma once

#include <cstdint>

#include "spec/job_spec.hpp"

namespace gpusort {

/// The state of a group of equal records while its records are read one by one. The files of --minus and --intersect
/// are the first inputs of the job, and equal records stay in the order of the inputs. Their records therefore come
/// first in the group, and then it is known whether the other records are kept.
class SetGroup {
 public:
  /// Takes the next record of the group, which comes from the input with the index `input`. Returns true if the output
  /// gets the record.
  bool Takes(std::uint64_t input, const Order& order) {
    if (input < order.minus) {
      left_out_ = true;
      return false;
    }
    if (input < order.set_inputs()) {
      // The records of one file come one after the other.
      if (input + 1 != last_) ++found_;
      last_ = input + 1;
      return false;
    }
    return !left_out_ && found_ >= order.intersect;
  }

 private:
  bool left_out_ = false;    ///< true: a file of --minus has a record of the group
  std::uint64_t last_ = 0;   ///< the index of the last input of --intersect with a record of the group, plus 1; or 0
  std::uint64_t found_ = 0;  ///< the number of files of --intersect that have a record of the group
};

}  // namespace gpusort

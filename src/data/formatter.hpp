// What stands in the output in place of each record, behind the proof.
#pragma once

#include <string>

#include "records/records.hpp"

namespace gpusort {

class Formatter {
 public:
  virtual ~Formatter() = default;
  /// Appends what is written for `record`. Any thread.
  virtual void Append(RecordSpan record, std::string& out) const = 0;
};

}  // namespace gpusort

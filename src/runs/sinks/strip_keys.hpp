#pragma once

#include "formats/keyed_record.hpp"
#include "runs/sinks/chunk.hpp"

namespace gpusort {

/// Removes the keys that are stored before records. Runs on any thread.
class StripKeys : public Stage {
 public:
  explicit StripKeys(const RecordLayout& layout) : layout_(layout) {}
  void Change(Chunk& chunk) override { chunk.records = DropKeys(chunk.records, layout_); }

 private:
  const RecordLayout& layout_;
};

}  // namespace gpusort

#pragma once

#include <atomic>
#include <cstdint>

#include "data/proof.hpp"
#include "runs/run.hpp"
#include "runs/sinks/chunk.hpp"

namespace gpusort {

/// Implements --top: keeps the first `count` records. Chunks must come in output order, after Look.
class TakeTop : public Stage {
 public:
  /// `enough` is set to true once all further records are dropped.
  TakeTop(std::uint64_t count, const RecordLayout& layout, const OutputProof& proof, std::atomic<bool>& enough)
      : front_(count, false, layout), proof_(proof), enough_(enough) {}

  void Change(Chunk& chunk) override {
    const std::uint64_t kept = front_.Take(chunk.records);
    enough_ = front_.done();
    if (kept == chunk.records.size()) return;
    chunk.records = chunk.records.first(kept);
    chunk.seen = proof_.Look(chunk.records);
  }

 private:
  FrontCounter front_;
  const OutputProof& proof_;
  std::atomic<bool>& enough_;
};

}  // namespace gpusort

#pragma once

#include "data/proof.hpp"
#include "runs/sinks/chunk.hpp"

namespace gpusort {

/// Sums up the records of a chunk and checks their order. Runs on any thread.
class Look : public Stage {
 public:
  explicit Look(const OutputProof& proof) : proof_(proof) {}
  void Change(Chunk& chunk) override { chunk.seen = proof_.Look(chunk.records); }

 private:
  const OutputProof& proof_;
};

}  // namespace gpusort

// What of the limit on memory goes to codecs, headers, keys and threads, and what is left for the plan.
#pragma once

#include <cstdint>
#include <optional>

#include "data/inputs.hpp"
#include "io/codec/codec.hpp"
#include "job/make_plan.hpp"
#include "job/order.hpp"
#include "runs/key_stage.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// What a job's threads make and compress with, beside the plan.
struct ThreadShares {
  KeyShape keys{};
  EncoderOptions encoder{};  ///< of the output
};

/// What runs of an earlier process are like.
struct KeptShape {
  bool keyed = false, compressed = false;
};

class MemoryShares {
 public:
  /// All that is given must outlive it. `threads`: at most so many; `merging`: the inputs are runs as they are.
  /// `kept`: of a job that goes on, whose runs stay as they are.
  MemoryShares(const JobSpec& spec, const Ordered& ordered, const Inputs& inputs, unsigned threads, bool merging,
               std::optional<KeptShape> kept = {})
      : spec_(spec), ordered_(ordered), inputs_(inputs), most_threads_(threads), merging_(merging), kept_(kept) {}

  unsigned threads() const { return most_threads_; }
  /// Of runs. With little memory lines are compared as they lie.
  RecordLayout LayoutAt(std::uint64_t limit) const;
  /// Bytes of the records, as far as one can tell; a stream may have any number.
  std::uint64_t LeastExpected() const;
  /// Sets everything in `facts` that hangs on the limit on all memory. Takes fewer threads if a plan needs that. The
  /// rest of `facts` must be set.
  ThreadShares Share(PlanFacts& facts, std::uint64_t limit) const;

 private:
  /// The same with so many threads.
  ThreadShares ShareAmong(unsigned threads, PlanFacts& facts, std::uint64_t limit) const;
  EncoderOptions EncoderAt(std::uint64_t limit, unsigned threads) const;
  bool CompressesTemp(std::uint64_t limit, std::uint64_t free_ram) const;
  bool MakesKeys(std::uint64_t limit) const;

  const JobSpec& spec_;
  const Ordered& ordered_;
  const Inputs& inputs_;
  const unsigned most_threads_;
  const bool merging_;
  const std::optional<KeptShape> kept_;
};

/// Keyed records are longer than records: how much is seen in the first of some inputs, and `keys` is tuned for them.
void PlanKeys(PlanFacts& facts, KeyScheme& keys, const Inputs& inputs, HostMemory& memory);

}  // namespace gpusort

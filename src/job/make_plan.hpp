// Makes the plan of a sort. MakePlan is a pure function of what was asked, what the input and the machine are, and what
// the backend can do; --explain prints its result, tests compare it. A smaller plan (memory refused, GPU lost) is a new
// plan from smaller facts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/records/record.hpp"
#include "runs/plan.hpp"

namespace gpusort {

/// What a plan is made from.
struct PlanFacts {
  RecordLayout layout;
  std::uint64_t input_bytes = 0;
  bool input_known = true;  ///< false: a stream of unknown size
  bool rereadable = true;
  std::vector<std::uint64_t> sorted_inputs;  ///< -m: bytes of each input, which is a run already; empty: sort
  std::uint64_t limit = 0;                   ///< on all memory, for messages; 0: the sum of these two
  std::uint64_t memory = 0;                  ///< host limit, bytes, without what codecs take
  std::uint64_t codec_memory = 0;            ///< what they take of --memory
  std::uint64_t device_memory = 0;           ///< limit on each GPU, bytes; 0 on the CPU
  std::uint64_t free_ram = 0;                ///< RAM that the page cache may take beside `memory`
  bool output_file = true;                   ///< a regular file of the records as they are (else streamed)
  bool checks = false;                       ///< --check: there is a ring and no plan
  bool unique = false;
  std::uint64_t top = 0;  ///< records wanted of each run and of the output; 0: all
  bool gpu = false;
  unsigned gpus = 1;
  std::vector<int> lost_gpus{};  ///< CUDA ordinals of those that failed: they are not opened again
  unsigned threads = 1;
  std::function<std::uint64_t(std::uint64_t)> lane_bytes;  ///< Backend::LaneBytes of a slot size
  std::uint64_t temp_place_bytes = 0;  ///< what compressing a spilled block takes beside it; 0: none is compressed
  unsigned temp_places = 0;            ///< those of an earlier attempt, which stay; 0: planned
  bool spilled = false;                ///< runs of an earlier attempt lie in blocks of `block_bytes`
  std::uint64_t kept_record = 0;       ///< such a record may be in runs that another process kept
  bool keeps = false;                  ///< all runs go to the spill, where a merge keeps them until it is done
  std::uint64_t batch_bytes = 0;       ///< asked for; 0: planned
  std::uint64_t block_bytes = 0;       ///< asked for; 0: planned
  std::uint64_t fan_in = 0;            ///< asked for; 0: planned
  std::uint64_t max_record = 0;        ///< of lines; asked for; 0: planned
  bool grows = false;                  ///< longer lines are taken all the same, and take more memory than planned
  /// At most so many more has a record of so many bytes with the keys that it is given; none: it gets none.
  std::function<std::uint64_t(std::uint64_t)> key_bytes{};
  /// The facts with another limit on all memory, codecs included. Not given: only `memory` differs.
  std::function<PlanFacts(std::uint64_t)> at_limit;
};

/// Whether the output is written past the page cache; known before a backend is.
bool DirectOutput(const PlanFacts& facts);

/// What is known of runs and blocks may take so much beside the memory: it is little for all but huge inputs, and small
/// limits need not be made larger for it.
inline constexpr std::uint64_t kFreeIndex = std::uint64_t{32} << 20;

/// Uses nothing of the backend but whether it is a GPU. Errors as MakePlan's.
Ring MakeRing(const PlanFacts& facts);

/// Whether MakePlan makes a plan of `facts`. Memory of a GPU that is not known yet counts as large.
bool IsEnough(const PlanFacts& facts);

/// The number of threads to try when the memory is too small for `threads`, which is more than 1.
inline unsigned FewerThreads(unsigned threads) { return threads - std::max(1u, threads / 8); }

/// A GPU's memory cannot hold what even the smallest plan needs.
struct TooLittleGpuMemory : Error {
  explicit TooLittleGpuMemory(const std::string& why) : Error(ErrorCode::kOutOfMemory, why) {}
};

/// `ring`: as MakeRing gave it, perhaps for another backend. Error(kUsage) if the memory cannot hold what even the
/// smallest plan needs (it says how much would do), TooLittleGpuMemory if the GPU's cannot.
Plan MakePlan(const PlanFacts& facts, const Ring& ring);

/// The plan as text, a fact a line.
std::string Describe(const Plan& plan);
/// Bytes of the longest line that is taken unless something else is asked for.
std::uint64_t UsualMaxRecord(std::uint64_t memory);

}  // namespace gpusort

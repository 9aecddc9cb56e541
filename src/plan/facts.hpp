// The facts that a plan is made from. They are values, so that they can be compared, stored, printed and generated.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/codec/codec.hpp"
#include "kernels/records/record.hpp"

namespace gpusort {

/// The requests of the command line.
struct Asked {
  std::uint64_t limit = 0;        ///< on all host memory, in bytes
  std::uint64_t batch_bytes = 0;  ///< 0: planned
  std::uint64_t block_bytes = 0;  ///< 0: planned
  std::uint64_t fan_in = 0;       ///< 0: planned
  std::uint64_t max_record = 0;   ///< size of the longest line; 0: planned
  bool grows = false;             ///< longer lines are taken as well, and take more memory than planned
  bool checks = false;            ///< --check: there is a ring and no plan
  bool keeps = false;             ///< all runs go to the spill, and stay there until they are merged
  bool unique = false;
  std::uint64_t top = 0;  ///< number of records that each run and the output keep; 0: all
  bool in_place = true;   ///< the output is a regular file that holds the records as runs hold them
  bool header = false;    ///< the inputs may have headers
  bool traces = false;    ///< --trace
  bool page = false;      ///< --report
  Codec output_codec = Codec::kNone;
  /// The codec of spilled blocks. No value: the planner decides whether blocks are compressed.
  std::optional<Codec> temp_codec;

  friend bool operator==(const Asked&, const Asked&) = default;
};

/// The jobs in which records get keys, which are stored before the records.
enum class KeysWhen {
  kNever,
  kInSmallJobs,  ///< keys only save time: files that stay in memory with the longer lines
  kUnlessTight,  ///< all jobs but those with very little memory, which compare lines without keys
  kAlways,
};

/// The number of bytes that keys add to a record: a linear function of the size of the record.
struct KeyCost {
  std::uint64_t fixed = 0, per_byte = 0;

  /// Returns an upper bound for a record of `bytes` bytes.
  std::uint64_t Most(std::uint64_t bytes) const { return fixed + per_byte * bytes; }
  friend bool operator==(const KeyCost&, const KeyCost&) = default;
};

/// Facts about the inputs.
struct InputFacts {
  RecordLayout plain;  ///< of the records without keys
  RecordLayout keyed;  ///< of the records with keys, unless `keys` is kNever
  KeysWhen keys = KeysWhen::kNever;
  KeyCost key_cost;            ///< of the records of phase 1, if they have keys
  std::uint64_t bytes = 0;     ///< of all records, keys included
  std::uint64_t expected = 0;  ///< estimate of the bytes of all records without keys, for streams as well
  bool known = true;           ///< `bytes` is exact or a good estimate; false for a stream
  bool rereadable = true;
  std::vector<std::uint64_t> sorted;  ///< -m: size of each input, which is a run; empty: the inputs are sorted
  std::uint64_t header_bytes = 0;     ///< size of the header that was read
  std::vector<Codec> codecs;          ///< the codecs of the inputs, each once

  friend bool operator==(const InputFacts&, const InputFacts&) = default;
};

/// Runs in the spill that an earlier attempt, or an earlier process, has made.
struct EarlierFacts {
  bool spilled = false;           ///< runs of an earlier attempt lie in blocks
  bool compressed = false;        ///< blocks of another process may be compressed
  std::uint64_t block_bytes = 0;  ///< size of the blocks that runs lie in; 0: none are there
  std::uint64_t longest = 0;      ///< runs of another process may have records of this size
  unsigned temp_places = 0;       ///< places for compressing blocks, which stay; 0: planned

  friend bool operator==(const EarlierFacts&, const EarlierFacts&) = default;
};

/// Facts about the machine.
struct MachineFacts {
  unsigned threads = 1;        ///< upper bound; with little memory a plan uses fewer
  unsigned cores = 1u << 16;   ///< upper bound for the threads that make keys
  std::uint64_t free_ram = 0;  ///< RAM that the page cache may use in addition to the limit
  bool gpu = false;            ///< a GPU sorts
  unsigned gpus = 1;
  std::vector<int> lost_gpus;       ///< CUDA ordinals of GPUs that failed, and are not opened again
  std::uint64_t device_memory = 0;  ///< limit on the memory of each GPU; 0: not known yet

  friend bool operator==(const MachineFacts&, const MachineFacts&) = default;
};

/// Memory that the stages take by the plan's sizes.
struct StageCosts {
  /// Device memory of a lane, by the size of its slots, for every size in LaneSlots(). Empty without a GPU, and before
  /// the GPU is open.
  std::map<std::uint64_t, std::uint64_t> gpu_lanes;
  std::uint64_t run_index = 0;    ///< host memory that describes a run during the merge
  std::uint64_t block_index = 0;  ///< host memory that describes a block of a run

  /// Returns the device memory of a lane with slots of `slot_bytes`. For a size that the backend was not asked for:
  /// that of the next larger size, or `slot_bytes`.
  std::uint64_t GpuLane(std::uint64_t slot_bytes) const {
    const auto found = gpu_lanes.lower_bound(slot_bytes);
    return found == gpu_lanes.end() ? slot_bytes : found->second;
  }
  friend bool operator==(const StageCosts&, const StageCosts&) = default;
};

struct PlanFacts {
  Asked asked;
  InputFacts input;
  EarlierFacts earlier;
  MachineFacts machine;
  StageCosts costs;

  /// -m of inputs that are merged as they are.
  bool merges() const { return !input.sorted.empty(); }
  /// The size of spilled blocks that is given; 0: planned.
  std::uint64_t block_bytes() const { return earlier.block_bytes != 0 ? earlier.block_bytes : asked.block_bytes; }
  friend bool operator==(const PlanFacts&, const PlanFacts&) = default;
};

/// Returns `facts` on one line: name=value for every fact that differs from its default.
std::string Describe(const PlanFacts& facts);

}  // namespace gpusort

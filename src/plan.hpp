// Every decision of a sort: sizes, tiers, fan-in, levels, I/O. MakePlan is a pure function of what was asked, what the
// input and the machine are, and what the backend can do; --explain prints its result, tests compare it. A smaller plan
// (memory refused, GPU lost) is a new plan from smaller facts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend.hpp"
#include "records/record.hpp"

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
  std::uint64_t device_memory = 0;           ///< device limit, bytes; 0 on the CPU
  std::uint64_t free_ram = 0;                ///< RAM that the page cache may take beside `memory`
  bool output_file = true;                   ///< a regular file of the records as they are (else streamed)
  bool checks = false;                       ///< --check: there is a ring and no plan
  bool unique = false;
  std::uint64_t top = 0;  ///< records wanted of each run and of the output; 0: all
  bool gpu = false;
  unsigned threads = 1;
  std::function<std::uint64_t(std::uint64_t)> lane_bytes;  ///< Backend::LaneBytes of a slot size
  std::uint64_t temp_place_bytes = 0;  ///< what compressing a spilled block takes beside it; 0: none is compressed
  unsigned temp_places = 0;            ///< those of an earlier attempt, which stay; 0: planned
  bool spilled = false;                ///< runs of an earlier attempt lie in blocks of `block_bytes`
  std::uint64_t batch_bytes = 0;       ///< asked for; 0: planned
  std::uint64_t block_bytes = 0;       ///< asked for; 0: planned
  std::uint64_t fan_in = 0;            ///< asked for; 0: planned
  std::uint64_t max_record = 0;        ///< of lines; asked for; 0: planned
  bool grows = false;                  ///< longer lines are taken all the same, and take more memory than planned
  std::uint64_t key_bytes = 0;         ///< at most so many more has a line with the keys that it is given
  /// The facts with another limit on all memory, codecs included. Not given: only `memory` differs.
  std::function<PlanFacts(std::uint64_t)> at_limit;
};

/// The buffers between reading and lanes. Made from the first facts alone, so that reading starts before the backend
/// is open.
struct Ring {
  std::uint64_t block_bytes = 0, blocks = 0;
  std::uint64_t piece_bytes = 0;  ///< whole records read into a block at once
  std::uint64_t max_record = 0;   ///< bytes of the longest record that is planned for, and taken
  bool grows = false;             ///< on the CPU lines are taken up to kMostLine
  unsigned threads = 1;

  std::uint64_t bytes() const { return block_bytes * blocks; }
  friend bool operator==(const Ring&, const Ring&) = default;
};

struct Plan {
  bool gpu = false;
  std::uint64_t memory = 0, device_memory = 0;
  // Phase 1.
  Ring ring;
  std::uint64_t slot_bytes = 0;   ///< room for a batch: whole records
  std::uint64_t batch_bytes = 0;  ///< how far it is filled; less than a slot if lines may be longer than batches
  std::uint32_t slots = 0, lanes = 1;
  std::uint64_t resident_runs = 0;    ///< how many runs may stay in slots
  std::uint64_t host_tier_bytes = 0;  ///< GPU only: runs held in host memory when the device is full
  std::uint64_t runs = 0;             ///< expected, lines of usual length assumed; 0 if unknown
  bool merges_only = false;           ///< -m: the runs are the inputs
  bool spills = false;                ///< some runs, of phase 1 or of a merge level, need temp space
  // Spill and phase 2.
  std::uint64_t block_bytes = 0;   ///< of a spilled block, header included
  std::uint64_t spill_blocks = 0;  ///< buffers for writing runs
  unsigned temp_places = 0;        ///< blocks being compressed or expanded at once; 0: none is compressed
  unsigned io_threads = 1;
  std::uint64_t fan_in = 0;  ///< runs merged at once from blocks
  std::uint32_t levels = 1;
  std::uint64_t window_bytes = 0;  ///< merged at once: whole records
  std::uint32_t windows = 3;       ///< output buffers
  bool windows_in_ring = false;    ///< they take the ring's place
  std::uint32_t merge_lanes = 1;
  std::uint64_t merge_blocks = 0;  ///< read-ahead buffers
  bool direct_temp = false, direct_output = false;
  std::uint64_t temp_bytes = 0;   ///< what the spill takes at most; 0 if unknown, none, or none expected
  std::uint64_t level_bytes = 0;  ///< what levels before the last write
  std::uint64_t index_bytes = 0;  ///< memory for what is known of runs and blocks; from kFreeIndex on it is counted
};

/// Neighbours [first, first + count) that a level merges.
struct MergeGroup {
  std::size_t first = 0, count = 0;
};
/// The next merge that brings runs of these sizes, in order, down to `fan_in`: the cheapest neighbours, and no more
/// than needed, because what is merged now is read and written once more. Runs of kResident bytes lie in memory: they
/// count as none and are never merged here. Nothing if the runs are few enough; Error(kOutOfMemory) if no neighbours
/// are left.
inline constexpr std::uint64_t kResident = ~std::uint64_t{0};
std::optional<MergeGroup> NextMerge(const std::vector<std::uint64_t>& run_bytes, std::uint64_t fan_in);

/// Where all merges to come lead: they are gone through one by one, unless they are too many to wait for.
struct MergeOutlook {
  std::uint32_t levels = 1;
  std::uint64_t bytes = 0;      ///< that levels before the last write
  std::uint64_t temp_peak = 0;  ///< of all extents of the spill
};
/// `temp_bytes`: of each run, what it takes of the spill now. `merged_temp_bytes(bytes)`: what a merged run takes.
/// `freed_as_read`: else the spill has source and result side by side.
MergeOutlook LookAhead(std::vector<std::uint64_t> run_bytes, std::vector<std::uint64_t> temp_bytes,
                       std::uint64_t fan_in, bool freed_as_read,
                       const std::function<std::uint64_t(std::uint64_t)>& merged_temp_bytes);

/// Offsets of 32 bits, with room for the batch that a line is part of.
inline constexpr std::uint64_t kMostLine = (std::uint64_t{1} << 32) - (std::uint64_t{1} << 26);

/// Whether the output is written past the page cache; known before a backend is.
bool DirectOutput(const PlanFacts& facts);

/// What is known of runs and blocks may take so much beside the memory: it is little for all but huge inputs, and small
/// limits need not be made larger for it.
inline constexpr std::uint64_t kFreeIndex = std::uint64_t{32} << 20;

/// Uses nothing of the backend but whether it is a GPU. Errors as MakePlan's.
Ring MakeRing(const PlanFacts& facts);

/// `ring`: as MakeRing gave it, perhaps for another backend. Error(kUsage) if the memory cannot hold what even the
/// smallest plan needs (it says how much would do).
Plan MakePlan(const PlanFacts& facts, const Ring& ring);

/// The plan as text, a fact a line.
std::string Describe(const Plan& plan);
/// Bytes of the longest line that is taken unless something else is asked for.
std::uint64_t UsualMaxRecord(std::uint64_t memory);

}  // namespace gpusort

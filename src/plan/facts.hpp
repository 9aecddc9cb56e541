// The values from which the plan of a sort (memory and batch sizes) is made: about the options, the inputs and the
// machine. Plain data. Start at PlanFacts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/codec/codec.hpp"
#include "kernels/records/record.hpp"

namespace gpusort {

/// The settings of the command line on which the plan of a sort depends. A size of 0 means that the planner chooses it.
struct Asked {
  std::uint64_t limit = 0;        ///< the limit on all host memory in bytes
  std::uint64_t batch_bytes = 0;  ///< size of a batch, which is the records that are sorted together
  std::uint64_t block_bytes = 0;  ///< size of a block in temp files
  std::uint64_t fan_in = 0;       ///< maximum number of sorted runs in one merge
  std::uint64_t max_record = 0;   ///< size of the longest line
  bool grows = false;             ///< lines longer than `max_record` are accepted, and take more memory than planned
  bool checks = false;  ///< the job is --check, which only reads; it needs buffers for reading and no further plan
  bool keeps = false;   ///< all sorted runs are written to temp files, so that a later process can continue
  bool unique = false;
  std::uint64_t top = 0;  ///< maximum number of records in each sorted run and in the output; 0: no maximum
  bool in_place = true;   ///< the output is a regular file, and records have the same bytes in it as in the sorted runs
  bool header = false;    ///< the inputs may have headers
  bool traces = false;    ///< --trace is given
  bool page = false;      ///< --report is given
  Codec output_codec = Codec::kNone;
  std::uint64_t group_bytes = 0;    ///< for a file of columns: the encoded size of a row group
  std::uint64_t kept_bytes = 0;     ///< the most memory for rows of which only the keys are sorted (RowStore); 0: none
  std::optional<Codec> temp_codec;  ///< the codec of temp files; no value: the planner decides about compression

  friend bool operator==(const Asked&, const Asked&) = default;
};

/// Says when a sort key is computed for each record and stored before the record.
enum class KeysWhen {
  kNever,
  kInSmallJobs,  ///< keys only save time; they are made if the input and the keys fit into memory
  kUnlessTight,  ///< keys are made unless memory is very small; without keys, lines are compared directly
  kAlways,
};

/// The largest size of the sort key that is stored before a record, in bytes: `fixed + per_byte * size of the record`.
struct KeyCost {
  std::uint64_t fixed = 0, per_byte = 0;

  /// Returns the largest size of the sort key that is stored before a record of `bytes` bytes.
  std::uint64_t Most(std::uint64_t bytes) const { return fixed + per_byte * bytes; }
  friend bool operator==(const KeyCost&, const KeyCost&) = default;
};

/// Values that describe the inputs of a sort.
struct InputFacts {
  RecordLayout plain;  ///< layout of the records without sort keys
  RecordLayout keyed;  ///< layout of the records with sort keys before them; not set if `keys` is kNever
  KeysWhen keys = KeysWhen::kNever;
  KeyCost key_cost;            ///< the bytes that sort keys add to records
  std::uint64_t bytes = 0;     ///< size of all records with their sort keys
  std::uint64_t expected = 0;  ///< estimated size of all records without sort keys, also known for streams
  std::uint64_t records = 0;   ///< estimated number of lines; 0: it is unknown, or all records have the same size
  bool window = false;         ///< true: the job sorts the records of a window of time, whose number is unknown
  bool known = true;           ///< `bytes` is exact or a good estimate; false: the input is a stream, or has a window
  bool rereadable = true;      ///< all inputs are regular files, which can be read at any offset and again
  bool direct = false;         ///< most bytes come from a disk, without the page cache
  /// Size of each input, if the inputs are merged without being sorted (-m); otherwise empty.
  std::vector<std::uint64_t> sorted;
  std::uint64_t header_bytes = 0;  ///< size of the header that was read
  std::vector<Codec> codecs;       ///< the codecs of the inputs, each once
  unsigned decoder_threads = 1;    ///< number of threads that expand an input

  friend bool operator==(const InputFacts&, const InputFacts&) = default;
};

/// Values that describe temp files with sorted runs (sorted parts of the data) that were written earlier: by an attempt
/// of this process that has failed, or by an earlier process.
struct EarlierFacts {
  bool spilled = false;           ///< temp files may contain sorted runs of an earlier attempt, which has failed
  bool compressed = false;        ///< temp files of an earlier process may be compressed
  std::uint64_t block_bytes = 0;  ///< size of the blocks of these sorted runs; 0: there are no earlier runs
  std::uint64_t longest = 0;      ///< size of the longest record in sorted runs of an earlier process
  unsigned temp_workspaces = 0;   ///< number of compression buffers that were allocated earlier; 0: none

  friend bool operator==(const EarlierFacts&, const EarlierFacts&) = default;
};

/// Values that describe the machine on which a sort runs.
struct MachineFacts {
  unsigned threads = 1;             ///< maximum number of threads; with little memory, a plan uses fewer threads
  unsigned cores = 1u << 16;        ///< maximum number of threads that make keys
  std::uint64_t free_ram = 0;       ///< bytes of RAM that the page cache may use; not part of the limit on memory
  bool gpu = false;                 ///< GPUs sort instead of the CPU
  unsigned gpus = 1;                ///< number of GPUs; until they are opened, the number that the job wants
  std::uint64_t device_memory = 0;  ///< limit on the memory of each GPU in bytes; 0: not known yet

  friend bool operator==(const MachineFacts&, const MachineFacts&) = default;
};

/// The memory that parts of a sort take. A lane is a worker that sorts or merges. A slot is the memory for the records
/// that are sorted together.
struct StageCosts {
  /// The bytes of GPU memory that a lane takes, for each slot size in bytes. Empty until a GPU is open.
  std::map<std::uint64_t, std::uint64_t> gpu_lanes;
  std::uint64_t run_index = 0;    ///< bytes of host memory for the description of a sorted run during the merge
  std::uint64_t block_index = 0;  ///< bytes of host memory for the description of a block of a sorted run

  /// Returns the bytes of GPU memory that a lane takes, if its slots have `slot_bytes` bytes. Can be an estimate.
  std::uint64_t GpuLane(std::uint64_t slot_bytes) const {
    // An unknown size costs as much as the next larger size, or as much as one slot.
    const auto found = gpu_lanes.lower_bound(slot_bytes);
    return found == gpu_lanes.end() ? slot_bytes : found->second;
  }
  friend bool operator==(const StageCosts&, const StageCosts&) = default;
};

/// All values from which the plan of a sort is made.
struct PlanFacts {
  Asked asked;
  InputFacts input;
  EarlierFacts earlier;
  MachineFacts machine;
  StageCosts costs;

  /// Returns true if the inputs are merged without being sorted first (-m).
  bool merges() const { return !input.sorted.empty(); }
  /// Returns the size of blocks in temp files, in bytes, if earlier temp files or an option decide this size. Returns 0
  /// if the planner may choose the size.
  std::uint64_t block_bytes() const { return earlier.block_bytes != 0 ? earlier.block_bytes : asked.block_bytes; }
  friend bool operator==(const PlanFacts&, const PlanFacts&) = default;
};

/// Returns one line of text for people: `name=value` for every fact that differs from its default.
std::string Describe(const PlanFacts& facts);

}  // namespace gpusort

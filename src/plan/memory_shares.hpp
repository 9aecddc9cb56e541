// The first step of planning: divides the memory among codecs, headers, reports, keys and the plan's buffers.
#pragma once

#include <cstdint>
#include <optional>

#include "data/inputs.hpp"
#include "plan/facts.hpp"

namespace gpusort {

namespace planning {
inline constexpr std::uint64_t kKiB = 1024, kMiB = kKiB * kKiB, kPage = 4096;
}

/// The sizes of the stage that makes keys: `threads` threads, to which the reader passes pieces of `piece_bytes` bytes.
struct KeyShape {
  unsigned threads = 0;  ///< 0: records get no keys
  std::uint64_t piece_bytes = 0;

  std::uint64_t blocks() const { return 2 * threads + 3; }
  std::uint64_t block_bytes() const { return piece_bytes + kReadSlack; }
  std::uint64_t pool_bytes() const { return threads == 0 ? 0 : blocks() * block_bytes(); }
  /// Returns the memory of the whole stage, if a line with its keys is at most four times as long as the line.
  std::uint64_t bytes() const { return pool_bytes() + 2 * threads * 4 * piece_bytes; }
};
/// Chooses sizes with which the stage that makes keys takes about an eighth of `memory` bytes.
KeyShape MakeKeyShape(std::uint64_t memory, unsigned threads, bool gpu);

struct MemoryShares {
  std::uint64_t memory = 0;  ///< bytes for the buffers that MakeRing and MakePlan plan
  std::uint64_t beside = 0;  ///< bytes for codecs, headers, reports and keys
  unsigned threads = 1;      ///< number of threads that MakeRing and MakePlan may use
  RecordLayout layout;       ///< layout of the records in runs, with or without keys
  KeyShape keys;
  unsigned encoder_threads = 1;        ///< number of threads that compress the output
  std::uint64_t temp_place_bytes = 0;  ///< memory for compressing a spilled block; 0: blocks are not compressed
};

/// Divides the memory. Uses fewer threads than `facts` allow if there is no plan for more threads.
MemoryShares ShareMemory(const PlanFacts& facts);

/// Returns true if records get keys in a job with a limit of `limit` bytes. Uses input.keys, .rereadable and .expected.
bool MakesKeys(const InputFacts& input, std::uint64_t limit);

/// Returns the memory for --trace and --report in a job with a limit of `limit` bytes on memory.
std::uint64_t ReportMemory(bool traces, bool page, std::uint64_t limit);

/// Returns the memory that compressing a block of `block_bytes` bytes takes in addition to the block. `codec` may be
/// kNone, and has no value if the codec is chosen later.
std::uint64_t TempPlaceBytes(std::optional<Codec> codec, std::uint64_t block_bytes);

}  // namespace gpusort

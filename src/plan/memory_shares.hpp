// The first step of a plan: divides the limit on memory among codecs, headers, reports, keys and the plan itself. Start
// at ShareMemory.
#pragma once

#include <cstdint>
#include <optional>

#include "data/inputs.hpp"
#include "plan/facts.hpp"

namespace gpusort {

/// The stage that makes keys: `threads` threads, which the reader gives blocks of `piece_bytes`.
struct KeyShape {
  unsigned threads = 0;  ///< 0: records get no keys
  std::uint64_t piece_bytes = 0;

  std::uint64_t blocks() const { return 2 * threads + 3; }
  std::uint64_t block_bytes() const { return piece_bytes + kReadSlack; }
  std::uint64_t pool_bytes() const { return threads == 0 ? 0 : blocks() * block_bytes(); }
  /// Returns all memory of the stage, for keyed lines that are at most four times as long as the lines.
  std::uint64_t bytes() const { return pool_bytes() + 2 * threads * 4 * piece_bytes; }
  friend bool operator==(const KeyShape&, const KeyShape&) = default;
};
KeyShape MakeKeyShape(std::uint64_t memory, unsigned threads, bool gpu);

struct MemoryShares {
  std::uint64_t memory = 0;  ///< of the plan
  std::uint64_t beside = 0;  ///< of codecs, headers, reports and keys
  unsigned threads = 1;      ///< of the plan
  RecordLayout layout;       ///< of runs
  KeyShape keys;
  unsigned encoder_threads = 1;        ///< that compress the output
  std::uint64_t temp_place_bytes = 0;  ///< memory for compressing a spilled block; 0: blocks are not compressed

  friend bool operator==(const MemoryShares&, const MemoryShares&) = default;
};

/// A pure function of the facts. Takes fewer threads than the machine has if a plan needs that.
MemoryShares ShareMemory(const PlanFacts& facts);

/// Whether records get keys within `limit` bytes of memory. `input` needs `keys`, `rereadable` and `expected`.
bool MakesKeys(const InputFacts& input, std::uint64_t limit);

/// Returns the memory that a trace and a report page take within `limit` bytes.
std::uint64_t ReportMemory(bool traces, bool page, std::uint64_t limit);

/// Returns the memory for compressing a block of `block_bytes` in addition to the block. `codec` may be kNone; with no
/// value, the codec is chosen later.
std::uint64_t TempPlaceBytes(std::optional<Codec> codec, std::uint64_t block_bytes);

}  // namespace gpusort

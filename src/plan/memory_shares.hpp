// The first step of planning a sort: divides the memory limit among codecs, headers, reports, sort keys, and the
// buffers for reading and sorting. Start at ShareMemory.
#pragma once

#include <cstdint>
#include <optional>

#include "data/input_file.hpp"
#include "plan/facts.hpp"

namespace gpusort {

namespace planning {
inline constexpr std::uint64_t kKiB = 1024, kMiB = kKiB * kKiB, kPage = 4096;
}

/// The number of threads that compute the sort keys of records, and the sizes of their buffers.
struct KeyShape {
  static constexpr std::uint64_t kLeastPiece = 64 * planning::kKiB;  ///< the smallest `piece_bytes`

  unsigned threads = 0;           ///< 0: records get no sort keys
  std::uint64_t piece_bytes = 0;  ///< how many bytes of the input a thread gets at a time

  constexpr std::uint64_t blocks() const { return 2 * threads + 3; }
  std::uint64_t block_bytes() const { return piece_bytes + kReadSlack; }
  std::uint64_t pool_bytes() const { return threads == 0 ? 0 : blocks() * block_bytes(); }
  /// Returns how many bytes of memory the computation of sort keys takes. Assumes that a line with its key is at most
  /// four times as long as the line alone.
  std::uint64_t bytes() const { return pool_bytes() + 2 * threads * 4 * piece_bytes; }
};
/// Returns the number of threads and the size of buffers for making sort keys.
/// - `memory`: the memory of the job in bytes
/// - `threads`: the threads of the job
/// - `gpu`: true if a GPU sorts
KeyShape MakeKeyShape(std::uint64_t memory, unsigned threads, bool gpu);

struct MemoryShares {
  std::uint64_t memory = 0;  ///< bytes for the buffers that MakeRing and MakePlan plan
  std::uint64_t beside = 0;  ///< bytes for codecs, headers, reports and sort keys, which `memory` does not count
  unsigned threads = 1;      ///< number of threads that MakeRing and MakePlan may use
  RecordLayout layout;       ///< layout of the records in sorted runs, with or without sort keys before them
  KeyShape keys;
  unsigned encoder_threads = 1;  ///< number of threads that compress the output
  /// How many bytes of memory it takes to compress one block of a temp file. 0: temp files are not compressed.
  std::uint64_t temp_workspace_bytes = 0;
};

/// Divides the memory limit of a job among its parts, such as codecs, sort keys and buffers. Uses fewer threads than
/// `facts` allow if the memory is not enough for more.
MemoryShares ShareMemory(const PlanFacts& facts);

/// Returns true if a job with a memory limit of `limit` bytes computes a sort key for each record and stores the key
/// before the record. Uses only the members `keys`, `rereadable` and `expected` of `input`.
bool MakesKeys(const InputFacts& input, std::uint64_t limit);

/// Returns the maximum memory for reports, in bytes.
/// - `traces`, `page`: true with --trace, and with --report
/// - `limit`: the memory limit of the job in bytes
std::uint64_t ReportMemory(bool traces, bool page, std::uint64_t limit);

/// Returns how many bytes of memory it takes to compress a block of `block_bytes` bytes, without the memory of the
/// block. `codec` may be kNone; it has no value if the codec is chosen later.
std::uint64_t TempWorkspaceBytes(std::optional<Codec> codec, std::uint64_t block_bytes);

}  // namespace gpusort

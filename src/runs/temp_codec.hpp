// Compresses what goes to the spill and expands what comes back, on the threads that write and read it.
// With no codec asked for, the disk decides: what is written to spare RAM is left as it is. Start at TempCodec.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "io/codec/codec.hpp"
#include "io/spill.hpp"
#include "kernels/backend.hpp"
#include "runs/program_codec.hpp"
#include "spec/job_spec.hpp"
#include "watch/progress.hpp"

namespace gpusort {

/// What blocks of temp data shall be compressed with. Nothing: the disk decides.
inline std::optional<Codec> TempCodecAsked(const JobSpec& spec) {
  return spec.limits.temp_program.empty() ? spec.limits.temp_codec : Codec::kProgram;
}

/// Any thread may call any member.
class TempCodec {
 public:
  /// Blocks have `block_bytes`. Works in at most `places` of its own; with none nothing is compressed. `asked`: a codec
  /// or kNone; if not given, it is chosen from the content and from how fast the blocks before were written, and again
  /// every now and then. kProgram needs `program`, and is kNone once that is not usable.
  TempCodec(HostMemory& memory, std::uint64_t block_bytes, unsigned places, std::optional<Codec> asked,
            unsigned threads, ProgramCodec* program = nullptr);
  ~TempCodec();

  /// As SpillStore's. A block that does not get shorter is stored as it is.
  SpillExtent Write(SpillStore& store, std::uint64_t run, std::uint64_t number, std::span<std::byte> block,
                    std::uint64_t payload_bytes);
  /// Gives the `payload_bytes` that were written, behind the header of `block`.
  void Read(SpillStore& store, const SpillExtent& extent, std::uint64_t run, std::uint64_t number,
            std::span<std::byte> block, std::uint64_t payload_bytes);

  /// What new blocks are compressed with now.
  Codec codec() const { return codec_; }
  /// Memory that it has taken by now.
  std::uint64_t taken_bytes() {
    const std::lock_guard lock(mutex_);
    return made_ * (block_bytes_ + place_bytes_);
  }

 private:
  struct Place;
  class Lent;
  void Choose(std::span<const std::byte> sample);

  HostMemory& memory_;
  const std::uint64_t block_bytes_, place_bytes_;
  const unsigned places_;
  const std::optional<Codec> asked_;
  const unsigned threads_;
  ProgramCodec* const program_;
  std::atomic<Codec> codec_;
  StageClock clock_{"spill"};        ///< times the writes since the last choice
  std::uint64_t next_choice_bytes_;  ///< written until the next one; guarded by mutex_
  std::mutex mutex_;
  std::condition_variable returned_;
  unsigned made_ = 0;
  std::vector<std::unique_ptr<Place>> free_;
};

}  // namespace gpusort

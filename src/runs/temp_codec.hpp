// Compresses and expands the blocks of the spill, on the threads that write and read them. Unless the user names a
// codec, the speed of the disk decides. Blocks that go to spare RAM are not compressed. Start at TempCodec.
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

/// Returns the codec that the options name for temporary data, or std::nullopt if the speed of the disk decides.
inline std::optional<Codec> TempCodecAsked(const JobSpec& spec) {
  return spec.limits.temp_program.empty() ? spec.limits.temp_codec : Codec::kProgram;
}

/// Compresses and expands blocks of one size. Any thread may call any member.
class TempCodec {
 public:
  /// Blocks have `block_bytes` bytes. At most `places` blocks are compressed or expanded at the same time. With 0
  /// places, no block is compressed. If `asked` is std::nullopt, the content and the speed of earlier writes decide,
  /// anew from time to time. kProgram needs `program`, and becomes kNone if the program cannot be started.
  TempCodec(HostMemory& memory, std::uint64_t block_bytes, unsigned places, std::optional<Codec> asked,
            unsigned threads, ProgramCodec* program = nullptr);
  ~TempCodec();

  /// Does the same as SpillStore::Write, with compression. A block that does not get shorter is stored uncompressed.
  SpillExtent Write(SpillStore& store, std::uint64_t run, std::uint64_t number, std::span<std::byte> block,
                    std::uint64_t payload_bytes);
  /// Reads the block in `extent` and expands it to `payload_bytes` bytes, which it puts into `block`, after the header.
  void Read(SpillStore& store, const SpillExtent& extent, std::uint64_t run, std::uint64_t number,
            std::span<std::byte> block, std::uint64_t payload_bytes);

  /// Returns the codec of new blocks.
  Codec codec() const { return codec_; }
  /// Returns the memory that compression has allocated so far, in bytes.
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
  StageClock clock_{"spill"};        ///< measures the writes since the last choice of a codec
  std::uint64_t next_choice_bytes_;  ///< number of bytes to write before the next choice; guarded by mutex_
  std::mutex mutex_;
  std::condition_variable returned_;
  unsigned made_ = 0;
  std::vector<std::unique_ptr<Place>> free_;
};

}  // namespace gpusort

// Compresses the blocks of temp files on the threads that write them, and expands them on the threads that read them.
// Unless the user names a codec, the speed of the disk decides which codec is used. Temp files that stay in spare RAM
// are not compressed. Start at TempCodec.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/text.hpp"
#include "io/codec/codec.hpp"
#include "io/spill.hpp"
#include "kernels/backend.hpp"
#include "kernels/error.hpp"
#include "plan/memory_shares.hpp"
#include "runs/program_codec.hpp"
#include "spec/job_spec.hpp"
#include "watch/clock.hpp"

namespace gpusort {

/// Returns the codec of temp files that the user has chosen. No value: the user has not chosen a codec.
inline std::optional<Codec> TempCodecAsked(const JobSpec& spec) {
  return spec.limits.temp_program.empty() ? spec.limits.temp_codec : Codec::kProgram;
}

/// Compresses and expands blocks of temp files. Any thread may call any member at any time.
class TempCodec {
 public:
  /// Makes a codec for blocks of `block_bytes` bytes.
  /// - `workspaces`: how many blocks can be compressed or expanded at a time. 0: no block is compressed.
  /// - `asked`: the codec that the user wants. std::nullopt: the speed of the disk decides.
  /// - `program`: must not be null if `asked` is kProgram.
  TempCodec(HostMemory& memory, std::uint64_t block_bytes, unsigned workspaces, std::optional<Codec> asked,
            unsigned threads, ProgramCodec* program = nullptr)
      : memory_(memory),
        block_bytes_(block_bytes),
        codec_bytes_(TempWorkspaceBytes(asked, block_bytes)),
        most_workspaces_(workspaces),
        asked_(asked),
        threads_(threads),
        program_(program),
        codec_(workspaces == 0 ? Codec::kNone : asked.value_or(Codec::kNone)),
        next_choice_bytes_(kFirstChoiceBytes) {
    free_.reserve(workspaces);
  }

  /// Compresses a block and writes it to the temp files `store`. The parameters and the result are those of
  /// SpillStore::Write. A block that does not become shorter is stored uncompressed.
  SpillExtent Write(SpillStore& store, std::uint64_t run, std::uint64_t number, std::span<std::byte> block,
                    std::uint64_t payload_bytes) {
    const std::span<const std::byte> payload = block.subspan(kSpillHeaderBytes, payload_bytes);
    if (!asked_ && most_workspaces_ > 0) Choose(payload);
    const auto write = [&](std::span<std::byte> from, std::uint64_t bytes, Codec codec) {
      const Busy busy(clock_, Resource::kDiskWrite, bytes);
      return store.Write(run, number, from, bytes, codec);
    };
    // A block in a temp file takes whole pages of 4 KiB, so compression is of use only if it saves a page.
    if (const Codec codec = codec_; codec != Codec::kNone && payload_bytes > kSpillAlignment) {
      const auto workspace = Borrow();
      const std::span<std::byte> room = workspace->block().subspan(kSpillHeaderBytes, payload_bytes - kSpillAlignment);
      const std::uint64_t bytes =
          codec == Codec::kProgram ? program_->Compress(payload, room) : workspace->For(codec).Compress(payload, room);
      if (bytes > 0) return write(workspace->block(), bytes, codec);
      // If the program cannot be started, blocks are stored uncompressed.
      if (codec == Codec::kProgram && !program_->usable()) codec_ = Codec::kNone;
    }
    return write(block, payload_bytes, Codec::kNone);
  }

  /// Reads a block from the temp files `store` and decompresses it. Writes its `payload_bytes` bytes to `block`, from
  /// offset kSpillHeaderBytes on.
  void Read(SpillStore& store, const SpillExtent& extent, std::uint64_t run, std::uint64_t number,
            std::span<std::byte> block, std::uint64_t payload_bytes) {
    std::uint64_t got = payload_bytes;
    if (extent.codec == Codec::kNone) {
      got = store.Read(extent, run, number, block);
    } else {
      const auto workspace = Borrow();
      const std::uint64_t bytes = store.Read(extent, run, number, workspace->block());
      const std::span<const std::byte> stored = workspace->block().subspan(kSpillHeaderBytes, bytes);
      const std::span<std::byte> payload = block.subspan(kSpillHeaderBytes, payload_bytes);
      if (extent.codec == Codec::kProgram) {
        program_->Decompress(stored, payload);
      } else {
        workspace->For(extent.codec).Decompress(stored, payload);
      }
    }
    if (got != payload_bytes) {
      throw Error(ErrorCode::kIntegrity,
                  "a spilled block has " + std::to_string(got) + " bytes, not " + std::to_string(payload_bytes));
    }
  }

  /// Returns the codec with which new blocks are compressed.
  Codec codec() const { return codec_; }
  /// Returns the size in bytes of the memory that was allocated for the codecs so far.
  std::uint64_t taken_bytes() {
    const std::lock_guard lock(mutex_);
    return made_ * (block_bytes_ + codec_bytes_);
  }

 private:
  /// The number of bytes that are written to temp files before the first choice of a codec, and between two later
  /// choices. With fewer bytes, caches would hide the speed of the disk.
  static constexpr std::uint64_t kFirstChoiceBytes = std::uint64_t{32} << 20, kChoiceBytes = std::uint64_t{256} << 20;

  /// The memory for compressing or expanding one block: a buffer, and the memory that the codecs allocate. The
  /// constructor counts `beside_bytes`, an estimate of the codecs' memory in bytes, against the memory limit.
  struct Workspace {
    Workspace(HostMemory& counted, std::uint64_t block_bytes, std::uint64_t beside_bytes)
        : memory(counted), buffer(counted, block_bytes), beside(beside_bytes) {
      memory.Reserve(beside);
    }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
    ~Workspace() { memory.Release(beside); }

    BlockCodec& For(Codec codec) {
      std::unique_ptr<BlockCodec>& made = codecs[codec];
      if (!made) made = std::make_unique<BlockCodec>(codec);
      return *made;
    }
    std::span<std::byte> block() { return {buffer.data(), buffer.size()}; }

    HostMemory& memory;
    HostBuffer buffer;
    const std::uint64_t beside;
    std::map<Codec, std::unique_ptr<BlockCodec>> codecs;
  };

  /// The deleter of a borrowed Workspace. Returns the Workspace to the TempCodec instead of deleting it.
  struct Return {
    TempCodec* owner;
    void operator()(Workspace* workspace) const {
      const std::lock_guard lock(owner->mutex_);
      owner->free_.emplace_back(workspace);
      owner->returned_.notify_one();
    }
  };

  /// Borrows memory in which one block can be compressed. Waits until such memory is free.
  std::unique_ptr<Workspace, Return> Borrow() {
    std::unique_lock lock(mutex_);
    // This wait always ends, because threads that have borrowed memory wait only for the disk.
    returned_.wait(lock, [&] { return !free_.empty() || made_ < most_workspaces_; });
    if (free_.empty()) {
      auto made = std::make_unique<Workspace>(memory_, block_bytes_, codec_bytes_);
      ++made_;
      return {made.release(), {this}};
    }
    std::unique_ptr<Workspace> workspace = std::move(free_.back());
    free_.pop_back();
    return {workspace.release(), {this}};
  }

  void Choose(std::span<const std::byte> sample) {
    constexpr auto kWrite = static_cast<std::size_t>(Resource::kDiskWrite);
    double speed = 0;
    {
      const std::lock_guard lock(mutex_);
      const PhaseTimes times = clock_.current();
      if (times.bytes[kWrite] < next_choice_bytes_) return;
      next_choice_bytes_ = kChoiceBytes;
      clock_.BeginPhase("spill");
      const double seconds = InSeconds(times.busy[kWrite]);
      speed = seconds > 0 ? static_cast<double>(times.bytes[kWrite]) / seconds : 0;
    }
    // ChooseTempCodec() assumes that half of these threads compress at a time. The maximum is `most_workspaces_`.
    const Codec chosen = ChooseTempCodec(sample, speed, std::min(threads_, 2 * most_workspaces_));
    if (codec_.exchange(chosen) == chosen) return;
    LogInfo("temporary runs are written at " + FormatBytes(static_cast<std::uint64_t>(speed)) +
            "/s: from here on compression is " + std::string(CodecName(chosen)));
  }

  HostMemory& memory_;
  const std::uint64_t block_bytes_, codec_bytes_;
  const unsigned most_workspaces_;
  const std::optional<Codec> asked_;
  const unsigned threads_;
  ProgramCodec* const program_;
  std::atomic<Codec> codec_;
  StageClock clock_{"spill"};  ///< measures the speed of writes since the last choice of a codec
  /// The number of bytes from the last choice of a codec to the next one. Protected by mutex_.
  std::uint64_t next_choice_bytes_;
  std::mutex mutex_;
  std::condition_variable returned_;
  unsigned made_ = 0;
  std::vector<std::unique_ptr<Workspace>> free_;
};

}  // namespace gpusort

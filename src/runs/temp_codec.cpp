#include "runs/temp_codec.hpp"

#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "kernels/error.hpp"
#include "plan/memory_shares.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
/// Fewer bytes say little about a disk with a cache; the page cache takes more before it slows down to the disk's
/// speed.
constexpr std::uint64_t kFirstChoiceBytes = 32 * kMiB, kChoiceBytes = 256 * kMiB;

}  // namespace

struct TempCodec::Place {
  Place(HostMemory& counted, std::uint64_t block_bytes, std::uint64_t beside_bytes)
      : memory(counted), buffer(counted, block_bytes), beside(beside_bytes) {
    memory.Reserve(beside);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { memory.Release(beside); }

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

/// Borrows a place. Its holder waits for the disk and for nothing else, so the wait for a place is short.
class TempCodec::Lent {
 public:
  explicit Lent(TempCodec& owner) : owner_(owner) {
    std::unique_lock lock(owner_.mutex_);
    owner_.returned_.wait(lock, [&] { return !owner_.free_.empty() || owner_.made_ < owner_.places_; });
    if (owner_.free_.empty()) {
      place_ = std::make_unique<Place>(owner_.memory_, owner_.block_bytes_, owner_.place_bytes_);
      ++owner_.made_;
    } else {
      place_ = std::move(owner_.free_.back());
      owner_.free_.pop_back();
    }
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() {
    const std::lock_guard lock(owner_.mutex_);
    owner_.free_.push_back(std::move(place_));
    owner_.returned_.notify_one();
  }
  Place* operator->() const { return place_.get(); }

 private:
  TempCodec& owner_;
  std::unique_ptr<Place> place_;
};

TempCodec::TempCodec(HostMemory& memory, std::uint64_t block_bytes, unsigned places, std::optional<Codec> asked,
                     unsigned threads, ProgramCodec* program)
    : memory_(memory),
      block_bytes_(block_bytes),
      place_bytes_(TempPlaceBytes(asked, block_bytes)),
      places_(places),
      asked_(asked),
      threads_(threads),
      program_(program),
      codec_(places == 0 ? Codec::kNone : asked.value_or(Codec::kNone)),
      next_choice_bytes_(kFirstChoiceBytes) {
  free_.reserve(places);
}

TempCodec::~TempCodec() = default;

SpillExtent TempCodec::Write(SpillStore& store, std::uint64_t run, std::uint64_t number, std::span<std::byte> block,
                             std::uint64_t payload_bytes) {
  const std::span<const std::byte> payload = block.subspan(kSpillHeaderBytes, payload_bytes);
  if (!asked_ && places_ > 0) Choose(payload);
  const auto write = [&](std::span<std::byte> from, std::uint64_t bytes, Codec codec) {
    const Busy busy(clock_, Resource::kDiskWrite, bytes);
    return store.Write(run, number, from, bytes, codec);
  };
  // A block takes whole pages, so less than one is no gain.
  if (const Codec codec = codec_; codec != Codec::kNone && payload_bytes > kSpillAlignment) {
    const Lent place(*this);
    const std::span<std::byte> room = place->block().subspan(kSpillHeaderBytes, payload_bytes - kSpillAlignment);
    const std::uint64_t bytes =
        codec == Codec::kProgram ? program_->Compress(payload, room) : place->For(codec).Compress(payload, room);
    if (bytes > 0) return write(place->block(), bytes, codec);
    if (codec == Codec::kProgram && !program_->usable()) codec_ = Codec::kNone;
  }
  return write(block, payload_bytes, Codec::kNone);
}

void TempCodec::Read(SpillStore& store, const SpillExtent& extent, std::uint64_t run, std::uint64_t number,
                     std::span<std::byte> block, std::uint64_t payload_bytes) {
  std::uint64_t got = payload_bytes;
  if (extent.codec == Codec::kNone) {
    got = store.Read(extent, run, number, block);
  } else {
    const Lent place(*this);
    const std::uint64_t bytes = store.Read(extent, run, number, place->block());
    const std::span<const std::byte> stored = place->block().subspan(kSpillHeaderBytes, bytes);
    const std::span<std::byte> payload = block.subspan(kSpillHeaderBytes, payload_bytes);
    if (extent.codec == Codec::kProgram) {
      program_->Decompress(stored, payload);
    } else {
      place->For(extent.codec).Decompress(stored, payload);
    }
  }
  if (got != payload_bytes) {
    throw Error(ErrorCode::kIntegrity,
                "a spilled block has " + std::to_string(got) + " bytes, not " + std::to_string(payload_bytes));
  }
}

void TempCodec::Choose(std::span<const std::byte> sample) {
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
  const Codec chosen = ChooseTempCodec(sample, speed, threads_);
  if (codec_.exchange(chosen) == chosen) return;
  LogInfo("temporary runs are written at " + FormatBytes(static_cast<std::uint64_t>(speed)) +
          "/s: from here on compression is " + std::string(CodecName(chosen)));
}

}  // namespace gpusort

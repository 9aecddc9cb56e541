#include <algorithm>
#include <utility>
#include <vector>

#include "io/codec/codec.hpp"
#include "io/codec/codec_module.hpp"
#include "io/codec/row_module.hpp"
#include "io/codec/slot_ring.hpp"

namespace gpusort {
namespace {

std::uint64_t MemberBytes(const CodecModule& codec, const EncoderOptions& options) {
  const std::uint64_t bytes = options.member_bytes != 0 ? options.member_bytes : codec.member_bytes;
  if (bytes > kMaxStepBytes) throw Error(ErrorCode::kUsage, "members of more than 1 GiB");
  return bytes;
}

}  // namespace

/// The caller's thread fills one member, queues it for the workers, and passes the oldest member to the sink as soon as
/// it is compressed.
class Encoder::Impl {
 public:
  Impl(Codec codec, const EncoderOptions& options, Sink sink)
      : name_(CodecName(codec)),
        module_(codec == Codec::kNone ? nullptr : &detail::LoadCodec(codec)),
        member_bytes_(module_ == nullptr ? 0 : MemberBytes(*module_, options)),
        sink_(std::move(sink)),
        ring_(module_ == nullptr ? 0 : RingSlots(options.threads)) {
    if (module_ == nullptr) return;
    do {
      encoders_.push_back(module_->make_encoder());
      // With fewer threads the bytes are the same and take longer.
    } while (options.threads > 1 && ring_.StartWorker(WorkWith(*encoders_.back())) &&
             ring_.workers() < options.threads);
    if (ring_.workers() == 0) own_ = WorkWith(*encoders_.front());
  }

  void Write(std::span<const std::byte> data) {
    Leave();
    if (module_ == nullptr && !data.empty()) sink_(data);
    while (module_ != nullptr && !data.empty()) {
      std::vector<std::byte>& in = ring_.filling().in;
      const auto part = data.first(std::min<std::size_t>(data.size(), member_bytes_ - in.size()));
      // The buffer grows by halves, but never over the size of a member.
      if (in.capacity() < in.size() + part.size()) {
        in.reserve(std::min<std::size_t>(member_bytes_, std::max(in.capacity() * 3 / 2, in.size() + part.size())));
      }
      in.insert(in.end(), part.begin(), part.end());
      data = data.subspan(part.size());
      if (in.size() == member_bytes_) Submit();
    }
    open_ = true;
  }

  void Finish() {
    Leave();
    if (module_ == nullptr) return;
    if (!ring_.filling().in.empty() || (!any_member_ && module_->end.empty())) Submit();
    while (!ring_.empty()) PassOldestOn();
    if (!module_->end.empty()) sink_(std::as_bytes(std::span(module_->end)));
    ring_.Stop();
  }

 private:
  struct Slot {
    std::vector<std::byte> in;
    std::vector<char> out;
  };
  using Ring = SlotRing<Slot>;

  static Ring::Work WorkWith(MemberEncoder& encoder) {
    return [&encoder](Slot& slot) { encoder.Encode(slot.in, slot.out); };
  }

  /// Marks the encoder as closed, and throws if it was closed already. Callers mark it as open again if they succeed.
  /// After an exception the ring is in disorder, so the encoder stays closed.
  void Leave() {
    if (!std::exchange(open_, false)) ThrowInternal(name_, "written to after its end or after an error");
  }

  void Submit() {
    any_member_ = true;
    ring_.Queue();
    // Writes members that are done now, so that the consumer can work. If the ring is full, waits for the oldest
    // member.
    while (!ring_.empty() && (ring_.full() || ring_.OldestIsDone())) PassOldestOn();
  }

  void PassOldestOn() {
    Slot& slot = ring_.Oldest(own_);
    sink_(std::as_bytes(std::span(slot.out)));
    slot.in.clear();
    ring_.Pop();
  }

  const std::string name_;
  const CodecModule* const module_;  ///< null: the bytes are not compressed
  const std::uint64_t member_bytes_;
  const Sink sink_;
  bool any_member_ = false;
  bool open_ = true;
  std::vector<std::unique_ptr<MemberEncoder>> encoders_;
  Ring::Work own_;  ///< compresses a member on the caller's thread if there are no workers; otherwise null
  Ring ring_;       // its workers end before the encoders are destroyed
};

namespace {

RowEncoderOptions RowOptions(const EncoderOptions& options) {
  return {options.compression, options.group_bytes, options.group_rows, options.threads, options.store};
}

}  // namespace

Encoder::Encoder(Codec codec, const EncoderOptions& options, Sink sink)
    : freed_(IsColumnFile(codec) ? options.process_bytes : 0) {
  if (IsColumnFile(codec)) {
    rows_ = LoadRows(codec).make_encoder(RowOptions(options), std::move(sink));
  } else {
    impl_ = std::make_unique<Impl>(codec, options, std::move(sink));
  }
}
Encoder::~Encoder() = default;
void Encoder::Write(std::span<const std::byte> data) {
  if (!rows_) return impl_->Write(data);
  rows_->Write(data);
  freed_.Count(data.size());
}
void Encoder::Lend(const MarkedRows& rows) {
  rows_->Lend(rows);
  freed_.Count(rows.bytes.size());
}
void Encoder::Return() noexcept {
  if (rows_) rows_->Return();
}
void Encoder::Finish() { rows_ ? rows_->Finish() : impl_->Finish(); }
void Encoder::Pause() {
  if (rows_) rows_->Pause();
}

std::uint64_t EncoderMemoryBytes(Codec codec, const EncoderOptions& options) {
  if (codec == Codec::kNone) return 0;
  if (IsColumnFile(codec)) return RowEncoderBytes(RowOptions(options));
  const CodecModule& module = detail::LoadCodec(codec);
  const std::uint64_t member_bytes = MemberBytes(module, options);
  // The output of incompressible input is a little longer, and a vector that is full doubles.
  return std::max(1U, options.threads) * module.encoder_memory() +
         RingSlots(options.threads) * 3 * (member_bytes + 64 * kKiB);
}

}  // namespace gpusort

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "io/codec/codec.hpp"
#include "io/codec/codec_module.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

std::uint64_t MemberBytes(const CodecModule& codec, const EncoderOptions& options) {
  const std::uint64_t bytes = options.member_bytes != 0 ? options.member_bytes : codec.member_bytes;
  if (bytes > kMaxStepBytes) throw Error(ErrorCode::kUsage, "members of more than 1 GiB");
  return bytes;
}

/// Returns the number of members in memory: one for each thread, one to fill and one to write.
std::size_t SlotCount(unsigned threads) { return threads <= 1 ? 1 : std::size_t{threads} + 2; }

}  // namespace

/// A ring of members. The caller's thread fills one member, queues it for the workers, and passes the oldest member to
/// the sink as soon as it is compressed.
class Encoder::Impl {
 public:
  Impl(Codec codec, const EncoderOptions& options, Sink sink)
      : name_(CodecName(codec)),
        module_(codec == Codec::kNone ? nullptr : &detail::LoadCodec(codec)),
        member_bytes_(module_ == nullptr ? 0 : MemberBytes(*module_, options)),
        sink_(std::move(sink)) {
    if (module_ == nullptr) return;
    slots_.resize(SlotCount(options.threads));
    if (options.threads > 1) StartWorkers(options.threads);
    if (encoders_.empty()) encoders_.push_back(module_->make_encoder());
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() { StopWorkers(); }

  void Write(std::span<const std::byte> data) {
    Leave();
    if (module_ == nullptr && !data.empty()) sink_(data);
    while (module_ != nullptr && !data.empty()) {
      std::vector<std::byte>& in = Filling().in;
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
    if (!Filling().in.empty() || (!any_member_ && module_->end.empty())) Submit();
    while (under_way_ > 0) PassOldestOn();
    if (!module_->end.empty()) sink_(std::as_bytes(std::span(module_->end)));
    StopWorkers();
  }

 private:
  struct Slot {
    std::vector<std::byte> in;
    std::vector<char> out;
    bool done = false;  ///< guarded by mutex_
    std::exception_ptr error;
  };

  /// Marks the encoder as closed, and throws if it was closed already. Callers mark it as open again if they succeed.
  /// After an exception the ring is in disorder, so the encoder stays closed.
  void Leave() {
    if (!std::exchange(open_, false)) ThrowInternal(name_, "written to after its end or after an error");
  }

  /// Returns the slot after the members that are queued, compressed or done. There is always one.
  Slot& Filling() { return slots_[(oldest_ + under_way_) % slots_.size()]; }

  void StartWorkers(unsigned threads) {
    try {
      do {
        encoders_.push_back(module_->make_encoder());
        // With fewer threads the bytes are the same and take longer.
      } while (StartThread(workers_, [this, encoder = encoders_.back().get()] { Work(*encoder); }).empty() &&
               workers_.size() < threads);
    } catch (...) {
      StopWorkers();
      throw;
    }
  }

  void StopWorkers() noexcept {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    work_.notify_all();
    workers_.clear();
  }

  void Work(MemberEncoder& encoder) {
    std::unique_lock lock(mutex_);
    while (true) {
      work_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (stop_) return;
      Slot& slot = *queue_.front();
      queue_.pop_front();
      lock.unlock();
      Encode(encoder, slot);
      lock.lock();
      slot.done = true;
      done_.notify_one();
    }
  }

  static void Encode(MemberEncoder& encoder, Slot& slot) noexcept {
    try {
      encoder.Encode(slot.in, slot.out);
    } catch (...) {
      slot.error = std::current_exception();
    }
  }

  void Submit() {
    Slot& slot = Filling();
    any_member_ = true;
    ++under_way_;
    if (workers_.empty()) {
      Encode(*encoders_.front(), slot);
      slot.done = true;
      PassOldestOn();
      return;
    }
    bool room = false;
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(&slot);
      room = under_way_ < slots_.size() && !slots_[oldest_].done;
    }
    work_.notify_one();
    // Writes members that are done now, so that the consumer can work. If the ring is full, waits for the oldest
    // member.
    while (!room) {
      PassOldestOn();
      const std::lock_guard lock(mutex_);
      room = under_way_ == 0 || !slots_[oldest_].done;
    }
  }

  void PassOldestOn() {
    Slot& slot = slots_[oldest_];
    {
      std::unique_lock lock(mutex_);
      done_.wait(lock, [&] { return slot.done; });
      slot.done = false;
    }
    if (slot.error) std::rethrow_exception(slot.error);
    sink_(std::as_bytes(std::span(slot.out)));
    slot.in.clear();
    oldest_ = (oldest_ + 1) % slots_.size();
    --under_way_;
  }

  const std::string name_;
  const CodecModule* const module_;  ///< null: the bytes are not compressed
  const std::uint64_t member_bytes_;
  const Sink sink_;
  std::vector<Slot> slots_;
  std::size_t oldest_ = 0;  ///< slots_[oldest_] and the next under_way_ - 1 are queued, being compressed, or done
  std::size_t under_way_ = 0;
  bool any_member_ = false;
  bool open_ = true;
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::deque<Slot*> queue_;  ///< guarded by mutex_
  bool stop_ = false;        ///< guarded by mutex_
  std::vector<std::unique_ptr<MemberEncoder>> encoders_;
  Threads workers_;
};

Encoder::Encoder(Codec codec, const EncoderOptions& options, Sink sink)
    : impl_(std::make_unique<Impl>(codec, options, std::move(sink))) {}
Encoder::~Encoder() = default;
void Encoder::Write(std::span<const std::byte> data) { impl_->Write(data); }
void Encoder::Finish() { impl_->Finish(); }

std::uint64_t EncoderMemoryBytes(Codec codec, const EncoderOptions& options) {
  if (codec == Codec::kNone) return 0;
  const CodecModule& module = detail::LoadCodec(codec);
  const std::uint64_t member_bytes = MemberBytes(module, options);
  // The output of incompressible input is a little longer, and a vector that is full doubles.
  return std::max(1U, options.threads) * module.encoder_memory() +
         SlotCount(options.threads) * 3 * (member_bytes + 64 * kKiB);
}

}  // namespace gpusort

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "io/codec/codec.hpp"
#include "io/codec/codec_module.hpp"
#include "io/codec/member_ring.hpp"
#include "io/codec/row_module.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kSourceBytes = 128 * kKiB;
constexpr std::uint64_t kLeastDecoderBytes = kMiB / 2;

/// Returns the memory that a decoder of the codec takes if its limit is `limit`.
DecoderMemory MemoryFor(const CodecModule& codec, std::uint64_t limit) {
  return codec.decoder_memory(std::max(limit, kLeastDecoderBytes) - kSourceBytes);
}

std::string MemoryText(std::uint64_t bytes) {
  return bytes >= kMiB && (bytes % kMiB == 0 || bytes >= 10 * kMiB) ? std::to_string(bytes / kMiB) + " MiB"
                                                                    : std::to_string(bytes / kKiB) + " KiB";
}

/// Returns true if a member may begin with `head`, which may be shorter than the codec's head_bytes.
bool MayBegin(const CodecModule& codec, std::span<const std::byte> head) {
  return std::ranges::any_of(codec.magics, [&](const Magic& magic) {
    for (std::size_t i = 0; i < std::min(magic.bytes.size(), head.size()); ++i) {
      const auto mask = i == 0 ? magic.first_mask : static_cast<unsigned char>(0xff);
      if (((std::to_integer<unsigned>(head[i]) ^ static_cast<unsigned char>(magic.bytes[i])) & mask) != 0) return false;
    }
    return true;
  });
}

}  // namespace

class Decoder::Impl {
 public:
  Impl(Codec codec, std::string path, Source source, const DecoderLimits& limits)
      : name_(CodecName(codec)),
        path_(std::move(path)),
        source_(std::move(source)),
        limits_(limits),
        module_(codec == Codec::kNone ? nullptr : &detail::LoadCodec(codec)),
        all_sized_(module_ != nullptr && module_->member_size != nullptr) {
    if (module_ == nullptr) return;
    member_decoder_ = module_->make_decoder(MemoryFor(*module_, limits.memory_bytes).window);
    buffer_.resize(kSourceBytes);
  }

  std::uint64_t Read(std::span<std::byte> out) {
    if (out.empty()) ThrowInternal(name_, "no room to expand " + path_);
    if (module_ == nullptr) {
      const std::uint64_t got = source_(out);
      offset_ += got;
      expanded_bytes_ += got;
      return got;
    }
    if (broken_) ThrowInternal(name_, path_ + " is read again after an error");
    broken_ = true;
    const std::uint64_t got = Expand(out);
    broken_ = false;
    return got;
  }

  std::uint64_t offset() const { return ring_ && !ring_->empty() ? taken_offset_ : offset_; }
  std::uint64_t expanded_bytes() const { return expanded_bytes_; }

 private:
  std::uint64_t Expand(std::span<std::byte> out) {
    while (true) {
      if (!in_member_) {
        ReadAhead();
        if (ring_ && !ring_->empty()) {
          const std::uint64_t made = TakeExpanded(out);
          if (made > 0) return made;
          continue;
        }
        if (!BeginMember()) return 0;
      }
      // The library may still have expanded bytes, so it is called before more bytes are read from the source.
      std::span<const std::byte> in = Available();
      std::span<std::byte> room = out;
      try {
        in_member_ = !member_decoder_->Decode(in, room);
      } catch (const Refusal& refusal) {
        Use(Available().size() - in.size());
        if (refusal.needed > 0) RefuseMemory(refusal);
        Refuse(Where() + ": " + refusal.why);
      }
      const std::size_t used = Available().size() - in.size();
      const std::size_t made = out.size() - room.size();
      Use(used);
      Count(made);
      if (made > 0) return made;
      if (in_member_ && used == 0 && !Fill(Available().size() + 1)) {
        Refuse("cut short at offset " + std::to_string(offset_) + InMember());
      }
    }
  }

  void Count(std::uint64_t made) {
    if (made > limits_.expanded_bytes - expanded_bytes_) {
      Refuse("expands to more than " + std::to_string(limits_.expanded_bytes) + " bytes (--max-expanded) at offset " +
             std::to_string(offset_));
    }
    expanded_bytes_ += made;
  }

  /// Reads members whose heads tell their sizes, so that other threads can expand them. Stops at anything else, also
  /// at a member that is cut short. BeginMember() sees that once all members before are expanded.
  void ReadAhead() {
    if (module_->member_size == nullptr) return;
    if (!ring_ || ring_->empty()) {
      taken_offset_ = offset_;
      taken_members_ = members_;
    }
    while (!ring_ || !ring_->full()) {
      if (!Fill(module_->head_bytes)) break;
      const auto head = Available().first(module_->head_bytes);
      const std::uint64_t size = MayBegin(*module_, head) ? module_->member_size(head) : 0;
      if (size < head.size() || !Fill(size)) break;
      if (!ring_) {
        ring_ =
            std::make_unique<MemberRing>(*module_, MemoryFor(*module_, limits_.memory_bytes).window, limits_.threads);
      }
      ring_->Add(Available().first(size));
      ++members_;
      Use(size);
    }
    if (ring_) ring_->Flush();
  }

  /// Takes bytes of the oldest member that ReadAhead() has read.
  std::uint64_t TakeExpanded(std::span<std::byte> out) {
    const MemberRing::Taken taken = ring_->Take(out);
    if (taken.refusal) {
      members_ = taken_members_ + 1;
      member_offset_ = taken_offset_;
      offset_ = taken_offset_ += taken.refused_at;
      Refuse(Where() + ": " + taken.refusal->why);
    }
    if (taken.made > limits_.expanded_bytes - expanded_bytes_) offset_ = taken_offset_;
    Count(taken.made);
    member_made_ += taken.made;
    if (taken.ended > 0) {
      ends_empty_ = member_made_ == 0;
      member_made_ = 0;
      taken_offset_ += taken.ended;
      ++taken_members_;
    }
    return taken.made;
  }

  /// Returns false at the end of the data.
  bool BeginMember() {
    if (members_ > 0 && module_->padding != Padding::kNone) SkipPadding();
    const std::size_t head_bytes = module_->head_bytes;
    const bool whole = Fill(head_bytes);
    const auto head = Available().first(std::min(Available().size(), head_bytes));
    if (head.empty()) {
      if (members_ == 0) Refuse("empty: " + name_ + " data has at least one member");
      if (all_sized_ && !ends_empty_) {
        Refuse("cut short at offset " + std::to_string(offset_) +
               ": the empty block with which BGZF data ends is missing; if the file is known to be whole, bgzip -c "
               "</dev/null >>FILE adds the block");
      }
      return false;
    }
    if (!MayBegin(*module_, head)) {
      Refuse("no " + name_ + " data at offset " + std::to_string(offset_) +
             (members_ == 0 ? "; if it is not compressed, give --decompress none"
                            : ", after member " + std::to_string(members_)));
    }
    ++members_;
    all_sized_ = false;
    member_offset_ = offset_;
    if (!whole) Refuse("cut short at offset " + std::to_string(offset_ + head.size()) + InMember());
    try {
      member_decoder_->Begin(head);
    } catch (const Refusal& refusal) {
      Refuse(Where() + ": " + refusal.why);
    }
    in_member_ = true;
    return true;
  }

  void SkipPadding() {
    std::uint64_t padding = 0;
    while (Fill(1)) {
      const auto in = Available();
      const auto zeros = static_cast<std::size_t>(
          std::ranges::find_if(in, [](std::byte byte) { return byte != std::byte{0}; }) - in.begin());
      Use(zeros);
      padding += zeros;
      if (zeros < in.size()) break;
    }
    const bool ended = Available().empty();
    if (module_->padding == Padding::kAtEnd && padding > 0 && !ended) {
      Refuse("other bytes than zeros after the last member, at offset " + std::to_string(offset_));
    }
    if (module_->padding == Padding::kFours && padding % 4 != 0) {
      Refuse("the number of zeros is no multiple of 4 after member " + std::to_string(members_) + " at offset " +
             std::to_string(offset_));
    }
  }

  /// Reads until `bytes` bytes are available. Returns false if the source ends before. `bytes` must be small, or only
  /// one more than are available.
  bool Fill(std::size_t bytes) {
    while (end_ - begin_ < bytes && !source_ended_) {
      if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= std::exchange(begin_, 0);
      }
      if (end_ == buffer_.size()) ThrowInternal(name_, "a step wants more than " + std::to_string(end_) + " bytes");
      const std::uint64_t got = source_(std::span(buffer_).subspan(end_));
      if (got > buffer_.size() - end_) ThrowInternal(name_, "the source gave more than it was asked for");
      end_ += got;
      source_ended_ = got == 0;
    }
    return end_ - begin_ >= bytes;
  }

  std::span<const std::byte> Available() const { return std::span(buffer_).subspan(begin_, end_ - begin_); }

  void Use(std::size_t bytes) {
    begin_ += bytes;
    offset_ += bytes;
  }

  std::string InMember() const {
    return " (member " + std::to_string(members_) + " begins at " + std::to_string(member_offset_) + ")";
  }

  std::string Where() const { return "bad " + name_ + " data at offset " + std::to_string(offset_) + InMember(); }

  [[noreturn]] void RefuseMemory(const Refusal& refusal) const {
    const auto window = [&](std::uint64_t limit) { return MemoryFor(*module_, limit).window; };
    const std::uint64_t most = window(std::numeric_limits<std::uint64_t>::max());
    const std::string why = refusal.why + " " + MemoryText(refusal.needed) + ", more than ";
    if (refusal.needed > most) Refuse(Where() + ": " + why + MemoryText(most) + ", the most that is expanded here");
    std::uint64_t enough = refusal.needed;
    while (window(enough) < refusal.needed) enough += enough / 16;
    const std::uint64_t mebibytes = (enough * limits_.memory_share + kMiB - 1) / kMiB;
    throw Error(ErrorCode::kUsage, path_ + ": " + name_ + " data at offset " + std::to_string(offset_) + InMember() +
                                       ": " + why + MemoryText(window(limits_.memory_bytes)) +
                                       ", which --memory leaves for it: give at least --memory " +
                                       std::to_string(mebibytes) + "M");
  }

  [[noreturn]] void Refuse(const std::string& why) const { throw Error(ErrorCode::kBadInput, path_ + ": " + why); }

  const std::string name_;
  const std::string path_;
  const Source source_;
  const DecoderLimits limits_;
  const CodecModule* const module_;  ///< null if the source is not compressed
  std::unique_ptr<MemberDecoder> member_decoder_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;  ///< buffer_[begin_, end_) has the bytes that are not used yet
  std::size_t end_ = 0;
  bool source_ended_ = false;
  bool in_member_ = false;  ///< true: member_decoder_ expands a member
  bool broken_ = false;
  std::uint64_t members_ = 0;
  std::uint64_t member_offset_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t expanded_bytes_ = 0;
  bool all_sized_;  ///< true: the heads of all members so far tell their sizes, as those of BGZF do
  /// The members whose heads tell their sizes. Null until the first one.
  std::unique_ptr<MemberRing> ring_;
  std::uint64_t taken_offset_ = 0;   ///< the offset of the oldest member in the ring
  std::uint64_t taken_members_ = 0;  ///< number of members before that member
  std::uint64_t member_made_ = 0;    ///< number of bytes taken from that member
  bool ends_empty_ = false;          ///< true: the last member that was taken from the ring has no bytes
};

Decoder::Decoder(Codec codec, std::string path, Source source, const DecoderLimits& limits)
    : impl_(std::make_unique<Impl>(codec, std::move(path), std::move(source), limits)) {}

/// A file of columns, which its module decodes into rows.
class Decoder::Rows {
 public:
  Rows(Codec codec, std::string path, RowFile file, const DecoderLimits& limits)
      : codec_(codec), path_(std::move(path)), limits_(limits), freed_(limits.process_bytes) {
    const std::uint64_t size = file.size;
    file.read = [this, read = std::move(file.read)](std::uint64_t offset, std::span<std::byte> out) {
      const std::uint64_t got = read(offset, out);
      read_.fetch_add(got, std::memory_order_relaxed);
      return got;
    };
    const RowModule& module = LoadRows(codec);
    Guard([&] {
      decoder_ = module.make_decoder({size, std::move(file.read)},
                                     {RowDecoderBytes(limits.memory_bytes), limits.memory_share, limits.threads,
                                      limits.ranges, limits.store, limits.key_columns});
    });
  }

  std::uint64_t Read(std::span<std::byte> out) {
    if (out.empty()) ThrowInternal(CodecName(codec_), "no room to expand " + path_);
    std::uint64_t got = 0;
    Guard([&] { got = decoder_->Read(out); });
    expanded_bytes_ += got;
    if (expanded_bytes_ + KeptBytes() - kept_before_ > limits_.expanded_bytes) {
      throw Error(ErrorCode::kBadInput, path_ + ": expands to more than " + std::to_string(limits_.expanded_bytes) +
                                            " bytes (--max-expanded)");
    }
    freed_.Count(got);
    return got;
  }
  std::uint64_t offset() const { return read_.load(std::memory_order_relaxed); }
  std::uint64_t expanded_bytes() const { return expanded_bytes_; }
  std::string Lost() const { return decoder_->Lost(); }

 private:
  template <typename Step>
  void Guard(Step step) const {
    try {
      step();
    } catch (const Refusal& refusal) {
      if (refusal.needed == 0) throw Error(ErrorCode::kBadInput, path_ + ": " + refusal.why);
      const std::uint64_t wanted = refusal.needed + refusal.needed / 8;
      const std::uint64_t enough = RowDecoderBytes(wanted) < wanted ? 2 * wanted : wanted;
      throw Error(ErrorCode::kUsage, path_ + ": " + refusal.why + ": give at least --memory " +
                                         std::to_string(enough * limits_.memory_share / kMiB + 1) + "M");
    }
  }

  /// Returns the size of the rows in the store, which has those of earlier inputs, too.
  std::uint64_t KeptBytes() const { return limits_.store == nullptr ? 0 : limits_.store->kept().row_bytes; }

  const Codec codec_;
  const std::string path_;
  const DecoderLimits limits_;
  const std::uint64_t kept_before_ = KeptBytes();
  std::atomic<std::uint64_t> read_{0};
  std::uint64_t expanded_bytes_ = 0;
  FreedMemory freed_;
  std::unique_ptr<RowDecoder> decoder_;
};

Decoder::Decoder(Codec codec, std::string path, RowFile file, const DecoderLimits& limits) {
  if (IsColumnFile(codec)) {
    rows_ = std::make_unique<Rows>(codec, std::move(path), std::move(file), limits);
    return;
  }
  auto source = [read = std::move(file.read), at = std::uint64_t{0}](std::span<std::byte> out) mutable {
    const std::uint64_t got = read(at, out);
    at += got;
    return got;
  };
  impl_ = std::make_unique<Impl>(codec, std::move(path), std::move(source), limits);
}
Decoder::~Decoder() = default;
std::uint64_t Decoder::Read(std::span<std::byte> out) { return rows_ ? rows_->Read(out) : impl_->Read(out); }
std::uint64_t Decoder::offset() const { return rows_ ? rows_->offset() : impl_->offset(); }
std::uint64_t Decoder::expanded_bytes() const { return rows_ ? rows_->expanded_bytes() : impl_->expanded_bytes(); }
std::string Decoder::Lost() const { return rows_ ? rows_->Lost() : std::string(); }

std::uint64_t DecoderMemoryBytes(Codec codec, std::uint64_t limit, unsigned threads) {
  if (codec == Codec::kNone) return 0;
  if (IsColumnFile(codec)) return RowDecoderBytes(limit);
  const CodecModule& module = detail::LoadCodec(codec);
  const std::uint64_t ring = module.member_size == nullptr ? 0 : MemberRing::Bytes(module, limit, threads);
  return kSourceBytes + MemoryFor(module, limit).total + ring;
}

}  // namespace gpusort

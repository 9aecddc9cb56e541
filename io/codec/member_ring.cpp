#include "io/codec/member_ring.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gpusort {
namespace {

// A thread takes a few members at a time, so that threads seldom wait for each other.
std::size_t MembersOfSlot(unsigned threads) { return threads <= 1 ? 1 : 4; }
/// One more byte shows that a member is too long.
std::size_t OutBytes(std::size_t members) { return members * kMostSizedBytes + 1; }

}  // namespace

MemberRing::MemberRing(const CodecModule& module, std::uint64_t window, unsigned threads)
    : module_(module),
      window_(window),
      most_workers_(threads <= 1 ? 0 : threads),
      members_of_slot_(MembersOfSlot(threads)),
      own_([this](Slot& slot) { Expand(*decoders_.front(), slot); }),
      ring_(RingSlots(threads)) {
  decoders_.push_back(module.make_decoder(window));
}

void MemberRing::StartWorker() {
  decoders_.push_back(module_.make_decoder(window_));
  MemberDecoder& decoder = *decoders_.back();
  if (ring_.StartWorker([this, &decoder](Slot& slot) { Expand(decoder, slot); })) return;
  // With fewer threads the bytes are the same and take longer.
  decoders_.pop_back();
  most_workers_ = ring_.workers();
}

void MemberRing::Expand(MemberDecoder& decoder, Slot& slot) const {
  if (slot.out.empty()) slot.out.resize(OutBytes(members_of_slot_));
  std::span<const std::byte> rest = slot.in;
  std::span<std::byte> out = slot.out;
  for (Member& member : slot.members) {
    std::span<const std::byte> in = rest.first(member.bytes);
    rest = rest.subspan(member.bytes);
    std::span<std::byte> room = out.first(kMostSizedBytes + 1);
    try {
      decoder.Begin(in.first(module_.head_bytes));
      for (bool ended = false; !ended;) {
        const std::size_t before = in.size() + room.size();
        ended = decoder.Decode(in, room);
        if (room.empty()) throw Refusal{"a block expands to more than 64 KiB"};
        if (!ended && in.size() + room.size() == before) throw Refusal{"a block is longer than its head says"};
      }
      if (!in.empty()) throw Refusal{"a block is shorter than its head says"};
    } catch (const Refusal& refusal) {
      slot.refusal = refusal;
      slot.refused_at = member.bytes - in.size();
      return;
    }
    member.made = kMostSizedBytes + 1 - room.size();
    out = out.subspan(member.made);
    ++slot.good;
  }
}

void MemberRing::Add(std::span<const std::byte> member) {
  Slot& slot = ring_.filling();
  if (slot.members.empty()) slot.in.reserve(members_of_slot_ * kMostSizedBytes);
  slot.in.insert(slot.in.end(), member.begin(), member.end());
  slot.members.push_back({member.size()});
  if (slot.members.size() == members_of_slot_) Flush();
}

void MemberRing::Flush() {
  if (full() || ring_.filling().members.empty()) return;
  const std::size_t waiting = ring_.Queue();
  // The caller may soon expand one group. To start a thread takes less time than to expand another one.
  if (waiting > 1 && ring_.workers() < most_workers_) StartWorker();
}

MemberRing::Taken MemberRing::Take(std::span<std::byte> out) {
  Slot& slot = ring_.Oldest(own_);
  if (taken_members_ == slot.good) return {.refusal = slot.refusal, .refused_at = slot.refused_at};
  const Member& member = slot.members[taken_members_];
  Taken taken;
  taken.made = std::min<std::uint64_t>(out.size(), member.made - member_taken_);
  if (taken.made > 0) std::memcpy(out.data(), slot.out.data() + taken_bytes_, taken.made);
  taken_bytes_ += taken.made;
  member_taken_ += taken.made;
  if (member_taken_ < member.made) return taken;
  taken.ended = member.bytes;
  member_taken_ = 0;
  if (++taken_members_ < slot.members.size()) return taken;
  slot.in.clear();
  slot.members.clear();
  slot.good = 0;
  taken_members_ = 0;
  taken_bytes_ = 0;
  ring_.Pop();
  return taken;
}

std::uint64_t MemberRing::Bytes(const CodecModule& module, std::uint64_t limit, unsigned threads) {
  const std::size_t members = MembersOfSlot(threads);
  constexpr std::uint64_t kOther = 4 * kKiB;  // lists, locks, what malloc adds
  return (threads <= 1 ? 1 : std::uint64_t{threads} + 1) * (module.decoder_memory(limit).total + kOther) +
         RingSlots(threads) * (members * kMostSizedBytes + OutBytes(members) + kOther);
}

}  // namespace gpusort

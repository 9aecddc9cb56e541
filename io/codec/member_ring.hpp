// Expands members of a compressed file on several threads. Only members whose heads tell their sizes can be found
// without expanding the members before them. Start at MemberRing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/codec/codec_module.hpp"
#include "io/codec/slot_ring.hpp"

namespace gpusort {

/// A ring of groups of members. The caller's thread adds members, which worker threads expand, and takes the expanded
/// bytes in the order of the members. A worker is started only when a group waits for one. The caller's thread expands
/// a group that no worker has begun when its bytes are needed, so a small file needs no worker. The result does not
/// depend on the number of threads. Not thread-safe.
class MemberRing {
 public:
  /// Makes a ring for the members of `module`, whose member_size must not be null. `window` is the argument of
  /// CodecModule::make_decoder. If `threads` is at least 2, the ring has up to so many workers, and otherwise none.
  MemberRing(const CodecModule& module, std::uint64_t window, unsigned threads);

  bool full() const { return ring_.full(); }
  /// Returns true if no member is left to be taken. Call Flush() before.
  bool empty() const { return ring_.empty(); }
  /// Adds a copy of the next member of the file. Call this only if full() returns false.
  void Add(std::span<const std::byte> member);
  /// Queues the members added so far, so that a thread can expand them.
  void Flush();

  struct Taken {
    std::uint64_t made = 0;            ///< number of bytes written
    std::uint64_t ended = 0;           ///< the size of the member if all of its bytes are written now; otherwise 0
    std::optional<Refusal> refusal{};  ///< why the member cannot be expanded
    std::uint64_t refused_at = 0;      ///< the offset in the member at which it was refused
  };
  /// Waits until the oldest member is expanded, and writes its next bytes to `out`. Call this only if empty() returns
  /// false.
  Taken Take(std::span<std::byte> out);

  /// Returns an upper bound of the memory of a ring in bytes, in addition to the decoder of the caller.
  static std::uint64_t Bytes(const CodecModule& module, std::uint64_t limit, unsigned threads);

 private:
  struct Member {
    std::uint64_t bytes = 0;  ///< compressed
    std::uint64_t made = 0;   ///< expanded
  };
  struct Slot {
    std::vector<std::byte> in, out;
    std::vector<Member> members;
    std::size_t good = 0;            ///< number of members that were expanded
    std::optional<Refusal> refusal;  ///< why the member after the good ones cannot be expanded
    std::uint64_t refused_at = 0;    ///< the offset in that member
  };
  using Ring = SlotRing<Slot>;

  void StartWorker();
  void Expand(MemberDecoder& decoder, Slot& slot) const;

  const CodecModule& module_;
  const std::uint64_t window_;
  std::size_t most_workers_;
  const std::size_t members_of_slot_;
  std::size_t taken_members_ = 0;                         ///< of the oldest slot
  std::uint64_t taken_bytes_ = 0;                         ///< expanded bytes of the oldest slot
  std::uint64_t member_taken_ = 0;                        ///< expanded bytes of the oldest member
  std::vector<std::unique_ptr<MemberDecoder>> decoders_;  ///< the first is the caller's, the others are the workers'
  const Ring::Work own_;                                  ///< expands a group on the caller's thread
  Ring ring_;                                             // its workers end before the decoders are destroyed
};

}  // namespace gpusort

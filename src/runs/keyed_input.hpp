// Puts sort keys before the records of sorted inputs (-m) if the sort keys must be computed, for example from columns
// of a CSV file. KeyedInput does this for one input, so that a merge can read the input as a sorted run. Start at
// KeyedInput.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "data/inputs.hpp"
#include "formats/key_encoder.hpp"
#include "formats/record_format.hpp"
#include "kernels/error.hpp"
#include "runs/cut.hpp"
#include "runs/keyed_pieces.hpp"

namespace gpusort {

/// Reads one sorted input from its beginning to its end, and makes keyed records (each is a sort key and its record).
/// The state of the format's parser changes with each record. Therefore call Load() from one thread at a time, for
/// ranges in the order of the input.
class KeyedInput {
 public:
  /// The buffers of one thread, which it can use for several inputs one after the other.
  class Buffers {
   public:
    /// Makes buffers for ranges of at most `bytes` bytes of the input.
    Buffers(HostMemory& memory, const KeyScheme& scheme, std::uint64_t bytes)
        : encoder_(scheme.MakeEncoder()), raw_(memory, bytes + kReadSlack) {}

   private:
    friend class KeyedInput;
    std::unique_ptr<KeyEncoder> encoder_;
    HostBuffer raw_;
    KeyedPiece made_[2];
  };

  /// `input` is the index of the input to read. All arguments must outlive this object.
  KeyedInput(HostMemory& memory, const Inputs& inputs, const KeyScheme& scheme, std::uint32_t input,
             std::uint64_t max_record, std::uint64_t range_bytes)
      : memory_(memory),
        inputs_(inputs),
        scheme_(scheme),
        input_(input),
        range_bytes_(range_bytes),
        keys_(inputs, scheme, max_record, NeededOrder::kMerge),
        cutter_(inputs, max_record) {
    cutter_.Begin(input, {});
  }
  KeyedInput(const KeyedInput&) = delete;
  KeyedInput& operator=(const KeyedInput&) = delete;
  ~KeyedInput() { memory_.Release(held_); }

  Buffers MakeBuffers() const { return Buffers(memory_, scheme_, range_bytes_); }

  /// Reads `range`, the next bytes of the input. Puts the records that end in these bytes into `block`, each after its
  /// sort key. Uses the memory `block.buffer`, or `block.own` if the records are larger. Throws Error(kBadInput) if the
  /// records are not in order. Throws Error(kOutOfMemory) if a record is so long that the job would exceed its memory
  /// limit.
  void Load(const InputRange& range, Buffers& buffers, LoadedBlock& block) {
    const RecordSpan raw = inputs_.Read(range, {buffers.raw_.data(), buffers.raw_.size()});
    const std::uint64_t size = inputs_.size(input_);
    if (range.offset == 0) Learn(raw, size);
    PieceCutter::Cut ended = cutter_.Take(raw, range.offset);
    Make(ended, buffers, buffers.made_[0]);
    PieceCutter::Cut last;
    if (range.offset + range.bytes == size) {
      last = cutter_.End();
      if (!cutter_.trailer().empty()) throw Error(ErrorCode::kInternal, "an input of -m has bytes after its records");
    }
    Make(last, buffers, buffers.made_[1]);
    Hold(cutter_.open_bytes() + last_.size());
    Put(buffers, block);
  }

  /// Returns the counts of unusual values in key columns so far, such as missing values. Call this only while no thread
  /// calls Load().
  const KeyTally& tally() const { return tally_; }

 private:
  /// Finds out how the records of the input are written, such as the format of the timestamps in a log. `raw` is the
  /// first bytes of the input that were read, and `size` is the size of the input.
  void Learn(RecordSpan raw, std::uint64_t size) {
    const std::uint64_t front = std::min<std::uint64_t>(size, RecordFormat::kFrontBytes);
    if (raw.size() >= front) return cutter_.Learn(raw);
    const HostBuffer buffer(memory_, front + kReadSlack);
    cutter_.Learn(inputs_.Read({input_, 0, front}, {buffer.data(), buffer.size()}));
  }

  /// Makes the sort keys of the records in `cut`, and stores keys and records in `made`. Throws the error that `cut`
  /// contains, if there is one.
  void Make(PieceCutter::Cut& cut, Buffers& buffers, KeyedPiece& made) {
    std::vector<std::byte> keyed = std::move(made.keyed);
    keyed.clear();
    made = {};
    if (keyed.capacity() <= 2 * range_bytes_) made.keyed = std::move(keyed);
    if (cut.piece) {
      RawPiece& piece = *cut.piece;
      // Counts memory for the first record of the piece, `head`, which may be long, and for `last_`, a copy of the last
      // record before the piece. `head` counts three times: once for its bytes, and twice for its copy with a sort key,
      // because a vector that grows can take twice the size of its content.
      Hold(3 * piece.head.size() + last_.size());
      try {
        keys_.Make(piece, *buffers.encoder_, made);
      } catch (const BadRecord& bad) {
        const std::uint64_t newlines = piece.Newlines(made.tally.offset - piece.offset);
        Blame({made.tally.record, newlines, made.tally.offset + bad.at()}, bad.what());
      }
      if (!made.keyed.empty()) {
        if (const std::optional<RecordPlace> disorder = keys_.FindDisorder(made, last_)) {
          keys_.ThrowNotSorted(input_, Absolute(*disorder), tally_, made.tally);
        }
        const RecordSpan last = LastRecord(made.keyed, keys_.layout());
        // A new vector: the memory of an earlier, longer record is freed.
        last_ = std::vector<std::byte>(last.begin(), last.end());
      }
      tally_.Add(made.tally);
      newlines_ += made.newlines;
    }
    if (cut.failure) Blame({0, 0, cut.failed_at}, *cut.failure);
  }

  /// Copies the records of `buffers`, with their sort keys, into `block`.
  void Put(const Buffers& buffers, LoadedBlock& block) {
    block.begin = bytes_;
    std::uint64_t bytes = 0;
    for (const KeyedPiece& made : buffers.made_) bytes += made.keyed.size();
    std::byte* data = block.buffer.data();
    if (bytes > block.buffer.size()) {
      block.own = HostBuffer(memory_, bytes);
      data = block.own.data();
    }
    block.bytes = {data, bytes};
    for (const KeyedPiece& made : buffers.made_) {
      if (!made.keyed.empty()) std::memcpy(data, made.keyed.data(), made.keyed.size());
      data += made.keyed.size();
      block.sum += made.sum;
    }
    bytes_ += bytes;
  }

  /// Counts `bytes`, the memory that long records take now, against the memory limit of the job. This amount replaces
  /// the amount of the previous call. Throws Error(kOutOfMemory) if the limit is exceeded.
  void Hold(std::uint64_t bytes) {
    const std::uint64_t held = bytes > range_bytes_ ? bytes : 0;
    if (held > held_) memory_.Reserve(held - held_);
    if (held < held_) memory_.Release(held_ - held);
    held_ = held;
  }

  RecordPlace Absolute(RecordPlace place) const {
    place.records += tally_.record;
    place.newlines += newlines_;
    return place;
  }
  [[noreturn]] void Blame(const RecordPlace& place, const std::string& why) const {
    BlameRecord(inputs_, input_, Absolute(place), why);
  }

  HostMemory& memory_;
  const Inputs& inputs_;
  const KeyScheme& scheme_;
  const std::uint32_t input_;
  const std::uint64_t range_bytes_;
  const PieceKeys keys_;
  PieceCutter cutter_;
  std::uint64_t bytes_ = 0;      ///< the number of bytes of all records so far, with their sort keys
  std::uint64_t newlines_ = 0;   ///< the number of newlines in all records so far, without sort keys
  std::vector<std::byte> last_;  ///< the last record with its sort key
  std::uint64_t held_ = 0;       ///< the number of bytes that Hold() has counted
  KeyTally tally_;
};

}  // namespace gpusort

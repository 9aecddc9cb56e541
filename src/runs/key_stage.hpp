// Makes keyed records of the input's blocks, in the order of the input. One thread finds the ends of records, and joins
// the parts of a record that lies in several blocks. Other threads make the keys. Start at KeyStage.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "data/inputs.hpp"
#include "data/proof.hpp"
#include "data/reader.hpp"
#include "flow/pipeline.hpp"
#include "formats/key_encoder.hpp"
#include "plan/memory_shares.hpp"

namespace gpusort {

/// The order that every input must have: any (kNone), sorted (kMerge, kCheck), or sorted without equal keys
/// (kCheckUnique). A violation is Error(kBadInput) with kMerge, and otherwise Error(kNotSorted).
enum class NeededOrder { kNone, kMerge, kCheck, kCheckUnique };

class KeyStage {
 public:
  /// Starts threads of `pipeline`, which read `ranges` of `inputs` (of streams, everything), and fill blocks of `pool`.
  /// `order` is the order that every input must have.
  KeyStage(Pipeline& pipeline, HostMemory& memory, Inputs& inputs, KeyScheme& keys, const KeyShape& shape,
           BlockPool& pool, const std::vector<InputRange>& ranges, const RecordLayout& lines, std::uint64_t max_record,
           NeededOrder order, unsigned readers, StageClock& clock);

  /// Returns the next block of keyed records, or std::nullopt at the end. The block's range counts keyed bytes, as if
  /// they came from one stream. `waiter` is the pipeline of the calling thread.
  std::optional<InputReader::Block> Next(const Pipeline& waiter) { return keyed_.Pop(waiter); }
  // Call the following functions only after Next() has returned std::nullopt.
  /// Returns the sum of all records that were read.
  const RecordSum& sum() const { return sum_; }
  const KeyTally& tally() const { return tally_; }
  /// Returns the bytes after the last record of the inputs.
  const std::vector<std::byte>& trailer() const { return trailer_; }

 private:
  /// Whole records of the input: first `head`, joined from several blocks, then the bytes [begin, end) of `block`.
  struct Piece {
    std::uint64_t number = 0;
    std::uint32_t input = 0;
    std::uint64_t offset = 0;  ///< offset of the piece in the input
    ScanState state;           ///< the format's state at `offset`
    std::vector<std::byte> head;
    InputReader::Block block;
    std::uint64_t begin = 0, end = 0;
    std::uint64_t stored = 0;  ///< bytes read from the file, also in blocks in which no record ends
  };
  /// The keyed records of a piece, and facts about them.
  struct Made {
    std::uint64_t number = 0;
    std::uint32_t input = 0;
    std::uint64_t stored = 0;
    std::vector<std::byte> keyed;
    RecordSum sum, rest;          ///< sums of the records without keys: all records; all but the first
    std::uint64_t first_end = 0;  ///< the end of the first record in `keyed`
    std::uint64_t longest = 0;    ///< size of the longest keyed record after the first
    KeyTally tally;
    std::uint64_t newlines = 0;
    std::uint64_t offset = 0;  ///< offset of the first record in the input
    struct Place {
      std::uint64_t records = 0, newlines = 0, offset = 0;
    };
    std::optional<Place> disorder;  ///< the first record out of order, counted from the beginning of the piece
  };
  void Cut();
  void MakeKeys();
  void Make(Piece& piece, KeyEncoder& encoder, Made& made);
  /// Returns the place of the record that follows `in_order`, the keyed records at the front of `piece`. `state` is the
  /// format's state at the beginning of the piece.
  Made::Place FindPlace(const Piece& piece, ScanState state, KeyEncoder& encoder, RecordSpan in_order);
  /// Returns the number of newlines in the first `count` bytes of the piece's records.
  static std::uint64_t Newlines(const Piece& piece, std::uint64_t count);
  /// Returns the same as RecordFormat::Scan. Uses the reader's guess about the block if it is right. Throws BadRecord.
  RecordFormat::Ends Scan(const InputReader::Block& block, ScanState& state) const;
  void SetTrailer(std::uint32_t input, RecordSpan trailer);
  /// Waits until all pieces before `number` are handed on.
  void WaitForTurn(std::uint64_t number);
  /// Hands on `made`, or stores it until its turn comes. Also hands on the stored pieces whose turn has come.
  void HandOnInTurn(Made made);
  /// Hands on the keyed records of a piece. The caller must wait for the piece's turn.
  void HandOn(const Made& made);
  /// Throws Error(kBadInput) with the message `why`, about the record that follows the next `records` records and
  /// `newlines` lines of the input. `offset` is its place in the input. The caller must wait for the piece's turn.
  [[noreturn]] void Blame(std::uint32_t input, std::uint64_t records, std::uint64_t newlines, std::uint64_t offset,
                          const std::string& why);
  /// Returns "record N, line N, byte N" for a record; the arguments are those of Blame().
  std::string PlaceText(std::uint32_t input, std::uint64_t records, std::uint64_t newlines, std::uint64_t offset);

  Pipeline& pipeline_;
  Inputs& inputs_;
  const RecordFormat& format_;
  KeyScheme& scheme_;
  const RecordLayout layout_;
  const std::uint64_t max_record_, most_keyed_;
  const std::size_t most_waiting_;
  const std::uint64_t long_bytes_;  ///< longer records over several blocks get their keys one at a time
  const NeededOrder order_;
  BlockPool& pool_;
  BlockPool raw_;
  StageClock& clock_;
  BoundedQueue<Piece> pieces_;
  OrderedQueue<InputReader::Block> keyed_;
  std::vector<std::byte> trailer_;
  std::mutex mutex_;
  std::condition_variable turn_changed_;
  std::uint64_t turn_ = 0;                     ///< number of the piece whose records are handed on next
  std::map<std::uint64_t, Made> waiting_;      ///< finished pieces that wait for earlier pieces, by number
  std::vector<std::vector<std::byte>> spare_;  ///< buffers for keyed records that can be used again
  std::uint64_t blocks_ = 0;                   ///< number of blocks that were handed to the feeder
  std::uint64_t bytes_ = 0;                    ///< number of keyed bytes that were handed to the feeder
  std::uint64_t pieces_end_ = ~std::uint64_t{0};
  RecordSum sum_;
  KeyTally tally_;
  // The following members describe the input of the piece `turn_`.
  std::uint32_t input_ = 0;
  std::uint64_t records_ = 0, newlines_ = 0;
  std::vector<std::byte> last_;  ///< the last keyed record of this input, if the order is checked
  // reader_ comes last, because its threads may run while the constructor throws.
  InputReader reader_;
  const Pipeline::Guard guard_{pipeline_};
};

}  // namespace gpusort

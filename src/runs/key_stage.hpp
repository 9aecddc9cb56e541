// Makes keyed records of the blocks of a reader, in the order of the input. One thread finds where records end and puts
// records together that blocks cut. The other threads make keys of whole records and hand on blocks of keyed records.
// Start at KeyStage.
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

/// The order that each input must have. kMerge: in order, or Error(kBadInput). kCheck: in order, or Error(kNotSorted).
/// kCheckUnique: in order and without equal keys, or Error(kNotSorted).
enum class NeededOrder { kNone, kMerge, kCheck, kCheckUnique };

class KeyStage {
 public:
  /// Starts threads of `pipeline`, which read `ranges` of `inputs` (streams: all), and fill blocks of `pool`. `order`:
  /// what of the inputs is an error.
  KeyStage(Pipeline& pipeline, HostMemory& memory, Inputs& inputs, KeyScheme& keys, const KeyShape& shape,
           BlockPool& pool, const std::vector<InputRange>& ranges, const RecordLayout& lines, std::uint64_t max_record,
           NeededOrder order, unsigned readers, StageClock& clock);

  /// The next block of keyed records, which counts as one of a stream: its range is that of the keyed bytes. Nothing at
  /// the end. `waiter`: the pipeline of the calling thread.
  std::optional<InputReader::Block> Next(const Pipeline& waiter) { return keyed_.Pop(waiter); }
  // Once Next gave nothing:
  /// The sum of the records that were read.
  const RecordSum& sum() const { return sum_; }
  const KeyTally& tally() const { return tally_; }
  /// The bytes after the records of the inputs.
  const std::vector<std::byte>& trailer() const { return trailer_; }

 private:
  /// Whole records: `head`, put together out of several blocks, then those of `block` from `begin` up to `end`.
  struct Piece {
    std::uint64_t number = 0;
    std::uint32_t input = 0;
    std::uint64_t offset = 0;  ///< where in the input it begins
    ScanState state;           ///< there
    std::vector<std::byte> head;
    InputReader::Block block;
    std::uint64_t begin = 0, end = 0;
    std::uint64_t stored = 0;  ///< of blocks that ended no record, too
  };
  /// The keyed records of a piece.
  struct Made {
    std::uint64_t number = 0;
    std::uint32_t input = 0;
    std::uint64_t stored = 0;
    std::vector<std::byte> keyed;
    RecordSum sum, rest;          ///< of the records as they were read: of all, and of all but the first
    std::uint64_t first_end = 0;  ///< in `keyed`
    std::uint64_t longest = 0;    ///< keyed record except the first
    KeyTally tally;
    std::uint64_t newlines = 0;
    std::uint64_t offset = 0;     ///< of its first record
    struct Place {
      std::uint64_t records = 0, newlines = 0, offset = 0;
    };
    std::optional<Place> disorder;  ///< the record, with the counts of the piece before it
  };
  void Cut();
  void MakeKeys();
  void Make(Piece& piece, KeyEncoder& encoder, Made& made);
  /// Returns the place of the record after `in_order`, the keyed records of the front of a piece that begins in
  /// `state`.
  Made::Place FindPlace(const Piece& piece, ScanState state, KeyEncoder& encoder, RecordSpan in_order);
  /// In the first `count` bytes of its records.
  static std::uint64_t Newlines(const Piece& piece, std::uint64_t count);
  /// Returns what RecordFormat::Scan would. Uses the guess about the block if it is right. Throws BadRecord.
  RecordFormat::Ends Scan(const InputReader::Block& block, ScanState& state) const;
  void SetTrailer(std::uint32_t input, RecordSpan trailer);
  /// Until all pieces before `number` are handed on.
  void WaitForTurn(std::uint64_t number);
  /// Hands on what waits for its turn and has it now.
  void HandOnInTurn(Made made);
  /// In turn.
  void HandOn(const Made& made);
  /// Error(kBadInput) about the record of `records` more than were handed on, which begins `newlines` lines further, at
  /// `offset` of the input. In turn.
  [[noreturn]] void Blame(std::uint32_t input, std::uint64_t records, std::uint64_t newlines, std::uint64_t offset,
                          const std::string& why);
  /// "record N, line N, byte N" of it.
  std::string PlaceText(std::uint32_t input, std::uint64_t records, std::uint64_t newlines, std::uint64_t offset);

  Pipeline& pipeline_;
  Inputs& inputs_;
  const RecordFormat& format_;
  KeyScheme& scheme_;
  const RecordLayout layout_;
  const std::uint64_t max_record_, most_keyed_;
  const std::size_t most_waiting_;
  const std::uint64_t long_bytes_;  ///< records over several blocks that are longer get their keys alone
  const NeededOrder order_;
  BlockPool& pool_;
  BlockPool raw_;
  StageClock& clock_;
  BoundedQueue<Piece> pieces_;
  OrderedQueue<InputReader::Block> keyed_;
  std::vector<std::byte> trailer_;
  std::mutex mutex_;
  std::condition_variable turn_changed_;
  std::uint64_t turn_ = 0;    ///< the piece whose blocks are handed on now
  std::map<std::uint64_t, Made> waiting_;  ///< finished pieces that wait for earlier pieces, by number
  std::vector<std::vector<std::byte>> spare_;  ///< buffers of keyed records, to be used again
  std::uint64_t blocks_ = 0;  ///< number of blocks that were handed to the feeder
  std::uint64_t bytes_ = 0;   ///< in them
  std::uint64_t pieces_end_ = ~std::uint64_t{0};
  RecordSum sum_;
  KeyTally tally_;
  // The state of the input whose turn it is:
  std::uint32_t input_ = 0;
  std::uint64_t records_ = 0, newlines_ = 0;
  std::vector<std::byte> last_;  ///< keyed record of it; if it shall be sorted
  // Last: its threads may run while the constructor throws.
  InputReader reader_;
  const Pipeline::Guard guard_{pipeline_};
};

}  // namespace gpusort

// Divides the bytes of an input into pieces of a few whole records, and puts a sort key before each record of a piece.
// Start at PieceCutter and PieceKeys.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/inputs.hpp"
#include "data/proof.hpp"
#include "formats/key_encoder.hpp"
#include "formats/record_format.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// Consecutive whole records of an input: the bytes of `head`, followed by the bytes of `rest`.
struct RawPiece {
  std::uint32_t input = 0;
  std::uint64_t offset = 0;     ///< the offset of the piece in the input, in bytes
  ScanState state;              ///< the state of the format's parser at `offset`
  std::vector<std::byte> head;  ///< the first record, if it began in an earlier block; otherwise empty
  RecordSpan rest;              ///< points into the bytes of the last call of PieceCutter::Take()

  /// Returns the number of newlines in the first `count` bytes of the piece.
  std::uint64_t Newlines(std::uint64_t count) const {
    const std::uint64_t in_head = std::min<std::uint64_t>(count, head.size());
    return detail::CountBytes(head.data(), in_head, '\n') + detail::CountBytes(rest.data(), count - in_head, '\n');
  }
};

/// The place of a record in an input: how many records and newlines come before it, and its offset in bytes.
struct RecordPlace {
  std::uint64_t records = 0, newlines = 0, offset = 0;

  /// Returns the place as text for messages: "record N, line N, byte N", or "row N" if offsets mean nothing. If the job
  /// sorts a part from the middle of the input, returns only "byte N", because the number of records before this part
  /// is not known.
  std::string Text(const Inputs& inputs, std::uint32_t input) const {
    if (!inputs.format().has_offsets()) return fmt::format("row {}", records + 1);
    const std::string byte = fmt::format("byte {}", inputs.begin(input) + offset);
    if (inputs.in_middle(input)) return byte;
    std::uint64_t line = newlines + 1;
    const std::span<const std::byte> header = inputs.header();
    if (inputs.begin(input) > 0) line += detail::CountBytes(header.data(), header.size(), '\n');
    return fmt::format("record {}{}, {}", records + 1, inputs.format().newlines() ? fmt::format(", line {}", line) : "",
                       byte);
  }
};

/// Throws Error(kBadInput) with the name of the input, the place of the wrong record, and the message `why`.
[[noreturn]] inline void BlameRecord(const Inputs& inputs, std::uint32_t input, const RecordPlace& place,
                                     const std::string& why) {
  throw Error(ErrorCode::kBadInput,
              fmt::format("{}: {}: {}", EscapeName(inputs.path(input)), place.Text(inputs, input), why));
}

/// The error that an input is not in order.
class NotInOrder : public Error {
 public:
  NotInOrder(ErrorCode code, const std::string& message, KeyTally tally)
      : Error(code, message), tally_(std::move(tally)) {}
  /// The counts of unusual values up to the record that is out of order, and of some records after it.
  const KeyTally& tally() const { return tally_; }

 private:
  KeyTally tally_;
};

/// Divides the bytes of an input into pieces, which consist of whole records. The bytes arrive in blocks, in the order
/// of the input, and a block may end inside a record.
class PieceCutter {
 public:
  PieceCutter(const Inputs& inputs, std::uint64_t max_record)
      : inputs_(inputs), format_(inputs.format()), max_record_(max_record) {}

  /// The records that Take() or End() has found, and the error that has stopped the search, if there is one.
  struct Cut {
    std::optional<RawPiece> piece;
    /// The reason why the input cannot be read after the offset `failed_at`. The caller must throw an error with this
    /// text after processing `piece`. No value: there is no error.
    std::optional<std::string> failure;
    std::uint64_t failed_at = 0;
  };

  /// Begins to read input number `input`. `state` is the state of the format's parser before the first record of this
  /// input.
  void Begin(std::uint32_t input, ScanState state) {
    input_ = input;
    open_.clear();
    at_ = 0;
    state_ = open_state_ = std::move(state);
    if (!inputs_.state(input).empty()) state_ = open_state_ = format_.LoadState(inputs_.state(input));
  }
  /// Detects how the records of the input are written, such as the format of the timestamps in a log. `front` is the
  /// first bytes of the input. Call this after Begin() and before the first Take().
  void Learn(RecordSpan front) {
    if (!inputs_.state(input_).empty()) return;
    format_.BeginInput(front, input_, state_);
    open_state_ = state_;
  }
  /// Returns the state of the format's parser after all bytes that were passed to Take() so far.
  const ScanState& state() const { return state_; }
  /// Returns the size of the incomplete record at the end of the bytes that were passed to Take() so far, or 0.
  std::uint64_t open_bytes() const { return open_.size(); }

  /// Takes the next bytes of the input, which begin at `offset`. Returns the records that end in these bytes, if there
  /// are any. `guess` is empty or the result of RecordFormat::LookAhead(bytes). Throws LineTooLong if a record is
  /// longer than allowed.
  Cut Take(RecordSpan bytes, std::uint64_t offset, const RecordFormat::Guess& guess = {}) {
    Cut cut;
    RecordFormat::Ends ends;
    const ScanState front = state_;
    try {
      ends = format_.ScanGuessed(bytes, state_, guess);
    } catch (const BadRecord& error) {
      // The records before the bad record are still processed, so that the error message can count them.
      cut.failure = error.what();
      bytes = bytes.first(error.at());
      ends = format_.Scan(bytes, state_ = front);
    }
    at_ = cut.failed_at = offset + bytes.size();
    if (ends.none()) {
      open_.insert(open_.end(), bytes.begin(), bytes.end());
      if (cut.failure || open_.size() <= max_record_) return cut;
      const std::string why = format_.WhyOpen(state_);
      cut.failed_at = at_ - open_.size();
      if (const std::uint64_t more = format_.OpenBytes(state_); more > 0) {
        inputs_.RefuseRow(input_, open_.size() + more, max_record_);
      }
      if (why.empty()) throw LineTooLong(inputs_.path(input_), inputs_.begin(input_) + cut.failed_at, max_record_);
      cut.failure = why + " in the next " + std::to_string(open_.size()) + " bytes (longer records: --max-record)";
      return cut;
    }
    RawPiece& piece = cut.piece.emplace();
    piece.input = input_;
    piece.offset = offset - open_.size();
    piece.state = std::exchange(open_state_, std::move(ends.state));
    std::uint64_t begin = 0;
    if (!open_.empty()) {
      begin = ends.at_front ? 0 : ends.first;
      open_.insert(open_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(begin));
      piece.head = std::exchange(open_, {});
    }
    piece.rest = bytes.subspan(begin, ends.last - begin);
    open_.assign(bytes.begin() + static_cast<std::ptrdiff_t>(ends.last), bytes.end());
    return cut;
  }

  /// Ends the input, after all its bytes were passed to Take(). Returns the last record if it has no delimiter and
  /// needs none. Sets Cut::failure if the last record is wrong.
  Cut End() {
    Cut cut;
    std::uint64_t whole = 0;
    if (inputs_.ends_inside(input_) && !open_.empty() && !format_.ends_in(state_)) {
      throw Error(ErrorCode::kIntegrity,
                  EscapeName(inputs_.path(input_)) + ": what is sorted of it ends inside a record");
    }
    try {
      whole = inputs_.ends_inside(input_) ? open_.size() : format_.Finish(open_, state_);
    } catch (const BadRecord& bad) {
      cut.failure = bad.what();
      cut.failed_at = at_ - open_.size() + bad.at();
      return cut;
    }
    trailer_.assign(open_.begin() + static_cast<std::ptrdiff_t>(whole), open_.end());
    open_.resize(whole);
    if (whole == 0) return cut;
    RawPiece& piece = cut.piece.emplace();
    piece.input = input_;
    piece.offset = at_ - open_.size() - trailer_.size();
    piece.state = open_state_;
    piece.head = std::exchange(open_, {});
    return cut;
  }
  /// Returns the bytes after the last record of the input, such as the last lines of an SQL dump. Call this after
  /// End().
  RecordSpan trailer() const { return trailer_; }

 private:
  const Inputs& inputs_;
  const RecordFormat& format_;
  const std::uint64_t max_record_;
  std::uint32_t input_ = 0;
  std::vector<std::byte> open_;   ///< the beginning of a record that has not ended
  ScanState state_, open_state_;  ///< the parser's states after all bytes, and at the beginning of `open_`
  std::uint64_t at_ = 0;          ///< the offset in the input after all bytes so far
  std::vector<std::byte> trailer_;
};

/// The keyed records (each is a sort key and its record) that were made from one piece of an input, and values about
/// them.
struct KeyedPiece {
  std::vector<std::byte> keyed;
  RecordSum sum, rest;          ///< checksums of the records without their keys; `rest` does not count the first record
  std::uint64_t first_end = 0;  ///< the offset in `keyed` of the end of the first record
  std::uint64_t longest = 0;    ///< the size in bytes of the longest record with its key, except the first record
  KeyTally tally;               ///< counts of unusual values, also in records that the job leaves out
  std::uint64_t newlines = 0;
  // The places of two records, for the check that an input is in order. The counts in them start at the beginning of
  // this piece of the input.
  RecordPlace first;  ///< the first record in `keyed`
  /// The first record that is out of order. No value: all records are in order.
  std::optional<RecordPlace> disorder;
};

/// Makes sort keys and puts each key before its record. Any thread may call any function at any time, but each thread
/// needs a separate KeyEncoder.
class PieceKeys {
 public:
  /// `max_record` is the maximum size of a record without its key, in bytes. `order` is the order in which every input
  /// must contain its records (kNone: any order).
  PieceKeys(const Inputs& inputs, const KeyScheme& scheme, std::uint64_t max_record, NeededOrder order)
      : inputs_(inputs),
        layout_(scheme.layout()),
        max_record_(max_record),
        most_keyed_(max_record + scheme.most_added(max_record)),
        order_(order) {}

  const RecordLayout& layout() const { return layout_; }
  /// Returns the largest size of a record with its sort key, in bytes.
  std::uint64_t most_keyed() const { return most_keyed_; }

  /// Appends each record of `piece`, after its sort key, to `made.keyed`.
  /// - `made` must be new, but `made.keyed` may have reserved memory.
  /// - Throws LineTooLong if a record is longer than `max_record` of the constructor.
  /// - Throws BadRecord if a record is wrong. Its place is then in made.tally.record and made.tally.offset.
  void Make(RawPiece& piece, KeyEncoder& encoder, KeyedPiece& made) const {
    made.tally.input = piece.input;
    made.tally.offset = piece.offset;
    std::vector<std::byte> prefixed;
    const ScanState front = order_ == NeededOrder::kNone ? ScanState() : piece.state;
    for (RecordSpan part : {RecordSpan(piece.head), piece.rest}) {
      while (!part.empty()) {
        const std::size_t begin = made.keyed.size();
        const std::uint64_t size = encoder.Append(part, piece.state, made.keyed, made.tally);
        if (std::max(size, encoder.kept_bytes()) > max_record_) {
          if (inputs_.of_columns()) {
            inputs_.RefuseRow(piece.input, std::max(size, encoder.kept_bytes()), max_record_);
          }
          throw LineTooLong(inputs_.path(piece.input), inputs_.begin(piece.input) + made.tally.offset, max_record_);
        }
        // The encoder may have cut off the keys of a record that is too large.
        if (made.keyed.size() - begin > most_keyed_) {
          if (inputs_.of_columns()) inputs_.RefuseRow(piece.input, made.keyed.size() - begin, most_keyed_);
          throw BadRecord(0, "with its keys it takes more than " + std::to_string(most_keyed_) +
                                 " bytes: allow it with --max-record");
        }
        if (made.keyed.size() > begin) {
          if (begin == 0) made.first = {made.tally.record, 0, made.tally.offset};
          const RecordSum sum = encoder.copies() ? SumRecords(RecordSpan(made.keyed).subspan(begin), layout_)
                                                 : Sum(encoder.prefix(), encoder.OwnPart(part.first(size)), prefixed);
          AddSum(sum, made.keyed.size() - begin, made);
        }
        ++made.tally.record;
        made.tally.offset += size;
        part = part.subspan(size);
      }
    }
    // Only messages with line numbers need this count (see RecordPlace::Text).
    if (inputs_.format().newlines()) made.newlines = piece.Newlines(piece.head.size() + piece.rest.size());
    if (order_ == NeededOrder::kNone || made.keyed.empty()) return;
    made.first.newlines = piece.Newlines(made.first.offset - piece.offset);
    const std::uint64_t disorder = FirstLineDisorder(made.keyed, layout_, order_ == NeededOrder::kCheckUnique);
    if (disorder != kInOrder) made.disorder = FindPlace(piece, front, encoder, RecordSpan(made.keyed).first(disorder));
  }

  /// Finds the first record in `made` that breaks the order, and returns where it is in the input. No value: none does.
  /// - last: the last record before `made`, with its sort key; empty if there is none
  std::optional<RecordPlace> FindDisorder(const KeyedPiece& made, RecordSpan last) const {
    const int border = last.empty() ? -1 : CompareRecords(last, FirstRecord(made.keyed, layout_), layout_);
    return border > (order_ == NeededOrder::kCheckUnique ? -1 : 0) ? made.first : made.disorder;
  }
  /// Throws the error that an input is not sorted.
  /// - `place`: the place of the first record that is out of order
  /// - `tally`: the counts of the pieces before the piece of this record, to which those of this piece, `more`, are
  /// added
  [[noreturn]] void ThrowNotSorted(std::uint32_t input, const RecordPlace& place, KeyTally tally,
                                   const KeyTally& more) const {
    const bool merge = order_ == NeededOrder::kMerge, unique = order_ == NeededOrder::kCheckUnique;
    const bool whole = merge && !inputs_.ends_inside(input);  // a range is a part of a run that a task has written
    tally.Add(more);
    throw NotInOrder(
        merge ? ErrorCode::kBadInput : ErrorCode::kNotSorted,
        NotSorted(inputs_.path(input), place.Text(inputs_, input), unique) + (whole ? "; sort it without -m" : ""),
        std::move(tally));
  }

 private:
  /// Returns the checksum of `prefix` and `record` as one record. `scratch` is working memory.
  static RecordSum Sum(RecordSpan prefix, RecordSpan record, std::vector<std::byte>& scratch) {
    if (prefix.empty()) return SumRecord(record);
    constexpr std::size_t kCopied = std::size_t{64} << 10;
    if (record.size() > kCopied) {
      PartSum parts{RecordLayout{}};
      parts.Add(prefix);
      parts.Add(record);
      return parts.End();
    }
    // For a short record, a copy takes less time than a checksum of parts.
    const std::size_t size = prefix.size() + record.size();
    if (scratch.size() < size) scratch.resize(2 * size);
    std::memcpy(scratch.data(), prefix.data(), prefix.size());
    std::memcpy(scratch.data() + prefix.size(), record.data(), record.size());
    return SumRecord(RecordSpan(scratch).first(size));
  }

  /// Updates the checksums and sizes in `made` after a record was appended.
  /// - `sum`: the checksum of the record.
  /// - `size`: the size of the record with its key, in bytes.
  static void AddSum(const RecordSum& sum, std::uint64_t size, KeyedPiece& made) {
    made.sum += sum;
    if (size == made.keyed.size()) {
      made.first_end = size;
    } else {
      made.longest = std::max(made.longest, size);
      made.rest += sum;
    }
  }

  /// Returns the place of the first record of `piece` that is out of order.
  /// - `state`: the parser's state at the beginning of `piece`.
  /// - `in_order`: the records before this record, with sort keys.
  RecordPlace FindPlace(const RawPiece& piece, ScanState state, KeyEncoder& encoder, RecordSpan in_order) const {
    RecordPlace place{0, 0, piece.offset};
    std::vector<std::byte> again;
    KeyTally tally;
    tally.input = piece.input;
    // How many records of `in_order` are still to be passed.
    std::uint64_t left = CountRecords(in_order, layout_);
    for (RecordSpan part : {RecordSpan(piece.head), piece.rest}) {
      while (!part.empty()) {
        again.clear();
        const std::uint64_t size = encoder.Append(part, state, again, tally);
        if (!again.empty() && left-- == 0) {
          place.newlines = piece.Newlines(place.offset - piece.offset);
          return place;
        }
        ++place.records;
        place.offset += size;
        part = part.subspan(size);
      }
    }
    throw Error(ErrorCode::kInternal, "a piece has fewer records than its keys");
  }

  const Inputs& inputs_;
  const RecordLayout layout_;
  const std::uint64_t max_record_, most_keyed_;
  const NeededOrder order_;
};

}  // namespace gpusort

#include "check/borders.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "check/parallel.hpp"

namespace check {

bool RecordBorders::Serves(const Table& table) {
  return table.kind != Kind::kCopyBinary && table.kind != Kind::kDump;
}

RecordBorders::RecordBorders(const Table& table) {
  constexpr std::uint8_t kText = 1;
  // States of CSV.
  constexpr std::uint8_t kCell = 2, kQuoted = 3, kEscaped = 4, kQuote = 5, kBehindComment = 6, kComment = 7;
  // States of the text form of COPY, and of MySQL.
  constexpr std::uint8_t kCopyEscaped = 2, kCopyCell = 3, kCopyQuoted = 4, kCopyQuotedEscaped = 5, kCopyQuote = 6,
                         kCopyReturn = 7;
  const bool csv = table.kind == Kind::kCsv, copy = table.kind == Kind::kCopy;
  if (csv) states_ = kStates;
  if (copy) states_ = table.quote >= 0 ? kStates : 3;
  for (int byte = 0; byte < 256; ++byte) {
    const auto b = static_cast<std::size_t>(byte);
    const bool line_end = byte == static_cast<unsigned char>(table.line_end), delimiter = byte == table.delimiter;
    const bool quote = byte == table.quote, escape = byte == table.escape;
    if (csv) {
      const std::uint8_t text = line_end ? kRecord : delimiter ? kCell : kText;
      next_[kText][b] = text;
      next_[kCell][b] = quote ? kQuoted : text;
      next_[kQuoted][b] = escape ? kEscaped : quote ? kQuote : kQuoted;
      next_[kEscaped][b] = kQuoted;
      next_[kQuote][b] = quote ? kQuoted : text;
      // A comment belongs to the record that follows it.
      next_[kComment][b] = line_end ? kBehindComment : kComment;
      next_[kRecord][b] = next_[kBehindComment][b] = byte == table.comment ? kComment : next_[kCell][b];
    } else if (copy) {
      const bool quotes = table.quote >= 0;
      const std::uint8_t text = line_end ? kRecord : delimiter && quotes ? kCopyCell : escape ? kCopyEscaped : kText;
      next_[kText][b] = text;
      next_[kCopyEscaped][b] = kText;
      next_[kRecord][b] = next_[kCopyCell][b] = quote ? kCopyQuoted : text;
      next_[kCopyQuoted][b] = escape ? kCopyQuotedEscaped : quote ? kCopyQuote : kCopyQuoted;
      next_[kCopyQuotedEscaped][b] = kCopyQuoted;
      const std::uint8_t inside = next_[kCopyQuoted][b];
      next_[kCopyQuote][b] = delimiter      ? kCopyCell
                             : line_end     ? kRecord
                             : quote        ? kCopyQuoted
                             : byte == '\r' ? kCopyReturn
                                            : inside;
      next_[kCopyReturn][b] = line_end ? kRecord : inside;
    } else {
      next_[kRecord][b] = next_[kText][b] = line_end ? kRecord : kText;
    }
  }
}

RecordBorders::Effect RecordBorders::None() const {
  Effect effect;
  for (std::size_t s = 0; s < kStates; ++s) effect.end[s] = static_cast<std::uint8_t>(s);
  effect.first_record.fill(kNone);
  return effect;
}

void RecordBorders::Go(std::span<const char> bytes, std::uint64_t offset, Effect& effect) const {
  // Most states become the same state within a few bytes, so the piece is read once or twice and not once for each.
  std::array<bool, kStates> done{};
  for (std::size_t s = 0; s < states_; ++s) {
    if (done[s]) continue;
    std::uint8_t state = effect.end[s];
    std::uint64_t first = kNone;
    std::size_t at = 0;
    for (; at < bytes.size() && first == kNone; ++at) {
      if (state == kRecord) first = offset + at;
      state = next_[state][static_cast<unsigned char>(bytes[at])];
    }
    for (; at < bytes.size(); ++at) state = next_[state][static_cast<unsigned char>(bytes[at])];
    for (std::size_t other = s + 1; other < states_; ++other) {
      if (effect.end[other] != effect.end[s]) continue;
      done[other] = true;
      effect.end[other] = state;
      if (effect.first_record[other] == kNone) effect.first_record[other] = first;
    }
    effect.end[s] = state;
    if (effect.first_record[s] == kNone) effect.first_record[s] = first;
  }
}

namespace {

/// Hands out the work on pieces: to look for borders in a piece, or to read a piece whose borders are known. The
/// borders of a piece are known once all earlier pieces were looked at.
class PieceQueue {
 public:
  PieceQueue(const Table& table, const ReadAt& read, std::uint64_t begin, std::uint64_t end, unsigned threads)
      : borders_(table), read_(read), begin_(begin), end_(end), ahead_(std::uint64_t{4} * threads) {
    constexpr std::uint64_t kLeast = std::uint64_t{16} << 10, kMost = std::uint64_t{16} << 20;
    piece_bytes_ = std::clamp((end - begin) / ahead_, kLeast, kMost);
    pieces_ = (end - begin + piece_bytes_ - 1) / piece_bytes_;
  }

  void Run(const std::function<void(const Piece&)>& work) {
    try {
      for (;;) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return failed_ || taken_ == pieces_ || !ready_.empty() || MayLook(); });
        if (failed_ || taken_ == pieces_) return;
        if (!ready_.empty()) {
          const Piece piece = ready_.front();
          ready_.pop_front();
          ++taken_;
          lock.unlock();
          changed_.notify_all();
          work(piece);
        } else {
          const std::uint64_t number = looked_at_++;
          lock.unlock();
          Look(number);
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failed_ = true;
      changed_.notify_all();
      throw;
    }
  }

 private:
  /// Not too far ahead, so that what was read for it is still in the memory of the system when it is read again.
  bool MayLook() const { return looked_at_ < pieces_ && looked_at_ < taken_ + ahead_; }

  void Look(std::uint64_t number) {
    const std::uint64_t from = begin_ + number * piece_bytes_, size = std::min(piece_bytes_, end_ - from);
    RecordBorders::Effect effect = borders_.None();
    std::vector<char> buffer(std::size_t{256} << 10);
    std::uint64_t at = 0;
    while (at < size) {
      // Few bytes at first: up to eight states are followed there.
      const std::uint64_t most = at == 0 ? 1024 : buffer.size();
      const std::size_t n = read_(std::span(buffer.data(), static_cast<std::size_t>(std::min(most, size - at))), from + at);
      if (n == 0) break;  // the file became shorter; the reader of the piece notices that, too
      borders_.Go(std::span(buffer.data(), n), at, effect);
      at += n;
    }
    in_order_.Put(number, std::move(effect), [&](const RecordBorders::Effect& next) {
      const std::uint64_t first = next.first_record[state_], piece = begin_ + known_ * piece_bytes_;
      const std::uint64_t end = std::min(piece + piece_bytes_, end_);
      state_ = next.end[state_];
      const std::lock_guard lock(mutex_);
      ready_.push_back({known_++, first == RecordBorders::kNone ? end : piece + first, end});
      changed_.notify_all();
    });
  }

  const RecordBorders borders_;
  const ReadAt& read_;
  const std::uint64_t begin_, end_, ahead_;
  std::uint64_t piece_bytes_ = 0, pieces_ = 0;
  InOrder<RecordBorders::Effect> in_order_;
  std::uint8_t state_ = RecordBorders::kRecord;  ///< after the pieces that are known
  std::uint64_t known_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> ready_;
  std::uint64_t looked_at_ = 0, taken_ = 0;
  bool failed_ = false;
};

}  // namespace

void ForEachPiece(const Table& table, const ReadAt& read, std::uint64_t begin, std::uint64_t end, unsigned threads,
                  const std::function<void(const Piece&)>& work) {
  PieceQueue queue(table, read, begin, std::max(begin, end), threads);
  RunOnThreads(threads, [&] { queue.Run(work); });
}

}  // namespace check

#include "check/borders.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "check/parallel.hpp"

namespace check {

RecordBorders::RecordBorders(const Table& table) {
  constexpr std::uint8_t kText = 1;
  // The states of the scanner of CSV.
  constexpr std::uint8_t kCell = 2, kQuoted = 3, kEscaped = 4, kQuote = 5, kBehindComment = 6, kComment = 7;
  // The states of the scanner of COPY's text format and of MySQL.
  constexpr std::uint8_t kCopyEscaped = 2, kCopyCell = 3, kCopyQuoted = 4, kCopyQuotedEscaped = 5, kCopyQuote = 6,
                         kCopyReturn = 7;
  const bool csv = table.kind == Kind::kCsv, copy = table.kind == Kind::kCopy || table.kind == Kind::kDump;
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
  // Most states become the same state within a few bytes, so the piece is read once or twice and not once for each
  // state.
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

/// Gives work on pieces to threads: to look for borders in a piece, or to read a piece whose borders are known. The
/// borders of a piece are known after all earlier pieces were looked at.
class PieceQueue {
 public:
  PieceQueue(const Table& table, const ReadAt& read, std::uint64_t begin, std::uint64_t end, std::uint64_t piece_bytes,
             std::uint64_t ahead)
      : borders_(table),
        read_(read),
        begin_(begin),
        end_(end),
        ahead_(ahead),
        piece_bytes_(piece_bytes),
        pieces_((end - begin + piece_bytes - 1) / piece_bytes) {}

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
  /// Returns true if a thread may look at the next piece. Limits the distance to the pieces that are read, so that a
  /// piece is still in the page cache when it is read again.
  bool MayLook() const { return looked_at_ < pieces_ && looked_at_ < taken_ + ahead_; }

  void Look(std::uint64_t number) {
    const std::uint64_t from = begin_ + number * piece_bytes_, size = std::min(piece_bytes_, end_ - from);
    RecordBorders::Effect effect = borders_.None();
    std::vector<char> buffer(std::size_t{256} << 10);
    std::uint64_t at = 0;
    while (at < size) {
      // The first read is short, because up to eight states are followed in it.
      const std::uint64_t most = at == 0 ? 1024 : buffer.size();
      const std::size_t n =
          read_(std::span(buffer.data(), static_cast<std::size_t>(std::min(most, size - at))), from + at);
      if (n == 0) break;  // the file has become shorter; the reader of the piece notices that, too
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
  const std::uint64_t begin_, end_, ahead_, piece_bytes_, pieces_;
  InOrder<RecordBorders::Effect> in_order_;
  std::uint8_t state_ = RecordBorders::kRecord;  ///< the state after all pieces whose borders are known
  std::uint64_t known_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> ready_;
  std::uint64_t looked_at_ = 0, taken_ = 0;
  bool failed_ = false;
};

/// Reads small pieces of a file, one after the other.
class Walker {
 public:
  Walker(const ReadAt& read, std::uint64_t place) : read_(read), place_(place), buffer_(std::size_t{256} << 10) {}

  std::uint64_t place() const { return place_; }
  void Skip(std::uint64_t bytes) { place_ += bytes; }
  /// Reads a number of two or four bytes, the most significant byte first. Returns std::nullopt at the end of the file.
  std::optional<std::uint64_t> Number(std::size_t bytes) {
    if (place_ < at_ || place_ + bytes > at_ + size_) {
      at_ = place_;
      size_ = 0;
      while (size_ < bytes) {
        const std::size_t n = read_(std::span(buffer_).subspan(size_), at_ + size_);
        if (n == 0) return std::nullopt;
        size_ += n;
      }
    }
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      number = number << 8 | static_cast<unsigned char>(buffer_[static_cast<std::size_t>(place_ - at_) + i]);
    }
    place_ += bytes;
    return number;
  }

 private:
  const ReadAt& read_;
  std::uint64_t place_, at_ = 0;
  std::size_t size_ = 0;
  std::vector<char> buffer_;
};

/// Returns pieces of rows in COPY's binary format. One thread reads the length of each field and skips the field. Bytes
/// that are no rows belong to the last piece, whose reader reports them.
std::vector<Piece> PiecesOfTuples(const ReadAt& read, std::uint64_t begin, std::uint64_t end, bool oids,
                                  std::uint64_t piece_bytes) {
  std::vector<Piece> pieces;
  Walker walker(read, begin);
  std::uint64_t from = begin;
  const auto walk_tuple = [&] {
    const auto count = walker.Number(2);
    if (!count || *count == 0xFFFF) return false;
    for (std::uint64_t i = 0; i < *count + (oids ? 1 : 0); ++i) {
      const auto size = walker.Number(4);
      if (!size) return false;
      if (*size != 0xFFFFFFFF) walker.Skip(*size);
    }
    return walker.place() < end;
  };
  while (walk_tuple()) {
    if (walker.place() - from < piece_bytes) continue;
    pieces.push_back({pieces.size(), from, walker.place()});
    from = walker.place();
  }
  // The last piece also has the bytes after the last row.
  pieces.push_back({pieces.size(), from, std::numeric_limits<std::uint64_t>::max()});
  return pieces;
}

}  // namespace

void ForEachPiece(const Table& table, const ReadAt& read, std::uint64_t begin, std::uint64_t end, bool oids,
                  unsigned threads, const std::function<void(const Piece&)>& work) {
  if (begin >= end && table.kind != Kind::kCopyBinary) return;
  if (table.kind == Kind::kParagraphs) return work({0, begin, end});  // only the next record shows where a record ends
  constexpr std::uint64_t kLeast = std::uint64_t{16} << 10, kMost = std::uint64_t{16} << 20;
  const std::uint64_t ahead = std::uint64_t{4} * threads;
  const std::uint64_t piece_bytes = std::clamp((end - begin) / ahead, kLeast, kMost);
  // A dump may have very many small tables, which do not need many threads.
  threads = static_cast<unsigned>(std::min<std::uint64_t>(threads, 1 + (end - begin) / kLeast));
  if (table.kind != Kind::kCopyBinary) {
    PieceQueue queue(table, read, begin, end, piece_bytes, ahead);
    RunOnThreads(threads, [&] { queue.Run(work); });
    return;
  }
  const std::vector<Piece> pieces = PiecesOfTuples(read, begin, end, oids, piece_bytes);
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  RunOnThreads(threads, [&] {
    try {
      for (std::size_t i; !failed && (i = next.fetch_add(1)) < pieces.size();) work(pieces[i]);
    } catch (...) {
      failed = true;
      throw;
    }
  });
}

std::uint64_t EndOfRows(const ReadAt& read, std::uint64_t begin, std::uint64_t end) {
  constexpr std::string_view kEnd = "\n\\.";
  std::vector<char> buffer(std::size_t{1} << 20);
  std::uint64_t backslashes = 0;  // the number of backslashes directly before the buffer
  for (std::uint64_t at = begin - 1; at < end;) {
    std::size_t size = 0;
    while (size < buffer.size()) {
      const std::size_t n = read(std::span(buffer).subspan(size), at + size);
      if (n == 0) break;
      size += n;
    }
    const bool last = size < buffer.size();
    const std::string_view text(buffer.data(), size);
    std::size_t found = text.find(kEnd);
    for (; found != text.npos; found = text.find(kEnd, found + 1)) {
      std::uint64_t before = 0;
      while (before < found && text[found - 1 - before] == '\\') ++before;
      if (before == found) before += backslashes;
      std::string_view behind = text.substr(found + kEnd.size());
      if (behind.size() < 2 && !last && found > 0) break;  // the next buffer begins with these bytes
      if (behind.starts_with('\r')) behind.remove_prefix(1);
      if (before % 2 == 0 && (behind.empty() || behind.starts_with('\n'))) return at + found + 1;
    }
    if (last) break;
    const std::size_t next = found != text.npos ? found : size - 3;
    std::uint64_t before = 0;
    while (before < next && text[next - 1 - before] == '\\') ++before;
    backslashes = before == next ? backslashes + before : before;
    at += next;
  }
  return end;
}

}  // namespace check

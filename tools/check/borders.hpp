// Finds where records begin in the middle of a file, so that several threads of gpusort_check can read pieces of the
// file. Start at ForEachPiece.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "check/table.hpp"

namespace check {

/// Finds where records begin in a piece of a file without reading the file from its start. A state machine with at most
/// eight states scans the piece. The scan does not know the first state, so it follows all possible states at the same
/// time.
class RecordBorders {
 public:
  static constexpr std::size_t kStates = 8;
  /// The results of scanning a piece, one result for each state in which the piece may begin.
  struct Effect {
    std::array<std::uint8_t, kStates> end{};            ///< the state after the piece
    std::array<std::uint64_t, kStates> first_record{};  ///< the offset of the first record in the piece, or kNone
  };
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  /// The state at the beginning of a record.
  static constexpr std::uint8_t kRecord = 0;

  /// `table` must not be PostgreSQL's binary COPY format. For a dump, the class finds rows of COPY's text format.
  explicit RecordBorders(const Table& table);

  /// Scans the next bytes of a piece and updates `effect`. `offset` is the offset of `bytes` in the piece. Pass the
  /// result of None() as `effect` in the first call for a piece.
  void Go(std::span<const char> bytes, std::uint64_t offset, Effect& effect) const;
  Effect None() const;

 private:
  std::array<std::array<std::uint8_t, 256>, kStates> next_{};
  std::size_t states_ = 2;
};

/// A piece of a file: the records that begin in [begin, end).
struct Piece {
  std::uint64_t number = 0, begin = 0, end = 0;
};

/// Reads bytes of a file at an offset into the span. Returns how many bytes were read, 0 only at the end of the file.
using ReadAt = std::function<std::size_t(std::span<char>, std::uint64_t offset)>;

/// Divides [begin, end) of a file into pieces and runs work(piece) for each piece, on `threads` threads. A record must
/// begin at `begin`. `oids` is true if every row of the binary COPY format has an OID before its fields. If `work`
/// throws, all threads end, and the first exception is thrown.
void ForEachPiece(const Table& table, const ReadAt& read, std::uint64_t begin, std::uint64_t end, bool oids,
                  unsigned threads, const std::function<void(const Piece&)>& work);

/// Returns the offset of the line after the rows of a dump that begin at `begin`, or `end` if there is no such line.
std::uint64_t EndOfRows(const ReadAt& read, std::uint64_t begin, std::uint64_t end);

}  // namespace check

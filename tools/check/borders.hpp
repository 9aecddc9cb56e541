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

/// Finds where records begin in a piece of a file without reading the file from its top. A state machine with at most
/// eight states goes over the piece, once for each state that the piece may begin with.
class RecordBorders {
 public:
  static constexpr std::size_t kStates = 8;
  /// The results for a piece, by the state that the piece begins with.
  struct Effect {
    std::array<std::uint8_t, kStates> end{};            ///< the state after the piece
    std::array<std::uint64_t, kStates> first_record{};  ///< the offset in the piece; kNone: no record begins there
  };
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  /// The state in which a record begins.
  static constexpr std::uint8_t kRecord = 0;

  /// `table` is not of COPY's binary form. The rows of a dump are those of COPY's text form.
  explicit RecordBorders(const Table& table);

  /// Goes over the next bytes of a piece, which are at `offset` in the piece, and updates `effect`. Begin with None().
  void Go(std::span<const char> bytes, std::uint64_t offset, Effect& effect) const;
  Effect None() const;

 private:
  std::array<std::array<std::uint8_t, 256>, kStates> next_{};
  std::size_t states_ = 2;
};

/// A piece of a file. Its records begin at `begin` or later, and before `end`.
struct Piece {
  std::uint64_t number = 0, begin = 0, end = 0;
};

/// Reads bytes at an offset. Returns how many; 0 only at the end of the file.
using ReadAt = std::function<std::size_t(std::span<char>, std::uint64_t offset)>;

/// Runs work(piece), on `threads` threads, for each piece of the bytes from `begin` up to `end`. A record begins at
/// `begin`. `oids`: a tuple of COPY's binary form has one more field than it says. The first failure of work ends all
/// and is thrown.
void ForEachPiece(const Table& table, const ReadAt& read, std::uint64_t begin, std::uint64_t end, bool oids,
                  unsigned threads, const std::function<void(const Piece&)>& work);

/// Returns where the line begins that ends the rows of a dump which begin at `begin`; `end` if there is none.
std::uint64_t EndOfRows(const ReadAt& read, std::uint64_t begin, std::uint64_t end);

}  // namespace check

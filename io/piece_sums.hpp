// Checksums of the pieces of a file, taken from the bytes that are handed to write. A process that reads the file later
// compares them, and so finds every byte that is not as it was written. Start at PieceSums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace gpusort {

struct PieceSum {
  std::uint64_t offset = 0, bytes = 0, hash = 0;
};

std::uint64_t HashOfPiece(std::span<const std::byte> bytes);

class PieceSums {
 public:
  /// Adds bytes that are written at `offset`. They replace a piece that begins there. Any thread may call this.
  void Add(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Forgets all pieces: the file is written anew. Call this while nothing is written.
  void Clear();
  /// Returns the pieces of a file of `bytes`, by offset. They may overlap if bytes were written twice. Throws
  /// Error(kInternal) if a byte of the file is in no piece.
  std::vector<PieceSum> Cover(std::uint64_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, PieceSum> pieces_;  ///< by offset
  /// The last small piece. A direct write pads the last page of a file, and the padding is cut off later.
  std::vector<std::byte> last_;
  std::uint64_t last_offset_ = 0;
};

}  // namespace gpusort

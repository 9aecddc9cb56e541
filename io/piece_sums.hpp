// Checksums of the pieces of a file, computed from the bytes that are written. A process that reads the file later
// compares the checksums and finds every byte that differs from what was written. Start at PieceSums.
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
  /// Adds the checksum of bytes that are written at `offset`. Replaces a piece with the same offset. Thread-safe.
  void Add(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Removes all pieces, because the caller will write the file again. No thread may be writing.
  void Clear();
  /// Returns the pieces that together contain the first `bytes` bytes of the file, by ascending offset. Pieces overlap
  /// if bytes were written twice. Throws Error(kInternal) if no piece contains some byte.
  std::vector<PieceSum> Cover(std::uint64_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, PieceSum> pieces_;  ///< by the offset of the piece
  /// A copy of the bytes of one piece, the piece with the largest offset among those of at most 4 KiB. If its last
  /// bytes are only the padding of a direct write, Cover() computes its checksum again, without the padding.
  std::vector<std::byte> last_;
  std::uint64_t last_offset_ = 0;
};

}  // namespace gpusort

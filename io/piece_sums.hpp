// Computes checksums of a file while the file is written. Each checksum is of one piece, the bytes of one write. A
// process that reads the file later compares the checksums to detect changed bytes. Start at PieceSums.
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
  /// Adds the checksum of `bytes`, which are written at `offset` of the file. Replaces an earlier checksum for the same
  /// offset. Thread-safe.
  void Add(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Removes all checksums, because the caller will write the file again. No thread may be writing.
  void Clear();
  /// Returns the checksums of enough pieces to cover the first `bytes` bytes of the file, by ascending offset. (A piece
  /// is the bytes of one call of Add.) Pieces overlap if bytes were written twice. Throws Error(kInternal) if some byte
  /// is in no piece.
  std::vector<PieceSum> Cover(std::uint64_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, PieceSum> pieces_;  ///< the checksum of each piece; the key is the offset of the piece
  /// The small write (at most 4 KiB) at the highest offset: its bytes and its offset.
  std::vector<std::byte> last_;
  std::uint64_t last_offset_ = 0;
};

}  // namespace gpusort

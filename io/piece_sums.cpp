#include "io/piece_sums.hpp"

#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

std::uint64_t HashOfPiece(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

void PieceSums::Add(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const PieceSum piece{offset, bytes.size(), HashOfPiece(bytes)};
  const std::lock_guard lock(mutex_);
  pieces_[offset] = piece;
  if (bytes.size() > kPage || offset < last_offset_) return;
  last_offset_ = offset;
  last_.assign(bytes.begin(), bytes.end());
}

void PieceSums::Clear() {
  const std::lock_guard lock(mutex_);
  pieces_.clear();
  last_.clear();
  last_offset_ = 0;
}

std::vector<PieceSum> PieceSums::Cover(std::uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  std::vector<PieceSum> cover;
  std::uint64_t end = 0;
  for (auto [offset, piece] : pieces_) {
    if (offset > end || offset >= bytes) break;
    if (offset + piece.bytes > bytes) {
      // Direct I/O has padded the last piece with zeros. Computes its checksum again, without the zeros.
      if (offset != last_offset_ || last_.size() != piece.bytes) break;
      piece.bytes = bytes - offset;
      piece.hash = HashOfPiece(std::span(last_).first(piece.bytes));
    }
    if (offset + piece.bytes <= end) continue;
    cover.push_back(piece);
    end = offset + piece.bytes;
  }
  if (end != bytes) {
    throw Error(ErrorCode::kInternal,
                "bytes from " + std::to_string(end) + " to " + std::to_string(bytes) + " of a file have no checksum");
  }
  return cover;
}

}  // namespace gpusort

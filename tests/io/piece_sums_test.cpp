// labels: brief
#include "io/piece_sums.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

std::vector<std::byte> Pattern(std::size_t count, unsigned seed) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(seed + i * 7 + i / 251);
  return bytes;
}

/// Returns true if the pieces cover the file without a gap, and each piece has the checksum of its bytes.
bool Covers(const std::vector<PieceSum>& pieces, std::span<const std::byte> file) {
  std::uint64_t end = 0;
  for (const PieceSum& piece : pieces) {
    if (piece.offset > end || piece.offset + piece.bytes > file.size()) return false;
    if (piece.hash != HashOfPiece(file.subspan(piece.offset, piece.bytes))) return false;
    end = piece.offset + piece.bytes;
  }
  return end == file.size();
}

TEST(PieceSums, CoverWhatWasWrittenInAnyOrder) {
  const std::vector<std::byte> file = Pattern(100000, 1);
  PieceSums sums;
  for (const std::uint64_t at : {50000, 0, 25000, 75000}) sums.Add(at, std::span(file).subspan(at, 25000));
  EXPECT_TRUE(Covers(sums.Cover(100000), file));
}

TEST(PieceSums, CutThePaddingOfTheLastPage) {
  std::vector<std::byte> file = Pattern(8192 + 100, 2);
  const std::vector<std::byte> cut = file;
  file.resize(12288);
  PieceSums sums;
  sums.Add(8192, std::span(file).subspan(8192));
  sums.Add(0, std::span(file).first(8192));
  EXPECT_TRUE(Covers(sums.Cover(cut.size()), cut));
}

TEST(PieceSums, TakeTheLastOfWhatWasWrittenTwice) {
  const std::vector<std::byte> file = Pattern(8192, 3), other = Pattern(4096, 9);
  PieceSums sums;
  sums.Add(0, other);
  sums.Add(0, std::span(file).first(4096));
  sums.Add(4096, std::span(file).subspan(4096));
  EXPECT_TRUE(Covers(sums.Cover(8192), file));
}

TEST(PieceSums, ForgetWhatIsWrittenAnew) {
  const std::vector<std::byte> file = Pattern(9000, 5), other = Pattern(12000, 9);
  PieceSums sums;
  for (const std::uint64_t at : {0, 4000, 8000}) sums.Add(at, std::span(other).subspan(at, 4000));
  sums.Clear();
  for (const std::uint64_t at : {0, 3000, 6000}) sums.Add(at, std::span(file).subspan(at, 3000));
  EXPECT_TRUE(Covers(sums.Cover(9000), file));
}

TEST(PieceSums, RefuseAGap) {
  const std::vector<std::byte> bytes = Pattern(1000, 4);
  PieceSums sums;
  sums.Add(0, bytes);
  sums.Add(2000, bytes);
  EXPECT_THROW(sums.Cover(3000), Error);
  EXPECT_THROW(PieceSums().Cover(1), Error);
  EXPECT_TRUE(PieceSums().Cover(0).empty());
}

}  // namespace
}  // namespace gpusort

#include "io/codec/modules/kept_rows.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

RC_GTEST_PROP(KeptRow, IsALineWithoutEscapes, ()) {
  const std::uint64_t place = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << KeptRow::kPlaceBits);
  const auto bytes = *rc::gen::inRange<std::uint32_t>(0, KeptRow::kFlag);
  unsigned char text[KeptRow::kBytes];
  KeptRow{place, bytes}.Put(text);
  RC_ASSERT(std::all_of(text, text + KeptRow::kBytes - 1, [](unsigned char byte) { return byte >= 0x80; }));
  RC_ASSERT(text[KeptRow::kBytes - 1] == '\n');
  const KeptRow read = KeptRow::Load(text);
  RC_ASSERT(read.place == place);
  RC_ASSERT(read.bytes == bytes);
  const auto all = std::as_bytes(std::span(text));
  for (std::size_t size = 0; size <= all.size(); ++size) {
    RC_ASSERT(KeptRow::Is(all.first(size)) == (size >= kRowSizeBytes));
  }
  RC_ASSERT(!KeptRow::Is(std::as_bytes(std::span(&bytes, 1))));
}

RC_GTEST_PROP(KeptRows, GivesBackWhatWasKeptUntilItIsFull, ()) {
  constexpr std::uint64_t kMost = std::uint64_t{100} << 20;
  KeptRows store(kMost);
  std::vector<KeptRow> kept;
  std::uint64_t all = 0;
  while (kept.size() < 60) {
    const auto bytes = *rc::gen::inRange<std::uint32_t>(1, 40'000'000) >> *rc::gen::inRange(0, 20);
    if (bytes == 0) continue;
    const KeptRows::Room room = store.Take(bytes);
    if (room.data == nullptr) break;
    room.data[0] = room.data[bytes - 1] = static_cast<unsigned char>(kept.size());
    kept.push_back({room.place, bytes});
    all += bytes;
  }
  RC_ASSERT(all <= kMost);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::span<const std::byte> row = store.Row(kept[i]);
    RC_ASSERT(row.size() == kept[i].bytes);
    RC_ASSERT(row.front() == static_cast<std::byte>(i));
    RC_ASSERT(row.back() == static_cast<std::byte>(i));
  }
}

TEST(KeptRows, RefusesPlacesThatItHasNot) {
  constexpr std::uint64_t kMost = std::uint64_t{64} << 20;
  KeptRows store(kMost);
  EXPECT_THROW(store.Row({0, 1}), Error);
  const KeptRows::Room room = store.Take(100);
  ASSERT_NE(room.data, nullptr);
  EXPECT_EQ(store.Row({room.place, 100}).size(), 100u);
  EXPECT_THROW(store.Row({room.place, static_cast<std::uint32_t>(kMost)}), Error);
  EXPECT_THROW(store.Row({std::uint64_t{1} << 40, 1}), Error);
  EXPECT_EQ(store.Take(2 * kMost).data, nullptr);
}

}  // namespace
}  // namespace gpusort

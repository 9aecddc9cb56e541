// labels: brief threads
// Tests the slots and lanes of an arena: which lane gets which slot, and which lanes wait and are woken.
#include "kernels/slot_pool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace gpusort {
namespace {

template <typename F>
ErrorCode CodeOf(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

struct BytePool : SlotPool {
  using SlotPool::SlotPool;
  std::byte* slot_data(std::uint32_t slot) const override { return &bytes[slot]; }
  mutable std::array<std::byte, 8> bytes{};
};

struct Pool {
  explicit Pool(std::uint32_t slots, std::uint32_t lanes = 1)
      : pool(std::make_shared<BytePool>(slots, lanes)), bytes(pool->bytes) {}
  std::shared_ptr<BytePool> pool;
  std::array<std::byte, 8>& bytes;
};

using Two = std::pair<SlotPool::Slot, SlotPool::Slot>;

TEST(SlotPool, GivesTheFirstSlotsFirstAndThenTheOneFreedLast) {
  Pool p(4);
  std::optional<Two> a(p.pool->TakeTwo()), b(p.pool->TakeTwo());
  EXPECT_EQ(a->first.data(), &p.bytes[0]);
  EXPECT_EQ(a->second.data(), &p.bytes[1]);
  EXPECT_EQ(b->first.data(), &p.bytes[2]);
  EXPECT_EQ(b->second.data(), &p.bytes[3]);
  { const SlotPool::Slot dropped = std::move(b->first); }
  { const SlotPool::Slot dropped = std::move(a->second); }
  EXPECT_EQ(p.pool->free_slots(), 2u);
  const Two again = p.pool->TakeTwo();
  EXPECT_EQ(again.first.data(), &p.bytes[1]);
  EXPECT_EQ(again.second.data(), &p.bytes[2]);
}

TEST(SlotPool, FreesTheSlotOfRecordsThatAreDropped) {
  Pool p(2);
  std::unique_ptr<SortedRecords> records;
  {
    Two two = p.pool->TakeTwo();
    records = std::make_unique<SortedSlot>(std::move(two.second), 1, 1, false);
  }
  EXPECT_EQ(p.pool->free_slots(), 1u);
  EXPECT_EQ(records->data(), &p.bytes[1]);
  std::array<std::byte, 2> out;
  EXPECT_EQ(CodeOf([&] { records->Read(0, out); }), ErrorCode::kInternal);
  EXPECT_EQ(CodeOf([&] { records->Read(2, {}); }), ErrorCode::kInternal);
  p.bytes[1] = std::byte{7};
  records->Read(0, std::span(out).first(1));
  EXPECT_EQ(out[0], std::byte{7});
  records.reset();
  EXPECT_EQ(p.pool->free_slots(), 2u);
}

TEST(SlotPool, WakesAllThatWaitWhenSlotsAreFreedAndWhenItIsCancelled) {
  Pool p(2);
  std::optional<Two> held(p.pool->TakeTwo());
  const auto wait = [&] { return CodeOf([&] { p.pool->TakeTwo(); }); };
  std::vector<std::future<ErrorCode>> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(std::async(std::launch::async, wait));
  held.reset();
  for (std::future<ErrorCode>& one : waiting) EXPECT_EQ(one.get(), ErrorCode{});

  held.emplace(p.pool->TakeTwo());
  waiting.clear();
  for (int i = 0; i < 3; ++i) waiting.push_back(std::async(std::launch::async, wait));
  p.pool->Cancel();
  for (std::future<ErrorCode>& one : waiting) EXPECT_EQ(one.get(), ErrorCode::kCancelled);
  held.reset();
  EXPECT_EQ(wait(), ErrorCode::kCancelled);
  EXPECT_EQ(p.pool->free_slots(), 2u);
}

TEST(SlotPool, RefusesToWaitForSlotsThatItNeverHas) {
  Pool p(1);
  EXPECT_EQ(CodeOf([&] { p.pool->TakeTwo(); }), ErrorCode::kInternal);
}

TEST(SlotPool, NumbersAsManyLanesAsItWasMadeFor) {
  Pool p(0, 2);
  std::optional<SlotPool::LaneNumber> first(p.pool);
  const SlotPool::LaneNumber second(p.pool);
  EXPECT_NE(first->lane(), second.lane());
  EXPECT_EQ(CodeOf([&] { const SlotPool::LaneNumber third(p.pool); }), ErrorCode::kInternal);
  const std::uint32_t lane = first->lane();
  first.reset();
  EXPECT_EQ(SlotPool::LaneNumber(p.pool).lane(), lane);
}

TEST(SlotPool, LivesAsLongAsItsSlotsAndLaneNumbers) {
  Pool p(2);
  std::weak_ptr<SlotPool> watched = p.pool;
  std::optional<Two> two(p.pool->TakeTwo());
  std::optional<SlotPool::LaneNumber> lane(p.pool);
  p.pool.reset();
  two.reset();
  EXPECT_FALSE(watched.expired());
  lane.reset();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace gpusort

// labels: brief
#include "io/codec/modules/parquet_memory.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace gpusort {
namespace {

constexpr std::int64_t kAligned = 64;
constexpr std::uint64_t kMost = std::uint64_t{4} << 20;

struct Buffer {
  std::uint8_t* bytes = nullptr;
  std::int64_t size = 0;
  std::uint8_t fill = 0;

  void Fill() const { std::memset(bytes, fill, static_cast<std::size_t>(size)); }
  bool Holds(std::int64_t count) const {
    // The bytes are all equal if they do not change when they are moved by one.
    return count == 0 || (bytes[0] == fill && std::memcmp(bytes, bytes + 1, static_cast<std::size_t>(count - 1)) == 0);
  }
};

/// Sizes at which the pool changes what it does: nothing, small buffers, and both sides of the borders between sizes.
rc::Gen<std::int64_t> Sizes() {
  return rc::gen::mapcat(rc::gen::inRange(0, 20), [](int bits) {
    return rc::gen::map(rc::gen::inRange<std::int64_t>(-2, 3), [bits](std::int64_t more) {
      return std::max<std::int64_t>(0, (std::int64_t{1} << bits) + more * (std::int64_t{1} << bits) / 8 + more);
    });
  });
}

RC_GTEST_PROP(RecyclingPool, KeepsContentsAndItsLimit, ()) {
  RecyclingPool pool(kMost);
  std::vector<Buffer> live;
  const int steps = *rc::gen::inRange(1, 200);
  for (int step = 0; step < steps; ++step) {
    const int what = *rc::gen::inRange(0, 10);
    const std::size_t at = live.empty() ? 0 : *rc::gen::inRange<std::size_t>(0, live.size());
    if (live.empty() || what < 4) {
      Buffer made{nullptr, *Sizes(), static_cast<std::uint8_t>(step)};
      RC_ASSERT(pool.Allocate(made.size, kAligned, &made.bytes).ok());
      RC_ASSERT(reinterpret_cast<std::uintptr_t>(made.bytes) % kAligned == 0U);
      made.Fill();
      live.push_back(made);
    } else if (what < 6) {
      Buffer& one = live[at];
      const std::int64_t size = *Sizes();
      RC_ASSERT(pool.Reallocate(one.size, size, kAligned, &one.bytes).ok());
      RC_ASSERT(one.Holds(std::min(one.size, size)));
      one.size = size;
      one.Fill();
    } else if (what < 9) {
      RC_ASSERT(live[at].Holds(live[at].size));
      pool.Free(live[at].bytes, live[at].size, kAligned);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      pool.ReleaseUnused();
      RC_ASSERT(pool.kept_bytes() == 0U);
    }
    std::int64_t sizes = 0;
    for (const Buffer& one : live) sizes += one.size;
    const auto used = static_cast<std::uint64_t>(pool.bytes_allocated());
    RC_ASSERT(pool.bytes_allocated() >= sizes);
    RC_ASSERT(pool.kept_bytes() == 0U || used + pool.kept_bytes() <= kMost);
  }
  for (const Buffer& one : live) {
    RC_ASSERT(one.Holds(one.size));
    pool.Free(one.bytes, one.size, kAligned);
  }
  RC_ASSERT(pool.bytes_allocated() == 0);
}

TEST(RecyclingPool, GivesABufferAgain) {
  RecyclingPool pool(kMost);
  std::uint8_t* first = nullptr;
  ASSERT_TRUE(pool.Allocate(100000, kAligned, &first).ok());
  std::uint8_t* const address = first;
  pool.Free(first, 100000, kAligned);
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_GE(pool.kept_bytes(), 100000U);
  ASSERT_TRUE(pool.Allocate(99000, kAligned, &first).ok());
  EXPECT_EQ(first, address);
  EXPECT_EQ(pool.kept_bytes(), 0U);
  pool.Free(first, 99000, kAligned);
#endif
  EXPECT_FALSE(pool.Allocate(-1, kAligned, &first).ok());
  EXPECT_FALSE(pool.Allocate(100, 2 * kAligned, &first).ok());
}

TEST(RecyclingPool, ServesThreads) {
  RecyclingPool pool(kMost);
  std::vector<std::thread> threads;
  for (std::uint8_t number = 0; number < 4; ++number) {
    threads.emplace_back([&pool, number] {
      std::mt19937 random(number);
      std::vector<Buffer> live;
      for (int step = 0; step < 2000; ++step) {
        if (live.size() < 8) {
          Buffer made{nullptr, 1 + static_cast<std::int64_t>(random() % 60000), number};
          ASSERT_TRUE(pool.Allocate(made.size, kAligned, &made.bytes).ok());
          made.Fill();
          live.push_back(made);
        } else {
          std::swap(live[random() % live.size()], live.back());
          EXPECT_TRUE(live.back().Holds(live.back().size));
          pool.Free(live.back().bytes, live.back().size, kAligned);
          live.pop_back();
        }
      }
      for (const Buffer& one : live) pool.Free(one.bytes, one.size, kAligned);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.bytes_allocated(), 0);
  EXPECT_LE(pool.kept_bytes(), kMost);
}

}  // namespace
}  // namespace gpusort

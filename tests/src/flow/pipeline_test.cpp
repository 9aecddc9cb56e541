#include "flow/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fake_gpu.hpp"
#include "refused_threads.hpp"

namespace gpusort::testing {
namespace {

template <typename F>
std::string MessageOf(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

template <typename F>
ErrorCode CodeOf(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{};
}

/// Runs `body` on a new thread and returns the code of the Error that it throws.
template <typename F>
std::future<ErrorCode> CodeOnThread(F body) {
  return std::async(std::launch::async, [body] { return CodeOf(body); });
}

struct Waiting {
  std::mutex mutex;
  std::condition_variable condition;
  void For(const Pipeline& pipeline) {
    std::unique_lock lock(mutex);
    pipeline.Wait(lock, condition, [] { return false; });
  }
};

TEST(Pipeline, TheFirstErrorStopsTheRestAndIsTheOneThatIsThrown) {
  CancelFlag cancel;
  Waiting waiting;
  std::atomic<int> ended{0};
  Pipeline pipeline(cancel);
  for (int i = 0; i < 3; ++i) {
    pipeline.Start([&] {
      EXPECT_EQ(CodeOf([&] { waiting.For(pipeline); }), ErrorCode::kCancelled);
      ++ended;
      throw Error(ErrorCode::kInternal, "a consequence");
    });
  }
  pipeline.Start([] { throw Error(ErrorCode::kIo, "the cause"); });
  EXPECT_EQ(MessageOf([&] { pipeline.Join(); }), "the cause");
  EXPECT_EQ(ended, 3);
  EXPECT_TRUE(pipeline.stopped());
  EXPECT_EQ(MessageOf([&] { pipeline.RethrowIfFailed(); }), "the cause");
}

TEST(Pipeline, AnythingThrownIsPassedOn) {
  CancelFlag cancel;
  Pipeline pipeline(cancel);
  pipeline.Start([] { throw 42; });
  EXPECT_THROW(pipeline.Join(), int);
}

TEST(Pipeline, AJobThatIsCancelledEndsWhoeverWaits) {
  CancelFlag cancel;
  Waiting waiting;
  Pipeline pipeline(cancel);
  BoundedQueue<int> empty(pipeline, 1), full(pipeline, 1);
  OrderedQueue<int> ordered(pipeline);
  HostMemory memory(1 << 20);
  BlockPool pool(memory, 4096, 1);
  const BlockPool::Block lent = pool.Acquire(pipeline);
  full.Push(1);
  std::vector<std::future<ErrorCode>> codes;
  codes.push_back(CodeOnThread([&] { waiting.For(pipeline); }));
  codes.push_back(CodeOnThread([&] { empty.Pop(); }));
  codes.push_back(CodeOnThread([&] { full.Push(2); }));
  codes.push_back(CodeOnThread([&] { ordered.Pop(); }));
  codes.push_back(CodeOnThread([&] { pool.Acquire(pipeline); }));
  cancel.Request();
  for (std::future<ErrorCode>& code : codes) EXPECT_EQ(code.get(), ErrorCode::kCancelled);
  EXPECT_EQ(CodeOf([&] { pipeline.Join(); }), ErrorCode::kCancelled);
}

TEST(Pipeline, EveryStageHasAThreadBeforeAnyHasTwo) {
  CancelFlag cancel;
  Pipeline pipeline(cancel);
  std::atomic<int> first{0}, second{0};
  pipeline.Start([&] { ++first; }, 3);
  pipeline.Start([&] { ++second; }, 2);
  while (first + second < 2) std::this_thread::yield();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
  pipeline.Join();
  EXPECT_EQ(first, 3);
  EXPECT_EQ(second, 2);
}

TEST(Pipeline, GoesOnWithFewerThreadsThanAskedFor) {
  CancelFlag cancel;
  Pipeline pipeline(cancel);
  BoundedQueue<int> queue(pipeline, 4);
  std::atomic<int> threads{0}, sum{0};
  pipeline.Start(
      [&] {
        ++threads;
        while (const std::optional<int> item = queue.Pop()) sum += *item;
      },
      4);
  {
    const RefusedThreads refused;
    ::testing::internal::CaptureStderr();
    pipeline.StartRest();
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find("cannot start a thread"), std::string::npos) << log;
    EXPECT_NE(log.find("going on with 1"), std::string::npos) << log;
    EXPECT_EQ(log.find("cannot start", log.find("going on")), std::string::npos) << "said more than once: " << log;
  }
  for (int i = 1; i <= 100; ++i) queue.Push(i);
  queue.Finish();
  pipeline.Join();
  EXPECT_EQ(threads, 1);
  EXPECT_EQ(sum, 5050);
}

/// Checks that start(pipeline) fails next to a running stage, and that the thread of that stage has ended by then.
template <typename Start>
void ExpectEndedThreads(Start start) {
  CancelFlag cancel;
  Waiting waiting;
  std::atomic<bool> ended{false};
  Pipeline pipeline(cancel);
  pipeline.Start([&] {
    CodeOf([&] { waiting.For(pipeline); });
    ended = true;
  });
  start(pipeline);
  EXPECT_TRUE(ended);
}

TEST(Pipeline, ThreadsThatRunHaveEndedWhenAStageHasNone) {
  ExpectEndedThreads([](Pipeline& pipeline) {
    const RefusedThreads refused;
    EXPECT_EQ(CodeOf([&] { pipeline.Start([] { ADD_FAILURE() << "it runs"; }, 2); }), ErrorCode::kOutOfMemory);
  });
}

struct ThrowsWhenCopied {
  ThrowsWhenCopied() = default;
  ThrowsWhenCopied(ThrowsWhenCopied&&) = default;
  ThrowsWhenCopied(const ThrowsWhenCopied&) { throw std::bad_alloc(); }
  void operator()() const { ADD_FAILURE() << "it runs"; }
};

TEST(Pipeline, ThreadsThatRunHaveEndedWhenMemoryForAStageIsRefused) {
  ExpectEndedThreads([](Pipeline& pipeline) { EXPECT_THROW(pipeline.Start(ThrowsWhenCopied{}, 2), std::bad_alloc); });
}

TEST(Pipeline, AGuardEndsThreadsBeforeWhatTheyUseGoes) {
  CancelFlag cancel;
  Waiting waiting;
  Pipeline pipeline(cancel);
  std::atomic<bool> ended{false};
  {
    const Pipeline::Guard guard(pipeline);
    pipeline.Start([&] {
      CodeOf([&] { waiting.For(pipeline); });
      ended = true;
    });
  }
  EXPECT_TRUE(ended);
}

TEST(BoundedQueue, CarriesEachItemOnceAndHoldsNoMoreThanItsCapacity) {
  constexpr int kProducers = 3, kConsumers = 3, kItems = 500;
  constexpr std::size_t kCapacity = 4;
  CancelFlag cancel;
  Pipeline pipeline(cancel);
  BoundedQueue<int> queue(pipeline, kCapacity);
  std::atomic<int> pushed{0}, popped{0}, producing{kProducers}, next{0};
  std::vector<std::vector<int>> seen(kConsumers);
  for (int p = 0; p < kProducers; ++p) {
    pipeline.Start([&, p] {
      for (int i = 0; i < kItems; ++i) {
        queue.Push(p * kItems + i);
        // Each consumer may have taken one item that it has not counted yet.
        EXPECT_LE(++pushed - popped, static_cast<int>(kCapacity) + kConsumers);
      }
      if (--producing == 0) queue.Finish();
    });
  }
  pipeline.Start(
      [&] {
        std::vector<int>& mine = seen[next++];
        while (const std::optional<int> item = queue.Pop()) {
          ++popped;
          mine.push_back(*item);
        }
        EXPECT_FALSE(queue.Pop());
      },
      kConsumers);
  pipeline.Join();
  std::set<int> all;
  for (const std::vector<int>& mine : seen) {
    std::vector<int> last(kProducers, -1);
    for (const int item : mine) {
      EXPECT_LT(last[item / kItems], item) << "what one thread pushed comes in order";
      last[item / kItems] = item;
      EXPECT_TRUE(all.insert(item).second);
    }
  }
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kProducers * kItems));
}

TEST(BoundedQueue, GivesWhatSuitsElseTheFirst) {
  CancelFlag cancel;
  Pipeline pipeline(cancel);
  BoundedQueue<int> queue(pipeline, 5);
  for (const int item : {1, 2, 3, 4, 5}) queue.Push(item);
  const auto even = [](int item) { return item % 2 == 0; };
  std::vector<int> order;
  queue.Finish();
  while (const std::optional<int> item = queue.Pop(even)) order.push_back(*item);
  EXPECT_EQ(order, (std::vector<int>{2, 4, 1, 3, 5}));
}

TEST(OrderedQueue, GivesInOrderWhatCameInAny) {
  constexpr std::uint64_t kItems = 600;
  CancelFlag cancel;
  Pipeline pipeline(cancel);
  OrderedQueue<std::unique_ptr<std::uint64_t>> queue(pipeline);
  std::vector<std::uint64_t> numbers(kItems);
  for (std::uint64_t i = 0; i < kItems; ++i) numbers[i] = i;
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937(1));
  std::atomic<std::size_t> next{0};
  pipeline.Start(
      [&] {
        for (std::size_t i = next++; i < kItems; i = next++) {
          if (i == kItems / 2) queue.Finish(kItems);  // the number of items is known before the last item arrives
          queue.Push(numbers[i], std::make_unique<std::uint64_t>(numbers[i]));
        }
      },
      3);
  pipeline.StartRest();
  for (std::uint64_t i = 0; i < kItems; ++i) {
    const auto item = queue.Pop();
    ASSERT_TRUE(item);
    EXPECT_EQ(**item, i);
  }
  EXPECT_FALSE(queue.Pop());
  pipeline.Join();
}

TEST(OrderedQueue, WhoeverWaitsEndsWithHisOwnPipelineAndWithTheOther) {
  CancelFlag cancel;
  Pipeline pushing(cancel), popping(cancel), both(cancel);
  OrderedQueue<int> queue(pushing);
  queue.Push(1, 1);  // this is not the item for which Pop waits
  std::future<ErrorCode> own = CodeOnThread([&] { queue.Pop(popping); });
  popping.Stop();
  EXPECT_EQ(own.get(), ErrorCode::kCancelled);
  std::future<ErrorCode> other = CodeOnThread([&] { queue.Pop(both); });
  pushing.Stop();
  EXPECT_EQ(other.get(), ErrorCode::kCancelled);
}

TEST(BlockPool, LendsEachBlockToOneAndCountsThem) {
  CancelFlag cancel;
  Pipeline pipeline(cancel);
  HostMemory memory(1 << 20);
  {
    BlockPool pool(memory, 8192, 5);
    EXPECT_EQ(memory.used(), 5u * 8192);
    std::vector<BlockPool::Block> lent;
    std::set<std::byte*> places;
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(pool.free_blocks(), 5u - i);
      lent.push_back(pool.Acquire(pipeline));
      EXPECT_EQ(lent.back().size(), 8192u);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lent.back().data()) % 4096, 0u);
      places.insert(lent.back().data());
    }
    for (auto at = places.begin(); std::next(at) != places.end(); ++at) EXPECT_GE(*std::next(at) - *at, 8192);
    EXPECT_EQ(places.size(), 5u);
    EXPECT_EQ(pool.TryAcquire().data(), nullptr);
    EXPECT_TRUE(pool.TryAcquire().span().empty());
    BlockPool::Block moved(std::move(lent.back()));
    lent.pop_back();
    EXPECT_EQ(pool.free_blocks(), 0u);
    moved = {};
    EXPECT_EQ(pool.free_blocks(), 1u);
  }
  EXPECT_EQ(memory.used(), 0u);
}

TEST(BlockPool, WakesWhoWaitsAndSaysWhenABlockIsBack) {
  CancelFlag cancel;
  Pipeline pipeline(cancel);
  HostMemory memory(1 << 20);
  BlockPool pool(memory, 4096, 2);
  std::atomic<int> returned{0};
  pool.OnReturn([&] {
    pool.free_blocks();  // the callback may call this, because the pool's lock is free
    ++returned;
  });
  std::atomic<int> most{0}, lent{0};
  pipeline.Start(
      [&] {
        for (int i = 0; i < 300; ++i) {
          const BlockPool::Block block = pool.Acquire(pipeline);
          most = std::max<int>(most, ++lent);
          std::memset(block.data(), i, block.size());  // TSan reports it if two threads have the block
          --lent;
        }
      },
      4);
  pipeline.Join();
  EXPECT_EQ(returned, 1200);
  EXPECT_LE(most, 2);
  EXPECT_EQ(pool.free_blocks(), 2u);
}

TEST(BlockPool, RefusesMemoryThatIsTooSmallForItsBlocks) {
  HostMemory memory(1 << 20);
  const auto buffer = std::make_shared<PinnedBuffer>(memory, 8192);
  EXPECT_EQ(CodeOf([&] { BlockPool(buffer, 4096, 3); }), ErrorCode::kInternal);
  EXPECT_EQ(CodeOf([&] { BlockPool(memory, 4096, 300); }), ErrorCode::kOutOfMemory);
}

TEST(WorkerPool, RunsEachTaskOnceForSeveralCallersAtOnce) {
  CancelFlag cancel;
  Pipeline pipeline(cancel);
  WorkerPool pool(pipeline, 3);
  pipeline.StartRest();
  const auto call = [&](std::uint64_t count) {
    std::vector<std::atomic<int>> runs(count);
    pool.ForEach(count, [&](std::uint64_t i) { ++runs[i]; });
    for (const std::atomic<int>& times : runs) EXPECT_EQ(times, 1);
  };
  std::vector<std::thread> callers;
  for (const std::uint64_t count : {0, 1, 200, 77}) callers.emplace_back(call, count);
  for (std::thread& caller : callers) caller.join();
  pool.Finish();
  pipeline.Join();
}

TEST(WorkerPool, FinishesWhatWasSubmittedBefore) {
  CancelFlag cancel;
  Pipeline pipeline(cancel);
  std::vector<int> order;
  WorkerPool pool(pipeline, 1);
  for (int i = 0; i < 200; ++i) pool.Submit([&order, i] { order.push_back(i); });
  pool.Finish();
  pipeline.Join();
  ASSERT_EQ(order.size(), 200u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(WorkerPool, NoTaskRunsOnceForEachIsLeft) {
  for (const bool by_error : {false, true}) {
    for (int round = 0; round < 20; ++round) {
      CancelFlag cancel;
      Pipeline pipeline(cancel);
      WorkerPool pool(pipeline, 4);
      pipeline.StartRest();
      std::atomic<bool> left{false}, after{false};
      std::atomic<int> running{0};
      const auto task = [&](std::uint64_t i) {
        ++running;
        if (left) after = true;
        if (i == 7 && by_error) {
          --running;
          throw Error(ErrorCode::kIo, "task 7");
        }
        if (i == 7) pipeline.Stop();
        std::this_thread::yield();
        --running;
      };
      EXPECT_EQ(CodeOf([&] { pool.ForEach(10000, task); }), ErrorCode::kCancelled);
      EXPECT_EQ(running, 0);
      left = true;
      EXPECT_EQ(MessageOf([&] { pipeline.Join(); }), by_error ? "task 7" : "stopped");
      EXPECT_FALSE(after);
    }
  }
}

}  // namespace
}  // namespace gpusort::testing

// labels: brief threads
#include "kernels/cpu/thread_team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

namespace gpusort::detail {
namespace {

/// Calls the team from several threads at once, as two lanes do. Each call has separate counters for each worker.
TEST(ThreadTeam, RunsEveryTaskOnceForSeveralCallersWithinItsSize) {
  for (const unsigned size : {1u, 2u, 5u}) {
    ThreadTeam team(size);
    std::atomic<unsigned> running{0}, most{0};
    const auto caller = [&] {
      const TeamExecutor executor(team);
      for (std::uint64_t tasks : {0, 1, 2, 3, 64, 1000}) {
        std::vector<unsigned> runs(tasks);
        // Not atomic, because a worker number has one thread at a time.
        std::vector<std::uint64_t> of_worker(executor.workers());
        executor.ForEach(tasks, [&](std::uint64_t task, unsigned worker) {
          const unsigned now = ++running;
          for (unsigned seen = most; tasks > 1 && seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          ++runs[task];
          ++of_worker.at(worker);
          --running;
        });
        std::uint64_t all = 0;
        for (const std::uint64_t count : of_worker) all += count;
        EXPECT_EQ(all, tasks);
        EXPECT_EQ(runs, std::vector<unsigned>(tasks, 1));
      }
    };
    std::vector<std::jthread> callers;
    for (int i = 0; i < 3; ++i) callers.emplace_back(caller);
    callers.clear();
    // A single task runs on its caller, in addition to the threads of the team.
    EXPECT_LE(most, size + 2);
    EXPECT_EQ(team.refused(), 0u);
  }
}

TEST(ThreadTeam, ThrowsTheFirstExceptionOnceAllHaveEndedAndIsStillOfUse) {
  ThreadTeam team(4);
  const TeamExecutor executor(team);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> inside{0}, begun{0};
    const auto fail = [&](std::uint64_t task, unsigned) {
      ++inside;
      ++begun;
      if (task == 3) {
        --inside;
        throw std::runtime_error("task 3");
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      --inside;
    };
    EXPECT_THROW(executor.ForEach(100'000, fail), std::runtime_error);
    EXPECT_EQ(inside, 0);
    EXPECT_LT(begun, 100'000);
    std::atomic<int> done{0};
    executor.ForEach(10, [&](std::uint64_t, unsigned) { ++done; });
    EXPECT_EQ(done, 10);
  }
}

}  // namespace
}  // namespace gpusort::detail

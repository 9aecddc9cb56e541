// labels: no_tsan
// Tests the last message of a process that runs out of memory.
#include "base/out_of_memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <thread>

namespace gpusort {
namespace {

void Install() { EndWhenOutOfMemory("front: ", "no memory", 6); }
/// Ends the process as a failed allocation does in a destructor.
void RunOut() noexcept { throw std::bad_alloc(); }

TEST(OutOfMemoryDeathTest, TheHandlerSaysIt) {
  const auto main_runs_out = [] {
    Install();
    RunOut();
  };
  EXPECT_EXIT(main_runs_out(), ::testing::ExitedWithCode(6), "^front: no memory\n$");
}

/// Fails as `new` does without memory. ASan's `new` would end the process.
void FailAsNewDoes() {
  if (const std::new_handler handler = std::get_new_handler()) handler();
  throw std::bad_alloc();
}

TEST(OutOfMemoryDeathTest, TheHandlerSaysItIfObjectsAreDestroyedFirst) {
  const auto destroys_first = []() noexcept {
    const std::string destroyed(100, 'x');
    FailAsNewDoes();
  };
  const auto main_runs_out = [&] {
    Install();
    destroys_first();
  };
  EXPECT_EXIT(main_runs_out(), ::testing::ExitedWithCode(6), "^front: no memory\n$");
  const auto runs_out_in_a_handler = [&] {
    Install();
    try {
      throw 1;
    } catch (int) {
      destroys_first();
    }
  };
  EXPECT_EXIT(runs_out_in_a_handler(), ::testing::ExitedWithCode(6), "^front: no memory\n$");
}

TEST(OutOfMemoryDeathTest, AnotherErrorEndsAsUsual) {
  const auto main_fails = [] {
    Install();
    try {
      FailAsNewDoes();
    } catch (const std::bad_alloc&) {
    }
    std::terminate();
  };
  EXPECT_EXIT(main_fails(), ::testing::KilledBySignal(SIGABRT), "terminate called without an active exception");
}

TEST(OutOfMemoryDeathTest, OnlyOneThreadSaysWhyTheProcessFails) {
  const auto main_speaks = [] {
    Install();
    BeginLastWords();
    std::thread other(RunOut);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::fputs("a file is missing\n", stderr);
    EndLastWords(4);
    other.join();
  };
  EXPECT_EXIT(main_speaks(), ::testing::ExitedWithCode(4), "^a file is missing\n$");
  const auto main_runs_out_behind_it = [] {
    Install();
    BeginLastWords();
    std::fputs("a file is missing\n", stderr);
    EndLastWords(4);
    RunOut();
  };
  EXPECT_EXIT(main_runs_out_behind_it(), ::testing::ExitedWithCode(4), "^a file is missing\n$");
  const auto main_runs_out_before_it = [] {
    Install();
    BeginLastWords();
    RunOut();
  };
  EXPECT_EXIT(main_runs_out_before_it(), ::testing::ExitedWithCode(6), "^front: no memory\n$");
}

}  // namespace
}  // namespace gpusort

// labels: brief threads
#include "kernels/thread.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "refused_threads.hpp"

namespace gpusort::testing {
namespace {

/// Returns true if the calling thread blocks all signals that it must block, and no others.
bool GetsNoSignals() {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  bool faults = false;
  for (const int fault : kFaultSignals) faults = faults || sigismember(&blocked, fault) == 1;
  return !faults && sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGINT) == 1;
}

TEST(StartThread, GivesAThreadThatGetsNoSignalsAndIsJoined) {
  bool none = false;
  {
    Threads threads;
    EXPECT_EQ(StartThread(threads, [&] { none = GetsNoSignals(); }), "");
    EXPECT_EQ(threads.size(), 1u);
  }
  EXPECT_TRUE(none);
  EXPECT_FALSE(GetsNoSignals()) << "of the thread that started it";
}

TEST(StartThread, SaysWhyThereIsNone) {
  Threads threads;
  const RefusedThreads refused;
  EXPECT_NE(StartThread(threads, [] { ADD_FAILURE(); }), "");
  EXPECT_TRUE(threads.empty());
  EXPECT_FALSE(GetsNoSignals());
}

TEST(RunBeside, RunsInAThreadThatGetsNoSignalsAndPassesExceptionsOn) {
  bool none = false;
  RunBeside([&] { none = GetsNoSignals(); }).get();
  EXPECT_TRUE(none);
  EXPECT_FALSE(GetsNoSignals());
  std::future<void> failed = RunBeside([] { throw std::runtime_error("from beside"); });
  EXPECT_THROW(failed.get(), std::runtime_error);
}

TEST(RunBeside, RunsInThisThreadWhereNoOtherCanBeHad) {
  std::thread::id id;
  const RefusedThreads refused;
  std::future<void> beside = RunBeside([&] { id = std::this_thread::get_id(); });
  EXPECT_EQ(id, std::thread::id());
  beside.get();
  EXPECT_EQ(id, std::this_thread::get_id());
}

}  // namespace
}  // namespace gpusort::testing

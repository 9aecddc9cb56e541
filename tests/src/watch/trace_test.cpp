#include "watch/trace.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <latch>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "kernels/thread.hpp"
#include "watch/clock.hpp"
#include "watch/progress.hpp"
#include "watch/recorder.hpp"

namespace gpusort {
namespace {

std::string TraceFile() {
  char path[] = "/tmp/gpusort-trace-XXXXXX";
  const int fd = ::mkstemp(path);
  if (fd >= 0) ::close(fd);
  return path;
}

nlohmann::json ReadTrace(const std::string& path) {
  std::ifstream file(path);
  nlohmann::json events = nlohmann::json::parse(file);
  ::unlink(path.c_str());
  return events;
}

RC_GTEST_PROP(Trace, KeepsWhatManyThreadsAddInFewBuffers, ()) {
  const auto threads = *rc::gen::inRange(1, 6);
  const auto slices = *rc::gen::inRange(1, 150);
  const std::string path = TraceFile();
  Trace trace(path, *rc::gen::inRange(0, 1 << 16), Nanoseconds{0});
  {
    Threads workers;
    for (int thread = 0; thread < threads; ++thread) {
      const std::string refused = StartThread(workers, [&, thread] {
        thread_role = "test";
        for (int i = 0; i < slices; ++i) {
          trace.Add({.name = "slice",
                     .begin = Nanoseconds{1000 * i},
                     .end = Nanoseconds{1000 * i + 1000},
                     .bytes = static_cast<std::uint64_t>(thread),
                     .number = static_cast<std::uint64_t>(i),
                     .track = TraceTrack::kTemp});
        }
      });
      RC_ASSERT(refused.empty());
    }
  }
  RC_ASSERT(trace.End(Nanoseconds{1}, "{}") == 0);
  RC_ASSERT(trace.dropped() == 0u);
  std::map<std::pair<unsigned, unsigned>, double> ends;
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> seen;
  for (const nlohmann::json& event : ReadTrace(path)) {
    if (event.at("ph") != "X") continue;
    const std::pair row{event.at("pid").get<unsigned>(), event.at("tid").get<unsigned>()};
    if (row.first == 1) {
      ++seen[{event.at("args").at("bytes"), event.at("args").at("number")}];
      continue;
    }
    RC_ASSERT(event.at("ts").get<double>() >= ends[row]);  // slices of one row do not overlap
    ends[row] = event.at("ts").get<double>() + event.at("dur").get<double>();
  }
  RC_ASSERT(seen.size() == static_cast<std::size_t>(threads) * static_cast<std::size_t>(slices));
  for (const auto& [slice, count] : seen) RC_ASSERT(count == 1);
}

TEST(Trace, GivesTheRowOfAThreadThatEndedToTheNextOfItsRole) {
  const std::string path = TraceFile();
  Trace trace(path, 1 << 16, Nanoseconds{0});
  for (int i = 0; i < 300; ++i) {
    Threads one;
    ASSERT_EQ(StartThread(one,
                          [&] {
                            thread_role = "test";
                            trace.Add({.name = "slice"});
                          }),
              "");
  }
  EXPECT_EQ(trace.End(Nanoseconds{1}, "{}"), 0);
  EXPECT_EQ(trace.dropped(), 0u);
  int rows = 0;
  for (const nlohmann::json& event : ReadTrace(path)) rows += event.at("name") == "thread_name";
  EXPECT_EQ(rows, 1);
}

TEST(Trace, KeepsTheRowOfAThreadWhileAnotherUsesAResource) {
  const std::string path = TraceFile();
  Trace trace(path, 1 << 16, Nanoseconds{0});
  StageClock clock("phase");
  clock.TraceInto(&trace);
  std::latch begun(1), ended(1);
  Threads threads;
  ASSERT_EQ(StartThread(threads,
                        [&] {
                          thread_role = "test";
                          begun.wait();
                          { const Busy use(clock, Resource::kCompute); }
                        }),
            "");
  ASSERT_EQ(StartThread(threads,
                        [&] {
                          thread_role = "test";
                          const Busy use(clock, Resource::kCompute);
                          begun.count_down();
                          ended.wait();
                        }),
            "");
  threads.front().join();
  ended.count_down();
  threads.clear();
  EXPECT_EQ(trace.End(Nanoseconds{1}, "{}"), 0);
  int rows = 0;
  for (const nlohmann::json& event : ReadTrace(path)) rows += event.at("name") == "thread_name" && event.at("pid") == 1;
  EXPECT_EQ(rows, 2);
}

TEST(Trace, HasRoomForAsManyThreadsAsThereAreCores) {
  constexpr unsigned kCores = 160;
  const std::string path = TraceFile();
  Trace trace(path, 1 << 16, Nanoseconds{0}, kCores);
  {
    std::latch all(kCores);
    Threads workers;
    for (unsigned i = 0; i < kCores; ++i) {
      const std::string refused = StartThread(workers, [&] {
        trace.Add({.name = "slice"});
        all.arrive_and_wait();
      });
      if (!refused.empty()) all.count_down();
    }
  }
  EXPECT_EQ(trace.End(Nanoseconds{1}, "{}"), 0);
  EXPECT_EQ(trace.dropped(), 0u);
  EXPECT_EQ(trace.slices(), kCores);
  ::unlink(path.c_str());
}

TEST(Recorder, HasTheBeginningAndTheEndOfAShortJob) {
  StageClock clock("test");
  Recorder recorder(
      clock, nullptr, StageClock::SteadyNow(), [] { return 7; }, [] { return 0; });
  { const Busy busy(clock, Resource::kDiskRead, 5); }
  recorder.Stop();
  ASSERT_GE(recorder.samples().size(), 2u);
  EXPECT_LE(recorder.samples().size(), Recorder::kMostSamples);
  EXPECT_EQ(recorder.samples().front().time, Nanoseconds{0});
  EXPECT_EQ(recorder.samples().back().bytes[0], 5u);
  EXPECT_EQ(recorder.samples().back().memory, 7u);
}

}  // namespace
}  // namespace gpusort

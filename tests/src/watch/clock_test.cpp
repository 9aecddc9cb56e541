// Compares the computation of busy times with counting every tick, and tests which resource is reported as the busiest.
#include "watch/clock.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace gpusort {
namespace {

using std::chrono::milliseconds;

struct HandClock {
  Nanoseconds now{1000};
  StageClock::NowFunction function() {
    return [this] { return now; };
  }
};

TEST(StageClock, CountsOverlappingThreadsOnce) {
  HandClock time;
  StageClock clock("read", time.function());
  time.now += Nanoseconds(10);
  clock.Enter(Resource::kDiskRead);  // 10
  time.now += Nanoseconds(5);
  clock.Enter(Resource::kDiskRead);  // 15
  clock.Enter(Resource::kCompute);
  time.now += Nanoseconds(5);
  clock.Leave(Resource::kDiskRead, 100);  // 20
  time.now += Nanoseconds(20);
  clock.Leave(Resource::kDiskRead, 11);  // 40
  time.now += Nanoseconds(60);           // 100
  const PhaseTimes times = clock.current();
  EXPECT_EQ(times.name, "read");
  EXPECT_EQ(times.wall, Nanoseconds(100));
  EXPECT_EQ(times.busy[Resource::kDiskRead], Nanoseconds(30));
  EXPECT_EQ(times.bytes[Resource::kDiskRead], 111u);
  EXPECT_EQ(times.busy[Resource::kCompute], Nanoseconds(85)) << "still inside";
  EXPECT_EQ(times.busy[Resource::kDiskWrite], Nanoseconds(0));
  EXPECT_DOUBLE_EQ(times.Share(Resource::kDiskRead), 0.3);
}

TEST(StageClock, SplitsAUseAtThePhasesBorder) {
  HandClock time;
  StageClock clock("one", time.function());
  clock.Enter(Resource::kDiskWrite);
  time.now += Nanoseconds(7);
  clock.BeginPhase("two");
  time.now += Nanoseconds(4);
  clock.Leave(Resource::kDiskWrite, 5);
  time.now += Nanoseconds(9);
  const std::vector<PhaseTimes> phases = clock.phases();
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].name, "one");
  EXPECT_EQ(phases[0].wall, Nanoseconds(7));
  EXPECT_EQ(phases[0].busy[Resource::kDiskWrite], Nanoseconds(7));
  EXPECT_EQ(phases[0].bytes[Resource::kDiskWrite], 0u);
  EXPECT_EQ(phases[1].name, "two");
  EXPECT_EQ(phases[1].wall, Nanoseconds(13));
  EXPECT_EQ(phases[1].busy[Resource::kDiskWrite], Nanoseconds(4));
  EXPECT_EQ(phases[1].bytes[Resource::kDiskWrite], 5u);
}

TEST(StageClock, HasNoShareInAPhaseWithoutTime) {
  HandClock time;
  const StageClock clock("none", time.function());
  EXPECT_EQ(clock.current().Share(Resource::kBus), 0);
}

/// Random steps of several threads over several phases. The reference marks every tick in which some thread is inside.
RC_GTEST_PROP(StageClock, AgreesWithCountingTicks, ()) {
  constexpr std::size_t kThreads = 4;
  HandClock time;
  StageClock clock("0", time.function());
  std::vector<std::array<std::uint64_t, kResourceCount>> busy(1);
  std::vector<std::uint64_t> wall(1);
  std::array<std::array<std::unique_ptr<Busy>, kResourceCount>, kThreads> inside;
  std::array<std::array<std::uint64_t, kResourceCount>, kThreads> size{};
  std::vector<std::array<std::uint64_t, kResourceCount>> bytes(1);
  const auto steps = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
      rc::gen::tuple(rc::gen::inRange(0, 10), rc::gen::inRange(0, static_cast<int>(kThreads)),
                     rc::gen::inRange(0, static_cast<int>(kResourceCount))));
  for (const auto& [step, thread, resource] : steps) {
    if (step == 0) {
      clock.BeginPhase(std::to_string(busy.size()));
      busy.emplace_back();
      bytes.emplace_back();
      wall.emplace_back();
    } else if (step < 7) {
      std::unique_ptr<Busy>& use = inside[thread][resource];
      if (use) {
        use.reset();
        bytes.back()[resource] += size[thread][resource];
      } else {
        size[thread][resource] = static_cast<std::uint64_t>(step);
        use = std::make_unique<Busy>(clock, static_cast<Resource>(resource));
        use->set_bytes(size[thread][resource]);
      }
    } else {
      for (int tick = 0; tick < step; ++tick) {
        time.now += Nanoseconds(1);
        ++wall.back();
        for (std::size_t r = 0; r < kResourceCount; ++r) {
          bool any = false;
          for (const auto& uses : inside) any |= uses[r] != nullptr;
          busy.back()[r] += any ? 1 : 0;
        }
      }
    }
  }
  const std::vector<PhaseTimes> phases = clock.phases();
  RC_ASSERT(phases.size() == busy.size());
  for (std::size_t p = 0; p < phases.size(); ++p) {
    RC_ASSERT(phases[p].name == std::to_string(p));
    RC_ASSERT(phases[p].wall.count() == static_cast<std::int64_t>(wall[p]));
    for (std::size_t r = 0; r < kResourceCount; ++r) {
      RC_ASSERT(phases[p].busy[r].count() == static_cast<std::int64_t>(busy[p][r]));
      RC_ASSERT(phases[p].bytes[r] == bytes[p][r]);
      RC_ASSERT(phases[p].Share(static_cast<Resource>(r)) <= 1.0);
    }
  }
}

TEST(StageClock, IsSafeUnderManyThreads) {
  StageClock clock("all");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&clock, t] {
      for (int i = 0; i < 2000; ++i) {
        const Busy busy(clock, static_cast<Resource>((t + i) % kResourceCount), 1);
        if (t == 0 && i % 500 == 0) clock.BeginPhase("more");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t bytes = 0;
  for (const PhaseTimes& phase : clock.phases()) {
    for (std::size_t r = 0; r < kResourceCount; ++r) {
      bytes += phase.bytes[r];
      EXPECT_LE(phase.busy[r], phase.wall);
      EXPECT_GE(phase.busy[r].count(), 0);
    }
  }
  EXPECT_EQ(bytes, 8000u);
  EXPECT_EQ(clock.phases().size(), 5u);
}

TEST(BusiestResource, TellsCoresBusAndGpuApart) {
  const auto of = [](Resource resource, milliseconds busy, unsigned gpus, DeviceTimes device = {}) {
    PhaseTimes now;
    now.wall = milliseconds(1000);
    now.busy[resource] = busy;
    now.busy[Resource::kDiskWrite] += milliseconds(300);
    now.device = device;
    return BusiestResource({}, now, gpus);
  };
  EXPECT_EQ(of(Resource::kCompute, milliseconds(900), 0), "cores");
  EXPECT_EQ(of(Resource::kCodec, milliseconds(900), 1), "cores");
  EXPECT_EQ(of(Resource::kDiskRead, milliseconds(900), 1), "disk read");
  EXPECT_EQ(of(Resource::kPipeRead, milliseconds(900), 0), "pipe read");
  EXPECT_EQ(of(Resource::kPipeWrite, milliseconds(900), 1), "pipe write");
  EXPECT_EQ(of(Resource::kBus, milliseconds(900), 1), "bus");
  EXPECT_EQ(of(Resource::kCompute, milliseconds(900), 1, {0.1, 0.7, 0.1}), "GPU");
  EXPECT_EQ(of(Resource::kCompute, milliseconds(900), 1, {0.5, 0.2, 0.4}), "bus");
  EXPECT_EQ(of(Resource::kCompute, milliseconds(900), 1, {0.1, 0.2, 0.1}), "cores");
  EXPECT_EQ(of(Resource::kCompute, milliseconds(900), 2, {0.5, 0.2, 0.4}), "cores");
  EXPECT_EQ(of(Resource::kCompute, milliseconds(900), 2, {0.9, 0.2, 0.7}), "bus");
  EXPECT_EQ(of(Resource::kCompute, milliseconds(400), 0), "");
  EXPECT_EQ(BusiestResource({}, {}, 0), "");
}

TEST(ResourceName, IsDifferentForEach) {
  std::vector<std::string> names;
  for (std::size_t r = 0; r < kResourceCount; ++r) names.push_back(ResourceName(static_cast<Resource>(r)));
  EXPECT_EQ(names, (std::vector<std::string>{"disk read", "disk write", "bus", "compute", "codec", "pipe read",
                                             "pipe write"}));
}

}  // namespace
}  // namespace gpusort

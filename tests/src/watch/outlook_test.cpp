// Tests the percentage and the time left of a whole job. The test sets the time of the clock.
#include "watch/outlook.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace gpusort {
namespace {

using Nanoseconds = JobOutlook::Nanoseconds;

Nanoseconds At(double seconds) { return Nanoseconds(static_cast<std::int64_t>(seconds * 1e9)); }

constexpr std::uint64_t kMiB = 1 << 20;

/// Returns a job of two parts. The two parts wait for cores, and the second takes 0.5 of the first part's time.
std::vector<JobPart> TwoParts(std::uint64_t bytes) {
  const auto all = static_cast<double>(bytes);
  return {{"form runs", bytes, all, all, all, false}, {"merge runs", 0, all / 2, all, all, false}};
}

/// Returns the observation after `seconds` seconds of a part that uses cores all the time, and disks for a tenth of it.
PartSeen Seen(double seconds, double bytes) { return {seconds, seconds / 10, seconds / 10, bytes, bytes, 0}; }

TEST(JobOutlook, SaysNothingBeforeAnythingIsSeen) {
  JobOutlook outlook;
  outlook.Update(At(1), 5, 0, {});
  EXPECT_FALSE(outlook.percent() || outlook.seconds_left());
  outlook.Expect(TwoParts(100 * kMiB));
  outlook.Begin("form runs", 100 * kMiB, At(1));
  outlook.Update(At(2), 0, 0, {});
  EXPECT_FALSE(outlook.percent() || outlook.seconds_left());
}

TEST(JobOutlook, SaysNoTimeWhereASizeIsNotKnown) {
  JobOutlook outlook;
  outlook.Expect({{"form runs", 0, 0, 0, 0, true}, {"merge runs", 0, 0, 0, 0, true}});
  outlook.Begin("form runs", 0, At(0));
  for (int i = 1; i < 50; ++i) {
    outlook.Update(At(i), static_cast<std::uint64_t>(i) * kMiB, 0, Seen(i, i * 1.0 * kMiB));
    EXPECT_FALSE(outlook.percent() || outlook.seconds_left());
  }
}

TEST(JobOutlook, TakesADiskThatNobodySawWrittenForAsSlowAsOneThatIsRead) {
  for (const bool to_disk : {false, true}) {
    std::vector<JobPart> parts = TwoParts(100 * kMiB);
    parts[1].work = 0;
    parts[1].read = 0;
    parts[1].to_disk = to_disk;
    JobOutlook outlook;
    outlook.Expect(parts);
    outlook.Begin("form runs", 100 * kMiB, At(0));
    const double bytes = 100.0 * kMiB;
    outlook.Update(At(100), 100 * kMiB, 0, {10, 100, 20, bytes, bytes, 0});
    ASSERT_TRUE(outlook.seconds_left());
    EXPECT_NEAR(*outlook.seconds_left(), to_disk ? 100 : 20, 0.01);
  }
}

TEST(JobOutlook, ExpectsTheNextPartByWhatTheFirstShowed) {
  JobOutlook outlook;
  outlook.Expect(TwoParts(100 * kMiB));
  outlook.Begin("form runs", 100 * kMiB, At(10));
  for (int i = 1; i <= 100; ++i) {
    outlook.Update(At(10 + i), static_cast<std::uint64_t>(i) * kMiB, 0, Seen(i, i * 1.0 * kMiB));
    ASSERT_TRUE(outlook.seconds_left());
    EXPECT_NEAR(*outlook.seconds_left(), 150 - i, 0.01) << i;
    EXPECT_NEAR(*outlook.percent(), 100.0 * i / 150 - 0.5, 0.51) << i;
  }
  outlook.Begin("merge runs", 100 * kMiB, At(110));
  outlook.Update(At(110), 0, 0, {});
  EXPECT_NEAR(*outlook.seconds_left(), 50, 0.01);
  // The part is twice as slow as expected, which is soon visible.
  outlook.Update(At(130), 20 * kMiB, 0, Seen(20, 20.0 * kMiB));
  EXPECT_NEAR(*outlook.seconds_left(), 80, 10);
}

TEST(JobOutlook, TakesADiskForTheLimitThatIsBusiest) {
  JobOutlook outlook;
  outlook.Expect(TwoParts(100 * kMiB));
  outlook.Begin("form runs", 100 * kMiB, At(0));
  outlook.Update(At(50), 50 * kMiB, 0, {10, 20, 50, 50.0 * kMiB, 50.0 * kMiB, 0});
  EXPECT_NEAR(*outlook.seconds_left(), 50 + 100, 0.01) << "all is written once more";
}

TEST(JobOutlook, CountsWhatWasExpanded) {
  JobOutlook outlook;
  std::vector<JobPart> parts = TwoParts(100 * kMiB);
  for (JobPart& part : parts) part.expands = true;
  outlook.Expect(parts);
  outlook.Begin("form runs", 100 * kMiB, At(0));
  outlook.Update(At(50), 50 * kMiB, 0, {50, 5, 50, 0, 200.0 * kMiB, 200.0 * kMiB});
  // Writing a MiB takes 0.25 s, and 400 MiB will be written.
  EXPECT_NEAR(*outlook.seconds_left(), 50 + 100, 0.01);
}

TEST(JobOutlook, LeavesOutWhatAnotherProcessDid) {
  JobOutlook outlook;
  outlook.Expect({{"form runs", 100 * kMiB, 0, 0, 0, false}});
  outlook.Begin("form runs", 100 * kMiB, At(0));
  outlook.Update(At(0), 60 * kMiB, 60 * kMiB, {});
  outlook.Update(At(10), 70 * kMiB, 60 * kMiB, {});
  EXPECT_NEAR(*outlook.seconds_left(), 30, 0.01);
}

TEST(JobOutlook, DoesNotWaitForTheEndOfALongStep) {
  JobOutlook outlook;
  outlook.Expect({{"form runs", 4 * kMiB, 0, 0, 0, false}});
  outlook.Begin("form runs", 4 * kMiB, At(0));
  outlook.Update(At(10), kMiB, 0, {});
  EXPECT_NEAR(*outlook.seconds_left(), 30, 0.01);
  outlook.Update(At(15), kMiB, 0, {});
  EXPECT_NEAR(*outlook.seconds_left(), 25, 0.01);
  outlook.Update(At(25), kMiB, 0, {});
  EXPECT_NEAR(*outlook.seconds_left(), 20, 0.01) << "the step was not as long before";
}

/// The percentage never falls, whatever happens. It is below 100 until the end, and then 100. No time is negative.
RC_GTEST_PROP(JobOutlook, NeverGoesBack, ()) {
  JobOutlook outlook;
  const auto steps = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
      rc::gen::tuple(rc::gen::inRange(0, 8), rc::gen::inRange(0, 5000), rc::gen::inRange(0, 1000)));
  const char* const names[] = {"form runs", "merge runs", "verify output", "publish"};
  double now = 0, begun = 0;
  std::uint64_t done = 0;
  int last = 0;
  for (const auto& [step, milliseconds, amount] : steps) {
    now += milliseconds / 1000.0;
    const auto bytes = static_cast<std::uint64_t>(amount);
    if (step == 0) {
      std::vector<JobPart> parts;
      for (const char* const name : names)
        parts.push_back({name, bytes, amount * 1.0, amount / 2.0, amount * 3.0, step % 2 == 0});
      outlook.Expect(parts);
    } else if (step == 1) {
      outlook.Begin(names[amount % 4], bytes, At(now));
      begun = now;
      done = 0;
    } else {
      done += bytes;
      outlook.Update(At(now), done, std::min<std::uint64_t>(done, bytes / 3), Seen(now - begun, amount));
    }
    if (outlook.percent()) {
      RC_ASSERT(*outlook.percent() >= last);
      RC_ASSERT(*outlook.percent() < 100);
      last = *outlook.percent();
    }
    RC_ASSERT(!outlook.seconds_left() || (*outlook.seconds_left() >= 0 && std::isfinite(*outlook.seconds_left())));
  }
  outlook.Finish();
  RC_ASSERT(outlook.percent() == 100);
  RC_ASSERT(outlook.seconds_left() == 0.0);
  outlook.Update(At(now + 1), done, 0, {});
  RC_ASSERT(outlook.percent() == 100);
}

}  // namespace
}  // namespace gpusort

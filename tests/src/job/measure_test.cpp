// Tests the expected time of a job, which follows from the bytes that the job moves and from the rates.
#include "job/measure.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "io/system_calls.hpp"
#include "records.hpp"

namespace gpusort {
namespace {

/// Returns the facts of a job on 1000 bytes. Its one disk reads 100 bytes a second and writes 50. Its cores sort 200
/// and merge 400.
ExpectFacts OneDisk() {
  ExpectFacts facts;
  facts.input = facts.output = 1000;
  facts.input_folder = facts.temp_folder = facts.output_folder = {100, 50, 1, false};
  facts.form = 200;
  facts.merge = 400;
  return facts;
}

double Seconds(const std::vector<ExpectedPhase>& phases) {
  double all = 0;
  for (const ExpectedPhase& phase : phases) all += phase.seconds;
  return all;
}

TEST(Expect, TakesTheSlowestOfWhatAPhaseUses) {
  ExpectFacts facts = OneDisk();
  EXPECT_EQ(Describe(Expect(facts)),
            "expected            30.0 s: form runs 10.0 s (disk read), merge runs 20.0 s (disk write)\n");
  facts.spilled = 1000;
  EXPECT_EQ(Describe(Expect(facts)),
            "expected            1 min 00 s: form runs 30.0 s (disk write), merge runs 30.0 s (disk write)\n");
  facts.temp_folder.device = 2;
  EXPECT_DOUBLE_EQ(Seconds(Expect(facts)), 20 + 20);
  facts.input_folder.memory = facts.temp_folder.memory = facts.output_folder.memory = true;
  EXPECT_EQ(Describe(Expect(facts)),
            "expected            7.50 s: form runs 5.00 s (cores), merge runs 2.50 s (cores)\n");
  facts.gpu = true;
  facts.open = 0.5;
  facts.between = 2000;
  EXPECT_EQ(Describe(Expect(facts)),
            "expected            13.0 s: start 0.50 s (GPU), form runs 5.00 s (GPU), merge runs 7.50 s (GPU)\n");
}

TEST(Expect, ConcludesWithTheLimitOfTheLongestPhase) {
  ExpectFacts facts = OneDisk();
  EXPECT_EQ(Conclude(Expect(facts)), "about 30.0 s, limited by writing to disk");
  facts.input_folder.memory = facts.temp_folder.memory = facts.output_folder.memory = true;
  EXPECT_EQ(Conclude(Expect(facts)), "about 7.50 s, limited by the cores");
  facts.gpu = true;
  EXPECT_EQ(Conclude(Expect(facts)), "about 7.50 s, limited by the GPU");
}

TEST(Expect, CountsWhatIsReadBack) {
  ExpectFacts facts = OneDisk();
  facts.verifies = true;
  EXPECT_EQ(Describe(Expect(facts)),
            "expected            40.0 s: form runs 10.0 s (disk read), merge runs 20.0 s (disk write), "
            "verify output 10.0 s (disk read)\n");
  facts.form = 0;  // as with -m
  EXPECT_EQ(Expect(facts).front().name, "merge runs");
}

RC_GTEST_PROP(Expect, TakesNoLessForMore, (unsigned bytes, unsigned more, bool apart)) {
  ExpectFacts facts = OneDisk();
  if (apart) facts.temp_folder.device = 2;
  facts.input = bytes;
  facts.spilled = bytes / 2;
  facts.between = bytes / 3;
  const double before = Seconds(Expect(facts));
  facts.spilled += more;
  facts.between += more;
  RC_ASSERT(Seconds(Expect(facts)) >= before);
  facts.temp_folder.write *= 2;
  facts.merge *= 2;
  const double faster = Seconds(Expect(facts));
  facts.temp_folder.write /= 4;
  RC_ASSERT(Seconds(Expect(facts)) >= faster);
}

TEST(Sample, IsAsLargeAsCanBeSortedInTime) {
  EXPECT_EQ(SampleBytes(100, 0.1, 1000), 300u);
  EXPECT_EQ(SampleBytes(100, 0.1, 200), 200u);
  EXPECT_EQ(SampleBytes(100, 10, 1000), 100u);
  EXPECT_EQ(SampleBytes(100, 10, 50), 50u);
  EXPECT_EQ(SampleBytes(100, 0, 1000), 1000u);
}

/// A disk that takes 20 ms for each MiB when files are synced or written without the page cache.
class SlowDisk : public SystemCalls {
 public:
  ssize_t Write(int fd, const std::byte* data, std::size_t bytes, std::uint64_t offset) override {
    written += bytes;
    return SystemCalls::Write(fd, data, bytes, offset);
  }
  int Sync(int fd) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * ((written - synced) >> 20)));
    synced = written;
    return SystemCalls::Sync(fd);
  }
  std::uint64_t written = 0, synced = 0;
};

// The page cache takes many blocks in the time of the measurement, and the disk would take seconds to write them.
TEST(ProbeFolder, WritesLittleToASlowDisk) {
  const auto calls = std::make_shared<SlowDisk>();
  FileSystem files(calls);
  const testing::TempFolder folder;
  const FolderSpeed speed = ProbeFolder(files, folder.path(), false);
  if (speed.memory) GTEST_SKIP() << "the temp folder is in memory";
  EXPECT_LE(calls->written, std::uint64_t{4} << 20);
  EXPECT_GT(speed.write, 0);
  EXPECT_LT(speed.write, 60 << 20);
}

TEST(ProbeFolder, LeavesNothingAndTakesWhatItFinds) {
  FileSystem files;
  EXPECT_EQ(ProbeFolder(files, "/no such folder", false).write, 0);
  if (files.IsTmpfs("/dev/shm")) {
    EXPECT_TRUE(ProbeFolder(files, "/dev/shm", true).memory);
  }
}

}  // namespace
}  // namespace gpusort

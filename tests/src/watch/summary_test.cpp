#include "watch/summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace gpusort {
namespace {

PhaseTimes Phase(const std::string& name, int seconds, Resource busy, int busy_seconds) {
  PhaseTimes phase;
  phase.name = name;
  phase.wall = std::chrono::seconds(seconds);
  phase.busy[static_cast<std::size_t>(busy)] = std::chrono::seconds(busy_seconds);
  return phase;
}

class Summary : public ::testing::Test {
 protected:
  Summary() {
    stats.records_in = stats.records_out = 1000;
    stats.bytes = stats.stored_bytes = 100 << 20;
    stats.host_limit = 64 << 20;
    stats.host_peak = 60 << 20;
    stats.phases = {Phase("start", 0, Resource::kDiskRead, 0), Phase("form runs", 4, Resource::kCompute, 3),
                    Phase("merge runs", 6, Resource::kDiskWrite, 5)};
    spec.target.output = "-";
  }
  std::vector<std::string> Lines() const {
    const std::string text = SummaryText(spec, seconds, threads, stats);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << text;
    std::vector<std::string> lines;
    for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      lines.push_back(text.substr(at, end - at));
    }
    lines.resize(5);
    return lines;
  }

  JobSpec spec;
  double seconds = 10;
  unsigned threads = 2;
  SortStats stats;
};

TEST_F(Summary, HasBytesTimeMemoryLimitAndWhatToTry) {
  stats.temp_peak = stats.temp_written = 100 << 20;
  spec.target.output = "out.bin";
  spec.reports.stats = "stats.json";
  spec.reports.page = "page.html";
  EXPECT_EQ(Lines(), (std::vector<std::string>{
                         "sorted      100.0 MiB, 1000 records, to out.bin",
                         "time        10.0 s, 10.0 MiB/s: form runs 4.00 s, merge runs 6.00 s",
                         "memory      60.0 MiB of the 64.0 MiB allowed; temp files took 100.0 MiB of disk",
                         "limited by  writing to disk (merge runs), the cores (form runs)",
                         "more        stats.json has all figures, page.html has a page of them; faster with: more "
                         "--memory writes fewer temp files; --temp-dir may name a faster disk"}));
}

TEST_F(Summary, NamesTheOptionsThatSayMore) {
  EXPECT_TRUE(
      Lines()[4].starts_with("more        --stats FILE writes all figures, --report FILE writes a page of them; "))
      << Lines()[4];
  EXPECT_EQ(Lines()[2], "memory      60.0 MiB of the 64.0 MiB allowed; no temp files");
}

TEST_F(Summary, NamesOneLimitOnce) {
  stats.phases[2] = Phase("merge runs", 6, Resource::kCodec, 4);
  EXPECT_EQ(Lines()[3], "limited by  the cores");
  EXPECT_TRUE(Lines()[4].ends_with("faster with: more cores (now 2), or a GPU")) << Lines()[4];
}

TEST_F(Summary, SaysSoIfNothingWasBusy) {
  for (PhaseTimes& phase : stats.phases) phase.busy.fill(Nanoseconds{0});
  EXPECT_EQ(Lines()[3], "limited by  nothing that was busy for half of the time");
  EXPECT_TRUE(Lines()[4].ends_with("--trace FILE shows what waited for what")) << Lines()[4];
}

TEST_F(Summary, TellsTheGpuFromItsBus) {
  stats.plan.gpus = 1;
  stats.gpu = true;
  stats.device_peak = 1 << 30;
  stats.phases = {Phase("form runs", 10, Resource::kCompute, 9)};
  stats.phases[0].device.kernels = 6;
  EXPECT_EQ(Lines()[2], "memory      60.0 MiB of the 64.0 MiB allowed, 1.0 GiB of the GPU's; no temp files");
  EXPECT_EQ(Lines()[3], "limited by  the GPU");
  stats.phases[0].device.upload = 7;
  EXPECT_EQ(Lines()[3], "limited by  the bus between GPU and memory");
}

TEST_F(Summary, SaysWhatTheOutputLeftOutAndHowItIsStored) {
  spec.order.merge = true;
  stats.records_out = 1;
  stats.stored_bytes = 10 << 20;
  EXPECT_EQ(Lines()[0], "merged      100.0 MiB, 1 record of 1000, stored as 10.0 MiB");
}

// An empty input takes no time.
TEST_F(Summary, HasNoRateWithoutTime) {
  seconds = 0;
  stats = SortStats{};
  EXPECT_EQ(Lines()[0], "sorted      0 B, 0 records");
  EXPECT_EQ(Lines()[1], "time        0.00 s");
}

}  // namespace
}  // namespace gpusort

#include "watch/summary.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

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
    stats.base_runs = 5;
    stats.host_limit = 64 << 20;
    stats.host_peak = 60 << 20;
    stats.phases = {Phase("start", 0, Resource::kDiskRead, 0), Phase("form runs", 4, Resource::kCompute, 3),
                    Phase("merge runs", 6, Resource::kDiskWrite, 5)};
    spec.target.output = "-";
  }
  std::string Text() const { return SummaryText(spec, seconds, threads, stats); }

  JobSpec spec;
  double seconds = 10;
  unsigned threads = 2;
  SortStats stats;
};

TEST_F(Summary, HasBytesTimeMemoryLimitAndWhatToTry) {
  stats.temp_peak = stats.temp_written = 100 << 20;
  EXPECT_EQ(
      Text(),
      "sorted 100.0 MiB (1000 records) in 10.0 s, 10.0 MiB/s; 5 runs, memory 60.0 MiB, temp files 100.0 MiB; limited "
      "by "
      "writing to disk (merge runs), the cores (form runs)\n"
      "faster with: more --memory writes fewer temp files; --temp-dir may name a faster disk; --report FILE shows "
      "where the time went\n");
  spec.reports.page = "page.html";
  EXPECT_TRUE(Text().ends_with("a faster disk\n")) << Text();
}

TEST_F(Summary, HasNoAdviceForAShortJob) {
  seconds = 2;
  EXPECT_EQ(
      Text(),
      "sorted 100.0 MiB (1000 records) in 2.00 s, 50.0 MiB/s; 5 runs, memory 60.0 MiB; limited by writing to disk "
      "(merge runs), the cores (form runs)\n");
}

TEST_F(Summary, CountsLinesOrRecordsInFewDigits) {
  spec.source.format = Format::kLines;
  const std::pair<std::uint64_t, const char*> cases[] = {{0, "(0 lines)"},
                                                         {1, "(1 line)"},
                                                         {9999, "(9999 lines)"},
                                                         {10000, "(10.0 k lines)"},
                                                         {999949, "(999.9 k lines)"},
                                                         {999950, "(1.0 M lines)"},
                                                         {35512345, "(35.5 M lines)"},
                                                         {std::uint64_t(-1), "(18.4 E lines)"}};
  for (const auto& [count, text] : cases) {
    stats.records_in = stats.records_out = count;
    EXPECT_NE(Text().find(text), std::string::npos) << Text();
  }
}

TEST_F(Summary, NamesOneLimitOnce) {
  stats.phases[2] = Phase("merge runs", 6, Resource::kCodec, 4);
  EXPECT_NE(Text().find("; limited by the cores\nfaster with: more cores (now 2), or a GPU; "), std::string::npos)
      << Text();
}

TEST_F(Summary, TellsAPipeFromADisk) {
  stats.phases = {Phase("form runs", 10, Resource::kPipeRead, 9)};
  stats.temp_written = 1;
  EXPECT_NE(Text().find("; limited by the program that writes the input\n"
                        "faster with: a faster program before gpusort in the pipe; "),
            std::string::npos)
      << Text();
  stats.phases = {Phase("merge runs", 10, Resource::kPipeWrite, 9)};
  EXPECT_NE(Text().find("; limited by the program that reads the output\n"
                        "faster with: a faster program after gpusort in the pipe; "),
            std::string::npos)
      << Text();
}

TEST_F(Summary, SaysSoIfNothingWasBusy) {
  for (PhaseTimes& phase : stats.phases) phase.busy.fill(Nanoseconds{0});
  EXPECT_NE(Text().find("limited by nothing that was busy for half of the time\nfaster with: --trace FILE shows what "
                        "waited for what; "),
            std::string::npos)
      << Text();
}

TEST_F(Summary, TellsTheGpuFromItsBus) {
  stats.plan.gpus = 1;
  stats.gpu = true;
  stats.device_peak = 1 << 30;
  stats.phases = {Phase("form runs", 10, Resource::kCompute, 9)};
  stats.phases[0].device.kernels = 6;
  EXPECT_NE(Text().find("; 5 runs, memory 60.0 MiB, GPU memory 1.0 GiB; limited by the GPU\n"), std::string::npos)
      << Text();
  stats.phases[0].device.upload = 7;
  EXPECT_NE(Text().find("limited by the bus between GPU and memory\n"), std::string::npos) << Text();
}

TEST_F(Summary, SaysWhatTheOutputLeftOutAndHowItIsStored) {
  spec.order.merge = true;
  stats.records_out = 1;
  stats.stored_bytes = 10 << 20;
  EXPECT_TRUE(
      Text().starts_with("merged 100.0 MiB (1 record of 1000 records) in 10.0 s, 10.0 MiB/s, compressed to 10.0 "
                         "MiB; "))
      << Text();
}

// An empty input takes no time.
TEST_F(Summary, HasNoRateWithoutTime) {
  seconds = 0;
  stats = SortStats{};
  EXPECT_TRUE(Text().starts_with("sorted 0 B (0 records) in 0.00 s; ")) << Text();
}

}  // namespace
}  // namespace gpusort

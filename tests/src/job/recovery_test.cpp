#include "job/recovery.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "data/inputs.hpp"
#include "kernels/records/record.hpp"
#include "spec/job_spec.hpp"

namespace gpusort::testing {
namespace {

using Way = Recovery::Way;

enum class Where { kCpu, kGpu };
enum class What { kRecords, kLines, kLinesOfAnyLength };
enum class How { kSort, kMerge };

/// Returns the facts of a machine with 1 GiB of device memory.
PlanFacts Facts(Where where, What what, How how) {
  static const LineOrdered order{LineOrder{}};
  PlanFacts facts;
  facts.input.plain = what == What::kRecords ? MakeFixedLayout(8, {}) : MakeLineLayout('\n', order.view);
  facts.asked.grows = what == What::kLinesOfAnyLength;
  facts.machine.gpu = where == Where::kGpu;
  facts.machine.device_memory = facts.machine.gpu ? std::uint64_t{1} << 30 : 0;
  if (how == How::kMerge) facts.input.sorted = {1000, 1000};
  facts.earlier.temp_workspaces = 3;
  return facts;
}

TEST(Recover, MakesThePlanSmallerGoesOnWithTheCpuSortsOrGivesUp) {
  const Error refused(ErrorCode::kOutOfMemory, "refused"), lost(ErrorCode::kGpuLost, "lost"), io(ErrorCode::kIo, "io"),
      bad(ErrorCode::kBadInput, "bad"), integrity(ErrorCode::kIntegrity, "damaged");
  const Error mistake(ErrorCode::kInternal, "impossible");
  const WrongResult wrong("changed");
  const LineTooLong too_long("in", 5, 100);
  const TooLittleGpuMemory no_plan("too small");
  struct Case {
    const Error& error;
    Where where;
    What what;
    How how;
    unsigned smaller;
    bool only_gpu;
    std::optional<Way> way;
    const char* suspect = "fake GPU";
    const char* only_once = "";
  };
  const Case cases[] = {
      // Refused GPU memory: two smaller plans, then the CPU if it may be used.
      {refused, Where::kGpu, What::kRecords, How::kSort, 0, false, Way::kSmaller},
      {refused, Where::kGpu, What::kLines, How::kMerge, 1, false, Way::kSmaller},
      {refused, Where::kGpu, What::kRecords, How::kSort, 1, true, Way::kSmaller},
      {refused, Where::kGpu, What::kRecords, How::kSort, 2, false, Way::kCpu},
      {refused, Where::kGpu, What::kRecords, How::kSort, 2, true, std::nullopt},
      // With less memory no plan is possible.
      {no_plan, Where::kGpu, What::kLines, How::kSort, 0, false, Way::kCpu},
      {no_plan, Where::kGpu, What::kLines, How::kSort, 0, true, std::nullopt},
      // A lost GPU.
      {lost, Where::kGpu, What::kRecords, How::kSort, 0, false, Way::kCpu},
      {lost, Where::kGpu, What::kLines, How::kMerge, 1, false, Way::kCpu},
      {lost, Where::kGpu, What::kRecords, How::kSort, 0, true, std::nullopt},
      {lost, Where::kCpu, What::kRecords, How::kSort, 0, false, std::nullopt},
      // Lines too long for slots that do not grow.
      {too_long, Where::kGpu, What::kLinesOfAnyLength, How::kSort, 0, false, Way::kCpu},
      {too_long, Where::kGpu, What::kLinesOfAnyLength, How::kSort, 0, true, std::nullopt},
      {too_long, Where::kGpu, What::kLines, How::kSort, 0, false, std::nullopt},
      {too_long, Where::kCpu, What::kLinesOfAnyLength, How::kSort, 0, false, std::nullopt},
      // Refused host memory: only a merge of lines has another way.
      {refused, Where::kCpu, What::kLines, How::kMerge, 0, false, Way::kSort},
      {refused, Where::kCpu, What::kLines, How::kMerge, 2, false, Way::kSort},
      {refused, Where::kCpu, What::kRecords, How::kMerge, 0, false, std::nullopt},
      {refused, Where::kCpu, What::kLines, How::kSort, 0, false, std::nullopt},
      // Errors that a new attempt would meet again.
      {io, Where::kGpu, What::kRecords, How::kSort, 0, false, std::nullopt},
      {bad, Where::kGpu, What::kLinesOfAnyLength, How::kSort, 0, false, std::nullopt},
      {integrity, Where::kGpu, What::kRecords, How::kMerge, 0, false, std::nullopt},
      {io, Where::kCpu, What::kLines, How::kMerge, 0, false, std::nullopt},
      // Wrong results, also in runs that a GPU left: everything is done again once, if possible.
      {wrong, Where::kGpu, What::kRecords, How::kSort, 0, false, Way::kAnew},
      {wrong, Where::kGpu, What::kLines, How::kMerge, 2, false, Way::kAnew},
      {wrong, Where::kCpu, What::kRecords, How::kSort, 0, false, Way::kAnew},
      {wrong, Where::kCpu, What::kRecords, How::kSort, 0, false, std::nullopt, ""},
      {wrong, Where::kGpu, What::kRecords, How::kSort, 0, true, std::nullopt},
      {wrong, Where::kGpu, What::kRecords, How::kSort, 0, false, std::nullopt, "fake GPU", "a stream"},
      // An internal error after a GPU's results may be the GPU's fault.
      {mistake, Where::kGpu, What::kLines, How::kSort, 0, false, Way::kAnew},
      {mistake, Where::kCpu, What::kLines, How::kSort, 0, false, std::nullopt},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(static_cast<int>(&c - cases));
    const PlanFacts facts = Facts(c.where, c.what, c.how);
    const std::optional<Recovery> recovery =
        Recover(c.error, facts, {c.smaller, c.only_gpu, c.suspect, c.where == Where::kGpu, c.only_once});
    ASSERT_EQ(recovery.has_value(), c.way.has_value());
    if (!recovery) continue;
    EXPECT_EQ(recovery->way, *c.way);
    EXPECT_NE(recovery->note.find(c.error.what()), std::string::npos);
    const bool sorts = c.way == Way::kSort;
    EXPECT_EQ(recovery->facts.machine.gpu, c.way == Way::kSmaller);
    EXPECT_EQ(recovery->facts.earlier.spilled, !sorts);
    EXPECT_EQ(recovery->facts.input.sorted, sorts ? std::vector<std::uint64_t>{} : facts.input.sorted);
    EXPECT_EQ(recovery->facts.earlier.temp_workspaces, sorts ? 0u : 3u);
    EXPECT_EQ(recovery->facts.machine.device_memory,
              c.way == Way::kSmaller ? facts.machine.device_memory / 2 : facts.machine.device_memory);
  }
}

TEST(Blame, NamesTheSuspectAndWhatToDo) {
  const WrongResult wrong("changed");
  const auto has = [&](const Past& past, const char* text) {
    return Blame(wrong, past).find(text) != std::string::npos;
  };
  EXPECT_TRUE(has({}, "changed"));
  EXPECT_TRUE(has({}, "a core"));
  EXPECT_FALSE(has({}, "--device cpu"));
  const Past gpu{0, true, "GPU 3", true, ""}, stream{0, false, "GPU 3", true, "it is a stream"};
  for (const Past& past : {gpu, stream}) {
    EXPECT_TRUE(has(past, "GPU 3 is suspect"));
    EXPECT_TRUE(has(past, "nvidia-smi"));
    EXPECT_TRUE(has(past, "--device cpu"));
  }
  EXPECT_TRUE(has(stream, "it is a stream"));
}

}  // namespace
}  // namespace gpusort::testing

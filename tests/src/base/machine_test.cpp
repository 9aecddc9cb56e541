// labels: no_tsan
#include "base/machine.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace gpusort::testing {
namespace {

using Files = std::map<std::string, std::string>;

ReadText From(const Files& files) {
  return [=](const std::string& path) -> std::optional<std::string> {
    const auto file = files.find(path);
    if (file == files.end()) return std::nullopt;
    return file->second;
  };
}

/// Environment variables by name.
using Variables = std::map<std::string, std::string>;

MemoryFacts Find(const Files& files, std::uint64_t rlimit_as = 0, const Variables& variables = {},
                 std::uint64_t rlimit_rss = 0) {
  return FindMemory(From(files), From(variables), {rlimit_as, rlimit_rss});
}

constexpr std::uint64_t kKiB = 1024;
const std::string kMeminfo = "MemTotal:       1000 kB\nMemFree:  10 kB\nMemAvailable:    800 kB\n";

TEST(FindMemory, TakesTheMachinesOwnNumbers) {
  const MemoryFacts facts = Find({{"/proc/meminfo", kMeminfo}});
  EXPECT_EQ(facts.limit, 1000 * kKiB);
  EXPECT_EQ(facts.available, 800 * kKiB);
  EXPECT_EQ(facts.limited_by, "");
}

TEST(FindMemory, TakesTheLeastOfAVersion2GroupAndItsParents) {
  const Files files = {{"/proc/meminfo", kMeminfo},
                       {"/proc/self/cgroup", "0::/a/b\n"},
                       {"/sys/fs/cgroup/a/b/memory.max", "max\n"},
                       {"/sys/fs/cgroup/a/memory.max", "204800\n"},
                       {"/sys/fs/cgroup/a/memory.current", "102400\n"}};
  EXPECT_EQ(Find(files).limited_by, "the control group /a");
  EXPECT_EQ(Find(files).limit, 200 * kKiB);
  EXPECT_EQ(Find(files).available, 100 * kKiB);
}

TEST(FindMemory, DoesNotCountThePageCacheAsTaken) {
  const Files files = {{"/proc/meminfo", kMeminfo},
                       {"/proc/self/cgroup", "0::/a\n"},
                       {"/sys/fs/cgroup/a/memory.max", "204800\n"},
                       {"/sys/fs/cgroup/a/memory.current", "204800\n"},
                       {"/sys/fs/cgroup/a/memory.stat", "anon 1024\ninactive_file 102400\nactive_file 51200\n"}};
  EXPECT_EQ(Find(files).available, 150 * kKiB);
}

TEST(FindMemory, ReadsVersion1Groups) {
  const Files files = {{"/proc/meminfo", kMeminfo},
                       {"/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/job\n"},
                       {"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "409600\n"},
                       {"/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "0\n"},
                       {"/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1\n"}};
  EXPECT_EQ(Find(files).limit, 400 * kKiB);
}

TEST(FindMemory, DoesNotCountThePageCacheOfChildrenAsTakenFromAVersion1Parent) {
  const std::string root = "/sys/fs/cgroup/memory/job";
  const Files files = {{"/proc/meminfo", kMeminfo},
                       {"/proc/self/cgroup", "4:memory:/job/step\n"},
                       {root + "/memory.limit_in_bytes", "409600\n"},
                       {root + "/memory.usage_in_bytes", "409600\n"},
                       {root + "/memory.stat",
                        "cache 0\ninactive_file 0\nactive_file 0\ntotal_cache 307200\ntotal_inactive_file 204800\n"
                        "total_active_file 102400\n"}};
  EXPECT_EQ(Find(files).available, 300 * kKiB);
}

TEST(FindMemory, HeedsWhatOthersHaveTakenFromAParentThatMayHaveMore) {
  const std::string root = "/sys/fs/cgroup/memory/job";
  const Files files = {{"/proc/meminfo", kMeminfo},
                       {"/proc/self/cgroup", "4:memory:/job/step\n"},
                       {root + "/step/memory.limit_in_bytes", "204800\n"},
                       {root + "/memory.limit_in_bytes", "409600\n"},
                       {root + "/memory.usage_in_bytes", "307200\n"}};
  EXPECT_EQ(Find(files).limit, 200 * kKiB);
  EXPECT_EQ(Find(files).available, 100 * kKiB);
}

TEST(FindMemory, KeepsBelowWhatAVersion2GroupIsThrottledAt) {
  const Files files = {{"/proc/meminfo", kMeminfo},
                       {"/proc/self/cgroup", "0::/a\n"},
                       {"/sys/fs/cgroup/a/memory.max", "409600\n"},
                       {"/sys/fs/cgroup/a/memory.high", "204800\n"}};
  EXPECT_EQ(Find(files).limit, 200 * kKiB);
}

TEST(FindMemory, HeedsTheAddressSpaceLimit) {
  EXPECT_EQ(Find({{"/proc/meminfo", kMeminfo}}, 300 * kKiB).limit, 300 * kKiB);
}

TEST(FindMemory, StaysModestWithoutProc) { EXPECT_EQ(Find({}).limit, std::uint64_t{1} << 30); }

const std::string kLargeMeminfo = "MemTotal: 25165824 kB\nMemAvailable: 20971520 kB\n";
constexpr std::uint64_t kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

TEST(FindMemory, TakesWhatABatchSystemGrantedTheJob) {
  struct Case {
    Variables variables;
    std::uint64_t granted;
    std::string by;
  };
  const std::uint64_t none = UINT64_MAX;
  const std::string huge = "18446744073709551615";
  for (const Case& c :
       std::vector<Case>{{{{"SLURM_MEM_PER_NODE", "500"}}, 500 * kMiB, "SLURM_MEM_PER_NODE"},
                         {{{"SLURM_MEM_PER_NODE", "0"}}, none, ""},
                         {{{"SLURM_MEM_PER_NODE", "9" + huge}}, none, ""},
                         {{{"SLURM_MEM_PER_NODE", huge}}, none, ""},
                         {{{"SLURM_MEM_PER_NODE", "x"}}, none, ""},
                         {{{"SLURM_MEM_PER_NODE", "30000"}}, none, ""},
                         {{{"SLURM_MEM_PER_CPU", "100"}}, 100 * kMiB, "SLURM_MEM_PER_CPU"},
                         {{{"SLURM_MEM_PER_CPU", "100"}, {"SLURM_CPUS_PER_TASK", "3"}},
                          300 * kMiB,
                          "SLURM_MEM_PER_CPU times SLURM_CPUS_PER_TASK"},
                         {{{"SLURM_MEM_PER_CPU", "100"}, {"SLURM_CPUS_PER_TASK", "3"}, {"SLURM_CPUS_ON_NODE", "6"}},
                          600 * kMiB,
                          "SLURM_MEM_PER_CPU times SLURM_CPUS_ON_NODE"},
                         {{{"SLURM_MEM_PER_GPU", "1000"}, {"SLURM_GPUS_ON_NODE", "2"}},
                          2000 * kMiB,
                          "SLURM_MEM_PER_GPU times SLURM_GPUS_ON_NODE"},
                         {{{"SLURM_MEM_PER_NODE", "800"}, {"SLURM_STEP_TASKS_PER_NODE", "2,4(x3)"}},
                          200 * kMiB,
                          "SLURM_MEM_PER_NODE among 4 tasks"},
                         {{{"SLURM_MEM_PER_CPU", huge}, {"SLURM_CPUS_ON_NODE", huge}}, none, ""}}) {
    const MemoryFacts facts = Find({{"/proc/meminfo", kLargeMeminfo}}, 0, c.variables);
    EXPECT_EQ(facts.granted, c.granted) << c.variables.begin()->second;
    EXPECT_EQ(facts.granted_by, c.by);
    EXPECT_EQ(facts.limit, 24 * kGiB);
  }
  EXPECT_EQ(Find({{"/proc/meminfo", kLargeMeminfo}}, 0, {}, 7 * kMiB).granted_by, "ulimit -m");
  EXPECT_EQ(Find({{"/proc/meminfo", kLargeMeminfo}}, 0, {{"SLURM_MEM_PER_NODE", "6"}}, 7 * kMiB).granted, 6 * kMiB);
}

const MemoryFacts kGrantedJob{
    .limit = 24 * kGiB, .available = 20 * kGiB, .granted = 500 * kMiB, .granted_by = "SLURM_MEM_PER_NODE"};

TEST(ChooseMemory, TakesHalfOfTheLeastWhereNothingIsAsked) {
  const MemoryFacts machine{.limit = 24 * kGiB, .available = 20 * kGiB};
  EXPECT_EQ(ChooseMemory({}, machine).bytes, 10 * kGiB);
  EXPECT_EQ(ChooseMemory({}, machine).bound, "");
  EXPECT_EQ(ChooseMemory({}, kGrantedJob).bytes, 250 * kMiB);
  EXPECT_EQ(ChooseMemory({}, kGrantedJob).bound, "500.0 MiB by SLURM_MEM_PER_NODE");
  EXPECT_EQ(ChooseMemory({}, kGrantedJob).warning, "");
  EXPECT_EQ(ChooseMemory(Size{40, true}, kGrantedJob).bytes, 200 * kMiB);
  const MemoryFacts group{.limit = 300 * kMiB, .available = 100 * kMiB, .limited_by = "the control group /a"};
  EXPECT_EQ(ChooseMemory({}, group).bytes, 50 * kMiB);
  EXPECT_EQ(ChooseMemory({}, group).bound, "300.0 MiB by the control group /a");
}

TEST(ChooseMemory, LowersWhatTheProcessCannotHave) {
  const MemoryFacts group{.limit = 300 * kMiB, .available = 290 * kMiB, .limited_by = "the control group /a"};
  const MemoryChoice choice = ChooseMemory(Size{2 * kGiB, false}, group);
  EXPECT_GE(choice.bytes, 200 * kMiB);
  EXPECT_LE(choice.bytes, 270 * kMiB);
  for (const char* part : {"--memory 2.0 GiB", "300.0 MiB", "the control group /a"}) {
    EXPECT_NE(choice.warning.find(part), std::string::npos) << choice.warning;
  }
  EXPECT_LT(ChooseMemory(Size{300 * kMiB, false}, group).bytes, 270 * kMiB);
  EXPECT_EQ(ChooseMemory(Size{250 * kMiB, false}, group).bytes, 250 * kMiB);
  EXPECT_EQ(ChooseMemory(Size{250 * kMiB, false}, group).warning, "");
  // If memory is small, the program and the plan get half of it each.
  EXPECT_EQ(ChooseMemory(Size{kGiB, false}, {.limit = 8 * kMiB, .available = 8 * kMiB}).bytes, 4 * kMiB);
  // A grant is not a limit: a job that asks for more gets more.
  const MemoryChoice more = ChooseMemory(Size{2 * kGiB, false}, kGrantedJob);
  EXPECT_EQ(more.bytes, 2 * kGiB);
  EXPECT_NE(more.warning.find("500.0 MiB by SLURM_MEM_PER_NODE"), std::string::npos) << more.warning;
}

unsigned CoresOf(const Files& files) { return FindCores(From(files), From({}), 8).cores; }

TEST(FindCores, TakesAsManyAsABatchSystemGranted) {
  const auto find = [](const Variables& variables) {
    const CoreFacts facts = FindCores(From({}), From(variables), 8);
    return std::to_string(facts.cores) + " " + facts.limited_by;
  };
  EXPECT_EQ(find({}), "8 ");
  EXPECT_EQ(find({{"SLURM_CPUS_PER_TASK", "3"}, {"SLURM_CPUS_ON_NODE", "6"}}), "3 SLURM_CPUS_PER_TASK");
  EXPECT_EQ(find({{"SLURM_CPUS_ON_NODE", "6"}}), "6 SLURM_CPUS_ON_NODE");
  EXPECT_EQ(find({{"SLURM_CPUS_ON_NODE", "6"}, {"SLURM_STEP_TASKS_PER_NODE", "3"}}),
            "2 SLURM_CPUS_ON_NODE among 3 tasks");
  EXPECT_EQ(find({{"SLURM_CPUS_PER_TASK", "12"}}), "8 ");
  EXPECT_EQ(find({{"PBS_NUM_PPN", "4"}}), "4 PBS_NUM_PPN");
  EXPECT_EQ(find({{"PBS_NCPUS", "4"}}), "4 PBS_NCPUS");
  EXPECT_EQ(find({{"NCPUS", "4"}}), "8 ");
  EXPECT_EQ(find({{"NCPUS", "4"}, {"PBS_JOBID", "17.server"}}), "4 NCPUS");
  EXPECT_EQ(find({{"LSB_DJOB_NUMPROC", "2"}, {"LSB_MAX_NUM_PROCESSORS", "4"}}), "2 LSB_DJOB_NUMPROC");
  EXPECT_EQ(find({{"LSB_MAX_NUM_PROCESSORS", "4"}}), "4 LSB_MAX_NUM_PROCESSORS");
  EXPECT_EQ(find({{"NSLOTS", "5"}}), "5 NSLOTS");
  EXPECT_EQ(find({{"NSLOTS", "0"}}), "8 ");
  EXPECT_EQ(find({{"NSLOTS", "x"}}), "8 ");
}

TEST(FindCores, TakesTheLeastQuotaOfTheGroupAndItsParents) {
  EXPECT_EQ(CoresOf({}), 8u);
  const std::string group = "5:cpu,cpuacct:/x/y\n", root = "/sys/fs/cgroup/cpu/x";
  EXPECT_EQ(CoresOf({{"/proc/self/cgroup", group}, {root + "/y/cpu.cfs_quota_us", "-1\n"}}), 8u);
  EXPECT_EQ(CoresOf({{"/proc/self/cgroup", group},
                     {root + "/y/cpu.cfs_quota_us", "-1\n"},
                     {root + "/y/cpu.cfs_period_us", "100000\n"},
                     {root + "/cpu.cfs_quota_us", "250000\n"},
                     {root + "/cpu.cfs_period_us", "100000\n"}}),
            3u);
  const std::string own = "/sys/fs/cgroup/a/cpu.max", parents = "/sys/fs/cgroup/cpu.max";
  EXPECT_EQ(CoresOf({{"/proc/self/cgroup", "0::/a\n"}, {own, "max 100000\n"}, {parents, "400000 100000\n"}}), 4u);
  EXPECT_EQ(CoresOf({{"/proc/self/cgroup", "0::/a\n"}, {own, "1000 100000\n"}, {parents, "400000 100000\n"}}), 1u);
  EXPECT_EQ(CoresOf({{"/proc/self/cgroup", "0::/a\n"}, {own, "9900000 100000\n"}}), 8u);
  for (const std::string odd : {"", "1", "1 0", "x", "1 ", " "}) {
    EXPECT_EQ(CoresOf({{"/proc/self/cgroup", "0::/a\n"}, {own, odd}}), 8u) << odd;
  }
}

}  // namespace
}  // namespace gpusort::testing

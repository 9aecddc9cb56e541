#include "support/machine.hpp"

#include <gtest/gtest.h>

#include <map>

namespace gpusort::testing {
namespace {

using Files = std::map<std::string, std::string>;

ReadText From(const Files& files) {
  return [&](const std::string& path) -> std::optional<std::string> {
    const auto file = files.find(path);
    if (file == files.end()) return std::nullopt;
    return file->second;
  };
}

MemoryFacts Find(const Files& files, std::uint64_t rlimit_as = 0) { return FindMemory(From(files), rlimit_as); }

constexpr std::uint64_t kKiB = 1024;
const std::string kMeminfo = "MemTotal:       1000 kB\nMemFree:  10 kB\nMemAvailable:    800 kB\n";

TEST(FindMemory, TakesTheMachinesOwnNumbers) {
  const MemoryFacts facts = Find({{"/proc/meminfo", kMeminfo}});
  EXPECT_EQ(facts.limit, 1000 * kKiB);
  EXPECT_EQ(facts.available, 800 * kKiB);
}

TEST(FindMemory, TakesTheLeastOfAVersion2GroupAndItsParents) {
  const Files files = {{"/proc/meminfo", kMeminfo},
                       {"/proc/self/cgroup", "0::/a/b\n"},
                       {"/sys/fs/cgroup/a/b/memory.max", "max\n"},
                       {"/sys/fs/cgroup/a/memory.max", "204800\n"},
                       {"/sys/fs/cgroup/a/memory.current", "102400\n"}};
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

unsigned CoresOf(const Files& files) { return FindCores(From(files), 8); }

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

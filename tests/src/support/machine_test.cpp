#include "support/machine.hpp"

#include <gtest/gtest.h>

#include <map>

namespace gpusort::testing {
namespace {

using Files = std::map<std::string, std::string>;

MemoryFacts Find(const Files& files, std::uint64_t rlimit_as = 0) {
  return FindMemory(
      [&](const std::string& path) -> std::optional<std::string> {
        const auto file = files.find(path);
        if (file == files.end()) return std::nullopt;
        return file->second;
      },
      rlimit_as);
}

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

TEST(FindMemory, HeedsTheAddressSpaceLimit) {
  EXPECT_EQ(Find({{"/proc/meminfo", kMeminfo}}, 300 * kKiB).limit, 300 * kKiB);
}

TEST(FindMemory, StaysModestWithoutProc) { EXPECT_EQ(Find({}).limit, std::uint64_t{1} << 30); }

}  // namespace
}  // namespace gpusort::testing

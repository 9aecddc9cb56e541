#include "support/machine.hpp"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace gpusort {
namespace {

std::optional<std::uint64_t> Number(const std::optional<std::string>& text) {
  if (!text || text->empty() || (*text)[0] < '0' || (*text)[0] > '9') return std::nullopt;  // "max": no limit
  return std::strtoull(text->c_str(), nullptr, 10);
}

std::uint64_t MeminfoField(const std::string& meminfo, const std::string& name) {
  const std::size_t at = meminfo.find(name + ":");
  return at == std::string::npos ? 0 : std::strtoull(meminfo.c_str() + at + name.size() + 1, nullptr, 10) * 1024;
}

/// A line "NAME NUMBER" of memory.stat.
std::uint64_t StatField(const std::string& stat, const std::string& name) {
  const std::size_t at = ("\n" + stat).find("\n" + name + " ");
  return at == std::string::npos ? 0 : std::strtoull(stat.c_str() + at + name.size(), nullptr, 10);
}

}  // namespace

MemoryFacts FindMemory(const ReadText& read, std::uint64_t rlimit_as) {
  MemoryFacts facts;
  const std::string meminfo = read("/proc/meminfo").value_or("");
  facts.limit = MeminfoField(meminfo, "MemTotal");
  facts.available = MeminfoField(meminfo, "MemAvailable");
  if (facts.limit == 0) facts.limit = facts.available = std::uint64_t{1} << 30;  // no /proc: stay modest
  const auto restrict_to = [&](std::uint64_t limit, std::uint64_t used) {
    if (limit >= facts.limit) return;
    facts.limit = limit;
    facts.available = std::min(facts.available, limit > used ? limit - used : 0);
  };
  std::istringstream groups(read("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    const bool version2 = controllers.empty();
    if (!version2 && ("," + controllers + ",").find(",memory,") == std::string::npos) continue;
    const std::string root = version2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (;;) {
      const std::string path = root + (group == "/" ? "" : group);
      const auto limit = Number(read(path + (version2 ? "/memory.max" : "/memory.limit_in_bytes")));
      const auto used = Number(read(path + (version2 ? "/memory.current" : "/memory.usage_in_bytes")));
      // The page cache is charged to the group, and given back when something else needs the memory.
      const std::string stat = read(path + "/memory.stat").value_or("");
      const std::uint64_t cache = StatField(stat, "inactive_file") + StatField(stat, "active_file");
      const std::uint64_t taken = used.value_or(0);
      if (limit) restrict_to(*limit, taken > cache ? taken - cache : 0);
      if (group.empty() || group == "/") break;
      group.resize(group.rfind('/'));
    }
  }
  if (rlimit_as != 0) restrict_to(rlimit_as, 0);
  return facts;
}

MemoryFacts FindMemory() {
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return FindMemory(
      [](const std::string& path) -> std::optional<std::string> {
        std::ifstream file(path);
        if (!file) return std::nullopt;
        return std::string(std::istreambuf_iterator<char>(file), {});
      },
      limited ? static_cast<std::uint64_t>(limit.rlim_cur) : 0);
}

void SaveAddresses() {
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur == RLIM_INFINITY) return;
  mallopt(M_ARENA_MAX, 1);
  // The usual stacks of 8 MiB are hardly touched.
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  if (pthread_attr_setstacksize(&attributes, std::size_t{512} << 10) == 0) pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

unsigned FittingThreads(unsigned threads) {
  rlimit addresses{}, stack{};
  if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur == RLIM_INFINITY) return threads;
  constexpr rlim_t kUsualStack = rlim_t{8} << 20;
  const bool known = getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY && stack.rlim_cur > 0;
  const rlim_t most = addresses.rlim_cur / 8 / (known ? stack.rlim_cur : kUsualStack);
  return static_cast<unsigned>(std::clamp<rlim_t>(most, 1, threads));
}

}  // namespace gpusort

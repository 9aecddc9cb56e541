#include "support/machine.hpp"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "thread.hpp"

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

/// The line "total_NAME NUMBER" of memory.stat, which has a group's children too, or "NAME NUMBER", which has them in
/// version 2.
std::uint64_t StatField(const std::string& stat, const std::string& name) {
  for (const std::string& line : {"\ntotal_" + name + " ", "\n" + name + " "}) {
    const std::size_t at = ("\n" + stat).find(line);
    if (at != std::string::npos) return std::strtoull(stat.c_str() + at + line.size() - 1, nullptr, 10);
  }
  return 0;
}

/// Calls `visit` with the folder of each control group that this process is in for `controller`, its own first, then
/// its parents, and whether it is one of version 2.
void ForEachGroup(const ReadText& read, const std::string& controller,
                  const std::function<void(const std::string& path, bool version2)>& visit) {
  std::istringstream groups(read("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    const bool version2 = controllers.empty();
    if (!version2 && ("," + controllers + ",").find("," + controller + ",") == std::string::npos) continue;
    const std::string root = version2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controller;
    for (;;) {
      visit(root + (group == "/" ? "" : group), version2);
      if (group.empty() || group == "/") break;
      group.resize(group.rfind('/'));
    }
  }
}

/// The lesser of RLIMIT_AS and RLIMIT_DATA, which counts whatever is mapped to be written.
std::optional<std::uint64_t> AddressLimit() {
  std::optional<std::uint64_t> least;
  for (const auto kind : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(kind, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    least = std::min<std::uint64_t>(limit.rlim_cur, least.value_or(UINT64_MAX));
  }
  return least;
}

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  try {
    return std::string(std::istreambuf_iterator<char>(file), {});
  } catch (const std::ios_base::failure&) {
    return std::nullopt;
  }
}

}  // namespace

MemoryFacts FindMemory(const ReadText& read, std::uint64_t addresses) {
  MemoryFacts facts;
  const std::string meminfo = read("/proc/meminfo").value_or("");
  facts.limit = MeminfoField(meminfo, "MemTotal");
  facts.available = MeminfoField(meminfo, "MemAvailable");
  if (facts.limit == 0) facts.limit = facts.available = std::uint64_t{1} << 30;  // no /proc: stay modest
  const auto restrict_to = [&](std::uint64_t limit, std::uint64_t used) {
    facts.limit = std::min(facts.limit, limit);
    facts.available = std::min(facts.available, limit > used ? limit - used : 0);
  };
  ForEachGroup(read, "memory", [&](const std::string& path, bool version2) {
    const auto limit = Number(read(path + (version2 ? "/memory.max" : "/memory.limit_in_bytes")));
    // Beyond this a group is not killed, but hardly gets on.
    const auto throttled = version2 ? Number(read(path + "/memory.high")) : std::nullopt;
    const auto used = Number(read(path + (version2 ? "/memory.current" : "/memory.usage_in_bytes")));
    // The page cache is charged to the group, and given back when something else needs the memory.
    const std::string stat = read(path + "/memory.stat").value_or("");
    const std::uint64_t cache = StatField(stat, "inactive_file") + StatField(stat, "active_file");
    const std::uint64_t taken = used.value_or(0);
    for (const auto& bound : {limit, throttled}) {
      if (bound) restrict_to(*bound, taken > cache ? taken - cache : 0);
    }
  });
  if (addresses != 0) restrict_to(addresses, 0);
  return facts;
}

MemoryFacts FindMemory() { return FindMemory(ReadFile, AddressLimit().value_or(0)); }

unsigned FindCores(const ReadText& read, unsigned cores) {
  ForEachGroup(read, "cpu", [&](const std::string& path, bool version2) {
    std::optional<std::uint64_t> quota, period;
    if (version2) {
      const std::string both = read(path + "/cpu.max").value_or("");
      const std::size_t gap = std::min(both.size(), both.find(' '));
      quota = Number(both);
      period = Number(both.substr(std::min(both.size(), gap + 1)));
    } else {
      quota = Number(read(path + "/cpu.cfs_quota_us"));
      period = Number(read(path + "/cpu.cfs_period_us"));
    }
    if (!quota || !period || *period == 0) return;
    const std::uint64_t whole = *quota / *period + (*quota % *period != 0 ? 1 : 0);
    cores = static_cast<unsigned>(std::clamp<std::uint64_t>(whole, 1, cores));
  });
  return cores;
}

unsigned FindCores() { return FindCores(ReadFile, AvailableCores()); }

void SaveAddresses() {
  if (!AddressLimit()) return;
  mallopt(M_ARENA_MAX, 1);
  // The usual stacks of 8 MiB are hardly touched.
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  if (pthread_attr_setstacksize(&attributes, std::size_t{512} << 10) == 0) pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

unsigned FittingThreads(unsigned threads) {
  const std::optional<std::uint64_t> addresses = AddressLimit();
  if (!addresses) return threads;
  rlimit stack{};
  constexpr rlim_t kUsualStack = rlim_t{8} << 20;
  const bool known = getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY && stack.rlim_cur > 0;
  const rlim_t most = *addresses / 8 / (known ? stack.rlim_cur : kUsualStack);
  return static_cast<unsigned>(std::clamp<rlim_t>(most, 1, threads));
}

}  // namespace gpusort

#include "base/machine.hpp"

#include <fmt/core.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "kernels/thread.hpp"

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

/// Returns the number in the line "total_NAME NUMBER" of memory.stat, which includes the group's children, or in the
/// line "NAME NUMBER", which includes them in version 2.
std::uint64_t StatField(const std::string& stat, const std::string& name) {
  for (const std::string& line : {fmt::format("\ntotal_{} ", name), fmt::format("\n{} ", name)}) {
    const std::size_t at = ("\n" + stat).find(line);
    if (at != std::string::npos) return std::strtoull(stat.c_str() + at + line.size() - 1, nullptr, 10);
  }
  return 0;
}

/// Calls `visit` with the folder of each control group that this process is in for `controller`, its own first, then
/// its parents. Also passes the name of the group for messages, and whether the group is one of version 2.
void ForEachGroup(const ReadText& read, const std::string& controller,
                  const std::function<void(const std::string& path, const std::string& name, bool version2)>& visit) {
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
      visit(root + (group == "/" ? "" : group), "the control group " + (group.empty() ? "/" : EscapeName(group)),
            version2);
      if (group.empty() || group == "/") break;
      group.resize(group.rfind('/'));
    }
  }
}

/// Returns the smallest of the soft limits, or 0 if there is none.
std::uint64_t LeastLimit(std::initializer_list<__rlimit_resource> kinds) {
  std::uint64_t least = 0;
  for (const auto kind : kinds) {
    rlimit limit{};
    if (getrlimit(kind, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    least = std::min<std::uint64_t>(limit.rlim_cur, least == 0 ? UINT64_MAX : least);
  }
  return least;
}

/// Returns the limit on the addresses of this process in bytes, or 0. RLIMIT_DATA counts as such a limit, because it
/// applies to all memory that is mapped writable.
std::uint64_t AddressLimit() { return LeastLimit({RLIMIT_AS, RLIMIT_DATA}); }

/// Returns the count in an environment variable, or 0 if there is none. Slurm's memory of 0 means all of the node's.
std::uint64_t Count(const ReadVariable& variable, const std::string& name) {
  const std::optional<std::string> text = variable(name);
  return (text ? ParseDigits(*text) : std::nullopt).value_or(0);
}

/// Returns how many tasks of this step of a Slurm job share a node: the maximum of a list such as "4(x2),3". Outside of
/// steps, as in the job's script, returns 1.
std::uint64_t TasksOnNode(const ReadVariable& variable) {
  std::istringstream list(variable("SLURM_STEP_TASKS_PER_NODE").value_or(""));
  std::uint64_t most = 1;
  for (std::string part; std::getline(list, part, ',');) {
    most = std::max(most, ParseDigits(part.substr(0, part.find('('))).value_or(1));
  }
  return most;
}

std::string Among(std::uint64_t tasks) { return tasks == 1 ? "" : fmt::format(" among {} tasks", tasks); }

/// Calls `grant` with the bytes of each variable that says how much memory the job has on this machine.
void ForEachMemoryGrant(const ReadVariable& variable,
                        const std::function<void(std::uint64_t bytes, const std::string& by)>& grant) {
  const std::uint64_t tasks = TasksOnNode(variable);
  // Slurm counts in MiB. Memory that is granted for each CPU or GPU is multiplied by their number on this node.
  const auto slurm = [&](const std::string& name, std::uint64_t units, const std::string& of) {
    constexpr std::uint64_t kMostMiB = kMaxSize >> 20;
    const std::uint64_t each = std::min(Count(variable, name), kMostMiB);
    if (each > 0) grant((each * std::min(units, kMostMiB / each) << 20) / tasks, name + of + Among(tasks));
  };
  slurm("SLURM_MEM_PER_NODE", 1, "");
  for (const std::string unit : {"CPU", "GPU"}) {
    const std::string on_node = "SLURM_" + unit + "S_ON_NODE", per_task = "SLURM_" + unit + "S_PER_TASK";
    if (const std::uint64_t units = Count(variable, on_node); units > 0) {
      slurm("SLURM_MEM_PER_" + unit, units, " times " + on_node);
    } else {
      const std::uint64_t of_task = std::max<std::uint64_t>(1, Count(variable, per_task));
      slurm("SLURM_MEM_PER_" + unit, of_task * tasks, of_task == 1 ? "" : " times " + per_task);
    }
  }
}

/// Calls `grant` with each variable that says how many cores the job has on this machine.
void ForEachCoreGrant(const ReadVariable& variable,
                      const std::function<void(std::uint64_t cores, const std::string& by)>& grant) {
  const auto take = [&](const std::string& name) {
    const std::uint64_t cores = Count(variable, name);
    if (cores > 0) grant(cores, name);
    return cores > 0;
  };
  const std::uint64_t tasks = TasksOnNode(variable), on_node = Count(variable, "SLURM_CPUS_ON_NODE");
  if (!take("SLURM_CPUS_PER_TASK") && on_node > 0) {
    grant(std::max<std::uint64_t>(1, on_node / tasks), "SLURM_CPUS_ON_NODE" + Among(tasks));
  }
  for (const char* name : {"PBS_NCPUS", "PBS_NUM_PPN", "LSB_DJOB_NUMPROC", "LSB_MAX_NUM_PROCESSORS", "NSLOTS"})
    take(name);
  // Other programs use this name as well.
  if (variable("PBS_JOBID")) take("NCPUS");
}

/// Returns the part of `bytes` that buffers may take. The program, stacks and the index of runs take the rest.
std::uint64_t Usable(std::uint64_t bytes) {
  const std::uint64_t rest = (std::uint64_t{16} << 20) + bytes / 16;
  return std::max(bytes / 2, bytes - std::min(bytes, rest));
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

std::optional<std::string> ReadEnvironment(const std::string& name) {
  const char* const text = std::getenv(name.c_str());
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace

MemoryFacts FindMemory(const ReadText& read, const ReadVariable& variable, const ResourceLimits& limits) {
  MemoryFacts facts;
  const std::string meminfo = read("/proc/meminfo").value_or("");
  facts.limit = MeminfoField(meminfo, "MemTotal");
  facts.available = MeminfoField(meminfo, "MemAvailable");
  if (facts.limit == 0) facts.limit = facts.available = std::uint64_t{1} << 30;  // no /proc: stay modest
  const auto restrict_to = [&](std::uint64_t limit, std::uint64_t used, const std::string& by) {
    if (limit < facts.limit) {
      facts.limit = limit;
      facts.limited_by = by;
    }
    facts.available = std::min(facts.available, limit > used ? limit - used : 0);
  };
  ForEachGroup(read, "memory", [&](const std::string& path, const std::string& name, bool version2) {
    const auto limit = Number(read(path + (version2 ? "/memory.max" : "/memory.limit_in_bytes")));
    // Above this limit the kernel does not kill a group, but slows it down.
    const auto throttled = version2 ? Number(read(path + "/memory.high")) : std::nullopt;
    const auto used = Number(read(path + (version2 ? "/memory.current" : "/memory.usage_in_bytes")));
    // The kernel charges the page cache to the group, and frees it when the group needs memory.
    const std::string stat = read(path + "/memory.stat").value_or("");
    const std::uint64_t cache = StatField(stat, "inactive_file") + StatField(stat, "active_file");
    const std::uint64_t taken = used.value_or(0);
    for (const auto& bound : {limit, throttled}) {
      if (bound) restrict_to(*bound, taken > cache ? taken - cache : 0, name);
    }
  });
  if (limits.addresses != 0) restrict_to(limits.addresses, 0, "ulimit -v or -d");
  const auto grant = [&](std::uint64_t bytes, const std::string& by) {
    if (bytes >= std::min(facts.granted, facts.limit)) return;
    facts.granted = bytes;
    facts.granted_by = by;
  };
  if (limits.resident != 0) grant(limits.resident, "ulimit -m");
  ForEachMemoryGrant(variable, grant);
  return facts;
}

MemoryFacts FindMemory() { return FindMemory(ReadFile, ReadEnvironment, {AddressLimit(), LeastLimit({RLIMIT_RSS})}); }

MemoryChoice ChooseMemory(const std::optional<Size>& asked, const MemoryFacts& facts) {
  const std::uint64_t least = std::min(facts.limit, facts.granted), free = std::min(least, facts.available);
  const std::string& by = facts.granted < facts.limit ? facts.granted_by : facts.limited_by;
  MemoryChoice choice;
  if ((!asked || asked->percent) && !by.empty()) choice.bound = fmt::format("{} by {}", FormatBytes(least), by);
  choice.bytes = asked ? std::max<std::uint64_t>(1, asked->Resolve(least)) : free / 2;
  // The kernel would kill a job that uses more than its limit.
  if (asked && choice.bytes > Usable(facts.limit)) {
    const std::uint64_t wanted = choice.bytes;
    choice.bytes = std::min(wanted, Usable(std::min(facts.limit, facts.available)));
    choice.warning = fmt::format(
        "--memory {} is more than this process can have: {} {}, also for the program itself, so the plan is for {}",
        FormatBytes(wanted), facts.limited_by.empty() ? "the machine has" : facts.limited_by + " allows",
        FormatBytes(facts.limit), FormatBytes(choice.bytes));
  } else if (asked && choice.bytes > facts.granted) {
    choice.warning = fmt::format("--memory {} is more than this job was granted: {} by {}", FormatBytes(choice.bytes),
                                 FormatBytes(facts.granted), facts.granted_by);
  }
  return choice;
}

CoreFacts FindCores(const ReadText& read, const ReadVariable& variable, unsigned cores) {
  CoreFacts facts{cores};
  const auto restrict_to = [&](std::uint64_t most, const std::string& by) {
    if (most >= facts.cores) return;
    facts.cores = static_cast<unsigned>(std::max<std::uint64_t>(1, most));
    facts.limited_by = by;
  };
  // If a job had more threads than its quota allows, the kernel would often pause them.
  ForEachGroup(read, "cpu", [&](const std::string& path, const std::string& name, bool version2) {
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
    restrict_to(*quota / *period + (*quota % *period != 0 ? 1 : 0), "the quota of " + name);
  });
  ForEachCoreGrant(variable, restrict_to);
  return facts;
}

CoreFacts FindCores() { return FindCores(ReadFile, ReadEnvironment, AvailableCores()); }

void SaveAddresses() {
  if (AddressLimit() == 0) return;
  mallopt(M_ARENA_MAX, 1);
  // Threads use little of the usual 8 MiB.
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  if (pthread_attr_setstacksize(&attributes, std::size_t{512} << 10) == 0) pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

unsigned FittingThreads(unsigned threads) {
  const std::uint64_t addresses = AddressLimit();
  if (addresses == 0) return threads;
  rlimit stack{};
  constexpr rlim_t kUsualStack = rlim_t{8} << 20;
  const bool known = getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY && stack.rlim_cur > 0;
  const rlim_t most = addresses / 8 / (known ? stack.rlim_cur : kUsualStack);
  return static_cast<unsigned>(std::clamp<rlim_t>(most, 1, threads));
}

}  // namespace gpusort

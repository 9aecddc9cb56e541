#include "job/summary.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "watch/progress.hpp"

namespace gpusort {
namespace {

/// A phase that takes a smaller part of the time is not worth a word.
constexpr double kNotablePart = 0.1;

std::string Words(const std::string& resource) {
  if (resource == "disk read") return "reading from disk";
  if (resource == "disk write") return "writing to disk";
  if (resource == "bus") return "the bus between GPU and memory";
  return "the " + resource;
}

struct Limit {
  std::string phase, resource;
  double seconds = 0;
};

/// Returns the busiest resource of each notable phase in which one was busy for half of the time, longest phase first.
std::vector<Limit> FindLimits(const SortStats& stats, unsigned gpus) {
  double all = 0;
  for (const PhaseTimes& phase : stats.phases) all += InSeconds(phase.wall);
  std::vector<Limit> limits;
  for (const PhaseTimes& phase : stats.phases) {
    const double seconds = InSeconds(phase.wall);
    if (seconds < kNotablePart * all) continue;
    std::string resource = BusiestResource(PhaseTimes{}, phase, gpus);
    // In the last phase the disk takes what the page cache holds of the output.
    if (resource.empty() && phase.name == "publish") resource = "disk write";
    if (!resource.empty()) limits.push_back({phase.name, std::move(resource), seconds});
  }
  std::stable_sort(limits.begin(), limits.end(), [](const Limit& a, const Limit& b) { return a.seconds > b.seconds; });
  return limits;
}

std::string LimitText(const std::vector<Limit>& limits) {
  if (limits.empty()) return "nothing that was busy for half of the time";
  const std::string& first = limits.front().resource;
  if (std::all_of(limits.begin(), limits.end(), [&](const Limit& limit) { return limit.resource == first; })) {
    return Words(first);
  }
  std::string text;
  for (const Limit& limit : limits) {
    text += (text.empty() ? "" : ", ") + Words(limit.resource) + " (" + limit.phase + ")";
  }
  return text;
}

std::string Advice(const std::vector<Limit>& limits, const SummaryFacts& facts, const SortStats& stats) {
  const std::string resource = limits.empty() ? "" : limits.front().resource;
  const bool disk = resource == "disk read" || resource == "disk write";
  if (disk && stats.temp_written > 0) {
    return "more --memory writes fewer temp files; --temp-dir may name a faster disk";
  }
  if (disk) return "a faster disk for input and output";
  if (resource == "cores") {
    const std::string threads = facts.threads > 0 ? " (now " + std::to_string(facts.threads) + ")" : "";
    return "more cores" + threads + (stats.gpu ? "" : ", or a GPU");
  }
  if (resource == "GPU" || resource == "bus") return "a second GPU (--device gpu uses all of them)";
  return "--trace FILE shows what waited for what";
}

}  // namespace

std::string SummaryText(const SummaryFacts& facts, const SortStats& stats, const Plan& plan) {
  const std::vector<Limit> limits = FindLimits(stats, plan.gpu ? plan.gpus : 0);
  std::string text = facts.merged ? "merged      " : "sorted      ";
  text += FormatBytes(stats.bytes) + ", " + std::to_string(stats.records_out) +
          (stats.records_out == 1 ? " record" : " records");
  if (stats.records_in > stats.records_out) text += " of " + std::to_string(stats.records_in);
  if (stats.stored_bytes != stats.bytes && stats.stored_bytes > 0) {
    text += ", stored as " + FormatBytes(stats.stored_bytes);
  }
  if (!facts.output.empty()) text += ", to " + facts.output;

  text += "\ntime        " + FormatDuration(facts.seconds);
  if (facts.seconds > 0) {
    text += ", " + FormatBytes(static_cast<std::uint64_t>(static_cast<double>(stats.bytes) / facts.seconds)) + "/s";
  }
  const char* between = ": ";
  for (const PhaseTimes& phase : stats.phases) {
    if (InSeconds(phase.wall) < kNotablePart * facts.seconds) continue;
    text += std::exchange(between, ", ") + phase.name + " " + FormatDuration(InSeconds(phase.wall));
  }

  text += "\nmemory      " + FormatBytes(stats.host_peak) + " of the " + FormatBytes(stats.host_limit) + " allowed";
  if (stats.device_peak > 0) text += ", " + FormatBytes(stats.device_peak) + " of the GPU's";
  text += stats.temp_peak > 0 ? "; temp files took " + FormatBytes(stats.temp_peak) + " of disk" : "; no temp files";

  text += "\nlimited by  " + LimitText(limits);

  const auto read = [](const std::string& file, const char* option, const char* what) {
    return file.empty() ? std::string(option) + " FILE writes " + what : file + " has " + what;
  };
  text += "\nmore        " + read(facts.stats_file, "--stats", "all figures") + ", " +
          read(facts.report_file, "--report", "a page of them") + "; faster with: " + Advice(limits, facts, stats);
  return text + "\n";
}

}  // namespace gpusort

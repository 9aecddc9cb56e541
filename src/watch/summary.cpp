#include "watch/summary.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace gpusort {
namespace {

/// The summary leaves out a phase that takes a smaller part of the time.
constexpr double kNotablePart = 0.1;
/// The summary says how a job could be faster if the job took more seconds.
constexpr double kAdviceSeconds = 10;

struct Limit {
  std::string phase, resource;
  double seconds = 0;
};

/// Returns the busiest resource of each notable phase in which one was busy for half of the time, longest phase first.
std::vector<Limit> FindLimits(const SortStats& stats) {
  double all = 0;
  for (const PhaseTimes& phase : stats.phases) all += InSeconds(phase.wall);
  std::vector<Limit> limits;
  for (const PhaseTimes& phase : stats.phases) {
    const double seconds = InSeconds(phase.wall);
    if (seconds < kNotablePart * all) continue;
    std::string resource = BusiestResource(PhaseTimes{}, phase, stats.plan.gpus);
    if (!resource.empty()) limits.push_back({phase.name, std::move(resource), seconds});
  }
  std::stable_sort(limits.begin(), limits.end(), [](const Limit& a, const Limit& b) { return a.seconds > b.seconds; });
  return limits;
}

std::string LimitText(const std::vector<Limit>& limits) {
  if (limits.empty()) return "nothing that was busy for half of the time";
  const std::string& first = limits.front().resource;
  if (std::all_of(limits.begin(), limits.end(), [&](const Limit& limit) { return limit.resource == first; })) {
    return ResourceText(first);
  }
  std::string text;
  for (const Limit& limit : limits) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", ResourceText(limit.resource), limit.phase);
  }
  return text;
}

std::string AdviceText(const std::vector<Limit>& limits, unsigned threads, const SortStats& stats) {
  const std::string resource = limits.empty() ? "" : limits.front().resource;
  const bool disk = resource == "disk read" || resource == "disk write";
  if (disk && stats.temp_written > 0) {
    return "more --memory writes fewer temp files; --temp-dir may name a faster disk";
  }
  if (disk) return "a faster disk for input and output";
  if (resource == "pipe read") return "a faster program before gpusort in the pipe";
  if (resource == "pipe write") return "a faster program after gpusort in the pipe";
  if (resource == "cores") {
    return fmt::format("more cores{}{}", threads > 0 ? fmt::format(" (now {})", threads) : "",
                       stats.gpu ? "" : ", or a GPU");
  }
  if (resource == "GPU" || resource == "bus") return "a second GPU (--device gpu uses all of them)";
  return "--trace FILE shows what waited for what";
}

/// Returns "999 lines" or "35.5 M lines".
std::string ShortCount(std::uint64_t count, const char* noun) {
  if (count < 10000) return Counted(count, noun);
  double value = static_cast<double>(count);
  const char* unit = " kMGTPE";
  for (; value >= 999.95; value /= 1000) ++unit;
  return fmt::format("{:.1f} {} {}s", value, *unit, noun);
}

}  // namespace

std::string ResourceText(const std::string& resource) {
  if (resource == "disk read") return "reading from disk";
  if (resource == "disk write") return "writing to disk";
  if (resource == "pipe read") return "the program that writes the input";
  if (resource == "pipe write") return "the program that reads the output";
  if (resource == "bus") return "the bus between GPU and memory";
  return "the " + resource;
}

std::string SummaryText(const JobSpec& spec, double job_seconds, unsigned threads, const SortStats& stats) {
  const std::vector<Limit> limits = FindLimits(stats);
  const char* noun = spec.source.format == Format::kLines ? "line" : "record";
  std::string text = fmt::format("{} {} ({}", spec.order.merge ? "merged" : "sorted", FormatBytes(stats.bytes),
                                 ShortCount(stats.records_out, noun));
  if (stats.records_in > stats.records_out) text += " of " + ShortCount(stats.records_in, noun);
  text += ") in " + FormatDuration(job_seconds);
  if (job_seconds > 0) {
    const double rate = static_cast<double>(stats.bytes) / job_seconds;
    text += fmt::format(", {}/s", FormatBytes(static_cast<std::uint64_t>(rate)));
  }
  if (stats.stored_bytes != stats.bytes && stats.stored_bytes > 0) {
    text += ", compressed to " + FormatBytes(stats.stored_bytes);
  }
  text += fmt::format("; {}, memory {}", Counted(stats.base_runs, "run"), FormatBytes(stats.host_peak));
  if (stats.device_peak > 0) text += ", GPU memory " + FormatBytes(stats.device_peak);
  if (stats.temp_peak > 0) text += ", temp files " + FormatBytes(stats.temp_peak);
  text += fmt::format("; limited by {}\n", LimitText(limits));
  if (job_seconds < kAdviceSeconds) return text;
  return text + fmt::format("faster with: {}{}\n", AdviceText(limits, threads, stats),
                            spec.reports.page.empty() ? "; --report FILE shows where the time went" : "");
}

}  // namespace gpusort

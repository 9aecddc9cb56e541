#include <fmt/core.h>

#include <concepts>
#include <sstream>
#include <string>

#include "base/log.hpp"
#include "base/text.hpp"
#include "plan/make_plan.hpp"

namespace gpusort {
namespace {

std::string FactText(std::integral auto number) { return fmt::format("{:d}", number); }
std::string FactText(KeysWhen when) { return FactText(static_cast<int>(when)); }
std::string FactText(Codec codec) { return std::string(CodecName(codec)); }
std::string FactText(const std::optional<Codec>& codec) { return codec ? FactText(*codec) : "planned"; }
std::string FactText(const KeyCost& cost) { return fmt::format("{}+{}*bytes", cost.fixed, cost.per_byte); }
std::string FactText(const RecordLayout& layout) {
  if (layout.fixed()) return fmt::format("{}{}", layout.stride, layout.direct() ? " direct" : "");
  return layout.keyed() ? fmt::format("{} keys and a line", layout.keys) : "lines";
}
template <typename Key, typename Value>
std::string FactText(const std::pair<Key, Value>& pair) {
  return FactText(pair.first) + ":" + FactText(pair.second);
}
std::string FactText(const std::ranges::range auto& list) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ",") + FactText(item);
  return "[" + text + "]";
}

}  // namespace

std::string Describe(const PlanFacts& facts) {
  const PlanFacts usual;
  std::string text;
  const auto put = [&](const char* name, const auto& value, const auto& usual_value) {
    if (value != usual_value) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, FactText(value));
  };
#define GPUSORT_PUT(fact) put(#fact, facts.fact, usual.fact)
  GPUSORT_PUT(asked.limit);
  GPUSORT_PUT(asked.batch_bytes);
  GPUSORT_PUT(asked.block_bytes);
  GPUSORT_PUT(asked.fan_in);
  GPUSORT_PUT(asked.max_record);
  GPUSORT_PUT(asked.grows);
  GPUSORT_PUT(asked.checks);
  GPUSORT_PUT(asked.keeps);
  GPUSORT_PUT(asked.unique);
  GPUSORT_PUT(asked.top);
  GPUSORT_PUT(asked.in_place);
  GPUSORT_PUT(asked.header);
  GPUSORT_PUT(asked.traces);
  GPUSORT_PUT(asked.page);
  GPUSORT_PUT(asked.output_codec);
  GPUSORT_PUT(asked.group_bytes);
  GPUSORT_PUT(asked.temp_codec);
  GPUSORT_PUT(input.plain);
  GPUSORT_PUT(input.keyed);
  GPUSORT_PUT(input.keys);
  GPUSORT_PUT(input.key_cost);
  GPUSORT_PUT(input.bytes);
  GPUSORT_PUT(input.expected);
  GPUSORT_PUT(input.records);
  GPUSORT_PUT(input.known);
  GPUSORT_PUT(input.window);
  GPUSORT_PUT(input.rereadable);
  GPUSORT_PUT(input.direct);
  GPUSORT_PUT(input.sorted);
  GPUSORT_PUT(input.header_bytes);
  GPUSORT_PUT(input.codecs);
  GPUSORT_PUT(input.decoder_threads);
  GPUSORT_PUT(earlier.spilled);
  GPUSORT_PUT(earlier.compressed);
  GPUSORT_PUT(earlier.block_bytes);
  GPUSORT_PUT(earlier.longest);
  GPUSORT_PUT(earlier.temp_workspaces);
  GPUSORT_PUT(machine.threads);
  GPUSORT_PUT(machine.cores);
  GPUSORT_PUT(machine.free_ram);
  GPUSORT_PUT(machine.gpu);
  GPUSORT_PUT(machine.gpus);
  GPUSORT_PUT(machine.device_memory);
  GPUSORT_PUT(costs.gpu_lanes);
  GPUSORT_PUT(costs.run_index);
  GPUSORT_PUT(costs.block_index);
#undef GPUSORT_PUT
  return text;
}

std::string Conclude(const Plan& plan) {
  if (plan.merges_only) {
    return plan.levels <= 1 ? "the inputs are merged in one pass"
                            : fmt::format("the inputs are too many for one merge: {} passes, {} of temp files",
                                          plan.levels, FormatBytes(plan.temp_bytes));
  }
  if (plan.spills && plan.runs == 0) {
    return "the size of the input is unknown: records that do not fit in memory go to temp files";
  }
  if (!plan.spills) return "the input fits in memory: one pass, no temp files";
  if (plan.temp_bytes == 0) return "the input should fit in memory: one pass, temp files are not expected";
  return fmt::format("the job uses temp files: {}, {} {} of temp files, {} of merging",
                     Counted(plan.runs, "sorted run"), plan.host_tier_bytes > 0 ? "up to" : "about",
                     FormatBytes(plan.temp_bytes), plan.levels == 1 ? "1 pass" : fmt::format("{} passes", plan.levels));
}

std::string DescribeNeeds(const Plan& plan) {
  std::string text = TableRow("memory", FormatBytes(plan.memory));
  if (plan.gpu) {
    text += TableRow("GPU memory", FormatBytes(plan.device_memory) +
                                       (plan.gpus > 1 ? fmt::format(" on each of {} GPUs", plan.gpus) : ""));
  }
  text += TableRow(
      "runs", plan.runs == 0 && !plan.merges_only ? "unknown before the input ends" : fmt::format("{}", plan.runs));
  return text + TableRow("temp space", !plan.spills           ? "none"
                                       : plan.temp_bytes != 0 ? FormatBytes(plan.temp_bytes)
                                       : plan.runs == 0       ? "as much as the input"
                                                              : "none expected");
}

std::string DescribeSizes(const Plan& plan) {
  std::string text;
  const auto line = [&](const char* name, const std::string& value) { text += TableRow(name, value); };
  line("read ring", fmt::format("{} blocks of {}, {} threads", plan.ring.blocks, FormatBytes(plan.ring.block_bytes),
                                plan.ring.threads));
  line("batch", fmt::format("{}, {} lanes, {} slots", FormatBytes(plan.slot_bytes), plan.lanes, plan.slots));
  std::string tiers = fmt::format("{} {}", plan.resident_runs, plan.gpu ? "on the device" : "in host memory");
  if (plan.host_tier_bytes > 0) tiers += fmt::format(", {} in host memory", FormatBytes(plan.host_tier_bytes));
  if (plan.merges_only) {
    tiers = fmt::format("{} in the input", plan.runs);
  } else if (plan.spills && plan.runs == 0) {
    tiers += ", the rest in temp files";
  } else if (plan.spills && plan.resident_runs >= plan.runs) {
    tiers += ", what is left over in temp files";
  } else if (plan.spills) {
    tiers += fmt::format(", {} at most in temp files", plan.runs - plan.resident_runs);
  }
  line("tiers", tiers);
  line("block",
       fmt::format("{}, {}", FormatBytes(plan.block_bytes), plan.direct_temp ? "direct" : "buffered") +
           (plan.temp_workspaces == 0 ? ""
                                      : fmt::format(", compressed by {} at once if it pays", plan.temp_workspaces)));
  line("fan-in", fmt::format("{}, {}", plan.fan_in, Counted(plan.levels, "level")));
  line("window",
       fmt::format("{}, {} buffers{}, {} lanes, read-ahead of {} blocks", FormatBytes(plan.window_bytes), plan.windows,
                   plan.windows_in_ring ? " in the ring" : "", plan.merge_lanes, plan.merge_blocks));
  line("output", plan.direct_output ? "direct" : "buffered");
  if (plan.index_bytes > kFreeIndex) line("index of runs", FormatBytes(plan.index_bytes));
  return text;
}

void LogPlan(const Plan& plan, const std::string& backend) {
  const auto log = [](LogLevel level, const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) LogText(level, "plan: " + line);
  };
  log(LogLevel::kInfo, Conclude(plan) + "\n" + DescribeNeeds(plan));
  log(LogLevel::kDebug, DescribeSizes(plan));
  LogFields fields{{"backend", backend},
                   {"memory", plan.memory},
                   {"gpus", std::uint64_t{plan.gpu ? plan.gpus : 0}},
                   {"device_memory", plan.device_memory},
                   {"batch_bytes", plan.batch_bytes},
                   {"block_bytes", plan.block_bytes},
                   {"fan_in", plan.fan_in},
                   {"levels", std::uint64_t{plan.levels}},
                   {"temp_bytes", plan.temp_bytes}};
  if (plan.runs > 0) fields.emplace_back("runs", plan.runs);
  Log(LogEvent::kPlan, LogLevel::kInfo, "", fields);
}

}  // namespace gpusort

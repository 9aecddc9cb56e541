#include "watch/stats.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/report_file.hpp"
#include "base/text.hpp"
#include "io/system_calls.hpp"

namespace gpusort {

std::string StatsText(const SortStats& stats) {
  using Json = nlohmann::ordered_json;
  Json phases = Json::array();
  double seconds = 0;
  for (const PhaseTimes& phase : stats.phases) {
    Json entry{{"phase", phase.name}, {"seconds", InSeconds(phase.wall)}};
    for (std::size_t i = 0; i < kResourceCount; ++i) {
      const auto resource = static_cast<Resource>(i);
      std::string name = ResourceName(resource);
      for (char& c : name) c = c == ' ' ? '_' : c;
      entry[name] = {{"busy", phase.Share(resource)}, {"bytes", phase.bytes[i]}};
    }
    if (stats.gpu) {
      entry["device"] = {{"upload_seconds", phase.device.upload},
                         {"kernel_seconds", phase.device.kernels},
                         {"download_seconds", phase.device.download}};
    }
    seconds += InSeconds(phase.wall);
    phases.push_back(std::move(entry));
  }
  Json json{
      {"backend", stats.backend},
      {"gpu", stats.gpu},
      {"open_seconds", stats.open_seconds},
      {"records_in", stats.records_in},
      {"records_outside", stats.records_outside},
      {"records_out", stats.records_out},
      {"top", stats.top},
      {"header_lines", stats.header_lines},
      {"input_bytes", stats.input_bytes},
      {"output_bytes", stats.bytes},
      {"stored_bytes", stats.stored_bytes},
      {"seconds", seconds},
      {"bytes_per_second", seconds > 0 ? static_cast<double>(stats.bytes) / seconds : 0},
      {"runs", stats.base_runs},
      {"tiers",
       {{"device", stats.device_runs},
        {"host", stats.host_runs},
        {"temp", stats.temp_runs},
        {"input", stats.input_runs}}},
      {"fan_in", stats.plan.fan_in},
      {"levels", stats.levels},
      {"batch_bytes", stats.plan.slot_bytes},
      {"block_bytes", stats.plan.block_bytes},
      {"window_bytes", stats.plan.window_bytes},
      {"host_memory", {{"limit", stats.host_limit}, {"peak", stats.host_peak}}},
      {"device_memory", {{"limit", stats.plan.device_memory}, {"peak", stats.device_peak}}},
      {"temp_bytes",
       {{"planned", stats.plan.temp_bytes},
        {"peak", stats.temp_peak},
        {"written", stats.temp_written},
        {"codec", stats.temp_codec}}},
      {"phases", phases},
      {"notes", stats.notes},
  };
  if (!stats.attempts.empty()) {
    json["resumed"] = stats.attempts.size() - 1;
    json["attempts"] = Json::array();
    for (const AttemptStats& attempt : stats.attempts) {
      json["attempts"].push_back(Json{{"host", attempt.host},
                                      {"pid", attempt.pid},
                                      {"begin", attempt.begin},
                                      {"runs_kept", attempt.runs_kept},
                                      {"runs_made", attempt.runs_made},
                                      {"bytes_read", attempt.bytes_read}});
    }
  }
  // Notes escape the names in them. Bytes of other text that are not UTF-8 are replaced, so that dump cannot throw.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void SortStats::AddFirst(const SortStats& first) {
  records_in = first.records_in;
  records_outside = first.records_outside;
  input_bytes = first.input_bytes;
  stored_input_bytes = first.stored_input_bytes;
  host_peak = std::max(host_peak, first.host_peak);
  device_peak = std::max(device_peak, first.device_peak);
  temp_peak = std::max(temp_peak, first.temp_peak) + first.bytes;
  temp_written += first.temp_written + first.bytes;
  phases.insert(phases.begin(), first.phases.begin(), first.phases.end());
}

void WriteStatsFile(const std::string& path, const SortStats& stats) {
  const int error = WriteReportFile(path, StatsText(stats));
  if (error == 0) return;
  throw Error(ReportErrorCode(error), fmt::format("cannot write the statistics to {}: {}; the output is in place",
                                                  EscapeName(path), detail::ErrnoText(error)));
}

}  // namespace gpusort

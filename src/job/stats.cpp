#include "job/stats.hpp"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/log.hpp"
#include "base/report_file.hpp"
#include "base/text.hpp"
#include "io/file.hpp"
#include "kernels/error.hpp"
#include "plan/make_plan.hpp"

namespace gpusort {
namespace {

double Seconds(Nanoseconds time) { return static_cast<double>(time.count()) / 1e9; }

}  // namespace

void LogPlan(const Plan& plan, const std::string& backend) {
  std::istringstream lines(Describe(plan));
  for (std::string line; std::getline(lines, line);) LogText(LogLevel::kInfo, "plan: " + line);
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

std::string StatsText(const SortStats& stats, const Plan& plan) {
  using Json = nlohmann::ordered_json;
  Json phases = Json::array();
  double seconds = 0;
  for (const PhaseTimes& phase : stats.phases) {
    Json entry{{"phase", phase.name}, {"seconds", Seconds(phase.wall)}};
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
    seconds += Seconds(phase.wall);
    phases.push_back(std::move(entry));
  }
  Json json{
      {"backend", stats.backend},
      {"gpu", stats.gpu},
      {"open_seconds", stats.open_seconds},
      {"records_in", stats.records_in},
      {"records_out", stats.records_out},
      {"top", stats.top},
      {"header_lines", stats.header_lines},
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
      {"fan_in", plan.fan_in},
      {"levels", stats.levels},
      {"batch_bytes", plan.slot_bytes},
      {"block_bytes", plan.block_bytes},
      {"window_bytes", plan.window_bytes},
      {"host_memory", {{"limit", stats.host_limit}, {"peak", stats.host_peak}}},
      {"device_memory", {{"limit", plan.device_memory}, {"peak", stats.device_peak}}},
      {"temp_bytes",
       {{"planned", plan.temp_bytes},
        {"peak", stats.temp_peak},
        {"written", stats.temp_written},
        {"codec", stats.temp_codec}}},
      {"phases", phases},
      {"notes", stats.notes},
  };
  if (!stats.attempts.empty()) {
    json["resumed"] = stats.attempts.size() - 1;
    json["attempts"] = Json::array();
    for (const KeptAttempt& attempt : stats.attempts) {
      json["attempts"].push_back(Json{{"host", attempt.host},
                                      {"pid", attempt.pid},
                                      {"begin", attempt.begin},
                                      {"runs_kept", attempt.runs_kept},
                                      {"runs_made", attempt.runs_made},
                                      {"bytes_read", attempt.bytes_read}});
    }
  }
  // Names in notes are escaped already; what is left of foreign bytes must not stop the report.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void WriteStatsFile(const std::string& path, const SortStats& stats, const Plan& plan) {
  const std::string text = StatsText(stats, plan);
  const detail::Fd fd(OpenReport(path, false));
  const int error = fd.open() ? WriteReport(fd.get(), text) : errno;
  if (error != 0) {
    const bool full = detail::OpenErrorCode(error) == ErrorCode::kNoSpace;
    throw Error(full ? ErrorCode::kNoSpace : ErrorCode::kIo, "cannot write the statistics to " + EscapeName(path) +
                                                                 ": " + detail::ErrnoText(error) +
                                                                 "; the output is in place");
  }
}

}  // namespace gpusort

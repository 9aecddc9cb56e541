#include "job/report_page.hpp"

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text.hpp"
#include "kernels/error.hpp"
#include "report_template.hpp"

namespace gpusort {
namespace {

using Json = nlohmann::ordered_json;

std::string EscapeHtml(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

/// In a script's element a text must not end it.
std::string EscapeScript(const std::string& json) {
  std::string safe;
  for (const char c : json)
    c == '<' || c == '>' || c == '&' ? safe += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026" : safe += c;
  return safe;
}

Json PhaseList(const std::vector<PhaseTimes>& phases, const std::vector<std::string>& keys) {
  Json list = Json::array();
  for (const PhaseTimes& phase : phases) {
    Json entry{{"phase", phase.name}, {"seconds", InSeconds(phase.wall)}};
    for (std::size_t i = 0; i < kResourceCount; ++i) {
      entry[keys[i]] = {{"busy", phase.Share(static_cast<Resource>(i))}, {"bytes", phase.bytes[i]}};
    }
    list.push_back(std::move(entry));
  }
  return list;
}

/// Column by column, resources first.
Json Series(const std::vector<RecordedSample>& samples) {
  Json seconds = Json::array(), memory = Json::array(), temp = Json::array();
  Json busy = Json::array(), bytes = Json::array();
  for (const RecordedSample& sample : samples) {
    seconds.push_back(InSeconds(sample.time));
    memory.push_back(sample.memory);
    temp.push_back(sample.temp);
  }
  for (std::size_t i = 0; i < kResourceCount; ++i) {
    Json times = Json::array(), sums = Json::array();
    for (const RecordedSample& sample : samples) {
      times.push_back(InSeconds(sample.busy[i]));
      sums.push_back(sample.bytes[i]);
    }
    busy.push_back(std::move(times));
    bytes.push_back(std::move(sums));
  }
  return {{"seconds", seconds}, {"busy", busy}, {"bytes", bytes}, {"memory", memory}, {"temp", temp}};
}

std::string Verdict(const ReportFacts& facts, const JobEnding& ending) {
  const bool done = ending.exit_code == 0;
  std::string html = done ? "<div class=\"verdict\"><p><b>Done</b>" : "<div class=\"verdict failed\"><p><b>Failed</b>";
  html += ", exit code " + std::to_string(ending.exit_code);
  if (!ending.signal.empty()) html += ", ended by " + EscapeHtml(ending.signal);
  html += ", after " + EscapeHtml(FormatDuration(facts.seconds)) + "</p>\n";
  if (!ending.message.empty()) html += "<p>" + EscapeHtml(EscapeName(ending.message)) + "</p>\n";
  if (!done) html += "<p>What to do: " + EscapeHtml(Advice(ending.exit_code)) + "</p>\n";
  return html + "</div>\n<p class=\"muted\">Started " + EscapeHtml(facts.started) + ", gpusort " +
         EscapeHtml(facts.version) + "</p>";
}

}  // namespace

const char* Advice(int exit_code) {
  switch (static_cast<ErrorCode>(exit_code)) {
    case ErrorCode::kUsage:
      return "mend the command as the message says; nothing was written.";
    case ErrorCode::kBadInput:
      return "look at the place in the input that the message names; no output was written.";
    case ErrorCode::kIo:
      return "look at the file and the error that the message names, and run it again.";
    case ErrorCode::kNoSpace:
      return "free space or choose another folder (--temp-dir), and run it again.";
    case ErrorCode::kOutOfMemory:
      return "give it less (--memory, --threads) or a machine with more, and run it again.";
    case ErrorCode::kGpuLost:
      return "look at the GPU (nvidia-smi -q, the kernel log), or run it again with --device auto or cpu.";
    case ErrorCode::kIntegrity:
      return "memory, a disk or a GPU gave back other bytes than were written: test them before relying on this "
             "machine.";
    case ErrorCode::kStopped:
      return "give the same command again: it goes on from what is kept.";
    case ErrorCode::kInternal:
      return "this is a fault of gpusort: report it with this page.";
    default:
      return "run it again; an output that was there is as it was, and --resume-dir keeps what is done.";
  }
}

std::string ReportPage(const ReportFacts& facts, const JobEnding& ending) {
  Json resources = Json::array();
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kResourceCount; ++i) {
    resources.push_back(ResourceName(static_cast<Resource>(i)));
    keys.emplace_back(ResourceName(static_cast<Resource>(i)));
  }
  const Json data{{"resources", resources},
                  {"keys", keys},
                  {"phases", PhaseList(facts.phases, keys)},
                  {"phases_begin", InSeconds(facts.phases_begin)},
                  {"series", Series(facts.samples)},
                  {"memory_limit", facts.memory_limit},
                  {"notes", facts.notes},
                  {"plan", facts.plan},
                  {"files", facts.files},
                  {"stats", facts.stats.empty() ? Json::object() : Json::parse(facts.stats)}};
  const std::string title = std::string("gpusort: ") +
                            (ending.exit_code == 0 ? "a job that is done" : "a job that failed") +
                            (facts.files.empty() ? "" : ", " + facts.files.back().second);
  std::string page;
  std::string_view rest = kReportTemplate;
  while (!rest.empty()) {
    const std::size_t mark = std::min(rest.find('%'), rest.size());
    page += rest.substr(0, mark);
    rest.remove_prefix(mark);
    const auto put = [&](std::string_view name, const auto& make) {
      if (!rest.starts_with(name)) return false;
      page += make();
      rest.remove_prefix(name.size());
      return true;
    };
    if (put("%TITLE%", [&] { return EscapeHtml(title); }) || put("%VERDICT%", [&] { return Verdict(facts, ending); }) ||
        put("%DATA%", [&] { return EscapeScript(data.dump(-1, ' ', true, Json::error_handler_t::replace)); }) ||
        rest.empty()) {
      continue;
    }
    page += '%';
    rest.remove_prefix(1);
  }
  return page;
}

}  // namespace gpusort

#include "watch/report_page.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string_view>

#include "base/text.hpp"
#include "kernels/error.hpp"
#include "report_template.hpp"

namespace gpusort {
namespace {

using Json = nlohmann::ordered_json;

/// Replaces each character in `marks` by the text of the same place in `texts`.
std::string Replace(std::string_view text, std::string_view marks, std::span<const char* const> texts) {
  std::string safe;
  for (const char c : text) {
    const std::size_t mark = marks.find(c);
    mark == marks.npos ? safe += c : safe += texts[mark];
  }
  return safe;
}

std::string EscapeHtml(std::string_view text) {
  constexpr const char* kTexts[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  return Replace(text, "&<>\"'", kTexts);
}

/// Escapes JSON so that no text in it ends the script element.
std::string EscapeScript(std::string_view json) {
  constexpr const char* kTexts[] = {"\\u0026", "\\u003c", "\\u003e"};
  return Replace(json, "&<>", kTexts);
}

/// Returns one array for each column; `busy` and `bytes` have one for each resource.
Json Series(const std::vector<RecordedSample>& samples) {
  const auto column = [&](auto value) {
    Json list = Json::array();
    for (const RecordedSample& sample : samples) list.push_back(value(sample));
    return list;
  };
  Json busy = Json::array(), bytes = Json::array();
  for (std::size_t i = 0; i < kResourceCount; ++i) {
    busy.push_back(column([&](const RecordedSample& sample) { return InSeconds(sample.busy[i]); }));
    bytes.push_back(column([&](const RecordedSample& sample) { return sample.bytes[i]; }));
  }
  return {{"seconds", column([](const RecordedSample& sample) { return InSeconds(sample.time); })},
          {"busy", busy},
          {"bytes", bytes},
          {"memory", column([](const RecordedSample& sample) { return sample.memory; })},
          {"temp", column([](const RecordedSample& sample) { return sample.temp; })}};
}

std::string Verdict(const ReportFacts& facts, const JobEnding& ending) {
  const bool done = ending.exit_code == 0;
  // The summary begins with the answer: "sorted 4.0 GiB (35.5 M lines) in 1.50 s, 2.7 GiB/s; 1 run, memory 1.2 GiB;
  // ...".
  const std::string_view summary = facts.summary;
  const std::size_t answer = std::min(summary.find("; "), summary.size());
  std::string html =
      fmt::format(R"(<div class="verdict{}"><p class="answer"><b>{}</b>{})", done ? "" : " failed",
                  done ? "Done" : "Failed", answer > 0 ? ": " + EscapeHtml(summary.substr(0, answer)) : "");
  html += "</p>\n";
  std::istringstream lines(std::string(summary.substr(std::min(answer + 2, summary.size()))));
  for (std::string line; std::getline(lines, line);) html += fmt::format("<p>{}</p>\n", EscapeHtml(line));
  html += fmt::format("<p class=\"muted\">exit code {}", ending.exit_code);
  if (!ending.signal.empty()) html += ", ended by " + EscapeHtml(ending.signal);
  html += fmt::format(", after {}; began {}</p>\n", FormatDuration(facts.seconds), EscapeHtml(facts.started));
  if (!ending.message.empty()) html += fmt::format("<p>{}</p>\n", EscapeHtml(EscapeName(ending.message)));
  if (!done) html += fmt::format("<p>What to do: {}</p>\n", EscapeHtml(Advice(ending.exit_code)));
  return html + "</div>\n";
}

}  // namespace

const char* Advice(int exit_code) {
  constexpr std::pair<ErrorCode, const char*> kAdvice[] = {
      {ErrorCode::kUsage, "mend the command as the message says; nothing was written."},
      {ErrorCode::kBadInput, "look at the place in the input that the message names; no output was written."},
      {ErrorCode::kIo, "look at the file and the error that the message names, and run it again."},
      {ErrorCode::kNoSpace, "free space or choose another folder (--temp-dir), and run it again."},
      {ErrorCode::kOutOfMemory, "give it less (--memory, --threads) or a machine with more, and run it again."},
      {ErrorCode::kGpuLost,
       "look at the GPU (nvidia-smi -q, the kernel log), or run it again with --device auto or cpu."},
      {ErrorCode::kIntegrity,
       "memory, a disk or a GPU gave back other bytes than were written: test them before relying on this machine."},
      {ErrorCode::kStopped, "give the same command again: the job continues from the work that was kept."},
      {ErrorCode::kInternal, "this is a fault of gpusort: report it with this page."},
  };
  for (const auto& [code, advice] : kAdvice) {
    if (exit_code == static_cast<int>(code)) return advice;
  }
  return "run it again; an output that was there is as it was, and --resume-dir keeps what is done.";
}

// The page is the template report.html.in with the data of the job as JSON. A script in the page makes text nodes and
// SVG charts from the data, so no text can be read as markup. The page loads no other file.
std::string ReportPage(const ReportFacts& facts, const JobEnding& ending) {
  Json resources = Json::array();
  for (std::size_t i = 0; i < kResourceCount; ++i) resources.push_back(ResourceName(static_cast<Resource>(i)));
  const Json stats = facts.stats ? Json::parse(StatsText(*facts.stats)) : Json::object();
  const Json data{{"resources", resources},
                  {"phases", stats.value("phases", Json::array())},
                  {"phases_begin", InSeconds(facts.phases_begin)},
                  {"series", Series(facts.samples)},
                  {"memory_limit", facts.stats ? facts.stats->host_limit : 0},
                  {"notes", stats.value("notes", Json::array())},
                  {"plan", facts.plan},
                  {"about", facts.about},
                  {"files", facts.files},
                  {"stats", stats}};
  const std::string title =
      EscapeHtml(fmt::format("gpusort: a job that {}{}{}", ending.exit_code == 0 ? "is done" : "failed",
                             facts.files.empty() ? "" : ", ", facts.files.empty() ? "" : facts.files.back().second));
  const std::pair<std::string_view, std::string> parts[] = {
      {"%TITLE%", title},
      {"%TITLE%", title},
      {"%VERDICT%", Verdict(facts, ending)},
      {"%DATA%", EscapeScript(data.dump(-1, ' ', true, Json::error_handler_t::replace))}};
  std::string page;
  std::string_view rest = kReportTemplate;
  for (const auto& [mark, text] : parts) {  // in the order of the template
    const std::size_t at = rest.find(mark);
    page.append(rest.substr(0, at)).append(text);
    rest.remove_prefix(at + mark.size());
  }
  return page.append(rest);
}

}  // namespace gpusort

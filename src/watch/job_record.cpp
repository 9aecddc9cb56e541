#include "watch/job_record.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <utility>

#include "base/gnu_quote.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/report_file.hpp"
#include "base/text.hpp"
#include "io/file.hpp"
#include "io/output_file.hpp"
#include "kernels/error.hpp"
#include "version.hpp"
#include "watch/progress.hpp"
#include "watch/summary.hpp"

namespace gpusort {
namespace {

/// Throws an error if the job was successful, because the file is a part of what the user asked for. Otherwise logs a
/// warning.
void Complain(const std::string& text, ErrorCode code, const JobEnding& ending) {
  if (ending.exit_code == 0) throw Error(code, text + "; the output is in place");
  LogWarn(text);
}

/// Writes a regular file completely or not at all.
void WriteWhole(const std::string& path, const std::string& text) {
  struct stat facts;
  const bool exists = ::stat(path.c_str(), &facts) == 0;
  if (!MayBePlanted(path) && (!exists || S_ISREG(facts.st_mode)) && !(exists && StandardStream(facts))) {
    FileSystem files;
    const std::unique_ptr<OutputFile> file = files.CreateOutput(path, false);
    file->WriteAt(0, std::as_bytes(std::span(text)));
    file->Publish(text.size(), false);
  } else if (const int error = WriteReportFile(path, text); error != 0) {
    throw Error(ReportErrorCode(error), fmt::format("{}: {}", EscapeName(path), detail::ErrnoText(error)));
  }
}

}  // namespace

JobRecord::JobRecord(const JobSpec& spec) : spec_(spec), begin_(StageClock::SteadyNow()) {
  thread_role = "main";
  facts_.version = GPUSORT_VERSION;
  facts_.started = UtcText("%Y-%m-%d %H:%M:%S UTC");
}

JobRecord::~JobRecord() = default;

void JobRecord::Begin(StageClock& clock, std::uint64_t trace_memory, unsigned threads, Recorder::Value memory,
                      Recorder::Value temp) {
  threads_ = threads;
  if (spec_.reports.trace.empty() && spec_.reports.page.empty()) return;
  clock_ = &clock;
  if (!spec_.reports.trace.empty()) {
    // The second sort of a job goes on with the trace of the first one.
    if (!trace_) trace_.emplace(spec_.reports.trace, trace_memory / 8 * 7, begin_, threads);
    clock.TraceInto(&*trace_);
  }
  recorder_.emplace(clock, trace_ ? &*trace_ : nullptr, begin_, std::move(memory), std::move(temp));
}

void JobRecord::Leave(const std::string& plan, const SortStats& stats) {
  if (recorder_) {
    recorder_->Stop();  // first, because copying the rest may throw
    AddSamples(recorder_->samples());
    recorder_.reset();
    facts_.phases_begin = StageClock::SteadyNow() - begin_;
    for (const PhaseTimes& phase : stats.phases) facts_.phases_begin -= phase.wall;
  }
  facts_.stats = stats;
  facts_.plan = plan;
}

/// Adds the samples of a sort. Their sums go on from the last sample of the sort before, if the job has two sorts.
void JobRecord::AddSamples(const std::vector<RecordedSample>& samples) {
  const RecordedSample before = facts_.samples.empty() ? RecordedSample() : facts_.samples.back();
  for (RecordedSample sample : samples) {
    for (std::size_t i = 0; i < sample.busy.size(); ++i) {
      sample.busy[i] += before.busy[i];
      sample.bytes[i] += before.bytes[i];
    }
    facts_.samples.push_back(sample);
  }
}

void JobRecord::End(const JobEnding& ending) {
  if (std::exchange(ended_, true)) return;
  JobEnding end = ending;
  std::exception_ptr lost;
  try {
    if (!spec_.reports.trace.empty()) EndTrace(ending);
  } catch (const Error& error) {
    lost = std::current_exception();
    if (end.exit_code == 0) end = {static_cast<int>(error.code()), "", error.what()};
  }
  if (!spec_.reports.page.empty()) EndReport(end);
  if (lost) std::rethrow_exception(lost);
  if (end.exit_code == 0 && facts_.stats) Summarize();
}

void JobRecord::Summarize() const noexcept {
  const double seconds = InSeconds(StageClock::SteadyNow() - begin_);
  const When when = spec_.reports.progress;
  if (!ShowsProgress(when) || CurrentLogFormat() != LogFormat::kText) return;
  if (when != When::kAlways && seconds < kLongJobSeconds) return;
  try {
    std::istringstream lines(SummaryText(spec_, seconds, threads_, *facts_.stats));
    for (std::string line; std::getline(lines, line);) PrintStatusLine(line, {});
  } catch (...) {
    // Out of memory: the job is done, and has no summary.
  }
}

void JobRecord::EndTrace(const JobEnding& ending) {
  if (!trace_) {
    if (clock_ != nullptr) return;  // the trace could not be opened
    // The job ended before it opened the trace. The file there is from an earlier job and is replaced.
    trace_.emplace(spec_.reports.trace, 0, begin_);
  }
  const nlohmann::ordered_json how{
      {"exit_code", ending.exit_code}, {"signal", ending.signal}, {"message", EscapeName(ending.message)}};
  const int error =
      trace_->End(StageClock::SteadyNow(), how.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  if (trace_->dropped() > 0) {
    LogWarn(fmt::format("--trace: {} of {} slices are left out: too many threads, or no memory", trace_->dropped(),
                        trace_->dropped() + trace_->slices()));
  }
  if (error == 0) return;
  Complain(fmt::format("cannot write the trace to {}: {}", EscapeName(spec_.reports.trace), detail::ErrnoText(error)),
           ReportErrorCode(error), ending);
}

/// Returns where the records of the inputs came from: " in 2 files".
std::string InputsText(const std::vector<std::string>& inputs) {
  const auto is_file = [](const std::string& name) {
    std::error_code error;
    const std::filesystem::file_type type = std::filesystem::status(name, error).type();
    return name != "-" &&
           (type == std::filesystem::file_type::regular || type == std::filesystem::file_type::not_found);
  };
  const auto files = static_cast<std::size_t>(std::ranges::count_if(inputs, is_file));
  if (files == inputs.size()) return " in " + Counted(files, "file");
  const std::string streams = inputs.size() - files == 1 ? "a stream" : Counted(inputs.size() - files, "stream");
  return files == 0 ? " from " + streams : fmt::format(" in {} and {}", Counted(files, "file"), streams);
}

/// Adds the command line, the machine, and the sizes of the job to the page.
void JobRecord::AddAbout() {
  std::string command;
  std::ifstream typed("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(typed, word, '\0');) command += (command.empty() ? "" : " ") + QuoteName(word);
  if (!command.empty()) facts_.about.emplace_back("command", EscapeName(command));
  utsname system{};
  ::uname(&system);
  facts_.about.emplace_back(
      "machine", fmt::format("{}: {} {}, {}, {} of memory", EscapeName(system.nodename), system.sysname, system.release,
                             Counted(FindCores().cores, "core"), FormatBytes(FindMemory().limit)));
  facts_.about.emplace_back("program", "gpusort " + facts_.version);
  if (!facts_.stats) return;
  const SortStats& stats = *facts_.stats;
  if (!stats.backend.empty()) facts_.about.emplace_back("sorted by", EscapeName(stats.backend));
  const auto records = [](std::uint64_t count) { return Counted(count, "record"); };
  facts_.about.emplace_back(
      "input", records(stats.records_in) + ", " + FormatBytes(stats.input_bytes) + InputsText(spec_.source.inputs) +
                   (stats.stored_input_bytes > 0 ? ", compressed to " + FormatBytes(stats.stored_input_bytes) : ""));
  facts_.about.emplace_back("output", records(stats.records_out) + ", " + FormatBytes(stats.bytes) +
                                          (stats.stored_bytes != stats.bytes && stats.stored_bytes > 0
                                               ? ", compressed to " + FormatBytes(stats.stored_bytes)
                                               : ""));
}

void JobRecord::EndReport(const JobEnding& ending) {
  AddAbout();
  constexpr std::size_t kMostNames = 8;
  const std::vector<std::string>& inputs = spec_.source.inputs;
  for (std::size_t i = 0; i < std::min(inputs.size(), kMostNames); ++i)
    facts_.files.emplace_back("input", inputs[i] == "-" ? "standard input" : EscapeName(inputs[i]));
  if (inputs.size() > kMostNames)
    facts_.files.emplace_back("inputs", fmt::format("{} more", inputs.size() - kMostNames));
  const std::string& output = spec_.target.output;
  facts_.files.emplace_back("output", output == "-" ? "standard output" : EscapeName(output));
  facts_.seconds = InSeconds(StageClock::SteadyNow() - begin_);
  if (ending.exit_code == 0 && facts_.stats) {
    facts_.summary = SummaryText(spec_, facts_.seconds, threads_, *facts_.stats);
  }
  try {
    WriteWhole(spec_.reports.page, ReportPage(facts_, ending));
  } catch (const Error& error) {
    Complain(std::string("cannot write the report: ") + error.what(), error.code(), ending);
  }
}

}  // namespace gpusort

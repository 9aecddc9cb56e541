#include "job/job_record.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <exception>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <utility>

#include "error.hpp"
#include "file.hpp"
#include "job/summary.hpp"
#include "support/log.hpp"
#include "support/report_file.hpp"
#include "support/text.hpp"

namespace gpusort {
namespace {

/// A file that fails a job that is done, and is only named where the job has failed already.
void Complain(const std::string& text, ErrorCode code, const JobEnding& ending) {
  if (ending.exit_code == 0) throw Error(code, text + "; the output is in place");
  LogWarn(text);
}

ErrorCode CodeOf(int error) {
  return detail::OpenErrorCode(error) == ErrorCode::kNoSpace ? ErrorCode::kNoSpace : ErrorCode::kIo;
}

/// All of it or nothing, if it is a file.
void WriteWhole(const std::string& path, const std::string& text) {
  struct stat facts;
  const bool exists = ::stat(path.c_str(), &facts) == 0;
  int error = 0;
  if (!MayBePlanted(path) && (!exists || S_ISREG(facts.st_mode)) && !(exists && StandardStream(facts))) {
    FileSystem files;
    const std::unique_ptr<OutputFile> file = files.CreateOutput(path, false);
    file->WriteAt(0, std::as_bytes(std::span(text)));
    file->Publish(text.size(), false);
    return;
  }
  const detail::Fd fd(OpenReport(path, false));
  error = fd.open() ? WriteReport(fd.get(), text) : errno;
  if (error != 0) throw Error(CodeOf(error), EscapeName(path) + ": " + detail::ErrnoText(error));
}

}  // namespace

JobRecord::JobRecord(const Options& options) : options_(options), begin_(StageClock::SteadyNow()) {
  thread_role = "main";
  facts_.version = GPUSORT_VERSION;
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::array<char, 32> text{};
  if (::gmtime_r(&now, &utc) != nullptr) std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &utc);
  facts_.started = text.data();
}

JobRecord::~JobRecord() = default;

std::uint64_t JobRecord::MemoryBytes(const Options& options, std::uint64_t limit) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  if (!options.trace_file.empty()) return std::clamp(limit / 32, kMiB / 4, 4 * kMiB);
  return options.report_file.empty() ? 0 : kMiB / 16;
}

void JobRecord::Begin(StageClock& clock, std::uint64_t limit, unsigned threads, Recorder::Value memory,
                      Recorder::Value temp) {
  threads_ = threads;
  if (options_.trace_file.empty() && options_.report_file.empty()) return;
  clock_ = &clock;
  facts_.memory_limit = limit;
  if (!options_.trace_file.empty()) {
    trace_.emplace(options_.trace_file, MemoryBytes(options_, limit) / 8 * 7, begin_, threads);
    clock.TraceInto(&*trace_);
  }
  recorder_.emplace(clock, trace_ ? &*trace_ : nullptr, begin_, std::move(memory), std::move(temp));
}

void JobRecord::Leave(const std::string& plan, const SortStats& stats, const Plan& sizes) {
  if (ShowsProgress(options_.progress) && CurrentLogFormat() == LogFormat::kText) done_.emplace(stats, sizes);
  if (!recorder_) return;
  recorder_->Stop();
  facts_.samples = recorder_->samples();
  recorder_.reset();
  facts_.phases = clock_->phases();
  facts_.phases_begin = StageClock::SteadyNow() - begin_;
  for (const PhaseTimes& phase : facts_.phases) facts_.phases_begin -= phase.wall;
  facts_.plan = plan;
  facts_.notes = stats.notes;
  facts_.stats = StatsText(stats, sizes);
}

void JobRecord::End(const JobEnding& ending) {
  if (std::exchange(ended_, true)) return;
  JobEnding end = ending;
  std::exception_ptr lost;
  try {
    if (!options_.trace_file.empty()) EndTrace(ending);
  } catch (const Error& error) {
    lost = std::current_exception();
    if (end.exit_code == 0) end = {static_cast<int>(error.code()), "", error.what()};
  }
  if (!options_.report_file.empty()) EndReport(end);
  if (lost) std::rethrow_exception(lost);
  if (end.exit_code == 0 && done_) Summarize();
}

void JobRecord::Summarize() const noexcept {
  const double seconds = InSeconds(StageClock::SteadyNow() - begin_);
  if (options_.progress != When::kAlways && seconds < kLongJobSeconds) return;
  try {
    const SummaryFacts facts{seconds,
                             options_.merge,
                             threads_,
                             IsStreamTarget(options_.output) ? "" : EscapeName(options_.output),
                             EscapeName(options_.stats_file),
                             EscapeName(options_.report_file)};
    std::istringstream lines(SummaryText(facts, done_->first, done_->second));
    for (std::string line; std::getline(lines, line);) PrintStatusLine(line, {});
  } catch (...) {
    // Out of memory: the job is done without its summary.
  }
}

void JobRecord::EndTrace(const JobEnding& ending) {
  if (!trace_) {
    if (clock_ != nullptr) return;  // it could not be opened
    // The job did not come to begin it, and what is there now is another's.
    trace_.emplace(options_.trace_file, 0, begin_);
  }
  const nlohmann::ordered_json how{
      {"exit_code", ending.exit_code}, {"signal", ending.signal}, {"message", EscapeName(ending.message)}};
  const int error =
      trace_->End(StageClock::SteadyNow(), how.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  if (trace_->dropped() > 0) {
    LogWarn("--trace: " + std::to_string(trace_->dropped()) + " of " +
            std::to_string(trace_->dropped() + trace_->slices()) +
            " slices are left out: too many threads, or no memory");
  }
  if (error == 0) return;
  Complain("cannot write the trace to " + EscapeName(options_.trace_file) + ": " + detail::ErrnoText(error),
           CodeOf(error), ending);
}

void JobRecord::EndReport(const JobEnding& ending) {
  constexpr std::size_t kMostNames = 8;
  const std::vector<std::string>& inputs = options_.inputs;
  for (std::size_t i = 0; i < std::min(inputs.size(), kMostNames); ++i)
    facts_.files.emplace_back("input", EscapeName(inputs[i]));
  if (inputs.size() > kMostNames)
    facts_.files.emplace_back("inputs", std::to_string(inputs.size() - kMostNames) + " more");
  facts_.files.emplace_back("output", EscapeName(options_.output));
  facts_.seconds = InSeconds(StageClock::SteadyNow() - begin_);
  try {
    WriteWhole(options_.report_file, ReportPage(facts_, ending));
  } catch (const Error& error) {
    Complain(std::string("cannot write the report: ") + error.what(), error.code(), ending);
  }
}

}  // namespace gpusort

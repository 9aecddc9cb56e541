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

#include "base/log.hpp"
#include "base/report_file.hpp"
#include "base/text.hpp"
#include "io/file.hpp"
#include "io/output_file.hpp"
#include "io/path.hpp"
#include "job/summary.hpp"
#include "kernels/error.hpp"
#include "plan/memory_shares.hpp"

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

JobRecord::JobRecord(const JobSpec& spec) : spec_(spec), begin_(StageClock::SteadyNow()) {
  thread_role = "main";
  facts_.version = GPUSORT_VERSION;
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::array<char, 32> text{};
  if (::gmtime_r(&now, &utc) != nullptr) std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &utc);
  facts_.started = text.data();
}

JobRecord::~JobRecord() = default;

void JobRecord::Begin(StageClock& clock, std::uint64_t limit, unsigned threads, Recorder::Value memory,
                      Recorder::Value temp) {
  threads_ = threads;
  if (spec_.reports.trace.empty() && spec_.reports.page.empty()) return;
  clock_ = &clock;
  facts_.memory_limit = limit;
  if (!spec_.reports.trace.empty()) {
    trace_.emplace(spec_.reports.trace, ReportMemory(true, false, limit) / 8 * 7, begin_, threads);
    clock.TraceInto(&*trace_);
  }
  recorder_.emplace(clock, trace_ ? &*trace_ : nullptr, begin_, std::move(memory), std::move(temp));
}

void JobRecord::Leave(const std::string& plan, const SortStats& stats, const Plan& sizes) {
  if (ShowsProgress(spec_.reports.progress) && CurrentLogFormat() == LogFormat::kText) done_.emplace(stats, sizes);
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
    if (!spec_.reports.trace.empty()) EndTrace(ending);
  } catch (const Error& error) {
    lost = std::current_exception();
    if (end.exit_code == 0) end = {static_cast<int>(error.code()), "", error.what()};
  }
  if (!spec_.reports.page.empty()) EndReport(end);
  if (lost) std::rethrow_exception(lost);
  if (end.exit_code == 0 && done_) Summarize();
}

void JobRecord::Summarize() const noexcept {
  const double seconds = InSeconds(StageClock::SteadyNow() - begin_);
  if (spec_.reports.progress != When::kAlways && seconds < kLongJobSeconds) return;
  try {
    const SummaryFacts facts{seconds,
                             spec_.order.merge,
                             threads_,
                             IsStreamTarget(spec_.target.output) ? "" : EscapeName(spec_.target.output),
                             EscapeName(spec_.reports.stats),
                             EscapeName(spec_.reports.page)};
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
    trace_.emplace(spec_.reports.trace, 0, begin_);
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
  Complain("cannot write the trace to " + EscapeName(spec_.reports.trace) + ": " + detail::ErrnoText(error),
           CodeOf(error), ending);
}

void JobRecord::EndReport(const JobEnding& ending) {
  constexpr std::size_t kMostNames = 8;
  const std::vector<std::string>& inputs = spec_.source.inputs;
  for (std::size_t i = 0; i < std::min(inputs.size(), kMostNames); ++i)
    facts_.files.emplace_back("input", EscapeName(inputs[i]));
  if (inputs.size() > kMostNames)
    facts_.files.emplace_back("inputs", std::to_string(inputs.size() - kMostNames) + " more");
  facts_.files.emplace_back("output", EscapeName(spec_.target.output));
  facts_.seconds = InSeconds(StageClock::SteadyNow() - begin_);
  try {
    WriteWhole(spec_.reports.page, ReportPage(facts_, ending));
  } catch (const Error& error) {
    Complain(std::string("cannot write the report: ") + error.what(), error.code(), ending);
  }
}

}  // namespace gpusort

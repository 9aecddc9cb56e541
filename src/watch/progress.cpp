#include "watch/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"

namespace gpusort {
namespace {

constexpr Nanoseconds kRateWindow = std::chrono::seconds(5);
constexpr Nanoseconds kInterval = std::chrono::milliseconds(200);
constexpr Nanoseconds kLookBack = std::chrono::seconds(1);

/// Returns whether standard error is a terminal that can redraw a line.
bool OnTerminal() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

}  // namespace

double RateMeter::Update(Nanoseconds now, std::uint64_t done) {
  samples_.push_back({now, done});
  while (samples_.size() > 2 && samples_[1].time <= now - kRateWindow) samples_.pop_front();
  const Sample& first = samples_.front();
  return now > first.time ? static_cast<double>(done - first.done) / InSeconds(now - first.time) : 0;
}

std::string RenderProgress(const ProgressFacts& facts, std::size_t columns) {
  struct Part {
    int importance;
    std::string text;
  };
  std::vector<Part> parts;
  if (facts.percent) parts.push_back({5, fmt::format("{} %", *facts.percent)});
  if (facts.done > 0 || facts.total > 0) {
    const std::string done = FormatBytes(facts.done);
    parts.push_back({2, facts.total > 0 ? fmt::format("{} of {}", done, FormatBytes(facts.total)) : done});
  }
  if (facts.bytes_per_second >= 1) {
    parts.push_back({0, fmt::format("{}/s", FormatBytes(static_cast<std::uint64_t>(facts.bytes_per_second)))});
  }
  if (facts.seconds_left && facts.percent != 100) {
    const double left = *facts.seconds_left;
    parts.push_back({4, left < 59.5 ? fmt::format("{} s left", std::lround(left)) : FormatDuration(left) + " left"});
  }
  if (!facts.waits_for.empty()) parts.push_back({1, "waits for " + facts.waits_for});
  constexpr int kPhase = 3, kAll = 5;
  for (int least = 0;; ++least) {
    std::string line = least <= kPhase ? facts.phase : "";
    const char* between = line.empty() ? "" : ": ";
    for (const Part& part : parts) {
      if (part.importance >= least) line += std::exchange(between, ", ") + part.text;
    }
    if (line.size() <= columns || least == kAll) return line.substr(0, columns);
  }
}

bool ShowsProgress(When when) { return when == When::kAlways || (when == When::kAuto && OnTerminal()); }

Progress::Progress(When when, const StageClock& clock)
    : clock_(clock), shown_(ShowsProgress(when)), answered_(ReportsAsked()) {
  // The JSON log has lines on a terminal, too.
  terminal_ = shown_ && OnTerminal() && CurrentLogFormat() == LogFormat::kText;
  if (!shown_ && !ReportsOnSignal()) return;
  const std::string refused = StartThread(thread_, [this] { Loop(); });
  if (!refused.empty() && shown_) LogWarn("no progress is shown, for its thread cannot start: " + refused);
  shown_ = shown_ && refused.empty();
}

Progress::~Progress() {
  if (thread_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.clear();
  if (terminal_) {
    ClearStatusLine();
  } else if (shown_) {
    try {
      Look();
      if (!facts_.phase.empty()) Print();
    } catch (...) {
      // Out of memory: nothing depends on this line.
    }
  }
}

void Progress::Expect(std::vector<JobPart> parts) {
  const std::lock_guard lock(mutex_);
  outlook_.Expect(std::move(parts));
}

void Progress::SetPhase(const std::string& name, std::uint64_t total_bytes) {
  const std::lock_guard lock(mutex_);
  Look();
  if (shown_ && !terminal_ && !facts_.phase.empty()) Print();
  count_ = nullptr;
  facts_ = ProgressFacts{};
  facts_.phase = name;
  facts_.total = total_bytes;
  done_.store(0, std::memory_order_relaxed);
  skipped_.store(0, std::memory_order_relaxed);
  looks_.clear();
  rate_.Reset();
  const Nanoseconds now = StageClock::SteadyNow();
  rate_.Update(now, 0);
  outlook_.Begin(name, total_bytes, now);
}

void Progress::CountBy(std::function<std::uint64_t()> count) {
  const std::lock_guard lock(mutex_);
  count_ = std::move(count);
}

void Progress::Finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  outlook_.Finish();
}

void Progress::Print() {
  const std::string line = RenderProgress(facts_);
  if (CurrentLogFormat() == LogFormat::kText) return PrintStatusLine(line, {});
  LogFields fields{{"phase", facts_.phase}, {"bytes", facts_.done}};
  if (facts_.total > 0) fields.push_back({"bytes_total", facts_.total});
  fields.push_back({"bytes_per_second", facts_.bytes_per_second});
  if (facts_.percent) fields.push_back({"percent", static_cast<std::uint64_t>(*facts_.percent)});
  if (facts_.seconds_left) fields.push_back({"seconds_left", *facts_.seconds_left});
  if (!facts_.waits_for.empty()) fields.push_back({"waits_for", facts_.waits_for});
  PrintStatusLine(line, fields);
}

void Progress::Look() {
  if (facts_.phase.empty()) return;
  const Nanoseconds time = StageClock::SteadyNow();
  // The clock may be in its next phase already.
  const std::vector<PhaseTimes> phases = clock_.phases();
  const auto own =
      std::find_if(phases.rbegin(), phases.rend(), [&](const PhaseTimes& phase) { return phase.name == facts_.phase; });
  const PhaseTimes& now = own != phases.rend() ? *own : phases.back();
  if (count_) done_ = count_();
  if (!looks_.empty() && looks_.back().name != now.name) looks_.clear();
  looks_.push_back(now);
  while (looks_.size() > 2 && looks_[1].wall <= now.wall - kLookBack) looks_.pop_front();
  facts_.waits_for = BusiestResource(looks_.size() > 1 ? looks_.front() : PhaseTimes{}, now, gpus_);
  const std::uint64_t skipped = skipped_.load(std::memory_order_relaxed);
  facts_.done = std::max(skipped, done_.load(std::memory_order_relaxed));
  facts_.bytes_per_second = rate_.Update(time, facts_.done - skipped);
  const auto seconds = [&](Resource resource) { return InSeconds(now.busy[resource]); };
  const auto bytes = [&](Resource resource) { return static_cast<double>(now.bytes[resource]); };
  outlook_.Update(time, facts_.done, skipped,
                  {.work_seconds = std::max(seconds(Resource::kCompute), seconds(Resource::kCodec)),
                   .read_seconds = std::max(seconds(Resource::kDiskRead), seconds(Resource::kPipeRead)),
                   .write_seconds = std::max(seconds(Resource::kDiskWrite), seconds(Resource::kPipeWrite)),
                   .read_bytes = bytes(Resource::kDiskRead) + bytes(Resource::kPipeRead),
                   .write_bytes = bytes(Resource::kDiskWrite) + bytes(Resource::kPipeWrite),
                   .expanded_bytes = bytes(Resource::kCodec)});
  facts_.percent = outlook_.percent();
  facts_.seconds_left = outlook_.seconds_left();
  if (finished_) facts_.waits_for.clear();
}

void Progress::Loop() {
  const int ticks = CurrentLogFormat() == LogFormat::kJson ? 5 : 25;
  try {
    std::unique_lock lock(mutex_);
    for (int tick = 1; !changed_.wait_for(lock, kInterval, [this] { return stop_; }); ++tick) {
      Look();
      const unsigned asked = ReportsAsked();
      const bool ask = std::exchange(answered_, asked) != asked;
      if (facts_.phase.empty()) {
        facts_.phase = "start";
        if (ask) Print();
        facts_.phase.clear();
        continue;
      }
      if (terminal_) ShowStatusLine(RenderProgress(facts_, StatusColumns()));
      if (ask || (shown_ && !terminal_ && tick % ticks == 0)) Print();
    }
  } catch (...) {
    // Out of memory: the job continues without its line.
  }
}

}  // namespace gpusort

// Looks at a running job from a thread of its own: what --report draws over time, and the counters of --trace.
// A bounded number of samples: when they are full, every second one goes and the next come half as often, so that a job
// of seconds is seen in hundredths and one of hours in minutes. Start at Recorder.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/thread.hpp"
#include "watch/progress.hpp"
#include "watch/trace.hpp"

namespace gpusort {

/// The job so far, at one time.
struct RecordedSample {
  Nanoseconds time{0};  ///< since the recorder's beginning
  std::array<Nanoseconds, kResourceCount> busy{};
  std::array<std::uint64_t, kResourceCount> bytes{};
  std::uint64_t memory = 0, temp = 0;  ///< in use
};

class Recorder {
 public:
  static constexpr std::size_t kMostSamples = 512;
  using Value = std::function<std::uint64_t()>;

  /// `trace` may be null; all must outlive this, and whoever ends the trace ends this before. `zero` is its first time.
  /// Where the system refuses a thread, only the ends are seen.
  Recorder(const StageClock& clock, Trace* trace, Nanoseconds zero, Value memory, Value temp);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  /// Ends its thread, with a last sample.
  void Stop();
  const std::vector<RecordedSample>& samples() const { return samples_; }

  /// While it lives, `value` is a counter of the trace. Any thread may call it.
  class Gauge {
   public:
    Gauge(Recorder* recorder, std::string name, Value value);  ///< none: nothing
    Gauge(const Gauge&) = delete;
    Gauge& operator=(const Gauge&) = delete;
    ~Gauge();

   private:
    struct Entry {
      std::string name;
      Value value;
    };
    friend class Recorder;
    Recorder* const recorder_;
    std::list<Entry>::iterator entry_;
  };

 private:
  void Loop();
  void Look();  // needs mutex_
  RecordedSample Sample() const;

  const StageClock& clock_;
  Trace* const trace_;
  const Nanoseconds zero_;
  const Value memory_, temp_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  Nanoseconds interval_;
  std::vector<RecordedSample> samples_;
  RecordedSample counted_;  // what the last counters of the trace were made from
  std::list<Gauge::Entry> gauges_;
  Threads thread_;  // one
};

}  // namespace gpusort

// Takes samples of what a running job uses: time of disks and processors, memory, and temp space. The charts of
// --report and the counters of --trace show the samples. Start at Recorder.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/thread.hpp"
#include "watch/clock.hpp"

namespace gpusort {

/// The use of resources by a job up to one point in time, and the memory and temp space in use at that time.
struct RecordedSample {
  Nanoseconds time{0};  ///< the time since the job began
  PerResource<Nanoseconds> busy{};
  PerResource<std::uint64_t> bytes{};
  std::uint64_t memory = 0, temp = 0;  ///< bytes of memory and of temp files in use
};

class Recorder {
 public:
  static constexpr std::size_t kMostSamples = 512;
  using Value = std::function<std::uint64_t()>;

  /// Starts a thread that takes samples (RecordedSample).
  /// - `clock`: tells how long each resource was used. It must outlive this object.
  /// - `trace`: null without --trace. Call Stop() before the trace is destroyed.
  /// - `zero`: the time when the job began.
  /// - `memory`, `temp`: return how many bytes are in use. Any thread may call them.
  Recorder(const StageClock& clock, Trace* trace, Nanoseconds zero, Value memory, Value temp);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  /// Takes the last sample (RecordedSample) and ends the thread.
  void Stop();
  const std::vector<RecordedSample>& samples() const { return samples_; }

  /// Shows `value` as a counter in the trace (--trace) while this object exists. The thread that takes samples calls
  /// `value`.
  class Gauge {
   public:
    Gauge(Recorder* recorder, std::string name, Value value);  ///< `recorder` may be null: then nothing is shown
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
  void Look();  // the caller holds mutex_
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
  RecordedSample counted_;  // the sample that the last counters in the trace show
  std::list<Gauge::Entry> gauges_;
  Threads thread_;
};

}  // namespace gpusort

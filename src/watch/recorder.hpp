// Samples a running job, for the charts of --report and the counters of --trace. Start at Recorder.
// The number of samples is bounded. When the samples are full, every second one is dropped and the interval doubles, so
// that a job of hours takes no more memory than a job of seconds.
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

/// The totals of a job at one time.
struct RecordedSample {
  Nanoseconds time{0};  ///< since the recorder's time zero
  PerResource<Nanoseconds> busy{};
  PerResource<std::uint64_t> bytes{};
  std::uint64_t memory = 0, temp = 0;  ///< bytes in use
};

class Recorder {
 public:
  static constexpr std::size_t kMostSamples = 512;
  using Value = std::function<std::uint64_t()>;

  /// `trace` may be null. All arguments must outlive this object; stop it before the trace ends. `memory` and `temp`
  /// return the bytes in use, and are called from the recorder's thread. Times count from `zero`. If the system refuses
  /// the thread, there are only a first and a last sample.
  Recorder(const StageClock& clock, Trace* trace, Nanoseconds zero, Value memory, Value temp);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  /// Takes the last sample and ends the thread.
  void Stop();
  const std::vector<RecordedSample>& samples() const { return samples_; }

  /// Makes `value` a counter of the trace for as long as the gauge lives. The recorder's thread calls `value`.
  class Gauge {
   public:
    Gauge(Recorder* recorder, std::string name, Value value);  ///< does nothing if `recorder` is null
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
  RecordedSample counted_;  // the sample of the last counters in the trace
  std::list<Gauge::Entry> gauges_;
  Threads thread_;
};

}  // namespace gpusort

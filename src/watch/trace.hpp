// Writes --trace: Chrome's trace events of each thread, for ui.perfetto.dev and chrome://tracing. Start at Trace.
// Stages do not call this. Busy (clock.hpp) adds a slice for each use of a resource, and Pipeline names the threads.
// Each thread has its own ring. Adding a slice allocates no memory, and takes no lock while the ring has room. The
// recorder's thread drains the rings into the file while the job runs. The file is an array of events that ends only
// with the job, each event on a line. So the file of a killed job lacks only the last moments, and Perfetto opens it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpusort {

using Nanoseconds = std::chrono::nanoseconds;

/// The name in traces of this kind of thread: a literal. Pipeline sets it when a thread starts.
inline thread_local const char* thread_role = "helper";

/// The track of the viewer that shows a slice in addition to the track of its thread. A slice of kGpu lasts from the
/// submission to the end of the wait; CUDA events would cost a call each, and the job waits for no more than that.
enum class TraceTrack : std::uint8_t { kNone, kInput, kTemp, kOutput, kBus, kCodec, kGpu };
inline constexpr std::size_t kTraceTracks = 7;

/// The name and the number of a slice, such as "merge window" and 12.
struct Mark {
  static constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};
  const char* name = nullptr;  ///< a literal; null for the name of the resource
  std::uint64_t number = kNoNumber;
  TraceTrack track = TraceTrack::kNone;  ///< kNone for the track of the resource
};

struct TraceSlice {
  const char* name = nullptr;  ///< a literal
  Nanoseconds begin{0}, end{0};
  std::uint64_t bytes = 0, number = Mark::kNoNumber;
  float upload = 0, kernels = 0, download = 0;  ///< seconds of a GPU
  TraceTrack track = TraceTrack::kNone;
};

class Trace {
 public:
  /// The number of threads, in addition to one for each core, that can add slices at once.
  static constexpr std::size_t kOtherThreads = 128;

  /// Creates or empties the file. `memory` is the size of all rings together. Times count from `zero`. `cores` is the
  /// number of threads that the job starts for each role. Throws Error(kUsage) if the file cannot be opened.
  Trace(const std::string& path, std::uint64_t memory, Nanoseconds zero, unsigned cores = 1);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace();

  /// Adds a slice of the calling thread. If the ring of the thread is full, the thread drains all rings first. Slices
  /// of too many threads are dropped and counted.
  void Add(const TraceSlice& slice) noexcept;
  /// Returns a copy of `name` that lives as long as this object, for the name of a slice. Takes a lock.
  const char* Name(const std::string& name);
  /// Returns whether a ring is half full.
  bool waiting() const { return waiting_.load(std::memory_order_relaxed); }

  /// Writes all slices that were added.
  void Drain();
  void AddCounter(std::string_view name, Nanoseconds now, double value);
  /// Drains the rings and writes the last event, with `ending`, which is JSON. Returns 0, or the errno of the first
  /// write that failed.
  int End(Nanoseconds now, const std::string& ending);

  std::uint64_t dropped() const { return dropped_; }
  std::uint64_t slices() const { return slices_; }

 private:
  /// A ring: its thread adds slices, and the thread that holds file_mutex_ takes them.
  struct Buffer {
    std::unique_ptr<TraceSlice[]> slices;
    std::size_t size = 0;
    std::atomic<std::uint64_t> added{0}, taken{0};
    std::atomic<bool> in_use{true};
    const char* role = nullptr;
    unsigned index = 0;  ///< among the rings of its role, from 1
    bool named = false;
  };
  struct Own;

  Buffer* Attach() noexcept;
  void Put(const Buffer& buffer, const TraceSlice& slice);
  void PutSlice(unsigned process, unsigned row, const TraceSlice& slice);
  /// `what` is "process" or "thread".
  void PutName(const char* what, unsigned process, unsigned row, std::string_view name, unsigned place);
  void PutNumber(const char* front, std::uint64_t number);
  void PutTime(const char* front, Nanoseconds time);
  void DrainAll();
  void Flush();

  const std::uint64_t id_;
  const std::size_t most_threads_, buffer_slices_;
  const Nanoseconds zero_;
  const int fd_;
  std::mutex file_mutex_;  // guards error_, slices_, rows_, named_, begun_ and text_
  int error_ = 0;
  std::atomic<bool> waiting_{false};
  std::atomic<std::uint64_t> dropped_{0};
  std::uint64_t slices_ = 0;
  std::mutex mutex_;  // guards buffers_ and names_
  std::set<std::string> names_;
  std::vector<std::shared_ptr<Buffer>> buffers_;
  std::vector<Nanoseconds> rows_[kTraceTracks];  // when the last slice of each row ends
  bool named_[kTraceTracks] = {};
  bool begun_ = false;
  std::string text_;
};

}  // namespace gpusort

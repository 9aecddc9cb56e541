// Writes the file of --trace: what each thread did and when, as Chrome's trace events, for ui.perfetto.dev and
// chrome://tracing. Perfetto can also open the file of a job that was killed. Start at Trace.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

using Nanoseconds = std::chrono::nanoseconds;

/// The role of the calling thread as a trace shows it, such as "reader". Must be a string literal. Pipeline sets it
/// when a thread starts.
inline thread_local const char* thread_role = "helper";

/// A group of rows in the trace viewer, for the use of one resource. The time on kGpu includes waiting for the GPU.
enum class TraceTrack : std::uint8_t { kNone, kInput, kTemp, kOutput, kBus, kCodec, kGpu };
inline constexpr std::size_t kTraceTracks = 7;

/// The name and the number that a trace shows for the use of a resource, such as "merge window" and 12.
struct SliceLabel {
  static constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};
  const char* name = nullptr;  ///< a literal, or null: the trace shows the name of the resource
  std::uint64_t number = kNoNumber;
  TraceTrack track = TraceTrack::kNone;  ///< kNone: the use is drawn on the row of its resource
};

/// One use of a resource by a thread. A trace viewer draws it as a bar from `begin` to `end`.
struct TraceSlice {
  const char* name = nullptr;  ///< a string that lives as long as the trace
  Nanoseconds begin{0}, end{0};
  std::uint64_t bytes = 0, number = SliceLabel::kNoNumber;
  float upload = 0, kernels = 0, download = 0;  ///< the seconds that a GPU spent on transfers and kernels
  TraceTrack track = TraceTrack::kNone;
};

class Trace {
 public:
  /// At most kOtherThreads + `cores` threads (see the constructor) can add slices at a time.
  static constexpr std::size_t kOtherThreads = 128;

  /// Creates or empties the file of --trace. Throws Error(kUsage) if the file cannot be opened.
  /// - `memory`: the size of the buffers of all threads together, in bytes.
  /// - `zero`: the time that is 0 in the file.
  /// - `cores`: at most kOtherThreads + `cores` threads can call Add() at a time.
  Trace(const std::string& path, std::uint64_t memory, Nanoseconds zero, unsigned cores = 1);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace();

  /// Gives the calling thread a row of its own. Call this when the use of a resource begins. At the end of the use, the
  /// thread could get the row of a thread that has ended in the meantime, and slices of both would overlap.
  void Enter() noexcept;
  /// Adds a slice, which describes one use of a resource by the calling thread. If the buffer of the thread is full,
  /// writes its slices to the file first. If there is no buffer for the thread, drops the slice and counts it in
  /// dropped().
  void Add(const TraceSlice& slice) noexcept;
  /// Returns a copy of `name` that lives as long as this object, so that TraceSlice::name can point to it. Takes a
  /// lock.
  const char* Name(const std::string& name);
  /// Returns true if the buffer of some thread is half full. Drain() should then be called.
  bool waiting() const { return waiting_.load(std::memory_order_relaxed); }

  /// Moves the slices (TraceSlice) of all threads from their buffers to the file.
  void Drain();
  void AddCounter(std::string_view name, Nanoseconds now, double value);
  /// Writes all slices (TraceSlice) that are still in buffers to the file. Then writes `ending`, a JSON value, as the
  /// last event. Returns 0, or the errno of the first write that failed.
  int End(Nanoseconds now, const std::string& ending);

  std::uint64_t dropped() const { return dropped_; }
  std::uint64_t slices() const { return slices_; }

 private:
  /// The ring buffer for the slices (TraceSlice) of one thread. The thread adds slices, and any thread that holds
  /// file_mutex_ takes them out.
  struct Buffer {
    std::unique_ptr<TraceSlice[]> slices;
    std::size_t size = 0;
    std::atomic<std::uint64_t> added{0}, taken{0};
    std::atomic<bool> in_use{true};
    const char* role = nullptr;
    unsigned index = 0;  ///< the number of this thread among the threads with the same role, from 1
    bool named = false;
  };
  struct Own;

  Buffer* Attach() noexcept;
  void Put(const Buffer& buffer, const TraceSlice& slice);
  void PutSlice(unsigned process, unsigned row, const TraceSlice& slice);
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
  std::vector<Nanoseconds> rows_[kTraceTracks];  // for each row of each track: the end of the last slice
  bool named_[kTraceTracks] = {};
  bool begun_ = false;
  std::string text_;
};

}  // namespace gpusort

// What each thread of a job did when, as Chrome's trace events: --trace, for ui.perfetto.dev and chrome://tracing.
// The stages do not know of it: Busy (progress.hpp) adds a slice for each use of a resource. Adding takes no memory,
// and no lock while there is room: every thread has a buffer of its own, and who drains it (recorder.hpp) writes the
// file as the job goes on, so that of a job that is killed all but the last moments can be read. Start at Trace.
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

/// What a thread's slices stand under. Set where it starts (Pipeline); a literal.
inline thread_local const char* thread_role = "helper";

/// Where a slice is shown beside its thread.
enum class TraceTrack : std::uint8_t { kNone, kInput, kTemp, kOutput, kBus, kCodec, kGpu };
inline constexpr std::size_t kTraceTracks = 7;

/// What a slice is called: "merge window", 12.
struct Mark {
  static constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};
  const char* name = nullptr;  ///< a literal; null: the resource's
  std::uint64_t number = kNoNumber;
  TraceTrack track = TraceTrack::kNone;  ///< kNone: the resource's
};

struct TraceSlice {
  const char* name = nullptr;  ///< a literal
  Nanoseconds begin{0}, end{0};
  std::uint64_t bytes = 0, number = Mark::kNoNumber;
  float upload = 0, kernels = 0, download = 0;  ///< seconds of a GPU in it
  TraceTrack track = TraceTrack::kNone;
};

class Trace {
 public:
  /// Threads that can add slices at once, beside those for the cores.
  static constexpr std::size_t kOtherThreads = 128;

  /// Empties the file, or makes it; `memory` is what all buffers have together. Times count from `zero` on. `cores`: of
  /// no role there are more threads than that and some. Error(kUsage) if it cannot be opened.
  Trace(const std::string& path, std::uint64_t memory, Nanoseconds zero, unsigned cores = 1);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace();

  /// From any thread, which waits only if its buffer is full: then it writes what there is. Slices of more threads than
  /// there may be are counted, and left out.
  void Add(const TraceSlice& slice) noexcept;
  /// A name for slices that is no literal; it stays as long as this. Takes a lock.
  const char* Name(const std::string& name);
  /// Whether a buffer is half full.
  bool waiting() const { return waiting_.load(std::memory_order_relaxed); }

  /// Writes what was added.
  void Drain();
  void AddCounter(std::string_view name, Nanoseconds now, double value);
  /// Drains and writes the end, with how the job ended, in JSON. Returns errno of what could not be written, or 0.
  int End(Nanoseconds now, const std::string& ending);

  std::uint64_t dropped() const { return dropped_; }
  std::uint64_t slices() const { return slices_; }

 private:
  /// One thread adds and another takes: a ring.
  struct Buffer {
    std::unique_ptr<TraceSlice[]> slices;
    std::size_t size = 0;
    std::atomic<std::uint64_t> added{0}, taken{0};
    std::atomic<bool> in_use{true};
    const char* role = nullptr;
    unsigned index = 0;  ///< among those of its role, from 1
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
  std::mutex file_mutex_;  // of what is below, but for the atomic ones
  int error_ = 0;
  std::atomic<bool> waiting_{false};
  std::atomic<std::uint64_t> dropped_{0};
  std::uint64_t slices_ = 0;
  std::mutex mutex_;  // of buffers_ and names_
  std::set<std::string> names_;
  std::vector<std::shared_ptr<Buffer>> buffers_;
  // Of file_mutex_, too.
  std::vector<Nanoseconds> rows_[kTraceTracks];  // when the last slice of each row ends
  bool named_[kTraceTracks] = {};
  bool begun_ = false;
  std::string text_;
};

}  // namespace gpusort

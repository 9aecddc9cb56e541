// The CUDA backend's access to the CUDA runtime: checked calls, and owners of memory, streams and events. Functions
// that wait for the GPU have a deadline. Destructors do not throw, and do not wait for a GPU that hangs. Start at
// CheckCuda and CudaDevice.
#pragma once

#include <cuda_runtime.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/error.hpp"

namespace gpusort::detail {

/// For tests: makes CUDA calls fail. Calls in destructors do not count. Values of the variable GPUSORT_FAULT_CUDA:
/// - 12:oom - call 12 returns cudaErrorMemoryAllocation
/// - 12:sticky or 12 - call 12 and all later calls return cudaErrorIllegalAddress
/// - 12:hang - the first kernel from call 12 on never ends
/// - 12:illegal - the first kernel from call 12 on writes to an invalid address
/// - 12:flip - copy 12 from the GPU to the host has one wrong bit
class CudaFaults {
 public:
  enum class Kind { kOutOfMemory, kSticky, kHang, kIllegal, kFlip };

  CudaFaults() {
    const char* text = std::getenv("GPUSORT_FAULT_CUDA");
    if (text == nullptr || text[0] == '\0') return;
    static constexpr std::pair<const char*, Kind> kKinds[] = {{"oom", Kind::kOutOfMemory},
                                                              {"sticky", Kind::kSticky},
                                                              {"hang", Kind::kHang},
                                                              {"illegal", Kind::kIllegal},
                                                              {"flip", Kind::kFlip}};
    char* end = nullptr;
    const long long call = std::strtoll(text, &end, 10);
    const std::string name = *end == ':' ? end + 1 : *end == '\0' ? "sticky" : "";
    const auto kind =
        std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& k) { return name == k.first; });
    if (end == text || call < 1 || kind == std::end(kKinds)) {
      throw Error(ErrorCode::kUsage, std::string("GPUSORT_FAULT_CUDA=") + text +
                                         ": expected N, N:oom, N:sticky, N:hang, N:illegal or N:flip");
    }
    FailAt(call, kind->second);
  }
  /// For tests: starts to count CUDA calls at 1 again, and makes call number `call` fail as `kind` says. If `call` is
  /// 0, no call fails. No other thread is allowed to make CUDA calls at the same time.
  void FailAt(std::int64_t call, Kind kind) {
    calls_ = copies_ = 0;
    kind_ = kind;
    fail_at_ = call;
    done_ = false;
  }
  void FailAt(std::int64_t call, bool sticky) { FailAt(call, sticky ? Kind::kSticky : Kind::kOutOfMemory); }
  std::int64_t calls() const { return calls_; }

  cudaError_t Next() {
    const std::int64_t call = ++calls_;
    const std::int64_t fail_at = fail_at_;
    if (fail_at == 0 || call < fail_at) return cudaSuccess;
    if (kind_ == Kind::kSticky) return cudaErrorIllegalAddress;
    return kind_ == Kind::kOutOfMemory && call == fail_at ? cudaErrorMemoryAllocation : cudaSuccess;
  }
  /// For tests: returns true if the fault `kind` is due, but only once. The caller must then start the kernel that
  /// causes the fault before its own kernel.
  bool Due(Kind kind) { return kind_ == kind && fail_at_ > 0 && calls_ + 1 >= fail_at_ && !done_.exchange(true); }
  /// For tests: counts the copies to the host; call this before each of them. Returns true for the one copy in which a
  /// bit must be wrong.
  bool FlipsCopy() { return kind_ == Kind::kFlip && ++copies_ == fail_at_; }

 private:
  std::atomic<std::int64_t> calls_{0}, copies_{0};
  std::atomic<std::int64_t> fail_at_{0};
  std::atomic<Kind> kind_{Kind::kOutOfMemory};
  std::atomic<bool> done_{false};
};

/// Returns the fault injector for tests. A process has only one, because it counts all CUDA calls of the process.
inline CudaFaults& TheCudaFaults() {
  static CudaFaults faults;
  return faults;
}

/// Returns how many simulated GPUs share each real GPU. The number is 1, except in tests that set GPUSORT_GPU_TWINS=N.
/// Each real GPU then acts as N GPUs with separate memory and streams.
inline int GpuTwins() {
  static const int twins = [] {
    const char* text = std::getenv("GPUSORT_GPU_TWINS");
    return text == nullptr ? 1 : std::clamp(std::atoi(text), 1, 16);
  }();
  return twins;
}
/// Returns the CUDA ordinal of the real GPU for GPU number `device`. The two numbers differ only in tests (see
/// GpuTwins).
inline int CudaOrdinal(int device) { return device / GpuTwins(); }

[[noreturn]] inline void ThrowCuda(const char* what, cudaError_t error) {
  const std::string message = std::string(what) + ": " + cudaGetErrorName(error) + ": " + cudaGetErrorString(error);
  if (error == cudaErrorMemoryAllocation) throw Error(ErrorCode::kOutOfMemory, message);
  throw GpuLost(message);
}

/// The calls that are still inside the CUDA driver, with the time when each call began. A very old call shows that the
/// driver is stuck.
class DriverCalls {
 public:
  using Clock = std::chrono::steady_clock;
  /// A call of the CUDA driver. The constructor records that the call begins, and the destructor that it has returned.
  class Call {
   public:
    explicit Call(DriverCalls& calls) : calls_(calls) {
      const std::lock_guard<std::mutex> lock(calls_.mutex_);
      place_ = calls_.begun_.insert(calls_.begun_.end(), Clock::now());
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() {
      const std::lock_guard<std::mutex> lock(calls_.mutex_);
      calls_.begun_.erase(place_);
    }

   private:
    DriverCalls& calls_;
    std::list<Clock::time_point>::iterator place_;
  };
  /// Returns the time since the oldest unfinished call began, or 0 if all calls have returned.
  Clock::duration Longest() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return begun_.empty() ? Clock::duration::zero() : Clock::now() - begun_.front();
  }

 private:
  std::mutex mutex_;
  std::list<Clock::time_point> begun_;  ///< the oldest call is first
};
inline DriverCalls& TheDriverCalls() {
  static DriverCalls calls;
  return calls;
}

/// Makes the CUDA call `call()` and returns its error. In tests, an injected fault (CudaFaults) may replace the call.
template <typename Call>
cudaError_t TryCuda(Call&& call) {
  cudaError_t error = TheCudaFaults().Next();
  if (error == cudaSuccess) {
    const DriverCalls::Call in_driver(TheDriverCalls());
    error = call();
    // Clears CUDA's last error. The check after the next kernel launch would otherwise report this error, because it
    // calls cudaGetLastError.
    if (error != cudaSuccess) cudaGetLastError();
  }
  return error;
}

/// Makes the CUDA call `call()` as TryCuda does. Throws Error(kOutOfMemory) if memory was refused, and GpuLost after
/// any other error. The message consists of `what`, and the name and the text of the CUDA error.
template <typename Call>
void CheckCuda(const char* what, Call&& call) {
  const cudaError_t error = TryCuda(std::forward<Call>(call));
  if (error != cudaSuccess) ThrowCuda(what, error);
}

/// True once a GPU of this process has missed its deadline. Never becomes false again.
inline std::atomic<bool> a_gpu_hangs{false};

/// Throws Error(kGpuLost) for a GPU that hangs. The error is not a GpuLost: the job cannot continue on other GPUs.
/// `who` is the name of the GPU in the message.
[[noreturn]] inline void ThrowHangs(const std::string& who, std::chrono::nanoseconds waited) {
  a_gpu_hangs = true;
  // The other GPUs cannot continue: they wait for resources that this GPU still uses.
  throw Error(ErrorCode::kGpuLost,
              who + " gave no sign for " +
                  std::to_string(std::chrono::duration_cast<std::chrono::seconds>(waited).count()) +
                  " seconds (--gpu-timeout): it hangs, or other programs keep it busy; nvidia-smi and the kernel log "
                  "(NVRM: Xid) tell more");
}

/// One GPU, shared by all objects that use it. Has functions that make the GPU current in the calling thread, and
/// functions that wait for the GPU with a deadline.
class CudaDevice {
 public:
  explicit CudaDevice(int ordinal, std::chrono::nanoseconds deadline = std::chrono::minutes(1))
      : ordinal_(ordinal), deadline_(deadline) {}
  int ordinal() const { return ordinal_; }
  /// Remembers that kernels of this GPU can read the memory of GPU `device`. Reaches(device) then returns true.
  void AddReached(int device) const { reached_ |= Bit(device); }
  /// Returns true if kernels of this GPU can read the memory of GPU `device`, which may be this GPU.
  bool Reaches(int device) const { return device == ordinal_ || (reached_ & Bit(device)) != 0; }
  std::chrono::nanoseconds deadline() const { return deadline_; }
  bool hung() const { return hung_; }

  /// Makes the GPU current in the calling thread. Every public function of the CUDA backend must call this first.
  void Enter() const {
    CheckCuda("cudaSetDevice", [&] { return cudaSetDevice(CudaOrdinal(ordinal_)); });
  }
  /// For destructors: makes the GPU current in the calling thread. If the result is false, this GPU is lost or some GPU
  /// hangs, and the destructor must not free any memory.
  bool EnterToFree() const noexcept { return !a_gpu_hangs && cudaSetDevice(CudaOrdinal(ordinal_)) == cudaSuccess; }

  /// Register() pins host memory, which makes copies faster. If the system refuses, copies still work. Unregister()
  /// ends the pinning, but does nothing if this GPU is lost or some GPU hangs.
  void Register(void* data, std::uint64_t bytes) const {
    if (TryCuda([&] { return cudaSetDevice(CudaOrdinal(ordinal_)); }) != cudaSuccess) return;
    TryCuda([&] { return cudaHostRegister(data, bytes, cudaHostRegisterPortable); });
  }
  void Unregister(void* data) const noexcept {
    if (EnterToFree()) cudaHostUnregister(data);
    cudaGetLastError();
  }
  /// Returns true if the host memory at `data` is pinned. If it is not pinned, a copy to or from it waits inside the
  /// driver for all work queued before the copy, without a deadline. The caller must therefore wait for its kernels
  /// before the copy.
  static bool Registered(const void* data) {
    cudaPointerAttributes facts{};
    CheckCuda("cudaPointerGetAttributes", [&] { return cudaPointerGetAttributes(&facts, data); });
    return facts.type == cudaMemoryTypeHost;
  }

  /// Blocks until the stream has done all queued work. Throws GpuLost if the work fails. If the deadline passes first,
  /// throws another Error (see ThrowHangs), and hung() returns true from then on.
  void Wait(cudaStream_t stream) const {
    WaitUntil([&] { return cudaStreamQuery(stream); });
  }
  void Wait(cudaEvent_t event) const {
    WaitUntil([&] { return cudaEventQuery(event); });
  }

  /// Returns true if the stream has reached the event. Throws GpuLost if the work before the event failed. The fault
  /// injector for tests does not count these calls, because their number depends on chance.
  bool Passed(cudaEvent_t event) const {
    const cudaError_t error = cudaEventQuery(event);
    if (error == cudaSuccess) return true;
    cudaGetLastError();
    if (error != cudaErrorNotReady) ThrowCuda("cudaEventQuery", error);
    return false;
  }
  /// For destructors: waits until the stream has done its work, but not longer than deadline(). Returns at once if the
  /// GPU is lost or hangs.
  void Drain(cudaStream_t stream) const noexcept {
    if (!hung_ && cudaSetDevice(CudaOrdinal(ordinal_)) == cudaSuccess) Poll([&] { return cudaStreamQuery(stream); });
    cudaGetLastError();
  }

 private:
  template <typename Query>
  void WaitUntil(Query query) const {
    const cudaError_t error = TryCuda([&] { return Poll(query); });
    if (hung_) ThrowHangs("GPU " + std::to_string(ordinal_), deadline_);
    if (error != cudaSuccess) ThrowCuda("waiting for the GPU", error);
  }

  /// Calls `query` until it returns another result than cudaErrorNotReady. Returns this result, or
  /// cudaErrorLaunchTimeout if the deadline passes.
  template <typename Query>
  cudaError_t Poll(Query query) const noexcept {
    using Clock = std::chrono::steady_clock;
    // Spins during short waits, and sleeps during long waits. On busy cores, a yield instead of the sleep takes longer.
    constexpr auto kSpin = std::chrono::microseconds(50);
    constexpr std::chrono::nanoseconds kShortest = std::chrono::microseconds(10),
                                       kLongest = std::chrono::microseconds(200);
    const Clock::time_point start = Clock::now();
    for (;;) {
      // Another thread has found that the GPU hangs.
      if (hung_) return cudaErrorLaunchTimeout;
      const cudaError_t error = query();
      if (error != cudaErrorNotReady) return error;
      cudaGetLastError();
      const auto waited = Clock::now() - start;
      if (waited > deadline_) {
        hung_ = a_gpu_hangs = true;
        return cudaErrorLaunchTimeout;
      }
      if (waited < kSpin) continue;
      // Without this setting of the calling thread, a sleep takes 50 us longer than requested.
      thread_local const bool exact = prctl(PR_SET_TIMERSLACK, 1000UL) == 0;
      static_cast<void>(exact);
      std::this_thread::sleep_for(std::clamp<std::chrono::nanoseconds>(waited / 16, kShortest, kLongest));
    }
  }

  /// Returns the bit for GPU `device` in reached_, the set of GPUs whose memory this GPU can read. Returns 0 for the
  /// host (a negative number) and for GPU numbers from 64 on, which have no bit.
  static std::uint64_t Bit(int device) { return device < 0 || device >= 64 ? 0 : std::uint64_t{1} << device; }

  const int ordinal_;
  const std::chrono::nanoseconds deadline_;
  mutable std::atomic<std::uint64_t> reached_{0};
  mutable std::atomic<bool> hung_{false};
};

using DevicePtr = std::shared_ptr<const CudaDevice>;

inline constexpr unsigned kFetchThreads = 256;
template <typename = void>
__global__ void __launch_bounds__(kFetchThreads)
    FetchKernel(unsigned char* to, const unsigned char* from, std::uint64_t bytes) {
  for (std::uint64_t i = threadIdx.x; i < bytes; i += kFetchThreads) to[i] = from[i];
}

struct FetchedBytes {
  const unsigned char* from;
  std::uint32_t at, bytes;
};
/// Copies several ranges of bytes with one kernel. Block number i copies reads[i].bytes bytes from reads[i].from to the
/// address `to + reads[i].at`.
template <typename = void>
__global__ void __launch_bounds__(kFetchThreads) FetchAllKernel(unsigned char* to, const FetchedBytes* reads) {
  const FetchedBytes read = reads[blockIdx.x];
  for (std::uint32_t i = threadIdx.x; i < read.bytes; i += kFetchThreads) to[read.at + i] = read.from[i];
}

// These kernels cause GPU faults in tests (see CudaFaults).
template <typename = void>
__global__ void NeverEndingKernel() {
  for (;;) __nanosleep(1'000'000);
}
template <typename = void>
__global__ void WriteByteKernel(volatile unsigned char* to, unsigned char flip) {
  *to = static_cast<unsigned char>(*to ^ flip);
}

class Event;

/// A CUDA stream that does not wait for the default stream. The stream must be idle when it is destroyed.
class Stream {
 public:
  enum class Priority { kUsual, kHigh };
  explicit Stream(DevicePtr device, Priority priority = Priority::kUsual) : device_(std::move(device)) {
    int least = 0, greatest = 0;
    if (priority == Priority::kHigh) {
      CheckCuda("cudaDeviceGetStreamPriorityRange",
                [&] { return cudaDeviceGetStreamPriorityRange(&least, &greatest); });
    }
    CheckCuda("cudaStreamCreate",
              [&] { return cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest); });
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (device_->EnterToFree()) cudaStreamDestroy(stream_);
    cudaGetLastError();
  }
  cudaStream_t get() const { return stream_; }
  const CudaDevice& device() const { return *device_; }
  void Wait() const { device_->Wait(stream_); }
  /// Work that is queued on this stream later will start only after `event`. Record the event before this call.
  void WaitFor(const Event& event) const;

  /// Queues a copy of `bytes` bytes. `kind` says whether `from` and `to` are in host memory or in GPU memory. Pinned
  /// host memory must stay valid until the copy is done.
  void Copy(void* to, const void* from, std::uint64_t bytes, cudaMemcpyKind kind) const {
    if (kind == cudaMemcpyDeviceToHost) MakeWrongIfAsked(from, bytes);
    CheckCuda("cudaMemcpyAsync", [&] { return cudaMemcpyAsync(to, from, bytes, kind, stream_); });
  }
  /// Queues a copy from the memory of GPU `device` to the memory of this GPU.
  void CopyAcross(void* to, const void* from, int device, std::uint64_t bytes) const {
    CheckCuda("cudaMemcpyPeerAsync", [&] {
      return cudaMemcpyPeerAsync(to, CudaOrdinal(device_->ordinal()), from, CudaOrdinal(device), bytes, stream_);
    });
  }
  /// Queues a copy of a few bytes from GPU memory at `from` to pinned host memory at `pinned`. A kernel does the copy.
  /// A normal copy would wait until large copies of other streams have crossed the bus.
  void Fetch(void* pinned, const void* from, std::uint64_t bytes) const {
    MakeWrongIfAsked(from, bytes);
    Launch("FetchKernel", FetchKernel<>, 1, kFetchThreads, static_cast<unsigned char*>(pinned),
           static_cast<const unsigned char*>(from), bytes);
  }
  /// Queues a copy of `count` (> 0) ranges of bytes from GPU memory to pinned host memory, by one kernel. Range i goes
  /// to the address `pinned + reads[i].at`. `reads` must also be in pinned memory.
  void FetchAll(void* pinned, const FetchedBytes* reads, std::uint64_t count) const {
    MakeWrongIfAsked(reads[0].from, reads[0].bytes);
    Launch("FetchAllKernel", FetchAllKernel<>, count, kFetchThreads, static_cast<unsigned char*>(pinned), reads);
  }
  template <typename... Parameters, typename... Arguments>
  void Launch(const char* what, void (*kernel)(Parameters...), std::uint64_t blocks, unsigned threads,
              const Arguments&... arguments) const {
    if (blocks > 0x7FFFFFFF) throw Error(ErrorCode::kInternal, std::string(what) + ": more than 2^31 blocks");
    if (TheCudaFaults().Due(CudaFaults::Kind::kHang)) Launch("NeverEndingKernel", NeverEndingKernel<>, 1, 1);
    if (TheCudaFaults().Due(CudaFaults::Kind::kIllegal)) {
      Launch("WriteByteKernel", WriteByteKernel<>, 1, 1, static_cast<unsigned char*>(nullptr),
             static_cast<unsigned char>(1));
    }
    CheckCuda(what, [&] {
      kernel<<<static_cast<unsigned>(blocks), threads, 0, stream_>>>(arguments...);
      return cudaGetLastError();
    });
  }

 private:
  /// For tests: flips one bit in the `bytes` bytes at `from` if the fault injector asks for a wrong bit in this copy.
  void MakeWrongIfAsked(const void* from, std::uint64_t bytes) const {
    if (bytes == 0 || !TheCudaFaults().FlipsCopy()) return;
    const std::uint64_t bit = bytes * 8 / 7 * 3 % (bytes * 8);
    auto* const at = static_cast<unsigned char*>(const_cast<void*>(from)) + bit / 8;
    Launch("WriteByteKernel", WriteByteKernel<>, 1, 1, at, static_cast<unsigned char>(1u << bit % 8));
  }

  DevicePtr device_;
  cudaStream_t stream_ = nullptr;
};

/// Waits in its destructor until the stream is idle, also after an exception. Declare this object after the host blocks
/// and GPU buffers that the stream uses. They are then destroyed only after the GPU has used them.
class DrainAtExit {
 public:
  explicit DrainAtExit(const Stream& stream) : stream_(stream) {}
  DrainAtExit(const DrainAtExit&) = delete;
  DrainAtExit& operator=(const DrainAtExit&) = delete;
  ~DrainAtExit() { stream_.device().Drain(stream_.get()); }

 private:
  const Stream& stream_;
};

class Event {
 public:
  explicit Event(DevicePtr device) : device_(std::move(device)) {
    CheckCuda("cudaEventCreate", [&] { return cudaEventCreateWithFlags(&event_, cudaEventDisableTiming); });
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() {
    if (device_->EnterToFree()) cudaEventDestroy(event_);
    cudaGetLastError();
  }
  void Record(const Stream& stream) const {
    CheckCuda("cudaEventRecord", [&] { return cudaEventRecord(event_, stream.get()); });
  }
  bool Passed() const { return device_->Passed(event_); }
  void Wait() const { device_->Wait(event_); }
  cudaEvent_t get() const { return event_; }

 private:
  DevicePtr device_;
  cudaEvent_t event_ = nullptr;
};

inline void Stream::WaitFor(const Event& event) const {
  CheckCuda("cudaStreamWaitEvent", [&] { return cudaStreamWaitEvent(stream_, event.get(), 0); });
}

/// Measures the time between two points in a stream, for statistics. Ignores CUDA errors, because other calls report
/// them.
class Stopwatch {
 public:
  explicit Stopwatch(DevicePtr device) : device_(std::move(device)) {
    for (cudaEvent_t& event : events_) cudaEventCreate(&event);
    cudaGetLastError();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    if (device_->EnterToFree()) {
      for (cudaEvent_t event : events_) cudaEventDestroy(event);
    }
    cudaGetLastError();
  }
  void Start(const Stream& stream) { Mark(stream, 0); }
  void Stop(const Stream& stream) { Mark(stream, 1); }
  /// Returns the seconds between Start and Stop, or 0 if one of them was not called. The stream must already have
  /// finished all work that was queued before Stop.
  double Take() {
    float milliseconds = 0;
    const bool known = marked_ == 3 && cudaEventElapsedTime(&milliseconds, events_[0], events_[1]) == cudaSuccess;
    marked_ = 0;
    cudaGetLastError();
    return known ? milliseconds / 1e3 : 0;
  }

 private:
  void Mark(const Stream& stream, unsigned which) {
    if (events_[which] != nullptr && cudaEventRecord(events_[which], stream.get()) == cudaSuccess)
      marked_ |= 1u << which;
    // Clears CUDA's last error. The check after the next kernel launch would otherwise report this error, because it
    // calls cudaGetLastError.
    cudaGetLastError();
  }

  DevicePtr device_;
  cudaEvent_t events_[2] = {};
  unsigned marked_ = 0;
};

/// Owns GPU memory that is aligned to 256 bytes.
class DeviceMemory {
 public:
  DeviceMemory(DevicePtr device, std::uint64_t bytes) : device_(std::move(device)) {
    const std::string what = "cudaMalloc of " + std::to_string(bytes) + " bytes";
    CheckCuda(what.c_str(), [&] { return cudaMalloc(&data_, bytes); });
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() {
    if (device_->EnterToFree()) cudaFree(data_);
    cudaGetLastError();
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  DevicePtr device_;
  void* data_ = nullptr;
};

/// Owns pinned (page-locked) host memory. Its size counts toward the limit on host memory (the option --memory).
class PinnedMemory {
 public:
  PinnedMemory(DevicePtr device, HostMemory& memory, std::uint64_t bytes)
      : device_(std::move(device)), reserved_(memory, bytes) {
    CheckCuda("cudaHostAlloc", [&] { return cudaHostAlloc(&data_, bytes, cudaHostAllocPortable); });
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() {
    if (device_->EnterToFree()) cudaFreeHost(data_);
    cudaGetLastError();
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  struct Reservation {
    Reservation(HostMemory& of, std::uint64_t size) : memory(of), bytes(size) { memory.Reserve(bytes); }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    ~Reservation() { memory.Release(bytes); }
    HostMemory& memory;
    const std::uint64_t bytes;
  };

  DevicePtr device_;
  Reservation reserved_;
  void* data_ = nullptr;
};

/// A pool of streams for short copies. Any thread may borrow a stream. The pool grows with the number of threads that
/// copy at the same time.
class StreamPool {
 public:
  explicit StreamPool(DevicePtr device) : device_(std::move(device)) {}

  /// Borrows a stream from the pool for one thread and one scope. The destructor waits for the stream and returns it to
  /// the pool.
  class Borrowed {
   public:
    explicit Borrowed(StreamPool& pool) : pool_(pool), stream_(pool.Take()) {}
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    ~Borrowed() {
      stream_->device().Drain(stream_->get());
      const std::lock_guard<std::mutex> lock(pool_.mutex_);
      // push_back does not throw here, because Take() has reserved the space.
      pool_.idle_.push_back(std::move(stream_));
    }
    const Stream& operator*() const { return *stream_; }
    const Stream* operator->() const { return stream_.get(); }

   private:
    StreamPool& pool_;
    std::unique_ptr<Stream> stream_;
  };

 private:
  std::unique_ptr<Stream> Take() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Stream> stream = std::move(idle_.back());
        idle_.pop_back();
        return stream;
      }
    }
    auto stream = std::make_unique<Stream>(device_, Stream::Priority::kHigh);
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.reserve(++made_);
    return stream;
  }

  const DevicePtr device_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Stream>> idle_;
  std::size_t made_ = 0;
};

}  // namespace gpusort::detail

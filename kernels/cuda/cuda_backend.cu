// The CUDA backend: opens a GPU and its lanes, and watches over a driver that may hang. Start at CudaBackend.
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/backend_module.hpp"
#include "kernels/cuda/arena.cuh"
#include "kernels/cuda/device_memory.cuh"
#include "kernels/cuda/lane.cuh"
#include "kernels/error.hpp"
#include "kernels/slot_pool.hpp"
#include "kernels/thread.hpp"
#include "version.hpp"

namespace gpusort {
namespace {

using cuda::Arena;
using detail::CheckCuda;
using detail::CudaDevice;
using detail::CudaOrdinal;
using detail::DevicePtr;
using cuda::FailInternal;
using detail::TryCuda;

/// Returns the UUID and the PCI address in the form of nvidia-smi.
std::string IdOf(const cudaDeviceProp& properties) {
  std::string text = "UUID GPU-";
  char part[32];
  for (int i = 0; i < 16; ++i) {
    std::snprintf(part, sizeof part, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(properties.uuid.bytes[i])));
    text += part;
  }
  std::snprintf(part, sizeof part, ", PCI %08X:%02X:%02X.0", static_cast<unsigned>(properties.pciDomainID),
                static_cast<unsigned>(properties.pciBusID), static_cast<unsigned>(properties.pciDeviceID));
  return text + part;
}

/// Watches for driver calls that do not return, on a separate thread. The thread of such a call cannot be joined, so
/// the job cannot continue.
class DriverWatch {
 public:
  DriverWatch(DevicePtr device, StuckDriverHandler handler) : device_(std::move(device)), handler_(handler) {
    // If the system refuses this thread, only the user can end a call that hangs.
    if (handler_ != nullptr) static_cast<void>(StartThread(thread_, [this] { Watch(); }));
  }
  DriverWatch(const DriverWatch&) = delete;
  DriverWatch& operator=(const DriverWatch&) = delete;
  ~DriverWatch() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    end_.notify_one();
  }

 private:
  void Watch() {
    // A call may itself wait for the deadline. Registering a quarter of a large memory can also take a minute. The
    // limit is shorter after another lane has found that the GPU hangs.
    constexpr std::chrono::seconds kGrace{5};
    std::unique_lock<std::mutex> lock(mutex_);
    while (!end_.wait_for(lock, std::chrono::milliseconds(500), [&] { return ended_; })) {
      const std::chrono::nanoseconds limit =
          kGrace + (device_->hung() ? std::chrono::nanoseconds{} : kPatience * device_->deadline());
      const std::chrono::nanoseconds longest = detail::TheDriverCalls().Longest();
      if (longest < limit) continue;
      handler_("GPU " + std::to_string(device_->ordinal()) + ": a call of its driver has not come back for " +
               std::to_string(std::chrono::duration_cast<std::chrono::seconds>(longest).count()) +
               " seconds, so that the process must end; give the command again with --device cpu");
    }
  }
  static constexpr int kPatience = 5;

  const DevicePtr device_;
  const StuckDriverHandler handler_;
  std::mutex mutex_;
  std::condition_variable end_;
  bool ended_ = false;
  Threads thread_;  ///< the last member, so that it is joined before the other members are destroyed
};

class CudaBackend : public ArenaBackend<Arena> {
 public:
  CudaBackend(int ordinal, std::chrono::seconds timeout, StuckDriverHandler handler)
      : device_(std::make_shared<CudaDevice>(ordinal, timeout)) {
    int count = 0;
    CheckCuda("cudaGetDeviceCount", [&] { return cudaGetDeviceCount(&count); });
    count *= detail::GpuTwins();
    if (ordinal < 0 || ordinal >= count) {
      throw Error(ErrorCode::kGpuLost,
                  "there is no GPU " + std::to_string(ordinal) + ": found " + std::to_string(count));
    }
    cudaDeviceProp properties;
    CheckCuda("cudaGetDeviceProperties", [&] { return cudaGetDeviceProperties(&properties, CudaOrdinal(ordinal)); });
    device_->Enter();
    // Creates the context. Fails if this build has no code for the device.
    cudaFuncAttributes attributes;
    CheckCuda("cudaFuncGetAttributes",
              [&] { return cudaFuncGetAttributes(&attributes, detail::InspectRecordsKernel<>); });
    std::size_t free_bytes = 0, all_bytes = 0;
    CheckCuda("cudaMemGetInfo", [&] { return cudaMemGetInfo(&free_bytes, &all_bytes); });
    limits_.name = "GPU " + std::to_string(ordinal) + ", " + properties.name;
    limits_.id = IdOf(properties);
    limits_.gpu = true;
    limits_.device = ordinal;
    limits_.device_bytes = free_bytes / detail::GpuTwins();
    watch_.emplace(device_, handler);
  }

  std::uint64_t LaneBytes(const RecordLayout& layout, std::uint64_t slot_bytes) const override {
    device_->Enter();  // the sizes of workspaces depend on the device
    // The part that all lanes share exists once, but can only be counted as a part of a lane.
    return cuda::LaneMemoryMap(layout, slot_bytes).bytes() + cuda::CommonMemoryMap(layout).bytes();
  }

  std::unique_ptr<Lane> OpenLane() override {
    device_->Enter();
    const std::shared_ptr<Arena> arena = this->arena();
    const RecordLayout& layout = arena->shape().layout;
    return !layout.fixed()   ? cuda::MakeLineLane(arena)
           : layout.direct() ? cuda::MakeNumberLane(arena)
                             : cuda::MakeFixedLane(arena);
  }

  void Pin(void* data, std::uint64_t bytes) override {
    // The next call that needs a lost GPU reports the loss.
    if (data != nullptr && bytes > 0) device_->Register(data, bytes);
  }
  void Unpin(void* data) override {
    if (data != nullptr) device_->Unregister(data);
  }

  std::vector<std::uint64_t> BytesBefore(std::span<const SearchRange> ranges, RecordSpan cut_record) override {
    const std::shared_ptr<Arena> arena = this->arena();
    std::vector<std::uint64_t> counts;
    counts.reserve(ranges.size());
    if (ranges.empty()) return counts;
    device_->Enter();
    arena->BytesBefore(ranges, cut_record, counts);
    return counts;
  }

  void Read(std::span<const SlotRead> reads) override {
    const std::shared_ptr<Arena> arena = this->arena();
    device_->Enter();
    arena->Read(reads);
  }

  bool ReachInto(int device) override {
    const int own = CudaOrdinal(device_->ordinal()), other = CudaOrdinal(device);
    int can = own == other ? 1 : 0;
    // The next call that needs a lost GPU reports the loss.
    if (can == 0 && (TryCuda([&] { return cudaSetDevice(own); }) != cudaSuccess ||
                     TryCuda([&] { return cudaDeviceCanAccessPeer(&can, own, other); }) != cudaSuccess || can == 0)) {
      return false;
    }
    const cudaError_t error =
        own == other ? cudaSuccess : TryCuda([&] { return cudaDeviceEnablePeerAccess(other, 0); });
    if (error != cudaSuccess && error != cudaErrorPeerAccessAlreadyEnabled) return false;
    device_->AddReached(device);
    return true;
  }

  std::uint64_t device_peak() const override { return peak_; }

 private:
  std::shared_ptr<Arena> NewArena(const ArenaShape& shape, HostMemory& memory) override {
    if (shape.slots < 2) FailInternal("a lane needs two slots");
    device_->Enter();
    auto arena = std::make_shared<Arena>(device_, shape, memory);
    peak_ = std::max(peak_.load(), arena->device_bytes());
    return arena;
  }

  const DevicePtr device_;
  /// Set after the device is open, because an opening that takes too long is abandoned and must not be watched.
  std::optional<DriverWatch> watch_;
  std::atomic<std::uint64_t> peak_{0};
};

/// Returns the result of `call`, a call of a driver that may not answer. If the driver does not answer, the thread of
/// the call is blocked for ever. The call therefore runs on a separate thread, which is abandoned after `timeout`.
template <typename T>
T InTime(const std::string& who, std::chrono::seconds timeout, const std::function<T()>& call) {
  struct Calling {
    std::mutex mutex;
    std::condition_variable ended;
    bool has_ended = false;
    T result{};
    std::exception_ptr error;
  };
  const auto calling = std::make_shared<Calling>();
  const auto body = [calling, call] {
    T result{};
    std::exception_ptr error;
    try {
      result = call();
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(calling->mutex);
    calling->result = std::move(result);
    calling->error = error;
    calling->has_ended = true;
    calling->ended.notify_one();
  };
  Threads thread;
  if (!StartThread(thread, body).empty()) body();
  {
    std::unique_lock lock(calling->mutex);
    if (!calling->ended.wait_for(lock, timeout, [&] { return calling->has_ended; })) {
      thread.back().detach();
      detail::ThrowHangs(who, timeout);
    }
  }
  thread.clear();
  if (calling->error) std::rethrow_exception(calling->error);
  return std::move(calling->result);
}

std::unique_ptr<Backend> OpenInTime(int device, std::chrono::seconds timeout, StuckDriverHandler handler) {
  try {
    return InTime<std::unique_ptr<Backend>>("GPU " + std::to_string(device), timeout,
                                            [=] { return std::make_unique<CudaBackend>(device, timeout, handler); });
  } catch (const Error& error) {
    // A GPU whose memory is too full for a context is unusable. A smaller plan would not help.
    if (error.code() != ErrorCode::kOutOfMemory) throw;
    throw GpuLost(error.what());
  }
}

int CountInTime(std::chrono::seconds timeout) {
  return InTime<int>("the GPUs' driver", timeout, [] {
    int count = 0;
    CheckCuda("cudaGetDeviceCount", [&] { return cudaGetDeviceCount(&count); });
    return count * detail::GpuTwins();
  });
}

bool AnyHangs() { return detail::a_gpu_hangs; }

constexpr CudaModule kModule{GPUSORT_MODULE_VERSION, OpenInTime, CountInTime, AnyHangs};

}  // namespace
}  // namespace gpusort

const gpusort::CudaModule* gpusort_cuda_module() { return &gpusort::kModule; }

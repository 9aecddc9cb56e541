// The interface through which a job sorts and merges records in memory. A Backend works on CPU threads or on GPUs, and
// divides its memory into buffers of equal size, the slots. A Lane is one worker of a Backend. All backends return the
// same bytes. Start at Lane.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/records/record.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

/// Counts the host memory that a job uses, and enforces the limit of the option --memory. The code that makes a large
/// allocation on the host, including pinned memory, must count the allocation here. Thread-safe.
class HostMemory {
 public:
  /// Makes a counter with a limit of `limit` bytes. If `elastic` is true, Reserve never fails, so that one very long
  /// line may exceed the limit.
  explicit HostMemory(std::uint64_t limit, bool elastic = false) : limit_(limit), elastic_(elastic) {}
  /// Adds `bytes` to the memory in use. Throws Error(kOutOfMemory) if the sum would exceed the limit. If the counter is
  /// elastic (see the constructor), never throws.
  void Reserve(std::uint64_t bytes);
  void Release(std::uint64_t bytes) noexcept;
  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t left() const { return limit_ - std::min<std::uint64_t>(limit_, used_); }
  std::uint64_t peak() const { return peak_; }

 private:
  const std::uint64_t limit_;
  const bool elastic_;
  std::atomic<std::uint64_t> used_{0};
  std::atomic<std::uint64_t> peak_{0};
};

/// A page-aligned block of host memory, whose size counts toward the limit of a HostMemory. A page of the block takes
/// RAM only once it is touched. Movable; the destructor frees the block.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(HostMemory& memory, std::uint64_t bytes);
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  ~HostBuffer();
  std::byte* data() const { return data_; }
  std::uint64_t size() const { return bytes_; }

 private:
  HostMemory* memory_ = nullptr;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// The device number of the CPU and of host memory. The device number of a GPU is its CUDA ordinal: 0, 1, ...
inline constexpr int kOnHost = -1;

/// The properties of an open backend: of the CPU, or of one or more GPUs.
struct BackendLimits {
  std::string name;  ///< for people: "CPU, 2 threads" or "GPU 0, NVIDIA H200"
  std::string id;    ///< identifies a GPU in every process: "UUID GPU-..., PCI 0000:3B:00.0"
  bool gpu = false;
  int device = kOnHost;  ///< the CUDA ordinal of the first GPU of the backend; kOnHost for the CPU
  unsigned gpus = 1;     ///< the number of GPUs of the backend; 1 on the CPU
  /// The free memory of each GPU, in bytes, when the backend was opened. 0 for the CPU backend, which uses host memory.
  std::uint64_t device_bytes = 0;
  unsigned threads = 1;  ///< the number of host threads that sort

  std::string full_name() const { return id.empty() ? name : name + " (" + id + ")"; }
};

/// The size of the arena, which is the memory that Backend::MakeArena allocates, and how it is divided. The backend
/// divides it into slots (buffers of equal size) and lanes (workers). If a backend has several GPUs, each GPU gets an
/// equal share of the slots and of the lanes.
struct ArenaShape {
  RecordLayout layout;
  /// The size of a slot (a buffer for records) in bytes. For lines, it must be below 2^32. A slot must hold fewer than
  /// 2^32 records.
  std::uint64_t slot_bytes = 0;
  /// The number of slots (buffers of slot_bytes bytes). Each lane (worker) that sorts needs up to two slots. Each list
  /// of sorted records that stays in the backend's memory needs one slot. A CPU lane that only merges needs no slot.
  std::uint32_t slots = 0;
  std::uint32_t lanes = 1;
  std::uint64_t batch_lines = 0;  ///< the maximum number of lines that a CPU lane sorts at once; 0 means SlotRecords()
  bool grows = false;  ///< true: the CPU backend also accepts a batch of a single line that is larger than a slot
};

/// One block of the input of a batch (the records that are sorted together), in host memory. The destructor returns the
/// memory to its owner. All blocks of a batch together contain whole records. A record of fixed size never crosses the
/// border between two blocks; a line may.
class InputBlock {
 public:
  virtual ~InputBlock() = default;
  virtual std::span<const std::byte> bytes() const = 0;
};

/// Returns the blocks of one batch, in input order. A batch is the records that are sorted together. Each call of
/// Next() returns one block, and null after the last block.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual std::unique_ptr<InputBlock> Next() = 0;
};

/// The sorted records of one batch (records that were sorted together), in a buffer of the backend. The destructor
/// frees the buffer.
class SortedRecords {
 public:
  virtual ~SortedRecords() = default;
  virtual const std::byte* data() const = 0;      ///< the address of the first record, in the memory of device()
  virtual int device() const { return kOnHost; }  ///< the CUDA ordinal of a GPU, or kOnHost
  bool on_device() const { return device() != kOnHost; }
  virtual std::uint64_t bytes() const = 0;
  virtual std::uint64_t records() const = 0;
  /// Returns true if the records were in order before they were sorted. Records with equal keys count as in order.
  virtual bool was_sorted() const = 0;
  /// Copies out.size() bytes of the sorted records, from byte `offset` on, to host memory. Waits for the copy.
  /// Thread-safe.
  virtual void Read(std::uint64_t offset, std::span<std::byte> out) const = 0;
};

/// Sorted records in memory that this object owns. `Memory` is the type of the owned memory, such as HostBuffer. The
/// records start at the address that its function data() returns.
template <typename Memory>
class OwnedRecords : public SortedRecords {
 public:
  OwnedRecords(Memory memory, std::uint64_t bytes, std::uint64_t records, bool was_sorted)
      : memory_(std::move(memory)), bytes_(bytes), records_(records), was_sorted_(was_sorted) {}
  const std::byte* data() const override { return memory_.data(); }
  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t records() const override { return records_; }
  bool was_sorted() const override { return was_sorted_; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const final {
    if (offset > bytes_ || out.size() > bytes_ - offset) {
      throw Error(ErrorCode::kInternal, "a read past the end of the sorted records");
    }
    if (!out.empty()) Copy(data() + offset, out);
  }

 private:
  virtual void Copy(const std::byte* from, std::span<std::byte> out) const {
    std::memcpy(out.data(), from, out.size());
  }

  const Memory memory_;
  const std::uint64_t bytes_, records_;
  const bool was_sorted_;
};
using HostRecords = OwnedRecords<HostBuffer>;

/// An input of Lane::Merge: consecutive whole records of the sorted run number `run`. The caller must pass the pieces
/// in the order of the runs, and in order within each run.
struct RunPiece {
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t run = 0;
  int device = kOnHost;  ///< the device whose memory holds the piece: the host, or any GPU of the lane's backend

  bool on_device() const { return device != kOnHost; }
};

/// How many seconds a GPU spent on copies to the GPU (upload), on kernels, and on copies to the host (download). The
/// GPU measures these times.
struct DeviceTimes {
  double upload = 0, kernels = 0, download = 0;
  DeviceTimes& operator+=(const DeviceTimes& other) {
    upload += other.upload;
    kernels += other.kernels;
    download += other.download;
    return *this;
  }
};

/// One worker of a backend (the CPU or a GPU), with memory of its own. Only one thread at a time may use a lane, but
/// lanes work in parallel. If Sort or Merge throws Error(kOutOfMemory), the backend is still usable. If they throw
/// Error(kGpuLost), no memory of the GPU can be read any more. After Backend::Cancel they throw Error(kCancelled).
class Lane {
 public:
  virtual ~Lane() = default;
  /// Sorts all records of `source` stably. The records must fit in one slot (a buffer of the backend). Waits until two
  /// slots are free. Never returns null. Throws Error(kInternal) if `source` has no records.
  virtual std::unique_ptr<SortedRecords> Sort(BatchSource& source) = 0;
  /// Merges `pieces` stably: of records with equal keys, the record of the earlier piece comes first. Writes the result
  /// to host memory at `out`, which must not overlap any piece. The result has at most ArenaShape::slot_bytes bytes.
  virtual void Merge(std::span<const RunPiece> pieces, std::byte* out) = 0;
  /// Returns how long the GPU worked, in seconds, for all calls of Sort and Merge since the last TakeTimes. On the CPU
  /// all times are 0.
  virtual DeviceTimes TakeTimes() { return {}; }
  /// Returns the CUDA ordinal of the GPU that this worker (lane) uses, or kOnHost.
  virtual int device() const { return kOnHost; }
};

/// The largest size in bytes of the pinned (page-locked) host memory that the CUDA backend allocates for one GPU.
inline constexpr std::uint64_t kMostPinnedByGpu = std::uint64_t{168} << 10;

/// A request to copy out.size() bytes from `data`, in GPU memory or host memory, to host memory at `out`.
struct SlotRead {
  const std::byte* data = nullptr;
  std::span<std::byte> out;
  int device = kOnHost;  ///< the GPU whose memory holds `data`, or kOnHost
};

/// An input of Backend::BytesBefore: a list of whole sorted records, in the memory of `device`.
struct SearchRange {
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  bool inclusive = false;  ///< true: records whose key equals the key of cut_record also count
  int device = kOnHost;    ///< the GPU whose memory holds the records, or kOnHost
};

/// Divides each sorted run of lines into two parts. Returns the sizes of the first parts, in bytes. The first parts of
/// all runs can be merged without the second parts. At least one first part and one second part are not empty.
/// - bounds: run r is data[bounds[r], bounds[r + 1])
/// - read: read(begin, span) must copy the bytes from data + begin on into the span
/// - before: must do the work of Backend::BytesBefore on ranges of `data`
template <typename Read, typename Before>
std::vector<std::uint64_t> CutLinesInHalf(const std::byte* data, std::span<const std::uint64_t> bounds,
                                          const RecordLayout& layout, const Read& read, const Before& before) {
  const std::size_t runs = bounds.size() - 1;
  std::size_t longest = 0;
  for (std::size_t r = 1; r < runs; ++r) {
    if (bounds[r + 1] - bounds[r] > bounds[longest + 1] - bounds[longest]) longest = r;
  }
  const std::uint64_t size = bounds[longest + 1] - bounds[longest];
  const std::uint64_t middle = size / 2;
  // Reads ever more bytes around the middle of the longest sorted run, until they contain the whole line that has the
  // middle byte.
  std::vector<std::byte> around;
  std::uint64_t begin = 0, line = 0;
  for (std::uint64_t reach = 1 << 12; line == 0; reach *= 4) {
    const std::uint64_t from = middle - std::min(middle, reach), until = std::min(size, middle + reach);
    around.resize(until - from);
    read(bounds[longest] + from, std::span(around));
    begin = WholeRecordBytes(RecordSpan(around).first(middle - from), layout);
    if (begin > 0 || from == 0) line = FirstRecordBytes(RecordSpan(around).subspan(begin), layout);
    if (line == 0 && from == 0 && until == size) throw WrongResult("a run that ends inside a line");
    if (line == 0) continue;
    around.erase(around.begin(), around.begin() + static_cast<std::ptrdiff_t>(begin));
    around.resize(line);
    begin += from;
  }
  // Cuts each sorted run before the line in `around`. In runs before the longest run, equal lines come before the cut.
  std::vector<SearchRange> ranges;
  for (std::size_t r = 0; r < runs; ++r) ranges.push_back({data + bounds[r], bounds[r + 1] - bounds[r], r < longest});
  std::vector<std::uint64_t> cuts = before(ranges, RecordSpan(around));
  cuts[longest] = begin;
  if (std::all_of(cuts.begin(), cuts.end(), [](std::uint64_t cut) { return cut == 0; })) cuts[longest] = line;
  return cuts;
}

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const BackendLimits& limits() const = 0;
  /// Returns how many bytes one lane (worker) needs in addition to slots (buffers for records): device memory on a GPU,
  /// host memory on the CPU.
  virtual std::uint64_t LaneBytes(const RecordLayout& layout, std::uint64_t slot_bytes) const = 0;
  /// Allocates the arena, which is the memory for slots (buffers) and lanes (workers). Replaces the arena of an earlier
  /// call, whose lanes and records the caller must have destroyed. Throws Error(kOutOfMemory) if the arena does not
  /// fit.
  virtual void MakeArena(const ArenaShape& shape, HostMemory& memory) = 0;
  virtual std::unique_ptr<Lane> OpenLane() = 0;
  /// Returns how many slots (buffers for records) are free, that is, used neither by a lane (worker) nor by a
  /// SortedRecords.
  virtual std::uint32_t free_slots() const = 0;
  /// Pins the host memory [data, data + bytes), so that copies between it and a GPU are fast and asynchronous. Does
  /// nothing on the CPU. If pinning fails, copies are slower, and nothing else changes.
  virtual void Pin(void* data, std::uint64_t bytes) = 0;
  /// Ends the pinning that Pin(data) began. If the GPU is lost, the pages stay pinned until the process ends.
  virtual void Unpin(void* data) = 0;
  /// Returns, for each range of sorted records, the total size in bytes of those records that come before `cut_record`.
  /// `cut_record` must be in host memory.
  virtual std::vector<std::uint64_t> BytesBefore(std::span<const SearchRange> ranges, RecordSpan cut_record) = 0;
  /// Makes all copies in `reads` and waits for them. On a GPU, one call with many short copies takes about as long as a
  /// call with one copy.
  virtual void Read(std::span<const SlotRead> reads) {
    for (const SlotRead& read : reads) std::memcpy(read.out.data(), read.data, read.out.size());
  }
  /// Lets the kernels of this GPU read the memory of GPU `device`. Returns false if the machine does not allow this.
  /// Copies between the two GPUs then go through host memory and are slower.
  virtual bool ReachInto(int /*device*/) { return false; }
  /// Returns the largest number of bytes of GPU memory that were in use at one time.
  virtual std::uint64_t device_peak() const = 0;
  /// Returns the number of sorting threads that the system refused to start, out of the limits().threads threads. The
  /// other threads do all the work.
  virtual unsigned refused_threads() const { return 0; }
  /// Makes every lane (worker) that waits for a slot (a buffer), now or later, throw Error(kCancelled).
  virtual void Cancel() = 0;
};

/// Returns true if this machine probably has an NVIDIA GPU that the program can use. Only looks for a device node such
/// as /dev/nvidiactl and for the file of the CUDA module. Takes microseconds, because it loads neither driver nor
/// module.
bool GpuLikely();
/// Returns the number of NVIDIA GPUs that the driver in the Linux kernel lists. CUDA may show fewer of them to this
/// process. Takes microseconds, because it loads neither CUDA nor the CUDA module. Returns 0 if the number is unknown.
unsigned PresentGpus();
/// Returns advice on how to install the CUDA module (the part of gpusort for GPUs) if the machine has a GPU but no
/// module. Otherwise returns an empty string.
std::string WhyGpuIsUnused();
/// Returns one line for each backend, for --version: its name, or why it is missing. Loads no driver and no module.
std::vector<std::string> ListBackends();
/// Opens the CPU backend with `threads` threads. 0 means one thread for each core.
std::unique_ptr<Backend> OpenCpuBackend(unsigned threads);
/// Returns how many bytes one worker of a CPU backend with `threads` threads needs, as Backend::LaneBytes does. Opens
/// no backend.
std::uint64_t CpuLaneBytes(const RecordLayout& layout, std::uint64_t slot_bytes, unsigned threads);
/// Returns the number of GPUs that CUDA shows to this process. Throws the same errors as OpenCudaBackend.
int CountGpus(std::chrono::seconds timeout);
/// Opens a GPU, which takes about 0.35 s. Throws Error(kGpuLost) with the reason if the device is missing, or if the
/// CUDA module (the part of gpusort for GPUs) is missing or has another version. A GPU counts as lost if opening it, or
/// a later wait for it, takes longer than `timeout`.
std::unique_ptr<Backend> OpenCudaBackend(int device, std::chrono::seconds timeout = std::chrono::minutes(1));
/// Returns one backend that works on all `gpus`, in this order. If there is only one GPU, returns its backend
/// unchanged. Enables direct copies between the GPUs if the machine allows them.
std::unique_ptr<Backend> GroupGpus(std::vector<std::unique_ptr<Backend>> gpus);
/// A function that ends the process if a call into the GPU driver does not return. Such a call cannot be ended in
/// another way. Another thread calls the function, with a message for the user.
using StuckDriverHandler = void (*)(const std::string& why);
/// Sets the function that is called if a call into the GPU driver does not return. Call this before a backend is
/// opened. Without such a function, a job whose driver is stuck waits for ever.
void OnStuckDriver(StuckDriverHandler handler);
/// Returns true if a GPU has not answered within its timeout. Its kernels may still be running, so the process must
/// exit without waiting for the GPU.
bool AGpuHangs();

}  // namespace gpusort

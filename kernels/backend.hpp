// A Backend sorts and merges blocks of records, on CPU threads or on a GPU. Both give the same bytes.
// A Backend states its limits, makes one arena of slots up front and opens Lanes. One thread drives a Lane, which has
// two blocking verbs, Sort and Merge. Sorted records stay in the slot where the lane left them (SortedRecords) until
// the caller drops them. A slot is therefore either a lane's workspace or a resident run. Start at Lane.
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

#include "error.hpp"
#include "records/record.hpp"
#include "records/records.hpp"

namespace gpusort {

/// Counts host memory against the limit of --memory. Every large allocation on the host goes through it, pinned memory
/// included.
class HostMemory {
 public:
  /// `elastic`: plans keep to the limit, but a line that is longer than planned may exceed it.
  explicit HostMemory(std::uint64_t limit, bool elastic = false) : limit_(limit), elastic_(elastic) {}
  /// Throws Error(kOutOfMemory) if `bytes` more would exceed a limit that is not elastic.
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

/// Page-aligned host memory counted by a HostMemory; untouched pages take no RAM. Movable, freed when dropped.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(HostMemory& memory, std::uint64_t bytes);
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  ~HostBuffer();
  std::byte* data() const { return data_; }
  std::uint64_t size() const { return bytes_; }
  /// Keeps the pages mapped until the process ends, also after the buffer is destroyed.
  void LeaveMapped() { data_ = nullptr; }

 private:
  HostMemory* memory_ = nullptr;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// Stands instead of a GPU's CUDA ordinal for host memory or the CPU.
inline constexpr int kOnHost = -1;

/// Facts about a backend, known once it is open.
struct BackendLimits {
  std::string name;  ///< for people: "CPU, 2 threads" or "GPU 0, NVIDIA H200"
  std::string id;    ///< identifies a GPU across runs: "UUID GPU-..., PCI 0000:3B:00.0"
  bool gpu = false;
  int device = kOnHost;            ///< CUDA ordinal of its GPU, or of the first of several
  unsigned gpus = 1;               ///< GPUs of the backend; 1 on the CPU
  std::uint64_t device_bytes = 0;  ///< memory of each GPU free at open; 0 on the CPU, whose slots are host memory
  unsigned threads = 1;            ///< host threads it sorts with

  /// The name, with the id where there is one.
  std::string full_name() const { return id.empty() ? name : name + " (" + id + ")"; }
};

/// The memory that a backend is asked to make before any work. Several GPUs get equal shares of slots and lanes.
struct ArenaShape {
  RecordLayout layout;
  /// Capacity of a slot: a batch or a merge window of whole records, fewer than 2^32. For lines, the capacity is also
  /// below 2^32 bytes, and a batch holds at most SlotRecords(layout, slot_bytes) lines. A window may hold more lines.
  std::uint64_t slot_bytes = 0;
  std::uint32_t slots = 0;  ///< all slots: each lane that sorts holds up to two, resident runs one each; a CPU
                            ///< lane that only merges needs none
  std::uint32_t lanes = 1;
  std::uint64_t batch_lines = 0;  ///< CPU only: the most lines of a batch; 0: SlotRecords
  bool grows = false;  ///< CPU only: a line longer than a slot is accepted, alone in its batch
};

/// Bytes of a batch in host memory, on loan: destroying the block returns the buffer to its owner. Fixed records are
/// whole. A line may continue in the next block. The blocks of a batch, concatenated, are whole records.
class InputBlock {
 public:
  virtual ~InputBlock() = default;
  virtual std::span<const std::byte> bytes() const = 0;
};

/// The blocks of one batch, in input order. Next returns null at the end of the batch.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual std::unique_ptr<InputBlock> Next() = 0;
};

/// The records of one batch in order, in the slot where a lane left them. Dropping it frees the slot.
class SortedRecords {
 public:
  virtual ~SortedRecords() = default;
  virtual const std::byte* data() const = 0;  ///< host or device address
  virtual int device() const { return kOnHost; }  ///< CUDA ordinal of the GPU whose memory that is
  bool on_device() const { return device() != kOnHost; }
  virtual std::uint64_t bytes() const = 0;
  virtual std::uint64_t records() const = 0;
  /// True if the batch arrived in order (by key; equal keys in input order).
  virtual bool was_sorted() const = 0;
  /// Copies out.size() bytes from byte `offset` on into host memory. Blocks; any thread may call it.
  virtual void Read(std::uint64_t offset, std::span<std::byte> out) const = 0;
};

/// Sorted records that own their memory, a slot or a host buffer, and start at its first byte.
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

/// A sorted piece of a run for Merge: whole records. Pieces of one run are neighbours and in order; runs come in
/// ordinal order.
struct Piece {
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t run = 0;
  int device = kOnHost;  ///< the GPU whose memory holds the piece: any GPU of the lane's backend

  bool on_device() const { return device != kOnHost; }
};

/// Seconds that a device spent for a lane, as the device saw them.
struct DeviceTimes {
  double upload = 0, kernels = 0, download = 0;
  DeviceTimes& operator+=(const DeviceTimes& other) {
    upload += other.upload;
    kernels += other.kernels;
    download += other.download;
    return *this;
  }
};

/// One worker of a backend: one thread, one stream. Errors: kOutOfMemory leaves the backend usable; kGpuLost ends it
/// (and nothing on the device can be read any more); kCancelled after Backend::Cancel.
class Lane {
 public:
  virtual ~Lane() = default;
  /// Stable sort of all records that `source` gives (at most slot_bytes, whole records).
  /// Waits for a free slot. Never returns null; an empty batch is a kInternal error.
  virtual std::unique_ptr<SortedRecords> Sort(BatchSource& source) = 0;
  /// Stable merge: on equal keys, earlier pieces first. Writes exactly the sum of the pieces' bytes (at most
  /// slot_bytes) to host memory at `out`, which must not overlap any piece.
  virtual void Merge(std::span<const Piece> pieces, std::byte* out) = 0;
  /// Returns the device times of all Sort and Merge calls since the last TakeTimes. Zero on the CPU.
  virtual DeviceTimes TakeTimes() { return {}; }
  /// CUDA ordinal of the GPU that the lane works on.
  virtual int device() const { return kOnHost; }
};

/// The most host memory that the arena of a GPU takes.
inline constexpr std::uint64_t kMostPinnedByGpu = std::uint64_t{168} << 10;

/// A request to copy bytes of a slot into host memory.
struct SlotRead {
  const std::byte* data = nullptr;
  std::span<std::byte> out;
  int device = kOnHost;  ///< the GPU whose memory holds `data`
};

/// Whole sorted records on the device among which BytesBefore looks.
struct SearchRange {
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  bool inclusive = false;  ///< keys <= the cut's come before it (else keys < the cut's)
  int device = kOnHost;    ///< the GPU that holds the records, if the backend has several
};

/// Cuts sorted runs of lines in two. Run r is [bounds[r], bounds[r + 1]), counted from `data`. Returns how many bytes
/// of each run come before the line at the middle of the longest run, in the order of (key, run). Neither half is
/// empty. read(begin, span) copies bytes from offset `begin`. before(ranges, cut) does what Backend::BytesBefore does;
/// only `before` reads through `data`.
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
  // As much around the middle as shows the whole line that holds it.
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
  /// Bytes that a lane needs beside its slots: device bytes on a GPU, host bytes on the CPU.
  virtual std::uint64_t LaneBytes(const RecordLayout& layout, std::uint64_t slot_bytes) const = 0;
  /// Makes the arena (again, after the old one's lanes and records are gone). Error(kOutOfMemory) if it does not fit.
  virtual void MakeArena(const ArenaShape& shape, HostMemory& memory) = 0;
  virtual std::unique_ptr<Lane> OpenLane() = 0;
  /// Slots that neither a lane nor SortedRecords holds.
  virtual std::uint32_t free_slots() const = 0;
  /// Makes copies to and from [data, data + bytes) fast and asynchronous. Does nothing on the CPU. If pinning fails,
  /// the copies are slower, and nothing else changes.
  virtual void Pin(void* data, std::uint64_t bytes) = 0;
  /// Returns false if a lost GPU keeps the memory pinned. The caller must then leave it mapped until the process ends,
  /// because the other GPUs would still copy to and from the old pages.
  virtual bool Unpin(void* data) = 0;
  /// Bytes of the records of each device range that come before the cut, a record in host memory.
  virtual std::vector<std::uint64_t> BytesBefore(std::span<const SearchRange> ranges, RecordSpan cut_record) = 0;
  /// Makes all reads. Many short reads take about as long as one.
  virtual void Read(std::span<const SlotRead> reads) {
    for (const SlotRead& read : reads) std::memcpy(read.out.data(), read.data, read.out.size());
  }
  /// Lets copies from the memory of GPU `device` bypass the host where the machine allows it. Otherwise they are
  /// slower.
  virtual void ReachInto(int /*device*/) {}
  /// Peak bytes of device memory taken so far.
  virtual std::uint64_t device_peak() const = 0;
  /// How many of limits().threads the system refused to start. The other threads did their work.
  virtual unsigned refused_threads() const { return 0; }
  /// Makes lanes that wait for a slot throw Error(kCancelled).
  virtual void Cancel() = 0;
};

/// True if this machine seems to have an NVIDIA GPU (a device node exists, and so does the CUDA module). Costs
/// microseconds: neither driver nor module is loaded.
bool GpuLikely();
/// Says how to install the CUDA module on a machine that has a GPU and no module. Empty on other machines.
std::string WhyGpuIsUnused();
/// Returns a line for each backend, for --version: its name, or why it is missing. Neither driver nor module is loaded.
std::vector<std::string> ListBackends();
/// `threads` 0: one thread for each core.
std::unique_ptr<Backend> OpenCpuBackend(unsigned threads);
/// Backend::LaneBytes of the CPU with so many threads.
std::uint64_t CpuLaneBytes(const RecordLayout& layout, std::uint64_t slot_bytes, unsigned threads);
/// Returns how many GPUs CUDA shows to this process. Throws the same errors as OpenCudaBackend.
int CountGpus(std::chrono::seconds timeout);
/// Opens a GPU, which takes about 0.35 s. Throws Error(kGpuLost) with the reason if there is no such device, or no CUDA
/// module of this version. The GPU counts as lost after a single wait, also for its opening, that exceeds `timeout`.
std::unique_ptr<Backend> OpenCudaBackend(int device, std::chrono::seconds timeout = std::chrono::minutes(1));
/// True if a GPU has not answered within the timeout and may still be at work. The process must then exit without
/// waiting for the GPU.
bool AGpuHangs();

}  // namespace gpusort

#include "plan/make_plan.hpp"

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "io/spill.hpp"
#include "kernels/backend.hpp"
#include "kernels/records/records.hpp"
#include "plan/merge_levels.hpp"

namespace gpusort::planning {
namespace {

constexpr std::uint64_t kMinBlock = 64 * kKiB;
constexpr std::uint64_t kMaxBlock = 4 * kMiB;
/// The largest block that the list of a run's blocks can describe. A record of 1 GiB fits.
constexpr std::uint64_t kMostBlock = 2048 * kMiB;
/// The size of batches is limited, so that reading, sorting and writing overlap, and so that the last batch is sorted
/// soon.
constexpr std::uint64_t kMaxBatch = 256 * kMiB;
constexpr std::uint64_t kMaxRows = (std::uint64_t{1} << 32) - 1;
constexpr std::uint32_t kLanesOfGpu = 2;
/// The largest number of bytes that a block in a temp file takes in addition to its records: its header, and the rest
/// of its last page.
constexpr std::uint64_t kMostBeside = kSpillHeaderBytes + kPage - 1;
/// The sizes of buffers for a piece of the input on its way to a GPU. A batch is a whole number of such pieces. If a
/// piece belonged to two batches, its checksum would be computed in two parts. A piece of lines is still in the cache
/// of the core when the core finds the ends of its lines. Fixed records go through a smaller buffer (kReadCache).
/// data/bench/NOTES.md has the rates.
constexpr std::uint64_t kMaxReadBlock = 8 * kMiB + kReadSlack, kMaxLinesBlock = 2 * kMiB + kReadSlack;
/// The most memory for blocks of runs that a merge reads in advance.
constexpr std::uint64_t kMostReadAhead = std::uint64_t{4} << 30;
/// How many bytes stay in the private cache of a core. Sizes from half to twice of this are equally fast.
constexpr std::uint64_t kReadCache = 256 * kKiB;

std::uint64_t RoundUp(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }
std::uint64_t DivideUp(std::uint64_t n, std::uint64_t d) { return (n + d - 1) / d; }
std::uint64_t Extent(std::uint64_t payload) { return RoundUp(payload + kSpillHeaderBytes, kPage); }

/// Thrown if the memory is too small. MakeRing() and MakePlan() catch it and throw an Error that says how much memory
/// is enough.
struct TooLittleMemory {
  std::string for_what;
};

/// The fewest blocks of a ring for a stream that a GPU sorts.
constexpr std::uint64_t kLeastStreamBlocks = 8;

std::uint64_t UsualMaxRecord(std::uint64_t memory) { return std::clamp(memory / 16, kMinBlock, 64 * kMiB); }

/// Returns the size of the longest record that the job accepts.
std::uint64_t LargestRecord(const PlanFacts& facts, const MemoryShares& shares) {
  const InputFacts& input = facts.input;
  if (shares.layout.fixed()) return shares.layout.stride;
  // If a key may be as long as its record, a record may only have half of the usual maximum.
  const std::uint64_t usual = UsualMaxRecord(shares.memory + facts.asked.kept_bytes);
  const bool halves = input.key_cost.Most(usual) > usual;
  const std::uint64_t asked = std::max(facts.earlier.longest, facts.asked.max_record != 0 ? facts.asked.max_record
                                                              : halves                    ? usual / 2
                                                                                          : usual);
  // A short input may be a single record, whose keys may be several times as long as the record.
  const bool keys_tell = halves && facts.asked.max_record != 0;
  const std::uint64_t most = std::max<std::uint64_t>(input.bytes, 1) * (halves ? 4 : 1);
  return input.known && !keys_tell ? std::min(asked, most) : asked;
}

/// Returns the size of the longest record that the ring accepts, with its key.
std::uint64_t LargestWithKey(const PlanFacts& facts, const Ring& ring) {
  return ring.max_record + facts.input.key_cost.Most(ring.max_record);
}

/// Returns how many blocks of `block` bytes the ring of buffers for reading has.
std::uint64_t RingBlocks(const PlanFacts& facts, std::uint64_t memory, std::uint64_t block, unsigned threads) {
  if (!facts.machine.gpu) return 2 * threads + 2;
  const auto blocks_of = [&](std::uint64_t bytes, std::uint64_t least, std::uint64_t most) {
    return std::max(least, std::min(bytes, most) / block);
  };
  if (!facts.input.rereadable) return blocks_of(memory / 2, kLeastStreamBlocks, 1024 * kMiB);
  // The ring should have room for the bytes that a disk delivers while the CUDA context is opened: 0.4 s at 3 GB/s.
  return std::min(blocks_of(memory / 8, 4, 1280 * kMiB), std::max<std::uint64_t>(4, facts.input.bytes / (block / 2)));
}

[[noreturn]] void TooLittleForRecords(const PlanFacts& facts, const MemoryShares& shares) {
  throw TooLittleMemory{(shares.layout.fixed() ? "records of " : "lines of ") +
                        std::to_string(LargestRecord(facts, shares)) + " bytes"};
}

/// Implements MakeRing. Throws TooLittleMemory.
Ring RingFor(const PlanFacts& facts, const MemoryShares& shares) {
  // Codecs must not take more than three quarters of the memory.
  if (shares.beside / 3 > shares.memory) throw TooLittleMemory{"codecs, headers and reports"};
  const bool gpu = facts.machine.gpu, fixed = shares.layout.fixed(), rereadable = facts.input.rereadable;
  const std::uint64_t memory = shares.memory;
  const std::uint64_t stride = LeastRecordBytes(shares.layout);
  // A block holds the keyed records of one piece of the input. In a larger block, memory would stay empty, and the runs
  // would be shorter. Records get longer by their keys, mostly by half, so that few pieces need two blocks.
  const std::uint64_t keyed_piece = RoundUp(shares.keys.piece_bytes / 3 * 8 + kReadSlack, kPage);
  const std::uint64_t most_block = !gpu                    ? 2 * kMiB
                                   : shares.layout.keyed() ? std::min(keyed_piece, kMaxReadBlock)
                                   : fixed                 ? kMaxReadBlock
                                                           : kMaxLinesBlock;
  Ring ring;
  ring.of_gpu = gpu;
  ring.block_bytes = std::max(RoundUp(stride + kReadSlack, kPage),
                              std::clamp(memory / 64 / kPage * kPage, kMinBlock, std::max(kMinBlock, most_block)));
  ring.max_record = LargestRecord(facts, shares);
  ring.grows = facts.asked.grows && !fixed;
  // The reading threads also compute checksums, which takes longer than reading from memory. The lanes of a GPU need
  // few cores, but without delay. The lanes of the CPU need the other half of the cores.
  ring.threads =
      gpu ? std::clamp(shares.threads - shares.threads / 16, 1u, 32u) : std::clamp(shares.threads / 2, 1u, 8u);
  ring.blocks = RingBlocks(facts, memory, ring.block_bytes, ring.threads);
  ring.piece_bytes = (ring.block_bytes - kReadSlack) / stride * stride;
  if (ring.bytes() > memory / 2) {
    ring.blocks = std::max<std::uint64_t>(4, memory / 2 / ring.block_bytes);
    if (ring.bytes() > memory / 2) TooLittleForRecords(facts, shares);
  }
  if (gpu && !rereadable) {
    // If the GPU fails, the CPU takes over the ring, and needs memory for a batch and for temp files.
    const std::uint64_t slot = LargestWithKey(facts, ring);
    const std::uint64_t cpu = memory / 16 * 3 + 2 * slot + CpuLaneBytes(shares.layout, slot, shares.threads);
    const std::uint64_t most = (memory - std::min(memory, cpu)) / ring.block_bytes;
    ring.blocks = std::min(ring.blocks, std::max(kLeastStreamBlocks, most));
  }
  if (gpu && rereadable && fixed) {
    const std::uint64_t cache = std::min(kReadCache, memory / 64 / ring.threads / kPage * kPage);
    if (cache >= kReadCache / 4 && stride <= cache / 16) ring.cache_bytes = cache;
  }
  if (gpu && rereadable && !facts.input.direct && !shares.layout.keyed()) {
    // Several GPUs read from several places of the input at once, because each GPU has a bus of its own. If the input
    // comes from a disk, the disk is slower than one bus, so one place is enough. Each place needs some blocks, because
    // a lane keeps blocks until they are copied to the GPU.
    constexpr std::uint64_t kLeastBlocks = 8;
    const std::uint64_t most = std::min(facts.machine.gpus, ring.threads);
    ring.parts = static_cast<unsigned>(std::clamp<std::uint64_t>(ring.blocks / kLeastBlocks, 1, most));
    ring.blocks -= ring.blocks % ring.parts;
  }
  // With --check, the line before the current one is kept in memory, too.
  if (facts.asked.checks && !fixed && ring.bytes() + 2 * ring.max_record > memory) TooLittleForRecords(facts, shares);
  const std::uint64_t piece_bytes = ring.piece_bytes;
  if (const std::uint64_t batch = facts.asked.batch_bytes; batch != 0) {
    ring.piece_bytes = std::min(ring.piece_bytes, std::max(stride, batch / stride * stride));
  }
  if (gpu && !rereadable && !fixed) {
    // A stream cannot be read again, so the blocks of a batch stay until its run is safe. The blocks of a few long
    // lines must not take the whole ring.
    const std::uint64_t least = DivideUp(ring.max_record, std::max<std::uint64_t>(1, (ring.blocks - 4) / 3));
    if (least > piece_bytes) {
      throw TooLittleMemory{"a stream of lines of " + FormatBytes(ring.max_record) +
                            " (--max-record) through a GPU (or give --device cpu)"};
    }
    ring.piece_bytes = std::max(ring.piece_bytes, least);
  }
  return ring;
}

class Planner {
 public:
  /// Plans blocks of temp files that are larger by the factor 2^doublings, even if this adds merge levels. All
  /// arguments must outlive this object.
  Planner(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring, int doublings)
      : facts_(facts),
        shares_(shares),
        doublings_(doublings),
        unit_(LeastRecordBytes(shares.layout)),
        largest_(LargestWithKey(facts, ring)) {
    const MachineFacts& machine = facts.machine;
    plan_.ring = ring;
    plan_.gpu = machine.gpu;
    plan_.gpus = machine.gpu ? machine.gpus : 1;
    plan_.lanes = machine.gpu ? kLanesOfGpu * plan_.gpus : 1;
    plan_.merges_only = facts.merges();
    plan_.memory = shares.memory;
    plan_.device_memory = machine.device_memory;
    plan_.io_threads = std::clamp(shares.threads, 2u, machine.gpu ? 32u : 16u);
    plan_.block_bytes = LeastBlock();
    plan_.spill_blocks = std::clamp<std::uint64_t>(shares.memory / 8 / LeastBlock(), 2, plan_.io_threads);
  }

  /// Returns the plan without the results of MergeLevels(). Throws TooLittleMemory and TooLittleGpuMemory.
  Plan Make() {
    PlanTempWorkspaces();
    if (plan_.ring.bytes() + Reserve() > shares_.memory) TooSmall();
    if (plan_.gpu) {
      DeviceBatches();
    } else {
      HostBatches();
      plan_.resident_each = plan_.resident_runs;
    }
    plan_.batch_bytes = lines() ? std::min(plan_.slot_bytes, AskedBatch()) : plan_.slot_bytes;
    Merging();
    plan_.index_bytes = IndexBytes();
    const std::uint64_t bytes = facts_.input.bytes;
    plan_.direct_temp = plan_.spills && bytes >= 64 * kMiB && 2 * bytes > facts_.machine.free_ram;
    plan_.direct_output = DirectOutput(facts_);
    return plan_;
  }

  /// Call this after Make(). Returns the plan with the results of MergeLevels() if the sizes of runs are known.
  Plan WithLevels() {
    if (plan_.merges_only || (facts_.input.known && plan_.spills)) MergeLevels();
    return plan_;
  }

  /// Returns all slot sizes that Make() may choose for a GPU.
  std::vector<std::uint64_t> LaneSlots() const {
    std::vector<std::uint64_t> slots = DeviceSlots();
    const std::size_t tried = slots.size();
    for (std::size_t i = 0; i < tried && facts_.input.known; ++i) {
      slots.push_back(Even(PartBytes(), slots[i]));
    }
    return slots;
  }

 private:
  bool lines() const { return !shares_.layout.fixed(); }
  std::uint64_t WholeRecords(std::uint64_t bytes) const { return bytes / unit_ * unit_; }
  /// Returns a slot size with which `bytes` bytes become batches of equal size. There are as many batches as with slots
  /// of `slot` bytes, but then the last batch would be smaller.
  std::uint64_t Even(std::uint64_t bytes, std::uint64_t slot) const {
    if (lines() || facts_.asked.batch_bytes != 0) return slot;
    return RoundUp(DivideUp(bytes, DivideUp(bytes, slot)), unit_);
  }

  /// Returns how many bytes of the input are read from each place (Ring::parts). DivideRanges() divides the input.
  std::uint64_t PartBytes() const {
    return RoundUp(DivideUp(std::max(facts_.input.bytes, unit_), plan_.ring.parts), unit_);
  }

  /// Returns how many bytes of slots `bytes` bytes of the input take. A batch of short lines does not fill its slot
  /// (see SlotRecords). The result has a sixteenth to spare, because the number of lines is an estimate.
  std::uint64_t InSlots(std::uint64_t bytes) const {
    const InputFacts& input = facts_.input;
    if (!lines() || input.bytes == 0) return bytes;
    constexpr double kSpare = 17.0 / 16;
    const double taken = kSpare * static_cast<double>(kUsualLine) * static_cast<double>(input.records);
    const double factor = taken / static_cast<double>(input.bytes);
    return factor <= kSpare ? bytes : static_cast<std::uint64_t>(factor * static_cast<double>(bytes)) + 1;
  }

  /// Returns how many runs `bytes` bytes of the input make with slots of `slot` bytes.
  std::uint64_t RunsOf(std::uint64_t bytes, std::uint64_t slot) const {
    return std::max(DivideUp(bytes, std::min(slot, AskedBatch())), DivideUp(InSlots(bytes), slot));
  }

  std::uint64_t AskedBatch() const {
    return facts_.asked.batch_bytes == 0 ? kMaxSize : std::max(unit_, WholeRecords(facts_.asked.batch_bytes));
  }

  /// Returns how many slots to plan for `runs` runs that stay in memory. There may be more runs than expected, because
  /// lines do not fill a batch to its last byte.
  std::uint64_t WithSlack(std::uint64_t runs) const { return lines() ? runs + runs / 16 + 1 : runs; }
  /// Returns the allowed size of a slot that is nearest to `wanted` bytes.
  std::uint64_t Slot(std::uint64_t wanted) const {
    const std::uint64_t slot = WholeRecords(std::min(std::max(wanted, largest_), kMaxRows * unit_));
    return std::min(slot, std::max(largest_, AskedBatch()));
  }

  /// Returns true if the CPU takes over the ring of a GPU. The ring holds a part of a stream, which cannot be read
  /// again.
  bool TakesOver() const { return plan_.ring.of_gpu && !plan_.gpu && !facts_.input.rereadable; }

  /// Returns the memory that a lane on the CPU takes in addition to its slots of `slot` bytes.
  std::uint64_t HostLane(std::uint64_t slot) const { return CpuLaneBytes(shares_.layout, slot, shares_.threads); }

  void HostBatches() {
    const std::uint64_t fixed = plan_.ring.bytes() + Reserve();
    if (shares_.memory < fixed + (TakesOver() ? 0 : 8 * largest_)) TooSmall();
    const std::uint64_t room = shares_.memory - fixed;
    const bool planned = facts_.asked.fan_in == 0 && facts_.asked.batch_bytes == 0;
    const bool may_stay = !facts_.earlier.spilled && !facts_.asked.keeps;
    if (facts_.input.known && !plan_.merges_only && may_stay && KeepAll(planned, room)) return;
    plan_.spills = !plan_.merges_only;
    plan_.lanes = 2;
    // If a stream is much larger than the memory, hardly any of its runs could stay there. All runs then go to temp
    // files, so that batches and the merge get all of the memory.
    constexpr std::uint64_t kMuch = 8;
    const bool some = StreamBytes() == 0 || StreamBytes() / kMuch <= room;
    if (!facts_.input.known && !facts_.earlier.spilled && planned && some && KeepSomeOfStream(room)) return;
    SpillAll(room);
  }

  /// Plans slots for all runs of an input whose size is known. Returns false if `room` bytes of memory are not enough.
  bool KeepAll(bool planned, std::uint64_t room) {
    // A small input is a single batch.
    const std::uint64_t bytes = std::max(facts_.input.bytes, unit_), in_slots = InSlots(bytes);
    const bool small = bytes <= 32 * kMiB;
    plan_.slot_bytes = Even(bytes, Slot(small ? in_slots : std::clamp(in_slots / 8, 16 * kMiB, kMaxBatch)));
    plan_.runs = DivideUp(in_slots, plan_.slot_bytes);
    plan_.lanes = plan_.runs > 1 ? 2 : 1;
    plan_.resident_runs = plan_.runs == 1 ? 1 : WithSlack(plan_.runs);
    plan_.slots = static_cast<std::uint32_t>(std::min<std::uint64_t>(plan_.resident_runs + 2 * plan_.lanes, 1u << 20));
    // A single run stays in a slot of its lane. Lines may still make a second run.
    if (plan_.runs == 1) plan_.slots = lines() ? 3 : 2;
    plan_.spills = lines();
    const bool one = plan_.runs == 1 && (!lines() || facts_.asked.batch_bytes == 0);
    return (planned || one) && Fits(plan_.slot_bytes, room);
  }

  /// Returns about how many bytes the runs of a stream take together. Returns 0 if this is unknown, or if the input is
  /// no stream.
  std::uint64_t StreamBytes() const {
    const InputFacts& input = facts_.input;
    const Asked& asked = facts_.asked;
    if (input.rereadable || input.expected > kMaxSize / 2) return 0;
    // The runs may have few of the records. If rows stay in memory, the runs have small references to them.
    if (input.window || asked.top > 0 || asked.kept_bytes > 0) return 0;
    // Keys make records longer, often by a quarter.
    return shares_.layout.keyed() ? input.expected + input.expected / 4 : input.expected;
  }

  /// Plans slots for some of the runs of a stream. Returns false if `room` bytes of memory are not enough.
  bool KeepSomeOfStream(std::uint64_t room) {
    // Batches are as large as those of a large input, so that reading and sorting overlap. Half of the memory keeps
    // runs. The other half merges them with runs in temp files.
    plan_.slot_bytes = Slot(std::clamp(room / 32, 8 * kMiB, kMaxBatch));
    // There must be memory to merge any two runs, even if they have the longest lines.
    const std::uint64_t of_long_lines = lines() && !plan_.ring.grows ? 4 * (largest_ + kPage) : 0;
    for (plan_.resident_runs = room / 2 / plan_.slot_bytes; plan_.resident_runs >= 2; --plan_.resident_runs) {
      plan_.slots = static_cast<std::uint32_t>(plan_.resident_runs + 2 * plan_.lanes);
      if (Fits(plan_.slot_bytes, room, of_long_lines)) return true;
    }
    return false;
  }

  void SpillAll(std::uint64_t room) {
    plan_.resident_runs = 0;
    plan_.slots = 4;
    // The memory of a lane grows with its slots, so the size of slots is found by making them smaller until they fit.
    // If a short stream is one batch, the batch stays in its slot while it is written.
    const auto fits = [&](std::uint64_t slot) {
      const bool sorts = plan_.slots * slot + plan_.lanes * HostLane(slot) <= room;
      // One lane is planned only if all runs but the last go to temp files. The ring is freed before that run is
      // merged.
      return sorts && (facts_.input.rereadable || Fits(slot, plan_.lanes == 1 ? room + plan_.ring.bytes() : room));
    };
    const auto largest_that_fits = [&] {
      std::uint64_t slot = Slot(room / plan_.slots);
      while (slot > largest_ && !fits(slot)) slot = Slot(slot - slot / 16 - unit_);
      return slot;
    };
    std::uint64_t slot = largest_that_fits();
    if (!fits(slot) && TakesOver()) {
      // The ring of a GPU leaves little memory, which may be enough for one lane.
      plan_.lanes = 1;
      plan_.slots = 2;
      slot = largest_that_fits();
    }
    if (!fits(slot)) TooSmall();
    if (facts_.input.known) slot = Slot(std::min(slot, InSlots(std::max(facts_.input.bytes, unit_))));
    if (lines() && facts_.input.known && facts_.asked.batch_bytes == 0) {
      // Sorted lines are copied from random places, which is faster if a batch is about as large as the cache. All runs
      // must still fit into one merge. Touching new memory costs time as well.
      const std::uint64_t runs = std::max<std::uint64_t>(16, shares_.memory / (2 * kMiB));
      slot = std::min(slot, Slot(InSlots(std::max(8 * kMiB, DivideUp(facts_.input.bytes, runs)))));
    }
    plan_.slot_bytes = slot;
    plan_.runs = facts_.input.known ? RunsOf(facts_.input.bytes, slot) : 0;
  }

  /// Returns true if `room` bytes are enough for the slots of `slot` bytes each, for the lanes, and for a merge. `read`
  /// is the memory that the merge takes to read runs from temp files.
  bool Fits(std::uint64_t slot, std::uint64_t room, std::uint64_t read = 0) const {
    std::uint64_t merging = 3 * ((lines() ? Window(slot) : std::min(slot, 32 * kMiB)) + kPage);
    if (lines()) merging += std::max(8 * LeastBlock(), read);
    return plan_.slots <= room / slot && plan_.slots * slot + plan_.lanes * HostLane(slot) + merging <= room;
  }

  /// Returns the sizes to try for the slots of a GPU, largest first. Even() may reduce the chosen size.
  std::vector<std::uint64_t> DeviceSlots() const {
    const bool known = facts_.input.known;
    const std::uint64_t bytes = known ? std::max(facts_.input.bytes, unit_) : 64 * kMaxBatch;
    std::uint64_t slot = Slot(std::clamp(bytes / 16, 32 * kMiB, kMaxBatch));
    // A stream cannot be read again, so the blocks of the current batches stay in host memory until their runs are
    // safe.
    if (!facts_.input.rereadable) {
      slot = Slot(std::min(slot, (plan_.ring.blocks - 4) * plan_.ring.piece_bytes / (plan_.lanes + 1)));
    }
    std::vector<std::uint64_t> slots{slot};
    while (slot > std::max(largest_, kMiB)) slots.push_back(slot = Slot(slot / 2));
    return slots;
  }

  void DeviceBatches() {
    const std::uint64_t device = facts_.machine.device_memory;
    const auto slots_for = [&](std::uint64_t size) -> std::uint64_t {
      const std::uint64_t lanes = kLanesOfGpu * facts_.costs.GpuLane(size);
      return device > lanes ? (device - lanes) / RoundUp(size, 256) : 0;
    };
    const std::vector<std::uint64_t> sizes = DeviceSlots();
    const auto found =
        std::ranges::find_if(sizes, [&](std::uint64_t size) { return slots_for(size) >= 2 * kLanesOfGpu; });
    if (found == sizes.end()) {
      throw TooLittleGpuMemory("GPU memory of " + FormatBytes(device) + " is too small for " +
                               (lines() ? "lines of " + std::to_string(largest_) + " bytes (--max-record)"
                                        : "records of " + std::to_string(largest_) + " bytes"));
    }
    const bool known = facts_.input.known && !plan_.merges_only;
    const std::uint64_t slot = known ? Even(PartBytes(), *found) : *found;
    plan_.slot_bytes = slot;
    plan_.runs = known ? plan_.ring.parts * RunsOf(PartBytes(), slot) : 0;
    const std::uint64_t most = plan_.runs == 0 ? kMaxSize : WithSlack(plan_.runs);
    // A run may stay only in GPU memory if the input can be read again.
    const bool planned = facts_.asked.batch_bytes == 0 || facts_.asked.fan_in == 0;
    const bool stay = facts_.input.rereadable && !facts_.asked.keeps && planned;
    // A faster GPU may sort more runs than the other GPUs.
    plan_.resident_each = stay ? std::min(slots_for(slot) - 2 * kLanesOfGpu, most) : 0;
    plan_.resident_runs = std::min(plan_.gpus * plan_.resident_each, most);
    plan_.slots = static_cast<std::uint32_t>(plan_.gpus * (2 * kLanesOfGpu + plan_.resident_each));
    // One of the GPUs may sort more runs than it has slots for.
    plan_.spills = !plan_.merges_only &&
                   (lines() || facts_.earlier.spilled || plan_.runs == 0 || plan_.resident_each < plan_.runs);
  }

  std::uint64_t Window(std::uint64_t slot) const {
    // Pinning the buffers of windows for the first time takes half a second per GiB. A window of 64 MiB crosses the bus
    // in a millisecond.
    const std::uint64_t share = shares_.memory / 12 / plan_.gpus;
    return std::max(largest_, WholeRecords(std::min({slot, (plan_.gpu ? 64 : 32) * kMiB, share})));
  }

  /// Plans the windows of the merge. Returns the memory of all windows.
  std::uint64_t Windows() {
    plan_.window_bytes = Window(plan_.slot_bytes);
    const std::uint64_t pitch = RoundUp(plan_.window_bytes + 2 * kPage, kPage);
    const std::uint64_t ring = plan_.ring.bytes(), quarter = shares_.memory / 4;
    // The memory of the ring is allocated and pinned already. With more windows, lanes and the proof can work at the
    // same time.
    if (plan_.gpu && !plan_.merges_only && ring >= (plan_.merge_lanes + 1) * pitch && ring <= quarter) {
      plan_.windows_in_ring = true;
      plan_.windows = static_cast<std::uint32_t>(std::min(std::uint64_t{8} * plan_.gpus, ring / pitch));
      return ring;
    }
    // With one GPU, the longest line may be as long as a window.
    plan_.windows = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(quarter / pitch, 3, 3 * plan_.gpus));
    return plan_.windows * pitch;
  }

  void Merging() {
    plan_.merge_lanes = plan_.gpu ? plan_.lanes : 1;
    std::uint64_t taken = Windows() + Reserve();
    const bool resident = !plan_.gpu && plan_.resident_runs > 0;
    if (resident) taken += plan_.slots * plan_.slot_bytes;
    if (!plan_.gpu) {
      taken += resident && lines() ? plan_.lanes * HostLane(plan_.slot_bytes) : HostLane(plan_.window_bytes);
    }
    // A long line makes the blocks of sorted inputs larger.
    if (plan_.merges_only && lines()) taken += 2 * largest_;
    if (!plan_.spills && !plan_.merges_only) {
      plan_.fan_in = std::max<std::uint64_t>(plan_.runs, 1);
      return;
    }
    if (shares_.memory < taken + 4 * LeastBlock()) TooSmall();
    MergeFromBlocks(shares_.memory - taken);
  }

  /// Chooses block size, fan-in and read-ahead for runs that are merged from blocks. `pool` is the memory for this.
  void MergeFromBlocks(std::uint64_t pool) {
    const std::uint64_t runs = plan_.merges_only ? facts_.input.sorted.size()
                               : plan_.runs != 0 ? plan_.runs - std::min(plan_.runs, plan_.resident_runs)
                                                 : RunsOfStream(pool);
    const std::uint64_t most = ChooseBlock(runs, pool);
    plan_.levels = Levels(runs, most);
    if (plan_.gpu && plan_.spills) pool = HostTier(runs, most, pool);
    const std::uint64_t block = plan_.block_bytes;
    plan_.merge_blocks = std::min(pool / block, std::max<std::uint64_t>(4, kMostReadAhead / block));
    // Touching memory for the first time takes more time than reading further in advance saves. A stream may make more
    // runs than estimated.
    if (lines() && !plan_.gpu && plan_.levels == 1 && plan_.spills) {
      const std::uint64_t most_runs = facts_.input.known ? WithSlack(runs) : 2 * runs;
      plan_.merge_blocks = std::min(plan_.merge_blocks, 2 * most_runs + 16);
    }
    // Each thread makes the keys of another input.
    if (plan_.merges_only && shares_.layout.keyed()) {
      plan_.merge_blocks = std::min(plan_.merge_blocks, 4 * (WithSlack(runs) + plan_.io_threads));
    }
    plan_.fan_in = std::min({most, std::max<std::uint64_t>(2, plan_.merge_blocks / 2),
                             std::max<std::uint64_t>(2, plan_.window_bytes / unit_)});
  }

  /// Returns how many runs one merge can read from blocks of `block` bytes, with `pool` bytes of memory.
  std::uint64_t FanIn(std::uint64_t block, std::uint64_t pool) const {
    const std::uint64_t most = std::max<std::uint64_t>(2, std::min(pool, kMostReadAhead) / (2 * block));
    return facts_.asked.fan_in == 0 ? most : std::min(most, std::max<std::uint64_t>(2, facts_.asked.fan_in));
  }

  /// Estimates how many runs of a stream go to temp files. Returns a usual number if nothing is known, or if a single
  /// merge would need very small blocks. `pool` is the memory for blocks.
  std::uint64_t RunsOfStream(std::uint64_t pool) const {
    constexpr std::uint64_t kUsual = 64, kLeast = 256 * kKiB;
    const std::uint64_t bytes = StreamBytes();
    // Records with keys fill the blocks of a GPU's ring to about a half (RingFor). A smaller share makes up for an
    // estimate that is too small.
    const bool partly = plan_.gpu && shares_.layout.keyed();
    const std::uint64_t batch = std::min(partly ? plan_.slot_bytes / 8 * 3 : plan_.slot_bytes, AskedBatch());
    const std::uint64_t runs = DivideUp(bytes, std::max<std::uint64_t>(1, batch));
    const std::uint64_t spilled = runs - std::min(runs, plan_.resident_runs);
    // The list of a stream's blocks is not counted, so it must stay small.
    const std::uint64_t least = std::max({kLeast, LeastBlock(), bytes / kFreeIndex * facts_.costs.block_index});
    return spilled > FanIn(least, pool) ? kUsual : std::max(kUsual, spilled);
  }

  /// Chooses the size of blocks. Returns how many runs one merge can then read with `pool` bytes of memory.
  std::uint64_t ChooseBlock(std::uint64_t runs, std::uint64_t pool) {
    const auto fan_in = [&](std::uint64_t block) { return FanIn(block, pool); };
    std::uint64_t block = LeastBlock();
    if (block > kMostBlock) {
      throw Error(ErrorCode::kUsage,
                  "--block-size " + FormatBytes(block) + ": no block has more than " + FormatBytes(kMostBlock));
    }
    if (block > pool / 4 || block > shares_.memory / (2 * (plan_.spill_blocks + plan_.temp_workspaces))) {
      throw TooLittleMemory{"blocks of " + FormatBytes(block)};
    }
    // Blocks are small enough that many runs can be merged at once, and that a run has many blocks.
    const std::uint64_t in_slot = doublings_ > 0 ? 4 : plan_.gpu ? 32 : lines() ? 64 : 16;
    const std::uint64_t limit =
        std::max(MinBlock(), std::min(SpillReserve() / plan_.spill_blocks, plan_.slot_bytes / in_slot));
    constexpr std::uint64_t kFewRuns = 8;
    const auto can_double = [&] { return facts_.block_bytes() == 0 && 2 * block <= limit; };
    for (int i = 0; i < doublings_ && can_double() && fan_in(2 * block) >= std::min(runs, kFewRuns); ++i) block *= 2;
    const std::uint32_t fewest = Levels(runs, fan_in(block));
    while (can_double() && Levels(runs, fan_in(2 * block)) == fewest) block *= 2;
    plan_.block_bytes = block;
    return fan_in(block);
  }

  /// Plans host memory for whole runs: the part of `pool` that is not needed for reading in advance. Returns the rest
  /// of `pool`.
  std::uint64_t HostTier(std::uint64_t runs, std::uint64_t most, std::uint64_t pool) {
    // Reading a gigabyte in advance is enough. The rest of the memory holds whole runs.
    const std::uint64_t read_ahead =
        std::max<std::uint64_t>(most < runs ? pool : 2 * runs * plan_.block_bytes, pool / 2);
    const std::uint64_t phase1 = plan_.ring.bytes() + Reserve();
    const std::uint64_t tier =
        std::min(pool - std::min(pool, read_ahead), shares_.memory - std::min(shares_.memory, phase1));
    plan_.host_tier_bytes = plan_.levels == 1 && !facts_.asked.keeps ? tier / 4 * 3 : 0;
    return pool - plan_.host_tier_bytes;
  }

  void MergeLevels() {
    std::vector<std::uint64_t> sizes, temp;
    std::uint64_t spilled = 0;
    if (plan_.merges_only) {
      std::ranges::copy_if(facts_.input.sorted, std::back_inserter(sizes),
                           [](std::uint64_t bytes) { return bytes > 0; });
      plan_.runs = sizes.size();
      temp.assign(sizes.size(), 0);
    } else {
      // The first runs stay in memory.
      const std::uint64_t resident = std::min(plan_.runs, plan_.resident_runs);
      const bool short_lines = InSlots(facts_.input.bytes) > facts_.input.bytes;
      const std::uint64_t full =
          short_lines
              ? std::min(plan_.batch_bytes, DivideUp(facts_.input.bytes, std::max<std::uint64_t>(1, plan_.runs)))
              : plan_.batch_bytes;
      std::uint64_t left = facts_.input.bytes - std::min(facts_.input.bytes, resident * full);
      for (spilled = plan_.runs - resident; sizes.size() < spilled;) {
        const std::uint64_t batch = std::min(left, full);
        left -= batch;
        sizes.push_back(std::min(batch, KeptBytes()));
        temp.push_back(SpillBytes(sizes.back()));
      }
    }
    const MergeOutlook outlook =
        LookAhead(std::move(sizes), std::move(temp), plan_.fan_in, !plan_.gpu && !facts_.asked.keeps,
                  [this](std::uint64_t bytes) { return SpillBytes(bytes); });
    plan_.levels = outlook.levels;
    plan_.level_bytes = outlook.bytes;
    plan_.temp_bytes = outlook.temp_peak;
    // Short lines make more and shorter runs.
    if (lines() && spilled > 0) plan_.temp_bytes += (MostRuns() - std::min(MostRuns(), plan_.runs)) * kMostBeside;
    if (plan_.merges_only) plan_.spills = plan_.temp_bytes > 0;
  }

  std::uint64_t MinBlock() const { return std::max(kMinBlock, RoundUp(unit_ + kReadSlack, kPage)); }
  /// Returns the smallest size of a block in temp files, or the size that earlier runs or an option require.
  std::uint64_t LeastBlock() const { return std::max(MinBlock(), RoundUp(facts_.block_bytes(), kPage)); }
  /// Returns how many bytes of a batch are kept at most (--top).
  std::uint64_t KeptBytes() const {
    const std::uint64_t top = facts_.asked.top;
    return top > 0 && top < plan_.batch_bytes / largest_ ? top * largest_ : plan_.batch_bytes;
  }

  /// Returns how many bytes of records a block in a temp file has.
  std::uint64_t Payload() const { return WholeRecords(plan_.block_bytes - kSpillHeaderBytes); }

  /// Returns how many blocks `bytes` bytes in `runs` runs take at most. Two neighbouring blocks of lines hold more than
  /// one full block.
  std::uint64_t Blocks(std::uint64_t bytes, std::uint64_t runs) const {
    return (lines() ? 2 : 1) * (bytes / Payload()) + runs;
  }

  /// Returns how much temp space a run of `bytes` bytes takes at most.
  std::uint64_t SpillBytes(std::uint64_t bytes) const {
    const std::uint64_t index = facts_.asked.keeps ? Extent(Blocks(bytes, 1) * facts_.costs.block_index) : 0;
    if (lines()) return bytes + Blocks(bytes, 1) * kMostBeside + index;
    const std::uint64_t rest = bytes % Payload();
    return bytes / Payload() * Extent(Payload()) + (rest > 0 ? Extent(rest) : 0) + index;
  }

  /// Returns how many runs the input makes at most. A batch of lines ends where the next line has no room, or when it
  /// has as many lines as a slot takes.
  std::uint64_t MostRuns() const {
    if (!lines()) return plan_.runs;
    const std::uint64_t bytes = facts_.input.bytes;
    return bytes / SlotRecords(shares_.layout, plan_.slot_bytes) + 2 * (bytes / plan_.batch_bytes) + plan_.ring.parts;
  }

  /// Returns the memory that describes runs and their blocks while they are merged.
  std::uint64_t IndexBytes() const {
    if (!facts_.input.known) return 0;
    const StageCosts& costs = facts_.costs;
    const std::uint64_t inputs = facts_.input.sorted.size();
    if (plan_.merges_only) {
      // The list of the blocks of an input takes no memory, because it is computed.
      const std::uint64_t merged = inputs > plan_.fan_in ? facts_.input.bytes : 0;
      return inputs * costs.run_index + merged / Payload() * costs.block_index;
    }
    // This assumes that lines have at least the average length for which a slot is made (SlotRecords). Shorter lines
    // make more runs.
    const std::uint64_t most_runs = lines() ? SlotRecords(shares_.layout, facts_.input.bytes) + 1 : plan_.runs;
    const std::uint64_t runs = std::min(plan_.runs, most_runs);
    if (!plan_.spills) return runs * costs.run_index;
    const std::uint64_t spilled = runs - std::min(runs, plan_.resident_runs);
    const std::uint64_t bytes = std::min(facts_.input.bytes, spilled * KeptBytes());
    // A merge before the last one needs the block lists of the runs that it reads, and of the run that it writes.
    const std::uint64_t copies = spilled > plan_.fan_in ? 2 : 1;
    return runs * costs.run_index + copies * (bytes / Payload() + spilled) * costs.block_index;
  }

  /// Returns the memory for writing blocks of temp files. Blocks have the size that was asked for, or the largest size
  /// for which a sixteenth of the memory is enough. They are small if the ring of a GPU leaves little memory.
  std::uint64_t SpillReserve() const {
    const std::uint64_t most = std::min(kMaxBlock, shares_.memory / 16 / plan_.spill_blocks / kPage * kPage);
    const bool small = facts_.block_bytes() != 0 || TakesOver();
    return plan_.spill_blocks * (small ? LeastBlock() : std::max(MinBlock(), most));
  }

  std::uint64_t TempReserve(unsigned workspaces) const {
    return workspaces * (SpillReserve() / plan_.spill_blocks + shares_.temp_workspace_bytes);
  }

  /// Returns the memory that a job takes in both phases.
  std::uint64_t Reserve() const {
    const std::uint64_t pinned = plan_.gpu ? plan_.gpus * kMostPinnedByGpu : 0;
    return SpillReserve() + TempReserve(plan_.temp_workspaces) + plan_.ring.caches_bytes() + pinned;
  }

  /// Plans memory for compressing blocks of temp files on each thread, if all of it takes at most a sixteenth of the
  /// memory.
  void PlanTempWorkspaces() {
    if (shares_.temp_workspace_bytes == 0) return;
    plan_.temp_workspaces = facts_.earlier.temp_workspaces;
    if (plan_.temp_workspaces != 0) return;
    plan_.temp_workspaces = std::max(1u, std::min(shares_.threads, plan_.io_threads));
    while (plan_.temp_workspaces > 1 && TempReserve(plan_.temp_workspaces) > shares_.memory / 16)
      --plan_.temp_workspaces;
  }

  [[noreturn]] void TooSmall() const { TooLittleForRecords(facts_, shares_); }

  const PlanFacts& facts_;
  const MemoryShares& shares_;
  const int doublings_;
  const std::uint64_t unit_;     ///< size of a record, of which all sizes are multiples; 1 for lines
  const std::uint64_t largest_;  ///< size of the longest record with its keys
  Plan plan_;
};

/// Returns the facts with which the CPU plans after a failure of the GPU with this plan. See Recover().
PlanFacts AfterGpu(PlanFacts facts, const Plan& plan) {
  facts.machine.gpu = false;
  facts.machine.gpus = 1;
  facts.earlier.spilled = true;
  facts.earlier.temp_workspaces = plan.temp_workspaces;
  facts.earlier.block_bytes = plan.block_bytes;
  return facts;
}

Plan PlanFor(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring, bool with_levels);

/// Changes a plan for GPUs so that the CPU can take over the ring with what it holds of a stream. Runs in host memory
/// stay there. Throws TooLittleMemory if the CPU cannot take over the ring.
void LeaveToCpu(Plan& plan, const PlanFacts& facts, const MemoryShares& shares, const Ring& ring) {
  MemoryShares left = shares;
  left.memory -= std::min(left.memory, plan.host_tier_bytes);
  try {
    PlanFor(AfterGpu(facts, plan), left, ring, false);
  } catch (const TooLittleMemory&) {
    if (plan.host_tier_bytes == 0) throw;
    plan.host_tier_bytes = 0;
    PlanFor(AfterGpu(facts, plan), shares, ring, false);
  }
}

/// Makes a plan. If the lists of runs and blocks take more than kFreeIndex, blocks get larger. If that is not enough,
/// the plan is made again with less memory, and the lists get the rest.
Plan PlanFor(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring, bool with_levels) {
  MemoryShares rest = shares;
  constexpr int kMostDoublings = 8, kMostTries = 16;
  for (int tries = 0; tries < kMostTries; ++tries) {
    Planner planner(facts, rest, ring, std::min(tries, kMostDoublings));
    Plan plan = planner.Make();
    const std::uint64_t counted = plan.index_bytes - std::min(plan.index_bytes, kFreeIndex);
    if (counted <= shares.memory - rest.memory) {
      if (with_levels) plan = planner.WithLevels();
      if (plan.gpu && !facts.input.rereadable && !facts.earlier.spilled) LeaveToCpu(plan, facts, shares, ring);
      plan.memory = shares.memory;
      return plan;
    }
    if (tries < kMostDoublings) continue;
    if (counted >= shares.memory / 2) break;
    rest.memory = shares.memory - counted - counted / 16;
  }
  throw TooLittleMemory{"what must be known of the runs of " + FormatBytes(facts.input.bytes)};
}

bool IsEnoughAt(const PlanFacts& facts, std::uint64_t limit) {
  PlanFacts other = facts;
  other.asked.limit = limit;
  return IsEnough(other, ShareMemory(other));
}

/// Throws the error that says how much memory is enough. Finds that by planning with more and more memory.
[[noreturn]] void Advise(const PlanFacts& facts, const TooLittleMemory& error) {
  const std::uint64_t limit = facts.asked.limit;
  std::string message = "memory of " + FormatBytes(limit) + " is too small for " + error.for_what;
  const std::uint64_t least = std::max<std::uint64_t>(limit, std::uint64_t{64} << 10);
  std::uint64_t low = least, high = least;
  const auto climb = [&](std::uint64_t steps) {
    while (high < kMaxSize && !IsEnoughAt(facts, high)) {
      low = high;
      high += high / steps;
    }
  };
  climb(1);
  // Small steps follow. A little more memory may not be enough where a plan of another kind, or with more threads,
  // becomes possible.
  low = high = std::max(least, high / 4);
  climb(8);
  if (high < kMaxSize) {
    constexpr std::uint64_t kExact = 64;
    while (high - low > high / kExact) {
      const std::uint64_t middle = low + (high - low) / 2;
      (IsEnoughAt(facts, middle) ? high : low) = middle;
    }
    const auto parsed = [](std::uint64_t bytes) { return ParseSize(SizeArgument(bytes), 1).value; };
    while (!IsEnoughAt(facts, parsed(high))) high += high / kExact;
    message += ": give at least --memory " + SizeArgument(high);
  }
  throw Error(ErrorCode::kUsage, message);
}

}  // namespace
}  // namespace gpusort::planning

namespace gpusort {

bool DirectOutput(const PlanFacts& facts) {
  // -u and --top write in order, at offsets that are not known in advance.
  const Asked& asked = facts.asked;
  return asked.in_place && !asked.unique && asked.top == 0 && facts.input.known &&
         facts.input.bytes >= std::uint64_t{64} << 20;
}

bool IsEnough(const PlanFacts& facts, const MemoryShares& shares) {
  if (facts.machine.gpu && facts.machine.device_memory == 0) {
    PlanFacts guess = facts;
    guess.machine.device_memory = std::uint64_t{64} << 30;
    return IsEnough(guess, shares);
  }
  try {
    const Ring ring = planning::RingFor(facts, shares);
    if (!facts.asked.checks) planning::PlanFor(facts, shares, ring, false);
    return true;
  } catch (const planning::TooLittleMemory&) {
  } catch (const Error&) {
    // The memory of the GPU is too small, or no memory would be enough.
  }
  return false;
}

Ring MakeRing(const PlanFacts& facts, const MemoryShares& shares) {
  try {
    return planning::RingFor(facts, shares);
  } catch (const planning::TooLittleMemory& error) {
    planning::Advise(facts, error);
  }
}

std::vector<std::uint64_t> LaneSlots(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring) {
  return planning::Planner(facts, shares, ring, 0).LaneSlots();
}

Plan MakePlan(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring) {
  try {
    return planning::PlanFor(facts, shares, ring, true);
  } catch (const planning::TooLittleMemory& error) {
    planning::Advise(facts, error);
  }
}

}  // namespace gpusort

#include "plan/planner.hpp"

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "io/spill.hpp"
#include "kernels/backend.hpp"
#include "kernels/error.hpp"
#include "plan/make_plan.hpp"
#include "plan/merge_levels.hpp"

namespace gpusort::planning {
namespace {

constexpr std::uint64_t kMaxBlock = 4 * kMiB;
/// The largest block that the index of runs can describe. A record of 1 GiB fits.
constexpr std::uint64_t kMostBlock = 2048 * kMiB;
/// Batches are bounded so that reading, sorting and writing overlap, and so that the last batch is soon sorted.
constexpr std::uint64_t kMaxBatch = 256 * kMiB;
constexpr std::uint64_t kMaxRows = (std::uint64_t{1} << 32) - 1;
constexpr std::uint32_t kLanesOfGpu = 2;
/// A block of the spill takes at most this much in addition to its records.
constexpr std::uint64_t kMostBeside = kSpillHeaderBytes + kPage - 1;

std::uint64_t Extent(std::uint64_t payload) { return RoundUp(payload + kSpillHeaderBytes, kPage); }

}  // namespace

Planner::Planner(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring, int doublings)
    : facts_(facts),
      shares_(shares),
      doublings_(doublings),
      unit_(LeastRecordBytes(shares.layout)),
      largest_(ring.max_record + facts.input.key_cost.Most(ring.max_record)) {
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

Plan Planner::Make() {
  PlanTempPlaces();
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

Plan Planner::WithLevels() {
  if (plan_.merges_only || (facts_.input.known && plan_.spills)) MergeLevels();
  return plan_;
}

// Batches and slots.

std::uint64_t Planner::Even(std::uint64_t bytes, std::uint64_t slot) const {
  if (lines() || facts_.asked.batch_bytes != 0) return slot;
  return RoundUp(DivideUp(bytes, DivideUp(bytes, slot)), unit_);
}

std::uint64_t Planner::AskedBatch() const {
  return facts_.asked.batch_bytes == 0 ? kMaxSize : std::max(unit_, WholeRecords(facts_.asked.batch_bytes));
}

std::uint64_t Planner::Slot(std::uint64_t wanted) const {
  const std::uint64_t slot = WholeRecords(std::min(std::max(wanted, largest_), kMaxRows * unit_));
  return std::min(slot, std::max(largest_, AskedBatch()));
}

std::uint64_t Planner::HostLane(std::uint64_t slot) const {
  return CpuLaneBytes(shares_.layout, slot, shares_.threads);
}

bool Planner::Fits(std::uint64_t slot, std::uint64_t room, std::uint64_t read) const {
  std::uint64_t merging = 3 * ((lines() ? Window(slot) : std::min(slot, 32 * kMiB)) + kPage);
  if (lines()) merging += std::max(8 * LeastBlock(), read);
  return plan_.slots <= room / slot && plan_.slots * slot + plan_.lanes * HostLane(slot) + merging <= room;
}

void Planner::HostBatches() {
  const std::uint64_t fixed = plan_.ring.bytes() + Reserve();
  if (shares_.memory < fixed + 8 * largest_) TooSmall();
  const std::uint64_t room = shares_.memory - fixed;
  const bool planned = facts_.asked.fan_in == 0 && facts_.asked.batch_bytes == 0;
  const bool may_stay = !facts_.earlier.spilled && !facts_.asked.keeps;
  if (facts_.input.known && !plan_.merges_only && may_stay && KeepAll(planned, room)) return;
  plan_.spills = !plan_.merges_only;
  plan_.lanes = 2;
  if (!facts_.input.known && !facts_.earlier.spilled && planned && KeepSomeOfStream(room)) return;
  SpillAll(room);
}

bool Planner::KeepAll(bool planned, std::uint64_t room) {
  // Small inputs are one batch.
  const std::uint64_t bytes = std::max(facts_.input.bytes, unit_);
  const bool small = bytes <= 32 * kMiB;
  plan_.slot_bytes = Even(bytes, Slot(small ? bytes : std::clamp(bytes / 8, 16 * kMiB, kMaxBatch)));
  plan_.runs = DivideUp(bytes, plan_.slot_bytes);
  plan_.lanes = plan_.runs > 1 ? 2 : 1;
  plan_.resident_runs = plan_.runs == 1 ? 1 : WithSlack(plan_.runs);
  plan_.slots = static_cast<std::uint32_t>(std::min<std::uint64_t>(plan_.resident_runs + 2 * plan_.lanes, 1u << 20));
  // The only run takes a slot of its lane. Lines may still make a second run.
  if (plan_.runs == 1) plan_.slots = lines() ? 3 : 2;
  plan_.spills = lines();
  const bool one = plan_.runs == 1 && (!lines() || facts_.asked.batch_bytes == 0);
  return (planned || one) && Fits(plan_.slot_bytes, room);
}

bool Planner::KeepSomeOfStream(std::uint64_t room) {
  // Batches have the size of those of a large input, so that reading and sorting overlap. Half of the memory keeps
  // runs; the other half merges them with spilled runs.
  plan_.slot_bytes = Slot(std::clamp(room / 32, 8 * kMiB, kMaxBatch));
  // Any two runs can be merged, whatever lines they have.
  const std::uint64_t of_long_lines = lines() && !plan_.ring.grows ? 4 * (largest_ + kPage) : 0;
  for (plan_.resident_runs = room / 2 / plan_.slot_bytes; plan_.resident_runs >= 2; --plan_.resident_runs) {
    plan_.slots = static_cast<std::uint32_t>(plan_.resident_runs + 2 * plan_.lanes);
    if (Fits(plan_.slot_bytes, room, of_long_lines)) return true;
  }
  return false;
}

void Planner::SpillAll(std::uint64_t room) {
  plan_.resident_runs = 0;
  plan_.slots = 4;
  // The memory of a lane grows with its slots, so the size of slots is found by shrinking. The only batch of a short
  // stream stays in its slot while it is written.
  const auto fits = [&](std::uint64_t slot) {
    return facts_.input.rereadable ? 4 * slot + 2 * HostLane(slot) <= room : Fits(slot, room);
  };
  std::uint64_t slot = Slot(room / 4);
  while (slot > largest_ && !fits(slot)) slot = Slot(slot - slot / 16 - unit_);
  if (!fits(slot)) TooSmall();
  if (facts_.input.known) slot = Slot(std::min(slot, std::max(facts_.input.bytes, unit_)));
  if (lines() && facts_.input.known && facts_.asked.batch_bytes == 0) {
    // Lines are gathered in random order, so batches near the size of the cache are faster, as long as all runs can be
    // merged at once. Memory that is touched for the first time costs time as well.
    const std::uint64_t runs = std::max<std::uint64_t>(16, shares_.memory / (2 * kMiB));
    slot = std::min(slot, Slot(std::max(8 * kMiB, DivideUp(facts_.input.bytes, runs))));
  }
  plan_.slot_bytes = slot;
  plan_.runs = facts_.input.known ? DivideUp(facts_.input.bytes, std::min(slot, AskedBatch())) : 0;
}

std::vector<std::uint64_t> Planner::DeviceSlots() const {
  const bool known = facts_.input.known;
  const std::uint64_t bytes = known ? std::max(facts_.input.bytes, unit_) : 64 * kMaxBatch;
  std::uint64_t slot = Slot(std::clamp(bytes / 16, 32 * kMiB, kMaxBatch));
  // A stream cannot be read again, so the blocks of the current batches stay in host memory until they are safe.
  if (!facts_.input.rereadable) {
    slot = Slot(std::min(slot, (plan_.ring.blocks - 4) * plan_.ring.piece_bytes / (plan_.lanes + 1)));
  }
  std::vector<std::uint64_t> slots{slot};
  while (slot > std::max(largest_, kMiB)) slots.push_back(slot = Slot(slot / 2));
  return slots;
}

std::vector<std::uint64_t> Planner::LaneSlots() const {
  std::vector<std::uint64_t> slots = DeviceSlots();
  const std::size_t tried = slots.size();
  for (std::size_t i = 0; i < tried && facts_.input.known; ++i) {
    slots.push_back(Even(std::max(facts_.input.bytes, unit_), slots[i]));
  }
  return slots;
}

void Planner::DeviceBatches() {
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
  const std::uint64_t bytes = std::max(facts_.input.bytes, unit_);
  const std::uint64_t slot = known ? Even(bytes, *found) : *found;
  plan_.slot_bytes = slot;
  plan_.runs = known ? DivideUp(bytes, std::min(slot, AskedBatch())) : 0;
  const std::uint64_t most = plan_.runs == 0 ? kMaxSize : WithSlack(plan_.runs);
  // Only input that can be read again may have its only copy on the device.
  const bool planned = facts_.asked.batch_bytes == 0 || facts_.asked.fan_in == 0;
  const bool stay = facts_.input.rereadable && !facts_.asked.keeps && planned;
  // A faster GPU may sort more runs than the other GPUs.
  plan_.resident_each = stay ? std::min(slots_for(slot) - 2 * kLanesOfGpu, most) : 0;
  plan_.resident_runs = std::min(plan_.gpus * plan_.resident_each, most);
  plan_.slots = static_cast<std::uint32_t>(plan_.gpus * (2 * kLanesOfGpu + plan_.resident_each));
  // A GPU may sort more of the runs than it has slots for.
  plan_.spills =
      !plan_.merges_only && (lines() || facts_.earlier.spilled || plan_.runs == 0 || plan_.resident_each < plan_.runs);
}

// The merge.

std::uint64_t Planner::Window(std::uint64_t slot) const {
  // Pinning window buffers for the first time costs half a second a GiB. A window of 64 MiB crosses the bus in a
  // millisecond.
  const std::uint64_t share = shares_.memory / 12 / plan_.gpus;
  return std::max(largest_, WholeRecords(std::min({slot, (plan_.gpu ? 64 : 32) * kMiB, share})));
}

std::uint64_t Planner::Windows() {
  plan_.window_bytes = Window(plan_.slot_bytes);
  const std::uint64_t pitch = RoundUp(plan_.window_bytes + 2 * kPage, kPage);
  const std::uint64_t ring = plan_.ring.bytes(), quarter = shares_.memory / 4;
  // The ring's memory is there and registered already. More windows keep lanes and the proof busy at the same time.
  if (plan_.gpu && !plan_.merges_only && ring >= (plan_.merge_lanes + 1) * pitch && ring <= quarter) {
    plan_.windows_in_ring = true;
    plan_.windows = static_cast<std::uint32_t>(std::min(std::uint64_t{8} * plan_.gpus, ring / pitch));
    return ring;
  }
  // The longest line may be as long as a window for one GPU.
  plan_.windows = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(quarter / pitch, 3, 3 * plan_.gpus));
  return plan_.windows * pitch;
}

void Planner::Merging() {
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

void Planner::MergeFromBlocks(std::uint64_t pool) {
  const std::uint64_t runs = plan_.merges_only ? facts_.input.sorted.size()
                             : plan_.runs != 0 ? plan_.runs - std::min(plan_.runs, plan_.resident_runs)
                                               : 64;
  const std::uint64_t most = ChooseBlock(runs, pool);
  plan_.levels = Levels(runs, most);
  if (plan_.gpu && plan_.spills) pool = HostTier(runs, most, pool);
  const std::uint64_t block = plan_.block_bytes;
  plan_.merge_blocks = std::min(pool / block, std::max<std::uint64_t>(4, (std::uint64_t{4} << 30) / block));
  // Touching memory for the first time costs more than a deeper read-ahead of many runs gains.
  if (lines() && !plan_.gpu && plan_.levels == 1 && plan_.spills) {
    plan_.merge_blocks = std::min(plan_.merge_blocks, 2 * WithSlack(runs) + 16);
  }
  plan_.fan_in = std::min({most, std::max<std::uint64_t>(2, plan_.merge_blocks / 2),
                           std::max<std::uint64_t>(2, plan_.window_bytes / unit_)});
}

std::uint64_t Planner::ChooseBlock(std::uint64_t runs, std::uint64_t pool) {
  const auto fan_in = [&](std::uint64_t block) {
    const std::uint64_t most = std::max<std::uint64_t>(2, pool / (2 * block));
    return facts_.asked.fan_in == 0 ? most : std::min(most, std::max<std::uint64_t>(2, facts_.asked.fan_in));
  };
  std::uint64_t block = LeastBlock();
  if (block > kMostBlock) {
    throw Error(ErrorCode::kUsage,
                "--block-size " + FormatBytes(block) + ": no block has more than " + FormatBytes(kMostBlock));
  }
  if (block > pool / 4 || block > shares_.memory / (2 * (plan_.spill_blocks + plan_.temp_places))) {
    throw TooLittleMemory{"blocks of " + FormatBytes(block)};
  }
  // Blocks are small enough that many runs can be merged at once, and that a run is many blocks.
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

std::uint64_t Planner::HostTier(std::uint64_t runs, std::uint64_t most, std::uint64_t pool) {
  // Read-ahead of a gigabyte hides what can be hidden. The rest of the memory holds whole runs.
  const std::uint64_t read_ahead = std::max<std::uint64_t>(most < runs ? pool : 2 * runs * plan_.block_bytes, pool / 2);
  const std::uint64_t phase1 = plan_.ring.bytes() + Reserve();
  const std::uint64_t tier =
      std::min(pool - std::min(pool, read_ahead), shares_.memory - std::min(shares_.memory, phase1));
  plan_.host_tier_bytes = plan_.levels == 1 && !facts_.asked.keeps ? tier / 4 * 3 : 0;
  return pool - plan_.host_tier_bytes;
}

void Planner::MergeLevels() {
  std::vector<std::uint64_t> sizes, temp;
  std::uint64_t spilled = 0;
  if (plan_.merges_only) {
    std::ranges::copy_if(facts_.input.sorted, std::back_inserter(sizes), [](std::uint64_t bytes) { return bytes > 0; });
    plan_.runs = sizes.size();
    temp.assign(sizes.size(), 0);
  } else {
    // The first runs stay in memory.
    const std::uint64_t resident = std::min(plan_.runs, plan_.resident_runs);
    std::uint64_t left = facts_.input.bytes - std::min(facts_.input.bytes, resident * plan_.batch_bytes);
    for (spilled = plan_.runs - resident; sizes.size() < spilled;) {
      const std::uint64_t batch = std::min(left, plan_.batch_bytes);
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
  // Short lines make more runs, and shorter ones.
  if (lines() && spilled > 0) plan_.temp_bytes += (MostRuns() - std::min(MostRuns(), plan_.runs)) * kMostBeside;
  if (plan_.merges_only) plan_.spills = plan_.temp_bytes > 0;
}

// Sizes.

/// Returns the most bytes of a batch that are kept.
std::uint64_t Planner::KeptBytes() const {
  const std::uint64_t top = facts_.asked.top;
  return top > 0 && top < plan_.batch_bytes / largest_ ? top * largest_ : plan_.batch_bytes;
}

/// Returns the bytes of records in a spilled block.
std::uint64_t Planner::Payload() const { return WholeRecords(plan_.block_bytes - kSpillHeaderBytes); }

/// Returns the most blocks of `bytes` in `runs` runs. Two neighbouring blocks of lines hold more than one full block.
std::uint64_t Planner::Blocks(std::uint64_t bytes, std::uint64_t runs) const {
  return (lines() ? 2 : 1) * (bytes / Payload()) + runs;
}

/// Returns the most temp space that a run of `bytes` takes.
std::uint64_t Planner::SpillBytes(std::uint64_t bytes) const {
  const std::uint64_t index = facts_.asked.keeps ? Extent(Blocks(bytes, 1) * facts_.costs.block_index) : 0;
  if (lines()) return bytes + Blocks(bytes, 1) * kMostBeside + index;
  const std::uint64_t rest = bytes % Payload();
  return bytes / Payload() * Extent(Payload()) + (rest > 0 ? Extent(rest) : 0) + index;
}

/// Returns the most runs of the input. A batch of lines ends where the next line has no room, or when it has as many
/// lines as a slot takes.
std::uint64_t Planner::MostRuns() const {
  if (!lines()) return plan_.runs;
  const std::uint64_t bytes = facts_.input.bytes;
  return bytes / SlotRecords(shares_.layout, plan_.slot_bytes) + 2 * (bytes / plan_.batch_bytes) + 1;
}

/// Returns the memory that describes runs and their blocks while they are merged.
std::uint64_t Planner::IndexBytes() const {
  if (!facts_.input.known) return 0;
  const StageCosts& costs = facts_.costs;
  const std::uint64_t inputs = facts_.input.sorted.size();
  if (plan_.merges_only) {
    // The blocks of inputs are computed, not stored.
    const std::uint64_t merged = inputs > plan_.fan_in ? facts_.input.bytes : 0;
    return inputs * costs.run_index + merged / Payload() * costs.block_index;
  }
  // This assumes lines of the least average length of a slot (SlotRecords). Shorter lines make more runs.
  const std::uint64_t most_runs = lines() ? SlotRecords(shares_.layout, facts_.input.bytes) + 1 : plan_.runs;
  const std::uint64_t runs = std::min(plan_.runs, most_runs);
  if (!plan_.spills) return runs * costs.run_index;
  const std::uint64_t spilled = runs - std::min(runs, plan_.resident_runs);
  const std::uint64_t bytes = std::min(facts_.input.bytes, spilled * KeptBytes());
  // A merge of a level keeps the index of the runs that it reads and of the run that it writes.
  const std::uint64_t copies = spilled > plan_.fan_in ? 2 : 1;
  return runs * costs.run_index + copies * (bytes / Payload() + spilled) * costs.block_index;
}

/// Returns the memory for writing spilled blocks. Blocks have the size that was asked for, or the largest size that a
/// sixteenth of the memory allows.
std::uint64_t Planner::SpillReserve() const {
  const std::uint64_t most = std::min(kMaxBlock, shares_.memory / 16 / plan_.spill_blocks / kPage * kPage);
  return plan_.spill_blocks * (facts_.block_bytes() != 0 ? LeastBlock() : std::max(MinBlock(), most));
}

std::uint64_t Planner::TempReserve(unsigned places) const {
  return places * (SpillReserve() / plan_.spill_blocks + shares_.temp_place_bytes);
}

/// Returns the memory that a job takes in both phases.
std::uint64_t Planner::Reserve() const {
  const std::uint64_t pinned = plan_.gpu ? plan_.gpus * kMostPinnedByGpu : 0;
  return SpillReserve() + TempReserve(plan_.temp_places) + plan_.ring.caches_bytes() + pinned;
}

/// Plans a place for each thread, if the places take at most a sixteenth of the memory.
void Planner::PlanTempPlaces() {
  if (shares_.temp_place_bytes == 0) return;
  plan_.temp_places = facts_.earlier.temp_places;
  if (plan_.temp_places != 0) return;
  plan_.temp_places = std::max(1u, std::min(shares_.threads, plan_.io_threads));
  while (plan_.temp_places > 1 && TempReserve(plan_.temp_places) > shares_.memory / 16) --plan_.temp_places;
}

}  // namespace gpusort::planning

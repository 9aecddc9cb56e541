#include "job/make_plan.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.hpp"
#include "data/inputs.hpp"
#include "io/spill.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "runs/merge_levels.hpp"
#include "runs/run.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = kKiB * kKiB, kPage = 4096;
constexpr std::uint64_t kMinBlock = 64 * kKiB, kMaxBlock = 4 * kMiB;
/// What RunBlocks can say. A record of 1 GiB fits.
constexpr std::uint64_t kMostBlock = 2048 * kMiB;
/// A batch is bounded so that reading, sorting and writing overlap, and so that the last one is soon done.
constexpr std::uint64_t kMaxBatch = 256 * kMiB;
constexpr std::uint64_t kMaxRows = (std::uint64_t{1} << 32) - 1;
/// Room for a piece of 8 MiB: of such pieces batches are whole numbers, and a piece that ends in another batch has to
/// be summed up in two parts.
constexpr std::uint64_t kMaxReadBlock = 8 * kMiB + kReadSlack;
/// No more than that stays in a core's own cache beside what else it has; half or twice as much is as quick.
constexpr std::uint64_t kReadCache = 256 * kKiB;

std::uint64_t RoundUp(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }
std::uint64_t DivideUp(std::uint64_t n, std::uint64_t d) { return (n + d - 1) / d; }

/// Bytes of the longest record that is taken.
std::uint64_t LargestRecord(const PlanFacts& facts) {
  if (facts.layout.fixed()) return facts.layout.stride;
  // With keys that may be as long as they are, records have half of what is planned for.
  const std::uint64_t usual = UsualMaxRecord(facts.memory);
  const bool halves = facts.key_bytes && facts.key_bytes(usual) > usual;
  const std::uint64_t asked = std::max(facts.kept_record, facts.max_record != 0 ? facts.max_record
                                                          : halves              ? usual / 2
                                                                                : usual);
  // All of a short input may be a record with keys several times as long as it is, and more if more is asked for.
  const bool keys_tell = halves && facts.max_record != 0;
  const std::uint64_t most = std::max<std::uint64_t>(facts.input_bytes, 1) * (halves ? 4 : 1);
  return facts.input_known && !keys_tell ? std::min(asked, most) : asked;
}

/// More memory would do: MakeRing and MakePlan say how much.
struct TooLittleMemory {
  std::string for_what;
};

[[noreturn]] void TooLittleForRecords(const PlanFacts& facts) {
  throw TooLittleMemory{(facts.layout.fixed() ? "records of " : "lines of ") + std::to_string(LargestRecord(facts)) +
                        " bytes"};
}

class Planner {
 public:
  /// `doublings`: of the smallest block, even if there are more levels then.
  Planner(const PlanFacts& facts, const Ring& ring, int doublings)
      : facts_(facts),
        doublings_(doublings),
        unit_(LeastRecordBytes(facts.layout)),
        largest_(ring.max_record + (facts.key_bytes ? facts.key_bytes(ring.max_record) : 0)) {
    plan_.ring = ring;
  }

  /// All but what MergeLevels tells.
  Plan Make() {
    plan_.gpu = facts_.gpu;
    plan_.gpus = facts_.gpu ? facts_.gpus : 1;
    plan_.merges_only = !facts_.sorted_inputs.empty();
    plan_.memory = facts_.memory;
    plan_.device_memory = facts_.device_memory;
    plan_.io_threads = std::clamp(facts_.threads, 2u, facts_.gpu ? 32u : 16u);
    plan_.block_bytes = LeastBlock();
    plan_.spill_blocks = std::clamp<std::uint64_t>(facts_.memory / 8 / LeastBlock(), 2, plan_.io_threads);
    PlanTempPlaces();
    if (plan_.ring.bytes() + Reserve() > facts_.memory) TooSmall();
    if (facts_.gpu) {
      DeviceBatches();
    } else {
      HostBatches();
      plan_.resident_each = plan_.resident_runs;
    }
    plan_.batch_bytes = lines() ? std::min(plan_.slot_bytes, AskedBatch()) : plan_.slot_bytes;
    Merging();
    plan_.index_bytes = IndexBytes();
    plan_.direct_temp = plan_.spills && facts_.input_bytes >= 64 * kMiB && 2 * facts_.input_bytes > facts_.free_ram;
    plan_.direct_output = DirectOutput(facts_);
    return plan_;
  }

  /// Goes through the merges to come, whose sizes are known.
  Plan WithLevels() {
    if (plan_.merges_only || (facts_.input_known && plan_.spills)) MergeLevels();
    return plan_;
  }

 private:
  bool lines() const { return !facts_.layout.fixed(); }
  std::uint64_t WholeRecords(std::uint64_t bytes) const { return bytes / unit_ * unit_; }
  /// As many batches of `bytes` as `slot` makes, without a small one at the end: it would need as large a slot as others.
  std::uint64_t Even(std::uint64_t bytes, std::uint64_t slot) const {
    if (lines() || facts_.batch_bytes != 0) return slot;
    return RoundUp(DivideUp(bytes, DivideUp(bytes, slot)), unit_);
  }
  std::uint64_t AskedBatch() const {
    return facts_.batch_bytes == 0 ? kMaxSize : std::max(unit_, WholeRecords(facts_.batch_bytes));
  }
  /// Slots for `runs` that stay. Batches of lines are not filled to the last byte, and a slot ends before it is full of
  /// very short ones: there may be more runs than planned. What is left over spills.
  std::uint64_t WithSlack(std::uint64_t runs) const { return lines() ? runs + runs / 16 + 1 : runs; }

  [[noreturn]] void TooSmall() const { TooLittleForRecords(facts_); }

  std::uint64_t MinBlock() const { return std::max(kMinBlock, RoundUp(unit_ + kReadSlack, kPage)); }
  /// The same, or what was asked for.
  std::uint64_t LeastBlock() const { return std::max(MinBlock(), RoundUp(facts_.block_bytes, kPage)); }

  /// What is kept of a batch at most.
  std::uint64_t KeptBytes() const {
    const bool some = facts_.top > 0 && facts_.top < plan_.batch_bytes / largest_;
    return some ? facts_.top * largest_ : plan_.batch_bytes;
  }

  std::uint64_t Payload() const { return WholeRecords(plan_.block_bytes - kSpillHeaderBytes); }
  static std::uint64_t Extent(std::uint64_t payload) { return RoundUp(payload + kSpillHeaderBytes, kPage); }
  static constexpr std::uint64_t kMostBeside = kSpillHeaderBytes + kPage - 1;

  /// Blocks of `bytes` in so many runs, at most. Two neighbouring blocks of lines hold more than one is long.
  std::uint64_t Blocks(std::uint64_t bytes, std::uint64_t runs) const {
    return (lines() ? 2 : 1) * (bytes / Payload()) + runs;
  }

  /// What `bytes` in one run take of the spill, at most.
  std::uint64_t SpillBytes(std::uint64_t bytes) const {
    const std::uint64_t index = facts_.keeps ? Extent(Blocks(bytes, 1) * BlockBytes()) : 0;
    if (lines()) return bytes + Blocks(bytes, 1) * kMostBeside + index;
    const std::uint64_t rest = bytes % Payload();
    return bytes / Payload() * Extent(Payload()) + (rest > 0 ? Extent(rest) : 0) + index;
  }

  /// How many runs lines can make: a batch ends where the next line has no room, or where it has all the lines that a
  /// slot takes.
  std::uint64_t MostRuns() const {
    if (!lines()) return plan_.runs;
    return facts_.input_bytes / SlotRecords(facts_.layout, plan_.slot_bytes) +
           2 * (facts_.input_bytes / plan_.batch_bytes) + 1;
  }

  void MergeLevels() {
    std::vector<std::uint64_t> sizes, temp;
    // Resident runs are the first ones, whose records the rest does not hold.
    const std::uint64_t resident = plan_.merges_only ? 0 : std::min(plan_.runs, plan_.resident_runs);
    std::uint64_t left = facts_.input_bytes - std::min(facts_.input_bytes, resident * plan_.batch_bytes);
    if (plan_.merges_only) {
      std::copy_if(facts_.sorted_inputs.begin(), facts_.sorted_inputs.end(), std::back_inserter(sizes),
                   [](std::uint64_t bytes) { return bytes > 0; });
      plan_.runs = sizes.size();
      temp.assign(sizes.size(), 0);
    }
    const std::uint64_t runs = plan_.runs - resident;
    for (std::uint64_t i = 0; i < runs && !plan_.merges_only; ++i) {
      const std::uint64_t batch = std::min(left, plan_.batch_bytes);
      left -= batch;
      sizes.push_back(std::min(batch, KeptBytes()));
      temp.push_back(SpillBytes(sizes.back()));
    }
    const MergeOutlook outlook =
        LookAhead(std::move(sizes), std::move(temp), plan_.fan_in, !facts_.gpu && !facts_.keeps,
                  [this](std::uint64_t bytes) { return SpillBytes(bytes); });
    plan_.levels = outlook.levels;
    plan_.level_bytes = outlook.bytes;
    plan_.temp_bytes = outlook.temp_peak;
    // Short lines make more and shorter runs.
    if (lines() && !plan_.merges_only && runs > 0) {
      plan_.temp_bytes += (MostRuns() - std::min(MostRuns(), plan_.runs)) * kMostBeside;
    }
    if (plan_.merges_only) plan_.spills = plan_.temp_bytes > 0;
  }

  /// What is known of runs and their blocks while they are merged.
  std::uint64_t IndexBytes() const {
    if (!facts_.input_known) return 0;
    // Run, its place in the input, and its node in the map of those that are being formed.
    constexpr std::uint64_t kRunBytes = sizeof(Run) + 128;
    const std::uint64_t inputs = facts_.sorted_inputs.size();
    if (plan_.merges_only) {
      // Blocks of inputs are not kept.
      const std::uint64_t merged = inputs > plan_.fan_in ? facts_.input_bytes : 0;
      return inputs * kRunBytes + merged / Payload() * BlockBytes();
    }
    // Lines of a slot's least average assumed (SlotRecords): shorter ones make more runs.
    const std::uint64_t most_runs = lines() ? SlotRecords(facts_.layout, facts_.input_bytes) + 1 : plan_.runs;
    const std::uint64_t runs = std::min(plan_.runs, most_runs);
    if (!plan_.spills) return runs * kRunBytes;
    const std::uint64_t spilled = runs - std::min(runs, plan_.resident_runs);
    const std::uint64_t bytes = std::min(facts_.input_bytes, spilled * KeptBytes());
    // A merge knows what it reads and what it writes.
    const std::uint64_t copies = spilled > plan_.fan_in ? 2 : 1;
    return runs * kRunBytes + copies * (bytes / Payload() + spilled) * BlockBytes();
  }
  std::uint64_t BlockBytes() const {
    return RunBlocks::kBytes + RunBlocks::kSlotBytes + sizeof(std::uint32_t) * RunBlocks::ForecastWords(facts_.layout);
  }

  /// Memory for writing spilled blocks, assuming the largest blocks that a sixteenth of the memory allows, or those
  /// that were asked for.
  std::uint64_t SpillReserve() const {
    const std::uint64_t most = std::min(kMaxBlock, facts_.memory / 16 / plan_.spill_blocks / kPage * kPage);
    return plan_.spill_blocks * (facts_.block_bytes != 0 ? LeastBlock() : std::max(MinBlock(), most));
  }

  std::uint64_t TempReserve(unsigned places) const {
    return places * (SpillReserve() / plan_.spill_blocks + facts_.temp_place_bytes);
  }
  std::uint64_t Reserve() const {
    const std::uint64_t pinned = facts_.gpu ? plan_.gpus * kMostPinnedByGpu : 0;
    return SpillReserve() + TempReserve(plan_.temp_places) + plan_.ring.caches_bytes() + pinned;
  }

  /// One for each thread, if they take a sixteenth of the memory at most.
  void PlanTempPlaces() {
    if (facts_.temp_place_bytes == 0) return;
    plan_.temp_places = facts_.temp_places;
    if (plan_.temp_places != 0) return;
    plan_.temp_places = std::max(1u, std::min(facts_.threads, plan_.io_threads));
    while (plan_.temp_places > 1 && TempReserve(plan_.temp_places) > facts_.memory / 16) --plan_.temp_places;
  }

  std::uint64_t Slot(std::uint64_t wanted) const {
    const std::uint64_t slot = WholeRecords(std::min(std::max(wanted, largest_), kMaxRows * unit_));
    return std::min(slot, std::max(largest_, AskedBatch()));
  }

  /// Pinning untouched window buffers costs half a second a GiB; a window of 64 MiB crosses the bus in a millisecond.
  std::uint64_t Window(std::uint64_t slot) const {
    const std::uint64_t share = facts_.memory / 12 / plan_.gpus;
    return std::max(largest_, WholeRecords(std::min({slot, (facts_.gpu ? 64 : 32) * kMiB, share})));
  }

  void HostBatches() {
    const std::uint64_t fixed = plan_.ring.bytes() + Reserve();
    if (facts_.memory < fixed + 8 * largest_) TooSmall();
    const std::uint64_t room = facts_.memory - fixed;
    const auto fits = [&](std::uint64_t slot, std::uint64_t slots, std::uint32_t lanes, std::uint64_t read = 0) {
      std::uint64_t merging = 3 * ((lines() ? Window(slot) : std::min(slot, 32 * kMiB)) + kPage);
      if (lines()) merging += std::max(8 * LeastBlock(), read);  // what spilled
      return slots <= room / slot && slots * slot + lanes * facts_.lane_bytes(slot) + merging <= room;
    };
    // Small inputs: one batch, nothing spilled. Larger ones: all runs in memory, if they fit.
    if (facts_.input_known && !plan_.merges_only && !facts_.spilled && !facts_.keeps) {
      const std::uint64_t bytes = std::max(facts_.input_bytes, unit_);
      const bool small = bytes <= 32 * kMiB;
      plan_.slot_bytes = Even(bytes, Slot(small ? bytes : std::clamp(bytes / 8, 16 * kMiB, kMaxBatch)));
      plan_.runs = DivideUp(bytes, plan_.slot_bytes);
      plan_.lanes = plan_.runs > 1 ? 2 : 1;
      plan_.resident_runs = plan_.runs == 1 ? 1 : WithSlack(plan_.runs);
      plan_.slots =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(plan_.resident_runs + 2 * plan_.lanes, 1u << 20));
      // The only run takes one of its lane's slots; lines may yet make a second run.
      if (plan_.runs == 1) plan_.slots = lines() ? 3 : 2;
      plan_.spills = lines();
      const bool planned = facts_.fan_in == 0 && facts_.batch_bytes == 0;
      const bool one = plan_.runs == 1 && (!lines() || facts_.batch_bytes == 0);
      if ((planned || one) && fits(plan_.slot_bytes, plan_.slots, plan_.lanes)) return;
    }
    plan_.spills = !plan_.merges_only;
    plan_.lanes = 2;
    if (!facts_.input_known && !facts_.spilled && facts_.fan_in == 0 && facts_.batch_bytes == 0) {
      // A stream: batches as of a large input, so that reading and sorting overlap. Half of the memory keeps runs; the
      // other half merges them with what is spilled.
      const std::uint64_t slot = Slot(std::clamp(room / 32, 8 * kMiB, kMaxBatch));
      // Any two runs can be merged, whatever lines they have.
      const std::uint64_t of_long_lines = lines() && !plan_.ring.grows ? 4 * (largest_ + kPage) : 0;
      for (plan_.resident_runs = room / 2 / slot; plan_.resident_runs >= 2; --plan_.resident_runs) {
        plan_.slots = static_cast<std::uint32_t>(plan_.resident_runs + 2 * plan_.lanes);
        plan_.slot_bytes = slot;
        if (fits(slot, plan_.slots, plan_.lanes, of_long_lines)) return;
      }
    }
    plan_.resident_runs = 0;
    plan_.slots = 4;
    // What a lane needs beside its slots grows with them, so the share is found by shrinking. The only batch of a short
    // stream stays in its slot while it is written.
    const auto fits_lanes = [&](std::uint64_t slot) {
      return facts_.rereadable ? 4 * slot + 2 * facts_.lane_bytes(slot) <= room : fits(slot, 4, 2);
    };
    std::uint64_t slot = Slot(room / 4);
    while (slot > largest_ && !fits_lanes(slot)) slot = Slot(slot - slot / 16 - unit_);
    if (!fits_lanes(slot)) TooSmall();
    plan_.slot_bytes = facts_.input_known ? Slot(std::min(slot, std::max(facts_.input_bytes, unit_))) : slot;
    if (lines() && facts_.input_known && facts_.batch_bytes == 0) {
      // Lines are gathered in random order: from batches near the size of the cache, as long as all runs can be merged
      // at once. And memory that is touched for the first time has its price, too. (1 GiB, -S 256M, 2 cores: 7.7 s of
      // CPU time with slots of 44 MiB, 6.1 with 16.)
      const std::uint64_t runs = std::max<std::uint64_t>(16, facts_.memory / (2 * kMiB));
      plan_.slot_bytes = std::min(plan_.slot_bytes, Slot(std::max(8 * kMiB, DivideUp(facts_.input_bytes, runs))));
    }
    plan_.runs = facts_.input_known ? DivideUp(facts_.input_bytes, std::min(plan_.slot_bytes, AskedBatch())) : 0;
  }

  void DeviceBatches() {
    constexpr std::uint32_t kLanesEach = 2;
    plan_.lanes = kLanesEach * plan_.gpus;
    const std::uint64_t bytes = facts_.input_known ? std::max(facts_.input_bytes, unit_) : 64 * kMaxBatch;
    std::uint64_t slot = Slot(std::clamp(bytes / 16, 32 * kMiB, kMaxBatch));
    // A stream cannot be read again, so the blocks of the batches under way stay in host memory until they are safe.
    if (!facts_.rereadable) {
      slot = Slot(std::min(slot, (plan_.ring.blocks - 4) * plan_.ring.piece_bytes / (plan_.lanes + 1)));
    }
    const auto slots_for = [&](std::uint64_t size) -> std::uint64_t {
      const std::uint64_t lanes = kLanesEach * facts_.lane_bytes(size);
      return facts_.device_memory > lanes ? (facts_.device_memory - lanes) / RoundUp(size, 256) : 0;
    };
    while (slots_for(slot) < 2 * kLanesEach && slot > std::max(largest_, kMiB)) slot = Slot(slot / 2);
    if (slots_for(slot) < 2 * kLanesEach) {
      throw TooLittleGpuMemory("GPU memory of " + FormatBytes(facts_.device_memory) + " is too small for " +
                               (lines() ? "lines of " + std::to_string(largest_) + " bytes (--max-record)"
                                        : "records of " + std::to_string(largest_) + " bytes"));
    }
    if (facts_.input_known && !plan_.merges_only) slot = Even(bytes, slot);
    plan_.slot_bytes = slot;
    plan_.runs = facts_.input_known && !plan_.merges_only ? DivideUp(bytes, std::min(slot, AskedBatch())) : 0;
    const std::uint64_t most = plan_.runs == 0 ? kMaxSize : WithSlack(plan_.runs);
    // Only input that can be read again may have its only copy on the device.
    const bool stay = facts_.rereadable && !facts_.keeps && (facts_.batch_bytes == 0 || facts_.fan_in == 0);
    // A GPU that is quicker than the others has more of them.
    plan_.resident_each = stay ? std::min(slots_for(slot) - 2 * kLanesEach, most) : 0;
    plan_.resident_runs = std::min(plan_.gpus * plan_.resident_each, most);
    plan_.slots = static_cast<std::uint32_t>(plan_.gpus * (2 * kLanesEach + plan_.resident_each));
    // Nor can be told how many: one GPU may sort more of the runs than it has slots for.
    plan_.spills =
        !plan_.merges_only && (lines() || facts_.spilled || plan_.runs == 0 || plan_.resident_each < plan_.runs);
  }

  void Merging() {
    plan_.merge_lanes = facts_.gpu ? plan_.lanes : 1;
    plan_.window_bytes = Window(plan_.slot_bytes);
    const std::uint64_t pitch = RoundUp(plan_.window_bytes + 2 * kPage, kPage);
    // The longest line may be as long as a window for one GPU.
    plan_.windows = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(facts_.memory / 4 / pitch, 3, 3 * plan_.gpus));
    std::uint64_t windows = plan_.windows * pitch;
    // The ring's memory is there and registered already, and more windows keep lanes and the proof busy at once.
    const std::uint64_t least = (plan_.merge_lanes + 1) * pitch;
    if (facts_.gpu && !plan_.merges_only && plan_.ring.bytes() >= least && plan_.ring.bytes() <= facts_.memory / 4) {
      const std::uint64_t most = std::uint64_t{8} * plan_.gpus;
      plan_.windows_in_ring = true;
      plan_.windows = static_cast<std::uint32_t>(std::min(most, plan_.ring.bytes() / pitch));
      windows = plan_.ring.bytes();
    }
    const bool resident = !facts_.gpu && plan_.resident_runs > 0;
    const std::uint64_t slots = resident ? plan_.slots * plan_.slot_bytes : 0;
    const std::uint64_t lanes = facts_.gpu            ? 0
                                : resident && lines() ? plan_.lanes * facts_.lane_bytes(plan_.slot_bytes)
                                                      : facts_.lane_bytes(plan_.window_bytes);
    std::uint64_t taken = slots + lanes + windows + Reserve();
    // Blocks of sorted inputs that a long line makes larger.
    if (plan_.merges_only && lines()) taken += 2 * largest_;
    const bool from_blocks = plan_.spills || plan_.merges_only;
    if (!from_blocks) {
      plan_.fan_in = std::max<std::uint64_t>(plan_.runs, 1);
      return;
    }
    if (facts_.memory < taken + 4 * LeastBlock()) TooSmall();
    std::uint64_t pool = facts_.memory - taken;
    const std::uint64_t runs = plan_.merges_only ? facts_.sorted_inputs.size()
                               : plan_.runs != 0 ? plan_.runs - std::min(plan_.runs, plan_.resident_runs)
                                                 : 64;
    const auto fan_in = [&](std::uint64_t block) {
      const std::uint64_t most = std::max<std::uint64_t>(2, pool / (2 * block));
      return facts_.fan_in == 0 ? most : std::min(most, std::max<std::uint64_t>(2, facts_.fan_in));
    };
    // Small enough that many runs can be merged at once, and that their last blocks are few of all.
    const std::uint64_t limit =
        std::max(MinBlock(), std::min(SpillReserve() / plan_.spill_blocks, plan_.slot_bytes / (doublings_ > 0 ? 4
                                                                                               : facts_.gpu   ? 32
                                                                                               : lines()      ? 64
                                                                                                              : 16)));
    std::uint64_t block = LeastBlock();
    if (block > kMostBlock) {
      throw Error(ErrorCode::kUsage,
                  "--block-size " + FormatBytes(block) + ": no block has more than " + FormatBytes(kMostBlock));
    }
    if (block > pool / 4 || block > facts_.memory / (2 * (plan_.spill_blocks + plan_.temp_places))) {
      throw TooLittleMemory{"blocks of " + FormatBytes(block)};
    }
    constexpr std::uint64_t kFewRuns = 8;
    const auto can_double = [&] { return facts_.block_bytes == 0 && 2 * block <= limit; };
    for (int i = 0; i < doublings_ && can_double() && fan_in(2 * block) >= std::min(runs, kFewRuns); ++i) block *= 2;
    const std::uint32_t fewest = Levels(runs, fan_in(block));
    while (can_double() && Levels(runs, fan_in(2 * block)) == fewest) block *= 2;
    plan_.block_bytes = block / kPage * kPage;
    plan_.fan_in = fan_in(block);
    plan_.levels = Levels(runs, plan_.fan_in);
    // What read-ahead of a gigabyte does not hide, more does not hide either; the rest can hold whole runs.
    if (facts_.gpu && plan_.spills) {
      const std::uint64_t read_ahead =
          std::max<std::uint64_t>(2 * plan_.fan_in < 2 * runs ? pool : 2 * runs * block, pool / 2);
      const std::uint64_t phase1 = plan_.ring.bytes() + Reserve();
      const std::uint64_t tier =
          std::min(pool - std::min(pool, read_ahead), facts_.memory - std::min(facts_.memory, phase1));
      plan_.host_tier_bytes = plan_.levels == 1 && !facts_.keeps ? tier / 4 * 3 : 0;
      pool -= plan_.host_tier_bytes;
    }
    plan_.merge_blocks = std::min(pool / block, std::max<std::uint64_t>(4, (std::uint64_t{4} << 30) / block));
    // Memory that is touched for the first time costs more than deeper read-ahead of many runs gains.
    if (lines() && !facts_.gpu && plan_.levels == 1 && plan_.spills) {
      plan_.merge_blocks = std::min(plan_.merge_blocks, 2 * WithSlack(runs) + 16);
    }
    plan_.fan_in = std::min({plan_.fan_in, std::max<std::uint64_t>(2, plan_.merge_blocks / 2),
                             std::max<std::uint64_t>(2, plan_.window_bytes / unit_)});
  }

  const PlanFacts& facts_;
  const int doublings_;
  const std::uint64_t unit_;     ///< bytes of a record, or 1: what sizes are multiples of
  const std::uint64_t largest_;  ///< bytes of the longest record
  Plan plan_;
};

Ring RingFor(const PlanFacts& facts) {
  // Three quarters of it are too much for codecs.
  if (facts.codec_memory / 3 > facts.memory) throw TooLittleMemory{"codecs, headers and reports"};
  const std::uint64_t stride = LeastRecordBytes(facts.layout);
  const std::uint64_t one_record = RoundUp(stride + kReadSlack, kPage);
  Ring ring;
  ring.block_bytes = std::max(
      one_record, std::clamp(facts.memory / 64 / kPage * kPage, kMinBlock, facts.gpu ? kMaxReadBlock : 2 * kMiB));
  ring.max_record = LargestRecord(facts);
  ring.grows = facts.grows && !facts.layout.fixed();
  // They sum up what they read, which takes longer than reading from memory. A GPU's lanes need little, but at once (16
  // GiB of u64 on 16 cores: runs in 0.37 s with 15, 0.40 s with 16 or 18); the CPU's need the other half.
  ring.threads = facts.gpu ? std::clamp(facts.threads - facts.threads / 16, 1u, 32u)
                           : std::clamp(facts.threads / 2, 1u, 8u);
  if (!facts.gpu) {
    ring.blocks = 2 * ring.threads + 2;
  } else if (facts.rereadable) {
    // What the disk delivers while the CUDA context comes up (0.4 s at 3 GB/s) should find room.
    ring.blocks = std::clamp<std::uint64_t>(facts.memory / 8 / ring.block_bytes, 4, 160);
    ring.blocks = std::min(ring.blocks, std::max<std::uint64_t>(4, facts.input_bytes / (ring.block_bytes / 2)));
  } else {
    ring.blocks = std::clamp<std::uint64_t>(facts.memory / 2 / ring.block_bytes, 8, 128);
  }
  ring.piece_bytes = (ring.block_bytes - kReadSlack) / stride * stride;
  if (ring.bytes() > facts.memory / 2) {
    ring.blocks = std::max<std::uint64_t>(4, facts.memory / 2 / ring.block_bytes);
    if (ring.bytes() > facts.memory / 2) TooLittleForRecords(facts);
  }
  if (facts.gpu && facts.rereadable && facts.layout.fixed()) {
    const std::uint64_t share = facts.memory / 64 / ring.threads / kPage * kPage;
    const std::uint64_t cache = std::min(kReadCache, share);
    if (cache >= kReadCache / 4 && stride <= cache / 16) ring.cache_bytes = cache;
  }
  // The line in front of the one that is read stays.
  if (facts.checks && !facts.layout.fixed() && ring.bytes() + 2 * ring.max_record > facts.memory) {
    TooLittleForRecords(facts);
  }
  const std::uint64_t piece_bytes = ring.piece_bytes;
  if (facts.batch_bytes != 0)
    ring.piece_bytes = std::min(ring.piece_bytes, std::max(stride, facts.batch_bytes / stride * stride));
  if (facts.gpu && !facts.rereadable && !facts.layout.fixed()) {
    // The blocks of a batch that is not safe yet stay: those of a few of the longest lines must not be the whole ring.
    const std::uint64_t least = DivideUp(ring.max_record, std::max<std::uint64_t>(1, (ring.blocks - 4) / 3));
    if (least > piece_bytes) {
      throw TooLittleMemory{"a stream of lines of " + FormatBytes(ring.max_record) +
                            " (--max-record) through a GPU (or give --device cpu)"};
    }
    ring.piece_bytes = std::max(ring.piece_bytes, least);
  }
  return ring;
}

/// Where what is known of the runs takes more than it may beside the memory, blocks get larger; what is still too much
/// comes off the memory of a plan that is then made anew.
Plan PlanFor(const PlanFacts& facts, const Ring& ring, bool with_levels) {
  PlanFacts rest = facts;
  constexpr int kMostDoublings = 8, kMostTries = 16;
  for (int tries = 0; tries < kMostTries; ++tries) {
    Planner planner(rest, ring, std::min(tries, kMostDoublings));
    Plan plan = planner.Make();
    const std::uint64_t counted = plan.index_bytes - std::min(plan.index_bytes, kFreeIndex);
    if (counted <= facts.memory - rest.memory) {
      if (with_levels) plan = planner.WithLevels();
      plan.memory = facts.memory;
      return plan;
    }
    if (tries < kMostDoublings) continue;
    if (counted >= facts.memory / 2) break;
    rest.memory = facts.memory - counted - counted / 16;
  }
  throw TooLittleMemory{"what must be known of the runs of " + FormatBytes(facts.input_bytes)};
}

PlanFacts AtLimit(const PlanFacts& facts, std::uint64_t limit) {
  if (facts.at_limit) return facts.at_limit(limit);
  PlanFacts other = facts;
  other.memory = limit - std::min(limit, facts.codec_memory);
  return other;
}

/// Says how much memory would do: found by planning with more and more.
[[noreturn]] void Advise(const PlanFacts& facts, const TooLittleMemory& error) {
  const std::uint64_t limit = facts.limit != 0 ? facts.limit : facts.memory + facts.codec_memory;
  std::string message = "memory of " + FormatBytes(limit) + " is too small for " + error.for_what;
  const std::uint64_t least = std::max<std::uint64_t>(limit, 64 * kKiB);
  std::uint64_t low = least, high = least;
  const auto climb = [&](std::uint64_t steps) {
    while (high < kMaxSize && !IsEnough(AtLimit(facts, high))) {
      low = high;
      high += high / steps;
    }
  };
  climb(1);
  // Then in small steps: a little more need not do where a plan is of another kind, or has more threads.
  low = high = std::max(least, high / 4);
  climb(8);
  if (high < kMaxSize) {
    constexpr std::uint64_t kExact = 64;
    while (high - low > high / kExact) {
      const std::uint64_t middle = low + (high - low) / 2;
      (IsEnough(AtLimit(facts, middle)) ? high : low) = middle;
    }
    const auto parsed = [](std::uint64_t bytes) { return ParseSize(SizeArgument(bytes), 1).value; };
    while (!IsEnough(AtLimit(facts, parsed(high)))) high += high / kExact;
    message += ": give at least --memory " + SizeArgument(high);
  }
  throw Error(ErrorCode::kUsage, message);
}

}  // namespace

std::uint64_t UsualMaxRecord(std::uint64_t memory) { return std::clamp(memory / 16, kMinBlock, 64 * kMiB); }

bool DirectOutput(const PlanFacts& facts) {
  // -u and --top write in order, at offsets that are not known in advance.
  return facts.output_file && !facts.unique && facts.top == 0 && facts.input_known && facts.input_bytes >= 64 * kMiB;
}

bool IsEnough(const PlanFacts& facts) {
  if (facts.gpu && (facts.device_memory == 0 || !facts.lane_bytes)) {
    PlanFacts guess = facts;
    if (guess.device_memory == 0) guess.device_memory = std::uint64_t{64} << 30;
    if (!guess.lane_bytes) guess.lane_bytes = [](std::uint64_t slot) { return slot; };
    return IsEnough(guess);
  }
  try {
    const Ring ring = RingFor(facts);
    if (!facts.checks) PlanFor(facts, ring, false);
    return true;
  } catch (const TooLittleMemory&) {
  } catch (const Error&) {
    // The GPU's memory is too small, or no memory would do.
  }
  return false;
}

Ring MakeRing(const PlanFacts& facts) {
  try {
    return RingFor(facts);
  } catch (const TooLittleMemory& error) {
    Advise(facts, error);
  }
}

Plan MakePlan(const PlanFacts& facts, const Ring& ring) {
  try {
    return PlanFor(facts, ring, true);
  } catch (const TooLittleMemory& error) {
    Advise(facts, error);
  }
}

std::string Describe(const Plan& plan) {
  std::string text;
  const auto line = [&](const std::string& name, const std::string& value) {
    text += name + std::string(name.size() < 20 ? 20 - name.size() : 1, ' ') + value + "\n";
  };
  const auto number = [](std::uint64_t n) { return std::to_string(n); };
  line("host memory", FormatBytes(plan.memory));
  if (plan.gpu) {
    line("device memory", FormatBytes(plan.device_memory) +
                              (plan.gpus > 1 ? " on each of " + std::to_string(plan.gpus) + " GPUs" : ""));
  }
  line("read ring", number(plan.ring.blocks) + " blocks of " + FormatBytes(plan.ring.block_bytes) + ", " +
                        number(plan.ring.threads) + " threads");
  line("batch", FormatBytes(plan.slot_bytes) + ", " + number(plan.lanes) + " lanes, " + number(plan.slots) + " slots");
  line("runs", plan.runs == 0 && !plan.merges_only ? "unknown before the input ends" : number(plan.runs));
  std::string tiers = number(plan.resident_runs) + (plan.gpu ? " on the device" : " in host memory");
  if (plan.host_tier_bytes > 0) tiers += ", " + FormatBytes(plan.host_tier_bytes) + " in host memory";
  if (plan.merges_only) {
    tiers = number(plan.runs) + " in the input";
  } else if (plan.spills && plan.runs != 0 && plan.resident_runs >= plan.runs) {
    tiers += ", what is left over in temp files";
  } else if (plan.spills) {
    tiers += plan.runs == 0 ? ", the rest in temp files"
                            : ", " + number(plan.runs - plan.resident_runs) + " at most in temp files";
  }
  line("tiers", tiers);
  line("block",
       FormatBytes(plan.block_bytes) + (plan.direct_temp ? ", direct" : ", buffered") +
           (plan.temp_places == 0 ? "" : ", compressed by " + number(plan.temp_places) + " at once if it pays"));
  line("fan-in", number(plan.fan_in) + ", " + number(plan.levels) + (plan.levels == 1 ? " level" : " levels"));
  line("window", FormatBytes(plan.window_bytes) + ", " + number(plan.windows) +
                     (plan.windows_in_ring ? " buffers in the ring, " : " buffers, ") + number(plan.merge_lanes) +
                     " lanes, read-ahead of " + number(plan.merge_blocks) + " blocks");
  line("output", plan.direct_output ? "direct" : "buffered");
  if (plan.index_bytes > kFreeIndex) line("index of runs", FormatBytes(plan.index_bytes));
  line("temp space", !plan.spills           ? "none"
                     : plan.temp_bytes != 0 ? FormatBytes(plan.temp_bytes)
                     : plan.runs == 0       ? "as much as the input"
                                            : "none expected");
  return text;
}

}  // namespace gpusort

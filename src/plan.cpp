#include "plan.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "gpusort/error.hpp"
#include "gpusort/records.hpp"
#include "inputs.hpp"
#include "options.hpp"
#include "spill.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = kKiB * kKiB, kPage = 4096;
constexpr std::uint64_t kMinBlock = 64 * kKiB, kMaxBlock = 4 * kMiB;
/// A batch is bounded so that reading, sorting and writing overlap, and so that the last one is soon done.
constexpr std::uint64_t kMaxBatch = 256 * kMiB;
constexpr std::uint64_t kUsualLine = 1024;
constexpr std::uint64_t kMaxRows = (std::uint64_t{1} << 32) - 1;
/// The largest direct-write request worth making, and the unit in which windows are checked and written.
constexpr std::uint64_t kMaxReadBlock = 8 * kMiB;

std::uint64_t RoundUp(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }
std::uint64_t DivideUp(std::uint64_t n, std::uint64_t d) { return (n + d - 1) / d; }

std::uint32_t Levels(std::uint64_t runs, std::uint64_t fan_in) {
  std::uint32_t levels = 1;
  for (; runs > fan_in; runs = DivideUp(runs, fan_in)) ++levels;
  return levels;
}

/// Bytes of the longest record that is taken.
std::uint64_t LargestRecord(const PlanFacts& facts) {
  if (facts.layout.fixed()) return facts.layout.stride;
  const std::uint64_t asked = facts.max_record != 0 ? facts.max_record : UsualMaxRecord(facts.memory);
  return facts.input_known ? std::min(asked, std::max<std::uint64_t>(facts.input_bytes, 1)) : asked;
}

[[noreturn]] void TooLittleMemory(const PlanFacts& facts, std::uint64_t needed) {
  throw Error(ErrorCode::kUsage, "memory of " + FormatBytes(facts.memory + facts.codec_memory) + " is too small for " +
                                     (facts.layout.fixed() ? "records" : "lines") + " of " +
                                     std::to_string(LargestRecord(facts)) + " bytes: give at least --memory " +
                                     FormatBytes(needed + facts.codec_memory));
}

class Planner {
 public:
  Planner(const PlanFacts& facts, const Ring& ring)
      : facts_(facts), unit_(LeastRecordBytes(facts.layout)), largest_(ring.max_record) {
    plan_.ring = ring;
  }

  Plan Make() {
    plan_.gpu = facts_.gpu;
    plan_.merges_only = !facts_.sorted_inputs.empty();
    plan_.memory = facts_.memory;
    plan_.device_memory = facts_.device_memory;
    plan_.io_threads = std::clamp(facts_.threads, 2u, 16u);
    plan_.block_bytes = MinBlock();
    plan_.spill_blocks = std::clamp<std::uint64_t>(facts_.memory / 8 / MinBlock(), 2, plan_.io_threads);
    PlanTempPlaces();
    if (plan_.ring.bytes() + Reserve() > facts_.memory) TooSmall(2 * (plan_.ring.bytes() + Reserve()));
    if (facts_.gpu) {
      DeviceBatches();
    } else {
      HostBatches();
    }
    plan_.batch_bytes = lines() ? std::min(plan_.slot_bytes, AskedBatch()) : plan_.slot_bytes;
    Merging();
    if (plan_.merges_only) {
      MergeLevels();
    } else if (facts_.input_known && plan_.spills) {
      const std::uint64_t spilled = plan_.runs - std::min(plan_.runs, plan_.resident_runs);
      plan_.temp_bytes = SpillBytes(std::min(facts_.input_bytes, spilled * KeptBytes()), spilled);
    }
    plan_.direct_temp = plan_.spills && facts_.input_bytes >= 64 * kMiB && 2 * facts_.input_bytes > facts_.free_ram;
    plan_.direct_output = DirectOutput(facts_);
    return plan_;
  }

 private:
  bool lines() const { return !facts_.layout.fixed(); }
  std::uint64_t WholeRecords(std::uint64_t bytes) const { return bytes / unit_ * unit_; }
  std::uint64_t AskedBatch() const {
    return facts_.batch_bytes == 0 ? kMaxSize : std::max(unit_, WholeRecords(facts_.batch_bytes));
  }
  /// Slots for `runs` that stay. Batches of lines are not filled to the last byte, and a slot ends before it is full of
  /// very short ones: there may be more runs than planned. What is left over spills.
  std::uint64_t WithSlack(std::uint64_t runs) const { return lines() ? runs + runs / 16 + 1 : runs; }

  [[noreturn]] void TooSmall(std::uint64_t needed) const { TooLittleMemory(facts_, needed); }

  std::uint64_t MinBlock() const { return std::max(kMinBlock, RoundUp(unit_ + kReadSlack, kPage)); }

  /// What is kept of a batch; of lines of usual length.
  std::uint64_t KeptBytes() const {
    const std::uint64_t record = lines() ? kUsualLine : unit_;
    const bool some = facts_.top > 0 && facts_.top < plan_.batch_bytes / record;
    return some ? facts_.top * record : plan_.batch_bytes;
  }

  /// A header a block, the last block of each run rounded up.
  std::uint64_t SpillBytes(std::uint64_t bytes, std::uint64_t runs) const {
    return bytes + bytes / (plan_.block_bytes / kSpillHeaderBytes) + runs * kPage;
  }

  /// -m: goes through the merges to come, whose sizes are known.
  void MergeLevels() {
    struct Merged {
      std::uint64_t temp_bytes = 0;
      std::uint32_t level = 0;
    };
    std::vector<std::uint64_t> sizes;
    std::copy_if(facts_.sorted_inputs.begin(), facts_.sorted_inputs.end(), std::back_inserter(sizes),
                 [](std::uint64_t bytes) { return bytes > 0; });
    plan_.runs = sizes.size();
    std::vector<Merged> runs(sizes.size());
    plan_.levels = 1;
    std::uint64_t live = 0;
    while (const std::optional<MergeGroup> group = NextMerge(sizes, plan_.fan_in)) {
      const auto at = [&](auto& list, std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
      const std::size_t first = group->first, end = first + group->count;
      Merged merged;
      std::uint64_t bytes = 0, freed = 0;
      for (std::size_t i = first; i < end; ++i) {
        bytes += sizes[i];
        freed += runs[i].temp_bytes;
        merged.level = std::max(merged.level, runs[i].level + 1);
      }
      merged.temp_bytes = SpillBytes(bytes, 1);
      // On the CPU what is merged is freed as it is read.
      plan_.temp_bytes = std::max(plan_.temp_bytes, live + merged.temp_bytes - (facts_.gpu ? 0 : freed));
      live += merged.temp_bytes - freed;
      plan_.levels = std::max(plan_.levels, merged.level + 1);
      sizes[first] = bytes;
      runs[first] = merged;
      sizes.erase(at(sizes, first + 1), at(sizes, end));
      runs.erase(at(runs, first + 1), at(runs, end));
    }
    plan_.spills = plan_.temp_bytes > 0;
  }

  /// Memory for writing spilled blocks, assuming the largest blocks that a sixteenth of the memory allows.
  std::uint64_t SpillReserve() const {
    return plan_.spill_blocks * std::max(MinBlock(), std::min(kMaxBlock, facts_.memory / 16 / plan_.spill_blocks));
  }

  std::uint64_t TempReserve(unsigned places) const {
    return places * (SpillReserve() / plan_.spill_blocks + facts_.temp_place_bytes);
  }
  std::uint64_t Reserve() const { return SpillReserve() + TempReserve(plan_.temp_places); }

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
    return std::max(largest_, WholeRecords(std::min({slot, (facts_.gpu ? 64 : 32) * kMiB, facts_.memory / 12})));
  }

  void HostBatches() {
    const std::uint64_t fixed = plan_.ring.bytes() + Reserve();
    if (facts_.memory < fixed + 8 * largest_) TooSmall(2 * fixed + 32 * largest_);
    const std::uint64_t room = facts_.memory - fixed;
    const auto fits = [&](std::uint64_t slot, std::uint64_t slots, std::uint32_t lanes) {
      std::uint64_t merging = 3 * ((lines() ? Window(slot) : std::min(slot, 32 * kMiB)) + kPage);
      if (lines()) merging += 8 * MinBlock();  // to read what spilled
      return slots <= room / slot && slots * slot + lanes * facts_.lane_bytes(slot) + merging <= room;
    };
    // Small inputs: one batch, nothing spilled. Larger ones: all runs in memory, if they fit.
    if (facts_.input_known && !plan_.merges_only && !facts_.spilled) {
      const std::uint64_t bytes = std::max(facts_.input_bytes, unit_);
      const bool small = bytes <= 32 * kMiB;
      plan_.slot_bytes = Slot(small ? bytes : std::clamp(bytes / 8, 16 * kMiB, kMaxBatch));
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
    plan_.resident_runs = 0;
    plan_.spills = !plan_.merges_only;
    plan_.lanes = 2;
    plan_.slots = 4;
    // What a lane needs beside its slots grows with them, so the share is found by shrinking. The only batch of a short
    // stream stays in its slot while it is written.
    const auto fits_lanes = [&](std::uint64_t slot) {
      return facts_.rereadable ? 4 * slot + 2 * facts_.lane_bytes(slot) <= room : fits(slot, 4, 2);
    };
    std::uint64_t slot = Slot(room / 4);
    while (slot > largest_ && !fits_lanes(slot)) slot = Slot(slot - slot / 16 - unit_);
    if (!fits_lanes(slot)) TooSmall(2 * fixed + 32 * largest_);
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
    plan_.lanes = 2;
    const std::uint64_t bytes = facts_.input_known ? std::max(facts_.input_bytes, unit_) : 64 * kMaxBatch;
    std::uint64_t slot = Slot(std::clamp(bytes / 16, 32 * kMiB, kMaxBatch));
    // A stream cannot be read again, so the blocks of the batches under way stay in host memory until they are safe.
    if (!facts_.rereadable) {
      slot = Slot(std::min(slot, (plan_.ring.blocks - 4) * plan_.ring.piece_bytes / (plan_.lanes + 1)));
    }
    const auto slots_for = [&](std::uint64_t size) -> std::uint64_t {
      const std::uint64_t lanes = plan_.lanes * facts_.lane_bytes(size);
      return facts_.device_memory > lanes ? (facts_.device_memory - lanes) / RoundUp(size, 256) : 0;
    };
    while (slots_for(slot) < 2 * plan_.lanes && slot > std::max(largest_, kMiB)) slot = Slot(slot / 2);
    if (slots_for(slot) < 2 * plan_.lanes) {
      throw Error(ErrorCode::kOutOfMemory, "GPU memory of " + FormatBytes(facts_.device_memory) +
                                               " is too small for records of " + std::to_string(largest_) + " bytes");
    }
    plan_.slot_bytes = slot;
    plan_.runs = facts_.input_known && !plan_.merges_only ? DivideUp(bytes, std::min(slot, AskedBatch())) : 0;
    const std::uint64_t resident = slots_for(slot) - 2 * plan_.lanes;
    // Only input that can be read again may have its only copy on the device.
    plan_.resident_runs = !facts_.rereadable ? 0
                          : plan_.runs == 0  ? resident
                                             : std::min(resident, WithSlack(plan_.runs));
    if (facts_.batch_bytes != 0 && facts_.fan_in != 0) plan_.resident_runs = 0;
    plan_.slots = static_cast<std::uint32_t>(2 * plan_.lanes + plan_.resident_runs);
    plan_.spills =
        !plan_.merges_only && (lines() || facts_.spilled || plan_.runs == 0 || plan_.resident_runs < plan_.runs);
  }

  void Merging() {
    plan_.merge_lanes = facts_.gpu ? plan_.lanes : 1;
    plan_.windows = 3;
    plan_.window_bytes = Window(plan_.slot_bytes);
    const std::uint64_t pitch = RoundUp(plan_.window_bytes + 2 * kPage, kPage);
    std::uint64_t windows = plan_.windows * pitch;
    // The ring's memory is there and registered already, and more windows keep lanes and the proof busy at once.
    if (facts_.gpu && !plan_.merges_only && plan_.ring.bytes() >= windows && plan_.ring.bytes() <= facts_.memory / 4) {
      constexpr std::uint64_t kMostWindows = 8;
      plan_.windows_in_ring = true;
      plan_.windows = static_cast<std::uint32_t>(std::min(kMostWindows, plan_.ring.bytes() / pitch));
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
    if (facts_.memory < taken + 4 * MinBlock()) TooSmall(taken + 8 * MinBlock());
    std::uint64_t pool = facts_.memory - taken;
    const std::uint64_t runs = plan_.merges_only ? facts_.sorted_inputs.size()
                               : plan_.runs != 0 ? plan_.runs - std::min(plan_.runs, plan_.resident_runs)
                                                 : 64;
    const auto fan_in = [&](std::uint64_t block) {
      const std::uint64_t most = std::max<std::uint64_t>(2, pool / (2 * block));
      return facts_.fan_in == 0 ? most : std::min(most, std::max<std::uint64_t>(2, facts_.fan_in));
    };
    // The last block of a run may be nearly empty: small ones keep the temp space close to the input's size.
    const std::uint64_t limit = std::max(MinBlock(), std::min(SpillReserve() / plan_.spill_blocks,
                                                              plan_.slot_bytes / (lines() && !facts_.gpu ? 64 : 32)));
    std::uint64_t block = std::max(MinBlock(), RoundUp(facts_.block_bytes, kPage));
    if (block > pool / 4 || block > facts_.memory / (2 * (plan_.spill_blocks + plan_.temp_places))) {
      throw Error(ErrorCode::kUsage, "blocks of " + FormatBytes(block) + " are too large for memory of " +
                                         FormatBytes(facts_.memory) + ": give a smaller --block-size or more --memory");
    }
    const std::uint32_t fewest = Levels(runs, fan_in(block));
    while (facts_.block_bytes == 0 && 2 * block <= limit && Levels(runs, fan_in(2 * block)) == fewest) block *= 2;
    plan_.block_bytes = block / kPage * kPage;
    plan_.fan_in = fan_in(block);
    plan_.levels = fewest;
    // What read-ahead of a gigabyte does not hide, more does not hide either; the rest can hold whole runs.
    if (facts_.gpu && plan_.spills) {
      const std::uint64_t read_ahead =
          std::max<std::uint64_t>(2 * plan_.fan_in < 2 * runs ? pool : 2 * runs * block, pool / 2);
      const std::uint64_t phase1 = plan_.ring.bytes() + Reserve();
      const std::uint64_t tier =
          std::min(pool - std::min(pool, read_ahead), facts_.memory - std::min(facts_.memory, phase1));
      plan_.host_tier_bytes = facts_.rereadable && plan_.levels == 1 ? tier / 4 * 3 : 0;
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
  const std::uint64_t unit_;     ///< bytes of a record, or 1: what sizes are multiples of
  const std::uint64_t largest_;  ///< bytes of the longest record
  Plan plan_;
};

}  // namespace

void RequireMemory(const PlanFacts& facts, std::uint64_t needed) {
  // With more memory buffers are larger, too.
  if (needed > facts.memory) TooLittleMemory(facts, needed + needed / 8 + 16 * kMiB);
}

std::uint64_t UsualMaxRecord(std::uint64_t memory) { return std::clamp(memory / 16, kMinBlock, 64 * kMiB); }

bool DirectOutput(const PlanFacts& facts) {
  // -u and --top write in order, at offsets that are not known in advance.
  return facts.output_file && !facts.unique && facts.top == 0 && facts.input_known && facts.input_bytes >= 64 * kMiB;
}

Ring MakeRing(const PlanFacts& facts) {
  const std::uint64_t stride = LeastRecordBytes(facts.layout);
  const std::uint64_t one_record = RoundUp(stride + kReadSlack, kPage);
  Ring ring;
  ring.block_bytes = std::max(
      one_record, std::clamp(facts.memory / 64 / kPage * kPage, kMinBlock, facts.gpu ? kMaxReadBlock : 2 * kMiB));
  ring.max_record = LargestRecord(facts);
  // They sum up what they read, which takes longer than reading from memory. The CPU's lanes need the other half.
  ring.threads = facts.gpu ? std::clamp(facts.threads, 1u, 16u) : std::clamp(facts.threads / 2, 1u, 8u);
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
    if (ring.bytes() > facts.memory / 2) TooLittleMemory(facts, 4 * ring.bytes());
  }
  const std::uint64_t piece_bytes = ring.piece_bytes;
  if (facts.batch_bytes != 0)
    ring.piece_bytes = std::min(ring.piece_bytes, std::max(stride, facts.batch_bytes / stride * stride));
  if (facts.gpu && !facts.rereadable && !facts.layout.fixed()) {
    // The blocks of a batch that is not safe yet stay: those of a few of the longest lines must not be the whole ring.
    const std::uint64_t least = DivideUp(ring.max_record, std::max<std::uint64_t>(1, (ring.blocks - 4) / 3));
    if (least > piece_bytes) {
      throw Error(ErrorCode::kUsage, "--max-record " + FormatBytes(ring.max_record) +
                                         ": too long for a stream through a GPU with memory of " +
                                         FormatBytes(facts.memory) + "; give more --memory, or --device cpu");
    }
    ring.piece_bytes = std::max(ring.piece_bytes, least);
  }
  return ring;
}

Plan MakePlan(const PlanFacts& facts, const Ring& ring) { return Planner(facts, ring).Make(); }

std::optional<MergeGroup> NextMerge(const std::vector<std::uint64_t>& run_bytes, std::uint64_t fan_in) {
  const auto waiting = static_cast<std::uint64_t>(
      std::count_if(run_bytes.begin(), run_bytes.end(), [](std::uint64_t bytes) { return bytes != kResident; }));
  if (waiting <= fan_in) return std::nullopt;
  const std::uint64_t count = std::min(fan_in, waiting - fan_in + 1);
  std::optional<MergeGroup> best;
  std::uint64_t least = 0, bytes = 0, first = 0;  // bytes of the runs [first, i]
  for (std::size_t i = 0; i < run_bytes.size(); ++i) {
    if (run_bytes[i] == kResident) {
      bytes = 0;
      first = i + 1;
      continue;
    }
    bytes += run_bytes[i];
    if (i - first + 1 > count) bytes -= run_bytes[first++];
    if (i - first + 1 == count && (!best || bytes < least)) {
      least = bytes;
      best = {first, count};
    }
  }
  if (!best) {
    throw Error(ErrorCode::kOutOfMemory,
                "the runs do not fit the fan-in of " + std::to_string(fan_in) + ": give more --memory");
  }
  return best;
}

std::string Describe(const Plan& plan) {
  std::string text;
  const auto line = [&](const std::string& name, const std::string& value) {
    text += name + std::string(name.size() < 20 ? 20 - name.size() : 1, ' ') + value + "\n";
  };
  const auto number = [](std::uint64_t n) { return std::to_string(n); };
  line("host memory", FormatBytes(plan.memory));
  if (plan.gpu) line("device memory", FormatBytes(plan.device_memory));
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
  line("temp space", !plan.spills           ? "none"
                     : plan.temp_bytes != 0 ? FormatBytes(plan.temp_bytes)
                     : plan.runs == 0       ? "as much as the input"
                                            : "none expected");
  return text;
}

}  // namespace gpusort

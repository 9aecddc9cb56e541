// labels: no_tsan
#include "plan/make_plan.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <random>
#include <utility>

#include "cli/option_values.hpp"
#include "io/spill.hpp"
#include "kernels/error.hpp"
#include "plan/merge_levels.hpp"
#include "runs/run.hpp"

namespace gpusort::testing {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kGiB = std::uint64_t{1} << 30;

PlanFacts Facts(std::uint64_t input, std::uint64_t memory, std::uint64_t stride = 8) {
  PlanFacts facts;
  KeySpec spec;
  if (stride == 8) spec.fields = {ParseType("u64")};
  facts.asked.limit = memory;
  facts.asked.temp_codec = Codec::kNone;
  facts.input.plain = MakeFixedLayout(stride, spec);
  facts.input.bytes = facts.input.expected = input;
  facts.machine.threads = 2;
  facts.costs.run_index = kRunIndexBytes;
  facts.costs.block_index = RunBlocks::IndexBytes(facts.input.plain);
  return facts;
}

PlanFacts GpuFacts(std::uint64_t input, std::uint64_t memory, std::uint64_t device) {
  PlanFacts facts = Facts(input, memory);
  facts.machine.gpu = true;
  facts.machine.threads = 16;
  facts.machine.device_memory = device;
  return facts;
}

Ring RingOf(const PlanFacts& facts) { return MakeRing(facts, ShareMemory(facts)); }

/// Makes a plan in the way of a job. The lanes of a GPU take no device memory.
Plan Make(PlanFacts facts) {
  const MemoryShares shares = ShareMemory(facts);
  const Ring ring = MakeRing(facts, shares);
  if (facts.machine.gpu) {
    for (const std::uint64_t slot : LaneSlots(facts, shares, ring)) facts.costs.gpu_lanes[slot] = 0;
  }
  return MakePlan(facts, shares, ring);
}

TEST(Plan, IsAFunctionOfItsFacts) { EXPECT_EQ(Make(Facts(kGiB, 256 * kMiB)), Make(Facts(kGiB, 256 * kMiB))); }

// A stage puts the keyed records of one piece of the input into a block. If blocks are much larger, the batches of a
// stream, whose blocks stay in the ring, are small, and there are many runs.
TEST(Plan, BlocksOfAGpusRingAreAsLargeAsPiecesWithKeys) {
  for (const std::uint64_t memory : {256 * kMiB, kGiB, 2 * kGiB, 32 * kGiB}) {
    PlanFacts facts = GpuFacts(0, memory, 64 * kGiB);
    const LineOrderView order{};
    facts.input.plain = facts.input.keyed = MakeLineLayout('\n', order);
    facts.input.keyed.keys = 2;
    facts.input.keys = KeysWhen::kAlways;
    facts.input.known = facts.input.rereadable = false;
    const std::uint64_t piece = ShareMemory(facts).keys.piece_bytes;
    const Plan plan = Make(facts);
    EXPECT_GE(plan.ring.block_bytes, 2 * piece) << memory;
    EXPECT_LE(plan.ring.block_bytes, 3 * piece + 64 * 1024) << memory;
    const std::uint64_t in_ring = plan.ring.blocks / (plan.lanes + 2) * piece * 3 / 2;
    EXPECT_LE(plan.slot_bytes, 3 * in_ring) << memory;
  }
}

/// Returns facts about a stream of lines, on the CPU or with a GPU. `expected` is kMaxSize if nothing is known.
PlanFacts StreamFacts(bool gpu, std::uint64_t memory, std::uint64_t expected, bool keyed) {
  static const LineOrdered order{LineOrder{}};
  PlanFacts facts = gpu ? GpuFacts(0, memory, 64 * kGiB) : Facts(0, memory);
  facts.machine.threads = 16;
  facts.input.plain = MakeLineLayout('\n', order.view);
  if (keyed) {
    facts.input.keyed = facts.input.plain;
    facts.input.keyed.keys = 2;
    facts.input.keys = KeysWhen::kAlways;
  }
  facts.input.known = facts.input.rereadable = false;
  facts.input.expected = expected;
  facts.costs.block_index = RunBlocks::IndexBytes(facts.input.plain);
  return facts;
}

/// Returns how many rounds of merges `bytes` bytes of a stream need. Keys make records a quarter longer.
std::uint32_t LevelsOfStream(const Plan& plan, std::uint64_t bytes, bool keyed) {
  const std::uint64_t with_keys = keyed ? bytes / 4 * 5 : bytes;
  const std::uint64_t batch = plan.gpu && keyed ? plan.batch_bytes / 2 : plan.batch_bytes;
  const std::uint64_t runs = (with_keys + batch - 1) / batch;
  return Levels(runs - std::min(runs, plan.resident_runs), plan.fan_in);
}

// The expected size of a stream never adds a round of merges, and often saves one.
TEST(Plan, OfAStreamHasNoMoreLevelsIfItsSizeIsExpected) {
  int fewer = 0;
  for (const bool gpu : {false, true}) {
    for (const bool keyed : {false, true}) {
      for (const std::uint64_t fan_in : {0, 4, 16}) {
        for (std::uint64_t memory = 256 * kMiB; memory <= 64 * kGiB; memory *= 2) {
          for (std::uint64_t bytes = 16 * kMiB; bytes <= 16384 * kGiB; bytes *= 2) {
            PlanFacts facts = StreamFacts(gpu, memory, kMaxSize, keyed);
            facts.asked.fan_in = fan_in;
            const Plan unknown = Make(facts);
            const std::uint32_t before = LevelsOfStream(unknown, bytes, keyed);
            facts.input.expected = bytes;
            const Plan plan = Make(facts);
            const std::uint32_t now = LevelsOfStream(plan, bytes, keyed);
            EXPECT_LE(now, before) << Describe(facts);
            fewer += now < before ? 1 : 0;
            if (plan.block_bytes < unknown.block_bytes) {
              // The list of blocks, which is not counted, stays small, and blocks are not tiny.
              EXPECT_LE(bytes / plan.block_bytes * facts.costs.block_index, 2 * kFreeIndex) << Describe(facts);
              EXPECT_GE(plan.block_bytes, 256 << 10) << Describe(facts);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(fewer, 20);
}

// If few records are kept, or if rows stay in memory, the size of the inputs does not tell how large the runs are.
TEST(Plan, OfAStreamDoesNotDependOnASizeThatTellsNothing) {
  for (const bool gpu : {false, true}) {
    PlanFacts facts = StreamFacts(gpu, kGiB, kMaxSize, true);
    facts.input.window = true;
    const Plan window = Make(facts);
    facts.input.expected = 20 * kGiB;
    EXPECT_EQ(Make(facts), window);
    facts.input.window = false;
    EXPECT_FALSE(Make(facts) == window) << Describe(facts);
    facts.asked.top = 10;
    const Plan top = Make(facts);
    facts.input.expected = kMaxSize;
    EXPECT_EQ(Make(facts), top);
    facts.asked.top = 0;
    facts.asked.kept_bytes = 64 * kMiB;
    const Plan kept = Make(facts);
    facts.input.expected = 20 * kGiB;
    EXPECT_EQ(Make(facts), kept);
  }
}

// A merge reads at most 4 GiB of blocks in advance. Blocks that grow with the memory must not make a second level.
TEST(Plan, MergesVeryShortLinesOnceWithMuchMemory) {
  const LineOrderView order{};
  PlanFacts facts = Facts(8 * kGiB, 0);
  facts.asked.keeps = true;
  facts.input.plain = MakeLineLayout('\n', order);
  facts.input.records = facts.input.bytes / 2;
  facts.machine.threads = 1;
  for (const std::uint64_t memory : {1 * kGiB, 2 * kGiB, 4 * kGiB, 8 * kGiB, 64 * kGiB}) {
    facts.asked.limit = memory + 1;
    EXPECT_EQ(Make(facts).levels, 1u) << memory;
  }
}

TEST(Plan, KeepsSmallInputsInOneBatchAndSpillsNothing) {
  const Plan plan = Make(Facts(1000, 256 * kMiB));
  EXPECT_EQ(plan.runs, 1u);
  EXPECT_EQ(plan.resident_runs, 1u);
  EXPECT_FALSE(plan.spills);
  EXPECT_EQ(plan.temp_bytes, 0u);
}

TEST(Plan, KeepsAllRunsInMemoryIfTheyFit) {
  const Plan plan = Make(Facts(kGiB, 4 * kGiB));
  EXPECT_GT(plan.runs, 1u);
  EXPECT_EQ(plan.resident_runs, plan.runs);
  EXPECT_FALSE(plan.spills);
}

/// Returns the least memory, to a MiB, with which `records` records need no temp space.
std::uint64_t LeastInMemory(std::uint64_t records, std::uint64_t stride) {
  std::uint64_t low = 0, high = 4 * records * stride + kGiB;
  while (high - low > kMiB) {
    const std::uint64_t memory = (low + high) / 2;
    bool fits = false;
    try {
      fits = !Make(Facts(records * stride, memory, stride)).spills;
    } catch (const Error&) {
      // This memory is too small for any plan.
    }
    (fits ? high : low) = memory;
  }
  return high;
}

// The last few records do not become another batch, because its slot would be as large as all other slots.
TEST(Plan, TakesHardlyMoreMemoryForARecordMore) {
  struct Case {
    std::uint64_t records, stride;
  };
  for (const Case& c : {Case{6'000'000, 100}, Case{8 * kMiB, 8}, Case{256 * kMiB, 8}, Case{512 * kMiB, 8},
                        Case{1525, 65537}, Case{8, 20'000'000}}) {
    // With few large records, a batch has one or two of them.
    for (std::uint64_t more = 1; more < (c.records == 8 ? 3 : 10); ++more) {
      const std::uint64_t before = LeastInMemory(c.records + more - 1, c.stride);
      EXPECT_LE(LeastInMemory(c.records + more, c.stride), before + before / 16 + 2 * c.stride)
          << c.records << " + " << more << " of " << c.stride;
    }
  }
  for (const std::uint64_t more : {0, 1, 8}) {
    const Plan plan = Make(GpuFacts(4 * kGiB + 8 * more, 60 * kGiB, kGiB));
    EXPECT_LE(plan.runs * plan.slot_bytes, 4 * kGiB + 8 * more + 8 * plan.runs) << more;
  }
}

TEST(Plan, KeepsRunsOnTheDeviceIfTheyFit) {
  const Plan plan = Make(GpuFacts(8 * kGiB, 60 * kGiB, 120 * kGiB));
  EXPECT_EQ(plan.resident_runs, plan.runs);
  EXPECT_FALSE(plan.spills);
  EXPECT_FALSE(Make(GpuFacts(8 * kGiB, 2 * kGiB, 120 * kGiB)).spills);
  EXPECT_TRUE(Make(GpuFacts(8 * kGiB, 2 * kGiB, 4 * kGiB)).spills);
}

TEST(Plan, GivesEachOfSeveralGpusTheSamePart) {
  PlanFacts facts = GpuFacts(24 * kGiB, 8 * kGiB, 4 * kGiB);
  const Plan one = Make(facts);
  EXPECT_EQ(one.resident_each, one.resident_runs);
  EXPECT_LT(one.resident_runs, one.runs);
  for (const unsigned gpus : {2u, 3u, 8u}) {
    facts.machine.gpus = gpus;
    const Plan plan = Make(facts);
    EXPECT_EQ(plan.gpus, gpus);
    EXPECT_EQ(plan.lanes, gpus * one.lanes);
    EXPECT_EQ(plan.merge_lanes, plan.lanes);
    EXPECT_EQ(plan.slot_bytes, one.slot_bytes);
    EXPECT_EQ(plan.resident_each, one.resident_each);
    EXPECT_EQ(plan.resident_runs, std::min(gpus * one.resident_runs, plan.runs));
    EXPECT_EQ(plan.slots, gpus * one.slots);
    EXPECT_GT(plan.windows, plan.lanes);
    // Two slots for each lane stay free on every GPU, whatever stays resident.
    EXPECT_GE(plan.slots / gpus, plan.resident_each + 2 * plan.lanes / gpus);
    EXPECT_NE(DescribeNeeds(plan).find("4.0 GiB on each of " + std::to_string(gpus) + " GPUs"), std::string::npos)
        << DescribeNeeds(plan) << DescribeSizes(plan);
  }
  // All runs stay in device memory if all GPUs together have room. Runs beyond the memory of one GPU go elsewhere.
  facts.machine.gpus = 2;
  facts.machine.device_memory = 20 * kGiB;
  EXPECT_EQ(Make(facts).resident_runs, Make(facts).runs);
  EXPECT_LT(Make(facts).resident_each, Make(facts).runs);
  EXPECT_TRUE(Make(facts).spills);
  EXPECT_NE(DescribeSizes(Make(facts)).find("what is left over in temp files"), std::string::npos);
  facts.machine.device_memory = 100 * kGiB;
  EXPECT_EQ(Make(facts).resident_each, Make(facts).runs);
  EXPECT_FALSE(Make(facts).spills);
}

TEST(Plan, SortsLinesByManyGpusInTheMemoryThatOneNeeds) {
  const LineOrdered order{LineOrder{}};
  for (const std::uint64_t memory : {64 * kMiB, 256 * kMiB, kGiB}) {
    PlanFacts facts = GpuFacts(24 * kGiB, memory, 4 * kGiB);
    facts.input.plain = MakeLineLayout('\n', order.view);
    EXPECT_EQ(Make(facts).windows, 3u);
    facts.machine.gpus = 8;
    EXPECT_GE(Make(facts).windows, 3u);
  }
}

TEST(Plan, HasCachesForFixedRecordsOnTheirWayToAGpu) {
  PlanFacts facts = GpuFacts(std::uint64_t{32} << 30, std::uint64_t{48} << 30, std::uint64_t{128} << 30);
  EXPECT_EQ(RingOf(facts).cache_bytes, std::uint64_t{256} << 10);
  EXPECT_EQ(RingOf(facts).threads, 15u);
  EXPECT_EQ(RingOf(facts).piece_bytes, std::uint64_t{8} << 20);  // a batch consists of whole pieces
  facts.asked.limit = std::uint64_t{24} << 20;
  EXPECT_EQ(RingOf(facts).cache_bytes, 0u);
  EXPECT_EQ(RingOf(Facts(std::uint64_t{32} << 30, std::uint64_t{48} << 30)).cache_bytes, 0u);
}

TEST(Plan, ReadsFromAsManyPlacesAsThereAreGpus) {
  PlanFacts facts = GpuFacts(std::uint64_t{32} << 30, std::uint64_t{48} << 30, std::uint64_t{128} << 30);
  EXPECT_EQ(RingOf(facts).parts, 1u);
  facts.machine.gpus = 3;
  EXPECT_EQ(RingOf(facts).parts, 3u);
  EXPECT_EQ(RingOf(facts).blocks % 3, 0u);
  EXPECT_GE(RingOf(facts).Part().threads, 5u);
  // The batches of each place have an equal size, and each place may have a batch more than its share.
  const Plan plan = Make(facts);
  EXPECT_LE(plan.slot_bytes, std::uint64_t{256} << 20);
  EXPECT_EQ(plan.runs % 3, 0u);
  EXPECT_GE(plan.runs * plan.slot_bytes, std::uint64_t{32} << 30);
  facts.input.direct = true;
  EXPECT_EQ(RingOf(facts).parts, 1u);
  facts.input.direct = false;
  // A stream is read once, and in little memory each place would have few blocks.
  facts.input.rereadable = false;
  EXPECT_EQ(RingOf(facts).parts, 1u);
  facts.input.rereadable = true;
  facts.asked.limit = std::uint64_t{2} << 20;
  EXPECT_EQ(RingOf(facts).parts, 1u);
  EXPECT_EQ(RingOf(Facts(std::uint64_t{32} << 30, std::uint64_t{48} << 30)).parts, 1u);
}

TEST(Plan, MergesInTheRingsMemoryWithManyGpus) {
  PlanFacts facts = GpuFacts(64 * kGiB, 60 * kGiB, 100 * kGiB);
  for (const unsigned gpus : {1u, 2u, 8u}) {
    facts.machine.gpus = gpus;
    const Plan plan = Make(facts);
    EXPECT_TRUE(plan.windows_in_ring) << DescribeNeeds(plan) << DescribeSizes(plan);
    EXPECT_GT(plan.windows, plan.merge_lanes);
  }
}

TEST(Plan, LeavesNothingOfAStreamOnTheDeviceAlone) {
  PlanFacts facts = GpuFacts(0, 8 * kGiB, 100 * kGiB);
  facts.input.known = facts.input.rereadable = false;
  const Plan plan = Make(facts);
  EXPECT_EQ(plan.resident_runs, 0u);
  EXPECT_LE((plan.lanes + 1) * plan.slot_bytes, plan.ring.blocks * plan.ring.piece_bytes);
}

TEST(Plan, AddsLevelsOnlyWhenRunsExceedTheFanIn) {
  EXPECT_EQ(Make(Facts(kGiB, 256 * kMiB)).levels, 1u);
  EXPECT_EQ(Make(Facts(4 * kGiB, 16 * kMiB)).levels, 2u);
  PlanFacts facts = Facts(kMiB, 16 * kMiB);
  facts.asked.batch_bytes = 64 * 1024;
  facts.asked.fan_in = 2;
  const Plan plan = Make(facts);
  EXPECT_EQ(plan.runs, 16u);
  EXPECT_EQ(plan.levels, 4u);
}

TEST(Plan, ReadsBlocksOfAnEarlierAttemptAsTheyWereWritten) {
  PlanFacts facts = Facts(100 * kMiB, 8 * kGiB);
  EXPECT_FALSE(Make(facts).spills);
  facts.earlier.spilled = true;
  facts.earlier.block_bytes = 2 * kMiB;
  const Plan plan = Make(facts);
  EXPECT_TRUE(plan.spills);
  EXPECT_EQ(plan.block_bytes, 2 * kMiB);
  EXPECT_GE(plan.merge_blocks, 4u);
}

TEST(Plan, IsToldInOneSentence) {
  EXPECT_EQ(Conclude(Make(Facts(100 * kMiB, 8 * kGiB))), "the input fits in memory: one pass, no temp files");
  const Plan plan = Make(Facts(10 * kGiB, kGiB));
  EXPECT_EQ(Conclude(plan), "the job uses temp files: " + std::to_string(plan.runs) + " sorted runs, about " +
                                FormatBytes(plan.temp_bytes) + " of temp files, 1 pass of merging");
  PlanFacts stream = Facts(0, kGiB);
  stream.input.known = false;
  EXPECT_EQ(Conclude(Make(stream)),
            "the size of the input is unknown: records that do not fit in memory go to temp files");
}

TEST(Plan, OfAMergeTellsItsLevelsAndTheTempSpaceOfWhatIsMergedTwice) {
  PlanFacts facts = Facts(10 * kMiB, 16 * kMiB);
  facts.input.sorted.assign(10, kMiB);
  EXPECT_EQ(Make(facts).levels, 1u);
  EXPECT_EQ(Make(facts).temp_bytes, 0u);
  EXPECT_NE(DescribeNeeds(Make(facts)).find("temp space          none"), std::string::npos)
      << DescribeNeeds(Make(facts));
  facts.asked.fan_in = 8;  // three of the ten runs become one
  Plan plan = Make(facts);
  EXPECT_EQ(plan.runs, 10u);
  EXPECT_EQ(plan.levels, 2u);
  EXPECT_TRUE(plan.spills);
  EXPECT_NEAR(static_cast<double>(plan.temp_bytes), 3.0 * kMiB, 0.01 * kMiB);
  EXPECT_NE(DescribeNeeds(plan).find("temp space          3.0 MiB"), std::string::npos) << DescribeNeeds(plan);
  EXPECT_EQ(Conclude(plan), "the inputs are too many for one merge: 2 passes, 3.0 MiB of temp files");
  facts.asked.fan_in = 2;
  plan = Make(facts);
  EXPECT_EQ(plan.levels, 4u);
  EXPECT_GT(plan.temp_bytes, 9 * kMiB);
  EXPECT_LE(plan.temp_bytes, 10 * kMiB * 105 / 100);
}

TEST(NextMerge, TakesTheCheapestNeighboursAndNoMoreThanNeeded) {
  EXPECT_FALSE(NextMerge({}, 2));
  EXPECT_FALSE(NextMerge({5, 5}, 2));
  EXPECT_FALSE(NextMerge({5, kResident, 5, kResident}, 2));
  const auto expect = [](const std::vector<std::uint64_t>& sizes, std::uint64_t fan_in, std::size_t first,
                         std::size_t count) {
    const std::optional<MergeGroup> group = NextMerge(sizes, fan_in);
    ASSERT_TRUE(group);
    EXPECT_EQ(group->first, first);
    EXPECT_EQ(group->count, count);
  };
  expect({9, 9, 1, 2, 9}, 4, 2, 2);
  expect({9, 9, 1, 2, 9}, 3, 1, 3);
  expect({9, 9, 1, 2, 1}, 3, 2, 3);
  expect({1, kResident, 1, 9, 9}, 3, 2, 2);
  expect({4, 4, 4, 4}, 3, 0, 2);
  // The merge of fewer runs comes first: all later merges have the full fan-in.
  expect({1, 1, 1, 1, 1, 1}, 3, 0, 2);
  expect({1, 1, 1, 1, 1}, 3, 0, 3);
  // A merge takes as many neighbours as lie between resident runs.
  expect({1, kResident, 1, 1, kResident, 1, 1}, 3, 2, 2);
  expect({1, kResident, 1, 1, kResident, 1, 1, 1, 1}, 4, 5, 4);
  EXPECT_THROW(NextMerge({1, kResident, 1, kResident, 1}, 2), Error);
}

TEST(LookAhead, GoesThroughAllMerges) {
  const auto look = [](std::size_t runs, std::uint64_t fan_in, bool freed) {
    return LookAhead(std::vector<std::uint64_t>(runs, 10), std::vector<std::uint64_t>(runs, 10), fan_in, freed,
                     [](std::uint64_t bytes) { return bytes; });
  };
  EXPECT_EQ(look(4, 4, true).levels, 1u);
  EXPECT_EQ(look(4, 4, true).bytes, 0u);
  EXPECT_EQ(look(5, 4, true).levels, 2u);
  EXPECT_EQ(look(5, 4, true).bytes, 20u);
  EXPECT_EQ(look(5, 4, false).temp_peak, 70u);
  EXPECT_EQ(look(16, 4, true).bytes, 160u);
  EXPECT_EQ(look(16, 4, true).levels, 2u);
  EXPECT_LE(look(16, 4, true).temp_peak, 160u + 4 * kSpillAlignment);
  EXPECT_EQ(look(16, 4, false).temp_peak, 200u);
  EXPECT_GE(look(1000000, 2, true).levels, 20u);  // an estimate
}

std::string Refusal(const PlanFacts& facts) {
  try {
    Make(facts);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage) << error.what();
    return error.what();
  }
  return {};
}

TEST(Plan, AdvisesMemoryThatDoesAndNotMuchMore) {
  std::mt19937_64 random(1);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t strides[] = {1, 8, 100, 4097, 300000, 50000000, 1 << 30};
    const std::uint64_t stride = strides[random() % 7];
    const std::uint64_t memory = (std::uint64_t{1} << (16 + random() % 14)) + random() % 100000;
    const std::uint64_t input = (random() >> (22 + random() % 40)) / stride * stride;
    PlanFacts facts = Facts(input, memory, stride);
    facts.machine.threads = 1 + random() % 32;
    if (random() % 4 == 0) facts.input.known = facts.input.rereadable = false, facts.input.bytes = 0;
    if (random() % 4 == 0) facts.asked.block_bytes = random() % (std::uint64_t{1} << (8 + random() % 20));
    if (random() % 4 == 0) facts.asked.batch_bytes = kMiB + random() % (64 * kMiB);
    if (random() % 4 == 0) facts.asked.fan_in = 2 + random() % 100;
    if (random() % 4 == 0) facts.input.header_bytes = random() % (16 * kMiB);
    facts.asked.limit += facts.input.header_bytes;
    if (random() % 8 == 0) facts.input.sorted.assign(1 + random() % 800, input / 800 / stride * stride);
    const std::string said = Refusal(facts);
    if (said.empty()) continue;
    ++refused;
    const std::string words = "give at least --memory ";
    const std::size_t at = said.find(words);
    ASSERT_NE(at, std::string::npos) << said;
    const std::uint64_t advised = ParseSize(said.substr(at + words.size()), 1).value;
    if (advised / 2 > std::exchange(facts.asked.limit, advised)) {
      PlanFacts half = facts;
      half.asked.limit = advised / 2;
      ASSERT_NE(Refusal(half), "") << said << ", but half does";
    }
    ASSERT_EQ(Refusal(facts), "") << said;
  }
  EXPECT_GT(refused, 40);
}

TEST(Plan, CountsWhatIsKnownOfTheRunsOfLargeInputs) {
  const std::uint64_t tera = std::uint64_t{1} << 40;
  EXPECT_NE(Refusal(Facts(tera, 4 * kMiB)).find("what must be known of the runs of 1.0 TiB"), std::string::npos);
  EXPECT_EQ(Refusal(Facts(64 * kGiB, 32 * kMiB)), "");
  for (const std::uint64_t input : {64 * kGiB, tera, 16 * tera}) {
    for (std::uint64_t memory = 64 * kMiB; memory <= 4 * kGiB; memory *= 2) {
      if (!Refusal(Facts(input, memory)).empty()) continue;
      const Plan plan = Make(Facts(input, memory));
      EXPECT_GE(plan.index_bytes, input / plan.block_bytes * RunBlocks::kBytes);
      const std::uint64_t pitch = (plan.window_bytes + 8192 + 4095) / 4096 * 4096;
      EXPECT_LE(plan.merge_blocks * plan.block_bytes + plan.spill_blocks * plan.block_bytes + plan.windows * pitch +
                    plan.index_bytes,
                memory + kFreeIndex);
    }
  }
}

TEST(Plan, RefusesMemoryThatCannotHoldARecordAndSaysHowMuchWould) {
  try {
    Make(Facts(100 * kMiB, kMiB, 8 * kMiB));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_NE(std::string(error.what()).find("at least"), std::string::npos);
  }
}

/// Returns the host memory that the larger phase of a plan takes.
std::uint64_t TakenBytes(const Plan& plan, const MemoryShares& shares) {
  const std::uint64_t spill_buffers = plan.spill_blocks * plan.block_bytes;
  const std::uint64_t pitch = (plan.window_bytes + 8192 + 4095) / 4096 * 4096;
  const std::uint64_t windows = plan.windows_in_ring ? plan.ring.bytes() : plan.windows * pitch;
  const auto lane = [&](std::uint64_t slot) {
    return plan.gpu ? 0 : CpuLaneBytes(shares.layout, slot, shares.threads);
  };
  const std::uint64_t slots = plan.gpu ? 0 : plan.slots * plan.slot_bytes + plan.lanes * lane(plan.slot_bytes);
  const std::uint64_t pinned = plan.gpu ? plan.gpus * kMostPinnedByGpu : 0;
  const std::uint64_t phase1 =
      plan.merges_only ? 0 : plan.ring.bytes() + plan.ring.caches_bytes() + slots + (plan.spills ? spill_buffers : 0);
  const bool blocks = plan.spills || plan.merges_only;
  const std::uint64_t kept = blocks ? plan.merge_blocks * plan.block_bytes + spill_buffers : slots;
  const std::uint64_t merge_lane = blocks ? plan.merge_lanes * lane(plan.window_bytes) : 0;
  return plan.host_tier_bytes + pinned + std::max(phase1, kept + windows + merge_lane);
}

TEST(Plan, StaysInsideItsMemoryWhateverTheFacts) {
  std::mt19937_64 random(1);
  int made = 0, in_ring = 0;
  for (int i = 0; i < 6000; ++i) {
    const bool gpu = random() % 2 == 0;
    const std::uint64_t strides[] = {8, 8, 1, 100, 4097, 300000};
    const std::uint64_t stride = gpu ? 8 : strides[random() % 6];
    const std::uint64_t memory = (std::uint64_t{1} << (20 + random() % 16)) + random() % kMiB;
    const std::uint64_t input = (random() % (std::uint64_t{1} << (10 + random() % 32))) / stride * stride;
    PlanFacts facts =
        gpu ? GpuFacts(input, memory, (std::uint64_t{1} << (28 + random() % 9))) : Facts(input, memory, stride);
    facts.machine.threads = 1 + random() % 32;
    facts.machine.free_ram = random() % (64 * kGiB);
    if (random() % 4 == 0) facts.input.known = facts.input.rereadable = false, facts.input.bytes = 0;
    if (random() % 8 == 0) facts.input.sorted.assign(1 + random() % 800, input / 800 / stride * stride);
    Plan plan;
    try {
      plan = Make(facts);
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::kUsage || gpu) << error.what();
      continue;
    }
    ++made;
    ASSERT_GT(plan.slot_bytes, 0u);
    ASSERT_EQ(plan.slot_bytes % stride, 0u);
    ASSERT_EQ(plan.window_bytes % stride, 0u);
    ASSERT_GE(plan.fan_in, 1u);
    const std::uint64_t pitch = (plan.window_bytes + 8192 + 4095) / 4096 * 4096;
    if (plan.windows_in_ring) {
      ASSERT_LE(plan.windows * pitch, plan.ring.bytes()) << DescribeNeeds(plan) << DescribeSizes(plan);
    }
    in_ring += plan.windows_in_ring ? 1 : 0;
    ASSERT_GE(plan.windows, 3u);
    ASSERT_LE(TakenBytes(plan, ShareMemory(facts)), memory) << DescribeNeeds(plan) << DescribeSizes(plan);
    ASSERT_LE(plan.slots * plan.slot_bytes * (gpu ? 1 : 0), gpu ? facts.machine.device_memory : 0);
    const bool blocks = plan.spills || plan.merges_only;
    ASSERT_TRUE(!blocks || plan.merge_blocks >= 2 * std::min<std::uint64_t>(plan.fan_in, 2));
  }
  EXPECT_GT(made, 3000);
  EXPECT_GT(in_ring, 100);
  EXPECT_LT(in_ring, made - 100);
}

/// Returns facts about lines of `line_bytes` bytes each.
PlanFacts LineFacts(const LineOrdered& order, std::uint64_t input, std::uint64_t memory, std::uint64_t line_bytes) {
  PlanFacts facts = Facts(input, memory);
  facts.input.plain = MakeLineLayout('\n', order.view);
  facts.input.records = input / line_bytes;
  facts.costs.block_index = RunBlocks::IndexBytes(facts.input.plain);
  return facts;
}

// A batch of short lines ends when its slot has no room for another line, long before the slot is full of bytes.
TEST(Plan, CountsTheRunsOfShortLines) {
  const LineOrdered order{LineOrder{}};
  for (const std::uint64_t memory : {32 * kMiB, 64 * kMiB, 512 * kMiB, 4 * kGiB}) {
    for (const std::uint64_t input : {kMiB, 14 * kMiB, 138 * kMiB, 4 * kGiB}) {
      for (const std::uint64_t line : {1, 3, 8, 31, 32, 33, 200}) {
        const PlanFacts facts = LineFacts(order, input, memory, line);
        const Plan plan = Make(facts);
        const std::uint64_t lines = std::min(SlotRecords(facts.input.plain, plan.slot_bytes), plan.batch_bytes / line);
        const std::uint64_t runs = (input / line + lines - 1) / lines;
        EXPECT_GE(plan.runs + runs / 64 + 1, runs) << Describe(facts);
        EXPECT_LE(plan.runs, runs + runs / 8 + 1) << Describe(facts);
        const std::uint64_t spilled = plan.runs - std::min(plan.runs, plan.resident_runs);
        EXPECT_EQ(plan.temp_bytes > 0, spilled > 0) << Describe(facts);
        EXPECT_GE(plan.levels, Levels(spilled, plan.fan_in)) << Describe(facts);
      }
    }
  }
  // Short lines stay in memory that is large enough for their batches.
  for (const std::uint64_t line : {1, 3, 8, 33}) {
    const Plan plan = Make(LineFacts(order, 14 * kMiB, 4 * kGiB, line));
    EXPECT_EQ(plan.runs, 1u);
    EXPECT_EQ(plan.temp_bytes, 0u);
  }
  EXPECT_EQ(Make(LineFacts(order, 138 * kMiB, 8 * kGiB, 3)).temp_bytes, 0u);
}

/// Returns any facts about fixed records or lines, on the CPU or on GPUs.
PlanFacts AnyFacts() {
  static const LineOrdered order{LineOrder{}};
  const auto up_to = [](int bits) {
    const int shift = *rc::gen::inRange(0, bits);
    return *rc::gen::inRange<std::uint64_t>(1, (std::uint64_t{2} << shift) + 1);
  };
  const bool lines = *rc::gen::arbitrary<bool>();
  const std::uint64_t stride = lines ? 1 : *rc::gen::element<std::uint64_t>(1, 8, 100, 4097);
  const std::uint64_t input = up_to(42) / stride * stride;
  const std::uint64_t memory = kMiB + up_to(36);
  const bool gpu = *rc::gen::arbitrary<bool>();
  PlanFacts facts = gpu ? GpuFacts(input, memory, kGiB + up_to(37)) : Facts(input, memory, stride);
  if (lines) {
    facts.input.plain = MakeLineLayout('\n', order.view);
    facts.costs.block_index = RunBlocks::IndexBytes(facts.input.plain);
    if (*rc::gen::arbitrary<bool>()) facts.input.records = input / *rc::gen::inRange<std::uint64_t>(1, 100);
  }
  facts.machine.threads = *rc::gen::inRange(1u, 33u);
  if (gpu) facts.machine.gpus = *rc::gen::element(1u, 2u, 8u);
  facts.machine.free_ram = up_to(38);
  if (*rc::gen::inRange(0, 4) == 0) facts.asked.temp_codec.reset();
  if (*rc::gen::inRange(0, 4) == 0) facts.asked.keeps = true;
  if (*rc::gen::inRange(0, 4) == 0) {
    facts.input.known = facts.input.rereadable = false;
    facts.input.bytes = 0;
  }
  return facts;
}

/// Returns no plan if the memory is too small.
std::optional<Plan> TryToMake(const PlanFacts& facts) {
  try {
    return Make(facts);
  } catch (const Error& error) {
    RC_ASSERT(error.code() == ErrorCode::kUsage || facts.machine.gpu);
    return std::nullopt;
  }
}

RC_GTEST_PROP(PlanProperties, EqualFactsGiveEqualPlansAndPrintAlike, ()) {
  const PlanFacts facts = AnyFacts();
  PlanFacts copy = facts;
  RC_ASSERT(copy == facts);
  RC_ASSERT(TryToMake(copy) == TryToMake(facts));
  RC_ASSERT(Describe(copy) == Describe(facts));
  copy.asked.limit += 1;
  RC_ASSERT(!(copy == facts));
  RC_ASSERT(Describe(copy) != Describe(facts));
}

RC_GTEST_PROP(PlanProperties, NeverTakeMoreThanTheLimit, ()) {
  const PlanFacts facts = AnyFacts();
  const std::optional<Plan> plan = TryToMake(facts);
  RC_LOG() << Describe(facts) << "\n";
  RC_ASSERT(!plan || TakenBytes(*plan, ShareMemory(facts)) <= facts.asked.limit);
}

// The blocks in the ring of a stream cannot be read again, so the CPU goes on with the ring of the lost GPU.
RC_GTEST_PROP(PlanProperties, OfAGpuForAStreamLeaveEnoughMemoryToTheCpu, ()) {
  PlanFacts facts = AnyFacts();
  if (!facts.machine.gpu) facts.machine = GpuFacts(0, 0, 64 * kGiB).machine;
  facts.input.known = facts.input.rereadable = false;
  facts.input.bytes = 0;
  if (!facts.input.plain.fixed() && *rc::gen::arbitrary<bool>()) {
    facts.input.keyed = facts.input.plain;
    facts.input.keyed.keys = 2;
    facts.input.keys = KeysWhen::kAlways;
    facts.input.key_cost = {*rc::gen::inRange<std::uint64_t>(0, 100), *rc::gen::inRange<std::uint64_t>(0, 4)};
  }
  const MemoryShares shares = ShareMemory(facts);
  const std::optional<Plan> plan = TryToMake(facts);
  RC_LOG() << Describe(facts) << "\n";
  RC_PRE(plan.has_value());
  facts.machine.gpu = false;
  facts.machine.gpus = 1;
  MemoryShares left = shares;
  // A GPU fails after it has put runs into host memory, or no GPU could be opened.
  facts.earlier.spilled = *rc::gen::arbitrary<bool>();
  if (facts.earlier.spilled) {
    facts.earlier.temp_workspaces = plan->temp_workspaces;
    facts.earlier.block_bytes = plan->block_bytes;
    left.memory -= plan->host_tier_bytes;
  }
  RC_ASSERT(TakenBytes(MakePlan(facts, left, plan->ring), left) <= facts.asked.limit);
}

RC_GTEST_PROP(PlanProperties, HaveNoMoreLevelsWithMoreMemory, ()) {
  PlanFacts facts = AnyFacts();
  const std::optional<Plan> plan = TryToMake(facts);
  RC_LOG() << Describe(facts) << "\n";
  facts.asked.limit *= *rc::gen::inRange(2, 10);
  const std::optional<Plan> larger = TryToMake(facts);
  RC_ASSERT(!plan || larger);
  RC_ASSERT(!plan || larger->levels <= plan->levels);
}

}  // namespace
}  // namespace gpusort::testing

// labels: brief threads
// labels of CpuLane.CopiesALarge*:CpuLane.KeepsEveryBit*:CutLinesInHalf.*: one_thread
// labels of CpuLane.SortsMoreEntries*:CpuLane.SortsRecordsOfOne*: one_thread
// Tests the CPU backend against a stable sort of whole records, and the rules of its slots.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/error.hpp"
#include "line_files.hpp"
#include "records.hpp"
#include "sanitized.hpp"

namespace gpusort {
namespace {

using testing::Bytes;
using testing::Keys;
using testing::MakeRecords;
using testing::StableSorted;

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 34;

class MemoryBlock : public InputBlock {
 public:
  explicit MemoryBlock(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes() const override { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

class MemorySource : public BatchSource {
 public:
  MemorySource(const Bytes& bytes, std::size_t block_bytes)
      : rest_(std::as_bytes(std::span(bytes))), block_bytes_(block_bytes) {}
  std::unique_ptr<InputBlock> Next() override {
    if (rest_.empty()) return nullptr;
    const std::size_t size = std::min(block_bytes_, rest_.size());
    auto block = std::make_unique<MemoryBlock>(rest_.first(size));
    rest_ = rest_.subspan(size);
    return block;
  }

 private:
  std::span<const std::byte> rest_;
  std::size_t block_bytes_;
};

RecordLayout Layout(std::uint64_t stride, std::vector<KeyField> fields) {
  return MakeFixedLayout(stride, KeySpec{std::move(fields)});
}

Bytes Contents(const SortedRecords& records) {
  Bytes bytes(records.bytes());
  records.Read(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

/// A backend with an arena for batches of up to `slot_bytes`.
struct Fixture {
  Fixture(const RecordLayout& record_layout, std::uint64_t slot_bytes, std::uint32_t slots = 2, unsigned threads = 3,
          std::uint32_t lanes = 1)
      : layout(record_layout), memory(kPlenty), backend(OpenCpuBackend(threads)) {
    backend->MakeArena({layout, slot_bytes, slots, lanes}, memory);
  }
  std::unique_ptr<SortedRecords> Sort(Lane& lane, const Bytes& bytes, std::uint64_t records_a_block) const {
    MemorySource source(bytes, records_a_block * layout.stride);
    return lane.Sort(source);
  }

  RecordLayout layout;
  HostMemory memory;
  std::unique_ptr<Backend> backend;
};

void CheckSort(const RecordLayout& layout, const Bytes& input, std::uint64_t records_a_block, unsigned threads) {
  const Fixture fixture(layout, input.size(), 2, threads);
  const auto lane = fixture.backend->OpenLane();
  const Bytes expected = StableSorted(input, layout);
  const auto sorted = fixture.Sort(*lane, input, records_a_block);
  ASSERT_EQ(sorted->bytes(), input.size());
  ASSERT_EQ(sorted->records(), input.size() / layout.stride);
  ASSERT_FALSE(sorted->on_device());
  ASSERT_TRUE(Contents(*sorted) == expected);
  bool in_order = true;
  for (std::size_t at = layout.stride; at < input.size(); at += layout.stride) {
    in_order = in_order && CompareKeys(&input[at - layout.stride], &input[at], layout) <= 0;
  }
  ASSERT_EQ(sorted->was_sorted(), in_order);
  ASSERT_EQ(fixture.backend->free_slots(), 1u);
}

/// Divides `input` into `runs` unequal runs, some of them empty, sorts each run, divides the runs into pieces, and
/// checks their merge.
void CheckMerge(const RecordLayout& layout, const Bytes& input, std::uint32_t runs, unsigned threads,
                std::uint64_t seed, std::size_t misalign = 0) {
  const Fixture fixture(layout, std::max<std::size_t>(input.size(), layout.stride), 0, threads);
  const auto lane = fixture.backend->OpenLane();
  std::mt19937_64 random(seed);
  const std::uint64_t records = input.size() / layout.stride;
  std::vector<Bytes> storage;
  std::vector<RunPiece> pieces;
  std::uint64_t at = 0;
  for (std::uint32_t run = 0; run < runs; ++run) {
    const std::uint64_t left = records - at;
    std::uint64_t count = run + 1 == runs ? left : std::min(left, random() % (2 * records / runs + 2));
    if (random() % 5 == 0 && run + 1 != runs) count = 0;
    const auto begin = input.begin() + static_cast<std::ptrdiff_t>(at * layout.stride);
    Bytes sorted = StableSorted(Bytes(begin, begin + static_cast<std::ptrdiff_t>(count * layout.stride)), layout);
    sorted.insert(sorted.begin(), misalign, 0);
    storage.push_back(std::move(sorted));
    // Some runs come in two pieces if there are several runs.
    const std::uint64_t first = runs == 1 || random() % 2 == 0 ? count : random() % (count + 1);
    const auto* data = reinterpret_cast<const std::byte*>(storage.back().data()) + misalign;
    pieces.push_back({data, first * layout.stride, run});
    pieces.push_back({data + first * layout.stride, (count - first) * layout.stride, run});
    at += count;
  }
  Bytes out(input.size() + misalign + 8, 0xA5);
  lane->Merge(pieces, reinterpret_cast<std::byte*>(out.data()) + misalign);
  const Bytes expected = StableSorted(input, layout);
  ASSERT_TRUE(std::equal(expected.begin(), expected.end(), out.begin() + static_cast<std::ptrdiff_t>(misalign)));
  for (std::size_t i = 0; i < 8; ++i) ASSERT_EQ(out[misalign + input.size() + i], 0xA5);
}

struct Case {
  std::string name;
  RecordLayout layout;
};

std::vector<Case> AllLayouts() {
  std::vector<Case> cases;
  for (const bool descending : {false, true}) {
    const std::string direction = descending ? " descending" : " ascending";
    for (const bool big_endian : {false, true}) {
      for (const std::uint32_t length : {1u, 2u, 4u, 8u}) {
        const std::string suffix = std::to_string(8 * length) + (big_endian ? "be" : "le") + direction;
        cases.push_back({"u" + suffix, Layout(length, {{0, length, KeyType::kUnsigned, big_endian, descending}})});
        cases.push_back({"i" + suffix, Layout(length, {{0, length, KeyType::kSigned, big_endian, descending}})});
        cases.push_back({"i" + suffix + " with a payload",
                         Layout(length + 5, {{3, length, KeyType::kSigned, big_endian, descending}})});
        if (length < 4) continue;
        cases.push_back({"f" + suffix, Layout(length, {{0, length, KeyType::kFloat, big_endian, descending}})});
        cases.push_back({"f" + suffix + " with a payload",
                         Layout(length + 8, {{8, length, KeyType::kFloat, big_endian, descending}})});
      }
    }
    for (const std::uint32_t length : {1u, 3u, 4u, 8u, 10u, 12u, 13u, 31u}) {
      cases.push_back({"bytes" + std::to_string(length) + direction,
                       Layout(length, {{0, length, KeyType::kBytes, false, descending}})});
      cases.push_back({"bytes" + std::to_string(length) + direction + " with a payload",
                       Layout(length + 7, {{2, length, KeyType::kBytes, false, descending}})});
    }
  }
  cases.push_back({"composite", Layout(32, {{8, 8, KeyType::kSigned, false, true}, {0, 4, KeyType::kUnsigned, true}})});
  cases.push_back(
      {"composite of bytes and float",
       Layout(300, {{200, 9, KeyType::kBytes}, {40, 8, KeyType::kFloat, true, true}, {0, 3, KeyType::kBytes}})});
  cases.push_back(
      {"overlapping fields", Layout(24, {{4, 12, KeyType::kBytes, false, true}, {8, 8, KeyType::kUnsigned}})});
  cases.push_back({"key of 200", Layout(300, {{50, 200, KeyType::kBytes}})});
  return cases;
}

TEST(CpuLane, SortsEveryLayoutLikeAStableSort) {
  std::uint64_t seed = 1;
  for (const Case& test : AllLayouts()) {
    SCOPED_TRACE(test.name);
    for (const Keys keys : testing::kAllKeys) {
      for (const std::uint64_t count : {1u, 2u, 3u, 700u}) {
        const Bytes input = MakeRecords(test.layout, count, keys, ++seed);
        CheckSort(test.layout, input, 1 + seed % 50, 1 + static_cast<unsigned>(seed % 3));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(CpuLane, MergesEveryLayoutLikeAStableSort) {
  std::uint64_t seed = 1000;
  for (const Case& test : AllLayouts()) {
    SCOPED_TRACE(test.name);
    for (const Keys keys : testing::kAllKeys) {
      for (const std::uint32_t runs : {1u, 2u, 7u, 100u}) {
        if (testing::LeftOut(++seed)) continue;
        const Bytes input = MakeRecords(test.layout, 900, keys, seed);
        CheckMerge(test.layout, input, runs, 2, seed, seed % 3);
        if (HasFatalFailure()) return;
      }
    }
  }
}

struct LargeCase {
  std::string name;
  RecordLayout layout;
  std::uint64_t records;
};

/// Returns layouts and counts with enough bytes for the parallel paths and, except for large records, for several
/// tiles.
std::vector<LargeCase> LargeLayouts() {
  return {
      {"u64", Layout(8, {{0, 8, KeyType::kUnsigned}}), 50000},
      {"i32be desc", Layout(4, {{0, 4, KeyType::kSigned, true, true}}), 80000},
      {"f64", Layout(8, {{0, 8, KeyType::kFloat}}), 50000},
      {"gensort", Layout(100, {{0, 10, KeyType::kBytes}}), 9000},
      {"key of 90", Layout(100, {{10, 90, KeyType::kBytes}}), 9000},
      {"composite", Layout(32, {{8, 8, KeyType::kSigned, false, true}, {0, 4, KeyType::kUnsigned, true}}), 12000},
      {"large records", Layout(70001, {{70000 - 15, 16, KeyType::kBytes}}), 30},
  };
}

TEST(CpuLane, SortsOnSeveralThreadsLikeAStableSort) {
  std::uint64_t seed = 2000;
  for (const LargeCase& test : LargeLayouts()) {
    SCOPED_TRACE(test.name);
    for (const Keys keys : testing::kAllKeys) {
      if (testing::LeftOut(++seed)) continue;
      CheckSort(test.layout, MakeRecords(test.layout, test.records, keys, seed), 1 + test.records / 7, 3);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(CpuLane, MergesOnSeveralThreadsLikeAStableSort) {
  std::uint64_t seed = 3000;
  for (const LargeCase& test : LargeLayouts()) {
    SCOPED_TRACE(test.name);
    for (const Keys keys : testing::kAllKeys) {
      if (testing::LeftOut(++seed)) continue;
      const Bytes input = MakeRecords(test.layout, test.records, keys, seed);
      CheckMerge(test.layout, input, seed % 2 == 0 ? 3 : 200, 3, seed, seed % 3);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(CpuLane, CopiesALargeSinglePiece) {
  const RecordLayout layout = Layout(10, {});
  CheckMerge(layout, MakeRecords(layout, 300000, Keys::kAllEqual, 1), 1, 2, 2);
}

TEST(CpuLane, SortsMoreEntriesThanOnePartHolds) {
  const RecordLayout layout = Layout(13, {{1, 6, KeyType::kBytes}});
  CheckSort(layout, MakeRecords(layout, 600000, Keys::kTwoValues, 1), 100000, 2);
}

TEST(CpuLane, KeepsEveryBitOfNaNsAndZeros) {
  for (const bool descending : {false, true}) {
    const RecordLayout layout = Layout(8, {{0, 8, KeyType::kFloat, false, descending}});
    const std::uint64_t patterns[] = {0,
                                      0x8000000000000000u,
                                      0x7FF0000000000000u,
                                      0xFFF0000000000000u,
                                      0x7FF8000000000000u,
                                      0x7FF8DEADBEEF0001u,
                                      0x7FF0000000000001u,
                                      0xFFF8000000000000u,
                                      0xFFFFFFFFFFFFFFFFu,
                                      0x3FF0000000000000u,
                                      0xBFF0000000000000u};
    std::mt19937_64 random(1);
    Bytes input(8 * 60000);
    for (std::size_t at = 0; at < input.size(); at += 8) {
      std::memcpy(&input[at], &patterns[random() % std::size(patterns)], 8);
    }
    CheckSort(layout, input, 1000, 2);
    CheckMerge(layout, input, 9, 2, 1);
  }
}

TEST(CpuLane, OrdersKeysThatDifferLateAndInSteps) {
  // Record i has the first 5 * i bytes of its key in common with all later records, so each group of equal prefixes is
  // only a little smaller than the group before. Many copies of the same records make ties up to the end of the key.
  const RecordLayout layout = Layout(1008, {{0, 1000, KeyType::kBytes}});
  std::mt19937_64 random(1);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < 600; ++i) order.push_back(i % 200);
  std::shuffle(order.begin(), order.end(), random);
  Bytes input(layout.stride * order.size(), 9);
  for (std::size_t r = 0; r < order.size(); ++r) {
    Byte* record = &input[r * layout.stride];
    if (order[r] < 199) std::fill_n(record + 5 * order[r], 1000 - 5 * order[r], static_cast<Byte>(order[r] % 2 * 99));
    std::memcpy(record + 1000, &r, 8);
  }
  CheckSort(layout, input, 10, 1);
  CheckSort(layout, input, 10, 3);
  CheckMerge(layout, input, 5, 2, 1);
}

TEST(CpuLane, OrdersKeysOfFewValuesInEveryPart) {
  // Groups of equal prefixes, large and small, at every twelve bytes.
  for (const std::uint32_t values : {2u, 3u}) {
    for (const bool descending : {false, true}) {
      const RecordLayout layout = Layout(64, {{4, 56, KeyType::kBytes, false, descending}});
      std::mt19937_64 random(values);
      Bytes input(6000 * layout.stride);
      for (std::size_t at = 0; at < input.size(); ++at) {
        const bool varies = at % 7 == 0;
        input[at] = at % 64 < 4 ? static_cast<Byte>(random()) : static_cast<Byte>(varies ? random() % values : 5);
      }
      CheckSort(layout, input, 100, 1);
      CheckSort(layout, input, 100, 3);
      CheckMerge(layout, input, 6, 2, values);
    }
  }
}

TEST(CpuLane, SortsRecordsOfOneMegabyte) {
  const RecordLayout layout = Layout(1 << 20, {{(1 << 20) - 4, 4, KeyType::kUnsigned}});
  const Bytes input = MakeRecords(Layout(1 << 20, {{(1 << 20) - 4, 4, KeyType::kUnsigned}}), 9, Keys::kRandom, 5);
  CheckSort(layout, input, 1, 2);
  CheckMerge(layout, input, 3, 2, 1);
}

TEST(CpuLane, ReturnsTheSameBytesForAnyNumberOfThreadsAndAnyBlocks) {
  const RecordLayout layout = Layout(16, {{0, 2, KeyType::kUnsigned}});
  const Bytes input = MakeRecords(layout, 40000, Keys::kRandom, 6);
  const Bytes expected = StableSorted(input, layout);
  for (const unsigned threads : {1u, 2u, 5u}) {
    for (const std::uint64_t block : {1u, 1000u, 40000u}) {
      const Fixture fixture(layout, input.size() + 16, 2, threads);
      const auto lane = fixture.backend->OpenLane();
      EXPECT_TRUE(Contents(*fixture.Sort(*lane, input, block)) == expected);
    }
  }
}

ErrorCode CodeOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{};
}

TEST(CpuLane, RefusesBatchesAndPiecesThatBreakTheContract) {
  const RecordLayout layout = Layout(10, {{0, 4, KeyType::kBytes}});
  const Fixture fixture(layout, 100);
  const auto lane = fixture.backend->OpenLane();
  const auto sort = [&](std::size_t bytes) { return CodeOf([&] { fixture.Sort(*lane, Bytes(bytes, 1), 3); }); };
  EXPECT_EQ(sort(0), ErrorCode::kInternal);
  EXPECT_EQ(sort(15), ErrorCode::kInternal);
  EXPECT_EQ(sort(110), ErrorCode::kInternal);
  EXPECT_EQ(sort(100), ErrorCode{});
  const Bytes data(110, 1);
  Bytes out(110);
  const auto merge = [&](RunPiece piece) {
    piece.data = reinterpret_cast<const std::byte*>(data.data());
    return CodeOf([&] { lane->Merge({&piece, 1}, reinterpret_cast<std::byte*>(out.data())); });
  };
  EXPECT_EQ(merge({nullptr, 110, 0}), ErrorCode::kInternal);
  EXPECT_EQ(merge({nullptr, 15, 0}), ErrorCode::kIntegrity);
  EXPECT_EQ(merge({nullptr, 10, 0, 0}), ErrorCode::kInternal);
  EXPECT_EQ(merge({nullptr, 100, 0}), ErrorCode{});
  // A refused batch gives its slots back.
  EXPECT_EQ(fixture.backend->free_slots(), 2u);
}

TEST(CpuLane, PassesOnWhatTheSourceThrowsAndFreesItsSlots) {
  struct Throwing : BatchSource {
    std::unique_ptr<InputBlock> Next() override { throw Error(ErrorCode::kIo, "no more"); }
  };
  const Fixture fixture(Layout(8, {}), 64);
  const auto lane = fixture.backend->OpenLane();
  Throwing source;
  EXPECT_EQ(CodeOf([&] { lane->Sort(source); }), ErrorCode::kIo);
  EXPECT_EQ(fixture.backend->free_slots(), 2u);
}

TEST(CpuBackend, CountsASlotForEachResultUntilItIsDropped) {
  const RecordLayout layout = Layout(8, {});
  const Fixture fixture(layout, 800, 4);
  const auto lane = fixture.backend->OpenLane();
  EXPECT_EQ(fixture.backend->free_slots(), 4u);
  auto first = fixture.Sort(*lane, MakeRecords(layout, 100, Keys::kRandom, 1), 10);
  EXPECT_EQ(fixture.backend->free_slots(), 3u);
  const Bytes bytes = MakeRecords(layout, 50, Keys::kRandom, 2);
  auto second = fixture.Sort(*lane, bytes, 10);
  EXPECT_EQ(fixture.backend->free_slots(), 2u);
  first.reset();
  EXPECT_EQ(fixture.backend->free_slots(), 3u);
  EXPECT_TRUE(Contents(*second) == StableSorted(bytes, layout));
}

TEST(CpuBackend, ALaneWaitsForASlotUntilOneIsFree) {
  const RecordLayout layout = Layout(8, {});
  const Fixture fixture(layout, 800, 3);
  const auto lane = fixture.backend->OpenLane();
  auto first = fixture.Sort(*lane, MakeRecords(layout, 100, Keys::kRandom, 1), 10);
  auto second = fixture.Sort(*lane, MakeRecords(layout, 100, Keys::kRandom, 2), 10);
  ASSERT_EQ(fixture.backend->free_slots(), 1u);
  const Bytes bytes = MakeRecords(layout, 100, Keys::kRandom, 3);
  auto third = std::async(std::launch::async, [&] { return fixture.Sort(*lane, bytes, 10); });
  EXPECT_EQ(third.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  first.reset();
  EXPECT_TRUE(Contents(*third.get()) == StableSorted(bytes, layout));
}

TEST(CpuBackend, CancelWakesALaneThatWaits) {
  const RecordLayout layout = Layout(8, {});
  const Fixture fixture(layout, 800, 2);
  const auto lane = fixture.backend->OpenLane();
  const auto held = fixture.Sort(*lane, MakeRecords(layout, 100, Keys::kRandom, 1), 10);
  const Bytes bytes = MakeRecords(layout, 100, Keys::kRandom, 3);
  auto waiting = std::async(std::launch::async, [&] { return CodeOf([&] { fixture.Sort(*lane, bytes, 10); }); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  fixture.backend->Cancel();
  EXPECT_EQ(waiting.get(), ErrorCode::kCancelled);
}

TEST(CpuBackend, LanesOfSeveralThreadsShareTheSlots) {
  const RecordLayout layout = Layout(20, {{0, 3, KeyType::kBytes}});
  const std::uint64_t records = 20000;
  const Fixture fixture(layout, records * layout.stride, 6, 2, 3);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        const auto lane = fixture.backend->OpenLane();
        for (std::uint64_t batch = 0; batch < 6; ++batch) {
          const Bytes bytes = MakeRecords(layout, records, Keys::kRandom, 10 * t + batch);
          const auto sorted = fixture.Sort(*lane, bytes, 500);
          if (Contents(*sorted) != StableSorted(bytes, layout)) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(fixture.backend->free_slots(), 6u);
}

TEST(CpuBackend, TakesSlotsAndLaneBytesFromTheHostMemoryAndGivesThemBack) {
  const RecordLayout layout = Layout(100, {{0, 10, KeyType::kBytes}});
  const auto backend = OpenCpuBackend(2);
  const std::uint64_t slot_bytes = 100000;
  const std::uint64_t need = 4 * slot_bytes + 2 * backend->LaneBytes(layout, slot_bytes);
  HostMemory small(need - 1), enough(need);
  EXPECT_EQ(CodeOf([&] { backend->MakeArena({layout, slot_bytes, 4, 2}, small); }), ErrorCode::kOutOfMemory);
  EXPECT_EQ(small.used(), 0u);
  backend->MakeArena({layout, slot_bytes, 4, 2}, enough);
  EXPECT_EQ(enough.used(), need);
  {
    const auto one = backend->OpenLane();
    const auto two = backend->OpenLane();
    EXPECT_EQ(CodeOf([&] { backend->OpenLane(); }), ErrorCode::kInternal);
    EXPECT_EQ(CodeOf([&] { backend->MakeArena({layout, slot_bytes, 4, 2}, enough); }), ErrorCode::kInternal);
  }
  backend->MakeArena({layout, slot_bytes / 2, 4, 2}, enough);
  EXPECT_LT(enough.used(), need);
  // The entries take sixteen bytes for each record.
  EXPECT_GE(backend->LaneBytes(layout, slot_bytes), slot_bytes / 100 * 16);
}

TEST(CpuBackend, StatesItsLimits) {
  EXPECT_EQ(OpenCpuBackend(2)->limits().name, "CPU, 2 threads");
  EXPECT_EQ(OpenCpuBackend(1)->limits().name, "CPU, 1 thread");
  EXPECT_EQ(OpenCpuBackend(5)->limits().threads, 5u);
  EXPECT_GE(OpenCpuBackend(0)->limits().threads, 1u);
  EXPECT_FALSE(OpenCpuBackend(2)->limits().gpu);
  EXPECT_EQ(OpenCpuBackend(2)->device_peak(), 0u);
}

TEST(CpuBackend, FindsTheBytesBeforeACut) {
  std::uint64_t seed = 0;
  for (const Case& test : AllLayouts()) {
    const Fixture fixture(test.layout, 100 * test.layout.stride);
    const Bytes cut = MakeRecords(test.layout, 1, Keys::kTwoValues, ++seed);
    std::vector<Bytes> storage;
    std::vector<SearchRange> ranges;
    std::vector<std::uint64_t> expected;
    for (const std::uint64_t records : {0u, 1u, 2u, 100u}) {
      for (const Keys keys : {Keys::kRandom, Keys::kTwoValues}) {
        storage.push_back(StableSorted(MakeRecords(test.layout, records, keys, ++seed), test.layout));
        for (const bool inclusive : {false, true}) {
          ranges.push_back(
              {reinterpret_cast<const std::byte*>(storage.back().data()), storage.back().size(), inclusive});
          std::uint64_t bytes = 0;
          for (std::uint64_t r = 0; r < records; ++r) {
            const int order = CompareKeys(&storage.back()[r * test.layout.stride], cut.data(), test.layout);
            bytes += order < 0 || (inclusive && order == 0) ? test.layout.stride : 0;
          }
          expected.push_back(bytes);
        }
      }
    }
    EXPECT_EQ(fixture.backend->BytesBefore(ranges, std::as_bytes(std::span(cut))), expected) << test.name;
  }
}

TEST(CutLinesInHalf, KeepsTheOrderOfKeysAndRuns) {
  const LineOrder order;
  const LineOrderView view = order.view();
  const RecordLayout layout = MakeLineLayout('\n', view);
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    Bytes all;
    std::vector<std::uint64_t> bounds{0};
    for (std::uint64_t run = random() % 4 + 2; run > 0; --run) {
      const testing::Lines kind = testing::kAllLines[random() % std::size(testing::kAllLines)];
      Bytes lines = testing::MakeLines(kind, 1 + random() % (kind == testing::Lines::kLong ? 3 : 200), '\n', random());
      if (i % 5 == 0) lines = {'x', '\n'};
      const Bytes sorted = testing::StableSortedLines(lines, '\n', view);
      all.insert(all.end(), sorted.begin(), sorted.end());
      bounds.push_back(all.size());
    }
    const RecordSpan span = std::as_bytes(std::span(all));
    const auto read = [&](std::uint64_t begin, std::span<std::byte> to) {
      ASSERT_LE(begin + to.size(), span.size());
      std::memcpy(to.data(), span.data() + begin, to.size());
    };
    const auto before = [&](std::span<const SearchRange> ranges, RecordSpan cut) {
      std::vector<std::uint64_t> counts;
      for (const SearchRange& range : ranges) {
        counts.push_back(BytesBefore({range.data, range.bytes}, cut, range.inclusive, layout));
      }
      return counts;
    };
    const std::vector<std::uint64_t> cuts = CutLinesInHalf(span.data(), bounds, layout, read, before);
    ASSERT_EQ(cuts.size(), bounds.size() - 1);
    Bytes low, high;
    for (std::size_t r = 0; r < cuts.size(); ++r) {
      const auto at = [&](std::uint64_t offset) { return all.begin() + static_cast<std::ptrdiff_t>(offset); };
      ASSERT_LE(cuts[r], bounds[r + 1] - bounds[r]);
      low.insert(low.end(), at(bounds[r]), at(bounds[r] + cuts[r]));
      high.insert(high.end(), at(bounds[r] + cuts[r]), at(bounds[r + 1]));
    }
    ASSERT_FALSE(low.empty());
    ASSERT_FALSE(high.empty());
    ASSERT_EQ(low.back(), '\n');
    // The sorted halves, one after the other, must be the sorted whole.
    Bytes halves = testing::StableSortedLines(low, '\n', view);
    const Bytes upper = testing::StableSortedLines(high, '\n', view);
    halves.insert(halves.end(), upper.begin(), upper.end());
    ASSERT_TRUE(halves == testing::StableSortedLines(all, '\n', view));
  }
}

TEST(CpuBackendLines, SortAndMergeEqualAStableSort) {
  using testing::kAllLines;
  using testing::Lines;
  using testing::MakeLines;
  using testing::StableSortedLines;
  std::uint64_t seed = 0, cases = 0;
  for (const LineOrder& order : testing::SomeOrders()) {
    const LineOrderView view = order.view();
    const RecordLayout layout = MakeLineLayout('\n', view);
    for (const Lines kind : kAllLines) {
      for (const std::size_t count : {1, 2, 100, testing::Stride() == 1 ? 20000 : 5000}) {
        if (testing::LeftOut(++cases)) continue;
        const Bytes input =
            MakeLines(kind, kind == Lines::kLong ? std::min<std::size_t>(count, 500) : count, '\n', ++seed);
        const Bytes expected = StableSortedLines(input, '\n', view);
        const auto all = std::as_bytes(std::span(input));
        const std::uint64_t lines = CountRecords(all, layout);
        // Lines of one or two bytes need a slot that is larger than the lines.
        HostMemory memory(kPlenty);
        const auto backend = OpenCpuBackend(3);
        backend->MakeArena({layout, std::max<std::uint64_t>(input.size(), 32 * lines), 2, 1}, memory);
        const auto lane = backend->OpenLane();
        MemorySource source(input, 1 + seed % 5000);
        const auto sorted = lane->Sort(source);
        ASSERT_TRUE(Contents(*sorted) == expected) << "kind " << static_cast<int>(kind) << " count " << count;
        ASSERT_EQ(sorted->records(), lines);
        ASSERT_EQ(sorted->was_sorted(), input == expected) << static_cast<int>(kind);

        std::vector<Bytes> runs;
        std::vector<RunPiece> pieces;
        for (std::uint64_t begin = 0; begin < input.size();) {
          const std::uint64_t want = 1 + seed * 7919 % (2 * input.size() / 6 + 1);
          const auto rest = all.subspan(begin);
          std::uint64_t size = WholeRecordBytes(rest.first(std::min<std::uint64_t>(want, rest.size())), layout);
          if (size == 0) size = FirstRecordBytes(rest, layout);
          const auto from = input.begin() + static_cast<std::ptrdiff_t>(begin);
          runs.push_back(StableSortedLines(Bytes(from, from + static_cast<std::ptrdiff_t>(size)), '\n', view));
          begin += size;
          ++seed;
          if (runs.size() == 40) {
            runs.push_back(
                StableSortedLines(Bytes(input.begin() + static_cast<std::ptrdiff_t>(begin), input.end()), '\n', view));
            break;
          }
        }
        for (std::size_t run = 0; run < runs.size(); ++run) {
          const auto bytes = std::as_bytes(std::span(runs[run]));
          const std::uint64_t half = WholeRecordBytes(bytes.first(bytes.size() / 2), layout);
          pieces.push_back({bytes.data(), half, static_cast<std::uint32_t>(run)});
          pieces.push_back({bytes.data() + half, bytes.size() - half, static_cast<std::uint32_t>(run)});
        }
        Bytes merged(input.size() + 8, 0xA5);
        lane->Merge(pieces, reinterpret_cast<std::byte*>(merged.data()));
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), merged.begin()))
            << "kind " << static_cast<int>(kind) << " count " << count << " runs " << runs.size();
        for (std::size_t i = input.size(); i < merged.size(); ++i) ASSERT_EQ(merged[i], 0xA5);
      }
    }
  }
}

TEST(CpuBackendLines, SortLinesWhoseFirstTwelveBytesAreOftenEqual) {
  for (const LineOrder& order : testing::SomeOrders()) {
    const LineOrderView view = order.view();
    const RecordLayout layout = MakeLineLayout('\n', view);
    for (const bool one_differs : {false, true}) {
      // Twelve bytes of two letters have 4,096 values, and twelve bytes of their code many more. In one of the inputs,
      // one line does not have the common prefix.
      std::mt19937_64 random(one_differs);
      std::string text;
      const int lines = testing::Stride() == 1 ? 6000 : 2000;
      for (int line = 0; line < lines; ++line) {
        text += one_differs && line == 1234 ? "Other-prefix " : "Same-prefix ";
        for (std::uint64_t i = 20 + random() % 30; i > 0; --i) text += random() % 2 == 0 ? 'p' : 'q';
        text += random() % 3 == 0 ? " 7\n" : "\n";
      }
      const Bytes input(text.begin(), text.end());
      const Bytes expected = testing::StableSortedLines(input, '\n', view);
      HostMemory memory(kPlenty);
      const auto backend = OpenCpuBackend(3);
      backend->MakeArena({layout, input.size(), 2, 1}, memory);
      const auto lane = backend->OpenLane();
      MemorySource source(input, 1 << 16);
      ASSERT_TRUE(Contents(*lane->Sort(source)) == expected) << one_differs;
    }
  }
}

TEST(CpuBackendLines, FindTheBytesBeforeACut) {
  for (const LineOrder& order : testing::SomeOrders()) {
    const LineOrderView view = order.view();
    const RecordLayout layout = MakeLineLayout('\n', view);
    const Fixture fixture(layout, 1000);
    const Bytes lines =
        testing::StableSortedLines(testing::MakeLines(testing::Lines::kFewValues, 40, '\n', 3), '\n', view);
    const auto bytes = std::as_bytes(std::span(lines));
    ForEachRecord(bytes, layout, [&](RecordSpan cut) {
      for (const bool inclusive : {false, true}) {
        std::uint64_t expected = 0;
        ForEachRecord(bytes, layout, [&](RecordSpan record) {
          const int compared = CompareRecords(record, cut, layout);
          expected += compared < 0 || (inclusive && compared == 0) ? record.size() : 0;
        });
        const std::vector<SearchRange> ranges{{bytes.data(), bytes.size(), inclusive}, {bytes.data(), 0, inclusive}};
        EXPECT_EQ(fixture.backend->BytesBefore(ranges, cut), (std::vector<std::uint64_t>{expected, 0}));
      }
    });
  }
}

TEST(SortedRecords, ReadsAnyPartAndRefusesToReadPastTheEnd) {
  const RecordLayout layout = Layout(8, {});
  const Fixture fixture(layout, 800);
  const auto lane = fixture.backend->OpenLane();
  const Bytes bytes = MakeRecords(layout, 100, Keys::kRandom, 1);
  const Bytes expected = StableSorted(bytes, layout);
  const auto sorted = fixture.Sort(*lane, bytes, 10);
  Bytes part(33);
  sorted->Read(17, std::as_writable_bytes(std::span(part)));
  EXPECT_TRUE(std::equal(part.begin(), part.end(), expected.begin() + 17));
  EXPECT_EQ(CodeOf([&] { sorted->Read(800 - 32, std::as_writable_bytes(std::span(part))); }), ErrorCode::kInternal);
  EXPECT_EQ(CodeOf([&] { sorted->Read(~std::uint64_t{0}, std::as_writable_bytes(std::span(part))); }),
            ErrorCode::kInternal);
}

}  // namespace
}  // namespace gpusort

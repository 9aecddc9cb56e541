// labels: brief
// Tests several fake GPUs as one backend: which lane and which part of the memory each GPU gets, and searches in the
// memory of each GPU.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "fake_gpu.hpp"
#include "kernels/backend.hpp"
#include "records.hpp"

namespace gpusort::testing {
namespace {

constexpr std::uint64_t kSlot = 8000;

class GivenBatch : public BatchSource {
 public:
  explicit GivenBatch(const Bytes& bytes) : bytes_(&bytes) {}
  std::unique_ptr<InputBlock> Next() override {
    if (bytes_ == nullptr) return nullptr;
    return std::make_unique<Block>(*std::exchange(bytes_, nullptr));
  }

 private:
  struct Block : InputBlock {
    explicit Block(const Bytes& all) : of(all) {}
    std::span<const std::byte> bytes() const override { return std::as_bytes(std::span(of)); }
    const Bytes& of;
  };
  const Bytes* bytes_;
};

struct Group {
  explicit Group(int gpus, std::uint32_t lanes_each = 1, std::uint32_t slots_each = 4, bool reach = true) {
    plan.gpus = gpus;
    plan.reach = reach;
    plan.device_bytes_of[gpus - 1] = 12345;
    std::vector<std::unique_ptr<Backend>> all;
    // The device numbers need not begin at 0, and need not be in order.
    for (int gpu = gpus; gpu-- > 0;) all.push_back(std::make_unique<FakeGpu>(plan, gpu));
    backend = GroupGpus(std::move(all));
    ArenaShape shape;
    shape.layout = layout;
    shape.slot_bytes = kSlot;
    shape.slots = slots_each * static_cast<std::uint32_t>(gpus);
    shape.lanes = lanes_each * static_cast<std::uint32_t>(gpus);
    backend->MakeArena(shape, memory);
  }

  const RecordLayout layout = MakeFixedLayout(8, KeySpec{{KeyField{0, 8, KeyType::kUnsigned, false, false}}});
  FakeGpuPlan plan;
  HostMemory memory{std::uint64_t{1} << 26};
  std::unique_ptr<Backend> backend;
};

TEST(GpuGroup, OfOneIsThatOne) {
  FakeGpuPlan plan;
  std::vector<std::unique_ptr<Backend>> one;
  one.push_back(std::make_unique<FakeGpu>(plan));
  const Backend* const gpu = one.front().get();
  EXPECT_EQ(GroupGpus(std::move(one)).get(), gpu);
}

TEST(GpuGroup, SaysWhoIsInItAndWhatTheLeastHas) {
  const Group group(3);
  const BackendLimits& limits = group.backend->limits();
  EXPECT_EQ(limits.name, "fake GPU 2 + fake GPU 1 + fake GPU 0");
  EXPECT_EQ(limits.gpus, 3u);
  EXPECT_TRUE(limits.gpu);
  EXPECT_EQ(limits.device_bytes, 12345u);
}

TEST(GpuGroup, GivesEachGpuItsLanesAndSlots) {
  Group group(3, 2, 5);
  EXPECT_EQ(group.backend->free_slots(), 15u);
  for (int stage = 0; stage < 3; ++stage) {
    std::vector<std::unique_ptr<Lane>> lanes;
    std::map<int, int> of;
    for (int i = 0; i < 6; ++i) {
      lanes.push_back(group.backend->OpenLane());
      ++of[lanes.back()->device()];
    }
    EXPECT_EQ(of, (std::map<int, int>{{0, 2}, {1, 2}, {2, 2}})) << "stage " << stage;
  }
  ArenaShape odd;
  odd.layout = group.layout;
  odd.slot_bytes = kSlot;
  odd.slots = 7;
  odd.lanes = 3;
  EXPECT_THROW(group.backend->MakeArena(odd, group.memory), Error);
}

/// `reach` is true if the GPUs can read each other's memory.
void SortMergeAndSearch(bool reach) {
  Group group(3, 1, 4, reach);
  std::vector<std::unique_ptr<Lane>> lanes;
  std::vector<std::unique_ptr<SortedRecords>> runs;
  std::vector<RunPiece> pieces;
  Bytes all;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const Bytes batch = MakeRecords(group.layout, 500 + 100 * i, Keys::kTwoValues, i + 1);
    all.insert(all.end(), batch.begin(), batch.end());
    lanes.push_back(group.backend->OpenLane());
    GivenBatch source(batch);
    runs.push_back(lanes.back()->Sort(source));
    EXPECT_EQ(runs.back()->device(), lanes.back()->device());
    pieces.push_back({runs.back()->data(), runs.back()->bytes() / 2 / 8 * 8, i, runs.back()->device()});
  }
  std::uint64_t bytes = 0;
  Bytes expected;
  for (const RunPiece& piece : pieces) {
    const Bytes own(reinterpret_cast<const std::uint8_t*>(piece.data),
                    reinterpret_cast<const std::uint8_t*>(piece.data) + piece.bytes);
    expected.insert(expected.end(), own.begin(), own.end());
    bytes += piece.bytes;
  }
  expected = StableSorted(expected, group.layout);
  for (const std::unique_ptr<Lane>& lane : lanes) {
    Bytes merged(bytes);
    lane->Merge(pieces, reinterpret_cast<std::byte*>(merged.data()));
    EXPECT_EQ(merged, expected);
  }
  EXPECT_EQ(group.plan.crossed, 6);

  // The ranges are in another order than the GPUs, and some GPUs occur twice.
  const RecordSpan cut = std::as_bytes(std::span(expected)).subspan(bytes / 2 / 8 * 8, 8);
  std::vector<SearchRange> ranges;
  for (const std::size_t r : {1, 0, 2, 1, 0}) {
    ranges.push_back({runs[r]->data(), runs[r]->bytes(), ranges.size() % 2 == 0, runs[r]->device()});
  }
  const std::vector<std::uint64_t> counts = group.backend->BytesBefore(ranges, cut);
  ASSERT_EQ(counts.size(), ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    std::uint64_t before = 0;
    for (std::uint64_t at = 0; at < ranges[i].bytes; at += 8) {
      const int order = CompareRecords({ranges[i].data + at, 8}, cut, group.layout);
      before += order < 0 || (order == 0 && ranges[i].inclusive) ? 8 : 0;
    }
    EXPECT_EQ(counts[i], before) << "range " << i;
  }
  ranges[0].device = 77;
  if (!reach) {
    EXPECT_THROW(group.backend->BytesBefore(ranges, cut), Error);
  }

  std::array<std::byte, 5 * 8> read;
  std::vector<SlotRead> reads;
  for (const std::size_t r : {2, 0, 1, 1, 2}) {
    const std::size_t at = 8 * reads.size();
    reads.push_back({runs[r]->data() + at, std::span(read).subspan(at, 8), runs[r]->device()});
  }
  group.backend->Read(reads);
  for (const SlotRead& one : reads) EXPECT_TRUE(std::equal(one.out.begin(), one.out.end(), one.data));
  reads[0].device = 77;
  if (!reach) {
    EXPECT_THROW(group.backend->Read(reads), Error);
  }
}

TEST(GpuGroup, SortsMergesAndSearchesInAnyMemory) {
  for (const bool reach : {true, false}) SortMergeAndSearch(reach);
}

TEST(GpuGroup, CancelsAllOfThem) {
  Group group(2, 1, 2);
  std::vector<std::unique_ptr<SortedRecords>> held;
  std::vector<std::unique_ptr<Lane>> lanes;
  const Bytes batch = MakeRecords(group.layout, 10, Keys::kRandom, 1);
  for (int i = 0; i < 2; ++i) {
    lanes.push_back(group.backend->OpenLane());
    GivenBatch source(batch);
    held.push_back(lanes.back()->Sort(source));
  }
  group.backend->Cancel();
  for (const std::unique_ptr<Lane>& lane : lanes) {
    GivenBatch source(batch);
    try {
      lane->Sort(source);
      ADD_FAILURE() << "found two slots of which one is held";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
    }
  }
}

}  // namespace
}  // namespace gpusort::testing

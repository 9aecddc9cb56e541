// Tests the CUDA backend against std::stable_sort by CompareKeys on the host, byte for byte. Also tests its behaviour
// at the limits: slots, cancelling, refused memory, failed calls, a GPU that does not answer. The arithmetic of its
// kernels also runs on the CPU here; those tests need no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cuda/device_memory.cuh"
#include "kernels/cuda/record_kernels.cuh"
#include "kernels/error.hpp"
#include "kernels/records/key.hpp"
#include "kernels/records/records.hpp"
#include "records.hpp"

namespace gpusort::testing {

/// This is a macro because GTEST_SKIP must return from the test itself.
#define SKIP_WITHOUT_GPU() \
  if (const std::string why = WhyNoGpu(); !why.empty()) GTEST_SKIP() << why

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::string WhyNoGpu() {
  static const std::string why = [] {
    try {
      OpenCudaBackend(0);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  }();
  return why;
}

const std::byte* AsStdBytes(const unsigned char* p) { return reinterpret_cast<const std::byte*>(p); }

/// Delivers `input` in blocks, from buffers that are overwritten as soon as they are returned.
class TestSource : public BatchSource {
 public:
  TestSource(const Bytes& input, std::uint64_t block_bytes) : input_(input), block_bytes_(block_bytes) {}
  std::unique_ptr<InputBlock> Next() override {
    most_lent_ = std::max(most_lent_, lent_);
    if (fail_at_ == given_) throw Error(ErrorCode::kIo, "the source failed");
    if (given_ == input_.size()) return nullptr;
    const std::uint64_t size = std::min<std::uint64_t>(block_bytes_, input_.size() - given_);
    auto block = std::make_unique<Block>(*this, Bytes(input_.begin() + given_, input_.begin() + given_ + size));
    given_ += size;
    return block;
  }
  /// Makes the request for the block at this offset throw.
  void FailAt(std::uint64_t offset) { fail_at_ = offset; }
  int lent() const { return lent_; }
  /// Returns the maximum number of blocks on loan while a further block was requested.
  int most_lent() const { return most_lent_; }

 private:
  class Block : public InputBlock {
   public:
    Block(TestSource& source, Bytes bytes) : source_(source), bytes_(std::move(bytes)) { ++source_.lent_; }
    ~Block() override {
      --source_.lent_;
      std::fill(bytes_.begin(), bytes_.end(), 0xEE);
    }
    std::span<const std::byte> bytes() const override { return {AsStdBytes(bytes_.data()), bytes_.size()}; }

   private:
    TestSource& source_;
    Bytes bytes_;
  };

  const Bytes& input_;
  const std::uint64_t block_bytes_;
  std::uint64_t given_ = 0;
  std::uint64_t fail_at_ = ~std::uint64_t{0};
  int lent_ = 0;
  int most_lent_ = 0;
};

KeyField Field(std::uint64_t offset, std::uint32_t length, KeyType type, bool big_endian = false,
               bool descending = false) {
  return {offset, length, type, big_endian, descending};
}

struct NamedLayout {
  std::string name;
  RecordLayout layout;
};

std::vector<NamedLayout> AllLayouts() {
  const auto make = [](std::uint64_t stride, std::vector<KeyField> fields) {
    return MakeFixedLayout(stride, KeySpec{std::move(fields)});
  };
  using enum KeyType;
  return {
      {"u32", make(4, {Field(0, 4, kUnsigned)})},
      {"i32", make(4, {Field(0, 4, kSigned)})},
      {"f32", make(4, {Field(0, 4, kFloat)})},
      {"u32be desc", make(4, {Field(0, 4, kUnsigned, true, true)})},
      {"bytes4", make(4, {})},
      {"u64", make(8, {Field(0, 8, kUnsigned)})},
      {"i64", make(8, {Field(0, 8, kSigned)})},
      {"f64 desc", make(8, {Field(0, 8, kFloat, false, true)})},
      {"i64be", make(8, {Field(0, 8, kSigned, true)})},
      {"gensort", make(100, {Field(0, 10, kBytes)})},
      {"composite", make(32, {Field(8, 8, kSigned, false, true), Field(0, 4, kUnsigned, true)})},
      {"five fields", make(48, {Field(40, 4, kFloat), Field(3, 2, kSigned, true), Field(7, 5, kBytes, false, true),
                                Field(16, 8, kUnsigned), Field(1, 1, kUnsigned)})},
      {"1 byte", make(1, {})},
      {"i8", make(1, {Field(0, 1, kSigned)})},
      {"2 bytes", make(2, {Field(0, 2, kSigned)})},
      {"3 bytes", make(3, {})},
      {"7 bytes", make(7, {Field(2, 3, kBytes, false, true)})},
      {"whole 12", make(12, {})},
      {"whole 13", make(13, {})},
      {"whole 32", make(32, {})},
      {"key in the middle", make(80, {Field(11, 40, kBytes)})},
      {"odd and long", make(1237, {Field(5, 4, kUnsigned), Field(600, 30, kBytes)})},
  };
}

Bytes ReadAll(const SortedRecords& sorted) {
  Bytes bytes(sorted.bytes());
  sorted.Read(0, {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()});
  return bytes;
}

ArenaShape Shape(const RecordLayout& layout, std::uint64_t slot_bytes, std::uint32_t slots = 2,
                 std::uint32_t lanes = 1) {
  ArenaShape shape;
  shape.layout = layout;
  shape.slot_bytes = slot_bytes;
  shape.slots = slots;
  shape.lanes = lanes;
  return shape;
}

/// A backend with an arena.
struct Device {
  explicit Device(const ArenaShape& shape) : backend(OpenCudaBackend(0)) { backend->MakeArena(shape, memory); }
  HostMemory memory{1024 * kMiB};
  std::unique_ptr<Backend> backend;
};

std::unique_ptr<SortedRecords> SortBytes(Lane& lane, const Bytes& input, std::uint64_t block_bytes) {
  TestSource source(input, block_bytes);
  std::unique_ptr<SortedRecords> sorted = lane.Sort(source);
  EXPECT_EQ(source.lent(), 0);
  EXPECT_LE(source.most_lent(), 2);
  return sorted;
}

// ---------------------------------------------------------------------------------------------------------------------
// On the CPU.

TEST(CommonKeyPrefix, IsWhereTheNormalizedKeysFirstDiffer) {
  std::mt19937_64 random(1);
  for (const NamedLayout& named : AllLayouts()) {
    SCOPED_TRACE(named.name);
    const RecordLayout& layout = named.layout;
    const auto key_of = [&](const Bytes& record) {
      std::string key;
      for (std::uint64_t at = 0; at < layout.key_bytes; ++at) {
        key.push_back(static_cast<char>(KeyWord(record.data(), layout, at) >> 56));
      }
      return key;
    };
    for (int round = 0; round < 200; ++round) {
      const Bytes a = MakeRecords(layout, 1, Keys::kRandom, random());
      Bytes b = a;
      for (int flips = round % 3; flips > 0; --flips) b[random() % b.size()] ^= 1 << random() % 8;
      const std::string x = key_of(a), y = key_of(b);
      const std::uint64_t common = std::mismatch(x.begin(), x.end(), y.begin()).first - x.begin();
      const std::uint64_t limit = random() % (layout.key_bytes + 1);
      EXPECT_EQ(detail::CommonKeyPrefix(a.data(), b.data(), layout, layout.key_bytes), common);
      EXPECT_EQ(detail::CommonKeyPrefix(a.data(), b.data(), layout, limit), std::min(common, limit));
    }
  }
}

TEST(GatherSource, WalksWholeRecordsFromAnyTile) {
  std::mt19937 random(2);
  for (const std::uint32_t record_words : {1u, 3u, 7u, 300u, 5000u}) {
    std::vector<Entry> entries(50);
    for (std::uint32_t i = 0; i < entries.size(); ++i) entries[i] = {random() % 50, i};
    for (std::uint64_t first = 0; first < entries.size() * record_words; first += detail::kGatherTile) {
      const std::uint64_t first_record = first / record_words;
      for (std::uint64_t at = 0; at < detail::kGatherTile && first + at < entries.size() * record_words; ++at) {
        const std::uint64_t word = first + at;
        const std::uint32_t offset = static_cast<std::uint32_t>(word - first_record * record_words);
        ASSERT_EQ(detail::GatherSource(entries.data(), first_record, offset, record_words),
                  std::uint64_t{entries[word / record_words].row()} * record_words + word % record_words);
      }
    }
  }
}

TEST(GatherWordBytes, DividesTheRecord) {
  for (std::uint64_t stride = 1; stride < 200; ++stride) {
    const std::uint32_t word = detail::GatherWordBytes(stride);
    EXPECT_EQ(stride % word, 0u);
    EXPECT_TRUE(word == 16 || stride % (2 * word) != 0) << stride;
  }
}

TEST(CudaBackend, WithoutTheDeviceSaysWhy) {
  for (const int device : {-1, 1000}) {
    try {
      OpenCudaBackend(device);
      ADD_FAILURE() << "opened GPU " << device;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kGpuLost);
      EXPECT_STRNE(error.what(), "");
    }
  }
  const std::vector<std::string> lines = ListBackends();
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[0].substr(0, 3), "CPU");
  EXPECT_EQ(lines[1].substr(0, 3) == "GPU", WhyNoGpu().empty()) << lines[1];
}

// ---------------------------------------------------------------------------------------------------------------------
// On the GPU.

TEST(CudaSort, EqualsStableSort) {
  SKIP_WITHOUT_GPU();
  for (const NamedLayout& named : AllLayouts()) {
    const RecordLayout& layout = named.layout;
    const std::size_t most = layout.stride > 200 ? 5000 : 100000;
    Device device(Shape(layout, most * layout.stride));
    const std::unique_ptr<Lane> lane = device.backend->OpenLane();
    const auto check = [&](std::size_t count, Keys keys) {
      SCOPED_TRACE(named.name + ", " + std::to_string(count) + " records, keys " +
                   std::to_string(static_cast<int>(keys)));
      const Bytes input = MakeRecords(layout, count, keys, count * 31 + static_cast<int>(keys));
      const Bytes expected = StableSorted(input, layout);
      const std::uint64_t block_bytes = (count / 5 + 1) * layout.stride;
      const std::unique_ptr<SortedRecords> sorted = SortBytes(*lane, input, block_bytes);
      EXPECT_EQ(sorted->bytes(), input.size());
      EXPECT_EQ(sorted->records(), count);
      EXPECT_TRUE(sorted->on_device());
      EXPECT_EQ(sorted->was_sorted(), input == expected);
      EXPECT_TRUE(ReadAll(*sorted) == expected);
    };
    for (const std::size_t count : {1, 2, 3, 31, 33, 255, 256, 257, 2047, 2049, 4999}) {
      for (const Keys keys : kAllKeys) check(count, keys);
    }
    for (const Keys keys : {Keys::kRandom, Keys::kCommonPrefix, Keys::kAllEqual}) check(most, keys);
    EXPECT_EQ(device.backend->free_slots(), 2u);
  }
}

TEST(CudaSort, KeepsEveryBitOfFloats) {
  SKIP_WITHOUT_GPU();
  const RecordLayout layout = MakeFixedLayout(4, KeySpec{{Field(0, 4, KeyType::kFloat)}});
  Bytes input;
  for (const std::uint32_t bits : {0x7fc00001u, 0x80000000u, 0u, 0xffc12345u, 0x7f800000u, 0xff800000u, 0x7fa00000u,
                                   0xffffffffu, 1u, 0x80000001u, 0x3f800000u, 0xbf800000u}) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&bits);
    input.insert(input.end(), bytes, bytes + 4);
  }
  Device device(Shape(layout, input.size()));
  const std::unique_ptr<Lane> lane = device.backend->OpenLane();
  EXPECT_EQ(ReadAll(*SortBytes(*lane, input, 8)), StableSorted(input, layout));
}

TEST(CudaSort, ReadsAnyRange) {
  SKIP_WITHOUT_GPU();
  const RecordLayout layout = MakeFixedLayout(7, {});
  const Bytes input = MakeRecords(layout, 1000, Keys::kRandom, 5);
  const Bytes expected = StableSorted(input, layout);
  Device device(Shape(layout, input.size()));
  const std::unique_ptr<Lane> lane = device.backend->OpenLane();
  const std::unique_ptr<SortedRecords> sorted = SortBytes(*lane, input, 700);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int round = 0; round < 100; ++round) {
        const std::uint64_t offset = random() % (input.size() + 1);
        Bytes part(random() % (input.size() - offset + 1));
        sorted->Read(offset, {reinterpret_cast<std::byte*>(part.data()), part.size()});
        EXPECT_TRUE(std::equal(part.begin(), part.end(), expected.begin() + offset));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Bytes too_much(8);
  EXPECT_THROW(sorted->Read(input.size() - 7, {reinterpret_cast<std::byte*>(too_much.data()), 8}), Error);
}

TEST(CudaBackend, ReadsManyAtOnce) {
  SKIP_WITHOUT_GPU();
  const RecordLayout layout = MakeFixedLayout(7, {});
  const Bytes input = MakeRecords(layout, 30000, Keys::kRandom, 6);
  const Bytes expected = StableSorted(input, layout);
  Device device(Shape(layout, input.size()));
  const std::unique_ptr<Lane> lane = device.backend->OpenLane();
  const std::unique_ptr<SortedRecords> sorted = SortBytes(*lane, input, 70000);
  std::mt19937_64 random(9);
  for (const std::size_t count : {0, 1, 30, 128, 3000}) {
    // Reads of no bytes, of a few bytes, and of so many bytes that they are copied separately.
    for (const std::uint64_t most : {8, 4096, 9000}) {
      std::vector<Bytes> parts(count);
      std::vector<std::uint64_t> offsets;
      std::vector<SlotRead> reads;
      for (Bytes& part : parts) {
        part.resize(random() % (most + 1));
        offsets.push_back(random() % (input.size() - part.size() + 1));
        reads.push_back({sorted->data() + offsets.back(),
                         {reinterpret_cast<std::byte*>(part.data()), part.size()},
                         sorted->device()});
      }
      device.backend->Read(reads);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_TRUE(std::equal(parts[i].begin(), parts[i].end(), expected.begin() + offsets[i]))
            << i << " of " << count;
      }
    }
  }
}

TEST(CudaMerge, TakesPiecesFromAnyByteOn) {
  SKIP_WITHOUT_GPU();
  std::mt19937_64 random(10);
  // A piece of one-byte records may begin at any address. 300 pieces are more than one kernel takes.
  const RecordLayout layout = MakeFixedLayout(1, {});
  for (const std::uint64_t bytes : {400, 70000, 9000000}) {
    Device device(Shape(layout, bytes, 6));
    const std::unique_ptr<Lane> lane = device.backend->OpenLane();
    std::vector<std::unique_ptr<SortedRecords>> runs;
    std::vector<RunPiece> pieces;
    Bytes input;
    for (std::uint32_t r = 0; r < 3; ++r) {
      const Bytes part = MakeRecords(layout, bytes / 3, Keys::kRandom, random());
      runs.push_back(SortBytes(*lane, part, 60000));
      const std::uint64_t from = random() % 50, to = runs[r]->bytes() - random() % 50;
      const Bytes all = ReadAll(*runs[r]);
      input.insert(input.end(), all.begin() + from, all.begin() + to);
      for (std::uint64_t at = from; at < to;) {
        const std::uint64_t size = std::min(to - at, random() % (2 * bytes / 300) + 1);
        pieces.push_back({runs[r]->data() + at, size, r, runs[r]->device()});
        at += size;
      }
    }
    Bytes merged(input.size());
    lane->Merge(pieces, reinterpret_cast<std::byte*>(merged.data()));
    ASSERT_TRUE(merged == StableSorted(input, layout)) << bytes;
  }
}

TEST(CudaSort, WorksFromPinnedBlocks) {
  SKIP_WITHOUT_GPU();
  const RecordLayout layout = MakeFixedLayout(8, KeySpec{{Field(0, 8, KeyType::kUnsigned)}});
  const std::uint64_t block_bytes = kMiB;
  Device device(Shape(layout, 24 * kMiB));
  HostBuffer ring(device.memory, 4 * block_bytes);
  device.backend->Pin(ring.data(), ring.size());
  /// A ring of four blocks. Each block is filled again as soon as it is free.
  class RingSource : public BatchSource {
   public:
    RingSource(const Bytes& input, std::byte* ring) : input_(input), ring_(ring) {}
    std::unique_ptr<InputBlock> Next() override {
      if (given_ == input_.size()) return nullptr;
      for (int i = 0; i < 4; ++i) {
        if (busy_[i]) continue;
        const std::uint64_t size = std::min<std::uint64_t>(kMiB, input_.size() - given_);
        std::memcpy(ring_ + i * kMiB, input_.data() + given_, size);
        given_ += size;
        return std::make_unique<Block>(busy_[i], std::span<const std::byte>(ring_ + i * kMiB, size));
      }
      throw Error(ErrorCode::kInternal, "the lane holds the whole ring");
    }

   private:
    class Block : public InputBlock {
     public:
      Block(bool& busy, std::span<const std::byte> bytes) : busy_(busy), bytes_(bytes) { busy_ = true; }
      ~Block() override { busy_ = false; }
      std::span<const std::byte> bytes() const override { return bytes_; }

     private:
      bool& busy_;
      std::span<const std::byte> bytes_;
    };
    const Bytes& input_;
    std::byte* ring_;
    std::uint64_t given_ = 0;
    bool busy_[4] = {};
  };
  const Bytes input = MakeRecords(layout, 3 * kMiB - 5, Keys::kRandom, 6);
  const Bytes expected = StableSorted(input, layout);
  const std::unique_ptr<Lane> lane = device.backend->OpenLane();
  for (int round = 0; round < 5; ++round) {
    RingSource source(input, ring.data());
    EXPECT_TRUE(ReadAll(*lane->Sort(source)) == expected);
  }
  device.backend->Unpin(ring.data());
  device.backend->Unpin(ring.data());  // memory that is not pinned is no error
}

TEST(CudaSort, RefusesBatchesThatBreakTheContract) {
  SKIP_WITHOUT_GPU();
  const RecordLayout layout = MakeFixedLayout(8, {});
  Device device(Shape(layout, 800));
  const std::unique_ptr<Lane> lane = device.backend->OpenLane();
  for (const std::size_t bytes : {0, 801, 808, 13}) {
    const Bytes input(bytes);
    TestSource source(input, 100);
    EXPECT_THROW(lane->Sort(source), Error) << bytes;
    EXPECT_EQ(source.lent(), 0);
    EXPECT_EQ(device.backend->free_slots(), 2u);
  }
}

TEST(CudaSort, GivesAllBackIfTheSourceFails) {
  SKIP_WITHOUT_GPU();
  const RecordLayout layout = MakeFixedLayout(8, {});
  Device device(Shape(layout, 80000));
  const std::unique_ptr<Lane> lane = device.backend->OpenLane();
  const Bytes input = MakeRecords(layout, 10000, Keys::kRandom, 7);
  TestSource failing(input, 8000);
  failing.FailAt(40000);
  EXPECT_THROW(lane->Sort(failing), Error);
  EXPECT_EQ(failing.lent(), 0);
  EXPECT_EQ(device.backend->free_slots(), 2u);
  EXPECT_TRUE(ReadAll(*SortBytes(*lane, input, 8000)) == StableSorted(input, layout));
}

/// Sorts runs of `input`, divided at random places. The pieces are on the host, on the device, or on both.
TEST(CudaMerge, EqualsStableSortOfTheRuns) {
  SKIP_WITHOUT_GPU();
  std::mt19937_64 random(8);
  for (const NamedLayout& named : AllLayouts()) {
    const RecordLayout& layout = named.layout;
    const std::size_t most = layout.stride > 200 ? 4000 : 30000;
    Device device(Shape(layout, most * layout.stride, 12));
    const std::unique_ptr<Lane> lane = device.backend->OpenLane();
    for (const Keys keys : kAllKeys) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{300}, most}) {
        for (const std::uint32_t runs : {1u, 2u, 3u, 9u}) {
          SCOPED_TRACE(named.name + ", keys " + std::to_string(static_cast<int>(keys)) + ", " + std::to_string(count) +
                       " records, " + std::to_string(runs) + " runs");
          const Bytes input = MakeRecords(layout, count, keys, random());
          std::vector<std::size_t> cuts{0, count};
          for (std::uint32_t r = 1; r < runs; ++r) cuts.push_back(random() % (count + 1));
          std::sort(cuts.begin(), cuts.end());
          std::vector<std::unique_ptr<SortedRecords>> on_device;
          std::vector<RunPiece> pieces;
          std::vector<Bytes> on_host(runs);
          for (std::uint32_t r = 0; r < runs; ++r) {
            const Bytes part(input.begin() + cuts[r] * layout.stride, input.begin() + cuts[r + 1] * layout.stride);
            on_host[r] = StableSorted(part, layout);
            const bool device_run = !part.empty() && random() % 2 == 0;
            const std::byte* data = AsStdBytes(on_host[r].data());
            if (device_run) {
              on_device.push_back(SortBytes(*lane, part, part.size()));
              data = on_device.back()->data();
            }
            // Each run has two pieces, one of which may be empty.
            const std::uint64_t first = random() % (part.size() / layout.stride + 1) * layout.stride;
            pieces.push_back({data, first, r, device_run ? 0 : kOnHost});
            pieces.push_back({data + first, part.size() - first, r, device_run ? 0 : kOnHost});
          }
          Bytes merged(input.size() + 16, 0xCC);
          lane->Merge(pieces, reinterpret_cast<std::byte*>(merged.data()));
          EXPECT_TRUE(std::all_of(merged.end() - 16, merged.end(), [](unsigned char byte) { return byte == 0xCC; }));
          merged.resize(input.size());
          // The runs are in the order of the input and sorted stably, so their merge is the stable sort of the input.
          ASSERT_TRUE(merged == StableSorted(input, layout));
        }
      }
    }
    EXPECT_EQ(device.backend->free_slots(), 12u);
  }
}

TEST(CudaGroup, MergesAndSearchesInTheMemoryOfAllGpus) {
  SKIP_WITHOUT_GPU();
  const int gpus = CountGpus(std::chrono::minutes(1));
  if (gpus < 2) GTEST_SKIP() << "there is one GPU";
  std::vector<std::unique_ptr<Backend>> all;
  for (int gpu = 0; gpu < gpus; ++gpu) all.push_back(OpenCudaBackend(gpu));
  HostMemory memory(64 * kMiB);  // outlives the arenas
  const std::unique_ptr<Backend> group = GroupGpus(std::move(all));
  for (const NamedLayout& named : AllLayouts()) {
    SCOPED_TRACE(named.name);
    const RecordLayout& layout = named.layout;
    const std::size_t count = layout.stride > 200 ? 1000 : 20000;  // the number of records in a run
    const auto each = static_cast<std::uint32_t>(gpus);
    group->MakeArena(Shape(layout, gpus * count * layout.stride, 4 * each, each), memory);
    std::vector<std::unique_ptr<Lane>> lanes;
    std::vector<std::unique_ptr<SortedRecords>> runs;
    std::vector<RunPiece> pieces;
    Bytes input;
    for (std::uint32_t r = 0; r < each; ++r) {
      const Bytes part = MakeRecords(layout, count, Keys::kTwoValues, r);
      input.insert(input.end(), part.begin(), part.end());
      lanes.push_back(group->OpenLane());
      runs.push_back(SortBytes(*lanes.back(), part, 60000));
      EXPECT_EQ(runs.back()->device(), static_cast<int>(r));
      const std::uint64_t half = count / 2 * layout.stride;
      pieces.push_back({runs[r]->data(), half, r, runs[r]->device()});
      pieces.push_back({runs[r]->data() + half, runs[r]->bytes() - half, r, runs[r]->device()});
    }
    const Bytes expected = StableSorted(input, layout);
    for (const std::unique_ptr<Lane>& lane : lanes) {
      Bytes merged(input.size());
      lane->Merge(pieces, reinterpret_cast<std::byte*>(merged.data()));
      ASSERT_TRUE(merged == expected) << "on GPU " << lane->device();
      // A single run needs no merge, only the copy to the host.
      for (std::uint32_t r = 0; r < each; ++r) {
        merged.resize(runs[r]->bytes());
        lane->Merge(std::span(pieces).subspan(2 * r, 2), reinterpret_cast<std::byte*>(merged.data()));
        ASSERT_TRUE(merged == ReadAll(*runs[r])) << "run " << r << " on GPU " << lane->device();
      }
    }
    const RecordSpan cut = RecordSpan(AsStdBytes(expected.data()), expected.size())
                               .subspan(expected.size() / layout.stride / 2 * layout.stride, layout.stride);
    std::vector<SearchRange> ranges;
    for (std::uint32_t r = 0; r < each; ++r)
      ranges.push_back({runs[r]->data(), runs[r]->bytes(), true, runs[r]->device()});
    std::uint64_t before = 0;
    for (const std::uint64_t bytes : group->BytesBefore(ranges, cut)) before += bytes;
    Bytes firsts(each * layout.stride);
    std::vector<SlotRead> reads;
    for (std::uint32_t r = 0; r < each; ++r) {
      const std::span out(reinterpret_cast<std::byte*>(firsts.data()) + r * layout.stride, layout.stride);
      reads.push_back({runs[r]->data(), out, runs[r]->device()});
    }
    group->Read(reads);
    for (std::uint32_t r = 0; r < each; ++r) {
      EXPECT_TRUE(std::equal(firsts.begin() + r * layout.stride, firsts.begin() + (r + 1) * layout.stride,
                             ReadAll(*runs[r]).begin()));
    }
    std::uint64_t counted = 0;
    for (std::size_t at = 0; at < expected.size(); at += layout.stride) {
      counted +=
          CompareRecords({AsStdBytes(expected.data()) + at, layout.stride}, cut, layout) <= 0 ? layout.stride : 0;
    }
    EXPECT_EQ(before, counted);
  }
}

TEST(CudaMerge, TakesMoreRunsThanOnePassHolds) {
  SKIP_WITHOUT_GPU();
  for (const std::uint64_t stride : {4, 20}) {
    const RecordLayout layout = MakeFixedLayout(stride, KeySpec{{Field(0, 4, KeyType::kUnsigned)}});
    const std::size_t count = 20000;  // one pass takes 4174 runs
    Device device(Shape(layout, count * stride));
    const std::unique_ptr<Lane> lane = device.backend->OpenLane();
    for (const std::size_t run_records : {1, 2, 3}) {
      const Bytes input = MakeRecords(layout, count, Keys::kRandom, run_records);
      Bytes runs;
      std::vector<RunPiece> pieces;
      for (std::size_t at = 0; at < count; at += run_records) {
        const std::size_t end = std::min(count, at + run_records);
        const Bytes run = StableSorted(Bytes(input.begin() + at * stride, input.begin() + end * stride), layout);
        runs.insert(runs.end(), run.begin(), run.end());
      }
      for (std::size_t at = 0; at < count; at += run_records) {
        const std::uint64_t bytes = (std::min(count, at + run_records) - at) * stride;
        pieces.push_back({AsStdBytes(runs.data()) + at * stride, bytes, static_cast<std::uint32_t>(at)});
      }
      Bytes merged(input.size());
      lane->Merge(pieces, reinterpret_cast<std::byte*>(merged.data()));
      EXPECT_TRUE(merged == StableSorted(input, layout));
    }
  }
}

TEST(CudaMerge, RefusesMoreThanASlotAndTakesNothing) {
  SKIP_WITHOUT_GPU();
  const RecordLayout layout = MakeFixedLayout(8, {});
  Device device(Shape(layout, 80));
  const std::unique_ptr<Lane> lane = device.backend->OpenLane();
  const Bytes input(88);
  Bytes output(88, 0xCC);
  const std::vector<RunPiece> pieces{{AsStdBytes(input.data()), 48, 0}, {AsStdBytes(input.data()), 40, 1}};
  EXPECT_THROW(lane->Merge(pieces, reinterpret_cast<std::byte*>(output.data())), Error);
  lane->Merge({}, reinterpret_cast<std::byte*>(output.data()));
  EXPECT_EQ(output, Bytes(88, 0xCC));
}

TEST(CudaBytesBefore, EqualsALinearCount) {
  SKIP_WITHOUT_GPU();
  std::mt19937_64 random(9);
  for (const NamedLayout& named : AllLayouts()) {
    SCOPED_TRACE(named.name);
    const RecordLayout& layout = named.layout;
    const std::uint64_t stride = layout.stride;
    const std::size_t count = 500;
    Device device(Shape(layout, count * stride, 4));
    const std::unique_ptr<Lane> lane = device.backend->OpenLane();
    for (const Keys keys : {Keys::kRandom, Keys::kTwoValues, Keys::kCommonPrefix}) {
      const Bytes input = MakeRecords(layout, count, keys, random());
      const std::unique_ptr<SortedRecords> sorted = SortBytes(*lane, input, input.size());
      const Bytes bytes = ReadAll(*sorted);
      const Bytes cut(input.begin() + stride * 7, input.begin() + stride * 8);
      std::vector<SearchRange> ranges;
      std::vector<std::uint64_t> expected;
      for (int i = 0; i < 2500; ++i) {
        const std::uint64_t begin = random() % (count + 1), records = random() % (count - begin + 1);
        const bool inclusive = random() % 2 == 0;
        ranges.push_back({sorted->data() + begin * stride, records * stride, inclusive});
        expected.push_back(0);
        for (std::uint64_t r = begin; r < begin + records; ++r) {
          expected.back() += Compare(&bytes[r * stride], cut.data(), layout) < (inclusive ? 1 : 0) ? stride : 0;
        }
      }
      EXPECT_EQ(device.backend->BytesBefore(ranges, {AsStdBytes(cut.data()), stride}), expected);
    }
    EXPECT_TRUE(device.backend->BytesBefore({}, {}).empty());
  }
}

TEST(CudaLanes, WorkAtOnce) {
  SKIP_WITHOUT_GPU();
  const RecordLayout layout = MakeFixedLayout(20, KeySpec{{Field(3, 14, KeyType::kBytes)}});
  Device device(Shape(layout, 20 * 20000, 6, 3));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const std::unique_ptr<Lane> lane = device.backend->OpenLane();
      for (int round = 0; round < 10; ++round) {
        const Bytes first = MakeRecords(layout, 10000, Keys::kRandom, t * 100 + round);
        const Bytes second = MakeRecords(layout, 9000, Keys::kTwoValues, t * 100 + round);
        Bytes both = first;
        both.insert(both.end(), second.begin(), second.end());
        const Bytes run_a = ReadAll(*SortBytes(*lane, first, 60000));
        const Bytes run_b = ReadAll(*SortBytes(*lane, second, 60000));
        Bytes merged(both.size());
        lane->Merge(std::vector<RunPiece>{{AsStdBytes(run_a.data()), run_a.size(), 0},
                                          {AsStdBytes(run_b.data()), run_b.size(), 1}},
                    reinterpret_cast<std::byte*>(merged.data()));
        EXPECT_TRUE(merged == StableSorted(both, layout));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(device.backend->free_slots(), 6u);
}

TEST(CudaSlots, AreHeldByRecordsUntilTheyAreDropped) {
  SKIP_WITHOUT_GPU();
  const RecordLayout layout = MakeFixedLayout(4, {});
  Device device(Shape(layout, 4000, 3));
  const Bytes input = MakeRecords(layout, 1000, Keys::kRandom, 10);
  const std::unique_ptr<Lane> lane = device.backend->OpenLane();
  EXPECT_THROW(device.backend->OpenLane(), Error);  // the arena was made for one lane
  EXPECT_THROW(device.backend->MakeArena(Shape(layout, 4000), device.memory), Error);  // the lane is alive
  std::unique_ptr<SortedRecords> first = SortBytes(*lane, input, 4000);
  EXPECT_EQ(device.backend->free_slots(), 2u);
  std::unique_ptr<SortedRecords> second = SortBytes(*lane, input, 4000);
  EXPECT_EQ(device.backend->free_slots(), 1u);
  // A third sort waits until another thread destroys the result of an earlier sort.
  std::thread dropper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    first.reset();
  });
  const std::unique_ptr<SortedRecords> third = SortBytes(*lane, input, 4000);
  dropper.join();
  EXPECT_EQ(first, nullptr);
  EXPECT_TRUE(ReadAll(*third) == ReadAll(*second));
  EXPECT_EQ(device.backend->free_slots(), 1u);
  // Cancelling ends this wait and every later one.
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    device.backend->Cancel();
  });
  TestSource source(input, 4000);
  try {
    lane->Sort(source);
    ADD_FAILURE() << "sorted without a slot";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  canceller.join();
}

TEST(CudaArena, CountsItsMemoryAndIsMadeAgain) {
  SKIP_WITHOUT_GPU();
  const RecordLayout layout = MakeFixedLayout(100, KeySpec{{Field(0, 10, KeyType::kBytes)}});
  HostMemory memory(kMiB);
  const std::unique_ptr<Backend> backend = OpenCudaBackend(0);
  EXPECT_GT(backend->limits().device_bytes, 64 * kMiB);
  EXPECT_EQ(backend->device_peak(), 0u);
  const std::uint64_t slot = kMiB / 100 * 100;
  const std::uint64_t lane_bytes = backend->LaneBytes(layout, slot);
  EXPECT_GT(lane_bytes, 2 * 16 * (slot / 100));
  backend->MakeArena(Shape(layout, slot, 5, 2), memory);
  EXPECT_GE(backend->device_peak(), 5 * slot + 2 * 2 * 16 * (slot / 100));
  EXPECT_LE(backend->device_peak(), 5 * (slot + 256) + 2 * lane_bytes);
  EXPECT_GT(memory.used(), 0u);
  const std::uint64_t peak = backend->device_peak();
  // An arena that is too large for any GPU is refused, and the backend stays usable.
  try {
    backend->MakeArena(Shape(layout, std::uint64_t{100} << 31, 1000), memory);
    ADD_FAILURE() << "made an arena of 200 TB";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
  }
  EXPECT_EQ(memory.used(), 0u);
  backend->MakeArena(Shape(layout, slot, 2, 1), memory);
  EXPECT_EQ(backend->device_peak(), peak);
  const Bytes input = MakeRecords(layout, 1000, Keys::kRandom, 11);
  EXPECT_TRUE(ReadAll(*SortBytes(*backend->OpenLane(), input, 30000)) == StableSorted(input, layout));
}

/// Makes every call of the backend once.
void UseEverything(const RecordLayout& layout, const Bytes& input, const Bytes& expected) {
  HostMemory memory(64 * kMiB);
  const std::unique_ptr<Backend> backend = OpenCudaBackend(0);
  backend->MakeArena(Shape(layout, input.size(), 3), memory);
  HostBuffer output(memory, input.size());
  backend->Pin(output.data(), output.size());
  struct Unpinner {
    ~Unpinner() { backend.Unpin(data); }
    Backend& backend;
    void* data;
  } const unpinner{*backend, output.data()};
  const std::unique_ptr<Lane> lane = backend->OpenLane();
  TestSource source(input, (input.size() / layout.stride / 4 + 1) * layout.stride);
  struct Returned {
    ~Returned() { EXPECT_EQ(source.lent(), 0); }
    TestSource& source;
  } const returned{source};
  const std::unique_ptr<SortedRecords> sorted = lane->Sort(source);
  EXPECT_TRUE(ReadAll(*sorted) == expected);
  const std::vector<SearchRange> range{{sorted->data(), sorted->bytes(), true}};
  const std::byte* const last = AsStdBytes(expected.data() + expected.size() - layout.stride);
  EXPECT_EQ(backend->BytesBefore(range, {last, layout.stride}).at(0), sorted->bytes());
  const std::uint64_t half = sorted->records() / 2 * layout.stride;
  lane->Merge(std::vector<RunPiece>{{sorted->data(), half, 0, 0}, {sorted->data() + half, half, 1, 0}}, output.data());
  EXPECT_EQ(std::memcmp(output.data(), expected.data(), 2 * half), 0);
}

TEST(CudaFaults, EveryCallMayFailAndNothingElseBreaks) {
  SKIP_WITHOUT_GPU();
  detail::CudaFaults& faults = detail::TheCudaFaults();
  for (const std::uint64_t stride : {8, 40}) {
    const RecordLayout layout = MakeFixedLayout(stride, KeySpec{{Field(0, 8, KeyType::kSigned)}});
    const Bytes input = MakeRecords(layout, 4000, Keys::kRandom, stride);
    const Bytes expected = StableSorted(input, layout);
    faults.FailAt(0, false);
    UseEverything(layout, input, expected);
    const std::int64_t calls = faults.calls();
    ASSERT_GT(calls, 20);
    for (const bool sticky : {false, true}) {
      int failed = 0;
      for (std::int64_t call = 1; call <= calls; ++call) {
        SCOPED_TRACE("call " + std::to_string(call) + (sticky ? ", sticky" : ", out of memory"));
        faults.FailAt(call, sticky);
        try {
          UseEverything(layout, input, expected);
        } catch (const Error& error) {
          ++failed;
          // While the backend opens, refused memory counts as "no GPU".
          const bool refused = error.code() == ErrorCode::kOutOfMemory;
          EXPECT_TRUE(refused != sticky || error.code() == ErrorCode::kGpuLost) << error.what();
          EXPECT_TRUE(refused || error.code() == ErrorCode::kGpuLost) << error.what();
        }
      }
      // Only pinning may fail without an error. The number of waits for copies of blocks depends on chance.
      EXPECT_GE(failed, calls - 7);
    }
    faults.FailAt(0, false);
    UseEverything(layout, input, expected);
  }
}

TEST(CudaFaults, AWrongBitIsInTheCopyThatWasAskedFor) {
  SKIP_WITHOUT_GPU();
  detail::CudaFaults& faults = detail::TheCudaFaults();
  const RecordLayout layout = MakeFixedLayout(8, KeySpec{{Field(0, 8, KeyType::kUnsigned)}});
  const Bytes input = MakeRecords(layout, 3000, Keys::kRandom, 13);
  const Bytes expected = StableSorted(input, layout);
  Device device(Shape(layout, input.size(), 2));
  const std::unique_ptr<Lane> lane = device.backend->OpenLane();
  const std::unique_ptr<SortedRecords> sorted = SortBytes(*lane, input, input.size());
  faults.FailAt(2, detail::CudaFaults::Kind::kFlip);
  EXPECT_TRUE(ReadAll(*sorted) == expected);
  for (int copies = 0; copies < 2; ++copies) {
    // The byte on the device is wrong from then on.
    const Bytes wrong = ReadAll(*sorted);
    int bits = 0;
    for (std::size_t i = 0; i < wrong.size(); ++i) bits += __builtin_popcount(wrong[i] ^ expected[i]);
    EXPECT_EQ(bits, 1);
  }
  faults.FailAt(0, false);
}

TEST(CudaFaults, RefusedMemoryLeavesLaneAndSlotsUsable) {
  SKIP_WITHOUT_GPU();
  detail::CudaFaults& faults = detail::TheCudaFaults();
  const RecordLayout layout = MakeFixedLayout(24, KeySpec{{Field(1, 20, KeyType::kBytes)}});
  const Bytes input = MakeRecords(layout, 3000, Keys::kCommonPrefix, 12);
  const Bytes expected = StableSorted(input, layout);
  Device device(Shape(layout, input.size(), 2));
  const std::unique_ptr<Lane> lane = device.backend->OpenLane();
  int failures = 0;
  for (std::int64_t call = 1; call < 1000; ++call) {
    faults.FailAt(call, false);
    TestSource source(input, 240 * 24);
    try {
      EXPECT_TRUE(ReadAll(*lane->Sort(source)) == expected);
      if (faults.calls() < call) break;
    } catch (const Error& error) {
      ++failures;
      EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory) << error.what();
    }
    EXPECT_EQ(source.lent(), 0);
    EXPECT_EQ(device.backend->free_slots(), 2u);
  }
  faults.FailAt(0, false);
  EXPECT_GT(failures, 10);
  EXPECT_LT(failures, 999);
}

__global__ void SpinKernel(long long cycles) {
  for (const long long start = clock64(); clock64() - start < cycles;) {
  }
}

TEST(CudaDevice, GivesUpOnAGpuThatDoesNotAnswer) {
  SKIP_WITHOUT_GPU();
  const auto device = std::make_shared<detail::CudaDevice>(0, std::chrono::milliseconds(5));
  const auto patient = std::make_shared<detail::CudaDevice>(0);
  const detail::Stream stream(patient);
  stream.Launch("SpinKernel", SpinKernel, 1, 1, 400'000'000LL);
  try {
    device->Wait(stream.get());
    ADD_FAILURE() << "the kernel ended at once";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kGpuLost);
  }
  EXPECT_THROW(device->Wait(stream.get()), Error);  // the error stays
  device->Drain(stream.get());                      // returns at once
  EXPECT_FALSE(device->EnterToFree());
  EXPECT_FALSE(patient->EnterToFree());  // another device object frees nothing either
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady);
  cudaGetLastError();
  patient->Wait(stream.get());
  detail::a_gpu_hangs = false;  // the GPU did not really hang
}

}  // namespace
}  // namespace gpusort::testing

#include "runs/temp_codec.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "plan/memory_shares.hpp"
#include "records.hpp"

namespace gpusort::testing {
namespace {

constexpr std::uint64_t kBlock = 64 << 10;
constexpr std::uint64_t kPayload = kBlock - kSpillHeaderBytes;
constexpr std::uint64_t kMemory = std::uint64_t{64} << 20;

/// Fills `bytes` with random bytes, or with random choices among four.
void Fill(std::span<std::byte> bytes, std::uint64_t seed, bool random_bytes) {
  std::mt19937_64 random(seed);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_bytes ? random() : random() % 4);
}

/// A spill for a codec, and a block to write.
struct StoreAndBlock {
  explicit StoreAndBlock(bool random_bytes = false,
                         std::shared_ptr<SystemCalls> calls = std::make_shared<SystemCalls>())
      : files(std::move(calls)) {
    Fill(bytes, 1, random_bytes);
  }

  TempFolder folder;
  FileSystem files;
  HostMemory memory{kMemory};
  SpillStore store{files, {folder.path()}, kBlock, false};
  HostBuffer block{memory, kBlock};
  std::span<std::byte> bytes{block.data(), kBlock};
};

TEST(TempCodec, GivesBackWhatWasWrittenFromManyThreads) {
  for (const std::optional<Codec> asked :
       {std::optional<Codec>(), std::optional(Codec::kNone), std::optional(Codec::kLz4), std::optional(Codec::kZst),
        std::optional(Codec::kGz), std::optional(Codec::kBz2), std::optional(Codec::kXz),
        std::optional(Codec::kProgram)}) {
    const TempFolder folder;
    FileSystem files;
    HostMemory memory(std::uint64_t{1} << 30);
    SpillStore store(files, {folder.path()}, kBlock, false);
    const CancelFlag cancel;
    ProgramCodec gzip("gzip", false, cancel, [](const std::string& text) { ADD_FAILURE() << text; });
    TempCodec codec(memory, kBlock, 2, asked, 2, &gzip);
    const auto work = [&](std::uint64_t seed) {
      std::mt19937_64 random(seed);
      const HostBuffer block(memory, kBlock), expected(memory, kBlock);
      const std::span<std::byte> bytes{block.data(), kBlock};
      for (std::uint64_t number = 0; number < 20; ++number) {
        const std::uint64_t count = random() % 3 == 0 ? kPayload : random() % (kPayload + 1);
        const bool random_bytes = random() % 3 == 0;
        Fill(bytes.subspan(kSpillHeaderBytes, count), number, random_bytes);
        std::memcpy(expected.data(), block.data(), kBlock);
        const SpillExtent extent = codec.Write(store, seed, number, bytes, count);
        const bool shorter = extent.codec != Codec::kNone;
        EXPECT_EQ(shorter, extent.payload_bytes < count);
        if (asked && count > kBlock / 2) {
          EXPECT_EQ(shorter, *asked != Codec::kNone && !random_bytes);
        }
        Fill(bytes, 99, true);
        codec.Read(store, extent, seed, number, bytes, count);
        ASSERT_EQ(std::memcmp(bytes.data() + kSpillHeaderBytes, expected.data() + kSpillHeaderBytes, count), 0);
        store.Free(extent);
      }
    };
    std::vector<std::thread> threads;
    for (std::uint64_t seed = 0; seed < 4; ++seed) threads.emplace_back(work, seed);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(codec.codec(), asked.value_or(Codec::kNone));
  }
}

/// A disk that is never faster than 32 MB/s.
class SlowCalls : public SystemCalls {
 public:
  ssize_t Write(int fd, const std::byte* data, std::size_t bytes, std::uint64_t offset) override {
    std::this_thread::sleep_for(std::chrono::nanoseconds(bytes * 1000 / 32));
    return SystemCalls::Write(fd, data, bytes, offset);
  }
};

TEST(TempCodec, CompressesOnASlowDiskWhatGetsShorter) {
  for (const bool random_bytes : {false, true}) {
    StoreAndBlock on(random_bytes, std::make_shared<SlowCalls>());
    TempCodec codec(on.memory, kBlock, 1, std::nullopt, 2);
    TempCodec without_places(on.memory, kBlock, 0, std::nullopt, 2);
    for (std::uint64_t number = 0; number < 520; ++number) {
      for (TempCodec* const one : {&codec, number < 2 ? &without_places : nullptr}) {
        if (one == nullptr) continue;
        on.store.Free(one->Write(on.store, 1, number, on.bytes, kPayload));
      }
    }
    EXPECT_EQ(codec.codec() != Codec::kNone, !random_bytes);
    EXPECT_EQ(without_places.codec(), Codec::kNone);
  }
}

TEST(TempCodec, CountsWhatItTakes) {
  StoreAndBlock on;
  const std::uint64_t before = on.memory.used();
  {
    TempCodec codec(on.memory, kBlock, 1, Codec::kZst, 2);
    EXPECT_EQ(on.memory.used(), before);
    codec.Write(on.store, 1, 1, on.bytes, kPayload);
    EXPECT_EQ(on.memory.used(), before + kBlock + TempWorkspaceBytes(Codec::kZst, kBlock));
    EXPECT_EQ(on.memory.used(), before + codec.taken_bytes());
  }
  EXPECT_EQ(on.memory.used(), before);
}

TEST(TempCodec, StoresBlocksAsTheyAreOnceAProgramCannotBeStarted) {
  StoreAndBlock on;
  const CancelFlag cancel;
  int warnings = 0;
  ProgramCodec missing(on.folder / "missing", false, cancel, [&](const std::string&) { ++warnings; });
  TempCodec codec(on.memory, kBlock, 1, Codec::kProgram, 2, &missing);
  EXPECT_EQ(codec.codec(), Codec::kProgram);
  for (std::uint64_t number = 0; number < 3; ++number) {
    const SpillExtent extent = codec.Write(on.store, 1, number, on.bytes, kPayload);
    EXPECT_EQ(extent.codec, Codec::kNone);
    EXPECT_EQ(extent.payload_bytes, kPayload);
    codec.Read(on.store, extent, 1, number, on.bytes, kPayload);
  }
  EXPECT_EQ(codec.codec(), Codec::kNone);
  EXPECT_EQ(warnings, 1);
}

TEST(TempCodec, FindsABlockThatExpandsToAnotherLength) {
  StoreAndBlock on;
  const CancelFlag cancel;
  ProgramCodec gzip("gzip", false, cancel, {});
  for (const Codec asked : {Codec::kNone, Codec::kLz4, Codec::kZst, Codec::kGz, Codec::kProgram}) {
    TempCodec codec(on.memory, kBlock, 1, asked, 2, &gzip);
    const SpillExtent extent = codec.Write(on.store, 1, 1, on.bytes, 30000);
    for (const std::uint64_t count : {29999, 30001}) {
      try {
        codec.Read(on.store, extent, 1, 1, on.bytes, count);
        ADD_FAILURE() << CodecName(asked) << " " << count;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kIntegrity) << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace gpusort::testing

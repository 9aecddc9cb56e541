// labels: brief threads
#include "io/spill.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <atomic>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "faulty_file_system.hpp"
#include "io_support.hpp"
#include "records.hpp"

namespace gpusort {
namespace {

using testing::ExpectError;
using testing::kPage;
using testing::TempFolder;

constexpr std::uint64_t kBlock = 4 * kPage;

/// An aligned block for the store, filled with bytes that depend on `seed`.
class Block {
 public:
  explicit Block(std::uint64_t bytes = kBlock) : room_(bytes + kPage), bytes_(bytes) {
    data_ = room_.data() + (kPage - reinterpret_cast<std::uintptr_t>(room_.data()) % kPage) % kPage;
  }
  std::span<std::byte> span() { return {data_, bytes_}; }
  std::byte* payload() { return data_ + kSpillHeaderBytes; }
  void Fill(std::uint64_t seed, std::uint64_t payload_bytes) {
    std::mt19937_64 random(seed);
    for (std::uint64_t i = 0; i < payload_bytes; ++i) payload()[i] = static_cast<std::byte>(random());
  }

 private:
  std::vector<std::byte> room_;
  std::byte* data_;
  std::uint64_t bytes_;
};

bool HoldsPayload(Block& block, std::uint64_t seed, std::uint64_t payload_bytes) {
  Block expected;
  expected.Fill(seed, payload_bytes);
  return std::memcmp(block.payload(), expected.payload(), payload_bytes) == 0;
}

/// Opens the unlinked file that this process has open in `directory` once more.
detail::Fd OpenSpillFile(const std::string& directory) {
  for (int fd = 0; fd < 1024; ++fd) {
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    std::error_code none;
    const std::string target = std::filesystem::read_symlink(link, none).string();
    if (target.rfind(directory + "/", 0) == 0) return detail::Fd(open(link.c_str(), O_RDWR | O_CLOEXEC));
  }
  ADD_FAILURE() << "no open file in " << directory;
  return {};
}

std::vector<std::byte> ReadRaw(const detail::Fd& fd, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<std::byte> raw(bytes);
  EXPECT_EQ(pread(fd.get(), raw.data(), bytes, static_cast<off_t>(offset)), static_cast<ssize_t>(bytes));
  return raw;
}

void WriteRaw(const detail::Fd& fd, std::uint64_t offset, const std::vector<std::byte>& raw) {
  EXPECT_EQ(pwrite(fd.get(), raw.data(), raw.size(), static_cast<off_t>(offset)), static_cast<ssize_t>(raw.size()));
}

TEST(SpillStore, MakesNoFileBeforeTheFirstWrite) {
  const TempFolder folder;
  FaultyFileSystem files;
  SpillStore store(files, {folder.path(), folder / "none"}, kBlock, false);
  EXPECT_EQ(files.Count(Call::kOpen), 0u);
  Block block;
  store.Write(1, 0, block.span(), 100);
  EXPECT_EQ(files.Count(Call::kOpen), 1u);
  EXPECT_TRUE(folder.Names().empty());
}

TEST(SpillStore, AsksOnceBeforeItIsUsed) {
  const TempFolder folder;
  FileSystem files;
  int asked = 0;
  bool refuse = true;
  SpillStore store(files, {folder.path(), folder.path()}, kBlock, false, [&] {
    ++asked;
    if (refuse) throw Error(ErrorCode::kUsage, "refused");
  });
  EXPECT_EQ(asked, 0);
  Block block;
  EXPECT_THROW(store.Write(1, 0, block.span(), 100), Error);
  refuse = false;
  for (int i = 0; i < 4; ++i) store.Write(1, i, block.span(), 100);
  EXPECT_EQ(asked, 2);
}

TEST(SpillStore, GivesBackWhatWasWrittenInAnyOrderOfWritesReadsAndFrees) {
  const TempFolder a, b, c;
  struct Layout {
    bool holes;
    std::vector<std::string> directories;
    std::size_t files_each;
  };
  for (const bool with_holes : {true, false}) {
    for (const auto& [holes, directories, files_each] : {Layout{with_holes, {a.path()}, 1},
                                                         {with_holes, {a.path()}, 3},
                                                         {with_holes, {a.path(), b.path(), c.path()}, 2}}) {
      FaultyFileSystem files;
      if (!holes) files.FailFrom(Call::kDeallocate, 1, EOPNOTSUPP);
      SpillStore store(files, directories, kBlock, holes, {}, {}, files_each);
      std::mt19937_64 random(7);
      std::uint64_t most_in_use = 0;
      struct Written {
        SpillExtent extent;
        std::uint64_t run;
        std::uint64_t payload_bytes;
      };
      std::map<std::uint64_t, Written> live;  // by number, which is also the seed
      Block block;
      std::uint64_t most = 0;
      std::uint64_t written = 0;
      // The maximum number of bytes that a slot has held.
      std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> taken;
      const auto whole = [](std::uint64_t payload) {
        return (payload + kSpillHeaderBytes + kPage - 1) / kPage * kPage;
      };
      for (std::uint64_t number = 0; number < 400; ++number) {
        const std::uint64_t edge[] = {0, 1, kPage - kSpillHeaderBytes, kPage - kSpillHeaderBytes + 1,
                                      store.payload_capacity()};
        const std::uint64_t payload_bytes =
            random() % 2 == 0 ? edge[random() % 5] : random() % (store.payload_capacity() + 1);
        block.Fill(number, payload_bytes);
        live[number] = {store.Write(number % 5, number, block.span(), payload_bytes), number % 5, payload_bytes};
        written += whole(payload_bytes);
        std::uint64_t& pages = taken[{live[number].extent.file, live[number].extent.offset}];
        pages = std::max(pages, whole(payload_bytes));
        most = std::max<std::uint64_t>(most, live.size());
        most_in_use = std::max(most_in_use, store.bytes_in_use());
        while (!live.empty() && random() % 100 < (number < 200 ? 30 : 55)) {
          const auto it = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
          ASSERT_EQ(store.Read(it->second.extent, it->second.run, it->first, block.span()), it->second.payload_bytes);
          ASSERT_TRUE(HoldsPayload(block, it->first, it->second.payload_bytes));
          if (random() % 4 == 0) continue;
          store.Free(it->second.extent);
          live.erase(it);
        }
        std::uint64_t in_use = 0;
        std::set<std::pair<std::uint32_t, std::uint64_t>> places;
        for (const auto& [key, value] : live) {
          in_use += whole(value.payload_bytes);
          places.insert({value.extent.file, value.extent.offset});
        }
        ASSERT_EQ(places.size(), live.size()) << "two live blocks share a slot";
        ASSERT_EQ(store.bytes_in_use(), in_use);
        ASSERT_EQ(taken.size(), most) << "a file grew although there was a free slot";
        const std::uint64_t longest = std::accumulate(taken.begin(), taken.end(), std::uint64_t{0},
                                                      [](auto sum, const auto& slot) { return sum + slot.second; });
        ASSERT_EQ(store.peak_bytes(), holes ? most_in_use : longest);
        ASSERT_EQ(store.written_bytes(), written);
      }
      for (const auto& [number, value] : live) {
        ASSERT_EQ(store.Read(value.extent, value.run, number, block.span()), value.payload_bytes);
        ASSERT_TRUE(HoldsPayload(block, number, value.payload_bytes));
      }
      if (directories.size() > 1 || files_each > 1) continue;
      struct stat file;
      ASSERT_EQ(fstat(OpenSpillFile(a.path()).get(), &file), 0);
      // The file system's own count. Some file systems add a few blocks.
      EXPECT_LE(static_cast<std::uint64_t>(file.st_blocks) * 512,
                (holes ? store.bytes_in_use() : store.peak_bytes()) + 64 * 1024);
    }
  }
}

TEST(SpillStore, UsesOneFileIfItMayNotOpenMore) {
  const TempFolder folder;
  FaultyFileSystem files;
  files.FailFrom(Call::kOpen, 3, EMFILE);
  SpillStore store(files, {folder.path()}, kBlock, false, {}, {}, 8);
  Block block;
  std::vector<SpillExtent> extents;
  for (int i = 0; i < 10; ++i) {
    block.Fill(i, 3000);
    extents.push_back(store.Write(1, i, block.span(), 3000));
  }
  EXPECT_EQ(files.Count(Call::kOpen), 3u);
  struct stat file;
  ASSERT_EQ(fstat(OpenSpillFile(folder.path()).get(), &file), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(file.st_size), 9 * kBlock + kPage) << "all blocks are in one file";
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(store.Read(extents[static_cast<std::size_t>(i)], 1, i, block.span()), 3000u);
    EXPECT_TRUE(HoldsPayload(block, i, 3000));
  }
}

TEST(SpillStore, UsesItsDirectoriesInTurn) {
  const TempFolder a, b, c;
  FileSystem files;
  SpillStore store(files, {a.path(), b.path(), c.path()}, kBlock, false);
  Block block;
  std::array<int, 3> count{};
  for (std::uint64_t i = 0; i < 30; ++i) ++count.at(store.Write(0, i, block.span(), 10).file);
  EXPECT_EQ(count, (std::array<int, 3>{10, 10, 10}));
}

TEST(SpillStore, WritesTheBytesThatTheFormatPageDescribes) {
  const TempFolder a, b;
  FileSystem files;
  SpillStore store(files, {a.path(), b.path()}, kBlock, false);
  Block block;
  store.Write(1, 1, block.span(), 1);
  store.Write(1, 2, block.span(), 1);
  store.Write(1, 3, block.span(), 1);
  constexpr std::uint64_t kPayload = 5000;
  std::memset(block.span().data(), 0xEE, block.span().size());
  block.Fill(9, kPayload);
  const SpillExtent extent = store.Write(0x1122334455667788, 0x99, block.span(), kPayload);
  EXPECT_EQ(extent, (SpillExtent{1, kPayload, kBlock}));

  const std::vector<std::byte> raw = ReadRaw(OpenSpillFile(b.path()), kBlock, 2 * kPage);
  EXPECT_EQ(std::memcmp(raw.data(), "gpuspill\2\0\0\0\1\0\0\0", 16), 0);
  const auto number = [&](std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t i = 8; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(raw[at + i]);
    return value;
  };
  EXPECT_EQ(number(24), 0x1122334455667788u);
  EXPECT_EQ(number(32), 0x99u);
  EXPECT_EQ(number(40), kPayload);
  EXPECT_EQ(number(48), kBlock);
  XXH3_state_t* state = XXH3_createState();
  XXH3_64bits_reset_withSeed(state, XXH3_64bits(raw.data(), 56));
  XXH3_64bits_update(state, raw.data() + 64, kPayload);
  EXPECT_EQ(number(56), XXH3_64bits_digest(state));
  XXH3_freeState(state);
  EXPECT_EQ(std::memcmp(raw.data() + 64, block.payload(), kPayload), 0);
  for (std::size_t i = 64 + kPayload; i < raw.size(); ++i) ASSERT_EQ(raw[i], std::byte{0}) << i;
}

TEST(SpillStore, FindsEveryFlippedBitOfHeaderAndPayload) {
  const TempFolder folder;
  FaultyFileSystem files;
  SpillStore store(files, {folder.path()}, kBlock, false);
  Block block;
  constexpr std::uint64_t kPayload = 9000;
  block.Fill(1, kPayload);
  const SpillExtent extent = store.Write(3, 4, block.span(), kPayload);
  std::vector<std::uint64_t> bits;
  for (std::uint64_t bit = 0; bit < kSpillHeaderBytes * 8; ++bit) bits.push_back(bit);
  std::mt19937_64 random(8);
  for (int i = 0; i < 500; ++i) bits.push_back(kSpillHeaderBytes * 8 + random() % (kPayload * 8));
  bits.push_back((kSpillHeaderBytes + kPayload) * 8 - 1);
  for (const std::uint64_t bit : bits) {
    files.Clear();
    files.Add({Call::kRead, 1, false, Effect::kFlipBit, bit});
    SCOPED_TRACE(bit);
    ExpectError(ErrorCode::kIntegrity, {folder.path(), " at 0:"}, [&] { store.Read(extent, 3, 4, block.span()); });
  }
  // A changed byte that no reader uses is not an error.
  files.Clear();
  files.Add({Call::kRead, 1, false, Effect::kFlipBit, (kSpillHeaderBytes + kPayload) * 8});
  EXPECT_EQ(store.Read(extent, 3, 4, block.span()), kPayload);

  // The bit is flipped on the way to the disk.
  files.Clear();
  files.Add({Call::kWrite, 1, false, Effect::kFlipBit, 8 * 777});
  const SpillExtent damaged = store.Write(3, 5, block.span(), kPayload);
  ExpectError(ErrorCode::kIntegrity, {"checksum", " at 16384:"}, [&] { store.Read(damaged, 3, 5, block.span()); });
}

TEST(SpillStore, FindsBlocksThatChangedPlaces) {
  const TempFolder a, b;
  FileSystem files;
  SpillStore store(files, {a.path(), b.path()}, kBlock, false);
  Block block;
  std::vector<SpillExtent> extents;
  for (std::uint64_t i = 0; i < 4; ++i) {
    block.Fill(0, 100);
    extents.push_back(store.Write(1, i, block.span(), 100));
  }
  // A block is read by the wrong extent or as the wrong block.
  ExpectError(ErrorCode::kIntegrity, {"the block number is 2, expected 0"},
              [&] { store.Read(extents[2], 1, 0, block.span()); });
  ExpectError(ErrorCode::kIntegrity, {"the run is 1, expected 2"}, [&] { store.Read(extents[0], 2, 0, block.span()); });
  SpillExtent longer = extents[0];
  longer.payload_bytes = 101;
  ExpectError(ErrorCode::kIntegrity, {"the length is 100, expected 101"},
              [&] { store.Read(longer, 1, 0, block.span()); });

  SpillExtent expanded = extents[0];
  expanded.codec = Codec::kZst;
  ExpectError(ErrorCode::kIntegrity, {"the codec is 0, expected 4"}, [&] { store.Read(expanded, 1, 0, block.span()); });

  // Blocks are swapped on the disk: two blocks of one file, then two blocks of two files.
  const detail::Fd fd_a = OpenSpillFile(a.path());
  const detail::Fd fd_b = OpenSpillFile(b.path());
  const auto first = ReadRaw(fd_a, 0, kPage);
  const auto second = ReadRaw(fd_a, kBlock, kPage);
  WriteRaw(fd_a, 0, second);
  WriteRaw(fd_a, kBlock, first);
  ExpectError(ErrorCode::kIntegrity, {"the offset is 16384, expected 0"},
              [&] { store.Read(extents[0], 1, 0, block.span()); });
  ExpectError(ErrorCode::kIntegrity, {"the offset is 0, expected 16384"},
              [&] { store.Read(extents[2], 1, 2, block.span()); });
  WriteRaw(fd_b, 0, first);
  ExpectError(ErrorCode::kIntegrity, {"the file number is 0, expected 1"},
              [&] { store.Read(extents[1], 1, 1, block.span()); });
}

TEST(SpillStore, FindsBlocksOfAnotherJobAndOtherFiles) {
  const TempFolder a, b;
  FileSystem files;
  SpillStore store(files, {a.path()}, kBlock, false);
  SpillStore other(files, {b.path()}, kBlock, false);
  Block block;
  const SpillExtent extent = store.Write(1, 1, block.span(), 3000);
  ASSERT_EQ(other.Write(1, 1, block.span(), 3000), extent);
  const detail::Fd mine = OpenSpillFile(a.path());
  WriteRaw(mine, 0, ReadRaw(OpenSpillFile(b.path()), 0, kPage));
  ExpectError(ErrorCode::kIntegrity, {"the job"}, [&] { store.Read(extent, 1, 1, block.span()); });
  WriteRaw(mine, 0, std::vector<std::byte>(kPage));
  ExpectError(ErrorCode::kIntegrity, {"no spilled block"}, [&] { store.Read(extent, 1, 1, block.span()); });
}

TEST(SpillStore, FindsLostWritesAndTruncatedFiles) {
  const TempFolder folder;
  FaultyFileSystem files;
  files.FailFrom(Call::kDeallocate, 1, EOPNOTSUPP);  // so that a freed block can still be read
  SpillStore store(files, {folder.path()}, kBlock, false);
  Block block;
  files.Add({Call::kWrite, 1, false, Effect::kLost});
  const SpillExtent lost = store.Write(1, 1, block.span(), 3000);
  ExpectError(ErrorCode::kIntegrity, {"the file ends after 0 of 4096"}, [&] { store.Read(lost, 1, 1, block.span()); });
  store.Free(lost);
  const SpillExtent good = store.Write(1, 2, block.span(), 3000);
  EXPECT_EQ(good, lost);
  store.Free(good);
  files.Clear();
  files.Add({Call::kWrite, 1, false, Effect::kLost});
  const SpillExtent stale = store.Write(1, 3, block.span(), 3000);
  ASSERT_EQ(stale, good);
  ExpectError(ErrorCode::kIntegrity, {"the block number is 2, expected 3"},
              [&] { store.Read(stale, 1, 3, block.span()); });

  const SpillExtent whole = store.Write(1, 4, block.span(), 9000);
  const detail::Fd fd = OpenSpillFile(folder.path());
  for (const std::uint64_t cut : {std::uint64_t{1}, kPage, kPage + 1, 3 * kPage}) {
    ASSERT_EQ(ftruncate(fd.get(), static_cast<off_t>(whole.offset + 3 * kPage - cut)), 0);
    ExpectError(ErrorCode::kIntegrity, {"the file ends after"}, [&] { store.Read(whole, 1, 4, block.span()); });
  }
}

TEST(SpillStore, ReadsAgainOnceAfterADeviceError) {
  const TempFolder folder;
  FaultyFileSystem files;
  SpillStore store(files, {folder.path()}, kBlock, false);
  Block block;
  block.Fill(1, 3000);
  const SpillExtent extent = store.Write(1, 1, block.span(), 3000);
  files.Fail(Call::kRead, 1, EIO);
  EXPECT_EQ(store.Read(extent, 1, 1, block.span()), 3000u);
  EXPECT_TRUE(HoldsPayload(block, 1, 3000));
  files.Clear();
  files.FailFrom(Call::kRead, 1, EIO);
  ExpectError(ErrorCode::kIo, {"EIO", folder.path()}, [&] { store.Read(extent, 1, 1, block.span()); });
  EXPECT_EQ(files.Count(Call::kRead), 2u);
}

TEST(SpillStore, GoesOnInTheNextDirectoryWhenOneIsFull) {
  const TempFolder a, b;
  FaultyFileSystem files;
  SpillStore store(files, {a.path(), b.path()}, kBlock, false);
  Block block;
  std::vector<SpillExtent> extents;
  files.Fail(Call::kWrite, 3, ENOSPC);
  for (std::uint64_t i = 0; i < 6; ++i) {
    block.Fill(i, 3000);
    extents.push_back(store.Write(1, i, block.span(), 3000));
  }
  EXPECT_EQ(extents[0].file, 0u);
  for (std::uint64_t i = 1; i < 6; ++i) EXPECT_EQ(extents[i].file, 1u) << i;
  for (std::uint64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(store.Read(extents[i], 1, i, block.span()), 3000u);
    EXPECT_TRUE(HoldsPayload(block, i, 3000));
  }
  // A freed slot of the full directory can be used again.
  store.Free(extents[0]);
  EXPECT_EQ(store.Write(2, 0, block.span(), 3000), extents[0]);
}

TEST(SpillStore, SaysWhatIsMissingWhenAllDirectoriesAreFull) {
  const TempFolder a, b;
  FaultyFileSystem files;
  files.SetFreeSpace(4711);
  SpillStore store(files, {a.path(), b.path()}, kBlock, false);
  Block block;
  const SpillExtent extent = store.Write(1, 0, block.span(), 10000);
  files.FailFrom(Call::kWrite, 2, ENOSPC);
  for (int i = 0; i < 3; ++i) {
    ExpectError(ErrorCode::kNoSpace, {a.path(), b.path(), "12288 bytes", "4711"},
                [&] { store.Write(1, 1, block.span(), 10000); });
  }
  EXPECT_EQ(files.Count(Call::kWrite), 3u) << "a full directory was asked again";
  files.Clear();
  store.Free(extent);
  EXPECT_EQ(store.Write(1, 1, block.span(), 10000), extent);
  EXPECT_EQ(store.bytes_in_use(), 12288u);
}

TEST(SpillStore, SaysWhatKindOfLimitIsReached) {
  const TempFolder folder;
  FaultyFileSystem files;
  SpillStore store(files, {folder.path()}, kBlock, false);
  files.FailFrom(Call::kWrite, 1, EDQUOT);
  Block block;
  for (int i = 0; i < 2; ++i) {
    ExpectError(ErrorCode::kNoSpace, {folder.path(), "EDQUOT", "a disk quota is used up", "--temp-dir"},
                [&] { store.Write(1, 1, block.span(), 10000); });
  }
}

TEST(SpillStore, SaysWhyItWasNotSyncedWhicheverThreadAsks) {
  const TempFolder folder;
  FaultyFileSystem files;
  SpillStore store(files, {folder.path()}, kBlock, false, {}, NamedSpill{"runs", 1});
  Block block;
  store.Write(1, 1, block.span(), 10000);
  files.Fail(Call::kSync, 1, EIO);
  for (int i = 0; i < 2; ++i) {
    ExpectError(ErrorCode::kIo, {folder.path(), "sync", "EIO"}, [&] { store.Sync(); });
  }
}

TEST(SpillStore, PassesOtherWriteErrorsOn) {
  const TempFolder a, b;
  FaultyFileSystem files;
  SpillStore store(files, {a.path(), b.path()}, kBlock, false);
  files.Fail(Call::kWrite, 1, EIO);
  Block block;
  ExpectError(ErrorCode::kIo, {a.path(), "EIO"}, [&] { store.Write(1, 1, block.span(), 10); });
  FileSystem real;
  SpillStore nowhere(real, {a / "none"}, kBlock, false);
  ExpectError(ErrorCode::kUsage, {a / "none"}, [&] { nowhere.Write(1, 1, block.span(), 10); });
}

TEST(SpillStore, SkipsADirectoryWithoutRoomForAFile) {
  const TempFolder a, b;
  FaultyFileSystem files;
  SpillStore store(files, {a.path(), b.path()}, kBlock, false);
  files.Fail(Call::kOpen, 1, ENOSPC);
  Block block;
  EXPECT_EQ(store.Write(1, 1, block.span(), 10).file, 1u);
}

TEST(SpillStore, RefusesBuffersThatDoNotSuit) {
  const TempFolder folder;
  FileSystem files;
  SpillStore store(files, {folder.path()}, kBlock, false);
  Block block(2 * kBlock);
  ExpectError(ErrorCode::kInternal, {}, [&] { store.Write(1, 1, block.span().first(kPage), kPage); });
  ExpectError(ErrorCode::kInternal, {}, [&] { store.Write(1, 1, block.span(), store.payload_capacity() + 1); });
  ExpectError(ErrorCode::kInternal, {}, [&] { store.Write(1, 1, block.span().subspan(8), 100); });
  const SpillExtent extent = store.Write(1, 1, block.span(), store.payload_capacity());
  ExpectError(ErrorCode::kInternal, {}, [&] { store.Read(extent, 1, 1, block.span().first(kPage)); });
  ExpectError(ErrorCode::kInternal, {}, [&] { store.Read({7, 100, 0}, 1, 1, block.span()); });
  ExpectError(ErrorCode::kInternal, {}, [&] { SpillStore(files, {}, kBlock, false); });
  ExpectError(ErrorCode::kInternal, {}, [&] { SpillStore(files, {folder.path()}, kBlock + 1, false); });
}

TEST(SpillStore, ServesManyThreadsAtOnce) {
  const TempFolder a, b;
  for (const bool direct : {false, true}) {
    FileSystem files;
    SpillStore store(files, {a.path(), b.path()}, kBlock, direct);
    constexpr std::uint64_t kThreads = 8;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::uint64_t run = 0; run < kThreads; ++run) {
      threads.emplace_back([&, run] {
        Block block;
        std::vector<SpillExtent> extents;
        for (std::uint64_t i = 0; i < 60; ++i) {
          block.Fill(run * 1000 + i, 100 * i);
          extents.push_back(store.Write(run, i, block.span(), 100 * i));
          if (i % 2 == 0) continue;
          const std::uint64_t earlier = i / 2;
          if (store.Read(extents[earlier], run, earlier, block.span()) != 100 * earlier) ++wrong;
          if (!HoldsPayload(block, run * 1000 + earlier, 100 * earlier)) ++wrong;
          store.Free(extents[earlier]);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_LE(store.peak_bytes(), kThreads * 31 * kBlock);
  }
}

TEST(SpillStore, MakesFilesThatOthersCannotOpen) {
  const TempFolder folder;
  const mode_t before = umask(0);
  FileSystem files;
  SpillStore store(files, {folder.path()}, kBlock, false);
  Block block;
  store.Write(1, 1, block.span(), 10);
  umask(before);
  struct stat st;
  ASSERT_EQ(fstat(OpenSpillFile(folder.path()).get(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600u);
  EXPECT_EQ(st.st_nlink, 0u);
}

TEST(CheckTempDirectory, AcceptsOnlyWritableDirectories) {
  const TempFolder folder;
  EXPECT_NO_THROW(CheckTempDirectory(folder.path()));
  testing::WriteFile(folder / "file", {1});
  ExpectError(ErrorCode::kUsage, {folder / "none", "ENOENT"}, [&] { CheckTempDirectory(folder / "none"); });
  ExpectError(ErrorCode::kUsage, {folder / "file", "not a directory"}, [&] { CheckTempDirectory(folder / "file"); });
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(100);
    try {
      CheckTempDirectory(folder.path());
      _exit(0);
    } catch (const Error& error) {
      _exit(static_cast<int>(error.code()));
    }
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(ErrorCode::kUsage));
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
}

TEST(RequireSpace, AddsUpFileSystemsOnceEach) {
  const TempFolder a, b;
  FaultyFileSystem files;
  files.SetFreeSpace(1000);
  EXPECT_NO_THROW(RequireSpace(files, {a.path()}, 1000, "runs"));
  ExpectError(ErrorCode::kNoSpace, {"runs", a.path(), "1001", "1000"},
              [&] { RequireSpace(files, {a.path()}, 1001, "runs"); });
  ExpectError(ErrorCode::kNoSpace, {a.path(), b.path()}, [&] {
    RequireSpace(files, {a.path(), b.path()}, 1001, "runs");
  });
  if (files.Identify("/dev/shm") && files.Identify("/dev/shm")->dev != files.Identify(a.path())->dev) {
    EXPECT_NO_THROW(RequireSpace(files, {a.path(), "/dev/shm"}, 2000, "runs"));
  }
  files.SetFreeSpace(UINT64_MAX);
  EXPECT_NO_THROW(RequireSpace(files, {a.path(), "/proc"}, UINT64_MAX, "runs"));
  // The free space of a file system without a size (ramfs) is unknown. It must not lead to a refusal.
  files.SetFreeSpace(std::nullopt);
  EXPECT_NO_THROW(RequireSpace(files, {"/proc"}, 1000, "runs"));
  files.SetFreeSpace(0);
  ExpectError(ErrorCode::kNoSpace, {"--temp-dir", "--no-space-check"},
              [&] { RequireSpace(files, {a.path()}, 1000, "runs"); });
}

}  // namespace
}  // namespace gpusort

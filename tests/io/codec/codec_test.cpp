// labels: brief threads
// labels of Codec.RefusesATwo*:Codec.Keeps*:Codec.TakesNoMore*: long no_tsan
// labels of Codec.GivesNoWrong*: no_tsan
// labels of BlockCodec.*:NumberCodec.*:ChooseTempCodec.*:Codec.StopsBombs*:*CodecTool.*: one_thread
#include "io/codec/codec.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <malloc.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <thread>

#include "io/codec/slot_ring.hpp"
#include "io/stream.hpp"
#include "io_support.hpp"
#include "records.hpp"
#include "sanitized.hpp"

namespace gpusort {
namespace {

using testing::AsSpan;
using testing::Bytes;
using testing::RandomBytes;
using testing::ReadFile;
using testing::TempFolder;
using testing::WriteFile;

/// The codecs of blocks of temporary files. Each has a program that reads and writes files.
constexpr Codec kBlockCodecs[] = {Codec::kGz, Codec::kBz2, Codec::kXz, Codec::kZst, Codec::kLz4};
constexpr Codec kCodecs[] = {Codec::kGz, Codec::kBz2, Codec::kXz, Codec::kZst, Codec::kLz4, Codec::kBgzf};

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Bytes Text(const std::string& text) { return Bytes(text.begin(), text.end()); }

/// Returns lines like those of a web log, which compress to a third or a fifth.
Bytes Log(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes;
  bytes.reserve(count + 200);
  while (bytes.size() < count) {
    const std::string line = "10." + std::to_string(random() % 256) + "." + std::to_string(random() % 256) +
                             ".7 - - [21/Nov/2026:10:" + std::to_string(10 + random() % 50) + ":" +
                             std::to_string(10 + random() % 50) + " +0000] \"GET /item/" +
                             std::to_string(random() % 100000) + " HTTP/1.1\" 200 " + std::to_string(random() % 90000) +
                             " \"-\" \"Mozilla/5.0\"\n";
    bytes.insert(bytes.end(), line.begin(), line.end());
  }
  bytes.resize(count);
  return bytes;
}

Encoder::Sink AppendTo(Bytes& out) {
  return [&out](std::span<const std::byte> data) {
    const auto* first = reinterpret_cast<const unsigned char*>(data.data());
    out.insert(out.end(), first, first + data.size());
  };
}

Bytes Compressed(Codec codec, const Bytes& data, const EncoderOptions& options = {}) {
  Bytes out;
  Encoder encoder(codec, options, AppendTo(out));
  encoder.Write(AsSpan(data));
  encoder.Finish();
  return out;
}

/// Returns a source that delivers at most `most` bytes at a time.
Decoder::Source SourceOf(const Bytes& bytes, std::size_t most = 1 << 20) {
  return [&bytes, most, at = std::size_t{0}](std::span<std::byte> out) mutable -> std::uint64_t {
    const std::size_t count = std::min({bytes.size() - at, out.size(), most});
    if (count > 0) std::memcpy(out.data(), bytes.data() + at, count);
    at += count;
    return count;
  };
}

Bytes ReadToEnd(Decoder& decoder, std::size_t most = 1 << 16) {
  Bytes all;
  Bytes part(most);
  while (const std::uint64_t got = decoder.Read(std::as_writable_bytes(std::span(part)))) {
    all.insert(all.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(got));
  }
  // After the end, further reads return 0 bytes.
  EXPECT_EQ(decoder.Read(std::as_writable_bytes(std::span(part))), 0U);
  return all;
}

Bytes Expanded(Codec codec, const Bytes& bytes) {
  Decoder decoder(codec, "file", SourceOf(bytes));
  return ReadToEnd(decoder);
}

/// Returns the message of the error with `code` that `call` throws.
template <class Call>
std::string MessageOf(ErrorCode code, Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

std::string Refused(Codec codec, const Bytes& bytes) {
  return MessageOf(ErrorCode::kBadInput, [&] { Expanded(codec, bytes); });
}

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Codec, IsFoundByExtensionAndByName) {
  EXPECT_EQ(CodecOfPath("/a.b/access.log.gz"), Codec::kGz);
  EXPECT_EQ(CodecOfPath("a.bz2"), Codec::kBz2);
  EXPECT_EQ(CodecOfPath("a.xz"), Codec::kXz);
  EXPECT_EQ(CodecOfPath("a.zst"), Codec::kZst);
  EXPECT_EQ(CodecOfPath("a.lz4"), Codec::kLz4);
  EXPECT_EQ(CodecOfPath("a.bgz"), Codec::kBgzf);
  for (const char* path : {"a.log", "gz", "a.gz/b", "a.gz.bak", "", "-"}) EXPECT_EQ(CodecOfPath(path), Codec::kNone);
  EXPECT_EQ(WithoutCodecExtension("x/access.log.zst"), "x/access.log");
  EXPECT_EQ(WithoutCodecExtension("access.log"), "access.log");
  EXPECT_EQ(CodecOfName("gzip"), Codec::kGz);
  EXPECT_EQ(CodecOfName("bzip2"), Codec::kBz2);
  EXPECT_EQ(CodecOfName("zstd"), Codec::kZst);
  EXPECT_EQ(CodecOfName("bgzip"), Codec::kBgzf);
  for (const Codec codec : kAllCodecs) EXPECT_EQ(CodecOfPath("a" + std::string(CodecExtension(codec))), codec);
  EXPECT_TRUE(FitsName(Codec::kBgzf, Codec::kGz));
  EXPECT_FALSE(FitsName(Codec::kGz, Codec::kBgzf));
  for (const Codec codec : kAllCodecs) EXPECT_EQ(CodecOfName(CodecName(codec)), codec);
  for (const char* name : {"", "GZ", ".gz", "compress", "gz "}) EXPECT_EQ(CodecOfName(name), std::nullopt);
}

RC_GTEST_PROP(Codec, ComesBackFromAnySizesOfReadsAndWrites, ()) {
  const Codec codec = *rc::gen::elementOf(std::vector<Codec>(std::begin(kAllCodecs), std::end(kAllCodecs)));
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto size = *rc::gen::element<std::size_t>(0, 1, 100, 4095, 4096, 4097, 70'000, 300'000);
  const Bytes data = *rc::gen::element(0, 1, 2) == 0 ? RandomBytes(size, seed) : Log(size, seed);
  EncoderOptions options;
  options.threads = *rc::gen::inRange(0U, 5U);
  options.member_bytes = *rc::gen::element<std::uint64_t>(0, std::max<std::size_t>(1, size / 3), size + 1, 40'000);
  std::mt19937_64 random(seed);

  Bytes compressed;
  Encoder encoder(codec, options, AppendTo(compressed));
  for (std::size_t at = 0; at < size;) {
    const std::size_t count = std::min<std::size_t>(size - at, random() % (random() % 2 == 0 ? 50 : 100'000));
    encoder.Write(AsSpan(data).subspan(at, count));
    at += count;
  }
  encoder.Finish();

  const auto source = [&, source = SourceOf(compressed)](std::span<std::byte> out) {
    return source(out.first(std::min<std::size_t>(out.size(), 1 + random() % (random() % 2 == 0 ? 20 : 50'000))));
  };
  Decoder decoder(codec, "file", source, {.threads = *rc::gen::inRange(0U, 5U)});
  const std::size_t read_most = 1 + random() % (random() % 2 == 0 ? 20 : 500'000);
  RC_ASSERT(ReadToEnd(decoder, read_most) == data);
  RC_ASSERT(decoder.offset() == compressed.size());
  RC_ASSERT(decoder.expanded_bytes() == data.size());
}

TEST(Codec, WritesTheSameBytesForAnyNumberOfThreads) {
  const Bytes data = Log(1'000'000, 1);
  for (const Codec codec : kCodecs) {
    EncoderOptions options;
    options.member_bytes = 90'000;
    const Bytes one = Compressed(codec, data, options);
    EXPECT_LT(one.size(), data.size() / 2);
    for (const unsigned threads : {2U, 3U, 9U}) {
      options.threads = threads;
      EXPECT_EQ(Compressed(codec, data, options), one) << CodecName(codec) << " on " << threads;
    }
    EXPECT_EQ(Expanded(codec, one), data);
  }
}

TEST(Codec, CutsTheInputIntoMembersOfTheSizeAskedFor) {
  const Bytes first = Log(1000, 1);
  const Bytes second = Log(1000, 2);
  for (const Codec codec : kCodecs) {
    if (codec == Codec::kBgzf) continue;  // an empty block ends each file
    EncoderOptions options;
    options.member_bytes = 1000;
    EXPECT_EQ(Compressed(codec, first + second, options), Compressed(codec, first) + Compressed(codec, second));
  }
}

TEST(Codec, MakesOneMemberOfNothing) {
  for (const Codec codec : kCodecs) {
    const Bytes member = Compressed(codec, {});
    EXPECT_FALSE(member.empty());
    EXPECT_EQ(Expanded(codec, member), Bytes());
    EXPECT_EQ(Expanded(codec, member + Compressed(codec, Text("x")) + member), Text("x"));
  }
}

TEST(Codec, RefusesAnEmptyFileAndForeignData) {
  for (const Codec codec : kCodecs) {
    EXPECT_TRUE(Contains(Refused(codec, {}), "file: empty")) << CodecName(codec);
    EXPECT_TRUE(Contains(Refused(codec, Text("10.0.0.1 - - GET /\n")), "file: no ")) << CodecName(codec);
    for (const Codec other : kCodecs) {
      if (FitsName(other, codec)) continue;
      EXPECT_TRUE(Contains(Refused(codec, Compressed(other, Log(500, 1))), " data at offset 0"));
    }
  }
  EXPECT_EQ(Expanded(Codec::kNone, {}), Bytes());
}

constexpr std::size_t kEndBlockBytes = 28;

/// Returns a BGZF file without the empty block that ends it.
Bytes Blocks(const Bytes& data) {
  Bytes bytes = Compressed(Codec::kBgzf, data);
  bytes.resize(bytes.size() - kEndBlockBytes);
  return bytes;
}

/// Returns all bytes of a gz file, or the message of the error.
std::string GzResult(const Bytes& bytes, unsigned threads) {
  Decoder decoder(Codec::kGz, "file", SourceOf(bytes), {.threads = threads});
  try {
    const Bytes all = ReadToEnd(decoder);
    return {all.begin(), all.end()};
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Codec, WritesBlocksOfBgzfThatNameTheirSizes) {
  for (const Bytes& data : {Log(500'000, 1), RandomBytes(500'000, 2), Bytes(65'280), RandomBytes(65'281, 3)}) {
    const Bytes file = Compressed(Codec::kBgzf, data);
    std::size_t at = 0, blocks = 0;
    for (std::size_t size = 0; at < file.size(); at += size, ++blocks) {
      ASSERT_LE(at + kEndBlockBytes, file.size());
      size = file[at + 16] + 256U * file[at + 17] + 1;
      const Bytes block(file.begin() + static_cast<std::ptrdiff_t>(at),
                        file.begin() + static_cast<std::ptrdiff_t>(std::min(at + size, file.size())));
      const std::string content = GzResult(block + Compressed(Codec::kBgzf, {}), 1);
      ASSERT_LE(content.size(), 65'280U);
      ASSERT_EQ(content.size(), std::min<std::size_t>(65'280, data.size() - std::min(data.size(), 65'280 * blocks)));
    }
    EXPECT_EQ(at, file.size());
    EXPECT_EQ(blocks, (data.size() + 65'279) / 65'280 + 1);
  }
}

TEST(Codec, RefusesBgzfWithoutItsEndBlock) {
  const Bytes data = Log(200'000, 1);
  const Bytes blocks = Blocks(data), plain = Compressed(Codec::kGz, Text("x"));
  for (const unsigned threads : {1U, 3U}) {
    const std::string whole(data.begin(), data.end());
    EXPECT_TRUE(
        Contains(GzResult(blocks, threads), "cut short at offset " + std::to_string(blocks.size()) + ": the empty"));
    EXPECT_EQ(GzResult(blocks + plain, threads), whole + "x");
    EXPECT_EQ(GzResult(plain + blocks, threads), "x" + whole);
    EXPECT_EQ(GzResult(blocks + plain + blocks, threads), whole + "x" + whole);
    EXPECT_TRUE(Contains(GzResult(Compressed(Codec::kBgzf, data) + blocks, threads), "cut short"));
  }
}

/// Returns how many threads this process has.
std::size_t CountThreads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(Codec, StartsNoThreadForABgzfFileOfFewBlocks) {
  const std::size_t before = CountThreads();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1000}, std::size_t{150'000}, std::size_t{4'000'000}}) {
    const Bytes data = Log(size, 1), file = Compressed(Codec::kBgzf, data);
    Decoder decoder(Codec::kGz, "file", SourceOf(file), {.threads = 64});
    Bytes front(1);
    const std::uint64_t got = decoder.Read(std::as_writable_bytes(std::span(front)));
    const std::size_t started = CountThreads() - before;
    // A large file gets at most one thread for each four blocks.
    EXPECT_LE(started, size / 65'280 / 4) << size;
    if (size > 1'000'000) EXPECT_GE(started, 1U);
    front.resize(got);
    EXPECT_EQ(front + ReadToEnd(decoder), data);
  }
}

TEST(Codec, SaysTheSameOfDamagedBgzfOnAnyNumberOfThreads) {
  const Bytes first = Blocks(Log(70'000, 1)), second = Compressed(Codec::kBgzf, RandomBytes(300'000, 2));
  const Bytes file = first + second;
  std::mt19937_64 random(1);
  const int damages = testing::Stride() == 1 ? 60 : 20;
  for (int i = 0; i < damages; ++i) {
    Bytes damaged = file;
    // Every other damage is in the head of the second file.
    const std::size_t at = i % 2 == 0 ? random() % file.size() : first.size() + random() % 18;
    damaged[at] = static_cast<unsigned char>(damaged[at] ^ (1U << random() % 8));
    if (i % 5 == 0) damaged.resize(damaged.size() - random() % damaged.size());
    const std::string one = GzResult(damaged, 1);
    for (const unsigned threads : {2U, 5U}) ASSERT_EQ(GzResult(damaged, threads), one) << i;
  }
}

TEST(Codec, RefusesBlocksOfBgzfWhoseSizeIsWrong) {
  const Bytes end = Compressed(Codec::kBgzf, {});
  const Bytes block = Blocks(Log(1000, 1));
  for (const int by : {-1, 1, 200}) {
    Bytes wrong = block;
    wrong[16] = static_cast<unsigned char>(wrong[16] + by);
    if (by > 0 && wrong[16] < block[16]) wrong[17] = static_cast<unsigned char>(wrong[17] + 1);
    const std::string said = GzResult(wrong + end + Compressed(Codec::kBgzf, RandomBytes(1000, 2)), 1);
    EXPECT_TRUE(
        Contains(said, by < 0 ? "a block is longer than its head says" : "a block is shorter than its head says"))
        << said;
  }
  // A member that has the head of a block and expands to more than a block may hold.
  Bytes large = Compressed(Codec::kGz, Bytes(70'000));
  Bytes head(end.begin(), end.begin() + 18);
  const std::size_t size = large.size() + 8;
  head[16] = static_cast<unsigned char>(size - 1);
  head[17] = static_cast<unsigned char>((size - 1) >> 8);
  large.erase(large.begin(), large.begin() + 10);
  EXPECT_TRUE(Contains(GzResult(head + large + end, 2), "a block expands to more than 64 KiB"));
}

void RefusesEveryCut(Codec codec, const Bytes& first, const Bytes& second, const Bytes& first_data,
                     const Bytes& second_data) {
  const Bytes both = first + second;
  ASSERT_EQ(Expanded(codec, both), first_data + second_data);
  ASSERT_EQ(Expanded(codec, first), first_data);
  for (std::size_t cut = 0; cut < both.size(); ++cut) {
    if (cut == first.size()) continue;
    for (const std::size_t most : {std::size_t{1}, std::size_t{1} << 20}) {
      const Bytes part(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(cut));
      Decoder decoder(codec, "file", SourceOf(part, most));
      const std::string message = MessageOf(ErrorCode::kBadInput, [&] { ReadToEnd(decoder); });
      ASSERT_TRUE(Contains(message, cut == 0 ? "file: empty" : "file: cut short at offset " + std::to_string(cut)))
          << CodecName(codec) << " at " << cut << ": " << message;
    }
  }
}

TEST(Codec, RefusesATwoMemberFileCutAtAnyByte) {
  const Bytes first = Log(700, 1);
  const Bytes second = RandomBytes(100, 2) + Log(300, 2);
  for (const Codec codec : kCodecs) {
    RefusesEveryCut(codec, Compressed(codec, first), Compressed(codec, second), first, second);
    // Compressed data without content consist of headers and ends only.
    RefusesEveryCut(codec, Compressed(codec, {}), Compressed(codec, {}), {}, {});
  }
}

TEST(Codec, GivesNoWrongBytesForAFlippedBit) {
  const Bytes data = Log(400, 1);
  for (const Codec codec : kCodecs) {
    const Bytes whole = Compressed(codec, data) + Compressed(codec, Text("second\n"));
    const Bytes right = data + Text("second\n");
    std::size_t tried = 0, refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        if (testing::Stride() > 1 && (at * 8 + bit) % 3 != 0) continue;
        ++tried;
        Bytes flipped = whole;
        flipped[at] = static_cast<unsigned char>(flipped[at] ^ (1U << bit));
        try {
          ASSERT_EQ(Expanded(codec, flipped), right) << CodecName(codec) << ": bit " << bit << " of byte " << at;
        } catch (const Error& error) {
          ASSERT_EQ(error.code(), ErrorCode::kBadInput) << error.what();
          ++refused;
        }
      }
    }
    // Some bits have no meaning for the content, such as the time in gz.
    EXPECT_GT(refused, tried * 3 / 4) << CodecName(codec);
  }
}

TEST(Codec, RefusesWhatFollowsTheLastMember) {
  for (const Codec codec : kCodecs) {
    const Bytes member = Compressed(codec, Text("data\n"));
    const std::string offset = std::to_string(member.size());
    for (const Bytes& garbage : {Text("x"), Text("garbage that is longer than any header"), RandomBytes(3000, 7)}) {
      const std::string message = Refused(codec, member + garbage);
      EXPECT_TRUE(
          Contains(message, "data at offset " + offset + ", after member " + (codec == Codec::kBgzf ? "2" : "1")))
          << message;
    }
    const Bytes magic(member.begin(), member.begin() + 1);
    EXPECT_TRUE(Contains(Refused(codec, member + magic), "cut short"));
  }
}

TEST(Codec, TakesZerosOnlyWhereTheFormatHasThem) {
  for (const Codec codec : kCodecs) {
    const Bytes member = Compressed(codec, Text("data\n"));
    const Bytes data = Text("data\n");
    for (const std::size_t count : {1U, 4U, 511U, 512U, 300'000U}) {
      const Bytes padded = member + Bytes(count);
      const bool fine = codec == Codec::kGz || codec == Codec::kBgzf || (codec == Codec::kXz && count % 4 == 0);
      if (fine) {
        EXPECT_EQ(Expanded(codec, padded), data) << CodecName(codec) << " " << count;
      } else {
        Refused(codec, padded);
      }
      // Only xz allows padding between members, and no format allows it before the first member.
      if (fine && codec == Codec::kXz) {
        EXPECT_EQ(Expanded(codec, padded + member), data + data);
      } else {
        Refused(codec, padded + member);
      }
      Refused(codec, Bytes(count) + member);
    }
  }
}

TEST(Codec, StopsBombsAtTheLimit) {
  constexpr std::uint64_t kLimit = 1 << 20;
  for (const Codec codec : kCodecs) {
    const Bytes bomb = Compressed(codec, Bytes(20 << 20));
    EXPECT_LT(bomb.size(), kLimit / 2);
    for (const std::size_t read_bytes : {1000U, 1U << 20, 50U << 20}) {
      Decoder decoder(codec, "bomb", SourceOf(bomb), {.expanded_bytes = kLimit});
      Bytes part(read_bytes);
      std::uint64_t got = 0;
      const std::string message = MessageOf(ErrorCode::kBadInput, [&] {
        while (const std::uint64_t more = decoder.Read(std::as_writable_bytes(std::span(part)))) got += more;
      });
      EXPECT_LE(got, kLimit);
      EXPECT_TRUE(Contains(message, "bomb: expands to more than 1048576 bytes (--max-expanded) at offset ")) << message;
    }
    // The limit applies to the sum of many small members. Exactly the limit is allowed.
    const Bytes member = Compressed(codec, Bytes(600));
    const Bytes two = member + member;
    Decoder fits(codec, "file", SourceOf(two), {.expanded_bytes = 1200});
    EXPECT_EQ(ReadToEnd(fits), Bytes(1200));
    Decoder over(codec, "file", SourceOf(two), {.expanded_bytes = 1199});
    MessageOf(ErrorCode::kBadInput, [&] { ReadToEnd(over); });
    const Bytes nothing = Compressed(codec, {});
    Decoder none(codec, "file", SourceOf(nothing), {.expanded_bytes = 0});
    EXPECT_EQ(ReadToEnd(none), Bytes());
  }
}

/// Returns a frame with one uncompressed block.
Bytes ZstFrame(const Bytes& header, const Bytes& content) {
  const std::size_t block = content.size() * 8 + 1;
  const Bytes block_header = {static_cast<unsigned char>(block), static_cast<unsigned char>(block >> 8),
                              static_cast<unsigned char>(block >> 16)};
  return Bytes{0x28, 0xb5, 0x2f, 0xfd} + header + block_header + content;
}

/// Compresses with the library, at a level that has a smaller dictionary than the usual level.
Bytes XzOfLevel(std::uint32_t level, const Bytes& data) {
  Bytes out(lzma_stream_buffer_bound(data.size()));
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(level, LZMA_CHECK_CRC64, nullptr, data.data(), data.size(), out.data(), &size,
                                    out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

TEST(Codec, KeepsWindowsToTheMemoryItIsGiven) {
  // zst: windows of 2 and 8 MiB; xz: dictionaries of 256 KiB and 8 MiB, whatever the data. The data compress quickly.
  const Bytes part = Log(1 << 16, 3);
  Bytes data;
  while (data.size() < 9 << 20) data.insert(data.end(), part.begin(), part.end());
  for (const Codec codec : {Codec::kZst, Codec::kXz}) {
    const auto expand = [&](const Bytes& bytes, std::uint64_t memory_bytes) {
      Decoder decoder(codec, "file", SourceOf(bytes), {.memory_bytes = memory_bytes});
      return ReadToEnd(decoder);
    };
    const Bytes small = codec == Codec::kXz ? XzOfLevel(0, data) : Compressed(codec, data);
    const Bytes large = codec == Codec::kXz ? Compressed(codec, data) : ZstFrame({0, (23 - 10) << 3}, Text("x"));
    EXPECT_EQ(expand(small, 4 << 20), data);
    EXPECT_EQ(expand(large, 20 << 20), codec == Codec::kXz ? data : Text("x"));
    const std::string message = MessageOf(ErrorCode::kUsage, [&] { expand(large, 4 << 20); });
    EXPECT_TRUE(Contains(message, "which --memory leaves for it")) << message;
    const std::string advice = "give at least --memory ";
    const std::uint64_t enough = std::stoull(message.substr(message.find(advice) + advice.size())) << 20;
    EXPECT_EQ(expand(large, enough), codec == Codec::kXz ? data : Text("x")) << message;
    EXPECT_LE(enough, 20u << 20) << message;
    for (const std::uint64_t limit : {std::uint64_t{1} << 19, std::uint64_t{1} << 20, std::uint64_t{5} << 20}) {
      EXPECT_LE(DecoderMemoryBytes(codec, limit), limit);
    }
  }
}

TEST(Codec, RefusesZstWindowsOfMoreThan128MiB) {
  const auto with_window_log = [](int log) {
    return ZstFrame({0, static_cast<unsigned char>((log - 10) << 3)}, Text("x"));
  };
  EXPECT_EQ(Expanded(Codec::kZst, with_window_log(10)), Text("x"));
  EXPECT_EQ(Expanded(Codec::kZst, with_window_log(27)), Text("x"));
  for (const int log : {28, 30, 31, 41}) {
    EXPECT_TRUE(Contains(Refused(Codec::kZst, with_window_log(log)), "more than 128 MiB, the most")) << log;
  }
  // A frame whose size is known and small enough for the reader's buffer is refused, too, and so is a second frame.
  const Bytes small = ZstFrame({0x40, (31 - 10) << 3, 0, 0}, Bytes(256));
  EXPECT_TRUE(Contains(Refused(Codec::kZst, small), "window")) << Refused(Codec::kZst, small);
  EXPECT_TRUE(Contains(Refused(Codec::kZst, with_window_log(20) + with_window_log(31)), "member 2 begins at"));
  // The window of a single segment is the segment itself.
  EXPECT_EQ(Expanded(Codec::kZst, ZstFrame({0x20, 1}, Text("x"))), Text("x"));
  EXPECT_TRUE(Contains(Refused(Codec::kZst, ZstFrame({0xa0, 0, 0, 0, 0x10}, Text("x"))), "window"));
}

TEST(Codec, RefusesZstFramesThatNeedADictionary) {
  EXPECT_TRUE(Contains(Refused(Codec::kZst, ZstFrame({0x21, 7, 1}, Text("x"))), "dictionary"));
  // A frame that is hidden in the header of another frame. Only zstd itself takes it for a frame.
  const Bytes hidden = {0x28, 0xb5, 0x2f, 0xfd, 0xe3, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0, 0, 0, 0};
  EXPECT_TRUE(Contains(Refused(Codec::kZst, hidden), "dictionary"));
}

TEST(Codec, RefusesXzDictionariesOfMoreThan256MiB) {
  const auto with_dictionary_bits = [](unsigned char bits) {
    Bytes bytes = Compressed(Codec::kXz, Text("x"));
    constexpr std::size_t kBlock = 12;
    const std::size_t header_bytes = (std::size_t{bytes[kBlock]} + 1) * 4;
    const auto begin = bytes.begin() + kBlock;
    const std::array<unsigned char, 2> lzma2 = {0x21, 1};
    const auto filter =
        std::search(begin + 2, begin + static_cast<std::ptrdiff_t>(header_bytes), lzma2.begin(), lzma2.end());
    filter[2] = bits;
    const std::uint32_t crc = lzma_crc32(&*begin, header_bytes - 4, 0);
    for (std::size_t i = 0; i < 4; ++i)
      bytes[kBlock + header_bytes - 4 + i] = static_cast<unsigned char>(crc >> (8 * i));
    return bytes;
  };
  EXPECT_EQ(Expanded(Codec::kXz, with_dictionary_bits(31)), Text("x"));  // 192 MiB
  for (const auto bits : std::to_array<unsigned char>({33, 36, 40})) {
    EXPECT_TRUE(Contains(Refused(Codec::kXz, with_dictionary_bits(bits)), "256 MiB")) << int{bits};
  }
}

TEST(Codec, RefusesXzChecksumsThatItCannotVerify) {
  // Kind 2 of checksum is reserved. It has the length of the CRC-32 (kind 1) of the data.
  Bytes bytes = Compressed(Codec::kXz, Text("x"));
  const auto put_crc = [&](std::size_t at, std::size_t from, std::size_t count) {
    const std::uint32_t crc = lzma_crc32(bytes.data() + from, count, 0);
    for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<unsigned char>(crc >> (8 * i));
  };
  const std::size_t foot = bytes.size() - 12;
  for (const std::size_t flags : {std::size_t{7}, foot + 9}) {
    ASSERT_EQ(bytes[flags], 1);
    bytes[flags] = 2;
  }
  put_crc(8, 6, 2);
  put_crc(foot, foot + 4, 6);
  EXPECT_TRUE(Contains(Refused(Codec::kXz, bytes), "kind of checksum"));
}

TEST(Codec, SkipsSkippableFrames) {
  const Bytes skippable = Bytes{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0} + Text("abc");
  const Bytes empty = {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0};
  for (const Codec codec : {Codec::kZst, Codec::kLz4}) {
    const Bytes member = Compressed(codec, Text("data"));
    EXPECT_EQ(Expanded(codec, skippable + member + empty + member + skippable), Text("datadata"));
    RefusesEveryCut(codec, skippable, member, {}, Text("data"));
    RefusesEveryCut(codec, member, skippable, Text("data"), {});
  }
}

TEST(Codec, NamesPathMemberAndOffsetOfCorruptData) {
  const Bytes first = Log(3000, 1);
  for (const Codec codec : kCodecs) {
    const Bytes good = Compressed(codec, first);
    Bytes bad = good;
    const bool bgzf = codec == Codec::kBgzf;
    const std::size_t after = bgzf ? kEndBlockBytes : 0;
    bad[bad.size() - 3 - after] ^= 0x55;  // the checksum of gz, bz2, zst and lz4, or the footer of xz
    const Bytes both = good + bad;
    Decoder again(codec, "logs/a.x", SourceOf(both));
    const std::string message = MessageOf(ErrorCode::kBadInput, [&] { ReadToEnd(again); });
    EXPECT_TRUE(message.starts_with("logs/a.x: bad " + std::string(CodecName(codec)) + " data at offset ")) << message;
    EXPECT_TRUE(Contains(message, std::string(bgzf ? "(member 3 begins at " : "(member 2 begins at ") +
                                      std::to_string(good.size()) + ")"))
        << message;
    EXPECT_GT(again.offset(), both.size() - 30 - after) << message;
    // A decoder that has thrown must not be used again, and says so.
    Bytes part(10);
    MessageOf(ErrorCode::kInternal, [&] { again.Read(std::as_writable_bytes(std::span(part))); });
  }
}

TEST(Codec, PassesErrorsOfItsSourceAndSinkOn) {
  const Bytes data = RandomBytes(100'000, 1);
  for (const Codec codec : kAllCodecs) {
    const Bytes good = Compressed(codec, data);
    Decoder decoder(codec, "file", [&, source = SourceOf(good, 1000), left = 5](std::span<std::byte> out) mutable {
      if (--left == 0) throw Error(ErrorCode::kIo, "the cable is out");
      return source(out);
    });
    EXPECT_EQ(MessageOf(ErrorCode::kIo, [&] { ReadToEnd(decoder); }), "the cable is out");
    for (const unsigned threads : {1U, 3U}) {
      EncoderOptions options;
      options.threads = threads;
      options.member_bytes = 10'000;
      int calls = 0;
      Encoder encoder(codec, options, [&](std::span<const std::byte>) {
        if (++calls == 2 || codec == Codec::kNone) throw Error(ErrorCode::kNoSpace, "full");
      });
      EXPECT_EQ(MessageOf(ErrorCode::kNoSpace,
                          [&] {
                            encoder.Write(AsSpan(data));
                            encoder.Finish();
                          }),
                "full");
      MessageOf(ErrorCode::kInternal, [&] { encoder.Finish(); });
      // Destroys the encoder while members are being compressed.
      Encoder dropped(codec, options, [](std::span<const std::byte>) {});
      dropped.Write(AsSpan(data).first(35'000));
    }
  }
}

TEST(Codec, TakesNoMoreMemoryThanItSays) {
  const Bytes log = Log(1 << 18, 1);
  const auto in_use = [] {
    const struct mallinfo2 info = mallinfo2();
    return std::uint64_t{info.uordblks} + info.hblkhd;
  };
  for (const Codec codec : kCodecs) {
    for (const unsigned threads : {1U, 2U}) {
      EncoderOptions options;
      options.threads = threads;
      options.member_bytes = log.size();
      const std::uint64_t before = in_use();
      std::uint64_t most = 0;
      std::uint64_t bytes = 0;
      Encoder encoder(codec, options, [&](std::span<const std::byte> data) {
        bytes += data.size();
        most = std::max(most, in_use() - before);
      });
      // Writes three times as many bytes as can be in work at the same time.
      for (int i = 0; i < 12; ++i) encoder.Write(AsSpan(log));
      encoder.Finish();
      EXPECT_GT(bytes, 0U);
      EXPECT_LE(most, EncoderMemoryBytes(codec, options)) << CodecName(codec) << " on " << threads;
    }
  }
}

TEST(Codec, ReadsAndWritesPipes) {
  const Bytes data = Log(3'000'000, 1);
  std::array<int, 2> fds{};
  ASSERT_EQ(pipe2(fds.data(), O_CLOEXEC), 0);
  const CancelFlag cancel;
  std::thread writing([&] {
    const detail::Fd end(fds[1]);
    PipeWriter writer(end.get(), "pipe", cancel);
    EncoderOptions options;
    options.threads = 2;
    Encoder encoder(Codec::kZst, options, [&](std::span<const std::byte> part) { writer.WriteAll(part); });
    encoder.Write(AsSpan(data));
    encoder.Finish();
    writer.Close();
  });
  const detail::Fd end(fds[0]);
  PipeReader reader(end.get(), "pipe", cancel);
  Decoder decoder(Codec::kZst, reader.path(), [&](std::span<std::byte> out) { return reader.ReadSome(out); });
  EXPECT_EQ(ReadToEnd(decoder), data);
  writing.join();
}

/// The command-line program for a codec, as an independent implementation of the format.
class CodecTool : public ::testing::TestWithParam<Codec> {
 protected:
  void SetUp() override {
    program_ = GetParam() == Codec::kGz    ? "gzip"
               : GetParam() == Codec::kBz2 ? "bzip2"
               : GetParam() == Codec::kXz  ? "xz"
               : GetParam() == Codec::kZst ? "zstd"
                                           : "lz4";
    if (std::system(("command -v " + program_ + " >/dev/null").c_str()) != 0) GTEST_SKIP() << "no " << program_;
  }
  /// Runs the program as a filter. Returns true if it exits with 0.
  bool Filter(const std::string& options, const std::string& from, const std::string& to) const {
    return std::system((program_ + " " + options + " <'" + from + "' >'" + to + "' 2>/dev/null").c_str()) == 0;
  }
  Bytes ByTool(const std::string& options, const Bytes& data) const {
    WriteFile(folder_ / "plain", data);
    EXPECT_TRUE(Filter(options, folder_ / "plain", folder_ / "made"));
    return ReadFile(folder_ / "made");
  }

  std::string program_;
  TempFolder folder_;
};

TEST_P(CodecTool, ReadsWhatIsWritten) {
  const Bytes data = Log(1'200'000, 1) + RandomBytes(100'000, 2);
  for (const Bytes& plain : {data, Bytes(), Text("x")}) {
    EncoderOptions options;
    options.threads = 2;
    options.member_bytes = 400'000;
    WriteFile(folder_ / "compressed", Compressed(GetParam(), plain, options));
    EXPECT_TRUE(Filter("-t", folder_ / "compressed", "/dev/null"));
    EXPECT_TRUE(Filter("-dc", folder_ / "compressed", folder_ / "plain"));
    EXPECT_EQ(ReadFile(folder_ / "plain"), plain);
  }
}

TEST_P(CodecTool, WritesWhatIsRead) {
  const Bytes data = Log(1'200'000, 1) + RandomBytes(100'000, 2);
  for (const char* options : {"-c", "-1 -c", "-9 -c"}) {
    const Bytes once = ByTool(options, data);
    EXPECT_EQ(Expanded(GetParam(), once), data);
    EXPECT_EQ(Expanded(GetParam(), once + Compressed(GetParam(), Text("x")) + once), data + Text("x") + data);
    EXPECT_EQ(Expanded(GetParam(), ByTool(options, {})), Bytes());
  }
}

TEST_P(CodecTool, WritesWhatIsRefusedWhenCutAtAnyByte) {
  const Bytes first = Log(600, 1);
  const Bytes second = Log(200, 2);
  RefusesEveryCut(GetParam(), ByTool("-c", first), ByTool("-c", second), first, second);
}

INSTANTIATE_TEST_SUITE_P(Each, CodecTool, ::testing::ValuesIn(kBlockCodecs),
                         [](const auto& each) { return std::string(CodecName(each.param)); });

std::span<std::byte> AsRoom(Bytes& bytes) { return std::as_writable_bytes(std::span(bytes)); }

TEST(BlockCodec, BringsBlocksBack) {
  for (const Codec codec : kBlockCodecs) {
    BlockCodec block_codec(codec);
    for (const std::size_t size : {1'000UL, 65'536UL, 1'000'000UL, 40UL}) {
      const Bytes data = size == 40 ? Bytes(40, 'a') : Log(size, size);
      Bytes out(size + 1000);
      const std::uint64_t bytes = block_codec.Compress(AsSpan(data), AsRoom(out));
      ASSERT_GT(bytes, 0U);
      EXPECT_LT(bytes, size / 2 + 200) << CodecName(codec);
      out.resize(bytes);
      Bytes back(size);
      block_codec.Decompress(AsSpan(out), AsRoom(back));
      EXPECT_EQ(back, data);
      // Compress never returns a truncated block: if the block does not fit, it returns 0.
      Bytes tight(bytes - 1);
      EXPECT_EQ(block_codec.Compress(AsSpan(data), AsRoom(tight)), 0U) << CodecName(codec);
    }
  }
}

TEST(BlockCodec, LeavesWhatDoesNotGetSmaller) {
  const Bytes data = RandomBytes(100'000, 1);
  for (const Codec codec : kBlockCodecs) {
    Bytes out(data.size());
    EXPECT_EQ(BlockCodec(codec).Compress(AsSpan(data), AsRoom(out)), 0U) << CodecName(codec);
  }
}

TEST(BlockCodec, RefusesWhatIsNoWholeBlockOfThatSize) {
  const Bytes data = Log(500, 1);
  for (const Codec codec : kBlockCodecs) {
    BlockCodec block_codec(codec);
    Bytes block(2000);
    block.resize(block_codec.Compress(AsSpan(data), AsRoom(block)));
    const auto refused = [&](const Bytes& in, std::size_t size) {
      Bytes out(size);
      const std::string message =
          MessageOf(ErrorCode::kIntegrity, [&] { block_codec.Decompress(AsSpan(in), AsRoom(out)); });
      EXPECT_TRUE(message.starts_with(CodecName(codec))) << message;
    };
    for (const std::size_t size : {0U, 1U, 499U, 501U, 100'000U}) refused(block, size);
    for (std::size_t cut = 0; cut < block.size(); ++cut) {
      refused(Bytes(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(cut)), 500);
    }
    refused(block + Text("x"), 500);
    refused(RandomBytes(300, 1), 500);
    // The codec works as before after that.
    Bytes out(500);
    block_codec.Decompress(AsSpan(block), AsRoom(out));
    EXPECT_EQ(out, data);
  }
  MessageOf(ErrorCode::kInternal, [] { BlockCodec(Codec::kNone); });
}

/// Returns the bytes of sorted random numbers of one type, which are made from 64 random bits by `make`.
template <typename T>
Bytes SortedNumbers(std::size_t count, std::uint64_t seed, bool big_endian, T (*make)(std::uint64_t)) {
  std::mt19937_64 random(seed);
  std::vector<T> numbers(count);
  for (T& number : numbers) number = make(random());
  std::sort(numbers.begin(), numbers.end());
  Bytes bytes(count * sizeof(T));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  for (std::size_t i = 0; big_endian && i < bytes.size(); i += sizeof(T)) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + sizeof(T)));
  }
  return bytes;
}

TEST(NumberCodec, StoresSortedNumbersOfEveryKindInFewerBytes) {
  const auto check = [](const Bytes& data, double most, const char* what) {
    BlockCodec codec(Codec::kNumbers);
    Bytes out(data.size() + 100);
    out.resize(codec.Compress(AsSpan(data), AsRoom(out)));
    ASSERT_GT(out.size(), 0U) << what;
    EXPECT_LT(static_cast<double>(out.size()), most * static_cast<double>(data.size())) << what;
    Bytes back(data.size());
    codec.Decompress(AsSpan(out), AsRoom(back));
    EXPECT_EQ(back, data) << what;
    Bytes tight(out.size() - 1);
    EXPECT_EQ(codec.Compress(AsSpan(data), AsRoom(tight)), 0U) << what;
    EXPECT_EQ(ChooseTempCodec(AsSpan(data), 100e6, 16), Codec::kNumbers) << what;
  };
  constexpr std::size_t kMany = 100'000;
  for (const bool big_endian : {false, true}) {
    check(SortedNumbers<std::uint64_t>(kMany, 1, big_endian, [](std::uint64_t x) { return x; }), 0.85, "u64");
    check(SortedNumbers<std::uint64_t>(kMany, 2, big_endian, [](std::uint64_t x) { return x % 1'000'000; }), 0.15,
          "ids");
    check(
        SortedNumbers<std::int64_t>(kMany, 3, big_endian, [](std::uint64_t x) { return static_cast<std::int64_t>(x); }),
        0.85, "i64");
    check(SortedNumbers<double>(kMany, 4, big_endian,
                                [](std::uint64_t x) { return 1e-9 * static_cast<double>(x) - 5e9; }),
          0.85, "f64");
    check(SortedNumbers<std::uint32_t>(kMany, 5, big_endian,
                                       [](std::uint64_t x) { return static_cast<std::uint32_t>(x); }),
          0.75, "u32");
  }
}

TEST(NumberCodec, BringsAnyBytesBackOrLeavesThem) {
  BlockCodec codec(Codec::kNumbers);
  std::mt19937_64 random(7);
  std::uint64_t compressed = 0;
  for (int round = 0; round < 3000; ++round) {
    // Steps of any size and sign, between equal numbers, and a few bytes after the last number.
    const unsigned bits = random() % 65, size = random() % 2 == 0 ? 8 : 4;
    Bytes data(random() % 4000);
    std::uint64_t number = random();
    for (std::size_t i = 0; i + size <= data.size(); i += size) {
      std::memcpy(data.data() + i, &number, size);
      const std::uint64_t step = bits == 0 ? 0 : random() >> (64 - bits);
      number += random() % 4 != 0 ? step : random() % 2 == 0 ? 0 : -step;
    }
    if (data.empty()) continue;
    Bytes out(data.size());
    out.resize(codec.Compress(AsSpan(data), AsRoom(out)));
    if (out.empty()) continue;
    ++compressed;
    Bytes back(data.size());
    codec.Decompress(AsSpan(out), AsRoom(back));
    ASSERT_EQ(back, data);
    for (const std::size_t other : {data.size() - 1, data.size() + 1, data.size() + size}) {
      Bytes wrong(other);
      MessageOf(ErrorCode::kIntegrity, [&] { codec.Decompress(AsSpan(out), AsRoom(wrong)); });
    }
    const Bytes cut(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(random() % out.size()));
    MessageOf(ErrorCode::kIntegrity, [&] { codec.Decompress(AsSpan(cut), AsRoom(back)); });
    // A changed bit gives other numbers or an error. The hash of the block finds it.
    out[random() % out.size()] ^= static_cast<Bytes::value_type>(1 << random() % 8);
    try {
      codec.Decompress(AsSpan(out), AsRoom(back));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIntegrity);
    }
  }
  EXPECT_GT(compressed, 1000);
}

TEST(ChooseTempCodec, CompressesMoreTheSlowerTheDiskIs) {
  const Bytes log = Log(1 << 20, 1);
  const auto choose = [&](double speed, unsigned threads) { return ChooseTempCodec(AsSpan(log), speed, threads); };
  EXPECT_EQ(choose(20e6, 2), Codec::kZst);
  EXPECT_EQ(choose(20e9, 2), Codec::kNone);
  // On faster disks the choice goes from zst over lz4 to none, and never back. With more threads a codec stays the
  // choice for longer.
  const auto rank = [](Codec codec) { return codec == Codec::kZst ? 2 : codec == Codec::kLz4 ? 1 : 0; };
  bool lz4_seen = false;
  for (const unsigned threads : {1U, 2U, 16U}) {
    int last = 2;
    for (double speed = 10e6; speed < 100e9; speed *= testing::Stride() == 1 ? 1.1 : 1.4) {
      const Codec choice = choose(speed, threads);
      EXPECT_LE(rank(choice), last) << speed << " on " << threads;
      EXPECT_LE(rank(choice), rank(choose(speed, threads * 2)));
      lz4_seen = lz4_seen || choice == Codec::kLz4;
      last = rank(choice);
    }
    EXPECT_EQ(last, 0);
  }
  EXPECT_TRUE(lz4_seen);
}

TEST(ChooseTempCodec, LeavesAloneWhatDoesNotGetSmallerOrCannotBeJudged) {
  for (const double speed : {1e6, 100e6, 1e9}) {
    EXPECT_EQ(ChooseTempCodec(AsSpan(RandomBytes(300'000, 1)), speed, 16), Codec::kNone);
    EXPECT_EQ(ChooseTempCodec(AsSpan(Log(1000, 1)), speed, 16), Codec::kNone);
    EXPECT_EQ(ChooseTempCodec({}, speed, 16), Codec::kNone);
  }
  const Bytes log = Log(100'000, 1);
  for (const double speed : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(ChooseTempCodec(AsSpan(log), speed, 16), Codec::kNone);
  }
}

// Each slot comes back once, in order, with the result or the exception of its own work, also without a worker.
TEST(SlotRing, GivesSlotsBackInOrderWithTheirResults) {
  struct Slot {
    int in = 0, out = 0;
  };
  const auto square = [](Slot& slot) {
    if (slot.in % 7 == 0) throw std::runtime_error(std::to_string(slot.in));
    slot.out = slot.in * slot.in;
  };
  for (const unsigned workers : {0, 1, 3}) {
    SlotRing<Slot> ring(RingSlots(workers));
    for (unsigned i = 0; i < workers; ++i) ASSERT_TRUE(ring.StartWorker(square));
    int next = 1;
    const auto take = [&](bool alone) {
      if (next % 7 == 0) {
        EXPECT_THROW(ring.Oldest(alone ? SlotRing<Slot>::Work(square) : nullptr), std::runtime_error);
      } else {
        EXPECT_EQ(ring.Oldest(alone ? SlotRing<Slot>::Work(square) : nullptr).out, next * next);
      }
      ring.Pop();
      ++next;
    };
    for (int i = 1; i <= 500; ++i) {
      ASSERT_FALSE(ring.full());
      ring.filling().in = i;
      ring.Queue();
      while (!ring.empty() && (ring.full() || ring.OldestIsDone())) take(workers == 0 || i % 3 == 0);
    }
    while (!ring.empty()) take(workers == 0);
    EXPECT_EQ(next, 501);
  }
}

}  // namespace
}  // namespace gpusort

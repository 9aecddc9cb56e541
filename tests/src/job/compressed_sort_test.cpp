// labels of *.RefusesAFileCut*:*.KeepsToTheMemory*: no_tsan
// Sorts from and to compressed files, as whole jobs. The records must be the same as with plain files.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "fake_gpus.hpp"
#include "io/codec/codec.hpp"
#include "job/check_sorted.hpp"
#include "line_files.hpp"
#include "records.hpp"
#include "sanitized.hpp"
#include "sort_files.hpp"

namespace gpusort::testing {
namespace {

Bytes Compressed(Codec codec, const Bytes& bytes, std::uint64_t member_bytes = 0) {
  if (codec == Codec::kNone) return bytes;
  Bytes out;
  EncoderOptions options;
  options.member_bytes = member_bytes;
  Encoder encoder(codec, options, [&](std::span<const std::byte> data) {
    const auto* first = reinterpret_cast<const unsigned char*>(data.data());
    out.insert(out.end(), first, first + data.size());
  });
  encoder.Write(std::as_bytes(std::span(bytes)));
  encoder.Finish();
  return out;
}

std::string Named(const std::string& name, Codec codec) {
  return name + std::string(CodecExtension(codec));
}

Codec Any(std::mt19937_64& random) { return kAllCodecs[random() % std::size(kAllCodecs)]; }

void AddArgs(std::vector<std::string>& args, const std::vector<std::string>& more) {
  args.insert(args.end(), more.begin(), more.end());
}

/// Sorts, and returns the message of the Error with `code` that the sort throws.
std::string Refused(ErrorCode code, const std::vector<std::string>& args) {
  try {
    Sort(args);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

/// Sorts records again and again. Each sort loses its GPU at a later call.
void SortWithAGpuThatIsLost(const std::vector<std::string>& more, const std::string& output, const Bytes& expected) {
  std::vector<std::string> args = {"--record-size", "24",     "--key",      "3:u16",       "--gpu-memory", "4400K",
                                   "--batch-size",  "100000", "--no-fsync", "--log-level", "off"};
  AddArgs(args, more);
  std::int64_t calls = 0;
  for (std::int64_t n = -1; n < calls; n += n < 0 ? 1 : 1 + calls * testing::Stride() / 25) {
    FakeGpuPlan plan;
    plan.fail_at = n;
    const GpuSource gpus = FakeGpus(plan);
    Sort(args, gpus);
    ASSERT_TRUE(ReadFile(output) == expected) << "lost at call " << n;
    if (n < 0) calls = plan.calls;
  }
  EXPECT_GT(calls, 50);
}

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// With these sizes everything is spilled, except under the first plan.
const std::vector<std::vector<std::string>> kPlans = {{"--no-fsync", "--log-level", "off"},
                                                      {"--memory", "700M", "--batch-bytes", "9000", "--threads", "2",
                                                       "--verify-output", "--no-fsync", "--log-level", "off"},
                                                      {"--memory", "700M", "--batch-bytes", "3000", "--fan-in", "2",
                                                       "--threads", "1", "--no-fsync", "--log-level", "off"}};

TEST(CompressedSort, EqualsThePlainOneForRecordsOfAnyCodec) {
  const TempFolder folder;
  std::mt19937_64 random(1);
  for (const Keys keys : kAllKeys) {
    for (const std::vector<std::string>& plan : kPlans) {
      for (const bool unique : {false, true}) {
        const Codec to = Any(random);
        std::vector<std::string> args = plan;
        AddArgs(args, {"--record-size", "12", "--key", "2:u16", "-o", Named(folder / "out", to)});
        if (unique) args.push_back("-u");
        const RecordLayout layout = Parse({"--record-size", "12", "--key", "2:u16", "a", "b"}).order.layout;
        Bytes all;
        for (const char* name : {"a", "b", "c"}) {
          const Codec from = name[0] == 'b' ? Codec::kZst : Any(random);  // at least one input is compressed
          const Bytes part = MakeRecords(layout, random() % 3 == 0 ? 0 : random() % 3000, keys, random());
          // Members of the compressed file end anywhere in a record.
          WriteFile(Named(folder / name, from), Compressed(from, part, 1000 + random() % 3000));
          args.push_back(Named(folder / name, from));
          all.insert(all.end(), part.begin(), part.end());
        }
        Bytes expected = StableSorted(all, layout);
        if (unique) expected = FirstOfEqual(expected, layout);
        Sort(args);
        ASSERT_TRUE(ReadFile(Named(folder / "out", to)) == Compressed(to, expected))
            << CodecName(to) << " keys " << static_cast<int>(keys) << " plan " << plan.size() << (unique ? " -u" : "");
      }
    }
  }
}

TEST(CompressedSort, EqualsThePlainOneForLinesAlsoWithoutALastEnd) {
  const TempFolder folder;
  const LineOrder order = SomeOrders()[2];
  std::mt19937_64 random(2);
  for (const Lines kind : kAllLines) {
    for (const std::vector<std::string>& plan : kPlans) {
      const Codec to = Any(random);
      std::vector<std::string> args = plan;
      AddArgs(args, {"-o", Named(folder / "out", to)});
      Bytes all;
      for (const char* name : {"a", "b", "c"}) {
        const Codec from = name[0] == 'b' ? Codec::kGz : Any(random);
        Bytes part = random() % 4 == 0 ? Bytes() : MakeLines(kind, 300, '\n', random());
        if (random() % 2 == 0 && !part.empty()) part.pop_back();
        WriteFile(Named(folder / name, from), Compressed(from, part, 500 + random() % 5000));
        args.push_back(Named(folder / name, from));
        all.insert(all.end(), part.begin(), part.end());
        if (!part.empty() && part.back() != '\n') all.push_back('\n');
      }
      SortLines(LineOptions(args, order, '\n'));
      ASSERT_TRUE(ReadFile(Named(folder / "out", to)) == Compressed(to, StableSortedLines(all, '\n', order.view())))
          << CodecName(to) << " kind " << static_cast<int>(kind) << " plan " << plan.size();
    }
  }
}

TEST(CompressedSort, MergesSortedInputsAndNamesTheUnsortedOne) {
  const TempFolder folder;
  std::mt19937_64 random(3);
  std::vector<std::string> args = {"-m", "-k2,2", "-s", "--batch-bytes", "5000", "-o", folder / "out.lz4"};
  const JobSpec by_field = Parse({"-k2,2", "-s", "a", "b"});
  const LineOrderView order = by_field.order.lines->view;
  Bytes all;
  for (const Codec codec : kAllCodecs) {
    const Bytes part = StableSortedLines(MakeLines(Lines::kRandom, 400, '\n', random()), '\n', order);
    WriteFile(Named(folder / "in", codec), Compressed(codec, part, 3000));
    args.push_back(Named(folder / "in", codec));
    all.insert(all.end(), part.begin(), part.end());
  }
  const JobSpec spec = Parse(args);
  SortLines(spec);
  const Bytes expected = Compressed(Codec::kLz4, StableSortedLines(all, '\n', spec.order.lines->view));
  ASSERT_TRUE(ReadFile(folder / "out.lz4") == expected);

  const std::string line(5000, 'x');
  const std::string text = "a b\na " + line + "\nb c\na b\n";
  WriteFile(folder / "in.xz", Compressed(Codec::kXz, Bytes(text.begin(), text.end())));
  const std::string message = Refused(ErrorCode::kBadInput, args);
  EXPECT_TRUE(Contains(message, "in.xz: not sorted: line 3 (byte 5007) sorts before the previous one")) << message;
  EXPECT_TRUE(ReadFile(folder / "out.lz4") == expected);
}

TEST(CompressedSort, ChecksWhatIsExpanded) {
  const TempFolder folder;
  const auto check = [&](Codec codec, const std::string& text) -> std::string {
    WriteFile(Named(folder / "in", codec), Compressed(codec, Bytes(text.begin(), text.end()), 1000));
    const JobSpec spec = Parse({"--check", Named(folder / "in", codec)});
    CancelFlag cancel;
    try {
      CheckSorted(spec, cancel);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNotSorted) << error.what();
      return error.what();
    }
    return "sorted";
  };
  const std::string line(5000, 'b');
  for (const Codec codec : kAllCodecs) {
    EXPECT_EQ(check(codec, "a\n" + line + "\nc"), "sorted");
    EXPECT_TRUE(Contains(check(codec, "a\n" + line + "\na\n"), "line 3 (byte 5003)"));
  }
}

TEST(CompressedSort, TakesTheTypeFromTheInnerExtension) {
  const TempFolder folder;
  const RecordLayout layout = Parse({"--type", "u64", "a", "b"}).order.layout;
  const Bytes input = MakeRecords(layout, 1000, Keys::kRandom, 1);
  WriteFile(folder / "in.u64.zst", Compressed(Codec::kZst, input));
  Sort({folder / "in.u64.zst", folder / "out"});
  EXPECT_EQ(ReadFile(folder / "out"), StableSorted(input, layout));
}

TEST(CompressedSort, TakesCodecsByOptionWhateverTheNames) {
  const TempFolder folder;
  const Bytes lines = {'b', '\n', 'a', '\n'}, sorted = {'a', '\n', 'b', '\n'};
  WriteFile(folder / "in.bz2", Compressed(Codec::kGz, lines));
  Sort({"--decompress", "gzip", "--compress", "xz", folder / "in.bz2", folder / "out"});
  EXPECT_EQ(ReadFile(folder / "out"), Compressed(Codec::kXz, sorted));
  WriteFile(folder / "plain.gz", lines);
  Sort({"--decompress", "none", "--compress", "none", folder / "plain.gz", folder / "out.gz"});
  EXPECT_EQ(ReadFile(folder / "out.gz"), sorted);
  EXPECT_TRUE(Contains(Refused(ErrorCode::kBadInput, {folder / "plain.gz", folder / "out.gz"}), "--decompress none"));
  WriteFile(folder / "in", Compressed(Codec::kZst, lines));
  const StandardInput stream(folder / "in");
  Sort({"--decompress", "zstd", "-", folder / "out"});
  EXPECT_EQ(ReadFile(folder / "out"), sorted);
}

// A file that is cut between two members is a valid file with fewer lines.
TEST(CompressedSort, RefusesAFileCutAtAnyByteAndLeavesTheOldOutput) {
  const TempFolder folder;
  const Bytes first = {'b', 'c', '\n', 'a', '\n'}, second = {'b', '\n', 'a', 'b', 'c', '\n'};
  for (const Codec codec : kAllCodecs) {
    if (codec == Codec::kNone) continue;
    const std::string in = Named(folder / "in", codec);
    Bytes whole = Compressed(codec, first);
    const std::size_t border = whole.size();
    const Bytes rest = Compressed(codec, second);
    whole.insert(whole.end(), rest.begin(), rest.end());
    for (std::size_t size = 0, cases = 0; size <= whole.size(); ++size) {
      if (size != border && size != whole.size() && testing::Stride() > 1 && ++cases % 3 != 0) continue;
      WriteFile(in, Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
      WriteFile(folder / "out", {7});
      const int want = size == border || size == whole.size() ? 0 : 3;
      ASSERT_EQ(CodeOf({"--no-fsync", "--log-level", "off", "--threads", "1", in, folder / "out"}), want)
          << CodecName(codec) << " cut at " << size;
      ASSERT_EQ(ReadFile(folder / "out") == Bytes{7}, want == 3) << CodecName(codec) << " cut at " << size;
    }
    // Flipped bits are detected, too. The message contains the offset.
    for (std::size_t at = 0; at < whole.size(); at += 11) {
      Bytes bad = whole;
      bad[at] ^= 0x10;
      WriteFile(in, bad);
      WriteFile(folder / "out", {7});
      // Some bytes of headers do not affect the content, such as a time.
      if (CodeOf({"--no-fsync", "--log-level", "off", "--threads", "1", in, folder / "out"}) == 0) {
        ASSERT_EQ(SplitLines(ReadFile(folder / "out"), '\n').size(), 4) << CodecName(codec) << " flipped at " << at;
        continue;
      }
      const std::string message =
          Refused(ErrorCode::kBadInput, {"--no-fsync", "--log-level", "off", "--threads", "1", in, folder / "out"});
      EXPECT_TRUE(Contains(message, in) && Contains(message, "at offset")) << message;
      ASSERT_EQ(ReadFile(folder / "out"), (Bytes{7})) << CodecName(codec) << " flipped at " << at;
    }
  }
}

TEST(CompressedSort, StopsAtTheMostThatAnInputMayExpandTo) {
  const TempFolder folder;
  for (const Codec codec : kAllCodecs) {
    if (codec == Codec::kNone) continue;
    const std::string in = Named(folder / "in", codec);
    WriteFile(in, Compressed(codec, Bytes(1000000, '\n')));
    WriteFile(folder / "out", {7});
    const std::string message = Refused(ErrorCode::kBadInput, {"--max-expanded", "999999", in, folder / "out"});
    EXPECT_TRUE(Contains(message, in) && Contains(message, "999999 bytes (--max-expanded)")) << message;
    EXPECT_EQ(ReadFile(folder / "out"), (Bytes{7}));
    Sort({"--max-expanded", "1000000", in, folder / "out"});
    EXPECT_EQ(ReadFile(folder / "out").size(), 1000000);
  }
}

TEST(CompressedSort, RefusesRecordsThatAreIncomplete) {
  const TempFolder folder;
  WriteFile(folder / "in.u64.gz", Compressed(Codec::kGz, Bytes(20)));
  const std::string message = Refused(ErrorCode::kBadInput, {folder / "in.u64.gz", folder / "out"});
  EXPECT_TRUE(Contains(message, "at offset 16, is incomplete")) << message;
}

TEST(CompressedSort, KeepsToTheMemoryOrSaysHowMuchIsNeeded) {
  const TempFolder folder;
  const RecordLayout layout = Parse({"--type", "u64", "a", "b"}).order.layout;
  const Bytes input = MakeRecords(layout, 300000, Keys::kRandom, 1);
  const Bytes sorted = StableSorted(input, layout);
  WriteFile(folder / "in.gz", Compressed(Codec::kGz, input));
  for (const char* memory : {"10M", "40M", "300M"}) {
    Sort({"--type", "u64", "--memory", memory, "--threads", "8", "--stats", folder / "stats", folder / "in.gz",
          folder / "out.gz"});
    EXPECT_TRUE(ReadFile(folder / "out.gz") == Compressed(Codec::kGz, sorted)) << memory;
    const nlohmann::json stats = Stats(folder / "stats");
    EXPECT_LE(stats["host_memory"]["peak"], stats["host_memory"]["limit"]);
    EXPECT_EQ(stats["output_bytes"], sorted.size());
    EXPECT_EQ(stats["stored_bytes"], ReadFile(folder / "out.gz").size());
  }
  const std::string message =
      Refused(ErrorCode::kUsage, {"--type", "u64", "--memory", "10M", folder / "in.gz", folder / "out.xz"});
  EXPECT_TRUE(Contains(message, "give at least --memory")) << message;
}

TEST(CompressedSort, GoesOnWithTheCpuWithoutRepeatingOutput) {
  const TempFolder folder;
  const RecordLayout layout = Parse({"--record-size", "24", "--key", "3:u16", "a", "b"}).order.layout;
  const Bytes input = MakeRecords(layout, 60000, Keys::kRandom, 12);
  const Bytes expected = Compressed(Codec::kGz, StableSorted(input, layout));
  WriteFile(folder / "in", input);
  WriteFile(folder / "in.zst", Compressed(Codec::kZst, input));
  for (const char* name : {"in", "in.zst"}) {
    SCOPED_TRACE(name);
    ASSERT_NO_FATAL_FAILURE(
        SortWithAGpuThatIsLost({"--memory", "48M", folder / name, folder / "out.gz"}, folder / "out.gz", expected));
  }
}

// Tests of compressed temp data.

TEST(CompressedSort, EqualsThePlainOneWhateverTempDataIsCompressedWith) {
  const TempFolder folder;
  std::mt19937_64 random(5);
  const LineOrder order = SomeOrders()[2];
  const std::string program = folder / "program";
  std::ofstream(program) << "#!/bin/sh\nexec gzip -1 \"$@\"\n";
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  std::uint64_t cases = 0;
  for (const std::vector<std::string>& how : std::vector<std::vector<std::string>>{{"--compress-temp", "lz4"},
                                                                                   {"--compress-temp", "zstd"},
                                                                                   {"--compress-temp", "auto"},
                                                                                   {"--compress-temp", "none"},
                                                                                   {"--compress-program", "gzip"},
                                                                                   {"--compress-program", "bzip2"},
                                                                                   {"--compress-program", program}}) {
    for (const Lines kind : kAllLines) {
      if (testing::LeftOut(++cases)) continue;
      // Lines of up to 90,000 bytes are blocks of several extents.
      const Bytes input = MakeLines(kind, 3000, '\n', random());
      WriteFile(folder / "in", input);
      std::vector<std::string> args = how;
      AddArgs(args, {"--memory", "48M", "--block-size", "64K", "--batch-bytes", std::to_string(1 + input.size() / 9),
                     "--fan-in", "2", "--threads", "2", "--no-fsync", "--log-level", "off", "--stats", folder / "stats",
                     folder / "in", folder / "out"});
      SortLines(LineOptions(args, order, '\n'));
      ASSERT_TRUE(ReadFile(folder / "out") == StableSortedLines(input, '\n', order.view()))
          << how[1] << " kind " << static_cast<int>(kind);
      const nlohmann::json stats = Stats(folder / "stats");
      EXPECT_GT(stats["levels"], 2);
      EXPECT_LE(stats["host_memory"]["peak"], stats["host_memory"]["limit"]);
      const auto peak = static_cast<std::size_t>(stats["temp_bytes"]["peak"]);
      // A block has 64 KiB. The last block of every run may be nearly empty, and so may a block before a long line.
      EXPECT_LE(peak, input.size() * (kind == Lines::kLong ? 2 : 1.05) + 12 * 65536) << how[1];
      const bool asked = how[1] != "auto" && how[1] != "none";
      if (!asked) {
        EXPECT_EQ(stats["temp_bytes"]["codec"], "none");
      }
      if (how[1] == program) {
        EXPECT_EQ(stats["temp_bytes"]["codec"], "program");
      }
    }
  }
}

TEST(CompressedSort, EqualsThePlainOneWhenMergedInLevelsOfCompressedTempData) {
  const TempFolder folder;
  std::vector<std::string> args = {"-m",       "--type", "u64",     "--compress-temp", "lz4", "--memory",    "8M",
                                   "--fan-in", "2",      "--stats", folder / "stats",  "-o",  folder / "out"};
  const RecordLayout layout = Parse({"--type", "u64", "a", "b"}).order.layout;
  Bytes all;
  for (int i = 0; i < 7; ++i) {
    Bytes part = MakeRecords(layout, 20000, Keys::kRandom, i);
    for (std::size_t at = 0; at < part.size(); ++at) part[at] = at % 8 < 6 ? 0 : part[at];
    part = StableSorted(part, layout);
    args.push_back(folder / ("in" + std::to_string(i)));
    WriteFile(args.back(), part);
    all.insert(all.end(), part.begin(), part.end());
  }
  Sort(args);
  EXPECT_TRUE(ReadFile(folder / "out") == StableSorted(all, layout));
  EXPECT_GT(Stats(folder / "stats")["levels"], 2);
  EXPECT_LT(Stats(folder / "stats")["temp_bytes"]["written"], all.size());
  EXPECT_LT(Stats(folder / "stats")["temp_bytes"]["peak"], all.size() / 2);
}

TEST(CompressedSort, SurvivesTheLossOfAGpuWithCompressedTempData) {
  const TempFolder folder;
  const RecordLayout layout = Parse({"--record-size", "24", "--key", "3:u16", "a", "b"}).order.layout;
  const Bytes input = MakeRecords(layout, 100000, Keys::kTwoValues, 12);
  const Bytes expected = StableSorted(input, layout);
  WriteFile(folder / "in", input);
  SortWithAGpuThatIsLost({"--fan-in", "3", "--compress-temp", "zst", "--memory", "24M", folder / "in", folder / "out"},
                         folder / "out", expected);
}

}  // namespace
}  // namespace gpusort::testing

// labels of *.TakesTempSpaceOnce*:*.FreesTheTempSpace*:*.AnswersALimitOnThreads*: no_tsan
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "data/reader.hpp"
#include "fake_gpus.hpp"
#include "faulty_file_system.hpp"
#include "job/check_sorted.hpp"
#include "job/sort_job.hpp"
#include "kernels/error.hpp"
#include "line_files.hpp"
#include "records.hpp"
#include "runs/run.hpp"
#include "sanitized.hpp"
#include "sort_files.hpp"

namespace gpusort::testing {
namespace {

struct Shape {
  const char* name;
  std::vector<std::string> args;
};

const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> shapes = {
      {"u64", {"--type", "u64"}},
      {"i32", {"--type", "i32"}},
      {"f32be", {"--type", "f32be"}},
      {"f64 descending", {"--type", "f64", "-r"}},
      {"u8", {"--type", "u8"}},
      {"bytes 3", {"--record-size", "3"}},
      {"ten of 100", {"--record-size", "100", "--key", "0:bytes10"}},
      {"composite", {"--record-size", "32", "--key", "8:i64:desc", "--key", "0:u32be"}},
      {"whole 40", {"--record-size", "40"}},
  };
  return shapes;
}

TEST(ExternalSort, EqualsAStableSortForEveryLayoutKeyAndTier) {
  const TempFolder folder;
  std::uint64_t seed = 1, cases = 0;
  for (const Shape& shape : Shapes()) {
    std::vector<std::string> args = shape.args;
    args.insert(args.end(), {folder / "in", folder / "out"});
    const RecordLayout layout = Parse(args).order.layout;
    for (const Keys keys : kAllKeys) {
      for (const std::size_t count : {0, 1, 2, 99, 1000, 20000}) {
        const Bytes input = MakeRecords(layout, count, keys, ++seed);
        const Bytes expected = StableSorted(input, layout);
        WriteFile(folder / "in", input);
        const std::string batch = std::to_string(std::max<std::size_t>(layout.stride, count * layout.stride / 9));
        const std::vector<std::vector<std::string>> plans = {
            {},
            {"--memory", "16M", "--batch-size", batch},
            {"--memory", "3M", "--batch-size", batch, "--fan-in", "2", "--threads", "1"}};
        for (const auto& plan : plans) {
          if (testing::LeftOut(++cases)) continue;
          std::vector<std::string> all = args;
          all.insert(all.begin(), plan.begin(), plan.end());
          Sort(all);
          ASSERT_EQ(ReadFile(folder / "out"), expected)
              << shape.name << " keys " << static_cast<int>(keys) << " count " << count << " plan " << plan.size();
        }
      }
    }
  }
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"in", "out"}));
}

TEST(ExternalSort, KeepsTheFirstOfEqualKeys) {
  const TempFolder folder;
  for (const Keys keys : kAllKeys) {
    std::vector<std::string> args = {"-u", "--memory", "3M",   "--batch-size", "4000",        "--record-size",
                                     "20", "--key",    "4:u8", folder / "in",  folder / "out"};
    const RecordLayout layout = Parse(args).order.layout;
    const Bytes input = MakeRecords(layout, 5000, keys, 5);
    WriteFile(folder / "in", input);
    Sort(args);
    EXPECT_EQ(ReadFile(folder / "out"), FirstOfEqual(StableSorted(input, layout), layout));
  }
}

TEST(ExternalSort, TakesSeveralInputsInTheirOrder) {
  const TempFolder folder;
  const std::vector<std::string> args = {"--record-size", "12",   "--key", "2:u8",         "--memory",   "3M",
                                         "--batch-size",  "1200", "-o",    folder / "out", folder / "a", folder / "b",
                                         folder / "c"};
  const RecordLayout layout = Parse(args).order.layout;
  Bytes all;
  for (const char* name : {"a", "b", "c"}) {
    const Bytes part = MakeRecords(layout, name[0] == 'b' ? 0 : 3000, Keys::kRandom, name[0]);
    WriteFile(folder / name, part);
    all.insert(all.end(), part.begin(), part.end());
  }
  Sort(args);
  EXPECT_EQ(ReadFile(folder / "out"), StableSorted(all, layout));
}

TEST(ExternalSort, MergesSortedInputsAndNamesTheUnsortedOne) {
  const TempFolder folder;
  std::vector<std::string> args = {"-m", "--record-size", "12", "--key", "2:u16",       "--memory",
                                   "3M", "--fan-in",      "3",  "-o",    folder / "out"};
  for (int i = 0; i < 11; ++i) args.push_back(folder / ("in" + std::to_string(i)));
  const RecordLayout layout = Parse(args).order.layout;
  Bytes all;
  for (int i = 0; i < 11; ++i) {
    const Bytes part = StableSorted(MakeRecords(layout, 100 * i * i, Keys::kRandom, i), layout);
    WriteFile(args[11 + i], part);
    all.insert(all.end(), part.begin(), part.end());
  }
  Sort(args);
  EXPECT_EQ(ReadFile(folder / "out"), StableSorted(all, layout));

  Bytes bad = ReadFile(args[18]);
  const int order = Compare(&bad[0], &bad[bad.size() - 12], layout);
  ASSERT_LT(order, 0);
  std::swap_ranges(bad.begin(), bad.begin() + 12, bad.end() - 12);
  WriteFile(args[18], bad);
  WriteFile(folder / "out", {1, 2, 3});
  try {
    Sort(args);
    FAIL() << "an unsorted input was merged";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_NE(std::string(error.what()).find("in7"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("record 1 "), std::string::npos) << error.what();
  }
  EXPECT_EQ(ReadFile(folder / "out"), (Bytes{1, 2, 3}));
}

TEST(ExternalSort, TakesTempSpaceOnceForEachByteHoweverManyLevels) {
  const TempFolder folder;
  const RecordLayout layout = Parse({"--type", "u64", "a", "b"}).order.layout;
  const Bytes input = MakeRecords(layout, 1500000, Keys::kRandom, 4);
  const Bytes expected = StableSorted(input, layout);
  const std::vector<std::string> small = {"--type", "u64",       "--memory", "8M",      "--fan-in",
                                          "2",      "--threads", "2",        "--stats", folder / "stats"};
  std::vector<std::string> sort = small, merge = small;
  sort.insert(sort.end(), {"--batch-size", "500000", folder / "in", folder / "out"});
  merge.insert(merge.end(), {"-m", "-o", folder / "out"});
  WriteFile(folder / "in", input);
  for (int i = 0; i < 12; ++i) {
    const auto begin = input.begin() + i * 1000000;
    merge.push_back(folder / ("in" + std::to_string(i)));
    WriteFile(merge.back(), StableSorted(Bytes(begin, begin + 1000000), layout));
  }
  for (const auto& args : {sort, merge}) {
    Sort(args);
    ASSERT_EQ(ReadFile(folder / "out"), expected);
    const nlohmann::json stats = Stats(folder / "stats");
    EXPECT_EQ(stats["runs"], args == sort ? 24 : 12);
    EXPECT_EQ(stats["levels"], args == sort ? 5 : 4);
    EXPECT_GT(stats["temp_bytes"]["written"], 2 * input.size());
    EXPECT_LE(stats["temp_bytes"]["peak"], input.size() * 105 / 100);
  }
}

/// The output grows while temp space is freed, so both together take little more space than the input.
TEST(ExternalSort, FreesTempSpaceBesideTheLastMerge) {
  const TempFolder folder;
  WriteFile(folder / "in", MakeRecords(MakeFixedLayout(8, {}), 1500000, Keys::kRandom, 5));
  const JobSpec spec = Parse({"--type", "u64", "--memory", "8M", "--threads", "2", "--stats", folder / "stats",
                              folder / "in", folder / "out"});
  FaultyFileSystem files;
  CancelFlag cancel;
  SortJob(spec, cancel, files, Output::Open(files, spec, cancel), {}, {});
  const nlohmann::json stats = Stats(folder / "stats");
  EXPECT_EQ(stats["levels"], 1);
  EXPECT_GT(stats["temp_bytes"]["written"], 0);
  // A file system without holes refuses the first call, and no other follows.
  EXPECT_GT(files.Count(Call::kDeallocate), 0u);
}

/// Makes a file of `bytes` bytes without data, which takes no time on a file system with sparse files.
void MakeSparse(const std::string& path, std::uint64_t bytes) {
  const std::ofstream file(path);
  std::filesystem::resize_file(path, bytes);
}

TEST(ExternalSort, NeedsNoMoreMemoryToReadALargerInput) {
  const TempFolder folder;
  MakeSparse(folder / "in.u8", std::uint64_t{1} << 40);
  const RecordLayout layout = Parse({folder / "in.u8", "out"}).order.layout;
  FileSystem files;
  CancelFlag cancel;
  HostMemory memory(std::uint64_t{1} << 20);
  const PlainFormat format(layout);
  Inputs inputs(files, {folder / "in.u8"}, {format}, layout, cancel);
  StageClock clock("test");
  const std::size_t before = mallinfo2().uordblks;
  {
    Pipeline pipeline(cancel);
    BlockPool pool(memory, 65536, 4);
    InputReader reader(pipeline, inputs, pool, inputs.Ranges(), layout, 4096, 2, clock);
    const Pipeline::Guard guard(pipeline);
    for (std::uint64_t i = 0; i < 100; ++i) {
      const std::optional<InputReader::Block> block = reader.Next(pipeline);
      ASSERT_TRUE(block);
      ASSERT_EQ(block->range.offset, 4096 * i);
    }
    EXPECT_LT(mallinfo2().uordblks, before + (std::size_t{1} << 20));
  }
  // Merging the file takes no table of its blocks either.
  const RunBlocks blocks(inputs.Ranges().front(), 60000);
  EXPECT_EQ(blocks.size(), ((std::uint64_t{1} << 40) + 59999) / 60000);
  const RunBlock last = blocks[blocks.size() - 1];
  EXPECT_EQ(last.begin + last.bytes, std::uint64_t{1} << 40);
  EXPECT_EQ(std::get<InputRange>(last.place).offset, last.begin);
  EXPECT_LT(mallinfo2().uordblks, before + (std::size_t{1} << 20));
}

TEST(ExternalSort, RefusesAnInputTooLargeForItsMemoryBeforeTheOutputTakesSpace) {
  const TempFolder folder;
  MakeSparse(folder / "in.u8", std::uint64_t{1} << 40);
  EXPECT_EQ(CodeOf({"--memory", "4M", "--device", "cpu", folder / "in.u8", folder / "out"}), 2);
}

TEST(ExternalSort, RefusesInputsOverTheLargestSize) {
  const std::string shared = "/dev/shm/gpusort-test-" + std::to_string(getpid());
  const TempFolder folder;
  bool made = true;
  for (const char* const name : {".a.u8", ".b.u8"}) {
    try {
      MakeSparse(shared + name, (std::uint64_t{3} << 58));
    } catch (const std::filesystem::filesystem_error&) {
      made = false;
    }
  }
  const auto say = [&](const std::vector<std::string>& args) {
    try {
      Sort(args);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      return std::string(error.what());
    }
    return std::string();
  };
  if (made) {
    EXPECT_NE(say({"-o", folder / "out", shared + ".a.u8", shared + ".b.u8"}).find("1 EiB"), std::string::npos);
    MakeSparse(shared + ".a.u8", (std::uint64_t{1} << 60) + 1);
    EXPECT_NE(say({shared + ".a.u8", folder / "out"}).find("1 EiB"), std::string::npos);
  }
  unlink((shared + ".a.u8").c_str());
  unlink((shared + ".b.u8").c_str());
  if (!made) GTEST_SKIP() << "/dev/shm takes no sparse files of 768 PiB";
}

TEST(ExternalSort, PlansTheLevelsThatItMergesAndCountsTheirBytesAsProgress) {
  const TempFolder folder;
  const RecordLayout layout = Parse({"--type", "u64", "a", "b"}).order.layout;
  WriteFile(folder / "in", MakeRecords(layout, 500000, Keys::kRandom, 4));
  CancelFlag cancel;
  for (const auto& [memory, fan_in] : {std::pair{"1M", "64"}, {"1M", "3"}, {"2M", "64"}, {"8M", "2"}, {"64M", "2"}}) {
    const std::vector<std::string> args = {"--type",     "u64",         "--memory",    memory,           "--fan-in",
                                           fan_in,       "--device",    "cpu",         "--threads",      "2",
                                           "--progress", "always",      "--stats",     folder / "stats", "--log-level",
                                           "off",        folder / "in", folder / "out"};
    JobSpec explained = Parse(args);
    explained.explains_all = true;  // --explain=full
    const std::string plan = ExplainJob(explained, cancel).text;
    ::testing::internal::CaptureStderr();
    Sort(args);
    const std::string said = ::testing::internal::GetCapturedStderr();
    const std::uint64_t levels = Stats(folder / "stats")["levels"];
    EXPECT_NE(plan.find(", " + std::to_string(levels) + " level"), std::string::npos) << levels << "\n" << plan;
    // Find the last line of a phase.
    const std::size_t at = said.rfind("merge runs: ");
    ASSERT_NE(at, std::string::npos) << said;
    const std::string line = said.substr(at, said.find('\n', at) - at);
    const std::size_t of = line.find(" of "), begin = line.rfind(", ", of),
                      end = std::min(line.find(',', of), line.size());
    ASSERT_NE(of, std::string::npos) << said;
    EXPECT_EQ(line.substr(begin + 2, of - begin - 2), line.substr(of + 4, end - of - 4)) << said;
    // The last line of the job must be present, too.
    EXPECT_NE(said.find("publish: 100 %"), std::string::npos) << said;
  }
}

TEST(ExternalSort, ExplainsWhatTheJobWouldRefuse) {
  const TempFolder folder;
  WriteFile(folder / "in.u64", Bytes(3000000));
  CancelFlag cancel;
  const auto code = [&](const std::vector<std::string>& args) {
    try {
      ExplainJob(Parse(args), cancel);
    } catch (const Error& error) {
      EXPECT_EQ(static_cast<int>(error.code()), CodeOf(args));
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  EXPECT_EQ(code({folder / "in.u64", folder / "none/out"}), ErrorCode::kUsage);
  EXPECT_EQ(code({"--temp-dir", folder / "none", folder / "in.u64", folder / "out"}), ErrorCode::kUsage);
  EXPECT_EQ(code({folder / "in.u64", folder.path()}), ErrorCode::kUsage);
  EXPECT_EQ(code({folder / "in.u64", folder / "out"}), ErrorCode::kInternal);  // there is no such input
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"in.u64"}));
}

/// Returns a random job of any kind. Its input is the stream `stream`, if that is set.
struct RandomJob {
  std::vector<std::string> args;
  bool lines = false, stream = false;
};

RandomJob MakeRandomJob(const TempFolder& folder, std::mt19937_64& random) {
  const auto one_in = [&](std::uint64_t n) { return random() % n == 0; };
  RandomJob job;
  job.lines = one_in(3);
  job.stream = one_in(4);
  const std::uint64_t strides[] = {1, 2, 8, 100, 3000, 33000, 200000};
  const std::uint64_t stride = job.lines ? 1 : strides[random() % 7];
  Bytes input(random() % (std::uint64_t{1} << (random() % 22)) / stride * stride);
  const std::uint64_t line = std::uint64_t{1} << (random() % 14);
  for (std::uint8_t& byte : input) {
    byte = static_cast<std::uint8_t>(random());
    if (job.lines) byte = one_in(line) ? '\n' : static_cast<std::uint8_t>('a' + byte % 26);
  }
  WriteFile(folder / "in", input);
  const auto add = [&](const char* name, std::uint64_t value) {
    job.args.insert(job.args.end(), {name, std::to_string(value)});
  };
  if (job.lines) {
    job.args.insert(job.args.end(), {"--format", "lines"});
    if (one_in(4)) add("--max-record", 1 + random() % 500000);
  } else {
    add("--record-size", stride);
  }
  add("--memory", (std::uint64_t{700} << 10) + random() % (std::uint64_t{1} << (20 + random() % 4)));
  add("--threads", 1 + random() % 12);
  if (one_in(2)) add("--block-size", 1 + random() % 400000);
  if (!job.lines && one_in(2)) add("--batch-size", 1 + random() % (input.size() / 2 + 2000));
  if (one_in(2)) add("--fan-in", 2 + random() % 12);
  const char* const codecs[] = {"gz", "bz2", "xz", "zst", "lz4"};
  if (one_in(3)) {
    job.args.insert(job.args.end(), {"--compress-temp", codecs[3 + random() % 2]});
  } else if (one_in(6)) {
    const char* const programs[] = {"gzip", "bzip2", "xz", "zstd", "lz4"};
    job.args.insert(job.args.end(), {"--compress-program", programs[random() % 5]});
  }
  if (one_in(4)) job.args.insert(job.args.end(), {"--compress", codecs[random() % 5]});
  if (one_in(6)) job.args.push_back("-u");
  if (one_in(6)) add("--top", 1 + random() % 1000);
  if (one_in(4)) job.args.push_back("--verify-output");
  job.args.insert(job.args.end(), {"--log-level", "off", "--stats", folder / "stats"});
  return job;
}

// If a plan did not keep to its own account of memory, the job would end with exit code 6 in the middle of the work.
TEST(ExternalSort, KeepsToItsPlanWhateverTheOptionsAndToWhatItAdvises) {
  std::uint64_t seed = 1, refused = 0, spilled = 0, count = 60;
  if (const char* const given = std::getenv("GPUSORT_SEED")) seed = std::stoull(given), count = 2000;
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < count; ++i) {
    const TempFolder folder;
    RandomJob job = MakeRandomJob(folder, random);
    const StandardInput stream(folder / "in");
    const bool to_stream = random() % 4 == 0;
    if (to_stream) std::erase(job.args, "--verify-output");
    job.args.insert(job.args.end(), {"-o", to_stream ? "/dev/null" : folder / "out", job.stream ? "-" : folder / "in"});
    std::string command;
    for (const std::string& arg : job.args) command += " " + arg;
    const auto run = [&](const std::vector<std::string>& args) -> std::string {
      lseek(STDIN_FILENO, 0, SEEK_SET);
      try {
        Sort(args);
        return "";
      } catch (const Error& error) {
        const bool too_long = std::string(error.what()).find("--max-record") != std::string::npos;
        EXPECT_TRUE(error.code() == ErrorCode::kUsage || (job.lines && too_long)) << command << "\n" << error.what();
        return error.code() == ErrorCode::kUsage ? error.what() : "";
      }
    };
    const std::string said = run(job.args);
    ASSERT_FALSE(HasFailure()) << i;
    if (!said.empty()) {
      ++refused;
      const std::string words = "give at least --memory ";
      const std::size_t at = said.find(words);
      ASSERT_NE(at, std::string::npos) << command << "\n" << said;
      const std::string advice = said.substr(at + words.size());
      const std::string size = advice.substr(0, advice.find_first_of(" ,)"));
      const auto memory = std::find(job.args.begin(), job.args.end(), "--memory") + 1;
      *memory = std::to_string(ParseSize(size, 1).value / 2 - 4096);
      EXPECT_NE(run(job.args), "") << i << command << "\n" << said << "\nhalf of it does: " << *memory;
      *memory = size;
      EXPECT_EQ(run(job.args), "") << command << "\n" << said;
      ASSERT_FALSE(HasFailure()) << i;
    }
    if (!std::filesystem::exists(folder / "stats")) continue;
    const nlohmann::json stats = Stats(folder / "stats");
    const std::uint64_t planned = stats["temp_bytes"]["planned"], peak = stats["temp_bytes"]["peak"];
    if (job.stream || (job.lines && planned == 0)) continue;
    ASSERT_LE(peak, planned) << command;
    spilled += peak > 0 ? 1 : 0;
  }
  EXPECT_GT(refused, 3u);
  EXPECT_GT(spilled, 3u);
}

TEST(ExternalSort, CountsTheTempCodecForTheBlocksThatAreMade) {
  const TempFolder folder;
  WriteFile(folder / "in", Bytes(3000000));
  const auto code = [&](const std::vector<std::string>& args) {
    std::vector<std::string> all = {"--threads", "1", "--device", "cpu", "--compress-program", "gzip"};
    all.insert(all.end(), args.begin(), args.end());
    all.insert(all.end(), {folder / "in", folder / "out"});
    return CodeOf(all);
  };
  // Blocks are whole pages and hold at least one record.
  EXPECT_NE(code({"--record-size", "1", "--memory", "3750093", "--block-size", "121047", "--batch-size", "384596"}), 6);
  for (const char* const memory : {"6M", "8M", "10M", "12M"}) {
    EXPECT_NE(code({"--record-size", "300000", "--memory", memory}), 6) << memory;
  }
}

TEST(ExternalSort, CountsTheLevelsOfAStreamAsTheyWere) {
  const TempFolder folder;
  const RecordLayout layout = Parse({"--type", "u64", "a", "b"}).order.layout;
  for (const std::size_t records : {100, 400000}) {
    const Bytes input = MakeRecords(layout, records, Keys::kRandom, 4);
    WriteFile(folder / "data", input);
    const StandardInput stream(folder / "data");
    Sort({"--type", "u64", "--memory", "8M", "--batch-size", "200000", "--fan-in", "4", "--threads", "2", "--stats",
          folder / "stats", "-", folder / "out"});
    ASSERT_EQ(ReadFile(folder / "out"), StableSorted(input, layout));
    EXPECT_EQ(Stats(folder / "stats")["levels"], records == 100 ? 1 : 2);
    EXPECT_EQ(Stats(folder / "stats")["temp_bytes"]["written"] == 0, records == 100);
  }
}

TEST(ExternalSort, AsksForTheTempSpaceOfAMergeInLevels) {
  const TempFolder folder;
  std::vector<std::string> args = {"-m", "--type", "u64", "--fan-in", "2", "--temp-dir", "/proc", "-o", folder / "out"};
  for (int i = 0; i < 3; ++i) {
    args.push_back(folder / ("in" + std::to_string(i)));
    WriteFile(args.back(), Bytes(80000));
  }
  EXPECT_NE(CodeOf(args), 0);  // this folder cannot be written to
  args.erase(args.begin() + 3, args.begin() + 7);
  EXPECT_EQ(CodeOf(args), 0);
}

// The inputs are open when a GPU is requested. Changes made at that moment therefore happen while the inputs are read.
TEST(ExternalSort, NoticesInputThatChangesWhileItIsRead) {
  const TempFolder folder;
  const RecordLayout layout = Parse({"--type", "u64", "a", "b"}).order.layout;
  const Bytes input = MakeRecords(layout, 100000, Keys::kRandom, 4);
  const auto sort = [&](const std::function<void()>& change) {
    WriteFile(folder / "in", input);
    WriteFile(folder / "out", {7});
    const GpuSource gpus{0, [] { return true; },
                         [&](int, std::chrono::seconds) -> std::unique_ptr<Backend> {
                           change();
                           throw Error(ErrorCode::kGpuLost, "none");
                         }};
    try {
      Sort({"--type", "u64", folder / "in", folder / "out"}, gpus);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput) << error.what();
      EXPECT_NE(std::string(error.what()).find(folder / "in"), std::string::npos) << error.what();
      EXPECT_EQ(ReadFile(folder / "out"), (Bytes{7}));
      return std::string(error.what());
    }
    EXPECT_EQ(ReadFile(folder / "out"), StableSorted(input, layout));
    return std::string("sorted");
  };
  EXPECT_EQ(sort([] {}), "sorted");
  EXPECT_EQ(sort([&] { std::ofstream(folder / "in", std::ios::app) << "more"; }), "sorted");
  EXPECT_NE(sort([&] { std::filesystem::resize_file(folder / "in", 8000); }), "sorted");
  EXPECT_NE(sort([&] {
              // Overwrites the file in place: a file that is shorter for a moment would cause another message.
              const Bytes other = MakeRecords(layout, 100000, Keys::kRandom, 5);
              std::fstream(folder / "in", std::ios::in | std::ios::out | std::ios::binary)
                  .write(reinterpret_cast<const char*>(other.data()), static_cast<std::streamsize>(other.size()));
              std::filesystem::last_write_time(folder / "in", std::filesystem::file_time_type::clock::now());
            }).find("rewritten"),
            std::string::npos);
}

// If a file was written and its mtime was restored, only the ctime shows the change. Renaming and chmod change the
// ctime, too.
TEST(ExternalSort, NoticesInputThatChangesBehindItsMtime) {
  const TempFolder folder;
  const std::string in = folder / "in";
  const RecordLayout layout = Parse({"--type", "u64", "a", "b"}).order.layout;
  const Bytes input = MakeRecords(layout, 1000, Keys::kRandom, 4);
  const auto sort = [&](const std::function<void()>& change) {
    WriteFile(in, input);
    FileSystem files;
    const auto mtime = std::filesystem::last_write_time(in);
    const std::int64_t ctime = files.Identify(in)->ctime_ns;
    const GpuSource gpus{0, [] { return true; },
                         [&](int, std::chrono::seconds) -> std::unique_ptr<Backend> {
                           // Repeat the change until the kernel's clock has ticked.
                           for (std::optional<FileFacts> now; !now || now->ctime_ns == ctime;) {
                             change();
                             now = files.Identify(in);
                             if (!now) break;
                             std::filesystem::last_write_time(in, mtime);
                           }
                           throw Error(ErrorCode::kGpuLost, "none");
                         }};
    try {
      Sort({"--type", "u64", in, folder / "out"}, gpus);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput) << error.what();
      return std::string(error.what());
    }
    return std::string("sorted");
  };
  const auto write = [&] { std::fstream(in, std::ios::in | std::ios::out | std::ios::binary) << "other"; };
  EXPECT_NE(sort(write).find("its ctime"), std::string::npos);
  EXPECT_EQ(sort([&] { std::filesystem::permissions(in, std::filesystem::perms::owner_read); }), "sorted");
  EXPECT_EQ(sort([&] {
              std::filesystem::remove(folder / "link");
              std::filesystem::create_hard_link(in, folder / "link");
            }),
            "sorted");
  EXPECT_EQ(sort([&] { std::filesystem::rename(in, folder / "moved"); }), "sorted");
}

// A rewritten input can look like an error of the program or the machine: a line may have no end, or a run may no
// longer be sorted.
TEST(ExternalSort, BlamesRewrittenInputsAndNotItself) {
  const TempFolder folder;
  std::string lines, other;
  for (int i = 100000; i < 400000; ++i) lines += std::to_string(i) + "\n";
  const std::string same(lines.size(), 'x'), longer(lines.size() + 1000, '9');
  for (std::size_t i = 0; i < lines.size(); ++i) other += lines[lines.size() - 2 - i % (lines.size() - 1)];
  const std::vector<std::vector<std::string>> jobs = {
      {"--batch-size", "100000"}, {"-m"}, {"-m", "--type", "u64"}, {"-u"}, {"--top", "300000"}};
  for (std::vector<std::string> args : jobs) {
    for (const std::string& content : {same, longer, other, other + longer}) {
      if (testing::LeftOut(args.size() + content.size())) continue;
      std::ofstream(folder / "in") << lines.substr(0, lines.size() / 8 * 8);
      std::vector<std::string> all = args;
      // With more threads, -m opens no GPU, so that nothing would overwrite the file.
      all.insert(all.end(), {"--memory", "3M", "--threads", "2", "-o", folder / "out", folder / "in"});
      if (std::find(args.begin(), args.end(), "--type") == args.end()) all.insert(all.begin(), {"--format", "lines"});
      const GpuSource gpus{0, [] { return true; },
                           [&](int, std::chrono::seconds) -> std::unique_ptr<Backend> {
                             // Overwrite the file in place, with a new time.
                             std::fstream(folder / "in", std::ios::in | std::ios::out) << content;
                             std::filesystem::last_write_time(folder / "in",
                                                              std::filesystem::file_time_type::clock::now());
                             throw Error(ErrorCode::kGpuLost, "none");
                           }};
      try {
        Sort(all, gpus);
        FAIL() << "sorted what was rewritten: " << args[0] << " " << content.substr(0, 9);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kBadInput) << args[0] << " " << content.substr(0, 9) << ": " << error.what();
      }
    }
  }
}

TEST(ExternalSort, NamesDisorderAtTheBorderOfTwoBlocks) {
  const TempFolder folder;
  const std::vector<std::string> args = {"-m",       "--type", "u64", "--block-size", "64K",
                                         "--memory", "8M",     "-o",  folder / "out", folder / "in"};
  const RecordLayout layout = Parse(args).order.layout;
  // Input is read in pieces of a block less the slack for direct reads.
  constexpr std::size_t kBorder = (65536 - 8192) / 8;
  Bytes input = StableSorted(MakeRecords(layout, 30000, Keys::kRandom, 1), layout);
  std::swap_ranges(input.begin(), input.begin() + kBorder * 8, input.begin() + kBorder * 8);
  WriteFile(folder / "in", input);
  try {
    Sort(args);
    FAIL() << "an unsorted input was merged";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_NE(std::string(error.what()).find("record 7168 "), std::string::npos) << error.what();
  }
}

TEST(ExternalSort, WritesOntoItsInputAlsoByLink) {
  const TempFolder folder;
  const RecordLayout layout = Parse({"--type", "u32", folder / "in", folder / "in"}).order.layout;
  const Bytes input = MakeRecords(layout, 10000, Keys::kRandom, 3);
  WriteFile(folder / "in", input);
  Sort({"--type", "u32", "--memory", "3M", "--batch-size", "5000", folder / "in", folder / "in"});
  EXPECT_EQ(ReadFile(folder / "in"), StableSorted(input, layout));

  WriteFile(folder / "in", input);
  std::filesystem::create_symlink(folder / "in", folder / "link");
  Sort({"--type", "u32", folder / "in", folder / "link"});
  EXPECT_EQ(ReadFile(folder / "in"), StableSorted(input, layout));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
}

TEST(ExternalSort, RefusesBadInputBeforeTheOutputIsTouched) {
  const TempFolder folder;
  WriteFile(folder / "out", {9});
  WriteFile(folder / "odd", Bytes(10));
  WriteFile(folder / "good", Bytes(16));
  EXPECT_EQ(CodeOf({"--type", "u64", folder / "missing", folder / "out"}), 2);
  EXPECT_EQ(CodeOf({"--type", "u64", folder / "odd", folder / "out"}), 3);
  EXPECT_EQ(CodeOf({"--type", "u64", folder.path(), folder / "out"}), 2);
  EXPECT_EQ(CodeOf({"--type", "u64", folder / "good", folder / "no/out"}), 2);
  EXPECT_EQ(CodeOf({"--type", "u64", folder / "good", folder.path()}), 2);
  EXPECT_EQ(CodeOf({"--type", "u64", "--temp-dir", folder / "no", folder / "good", folder / "out"}), 2);
  EXPECT_EQ(CodeOf({"--type", "u64", "--device", "gpu:77", folder / "good", folder / "out"}), 7);
  EXPECT_EQ(CodeOf({"--record-size", "16", "--memory", "1K", folder / "good", folder / "out"}), 2);
  EXPECT_EQ(ReadFile(folder / "out"), (Bytes{9}));
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"good", "odd", "out"}));
}

TEST(ExternalSort, CheckNamesTheFirstRecordOutOfOrder) {
  const TempFolder folder;
  WriteFile(folder / "in", Bytes{1, 2, 3, 5, 4, 6});
  const auto check = [&](std::vector<std::string> args) -> std::string {
    args.push_back(folder / "in");
    const JobSpec spec = Parse(args);
    CancelFlag cancel;
    try {
      CheckSorted(spec, cancel);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNotSorted);
      return error.what();
    }
    return "sorted";
  };
  EXPECT_NE(check({"--check", "--type", "u8"}).find("record 4 (byte 4)"), std::string::npos);
  WriteFile(folder / "in", Bytes{1, 2, 2, 5});
  EXPECT_EQ(check({"--check", "--type", "u8"}), "sorted");
  EXPECT_NE(check({"--check", "-u", "--type", "u8"}).find("record 2"), std::string::npos);
  EXPECT_NE(check({"--check", "-r", "--type", "u8"}).find("record 1"), std::string::npos);
}

// Sorts with a fake GPU: device runs, host runs and spilled runs at the same time, and every call failing.
class FakeGpuSort : public ::testing::Test {
 protected:
  void Run(FakeGpuPlan& plan, std::vector<std::string> more, bool expect_success = true) {
    std::vector<std::string> args = {"--record-size", "24",       "--key", "3:u16",        "--device",
                                     "gpu:0",         "--memory", "24M",   folder_ / "in", folder_ / "out"};
    args.insert(args.begin(), more.begin(), more.end());
    const RecordLayout layout = Parse(args).order.layout;
    if (input_.empty()) {
      input_ = MakeRecords(layout, 400000, Keys::kRandom, 11);
      expected_ = StableSorted(input_, layout);
      WriteFile(folder_ / "in", input_);
    }
    const GpuSource gpus = FakeGpus(plan);
    Sort(args, gpus);
    if (expect_success) {
      ASSERT_EQ(ReadFile(folder_ / "out"), expected_);
    }
  }
  const TempFolder folder_;
  Bytes input_, expected_;
};

TEST_F(FakeGpuSort, UsesAllTiers) {
  for (const char* device : {"6M", "8M", "64M"}) {
    FakeGpuPlan plan;
    Run(plan, {"--gpu-memory", device, "--batch-size", "500000"});
  }
}

TEST_F(FakeGpuSort, FallsBackToTheCpuWhereverTheGpuIsLost) {
  FakeGpuPlan counting;
  auto with_auto = [&](FakeGpuPlan& plan) {
    const std::vector<std::string> args = {"--record-size", "24",    "--key",        "3:u16",
                                           "--gpu-memory",  "4400K", "--batch-size", "20000",
                                           "--memory",      "24M",   folder_ / "in", folder_ / "out"};
    const RecordLayout layout = Parse(args).order.layout;
    if (input_.empty()) {
      input_ = MakeRecords(layout, 30000, Keys::kRandom, 12);
      expected_ = StableSorted(input_, layout);
      WriteFile(folder_ / "in", input_);
    }
    const GpuSource gpus = FakeGpus(plan);
    Sort(args, gpus);
    ASSERT_EQ(ReadFile(folder_ / "out"), expected_);
  };
  with_auto(counting);
  const std::int64_t calls = counting.calls;
  ASSERT_GT(calls, 50);
  for (std::int64_t n = 0; n < calls; n += 1 + calls * testing::Stride() / 60) {
    for (const bool sticky : {true, false}) {
      FakeGpuPlan plan;
      plan.fail_at = n;
      plan.sticky = sticky;
      with_auto(plan);
      if (HasFatalFailure()) FAIL() << "call " << n << (sticky ? " sticky" : " out of memory");
    }
  }
}

TEST_F(FakeGpuSort, FreesTheTempSpaceOfRunsThatItGivesUp) {
  // The input is a stream, because no part of a stream stays on the device alone. It is larger than the memory for runs
  // on the host. A batch fills eight blocks exactly.
  const std::vector<std::string> args = {"--record-size",
                                         "24",
                                         "--key",
                                         "3:u16",
                                         "--gpu-memory",
                                         "5M",
                                         "--memory",
                                         "24M",
                                         "--threads",
                                         "2",
                                         "--batch-size",
                                         "523776",
                                         "--block-size",
                                         "64K",
                                         "--stats",
                                         folder_ / "stats",
                                         "-",
                                         folder_ / "out"};
  const RecordLayout layout = Parse(args).order.layout;
  input_ = MakeRecords(layout, 700000, Keys::kRandom, 12);
  expected_ = StableSorted(input_, layout);
  WriteFile(folder_ / "in", input_);
  std::int64_t calls = 0;
  for (std::int64_t n = -1; n < calls; n += n < 0 ? 1 : 1 + calls * testing::Stride() / 40) {
    FakeGpuPlan plan;
    plan.fail_at = n;
    const GpuSource gpus = FakeGpus(plan);
    const StandardInput stream(folder_ / "in");
    Sort(args, gpus);
    ASSERT_EQ(ReadFile(folder_ / "out"), expected_);
    if (n < 0) calls = plan.calls;
    const nlohmann::json stats = Stats(folder_ / "stats");
    if (n < 0) {
      ASSERT_GT(stats["tiers"]["temp"], 5);
    }
    // After the loss of a GPU everything may be spilled. A run that was given up but kept would add half a megabyte.
    ASSERT_LE(stats["temp_bytes"]["peak"], input_.size() / 64 * 65 + 2 * 65536)
        << "lost at call " << n << " of " << calls;
  }
  EXPECT_GT(calls, 100);
}

TEST_F(FakeGpuSort, IsExit7WhenTheGpuWasAskedFor) {
  FakeGpuPlan plan;
  plan.fail_at = 6;
  WriteFile(folder_ / "out", {1});
  try {
    Run(plan, {"--gpu-memory", "8M", "--batch-size", "500000"}, false);
    FAIL() << "a lost GPU went unnoticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kGpuLost);
  }
  EXPECT_EQ(ReadFile(folder_ / "out"), (Bytes{1}));
}

// Tests of lines.

const std::vector<std::vector<std::string>>& LinePlans() {
  static const std::vector<std::vector<std::string>> plans = {
      {"--threads", "2"},
      {"--memory", "16M", "--batch-bytes", "9000", "--threads", "2"},
      {"--memory", "3M", "--batch-bytes", "700", "--fan-in", "3", "--threads", "1"},
      {"--memory", "3M", "--batch-bytes", "1", "--threads", "3"}};
  return plans;
}

TEST(ExternalSortLines, EqualAStableSortForEveryOrderKindAndTier) {
  const TempFolder folder;
  std::uint64_t seed = 0, cases = 0;
  for (const LineOrder& order : SomeOrders()) {
    for (const Lines kind : kAllLines) {
      for (const std::size_t count : {0, 1, 2, 70, 1500}) {
        const unsigned char delimiter = ++seed % 4 == 0 ? 0 : '\n';
        Bytes input = MakeLines(kind, count, delimiter, seed);
        if (seed % 3 == 0 && !input.empty()) input.pop_back();
        const Bytes expected = StableSortedLines(input, delimiter, order.view());
        WriteFile(folder / "in", input);
        for (const std::vector<std::string>& plan : LinePlans()) {
          if (plan.back() == "3" && count > 100) continue;  // this plan would make a run for each line
          if (testing::LeftOut(++cases)) continue;
          std::vector<std::string> args = plan;
          args.insert(args.end(), {folder / "in", folder / "out"});
          SortLines(LineOptions(args, order, delimiter));
          ASSERT_TRUE(ReadFile(folder / "out") == expected)
              << "kind " << static_cast<int>(kind) << " count " << count << " seed " << seed << " plan " << plan[1];
        }
      }
    }
  }
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"in", "out"}));
}

TEST(ExternalSortLines, ComeFromStreamsAndSeveralInputsInTheirOrder) {
  const TempFolder folder;
  const LineOrder order = SomeOrders()[2];  // stable by the second field
  std::uint64_t seed = 100;
  for (const Lines kind : kAllLines) {
    for (const std::vector<std::string>& plan : LinePlans()) {
      if (plan.back() == "3") continue;
      Bytes all;
      std::vector<std::string> args = plan;
      args.insert(args.end(), {"-o", folder / "out"});
      for (const char* name : {"a", "b", "c", "d"}) {
        Bytes part = name[0] == 'b' ? Bytes() : MakeLines(kind, 400, '\n', ++seed);
        if (seed % 2 == 0 && !part.empty()) part.pop_back();
        WriteFile(folder / name, part);
        all.insert(all.end(), part.begin(), part.end());
        if (!part.empty() && part.back() != '\n') all.push_back('\n');
        args.push_back(folder / name);
      }
      const Bytes expected = StableSortedLines(all, '\n', order.view());
      SortLines(LineOptions(args, order, '\n'));
      ASSERT_TRUE(ReadFile(folder / "out") == expected) << static_cast<int>(kind) << " files, plan " << plan[1];
      args[args.size() - 2] = "-";
      const StandardInput stream(folder / "c");
      SortLines(LineOptions(args, order, '\n'));
      ASSERT_TRUE(ReadFile(folder / "out") == expected) << static_cast<int>(kind) << " stream, plan " << plan[1];
    }
  }
}

/// Removes the lines that -u removes from sorted lines.
void KeepFirsts(std::vector<std::string>& lines, const LineOrderView& view) {
  const auto equal = [&](const std::string& a, const std::string& b) { return CompareText(a, b, view) == 0; };
  lines.erase(std::unique(lines.begin(), lines.end(), equal), lines.end());
}

TEST(ExternalSortLines, KeepTheFirstOfEqualKeysAndMergeSortedInputs) {
  const TempFolder folder;
  std::uint64_t seed = 200, cases = 0;
  for (const LineOrder& order : SomeOrders()) {
    for (const Lines kind : kAllLines) {
      Bytes all;
      std::vector<std::string> args = {"--memory", "16M", "--fan-in", "2", "-o", folder / "out"};
      for (const char* name : {"a", "b", "c", "d", "e"}) {
        const Bytes part = StableSortedLines(MakeLines(kind, 300, '\n', ++seed), '\n', order.view());
        WriteFile(folder / name, part);
        all.insert(all.end(), part.begin(), part.end());
        args.push_back(folder / name);
      }
      for (const bool unique : {false, true}) {
        for (const bool merge : {false, true}) {
          std::vector<std::string> more = args;
          if (unique) more.insert(more.begin(), "-u");
          if (merge) more.insert(more.begin(), "-m");
          if (!merge) more.insert(more.begin(), {"--batch-bytes", "3000"});
          if (testing::LeftOut(++cases)) continue;
          const JobSpec spec = LineOptions(more, order, '\n');
          // Left out: with -m -u, the inputs would have to be sorted by the order without the last resort.
          if (merge && unique && order.last_resort && !order.keys.empty()) continue;
          std::vector<std::string> lines = SplitLines(StableSortedLines(all, '\n', spec.order.lines->view), '\n');
          if (unique) KeepFirsts(lines, spec.order.lines->view);
          SortLines(spec);
          ASSERT_TRUE(ReadFile(folder / "out") == JoinLines(lines, '\n'))
              << "kind " << static_cast<int>(kind) << (unique ? " -u" : "") << (merge ? " -m" : "");
        }
      }
    }
  }
}

TEST(ExternalSortLines, KeepTheFirstOfGroupsThatGoOverChunksAndWindows) {
  const TempFolder folder;
  // Chunks have 4 MiB, and more than 9 MiB of lines have one key, so a whole chunk is dropped.
  std::string text;
  const char* const keys[] = {"b", "d", "a", "c"};
  for (std::uint64_t i = 0; text.size() < (std::uint64_t{10} << 20); ++i) {
    text += keys[i % 29 == 0 ? i % 3 : 3];
    text += ' ' + std::string(200, 'x') + std::to_string(i % 100000) + '\n';
  }
  const Bytes input(text.begin(), text.end());
  WriteFile(folder / "in", input);
  std::uint64_t number = 0;
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{"-u", "-k1,1"}, {"-u"}, {"-u", "-k1,1", "--top", "3"}, {"-u", "--top", "70000"}}) {
    for (const char* memory : {"64M", "512M"}) {
      if (testing::LeftOut(number++)) continue;
      std::vector<std::string> args = how;
      args.insert(args.end(), {"--device", "cpu", "--memory", memory, folder / "in", folder / "out"});
      const JobSpec spec = Parse(args);
      std::vector<std::string> lines = SplitLines(StableSortedLines(input, '\n', spec.order.lines->view), '\n');
      KeepFirsts(lines, spec.order.lines->view);
      if (spec.order.top > 0 && lines.size() > spec.order.top) lines.resize(spec.order.top);
      SortLines(spec);
      ASSERT_TRUE(ReadFile(folder / "out") == JoinLines(lines, '\n')) << how.size() << " spec, " << memory;
    }
  }
}

TEST(ExternalSortLines, AnyNumberOfThreadsDoesWithAnyMemory) {
  const TempFolder folder;
  const Bytes input = MakeLines(Lines::kShort, 100000, '\n', 7);
  const Bytes expected = StableSortedLines(input, '\n', LineOrder{}.view());
  WriteFile(folder / "in", input);
  for (const char* memory : {"3M", "16M", "33M", "70M"}) {
    for (const char* threads : {"1", "16", "64"}) {
      SortLines(LineOptions({"--memory", memory, "--threads", threads, "-o", folder / "out", folder / "in"}, {}, '\n'));
      ASSERT_TRUE(ReadFile(folder / "out") == expected) << memory << ", " << threads << " threads";
    }
  }
}

TEST(ExternalSortLines, TakeNoLineThatIsLongerThanAllowed) {
  const TempFolder folder;
  Bytes input = MakeLines(Lines::kShort, 5000, '\n', 1);
  const std::size_t at = input.size();
  input.insert(input.end(), 150000, 'x');
  input.push_back('\n');
  input.insert(input.end(), {'b', '\n'});
  const Bytes expected = StableSortedLines(input, '\n', LineOrder{}.view());
  WriteFile(folder / "in", input);
  const auto sort = [&](std::vector<std::string> args) -> std::string {
    args.insert(args.end(), {"--memory", "8M", "-o", folder / "out", folder / "in"});
    try {
      SortLines(LineOptions(args, {}, '\n'));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput) << error.what();
      return error.what();
    }
    EXPECT_TRUE(ReadFile(folder / "out") == expected);
    return "sorted";
  };
  for (const char* batch : {"4M", "100", "60000"}) {
    EXPECT_EQ(sort({"--batch-bytes", batch}), "sorted");
    EXPECT_EQ(sort({"--batch-bytes", batch, "--max-record", "150001"}), "sorted");
    EXPECT_NE(sort({"--batch-bytes", batch, "--max-record", "150000"}).find("byte " + std::to_string(at) + " "),
              std::string::npos);
  }
  WriteFile(folder / "in", expected);
  EXPECT_EQ(sort({"-m"}), "sorted");
  EXPECT_NE(sort({"-m", "--max-record", "100"}).find("byte " + std::to_string(expected.size() - 150001) + " "),
            std::string::npos);
  std::filesystem::remove(folder / "in");
  WriteFile(folder / "in", input);
  EXPECT_NE(sort({"-m"}).find("not sorted"), std::string::npos);
}

/// Returns lines of all lengths. Some are much longer than planned: at the front, at the end, and next to each other.
Bytes LinesOfAnyLength(std::uint64_t seed) {
  Bytes input;
  const auto add = [&](std::size_t count, unsigned char with) {
    input.insert(input.end(), count, with);
    input.push_back('\n');
  };
  if (seed % 2 == 0) add(1900000, 'm');
  const Bytes some = MakeLines(Lines::kRandom, 20000, '\n', seed);
  input.insert(input.end(), some.begin(), some.end());
  add(2500000, 'f');
  add(2500001, 'f');
  add(2500000, 'f');
  const Bytes more = MakeLines(Lines::kFewValues, 20000, '\n', seed + 1);
  input.insert(input.end(), more.begin(), more.end());
  if (seed % 2 == 1) add(1900000, '7');
  return input;
}

TEST(ExternalSortLines, OfAnyLengthTakeTheMemoryThatTheyNeedIfTheyMay) {
  const TempFolder folder;
  const LineOrder plain, general{.keys = {LineKey{.ordering = LineOrdering::kGeneral}}, .last_resort = true};
  for (const LineOrder& order : {plain, general}) {
    if (testing::Stride() > 7 && !order.keys.empty()) continue;
    for (std::uint64_t seed = 1; seed <= (testing::Stride() > 1 ? 1 : 2); ++seed) {
      const Bytes input = LinesOfAnyLength(seed);
      WriteFile(folder / "in", input);
      const Bytes expected = StableSortedLines(input, '\n', order.view());
      for (const std::vector<std::string>& plan : std::vector<std::vector<std::string>>{
               {"--memory", "4M"},
               {"--memory", "8M"},
               {"--memory", "12M", "--batch-bytes", "100000", "--fan-in", "3"},
               {"--memory", "9M", "--threads", "1", "--compress-temp", "lz4", "--batch-bytes", "1M"},
               {"--memory", "256M"}}) {
        for (const char* name : {"in", "-"}) {
          // In builds that are ten times slower: the smallest memory for a file, and a memory that merges in levels for
          // a stream.
          const std::string only = *name == '-' ? "12M" : "4M";
          if (testing::Stride() > 1 && plan[1] != only) continue;
          std::vector<std::string> args = plan;
          args.insert(args.end(), {"-o", folder / "out", *name == '-' ? "-" : folder / "in"});
          JobSpec spec = LineOptions(args, order, '\n');
          spec.dialect.grows = true;
          spec.dialect.strict = false;
          const StandardInput stream(folder / "in");
          SortLines(spec);
          ASSERT_TRUE(ReadFile(folder / "out") == expected) << plan[1] << " " << name << " " << seed;
        }
      }
    }
  }
}

TEST(ExternalSortLines, TooLongForAGpuAreSortedByTheCpu) {
  const TempFolder folder;
  const LineOrder order;
  const Bytes input = LinesOfAnyLength(3);
  WriteFile(folder / "in", input);
  for (const char* name : {"in", "-"}) {
    JobSpec spec = LineOptions({"--memory", "32M", "--gpu-memory", "5M", "--batch-bytes", "60000", "--max-record",
                                "100000", "-o", folder / "out", *name == '-' ? "-" : folder / "in"},
                               order, '\n');
    spec.dialect.grows = true;
    FakeGpuPlan plan;
    const GpuSource gpus = FakeGpus(plan);
    const StandardInput stream(folder / "in");
    SortLines(spec, gpus);
    EXPECT_TRUE(ReadFile(folder / "out") == StableSortedLines(input, '\n', order.view())) << name;
    EXPECT_GT(plan.calls, 5);
  }
}

// Blocks of spilled runs are as long as their longest lines. Runs that stay in memory must leave room for such blocks.
TEST(ExternalSortLines, OfAStreamMayAllBeLong) {
  const TempFolder folder;
  std::mt19937_64 random(5);
  Bytes input;
  while (input.size() < 60'000'000) {
    const Bytes line = MakeLines(Lines::kRandom, 1, '\n', random());
    input.insert(input.end(), line.begin(), line.end() - 1);
    input.insert(input.end(), random() % 4 == 0 ? 9'000'000 : random() % 3'000'000, 'x');
    input.push_back('\n');
  }
  WriteFile(folder / "in", input);
  Sort({"--format", "lines", "--memory", "1G", folder / "in", folder / "expected"});
  const Bytes expected = ReadFile(folder / "expected");
  for (const auto& [memory, threads] : {std::pair{"150M", "64"}, std::pair{"180M", "2"}}) {
    const StandardInput stream(folder / "in");
    Sort({"--format", "lines", "--memory", memory, "--threads", threads, "--no-fsync", "-", folder / "out"});
    EXPECT_TRUE(ReadFile(folder / "out") == expected) << memory;
  }
}

// Runs of a stream stay in memory if there is enough: spilling them would cost a needless write and read.
TEST(ExternalSortLines, OfAStreamStayInMemoryThatHasRoom) {
  const TempFolder folder;
  const LineOrder order;
  Bytes input = MakeLines(Lines::kRandom, 500000, '\n', 4);
  WriteFile(folder / "in", input);
  const Bytes expected = StableSortedLines(input, '\n', order.view());
  const StandardInput stream(folder / "in");
  ASSERT_GT(input.size(), std::size_t{10} << 20);
  SortLines(LineOptions({"--memory", "200M", "--max-record", "1M", "--stats", folder / "stats", "-", folder / "out"},
                        order, '\n'));
  EXPECT_TRUE(ReadFile(folder / "out") == expected);
  nlohmann::json stats = Stats(folder / "stats");
  EXPECT_EQ(stats["tiers"]["temp"], 0) << stats["tiers"];
  // With a GPU, which may be lost, the runs stay in host memory.
  FakeGpuPlan plan;
  const GpuSource gpus = FakeGpus(plan);
  const StandardInput again(folder / "in");
  SortLines(LineOptions({"--memory", "200M", "--max-record", "1M", "--stats", folder / "stats", "-", folder / "out"},
                        order, '\n'),
            gpus);
  EXPECT_TRUE(ReadFile(folder / "out") == expected);
  stats = Stats(folder / "stats");
  EXPECT_EQ(stats["tiers"]["temp"], 0) << stats["tiers"];
  EXPECT_GT(stats["tiers"]["host"], 0) << stats["tiers"];
}

TEST(ExternalSortLines, CheckNamesTheFirstLineOutOfOrder) {
  const TempFolder folder;
  const auto check = [&](const std::string& text, std::vector<std::string> args = {}) -> std::string {
    WriteFile(folder / "in", Bytes(text.begin(), text.end()));
    args.insert(args.end(), {"--check", folder / "in"});
    CancelFlag cancel;
    try {
      CheckSorted(LineOptions(args, {}, '\n'), cancel);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNotSorted);
      return error.what();
    }
    return "sorted";
  };
  EXPECT_EQ(check(""), "sorted");
  EXPECT_EQ(check("\n\na\na\nb"), "sorted");
  EXPECT_NE(check("a\nc\nb").find("line 3 (byte 4) sorts before the previous"), std::string::npos);
  EXPECT_NE(check("a\na\n", {"-u"}).find("line 2 (byte 2) sorts before or equals"), std::string::npos);
  // A line that covers several blocks, followed by disorder.
  const std::string three(300000, 'b');
  EXPECT_EQ(check("a\n" + three + "\n" + three + "\nc\n", {"--memory", "8M"}), "sorted");
  EXPECT_NE(check("a\n" + three + "\n" + three + "\na\n", {"--memory", "8M"}).find("line 4 (byte 600004)"),
            std::string::npos);
  EXPECT_NE(check("b\n" + three + "\n" + three.substr(1) + "\n", {"--memory", "8M"}).find("line 3 (byte 300003)"),
            std::string::npos);
}

TEST(ExternalSortLines, GoThroughAllTiersOfAGpuAndSurviveItsLoss) {
  const TempFolder folder;
  const LineOrder order = SomeOrders()[2];
  Bytes input = MakeLines(Lines::kRandom, 20000, '\n', 5);
  const Bytes some = MakeLines(Lines::kLong, 2000, '\n', 6);
  input.insert(input.end(), some.begin(), some.end());
  const Bytes expected = StableSortedLines(input, '\n', order.view());
  WriteFile(folder / "in", input);
  const auto sort = [&](FakeGpuPlan& plan, const std::string& device_memory) {
    const GpuSource gpus = FakeGpus(plan);
    SortLines(LineOptions({"--memory", "24M", "--gpu-memory", device_memory, "--batch-bytes", "60000", "--max-record",
                           "100000", folder / "in", folder / "out"},
                          order, '\n'),
              gpus);
    ASSERT_TRUE(ReadFile(folder / "out") == expected);
  };
  std::int64_t calls = 0;
  for (const char* device_memory : {"3M", "5M", "64M"}) {
    FakeGpuPlan plan;
    sort(plan, device_memory);
    if (HasFatalFailure()) FAIL() << device_memory;
    calls = std::max<std::int64_t>(calls, plan.calls);
  }
  for (std::int64_t n = 0; n < calls; n += 1 + calls * testing::Stride() / 25) {
    FakeGpuPlan plan;
    plan.fail_at = n;
    sort(plan, "5M");
    if (HasFatalFailure()) FAIL() << "call " << n;
  }
}

TEST(ExternalSortLines, KeepTheirTopAndHeaderWhenTheGpuIsLost) {
  const TempFolder folder;
  const LineOrder order = SomeOrders()[2];
  const std::string header = "a header\n\n";
  const Bytes lines = MakeLines(Lines::kFewValues, 20000, '\n', 5);
  Bytes input(header.begin(), header.end());
  Bytes expected = input;
  input.insert(input.end(), lines.begin(), lines.end());
  WriteFile(folder / "in", input);
  std::vector<std::string> top = SplitLines(StableSortedLines(lines, '\n', order.view()), '\n');
  top.resize(300);
  const Bytes joined = JoinLines(top, '\n');
  expected.insert(expected.end(), joined.begin(), joined.end());
  std::int64_t calls = 1;
  for (std::int64_t n = -1; n < calls; n += 1 + calls / 25) {
    FakeGpuPlan plan;
    plan.fail_at = n;
    const GpuSource gpus = FakeGpus(plan);
    SortLines(LineOptions({"--memory", "24M", "--gpu-memory", "3M", "--batch-bytes", "60000", "--max-record", "100000",
                           "--fan-in", "3", "--top", "300", "--header", "2", folder / "in", folder / "out"},
                          order, '\n'),
              gpus);
    ASSERT_TRUE(ReadFile(folder / "out") == expected) << "call " << n;
    calls = std::max<std::int64_t>(calls, plan.calls);
  }
}

// Keys that only save time take no temp space: input that is in order stays in its file, for every order.
TEST(ExternalSortLines, ByVersionsTakeNoTempSpaceIfInOrder) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 600000; ++i) text += "v" + std::to_string(i) + ".tar.gz\n";
  WriteFile(folder / "in", Bytes(text.begin(), text.end()));
  Sort({"--format", "lines", "-V", "--memory", "16M", "--batch-bytes", "1M", "--device", "cpu", "--no-fsync", "--stats",
        folder / "stats", folder / "in", folder / "out"});
  EXPECT_EQ(ReadFile(folder / "out"), ReadFile(folder / "in"));
  // The last batch is short and may be spilled.
  EXPECT_LT(Stats(folder / "stats")["temp_bytes"]["written"], text.size() / 8);
}

// Keyed records of files lie on the device alone, as well. After the loss of the device everything is read again,
// whatever runs are kept.
TEST(ExternalSortLines, WithKeysStayOnAGpuAndSurviveItsLoss) {
  const TempFolder folder;
  std::string csv = "id,name\n";
  std::vector<std::pair<int, std::string>> rows;
  for (int i = 0; i < 12000; ++i) {
    const int id = i * 7919 % 5003;
    const std::string row = std::to_string(id) + ",\"a,\n" + std::to_string(i) + "\"\n";
    rows.emplace_back(id, row);
    csv += row;
  }
  csv += "none,no value\n";
  rows.emplace_back(1 << 30, "none,no value\n");
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string expected = "id,name\n";
  for (const auto& [id, row] : rows) expected += row;
  WriteFile(folder / "in.csv", Bytes(csv.begin(), csv.end()));
  const auto sort = [&](FakeGpuPlan& plan, const std::string& device_memory) {
    const GpuSource gpus = FakeGpus(plan);
    Sort({"--memory", "24M", "--gpu-memory", device_memory, "--batch-bytes", "20000", "--max-record", "10000",
          "--stats", folder / "stats", "-k", "id:int", folder / "in.csv", folder / "out.csv"},
         gpus);
    ASSERT_TRUE(ReadFile(folder / "out.csv") == Bytes(expected.begin(), expected.end()));
    const nlohmann::json notes = Stats(folder / "stats")["notes"];
    ASSERT_EQ(std::count_if(notes.begin(), notes.end(),
                            [](const auto& note) { return std::string(note).find("is no int") != std::string::npos; }),
              1)
        << notes;
  };
  std::int64_t calls = 0;
  for (const char* device_memory : {"3M", "4M", "64M"}) {
    FakeGpuPlan plan;
    sort(plan, device_memory);
    if (HasFatalFailure()) FAIL() << device_memory;
    const nlohmann::json tiers = Stats(folder / "stats")["tiers"];
    EXPECT_GT(tiers["device"], 0) << device_memory << ": " << tiers;
    if (device_memory == std::string("64M")) {
      EXPECT_EQ(tiers["host"], 0) << tiers;
    }
    calls = std::max<std::int64_t>(calls, plan.calls);
  }
  for (std::int64_t n = 0; n < calls; n += 1 + calls * testing::Stride() / 25) {
    for (const bool sticky : {true, false}) {
      FakeGpuPlan plan;
      plan.fail_at = n;
      plan.sticky = sticky;
      sort(plan, "4M");
      if (HasFatalFailure()) FAIL() << "call " << n << (sticky ? " sticky" : " out of memory");
    }
  }
}

// The blocks of a stream stay in memory until their run is safe. A line may be longer than all blocks of the requested
// size.
TEST(ExternalSortLines, TakeALongLineOfAStreamThroughAGpu) {
  const TempFolder folder;
  const LineOrder order;
  Bytes input = MakeLines(Lines::kShort, 500, '\n', 1);
  input.insert(input.end(), 1200000, 'x');
  input.push_back('\n');
  const Bytes rest = MakeLines(Lines::kShort, 500, '\n', 2);
  input.insert(input.end(), rest.begin(), rest.end());
  WriteFile(folder / "in", input);
  const StandardInput stream(folder / "in");
  FakeGpuPlan plan;
  const GpuSource gpus = FakeGpus(plan);
  SortLines(LineOptions({"--memory", "24M", "--batch-bytes", "20000", "-", folder / "out"}, order, '\n'), gpus);
  EXPECT_TRUE(ReadFile(folder / "out") == StableSortedLines(input, '\n', order.view()));
  EXPECT_GT(plan.calls, 5);
}

// Under a limit on threads the sort uses fewer threads, or ends with exit code 6 and says why. The test runs in another
// process and as another user.
TEST(ExternalSort, AnswersALimitOnThreadsByFewerOfThemOrExit6) {
  if (geteuid() != 0) GTEST_SKIP() << "NOT TESTED: only root can take on another user's limit";
  const TempFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  const RecordLayout layout = Parse({"--type", "u64", "a", "b"}).order.layout;
  const Bytes input = MakeRecords(layout, 200000, Keys::kRandom, 4);
  const Bytes expected = StableSorted(input, layout);
  WriteFile(folder / "in", input);
  const auto sort = [&](bool gpu, rlim_t threads) {
    const rlimit limit{threads, threads};
    // Uses a separate user, because the limit counts the threads of all processes of a user.
    const uid_t user = 50000 + static_cast<uid_t>(getppid()) % 10000;
    if (setresuid(user, user, user) != 0 || setrlimit(RLIMIT_NPROC, &limit) != 0) return 99;
    FakeGpuPlan plan;
    const GpuSource gpus{
        0, [&] { return gpu; },
        [&](int, std::chrono::seconds) -> std::unique_ptr<Backend> { return std::make_unique<FakeGpu>(plan); }};
    try {
      // The other user may not write in TMPDIR.
      Sort({"--type", "u64", "--memory", "8M", "--gpu-memory", "4M", "--batch-size", "200000", "--threads", "4",
            "--log-level", "off", "--temp-dir", folder.path(), folder / "in", folder / "out"},
           gpus);
      return 0;
    } catch (const Error& error) {
      const bool named = std::string(error.what()).find("ulimit -u") != std::string::npos;
      return error.code() == ErrorCode::kOutOfMemory && !named ? 98 : static_cast<int>(error.code());
    } catch (const std::exception&) {
      return 9;
    }
  };
  for (const bool gpu : {false, true}) {
    int first_done = 0;
    for (int threads = 1; threads <= 20; ++threads) {
      const pid_t child = fork();
      if (child == 0) _exit(sort(gpu, static_cast<rlim_t>(threads)));
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFEXITED(status)) << threads << " threads, status " << status;
      const int code = WEXITSTATUS(status);
      ASSERT_TRUE(code == 0 || code == 6) << threads << " threads, exit " << code;
      EXPECT_EQ(std::filesystem::exists(folder / "out"), code == 0);
      if (code != 0) continue;
      if (first_done == 0) first_done = threads;
      EXPECT_EQ(ReadFile(folder / "out"), expected) << threads;
      std::filesystem::remove(folder / "out");
    }
    EXPECT_GT(first_done, 1);
    EXPECT_LT(first_done, 12) << "a stage takes more threads than it needs";
  }
}

}  // namespace
}  // namespace gpusort::testing

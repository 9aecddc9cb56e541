#include "external_sort.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "fake_gpu.hpp"
#include "gpusort/error.hpp"
#include "records.hpp"

namespace gpusort::testing {
namespace {

Options Parse(std::vector<std::string> args) {
  std::vector<const char*> argv{"gpusort"};
  for (const std::string& arg : args) argv.push_back(arg.c_str());
  return ParseOptions(static_cast<int>(argv.size()), argv.data());
}

void Sort(std::vector<std::string> args, const GpuSource& gpus = {0, [] { return false; }, OpenCudaBackend}) {
  const Options options = Parse(std::move(args));
  CancelFlag cancel;
  // Publishing leaves signals blocked, which is for a process that ends then.
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  ExternalSort(options, cancel, gpus);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

/// Runs Sort and returns the code of the Error that it throws; 0 if it throws none.
int CodeOf(const std::vector<std::string>& args) {
  try {
    Sort(args);
  } catch (const Error& error) {
    return static_cast<int>(error.code());
  }
  return 0;
}

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
  std::uint64_t seed = 1;
  for (const Shape& shape : Shapes()) {
    std::vector<std::string> args = shape.args;
    args.insert(args.end(), {folder / "in", folder / "out"});
    const RecordLayout layout = Parse(args).layout;
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
    const RecordLayout layout = Parse(args).layout;
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
  const RecordLayout layout = Parse(args).layout;
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
  const RecordLayout layout = Parse(args).layout;
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

TEST(ExternalSort, NamesDisorderAtTheBorderOfTwoBlocks) {
  const TempFolder folder;
  const std::vector<std::string> args = {"-m",       "--type", "u64", "--block-size", "64K",
                                         "--memory", "8M",     "-o",  folder / "out", folder / "in"};
  const RecordLayout layout = Parse(args).layout;
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
  const RecordLayout layout = Parse({"--type", "u32", folder / "in", folder / "in"}).layout;
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
    const Options options = Parse(args);
    CancelFlag cancel;
    try {
      CheckSorted(options, cancel);
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

// With a backend that poses as a GPU: device runs, host tier and spilled runs side by side, and every call failing.
class FakeGpuSort : public ::testing::Test {
 protected:
  void Run(FakeGpuPlan& plan, std::vector<std::string> more, bool expect_success = true) {
    std::vector<std::string> args = {"--record-size", "24",       "--key", "3:u16",        "--device",
                                     "gpu:0",         "--memory", "24M",   folder_ / "in", folder_ / "out"};
    args.insert(args.begin(), more.begin(), more.end());
    const RecordLayout layout = Parse(args).layout;
    if (input_.empty()) {
      input_ = MakeRecords(layout, 400000, Keys::kRandom, 11);
      expected_ = StableSorted(input_, layout);
      WriteFile(folder_ / "in", input_);
    }
    const GpuSource gpus{0, [] { return true; },
                         [&](int) -> std::unique_ptr<Backend> { return std::make_unique<FakeGpu>(plan); }};
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
    const RecordLayout layout = Parse(args).layout;
    if (input_.empty()) {
      input_ = MakeRecords(layout, 30000, Keys::kRandom, 12);
      expected_ = StableSorted(input_, layout);
      WriteFile(folder_ / "in", input_);
    }
    const GpuSource gpus{0, [] { return true; },
                         [&](int) -> std::unique_ptr<Backend> { return std::make_unique<FakeGpu>(plan); }};
    Sort(args, gpus);
    ASSERT_EQ(ReadFile(folder_ / "out"), expected_);
  };
  with_auto(counting);
  const std::int64_t calls = counting.calls;
  ASSERT_GT(calls, 50);
  for (std::int64_t n = 0; n < calls; n += 1 + calls / 60) {
    for (const bool sticky : {true, false}) {
      FakeGpuPlan plan;
      plan.fail_at = n;
      plan.sticky = sticky;
      with_auto(plan);
      if (HasFatalFailure()) FAIL() << "call " << n << (sticky ? " sticky" : " out of memory");
    }
  }
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

}  // namespace
}  // namespace gpusort::testing

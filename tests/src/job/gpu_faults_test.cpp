// Tests every way in which a GPU can fail, in jobs of every kind: the GPU is lost, memory is refused, or one bit of a
// result is wrong. The CPU must then give the same bytes as a sort without a GPU. If the CPU may not or cannot help,
// nothing is published.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/output.hpp"
#include "fake_gpus.hpp"
#include "faulty_file_system.hpp"
#include "io/output_file.hpp"
#include "io/piece_sums.hpp"
#include "kernels/error.hpp"
#include "line_files.hpp"
#include "records.hpp"
#include "sanitized.hpp"
#include "sort_files.hpp"

namespace gpusort::testing {
namespace {

namespace fs = std::filesystem;

/// A kind of job. Its records with equal keys are identical, because tests do not check their order.
struct GpuJob {
  const char* name;
  std::vector<std::string> args;
  std::vector<std::string> inputs;
  std::string output = "out";
  bool keeps = false;    ///< has --resume-dir
  bool stream = false;   ///< the first input is standard input
  bool partial = false;  ///< --top: an error in omitted records goes unnoticed
};

const std::vector<GpuJob>& GpuJobs() {
  static const std::vector<GpuJob> jobs = {
      {"records", {"--record-size", "24", "--key", "3:bytes12"}, {"in.24"}},
      {"-u", {"--format", "lines", "-u"}, {"few.txt"}},
      {"lines in levels", {"--format", "lines", "-k2", "--fan-in", "3"}, {"in.txt", "few.txt"}},
      {"columns", {"-k", "id:int"}, {"in.csv"}, "out.csv"},
      {"--top", {"--format", "lines", "--top", "300"}, {"in.txt"}, "out", false, false, true},
      {"-m", {"-m", "--type", "u64"}, {"a.u64", "b.u64", "c.u64"}},
      {"--resume-dir", {"--type", "u64"}, {"in.u64"}, "out", true},
      {"columns that are kept", {"-k", "id:int"}, {"in.csv"}, "out.csv", true},
      {"a stream", {"--type", "u64"}, {"in.u64"}, "out", false, true},
      {"a stream of lines", {"--format", "lines", "-k2"}, {"in.txt"}, "out", false, true},
      {"compressed", {"--type", "u64"}, {"in.u64"}, "out.gz"},
      {"parts", {"--type", "u64", "--split", "3"}, {"in.u64"}},
  };
  return jobs;
}

class GpuFaults : public ::testing::Test {
 protected:
  GpuFaults() {
    const RecordLayout u64 = MakeFixedLayout(8, {});
    WriteFile(folder_ / "in.24", MakeRecords(MakeFixedLayout(24, {}), 8000, Keys::kRandom, 1));
    WriteFile(folder_ / "in.u64", MakeRecords(u64, 20000, Keys::kRandom, 2));
    WriteFile(folder_ / "in.txt", MakeLines(Lines::kRandom, 4000, '\n', 3));
    WriteFile(folder_ / "few.txt", MakeLines(Lines::kFewValues, 8000, '\n', 4));
    for (const char* name : {"a.u64", "b.u64", "c.u64"}) {
      // --type u64 is little-endian.
      const RecordLayout number = Parse({"--type", "u64", "a", "b"}).order.layout;
      WriteFile(folder_ / name, StableSorted(MakeRecords(number, 7000, Keys::kRandom, name[0]), number));
    }
    std::ofstream csv(folder_ / "in.csv");
    csv << "id,name\n";
    for (int i = 0; i < 6000; ++i) csv << i * 7919 % 6007 << ",\"x,\n" << i << "\"\n";
  }

  std::vector<std::string> Args(const GpuJob& job, const std::string& output) const {
    std::vector<std::string> args = job.args;
    args.insert(args.end(), {"--memory", "24M", "--threads", "2", "--log-level", "off", "--no-fsync", "-o", output});
    if (job.stream) args.push_back("-");
    for (std::size_t i = job.stream ? 1 : 0; i < job.inputs.size(); ++i) args.push_back(folder_ / job.inputs[i]);
    return args;
  }
  /// Returns arguments with which runs of all tiers occur.
  std::vector<std::string> GpuArgs(const GpuJob& job, const char* device) const {
    std::vector<std::string> args = Args(job, folder_ / job.output);
    const bool lines = job.args[0] == "-k" || job.args[1] == "lines";
    const char* const memory = lines && job.stream ? "16M" : lines ? "3M" : "2M";
    args.insert(args.end(), {"--device", device, "--gpu-memory", memory, "--batch-bytes", "12000", "--block-size",
                             "64K", "--stats", folder_ / "stats"});
    if (!job.stream && (job.inputs[0] == "in.txt" || job.inputs[0] == "few.txt" || job.inputs[0] == "in.csv")) {
      args.insert(args.end(), {"--max-record", "10000"});
    }
    if (job.keeps) args.insert(args.end(), {"--resume-dir", folder_ / "d", "--checkpoint", "40000"});
    return args;
  }
  /// Returns the code of the Error, or 0 if there is none.
  int Run(const GpuJob& job, const std::vector<std::string>& args, FakeGpuPlan& plan) {
    std::unique_ptr<StandardInput> stream;
    if (job.stream) stream = std::make_unique<StandardInput>(folder_ / job.inputs[0]);
    try {
      Sort(args, FakeGpus(plan));
    } catch (const Error& error) {
      what_ = error.what();
      return static_cast<int>(error.code());
    }
    return 0;
  }
  /// Returns all files that the job made, one after the other.
  Bytes Made(const GpuJob& job) const {
    Bytes all;
    for (const std::string& name : folder_.Names()) {
      if (!name.starts_with("out")) continue;
      const Bytes bytes = ReadFile(folder_ / name);
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    EXPECT_FALSE(fs::exists(folder_ / "d")) << job.name;
    return all;
  }
  void RemoveMade() const {
    fs::remove_all(folder_ / "d");
    for (const std::string& name : folder_.Names()) {
      if (name.starts_with("out")) fs::remove(folder_ / name);
    }
  }
  /// Returns the bytes that a sort without a GPU makes.
  Bytes Expected(const GpuJob& job) {
    FakeGpuPlan none;
    std::vector<std::string> args = Args(job, folder_ / job.output);
    args.insert(args.end(), {"--device", "cpu"});
    EXPECT_EQ(Run(job, args, none), 0) << job.name << ": " << what_;
    const Bytes made = Made(job);
    RemoveMade();
    return made;
  }
  /// Calls visit(n) for some of the calls that a job makes on a working GPU.
  void ForSomeCalls(const GpuJob& job, std::int64_t most, const std::function<void(std::int64_t)>& visit) {
    FakeGpuPlan counting;
    ASSERT_EQ(Run(job, GpuArgs(job, "auto"), counting), 0) << what_;
    const std::int64_t calls = counting.calls;
    ASSERT_GT(calls, 15);
    for (std::int64_t n = 3; n < calls; n += 1 + calls * testing::Stride() / most) visit(n);
  }
  bool NotesSay(const std::string& text) const {
    const nlohmann::json stats = Stats(folder_ / "stats");
    return std::any_of(stats["notes"].begin(), stats["notes"].end(),
                       [&](const auto& note) { return std::string(note).find(text) != std::string::npos; });
  }

  const TempFolder folder_;
  std::string what_;
};

TEST_F(GpuFaults, ALostGpuOrRefusedMemoryChangesNoByteOfAnyJob) {
  for (const GpuJob& job : GpuJobs()) {
    SCOPED_TRACE(job.name);
    const Bytes expected = Expected(job);
    ForSomeCalls(job, 6, [&](std::int64_t n) {
      for (const bool sticky : {true, false}) {
        RemoveMade();
        FakeGpuPlan plan;
        plan.fail_at = n;
        plan.sticky = sticky;
        ASSERT_EQ(Run(job, GpuArgs(job, "auto"), plan), 0) << "call " << n << ": " << what_;
        ASSERT_TRUE(Made(job) == expected) << "call " << n << (sticky ? " lost" : " refused");
      }
    });
    RemoveMade();
  }
}

TEST_F(GpuFaults, AWrongBitIsNeverPublished) {
  for (const GpuJob& job : GpuJobs()) {
    SCOPED_TRACE(job.name);
    const Bytes expected = Expected(job);
    int redone = 0, refused = 0;
    ForSomeCalls(job, 8, [&](std::int64_t n) {
      SCOPED_TRACE("call " + std::to_string(n));
      FakeGpuPlan plan;
      plan.flip_at = n;
      plan.seed = static_cast<std::uint64_t>(n);
      RemoveMade();
      const int code = Run(job, GpuArgs(job, "auto"), plan);
      if (job.partial) {
        ASSERT_TRUE(code == 0) << what_;
      } else if (job.stream) {
        ASSERT_TRUE(code == 0 || code == 8) << code << ": " << what_;
        refused += code == 8;
      } else {
        ASSERT_EQ(code, 0) << what_;
        const bool again = NotesSay("fake GPU (UUID fake) is suspect");
        redone += again;
        EXPECT_EQ(Stats(folder_ / "stats")["gpu"], !again);
      }
      if (code == 0 && !job.partial) {
        ASSERT_TRUE(Made(job) == expected);
      }
      // The user asked for the GPU: exit code 8, and the old output stays.
      RemoveMade();
      FakeGpuPlan same;
      same.flip_at = plan.flip_at;
      same.seed = plan.seed;
      const int asked = Run(job, GpuArgs(job, "gpu"), same);
      ASSERT_TRUE(asked == 0 || asked == 8) << asked << ": " << what_;
      if (asked == 0) {
        ASSERT_TRUE(job.partial || Made(job) == expected);
        return;
      }
      ++refused;
      EXPECT_NE(what_.find("is suspect"), std::string::npos) << what_;
      EXPECT_NE(what_.find("--device cpu"), std::string::npos) << what_;
      EXPECT_FALSE(fs::exists(folder_ / job.output));
      if (!job.keeps) return;
      // Kept runs are not trusted: the same command ends well, on the CPU or on a working GPU.
      FakeGpuPlan well;
      ASSERT_EQ(Run(job, GpuArgs(job, n % 2 == 0 ? "cpu" : "gpu"), well), 0) << what_;
      ASSERT_TRUE(Made(job) == expected);
    });
    if (testing::Stride() == 1 && !job.partial) {
      EXPECT_GT(redone + refused, 0) << job.name << ": nothing was found wrong";
    }
    RemoveMade();
  }
}

/// A GPU makes a wrong run and is lost, and the CPU goes on with the run. The sums show the fault at the end of the
/// merge, which has freed blocks of the runs.
TEST_F(GpuFaults, AWrongRunOfALostGpuIsMadeAgain) {
  int redone = 0;
  for (const std::size_t i : {0, 2, 3}) {
    const GpuJob& job = GpuJobs()[i];
    SCOPED_TRACE(job.name);
    const Bytes expected = Expected(job);
    ForSomeCalls(job, 6, [&](std::int64_t n) {
      for (const std::int64_t later : {1, 12}) {
        FakeGpuPlan plan;
        plan.flip_at = n;
        plan.seed = static_cast<std::uint64_t>(n);
        plan.fail_at = n + later;
        RemoveMade();
        ASSERT_EQ(Run(job, GpuArgs(job, "auto"), plan), 0) << "calls " << n << ", " << plan.fail_at << ": " << what_;
        ASSERT_TRUE(Made(job) == expected) << "calls " << n << ", " << plan.fail_at;
        redone += NotesSay("is suspect");
      }
    });
    RemoveMade();
  }
  if (testing::Stride() == 1) {
    EXPECT_GT(redone, 0) << "nothing was found wrong";
  }
}

TEST_F(GpuFaults, SeveralGpusGiveTheSameBytesAndShareTheWork) {
  for (const GpuJob& job : GpuJobs()) {
    SCOPED_TRACE(job.name);
    const Bytes expected = Expected(job);
    for (const int gpus : {2, 3}) {
      FakeGpuPlan plan;
      plan.gpus = gpus;
      plan.reach = gpus == 2;
      ASSERT_EQ(Run(job, GpuArgs(job, "gpu"), plan), 0) << what_;
      ASSERT_TRUE(Made(job) == expected) << gpus << " GPUs";
      RemoveMade();
      for (int gpu = 0; gpu < gpus; ++gpu) EXPECT_EQ(plan.opened[gpu], 1);
    }
  }
  const GpuJob job{"records", {"--record-size", "24", "--key", "3:bytes12"}, {"in.24"}};
  FakeGpuPlan plan;
  plan.gpus = 3;
  plan.together = true;
  std::vector<std::string> args = GpuArgs(job, "gpu");
  *(std::find(args.begin(), args.end(), "--gpu-memory") + 1) = "64M";
  *(std::find(args.begin(), args.end(), "--batch-bytes") + 1) = "1200";
  ASSERT_EQ(Run(job, args, plan), 0) << what_;
  const auto stats = Stats(folder_ / "stats");
  EXPECT_EQ(stats["backend"], "fake GPU 0 + fake GPU 1 + fake GPU 2");
  for (int gpu = 0; gpu < 3; ++gpu) EXPECT_GT(plan.sorted[gpu], 0) << "GPU " << gpu;
  EXPECT_GT(plan.crossed, 0);
}

// After one GPU is lost, CUDA answers no call of the process for any other GPU.
TEST_F(GpuFaults, OneLostGpuOfSeveralIsTheCpusTurn) {
  for (const GpuJob& job : GpuJobs()) {
    SCOPED_TRACE(job.name);
    const Bytes expected = Expected(job);
    FakeGpuPlan counting;
    counting.gpus = 3;
    ASSERT_EQ(Run(job, GpuArgs(job, "gpu"), counting), 0) << what_;
    for (std::int64_t n = 3; n < counting.calls; n += 1 + counting.calls * testing::Stride() / 6) {
      RemoveMade();
      FakeGpuPlan plan;
      plan.gpus = 3;
      plan.fail_at = n;
      ASSERT_EQ(Run(job, GpuArgs(job, "auto"), plan), 0) << "call " << n << ": " << what_;
      ASSERT_TRUE(Made(job) == expected) << "call " << n;
      // A job with --top can end before the call that fails, or without its result.
      const bool failed = NotesSay("the GPU failed: fake: illegal address; going on with the CPU");
      EXPECT_TRUE(failed || job.partial);
      EXPECT_EQ(Stats(folder_ / "stats")["gpu"], !failed);
      EXPECT_EQ(plan.opened[0], 1) << "a GPU was opened again";
      RemoveMade();
      FakeGpuPlan insists;
      insists.gpus = 3;
      insists.fail_at = n;
      const int code = Run(job, GpuArgs(job, "gpu"), insists);
      EXPECT_TRUE(code == 7 || (job.partial && code == 0)) << code;
    }
    RemoveMade();
  }
}

TEST_F(GpuFaults, EnoughThreadsMergeSortedInputsWithoutAGpu) {
  struct Case {
    const char *job, *device, *threads;
    std::int64_t opened;
  };
  for (const Case& c : {Case{"-m", "auto", "4", 1}, Case{"-m", "auto", "5", 0}, Case{"-m", "gpu", "5", 1},
                        Case{"records", "auto", "5", 1}}) {
    SCOPED_TRACE(std::string(c.job) + " " + c.device + " " + c.threads);
    const GpuJob& job = *std::find_if(GpuJobs().begin(), GpuJobs().end(),
                                      [&](const GpuJob& one) { return one.name == std::string(c.job); });
    const Bytes expected = Expected(job);
    std::vector<std::string> args = GpuArgs(job, c.device);
    *(std::find(args.begin(), args.end(), "--threads") + 1) = c.threads;
    FakeGpuPlan plan;
    GpuSource gpus = FakeGpus(plan);
    gpus.merging_threads = GpuSource{}.merging_threads;
    Sort(args, gpus);
    EXPECT_EQ(plan.opened[0], c.opened);
    EXPECT_TRUE(Made(job) == expected);
    RemoveMade();
  }
}

// The CPU takes over the buffers into which a stream was read for a GPU that cannot be opened.
TEST_F(GpuFaults, AStreamOfLinesIsSortedIfTheMemoryIsEnoughForTheCpu) {
  const GpuJob job{"a stream of lines", {"--format", "lines"}, {"in.txt"}, "out", false, true};
  const Bytes expected = Expected(job);
  for (const char* memory : {"2300K", "4M", "16M", "64M", "256M"}) {
    for (const char* threads : {"1", "2", "16"}) {
      for (const bool broken : {false, true}) {
        SCOPED_TRACE(std::string(memory) + " " + threads + (broken ? " broken" : ""));
        FakeGpuPlan plan;
        plan.gpus = threads == std::string("1") ? 4 : 1;
        GpuSource gpus = FakeGpus(plan);
        if (broken) {
          gpus.open = [&plan](int, std::chrono::seconds) -> std::unique_ptr<Backend> {
            ++plan.opened[0];
            throw Error(ErrorCode::kGpuLost, "fake: no driver");
          };
        }
        const StandardInput stream(folder_ / "in.txt");
        EXPECT_NO_THROW(Sort({"--format", "lines", "--memory", memory, "--threads", threads, "--log-level", "off",
                              "--no-fsync", "-o", folder_ / "out", "-"},
                             gpus));
        EXPECT_TRUE(Made(job) == expected);
        if (memory == std::string("256M") && threads == std::string("2")) {
          EXPECT_EQ(plan.opened[0], 1);
        }
        RemoveMade();
      }
    }
  }
}

// The slots of a GPU are in its own memory, so that long lines take less of the host's.
TEST_F(GpuFaults, MemoryThatIsEnoughOnlyWithAGpuIsUsed) {
  const GpuJob job{"long lines", {"--format", "lines"}, {"in.long"}};
  Bytes input = MakeLines(Lines::kRandom, 1000, '\n', 1);
  input.resize(input.size() + 3000000, 'x');
  input.push_back('\n');
  WriteFile(folder_ / "in.long", input);
  const auto sort = [&](const char* device, FakeGpuPlan& plan, const char* memory = "24M") {
    Sort({"--format", "lines", "--memory", memory, "--max-record", "3000K", "--threads", "1", "--device", device,
          "--log-level", "off", "--no-fsync", "-o", folder_ / "out", folder_ / "in.long"},
         FakeGpus(plan));
  };
  FakeGpuPlan plan;
  EXPECT_THROW(sort("cpu", plan), Error);
  EXPECT_EQ(plan.opened[0], 0);
  sort("auto", plan);
  EXPECT_EQ(plan.opened[0], 1);
  const Bytes made = Made(job);
  sort("cpu", plan, "256M");
  EXPECT_TRUE(made == Made(job));
}

TEST(UsefulGpus, AreAllForLargeInputsAndForInputsThatOneGpuDoesNotHold) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  EXPECT_EQ(UsefulGpus(20 * kGiB, 0, 4, 24 * kGiB), 1u);
  EXPECT_EQ(UsefulGpus(24 * kGiB, 0, 4, 24 * kGiB), 4u);
  EXPECT_EQ(UsefulGpus(6 * kGiB, 8 * kGiB, 4, 24 * kGiB), 1u);
  EXPECT_EQ(UsefulGpus(7 * kGiB, 8 * kGiB, 4, 24 * kGiB), 4u);
  EXPECT_EQ(UsefulGpus(24 * kGiB, 64 * kGiB, 4, 24 * kGiB), 4u);
  EXPECT_EQ(UsefulGpus(24 * kGiB, 0, 0, 24 * kGiB), 1u);  // the number of GPUs is unknown
}

TEST_F(GpuFaults, OpensTheGpusThatAreWorthIt) {
  const GpuJob& job = GpuJobs()[0];
  const Bytes expected = Expected(job);
  const auto opened = [&](FakeGpuPlan& plan, const char* device, std::uint64_t many_bytes = 0) {
    GpuSource gpus = FakeGpus(plan);
    gpus.many_bytes = many_bytes;
    RemoveMade();
    try {
      Sort(GpuArgs(job, device), gpus);
    } catch (const Error& error) {
      return std::to_string(static_cast<int>(error.code())) + " " + error.what();
    }
    EXPECT_TRUE(Made(job) == expected) << device;
    std::string text;
    for (const auto& [gpu, times] : plan.opened) text += (text.empty() ? "" : ",") + std::to_string(gpu);
    return text;
  };
  struct Case {
    const char* device;
    std::uint64_t many_bytes;
    const char* opened;
  };
  for (const Case& c :
       {Case{"gpu", 1 << 30, "0"}, Case{"gpu", 1000, "0,1,2,3"}, Case{"auto", 1 << 30, "0"},
        Case{"auto", 1000, "0,1,2,3"}, Case{"gpu:3", 0, "3"}, Case{"gpu:3,1", 0, "1,3"},
        Case{"gpu:0,1,2,3", 0, "0,1,2,3"}, Case{"gpu:1,4", 0, "7 fake: there is no GPU 4"}, Case{"cpu", 0, ""}}) {
    FakeGpuPlan plan;
    plan.gpus = 4;
    EXPECT_EQ(opened(plan, c.device, c.many_bytes), c.opened) << c.device;
  }
  // A GPU that cannot be opened or is full is left out, unless the user named it.
  FakeGpuPlan broken;
  broken.gpus = 3;
  broken.fail_at = 0;
  broken.fails = 1;
  EXPECT_EQ(opened(broken, "gpu"), "0,2");
  EXPECT_TRUE(NotesSay("GPU 1 is left out: fake: illegal address"));
  EXPECT_EQ(opened(broken, "gpu:0,1"), "7 fake: illegal address");
  FakeGpuPlan full;
  full.gpus = 3;
  full.device_bytes_of[0] = full.device_bytes / 5;
  EXPECT_EQ(opened(full, "gpu"), "0,1,2");
  EXPECT_TRUE(NotesSay("GPU 0 is left out: 204.8 MiB of its memory are free, of another's 1.0 GiB"));
  EXPECT_EQ(Stats(folder_ / "stats")["backend"], "fake GPU 1 + fake GPU 2");
  // If a GPU hangs while it is opened, no other GPU is opened.
  FakeGpuPlan hangs;
  hangs.gpus = 3;
  GpuSource gpus = FakeGpus(hangs);
  gpus.many_bytes = 0;
  gpus.open = [&, open = gpus.open](int gpu, std::chrono::seconds timeout) {
    if (gpu == 1) throw Error(ErrorCode::kGpuLost, "GPU 1 gave no sign");
    return open(gpu, timeout);
  };
  RemoveMade();
  Sort(GpuArgs(job, "auto"), gpus);
  EXPECT_TRUE(Made(job) == expected);
  EXPECT_TRUE(NotesSay("no GPU: GPU 1 gave no sign; sorting on the CPU"));
  EXPECT_THROW(Sort(GpuArgs(job, "gpu"), gpus), Error);
  // If fewer GPUs can be opened than the job wanted, the input is read from fewer places, so the runs have room.
  {
    const TempFolder folder;
    const RecordLayout layout = Parse({"--type", "u64", "a", "b"}).order.layout;
    const Bytes input = MakeRecords(layout, 8650752 / 8 * 5, Keys::kRandom, 4);
    WriteFile(folder / "in", input);
    std::vector<std::uint64_t> numbers(input.size() / 8);  // StableSorted() takes half a minute for so many
    std::memcpy(numbers.data(), input.data(), input.size());
    std::sort(numbers.begin(), numbers.end());
    Bytes sorted(input.size());
    std::memcpy(sorted.data(), numbers.data(), sorted.size());
    for (const int broken_gpu : {1, FakeGpuPlan::kAnyGpu}) {
      FakeGpuPlan few;
      few.gpus = 4;
      few.fail_at = 0;
      few.fails = broken_gpu;
      Sort({"--type", "u64", "--memory", "1G", "--no-fsync", "--log-level", "off", folder / "in", folder / "out"},
           FakeGpus(few));
      EXPECT_TRUE(ReadFile(folder / "out") == sorted) << broken_gpu;
    }
  }
  FakeGpuPlan none;
  none.gpus = 2;
  none.fail_at = 0;
  EXPECT_EQ(opened(none, "gpu"), "7 fake: illegal address");
  EXPECT_EQ(opened(none, "auto"), "");
  EXPECT_FALSE(NotesSay("left out"));
  RemoveMade();
}

/// Leaves kept runs of which one is wrong, as a GPU in an earlier process could.
TEST_F(GpuFaults, RunsThatAProcessBeforeLeftWrongAreMadeAgainOnce) {
  const GpuJob& job = GpuJobs()[6];
  ASSERT_TRUE(job.keeps);
  const Bytes expected = Expected(job);
  int stopped = 0;
  for (const std::uint64_t syncs : {25, 32}) {
    FakeGpuPlan plan;
    plan.flip_at = 7;
    plan.flips = 1000;  // so that one of the kept runs is wrong, whichever runs are kept
    FaultyFileSystem faulty;
    faulty.FailFrom(Call::kSync, syncs, EIO);
    const JobSpec spec = Parse(GpuArgs(job, "gpu"));
    CancelFlag cancel;
    try {
      SortJob(spec, cancel, faulty, Output::Open(faulty, spec, cancel), {}, FakeGpus(plan));
    } catch (const Error& error) {
      ASSERT_EQ(static_cast<int>(error.code()), 4) << error.what();
      ++stopped;
    }
    FakeGpuPlan none;
    ASSERT_EQ(Run(job, GpuArgs(job, "cpu"), none), 0) << what_;
    ASSERT_TRUE(Made(job) == expected);
    EXPECT_TRUE(NotesSay("the machine or GPU that made the kept runs is suspect"));
    RemoveMade();
  }
  EXPECT_EQ(stopped, 2);
}

/// The checksums that a part of a distributed job keeps are those of its file, also if the CPU has written the file
/// again.
TEST_F(GpuFaults, ChecksumsOfPiecesAreOfWhatWasWrittenAnew) {
  FileSystem files;
  std::unique_ptr<OutputFile> file = files.CreateOutput(folder_ / "out", false, OldFile::kReplaceOrRewrite);
  PieceSums sums;
  file->SumPieces(&sums);
  Output output(std::move(file));
  const std::vector<std::byte> wrong(4096, std::byte{'w'}), right(6144, std::byte{'r'});
  for (const std::uint64_t at : {0, 4096, 8192}) output.Write(at, wrong);
  output.Restart();
  for (const std::uint64_t at : {0, 6144}) output.Write(at, right);
  for (const PieceSum& piece : sums.Cover(12288)) {
    EXPECT_EQ(piece.hash, HashOfPiece(std::span(right).first(piece.bytes))) << piece.offset;
  }
}

/// Bytes that a stream has accepted cannot be taken back.
TEST_F(GpuFaults, OutputThatWasSentIsExit8ThatSaysSo) {
  // Most bytes are outside the key, so only the sum at the end shows that a byte is wrong.
  const GpuJob job{"standard output", {"--record-size", "24", "--key", "3:bytes5"}, {"in.24"}};
  const Bytes expected = Expected({"a file", job.args, job.inputs});
  int told = 0;
  FakeGpuPlan counting;
  for (std::int64_t n = -1; n < std::max<std::int64_t>(1, counting.calls); n += 1 + counting.calls / 12) {
    const std::string path = folder_ / "sent";
    const detail::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
    std::vector<std::string> args = GpuArgs(job, "auto");
    *(std::find(args.begin(), args.end(), "-o") + 1) = "/dev/fd/" + std::to_string(fd.get());
    FakeGpuPlan plan;
    plan.flip_at = n;
    plan.flips = 4;
    const int code = Run(job, args, n < 0 ? counting : plan);
    if (code == 0) {
      ASSERT_TRUE(ReadFile(path) == expected) << "call " << n;
      continue;
    }
    EXPECT_EQ(code, 8) << what_;
    EXPECT_NE(what_.find("has taken a part of it"), std::string::npos) << what_;
    ++told;
  }
  EXPECT_GT(told, 0);
}

}  // namespace
}  // namespace gpusort::testing

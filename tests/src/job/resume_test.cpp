// Tests jobs that continue after a failure: whatever call fails, and however often, the same options give the same
// bytes in the end. tests/cli/resume.sh tests killed processes.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fake_gpus.hpp"
#include "faulty_file_system.hpp"
#include "job/survival.hpp"
#include "kernels/error.hpp"
#include "line_files.hpp"
#include "records.hpp"
#include "sanitized.hpp"
#include "sort_files.hpp"

namespace gpusort::testing {
namespace {

namespace fs = std::filesystem;

/// Sorts as Sort does, on a given file system. Returns the code of the Error, or 0 if there is none.
int CodeOn(FileSystem& files, const std::vector<std::string>& args,
           const GpuSource& gpus = {0, [] { return false; }, OpenCudaBackend}) {
  const JobSpec spec = Parse(args);
  CancelFlag cancel;
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  int code = 0;
  try {
    SortJob(spec, cancel, files, Output::Open(files, spec, cancel), {}, gpus);
  } catch (const Error& error) {
    code = static_cast<int>(error.code());
  }
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  return code;
}

std::string CsvText(std::size_t count) {
  std::string text = "id,name\n";
  for (std::size_t i = 0; i < count; ++i) {
    text += std::to_string(i * 7919 % 1000) + ",\"" + std::string(i % 40, 'x') + (i % 9 == 0 ? "\n" : "") + "\"\n";
  }
  return text;
}

struct Kind {
  std::vector<std::string> args;
  const char* in;
};

class Resume : public ::testing::Test {
 protected:
  Resume() {
    WriteFile(folder_ / "in.u64", MakeRecords(MakeFixedLayout(8, {}), 30000, Keys::kRandom, 1));
    WriteFile(folder_ / "in.txt", MakeLines(Lines::kRandom, 8000, '\n', 2));
    std::ofstream(folder_ / "in.csv") << CsvText(8000);
  }

  /// Returns the output of the job without --resume-dir, in memory.
  Bytes Expected(std::vector<std::string> args, const std::string& in) {
    args.insert(args.end(), {folder_ / in, folder_ / "expected"});
    Sort(args);
    return ReadFile(folder_ / "expected");
  }
  std::vector<std::string> Job(std::vector<std::string> args, const std::string& in) const {
    args.insert(args.end(), {"--memory", in.ends_with(".csv") ? "10M" : "4M", "--batch-bytes", "40000", "--block-size",
                             "64K", "--checkpoint", "50000", "--fan-in", "3", "--log-level", "off", "--resume-dir",
                             folder_ / "d", folder_ / in, folder_ / "out"});
    return args;
  }
  Manifest Kept() const {
    const Bytes text = ReadFile(folder_ / "d/gpusort.manifest");
    return ReadManifest({reinterpret_cast<const char*>(text.data()), text.size()}, "manifest");
  }
  /// Returns the path of the partially written output, or an empty path.
  fs::path Partial() const {
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      if (entry.path().filename().string().ends_with(".partial")) return entry.path();
    }
    return {};
  }
  /// Leaves a stopped job that has a checkpoint of its output.
  void StopInMerge(const Kind& kind) {
    ASSERT_TRUE(StopAtSync(Job(kind.args, kind.in), [&] { return Kept().merge && !Kept().publishing; }));
  }
  /// Fails all syncs from the n-th on, with a smaller n in each attempt, until `found` is true. A series of attempts
  /// begins with an n that no job reaches. The number of syncs depends on threads, disk and chance, so the first n
  /// grows until a job does not reach it.
  template <typename Found>
  bool StopAtSync(const std::vector<std::string>& args, Found found) {
    const Bytes input = ReadFile(folder_ / "in.u64");
    const auto begin_anew = [&] {
      fs::remove_all(folder_ / "d");
      fs::remove(folder_ / "out");
      fs::remove(Partial());
      WriteFile(folder_ / "in.u64", input);
    };
    FaultyFileSystem whole;
    EXPECT_EQ(CodeOn(whole, args), 0);
    std::uint64_t first = whole.Count(Call::kSync) + 4, n = first;
    for (int attempt = 0; attempt < 1000; ++attempt) {
      begin_anew();
      FaultyFileSystem faulty;
      faulty.FailFrom(Call::kSync, n, EIO);
      const int code = CodeOn(faulty, args);
      if (code == 4 && found()) return true;
      if (code != 0 && n == first) {
        n = first += 4;
      } else {
        n = n > 1 ? n - 1 : first;
      }
    }
    begin_anew();
    return false;
  }
  void ExpectDone(const Bytes& expected, const std::string& output = "out") {
    EXPECT_EQ(ReadFile(folder_ / output), expected);
    EXPECT_FALSE(fs::exists(folder_ / "d"));
    fs::remove(folder_ / output);
  }

  const TempFolder folder_;
};

const Kind kKinds[] = {{{"--type", "u64"}, "in.u64"},
                       {{"-k2", "-u"}, "in.txt"},
                       {{"--top", "100", "-r"}, "in.txt"},
                       {{"-k", "id:int", "--compress-temp", "zst"}, "in.csv"}};

TEST_F(Resume, GivesTheSameBytesAndLeavesNothing) {
  for (const Kind& kind : kKinds) {
    FileSystem files;
    ASSERT_EQ(CodeOn(files, Job(kind.args, kind.in)), 0) << kind.in;
    ExpectDone(Expected(kind.args, kind.in));
  }
}

TEST_F(Resume, GoesOnWhicheverCallFailed) {
  for (const Kind& kind : kKinds) {
    const Bytes expected = Expected(kind.args, kind.in);
    FaultyFileSystem files;
    ASSERT_EQ(CodeOn(files, Job(kind.args, kind.in)), 0);
    ExpectDone(expected);
    for (const Call call : {Call::kWrite, Call::kSync, Call::kTruncate, Call::kRead, Call::kRename}) {
      const std::uint64_t calls = files.Count(call);
      // Fail at a few of the calls, each time in the state that the failure before has left.
      for (std::uint64_t n = 1; n <= calls; n += 1 + calls / 4) {
        FaultyFileSystem faulty;
        faulty.FailFrom(call, n, call == Call::kWrite ? ENOSPC : EIO);
        const int code = CodeOn(faulty, Job(kind.args, kind.in));
        ASSERT_TRUE(code == 4 || code == 5 || code == 0) << code << " " << n;
        // The output may be in place although it may not be on the disk, or the folder was not removed.
        ASSERT_TRUE(code != 0 || fs::exists(folder_ / "out"));
        if (fs::exists(folder_ / "out")) {
          ASSERT_EQ(ReadFile(folder_ / "out"), expected);
          fs::remove(folder_ / "out");
        }
      }
      FileSystem whole;
      ASSERT_EQ(CodeOn(whole, Job(kind.args, kind.in)), 0) << kind.in << " " << static_cast<int>(call);
      ExpectDone(expected);
    }
  }
}

/// Remembers the content of each file at its last sync. A disk need not have more after a loss of power.
class ForgetfulCalls : public FaultyCalls {
 public:
  int Sync(int fd) override {
    const int result = FaultyCalls::Sync(fd);
    std::error_code none;
    const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(fd), none);
    if (result == 0 && fs::is_regular_file(path, none)) synced_[path] = ReadFile(path);
    return result;
  }
  void LosePower(const fs::path& folder) const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      if (name == "gpusort.manifest" || name == "gpusort.runs" || name.ends_with(".partial")) files.push_back(entry);
    }
    for (const fs::path& file : files) {
      const auto synced = synced_.find(file);
      synced == synced_.end() ? void(fs::remove(file)) : WriteFile(file, synced->second);
    }
  }

 private:
  std::map<fs::path, Bytes> synced_;
};

TEST_F(Resume, GoesOnWithWhatThePowerLeft) {
  for (const Kind& kind : kKinds) {
    const Bytes expected = Expected(kind.args, kind.in);
    bool done = false;
    for (std::uint64_t n = 3; n < 60 && !done; n += 4) {
      const auto calls = std::make_shared<ForgetfulCalls>();
      FileSystem files(calls);
      calls->Add({Call::kSync, n, true, Effect::kError, EIO});
      CodeOn(files, Job(kind.args, kind.in));
      done = fs::exists(folder_ / "out");
      if (!done) calls->LosePower(folder_.path());
    }
    if (!done) {
      FileSystem whole;
      ASSERT_EQ(CodeOn(whole, Job(kind.args, kind.in)), 0) << kind.in;
    }
    ASSERT_EQ(ReadFile(folder_ / "out"), expected) << kind.in;
    fs::remove(folder_ / "out");
    fs::remove_all(folder_ / "d");
  }
}

TEST_F(Resume, WritesAnewWhatIsDamagedOfTheOutput) {
  const auto damage_front = [](Bytes& front) { front[front.size() / 2] ^= 0x20; };
  const auto damage_last = [](Bytes& front) { front[front.size() - 2] ^= 0x01; };
  const auto zeros = [](Bytes& front) { std::fill(front.begin(), front.end(), 0); };
  const auto swap = [](Bytes& front) { std::swap_ranges(front.begin(), front.begin() + 8, front.begin() + 80); };
  const auto cut = [](Bytes& front) { front.pop_back(); };
  const auto keep = [](Bytes&) {};
  const std::function<void(Bytes&)> damages[] = {keep, damage_front, damage_last, zeros, swap, cut};
  for (const Kind* const kind : {&kKinds[0], &kKinds[1], &kKinds[3]}) {
    const Bytes expected = Expected(kind->args, kind->in);
    StopInMerge(*kind);
    fs::copy(folder_ / "d", folder_ / "kept");
    const fs::path partial = Partial();
    const Bytes whole = ReadFile(partial);
    for (const auto& damage : damages) {
      Bytes damaged = whole;
      damage(damaged);
      fs::remove_all(folder_ / "d");
      fs::copy(folder_ / "kept", folder_ / "d");
      fs::permissions(folder_ / "d", fs::perms::owner_all);
      WriteFile(partial, damaged);
      fs::permissions(partial, fs::perms::owner_read | fs::perms::owner_write);
      FileSystem files;
      ASSERT_EQ(CodeOn(files, Job(kind->args, kind->in)), 0) << kind->in;
      ExpectDone(expected);
    }
    fs::remove_all(folder_ / "kept");
  }
}

TEST_F(Resume, LeavesNoPartialOutputOfAFolderThatWasMoved) {
  const Bytes expected = Expected({"--type", "u64"}, "in.u64");
  StopInMerge(kKinds[0]);
  const fs::path partial = Partial();
  fs::rename(folder_ / "d", folder_ / "moved");
  std::vector<std::string> args = Job({"--type", "u64"}, "in.u64");
  *std::find(args.begin(), args.end(), folder_ / "d") = folder_ / "moved";
  {
    FaultyFileSystem faulty;
    faulty.FailFrom(Call::kRename, 1, EIO);
    ASSERT_EQ(CodeOn(faulty, args), 4);
    EXPECT_EQ(Partial(), partial);
  }
  FileSystem files;
  ASSERT_EQ(CodeOn(files, args), 0);
  EXPECT_TRUE(Partial().empty());
  ExpectDone(expected);
}

/// A file system whose disk is full from the n-th write to the last quarter of the output on. That quarter waits for a
/// checkpoint.
class FullBehindCheckpoint : public SystemCalls {
 public:
  FullBehindCheckpoint(std::uint64_t quarter, std::uint64_t n, std::function<bool()> noted)
      : quarter_(quarter), left_(n), noted_(std::move(noted)) {}
  ssize_t Write(int fd, const std::byte* data, std::size_t bytes, std::uint64_t offset) override {
    const std::string name = fs::read_symlink("/proc/self/fd/" + std::to_string(fd));
    if (name.ends_with(".partial") && offset + bytes > quarter_) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (!noted_() && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (left_ <= 1 || --left_ == 0) {
        errno = ENOSPC;
        return -1;
      }
    }
    return SystemCalls::Write(fd, data, bytes, offset);
  }
  /// Refuses, so that all data go through Write.
  bool CopyToPages(int, const std::byte*, std::size_t, std::uint64_t) override { return false; }

 private:
  const std::uint64_t quarter_;
  std::atomic<std::uint64_t> left_;
  const std::function<bool()> noted_;
};

TEST_F(Resume, NotesNothingOfTheOutputThatWasNotWritten) {
  std::ofstream(folder_ / "long.csv") << CsvText(40000);
  WriteFile(folder_ / "long.txt", MakeLines(Lines::kRandom, 40000, '\n', 2));
  for (const Kind& kind : {kKinds[0], Kind{kKinds[1].args, "long.txt"}, Kind{{"-k", "id:int"}, "long.csv"}}) {
    const Bytes expected = Expected(kind.args, kind.in);
    for (std::uint64_t n = 1; n <= 8; ++n) {
      FileSystem files(
          std::make_shared<FullBehindCheckpoint>(expected.size() / 4 * 3, n, [&] { return Kept().merge.has_value(); }));
      if (CodeOn(files, Job(kind.args, kind.in)) == 0) {
        EXPECT_GT(n, 1u) << kind.in;
        fs::remove(folder_ / "out");
        break;  // there are fewer calls
      }
      const std::optional<KeptMerge> merge = Kept().merge;
      ASSERT_TRUE(merge) << kind.in << " " << n;
      Bytes front = ReadFile(Partial());
      ASSERT_GE(front.size(), merge->output_bytes) << n;
      front.resize(merge->output_bytes);
      const auto wrong = std::ranges::mismatch(front, expected).in1 - front.begin();
      ASSERT_EQ(wrong, static_cast<std::ptrdiff_t>(front.size())) << kind.in << " " << n << " of " << expected.size();
      fs::remove_all(folder_ / "d");
      fs::remove(Partial());
    }
  }
}

TEST_F(Resume, IsDoneWhereTheOutputIsInPlaceAlready) {
  const Bytes expected = Expected({"--type", "u64"}, "in.u64");
  // The output may also replace the input, which is then gone.
  for (const std::string output : {"out", "in.u64"}) {
    std::vector<std::string> args = Job({"--type", "u64"}, "in.u64");
    args.back() = folder_ / output;
    // The last sync before the journal ends is that of the folder, after the rename.
    ASSERT_TRUE(StopAtSync(args, [&] {
      return Kept().publishing && fs::exists(folder_ / output) && ReadFile(folder_ / output) == expected;
    }));
    ASSERT_EQ(ReadFile(folder_ / output), expected);
    ASSERT_TRUE(fs::exists(folder_ / "d"));
    FileSystem files;
    std::vector<std::string> other = args;
    other.insert(other.begin(), "-r");
    EXPECT_FALSE(FinishPublished(Parse(other), files));
    const std::optional<KeptOutput> done = FinishPublished(Parse(args), files);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->bytes, 240000u);
    EXPECT_EQ(done->records, 30000u);
    EXPECT_FALSE(FinishPublished(Parse(args), files)) << "it is done";
    ExpectDone(expected, output);
  }
}

TEST_F(Resume, ForgetsAnOutputThatReadsBackWrong) {
  const Bytes expected = Expected({"--type", "u64"}, "in.u64");
  std::vector<std::string> args = Job({"--type", "u64", "--verify-output"}, "in.u64");
  FaultyFileSystem clean;
  ASSERT_EQ(CodeOn(clean, args), 0);
  ExpectDone(expected);
  // The last read is part of the verification.
  const auto calls = std::make_shared<FaultyCalls>();
  FileSystem files(calls);
  calls->Add({Call::kRead, clean.Count(Call::kRead), true, Effect::kFlipBit, 5});
  ASSERT_EQ(CodeOn(files, args), 8);
  EXPECT_FALSE(Kept().merge);
  EXPECT_FALSE(fs::exists(Partial()));
  FileSystem whole;
  ASSERT_EQ(CodeOn(whole, args), 0);
  ExpectDone(expected);
}

TEST_F(Resume, ReadsOnlyWhatNoRunHas) {
  const Bytes expected = Expected({"--type", "u64"}, "in.u64");
  FaultyFileSystem faulty;
  faulty.FailFrom(Call::kSync, 10, EIO);
  ASSERT_EQ(CodeOn(faulty, Job({"--type", "u64"}, "in.u64")), 4);
  FileSystem files;
  ASSERT_EQ(CodeOn(files, Job({"--type", "u64", "--stats", folder_ / "stats"}, "in.u64")), 0);
  ExpectDone(expected);
  const nlohmann::json stats = Stats(folder_ / "stats");
  EXPECT_EQ(stats["resumed"], 1);
  ASSERT_EQ(stats["attempts"].size(), 2u);
  const nlohmann::json &first = stats["attempts"][0], &last = stats["attempts"][1];
  EXPECT_GT(first["bytes_read"], 0);
  EXPECT_GT(last["bytes_read"], 0);
  EXPECT_EQ(first["bytes_read"].get<std::uint64_t>() + last["bytes_read"].get<std::uint64_t>(), 240000u);
  EXPECT_EQ(last["runs_kept"], first["runs_made"]);
  EXPECT_EQ(last["pid"], getpid());
}

TEST_F(Resume, GoesOnWithOtherResourcesAndNotWithAnotherJob) {
  const auto stop = [&](const Kind& kind) {
    FaultyFileSystem faulty;
    faulty.FailFrom(Call::kSync, 10, EIO);
    ASSERT_EQ(CodeOn(faulty, Job(kind.args, kind.in)), 4);
    ASSERT_TRUE(fs::exists(folder_ / "d"));
  };
  FileSystem files;
  for (const Kind& kind : kKinds) {
    stop(kind);
    std::vector<std::string> args = kind.args;
    args.insert(args.end(), {"--threads", "1", "--temp-dir", folder_.path(), "--resume-dir", folder_ / "d", "--memory",
                             "32M", folder_ / kind.in, folder_ / "out"});
    ASSERT_EQ(CodeOn(files, args), 0) << kind.in;
    ExpectDone(Expected(kind.args, kind.in));
  }
  stop(kKinds[0]);
  EXPECT_EQ(CodeOn(files, Job({"--type", "u64", "-r"}, "in.u64")), 2);
  EXPECT_EQ(CodeOn(files, Job({"--type", "i64"}, "in.u64")), 2);
  std::vector<std::string> elsewhere = Job({"--type", "u64"}, "in.u64");
  elsewhere.back() += "2";
  EXPECT_EQ(CodeOn(files, elsewhere), 2);
  fs::last_write_time(folder_ / "in.u64", fs::last_write_time(folder_ / "in.u64") + std::chrono::nanoseconds(1));
  EXPECT_EQ(CodeOn(files, Job({"--type", "u64"}, "in.u64")), 2);
  EXPECT_EQ(folder_.Names().size(), 5u) << "in.u64 in.txt in.csv d expected";
}

TEST_F(Resume, OutlivesALostGpu) {
  const Bytes expected = Expected({"--type", "u64"}, "in.u64");
  for (const std::int64_t fail_at : {-1, 3, 6, 9, 12, 20, 30}) {
    FakeGpuPlan plan;
    plan.fail_at = fail_at;
    FileSystem files;
    ASSERT_EQ(CodeOn(files, Job({"--type", "u64"}, "in.u64"), FakeGpus(plan)), 0) << fail_at;
    ExpectDone(expected);
  }
}

TEST_F(Resume, RefusesWhatCannotBeTakenUpAgain) {
  const std::vector<std::string> dir{"--resume-dir", folder_ / "d"};
  const auto code = [&](std::vector<std::string> args) {
    args.insert(args.begin(), dir.begin(), dir.end());
    return CodeOf(args);
  };
  std::ofstream(folder_ / "in.gz") << "";
  EXPECT_EQ(code({"-", folder_ / "out"}), 2);
  EXPECT_EQ(code({folder_ / "in.txt", "-"}), 2);
  EXPECT_EQ(code({folder_ / "in.gz", folder_ / "out"}), 2);
  EXPECT_EQ(code({"-m", "-o", folder_ / "out", folder_ / "in.txt"}), 2);
  EXPECT_EQ(code({"-R", folder_ / "in.txt", folder_ / "out"}), 2);
  EXPECT_EQ(code({"--check", folder_ / "in.txt"}), 2);
  EXPECT_EQ(CodeOf({"--status"}), 2);
  EXPECT_EQ(CodeOf({"--keep-resume-dir", folder_ / "in.txt", folder_ / "out"}), 2);
  EXPECT_FALSE(fs::exists(folder_ / "d"));
}

}  // namespace
}  // namespace gpusort::testing

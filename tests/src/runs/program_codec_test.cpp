#include "runs/program_codec.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/thread.hpp"
#include "records.hpp"

namespace gpusort::testing {
namespace {

using Block = std::vector<std::byte>;

std::size_t OpenDescriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Checks after each test that no child process is left, alive or dead, and no further open descriptor.
class ProgramCodecTest : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = ::signal(SIGPIPE, SIG_IGN);
    descriptors_ = OpenDescriptors();
  }
  void TearDown() override {
    ::signal(SIGPIPE, before_);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(OpenDescriptors(), descriptors_);
  }

  /// Writes a program for sh and returns its path. "$d" in the text is the path of the folder.
  std::string Script(const std::string& name, const std::string& text, mode_t mode = 0755) {
    const std::string path = folder_ / name;
    std::ofstream(path) << "#!/bin/sh\nd=" << folder_.path() << "\n" << text << "\n";
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  /// Writes a program with one part for each direction.
  std::string TwoWays(const std::string& name, const std::string& compress, const std::string& decompress) {
    return Script(name, "if [ \"$1\" = -d ]; then\n" + decompress + "\nelse\n" + compress + "\nfi");
  }
  ProgramCodec Codec(const std::string& program, bool ignore_sigpipe = false) {
    return ProgramCodec(program, ignore_sigpipe, cancel_,
                        [this](const std::string& text) { warnings_.push_back(text); });
  }

  static Block Make(std::size_t bytes, std::uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    Block block(bytes);
    for (std::byte& byte : block) byte = static_cast<std::byte>('a' + random() % 4);
    return block;
  }
  /// Returns the result of the codec, with enough room for any result.
  static Block Compressed(ProgramCodec& codec, const Block& block) {
    Block out(block.size() + 300000);
    out.resize(codec.Compress(block, out));
    return out;
  }
  static Block Expanded(ProgramCodec& codec, const Block& compressed, std::size_t bytes) {
    Block out(bytes);
    codec.Decompress(compressed, out);
    return out;
  }
  static void ExpectError(ErrorCode code, const std::string& part, const std::function<void()>& work) {
    try {
      work();
      ADD_FAILURE() << "no error with " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
  void AwaitFile(const std::string& path) {
    while (TextOf(path).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }

  TempFolder folder_;
  CancelFlag cancel_;
  std::vector<std::string> warnings_;

 private:
  sighandler_t before_ = SIG_DFL;
  std::size_t descriptors_ = 0;
};

/// Limits the number of further open descriptors to `more` while the object lives. Descriptors that are open already
/// may have any numbers.
class FewDescriptors {
 public:
  explicit FewDescriptors(int more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlim_t end = 0;
    for (int left = more; left >= 0; ++end) {
      if (::fcntl(static_cast<int>(end), F_GETFD) < 0) --left;
    }
    const rlimit few{end - 1, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(ProgramCodecTest, GivesBackWhatWasCompressedWhateverTheProgramsHabits) {
  const std::string programs[] = {
      "gzip",
      Script("copies", "exec cat"),
      // Reads everything, then writes.
      Script("collects", "cat >\"$d\"/$$ && gzip -c \"$@\" <\"$d\"/$$ && rm \"$d\"/$$"),
      // Writes more than a pipe holds, then reads; the other direction does so, too.
      TwoWays("begins", "head -c 200000 /dev/zero; exec cat", "exec tail -c +200001"),
      // Stops reading once it knows its whole output.
      TwoWays("leaves", "cat; head -c 200000 /dev/zero", "exec head -c \"$(cat \"$d\"/bytes)\""),
      // Ends its output before it exits.
      TwoWays("lingers", "cat; exec >&-; sleep 0.01", "cat; exec >&-; sleep 0.01"),
  };
  for (const std::string& program : programs) {
    for (const std::size_t bytes : {1, 5000, 65536, 1000003}) {
      std::ofstream(folder_ / "bytes") << bytes;
      ProgramCodec codec = Codec(program);
      const Block block = Make(bytes);
      EXPECT_TRUE(Expanded(codec, Compressed(codec, block), bytes) == block) << program << " " << bytes;
    }
  }
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(ProgramCodecTest, LeavesABlockThatFindsNoRoom) {
  const Block block = Make(100000);
  for (const char* const program : {"cat", "gzip"}) {
    ProgramCodec codec = Codec(program);
    const std::size_t needed = Compressed(codec, block).size();
    Block out(needed);
    EXPECT_EQ(codec.Compress(block, out), needed);
    for (const std::size_t room : {needed - 1, std::size_t{50}, std::size_t{0}}) {
      EXPECT_EQ(codec.Compress(block, std::span(out).first(room)), 0u) << room;
    }
    EXPECT_TRUE(codec.usable());
  }
}

TEST_F(ProgramCodecTest, SaysOnceThatAProgramCannotBeStarted) {
  const std::pair<std::string, std::string> cases[] = {
      {folder_ / "missing", "No such file or directory"},
      {"gpusort-no-such-program", "No such file or directory"},
      {folder_.path(), "Permission denied"},
      {Script("no_mode", "cat", 0644), "Permission denied"},
      {folder_ / "no_format", "Exec format error"},
  };
  std::ofstream(folder_ / "no_format") << "cat\n";
  ASSERT_EQ(::chmod((folder_ / "no_format").c_str(), 0755), 0);
  for (const auto& [program, reason] : cases) {
    warnings_.clear();
    ProgramCodec codec = Codec(program);
    Block out(100000);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(codec.Compress(Make(5000), out), 0u);
    EXPECT_EQ(warnings_, std::vector<std::string>{"could not run compress program '" + program + "': " + reason});
    EXPECT_FALSE(codec.usable());
  }
  const std::string program = Script("goes", "exec gzip \"$@\"");
  ProgramCodec codec = Codec(program);
  const Block compressed = Compressed(codec, Make(5000));
  ASSERT_EQ(::unlink(program.c_str()), 0);
  ExpectError(ErrorCode::kIo, "couldn't create process for '" + program + "' -d: No such file or directory",
              [&] { Expanded(codec, compressed, 5000); });
}

TEST_F(ProgramCodecTest, FailsWithTheProgram) {
  const std::string failures[] = {"exit 3", "cat; exit 1", "kill -9 $$", "cat >/dev/null; kill -TERM $$"};
  for (std::size_t i = 0; i < std::size(failures); ++i) {
    const std::string one = TwoWays("c" + std::to_string(i), failures[i], "exec cat");
    const std::string other = TwoWays("d" + std::to_string(i), "exec cat", failures[i]);
    const Block block = Make(300000);
    ProgramCodec compresses = Codec(one), expands = Codec(other);
    ExpectError(ErrorCode::kIo, "'" + one + "' [-d] terminated abnormally", [&] { Compressed(compresses, block); });
    const Block compressed = Compressed(expands, block);
    ExpectError(ErrorCode::kIo, "'" + other + "' [-d] terminated abnormally",
                [&] { Expanded(expands, compressed, block.size()); });
  }
}

TEST_F(ProgramCodecTest, FindsWhatIsNotGivenBack) {
  const std::string programs[] = {
      "true",
      TwoWays("cuts", "head -c 5000; cat >/dev/null", "exec cat"),
      TwoWays("gives_less", "exec cat", "exec head -c 99999"),
      TwoWays("gives_more", "exec cat", "cat; echo"),
      TwoWays("never_ends", "exec cat", "exec yes"),
      TwoWays("changes", "exec cat", "exec tr a b"),
      TwoWays("swaps", "exec cat", "exec rev"),
  };
  const Block block = Make(100000);
  for (const std::string& program : programs) {
    ProgramCodec codec = Codec(program);
    const Block compressed = Compressed(codec, block);
    ExpectError(ErrorCode::kIntegrity, "'" + program + "' -d did not give back what '" + program + "' was given",
                [&] { Expanded(codec, compressed, block.size()); });
  }
}

TEST_F(ProgramCodecTest, ServesManyThreadsAtOnceAlsoWithFewDescriptors) {
  ProgramCodec codec = Codec("gzip");
  for (const bool few : {false, true}) {
    // One program at a time can start: it needs four descriptors at first and two later. The other programs wait for
    // it.
    std::optional<FewDescriptors> limit;
    if (few) limit.emplace(5);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      threads.emplace_back([&, seed] {
        for (std::uint64_t i = 0; i < 3; ++i) {
          const Block block = Make(100000, 10 * seed + i);
          const Block compressed = Compressed(codec, block);
          if (compressed.empty() || Expanded(codec, compressed, block.size()) != block) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << few;
  }
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(ProgramCodecTest, WaitsForDescriptorsToExpandButNotToCompress) {
  ProgramCodec codec = Codec("gzip");
  const Block block = Make(5000), compressed = Compressed(codec, block);
  Block out(5000), back;
  std::thread reader;
  {
    const FewDescriptors none(0);
    EXPECT_EQ(codec.Compress(block, out), 0u);
    reader = std::thread([&] { back = Expanded(codec, compressed, block.size()); });
  }
  reader.join();
  EXPECT_TRUE(back == block);
  EXPECT_EQ(warnings_, std::vector<std::string>{"could not run compress program 'gzip': Too many open files"});
  // The codec stops waiting when the job is cancelled.
  const FewDescriptors none(0);
  cancel_.Request();
  ExpectError(ErrorCode::kCancelled, "", [&] { Expanded(codec, compressed, block.size()); });
}

TEST_F(ProgramCodecTest, KillsTheProgramWhenTheJobIsCancelled) {
  int count = 0;
  for (const char* const hangs : {"exec sleep 1000", "exec <&- >&-; exec sleep 1000"}) {
    const std::string pid_file = folder_ / ("pid" + std::to_string(++count));
    CancelFlag cancel;
    ProgramCodec codec(Script("hangs" + std::to_string(count), "echo $$ >" + pid_file + "; " + hangs), false, cancel,
                       [](const std::string&) {});
    std::thread canceller([&] {
      AwaitFile(pid_file);
      cancel.Request();
    });
    ExpectError(ErrorCode::kCancelled, "", [&] { Compressed(codec, Make(1000000)); });
    canceller.join();
    EXPECT_EQ(::kill(std::stoi(TextOf(pid_file)), 0), -1);
  }
}

TEST_F(ProgramCodecTest, StartsTheProgramAsTheCallerOfTheSortWould) {
  // Another program runs at the same time, and no other process has its pipes.
  ProgramCodec other = Codec(Script("waiter", "echo >\"$d\"/waits; until [ -s \"$d\"/go ]; do sleep 0.01; done; cat"));
  std::thread running([&] { EXPECT_FALSE(Compressed(other, Make(1000)).empty()); });
  AwaitFile(folder_ / "waits");
  const std::string program =
      Script("shows", "grep ^Sig /proc/self/status >\"$d\"/signals; ls /proc/self/fd >\"$d\"/fds; cat");
  std::size_t inherited = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int flags = ::fcntl(std::stoi(entry.path().filename().string()), F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) ++inherited;
  }
  for (const bool ignore_sigpipe : {false, true}) {
    ProgramCodec codec = Codec(program, ignore_sigpipe);
    const SignalBlock as_in_a_worker;
    Compressed(codec, Make(1000));
    std::ifstream signals(folder_ / "signals");
    std::string name, digits;
    int seen = 0;
    while (signals >> name >> digits) {
      if (name == "SigBlk:") {
        EXPECT_EQ(std::stoull(digits, nullptr, 16), 0u);
        ++seen;
      } else if (name == "SigIgn:") {
        EXPECT_EQ((std::stoull(digits, nullptr, 16) >> (SIGPIPE - 1) & 1) != 0, ignore_sigpipe);
        ++seen;
      }
    }
    EXPECT_EQ(seen, 2);
    std::ifstream list(folder_ / "fds");
    std::size_t lines = 0;
    for (std::string line; std::getline(list, line);) ++lines;
    EXPECT_EQ(lines, inherited + 1);  // the additional descriptor is the folder that ls reads
  }
  std::ofstream(folder_ / "go") << "go";
  running.join();
}

}  // namespace
}  // namespace gpusort::testing

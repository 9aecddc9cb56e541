// The progress line, and the log lines that share its screen.
#include "watch/progress.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/log.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using std::chrono::milliseconds;

TEST(RateMeter, LooksBackFiveSeconds) {
  RateMeter meter;
  const auto at = [](int ms) { return Nanoseconds(milliseconds(ms)); };
  EXPECT_EQ(meter.Update(at(0), 0), 0);
  EXPECT_EQ(meter.Update(at(0), 100), 0) << "no time has passed";
  EXPECT_DOUBLE_EQ(meter.Update(at(1000), 1000), 1000);
  for (int s = 2; s <= 10; ++s) meter.Update(at(1000 * s), 1000);
  EXPECT_EQ(meter.Update(at(11000), 1000), 0) << "the first second is forgotten";
  EXPECT_DOUBLE_EQ(meter.Update(at(16000), 6000), 1000);
  meter.Reset();
  EXPECT_EQ(meter.Update(at(20000), 0), 0);
}

TEST(RenderProgress, SaysWhatIsKnown) {
  constexpr std::uint64_t kGiB = 1ull << 30;
  const double rate = 2.0 * kGiB;
  const struct {
    ProgressFacts facts;
    const char* line;
  } rows[] = {
      {{"form runs", 0, 8 * kGiB, 0, {}, {}, ""}, "form runs: 0 B of 8.0 GiB"},
      {{"form runs", 2 * kGiB, 8 * kGiB, rate, 12, 7.0, "disk read"},
       "form runs: 12 %, 2.0 GiB of 8.0 GiB, 2.0 GiB/s, 7 s left, waits for disk read"},
      {{"form runs", 2 * kGiB, 0, rate, {}, {}, "cores"}, "form runs: 2.0 GiB, 2.0 GiB/s, waits for cores"},
      {{"publish", 0, 0, 0, 99, 1.5, ""}, "publish: 99 %, 2 s left"},
      {{"publish", 0, 0, 0, 100, 0.0, ""}, "publish: 100 %"},
      {{"publish", 0, 0, 0, {}, {}, ""}, "publish"},
  };
  for (const auto& row : rows) EXPECT_EQ(RenderProgress(row.facts), row.line);
}

TEST(RenderProgress, DropsWhatMattersLeastUntilItFits) {
  constexpr std::uint64_t kGiB = 1ull << 30;
  const ProgressFacts facts{"merge runs", 2 * kGiB, 8 * kGiB, 2.0 * kGiB, 61, 728, "disk write"};
  EXPECT_EQ(RenderProgress(facts, 79), "merge runs: 61 %, 2.0 GiB of 8.0 GiB, 12 min 08 s left, waits for disk write");
  EXPECT_EQ(RenderProgress(facts, 60), "merge runs: 61 %, 2.0 GiB of 8.0 GiB, 12 min 08 s left");
  EXPECT_EQ(RenderProgress(facts, 39), "merge runs: 61 %, 12 min 08 s left");
  EXPECT_EQ(RenderProgress(facts, 30), "61 %, 12 min 08 s left");
  EXPECT_EQ(RenderProgress(facts, 10), "61 %");
  EXPECT_EQ(RenderProgress(facts, 2), "61");
  std::string longer = RenderProgress(facts);
  for (std::size_t columns = longer.size(); columns > 0; --columns) {
    const std::string line = RenderProgress(facts, columns);
    EXPECT_LE(line.size(), columns);
    EXPECT_LE(line.size(), longer.size());
    longer = line;
  }
}

/// Returns what `body` writes to standard error, which is a regular file meanwhile.
template <typename Body>
std::string ErrorOutput(Body body) {
  ::testing::internal::CaptureStderr();
  body();
  return ::testing::internal::GetCapturedStderr();
}

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

TEST(Progress, IsOffWithoutATerminalUnlessAskedFor) {
  const StageClock clock("x");
  EXPECT_EQ(ErrorOutput([&] {
              for (const When when : {When::kAuto, When::kNever}) {
                Progress progress(when, clock);
                EXPECT_FALSE(progress.shown());
                progress.SetPhase("sort", 10);
                progress.Advance(10);
              }
            }),
            "");
}

TEST(Progress, GivesALineForEachPhaseToAFile) {
  const StageClock clock("x");
  const std::string output = ErrorOutput([&] {
    Progress progress(When::kAlways, clock);
    EXPECT_TRUE(progress.shown());
    progress.SetPhase("form runs", 1000);
    progress.Advance(400);
    progress.Advance(600);
    progress.SetPhase("merge", 1000);
    progress.Advance(500);
  });
  EXPECT_EQ(Count(output, "\n"), 2u) << output;
  EXPECT_TRUE(output.starts_with("form runs: ")) << output;
  EXPECT_EQ(Count(output, "1000 B of 1000 B"), 1u) << output;
  EXPECT_EQ(Count(output, "\nmerge: "), 1u) << output;
  EXPECT_EQ(Count(output, "500 B of 1000 B"), 1u) << output;
  EXPECT_EQ(Count(output, "\r") + Count(output, "\x1b"), 0u) << output;
}

TEST(Progress, NamesTheResourceThatIsBusy) {
  Nanoseconds now{1000};
  StageClock clock("x", [&] { return now; });
  const std::string output = ErrorOutput([&] {
    const Busy busy(clock, Resource::kDiskWrite);
    now += milliseconds(30);
    Progress progress(When::kAlways, clock);
    progress.SetPhase("merge", 1000);
  });
  EXPECT_NE(output.find("waits for disk write"), std::string::npos) << output;
}

TEST(Progress, EndsAPhaseWithWhatWasSeenOfIt) {
  StageClock clock("form runs");
  std::optional<Busy> busy(std::in_place, clock, Resource::kDiskWrite);
  const std::string output = ErrorOutput([&] {
    Progress progress(When::kAlways, clock);
    progress.SetPhase("form runs", 1000);
    progress.CountBy([] { return 600; });
    busy.reset();
    clock.BeginPhase("merge runs");
    progress.SetPhase("merge runs", 1000);
  });
  const std::string line = output.substr(0, output.find('\n'));
  EXPECT_TRUE(line.starts_with("form runs: ")) << output;
  EXPECT_NE(line.find("600 B of 1000 B"), std::string::npos) << output;
  EXPECT_TRUE(line.ends_with("waits for disk write")) << output;
}

/// A pseudo-terminal that replaces standard error.
class Terminal {
 public:
  Terminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
    EXPECT_GE(master_, 0);
    EXPECT_EQ(::grantpt(master_), 0);
    EXPECT_EQ(::unlockpt(master_), 0);
    const int slave = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    EXPECT_GE(slave, 0);
    saved_ = ::dup(STDERR_FILENO);
    ::dup2(slave, STDERR_FILENO);
    ::close(slave);
  }
  ~Terminal() {
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
    ::close(master_);
  }
  std::string Output() const {
    std::string all;
    char buffer[4096];
    for (ssize_t n; (n = ::read(master_, buffer, sizeof buffer)) > 0;) all.append(buffer, static_cast<std::size_t>(n));
    return all;
  }

 private:
  int master_;
  int saved_;
};

constexpr const char* kWipe = "\r\x1b[K";

TEST(Progress, DrawsOneLineOnATerminalAndWipesItAtTheEnd) {
  ::setenv("TERM", "xterm", 1);
  const StageClock clock("x");
  std::string output;
  {
    const Terminal terminal;
    {
      const auto begin = std::chrono::steady_clock::now();
      Progress progress(When::kAuto, clock);
      EXPECT_TRUE(progress.shown());
      progress.SetPhase("merge", 1000);
      progress.Advance(250);
      while (output.empty() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
        std::this_thread::sleep_for(milliseconds(10));
        output += terminal.Output();
      }
      EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(150)) << "at most five times a second";
    }
    output += terminal.Output();
  }
  EXPECT_TRUE(output.starts_with(std::string(kWipe) + "merge: ")) << output;
  EXPECT_NE(output.find("250 B of 1000 B"), std::string::npos) << output;
  EXPECT_TRUE(output.ends_with(kWipe)) << output;
  EXPECT_EQ(output.find('\n'), std::string::npos) << output;
}

TEST(Progress, StaysOffOnADumbTerminal) {
  ::setenv("TERM", "dumb", 1);
  const StageClock clock("x");
  const Terminal terminal;
  const Progress progress(When::kAuto, clock);
  EXPECT_FALSE(progress.shown());
}

TEST(Log, WipesTheStatusLineBeforeALogLineAndDrawsItAgain) {
  InitLog("warn", "");
  const Terminal terminal;
  ShowStatusLine("half way");
  LogWarn("slow disk");
  ClearStatusLine();
  ClearStatusLine();
  LogWarn("gone");
  const std::string wipe = kWipe;
  EXPECT_EQ(terminal.Output(),
            wipe + "half way" + wipe + "gpusort: warning: slow disk\r\nhalf way" + wipe + "gpusort: warning: gone\r\n");
}

TEST(Log, NeverTearsTheStatusLine) {
  InitLog("warn", "");
  std::string output;
  {
    const Terminal terminal;
    std::atomic<bool> stop{false}, stopped{false};
    std::thread drawer([&] {
      while (!stop) ShowStatusLine("status");
      stopped = true;
    });
    std::thread writer([&] {
      for (int i = 0; i < 200; ++i) LogWarn("w");
      stop = true;
    });
    // Read until the two threads have ended: either may wait for a full terminal.
    while (!stopped) output += terminal.Output();
    writer.join();
    drawer.join();
    ClearStatusLine();
    output += terminal.Output();
  }
  EXPECT_EQ(Count(output, "gpusort: warning: w\r\n"), 200u);
  // The output is split at the wipes. Every piece must be a whole log line, a whole status line, or one of each in this
  // order.
  std::size_t begin = 0;
  while (begin < output.size()) {
    const std::size_t end = std::min(output.find(kWipe, begin), output.size());
    const std::string piece = output.substr(begin, end - begin);
    const std::string log_line = "gpusort: warning: w\r\n";
    std::size_t rest = 0;
    while (piece.compare(rest, log_line.size(), log_line) == 0) rest += log_line.size();
    EXPECT_TRUE(rest == piece.size() || piece.substr(rest) == "status") << piece;
    begin = end + std::string(kWipe).size();
  }
}

TEST(Log, CutsTheStatusLineToTheTerminal) {
  const Terminal terminal;
  ShowStatusLine(std::string(500, 'x'));
  ClearStatusLine();
  EXPECT_EQ(terminal.Output(), kWipe + std::string(79, 'x') + kWipe) << "a terminal of unknown width counts 80";
}

TEST(Log, DoesNotWaitForAStuckReaderOfTheStatusLine) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  const std::string block(4096, 'x');
  while (::write(ends[1], block.data(), block.size()) > 0) {
  }
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, 0), 0);  // from now on a write would block
  const int saved = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  ShowStatusLine("a");
  PrintStatusLine("b", {});
  ClearStatusLine();
  ::dup2(saved, STDERR_FILENO);
  for (const int fd : {saved, ends[0], ends[1]}) ::close(fd);
}

void LogOneOfEach() {
  LogDebug("d");
  LogInfo("i");
  LogWarn("w");
  LogError("e");
}

TEST(Log, ShowsItsLevelAndAbove) {
  const struct {
    const char* level;
    const char* output;
  } rows[] = {
      {"trace", "gpusort: debug: d\ngpusort: info: i\ngpusort: warning: w\ngpusort: error: e\n"},
      {"debug", "gpusort: debug: d\ngpusort: info: i\ngpusort: warning: w\ngpusort: error: e\n"},
      {"info", "gpusort: info: i\ngpusort: warning: w\ngpusort: error: e\n"},
      {"warn", "gpusort: warning: w\ngpusort: error: e\n"},
      {"error", "gpusort: error: e\n"},
      {"off", ""},
  };
  for (const auto& row : rows) {
    InitLog(row.level, "");
    EXPECT_EQ(ErrorOutput(LogOneOfEach), row.output) << row.level;
  }
  InitLog("warn", "");
}

TEST(Log, KeepsAMessageOnOneLine) {
  InitLog("warn", "");
  EXPECT_EQ(ErrorOutput([] { LogError("no file 'a\ngpusort: error: forged\x1b[2J' {} %v"); }),
            "gpusort: error: no file 'a\\x0agpusort: error: forged\\x1b[2J' {} %v\n");
}

TEST(Log, WritesObjectsInTheJsonFormat) {
  const auto output = [](const std::string& level, const auto& action) {
    InitLog(level, "", LogFormat::kJson);
    const std::string text = ErrorOutput(action);
    InitLog("warn", "");
    return text;
  };
  const std::string name = "a\\x41\n\"\xff";
  const std::string text = output("info", [&] {
    LogDebug("not shown");
    LogText(LogLevel::kError, "only in text");
    LogWarn("'" + name + "'");
    Log(LogEvent::kFailed, LogLevel::kError, "", {{"exit_code", std::uint64_t{4}}, {"path", name}, {"seconds", 0.5}});
    Log(LogEvent::kStarted, LogLevel::kInfo, "m", {{"inputs", std::vector<std::string>{name, "b"}}});
    SayDoubt("d");
    PrintStatusLine("p", {{"bytes", std::uint64_t{1} << 60}});
  });
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    // {"ts":"2026-11-23T03:20:19.123Z", ...
    ASSERT_GT(line.size(), 33u);
    EXPECT_TRUE(line.starts_with("{\"ts\":\"2")) << line;
    EXPECT_EQ(line.substr(30, 3), "Z\",") << line;
    lines.push_back(line.substr(33));
  }
  const std::string encoded = "a\\\\x5cx41\\\\x0a\\\"\\\\xff";
  EXPECT_EQ(
      lines,
      (std::vector<std::string>{
          "\"level\":\"warning\",\"event\":\"note\",\"message\":\"'a\\\\x41\\\\x0a\\\"\\\\xff'\"}",
          "\"level\":\"error\",\"event\":\"failed\",\"exit_code\":4,\"path\":\"" + encoded + "\",\"seconds\":0.5}",
          "\"level\":\"info\",\"event\":\"started\",\"inputs\":[\"" + encoded + "\",\"b\"],\"message\":\"m\"}",
          "\"level\":\"warning\",\"event\":\"note\",\"message\":\"d\"}",
          "\"level\":\"info\",\"event\":\"progress\",\"bytes\":1152921504606846976,\"message\":\"p\"}"}));
  EXPECT_EQ(output("off", LogOneOfEach), "");
  EXPECT_EQ(ErrorOutput([] { SayFailed(SIGTERM, 143, nullptr); }), "");
}

TEST(Log, TellsOfASignalWithoutMemory) {
  InitLog("info", "", LogFormat::kJson);
  const std::string plain = ErrorOutput([] { SayFailed(SIGTERM, 143, nullptr); });
  const std::string spoken = ErrorOutput([] { SayFailed(SIGRTMIN + 12, 75, "the end"); });
  InitLog("warn", "");
  EXPECT_EQ(plain.substr(33), "\"level\":\"error\",\"event\":\"failed\",\"exit_code\":143,\"signal\":\"SIGTERM\"}\n");
  EXPECT_NE(spoken.find("75,\"signal\":\"SIGRTMIN+12\",\"message\":\"the "), std::string::npos) << spoken;
  EXPECT_EQ(SignalName(SIGRTMIN + 12), "SIGRTMIN+12");
  EXPECT_EQ(SignalName(SIGINT), "SIGINT");
  EXPECT_EQ(ErrorOutput([] { SayFailed(SIGTERM, 75, "stopped"); }), "gpusort: stopped\n");
}

class LogFile : public ::testing::Test {
 protected:
  LogFile() {
    char name[] = "/tmp/gpusort_log_test.XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  ~LogFile() override {
    InitLog("warn", "");
    std::filesystem::remove_all(folder_);
  }
  std::vector<std::string> Lines(const std::string& path) const {
    std::vector<std::string> lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  std::string folder_;
};

TEST_F(LogFile, TakesInfoAndAboveWithUtcTimes) {
  ::setenv("TZ", "Asia/Tokyo", 1);
  ::tzset();
  const std::string path = folder_ + "/log";
  for (const char* level : {"off", "error"}) {
    InitLog(level, path);
    ErrorOutput(LogOneOfEach);
  }
  const std::vector<std::string> lines = Lines(path);
  ASSERT_EQ(lines.size(), 6u) << "the second run appends";
  const char* const ends[] = {"info: i", "warning: w", "error: e"};
  for (int i = 0; i < 6; ++i) {
    // 2026-01-31T12:34:56.789Z info: i
    std::tm fields{};
    const char* rest = ::strptime(lines[i].c_str(), "%Y-%m-%dT%H:%M:%S", &fields);
    ASSERT_NE(rest, nullptr) << lines[i];
    EXPECT_EQ(rest - lines[i].c_str(), 19) << lines[i];
    EXPECT_EQ(*rest, '.') << lines[i];
    EXPECT_EQ(std::string(rest + 4), std::string("Z ") + ends[i % 3]);
    EXPECT_LT(std::abs(std::difftime(::timegm(&fields), ::time(nullptr))), 600) << lines[i];
  }
  ::unsetenv("TZ");
  ::tzset();
}

TEST_F(LogFile, TakesDebugIfTheLevelIsLower) {
  const std::string path = folder_ + "/log";
  InitLog("debug", path);
  const std::string screen = ErrorOutput(LogOneOfEach);
  EXPECT_EQ(Count(screen, "\n"), 4u);
  ASSERT_EQ(Lines(path).size(), 4u);
  EXPECT_TRUE(Lines(path)[0].ends_with(" debug: d"));
}

TEST_F(LogFile, ThatCannotBeOpenedIsAUsageError) {
  const std::string path = folder_ + "/none\n/log";
  try {
    InitLog("warn", path);
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_EQ(std::string(error.what()),
              "--log-file: cannot open '" + folder_ + "/none\\x0a/log': No such file or directory");
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/none\n"));
  EXPECT_EQ(ErrorOutput([] { LogError("still here"); }), "gpusort: error: still here\n");
}

TEST_F(LogFile, OnAFullDiskIsToldOnceAndIsNoReasonToFail) {
  InitLog("warn", "/dev/full");
  EXPECT_EQ(ErrorOutput([] { LogError("e"); }),
            "gpusort: error: e\n"
            "gpusort: warning: the log in /dev/full (--log-file) is not complete: ENOSPC (No space left on device)\n");
  EXPECT_EQ(ErrorOutput([] { LogError("e"); }), "gpusort: error: e\n");
}

TEST(Log, SurvivesAClosedStandardError) {
  InitLog("warn", "");
  const int saved = ::dup(STDERR_FILENO);
  ::close(STDERR_FILENO);
  LogError("nobody reads this");
  ShowStatusLine("nor this");
  ClearStatusLine();
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  EXPECT_EQ(ErrorOutput([] { LogError("back"); }), "gpusort: error: back\n");
}

}  // namespace
}  // namespace gpusort

// labels: brief
#include "io/stream.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <thread>

#include "io_support.hpp"
#include "records.hpp"

namespace gpusort {
namespace {

using testing::AsSpan;
using testing::Bytes;
using testing::RandomBytes;
using testing::ReadFile;
using testing::TempFolder;
using Clock = std::chrono::steady_clock;

constexpr auto kSoon = std::chrono::milliseconds(30);
// The program promises to react within 50 ms. A busy machine or a sanitizer gets twenty times as long, and several
// tries.
constexpr auto kPrompt = std::chrono::seconds(1);
constexpr int kTries = 20;

struct Ends {
  detail::Fd read;
  detail::Fd write;
};

Ends MakePipe() {
  std::array<int, 2> fds{};
  EXPECT_EQ(pipe2(fds.data(), O_CLOEXEC), 0);
  return {detail::Fd(fds[0]), detail::Fd(fds[1])};
}

Ends MakeSockets() {
  std::array<int, 2> fds{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
  return {detail::Fd(fds[0]), detail::Fd(fds[1])};
}

Bytes ReadToEnd(PipeReader& reader, std::size_t most) {
  Bytes all;
  Bytes piece(most);
  while (const std::uint64_t got = reader.ReadSome(std::as_writable_bytes(std::span(piece)))) {
    all.insert(all.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
  }
  return all;
}

int CodeOf(const std::function<void()>& work, std::string* message = nullptr) {
  try {
    work();
    return 0;
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return static_cast<int>(error.code());
  }
}

constexpr int kCancelled = static_cast<int>(ErrorCode::kCancelled);
constexpr int kUsage = static_cast<int>(ErrorCode::kUsage);
constexpr int kNoSpace = static_cast<int>(ErrorCode::kNoSpace);

/// Expects that `work` stalls, and that it ends as cancelled within kPrompt after the request.
void ExpectCancellable(const std::function<void(const CancelFlag&)>& work) {
  for (int i = 0; i < kTries; ++i) {
    CancelFlag cancel;
    std::atomic<bool> done{false};
    int code = 0;
    std::thread thread([&] {
      code = CodeOf([&] { work(cancel); });
      done = true;
    });
    std::this_thread::sleep_for(4 * kSoon);
    EXPECT_FALSE(done) << "it did not wait";
    const auto begin = Clock::now();
    cancel.Request();
    thread.join();
    const auto took = Clock::now() - begin;
    ASSERT_EQ(code, kCancelled);
    if (took < kPrompt) return;
  }
  ADD_FAILURE() << "it took too long every time";
}

class Stream : public ::testing::Test {
 protected:
  void SetUp() override { before_ = signal(SIGPIPE, SIG_IGN); }
  void TearDown() override { signal(SIGPIPE, before_); }

  CancelFlag cancel_;
  TempFolder folder_;

 private:
  sighandler_t before_ = SIG_DFL;
};

using PipeReaderTest = Stream;
using PipeWriterTest = Stream;

TEST_F(PipeWriterTest, MakesPagesOfAFileInMemoryInAdvanceAndChangesNoByte) {
  constexpr std::uint64_t kPages = std::uint64_t{3} << 20;
  for (const int flags : {0, O_APPEND}) {
    const detail::Fd fd(::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600));
    if (!fd.open()) GTEST_SKIP() << "/dev/shm takes no file";
    const Bytes before = RandomBytes(5001, 1), after = RandomBytes(kPages, 2);
    ASSERT_EQ(::write(fd.get(), before.data(), before.size()), static_cast<ssize_t>(before.size()));
    if (flags != 0) {
      ASSERT_EQ(::lseek(fd.get(), 0, SEEK_SET), 0);  // appending does not depend on the position
    }
    PipeWriter writer(fd.get(), "out", cancel_);
    if (!writer.in_memory()) GTEST_SKIP() << "/dev/shm is no tmpfs";
    ASSERT_TRUE(writer.MakePages(0, kPages));
    struct stat st;
    ASSERT_EQ(::fstat(fd.get(), &st), 0);
    EXPECT_EQ(static_cast<std::uint64_t>(st.st_size), before.size());
    EXPECT_GE(static_cast<std::uint64_t>(st.st_blocks) * 512, before.size() + kPages);
    const std::int64_t blocks = st.st_blocks;
    writer.WriteAll(AsSpan(after));
    writer.Close();
    ASSERT_EQ(::fstat(fd.get(), &st), 0);
    EXPECT_EQ(st.st_blocks, blocks);
    Bytes all(before.size() + after.size() + 1);
    ASSERT_EQ(::pread(fd.get(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size() - 1));
    all.pop_back();
    Bytes want = before;
    want.insert(want.end(), after.begin(), after.end());
    EXPECT_TRUE(all == want);
  }
}

TEST(CancelFlag, ThrowsOnceRequested) {
  CancelFlag flag;
  EXPECT_NO_THROW(flag.ThrowIfRequested());
  flag.Request();
  EXPECT_TRUE(flag.requested());
  EXPECT_EQ(CodeOf([&] { flag.ThrowIfRequested(); }), kCancelled);
}

TEST_F(PipeReaderTest, GivesTheSameBytesHoweverTheyArrive) {
  const Bytes content = RandomBytes(20000, 1);
  for (const std::size_t most : {1, 7, 4096, 100000}) {
    Ends ends = MakePipe();
    std::thread producer([&] {
      std::mt19937_64 random(most);
      for (std::size_t at = 0; at < content.size();) {
        const std::size_t count = std::min(content.size() - at, 1 + random() % most);
        ASSERT_EQ(write(ends.write.get(), content.data() + at, count), static_cast<ssize_t>(count));
        at += count;
      }
      ends.write = detail::Fd();
    });
    PipeReader reader(ends.read.get(), "a pipe", cancel_);
    EXPECT_FALSE(reader.on_disk());
    EXPECT_EQ(ReadToEnd(reader, 5000), content);
    EXPECT_EQ(reader.offset(), content.size());
    Bytes more(10);
    EXPECT_EQ(reader.ReadSome(std::as_writable_bytes(std::span(more))), 0u) << "the end stays the end";
    producer.join();
  }
}

TEST_F(PipeReaderTest, ReadsOneByteAtATime) {
  const Bytes content = RandomBytes(3000, 2);
  Ends ends = MakePipe();
  ASSERT_EQ(write(ends.write.get(), content.data(), content.size()), static_cast<ssize_t>(content.size()));
  ends.write = detail::Fd();
  PipeReader reader(ends.read.get(), "a pipe", cancel_);
  EXPECT_EQ(ReadToEnd(reader, 1), content);
}

TEST_F(PipeReaderTest, GoesOnAfterInterruptions) {
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = [](int) {};  // no SA_RESTART
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  const Bytes content = RandomBytes(2 << 20, 3);
  Ends ends = MakePipe();
  std::atomic<int> running{2};
  Bytes got;
  std::thread consumer([&] {
    PipeReader reader(ends.read.get(), "a pipe", cancel_);
    got = ReadToEnd(reader, 1000);
    --running;
    while (running >= 0) std::this_thread::yield();
  });
  std::thread producer([&] {
    PipeWriter writer(ends.write.get(), "a pipe", cancel_);
    writer.WriteAll(AsSpan(content));
    writer.Close();
    ends.write = detail::Fd();
    --running;
    while (running >= 0) std::this_thread::yield();
  });
  while (running > 0) {
    pthread_kill(consumer.native_handle(), SIGUSR1);
    pthread_kill(producer.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  running = -1;
  consumer.join();
  producer.join();
  EXPECT_EQ(got, content);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(PipeReaderTest, IsCancelledWhileTheProducerStalls) {
  const Ends ends = MakePipe();
  ExpectCancellable([&](const CancelFlag& cancel) {
    PipeReader reader(ends.read.get(), "a pipe", cancel);
    Bytes room(10);
    reader.ReadSome(std::as_writable_bytes(std::span(room)));
  });
}

TEST_F(PipeReaderTest, WaitsForTheWriterOfAFifoAndCanBeCancelled) {
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  PipeReader reader(folder_ / "fifo", cancel_);
  std::thread producer([&] {
    std::this_thread::sleep_for(3 * kSoon);
    const detail::Fd fd(open((folder_ / "fifo").c_str(), O_WRONLY | O_CLOEXEC));
    std::this_thread::sleep_for(2 * kSoon);
    EXPECT_EQ(write(fd.get(), "late", 4), 4);
  });
  EXPECT_EQ(ReadToEnd(reader, 100), (Bytes{'l', 'a', 't', 'e'}));
  producer.join();

  ExpectCancellable([&](const CancelFlag& cancel) {
    PipeReader lonely(folder_ / "fifo", cancel);
    Bytes room(10);
    lonely.ReadSome(std::as_writable_bytes(std::span(room)));
  });
}

TEST_F(PipeReaderTest, LeavesASharedDescriptorBlocking) {
  Ends ends = MakePipe();
  PipeReader reader(ends.read.get(), "in", cancel_);
  PipeWriter writer(ends.write.get(), "out", cancel_);
  const Bytes content(100, 'x');
  writer.WriteAll(AsSpan(content));
  Bytes room(100);
  EXPECT_EQ(reader.ReadSome(std::as_writable_bytes(std::span(room))), 100u);
  EXPECT_EQ(fcntl(ends.read.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(fcntl(ends.write.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(PipeReaderTest, ReadsStandardInputFromWhereItStands) {
  testing::WriteFile(folder_ / "in", {'a', 'b', 'c', 'd'});
  const int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
  const detail::Fd file(open((folder_ / "in").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(lseek(file.get(), 1, SEEK_SET), 1);
  ASSERT_EQ(dup2(file.get(), STDIN_FILENO), STDIN_FILENO);
  {
    PipeReader reader("-", cancel_);
    EXPECT_TRUE(reader.on_disk());
    EXPECT_EQ(ReadToEnd(reader, 2), (Bytes{'b', 'c', 'd'}));
  }
  EXPECT_NE(fcntl(STDIN_FILENO, F_GETFD), -1) << "it is not ours to close";
  ASSERT_EQ(close(STDIN_FILENO), 0);
  EXPECT_EQ(CodeOf([&] { PipeReader("-", cancel_); }), kUsage) << "closed";
  if (saved >= 0) {
    dup2(saved, STDIN_FILENO);
    close(saved);
  }
}

TEST_F(PipeReaderTest, RefusesWhatIsNoStream) {
  std::string message;
  EXPECT_EQ(CodeOf([&] { PipeReader(folder_ / "none", cancel_); }, &message), kUsage);
  EXPECT_NE(message.find(folder_ / "none"), std::string::npos);
  EXPECT_EQ(CodeOf([&] { PipeReader(folder_.path(), cancel_); }), kUsage);
}

TEST_F(PipeReaderTest, ReadsFilesOfProc) {
  PipeReader reader("/proc/self/status", cancel_);
  EXPECT_GT(ReadToEnd(reader, 100).size(), 100u);
}

// ---- PipeWriter

TEST_F(PipeWriterTest, DeliversEverythingToASlowReader) {
  const Bytes content = RandomBytes(3 << 20, 4);
  for (const bool socket : {false, true}) {
    Ends ends = socket ? MakeSockets() : MakePipe();
    Bytes got;
    std::thread consumer([&] {
      std::mt19937_64 random(5);
      Bytes piece(300000);
      for (;;) {
        const ssize_t count = read(ends.read.get(), piece.data(), 1 + random() % piece.size());
        if (count <= 0) break;
        got.insert(got.end(), piece.begin(), piece.begin() + count);
        if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    {
      PipeWriter writer(ends.write.get(), "out", cancel_);
      std::mt19937_64 random(6);
      for (std::size_t at = 0; at < content.size();) {
        const std::size_t count = std::min<std::size_t>(content.size() - at, random() % 500000);
        writer.WriteAll(AsSpan(content).subspan(at, count));
        at += count;
      }
      EXPECT_EQ(writer.offset(), content.size());
      writer.Close();
    }
    ends.write = detail::Fd();
    consumer.join();
    EXPECT_EQ(got, content);
  }
}

TEST_F(PipeWriterTest, IsCancelledWhileTheConsumerStalls) {
  const Bytes content(4 << 20, 'x');
  for (const bool socket : {false, true}) {
    const Ends ends = socket ? MakeSockets() : MakePipe();
    ExpectCancellable([&](const CancelFlag& cancel) {
      PipeWriter writer(ends.write.get(), "out", cancel);
      writer.WriteAll(AsSpan(content));
    });
  }
}

// Another user's pipe cannot be opened again. The writer then uses the shared, blocking descriptor, in small pieces.
TEST_F(PipeWriterTest, WritesAndIsCancelledWithoutADescriptionOfItsOwn) {
  if (geteuid() != 0) GTEST_SKIP() << "NOT TESTED: only root can make another user's pipe";
  const Bytes content = RandomBytes(1 << 20, 7);
  for (int i = 0; i < kTries; ++i) {
    Ends ends = MakePipe();
    const pid_t child = fork();
    if (child == 0) {
      if (setgid(65534) != 0 || setuid(65534) != 0) _exit(100);
      signal(SIGPIPE, SIG_IGN);
      static CancelFlag flag;
      signal(SIGTERM, [](int) { flag.Request(); });
      if (open(("/proc/self/fd/" + std::to_string(ends.write.get())).c_str(), O_WRONLY) >= 0) _exit(101);
      _exit(CodeOf([&] {
        PipeWriter writer(ends.write.get(), "out", flag);
        writer.WriteAll(AsSpan(content));
        for (;;) writer.WriteAll(AsSpan(content));  // no process reads these bytes
      }));
    }
    ends.write = detail::Fd();
    Bytes got(content.size());
    for (std::size_t at = 0; at < got.size();) {
      const ssize_t count = read(ends.read.get(), got.data() + at, got.size() - at);
      ASSERT_GT(count, 0);
      at += static_cast<std::size_t>(count);
    }
    EXPECT_EQ(got, content);
    std::this_thread::sleep_for(3 * kSoon);
    const auto begin = Clock::now();
    ASSERT_EQ(kill(child, SIGTERM), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    const auto took = Clock::now() - begin;
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_EQ(WEXITSTATUS(status), kCancelled);
    if (took < kPrompt) return;
  }
  FAIL() << "it took too long every time";
}

TEST_F(PipeWriterTest, SaysThatThePipeIsBroken) {
  const Bytes content(1 << 20, 'x');
  for (const bool socket : {false, true}) {
    Ends ends = socket ? MakeSockets() : MakePipe();
    PipeWriter writer(ends.write.get(), "out", cancel_);
    std::thread consumer([&] {
      Bytes piece(10);
      EXPECT_EQ(read(ends.read.get(), piece.data(), piece.size()), 10);
      ends.read = detail::Fd();
    });
    EXPECT_THROW(
        {
          for (int i = 0; i < 100; ++i) writer.WriteAll(AsSpan(content));
        },
        BrokenPipe);
    consumer.join();
  }
}

TEST_F(PipeWriterTest, WaitsForTheReaderOfAFifoAndCanBeCancelled) {
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  const Bytes content = RandomBytes(200000, 8);
  for (const Bytes& bytes : {content, Bytes()}) {
    Bytes got = {1, 2, 3};
    std::thread consumer([&] {
      std::this_thread::sleep_for(3 * kSoon);
      got = ReadFile(folder_ / "fifo");  // returns when the writer closes
    });
    PipeWriter writer(folder_ / "fifo", cancel_);
    if (!bytes.empty()) writer.WriteAll(AsSpan(bytes));
    writer.Close();
    consumer.join();
    EXPECT_EQ(got, bytes);
  }
  ExpectCancellable([&](const CancelFlag& cancel) {
    PipeWriter lonely(folder_ / "fifo", cancel);
    lonely.WriteAll(AsSpan(content));
  });
}

TEST_F(PipeWriterTest, ReportsAFullDevice) {
  const Bytes content(100, 'x');
  std::string message;
  PipeWriter by_path("/dev/full", cancel_);
  EXPECT_EQ(CodeOf([&] { by_path.WriteAll(AsSpan(content)); }, &message), kNoSpace);
  EXPECT_NE(message.find("/dev/full"), std::string::npos) << message;
  const detail::Fd fd(open("/dev/full", O_WRONLY | O_CLOEXEC));
  PipeWriter by_fd(fd.get(), "standard output", cancel_);
  EXPECT_EQ(CodeOf([&] { by_fd.WriteAll(AsSpan(content)); }), kNoSpace);
  PipeWriter sink("/dev/null", cancel_);
  EXPECT_EQ(CodeOf([&] {
              sink.WriteAll(AsSpan(content));
              sink.Close();
            }),
            0);
}

TEST_F(PipeWriterTest, WritesARedirectedFileFromWhereItStands) {
  testing::WriteFile(folder_ / "out", {'a', 'b'});
  const detail::Fd fd(open((folder_ / "out").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const Bytes content = RandomBytes(3 << 20, 9);
  PipeWriter writer(fd.get(), "standard output", cancel_);
  EXPECT_TRUE(writer.on_disk());
  writer.WriteAll(AsSpan(content));
  writer.Close();
  Bytes expected = {'a', 'b'};
  expected.insert(expected.end(), content.begin(), content.end());
  EXPECT_EQ(ReadFile(folder_ / "out"), expected);
}

TEST_F(PipeWriterTest, RefusesWhatItCannotOpen) {
  EXPECT_EQ(CodeOf([&] { PipeWriter(folder_ / "none", cancel_); }), kUsage);
  EXPECT_EQ(CodeOf([&] { PipeWriter(folder_.path(), cancel_); }), kUsage);
  EXPECT_EQ(CodeOf([&] { PipeWriter(1000, "closed", cancel_); }), kUsage);
}

}  // namespace
}  // namespace gpusort

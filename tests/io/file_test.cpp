// labels: brief threads
#include "io/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <random>
#include <thread>

#include "faulty_file_system.hpp"
#include "io/output_file.hpp"
#include "io/path.hpp"
#include "io_support.hpp"
#include "records.hpp"

namespace gpusort {
namespace {

using testing::AsSpan;
using testing::Bytes;
using testing::ExpectError;
using testing::kPage;
using testing::RandomBytes;
using testing::ReadFile;
using testing::TempFolder;
using testing::WriteFile;

/// A buffer of zeros with the alignment for direct I/O.
class PageBuffer {
 public:
  explicit PageBuffer(std::size_t bytes) : room_(bytes + kPage), bytes_(bytes) {
    data_ = room_.data() + (kPage - reinterpret_cast<std::uintptr_t>(room_.data()) % kPage) % kPage;
  }
  std::span<std::byte> span() { return {data_, bytes_}; }

 private:
  std::vector<std::byte> room_;
  std::byte* data_;
  std::size_t bytes_;
};

struct Outcome {
  int code = 0;  ///< the ErrorCode, or 0 if nothing was thrown
  std::string message;
};

Outcome Try(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    return {static_cast<int>(error.code()), error.what()};
  }
}

/// Runs `work` in a child process. Returns the code of its Error, 0 if there was none, or 100 if the child ended in
/// another way.
int InChild(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      _exit(Try(work).code);
    } catch (...) {
      _exit(100);
    }
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

/// Gives up the rights of root, for whom no permission bit counts.
void BecomeNobody() {
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(101);
}

class Umask {
 public:
  explicit Umask(mode_t mask) : before_(umask(mask)) {}
  ~Umask() { umask(before_); }

 private:
  mode_t before_;
};

/// Restores the signal mask. Publish leaves signals blocked, and the other tests must not inherit that.
class SignalMask {
 public:
  SignalMask() { pthread_sigmask(SIG_SETMASK, nullptr, &before_); }
  ~SignalMask() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  static bool Blocked(int signal) {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    return sigismember(&now, signal) == 1;
  }

 private:
  sigset_t before_;
};

unsigned ModeOf(const std::string& path) {
  struct stat st;
  return stat(path.c_str(), &st) == 0 ? st.st_mode & 07777 : 0xFFFF;
}

void Replace(FileSystem& files, const std::string& path, const Bytes& bytes, bool sync = true) {
  const SignalMask restore;
  const auto output = files.CreateOutput(path, false);
  output->Allocate(bytes.size());
  output->WriteAt(0, AsSpan(bytes));
  output->Publish(bytes.size(), sync);
}

const Bytes kOld = RandomBytes(5000, 1);
const Bytes kNew = RandomBytes(9000, 2);

/// Another process that makes `path` a file of another user on request. It serves children that have given up root's
/// rights.
class OtherUser {
 public:
  OtherUser(const std::string& path, mode_t mode) {
    if (pipe(go_) != 0 || pipe(done_) != 0) _exit(102);
    if (fork() != 0) return;
    close(go_[1]);  // so that this process ends with the one that asks
    char byte;
    if (read(go_[0], &byte, 1) != 1) _exit(1);
    WriteFile(path, kNew);
    if (chown(path.c_str(), 1234, 2345) != 0 || chmod(path.c_str(), mode) != 0) _exit(1);
    _exit(write(done_[1], &byte, 1) == 1 ? 0 : 1);
  }
  void MakeIt() {
    char byte = 0;
    if (write(go_[1], &byte, 1) != 1 || read(done_[0], &byte, 1) != 1) _exit(103);
  }

 private:
  int go_[2], done_[2];
};

// ---- File

struct Weather {
  const char* name;
  std::vector<Fault> faults;
};

std::vector<Weather> RoughReads() {
  return {{"calm", {}},
          {"short for ever", {{Call::kRead, 1, true, Effect::kShort}}},
          {"ragged", {{Call::kRead, 1, false, Effect::kShort, 777}, {Call::kRead, 3, false, Effect::kShort, 4097}}},
          {"EINTR", {{Call::kRead, 1, false, Effect::kError, EINTR}, {Call::kRead, 4, false, Effect::kError, EINTR}}}};
}

TEST(File, ReadsAnyRangeWholeHoweverTheKernelCutsIt) {
  const TempFolder folder;
  const Bytes content = RandomBytes(3 * 65536 + 123, 3);
  WriteFile(folder / "in", content);
  std::mt19937_64 random(4);
  for (const bool direct : {false, true}) {
    for (const Weather& weather : RoughReads()) {
      FaultyFileSystem files;
      const auto file = files.OpenInput(folder / "in", direct);
      const std::uint64_t unit = file->alignment();
      for (int round = 0; round < 100; ++round) {
        files.Clear();
        for (const Fault& fault : weather.faults) files.Add(fault);
        const std::uint64_t offset = random() % (content.size() + 5000) / unit * unit;
        const std::uint64_t length = (random() % 100000 + unit - 1) / unit * unit;
        PageBuffer buffer(length);
        const std::uint64_t got = file->ReadAt(offset, buffer.span());
        const std::uint64_t expected = offset >= content.size() ? 0 : std::min(length, content.size() - offset);
        ASSERT_EQ(got, expected) << weather.name << " direct " << direct << " at " << offset << " + " << length;
        ASSERT_EQ(std::memcmp(buffer.span().data(), content.data() + offset, got), 0) << weather.name;
      }
    }
  }
}

TEST(File, WritesAnyRangeWholeHoweverTheKernelCutsIt) {
  const TempFolder folder;
  const std::vector<Weather> weathers = {
      {"calm", {}},
      {"short for ever", {{Call::kWrite, 1, true, Effect::kShort}}},
      {"ragged", {{Call::kWrite, 1, false, Effect::kShort, 777}, {Call::kWrite, 2, false, Effect::kShort, 5000}}},
      {"EINTR", {{Call::kWrite, 1, false, Effect::kError, EINTR}, {Call::kWrite, 2, false, Effect::kError, EINTR}}}};
  std::mt19937_64 random(5);
  for (const bool direct : {false, true}) {
    for (const Weather& weather : weathers) {
      FaultyFileSystem files;
      const auto file = files.OpenTemp(folder.path(), direct);
      const std::uint64_t unit = file->alignment();
      Bytes model(300000 / unit * unit);
      file->Truncate(model.size());
      for (int round = 0; round < 30; ++round) {
        files.Clear();
        for (const Fault& fault : weather.faults) files.Add(fault);
        const std::uint64_t offset = random() % model.size() / unit * unit;
        const std::uint64_t length = std::min<std::uint64_t>(random() % 60000 / unit * unit, model.size() - offset);
        PageBuffer buffer(length);
        for (std::byte& byte : buffer.span()) byte = static_cast<std::byte>(random());
        if (length > 0) std::memcpy(model.data() + offset, buffer.span().data(), length);
        file->WriteAt(offset, buffer.span());
      }
      PageBuffer all(model.size());
      ASSERT_EQ(file->ReadAt(0, all.span()), model.size());
      EXPECT_EQ(std::memcmp(all.span().data(), model.data(), model.size()), 0) << weather.name << " direct " << direct;
    }
  }
}

TEST(File, ReportsAReadErrorWithPathAndOffsetAndNotAsTheEnd) {
  const TempFolder folder;
  WriteFile(folder / "in", RandomBytes(100000, 6));
  FaultyFileSystem files;
  const auto file = files.OpenInput(folder / "in", false);
  files.Add({Call::kRead, 1, false, Effect::kShort, 1000});
  files.Fail(Call::kRead, 2, EIO);
  PageBuffer buffer(50000);
  ExpectError(ErrorCode::kIo, {folder / "in", " at 3000:", "EIO", "dmesg"}, [&] { file->ReadAt(2000, buffer.span()); });
}

TEST(File, MapsWriteErrorsToNoSpaceOrIo) {
  const TempFolder folder;
  const std::pair<int, const char*> full[] = {{ENOSPC, "12345 bytes; the disk is full"},
                                              {EDQUOT, "a disk quota is used up"},
                                              {EFBIG, "the file system there takes no file so large"}};
  for (const auto& [error, hint] : full) {
    FaultyFileSystem files;
    files.SetFreeSpace(12345);
    const auto file = files.OpenTemp(folder.path(), false);
    files.Fail(Call::kWrite, 1, error);
    ExpectError(ErrorCode::kNoSpace, {folder.path(), " at 70:", "9000 bytes", hint, strerrorname_np(error)},
                [&] { file->WriteAt(70, AsSpan(kNew)); });
  }
  FaultyFileSystem files;
  const auto file = files.OpenTemp(folder.path(), false);
  files.Fail(Call::kWrite, 1, EIO);
  ExpectError(ErrorCode::kIo, {folder.path(), " at 70:", "EIO"}, [&] { file->WriteAt(70, AsSpan(kNew)); });
}

TEST(File, EndsWithAnErrorIfNothingEverMoves) {
  const TempFolder folder;
  FaultyFileSystem files;
  const auto file = files.OpenTemp(folder.path(), false);
  file->Truncate(100);
  files.FailFrom(Call::kWrite, 1, EINTR);
  files.FailFrom(Call::kRead, 1, EINTR);
  PageBuffer buffer(100);
  ExpectError(ErrorCode::kIo, {"no progress"}, [&] { file->WriteAt(0, buffer.span()); });
  ExpectError(ErrorCode::kIo, {"no progress"}, [&] { file->ReadAt(0, buffer.span()); });
}

TEST(File, SyncsOnceOnlyAfterAnError) {
  const TempFolder folder;
  FaultyFileSystem files;
  const auto file = files.OpenTemp(folder.path(), false);
  files.Fail(Call::kSync, 1, EIO);
  ExpectError(ErrorCode::kIo, {"sync", "EIO"}, [&] { file->Sync(); });
  EXPECT_EQ(files.Count(Call::kSync), 1u);
}

TEST(File, TreatsAFileSizeLimitAsNoSpace) {
  const TempFolder folder;
  const auto write = [&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {6000, 6000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(102);
    FileSystem files;
    files.OpenTemp(folder.path(), false)->WriteAt(0, AsSpan(kNew));
  };
  EXPECT_EQ(InChild(write), static_cast<int>(ErrorCode::kNoSpace));
}

TEST(File, ReservingSpaceIsBestEffortButNoSpaceIsAnError) {
  const TempFolder folder;
  for (const int error : {EOPNOTSUPP, ENOSYS, EINTR}) {
    FaultyFileSystem files;
    files.Fail(Call::kAllocate, 1, error);
    EXPECT_NO_THROW(files.OpenTemp(folder.path(), false)->Allocate(100000));
  }
  FaultyFileSystem files;
  files.Fail(Call::kAllocate, 1, ENOSPC);
  ExpectError(ErrorCode::kNoSpace, {folder.path(), "100000 bytes"},
              [&] { files.OpenTemp(folder.path(), false)->Allocate(100000); });
  EXPECT_NO_THROW(files.OpenTemp(folder.path(), false)->Allocate(0));
}

TEST(File, IsBufferedWhereDirectIsRefused) {
  const TempFolder folder;
  WriteFile(folder / "in", kOld);
  FaultyFileSystem files;
  files.FailFrom(Call::kDirect, 1, EINVAL);
  const auto file = files.OpenInput(folder / "in", true);
  EXPECT_FALSE(file->direct());
  EXPECT_EQ(file->alignment(), 1u);
  Bytes got(33);
  EXPECT_EQ(file->ReadAt(7, std::as_writable_bytes(std::span(got))), 33u);
  EXPECT_EQ(std::memcmp(got.data(), kOld.data() + 7, 33), 0);
}

TEST(File, RefusesUnalignedDirectTransfers) {
  const TempFolder folder;
  FileSystem files;
  const auto file = files.OpenTemp(folder.path(), true);
  if (!file->direct()) GTEST_SKIP() << "no direct I/O in " << folder.path();
  EXPECT_EQ(kPage % file->alignment(), 0u);
  PageBuffer buffer(2 * kPage);
  ExpectError(ErrorCode::kInternal, {"aligned"}, [&] { file->WriteAt(1, buffer.span().first(kPage)); });
  ExpectError(ErrorCode::kInternal, {"aligned"}, [&] { file->WriteAt(0, buffer.span().first(kPage - 1)); });
  ExpectError(ErrorCode::kInternal, {"aligned"}, [&] { file->ReadAt(0, buffer.span().subspan(1, kPage)); });
}

// ---- FileSystem

TEST(FileSystem, RefusesInputsThatAreNoReadableRegularFiles) {
  const TempFolder folder;
  FileSystem files;
  const auto open = [&](const std::string& path) { return [&files, path] { files.OpenInput(path, false); }; };
  ExpectError(ErrorCode::kUsage, {"ENOENT", folder / "none"}, open(folder / "none"));
  ExpectError(ErrorCode::kUsage, {"directory"}, open(folder.path()));
  ExpectError(ErrorCode::kUsage, {"not a regular file"}, open("/dev/null"));
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  ExpectError(ErrorCode::kUsage, {"not a regular file"}, open(folder / "fifo"));
  ExpectError(ErrorCode::kUsage, {"ENAMETOOLONG"}, open(std::string(5000, 'x')));
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  WriteFile(folder / "secret", kOld);
  ASSERT_EQ(chmod((folder / "secret").c_str(), 0), 0);
  EXPECT_EQ(InChild([&] {
              BecomeNobody();
              files.OpenInput(folder / "secret", false);
            }),
            static_cast<int>(ErrorCode::kUsage));
}

TEST(FileSystem, ReportsTooManyOpenFilesAsIo) {
  const TempFolder folder;
  WriteFile(folder / "in", kOld);
  FaultyFileSystem files;
  files.Fail(Call::kOpen, 1, EMFILE);
  ExpectError(ErrorCode::kIo, {"EMFILE"}, [&] { files.OpenInput(folder / "in", false); });
}

TEST(FileSystem, MakesTemporaryFilesWithoutANameThatOthersCannotOpen) {
  const Umask open_to_all(0);
  for (const bool tmpfile : {true, false}) {
    const TempFolder folder;
    FaultyFileSystem files;
    if (!tmpfile) files.Fail(Call::kOpen, 1, EOPNOTSUPP);
    const auto file = files.OpenTemp(folder.path(), false);
    EXPECT_EQ(file->Facts().mode, 0600u);
    EXPECT_TRUE(folder.Names().empty());
    EXPECT_EQ(files.Count(Call::kUnlink), tmpfile ? 0u : 1u);
    file->WriteAt(0, AsSpan(kNew));
    Bytes got(kNew.size());
    EXPECT_EQ(file->ReadAt(0, std::as_writable_bytes(std::span(got))), kNew.size());
    EXPECT_EQ(got, kNew);
  }
}

TEST(FileSystem, RefusesTemporaryDirectoriesThatCannotBeUsed) {
  const TempFolder folder;
  FileSystem files;
  WriteFile(folder / "file", kOld);
  ExpectError(ErrorCode::kUsage, {"ENOENT", folder / "none"}, [&] { files.OpenTemp(folder / "none", false); });
  ExpectError(ErrorCode::kUsage, {"ENOTDIR"}, [&] { files.OpenTemp(folder / "file", false); });
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  EXPECT_EQ(InChild([&] {
              BecomeNobody();
              files.OpenTemp(folder.path(), false);
            }),
            static_cast<int>(ErrorCode::kUsage));
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
}

TEST(FileSystem, IdentifiesAFileByAllItsNamesAndSeesItsChanges) {
  const TempFolder folder;
  FileSystem files;
  WriteFile(folder / "a", kOld);
  ASSERT_EQ(symlink("a", (folder / "soft").c_str()), 0);
  ASSERT_EQ(link((folder / "a").c_str(), (folder / "hard").c_str()), 0);
  const auto facts = files.Identify(folder / "a");
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->regular);
  EXPECT_EQ(facts->size, kOld.size());
  EXPECT_EQ(files.Identify(folder / "soft"), facts);
  EXPECT_EQ(files.Identify(folder / "hard"), facts);
  EXPECT_EQ(files.OpenInput(folder / "a", false)->Facts(), *facts);
  EXPECT_FALSE(files.Identify(folder / "none"));
  EXPECT_FALSE(files.Identify(folder / "a/b"));
  EXPECT_FALSE(files.Identify("/dev/null")->regular);

  WriteFile(folder / "other", kOld);
  EXPECT_NE(files.Identify(folder / "other")->ino, facts->ino);
  // The clock for time stamps of files ticks every few milliseconds, or later on a busy machine.
  for (int i = 0; i < 10000 && files.Identify(folder / "a") == facts; ++i) {
    usleep(1000);
    WriteFile(folder / "a", kOld);
  }
  EXPECT_NE(files.Identify(folder / "a"), facts) << "rewritten with the same size";
}

TEST(FileSystem, TellsHowMuchOfAFileIsCached) {
  const TempFolder folder;
  FileSystem files;
  if (files.IsTmpfs(folder.path())) GTEST_SKIP() << folder.path() << " is a tmpfs: always cached";
  const auto file = files.OpenTemp(folder.path(), false);
  const Bytes bytes(8 << 20, 'x');
  EXPECT_EQ(files.CachedShare(*file), 0);
  // The system may evict cached pages at any time, and keeps pages that other processes use. The test therefore tries
  // several times.
  double most = 0, least = 1;
  for (int i = 0; i < 20 && (most <= 0.9 || least >= 0.1); ++i) {
    file->WriteAt(0, AsSpan(bytes));
    most = std::max(most, files.CachedShare(*file));
    file->DropCache();
    least = std::min(least, files.CachedShare(*file));
  }
  EXPECT_GT(most, 0.9);
  EXPECT_LT(least, 0.1);
}

TEST(FileSystem, KnowsTmpfsAndFreeSpace) {
  FileSystem files;
  if (files.Identify("/dev/shm")) {
    EXPECT_TRUE(files.IsTmpfs("/dev/shm"));
  }
  EXPECT_FALSE(files.IsTmpfs("/proc"));
  EXPECT_EQ(files.FreeSpace("/proc"), kUnknownSpace) << "it reports no blocks at all, as ramfs does";
  EXPECT_GT(files.FreeSpace(std::filesystem::temp_directory_path()), 0u);
  ExpectError(ErrorCode::kUsage, {"/nowhere"}, [&] { files.FreeSpace("/nowhere"); });
}

TEST(FileSystem, SaysNoSpaceOnAFullDisk) {
  const TempFolder folder;
  constexpr int kNoMount = 77;
  const auto on_small_disk = [&](const std::function<void(FileSystem&)>& work) {
    return InChild([&] {
      if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          mount("none", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
        _exit(kNoMount);
      }
      FileSystem files;
      work(files);
    });
  };
  if (on_small_disk([](FileSystem&) {}) == kNoMount) GTEST_SKIP() << "NOT TESTED: a small tmpfs cannot be mounted here";
  const Bytes bytes(3 << 20, 'x');
  constexpr int kNoSpace = static_cast<int>(ErrorCode::kNoSpace);
  EXPECT_EQ(on_small_disk([&](FileSystem& files) { files.OpenTemp(folder.path(), false)->WriteAt(0, AsSpan(bytes)); }),
            kNoSpace);
  EXPECT_EQ(on_small_disk([&](FileSystem& files) { files.OpenTemp(folder.path(), false)->Allocate(bytes.size()); }),
            kNoSpace);
  EXPECT_EQ(
      on_small_disk([&](FileSystem& files) { files.CreateOutput(folder / "out", false)->Allocate(bytes.size()); }),
      kNoSpace);
  EXPECT_EQ(
      on_small_disk([&](FileSystem& files) { files.CreateOutput(folder / "out", false)->WriteAt(0, AsSpan(bytes)); }),
      kNoSpace);
  EXPECT_EQ(on_small_disk([&](FileSystem& files) { Replace(files, folder / "out", kNew); }), 0);
}

TEST(FileSystem, KnowsDescriptorsByAllTheirNames) {
  const TempFolder folder;
  ASSERT_EQ(symlink("/dev/stdout", (folder / "link").c_str()), 0);
  ASSERT_EQ(symlink("link", (folder / "chain").c_str()), 0);
  for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) EXPECT_EQ(DescriptorOf(name), 1) << name;
  EXPECT_EQ(DescriptorOf("/proc/" + std::to_string(getpid()) + "/fd/42"), 42);
  EXPECT_EQ(DescriptorOf(folder / "link"), 1);
  EXPECT_EQ(DescriptorOf(folder / "chain"), 1);
  for (const std::string& name :
       std::vector<std::string>{folder / "1", "/dev/fd", "/dev/fd/x", "/proc/1/fd/1", "1", ""}) {
    EXPECT_EQ(DescriptorOf(name), std::nullopt) << name;
  }
}

TEST(FileSystem, KnowsWhatCanOnlyBeStreamed) {
  const TempFolder folder;
  WriteFile(folder / "file", kOld);
  WriteFile(folder / "empty", {});
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  ASSERT_EQ(symlink("fifo", (folder / "link").c_str()), 0);
  for (const std::string& path : {std::string("-"), folder / "fifo", folder / "link", std::string("/dev/null")}) {
    EXPECT_TRUE(IsStreamTarget(path)) << path;
    EXPECT_TRUE(IsStreamSource(path)) << path;
  }
  for (const std::string& path : {folder / "file", folder / "empty", folder / "none", folder.path()}) {
    EXPECT_FALSE(IsStreamTarget(path)) << path;
    EXPECT_FALSE(IsStreamSource(path)) << path;
  }
  EXPECT_TRUE(IsStreamSource("/proc/self/status"));
}

// ---- OutputFile

TEST(OutputFile, IsInvisibleUntilPublishedAndThenWhole) {
  const TempFolder folder;
  FileSystem files;
  const SignalMask restore;
  const auto output = files.CreateOutput(folder / "out", false);
  output->Allocate(kNew.size());
  output->WriteAt(0, AsSpan(kNew));
  EXPECT_TRUE(folder.Names().empty());
  output->Publish(kNew.size(), true);
  EXPECT_EQ(folder.Names(), std::vector<std::string>{"out"});
  EXPECT_EQ(ReadFile(folder / "out"), kNew);
  Bytes got(kNew.size());
  EXPECT_EQ(output->ReadAt(0, std::as_writable_bytes(std::span(got))), kNew.size());
  EXPECT_EQ(got, kNew);
}

TEST(OutputFile, DroppedUnpublishedLeavesTheOldFileAndNothingElse) {
  for (const bool tmpfile : {true, false}) {
    for (const bool old : {true, false}) {
      const TempFolder folder;
      if (old) WriteFile(folder / "out", kOld);
      const auto before = folder.Names();
      FaultyFileSystem files;
      if (!tmpfile) files.Fail(Call::kOpen, 2, EOPNOTSUPP);  // the first open is that of the directory
      {
        const auto output = files.CreateOutput(folder / "out", false);
        output->Allocate(100000);
        output->WriteAt(0, AsSpan(kNew));
        EXPECT_EQ(folder.Names().size(), before.size() + (tmpfile ? 0 : 1));
      }
      EXPECT_EQ(folder.Names(), before);
      if (old) {
        EXPECT_EQ(ReadFile(folder / "out"), kOld);
      }
    }
  }
}

TEST(OutputFile, IsWrittenBackAsItIsWrittenIfAskedTo) {
  const TempFolder folder;
  const Bytes large(1 << 20, 'x'), small(1000, 'y');
  for (const bool early : {false, true}) {
    FaultyFileSystem files;
    const auto output = files.CreateOutput(folder / "out", false);
    if (early) output->WriteBackEarly();
    output->WriteAt(0, AsSpan(large));
    output->WriteAt(large.size(), AsSpan(small));
    output->WriteAt(large.size() + small.size(), AsSpan(large));
    EXPECT_EQ(files.Count(Call::kWriteBack), early ? 2u : 0u);
  }
}

TEST(OutputFile, TakesUpWhatAProcessBeforeHasKept) {
  const TempFolder folder;
  const SignalMask restore;
  WriteFile(folder / "out", kOld);
  const Bytes whole(10000, 'x');
  const auto take_up = [&](std::uint64_t bytes, std::uint64_t keep) {
    FileSystem files;
    const auto output = files.CreateOutput(folder / "out", false);
    const bool found = output->TakeUp(".part", bytes);
    EXPECT_EQ(std::filesystem::file_size(folder / ".part"), found ? bytes : 0);
    output->Allocate(whole.size());
    output->WriteAt(0, AsSpan(whole));
    if (keep > 0) output->Keep(keep);
    return found;
  };
  EXPECT_TRUE(take_up(0, 0));
  EXPECT_EQ(folder.Names(), std::vector<std::string>{"out"}) << "nothing was kept";
  EXPECT_FALSE(take_up(5000, 7000));
  EXPECT_EQ(std::filesystem::file_size(folder / ".part"), 7000u);
  EXPECT_TRUE(take_up(5000, 0));
  EXPECT_EQ(std::filesystem::file_size(folder / ".part"), 5000u);
  EXPECT_EQ(ReadFile(folder / "out"), kOld);
  {
    FileSystem files;
    const auto output = files.CreateOutput(folder / "out", false);
    EXPECT_TRUE(output->TakeUp(".part", 5000));
    output->WriteAt(5000, AsSpan(kNew));
    output->Publish(5000 + kNew.size(), true);
  }
  EXPECT_EQ(folder.Names(), std::vector<std::string>{"out"});
  Bytes expected(5000, 'x');
  expected.insert(expected.end(), kNew.begin(), kNew.end());
  EXPECT_EQ(ReadFile(folder / "out"), expected);
  // A file that the output did not make is neither followed nor truncated.
  WriteFile(folder / "other", kOld);
  for (const bool link : {true, false}) {
    link ? std::filesystem::create_symlink(folder / "other", folder / ".part")
         : std::filesystem::create_hard_link(folder / "other", folder / ".part");
    FileSystem files;
    EXPECT_THROW(files.CreateOutput(folder / "out", false)->TakeUp(".part", 0), Error);
    EXPECT_EQ(ReadFile(folder / "other"), kOld);
    std::filesystem::remove(folder / ".part");
  }
}

TEST(OutputFile, CanLoseItsHiddenNameToASignalHandler) {
  const TempFolder folder;
  WriteFile(folder / "out", kOld);
  FaultyFileSystem files;
  files.Fail(Call::kOpen, 2, EOPNOTSUPP);
  const SignalMask restore;
  {
    const auto output = files.CreateOutput(folder / "out", false);
    EXPECT_EQ(folder.Names().size(), 2u);
    RemoveHiddenOutput();
    EXPECT_EQ(folder.Names(), std::vector<std::string>{"out"});
  }
  files.Clear();
  files.Fail(Call::kOpen, 2, EOPNOTSUPP);
  const auto output = files.CreateOutput(folder / "out", false);
  output->Publish(0, true);
  RemoveHiddenOutput();  // a published file is no longer hidden
  EXPECT_EQ(folder.Names(), std::vector<std::string>{"out"});
  EXPECT_TRUE(ReadFile(folder / "out").empty());
}

TEST(OutputFile, TakesModeFromTheOldFileOrTheUmask) {
  const TempFolder folder;
  FileSystem files;
  for (const mode_t mask : {0, 022, 027, 077}) {
    const Umask umask(mask);
    std::filesystem::remove(folder / "out");
    Replace(files, folder / "out", kNew);
    EXPECT_EQ(ModeOf(folder / "out"), 0666u & ~mask);
    for (const unsigned mode : {0600u, 0640u, 0664u, 0755u, 0222u}) {
      ASSERT_EQ(chmod((folder / "out").c_str(), mode), 0);
      Replace(files, folder / "out", kOld);
      EXPECT_EQ(ModeOf(folder / "out"), mode);
    }
  }
}

TEST(OutputFile, IsPrivateWhileItHasAHiddenName) {
  const Umask open_to_all(0);
  const TempFolder folder;
  FaultyFileSystem files;
  files.Fail(Call::kOpen, 2, EOPNOTSUPP);
  const auto output = files.CreateOutput(folder / "out", false);
  ASSERT_EQ(folder.Names().size(), 1u);
  EXPECT_EQ(folder.Names()[0].substr(0, 9), ".gpusort-");
  EXPECT_EQ(ModeOf(folder / folder.Names()[0]), 0600u);
}

TEST(OutputFile, KeepsOwnerAndGroupWhereItMay) {
  if (geteuid() != 0) GTEST_SKIP() << "NOT TESTED: only root can give files away";
  const TempFolder folder;
  FileSystem files;
  WriteFile(folder / "out", kOld);
  ASSERT_EQ(chown((folder / "out").c_str(), 1234, 2345), 0);
  ASSERT_EQ(chmod((folder / "out").c_str(), 0640), 0);
  Replace(files, folder / "out", kNew);
  const auto facts = files.Identify(folder / "out");
  EXPECT_EQ(facts->uid, 1234u);
  EXPECT_EQ(facts->gid, 2345u);
  EXPECT_EQ(facts->mode, 0640u);

  // Another user could not keep owner and group.
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  ASSERT_EQ(chmod((folder / "out").c_str(), 0662), 0);
  EXPECT_EQ(InChild([&] {
              BecomeNobody();
              Replace(files, folder / "out", kOld);
            }),
            static_cast<int>(ErrorCode::kUsage));
  // If the old file appears only at the end, that user's group gets no more rights than others had.
  std::filesystem::remove(folder / "out");
  EXPECT_EQ(InChild([&] {
              OtherUser other(folder / "out", 0662);
              BecomeNobody();
              const auto output = files.CreateOutput(folder / "out", false);
              output->WriteAt(0, AsSpan(kOld));
              other.MakeIt();
              output->Publish(kOld.size(), true);
            }),
            0);
  EXPECT_EQ(ReadFile(folder / "out"), kOld);
  EXPECT_EQ(files.Identify(folder / "out")->uid, 65534u);
  EXPECT_EQ(ModeOf(folder / "out"), 0622u);
}

TEST(OutputFile, FollowsWhatTheOldFileMayBeUsedForUntilTheEnd) {
  for (const bool sync : {false, true}) {
    const TempFolder folder;
    FileSystem files;
    const SignalMask restore;
    WriteFile(folder / "out", kOld);
    ASSERT_EQ(chmod((folder / "out").c_str(), 0644), 0);
    auto output = files.CreateOutput(folder / "out", false);
    output->WriteAt(0, AsSpan(kNew));
    ASSERT_EQ(chmod((folder / "out").c_str(), 0600), 0);
    output->Publish(kNew.size(), sync);
    EXPECT_EQ(ReadFile(folder / "out"), kNew);
    EXPECT_EQ(ModeOf(folder / "out"), 0600u);
    // If the old file is removed meanwhile, the new file still gets its rights.
    output = files.CreateOutput(folder / "out", false);
    std::filesystem::remove(folder / "out");
    output->Publish(0, sync);
    EXPECT_EQ(ModeOf(folder / "out"), 0600u);
  }
}

/// Returns an ACL in the form in which the kernel stores it.
std::string Acl(const std::vector<std::array<std::uint16_t, 2>>& entries) {
  std::string acl{2, 0, 0, 0};
  for (const auto& [tag, permissions] : entries) {
    const std::uint32_t id = tag == 0x02 ? 65534 : 0xFFFFFFFF;
    acl.append(reinterpret_cast<const char*>(&tag), 2).append(reinterpret_cast<const char*>(&permissions), 2);
    acl.append(reinterpret_cast<const char*>(&id), 4);
  }
  return acl;
}

std::string AclOf(const std::string& path) {
  std::string acl(4096, '\0');
  const ssize_t got = getxattr(path.c_str(), "system.posix_acl_access", acl.data(), acl.size());
  return acl.substr(0, got > 0 ? static_cast<std::size_t>(got) : 0);
}

TEST(OutputFile, KeepsTheAclOrTakesWhatItsDirectoryGives) {
  constexpr std::uint16_t kOwner = 0x01, kUser = 0x02, kGroup = 0x04, kMask = 0x10, kOthers = 0x20;
  const Umask umask(022);
  const TempFolder folder;
  FileSystem files;
  const std::string acl = Acl({{kOwner, 6}, {kUser, 6}, {kGroup, 0}, {kMask, 6}, {kOthers, 0}});
  WriteFile(folder / "out", kOld);
  if (setxattr((folder / "out").c_str(), "system.posix_acl_access", acl.data(), acl.size(), 0) != 0) {
    GTEST_SKIP() << "NOT TESTED: no ACLs in " << folder.path();
  }
  Replace(files, folder / "out", kNew);
  EXPECT_EQ(AclOf(folder / "out"), acl);
  const std::vector<std::string> defaults = {
      Acl({{kOwner, 7}, {kGroup, 5}, {kOthers, 0}}),
      Acl({{kOwner, 7}, {kUser, 7}, {kGroup, 0}, {kMask, 7}, {kOthers, 0}}),
      Acl({{kOwner, 4}, {kUser, 3}, {kGroup, 7}, {kMask, 5}, {kOthers, 3}}),
  };
  for (const std::string& passed_on : defaults) {
    ASSERT_EQ(setxattr(folder.path().c_str(), "system.posix_acl_default", passed_on.data(), passed_on.size(), 0), 0);
    for (const char* name : {"usual", "new"}) std::filesystem::remove(folder / name);
    const int usual = open((folder / "usual").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    ASSERT_GE(usual, 0);
    close(usual);
    Replace(files, folder / "new", kNew);
    EXPECT_EQ(ModeOf(folder / "new"), ModeOf(folder / "usual"));
    EXPECT_EQ(AclOf(folder / "new"), AclOf(folder / "usual"));
    // The ACL that the directory gives contains more rights than the old file has.
    ASSERT_EQ(removexattr((folder / "usual").c_str(), "system.posix_acl_access") == 0 || errno == ENODATA, true);
    ASSERT_EQ(chmod((folder / "usual").c_str(), 0600), 0);
    Replace(files, folder / "usual", kNew);
    EXPECT_EQ(ModeOf(folder / "usual"), 0600u);
    EXPECT_EQ(AclOf(folder / "usual"), "");
  }
}

std::string AttributeOf(const std::string& path, const char* name) {
  std::string value(4096, '\0');
  const ssize_t got = getxattr(path.c_str(), name, value.data(), value.size());
  return got < 0 ? "none" : value.substr(0, static_cast<std::size_t>(got));
}

/// A file system on which attributes whose names contain `text` cannot be set.
class NoAttribute : public SystemCalls {
 public:
  explicit NoAttribute(std::string text) : text_(std::move(text)) {}
  int SetAttribute(int fd, const char* name, const std::string& value) override {
    if (std::string_view(name).find(text_) == std::string_view::npos) return SystemCalls::SetAttribute(fd, name, value);
    errno = ENOSPC;
    return -1;
  }

 private:
  const std::string text_;
};

TEST(OutputFile, KeepsAttributesOrSaysWhichNot) {
  const TempFolder folder;
  WriteFile(folder / "out", kOld);
  const auto set = [&](const char* name, const std::string& value) {
    return setxattr((folder / "out").c_str(), name, value.data(), value.size(), 0) == 0;
  };
  const std::string bytes("a\0b\n\xff", 5), large(3000, 'x');
  if (!set("user.one", bytes)) GTEST_SKIP() << "NOT TESTED: no attributes in " << folder.path();
  ASSERT_TRUE(set("user.empty", ""));
  const bool large_set = set("user.\xff\n", large);
  const bool trusted = set("trusted.mark", "t");
  const bool labelled = set("security.mark", "s");
  for (const unsigned mode : {0644u, 0444u}) {
    ASSERT_EQ(chmod((folder / "out").c_str(), mode), 0);
    FileSystem files;
    const auto output = files.CreateOutput(folder / "out", false, OldFile::kReplaceOrRewrite);
    ASSERT_EQ(output->in_place(), "");
    output->WriteAt(0, AsSpan(kNew));
    {
      const SignalMask restore;
      output->Publish(kNew.size(), true);
    }
    EXPECT_EQ(ReadFile(folder / "out"), kNew);
    EXPECT_EQ(ModeOf(folder / "out"), mode);
    EXPECT_EQ(AttributeOf(folder / "out", "user.one"), bytes);
    EXPECT_EQ(AttributeOf(folder / "out", "user.empty"), "");
    if (large_set) {
      EXPECT_EQ(AttributeOf(folder / "out", "user.\xff\n"), large);
    }
    if (labelled) {
      EXPECT_EQ(AttributeOf(folder / "out", "security.mark"), "s");
    }
    const bool first = mode == 0644;
    EXPECT_EQ(output->lost(), first && trusted
                                  ? std::vector<std::string>{"trusted.mark: only user.* and security.* are kept"}
                                  : std::vector<std::string>{});
    if (geteuid() != 0) break;
  }
  ASSERT_EQ(chmod((folder / "out").c_str(), 0644), 0);
  // The message names attributes that cannot be set. All others are set.
  FileSystem files(std::make_shared<NoAttribute>("one"));
  auto output = files.CreateOutput(folder / "out", false, OldFile::kReplaceOrRewrite);
  {
    const SignalMask restore;
    output->Publish(0, true);
  }
  EXPECT_EQ(output->lost(), std::vector<std::string>{"user.one: ENOSPC (No space left on device)"});
  EXPECT_EQ(AttributeOf(folder / "out", "user.one"), "none");
  EXPECT_EQ(AttributeOf(folder / "out", "user.empty"), "");
  // Up to the end, the old file determines the attributes of the new file.
  output = files.CreateOutput(folder / "out", false, OldFile::kReplaceOrRewrite);
  output->Complete(0, true);
  ASSERT_EQ(removexattr((folder / "out").c_str(), "user.empty"), 0);
  ASSERT_TRUE(set("user.late", "l"));
  {
    const SignalMask restore;
    output->Publish(0, true);
  }
  EXPECT_EQ(AttributeOf(folder / "out", "user.empty"), "none");
  EXPECT_EQ(AttributeOf(folder / "out", "user.late"), "l");
}

TEST(OutputFile, KeepsSetUserIdOnlyWithItsOwner) {
  const TempFolder folder;
  FileSystem files;
  WriteFile(folder / "out", kOld);
  for (const unsigned mode : {04755u, 02755u, 01644u, 07777u}) {
    ASSERT_EQ(chmod((folder / "out").c_str(), mode), 0);
    Replace(files, folder / "out", kNew);
    EXPECT_EQ(ModeOf(folder / "out"), mode);
  }
  if (geteuid() != 0) GTEST_SKIP() << "NOT TESTED: only root can give files away";
  ASSERT_EQ(chown((folder / "out").c_str(), 1234, 2345), 0);
  ASSERT_EQ(chmod((folder / "out").c_str(), 06755), 0);
  Replace(files, folder / "out", kOld);
  EXPECT_EQ(ModeOf(folder / "out"), 06755u);
  EXPECT_EQ(files.Identify(folder / "out")->uid, 1234u);
  // Another user makes the file while a job runs that may not give files away. The mode bits of that user's file are
  // not taken over.
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  std::filesystem::remove(folder / "out");
  EXPECT_EQ(InChild([&] {
              OtherUser other(folder / "out", 06777);
              BecomeNobody();
              const auto output = files.CreateOutput(folder / "out", false);
              other.MakeIt();
              output->Publish(0, true);
              if (output->lost().size() != 3) _exit(104);
            }),
            0);
  EXPECT_EQ(ModeOf(folder / "out"), 0777u);
}

TEST(OutputFile, InPlaceKeepsTheOldContentUntilTheFirstWrite) {
  const TempFolder folder;
  WriteFile(folder / "out", kNew);
  WriteFile(folder / "full", kOld);
  ASSERT_EQ(chmod((folder / "out").c_str(), 0666), 0);
  ASSERT_EQ(chmod((folder / "full").c_str(), 0666), 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  EXPECT_EQ(InChild([&] {
              BecomeNobody();
              FaultyFileSystem files;
              if (Try([&] { files.CreateOutput(folder / "out", false); }).code == 0) _exit(101);
              auto output = files.CreateOutput(folder / "out", true, OldFile::kReplaceOrRewrite);
              if (output->in_place().empty() || output->direct()) _exit(102);
              output->MakeDirect();
              output->Allocate(100000);
              if (output->direct() || ReadFile(folder / "out") != kNew) _exit(103);
              output = files.CreateOutput(folder / "out", false, OldFile::kReplaceOrRewrite);
              if (ReadFile(folder / "out") != kNew) _exit(104);
              // The new content is shorter than the old one, and its end is written first.
              output->WriteAt(100, AsSpan(kOld).subspan(100));
              output->WriteAt(0, AsSpan(kOld).first(100));
              if (ReadFile(folder / "out") != kOld) _exit(105);
              output->Publish(kOld.size() - 5, true);
              Bytes got(kOld.size());
              if (output->ReadAt(0, std::as_writable_bytes(std::span(got))) != kOld.size() - 5) _exit(106);
              // Too little free space is noticed before the file is changed.
              files.SetFreeSpace(100);
              output = files.CreateOutput(folder / "full", false, OldFile::kReplaceOrRewrite);
              output->Allocate(kOld.size() + 50);
              if (Try([&] { output->Allocate(100000); }).code != static_cast<int>(ErrorCode::kNoSpace)) _exit(107);
              if (ReadFile(folder / "full") != kOld) _exit(108);
            }),
            0);
  EXPECT_EQ(ReadFile(folder / "out"), Bytes(kOld.begin(), kOld.end() - 5));
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
}

TEST(OutputFile, IsRewrittenWhereSomebodyCouldTell) {
  const TempFolder folder;
  FileSystem files;
  const auto in_place = [&](const std::string& name) {
    return !files.CreateOutput(folder / name, false, OldFile::kRewriteIfSeen)->in_place().empty();
  };
  const auto make = [&](const std::string& name) { std::ofstream(folder / name) << "old"; };
  EXPECT_FALSE(in_place("missing"));
  make("plain");
  EXPECT_FALSE(in_place("plain"));
  make("linked");
  std::filesystem::create_hard_link(folder / "linked", folder / "other");
  EXPECT_TRUE(in_place("linked"));
  std::filesystem::remove(folder / "other");
  EXPECT_FALSE(in_place("linked"));
  make("marked");
  if (setxattr((folder / "marked").c_str(), "user.mark", "x", 1, 0) == 0) {
    EXPECT_TRUE(in_place("marked"));
  }
  if (geteuid() == 0) {
    make("given");
    ASSERT_EQ(chown((folder / "given").c_str(), 12345, 0), 0);
    EXPECT_TRUE(in_place("given"));
  }
  // A file that is also a standard stream: a reader of that stream would find the old file.
  const int before = dup(STDIN_FILENO);
  const int fd = open((folder / "plain").c_str(), O_RDONLY);
  ASSERT_EQ(dup2(fd, STDIN_FILENO), STDIN_FILENO);
  EXPECT_TRUE(in_place("plain"));
  dup2(before, STDIN_FILENO);
  close(before);
  close(fd);
  EXPECT_FALSE(in_place("plain"));
}

TEST(OutputFile, FollowsLinksOnlyWhereTheKernelDoes) {
  const TempFolder folder;
  WriteFile(folder / "there", kOld);
  ASSERT_EQ(symlink("there", (folder / "link").c_str()), 0);
  ASSERT_EQ(symlink("missing", (folder / "dangling").c_str()), 0);
  for (const char* name : {"link", "dangling"}) {
    for (const OldFile old : {OldFile::kReplace, OldFile::kReplaceOrRewrite}) {
      FaultyFileSystem files;
      files.Fail(Call::kOpen, 1, EACCES);
      ExpectError(ErrorCode::kUsage, {"EACCES"}, [&] { files.CreateOutput(folder / name, false, old); });
      EXPECT_EQ(files.Count(Call::kOpen), 1u);
    }
  }
  // The target of a dangling link is created first, and is removed with the job.
  FileSystem files;
  files.CreateOutput(folder / "dangling", false);
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"dangling", "link", "there"}));
  EXPECT_EQ(ReadFile(folder / "there"), kOld);
}

TEST(OutputFile, ReplacesTheTargetOfALinkAndKeepsTheLink) {
  const TempFolder folder;
  FileSystem files;
  ASSERT_EQ(mkdir((folder / "far").c_str(), 0755), 0);
  ASSERT_EQ(symlink("far/target", (folder / "relative").c_str()), 0);
  ASSERT_EQ(symlink("relative", (folder / "chain").c_str()), 0);
  ASSERT_EQ(symlink((folder / "far/target").c_str(), (folder / "absolute").c_str()), 0);
  // The first link is dangling.
  Bytes content = kOld;
  for (const char* name : {"relative", "chain", "absolute"}) {
    content.push_back(1);
    Replace(files, folder / name, content);
    EXPECT_EQ(ReadFile(folder / "far/target"), content) << name;
    EXPECT_TRUE(std::filesystem::is_symlink(folder / name));
  }
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"absolute", "chain", "far", "relative"}));
}

TEST(OutputFile, LeavesOtherHardLinksAndOpenReadersTheOldContent) {
  const TempFolder folder;
  FileSystem files;
  WriteFile(folder / "out", kOld);
  ASSERT_EQ(link((folder / "out").c_str(), (folder / "other").c_str()), 0);
  const auto input = files.OpenInput(folder / "out", false);
  Replace(files, folder / "out", kNew);
  EXPECT_EQ(ReadFile(folder / "out"), kNew);
  EXPECT_EQ(ReadFile(folder / "other"), kOld);
  Bytes got(kOld.size());
  EXPECT_EQ(input->ReadAt(0, std::as_writable_bytes(std::span(got))), kOld.size());
  EXPECT_EQ(got, kOld);
}

TEST(OutputFile, RefusesWhatItCannotReplace) {
  const TempFolder folder;
  FileSystem files;
  const auto create = [&](const std::string& path) { return [&files, path] { files.CreateOutput(path, false); }; };
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  ASSERT_EQ(symlink("loop", (folder / "loop").c_str()), 0);
  ASSERT_EQ(symlink("none/target", (folder / "lost").c_str()), 0);
  WriteFile(folder / "file", kOld);
  ExpectError(ErrorCode::kUsage, {"directory"}, create(folder.path()));
  ExpectError(ErrorCode::kUsage, {"directory"}, create(folder / "new/"));
  ExpectError(ErrorCode::kUsage, {}, create(""));
  ExpectError(ErrorCode::kUsage, {"not a regular file"}, create(folder / "fifo"));
  ExpectError(ErrorCode::kUsage, {}, create(folder / "loop"));
  ExpectError(ErrorCode::kUsage, {folder / "none"}, create(folder / "none/out"));
  ExpectError(ErrorCode::kUsage, {folder / "none"}, create(folder / "lost"));
  ExpectError(ErrorCode::kUsage, {}, create(folder / "file/out"));
  ExpectError(ErrorCode::kUsage, {"ENAMETOOLONG"}, create(folder / std::string(300, 'x')));
  // Front ends choose their words by the number of the error.
  const auto number = [&](const std::string& path) {
    try {
      files.CreateOutput(path, false);
    } catch (const SystemError& error) {
      return error.number();
    }
    return 0;
  };
  for (const auto& [path, error] : {std::pair(folder.path(), EISDIR),
                                    {folder / "new/", EISDIR},
                                    {"", ENOENT},
                                    {folder / "loop", ELOOP},
                                    {folder / "none/out", ENOENT},
                                    {folder / "lost", ENOENT},
                                    {folder / "file/out", ENOTDIR}}) {
    EXPECT_EQ(number(path), error) << path;
  }

  const auto as_nobody = [&](const std::string& path) {
    return InChild([&] {
      BecomeNobody();
      files.CreateOutput(path, false);
    });
  };
  constexpr int kUsage = static_cast<int>(ErrorCode::kUsage);
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  EXPECT_EQ(as_nobody(folder / "new"), kUsage) << "read-only directory";
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  EXPECT_EQ(as_nobody(folder / "new"), 0);
  ASSERT_EQ(chmod((folder / "file").c_str(), 0444), 0);
  EXPECT_EQ(as_nobody(folder / "file"), kUsage) << "read-only file";
  ASSERT_EQ(chmod((folder / "file").c_str(), 0666), 0);
  EXPECT_EQ(as_nobody(folder / "file"), geteuid() == 0 ? kUsage : 0) << "another user's file";
  if (geteuid() == 0) {
    ASSERT_EQ(chmod(folder.path().c_str(), 01777), 0);
    EXPECT_EQ(as_nobody(folder / "file"), kUsage) << "another user's file in a sticky directory";
  }
  EXPECT_EQ(ReadFile(folder / "file"), kOld);
}

TEST(OutputFile, WritesDirectlyInWholePagesAndIsCutToItsLength) {
  for (const std::uint64_t size : {0, 1, 511, 4095, 4096, 4097, 70000}) {
    const TempFolder folder;
    FileSystem files;
    const SignalMask restore;
    const Bytes content = RandomBytes(size, size);
    const auto output = files.CreateOutput(folder / "out", true);
    output->Allocate(200000);
    PageBuffer padded((size + kPage - 1) / kPage * kPage);
    if (size > 0) std::memcpy(padded.span().data(), content.data(), size);
    output->WriteAt(0, padded.span());
    output->DropCache();
    output->Publish(size, false);
    EXPECT_EQ(ReadFile(folder / "out"), content);
  }
}

/// Counts the bytes that are copied through mappings.
class PageCounter : public SystemCalls {
 public:
  explicit PageCounter(bool tmpfile) : tmpfile_(tmpfile) {}
  int Open(int directory, const char* path, int flags, unsigned mode) override {
    if (tmpfile_ || (flags & O_TMPFILE) != O_TMPFILE) return SystemCalls::Open(directory, path, flags, mode);
    errno = EOPNOTSUPP;
    return -1;
  }
  bool CopyToPages(int fd, const std::byte* data, std::size_t bytes, std::uint64_t offset) override {
    const bool done = SystemCalls::CopyToPages(fd, data, bytes, offset);
    if (done) copied += bytes;
    return done;
  }
  std::atomic<std::uint64_t> copied{0};

 private:
  const bool tmpfile_;
};

/// Fails to reserve bytes from the offset `begin` on.
class FullFrom : public PageCounter {
 public:
  explicit FullFrom(std::uint64_t begin) : PageCounter(true), begin_(begin) {}
  int Allocate(int fd, std::uint64_t begin, std::uint64_t end) override {
    if (begin < begin_) return SystemCalls::Allocate(fd, begin, end);
    errno = ENOSPC;
    return -1;
  }

 private:
  const std::uint64_t begin_;
};

// Threads that write before their bytes are reserved wait for them. If they cannot be reserved, the threads go on.
TEST(OutputFile, OnATmpfsThreadsWaitForTheBytesThatAreExpected) {
  if (!FileSystem().IsTmpfs("/dev/shm")) GTEST_SKIP() << "NOT TESTED: /dev/shm is no tmpfs";
  const TempFolder folder("/dev/shm");
  const SignalMask restore;
  constexpr std::uint64_t kStep = std::uint64_t{32} << 20, kBytes = 2 * kStep + 12345, kPart = 5'000'001;
  const Bytes content = RandomBytes(kBytes, 4);
  for (const bool full : {false, true}) {
    const auto calls = std::make_shared<FullFrom>(full ? kStep : ~std::uint64_t{0});
    FileSystem files(calls);
    const auto output = files.CreateOutput(folder / (full ? "full" : "out"), true);
    output->ExpectAllocation(kBytes);
    std::atomic<std::uint64_t> next{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (std::uint64_t at; (at = next.fetch_add(kPart)) < kBytes;) {
          if (!full) output->AllocateToWrite(std::min(at + kPart, kBytes));
          output->WriteAt(at, AsSpan(content).subspan(at, std::min(kPart, kBytes - at)));
        }
      });
    }
    if (full) {
      ExpectError(ErrorCode::kNoSpace, {}, [&] { output->AllocateInSteps(kBytes); });
    } else {
      output->AllocateInSteps(kBytes);
    }
    for (std::thread& thread : threads) thread.join();
    output->Publish(kBytes, false);
    if (full) {
      EXPECT_LE(calls->copied, kStep);
    } else {
      EXPECT_EQ(calls->copied, kBytes);
    }
    EXPECT_TRUE(ReadFile(output->path()) == content);
  }
}

// If there may be too little room, one call of Allocate() must say so before anything is written.
TEST(OutputFile, OnATmpfsSpaceIsReservedInStepsOnlyIfThereIsRoom) {
  if (!FileSystem().IsTmpfs("/dev/shm")) GTEST_SKIP() << "NOT TESTED: /dev/shm is no tmpfs";
  const TempFolder folder("/dev/shm");
  const SignalMask restore;
  FileSystem files;
  {
    const auto output = files.CreateOutput(folder / "out", false);
    EXPECT_FALSE(output->ExpectAllocation(kUnknownSpace / 2));
    rlimit old{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
    const rlimit low{4096, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
    EXPECT_FALSE(output->ExpectAllocation(4097));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
    EXPECT_TRUE(output->ExpectAllocation(4097));
    output->AllocateInSteps(4097);
  }
  WriteFile(folder / "linked", RandomBytes(100, 1));
  ASSERT_EQ(::link((folder / "linked").c_str(), (folder / "name").c_str()), 0);
  const auto in_place = files.CreateOutput(folder / "linked", false, OldFile::kRewriteIfSeen);
  ASSERT_FALSE(in_place->in_place().empty());
  EXPECT_FALSE(in_place->ExpectAllocation(4097));
}

TEST(OutputFile, OnATmpfsThreadsCopyAtOnceIntoWhatIsAllocated) {
  if (!FileSystem().IsTmpfs("/dev/shm")) GTEST_SKIP() << "NOT TESTED: /dev/shm is no tmpfs";
  const TempFolder folder("/dev/shm");
  const auto calls = std::make_shared<PageCounter>(true);
  FileSystem files(calls);
  const SignalMask restore;
  constexpr std::uint64_t kAllocated = 9'000'001, kPart = 700'001;
  const Bytes content = RandomBytes(kAllocated + 3 * kPart, 3);
  const auto output = files.CreateOutput(folder / "out", true);
  EXPECT_FALSE(output->direct());
  output->Allocate(kAllocated);
  std::vector<std::thread> threads;
  for (std::uint64_t first = 0; first < 4; ++first) {
    threads.emplace_back([&, first] {
      for (std::uint64_t at = first * kPart; at < content.size(); at += 4 * kPart) {
        output->WriteAt(at, AsSpan(content).subspan(at, std::min(kPart, content.size() - at)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  output->WriteAt(100, AsSpan(content).subspan(100, kAllocated - 100));  // more than one mapping covers
  struct timespec before;
  ASSERT_EQ(clock_gettime(CLOCK_REALTIME_COARSE, &before), 0);
  output->Publish(content.size(), true);
  EXPECT_GE(calls->copied, 2 * kAllocated - kPart - 100);
  EXPECT_LE(calls->copied, 2 * kAllocated - 100);
  EXPECT_TRUE(ReadFile(folder / "out") == content);
  struct stat st;
  ASSERT_EQ(stat((folder / "out").c_str(), &st), 0);
  EXPECT_GE(std::pair(st.st_mtim.tv_sec, st.st_mtim.tv_nsec), std::pair(before.tv_sec, before.tv_nsec));

  // The file grows piece by piece, as far as its size is known.
  const auto growing = files.CreateOutput(folder / "growing", false);
  const std::uint64_t before_growing = calls->copied;
  std::thread writer;
  for (std::uint64_t at = 0; at < content.size(); at += kPart) {
    const std::uint64_t bytes = std::min(kPart, content.size() - at);
    growing->AllocateToWrite(at + bytes);
    if (writer.joinable()) writer.join();
    writer = std::thread([&, at, bytes] { growing->WriteAt(at, AsSpan(content).subspan(at, bytes)); });
  }
  writer.join();
  growing->Publish(content.size() - 5, true);
  EXPECT_EQ(calls->copied - before_growing, content.size());
  EXPECT_TRUE(ReadFile(folder / "growing") == Bytes(content.begin(), content.end() - 5));

  // A file that others can find and truncate is not mapped.
  const auto named_calls = std::make_shared<PageCounter>(false);
  FileSystem named(named_calls);
  const auto hidden = named.CreateOutput(folder / "hidden", false);
  hidden->Allocate(kNew.size());
  hidden->WriteAt(0, AsSpan(kNew));
  EXPECT_EQ(named_calls->copied, 0u);
}

TEST(OutputFile, PublishesPlainFileNamesInTheCurrentDirectory) {
  const TempFolder folder;
  EXPECT_EQ(InChild([&] {
              if (chdir(folder.path().c_str()) != 0) _exit(103);
              FileSystem files;
              Replace(files, "out", kNew);
            }),
            0);
  EXPECT_EQ(ReadFile(folder / "out"), kNew);
}

TEST(OutputFile, BlocksSignalsFromTheRenameOn) {
  const TempFolder folder;
  FaultyFileSystem files;
  const SignalMask restore;
  const auto output = files.CreateOutput(folder / "out", false);
  files.Fail(Call::kRename, 1, EIO);
  ASSERT_FALSE(SignalMask::Blocked(SIGTERM));
  ExpectError(ErrorCode::kIo, {"EIO", folder / "out", "dmesg"}, [&] { output->Publish(0, true); });
  EXPECT_FALSE(SignalMask::Blocked(SIGTERM));
  const auto second = files.CreateOutput(folder / "out", false);
  second->Publish(0, true);
  EXPECT_TRUE(SignalMask::Blocked(SIGTERM));
  EXPECT_TRUE(SignalMask::Blocked(SIGINT));
}

TEST(OutputFile, KeepsAnOldFileIfAsked) {
  const TempFolder folder;
  const SignalMask restore;
  WriteFile(folder / "old", kOld);
  std::filesystem::create_symlink(folder / "old", folder / "link");
  FaultyFileSystem files;
  for (const char* name : {"old", "link"}) {
    ExpectError(ErrorCode::kUsage, {folder / "old", "--no-clobber"},
                [&] { files.CreateOutput(folder / name, false, OldFile::kKeep); });
  }
  for (const bool tmpfile : {true, false}) {
    files.Clear();
    if (!tmpfile) files.Fail(Call::kOpen, 2, EOPNOTSUPP);
    const auto late = files.CreateOutput(folder / "late", false, OldFile::kKeep);
    WriteFile(folder / "late", kOld);
    ExpectError(ErrorCode::kIo, {folder / "late", "--no-clobber"}, [&] { late->Publish(0, false); });
    EXPECT_EQ(ReadFile(folder / "late"), kOld);
    std::filesystem::remove(folder / "late");
    const auto fresh = files.CreateOutput(folder / "late", false, OldFile::kKeep);
    fresh->Publish(0, false);
    EXPECT_TRUE(ReadFile(folder / "late").empty());
    std::filesystem::remove(folder / "late");
  }
  EXPECT_EQ(folder.Names().size(), 2u);
  EXPECT_EQ(ReadFile(folder / "old"), kOld);
}

TEST(OutputFile, TriesAnotherHiddenNameIfOneIsTaken) {
  for (const bool tmpfile : {true, false}) {
    const TempFolder folder;
    FaultyFileSystem files;
    if (tmpfile) {
      files.Fail(Call::kLink, 1, EEXIST);
    } else {
      files.Fail(Call::kOpen, 2, EOPNOTSUPP);
      files.Fail(Call::kOpen, 3, EEXIST);
    }
    Replace(files, folder / "out", kNew);
    EXPECT_EQ(ReadFile(folder / "out"), kNew);
    EXPECT_EQ(folder.Names().size(), 1u);
  }
}

TEST(OutputFile, SaysThatTheNewOutputIsInPlaceIfOnlyTheDirectorySyncFails) {
  const TempFolder folder;
  WriteFile(folder / "out", kOld);
  FaultyFileSystem files;
  files.Fail(Call::kSync, 2, EIO);
  ExpectError(ErrorCode::kIo, {"the new output is in place", folder.path()},
              [&] { Replace(files, folder / "out", kNew); });
  EXPECT_EQ(ReadFile(folder / "out"), kNew);
  EXPECT_EQ(folder.Names().size(), 1u);
}

// Each call of a whole job fails in turn, once or for ever. Either the old or the new output must then be there in
// full, and no other file.
TEST(OutputFile, IsOldOrNewWhicheverCallFails) {
  constexpr Call kCalls[] = {Call::kOpen,     Call::kWrite, Call::kSync,   Call::kTruncate,
                             Call::kAllocate, Call::kLink,  Call::kRename, Call::kUnlink};
  for (const bool tmpfile : {true, false}) {
    for (const Call call : kCalls) {
      for (const int error : {EIO, ENOSPC, EINTR}) {
        for (const bool for_ever : {false, true}) {
          if (error == EINTR && for_ever) continue;
          for (std::uint64_t n = 1;; ++n) {
            const TempFolder folder;
            WriteFile(folder / "out", kOld);
            FaultyFileSystem files;
            files.Add({call, n, for_ever, Effect::kError, static_cast<std::uint64_t>(error)});
            if (!tmpfile) files.Fail(Call::kOpen, 2, EOPNOTSUPP);
            const Outcome outcome = Try([&] { Replace(files, folder / "out", kNew); });
            const std::string about = "call " + std::to_string(static_cast<int>(call)) + " n " + std::to_string(n) +
                                      " errno " + std::to_string(error) + ": " + outcome.message;
            const bool in_place = outcome.code == 0 || outcome.message.find("in place") != std::string::npos;
            ASSERT_EQ(ReadFile(folder / "out"), in_place ? kNew : kOld) << about;
            ASSERT_EQ(folder.Names().size(), 1u) << about;
            if (outcome.code != 0 && !in_place) {
              ASSERT_EQ(outcome.code, error == ENOSPC ? 5 : 4) << about;
            }
            if (files.Count(call) < n) break;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace gpusort

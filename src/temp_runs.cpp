#include "temp_runs.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "gnu_quote.hpp"
#include "signal_block.hpp"

extern char** environ;

namespace gpusort {
namespace {

/// A signal handler has no other way to know the names. Changed with signals blocked.
struct NameNode {
  NameNode* next;
  char* path;
};
NameNode* volatile temp_names = nullptr;

bool TooManyFiles(int error) { return error == EMFILE || error == ENFILE; }

[[noreturn]] void FailCreate(const std::string& directory, int error) {
  throw Error(ErrorCode::kIo, "cannot create temporary file in " + QuoteShell(directory) + ": " + std::strerror(error));
}

/// A new file in `directory` with a name that signal handlers know; -1 if too many files are open.
int CreateNamed(const std::string& directory, std::string* name) {
  std::string path = directory + "/sortXXXXXX";
  const SignalBlock blocked;
  const int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) {
    if (TooManyFiles(errno)) return -1;
    FailCreate(directory, errno);
  }
  temp_names = new NameNode{temp_names, ::strdup(path.c_str())};
  *name = path;
  return fd;
}

void RemoveNamed(const std::string& name) {
  const SignalBlock blocked;
  NameNode* previous = nullptr;
  for (NameNode* node = temp_names; node != nullptr; previous = node, node = node->next) {
    if (name != node->path) continue;
    ::unlink(node->path);
    (previous != nullptr ? previous->next : const_cast<NameNode*&>(temp_names)) = node->next;
    std::free(node->path);
    delete node;
    return;
  }
}

int CreateUnnamed(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  // Kernels and file systems that do not know O_TMPFILE answer in several ways.
  if (fd >= 0 || TooManyFiles(errno)) return fd;
  std::string path = directory + "/sortXXXXXX";
  const SignalBlock blocked;
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

}  // namespace

class TempRuns::SharedSink : public ByteSink {
 public:
  SharedSink(Shared& file, TempRun& run, std::string name) : file_(file), run_(run), name_(std::move(name)) {}
  void Write(std::span<const std::byte> data) override {
    WriteAt(file_.fd, name_, data, file_.end);
    file_.end += data.size();
    run_.bytes += data.size();
  }
  void Close() override {}

 private:
  Shared& file_;
  TempRun& run_;
  std::string name_;
};

class TempRuns::SharedSource : public ByteSource {
 public:
  SharedSource(int fd, const TempRun& run, std::string name)
      : fd_(fd), at_(run.offset), end_(run.offset + run.bytes), name_(std::move(name)) {}
  std::size_t Read(std::span<std::byte> out) override {
    if (at_ == end_) return 0;
    const std::size_t got = ReadAt(fd_, name_, out.first(std::min<std::uint64_t>(out.size(), end_ - at_)), at_);
    if (got == 0) throw Error(ErrorCode::kIo, "read failed: " + QuoteName(name_) + ": a temporary file was cut");
    at_ += got;
    return got;
  }

 private:
  int fd_;
  std::uint64_t at_;
  std::uint64_t end_;
  std::string name_;
};

class TempRuns::CompressorSink : public ByteSink {
 public:
  CompressorSink(const TempRuns& runs, TempRun& run, int fd) : runs_(runs), run_(run), pipe_(fd, run.name, true) {}
  void Write(std::span<const std::byte> data) override {
    try {
      pipe_.Write(data);
    } catch (const ClosedPipe&) {
      // What the program's exit status says about it is worth more.
      runs_.Reap(run_.compressor);
      throw Error(ErrorCode::kIo, FileMessage("write failed", run_.name, EPIPE));
    }
    run_.bytes += data.size();
  }
  void Close() override { pipe_.Close(); }

 private:
  const TempRuns& runs_;
  TempRun& run_;
  FdSink pipe_;
};

class TempRuns::DecompressorSource : public ByteSource {
 public:
  DecompressorSource(const TempRuns& runs, pid_t pid, int fd, const TempRun& run)
      : runs_(runs), pid_(pid), pipe_(fd, run.name, true), missing_(run.bytes) {}
  std::size_t Read(std::span<std::byte> out) override {
    if (pid_ == 0) return 0;
    const std::size_t got = pipe_.Read(out);
    missing_ -= got;
    if (got > 0) return got;
    runs_.Reap(std::exchange(pid_, 0));
    if (missing_ != 0) {
      throw Error(ErrorCode::kIntegrity, QuoteShell(runs_.compress_program_) + " -d did not give back what " +
                                             QuoteShell(runs_.compress_program_) + " was given");
    }
    return 0;
  }

 private:
  const TempRuns& runs_;
  pid_t pid_;
  FdSource pipe_;
  std::uint64_t missing_;
};

TempRuns::TempRuns(std::vector<std::string> directories, std::string compress_program, bool ignore_sigpipe,
                   std::function<void(const std::string&)> warn)
    : directories_(std::move(directories)),
      compress_program_(std::move(compress_program)),
      ignore_sigpipe_(ignore_sigpipe),
      warn_(std::move(warn)),
      shared_(directories_.size()) {}

TempRuns::~TempRuns() {
  for (const Shared& file : shared_) {
    if (file.fd >= 0) ::close(file.fd);
  }
  while (temp_names != nullptr) RemoveNamed(temp_names->path);
}

bool TempRuns::OpenShared() {
  Shared& file = shared_[next_];
  if (file.fd >= 0) return true;
  file.fd = CreateUnnamed(directories_[next_]);
  if (file.fd >= 0) return true;
  if (!TooManyFiles(errno)) FailCreate(directories_[next_], errno);
  // Any other directory's file serves, too.
  const auto open = std::find_if(shared_.begin(), shared_.end(), [](const Shared& other) { return other.fd >= 0; });
  if (open == shared_.end()) return false;
  next_ = static_cast<std::size_t>(open - shared_.begin());
  return true;
}

bool TempRuns::Prepare() { return OpenShared(); }

std::unique_ptr<ByteSink> TempRuns::Create() {
  current_ = TempRun{};
  if (!compress_program_.empty()) {
    if (std::unique_ptr<ByteSink> sink = CreateCompressed()) return sink;
  }
  if (!OpenShared()) return nullptr;
  current_.file = next_;
  current_.offset = shared_[next_].end;
  return std::make_unique<SharedSink>(shared_[next_], current_, directories_[next_]);
}

TempRun TempRuns::Finish() {
  next_ = (next_ + 1) % directories_.size();
  return std::move(current_);
}

std::unique_ptr<ByteSink> TempRuns::CreateCompressed() {
  if (last_compressor_ != 0) Reap(std::exchange(last_compressor_, 0));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  const int file = CreateNamed(directories_[next_], &current_.name);
  const int error = file < 0 ? EMFILE : Spawn(false, ends[0], file, &current_.compressor);
  ::close(ends[0]);
  if (file >= 0) ::close(file);
  if (error != 0) {
    ::close(ends[1]);
    if (!current_.name.empty()) RemoveNamed(current_.name);
    if (error != last_spawn_error_) {
      warn_("could not run compress program " + QuoteShell(compress_program_) + ": " + std::strerror(error));
    }
    last_spawn_error_ = error;
    current_ = TempRun{};
    return nullptr;
  }
  last_spawn_error_ = 0;
  last_compressor_ = current_.compressor;
  return std::make_unique<CompressorSink>(*this, current_, ends[1]);
}

std::unique_ptr<ByteSource> TempRuns::Open(const TempRun& run) {
  if (run.name.empty()) {
    return std::make_unique<SharedSource>(shared_[run.file].fd, run, directories_[run.file]);
  }
  if (last_compressor_ != 0 && run.compressor == last_compressor_) Reap(std::exchange(last_compressor_, 0));
  const int file = ::open(run.name.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    if (TooManyFiles(errno)) return nullptr;
    throw Error(ErrorCode::kIo, FileMessage("open failed", run.name, errno));
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    ::close(file);
    return nullptr;
  }
  pid_t pid = 0;
  const int error = Spawn(true, file, ends[1], &pid);
  ::close(file);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    if (TooManyFiles(error)) return nullptr;
    throw Error(ErrorCode::kIo,
                "couldn't create process for " + QuoteShell(compress_program_) + " -d: " + std::strerror(error));
  }
  return std::make_unique<DecompressorSource>(*this, pid, ends[0], run);
}

void TempRuns::Remove(const TempRun& run) {
  if (!run.name.empty()) return RemoveNamed(run.name);
  Shared& file = shared_[run.file];
  if (run.bytes == 0) return;
  // Space comes back where the file system can give it; a failure costs space only.
  if (run.offset + run.bytes == file.end) {
    file.end = run.offset;
    if (::ftruncate(file.fd, static_cast<off_t>(file.end)) != 0) return;
  } else {
    ::fallocate(file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(run.offset),
                static_cast<off_t>(run.bytes));
  }
}

int TempRuns::Spawn(bool decompress, int in, int out, pid_t* pid) const {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (const int error = posix_spawn_file_actions_init(&actions); error != 0) return error;
  if (const int error = posix_spawnattr_init(&attributes); error != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }
  sigset_t usual;
  sigemptyset(&usual);
  if (!ignore_sigpipe_) sigaddset(&usual, SIGPIPE);
  std::string program = compress_program_;
  char option[] = "-d";
  char* const arguments[] = {program.data(), decompress ? option : nullptr, nullptr};
  int error = posix_spawnattr_setsigdefault(&attributes, &usual);
  if (error == 0) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  if (error == 0) error = posix_spawnp(pid, program.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

void TempRuns::Reap(pid_t pid) const {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno == EINTR) continue;
    throw Error(ErrorCode::kIo, "waiting for " + QuoteShell(compress_program_) + " [-d]: " + std::strerror(errno));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw Error(ErrorCode::kIo, QuoteShell(compress_program_) + " [-d] terminated abnormally");
  }
}

void RemoveTempNames() noexcept {
  for (const NameNode* node = temp_names; node != nullptr; node = node->next) ::unlink(node->path);
}

}  // namespace gpusort

#include "runs/program_codec.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "base/gnu_quote.hpp"
#include "flow/pipeline.hpp"
#include "io/file.hpp"
#include "kernels/error.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

extern char** environ;

namespace gpusort {
namespace {

/// Returns true if the error may disappear when other programs end.
bool IsPassing(int error) { return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE; }

/// The two ends of a pipe. No other program inherits them.
struct Pipe {
  detail::Fd read, write;

  /// Opens the pipe. Returns 0, or the errno if the system refuses it.
  int Open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
    read = detail::Fd(ends[0]);
    write = detail::Fd(ends[1]);
    return 0;
  }
};

int SpawnBetween(const std::string& program, bool decompress, bool ignore_sigpipe, int in, int out, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (const int error = posix_spawn_file_actions_init(&actions); error != 0) return error;
  if (const int error = posix_spawnattr_init(&attributes); error != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  if (!ignore_sigpipe) sigaddset(&usual, SIGPIPE);
  std::string name = program;
  char option[] = "-d";
  char* const arguments[] = {name.data(), decompress ? option : nullptr, nullptr};
  int error = posix_spawnattr_setsigdefault(&attributes, &usual);
  if (error == 0) error = posix_spawnattr_setsigmask(&attributes, &none);
  if (error == 0) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  if (error == 0) error = posix_spawnp(pid, name.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

/// One process of the compression program. The destructor kills the process if it still runs.
class ProgramCodec::Process {
 public:
  explicit Process(ProgramCodec& owner) : owner_(owner) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
    Ended();
  }

  /// Starts the process. Returns 0, or the errno if the system refuses it.
  int Spawn(bool decompress) {
    Pipe in, out;
    int error = in.Open();
    if (error == 0) error = out.Open();
    if (error == 0) {
      error = SpawnBetween(owner_.program_, decompress, owner_.ignore_sigpipe_, in.read.get(), out.write.get(), &pid_);
    }
    if (error != 0) {
      pid_ = 0;
      return error;
    }
    to_ = std::move(in.write);
    from_ = std::move(out.read);
    ::fcntl(to_.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(from_.get(), F_SETFL, O_NONBLOCK);
    return 0;
  }

  /// Writes `in` to the program, and stores what the program writes in `out`. Returns the number of bytes that the
  /// program wrote. Bytes that do not fit into `out` are dropped; if `exact` is true, the exchange ends at the first
  /// such byte. Bytes that the program does not read are dropped, too.
  std::uint64_t Exchange(std::span<const std::byte> in, std::span<std::byte> out, bool exact) {
    std::array<std::byte, 16384> rest;
    std::uint64_t got = 0;
    for (;;) {
      if (in.empty()) to_ = detail::Fd();
      owner_.cancel_.ThrowIfRequested();
      pollfd ends[2] = {{from_.get(), POLLIN, 0}, {to_.get(), POLLOUT, 0}};
      const int ready = ::poll(ends, 2, kPollInterval.count());
      if (ready < 0 && errno != EINTR) Fail("waiting for", errno);
      if (ready <= 0) continue;
      if (ends[1].revents != 0) {
        const ssize_t count = ::write(to_.get(), in.data(), in.size());
        if (count >= 0) {
          in = in.subspan(static_cast<std::size_t>(count));
        } else if (errno == EPIPE) {
          in = {};
        } else if (errno != EAGAIN && errno != EINTR) {
          Fail("writing to", errno);
        }
      }
      if (ends[0].revents == 0) continue;
      const std::span<std::byte> room = out.empty() ? std::span<std::byte>(rest) : out;
      const ssize_t count = ::read(from_.get(), room.data(), room.size());
      if (count < 0 && errno != EAGAIN && errno != EINTR) Fail("reading from", errno);
      if (count < 0) continue;
      got += static_cast<std::uint64_t>(count);
      if (count == 0 || (exact && out.empty())) return got;
      if (!out.empty()) out = out.subspan(static_cast<std::size_t>(count));
    }
  }

  /// Waits for the end of the program and throws if it failed.
  void Finish() {
    to_ = detail::Fd();
    from_ = detail::Fd();
    int status = 0;
    std::chrono::microseconds pause{50};
    for (pid_t got = 0; got != pid_;) {
      got = ::waitpid(pid_, &status, WNOHANG);
      if (got < 0 && errno != EINTR) {
        const int error = errno;
        pid_ = 0;
        Ended();
        Fail("waiting for", error);
      }
      if (got != 0) continue;
      owner_.cancel_.ThrowIfRequested();
      std::this_thread::sleep_for(pause);
      pause = std::min<std::chrono::microseconds>(2 * pause, kPollInterval);
    }
    pid_ = 0;
    Ended();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    // A terminal sends a signal to the program and to this process; this process may get it later.
    std::this_thread::sleep_for(kPollInterval);
    owner_.cancel_.ThrowIfRequested();
    throw Error(ErrorCode::kIo, QuoteShell(owner_.program_) + " [-d] terminated abnormally");
  }

 private:
  [[noreturn]] void Fail(const std::string& what, int error) const {
    throw Error(ErrorCode::kIo,
                what + " " + QuoteShell(owner_.program_) + " [-d]: " + std::generic_category().message(error));
  }

  void Ended() {
    const std::lock_guard lock(owner_.mutex_);
    --owner_.running_;
    ++owner_.ended_;
    owner_.changed_.notify_all();
  }

  ProgramCodec& owner_;
  pid_t pid_ = 0;
  detail::Fd to_, from_;
};

ProgramCodec::ProgramCodec(std::string program, bool ignore_sigpipe, const CancelFlag& cancel,
                           std::function<void(const std::string&)> warn)
    : program_(std::move(program)), ignore_sigpipe_(ignore_sigpipe), cancel_(cancel), warn_(std::move(warn)) {}

/// Starts the program, and returns an error number. If too many programs or files are open, waits for the end of
/// another program of this process. To decompress, also waits up to a minute if no program runs, because the job cannot
/// go on without the data.
int ProgramCodec::Start(Process& process, bool decompress) {
  constexpr std::chrono::milliseconds kFirstWait{250}, kLastWait{32000};
  std::unique_lock lock(mutex_);
  for (std::chrono::milliseconds wait = kFirstWait;;) {
    const std::uint64_t ended = ended_;
    ++running_;
    lock.unlock();
    int error = 0;
    {
      // Two starts at the same time could take each other's last file descriptors, and both would fail although no
      // program runs.
      const std::lock_guard alone(spawning_);
      error = process.Spawn(decompress);
    }
    if (error == 0) return 0;
    lock.lock();
    --running_;
    changed_.notify_all();
    if (!IsPassing(error)) return error;
    const auto until = [&](auto done) {
      while (!done()) {
        cancel_.ThrowIfRequested();
        changed_.wait_for(lock, kPollInterval);
      }
    };
    until([&] { return running_ == 0 || ended_ != ended; });
    if (ended_ != ended) continue;
    if (!decompress || wait > kLastWait) return error;
    const auto end = std::chrono::steady_clock::now() + wait;
    until([&] { return std::chrono::steady_clock::now() >= end; });
    wait *= 2;
  }
}

std::uint64_t ProgramCodec::Compress(std::span<const std::byte> in, std::span<std::byte> out) {
  if (!usable_) return 0;
  Process process(*this);
  if (const int error = Start(process, false); error != 0) {
    if (usable_.exchange(false)) {
      warn_("could not run compress program " + QuoteShell(program_) + ": " + std::generic_category().message(error));
    }
    return 0;
  }
  const std::uint64_t made = process.Exchange(in, out, false);
  process.Finish();
  const XXH64_hash_t hash = XXH3_64bits(in.data(), in.size());
  if (made + sizeof hash > out.size()) return 0;
  std::memcpy(out.data() + made, &hash, sizeof hash);
  return made + sizeof hash;
}

void ProgramCodec::Decompress(std::span<const std::byte> in, std::span<std::byte> out) {
  XXH64_hash_t hash = 0;
  std::memcpy(&hash, in.last(sizeof hash).data(), sizeof hash);
  Process process(*this);
  if (const int error = Start(process, true); error != 0) {
    throw Error(ErrorCode::kIo, "couldn't create process for " + QuoteShell(program_) +
                                    " -d: " + std::generic_category().message(error));
  }
  const std::uint64_t got = process.Exchange(in.first(in.size() - sizeof hash), out, true);
  if (got <= out.size()) process.Finish();
  if (got != out.size() || XXH3_64bits(out.data(), out.size()) != hash) {
    throw Error(ErrorCode::kIntegrity,
                QuoteShell(program_) + " -d did not give back what " + QuoteShell(program_) + " was given");
  }
}

}  // namespace gpusort

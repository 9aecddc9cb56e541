// gpusort_bench has two kinds of subcommands. One kind measures what gpusort's time is compared with: the disk alone,
// and other sorts. Each of these prints one line of JSON with at least {"seconds":..,"bytes":..}. `exec` runs any
// command and prints its wall clock time and its peak resident set. They share no code with gpusort; tools/bench-e2e
// runs them. The other kind (merge, sort, ...) times the header library and its rivals in memory, and prints tables
// (tools/bench/). Start at Run.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "bench/report.hpp"
#include "kernels/error.hpp"
#include "tool_help.hpp"

namespace {

using gpusort::bench::Options;
using tool::FailUsage;

constexpr std::uint64_t kBlock = std::uint64_t{8} << 20;
constexpr std::uint64_t kAlign = 4096;
// One thread reaches the disk's rate on the machines measured, and four threads are never slower.
constexpr unsigned kThreads = 4;
constexpr std::size_t kCopyBuffers = 32;  // 256 MiB of buffers between the readers and the writers of disk-copy

const tool::ToolHelp kHelp = {
    "gpusort_bench",
    "time the disk, other sorts, and the calls of the library beside their rivals",
    {"disk-read FILE", "disk-write FILE BYTES", "disk-copy FROM TO", "std-sort IN OUT", "exec -- COMMAND...",
     "SUBCOMMAND... [OPTION...]"},
    "The first five print one line of JSON each. disk-read, disk-write and disk-copy go\n"
    "past the page cache; writes end with fsync. std-sort reads u64 into memory, sorts\n"
    "them on one thread, and writes them without fsync. exec runs COMMAND, whose output\n"
    "goes to standard error, and gives its exit status. The subcommands below time the\n"
    "calls of the library in memory, as tables.\n",
    {{"types", 0, "LIST", "types of keys, or of keys+values: i32,i64,k16,i32+i32,i64+i64 (default: all)"},
     {"sizes", 0, "A..B", "from 2^A to 2^B items, each exponent from 7 to 28 (default 10..28)"},
     {"step", 0, "N", "each size is 2^N times the size before (default 2)"},
     {"inputs", 0, "LIST",
      "random,sorted,reversed,equal,conflict (default: random). In a conflict input, the threads of a warp read the "
      "same bank of shared memory; cmp has no such inputs"},
     {"conflict-items", 0, "N",
      "a thread's items in the merges that conflict inputs slow down (default: as in gpusort)"},
     {"conflict-run", 0, "N", "size of the runs before the merges that conflict inputs slow down (default: a tile)"},
     {"textbook", 0, "WHEN", "merge and cmp also time the textbook kernels: on (the default) or off", false, "on off"},
     {"repetitions", 0, "N", "least number of timings, 21 or more (default 21); host merges of over 0.1 s get fewer"},
     {"quick", 0, "", "only i32 and i64+i64, three sizes up to 2^26, and fewer shapes"},
     {"json", 0, "FILE", "also write all results to FILE, as JSON"},
     {"commit", 0, "HASH", "the commit that is measured (default: from the bundle's COMMIT file, otherwise from git)"}},
    {{"Subcommands",
      "  merge    MergeKeys, MergePairs, the textbook kernels; thrust::merge,\n"
      "           cub::DeviceMerge, std::merge on the host\n"
      "  sort     SortKeys, SortPairs; cub::DeviceMergeSort, cub::DeviceRadixSort\n"
      "  runs     MergeRuns of 16 and 64 equal runs, and of uneven, empty and disjoint\n"
      "           runs; a tree of cub::DeviceMerge (keys)\n"
      "  search   searches for the places of outputs in the inputs (i32, i64)\n"
      "  rowcol   many small merges, one thread each, in row and column order (i32)\n"
      "  cmp      merges on the cores of the host; needs no GPU (i32, i64)\n"},
     {"Tables",
      "  Times are medians. copies: the time divided by the time to copy all items once.\n"
      "  sweeps: how often all items are read and written, if this is known. The inputs\n"
      "  of GPU calls are never in a cache.\n"}},
    "gpusort(1)"};

[[noreturn]] void FailErrno(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class File {
 public:
  File(const std::string& path, int flags) : path_(path), direct_((flags & O_DIRECT) != 0) {
    fd_ = open(path.c_str(), flags | O_CLOEXEC, 0644);
    if (fd_ < 0 && direct_ && errno == EINVAL) {  // a tmpfs has no disk, so it does not support direct I/O
      direct_ = false;
      fd_ = open(path.c_str(), (flags & ~O_DIRECT) | O_CLOEXEC, 0644);
    }
    if (fd_ < 0) FailErrno("open " + path);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) close(fd_);
  }

  bool direct() const { return direct_; }

  std::uint64_t Size() const {
    struct stat info;
    if (fstat(fd_, &info) != 0) FailErrno("stat " + path_);
    if (!S_ISREG(info.st_mode)) throw std::runtime_error(path_ + " is not a regular file");
    return static_cast<std::uint64_t>(info.st_size);
  }

  /// Reads `bytes` bytes at `offset`. `room` is the size of `out` and may be larger, because a direct read of a file's
  /// last bytes must ask for whole sectors.
  void ReadAt(std::uint64_t offset, std::byte* out, std::uint64_t bytes, std::uint64_t room) const {
    for (std::uint64_t done = 0; done < bytes;) {
      const ssize_t n = pread(fd_, out + done, room - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) FailErrno("read " + path_ + " at " + std::to_string(offset + done));
      if (n == 0) throw std::runtime_error(path_ + " ends at " + std::to_string(offset + done) + ", too early");
      done += static_cast<std::uint64_t>(n);
    }
  }

  void WriteAt(std::uint64_t offset, const std::byte* data, std::uint64_t bytes) const {
    for (std::uint64_t done = 0; done < bytes;) {
      const ssize_t n = pwrite(fd_, data + done, bytes - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) FailErrno("write " + path_ + " at " + std::to_string(offset + done));
      done += static_cast<std::uint64_t>(n);
    }
  }

  /// Reserves space, so that no writer waits for another writer to extend the file. Does nothing if the file system
  /// cannot reserve.
  void Allocate(std::uint64_t bytes) const {
    if (bytes == 0) return;
    if (fallocate(fd_, 0, 0, static_cast<off_t>(bytes)) != 0 && errno != EOPNOTSUPP) FailErrno("allocate " + path_);
  }

  /// Cuts off the padding of the last direct write, syncs the file and closes it.
  void Finish(std::uint64_t bytes) {
    if (ftruncate(fd_, static_cast<off_t>(bytes)) != 0) FailErrno("truncate " + path_);
    if (fsync(fd_) != 0) FailErrno("fsync " + path_);
    Close();
  }

  void Close() {
    const int fd = fd_;
    fd_ = -1;
    if (close(fd) != 0) FailErrno("close " + path_);
  }

 private:
  std::string path_;
  bool direct_;
  int fd_ = -1;
};

struct Freed {
  void operator()(std::byte* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<std::byte, Freed>;

Buffer MakeBuffer(std::uint64_t bytes) {
  auto* p = static_cast<std::byte*>(std::aligned_alloc(kAlign, (bytes + kAlign - 1) / kAlign * kAlign));
  if (p == nullptr) throw std::bad_alloc();
  std::memset(p, 0, bytes);  // touches the pages before the clock starts
  return Buffer(p);
}

/// Fills a buffer with bytes that no disk can compress or take for zeros.
void FillRandom(std::byte* out, std::uint64_t bytes, std::uint64_t seed) {
  std::uint64_t x = seed * 0x9E3779B97F4A7C15u + 1;
  for (std::uint64_t i = 0; i + 8 <= bytes; i += 8) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    std::memcpy(out + i, &x, 8);
  }
}

std::uint64_t RoundUp(std::uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// Runs work(thread index) on `threads` threads. If one throws, calls `on_error` to wake the other threads, and throws
/// the first exception.
void OnThreads(unsigned threads, const std::function<void(unsigned)>& work, const std::function<void()>& on_error) {
  std::mutex mutex;
  std::exception_ptr error;
  std::vector<std::thread> pool;
  pool.reserve(threads);
  for (unsigned t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      try {
        work(t);
      } catch (...) {
        {
          const std::lock_guard lock(mutex);
          if (!error) error = std::current_exception();
        }
        on_error();
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  if (error) std::rethrow_exception(error);
}

void PrintResult(double seconds, std::uint64_t bytes, const std::string& more = "") {
  std::printf("{\"seconds\":%.6f,\"bytes\":%llu%s}\n", seconds, static_cast<unsigned long long>(bytes), more.c_str());
}

std::string DirectField(bool direct) { return std::string(",\"direct\":") + (direct ? "true" : "false"); }

/// Calls move(offset, bytes, thread) for each block of a file of `bytes` bytes, on kThreads threads.
template <typename Move>
void ForEachBlock(std::uint64_t bytes, const Move& move) {
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> stop{false};
  OnThreads(
      kThreads,
      [&](unsigned t) {
        for (std::uint64_t offset; !stop && (offset = next.fetch_add(kBlock)) < bytes;) {
          move(offset, std::min(kBlock, bytes - offset), t);
        }
      },
      [&] { stop = true; });
}

void DiskRead(const std::string& path) {
  std::vector<Buffer> buffers;
  for (unsigned t = 0; t < kThreads; ++t) buffers.push_back(MakeBuffer(kBlock));
  const double start = Now();
  const File file(path, O_RDONLY | O_DIRECT);
  const std::uint64_t bytes = file.Size();
  ForEachBlock(bytes, [&](std::uint64_t offset, std::uint64_t size, unsigned t) {
    file.ReadAt(offset, buffers[t].get(), size, kBlock);
  });
  PrintResult(Now() - start, bytes, DirectField(file.direct()));
}

void DiskWrite(const std::string& path, std::uint64_t bytes) {
  std::vector<Buffer> buffers;
  for (unsigned t = 0; t < kThreads; ++t) {
    buffers.push_back(MakeBuffer(kBlock));
    FillRandom(buffers[t].get(), kBlock, t);
  }
  const double start = Now();
  File file(path, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT);
  file.Allocate(RoundUp(bytes));
  ForEachBlock(bytes, [&](std::uint64_t offset, std::uint64_t size, unsigned t) {
    file.WriteAt(offset, buffers[t].get(), RoundUp(size));
  });
  file.Finish(bytes);
  PrintResult(Now() - start, bytes, DirectField(file.direct()));
}

/// A block that a reader passes to a writer.
struct Passing {
  std::byte* data = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Passes items between threads. Pop returns false once the queue is stopped, or closed and empty.
class Queue {
 public:
  void Push(const Passing& item) {
    {
      const std::lock_guard lock(mutex_);
      items_.push_back(item);
    }
    ready_.notify_one();
  }
  bool Pop(Passing& item) {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return stopped_ || closed_ || !items_.empty(); });
    if (stopped_ || items_.empty()) return false;
    item = items_.front();
    items_.pop_front();
    return true;
  }
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    ready_.notify_all();
  }
  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    ready_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Passing> items_;
  bool closed_ = false;
  bool stopped_ = false;
};

void DiskCopy(const std::string& from_path, const std::string& to_path) {
  std::vector<Buffer> buffers;
  Queue empty;
  Queue full;
  for (std::size_t i = 0; i < kCopyBuffers; ++i) {
    buffers.push_back(MakeBuffer(kBlock));
    empty.Push({buffers[i].get(), 0, 0});
  }
  const double start = Now();
  const File from(from_path, O_RDONLY | O_DIRECT);
  const std::uint64_t bytes = from.Size();
  File to(to_path, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT);
  to.Allocate(RoundUp(bytes));
  std::atomic<std::uint64_t> next{0};
  std::atomic<unsigned> readers{kThreads};
  OnThreads(
      2 * kThreads,
      [&](unsigned t) {
        Passing item;
        if (t < kThreads) {
          while (empty.Pop(item)) {
            item.offset = next.fetch_add(kBlock);
            if (item.offset >= bytes) break;
            item.bytes = std::min(kBlock, bytes - item.offset);
            from.ReadAt(item.offset, item.data, item.bytes, kBlock);
            full.Push(item);
          }
          if (--readers == 0) full.Close();
        } else {
          while (full.Pop(item)) {
            to.WriteAt(item.offset, item.data, RoundUp(item.bytes));
            empty.Push(item);
          }
        }
      },
      [&] {
        empty.Stop();
        full.Stop();
      });
  to.Finish(bytes);
  PrintResult(Now() - start, bytes, DirectField(from.direct() && to.direct()));
}

void StdSort(const std::string& in_path, const std::string& out_path) {
  const double start = Now();
  const File in(in_path, O_RDONLY);
  const std::uint64_t bytes = in.Size();
  if (bytes % 8 != 0) throw std::runtime_error(in_path + " is not a whole number of u64");
  std::vector<std::uint64_t> keys(bytes / 8);
  auto* data = reinterpret_cast<std::byte*>(keys.data());
  in.ReadAt(0, data, bytes, bytes);
  const double read = Now();
  std::sort(keys.begin(), keys.end());
  const double sorted = Now();
  File out(out_path, O_WRONLY | O_CREAT | O_TRUNC);
  out.WriteAt(0, data, bytes);
  out.Close();
  const double end = Now();
  char parts[128];
  std::snprintf(parts, sizeof parts, ",\"read\":%.6f,\"sort\":%.6f,\"write\":%.6f", read - start, sorted - read,
                end - sorted);
  PrintResult(end - start, bytes, parts);
}

/// Runs a command and prints its wall clock time from fork to its end. Returns the command's exit status, or 128 + n if
/// signal n ended it.
int Exec(char** command) {
  const double start = Now();
  const pid_t child = fork();
  if (child < 0) FailErrno("fork");
  if (child == 0) {
    if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) execvp(command[0], command);
    std::fprintf(stderr, "gpusort_bench: cannot run %s: %s\n", command[0], std::strerror(errno));
    _exit(127);
  }
  int status = 0;
  struct rusage usage;
  while (wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) FailErrno("wait for " + std::string(command[0]));
  }
  const double seconds = Now() - start;
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  const auto cpu = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  std::printf("{\"seconds\":%.6f,\"max_rss_kib\":%ld,\"user\":%.3f,\"system\":%.3f,\"status\":%d}\n", seconds,
              usage.ru_maxrss, cpu(usage.ru_utime), cpu(usage.ru_stime), code);
  return code;
}

const std::vector<std::string> kTypes = {"i32", "i64", "k16", "i32+i32", "i64+i64"};
const std::vector<std::string> kInputs = {"random", "sorted", "reversed", "equal", "conflict"};

/// A subcommand that times calls in memory, and the types that it has.
struct InMemory {
  std::string name;
  std::vector<std::string> types;
};
const std::vector<InMemory> kInMemory = {
    {"merge", kTypes},          {"sort", kTypes},    {"runs", {"i32", "i64", "k16"}},
    {"search", {"i32", "i64"}}, {"rowcol", {"i32"}}, {"cmp", {"i32", "i64"}},
};

const InMemory* FindInMemory(const std::string& name) {
  const auto found = std::find_if(kInMemory.begin(), kInMemory.end(), [&](const auto& s) { return s.name == name; });
  return found == kInMemory.end() ? nullptr : &*found;
}

bool Contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::uint64_t ParseNumber(const std::string& option, std::string_view text, std::uint64_t low, std::uint64_t high) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    FailUsage(option + " takes a number from " + std::to_string(low) + " to " + std::to_string(high) + ", not '" +
              std::string(text) + "'");
  }
  return value;
}

std::vector<std::string> ParseList(const std::string& option, const std::string& text,
                                   const std::vector<std::string>& known) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    if (!Contains(known, words.back())) FailUsage(option + ": unknown '" + words.back() + "'");
    at = end + 1;
  }
  return words;
}

/// Returns the first line of a file or of the output of a command.
std::string FirstLine(std::FILE* stream) {
  char line[128] = "";
  if (stream != nullptr && std::fgets(line, sizeof line, stream) == nullptr) line[0] = 0;
  return std::string(line, std::strcspn(line, "\n"));
}

std::string FindCommit() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string program(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::string folder = program.substr(0, program.rfind('/'));
  std::string commit;
  if (std::FILE* const file = std::fopen((folder + "/../COMMIT").c_str(), "r")) {
    commit = FirstLine(file);
    std::fclose(file);
  }
  if (commit.empty()) {
    if (std::FILE* const git = popen("git rev-parse --short HEAD 2>/dev/null", "r")) {
      commit = FirstLine(git);
      pclose(git);
    }
  }
  return commit.empty() ? "unknown" : commit;
}

Options ParseOptions(const tool::Typed& typed) {
  Options options;
  options.subcommands = typed.names;
  const auto number = [&](const char* name, auto& value, std::uint64_t low, std::uint64_t high) {
    if (typed.has(name)) {
      value = static_cast<std::remove_reference_t<decltype(value)>>(
          ParseNumber(std::string("--") + name, typed.value(name), low, high));
    }
  };
  options.quick = typed.has("quick");
  if (options.quick && !typed.has("sizes") && !typed.has("step")) {
    options.log2_from = 12;
    options.log2_to = 26;
    options.log2_step = 7;
  }
  if (options.quick) options.types = {"i32", "i64+i64"};
  if (typed.has("types")) options.types = ParseList("--types", typed.value("types"), kTypes);
  if (const std::string sizes = typed.value("sizes"); typed.has("sizes")) {
    const std::size_t dots = sizes.find("..");
    if (dots == sizes.npos) FailUsage("--sizes takes A..B, not '" + sizes + "'");
    options.log2_from = static_cast<int>(ParseNumber("--sizes", std::string_view(sizes).substr(0, dots), 7, 28));
    options.log2_to = static_cast<int>(ParseNumber("--sizes", std::string_view(sizes).substr(dots + 2), 7, 28));
    if (options.log2_from > options.log2_to) FailUsage("--sizes " + sizes + " is empty");
  }
  number("step", options.log2_step, 1, 28);
  if (typed.has("inputs")) options.inputs = ParseList("--inputs", typed.value("inputs"), kInputs);
  number("conflict-items", options.conflict_items, 1, 256);
  number("conflict-run", options.conflict_run, 1, 1 << 20);
  if (typed.has("textbook"))
    options.textbook = ParseList("--textbook", typed.value("textbook"), {"on", "off"})[0] == "on";
  number("repetitions", options.repetitions, 21, 10000);
  options.json_path = typed.value("json");
  for (const std::string& subcommand : options.subcommands) {
    const InMemory* const found = FindInMemory(subcommand);
    if (found == nullptr) FailUsage("'" + subcommand + "' is not a subcommand that goes with others");
    const auto wanted = [&](const std::string& type) { return options.Wants(type); };
    if (std::none_of(found->types.begin(), found->types.end(), wanted))
      FailUsage(subcommand + " has none of these types");
  }
  options.commit = typed.has("commit") ? typed.value("commit") : FindCommit();
  return options;
}

void RunInMemory(const tool::Typed& typed) {
  Options options = ParseOptions(typed);
  const bool cmp = Contains(options.subcommands, "cmp");
  std::erase(options.subcommands, "cmp");
#if !GPUSORT_CUDA
  if (!options.subcommands.empty()) {
    FailUsage(options.subcommands.front() + ": this program was built without CUDA; only cmp needs no GPU");
  }
#endif
  if (cmp) {
    if (options.inputs == std::vector<std::string>{"conflict"}) FailUsage("cmp has no conflict inputs");
  }
  gpusort::bench::Report report(options);
  std::printf("commit: %s\n", options.commit.c_str());
#if GPUSORT_CUDA
  if (!options.subcommands.empty()) gpusort::bench::RunGpu(options, report);
#endif
  if (cmp) gpusort::bench::RunCmp(options, report);
  report.WriteJson();
}

void Run(const tool::Typed& typed) {
  const std::vector<std::string>& words = typed.names;
  if (words.empty()) FailUsage("no subcommand");
  if (FindInMemory(words[0]) != nullptr) return RunInMemory(typed);
  if (!typed.values.empty()) FailUsage("'" + words[0] + "' has no options");
  const auto want = [&](std::size_t operands) {
    if (words.size() != 1 + operands) FailUsage(words[0] + " takes " + std::to_string(operands) + " operand(s)");
  };
  if (words[0] == "disk-read") {
    want(1);
    DiskRead(words[1]);
  } else if (words[0] == "disk-write") {
    want(2);
    DiskWrite(words[1], ParseNumber("BYTES", words[2], 0, std::uint64_t{1} << 60));
  } else if (words[0] == "disk-copy") {
    want(2);
    DiskCopy(words[1], words[2]);
  } else if (words[0] == "std-sort") {
    want(2);
    StdSort(words[1], words[2]);
  } else {
    FailUsage("'" + words[0] + "' is not a subcommand");
  }
}

}  // namespace

int main(int argc, char** argv) {
  // The words after exec are another command with its options.
  const bool exec = argc > 1 && argv[1] == std::string_view("exec");
  return tool::Main(kHelp, exec ? 2 : argc, argv, tool::kBad, [&](const tool::Typed& typed) {
    if (exec && (argc < 4 || argv[2] != std::string_view("--"))) FailUsage("exec needs -- and a command");
    if (exec) return static_cast<tool::Exit>(Exec(argv + 3));
    try {
      Run(typed);
    } catch (const gpusort::Error& error) {
      throw tool::Failure(static_cast<tool::Exit>(error.code()), error.what());
    }
    return tool::kGood;
  });
}

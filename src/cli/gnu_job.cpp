#include "cli/gnu_job.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/gnu_quote.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "cli/debug_warnings.hpp"
#include "cli/key_def.hpp"
#include "cli/option_values.hpp"
#include "io/file.hpp"
#include "io/output_file.hpp"
#include "io/path.hpp"
#include "job/check_sorted.hpp"
#include "job/in_memory.hpp"
#include "job/sort_job.hpp"
#include "kernels/backend.hpp"
#include "kernels/error.hpp"
#include "kernels/thread.hpp"
#include "runs/program_codec.hpp"

namespace gpusort {
namespace {

/// The largest number of threads. More threads were not faster in any measurement.
constexpr unsigned kMostThreads = 256;
/// The least memory that a plan needs. A smaller -S is raised to this size.
constexpr std::uint64_t kLeastMemory = std::uint64_t{4} << 20;
/// How many inputs GNU sort merges at once if --batch-size is not given.
constexpr std::size_t kUsualBatch = 16;
/// The maximum size of lines, in bytes, that are sorted in memory instead of by the main path.
constexpr std::uint64_t kMostInMemory = std::uint64_t{16} << 20;

[[noreturn]] void FailSort(const std::string& message) { throw Error(ErrorCode::kIo, message); }
[[noreturn]] void FailOpen(const std::string& file, int error) { FailSort(FileMessage("open failed", file, error)); }

/// The folder of temporary files if no option names one.
std::string DefaultTempDir() {
  const char* const dir = std::getenv("TMPDIR");
  return dir != nullptr && *dir != '\0' ? dir : "/tmp";
}

std::vector<std::string> ReadFileNames(const std::string& from) {
  std::FILE* const file = from == "-" ? stdin : std::fopen(from.c_str(), "re");
  if (file == nullptr) FailOpen(from, errno);
  std::vector<std::string> names;
  std::string name;
  int c = 0;
  while ((c = std::getc(file)) != EOF) {
    if (c != '\0') {
      name += static_cast<char>(c);
      continue;
    }
    names.push_back(std::exchange(name, {}));
  }
  if (!name.empty()) names.push_back(name);
  if (std::ferror(file) != 0) FailSort("cannot read file names from " + QuoteShell(from));
  if (file != stdin) std::fclose(file);
  if (names.empty()) FailSort("no input from " + QuoteShell(from));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "-") {
      FailSort("when reading file names from standard input, no file name of " + QuoteShell("-") + " allowed");
    }
    if (names[i].empty()) {
      FailSort(QuoteName(from) + ":" + std::to_string(i + 1) + ": invalid zero-length file name");
    }
  }
  return names;
}

/// Reads the 16 bytes that -R mixes into its hashes from the file `source`. If `source` is empty, the kernel gives
/// them.
void ReadSalt(const std::string& source, std::uint64_t salt[2]) {
  if (source.empty()) {
    if (::getrandom(salt, 16, 0) != 16) FailSort(std::string("getrandom: ") + std::strerror(errno));
    return;
  }
  const int fd = detail::OpenPath(source.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) FailOpen(source, errno);
  for (std::size_t have = 0; have < 16;) {
    const ssize_t got = ::read(fd, reinterpret_cast<char*>(salt) + have, 16 - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) FailSort(QuoteWord(source) + ": read error: " + std::strerror(errno));
    if (got == 0) FailSort(QuoteWord(source) + ": end of file");
    have += static_cast<std::size_t>(got);
  }
  ::close(fd);
}

void CheckReadable(const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    if (input != "-" && ::faccessat(AT_FDCWD, input.c_str(), R_OK, AT_EACCESS) != 0) {
      FailSort(FileMessage("cannot read", input, errno));
    }
  }
}

/// Opens the output before anything is read, so that an output that cannot be written is reported at once. An existing
/// file changes only after everything has been read.
Output OpenOutput(FileSystem& files, const std::optional<std::string>& name, const CancelFlag& cancel) {
  if (!name) return Output(std::make_unique<PipeWriter>("-", cancel));
  const std::string path = *name == "-" ? "./-" : *name;
  try {
    if (IsStreamTarget(path)) return Output(std::make_unique<PipeWriter>(path, cancel));
    return Output(files.CreateOutput(path, false, OldFile::kRewriteIfSeen));
  } catch (const SystemError& error) {
    FailOpen(*name, error.number());
  }
}

int Check(const JobSpec& spec, char how, const CancelFlag& cancel) {
  const std::optional<OrderCheck::Disorder> disorder = CheckAsRead(spec, cancel);
  if (!disorder) return 0;
  if (how == 'c') {
    std::string message =
        "sort: " + spec.source.inputs[0] + ":" + std::to_string(disorder->record + 1) + ": disorder: ";
    for (const std::byte c : disorder->bytes) message += static_cast<char>(c);
    std::fwrite(message.data(), 1, message.size(), stderr);
  }
  return 1;
}

/// Reads the device from the environment variable GPUSORT_DEVICE, because `sort` has no option for it.
void FindDevice(JobSpec& spec) {
  const char* const device = std::getenv("GPUSORT_DEVICE");
  if (device == nullptr || *device == '\0') return;
  try {
    ParseDevice(device, spec.limits);
  } catch (const Error& error) {
    FailSort(std::string("GPUSORT_DEVICE: ") + error.what());
  }
}

/// Returns the job for the main path, with the behaviour of sort.
JobSpec MakeSpec(const GnuOptions& typed, LineOrder order, bool ignore_sigpipe) {
  JobSpec spec;
  spec.source.inputs = typed.inputs;
  spec.target.output = typed.output.value_or("-");
  spec.source.format = Format::kLines;
  spec.order.lines = std::make_shared<const LineOrdered>(std::move(order));
  spec.order.layout = MakeLineLayout(typed.zero_terminated ? '\0' : '\n', spec.order.lines->view);
  spec.source.type_note = "lines";
  spec.order.locale = true;
  spec.order.debug = typed.debug;
  spec.order.unique = typed.unique;
  spec.source.codec = Codec::kNone;
  spec.limits.temp_dirs = typed.temp_dirs;
  if (spec.limits.temp_dirs.empty()) spec.limits.temp_dirs.push_back(DefaultTempDir());
  if (typed.memory_bytes != 0) spec.limits.memory = Size{std::clamp(typed.memory_bytes, kLeastMemory, kMaxSize), false};
  spec.limits.temp_program = typed.compress_program;
  spec.dialect.ignore_sigpipe = ignore_sigpipe;
  spec.dialect.say = SayAsSort;
  spec.limits.threads = std::min(typed.threads, kMostThreads);
  FindDevice(spec);
  spec.limits.max_fan_in = typed.batch_size;
  spec.target.no_fsync = true;
  spec.dialect.grows = true;
  spec.dialect.strict = false;
  spec.reports.progress = When::kNever;
  return spec;
}

/// Throws the error that reading a folder gives, which is EISDIR on most file systems.
[[noreturn]] void FailFolder(const std::string& input) {
  const detail::Fd named(input == "-" ? -1 : detail::OpenPath(input.c_str(), O_RDONLY | O_CLOEXEC));
  if (input != "-" && !named.open()) FailOpen(input, errno);
  char byte;
  const ssize_t got = ::read(input == "-" ? STDIN_FILENO : named.get(), &byte, 1);
  FailSort(FileMessage("read failed", input, got < 0 ? errno : EISDIR));
}

/// Returns the total size of the inputs that are regular files.
std::uint64_t KnownBytes(const std::vector<std::string>& inputs) {
  std::uint64_t bytes = 0;
  for (const std::string& input : inputs) {
    struct stat facts {};
    const int found = input == "-" ? ::fstat(STDIN_FILENO, &facts) : ::stat(input.c_str(), &facts);
    if (found == 0 && S_ISDIR(facts.st_mode)) FailFolder(input);
    if (found == 0 && S_ISREG(facts.st_mode)) bytes += static_cast<std::uint64_t>(facts.st_size);
  }
  return bytes;
}

/// Replaces standard input by its file, if the shell opened a regular file, so that several threads read it.
void NameStandardInput(std::vector<std::string>& inputs) {
  struct stat facts {};
  if (std::count(inputs.begin(), inputs.end(), "-") != 1 || (::fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE) == O_WRONLY ||
      ::fstat(STDIN_FILENO, &facts) != 0 || !S_ISREG(facts.st_mode) || ::lseek(STDIN_FILENO, 0, SEEK_CUR) != 0 ||
      ::access(kStandardInput, R_OK) != 0) {
    return;
  }
  *std::find(inputs.begin(), inputs.end(), "-") = kStandardInput;
  // Reading would have left the shared descriptor at the end of the file.
  ::lseek(STDIN_FILENO, 0, SEEK_END);
}

/// Returns true if the main path can start its threads (limits: ulimit -u, pids.max). Otherwise everything is sorted in
/// memory.
bool HasThreads() {
  constexpr std::size_t kThreads = 32;
  std::latch all_asked{1};
  Threads threads;
  while (threads.size() < kThreads && StartThread(threads, [&] { all_asked.wait(); }).empty()) continue;
  all_asked.count_down();
  return threads.size() == kThreads;
}

/// Starts the compression program once, so that a program that is missing or fails is reported as by GNU sort. It would
/// often not be used, because inputs larger than -S still fit into memory.
void TryProgram(const JobSpec& spec, std::span<const std::byte> lines, const CancelFlag& cancel) {
  lines = lines.first(std::min<std::size_t>(lines.size(), std::size_t{64} << 10));
  std::vector<std::byte> out(lines.size());
  ProgramCodec(spec.limits.temp_program, spec.dialect.ignore_sigpipe, cancel, SayAsSort).Compress(lines, out);
}

/// Sorts the inputs. `buffer_bytes` is the value of -S; 0: it is not given.
void Sort(JobSpec spec, const std::optional<std::string>& output, std::uint64_t buffer_bytes, CancelFlag& cancel) {
  FileSystem files;
  Output out = OpenOutput(files, output, cancel);
  // Sorting needs memory for the lines twice, and as much again for data about them.
  const std::uint64_t memory = spec.limits.memory ? spec.limits.memory->value : kMostInMemory * 4;
  const std::uint64_t most = std::clamp(memory / 4, kLeastMemory / 4, kMostInMemory);
  SaveAddresses();
  StreamFronts fronts;
  const bool small = KnownBytes(spec.source.inputs) <= most;
  if (small || !HasThreads()) {
    const auto stops = [small] { return small && HasThreads(); };
    InputFront front(spec.source.inputs, static_cast<char>(spec.order.layout.delimiter), most, stops, cancel);
    if (front.whole()) {
      const bool more = buffer_bytes > 0 && front.lines().size() > buffer_bytes;
      if (more && !spec.limits.temp_program.empty()) TryProgram(spec, front.lines(), cancel);
      SortInMemory(spec, front.lines(), std::move(out));
      return;
    }
    fronts = front.TakeFronts();
  } else {
    NameStandardInput(spec.source.inputs);
  }
  InitLog("off", "");
  OnStuckDriver([](const std::string& why) {
    SayAsSort(why);
    RemoveHiddenOutput();
    _exit(2);
  });
  SortJob(spec, cancel, files, std::move(out), std::move(fronts));
}

/// Throws an error for options that GNU sort does not allow together. Call this after its checks of the keys.
void CheckOptions(const GnuOptions& typed) {
  if (typed.debug && (typed.check != 0 || typed.output)) {
    FailSort(std::string("options '-") + (typed.check != 0 ? typed.check : 'o') + " --debug' are incompatible");
  }
}

LineOrder MakeOrder(const GnuOptions& typed, const std::vector<KeyDef>& keys) {
  LineOrder order = MakeLineOrder(keys, typed.ordering, typed.separator, !typed.stable && !typed.unique);
  if (std::any_of(order.keys.begin(), order.keys.end(),
                  [](const LineKey& key) { return key.ordering == LineOrdering::kRandom; })) {
    ReadSalt(typed.random_source, order.salt);
  }
  return order;
}

/// Makes and removes a temporary file, as GNU sort does when it merges many inputs, so that an unusable folder is the
/// same error here.
void CheckTempFolder(const GnuOptions& typed, const JobSpec& spec) {
  const bool in_levels = typed.inputs.size() > (typed.batch_size != 0 ? typed.batch_size : kUsualBatch);
  if (typed.action == GnuOptions::Action::kMerge && in_levels) FileSystem().OpenTemp(spec.limits.temp_dirs[0], false);
}

}  // namespace

void SayAsSort(const std::string& message) { std::fprintf(stderr, "sort: %s\n", message.c_str()); }

int RunGnuJob(GnuOptions typed, bool locale_set, bool ignore_sigpipe) {
  if (!typed.files0_from.empty()) {
    if (!typed.inputs.empty()) {
      throw GnuUsageError(
          "extra operand " + QuoteShell(typed.inputs[0]) + "\nfile operands cannot be combined with --files0-from",
          true);
    }
    typed.inputs = ReadFileNames(typed.files0_from);
  }
  const std::vector<KeyDef> keys = ResolveKeys(typed.keys, typed.ordering);
  CheckOptions(typed);
  if (typed.debug) {
    const TypedOrder order{typed.keys, typed.ordering, typed.separator, typed.stable, typed.unique};
    for (const std::string& warning : DebugWarnings(order, locale_set)) SayAsSort(warning);
  }
  LineOrder order = MakeOrder(typed, keys);
  if (typed.inputs.empty()) typed.inputs.emplace_back("-");
  if (typed.check != 0) {
    if (typed.inputs.size() > 1) {
      FailSort("extra operand " + QuoteShell(typed.inputs[1]) + " not allowed with -" + typed.check);
    }
    if (typed.output) FailSort(std::string("options '-") + typed.check + "o' are incompatible");
  }
  const JobSpec spec = MakeSpec(typed, std::move(order), ignore_sigpipe);
  CancelFlag cancel;
  if (typed.check != 0) return Check(spec, typed.check, cancel);
  CheckReadable(spec.source.inputs);
  CheckTempFolder(typed, spec);
  Sort(spec, typed.output, typed.memory_bytes, cancel);
  return 0;
}

}  // namespace gpusort

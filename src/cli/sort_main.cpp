#include "cli/sort_main.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <latch>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/gnu_quote.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/out_of_memory.hpp"
#include "base/signals.hpp"
#include "cli/debug_warnings.hpp"
#include "cli/gnu_options.hpp"
#include "cli/parse_options.hpp"
#include "io/file.hpp"
#include "io/output_file.hpp"
#include "io/path.hpp"
#include "job/check_sorted.hpp"
#include "job/external_sort.hpp"
#include "job/in_memory.hpp"
#include "kernels/error.hpp"
#include "kernels/stuck_driver.hpp"
#include "kernels/thread.hpp"
#include "runs/program_codec.hpp"

namespace gpusort {
namespace {

/// More buys nothing that was ever measured.
constexpr unsigned kMostThreads = 256;
/// What the smallest plan can do with, whatever -S says.
constexpr std::uint64_t kLeastMemory = std::uint64_t{4} << 20;
/// Inputs that GNU sort merges at once if --batch-size does not say how many.
constexpr std::size_t kUsualBatch = 16;
/// Bytes of lines that are sorted without the main path.
constexpr std::uint64_t kMostInMemory = std::uint64_t{16} << 20;

[[noreturn]] void FailSort(const std::string& message) { throw Error(ErrorCode::kIo, message); }
[[noreturn]] void FailOpen(const std::string& file, int error) { FailSort(FileMessage("open failed", file, error)); }

void Say(const std::string& message) { std::fprintf(stderr, "sort: %s\n", message.c_str()); }

/// A data file must not take the place of a standard stream that is closed: reads and writes of that still fail.
void FillStandardStreams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) _exit(2);
  }
}

void OnSignal(int signal) {
  RemoveHiddenOutput();
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  raise(signal);
}

/// Returns true if SIGPIPE was ignored by whoever started this.
bool HandleSignals() {
  std::vector<int> signals = EndingSignals();
  signals.push_back(SIGXFSZ);
  signals.insert(signals.end(), std::begin(kFaultSignals), std::end(kFaultSignals));
  for (const int signal : signals) {
    struct sigaction action {
    }, old{};
    action.sa_handler = OnSignal;
    sigemptyset(&action.sa_mask);
    // What the caller ignores stays ignored, and a tool's handler (a sanitizer's) stays.
    if (sigaction(signal, nullptr, &old) == 0 && old.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);
  }
  // Whoever ignores SIGCHLD would take away the exit status of compress programs.
  ::signal(SIGCHLD, SIG_DFL);
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  return before == SIG_IGN;
}

/// Where temporary files go if nobody says so.
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

/// The 16 bytes that -R mixes into its hashes.
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

/// The place of the result, found before anything is read, so that what cannot be written is said at once. What was
/// there is changed only when everything has been read.
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

void WriteText(const std::string& text) {
  CancelFlag cancel;
  PipeWriter out("-", cancel);
  out.WriteAll(std::as_bytes(std::span(text)));
  out.Close();
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

/// GPUSORT_DEVICE of the environment: `sort` has no option for it.
void FindDevice(JobSpec& spec) {
  const char* const device = std::getenv("GPUSORT_DEVICE");
  if (device == nullptr || *device == '\0') return;
  try {
    ParseDevice(device, spec);
  } catch (const Error& error) {
    FailSort(std::string("GPUSORT_DEVICE: ") + error.what());
  }
}

/// The same job for the main path, which keeps to its rules but for what differs by `sort`'s.
JobSpec MakeOptions(const GnuOptions& typed, LineOrder order, bool ignore_sigpipe) {
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
  spec.dialect.say = Say;
  spec.limits.threads = std::min(typed.threads, kMostThreads);
  FindDevice(spec);
  spec.limits.max_fan_in = typed.batch_size;
  spec.target.no_fsync = true;
  spec.dialect.grows = true;
  spec.dialect.strict = false;
  spec.reports.progress = When::kNever;
  return spec;
}

/// Fails with the error that reading a folder gives: EISDIR, unless the disk has another one.
[[noreturn]] void FailFolder(const std::string& input) {
  const detail::Fd named(input == "-" ? -1 : detail::OpenPath(input.c_str(), O_RDONLY | O_CLOEXEC));
  if (input != "-" && !named.open()) FailOpen(input, errno);
  char byte;
  const ssize_t got = ::read(input == "-" ? STDIN_FILENO : named.get(), &byte, 1);
  FailSort(FileMessage("read failed", input, got < 0 ? errno : EISDIR));
}

/// Bytes of the inputs that are regular files.
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

constexpr char kStandardInput[] = "/proc/self/fd/0";

/// A file that the shell opened is read as one, by as many threads, from its beginning.
void NameStandardInput(std::vector<std::string>& inputs) {
  struct stat facts {};
  if (std::count(inputs.begin(), inputs.end(), "-") != 1 || (::fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE) == O_WRONLY ||
      ::fstat(STDIN_FILENO, &facts) != 0 || !S_ISREG(facts.st_mode) || ::lseek(STDIN_FILENO, 0, SEEK_CUR) != 0 ||
      ::access(kStandardInput, R_OK) != 0) {
    return;
  }
  *std::find(inputs.begin(), inputs.end(), "-") = kStandardInput;
  // Whoever shares the descriptor finds it where reading would have left it.
  ::lseek(STDIN_FILENO, 0, SEEK_END);
}

/// Whether the main path can have its threads (ulimit -u, pids.max). Without them all is sorted in memory.
bool HasThreads() {
  constexpr std::size_t kThreads = 32;
  std::latch all_asked{1};
  Threads threads;
  while (threads.size() < kThreads && StartThread(threads, [&] { all_asked.wait(); }).empty()) continue;
  all_asked.count_down();
  return threads.size() == kThreads;
}

/// Starts the compress program once. More lines than -S do not leave the memory if they are few, but a program that is
/// missing or fails is reported, as by GNU sort.
void TryProgram(const JobSpec& spec, std::span<const std::byte> lines, const CancelFlag& cancel) {
  lines = lines.first(std::min<std::size_t>(lines.size(), std::size_t{64} << 10));
  std::vector<std::byte> out(lines.size());
  ProgramCodec(spec.limits.temp_program, spec.dialect.ignore_sigpipe, cancel, Say).Compress(lines, out);
}

/// `buffer_bytes`: as -S says; 0: it was not given.
void Sort(JobSpec spec, const std::optional<std::string>& output, std::uint64_t buffer_bytes, CancelFlag& cancel) {
  FileSystem files;
  Output out = OpenOutput(files, output, cancel);
  // Sorting has the lines twice, and as much again for what it knows of them.
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
    Say(why);
    RemoveHiddenOutput();
    _exit(2);
  });
  ExternalSort(spec, cancel, files, std::move(out), std::move(fronts));
}

int RunJob(GnuOptions typed, bool locale_set, bool ignore_sigpipe) {
  if (!typed.files0_from.empty()) {
    if (!typed.inputs.empty()) {
      throw GnuUsageError(
          "extra operand " + QuoteShell(typed.inputs[0]) + "\nfile operands cannot be combined with --files0-from",
          true);
    }
    typed.inputs = ReadFileNames(typed.files0_from);
  }
  const std::vector<KeyDef> keys = ResolveKeys(typed.keys, typed.ordering);
  if (typed.debug && (typed.check != 0 || typed.output)) {
    FailSort(std::string("options '-") + (typed.check != 0 ? typed.check : 'o') + " --debug' are incompatible");
  }
  if (typed.debug) {
    const TypedOrder order{typed.keys, typed.ordering, typed.separator, typed.stable, typed.unique};
    for (const std::string& warning : DebugWarnings(order, locale_set)) Say(warning);
  }
  LineOrder order = MakeLineOrder(keys, typed.ordering, typed.separator, !typed.stable && !typed.unique);
  if (std::any_of(order.keys.begin(), order.keys.end(),
                  [](const LineKey& key) { return key.ordering == LineOrdering::kRandom; })) {
    ReadSalt(typed.random_source, order.salt);
  }
  if (typed.inputs.empty()) typed.inputs.emplace_back("-");
  if (typed.check != 0) {
    if (typed.inputs.size() > 1) {
      FailSort("extra operand " + QuoteShell(typed.inputs[1]) + " not allowed with -" + typed.check);
    }
    if (typed.output) FailSort(std::string("options '-") + typed.check + "o' are incompatible");
  }
  const JobSpec spec = MakeOptions(typed, std::move(order), ignore_sigpipe);
  CancelFlag cancel;
  if (typed.check != 0) return Check(spec, typed.check, cancel);
  CheckReadable(spec.source.inputs);
  // GNU sort merges so many inputs through temporary files, and says so if it cannot have any.
  const bool in_levels = typed.inputs.size() > (typed.batch_size != 0 ? typed.batch_size : kUsualBatch);
  if (typed.action == GnuOptions::Action::kMerge && in_levels) FileSystem().OpenTemp(spec.limits.temp_dirs[0], false);
  Sort(spec, typed.output, typed.memory_bytes, cancel);
  return 0;
}

/// An error of the main path as GNU sort says it.
std::string InGnuWords(const SystemError& error) {
  const bool standard = error.path() == "standard input" || error.path() == kStandardInput;
  const std::string name = standard ? "-" : error.path();
  switch (error.verb()) {
    case SystemError::Verb::kOpen:
      return FileMessage("open failed", name, error.number());
    case SystemError::Verb::kRead:
      return FileMessage("read failed", name, error.number());
    case SystemError::Verb::kWrite:
      return FileMessage("write failed", name, error.number());
    case SystemError::Verb::kMakeTemp:
      return "cannot create temporary file in " + QuoteShell(name) + ": " + std::strerror(error.number());
  }
  return error.what();
}

}  // namespace

bool IsNamedSort(const char* program) {
  const std::string_view name(program);
  return name.substr(name.rfind('/') + 1) == "sort";
}

int SortMain(int argc, char** argv) {
  EndWhenOutOfMemory("sort: ", "memory exhausted", 2);
  FillStandardStreams();
  const bool ignore_sigpipe = HandleSignals();
  const bool locale_set = std::setlocale(LC_ALL, "") != nullptr;
  char program[] = "sort";  // what getopt's messages begin with
  argv[0] = program;
  try {
    GnuOptions options = ParseGnuOptions(argc, argv);
    switch (options.action) {
      case GnuOptions::Action::kHelp:
        WriteText(GnuHelpText());
        return 0;
      case GnuOptions::Action::kVersion:
        WriteText("sort (gpusort) " GPUSORT_VERSION "\n");
        return 0;
      default:
        return RunJob(std::move(options), locale_set, ignore_sigpipe);
    }
  } catch (const BrokenPipe& error) {
    if (!ignore_sigpipe) OnSignal(SIGPIPE);
    Say(InGnuWords(error));
  } catch (const SystemError& error) {
    Say(InGnuWords(error));
  } catch (const GnuUsageError& error) {
    if (*error.what() != '\0') Say(error.what());
    if (error.try_help()) std::fputs("Try 'sort --help' for more information.\n", stderr);
    return error.exit_code();
  } catch (const LineTooLong& error) {
    Say(error.place() + " is longer than can be sorted");
  } catch (const Error& error) {
    Say(error.code() == ErrorCode::kOutOfMemory ? "memory exhausted" : error.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "sort: %s\n", OutOfMemoryText());
  } catch (const std::exception& error) {
    Say(error.what());
  }
  return 2;
}

}  // namespace gpusort

#include "sort_main.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "file.hpp"
#include "gnu_options.hpp"
#include "gnu_quote.hpp"
#include "line_sorter.hpp"
#include "locale_keys.hpp"
#include "machine.hpp"
#include "signal_block.hpp"
#include "signals.hpp"
#include "sort_debug.hpp"

namespace gpusort {
namespace {

constexpr char kStandardOutput[] = "standard output";
constexpr unsigned kMostThreads = 8;

[[noreturn]] void Fail(const std::string& message) { throw Error(ErrorCode::kIo, message); }
[[noreturn]] void FailOpen(const std::string& file, int error) { Fail(FileMessage("open failed", file, error)); }

void Say(const std::string& message) { std::fprintf(stderr, "sort: %s\n", message.c_str()); }

/// A data file must not take the place of a standard stream that is closed: reads and writes of that still fail.
void FillStandardStreams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) _exit(2);
  }
}

void OnSignal(int signal) {
  RemoveTempNames();
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

/// What a limit leaves free, from the field of /proc/self/statm that counts against it.
std::uint64_t LeftOf(int limit, unsigned statm_field) {
  rlimit value{};
  if (::getrlimit(static_cast<__rlimit_resource>(limit), &value) != 0 || value.rlim_cur == RLIM_INFINITY) {
    return ~std::uint64_t{0};
  }
  std::uint64_t pages = 0;
  std::ifstream statm("/proc/self/statm");
  for (unsigned i = 0; i <= statm_field; ++i) statm >> pages;
  const std::uint64_t used = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return value.rlim_cur > used ? value.rlim_cur - used : 0;
}

std::uint64_t DefaultMemory() {
  const MemoryFacts facts = FindMemory();
  const std::uint64_t free = std::min({facts.limit, facts.available, LeftOf(RLIMIT_AS, 0), LeftOf(RLIMIT_DATA, 5)});
  return std::max(free / 2, std::uint64_t{1} << 16);
}

unsigned DefaultThreads() { return std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads); }

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
  if (std::ferror(file) != 0) Fail("cannot read file names from " + QuoteShell(from));
  if (file != stdin) std::fclose(file);
  if (names.empty()) Fail("no input from " + QuoteShell(from));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "-") {
      Fail("when reading file names from standard input, no file name of " + QuoteShell("-") + " allowed");
    }
    if (names[i].empty()) {
      Fail(QuoteName(from) + ":" + std::to_string(i + 1) + ": invalid zero-length file name");
    }
  }
  return names;
}

/// The 16 bytes that -R mixes into its hashes.
void ReadSalt(const std::string& source, std::uint64_t salt[2]) {
  if (source.empty()) {
    if (::getrandom(salt, 16, 0) != 16) Fail(std::string("getrandom: ") + std::strerror(errno));
    return;
  }
  const int fd = ::open(source.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) FailOpen(source, errno);
  for (std::size_t have = 0; have < 16;) {
    const ssize_t got = ::read(fd, reinterpret_cast<char*>(salt) + have, 16 - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) Fail(QuoteWord(source) + ": read error: " + std::strerror(errno));
    if (got == 0) Fail(QuoteWord(source) + ": end of file");
    have += static_cast<std::size_t>(got);
  }
  ::close(fd);
}

void CheckReadable(const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    if (input != "-" && ::faccessat(AT_FDCWD, input.c_str(), R_OK, AT_EACCESS) != 0) {
      Fail(FileMessage("cannot read", input, errno));
    }
  }
}

/// Null if too many files are open.
std::unique_ptr<ByteSource> OpenFile(const std::string& name) {
  if (name == "-") return std::make_unique<FdSource>(STDIN_FILENO, "-", false);
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE) return nullptr;
    FailOpen(name, errno);
  }
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  return std::make_unique<FdSource>(fd, name, true);
}

/// A new version of the output, which takes its name when it is complete.
class ReplacingSink : public ByteSink {
 public:
  ReplacingSink(std::unique_ptr<OutputFile> file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  void Write(std::span<const std::byte> data) override {
    InGnuWords([&] { file_->WriteAt(bytes_, data); });
    bytes_ += data.size();
  }
  void Close() override {
    InGnuWords([&] { file_->Publish(bytes_, false); });
  }

 private:
  template <typename Work>
  void InGnuWords(const Work& work) const {
    try {
      work();
    } catch (const SystemError& error) {
      throw Error(error.code(), FileMessage("write failed", name_, error.number()));
    }
  }

  std::unique_ptr<OutputFile> file_;
  std::string name_;
  std::uint64_t bytes_ = 0;
};

/// The place of the result. Made before anything is read, so that what cannot be written is said at once; changed only
/// when everything has been read.
class Output {
 public:
  /// Nothing: standard output.
  explicit Output(const std::optional<std::string>& name) : name_(name.value_or(kStandardOutput)) {
    if (!name) return;
    if (Replaceable()) {
      try {
        replacement_ = files_.CreateOutput(*name, false);
        return;
      } catch (const Error&) {
        // A directory that cannot be written, say: in place, then.
      }
    }
    fd_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) FailOpen(name_, errno);
  }
  ~Output() {
    if (fd_ > STDERR_FILENO) ::close(fd_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// True if opening the sink destroys this input.
  bool Overwrites(const std::string& input) const {
    struct stat mine, other;
    if (replacement_ != nullptr || ::fstat(fd_, &mine) != 0 || !S_ISREG(mine.st_mode)) return false;
    const int found = input == "-" ? ::fstat(STDIN_FILENO, &other) : ::stat(input.c_str(), &other);
    return found == 0 && mine.st_dev == other.st_dev && mine.st_ino == other.st_ino;
  }

  std::unique_ptr<ByteSink> Open() {
    if (replacement_ != nullptr) return std::make_unique<ReplacingSink>(std::move(replacement_), name_);
    const int fd = std::exchange(fd_, -1);
    struct stat facts;
    // Not standard output, whose start the caller chose. What is no file cannot be cut, and need not.
    if (fd != STDOUT_FILENO && ::ftruncate(fd, 0) != 0 && ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) {
      Fail(QuoteName(name_) + ": error truncating: " + std::strerror(errno));
    }
    return std::make_unique<FdSink>(fd, name_, true);
  }

 private:
  /// True if nobody can tell a new file under this name from the old one rewritten, and descriptors are not scarce.
  bool Replaceable() const {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 64) return false;
    if (name_.starts_with("/dev/") || name_.starts_with("/proc/")) return false;
    struct stat facts, stream;
    if (::lstat(name_.c_str(), &facts) != 0) return errno == ENOENT;
    if (!S_ISREG(facts.st_mode) || facts.st_nlink != 1 || facts.st_uid != ::geteuid()) return false;
    for (int fd = 0; fd <= 2; ++fd) {
      if (::fstat(fd, &stream) == 0 && stream.st_dev == facts.st_dev && stream.st_ino == facts.st_ino) return false;
    }
    return ::listxattr(name_.c_str(), nullptr, 0) <= 0;
  }

  std::string name_;
  FileSystem files_;
  std::unique_ptr<OutputFile> replacement_;
  int fd_ = STDOUT_FILENO;
};

void WriteText(const std::string& text) {
  FdSink out(STDOUT_FILENO, kStandardOutput, false);
  out.Write(std::as_bytes(std::span(text)));
  out.Close();
}

int Check(const GnuOptions& options, const LineSortSettings& settings) {
  std::unique_ptr<ByteSource> input = OpenFile(options.inputs[0]);
  if (input == nullptr) FailOpen(options.inputs[0], EMFILE);
  const std::optional<Disorder> disorder = FindDisorder(settings, std::move(input));
  if (!disorder) return 0;
  if (options.check == 'c') {
    const std::string message = "sort: " + options.inputs[0] + ":" + std::to_string(disorder->line_number) +
                                ": disorder: " + disorder->line + settings.delimiter;
    std::fwrite(message.data(), 1, message.size(), stderr);
  }
  return 1;
}

/// A raw copy of an input that the output is about to overwrite.
TempRun CopyAside(const std::string& name, TempRuns& temp) {
  std::unique_ptr<ByteSource> source = OpenFile(name);
  std::unique_ptr<ByteSink> sink = temp.Create();
  if (source == nullptr || sink == nullptr) FailOpen(name, EMFILE);
  std::vector<std::byte> buffer(std::size_t{1} << 16);
  while (const std::size_t got = source->Read(buffer)) sink->Write(std::span(buffer).first(got));
  sink->Close();
  return temp.Finish();
}

int Run(GnuOptions options, bool locale_set, bool ignore_sigpipe) {
  if (!options.files0_from.empty()) {
    if (!options.inputs.empty()) {
      throw GnuUsageError(
          "extra operand " + QuoteShell(options.inputs[0]) + "\nfile operands cannot be combined with --files0-from",
          true);
    }
    options.inputs = ReadFileNames(options.files0_from);
  }
  const std::vector<KeyDef> keys = ResolveKeys(options.keys, options.ordering);
  if (options.debug && (options.check != 0 || options.output)) {
    Fail(std::string("options '-") + (options.check != 0 ? options.check : 'o') + " --debug' are incompatible");
  }
  if (options.debug) {
    const TypedOrder typed{options.keys, options.ordering, options.separator, options.stable, options.unique};
    for (const std::string& warning : DebugWarnings(typed, locale_set)) Say(warning);
  }
  LineOrder order = MakeLineOrder(keys, options.ordering, options.separator, !options.stable && !options.unique);
  if (std::any_of(order.keys.begin(), order.keys.end(),
                  [](const LineKey& key) { return key.ordering == LineOrdering::kRandom; })) {
    ReadSalt(options.random_source, order.salt);
  }

  const std::unique_ptr<KeyMaker> locale_keys = MakeLocaleKeys(order);
  std::optional<KeyedOrder> keyed;
  if (locale_keys) keyed.emplace(*locale_keys);
  LineSortSettings settings;
  settings.order = keyed ? *keyed->layout(options.zero_terminated ? '\0' : '\n').lines : order.view();
  settings.keyed = keyed ? &*keyed : nullptr;
  settings.delimiter = options.zero_terminated ? '\0' : '\n';
  settings.unique = options.unique;
  settings.memory_bytes = options.memory_bytes != 0 ? options.memory_bytes : DefaultMemory();
  settings.threads = std::min(options.threads != 0 ? options.threads : DefaultThreads(), 2 * kMostThreads);
  if (options.batch_size != 0) {
    settings.fan_in = settings.run_fan_in = options.batch_size;
  } else {
    settings.run_fan_in = static_cast<unsigned>(std::clamp<std::uint64_t>(settings.memory_bytes >> 20, 16, 128));
  }

  if (options.inputs.empty()) options.inputs.emplace_back("-");
  if (options.check != 0) {
    if (options.inputs.size() > 1) {
      Fail("extra operand " + QuoteShell(options.inputs[1]) + " not allowed with -" + options.check);
    }
    if (options.output) Fail(std::string("options '-") + options.check + "o' are incompatible");
    return Check(options, settings);
  }

  CheckReadable(options.inputs);
  Output output(options.output);
  if (options.temp_dirs.empty()) options.temp_dirs.push_back(DefaultTempDir());
  TempRuns temp(options.temp_dirs, options.compress_program, ignore_sigpipe, Say);
  const OpenInput open_input = [&](std::size_t i) { return OpenFile(options.inputs[i]); };
  const OpenOutput open_output = [&]() -> std::unique_ptr<LineWriter> {
    if (!options.debug) return std::make_unique<LineWriter>(output.Open());
    const bool whole_line = order.keys.empty() || order.last_resort;
    return std::make_unique<DebugWriter>(output.Open(), order, whole_line);
  };
  if (options.action == GnuOptions::Action::kMerge) {
    std::vector<MergeInput> inputs;
    for (std::size_t i = 0; i < options.inputs.size(); ++i) {
      inputs.push_back({i, {}});
      if (output.Overwrites(options.inputs[i])) inputs.back().run = CopyAside(options.inputs[i], temp);
    }
    MergeLines(settings, std::move(inputs), open_input, temp, open_output);
  } else {
    SortLines(settings, options.inputs.size(), open_input, temp, open_output);
  }
  return 0;
}

}  // namespace

bool IsNamedSort(const char* program) {
  const std::string_view name(program);
  return name.substr(name.rfind('/') + 1) == "sort";
}

int SortMain(int argc, char** argv) {
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
        return Run(std::move(options), locale_set, ignore_sigpipe);
    }
  } catch (const ClosedPipe& error) {
    if (!ignore_sigpipe) OnSignal(SIGPIPE);
    Say(error.what());
  } catch (const GnuUsageError& error) {
    if (*error.what() != '\0') Say(error.what());
    if (error.try_help()) std::fputs("Try 'sort --help' for more information.\n", stderr);
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    Say("memory exhausted");
  } catch (const std::exception& error) {
    Say(error.what());
  }
  return 2;
}

}  // namespace gpusort

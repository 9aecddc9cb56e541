// The program under the name `sort`: GNU sort's command line, messages, exit codes and output bytes. It opens no GPU
// and no log, so that it costs milliseconds and little memory.
#include "sort.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/gnu_quote.hpp"
#include "base/out_of_memory.hpp"
#include "base/signals.hpp"
#include "cli/gnu_job.hpp"
#include "cli/gnu_options.hpp"
#include "cli/process.hpp"
#include "data/inputs.hpp"
#include "io/output_file.hpp"
#include "io/stream.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// Opens closed standard streams on /dev/null, so that a data file does not take their place. Reads and writes of these
/// streams still fail.
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

/// Returns true if the caller had ignored SIGPIPE.
bool HandleSortSignals() {
  std::vector<int> signals = EndingSignals();
  signals.push_back(SIGXFSZ);
  signals.insert(signals.end(), std::begin(kFaultSignals), std::end(kFaultSignals));
  for (const int signal : signals) {
    struct sigaction action {
    }, old{};
    action.sa_handler = OnSignal;
    sigemptyset(&action.sa_mask);
    // A signal that the caller ignores stays ignored, and the handler of a tool (a sanitizer) stays.
    if (sigaction(signal, nullptr, &old) == 0 && old.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);
  }
  // If SIGCHLD stayed ignored, the exit status of compress programs would be lost.
  ::signal(SIGCHLD, SIG_DFL);
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  return before == SIG_IGN;
}

/// Returns the message of an error of the main path in GNU sort's words.
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

void Start(Process& process) {
  ReleaseUserSignal();
  FillStandardStreams();
  process.ignores_sigpipe = HandleSortSignals();
}

/// Prints a message about the exception that is being handled, and returns the exit code.
int Report(Process& process) {
  try {
    throw;
  } catch (const BrokenPipe& error) {
    if (!process.ignores_sigpipe) OnSignal(SIGPIPE);
    SayAsSort(InGnuWords(error));
  } catch (const SystemError& error) {
    SayAsSort(InGnuWords(error));
  } catch (const GnuUsageError& error) {
    if (*error.what() != '\0') SayAsSort(error.what());
    if (error.try_help()) std::fputs("Try 'sort --help' for more information.\n", stderr);
    return error.exit_code();
  } catch (const LineTooLong& error) {
    SayAsSort(error.place() + " is longer than can be sorted");
  } catch (const Error& error) {
    SayAsSort(error.code() == ErrorCode::kOutOfMemory ? "memory exhausted" : error.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "sort: %s\n", OutOfMemoryText());
  } catch (const std::exception& error) {
    SayAsSort(error.what());
  }
  return 2;
}

void WriteText(const std::string& text) {
  CancelFlag cancel;
  PipeWriter out("-", cancel);
  out.WriteAll(std::as_bytes(std::span(text)));
  out.Close();
}

}  // namespace

bool IsNamedSort(const char* program) {
  const std::string_view name(program);
  return name.substr(name.rfind('/') + 1) == "sort";
}

int SortMain(int argc, char** argv) {
  constexpr ProcessDialect kSort{"sort: ", "memory exhausted", 2, Start, Report};
  return RunProcess(kSort, [&](Process& process) {
    const bool locale_set = std::setlocale(LC_ALL, "") != nullptr;
    char program[] = "sort";  // getopt's messages begin with this name
    argv[0] = program;
    GnuOptions options = ParseGnuOptions(argc, argv);
    if (options.action == GnuOptions::Action::kHelp || options.action == GnuOptions::Action::kVersion) {
      WriteText(options.action == GnuOptions::Action::kHelp ? GnuHelpText() : GnuVersionText());
      return 0;
    }
    return RunGnuJob(std::move(options), locale_set, process.ignores_sigpipe);
  });
}

}  // namespace gpusort

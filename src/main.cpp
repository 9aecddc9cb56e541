// gpusort INPUT OUTPUT: parse, plan, sort, exit code. The main path goes on in external_sort.hpp.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "backend.hpp"
#include "external_sort.hpp"
#include "gpusort/error.hpp"
#include "line_path.hpp"
#include "log.hpp"
#include "machine.hpp"
#include "options.hpp"
#include "signals.hpp"
#include "sort_main.hpp"

namespace gpusort {
namespace {

void RefuseClosedStreams(const Options& options, unsigned closed) {
  const bool reads = std::find(options.inputs.begin(), options.inputs.end(), "-") != options.inputs.end();
  if (reads && (closed & 1u) != 0) throw Error(ErrorCode::kIo, "standard input is closed");
  if (options.output == "-" && (closed & 2u) != 0) throw Error(ErrorCode::kIo, "standard output is closed");
}

void Run(const Options& options, CancelFlag& cancel) {
  if (options.locale) UseLocale();
  const bool by_line_sorter = NeedsLineSorter(options);
  switch (options.action) {
    case Action::kHelp:
      std::fputs(HelpText().c_str(), stdout);
      break;
    case Action::kVersion:
      std::fputs(VersionText(ListBackends()).c_str(), stdout);
      break;
    case Action::kExplain:
      std::fputs((by_line_sorter ? ExplainLineSorter(options, cancel) : ExplainSort(options, cancel)).c_str(), stdout);
      break;
    case Action::kCheck:
      try {
        by_line_sorter ? CheckByLineSorter(options, cancel) : CheckSorted(options, cancel);
      } catch (const Error& error) {
        if (!options.quiet || error.code() != ErrorCode::kNotSorted) throw;
        throw Error(ErrorCode::kNotSorted, "");
      }
      break;
    case Action::kSort:
      by_line_sorter ? SortByLineSorter(options, cancel) : ExternalSort(options, cancel);
      break;
  }
  if (std::fflush(stdout) != 0 && errno == EPIPE) throw BrokenPipe("standard output was closed");
  if (std::ferror(stdout) != 0) throw Error(ErrorCode::kIo, "cannot write to standard output");
}

/// Says what the exception being handled is about and gives the exit code.
int Report() {
  try {
    throw;
  } catch (const BrokenPipe&) {
    EndBySignal(SIGPIPE);
  } catch (const Error& error) {
    if (SignalReceived() != 0 && error.code() == ErrorCode::kCancelled) EndBySignal(SignalReceived());
    if (*error.what() != 0) LogError(error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    LogError("out of memory");
    return static_cast<int>(ErrorCode::kOutOfMemory);
  } catch (const std::exception& error) {
    LogError(std::string("internal error: ") + error.what());
    return static_cast<int>(ErrorCode::kInternal);
  }
}

}  // namespace
}  // namespace gpusort

int main(int argc, char** argv) {
  using namespace gpusort;
  if (argc > 0 && IsNamedSort(argv[0])) return SortMain(argc, argv);
  const unsigned closed = OpenStandardStreams();
  SaveAddresses();
  CancelFlag cancel;
  HandleSignals(cancel);
  try {
    Options options = ParseOptions(argc, argv);
    ReadNamedFiles(options);
    RefuseClosedStreams(options, closed);
    CheckReportFiles(options);
    InitLog(options.log_level, options.log_file);
    Run(options, cancel);
    return 0;
  } catch (...) {
    return Report();
  }
}

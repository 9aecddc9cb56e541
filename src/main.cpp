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
#include "log.hpp"
#include "options.hpp"
#include "signals.hpp"

namespace gpusort {
namespace {

void RefuseClosedStreams(const Options& options, unsigned closed) {
  const bool reads = std::find(options.inputs.begin(), options.inputs.end(), "-") != options.inputs.end();
  if (reads && (closed & 1u) != 0) throw Error(ErrorCode::kIo, "standard input is closed");
  if (options.output == "-" && (closed & 2u) != 0) throw Error(ErrorCode::kIo, "standard output is closed");
}

void Run(const Options& options, CancelFlag& cancel) {
  switch (options.action) {
    case Action::kHelp:
      std::fputs(HelpText().c_str(), stdout);
      break;
    case Action::kVersion:
      std::fputs(VersionText(ListBackends()).c_str(), stdout);
      break;
    case Action::kExplain:
      std::fputs(ExplainSort(options, cancel).c_str(), stdout);
      break;
    case Action::kCheck:
      CheckSorted(options, cancel);
      break;
    case Action::kSort:
      ExternalSort(options, cancel);
      break;
  }
  if (std::fflush(stdout) != 0 && errno == EPIPE) throw BrokenPipe("standard output was closed");
  if (std::ferror(stdout) != 0) throw Error(ErrorCode::kIo, "cannot write to standard output");
}

}  // namespace
}  // namespace gpusort

int main(int argc, char** argv) {
  using namespace gpusort;
  const unsigned closed = OpenStandardStreams();
  CancelFlag cancel;
  HandleSignals(cancel);
  try {
    const Options options = ParseOptions(argc, argv);
    RefuseClosedStreams(options, closed);
    CheckReportFiles(options);
    InitLog(options.log_level, options.log_file);
    Run(options, cancel);
    return 0;
  } catch (const BrokenPipe&) {
    EndBySignal(SIGPIPE);
  } catch (const Error& error) {
    if (SignalReceived() != 0 && error.code() == ErrorCode::kCancelled) EndBySignal(SignalReceived());
    LogError(error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    LogError("out of memory");
    return static_cast<int>(ErrorCode::kOutOfMemory);
  } catch (const std::exception& error) {
    LogError(std::string("internal error: ") + error.what());
    return static_cast<int>(ErrorCode::kInternal);
  }
}

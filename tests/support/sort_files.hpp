// Runs the whole job on files, inside the test's process.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/parse_options.hpp"
#include "error.hpp"
#include "job/external_sort.hpp"
#include "lines/line_order.hpp"

namespace gpusort::testing {

inline Options Parse(std::vector<std::string> args) {
  std::vector<const char*> argv{"gpusort"};
  for (const std::string& arg : args) argv.push_back(arg.c_str());
  return ParseOptions(static_cast<int>(argv.size()), argv.data());
}

inline void Sort(std::vector<std::string> args, const GpuSource& gpus = {0, [] { return false; }, OpenCudaBackend}) {
  const Options options = Parse(std::move(args));
  CancelFlag cancel;
  // Publishing leaves signals blocked, because a process normally ends after it.
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  ExternalSort(options, cancel, gpus);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

/// Runs Sort and returns the code of the Error that it throws; 0 if it throws none.
inline int CodeOf(const std::vector<std::string>& args) {
  try {
    Sort(args);
  } catch (const Error& error) {
    return static_cast<int>(error.code());
  }
  return 0;
}

inline nlohmann::json Stats(const std::string& path) { return nlohmann::json::parse(std::ifstream(path)); }

/// Replaces standard input by a file while the object lives.
class StandardInput {
 public:
  explicit StandardInput(const std::string& path) : before_(dup(STDIN_FILENO)) {
    const int fd = open(path.c_str(), O_RDONLY);
    EXPECT_EQ(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    close(fd);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  ~StandardInput() {
    dup2(before_, STDIN_FILENO);
    close(before_);
  }

 private:
  int before_;
};

/// Returns options for lines of any order, including orders that no command line can express.
inline Options LineOptions(std::vector<std::string> args, const LineOrder& order, unsigned char delimiter) {
  args.insert(args.begin(), {"--format", "lines"});
  Options options = Parse(std::move(args));
  LineOrder used = order;
  if (options.unique) used.last_resort = false;
  options.lines = std::make_shared<const LineOrdered>(std::move(used));
  options.layout = MakeLineLayout(delimiter, options.lines->view);
  return options;
}

inline void SortLines(const Options& options, const GpuSource& gpus = {0, [] { return false; }, OpenCudaBackend}) {
  CancelFlag cancel;
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  ExternalSort(options, cancel, gpus);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

}  // namespace gpusort::testing

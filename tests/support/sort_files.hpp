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
#include "job/sort_job.hpp"
#include "kernels/error.hpp"
#include "kernels/lines/line_order.hpp"

namespace gpusort::testing {

inline JobSpec Parse(const std::vector<std::string>& words) { return ParseOptions(words); }

inline void Sort(const std::vector<std::string>& args,
                 const GpuSource& gpus = {0, [] { return false; }, OpenCudaBackend}) {
  const JobSpec spec = Parse(args);
  CancelFlag cancel;
  // A process normally ends after publishing, so publishing leaves signals blocked. The tests unblock them.
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  SortJob(spec, cancel, gpus);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

/// Runs Sort and returns the code of the Error that it throws, or 0 if it throws no Error.
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

/// Returns a job that sorts lines in `order`, which may be an order that no command line can express.
inline JobSpec LineOptions(std::vector<std::string> args, const LineOrder& order, unsigned char delimiter) {
  args.insert(args.begin(), {"--format", "lines"});
  JobSpec spec = Parse(args);
  LineOrder used = order;
  if (spec.order.unique) used.last_resort = false;
  spec.order.lines = std::make_shared<const LineOrdered>(std::move(used));
  spec.order.layout = MakeLineLayout(delimiter, spec.order.lines->view);
  return spec;
}

inline void SortLines(const JobSpec& spec, const GpuSource& gpus = {0, [] { return false; }, OpenCudaBackend}) {
  CancelFlag cancel;
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  SortJob(spec, cancel, gpus);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

}  // namespace gpusort::testing

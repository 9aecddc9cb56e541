#include "plan/memory_shares.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "kernels/error.hpp"
#include "line_files.hpp"
#include "records.hpp"
#include "sort_files.hpp"

namespace gpusort::testing {
namespace {

/// Returns the plan, or the message of the error.
std::string Explain(const std::vector<std::string>& args, bool& planned) {
  CancelFlag cancel;
  try {
    planned = true;
    return ExplainJob(Parse(args), cancel, {0, [] { return false; }, OpenCudaBackend}).text;
  } catch (const Error& error) {
    planned = false;
    return error.what();
  }
}

// If memory is too small for many threads, the plan takes fewer threads before anything is refused.
TEST(MemoryShares, ManyThreadsCanDoWhateverFewerCan) {
  const TempFolder folder;
  const std::string in = folder / "in";
  std::ofstream text(in);
  text << "id,name\n";
  for (int i = 0; i < 400; ++i) text << i * 7919 % 1000 << ",name " << i << "\n";
  text << std::string((8 - static_cast<std::size_t>(text.tellp()) % 8) % 8, 'x');
  text.close();
  for (const std::vector<std::string>& format :
       std::vector<std::vector<std::string>>{{"--format", "lines", "-k2,2"},
                                             {"--format", "csv", "-k", "#1"},
                                             {"--type", "u64"},
                                             {"--format", "lines", "--compress", "zst"},
                                             {"--format", "csv", "-k", "#1", "--compress", "xz"}}) {
    for (const bool stream : {false, true}) {
      for (const char* const memory : {"4M", "10M", "30M", "64M", "200M", "700M"}) {
        bool before = false;
        for (const char* const threads : {"1", "3", "8", "20", "64"}) {
          std::vector<std::string> args = format;
          args.insert(args.end(), {"--memory", memory, "--threads", threads, stream ? "-" : in, "-"});
          const StandardInput input(in);
          bool planned = false;
          const std::string text = Explain(args, planned);
          EXPECT_GE(planned, before) << format[1] << (stream ? " stream " : " file ") << memory << " " << threads
                                     << " threads: " << text;
          before = planned;
        }
        if (*memory == '7') {
          EXPECT_TRUE(before) << format[1];
        }
      }
    }
  }
}

TEST(MemoryShares, AnAdvisedLimitIsForFewerThreads) {
  const TempFolder folder;
  const std::string in = folder / "in";
  std::ofstream(in) << "id,name\n1,a\n";
  const StandardInput input(in);
  const auto advice = [&](const std::string& threads) {
    bool planned = true;
    const std::string text =
        Explain({"--format", "csv", "-k", "#1", "--memory", "3M", "--threads", threads, "-", "-"}, planned);
    EXPECT_FALSE(planned);
    return text.substr(text.find("give at least"));
  };
  EXPECT_EQ(advice("64"), advice("1"));
}

}  // namespace
}  // namespace gpusort::testing

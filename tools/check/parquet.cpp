#include "check/parquet.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "parquet_script.hpp"
#include "tool_help.hpp"

namespace check {

void RunParquet(const std::vector<std::string>& options) {
  const char* const chosen = std::getenv("GPUSORT_PYTHON");
  const std::string python = chosen != nullptr && *chosen != '\0' ? chosen : "python3";
  // -P: modules in the working directory do not count.
  std::vector<std::string> words{python, "-P", "-c", kParquetScript};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(python.c_str(), arguments.data());
  tool::FailUsage("--format parquet needs a python3 that has pyarrow and numpy: " + tool::Quote(python) + ": " +
                  std::strerror(errno));
}

}  // namespace check

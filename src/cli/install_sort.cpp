#include "cli/install_sort.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/gnu_quote.hpp"
#include "base/text.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "sort";

[[noreturn]] void Fail(const std::string& what, const std::error_code& error) {
  if (error == std::errc::permission_denied || error == std::errc::read_only_file_system) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--install-sort: {} cannot be made: {}: give a folder in which you may write, such as "
                            "~/bin, or run this command with sudo",
                            what, error.message()));
  }
  throw Error(ErrorCode::kIo, fmt::format("--install-sort: {}: {}", what, error.message()));
}

fs::path RunningProgram() {
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) Fail("cannot find this program by /proc/self/exe", error);
  if (!fs::exists(program, error)) {
    throw Error(ErrorCode::kIo,
                fmt::format("--install-sort: this program is no longer at {}", InQuotes(program.string())));
  }
  return program;
}

/// Makes the link `link` to `program`. Replaces a link to another program gpusort, which may be gone.
void MakeLink(const fs::path& link, const fs::path& program) {
  std::error_code error;
  const fs::file_status old = fs::symlink_status(link, error);
  if (fs::is_symlink(old) && fs::equivalent(link, program, error)) return;
  if (fs::exists(old) && (!fs::is_symlink(old) || fs::read_symlink(link, error).filename() != "gpusort")) {
    throw Error(ErrorCode::kUsage, fmt::format("--install-sort: {} exists and is not a link to gpusort: give another "
                                               "folder, which comes earlier in PATH",
                                               InQuotes(link.string())));
  }
  // The link gets its name by a rename, so that there is a `sort` at every moment.
  const fs::path hidden = link.parent_path() / fmt::format(".{}-{}.tmp", kName, ::getpid());
  fs::create_symlink(program, hidden, error);
  if (!error) fs::rename(hidden, link, error);
  if (error) {
    std::error_code ignored;
    fs::remove(hidden, ignored);
    Fail(InQuotes(link.string()), error);
  }
}

std::vector<fs::path> FoldersInPath() {
  const char* const path = std::getenv("PATH");
  std::istringstream text(path == nullptr ? "" : path);
  std::vector<fs::path> folders;
  for (std::string folder; std::getline(text, folder, ':');) folders.emplace_back(folder.empty() ? "." : folder);
  return folders;
}

/// Returns the first program `sort` in PATH, or "".
fs::path FirstInPath() {
  for (const fs::path& folder : FoldersInPath()) {
    const fs::path program = folder / kName;
    struct stat facts;
    if (::stat(program.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && ::access(program.c_str(), X_OK) == 0) {
      return program;
    }
  }
  return {};
}

bool IsInPath(const fs::path& wanted) {
  std::error_code error;
  return std::ranges::any_of(FoldersInPath(),
                             [&](const fs::path& folder) { return fs::equivalent(folder, wanted, error); });
}

}  // namespace

std::string InstallSort(const std::string& folder) {
  const fs::path program = RunningProgram();
  std::error_code error;
  fs::path place = fs::weakly_canonical(fs::absolute(folder, error), error);
  if (!place.has_filename()) place = place.parent_path();  // a slash at the end
  if (error) Fail(InQuotes(folder), error);
  if (place.native().find(':') != std::string::npos) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--install-sort: {}: PATH cannot name a folder with a colon", InQuotes(place.string())));
  }
  fs::create_directories(place, error);
  if (error) Fail(InQuotes(place.string()), error);
  const fs::path link = place / kName;
  MakeLink(link, program);
  const std::string quoted = QuoteShell(place.string());
  std::string text = fmt::format("{} is a link to {}, which is GNU sort under this name\n", InQuotes(link.string()),
                                 InQuotes(program.string()));
  const fs::path first = FirstInPath();
  if (fs::equivalent(first.parent_path(), place, error)) {
    text += "commands and scripts that run sort use it now; a shell that has run sort before: hash -r\n";
  } else {
    text += fmt::format("sort is still {}: in PATH, {}\n", first.empty() ? "no program" : InQuotes(first.string()),
                        IsInPath(place) ? "its folder comes before " + InQuotes(place.string())
                                        : InQuotes(place.string()) + " is missing");
    text += fmt::format("  for one command:  PATH={}:$PATH COMMAND\n", quoted);
    text += fmt::format("  for all commands: export PATH={}:$PATH, in ~/.profile\n", quoted);
  }
  return text + fmt::format("to undo it: rm {}\n", QuoteShell(link.string()));
}

}  // namespace gpusort

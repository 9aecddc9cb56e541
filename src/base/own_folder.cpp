#include "base/own_folder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.hpp"
#include "io/file.hpp"
#include "kernels/error.hpp"

namespace gpusort {

std::string WithoutSlashes(std::string path) {
  for (;;) {
    if (path.size() > 1 && path.ends_with('/')) {
      path.pop_back();
    } else if (path.size() > 2 && path.ends_with("/.")) {
      path.resize(path.size() - 2);
    } else {
      return path;
    }
  }
}

detail::Fd OpenOwnFolder(const std::string& name, const std::string& path) {
  const auto refuse = [&](const std::string& why, ErrorCode code = ErrorCode::kUsage) {
    throw Error(code, fmt::format("{}{}: {}", name, EscapeName(path), why));
  };
  detail::Fd fd(detail::OpenPath(WithoutSlashes(path).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.open()) {
    if (errno == ENOENT) refuse("there is no such folder: no job began there, or it is done");
    if (errno == ELOOP || errno == ENOTDIR) refuse("it is no folder, or a link to one");
    refuse(detail::ErrnoText(errno), detail::OpenErrorCode(errno));
  }
  const FileFacts facts = FactsOf(fd.get());
  if (facts.uid != ::geteuid()) refuse("it is another user's");
  if ((facts.mode & 022) != 0) refuse("others can write to it: run chmod go-w, or give another folder");
  return fd;
}

void RequireOwnFile(const std::string& path, bool others_may_write) {
  struct stat facts;
  if (::lstat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT) return;
    throw Error(detail::OpenErrorCode(errno), fmt::format("{}: {}", EscapeName(path), detail::ErrnoText(errno)));
  }
  const bool safe_mode = others_may_write || (facts.st_mode & 022) == 0;
  if (S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid() && safe_mode) return;
  throw Error(ErrorCode::kUsage, fmt::format("{}: it is no file {}", EscapeName(path),
                                             others_may_write ? "of this user" : "that only this user can write"));
}

}  // namespace gpusort

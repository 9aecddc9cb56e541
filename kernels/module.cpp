#include "kernels/module.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <libintl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "kernels/thread.hpp"

namespace gpusort {
namespace {

/// Returns "" if dlopen can load the file without harm: a complete module, or a file that is no ELF file, for which
/// dlopen has the better message. Otherwise returns what is wrong. A truncated module would end the process with SIGBUS
/// in dlopen.
std::string WhyNotWhole(const std::string& path) {
  const std::string cut = "is not whole: install or copy it again";
  const auto failed = [] { return std::string("cannot be read: ") + std::strerror(errno); };
  const int file = Uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (file < 0) return failed();
  const auto close = [](const int* fd) { ::close(*fd); };
  const std::unique_ptr<const int, decltype(close)> closes(&file, close);
  Elf64_Ehdr head{};
  Elf64_Phdr part{};
  struct stat facts;
  const ssize_t got = Uninterrupted([&] { return ::pread(file, &head, sizeof head, 0); });
  if (got < 0 || ::fstat(file, &facts) != 0) return failed();
  if (got < static_cast<ssize_t>(sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return "";
  const std::uint64_t size = static_cast<std::uint64_t>(facts.st_size);
  if (head.e_phentsize != sizeof part || head.e_phoff > size) return cut;
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    const off_t at = static_cast<off_t>(head.e_phoff + i * sizeof part);
    const ssize_t more = Uninterrupted([&] { return ::pread(file, &part, sizeof part, at); });
    if (more < 0) return failed();
    if (more < static_cast<ssize_t>(sizeof part)) return cut;
    if (part.p_offset > size || part.p_filesz > size - part.p_offset) return cut;
  }
  return "";
}

}  // namespace

/// Returns the paths where the module may be, in the order of the search. The first path is next to the program, as in
/// a build folder. The next path is in the bundle or prefix that contains the program. The last path is in the folder
/// that the build was configured to install the module in.
std::vector<std::string> Module::SearchPaths(int& error) const {
  const char* const named = about_.variable != nullptr ? ::secure_getenv(about_.variable) : nullptr;
  if (named != nullptr && *named != '\0') return {named};
  const std::string file = "/" + about_.file;
  std::vector<std::string> paths;
  char self[PATH_MAX];
  const ssize_t length = Uninterrupted([&] { return ::readlink("/proc/self/exe", self, sizeof self); });
  if (length < 0) error = errno;
  if (length > 0 && self[0] == '/') {
    std::string folder(self, static_cast<std::size_t>(length));
    folder.erase(folder.rfind('/'));
    paths.push_back(folder + file);
    folder.erase(std::min(folder.rfind('/'), folder.size()));
    // A wheel has the modules in libexec, because `pip install --target` leaves the folder lib of a wheel out.
    const std::string of_wheel = folder + "/libexec/gpusort";
    paths.push_back((::access(of_wheel.c_str(), F_OK) == 0 ? of_wheel : folder + "/lib/gpusort") + file);
  }
  const std::string installed = GPUSORT_MODULE_DIR + file;
  if (std::find(paths.begin(), paths.end(), installed) == paths.end()) paths.push_back(installed);
  return paths;
}

std::string Module::Find(std::string* why) const {
  int error = 0;
  const std::vector<std::string> paths = SearchPaths(error);
  for (const std::string& path : paths) {
    if (::access(path.c_str(), F_OK) == 0) return path;
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
  }
  if (why == nullptr) return "";
  *why = "there is no " + about_.name + ": no ";
  for (std::size_t i = 0; i < paths.size(); ++i) {
    *why += (i == 0 ? "" : i + 1 < paths.size() ? ", no " : " and no ") + paths[i];
  }
  if (error != 0) *why += std::string(" (") + std::strerror(error) + ")";
  *why += "; " + about_.advice;
  return "";
}

const void* Module::Load() const {
  std::string missing;
  const std::string path = Find(&missing);
  if (path.empty()) Fail(missing);
  const std::string name = "the " + about_.name + " ";
  if (const std::string why = WhyNotWhole(path); !why.empty()) Fail(name + path + " " + why);
  // dlopen looks for a name without a slash in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const text = ::dlerror();
    const std::string why = text != nullptr ? text : path;
    // If memory is refused, glibc's loader does not see the error number of malloc. Its message then has no reason, or
    // the reason of an earlier failure: usually that a file does not exist.
    const std::string unopened = file + ": " + ::dgettext("libc", "cannot open shared object file");
    if ((why == unopened || why == unopened + ": " + std::strerror(ENOENT)) && ::access(file.c_str(), F_OK) == 0) {
      throw std::bad_alloc();
    }
    Fail(name + "cannot be loaded: " + why + "; " + about_.advice);
  }
  void* const entry = ::dlsym(handle, about_.entry.c_str());
  if (entry == nullptr) Fail(path + " is no " + about_.name + " of gpusort: it has no " + about_.entry);
  const void* const functions = reinterpret_cast<const void* (*)()>(entry)();
  const char* const version = *static_cast<const char* const*>(functions);
  if (std::strcmp(version, about_.version) != 0) {
    Fail(name + path + " is of gpusort " + version + ", this program is gpusort " + about_.version +
         ": install both from one release");
  }
  return functions;
}

}  // namespace gpusort

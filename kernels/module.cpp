#include "kernels/module.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace gpusort {
namespace {

/// Returns false if the file is a truncated module, which would end the process with SIGBUS in dlopen. Returns true for
/// a file of another kind: the error of dlopen says more about it.
bool IsWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr head{};
  Elf64_Phdr part{};
  if (!file.read(reinterpret_cast<char*>(&head), sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
    return true;
  }
  std::uint64_t end = 0;
  file.seekg(static_cast<std::streamoff>(head.e_phoff));
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    if (!file.read(reinterpret_cast<char*>(&part), sizeof part)) return false;
    end = std::max<std::uint64_t>(end, part.p_offset + part.p_filesz);
  }
  file.seekg(0, std::ios::end);
  return end <= static_cast<std::uint64_t>(file.tellg());
}

}  // namespace

/// Returns the paths at which the module may be, in the order of the search. They are next to the program (a build
/// folder), in the bundle or prefix that contains the program, and where the module was to be installed.
std::vector<std::string> Module::Places() const {
  const char* const named = about_.variable != nullptr ? ::secure_getenv(about_.variable) : nullptr;
  if (named != nullptr && *named != '\0') return {named};
  const std::string file = "/" + about_.file;
  std::vector<std::string> places;
  char self[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self);
  if (length > 0 && self[0] == '/') {
    std::string folder(self, static_cast<std::size_t>(length));
    folder.erase(folder.rfind('/'));
    places.push_back(folder + file);
    folder.erase(std::min(folder.rfind('/'), folder.size()));
    places.push_back(folder + "/lib/gpusort" + file);
  }
  const std::string installed = GPUSORT_MODULE_DIR + file;
  if (std::find(places.begin(), places.end(), installed) == places.end()) places.push_back(installed);
  return places;
}

std::string Module::Find() const {
  const std::vector<std::string> places = Places();
  const auto found = std::find_if(places.begin(), places.end(),
                                  [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; });
  return found == places.end() ? "" : *found;
}

std::string Module::WhyMissing() const {
  std::string text = "there is no " + about_.name + ": no ";
  const std::vector<std::string> places = Places();
  for (std::size_t i = 0; i < places.size(); ++i) {
    text += (i == 0 ? "" : i + 1 < places.size() ? ", no " : " and no ") + places[i];
  }
  return text + "; " + about_.advice;
}

const void* Module::Load() const {
  const std::string path = Find();
  if (path.empty()) Fail(WhyMissing());
  const std::string name = "the " + about_.name + " ";
  if (!IsWhole(path)) Fail(name + path + " is not whole: install or copy it again");
  // dlopen looks for a name without a slash in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = ::dlerror();
    Fail(name + "cannot be loaded: " + (why != nullptr ? std::string(why) : path) + "; " + about_.advice);
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

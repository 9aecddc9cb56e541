#include "kernels/backend_module.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "kernels/error.hpp"

#pragma weak gpusort_cuda_module

namespace gpusort {
namespace {

constexpr char kHowToGetIt[] =
    "install the package gpusort-cuda, or build gpusort where the CUDA Toolkit is; --device cpu sorts without it";

[[noreturn]] void FailModule(const std::string& why) { throw Error(ErrorCode::kGpuLost, why); }

/// Returns the paths at which the module may be, in the order of the search: next to the program (a build folder), in
/// the bundle or prefix that contains the program, and where it was to be installed.
std::vector<std::string> Places() {
  constexpr char kFile[] = "/gpusort_cuda.so";
  const char* const named = ::secure_getenv("GPUSORT_CUDA_MODULE");  // for tests
  if (named != nullptr && *named != '\0') return {named};
  std::vector<std::string> places;
  char self[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self);
  if (length > 0 && self[0] == '/') {
    std::string folder(self, static_cast<std::size_t>(length));
    folder.erase(folder.rfind('/'));
    places.push_back(folder + kFile);
    folder.erase(std::min(folder.rfind('/'), folder.size()));
    places.push_back(folder + "/lib/gpusort" + kFile);
  }
  const std::string installed = std::string(GPUSORT_MODULE_DIR) + kFile;
  if (std::find(places.begin(), places.end(), installed) == places.end()) places.push_back(installed);
  return places;
}

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// Returns the path of the module, or an empty string if there is none.
std::string FindModule() {
  const std::vector<std::string> places = Places();
  const auto found = std::find_if(places.begin(), places.end(), Exists);
  return found == places.end() ? "" : *found;
}

/// Returns the place of the module's code for messages to people, or an empty string if there is no module.
std::string ModuleFile() { return gpusort_cuda_module != nullptr ? "this program" : FindModule(); }

std::string NoModule() {
  std::string text = "there is no CUDA module: no ";
  const std::vector<std::string> places = Places();
  for (std::size_t i = 0; i < places.size(); ++i) {
    text += (i == 0 ? "" : i + 1 < places.size() ? ", no " : " and no ") + places[i];
  }
  return text + "; " + kHowToGetIt;
}

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

const CudaModule& Load() {
  if (gpusort_cuda_module != nullptr) return *gpusort_cuda_module();
  const std::string path = FindModule();
  if (path.empty()) FailModule(NoModule());
  if (!IsWhole(path)) FailModule("the CUDA module " + path + " is not whole: install or copy it again");
  // dlopen looks for a name without a slash in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = ::dlerror();
    FailModule("the CUDA module cannot be loaded: " + (why != nullptr ? std::string(why) : path) + "; " + kHowToGetIt);
  }
  void* const entry = ::dlsym(handle, "gpusort_cuda_module");
  if (entry == nullptr) FailModule(path + " is no CUDA module of gpusort: it has no gpusort_cuda_module");
  const CudaModule& module = *reinterpret_cast<decltype(&gpusort_cuda_module)>(entry)();
  if (std::strcmp(module.version, GPUSORT_MODULE_VERSION) != 0) {
    FailModule("the CUDA module " + path + " is of gpusort " + module.version +
               ", this program is gpusort " GPUSORT_MODULE_VERSION ": install both from one release");
  }
  return module;
}

std::atomic<const CudaModule*> the_module{nullptr};
std::atomic<StuckDriverHandler> stuck_driver_handler{nullptr};

const CudaModule& TheModule() {
  // Loading twice gives the same module, so a race between two threads is harmless.
  if (the_module == nullptr) the_module = &Load();
  return *the_module.load();
}

/// Returns true if there is a node by which a program reaches a GPU. /dev/dxg is the node under WSL.
bool HasGpuNode() { return Exists("/dev/nvidiactl") || Exists("/dev/nvidia0") || Exists("/dev/dxg"); }

/// `file` is the path of the module.
std::string NoDriver(const std::string& file) { return "there is no NVIDIA driver here; " + file + " would use it"; }

/// Calls the module. If the module finds no GPU because there is no driver, the error has the words of ListBackends.
template <typename Call>
auto WithDriver(Call call) {
  const CudaModule& module = TheModule();
  try {
    return call(module);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kGpuLost || HasGpuNode()) throw;
    throw Error(ErrorCode::kGpuLost, NoDriver(ModuleFile()) + "; --device cpu sorts without it (" + error.what() + ")");
  }
}

/// Returns the names of the GPUs as the kernel's driver reports them, for messages to people.
std::vector<std::string> NamesOfGpus() {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& folder : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", none)) {
    std::ifstream facts(folder.path() / "information");
    for (std::string line; std::getline(facts, line);) {
      constexpr char kBlank[] = " \t";
      if (!line.starts_with("Model:")) continue;
      const std::size_t begin = line.find_first_not_of(kBlank, std::strlen("Model:"));
      if (begin != std::string::npos)
        names.push_back(line.substr(begin) + ", PCI " + folder.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  if (names.empty() && HasGpuNode()) names.emplace_back("of a kind that /proc/driver/nvidia does not tell");
  return names;
}

}  // namespace

bool GpuLikely() { return HasGpuNode() && (gpusort_cuda_module != nullptr || !FindModule().empty()); }

std::string WhyGpuIsUnused() {
  if (!HasGpuNode() || GpuLikely()) return "";
  return "this machine has a GPU, but " + NoModule();
}

std::vector<std::string> ListBackends() {
  std::vector<std::string> lines{OpenCpuBackend(0)->limits().name};
  const std::string file = ModuleFile();
  if (file.empty()) {
    lines.push_back("no GPU: " + NoModule());
    return lines;
  }
  for (const std::string& gpu : NamesOfGpus()) lines.push_back("GPU " + gpu + ", by " + file);
  if (lines.size() == 1) lines.push_back("no GPU: " + NoDriver(file));
  return lines;
}

std::unique_ptr<Backend> OpenCudaBackend(int device, std::chrono::seconds timeout) {
  return WithDriver([&](const CudaModule& module) { return module.open(device, timeout, stuck_driver_handler); });
}

int CountGpus(std::chrono::seconds timeout) {
  return WithDriver([&](const CudaModule& module) { return module.count(timeout); });
}

void OnStuckDriver(StuckDriverHandler handler) { stuck_driver_handler = handler; }

bool AGpuHangs() {
  const CudaModule* const module = the_module;
  return module != nullptr && module->a_gpu_hangs();
}

}  // namespace gpusort

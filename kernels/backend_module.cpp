#include "kernels/backend_module.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/module.hpp"
#include "version.hpp"

#pragma weak gpusort_cuda_module

namespace gpusort {
namespace {

constexpr char kHowToGetIt[] =
    "install the package gpusort-cuda, or build gpusort where the CUDA Toolkit is; --device cpu sorts without it";

Module TheFile() {
  return Module({.name = "CUDA module",
                 .file = "gpusort_cuda.so",
                 .entry = "gpusort_cuda_module",
                 .version = GPUSORT_MODULE_VERSION,
                 .error = ErrorCode::kGpuLost,
                 .advice = kHowToGetIt,
                 .variable = "GPUSORT_CUDA_MODULE"});
}

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// Returns where the code of the CUDA module is, for messages: its path, "this program", or "" if there is no module.
std::string ModuleFile() { return gpusort_cuda_module != nullptr ? "this program" : TheFile().Find(); }

std::atomic<const CudaModule*> the_module{nullptr};
std::atomic<StuckDriverHandler> stuck_driver_handler{nullptr};

const CudaModule& TheModule() {
  // Loading twice gives the same module, so a race between two threads is harmless.
  if (the_module == nullptr) {
    the_module =
        gpusort_cuda_module != nullptr ? gpusort_cuda_module() : static_cast<const CudaModule*>(TheFile().Load());
  }
  return *the_module.load();
}

/// Returns true if there is a device node through which a program reaches a GPU. /dev/dxg is the node under WSL.
bool HasGpuNode() { return Exists("/dev/nvidiactl") || Exists("/dev/nvidia0") || Exists("/dev/dxg"); }

/// Returns the reason why no GPU is used, for messages. `file` is the path of the module.
std::string NoDriver(const std::string& file) { return "there is no NVIDIA driver here; " + file + " would use it"; }

/// Calls the module. If the module finds no GPU because there is no driver, throws an error with the words of
/// ListBackends.
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

/// The folder in which the kernel's driver has an entry for each GPU.
constexpr char kGpuFolder[] = "/proc/driver/nvidia/gpus";

/// Returns the names of the GPUs as the kernel's driver reports them, for messages to people.
std::vector<std::string> NamesOfGpus() {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& folder : std::filesystem::directory_iterator(kGpuFolder, none)) {
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

unsigned PresentGpus() {
  std::error_code none;
  const std::filesystem::directory_iterator folder(kGpuFolder, none);
  return static_cast<unsigned>(std::distance(begin(folder), end(folder)));
}

bool GpuLikely() { return HasGpuNode() && !ModuleFile().empty(); }

std::string WhyGpuIsUnused() {
  if (!HasGpuNode() || GpuLikely()) return "";
  std::string why;
  TheFile().Find(&why);
  return "this machine has a GPU, but " + why;
}

std::vector<std::string> ListBackends() {
  std::vector<std::string> lines{OpenCpuBackend(0)->limits().name};
  const std::string file = ModuleFile();
  if (file.empty()) {
    std::string why;
    TheFile().Find(&why);
    lines.push_back("no GPU: " + why);
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

// The CUDA backend is a module, gpusort_cuda.so, which the program loads when a GPU is wanted. Without the module there
// is no GPU, and everything else works. The module exports one name, gpusort_cuda_module. The program refuses a module
// of another version. The module owns all state of the backend, is loaded once and stays loaded; the program passes
// everything as arguments. Start at CudaModule; backend_module.cpp is the program's side.
#pragma once

#include <chrono>
#include <memory>

#include "kernels/backend.hpp"
#include "kernels/stuck_driver.hpp"

namespace gpusort {

/// The functions of a module. Both sides must be compiled from the same C++ headers, so the program reads only
/// `version` until the versions are known to agree. `version` stays the first member.
struct CudaModule {
  const char* version;  ///< GPUSORT_MODULE_VERSION: the release, and a sum of the headers that the two sides share
  /// Does the work of OpenCudaBackend. `handler` is the handler that was given to OnStuckDriver, or null.
  std::unique_ptr<Backend> (*open)(int device, std::chrono::seconds timeout, StuckDriverHandler handler);
  int (*count)(std::chrono::seconds timeout);  ///< does the work of CountGpus
  bool (*a_gpu_hangs)();  ///< does the work of AGpuHangs
};

}  // namespace gpusort

/// Returns the functions of the module. The module exports no other name. A program that links this function itself
/// loads no module.
extern "C" __attribute__((visibility("default"))) const gpusort::CudaModule* gpusort_cuda_module();

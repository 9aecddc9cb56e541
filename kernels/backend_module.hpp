// The interface between the program and the CUDA backend, which is a shared library of its own, the module
// gpusort_cuda.so. The program loads the module when it wants a GPU. Without the module the program works on the CPU.
// The module exports one name: gpusort_cuda_module. The module is loaded once, stays loaded, and owns all state of the
// CUDA backend. Start at CudaModule; backend_module.cpp is the program's side.
#pragma once

#include <chrono>
#include <memory>

#include "kernels/backend.hpp"

namespace gpusort {

/// The functions of the CUDA module (gpusort_cuda.so). The program and the module must be compiled from the same
/// headers. The program compares `version` before it reads anything else, so `version` must stay the first member.
struct CudaModule {
  const char* version;  ///< GPUSORT_MODULE_VERSION: the release and a checksum of the shared headers
  /// Opens GPU `device` for OpenCudaBackend. `handler` is the handler that was given to OnStuckDriver, or null.
  std::unique_ptr<Backend> (*open)(int device, std::chrono::seconds timeout, StuckDriverHandler handler);
  int (*count)(std::chrono::seconds timeout);  ///< counts the GPUs for CountGpus
  bool (*a_gpu_hangs)();                       ///< returns the result of AGpuHangs
};

}  // namespace gpusort

/// The only function that the CUDA module (gpusort_cuda.so) exports. It returns the module's table of functions. If
/// this function is linked into the program, as in tests, the program does not load the module.
extern "C" __attribute__((visibility("default"))) const gpusort::CudaModule* gpusort_cuda_module();

// The interface between the program and its CUDA backend, the shared library gpusort_cuda.so (the CUDA module). The
// program loads the module when it first uses a GPU, and keeps it loaded. Without the module, the program works on the
// CPU. Start at CudaModule.
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

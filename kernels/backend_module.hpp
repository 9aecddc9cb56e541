// The CUDA backend is a module, gpusort_cuda.so, which the program loads when a GPU is wanted: without it there is no
// GPU, and all else works. A module exports one name, gpusort_cuda_module, and is of one version with the program that
// loads it, or refused. All state of the backend is the module's, which is loaded once and stays; what the program has
// to say to it are arguments. Start at CudaModule; the program's side is backend_module.cpp.
#pragma once

#include <chrono>
#include <memory>

#include "backend.hpp"
#include "stuck_driver.hpp"

namespace gpusort {

/// What a module gives. All of it is C++ that both sides were compiled with, so only `version` may be looked at before
/// that is known to be the program's own. It stays the first member.
struct CudaModule {
  const char* version;  ///< GPUSORT_MODULE_VERSION: the release, and a sum of the headers that the two sides share
  /// OpenCudaBackend. `handler`: of OnStuckDriver, or null.
  std::unique_ptr<Backend> (*open)(int device, std::chrono::seconds timeout, StuckDriverHandler handler);
  int (*count)(std::chrono::seconds timeout);  ///< CountGpus
  bool (*a_gpu_hangs)();  ///< AGpuHangs
};

}  // namespace gpusort

/// The one name. A program that has it linked in needs no module.
extern "C" __attribute__((visibility("default"))) const gpusort::CudaModule* gpusort_cuda_module();

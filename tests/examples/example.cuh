// Helpers of the CUDA examples: an error check, and the exit status on machines without a GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

/// The exit status that makes ctest report a test as skipped.
constexpr int kSkipped = 77;

inline void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

inline bool HasGpu() {
  int devices = 0;
  const bool found = cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
  if (!found) std::puts("skipped: no GPU");
  return found;
}

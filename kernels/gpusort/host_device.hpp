// Macros for functions that every compiler compiles for the host, and nvcc also for the device. Only this header asks
// which compiler is running.
#pragma once

#ifdef __CUDACC__
#define GPUSORT_HD __host__ __device__
#define GPUSORT_CUDA_COMPILER 1
#else
#define GPUSORT_HD
#define GPUSORT_CUDA_COMPILER 0
#endif

/// 1 in code for the device, 0 in code for the host. Functions use it to choose between a C library call and a loop.
#ifdef __CUDA_ARCH__
#define GPUSORT_ON_DEVICE 1
#else
#define GPUSORT_ON_DEVICE 0
#endif

// Unrolls a loop whose count is a compile-time constant. Without this, arrays that the loop indexes spill to local
// memory.
#if GPUSORT_ON_DEVICE
#define GPUSORT_UNROLL _Pragma("unroll")
#elif defined(__clang__)
#define GPUSORT_UNROLL _Pragma("clang loop unroll(enable)")
#else
#define GPUSORT_UNROLL
#endif

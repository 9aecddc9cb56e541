// Macros for functions that every compiler compiles for the host, and nvcc also for the GPU (device). Only this header
// tests which compiler is running.
#pragma once

#ifdef __CUDACC__
#define GPUSORT_HD __host__ __device__
#define GPUSORT_CUDA_COMPILER 1
#else
#define GPUSORT_HD
#define GPUSORT_CUDA_COMPILER 0
#endif

/// 1 while nvcc compiles a function for the GPU (device), otherwise 0. Functions use it to choose between a C library
/// call and a loop.
#ifdef __CUDA_ARCH__
#define GPUSORT_ON_DEVICE 1
#else
#define GPUSORT_ON_DEVICE 0
#endif

// Unrolls a loop whose number of rounds is a compile-time constant. In an unrolled loop all indices of arrays are
// constants, so the compiler can keep the arrays in registers instead of local memory.
#if GPUSORT_ON_DEVICE
#define GPUSORT_UNROLL _Pragma("unroll")
#elif defined(__clang__)
#define GPUSORT_UNROLL _Pragma("clang loop unroll(enable)")
#else
#define GPUSORT_UNROLL
#endif

// Macros for functions that any compiler compiles for the host and nvcc also for the device.
// This is the only header that asks which compiler is running.
#pragma once

#ifdef __CUDACC__
#define GPUSORT_HD __host__ __device__
#define GPUSORT_CUDA_COMPILER 1
#else
#define GPUSORT_HD
#define GPUSORT_CUDA_COMPILER 0
#endif

/// 1 while device machine code is generated. Chooses between a call of the C library and a loop inside one function.
#ifdef __CUDA_ARCH__
#define GPUSORT_ON_DEVICE 1
#else
#define GPUSORT_ON_DEVICE 0
#endif

// Loops over per-thread arrays need compile-time counts and unrolling, or the arrays spill to local memory.
#if GPUSORT_ON_DEVICE
#define GPUSORT_UNROLL _Pragma("unroll")
#elif defined(__clang__)
#define GPUSORT_UNROLL _Pragma("clang loop unroll(enable)")
#else
#define GPUSORT_UNROLL
#endif

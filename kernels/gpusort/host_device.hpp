// Macros for code that runs on the host and on the GPU (device). GPUSORT_HD marks a function that nvcc compiles for
// both; other compilers compile it only for the host. Only this header tests which compiler is running.
#pragma once

#ifdef __CUDACC__
#define GPUSORT_HD __host__ __device__
#define GPUSORT_CUDA_COMPILER 1
#else
#define GPUSORT_HD
#define GPUSORT_CUDA_COMPILER 0
#endif

/// GPUSORT_ON_DEVICE is 1 in code that nvcc compiles for the GPU (device), and 0 in all other code. Functions use it,
/// for example, to call the C library on the host and to run a loop on the GPU.
#ifdef __CUDA_ARCH__
#define GPUSORT_ON_DEVICE 1
#else
#define GPUSORT_ON_DEVICE 0
#endif

// GPUSORT_UNROLL, written before a loop, makes the compiler unroll the loop. The number of iterations must be a
// compile-time constant. In the unrolled loop, all array indices are constants, so the compiler can keep the arrays in
// registers instead of memory. Compilers without such a pragma ignore the macro.
#if GPUSORT_ON_DEVICE
#define GPUSORT_UNROLL _Pragma("unroll")
#elif defined(__clang__)
#define GPUSORT_UNROLL _Pragma("clang loop unroll(enable)")
#else
#define GPUSORT_UNROLL
#endif

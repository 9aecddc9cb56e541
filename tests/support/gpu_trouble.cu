// Another program on the GPU, for tests/cli/gpu_faults.sh. It prints "ready" once it has begun, and ends after SECONDS.
// Exit status 77 means that there is no GPU. Usage:
//
//   gpu_trouble hog MIB SECONDS    takes all device memory except MIB mebibytes
//   gpu_trouble busy SECONDS       keeps every core of the GPU busy, with kernels of half a second
//   gpu_trouble illegal SECONDS    waits, and then writes to an invalid address
#include <cuda_runtime.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "gpu_trouble: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

void SayReady() {
  std::puts("ready");
  std::fflush(stdout);
}

__global__ void BusyKernel(long long cycles) {
  for (const long long start = clock64(); clock64() - start < cycles;) continue;
}

__global__ void WriteKernel(volatile int* to) { *to = 1; }

/// Allocates device memory in ever smaller pieces until none is left.
void Hog(std::size_t leave) {
  std::size_t free_bytes = 0, all = 0;
  for (std::size_t piece = std::size_t{1} << 30; piece >= std::size_t{1} << 20; piece /= 2) {
    for (;;) {
      Check(cudaMemGetInfo(&free_bytes, &all), "cudaMemGetInfo");
      void* data = nullptr;
      if (free_bytes < leave + piece || cudaMalloc(&data, piece) != cudaSuccess) break;
    }
    cudaGetLastError();
  }
  std::printf("%zu MiB are free\n", free_bytes >> 20);
}

void Busy(Clock::time_point end) {
  int cores = 0, khz = 0;
  Check(cudaDeviceGetAttribute(&cores, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
  Check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0), "cudaDeviceGetAttribute");
  bool said = false;
  while (Clock::now() < end) {
    BusyKernel<<<2 * cores, 1024>>>(500LL * khz);
    Check(cudaGetLastError(), "BusyKernel");
    if (!said) SayReady();
    said = true;
    Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  if ((what != "hog" || argc != 4) && ((what != "busy" && what != "illegal") || argc != 3)) {
    std::fputs("gpu_trouble: usage: hog MIB SECONDS, busy SECONDS or illegal SECONDS\n", stderr);
    return 2;
  }
  if (cudaFree(nullptr) != cudaSuccess) {
    std::fputs("gpu_trouble: no GPU\n", stderr);
    return 77;
  }
  const auto end = Clock::now() + std::chrono::milliseconds(static_cast<long>(1000 * std::atof(argv[argc - 1])));
  if (what == "busy") {
    Busy(end);
    return 0;
  }
  if (what == "hog") Hog(std::strtoull(argv[2], nullptr, 10) << 20);
  SayReady();
  std::this_thread::sleep_until(end);
  if (what == "illegal") {
    WriteKernel<<<1, 1>>>(nullptr);
    std::printf("it says: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  }
  return 0;
}

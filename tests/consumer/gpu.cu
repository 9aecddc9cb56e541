// Sorts in device memory with the installed headers alone. Without a GPU it only asks for the size of the workspace,
// which needs no GPU, and says so.
#include <algorithm>
#include <cstdio>
#include <gpusort/gpusort.hpp>
#include <vector>

int main() {
  std::vector<int> keys;
  for (int i = 0; i < 100000; ++i) keys.push_back(i * 7919 % 9973);
  int *in = nullptr, *out = nullptr;
  std::size_t bytes = 0;
  if (gpusort::SortKeys(nullptr, bytes, in, out, keys.size()) != cudaSuccess || bytes == 0) return 1;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("consumer_gpu: no GPU");
    return 0;
  }
  void* workspace = nullptr;
  const std::size_t list_bytes = keys.size() * sizeof(int);
  if (cudaMalloc(&in, list_bytes) != cudaSuccess || cudaMalloc(&out, list_bytes) != cudaSuccess ||
      cudaMalloc(&workspace, bytes) != cudaSuccess ||
      cudaMemcpy(in, keys.data(), list_bytes, cudaMemcpyHostToDevice) != cudaSuccess ||
      gpusort::SortKeys(workspace, bytes, in, out, keys.size()) != cudaSuccess) {
    return 1;
  }
  std::vector<int> sorted(keys.size());
  if (cudaMemcpy(sorted.data(), out, list_bytes, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  std::sort(keys.begin(), keys.end());
  std::printf("consumer_gpu: %zu keys, %s\n", sorted.size(), sorted == keys ? "in order" : "WRONG");
  cudaFree(in);
  cudaFree(out);
  cudaFree(workspace);
  return sorted == keys ? 0 : 1;
}

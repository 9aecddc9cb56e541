// Tests on a GPU: a fixture with a stream, and lists in device memory with guard bytes after their ends.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#define ASSERT_CUDA(call) ASSERT_EQ((call), cudaSuccess)
#define EXPECT_CUDA(call) EXPECT_EQ((call), cudaSuccess)

namespace gpusort::testing {

inline constexpr std::size_t kGuardBytes = 256;
inline constexpr unsigned char kGuard = 0xA5;

/// Returns true if tests must use only small sizes, for compute-sanitizer.
inline bool Reduced() { return std::getenv("GPUSORT_REDUCED") != nullptr; }

/// A test with a stream that does not wait for the default stream. Skipped on machines without a GPU.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      cudaGetLastError();
      GTEST_SKIP() << "no GPU";
    }
    ASSERT_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  void TearDown() override {
    if (stream_ != nullptr) EXPECT_CUDA(cudaStreamDestroy(stream_));
  }

  cudaStream_t stream_ = nullptr;
};

/// A list in device memory, followed by guard bytes. The destructor checks that nothing has overwritten the guard.
template <typename T>
class DeviceList {
 public:
  explicit DeviceList(std::uint64_t n) : n_(n) {
    EXPECT_CUDA(cudaMalloc(&data_, bytes() + kGuardBytes));
    EXPECT_CUDA(cudaMemset(data_, kGuard, bytes() + kGuardBytes));
  }
  explicit DeviceList(const std::vector<T>& items) : DeviceList(items.size()) {
    if (n_ > 0) EXPECT_CUDA(cudaMemcpy(data_, items.data(), bytes(), cudaMemcpyHostToDevice));
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  ~DeviceList() {
    std::vector<unsigned char> guard(kGuardBytes);
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(guard.data(), reinterpret_cast<unsigned char*>(data_) + bytes(), kGuardBytes,
                           cudaMemcpyDeviceToHost));
    EXPECT_EQ(guard, std::vector<unsigned char>(kGuardBytes, kGuard)) << "written behind the end";
    EXPECT_CUDA(cudaFree(data_));
  }
  T* data() const { return data_; }

 private:
  std::size_t bytes() const { return n_ * sizeof(T); }
  std::uint64_t n_;
  T* data_ = nullptr;
};

template <typename T>
std::vector<T> ToHost(const T* data, std::uint64_t n) {
  std::vector<T> items(n);
  if (n > 0) EXPECT_CUDA(cudaMemcpy(items.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost));
  return items;
}

}  // namespace gpusort::testing

// Finds and opens the GPUs of a job. Start at OpenGpus.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// The functions that find and open GPUs, and limits for their use. Tests replace the functions to get GPUs that fail.
struct GpuSource {
  /// With --device auto, the CPU sorts inputs smaller than this, because opening a CUDA context takes longer.
  std::uint64_t min_bytes = std::uint64_t{32} << 20;
  std::function<bool()> likely = GpuLikely;
  std::function<std::unique_ptr<Backend>(int, std::chrono::seconds)> open = OpenCudaBackend;
  bool lines = true;  ///< true if the GPU backends can sort lines
  std::function<int(std::chrono::seconds)> count = CountGpus;
  /// With --device auto, one GPU sorts inputs smaller than this, because opening other GPUs takes longer.
  std::uint64_t many_bytes = std::uint64_t{8} << 30;
};

/// Opens several GPUs at the same time: those that --gpus names, or as many as are useful for `input_bytes` of input.
/// GPUs in `lost` are not opened again. After one GPU has hung, no other GPU is opened. If --gpus names the GPUs and
/// `lost` is empty, any failure is an error. Otherwise a GPU that fails or has little memory is left out, and `note` is
/// called on this thread. Throws the first failure if no GPU is left.
std::unique_ptr<Backend> OpenGpus(const GpuSource& gpus, const Limits& limits, std::uint64_t input_bytes,
                                  const std::vector<int>& lost, const std::function<void(const std::string&)>& note);

}  // namespace gpusort

// The GPUs of a job: where their backends come from, and which of them are opened. Start at OpenGpus.
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

/// The functions that find and open GPUs. The seam through which tests put backends that fail.
struct GpuSource {
  /// With --device auto, smaller inputs go to the CPU: they are sorted before a CUDA context is up.
  std::uint64_t min_bytes = std::uint64_t{32} << 20;
  std::function<bool()> likely = GpuLikely;
  std::function<std::unique_ptr<Backend>(int, std::chrono::seconds)> open = OpenCudaBackend;
  bool lines = true;  ///< whether those backends take delimited records
  std::function<int(std::chrono::seconds)> count = CountGpus;
  /// With --device auto, smaller inputs go to a single GPU: another context takes a third of a second to open, and one
  /// GPU sorts 4 GB in that time.
  std::uint64_t many_bytes = std::uint64_t{8} << 30;
};

/// Opens the GPUs that --gpus names, or those that pay for `input_bytes` of input, all at once. GPUs in `lost` are not
/// opened again. A GPU that was not named, or that replaces a lost one, is left out if it is of no use; `note` says so,
/// on this thread. Throws the error of the first GPU if no GPU is left, or if a named one fails. Opens no further GPU
/// after one has hung.
std::unique_ptr<Backend> OpenGpus(const GpuSource& gpus, const Limits& limits, std::uint64_t input_bytes,
                                  const std::vector<int>& lost, const std::function<void(const std::string&)>& note);

}  // namespace gpusort

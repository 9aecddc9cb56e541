// Finds and opens the GPUs that a job uses. Start at OpenGpus.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kernels/backend.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// The functions that find and open GPUs, and limits for their use. Tests replace the functions to get GPUs that fail.
struct GpuSource {
  /// With --device auto, inputs smaller than this number of bytes are sorted on the CPU. The CPU sorts them in less
  /// time than it takes to open a CUDA context.
  std::uint64_t min_bytes = std::uint64_t{32} << 20;
  std::function<bool()> likely = GpuLikely;
  std::function<std::unique_ptr<Backend>(int, std::chrono::seconds)> open = OpenCudaBackend;
  bool lines = true;  ///< true: the GPU backends can sort lines
  std::function<int(std::chrono::seconds)> count = CountGpus;
  std::function<unsigned()> present = PresentGpus;
  /// Inputs of at least this number of bytes are sorted faster by several GPUs than by one, although opening several
  /// GPUs takes longer. data/bench/NOTES.md has the times.
  std::uint64_t many_bytes = std::uint64_t{48} << 30;
};

/// Returns the number of GPUs that sort an input of `bytes` bytes fastest: one, or all of the `present` GPUs.
/// `gpu_memory` is the limit on the memory of each GPU in bytes; 0: the limit is not known, but large. `many_bytes` is
/// the size of the smallest input that several GPUs sort faster than one GPU. This is a pure function.
unsigned UsefulGpus(std::uint64_t bytes, std::uint64_t gpu_memory, unsigned present, std::uint64_t many_bytes);

/// Returns the number of GPUs that a job should use: the number that --device names, or as many as are useful. `bytes`
/// is the size of the input files, or 0 for a stream, which one GPU sorts. Does not open the driver of a GPU.
unsigned WantedGpus(const GpuSource& gpus, const Limits& limits, std::uint64_t bytes);

/// Opens several GPUs at the same time, and returns them as one backend.
/// - If --device names GPUs, opens these GPUs. If a GPU fails, throws its error.
/// - Otherwise opens the first `number` GPUs. Leaves out each GPU that fails or has little memory, and calls `note`
///   with the reason on the calling thread. If no GPU is left, throws the first error.
/// - In both cases, throws the error of a GPU that hangs.
std::unique_ptr<Backend> OpenGpus(const GpuSource& gpus, const Limits& limits, unsigned number,
                                  const std::function<void(const std::string&)>& note);

}  // namespace gpusort

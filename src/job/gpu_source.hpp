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
  /// With --device auto, this number of threads or more merge the inputs of -m on the CPU. They take less time than a
  /// GPU, because a GPU has to be opened, and each record crosses the bus twice. data/bench/NOTES.md has the times.
  unsigned merging_threads = 5;
};

/// Returns the number of GPUs that sort an input of `bytes` bytes fastest: 1 or `present`.
/// - `gpu_memory`: the memory limit of each GPU in bytes; 0: no limit
/// - `present`: the number of GPUs of the machine
/// - `many_bytes`: inputs of this size or larger are sorted by all GPUs
unsigned UsefulGpus(std::uint64_t bytes, std::uint64_t gpu_memory, unsigned present, std::uint64_t many_bytes);

/// Returns the number of GPUs for a job: the GPUs of --device, or as many as are useful. Opens no GPU.
/// - `bytes`: the size of the input files; 0: the input is a stream
unsigned WantedGpus(const GpuSource& gpus, const Limits& limits, std::uint64_t bytes);

/// Opens several GPUs at the same time, and returns them as one backend.
/// - If --device names GPUs: opens these GPUs. Throws the error of a GPU that fails.
/// - Otherwise: opens the first `number` GPUs, without GPUs that fail or have little memory. Throws if none is left.
/// - Throws the error of a GPU that hangs.
/// - `note`: called on this thread with the reason for each GPU that is left out
std::unique_ptr<Backend> OpenGpus(const GpuSource& gpus, const Limits& limits, unsigned number,
                                  const std::function<void(const std::string&)>& note);

}  // namespace gpusort

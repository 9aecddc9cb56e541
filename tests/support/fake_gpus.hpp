// Runs jobs on fake GPUs. Start at FakeGpus.
#pragma once

#include <chrono>
#include <limits>
#include <memory>

#include "fake_gpu.hpp"
#include "job/sort_job.hpp"

namespace gpusort::testing {

/// Returns a source of fake GPUs that behave as `plan` says. A job uses these GPUs even for the smallest input, and
/// for -m with any number of threads. `plan` must outlive the GPUs.
inline GpuSource FakeGpus(FakeGpuPlan& plan) {
  return {.min_bytes = 0,
          .likely = [] { return true; },
          .open = [&plan](int gpu, std::chrono::seconds) -> std::unique_ptr<Backend> {
            return std::make_unique<FakeGpu>(plan, gpu);
          },
          .count = [&plan](std::chrono::seconds) { return plan.gpus; },
          .present = [&plan] { return static_cast<unsigned>(plan.gpus); },
          .many_bytes = 0,
          .merging_threads = std::numeric_limits<unsigned>::max()};
}

}  // namespace gpusort::testing

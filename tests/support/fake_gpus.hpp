// Jobs whose GPUs are fake ones. Start at FakeGpus.
#pragma once

#include <chrono>
#include <memory>

#include "fake_gpu.hpp"
#include "job/external_sort.hpp"

namespace gpusort::testing {

/// The GPUs are fake ones of `plan`, which must outlive them; no input is too small for one.
inline GpuSource FakeGpus(FakeGpuPlan& plan) {
  return {.min_bytes = 0,
          .likely = [] { return true; },
          .open = [&plan](int gpu, std::chrono::seconds) -> std::unique_ptr<Backend> {
            return std::make_unique<FakeGpu>(plan, gpu);
          },
          .count = [&plan](std::chrono::seconds) { return plan.gpus; }};
}

}  // namespace gpusort::testing

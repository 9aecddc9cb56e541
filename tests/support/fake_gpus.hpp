// Jobs whose GPUs are fake ones. Start at FakeGpus.
#pragma once

#include <chrono>
#include <memory>

#include "fake_gpu.hpp"
#include "job/external_sort.hpp"

namespace gpusort::testing {

/// Every GPU is a fake one of `plan`, which must outlive them; no input is too small for it.
inline GpuSource FakeGpus(FakeGpuPlan& plan) {
  return {0, [] { return true; },
          [&plan](int, std::chrono::seconds) -> std::unique_ptr<Backend> { return std::make_unique<FakeGpu>(plan); }};
}

}  // namespace gpusort::testing

// A replacement for gpusort_cuda.so, to be named in GPUSORT_CUDA_MODULE. It has STAND_IN_GPUS fake GPUs (FakeGpu). The
// variable STAND_IN selects a defect: "version" (another version), "open" (no GPU), "lost" (at the tenth call), "one
// lost" (GPU 1, once all are open), "oom" (always).
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "fake_gpu.hpp"
#include "kernels/backend_module.hpp"
#include "kernels/error.hpp"
#include "version.hpp"

namespace gpusort::testing {
namespace {

std::string_view Wrong() {
  const char* const text = std::getenv("STAND_IN");
  return text != nullptr ? text : "";
}

int Gpus() {
  const char* const text = std::getenv("STAND_IN_GPUS");
  return text != nullptr ? std::atoi(text) : 1;
}

std::unique_ptr<Backend> Open(int device, std::chrono::seconds, StuckDriverHandler) {
  static FakeGpuPlan plan;
  if (Wrong() == "open") throw Error(ErrorCode::kGpuLost, "there is no GPU " + std::to_string(device) + ": found 0");
  plan.gpus = Gpus();
  if (Wrong() == "lost") plan.fail_at = 10;
  if (Wrong() == "one lost") plan.fail_at = plan.gpus, plan.fails = 1;
  if (Wrong() == "oom") throw std::bad_alloc();
  return std::make_unique<FakeGpu>(plan, device);
}

}  // namespace
}  // namespace gpusort::testing

const gpusort::CudaModule* gpusort_cuda_module() {
  using namespace gpusort;
  static const CudaModule module{testing::Wrong() == "version" ? "0.0.9+12345678" : GPUSORT_MODULE_VERSION,
                                 testing::Open, [](std::chrono::seconds) { return testing::Gpus(); },
                                 [] { return false; }};
  return &module;
}

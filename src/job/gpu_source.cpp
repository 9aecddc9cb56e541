#include "job/gpu_source.hpp"

#include <algorithm>
#include <exception>
#include <future>
#include <numeric>
#include <utility>

#include "base/text.hpp"
#include "kernels/backend.hpp"
#include "kernels/error.hpp"
#include "kernels/thread.hpp"

namespace gpusort {

unsigned UsefulGpus(std::uint64_t bytes, std::uint64_t gpu_memory, unsigned present, std::uint64_t many_bytes) {
  // Records that do not fit into the memory of one GPU cross the bus twice more. A quarter of the memory is for lanes.
  const bool fits = gpu_memory == 0 || bytes <= gpu_memory / 4 * 3;
  return fits && bytes < many_bytes ? 1 : std::max(1u, present);
}

unsigned WantedGpus(const GpuSource& gpus, const Limits& limits, std::uint64_t bytes) {
  if (!limits.gpus.empty()) return static_cast<unsigned>(limits.gpus.size());
  // Without a limit in bytes, the memory of a GPU is unknown before it is opened.
  const std::uint64_t memory = limits.gpu_memory && !limits.gpu_memory->percent ? limits.gpu_memory->value : 0;
  // The size of a stream is 0, so one GPU sorts it.
  return UsefulGpus(bytes, memory, gpus.present(), gpus.many_bytes);
}

std::unique_ptr<Backend> OpenGpus(const GpuSource& gpus, const Limits& limits, unsigned number,
                                  const std::function<void(const std::string&)>& note) {
  std::vector<int> wanted = limits.gpus;
  const bool named = !wanted.empty();
  if (!named) {
    // The driver may show fewer GPUs to this process than the machine has.
    wanted.resize(number == 1 ? 1 : std::clamp<std::size_t>(gpus.count(limits.gpu_timeout), 1, number));
    std::iota(wanted.begin(), wanted.end(), 0);
  }
  std::vector<std::unique_ptr<Backend>> opened(wanted.size());
  std::vector<std::future<void>> opening;
  for (std::size_t i = 1; i < wanted.size(); ++i) {
    opening.push_back(RunBeside([&, i] { opened[i] = gpus.open(wanted[i], limits.gpu_timeout); }));
  }
  std::exception_ptr first_error;
  std::vector<std::string> left_out;
  const auto leave_out = [&](int gpu, const std::string& why) {
    left_out.push_back("GPU " + std::to_string(gpu) + " is left out: " + why);
  };
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    try {
      i == 0 ? void(opened[0] = gpus.open(wanted[0], limits.gpu_timeout)) : opening[i - 1].get();
    } catch (const GpuLost& error) {
      if (!first_error) first_error = std::current_exception();
      leave_out(wanted[i], error.what());
    }
  }
  const auto is_none = [](const std::unique_ptr<Backend>& gpu) { return gpu == nullptr; };
  if (first_error && (named || std::ranges::all_of(opened, is_none))) std::rethrow_exception(first_error);
  std::erase_if(opened, is_none);
  // Every GPU gets the same share of the work, so a GPU with little free memory would make all shares small.
  std::uint64_t most = 0;
  for (const auto& gpu : opened) most = std::max(most, gpu->limits().device_bytes);
  std::erase_if(opened, [&](const std::unique_ptr<Backend>& gpu) {
    const BackendLimits& found = gpu->limits();
    if (named || found.device_bytes >= most / 4) return false;
    leave_out(found.device,
              FormatBytes(found.device_bytes) + " of its memory are free, of another's " + FormatBytes(most));
    return true;
  });
  for (const std::string& text : left_out) note(text);
  return GroupGpus(std::move(opened));
}

}  // namespace gpusort

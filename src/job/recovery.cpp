#include "job/recovery.hpp"

#include <utility>

#include "data/inputs.hpp"
#include "support/text.hpp"

namespace gpusort {

std::optional<Recovery> Recover(const Error& error, const PlanFacts& facts, unsigned smaller, bool only_gpu) {
  const bool refused = error.code() == ErrorCode::kOutOfMemory;
  PlanFacts next = facts;
  if (!facts.gpu) {
    // Heads of inputs with long lines may not fit in memory side by side.
    if (!refused || facts.sorted_inputs.empty() || facts.layout.fixed()) return std::nullopt;
    next.sorted_inputs.clear();
    next.temp_places = 0;
    return Recovery{Recovery::Way::kSort, std::move(next),
                    std::string("merging all inputs at once was refused memory: ") + error.what() +
                        "; sorting them instead, once they are checked"};
  }
  // Gaps between kept runs can make more runs than there would be slots for: what is left over spills.
  next.spilled = true;
  if (refused && smaller < kSmallerPlans) {
    next.device_memory /= 2;
    std::string note = std::string("memory was refused: ") + error.what() + "; trying again with " +
                       FormatBytes(next.device_memory) + " of the GPU's";
    return Recovery{Recovery::Way::kSmaller, std::move(next), std::move(note)};
  }
  // Slots on a GPU do not grow.
  const bool too_long = facts.grows && dynamic_cast<const LineTooLong*>(&error) != nullptr;
  if (only_gpu || !(refused || too_long || error.code() == ErrorCode::kGpuLost)) return std::nullopt;
  next.gpu = false;
  return Recovery{Recovery::Way::kCpu, std::move(next),
                  std::string("the GPU failed: ") + error.what() + "; going on with the CPU"};
}

}  // namespace gpusort

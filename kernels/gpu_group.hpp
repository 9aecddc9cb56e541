// Combines several GPUs into one backend. Each GPU has an equal share of the arena, and OpenLane takes the GPUs in
// turn. A lane can merge pieces in the memory of any GPU of the group. The member `device` of a piece or a slot names
// its GPU. Start at GroupGpus.
#pragma once

#include <memory>
#include <vector>

#include "kernels/backend.hpp"

namespace gpusort {

/// Returns one backend that works on all `gpus`, in this order. Returns a single GPU unchanged. Enables direct copies
/// between the GPUs if the machine allows them.
std::unique_ptr<Backend> GroupGpus(std::vector<std::unique_ptr<Backend>> gpus);

}  // namespace gpusort

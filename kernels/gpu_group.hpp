// Several GPUs as one backend. Lanes are dealt to the GPUs in turn, and each GPU has an equal share of the arena. A
// lane merges pieces that lie in the memory of any GPU of the group. `device` names the GPU that holds a piece or a
// slot. Start at GroupGpus.
#pragma once

#include <memory>
#include <vector>

#include "backend.hpp"

namespace gpusort {

/// Returns one backend of all `gpus`, in this order. A single GPU is returned unchanged. From now on each GPU copies
/// from the memory of the others directly, where the machine allows it.
std::unique_ptr<Backend> GroupGpus(std::vector<std::unique_ptr<Backend>> gpus);

}  // namespace gpusort

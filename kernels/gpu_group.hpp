// Several GPUs as one backend: lanes are dealt in turn, each GPU has an equal share of the arena, and a lane merges
// pieces in the memory of any of them. Which GPU something is in says its `device`. Start at GroupGpus.
#pragma once

#include <memory>
#include <vector>

#include "backend.hpp"

namespace gpusort {

/// One backend of all of them, in this order; of one, that. They reach into one another's memory from then on.
std::unique_ptr<Backend> GroupGpus(std::vector<std::unique_ptr<Backend>> gpus);

}  // namespace gpusort

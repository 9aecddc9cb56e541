// Calls of a GPU's driver that do not come back. The thread that makes one cannot be ended, so the job cannot either:
// somebody must end the process. Start at OnStuckDriver.
#pragma once

#include <string>

namespace gpusort {

/// Called on another thread, with what is to be said; does not return.
using StuckDriverHandler = void (*)(const std::string& why);
/// Before a backend is opened. Without a handler such a job waits.
void OnStuckDriver(StuckDriverHandler handler);

}  // namespace gpusort

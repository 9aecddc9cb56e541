// Handles calls into a GPU's driver that do not return. The thread that makes such a call cannot be ended, so the job
// cannot end by itself. The handler must end the process. Start at OnStuckDriver.
#pragma once

#include <string>

namespace gpusort {

/// Called on another thread with the message for the user. Must end the process, and not return.
using StuckDriverHandler = void (*)(const std::string& why);
/// Sets the handler. Call this before a backend is opened. Without a handler, a job whose driver is stuck waits for
/// ever.
void OnStuckDriver(StuckDriverHandler handler);

}  // namespace gpusort

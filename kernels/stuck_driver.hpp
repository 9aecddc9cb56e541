// Handles calls into a GPU driver that never return. The thread of such a call cannot be ended, so the job cannot end
// by itself, and the handler must end the process. Start at OnStuckDriver.
#pragma once

#include <string>

namespace gpusort {

/// A function that ends the process and does not return. Called on another thread, with the message for the user.
using StuckDriverHandler = void (*)(const std::string& why);
/// Sets the handler. Call this before a backend is opened. Without a handler, a job with a stuck driver never ends.
void OnStuckDriver(StuckDriverHandler handler);

}  // namespace gpusort

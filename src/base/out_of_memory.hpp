// The end of a process that is refused memory where nothing can be caught: in a destructor, or while such an error is
// being handled. It says its one line and ends by the documented exit code all the same, and takes no memory for that.
// Start at EndWhenOutOfMemory.
#pragma once

namespace gpusort {

/// From now on that ends the process by `exit_code`, with `front` before the text, and not by abort. Call it once.
void EndWhenOutOfMemory(const char* front, const char* text, int exit_code) noexcept;
/// What is said from now on: what a user must know of the output, say. A literal.
void SetOutOfMemoryText(const char* text) noexcept;
const char* OutOfMemoryText() noexcept;

}  // namespace gpusort

// Ends the process if memory is refused where the error cannot be caught: in a destructor (nlohmann's JSON allocates in
// its own), or while such an error is handled. `main` catches std::bad_alloc everywhere else. Start at
// EndWhenOutOfMemory.
#pragma once

namespace gpusort {

/// Installs a terminate handler that prints `front` and the text and ends the process with `exit_code`, without memory.
/// All arguments are literals. Call this once.
void EndWhenOutOfMemory(const char* front, const char* text, int exit_code) noexcept;
/// Replaces the text by a literal, for example once the output is in place.
void SetOutOfMemoryText(const char* text) noexcept;
const char* OutOfMemoryText() noexcept;

}  // namespace gpusort

// Ends the process with a message if std::bad_alloc is thrown where `main` cannot catch it: in a destructor, or while
// another std::bad_alloc is handled. (The destructor of nlohmann's JSON allocates memory.)
#pragma once

namespace gpusort {

/// Installs a terminate handler for std::bad_alloc. The handler allocates no memory, prints `front` and `text`, and
/// ends the process with `exit_code`. The strings must be literals. Call this once.
void EndWhenOutOfMemory(const char* front, const char* text, int exit_code) noexcept;
/// Replaces `text` of the terminate handler by another literal, for example once the output is in place.
void SetOutOfMemoryText(const char* text) noexcept;
const char* OutOfMemoryText() noexcept;

}  // namespace gpusort

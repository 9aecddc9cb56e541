// Ends the process with a message if std::bad_alloc is thrown where `main` cannot catch it: in a destructor, or while
// another std::bad_alloc is handled. For example, the destructor of a JSON value (nlohmann) allocates memory.
#pragma once

namespace gpusort {

/// Installs a handler that runs if std::bad_alloc ends the process. The handler allocates no memory, prints `front` and
/// `text`, and ends the process with `exit_code`. The strings must be literals. Call this once.
void EndWhenOutOfMemory(const char* front, const char* text, int exit_code) noexcept;
/// Replaces the `text` that was passed to EndWhenOutOfMemory(), for example when the output is complete. The new text
/// must be a literal, too.
void SetOutOfMemoryText(const char* text) noexcept;
const char* OutOfMemoryText() noexcept;

/// Makes this thread the one that says why the process fails. If the handler above runs on another thread already,
/// waits for it to end the process. Otherwise two threads could write their messages at the same time.
void BeginLastWords() noexcept;
/// Call this after BeginLastWords() and the message. If the handler runs later, it ends the process with `exit_code`
/// and prints nothing.
void EndLastWords(int exit_code) noexcept;

}  // namespace gpusort

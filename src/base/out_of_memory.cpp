#include "base/out_of_memory.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>

#include "base/log.hpp"
#include "base/report_file.hpp"
#include "io/output_file.hpp"

namespace gpusort {
namespace {

// Global, because a terminate handler has no arguments.
std::atomic<const char*> line_front{""}, line_text{""};
std::atomic<int> exit_code{0};
std::terminate_handler usual_end = nullptr;

std::atomic<pid_t> speaker{0};  ///< the thread that says why the process fails; 0: none yet
std::atomic<bool> said{false};

/// Makes this thread the speaker. Returns false if another thread is.
bool BecomeSpeaker() noexcept {
  pid_t none = 0;
  const pid_t self = ::gettid();
  return speaker.compare_exchange_strong(none, self) || none == self;
}

/// True if `new` has failed in this thread, also if the failure was handled.
thread_local bool new_failed = false;

/// `new` calls this function when there is no memory.
[[noreturn]] void OnNewFailed() {
  new_failed = true;
  throw std::bad_alloc();
}

/// Returns true if std::bad_alloc ends the process. GCC before 13 ends it with an exception that is thrown but not
/// current, if a noexcept function has objects to destroy. An example is the noexcept function of libstdc++ by which
/// std::filesystem::directory_iterator advances.
bool EndsByBadAlloc() noexcept {
  if (new_failed && std::uncaught_exceptions() > 0) return true;
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
  }
  return false;
}

[[noreturn]] void OnTerminate() {
  if (EndsByBadAlloc()) {
    const bool speaks = BecomeSpeaker();
    while (!speaks && !said) ::usleep(1000);
    if (said) _exit(exit_code);
    RemoveHiddenOutput();
    if (CurrentLogFormat() == LogFormat::kJson) {
      SayFailed(0, exit_code, line_text);
    } else {
      for (const char* part : {line_front.load(), line_text.load(), "\n"}) WriteReport(STDERR_FILENO, part);
    }
    _exit(exit_code);
  }
  usual_end();
  std::abort();
}

}  // namespace

void EndWhenOutOfMemory(const char* front, const char* text, int code) noexcept {
  line_front = front;
  line_text = text;
  exit_code = code;
  usual_end = std::set_terminate(OnTerminate);
  std::set_new_handler(OnNewFailed);
}

void SetOutOfMemoryText(const char* text) noexcept { line_text = text; }
const char* OutOfMemoryText() noexcept { return line_text; }

void BeginLastWords() noexcept {
  while (!BecomeSpeaker()) ::pause();
}

void EndLastWords(int code) noexcept {
  exit_code = code;
  said = true;
}

}  // namespace gpusort

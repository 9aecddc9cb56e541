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

[[noreturn]] void OnTerminate() {
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    RemoveHiddenOutput();
    if (CurrentLogFormat() == LogFormat::kJson) {
      SayFailed(0, exit_code, line_text);
    } else {
      for (const char* part : {line_front.load(), line_text.load(), "\n"}) WriteReport(STDERR_FILENO, part);
    }
    _exit(exit_code);
  } catch (...) {
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
}

void SetOutOfMemoryText(const char* text) noexcept { line_text = text; }
const char* OutOfMemoryText() noexcept { return line_text; }

}  // namespace gpusort

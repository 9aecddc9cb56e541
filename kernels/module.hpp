// Shared objects that the program loads when it needs them: the CUDA backend and the codecs. A module exports one
// function, which returns a struct of functions. The first member of the struct is the module's version, a
// `const char*`. A module stays loaded. Start at Module.
#pragma once

#include <string>
#include <vector>

#include "kernels/error.hpp"

namespace gpusort {

/// A module that may be on this machine.
class Module {
 public:
  struct Description {
    std::string name;                ///< for messages: "CUDA module"
    std::string file;                ///< "gpusort_cuda.so"
    std::string entry;               ///< the exported function
    const char* version;             ///< the version that this program needs
    ErrorCode error;                 ///< the code of errors
    std::string advice;              ///< the end of messages about a module that is missing or cannot be loaded
    const char* variable = nullptr;  ///< an environment variable that names another file, for tests
  };
  explicit Module(Description description) : about_(std::move(description)) {}

  /// Returns the path of the module, or an empty string if there is none. If a place cannot be looked at, sets `error`,
  /// if it is given, to the errno.
  std::string Find(int* error = nullptr) const;
  /// Returns a message that lists the places where the module is not. `error`: an errno that Find has set, or 0.
  std::string WhyMissing(int error = 0) const;
  /// Loads the module and returns the struct of its functions, whose version is the one that was described. Throws
  /// Error with the reason. A second call returns the same pointer. Any thread may call this.
  const void* Load() const;

 private:
  std::vector<std::string> Places(int* error = nullptr) const;
  [[noreturn]] void Fail(const std::string& why) const { throw Error(about_.error, why); }

  const Description about_;
};

}  // namespace gpusort

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

  /// Returns the path of the module. If there is none, returns an empty string and sets `why`, if it is given. `why` is
  /// a message with all places, and with the errno text if a place could not be looked at.
  std::string Find(std::string* why = nullptr) const;
  /// Loads the module and returns the struct of its functions, whose version is the one that was described. Throws
  /// Error with the reason. A second call returns the same pointer. Any thread may call this.
  const void* Load() const;

 private:
  /// Sets `error` to the errno if the place of the program cannot be found.
  std::vector<std::string> Places(int& error) const;
  [[noreturn]] void Fail(const std::string& why) const { throw Error(about_.error, why); }

  const Description about_;
};

}  // namespace gpusort

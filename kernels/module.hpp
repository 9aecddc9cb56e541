// Shared libraries that the program loads only when needed (modules): the CUDA backend and the codecs. A module exports
// one function, which returns a struct of function pointers. The first member of the struct is the module's version, a
// `const char*`. A loaded module stays loaded. Start at Module.
#pragma once

#include <string>
#include <vector>

#include "kernels/error.hpp"

namespace gpusort {

/// A shared library that the program loads when needed. The library may be missing on this machine.
class Module {
 public:
  struct Description {
    std::string name;                ///< for messages: "CUDA module"
    std::string file;                ///< the name of the file: "gpusort_cuda.so"
    std::string entry;               ///< the name of the exported function
    const char* version;             ///< the version that this program needs
    ErrorCode error;                 ///< the code of the errors that Load throws
    std::string advice;              ///< the last part of the message about a module that is missing or does not load
    const char* variable = nullptr;  ///< tests set this environment variable to another path of the module
  };
  explicit Module(Description description) : about_(std::move(description)) {}

  /// Returns the path of the module (the shared library). If its file is missing, returns an empty string and, unless
  /// `why` is null, sets `why` to a message. The message lists the searched paths, and the error if a path could not be
  /// read.
  std::string Find(std::string* why = nullptr) const;
  /// Loads the module and returns the struct of its function pointers. Throws Error with the reason, for example that
  /// the version differs. A second call returns the same pointer. Thread-safe.
  const void* Load() const;

 private:
  /// Returns the paths where the module (the shared library) may be. Sets `error` to the errno if the folder of the
  /// program cannot be found.
  std::vector<std::string> SearchPaths(int& error) const;
  [[noreturn]] void Fail(const std::string& why) const { throw Error(about_.error, why); }

  const Description about_;
};

}  // namespace gpusort

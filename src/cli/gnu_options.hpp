// Parses the command line if the program runs under the name `sort`, with the options and messages of GNU sort. Opens
// no file. Throws GnuUsageError if the command line has a mistake. Start at ParseGnuOptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/error.hpp"
#include "spec/typed_keys.hpp"

namespace gpusort {

/// A mistake on the command line of `sort`. An empty what() means that getopt has already printed a message.
class GnuUsageError : public Error {
 public:
  GnuUsageError(const std::string& message, bool try_help, int exit_code = 2)
      : Error(ErrorCode::kUsage, message), try_help_(try_help), exit_code_(exit_code) {}
  /// Returns true if the line "Try 'sort --help' for more information." must follow the error message.
  bool try_help() const { return try_help_; }
  int exit_code() const { return exit_code_; }

 private:
  bool try_help_;
  int exit_code_;
};

struct GnuOptions {
  enum class Action { kSort, kMerge, kHelp, kVersion };
  Action action = Action::kSort;
  char check = 0;  ///< 'c' or 'C', the letter of the option; 0: neither option is given
  std::vector<std::string> inputs;
  std::string files0_from;  ///< the file that contains the names of the inputs; empty: not given
  std::optional<std::string> output;

  std::vector<KeyDef> keys;  ///< the keys as typed, without the letters that they inherit from `ordering`
  KeyOptions ordering;       ///< the options such as -n and -r that belong to no key
  int separator = -1;
  bool stable = false;
  bool unique = false;
  bool zero_terminated = false;
  bool debug = false;

  std::uint64_t memory_bytes = 0;  ///< 0: the option is not given
  unsigned threads = 0;            ///< 0: the option is not given
  unsigned batch_size = 0;         ///< 0: the option is not given
  std::vector<std::string> temp_dirs;
  std::string compress_program;
  std::string random_source;
};

/// Parses a command line. Throws GnuUsageError. Messages that getopt prints begin with argv[0].
GnuOptions ParseGnuOptions(int argc, char** argv);

std::string GnuHelpText();
std::string GnuVersionText();

/// Returns true if the environment variable _POSIX2_VERSION allows sort keys in the old form of GNU sort (+1 -2).
/// `has_end` is true if the key has an end, such as -2.
bool TakesObsolescentKey(bool has_end);

}  // namespace gpusort

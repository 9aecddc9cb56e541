// The command line of the program under the name `sort`: GNU sort's options and messages. Parsing touches no file.
// Mistakes are GnuUsageError in GNU sort's words, without "sort: ". getopt prints its own messages. Start at
// ParseGnuOptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/key_def.hpp"
#include "kernels/error.hpp"

namespace gpusort {

/// A mistake on the command line.
class GnuUsageError : public Error {
 public:
  GnuUsageError(const std::string& message, bool try_help, int exit_code = 2)
      : Error(ErrorCode::kUsage, message), try_help_(try_help), exit_code_(exit_code) {}
  /// True if "Try 'sort --help' for more information." must follow. If the message is empty, getopt has printed a
  /// message.
  bool try_help() const { return try_help_; }
  int exit_code() const { return exit_code_; }

 private:
  bool try_help_;
  int exit_code_;
};

struct GnuOptions {
  enum class Action { kSort, kMerge, kHelp, kVersion };
  Action action = Action::kSort;
  char check = 0;  ///< 'c' or 'C'
  std::vector<std::string> inputs;
  std::string files0_from;  ///< empty: none
  std::optional<std::string> output;

  std::vector<KeyDef> keys;  ///< as typed
  KeyOptions ordering;       ///< of the command line
  int separator = -1;
  bool stable = false;
  bool unique = false;
  bool zero_terminated = false;
  bool debug = false;

  std::uint64_t memory_bytes = 0;  ///< 0: not given
  unsigned threads = 0;            ///< 0: not given
  unsigned batch_size = 0;         ///< 0: not given
  std::vector<std::string> temp_dirs;
  std::string compress_program;
  std::string random_source;
};

/// Throws GnuUsageError. getopt's messages begin with argv[0].
GnuOptions ParseGnuOptions(int argc, char** argv);

std::string GnuHelpText();
std::string GnuVersionText();

/// Returns true if an operand +F may be a key in the version of POSIX that _POSIX2_VERSION names. `has_end`: -F
/// follows.
bool TakesObsolescentKey(bool has_end);

}  // namespace gpusort

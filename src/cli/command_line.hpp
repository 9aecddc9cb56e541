// Reads a command line into options and names. Does not judge it: half a line, as completion has it, is read as well.
// Start at ReadCommandLine.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_table.hpp"

namespace gpusort {

/// An option or a name of a command line.
struct Argument {
  bool option = false;
  const OptionRow* row = nullptr;      ///< null for a name, and for an option that FindRow does not know
  std::string text{};                  ///< the name, or the word with the option: "--memory=1G", "-ruS"
  std::optional<std::string> value{};  ///< of an option: the rest of its word, or the next word
  bool after_options = false;          ///< a name that follows "--"
  std::size_t begin = 0, end = 0;      ///< the argument is in the words [begin, end); joined letters share a word
};

/// Returns the option that "--memory" or "-S" names, or null.
using FindRow = std::function<const OptionRow*(std::string_view name)>;

/// Reads `words`, without the name of the program. An option takes the next word as its value only if it has an
/// argument and no value in its own word. A key written as +F.C -F.C becomes --key with a value that IsObsolescent
/// knows.
std::vector<Argument> ReadCommandLine(std::span<const std::string> words, const FindRow& find = FindOption);

/// Returns the words of a command line without the name of the program.
std::vector<std::string> WordsOf(int argc, const char* const* argv);

/// Whether the value of --key was written as +F.C -F.C. The value is then that text after a NUL byte.
bool IsObsolescent(const std::string& key);
/// The key as typed, escaped for a message.
std::string KeyText(const std::string& key);

/// A command line, divided into options with their values and into names.
struct SplitArguments {
  std::vector<std::string> options, names;
};
SplitArguments SplitOptions(std::span<const std::string> words);

/// Whether --log-format json is among the options, also of a command line that ParseOptions refuses.
bool AsksForJsonLog(std::span<const std::string> words);

}  // namespace gpusort

// Divides the words of a command line into options and file names, for parsing and for the completion in a shell.
// Reports no mistakes, because completion reads command lines that are not finished. Start at ReadCommandLine.
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

/// A part of a command line: an option with its value, or the name of a file.
struct Argument {
  bool option = false;
  const OptionRow* row = nullptr;      ///< the option; null for a file name and for an unknown option
  std::string text{};                  ///< the file name, or the word that contains the option: "--memory=1G", "-ruS"
  std::optional<std::string> value{};  ///< the option's value: the rest of the option's word, or the next word
  bool after_options = false;          ///< true for a file name that follows "--"
  /// The argument stands in words[begin] to words[end - 1]. Several options may share one word, as in -ru.
  std::size_t begin = 0, end = 0;
};

/// A function that finds an option by a name such as "--memory" or "-S". Returns null if there is no such option.
using FindRow = std::function<const OptionRow*(std::string_view name)>;

/// Divides `words`, a command line without the name of the program, into options and file names. If an option needs a
/// value and its word contains none, the next word is the value. A sort key in the old form of GNU sort, +1 -2, becomes
/// an option -k (see IsObsolescent).
std::vector<Argument> ReadCommandLine(std::span<const std::string> words, const FindRow& find = FindOption);

/// Returns the words of a command line without the name of the program.
std::vector<std::string> WordsOf(int argc, const char* const* argv);

/// Returns true if the sort key `key` was typed in the old form of GNU sort, +1 -2. ReadCommandLine() stores such a key
/// as a NUL byte and the typed text. A key of the option -k cannot begin with a NUL byte, so the two forms cannot be
/// confused.
bool IsObsolescent(const std::string& key);
/// Returns the sort key `key` as the user typed it, escaped for a message.
std::string KeyText(const std::string& key);

/// The words of a command line, divided into options with their values, and file names.
struct SplitArguments {
  std::vector<std::string> options, names;
};
SplitArguments SplitOptions(std::span<const std::string> words);

/// Returns true if --log-format json is among `words`, even if the command line has mistakes. Messages about these
/// mistakes are then written as JSON, too.
bool AsksForJsonLog(std::span<const std::string> words);

}  // namespace gpusort

// Divides the words of a command line into options and names, for parsing and for completion. Reports no mistakes, so
// that a half-typed command line can be read, too. Start at ReadCommandLine.
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

/// A part of a command line: an option with its value, or a name.
struct Argument {
  bool option = false;
  const OptionRow* row = nullptr;      ///< the option; null for a name and for an unknown option
  std::string text{};                  ///< the name, or the word that contains the option: "--memory=1G", "-ruS"
  std::optional<std::string> value{};  ///< the option's value: the rest of the option's word, or the next word
  bool after_options = false;          ///< true for a name that follows "--"
  /// The argument is in words[begin] to words[end - 1]; several options may share a word.
  std::size_t begin = 0, end = 0;
};

/// A function that returns the option with a name such as "--memory" or "-S", or null.
using FindRow = std::function<const OptionRow*(std::string_view name)>;

/// Divides `words`, a command line without the name of the program. If an option needs a value and its word has none,
/// the next word is the value. A key in the old form +F.C -F.C becomes an option -k (see IsObsolescent).
std::vector<Argument> ReadCommandLine(std::span<const std::string> words, const FindRow& find = FindOption);

/// Returns the words of a command line without the name of the program.
std::vector<std::string> WordsOf(int argc, const char* const* argv);

/// Returns true if the key `key` was typed in the old form +F.C -F.C. ReadCommandLine() stores it as a NUL byte and
/// then the typed text.
bool IsObsolescent(const std::string& key);
/// Returns a value of -k as it was typed, escaped for a message.
std::string KeyText(const std::string& key);

/// The words of a command line: options with their values, and names.
struct SplitArguments {
  std::vector<std::string> options, names;
};
SplitArguments SplitOptions(std::span<const std::string> words);

/// Returns true if --log-format json is among `words`. The command line may have mistakes.
bool AsksForJsonLog(std::span<const std::string> words);

}  // namespace gpusort

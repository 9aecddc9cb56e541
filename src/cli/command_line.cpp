#include "cli/command_line.hpp"

#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "cli/gnu_options.hpp"
#include "cli/key_def.hpp"

namespace gpusort {
namespace {

/// The byte that is stored before the text of a key in the old form +F.C -F.C. No argument contains it.
constexpr char kObsolescent = '\0';

/// Reads the option in words[at], and the options that share its word. Returns the index of the next word.
std::size_t ReadOption(std::span<const std::string> words, std::size_t at, const FindRow& find,
                       std::vector<Argument>& arguments) {
  const std::string& word = words[at];
  std::size_t next = at + 1;
  const auto takes_next = [&](const OptionRow* row) {
    return row != nullptr && TakesValue(*row) && next < words.size();
  };
  if (word[1] == '-') {
    const std::size_t equals = word.find('=');
    Argument argument{.option = true, .row = find(std::string_view(word).substr(0, equals)), .text = word, .begin = at};
    if (equals != word.npos) {
      argument.value = word.substr(equals + 1);
    } else if (takes_next(argument.row)) {
      argument.value = words[next++];
    }
    argument.end = next;
    arguments.push_back(std::move(argument));
    return next;
  }
  for (std::size_t i = 1; i < word.size(); ++i) {
    const std::string letter{'-', word[i]};
    Argument argument{.option = true, .row = find(letter), .text = word, .begin = at};
    if (argument.row != nullptr && TakesValue(*argument.row)) {
      if (i + 1 < word.size()) {
        argument.value = word.substr(i + 1);
      } else if (takes_next(argument.row)) {
        argument.value = words[next++];
      }
      i = word.size();
    }
    argument.end = next;
    arguments.push_back(std::move(argument));
  }
  return next;
}

/// Reads a key in the old form, +F.C and perhaps -F.C, in words[at]. Returns the index of the next word, or `at` if
/// there is no such key.
std::size_t ReadObsolescentKey(std::span<const std::string> words, std::size_t at, const FindRow& find,
                               std::vector<Argument>& arguments) {
  if (!words[at].starts_with('+')) return at;
  std::optional<std::string> end;
  if (at + 1 < words.size() && words[at + 1].size() > 1 && words[at + 1][0] == '-' &&
      std::isdigit(static_cast<unsigned char>(words[at + 1][1])) != 0) {
    end = words[at + 1];
  }
  if (!TakesObsolescentKey(end.has_value()) || !ParseObsolescentKey(words[at], end)) return at;
  const std::string text = words[at] + (end ? " " + *end : "");
  const std::size_t next = at + (end ? 2 : 1);
  arguments.push_back(
      {.option = true, .row = find("-k"), .text = text, .value = kObsolescent + text, .begin = at, .end = next});
  return next;
}

}  // namespace

std::vector<Argument> ReadCommandLine(std::span<const std::string> words, const FindRow& find) {
  std::vector<Argument> arguments;
  bool ended = false;
  for (std::size_t i = 0; i < words.size();) {
    const std::string& word = words[i];
    if (!ended && word == "--") {
      ended = true;
      ++i;
    } else if (!ended && word.size() > 1 && word[0] == '-') {
      i = ReadOption(words, i, find, arguments);
    } else if (const std::size_t next = ended ? i : ReadObsolescentKey(words, i, find, arguments); next > i) {
      i = next;
    } else {
      arguments.push_back({.text = word, .after_options = ended, .begin = i, .end = i + 1});
      ++i;
    }
  }
  return arguments;
}

std::vector<std::string> WordsOf(int argc, const char* const* argv) { return {argv + std::min(argc, 1), argv + argc}; }

bool IsObsolescent(const std::string& key) { return key.starts_with(kObsolescent); }

std::string KeyText(const std::string& key) { return EscapeName(IsObsolescent(key) ? key.substr(1) : key); }

SplitArguments SplitOptions(std::span<const std::string> words) {
  SplitArguments split;
  std::size_t done = 0;
  for (const Argument& argument : ReadCommandLine(words)) {
    std::vector<std::string>& part = argument.option ? split.options : split.names;
    for (std::size_t i = std::max(argument.begin, done); i < argument.end; ++i) part.push_back(words[i]);
    done = argument.end;
  }
  return split;
}

bool AsksForJsonLog(std::span<const std::string> words) {
  const OptionRow* const format = FindOption("--log-format");
  const std::vector<Argument> arguments = ReadCommandLine(words);
  return std::any_of(arguments.begin(), arguments.end(),
                     [&](const Argument& argument) { return argument.row == format && argument.value == "json"; });
}

}  // namespace gpusort

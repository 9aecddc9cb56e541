// Completes command lines in bash, zsh and fish. When the user presses Tab, a script in the shell runs the program, and
// the program prints the possible words. Do not include other headers of gpusort here. Start at AnswerCompletions.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

/// The possible completions of a word that the user has begun to type in a shell.
struct Completions {
  enum class Names { kNone, kFiles, kFolders };
  struct Word {
    std::string text;   ///< the whole word, without quotes; a word that ends with = or : is not complete yet
    std::string about;  ///< the meaning of the word in one line; may be empty
  };
  std::vector<Word> words;
  Names names = Names::kNone;  ///< the kind of names, such as files, that the shell offers for the word
};

/// A function that returns the possible completions of the unfinished word words[current]. words[0] is the name of the
/// program. Later words can decide which completions are possible.
using Completer = std::function<Completions(const std::vector<std::string>& words, std::size_t current)>;

/// Completes a command line of bash. The completions are quoted for the shell.
/// - `before` and `behind`: the text before and after the cursor.
/// - `breaks`: the value of COMP_WORDBREAKS. If it contains "=", the completion of "--log-format=j" is "json".
Completions CompleteBash(const Completer& complete, std::string_view before, std::string_view behind,
                         std::string_view breaks);

/// Returns the completion script for `shell`: "bash", "zsh" or "fish". The script completes the command lines of all
/// programs of this project.
std::string CompletionScript(std::string_view shell);

/// Returns true if a completion script called the program: with --completion=words or --completion=line.
bool AsksForCompletions(int argc, const char* const* argv);
/// Prints the possible completions for a completion script, and returns the exit code. Prints no error messages.
/// - The first line is "words", "files" or "folders".
/// - Each further line is a possible word, a tab and the meaning of the word.
int AnswerCompletions(const Completer& complete, int argc, const char* const* argv);

}  // namespace gpusort

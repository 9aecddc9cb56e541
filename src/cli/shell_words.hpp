// Completion for all programs here: scripts for bash, zsh and fish that ask the program itself, and the answers. A
// half-typed line is never an error: the answer is then empty. The tools use this file as well, so it includes nothing
// else of gpusort. Start at AnswerCompletions.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

struct Completions {
  enum class Names { kNone, kFiles, kFolders };
  struct Word {
    std::string text;   ///< the whole word, unquoted; one that ends with = or : is not yet complete
    std::string about;  ///< one line; may be empty
  };
  std::vector<Word> words;
  Names names = Names::kNone;  ///< the names by which the shell completes the word, after its --option=
};

/// Returns the candidates for words[current]. words[0] is the name of the program. Words after `current` count, too.
using Completer = std::function<Completions(const std::vector<std::string>& words, std::size_t current)>;

/// Completes a line of bash. `before` and `behind` are the line up to the cursor and the rest. Returns candidates,
/// quoted, that replace the part of the word that readline replaces: the part after the last byte of `breaks`
/// (COMP_WORDBREAKS).
Completions CompleteBash(const Completer& complete, std::string_view before, std::string_view behind,
                         std::string_view breaks);

/// Returns the script for bash, zsh or fish, which completes all programs.
std::string CompletionScript(std::string_view shell);

/// Returns whether a script asks: `PROGRAM --completion=words CURRENT WORD...` or `--completion=line BEFORE BEHIND
/// BREAKS`.
bool AsksForCompletions(int argc, const char* const* argv);
/// Prints a line "words", "files" or "folders", and for each candidate a line with the word, a tab and its meaning.
/// Returns the exit code. Prints no error message, because the user only pressed Tab.
int AnswerCompletions(const Completer& complete, int argc, const char* const* argv);

}  // namespace gpusort

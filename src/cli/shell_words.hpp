// Completes command lines in bash, zsh and fish, for all programs of this project. A script of the shell asks the
// program, which answers with possible words. If the line has a mistake, the answer is empty. The tools use this file,
// too, so it includes no other header of gpusort. Start at AnswerCompletions.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

/// The possible completions of a word of a command line.
struct Completions {
  enum class Names { kNone, kFiles, kFolders };
  struct Word {
    std::string text;   ///< the whole word, without quotes; a word that ends with = or : is not complete yet
    std::string about;  ///< the meaning of the word in one line; may be empty
  };
  std::vector<Word> words;
  Names names = Names::kNone;  ///< the kind of names, such as files, that the shell offers for the word
};

/// A function that returns the possible completions of words[current]. words[0] is the name of the program. Options
/// after words[current] also matter.
using Completer = std::function<Completions(const std::vector<std::string>& words, std::size_t current)>;

/// Completes a command line of bash: `before` is the text before the cursor, and `behind` the text after it. Each
/// completion is quoted, and contains only what readline replaces: the part of the word after the last byte that is in
/// `breaks` (COMP_WORDBREAKS).
Completions CompleteBash(const Completer& complete, std::string_view before, std::string_view behind,
                         std::string_view breaks);

/// Returns the completion script for "bash", "zsh" or "fish". The script completes all programs.
std::string CompletionScript(std::string_view shell);

/// Returns true if a completion script called the program, as `PROGRAM --completion=words CURRENT WORD...` or
/// `PROGRAM --completion=line BEFORE BEHIND BREAKS`.
bool AsksForCompletions(int argc, const char* const* argv);
/// Answers a completion script. Prints a line "words", "files" or "folders", and for each possible word a line with the
/// word, a tab and its meaning. Returns the exit code. Prints no error message, because the user only pressed Tab.
int AnswerCompletions(const Completer& complete, int argc, const char* const* argv);

}  // namespace gpusort

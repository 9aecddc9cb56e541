// Completes command lines in bash, zsh and fish, for all programs of this project. When the user presses Tab, a script
// in the shell runs the program, which prints the possible words. The program prints no words if the command line has a
// mistake. The project's tools use this file, too, so it includes no other header of gpusort. Start at
// AnswerCompletions.
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
/// program. The words after words[current] are also part of the command line, because their options can decide which
/// words are possible.
using Completer = std::function<Completions(const std::vector<std::string>& words, std::size_t current)>;

/// Completes a command line of bash. `before` is the text before the cursor, and `behind` is the text after the cursor.
/// Each completion is quoted for the shell. It contains only the part of the word that bash replaces: the text after
/// the last byte that is in `breaks`, the value of COMP_WORDBREAKS.
Completions CompleteBash(const Completer& complete, std::string_view before, std::string_view behind,
                         std::string_view breaks);

/// Returns the completion script for `shell`: "bash", "zsh" or "fish". The script completes the command lines of all
/// programs of this project.
std::string CompletionScript(std::string_view shell);

/// Returns true if a completion script called the program, as `PROGRAM --completion=words CURRENT WORD...` or
/// `PROGRAM --completion=line BEFORE BEHIND BREAKS`.
bool AsksForCompletions(int argc, const char* const* argv);
/// Prints the possible completions, for a completion script that has called the program. The first line is "words",
/// "files" or "folders". Each further line is a possible word, a tab and the meaning of the word. Returns the exit
/// code. Prints no error messages, because the user has only pressed Tab.
int AnswerCompletions(const Completer& complete, int argc, const char* const* argv);

}  // namespace gpusort

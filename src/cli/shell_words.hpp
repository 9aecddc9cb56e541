// What the completion of every program here has in common: scripts for bash, zsh and fish that ask the program itself,
// and its answers. A line that is half typed is never an error: what cannot be told has no words. The tools are built
// with it, too, so it needs nothing else of gpusort. Start at AnswerCompletions.
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
  Names names = Names::kNone;  ///< what the shell itself is to complete the word by, behind its --option=
};

/// What may stand for the word of that index. words[0] is the program's name; those behind `current` count, too.
using Completer = std::function<Completions(const std::vector<std::string>& words, std::size_t current)>;

/// For a line of bash up to the cursor and behind it: what readline is to put there, quoted, in place of what it takes
/// for the word (from `breaks`, COMP_WORDBREAKS, on).
Completions CompleteBash(const Completer& complete, std::string_view before, std::string_view behind,
                         std::string_view breaks);

/// The script for bash, zsh or fish, of all programs.
std::string CompletionScript(std::string_view shell);

/// Whether a script asks: `PROGRAM --completion=words CURRENT WORD...` or `--completion=line BEFORE BEHIND BREAKS`.
bool AsksForCompletions(int argc, const char* const* argv);
/// Prints a line "words", "files" or "folders", and one with a word, a tab and what it means for each. Gives the exit
/// code. Whoever presses Tab wants words or nothing, never a message.
int AnswerCompletions(const Completer& complete, int argc, const char* const* argv);

}  // namespace gpusort

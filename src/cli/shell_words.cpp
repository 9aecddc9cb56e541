#include "cli/shell_words.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace gpusort {
namespace {

constexpr char kBash[] = R"sh(# Completion of gpusort and its tools for bash: source <(gpusort --completion bash)
_gpusort() {
  local program=$1
  [[ $program != '~/'* ]] || program=$HOME/${program:2}
  local -a answer
  mapfile -t answer < <("$program" --completion=line "${COMP_LINE:0:COMP_POINT}" "${COMP_LINE:COMP_POINT}" \
    "$COMP_WORDBREAKS" </dev/null 2>/dev/null)
  COMPREPLY=("${answer[@]:1}")
  case ${answer[0]-} in
    files) compopt -o default ;;
    folders) compopt -o dirnames ;;
    *) [[ ${#COMPREPLY[@]} != 1 || $COMPREPLY != *[=:] ]] || compopt -o nospace ;;
  esac
} 2>/dev/null
complete -F _gpusort gpusort gpusort_task gpusort_gen gpusort_check gpusort-ray gpusort-slurm
)sh";

constexpr char kZsh[] = R"sh(#compdef gpusort gpusort_task gpusort_gen gpusort_check gpusort-ray gpusort-slurm
# Completion of gpusort and its tools for zsh: source <(gpusort --completion zsh), after compinit
_gpusort() {
  local program=${(Q)words[1]} line word about
  local -a typed=("${(@Q)words}") answer whole begun
  [[ $program != '~/'* ]] || program=$HOME/${program[3,-1]}
  typed[CURRENT]=${(Q)IPREFIX}${(Q)PREFIX}
  answer=("${(@f)$(command "$program" --completion=words $((CURRENT - 1)) "${typed[@]}" </dev/null 2>/dev/null)}")
  case $answer[1] in
    files | folders)
      compset -P '--*='
      if [[ $answer[1] == files ]]; then _files; else _files -/; fi
      return
      ;;
  esac
  for line in "${(@)answer[2,-1]}"; do
    word=${line%%$'\t'*}
    about=${line#*$'\t'}
    # _describe reads the text after a colon as the meaning of the word.
    if [[ $word == *[=:] ]]; then
      begun+=("${${word//\\/\\\\}//:/\\:}:$about")
    else
      whole+=("${${word//\\/\\\\}//:/\\:}:$about")
    fi
  done
  local found=1
  if ((${#whole})); then _describe -t words gpusort whole && found=0; fi
  if ((${#begun})); then _describe -t words gpusort begun -S '' && found=0; fi
  return found
}
# A file in fpath is the body of the function. A sourced file only defines the function.
if [[ ${funcstack[1]} == _gpusort ]]; then
  _gpusort "$@"
else
  compdef _gpusort gpusort gpusort_task gpusort_gen gpusort_check gpusort-ray gpusort-slurm
fi
)sh";

constexpr char kFish[] = R"sh(# Completion of gpusort and its tools for fish: gpusort --completion fish | source
function __gpusort_complete
    set -l before (commandline -opc)
    set -l all (commandline -op)
    set -l behind (math (count $before) + 1)
    set -l current (commandline -ct)
    set -l word
    if test -n "$current"
        set behind (math $behind + 1)
        # A word with an open quote can be unescaped only after the quote is closed.
        set word (string unescape -- $current; or string unescape -- $current\'; or string unescape -- $current\")
    end
    set -l program (string replace -r '^~/' "$HOME/" -- $before[1])
    set -l words (count $before) $before "$word" $all[$behind..]
    set -l answer (command $program --completion=words $words </dev/null 2>/dev/null)
    switch "$answer[1]"
        case files folders
            set -l option (string match -r -- '^--[^=]*=' $word)
            set -l name (string replace -r -- '^--[^=]*=' '' "$word")
            set -l found
            if test "$answer[1]" = files
                set found (__fish_complete_path $name)
            else
                set found (__fish_complete_directories $name '')
            end
            string replace -r -- '^' "$option" $found
        case '*'
            printf '%s\n' $answer[2..]
    end
end
for program in gpusort gpusort_task gpusort_gen gpusort_check gpusort-ray gpusort-slurm
    complete -c $program -f -a '(__gpusort_complete)'
end
)sh";

/// A command line of bash, divided into words as its quotes say. Nothing is expanded.
class BashLine {
 public:
  BashLine(std::string_view before, std::string_view behind, std::string_view breaks) : breaks_(breaks) {
    Read(before);
    if (!in_word_) Begin();
    current_ = words_.size() - 1;
    quote_at_end_ = quote_;
    replaced_from_ = from_;
    // The part of the current word after the cursor is ignored.
    const std::string typed = words_[current_];
    Read(behind);
    words_[current_] = typed;
  }
  const std::vector<std::string>& words() const { return words_; }
  std::size_t current() const { return current_; }
  /// Returns a possible word in quotes, without the part that readline keeps.
  std::string Reply(std::string_view text) const {
    std::string reply;
    for (const char c : text.substr(std::min(replaced_from_, text.size()))) {
      if (quote_at_end_ == '\'' && c == '\'') {
        reply += "'\\'";
      } else if (quote_at_end_ == '"' ? std::strchr("\"$`\\", c) != nullptr
                                      : quote_at_end_ == 0 && IsSpecial(static_cast<unsigned char>(c))) {
        reply += '\\';
      }
      reply += c;
    }
    // Readline adds the closing quote itself, unless the last byte of the reply looks like one.
    if (quote_at_end_ != 0 && reply.ends_with(quote_at_end_)) reply += quote_at_end_;
    return reply;
  }

 private:
  static bool IsSpecial(unsigned char c) {
    return c < 0x80 && std::isalnum(c) == 0 && std::strchr("_./,+@%-=:", c) == nullptr;
  }
  void Begin() {
    words_.emplace_back();
    in_word_ = true;
    from_ = 0;
  }
  void Put(char c) {
    if (!in_word_) Begin();
    words_.back() += c;
  }
  void Read(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (quote_ == 0 && std::strchr(" \t\n<>", c) != nullptr) {
        in_word_ = false;
      } else if (c == quote_) {
        quote_ = 0;
        from_ = unquoted_from_;
      } else if (quote_ == 0 && (c == '\'' || c == '"')) {
        if (!in_word_) Begin();
        quote_ = c;
        unquoted_from_ = from_;
        from_ = words_.back().size();
      } else if (c == '\\' && quote_ != '\'' && i + 1 < text.size() &&
                 (quote_ == 0 || std::strchr("\"$`\\\n", text[i + 1]) != nullptr)) {
        Put(text[++i]);
      } else {
        Put(c);
        if (quote_ == 0 && breaks_.find(c) != breaks_.npos) from_ = words_.back().size();
      }
    }
  }

  const std::string_view breaks_;
  std::vector<std::string> words_;
  bool in_word_ = false;
  char quote_ = 0;
  std::size_t from_ = 0;  ///< the index in the word at which readline begins to replace: after an open quote or break
  std::size_t unquoted_from_ = 0;  ///< the value of `from_` when the open quote is closed
  std::size_t current_ = 0, replaced_from_ = 0;
  char quote_at_end_ = 0;
};

}  // namespace

Completions CompleteBash(const Completer& complete, std::string_view before, std::string_view behind,
                         std::string_view breaks) {
  const BashLine line(before, behind, breaks);
  Completions found = complete(line.words(), line.current());
  for (Completions::Word& word : found.words) word = {line.Reply(word.text), ""};
  return found;
}

std::string CompletionScript(std::string_view shell) { return shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish; }

bool AsksForCompletions(int argc, const char* const* argv) {
  return argc > 1 &&
         (std::strcmp(argv[1], "--completion=words") == 0 || std::strcmp(argv[1], "--completion=line") == 0);
}

int AnswerCompletions(const Completer& complete, int argc, const char* const* argv) {
  using Names = Completions::Names;
  try {
    // The command is PROGRAM --completion=words CURRENT WORD..., or PROGRAM --completion=line BEFORE BEHIND BREAKS.
    const std::vector<std::string> asked(argv + 2, argv + argc);
    Completions found;
    if (argv[1] == std::string_view("--completion=line") && asked.size() == 3) {
      found = CompleteBash(complete, asked[0], asked[1], asked[2]);
    } else if (argv[1] == std::string_view("--completion=words") && !asked.empty()) {
      found = complete({asked.begin() + 1, asked.end()}, std::strtoul(asked[0].c_str(), nullptr, 10));
    }
    std::string answer = found.names == Names::kFiles     ? "files\n"
                         : found.names == Names::kFolders ? "folders\n"
                                                          : "words\n";
    for (const Completions::Word& word : found.words) {
      answer += word.text + (word.about.empty() ? "" : "\t" + word.about) + "\n";
    }
    std::fputs(answer.c_str(), stdout);
    return 0;
  } catch (const std::exception&) {
    return EXIT_FAILURE;
  }
}

}  // namespace gpusort

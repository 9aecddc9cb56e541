// The command lines and the exit codes of gpusort_gen, gpusort_check and gpusort_bench. Each tool has one table
// (ToolHelp). The parser, --help, --help=man and completion use this table, so they cannot disagree. The tools share
// only cli/shell_words.hpp with gpusort. Start at Main.
#pragma once

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/shell_words.hpp"
#include "version.hpp"

namespace tool {

struct Option {
  const char* name;      ///< the name without its hyphens
  char letter;           ///< the short form; 0: none
  const char* argument;  ///< the name of the argument in the help; empty: the option is a flag
  const char* help;
  bool repeats = false;
  const char* words = "";  ///< the allowed values, separated by blanks; empty: any value
};

/// A section of the help: a heading and preformatted lines.
struct Section {
  const char* title;
  const char* text;
};

struct ToolHelp {
  const char* name;
  const char* purpose;                ///< one line for whatis(1)
  std::vector<const char*> synopsis;  ///< forms of the command line, without the name of the tool
  const char* about;
  std::vector<Option> options;  ///< in the order of the help, without --version and --help
  std::vector<Section> sections;
  const char* see_also;
};

inline std::vector<Option> AllOptions(const ToolHelp& help) {
  std::vector<Option> all = help.options;
  all.push_back({"version", 0, "", "the version"});
  all.push_back({"help", 'h', "", "this text; --help=man: the manual page"});
  return all;
}

/// The exit codes of the tools, which are those of gpusort. kBad: a file is not sorted, or not complete.
enum Exit : int { kGood, kBad, kUsage, kBadInput, kIo, kNoSpace, kOutOfMemory, kInternal = 9 };

/// Ends the program with `code`.
struct Failure : std::runtime_error {
  Failure(Exit exit_code, const std::string& message) : std::runtime_error(message), code(exit_code) {}
  Exit code;
};

[[noreturn]] inline void FailUsage(const std::string& why) { throw Failure(kUsage, why); }

/// Quotes a name or a value for a message. Escapes unprintable bytes, so that the message stays one line.
inline std::string Quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      quoted += c;
    } else {
      quoted += {'\\', 'x', "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    }
  }
  return quoted + "'";
}

/// Returns how many letters must be added, removed or changed to make one word of the other.
inline std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = std::min(row[j], row[j - 1]) + 1;
      diagonal = std::exchange(row[j], std::min(other, diagonal + (a[i - 1] != b[j - 1])));
    }
  }
  return row[b.size()];
}

inline std::string DidYouMean(std::string_view typed, const std::vector<std::string>& known) {
  std::string meant;
  std::size_t least = 3;
  for (const std::string& word : known) {
    const std::size_t distance = Distance(typed, word);
    if (distance < least && distance < word.size()) {
      least = distance;
      meant = word;
    }
  }
  return meant.empty() ? "" : "; did you mean " + meant + "?";
}

/// A parsed command line.
struct Typed {
  std::map<std::string, std::vector<std::string>> values;     ///< the values of each given option
  std::vector<std::pair<std::string, std::string>> in_order;  ///< pairs (option, value) or ("", operand)
  std::vector<std::string> names;
  bool manual = false;

  bool has(const std::string& name) const { return values.count(name) != 0; }
  /// Returns the last value of an option, or an empty string if the option is not given.
  std::string value(const std::string& name) const { return all(name).empty() ? "" : all(name).back(); }
  std::vector<std::string> all(const std::string& name) const {
    const auto found = values.find(name);
    return found == values.end() ? std::vector<std::string>() : found->second;
  }
};

/// Parses a command line. Throws Failure if the command line is wrong.
inline Typed Parse(const ToolHelp& help, int argc, const char* const* argv) {
  namespace po = boost::program_options;
  po::options_description known;
  std::vector<std::string> names;
  for (const Option& option : AllOptions(help)) {
    const std::string name = option.name + (option.letter == 0 ? std::string() : std::string(",") + option.letter);
    names.push_back(std::string("--") + option.name);
    if (option.argument[0] == '\0') {
      known.add_options()(name.c_str(), "");
    } else {
      known.add_options()(name.c_str(), po::value<std::string>(), "");
    }
  }
  Typed typed;
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  for (std::string& word : words) {
    if (word == "--") break;
    if (word != "--help=man") continue;
    typed.manual = true;
    word = "--help";
  }
  const std::string see = std::string("; see ") + help.name + " --help";
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    for (const po::option& option : po::command_line_parser(words).options(known).style(style).run().options) {
      const bool name = option.position_key >= 0;
      for (const std::string& value : option.value) {
        typed.in_order.emplace_back(name ? "" : option.string_key, value);
        if (name) typed.names.push_back(value);
      }
      if (name) continue;
      std::vector<std::string>& values = typed.values[option.string_key];
      values.insert(values.end(), option.value.begin(), option.value.end());
      const bool repeats = std::any_of(help.options.begin(), help.options.end(),
                                       [&](const Option& row) { return row.repeats && option.string_key == row.name; });
      if (values.size() > 1 && !repeats) FailUsage("--" + option.string_key + " is given twice");
    }
  } catch (const po::unknown_option& error) {
    const std::string name = error.get_option_name();
    FailUsage("unrecognised option " + Quote(name) + DidYouMean(name.substr(0, name.find('=')), names) + see);
  } catch (const po::error& error) {
    FailUsage(error.what() + see);
  }
  return typed;
}

/// Returns the completions of the word with index `current`: options, values of an option, or names of files.
inline gpusort::Completions Complete(const ToolHelp& help, const std::vector<std::string>& words, std::size_t current) {
  gpusort::Completions found;
  if (current == 0 || current >= words.size()) return found;
  const std::string& typed = words[current];
  const std::vector<Option> options = AllOptions(help);
  const auto option_of = [&](const std::string& word) {
    return std::find_if(options.begin(), options.end(), [&](const Option& option) {
      return word == std::string("--") + option.name ||
             (option.letter != 0 && word == std::string("-") + option.letter);
    });
  };
  const auto add_values = [&](const Option& option, const std::string& prefix) {
    std::istringstream list(option.words);
    for (std::string word; list >> word;) found.words.push_back({prefix + word, ""});
    if (std::string_view(option.argument) == "INPUT") found.names = gpusort::Completions::Names::kFiles;
  };
  const auto before = option_of(words[current - 1]);
  const std::size_t equals = typed.starts_with("--") ? typed.find('=') : typed.npos;
  if (current > 1 && before != options.end() && before->argument[0] != '\0') {
    add_values(*before, "");
  } else if (std::find(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(current), "--") !=
                 words.begin() + static_cast<std::ptrdiff_t>(current) ||
             !typed.starts_with('-')) {
    found.names = gpusort::Completions::Names::kFiles;
  } else if (equals != typed.npos) {
    const auto option = option_of(typed.substr(0, equals));
    if (option != options.end()) add_values(*option, typed.substr(0, equals + 1));
  } else {
    for (const Option& option : options) {
      // Shows the help text up to its first detail.
      const std::string_view all = option.help;
      const std::string about(all.substr(0, std::min({all.find("; "), all.find(" ("), all.find(", see ")})));
      const bool value = option.argument[0] != '\0';
      if (option.letter != 0 && !typed.starts_with("--"))
        found.words.push_back({std::string("-") + option.letter, about});
      found.words.push_back({std::string("--") + option.name + (value ? "=" : ""), about});
    }
  }
  std::erase_if(found.words, [&](const auto& word) { return !word.text.starts_with(typed); });
  return found;
}

/// Appends `text` to `line` and breaks the result into lines of at most 80 columns. All lines except the first begin in
/// column number `column`.
inline std::string Wrapped(std::string line, std::size_t column, const char* text) {
  std::string wrapped;
  line.resize(std::max(line.size() + 2, column) - 1, ' ');
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > 80) {
      wrapped += line + "\n";
      line.assign(column - 1, ' ');
    }
    line += " " + word;
  }
  return wrapped + line + "\n";
}

inline std::string HelpText(const ToolHelp& help) {
  std::string text;
  for (const char* form : help.synopsis) {
    text += std::string(text.empty() ? "Usage: " : "       ") + help.name + " " + form + "\n";
  }
  text += help.about + std::string("\nOptions:\n");
  for (const Option& option : AllOptions(help)) {
    std::string first = option.letter == 0 ? "      " : std::string("  -") + option.letter + ", ";
    first += std::string("--") + option.name + (option.argument[0] == '\0' ? "" : " ") + option.argument;
    text += Wrapped(first, 28, option.help);
  }
  for (const Section& section : help.sections) text += std::string("\n") + section.title + ":\n" + section.text;
  return text;
}

/// Returns `text` as roff source. Escapes backslashes, quotes, accents and hyphens.
inline std::string Roff(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool front = i == 0 || text[i - 1] == '\n';
    if (front && (c == '.' || c == '\'')) out += "\\&";
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '-':
        out += "\\-";
        break;
      default:
        out += c;
    }
  }
  return out;
}

inline std::string ManualText(const ToolHelp& help, const char* version) {
  std::string text = ".TH ";
  for (const char c : std::string(help.name)) text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  text += std::string(" 1 \"\" \"gpusort ") + version + "\" \"User Commands\"\n";
  text += ".SH NAME\n" + std::string(help.name) + " \\- " + Roff(help.purpose) + "\n.SH SYNOPSIS\n.nf\n";
  for (const char* form : help.synopsis) text += "\\fB" + std::string(help.name) + "\\fR " + Roff(form) + "\n";
  text += ".fi\n.SH DESCRIPTION\n" + Roff(help.about) + ".SH OPTIONS\n";
  for (const Option& option : AllOptions(help)) {
    text += ".TP\n";
    if (option.letter != 0) text += std::string("\\fB\\-") + option.letter + "\\fR, ";
    text += "\\fB\\-\\-" + Roff(option.name) + "\\fR";
    if (option.argument[0] != '\0') text += std::string(" \\fI") + option.argument + "\\fR";
    text.append("\n").append(Roff(option.help)).append("\n");
  }
  for (const Section& section : help.sections) {
    std::string title = section.title;
    for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    text += ".SH " + title + "\n.nf\n" + Roff(section.text) + ".fi\n";
  }
  return text + ".SH SEE ALSO\n" + help.see_also + "\n";
}

/// Returns the text that --help, --help=man or --version prints.
inline std::string Answer(const ToolHelp& help, const Typed& typed, const char* version) {
  if (!typed.has("help")) return std::string(help.name) + " " + version + "\n";
  return typed.manual ? ManualText(help, version) : HelpText(help);
}

/// Runs a tool. Answers a shell that completes a line, prints the help or the version, or calls run(typed), which
/// returns the exit code. `other` is the exit code after an exception that is no Failure. Prints the messages of
/// errors.
inline int Main(const ToolHelp& help, int argc, const char* const* argv, Exit other,
                const std::function<Exit(const Typed&)>& run) {
  if (gpusort::AsksForCompletions(argc, argv)) {
    return gpusort::AnswerCompletions(std::bind_front(Complete, help), argc, argv);
  }
  const auto fail = [&](Exit code, const char* why) {
    std::cerr << help.name << ": " << why << '\n';
    return code;
  };
  try {
    Exit code = kGood;
    const Typed typed = Parse(help, argc, argv);
    if (typed.has("help") || typed.has("version")) {
      std::cout << Answer(help, typed, GPUSORT_VERSION);
    } else {
      code = run(typed);
    }
    if (!std::cout.flush()) throw Failure(kIo, "standard output: cannot write");
    return code;
  } catch (const Failure& failure) {
    return fail(failure.code, failure.what());
  } catch (const std::bad_alloc&) {
    return fail(kOutOfMemory, "out of memory");
  } catch (const std::exception& error) {
    return fail(other, error.what());
  }
}

}  // namespace tool

#include "cli/help.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/option_table.hpp"
#include "formats/registry.hpp"
#include "help_texts.hpp"

namespace gpusort {
namespace {

constexpr const char* kUsage =
    "Usage: gpusort [OPTION...] INPUT OUTPUT\n"
    "       gpusort [OPTION...] -o OUTPUT INPUT...\n"
    "       gpusort [OPTION...] [INPUT] >OUTPUT\n"
    "       gpusort [OPTION...] --check INPUT\n"
    "Sort text lines, CSV, JSON Lines or binary records that may be larger than\n"
    "memory, on a GPU or without one. INPUT - is standard input, OUTPUT - is standard\n"
    "output. The extension of INPUT tells its records: .csv .tsv .jsonl have columns,\n"
    ".bin holds i32, .i8 to .f64 (also .u32be) hold that type, others hold lines.\n"
    "A final .gz .bgz .bz2 .xz .zst .lz4 means that the file is compressed.\n";

constexpr const char* kShortUsage =
    "Usage: gpusort [OPTION...] INPUT OUTPUT\n"
    "       gpusort [OPTION...] [INPUT] >OUTPUT\n"
    "Sort lines, CSV, JSON Lines, logs, dumps or binary records, larger than memory,\n"
    "on a GPU or without one. The extension of INPUT tells its records.\n\n";

constexpr const char* kShortExamples =
    "\n  gpusort words.txt sorted.txt\n"
    "  gpusort -k created_at:timestamp:desc -k amount:decimal orders.csv sorted.csv\n"
    "  gpusort --format log -o all.log access.log app.log.gz syslog\n"
    "More: gpusort --help=all, --help=keys, --help=examples, --help=man; man gpusort\n";

constexpr const char* kExitCodes =
    "\nExit codes:\n"
    "  0 done and proved   1 --check: not sorted     2 usage         3 bad input\n"
    "  4 I/O error         5 no space                6 no memory     7 GPU lost\n"
    "  8 integrity         9 internal error          128+N ended by signal N\n"
    "  75 --resume-dir: stopped by a signal; the same command continues the job\n"
    "After any code but 0 an old output is unchanged, unless the message says\n"
    "otherwise.\n";

std::string FirstColumn(const OptionRow& row) {
  std::string text = row.letter == 0 ? "      " : std::string("  -") + row.letter;
  if (row.name[0] != '\0') text += (row.letter == 0 ? "--" : ", --") + std::string(row.name);
  if (row.argument[0] != '\0') text += std::string(" ") + row.argument;
  return text;
}

/// Appends `words` to `line` and breaks the result into lines of at most 80 columns. Further lines begin in `column`.
std::string Wrapped(std::string line, std::size_t column, const char* words) {
  constexpr std::size_t kWidth = 80;
  std::string text;
  line.resize(std::max(line.size() + 2, column) - 1, ' ');
  std::istringstream paragraphs(words);
  for (std::string paragraph; std::getline(paragraphs, paragraph);) {
    std::istringstream rest(paragraph);
    for (std::string word; rest >> word;) {
      if (line.size() + 1 + word.size() > kWidth) {
        text += line + "\n";
        line.assign(column - 1, ' ');
      }
      line += " " + word;
    }
    text += line + "\n";
    line.assign(column - 1, ' ');
  }
  return text;
}

std::string ShortHelp() {
  constexpr std::size_t kColumn = 28;
  std::string text = kShortUsage;
  for (const OptionRow& row : kOptionRows) {
    if (row.brief[0] != '\0') text += Wrapped(FirstColumn(row), kColumn, row.brief);
  }
  return text + kShortExamples;
}

std::string AllOptions() {
  constexpr std::size_t kColumn = 28;
  std::string text = kUsage;
  for (const SectionTitle& section : kSectionTitles) {
    text += std::string("\n") + section.title + ":\n";
    for (const OptionRow& row : kOptionRows) {
      if (row.section == section.section) text += Wrapped(FirstColumn(row), kColumn, row.help);
    }
  }
  return text + kExitCodes;
}

/// Characters that are special to roff, and their escapes.
constexpr std::pair<char, std::string_view> kEscapes[] = {{'\\', "\\e"},  {'\'', "\\(aq"}, {'`', "\\(ga"},
                                                          {'^', "\\(ha"}, {'~', "\\(ti"},  {'-', "\\-"}};

/// Returns `text` as roff, the language of manual pages. If `minus` is true, hyphens become minus signs.
std::string Escape(std::string_view text, bool minus) {
  std::string out = text.size() > 1 && (text[0] == '.' || text[0] == '\'') ? "\\&" : "";  // no control line
  for (const char c : text) {
    const auto escapes = [&](const auto& escape) { return escape.first == c && (c != '-' || minus); };
    const auto* const found = std::find_if(std::begin(kEscapes), std::end(kEscapes), escapes);
    out += found == std::end(kEscapes) ? std::string(1, c) : std::string(found->second);
  }
  return out;
}

/// Does the reverse of Escape(). Also removes changes of the font (\fB) and marks without width (\& and \%).
std::string Unescape(std::string_view roff) {
  std::string out;
  while (!roff.empty()) {
    const auto* const found = std::find_if(std::begin(kEscapes), std::end(kEscapes),
                                           [&](const auto& escape) { return roff.starts_with(escape.second); });
    const bool escaped = found != std::end(kEscapes), dropped = !escaped && roff[0] == '\\';
    if (!dropped) out += escaped ? found->first : roff[0];
    roff.remove_prefix(escaped ? found->second.size() : !dropped ? 1 : roff.starts_with("\\f") ? 3 : 2);
  }
  return out;
}

/// Returns `line` of prose as roff, with the words that are options in bold.
std::string Prose(const std::string& line) {
  std::string out;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const std::size_t begin = std::min(word.find_first_not_of("(["), word.size());
    const std::size_t end = std::max(word.find_last_not_of(".,;:)]") + 1, begin);
    const bool minus = word[begin] == '-';  // past the end there is a NUL
    const bool option = minus && (end - begin <= 2 || word[begin + 1] == '-');
    if (!out.empty()) out += ' ';
    out += Escape(word.substr(0, begin), false) + (option ? "\\fB" : "") +
           Escape(word.substr(begin, end - begin), minus) + (option ? "\\fR" : "") + Escape(word.substr(end), false);
  }
  return out + "\n";
}

std::string RoffOption(const OptionRow& row) {
  std::string text = ".TP\n";
  if (row.letter != 0) text += std::string("\\fB\\-") + row.letter + "\\fR";
  if (row.name[0] != '\0') {
    text += std::string(row.letter == 0 ? "" : ", ") + "\\fB\\-\\-" + Escape(row.name, true) + "\\fR";
  }
  if (row.argument[0] != '\0') text += std::string(" \\fI") + row.argument + "\\fR";
  text += "\n";
  std::istringstream paragraphs(row.help);
  bool first = true;
  for (std::string paragraph; std::getline(paragraphs, paragraph); first = false) {
    text += (first ? "" : ".br\n") + Prose(paragraph);
  }
  if (row.more[0] != '\0') {
    text.pop_back();
    text += ".\n" + Prose(row.more);
  }
  return text;
}

std::string RoffOptions() {
  std::string text;
  for (const SectionTitle& section : kSectionTitles) {
    text += ".SS \"" + Escape(section.title, false) + "\"\n";
    for (const OptionRow& row : kOptionRows) {
      if (row.section == section.section) text += RoffOption(row);
    }
  }
  return text;
}

/// Returns kExamples as roff. Lines that begin with six blanks are commands, with three blanks prose, others titles.
std::string RoffExamples() {
  std::string text;
  bool commands = false;
  std::istringstream lines(kExamples);
  for (std::string line; std::getline(lines, line);) {
    const bool command = line.starts_with("      ");
    if (command != commands && !line.empty()) {
      if (command && !text.ends_with("\"\n")) text += ".PP\n";  // not after a title
      text += command ? ".RS 4\n.EX\n" : ".EE\n.RE\n";
      commands = command;
    }
    if (command) {
      text += Escape(line.substr(6), true) + "\n";
    } else if (line.starts_with("   ")) {
      text += Prose(line);
    } else if (!line.empty()) {
      text += ".SS \"" + Escape(line, false) + "\"\n";
    }
  }
  return text + ".EE\n.RE\n";
}

/// Returns `words` as roff: "a, b and c."
std::string RoffList(std::string_view words) {
  std::istringstream rest{std::string(words)};
  const std::vector<std::string> list{std::istream_iterator<std::string>(rest), {}};
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) text += i + 1 < list.size() ? ", " : " and ";
    text += (list[i].find('-') != std::string::npos ? "\\%" : "") + Escape(list[i], false);
  }
  return text + ".\n";
}

/// Replaces the line of `page` that begins with `mark`.
void ReplaceLine(std::string& page, const char* mark, const std::string& lines) {
  const std::size_t begin = page.find(mark);
  page.replace(begin, page.find('\n', begin) + 1 - begin, lines);
}

std::string Manual() {
  std::string page = kManualPage;
  ReplaceLine(page, ".\\\" EXTENSIONS", RoffList(StaticText().AddOfRows(&FormatRow::extensions).text));
  ReplaceLine(page, ".\\\" FORMATS", RoffList(StaticText().AddOfRows(&FormatRow::name).text));
  ReplaceLine(page, ".\\\" OPTIONS", RoffOptions());
  ReplaceLine(page, ".\\\" EXAMPLES", RoffExamples());
  return page;
}

/// Returns kKeysPage as text. Knows the macros that the page uses: SH, PP, TP, B, IP, and nf or EX up to fi or EE.
std::string Keys() {
  constexpr std::size_t kIndent = 3, kColumn = 14;
  std::string text, tag, prose;
  std::size_t column = kIndent;
  bool filled = true;
  const auto end_paragraph = [&] {
    if (tag.size() + 2 > column) text += std::exchange(tag, "") + "\n";
    if (!prose.empty()) text += Wrapped(tag, column, prose.c_str());
    prose = tag = "";
  };
  std::istringstream lines(kKeysPage);
  for (std::string line; std::getline(lines, line);) {
    const std::string_view macro = std::string_view(line).substr(0, line[0] == '.' ? line.find(' ') : 0);
    const std::size_t begin = macro.empty() ? 0 : std::min(macro.size() + 1, line.size());
    const std::string words = Unescape(std::string_view(line).substr(begin));
    if (macro == ".B") {
      tag = std::string(kIndent, ' ') + words;
    } else if (!macro.empty() && macro != ".TH") {
      end_paragraph();
      if (macro == ".SH") text += (text.empty() ? "" : "\n") + words + "\n";
      if (macro == ".PP" || macro == ".IP") text += "\n";
      filled = macro != ".nf" && macro != ".EX" && (filled || macro == ".fi" || macro == ".EE");
      if (macro != ".IP") column = macro == ".TP" ? kColumn : kIndent;
    } else if (macro.empty()) {
      if (filled) {
        prose += words + " ";
      } else {
        text += std::string(kIndent, ' ') + words + "\n";
      }
    }
  }
  end_paragraph();
  return text;
}

}  // namespace

std::string HelpText(HelpTopic topic) {
  switch (topic) {
    case HelpTopic::kAll:
      return AllOptions();
    case HelpTopic::kExamples:
      return kExamples;
    case HelpTopic::kKeys:
      return Keys();
    case HelpTopic::kManual:
      return Manual();
    case HelpTopic::kJson:
      return OptionsAsJson();
    case HelpTopic::kShort:
      break;
  }
  return ShortHelp();
}

std::string TaskHelp() { return kTaskHelp; }

std::string TaskManual() {
  std::string text = ".TH GPUSORT_TASK 1\n.SH NAME\ngpusort_task \\- one piece of a sort that many processes do\n";
  text += ".SH DESCRIPTION\n.nf\n";
  std::istringstream lines(kTaskHelp);
  for (std::string line; std::getline(lines, line);) text += Escape(line, true) + "\n";
  return text + ".fi\n.SH SEE ALSO\n.BR gpusort (1)\n";
}

}  // namespace gpusort

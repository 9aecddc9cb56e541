#include "cli/completion.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "base/text.hpp"
#include "cli/command_line.hpp"
#include "cli/header_of_input.hpp"
#include "cli/option_table.hpp"
#include "cli/parse_options.hpp"
#include "formats/registry.hpp"
#include "formats/value_key.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using Names = Completions::Names;

/// Returns what the option means, in a few words.
std::string About(const OptionRow& row) {
  if (row.about[0] != '\0') return row.about;
  std::string_view text = row.brief[0] != '\0' ? row.brief : row.help;
  for (const char* const end : {"\n", "; ", ": ", " (", ". "}) text = text.substr(0, text.find(end));
  return std::string(text);
}

/// The command line, apart from the word that is completed.
struct Line {
  const OptionRow* wanted = nullptr;  ///< the option of which the completed word is the value, or null
  bool options_end = false;           ///< "--" precedes the word
  std::vector<std::string> names;
  std::vector<std::string> format;  ///< the options that tell the format of the records, as --name=value
};

/// Reads `words`, which begin with the name of the program.
Line ReadLine(std::vector<std::string> words, std::size_t current) {
  Line line;
  words[current].clear();  // a half-typed option must not take the next word
  for (const Argument& argument : ReadCommandLine(std::span(words).subspan(1))) {
    const bool completed = argument.begin < current && current <= argument.end;
    if (completed) {
      line.wanted = argument.row;
      line.options_end = argument.after_options;
    } else if (!argument.option) {
      line.names.push_back(argument.text);
    } else if (argument.row != nullptr) {
      const OptionRow& row = *argument.row;
      const bool formats = (row.traits & (kBinaryOnly | kLinesOnly | kTablesOnly | kSaysFormat)) != 0;
      if (formats) line.format.push_back(LongName(row) + (TakesValue(row) ? "=" + argument.value.value_or("") : ""));
    }
  }
  return line;
}

/// Returns the format of the records that the options and names on the line mean, or std::nullopt if gpusort would
/// refuse them.
std::optional<JobSpec> ReadFormat(const Line& line) {
  std::vector<std::string> words = line.format;
  std::string input = line.names.empty() ? "-" : line.names[0];
  const char* const home = std::getenv("HOME");
  if (home != nullptr && input.starts_with("~/")) input.replace(0, 1, home);
  words.insert(words.end(), {"-o", "-", "--", input});
  try {
    return ParseOptions(words);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Returns the names in the header of the input, if the input is a regular file whose format has a header.
std::vector<std::string> ReadColumnNames(const JobSpec& spec) {
  if (RowOf(*spec.source.table).names != ColumnNames::kHeader || spec.source.table->header == 0) return {};
  const std::vector<std::byte> header = HeaderOfInput(spec, spec.source.inputs[0]);
  return header.empty() ? std::vector<std::string>() : MakeTableFormat(spec)->NamesOf(header);
}

/// Returns the name of a column as a key. It is in double quotes if it would mean something else without them.
std::string KeyOfColumn(const std::string& name, bool quoted) {
  const auto first = static_cast<unsigned char>(name[0]);
  if (!quoted && first != '"' && first != '#' && std::isdigit(first) == 0 && name.find(':') == name.npos) return name;
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

void AddColumns(const JobSpec& spec, std::string_view typed, Completions& found) {
  const std::vector<std::string> names = ReadColumnNames(spec);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    // Use the number of the column if its name is not printable or occurs twice.
    const bool by_name = !typed.starts_with('#') && !name.empty() && EscapeName(name) == name &&
                         std::count(names.begin(), names.end(), name) == 1;
    const std::string number = "#" + std::to_string(i + 1);
    found.words.push_back(by_name ? Completions::Word{KeyOfColumn(name, typed.starts_with('"')), "column " + number}
                                  : Completions::Word{number, EscapeName(name)});
  }
}

/// Returns the index of the colon that ends the column of a key, or npos if the column is not complete.
std::size_t ColumnEnd(std::string_view key) {
  if (!key.starts_with('"')) return key.find(':');
  for (std::size_t i = 1; i < key.size(); ++i) {
    if (key[i] != '"') continue;
    if (i + 1 == key.size() || key[i + 1] != '"') return key.find(':', i);
    ++i;
  }
  return key.npos;
}

std::vector<std::string> Split(std::string_view list, std::string_view separator) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(separator), list.size());
    words.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + separator.size(), list.size()));
  }
  return words;
}

/// Adds the words that may follow the last colon of a key. A key has at most one word of each group in `groups`.
void AddParts(std::string_view key, std::size_t column_end, const std::vector<std::vector<std::string>>& groups,
              Completions& found) {
  const std::size_t last = key.rfind(':');
  const std::string front(key.substr(0, last + 1));
  const std::vector<std::string> given = Split(key.substr(column_end, last - column_end), ":");
  for (const std::vector<std::string>& group : groups) {
    const auto is_given = [&](const std::string& word) {
      return std::find(given.begin(), given.end(), word) != given.end();
    };
    if (std::any_of(group.begin(), group.end(), is_given)) continue;
    for (const std::string& word : group) found.words.push_back({front + word, ""});
  }
}

void AddKeys(const Line& line, std::string_view typed, Completions& found) {
  const std::optional<JobSpec> options = ReadFormat(line);
  const std::vector<std::string> directions{"asc", "desc"};
  const std::size_t end = ColumnEnd(typed);
  if (options && options->source.table) {
    if (end == typed.npos) return AddColumns(*options, typed, found);
    return AddParts(typed, end, {Split(ValueTypeNames(), ", "), directions, {"nulls-first", "nulls-last"}}, found);
  }
  // A key such as OFFSET:TYPE:asc of binary records. The options for binary records may follow later on the line.
  const bool offset = end != typed.npos && end > 0 &&
                      std::all_of(typed.begin(), typed.begin() + static_cast<std::ptrdiff_t>(end),
                                  [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!offset) return;
  const bool has_type = typed.find(':', end + 1) != typed.npos;
  AddParts(typed, end, {has_type ? directions : WordsOf(*FindOption("--type"))}, found);
}

void AddValues(const OptionRow& row, std::string_view typed, const Line& line, Completions& found) {
  const std::string_view argument = row.argument;
  for (const std::string& word : WordsOf(row)) found.words.push_back({word, ""});
  if (argument == "FILE") found.names = Names::kFiles;
  if (argument == "DIR") found.names = Names::kFolders;
  if (argument == "KEY") AddKeys(line, typed, found);
  const auto in_number = [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; };
  if (argument == "SIZE" && !typed.empty() && std::all_of(typed.begin(), typed.end(), in_number)) {
    for (const char unit : std::string_view("KMGT")) found.words.push_back({std::string(typed) + unit, ""});
    if ((row.traits & kShare) != 0) found.words.push_back({std::string(typed) + '%', "of all"});
  }
}

void AddOptions(std::string_view typed, Completions& found) {
  for (const OptionRow& row : kOptionRows) {
    if (row.letter != 0 && !typed.starts_with("--")) found.words.push_back({std::string("-") + row.letter, About(row)});
    if (row.name[0] == '\0') continue;
    if (!TakesValue(row)) found.words.push_back({LongName(row), About(row)});
    if (TakesValue(row) || !WordsOf(row).empty()) found.words.push_back({LongName(row) + "=", About(row)});
  }
}

}  // namespace

Completions Complete(const std::vector<std::string>& words, std::size_t current) {
  Completions found;
  if (current == 0 || current >= words.size()) return found;
  const std::string& word = words[current];
  const Line line = ReadLine(words, current);
  std::string prefix;
  if (line.wanted != nullptr) {
    AddValues(*line.wanted, word, line, found);
  } else if (line.options_end || !word.starts_with('-')) {
    found.names = Names::kFiles;
  } else {
    const std::vector<Argument> pieces = ReadCommandLine(std::span(&word, 1));
    const auto known = [](const Argument& argument) { return argument.row != nullptr; };
    const bool all_known = !pieces.empty() && std::all_of(pieces.begin(), pieces.end(), known);
    if (all_known && pieces.back().value) {
      const std::string& value = *pieces.back().value;
      prefix = word.substr(0, word.size() - value.size());
      AddValues(*pieces.back().row, value, line, found);
    } else {
      AddOptions(word, found);
      if (all_known && word.size() > 2 && word[1] != '-') found.words.push_back({word, ""});
    }
  }
  for (Completions::Word& candidate : found.words) candidate.text.insert(0, prefix);
  std::erase_if(found.words, [&](const Completions::Word& candidate) { return !candidate.text.starts_with(word); });
  return found;
}

}  // namespace gpusort

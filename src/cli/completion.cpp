#include "cli/completion.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "base/text.hpp"
#include "cli/option_table.hpp"
#include "cli/parse_options.hpp"
#include "formats/registry.hpp"
#include "formats/value_key.hpp"
#include "io/codec/codec.hpp"
#include "io/file.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using Names = Completions::Names;

std::string NameOf(const OptionRow& row) { return std::string("--") + row.name; }

const OptionRow* RowOfName(std::string_view name) {
  for (const OptionRow& row : kOptionRows) {
    if (!name.empty() && row.name == name) return &row;
  }
  return nullptr;
}

const OptionRow* RowOfLetter(char letter) {
  for (const OptionRow& row : kOptionRows) {
    if (row.letter == letter) return &row;
  }
  return nullptr;
}

bool TakesValue(const OptionRow& row) { return row.argument[0] != '\0'; }

/// What an option means, in a few words.
std::string About(const OptionRow& row) {
  for (const OptionAbout& other : kOptionAbouts) {
    if (row.name[0] != '\0' ? std::strcmp(other.name, row.name) == 0 : *other.name == row.letter) return other.about;
  }
  std::string_view text = row.brief[0] != '\0' ? row.brief : row.help;
  for (const char* const end : {"\n", "; ", ": ", " ("}) text = text.substr(0, text.find(end));
  return std::string(text);
}

/// An option that has its value in the same word, behind the first `prefix` bytes, or wants it in the next one.
struct Taken {
  const OptionRow* row = nullptr;  ///< null: a flag, several of them, or unknown
  std::size_t prefix = 0;
  bool next = false;
};

Taken TakeOption(std::string_view word) {
  if (word.starts_with("--")) {
    const std::size_t equals = word.find('=');
    const OptionRow* const row = RowOfName(word.substr(2, equals - 2));
    if (row == nullptr || (equals == word.npos && !TakesValue(*row))) return {};
    return {row, equals == word.npos ? word.size() : equals + 1, equals == word.npos};
  }
  for (std::size_t i = 1; i < word.size(); ++i) {
    const OptionRow* const row = RowOfLetter(word[i]);
    if (row == nullptr) return {};
    if (TakesValue(*row)) return {row, i + 1, i + 1 == word.size()};
  }
  return {};
}

/// What stands on the line beside the word that is completed.
struct Line {
  const OptionRow* wanted = nullptr;  ///< the option whose value that word is
  bool options_end = false;           ///< -- stands in front of it
  std::vector<std::string> names;
  /// --name=value of those that say what records are.
  std::vector<std::string> format;
};

Line ReadLine(const std::vector<std::string>& words, std::size_t current) {
  Line line;
  bool ended = false;
  const OptionRow* wanted = nullptr;
  const auto keep = [&](const OptionRow& row, const std::string& value) {
    const std::string_view name = row.name;
    const bool formats = (row.marks & (kBinaryOnly | kLinesOnly | kTablesOnly)) != 0 || name == "format";
    if (formats || name == "decompress") line.format.push_back(NameOf(row) + (TakesValue(row) ? "=" + value : ""));
  };
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    const OptionRow* const wants = std::exchange(wanted, nullptr);
    if (i == current) {
      line.wanted = wants;
      line.options_end = ended;
    } else if (wants != nullptr) {
      keep(*wants, word);
    } else if (ended || word.size() < 2 || word[0] != '-') {
      line.names.push_back(word);
    } else if (word == "--") {
      ended = true;
    } else if (const Taken taken = TakeOption(word); taken.next) {
      wanted = taken.row;
    } else if (taken.row != nullptr) {
      keep(*taken.row, word.substr(taken.prefix));
    } else if (const OptionRow* const flag = RowOfName(std::string_view(word).substr(2)); flag != nullptr) {
      keep(*flag, "");
    } else if (word[1] != '-') {
      for (const char letter : word.substr(1)) {
        if (const OptionRow* const row = RowOfLetter(letter); row != nullptr) keep(*row, "");
      }
    }
  }
  return line;
}

/// What the line says of its records; nothing if that is refused.
std::optional<JobSpec> ReadFormat(const Line& line) {
  std::vector<std::string> words{"gpusort"};
  words.insert(words.end(), line.format.begin(), line.format.end());
  std::string input = line.names.empty() ? "-" : line.names[0];
  if (const char* const home = std::getenv("HOME"); home != nullptr && input.starts_with("~/")) input.replace(0, 1, home);
  words.insert(words.end(), {"-o", "-", "--", input});
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  try {
    return ParseOptions(static_cast<int>(arguments.size()), arguments.data());
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The names of the header of the input, if that is a regular file of CSV that has one at its front.
std::vector<std::string> ColumnNames(const JobSpec& spec) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20, kStep = std::size_t{64} << 10;
  const std::string& path = spec.source.inputs[0];
  if (RowOf(*spec.source.table).names != ColumnNames::kHeader || spec.source.table->header == 0) return {};
  // Opening a pipe or a device may do something, so it is looked at before.
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  const detail::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.open() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  const CsvFormat format(spec);
  try {
    const auto source = [&](std::span<std::byte> out) {
      const ssize_t got = ::read(file.get(), out.data(), out.size());
      return static_cast<std::uint64_t>(std::max<ssize_t>(got, 0));
    };
    Decoder decoder(spec.source.codec.value_or(CodecOfPath(path)), path, source);
    std::vector<std::byte> front(kMostBytes);
    for (std::size_t have = 0; have < kMostBytes;) {
      const std::size_t got = decoder.Read(std::span(front).subspan(have, std::min(kStep, kMostBytes - have)));
      have += got;
      const RecordSpan bytes = std::span(front).first(have);
      if (const auto header = format.HeaderBytes(bytes, got == 0)) return format.NamesOf(bytes.first(*header));
    }
  } catch (const Error&) {
  }
  return {};
}

/// As keys are written: in double quotes if it would mean something else without.
std::string KeyOfColumn(const std::string& name, bool quoted) {
  const auto first = static_cast<unsigned char>(name[0]);
  if (!quoted && first != '"' && first != '#' && std::isdigit(first) == 0 && name.find(':') == name.npos) return name;
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

void AddColumns(const JobSpec& spec, std::string_view typed, Completions& found) {
  const std::vector<std::string> names = ColumnNames(spec);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    // By number what no line of the answer can hold, what would not reach the eye as it is, and what is no one column.
    const bool by_name = !typed.starts_with('#') && !name.empty() && EscapeName(name) == name &&
                         std::count(names.begin(), names.end(), name) == 1;
    const std::string number = "#" + std::to_string(i + 1);
    found.words.push_back(by_name ? Completions::Word{KeyOfColumn(name, typed.starts_with('"')), "column " + number}
                                  : Completions::Word{number, EscapeName(name)});
  }
}

/// Where the parts behind a key's column begin: at its colon; npos: the column is not complete.
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

/// The words for an option's value that are always the same.
std::vector<std::string> WordsFor(const OptionRow& row) { return Split(WordsOf(row.name), " "); }

/// What may follow the last colon of a key: of each group of words one.
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
  // Of binary records, whose options may be still to come: OFFSET:TYPE:asc.
  const bool offset = end != typed.npos && end > 0 &&
                      std::all_of(typed.begin(), typed.begin() + static_cast<std::ptrdiff_t>(end),
                                  [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!offset) return;
  const bool has_type = typed.find(':', end + 1) != typed.npos;
  AddParts(typed, end, {has_type ? directions : WordsFor(*RowOfName("type"))}, found);
}

void AddValues(const OptionRow& row, std::string_view typed, const Line& line, Completions& found) {
  const std::string_view argument = row.argument;
  for (const std::string& word : WordsFor(row)) found.words.push_back({word, ""});
  if (argument == "FILE") found.names = Names::kFiles;
  if (argument == "DIR") found.names = Names::kFolders;
  if (argument == "KEY") AddKeys(line, typed, found);
  const auto in_number = [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; };
  if (argument == "SIZE" && !typed.empty() && std::all_of(typed.begin(), typed.end(), in_number)) {
    for (const char unit : std::string_view("KMGT")) found.words.push_back({std::string(typed) + unit, ""});
    if ((row.marks & kShare) != 0) found.words.push_back({std::string(typed) + '%', "of all"});
  }
}

void AddOptions(std::string_view typed, Completions& found) {
  for (const OptionRow& row : kOptionRows) {
    if (row.letter != 0 && !typed.starts_with("--")) found.words.push_back({std::string("-") + row.letter, About(row)});
    if (row.name[0] == '\0') continue;
    if (!TakesValue(row)) found.words.push_back({NameOf(row), About(row)});
    if (TakesValue(row) || !WordsFor(row).empty()) found.words.push_back({NameOf(row) + "=", About(row)});
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
  } else if (const Taken taken = TakeOption(word); taken.row != nullptr && !taken.next) {
    prefix = word.substr(0, taken.prefix);
    AddValues(*taken.row, std::string_view(word).substr(taken.prefix), line, found);
  } else {
    AddOptions(word, found);
    const bool letters = std::all_of(word.begin() + 1, word.end(), [](char c) { return RowOfLetter(c) != nullptr; });
    if (letters && word.size() > 2) found.words.push_back({word, ""});
  }
  for (Completions::Word& candidate : found.words) candidate.text.insert(0, prefix);
  std::erase_if(found.words, [&](const Completions::Word& candidate) { return !candidate.text.starts_with(word); });
  return found;
}

}  // namespace gpusort

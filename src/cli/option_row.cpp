#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/option_table.hpp"

namespace gpusort {

const OptionRow* FindOption(std::string_view name) {
  for (const OptionRow& row : kOptionRows) {
    const bool found = name.starts_with("--") ? name.size() > 2 && row.name == name.substr(2)
                                              : name.size() == 2 && row.letter != 0 && row.letter == name[1];
    if (found) return &row;
  }
  return nullptr;
}

std::string LongName(const OptionRow& row) {
  return row.name[0] == '\0' ? std::string("-") + row.letter : std::string("--") + row.name;
}

std::string ShortName(const OptionRow& row) { return row.letter != 0 ? std::string("-") + row.letter : LongName(row); }

std::vector<std::string> WordsOf(const OptionRow& row) {
  std::istringstream words{std::string(row.words)};
  return {std::istream_iterator<std::string>(words), {}};
}

bool ChangesBytes(const OptionRow& row) { return (row.traits & kAnyAttempt) == 0 || (row.traits & kSameFile) != 0; }

std::string OptionsAsJson() {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const SectionTitle& section : kSectionTitles) {
    for (const OptionRow& row : kOptionRows) {
      if (row.section != section.section) continue;
      rows.push_back({{"name", row.name},
                      {"letter", std::string(row.letter == 0 ? 0 : 1, row.letter)},
                      {"argument", row.argument},
                      {"words", WordsOf(row)},
                      {"repeats", (row.traits & kRepeats) != 0},
                      {"changes_bytes", ChangesBytes(row)},
                      {"section", section.title},
                      {"help", row.help}});
    }
  }
  return rows.dump(1) + "\n";
}

}  // namespace gpusort

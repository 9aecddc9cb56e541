#include "cli/option_table.hpp"

#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

namespace gpusort {

bool ChangesBytes(const OptionRow& row) { return (row.marks & kAnyAttempt) == 0 || (row.marks & kSameFile) != 0; }

std::string OptionsAsJson() {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const OptionRow& row : kOptionRows) {
    std::istringstream words{std::string(WordsOf(row.name))};
    const char* title = "";
    for (const SectionTitle& section : kSectionTitles) {
      if (section.section == row.section) title = section.title;
    }
    rows.push_back({{"name", row.name},
                    {"letter", std::string(row.letter == 0 ? 0 : 1, row.letter)},
                    {"argument", row.argument},
                    {"words", std::vector<std::string>{std::istream_iterator<std::string>(words), {}}},
                    {"repeats", (row.marks & kRepeats) != 0},
                    {"changes_bytes", ChangesBytes(row)},
                    {"section", title},
                    {"help", row.help}});
  }
  return rows.dump(1) + "\n";
}

}  // namespace gpusort

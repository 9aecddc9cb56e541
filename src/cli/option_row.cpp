#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/names_of_inputs.hpp"
#include "cli/option_table.hpp"
#include "formats/registry.hpp"

namespace gpusort {
namespace {

std::vector<std::string> SplitWords(const char* words) {
  std::istringstream rest{std::string(words)};
  return {std::istream_iterator<std::string>(rest), {}};
}

nlohmann::ordered_json FormatsAsJson() {
  nlohmann::ordered_json formats = nlohmann::ordered_json::array();
  for (const FormatRow& row : kFormatRows) {
    JobSpec spec;
    SetTable(row, spec.source);
    // A TSV file has no quotes by default, but an option can give it quotes or comments.
    if ((row.takes & kTakesComment) != 0) spec.source.table->comment = '#';
    // Only if each delimiter ends a record, a record can be found without the bytes before it.
    const bool scanned = row.make(spec)->modes() != 1;
    formats.push_back({{"name", row.name}, {"extensions", SplitWords(row.extensions)}, {"scanned", scanned}});
  }
  return formats;
}

}  // namespace

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

std::vector<std::string> WordsOf(const OptionRow& row) { return SplitWords(row.words); }

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
      if (std::string_view(row.name) == "format") rows.back()["formats"] = FormatsAsJson();
    }
  }
  return rows.dump(1) + "\n";
}

}  // namespace gpusort

#include <algorithm>
#include <cctype>

#include "cli/column_key.hpp"
#include "cli/command_line.hpp"
#include "cli/names_of_inputs.hpp"
#include "cli/option_values.hpp"
#include "cli/refuse_line_keys.hpp"
#include "cli/resolve.hpp"
#include "formats/registry.hpp"

namespace gpusort {
namespace {

/// Returns true if the text names a column and has more words: "id:int". The header will show if there is such a
/// column.
bool IsNamedColumnKey(const std::string& text) {
  return text[0] != '#' && text.find(':') != text.npos && IsColumnKey(text);
}

const char* NameOfFormat(Format format) {
  return format == Format::kLines ? "lines" : format == Format::kBinary ? "binary records" : "records with columns";
}

/// Returns true if the option, which is for records with columns, also has a meaning for the keys of typed lines.
bool TakenByTypedLines(const Typed& typed, const OptionRow& row, std::optional<Format> format) {
  const bool lines = format ? *format == Format::kLines : TableOfInputs(typed.spec.source) == nullptr;
  return lines && (row.traits & kTablesOnly) != 0 && HasTextKey(typed) &&
         (row.takes == 0 || (row.takes & kTypedLines.takes) != 0);
}

/// Returns the format that --format names, or otherwise the format that is implied by the first option which is only
/// for one format.
std::optional<Format> FormatOfOptions(Typed& typed) {
  Source& source = typed.spec.source;
  std::optional<Format> format;
  std::string because;
  if (!typed.format.empty()) {
    format = typed.format == "binary" ? Format::kBinary : typed.format == "lines" ? Format::kLines : Format::kTable;
    if (format == Format::kTable) SetTable(*FindFormat(typed.format), source);
    because = "--format " + typed.format;
  }
  for (const auto& [row, values] : typed.given) {
    if ((row->traits & (kLinesOnly | kBinaryOnly | kTablesOnly)) == 0) continue;
    if (!format || *format == Format::kTable) RefuseLineOption(typed, *row);
    const bool table = format ? *format == Format::kTable : TableOfInputs(source) != nullptr;
    if ((row->traits & kTablesToo) != 0 && table) continue;
    if (source.table && row->takes == kTakesFields && (RowOf(*source.table).takes & kTakesFields) != 0) continue;
    if (TakenByTypedLines(typed, *row, format)) continue;
    const Format means = (row->traits & kLinesOnly) != 0    ? Format::kLines
                         : (row->traits & kBinaryOnly) != 0 ? Format::kBinary
                                                            : Format::kTable;
    if (format && *format != means) {
      const bool separator = row->letter == 't' && *format == Format::kTable;
      FailUsage(LongName(*row) + " is for " + NameOfFormat(means) + ", " + because + " is not" +
                (separator ? ": give --delimiter" : ""));
    }
    if (!format && means == Format::kLines) source.lines_because = ShortName(*row);
    format = means;
    because = LongName(*row);
  }
  if (format == Format::kTable && !source.table) {
    const FormatRow* const named = TableOfInputs(source);
    SetTable(named != nullptr ? *named : *FindFormat("csv"), source);
  }
  return format;
}

/// Returns the format of inputs whose extensions do not mean a format with columns.
Format FormatOfNames(Typed& typed, bool column_keys) {
  Source& source = typed.spec.source;
  const auto binary = [&](const std::string& input) {
    return input != "-" && TypeOfName(ExpandedName(input, source)).has_value();
  };
  const auto first = std::find_if(source.inputs.begin(), source.inputs.end(), binary);
  if (first == source.inputs.end()) {
    for (const std::string& input : source.inputs) RefuseTypeInDoubt(input, source);
    if (column_keys && !source.inputs.empty()) {
      SetTable(*FindFormat("csv"), source);
      return Format::kTable;
    }
    source.format_guessed = source.inputs.empty();
    return Format::kLines;
  }
  const auto other = std::find_if_not(source.inputs.begin(), source.inputs.end(), binary);
  if (other != source.inputs.end()) {
    FailUsage("the name " + InQuotes(*first) + " means numbers and " + InQuotes(*other) +
              " means lines: give --format");
  }
  return Format::kBinary;
}

}  // namespace

bool IsFieldKey(const std::string& text) { return std::isdigit(static_cast<unsigned char>(text[0])) != 0; }

bool HasTextKey(const Typed& typed) { return std::ranges::any_of(typed.keys, IsTextKey); }

bool IsColumnKey(const std::string& text) {
  if (IsFieldKey(text) || IsObsolescent(text) || IsTextKey(text)) return false;
  try {
    ParseColumnKey(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

Format ResolveFormat(Typed& typed) {
  if (const std::optional<Format> format = FormatOfOptions(typed)) return *format;
  Source& source = typed.spec.source;
  const std::vector<std::string>& keys = typed.keys;
  const auto of_lines = [](const std::string& text) {
    return IsObsolescent(text) || IsFieldKey(text) || IsTextKey(text);
  };
  const auto field = std::find_if(keys.begin(), keys.end(), of_lines);
  if (field != keys.end()) {
    RefuseLineKey(typed, *field);
    source.lines_because = (IsObsolescent(*field) ? "" : "-k") + KeyText(*field);
    if (!IsFieldKey(*field)) return Format::kLines;
  } else {
    if (const FormatRow* const named = OneTableOfInputs(source)) {
      SetTable(*named, source);
      return Format::kTable;
    }
  }
  const bool columns = field == keys.end() && !keys.empty() && std::all_of(keys.begin(), keys.end(), IsNamedColumnKey);
  return FormatOfNames(typed, columns);
}

void ResolveRecords(Typed& typed) {
  JobSpec& spec = typed.spec;
  spec.source.format_assumed = typed.format.empty() && typed.type.empty() && typed.record_size.empty();
  spec.source.format = ResolveFormat(typed);
  switch (spec.source.format) {
    case Format::kLines:
      typed.shuffle       ? ResolveShuffledLines(typed)
      : HasTextKey(typed) ? ResolveTypedLines(typed)
      : typed.placed()    ? ResolvePlacedLines(typed)
                          : ResolveLines(typed);
      break;
    case Format::kTable:
      ResolveTable(typed);
      break;
    case Format::kBinary:
      typed.shuffle    ? ResolveShuffledRecords(typed)
      : typed.placed() ? ResolvePlacedRecords(typed)
                       : ResolveFixed(typed);
      break;
  }
  if (typed.placed()) spec.source.table->placed = true;
  if (!spec.source.table && !typed.header.empty()) {
    spec.source.header = Named("--header", [&] { return ParseCount(typed.header, 1, kMaxSize); });
  }
}

}  // namespace gpusort

#include "formats/registry.hpp"

#include <algorithm>
#include <iterator>

#include "formats/text_reader.hpp"
#include "kernels/error.hpp"

namespace gpusort {

const FormatRow* FindFormat(std::string_view name) {
  const auto* const row = std::ranges::find(kFormatRows, name, &FormatRow::name);
  return row == std::end(kFormatRows) ? nullptr : row;
}

const FormatRow* FormatOfFile(std::string_view path) {
  const std::string lower = LowerText(path);
  for (const FormatRow& row : kFormatRows) {
    for (std::string_view rest = row.extensions; !rest.empty();) {
      const std::string_view extension = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), extension.size() + 1));
      if (lower.ends_with(extension) && lower.size() > extension.size()) return &row;
    }
  }
  return nullptr;
}

const FormatRow& RowOf(const TableOptions& table) {
  if (table.name == kTypedLines.name) return kTypedLines;
  if (table.name == kPlainRecords.name) return kPlainRecords;
  const FormatRow* const row = FindFormat(table.name);
  if (row == nullptr) throw Error(ErrorCode::kInternal, "there is no format " + table.name);
  return *row;
}

bool NeedsZone(const TableOptions& table) {
  const unsigned takes = RowOf(table).takes;
  return (takes & kTakesZone) != 0 &&
         ((takes & kTakesTime) != 0 || std::ranges::any_of(table.keys, &ColumnKey::has_zone));
}

bool IsDump(const JobSpec& spec) {
  return spec.source.table && RowOf(*spec.source.table).names == ColumnNames::kTables;
}

std::string ColumnWord(const FormatRow& row) {
  return row.names == ColumnNames::kPaths ? "path" : row.names == ColumnNames::kFields ? "field" : "column";
}

std::unique_ptr<TableFormat> MakeTableFormat(const JobSpec& spec) { return RowOf(*spec.source.table).make(spec); }

}  // namespace gpusort

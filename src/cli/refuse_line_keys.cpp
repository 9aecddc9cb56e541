#include "cli/refuse_line_keys.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ascii.hpp"
#include "base/text.hpp"
#include "cli/column_key.hpp"
#include "cli/command_line.hpp"
#include "cli/header_of_input.hpp"
#include "cli/key_def.hpp"
#include "cli/names_of_inputs.hpp"
#include "cli/option_values.hpp"
#include "cli/resolve.hpp"
#include "formats/registry.hpp"
#include "io/codec/row_schema.hpp"

namespace gpusort {
namespace {

/// The column and the order that a key of lines asks for.
struct Wish {
  std::uint64_t number = 0;  ///< of the column, from 1; 0: any column
  KeyOptions letters;
  std::string name;  ///< the text of the key, which may also be the name of a column, such as 2020
};

bool IsText(const RowColumn& column) {
  return column.type == RowColumn::Type::kText || column.type == RowColumn::Type::kBytes;
}

bool Fits(const RowColumn& column, const KeyOptions& letters) {
  if (letters.numeric || letters.general || letters.human) {
    return column.type == RowColumn::Type::kInt || column.type == RowColumn::Type::kDecimal ||
           column.type == RowColumn::Type::kFloat;
  }
  if (letters.month || letters.version || letters.fold_case) return IsText(column);
  return true;
}

/// A column for the user: a column of the file, or a group of columns, which is `nested`.
struct NamedColumn {
  RowColumn column;
  std::size_t number;  ///< counts from 1
};

std::vector<NamedColumn> ColumnsOf(const RowSchema& schema) {
  std::vector<NamedColumn> columns;
  for (const RowColumn& column : schema.columns) {
    const bool same_group = !columns.empty() && column.nested && columns.back().column.nested &&
                            columns.back().column.group == column.group;
    if (!same_group) columns.push_back({column, columns.size() + 1});
  }
  return columns;
}

/// Returns a key that the user can type for a column.
std::string KeyOf(const NamedColumn& named, const std::vector<NamedColumn>& all, const Wish& wish) {
  const std::string& name = named.column.name;
  const auto is_plain = [](char c) { return IsLetterOrDigit(c) || c == '_'; };
  const auto same_name = [&](const NamedColumn& other) { return other.column.name == name; };
  const bool by_name = !name.empty() && !IsDigit(name[0]) && std::ranges::all_of(name, is_plain) &&
                       std::ranges::count_if(all, same_name) == 1;
  std::string key = by_name ? name : "#" + std::to_string(named.number);
  if (IsText(named.column)) {
    const KeyOptions& letters = wish.letters;
    key += letters.numeric     ? ":decimal"
           : letters.general   ? ":float"
           : letters.version   ? ":natural"
           : letters.fold_case ? ":nocase"
                               : "";
  }
  if (wish.letters.reverse) key += ":desc";
  return by_name ? key : "'" + key + "'";
}

/// A file of columns among the inputs.
struct ColumnInput {
  std::string path;  ///< empty: the names of the inputs are not known yet
  const FormatRow* row = nullptr;

  std::string title() const { return std::string(FindColumnFile(row->codec)->title); }
  std::string text() const {
    return path.empty() || path == "-" ? "the input is " + title() : InQuotes(path) + " is " + title();
  }
};

std::optional<ColumnInput> FindColumnInput(const Source& source) {
  if (source.table) {
    const FormatRow& row = RowOf(*source.table);
    if (!IsColumnFile(row.codec)) return std::nullopt;
    return ColumnInput{source.inputs.empty() ? "" : source.inputs[0], &row};
  }
  for (const std::string& input : source.inputs) {
    const FormatRow* const row = TableOfInput(input, source);
    if (row != nullptr && IsColumnFile(row->codec)) return ColumnInput{input, row};
  }
  return std::nullopt;
}

/// Returns a key for a column that the file has, as text after "give ".
std::string Advice(const Typed& typed, const ColumnInput& input, const Wish& wish) {
  JobSpec spec = typed.spec;
  SetTable(*input.row, spec.source);
  spec.source.codec = input.row->codec;
  const std::vector<std::byte> header = HeaderOfInput(spec, input.path);
  if (header.empty()) return "-k NAME, with the name of a column";
  const std::vector<NamedColumn> all = ColumnsOf(RowSchema::Parse(header));
  const auto can_be_key = [](const NamedColumn& one) {
    return !one.column.nested && one.column.order != RowColumn::Order::kNone;
  };
  const auto fits = [&](const NamedColumn& one) { return can_be_key(one) && Fits(one.column, wish.letters); };
  auto found = std::ranges::find_if(
      all, [&](const NamedColumn& one) { return can_be_key(one) && one.column.name == wish.name; });
  if (found == all.end() && wish.number > 0 && wish.number <= all.size()) {
    found = all.begin() + static_cast<std::ptrdiff_t>(wish.number - 1);
    if (!can_be_key(*found)) found = all.end();
  }
  if (found == all.end()) found = std::ranges::find_if(all, fits);
  if (found == all.end()) found = std::ranges::find_if(all, can_be_key);
  return found == all.end() ? "another file, because no column has an order"
                            : "-k NAME, such as -k " + KeyOf(*found, all, wish);
}

/// Returns the letters of the options without -r, which also reverses the keys of columns.
KeyOptions LettersOf(const Typed& typed) {
  KeyOptions letters = typed.spec.order.ordering;
  letters.reverse = false;
  return letters;
}

Wish WishOf(const Typed& typed, const std::string& key) {
  const KeyOptions letters = LettersOf(typed);
  try {
    if (IsTextKey(key)) return {ParseTextKey(key).first_field, {}, key};
    const KeyDef parsed = ParseLineKey(key);
    return {parsed.begin_field + 1, parsed.options.none() ? letters : parsed.options, key};
  } catch (const Error&) {
    return {0, letters, key};
  }
}

}  // namespace

void RefuseLineOption(const Typed& typed, const OptionRow& row) {
  if ((row.traits & kLinesOnly) == 0 || (row.traits & kTablesToo) != 0) return;
  const std::optional<ColumnInput> input = FindColumnInput(typed.spec.source);
  if (!input) return;
  const std::string why = ShortName(row) + " is for lines, and " + input->text() + ": ";
  const bool has_key = !typed.keys.empty() && std::ranges::all_of(typed.keys, IsColumnKey);
  const bool orders = row.name == std::string_view("sort") ||
                      (row.letter != 0 && std::string_view("bdfghinMRV").find(row.letter) != std::string_view::npos);
  if (has_key || !orders) FailUsage(why + "leave it out");
  if (typed.spec.order.ordering.random) FailUsage(why + "give --shuffle for a random order");
  FailUsage(why + "give " + Advice(typed, *input, {0, LettersOf(typed), {}}));
}

void RefuseLineKey(const Typed& typed, const std::string& key) {
  const std::optional<ColumnInput> input = FindColumnInput(typed.spec.source);
  if (!input) return;
  FailUsage("--key: " + InQuotes(KeyText(key)) + " is a key of lines, and " + input->text() + ": give " +
            Advice(typed, *input, WishOf(typed, key)));
}

}  // namespace gpusort

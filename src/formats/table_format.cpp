#include "formats/table_format.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "error.hpp"
#include "formats/copy_format.hpp"
#include "formats/csv_format.hpp"
#include "formats/pgcopy_binary_format.hpp"
#include "formats/pgdump_format.hpp"
#include "formats/json_format.hpp"
#include "support/text.hpp"

namespace gpusort {
namespace {

/// So many values of a key without a type are looked at, to warn of one that looks like numbers or times.
constexpr std::uint64_t kGuessed = 1000;
constexpr std::size_t kMostShown = 40;

std::string Shown(std::string_view text) {
  std::string shown(1, '\'');
  shown += EscapeName(text.substr(0, kMostShown));
  return shown + (text.size() > kMostShown ? "...'" : "'");
}

/// The names, those most like `name` first, as many as a message bears.
std::string NearestFirst(std::string_view name, std::vector<std::string> names) {
  constexpr std::size_t kMostNames = 20;
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (std::string& other : names) ranked.emplace_back(EditDistance(name, other), std::move(other));
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string list;
  for (std::size_t i = 0; i < std::min(ranked.size(), kMostNames); ++i) {
    list += (i > 0 ? ", " : "") + Shown(ranked[i].second);
  }
  return list + (ranked.size() > kMostNames ? ", ..." : "");
}

ValueRule WholeRule(const TableOptions& table) {
  ValueRule rule;
  rule.descending = table.reverse;
  return rule;
}

}  // namespace

TableFormat::TableFormat(const Options& options) : table_(*options.table), whole_(WholeRule(table_)) {
  for (const ColumnKey& key : table_.keys) {
    keys_.emplace_back(key.rule);
    columns_.push_back(key.number - (key.number > 0 ? 1 : 0));
  }
  for (const std::string& null : table_.nulls) {
    if (!null.empty()) begins_null_.set(static_cast<unsigned char>(null[0]));
  }
  key_.begin_field = key_.end_field = 1;
  view_.keys = &key_;
  view_.key_count = 1;
  view_.separator = kKeyEnd;
  view_.last_resort = false;
}

RecordLayout TableFormat::layout() const {
  RecordLayout layout = MakeLineLayout('\n', view_);
  layout.keys = 2;
  return layout;
}

std::uint64_t TableFormat::Append(RecordSpan records, ScanState& state, std::vector<std::byte>& out,
                                  KeyTally& tally) const {
  const std::size_t begin = out.size();
  out.insert(out.end(), {std::byte{kKeyedHead}, static_cast<std::byte>(kKeyEnd)});
  FieldWriter writer(out);
  writer.Begin(most_keys_);
  tally.columns.resize(keys_.size());
  const std::uint64_t size = PutKeys(records, state, writer, tally);
  writer.End();
  StoreBody(records.first(size), begin, out);
  return size;
}

void TableFormat::PutKey(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally) const {
  const ColumnKey& column = table_.keys[key];
  if (field.is == Field::kMissing) {
    if (table_.strict) throw BadRecord(0, "it has no column '" + EscapeName(column.column) + "', which is a key");
    ++tally.short_records;
  }
  if (field.is != Field::kValue) return keys_[key].PutNull(out);
  KeyTally::Column& seen = tally.columns[key];
  if (!column.rule.typed && seen.values < kGuessed) {
    ++seen.values;
    const std::optional<ValueType> guess = LooksLike(field.text);
    seen.looks_like &= guess ? 1u << static_cast<unsigned>(*guess) : 0;
  }
  if (PutValue(key, field, out, tally)) return;
  if (table_.strict) {
    throw BadRecord(field.at, "column '" + EscapeName(column.column) + "': " + Shown(field.text) + " is no " +
                                  std::string(ValueTypeName(column.rule.type)));
  }
  if (seen.bad++ == 0) {
    seen.first_input = tally.input;
    seen.first_record = tally.record;
    seen.first_offset = tally.offset + field.at;
    seen.first_text = field.text.substr(0, kMostShown + 1);
  }
  keys_[key].PutNull(out);
}

bool TableFormat::PutValue(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally) const {
  return keys_[key].Put(field.text, out, &tally.lacks_zone);
}

void TableFormat::PutWhole(const Field& field, FieldWriter& out) const {
  if (field.is == Field::kValue) {
    whole_.Put(field.text, out);
  } else {
    whole_.PutNull(out);
  }
}

bool TableFormat::IsNull(std::string_view unquoted) const {
  if (unquoted.empty()) return true;
  if (!begins_null_[static_cast<unsigned char>(unquoted[0])]) return false;
  return std::find(table_.nulls.begin(), table_.nulls.end(), unquoted) != table_.nulls.end();
}

std::optional<std::uint64_t> TableFormat::ByteOrderMark(RecordSpan front, bool all) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (front.size() < kMark.size()) return all ? std::optional<std::uint64_t>(0) : std::nullopt;
  return std::memcmp(front.data(), kMark.data(), kMark.size()) == 0 ? kMark.size() : 0;
}

void TableFormat::Resolve(const std::vector<std::string>& names) {
  for (std::size_t k = 0; k < table_.keys.size(); ++k) {
    const ColumnKey& key = table_.keys[k];
    const std::string operand = "--key: '" + EscapeName(key.text) + "': ";
    const auto fail = [&](const std::string& column) {
      const std::string count = std::to_string(names.size()) + (names.size() == 1 ? " column: " : " columns: ");
      throw Error(ErrorCode::kUsage, operand + "there is no column " + column + " (the header has " + count +
                                         NearestFirst(key.column, names) + ")");
    };
    if (key.number > names.size()) fail(std::to_string(key.number));
    if (key.number > 0) continue;
    const auto found = std::find(names.begin(), names.end(), key.column);
    if (found == names.end()) fail("'" + EscapeName(key.column) + "'");
    if (const auto again = std::find(found + 1, names.end(), key.column); again != names.end()) {
      throw Error(ErrorCode::kUsage, operand + "several columns have this name: give #" +
                                         std::to_string(found - names.begin() + 1) + " or #" +
                                         std::to_string(again - names.begin() + 1));
    }
    columns_[k] = static_cast<std::uint64_t>(found - names.begin());
  }
}

std::unique_ptr<TableFormat> MakeTableFormat(const Options& options) {
  switch (options.table->kind) {
    case TableKind::kCsv:
      return std::make_unique<CsvFormat>(options);
    case TableKind::kJsonLines:
      return std::make_unique<JsonFormat>(options);
    case TableKind::kPgCopy:
    case TableKind::kMysql:
      return std::make_unique<CopyFormat>(options);
    case TableKind::kPgCopyBinary:
      return std::make_unique<PgCopyBinaryFormat>(options);
    case TableKind::kPgDump:
      return std::make_unique<PgDumpFormat>(options);
    default:
      throw Error(ErrorCode::kUsage, "--format " + options.table->name + " is not built yet");
  }
}

std::vector<std::string> DescribeTally(const Options& options, const KeyTally& tally) {
  std::vector<std::string> lines;
  const TableOptions& table = *options.table;
  for (std::size_t k = 0; k < tally.columns.size(); ++k) {
    const KeyTally::Column& column = tally.columns[k];
    const ColumnKey& key = table.keys[k];
    const std::string name = "column '" + EscapeName(key.column) + "'";
    if (column.bad > 0) {
      lines.push_back(name + ": " + std::to_string(column.bad) + (column.bad == 1 ? " value is no " : " values are no ") +
                      std::string(ValueTypeName(key.rule.type)) + " and ordered as null, the first in record " +
                      std::to_string(column.first_record + 1) +
                      (options.inputs.size() > 1 ? " of " + EscapeName(options.inputs[column.first_input]) : "") + ": " +
                      Shown(column.first_text) +
                      "; --strict makes this an error");
    }
    const unsigned guess = column.values > 0 ? column.looks_like : 0;
    if (guess != 0) {
      const auto type = static_cast<ValueType>(std::countr_zero(guess));
      lines.push_back(name + " looks like " + std::string(ValueTypeName(type)) + " but is ordered as text: say -k " +
                      EscapeName(key.text) + ":" + std::string(ValueTypeName(type)) + ", or :text");
    }
  }
  if (tally.short_records > 0) {
    lines.push_back(std::to_string(tally.short_records) + " keys are of columns that their records do not have; ordered as null");
  }
  if (tally.lacks_zone) lines.push_back("timestamps without a zone were taken as UTC");
  return lines;
}

}  // namespace gpusort

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "base/ascii.hpp"
#include "cli/column_key.hpp"
#include "cli/command_line.hpp"
#include "cli/key_def.hpp"
#include "cli/names_of_inputs.hpp"
#include "cli/option_values.hpp"
#include "cli/resolve.hpp"
#include "formats/log_fields.hpp"
#include "formats/registry.hpp"
#include "io/codec/row_module.hpp"

namespace gpusort {
namespace {

/// Returns the key of a column that sorts as a key of lines does, as far as possible.
std::string AsColumnKey(const KeyDef& key) {
  std::string text = "-k '#" + std::to_string(key.begin_field + 1);
  if (key.options.numeric) text += ":decimal";
  if (key.options.general) text += ":float";
  if (key.options.version) text += ":natural";
  if (key.options.fold_case) text += ":nocase";
  return text + (key.options.reverse ? ":desc'" : "'");
}

/// Returns the error message about a key that is not a key of lines: the mistake, which is `error`, and what to write
/// instead.
std::string AboutLineKey(const Typed& typed, const std::string& text, const Error& error) {
  const std::string key = "'" + KeyText(text) + "' is not a key of lines", why = ": " + EscapeName(error.what());
  if (IsFieldKey(text) || IsObsolescent(text)) {
    const bool binary = text.find(':') != text.npos;
    return key + why +
           (binary ? "; for fields of binary records give --type or --record-size, too"
                   : "; give F[.C][OPTS][,F[.C][OPTS]], like 2,2 or 3,3nr");
  }
  const std::string& because = typed.spec.source.lines_because;
  if (because.empty() || !IsColumnKey(text)) {
    return key + why + "; for columns by name give " +
           (typed.format.empty() ? "--format, too, like csv" : "another --format, like csv");
  }
  if (because.starts_with("-k")) return key + ", and " + because + " is one: give columns by number as #N";
  return key + ", and " + because + " is for lines: for columns by name " +
         (because == "-t" ? "give --delimiter " + InQuotes(typed.separator) + " instead" : "leave it out");
}

std::vector<KeyDef> ParseLineKeys(const Typed& typed) {
  std::vector<KeyDef> keys;
  for (const std::string& text : typed.keys) {
    try {
      keys.push_back(ParseLineKey(text));
    } catch (const Error& error) {
      FailUsage("--key: " + AboutLineKey(typed, text, error));
    }
  }
  return keys;
}

/// Returns the options with which the same lines are sorted by columns. `keys` are keys of columns, each with its -k.
std::string ColumnForm(const Typed& typed, const std::vector<std::string>& keys) {
  std::string form = typed.separator.empty() ? "" : "--delimiter " + InQuotes(typed.separator);
  for (const std::string& key : keys) form += (form.empty() ? "" : " ") + key;
  return form.empty() ? "-k NAME" : form;
}

std::string NoteOfLines(const Typed& typed) {
  const Order& order = typed.spec.order;
  const bool whole_line = order.lines->order.keys.empty();
  std::string note = typed.zero_terminated ? "lines that end with NUL" : "lines";
  if (whole_line) note += std::string(", key: the whole line") + (order.reverse ? ", descending" : "");
  for (const std::string& text : typed.keys) note += ", key " + KeyText(text);
  if (!order.ordering.none() && !whole_line) note += ", all keys -" + order.ordering.letters();
  return note + (order.stable ? ", equal keys in their order" : "");
}

/// Returns the typed field or expression to write instead of a key of GNU sort, if other keys have that form.
std::string AsTextKey(const std::string& text) {
  constexpr const char* kForms = "write each key as N:TYPE, N,M:TYPE or ~RE:TYPE";
  KeyDef key;
  try {
    key = ParseLineKey(text);
  } catch (const Error&) {
    return kForms;
  }
  KeyOptions letters = key.options;
  letters.skip_start_blanks = letters.skip_end_blanks = letters.reverse = false;
  std::string typed = std::to_string(key.begin_field + 1);
  if (key.end_field != LineKey::kToEnd && key.end_field > key.begin_field && letters.none()) {
    typed += "," + std::to_string(key.end_field + 1);
  }
  const std::pair<bool KeyOptions::*, const char*> types[] = {{&KeyOptions::numeric, ":decimal"},
                                                              {&KeyOptions::general, ":float"},
                                                              {&KeyOptions::version, ":natural"},
                                                              {&KeyOptions::fold_case, ":nocase"}};
  if (letters.none()) typed += ":text";
  for (const auto& [letter, type] : types) {
    if (std::exchange(letters.*letter, false)) typed += type;
  }
  if (!letters.none() || key.begin_char > 0 || key.end_char > 0) return kForms;
  return "write " + typed + (key.options.reverse ? ":desc" : "");
}

/// Throws an error if keys and options of GNU sort are given together with typed fields or regular expressions.
void RefuseForTypedLines(const Typed& typed) {
  const std::string& text_key = *std::ranges::find_if(typed.keys, IsTextKey);
  for (const std::string& text : typed.keys) {
    if (IsTextKey(text)) continue;
    const bool column = IsColumnKey(text);
    FailUsage("--key: '" + KeyText(text) + "' is a key of " + (column ? "columns" : "sort") +
              " and cannot be combined with the typed key " + InQuotes(text_key) + ": " + AsTextKey(text));
  }
  for (const auto& [row, values] : typed.given) {
    if ((row->traits & kLinesOnly) == 0 || (row->traits & kTablesToo) != 0 || row->takes != 0) continue;
    FailUsage(LongName(*row) + " has no meaning with the key " + InQuotes(text_key) +
              ": the type of each key says how it is ordered");
  }
}

/// Throws an error for options that the format does not have.
void RefuseForTable(const Typed& typed) {
  const TableOptions& table = *typed.spec.source.table;
  for (const auto& [row, values] : typed.given) {
    if (row->takes == 0 || (row->takes & RowOf(table).takes) != 0) continue;
    if (typed.format.empty() && row->takes == kTakesTime) FailUsage(LongName(*row) + " is for logs: give --format log");
    FailUsage(LongName(*row) + " has no meaning with --format " + table.name);
  }
}

/// Throws an error for an option that a job of files of columns cannot have, or cannot have yet.
void ResolveColumnFile(const Typed& typed, const FormatRow& row, JobSpec& spec) {
  const std::string format = std::string("--format ") + row.name, title(FindColumnFile(row.codec)->title);
  const auto fail_yet = [&](const std::string& option) {
    FailUsage(option + " cannot be combined with " + format + " yet: leave it out");
  };
  if (spec.source.codec) FailUsage("--decompress has no meaning with " + format + ", whose files say their codec");
  for (const std::string& input : spec.source.inputs) {
    if (CodecOfPath(input) != Codec::kNone) {
      FailUsage(InQuotes(input) + ": " + title +
                " is compressed inside, and cannot be read from a compressed file: expand it");
    }
    if (input == "-") {
      FailUsage("standard input: " + title +
                " is read at several places of a file, and this is a stream: save it to a file, and give its name");
    }
  }
  if (CodecOfPath(spec.target.output) != Codec::kNone) {
    FailUsage(InQuotes(spec.target.output) + ": " + title +
              " is compressed inside: give the name without the extension");
  }
  if (spec.target.index) fail_yet("--index");
  if (spec.order.debug) fail_yet("--debug");
  spec.source.codec = row.codec;
  if (spec.action == Action::kCheck) return;
  const FormatRow* const output = FormatOfFile(spec.target.output);
  const ColumnFile* const columns = output != nullptr ? FindColumnFile(output->codec) : nullptr;
  if (columns != nullptr && columns->title != title) {
    FailUsage(InQuotes(spec.target.output) + ": the inputs are " + title + ", and cannot be written as " +
              std::string(columns->title) + " yet: give another extension");
  }
  spec.target.codec = columns != nullptr ? output->codec : row.codec;
  if (!typed.compress_given || typed.compress_text == "auto") return;
  const std::string why = LoadRows(row.codec).why_no_codec(typed.compress_text);
  if (!why.empty()) FailUsage("--compress: " + InQuotes(typed.compress_text) + ": " + why);
  spec.target.compression = typed.compress_text;
}

/// Returns the first given option because of which records with equal keys are put together or compared.
std::string OptionOfEqualKeys(const Typed& typed) {
  for (const char* const name : {"unique", "only-unique", "only-duplicates", "union", "minus", "intersect"}) {
    const OptionRow& row = *FindOption(std::string("--") + name);
    if (typed.given.contains(&row)) return ShortName(row);
  }
  return {};
}

/// Throws an error for what cannot be done with the key `key`, which is a curve.
void CheckCurve(const ColumnKey& key, const Typed& typed) {
  const JobSpec& spec = typed.spec;
  const std::string front = "--key: " + InQuotes(key.text) + ": ";
  const ColumnFile* const columns = FindColumnFile(RowOf(*spec.source.table).codec);
  if (columns == nullptr || !columns->has_ranges) {
    FailUsage(front +
              "curves are keys of Parquet, whose footers give the ranges of columns; a name with brackets goes "
              "in double quotes");
  }
  const std::pair<bool, std::string> others[] = {
      {spec.order.unique || spec.order.set_inputs() > 0, OptionOfEqualKeys(typed)},
      {spec.order.merge, "-m"},
      {spec.action == Action::kCheck, "--check"}};
  for (const auto& [given, name] : others) {
    if (!given) continue;
    FailUsage(front + name + " cannot be combined with a curve, whose places depend on the ranges in all inputs, and " +
              "are equal for some rows that differ");
  }
}

/// Throws an error for --verify-output if the keys cannot be made from the output.
void RefuseVerify(const JobSpec& spec) {
  const FormatRow& row = RowOf(*spec.source.table);
  if (row.again || !spec.target.verify) return;
  FailUsage(std::string("--verify-output cannot read --format ") + row.name + " yet");
}

/// Sets the bytes between and around fields.
void SetTableBytes(const TypedTable& given, TableOptions& table) {
  if (given.delimiter) table.delimiter = static_cast<unsigned char>(*given.delimiter);
  table.quote = given.quote.value_or(table.quote);
  if (given.escape && *given.escape != table.quote) table.escape = *given.escape;
  if (RowOf(table).escape < 0 && table.escape >= 0 && table.quote < 0) {
    FailUsage(table.name == "tsv" && !given.quote
                  ? "--escape has no meaning without quotes: tsv has some with --quote '\"'"
                  : "--escape has no meaning with --quote none");
  }
  table.comment = given.comment.value_or(-1);
  if (!IsColumnFile(RowOf(table).codec) &&
      (table.delimiter == table.quote || table.delimiter == table.escape || table.delimiter == table.comment ||
       (table.comment >= 0 && table.comment == table.quote) || (table.escape >= 0 && table.quote == table.escape))) {
    FailUsage("--delimiter, --quote, --escape and --comment must be different bytes");
  }
}

std::uint64_t RandomSeed() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

void RefuseManyKeys(const Typed& typed, const std::string& front, const std::string& back) {
  const std::size_t keys = typed.keys.size() + typed.sums.size();
  if (keys <= kMaxKeyFields) return;
  FailUsage(front + std::to_string(keys) + back + "; at most " + std::to_string(kMaxKeyFields));
}

/// Returns the key without the colon that ends the name of a field: "Package" for "Package:".
std::string WithoutFieldColon(std::string key) {
  const std::size_t colon = key.find(':');
  if (key[0] != '"' && colon != key.npos && (colon + 1 == key.size() || key[colon + 1] == ':')) key.erase(colon, 1);
  return key;
}

/// Parses a column of --sum. `before` are the keys and the columns of --sum before it.
ColumnKey ParseSum(const std::string& text, const FormatRow& row, const std::vector<ColumnKey>& before,
                   char decimal_point, int thousands) {
  ColumnKey sum = Named("--sum", [&] {
    const bool fields = row.names == ColumnNames::kFields;
    const bool number = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    if ((row.takes & kTakesFields) != 0 && !text.starts_with('~')) {
      const bool digits = !text.empty() && IsDigit(text[0]);
      if ((digits && (!number || text.find_first_not_of('0') == text.npos)) ||
          (!digits && std::string_view(row.name) == "lines")) {
        FailUsage(InQuotes(text) + ": give the number of one field, such as 2, or a regular expression, such as ~RE");
      }
      if (digits) return ParseTextKey(text + ":decimal", decimal_point, thousands);
    }
    ColumnKey key = ParseColumnKey(fields ? WithoutFieldColon(text) : text, decimal_point, thousands);
    ValueRule plain;
    plain.decimal_point = decimal_point;
    plain.thousands = thousands;
    if (!(key.rule == plain) || text.ends_with(":asc")) {
      FailUsage(InQuotes(text) + ": give the column alone, because the type and the order are those of numbers");
    }
    return key;
  });
  sum.text = text;
  sum.rule.type = ValueType::kDecimal;
  sum.rule.typed = true;
  sum.summed = true;
  if (row.names == ColumnNames::kFields && LogKeys::IsTime(sum) && (row.takes & kTakesTime) != 0) {
    FailUsage("--sum: " + InQuotes(text) + " is the time of a record, and times have no sum");
  }
  // The place of the time is not known here, so a sum could replace it unseen.
  if ((row.takes & kTakesTime) != 0 && std::ranges::any_of(before, LogKeys::IsTime)) {
    FailUsage("--sum needs other keys than the time of a log: give -k FIELD, such as -k host");
  }
  for (const ColumnKey& key : before) {
    if (key.column != sum.column || key.number != sum.number || key.pattern != sum.pattern) continue;
    FailUsage("--sum: " + InQuotes(text) +
              (key.summed ? " is given twice" : " is also a key: equal keys have no sum that would tell more"));
  }
  return sum;
}

void SetTableKeys(Typed& typed) {
  JobSpec& spec = typed.spec;
  const char decimal_point = static_cast<char>(typed.table.decimal_point.value_or('.'));
  const int thousands = typed.table.thousands.value_or(-1);
  if (thousands == static_cast<unsigned char>(decimal_point)) {
    FailUsage("--thousands and --decimal-point must be different bytes");
  }
  RefuseManyKeys(typed, "there are ", typed.sums.empty() ? " keys" : " keys and columns of --sum");
  const FormatRow& row = RowOf(*spec.source.table);
  std::vector<std::string> keys = typed.keys;
  const std::optional<std::uint64_t>& seed = spec.source.table->shuffle;
  if (keys.empty() && *row.key != '\0' && !seed) keys.emplace_back(row.key);
  spec.source.type_note = spec.source.table->name + (seed            ? ", shuffled by --seed " + std::to_string(*seed)
                                                     : !keys.empty() ? ""
                                                     : IsColumnFile(row.codec) ? ", key: all columns by their types"
                                                                               : ", key: all columns as text");
  for (const std::string& text : keys) {
    const bool of_text = (row.takes & kTakesFields) != 0 && IsTextKey(text);
    ColumnKey key = Named("--key", [&] {
      if (of_text) return ParseTextKey(text, decimal_point, thousands);
      const bool field = row.names == ColumnNames::kFields;
      return ParseColumnKey(field ? WithoutFieldColon(text) : text, decimal_point, thousands);
    });
    if (*row.key != '\0' && key.column == row.key && !key.rule.typed) {
      key.rule.type = ValueType::kTimestamp;
      key.rule.typed = true;
    }
    if (key.curve != Curve::kNone) CheckCurve(key, typed);
    key.rule.descending ^= spec.order.reverse;
    spec.source.table->keys.push_back(std::move(key));
    spec.source.type_note += ", key " + EscapeName(text);
  }
  if (!spec.source.table->zone.empty() && !NeedsZone(*spec.source.table)) {
    FailUsage(std::string("--timezone has no meaning without a key of the type timestamp or time") +
              (typed.format.empty() ? "; for logs give --format log" : ""));
  }
  for (const std::string& text : typed.sums) {
    spec.source.table->keys.push_back(ParseSum(text, row, spec.source.table->keys, decimal_point, thousands));
    spec.source.type_note += ", sum of " + EscapeName(text);
  }
  if (!typed.table.since.empty()) spec.source.type_note += ", since " + EscapeName(typed.table.since);
  if (!typed.table.until.empty()) spec.source.type_note += ", until " + EscapeName(typed.table.until);
}

/// The size of fixed records, what they are if --type or an extension says so ("u64"), and where their size comes from.
struct FixedRecord {
  std::uint64_t bytes = 0;
  std::string what, source;
  KeySpec keys;

  std::string from() const { return " (" + (what.empty() ? source : what + " " + source) + ")"; }
};

FixedRecord FindFixedRecord(const Typed& typed) {
  FixedRecord record;
  if (!typed.record_size.empty()) {
    record.source = "--record-size";
    record.bytes = Named("--record-size", [&] {
      const std::uint64_t bytes = ParseBytes(typed.record_size);
      MakeFixedLayout(bytes, {});
      return bytes;
    });
    return record;
  }
  KeyField field;
  if (!typed.type.empty()) {
    field = Named("--type", [&] { return ParseType(typed.type); });
    if (field.type == KeyType::kBytes) {
      FailUsage("--type: " + InQuotes(typed.type) + " is not a number; for records of bytes give --record-size " +
                std::to_string(field.length));
    }
    record.source = "from --type";
  } else {
    const NamedType named = TypeOfInputs(typed.spec.source);
    field = named.field;
    record.source = "from the extension " + named.extension;
  }
  record.bytes = field.length;
  record.what = FormatType(field);
  if (typed.keys.empty()) record.keys.fields.push_back(field);
  return record;
}

void ParseFixedKeys(const Typed& typed, FixedRecord& record) {
  RefuseManyKeys(typed, "--key is given ", " times");
  for (const std::string& text : typed.keys) {
    const KeyField field = Named("--key", [&] {
      if (IsObsolescent(text)) FailUsage(InQuotes(KeyText(text)) + " is a key of lines");
      return ParseKey(text);
    });
    if (field.offset > record.bytes || field.length > record.bytes - field.offset) {
      FailUsage("--key: " + InQuotes(text) + " reaches beyond the record of " + std::to_string(record.bytes) +
                " bytes" + record.from());
    }
    record.keys.fields.push_back(field);
  }
}

}  // namespace

KeyDef ParseLineKey(const std::string& text) {
  if (!IsObsolescent(text)) return ParseKeyDef(text);
  const std::size_t space = std::min(text.find(' '), text.size());
  const auto end = space < text.size() ? std::optional(text.substr(space + 1)) : std::nullopt;
  const std::optional<KeyDef> key = ParseObsolescentKey(text.substr(1, space - 1), end);
  if (!key) throw Error(ErrorCode::kInternal, "a key of the form +F.C is not one");
  return *key;
}

void ResolveLines(Typed& typed) {
  JobSpec& spec = typed.spec;
  if (!typed.sums.empty()) {
    const std::string why = "--sum: lines have fields to add up only with keys that have a type: ";
    if (typed.keys.empty()) FailUsage(why + "give -k N:TYPE, such as -k 1:text, or --format for columns");
    FailUsage(why + "instead of -k " + KeyText(typed.keys[0]) + ", " + AsTextKey(typed.keys[0]));
  }
  spec.order.keys = ParseLineKeys(typed);
  const int separator =
      typed.separator.empty() ? -1 : Named("--field-separator", [&] { return int{ParseSeparator(typed.separator)}; });
  const std::vector<KeyDef> resolved = ResolveKeys(spec.order.keys, spec.order.ordering);
  std::vector<std::string> columns;
  for (const KeyDef& key : resolved) columns.push_back(AsColumnKey(key));
  spec.source.column_form = ColumnForm(typed, columns);
  LineOrder order = MakeLineOrder(resolved, spec.order.ordering, separator, !spec.order.stable && !spec.order.unique);
  spec.order.random = std::any_of(order.keys.begin(), order.keys.end(),
                                  [](const LineKey& key) { return key.ordering == LineOrdering::kRandom; });
  spec.order.lines = std::make_shared<const LineOrdered>(std::move(order));
  spec.order.layout = MakeLineLayout(typed.zero_terminated ? 0 : '\n', spec.order.lines->view);
  spec.source.type_note = NoteOfLines(typed);
}

void ResolveTable(Typed& typed) {
  JobSpec& spec = typed.spec;
  TableOptions& table = *spec.source.table;
  RefuseForTable(typed);
  if (const FormatRow& row = RowOf(table); IsColumnFile(row.codec)) ResolveColumnFile(typed, row, spec);
  RefuseVerify(spec);
  SetTableBytes(typed.table, table);
  if (typed.table.no_header) table.header = 0;
  if (!typed.header.empty()) {
    if (typed.table.no_header) FailUsage("--header and --no-header exclude each other");
    table.header = Named("--header", [&] { return ParseCount(typed.header, 1, 1000000); });
  }
  static_cast<TableWishes&>(table) = typed.table;
  if (const char* const null = RowOf(table).null; *null != '\0') table.nulls.emplace_back(null);
  if (!typed.separator.empty()) {
    table.separator = Named("--field-separator", [&] { return int{ParseSeparator(typed.separator)}; });
  }
  table.reverse = spec.order.reverse;
  if (typed.shuffle) table.shuffle = typed.seed ? *typed.seed : RandomSeed();
  SetTableKeys(typed);
  spec.order.lines = std::make_shared<const LineOrdered>(LineOrder{});
  spec.order.layout = MakeLineLayout(typed.zero_terminated ? 0 : '\n', spec.order.lines->view);
}

void ResolveTypedLines(Typed& typed) {
  RefuseForTypedLines(typed);
  Source& source = typed.spec.source;
  source.format = Format::kTable;
  SetTable(kTypedLines, source);
  ResolveTable(typed);
  std::vector<std::string> columns;
  for (const ColumnKey& key : source.table->keys) {
    if (key.first_field > 0 && key.last_field == key.first_field) columns.push_back("-k '#" + key.text + "'");
  }
  source.column_form = ColumnForm(typed, columns);
}

void ResolveShuffledLines(Typed& typed) {
  typed.spec.source.format = Format::kTable;
  SetTable(kTypedLines, typed.spec.source);
  ResolveTable(typed);
}

void ResolveShuffledRecords(Typed& typed) {
  Source& source = typed.spec.source;
  ResolveFixed(typed);
  const std::uint64_t size = typed.spec.order.layout.stride;
  // As for sorted records, an input is only checked for another kind if its name alone says that it has numbers.
  source.force_format |= !source.format_assumed;
  source.format = Format::kTable;
  SetTable(kPlainRecords, source);
  source.table->record_size = size;
  ResolveTable(typed);
}

void ResolvePlacedLines(Typed& typed) {
  // Only the keys decide which records of a set are equal, so they alone order the records.
  typed.spec.order.stable = true;
  ResolveLines(typed);
  Source& source = typed.spec.source;
  const bool floats = NeedsHost(typed.spec.order.lines->view);
  if (typed.spec.order.locale || floats) {
    FailUsage(std::string(floats ? "-g" : "--locale") + " has no meaning with " + typed.WhyPlaced() +
              " yet: give keys with a type, such as -k " + (floats ? "1:float" : "1:locale"));
  }
  source.format = Format::kTable;
  SetTable(kTypedLines, source);
  if (!typed.header.empty()) {
    source.table->header = Named("--header", [&] { return ParseCount(typed.header, 1, 1000000); });
  }
}

void ResolvePlacedRecords(Typed& typed) {
  Source& source = typed.spec.source;
  Order& order = typed.spec.order;
  ResolveFixed(typed);
  source.force_format |= !source.format_assumed;
  source.format = Format::kTable;
  SetTable(kPlainRecords, source);
  const RecordLayout& layout = order.layout;
  source.table->record_size = layout.stride;
  source.table->record_keys.fields.assign(layout.fields, layout.fields + layout.field_count);
  order.lines = std::make_shared<const LineOrdered>(LineOrder{});
  order.layout = MakeLineLayout('\n', order.lines->view);
}

void ResolveFixed(Typed& typed) {
  JobSpec& spec = typed.spec;
  if (!typed.type.empty() && !typed.record_size.empty()) {
    FailUsage("--type and --record-size exclude each other: --type already gives the record's size");
  }
  FixedRecord record = FindFixedRecord(typed);
  ParseFixedKeys(typed, record);
  RecordLayout& layout = spec.order.layout = MakeFixedLayout(record.bytes, record.keys);
  std::string keys;
  for (std::uint32_t i = 0; i < layout.field_count; ++i) {
    layout.fields[i].descending ^= spec.order.reverse;
    keys += (i == 0 ? " " : ", ") + FormatKey(layout.fields[i]);
  }
  std::string& note = spec.source.type_note;
  const std::string size = "records of " + std::to_string(record.bytes) + " bytes" + record.from();
  if (!typed.keys.empty()) {
    note = size + (layout.field_count == 1 ? ", key" : ", keys") + keys;
  } else if (record.what.empty()) {
    note = size + ", key: all bytes" + (spec.order.reverse ? ", descending" : "");
  } else {
    note = record.what + (spec.order.reverse ? " descending" : "") + " (" + record.source + ")";
  }
}

}  // namespace gpusort

// The format of rows that a module decodes from files of columns, such as Parquet (io/codec/row_schema.hpp). The header
// of an input describes its columns, so a key needs no type. Start at Scan.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "formats/curve_key.hpp"
#include "formats/formats.hpp"
#include "io/codec/row_schema.hpp"

namespace gpusort {
namespace {

template <typename Number>
Number LoadLittle(std::string_view bytes) {
  Number number;
  std::memcpy(&number, bytes.data(), sizeof(Number));
  return number;
}

/// Returns the bytes of a number in an order in which memcmp compares numbers. `flip` is the sign bit of a signed
/// number, and otherwise 0.
std::array<char, 8> OrderedBytes(std::uint64_t number, std::uint64_t flip) {
  return std::bit_cast<std::array<char, 8>>(__builtin_bswap64(number ^ flip));
}

constexpr const char* kNoOrder = "groups, lists and maps and their parts have no order and cannot be keys";

constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

ValueType NaturalType(const RowColumn& column) {
  switch (column.type) {
    case RowColumn::Type::kInt:
      return ValueType::kInt;
    case RowColumn::Type::kDecimal:
      return ValueType::kDecimal;
    case RowColumn::Type::kFloat:
      return ValueType::kFloat;
    case RowColumn::Type::kBool:
      return ValueType::kBool;
    case RowColumn::Type::kDate:
      return ValueType::kDate;
    case RowColumn::Type::kTime:
      return ValueType::kTime;
    case RowColumn::Type::kTimestamp:
      return ValueType::kTimestamp;
    case RowColumn::Type::kUuid:
      return ValueType::kUuid;
    case RowColumn::Type::kText:
    case RowColumn::Type::kBytes:
    case RowColumn::Type::kNone:
      break;
  }
  return ValueType::kText;
}

/// The fields that this format stores in a ScanState: the number of bytes of a row, or of a reference to a row, that
/// are still to come.
class RowsFormat : public TableFormat {
 public:
  explicit RowsFormat(const JobSpec& spec) : TableFormat(spec), keeps_input_order_(spec.order.keeps_input_order) {}

  bool newlines() const override { return false; }
  bool has_offsets() const override { return false; }
  std::uint64_t OpenBytes(const ScanState& state) const override { return state.count; }
  std::string Ending(RecordSpan, RecordSpan) const override { return {}; }
  bool has_header() const override { return true; }
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool) const override {
    const std::uint64_t bytes = RowSchema::HeaderBytes(front);
    return bytes > 0 ? std::optional(bytes) : std::nullopt;
  }
  RecordSpan HeaderText(RecordSpan header) const override { return RowSchema::ColumnsOf(header); }
  std::string WhyDiffers(RecordSpan known, RecordSpan header) const override;
  std::vector<std::string> NamesOf(RecordSpan header) const override {
    std::vector<std::string> names;
    for (const RowColumn& column : RowSchema::Parse(header).columns) {
      if (!column.nested) names.push_back(column.name);
    }
    return names;
  }
  void ReadHeader(RecordSpan header) override;
  std::vector<std::byte> OutputHeader(RecordSpan header) const override {
    RowSchema schema = RowSchema::Parse(header);
    if (!keeps_input_order_) schema.sorted = sorted_;
    schema.ranges.clear();
    return schema.Header();
  }
  void JoinHeader(std::vector<std::byte>& known, RecordSpan header) const override;

  Ends Scan(RecordSpan bytes, ScanState& state) const override {
    const Byte* const begin = AsBytes(bytes.data());
    const Byte* const end = begin + bytes.size();
    const Byte* p = begin;
    Ends ends;
    while (p != end) {
      if (state.count == 0) {
        if (state.held.empty() && static_cast<std::size_t>(end - p) >= kRowSizeBytes) {
          state.count = BytesAfterSize({reinterpret_cast<const char*>(p), kRowSizeBytes});
          p += kRowSizeBytes;
        } else {
          state.held.push_back(static_cast<char>(*p++));
          if (state.held.size() < kRowSizeBytes) continue;
          state.count = BytesAfterSize(state.held);
          state.held.clear();
        }
      }
      const std::uint64_t here = std::min<std::uint64_t>(state.count, static_cast<std::uint64_t>(end - p));
      p += here;
      state.count -= here;
      if (state.count == 0) ends.Add(p - begin);
    }
    return ends;
  }
  std::uint64_t Finish(RecordSpan open, const ScanState&) const override {
    if (!open.empty()) throw BadRecord(open.size(), "the input ends inside a row");
    return 0;
  }
  unsigned modes() const override { return 0; }
  std::optional<std::vector<std::uint32_t>> KeptColumns() const override {
    if (table_.keys.empty() || table_.shuffle) return std::nullopt;
    return kept_columns_;
  }
  std::string DescribeInput(RecordSpan front, const ScanState&) const override;
  std::string DescribeKeys() const override;

 protected:
  std::uint64_t PutKeys(RecordSpan records, ScanState&, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;

 private:
  /// Finds the fields of keys in rows or references with certain columns.
  class FieldFinder {
   public:
    /// - columns: the columns of the rows
    /// - places: the wanted columns in ascending order; KeyColumns::Wanted::key is the index of a field
    void Plan(std::vector<RowColumn> columns, std::vector<KeyColumns::Wanted> places);
    /// Sets the wanted items of `fields`. Throws Error(kIntegrity) if the row is damaged.
    void Find(RecordSpan row, std::vector<Field>& fields) const {
      if (!FindPlain(row, fields)) FindAny(row, fields);
    }

   private:
    /// A column at which FindPlain() stops because it is wanted or because the size of its values varies.
    struct Stop {
      std::uint64_t skipped = 0;  ///< the size of the columns since the last stop
      std::size_t column = 0;
      std::size_t first = 0, last = 0;  ///< the part of `places_` that wants the column
    };
    bool FindPlain(RecordSpan row, std::vector<Field>& fields) const;
    void FindAny(RecordSpan row, std::vector<Field>& fields) const;

    std::vector<RowColumn> columns_;  ///< up to the last wanted one
    std::vector<KeyColumns::Wanted> places_;
    std::size_t bit_bytes_ = 0;              ///< the size of the bits of all columns
    bool plain_ = false;                     ///< true if FindPlain() can find fields
    std::vector<Stop> stops_;                ///< for FindPlain()
    std::vector<unsigned char> plain_bits_;  ///< the bits of `columns_`
  };

  static std::uint64_t BytesAfterSize(std::string_view front) {
    return (LoadLittle<std::uint32_t>(front) & ~KeptRow::kFlag) - kRowSizeBytes;
  }
  void CheckKeyColumn(const ColumnKey& key, const RowColumn& column) const;
  void PutColumn(const RowColumn& column, const ValueKey& key, std::string_view value, FieldWriter& out) const;
  void PlanFields();
  void AddCurve(std::size_t k);
  void PutCurve(std::size_t k, const std::vector<Field>& fields, FieldWriter& out) const;

  const bool keeps_input_order_;
  RowSchema schema_;
  /// The columns that the job sorts by if there is no -k: all of them.
  std::vector<ValueKey> all_;
  std::vector<SortedColumn> sorted_;
  std::vector<std::size_t> key_columns_;          ///< the column of each field
  std::vector<std::uint32_t> kept_columns_;       ///< the columns of all keys, in ascending order
  FieldFinder in_rows_, in_references_;           ///< find the fields of the keys
  std::vector<std::size_t> first_fields_;         ///< the first field of each key; a curve has a field for each column
  std::vector<std::vector<ColumnScale>> scales_;  ///< for each key that is a curve: the scales of its columns
  std::vector<char> as_other_type_;  ///< for each key: 1 if the text of its column is ordered as another type
};

void RowsFormat::FieldFinder::Plan(std::vector<RowColumn> columns, std::vector<KeyColumns::Wanted> places) {
  bit_bytes_ = BitBytes(columns);
  columns.resize(places.empty() ? 0 : places.back().column + 1);
  columns_ = std::move(columns);
  places_ = std::move(places);
  stops_.clear();
  plain_bits_.assign(bit_bytes_, 0);
  plain_ = true;
  std::uint64_t skipped = 0;
  std::size_t bit = 0, next = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const RowColumn& column = columns_[i];
    plain_ = plain_ && (column.levels == RowColumn::Levels::kNoLevels || column.levels == RowColumn::Levels::kBit);
    if (column.levels == RowColumn::Levels::kBit) {
      plain_bits_[bit / 8] = static_cast<unsigned char>(plain_bits_[bit / 8] | 1u << bit % 8);
      ++bit;
    }
    const std::size_t first = next;
    while (next < places_.size() && places_[next].column == i) ++next;
    if (first == next && column.value_bytes > 0) {
      skipped += column.value_bytes;
      continue;
    }
    stops_.push_back({std::exchange(skipped, 0), i, first, next});
  }
  plain_bits_.resize((bit + 7) / 8);
}

/// Finds the fields of a row if its wanted columns and those before them are not repeated and are all present. Returns
/// false if they are not.
bool RowsFormat::FieldFinder::FindPlain(RecordSpan row, std::vector<Field>& fields) const {
  const auto* const begin = reinterpret_cast<const unsigned char*>(row.data());
  if (!plain_ || row.size() < kRowSizeBytes + bit_bytes_) return false;
  for (std::size_t i = 0; i < plain_bits_.size(); ++i) {
    if ((begin[kRowSizeBytes + i] & plain_bits_[i]) != plain_bits_[i]) return false;
  }
  RowReader reader(row);
  reader.Take(bit_bytes_);
  for (const Stop& stop : stops_) {
    reader.Take(stop.skipped);
    const std::string_view text = reader.TakeValue(columns_[stop.column]);
    Field field{text, Field::kValue, static_cast<std::uint64_t>(text.data() - reinterpret_cast<const char*>(begin))};
    if (text.empty()) field.at = 0;
    for (std::size_t i = stop.first; i < stop.last; ++i) fields[places_[i].key] = field;
  }
  return true;
}

/// Finds the fields of any row.
void RowsFormat::FieldFinder::FindAny(RecordSpan row, std::vector<Field>& fields) const {
  RowReader reader(row);
  const unsigned char* const bits = reader.Take(bit_bytes_);
  std::size_t bit = 0, next = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const RowColumn& column = columns_[i];
    Field field;
    field.is = Field::kValue;
    switch (column.levels) {
      case RowColumn::Levels::kNoLevels:
        break;
      case RowColumn::Levels::kBit:
        if ((bits[bit / 8] >> bit % 8 & 1) == 0) field.is = Field::kNull;
        ++bit;
        break;
      case RowColumn::Levels::kByte:
        if (*reader.Take(1) != column.max_definition) field.is = Field::kNull;
        break;
      case RowColumn::Levels::kRepeated: {
        std::uint64_t values = 0;
        for (std::uint64_t count = reader.TakeNumber(); count > 0; --count) {
          values += *reader.Take(2) == column.max_definition ? 1 : 0;
        }
        for (; values > 0; --values) reader.TakeValue(column);
        continue;
      }
    }
    if (field.is == Field::kValue) field.text = reader.TakeValue(column);
    field.at = field.text.empty()
                   ? 0
                   : static_cast<std::uint64_t>(field.text.data() - reinterpret_cast<const char*>(row.data()));
    for (; next < places_.size() && places_[next].column == i; ++next) fields[places_[next].key] = field;
  }
}

/// Returns the difference of two schemas for a message.
std::string RowsFormat::WhyDiffers(RecordSpan known, RecordSpan header) const {
  const std::vector<RowColumn> one = RowSchema::Parse(known).columns, other = RowSchema::Parse(header).columns;
  if (one.size() != other.size()) {
    return std::to_string(one.size()) + " columns and " + std::to_string(other.size()) + " columns";
  }
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i] == other[i]) continue;
    const std::string front = "column " + std::to_string(i + 1) + " is ";
    if (one[i].name != other[i].name) return front + InQuotes(one[i].name) + " and " + InQuotes(other[i].name);
    if (one[i].type_text != other[i].type_text) {
      return front + InQuotes(one[i].name) + " of " + one[i].type_text + " and of " + other[i].type_text;
    }
    const std::size_t ids = one[i].shape.find(RowColumn::kIdsFollow);
    if (one[i].shape.substr(0, ids + 1) == other[i].shape.substr(0, ids + 1)) {
      return front + InQuotes(one[i].name) + " with the field id " + one[i].shape.substr(ids + 1) + " and with " +
             other[i].shape.substr(ids + 1);
    }
    return front + InQuotes(one[i].name) + ", and may be null or repeated in one of them only";
  }
  return "";
}

void RowsFormat::CheckKeyColumn(const ColumnKey& key, const RowColumn& column) const {
  if (column.nested) FailKey(key, kNoOrder);
  if (column.order == RowColumn::Order::kNone) {
    FailKey(key, "the column has the type " + column.type_text + ", whose values have no order");
  }
  const ValueRule& rule = key.rule;
  if (!rule.typed || column.type == RowColumn::Type::kText || column.type == RowColumn::Type::kBytes) return;
  const ValueType natural = NaturalType(column);
  if (rule.time_format.empty() && rule.type == natural) return;
  FailKey(key, "the column has the type " + column.type_text + ", which is ordered as " +
                   std::string(ValueTypeName(natural)) + ": leave " + std::string(ValueTypeName(rule.type)) + " out");
}

void RowsFormat::PlanFields() {
  std::vector<KeyColumns::Wanted> places;
  if (table_.keys.empty() && !table_.shuffle) {
    for (std::size_t i = 0; i < schema_.columns.size(); ++i) places.push_back({i, i, 0});
  } else {
    places = wanted_.by_column;
    for (KeyColumns::Wanted& place : places) place.key = first_fields_[place.key] + place.part;
  }
  key_columns_.resize(places.size());
  for (const KeyColumns::Wanted& place : places) key_columns_[place.key] = place.column;
  in_rows_.Plan(schema_.columns, places);
  kept_columns_.clear();
  std::vector<RowColumn> columns;
  for (KeyColumns::Wanted& place : places) {
    if (kept_columns_.empty() || kept_columns_.back() != place.column) {
      kept_columns_.push_back(static_cast<std::uint32_t>(place.column));
      columns.push_back(schema_.columns[place.column]);
    }
    place.column = columns.size() - 1;
  }
  in_references_.Plan(std::move(columns), std::move(places));
}

void RowsFormat::ReadHeader(RecordSpan header) {
  schema_ = RowSchema::Parse(header);
  // A group, a list or a map is one column for the user. `firsts` has the first of its columns here.
  std::vector<std::string> names;
  std::vector<std::size_t> firsts;
  for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
    const RowColumn& column = schema_.columns[i];
    if (column.nested && i > 0 && schema_.columns[i - 1].nested && schema_.columns[i - 1].group == column.group)
      continue;
    names.push_back(column.nested ? column.group : column.name);
    firsts.push_back(i);
  }
  for (const ColumnKey& key : table_.keys) {
    if (key.curve != Curve::kNone) continue;
    const auto is_part = [&](const RowColumn& column) { return column.nested && column.name == key.column; };
    if (key.number > 0 || std::ranges::find(names, key.column) != names.end()) continue;
    if (std::ranges::any_of(schema_.columns, is_part)) FailKey(key, kNoOrder);
  }
  Resolve(names);
  for (KeyColumns::Wanted& wanted : wanted_.by_column) wanted.column = firsts[wanted.column];
  sorted_.clear();
  if (table_.keys.empty() && !table_.shuffle) {
    all_.clear();
    for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
      const RowColumn& column = schema_.columns[i];
      if (column.order == RowColumn::Order::kNone || column.nested) {
        throw Error(ErrorCode::kUsage,
                    "-k is needed: column " + InQuotes(column.name) + " of " + column.type_text + " has no order");
      }
      ValueRule rule;
      rule.type = NaturalType(column);
      rule.descending = table_.reverse;
      all_.emplace_back(rule);
      sorted_.push_back({static_cast<std::uint32_t>(i), rule.descending, rule.puts_nulls_first()});
    }
    PlanFields();
    return;
  }
  keys_.clear();
  as_other_type_.clear();
  first_fields_.clear();
  std::size_t fields = 0;
  scales_.assign(table_.keys.size(), {});
  bool described = true;  // the order of the keys so far is that of the columns
  for (const std::size_t k : wanted_.keys) {
    first_fields_.push_back(fields);
    fields += std::max<std::size_t>(table_.keys[k].curve_columns.size(), 1);
    if (table_.keys[k].curve != Curve::kNone) {
      AddCurve(k);
      as_other_type_.push_back(0);
      described = false;
      continue;
    }
    const auto at = std::ranges::find(wanted_.by_column, k, &KeyColumns::Wanted::key);
    const RowColumn& column = schema_.columns[at->column];
    const ColumnKey& key = table_.keys[k];
    CheckKeyColumn(key, column);
    ValueRule rule = key.rule;
    if (!rule.typed) rule.type = NaturalType(column);
    keys_.emplace_back(rule, words_);
    as_other_type_.push_back(rule.type != NaturalType(column) ? 1 : 0);
    described = described && (!rule.typed || rule.type == NaturalType(column));
    if (described) {
      sorted_.push_back({static_cast<std::uint32_t>(at->column), rule.descending, rule.puts_nulls_first()});
    }
  }
  PlanFields();
}

/// Adds the key `k`, which is a curve.
void RowsFormat::AddCurve(std::size_t k) {
  const ColumnKey& key = table_.keys[k];
  keys_.emplace_back(key.rule, words_);
  std::vector<std::size_t> columns(key.curve_columns.size());
  for (const KeyColumns::Wanted& wanted : wanted_.by_column) {
    if (wanted.key == k) columns[wanted.part] = wanted.column;
  }
  for (std::size_t part = 0; part < columns.size(); ++part) {
    const std::size_t i = columns[part];
    const RowColumn& column = schema_.columns[i];
    if (column.nested) FailKey(key, kNoOrder);
    const std::string name = "column " + InQuotes(column.name) + " of " + column.type_text;
    if (column.order == RowColumn::Order::kNone) FailKey(key, name + ": its values have no order");
    if (column.order == RowColumn::Order::kInt96) {
      FailKey(key, name + ": INT96 has no statistics, which curves need");
    }
    if (std::find(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(part), i) !=
        columns.begin() + static_cast<std::ptrdiff_t>(part)) {
      FailKey(key, "it has the column " + InQuotes(column.name) + " twice");
    }
    const RowRange range = schema_.ranges.empty() ? RowRange{.unknown = true} : schema_.ranges[i];
    if (range.unknown && column.order != RowColumn::Order::kBytes) {
      FailKey(key, name + ": an input has no statistics of it, which curves need; gpusort -k " + column.name +
                       " -o NEW INPUT... writes them");
    }
    if (range.gaps && range.least > range.greatest) {
      FailKey(key, name + ": NaN hides its least and its greatest value in all row groups; gpusort -k " + column.name +
                       " -o NEW INPUT... gives row groups without NaN");
    }
    if (range.gaps) {
      LogWarn(name +
              ": row groups with NaN have no least and no greatest value; what lies outside the range of the "
              "other row groups counts as its end on the curve");
    }
    scales_[k].emplace_back(column, range);
  }
}

void RowsFormat::PutCurve(std::size_t k, const std::vector<Field>& fields, FieldWriter& out) const {
  std::array<std::uint32_t, kMostCurveColumns> cells{};
  const std::vector<ColumnScale>& scales = scales_[k];
  for (std::size_t part = 0; part < scales.size(); ++part) {
    const Field& field = fields[first_fields_[k] + part];
    cells[part] = field.is == Field::kNull ? ColumnScale::kNullCell : scales[part].CellOf(field.text);
  }
  std::string place;
  PlaceOnCurve(table_.keys[k].curve, {cells.data(), scales.size()}, place);
  keys_[k].PutFixed(place, out);
}

void RowsFormat::JoinHeader(std::vector<std::byte>& known, RecordSpan header) const {
  if (known.empty() || header.empty()) return;
  RowSchema joined = RowSchema::Parse(known);
  const RowSchema other = RowSchema::Parse(header);
  // The largest input tells most about the rows of all.
  bool adds = other.rows > joined.rows;
  if (adds) {
    joined.rows = other.rows;
    joined.row_bytes = other.row_bytes;
    joined.stored_bytes = other.stored_bytes;
  }
  if (table_.has_curve() && joined.ranges.size() == other.ranges.size()) {
    const std::vector<RowRange> before = joined.ranges;
    for (std::size_t i = 0; i < before.size(); ++i) joined.ranges[i].Widen(other.ranges[i]);
    adds = adds || joined.ranges != before;
  }
  if (adds) known = joined.Header();
}

std::string RowsFormat::DescribeInput(RecordSpan front, const ScanState&) const {
  constexpr std::size_t kMostShown = 12;
  const std::uint64_t bytes = RowSchema::HeaderBytes(front);
  if (bytes == 0) return "the schema is too large to be shown";
  const RowSchema schema = RowSchema::Parse(front.first(bytes));
  std::string text = EscapeName(schema.about) + "; " + Counted(schema.columns.size(), "column") + ":";
  for (std::size_t i = 0; i < std::min(schema.columns.size(), kMostShown); ++i) {
    const RowColumn& column = schema.columns[i];
    text += (i == 0 ? " " : ", ") + EscapeName(column.name) + " " + column.type_text;
  }
  return text + (schema.columns.size() > kMostShown ? ", ..." : "");
}

std::string RowsFormat::DescribeKeys() const {
  std::string text;
  const auto add = [&](const RowColumn& column, const ValueRule& rule) {
    text += (text.empty() ? "" : ", ") + EscapeName(column.name) + " " + column.type_text + " as " +
            std::string(ValueTypeName(rule.type)) + (rule.descending ? " desc" : " asc") +
            (rule.puts_nulls_first() ? " nulls-first" : " nulls-last");
  };
  for (std::size_t i = 0; i < all_.size(); ++i) add(schema_.columns[i], all_[i].rule());
  for (std::size_t k = 0; k < keys_.size() && !scales_.empty(); ++k) {
    if (!scales_[k].empty()) {
      text += (text.empty() ? "" : ", ") + EscapeName(table_.keys[k].text) + " by the ranges in the footers";
      continue;
    }
    add(schema_.columns[key_columns_[first_fields_[k]]], keys_[k].rule());
  }
  return text;
}

std::uint64_t RowsFormat::PutKeys(RecordSpan records, ScanState&, Scratch& scratch, FieldWriter& out,
                                  KeyTally& tally) const {
  const auto begin = LoadLittle<std::uint32_t>({reinterpret_cast<const char*>(records.data()), kRowSizeBytes});
  const std::uint64_t size = begin & ~KeptRow::kFlag;
  RecordSpan row = records.first(size);
  std::vector<Field>& fields = scratch.fields;
  fields.resize(key_columns_.size());  // each of them is found
  if (begin == size) {
    in_rows_.Find(row, fields);
  } else {
    scratch.own = row.last(KeptRow::kBytes);
    scratch.kept_bytes = KeptRow::Load(reinterpret_cast<const unsigned char*>(scratch.own.data())).bytes;
    scratch.one_line = true;
    row = row.first(size - KeptRow::kBytes);
    in_references_.Find(row, fields);
  }
  if (table_.keys.empty()) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      fields[i].is == Field::kNull ? all_[i].PutNull(out) : PutColumn(schema_.columns[i], all_[i], fields[i].text, out);
    }
    return size;
  }
  for (std::size_t k = 0; k < keys_.size(); ++k) {
    tally.columns[k].any = true;  // the schema gives the type, so a column may be null in all rows
    if (!scales_[k].empty()) {
      PutCurve(k, fields, out);
      continue;
    }
    const Field& field = fields[first_fields_[k]];
    if (field.is == Field::kNull) {
      ++tally.columns[k].nulls;
      keys_[k].PutNull(out);
      continue;
    }
    const RowColumn& column = schema_.columns[key_columns_[first_fields_[k]]];
    if (as_other_type_[k]) {
      PutKey(k, field, out, tally);
    } else {
      PutColumn(column, keys_[k], field.text, out);
    }
  }
  return size;
}

void RowsFormat::PutColumn(const RowColumn& column, const ValueKey& key, std::string_view value,
                           FieldWriter& out) const {
  const auto put_number = [&](std::uint64_t number, std::uint64_t flip) {
    const std::array<char, 8> bytes = OrderedBytes(number, flip);
    key.PutFixed({bytes.data(), bytes.size()}, out);
  };
  switch (column.order) {
    case RowColumn::Order::kSigned:
      return put_number(column.value_bytes == 4
                            ? static_cast<std::uint64_t>(std::int64_t{LoadLittle<std::int32_t>(value)})
                            : LoadLittle<std::uint64_t>(value),
                        kSign);
    case RowColumn::Order::kUnsigned:
      return put_number(column.value_bytes == 4 ? LoadLittle<std::uint32_t>(value) : LoadLittle<std::uint64_t>(value),
                        0);
    case RowColumn::Order::kHalf:
      return key.PutFloat(HalfValue(LoadLittle<std::uint16_t>(value)), out);
    case RowColumn::Order::kFloat:
      return key.PutFloat(
          column.value_bytes == 4 ? static_cast<double>(LoadLittle<float>(value)) : LoadLittle<double>(value), out);
    case RowColumn::Order::kBool:
      return key.PutBool(value[0] != 0, out);
    case RowColumn::Order::kBytes:
      if (column.value_bytes > 0) return key.PutFixed(value, out);
      return key.PutBytes(value, out);
    case RowColumn::Order::kBigSigned: {
      // Numbers of other sizes get the size of the largest one that decimals of 256 bits need.
      constexpr std::size_t kMost = 32;
      const bool negative = !value.empty() && static_cast<signed char>(value[0]) < 0;
      const char fill = negative ? '\xff' : '\0';
      const std::size_t wanted = column.value_bytes > 0 ? column.value_bytes : kMost;
      while (value.size() > wanted && value[0] == fill && (static_cast<signed char>(value[1]) < 0) == negative)
        value.remove_prefix(1);
      if (value.size() > wanted)
        throw BadRecord(0, "column " + InQuotes(column.name) + ": a decimal number has more than 32 bytes");
      std::string number(wanted - value.size(), fill);
      number += value;
      number[0] = static_cast<char>(number[0] ^ '\x80');
      return key.PutFixed(number, out);
    }
    case RowColumn::Order::kInt96: {
      constexpr std::uint32_t kSign32 = std::uint32_t{1} << 31;
      const std::array<char, 8> day = OrderedBytes(LoadLittle<std::uint32_t>(value.substr(8)) ^ kSign32, 0),
                                nanos = OrderedBytes(LoadLittle<std::uint64_t>(value), kSign);
      std::string bytes(day.begin() + 4, day.end());
      bytes.append(nanos.begin(), nanos.end());
      return key.PutFixed(bytes, out);
    }
    case RowColumn::Order::kNone:
      break;
  }
  throw Error(ErrorCode::kInternal, "a key of a column without an order");
}

}  // namespace

std::unique_ptr<TableFormat> MakeRowsFormat(const JobSpec& spec) { return std::make_unique<RowsFormat>(spec); }

}  // namespace gpusort

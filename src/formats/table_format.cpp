#include "formats/table_format.hpp"

#include <fmt/core.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>

#include "base/did_you_mean.hpp"
#include "base/gnu_quote.hpp"
#include "base/text.hpp"
#include "formats/decimal_sum.hpp"
#include "formats/log_times.hpp"
#include "formats/registry.hpp"
#include "formats/suggest_type.hpp"
#include "formats/text_reader.hpp"
#include "formats/time_window.hpp"
#include "formats/zone.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// For a key without a type: how many values are examined, to warn if they look like numbers or times.
constexpr std::uint64_t kGuessed = 1000;
constexpr std::size_t kMostQuoted = 40;

/// A bit of KeyTally::Column::looks_like in addition to those of the types: the text has digits.
constexpr unsigned kHasDigits = 1u << 31;
constexpr unsigned Bit(ValueType type) { return 1u << static_cast<unsigned>(type); }

/// Adds every 1st, 2nd, 4th, 8th, ... value to the samples. `count` is the number of values so far.
void KeepSample(std::string_view text, std::uint64_t count, std::vector<std::string>& samples) {
  constexpr std::size_t kLongest = 80;
  if (std::has_single_bit(count)) samples.emplace_back(text.substr(0, kLongest));
}

std::string RecordsHave(const KeyTally::Seen& seen) {
  return Counted(seen.count, "record") + (seen.count == 1 ? " has" : " have");
}

/// Returns how messages name a record.
std::string RecordWord(const JobSpec& spec) { return IsColumnFile(RowOf(*spec.source.table).codec) ? "row" : "record"; }

/// Returns a text such as "record 7", with the name of the input if there are several.
std::string RecordName(const JobSpec& spec, const KeyTally::Seen& seen) {
  return RecordWord(spec) + " " + std::to_string(seen.record + 1) +
         (spec.source.inputs.size() > 1 ? " of " + EscapeName(spec.source.inputs[seen.input]) : "");
}

/// Returns advice for a key whose column is missing from the header: its number is meant, it is several columns at
/// once, or its name is misspelt.
std::string OtherKeys(const std::string& column, const std::vector<std::string>& names) {
  const std::optional<std::uint64_t> number = ParseDigits(column);
  if (number && *number > 0 && *number <= names.size()) {
    return "; did you mean '#" + column + "', which is " + InQuotes(names[*number - 1]) + "?";
  }
  std::string keys;
  for (std::size_t at = 0; column.find(',') != column.npos && at <= column.size();) {
    const std::size_t end = std::min(column.find(',', at), column.size());
    const std::string part = column.substr(at, end - at);
    if (std::find(names.begin(), names.end(), part) == names.end()) break;
    keys += (keys.empty() ? "-k " : " -k ") + QuoteName(part);
    if (end == column.size()) return "; did you mean " + keys + "?";
    at = end + 1;
  }
  return DidYouMean(column, names);
}

/// Returns an operand of -k for messages, in quotes if a shell needs them.
std::string KeyWord(const ColumnKey& key, const std::string& type) {
  const std::string word = key.text + ":" + type;
  const bool plain = word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-/") ==
                     std::string::npos;
  return plain ? word : QuoteShell(word);
}

/// Returns the name of a key's column for messages: "column 'a'", "field 3".
std::string NameOf(const TableOptions& table, const ColumnKey& key) {
  if (key.summed && !key.pattern.empty()) return "the match of " + InQuotes(key.column);
  if (key.first_field > 0) return (key.last_field > key.first_field ? "fields " : "field ") + key.column;
  const FormatRow& row = RowOf(table);
  return (!key.pattern.empty() ? "key" : row.warns_missing ? ColumnWord(row) : "column") + " " + InQuotes(key.column);
}

/// Returns the text for messages about a record without the value of a key: "has no column 'a'". If `several` is true,
/// the text is about several records.
std::string Lacks(const TableOptions& table, const ColumnKey& key, bool several = false) {
  if (key.pattern.empty()) return (several ? "have no " : "has no ") + NameOf(table, key);
  return std::string(several ? "do" : "does") + " not match " + InQuotes(key.column);
}

/// Returns up to three different samples as a text: "'a', 'b', 'c'".
std::string ThreeOf(const std::vector<std::string>& samples) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> shown;
  for (const std::string& sample : samples) {
    const std::string text = InQuotes(sample, kMostQuoted);
    if (shown.size() < kMost && std::find(shown.begin(), shown.end(), text) == shown.end()) shown.push_back(text);
  }
  std::string list;
  for (const std::string& text : shown) list += (list.empty() ? "" : ", ") + text;
  return list;
}

/// Returns the text for messages about a value that the rule of its key does not allow: " is no int".
std::string IsNot(const ValueRule& rule) {
  if (rule.type == ValueType::kOrder) return " is not in " + InQuotes(rule.order_file);
  return " is no " + std::string(ValueTypeName(rule.type));
}

std::string IsItDelimiter(unsigned char delimiter) {
  return fmt::format("is it --delimiter '{}'?",
                     delimiter == '\t' ? "\\t" : std::string(1, static_cast<char>(delimiter)));
}

/// Returns how abbreviations of zones are read, or null if no key needs that.
std::shared_ptr<const ZoneWords> WordsOf(const TableOptions& table) {
  if (!NeedsZone(table)) return nullptr;
  const Zone zone(table.zone.empty() && table.alike_everywhere ? "UTC" : table.zone);
  return std::make_shared<const ZoneWords>(zone, (RowOf(table).takes & kTakesTime) != 0 || !table.zone.empty());
}

ValueRule WholeRule(const TableOptions& table) {
  ValueRule rule;
  rule.descending = table.reverse;
  return rule;
}

/// Returns the end of a warning about a key without a type: "say -k d:date, or ...". Returns "" if the values look like
/// text.
std::string TypeToSay(const ColumnKey& key, const KeyTally::Column& column) {
  if (column.values == 0 || column.looks_like == 0) return "";
  const unsigned types = column.looks_like & ~kHasDigits;
  std::vector<Suggestion> ways;
  if (types != 0) {
    ways.push_back({std::string(ValueTypeName(static_cast<ValueType>(std::countr_zero(types)))), ""});
  } else {
    ways = SuggestTypes(column.samples, key.rule);
    // Digits for which LooksLike() returns nothing are names with leading zeros.
    if (!ways.empty() && ways[0].type == ValueTypeName(ValueType::kInt) && ways[0].options.empty()) ways.clear();
  }
  if (ways.empty()) return "";
  std::string text = " looks like " + ways[0].type + " but is ordered as text: give ";
  for (const Suggestion& way : ways) text += "-k " + KeyWord(key, way.type) + way.options + ", or ";
  return text + ":text";
}

/// Returns the message about a key for which no record has a value.
std::string NoValues(const JobSpec& spec, const ColumnKey& key, const KeyTally::Column& column, const KeyTally& tally) {
  const TableOptions& table = *spec.source.table;
  if (column.bad.count == 0) {
    const FormatRow& row = RowOf(table);
    if (column.missing == column.nulls) {
      const std::string name = InQuotes(key.column);
      return "no record " +
             (!key.pattern.empty() ? "matches " + name
              : key.of_text()      ? "has " + NameOf(table, key)
                                   : "has the " + ColumnWord(row) + " " + name) +
             (row.hint ? row.hint(key.column, tally.example) : "");
    }
    return NameOf(table, key) + " is null in " +
           (column.nulls == 1 ? "the only " + RecordWord(spec) : "all " + Counted(column.nulls, RecordWord(spec)));
  }
  std::string text = fmt::format(
      "{}: {} of the type {}: {}", NameOf(table, key),
      column.bad.count == 1 ? "its only value is not" : fmt::format("none of its {} values is", column.bad.count),
      ValueTypeName(key.rule.type), ThreeOf(column.samples));
  std::string ways;
  for (const Suggestion& way : SuggestTypes(column.samples, key.rule)) {
    ways += (ways.empty() ? "; give the type :" : ", or :") + way.type + way.options;
  }
  return text + ways;
}

/// Writes the key of --shuffle: a hash of the place of a record. 96 bits are enough: among 2^40 records, two have the
/// same hash with a probability of 2^-17, and these two keep their order. The place does not depend on how the input is
/// divided.
void PutPlace(std::uint64_t seed, const KeyTally& tally, FieldWriter& out) {
  constexpr std::size_t kBytes = 12;
  const std::uint64_t place[] = {tally.input, tally.offset};
  XXH128_canonical_t hash;
  XXH128_canonicalFromHash(&hash, XXH3_128bits_withSeed(place, sizeof(place), seed));
  out.PutBytes(hash.digest, kBytes);
}

}  // namespace

TableFormat::TableFormat(const JobSpec& spec)
    : table_(*spec.source.table),
      words_(WordsOf(table_)),
      quote_of_values_(RowOf(table_).names == ColumnNames::kPaths ? '"' : table_.quote),
      whole_(WholeRule(table_)) {
  for (const ColumnKey& key : table_.keys) {
    wanted_.Add(key.number - (key.number > 0 ? 1 : 0), keys_.size());
    keys_.emplace_back(key.rule, words_);
    if (!key.summed) ++sort_keys_;
  }
  for (const ColumnKey& key : table_.keys) CheckKey(key);
  for (const std::string& null : table_.nulls) {
    if (!null.empty()) begins_null_.set(static_cast<unsigned char>(null[0]));
  }
  if (table_.prefix_name) {
    // The text needs no escapes in a keyed record: EscapeName() leaves no byte in a name that would.
    for (const std::string& name : spec.source.inputs) {
      prefixes_.push_back((name == "-" ? "(standard input)" : EscapeName(name)) + ": ");
      longest_prefix_ = std::max<std::uint64_t>(longest_prefix_, prefixes_.back().size());
    }
  }
  key_.begin_field = key_.end_field = 1;
  view_.keys = &key_;
  view_.key_count = 1;
  view_.separator = kKeyEnd;
  view_.last_resort = false;
  view_.nul_free = true;  // FieldWriter escapes NULs
}

void TableFormat::SortByWholeRecord(bool descending) {
  key_.begin_field = kPlacedKeys;
  key_.end_field = LineKey::kToEnd;
  key_.reverse = descending;
  view_.nul_free = false;
}

void TableFormat::FailKey(const ColumnKey& key, const std::string& why) {
  throw Error(ErrorCode::kUsage, (key.summed ? "--sum: " : "--key: ") + InQuotes(key.text) + ": " + why);
}

/// Throws Error(kUsage) if the key names its column by a number or a name, and the columns of the format have none.
void TableFormat::CheckKey(const ColumnKey& key) const {
  const ColumnNames names = RowOf(table_).names;
  if (key.of_text()) {
    if ((RowOf(table_).takes & kTakesFields) != 0) return;
    FailKey(key, "a regular expression is a key of lines and logs, not of --format " + table_.name +
                     "; a name that begins with ~ goes in double quotes");
  }
  if (key.number > 0 && names == ColumnNames::kPaths) {
    FailKey(key, "JSON Lines have no columns by number: give a path, like a.b[0]");
  }
  if (key.number > 0 && names == ColumnNames::kFields) {
    FailKey(key, "records of --format " + table_.name + " have no columns by number: give the name of a field, like " +
                     (table_.name == "log" ? "status" : "Package"));
  }
  if (key.number > 0 || table_.header > 0) return;
  if (names == ColumnNames::kHeader) {
    FailKey(key, "without a header columns have no names: give its number, like #1");
  }
  if (names == ColumnNames::kNumbers) {
    FailKey(key, "the columns of --format " + table_.name + " have no names: give its number, like #1");
  }
}

RecordLayout TableFormat::layout() const {
  RecordLayout layout = MakeLineLayout('\n', view_);
  // A sort key is a single field with the keys of all columns, one after the other. Records are compared by its bytes.
  layout.keys = table_.placed ? kPlacedKeys : table_.checked ? kCheckedKeys : kTableKeys;
  return layout;
}

class TableFormat::Encoder : public KeyEncoder {
 public:
  explicit Encoder(const TableFormat& format) : format_(format), scratch_(format.MakeScratch()) {}

  std::uint64_t Append(RecordSpan records, ScanState& state, std::vector<std::byte>& out, KeyTally& tally) override {
    const std::size_t begin = out.size();
    // This bit makes the byte different from a newline, a NUL and kKeyEnd.
    out.push_back(std::byte{kKeyedHead});
    out.push_back(static_cast<std::byte>(kKeyEnd));
    tally.columns.resize(format_.keys_.size());
    tally.delimiter = format_.delimiter_;
    FieldWriter writer(out);
    writer.Begin(format_.most_keys_);
    if (format_.table_.shuffle) {
      PutPlace(*format_.table_.shuffle, tally, writer);
      writer.Begin(0);  // ignores the columns
    }
    const std::size_t sums = format_.keys_.size() - format_.sort_keys_;
    if (sums > 0) {
      tally.bytes = records;
      tally.places.assign(format_.keys_.size(), {});
    }
    scratch_->left_out = scratch_->one_line = false;
    scratch_->own = {};
    scratch_->kept_bytes = 0;
    const std::uint64_t size = format_.PutKeys(records, state, *scratch_, writer, tally);
    if (scratch_->left_out) {
      out.resize(begin);
      return size;
    }
    writer.End();
    if (format_.table_.placed) InputPlace{tally.input, tally.offset}.Append(out);
    if (format_.table_.checked) AppendKeyCheck(begin, out);
    out[begin] |= static_cast<std::byte>(scratch_->mark);
    prefix_ = format_.prefixes_.empty() ? RecordSpan() : std::as_bytes(std::span(format_.prefixes_.at(tally.input)));
    if (sums > 0) PutMark(tally.places);
    if (!prefix_.empty()) out.insert(out.end(), prefix_.begin(), prefix_.end());
    const RecordSpan record = OwnPart(records.first(size));
    if (scratch_->one_line) {
      out.insert(out.end(), record.begin(), record.end());
    } else {
      StoreBody(record, begin, out);
    }
    return size;
  }
  RecordSpan prefix() const override { return prefix_; }
  std::uint64_t kept_bytes() const override { return scratch_->kept_bytes; }
  RecordSpan OwnPart(RecordSpan record) const override { return scratch_->own.empty() ? record : scratch_->own; }

 private:
  static bool Overlap(const ValuePlace& a, const ValuePlace& b) {
    return a.known && b.known && a.at < b.at + b.size && b.at < a.at + a.size;
  }
  /// Puts a mark with the places of the values of --sum before the prefix of the record. `places` has the places of the
  /// keys and of these values. Throws BadRecord if a sum would replace another sum or a part of a key.
  void PutMark(std::vector<ValuePlace>& places) {
    mark_.clear();
    const std::size_t keys = format_.sort_keys_;
    for (std::size_t sum = keys; sum < places.size(); ++sum) {
      for (std::size_t other = 0; other < sum; ++other) {
        const bool same =
            other >= keys && places[other].known && places[sum].known && places[other].at == places[sum].at;
        if (!same && !Overlap(places[other], places[sum])) continue;
        const ValuePlace::Flaw flaw = other < keys ? ValuePlace::Flaw::kInKey : ValuePlace::Flaw::kInSum;
        if (!format_.table_.late_sums) {
          throw BadRecord(places[sum].at, WhyNoSum(format_.table_, format_.table_.keys[sum], flaw, ""));
        }
        places[sum] = {.flaw = flaw};
        break;
      }
    }
    for (std::size_t sum = keys; sum < places.size(); ++sum) {
      places[sum].at += prefix_.size();
      places[sum].Append(mark_);
    }
    EndMark(mark_);
    mark_.insert(mark_.end(), prefix_.begin(), prefix_.end());
    prefix_ = mark_;
  }

  const TableFormat& format_;
  RecordSpan prefix_;            ///< the bytes before the record that its checksum covers
  std::vector<std::byte> mark_;  ///< with --sum: owns `prefix_`
  const std::unique_ptr<Scratch> scratch_;
};

std::unique_ptr<KeyEncoder> TableFormat::MakeEncoder() const { return std::make_unique<Encoder>(*this); }

void TableFormat::PutKey(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally,
                         const ValueKey* by) const {
  if (key >= sort_keys_) return NotePlace(key, field, tally);
  if (!tally.places.empty() && field.text.data() != nullptr) {  // a column of --sum must not be a part of the key
    const auto* const record = reinterpret_cast<const char*>(tally.bytes.data());
    const std::less_equal<const char*> before;
    ValuePlace& place = tally.places[key];
    place.known =
        before(record, field.text.data()) && before(field.text.data() + field.text.size(), record + tally.bytes.size());
    if (place.known) place.at = static_cast<std::uint64_t>(field.text.data() - record);
    place.size = field.text.size();
  }
  const ColumnKey& column = table_.keys[key];
  KeyTally::Column& seen = tally.columns[key];
  if (field.is == Field::kMissing) {
    if (table_.strict) throw BadRecord(0, "it " + Lacks(table_, column) + ", which is a key");
    if (!RowOf(table_).warns_missing) ++tally.short_records;
    ++seen.missing;
  }
  if (field.is != Field::kValue) {
    ++seen.nulls;
    return keys_[key].PutNull(out);
  }
  if (by == nullptr && !column.rule.typed && seen.values < kGuessed && seen.looks_like != 0) {
    GuessType(field.text, seen);
  }
  // Values of a type that the input gives have a zone all or none, so that no zone must be guessed.
  if (by != nullptr ? by->Put(field.text, out) : PutValue(key, field, out, tally)) {
    seen.any = true;
    return;
  }
  if (table_.strict) {
    throw BadRecord(field.at, NameOf(table_, column) + ": " + InQuotes(field.text, kMostQuoted) +
                                  IsNot((by != nullptr ? by->rule() : column.rule)));
  }
  seen.bad.Note(tally);
  KeepSample(field.text, seen.bad.count, seen.samples);
  keys_[key].PutNull(out);
}

void TableFormat::NotePlace(std::size_t key, const Field& field, KeyTally& tally) const {
  const ColumnKey& column = table_.keys[key];
  KeyTally::Column& seen = tally.columns[key];
  if (field.is == Field::kMissing) {
    if (table_.late_sums) {
      tally.places[key] = {.flaw = ValuePlace::Flaw::kMissing};
      ++seen.nulls;
      ++seen.missing;
      return;
    }
    if (table_.strict) throw BadRecord(0, WhyNoSum(table_, column, ValuePlace::Flaw::kMissing, ""));
    ++seen.missing;
  }
  const auto* const record = reinterpret_cast<const char*>(tally.bytes.data());
  const std::less_equal<const char*> before;
  const bool inside = field.text.data() != nullptr && before(record, field.text.data()) &&
                      before(field.text.data() + field.text.size(), record + tally.bytes.size());
  const TextReader value = TextReader::Trimmed(field.text);
  const std::uint64_t offset = inside ? static_cast<std::uint64_t>(field.text.data() - record) : field.at;
  ValuePlace& place = tally.places[key];
  place.known = inside;
  place.null = field.is != Field::kValue || value.done();
  place.at = offset;
  place.size = field.text.size();
  place.quoted = inside && offset > 0 && static_cast<unsigned char>(field.text.data()[-1]) == quote_of_values_;
  if (place.null) {
    ++seen.nulls;
    if (field.is == Field::kValue) {  // blanks, which stay
      place.at += place.size;
      place.size = 0;
    }
    // Logs have "-" or null in place of such a value, and PutKeys() gives an empty text there.
    if (!inside || !field.text.empty() || column.of_text() || (RowOf(table_).takes & kTakesTime) == 0) return;
    const std::string_view rest(field.text.data(), tally.bytes.size() - offset);
    for (const std::string_view null : {"-", "null"}) {
      if (rest.starts_with(null)) place.size = null.size();
    }
    return;
  }
  DecimalSum::Number number;
  const DecimalSum::Read read = DecimalSum::ReadNumber(value.rest(), column.rule, number);
  if (read != DecimalSum::Read::kNumber || !inside) {
    const ValuePlace::Flaw flaw = read == DecimalSum::Read::kNoNumber  ? ValuePlace::Flaw::kNoNumber
                                  : read == DecimalSum::Read::kTooLong ? ValuePlace::Flaw::kTooLong
                                                                       : ValuePlace::Flaw::kEscapes;
    if (!table_.late_sums) throw BadRecord(offset, WhyNoSum(table_, column, flaw, InQuotes(field.text, kMostQuoted)));
    place = {.flaw = flaw};
    seen.any = true;
    return;
  }
  seen.any = true;
  place.at += static_cast<std::uint64_t>(value.at - field.text.data());
  place.size = value.rest().size();
}

void TableFormat::GuessType(std::string_view text, KeyTally::Column& seen) {
  const std::optional<ValueType> guess = LooksLike(text);
  unsigned types = std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) ? kHasDigits : 0;
  if (guess) types |= Bit(*guess);
  if (guess == ValueType::kInt) types |= Bit(ValueType::kDecimal);
  if (guess == ValueType::kDate) types |= Bit(ValueType::kTimestamp);
  // At the end of the job, a message may suggest one of these types.
  seen.looks_like &= types;
  KeepSample(text, ++seen.values, seen.samples);
}

bool TableFormat::PutValue(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally) const {
  const ValueRule& rule = keys_[key].rule();
  if (rule.type == ValueType::kTimestamp && rule.time_format.empty() && IsCompactTime(field.text)) {
    KeyTally::Column& seen = tally.columns[key];
    if (seen.days.count == 0) seen.day = field.text;
    seen.days.Note(tally);
  }
  if (rule.type == ValueType::kOrder && !keys_[key].Lists(field.text)) {
    if (table_.strict) return false;
    KeyTally::Column& seen = tally.columns[key];
    if (seen.unlisted.count == 0) seen.unlisted_value = field.text.substr(0, kMostQuoted + 1);
    seen.unlisted.Note(tally);
  }
  ZoneDoubt doubt;
  if (!keys_[key].Put(field.text, out, &doubt)) return false;
  tally.lacks_zone |= doubt.lacks_zone;
  NoteZone(doubt.word, field.text, tally);
  return true;
}

void TableFormat::NoteZone(ZoneWord word, std::string_view text, KeyTally& tally) const {
  constexpr std::size_t kMostShown = 100;
  if (word == 0 || words_ == nullptr || tally.noted_words[word]) return;
  tally.noted_words.set(word);
  const std::string doubt = words_->Doubt(word);
  if (!doubt.empty()) tally.time_notes[tally.input].try_emplace(doubt, text.substr(0, kMostShown));
}

void TableFormat::KeepExample(std::string_view record, KeyTally& tally) {
  constexpr std::size_t kMost = std::size_t{64} << 10;
  if (tally.example.empty() && record.size() <= kMost) tally.example = record;
}

void TableFormat::PutText(std::size_t key, const std::optional<std::string_view>& value, std::string_view record,
                          FieldWriter& out, KeyTally& tally) const {
  if (!value) {
    KeepExample(record, tally);
    return PutKey(key, {}, out, tally);
  }
  const std::less_equal<const char*> before;
  const bool inside = before(record.data(), value->data()) && before(value->data(), record.data() + record.size());
  const std::uint64_t at = inside ? static_cast<std::uint64_t>(value->data() - record.data()) : 0;
  PutKey(key, {*value, IsNull(*value) ? Field::kNull : Field::kValue, at}, out, tally);
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

void KeyColumns::Add(std::uint64_t column, std::size_t key) {
  const auto after = std::ranges::upper_bound(by_column, column, {}, &Wanted::column);
  by_column.insert(after, {column, key, 0});
  keys.push_back(key);
}

void KeyColumns::AddCurve(const std::vector<std::uint64_t>& columns, std::size_t key) {
  for (std::size_t part = 0; part < columns.size(); ++part) {
    const auto after = std::ranges::upper_bound(by_column, columns[part], {}, &Wanted::column);
    by_column.insert(after, {columns[part], key, part});
  }
  keys.push_back(key);
}

void TableFormat::Resolve(const std::vector<std::string>& names) {
  delimiter_ = 0;
  for (const char delimiter : {',', '|', '\t', ';'}) {
    const bool other = static_cast<unsigned char>(delimiter) != table_.delimiter;
    if (other && names.size() == 1 && names[0].find(delimiter) != std::string::npos) {
      delimiter_ = static_cast<unsigned char>(delimiter);
    }
  }
  wanted_ = {};
  for (std::size_t k = 0; k < table_.keys.size(); ++k) {
    const ColumnKey& key = table_.keys[k];
    const auto fail = [&](const std::string& column, std::uint64_t number, const std::string& name) {
      const std::string count = std::to_string(names.size()) + (names.size() == 1 ? " column: " : " columns: ");
      const std::string hint = delimiter_ != 0 ? "; " + IsItDelimiter(delimiter_)
                               : number == 0   ? OtherKeys(name, names)
                                               : "";
      FailKey(key,
              "there is no column " + column + " (the header has " + count + NearestFirst(name, names) + ")" + hint);
    };
    const auto find = [&](const std::string& name, std::uint64_t number) {
      if (number > names.size()) fail(std::to_string(number), number, name);
      if (number > 0) return number - 1;
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end()) fail(InQuotes(name), number, name);
      if (const auto again = std::find(found + 1, names.end(), name); again != names.end()) {
        FailKey(key, "several columns have this name: give #" + std::to_string(found - names.begin() + 1) + " or #" +
                         std::to_string(again - names.begin() + 1));
      }
      return static_cast<std::uint64_t>(found - names.begin());
    };
    if (key.curve != Curve::kNone) {
      std::vector<std::uint64_t> columns;
      for (const CurveColumn& one : key.curve_columns) columns.push_back(find(one.column, one.number));
      wanted_.AddCurve(columns, k);
      continue;
    }
    const std::uint64_t column = find(key.column, key.number);
    const auto same = std::ranges::find(wanted_.by_column, column, &KeyColumns::Wanted::column);
    if (key.summed && same != wanted_.by_column.end()) {
      FailKey(key, "the column is also " + std::string(table_.keys[same->key].summed ? "--sum " : "-k ") +
                       table_.keys[same->key].text);
    }
    wanted_.Add(column, k);
  }
}

namespace {

/// Returns the warnings about what was assumed about times. Each text is given once, for the first input that has it.
std::vector<std::string> DescribeNotes(const JobSpec& spec, const KeyTally& tally) {
  constexpr std::size_t kMostNotes = 5;
  struct Note {
    std::string text, shown;
    std::size_t more = 0;  ///< the number of further inputs with this text
  };
  std::vector<Note> notes;
  for (const auto& [input, of_input] : tally.time_notes) {
    for (const auto& note : of_input) {
      const auto known = std::ranges::find(notes, note.first, &Note::text);
      if (known != notes.end()) {
        ++known->more;
      } else {
        notes.push_back({note.first, EscapeName(spec.source.inputs.at(input)) + ": " + NoteText(note)});
      }
    }
  }
  std::vector<std::string> lines;
  for (const Note& note : notes) {
    if (lines.size() == kMostNotes) {
      const bool log = (RowOf(*spec.source.table).takes & kTakesTime) != 0;
      lines.push_back("not shown: " + Counted(notes.size() - kMostNotes, "more warning") +
                      (log ? " about the times of logs; --explain shows what was found" : " about zones of times"));
      break;
    }
    lines.push_back(note.shown);
    if (note.more > 0) lines.back() += "; the same holds for " + Counted(note.more, "more input");
  }
  return lines;
}

constexpr const char* kStrict = "; --strict makes this an error";

/// Adds a warning about lines of the input, if there are any. `text` has a place for the number of lines, and a place
/// for the first line.
void Tell(std::vector<std::string>& lines, const KeyTally::Lines& seen, std::string_view what,
          fmt::format_string<std::string, std::string> text) {
  if (seen.count > 0) lines.push_back(fmt::format(text, Counted(seen.count, what), QuoteWord(seen.first)));
}

/// Adds the warning that `missing` records have no value of a column of --sum.
void DescribeMissing(const TableOptions& table, const ColumnKey& key, std::uint64_t missing,
                     std::vector<std::string>& lines) {
  // Members of JSON objects are often optional.
  if (missing == 0 || RowOf(table).names == ColumnNames::kPaths) return;
  const bool several = missing > 1;
  lines.push_back(fmt::format("{} {} and {} nothing to its sum{}", Counted(missing, "record"),
                              Lacks(table, key, several), several ? "add" : "adds", kStrict));
}

/// Adds the warnings about the values of key `k`.
void DescribeKey(const JobSpec& spec, const KeyTally& tally, std::size_t k, std::vector<std::string>& lines) {
  const TableOptions& table = *spec.source.table;
  const KeyTally::Column& column = tally.columns[k];
  const ColumnKey& key = table.keys[k];
  const std::string name = NameOf(table, key);
  if (column.bad.count > 0) {
    lines.push_back(
        fmt::format("{}: {} {} no {} and ordered as null, the first in {}: {}{}", name,
                    Counted(column.bad.count, "value"), column.bad.count == 1 ? "is" : "are",
                    // A dump can give the type of a key.
                    key.rule.type == ValueType::kText ? "value of the column's type" : ValueTypeName(key.rule.type),
                    RecordName(spec, column.bad), InQuotes(column.samples.at(0), kMostQuoted), kStrict));
  }
  if (key.summed) {
    if (!table.late_sums) DescribeMissing(table, key, column.missing, lines);
    return;
  }
  if (!column.any && column.bad.count == 0 && column.nulls > 0) lines.push_back(NoValues(spec, key, column, tally));
  if (column.any && column.missing > 0 && RowOf(table).warns_missing) {
    const bool several = column.missing > 1;
    lines.push_back(fmt::format("{} {} and {} ordered as null{}", Counted(column.missing, "record"),
                                Lacks(table, key, several), several ? "are" : "is", kStrict));
  }
  if (column.unlisted.count > 0) {
    const bool one = column.unlisted.count == 1;
    lines.push_back(fmt::format("{}: {} {} not in {} and {} after those that are, the first in {}: {}{}", name,
                                Counted(column.unlisted.count, "value"), one ? "is" : "are",
                                InQuotes(key.rule.order_file), one ? "comes" : "come",
                                RecordName(spec, column.unlisted), InQuotes(column.unlisted_value, kMostQuoted),
                                kStrict));
  }
  if (column.days.count > 0) {
    const std::size_t size = column.day.size();
    const char* const type = size == 8 ? "date" : size == 12 ? "timestamp(%Y%m%d%H%M)" : "timestamp(%Y%m%d%H%M%S)";
    lines.push_back(
        fmt::format("{}: {} without separators, such as '{}', look like days but were taken as counts "
                    "since 1970: {} reads them",
                    name, Counted(column.days.count, "value"), column.day, type));
  }
  if (const std::string say = key.rule.typed ? "" : TypeToSay(key, column); !say.empty()) lines.push_back(name + say);
}

/// Adds the warnings about the columns that the records of a table have.
void DescribeWidths(const JobSpec& spec, const KeyTally& tally, std::vector<std::string>& lines) {
  if (tally.short_records > 0) {
    lines.push_back(std::to_string(tally.short_records) +
                    " keys are of columns that their records do not have; ordered as null");
  }
  if (tally.other_width.count > 0) {
    lines.push_back(fmt::format("{} another number of columns than the header, the first is {} with {}{}",
                                RecordsHave(tally.other_width), RecordName(spec, tally.other_width),
                                Counted(tally.first_width, "column"), kStrict));
  }
  if (tally.glued.count > 0) {
    const FormatRow& row = RowOf(*spec.source.table);
    lines.push_back(fmt::format("{} {}, the first is {}: {}{}", RecordsHave(tally.glued), row.glued,
                                RecordName(spec, tally.glued), row.glued_advice, kStrict));
  }
  if (tally.delimiter != 0) lines.push_back("the header is a single column: " + IsItDelimiter(tally.delimiter));
}

/// Adds the warning about times without a zone.
void DescribeLackingZone(const JobSpec& spec, const KeyTally& tally, std::vector<std::string>& lines) {
  const TableOptions& table = *spec.source.table;
  const bool log = (RowOf(table).takes & kTakesTime) != 0;
  if (!tally.lacks_zone || !table.zone.empty()) return;
  const bool takes = (RowOf(table).takes & kTakesZone) != 0;
  lines.push_back("timestamps without a zone were taken as " +
                  (log ? "times of " + Zone(table.zone).name() : std::string("UTC")) +
                  (takes ? "; --timezone ZONE gives another zone" : ""));
}

/// Adds the warning about times without a year.
void DescribeLackingYear(const KeyTally& tally, std::vector<std::string>& lines) {
  if (!tally.lacks_year) return;
  lines.push_back(
      "times without a year were taken as of the last year in which they are at most a day later than the last "
      "change of their file");
}

/// Adds the warnings about times: their zone, and the lines of a log without them.
void DescribeTimes(const JobSpec& spec, const KeyTally& tally, std::vector<std::string>& lines) {
  DescribeLackingZone(spec, tally, lines);
  const bool alike = tally.log_records > 1 && 10 * tally.alike_lines >= 9 * tally.log_records;
  if (tally.untimed_lines > tally.log_records && !alike) {
    lines.push_back(
        fmt::format("{} begin with no time and were taken for parts of the records before them, such as {}; "
                    "--explain shows the times that were found, and --time gives others",
                    Counted(tally.untimed_lines, "line"), QuoteWord(tally.untimed_line)));
  }
  Tell(lines, tally.impossible_lines, "line",
       "a time that does not exist stands in {}, the first is {}; such lines were taken for parts of the records "
       "before them");
  Tell(lines, tally.other_form_lines, "line",
       "a time of another form than those learnt from the first 256 KiB of the input stands at the front of {}, the "
       "first is {}; such lines were taken for parts of the records before them: split the log there, or give all "
       "forms with --time");
  Tell(lines, tally.inner_times, "line",
       "a time stands in {} that did not begin a record, the first is {}; such lines were taken for parts of the "
       "records before them: --explain shows the times that were found, and --time gives others");
  const std::vector<std::string> notes = DescribeNotes(spec, tally);
  lines.insert(lines.end(), notes.begin(), notes.end());
}

/// Adds the warnings about an SQL dump: what its restore does with rows in another order.
void DescribeDump(const KeyTally& tally, std::vector<std::string>& lines) {
  Tell(lines, tally.parted_rows, "statement",
       "{} with rows of a table after other lines or with other columns, the first is {}: the rows of a table were "
       "sorted before and after that place, not across it");
  Tell(lines, tally.renumbered_rows, "row",
       "{} with a value that the server counts up or takes from the rows before it, the first in table {}: sorting "
       "changes such values");
  Tell(lines, tally.renumbered_tables, "table",
       "{} with a column that gets values after the rows, which the server counts up, the first is {}: sorting changes "
       "such values");
  Tell(lines, tally.odd_keys(), "row",
       "{} with a key that the server may change, as it cuts or converts values, the first in table {}, which REPLACE, "
       "INSERT IGNORE or ON CONFLICT fills: if such a key becomes equal to that of another row, the new order may keep "
       "another one of the rows");
  Tell(lines, tally.self_references, "table",
       "the foreign key of {}, the first is {}, names the table itself, and the dump does not turn the checks of "
       "foreign keys off: the server may refuse a row that stands before the row that it names");
  Tell(lines, tally.conflict_tables, "table",
       "REPLACE, INSERT IGNORE, ON CONFLICT or ALTER IGNORE fills or changes {}, the first is {}: if two rows of it "
       "have equal primary or unique keys, the new order may keep another one of them");
  Tell(lines, tally.triggered(), "table",
       "a trigger or a rule comes before the rows of {}, the first is {}: what it does may depend on the order of the "
       "rows");
  Tell(lines, tally.order_statements, "statement",
       "{} after rows whose result may depend on the order of the rows, the first is {}");
  Tell(lines, tally.left_inserts, "INSERT statement",
       "{} without rows that are known, or after other text on the line, the first is {}: left in place");
}

}  // namespace

std::string DescribeZone(const TableOptions& table) {
  const unsigned takes = RowOf(table).takes;
  const bool log = (takes & kTakesTime) != 0;
  const bool stamps =
      std::ranges::any_of(table.keys, [](const ColumnKey& key) { return key.rule.type == ValueType::kTimestamp; });
  const std::string utc = stamps ? "UTC for times without a zone" : "";
  if (!NeedsZone(table)) return utc;
  const Zone zone(table.zone);
  if (!zone.known()) return zone.problem();
  const std::string name = zone.name() + (zone.given() ? " (--timezone)" : "") + " for ";
  const std::string words = "abbreviations such as CST";
  if ((log || zone.given()) && (log || stamps)) return name + "times without a zone, and for " + words;
  return utc + (utc.empty() ? "" : " (--timezone gives another); ") + name + words;
}

std::vector<std::string> DescribeAssumedTimes(const JobSpec& spec, const KeyTally& tally) {
  std::vector<std::string> lines;
  DescribeLackingZone(spec, tally, lines);
  const std::vector<std::string> notes = DescribeNotes(spec, tally);
  lines.insert(lines.end(), notes.begin(), notes.end());
  DescribeLackingYear(tally, lines);
  return lines;
}

std::vector<std::string> DescribeTally(const JobSpec& spec, const KeyTally& tally) {
  std::vector<std::string> lines;
  const TableOptions& table = *spec.source.table;
  for (std::size_t k = 0; k < tally.columns.size(); ++k) DescribeKey(spec, tally, k, lines);
  DescribeWidths(spec, tally, lines);
  DescribeTimes(spec, tally, lines);
  DescribeDump(tally, lines);
  DescribeLackingYear(tally, lines);
  if (table.has_window()) {
    const std::vector<std::string> more = DescribeWindow(table.since, table.until, Zone(table.zone), tally.window);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  return lines;
}

std::vector<std::string> DescribeMissingValues(const TableOptions& table, const std::vector<std::uint64_t>& missing) {
  std::vector<std::string> lines;
  std::size_t sum = 0;
  for (const ColumnKey& key : table.keys) {
    if (key.summed && sum < missing.size()) DescribeMissing(table, key, missing[sum++], lines);
  }
  return lines;
}

std::string WhyNoSum(const TableOptions& table, const ColumnKey& key, ValuePlace::Flaw flaw, const std::string& value) {
  using enum ValuePlace::Flaw;
  if (flaw == kMissing) return "it " + Lacks(table, key) + ", which --sum adds up";
  if (flaw == kInKey) return "a column of --sum stands in the same place as a key";
  if (flaw == kInSum) return "two columns of --sum stand in the same place";
  const std::string why =
      flaw == kNoNumber ? " is no decimal number"
      : flaw == kTooLong
          ? fmt::format(" has more than {} digits before or after its decimal point", DecimalSum::kMostDigits)
      : table.quote < 0 || (RowOf(table).takes & kTakesQuote) == 0 ? " has escapes"
                                                                   : " has escapes or text after its quotes";
  return NameOf(table, key) + ": " + value + why + ", so --sum cannot add it";
}

void RefuseNoValues(const JobSpec& spec, const KeyTally& tally) {
  for (std::size_t k = 0; k < tally.columns.size(); ++k) {
    const KeyTally::Column& column = tally.columns[k];
    if (column.any || column.nulls + column.bad.count == 0) continue;
    // A column of --sum may be null in all records, but it must be there.
    if (spec.source.table->keys[k].summed && column.missing < column.nulls) continue;
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}{}{}; --force-format sorts them anyway",
                            spec.source.inputs.size() == 1 ? EscapeName(spec.source.inputs[0]) + ": " : "",
                            NoValues(spec, spec.source.table->keys[k], column, tally),
                            tally.delimiter != 0 ? "; " + IsItDelimiter(tally.delimiter) : ""));
  }
}

}  // namespace gpusort

#include "formats/group_form.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/gnu_quote.hpp"
#include "base/text.hpp"
#include "base/varint.hpp"
#include "formats/json_record.hpp"
#include "formats/registry.hpp"
#include "formats/table_format.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

std::string_view AsText(RecordSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// A text of at most so many bytes is stored as it is.
constexpr std::size_t kShortText = 40;
/// A run repeats the bytes at this distance before it, so that it can be zeros with separators of thousands: 000,000.
constexpr std::size_t kRunDistance = 4;
/// Fewer bytes are not worth a run of their own.
constexpr std::size_t kShortestRun = 8;

/// Appends a sum to `texts`, with its size. Runs of zeros or nines take a few bytes, however long they are, so that the
/// sums of a group are not much larger than its records: 1e999 + 1e-999 has 2000 digits.
void PutText(std::string_view text, std::string& texts) {
  PutVarint(text.size(), texts);
  if (text.size() <= kShortText) {
    texts += text;
    return;
  }
  std::size_t begin = 0;
  const auto put = [&](std::size_t at, std::size_t end) {  // the bytes from `begin` to `at`, and a run up to `end`
    PutVarint(at - begin, texts);
    texts += text.substr(begin, at - begin);
    PutVarint(end - at, texts);
    begin = end;
  };
  for (std::size_t at = kRunDistance; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && text[end] == text[end - kRunDistance]) ++end;
    if (end - at >= kShortestRun) put(at, end);
    at = std::max(end, at + 1);
  }
  if (begin < text.size()) put(text.size(), text.size());
}

/// Removes a sum from the front of `texts`, to which PutText() has appended it.
std::string TakeText(std::string_view& texts) {
  const auto fail = [] { throw WrongResult("the sums of a group of records were lost"); };
  const auto take = [&](std::uint64_t most) {
    const std::optional<std::uint64_t> size = TakeVarint(texts);
    if (!size || *size > most) fail();
    return static_cast<std::size_t>(*size);
  };
  const auto take_bytes = [&](std::size_t size) {
    if (size > texts.size()) fail();
    const std::string_view bytes = texts.substr(0, size);
    texts.remove_prefix(size);
    return bytes;
  };
  const std::size_t size = take(std::numeric_limits<std::uint64_t>::max());
  if (size <= kShortText) return std::string(take_bytes(size));
  std::string text;
  while (text.size() < size) {
    text += take_bytes(take(size - text.size()));
    const std::size_t run = take(size - text.size());
    if (run > 0 && text.size() < kRunDistance) fail();
    for (std::size_t i = 0; i < run; ++i) text += text[text.size() - kRunDistance];
  }
  return text;
}

DecimalSum::Number ReadAgain(std::string_view text, const ValueRule& rule) {
  DecimalSum::Number number;
  // A sum may have more digits than any of its numbers.
  const std::size_t most = std::max(text.size(), DecimalSum::kMostDigits);
  if (DecimalSum::ReadNumber(text, rule, number, most) != DecimalSum::Read::kNumber) {
    throw WrongResult("a value of --sum is no number any more: " + InQuotes(text));
  }
  return number;
}

[[noreturn]] void FailSum(const ColumnKey& key, const std::string& why, RecordSpan record) {
  constexpr std::size_t kMost = 100;
  const std::string_view text = AsText(record);
  throw BadSum("--sum: " + InQuotes(key.text) + ": " + why + ": " +
               QuoteFront(text.substr(0, text.find_last_not_of("\r\n") + 1), kMost));
}

/// Returns true if the value at the offset `at` is that of a member of JSON: a name in quotes and a colon are before
/// it.
bool IsMember(std::string_view record, std::uint64_t at) {
  for (const char before : {':', '"'}) {
    const std::size_t last = record.substr(0, at).find_last_not_of(kJsonBlanks);
    if (last == record.npos || record[last] != before) return false;
    at = last;
  }
  return true;
}

}  // namespace

GroupForm::GroupForm(const JobSpec& spec) {
  if (spec.order.count) count_.emplace(spec);
  if (!spec.source.table) return;
  const TableOptions& table = *spec.source.table;
  const FormatRow& row = RowOf(table);
  json_ = row.names == ColumnNames::kPaths;
  log_ = (row.takes & kTakesTime) != 0;
  quote_ = (row.takes & kTakesQuote) != 0 ? table.quote : -1;
  delimiter_ = (row.takes & kTakesDelimiter) != 0 ? table.delimiter : table.separator;
  for (const ColumnKey& key : table.keys) {
    if (!key.summed) continue;
    Column& column = columns_.emplace_back(Column{&key, {}});
    if (!json_) continue;
    const std::vector<JsonPath::Step> steps = JsonPath(key.column).steps();
    if (steps.size() == 1 && steps[0].name) column.member = nlohmann::json(*steps[0].name).dump() + ":";
  }
}

void GroupForm::AddValues(RecordSpan marked, ColumnSums& sums, ColumnSums& totals) const {
  MarkedRecord parts(marked);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const ValuePlace place = ValuePlace::Take(parts.mark);
    if (place.null) continue;
    if (place.at > parts.record.size() || place.size > parts.record.size() - place.at) {
      throw WrongResult("a value of --sum is not in its record");
    }
    const DecimalSum::Number number =
        ReadAgain(AsText(parts.record.subspan(place.at, place.size)), columns_[i].key->rule);
    sums[i].Add(number);
    totals[i].Add(number);
  }
  if (!parts.mark.empty()) throw WrongResult("a record has places of more values than --sum adds");
}

std::string GroupForm::TextsOf(const ColumnSums& sums) const {
  std::string texts;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string text = sums[i].any() ? sums[i].Text(columns_[i].key->rule) : "";
    PutText(text, texts);
  }
  return texts;
}

void GroupForm::AddTexts(std::string_view texts, ColumnSums& totals) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string text = TakeText(texts);
    if (!text.empty()) totals[i].Add(ReadAgain(text, columns_[i].key->rule));
  }
}

std::string GroupForm::JsonOf(const ColumnKey& key, std::string_view sum) {
  const bool number = sum.find_first_not_of(key.rule.decimal_point == '.' ? "-0123456789." : "-0123456789") == sum.npos;
  return number ? std::string(sum) : '"' + std::string(sum) + '"';
}

GroupForm::Edit GroupForm::AddMember(const Column& column, std::string_view sum, RecordSpan record) const {
  const std::optional<FirstMemberPlace> place = PlaceOfFirstMember(AsText(record));
  if (column.member.empty() || !place) {
    FailSum(*column.key, "the first record with its key has no place for the sum of the records", record);
  }
  return {place->at, 0, column.member + JsonOf(*column.key, sum) + (place->comma ? "," : "")};
}

GroupForm::Edit GroupForm::Replace(const Column& column, const ValuePlace& place, std::string_view sum,
                                   RecordSpan record) const {
  if (!place.known && json_) return AddMember(column, sum, record);
  if (!place.known) {
    FailSum(*column.key, "the first record with its key has no place for the sum of the records", record);
  }
  const auto has = [sum](int byte) { return byte >= 0 && sum.find(static_cast<char>(byte)) != sum.npos; };
  if (json_ || (log_ && IsMember(AsText(record), place.at))) {
    return {place.at, place.size, place.quoted ? std::string(sum) : JsonOf(*column.key, sum)};
  }
  const bool needs_quotes = !place.quoted && (has(delimiter_) || (delimiter_ < 0 && (has(' ') || has('\t'))));
  if ((needs_quotes && quote_ < 0) || ((needs_quotes || place.quoted) && has(quote_))) {
    FailSum(*column.key, "the sum " + InQuotes(sum) + " cannot be written into the first record with its key", record);
  }
  std::string text(sum);
  if (needs_quotes) text = static_cast<char>(quote_) + text + static_cast<char>(quote_);
  return {place.at, place.size, std::move(text)};
}

std::vector<GroupForm::Edit> GroupForm::EditsOf(const GroupResult& group, const MarkedRecord& marked) const {
  std::vector<Edit> edits;
  if (count_) {
    const CountForm::Insertion insertion = count_->For(group.count, marked.record);
    edits.push_back({insertion.at, 0, std::string(insertion.text, insertion.size)});
  }
  RecordSpan mark = marked.mark;
  std::string_view texts = group.sum_texts;
  for (const Column& column : columns_) {
    const ValuePlace place = ValuePlace::Take(mark);
    const std::string text = TakeText(texts);
    if (!text.empty()) edits.push_back(Replace(column, place, text, marked.record));
  }
  std::ranges::stable_sort(edits, {}, &Edit::at);
  // Several new members of an empty JSON object need commas between them.
  for (std::size_t i = 1; i < edits.size(); ++i) {
    Edit& before = edits[i - 1];
    if (json_ && before.at == edits[i].at && !before.text.ends_with(',')) before.text += ',';
  }
  return edits;
}

}  // namespace gpusort

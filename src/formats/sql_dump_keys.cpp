#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "formats/find_bytes.hpp"
#include "formats/gap_key.hpp"
#include "formats/sql_dump_format.hpp"
#include "formats/sql_dump_state.hpp"
#include "formats/text_reader.hpp"
#include "formats/time_text.hpp"
#include "formats/value_keys.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// Removes text of the form `form` from the beginning of `text`, where 0 stands for a digit, _ for a digit or a blank,
/// and a for a letter. Returns false if the text has another form, and does not change `text`.
bool TakeForm(std::string_view& text, std::string_view form) {
  const auto fits = [](char c, char f) {
    return f == '0'   ? IsDigit(c)
           : f == '_' ? IsDigit(c) || c == ' '
           : f == 'a' ? IsLetterOrDigit(c) && !IsDigit(c)
                      : c == f;
  };
  if (text.size() < form.size() || !std::ranges::equal(text.substr(0, form.size()), form, fits)) return false;
  text.remove_prefix(form.size());
  return true;
}

constexpr std::string_view kIsoTime = "0000-00-00 00:00:00", kMailTime = "aaa, 00 aaa 0000 00:00:00 ",
                           kAscTime = "aaa aaa _0 00:00:00 0000";

/// Returns true if `line`, a comment or a command of psql between two statements, can differ between two dumps of equal
/// databases: it has a random word, the time of the dump, or numbers that only the dump or the server knows.
bool IsVolatile(std::string_view line) {
  const std::string_view all = line.substr(0, line.find_last_not_of(kSqlBlanks) + 1);
  std::string_view rest = all;
  if (TakeSqlText(rest, "\\restrict ") || TakeSqlText(rest, "\\unrestrict ")) return true;  // pg_dump
  // mysqldump, mysqldump-php, and MySqlBackup.NET
  if (TakeSqlText(rest, "-- Dump completed")) return rest.empty() || rest.starts_with(" on");
  if (TakeSqlText(rest, "-- Dump created on ")) return true;                           // MySQLDumper
  if (TakeSqlText(rest, "-- Generation Time: ")) return true;                          // phpMyAdmin, TablePlus
  if (TakeSqlText(rest, "-- Started on ") || TakeSqlText(rest, "-- Completed on ")) {  // pg_dump --verbose
    return TakeForm(rest, kIsoTime);
  }
  if (TakeSqlText(rest, "-- Dump start time: ") || TakeSqlText(rest, "-- Dump end time: ")) {  // mysqlpump
    return TakeForm(rest, kAscTime);
  }
  if (TakeSqlText(rest, "-- Date: ")) return TakeForm(rest, kMailTime);  // mysqldump-php
  if (TakeSqlText(rest, "-- File generated with SQLiteStudio v")) return rest.find(" on ") != rest.npos;
  // pg_dump --verbose: the numbers of objects in the dump and in the server
  const auto take_number = [&] {
    const std::size_t size = std::min(rest.find_first_not_of("0123456789"), rest.size());
    rest.remove_prefix(size);
    return size > 0;
  };
  if (TakeSqlText(rest, "-- TOC entry ")) {
    return take_number() && TakeSqlText(rest, " (class ") && take_number() && TakeSqlText(rest, " OID ") &&
           take_number() && rest == ")";
  }
  // pg_restore --verbose: the place or the file of a table's rows in the archive
  if (TakeSqlText(rest, "-- Data Pos: ")) return take_number() && rest.empty();
  if (TakeSqlText(rest, "-- File: ")) return take_number() && rest == ".dat";
  if (TakeSqlText(rest, "-- Dependencies:")) {
    bool numbers = TakeSqlText(rest, " ");
    do numbers = numbers && take_number();
    while (numbers && TakeSqlText(rest, " "));
    return numbers && rest.empty();
  }
  // Adminer: the time of PHP or of the server, such as "-- 2026-11-27 06:00:00 UTC" or with "06:00:00.25+00".
  if (TakeSqlText(rest, "-- ")) {
    return TakeForm(rest, kIsoTime) && (rest == " UTC" || rest.find_first_not_of(".0123456789+-:") == rest.npos);
  }
  // Sequel Pro and Sequel Ace: "# Generation Time: 2026-11-27 06:00:00 +0000", in the language of the user.
  constexpr std::string_view kZoned = "0000-00-00 00:00:00 ";
  const std::size_t time = all.size() - std::min(all.size(), kZoned.size() + std::string_view("+0000").size());
  rest = all.substr(time);
  return all.starts_with("# ") && all.substr(0, time).ends_with(": ") && TakeForm(rest, kZoned) &&
         (TakeForm(rest, "+0000") || TakeForm(rest, "-0000"));
}

/// Returns true if `line`, which lies in a comment, has the time in the form of Navicat: " Date: 27/11/2026 06:00:00",
/// in old versions "Date: 2026-11-27 06:00:00".
bool IsTimeOfNavicat(std::string_view line) {
  std::string_view rest = line.substr(0, line.find_last_not_of(kSqlBlanks) + 1);
  TakeSqlText(rest, " ");
  if (!TakeSqlText(rest, "Date: ")) return false;
  if (!TakeForm(rest, "00/00/0000 00:00:00") && !TakeForm(rest, kIsoTime)) return false;
  return rest.empty() || rest == " AM" || rest == " PM";
}

/// Returns true if --strip-volatile leaves out `line`. `dump` is the state at the beginning of the line. Lines inside
/// of a statement stay, because databases store some of them: bodies of procedures, and in SQLite all of CREATE TABLE.
bool IsVolatile(std::string_view line, const DumpState& dump) {
  const SqlText& sql = dump.text;
  // A line that is no comment in the dialect of the dump is a part of a statement.
  const bool other = line.starts_with('\\')  ? dump.dialect != SqlDialect::kPostgres
                     : line.starts_with('#') ? dump.dialect != SqlDialect::kMysql
                                             : false;
  if (sql.between()) return (!other || dump.dialect == SqlDialect::kUnknown) && IsVolatile(line);
  const bool first = dump.tables == nullptr && dump.seen.empty();
  return sql.in == SqlText::kComment && !sql.open && sql.delimiter.empty() && first && IsTimeOfNavicat(line);
}

/// Returns true if an expression of whole numbers, such as 1-1, may be 0.
bool MayBeZero(std::string_view text) {
  constexpr std::size_t kMostDigits = 15;
  SkipSqlSpaces(text);
  std::int64_t sum = 0, term = TakeSqlText(text, "-") ? -1 : 1;
  for (;; text.remove_prefix(1)) {
    SkipSqlSpaces(text);
    const std::size_t size = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::optional<std::uint64_t> number = ParseDigits(text.substr(0, size));
    if (!number || size > kMostDigits || __builtin_mul_overflow(term, *number, &term)) return true;
    text.remove_prefix(size);
    SkipSqlSpaces(text);
    if (text.starts_with('*')) continue;
    if (__builtin_add_overflow(sum, term, &sum)) return true;
    if (text.empty()) return sum == 0;
    if (text[0] != '+' && text[0] != '-') return true;
    term = text[0] == '-' ? -1 : 1;
  }
}

/// Returns true if the server counts up a value instead of storing this one. `zero_counts` is true if it does so for
/// the value 0, and `only_default` if it does so only for the word DEFAULT.
bool IsCountedUp(const SqlValue& value, std::string_view text, SqlDialect dialect, bool zero_counts,
                 bool only_default) {
  if (IsWord(text, "default") && !value.literal) return true;
  if (only_default) return text.empty() && !value.literal;  // the row ()
  if (dialect == SqlDialect::kPostgres) return false;       // a null stays null
  if (value.is == SqlValue::kNull) return true;
  if (dialect != SqlDialect::kMysql) return false;
  if (text.empty() && !value.literal) return true;  // the row ()
  // Texts that are no numbers, and fractions, become 0.
  const std::string_view digits = value.is == SqlValue::kHex ? value.text : text;
  const std::size_t first = digits.find_first_not_of("0- ");
  const bool zero = first == digits.npos || (value.is != SqlValue::kHex && !IsDigit(digits[first]));
  const bool computed = value.is == SqlValue::kNumber && text.find_first_of("+-*/% (", 1) != text.npos;
  if (zero_counts && computed) return MayBeZero(text);
  const bool bits = !value.literal && text.find_first_not_of('0') == text.npos;  // b'0'
  return zero_counts && zero && (value.literal || bits || text == "false");
}

/// Writes the key of a time of MySQL whose month or day is 0, such as 0000-00-00. Returns false for any other text.
bool PutZeroDate(const ValueKey* order, std::string_view text, FieldWriter& out) {
  constexpr std::string_view kForm = "0000-00-00";
  constexpr std::size_t kMonth = 5, kDay = 8;
  if (order == nullptr || order->rule().type != ValueType::kTimestamp || text.size() < kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == '-' ? text[i] != '-' : !IsDigit(text[i])) return false;
  }
  const bool no_month = text.substr(kMonth, 2) == "00";
  if (!no_month && text.substr(kDay, 2) != "00") return false;
  std::string first(text.substr(0, kForm.size()));
  if (no_month) first.replace(kMonth, 2, "01");
  const std::optional<Day> day = ParseDay(first.replace(kDay, 2, "01"));
  if (!day) return false;
  // The time comes after the last microsecond before the first day of the year or month: its fraction has more digits.
  std::string fraction = no_month ? "9999990" : "9999991";
  fraction += text.substr(kDay, 2);
  std::ranges::copy_if(text.substr(kForm.size()), std::back_inserter(fraction), IsDigit);
  fraction += '1';  // a fraction does not end with 0
  Instant instant;
  instant.seconds = day->days * std::int64_t{86400} - 1;
  instant.fraction = fraction;
  order->PutInstant(instant, out);
  return true;
}

}  // namespace

struct SqlDumpFormat::RowScratch : Scratch {
  std::vector<SqlValue> values;  ///< the literals of `fields`
  bool depends = false;          ///< a value of the row can depend on the rows before it
};

std::unique_ptr<TableFormat::Scratch> SqlDumpFormat::MakeScratch() const { return std::make_unique<RowScratch>(); }

const Byte* SqlDumpFormat::RowEnd(const Byte* p, const Byte* end, const Byte* record, const DumpState& dump,
                                  bool& depends) const {
  depends = false;
  std::uint64_t rows = 0;
  const Byte* const simple = SkipRows(p, end, dump.dialect, dump.text.escapes, {}, 1, rows);
  if (rows > 0) return simple;
  RowLexer lexer;
  const Byte* bad = nullptr;
  const Byte* const stop = lexer.Take(p, end, dump.dialect, dump.text.escapes, bad);
  if (bad != nullptr) throw BadRecord(static_cast<std::uint64_t>(bad - record), kCommentInRow);
  if (lexer.depth > 0 || stop == p) throw Error(ErrorCode::kInternal, "records that end inside a row");
  depends = DependsOnRows(Text(p, stop), dump.dialect, dump.text.escapes);
  return stop;
}

/// Reads the columns of a row of an INSERT, one after the other.
class SqlDumpFormat::InsertColumns {
 public:
  /// `p` is at or before the "(" of the row, and `end` is after the ")".
  InsertColumns(const Byte* record, const Byte* p, const Byte* end, const DumpState& dump)
      : record_(record),
        begin_(p),
        end_(end),
        dialect_(dump.dialect),
        escapes_(dump.text.escapes),
        p_(FindByte(p, end, '(') + 1) {}
  bool more() const { return p_ < end_; }
  /// Returns the value of the column. Sets `value` to the literal. `order` is the order for its key; null: as text. The
  /// value can lie in `text`.
  Field Read(const ValueKey* order, std::string& text, SqlValue& value) {
    value = ReadSqlValue(Text(p_, Stop()), dialect_, escapes_, text);
    Field field{value.text, value.is == SqlValue::kNull ? Field::kNull : Field::kValue,
                static_cast<std::uint64_t>(p_ - record_)};
    if (value.is != SqlValue::kHex || (order != nullptr && order->rule().type == ValueType::kBytesHex)) return field;
    text.clear();
    for (std::size_t i = value.text.size() % 2; i + 1 < value.text.size(); i += 2) {
      text += static_cast<char>(HexDigit(value.text[i]) << 4 | HexDigit(value.text[i + 1]));
    }
    field.text = text;
    return field;
  }
  void Next() {
    p_ = Stop() + 1;
    stop_ = nullptr;
  }
  /// Returns false if the column, whose value the server may count up, is a number greater than 0. Takes less time than
  /// Read().
  bool MayBeCountedUp() const {
    const Byte* value = SkipSpace(p_, end_);
    if (value == end_ || *value < '1' || *value > '9') return true;
    while (value != end_ && IsDigit(static_cast<char>(*value))) ++value;
    return value == end_ || (*value != ',' && *value != ')');
  }
  /// Returns the text of the row.
  std::string_view row() const { return Text(begin_, end_); }

 private:
  const Byte* Stop() {
    if (stop_ == nullptr) stop_ = ValueEnd(p_, end_, dialect_, escapes_);
    return stop_;
  }

  const Byte *const record_, *const begin_, *const end_;
  const SqlDialect dialect_;
  const bool escapes_;
  const Byte* p_;
  const Byte* stop_ = nullptr;  ///< the end of the column, once it is known
};

/// Reads the columns of a row of a COPY block, one after the other.
class SqlDumpFormat::CopyColumns {
 public:
  CopyColumns(const SqlDumpFormat& format, const Byte* record, const Byte* end, std::string& scratch)
      : format_(format), record_(record), end_(end), scratch_(scratch), p_(record) {}
  bool more() const { return !ended_; }
  /// As InsertColumns::Read.
  Field Read(const ValueKey*, std::string& text, SqlValue& value) {
    Field field;
    stop_ = format_.ReadField(record_, p_, end_, field, text);
    value = {field.is == Field::kNull ? SqlValue::kNull : SqlValue::kText, field.text};
    return field;
  }
  void Next() {
    if (stop_ == nullptr) stop_ = format_.SkipField(p_, end_, scratch_);
    ended_ = stop_ == end_ || *stop_ == '\n';
    p_ = stop_ == end_ ? end_ : stop_ + 1;
    stop_ = nullptr;
  }
  bool MayBeCountedUp() const { return false; }
  std::string_view row() const { return Text(record_, end_); }
  /// Returns the end of the row.
  const Byte* RowEnd() const { return ended_ ? p_ : format_.RecordEnd(p_, end_); }

 private:
  const SqlDumpFormat& format_;
  const Byte *const record_, *const end_;
  std::string& scratch_;
  const Byte* p_;
  const Byte* stop_ = nullptr;  ///< the end of the column, if it was read
  bool ended_ = false;
};

template <typename Columns>
void SqlDumpFormat::PutRowKeys(Columns& columns, const DumpState& dump, Scratch& scratch, FieldWriter& out,
                               KeyTally& tally) const {
  const RowsPart& part = *dump.part;
  const bool keyed = !part.wanted.keys.empty();
  const KeyColumns& wanted = keyed ? part.wanted : part.primary;
  const bool all = wanted.keys.empty();
  const bool lite = dump.dialect == SqlDialect::kSqlite;
  const bool mysql = dump.dialect == SqlDialect::kMysql;
  const bool zero_counts = dump.dialect == SqlDialect::kMysql && !dump.session.zero_is_value;
  const bool depends = std::exchange(static_cast<RowScratch&>(scratch).depends, false);
  bool renumbered = depends || part.lacks_counted;
  std::vector<Field>& fields = scratch.fields;
  std::vector<std::string>& texts = scratch.texts;
  std::vector<SqlValue>& values = static_cast<RowScratch&>(scratch).values;
  fields.assign(keyed ? keys_.size() : wanted.keys.size(), {});
  values.assign(fields.size(), {});
  // A resize would move the texts to which `fields` refers.
  const std::size_t most = std::max(wanted.keys.size(), part.columns.size()) + 1;
  if (texts.size() < most) texts.resize(most);
  // Writes the key of a value. Returns false if it is no value of the type, which is ordered as null.
  const auto put = [&](const ValueKey* order, const Field& field) {
    if (order == nullptr) return PutWhole(field, out), true;
    if (field.is == Field::kValue && order->Put(field.text, out)) return true;
    if (mysql && field.is == Field::kValue && PutZeroDate(order, field.text, out)) return true;
    order->PutNull(out);
    return field.is != Field::kValue;
  };
  std::size_t next = 0;  // the index in `wanted`
  // Every row of COPY gives a value.
  auto counted = part.decided ? part.counted.begin() : part.counted.end();
  const auto wants = [&] { return all || next < wanted.by_column.size() || counted != part.counted.end(); };
  for (std::size_t column = 0; columns.more() && wants(); ++column) {
    if (counted != part.counted.end() && column == *counted) {
      const bool only_default = part.only_default[static_cast<std::size_t>(counted - part.counted.begin())];
      ++counted;
      if (columns.MayBeCountedUp()) {
        SqlValue value;
        std::string buffer;
        const std::string_view text = columns.Read(nullptr, buffer, value).text;
        renumbered |= IsCountedUp(value, text, dump.dialect, zero_counts, only_default);
      }
    }
    if (all) {
      const auto& order = column < part.columns.size() ? part.columns[column] : nullptr;
      SqlValue value;
      const Field field = columns.Read(order.get(), texts[order != nullptr ? fields.size() + 1 : 0], value);
      bool known = true;
      if (lite) {
        PutLite(of_type_, value.is, field, true, out);
      } else {
        known = put(order.get(), field);
      }
      if (RowsPart::IsInexact(order) || !known) fields.push_back(field);
    }
    for (; next < wanted.by_column.size() && wanted.by_column[next].column == column; ++next) {
      const std::size_t key = wanted.by_column[next].key;
      const ValueKey* const order = !keyed                    ? part.primary_by[key].get()
                                    : part.by[key] != nullptr ? part.by[key].get()
                                                              : &keys_[key];
      fields[key] = columns.Read(order, texts[next], values[key]);
    }
    columns.Next();
  }
  // PostgreSQL: a row may have fewer values than the table has columns.
  renumbered |= counted != part.counted.end();
  if (renumbered) tally.renumbered_rows.Note(part.table);
  if (all) {
    // Rows whose values are all equal are ordered by the texts of the values.
    for (const Field& field : fields) PutWhole(field, out);
    return;
  }
  // A primary key of SQLite can be null in several rows, unless SQLite counts it up.
  bool has_null = false, odd = false;
  const bool may_replace = part.keeps_winners && !part.keyless && (!part.multi_row || !part.ended || part.replaces);
  for (const std::size_t key : wanted.keys) {
    odd |= may_replace && (fields[key].is == Field::kMissing ||
                           !KeepsValue(part.key_columns[key], values[key], fields[key].text, dump.dialect));
    if (!keyed) {
      const unsigned padding = part.key_columns[key].padding;
      std::string_view& value = fields[key].text;
      while (!value.empty() && static_cast<unsigned char>(value.back()) == padding) value.remove_suffix(1);
      if (lite) {
        has_null |= values[key].is == SqlValue::kNull;
        PutLite(of_type_, values[key].is, fields[key], false, out);
      } else if (!put(part.primary_by[key].get(), fields[key])) {
        odd = true;
        PutWhole(fields[key], out);
      }
    } else if (lite && part.by[key] != nullptr && fields[key].is != Field::kMissing) {
      KeyTally::Column& seen = tally.columns[key];
      (fields[key].is == Field::kNull ? seen.nulls += 1 : seen.any = true);
      PutLite(of_key_[key], values[key].is, fields[key], false, out);
    } else if (mysql && fields[key].is == Field::kValue && PutZeroDate(part.by[key].get(), fields[key].text, out)) {
      tally.columns[key].any = true;
    } else {
      PutKey(key, fields[key], out, tally, part.by[key].get());
    }
  }
  if (odd) ++tally.odd_rows[part.table];
  if (has_null && part.counted.empty() && !part.lacks_counted) PutWhole({columns.row(), Field::kValue, 0}, out);
}

void SqlDumpFormat::PutLite(const Orders& orders, SqlValue::Is is, const Field& field, bool whole, FieldWriter& out) {
  // Null comes first, and last in descending order, unless the key says otherwise.
  constexpr unsigned kFirst = 0x20, kNumber = 0x40, kText = 0x50, kBlob = 0x60, kLast = 0xF0;
  const ValueKey& text = *orders[static_cast<unsigned>(ValueType::kText)];
  const ValueKey& number = *orders[static_cast<unsigned>(ValueType::kDecimal)];
  const bool reverse = text.rule().descending;
  if (is == SqlValue::kNull || field.is != Field::kValue) {
    return out.Put(text.rule().nulls_first.value_or(!reverse) ? kFirst : kLast);
  }
  const auto put_class = [&](unsigned code) {
    out.set_reverse(reverse);
    out.Put(code);
    out.set_reverse(false);
  };
  if (is == SqlValue::kNumber && keys::IsDecimal({field.text.data(), field.text.data() + field.text.size()})) {
    put_class(kNumber);
    number.Put(field.text, out);
    if (!whole) return;
    const bool plain = field.text.find_first_not_of("-0123456789") == field.text.npos;
    put_class(plain ? kNumber : kText);
    if (!plain) text.Put(field.text, out);
    return;
  }
  put_class(is == SqlValue::kHex ? kBlob : kText);
  text.Put(field.text, out);
}

/// Writes the key of a gap: its place among the rows, and the text that follows most rows.
void SqlDumpFormat::PutGap(const ScanState& state, Scratch& scratch, FieldWriter& out) const {
  const RowsPart& part = *StateOf(state).part;
  out.PutCount(state.count);
  GapKey key{};
  key.place = state.row - 1;
  key.separator = part.separator;
  if (part.singles > 0 && state.row == part.singles) {
    key.singles = part.singles;
    key.head = part.head;
    key.tail = part.end;
  }
  PutGapKey(key, out);
  scratch.mark = kGapMark;
  scratch.left_out = check_;
}

void SqlDumpFormat::TakeEnd(const AfterRow& after, const Byte* row_end, ScanState& state, KeyTally& tally) const {
  const bool replaced = StateOf(state).part->replaces;
  EndInsert(after, Text(row_end, after.stop), 0, state);
  const RowsPart& part = *StateOf(state).part;
  if (part.replaces && !replaced) NoteReplacing(part, tally);
}

void SqlDumpFormat::NoteReplacing(const RowsPart& part, KeyTally& tally) {
  tally.replaced_tables.insert(part.table);
  if (!part.keeps_winners) tally.conflict_tables.Note(part.table);
}

const Byte* SqlDumpFormat::PutInsert(const Byte* begin, const Byte* end, const Insert& insert, ScanState& state,
                                     Scratch& scratch, FieldWriter& out, KeyTally& tally) const {
  const Byte* const head = begin + insert.lead;
  if (insert.lead > 0 && !insert.goes_on) {
    if (state.mode == kAfterInsert) ++state.count;
    state.mode = kSql;
    out.PutCount(state.count);
    return head;
  }
  BeginInsert(insert, Text(head, end), state);
  if (!insert.goes_on && StateOf(state).part->again) tally.parted_rows.Note(Text(head, head + insert.size));
  if (!insert.goes_on && StateOf(state).part->refers_to_itself) tally.self_references.Note(StateOf(state).part->table);
  if (!insert.goes_on && StateOf(state).part->triggered) tally.triggered_tables.insert(StateOf(state).part->table);
  if (const RowsPart& part = *StateOf(state).part; !insert.goes_on && part.replaces) NoteReplacing(part, tally);
  if (insert.lead > 0) DecidePart(true, {}, state);
  const Byte* const head_end = head + insert.size;
  if (const RowsPart& part = *StateOf(state).part; part.decided && part.multi_row) {
    PutGap(state, scratch, out);
    state.mode = kNextRow;
    return head_end;
  }
  const DumpState& dump = StateOf(state);
  const Byte* const row = SkipSpace(head_end, end);
  bool& depends = static_cast<RowScratch&>(scratch).depends;
  const Byte* const row_end = RowEnd(row, end, begin, dump, depends);
  const AfterRow after = ParseAfterRow(row_end, end, dump.dialect, dump.text.escapes);
  if (after.is == AfterRow::kUnfinished) throw Error(ErrorCode::kInternal, "records that end inside an INSERT");
  if (after.is == AfterRow::kComma) {
    depends = false;  // the row is a record of its own, which comes next
    SplitPart(state);
    if (StateOf(state).part->again && !StateOf(state).part->decided && insert.goes_on) {
      tally.parted_rows.Note(Text(head, head_end));
    }
    const bool decided = StateOf(state).part->decided;
    if (!decided) out.PutCount(state.count);
    DecidePart(true, Text(row_end, after.stop), state);
    if (decided) PutGap(state, scratch, out);
    state.mode = kNextRow;
    return head_end;
  }
  DecidePart(false, {}, state);
  out.PutCount(state.count);
  out.Put(1);
  scratch.mark = kStatementMark | (IsOddPart(state.count) ? kOddPart : 0);
  InsertColumns columns(begin, row, row_end, StateOf(state));
  PutRowKeys(columns, StateOf(state), scratch, out, tally);
  ++state.row;
  TakeEnd(after, row_end, state, tally);
  return after.stop;
}

const Byte* SqlDumpFormat::PutInsertRow(const Byte* begin, const Byte* end, ScanState& state, Scratch& scratch,
                                        FieldWriter& out, KeyTally& tally) const {
  const Byte* row_end = begin;
  if (state.mode == kNextRow) {
    const DumpState& dump = StateOf(state);
    const Byte* const row = SkipSpace(begin, end);
    const std::string& separator = dump.part->separator;
    std::uint64_t skipped = 0;
    const Byte* next = row;
    if (!separator.empty()) {
      next = SkipRows(row, end, dump.dialect, dump.text.escapes, separator, 1, skipped);
    }
    bool& depends = static_cast<RowScratch&>(scratch).depends;
    row_end = skipped > 0 ? next - separator.size() : RowEnd(row, end, begin, dump, depends);
    out.PutCount(state.count);
    out.Put(1);
    InsertColumns columns(begin, row, row_end, dump);
    PutRowKeys(columns, dump, scratch, out, tally);
    ++state.row;
    if (skipped > 0) {
      scratch.mark = kRowMark;
      return next;
    }
  }
  const DumpState& dump = StateOf(state);
  const AfterRow after = ParseAfterRow(row_end, end, dump.dialect, dump.text.escapes);
  if (after.is == AfterRow::kUnfinished) throw Error(ErrorCode::kInternal, "records that end inside an INSERT");
  const bool usual = after.is == AfterRow::kComma && Text(row_end, after.stop) == StateOf(state).part->separator;
  if (state.mode == kNextRow) {
    scratch.mark = usual ? kRowMark : kBareRowMark;
    if (!usual) state.mode = kGap;
    return usual ? after.stop : row_end;
  }
  PutGap(state, scratch, out);
  state.mode = kNextRow;
  if (after.is == AfterRow::kEnd) TakeEnd(after, row_end, state, tally);
  return after.stop;
}

std::uint64_t SqlDumpFormat::PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                                     KeyTally& tally) const {
  const Byte* const begin = AsBytes(records.data());
  const Byte* const end = begin + records.size();
  const std::string_view text = Text(begin, end);
  scratch.mark = 0;
  if (state.mode >= kNextRow) {
    return static_cast<std::uint64_t>(PutInsertRow(begin, end, state, scratch, out, tally) - begin);
  }
  if (state.mode == kSql || state.mode == kAfterInsert) {
    const Insert insert = FindInsert(text, state);
    // Lines before the first statement of a part are records of their own.
    const bool lines = insert.lead > 0 && !insert.goes_on && text.substr(0, insert.lead).find('\n') != text.npos;
    if (insert.is == InsertHead::kRows && !lines) {
      return static_cast<std::uint64_t>(PutInsert(begin, end, insert, state, scratch, out, tally) - begin);
    }
    if (state.mode == kAfterInsert) ++state.count;
    state.mode = kSql;
  }
  const bool ends_rows = state.mode != kSql && (text.starts_with("\\.\n") || text.starts_with("\\.\r\n"));
  if (ends_rows) EndRows(state);
  out.PutCount(state.count);
  if (state.mode != kSql) {
    CopyColumns columns(*this, begin, end, scratch.text);
    PutRowKeys(columns, StateOf(state), scratch, out, tally);
    return static_cast<std::uint64_t>(columns.RowEnd() - begin);
  }
  const Byte* const newline = FindByte(begin, end, '\n');
  const auto size = static_cast<std::size_t>(newline - begin) + (newline == end ? 0 : 1);
  const std::string_view line = text.substr(0, size);
  const SqlText& sql = StateOf(state).text;
  scratch.left_out = strip_ && IsVolatile(line, StateOf(state));
  std::string_view words = line;
  SkipSqlBlanks(words);
  if (sql.between() && gpusort::BeginsInsert(words)) {
    tally.left_inserts.Note(line.substr(0, line.find_last_not_of(kSqlBlanks) + 1));
  }
  if (!ends_rows) TakeLine(line, 0, state, &tally);
  if (state.mode == kRows && StateOf(state).part->triggered) tally.triggered_tables.insert(StateOf(state).part->table);
  if (state.mode == kRows && StateOf(state).part->again) tally.parted_rows.Note(line.substr(0, line.size() - 1));
  return size;
}

}  // namespace gpusort

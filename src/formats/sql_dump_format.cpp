#include "formats/sql_dump_format.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "formats/registry.hpp"
#include "formats/sql_dump_state.hpp"
#include "formats/text_reader.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// Returns whether the rows of a COPY statement with these options are written as pg_dump writes them.
bool AreUsualOptions(std::string_view text) {
  static constexpr std::string_view kUsual[] = {"with",  "format", "text", "freeze", "true",
                                                "false", "on",     "off",  "0",      "1"};
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\v\f(),'"), text.size()));
    if (text.empty()) return true;
    const auto taken = [&](std::string_view word) { return TakeSqlWord(text, word); };
    if (std::none_of(std::begin(kUsual), std::end(kUsual), taken)) return false;
  }
}

SqlDialect DialectOfFormat(const std::string& name) {
  if (name == "mysqldump") return SqlDialect::kMysql;
  if (name == "sqlitedump") return SqlDialect::kSqlite;
  return name == "pgdump" ? SqlDialect::kPostgres : SqlDialect::kUnknown;
}

/// Follows USE and SET search_path, which choose the schema of tables that are named without one, and settings that
/// turn the checks of foreign keys off. Changes `session`.
void TakeSession(std::string_view line, SqlDialect dialect, Session& session) {
  constexpr std::size_t kMost = 1000;
  std::string_view rest = line;
  if (dialect == SqlDialect::kMysql && TakeSqlWord(rest, "use")) {
    SkipSqlBlanks(rest);
    TakeSqlName(rest, " ;\t\r\n", session.schema);
    return;
  }
  if (dialect == SqlDialect::kPostgres && TakeSqlWord(rest, "reset")) {
    SkipSqlBlanks(rest);
    if (TakeSqlWord(rest, "session_replication_role") || TakeSqlWord(rest, "all")) session.unchecked = false;
    return;
  }
  const bool conditional = dialect == SqlDialect::kMysql && rest.starts_with("/*!");
  if (!conditional && !TakeSqlWord(rest, "set") && !TakeSqlWord(rest, "pragma")) return;
  const std::string copy = LowerText(line.substr(0, kMost));
  const std::string_view lower = copy;
  // Returns the text after the last "NAME =" or "NAME TO".
  const auto value_of = [&](std::string_view name) {
    for (std::size_t end = lower.size(), at = 0; (at = lower.substr(0, end).rfind(name)) != lower.npos; end = at) {
      if (at > 0 && IsSqlWordByte(lower[at - 1])) continue;
      std::string_view value = lower.substr(at + name.size());
      SkipSqlBlanks(value);
      if (!TakeSqlText(value, "=") && !TakeSqlWord(value, "to")) continue;
      SkipSqlBlanks(value);
      return value;
    }
    return std::string_view();
  };
  const auto turn = [&](std::string_view name, std::initializer_list<std::string_view> off) {
    const std::string_view value = value_of(name);
    if (value.empty()) return;
    session.unchecked = std::ranges::any_of(off, [&](std::string_view text) { return value.starts_with(text); });
  };
  if (dialect == SqlDialect::kMysql) turn("foreign_key_checks", {"0", "off"});
  // mysqldump sets this mode once. Later modes are those of triggers, after which it comes back.
  if (dialect == SqlDialect::kMysql && value_of("sql_mode").find("no_auto_value_on_zero") != lower.npos) {
    session.zero_is_value = true;
  }
  if (dialect == SqlDialect::kSqlite) turn("foreign_keys", {"0", "off", "no", "false"});
  if (dialect != SqlDialect::kPostgres) return;
  turn("session_replication_role", {"replica", "'replica"});
  if (const std::string_view path = value_of("search_path"); !path.empty()) {
    std::string_view written = line.substr(static_cast<std::size_t>(path.data() - lower.data()));
    if (!TakeSqlName(written, " ,;\t\r\n", session.schema)) session.schema.clear();
  }
}

/// Follows the settings that decide what a backslash in a string means.
void TakeSetting(std::string_view line, SqlDialect dialect, SqlText& text) {
  if (dialect == SqlDialect::kPostgres) {
    constexpr std::string_view kSetting = "SET standard_conforming_strings = ";
    if (line.starts_with(kSetting)) text.escapes = line.substr(kSetting.size()).starts_with("off");
    return;
  }
  constexpr std::string_view kMode = "sql_mode";
  if (dialect == SqlDialect::kMysql && (line.starts_with("/*!") || IsWord(line.substr(0, 3), "set"))) {
    const std::string copy = LowerText(line);
    const std::string_view lower = copy;
    // The last assignment of the line counts. A variable such as @saved_sql_mode restores the value from before.
    for (std::size_t end = lower.size(), at = 0; (at = lower.substr(0, end).rfind(kMode)) != lower.npos; end = at) {
      if (at > 0 && (lower[at - 1] == '@' || IsSqlWordByte(lower[at - 1]))) continue;
      std::string_view value = lower.substr(at + kMode.size());
      SkipSqlBlanks(value);
      if (!TakeSqlText(value, "=")) continue;
      SkipSqlBlanks(value);
      const bool before = text.escapes;
      if (value.starts_with('@')) {
        text.escapes = text.escapes_before;
      } else {
        text.escapes = value.find("no_backslash_escapes") == value.npos;
      }
      text.escapes_before = before;
      return;
    }
  }
}

}  // namespace

SqlDumpFormat::SqlDumpFormat(const JobSpec& spec)
    : CopyFormat(spec),
      input_(spec.source.inputs.empty() ? "" : spec.source.inputs[0]),
      force_(spec.source.force_format),
      check_(spec.action == Action::kCheck),
      no_gaps_(spec.order.merge     ? "with -m: leave out -m, as a dump has nothing to merge"
               : spec.target.verify ? "with --verify-output: gpusort_check --against INPUT OUTPUT checks the "
                                      "output"
                                    : ""),
      strip_(table_.strip_volatile) {
  const auto refuse = [&](bool given, const std::string& what, const char* instead = "") {
    if (!given) return;
    throw Error(ErrorCode::kUsage,
                what + " with --format " + table_.name + ": a dump is put in order as a whole" + instead);
  };
  // With ranges, all inputs are parts of one dump.
  refuse(spec.source.inputs.size() > 1 && spec.source.ranges.empty(), "several inputs",
         "; sort each dump alone, or restore all dumps into one database and sort a dump of it");
  refuse(spec.order.unique, "--unique");
  refuse(spec.order.top > 0, "--top");
  for (const ColumnKey& key : table_.keys) names_.push_back(ParseName(key));
  DumpState front;
  SetDialect(DialectOfFormat(table_.name), front);
  front_ = std::make_unique<const DumpState>(std::move(front));
  rules_ = PackRules(*front_);
  const auto make = [](ValueRule rule, auto& list) {
    for (unsigned type = 0; type <= static_cast<unsigned>(ValueType::kSet); ++type) {
      rule.type = static_cast<ValueType>(type);
      const bool used = rule.type == ValueType::kText || rule.type >= ValueType::kInt;
      // An enum or a set also needs the words of its column, so MakePart() makes these objects.
      list.push_back(used && !HasLabels(rule.type) ? std::make_shared<const ValueKey>(rule) : nullptr);
    }
  };
  ValueRule rule;
  rule.descending = table_.reverse;
  make(rule, of_type_);
  of_key_.resize(table_.keys.size());
  for (std::size_t key = 0; key < table_.keys.size(); ++key) {
    if (!table_.keys[key].rule.typed) make(table_.keys[key].rule, of_key_[key]);
  }
}

SqlDumpFormat::~SqlDumpFormat() = default;

SqlDumpFormat::Name SqlDumpFormat::ParseName(const ColumnKey& key) const {
  std::vector<std::string> parts;
  std::string_view rest = key.column;
  bool good = key.number == 0;
  do {
    good = good && TakeSqlName(rest, ".\"`", parts.emplace_back());
  } while (good && TakeSqlText(rest, "."));
  if (!good || !rest.empty() || parts.size() < 2 || parts.size() > 3) {
    FailKey(key, "a key of --format " + table_.name + " is TABLE.COLUMN or SCHEMA.TABLE.COLUMN");
  }
  if (parts.size() == 2) parts.insert(parts.begin(), "");
  return {parts[0], parts[1], parts[2]};
}

SqlDumpFormat::Statement SqlDumpFormat::ParseCopy(std::string_view text, SqlTarget& copy) {
  constexpr std::string_view kStops = " .,()\";\t\r\n\v\f";
  const auto end = [&] {  // a quoted name may have a newline
    return text.empty() || text[0] == '"' ? Statement::kUnfinished : Statement::kOther;
  };
  const auto take_name = [&](std::string& name) {
    SkipSqlBlanks(text);
    const bool quoted = text.starts_with('"');
    const bool taken = TakeSqlName(text, kStops, name);
    if (!quoted) name = LowerText(name);
    SkipSqlBlanks(text);
    return taken;
  };
  SkipSqlBlanks(text);
  if (!TakeSqlWord(text, "copy")) return Statement::kOther;
  if (!take_name(copy.table)) return end();
  while (TakeSqlText(text, ".")) {  // a database may precede the schema
    copy.schema = std::exchange(copy.table, {});
    if (!take_name(copy.table)) return end();
  }
  if (TakeSqlText(text, "(")) {
    do {
      if (!take_name(copy.columns.emplace_back())) return end();
    } while (TakeSqlText(text, ","));
    if (!TakeSqlText(text, ")")) return end();
    SkipSqlBlanks(text);
  }
  if (TakeSqlWord(text, "with")) {  // versions before PostgreSQL 12 write this
    SkipSqlBlanks(text);
    if (!TakeSqlWord(text, "oids")) return end();
    copy.columns.insert(copy.columns.begin(), "oid");
    SkipSqlBlanks(text);
  }
  if (!TakeSqlWord(text, "from")) return end();
  SkipSqlBlanks(text);
  if (!TakeSqlWord(text, "stdin")) return end();
  const std::size_t options = text.find(';');
  if (options == std::string_view::npos) return Statement::kUnfinished;
  const bool usual = AreUsualOptions(text.substr(0, options));
  text.remove_prefix(options + 1);
  SkipSqlBlanks(text);
  return usual && text.empty() ? Statement::kCopy : Statement::kUnknownCopy;
}

void SqlDumpFormat::TakeLine(std::string_view line, std::uint64_t at, ScanState& state, KeyTally* tally) const {
  const DumpState& dump = StateOf(state);
  if (!dump.any && line.starts_with(kSqlByteOrderMark)) line.remove_prefix(kSqlByteOrderMark.size());
  SqlDialect dialect = dump.dialect;
  SqlText text = dump.text;
  // A line inside a comment or a string may begin with # in every dialect.
  if (dialect == SqlDialect::kUnknown && (text.in == SqlText::kNothing || !line.starts_with('#'))) {
    dialect = DialectOfLine(line);
    text.escapes = text.escapes_before = dialect == SqlDialect::kMysql;
  }
  const bool postgres = dialect == SqlDialect::kPostgres;
  std::string statement, create;
  bool insert = false;
  Session session = dump.session;
  SqlTarget copy;
  Statement is = Statement::kOther;
  if (!dump.statement.empty()) is = ParseCopy(statement = dump.statement + std::string(line), copy);
  if (is == Statement::kOther && text.in == SqlText::kNothing) {
    const std::string_view bare = line.substr(0, std::min(line.find_last_not_of(kSqlBlanks) + 1, line.size()));
    if (bare == "\\." && postgres && !force_) {
      throw BadRecord(at,
                      "this line ends the rows of a COPY that was not found: only COPY ... FROM stdin at the front "
                      "of a line is known; --force-format leaves such rows as they are");
    }
    if (line.starts_with('\\') && postgres) {  // a command of psql, whose quotes have another meaning
      if (line.starts_with("\\connect ") || line.starts_with("\\c ")) {
        // Statements can no longer name the tables of the previous database.
        DumpState& next = Change(state);
        next.tables = nullptr;
        next.enums = nullptr;
        next.triggers = nullptr;
        next.filled = nullptr;
        next.session = {};
        next.part = nullptr;
      }
      return;
    }
    if (postgres && (is = ParseCopy(line, copy = {})) == Statement::kUnfinished) statement = line;
    std::string_view words = line;
    SkipSqlBlanks(words);
    insert = !dump.inserts && text.between() && gpusort::BeginsInsert(words);
  }
  if (is == Statement::kCopy) {
    BeginRows(copy, dump.statement + std::string(line), state);
    return;
  }
  if (is == Statement::kUnknownCopy && !force_) {
    throw BadRecord(at,
                    "the rows of this COPY have options that are not known, like those of CSV: only text with the "
                    "usual delimiter is sorted; --force-format leaves the rows as they are");
  }
  if (is != Statement::kUnfinished || statement.size() > kMostStatement) statement.clear();
  create = dump.create;
  std::vector<std::string> described;
  bool left = false;
  for (std::string_view rest = line; !rest.empty();) {  // each statement of the line
    const std::string_view from = rest;
    std::string_view words = from;
    if (text.between()) words.remove_prefix(SkipLead(from, dialect, true).size);
    if (text.in == SqlText::kNothing) {
      TakeSetting(words, dialect, text);
      if (!text.open) TakeSession(words, dialect, session);
    }
    const bool between = text.between();
    const bool begins = text.in == SqlText::kNothing && !text.open;  // also after DELIMITER
    left |= between && from.size() < line.size() && gpusort::BeginsInsert(words);
    left |= TakeSql(rest, dialect, text);
    const std::string_view taken = from.substr(0, from.size() - rest.size());
    words.remove_suffix(std::min(words.size(), rest.size()));
    const auto describes = [&] {
      return BeginsCreateTable(words) || BeginsCreateType(words) || BeginsTableChange(words) || BeginsRowProgram(words);
    };
    if (!create.empty()) {
      create += taken;
    } else if (begins && describes()) {
      create = words;
    }
    // A smaller limit, because each line of the statement copies the text before it.
    std::string_view first = create;
    if (TakeConditionalSql(first)) SkipSqlSpaces(first);
    // UPDATE, DELETE, MERGE, WITH
    const bool program = !first.empty() && std::strchr("uUdDmMwW", first[0]) != nullptr;
    if (create.empty() || (text.open && create.size() <= (program ? kMostProgram : kMostTable))) continue;
    if (!text.open) described.push_back(std::move(create));
    create.clear();
  }
  if (left && tally != nullptr) tally->left_inserts.Note(line.substr(0, line.find_last_not_of(kSqlBlanks) + 1));
  if (dump.any && dialect == dump.dialect && text == dump.text && statement == dump.statement &&
      create == dump.create && described.empty() && !insert && session == dump.session) {
    return;
  }
  DumpState& next = Change(state);
  next.dialect = dialect;
  next.text = std::move(text);
  next.statement = std::move(statement);
  next.create = std::move(create);
  next.session = std::move(session);
  for (const std::string& one : described) Describe(one, next, tally);
  next.any = true;
  next.inserts |= insert || left;
}

void SqlDumpFormat::BeginRows(const SqlTarget& copy, std::string text, ScanState& state) const {
  DumpState& next = Change(state);
  next.text.in = SqlText::kNothing;
  next.text.open = false;
  next.statement.clear();
  next.create.clear();
  auto part = std::make_shared<RowsPart>(*MakePart(copy, next));
  part->head = std::move(text);
  next.part = std::move(part);
  state.mode = kRows;
  ++state.count;
}

void SqlDumpFormat::EndRows(ScanState& state) {
  state.mode = kSql;
  ++state.count;
}

SqlDumpFormat::Insert SqlDumpFormat::FindInsert(std::string_view text, ScanState& state) const {
  const DumpState* dump = &StateOf(state);
  Insert insert;
  if (text.empty() || !dump->text.between() || !dump->statement.empty()) return insert;
  const bool after = state.mode == kAfterInsert;
  const auto set_kind = [&](bool unfinished) {
    insert.is = unfinished ? InsertHead::kUnfinished : InsertHead::kRows;
    return insert;
  };
  // Statements that follow each other directly have no white space and no comment between them.
  if (!after || !text.starts_with(dump->part->head)) {
    if (Lower(text[0]) != 'i' && Lower(text[0]) != 'r' && !IsSpace(text[0]) && text[0] != '/' && text[0] != '-' &&
        text[0] != '#' && !text.starts_with(kSqlByteOrderMark.substr(0, text.size()))) {
      return insert;
    }
    const LeadOfStatement lead = SkipLead(text, dump->dialect, after);
    if (lead.size > kMostHead || (!lead.ended && text.size() > kMostHead)) return insert;
    if (!lead.ended && after) return set_kind(true);
    if (!lead.ended) {  // a comment, or the white space of a line, without its end: no INSERT is on this line
      if (text.find('\n') == text.npos) insert.is = InsertHead::kUnfinished;
      return insert;
    }
    insert.lead = lead.size;
    text.remove_prefix(lead.size);
  }
  if (after && text.starts_with(dump->part->head)) {
    // White space after the newline of a head belongs to the row.
    const std::size_t size = dump->part->head.size();
    std::size_t row = size;
    while (text[size - 1] == '\n' && row < text.size() && IsSpace(text[row])) ++row;
    bool unfinished = false;
    // Statements with one row and different ends cannot be sorted together with the text between two statements.
    const RowsPart& part = *dump->part;
    const bool parts = insert.lead > 0 && part.decided && !part.multi_row && part.ends_differ;
    if (!parts && (BeginsRow(text.substr(row), unfinished) || unfinished)) {
      insert.size = size;
      insert.goes_on = true;
      return set_kind(unfinished);
    }
  }
  if (text.empty() || (Lower(text[0]) != 'i' && Lower(text[0]) != 'r')) return insert;
  InsertHead head = ParseInsertHead(text.substr(0, kMostHead), dump->dialect);
  insert.is = head.is == InsertHead::kUnfinished && text.size() >= kMostHead ? InsertHead::kNone : head.is;
  insert.size = head.size;
  insert.target = std::move(head.target);
  insert.replaces = head.replaces;
  insert.counts = head.counts;
  if (insert.is != InsertHead::kRows) return insert;
  if (dump->dialect == SqlDialect::kUnknown) {
    const SqlDialect dialect = DialectOfLine(text.substr(0, head.size));
    if (dialect == SqlDialect::kUnknown) {
      throw BadRecord(0,
                      "the dump does not show which program has written it: give --format mysqldump, pgdump or "
                      "sqlitedump");
    }
    SetDialect(dialect, Change(state));
  }
  return insert;
}

void SqlDumpFormat::BeginInsert(const Insert& insert, std::string_view text, ScanState& state) const {
  if (insert.goes_on) return;
  if (state.mode == kAfterInsert) ++state.count;
  DumpState& dump = Change(state);
  dump.any = true;
  auto part = std::make_shared<RowsPart>(*MakePart(insert.target, dump));
  part->head = text.substr(0, insert.size);
  part->replaces |= insert.replaces;
  part->lacks_counted |= insert.counts;
  dump.part = std::move(part);
}

void SqlDumpFormat::RefuseGaps() const {
  if (*no_gaps_ == '\0') return;
  throw Error(ErrorCode::kUsage, std::string("the rows of INSERT statements with several rows cannot be sorted ") +
                                     no_gaps_ +
                                     ", or write the dump with one row a statement (mysqldump "
                                     "--skip-extended-insert)");
}

void SqlDumpFormat::SplitPart(ScanState& state) const {
  const RowsPart& part = *StateOf(state).part;
  // A statement with several rows has only one end. Rows that need different ends cannot move into this statement.
  if (!part.decided || part.multi_row || !part.ends_differ) return;
  auto next = std::make_shared<RowsPart>(part);
  next->decided = next->ended = next->ends_differ = false;
  next->again = true;
  ++state.count;
  Change(state).part = std::move(next);
}

void SqlDumpFormat::DecidePart(bool multi_row, std::string_view separator, ScanState& state) const {
  const RowsPart& part = *StateOf(state).part;
  if (part.decided && part.multi_row == multi_row) return;
  if (multi_row) RefuseGaps();
  auto next = std::make_shared<RowsPart>(part);
  if (part.decided) {
    next->singles = state.row;
  } else {
    // The head of a first statement with several rows is SQL before the rows, which are the next part.
    ++state.count;
    state.row = 0;
  }
  next->decided = true;
  next->multi_row = multi_row;
  next->separator = separator;
  DumpState& dump = Change(state);
  dump.gaps |= multi_row;
  dump.part = std::move(next);
}

void SqlDumpFormat::EndInsert(const AfterRow& after, std::string_view end, std::uint64_t at, ScanState& state) const {
  state.mode = kAfterInsert;
  const DumpState& dump = StateOf(state);
  const RowsPart& part = *dump.part;
  const bool differs = part.ended && (part.multi_row ? part.tail != after.tail : part.end != end);
  const bool other = !part.ended || part.tail != after.tail;
  const bool replaces = other && !part.replaces && SaysWhatConflictsDo(after.tail, dump.dialect);
  if (part.ended && (!differs || part.ends_differ) && !replaces) return;
  if (part.multi_row && part.ended) {
    if (ClauseOf(part.tail, dump.dialect) == ClauseOf(after.tail, dump.dialect)) return;
    throw BadRecord(at,
                    "an INSERT ends in another way than the one before it, so that their rows cannot be sorted "
                    "together: write the dump with one row a statement");
  }
  auto next = std::make_shared<RowsPart>(part);
  next->ends_differ |= differs;
  next->replaces |= replaces;
  if (!part.ended) {
    next->ended = true;
    next->tail = after.tail;
    next->end = end;
  }
  Change(state).part = std::move(next);
}

}  // namespace gpusort

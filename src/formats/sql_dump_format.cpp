#include "formats/sql_dump_format.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <sstream>
#include <utility>

#include "base/text.hpp"
#include "formats/find_bytes.hpp"
#include "formats/registry.hpp"
#include "formats/text_reader.hpp"
#include "kernels/error.hpp"

namespace gpusort {

/// The facts about rows of INSERT statements that are sorted together. An object does not change any more after a place
/// refers to it.
struct InsertPart {
  std::string head;  ///< the text before the first row, which is the same in each statement
  std::string table;
  std::string schema_name, table_name;
  bool decided = false;
  bool several = false;             ///< true: the first statement has several rows, so each row is a record
  std::string separator;            ///< the text that follows most rows; it belongs to the row before it
  bool ended = false;               ///< true: `tail` is known
  std::string tail;                 ///< the text between the last row of each statement and the semicolon
  KeyColumns wanted;                ///< the columns of the user's keys
  std::vector<const ValueKey*> by;  ///< for each key, the order that the type of the column gives, or null
  /// For a job without keys: the columns of the primary key, with their orders. Empty: all columns are compared.
  std::vector<std::pair<std::uint64_t, const ValueKey*>> primary;
  std::vector<const ValueKey*> columns;  ///< the orders of all columns; null: the column is compared as text
};

namespace {

/// The tables that CREATE TABLE has described so far, the last one first.
struct TableList {
  TableList(std::shared_ptr<const SqlTable> last, std::shared_ptr<const TableList> others)
      : table(std::move(last)), before(std::move(others)) {}
  ~TableList() {
    // Long lists would need a deep stack if each entry destroyed the next one.
    std::shared_ptr<const TableList> rest = std::move(before);
    while (rest && rest.use_count() == 1) rest = std::exchange(const_cast<TableList&>(*rest).before, nullptr);
  }
  TableList(const TableList&) = delete;
  TableList& operator=(const TableList&) = delete;

  const std::shared_ptr<const SqlTable> table;
  std::shared_ptr<const TableList> before;
};

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

constexpr std::size_t kMostStatement = std::size_t{1} << 14;  ///< the largest size of a COPY statement, in bytes
constexpr std::size_t kMostTable = std::size_t{1} << 20;      ///< the largest size of a CREATE TABLE, in bytes
/// The largest size of the text of an INSERT before its first row, in bytes.
constexpr std::size_t kMostHead = std::size_t{64} << 10;
/// The largest size of the text of an INSERT after a row, in bytes.
constexpr std::size_t kMostTail = std::size_t{1} << 20;
constexpr std::size_t kMostTables = 20;                       ///< the largest number of tables that a message names

}  // namespace

/// The place of a line in a dump: what the lines before it tell. An object does not change any more after the next
/// place is made.
struct DumpPlace {
  SqlDialect dialect = SqlDialect::kUnknown;
  SqlText text;
  std::string table;              ///< the table of the last rows
  KeyColumns wanted;              ///< the columns of the keys in that table, for COPY
  std::vector<bool> named;        ///< for each key: the dump has the table
  std::vector<std::string> seen;  ///< the names of the first tables, for messages
  std::string statement;          ///< the lines so far of a statement that may become a COPY
  std::string create;             ///< the lines so far of a CREATE TABLE
  std::shared_ptr<const TableList> tables;
  std::shared_ptr<const InsertPart> part;  ///< the part of the last rows of INSERT
  bool any = false;                        ///< true: at least one line was read
  bool inserts = false;                    ///< true: an INSERT was left in place
};

namespace {

/// Values of ScanState::mode. In a COPY block, the mode is kRows plus the mode of CopyFormat.
enum Mode : unsigned {
  kSql = 0,           ///< at the beginning of a line of SQL
  kRows = 1,          ///< in a COPY block
  kAfterInsert = 16,  ///< the same as kSql, directly after an INSERT with rows
  kFirstRow,  ///< in the first row of an INSERT, while it is not known if the statements of this part have several rows
  kLaterRow,       ///< in any other row
  kAfterFirstRow,  ///< after a row in the mode kFirstRow
  kAfterLaterRow,
  kNextRow,  ///< before a row, in a part of statements with several rows
  kGap,      ///< before a gap; only while keys are made
};

SqlDialect DialectOfFormat(const std::string& name) {
  if (name == "mysqldump") return SqlDialect::kMysql;
  if (name == "sqlitedump") return SqlDialect::kSqlite;
  return name == "pgdump" ? SqlDialect::kPostgres : SqlDialect::kUnknown;
}

void SetDialect(SqlDialect dialect, DumpPlace& place) {
  place.dialect = dialect;
  place.text.escapes = place.text.escapes_before = dialect == SqlDialect::kMysql;
}

/// Updates `text` for a line that may change the meaning of a backslash in strings.
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

/// Returns true if the line can differ between two dumps of equal databases, because it has a random word or the time
/// of the dump.
bool IsVolatile(std::string_view line) {
  static constexpr std::string_view kLines[] = {
      "\\restrict ",      "\\unrestrict ",        "-- Dump completed",  "-- Started on ",
      "-- Completed on ", "-- Generation Time: ", "-- Dump created on "};
  return std::ranges::any_of(kLines, [&](std::string_view text) { return line.starts_with(text); });
}

std::uint64_t Pack(const RowLexer& lexer) {
  const auto byte = [](char c) { return static_cast<std::uint64_t>(static_cast<unsigned char>(c)); };
  return std::uint64_t{lexer.depth} << 32 | byte(lexer.last[0]) << 24 | byte(lexer.last[1]) << 16 |
         (lexer.escape_string ? 256u : 0u) | lexer.in;
}

RowLexer Unpack(std::uint64_t packed) {
  RowLexer lexer;
  lexer.depth = static_cast<std::uint32_t>(packed >> 32);
  lexer.last[0] = static_cast<char>(packed >> 24 & 0xFF);
  lexer.last[1] = static_cast<char>(packed >> 16 & 0xFF);
  lexer.escape_string = (packed & 256) != 0;
  lexer.in = static_cast<RowLexer::In>(packed & 255);
  return lexer;
}

const Byte* SkipSpace(const Byte* p, const Byte* end) {
  while (p != end && IsSpace(static_cast<char>(*p))) ++p;
  return p;
}

constexpr const char* kCommentInRow =
    "a row of an INSERT has a comment or a string between dollars, which are not read there";

}  // namespace

SqlDumpFormat::SqlDumpFormat(const JobSpec& spec)
    : CopyFormat(spec),
      input_(spec.source.inputs.empty() ? "" : spec.source.inputs[0]),
      force_(spec.source.force_format),
      check_(spec.action == Action::kCheck),
      no_gaps_(!spec.source.ranges.empty() ? "by tasks"
               : spec.order.merge          ? "with -m"
               : spec.target.verify        ? "with --verify-output"
                                           : ""),
      strip_(table_.strip_volatile) {
  const auto refuse = [&](bool given, const std::string& what) {
    if (!given) return;
    throw Error(ErrorCode::kUsage, what + " with --format " + table_.name + ": a dump is put in order as a whole");
  };
  // With ranges, all inputs are parts of one dump.
  refuse(spec.source.inputs.size() > 1 && spec.source.ranges.empty(), "several inputs");
  refuse(spec.order.unique, "--unique");
  refuse(spec.order.top > 0, "--top");
  for (const ColumnKey& key : table_.keys) names_.push_back(ParseName(key));
  DumpPlace front;
  SetDialect(DialectOfFormat(table_.name), front);
  front_ = std::make_unique<const DumpPlace>(std::move(front));
  const auto make = [](ValueRule rule, auto& list) {
    for (unsigned type = 0; type <= static_cast<unsigned>(ValueType::kBytesHex); ++type) {
      rule.type = static_cast<ValueType>(type);
      const bool used = rule.type == ValueType::kText || rule.type >= ValueType::kInt;
      list.push_back(used ? std::make_unique<const ValueKey>(rule) : nullptr);
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

const DumpPlace& SqlDumpFormat::PlaceOf(const ScanState& state) const { return state.dump ? *state.dump : *front_; }

DumpPlace& SqlDumpFormat::Change(ScanState& state) const {
  auto next = std::make_shared<DumpPlace>(PlaceOf(state));
  DumpPlace& place = *next;
  state.dump = std::move(next);
  return place;
}

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
    const bool taken = TakeSqlName(text, kStops, name);
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

void SqlDumpFormat::TakeLine(std::string_view line, std::uint64_t at, ScanState& state) const {
  const DumpPlace& place = PlaceOf(state);
  SqlDialect dialect = place.dialect;
  SqlText text = place.text;
  if (dialect == SqlDialect::kUnknown) {
    dialect = DialectOfLine(line);
    text.escapes = text.escapes_before = dialect == SqlDialect::kMysql;
  }
  const bool postgres = dialect == SqlDialect::kPostgres;
  std::string statement, create;
  bool insert = false;
  SqlTarget copy;
  Statement is = Statement::kOther;
  if (!place.statement.empty()) is = ParseCopy(statement = place.statement + std::string(line), copy);
  if (is == Statement::kOther && text.in == SqlText::kNothing) {
    const std::string_view bare = line.substr(0, std::min(line.find_last_not_of(kSqlBlanks) + 1, line.size()));
    if (bare == "\\." && postgres && !force_) {
      throw BadRecord(at,
                      "this line ends the rows of a COPY that was not found: only COPY ... FROM stdin at the front "
                      "of a line is known; --force-format leaves such rows as they are");
    }
    if (line.starts_with('\\') && postgres) return;  // this is a command of psql, in which quotes have another meaning
    if (postgres && (is = ParseCopy(line, copy = {})) == Statement::kUnfinished) statement = line;
    std::string_view words = line;
    SkipSqlBlanks(words);
    insert = !place.inserts && text.between() && gpusort::BeginsInsert(words);
    TakeSetting(line, dialect, text);
  }
  if (is == Statement::kCopy) return BeginRows(copy, state);
  if (is == Statement::kUnknownCopy && !force_) {
    throw BadRecord(at,
                    "the rows of this COPY have options that are not known, like those of CSV: only text with the "
                    "usual delimiter is sorted; --force-format leaves the rows as they are");
  }
  if (is != Statement::kUnfinished || statement.size() > kMostStatement) statement.clear();
  if (!place.create.empty() || (text.between() && BeginsCreateTable(line))) create = place.create + std::string(line);
  TakeSql(line, dialect, text);
  std::shared_ptr<const SqlTable> table;
  if (!create.empty() && (!text.open || create.size() > kMostTable)) {
    if (!text.open) table = ParseCreateTable(create, dialect);
    create.clear();
  }
  if (place.any && dialect == place.dialect && text == place.text && statement == place.statement &&
      create == place.create && !table && !insert) {
    return;
  }
  DumpPlace& next = Change(state);
  next.dialect = dialect;
  next.text = std::move(text);
  next.statement = std::move(statement);
  next.create = std::move(create);
  if (table) next.tables = std::make_shared<const TableList>(std::move(table), next.tables);
  next.any = true;
  next.inserts |= insert;
}

KeyColumns SqlDumpFormat::FindKeys(const SqlTarget& target, DumpPlace& place) const {
  KeyColumns wanted;
  place.named.resize(names_.size());
  place.table = target.name();
  if (place.seen.size() < kMostTables && std::ranges::count(place.seen, place.table) == 0) {
    place.seen.push_back(place.table);
  }
  for (std::size_t key = 0; key < names_.size(); ++key) {
    const Name& name = names_[key];
    if (name.table != target.table || (!name.schema.empty() && name.schema != target.schema)) continue;
    const auto found = std::ranges::find(target.columns, name.column);
    if (found == target.columns.end()) {
      std::string columns;
      for (const std::string& column : target.columns) columns += (columns.empty() ? "" : ", ") + column;
      FailKey(table_.keys[key], "table " + EscapeName(place.table) +
                                    (columns.empty() ? " has no names of columns in the dump: give pg_dump "
                                                       "--column-inserts, or mysqldump --complete-insert"
                                                     : " has no such column (it has: " + EscapeName(columns) + ")"));
    }
    wanted.Add(static_cast<std::uint64_t>(found - target.columns.begin()), key);
    place.named[key] = true;
  }
  return wanted;
}

void SqlDumpFormat::BeginRows(const SqlTarget& copy, ScanState& state) const {
  DumpPlace& next = Change(state);
  next.text.in = SqlText::kNothing;
  next.text.open = false;
  next.statement.clear();
  next.create.clear();
  next.wanted = FindKeys(copy, next);
  state.mode = kRows;
  ++state.count;
}

void SqlDumpFormat::EndRows(ScanState& state) {
  state.mode = kSql;
  ++state.count;
}

SqlDumpFormat::Insert SqlDumpFormat::FindInsert(std::string_view text, ScanState& state) const {
  const DumpPlace* place = &PlaceOf(state);
  Insert insert;
  if (text.empty() || (Lower(text[0]) != 'i' && Lower(text[0]) != 'r') || !place->text.between() ||
      !place->statement.empty()) {
    return insert;
  }
  if (state.mode == kAfterInsert && text.starts_with(place->part->head)) {
    // White space after the newline of a statement's head belongs to the row.
    const std::size_t size = place->part->head.size();
    std::size_t row = size;
    while (text[size - 1] == '\n' && row < text.size() && IsSpace(text[row])) ++row;
    if (row == text.size() || text[row] == '(') {
      insert.is = row == text.size() ? InsertHead::kUnfinished : InsertHead::kRows;
      insert.size = size;
      insert.goes_on = true;
      return insert;
    }
  }
  InsertHead head = ParseInsertHead(text.substr(0, kMostHead));
  insert.is = head.is == InsertHead::kUnfinished && text.size() >= kMostHead ? InsertHead::kNone : head.is;
  insert.size = head.size;
  insert.target = std::move(head.target);
  if (insert.is != InsertHead::kRows || place->dialect != SqlDialect::kUnknown) return insert;
  const SqlDialect dialect = DialectOfLine(text.substr(0, head.size));
  if (dialect == SqlDialect::kUnknown) {
    throw BadRecord(0,
                    "the dump does not show which program has written it: give --format mysqldump, pgdump or "
                    "sqlitedump");
  }
  SetDialect(dialect, Change(state));
  return insert;
}

std::shared_ptr<const InsertPart> SqlDumpFormat::MakePart(const SqlTarget& given, DumpPlace& place) const {
  auto part = std::make_shared<InsertPart>();
  SqlTarget target = given;
  const SqlTable* table = nullptr;
  for (const TableList* list = place.tables.get(); list != nullptr && table == nullptr; list = list->before.get()) {
    const bool same = list->table->table == target.table &&
                      (target.schema.empty() || list->table->schema.empty() || list->table->schema == target.schema);
    if (same) table = list->table.get();
  }
  if (table != nullptr && target.columns.empty()) {
    for (const SqlTable::Column& column : table->columns) {
      if (!column.generated) target.columns.push_back(column.name);
    }
  }
  part->schema_name = target.schema;
  part->table_name = target.table;
  part->table = target.name();
  part->wanted = FindKeys(target, place);
  std::vector<ValueType> types(target.columns.size(), ValueType::kText);
  for (std::size_t i = 0; table != nullptr && i < types.size(); ++i) {
    const auto found = std::ranges::find(table->columns, target.columns[i], &SqlTable::Column::name);
    if (found != table->columns.end()) types[i] = found->type;
  }
  part->by.resize(names_.size());
  for (const KeyColumns::Wanted& wanted : part->wanted.by_column) {
    const auto& orders = of_key_[wanted.key];
    if (table == nullptr || orders.empty()) continue;
    part->by[wanted.key] = orders[static_cast<unsigned>(types[wanted.column])].get();
  }
  const auto order_of = [&](std::size_t column) { return of_type_[static_cast<unsigned>(types[column])].get(); };
  for (std::size_t i = 0; i < types.size(); ++i) {
    // In other types, equal values can have different texts, such as 1.0 and 1.00.
    part->columns.push_back(types[i] == ValueType::kInt ? order_of(i) : nullptr);
  }
  if (table == nullptr) return part;
  for (const std::string& name : table->primary) {
    const auto found = std::ranges::find(target.columns, name);
    if (found == target.columns.end()) {
      part->primary.clear();
      break;
    }
    const auto column = static_cast<std::size_t>(found - target.columns.begin());
    part->primary.emplace_back(column, order_of(column));
  }
  return part;
}

void SqlDumpFormat::BeginInsert(const Insert& insert, std::string_view head, ScanState& state) const {
  if (insert.goes_on) return;
  if (state.mode == kAfterInsert) ++state.count;
  DumpPlace& place = Change(state);
  place.any = true;
  auto part = std::make_shared<InsertPart>(*MakePart(insert.target, place));
  part->head = head;
  place.part = std::move(part);
}

void SqlDumpFormat::DecidePart(bool several, std::string_view separator, ScanState& state) const {
  const InsertPart& part = *PlaceOf(state).part;
  if (part.decided && part.several == several) return;
  // The head of a statement with several rows is a part of its own: SQL before the rows. The rows are the next part.
  state.count += part.decided ? 2 : 1;
  state.row = 0;
  auto next = std::make_shared<InsertPart>(part);
  next->decided = true;
  next->several = several;
  next->separator = separator;
  Change(state).part = std::move(next);
}

void SqlDumpFormat::EndInsert(std::string_view tail, std::uint64_t at, ScanState& state) const {
  state.mode = kAfterInsert;
  const InsertPart& part = *PlaceOf(state).part;
  if (!part.several || (part.ended && part.tail == tail)) return;
  if (part.ended) {
    throw BadRecord(at,
                    "an INSERT ends in another way than the one before it, so that their rows cannot be sorted "
                    "together: write the dump with one row a statement");
  }
  auto next = std::make_shared<InsertPart>(part);
  next->ended = true;
  next->tail = tail;
  Change(state).part = std::move(next);
}

std::string SqlDumpFormat::SaveState(const ScanState& state) const {
  const DumpPlace& place = PlaceOf(state);
  std::ostringstream out;
  const auto put = [&](const std::string& text) { out << text.size() << ' ' << text << ' '; };
  out << state.mode << ' ' << state.count << ' ' << state.row << ' ' << unsigned(place.dialect) << ' ';
  const SqlText& text = place.text;
  out << unsigned{text.in} << ' ' << text.depth << ' ' << text.escapes << ' ' << text.escapes_before << ' ' << text.open
      << ' ' << text.trigger << ' ' << text.end << ' ';
  put(text.tag);
  put(text.delimiter);
  put(place.table);
  put(place.statement);
  put(place.create);
  out << place.any << ' ' << place.inserts << ' ';
  for (std::size_t key = 0; key < names_.size(); ++key) {
    const auto& columns = place.wanted.by_column;
    const auto column = std::find_if(columns.begin(), columns.end(), [&](const auto& one) { return one.key == key; });
    out << (key < place.named.size() && place.named[key]) << ' ' << (column == columns.end() ? 0 : column->column + 1)
        << ' ';
  }
  out << place.seen.size() << ' ';
  for (const std::string& table : place.seen) put(table);
  std::vector<const SqlTable*> tables;
  for (const TableList* list = place.tables.get(); list != nullptr; list = list->before.get()) {
    tables.push_back(list->table.get());
  }
  out << tables.size() << ' ';
  for (auto table = tables.rbegin(); table != tables.rend(); ++table) {
    put((*table)->schema);
    put((*table)->table);
    out << (*table)->columns.size() << ' ';
    for (const SqlTable::Column& column : (*table)->columns) {
      put(column.name);
      out << static_cast<unsigned>(column.type) << ' ';
    }
    out << (*table)->primary.size() << ' ';
    for (const std::string& name : (*table)->primary) put(name);
  }
  out << (place.part != nullptr) << ' ';
  if (place.part == nullptr) return out.str();
  const InsertPart& part = *place.part;
  put(part.head);
  out << part.decided << ' ' << part.several << ' ' << part.ended << ' ';
  put(part.separator);
  put(part.tail);
  return out.str();
}

ScanState SqlDumpFormat::LoadState(const std::string& text) const {
  ScanState state;
  if (text.empty()) return state;
  DumpPlace place;
  std::istringstream in(text);
  const auto number = [&] {
    std::uint64_t value = 0;
    in >> value;
    return value;
  };
  const auto name = [&] {
    std::string value(std::min<std::uint64_t>(number(), text.size()), '\0');
    in.get();
    in.read(value.data(), static_cast<std::streamsize>(value.size()));
    return value;
  };
  state.mode = static_cast<unsigned>(number());
  state.count = number();
  state.row = number();
  place.dialect = static_cast<SqlDialect>(std::min<std::uint64_t>(number(), 3));
  place.text.in = static_cast<SqlText::In>(number());
  place.text.depth = static_cast<unsigned>(number());
  place.text.escapes = number() != 0;
  place.text.escapes_before = number() != 0;
  place.text.open = number() != 0;
  place.text.trigger = number() != 0;
  place.text.end = static_cast<unsigned>(number());
  place.text.tag = name();
  place.text.delimiter = name();
  place.table = name();
  place.statement = name();
  place.create = name();
  place.any = number() != 0;
  place.inserts = number() != 0;
  for (std::size_t key = 0; key < names_.size(); ++key) {
    place.named.push_back(number() != 0);
    if (const std::uint64_t column = number(); column > 0) place.wanted.Add(column - 1, key);
  }
  for (std::uint64_t left = number(); left > 0 && in; --left) place.seen.push_back(name());
  for (std::uint64_t left = number(); left > 0 && in; --left) {
    auto table = std::make_shared<SqlTable>();
    table->schema = name();
    table->table = name();
    for (std::uint64_t columns = number(); columns > 0 && in; --columns) {
      std::string column = name();
      const std::uint64_t type = std::min<std::uint64_t>(number(), of_type_.size() - 1);
      table->columns.push_back({std::move(column), static_cast<ValueType>(type)});
    }
    for (std::uint64_t columns = number(); columns > 0 && in; --columns) table->primary.push_back(name());
    place.tables = std::make_shared<const TableList>(std::move(table), place.tables);
  }
  if (number() != 0) {
    const std::string head = name();
    // This parses the head as if a row followed it.
    const InsertHead parsed = ParseInsertHead(head + "(");
    if (parsed.is == InsertHead::kRows && in) {
      auto part = std::make_shared<InsertPart>(*MakePart(parsed.target, place));
      part->head = head;
      part->decided = number() != 0;
      part->several = number() != 0;
      part->ended = number() != 0;
      part->separator = name();
      part->tail = name();
      place.part = std::move(part);
    } else {
      in.setstate(std::ios::failbit);
    }
  }
  if (!in) throw Error(ErrorCode::kIntegrity, "what is known of a place in a dump is damaged");
  state.dump = std::make_shared<const DumpPlace>(std::move(place));
  return state;
}

/// Collects the ends of records, and stores the state after the last of them.
struct SqlDumpFormat::Marks {
  const Byte* origin;  ///< the first byte of the block; records that end before it are not added
  Ends ends{};
  unsigned mode = kSql;
  std::uint64_t count = 0, row = 0;
  std::shared_ptr<const DumpPlace> dump{};

  void Add(const Byte* end, const ScanState& state) {
    if (end <= origin) return;
    ends.Add(end - origin);
    mode = state.mode;
    count = state.count;
    row = state.row;
    if (dump != state.dump) dump = state.dump;
  }
  /// Returns the offset of `p` in the block, for messages.
  std::uint64_t At(const Byte* p) const { return p > origin ? static_cast<std::uint64_t>(p - origin) : 0; }
};

/// Reads one line of SQL, or the beginning of an INSERT. Returns the end of what was read, or `p` if more bytes are
/// needed.
const Byte* SqlDumpFormat::ScanSql(const Byte* p, const Byte* end, Marks& marks, ScanState& state) const {
  const std::string_view text = Text(p, end);
  const Insert insert = FindInsert(text, state);
  if (insert.is == InsertHead::kUnfinished) return p;
  if (insert.is == InsertHead::kRows) {
    BeginInsert(insert, text.substr(0, insert.size), state);
    const InsertPart& part = *PlaceOf(state).part;
    state.mode = part.decided && part.several ? kLaterRow : kFirstRow;
    state.lexer = 0;
    return SkipSpace(p + insert.size, end);
  }
  const Byte* const newline = FindByte(p, end, '\n');
  if (newline == end) return p;
  if (state.mode == kAfterInsert) ++state.count;
  state.mode = kSql;
  TakeLine(Text(p, newline + 1), marks.At(p), state);
  marks.Add(newline + 1, state);
  return newline + 1;
}

/// Scans up to `until` or farther. Returns the first byte that cannot be scanned before more bytes are known.
const Byte* SqlDumpFormat::ScanText(const Byte* p, const Byte* end, const Byte* until, Marks& marks,
                                    ScanState& state) const {
  while (p < until) {
    switch (state.mode) {
      case kSql:
      case kAfterInsert: {
        const Byte* const next = ScanSql(p, end, marks, state);
        if (next == p) return p;
        p = next;
        break;
      }
      case kFirstRow:
      case kLaterRow: {
        const DumpPlace& place = PlaceOf(state);
        RowLexer lexer = Unpack(state.lexer);
        const Byte* bad = nullptr;
        const Byte* const next = lexer.Take(p, end, place.dialect, place.text.escapes, bad);
        if (bad != nullptr) throw BadRecord(marks.At(bad), kCommentInRow);
        state.lexer = Pack(lexer);
        if (lexer.depth > 0) return end;
        state.mode = state.mode == kFirstRow ? kAfterFirstRow : kAfterLaterRow;
        p = next;
        break;
      }
      case kAfterFirstRow:
      case kAfterLaterRow: {
        const AfterRow after = ParseAfterRow(p, end);
        if (after.is == AfterRow::kUnknown) {
          throw BadRecord(marks.At(after.stop),
                          "a comment, a backslash or a dollar sign stands between a row of an INSERT and the end "
                          "of the statement, where such text is not read");
        }
        if (!after.sure) {
          if (static_cast<std::size_t>(end - p) <= kMostTail) return p;
          throw BadRecord(marks.At(p), "no comma and no semicolon follows a row of an INSERT");
        }
        const bool several = after.is == AfterRow::kComma;
        if (const InsertPart& part = *PlaceOf(state).part;
            several && state.mode == kAfterFirstRow && part.decided && !part.several) {
          throw BadRecord(marks.At(p),
                          "an INSERT with several rows follows one with a single row, and their rows are not sorted "
                          "together: write the dump with one row a statement (mysqldump --skip-extended-insert)");
        }
        if (state.mode == kAfterFirstRow) DecidePart(several, Text(p, after.stop), state);
        ++state.row;
        if (several) {
          state.mode = kNextRow;
        } else {
          EndInsert(after.tail, marks.At(p), state);
        }
        p = after.stop;
        marks.Add(p, state);
        break;
      }
      case kNextRow: {
        const Byte* const row = SkipSpace(p, end);
        if (row == end) return p;
        if (*row != '(') throw BadRecord(marks.At(row), "no row follows a comma in an INSERT");
        state.mode = kLaterRow;
        state.lexer = 0;
        p = row;
        break;
      }
      default: {
        Ends rows;
        auto mode = static_cast<CopyFormat::Mode>(state.mode - kRows);
        const Byte* const next = ScanRows(p, p, end, mode, rows);
        state.mode = kRows + unsigned{mode};
        if (rows.last > 0) {
          const unsigned now = std::exchange(state.mode, unsigned{kRows});
          if (marks.ends.first == 0) marks.Add(p + rows.first, state);
          marks.Add(p + rows.last, state);
          state.mode = now;
        }
        p = next;
        if (mode != kEnded) break;
        EndRows(state);
        marks.Add(p, state);
      }
    }
  }
  return p;
}

RecordFormat::Ends SqlDumpFormat::Scan(RecordSpan bytes, ScanState& state) const {
  const Byte* const begin = AsBytes(bytes.data());
  const Byte* const end = begin + bytes.size();
  Marks marks{begin};
  const Byte* p = begin;
  if (!state.held.empty()) {
    // Appends bytes of the block to the bytes that were held back, until the scan reaches a state inside the block.
    std::string joined = std::exchange(state.held, {});
    const std::size_t held = joined.size();
    std::size_t taken = 0, at = 0;
    for (std::size_t more = std::size_t{16} << 10;; more *= 4) {
      more = std::min(more, bytes.size() - taken);
      joined.append(Text(begin + taken, begin + taken + more));
      taken += more;
      const auto* const front = reinterpret_cast<const Byte*>(joined.data());
      marks.origin = front + held;
      at = static_cast<std::size_t>(ScanText(front + at, front + joined.size(), front + held, marks, state) - front);
      if (at >= held || taken == bytes.size()) break;
    }
    if (at < held) {
      state.held = joined.substr(at);
    } else {
      p = begin + (at - held);
    }
    marks.origin = begin;
    if (at < held) p = end;
  }
  p = ScanText(p, end, end, marks, state);
  if (p != end) state.held.assign(Text(p, end));
  Ends& ends = marks.ends;
  if (ends.last == 0) return ends;
  ends.state.mode = marks.mode >= kRows && marks.mode < kAfterInsert ? unsigned{kRows} : marks.mode;
  ends.state.count = marks.count;
  ends.state.row = marks.row;
  ends.state.dump = std::move(marks.dump);
  return ends;
}

std::uint64_t SqlDumpFormat::Finish(RecordSpan open, const ScanState& state) const {
  const DumpPlace& place = PlaceOf(state);
  if (state.mode != kSql && state.mode != kAfterInsert) {
    const bool insert = state.mode > kAfterInsert;
    throw BadRecord(open.size(), "the dump ends inside the rows of table " + EscapeName(place.table) +
                                     (insert ? ", in an INSERT" : ""));
  }
  if (place.text.in != SqlText::kNothing || !place.create.empty()) {
    throw BadRecord(open.size(), place.create.empty() ? "the dump ends inside a string, a quoted name or a comment"
                                                      : "the dump ends inside a CREATE TABLE");
  }
  const bool empty = !place.any && open.empty();
  if (place.seen.empty() && !empty && !force_) {
    throw Error(ErrorCode::kBadInput,
                EscapeName(input_) +
                    (place.inserts ? ": its INSERT statements have no rows that are known (INSERT INTO TABLE VALUES "
                                     "(...) at the front of a line), so that nothing would be sorted"
                                   : ": this has no COPY block and no INSERT with rows, so that nothing would be "
                                     "sorted: it is no dump of a database, or one without rows (--schema-only, "
                                     "--no-data)") +
                    "; --force-format leaves it as it is");
  }
  for (std::size_t key = 0; key < names_.size(); ++key) {
    if (key < place.named.size() && place.named[key]) continue;
    std::string seen;
    for (const std::string& table : place.seen) seen += (seen.empty() ? "" : ", ") + table;
    FailKey(table_.keys[key], "the dump has no rows of such a table (" +
                                  (seen.empty() ? "it has no rows" : "it has those of: " + EscapeName(seen)) +
                                  (place.seen.size() == kMostTables ? ", ..." : "") + ")");
  }
  return open.size();
}

const Byte* SqlDumpFormat::RowEnd(const Byte* p, const Byte* end, const Byte* record, const DumpPlace& place) const {
  RowLexer lexer;
  const Byte* bad = nullptr;
  const Byte* const stop = lexer.Take(p, end, place.dialect, place.text.escapes, bad);
  if (bad != nullptr) throw BadRecord(static_cast<std::uint64_t>(bad - record), kCommentInRow);
  if (lexer.depth > 0 || stop == p) throw Error(ErrorCode::kInternal, "records that end inside a row");
  return stop;
}

/// Writes the keys of the row [row, end).
void SqlDumpFormat::PutRowKeys(const Byte* record, const Byte* row, const Byte* end, const DumpPlace& place,
                               Scratch& scratch, FieldWriter& out, KeyTally& tally) const {
  const InsertPart& part = *place.part;
  const SqlDialect dialect = place.dialect;
  const bool escapes = place.text.escapes;
  const auto& columns = part.wanted.by_column;
  const bool keyed = !columns.empty(), primary = !keyed && !part.primary.empty();
  std::size_t last = 0;  // the last column that is needed
  for (const auto& [column, order] : part.primary) last = std::max<std::size_t>(last, column);
  if (keyed) last = columns.back().column;
  std::vector<Field>& fields = scratch.fields;
  std::vector<std::string>& texts = scratch.texts;
  fields.assign(keyed ? keys_.size() : part.primary.size(), {});
  texts.resize(std::max(columns.size(), part.primary.size()) + 1);
  const auto is_hex = [&](const ValueKey* order) {
    return order != nullptr && order->rule().type == ValueType::kBytesHex;
  };
  const auto put = [&](const ValueKey* order, const Field& field) {
    if (order == nullptr) return PutWhole(field, out);
    if (field.is != Field::kValue) return order->PutNull(out);
    if (order->Put(field.text, out)) return;
    order->PutNull(out);
    PutWhole(field, out);
  };
  std::size_t next = 0;  // the index in `columns`
  const Byte* p = row + 1;
  for (std::size_t column = 0; p < end; ++column) {
    const Byte* const stop = ValueEnd(p, end, dialect, escapes);
    const auto read = [&](const ValueKey* order, std::string& text) {
      const SqlValue value = ReadSqlValue(Text(p, stop), dialect, escapes, text);
      Field field{value.text, value.null ? Field::kNull : Field::kValue, static_cast<std::uint64_t>(p - record)};
      if (!value.hex || is_hex(order)) return field;
      text.clear();
      for (std::size_t i = value.text.size() % 2; i + 1 < value.text.size(); i += 2) {
        text += static_cast<char>(HexDigit(value.text[i]) << 4 | HexDigit(value.text[i + 1]));
      }
      field.text = text;
      return field;
    };
    if (keyed) {
      for (; next < columns.size() && columns[next].column == column; ++next) {
        const std::size_t key = columns[next].key;
        fields[key] = read(part.by[key] != nullptr ? part.by[key] : &this->keys_[key], texts[next]);
      }
    } else if (primary) {
      for (std::size_t i = 0; i < part.primary.size(); ++i) {
        if (part.primary[i].first == column) fields[i] = read(part.primary[i].second, texts[i]);
      }
    } else {
      const ValueKey* const order = column < part.columns.size() ? part.columns[column] : nullptr;
      put(order, read(order, texts[0]));
    }
    if ((keyed || primary) && column == last) break;
    p = stop + 1;
  }
  for (const std::size_t key : part.wanted.keys) PutKey(key, fields[key], out, tally, part.by[key]);
  for (std::size_t i = 0; primary && i < part.primary.size(); ++i) put(part.primary[i].second, fields[i]);
}

/// Writes the key of a gap: its place among the rows, and the text that follows most rows.
void SqlDumpFormat::PutGap(const ScanState& state, Scratch& scratch, FieldWriter& out) const {
  if (*no_gaps_ != '\0') {
    throw Error(ErrorCode::kUsage, std::string("the rows of INSERT statements with several rows cannot be sorted ") +
                                       no_gaps_ +
                                       ": write the dump with one row a statement (mysqldump "
                                       "--skip-extended-insert)");
  }
  const InsertPart& part = *PlaceOf(state).part;
  out.PutCount(state.count);
  out.Put(0);
  out.PutWord(state.row - 1);
  for (const char c : part.separator) out.Put(static_cast<unsigned char>(c));
  scratch.mark = kGapMark;
  scratch.left_out = check_;
}

const Byte* SqlDumpFormat::PutInsert(const Byte* begin, const Byte* end, const Insert& insert, ScanState& state,
                                     Scratch& scratch, FieldWriter& out, KeyTally& tally) const {
  const DumpPlace& before = PlaceOf(state);
  if (!insert.goes_on && before.part && before.part->table == insert.target.name()) {
    tally.parted_inserts.Note(Text(begin, begin + insert.size));
  }
  BeginInsert(insert, Text(begin, begin + insert.size), state);
  const Byte* const head_end = begin + insert.size;
  if (const InsertPart& part = *PlaceOf(state).part; part.decided && part.several) {
    PutGap(state, scratch, out);
    state.mode = kNextRow;
    return head_end;
  }
  const Byte* const row = SkipSpace(head_end, end);
  const Byte* const row_end = RowEnd(row, end, begin, PlaceOf(state));
  const AfterRow after = ParseAfterRow(row_end, end);
  if (after.is == AfterRow::kUnfinished) throw Error(ErrorCode::kInternal, "records that end inside an INSERT");
  const bool several = after.is == AfterRow::kComma;
  if (several) {
    out.PutCount(state.count + (PlaceOf(state).part->decided ? 1 : 0));
    DecidePart(true, Text(row_end, after.stop), state);
    state.mode = kNextRow;
    return head_end;
  }
  DecidePart(false, {}, state);
  out.PutCount(state.count);
  PutRowKeys(begin, row, row_end, PlaceOf(state), scratch, out, tally);
  ++state.row;
  EndInsert(after.tail, 0, state);
  return after.stop;
}

const Byte* SqlDumpFormat::PutInsertRow(const Byte* begin, const Byte* end, ScanState& state, Scratch& scratch,
                                        FieldWriter& out, KeyTally& tally) const {
  const Byte* row_end = begin;
  if (state.mode == kNextRow) {
    const DumpPlace& place = PlaceOf(state);
    const Byte* const row = SkipSpace(begin, end);
    row_end = RowEnd(row, end, begin, place);
    out.PutCount(state.count);
    out.Put(1);
    PutRowKeys(begin, row, row_end, place, scratch, out, tally);
    ++state.row;
  }
  const AfterRow after = ParseAfterRow(row_end, end);
  if (after.is == AfterRow::kUnfinished) throw Error(ErrorCode::kInternal, "records that end inside an INSERT");
  const bool usual = after.is == AfterRow::kComma && Text(row_end, after.stop) == PlaceOf(state).part->separator;
  if (state.mode == kNextRow) {
    scratch.mark = usual ? kRowMark : kBareRowMark;
    if (!usual) state.mode = kGap;
    return usual ? after.stop : row_end;
  }
  PutGap(state, scratch, out);
  state.mode = kNextRow;
  if (after.is == AfterRow::kEnd) EndInsert(after.tail, 0, state);
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
    if (insert.is == InsertHead::kRows) {
      return static_cast<std::uint64_t>(PutInsert(begin, end, insert, state, scratch, out, tally) - begin);
    }
    if (state.mode == kAfterInsert) ++state.count;
    state.mode = kSql;
  }
  const bool ends_rows = state.mode != kSql && (text.starts_with("\\.\n") || text.starts_with("\\.\r\n"));
  if (ends_rows) EndRows(state);
  out.PutCount(state.count);
  if (state.mode != kSql) {
    return static_cast<std::uint64_t>(PutRow(begin, end, PlaceOf(state).wanted, scratch, out, tally) - begin);
  }
  const Byte* const newline = FindByte(begin, end, '\n');
  const auto size = static_cast<std::size_t>(newline - begin) + (newline == end ? 0 : 1);
  const std::string_view line = text.substr(0, size);
  const SqlText& place = PlaceOf(state).text;
  scratch.left_out = strip_ && place.in == SqlText::kNothing && IsVolatile(line);
  std::string_view words = line;
  SkipSqlBlanks(words);
  if (place.between() && gpusort::BeginsInsert(words)) {
    tally.left_inserts.Note(line.substr(0, line.find_last_not_of(kSqlBlanks) + 1));
  }
  if (!ends_rows) TakeLine(line, 0, state);
  return size;
}

}  // namespace gpusort

#include "formats/sql_schema.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "formats/text_reader.hpp"
#include "formats/value_keys.hpp"

namespace gpusort {
namespace {

using namespace std::string_view_literals;

/// Returns true if `text` is a whole number between `least` and `most`.
bool IsIntegerIn(std::string_view text, std::int64_t least, std::uint64_t most) {
  const bool negative = TakeSqlText(text, "-");
  const std::optional<std::uint64_t> number = ParseDigits(text);
  if (!number) return false;
  if (!negative) return *number <= most;
  return *number == 0 || (least < 0 && *number <= std::uint64_t{0} - static_cast<std::uint64_t>(least));
}

/// Returns true if the server stores a text of MySQL without a change, as far as its characters and its size decide.
bool KeepsCharacters(const SqlTable::Column& column, std::string_view text) {
  std::uint64_t characters = text.size();
  if (column.text != SqlTable::Column::kBytes) {
    characters = 0;
    for (std::size_t at = 0; at < text.size(); ++characters) {
      std::uint32_t code = 0;
      const std::size_t size = DecodeUtf8(text.substr(at), code);
      if (size == 0 || (size > 1 && column.text == SqlTable::Column::kAscii)) return false;
      at += size;
    }
  }
  return column.size == 0 || characters <= column.size;
}

bool KeepsMysqlValue(const SqlTable::Column& column, const SqlValue& value, std::string_view text) {
  switch (column.type) {
    case ValueType::kInt:
      if (value.is != SqlValue::kNumber && value.is != SqlValue::kText) return false;
      if (column.year) {
        constexpr unsigned kFirstYear = 1901, kLastYear = 2155;
        return text == "0000" || (text.size() == 4 && text[0] != '0' && IsIntegerIn(text, kFirstYear, kLastYear));
      }
      return IsIntegerIn(text, column.least, column.most);
    case ValueType::kText:
      return (value.is == SqlValue::kText || value.is == SqlValue::kHex) && KeepsCharacters(column, text);
    default:
      return true;  // see SqlTable::Column::loose
  }
}

bool KeepsPostgresValue(const SqlTable::Column& column, const SqlValue& value, std::string_view text) {
  if (value.is != SqlValue::kText && value.is != SqlValue::kNumber) return value.is == SqlValue::kNull;
  switch (column.type) {
    case ValueType::kInt:
      return IsIntegerIn(text, column.least, column.most);
    case ValueType::kDecimal:
      return true;
    case ValueType::kDate:  // other forms than 2026-01-31 depend on a setting of the server
      return text.size() >= std::size("2026-01-31") - 1 && text.find_first_not_of("0123456789") == text.find('-') &&
             text.find('-') >= 4 && text.find_first_not_of("0123456789- BC") == text.npos;
    case ValueType::kMacAddress:
      return text.size() == column.size;
    case ValueType::kBytesHex:
      return value.is == SqlValue::kText && text.starts_with("\\x");
    case ValueType::kText:
      return value.is == SqlValue::kText && (column.size == 0 || text.size() <= column.size || [&] {  // characters
               const auto begins = [](char c) { return (c & 0xC0) != 0x80; };
               return !column.in_bytes &&
                      static_cast<std::uint64_t>(std::ranges::count_if(text, begins)) <= column.size;
             }());
    default:
      return value.is == SqlValue::kText;
  }
}

bool KeepsLiteValue(const SqlTable::Column& column, const SqlValue& value, std::string_view text) {
  using Column = SqlTable::Column;
  const bool number = value.is == SqlValue::kNumber;
  if (value.is == SqlValue::kNull) return column.counted;
  if (column.affinity == Column::kText && number) return false;
  if (number) {
    if (!keys::IsDecimal({text.data(), text.data() + text.size()})) return false;
    // Numbers with more digits can be equal as float.
    constexpr std::size_t kExactDigits = 15, kIntegerDigits = 18;
    const bool whole = text.find_first_not_of("-0123456789") == text.npos;
    const std::size_t digits = static_cast<std::size_t>(std::ranges::count_if(text, IsDigit));
    return digits <= (whole && column.affinity != Column::kReal ? kIntegerDigits : kExactDigits);
  }
  if (column.affinity == Column::kNone || column.affinity == Column::kText || value.is == SqlValue::kHex) return true;
  SkipSqlSpaces(text);
  text = text.substr(0, text.find_last_not_of(kSqlBlanks) + 1);
  return !keys::IsDecimal({text.data(), text.data() + text.size()});
}

}  // namespace

void RequireLabels(SqlTable::Column& column) {
  const bool many = column.type == ValueType::kSet && column.labels.size() > kMostInSet;
  if (HasLabels(column.type) && (many || column.labels.empty())) column.type = ValueType::kText;
}

// If the result is true, values with different sort keys are also different for the server, unless column.loose is
// true.
bool KeepsValue(const SqlTable::Column& column, const SqlValue& value, std::string_view text, SqlDialect dialect) {
  const bool known =
      value.literal || (column.type == ValueType::kBool && (IsWord(text, "true") || IsWord(text, "false")));
  if (!known) return false;
  if (dialect == SqlDialect::kMysql) return KeepsMysqlValue(column, value, text);
  return dialect == SqlDialect::kSqlite ? KeepsLiteValue(column, value, text) : KeepsPostgresValue(column, value, text);
}

namespace {

/// Reads the tokens of a CREATE TABLE.
class Tokens {
 public:
  Tokens(std::string_view text, SqlDialect dialect) : rest_(text), dialect_(dialect) { Next(); }

  enum Is : std::uint8_t { kEnd, kWord, kName, kString, kOther };
  Is is() const { return is_; }
  /// The token: a word in lower case, a name or a string without quotes, or a byte.
  const std::string& text() const { return text_; }
  /// The word as a name: as it is written, in PostgreSQL in lower case.
  const std::string& written() const { return written_; }
  bool is_name() const { return is_ == kWord || is_ == kName || (is_ == kString && dialect_ == SqlDialect::kSqlite); }
  bool Is(std::string_view word) const { return (is_ == kWord || is_ == kOther) && text_ == word; }
  bool Take(std::string_view word) {
    if (!Is(word)) return false;
    Next();
    return true;
  }
  void Next() {
    for (;;) {
      SkipSqlBlanks(rest_);
      if (dialect_ == SqlDialect::kMysql && (TakeConditionalSql(rest_) || TakeSqlText(rest_, "*/"))) continue;
      if (dialect_ == SqlDialect::kMysql && rest_.starts_with('#')) {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
        continue;
      }
      if (!rest_.starts_with("/*")) break;
      const std::size_t end = rest_.find("*/");
      rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 2);
    }
    is_ = rest_.empty() ? kEnd : kOther;
    if (rest_.empty()) return;
    const char c = rest_[0];
    if (c == '"' || c == '`' || (c == '[' && dialect_ == SqlDialect::kSqlite)) {
      if (TakeSqlName(rest_, "", text_)) {
        is_ = kName;
        written_ = text_;
        return;
      }
      rest_ = {};
    } else if (c == '\'') {
      std::string scratch;
      rest_.remove_prefix(1);
      written_ = text_ = TakeSqlString(rest_, '\'', dialect_, dialect_ == SqlDialect::kMysql, scratch);
      is_ = kString;
    } else if (IsSqlWordByte(c)) {
      std::size_t size = 1;
      while (size < rest_.size() && (IsSqlWordByte(rest_[size]) || rest_[size] == '$')) ++size;
      is_ = kWord;
      written_ = rest_.substr(0, size);
      text_ = LowerText(written_);
      if (dialect_ == SqlDialect::kPostgres) written_ = text_;
      rest_.remove_prefix(size);
    } else {
      text_ = std::string(1, c);
      rest_.remove_prefix(1);
    }
  }

 private:
  std::string_view rest_;
  const SqlDialect dialect_;
  enum Is is_ = kEnd;
  std::string text_, written_;
};

/// Returns the type of a column from the words of its type in CREATE TABLE, in lower case.
ValueType TypeOfWords(const std::string& words, SqlDialect dialect) {
  // Values of SQLite are ordered by their own types.
  if (dialect == SqlDialect::kSqlite) return ValueType::kText;
  const std::string_view first = std::string_view(words).substr(0, words.find(' '));
  const auto is = [&](std::initializer_list<std::string_view> texts) { return std::ranges::count(texts, first) > 0; };
  if (first == "enum" && dialect == SqlDialect::kMysql) return ValueType::kEnum;
  if (first == "set" && dialect == SqlDialect::kMysql) return ValueType::kSet;
  if (first == "interval") return ValueType::kInterval;
  if (is({"tinyint", "smallint", "mediumint", "middleint", "int", "integer", "bigint", "int1", "int2", "int3", "int4",
          "int8", "serial", "serial2", "serial4", "serial8", "bigserial", "smallserial", "year"})) {
    return ValueType::kInt;
  }
  if (is({"dec", "decimal", "numeric", "float", "float4", "float8", "double", "real", "fixed"})) {
    return ValueType::kDecimal;
  }
  if (is({"datetime", "timestamp", "timestamptz"})) return ValueType::kTimestamp;
  // A date of MySQL can have the month 0 or the day 0, which only keys of timestamps allow (PutZeroDate).
  if (first == "date") return dialect == SqlDialect::kMysql ? ValueType::kTimestamp : ValueType::kDate;
  if (is({"time", "timetz"})) return ValueType::kTime;
  if (dialect == SqlDialect::kMysql) return is({"inet4", "inet6"}) ? ValueType::kIp : ValueType::kText;
  if (is({"bool", "boolean"})) return ValueType::kBool;
  if (first == "uuid") return ValueType::kUuid;
  if (is({"inet", "cidr"})) return ValueType::kIp;
  if (is({"macaddr", "macaddr8"})) return ValueType::kMacAddress;
  if (is({"bit", "varbit"})) return ValueType::kBits;
  if (first == "bytea") return ValueType::kBytesHex;
  if (first == "oid") return ValueType::kInt;
  if (first == "money") return ValueType::kNumber;
  return ValueType::kText;
}

/// Returns what SQLite converts in a column of this type, given in lower case.
SqlTable::Column::Affinity AffinityOf(std::string_view type) {
  const auto has = [&](std::initializer_list<std::string_view> texts) {
    return std::ranges::any_of(texts, [&](std::string_view text) { return type.find(text) != type.npos; });
  };
  if (has({"int"})) return SqlTable::Column::kNumber;
  if (has({"char", "clob", "text"})) return SqlTable::Column::kText;
  if (type.empty() || has({"blob"})) return SqlTable::Column::kNone;
  return has({"real", "floa", "doub"}) ? SqlTable::Column::kReal : SqlTable::Column::kNumber;
}

/// Sets which values of a column of PostgreSQL or MySQL are equal: its members `loose` and `padding`. `type` has the
/// words of the type, in lower case, and `collation` the name of the collation, or an empty text. `sized` is true if
/// the type has a size, as in numeric(9,2).
void SetEquality(std::string_view type, bool sized, std::string_view collation, SqlDialect dialect,
                 SqlTable::Column& column) {
  const std::string_view first = type.substr(0, type.find(' '));
  const auto is = [&](std::initializer_list<std::string_view> texts) { return std::ranges::count(texts, first) > 0; };
  if (dialect == SqlDialect::kMysql) {
    switch (column.type) {
      case ValueType::kInt:
        return;
      case ValueType::kText: {
        const bool bytes = is({"varbinary", "binary"});
        const bool binary = collation.ends_with("_bin");
        const bool characters = is({"char", "varchar", "character", "nchar", "nvarchar", "text"});
        column.loose = !bytes && (!characters || (!binary && collation != "binary"));
        if (binary && !bytes) {
          column.text = collation.starts_with("utf8mb4_") ? SqlTable::Column::kCharacters : SqlTable::Column::kAscii;
        }
        // These collations ignore blanks at the end, but for two kinds.
        const bool pads =
            binary && collation.find("nopad") == collation.npos && collation.find("0900") == collation.npos;
        if (!bytes && pads) column.padding = ' ';
        if (first == "binary") column.padding = 0;
        return;
      }
      default:
        column.loose = true;
    }
    return;
  }
  switch (column.type) {
    case ValueType::kText: {
      const bool padded = is({"char", "character", "bpchar"}) && type.find("varying") == type.npos;
      if (padded) column.padding = ' ';
      static constexpr std::string_view kExact[] = {"", "default", "c", "posix", "ucs_basic", "pg_catalog"};
      column.loose = std::ranges::count(kExact, LowerText(collation)) == 0 ||
                     (!padded && !is({"text", "varchar", "character", "name"}));
      return;
    }
    case ValueType::kDecimal:
      column.loose = sized || !is({"numeric", "decimal", "dec"});
      return;
    case ValueType::kTimestamp:
    case ValueType::kTime:
    case ValueType::kInterval:
    case ValueType::kNumber:
      column.loose = true;
      return;
    default:
      return;
  }
}

/// Sets which values of a column of PostgreSQL or MySQL the server stores without a change: its members `size`,
/// `least`, `most` and `year`. `type` has the words of the type, in lower case, and `size` the number in brackets after
/// the type, or 0.
void SetLimits(std::string_view type, std::uint64_t size, bool is_unsigned, SqlTable::Column& column) {
  constexpr std::uint64_t kNameSize = 63, kMacSize = 17, kMac8Size = 23;
  const std::string_view first = type.substr(0, type.find(' '));
  const auto is = [&](std::initializer_list<std::string_view> texts) { return std::ranges::count(texts, first) > 0; };
  if (column.type == ValueType::kInt) {
    column.year = first == "year";
    const unsigned bits = is({"tinyint", "int1"})                                                             ? 8
                          : is({"smallint", "int2", "smallserial", "serial2"})                                ? 16
                          : is({"mediumint", "middleint", "int3"})                                            ? 24
                          : is({"bigint", "int8", "bigserial", "serial8"}) || (is({"serial"}) && is_unsigned) ? 64
                                                                                                              : 32;
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits);
    const bool natural = is_unsigned || first == "oid";
    column.most = natural ? all : all >> 1;
    column.least = natural ? 0 : -static_cast<std::int64_t>(all >> 1) - 1;
  } else if (column.type == ValueType::kMacAddress) {
    column.size = first == "macaddr8" ? kMac8Size : kMacSize;
  } else if (column.type == ValueType::kText) {
    column.in_bytes = first == "name";
    column.size = column.in_bytes ? kNameSize : size;
    if (size == 0 && is({"char", "character", "nchar", "binary"}) && type.find("varying") == type.npos) column.size = 1;
  }
}

/// Reads the names of the columns of a key in brackets, as in PRIMARY KEY (a, b(10) DESC). Sets `whole` to false if
/// the key is not made of whole columns, so that rows with other values can have equal keys.
std::vector<std::string> TakeNames(Tokens& tokens, bool& whole) {
  std::vector<std::string> names;
  whole = tokens.Take("(");
  unsigned depth = whole ? 1 : 0;
  for (bool first = true; tokens.is() != Tokens::kEnd && depth > 0; tokens.Next()) {
    if (first && tokens.is_name()) names.push_back(tokens.written());
    whole = whole && !tokens.Is("(") && !tokens.Is("collate");
    first = tokens.Is(",") && depth == 1;
    depth += tokens.Is("(") ? 1 : tokens.Is(")") ? -1u : 0;
  }
  return names;
}

/// Reads the columns of a unique key. Returns no columns if the key is not made of whole columns.
std::vector<std::string> TakeUnique(Tokens& tokens) {
  while (tokens.is() != Tokens::kEnd && !tokens.Is("(")) tokens.Next();
  bool whole = false;
  std::vector<std::string> names = TakeNames(tokens, whole);
  if (!whole) names.clear();
  return names;
}

/// Finds out whether the server counts up the values of a column, from the tokens that describe the column.
class CountsUp {
 public:
  /// Call this for each token. Returns true for a word such as AUTO_INCREMENT, for a function such as nextval, for
  /// NEXT VALUE FOR and for MySQL's SERIAL DEFAULT VALUE.
  bool Sees(const Tokens& tokens) {
    static constexpr std::string_view kWords[] = {"auto_increment", "autoincrement",    "identity", "nextval",
                                                  "currval",        "lastval",          "setval",   "uuid_short",
                                                  "last_insert_id", "last_insert_rowid"};
    const bool after_value = std::exchange(value_, tokens.Is("value"));
    if (after_value && tokens.Is("for")) return true;
    const int serial = std::exchange(serial_, tokens.Is("serial") ? 1 : serial_ == 1 && tokens.Is("default") ? 2 : 0);
    if (serial == 2 && tokens.Is("value")) return true;
    if (tokens.is() == Tokens::kName) return tokens.text() == "nextval";
    return tokens.is() == Tokens::kWord && std::ranges::count(kWords, tokens.text()) > 0;
  }

 private:
  bool value_ = false;  ///< the last token was the word VALUE
  int serial_ = 0;      ///< how many of the words SERIAL DEFAULT the last tokens were
};

/// Returns true if a constraint or an index of a CREATE TABLE begins here, and not a column.
bool BeginsConstraint(const Tokens& tokens, SqlDialect dialect) {
  if (tokens.is() != Tokens::kWord) return false;
  const auto is = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::count(words, tokens.text()) > 0;
  };
  if (is({"constraint", "primary", "unique", "foreign", "check"})) return true;
  const bool mysql = dialect == SqlDialect::kMysql, postgres = dialect == SqlDialect::kPostgres;
  // The following words can be names of columns in other databases, or before other words.
  if (is({"key", "index", "fulltext", "spatial"})) return mysql;
  if (is({"like"})) return postgres;
  Tokens next = tokens;
  next.Next();
  if (is({"period"})) return mysql && next.Is("for");
  return is({"exclude"}) && postgres && (next.Is("using") || next.Is("("));
}

}  // namespace

bool BeginsCreateTable(std::string_view text) {
  SkipSqlSpaces(text);
  if (TakeConditionalSql(text)) SkipSqlSpaces(text);
  if (!TakeSqlWord(text, "create")) return false;
  for (;;) {
    SkipSqlSpaces(text);
    if (TakeSqlWord(text, "table")) return true;
    bool any = false;
    for (const std::string_view word :
         {"global"sv, "local"sv, "temp"sv, "temporary"sv, "unlogged"sv, "foreign"sv, "or"sv, "replace"sv}) {
      any = any || TakeSqlWord(text, word);
    }
    if (!any) return false;
  }
}

bool BeginsCreateType(std::string_view text) {
  SkipSqlSpaces(text);
  if (!TakeSqlWord(text, "create")) return false;
  SkipSqlSpaces(text);
  return TakeSqlWord(text, "type") || TakeSqlWord(text, "domain");
}

bool BeginsTableChange(std::string_view text) {
  SkipSqlSpaces(text);
  if (TakeConditionalSql(text)) SkipSqlSpaces(text);
  const auto take = [&](std::string_view word) {
    const bool taken = TakeSqlWord(text, word);
    SkipSqlSpaces(text);
    return taken;
  };
  if (take("create")) return (!take("or") || take("replace")) && take("unique") && take("index");
  if (!take("alter")) return false;
  take("online");
  take("ignore");
  return take("table");
}

namespace {

/// Takes a name, and the names with dots before it. Returns false if there is none.
bool TakeDottedName(Tokens& tokens, std::string& schema, std::string& name) {
  schema.clear();
  for (bool more = true; more; more = tokens.Take(".")) {
    if (!name.empty()) schema = name;
    if (!tokens.is_name()) return false;
    name = tokens.written();
    tokens.Next();
  }
  return true;
}

/// Reads the names of tables in brackets, as in INHERITS (a, public.b).
void TakeParents(Tokens& tokens, std::vector<SqlTarget>& parents) {
  tokens.Next();
  while (tokens.Take(parents.empty() ? "(" : ",")) {
    SqlTarget parent;
    if (!TakeDottedName(tokens, parent.schema, parent.table)) parent = {};
    parents.push_back(std::move(parent));
  }
}

/// Takes the rest of a reference to another table. Returns true if that is `table` itself.
bool TakeReference(Tokens& tokens, const std::string& table) {
  std::string schema, name;
  return TakeDottedName(tokens, schema, name) && IsSameSqlName(name, table);
}

/// Returns true if "(LIKE name)" begins here.
bool LikeInBrackets(Tokens tokens) {
  if (!tokens.Take("(") || !tokens.Take("like")) return false;
  std::string schema, name;
  return TakeDottedName(tokens, schema, name) && tokens.Is(")");
}

}  // namespace

bool BeginsRowProgram(std::string_view text) {
  SkipSqlSpaces(text);
  if (TakeConditionalSql(text)) SkipSqlSpaces(text);
  for (const std::string_view word : {"update"sv, "delete"sv, "drop"sv, "merge"sv, "with"sv}) {
    if (TakeSqlWord(text, word)) return true;
  }
  if (!TakeSqlWord(text, "create")) return false;
  // MySQL allows DEFINER = 'user'@'host' here.
  constexpr std::size_t kMost = 300;
  const std::string lower = LowerText(text.substr(0, kMost));
  return lower.find("trigger") != lower.npos || lower.find("rule") != lower.npos;
}

std::optional<SqlTrigger> ParseDropTrigger(std::string_view text, SqlDialect dialect) {
  Tokens tokens(text, dialect);
  SqlTrigger trigger;
  if (!tokens.Take("drop")) return std::nullopt;
  trigger.rule = tokens.Is("rule");
  if (!tokens.Take("trigger") && !tokens.Take("rule")) return std::nullopt;
  for (const std::string_view word : {"if"sv, "exists"sv}) tokens.Take(word);
  if (!TakeDottedName(tokens, trigger.table.schema, trigger.name)) return std::nullopt;
  // Without ON, only the schema of the table is known: s in DROP TRIGGER s.name.
  if (tokens.Take("on") && !TakeDottedName(tokens, trigger.table.schema, trigger.table.table)) return std::nullopt;
  return trigger;
}

std::optional<SqlTrigger> ParseInsertTrigger(std::string_view text, SqlDialect dialect) {
  Tokens tokens(text, dialect);
  if (!tokens.Take("create")) return std::nullopt;
  while (!tokens.Is("trigger") && !tokens.Is("rule")) {
    const bool other = tokens.Is("table") || tokens.Is("(") || tokens.Is(";");
    if (other || tokens.is() == Tokens::kEnd) return std::nullopt;
    tokens.Next();
  }
  SqlTrigger trigger;
  const bool rule = trigger.rule = tokens.Is("rule");
  tokens.Next();
  for (const std::string_view word : {"if"sv, "not"sv, "exists"sv}) tokens.Take(word);
  std::string schema;
  if (!TakeDottedName(tokens, schema, trigger.name)) return std::nullopt;
  bool insert = false;
  for (; !tokens.Is(rule ? "to" : "on"); tokens.Next()) {
    if (tokens.is() == Tokens::kEnd) return std::nullopt;
    insert |= tokens.Is("insert");
  }
  tokens.Next();
  if (!insert || !TakeDottedName(tokens, trigger.table.schema, trigger.table.table)) return std::nullopt;
  return trigger;
}

namespace {

/// Returns true if "COLUMN = VALUE LIMIT" begins here, and `is_key` is true for the column.
bool ChoosesOneRow(Tokens tokens, const SqlTarget& table,
                   const std::function<bool(const SqlTarget& table, const std::string& column)>& is_key) {
  SqlTarget column;
  if (!TakeDottedName(tokens, column.schema, column.table) || !tokens.Take("=")) return false;
  const bool value = tokens.is() == Tokens::kString || (tokens.is() == Tokens::kWord && IsDigit(tokens.text()[0]));
  tokens.Next();
  return value && tokens.Is("limit") && is_key(table, column.table);
}

}  // namespace

bool DependsOnOrder(std::string_view text, SqlDialect dialect,
                    const std::function<bool(const SqlTarget& table, const std::string& column)>& is_key) {
  Tokens tokens(text, dialect);
  const bool creates = tokens.Is("create");
  if (!creates && !tokens.Is("update") && !tokens.Is("delete") && !tokens.Is("merge") && !tokens.Is("with"))
    return false;
  if (creates) {
    // Only a table gets rows at once. Before TABLE come words such as OR REPLACE GLOBAL TEMPORARY.
    constexpr int kMostWords = 5;
    for (int word = 0; !tokens.Is("table"); ++word, tokens.Next()) {
      if (word > kMostWords || tokens.is() == Tokens::kEnd) return false;
    }
  }
  SqlTarget table;  // the table that UPDATE or DELETE changes
  if (Tokens name = tokens; !creates) {
    name.Next();
    for (const std::string_view word : {"low_priority"sv, "quick"sv, "ignore"sv, "from"sv, "only"sv}) name.Take(word);
    TakeDottedName(name, table.schema, table.table);
  }
  bool selects = false, limits = false, sorts = false, depends = false, colon = false, after_where = false;
  CountsUp counts_up;
  for (; tokens.is() != Tokens::kEnd; tokens.Next()) {
    selects |= tokens.Is("select");
    limits |= tokens.Is("limit");
    if (after_where && !selects && ChoosesOneRow(tokens, table, is_key)) sorts = true;
    after_where = tokens.Is("where");
    sorts |= tokens.Is("order");
    const bool postgres = dialect == SqlDialect::kPostgres;
    depends |= counts_up.Sees(tokens) && !(postgres && tokens.Is("identity"));
    depends |= tokens.Is("row_number") || (postgres && tokens.Is("ctid")) ||
               (dialect == SqlDialect::kSqlite && tokens.Is("rowid"));
    depends |= std::exchange(colon, tokens.Is(":")) && tokens.Is("=");
  }
  return (selects || !creates) && (depends || (limits && !sorts));
}

bool IsSameSqlName(std::string_view a, std::string_view b) { return LowerText(a) == LowerText(b); }

bool SaysWhatConflictsDo(std::string_view tail, SqlDialect dialect) {
  if (tail.find_first_of("oO") == tail.npos) return false;
  for (Tokens tokens(tail, dialect); tokens.is() != Tokens::kEnd;) {
    if (tokens.Take("on")) {
      if (tokens.Is("conflict") || tokens.Is("duplicate")) return true;
    } else {
      tokens.Next();
    }
  }
  return false;
}

std::optional<SqlEnum> ParseCreateEnum(std::string_view text, SqlDialect dialect) {
  if (!BeginsCreateType(text)) return std::nullopt;
  Tokens tokens(text, dialect);
  tokens.Next();
  const bool domain = tokens.Is("domain");
  tokens.Next();
  SqlEnum type;
  if (!TakeDottedName(tokens, type.schema, type.name)) return std::nullopt;
  if (domain) {
    for (CountsUp counts_up; tokens.is() != Tokens::kEnd; tokens.Next()) type.counted |= counts_up.Sees(tokens);
    return type.counted ? std::optional(std::move(type)) : std::nullopt;
  }
  if (!tokens.Take("as") || !tokens.Take("enum") || !tokens.Take("(")) return std::nullopt;
  for (; tokens.is() != Tokens::kEnd && !tokens.Is(")"); tokens.Next()) {
    if (tokens.is() == Tokens::kString) type.labels.push_back(tokens.text());
  }
  return type;
}

namespace {

/// Takes DISABLE TRIGGER, ENABLE ALWAYS RULE and the like.
void TakeSwitch(Tokens& tokens, SqlTableChange& change) {
  SqlTableChange::Switch one;
  if (tokens.Is("disable")) one.fires = SqlFires::kNever;
  tokens.Next();
  // ENABLE REPLICA counts as ENABLE ALWAYS, because a dump does not say whether a replica loads it.
  if (tokens.Take("always") || tokens.Take("replica")) one.fires = SqlFires::kAlways;
  one.rule = tokens.Is("rule");
  if (!tokens.Take("trigger") && !tokens.Take("rule")) return;
  const bool user = !one.rule && tokens.Is("user"), all = !one.rule && tokens.Is("all");
  if (!user && !all) one.name = tokens.written();
  // The name can be that of a foreign key, which this switch turns on.
  one.keys = all || (!user && !one.rule && one.fires != SqlFires::kNever);
  if (user || all || tokens.is_name()) change.switches.push_back(std::move(one));
}

}  // namespace

std::optional<SqlTableChange> ParseTableChange(std::string_view text, SqlDialect dialect) {
  if (!BeginsTableChange(text)) return std::nullopt;
  Tokens tokens(text, dialect);
  SqlTableChange change;
  const bool index = tokens.Is("create");
  const bool mysql = dialect == SqlDialect::kMysql;
  for (; tokens.is() != Tokens::kEnd && !tokens.Is(index ? "on" : "table"); tokens.Next()) {
    change.ignores |= !index && tokens.Is("ignore");
  }
  tokens.Next();
  for (const std::string_view word : {"if"sv, "exists"sv, "only"sv}) tokens.Take(word);
  if (!TakeDottedName(tokens, change.table.schema, change.table.table)) return std::nullopt;
  const auto is = [&](std::initializer_list<std::string_view> words) {
    return tokens.is() == Tokens::kWord && std::ranges::count(words, tokens.text()) > 0;
  };
  if (index) {
    change.unique.push_back(TakeUnique(tokens));
    return change;
  }
  while (tokens.is() != Tokens::kEnd && !tokens.Is(";")) {
    // The words of an action up to the name of a column, such as ADD COLUMN IF NOT EXISTS.
    const bool adds = tokens.Take("add"), alters = tokens.Take("alter"), drops = tokens.Take("drop");
    const bool changes = tokens.Take("change"), modifies = changes || tokens.Take("modify");
    change.moves_columns |= tokens.Is("rename");
    if (dialect == SqlDialect::kPostgres && is({"disable", "enable"})) TakeSwitch(tokens, change);
    if (tokens.Take("attach") && tokens.Take("partition")) {
      TakeDottedName(tokens, change.attached.schema, change.attached.table);
    }
    const bool names_column = tokens.Take("column");
    for (const std::string_view word : {"if"sv, "not"sv, "exists"sv}) tokens.Take(word);
    const bool constraint = !names_column && (BeginsConstraint(tokens, dialect) || tokens.Is("partition"));
    const bool many = adds && tokens.Is("(");  // MySQL: ADD (a int, b int)
    change.moves_columns |= many || (drops && !constraint);
    SqlTable::Column column;
    if ((adds || alters || modifies) && !constraint && tokens.is_name()) {
      column.name = tokens.written();
      tokens.Next();
      if (changes && tokens.is_name()) {
        change.moves_columns |= !IsSameSqlName(column.name, tokens.written());
        tokens.Next();
      }
      if (alters && tokens.Take("set")) tokens.Take("data");
      const bool retypes = modifies || (alters && tokens.Take("type"));
      column.type = TypeOfWords(tokens.text(), dialect);
      if (HasLabels(column.type)) column.type = ValueType::kText;
      column.loose = true;
      column.counted = (adds || modifies) && tokens.text().find("serial") != std::string::npos;
      if (adds) change.added.push_back(column);
      if (retypes) change.retyped.push_back(column);
    }
    bool counted = column.counted, not_null = false;
    int words = 0;  // with `many`: the number of tokens of a column so far, which begins with its name and its type
    CountsUp counts_up;
    for (unsigned depth = 0; tokens.is() != Tokens::kEnd && (depth > 0 || (!tokens.Is(",") && !tokens.Is(";")));) {
      if (tokens.Take("references")) {
        change.refers_to_itself |= TakeReference(tokens, change.table.table);
        continue;
      }
      const bool excludes = constraint && is({"exclude"});
      if (constraint && adds && (excludes || is({"unique", "primary"}))) {
        change.unique.push_back(TakeUnique(tokens));
        if (excludes) change.unique.back().clear();
        continue;
      }
      if (!constraint && is({"unique", "primary"})) change.unique.emplace_back();
      // PostgreSQL: SET DEFAULT nextval('x'), and ADD GENERATED ALWAYS AS IDENTITY.
      counted |= counts_up.Sees(tokens);
      if (tokens.Take("not")) {
        not_null |= tokens.Is("null");
        continue;
      }
      change.moves_columns |= depth == 0 && mysql && is({"first", "after"});
      words = depth == 0 || (depth == 1 && tokens.Is(",")) ? 0 : words + 1;
      counted |= many && mysql && words == 2 && tokens.Is("serial");
      depth += tokens.Is("(") ? 1 : tokens.Is(")") ? -1u : 0;
      const bool as = tokens.Is("as") && adds && !column.name.empty();
      tokens.Next();
      if (as && tokens.Is("(")) change.added.back().generated = true;
    }
    change.numbers_rows |= counted && (adds || (!change.retyped.empty() && !mysql));
    if (counted && !column.name.empty()) change.counted.push_back(column.name);
    if (adds && !change.added.empty() && !column.name.empty()) change.added.back().not_null = not_null;
    if (modifies && !change.retyped.empty()) change.retyped.back().not_null = not_null;
    if (!tokens.Take(",")) break;
  }
  const bool matters = !change.unique.empty() || change.refers_to_itself || change.moves_columns ||
                       !change.added.empty() || !change.retyped.empty() || !change.counted.empty() ||
                       change.numbers_rows || !change.attached.table.empty() || !change.switches.empty();
  return matters ? std::optional(std::move(change)) : std::nullopt;
}

namespace {

/// The type of a column and its collation, as CREATE TABLE writes them.
struct TypeText {
  std::string words;       ///< the words of the type, in lower case; "array" for an array
  bool sized = false;      ///< true: the type has a size, as in numeric(9,2)
  std::uint64_t size = 0;  ///< the number in brackets after the type, or 0
  bool is_unsigned = false;
  bool ascends = true;                   ///< false: PRIMARY KEY DESC follows the type
  std::optional<std::string> collation;  ///< std::nullopt: that of the table
};

/// Parses a CREATE TABLE statement. Each function that parses a part takes the tokens of the part.
class CreateTableParser {
 public:
  CreateTableParser(std::string_view text, SqlDialect dialect, const std::vector<SqlEnum>& enums)
      : tokens_(text, dialect),
        mysql_(dialect == SqlDialect::kMysql),
        sqlite_(dialect == SqlDialect::kSqlite),
        dialect_(dialect),
        enums_(enums) {}

  /// Returns null if the statement cannot be parsed.
  std::shared_ptr<const SqlTable> Parse() {
    while (!tokens_.Take("table") && tokens_.is() != Tokens::kEnd) tokens_.Next();
    for (const std::string_view word : {"if"sv, "not"sv, "exists"sv}) tokens_.Take(word);
    if (!TakeDottedName(tokens_, table_->schema, table_->table)) return nullptr;
    const bool copy = mysql_ && (LikeInBrackets(tokens_) || tokens_.Is("like"));
    const bool partition = dialect_ == SqlDialect::kPostgres && tokens_.Is("partition");
    if (!(copy || partition ? ParseOnlyParent(partition) : ParseElements())) return nullptr;
    return std::move(table_);
  }

 private:
  /// A column while its definition is parsed.
  struct ColumnDefinition {
    SqlTable::Column column;
    TypeText type;
    std::vector<std::string> type_name;  ///< the parts of the name of the type, which can have dots
    bool in_type = true;                 ///< true: the next token can belong to the type
    bool in_name = true;                 ///< true: the next token can belong to `type_name`
    bool array = false;
    bool primary = false;
    bool after_key = false;  ///< true: ON CONFLICT would belong to a key
    CountsUp counts_up;
  };

  /// Parses LIKE t, (LIKE t) or PARTITION OF t, which a table has instead of columns.
  bool ParseOnlyParent(bool partition) {
    tokens_.Take("(");
    tokens_.Next();
    if (partition && !tokens_.Take("of")) return false;
    SqlTarget& parent = table_->parents.emplace_back();
    if (!TakeDottedName(tokens_, parent.schema, parent.table)) return false;
    table_->copies = true;
    if (partition) table_->partition_of = parent;
    table_->complete = !partition || !tokens_.Is("(");  // a partition may change columns in brackets
    return true;
  }

  /// Parses the columns and the constraints in brackets, and the options after them.
  bool ParseElements() {
    if (!tokens_.Take("(")) return false;
    while (tokens_.is() != Tokens::kEnd && !tokens_.Is(")")) {
      if (BeginsConstraint(tokens_, dialect_)) {
        ParseTableConstraint();
      } else if (!ParseColumnDefinition()) {
        return false;
      }
      tokens_.Take(",");
    }
    tokens_.Take(")");
    ParseTableOptions();
    return true;
  }

  /// Returns true unless the column or the constraint ends here.
  bool InElement(unsigned depth) const {
    return tokens_.is() != Tokens::kEnd && (depth > 0 || (!tokens_.Is(",") && !tokens_.Is(")")));
  }
  void NextInElement(unsigned& depth) {
    depth += tokens_.Is("(") ? 1 : tokens_.Is(")") ? -1u : 0;
    tokens_.Next();
  }

  void ParseTableConstraint() {
    if (tokens_.Is("like")) ParseLikeClause(tokens_);
    // Keys of an other table, and EXCLUDE, are like unique keys of columns that are not known.
    if (tokens_.Is("like") || tokens_.Is("exclude")) table_->unique.emplace_back();
    bool after_key = false;
    for (unsigned depth = 0; InElement(depth);) {
      if (depth > 0) {
        NextInElement(depth);
      } else if (tokens_.Take("primary")) {
        if (!tokens_.Take("key")) continue;
        after_key = true;
        ParsePrimaryKey();
      } else if (tokens_.Take("unique")) {
        after_key = true;
        table_->unique.push_back(TakeUnique(tokens_));
      } else if (!ParseConflictClause(after_key) && !ParseReference()) {
        if (tokens_.Is("null") || tokens_.Is("check")) after_key = false;
        NextInElement(depth);
      }
    }
  }

  /// Parses LIKE t INCLUDING DEFAULTS of PostgreSQL.
  void ParseLikeClause(Tokens tokens) {
    tokens.Next();
    SqlTarget parent;
    const bool first =
        table_->columns.empty() && table_->parents.empty() && TakeDottedName(tokens, parent.schema, parent.table);
    table_->complete = first;
    if (first) table_->parents.push_back(std::move(parent));
    table_->copies = true;
    table_->copies_defaults = false;
    bool including = false;
    for (; tokens.is() != Tokens::kEnd && !tokens.Is(",") && !tokens.Is(")"); tokens.Next()) {
      const bool counts = tokens.Is("defaults") || tokens.Is("identity") || tokens.Is("all");
      if (including && counts) table_->copies_defaults = true;
      including = tokens.Is("including");
    }
  }

  /// Parses the columns of PRIMARY KEY.
  void ParsePrimaryKey() {
    // MySQL allows the kind of index here.
    while (tokens_.is() == Tokens::kWord) tokens_.Next();
    bool whole = false;
    table_->primary = TakeNames(tokens_, whole);
    if (!whole) table_->unique.emplace_back();
  }

  /// Parses ON CONFLICT REPLACE of SQLite, and the word ON of other clauses. Returns false if no such word is here.
  bool ParseConflictClause(bool after_key) {
    if (!tokens_.Take("on")) return false;
    if (tokens_.Take("conflict")) table_->replaces |= after_key && (tokens_.Is("replace") || tokens_.Is("ignore"));
    return true;
  }

  bool ParseReference() {
    if (!tokens_.Take("references")) return false;
    table_->refers_to_itself |= TakeReference(tokens_, table_->table);
    return true;
  }

  /// Returns false if no name of a column is here.
  bool ParseColumnDefinition() {
    if (!tokens_.is_name()) return false;
    ColumnDefinition definition;
    definition.column.name = tokens_.written();
    tokens_.Next();
    for (unsigned depth = 0; InElement(depth);) {
      if (depth == 0 && ParseColumnConstraint(definition)) {
        definition.in_type = false;
      } else {
        ParseTypeToken(depth, definition);
      }
    }
    AddColumn(definition);
    return true;
  }

  /// Parses the beginning of a constraint of a column, or its collation. Returns false if none begins here.
  bool ParseColumnConstraint(ColumnDefinition& definition) {
    if (tokens_.Take("primary")) {
      if (!tokens_.Take("key")) return true;
      definition.primary = definition.after_key = true;
      definition.type.ascends = !tokens_.Is("desc");
    } else if (tokens_.Take("unique")) {
      definition.after_key = true;
      tokens_.Take("key");
      table_->unique.push_back({definition.column.name});
    } else if (mysql_ && tokens_.Take("key")) {  // MySQL takes KEY for PRIMARY KEY
      definition.primary = true;
    } else if (tokens_.Take("not")) {
      definition.column.not_null |= tokens_.Is("null");
    } else if (tokens_.Take("collate")) {
      definition.type.collation = tokens_.written();
    } else if (mysql_ && !definition.type.words.empty() && (tokens_.Is("charset") || tokens_.Is("character"))) {
      if (tokens_.Is("character")) tokens_.Next();
      tokens_.Next();
      if (!definition.type.collation) definition.type.collation = tokens_.Is("binary") ? "binary" : "";
    } else if (!ParseConflictClause(definition.after_key) && !ParseReference()) {
      if (tokens_.Is("null") || tokens_.Is("check")) definition.after_key = false;
      return false;
    }
    return true;
  }

  /// Takes a token that belongs to the type of the column, or to a constraint that decides nothing here.
  void ParseTypeToken(unsigned& depth, ColumnDefinition& definition) {
    static constexpr std::string_view kEndsType[] = {
        "not",   "null",       "default",   "primary", "unique",  "constraint",     "collate",       "character",
        "check", "references", "generated", "as",      "comment", "auto_increment", "autoincrement", "unsigned"};
    SqlTable::Column& column = definition.column;
    TypeText& type = definition.type;
    if (definition.counts_up.Sees(tokens_)) {
      column.counted = true;
      column.only_default = mysql_ && !tokens_.Is("auto_increment") && !tokens_.Is("value");
    }
    bool& in_name = definition.in_name;
    in_name = in_name && (definition.type_name.empty() ? tokens_.is_name() : tokens_.Take("."));
    if (in_name && tokens_.is_name()) definition.type_name.push_back(tokens_.written());
    const bool as = depth == 0 && tokens_.Is("as");
    const bool lite_name = tokens_.is() == Tokens::kName && sqlite_;
    const bool in_type = definition.in_type =
        definition.in_type && (tokens_.is() != Tokens::kName || lite_name) &&
        (std::ranges::count(kEndsType, tokens_.text()) == 0 || (type.words.empty() && tokens_.Is("character")));
    const bool outside = in_type && depth == 0;  // of brackets
    if (outside && (tokens_.is() == Tokens::kWord || lite_name)) {
      type.words += (type.words.empty() ? "" : " ") + LowerText(tokens_.text());
    }
    if (in_type && tokens_.is() == Tokens::kString && (type.words == "enum" || type.words == "set")) {
      column.labels.push_back(tokens_.text());
    }
    definition.array |= outside && (tokens_.Is("[") || tokens_.Is("array"));
    type.sized |= outside && tokens_.Is("(");
    type.is_unsigned |= depth == 0 && (tokens_.Is("unsigned") || tokens_.Is("zerofill"));
    if (in_type && depth == 1 && type.size == 0 && tokens_.is() == Tokens::kWord) {
      type.size = ParseDigits(tokens_.text()).value_or(0);
    }
    NextInElement(depth);
    column.generated |= as && tokens_.Is("(");
  }

  /// Adds a column to the table when all its tokens are known.
  void AddColumn(ColumnDefinition& definition) {
    SqlTable::Column& column = definition.column;
    TypeText& type = definition.type;
    if (!definition.array) {
      column.type = TypeOfWords(type.words, dialect_);
      ApplyKnownType(definition.type_name, column);
    }
    RequireLabels(column);
    // MySQL stores '' for words that are not in the list of an enum, and orders it first.
    if (mysql_ && column.type == ValueType::kEnum && std::ranges::count(column.labels, "") == 0) {
      column.labels.insert(column.labels.begin(), "");
    }
    if (definition.primary) table_->primary = {column.name};
    column.not_null |= definition.primary;
    if (mysql_ && type.words.find(" binary") != std::string::npos) type.collation = "_bin";
    if (mysql_ && type.words == "serial") table_->unique.push_back({column.name});
    column.counted |= !sqlite_ && (type.words.starts_with("serial") || type.words.starts_with("bigserial") ||
                                   type.words.starts_with("smallserial"));
    if (definition.array) type.words = "array";
    table_->columns.push_back(std::move(column));
    types_.push_back(std::move(type));
  }

  /// Gives a column the labels and the numbering of its type, if CREATE TYPE or CREATE DOMAIN has made the type.
  void ApplyKnownType(const std::vector<std::string>& type_name, SqlTable::Column& column) const {
    for (const SqlEnum& known : enums_) {
      if (type_name.empty() || known.name != type_name.back()) continue;
      if (type_name.size() > 1 && !known.schema.empty() && known.schema != type_name[type_name.size() - 2]) continue;
      column.counted |= known.counted;
      if (known.labels.empty()) continue;
      column.type = ValueType::kEnum;
      column.labels = known.labels;
    }
  }

  /// Parses the options after the brackets. Then sets the members of all columns that depend on the options.
  void ParseTableOptions() {
    std::string collation;
    bool strict = false;
    while (tokens_.is() != Tokens::kEnd && !tokens_.Is(";")) {
      strict |= tokens_.Is("strict");
      const bool charset = tokens_.Is("charset") || tokens_.Is("character");
      if (dialect_ == SqlDialect::kPostgres && tokens_.Is("inherits")) {
        TakeParents(tokens_, table_->parents);
      } else if (mysql_ && (charset || tokens_.Is("collate"))) {
        if (tokens_.Take("character"))
          tokens_.Take("set");
        else
          tokens_.Next();
        tokens_.Take("=");
        if (!charset || tokens_.Is("binary")) collation = tokens_.text();
      }
      tokens_.Next();
    }
    for (std::size_t i = 0; i < table_->columns.size(); ++i) {
      if (sqlite_) {
        SetLiteRules(types_[i], strict, table_->columns[i]);
      } else {
        SetServerRules(types_[i], mysql_ ? collation : "", table_->columns[i]);
      }
    }
  }

  void SetLiteRules(const TypeText& type, bool strict, SqlTable::Column& column) const {
    // SQLite counts up a primary key that is one column of the type INTEGER.
    column.counted |= type.words == "integer" && type.ascends && table_->primary.size() == 1 &&
                      IsSameSqlName(table_->primary[0], column.name);
    column.affinity = strict && type.words == "any" ? SqlTable::Column::kNone : AffinityOf(type.words);
    column.loose = type.collation && !IsSameSqlName(*type.collation, "binary");
  }

  void SetServerRules(const TypeText& type, const std::string& collation_of_table, SqlTable::Column& column) const {
    const std::string own = type.collation.value_or(collation_of_table);
    SetEquality(type.words, type.sized, mysql_ ? LowerText(own) : own, dialect_, column);
    SetLimits(type.words, type.size, type.is_unsigned || (mysql_ && type.words == "serial"), column);
  }

  Tokens tokens_;
  const bool mysql_, sqlite_;
  const SqlDialect dialect_;
  const std::vector<SqlEnum>& enums_;
  std::shared_ptr<SqlTable> table_ = std::make_shared<SqlTable>();
  std::vector<TypeText> types_;  ///< one for each column of the table
};

}  // namespace

std::shared_ptr<const SqlTable> ParseCreateTable(std::string_view text, SqlDialect dialect,
                                                 const std::vector<SqlEnum>& enums) {
  return BeginsCreateTable(text) ? CreateTableParser(text, dialect, enums).Parse() : nullptr;
}

}  // namespace gpusort

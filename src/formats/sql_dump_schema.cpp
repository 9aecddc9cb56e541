#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "formats/sql_dump_format.hpp"
#include "formats/sql_dump_state.hpp"
#include "formats/text_reader.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// Returns the table after ALTER TABLE or CREATE UNIQUE INDEX.
std::shared_ptr<const SqlTable> Changed(const SqlTable& table, const SqlTableChange& change) {
  auto changed = std::make_shared<SqlTable>(table);
  std::vector<SqlTable::Column>& columns = changed->columns;
  changed->refers_to_itself |= change.refers_to_itself;
  if (change.refers_to_itself) changed->checks = SqlFires::kOfSession;
  for (const SqlTableChange::Switch& one : change.switches) {
    if (one.keys) changed->checks = one.fires;
  }
  changed->unique.insert(changed->unique.end(), change.unique.begin(), change.unique.end());
  columns.insert(columns.end(), change.added.begin(), change.added.end());
  for (SqlTable::Column& column : columns) {
    const auto is_column = [&](const std::string& name) { return IsSameSqlName(name, column.name); };
    for (const SqlTable::Column& retyped : change.retyped) {
      if (!is_column(retyped.name)) continue;
      column.type = retyped.type;
      column.loose = true;
      column.not_null = retyped.not_null;
    }
    column.counted |= std::ranges::any_of(change.counted, is_column);
  }
  if (change.moves_columns) {
    changed->complete = false;
    columns.clear();
    changed->primary.clear();
  }
  return changed;
}

/// Returns what the last CREATE TABLE of the table `target` describes, or null if the dump has none so far.
const SqlTable* FindTable(const SqlTarget& target, const DumpState& dump) {
  const std::string& schema = target.schema.empty() ? dump.session.schema : target.schema;
  for (const bool no_case : {false, true}) {
    const auto is = [&](const std::string& a, const std::string& b) { return no_case ? IsSameSqlName(a, b) : a == b; };
    for (const TableList* list = dump.tables.get(); list != nullptr; list = list->before.get()) {
      const SqlTable& table = *list->table;
      const bool in_schema = schema.empty() || table.schema.empty() || is(table.schema, schema);
      if (in_schema && is(table.table, target.table)) return &table;
    }
    if (dump.dialect == SqlDialect::kPostgres) break;
  }
  return nullptr;
}

/// Returns `table` with the columns that it inherits from other tables (INHERITS, LIKE, PARTITION OF) before its own
/// columns.
std::shared_ptr<const SqlTable> WithParents(const SqlTable& table, const DumpState& dump) {
  auto merged = std::make_shared<SqlTable>(table);
  merged->columns.clear();
  merged->parents.clear();
  const auto add = [&](SqlTable::Column column) {
    const auto found = std::ranges::find(merged->columns, column.name, &SqlTable::Column::name);
    if (found != merged->columns.end()) {
      *found = column;
    } else {
      merged->columns.push_back(column);
    }
  };
  for (const SqlTarget& parent : table.parents) {
    const SqlTable* const known = FindTable(parent, dump);
    merged->complete = merged->complete && known != nullptr && known->complete;
    if (known == nullptr) continue;
    for (SqlTable::Column column : known->columns) {
      if (table.copies) {
        // Copied columns are sorted as texts.
        column.type = ValueType::kText;
        column.labels.clear();
        column.loose = true;
        column.counted = column.counted && table.copies_defaults;
      }
      add(std::move(column));
    }
    if (!table.copies) continue;
    // The unique keys of the parent are also unique keys of this table.
    merged->unique.insert(merged->unique.end(), known->unique.begin(), known->unique.end());
    if (!known->primary.empty()) merged->unique.push_back(known->primary);
    merged->replaces |= known->replaces;
  }
  std::ranges::for_each(table.columns, add);
  return merged;
}

}  // namespace

void SqlDumpFormat::Describe(const std::string& statement, DumpState& dump, KeyTally* tally) const {
  static const std::vector<SqlEnum> none;
  if (std::optional<SqlEnum> type = ParseCreateEnum(statement, dump.dialect)) {
    auto enums = std::make_shared<std::vector<SqlEnum>>(dump.enums ? *dump.enums : none);
    enums->push_back(std::move(*type));
    dump.enums = std::move(enums);
    return;
  }
  // Gives `target` the name that the statements with its rows have. Returns the table if the dump describes it.
  const auto find = [&](SqlTarget& target) {
    const SqlTable* const table = FindTable(target, dump);
    if (target.schema.empty()) target.schema = dump.session.schema;
    if (table != nullptr) target.table = table->table;
    return table;
  };
  static const std::vector<SqlTrigger> no_triggers;
  const std::vector<SqlTrigger>& triggers = dump.triggers ? *dump.triggers : no_triggers;
  if (std::optional<SqlTrigger> trigger = ParseInsertTrigger(statement, dump.dialect)) {
    trigger->exact = find(trigger->table) != nullptr;
    auto more = std::make_shared<std::vector<SqlTrigger>>(triggers);
    more->push_back(std::move(*trigger));
    dump.triggers = std::move(more);
  } else if (std::optional<SqlTrigger> gone = ParseDropTrigger(statement, dump.dialect); gone && !triggers.empty()) {
    find(gone->table);
    auto left = std::make_shared<std::vector<SqlTrigger>>(triggers);
    // Names of triggers are names in their table in PostgreSQL, and names in their database in MySQL.
    std::erase_if(*left, [&](const SqlTrigger& one) {
      if (dump.dialect == SqlDialect::kPostgres || !gone->table.table.empty()) {
        return one.name == gone->name && one.rule == gone->rule && one.table.name() == gone->table.name();
      }
      const bool mysql = dump.dialect == SqlDialect::kMysql;
      return IsSameSqlName(one.name, gone->name) && (!mysql || IsSameSqlName(one.table.schema, gone->table.schema));
    });
    dump.triggers = std::move(left);
  }
  const auto is_key = [&](SqlTarget target, const std::string& column) {
    const SqlTable* const table = find(target);
    const auto is_column = [&](const std::vector<std::string>& key) {
      return key.size() == 1 && IsSameSqlName(key[0], column);
    };
    return table != nullptr && (is_column(table->primary) || std::ranges::any_of(table->unique, is_column));
  };
  if (tally != nullptr && dump.filled != nullptr && DependsOnOrder(statement, dump.dialect, is_key)) {
    tally->order_statements.Note(std::string_view(statement).substr(0, statement.find_last_not_of(kSqlBlanks) + 1));
  }
  std::shared_ptr<const SqlTable> table = ParseCreateTable(statement, dump.dialect, dump.enums ? *dump.enums : none);
  if (const std::optional<SqlTableChange> change = ParseTableChange(statement, dump.dialect)) {
    SqlTarget target = change->table;
    const SqlTable* const known = find(target);
    if (known != nullptr) table = Changed(*known, *change);
    if (!change->switches.empty() && !triggers.empty()) {
      auto switched = std::make_shared<std::vector<SqlTrigger>>(triggers);
      for (const SqlTableChange::Switch& one : change->switches) {
        for (SqlTrigger& trigger : *switched) {
          // Without a schema, the table is not sure. The trigger is then turned on, but not off.
          const bool unsure = one.fires != SqlFires::kNever && (target.schema.empty() || trigger.table.schema.empty());
          if (trigger.rule != one.rule || trigger.table.table != target.table) continue;
          if (trigger.table.schema != target.schema && !unsure) continue;
          if (one.name.empty() || one.name == trigger.name) trigger.fires = one.fires;
        }
      }
      dump.triggers = std::move(switched);
    }
    if (const SqlTable* const part = change->attached.table.empty() ? nullptr : FindTable(change->attached, dump)) {
      auto attached = std::make_shared<SqlTable>(*part);
      attached->partition_of = change->table;
      if (attached->partition_of.schema.empty()) attached->partition_of.schema = dump.session.schema;
      dump.tables = std::make_shared<const TableList>(std::move(attached), dump.tables);
    }
    const bool has_rows = dump.filled != nullptr && dump.filled->contains(target.name());
    // MySQL counts up values for null and 0 when a column becomes AUTO_INCREMENT.
    const auto numbers = [&](const std::string& name) {
      if (dump.dialect != SqlDialect::kMysql) return false;
      if (known == nullptr || !dump.session.zero_is_value) return true;
      return std::ranges::none_of(known->columns, [&](const SqlTable::Column& column) {
        return IsSameSqlName(column.name, name) && column.not_null;
      });
    };
    const bool numbers_rows = change->numbers_rows || std::ranges::any_of(change->counted, numbers);
    if (numbers_rows && has_rows && tally != nullptr) tally->renumbered_tables.Note(target.name());
    if (change->ignores && !change->unique.empty() && has_rows && tally != nullptr) {
      tally->conflict_tables.Note(target.name());
    }
  }
  if (table == nullptr) return;
  if (table->schema.empty() && !dump.session.schema.empty()) {
    auto named = std::make_shared<SqlTable>(*table);
    named->schema = dump.session.schema;
    table = std::move(named);
  }
  if (!table->parents.empty()) table = WithParents(*table, dump);
  dump.tables = std::make_shared<const TableList>(std::move(table), dump.tables);
}

KeyColumns SqlDumpFormat::FindKeys(const SqlTarget& target, DumpState& dump) const {
  KeyColumns wanted;
  dump.named.resize(names_.size());
  const std::string table = target.name();
  if (dump.seen.size() < kMostTables && std::ranges::count(dump.seen, table) == 0) dump.seen.push_back(table);
  // An unquoted name of PostgreSQL is in lower case. Names of SQLite, and of columns of MySQL, have no case.
  const bool postgres = dump.dialect == SqlDialect::kPostgres, lite = dump.dialect == SqlDialect::kSqlite;
  const auto is = [&](const std::string& name, const std::string& in_dump, bool no_case) {
    return name == in_dump || (no_case ? IsSameSqlName(name, in_dump) : postgres && LowerText(name) == in_dump);
  };
  for (std::size_t key = 0; key < names_.size(); ++key) {
    const Name& name = names_[key];
    if (!is(name.table, target.table, lite)) continue;
    if (!name.schema.empty() && !is(name.schema, target.schema, lite)) continue;
    auto found = std::ranges::find(target.columns, name.column);
    if (found == target.columns.end()) {
      found = std::ranges::find_if(target.columns,
                                   [&](const std::string& column) { return is(name.column, column, !postgres); });
    }
    if (found == target.columns.end()) {
      std::string columns;
      for (const std::string& column : target.columns) columns += (columns.empty() ? "" : ", ") + column;
      FailKey(table_.keys[key], "table " + EscapeName(table) +
                                    (columns.empty() ? " has no names of columns in the dump: give pg_dump "
                                                       "--column-inserts, or mysqldump --complete-insert"
                                                     : " has no such column (it has: " + EscapeName(columns) + ")"));
    }
    wanted.Add(static_cast<std::uint64_t>(found - target.columns.begin()), key);
    dump.named[key] = true;
  }
  return wanted;
}

std::shared_ptr<const RowsPart> SqlDumpFormat::MakePart(const SqlTarget& given, DumpState& dump) const {
  auto part = std::make_shared<RowsPart>();
  SqlTarget target = given;
  const SqlTable* const table = FindTable(target, dump);
  if (target.schema.empty()) target.schema = dump.session.schema;
  if (table != nullptr) target.table = table->table;
  // An INSERT without names of columns gives all columns.
  const bool named = !target.columns.empty() || (table != nullptr && table->complete);
  if (table != nullptr && table->complete && target.columns.empty()) {
    for (const SqlTable::Column& column : table->columns) {
      if (!column.generated) target.columns.push_back(column.name);
    }
  }
  const auto is_name = [&](const std::string& name) {
    return [&](const std::string& other) {
      return name == other || (dump.dialect != SqlDialect::kPostgres && IsSameSqlName(name, other));
    };
  };
  part->table = target.name();
  part->wanted = FindKeys(target, dump);
  part->again = !AddName(part->table, dump.filled);
  const auto fires = [&](SqlFires when) {
    return when == SqlFires::kAlways || (when == SqlFires::kOfSession && !dump.session.unchecked);
  };
  part->refers_to_itself = table != nullptr && table->refers_to_itself && fires(table->checks);
  std::vector<const SqlTable::Column*> columns(target.columns.size());
  for (std::size_t i = 0; table != nullptr && i < columns.size(); ++i) {
    const auto found = std::ranges::find_if(table->columns, is_name(target.columns[i]), &SqlTable::Column::name);
    if (found != table->columns.end()) columns[i] = &*found;
  }
  for (std::size_t i = 0; table != nullptr && named && i < table->columns.size(); ++i) {
    if (!table->columns[i].counted || table->columns[i].generated) continue;
    const auto found = std::ranges::find(columns, &table->columns[i]);
    part->lacks_counted |= found == columns.end();
    if (found != columns.end()) part->counted.push_back(static_cast<std::size_t>(found - columns.begin()));
  }
  std::ranges::sort(part->counted);
  for (const std::size_t column : part->counted) part->only_default.push_back(columns[column]->only_default);
  for (std::size_t i = 0; dump.triggers != nullptr && i < dump.triggers->size(); ++i) {
    const SqlTrigger& trigger = (*dump.triggers)[i];
    if (dump.dialect == SqlDialect::kPostgres && !fires(trigger.fires)) continue;
    const bool no_case = !trigger.exact && dump.dialect != SqlDialect::kPostgres;
    const std::string name = trigger.table.name();
    part->triggered |= no_case ? IsSameSqlName(name, part->table) : name == part->table;
  }
  const auto order_of = [&](std::size_t column, const Orders& orders) -> RowsPart::Order {
    const ValueType type = columns[column] == nullptr ? ValueType::kText : columns[column]->type;
    if (!HasLabels(type)) return orders[static_cast<unsigned>(type)];
    ValueRule rule = orders[0]->rule();
    rule.type = type;
    rule.labels = columns[column]->labels;
    return std::make_shared<const ValueKey>(rule);
  };
  part->by.resize(names_.size());
  for (const KeyColumns::Wanted& wanted : part->wanted.by_column) {
    const Orders& orders = of_key_[wanted.key];
    if (table != nullptr && !orders.empty()) part->by[wanted.key] = order_of(wanted.column, orders);
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool text = columns[i] == nullptr || columns[i]->type == ValueType::kText;
    part->columns.push_back(text ? nullptr : order_of(i, of_type_));
  }
  if (table == nullptr) return part;
  part->replaces = table->replaces;
  for (const std::string& name : table->primary) {
    const auto found = std::ranges::find_if(target.columns, is_name(name));
    if (found == target.columns.end()) {
      part->primary = {};
      break;
    }
    const auto column = static_cast<std::size_t>(found - target.columns.begin());
    part->primary.Add(column, part->primary.keys.size());
    part->primary_by.push_back(order_of(column, of_type_));
  }
  const bool keyed = !part->wanted.keys.empty();
  const std::vector<KeyColumns::Wanted>& keys = keyed ? part->wanted.by_column : part->primary.by_column;
  part->key_columns.resize(keyed ? names_.size() : part->primary.keys.size());
  for (const KeyColumns::Wanted& key : keys) {
    if (columns[key.column] != nullptr) part->key_columns[key.key] = *columns[key.column];
  }
  // Rows with equal values in the columns `names` have equal sort keys, if the sort has no other columns. Keys of the
  // user do not follow what SQLite converts and which bytes a server ignores.
  const auto has_keys = [&](const std::vector<std::string>& names) {
    return std::ranges::all_of(keys, [&](const KeyColumns::Wanted& key) {
      const SqlTable::Column* const column = columns[key.column];
      if (column == nullptr || column->loose) return false;
      if (keyed && (column->padding != SqlTable::Column::kNoPadding || column->affinity != SqlTable::Column::kNone ||
                    (part->by[key.key] == nullptr && table_.keys[key.key].rule.type != column->type))) {
        return false;
      }
      return std::ranges::any_of(names, is_name(target.columns[key.column]));
    });
  };
  // A partition also has the keys of its parents.
  std::vector<std::vector<std::string>> unique = table->unique;
  constexpr int kMostParents = 10;
  const SqlTable* at = table;
  for (int depth = 0; !at->partition_of.table.empty(); ++depth) {
    at = depth < kMostParents ? FindTable(at->partition_of, dump) : nullptr;
    if (at == nullptr || !at->complete) unique.emplace_back();  // a key that is not known
    if (at == nullptr) break;
    unique.insert(unique.end(), at->unique.begin(), at->unique.end());
    if (!at->primary.empty()) unique.push_back(at->primary);
  }
  part->keyless = table->complete && table->primary.empty() && unique.empty();
  // If rows with equal unique keys keep their order, REPLACE keeps the same rows as without sorting.
  part->keeps_winners = part->keyless || (!part->primary.keys.empty() && has_keys(table->primary) &&
                                          std::ranges::all_of(unique, has_keys));
  return part;
}

}  // namespace gpusort

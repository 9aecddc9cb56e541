#include "formats/sql_dump_state.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "formats/sql_dump_format.hpp"
#include "kernels/error.hpp"

namespace gpusort {

const DumpState& SqlDumpFormat::StateOf(const ScanState& state) const { return state.dump ? *state.dump : *front_; }

DumpState& SqlDumpFormat::Change(ScanState& state) const {
  // The old object must not change, because other states may share it.
  auto next = std::make_shared<DumpState>(StateOf(state));
  DumpState& dump = *next;
  state.dump = std::move(next);
  return dump;
}

bool AddName(const std::string& name, std::shared_ptr<std::set<std::string>>& names) {
  if (names != nullptr && names->contains(name)) return false;
  if (names == nullptr) {
    names = std::make_shared<std::set<std::string>>();
  } else if (names.use_count() > 1) {
    names = std::make_shared<std::set<std::string>>(*names);
  }
  names->insert(name);
  return true;
}

void SetDialect(SqlDialect dialect, DumpState& dump) {
  dump.dialect = dialect;
  dump.text.escapes = dump.text.escapes_before = dialect == SqlDialect::kMysql;
}

std::string SqlDumpFormat::SaveState(const ScanState& state) const {
  const DumpState& dump = StateOf(state);
  std::ostringstream out;
  const auto put = [&](const std::string& text) { out << text.size() << ' ' << text << ' '; };
  out << state.mode << ' ' << state.count << ' ' << state.row << ' ' << unsigned(dump.dialect) << ' ';
  const SqlText& text = dump.text;
  out << unsigned{text.in} << ' ' << text.depth << ' ' << text.escapes << ' ' << text.escapes_before << ' ' << text.open
      << ' ' << text.trigger << ' ' << text.brackets << ' ' << text.end << ' ';
  put(text.tag);
  put(text.delimiter);
  put(dump.statement);
  put(dump.create);
  put(dump.session.schema);
  out << dump.session.unchecked << ' ' << dump.session.zero_is_value << ' ';
  const auto put_all = [&](const auto& texts) {
    out << texts.size() << ' ';
    for (const std::string& one : texts) put(one);
  };
  static const std::vector<SqlEnum> none;
  const std::vector<SqlEnum>& enums = dump.enums ? *dump.enums : none;
  out << enums.size() << ' ';
  for (const SqlEnum& type : enums) {
    put(type.schema);
    put(type.name);
    put_all(type.labels);
    out << type.counted << ' ';
  }
  static const std::vector<SqlTrigger> no_triggers;
  const std::vector<SqlTrigger>& triggers = dump.triggers ? *dump.triggers : no_triggers;
  out << triggers.size() << ' ';
  for (const SqlTrigger& trigger : triggers) {
    put(trigger.name);
    put(trigger.table.schema);
    put(trigger.table.table);
    out << trigger.exact << ' ' << trigger.rule << ' ' << static_cast<unsigned>(trigger.fires) << ' ';
  }
  out << dump.any << ' ' << dump.gaps << ' ' << dump.inserts << ' ';
  std::vector<const SqlTable*> tables;
  for (const TableList* list = dump.tables.get(); list != nullptr; list = list->before.get()) {
    tables.push_back(list->table.get());
  }
  out << tables.size() << ' ';
  for (auto table = tables.rbegin(); table != tables.rend(); ++table) {
    put((*table)->schema);
    put((*table)->table);
    out << (*table)->columns.size() << ' ';
    for (const SqlTable::Column& column : (*table)->columns) {
      put(column.name);
      out << static_cast<unsigned>(column.type) << ' ' << column.generated << ' ' << column.counted << ' '
          << column.not_null << ' ' << column.loose << ' ' << column.padding << ' '
          << static_cast<unsigned>(column.affinity) << ' ' << column.size << ' ' << static_cast<unsigned>(column.text)
          << ' ' << static_cast<std::uint64_t>(column.least) << ' ' << column.most << ' ' << column.year << ' '
          << column.only_default << ' ' << column.in_bytes << ' ';
      put_all(column.labels);
    }
    put_all((*table)->primary);
    out << (*table)->unique.size() << ' ';
    for (const std::vector<std::string>& columns : (*table)->unique) put_all(columns);
    out << (*table)->refers_to_itself << ' ' << static_cast<unsigned>((*table)->checks) << ' ' << (*table)->replaces
        << ' ' << (*table)->complete << ' ';
    put((*table)->partition_of.schema);
    put((*table)->partition_of.table);
  }
  // No one asks for the part after its rows. LoadState() could not make it again: the tables may have changed.
  const bool has_part = state.mode != kSql && dump.part != nullptr;
  out << has_part << ' ';
  if (has_part) {
    const RowsPart& part = *dump.part;
    put(part.head);
    out << part.again << ' ' << part.decided << ' ' << part.multi_row << ' ' << part.singles << ' ' << part.ended << ' '
        << part.ends_differ << ' ' << part.replaces << ' ';
    put(part.separator);
    put(part.tail);
    put(part.end);
  }
  // MakePart() changes the following members, so that they come after the part.
  for (std::size_t key = 0; key < names_.size(); ++key) {
    out << (key < dump.named.size() && dump.named[key]) << ' ';
  }
  put_all(dump.seen);
  put_all(dump.filled != nullptr ? *dump.filled : std::set<std::string>());
  return out.str();
}

ScanState SqlDumpFormat::LoadState(const std::string& text) const {
  ScanState state;
  if (text.empty()) return state;
  DumpState dump;
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
  dump.dialect = static_cast<SqlDialect>(std::min<std::uint64_t>(number(), 3));
  dump.text.in = static_cast<SqlText::In>(number());
  dump.text.depth = static_cast<unsigned>(number());
  dump.text.escapes = number() != 0;
  dump.text.escapes_before = number() != 0;
  dump.text.open = number() != 0;
  dump.text.trigger = number() != 0;
  dump.text.brackets = static_cast<unsigned>(number());
  dump.text.end = static_cast<unsigned>(number());
  dump.text.tag = name();
  dump.text.delimiter = name();
  dump.statement = name();
  dump.create = name();
  dump.session.schema = name();
  dump.session.unchecked = number() != 0;
  dump.session.zero_is_value = number() != 0;
  const auto names = [&] {
    std::vector<std::string> all;
    for (std::uint64_t left = number(); left > 0 && in; --left) all.push_back(name());
    return all;
  };
  std::vector<SqlEnum> enums;
  for (std::uint64_t left = number(); left > 0 && in; --left) {
    SqlEnum& type = enums.emplace_back();
    type.schema = name();
    type.name = name();
    type.labels = names();
    type.counted = number() != 0;
  }
  if (!enums.empty()) dump.enums = std::make_shared<const std::vector<SqlEnum>>(std::move(enums));
  std::vector<SqlTrigger> triggers;
  for (std::uint64_t left = number(); left > 0 && in; --left) {
    SqlTrigger& trigger = triggers.emplace_back();
    trigger.name = name();
    trigger.table.schema = name();
    trigger.table.table = name();
    trigger.exact = number() != 0;
    trigger.rule = number() != 0;
    trigger.fires = static_cast<SqlFires>(number());
  }
  if (!triggers.empty()) dump.triggers = std::make_shared<const std::vector<SqlTrigger>>(std::move(triggers));
  dump.any = number() != 0;
  dump.gaps = number() != 0;
  dump.inserts = number() != 0;
  for (std::uint64_t left = number(); left > 0 && in; --left) {
    auto table = std::make_shared<SqlTable>();
    table->schema = name();
    table->table = name();
    for (std::uint64_t columns = number(); columns > 0 && in; --columns) {
      SqlTable::Column& column = table->columns.emplace_back();
      column.name = name();
      column.type = static_cast<ValueType>(std::min<std::uint64_t>(number(), of_type_.size() - 1));
      column.generated = number() != 0;
      column.counted = number() != 0;
      column.not_null = number() != 0;
      column.loose = number() != 0;
      column.padding = static_cast<unsigned>(number());
      column.affinity = static_cast<SqlTable::Column::Affinity>(number());
      column.size = number();
      column.text = static_cast<SqlTable::Column::Text>(number());
      column.least = static_cast<std::int64_t>(number());
      column.most = number();
      column.year = number() != 0;
      column.only_default = number() != 0;
      column.in_bytes = number() != 0;
      column.labels = names();
      RequireLabels(column);
    }
    table->primary = names();
    for (std::uint64_t keys = number(); keys > 0 && in; --keys) table->unique.push_back(names());
    table->refers_to_itself = number() != 0;
    table->checks = static_cast<SqlFires>(number());
    table->replaces = number() != 0;
    table->complete = number() != 0;
    table->partition_of.schema = name();
    table->partition_of.table = name();
    dump.tables = std::make_shared<const TableList>(std::move(table), dump.tables);
  }
  if (number() != 0) {
    const std::string head = name();
    // The head of an INSERT was followed by a row.
    const InsertHead parsed = ParseInsertHead(head + "(", dump.dialect);
    SqlTarget copy;
    const bool insert = parsed.is == InsertHead::kRows;
    if ((insert || ParseCopy(head, copy) == Statement::kCopy) && in) {
      auto part = std::make_shared<RowsPart>(*MakePart(insert ? parsed.target : copy, dump));
      part->head = head;
      part->lacks_counted |= parsed.counts;
      part->again = number() != 0;
      part->decided = number() != 0;
      part->multi_row = number() != 0;
      part->singles = number();
      part->ended = number() != 0;
      part->ends_differ = number() != 0;
      part->replaces = number() != 0;
      part->separator = name();
      part->tail = name();
      part->end = name();
      dump.part = std::move(part);
    } else {
      in.setstate(std::ios::failbit);
    }
  }
  dump.named.resize(names_.size());
  for (std::size_t key = 0; key < names_.size(); ++key) dump.named[key] = number() != 0;
  dump.seen = names();
  dump.filled = nullptr;
  for (const std::string& table : names()) AddName(table, dump.filled);
  if (state.mode != kSql && dump.part == nullptr) in.setstate(std::ios::failbit);
  if (!in) throw Error(ErrorCode::kIntegrity, "what is known of a place in a dump is damaged");
  if (dump.gaps) RefuseGaps();
  state.dump = std::make_shared<const DumpState>(std::move(dump));
  return state;
}

}  // namespace gpusort

// How records with columns are written, as a front end has resolved it: plain data for formats/table_format.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/column_key.hpp"

namespace gpusort {

enum class TableKind { kCsv, kJsonLines, kPgCopy, kPgCopyBinary, kPgDump, kMysql };

struct TableOptions {
  TableKind kind = TableKind::kCsv;
  std::string name;  ///< of the format, for messages: csv, tsv, jsonl, ...
  unsigned char delimiter = ',';
  int quote = '"';                 ///< -1: none
  int escape = -1;                 ///< takes the next byte in quotes as it is; -1: a quote in quotes is doubled
  int comment = -1;                ///< begins lines that are no records; -1: none
  std::uint64_t header = 1;        ///< records on top that are not sorted; the last has the names of columns
  std::vector<std::string> nulls;  ///< unquoted fields that are null, beside empty ones
  bool strict = false;             ///< what is taken leniently else is an error
  std::vector<ColumnKey> keys;     ///< with --reverse folded in; none: all columns as text
  bool reverse = false;            ///< of what has no key
};

}  // namespace gpusort

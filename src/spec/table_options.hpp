// The syntax and the keys of records with columns (CSV, JSON Lines...), as plain data for formats/table_format.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/column_key.hpp"

namespace gpusort {

struct TableOptions {
  std::string name = "csv";  ///< the name of the format, which selects a row of formats/registry.hpp
  unsigned char delimiter = ',';
  int quote = '"';                   ///< the byte around quoted fields; -1: fields are never quoted
  int escape = -1;                   ///< the byte before a literal byte in a quoted field; -1: quotes are doubled
  int comment = -1;                  ///< the first byte of lines that are skipped; -1: no line is skipped
  std::uint64_t header = 1;          ///< number of unsorted records at the top; the last one has the column names
  std::vector<std::string> nulls{};  ///< unquoted texts that mean null, in addition to the empty text
  bool strict = false;               ///< doubtful values and records are errors instead of warnings
  std::vector<ColumnKey> keys{};     ///< the sort keys, with --reverse applied; empty: all columns as text
  bool reverse = false;              ///< if there are no keys, the order is descending
};

}  // namespace gpusort

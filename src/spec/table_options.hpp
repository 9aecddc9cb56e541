// How records with columns are written, as a front end has resolved it. Plain data for formats/table_format.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/column_key.hpp"

namespace gpusort {

struct TableOptions {
  std::string name = "csv";  ///< of the format: a row of formats/registry.hpp
  unsigned char delimiter = ',';
  int quote = '"';                 ///< -1 if there is none
  int escape = -1;                 ///< the next byte in quotes is text; -1: a quote in quotes is doubled
  int comment = -1;                ///< the first byte of lines to skip; -1 if there is none
  std::uint64_t header = 1;        ///< records on top that are not sorted; the last one names the columns
  std::vector<std::string> nulls{};  ///< unquoted fields that are null, in addition to empty ones
  bool strict = false;             ///< values and records that only cause a warning are errors
  std::vector<ColumnKey> keys{};     ///< with --reverse applied; if empty, all columns as text
  bool reverse = false;            ///< the order without keys is descending
};

}  // namespace gpusort

// KeyColumns lists the columns that keys need, in the order in which a parser meets them in a record.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "kernels/error.hpp"
#include "spec/table_options.hpp"

namespace gpusort {

struct KeyColumns {
  struct Wanted {
    std::uint64_t column;  ///< counted from 0
    std::size_t key;
  };
  std::vector<Wanted> by_column;
  std::vector<std::size_t> keys;  ///< the numbers of the keys, in the order in which the keys are written

  KeyColumns() = default;
  /// `columns` has the column number of each key.
  explicit KeyColumns(const std::vector<std::uint64_t>& columns) {
    for (std::size_t key = 0; key < columns.size(); ++key) Add(columns[key], key);
  }
  void Add(std::uint64_t column, std::size_t key) {
    const auto behind = std::find_if(by_column.begin(), by_column.end(),
                                     [column](const Wanted& other) { return other.column > column; });
    by_column.insert(behind, {column, key});
    keys.push_back(key);
  }
};

/// Throws Error(kUsage) if a key names a column instead of giving its number.
inline void RefuseNames(const TableOptions& table) {
  for (const ColumnKey& key : table.keys) {
    if (key.number > 0) continue;
    throw Error(ErrorCode::kUsage, "--key: '" + EscapeName(key.text) + "': the columns of --format " + table.name +
                                       " have no names: give its number, like #1");
  }
}

}  // namespace gpusort

// Refuses keys and options of lines for files of columns, such as Parquet, and advises a key that such a file has.
#pragma once

#include <string>

#include "cli/typed.hpp"

namespace gpusort {

/// Throws Error(kUsage) if an input is a file of columns, and the option `row` is only for lines.
void RefuseLineOption(const Typed& typed, const OptionRow& row);
/// Throws Error(kUsage) if an input is a file of columns. `key` is a key of lines.
void RefuseLineKey(const Typed& typed, const std::string& key);

}  // namespace gpusort

// Checks of Parquet files. parquet.py does them: the text of that program is inside gpusort_check.
#pragma once

#include <string>
#include <vector>

namespace check {

/// Replaces this process by python3 (or by GPUSORT_PYTHON), which runs parquet.py with `options`. Throws tool::Failure
/// if python3 cannot be started.
[[noreturn]] void RunParquet(const std::vector<std::string>& options);

}  // namespace check

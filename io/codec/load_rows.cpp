#include <algorithm>
#include <atomic>

#include "io/codec/codec_module.hpp"
#include "io/codec/row_module.hpp"
#include "kernels/module.hpp"
#include "version.hpp"

#pragma weak gpusort_rows_parquet

namespace gpusort {

const RowModule& LoadParquet() {
  static std::atomic<const RowModule*> loaded{nullptr};
  if (gpusort_rows_parquet != nullptr) return *gpusort_rows_parquet();
  if (loaded != nullptr) return *loaded.load();
  const Module module({.name = "module for Parquet",
                       .file = "gpusort_parquet.so",
                       .entry = "gpusort_rows_parquet",
                       .version = GPUSORT_ROWS_VERSION,
                       .error = ErrorCode::kUsage,
                       .advice =
                           "install the package gpusort-parquet, or pip install 'gpusort[parquet]'; to build it, run "
                           "tools/install-deps --parquet and then tools/build",
                       .variable = "GPUSORT_PARQUET_MODULE"});
  // Loading twice gives the same module, so a race between two threads is harmless.
  loaded = static_cast<const RowModule*>(module.Load());
  return *loaded.load();
}

std::uint64_t RowDecoderBytes(std::uint64_t limit) {
  constexpr std::uint64_t kMost = 1024 * kMiB;
  return std::min(limit, kMost);
}

std::uint64_t RowEncoderBytes(const RowEncoderOptions& options) {
  constexpr std::uint64_t kThread = kMiB, kOther = 4 * kMiB;
  return RowEncoderBudget(options) + std::max(1U, options.threads) * kThread + kOther;
}

}  // namespace gpusort

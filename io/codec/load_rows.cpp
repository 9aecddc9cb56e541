#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>

#include "io/codec/codec_module.hpp"
#include "io/codec/row_module.hpp"
#include "kernels/module.hpp"
#include "version.hpp"

#pragma weak gpusort_rows_parquet
#pragma weak gpusort_rows_arrow
#pragma weak gpusort_rows_arrow_stream

namespace gpusort {

namespace {

/// The function of the module for each format.
struct Entry {
  Codec codec;
  const char* symbol;
  const RowModule* (*linked)();  ///< null: the module is not linked into this program
};
constexpr Entry kEntries[] = {
    {Codec::kParquet, "gpusort_rows_parquet", gpusort_rows_parquet},
    {Codec::kArrow, "gpusort_rows_arrow", gpusort_rows_arrow},
    {Codec::kArrowStream, "gpusort_rows_arrow_stream", gpusort_rows_arrow_stream},
};
static_assert(std::size(kEntries) == std::size(kColumnFiles));

}  // namespace

const RowModule& LoadRows(Codec codec) {
  static std::array<std::atomic<const RowModule*>, std::size(kEntries)> all_loaded{};
  const Entry* const entry = std::ranges::find(kEntries, codec, &Entry::codec);
  if (entry == std::end(kEntries)) throw Error(ErrorCode::kInternal, "the codec has no rows");
  if (entry->linked != nullptr) return *entry->linked();
  std::atomic<const RowModule*>& loaded = all_loaded[static_cast<std::size_t>(entry - kEntries)];
  if (loaded != nullptr) return *loaded.load();
  const Module module({.name = "module for Parquet and Arrow",
                       .file = "gpusort_parquet.so",
                       .entry = entry->symbol,
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

std::shared_ptr<RowStore> MakeRowStore(Codec codec, std::uint64_t most_bytes) {
  return LoadRows(codec).make_store(most_bytes);
}

std::uint64_t RowDecoderBytes(std::uint64_t limit) {
  // More than this is of use only for a row group that needs it.
  constexpr std::uint64_t kUsual = 1024 * kMiB;
  return std::max(std::min(limit, kUsual), limit / 2);
}

std::uint64_t RowEncoderBytes(const RowEncoderOptions& options) {
  constexpr std::uint64_t kThread = kMiB, kOther = 4 * kMiB;
  return RowEncoderBudget(options) + std::max(1U, options.threads) * kThread + kOther;
}

}  // namespace gpusort

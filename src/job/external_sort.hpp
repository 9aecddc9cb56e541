// The main path: open the inputs, open a backend, plan, form runs, merge runs, prove, publish.
// A reader starts at ExternalSort; form_runs.hpp and merge_runs.hpp are its two halves.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "backend.hpp"
#include "data/inputs.hpp"
#include "data/keyed_lines.hpp"
#include "data/output.hpp"
#include "job/stats.hpp"
#include "stream.hpp"
#include "support/options.hpp"

namespace gpusort {

/// Where GPU backends come from: the seam through which tests put one that fails.
struct GpuSource {
  /// With --device auto, smaller inputs go to the CPU: they are sorted before a CUDA context is up.
  std::uint64_t min_bytes = std::uint64_t{32} << 20;
  std::function<bool()> likely = GpuLikely;
  std::function<std::unique_ptr<Backend>(int)> open = OpenCudaBackend;
  bool lines = true;  ///< whether those backends take delimited records
};

/// Does what `options` ask for (kSort). Returns only when the output is proved and published; else throws Error.
SortResult ExternalSort(const Options& options, CancelFlag& cancel, const GpuSource& gpus = {});

/// The same for inputs of which some fronts were read, into an output that was opened by `files`.
SortResult ExternalSort(const Options& options, CancelFlag& cancel, FileSystem& files, OutputTarget target,
                        StreamFronts fronts, const GpuSource& gpus = {});

/// The plan that ExternalSort would follow, as text. Opens inputs and backend, writes nothing.
std::string ExplainSort(const Options& options, CancelFlag& cancel, const GpuSource& gpus = {});

/// --check: throws Error(kNotSorted) naming the first record out of order (with -u: also a repeated key).
void CheckSorted(const Options& options, CancelFlag& cancel);

/// The order of records as they lie in inputs and output, and of what is sorted: the same, or lines with keys. Options
/// must outlive it.
struct Ordered {
  std::unique_ptr<KeyMaker> keys;
  std::unique_ptr<KeyedOrder> keyed;  ///< null: records are sorted as they lie
  RecordLayout plain;

  explicit Ordered(const Options& options);
};

}  // namespace gpusort

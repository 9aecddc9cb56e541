#include "bench/merge.cuh"

namespace gpusort::bench {
template void MergeBench<std::int32_t, std::int32_t>(Gpu&, Report&);
template void MergeBench<std::int64_t, std::int64_t>(Gpu&, Report&);
}  // namespace gpusort::bench

#include "bench/sort.cuh"

namespace gpusort::bench {
template void SortBench<std::int32_t, std::int32_t>(Gpu&, Report&);
template void SortBench<std::int64_t, std::int64_t>(Gpu&, Report&);
}  // namespace gpusort::bench

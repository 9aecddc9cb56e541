#include "bench/sort.cuh"

namespace gpusort::bench {
template void SortBench<std::int32_t, NoValue>(Gpu&, Report&);
template void SortBench<std::int64_t, NoValue>(Gpu&, Report&);
template void SortBench<Key16, NoValue>(Gpu&, Report&);
}  // namespace gpusort::bench

#include "bench/merge.cuh"

namespace gpusort::bench {
template void MergeBench<std::int32_t, NoValue>(Gpu&, Report&);
template void MergeBench<std::int64_t, NoValue>(Gpu&, Report&);
template void MergeBench<Key16, NoValue>(Gpu&, Report&);
}  // namespace gpusort::bench

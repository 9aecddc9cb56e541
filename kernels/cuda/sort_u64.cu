// Sorts and merges 64-bit numbers.
#include "kernels/cuda/define_key_sorts.cuh"

template struct gpusort::detail::KeySorts<std::uint64_t, gpusort::Less>;

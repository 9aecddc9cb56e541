// Sorts and merges 32-bit numbers.
#include "kernels/cuda/define_key_sorts.cuh"

template struct gpusort::detail::KeySorts<std::uint32_t, gpusort::Less>;

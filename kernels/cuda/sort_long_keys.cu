// Sorts and merges entries of records whose keys are longer than an entry holds.
#include "kernels/cuda/define_key_sorts.cuh"
#include "kernels/records/key.hpp"

template struct gpusort::detail::KeySorts<gpusort::Entry, gpusort::PrefixEntryLess>;

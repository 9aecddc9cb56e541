// Sorts and merges entries that contain whole keys: the keys of lines, and keys of records of up to 12 bytes.
#include "kernels/cuda/define_key_sorts.cuh"
#include "kernels/records/key.hpp"

template struct gpusort::detail::KeySorts<gpusort::Entry, gpusort::ExactEntryLess>;

// Sorts and merges entries that hold whole keys: of lines, and of records with keys of up to 12 bytes.
#include "kernels/cuda/define_key_sorts.cuh"
#include "kernels/records/key.hpp"

template struct gpusort::detail::KeySorts<gpusort::Entry, gpusort::ExactEntryLess>;

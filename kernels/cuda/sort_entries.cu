// Sorts and merges entries that hold whole keys: of lines, and of records with keys of up to 12 bytes.
#include "cuda/define_key_sorts.cuh"
#include "records/key.hpp"

template struct gpusort::detail::KeySorts<gpusort::Entry, gpusort::ExactEntryLess>;

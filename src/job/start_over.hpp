// Begins the next attempt at a sort after one that has failed. Start at StartOver.
#pragma once

#include "job/sort_context.hpp"
#include "kernels/error.hpp"

namespace gpusort {

/// Begins another attempt after `error`, as Recover() decides. Call this in the handler of `error`. Throws `error`
/// again if no attempt would help. Runs that are not on a device stay, and the rest of the input is sorted again. The
/// reader of a stream continues. If a keyed run was lost, the whole input is read again, because the run does not know
/// its place in the input. After a wrong result no run stays, because it is not known which run is wrong.
void StartOver(SortContext& context, const Error& error);

}  // namespace gpusort

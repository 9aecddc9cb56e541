// The attempt after one that failed. Start at StartOver.
#pragma once

#include "job/sort_context.hpp"
#include "kernels/error.hpp"

namespace gpusort {

/// Begins another attempt after `error`, as Recover says. Call this in the handler of `error`, which is thrown again if
/// no other attempt would help.
///
/// Runs that are not on the device stay, and the rest of the input is sorted again. The reader of a stream continues.
/// If a keyed run was lost, the whole input is read again, because the run does not know its place in it. After a wrong
/// result no run stays, because nobody knows which run is wrong.
void StartOver(SortContext& context, const Error& error);

}  // namespace gpusort

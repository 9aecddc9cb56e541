// Lines that the main path does not know how to order or show: in the order of a locale (--locale), or annotated
// (--debug). Inputs, output, exit codes and the proof of content are the main path's; in between works the line sorter,
// on the CPU. Start at SortByLineSorter.
#pragma once

#include <string>

#include "options.hpp"
#include "stats.hpp"
#include "stream.hpp"

namespace gpusort {

/// Makes the environment's locale this process's, as far as it is about order. Error(kUsage) if it does not exist.
void UseLocale();

/// True if the functions below are for these options. After UseLocale, if the options ask for it.
bool NeedsLineSorter(const Options& options);

/// As ExternalSort. Proves that the output's lines are those of the input (with -u and --top: their number); that they
/// are in order only with --verify-output.
SortResult SortByLineSorter(const Options& options, CancelFlag& cancel);

/// As ExplainSort.
std::string ExplainLineSorter(const Options& options, CancelFlag& cancel);

/// As CheckSorted.
void CheckByLineSorter(const Options& options, CancelFlag& cancel);

}  // namespace gpusort

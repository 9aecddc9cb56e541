// What gpusort says of itself: the short help, all options, ten tasks, and the manual page, which the build writes into
// gpusort.1. Options are told from their table (option_table.hpp), the rest stands in help.cpp. Pure functions.
#pragma once

#include <string>

#include "support/options.hpp"

namespace gpusort {

/// What --help prints, with a newline at its end. kManual is roff for man(7)'s macros; all others fit 80 columns, but
/// for the commands of kExamples, which stand as they are typed, behind six blanks.
std::string HelpText(HelpTopic topic);

}  // namespace gpusort

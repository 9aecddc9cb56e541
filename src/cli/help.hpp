// The texts of `gpusort --help`: the short help, all options, the keys, the examples and the manual page. The options
// come from their table (option_table.hpp). The longer texts come from gpusort.1.in, gpusort-keys.7.in and examples.txt,
// which the build embeds. Pure functions.
#pragma once

#include <string>

#include "spec/job_spec.hpp"

namespace gpusort {

/// Returns the text of a topic of --help, with a newline at its end. kManual is roff with the macros of man(7), and kJson
/// is a JSON array. All other topics fit 80 columns, except the commands of kExamples, which are indented by six blanks
/// and never wrapped.
std::string HelpText(HelpTopic topic);

}  // namespace gpusort

// Makes the texts of `gpusort --help`: the short help, all options, the keys, the examples and the manual page. The
// sources are option_table.hpp, and gpusort.1.in, gpusort-keys.7.in and examples.txt, which the build embeds.
#pragma once

#include <string>

#include "spec/job_spec.hpp"

namespace gpusort {

/// Returns the text of a topic of --help, with a newline at the end. kManual is roff with the macros of man(7), and
/// kJson is a JSON array. All other topics are wrapped to 80 columns, except commands in kExamples.
std::string HelpText(HelpTopic topic);

}  // namespace gpusort

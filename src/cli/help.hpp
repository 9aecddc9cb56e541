// Makes the texts of `gpusort --help`: the short help, all options, the keys, the examples and the manual page. It
// makes them from the table in option_table.hpp, and from gpusort.1.in, gpusort-keys.7.in and examples.txt, which the
// build puts into the program.
#pragma once

#include <string>

#include "spec/job_spec.hpp"

namespace gpusort {

/// Returns the text that --help prints for `topic`, with a newline at the end. The text for kManual is roff with the
/// macros of man(7), and the text for kJson is a JSON array. All other texts are wrapped to 80 columns, except for the
/// commands in kExamples.
std::string HelpText(HelpTopic topic);

}  // namespace gpusort

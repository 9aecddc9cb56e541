// Makes the texts of `gpusort --help`: the short help, all options, the keys, the examples and the manual page. It
// makes them from the tables in option_table.hpp and formats/registry.hpp, and from gpusort.1.in, gpusort-keys.7.in and
// examples.txt, which the build puts into the program. The texts of gpusort_task are made from gpusort_task.txt.
#pragma once

#include <string>

#include "spec/job_spec.hpp"

namespace gpusort {

/// Returns the text that --help prints for `topic`, with a newline at the end. The text for kManual is roff with the
/// macros of man(7), and the text for kJson is a JSON array. All other texts are wrapped to 80 columns, except for the
/// commands in kExamples.
std::string HelpText(HelpTopic topic);
/// Returns the text that gpusort_task prints for --help.
std::string TaskHelp();
/// Returns the manual page of gpusort_task as roff.
std::string TaskManual();

}  // namespace gpusort

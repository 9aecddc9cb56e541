// Decides what the records are and how they are ordered, from options that depend on each other and on the inputs'
// names. Each function completes typed.spec and throws Error(kUsage). Start at ResolveRecords.
#pragma once

#include <string>

#include "cli/typed.hpp"

namespace gpusort {

/// Sets the format of the records, their layout, the keys and the note about them.
void ResolveRecords(Typed& typed);

/// Returns the format that the options name, or else the keys or the inputs' names. Sets Source::lines_because.
Format ResolveFormat(Typed& typed);
/// Each sets the layout and the keys of one format.
void ResolveLines(Typed& typed);
void ResolveTable(Typed& typed);
void ResolveFixed(Typed& typed);

/// Whether the text is a key as of sort, which begins with the number of a field.
bool IsFieldKey(const std::string& text);
/// Whether the text is a key of columns and cannot be a key of lines: "id:int", "#3", "user.id".
bool IsColumnKey(const std::string& text);

}  // namespace gpusort

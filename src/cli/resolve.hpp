// Chooses the format and the order of the records from options that depend on each other, and from the inputs' names.
// The functions with a parameter `typed` fill in typed.spec, and throw Error(kUsage) if options contradict each other.
#pragma once

#include <string>

#include "cli/typed.hpp"

namespace gpusort {

/// Sets the format, the layout and the keys of the records. Start here.
void ResolveRecords(Typed& typed);

/// Finds the format from the options, or else the keys, or else the names of inputs. Sets Source::lines_because.
Format ResolveFormat(Typed& typed);
/// Each of these functions sets the layout and the keys of the records of one format.
void ResolveLines(Typed& typed);
void ResolveTypedLines(Typed& typed);
void ResolveTable(Typed& typed);
void ResolveFixed(Typed& typed);

/// Returns true if `text`, a value of -k, begins with the number of a field, as the keys of sort do.
bool IsFieldKey(const std::string& text);
/// Returns true if one of the keys is a key of text, so that lines have typed keys.
bool HasTextKey(const Typed& typed);
/// Returns true if `text` is a key of columns and cannot be a key of lines: "id:int", "#3", "user.id".
bool IsColumnKey(const std::string& text);

}  // namespace gpusort

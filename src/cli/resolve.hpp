// Chooses the format and the order of the records. This depends on several options together, and on the names of the
// inputs. The functions with a parameter `typed` fill in typed.spec, and throw Error(kUsage) if options contradict each
// other.
#pragma once

#include <string>

#include "cli/typed.hpp"

namespace gpusort {

/// Sets the format, the layout and the keys of the records. Start here.
void ResolveRecords(Typed& typed);

/// Finds the format of the records: from the options, otherwise from the keys, otherwise from the names of the inputs.
/// Sets Source::lines_because.
Format ResolveFormat(Typed& typed);
/// Each of these functions sets the layout and the keys of the records for one format.
void ResolveLines(Typed& typed);
void ResolveTypedLines(Typed& typed);
void ResolveTable(Typed& typed);
void ResolveFixed(Typed& typed);

/// Returns true if the key `text` begins with the number of a field, as the keys of GNU sort do.
bool IsFieldKey(const std::string& text);
/// Returns true if one of the keys is a regular expression or typed fields, so that lines have typed keys.
bool HasTextKey(const Typed& typed);
/// Returns true if the key `text` names a column and cannot be a key of lines: "id:int", "#3", "user.id".
bool IsColumnKey(const std::string& text);

}  // namespace gpusort

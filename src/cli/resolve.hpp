// Chooses the format and the order of the records from the options and the names of the inputs. Start at
// ResolveRecords. Functions with a parameter `typed` throw Error(kUsage) if options contradict each other.
#pragma once

#include <string>

#include "cli/typed.hpp"

namespace gpusort {

/// Sets the format, the layout and the sort keys of the records in typed.spec.
void ResolveRecords(Typed& typed);

/// Returns the format of the records. Options decide first, then keys, then the names of the inputs. If an option or a
/// key shows that the records are lines, stores its text, such as "-k2", in Source::lines_because.
Format ResolveFormat(Typed& typed);
/// Each of the next eight functions sets the layout and the sort keys of the records for one format.
void ResolveLines(Typed& typed);
void ResolveTypedLines(Typed& typed);
void ResolveTable(Typed& typed);
void ResolveFixed(Typed& typed);
void ResolveShuffledLines(Typed& typed);
void ResolveShuffledRecords(Typed& typed);
void ResolvePlacedLines(Typed& typed);
void ResolvePlacedRecords(Typed& typed);

/// Parses a key of lines, also one in the old form.
KeyDef ParseLineKey(const std::string& text);

/// Returns true if the sort key `text` begins with the number of a field, as the keys of GNU sort do: "2,2n".
bool IsFieldKey(const std::string& text);
/// Returns true if one of the keys is a regular expression, or a field with a type such as 3:int.
bool HasTextKey(const Typed& typed);
/// Returns true if the sort key `text` can only name a column and cannot be a key of lines: "id:int", "#3", "user.id".
bool IsColumnKey(const std::string& text);

}  // namespace gpusort

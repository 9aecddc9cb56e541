// Finds the compression, the format and the type of binary numbers (such as i32) of an input from the extension of its
// name. Opens a file only to find out if it is a file of columns, which often has no extension. Start at TypeOfName.
#pragma once

#include <optional>
#include <string>

#include "formats/registry.hpp"
#include "kernels/records/record.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

inline constexpr const char* kTypeHelp =
    "give --type (i8 i16 i32 i64 u8 u16 u32 u64 f32 f64) or --record-size N; the extensions .bin (i32) and .i8 to "
    ".f64 name a type by themselves";

/// Throws Error(kUsage) if `path` seems to be a compressed file, but gpusort does not know the extension, for example
/// .GZ or .tgz. The message tells the user to name the compression with the option `option`.
void RefuseCodecInDoubt(const std::string& path, const std::string& option);

/// A type of binary numbers, such as i32, and the file name extension that names the type.
struct NamedType {
  KeyField field;
  std::string extension;
};
/// Returns the type of binary numbers that the extension of `path` names, such as .f64. Returns std::nullopt if the
/// extension names no type.
std::optional<NamedType> TypeOfName(const std::string& path);
/// Returns the type of binary numbers that the extensions of all inputs name. Throws Error(kUsage) if they do not all
/// name the same type.
NamedType TypeOfInputs(const Source& source);
/// Throws Error(kUsage) if the extension of `input` is the name of a number type with capital letters, such as .I32
/// instead of .i32.
void RefuseTypeInDoubt(const std::string& input, const Source& source);

/// Returns the format with columns of an input: that of its extension, or a format of files of columns if the name
/// tells nothing and the content is such a file. Returns null if there is none. This function and the next two throw
/// Error(kUsage) if a file without such a name cannot be opened, and Error(kIo) if the file cannot be read.
const FormatRow* TableOfInput(const std::string& input, const Source& source);
/// Returns the format with columns, such as CSV, that the extensions of all inputs mean. A file whose name tells
/// nothing may be a file of columns by its content. Returns null if an input has no such format, or if the formats
/// differ.
const FormatRow* TableOfInputs(const Source& source);
/// Returns the same, and null only if no input has such a format. Throws Error(kUsage) if the formats differ, as with
/// a.csv and b.txt.
const FormatRow* OneTableOfInputs(const Source& source);
/// Sets the format of the inputs to `row`, with the defaults of this format.
void SetTable(const FormatRow& row, Source& source);

}  // namespace gpusort

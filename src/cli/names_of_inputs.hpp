// Reads the codec, the type of numbers and the format with columns from the name of a file. Parsing
// touches no file. All functions that begin with Refuse throw Error(kUsage).
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

/// Refuses a name with an extension that looks like a codec and is not one: .GZ, .tgz. `option`: the option that
/// decides instead of the name.
void RefuseCodecInDoubt(const std::string& path, const std::string& option);

/// A number type, and the extension that names it.
struct NamedType {
  KeyField field;
  std::string extension;
};
/// Returns std::nullopt if the extension of `path` names no type.
std::optional<NamedType> TypeOfName(const std::string& path);
/// Returns the type that the names of all inputs say. Throws Error(kUsage) if a name says none, or if they differ.
NamedType TypeOfInputs(const Source& source);
/// Refuses an input of lines whose extension names a type in upper case.
void RefuseTypeInDoubt(const std::string& input, const Source& source);

/// Returns the format with columns that the names of all inputs say, or null.
const FormatRow* TableOfInputs(const Source& source);
/// Refuses inputs whose names say different formats, if one of the formats has columns.
void RefuseMixedFormats(const Source& source);
/// Makes `row` the format of the records, with its defaults.
void SetTable(const FormatRow& row, Source& source);

}  // namespace gpusort

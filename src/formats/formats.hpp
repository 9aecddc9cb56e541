// Functions that make the formats of records with columns, for the table in formats/registry.hpp. Each format has a
// source file with its class.
#pragma once

#include <memory>
#include <string>

#include "formats/table_format.hpp"

namespace gpusort {

/// Each of the following functions returns a new format. It throws Error(kUsage) if the format does not support a key,
/// or if a key is invalid.
std::unique_ptr<TableFormat> MakeCsvFormat(const JobSpec& spec);
std::unique_ptr<TableFormat> MakeFieldsFormat(const JobSpec& spec);
std::unique_ptr<TableFormat> MakeFixedFormat(const JobSpec& spec);
std::unique_ptr<TableFormat> MakeJsonFormat(const JobSpec& spec);
std::unique_ptr<TableFormat> MakeParagraphsFormat(const JobSpec& spec);
std::unique_ptr<TableFormat> MakeRowsFormat(const JobSpec& spec);
std::unique_ptr<TableFormat> MakePgCopyBinaryFormat(const JobSpec& spec);

/// Each of the next functions returns advice to append to the error "no record has a value for this key".
/// - The first argument is the key as the user typed it, without its type.
/// - `record` is an example of a record.
std::string LineHint(const std::string& key, const std::string& record);
std::string PathHint(const std::string& path, const std::string& record);
std::string FieldHint(const std::string& name, const std::string& record);

}  // namespace gpusort

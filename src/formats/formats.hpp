// The formats of records with columns, for formats/registry.hpp. The source file of a format has its class.
#pragma once

#include <memory>
#include <string>

#include "formats/table_format.hpp"

namespace gpusort {

/// Each of these functions throws Error(kUsage) if the format does not support a key, or if the key is invalid.
std::unique_ptr<TableFormat> MakeCsvFormat(const JobSpec& spec);
std::unique_ptr<TableFormat> MakeFieldsFormat(const JobSpec& spec);
std::unique_ptr<TableFormat> MakeJsonFormat(const JobSpec& spec);
std::unique_ptr<TableFormat> MakeParagraphsFormat(const JobSpec& spec);
std::unique_ptr<TableFormat> MakePgCopyBinaryFormat(const JobSpec& spec);

/// Each of these functions returns advice that is appended to the error "no record has a value for this key". The
/// first argument is the key as the user typed it, without its type, and `record` is an example of a record. PathHint
/// and FieldHint list the paths or names of fields in the record. Those that are most similar to the key come first.
std::string LineHint(const std::string& key, const std::string& record);
std::string PathHint(const std::string& path, const std::string& record);
std::string FieldHint(const std::string& name, const std::string& record);

}  // namespace gpusort

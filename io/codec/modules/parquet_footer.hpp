// The end of a Parquet file: its page indexes and its footer. Start at DescribeGroup and WriteEnd.
#pragma once

#include <parquet/metadata.h>
#include <parquet/page_index.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/codec/modules/parquet_group.hpp"

namespace gpusort {

/// Returns the description of a row group whose pages are in the file. `metadata` and `indexes` must belong to a file
/// that has only this row group, and must be finished except for the places of the page indexes.
WrittenGroup DescribeGroup(parquet::FileMetaDataBuilder& metadata, parquet::PageIndexBuilder& indexes);

/// Writes the page indexes of all row groups and the footer. Empties `groups`.
void WriteEnd(const GroupsFile& file, std::span<WrittenGroup> groups);

}  // namespace gpusort

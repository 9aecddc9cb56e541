// Encodes a row group of Parquet in memory. Several threads may encode columns of several row groups, which
// ParquetFileWriter of the libraries does not allow. Start at GroupWriter.
#pragma once

#include <parquet/bloom_filter_writer.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/properties.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/codec/modules/parquet_rows.hpp"

namespace gpusort {

/// The parts of a file that its row groups share.
struct GroupsFile {
  std::shared_ptr<arrow::io::OutputStream> out;
  parquet::SchemaDescriptor schema;
  std::shared_ptr<parquet::WriterProperties> properties;
  std::shared_ptr<const arrow::KeyValueMetadata> key_values;
};

/// The metadata of a row group whose pages are in the file.
struct WrittenGroup {
  std::unique_ptr<parquet::FileMetaDataBuilder> metadata;  ///< of a file that has only this row group
  std::unique_ptr<parquet::PageIndexBuilder> page_index;
};

/// Encodes one row group.
class GroupWriter {
 public:
  /// Makes the writer of the row group with the index `number`. `file` must outlive the object.
  GroupWriter(const GroupsFile& file, std::size_t number);
  ~GroupWriter();
  /// Appends values to a column. Different threads may call Encode() and Finish() for different columns at the same
  /// time.
  void Encode(std::size_t column, const ColumnPart& part);
  /// Ends a column. Call this once for each column, after its last Encode().
  void Finish(std::size_t column);
  /// Returns the memory that the encoded values of a column take.
  std::uint64_t bytes(std::size_t column) const;
  /// Returns the memory that the Bloom filters take.
  std::uint64_t filter_bytes() const { return filter_bytes_; }
  /// Writes the row group and its Bloom filters to the file. Call this once, when all columns are finished.
  WrittenGroup Write();

 private:
  struct Column;

  const GroupsFile& file_;
  const std::size_t number_;
  WrittenGroup group_;
  parquet::RowGroupMetaDataBuilder* const metadata_;  ///< owned by `group_`
  const std::unique_ptr<parquet::BloomFilterBuilder> filters_;
  std::uint64_t filter_bytes_ = 0;
  std::vector<std::unique_ptr<Column>> columns_;
};

/// Writes the page indexes of all row groups and the footer.
void WriteEnd(const GroupsFile& file, std::span<WrittenGroup> groups);

}  // namespace gpusort

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
#include <string>
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

/// The description of a row group whose pages are in the file. See DescribeGroup().
struct WrittenGroup {
  std::int64_t rows = 0;
  std::string row_group;  ///< its part of the footer, without the places of the page indexes
  std::string indexes;    ///< the page indexes: those with statistics of all columns, then those with offsets
  /// The sizes of the page indexes of each column; 0: the column has none.
  std::vector<std::uint32_t> column_indexes, offset_indexes;
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
  const std::unique_ptr<parquet::FileMetaDataBuilder> file_metadata_;  ///< of a file that has only this row group
  const std::unique_ptr<parquet::PageIndexBuilder> page_index_;
  parquet::RowGroupMetaDataBuilder* const metadata_;  ///< owned by `file_metadata_`
  const std::unique_ptr<parquet::BloomFilterBuilder> filters_;
  std::uint64_t filter_bytes_ = 0;
  std::vector<std::unique_ptr<Column>> columns_;
};

}  // namespace gpusort

// The parts of the module for files and streams of Arrow IPC. Arrow arrays and rows are converted into each other
// through row groups of Parquet in memory, because the levels of Parquet are those of the rows. Start at
// MakeArrowDecoder and MakeArrowEncoder.
#pragma once

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "io/codec/codec_module.hpp"
#include "io/codec/row_module.hpp"
#include "io/codec/row_schema.hpp"

namespace gpusort {

/// Each of these functions does what the member of RowModule does. The decoder reads files and streams.
std::unique_ptr<RowDecoder> MakeArrowDecoder(RowFile file, const RowDecoderOptions& options);
std::unique_ptr<RowEncoder> MakeArrowFileEncoder(const RowEncoderOptions& options,
                                                 std::function<void(std::span<const std::byte>)> sink);
std::unique_ptr<RowEncoder> MakeArrowStreamEncoder(const RowEncoderOptions& options,
                                                   std::function<void(std::span<const std::byte>)> sink);
std::string WhyNoArrowCodec(const std::string& compression);

/// The facts about its input that an encoder needs. It is RowSchema::file.
struct ArrowHeader {
  arrow::Compression::type codec = arrow::Compression::UNCOMPRESSED;  ///< of the buffers of record batches
  std::shared_ptr<arrow::Schema> schema;
  std::shared_ptr<const arrow::KeyValueMetadata> footer;  ///< the metadata at the end of a file; may be null

  static arrow::Result<ArrowHeader> Parse(const std::string& text);
  arrow::Result<std::string> ToText() const;
};

/// Converts record batches into tables that Parquet gives back exactly, and such tables into record batches. A table
/// has the same buffers, but simpler types. An example is int64 instead of timestamp[s]. Dictionaries become plain
/// values.
class ArrowTables {
 public:
  /// Throws Refusal if Parquet cannot hold a column. `pool` must outlive the object and the tables.
  ArrowTables(const std::shared_ptr<arrow::Schema>& schema, arrow::MemoryPool* pool);

  /// The schema of the output: the schema without dictionaries.
  const std::shared_ptr<arrow::Schema>& output() const { return output_; }
  /// A Parquet file with the schema of the tables and without rows.
  const std::shared_ptr<arrow::Buffer>& empty_file() const { return empty_file_; }
  const parquet::FileMetaData& parquet() const { return *parquet_; }
  const std::shared_ptr<parquet::WriterProperties>& properties() const { return properties_; }

  /// Returns a Parquet file with the rows of record batches. The caller must have checked the values, because a
  /// damaged file may have offsets that point anywhere.
  arrow::Result<std::shared_ptr<arrow::Buffer>> ToParquet(const arrow::RecordBatchVector& batches) const;
  /// Returns the rows of a Parquet file as a record batch with the schema of the output.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> FromParquet(std::shared_ptr<arrow::Buffer> file) const;

 private:
  arrow::Status Open(const std::shared_ptr<arrow::Schema>& schema);
  arrow::Result<std::shared_ptr<arrow::Buffer>> Write(const std::shared_ptr<arrow::Schema>& schema,
                                                      const arrow::Table* table) const;
  arrow::Result<std::shared_ptr<arrow::Table>> Read(std::shared_ptr<arrow::Buffer> file) const;

  arrow::MemoryPool* const pool_;
  std::shared_ptr<parquet::WriterProperties> properties_;
  std::shared_ptr<arrow::Schema> output_, tables_;
  std::shared_ptr<arrow::Buffer> empty_file_;
  std::shared_ptr<parquet::FileMetaData> parquet_;
};

/// Returns the value of a Result. Throws Refusal if it is an error.
template <typename Value>
Value TakeArrow(arrow::Result<Value> result) {
  if (result.ok()) return std::move(result).ValueUnsafe();
  if (result.status().IsOutOfMemory()) throw std::bad_alloc();
  throw Refusal{result.status().message()};
}

}  // namespace gpusort

#include "io/codec/modules/parquet_group.hpp"

#include <arrow/io/interfaces.h>
#include <arrow/util/compression.h>
#include <parquet/bloom_filter.h>
#include <parquet/column_writer.h>
#include <parquet/file_writer.h>

#include <limits>
#include <utility>

#include "io/codec/modules/parquet_footer.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// The encoded pages of a column, in memory.
struct HeldPages {
  std::unique_ptr<parquet::PageWriter> writer;  ///< writes to the file when it is closed
  bool has_dictionary = false, fallback = false;

  void WriteToFile() {
    writer->Close(has_dictionary, fallback);
    writer.reset();
  }
};

/// Passes pages on to HeldPages. A ColumnWriter closes its PageWriter too early: the offset of the pages in the file is
/// known only when the row groups before are written.
class PageHolder : public parquet::PageWriter {
 public:
  explicit PageHolder(HeldPages& held) : held_(held) {}

  void Close(bool has_dictionary, bool fallback) override {
    held_.has_dictionary = has_dictionary;
    held_.fallback = fallback;
  }
  std::int64_t WriteDataPage(const parquet::DataPage& page) override { return held_.writer->WriteDataPage(page); }
  std::int64_t WriteDictionaryPage(const parquet::DictionaryPage& page) override {
    return held_.writer->WriteDictionaryPage(page);
  }
  std::int64_t total_compressed_bytes_written() const override {
    return held_.writer->total_compressed_bytes_written();
  }
  bool has_compressor() override { return held_.writer->has_compressor(); }
  void Compress(const arrow::Buffer& from, arrow::ResizableBuffer* to) override { held_.writer->Compress(from, to); }

 private:
  HeldPages& held_;
};

}  // namespace

struct GroupWriter::Column {
  parquet::ColumnChunkMetaDataBuilder* metadata = nullptr;
  parquet::ColumnIndexBuilder* statistics_index = nullptr;
  parquet::OffsetIndexBuilder* offset_index = nullptr;
  parquet::BloomFilter* filter = nullptr;  ///< null: the column has none
  HeldPages pages;
  std::shared_ptr<parquet::ColumnWriter> writer;  ///< only from the first Encode() to Finish()
  std::int64_t rows = 0, plain_bytes = 0;         ///< set by Finish()
};

GroupWriter::GroupWriter(const GroupsFile& file, std::size_t number)
    : file_(file),
      number_(number),
      file_metadata_(parquet::FileMetaDataBuilder::Make(&file.schema, file.properties)),
      page_index_(parquet::PageIndexBuilder::Make(&file.schema)),
      metadata_(file_metadata_->AppendRowGroup()),
      filters_(parquet::BloomFilterBuilder::Make(&file.schema, file.properties.get())) {
  page_index_->AppendRowGroup();
  filters_->AppendRowGroup();
  for (int i = 0; i < file.schema.num_columns(); ++i) {
    Column& column = *columns_.emplace_back(std::make_unique<Column>());
    column.metadata = metadata_->NextColumnChunk();
    if (file.properties->statistics_enabled(file.schema.Column(i)->path())) {
      column.statistics_index = page_index_->GetColumnIndexBuilder(i);
    }
    column.offset_index = page_index_->GetOffsetIndexBuilder(i);
    if (!file.properties->column_properties(file.schema.Column(i)->path()).bloom_filter_enabled()) continue;
    column.filter = filters_->CreateBloomFilter(i);
    filter_bytes_ += column.filter->GetBitsetSize();
  }
}

GroupWriter::~GroupWriter() = default;

void GroupWriter::Encode(std::size_t index, const ColumnPart& part) {
  Column& column = *columns_[index];
  if (!column.writer) {
    const parquet::WriterProperties& properties = *file_.properties;
    const std::shared_ptr<parquet::schema::ColumnPath> path = file_.schema.Column(static_cast<int>(index))->path();
    const auto options = properties.codec_options(path);
    column.pages.writer = parquet::PageWriter::Open(
        file_.out, properties.compression(path), column.metadata, -1, -1, properties.memory_pool(), true, nullptr,
        nullptr, properties.page_checksum_enabled(), column.statistics_index, column.offset_index,
        options ? *options : arrow::util::CodecOptions());
    column.writer = parquet::ColumnWriter::Make(column.metadata, std::make_unique<PageHolder>(column.pages),
                                                &properties, column.filter);
  }
  part.Write(*column.writer);
}

void GroupWriter::Finish(std::size_t index) {
  Column& column = *columns_[index];
  column.plain_bytes = column.writer->Close();
  column.rows = column.writer->rows_written();
  column.writer.reset();
}

std::uint64_t GroupWriter::bytes(std::size_t index) const {
  const Column& column = *columns_[index];
  if (!column.pages.writer) return 0;
  std::int64_t bytes = column.pages.writer->total_compressed_bytes_written();
  if (const auto& writer = column.writer) {
    bytes += writer->total_compressed_bytes() + writer->estimated_buffered_value_bytes() +
             writer->estimated_buffered_def_level_bytes() + writer->estimated_buffered_rep_level_bytes() +
             writer->estimated_buffered_dict_bytes();
  }
  return static_cast<std::uint64_t>(bytes);
}

WrittenGroup GroupWriter::Write() {
  // Readers count the row groups in 16 bits. The row groups after these have no number in the file.
  constexpr std::size_t kMostNumber = std::numeric_limits<std::int16_t>::max();
  std::int64_t plain_bytes = 0;
  for (const auto& column : columns_) {
    if (column->rows != columns_.front()->rows) {
      throw Error(ErrorCode::kInternal, "the columns of a row group have different numbers of rows");
    }
    column->pages.WriteToFile();
    plain_bytes += column->plain_bytes;
  }
  metadata_->set_num_rows(columns_.front()->rows);
  metadata_->Finish(plain_bytes, number_ <= kMostNumber ? static_cast<std::int16_t>(number_) : std::int16_t{-1});
  file_metadata_->SetIndexLocations(parquet::IndexKind::kBloomFilter, filters_->WriteTo(file_.out.get()));
  page_index_->Finish();
  return DescribeGroup(*file_metadata_, *page_index_);
}

}  // namespace gpusort

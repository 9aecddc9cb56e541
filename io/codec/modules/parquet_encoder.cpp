// Encodes rows to a Parquet file: parses the header of the rows, and divides the rows into row groups and these into
// chunks. GroupQueue encodes the chunks.
#include <arrow/util/compression.h>
#include <parquet/exception.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "io/codec/modules/parquet.hpp"
#include "io/codec/modules/parquet_files.hpp"
#include "io/codec/modules/parquet_memory.hpp"
#include "io/codec/modules/parquet_queue.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kMostSize = std::numeric_limits<std::int64_t>::max();

/// A codec that the user names: "zstd", "zstd:3", "snappy".
struct NamedCodec {
  parquet::Compression::type codec;
  std::optional<int> level;
};

struct CodecName {
  const char* name;
  parquet::Compression::type codec;
  int least, most;  ///< the levels; no level is possible if both are 0
};
constexpr CodecName kCodecNames[] = {
    {"none", parquet::Compression::UNCOMPRESSED, 0, 0}, {"snappy", parquet::Compression::SNAPPY, 0, 0},
    {"zst", parquet::Compression::ZSTD, 1, 22},         {"zstd", parquet::Compression::ZSTD, 1, 22},
    {"lz4", parquet::Compression::LZ4, 0, 0},           {"gz", parquet::Compression::GZIP, 1, 9},
    {"gzip", parquet::Compression::GZIP, 1, 9},         {"brotli", parquet::Compression::BROTLI, 1, 11},
};

/// Returns the codec with the name `text`. Throws Refusal if there is none.
NamedCodec ParseNamedCodec(const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  const auto* const found = std::ranges::find_if(kCodecNames, [&](const CodecName& one) { return name == one.name; });
  if (found == std::end(kCodecNames)) {
    throw Refusal{"Parquet is compressed by none, snappy, zstd, lz4, gz or brotli"};
  }
  if (name.size() == text.size()) return {found->codec, std::nullopt};
  if (found->most == 0) throw Refusal{name + " has no levels"};
  int level = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + name.size() + 1, end, level);
  if (error != std::errc() || stop != end || level < found->least || level > found->most) {
    throw Refusal{"the levels of " + name + " are " + std::to_string(found->least) + " to " +
                  std::to_string(found->most)};
  }
  return {found->codec, level};
}

/// Returns true for encodings that a column keeps if it has no dictionary.
bool IsKept(parquet::Encoding::type encoding) {
  return encoding == parquet::Encoding::DELTA_BINARY_PACKED || encoding == parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY ||
         encoding == parquet::Encoding::DELTA_BYTE_ARRAY || encoding == parquet::Encoding::BYTE_STREAM_SPLIT;
}

/// Returns how many bytes the columns of a row group take on average for each row, as `codec` writes them.
double RowBytesIn(const parquet::RowGroupMetaData& group, const std::optional<NamedCodec>& codec) {
  const bool plain = codec && codec->codec == parquet::Compression::UNCOMPRESSED;
  std::int64_t bytes = 0;
  for (int i = 0; i < group.num_columns(); ++i) {
    const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = group.ColumnChunk(i);
    bytes += std::max<std::int64_t>(0, plain ? chunk->total_uncompressed_size() : chunk->total_compressed_size());
  }
  return static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(1, group.num_rows()));
}

class ParquetEncoder : public RowEncoder {
 public:
  ParquetEncoder(const RowEncoderOptions& options, std::function<void(std::span<const std::byte>)> sink)
      : options_(options), pool_(RowEncoderBudget(options) / 2), out_(std::make_shared<SinkFile>(std::move(sink))) {
    if (!options.compression.empty()) codec_ = ParseNamedCodec(options.compression);
  }

  void Write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      if (queue_ && held_.empty()) {
        bytes = bytes.subspan(AddRows({bytes, {}}, false));
        held_.assign(bytes.begin(), bytes.end());
        return;
      }
      // `held_` has a part of the header or of a row. It gets as many bytes as are needed to tell its size, or its end.
      const std::size_t size = queue_ ? RowSizes::Of(held_).here : 0;
      const std::size_t wanted = !queue_ ? bytes.size() : (size > 0 ? size : held_.size() + 1) - held_.size();
      const auto part = bytes.first(std::min(bytes.size(), wanted));
      held_.insert(held_.end(), part.begin(), part.end());
      bytes = bytes.subspan(part.size());
      if (!queue_) {
        Open();
      } else if (held_.size() == RowSizes::Of(held_).here) {
        AddRows({held_, {}}, false);
        held_.clear();
      }
    }
  }

  void Lend(const MarkedRows& rows) override {
    if (!queue_ || !held_.empty()) return Write(rows.bytes);
    const auto rest = rows.bytes.subspan(AddRows(rows, true));
    held_.assign(rest.begin(), rest.end());
  }

  void Return() noexcept override {
    if (queue_) queue_->Return();
  }

  void Finish() override {
    if (!queue_ || !held_.empty()) throw Error(ErrorCode::kInternal, "the rows of the output end inside a row");
    RunForOutput("Parquet", *out_, [&] {
      if (!chunk_.empty()) queue_->Add(std::move(chunk_), {}, true);
      queue_->Finish();
    });
  }

  void Pause() override {
    if (queue_) queue_->Pause();
  }

 private:
  /// Opens the output if `held_` has the whole header. Writes the rows after it.
  void Open() {
    const std::uint64_t bytes = RowSchema::HeaderBytes(held_);
    if (bytes == 0) return;
    schema_ = RowSchema::Parse(std::span(held_).first(bytes));
    const std::vector<std::byte> rows(held_.begin() + static_cast<std::ptrdiff_t>(bytes), held_.end());
    held_.clear();
    std::uint64_t group_rows = 0;
    if (schema_.file.size() < sizeof(group_rows)) throw Error(ErrorCode::kInternal, "the header of rows is damaged");
    std::memcpy(&group_rows, schema_.file.data(), sizeof(group_rows));
    const auto size = static_cast<std::int64_t>(schema_.file.size() - sizeof(group_rows));
    RunForOutput("Parquet", *out_, [&] {
      const auto metadata = parquet::FileMetaData::Make(schema_.file.data() + sizeof(group_rows), size);
      LimitGroups(*metadata, group_rows);
      GroupsFile file{out_, {}, Properties(*metadata), metadata->key_value_metadata()};
      file.schema.Init(metadata->schema()->schema_root());
      PARQUET_THROW_NOT_OK(out_->Write("PAR1", 4));
      queue_.emplace(schema_, std::move(file), static_cast<const KeptRows*>(options_.store.get()), options_.threads,
                     RowEncoderBudget(options_));
    });
    Write(rows);
  }

  /// Decides where row groups and chunks end. They must not depend on threads and times, so the encoded size of a row
  /// group follows from the input. If it does so badly, the size of the rows limits the memory that it takes.
  void LimitGroups(const parquet::FileMetaData& metadata, std::uint64_t group_rows) {
    constexpr std::uint64_t kLeastChunk = std::uint64_t{32} << 10, kMostChunk = std::uint64_t{1} << 20;
    constexpr double kMostRows = std::uint64_t{1} << 40;
    chunk_bytes_ = std::clamp(options_.group_bytes / 8, kLeastChunk, kMostChunk);
    most_group_bytes_ = RowEncoderOptions::kGroupsInMemory * options_.group_bytes;
    if (options_.group_rows > 0) group_rows = options_.group_rows;
    if (group_rows > 0) most_group_rows_ = group_rows;
    if (metadata.num_row_groups() == 0) return;
    const double bytes = RowBytesIn(*metadata.RowGroup(0), codec_);
    const double rows = std::clamp(static_cast<double>(options_.group_bytes) / std::max(bytes, 1e-9), 1.0, kMostRows);
    most_group_rows_ = std::min(most_group_rows_, static_cast<std::uint64_t>(rows));
  }

  /// Returns for how many values the Bloom filter of a column in a row group is made. `group` is the first row group of
  /// the input.
  std::int64_t FilterValues(const parquet::RowGroupMetaData& group) const {
    std::uint64_t columns = 0;
    for (int i = 0; i < group.num_columns(); ++i) columns += group.ColumnChunk(i)->bloom_filter_offset() ? 1 : 0;
    // A value takes less than two bytes. A filter with more values than planned stays right, but excludes less.
    constexpr std::uint64_t kMostValues = std::uint64_t{1} << 20, kLeastBytes = std::uint64_t{1} << 20;
    const std::uint64_t bytes = std::max(options_.group_bytes / 4, kLeastBytes);
    const std::uint64_t by_memory = std::max<std::uint64_t>(1, bytes / 2 / std::max<std::uint64_t>(1, columns));
    return static_cast<std::int64_t>(std::min({most_group_rows_, by_memory, kMostValues}));
  }

  std::shared_ptr<parquet::WriterProperties> Properties(const parquet::FileMetaData& metadata) {
    parquet::WriterProperties::Builder builder;
    builder.memory_pool(&pool_);
    builder.version(metadata.version());
    builder.enable_write_page_index();
    const bool has_group = metadata.num_row_groups() > 0;
    const std::unique_ptr<parquet::RowGroupMetaData> group = has_group ? metadata.RowGroup(0) : nullptr;
    parquet::BloomFilterOptions filter;
    if (has_group) filter.ndv = FilterValues(*group);
    for (int i = 0; i < metadata.schema()->num_columns(); ++i) {
      const std::shared_ptr<parquet::schema::ColumnPath> path = metadata.schema()->Column(i)->path();
      const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = has_group ? group->ColumnChunk(i) : nullptr;
      parquet::Compression::type codec = chunk ? chunk->compression() : parquet::Compression::SNAPPY;
      if (codec == parquet::Compression::LZ4_HADOOP) codec = parquet::Compression::LZ4;
      builder.compression(path, codec_ ? codec_->codec : codec);
      if (codec_ && codec_->level) builder.compression_level(path, *codec_->level);
      if (!chunk) continue;
      if (!chunk->has_dictionary_page()) {
        builder.disable_dictionary(path);
        const auto& encodings = chunk->encodings();
        if (const auto kept = std::ranges::find_if(encodings, IsKept); kept != encodings.end()) {
          builder.encoding(path, *kept);
        }
      }
      // DuckDB normalises intervals before it looks for them in a filter.
      const bool interval = metadata.schema()->Column(i)->converted_type() == parquet::ConvertedType::INTERVAL;
      if (chunk->bloom_filter_offset() && !interval) builder.enable_bloom_filter(path, filter);
      for (const parquet::PageEncodingStats& pages : chunk->encoding_stats()) {
        if (pages.page_type == parquet::PageType::DATA_PAGE_V2) {
          builder.data_page_version(parquet::ParquetDataPageVersion::V2);
        }
      }
    }
    std::vector<parquet::SortingColumn> sorting;
    for (const SortedColumn& one : schema_.sorted) {
      parquet::SortingColumn& column = sorting.emplace_back();
      column.column_idx = static_cast<std::int32_t>(one.column);
      column.descending = one.descending;
      column.nulls_first = one.nulls_first;
    }
    builder.set_sorting_columns(std::move(sorting));
    return builder.build();
  }

  /// Returns true if the chunk has room for further rows, whose size is `bytes`.
  bool FitChunk(std::uint64_t bytes) const { return chunk_rows_bytes_ + bytes <= chunk_bytes_; }
  /// Returns true if the row group has room for further rows, whose size is `bytes`.
  bool FitGroup(std::uint64_t rows, std::uint64_t bytes) const {
    return group_rows_ + rows <= most_group_rows_ && group_bytes_ + bytes <= most_group_bytes_;
  }
  void CountRows(std::uint64_t rows, std::uint64_t bytes) {
    group_rows_ += rows;
    group_bytes_ += bytes;
    chunk_rows_bytes_ += bytes;
  }
  void CopyToChunk(std::span<const std::byte> rows) { chunk_.insert(chunk_.end(), rows.begin(), rows.end()); }

  /// Adds the whole rows at the front of `rows.bytes` to the row groups. Returns the size of these rows. If `lends` is
  /// true, the queue may read the rows until Return() is called.
  std::size_t AddRows(const MarkedRows& rows, bool lends) {
    std::size_t taken = 0;
    RowMark at;
    for (std::uint64_t count = 0;;) {
      const std::uint64_t marked = count / RowMark::kRows;
      if (count % RowMark::kRows == 0 && marked < rows.marks.size()) {
        const RowMark& next = rows.marks[marked];
        const std::uint64_t bytes = next.row_bytes - at.row_bytes;
        if (FitChunk(bytes) && FitGroup(RowMark::kRows, bytes)) {
          CountRows(RowMark::kRows, bytes);
          count += RowMark::kRows;
          at = next;
          continue;
        }
      }
      const RowSizes sizes = RowSizes::Of(rows.bytes.subspan(at.offset));
      if (sizes.here == 0 || sizes.here > rows.bytes.size() - at.offset) break;
      const bool ends_group = !FitGroup(1, sizes.row);
      if (group_rows_ > 0 && (ends_group || !FitChunk(sizes.row))) {
        EndChunk(rows.bytes.subspan(taken, at.offset - taken), lends, ends_group);
        taken = at.offset;
      }
      CountRows(1, sizes.row);
      at.offset += sizes.here;
      at.row_bytes += sizes.row;
      ++count;
    }
    CopyToChunk(rows.bytes.subspan(taken, at.offset - taken));
    return at.offset;
  }

  /// Appends the last rows to the chunk, passes it on, and begins the next chunk.
  void EndChunk(std::span<const std::byte> rows, bool lends, bool ends_group) {
    const std::size_t room = chunk_.size() + rows.size();  // most chunks have about as many bytes
    if (!lends) CopyToChunk(std::exchange(rows, {}));
    RunForOutput("Parquet", *out_, [&] { queue_->Add(std::move(chunk_), rows, ends_group); });
    chunk_ = queue_->MakeRows();
    chunk_.reserve(room);
    chunk_rows_bytes_ = 0;
    if (ends_group) group_rows_ = group_bytes_ = 0;
  }

  const RowEncoderOptions options_;
  std::optional<NamedCodec> codec_;
  RecyclingPool pool_;
  const std::shared_ptr<SinkFile> out_;
  RowSchema schema_;
  std::vector<std::byte> held_;                           ///< the beginning of the header or of a row
  std::vector<std::byte> chunk_;                          ///< whole rows, or references to rows
  std::uint64_t chunk_rows_bytes_ = 0, chunk_bytes_ = 0;  ///< the size of the rows of the chunk, and its limit
  /// The rows and the size of the rows of the last row group, and their limits.
  std::uint64_t group_rows_ = 0, group_bytes_ = 0, most_group_rows_ = kMostSize, most_group_bytes_ = 0;
  std::optional<GroupQueue> queue_;  ///< no value until the header is complete
};

}  // namespace

std::unique_ptr<RowEncoder> MakeParquetEncoder(const RowEncoderOptions& options,
                                               std::function<void(std::span<const std::byte>)> sink) {
  return std::make_unique<ParquetEncoder>(options, std::move(sink));
}

std::string WhyNoParquetCodec(const std::string& compression) {
  try {
    ParseNamedCodec(compression);
    return {};
  } catch (const Refusal& refusal) {
    return refusal.why;
  }
}

}  // namespace gpusort

// Encodes rows to a Parquet file. The rows of a batch are divided into columns by several threads, and then the columns
// are encoded by several threads.
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/util/compression.h>
#include <parquet/column_writer.h>
#include <parquet/exception.h>
#include <parquet/file_writer.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "io/codec/modules/parquet.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kMostFiltered = std::uint64_t{1} << 20;  ///< values in a Bloom filter
constexpr std::uint64_t kBatchBytesOfThread = std::uint64_t{1} << 20, kLeastBatchBytes = std::uint64_t{32} << 10;

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

/// The output for the libraries. An exception of the sink becomes a Status here, and is thrown again afterwards.
class SinkFile : public arrow::io::OutputStream {
 public:
  explicit SinkFile(std::function<void(std::span<const std::byte>)> sink) : sink_(std::move(sink)) {
    set_mode(arrow::io::FileMode::WRITE);
  }

  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }
  arrow::Result<std::int64_t> Tell() const override { return written_; }
  arrow::Status Write(const void* data, std::int64_t bytes) override {
    if (dropped_ || failure_) return arrow::Status::IOError("the output is given up");
    try {
      if (bytes > 0) sink_({static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)});
    } catch (...) {
      failure_ = std::current_exception();
      return arrow::Status::IOError("the output cannot be written");
    }
    written_ += bytes;
    return arrow::Status::OK();
  }
  using arrow::io::OutputStream::Write;

  /// Refuses all later bytes.
  void Drop() { dropped_ = true; }
  void RethrowFailure() {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const std::function<void(std::span<const std::byte>)> sink_;
  std::int64_t written_ = 0;
  bool dropped_ = false;
  std::exception_ptr failure_;
};

/// The values of one column in some rows of a batch. They point into the batch.
class ColumnRows {
 public:
  virtual ~ColumnRows() = default;
  virtual void Clear() = 0;
  /// Takes the column of the next row. `row` is at the column. `has_bit` is the bit of a column with Levels::kBit.
  virtual void Take(RowReader& row, bool has_bit) = 0;
  virtual void Write(parquet::ColumnWriter& writer) = 0;
};

template <typename ParquetType>
class TypedRows : public ColumnRows {
  using Value = typename ParquetType::c_type;

 public:
  explicit TypedRows(const RowColumn& column) : column_(column) {}

  void Clear() override {
    definitions_.clear();
    repetitions_.clear();
    values_.clear();
    levels_ = 0;
  }
  void Take(RowReader& row, bool has_bit) override {
    switch (column_.levels) {
      case RowColumn::Levels::kNoLevels:
        ++levels_;
        return TakeValue(row);
      case RowColumn::Levels::kBit:
        ++levels_;
        definitions_.push_back(has_bit ? 1 : 0);
        if (has_bit) TakeValue(row);
        return;
      case RowColumn::Levels::kByte: {
        ++levels_;
        const unsigned char level = *row.Take(1);
        definitions_.push_back(level);
        if (level == column_.max_definition) TakeValue(row);
        return;
      }
      case RowColumn::Levels::kRepeated: {
        const std::uint64_t count = row.TakeNumber();
        std::uint64_t present = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
          const unsigned char* const levels = row.Take(2);
          definitions_.push_back(levels[0]);
          repetitions_.push_back(levels[1]);
          present += levels[0] == column_.max_definition ? 1 : 0;
        }
        levels_ += count;
        for (; present > 0; --present) TakeValue(row);
        return;
      }
    }
  }
  void Write(parquet::ColumnWriter& writer) override {
    static_cast<parquet::TypedColumnWriter<ParquetType>&>(writer).WriteBatch(
        static_cast<std::int64_t>(levels_), definitions_.empty() ? nullptr : definitions_.data(),
        repetitions_.empty() ? nullptr : repetitions_.data(), reinterpret_cast<const Value*>(values_.data()));
  }

 private:
  void TakeValue(RowReader& row) {
    const std::string_view value = row.TakeValue(column_);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(value.data());
    if constexpr (ParquetType::type_num == parquet::Type::BYTE_ARRAY) {
      values_.push_back(parquet::ByteArray(static_cast<std::uint32_t>(value.size()), bytes));
    } else if constexpr (ParquetType::type_num == parquet::Type::FIXED_LEN_BYTE_ARRAY) {
      values_.push_back(parquet::FixedLenByteArray(bytes));
    } else {
      std::memcpy(&values_.emplace_back(), bytes, sizeof(Stored));
    }
  }

  /// A vector of bool has no addresses.
  using Stored = std::conditional_t<std::is_same_v<Value, bool>, unsigned char, Value>;
  static_assert(sizeof(Stored) == sizeof(Value));

  const RowColumn& column_;
  std::uint64_t levels_ = 0;
  std::vector<std::int16_t> definitions_, repetitions_;
  std::vector<Stored> values_;
};

/// Threads that do pieces of work together with the caller.
class Crew {
 public:
  explicit Crew(unsigned threads) {
    while (workers_.size() + 1 < threads && StartThread(workers_, [this] { Work(); }).empty()) continue;
  }
  ~Crew() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    workers_.clear();
  }
  unsigned threads() const { return static_cast<unsigned>(workers_.size()) + 1; }

  /// Calls work(i) for all i in [0, count). Returns when all calls have returned. Throws the first exception of a call.
  void ForEach(std::size_t count, const std::function<void(std::size_t)>& work) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    count_ = count;
    next_ = 0;
    changed_.notify_all();
    TakePieces(lock);
    changed_.wait(lock, [&] { return busy_ == 0; });
    work_ = nullptr;
    if (const std::exception_ptr failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
  }

 private:
  void TakePieces(std::unique_lock<std::mutex>& lock) {
    while (work_ != nullptr && next_ < count_ && !failure_) {
      const std::size_t piece = next_++;
      const auto& work = *work_;
      ++busy_;
      lock.unlock();
      std::exception_ptr failure;
      try {
        work(piece);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure && !failure_) failure_ = failure;
      if (--busy_ == 0) changed_.notify_all();
    }
  }
  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stop_ || (work_ != nullptr && next_ < count_ && !failure_); });
      if (stop_) return;
      TakePieces(lock);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t count_ = 0, next_ = 0;
  unsigned busy_ = 0;
  bool stop_ = false;
  std::exception_ptr failure_;
  Threads workers_;  // its threads end before the other members are destroyed
};

/// Returns true for encodings that a column keeps if it has no dictionary.
bool IsKept(parquet::Encoding::type encoding) {
  return encoding == parquet::Encoding::DELTA_BINARY_PACKED || encoding == parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY ||
         encoding == parquet::Encoding::DELTA_BYTE_ARRAY || encoding == parquet::Encoding::BYTE_STREAM_SPLIT;
}

class ParquetEncoder : public RowEncoder {
 public:
  ParquetEncoder(const RowEncoderOptions& options, std::function<void(std::span<const std::byte>)> sink)
      : options_(options), out_(std::make_shared<SinkFile>(std::move(sink))), crew_(std::max(1u, options.threads)) {
    if (!options.compression.empty()) codec_ = ParseNamedCodec(options.compression);
  }
  ~ParquetEncoder() override {
    out_->Drop();  // the writer's destructor would write the end of the file
  }

  void Write(std::span<const std::byte> bytes) override {
    // A row group ends after a batch, so a batch is smaller than a row group.
    const std::uint64_t most =
        std::clamp(options_.group_bytes / 8, kLeastBatchBytes, crew_.threads() * kBatchBytesOfThread);
    while (!bytes.empty()) {
      const std::size_t room = held_.size() < most ? most - held_.size() : most;
      const auto part = bytes.first(std::min(bytes.size(), room));
      held_.insert(held_.end(), part.begin(), part.end());
      bytes = bytes.subspan(part.size());
      if (held_.size() >= most || !writer_) WriteRows();
    }
  }

  void Finish() override {
    WriteRows();
    if (!writer_ || !held_.empty()) throw Error(ErrorCode::kInternal, "the rows of the output end inside a row");
    Run([&] {
      CloseGroup();
      writer_->Close();
    });
  }

 private:
  template <typename Step>
  void Run(Step step) {
    try {
      Guarded(step, [] { return std::string(); });
    } catch (const Refusal& refusal) {
      out_->RethrowFailure();
      throw Error(ErrorCode::kIo, "the Parquet output cannot be encoded: " + refusal.why);
    }
  }

  /// Opens the output if the header is complete.
  void Open() {
    const std::uint64_t bytes = RowSchema::HeaderBytes(held_);
    if (bytes == 0) return;
    schema_ = RowSchema::Parse(std::span(held_).first(bytes));
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(bytes));
    std::uint64_t group_rows = 0;
    if (schema_.file.size() < sizeof(group_rows)) throw Error(ErrorCode::kInternal, "the header of rows is damaged");
    std::memcpy(&group_rows, schema_.file.data(), sizeof(group_rows));
    group_rows_ = options_.group_rows > 0 ? options_.group_rows : group_rows;
    const auto size = static_cast<std::int64_t>(schema_.file.size() - sizeof(group_rows));
    Run([&] {
      const auto metadata = parquet::FileMetaData::Make(schema_.file.data() + sizeof(group_rows), size);
      writer_ = parquet::ParquetFileWriter::Open(
          out_, std::static_pointer_cast<parquet::schema::GroupNode>(metadata->schema()->schema_root()),
          Properties(*metadata), metadata->key_value_metadata());
    });
    slices_.resize(crew_.threads());
    for (auto& slice : slices_) {
      for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
        const auto make = [&](auto type) -> std::unique_ptr<ColumnRows> {
          return std::make_unique<TypedRows<decltype(type)>>(schema_.columns[i]);
        };
        slice.push_back(WithParquetType(writer_->schema()->Column(static_cast<int>(i))->physical_type(), make));
      }
    }
  }

  /// Returns for how many values the Bloom filter of a column in a row group is made. The library holds the filters of
  /// all row groups until the end of the file. `group` is the first row group of the input.
  std::int64_t FilterValues(const parquet::RowGroupMetaData& group) const {
    std::uint64_t columns = 0, bytes = 0;
    for (int i = 0; i < group.num_columns(); ++i) {
      const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = group.ColumnChunk(i);
      columns += chunk->bloom_filter_offset() ? 1 : 0;
      bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(0, chunk->total_compressed_size()));
    }
    const auto rows = static_cast<std::uint64_t>(std::max<std::int64_t>(1, group.num_rows()));
    // The rows of the output may be smaller than those of the input by half, and a row group has at least a batch.
    const std::uint64_t by_size =
        (options_.group_bytes + kLeastBatchBytes) / std::max<std::uint64_t>(1, bytes / rows / 2);
    // A value takes less than two bytes. A filter with more values than planned stays right, but excludes less.
    const std::uint64_t by_memory = RowFilterBytes(options_) / 2 / std::max<std::uint64_t>(1, columns);
    const std::uint64_t by_rows = group_rows_ > 0 ? std::min(group_rows_, kMostFiltered) : kMostFiltered;
    return static_cast<std::int64_t>(std::max<std::uint64_t>(1, std::min({by_size, by_memory, by_rows})));
  }

  std::shared_ptr<parquet::WriterProperties> Properties(const parquet::FileMetaData& metadata) const {
    parquet::WriterProperties::Builder builder;
    builder.memory_pool(arrow::system_memory_pool());
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
      if (chunk->bloom_filter_offset()) builder.enable_bloom_filter(path, filter);
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

  /// Encodes the whole rows at the front of `held_`, and removes them.
  void WriteRows() {
    if (!writer_) Open();
    if (!writer_) return;
    rows_.clear();
    std::size_t end = 0;
    while (held_.size() - end >= kRowSizeBytes) {
      std::uint32_t size;
      std::memcpy(&size, held_.data() + end, sizeof(size));
      if (size < kRowSizeBytes) throw Error(ErrorCode::kIntegrity, "a row of the output has a wrong size");
      if (size > held_.size() - end) break;
      rows_.push_back(end);
      end += size;
    }
    rows_.push_back(end);
    for (std::size_t row = 0; row + 1 < rows_.size();) {
      if (group_ == nullptr) {
        Run([&] { group_ = writer_->AppendBufferedRowGroup(); });
        rows_of_group_ = 0;
      }
      std::size_t count = rows_.size() - 1 - row;
      if (group_rows_ > 0)
        count = static_cast<std::size_t>(std::min<std::uint64_t>(count, group_rows_ - rows_of_group_));
      Encode(row, count);
      row += count;
      rows_of_group_ += count;
      if ((group_rows_ > 0 && rows_of_group_ == group_rows_) || GroupBytes() >= options_.group_bytes) {
        Run([&] { CloseGroup(); });
      }
    }
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(end));
  }

  std::uint64_t GroupBytes() const {
    const parquet::RowGroupWriter::BufferedStats stats = group_->estimated_buffered_stats();
    return static_cast<std::uint64_t>(group_->total_compressed_bytes() + group_->total_compressed_bytes_written() +
                                      stats.def_level_bytes + stats.rep_level_bytes + stats.value_bytes +
                                      stats.dict_bytes);
  }

  /// Encodes `count` rows, from the row with the index `first` in `rows_` on.
  void Encode(std::size_t first, std::size_t count) {
    constexpr std::size_t kLeastRows = 256;
    const std::size_t slices = std::clamp<std::size_t>(count / kLeastRows, 1, slices_.size());
    const std::size_t columns = schema_.columns.size();
    crew_.ForEach(slices, [&](std::size_t slice) {
      for (const auto& column : slices_[slice]) column->Clear();
      const std::size_t begin = first + count * slice / slices, end = first + count * (slice + 1) / slices;
      for (std::size_t row = begin; row < end; ++row) {
        Divide(std::span(held_).subspan(rows_[row], rows_[row + 1] - rows_[row]), slices_[slice]);
      }
    });
    Run([&] {
      // column() makes the writer of a column at the first call, so one thread does that.
      std::vector<parquet::ColumnWriter*> writers;
      for (std::size_t i = 0; i < columns; ++i) writers.push_back(group_->column(static_cast<int>(i)));
      crew_.ForEach(columns, [&](std::size_t column) {
        for (std::size_t slice = 0; slice < slices; ++slice) slices_[slice][column]->Write(*writers[column]);
      });
    });
  }

  void Divide(std::span<const std::byte> bytes, std::vector<std::unique_ptr<ColumnRows>>& to) const {
    RowReader row(bytes);
    const unsigned char* const bits = row.Take(schema_.bit_bytes());
    std::size_t bit = 0;
    for (std::size_t i = 0; i < to.size(); ++i) {
      bool has_bit = false;
      if (schema_.columns[i].levels == RowColumn::Levels::kBit) {
        has_bit = (bits[bit / 8] >> bit % 8 & 1) != 0;
        ++bit;
      }
      to[i]->Take(row, has_bit);
    }
    if (!row.done()) throw Error(ErrorCode::kIntegrity, "a row of the output has more bytes than its columns");
  }

  void CloseGroup() {
    if (group_ == nullptr) return;
    group_->Close();
    group_ = nullptr;
  }

  const RowEncoderOptions options_;
  std::optional<NamedCodec> codec_;
  const std::shared_ptr<SinkFile> out_;
  RowSchema schema_;
  std::uint64_t group_rows_ = 0;  ///< the greatest number of rows of a row group; 0: only its size counts
  std::unique_ptr<parquet::ParquetFileWriter> writer_;  ///< null until the header is complete
  parquet::RowGroupWriter* group_ = nullptr;            ///< null: no row group is open
  std::uint64_t rows_of_group_ = 0;
  std::vector<std::byte> held_;
  std::vector<std::size_t> rows_;  ///< where the rows in `held_` begin, and where the last one ends
  std::vector<std::vector<std::unique_ptr<ColumnRows>>> slices_;  ///< for each thread the columns of its rows
  Crew crew_;  // its threads end before the other members are destroyed
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

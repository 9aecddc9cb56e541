// Decodes files and streams of Arrow IPC into rows. The caller's thread reads record batches and divides them into
// slices, and threads convert the slices into rows.
#include <arrow/array/array_base.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/status.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/int_util.h>
#include <arrow/util/key_value_metadata.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "io/codec/modules/arrow.hpp"
#include "io/codec/modules/parquet.hpp"
#include "io/codec/modules/parquet_files.hpp"
#include "io/codec/modules/parquet_memory.hpp"
#include "io/codec/slot_ring.hpp"

namespace gpusort {
namespace {

constexpr char kMagic[] = "ARROW1";
/// The metadata of a field that has the name of an extension type.
constexpr char kUnknownType[] = "ARROW:extension:name";
constexpr std::int64_t kMagicBytes = 6, kFirstMessage = 8;

/// The memory of record batches. Refuses buffers over a limit.
class BatchPool : public RecyclingPool {
 public:
  explicit BatchPool(std::uint64_t limit) : RecyclingPool(limit), limit_(limit) {}

  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    const std::uint64_t needed =
        static_cast<std::uint64_t>(bytes_allocated()) + static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0));
    if (needed > limit_) {
      refused_ = needed;
      return arrow::Status::OutOfMemory("a record batch is too large");
    }
    return RecyclingPool::Allocate(size, alignment, out);
  }
  /// Returns how much memory was needed when the last buffer was refused, or 0.
  std::uint64_t refused() const { return refused_; }

 private:
  const std::uint64_t limit_;
  std::uint64_t refused_ = 0;
};

/// A table of the serialization FlatBuffers, in which Arrow stores metadata. A position outside of the bytes and a
/// missing field read as 0.
class FlatTable {
 public:
  explicit FlatTable(std::span<const unsigned char> bytes) : FlatTable(bytes, 0) { at_ = Load<std::uint32_t>(0); }

  template <typename Number>
  Number Get(unsigned slot) const {
    const std::uint64_t at = Place(slot);
    return at == 0 ? Number{0} : Load<Number>(at);
  }
  bool Has(unsigned slot) const { return Place(slot) != 0; }
  FlatTable Table(unsigned slot) const {
    const std::uint64_t at = Place(slot);
    return {bytes_, at + Load<std::uint32_t>(at)};
  }
  /// Returns the first number of each struct in a vector of structs with the size `stride`.
  std::vector<std::int64_t> FirstNumbers(unsigned slot, std::uint64_t stride) const {
    std::vector<std::int64_t> numbers;
    if (!Has(slot)) return numbers;
    std::uint64_t at = Place(slot);
    at += Load<std::uint32_t>(at);
    const std::uint64_t count = std::min<std::uint64_t>(Load<std::uint32_t>(at), bytes_.size() / stride);
    for (std::uint64_t i = 0; i < count; ++i) numbers.push_back(Load<std::int64_t>(at + 4 + i * stride));
    return numbers;
  }

 private:
  FlatTable(std::span<const unsigned char> bytes, std::uint64_t at) : bytes_(bytes), at_(at) {}
  template <typename Number>
  Number Load(std::uint64_t at) const {
    Number number{0};
    if (at <= bytes_.size() && bytes_.size() - at >= sizeof(number)) {
      std::memcpy(&number, bytes_.data() + at, sizeof(number));
    }
    return number;
  }
  std::uint64_t Place(unsigned slot) const {
    const std::uint64_t fields = at_ - static_cast<std::uint64_t>(std::int64_t{Load<std::int32_t>(at_)});
    const std::uint64_t entry = 4 + 2 * std::uint64_t{slot};
    if (entry + 2 > Load<std::uint16_t>(fields)) return 0;
    const std::uint16_t offset = Load<std::uint16_t>(fields + entry);
    return offset == 0 ? 0 : at_ + offset;
  }

  std::span<const unsigned char> bytes_;
  std::uint64_t at_;
};

/// A message of a stream or a file.
struct IpcMessage {
  static constexpr std::uint8_t kSchema = 1, kDictionary = 2, kRecordBatch = 3;

  std::vector<unsigned char> metadata;
  std::int64_t body = 0;  ///< the position of the values
  std::int64_t end = 0;   ///< the position after the message, which may be after the end of the file

  FlatTable table() const { return FlatTable(metadata); }
  std::uint8_t type() const { return table().Get<std::uint8_t>(1); }
  /// The record batch in the message, which has the values of a dictionary if the message is one.
  FlatTable batch() const { return type() == kDictionary ? table().Table(2).Table(1) : table().Table(2); }
};

/// Reads the metadata of the message at the position `at`. Returns std::nullopt if there is none, or if the file cannot
/// be read.
std::optional<IpcMessage> ReadMessage(SourceFile& file, std::int64_t at) {
  constexpr std::int32_t kContinues = -1, kMostMetadata = 64 << 20;
  std::int32_t begin[2] = {};
  const auto got = file.ReadAt(at, sizeof(begin), begin);
  if (!got.ok() || *got != sizeof(begin)) return std::nullopt;
  const std::int64_t front = begin[0] == kContinues ? 8 : 4;  // old writers have no mark before the size
  const std::int32_t size = begin[0] == kContinues ? begin[1] : begin[0];
  if (size <= 0 || size > kMostMetadata) return std::nullopt;
  IpcMessage message;
  message.body = message.end = at + front + size;
  if (message.end > static_cast<std::int64_t>(file.size())) return message;
  message.metadata.resize(static_cast<std::size_t>(size));
  const auto read = file.ReadAt(at + front, size, message.metadata.data());
  if (!read.ok() || *read != size) return std::nullopt;
  const auto body = message.table().Get<std::int64_t>(3);
  if (body < 0 || body > std::numeric_limits<std::int64_t>::max() - message.end) return std::nullopt;
  message.end += body;
  return message;
}

/// Returns the codec of the first record batch. The messages begin at the position `at`. The libraries decode codecs,
/// but do not tell them.
arrow::Compression::type FindCodec(SourceFile& file, std::int64_t at) {
  while (const std::optional<IpcMessage> message = ReadMessage(file, at)) {
    if (message->type() == IpcMessage::kRecordBatch) {
      const FlatTable batch = message->batch();
      if (!batch.Has(3)) break;
      return batch.Table(3).Get<std::uint8_t>(0) == 0 ? arrow::Compression::LZ4_FRAME : arrow::Compression::ZSTD;
    }
    at = message->end;
  }
  return arrow::Compression::UNCOMPRESSED;
}

/// Returns at most how much memory the libraries take to read a message.
std::uint64_t MemoryFor(SourceFile& file, const IpcMessage& message) {
  constexpr std::uint64_t kBufferBytes = 16, kOther = 4096;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::uint64_t bytes = message.metadata.size() + static_cast<std::uint64_t>(message.end - message.body);
  if (const FlatTable batch = message.batch(); message.type() != IpcMessage::kSchema && batch.Has(3)) {
    // Each buffer that is compressed begins with its size.
    for (const std::int64_t offset : batch.FirstNumbers(2, kBufferBytes)) {
      std::int64_t size = 0;
      const auto got = file.ReadAt(message.body + std::clamp<std::int64_t>(offset, 0, kMost), sizeof(size), &size);
      if (got.ok() && *got == sizeof(size))
        bytes += static_cast<std::uint64_t>(std::clamp<std::int64_t>(size, 0, kMost));
    }
  }
  return bytes + bytes / 4 + kOther;  // RecyclingPool rounds sizes up by at most a quarter
}

/// Returns true if the file ends inside one of the messages from the position `at` on.
bool EndsInside(SourceFile& file, std::int64_t at) {
  const auto size = static_cast<std::int64_t>(file.size());
  while (const std::optional<IpcMessage> message = ReadMessage(file, at)) {
    if (message->end > size) return true;
    at = message->end;
  }
  constexpr std::int64_t kEndBytes = 8;  // a whole end of a stream
  return at < size && size - at < kEndBytes;
}

/// Returns about how many bytes a row of a record batch takes.
std::uint64_t RowBytesOf(const arrow::RecordBatch& batch) {
  const auto rows = std::max<std::int64_t>(1, batch.num_rows());
  std::int64_t bytes = arrow::util::TotalBufferSize(batch) / rows + 1;
  for (int i = 0; i < batch.num_columns(); ++i) {
    if (const auto& dictionary = batch.column_data(i)->dictionary) {
      bytes += arrow::util::TotalBufferSize(*dictionary) / std::max<std::int64_t>(1, dictionary->length);
    }
  }
  return static_cast<std::uint64_t>(bytes) + static_cast<std::uint64_t>(batch.num_columns());
}

/// Checks the values of record batches. A damaged file may have offsets that point anywhere. Thread-safe.
class BatchCheck {
 public:
  explicit BatchCheck(int columns) : dictionaries_(static_cast<std::size_t>(columns)) {}

  arrow::Status Check(const arrow::RecordBatch& batch) {
    for (int i = 0; i < batch.num_columns(); ++i) {
      if (const arrow::Status valid = CheckColumn(*batch.column(i), dictionaries_[static_cast<std::size_t>(i)]);
          !valid.ok()) {
        return valid.WithMessage("column '", batch.column_name(i), "': ", valid.message());
      }
    }
    return arrow::Status::OK();
  }

 private:
  /// `checked` is the last dictionary of the column that was checked. Most record batches share one.
  arrow::Status CheckColumn(const arrow::Array& column, std::weak_ptr<arrow::ArrayData>& checked) {
    const std::shared_ptr<arrow::ArrayData>& data = column.data();
    if (data->dictionary == nullptr) return column.ValidateFull();
    std::unique_lock lock(mutex_);
    if (checked.lock() != data->dictionary) {
      lock.unlock();
      ARROW_RETURN_NOT_OK(column.ValidateFull());
      lock.lock();
      checked = data->dictionary;
      return arrow::Status::OK();
    }
    lock.unlock();
    const std::shared_ptr<arrow::ArrayData> indices = data->Copy();
    indices->type = static_cast<const arrow::DictionaryType&>(*data->type).index_type();
    indices->dictionary = nullptr;
    ARROW_RETURN_NOT_OK(arrow::MakeArray(indices)->ValidateFull());
    return arrow::internal::CheckIndexBounds(*indices, static_cast<std::uint64_t>(data->dictionary->length));
  }

  std::mutex mutex_;
  std::vector<std::weak_ptr<arrow::ArrayData>> dictionaries_;
};

class ArrowDecoder : public RowDecoder {
 public:
  ArrowDecoder(RowFile file, const RowDecoderOptions& options)
      : threads_(std::max(1U, options.threads)),
        // A quarter of the memory is for slices, which take about four times their size while they are converted.
        slice_bytes_(std::clamp<std::uint64_t>(options.memory_bytes / 4 / RingSlots(threads_) / kTimes, kLeastSlice,
                                               kMostSlice)),
        slots_(std::clamp<std::size_t>(options.memory_bytes / 4 / (kTimes * slice_bytes_), 1, RingSlots(threads_))),
        batch_limit_(options.memory_bytes / 4 * 3),
        batches_(batch_limit_),
        slices_(options.memory_bytes / 4),
        source_(std::make_shared<SourceFile>(std::move(file), &batches_)),
        ring_(slots_) {
    Open();
    Describe();
  }

  std::uint64_t Read(std::span<std::byte> out) override {
    while (taken_ == given_.size()) {
      taken_ = 0;
      given_.clear();
      if (!Next()) return 0;
    }
    const std::size_t count = std::min(out.size(), given_.size() - taken_);
    std::memcpy(out.data(), given_.data() + taken_, count);
    taken_ += count;
    return count;
  }
  std::string Lost() const override { return has_metadata_ ? "the metadata of record batches" : ""; }

 private:
  static constexpr std::uint64_t kLeastSlice = 64 << 10, kMostSlice = 2 << 20, kTimes = 4;

  /// A record batch that is divided into slices. Each check of a slice would read the whole lists that it is a part of,
  /// so the first thread that converts a slice checks the batch.
  struct Batch {
    Batch(std::shared_ptr<arrow::RecordBatch> its_rows, int its_number)
        : rows(std::move(its_rows)), number(its_number) {}

    const std::shared_ptr<arrow::RecordBatch> rows;
    const int number;  ///< counts from 0, as row groups do
    std::once_flag checked;
    arrow::Status valid;  ///< what the check has found
  };

  /// A few record batches or a part of one. A thread converts them into rows.
  struct Slot {
    struct Slice {
      std::shared_ptr<Batch> batch;
      std::int64_t begin, rows;
    };
    std::vector<Slice> slices;
    std::vector<std::byte> rows;
  };

  /// Returns the value of a step of reading. Throws the exception of RowFile::read if the file could not be read.
  template <typename Value>
  Value Take(arrow::Result<Value> result) {
    if (result.ok()) return std::move(result).ValueUnsafe();
    source_->RethrowFailure();
    if (result.status().IsOutOfMemory() && batches_.refused() > 0) {
      const std::uint64_t needed = std::max(batches_.refused(), used_ + MostBytes());
      throw Refusal{"a record batch takes too much memory", needed / 3 * 4 + 4};
    }
    if (result.status().IsOutOfMemory()) throw std::bad_alloc();
    const bool of_stream = bytes_ != nullptr;
    const bool cut = of_stream && EndsInside(*source_, batch_at_);
    source_->RethrowFailure();
    if (cut) throw Refusal{"it is cut short: it ends inside " + (tables_ ? InBatch(read_) : "its schema")};
    throw Refusal{(tables_     ? InBatch(read_) + ": "
                   : of_stream ? std::string("its schema: ")
                               : std::string("its footer: ")) +
                  result.status().message()};
  }
  static std::string InBatch(int number) { return "record batch " + std::to_string(number); }

  /// Throws Refusal if the file is no Arrow file, or is cut short.
  void CheckFrame(std::int64_t got, const char* front) const {
    constexpr std::uint64_t kLeastFile = 2 * kMagicBytes + 6;  // two bytes that fill up, and the size of the footer
    const std::uint64_t size = source_->size();
    if (size == 0) throw Refusal{"it is empty, and no Arrow file: also a file without rows has a schema"};
    if (got >= 4 && std::memcmp(front, "FEA1", 4) == 0) {
      throw Refusal{"it is a Feather file of version 1, which gpusort does not read: write it as version 2"};
    }
    if (std::memcmp(front, kMagic, static_cast<std::size_t>(std::min(got, kMagicBytes))) == 0) {
      char end[kMagicBytes] = {};
      if (size >= kLeastFile) {
        const auto read = source_->ReadAt(static_cast<std::int64_t>(size) - kMagicBytes, kMagicBytes, end);
        source_->RethrowFailure();
        if (read.ok() && std::memcmp(end, kMagic, kMagicBytes) == 0) return;
      }
      throw Refusal{"it is cut short: an Arrow file ends with ARROW1"};
    }
    const std::optional<IpcMessage> message = ReadMessage(*source_, 0);
    source_->RethrowFailure();
    const bool cut = message && message->metadata.empty();
    const bool schema =
        cut ? std::memcmp(front, "\xff\xff\xff\xff", 4) == 0 : message && message->type() == IpcMessage::kSchema;
    if (!schema) throw Refusal{"it is no Arrow file and no Arrow stream"};
  }

  void Open() {
    char front[kMagicBytes] = {};
    const auto got = source_->ReadAt(0, kMagicBytes, front);
    source_->RethrowFailure();
    if (!got.ok()) throw Refusal{"it cannot be read: " + got.status().message()};
    CheckFrame(*got, front);
    const bool is_file = *got == kMagicBytes && std::memcmp(front, kMagic, kMagicBytes) == 0;
    arrow::ipc::IpcReadOptions options;
    options.memory_pool = &batches_;
    options.use_threads = false;
    ArrowHeader header;
    if (is_file) {
      file_ = Take(arrow::ipc::RecordBatchFileReader::Open(source_, options));
      header.schema = file_->schema();
      header.footer = file_->metadata();
      about_ = std::to_string(file_->num_record_batches()) + " record batch" +
               (file_->num_record_batches() == 1 ? "" : "es");
    } else {
      bytes_ = Take(arrow::io::RandomAccessFile::GetStream(source_, 0, static_cast<std::int64_t>(source_->size())));
      stream_ = Take(arrow::ipc::RecordBatchStreamReader::Open(bytes_, options));
      header.schema = stream_->schema();
      about_ = "a stream of record batches";
    }
    next_at_ = is_file ? kFirstMessage : 0;
    header.codec = FindCodec(*source_, next_at_);
    source_->RethrowFailure();
    const std::string codec = arrow::util::Codec::GetCodecAsString(header.codec);
    about_ += ", " + codec;
    tables_.emplace(header.schema, &slices_);
    check_.emplace(header.schema->num_fields());
    header.schema = tables_->output();
    header_ = TakeArrow(header.ToText());
  }

  /// Makes the header of the rows.
  void Describe() {
    const std::unique_ptr<RowDecoder> decoder = Decode(*tables_->empty_file());
    given_ = ReadHeader(*decoder);
    RowSchema schema = RowSchema::Parse(given_);
    schema.about = about_;
    schema.file = header_;
    const parquet::SchemaDescriptor& parquet = *tables_->parquet().schema();
    for (std::size_t i = 0; i < schema.columns.size(); ++i) {
      const int number = parquet.group_node()->FieldIndex(*parquet.GetColumnRoot(static_cast<int>(i)));
      const arrow::Field& field = *tables_->output()->field(number);
      const arrow::DataType& type = *field.type();
      // The text tells columns apart whose types are alike for Parquet, such as string and large_string, or types that
      // the libraries do not know.
      schema.columns[i].type_text = type.ToString();
      if (field.HasMetadata() && field.metadata()->Contains(kUnknownType)) {
        schema.columns[i].type_text += " as " + TakeArrow(field.metadata()->Get(kUnknownType));
      }
      if (!schema.columns[i].nested) schema.columns[i].type = TypeOf(type, schema.columns[i].type);
    }
    given_ = schema.Header();
  }

  static RowColumn::Type TypeOf(const arrow::DataType& type, RowColumn::Type known) {
    switch (type.id()) {
      case arrow::Type::TIMESTAMP:
        return RowColumn::Type::kTimestamp;
      case arrow::Type::DATE64:
        return RowColumn::Type::kDate;
      case arrow::Type::TIME32:
        return RowColumn::Type::kTime;
      case arrow::Type::EXTENSION:
        return type.ToString() == "extension<arrow.uuid>" ? RowColumn::Type::kUuid : known;
      default:
        return known;
    }
  }

  /// Returns a decoder of a Parquet file in memory.
  std::unique_ptr<RowDecoder> Decode(const arrow::Buffer& file) const {
    const auto read = [&file](std::uint64_t offset, std::span<std::byte> out) -> std::uint64_t {
      const auto size = static_cast<std::uint64_t>(file.size());
      const std::uint64_t count = std::min<std::uint64_t>(out.size(), size - std::min(offset, size));
      if (count > 0) std::memcpy(out.data(), file.data() + offset, count);
      return count;
    };
    constexpr std::uint64_t kEnough = std::uint64_t{1} << 40;
    return MakeParquetDecoder({static_cast<std::uint64_t>(file.size()), read}, {.memory_bytes = kEnough});
  }

  /// Reads the header of rows. The decoder of Parquet never returns a part of the header together with rows.
  static std::vector<std::byte> ReadHeader(RowDecoder& decoder) {
    constexpr std::size_t kStep = 4096;
    std::vector<std::byte> header;
    std::size_t got = 0, bytes = 0;
    while (bytes == 0 || got < bytes) {
      header.resize(got + kStep);
      got += decoder.Read(std::span(header).subspan(got));
      bytes = RowSchema::HeaderBytes(std::span(header).first(got));
    }
    header.resize(got);
    return header;
  }

  /// Converts the record batches of a slot into rows.
  void Convert(Slot& slot) {
    constexpr std::size_t kStep = 1 << 20;
    arrow::RecordBatchVector batches;
    for (const Slot::Slice& slice : slot.slices) {
      Batch& batch = *slice.batch;
      std::call_once(batch.checked, [&] { batch.valid = check_->Check(*batch.rows); });
      if (!batch.valid.ok()) throw Refusal{InBatch(batch.number) + ": " + batch.valid.message()};
      batches.push_back(batch.rows->Slice(slice.begin, slice.rows));
    }
    slot.slices.clear();
    const std::shared_ptr<arrow::Buffer> file =
        Guarded([&] { return TakeArrow(tables_->ToParquet(batches)); }, [] { return std::string(); });
    batches.clear();
    const std::unique_ptr<RowDecoder> decoder = Decode(*file);
    ReadHeader(*decoder);
    std::size_t got = 0, more = 0;
    do {
      slot.rows.resize(got + kStep);
      more = decoder->Read(std::span(slot.rows).subspan(got));
      got += more;
    } while (more > 0);
    slot.rows.resize(got);
  }

  /// Returns how much memory the next record batch and the dictionaries before it take, or 0 if that is not known. The
  /// record batches of a file are nearly always in their order.
  std::uint64_t NextBytes() {
    if (next_bytes_) return *next_bytes_;
    next_bytes_ = 0;
    for (bool found = false; !found;) {
      const std::optional<IpcMessage> message = ReadMessage(*source_, next_at_);
      if (!message || message->end > static_cast<std::int64_t>(source_->size())) break;
      *next_bytes_ += MemoryFor(*source_, *message);
      next_at_ = message->end;
      found = message->type() == IpcMessage::kRecordBatch;
    }
    return *next_bytes_;
  }

  /// Returns the greatest size of the next record batches.
  std::uint64_t MostBytes() {
    std::uint64_t most = 0;
    for (std::uint64_t bytes = NextBytes(); bytes > 0; bytes = NextBytes()) {
      most = std::max(most, bytes);
      next_bytes_.reset();
    }
    return most;
  }

  /// Reads the next record batch, null at the end.
  std::shared_ptr<arrow::RecordBatch> ReadBatch() {
    arrow::RecordBatchWithMetadata read;
    if (file_) {
      if (read_ < file_->num_record_batches()) read = Take(file_->ReadRecordBatchWithCustomMetadata(read_));
    } else {
      batch_at_ = Take(bytes_->Tell());
      read = Take(stream_->ReadNext());
      const std::int64_t at = Take(bytes_->Tell());
      if (!read.batch && at < static_cast<std::int64_t>(source_->size())) {
        throw Refusal{"other data after the end of the stream, at offset " + std::to_string(at) +
                      "; give several streams as several inputs"};
      }
    }
    has_metadata_ = has_metadata_ || (read.custom_metadata != nullptr && read.custom_metadata->size() > 0);
    ++read_;
    return read.batch;
  }

  /// Fills a slot with about `slice_bytes_` bytes. Returns false if there is nothing, or no memory yet.
  bool Fill(Slot& slot) {
    slot.slices.clear();
    std::uint64_t bytes = 0;
    while (bytes < slice_bytes_) {
      if (!batch_) {
        used_ = static_cast<std::uint64_t>(batches_.bytes_allocated());
        const std::uint64_t next = NextBytes();
        const bool full = used_ > 0 && used_ + next > batch_limit_;
        if (full && (bytes > 0 || !ring_.empty())) break;
        const std::shared_ptr<arrow::RecordBatch> rows = ReadBatch();
        if (!rows) {
          ended_ = true;
          break;
        }
        batch_ = std::make_shared<Batch>(rows, read_ - 1);
        next_bytes_.reset();
        row_bytes_ = RowBytesOf(*rows);
        batch_taken_ = 0;
      }
      const std::int64_t left = batch_->rows->num_rows() - batch_taken_;
      const auto fitting = static_cast<std::int64_t>((slice_bytes_ - bytes) / row_bytes_ + 1);
      const std::int64_t rows = std::min({left, fitting, kMostRows});
      if (rows > 0) slot.slices.push_back({batch_, batch_taken_, rows});
      bytes += static_cast<std::uint64_t>(rows) * row_bytes_;
      batch_taken_ += rows;
      if (batch_taken_ == batch_->rows->num_rows()) batch_.reset();
    }
    return !slot.slices.empty();
  }

  /// Sets `given_` to the next rows. Returns false at the end.
  bool Next() {
    if (!started_) {
      started_ = true;
      const auto convert = [this](Slot& slot) { Convert(slot); };
      while (slots_ > 1 && ring_.workers() < threads_ && ring_.StartWorker(convert)) continue;
      if (ring_.workers() == 0) own_ = convert;
    }
    while (!ended_ && !ring_.full() && Fill(ring_.filling())) ring_.Queue();
    if (ring_.empty()) return false;
    std::swap(ring_.Oldest(own_).rows, given_);
    ring_.Pop();
    return true;
  }

  static constexpr std::int64_t kMostRows = 1 << 20;

  const unsigned threads_;
  const std::uint64_t slice_bytes_;
  const std::size_t slots_;
  const std::uint64_t batch_limit_;
  BatchPool batches_;
  RecyclingPool slices_;
  const std::shared_ptr<SourceFile> source_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_;
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> stream_;  ///< if `file_` is null
  std::shared_ptr<arrow::io::InputStream> bytes_;                ///< of `stream_`
  std::optional<ArrowTables> tables_;
  std::optional<BatchCheck> check_;
  std::string about_, header_;
  std::int64_t batch_at_ = 0;     ///< where in the stream the next record batch, or a dictionary before it, begins
  int read_ = 0;                  ///< how many record batches were read
  std::shared_ptr<Batch> batch_;  ///< its first `batch_taken_` rows are in slots
  std::int64_t batch_taken_ = 0;
  std::uint64_t row_bytes_ = 1;
  std::uint64_t used_ = 0;                   ///< the memory of record batches before the last one was read
  std::optional<std::uint64_t> next_bytes_;  ///< what NextBytes() has found
  std::int64_t next_at_ = 0;                 ///< the position of the message after those that `next_bytes_` counts
  bool has_metadata_ = false;                ///< a record batch has metadata of its own
  bool ended_ = false, started_ = false;
  std::vector<std::byte> given_;  ///< the header or rows; the caller has the first `taken_` bytes
  std::size_t taken_ = 0;
  SlotRing<Slot>::Work own_;  ///< null: workers convert
  SlotRing<Slot> ring_;       // its workers end before the other members are destroyed
};

}  // namespace

std::unique_ptr<RowDecoder> MakeArrowDecoder(RowFile file, const RowDecoderOptions& options) {
  return std::make_unique<ArrowDecoder>(std::move(file), options);
}

}  // namespace gpusort

// Decodes files and streams of Arrow IPC into rows. The caller's thread reads record batches and divides them into
// slices, and threads convert the slices into rows.
#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/key_value_metadata.h>

#include <algorithm>
#include <cstring>
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

/// Returns the codec of the first record batch. The messages begin at the position `at`. The libraries decode codecs,
/// but do not tell them.
arrow::Compression::type FindCodec(SourceFile& file, std::int64_t at) {
  constexpr std::int32_t kContinues = -1, kMostMetadata = 64 << 20;
  constexpr std::uint8_t kRecordBatch = 3;
  constexpr auto kNone = arrow::Compression::UNCOMPRESSED;
  for (;;) {
    std::int32_t begin[2] = {};
    const auto got = file.ReadAt(at, sizeof(begin), begin);
    if (!got.ok() || *got != sizeof(begin)) return kNone;
    const std::int64_t front = begin[0] == kContinues ? 8 : 4;  // old writers have no mark before the size
    const std::int32_t size = begin[0] == kContinues ? begin[1] : begin[0];
    if (size <= 0 || size > kMostMetadata) return kNone;
    std::vector<unsigned char> bytes(static_cast<std::size_t>(size));
    const auto read = file.ReadAt(at + front, size, bytes.data());
    if (!read.ok() || *read != size) return kNone;
    const FlatTable message(bytes);
    const auto body = message.Get<std::int64_t>(3);
    if (message.Get<std::uint8_t>(1) == kRecordBatch) {
      const FlatTable batch = message.Table(2);
      if (!batch.Has(3)) return kNone;
      return batch.Table(3).Get<std::uint8_t>(0) == 0 ? arrow::Compression::LZ4_FRAME : arrow::Compression::ZSTD;
    }
    if (body < 0 || body > static_cast<std::int64_t>(file.size()) - at) return kNone;
    at += front + size + body;
  }
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

 private:
  static constexpr std::uint64_t kLeastSlice = 64 << 10, kMostSlice = 2 << 20, kTimes = 4;

  /// A few record batches or a part of one. A thread converts them into rows.
  struct Slot {
    arrow::RecordBatchVector batches;
    std::vector<std::byte> rows;
  };

  /// Returns the value of a step of reading. Throws the exception of RowFile::read if the file could not be read.
  template <typename Value>
  Value Take(arrow::Result<Value> result) {
    if (result.ok()) return std::move(result).ValueUnsafe();
    source_->RethrowFailure();
    if (result.status().IsOutOfMemory() && batches_.refused() > 0) {
      throw Refusal{"a record batch takes too much memory", batches_.refused() / 3 * 4 + 4};
    }
    if (result.status().IsOutOfMemory()) throw std::bad_alloc();
    throw Refusal{(tables_ ? "record batch " + std::to_string(read_) + ": " : std::string()) +
                  result.status().message()};
  }

  void Open() {
    char front[kMagicBytes] = {};
    const auto got = source_->ReadAt(0, kMagicBytes, front);
    source_->RethrowFailure();
    if (!got.ok()) throw Refusal{"it cannot be read: " + got.status().message()};
    if (*got >= 4 && std::memcmp(front, "FEA1", 4) == 0) {
      throw Refusal{"it is a Feather file of version 1, which gpusort does not read: write it as version 2"};
    }
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
    header.codec = FindCodec(*source_, is_file ? kFirstMessage : 0);
    source_->RethrowFailure();
    const std::string codec = arrow::util::Codec::GetCodecAsString(header.codec);
    about_ += ", " + codec;
    tables_.emplace(header.schema, &slices_);
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
  void Convert(Slot& slot) const {
    constexpr std::size_t kStep = 1 << 20;
    const std::shared_ptr<arrow::Buffer> file =
        Guarded([&] { return TakeArrow(tables_->ToParquet(slot.batches)); }, [] { return std::string(); });
    slot.batches.clear();
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

  /// Reads the next record batch, null at the end.
  std::shared_ptr<arrow::RecordBatch> ReadBatch() {
    std::shared_ptr<arrow::RecordBatch> batch;
    if (file_) {
      if (read_ < file_->num_record_batches()) batch = Take(file_->ReadRecordBatch(read_));
    } else {
      batch = Take(stream_->Next());
      const std::int64_t at = Take(bytes_->Tell());
      if (!batch && at < static_cast<std::int64_t>(source_->size())) {
        throw Refusal{"other data after the end of the stream, at offset " + std::to_string(at) +
                      "; give several streams as several inputs"};
      }
    }
    ++read_;
    return batch;
  }

  /// Fills a slot with about `slice_bytes_` bytes. Returns false if there is nothing, or no memory yet.
  bool Fill(Slot& slot) {
    slot.batches.clear();
    std::uint64_t bytes = 0;
    while (bytes < slice_bytes_) {
      if (!batch_) {
        const auto used = static_cast<std::uint64_t>(batches_.bytes_allocated());
        const bool full = used > 0 && used + 2 * batch_bytes_ > batch_limit_;
        if (full && (bytes > 0 || !ring_.empty())) break;
        batch_ = ReadBatch();
        if (!batch_) {
          ended_ = true;
          break;
        }
        const auto now = static_cast<std::uint64_t>(batches_.bytes_allocated());
        batch_bytes_ = now - std::min(used, now);
        row_bytes_ = RowBytesOf(*batch_);
        batch_taken_ = 0;
      }
      const std::int64_t left = batch_->num_rows() - batch_taken_;
      const auto fitting = static_cast<std::int64_t>((slice_bytes_ - bytes) / row_bytes_ + 1);
      const std::int64_t rows = std::min({left, fitting, kMostRows});
      if (rows > 0) slot.batches.push_back(batch_->Slice(batch_taken_, rows));
      bytes += static_cast<std::uint64_t>(rows) * row_bytes_;
      batch_taken_ += rows;
      if (batch_taken_ == batch_->num_rows()) batch_.reset();
    }
    return !slot.batches.empty();
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
  std::string about_, header_;
  int read_ = 0;                               ///< how many record batches were read
  std::shared_ptr<arrow::RecordBatch> batch_;  ///< its first `batch_taken_` rows are in slots
  std::int64_t batch_taken_ = 0;
  std::uint64_t batch_bytes_ = 0, row_bytes_ = 1;
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

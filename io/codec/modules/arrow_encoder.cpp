// Encodes rows to a file or a stream of Arrow IPC. The caller's thread divides the rows into chunks, threads make a
// record batch of each chunk, and the caller's thread writes the record batches.
#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/writer.h>
#include <parquet/column_writer.h>
#include <parquet/exception.h>
#include <parquet/file_writer.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "io/codec/modules/arrow.hpp"
#include "io/codec/modules/parquet.hpp"
#include "io/codec/modules/parquet_files.hpp"
#include "io/codec/modules/parquet_memory.hpp"
#include "io/codec/modules/parquet_rows.hpp"
#include "io/codec/slot_ring.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// The codec of the buffers of record batches, and its level.
struct ArrowCodec {
  arrow::Compression::type type = arrow::Compression::UNCOMPRESSED;
  std::optional<int> level;
};

/// Returns the codec that a user names. Throws Refusal if there is none.
ArrowCodec ParseArrowCodec(const std::string& text) {
  if (text == "none") return {};
  if (text == "lz4") return {arrow::Compression::LZ4_FRAME, {}};
  const std::string name = text.substr(0, text.find(':'));
  if (name != "zst" && name != "zstd") throw Refusal{"Arrow is compressed by none, lz4 or zstd"};
  if (name.size() == text.size()) return {arrow::Compression::ZSTD, {}};
  int level = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + name.size() + 1, end, level);
  if (error != std::errc() || stop != end || level < 1 || level > 22) {
    throw Refusal{"the levels of " + name + " are 1 to 22"};
  }
  return {arrow::Compression::ZSTD, level};
}

class ArrowEncoder : public RowEncoder {
 public:
  ArrowEncoder(const RowEncoderOptions& options, std::function<void(std::span<const std::byte>)> sink, bool stream)
      : options_(options),
        stream_(stream),
        // The size of a chunk must not depend on the threads. A chunk takes about six times its size.
        chunk_bytes_(std::clamp<std::uint64_t>(options.group_bytes / 8, 128 << 10, 4 << 20)),
        pool_(RowEncoderBudget(options) / 2),
        out_(std::make_shared<SinkFile>(std::move(sink))),
        ring_(std::clamp<std::size_t>(RowEncoderBudget(options) / (6 * chunk_bytes_), 1, RingSlots(options.threads))) {
    if (!options.compression.empty()) named_ = ParseArrowCodec(options.compression);
  }

  void Write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min<std::size_t>(bytes.size(), chunk_bytes_));
      held_.insert(held_.end(), part.begin(), part.end());
      bytes = bytes.subspan(part.size());
      if (!tables_ && !Open()) continue;
      TakeRows();
    }
  }

  void Finish() override {
    if (!tables_ || whole_ != held_.size())
      throw Error(ErrorCode::kInternal, "the rows of the output end inside a row");
    if (whole_ > 0) Queue();
    while (!ring_.empty()) WriteOldest();
    RunForOutput("Arrow", *out_, [&] { PARQUET_THROW_NOT_OK(writer_->Close()); });
    ring_.Stop();
  }

 private:
  struct Slot {
    std::vector<std::byte> rows;
    std::vector<std::unique_ptr<ColumnPart>> parts;
    arrow::ipc::IpcPayload payload;
  };

  /// Opens the output if `held_` has the whole header, and removes the header.
  bool Open() {
    const std::uint64_t bytes = RowSchema::HeaderBytes(held_);
    if (bytes == 0) return false;
    schema_ = RowSchema::Parse(std::span(held_).first(bytes));
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(bytes));
    RunForOutput("Arrow", *out_, [&] {
      const ArrowHeader header = TakeArrow(ArrowHeader::Parse(schema_.file));
      tables_.emplace(header.schema, &pool_);
      const ArrowCodec codec = named_.value_or(ArrowCodec{header.codec, {}});
      ipc_.memory_pool = &pool_;
      ipc_.use_threads = false;
      if (codec.type != arrow::Compression::UNCOMPRESSED) {
        const int level = codec.level.value_or(arrow::util::kUseDefaultCompressionLevel);
        ipc_.codec = TakeArrow(arrow::util::Codec::Create(codec.type, level));
      }
      writer_ = TakeArrow(
          stream_ ? arrow::ipc::internal::MakePayloadStreamWriter(out_.get(), ipc_)
                  : arrow::ipc::internal::MakePayloadFileWriter(out_.get(), header.schema, ipc_, header.footer));
      PARQUET_THROW_NOT_OK(writer_->Start());
      arrow::ipc::IpcPayload payload;
      PARQUET_THROW_NOT_OK(arrow::ipc::GetSchemaPayload(*header.schema, ipc_,
                                                        arrow::ipc::DictionaryFieldMapper(*header.schema), &payload));
      PARQUET_THROW_NOT_OK(writer_->WritePayload(payload));
    });
    const auto convert = [this](Slot& slot) { Convert(slot); };
    while (options_.threads > 1 && ring_.workers() < options_.threads && ring_.StartWorker(convert)) continue;
    if (ring_.workers() == 0) own_ = convert;
    return true;
  }

  /// Makes a record batch of the rows of a slot.
  void Convert(Slot& slot) {
    const parquet::SchemaDescriptor& schema = *tables_->parquet().schema();
    for (int i = 0; slot.parts.size() < schema_.columns.size(); ++i) {
      slot.parts.push_back(
          MakeColumnPart(schema_.columns[static_cast<std::size_t>(i)], schema.Column(i)->physical_type()));
    }
    for (const auto& part : slot.parts) part->Clear();
    DivideRows(slot.rows, schema_, slot.parts);
    const auto sink =
        TakeArrow(arrow::io::BufferOutputStream::Create(static_cast<std::int64_t>(slot.rows.size()), &pool_));
    const auto writer = parquet::ParquetFileWriter::Open(
        sink, std::static_pointer_cast<parquet::schema::GroupNode>(schema.schema_root()), tables_->properties(),
        tables_->parquet().key_value_metadata());
    parquet::RowGroupWriter* const group = writer->AppendRowGroup();
    for (const auto& part : slot.parts) {
      parquet::ColumnWriter* const column = group->NextColumn();
      part->Write(*column);
      column->Close();
    }
    writer->Close();
    const auto batch = TakeArrow(tables_->FromParquet(TakeArrow(sink->Finish())));
    PARQUET_THROW_NOT_OK(arrow::ipc::GetRecordBatchPayload(*batch, ipc_, &slot.payload));
  }

  /// Queues chunks of whole rows.
  void TakeRows() {
    for (;;) {
      const std::size_t size = RowSizes::Of(std::span(held_).subspan(whole_)).here;
      if (size == 0 || size > held_.size() - whole_) return;
      if (whole_ > 0 && whole_ + size > chunk_bytes_) Queue();
      whole_ += size;
    }
  }

  /// Queues the whole rows of `held_`.
  void Queue() {
    if (ring_.full()) WriteOldest();
    std::vector<std::byte>& rows = ring_.filling().rows;
    rows.swap(held_);
    held_.assign(rows.begin() + static_cast<std::ptrdiff_t>(whole_), rows.end());
    rows.resize(whole_);
    whole_ = 0;
    ring_.Queue();
    while (!ring_.empty() && (ring_.full() || ring_.OldestIsDone())) WriteOldest();
  }

  void WriteOldest() {
    RunForOutput("Arrow", *out_, [&] {
      Slot& slot = ring_.Oldest(own_);
      PARQUET_THROW_NOT_OK(writer_->WritePayload(slot.payload));
      slot.payload = {};
    });
    ring_.Pop();
  }

  const RowEncoderOptions options_;
  const bool stream_;
  const std::uint64_t chunk_bytes_;
  std::optional<ArrowCodec> named_;
  RecyclingPool pool_;
  const std::shared_ptr<SinkFile> out_;
  RowSchema schema_;
  std::optional<ArrowTables> tables_;  ///< no value until the header is complete
  arrow::ipc::IpcWriteOptions ipc_;
  std::unique_ptr<arrow::ipc::internal::IpcPayloadWriter> writer_;
  std::vector<std::byte> held_;  ///< the header, or rows; the first `whole_` bytes are whole rows
  std::size_t whole_ = 0;
  SlotRing<Slot>::Work own_;  ///< null: workers convert
  SlotRing<Slot> ring_;       // its workers end before the other members are destroyed
};

}  // namespace

std::unique_ptr<RowEncoder> MakeArrowFileEncoder(const RowEncoderOptions& options,
                                                 std::function<void(std::span<const std::byte>)> sink) {
  return std::make_unique<ArrowEncoder>(options, std::move(sink), false);
}

std::unique_ptr<RowEncoder> MakeArrowStreamEncoder(const RowEncoderOptions& options,
                                                   std::function<void(std::span<const std::byte>)> sink) {
  return std::make_unique<ArrowEncoder>(options, std::move(sink), true);
}

std::string WhyNoArrowCodec(const std::string& compression) {
  try {
    ParseArrowCodec(compression);
    return {};
  } catch (const Refusal& refusal) {
    return refusal.why;
  }
}

}  // namespace gpusort

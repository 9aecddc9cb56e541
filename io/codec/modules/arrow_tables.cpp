#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/extension_type.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>

#include <algorithm>

#include "io/codec/modules/arrow.hpp"
#include "io/codec/modules/parquet.hpp"

namespace gpusort {
namespace {

using arrow::ArrayData;
using arrow::DataType;
using arrow::Type;
using TypePtr = std::shared_ptr<DataType>;

/// Returns a nested type with other children.
arrow::Result<TypePtr> WithChildren(const DataType& type, const arrow::FieldVector& children) {
  switch (type.id()) {
    case Type::LIST:
      return arrow::list(children[0]);
    case Type::LARGE_LIST:
      return arrow::large_list(children[0]);
    case Type::LIST_VIEW:
      return arrow::list_view(children[0]);
    case Type::LARGE_LIST_VIEW:
      return arrow::large_list_view(children[0]);
    case Type::FIXED_SIZE_LIST: {
      const std::int32_t size = static_cast<const arrow::FixedSizeListType&>(type).list_size();
      if (size == 0) break;
      return arrow::fixed_size_list(children[0], size);
    }
    case Type::STRUCT:
      return arrow::struct_(children);
    case Type::MAP:
      return arrow::MapType::Make(children[0], static_cast<const arrow::MapType&>(type).keys_sorted());
    default:
      break;
  }
  return arrow::Status::NotImplemented("rows cannot hold ", type.ToString());
}

bool HasDictionary(const DataType& type) {
  if (type.id() == Type::DICTIONARY) return true;
  if (type.id() == Type::EXTENSION) {
    return HasDictionary(*static_cast<const arrow::ExtensionType&>(type).storage_type());
  }
  return std::ranges::any_of(type.fields(), [](const auto& field) { return HasDictionary(*field->type()); });
}

/// Returns the type without a dictionary. Slices of a column share the dictionaries inside of groups and lists, so each
/// slice would need all their values.
arrow::Result<TypePtr> PlainType(const TypePtr& type) {
  const bool is_dictionary = type->id() == Type::DICTIONARY;
  TypePtr plain = is_dictionary ? static_cast<const arrow::DictionaryType&>(*type).value_type() : type;
  if (HasDictionary(*plain)) {
    return arrow::Status::NotImplemented("rows cannot hold dictionaries inside of groups, lists and extension types");
  }
  return plain;
}

/// Returns a type with the same buffers as the plain type `type`, which Parquet gives back exactly.
arrow::Result<TypePtr> TableType(const DataType& type) {
  switch (type.id()) {
    case Type::EXTENSION:
      return TableType(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    case Type::TIMESTAMP:
      if (static_cast<const arrow::TimestampType&>(type).unit() == arrow::TimeUnit::SECOND) return arrow::int64();
      break;
    case Type::DATE64:
      return arrow::int64();
    case Type::TIME32:
      return arrow::int32();
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256: {
      // Parquet has no negative scales, and the order does not depend on the scale.
      const auto& decimal = static_cast<const arrow::DecimalType&>(type);
      if (decimal.scale() >= 0 && decimal.scale() <= decimal.precision()) break;
      return arrow::DecimalType::Make(type.id(), decimal.precision(), 0);
    }
    default:
      break;
  }
  if (type.num_fields() == 0) return type.GetSharedPtr();
  arrow::FieldVector children;
  for (const auto& field : type.fields()) {
    ARROW_ASSIGN_OR_RAISE(TypePtr child, TableType(*field->type()));
    children.push_back(arrow::field(field->name(), std::move(child), field->nullable()));
  }
  return WithChildren(type, children);
}

/// Returns the values of an array whose type is a dictionary.
arrow::Result<std::shared_ptr<ArrayData>> Values(const ArrayData& data, arrow::compute::ExecContext* context) {
  const auto& type = static_cast<const arrow::DictionaryType&>(*data.type);
  const std::shared_ptr<ArrayData> indices = data.Copy();
  indices->type = type.index_type();
  indices->dictionary = nullptr;
  std::shared_ptr<ArrayData> values = data.dictionary;
  const bool views = type.value_type()->id() == Type::STRING_VIEW || type.value_type()->id() == Type::BINARY_VIEW;
  if (views) {
    // The views are taken as values of a fixed size. They point to the same strings as before.
    constexpr std::int32_t kViewBytes = 16;
    values = values->Copy();
    values->type = arrow::fixed_size_binary(kViewBytes);
    values->buffers.resize(2);
  }
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum taken,
                        arrow::compute::Take(arrow::Datum(values), arrow::Datum(indices),
                                             arrow::compute::TakeOptions::NoBoundsCheck(), context));
  std::shared_ptr<ArrayData> result = taken.array();
  if (views) {
    result = result->Copy();
    result->type = type.value_type();
    const auto& buffers = data.dictionary->buffers;
    result->buffers.insert(result->buffers.end(), buffers.begin() + 2, buffers.end());
  }
  return result;
}

/// Returns the same values with another type, which has the same buffers unless a type is a dictionary.
arrow::Result<std::shared_ptr<ArrayData>> WithType(const ArrayData& data, const TypePtr& type,
                                                   arrow::compute::ExecContext* context) {
  if (data.type->id() == Type::DICTIONARY) {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<ArrayData> values, Values(data, context));
    return WithType(*values, type, context);
  }
  const std::shared_ptr<ArrayData> result = data.Copy();
  result->type = type;
  const DataType& storage =
      type->id() == Type::EXTENSION ? *static_cast<const arrow::ExtensionType&>(*type).storage_type() : *type;
  for (std::size_t i = 0; i < result->child_data.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(result->child_data[i],
                          WithType(*data.child_data[i], storage.field(static_cast<int>(i))->type(), context));
  }
  return result;
}

}  // namespace

ArrowTables::ArrowTables(const std::shared_ptr<arrow::Schema>& schema, arrow::MemoryPool* pool) : pool_(pool) {
  parquet::WriterProperties::Builder builder;
  builder.memory_pool(pool);
  builder.version(parquet::ParquetVersion::PARQUET_2_LATEST);
  builder.disable_dictionary();
  builder.disable_statistics();
  properties_ = builder.build();
  Guarded(
      [&] {
        if (const arrow::Status opened = Open(schema); opened.ok()) return;
        // A schema with one column tells which column cannot be converted.
        for (const auto& field : schema->fields()) {
          const arrow::Status status = Open(arrow::schema({field}));
          if (!status.ok()) {
            throw Refusal{"column '" + field->name() + "' of " + field->type()->ToString() +
                          " cannot be sorted: " + status.message()};
          }
        }
        PARQUET_THROW_NOT_OK(Open(schema));
      },
      [] { return std::string("its schema: "); });
}

arrow::Status ArrowTables::Open(const std::shared_ptr<arrow::Schema>& schema) {
  arrow::FieldVector output, tables;
  if (schema->num_fields() == 0) return arrow::Status::Invalid("it has no columns, so there is nothing to sort");
  for (const auto& field : schema->fields()) {
    ARROW_ASSIGN_OR_RAISE(const TypePtr plain, PlainType(field->type()));
    ARROW_ASSIGN_OR_RAISE(TypePtr table, TableType(*plain));
    if (!plain->Equals(*field->type())) {
      // Not every type of values can be taken from a dictionary.
      ARROW_ASSIGN_OR_RAISE(const auto none, arrow::MakeEmptyArray(field->type(), pool_));
      arrow::compute::ExecContext context(pool_);
      ARROW_RETURN_NOT_OK(WithType(*none->data(), table, &context).status());
    }
    output.push_back(field->WithType(plain));
    tables.push_back(arrow::field(field->name(), std::move(table), field->nullable()));
  }
  output_ = arrow::schema(output, schema->metadata());
  tables_ = arrow::schema(tables);
  ARROW_ASSIGN_OR_RAISE(empty_file_, Write(tables_, nullptr));
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Table> read, Read(empty_file_));
  if (!read->schema()->Equals(*tables_, false)) return arrow::Status::Invalid("Parquet cannot hold its type");
  parquet_ = parquet::ParquetFileReader::Open(std::make_shared<arrow::io::BufferReader>(empty_file_))->metadata();
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ArrowTables::Write(const std::shared_ptr<arrow::Schema>& schema,
                                                                 const arrow::Table* table) const {
  ARROW_ASSIGN_OR_RAISE(const auto sink, arrow::io::BufferOutputStream::Create(1 << 16, pool_));
  parquet::ArrowWriterProperties::Builder arrow_builder;
  const auto arrow_properties = arrow_builder.store_schema()->build();
  ARROW_ASSIGN_OR_RAISE(const auto writer,
                        parquet::arrow::FileWriter::Open(*schema, pool_, sink, properties_, arrow_properties));
  if (table != nullptr) ARROW_RETURN_NOT_OK(writer->WriteTable(*table, std::max<std::int64_t>(1, table->num_rows())));
  ARROW_RETURN_NOT_OK(writer->Close());
  return sink->Finish();
}

arrow::Result<std::shared_ptr<arrow::Table>> ArrowTables::Read(std::shared_ptr<arrow::Buffer> file) const {
  parquet::ReaderProperties properties(pool_);
  std::unique_ptr<parquet::ParquetFileReader> reader =
      parquet::ParquetFileReader::Open(std::make_shared<arrow::io::BufferReader>(std::move(file)), properties);
  parquet::ArrowReaderProperties arrow_properties(false);
  arrow_properties.set_pre_buffer(false);
  ARROW_ASSIGN_OR_RAISE(const auto rows, parquet::arrow::FileReader::Make(pool_, std::move(reader), arrow_properties));
  return rows->ReadTable();
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ArrowTables::ToParquet(const arrow::RecordBatchVector& batches) const {
  arrow::compute::ExecContext context(pool_);
  context.set_use_threads(false);
  arrow::RecordBatchVector simple;
  for (const std::shared_ptr<arrow::RecordBatch>& batch : batches) {
    std::vector<std::shared_ptr<ArrayData>> columns;
    for (int i = 0; i < batch->num_columns(); ++i) {
      ARROW_ASSIGN_OR_RAISE(columns.emplace_back(),
                            WithType(*batch->column_data(i), tables_->field(i)->type(), &context));
    }
    simple.push_back(arrow::RecordBatch::Make(tables_, batch->num_rows(), std::move(columns)));
  }
  ARROW_ASSIGN_OR_RAISE(const auto table, arrow::Table::FromRecordBatches(tables_, simple));
  return Write(tables_, table.get());
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ArrowTables::FromParquet(std::shared_ptr<arrow::Buffer> file) const {
  ARROW_ASSIGN_OR_RAISE(const auto table, Read(std::move(file)));
  ARROW_ASSIGN_OR_RAISE(const auto batch, table->CombineChunksToBatch(pool_));
  std::vector<std::shared_ptr<ArrayData>> columns;
  for (int i = 0; i < batch->num_columns(); ++i) {
    ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), WithType(*batch->column_data(i), output_->field(i)->type(), nullptr));
  }
  return arrow::RecordBatch::Make(output_, batch->num_rows(), std::move(columns));
}

arrow::Result<std::string> ArrowHeader::ToText() const {
  std::string text{static_cast<char>(codec)};
  for (const auto& part : {schema, arrow::schema({}, footer ? footer->Copy() : nullptr)}) {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> bytes, arrow::ipc::SerializeSchema(*part));
    text += bytes->ToString();
  }
  return text;
}

arrow::Result<ArrowHeader> ArrowHeader::Parse(const std::string& text) {
  ArrowHeader header;
  if (text.empty()) return arrow::Status::Invalid("the header of rows is damaged");
  header.codec = static_cast<arrow::Compression::type>(text[0]);
  arrow::io::BufferReader reader(arrow::Buffer::FromString(text.substr(1)));
  arrow::ipc::DictionaryMemo none;
  ARROW_ASSIGN_OR_RAISE(header.schema, arrow::ipc::ReadSchema(&reader, &none));
  ARROW_ASSIGN_OR_RAISE(const auto footer, arrow::ipc::ReadSchema(&reader, &none));
  header.footer = footer->metadata();
  return header;
}

}  // namespace gpusort

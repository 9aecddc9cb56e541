// The parts of the module for Parquet. Start at MakeParquetDecoder and MakeParquetEncoder.
#pragma once

#include <parquet/exception.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <memory>
#include <string>

#include "io/codec/codec_module.hpp"
#include "io/codec/row_module.hpp"
#include "io/codec/row_schema.hpp"

namespace gpusort {

/// Each of these functions does what the member of RowModule does.
std::unique_ptr<RowDecoder> MakeParquetDecoder(RowFile file, const RowDecoderOptions& options);
std::unique_ptr<RowEncoder> MakeParquetEncoder(const RowEncoderOptions& options,
                                               std::function<void(std::span<const std::byte>)> sink);
std::string WhyNoParquetCodec(const std::string& compression);

/// Calls function(type) with the Parquet type of a column, such as parquet::Int32Type().
template <typename Function>
auto WithParquetType(parquet::Type::type type, Function function) {
  switch (type) {
    case parquet::Type::BOOLEAN:
      return function(parquet::BooleanType());
    case parquet::Type::INT32:
      return function(parquet::Int32Type());
    case parquet::Type::INT64:
      return function(parquet::Int64Type());
    case parquet::Type::INT96:
      return function(parquet::Int96Type());
    case parquet::Type::FLOAT:
      return function(parquet::FloatType());
    case parquet::Type::DOUBLE:
      return function(parquet::DoubleType());
    case parquet::Type::BYTE_ARRAY:
      return function(parquet::ByteArrayType());
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return function(parquet::FLBAType());
    case parquet::Type::UNDEFINED:
      break;
  }
  throw Refusal{"a column has an unknown type"};
}

/// Runs `step` and turns the exceptions of the libraries into Refusal. `where` is called for the beginning of the
/// message.
template <typename Step, typename Where>
auto Guarded(Step step, Where where) {
  try {
    return step();
  } catch (const parquet::ParquetStatusException& error) {
    if (error.status().IsOutOfMemory()) throw std::bad_alloc();
    throw Refusal{where() + error.what()};
  } catch (const parquet::ParquetException& error) {
    throw Refusal{where() + error.what()};
  }
}

}  // namespace gpusort

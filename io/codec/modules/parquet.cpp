// The functions that the program loads, for Parquet and Arrow, read and written by the libraries of Apache Arrow.
#include "io/codec/modules/parquet.hpp"

#include "io/codec/modules/arrow.hpp"
#include "io/codec/modules/kept_rows.hpp"
#include "version.hpp"

const gpusort::RowModule* gpusort_rows_parquet() {
  static constexpr gpusort::RowModule kModule{GPUSORT_ROWS_VERSION, gpusort::MakeParquetDecoder,
                                              gpusort::MakeParquetEncoder, gpusort::MakeKeptRows,
                                              gpusort::WhyNoParquetCodec};
  return &kModule;
}

const gpusort::RowModule* gpusort_rows_arrow() {
  static constexpr gpusort::RowModule kModule{GPUSORT_ROWS_VERSION, gpusort::MakeArrowDecoder,
                                              gpusort::MakeArrowFileEncoder, gpusort::MakeKeptRows,
                                              gpusort::WhyNoArrowCodec};
  return &kModule;
}

const gpusort::RowModule* gpusort_rows_arrow_stream() {
  static constexpr gpusort::RowModule kModule{GPUSORT_ROWS_VERSION, gpusort::MakeArrowDecoder,
                                              gpusort::MakeArrowStreamEncoder, gpusort::MakeKeptRows,
                                              gpusort::WhyNoArrowCodec};
  return &kModule;
}

// Parquet, read and written by the libraries of Apache Arrow.
#include "io/codec/modules/parquet.hpp"

#include "io/codec/modules/kept_rows.hpp"
#include "version.hpp"

const gpusort::RowModule* gpusort_rows_parquet() {
  static constexpr gpusort::RowModule kModule{GPUSORT_ROWS_VERSION, gpusort::MakeParquetDecoder,
                                              gpusort::MakeParquetEncoder, gpusort::MakeKeptRows,
                                              gpusort::WhyNoParquetCodec};
  return &kModule;
}

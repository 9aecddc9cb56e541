// labels: brief
// Fuzzes the module for Parquet: decodes arbitrary bytes in little memory, encodes the rows, and decodes them again.
// Byte 0 chooses the sizes of reads and the number of threads. make_parquet_corpus.py makes the stored inputs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "io/codec/codec_module.hpp"
#include "io/codec/row_module.hpp"
#include "io/codec/row_schema.hpp"
#include "kernels/error.hpp"
#include "require.hpp"

namespace {

using gpusort::Codec;
using gpusort::Error;
using gpusort::ErrorCode;
using gpusort::kMiB;
using gpusort::LoadRows;
using gpusort::Refusal;
using gpusort::Require;
using gpusort::RowSchema;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kMostBytes = 1 << 20;  ///< a small file may have very many rows

/// Returns the header and the rows up to kMostBytes, or std::nullopt if the file is refused.
std::optional<Bytes> Decode(std::span<const std::byte> file, std::size_t step, unsigned threads) {
  const auto read = [file](std::uint64_t offset, std::span<std::byte> out) -> std::uint64_t {
    if (offset >= file.size()) return 0;
    const std::size_t count = std::min(out.size(), file.size() - static_cast<std::size_t>(offset));
    std::memcpy(out.data(), file.data() + offset, count);
    return count;
  };
  try {
    const auto decoder =
        LoadRows(Codec::kParquet).make_decoder({file.size(), read}, {.memory_bytes = 32 * kMiB, .threads = threads});
    Bytes all, part(step);
    while (all.size() < kMostBytes) {
      const std::uint64_t got = decoder->Read(part);
      Require(got <= part.size(), "more than was asked for");
      if (got == 0) break;
      all.insert(all.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(got));
    }
    return all;
  } catch (const Refusal& refusal) {
    Require(!refusal.why.empty(), "a refusal without a reason");
    return std::nullopt;
  }
}

/// Returns the file with these rows, or std::nullopt if the rows are refused.
std::optional<Bytes> Encode(std::span<const std::byte> rows, std::size_t step, unsigned threads) {
  Bytes file;
  const auto sink = [&file](std::span<const std::byte> bytes) { file.insert(file.end(), bytes.begin(), bytes.end()); };
  try {
    const auto encoder =
        LoadRows(Codec::kParquet).make_encoder({.compression = {}, .group_bytes = kMiB, .threads = threads}, sink);
    for (; !rows.empty(); rows = rows.subspan(std::min(step, rows.size()))) {
      encoder->Write(rows.first(std::min(step, rows.size())));
    }
    encoder->Finish();
    return file;
  } catch (const Error& error) {
    // Arrow reads types of later versions of the format, and does not write them.
    Require(error.code() == ErrorCode::kIo, error.what());
    return std::nullopt;
  }
}

std::span<const std::byte> WithoutHeader(const Bytes& rows) {
  const std::uint64_t header = RowSchema::HeaderBytes(rows);
  Require(header > 0 && header <= rows.size(), "no whole header");
  return std::span(rows).subspan(static_cast<std::size_t>(header));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count < 1) return 0;
  const std::size_t step = std::size_t{1} << (bytes[0] % 16);
  const unsigned threads = 1 + (bytes[0] >> 4) % 3;
  const auto data = std::as_bytes(std::span(bytes, count)).subspan(1);
  const std::optional<Bytes> rows = Decode(data, step, threads);
  const std::optional<Bytes> again = Decode(data, kMostBytes, 1);
  if (!rows || rows->size() >= kMostBytes) return 0;
  Require(again == rows, "the rows depend on the sizes of reads or on threads");
  const std::optional<Bytes> file = Encode(*rows, step, threads);
  if (!file) return 0;
  const std::optional<Bytes> back = Decode(*file, kMostBytes, 1);
  Require(back.has_value(), "the encoded file is refused");
  Require(std::ranges::equal(WithoutHeader(*back), WithoutHeader(*rows)), "other rows after encoding and decoding");
  return 0;
}

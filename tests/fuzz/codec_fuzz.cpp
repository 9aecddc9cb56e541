// labels: brief
// Fuzzes decompression with arbitrary bytes. Byte 0 chooses the codec, byte 1 the sizes of reads and writes. For any
// sizes of reads the result must be the same: kBadInput, or the same bytes within the limit. For a block the error is
// kIntegrity.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "io/codec/codec.hpp"
#include "kernels/error.hpp"
#include "require.hpp"

namespace {

using gpusort::BlockCodec;
using gpusort::Codec;
using gpusort::Decoder;
using gpusort::Error;
using gpusort::ErrorCode;
using gpusort::Require;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kMaxExpandedBytes = 1 << 20;
constexpr std::size_t kMaxBlockBytes = 1 << 16;

/// Returns the content, or std::nullopt if the data are refused.
std::optional<Bytes> Expand(Codec codec, std::span<const std::byte> data, std::size_t source_most,
                            std::size_t read_most) {
  Decoder decoder(codec, "fuzz",
                  [&, at = std::size_t{0}](std::span<std::byte> out) mutable -> std::uint64_t {
                    const std::size_t count = std::min({data.size() - at, out.size(), source_most});
                    if (count > 0) std::memcpy(out.data(), data.data() + at, count);
                    at += count;
                    return count;
                  },
                  {.expanded_bytes = kMaxExpandedBytes});
  Bytes all;
  Bytes part(read_most);
  try {
    while (const std::uint64_t got = decoder.Read(part)) {
      Require(got <= part.size(), "more than was asked for");
      all.insert(all.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(got));
      Require(all.size() <= kMaxExpandedBytes, "more than the limit");
    }
  } catch (const Error& error) {
    Require(error.code() == ErrorCode::kBadInput, error.what());
    Require(std::string(error.what()).starts_with("fuzz: "), error.what());
    return std::nullopt;
  }
  Require(decoder.offset() == data.size(), "an end before the end of the data");
  Require(decoder.expanded_bytes() == all.size(), "a wrong count");
  return all;
}

void ExpandBlock(Codec codec, std::span<const std::byte> data, std::size_t size) {
  Bytes out(size);
  try {
    BlockCodec(codec).Decompress(data, out);
  } catch (const Error& error) {
    Require(error.code() == ErrorCode::kIntegrity, error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count < 2) return 0;
  constexpr Codec kCodecs[] = {Codec::kGz, Codec::kBz2, Codec::kXz, Codec::kZst, Codec::kLz4};
  const Codec codec = kCodecs[bytes[0] % std::size(kCodecs)];
  const std::size_t step = bytes[1] + std::size_t{1};
  const auto data = std::as_bytes(std::span(bytes, count)).subspan(2);
  const std::optional<Bytes> whole = Expand(codec, data, 1 << 20, kMaxExpandedBytes + 1);
  Require(Expand(codec, data, step, 300 * step) == whole, "the answer depends on the sizes of reads");
  ExpandBlock(Codec::kNumbers, data, step);
  ExpandBlock(codec, data, whole && whole->size() <= kMaxBlockBytes ? whole->size() : step);
  return 0;
}

// bzip2, compressed and expanded by its library.
#include <bzlib.h>

#include "io/codec/modules/stream_coder.hpp"
#include "version.hpp"

namespace gpusort {
namespace {

constexpr int kLevel = 9;

class Bz2Decoder final : public MemberDecoder {
 public:
  explicit Bz2Decoder(std::uint64_t) {}
  void Begin(std::span<const std::byte>) override {
    BZ2_bzDecompressEnd(&stream_);
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) ThrowOutOfMemory("bz2");
  }
  bool Decode(std::span<const std::byte>& in, std::span<std::byte>& out) override {
    const int result = Step(stream_, in, out, [&] { return BZ2_bzDecompress(&stream_); });
    if (result == BZ_MEM_ERROR) ThrowOutOfMemory("bz2");
    if (result == BZ_DATA_ERROR) throw Refusal{"a block or its checksum is wrong"};
    if (result == BZ_DATA_ERROR_MAGIC) throw Refusal{"wrong header"};
    if (result != BZ_OK && result != BZ_STREAM_END) throw Refusal{"bzip2 error " + std::to_string(result)};
    return result == BZ_STREAM_END;
  }

 private:
  OwnStream<bz_stream, BZ2_bzDecompressEnd> stream_;
};

class Bz2Compressor {
 public:
  Bz2Compressor() {
    if (BZ2_bzCompressInit(&stream_, kLevel, 0, 0) != BZ_OK) ThrowOutOfMemory("bz2");
  }
  bool Compress(std::span<const std::byte>& in, std::span<std::byte>& out, bool finish) {
    const int result = Step(stream_, in, out, [&] { return BZ2_bzCompress(&stream_, finish ? BZ_FINISH : BZ_RUN); });
    if (result < 0) ThrowInternal("bz2", "bzip2 error " + std::to_string(result));
    return result != BZ_STREAM_END;
  }

 private:
  OwnStream<bz_stream, BZ2_bzCompressEnd> stream_;
};

constexpr Magic kMagics[] = {{"BZh"}};
constexpr CodecModule kModule = {
    .version = GPUSORT_CODEC_VERSION,
    .magics = kMagics,
    .head_bytes = 3,
    .padding = Padding::kNone,
    .member_bytes = 3'600'000,  // bz2 has blocks of 900,000 bytes
    .decoder_memory = AlwaysTakes<4 * kMiB>,
    .encoder_memory = [] { return 8 * kMiB; },
    .make_decoder = Make<MemberDecoder, Bz2Decoder, std::uint64_t>,
    .make_encoder = Make<MemberEncoder, StreamEncoder<Bz2Compressor>>,
};

}  // namespace
}  // namespace gpusort

const gpusort::CodecModule* gpusort_codec_bz2() { return &gpusort::kModule; }

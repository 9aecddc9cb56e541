// bzip2, by its library.
#include <bzlib.h>

#include "io/codec/modules/stream_coder.hpp"

namespace gpusort {
namespace {

constexpr int kLevel = 9;

class Bz2Decoder final : public MemberDecoder {
 public:
  Bz2Decoder() = default;
  Bz2Decoder(const Bz2Decoder&) = delete;
  Bz2Decoder& operator=(const Bz2Decoder&) = delete;
  ~Bz2Decoder() override { End(); }
  void Begin(std::span<const std::byte>) override {
    End();
    stream_ = {};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) ThrowOutOfMemory("bz2");
    open_ = true;
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
  void End() {
    if (open_) BZ2_bzDecompressEnd(&stream_);
    open_ = false;
  }

  bz_stream stream_{};
  bool open_ = false;
};

class Bz2Compressor {
 public:
  Bz2Compressor() {
    if (BZ2_bzCompressInit(&stream_, kLevel, 0, 0) != BZ_OK) ThrowOutOfMemory("bz2");
  }
  Bz2Compressor(const Bz2Compressor&) = delete;
  Bz2Compressor& operator=(const Bz2Compressor&) = delete;
  ~Bz2Compressor() { BZ2_bzCompressEnd(&stream_); }
  bool Compress(std::span<const std::byte>& in, std::span<std::byte>& out, bool finish) {
    const int result = Step(stream_, in, out, [&] { return BZ2_bzCompress(&stream_, finish ? BZ_FINISH : BZ_RUN); });
    if (result < 0) ThrowInternal("bz2", "bzip2 error " + std::to_string(result));
    return result != BZ_STREAM_END;
  }

 private:
  bz_stream stream_{};
};

constexpr Magic kMagics[] = {{"BZh"}};
constexpr CodecModule kModule = {
    .version = GPUSORT_CODEC_VERSION,
    .magics = kMagics,
    .head_bytes = 3,
    .padding = Padding::kNone,
    .member_bytes = 3'600'000,  // bz2 has blocks of 900,000 bytes
    .decoder_memory =
        [](std::uint64_t) {
          return DecoderMemory{4 * kMiB, 4 * kMiB};
        },
    .encoder_memory = [] { return 8 * kMiB; },
    .make_decoder = [](std::uint64_t) -> std::unique_ptr<MemberDecoder> { return std::make_unique<Bz2Decoder>(); },
    .make_encoder = []() -> std::unique_ptr<MemberEncoder> { return std::make_unique<StreamEncoder<Bz2Compressor>>(); },
    .make_block_coder = nullptr,
};

}  // namespace
}  // namespace gpusort

const gpusort::CodecModule* gpusort_codec_bz2() { return &gpusort::kModule; }

// xz, compressed and expanded by liblzma.
#include <lzma.h>

#include "io/codec/modules/stream_coder.hpp"
#include "version.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kMostDecoderBytes = 256 * kMiB;

class XzDecoder final : public MemberDecoder {
 public:
  explicit XzDecoder(std::uint64_t memory_bytes) : memory_bytes_(memory_bytes) {}
  void Begin(std::span<const std::byte>) override {
    const lzma_ret result = lzma_stream_decoder(&stream_, memory_bytes_, LZMA_TELL_UNSUPPORTED_CHECK);
    if (result == LZMA_MEM_ERROR) ThrowOutOfMemory("xz");
    if (result != LZMA_OK) ThrowInternal("xz", "lzma_stream_decoder: " + std::to_string(result));
  }
  bool Decode(std::span<const std::byte>& in, std::span<std::byte>& out) override {
    const lzma_ret result = Step(stream_, in, out, [&] { return lzma_code(&stream_, LZMA_RUN); });
    switch (result) {
      case LZMA_OK:
      case LZMA_BUF_ERROR:  // no progress without more input
        return false;
      case LZMA_STREAM_END:
        return true;
      case LZMA_MEM_ERROR:
        ThrowOutOfMemory("xz");
      case LZMA_MEMLIMIT_ERROR:
        throw Refusal{"expanding it takes memory of", lzma_memusage(&stream_)};
      case LZMA_FORMAT_ERROR:
        throw Refusal{"wrong header"};
      case LZMA_OPTIONS_ERROR:
        throw Refusal{"options that this program does not know"};
      case LZMA_UNSUPPORTED_CHECK:
        throw Refusal{"a kind of checksum that this program does not know"};
      case LZMA_DATA_ERROR:
        throw Refusal{"a block or its checksum is wrong"};
      default:
        throw Refusal{"xz error " + std::to_string(result)};
    }
  }

 private:
  const std::uint64_t memory_bytes_;
  OwnStream<lzma_stream, lzma_end> stream_;
};

lzma_mt Settings() {
  lzma_mt settings{};
  settings.threads = 1;
  settings.preset = 6;
  settings.check = LZMA_CHECK_CRC32;
  return settings;
}

class XzCompressor {
 public:
  XzCompressor() {
    const lzma_mt settings = Settings();
    const lzma_ret result = lzma_stream_encoder_mt(&stream_, &settings);
    if (result == LZMA_MEM_ERROR) ThrowOutOfMemory("xz");
    if (result != LZMA_OK) ThrowInternal("xz", "lzma_stream_encoder_mt: " + std::to_string(result));
  }
  bool Compress(std::span<const std::byte>& in, std::span<std::byte>& out, bool finish) {
    const lzma_ret result =
        Step(stream_, in, out, [&] { return lzma_code(&stream_, finish ? LZMA_FINISH : LZMA_RUN); });
    if (result == LZMA_MEM_ERROR) ThrowOutOfMemory("xz");
    if (result != LZMA_OK && result != LZMA_STREAM_END) ThrowInternal("xz", "xz error " + std::to_string(result));
    return result != LZMA_STREAM_END;
  }

 private:
  OwnStream<lzma_stream, lzma_end> stream_;
};

std::uint64_t EncoderMemory() {
  const lzma_mt settings = Settings();
  return lzma_stream_encoder_mt_memusage(&settings);
}

DecoderMemory KeepTo(std::uint64_t limit) {
  const std::uint64_t bytes = std::min(limit, kMostDecoderBytes);
  return {bytes, bytes};
}

using std::string_view_literals::operator""sv;
constexpr Magic kMagics[] = {{"\xfd\x37zXZ\0"sv}};
constexpr CodecModule kModule = {
    .version = GPUSORT_CODEC_VERSION,
    .magics = kMagics,
    .head_bytes = 6,
    .padding = Padding::kFours,
    .member_bytes = 8 * kMiB,  // the dictionary of level 6
    .decoder_memory = KeepTo,
    .encoder_memory = EncoderMemory,
    .make_decoder = Make<MemberDecoder, XzDecoder, std::uint64_t>,
    .make_encoder = Make<MemberEncoder, StreamEncoder<XzCompressor>>,
};

}  // namespace
}  // namespace gpusort

const gpusort::CodecModule* gpusort_codec_xz() { return &gpusort::kModule; }

// gzip, compressed and expanded by zlib.
#include <zlib.h>

#include "io/codec/modules/stream_coder.hpp"
#include "version.hpp"

namespace gpusort {
namespace {

constexpr int kLevel = 6;
constexpr int kGzipFormat = 16;  // added to the argument for the size of the window

class GzDecoder final : public MemberDecoder {
 public:
  explicit GzDecoder(std::uint64_t) {
    if (inflateInit2(&stream_, MAX_WBITS + kGzipFormat) != Z_OK) ThrowOutOfMemory("gz");
  }
  void Begin(std::span<const std::byte>) override {
    if (inflateReset(&stream_) != Z_OK) ThrowInternal("gz", "inflateReset");
  }
  bool Decode(std::span<const std::byte>& in, std::span<std::byte>& out) override {
    const int result = Step(stream_, in, out, [&] { return inflate(&stream_, Z_NO_FLUSH); });
    if (result == Z_MEM_ERROR) ThrowOutOfMemory("gz");
    // Z_BUF_ERROR: no progress without more input.
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      throw Refusal{stream_.msg != nullptr ? stream_.msg : "inflate error " + std::to_string(result)};
    }
    return result == Z_STREAM_END;
  }

 private:
  OwnStream<z_stream, inflateEnd> stream_;
};

class GzCompressor {
 public:
  GzCompressor() {
    constexpr int kUsualMemory = 8;
    if (deflateInit2(&stream_, kLevel, Z_DEFLATED, MAX_WBITS + kGzipFormat, kUsualMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
      ThrowOutOfMemory("gz");
    }
  }
  bool Compress(std::span<const std::byte>& in, std::span<std::byte>& out, bool finish) {
    const int result = Step(stream_, in, out, [&] { return deflate(&stream_, finish ? Z_FINISH : Z_NO_FLUSH); });
    if (result != Z_OK && result != Z_STREAM_END) ThrowInternal("gz", "deflate error " + std::to_string(result));
    return result != Z_STREAM_END;
  }

 private:
  OwnStream<z_stream, deflateEnd> stream_;
};

constexpr Magic kMagics[] = {{"\x1f\x8b"}};
constexpr CodecModule kModule = {
    .version = GPUSORT_CODEC_VERSION,
    .magics = kMagics,
    .head_bytes = 2,
    .padding = Padding::kAtEnd,
    .member_bytes = kMiB,  // gz refers back at most 32 KiB, so that a new member costs little
    .decoder_memory = AlwaysTakes<64 * kKiB>,
    .encoder_memory = [] { return 512 * kKiB; },
    .make_decoder = Make<MemberDecoder, GzDecoder, std::uint64_t>,
    .make_encoder = Make<MemberEncoder, StreamEncoder<GzCompressor>>,
};

}  // namespace
}  // namespace gpusort

const gpusort::CodecModule* gpusort_codec_gz() { return &gpusort::kModule; }

// LZ4 frames and blocks, compressed and expanded by liblz4. Boost has no filter for them.
#include <lz4.h>
#include <lz4frame.h>

#include <algorithm>

#include "io/codec/codec_module.hpp"
#include "version.hpp"

namespace gpusort {
namespace {

bool IsOutOfMemory(std::size_t result) {
  return std::string_view(LZ4F_getErrorName(result)) == "ERROR_allocation_failed";
}

/// Returns `result`, or throws if it is an error.
std::size_t Checked(std::size_t result) {
  if (LZ4F_isError(result) == 0) return result;
  if (IsOutOfMemory(result)) ThrowOutOfMemory("lz4");
  ThrowInternal("lz4", LZ4F_getErrorName(result));
}

/// Decode gives the library exactly as many bytes as it asks for, which is one block. The library does not say at which
/// byte it fails, so an error is reported at the start of its block.
class Lz4Decoder final : public MemberDecoder {
 public:
  explicit Lz4Decoder(std::uint64_t) {
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION)) != 0) ThrowOutOfMemory("lz4");
  }
  Lz4Decoder(const Lz4Decoder&) = delete;
  Lz4Decoder& operator=(const Lz4Decoder&) = delete;
  ~Lz4Decoder() override { LZ4F_freeDecompressionContext(context_); }
  void Begin(std::span<const std::byte>) override {
    LZ4F_resetDecompressionContext(context_);
    wanted_ = kFirstBytes;
  }
  bool Decode(std::span<const std::byte>& in, std::span<std::byte>& out) override {
    std::size_t in_bytes = std::min(in.size(), wanted_);
    std::size_t out_bytes = out.size();
    const std::size_t result = LZ4F_decompress(context_, out.data(), &out_bytes, in.data(), &in_bytes, nullptr);
    if (LZ4F_isError(result) != 0) {
      if (IsOutOfMemory(result)) ThrowOutOfMemory("lz4");
      throw Refusal{LZ4F_getErrorName(result)};
    }
    in = in.subspan(in_bytes);
    out = out.subspan(out_bytes);
    wanted_ = result;
    return result == 0;
  }

 private:
  static constexpr std::size_t kFirstBytes = LZ4F_HEADER_SIZE_MIN;
  LZ4F_dctx* context_ = nullptr;
  std::size_t wanted_ = kFirstBytes;
};

class Lz4Encoder final : public MemberEncoder {
 public:
  Lz4Encoder() {
    if (LZ4F_isError(LZ4F_createCompressionContext(&context_, LZ4F_VERSION)) != 0) ThrowOutOfMemory("lz4");
  }
  Lz4Encoder(const Lz4Encoder&) = delete;
  Lz4Encoder& operator=(const Lz4Encoder&) = delete;
  ~Lz4Encoder() override { LZ4F_freeCompressionContext(context_); }
  void Encode(std::span<const std::byte> in, std::vector<char>& out) override {
    LZ4F_preferences_t preferences{};
    preferences.frameInfo.blockSizeID = LZ4F_max1MB;
    preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    preferences.frameInfo.contentSize = in.size();
    out.resize(LZ4F_HEADER_SIZE_MAX + LZ4F_compressBound(in.size(), &preferences));
    std::size_t at = Checked(LZ4F_compressBegin(context_, out.data(), out.size(), &preferences));
    at += Checked(LZ4F_compressUpdate(context_, out.data() + at, out.size() - at, in.data(), in.size(), nullptr));
    at += Checked(LZ4F_compressEnd(context_, out.data() + at, out.size() - at, nullptr));
    out.resize(at);
  }

 private:
  LZ4F_cctx* context_ = nullptr;
};

class Lz4BlockCoder final : public BlockCoder {
 public:
  Lz4BlockCoder() : state_(static_cast<std::size_t>(LZ4_sizeofState()) / sizeof(std::uint64_t) + 1) {}
  std::uint64_t Compress(std::span<const std::byte> in, std::span<std::byte> out) override {
    constexpr int kFastest = 1;
    const auto room = static_cast<int>(std::min<std::uint64_t>(out.size(), kMaxStepBytes));
    return static_cast<std::uint64_t>(
        LZ4_compress_fast_extState(state_.data(), reinterpret_cast<const char*>(in.data()),
                                   reinterpret_cast<char*>(out.data()), static_cast<int>(in.size()), room, kFastest));
  }
  std::uint64_t Decompress(std::span<const std::byte> in, std::span<std::byte> out) override {
    const int made = LZ4_decompress_safe(reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(out.data()),
                                         static_cast<int>(in.size()), static_cast<int>(out.size()));
    if (made < 0) throw Refusal{"bad lz4 data"};
    return static_cast<std::uint64_t>(made);
  }

 private:
  std::vector<std::uint64_t> state_;
};

// The second magic begins a skippable frame, which expands to nothing.
constexpr Magic kMagics[] = {{"\x04\x22\x4d\x18"}, {"\x50\x2a\x4d\x18", 0xf0}};
constexpr CodecModule kModule = {
    .version = GPUSORT_CODEC_VERSION,
    .magics = kMagics,
    .head_bytes = 4,
    .padding = Padding::kNone,
    .member_bytes = 4 * kMiB,
    .decoder_memory = AlwaysTakes<10 * kMiB>,
    .encoder_memory = [] { return 4 * kMiB; },
    .make_decoder = Make<MemberDecoder, Lz4Decoder, std::uint64_t>,
    .make_encoder = Make<MemberEncoder, Lz4Encoder>,
    .make_block_coder = Make<BlockCoder, Lz4BlockCoder>,
};

}  // namespace
}  // namespace gpusort

const gpusort::CodecModule* gpusort_codec_lz4() { return &gpusort::kModule; }

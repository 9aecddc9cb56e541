// Zstandard, by libzstd. It decodes whole members by itself, because its errors need the block at which they occur.
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <bit>

#include "io/codec/codec_module.hpp"
#include "version.hpp"

namespace gpusort {
namespace {

constexpr int kLevel = 3, kFastest = 1;
constexpr std::uint64_t kMostWindowBytes = 128 * kMiB;
constexpr std::uint64_t kContextBytes = kMiB;
// The magic number and the descriptor, which gives the length of the header.
constexpr std::size_t kFirstBytes = 5;
constexpr std::size_t kDescriptor = 4;

/// Returns `result`, or throws if it is an error that has nothing to do with the data.
std::size_t Checked(std::size_t result) {
  if (ZSTD_isError(result) == 0) return result;
  if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) ThrowOutOfMemory("zst");
  ThrowInternal("zst", ZSTD_getErrorName(result));
}

/// Returns the size of the window that the header of a frame asks for. Bytes after the header are ignored.
std::uint64_t WindowBytes(std::span<const std::byte> header) {
  constexpr std::size_t kDictionaryIdBytes[] = {0, 1, 2, 4}, kSizeBytes[] = {1, 2, 4, 8};
  const auto byte = [&](std::size_t at) {
    return at < header.size() ? std::to_integer<std::uint64_t>(header[at]) : std::uint64_t{0};
  };
  const std::uint64_t descriptor = byte(kDescriptor);
  if ((descriptor & 0x20) == 0) {
    const std::uint64_t window = byte(kDescriptor + 1), base = std::uint64_t{1} << (10 + (window >> 3));
    return base + base / 8 * (window & 7);
  }
  // A single segment is its own window.
  const std::size_t begin = kDescriptor + 1 + kDictionaryIdBytes[descriptor & 3], count = kSizeBytes[descriptor >> 6];
  std::uint64_t size = count == 2 ? 256 : 0;
  for (std::size_t i = 0; i < count; ++i) size += byte(begin + i) << (8 * i);
  return size;
}

/// Owns a context of the library.
template <class Context, std::size_t (*kFree)(Context*)>
struct Freed {
  explicit Freed(Context* made) : context(made) {
    if (made == nullptr) ThrowOutOfMemory("zst");
  }
  Freed(const Freed&) = delete;
  Freed& operator=(const Freed&) = delete;
  ~Freed() { kFree(context); }
  Context* const context;
};
using Compressor = Freed<ZSTD_CCtx, ZSTD_freeCCtx>;
using Decompressor = Freed<ZSTD_DCtx, ZSTD_freeDCtx>;

/// Decode gives the library exactly as many bytes as it asks for, which is one block. The library does not say at which
/// byte it fails, so an error is reported at the start of its block. If the library got a whole frame, it would also
/// not check the window of the frame.
class ZstDecoder final : public MemberDecoder {
 public:
  explicit ZstDecoder(std::uint64_t window_bytes) : zst_(ZSTD_createDCtx()) {
    Checked(ZSTD_DCtx_setParameter(zst_.context, ZSTD_d_windowLogMax, std::bit_width(window_bytes) - 1));
  }
  void Begin(std::span<const std::byte> head) override {
    constexpr std::byte kFrame{0x28}, kDictionaryIdSize{3};
    if (head[0] == kFrame && (head[kDescriptor] & kDictionaryIdSize) != std::byte{0}) {
      throw Refusal{"it needs a dictionary"};
    }
    ZSTD_DCtx_reset(zst_.context, ZSTD_reset_session_only);
    wanted_ = kFirstBytes;
    header_bytes_ = 0;
  }
  bool Decode(std::span<const std::byte>& in, std::span<std::byte>& out) override {
    ZSTD_inBuffer from = {in.data(), std::min(in.size(), wanted_), 0};
    ZSTD_outBuffer to = {out.data(), out.size(), 0};
    const std::size_t result = ZSTD_decompressStream(zst_.context, &to, &from);
    if (ZSTD_isError(result) != 0) {
      const ZSTD_ErrorCode error = ZSTD_getErrorCode(result);
      if (error == ZSTD_error_memory_allocation) ThrowOutOfMemory("zst");
      if (error == ZSTD_error_frameParameter_windowTooLarge) {
        KeepHeader(in);
        throw Refusal{"it has a window of", WindowBytes(header_)};
      }
      throw Refusal{ZSTD_getErrorName(result)};
    }
    KeepHeader(in.first(from.pos));
    in = in.subspan(from.pos);
    out = out.subspan(to.pos);
    wanted_ = result;
    return result == 0;
  }

 private:
  /// Appends bytes to `header_` until it is full.
  void KeepHeader(std::span<const std::byte> bytes) {
    const std::size_t count = std::min(bytes.size(), header_.size() - header_bytes_);
    std::copy_n(bytes.begin(), count, header_.begin() + static_cast<std::ptrdiff_t>(header_bytes_));
    header_bytes_ += count;
  }

  const Decompressor zst_;
  std::array<std::byte, 18> header_{};  ///< the first bytes of the frame; no header of a frame is longer
  std::size_t header_bytes_ = 0;        ///< the number of bytes in header_
  std::size_t wanted_ = kFirstBytes;    ///< the number of bytes that the library asks for
};

/// The filter of Boost writes neither a checksum nor the size, so the library is called directly.
class ZstEncoder final : public MemberEncoder {
 public:
  ZstEncoder() : zst_(ZSTD_createCCtx()) {
    Checked(ZSTD_CCtx_setParameter(zst_.context, ZSTD_c_compressionLevel, kLevel));
    Checked(ZSTD_CCtx_setParameter(zst_.context, ZSTD_c_checksumFlag, 1));
  }
  void Encode(std::span<const std::byte> in, std::vector<char>& out) override {
    out.resize(ZSTD_compressBound(in.size()));
    out.resize(Checked(ZSTD_compress2(zst_.context, out.data(), out.size(), in.data(), in.size())));
  }

 private:
  const Compressor zst_;
};

class ZstBlockCoder final : public BlockCoder {
 public:
  std::uint64_t Compress(std::span<const std::byte> in, std::span<std::byte> out) override {
    const std::size_t bytes =
        ZSTD_compressCCtx(compressor_.context, out.data(), out.size(), in.data(), in.size(), kFastest);
    return ZSTD_getErrorCode(bytes) == ZSTD_error_dstSize_tooSmall ? 0 : Checked(bytes);
  }
  std::uint64_t Decompress(std::span<const std::byte> in, std::span<std::byte> out) override {
    const std::size_t bytes = ZSTD_decompressDCtx(decompressor_.context, out.data(), out.size(), in.data(), in.size());
    if (ZSTD_isError(bytes) == 0) return bytes;
    if (ZSTD_getErrorCode(bytes) == ZSTD_error_memory_allocation) ThrowOutOfMemory("zst");
    throw Refusal{ZSTD_getErrorName(bytes)};
  }

 private:
  const Compressor compressor_{ZSTD_createCCtx()};
  const Decompressor decompressor_{ZSTD_createDCtx()};
};

/// A window is a power of two. A small window needs a smaller context.
DecoderMemory KeepTo(std::uint64_t limit) {
  const std::uint64_t window = std::bit_floor(std::min(limit - std::min(limit / 2, kContextBytes), kMostWindowBytes));
  return {window, window + std::min(kContextBytes, window)};
}

// The second magic begins a skippable frame, which expands to nothing.
constexpr Magic kMagics[] = {{"\x28\xb5\x2f\xfd"}, {"\x50\x2a\x4d\x18", 0xf0}};
constexpr CodecModule kModule = {
    .version = GPUSORT_CODEC_VERSION,
    .magics = kMagics,
    .head_bytes = kFirstBytes,
    .padding = Padding::kNone,
    .member_bytes = 4 * kMiB,
    .decoder_memory = KeepTo,
    .encoder_memory = [] { return 8 * kMiB; },
    .make_decoder = Make<MemberDecoder, ZstDecoder, std::uint64_t>,
    .make_encoder = Make<MemberEncoder, ZstEncoder>,
    .make_block_coder = Make<BlockCoder, ZstBlockCoder>,
};

}  // namespace
}  // namespace gpusort

const gpusort::CodecModule* gpusort_codec_zst() { return &gpusort::kModule; }

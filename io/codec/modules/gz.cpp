// gzip, compressed by libdeflate and expanded by zlib. libdeflate takes half of zlib's time or less, but needs a whole
// member at once, and members of other programs have any size. BGZF is gzip whose members, called blocks, have at most
// 64 KiB and name their own size, so that programs such as tabix can begin to read at any block.
#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <string_view>

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

struct FreeCompressor {
  void operator()(libdeflate_compressor* compressor) const { libdeflate_free_compressor(compressor); }
};
using Compressor = std::unique_ptr<libdeflate_compressor, FreeCompressor>;

/// `codec` is the name of the codec, for the error if there is no memory.
Compressor MakeCompressor(const char* codec) {
  Compressor made(libdeflate_alloc_compressor(kLevel));
  if (!made) ThrowOutOfMemory(codec);
  return made;
}

class GzEncoder final : public MemberEncoder {
 public:
  void Encode(std::span<const std::byte> in, std::vector<char>& out) override {
    out.resize(libdeflate_gzip_compress_bound(compressor_.get(), in.size()));
    out.resize(libdeflate_gzip_compress(compressor_.get(), in.data(), in.size(), out.data(), out.size()));
    if (out.empty()) ThrowInternal("gz", "libdeflate_gzip_compress");
  }

 private:
  const Compressor compressor_ = MakeCompressor("gz");
};

using namespace std::string_view_literals;

/// The head of a BGZF block. The two bytes after this text are the size of the block minus 1, lower byte first.
constexpr std::string_view kBlockHead = "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0"sv;
constexpr std::size_t kHeadBytes = kBlockHead.size() + 2;
/// The last block of a BGZF file. It holds no bytes.
constexpr std::string_view kEndBlock = "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0"sv;
/// How many bytes bgzip puts into a block. A block of so many bytes has less than 64 KiB even if it is not compressed.
constexpr std::size_t kBlockBytes = 0xff00;

/// Returns the number in the two bytes at offset `at`, of which the lower byte comes first.
std::uint64_t TwoBytes(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<std::uint64_t>(bytes[at]) | std::to_integer<std::uint64_t>(bytes[at + 1]) << 8;
}

/// Returns the size of the BGZF block that begins with `head`, or 0 for other members. A block whose first extra field
/// is not BGZF's counts as another member, because no known program writes such blocks.
std::uint64_t BlockSize(std::span<const std::byte> head) {
  const auto is = [&](std::size_t at, unsigned char byte) { return head[at] == std::byte{byte}; };
  const bool bgzf = head.size() >= kHeadBytes && is(2, 8) && is(3, 4) && TwoBytes(head, 10) >= 6 && is(12, 'B') &&
                    is(13, 'C') && TwoBytes(head, 14) == 2;
  return bgzf ? TwoBytes(head, 16) + 1 : 0;
}

class BgzfEncoder final : public MemberEncoder {
 public:
  void Encode(std::span<const std::byte> in, std::vector<char>& out) override {
    out.clear();
    while (!in.empty()) {
      const std::span<const std::byte> block = in.first(std::min(in.size(), kBlockBytes));
      AddBlock(block, out);
      in = in.subspan(block.size());
    }
  }

 private:
  static constexpr std::size_t kTailBytes = 8;

  void AddBlock(std::span<const std::byte> in, std::vector<char>& out) {
    const std::size_t begin = out.size();
    out.insert(out.end(), kBlockHead.begin(), kBlockHead.end());
    out.resize(begin + kMostSizedBytes);
    const std::span<std::byte> block = std::as_writable_bytes(std::span(out)).subspan(begin);
    const std::span<std::byte> body = block.subspan(kHeadBytes, kMostSizedBytes - kHeadBytes - kTailBytes);
    std::size_t bytes = libdeflate_deflate_compress(compressor_.get(), in.data(), in.size(), body.data(), body.size());
    if (bytes == 0) bytes = Store(in, body);  // compressed, the bytes do not fit
    const std::size_t size = kHeadBytes + bytes + kTailBytes;
    Put(block.subspan(kBlockHead.size(), 2), size - 1);
    Put(block.subspan(kHeadBytes + bytes, 4), libdeflate_crc32(0, in.data(), in.size()));
    Put(block.subspan(kHeadBytes + bytes + 4, 4), in.size());
    out.resize(begin + size);
  }

  /// Writes `in` to the beginning of `out` without compression. Returns the number of bytes written.
  static std::size_t Store(std::span<const std::byte> in, std::span<std::byte> out) {
    constexpr std::size_t kStoredHead = 5;
    out[0] = std::byte{1};  // this part of the block is the last one, and is stored
    Put(out.subspan(1, 2), in.size());
    Put(out.subspan(3, 2), ~in.size());
    std::ranges::copy(in, out.subspan(kStoredHead).begin());
    return kStoredHead + in.size();
  }

  /// Writes the lower bytes of `number` to `out`, the lowest byte first.
  static void Put(std::span<std::byte> out, std::uint64_t number) {
    for (std::byte& byte : out) {
      byte = static_cast<std::byte>(number);
      number >>= 8;
    }
  }

  const Compressor compressor_ = MakeCompressor("bgzf");
};

constexpr Magic kMagics[] = {{"\x1f\x8b"}};
constexpr CodecModule kModule = {
    .version = GPUSORT_CODEC_VERSION,
    .magics = kMagics,
    .head_bytes = kHeadBytes,  // the smallest member has 20 bytes
    .padding = Padding::kAtEnd,
    .member_bytes = kMiB,  // gz refers back at most 32 KiB, so that a new member costs little
    .decoder_memory = AlwaysTakes<64 * kKiB>,
    .encoder_memory = [] { return kMiB; },
    .make_decoder = Make<MemberDecoder, GzDecoder, std::uint64_t>,
    .make_encoder = Make<MemberEncoder, GzEncoder>,
    .member_size = BlockSize,
};

constexpr Magic kBgzfMagics[] = {{"\x1f\x8b\x08\x04"}};
constexpr CodecModule kBgzfModule = {
    .version = GPUSORT_CODEC_VERSION,
    .magics = kBgzfMagics,
    .head_bytes = kHeadBytes,
    .padding = Padding::kAtEnd,
    .member_bytes = 16 * kBlockBytes,  // each call of Encode writes 16 blocks
    .decoder_memory = AlwaysTakes<64 * kKiB>,
    .encoder_memory = [] { return kMiB; },
    .make_decoder = Make<MemberDecoder, GzDecoder, std::uint64_t>,
    .make_encoder = Make<MemberEncoder, BgzfEncoder>,
    .member_size = BlockSize,
    .end = kEndBlock,
};

}  // namespace
}  // namespace gpusort

const gpusort::CodecModule* gpusort_codec_gz() { return &gpusort::kModule; }
const gpusort::CodecModule* gpusort_codec_bgzf() { return &gpusort::kBgzfModule; }

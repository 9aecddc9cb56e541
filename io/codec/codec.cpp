#include "io/codec/codec.hpp"

#include <bzlib.h>
#include <lz4.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/iostreams/close.hpp>
#include <boost/iostreams/compose.hpp>
#include <boost/iostreams/device/back_inserter.hpp>
#include <boost/iostreams/filter/bzip2.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/write.hpp>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "io/codec/late_libraries.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

namespace bio = boost::iostreams;

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kSourceBytes = 128 * kKiB;
constexpr std::uint64_t kZstdWindowBytes = 128 * kMiB;
constexpr std::uint64_t kZstdContextBytes = kMiB;
constexpr std::uint64_t kXzMemoryBytes = 256 * kMiB;
constexpr std::uint64_t kLeastDecoderBytes = kMiB / 2;
// The libraries count in 32 bits.
constexpr std::uint64_t kMaxStepBytes = 1 << 30;
constexpr std::uint64_t kMinSampleBytes = 4 * kKiB;
constexpr std::uint64_t kSamplePieceBytes = 256 * kKiB;

struct CodecFacts {
  Codec codec;
  std::string_view name;
  std::string_view program;  ///< the name of the tool that people know it by
  std::string_view extension;
  int level;  ///< the usual one
  std::uint64_t member_bytes;
};

// Members cost what a dictionary learns at their start: gz looks back 32 KiB, so 1 MiB is plenty; bz2 has blocks of
// 900,000 bytes; a member of xz is as long as the dictionary of level 6.
constexpr CodecFacts kFacts[] = {
    {Codec::kNone, "none", "none", "", 0, kMiB},         {Codec::kGz, "gz", "gzip", ".gz", 6, kMiB},
    {Codec::kBz2, "bz2", "bzip2", ".bz2", 9, 3'600'000}, {Codec::kXz, "xz", "xz", ".xz", 6, 8 * kMiB},
    {Codec::kZst, "zst", "zstd", ".zst", 3, 4 * kMiB},   {Codec::kLz4, "lz4", "lz4", ".lz4", 1, 4 * kMiB},
};

const CodecFacts& FactsOf(Codec codec) { return kFacts[static_cast<std::size_t>(codec)]; }

[[noreturn]] void ThrowOutOfMemory(Codec codec) {
  throw Error(ErrorCode::kOutOfMemory, "no memory for the codec " + std::string(CodecName(codec)));
}

[[noreturn]] void ThrowInternal(Codec codec, const std::string& why) {
  throw Error(ErrorCode::kInternal, "codec " + std::string(CodecName(codec)) + ": " + why);
}

std::string MemoryText(std::uint64_t bytes) {
  return bytes >= kMiB && (bytes % kMiB == 0 || bytes >= 10 * kMiB) ? std::to_string(bytes / kMiB) + " MiB"
                                                                     : std::to_string(bytes / kKiB) + " KiB";
}

/// What a member's decoder has against the data; Decoder adds path and offset.
struct Refusal {
  std::string why;
  std::uint64_t needed = 0;  ///< more memory for the library than it may take; `why` ends before "more than"
};

/// The size of the window that the header of a zst frame asks for. `header`: all of it, and perhaps more.
std::uint64_t ZstWindowBytes(std::span<const std::byte> header) {
  constexpr std::size_t kDescriptor = 4;
  constexpr std::size_t kDictionaryIdBytes[] = {0, 1, 2, 4}, kSizeBytes[] = {1, 2, 4, 8};
  const auto byte = [&](std::size_t at) {
    return at < header.size() ? std::to_integer<std::uint64_t>(header[at]) : std::uint64_t{0};
  };
  const std::uint64_t descriptor = byte(kDescriptor);
  if ((descriptor & 0x20) == 0) {
    const std::uint64_t window = byte(kDescriptor + 1), base = std::uint64_t{1} << (10 + (window >> 3));
    return base + base / 8 * (window & 7);
  }
  // A single segment, which is its own window.
  const std::size_t begin = kDescriptor + 1 + kDictionaryIdBytes[descriptor & 3], count = kSizeBytes[descriptor >> 6];
  std::uint64_t size = count == 2 ? 256 : 0;
  for (std::size_t i = 0; i < count; ++i) size += byte(begin + i) << (8 * i);
  return size;
}

/// Expands one member after the other. Each is the library's own: Boost 1.74's filters either take a frame that is cut
/// short for the end (zst), or say neither where a member ended nor where it broke.
class MemberDecoder {
 public:
  virtual ~MemberDecoder() = default;
  virtual void Begin() = 0;
  /// Takes bytes off the front of both spans, also when it throws. True once the member's end is verified.
  virtual bool Decode(std::span<const std::byte>& in, std::span<std::byte>& out) = 0;
};

/// One step of zlib, bzip2 or liblzma, whose streams have the same members. Returns what `call` does.
template <class Stream, class Call>
auto Step(Stream& stream, std::span<const std::byte>& in, std::span<std::byte>& out, Call call) {
  const std::size_t in_bytes = std::min<std::size_t>(in.size(), kMaxStepBytes);
  const std::size_t out_bytes = std::min<std::size_t>(out.size(), kMaxStepBytes);
  // None of them writes to its input; bzip2's and zlib's pointers are not const.
  stream.next_in = reinterpret_cast<decltype(stream.next_in)>(const_cast<std::byte*>(in.data()));
  stream.next_out = reinterpret_cast<decltype(stream.next_out)>(out.data());
  stream.avail_in = static_cast<decltype(stream.avail_in)>(in_bytes);
  stream.avail_out = static_cast<decltype(stream.avail_out)>(out_bytes);
  const auto result = call();
  in = in.subspan(in_bytes - stream.avail_in);
  out = out.subspan(out_bytes - stream.avail_out);
  return result;
}

class GzDecoder final : public MemberDecoder {
 public:
  GzDecoder() {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) ThrowOutOfMemory(Codec::kGz);
  }
  GzDecoder(const GzDecoder&) = delete;
  GzDecoder& operator=(const GzDecoder&) = delete;
  ~GzDecoder() override { inflateEnd(&stream_); }
  void Begin() override {
    if (inflateReset(&stream_) != Z_OK) ThrowInternal(Codec::kGz, "inflateReset");
  }
  bool Decode(std::span<const std::byte>& in, std::span<std::byte>& out) override {
    const int result = Step(stream_, in, out, [&] { return inflate(&stream_, Z_NO_FLUSH); });
    if (result == Z_MEM_ERROR) ThrowOutOfMemory(Codec::kGz);
    // Z_BUF_ERROR: no progress without more input.
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      throw Refusal{stream_.msg != nullptr ? stream_.msg : "inflate error " + std::to_string(result)};
    }
    return result == Z_STREAM_END;
  }

 private:
  z_stream stream_{};
};

class Bz2Decoder final : public MemberDecoder {
 public:
  Bz2Decoder() = default;
  Bz2Decoder(const Bz2Decoder&) = delete;
  Bz2Decoder& operator=(const Bz2Decoder&) = delete;
  ~Bz2Decoder() override { End(); }
  void Begin() override {
    End();
    stream_ = {};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) ThrowOutOfMemory(Codec::kBz2);
    open_ = true;
  }
  bool Decode(std::span<const std::byte>& in, std::span<std::byte>& out) override {
    const int result = Step(stream_, in, out, [&] { return BZ2_bzDecompress(&stream_); });
    if (result == BZ_MEM_ERROR) ThrowOutOfMemory(Codec::kBz2);
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

class XzDecoder final : public MemberDecoder {
 public:
  explicit XzDecoder(std::uint64_t memory_bytes) : memory_bytes_(memory_bytes) {}
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;
  ~XzDecoder() override { lzma_end(&stream_); }
  void Begin() override {
    const lzma_ret result = lzma_stream_decoder(&stream_, memory_bytes_, LZMA_TELL_UNSUPPORTED_CHECK);
    if (result == LZMA_MEM_ERROR) ThrowOutOfMemory(Codec::kXz);
    if (result != LZMA_OK) ThrowInternal(Codec::kXz, "lzma_stream_decoder: " + std::to_string(result));
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
        ThrowOutOfMemory(Codec::kXz);
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
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

// zst and lz4 do not say how much of their input they used when they fail. Fed as many bytes as they ask for, which is
// a block, they fail at the start of the block; and zst looks at the window of every frame, which it does not if a
// whole frame lies in front of it.
class ZstDecoder final : public MemberDecoder {
 public:
  explicit ZstDecoder(std::uint64_t window_bytes)
      : window_log_(std::bit_width(window_bytes) - 1), context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) ThrowOutOfMemory(Codec::kZst);
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, window_log_);
  }
  ZstDecoder(const ZstDecoder&) = delete;
  ZstDecoder& operator=(const ZstDecoder&) = delete;
  ~ZstDecoder() override { ZSTD_freeDCtx(context_); }
  void Begin() override {
    ZSTD_DCtx_reset(context_, ZSTD_reset_session_only);
    wanted_ = kFirstBytes;
    header_bytes_ = 0;
  }
  bool Decode(std::span<const std::byte>& in, std::span<std::byte>& out) override {
    ZSTD_inBuffer from = {in.data(), std::min(in.size(), wanted_), 0};
    ZSTD_outBuffer to = {out.data(), out.size(), 0};
    const std::size_t result = ZSTD_decompressStream(context_, &to, &from);
    if (ZSTD_isError(result) != 0) {
      const ZSTD_ErrorCode error = ZSTD_getErrorCode(result);
      if (error == ZSTD_error_memory_allocation) ThrowOutOfMemory(Codec::kZst);
      if (error == ZSTD_error_frameParameter_windowTooLarge) {
        KeepHeader(in);
        throw Refusal{"it has a window of", ZstWindowBytes(header_)};
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
  /// Appends to the front of the frame as much as its header may have.
  void KeepHeader(std::span<const std::byte> bytes) {
    const std::size_t count = std::min(bytes.size(), header_.size() - header_bytes_);
    std::copy_n(bytes.begin(), count, header_.begin() + static_cast<std::ptrdiff_t>(header_bytes_));
    header_bytes_ += count;
  }

  // The magic number and the descriptor, which says how long the header is.
  static constexpr std::size_t kFirstBytes = 5;
  const int window_log_;
  ZSTD_DCtx* context_;
  std::array<std::byte, 18> header_{};  ///< the front of the frame: its header has no more bytes
  std::size_t header_bytes_ = 0;        ///< so many are there
  std::size_t wanted_ = kFirstBytes;
};

class Lz4Decoder final : public MemberDecoder {
 public:
  Lz4Decoder() {
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION)) != 0) ThrowOutOfMemory(Codec::kLz4);
  }
  Lz4Decoder(const Lz4Decoder&) = delete;
  Lz4Decoder& operator=(const Lz4Decoder&) = delete;
  ~Lz4Decoder() override { LZ4F_freeDecompressionContext(context_); }
  void Begin() override {
    LZ4F_resetDecompressionContext(context_);
    wanted_ = kFirstBytes;
  }
  bool Decode(std::span<const std::byte>& in, std::span<std::byte>& out) override {
    std::size_t in_bytes = std::min(in.size(), wanted_);
    std::size_t out_bytes = out.size();
    const std::size_t result = LZ4F_decompress(context_, out.data(), &out_bytes, in.data(), &in_bytes, nullptr);
    if (LZ4F_isError(result) != 0) {
      const std::string_view name = LZ4F_getErrorName(result);
      if (name == "ERROR_allocation_failed") ThrowOutOfMemory(Codec::kLz4);
      throw Refusal{std::string(name)};
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

/// What the codec's library may take of `limit`.
std::uint64_t LibraryBytes(Codec codec, std::uint64_t limit) {
  limit = std::max(limit, kLeastDecoderBytes) - kSourceBytes;
  if (codec == Codec::kXz) return std::min(limit, kXzMemoryBytes);
  // A window is a power of two; small ones need less beside it.
  return std::bit_floor(std::min(limit - std::min(limit / 2, kZstdContextBytes), kZstdWindowBytes));
}

std::unique_ptr<MemberDecoder> MakeMemberDecoder(Codec codec, std::uint64_t memory_bytes) {
  switch (codec) {
    case Codec::kNone:
      return nullptr;
    case Codec::kGz:
      return std::make_unique<GzDecoder>();
    case Codec::kBz2:
      return std::make_unique<Bz2Decoder>();
    case Codec::kXz:
      return std::make_unique<XzDecoder>(LibraryBytes(codec, memory_bytes));
    case Codec::kZst:
      return std::make_unique<ZstDecoder>(LibraryBytes(codec, memory_bytes));
    case Codec::kLz4:
      return std::make_unique<Lz4Decoder>();
    case Codec::kProgram:
      break;
  }
  throw Error(ErrorCode::kInternal, "unknown codec");
}

/// What every member begins with. A skippable frame of zst and lz4 is a member that expands to nothing.
struct Magic {
  Codec codec;
  std::string_view bytes;
  unsigned char first_mask;  ///< bits of the first byte that count
};

using std::string_view_literals::operator""sv;
constexpr Magic kMagics[] = {
    {Codec::kGz, "\x1f\x8b"sv, 0xff},          {Codec::kBz2, "BZh"sv, 0xff},
    {Codec::kXz, "\xfd\x37zXZ\0"sv, 0xff},     {Codec::kZst, "\x28\xb5\x2f\xfd"sv, 0xff},
    {Codec::kZst, "\x50\x2a\x4d\x18"sv, 0xf0}, {Codec::kLz4, "\x04\x22\x4d\x18"sv, 0xff},
    {Codec::kLz4, "\x50\x2a\x4d\x18"sv, 0xf0},
};

/// The bytes to look at before a member is begun: for zst with the descriptor, which may ask for a dictionary.
std::size_t HeadBytes(Codec codec) {
  std::size_t bytes = codec == Codec::kZst ? 5 : 0;
  for (const Magic& magic : kMagics) {
    if (magic.codec == codec) bytes = std::max(bytes, magic.bytes.size());
  }
  return bytes;
}

/// True if `head` may be the beginning of a member, which it is if it has HeadBytes.
bool MayBegin(Codec codec, std::span<const std::byte> head) {
  return std::ranges::any_of(kMagics, [&](const Magic& magic) {
    if (magic.codec != codec) return false;
    for (std::size_t i = 0; i < std::min(magic.bytes.size(), head.size()); ++i) {
      const auto mask = i == 0 ? magic.first_mask : static_cast<unsigned char>(0xff);
      if (((std::to_integer<unsigned>(head[i]) ^ static_cast<unsigned char>(magic.bytes[i])) & mask) != 0) return false;
    }
    return true;
  });
}

bool AsksForDictionary(std::span<const std::byte> zst_head) {
  constexpr std::byte kFrame{0x28};
  constexpr std::byte kDictionaryIdSize{3};
  return zst_head.size() > 4 && zst_head[0] == kFrame && (zst_head[4] & kDictionaryIdSize) != std::byte{0};
}

}  // namespace

Codec CodecOfPath(std::string_view path) {
  for (const CodecFacts& facts : kFacts) {
    if (!facts.extension.empty() && path.ends_with(facts.extension)) return facts.codec;
  }
  return Codec::kNone;
}

std::string_view WithoutCodecExtension(std::string_view path) {
  path.remove_suffix(FactsOf(CodecOfPath(path)).extension.size());
  return path;
}

std::optional<Codec> CodecOfName(std::string_view name) {
  for (const CodecFacts& facts : kFacts) {
    if (name == facts.name || name == facts.program) return facts.codec;
  }
  return std::nullopt;
}

std::string_view CodecName(Codec codec) { return codec == Codec::kProgram ? "program" : FactsOf(codec).name; }

class Decoder::Impl {
 public:
  Impl(Codec codec, std::string path, Source source, const DecoderLimits& limits)
      : codec_(codec),
        path_(std::move(path)),
        source_(std::move(source)),
        limits_(limits),
        max_expanded_bytes_(limits.expanded_bytes),
        member_decoder_(MakeMemberDecoder(codec, limits.memory_bytes)) {
    if (codec != Codec::kNone) buffer_.resize(kSourceBytes);
  }

  std::uint64_t Read(std::span<std::byte> out) {
    if (out.empty()) ThrowInternal(codec_, "no room to expand " + path_);
    if (codec_ == Codec::kNone) {
      const std::uint64_t got = source_(out);
      offset_ += got;
      expanded_bytes_ += got;
      return got;
    }
    if (broken_) ThrowInternal(codec_, path_ + " is read again after an error");
    broken_ = true;
    const std::uint64_t got = Expand(out);
    broken_ = false;
    return got;
  }

  std::uint64_t offset() const { return offset_; }
  std::uint64_t expanded_bytes() const { return expanded_bytes_; }

 private:
  std::uint64_t Expand(std::span<std::byte> out) {
    while (true) {
      if (!in_member_ && !BeginMember()) return 0;
      // What is asked for may still be inside the library, so it is asked before the source.
      std::span<const std::byte> in = Available();
      std::span<std::byte> room = out;
      try {
        in_member_ = !member_decoder_->Decode(in, room);
      } catch (const Refusal& refusal) {
        Use(Available().size() - in.size());
        if (refusal.needed > 0) RefuseMemory(refusal);
        Refuse(Where() + ": " + refusal.why);
      }
      const std::size_t used = Available().size() - in.size();
      const std::size_t made = out.size() - room.size();
      Use(used);
      if (made > max_expanded_bytes_ - expanded_bytes_) {
        Refuse("expands to more than " + std::to_string(max_expanded_bytes_) + " bytes (--max-expanded) at offset " +
               std::to_string(offset_));
      }
      expanded_bytes_ += made;
      if (made > 0) return made;
      if (in_member_ && used == 0 && !Fill(Available().size() + 1)) {
        Refuse("cut short at offset " + std::to_string(offset_) + InMember());
      }
    }
  }

  /// False at the end of the data.
  bool BeginMember() {
    if (members_ > 0 && (codec_ == Codec::kGz || codec_ == Codec::kXz)) SkipPadding();
    const std::size_t head_bytes = HeadBytes(codec_);
    const bool whole = Fill(head_bytes);
    const auto head = Available().first(std::min(Available().size(), head_bytes));
    if (head.empty()) {
      if (members_ == 0) Refuse("empty: " + std::string(CodecName(codec_)) + " data has at least one member");
      return false;
    }
    if (!MayBegin(codec_, head)) {
      Refuse("no " + std::string(CodecName(codec_)) + " data at offset " + std::to_string(offset_) +
             (members_ == 0 ? "; if it is not compressed, give --decompress none"
                            : ", behind member " + std::to_string(members_)));
    }
    ++members_;
    member_offset_ = offset_;
    if (!whole) Refuse("cut short at offset " + std::to_string(offset_ + head.size()) + InMember());
    if (codec_ == Codec::kZst && AsksForDictionary(head)) Refuse(Where() + ": it needs a dictionary");
    member_decoder_->Begin();
    in_member_ = true;
    return true;
  }

  /// gz: tapes and block devices leave zeros behind the last member, and gzip takes them. xz: zeros, four at a time,
  /// may follow any member.
  void SkipPadding() {
    std::uint64_t padding = 0;
    while (Fill(1)) {
      const auto in = Available();
      const auto zeros = static_cast<std::size_t>(
          std::ranges::find_if(in, [](std::byte byte) { return byte != std::byte{0}; }) - in.begin());
      Use(zeros);
      padding += zeros;
      if (zeros < in.size()) break;
    }
    const bool ended = Available().empty();
    if (codec_ == Codec::kGz && padding > 0 && !ended) {
      Refuse("something else than zeros behind the zeros after the last member at offset " + std::to_string(offset_));
    }
    if (codec_ == Codec::kXz && padding % 4 != 0) {
      Refuse("zeros that are no multiple of 4 behind member " + std::to_string(members_) + " at offset " +
             std::to_string(offset_));
    }
  }

  /// Makes at least `bytes` available; false if the source ends before. `bytes` is small or one more than there are.
  bool Fill(std::size_t bytes) {
    while (end_ - begin_ < bytes && !source_ended_) {
      if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= std::exchange(begin_, 0);
      }
      if (end_ == buffer_.size()) ThrowInternal(codec_, "a step wants more than " + std::to_string(end_) + " bytes");
      const std::uint64_t got = source_(std::span(buffer_).subspan(end_));
      if (got > buffer_.size() - end_) ThrowInternal(codec_, "the source gave more than it was asked for");
      end_ += got;
      source_ended_ = got == 0;
    }
    return end_ - begin_ >= bytes;
  }

  std::span<const std::byte> Available() const { return std::span(buffer_).subspan(begin_, end_ - begin_); }

  void Use(std::size_t bytes) {
    begin_ += bytes;
    offset_ += bytes;
  }

  std::string InMember() const {
    return " (member " + std::to_string(members_) + " begins at " + std::to_string(member_offset_) + ")";
  }

  std::string Where() const {
    return "bad " + std::string(CodecName(codec_)) + " data at offset " + std::to_string(offset_) + InMember();
  }

  [[noreturn]] void RefuseMemory(const Refusal& refusal) const {
    const std::uint64_t most = LibraryBytes(codec_, std::numeric_limits<std::uint64_t>::max());
    const std::string why = refusal.why + " " + MemoryText(refusal.needed) + ", more than ";
    if (refusal.needed > most) Refuse(Where() + ": " + why + MemoryText(most) + ", the most that is expanded here");
    std::uint64_t enough = refusal.needed;
    while (LibraryBytes(codec_, enough) < refusal.needed) enough += enough / 16;
    const std::uint64_t mebibytes = (enough * limits_.memory_share + kMiB - 1) / kMiB;
    throw Error(ErrorCode::kUsage, path_ + ": " + std::string(CodecName(codec_)) + " data at offset " +
                                       std::to_string(offset_) + InMember() + ": " + why +
                                       MemoryText(LibraryBytes(codec_, limits_.memory_bytes)) +
                                       ", which --memory leaves for it: give at least --memory " +
                                       std::to_string(mebibytes) + "M");
  }

  [[noreturn]] void Refuse(const std::string& why) const { throw Error(ErrorCode::kBadInput, path_ + ": " + why); }

  const Codec codec_;
  const std::string path_;
  const Source source_;
  const DecoderLimits limits_;
  const std::uint64_t max_expanded_bytes_;
  std::unique_ptr<MemberDecoder> member_decoder_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;  ///< buffer_[begin_, end_) is still to be used
  std::size_t end_ = 0;
  bool source_ended_ = false;
  bool in_member_ = false;
  bool broken_ = false;
  std::uint64_t members_ = 0;
  std::uint64_t member_offset_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t expanded_bytes_ = 0;
};

Decoder::Decoder(Codec codec, std::string path, Source source, const DecoderLimits& limits)
    : impl_((detail::NeedLibrary(codec), std::make_unique<Impl>(codec, std::move(path), std::move(source), limits))) {}
Decoder::~Decoder() = default;
std::uint64_t Decoder::Read(std::span<std::byte> out) { return impl_->Read(out); }
std::uint64_t Decoder::offset() const { return impl_->offset(); }
std::uint64_t Decoder::expanded_bytes() const { return impl_->expanded_bytes(); }

namespace {

/// Compresses one member after the other, each in one call, on one thread.
class MemberEncoder {
 public:
  explicit MemberEncoder(Codec codec) : codec_(codec), level_(FactsOf(codec).level) {
    if (codec == Codec::kZst) {
      zst_ = ZSTD_createCCtx();
      if (zst_ == nullptr) ThrowOutOfMemory(codec);
      ZSTD_CCtx_setParameter(zst_, ZSTD_c_compressionLevel, level_);
      ZSTD_CCtx_setParameter(zst_, ZSTD_c_checksumFlag, 1);
    }
    if (codec == Codec::kLz4 && LZ4F_isError(LZ4F_createCompressionContext(&lz4_, LZ4F_VERSION)) != 0) {
      ThrowOutOfMemory(codec);
    }
  }
  MemberEncoder(const MemberEncoder&) = delete;
  MemberEncoder& operator=(const MemberEncoder&) = delete;
  ~MemberEncoder() {
    // Else the library of another codec would be loaded for nothing.
    if (zst_ != nullptr) ZSTD_freeCCtx(zst_);
    if (lz4_ != nullptr) LZ4F_freeCompressionContext(lz4_);
  }

  /// Replaces what `out` holds.
  void Encode(std::span<const std::byte> in, std::vector<char>& out) {
    out.clear();
    switch (codec_) {
      case Codec::kNone:
      case Codec::kProgram:
        ThrowInternal(codec_, "nothing to encode");
      case Codec::kGz:
        return Filter(bio::gzip_compressor(bio::gzip_params(level_)), in, out);
      case Codec::kBz2:
        return Filter(bio::bzip2_compressor(bio::bzip2_params(level_)), in, out);
      case Codec::kXz:
        return Filter(bio::lzma_compressor(bio::lzma_params(static_cast<std::uint32_t>(level_))), in, out);
      case Codec::kZst:
        return Zst(in, out);
      case Codec::kLz4:
        return Lz4(in, out);
    }
  }

 private:
  // Not a filtering_stream: that one swallows what goes wrong when it is closed.
  template <class Compressor>
  void Filter(const Compressor& compressor, std::span<const std::byte> in, std::vector<char>& out) {
    try {
      auto stream = bio::compose(compressor, bio::back_inserter(out));
      bio::write(stream, reinterpret_cast<const char*>(in.data()), static_cast<std::streamsize>(in.size()));
      bio::close(stream);
    } catch (const std::bad_alloc&) {
      ThrowOutOfMemory(codec_);
    } catch (const std::ios_base::failure& failure) {
      ThrowInternal(codec_, failure.what());
    }
  }

  // Boost's filter for zst writes neither a checksum nor the size.
  void Zst(std::span<const std::byte> in, std::vector<char>& out) {
    out.resize(ZSTD_compressBound(in.size()));
    const std::size_t bytes = ZSTD_compress2(zst_, out.data(), out.size(), in.data(), in.size());
    if (ZSTD_isError(bytes) != 0) {
      if (ZSTD_getErrorCode(bytes) == ZSTD_error_memory_allocation) ThrowOutOfMemory(codec_);
      ThrowInternal(codec_, ZSTD_getErrorName(bytes));
    }
    out.resize(bytes);
  }

  // Boost has no filter for lz4.
  void Lz4(std::span<const std::byte> in, std::vector<char>& out) {
    LZ4F_preferences_t preferences{};
    preferences.frameInfo.blockSizeID = LZ4F_max1MB;
    preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    preferences.frameInfo.contentSize = in.size();
    out.resize(LZ4F_HEADER_SIZE_MAX + LZ4F_compressBound(in.size(), &preferences));
    const auto checked = [&](std::size_t result) {
      if (LZ4F_isError(result) == 0) return result;
      if (std::string_view(LZ4F_getErrorName(result)) == "ERROR_allocation_failed") ThrowOutOfMemory(codec_);
      ThrowInternal(codec_, LZ4F_getErrorName(result));
    };
    std::size_t at = checked(LZ4F_compressBegin(lz4_, out.data(), out.size(), &preferences));
    at += checked(LZ4F_compressUpdate(lz4_, out.data() + at, out.size() - at, in.data(), in.size(), nullptr));
    at += checked(LZ4F_compressEnd(lz4_, out.data() + at, out.size() - at, nullptr));
    out.resize(at);
  }

  const Codec codec_;
  const int level_;
  ZSTD_CCtx* zst_ = nullptr;
  LZ4F_cctx* lz4_ = nullptr;
};

std::uint64_t MemberBytes(Codec codec, const EncoderOptions& options) {
  const std::uint64_t bytes = options.member_bytes != 0 ? options.member_bytes : FactsOf(codec).member_bytes;
  // LZ4F and zlib count a member in 32 bits.
  if (bytes > kMaxStepBytes) throw Error(ErrorCode::kUsage, "members of more than 1 GiB");
  return bytes;
}

/// Members under way: one for each thread, and two more that are filled and written meanwhile.
std::size_t SlotCount(unsigned threads) { return threads <= 1 ? 1 : std::size_t{threads} + 2; }

}  // namespace

/// The members are a ring: the caller fills one, hands it to the workers, and passes the oldest on as soon as it is
/// done. The sink is called by the caller's thread only.
class Encoder::Impl {
 public:
  Impl(Codec codec, const EncoderOptions& options, Sink sink)
      : codec_(codec), member_bytes_(MemberBytes(codec, options)), sink_(std::move(sink)) {
    if (codec == Codec::kNone) return;
    slots_.resize(SlotCount(options.threads));
    if (options.threads > 1) StartWorkers(options.threads);
    if (encoders_.empty()) encoders_.push_back(std::make_unique<MemberEncoder>(codec_));
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() { StopWorkers(); }

  void Write(std::span<const std::byte> data) {
    Leave();
    if (codec_ == Codec::kNone && !data.empty()) sink_(data);
    while (codec_ != Codec::kNone && !data.empty()) {
      std::vector<std::byte>& in = Filling().in;
      const auto part = data.first(std::min<std::size_t>(data.size(), member_bytes_ - in.size()));
      // Growth by halves as usual, but never past a member.
      if (in.capacity() < in.size() + part.size()) {
        in.reserve(std::min<std::size_t>(member_bytes_, std::max(in.capacity() * 3 / 2, in.size() + part.size())));
      }
      in.insert(in.end(), part.begin(), part.end());
      data = data.subspan(part.size());
      if (in.size() == member_bytes_) Submit();
    }
    open_ = true;
  }

  void Finish() {
    Leave();
    if (codec_ == Codec::kNone) return;
    if (!Filling().in.empty() || !any_member_) Submit();
    while (under_way_ > 0) PassOldestOn();
    StopWorkers();
  }

 private:
  struct Slot {
    std::vector<std::byte> in;
    std::vector<char> out;
    bool done = false;  ///< guarded by mutex_
    std::exception_ptr error;
  };

  /// Closed after Finish, and by any exception on the way: the ring is not in order then.
  void Leave() {
    if (!std::exchange(open_, false)) ThrowInternal(codec_, "written to after its end or after an error");
  }

  /// The slot behind those that are under way: there is always one.
  Slot& Filling() { return slots_[(oldest_ + under_way_) % slots_.size()]; }

  void StartWorkers(unsigned threads) {
    try {
      do {
        encoders_.push_back(std::make_unique<MemberEncoder>(codec_));
        // The threads that there are give the same bytes, later.
      } while (StartThread(workers_, [this, encoder = encoders_.back().get()] { Work(*encoder); }).empty() &&
               workers_.size() < threads);
    } catch (...) {
      StopWorkers();
      throw;
    }
  }

  void StopWorkers() noexcept {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    work_.notify_all();
    workers_.clear();
  }

  void Work(MemberEncoder& encoder) {
    std::unique_lock lock(mutex_);
    while (true) {
      work_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (stop_) return;
      Slot& slot = *queue_.front();
      queue_.pop_front();
      lock.unlock();
      Encode(encoder, slot);
      lock.lock();
      slot.done = true;
      done_.notify_one();
    }
  }

  static void Encode(MemberEncoder& encoder, Slot& slot) noexcept {
    try {
      encoder.Encode(slot.in, slot.out);
    } catch (...) {
      slot.error = std::current_exception();
    }
  }

  void Submit() {
    Slot& slot = Filling();
    any_member_ = true;
    ++under_way_;
    if (workers_.empty()) {
      Encode(*encoders_.front(), slot);
      slot.done = true;
      PassOldestOn();
      return;
    }
    bool room = false;
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(&slot);
      room = under_way_ < slots_.size() && !slots_[oldest_].done;
    }
    work_.notify_one();
    // Whatever is done goes out now, so that its consumer works meanwhile; one must, if the ring is full.
    while (!room) {
      PassOldestOn();
      const std::lock_guard lock(mutex_);
      room = under_way_ == 0 || !slots_[oldest_].done;
    }
  }

  void PassOldestOn() {
    Slot& slot = slots_[oldest_];
    {
      std::unique_lock lock(mutex_);
      done_.wait(lock, [&] { return slot.done; });
      slot.done = false;
    }
    if (slot.error) std::rethrow_exception(slot.error);
    sink_(std::as_bytes(std::span(slot.out)));
    slot.in.clear();
    oldest_ = (oldest_ + 1) % slots_.size();
    --under_way_;
  }

  const Codec codec_;
  const std::uint64_t member_bytes_;
  const Sink sink_;
  std::vector<Slot> slots_;
  std::size_t oldest_ = 0;  ///< slots_[oldest_] and the next under_way_ - 1 are with the workers, or done
  std::size_t under_way_ = 0;
  bool any_member_ = false;
  bool open_ = true;
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::deque<Slot*> queue_;  ///< guarded by mutex_
  bool stop_ = false;        ///< guarded by mutex_
  std::vector<std::unique_ptr<MemberEncoder>> encoders_;
  Threads workers_;
};

Encoder::Encoder(Codec codec, const EncoderOptions& options, Sink sink)
    : impl_((detail::NeedLibrary(codec), std::make_unique<Impl>(codec, options, std::move(sink)))) {}
Encoder::~Encoder() = default;
void Encoder::Write(std::span<const std::byte> data) { impl_->Write(data); }
void Encoder::Finish() { impl_->Finish(); }

std::uint64_t EncoderMemoryBytes(Codec codec, const EncoderOptions& options) {
  if (codec == Codec::kNone) return 0;
  detail::NeedLibrary(codec);
  const std::uint64_t member_bytes = MemberBytes(codec, options);
  std::uint64_t worker_bytes = 0;
  if (codec == Codec::kGz) worker_bytes = 512 * kKiB;
  if (codec == Codec::kBz2) worker_bytes = 8 * kMiB;
  if (codec == Codec::kXz) {
    lzma_mt alone{};
    alone.threads = 1;
    alone.preset = static_cast<std::uint32_t>(FactsOf(codec).level);
    worker_bytes = lzma_stream_encoder_mt_memusage(&alone);
  }
  if (codec == Codec::kZst) worker_bytes = 8 * kMiB;
  if (codec == Codec::kLz4) worker_bytes = 4 * kMiB;
  // The output of incompressible input is a little longer, and Boost's back_inserter doubles a buffer that is full.
  return std::max(1U, options.threads) * worker_bytes + SlotCount(options.threads) * 3 * (member_bytes + 64 * kKiB);
}

std::uint64_t DecoderMemoryBytes(Codec codec, std::uint64_t limit) {
  switch (codec) {
    case Codec::kNone:
      return 0;
    case Codec::kGz:
      return kSourceBytes + 64 * kKiB;
    case Codec::kBz2:
      return kSourceBytes + 4 * kMiB;
    case Codec::kXz:
      return kSourceBytes + LibraryBytes(codec, limit);
    case Codec::kZst:
      return kSourceBytes + LibraryBytes(codec, limit) + std::min(kZstdContextBytes, LibraryBytes(codec, limit));
    case Codec::kLz4:
      return kSourceBytes + 10 * kMiB;
    case Codec::kProgram:
      break;
  }
  throw Error(ErrorCode::kInternal, "unknown codec");
}

class BlockCodec::Impl {
 public:
  explicit Impl(Codec codec) : codec_(codec) {
    if (codec == Codec::kNone) ThrowInternal(codec, "blocks are not compressed");
    if (codec == Codec::kZst) {
      zst_encoder_ = ZSTD_createCCtx();
      zst_decoder_ = ZSTD_createDCtx();
    } else if (codec == Codec::kLz4) {
      lz4_state_.resize(static_cast<std::size_t>(LZ4_sizeofState()) / sizeof(lz4_state_.front()) + 1);
    } else {
      member_encoder_ = std::make_unique<MemberEncoder>(codec);
    }
    if (codec == Codec::kZst && (zst_encoder_ == nullptr || zst_decoder_ == nullptr)) {
      Free();
      ThrowOutOfMemory(codec);
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { Free(); }

  std::uint64_t Compress(std::span<const std::byte> in, std::span<std::byte> out) {
    if (in.empty() || in.size() > kMaxStepBytes) ThrowInternal(codec_, "a block of " + std::to_string(in.size()));
    if (codec_ == Codec::kZst) return CompressZst(in, out);
    if (codec_ == Codec::kLz4) {
      constexpr int kFastest = 1;
      const auto room = static_cast<int>(std::min<std::uint64_t>(out.size(), kMaxStepBytes));
      return static_cast<std::uint64_t>(
          LZ4_compress_fast_extState(lz4_state_.data(), reinterpret_cast<const char*>(in.data()),
                                     reinterpret_cast<char*>(out.data()), static_cast<int>(in.size()), room, kFastest));
    }
    member_encoder_->Encode(in, member_);
    if (member_.size() > out.size()) return 0;
    std::memcpy(out.data(), member_.data(), member_.size());
    return member_.size();
  }

  void Decompress(std::span<const std::byte> in, std::span<std::byte> out) {
    if (in.size() > kMaxStepBytes || out.size() > kMaxStepBytes) FailIntegrity("too long");
    if (codec_ == Codec::kZst) return DecompressZst(in, out);
    if (codec_ == Codec::kLz4) {
      const int made =
          LZ4_decompress_safe(reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(out.data()),
                              static_cast<int>(in.size()), static_cast<int>(out.size()));
      if (made < 0) FailIntegrity("bad lz4 data");
      return RequireAll(static_cast<std::uint64_t>(made), out.size());
    }
    DecompressMember(in, out);
  }

 private:
  std::uint64_t CompressZst(std::span<const std::byte> in, std::span<std::byte> out) {
    constexpr int kFastest = 1;
    const std::size_t bytes = ZSTD_compressCCtx(zst_encoder_, out.data(), out.size(), in.data(), in.size(), kFastest);
    if (ZSTD_isError(bytes) == 0) return bytes;
    if (ZSTD_getErrorCode(bytes) == ZSTD_error_dstSize_tooSmall) return 0;
    if (ZSTD_getErrorCode(bytes) == ZSTD_error_memory_allocation) ThrowOutOfMemory(codec_);
    ThrowInternal(codec_, ZSTD_getErrorName(bytes));
  }

  void DecompressZst(std::span<const std::byte> in, std::span<std::byte> out) {
    const std::size_t bytes = ZSTD_decompressDCtx(zst_decoder_, out.data(), out.size(), in.data(), in.size());
    if (ZSTD_isError(bytes) != 0) {
      if (ZSTD_getErrorCode(bytes) == ZSTD_error_memory_allocation) ThrowOutOfMemory(codec_);
      FailIntegrity(ZSTD_getErrorName(bytes));
    }
    RequireAll(bytes, out.size());
  }

  void DecompressMember(std::span<const std::byte> in, std::span<std::byte> out) {
    const auto source = [&](std::span<std::byte> to) {
      const std::size_t bytes = std::min(in.size(), to.size());
      if (bytes > 0) std::memcpy(to.data(), in.data(), bytes);
      in = in.subspan(bytes);
      return bytes;
    };
    try {
      Decoder decoder(codec_, "compressed block", source, {out.size(), DecoderLimits{}.memory_bytes});
      std::byte past_end{};
      std::uint64_t made = 0;
      // The decoder's limit is the block's size, so that there is no byte for past_end; its end must be seen.
      while (const std::uint64_t got = decoder.Read(made < out.size() ? out.subspan(made) : std::span(&past_end, 1))) {
        made += got;
      }
      RequireAll(made, out.size());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
      FailIntegrity(error.what());
    }
  }

  void RequireAll(std::uint64_t made, std::uint64_t wanted) const {
    if (made != wanted) FailIntegrity(std::to_string(made) + " bytes instead of " + std::to_string(wanted));
  }

  [[noreturn]] void FailIntegrity(const std::string& why) const {
    throw Error(ErrorCode::kIntegrity, std::string(CodecName(codec_)) + " block does not expand: " + why);
  }

  void Free() {
    if (zst_encoder_ != nullptr) ZSTD_freeCCtx(zst_encoder_);
    if (zst_decoder_ != nullptr) ZSTD_freeDCtx(zst_decoder_);
  }

  const Codec codec_;
  ZSTD_CCtx* zst_encoder_ = nullptr;
  ZSTD_DCtx* zst_decoder_ = nullptr;
  std::vector<std::uint64_t> lz4_state_;
  std::unique_ptr<MemberEncoder> member_encoder_;
  std::vector<char> member_;
};

BlockCodec::BlockCodec(Codec codec) : impl_((detail::NeedLibrary(codec), std::make_unique<Impl>(codec))) {}
BlockCodec::~BlockCodec() = default;
std::uint64_t BlockCodec::Compress(std::span<const std::byte> in, std::span<std::byte> out) {
  return impl_->Compress(in, out);
}
void BlockCodec::Decompress(std::span<const std::byte> in, std::span<std::byte> out) { impl_->Decompress(in, out); }

Codec ChooseTempCodec(std::span<const std::byte> sample, double disk_write_bytes_per_second, unsigned threads) {
  struct Speed {
    Codec codec;
    double compress;  ///< bytes of input a second and thread
    double expand;    ///< bytes of output a second and thread
  };
  // A web log in blocks of 256 KiB on one thread of a 2-core Xeon machine, 2026-11-21; sizes 0.18 and 0.11.
  constexpr Speed kSpeeds[] = {{Codec::kLz4, 850e6, 5000e6}, {Codec::kZst, 370e6, 1400e6}};
  constexpr double kWorthIt = 0.9;
  if (sample.size() < kMinSampleBytes || !(disk_write_bytes_per_second > 0)) return Codec::kNone;
  const double codec_threads = std::max(1U, threads / 2);
  Codec best = Codec::kNone;
  double best_seconds = 2 / disk_write_bytes_per_second;
  std::vector<std::byte> out(kSamplePieceBytes);
  for (const Speed& speed : kSpeeds) {
    BlockCodec codec(speed.codec);
    double bytes = 0;
    for (auto rest = sample; !rest.empty();
         rest = rest.subspan(std::min<std::size_t>(rest.size(), kSamplePieceBytes))) {
      const auto piece = rest.first(std::min<std::size_t>(rest.size(), kSamplePieceBytes));
      const std::uint64_t compressed = codec.Compress(piece, std::span(out).first(piece.size()));
      bytes += static_cast<double>(compressed != 0 ? compressed : piece.size());
    }
    const double on_disk = bytes / static_cast<double>(sample.size()) / disk_write_bytes_per_second;
    const double seconds =
        std::max(on_disk, 1 / (speed.compress * codec_threads)) + std::max(on_disk, 1 / (speed.expand * codec_threads));
    if (seconds < kWorthIt * best_seconds) {
      best = speed.codec;
      best_seconds = seconds;
    }
  }
  return best;
}

}  // namespace gpusort

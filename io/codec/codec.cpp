#include "io/codec/codec.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "io/codec/codec_module.hpp"
#include "io/codec/number_coder.hpp"

namespace gpusort {
namespace {

struct CodecFacts {
  Codec codec;
  std::string_view name;
  std::string_view program;  ///< the name of the tool that usually makes such files
  std::string_view extension;
};
constexpr CodecFacts kFacts[] = {
    {Codec::kNone, "none", "none", ""},      {Codec::kGz, "gz", "gzip", ".gz"},
    {Codec::kBgzf, "bgzf", "bgzip", ".bgz"}, {Codec::kBz2, "bz2", "bzip2", ".bz2"},
    {Codec::kXz, "xz", "xz", ".xz"},         {Codec::kZst, "zst", "zstd", ".zst"},
    {Codec::kLz4, "lz4", "lz4", ".lz4"},     {Codec::kParquet, "parquet", "", ""},
    {Codec::kArrow, "arrow", "", ""},        {Codec::kArrowStream, "arrow-stream", "", ""},
};

const CodecFacts& FactsOf(Codec codec) {
  return *std::ranges::find_if(kFacts, [&](const CodecFacts& facts) { return facts.codec == codec; });
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
    if (!IsColumnFile(facts.codec) && (name == facts.name || name == facts.program)) return facts.codec;
  }
  return std::nullopt;
}

std::string_view CodecName(Codec codec) {
  return codec == Codec::kProgram ? "program" : codec == Codec::kNumbers ? "numbers" : FactsOf(codec).name;
}

std::string_view CodecExtension(Codec codec) { return FactsOf(codec).extension; }

bool FitsName(Codec codec, Codec named) { return codec == named || (codec == Codec::kBgzf && named == Codec::kGz); }

namespace {

/// Compresses blocks as members, for a codec without its own block format.
class MemberBlockCoder final : public BlockCoder {
 public:
  explicit MemberBlockCoder(Codec codec) : codec_(codec), encoder_(detail::LoadCodec(codec).make_encoder()) {}
  std::uint64_t Compress(std::span<const std::byte> in, std::span<std::byte> out) override {
    encoder_->Encode(in, member_);
    if (member_.size() > out.size()) return 0;
    std::memcpy(out.data(), member_.data(), member_.size());
    return member_.size();
  }
  std::uint64_t Decompress(std::span<const std::byte> in, std::span<std::byte> out) override {
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
      // One more call verifies the end of the member. A block cannot expand to more than its size, which is the
      // decoder's limit, so that call puts nothing into past_end.
      while (const std::uint64_t got = decoder.Read(made < out.size() ? out.subspan(made) : std::span(&past_end, 1))) {
        made += got;
      }
      return made;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
      throw Refusal{error.what()};
    }
  }

 private:
  const Codec codec_;
  const std::unique_ptr<MemberEncoder> encoder_;
  std::vector<char> member_;
};

}  // namespace

BlockCodec::BlockCodec(Codec codec) : codec_(codec) {
  if (codec == Codec::kNone || codec == Codec::kBgzf) ThrowInternal(CodecName(codec), "no codec of blocks");
  if (codec == Codec::kNumbers) {
    coder_ = detail::MakeNumberCoder();
    return;
  }
  const CodecModule& module = detail::LoadCodec(codec);
  coder_ = module.make_block_coder != nullptr ? module.make_block_coder() : std::make_unique<MemberBlockCoder>(codec);
}

BlockCodec::~BlockCodec() = default;

std::uint64_t BlockCodec::Compress(std::span<const std::byte> in, std::span<std::byte> out) {
  if (in.empty() || in.size() > kMaxStepBytes) {
    ThrowInternal(CodecName(codec_), "a block of " + std::to_string(in.size()));
  }
  return coder_->Compress(in, out);
}

void BlockCodec::Decompress(std::span<const std::byte> in, std::span<std::byte> out) {
  std::string why = "too long";
  if (in.size() <= kMaxStepBytes && out.size() <= kMaxStepBytes) {
    try {
      const std::uint64_t made = coder_->Decompress(in, out);
      if (made == out.size()) return;
      why = std::to_string(made) + " bytes instead of " + std::to_string(out.size());
    } catch (const Refusal& refusal) {
      why = refusal.why;
    }
  }
  throw Error(ErrorCode::kIntegrity, std::string(CodecName(codec_)) + " block does not expand: " + why);
}

Codec ChooseTempCodec(std::span<const std::byte> sample, double disk_write_bytes_per_second, unsigned threads) {
  struct Speed {
    Codec codec;
    double compress;  ///< bytes of input in each second and thread
    double expand;    ///< bytes of output in each second and thread
  };
  // Measured with numbers and with a web log, as data/bench/NOTES.md says.
  constexpr Speed kSpeeds[] = {
      {Codec::kNumbers, 1500e6, 2500e6}, {Codec::kLz4, 850e6, 5000e6}, {Codec::kZst, 370e6, 1400e6}};
  // Assumes that the disk reads as fast as it writes. The time to write or to read a block is the longer of disk time
  // and codec time. Half of the threads run the codec, and the other threads sort.
  constexpr double kWorthIt = 0.9;
  constexpr std::uint64_t kMinSampleBytes = 4 * kKiB;
  constexpr std::uint64_t kSamplePieceBytes = 256 * kKiB;
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

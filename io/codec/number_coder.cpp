#include "io/codec/number_coder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>

// A compressed block: the kind of its numbers (1 byte), its size before compression (4 bytes), the first number, then a
// group for each 128 of the other numbers, then the bytes after the last number as they are, then kSlack zeros. A group
// begins with the number of bits of each value (1 byte: 0 to 56, or 64) and its smallest difference. The values are the
// differences less the smallest one, packed from the lowest bit on. The first number and the smallest difference have
// the byte order of the numbers. The slack lets Get and Put use whole words.

namespace gpusort::detail {
namespace {

constexpr std::uint64_t kHeader = 5, kGroup = 128, kSlack = 8;
constexpr std::uint8_t kBigEndian = 0x80;  // a kind is the size of a number, with this bit for big-endian numbers

/// Numbers of type Word (std::uint32_t or std::uint64_t) in a block of bytes.
template <typename Word, bool kSwap>
struct Numbers {
  using Signed = std::make_signed_t<Word>;
  static constexpr std::uint8_t kKind = sizeof(Word) | (kSwap ? kBigEndian : 0);

  /// Converts between the byte order of the numbers and that of the machine, which is little-endian.
  static Word Swapped(Word word) {
    if constexpr (!kSwap) return word;
    return sizeof(Word) == 8 ? static_cast<Word>(__builtin_bswap64(word)) : static_cast<Word>(__builtin_bswap32(word));
  }
  static Word Load(const std::byte* from) {
    Word word;
    std::memcpy(&word, from, sizeof(Word));
    return Swapped(word);
  }
  static void Store(std::byte* to, Word word) {
    word = Swapped(word);
    std::memcpy(to, &word, sizeof(Word));
  }

  struct Group {
    Word least;     ///< the smallest difference
    unsigned bits;  ///< of each difference less the smallest one
  };
  /// Stores the differences between the numbers number[-1], number[0], ... number[n - 1] in `differences`.
  static Group Subtract(const std::byte* number, std::uint64_t n, Word* differences) {
    Signed least = std::numeric_limits<Signed>::max(), most = std::numeric_limits<Signed>::min();
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::byte* const at = number + i * sizeof(Word);
      differences[i] = static_cast<Word>(Load(at) - Load(at - sizeof(Word)));
      least = std::min(least, static_cast<Signed>(differences[i]));
      most = std::max(most, static_cast<Signed>(differences[i]));
    }
    const auto range = static_cast<Word>(static_cast<Word>(most) - static_cast<Word>(least));
    const auto bits = static_cast<unsigned>(std::bit_width(range));
    // Put and Get need a word for a value and seven bits more.
    return {static_cast<Word>(least), bits > 56 ? 64 : bits};
  }
  static std::uint64_t PackedBytes(std::uint64_t n, unsigned bits) { return (n * bits + 7) / 8; }

  static void Put(const Word* differences, std::uint64_t n, const Group& group, std::byte* out) {
    std::uint64_t word = 0;  // the bits that are not complete bytes yet; their number is `have`
    unsigned have = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t value = static_cast<Word>(differences[i] - group.least);
      word |= value << have;
      std::memcpy(out, &word, 8);
      have += group.bits;
      out += have / 8;
      word = have == 64 ? 0 : word >> have / 8 * 8;
      have %= 8;
    }
    std::memcpy(out, &word, 8);
  }
  static Word Get(const std::byte* in, std::uint64_t i, unsigned bits, std::uint64_t mask) {
    const std::uint64_t bit = i * bits;
    std::uint64_t word;
    std::memcpy(&word, in + bit / 8, 8);
    return static_cast<Word>(word >> bit % 8 & mask);
  }

  static std::uint64_t Compress(std::span<const std::byte> in, std::span<std::byte> out) {
    const std::uint64_t count = in.size() / sizeof(Word), tail = in.size() % sizeof(Word);
    std::uint64_t at = kHeader + sizeof(Word);
    if (count == 0 || out.size() < at) return 0;
    out[0] = std::byte{kKind};
    const auto size = static_cast<std::uint32_t>(in.size());
    std::memcpy(&out[1], &size, sizeof(size));
    std::memcpy(&out[kHeader], in.data(), sizeof(Word));
    Word differences[kGroup];
    for (std::uint64_t i = 1; i < count; i += kGroup) {
      const std::uint64_t n = std::min(kGroup, count - i);
      const Group group = Subtract(in.data() + i * sizeof(Word), n, differences);
      if (out.size() - at < 1 + sizeof(Word) + PackedBytes(n, group.bits) + kSlack) return 0;
      out[at] = static_cast<std::byte>(group.bits);
      Store(&out[at + 1], group.least);
      at += 1 + sizeof(Word);
      Put(differences, n, group, &out[at]);
      at += PackedBytes(n, group.bits);
    }
    if (out.size() - at < tail + kSlack) return 0;
    std::memcpy(&out[at], in.data() + in.size() - tail, tail);
    std::memset(&out[at + tail], 0, kSlack);
    return at + tail + kSlack;
  }

  static void Decompress(std::span<const std::byte> in, std::span<std::byte> out) {
    const std::uint64_t count = out.size() / sizeof(Word), tail = out.size() % sizeof(Word);
    std::uint64_t at = kHeader + sizeof(Word);
    const auto need = [&](std::uint64_t bytes) {
      if (in.size() - at < bytes + kSlack) throw Refusal{"the numbers end too early"};
    };
    if (count == 0 || in.size() < at) throw Refusal{"no numbers"};
    std::uint32_t size;
    std::memcpy(&size, &in[1], sizeof(size));
    if (size != out.size()) throw Refusal{"numbers of " + std::to_string(size) + " bytes"};
    std::memcpy(out.data(), &in[kHeader], sizeof(Word));
    Word number = Load(out.data());
    for (std::uint64_t i = 1; i < count; i += kGroup) {
      const std::uint64_t n = std::min(kGroup, count - i);
      need(1 + sizeof(Word));
      const auto bits = std::to_integer<unsigned>(in[at]);
      if (bits > 64) throw Refusal{"a number of " + std::to_string(bits) + " bits"};
      const Word least = Load(&in[at + 1]);
      at += 1 + sizeof(Word);
      need(PackedBytes(n, bits));
      const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
      for (std::uint64_t j = 0; j < n; ++j) {
        number = static_cast<Word>(number + least + Get(&in[at], j, bits, mask));
        Store(&out[(i + j) * sizeof(Word)], number);
      }
      at += PackedBytes(n, bits);
    }
    need(tail);
    std::memcpy(out.data() + out.size() - tail, &in[at], tail);
    if (in.size() != at + tail + kSlack) throw Refusal{"bytes after the numbers"};
  }

  /// Returns the bits that a byte of the block's first numbers would take.
  static double BitsForEachByte(std::span<const std::byte> in) {
    constexpr std::uint64_t kSample = 4 * kGroup;
    const std::uint64_t count = std::min<std::uint64_t>(in.size() / sizeof(Word), kSample + 1);
    Word differences[kGroup];
    std::uint64_t bits = 0;
    for (std::uint64_t i = 1; i < count; i += kGroup) {
      const std::uint64_t n = std::min(kGroup, count - i);
      bits += n * Subtract(in.data() + i * sizeof(Word), n, differences).bits + 8 + 8 * sizeof(Word);
    }
    return count < 2 ? 8 : static_cast<double>(bits) / static_cast<double>((count - 1) * sizeof(Word));
  }
};

using Kinds = std::tuple<Numbers<std::uint64_t, false>, Numbers<std::uint32_t, false>, Numbers<std::uint64_t, true>,
                         Numbers<std::uint32_t, true>>;

class NumberCoder final : public BlockCoder {
 public:
  std::uint64_t Compress(std::span<const std::byte> in, std::span<std::byte> out) override {
    std::uint64_t (*best)(std::span<const std::byte>, std::span<std::byte>) = nullptr;
    double least = kWorthIt;
    std::apply(
        [&](auto... kind) {
          const auto look = [&](auto numbers) {
            const double bits = decltype(numbers)::BitsForEachByte(in);
            if (bits >= least) return;
            least = bits;
            best = decltype(numbers)::Compress;
          };
          (look(kind), ...);
        },
        Kinds());
    return best == nullptr ? 0 : best(in, out);
  }
  std::uint64_t Decompress(std::span<const std::byte> in, std::span<std::byte> out) override {
    const auto kind = in.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(in[0]);
    bool known = false;
    std::apply(
        [&](auto... numbers) {
          ((decltype(numbers)::kKind == kind ? (decltype(numbers)::Decompress(in, out), known = true) : false), ...);
        },
        Kinds());
    if (!known) throw Refusal{"numbers of an unknown kind"};
    return out.size();
  }

 private:
  static constexpr double kWorthIt = 7.6;  ///< bits for each byte of the block
};

}  // namespace

std::unique_ptr<BlockCoder> MakeNumberCoder() { return std::make_unique<NumberCoder>(); }

}  // namespace gpusort::detail

// gpusort_gen: writes files of records to sort: numbers of every type, records of bytes, gensort's records, lines,
// tables and logs. Every record only depends on the options and on its index. Any number of threads can therefore make
// blocks in any order, and the bytes are the same. All arithmetic is on integers, so the same seed gives the same file
// on every machine. Start at FillBlock, which makes a block, and then WriteBlocks, which writes it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "check/parallel.hpp"
#include "gen/logs.hpp"
#include "tool_help.hpp"

namespace {

using tool::FailUsage;
using Byte = unsigned char;
using U128 = unsigned __int128;

static_assert(std::endian::native == std::endian::little, "numbers are stored little-endian");

enum class Kind {
  kUnsigned,
  kSigned,
  kFloat,
  kRecord,
  kGensortAscii,
  kGensortBinary,
  kWebLog,
  kOrdersCsv,
  kOrdersTsv,
  kOrdersJson,
  kOrdersCopy,
  kOrdersCopyCsv,
  kOrdersCopyBinary,
  kOrdersDump,
  kLogs,
};
bool IsOrders(Kind kind) { return kind >= Kind::kOrdersCsv && kind <= Kind::kOrdersDump; }
bool IsLog(Kind kind) { return kind == Kind::kWebLog || kind == Kind::kLogs; }
enum class Distribution {
  kUniform,
  kZipf,
  kSorted,
  kReversed,
  kNearlySorted,
  kAllEqual,
  kFewValues,
  kCommonPrefix,
};

struct Job;
/// Stores records [first, first + n) of a job at `out`. Numbers are little-endian.
using Fill = void (*)(const Job& job, std::uint64_t first, std::uint64_t n, Byte* out);

struct Job {
  Kind kind = Kind::kUnsigned;
  Fill fill = nullptr;
  Distribution distribution = Distribution::kUniform;
  std::uint64_t record_bytes = 0;
  std::uint64_t key_bytes = 0;  ///< kRecord: the number of bytes at the start of a record that follow the distribution
  std::uint64_t count = 0;
  std::uint64_t start = 0;  ///< gensort: the number of the first record
  std::uint64_t seed = 0;
  std::uint64_t values = 16;   ///< kFewValues: the number of different values
  std::uint64_t prefix = 0;    ///< web-log: the number of bytes with which every line begins
  std::uint64_t distinct = 0;  ///< web-log: about how many different lines there are; 0: all lines differ
  /// Logs: the size of the part after the last whole chunk, which has as many whole lines as fit.
  std::uint64_t rest = 0;
  std::optional<gen::LogKind> log_kind;  ///< kLogs: the kind of the log; not set: all kinds
  bool skewed = false;                   ///< gensort: whether keys are skewed, as with its option -s
  bool big_endian = false;               ///< numbers: whether they are big-endian
  bool special = false;                  ///< floats: whether one value in 16 is a NaN, an infinity, a zero, ...
  unsigned threads = 1;
  std::string output;
};

// ---- Random numbers by index -------------------------------------------------------------------------------------

/// Maps 64-bit numbers one to one. Flips each bit of the result with a probability near 1/2 (SplitMix64's finalizer).
inline std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// Independent random sequences of one seed. The index of a record selects a number of the sequence.
enum class Stream : std::uint64_t { kValue = 1, kJitter, kSpecial, kPayload, kPool };

class Random {
 public:
  Random(std::uint64_t seed, Stream stream) : key_(Mix(Mix(seed) + static_cast<std::uint64_t>(stream) * kStep)) {}
  std::uint64_t operator()(std::uint64_t index) const { return Mix(key_ + (index + 1) * kStep); }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;
  std::uint64_t key_;
};

/// Returns floor(x * range / 2^64), which makes of a random x a random number below `range`.
inline std::uint64_t Scale(std::uint64_t x, std::uint64_t range) {
  return static_cast<std::uint64_t>((static_cast<U128>(x) * range) >> 64);
}

// ---- Distributions -----------------------------------------------------------------------------------------------

/// `count` ascending ranks of `bits` bits. The range of ranks is divided into equal slots, and each rank is at a random
/// place of its slot.
class EvenSpread {
 public:
  EvenSpread(const Job& job, unsigned bits) : jitter_(job.seed, Stream::kJitter), step_(~U128{0}) {
    // The size of a slot as a fixed-point number with 64 bits after the point. For 64-bit ranks the range itself,
    // 2^128, does not fit.
    if (bits < 64) step_ = U128{1} << (bits + 64);
    step_ /= std::max<std::uint64_t>(job.count, 1);
  }
  std::uint64_t operator()(std::uint64_t index) const {
    const auto slot = static_cast<std::uint64_t>((step_ * index) >> 64);
    return slot + Scale(jitter_(index), static_cast<std::uint64_t>(step_ >> 64));
  }

 private:
  Random jitter_;
  U128 step_;
};

/// Calls fill(rank) with a function that returns the rank of a record by its index. A rank is an unsigned number of
/// `bits` bits. Ranks have the order of the values or keys that are made from them.
template <typename Fill>
void WithRanks(const Job& job, unsigned bits, const Fill& fill) {
  const unsigned drop = 64 - bits;
  const Random value(job.seed, Stream::kValue);
  const Random pool(job.seed, Stream::kPool);
  switch (job.distribution) {
    case Distribution::kUniform:
      return fill([=](std::uint64_t i) { return value(i) >> drop; });
    case Distribution::kZipf: {
      // Value number k of 2^24 (2^bits if that is less) has a probability close to 1/k. Every octave of k has the same
      // probability, and so has every k in an octave. This needs no logarithm and no floating point. The place of the
      // values in the range of the type is random.
      const unsigned octaves = std::min(bits, 24u);
      return fill([=](std::uint64_t i) {
        const std::uint64_t x = value(i);
        const std::uint64_t octave = Scale(x, octaves);
        const std::uint64_t first = std::uint64_t{1} << octave;
        return pool(first + (Mix(x) & (first - 1))) >> drop;
      });
    }
    case Distribution::kSorted: {
      const EvenSpread spread(job, bits);
      return fill([=](std::uint64_t i) { return spread(i); });
    }
    case Distribution::kReversed: {
      const EvenSpread spread(job, bits);
      const std::uint64_t last = job.count - 1;
      return fill([=](std::uint64_t i) { return spread(last - i); });
    }
    case Distribution::kNearlySorted: {
      const EvenSpread spread(job, bits);
      return fill([=](std::uint64_t i) {
        const std::uint64_t x = value(i);
        return Scale(Mix(x), 100) == 0 ? x >> drop : spread(i);
      });
    }
    case Distribution::kAllEqual: {
      const std::uint64_t only = pool(0) >> drop;
      return fill([=](std::uint64_t) { return only; });
    }
    case Distribution::kFewValues: {
      const std::uint64_t values = job.values;
      return fill([=](std::uint64_t i) { return pool(Scale(value(i), values)) >> drop; });
    }
    case Distribution::kCommonPrefix: {
      const unsigned random_bits = std::max(bits / 4, 1u);
      const std::uint64_t mask = (std::uint64_t{1} << random_bits) - 1;
      const std::uint64_t prefix = (pool(0) >> drop) & ~mask;
      return fill([=](std::uint64_t i) { return prefix | (value(i) >> (64 - random_bits)); });
    }
  }
}

// ---- Numbers -----------------------------------------------------------------------------------------------------

template <typename U>
constexpr U kSignBit = static_cast<U>(U{1} << (8 * sizeof(U) - 1));

/// The fields of the formats IEEE binary32 and binary64.
template <typename U>
constexpr unsigned kMantissaBits = sizeof(U) == 4 ? 23 : 52;
template <typename U>
constexpr U kInfinity = static_cast<U>((~U{0} >> 1) & ~((U{1} << kMantissaBits<U>)-1));

/// Returns the finite float for a rank. Ascending ranks give ascending floats: -max .. -0, +0 .. +max.
template <typename U>
inline U FiniteFloat(U rank) {
  constexpr U kPerSign = kInfinity<U>;  // there are as many magnitudes below infinity as the bits of infinity say
  const U place = static_cast<U>((static_cast<U128>(rank) * kPerSign * 2) >> (8 * sizeof(U)));
  return place < kPerSign ? kSignBit<U> | (kPerSign - 1 - place) : place - kPerSign;
}

/// Returns one of the bit patterns that sorts of floats often get wrong.
template <typename U>
inline U SpecialFloat(std::uint64_t random) {
  constexpr U kQuiet = U{1} << (kMantissaBits<U> - 1);
  constexpr U kMantissa = (U{1} << kMantissaBits<U>)-1;
  const U sign = random & 1 ? kSignBit<U> : 0;
  const U payload = std::max<U>(static_cast<U>(random >> 8) & (kQuiet - 1), 1);
  switch (random >> 1 & 7) {
    case 0:
    case 1:
      return sign;  // a zero
    case 2:
      return sign | kInfinity<U>;  // an infinity
    case 3:
      return sign | kInfinity<U> | kQuiet;  // the usual NaN
    case 4:
      return sign | kInfinity<U> | kQuiet | payload;  // a quiet NaN with a payload
    case 5:
      return sign | kInfinity<U> | payload;  // a signaling NaN
    case 6:
      return sign | payload;  // a denormal
    default:
      return sign | (random & 0x100 ? kInfinity<U> - 1 : random & 0x200 ? kMantissa : U{1});  // an extreme
  }
}

/// Stores records [first, first + n) at `out`. Record i is value(i), with sizeof(U) bytes.
template <typename U, typename Value>
void Store(std::uint64_t first, std::uint64_t n, Byte* out, const Value& value) {
  for (std::uint64_t i = 0; i < n; ++i) {
    const U x = value(first + i);
    std::memcpy(out + i * sizeof(U), &x, sizeof(U));
  }
}

template <typename U>
void FillIntegers(const Job& job, std::uint64_t first, std::uint64_t n, Byte* out) {
  const U flip = job.kind == Kind::kSigned ? kSignBit<U> : U{0};
  WithRanks(job, 8 * sizeof(U), [&](const auto& rank) {
    Store<U>(first, n, out, [&](std::uint64_t i) { return static_cast<U>(static_cast<U>(rank(i)) ^ flip); });
  });
}

template <typename U>
void FillFloats(const Job& job, std::uint64_t first, std::uint64_t n, Byte* out) {
  const Random special(job.seed, Stream::kSpecial);
  WithRanks(job, 8 * sizeof(U), [&](const auto& rank) {
    Store<U>(first, n, out, [&](std::uint64_t i) {
      if (job.special) {
        const std::uint64_t random = special(i);
        if (random >> 60 == 0) return SpecialFloat<U>(random);
      }
      return FiniteFloat<U>(static_cast<U>(rank(i)));
    });
  });
}

// ---- Records of bytes --------------------------------------------------------------------------------------------

/// Fills `bytes` bytes with words of the random sequence number `id`.
void FillBytes(std::uint64_t id, std::uint64_t bytes, Byte* out) {
  const Random words(id, Stream::kPayload);
  for (std::uint64_t done = 0, i = 0; done < bytes; done += 8, ++i) {
    const std::uint64_t word = words(i);
    std::memcpy(out + done, &word, std::min<std::uint64_t>(8, bytes - done));
  }
}

/// Writes records of a key and random bytes. The key begins with the rank, most significant byte first. The rank also
/// determines the rest of the key, so that equal ranks give equal keys.
void FillRecords(const Job& job, std::uint64_t first, std::uint64_t n, Byte* out) {
  const Random payload(job.seed, Stream::kPayload);
  const std::uint64_t tail_bytes = job.record_bytes - job.key_bytes;
  if (job.distribution == Distribution::kCommonPrefix && job.key_bytes > 1) {
    const std::uint64_t prefix_bytes = job.key_bytes * 3 / 4;
    for (std::uint64_t i = 0; i < n; ++i, out += job.record_bytes) {
      FillBytes(job.seed, prefix_bytes, out);
      FillBytes(payload(first + i), job.record_bytes - prefix_bytes, out + prefix_bytes);
    }
    return;
  }
  const std::uint64_t rank_bytes = std::min<std::uint64_t>(job.key_bytes, 8);
  WithRanks(job, static_cast<unsigned>(8 * rank_bytes), [&](const auto& rank) {
    for (std::uint64_t i = 0; i < n; ++i, out += job.record_bytes) {
      const std::uint64_t r = rank(first + i);
      for (std::uint64_t b = 0; b < rank_bytes; ++b) out[b] = static_cast<Byte>(r >> (8 * (rank_bytes - 1 - b)));
      FillBytes(r, job.key_bytes - rank_bytes, out + rank_bytes);
      FillBytes(payload(first + i), tail_bytes, out + job.key_bytes);
    }
  });
}

// ---- gensort -----------------------------------------------------------------------------------------------------

constexpr std::uint64_t kGensortBytes = 100;

constexpr U128 Make128(std::uint64_t high, std::uint64_t low) { return static_cast<U128>(high) << 64 | low; }

/// The 128-bit linear congruential generator of sortbenchmark.org's gensort: record i uses state i + 1, from state 0.
class GensortRandom {
 public:
  static constexpr U128 kMultiplier = Make128(0x2360ED051FC65DA4u, 0x4385DF649FCCF645u);
  static constexpr U128 kIncrement = Make128(0x4A696D4772617952u, 0x4950202020202001u);

  static U128 Next(U128 state) { return state * kMultiplier + kIncrement; }

  /// Returns the state after `steps` steps from state 0. Squares the map of one step for every bit of `steps`.
  static U128 After(U128 steps) {
    U128 state = 0;
    U128 multiplier = kMultiplier;
    U128 increment = kIncrement;
    for (; steps != 0; steps >>= 1) {
      if (steps & 1) state = state * multiplier + increment;
      increment = increment * multiplier + increment;
      multiplier *= multiplier;
    }
    return state;
  }
};

/// Writes ASCII records: ten printable characters as the key, the record's number in hex, 13 hex digits four times
/// each, CR LF.
void FillGensortAscii(const Job& job, std::uint64_t first, std::uint64_t n, Byte* out) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  U128 number = static_cast<U128>(job.start) + first;
  U128 state = GensortRandom::After(number);
  for (std::uint64_t i = 0; i < n; ++i, ++number, out += kGensortBytes) {
    state = GensortRandom::Next(state);
    const auto high = static_cast<std::uint64_t>(state >> 64);
    const auto low = static_cast<std::uint64_t>(state);
    std::uint64_t rest = high;
    for (int k = 0; k < 10; ++k) {
      if (k == 8) rest = low;
      out[k] = static_cast<Byte>(' ' + rest % 95);
      rest /= 95;
    }
    out[10] = out[11] = ' ';
    for (int k = 0; k < 32; ++k) out[12 + k] = kHex[static_cast<unsigned>(number >> (124 - 4 * k)) & 15];
    out[44] = out[45] = ' ';
    for (int k = 0; k < 13; ++k) std::memset(out + 46 + 4 * k, kHex[(low >> (48 - 4 * k)) & 15], 4);
    out[98] = '\r';
    out[99] = '\n';
  }
}

/// Writes binary records: the upper ten bytes of the state of the record and of the nine states after it, each xored
/// with a constant.
void FillGensortBinary(const Job& job, std::uint64_t first, std::uint64_t n, Byte* out) {
  static constexpr U128 kMask[10] = {
      0,
      Make128(0xF0E8E4E2E1D8D4D2u, 0xD1CC000000000000u),
      Make128(0xCAC9C6C5C3B8B4B2u, 0xB1AC000000000000u),
      Make128(0xAAA9A6A5A39C9A99u, 0x9695000000000000u),
      Make128(0x938E8D8B87787472u, 0x716C000000000000u),
      Make128(0x6A696665635C5A59u, 0x5655000000000000u),
      Make128(0x534E4D4B473C3A39u, 0x3635000000000000u),
      Make128(0x332E2D2B271E1D1Bu, 0x170F000000000000u),
      Make128(0xC8C4C2C198949291u, 0x8CE0000000000000u),
      Make128(0x170F332E2D2B271Eu, 0x1D1B000000000000u),
  };
  U128 state = GensortRandom::After(static_cast<U128>(job.start) + first);
  U128 next[10];
  for (U128& s : next) s = state = GensortRandom::Next(state);
  for (std::uint64_t i = 0; i < n; ++i, out += kGensortBytes) {
    for (unsigned part = 0; part < 10; ++part) {
      const U128 x = next[(i + part) % 10] ^ kMask[part];
      for (unsigned b = 0; b < 10; ++b) out[10 * part + b] = static_cast<Byte>(x >> (120 - 8 * b));
    }
    next[i % 10] = state = GensortRandom::Next(state);
  }
}

/// Skews keys as gensort -s does. A key takes a random part of its first 6 bytes from the key of record w, where w is
/// the number of 1 bits of its record's number. A quarter of the keys takes nothing. ASCII keys take whole bytes.
void SkewGensortKeys(const Job& job, std::uint64_t first, std::uint64_t n, Byte* out) {
  constexpr unsigned kMostBits = 48;
  constexpr std::uint64_t kHeads = 65;
  const bool ascii = job.kind == Kind::kGensortAscii;
  Job plain = job;
  plain.start = 0;
  std::vector<Byte> heads(kHeads * kGensortBytes);
  (ascii ? FillGensortAscii : FillGensortBinary)(plain, 0, kHeads, heads.data());
  U128 state = GensortRandom::After(static_cast<U128>(job.start) + first);
  for (std::uint64_t i = 0; i < n; ++i, out += kGensortBytes) {
    state = GensortRandom::Next(state);
    const auto random = static_cast<unsigned>(state >> 32);
    unsigned bits = ascii ? 8 * (random & 7) : random & 63;
    if (bits > kMostBits) bits = 0;
    const Byte* head = heads.data() + std::bit_width(job.start + first + i) * kGensortBytes;
    std::memcpy(out, head, bits / 8);
    const Byte kept = static_cast<Byte>(0xFF >> bits % 8);
    out[bits / 8] = static_cast<Byte>((head[bits / 8] & ~kept) | (out[bits / 8] & kept));
  }
}

// ---- Lines -------------------------------------------------------------------------------------------------------

/// Lines are made in chunks of this many bytes. The last line of a chunk is stretched to fill the chunk, so that chunks
/// can be made in any order.
constexpr std::uint64_t kLogChunkBytes = std::uint64_t{64} << 10;

/// Returns line number `number` of a web server's log in the combined format, without its line end: 122 bytes on
/// average. `id` decides the content.
std::string LogLine(const Job& job, std::uint64_t number, std::uint64_t id) {
  static constexpr const char* kPaths[] = {"/",          "/index.html", "/api/v1/items/", "/images/",
                                           "/search?q=", "/login",      "/static/js/",    "/static/css/",
                                           "/blog/20",   "/feed.xml",   "/favicon.ico",   "/robots.txt"};
  static constexpr const char* kAgents[] = {
      "Mozilla/5.0 (X11; Linux x86_64)", "Googlebot/2.1", "curl/8.8.0", "kube-probe/1.30", "okhttp/4.12.0", "-"};
  static constexpr unsigned kStatus[] = {200, 200, 200, 200, 200, 200, 304, 304, 301, 404, 404, 500};
  const Random random(id, Stream::kPayload);
  // Chooses one of 2^17 addresses. Low numbers are more frequent, because every octave is equally likely.
  const std::uint64_t octave = Scale(random(0), 17);
  const std::uint64_t host = Mix((std::uint64_t{1} << octave) + (random(1) & ((std::uint64_t{1} << octave) - 1)));
  const std::uint64_t second = number / 40;  // forty requests each second
  char text[640];
  const auto path = kPaths[Scale(random(2), std::size(kPaths))];
  const auto referer = Scale(random(11), 2) == 0 ? "-" : kPaths[Scale(random(3), std::size(kPaths))];
  const auto site = referer[0] == '-' ? "" : "https://example.com";
  const std::uint64_t size = random(4) >> (44 + (random(5) & 15));
  const int length = std::snprintf(
      text, sizeof text,
      "%u.%u.%u.%u - %s [%02u/Nov/2026:%02u:%02u:%02u +0000] \"%s %s%llx HTTP/1.1\" %u %llu \"%s%s\" "
      "\"%s\"",
      static_cast<unsigned>(1 + host % 223), static_cast<unsigned>(host >> 8 & 255),
      static_cast<unsigned>(host >> 16 & 255), static_cast<unsigned>(host >> 24 & 255),
      Scale(random(6), 20) == 0 ? "alice" : "-", static_cast<unsigned>(1 + second / 86400 % 30),
      static_cast<unsigned>(second / 3600 % 24), static_cast<unsigned>(second / 60 % 60),
      static_cast<unsigned>(second % 60), Scale(random(7), 12) == 0 ? "POST" : "GET", path,
      static_cast<unsigned long long>(Scale(random(8), 1 << 20)), kStatus[Scale(random(9), std::size(kStatus))],
      static_cast<unsigned long long>(size), site, referer, kAgents[Scale(random(10), std::size(kAgents))]);
  return std::string(job.prefix, 'p') + std::string(text, static_cast<std::size_t>(length));
}

void FillLog(const Job& job, std::uint64_t first, std::uint64_t n, Byte* out) {
  // A chunk has fewer lines than this, so that numbers ascend from chunk to chunk.
  constexpr std::uint64_t kLinesPerChunk = 512;
  const Random value(job.seed, Stream::kValue);
  for (std::uint64_t c = first; c < first + n; ++c) {
    std::uint64_t number = c * kLinesPerChunk;
    for (std::uint64_t room = kLogChunkBytes; room > 0; ++number) {
      const std::uint64_t pick = job.distinct == 0 ? number : Scale(value(number), job.distinct);
      std::string line = LogLine(job, pick, value(~pick));
      // If no further line fits the rest of the chunk, this line fills the chunk.
      if (room < line.size() + 1 || room - line.size() - 1 < job.prefix + 100) line.resize(room - 1, 'x');
      line += '\n';
      std::memcpy(out, line.data(), line.size());
      out += line.size();
      room -= line.size();
    }
  }
}

/// Writes log records whose times have the order of the distribution. One in four has the time of the record before it.
void FillLogs(const Job& job, std::uint64_t first, std::uint64_t n, Byte* out) {
  constexpr std::uint64_t kRecordsPerChunk = 1024;  // a chunk has fewer records than this
  const Random value(job.seed, Stream::kPayload);
  // Some kinds of logs have no fractions, so a mixture with fractions would not be in order.
  const bool whole_seconds =
      !job.log_kind && (job.distribution == Distribution::kSorted || job.distribution == Distribution::kReversed);
  Job all = job;
  all.count = (job.count + 1) * kRecordsPerChunk;
  std::string record;
  WithRanks(all, 64, [&](const auto& rank) {
    for (std::uint64_t c = first; c < first + n; ++c) {
      std::uint64_t number = c * kRecordsPerChunk;
      for (std::uint64_t room = kLogChunkBytes; room > 0; ++number) {
        const std::uint64_t id = value(number);
        std::uint64_t time = Scale(rank(number - (number % 4 == 3)), gen::kLogSpan);
        if (whole_seconds) time -= time % 1000000000;
        const gen::LogKind kind = job.log_kind.value_or(static_cast<gen::LogKind>(Scale(Mix(id), gen::kLogKinds)));
        const auto make = [&](std::uint64_t stretch) {
          record.clear();
          gen::AppendLogRecord(kind, time, id, stretch, room < gen::kMostOfLog + gen::kMostOfShortLog, record);
        };
        make(0);
        // The last record of a chunk fills it.
        if (room < record.size() + gen::kMostOfShortLog) make(room - record.size());
        std::memcpy(out, record.data(), record.size());
        out += record.size();
        room -= record.size();
      }
    }
  });
}

/// Collects the fields of a row of COPY BINARY.
class BinaryTuple {
 public:
  explicit BinaryTuple(std::uint16_t fields) { Put(fields, 2); }
  void Text(std::string_view text) {
    Put(text.size(), 4);
    bytes_ += text;
  }
  void Int4(std::uint64_t value) { Number(value, 4); }
  void Int8(std::uint64_t value) { Number(value, 8); }
  /// Appends a numeric: digits of base 10000, the last of them for the two decimals.
  void Amount(std::uint64_t whole, std::uint64_t cents) {
    constexpr std::uint64_t kBase = 10000;
    const std::uint64_t digits[] = {whole / kBase, whole % kBase, 100 * cents};
    unsigned from = 0, to = 3;
    while (from < to && digits[from] == 0) ++from;
    while (from < to && digits[to - 1] == 0) --to;
    Put(8 + 2 * (to - from), 4);
    Put(to - from, 2);
    Put(from < to ? 1 - std::uint64_t{from} : 0, 2);  // the weight of the first digit
    Put(0, 2);                                        // the sign
    Put(2, 2);                                        // decimals
    for (; from < to; ++from) Put(digits[from], 2);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void Number(std::uint64_t value, unsigned size) {
    Put(size, 4);
    Put(value, size);
  }
  void Put(std::uint64_t value, unsigned size) {
    while (size-- > 0) bytes_ += static_cast<char>(value >> 8 * size);
  }

  std::string bytes_;
};

/// Returns an order of a shop: ten columns, a third of them quoted; one in fifty orders has a newline and quotes inside
/// a field. It has about 150 bytes as CSV. `note` makes it longer.
std::string Order(const Job& job, std::uint64_t number, std::string_view note) {
  static constexpr const char* kCities[] = {"Oslo", "Lima", "Accra", "Kyoto", "Perth", "Quito", "Turku", "Sucre"};
  const Random random(Mix(job.seed) + number, Stream::kPayload);
  const std::uint64_t second = Scale(random(0), 200000000);
  const std::uint64_t day = second / 86400;  // months of 28 days are enough
  const unsigned year = static_cast<unsigned>(2019 + day / 336), month = static_cast<unsigned>(1 + day % 336 / 28),
                 of_month = static_cast<unsigned>(1 + day % 28);
  char time[32];
  std::snprintf(time, sizeof time, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", year, month, of_month,
                static_cast<unsigned>(second / 3600 % 24), static_cast<unsigned>(second / 60 % 60),
                static_cast<unsigned>(second % 60), static_cast<unsigned>(random(1) % 1000));
  const bool json = job.kind == Kind::kOrdersJson;
  const bool copy = job.kind == Kind::kOrdersCopy || job.kind == Kind::kOrdersDump;
  const bool binary = job.kind == Kind::kOrdersCopyBinary;
  const bool tsv = job.kind == Kind::kOrdersTsv;  // TSV has no quotes, so its fields have no newlines
  const char* const quote = json ? "\\\"" : copy || binary || tsv ? "\"" : "\"\"";
  const char* const newline = json || copy ? "\\n" : tsv ? " " : "\n";
  char comment[96];
  if (random(2) % 50 == 0) {
    std::snprintf(comment, sizeof comment, "said %sno, thanks%s,%sthen came back", quote, quote, newline);
  } else {
    std::snprintf(comment, sizeof comment, "leave at door %u, please", static_cast<unsigned>(random(2) % 1000));
  }
  const std::uint64_t whole = Scale(random(3), 100000), cents = random(4) % 100;
  const std::string customer = "customer " + std::to_string(Scale(random(5), 1 << 20));
  const char* const city = kCities[random(6) % std::size(kCities)];
  const auto items = static_cast<unsigned>(1 + random(7) % 9), shop = static_cast<unsigned>(random(8) % 400);
  const char* const state = random(9) % 9 == 0 ? "returned" : "sent";
  if (binary) {
    using namespace std::chrono;
    const year_month_day date(std::chrono::year(static_cast<int>(year)), std::chrono::month(month),
                              std::chrono::day(of_month));
    const auto days = sys_days(date) - sys_days(2000y / 1 / 1);
    BinaryTuple tuple(10);
    tuple.Int8(number);
    tuple.Int8(((static_cast<std::uint64_t>(days.count()) * 86400 + second % 86400) * 1000 + random(1) % 1000) * 1000);
    tuple.Amount(whole, cents);
    tuple.Text(customer);
    tuple.Text(city);
    tuple.Int4(items);
    tuple.Text(comment);
    tuple.Int4(shop);
    tuple.Text(state);
    tuple.Text(note);
    return tuple.bytes();
  }
  const char* const form =
      json ? "{\"id\":%llu,\"created_at\":\"%s\",\"amount\":%llu.%02u,\"who\":{\"name\":\"%s\",\"city\":\"%s\"},"
             "\"items\":%u,\"comment\":\"%s\",\"shop\":%u,\"state\":\"%s\",\"note\":\""
      : copy || tsv ? "%llu\t%s\t%llu.%02u\t%s\t%s\t%u\t%s\t%u\t%s\t"
                    : "%llu,%s,%llu.%02u,\"%s\",%s,%u,\"%s\",%u,%s,\"";
  char text[512];
  const int length = std::snprintf(text, sizeof text, form, static_cast<unsigned long long>(number), time,
                                   static_cast<unsigned long long>(whole), static_cast<unsigned>(cents),
                                   customer.c_str(), city, items, comment, shop, state);
  return std::string(text, static_cast<std::size_t>(length))
      .append(note)
      .append(json          ? "\"}\n"
              : copy || tsv ? "\n"
                            : "\"\n");
}

/// Returns the bytes before all records.
std::string OrdersHead(Kind kind) {
  std::string columns = "id,created_at,amount,customer,city,items,comment,shop,state,note";
  switch (kind) {
    case Kind::kOrdersCsv:
      return columns + "\n";
    case Kind::kOrdersTsv:
      std::replace(columns.begin(), columns.end(), ',', '\t');
      return columns + "\n";
    case Kind::kOrdersCopyBinary:
      return std::string("PGCOPY\n\377\r\n\0", 11) + std::string(8, '\0');
    case Kind::kOrdersDump:
      return "--\n-- PostgreSQL database dump\n--\n\nCOPY public.orders (" + columns + ") FROM stdin;\n";
    default:
      return "";
  }
}

/// Returns the bytes after all records.
std::string_view OrdersTail(Kind kind) {
  if (kind == Kind::kOrdersCopyBinary) return "\377\377";
  return kind == Kind::kOrdersDump ? "\\.\n\n\n--\n-- PostgreSQL database dump complete\n--\n\n" : "";
}

void FillOrders(const Job& job, std::uint64_t first, std::uint64_t n, Byte* out) {
  constexpr std::uint64_t kRecordsPerChunk = 1024;  // a chunk has fewer records than this
  constexpr std::uint64_t kMost = 600;              // the maximum size of a record in bytes
  for (std::uint64_t c = first; c < first + n; ++c) {
    std::uint64_t number = c * kRecordsPerChunk, room = kLogChunkBytes;
    const auto put = [&](std::string_view text) {
      std::memcpy(out, text.data(), text.size());
      out += text.size();
      room -= text.size();
    };
    if (c == 0) put(OrdersHead(job.kind));
    const std::string_view tail = c + 1 == job.count ? OrdersTail(job.kind) : "";
    room -= tail.size();
    while (room > 0) {
      std::string record = Order(job, number, "");
      // The last record of a chunk fills it.
      if (room < record.size() + kMost) record = Order(job, number, std::string(room - record.size(), 'x'));
      put(record);
      ++number;
    }
    room = tail.size();
    put(tail);
  }
}

/// Fills `out` with records [first, first + n) of the job.
void FillBlock(const Job& job, std::uint64_t first, std::uint64_t n, Byte* out) {
  job.fill(job, first, n, out);
  if (job.skewed) SkewGensortKeys(job, first, n, out);
  if (!job.big_endian) return;
  for (std::uint64_t i = 0; i < n; ++i, out += job.record_bytes) std::reverse(out, out + job.record_bytes);
}

// ---- Output ------------------------------------------------------------------------------------------------------

[[noreturn]] void FailIo(const std::string& path, const std::string& what, int error) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  const char* const hint = error == EFBIG ? "; see ulimit -f" : "";
  throw tool::Failure(full ? tool::kNoSpace : tool::kIo, path + ": " + what + ": " + std::strerror(error) + hint);
}

class Output {
 public:
  explicit Output(const std::string& path)
      : path_(path == "-" ? "standard output" : tool::Quote(path)), owned_(path != "-") {
    fd_ = owned_ ? ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : STDOUT_FILENO;
    if (fd_ < 0) FailIo(path_, "cannot open for writing", errno);
    struct stat status;
    if (::fstat(fd_, &status) != 0) FailIo(path_, "fstat", errno);
    // Standard output may be redirected with an offset or in append mode, so it is written in order.
    any_order_ = owned_ && S_ISREG(status.st_mode);
  }
  Output(const Output&) = delete;
  ~Output() {
    if (owned_ && fd_ >= 0) ::close(fd_);
  }

  bool any_order() const { return any_order_; }

  /// Writes the bytes at `offset` if any_order(). Otherwise writes them after the bytes of earlier calls.
  void Write(const Byte* data, std::uint64_t bytes, std::uint64_t offset) {
    while (bytes > 0) {
      const ssize_t n = any_order_ ? ::pwrite(fd_, data, bytes, static_cast<off_t>(offset)) : ::write(fd_, data, bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) FailIo(path_, "cannot write at byte " + std::to_string(offset), errno);
      data += n;
      offset += static_cast<std::uint64_t>(n);
      bytes -= static_cast<std::uint64_t>(n);
    }
  }

  /// Sets the time of the last change of a regular file to `seconds` after 1970.
  void SetTime(std::int64_t seconds) {
    const struct timespec times[2] = {{0, UTIME_OMIT}, {seconds, 0}};
    if (any_order_ && ::futimens(fd_, times) != 0) FailIo(path_, "cannot set its time", errno);
  }

  void Close() {
    if (!owned_) return;
    const int result = ::close(fd_);
    fd_ = -1;
    if (result != 0) FailIo(path_, "close", errno);
  }

 private:
  std::string path_;
  bool owned_;
  bool any_order_ = false;
  int fd_ = -1;
};

/// Threads take blocks in order, fill them at the same time and write each block to its place. If the output is a
/// stream, they write in turn.
void WriteBlocks(const Job& job, Output& output) {
  constexpr std::uint64_t kBlockBytes = std::uint64_t{4} << 20;
  const std::uint64_t per_block = std::max<std::uint64_t>(kBlockBytes / job.record_bytes, 1);
  const std::uint64_t blocks = job.count / per_block + (job.count % per_block != 0);

  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  std::condition_variable turn_changed;
  std::uint64_t turn = 0;
  bool failed = false;

  check::RunOnThreads(static_cast<unsigned>(std::min<std::uint64_t>(job.threads, blocks)), [&] {
    try {
      std::vector<Byte> buffer(std::min(per_block, job.count) * job.record_bytes);
      for (std::uint64_t block; (block = next.fetch_add(1)) < blocks;) {
        const std::uint64_t first = block * per_block;
        const std::uint64_t n = std::min(per_block, job.count - first);
        FillBlock(job, first, n, buffer.data());
        if (!output.any_order()) {
          std::unique_lock lock(mutex);
          turn_changed.wait(lock, [&] { return turn == block || failed; });
          if (failed) return;
        }
        output.Write(buffer.data(), n * job.record_bytes, first * job.record_bytes);
        const std::lock_guard lock(mutex);
        if (failed) return;
        turn = block + 1;
        turn_changed.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failed = true;
      turn_changed.notify_all();
      throw;
    }
  });
}

/// Returns the lines that fit into the bytes after the last whole chunk.
std::vector<Byte> RestOfLog(const Job& job) {
  std::vector<Byte> chunk(kLogChunkBytes);
  job.fill(job, job.count, 1, chunk.data());
  const auto room = chunk.rend() - static_cast<std::ptrdiff_t>(job.rest);
  chunk.erase(std::find(room, chunk.rend(), Byte{'\n'}).base(), chunk.end());
  return chunk;
}

// ---- Command line ------------------------------------------------------------------------------------------------

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 60;

/// Parses a whole number. If `units` is true, it may have a unit K, M, G, T or P (powers of 1024).
std::uint64_t ParseNumber(const std::string& option, const std::string& text, bool units) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  unsigned shift = 0;
  if (failure == std::errc::invalid_argument) FailUsage(option + ": '" + text + "' is not a number");
  if (!unit.empty()) {
    const std::size_t at = std::string_view("KMGTP").find(unit[0]);
    if (!units || at == std::string_view::npos || unit.size() > 1) {
      FailUsage(option + ": '" + text + "' is not a number" + (units ? " with K, M, G, T or P or without" : ""));
    }
    shift = static_cast<unsigned>(10 * (at + 1));
  }
  if (failure != std::errc{} || value > (~std::uint64_t{0} >> shift)) FailUsage(option + ": " + text + " is too large");
  return value << shift;
}

void ResolveType(const std::string& text, Job& job) {
  struct Named {
    std::string_view name;
    Kind kind;
    std::uint64_t bytes;
    Fill fill;
    std::optional<gen::LogKind> log_kind = std::nullopt;
  };
  static constexpr Named kNamed[] = {
      {"i8", Kind::kSigned, 1, FillIntegers<std::uint8_t>},
      {"i16", Kind::kSigned, 2, FillIntegers<std::uint16_t>},
      {"i32", Kind::kSigned, 4, FillIntegers<std::uint32_t>},
      {"i64", Kind::kSigned, 8, FillIntegers<std::uint64_t>},
      {"u8", Kind::kUnsigned, 1, FillIntegers<std::uint8_t>},
      {"u16", Kind::kUnsigned, 2, FillIntegers<std::uint16_t>},
      {"u32", Kind::kUnsigned, 4, FillIntegers<std::uint32_t>},
      {"u64", Kind::kUnsigned, 8, FillIntegers<std::uint64_t>},
      {"f32", Kind::kFloat, 4, FillFloats<std::uint32_t>},
      {"f64", Kind::kFloat, 8, FillFloats<std::uint64_t>},
      {"record", Kind::kRecord, 0, FillRecords},
      {"gensort-ascii", Kind::kGensortAscii, kGensortBytes, FillGensortAscii},
      {"gensort-binary", Kind::kGensortBinary, kGensortBytes, FillGensortBinary},
      {"web-log", Kind::kWebLog, kLogChunkBytes, FillLog},
      {"orders-csv", Kind::kOrdersCsv, kLogChunkBytes, FillOrders},
      {"orders-tsv", Kind::kOrdersTsv, kLogChunkBytes, FillOrders},
      {"orders-jsonl", Kind::kOrdersJson, kLogChunkBytes, FillOrders},
      {"orders-pgcopy", Kind::kOrdersCopy, kLogChunkBytes, FillOrders},
      {"orders-pgcopy-csv", Kind::kOrdersCopyCsv, kLogChunkBytes, FillOrders},
      {"orders-pgcopy-binary", Kind::kOrdersCopyBinary, kLogChunkBytes, FillOrders},
      {"orders-mysql", Kind::kOrdersCopy, kLogChunkBytes, FillOrders},
      {"orders-pgdump", Kind::kOrdersDump, kLogChunkBytes, FillOrders},
      {"logs", Kind::kLogs, kLogChunkBytes, FillLogs},
      {"logs-web", Kind::kLogs, kLogChunkBytes, FillLogs, gen::LogKind::kWeb},
      {"logs-syslog", Kind::kLogs, kLogChunkBytes, FillLogs, gen::LogKind::kSyslog},
      {"logs-app", Kind::kLogs, kLogChunkBytes, FillLogs, gen::LogKind::kApplication},
      {"logs-postgres", Kind::kLogs, kLogChunkBytes, FillLogs, gen::LogKind::kPostgres},
      {"logs-json", Kind::kLogs, kLogChunkBytes, FillLogs, gen::LogKind::kJson},
  };
  std::vector<std::string> names;
  for (const Named& named : kNamed) {
    names.emplace_back(named.name);
    const bool number = named.kind <= Kind::kFloat;
    const bool ends = text.ends_with("be") || text.ends_with("le");
    if (named.name != (number && ends ? std::string_view(text).substr(0, text.size() - 2) : std::string_view(text)))
      continue;
    job.big_endian = number && text.ends_with("be");
    job.kind = named.kind;
    job.record_bytes = named.bytes;
    job.fill = named.fill;
    job.log_kind = named.log_kind;
    return;
  }
  FailUsage("--type: " + tool::Quote(text) +
            " is not a type: give i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 (le or be), record, gensort-ascii, "
            "gensort-binary, web-log, logs, logs-web, -syslog, -app, -postgres, -json, or orders-csv, -tsv, -jsonl, "
            "-pgcopy, -pgcopy-csv, -pgcopy-binary, -mysql, -pgdump" +
            tool::DidYouMean(text, names));
}

Distribution ParseDistribution(const std::string& text) {
  static constexpr std::string_view kNames[] = {"uniform",       "zipf",      "sorted",     "reversed",
                                                "nearly-sorted", "all-equal", "few-values", "common-prefix"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == text) return static_cast<Distribution>(i);
  }
  std::string all;
  for (const std::string_view name : kNames) all.append(" ").append(name);
  FailUsage("--dist: " + tool::Quote(text) + " is none of" + all +
            tool::DidYouMean(text, {std::begin(kNames), std::end(kNames)}));
}

const tool::ToolHelp kHelp = {
    "gpusort_gen",
    "make files of numbers, records, lines and rows to sort",
    {"--type TYPE (--count N | --bytes SIZE) [OPTION...] OUTPUT"},
    "Writes records to sort. The same options give the same bytes on every machine\n"
    "and with any --threads. OUTPUT - is standard output.\n",
    {{"type", 0, "TYPE", "what to write, see Types; required", false,
      "i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 i16be i32be i64be u16be u32be u64be f32be f64be record gensort-ascii "
      "gensort-binary web-log orders-csv orders-tsv orders-jsonl orders-pgcopy orders-pgcopy-csv orders-pgcopy-binary "
      "orders-mysql orders-pgdump logs logs-web logs-syslog logs-app logs-postgres logs-json"},
     {"count", 0, "N", "number of records"},
     {"bytes", 0, "SIZE",
      "as many whole records or lines as fit in this size (K M G T P by 1024); orders come in chunks of 64K"},
     {"seed", 0, "N", "each seed gives other records (default 0)"},
     {"dist", 0, "NAME", "distribution, see Distributions (default uniform)", false,
      "uniform zipf sorted reversed nearly-sorted all-equal few-values common-prefix"},
     {"values", 0, "N", "few-values: the number of values (default 16)"},
     {"special", 0, "", "floats: one value in 16 is a zero, an infinity, a NaN, a denormal or an extreme value"},
     {"record-size", 0, "N", "type record: the size of a record"},
     {"key-size", 0, "N",
      "type record: the first N bytes follow the distribution, the rest is random (default 10, or all if fewer)"},
     {"common-prefix", 0, "N", "web-log: every line begins with N equal bytes"},
     {"distinct", 0, "N", "web-log: about N different lines (default: all differ)"},
     {"start", 0, "N", "gensort: the number of the first record (default 0), like gensort -b"},
     {"skewed", 0, "", "gensort: skewed keys, like gensort -s"},
     {"threads", 0, "N", "number of threads (default: one for each core)"}},
    {{"Types",
      "  i8 i16 i32 i64, u8 u16 u32 u64, f32 f64\n"
      "                 each record is a number, little-endian or, as u32be, big-endian\n"
      "  record         N random bytes, see --record-size\n"
      "  gensort-ascii, gensort-binary\n"
      "                 records of 100 bytes, as gensort of sortbenchmark.org\n"
      "  web-log        lines of a web server's log, 122 bytes on average\n"
      "  orders-csv, orders-tsv, orders-jsonl, orders-pgcopy, orders-pgcopy-csv,\n"
      "  orders-pgcopy-binary, orders-mysql, orders-pgdump\n"
      "                 the orders of a shop, in each format of gpusort --format: ten\n"
      "                 columns, id created_at amount customer city items comment shop\n"
      "                 state note; some comments have quotes and newlines\n"
      "  logs-web, logs-syslog, logs-app, logs-postgres, logs-json\n"
      "                 the log of one kind of program, for gpusort --format log: 20\n"
      "                 days of November 2026 in several zones; some records have equal\n"
      "                 times, and one in five of logs-app has a stack trace. --dist\n"
      "                 orders the times. The mtime of the file is the last day\n"
      "  logs           records of these five kinds in one log\n"},
     {"Distributions",
      "  uniform        every value equally likely; floats: every finite bit pattern\n"
      "  zipf           value number k of 2^24 has a probability near 1/k\n"
      "  sorted         ascending, spread over the whole type\n"
      "  reversed       the same, descending\n"
      "  nearly-sorted  ascending, but one record in 100 is uniform\n"
      "  all-equal      one value\n"
      "  few-values     16 values, or as many as --values says\n"
      "  common-prefix  the first three quarters of the bits are the same (records: of\n"
      "                 the bytes of the key)\n"},
     {"Exit codes", "  0 done  2 usage  4 I/O error  5 no space  6 out of memory  9 internal error\n"},
     {"Examples",
      "  gpusort_gen --type u64 --bytes 1G in.u64\n"
      "  gpusort_gen --type orders-csv --bytes 64M orders.csv\n"
      "  gpusort_gen --type web-log --bytes 1G - | gpusort - sorted.log\n"
      "  gpusort_gen --type logs-app --bytes 1G --dist sorted app.log\n"}},
    "gpusort(1), gpusort_check(1)"};

/// Returns the job of the command line. Throws Failure(kUsage) if the command line is wrong.
Job ParseJob(const tool::Typed& typed) {
  Job job;
  const std::string type = typed.value("type"), distribution = typed.value("dist"), bytes = typed.value("bytes");
  job.special = typed.has("special");
  job.skewed = typed.has("skewed");
  if (typed.names.size() > 1) FailUsage("more than one OUTPUT: " + tool::Quote(typed.names[1]));
  if (!typed.names.empty()) job.output = typed.names[0];

  if (type.empty()) FailUsage("--type is missing; see gpusort_gen --help");
  if (job.output.empty()) FailUsage("OUTPUT is missing");
  ResolveType(type, job);
  const bool gensort = job.kind == Kind::kGensortAscii || job.kind == Kind::kGensortBinary;
  const auto only_for = [&](const char* name, bool allowed, const char* what) {
    if (typed.has(name) && !allowed) {
      FailUsage("--" + std::string(name) + " is only for " + what);
    }
  };
  only_for("record-size", job.kind == Kind::kRecord, "--type record");
  only_for("key-size", job.kind == Kind::kRecord, "--type record");
  only_for("start", gensort, "the gensort types");
  const bool web_log = job.kind == Kind::kWebLog, log = IsLog(job.kind);
  only_for("common-prefix", web_log, "--type web-log");
  only_for("distinct", web_log, "--type web-log");
  const bool orders = IsOrders(job.kind);
  only_for("count", !log && !orders, "other types: lines differ in length, give --bytes");
  only_for("seed", !gensort, "other types: gensort's records are fixed, --start chooses them");
  only_for("dist", !web_log && !orders, "other types: lines have --distinct and --common-prefix");
  only_for("dist", !gensort, "other types: gensort's records are fixed, --start chooses them");
  if (typed.has("dist")) job.distribution = ParseDistribution(distribution);
  only_for("values", job.distribution == Distribution::kFewValues, "--dist few-values");
  if (typed.has("values")) job.values = ParseNumber("--values", typed.value("values"), false);
  if (job.values == 0) FailUsage("--values must be at least 1");
  if (job.special) {
    if (job.kind != Kind::kFloat) FailUsage("--special is only for --type f32 and f64");
    if (job.distribution == Distribution::kSorted || job.distribution == Distribution::kReversed ||
        job.distribution == Distribution::kAllEqual) {
      FailUsage("--special would break --dist " + distribution);
    }
  }
  if (job.kind == Kind::kRecord) {
    if (!typed.has("record-size")) FailUsage("--type record needs --record-size");
    job.record_bytes = ParseNumber("--record-size", typed.value("record-size"), true);
    if (job.record_bytes == 0 || job.record_bytes > (std::uint64_t{1} << 30)) {
      FailUsage("--record-size must be from 1 byte to 1 GiB");
    }
    job.key_bytes = std::min<std::uint64_t>(job.record_bytes, 10);
    if (typed.has("key-size")) job.key_bytes = ParseNumber("--key-size", typed.value("key-size"), true);
    if (job.key_bytes == 0 || job.key_bytes > job.record_bytes) {
      FailUsage("--key-size must be from 1 byte to the record's size");
    }
  }
  if (typed.has("count") + typed.has("bytes") != 1) FailUsage("give either --count or --bytes, like --bytes 1G");
  const std::uint64_t size = typed.has("bytes") ? ParseNumber("--bytes", bytes, true) : 0;
  job.count = typed.has("count") ? ParseNumber("--count", typed.value("count"), false) : size / job.record_bytes;
  if (log) job.rest = size % job.record_bytes;
  if (job.count > kMaxBytes / job.record_bytes) FailUsage("that is more than 1 EiB");
  if (typed.has("common-prefix")) job.prefix = ParseNumber("--common-prefix", typed.value("common-prefix"), false);
  if (job.prefix > 10000) FailUsage("--common-prefix must be at most 10000");
  if (typed.has("distinct")) job.distinct = ParseNumber("--distinct", typed.value("distinct"), false);
  if (typed.has("seed")) job.seed = ParseNumber("--seed", typed.value("seed"), false);
  if (typed.has("start")) job.start = ParseNumber("--start", typed.value("start"), false);
  if (job.skewed && !gensort) FailUsage("--skewed is only for the gensort types");
  // From this number on gensort counts the bits differently.
  if (job.skewed && job.start > (std::uint64_t{1} << 60) - job.count) FailUsage("--skewed is for numbers below 2^60");
  job.threads = std::max(std::thread::hardware_concurrency(), 1u);
  if (typed.has("threads")) {
    const std::uint64_t n = ParseNumber("--threads", typed.value("threads"), false);
    if (n == 0 || n > 1024) FailUsage("--threads must be from 1 to 1024");
    job.threads = static_cast<unsigned>(n);
  }
  if (size > 0 && job.count == 0 && (!log || RestOfLog(job).empty())) {
    FailUsage("--bytes " + bytes + ": not even one " + (log ? "line" : "record") + " fits");
  }
  return job;
}

tool::Exit Run(const tool::Typed& typed) {
  const Job job = ParseJob(typed);
  Output output(job.output);
  WriteBlocks(job, output);
  if (job.rest > 0) {
    const std::vector<Byte> rest = RestOfLog(job);
    output.Write(rest.data(), rest.size(), job.count * job.record_bytes);
  }
  if (job.kind == Kind::kLogs) output.SetTime(gen::kLogBegin + static_cast<std::int64_t>(gen::kLogSpan / 1000000000));
  output.Close();
  return tool::kGood;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding a limit on file sizes is then an error of write()
  return tool::Main(kHelp, argc, argv, tool::kInternal, Run);
}

// gpusort_check: the independent witness. Checks that a file is in order, and that it contains the records of the
// inputs. It shares no code with gpusort except the answers to a shell's Tab. It has its own key grammar, readers and
// hash of sets of records. It compares typed values (floats by std::strong_order, which is IEEE totalOrder) instead of
// encoded bytes. check/table.hpp reads lines and records with columns, and check/value.hpp compares them. The program
// also computes the CRC-32 sum of valsort, so that its results can be compared with a third program. Start at Run, then
// Scan: one pass over a file on all cores, by blocks (ScanBlocks) or, for lines and records with columns, by pieces
// (ScanRows). --stable and --unique compare the sums of check/sequence.hpp, and FindFirst finds the record that is
// wrong. Logs are sorted in memory and compared (RunLogs). A Python program checks Parquet (check/parquet.py).
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <clocale>
#include <compare>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "check/borders.hpp"
#include "check/logs.hpp"
#include "check/parallel.hpp"
#include "check/parquet.hpp"
#include "check/sequence.hpp"
#include "check/table.hpp"
#include "tool_help.hpp"

namespace {

using Byte = unsigned char;
using U128 = unsigned __int128;

static_assert(std::endian::native == std::endian::little, "numbers are read as little-endian");

using tool::Failure;
using tool::FailUsage;

std::string SystemMessage(int error) { return std::strerror(error); }

/// Returns the number in hexadecimal without leading zeros, as valsort prints its checksum.
std::string Hex(U128 value) {
  std::string text;
  do {
    text.insert(text.begin(), "0123456789abcdef"[static_cast<unsigned>(value & 15)]);
    value >>= 4;
  } while (value != 0);
  return text;
}

std::string Place(std::uint64_t record, std::uint64_t record_bytes) {
  return "record " + std::to_string(record) + " (byte " + std::to_string(record * record_bytes) + ")";
}

// ---- Order -------------------------------------------------------------------------------------------------------

/// Compares two fields of `length` bytes, in ascending order.
using CompareField = std::strong_ordering (*)(const Byte* a, const Byte* b, std::uint64_t length);

template <typename T, bool big_endian>
T LoadValue(const Byte* p) {
  std::array<Byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), p, sizeof(T));
  if constexpr (big_endian) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

template <typename T, bool big_endian>
std::strong_ordering CompareValues(const Byte* a, const Byte* b, std::uint64_t) {
  const T x = LoadValue<T, big_endian>(a);
  const T y = LoadValue<T, big_endian>(b);
  if constexpr (std::floating_point<T>) {
    static_assert(std::numeric_limits<T>::is_iec559);
    return std::strong_order(x, y);
  } else {
    return x <=> y;
  }
}

std::strong_ordering CompareBytes(const Byte* a, const Byte* b, std::uint64_t length) {
  return std::memcmp(a, b, length) <=> 0;
}

struct Field {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  CompareField compare = nullptr;
  bool descending = false;
};

struct Order {
  std::uint64_t record_bytes = 0;
  std::vector<Field> fields;  ///< most significant first, never empty

  std::strong_ordering operator()(const Byte* a, const Byte* b) const {
    for (const Field& field : fields) {
      const std::strong_ordering order = field.compare(a + field.offset, b + field.offset, field.length);
      if (order != 0) return field.descending ? 0 <=> order : order;
    }
    return std::strong_ordering::equal;
  }
};

std::uint64_t ParseWhole(const std::string& what, std::string_view text) {
  std::uint64_t value = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc::result_out_of_range) FailUsage(what + ": " + std::string(text) + " is too large");
  if (failure != std::errc{} || stop != text.data() + text.size()) {
    FailUsage(what + ": '" + std::string(text) + "' is not a whole number");
  }
  return value;
}

/// Parses a whole number with an optional unit K, M, G or T (powers of 1024).
std::uint64_t ParseSize(const std::string& what, std::string_view text) {
  std::uint64_t unit = 1;
  if (!text.empty()) {
    const std::size_t at = std::string_view("KMGT").find(text.back());
    if (at != std::string_view::npos) {
      unit = std::uint64_t{1} << (10 * (at + 1));
      text.remove_suffix(1);
    }
  }
  const std::uint64_t value = ParseWhole(what, text);
  if (value > std::numeric_limits<std::uint64_t>::max() / unit) FailUsage(what + " is too large");
  return value * unit;
}

/// Parses the TYPE of a key: i8..i64, u8..u64, f32, f64, with le (default) or be, or bytesN. If `number_only` is true,
/// bytesN is an error.
Field ParseType(const std::string& what, std::string_view text, bool number_only) {
  struct Number {
    std::string_view name;
    std::uint64_t length;
    CompareField little;
    CompareField big;
  };
  static constexpr Number kNumbers[] = {
      {"i8", 1, CompareValues<std::int8_t, false>, CompareValues<std::int8_t, true>},
      {"i16", 2, CompareValues<std::int16_t, false>, CompareValues<std::int16_t, true>},
      {"i32", 4, CompareValues<std::int32_t, false>, CompareValues<std::int32_t, true>},
      {"i64", 8, CompareValues<std::int64_t, false>, CompareValues<std::int64_t, true>},
      {"u8", 1, CompareValues<std::uint8_t, false>, CompareValues<std::uint8_t, true>},
      {"u16", 2, CompareValues<std::uint16_t, false>, CompareValues<std::uint16_t, true>},
      {"u32", 4, CompareValues<std::uint32_t, false>, CompareValues<std::uint32_t, true>},
      {"u64", 8, CompareValues<std::uint64_t, false>, CompareValues<std::uint64_t, true>},
      {"f32", 4, CompareValues<float, false>, CompareValues<float, true>},
      {"f64", 8, CompareValues<double, false>, CompareValues<double, true>},
  };
  Field field;
  for (const Number& number : kNumbers) {
    if (!text.starts_with(number.name)) continue;
    const std::string_view order = text.substr(number.name.size());
    if (order != "" && order != "le" && order != "be") continue;
    field.length = number.length;
    field.compare = order == "be" ? number.big : number.little;
    return field;
  }
  if (!number_only && text.starts_with("bytes")) {
    field.length = ParseWhole(what + ": the N of bytesN", text.substr(5));
    if (field.length == 0) FailUsage(what + ": bytes0 is no key");
    field.compare = CompareBytes;
    return field;
  }
  FailUsage(what + ": " + tool::Quote(text) + " is not a type: give i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 (le or be)" +
            (number_only ? "" : " or bytesN"));
}

/// Parses the key OFFSET:TYPE[:asc|desc].
Field ParseKey(const std::string& text) {
  const std::string what = "--key " + text;
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;;) {
    const std::size_t colon = rest.find(':');
    parts.push_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (parts.size() != 2 && parts.size() != 3) FailUsage(what + ": give OFFSET:TYPE[:asc|desc]");
  Field field = ParseType(what, parts[1], false);
  field.offset = ParseWhole(what + ": the offset", parts[0]);
  if (parts.size() == 3) {
    if (parts[2] != "asc" && parts[2] != "desc") FailUsage(what + ": the direction is asc or desc");
    field.descending = parts[2] == "desc";
  }
  return field;
}

// ---- Sums --------------------------------------------------------------------------------------------------------

/// Computes CRC-32 as zlib does (reflected polynomial 0xEDB88320), eight bytes a step. Table k has the effect of a byte
/// that is followed by k zero bytes.
class Crc32 {
 public:
  static std::uint32_t Of(const Byte* p, std::uint64_t bytes) {
    std::uint32_t crc = 0xFFFFFFFFu;
    for (; bytes >= 8; bytes -= 8, p += 8) {
      std::uint64_t word;
      std::memcpy(&word, p, 8);
      word ^= crc;
      crc = 0;
      for (unsigned k = 0; k < 8; ++k) crc ^= kTables[7 - k][word >> (8 * k) & 0xFF];
    }
    for (; bytes > 0; --bytes, ++p) crc = crc >> 8 ^ kTables[0][(crc ^ *p) & 0xFF];
    return ~crc;
  }

 private:
  using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

  static constexpr Tables MakeTables() {
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t crc = byte;
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
      tables[0][byte] = crc;
    }
    for (std::size_t k = 1; k < 8; ++k) {
      for (std::size_t byte = 0; byte < 256; ++byte) {
        const std::uint32_t before = tables[k - 1][byte];
        tables[k][byte] = before >> 8 ^ tables[0][before & 0xFF];
      }
    }
    return tables;
  }

  static const Tables kTables;
};
constexpr Crc32::Tables Crc32::kTables = Crc32::MakeTables();

/// Returns a 128-bit hash of one record. The sum for a file is the sum of its records' hashes modulo 2^128. Each of the
/// two halves of the hash takes every word by bijective steps. If two records differ in one word, both halves differ.
U128 HashRecord(const Byte* p, std::uint64_t bytes, std::uint64_t seed = 0) {
  std::uint64_t a = 0x243F6A8885A308D3u ^ bytes ^ seed;  // digits of pi
  std::uint64_t b = 0x13198A2E03707344u + bytes + seed;
  const auto take = [&](std::uint64_t word) {
    a = std::rotl((a ^ word) * 0xD6E8FEB86659FD93u, 32);
    b = (std::rotl(b, 23) + word) * 0xA0761D6478BD642Fu;
    b ^= b >> 29;
  };
  for (; bytes >= 8; bytes -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    take(word);
  }
  if (bytes > 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, bytes);
    take(word);
  }
  const auto finish = [](std::uint64_t x) {
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
    return x ^ (x >> 32);
  };
  return static_cast<U128>(finish(a + std::rotl(b, 17))) << 64 | finish(b ^ 0xA4093822299F31D0u);
}

// ---- Reading -----------------------------------------------------------------------------------------------------

class File {
 public:
  /// Opens a file; "-" is standard input.
  explicit File(const std::string& path)
      : name_(path == "-" ? "standard input" : tool::Quote(path)), owned_(path != "-") {
    fd_ = owned_ ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (fd_ < 0) throw Failure(tool::kIo, name_ + ": cannot open: " + SystemMessage(errno));
    struct stat status;
    if (::fstat(fd_, &status) != 0) {
      const int error = errno;
      Close();
      throw Failure(tool::kIo, name_ + ": fstat: " + SystemMessage(error));
    }
    // Standard input may have an offset, so it is read as a stream in any case.
    if (owned_ && S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(status.st_size);
  }
  File(const File&) = delete;
  ~File() { Close(); }

  const std::string& name() const { return name_; }
  /// The size of a regular file, which can be read at any offset and more than once. std::nullopt for a stream.
  std::optional<std::uint64_t> size() const { return size_; }

  /// For regular files: reads exactly `bytes` bytes at `offset`.
  void ReadAt(Byte* data, std::uint64_t bytes, std::uint64_t offset) const {
    while (bytes > 0) {
      const ssize_t n = ::pread(fd_, data, bytes, static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw Failure(tool::kIo, At(offset) + SystemMessage(errno));
      if (n == 0) throw Failure(tool::kIo, At(offset) + "the file became shorter");
      data += n;
      offset += static_cast<std::uint64_t>(n);
      bytes -= static_cast<std::uint64_t>(n);
    }
  }

  /// For regular files: reads bytes at `offset`. Returns the number of bytes, 0 only at the end.
  std::size_t ReadSome(std::span<char> bytes, std::uint64_t offset) const {
    for (;;) {
      const ssize_t n = ::pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno != EINTR) throw Failure(tool::kIo, At(offset) + SystemMessage(errno));
    }
  }

  /// For regular files: returns the number, from 1, of the line that contains the byte at `offset`.
  std::uint64_t LineAt(std::uint64_t offset) const {
    std::uint64_t line = 1;
    std::vector<char> buffer(std::size_t{1} << 20);
    for (std::uint64_t at = 0; at < offset;) {
      const std::size_t n = ReadSome(std::span(buffer).first(std::min<std::size_t>(buffer.size(), offset - at)), at);
      if (n == 0) break;
      line +=
          static_cast<std::uint64_t>(std::count(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(n), '\n'));
      at += n;
    }
    return line;
  }

  /// For streams: reads the next `bytes` bytes, or all bytes that are left. Returns the number of bytes read.
  std::uint64_t ReadNext(Byte* data, std::uint64_t bytes) {
    std::uint64_t done = 0;
    while (done < bytes) {
      const ssize_t n = ::read(fd_, data + done, bytes - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw Failure(tool::kIo, At(position_ + done) + SystemMessage(errno));
      if (n == 0) break;
      done += static_cast<std::uint64_t>(n);
    }
    position_ += done;
    return done;
  }

 private:
  std::string At(std::uint64_t offset) const {
    return name_ + ": cannot read at byte " + std::to_string(offset) + ": ";
  }
  void Close() {
    if (owned_) ::close(fd_);
  }

  std::string name_;
  bool owned_;
  int fd_;
  std::optional<std::uint64_t> size_;
  std::uint64_t position_ = 0;
};

/// Some records of a file. The record before them comes first, except in the first block of the file.
struct Block {
  std::vector<Byte> bytes;
  const Byte* previous = nullptr;
  const Byte* records = nullptr;
  std::uint64_t number = 0;  ///< the number of the block in the file, from 0
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// Gives the blocks of a file to any number of threads. Blocks have whole records and are given in order.
class BlockReader {
 public:
  BlockReader(File& file, std::uint64_t record_bytes)
      : file_(file),
        record_bytes_(record_bytes),
        per_block_(std::max<std::uint64_t>((std::uint64_t{2} << 20) / record_bytes, 1)) {
    if (file.size()) CheckWhole(*file.size());
  }

  /// Reads the next block. Returns false at the end. May be called from any thread.
  bool Next(Block& block) { return file_.size() ? NextOfFile(block) : NextOfStream(block); }

 private:
  void CheckWhole(std::uint64_t size) const {
    const std::uint64_t over = size % record_bytes_;
    if (over == 0) return;
    throw Failure(tool::kBadInput, file_.name() + ": its size of " + std::to_string(size) +
                                       " bytes is not a multiple of the record's " + std::to_string(record_bytes_) +
                                       ": " + std::to_string(over) + " bytes are left at byte " +
                                       std::to_string(size - over));
  }

  bool NextOfFile(Block& block) {
    const std::uint64_t total = *file_.size() / record_bytes_;
    {
      const std::lock_guard lock(mutex_);
      block.first = next_;
      block.count = std::min(per_block_, total - next_);
      next_ += block.count;
      block.number = block.first / per_block_;
    }
    if (block.count == 0) return false;
    const std::uint64_t before = block.first == 0 ? 0 : 1;
    block.bytes.resize((before + block.count) * record_bytes_);
    file_.ReadAt(block.bytes.data(), block.bytes.size(), (block.first - before) * record_bytes_);
    Point(block, before);
    return true;
  }

  bool NextOfStream(Block& block) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t before = next_ == 0 ? 0 : 1;
    block.bytes.resize((before + per_block_) * record_bytes_);
    if (before != 0) std::memcpy(block.bytes.data(), last_.data(), record_bytes_);
    const std::uint64_t got = file_.ReadNext(block.bytes.data() + before * record_bytes_, per_block_ * record_bytes_);
    CheckWhole(next_ * record_bytes_ + got);
    block.first = next_;
    block.count = got / record_bytes_;
    if (block.count == 0) return false;
    next_ += block.count;
    block.number = block.first / per_block_;
    Point(block, before);
    const Byte* last = block.records + (block.count - 1) * record_bytes_;
    last_.assign(last, last + record_bytes_);
    return true;
  }

  void Point(Block& block, std::uint64_t before) const {
    block.previous = before != 0 ? block.bytes.data() : nullptr;
    block.records = block.bytes.data() + before * record_bytes_;
  }

  File& file_;
  const std::uint64_t record_bytes_;
  const std::uint64_t per_block_;
  std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::vector<Byte> last_;
};

/// Runs work(block) for every block of the file on `threads` threads. If `work` throws, ends all threads and throws the
/// first exception.
template <typename Work>
void ForEachBlock(BlockReader& reader, unsigned threads, const Work& work) {
  std::atomic<bool> failed = false;
  check::RunOnThreads(threads, [&] {
    try {
      for (Block block; !failed && reader.Next(block);) work(block);
    } catch (...) {
      failed = true;
      throw;
    }
  });
}

// ---- One pass ----------------------------------------------------------------------------------------------------

struct Job {
  Order order;
  std::optional<check::Table> table;  ///< set for lines and for records with columns
  std::optional<check::LogRules> logs;
  bool parquet = false;
  bool prefix_name = false;
  bool strip_volatile = false;
  bool any_order = false;
  bool checksum = false;
  bool reverse = false;
  bool unique = false;
  bool stable = false;
  std::vector<std::string> against;
  std::uint64_t memory_limit = 0;
  std::string temp_dir;
  unsigned threads = 1;
  std::string file;
};

bool IsLines(const Job& job) { return job.table && job.table->kind == check::Kind::kLines; }

/// Returns true if records with equal keys have equal bytes. Any order of such records is the order of a stable sort.
bool KeysAreRecords(const Job& job) {
  if (job.table) return IsLines(job);
  std::vector<bool> covered(static_cast<std::size_t>(job.order.record_bytes));
  for (const Field& field : job.order.fields) {
    const auto from = covered.begin() + static_cast<std::ptrdiff_t>(field.offset);
    std::fill(from, from + static_cast<std::ptrdiff_t>(field.length), true);
  }
  return std::find(covered.begin(), covered.end(), false) == covered.end();
}

/// The place of a record: its number from 0. Lines and records with columns also have a line number from 1 (0: not
/// known) and a byte offset.
struct RecordPlace {
  std::uint64_t number = 0, line = 0, byte = 0;
};

struct Sums {
  std::uint64_t records = 0;
  std::uint64_t duplicates = 0;           ///< the number of records whose key equals the key of the record before
  std::optional<RecordPlace> descent;     ///< the first record that is less than the record before
  std::optional<RecordPlace> repetition;  ///< the first record whose key equals the key of the record before
  U128 multiset = 0;
  U128 crc = 0;
  // The next members are only for lines and records with columns.
  std::string reason;           ///< says why the record at `descent` is out of order
  std::string header, trailer;  ///< the bytes before the records and after them
  /// The number of values that do not have the type of their key and are therefore ordered as null.
  std::uint64_t no_values = 0;
  bool ended = true;   ///< whether the last line or record has its end
  bool empty = false;  ///< whether the file has no bytes

  /// Adds the sums of the records that follow. In `next` their numbers begin with 0.
  void Append(const Sums& next) {
    const auto take = [this](std::optional<RecordPlace>& mine, const std::optional<RecordPlace>& theirs) {
      if (mine || !theirs) return false;
      mine = theirs;
      mine->number += records;
      return true;
    };
    if (take(descent, next.descent)) reason = next.reason;
    take(repetition, next.repetition);
    records += next.records;
    duplicates += next.duplicates;
    multiset += next.multiset;
    crc += next.crc;
    trailer += next.trailer;
    no_values += next.no_values;
    ended = ended && next.ended;
  }
};

/// Returns a number that differs between processes, so that a collision of hashes of keys does not happen twice.
std::uint64_t KeySeed() {
  static const std::uint64_t seed = [] {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
  }();
  return seed;
}

check::Entry MakeEntry(const std::string& key, U128 record) {
  const U128 hash = HashRecord(reinterpret_cast<const Byte*>(key.data()), key.size(), KeySeed());
  return {{static_cast<std::uint64_t>(hash >> 64), static_cast<std::uint64_t>(hash)},
          static_cast<std::uint64_t>(record >> 64)};
}

/// Returns the entry of a record. `hash` is the hash of the record. `scratch` is only there to keep its memory.
check::Entry EntryOf(const Order& order, const Byte* record, U128 hash, std::string& scratch) {
  scratch.clear();
  for (const Field& field : order.fields) {
    scratch.append(reinterpret_cast<const char*>(record + field.offset), static_cast<std::size_t>(field.length));
  }
  return MakeEntry(scratch, hash);
}

check::Entry EntryOf(const check::Row& row, U128 hash, std::string& scratch) {
  scratch.clear();
  check::AppendIdentity(row, scratch);
  return MakeEntry(scratch, hash);
}

/// The results of a pass for --stable and --unique. The entries of an input are added to `store`, the sums of the keys
/// of FILE to `sums`. A pass without these options sets neither.
struct Following {
  check::EntryStore* store = nullptr;
  std::uint64_t pieces = 0;  ///< the number of pieces of the inputs that were read before
  check::KeySums* sums = nullptr;
  check::PieceRuns runs;  ///< the runs at the ends of the pieces that were joined
};

/// Collects the entries of one piece of a file.
class Follower {
 public:
  Follower() = default;
  Follower(const Following& following, std::uint64_t piece)
      : store_(following.store), place_((following.pieces + piece) << kCountBits) {
    if (following.sums != nullptr) sums_.emplace();
  }

  bool wanted() const { return store_ != nullptr || sums_; }
  void Add(const check::Entry& entry) {
    if (sums_) runs_.Add(entry, *sums_);
    if (store_ == nullptr) return;
    if (entries_.capacity() == 0) entries_.reserve(kMost);
    entries_.push_back(entry);
    if (entries_.size() == kMost) store_->Put(place_++, entries_);
  }
  /// Call this when the piece has no more entries.
  void End() {
    if (store_ != nullptr) store_->Put(place_, entries_);
    entries_ = {};
  }
  /// Call this once for each piece, in the order of the pieces.
  void Join(Following& following) const {
    if (!sums_) return;
    following.runs.Append(runs_, *following.sums);
    following.sums->Add(*sums_);
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 16;
  static constexpr int kCountBits = 24;

  check::EntryStore* store_ = nullptr;
  std::uint64_t place_ = 0;
  std::vector<check::Entry> entries_;
  std::optional<check::KeySums> sums_;
  check::PieceRuns runs_;
};

Sums SumBlock(const Block& block, const Order& order, Follower& follower) {
  Sums sums;
  sums.records = block.count;
  const Byte* previous = block.previous;
  const Byte* record = block.records;
  std::string scratch;
  for (std::uint64_t i = 0; i < block.count; ++i, previous = record, record += order.record_bytes) {
    const U128 hash = HashRecord(record, order.record_bytes);
    sums.multiset += hash;
    sums.crc += Crc32::Of(record, order.record_bytes);
    if (follower.wanted()) follower.Add(EntryOf(order, record, hash, scratch));
    if (previous == nullptr) continue;
    const std::strong_ordering step = order(previous, record);
    if (step > 0 && !sums.descent) sums.descent = RecordPlace{i};
    if (step == 0) {
      ++sums.duplicates;
      if (!sums.repetition) sums.repetition = RecordPlace{i};
    }
  }
  follower.End();
  return sums;
}

Sums ScanBlocks(File& file, const Job& job, Following& following) {
  struct Result {
    Sums sums;
    Follower follower;
  };
  Sums total;
  std::uint64_t pieces = 0;
  BlockReader reader(file, job.order.record_bytes);
  check::InOrder<Result> in_order;
  ForEachBlock(reader, job.threads, [&](const Block& block) {
    Result result{{}, Follower(following, block.number)};
    result.sums = SumBlock(block, job.order, result.follower);
    in_order.Put(block.number, std::move(result), [&](const Result& next) {
      total.Append(next.sums);
      next.follower.Join(following);
      ++pieces;
    });
  });
  following.pieces += pieces;
  return total;
}

/// Returns the place of a record for messages. Lines and records of a table count from 1. If the line is not known,
/// counts it in `file`.
std::string Place(const Job& job, const File& file, const RecordPlace& place) {
  if (!job.table) return Place(place.number, job.order.record_bytes);
  const std::string byte = "byte " + std::to_string(place.byte) + ")";
  if (IsLines(job)) return "line " + std::to_string(place.number + 1 + job.table->header) + " (" + byte;
  std::string line;
  if (job.table->kind != check::Kind::kCopyBinary) {
    line = "line " + std::to_string(place.line != 0 ? place.line : file.LineAt(place.byte)) + ", ";
  }
  return "record " + std::to_string(place.number + 1) + " (" + line + byte;
}

/// Says which key decides that `row` must not follow `before`.
std::string Reason(const Job& job, const check::Row& before, const check::Row& row) {
  if (job.table->keys.empty()) return "";
  const std::size_t key = check::DecidingKey(before, row);
  if (key >= std::min(before.values.size(), row.values.size())) return "";
  const auto shown = [key](const check::Row& of) {
    const check::KeyValue& value = of.values[key];
    return std::holds_alternative<check::Null>(value.value) ? "null" : tool::Quote(value.text.substr(0, 60));
  };
  return ": key " + tool::Quote(row.values[key].key->text) + " is " + shown(row) + " after " + shown(before);
}

/// Compares `row`, which is number `number` of `sums`, with the row before it.
void AddStep(const Job& job, const check::Row& before, const check::Row& row, std::uint64_t number, Sums& sums) {
  if (job.any_order) return;
  const RecordPlace place{number, row.line, row.byte};
  const std::strong_ordering step = check::CompareRows(before, row);
  if (step > 0 && !sums.descent) {
    sums.descent = place;
    sums.reason = Reason(job, before, row);
  }
  if (step == 0) {
    ++sums.duplicates;
    if (!sums.repetition) sums.repetition = place;
  }
}

/// Returns the hash of the row's bytes. Equal rows of two tables of a dump must differ, so the number of the table is
/// appended to the row.
U128 HashRow(check::Row& row) {
  if (row.block > 0) row.bytes.append(reinterpret_cast<const char*>(&row.block), sizeof row.block);
  return HashRecord(reinterpret_cast<const Byte*>(row.bytes.data()), row.bytes.size());
}

struct PieceOfRows {
  Sums sums;
  Follower follower;
  check::Row first, last;
};

/// Reads the rows that begin before `end`. If the last row has no line end, it counts as if it had one. If `from_top`
/// is true, the reader began at the top of the file and knows the numbers of lines.
void ReadRows(const Job& job, check::TableReader& reader, std::uint64_t end, bool from_top, PieceOfRows& piece) {
  check::Row row;
  std::string scratch;
  Sums& sums = piece.sums;
  while (reader.place() < end && reader.Next(row)) {
    if (!from_top) row.line = 0;
    if (sums.records == 0) piece.first = row;
    if (sums.records > 0) AddStep(job, piece.last, row, sums.records, sums);
    ++sums.records;
    const U128 hash = HashRow(row);
    sums.multiset += hash;
    sums.crc += Crc32::Of(reinterpret_cast<const Byte*>(row.bytes.data()), row.bytes.size());
    if (piece.follower.wanted()) piece.follower.Add(EntryOf(row, hash, scratch));
    std::swap(row, piece.last);
  }
  piece.follower.End();
  sums.trailer = reader.trailer();
  sums.no_values = reader.no_values();
  sums.ended = reader.ended();
}

/// Returns a function that reads a regular file from `offset` on: up to `end` in large steps, and then in small steps.
check::TableReader::Source SourceOf(const File& file, std::uint64_t offset, std::uint64_t end) {
  return [&file, offset, end](std::span<char> bytes) mutable {
    constexpr std::uint64_t kSmall = std::uint64_t{64} << 10;
    const std::uint64_t most = offset < end ? end - offset : kSmall;
    const std::size_t n = file.ReadSome(bytes.first(std::min<std::size_t>(most, bytes.size())), offset);
    offset += n;
    return n;
  };
}

/// Returns a reader of the whole file.
std::unique_ptr<check::TableReader> ReaderOf(File& file, const Job& job) {
  if (file.size()) return check::MakeReader(*job.table, SourceOf(file, 0, *file.size()));
  return check::MakeReader(*job.table, [&file](std::span<char> bytes) {
    return file.ReadNext(reinterpret_cast<Byte*>(bytes.data()), bytes.size());
  });
}

/// Calls work(). If the contents of the file are wrong, ends the program with a message that names the file.
template <typename Work>
auto ReadTable(const File& file, const Work& work) {
  try {
    return work();
  } catch (const check::NoColumn& error) {
    throw Failure(tool::kUsage, file.name() + ": " + error.what());
  } catch (const check::BadRecord& error) {
    // A reader that began in the middle of the file does not know the line.
    const std::string what =
        file.size() ? check::BadRecord(error.reason, file.LineAt(error.byte), error.byte).what() : error.what();
    throw Failure(tool::kBadInput, file.name() + ": " + what);
  } catch (const check::BadTable& error) {
    throw Failure(tool::kBadInput, file.name() + ": " + error.what());
  }
}

Sums ScanRows(File& file, const Job& job, Following& following) {
  Sums total;
  check::Row last;
  std::uint64_t pieces = 0;
  const auto join = [&](PieceOfRows& piece) {
    Sums& sums = piece.sums;
    if (sums.records > 0) {
      Sums step;
      if (total.records > 0) AddStep(job, last, piece.first, 0, step);
      total.Append(step);
      last = std::move(piece.last);
    }
    total.Append(sums);
    piece.follower.Join(following);
    ++pieces;
  };
  const auto top = ReadTable(file, [&] {
    auto reader = ReaderOf(file, job);
    reader->Begin();
    total.ended = reader->ended();
    if (!file.size() || job.table->kind == check::Kind::kInserts) {
      PieceOfRows all{{}, Follower(following, 0), {}, {}};
      ReadRows(job, *reader, std::numeric_limits<std::uint64_t>::max(), true, all);
      join(all);
      return reader;
    }
    const auto read = [&](std::span<char> bytes, std::uint64_t offset) { return file.ReadSome(bytes, offset); };
    const auto read_pieces = [&](std::uint64_t end) {
      check::InOrder<PieceOfRows> in_order;
      const std::uint64_t before = pieces;
      check::ForEachPiece(*job.table, read, reader->place(), end, reader->has_oids(), job.threads,
                          [&](const check::Piece& piece) {
                            PieceOfRows rows{{}, Follower(following, before + piece.number), {}, {}};
                            const auto part = check::MakeReader(*job.table, SourceOf(file, piece.begin, piece.end));
                            part->GoOn(*reader, piece.begin);
                            ReadRows(job, *part, piece.end, false, rows);
                            in_order.Put(piece.number, std::move(rows), join);
                          });
    };
    if (job.table->kind != check::Kind::kDump) {
      read_pieces(*file.size());
      return reader;
    }
    while (reader->ToRows()) {
      const std::uint64_t end = check::EndOfRows(read, reader->place(), *file.size());
      read_pieces(end);
      reader->SkipTo(end, SourceOf(file, end, *file.size()));
    }
    total.ended = total.ended && reader->ended();
    return reader;
  });
  following.pieces += pieces;
  total.header = top->header();
  total.empty = file.size().value_or(top->place()) == 0;
  return total;
}

Sums Scan(File& file, const Job& job, Following& following) {
  Sums sums = job.table ? ScanRows(file, job, following) : ScanBlocks(file, job, following);
  if (following.sums != nullptr) following.runs.End(*following.sums);
  return sums;
}

// ---- Equal keys --------------------------------------------------------------------------------------------------

/// Iterates over the entries of a regular file and their places.
class EntryReader {
 public:
  EntryReader(const std::string& path, const Job& job) : job_(job), file_(path) {
    if (job.table) {
      rows_ = ReaderOf(file_, job);
    } else {
      blocks_.emplace(file_, job.order.record_bytes);
    }
  }

  /// Reads the next entry. Returns false at the end.
  bool Next() {
    ++count_;
    if (job_.table) {
      if (!ReadTable(file_, [&] { return rows_->Next(row_); })) return false;
      place_ = {row_.number, row_.line, row_.byte};
      const U128 hash = HashRow(row_);
      entry_ = EntryOf(row_, hash, scratch_);
      return true;
    }
    place_ = {count_ - 1};
    if (place_.number == block_.first + block_.count && !blocks_->Next(block_)) return false;
    const Byte* const record = block_.records + (place_.number - block_.first) * job_.order.record_bytes;
    entry_ = EntryOf(job_.order, record, HashRecord(record, job_.order.record_bytes), scratch_);
    return true;
  }
  const check::Entry& entry() const { return entry_; }
  std::uint64_t number() const { return count_ - 1; }
  const File& file() const { return file_; }
  std::string Where() const { return Place(job_, file_, place_); }

 private:
  const Job& job_;
  File file_;
  std::unique_ptr<check::TableReader> rows_;
  check::Row row_;
  std::optional<BlockReader> blocks_;
  Block block_;
  check::Entry entry_;
  RecordPlace place_;
  std::string scratch_;
  std::uint64_t count_ = 0;
};

/// Iterates over the records of the inputs that have one key.
class InputsOfKey {
 public:
  InputsOfKey(const Job& job, const check::KeyHash& key) : job_(job), key_(key) {}

  bool Next() {
    for (;;) {
      if (!reader_) {
        if (next_ == job_.against.size()) return false;
        reader_.emplace(job_.against[next_++], job_);
      }
      while (reader_->Next()) {
        if (reader_->entry().key == key_) return true;
      }
      reader_.reset();
    }
  }
  const EntryReader& reader() const { return *reader_; }

 private:
  const Job& job_;
  const check::KeyHash key_;
  std::size_t next_ = 0;
  std::optional<EntryReader> reader_;
};

/// Returns a message about the first wrong record of FILE in the buckets whose sums differ, as far as the memory allows
/// to search. All files must be regular.
std::string FindFirst(const Job& job, check::EntryStore& store, const std::vector<std::size_t>& buckets) {
  const std::string kNotThat = " is not that of a stable sort of the input";
  constexpr std::size_t kKeyMemory = 128;
  check::EntryStore::Keys wanted;
  std::vector<bool> looks(check::KeySums::kBuckets);
  for (const std::size_t bucket : buckets) {
    looks[bucket] = true;
    wanted.merge(store.KeysOf(bucket, job.unique));
    if (wanted.size() * kKeyMemory > job.memory_limit / 4) break;
  }

  // A key whose records in FILE are not the records of the inputs.
  std::optional<check::Run> bad;
  std::uint64_t first = 0;
  {
    EntryReader reader(job.file, job);
    check::Run run;
    const auto differs = [&] {
      if (run.count == 0) return false;
      const auto found = wanted.find(run.key);
      if (found == wanted.end() || found->second.sum != run.sum || found->second.count != run.count) return true;
      wanted.erase(found);
      return false;
    };
    while (!bad && reader.Next()) {
      const check::Entry& entry = reader.entry();
      if (run.count > 0 && run.key == entry.key) {
        run.Add(entry.record);
        continue;
      }
      if (differs()) {
        bad = run;
        break;
      }
      run = {};
      if (!looks[check::KeySums::BucketOf(entry.key)]) continue;
      run.key = entry.key;
      run.Add(entry.record);
      first = reader.number();
    }
    if (!bad && differs()) bad = run;
  }
  if (!bad) {
    if (wanted.empty()) return "the files changed while they were read";
    InputsOfKey inputs(job, wanted.begin()->first);
    if (!inputs.Next()) return "the files changed while they were read";
    return inputs.reader().Where() + " of " + inputs.reader().file().name() + " is missing";
  }

  EntryReader reader(job.file, job);
  InputsOfKey inputs(job, bad->key);
  while (reader.Next() && reader.number() < first) continue;
  for (std::uint64_t i = 0; i < bad->count; ++i, reader.Next()) {
    const bool more = (i == 0 || !job.unique) && inputs.Next();
    if (!more || inputs.reader().entry().record != reader.entry().record) return reader.Where() + kNotThat;
  }
  // If the inputs have another record with the key, FILE has fewer records than the inputs.
  if (inputs.Next()) return inputs.reader().Where() + " of " + inputs.reader().file().name() + " is missing";
  return "the files changed while they were read";
}

/// Estimates the number of records of a regular file from its first records.
std::uint64_t EstimateRecords(File& file, const Job& job) {
  constexpr std::uint64_t kSample = std::uint64_t{256} << 10;
  if (!job.table) return file.size().value() / job.order.record_bytes;
  return ReadTable(file, [&] {
    const auto reader = ReaderOf(file, job);
    reader->Begin();
    const std::uint64_t begin = reader->place();
    std::uint64_t records = 0;
    for (check::Row row; reader->place() < begin + kSample && reader->Next(row);) ++records;
    const double bytes = static_cast<double>(std::max<std::uint64_t>(reader->place() - begin, 1));
    return static_cast<std::uint64_t>(static_cast<double>(records) / bytes * static_cast<double>(file.size().value()));
  });
}

/// Ends the program if there is not enough space for the temporary files of --stable and --unique.
void RefuseWithoutSpace(const Job& job) {
  std::uint64_t needed = 0;
  for (const std::string& path : job.against) {
    File file(path);
    // A record has at least one byte.
    if (file.size().value_or(0) > job.memory_limit / 2 / sizeof(check::Entry)) {
      needed += EstimateRecords(file, job) * sizeof(check::Entry);
    }
  }
  if (needed <= job.memory_limit / 2) return;
  needed -= job.memory_limit / 2;
  struct statvfs space;
  if (::statvfs(job.temp_dir.c_str(), &space) != 0) {
    throw Failure(tool::kIo, tool::Quote(job.temp_dir) + ": no folder for temporary files: " + SystemMessage(errno));
  }
  const std::uint64_t free = std::uint64_t{space.f_bavail} * space.f_frsize;
  if (free >= needed) return;
  FailUsage("this check needs about " + std::to_string(needed >> 20) + " MiB of temporary space, and " +
            tool::Quote(job.temp_dir) + " has " + std::to_string(free >> 20) +
            " MiB: give more --memory-limit or another --temp-dir");
}

/// Returns the number of partitions for inputs of `bytes` bytes: one for about every 16 MiB.
unsigned PartitionsFor(std::uint64_t bytes) {
  return static_cast<unsigned>(std::clamp<std::uint64_t>(std::bit_ceil(bytes >> 24), 1, 1024));
}

// ---- Command line ------------------------------------------------------------------------------------------------

const std::string kFormatNames = check::FormatNames(), kFormatHelp = "one of: " + kFormatNames + "; see Formats";

const tool::ToolHelp kHelp = {
    "gpusort_check",
    "check that a file is sorted and has the records of its inputs",
    {"(--type TYPE | --record-size N) [OPTION...] FILE", "--format FORMAT [OPTION...] FILE",
     "... --against INPUT... FILE"},
    "Checks that FILE (- is standard input) is in order, and that it has the records\n"
    "of the inputs. Shares no code with gpusort. Prints the number of records and of\n"
    "equal neighbouring keys, a 128-bit sum over all records, and the sum of CRC-32\n"
    "that valsort prints.\n",
    {{"type", 0, "TYPE", "each record is a number of this type", false,
      "i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 i16be i32be i64be u16be u32be u64be f32be f64be"},
     {"record-size", 0, "N", "records of N bytes"},
     {"format", 0, "FORMAT", kFormatHelp.c_str(), false, kFormatNames.c_str()},
     {"key", 'k', "KEY", "a key that records are ordered by, see Keys; may be repeated, most important key first",
      true},
     {"zero-terminated", 'z', "", "lines end with NUL"},
     {"header", 0, "N", "the first N records are a header (default: csv, tsv 1; others 0)"},
     {"no-header", 0, "", "csv, tsv: there is no header, keys are #N"},
     {"delimiter", 0, "CHAR", "CHAR separates columns (\\t is a tab)"},
     {"quote", 0, "CHAR", "csv, tsv, mysql: CHAR encloses columns (default: csv \", others none)"},
     {"escape", 0, "CHAR", "csv, tsv, mysql: the byte after CHAR is literal"},
     {"comment", 0, "CHAR", "csv, tsv: lines that begin with CHAR are no records"},
     {"null", 0, "TEXT", "columns that are TEXT are null, too; may be repeated", true},
     {"time", 0, "FORMAT", "log: a format of the times, in the letters of strptime; may be repeated", true},
     {"timezone", 0, "ZONE", "as gpusort's option"},
     {"year", 0, "N", "log: as gpusort's option"},
     {"date", 0, "DAY", "log: as gpusort's option"},
     {"multiline", 0, "WHEN", "log: as gpusort's option", false, "auto indent none"},
     {"since", 0, "TIME", "log: as gpusort's option"},
     {"until", 0, "TIME", "log: as gpusort's option"},
     {"prefix-name", 0, "", "log: as gpusort's option"},
     {"decimal-point", 0, "CHAR", "CHAR is the decimal point of numbers (default .)"},
     {"thousands", 0, "CHAR", "CHAR may stand between the digits of numbers"},
     {"reverse", 'r', "", "reverse the order of every key"},
     {"any-order", 0, "", "check only that the records are those of the inputs"},
     {"strip-volatile", 0, "", "dumps: with --against: FILE was sorted with this option of gpusort"},
     {"unique", 'u', "", "no two keys may be equal; with --against: FILE has the first of the records with equal keys"},
     {"checksum", 0, "", "print counts and the sum of CRC-32 like valsort, or with --any-order like gensort -c"},
     {"stable", 0, "", "with --against: records with equal keys keep the order of the inputs"},
     {"against", 0, "INPUT", "an input of the sort; give several inputs in their order", true},
     {"memory-limit", 0, "SIZE",
      "memory for --unique or --stable with --against, at least 16M (default 1G, or a quarter of the machine's memory "
      "if that is less)"},
     {"temp-dir", 0, "DIR", "folder for 24 bytes of each record that does not fit in memory (default TMPDIR or /tmp)"},
     {"threads", 0, "N", "number of threads (default: one for each core); a format in a pipe is read by one thread"}},
    {{"Types",
      "  i8 i16 i32 i64 u8 u16 u32 u64 f32 f64, with le (the default) or be; a key can\n"
      "  also be bytesN. Without --key, the key is the number, or all bytes of the\n"
      "  record.\n"
      "  Floats are in IEEE totalOrder.\n"},
     {"Formats",
      "  The formats are those of gpusort. In dumps, a key without a type has the type\n"
      "  of CREATE TABLE. A table without keys is ordered by its primary key, or by all\n"
      "  columns, with these types.\n"
      "  Lines are ordered by all their bytes. For lines that are ordered by keys,\n"
      "  check the order by sort -c with the same options, and the records by\n"
      "  gpusort_check --format lines --any-order --against. Headers, bytes after the\n"
      "  records, and the parts of a dump that are no rows must be those of the inputs.\n"
      "  Expand compressed files through a pipe: <(zcat in.gz).\n"
      "  log: the records of the inputs are sorted by time in memory, with 24 bytes for\n"
      "  each record, and FILE must have the same bytes. Records with equal times are\n"
      "  in the order of the inputs. The forms of the times are learnt for each input.\n"
      "  parquet: a python3 with pyarrow and numpy checks the files (GPUSORT_PYTHON\n"
      "  names another one). Keys have the types of the schema. The schema and the\n"
      "  key-value metadata must be those of the inputs, and the statistics and the\n"
      "  sorting columns of FILE must be true. --stable, and --unique with --against,\n"
      "  hold the keys in memory, and 16 bytes for each record.\n"},
     {"Keys",
      "  Records of bytes: OFFSET:TYPE[:asc|desc].\n"
      "  Columns: NAME, #N, for JSON a path (a.b[0], /a/b/0), for a dump TABLE.COLUMN,\n"
      "  then any of :TYPE, :asc or :desc, :nulls-first or :nulls-last. The types are\n"
      "  those of gpusort: text nocase natural locale int decimal float number bool\n"
      "  date date(FORMAT) time timestamp timestamp(FORMAT) interval ip macaddr uuid\n"
      "  bytes-hex bit severity enum(WORDS) set(WORDS) order(FILE). A value that is not\n"
      "  of its key's type is ordered as null and counted. Without keys, all columns\n"
      "  are compared as text.\n"},
     {"Exit codes",
      "  0 in order, and with --against the same records\n"
      "  1 not in order, or not the same records\n"
      "  2 usage, or no space for the temporary file of --unique or --stable\n"
      "  3 a size is not a multiple of the record, or a file is not of its format\n"
      "  4 I/O error\n"
      "  6 out of memory\n"},
     {"Examples",
      "  gpusort_check --type u64 --against in.u64 out.u64\n"
      "  gpusort_check --record-size 100 --key 0:bytes10 --against in.dat out.dat\n"
      "  gpusort_check --record-size 100 --key 0:bytes10 --checksum out.dat\n"
      "  gpusort_check --format lines --against a.txt b.txt sorted.txt\n"
      "  gpusort_check --format csv -k created_at:timestamp:desc -k amount:decimal \\\n"
      "    --stable --against orders.csv sorted.csv\n"
      "  gpusort_check --format log --timezone UTC --against a.log b.log merged.log\n"
      "  gpusort_check --format parquet -k ts:desc --against in.parquet out.parquet\n"}},
    "gpusort(1), gpusort_gen(1)"};

constexpr const char* kLogOptions[] = {"time", "year", "date", "multiline", "since", "until", "prefix-name"};
constexpr const char* kTableOptions[] = {"zero-terminated", "header", "no-header",     "delimiter", "quote",   "escape",
                                         "comment",         "null",   "decimal-point", "thousands", "timezone"};

/// Returns the format and the keys of lines or records with columns.
check::Table ParseTable(const tool::Typed& typed) {
  using check::Kind;
  check::Table table;
  try {
    table = check::TableOf(typed.value("format"));
  } catch (const check::BadRule& error) {
    FailUsage("--format: " + tool::Quote(typed.value("format")) + " " + error.what());
  }
  const bool lines = table.kind == Kind::kLines, csv = table.kind == Kind::kCsv, mysql = table.name == "mysql";
  const auto only_if = [&](bool means, const char* option) {
    if (typed.has(option) && !means) {
      FailUsage("--" + std::string(option) + " has no meaning with --format " + table.name);
    }
  };
  only_if(lines, "zero-terminated");
  only_if(csv || lines || table.kind == Kind::kCopy, "header");
  only_if(csv || table.kind == Kind::kCopy, "delimiter");
  for (const char* option : {"no-header", "comment"}) only_if(csv, option);
  for (const char* option : {"quote", "escape"}) only_if(csv || mysql, option);
  for (const char* option : {"null", "decimal-point", "thousands"}) only_if(!lines, option);
  if (lines && typed.has("key")) FailUsage("--key: lines by keys are checked by sort -c; see gpusort_check --help");
  const auto byte = [&](const char* option, int otherwise) {
    if (!typed.has(option)) return otherwise;
    const std::string text = typed.value(option);
    if (text == "\\t") return int{'\t'};
    if (text.size() != 1) FailUsage("--" + std::string(option) + ": " + tool::Quote(text) + " is not one byte");
    return int{static_cast<unsigned char>(text[0])};
  };
  if (typed.has("zero-terminated")) table.line_end = '\0';
  table.delimiter = byte("delimiter", table.delimiter);
  table.quote = typed.value("quote") == "none" ? -1 : byte("quote", table.quote);
  table.escape = byte("escape", table.escape);
  if (csv && table.escape == table.quote) table.escape = -1;  // a doubled quote means one quote anyway
  table.comment = byte("comment", table.comment);
  if (typed.has("no-header")) table.header = 0;
  if (typed.has("header")) table.header = ParseWhole("--header", typed.value("header"));
  for (const std::string& null : typed.all("null")) table.nulls.push_back(null);
  for (const std::string& text : typed.all("key")) {
    try {
      table.keys.push_back(check::ReadKey(text, static_cast<char>(byte("decimal-point", '.')), byte("thousands", -1)));
    } catch (const check::BadRule& error) {
      FailUsage("--key " + text + ": " + error.what());
    }
    check::Rule& rule = table.keys.back().rule;
    rule.descending ^= typed.has("reverse");
    // Letters, digits and numbers stay as in the C locale.
    if (rule.type == check::Type::kLocale && std::setlocale(LC_COLLATE, "") == nullptr) {
      std::string setting = "the environment";
      for (const char* variable : {"LC_ALL", "LC_COLLATE", "LANG"}) {
        const char* const value = std::getenv(variable);
        if (value == nullptr || *value == '\0') continue;
        setting = std::string(variable) + "=" + tool::Quote(value);
        break;
      }
      FailUsage("--key " + text + ": this system does not have the locale of " + setting);
    }
  }
  table.whole.rule.descending = typed.has("reverse");
  const auto has_zone = [](const auto& key) {
    return key.rule.type == check::Type::kTimestamp || key.rule.type == check::Type::kTime;
  };
  const bool dump = table.kind == Kind::kDump || table.kind == Kind::kInserts;
  const bool zoned = !dump && table.kind != Kind::kCopyBinary && std::ranges::any_of(table.keys, has_zone);
  only_if(zoned, "timezone");
  if (!zoned) return table;
  try {
    check::SetZone(typed.value("timezone"));
  } catch (const check::BadRule& error) {
    FailUsage(std::string("--timezone: ") + error.what());
  }
  if (typed.has("timezone")) check::ReadTimesAsLocal();
  return table;
}

/// Returns how to read the times of logs, and sets the zone of the process.
check::LogRules ParseLogs(const tool::Typed& typed) {
  check::LogRules rules;
  rules.formats = typed.all("time");
  rules.zone = typed.value("timezone");
  if (typed.has("year")) rules.year = static_cast<int>(ParseWhole("--year", typed.value("year")));
  if (typed.has("date")) {
    check::Rule day;
    day.type = check::Type::kDate;
    const check::Value value = check::ReadValue(day, typed.value("date"));
    if (!std::holds_alternative<check::Instant>(value)) FailUsage("--date: " + tool::Quote(typed.value("date")));
    rules.date = std::get<check::Instant>(value).count;
  }
  const std::string lines = typed.value("multiline");
  if (lines == "indent") rules.lines = check::LogLines::kIndented;
  if (lines == "none") rules.lines = check::LogLines::kNone;
  if (rules.lines == check::LogLines::kUntimed && !lines.empty() && lines != "auto") {
    FailUsage("--multiline: " + tool::Quote(lines) + " is none of auto, indent and none");
  }
  try {
    for (const std::string& format : rules.formats) check::CheckTimeFormat(format);
    check::SetZone(rules.zone);
    if (typed.has("since")) rules.since = check::ReadBound(typed.value("since"));
    if (typed.has("until")) rules.until = check::ReadBound(typed.value("until"));
  } catch (const check::BadRule& error) {
    FailUsage(std::string("--format log: ") + error.what());
  }
  return rules;
}

/// Sets the size and the keys of fixed-size records.
void ParseOrder(const tool::Typed& typed, Job& job) {
  Field whole;
  if (typed.has("type")) {
    whole = ParseType("--type", typed.value("type"), true);
    job.order.record_bytes = whole.length;
  } else {
    job.order.record_bytes = ParseSize("--record-size", typed.value("record-size"));
    if (job.order.record_bytes == 0 || job.order.record_bytes > (std::uint64_t{1} << 30)) {
      FailUsage("--record-size must be from 1 byte to 1 GiB");
    }
    whole.length = job.order.record_bytes;
    whole.compare = CompareBytes;
  }
  for (const std::string& key : typed.all("key")) job.order.fields.push_back(ParseKey(key));
  if (job.order.fields.empty()) job.order.fields.push_back(whole);
  for (Field& field : job.order.fields) {
    if (field.offset > job.order.record_bytes || field.length > job.order.record_bytes - field.offset) {
      FailUsage("the key of " + std::to_string(field.length) + " bytes at offset " + std::to_string(field.offset) +
                " reaches beyond the record of " + std::to_string(job.order.record_bytes) + " bytes");
    }
    field.descending ^= job.reverse;
  }
}

constexpr std::uint64_t kLeastMemory = std::uint64_t{16} << 20;

std::uint64_t DefaultMemory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGE_SIZE);
  const std::uint64_t most = std::uint64_t{1} << 30;
  if (pages <= 0 || page <= 0) return most;
  return std::clamp(static_cast<std::uint64_t>(pages) / 4 * static_cast<std::uint64_t>(page), kLeastMemory, most);
}

/// Returns true if a line of the dump at `path` begins with INSERT, or if the file can only be read once.
bool MayHaveInserts(const std::string& path) {
  std::error_code error;
  if (path == "-" || !std::filesystem::is_regular_file(path, error)) return true;
  std::ifstream file(path, std::ios::binary);
  bool rows = false;  // in the rows of COPY
  for (std::string line; std::getline(file, line);) {
    if (rows) {
      rows = line != "\\." && line != "\\.\r";
      continue;
    }
    rows = line.starts_with("COPY ") && line.ends_with(" FROM stdin;");
    if (!rows && check::Lowered(line).find("insert") != std::string::npos) return true;
  }
  return false;
}

/// Parses the command line. Names may stand anywhere. The last name is FILE; all names before it that follow an
/// --against are inputs.
Job ParseJob(const tool::Typed& typed) {
  Job job;
  const std::string memory_limit = typed.value("memory-limit"), threads = typed.value("threads");
  job.reverse = typed.has("reverse");
  job.unique = typed.has("unique");
  job.stable = typed.has("stable");
  job.any_order = typed.has("any-order");
  job.checksum = typed.has("checksum");

  // The order of the inputs matters for --stable, so the inputs are in the order of the command line.
  std::optional<std::size_t> last_name;
  for (const auto& [option, value] : typed.in_order) {
    if (option != "against" && !option.empty()) continue;
    if (option.empty()) last_name = job.against.size();
    job.against.push_back(value);
  }
  if (!last_name) FailUsage("FILE is missing; see gpusort_check --help");
  job.file = job.against[*last_name];
  job.against.erase(job.against.begin() + static_cast<std::ptrdiff_t>(*last_name));
  if (!typed.has("against") && !job.against.empty()) FailUsage("more than one FILE; name inputs with --against");
  for (const std::string& input : job.against) {
    if (input == "-") FailUsage("--against: standard input is not an input; only FILE may be -");
  }

  if (typed.has("type") + typed.has("record-size") + typed.has("format") != 1) {
    FailUsage("give one of --type, --record-size and --format, like --format lines; see gpusort_check --help");
  }
  if (typed.value("format") == "parquet") {
    for (const auto& [option, values] : typed.values) {
      static constexpr std::string_view kMeant[] = {"format", "key",    "reverse", "any-order",
                                                    "unique", "stable", "against", "threads"};
      if (std::ranges::find(kMeant, option) != std::end(kMeant)) continue;
      FailUsage("--" + option + " has no meaning with --format parquet");
    }
    if (job.file == "-") FailUsage("--format parquet: FILE cannot be standard input");
    job.parquet = true;
  } else if (typed.value("format") == "log") {
    for (const auto& [option, values] : typed.values) {
      static constexpr std::string_view kMeant[] = {"format", "reverse", "unique", "stable", "against", "threads"};
      const auto has = [&](const auto& names) { return std::ranges::find(names, option) != std::end(names); };
      if (has(kMeant) || has(kLogOptions) || option == "timezone") continue;
      FailUsage("--" + option + " has no meaning with --format log" +
                (option == "any-order" ? "; --format lines --any-order compares the lines" : ""));
    }
    job.logs = ParseLogs(typed);
    job.prefix_name = typed.has("prefix-name");
    if (job.prefix_name && job.against.empty()) FailUsage("--prefix-name needs --against");
  } else if (typed.has("format")) {
    job.table = ParseTable(typed);
  }
  for (const char* option : kLogOptions) {
    if (!job.logs && typed.has(option)) FailUsage("--" + std::string(option) + " is only for --format log");
  }
  for (const char* option : kTableOptions) {
    if (!job.table && !job.logs && typed.has(option)) {
      FailUsage("--" + std::string(option) + " has no meaning without --format");
    }
  }
  if (job.any_order && job.against.empty() && !job.checksum) {
    FailUsage("--any-order needs --against or --checksum: else there is nothing to do");
  }
  for (const char* option : {"key", "reverse", "stable", "unique"}) {
    if (job.any_order && typed.has(option))
      FailUsage("--" + std::string(option) + " and --any-order exclude each other");
  }
  if (!job.table && !job.logs && !job.parquet) ParseOrder(typed, job);

  const bool full = (job.stable || job.unique) && !job.against.empty();
  if (job.stable && job.against.empty()) FailUsage("--stable needs --against");
  for (const char* option : {"memory-limit", "temp-dir"}) {
    if (typed.has(option) && !full) {
      FailUsage("--" + std::string(option) + " is only for --unique or --stable with --against");
    }
  }
  job.memory_limit = memory_limit.empty() ? DefaultMemory() : ParseSize("--memory-limit", memory_limit);
  if (job.memory_limit < kLeastMemory) FailUsage("--memory-limit must be at least 16M");
  const char* const temp_dir = std::getenv("TMPDIR");
  job.temp_dir = typed.has("temp-dir")                      ? typed.value("temp-dir")
                 : temp_dir != nullptr && *temp_dir != '\0' ? temp_dir
                                                            : "/tmp";
  job.threads = std::max(std::thread::hardware_concurrency(), 1u);
  if (!threads.empty()) {
    const std::uint64_t n = ParseWhole("--threads", threads);
    if (n == 0 || n > 1024) FailUsage("--threads must be from 1 to 1024");
    job.threads = static_cast<unsigned>(n);
  }
  // The buffers of all threads take a quarter of the memory.
  constexpr std::uint64_t kThreadMemory = std::uint64_t{6} << 20;
  if (full)
    job.threads =
        static_cast<unsigned>(std::clamp<std::uint64_t>(job.memory_limit / 4 / kThreadMemory, 1, job.threads));
  const bool dump = job.table && (job.table->kind == check::Kind::kDump || job.table->kind == check::Kind::kInserts);
  job.strip_volatile = typed.has("strip-volatile");
  if (job.strip_volatile && (!dump || job.against.empty())) FailUsage("--strip-volatile is for dumps with --against");
  // A reader that knows COPY alone can read a large dump with several threads.
  if (job.table && job.table->kind == check::Kind::kDump &&
      (job.strip_volatile || MayHaveInserts(job.file) || std::ranges::any_of(job.against, MayHaveInserts))) {
    job.table->kind = check::Kind::kInserts;
  }
  return job;
}

// ---- The checks --------------------------------------------------------------------------------------------------

/// Prints on stderr what is wrong, and sets `good` to false.
void Complain(bool& good, const std::string& message) {
  std::cerr << "gpusort_check: " << message << std::endl;
  good = false;
}

bool CheckOrder(const Job& job, const File& file, const Sums& sums) {
  bool good = true;
  if (job.any_order) {
    std::cout << "order:      not checked\n";
    return true;
  }
  const char* const before = IsLines(job) ? "line" : "record";
  if (sums.descent) {
    const bool less = !job.reverse && (!job.table || job.table->keys.empty());
    Complain(good, file.name() + ": not in order: " + Place(job, file, *sums.descent) + " is " +
                       (less ? "less than" : "out of order with") + " the " + before + " before it" + sums.reason);
  }
  if (job.unique && sums.repetition) {
    Complain(good, file.name() + ": not unique: " + Place(job, file, *sums.repetition) + " has the key of the " +
                       before + " before it");
  }
  std::cout << "order:      " << (good ? "ok" : "BAD") << '\n';
  return good;
}

/// Checks that FILE has the inputs' bytes before and after the records, for lines and records with columns.
bool CheckFrame(const Job& job, const std::string& name, const Sums& sums, const std::vector<Sums>& inputs) {
  bool good = true;
  const bool dump = job.table->kind == check::Kind::kDump || job.table->kind == check::Kind::kInserts;
  const bool lines_on_top = job.table->header > 0 || dump;
  std::string header, trailer;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].empty) continue;
    if (header.empty()) header = inputs[i].header;
    if (lines_on_top && inputs[i].header != sums.header) {
      Complain(good, name + ": " + (dump ? "what are no rows" : "the header") + " is not that of " +
                         tool::Quote(job.against[i]));
    }
    const bool joins = job.table->kind == check::Kind::kCsv || job.table->kind == check::Kind::kParagraphs;
    if (!joins && !inputs[i].trailer.empty()) trailer.clear();
    trailer += inputs[i].trailer;
  }
  if (good && header != sums.header) {
    Complain(good, name + ": the bytes before the records are not those of the inputs");
  }
  if (trailer != sums.trailer) {
    Complain(good, name + ": the bytes after the records are not those of the inputs");
  }
  if (!sums.ended) Complain(good, name + ": the last line has no end");
  return good;
}

/// Does the whole check of --stable and --unique: equal keys must keep the order of the inputs, or only the first of
/// them must be kept.
bool CheckEqualKeys(const Job& job, const File& file, check::EntryStore& store, const check::KeySums& sums,
                    bool all_regular) {
  bool good = true;
  // The buffers for reading were freed, so the tables may have most of the memory that the store does not use.
  const check::KeySums wanted = store.Sum(job.unique, job.threads, job.memory_limit / 8 * 3);
  const std::vector<std::size_t> buckets = sums.Differences(wanted);
  if (!buckets.empty()) {
    const std::string what = job.unique ? "what is kept is not the first record of each key of the inputs"
                                        : "records with equal keys are not in the order of the inputs";
    Complain(
        good,
        file.name() + ": " +
            (!all_regular ? what : FindFirst(job, store, buckets) + (job.unique ? ", first of equal keys kept" : "")));
  }
  std::cout << "stable:     " << (good ? "ok" : "BAD") << '\n';
  return good;
}

tool::Exit CheckAgainst(const Job& job, const File& file, const Sums& sums, const check::KeySums* key_sums) {
  std::vector<std::unique_ptr<File>> files;
  bool all_regular = file.size().has_value();
  std::uint64_t bytes = 0;
  for (const std::string& path : job.against) {
    files.push_back(std::make_unique<File>(path));
    all_regular = all_regular && files.back()->size();
    bytes += files.back()->size().value_or(std::uint64_t{4} << 30);
  }
  std::optional<check::EntryStore> store;
  if (key_sums != nullptr) store.emplace(PartitionsFor(bytes), job.memory_limit / 2, job.temp_dir);
  Following following;
  if (store) following.store = &*store;
  std::vector<Sums> inputs;
  Sums input;
  Job of_inputs = job;
  if (job.table) of_inputs.table->strip_volatile = job.strip_volatile;
  for (const auto& one : files) {
    inputs.push_back(Scan(*one, of_inputs, following));
    input.Append(inputs.back());
  }

  bool good = !job.table || CheckFrame(job, file.name(), sums, inputs);
  const std::string counts = std::to_string(sums.records) + (IsLines(job) ? " lines" : " records") + ", the input " +
                             std::to_string(input.records);
  if (!job.unique) {
    if (sums.records != input.records) {
      Complain(good, file.name() + ": has " + counts);
    } else if (sums.multiset != input.multiset || sums.crc != input.crc) {
      Complain(good, file.name() + ": the records are not those of the input: multiset sum " + Hex(sums.multiset) +
                         ", the input's " + Hex(input.multiset));
    }
    std::cout << "same set:   " << (good ? "ok" : "BAD") << '\n';
  } else if (sums.records > input.records) {
    Complain(good, file.name() + ": has " + counts);
  }
  if (store) {
    good &= CheckEqualKeys(job, file, *store, *key_sums, all_regular);
  } else if (job.stable) {
    std::cout << "stable:     " << (good && !sums.descent ? "ok" : "BAD") << '\n';
  }
  return good ? tool::kGood : tool::kBad;
}

/// Compares FILE with a sort of the inputs. Without inputs, checks the order of the records of FILE.
tool::Exit RunLogs(const Job& job) {
  bool good = true;
  std::vector<std::unique_ptr<check::LogFile>> inputs;
  std::vector<check::LogRecord> records;
  const auto open = [](const std::string& path) {
    try {
      return std::make_unique<check::LogFile>(path, path == "-" ? "standard input" : tool::Quote(path));
    } catch (const std::system_error& error) {
      throw Failure(tool::kIo, tool::Quote(path) + ": " + error.code().message());
    }
  };
  const auto read = [&](const std::string& path) {
    inputs.push_back(open(path));
    if (job.prefix_name) {
      const std::string quoted = tool::Quote(path);
      inputs.back()->prefix = quoted.substr(1, quoted.size() - 2) + ": ";
    }
    try {
      const auto number = static_cast<std::uint32_t>(inputs.size() - 1);
      const std::vector<check::LogRecord> found = inputs.back()->Records(*job.logs, number, job.threads);
      records.insert(records.end(), found.begin(), found.end());
    } catch (const check::BadTable& error) {
      throw Failure(tool::kBadInput, tool::Quote(path) + ": " + error.what());
    }
  };
  const auto after = [&](const check::LogRecord& a, const check::LogRecord& b) {
    return job.reverse ? a.time < b.time : a.time > b.time;
  };
  const auto equal = [](const check::LogRecord& a, const check::LogRecord& b) { return a.time == b.time; };
  for (const std::string& path : job.against) read(path);
  if (job.against.empty()) read(job.file);
  std::uint64_t untimed = 0, duplicates = 0;
  if (job.against.empty()) {
    for (std::size_t i = 1; i < records.size(); ++i) {
      duplicates += equal(records[i - 1], records[i]);
      const bool repeated = job.unique && equal(records[i - 1], records[i]);
      if (!good || (!repeated && !after(records[i - 1], records[i]))) continue;
      Complain(good, tool::Quote(job.file) + ": " + (repeated ? "not unique" : "not in order") + ": record " +
                         std::to_string(i + 1) + " (line " + std::to_string(inputs[0]->LineAt(records[i].offset)) +
                         ", byte " + std::to_string(records[i].offset) + ") is of " +
                         check::ShownTime(records[i].time) + " after " + check::ShownTime(records[i - 1].time));
    }
  } else {
    std::ranges::stable_sort(records, [&](const auto& a, const auto& b) { return after(b, a); });
    for (std::size_t i = 1; i < records.size(); ++i) duplicates += equal(records[i - 1], records[i]);
    if (job.unique) records.erase(std::unique(records.begin(), records.end(), equal), records.end());
    const std::unique_ptr<check::LogFile> output = open(job.file);
    if (const auto difference = check::FindDifference(output->bytes(), inputs, records, job.threads)) {
      Complain(good, tool::Quote(job.file) +
                         ": not a sort of the inputs: " + check::Explain(*difference, *output, inputs, records));
    }
  }
  for (const check::LogRecord& record : records) untimed += record.time == check::kNoTime;
  std::cout << "records:    " << records.size() << "\nduplicates: " << duplicates << '\n';
  if (untimed > 0) std::cout << "without a time: " << untimed << '\n';
  std::cout << "order:      " << (good ? "ok" : "BAD") << '\n';
  if (!job.against.empty()) std::cout << "same set:   " << (good ? "ok" : "BAD") << '\n';
  return good ? tool::kGood : tool::kBad;
}

/// Runs the program that checks Parquet, which does not return here.
[[noreturn]] void RunParquet(const tool::Typed& typed, const Job& job) {
  std::vector<std::string> options;
  for (const char* flag : {"reverse", "any-order", "unique", "stable"}) {
    if (typed.has(flag)) options.push_back(std::string("--") + flag);
  }
  for (const std::string& key : typed.all("key")) options.push_back("--key=" + key);
  for (const std::string& input : job.against) options.push_back("--against=" + input);
  options.insert(options.end(), {"--threads=" + std::to_string(job.threads), "--", job.file});
  check::RunParquet(options);
}

tool::Exit Run(const tool::Typed& typed) {
  const Job job = ParseJob(typed);
  if (job.parquet) RunParquet(typed, job);
  if (job.logs) return RunLogs(job);
  File file(job.file);
  std::optional<check::KeySums> key_sums;
  const bool full = (job.unique || (job.stable && !KeysAreRecords(job))) && !job.against.empty();
  if (full) RefuseWithoutSpace(job);
  if (full) key_sums.emplace();
  Following following;
  following.sums = full ? &*key_sums : nullptr;
  const Sums sums = Scan(file, job, following);
  if (job.checksum) {
    std::cout << "Records: " << sums.records << "\nChecksum: " << Hex(sums.crc) << '\n';
    // valsort counts no duplicates in a file that is out of order.
    if (!job.any_order && !sums.descent) std::cout << "Duplicate keys: " << sums.duplicates << '\n';
  } else {
    std::cout << "records:    " << sums.records << "\nduplicates: " << sums.duplicates
              << "\nmultiset:   " << Hex(sums.multiset) << "\ncrc32 sum:  " << Hex(sums.crc) << '\n';
    if (sums.no_values > 0) std::cout << "not of their key's type: " << sums.no_values << '\n';
  }
  const bool ordered = CheckOrder(job, file, sums);
  const tool::Exit same =
      job.against.empty() ? tool::kGood : CheckAgainst(job, file, sums, full ? &*key_sums : nullptr);
  return !ordered ? tool::kBad : same;
}

}  // namespace

int main(int argc, char** argv) { return tool::Main(kHelp, argc, argv, tool::kIo, Run); }

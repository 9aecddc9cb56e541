// The format of PostgreSQL's COPY ... BINARY: a header, tuples, and a trailer of two bytes. A tuple is the number of
// its fields, and the length and bytes of each field. Values sort as in the text formats. The type of a key must match
// the column's type: int for int2, int4 and int8, float for float4 and float8, decimal for numeric. A key of type
// bytes-hex or of a text type can read any column. The file does not name the columns' types, and an int8 can look like
// a numeric. A key of an int8 column therefore needs the type int. All tuples of all inputs must have the same number
// of fields. Start at Scan.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/container/small_vector.hpp>
#include <cstring>
#include <limits>
#include <string>

#include "base/text.hpp"
#include "formats/formats.hpp"

namespace gpusort {
namespace {

constexpr char kSignature[] = "PGCOPY\n\377\r\n";  // a NUL follows
constexpr std::uint64_t kFlagsAt = sizeof(kSignature), kExtensionAt = kFlagsAt + 8;
constexpr std::uint32_t kCritical = 0xFFFF0000, kHasOids = 1u << 16;

/// Reads a number in the byte order of PostgreSQL's formats (big endian).
template <typename T>
T Load(const Byte* p) {
  T number;
  std::memcpy(&number, p, sizeof(T));
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(number)));
  if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(number)));
  return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(number)));
}

/// The fields that this format stores in a ScanState.
struct TupleState {
  enum Next : unsigned { kTuple, kLength, kData, kEnd };

  Next next;
  std::uint32_t fields;   ///< the number of fields of the tuple that have not begun
  std::uint32_t columns;  ///< the number of fields of every tuple, plus 1; 0: there was no tuple yet
  std::uint32_t left;     ///< the number of bytes of the field that are still to come

  explicit TupleState(const ScanState& state)
      : next(static_cast<Next>(state.mode & 3)),
        fields(state.mode >> 2),
        columns(static_cast<std::uint32_t>(state.count >> 32)),
        left(static_cast<std::uint32_t>(state.count)) {}
  void Store(ScanState& state) const {
    state.mode = next | fields << 2;
    state.count = std::uint64_t{columns} << 32 | left;
  }
};

bool PutNumeric(const ValueKey& key, const Byte* p, std::uint64_t size, FieldWriter& out) {
  constexpr std::uint64_t kHeader = 8;
  if (size < kHeader || size % 2 != 0 || Load<std::uint16_t>(p) != (size - kHeader) / 2) return false;
  boost::container::small_vector<std::uint16_t, 64> digits;
  for (std::uint64_t at = kHeader; at < size; at += 2) digits.push_back(Load<std::uint16_t>(p + at));
  return key.PutDecimal({digits.data(), digits.size()}, Load<std::int16_t>(p + 2), Load<std::uint16_t>(p + 4), out);
}

bool PutAddress(const ValueKey& key, const Byte* p, std::uint64_t size, FieldWriter& out) {
  constexpr unsigned kHeader = 4, kV4 = 2, kV6 = 3;
  const unsigned family = size < kHeader ? 0 : p[0];
  if ((family != kV4 && family != kV6) || p[3] != (family == kV4 ? 4 : 16) || size != kHeader + p[3]) return false;
  char text[INET6_ADDRSTRLEN];
  ::inet_ntop(family == kV4 ? AF_INET : AF_INET6, p + kHeader, text, sizeof(text));
  return key.Put(std::string(text) + "/" + std::to_string(p[1]), out);
}

/// Puts the key of a time of day. The bytes are microseconds; for a time with a zone, the zone follows in seconds west
/// of UTC.
bool PutTime(const ValueKey& key, const Byte* p, std::uint64_t size, FieldWriter& out) {
  constexpr std::int64_t kSecond = 1'000'000, kDay = 86400 * kSecond;
  if (size != 8 && size != 12) return false;
  const auto micros = Load<std::int64_t>(p);
  const std::int32_t west = size == 12 ? Load<std::int32_t>(p + 8) : 0;
  if (micros < 0 || micros > kDay) return false;
  const std::int64_t seconds = micros / kSecond;
  const auto clock = [](std::int64_t time) {
    return fmt::format("{:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60);
  };
  std::string text = clock(seconds) + fmt::format(".{:06}", micros % kSecond);
  if (size == 12) text += (west > 0 ? "-" : "+") + clock(std::abs(std::int64_t{west}));
  return key.Put(text, out);
}

/// Puts the key of an interval: microseconds, days and months.
bool PutInterval(const ValueKey& key, const Byte* p, std::uint64_t size, FieldWriter& out) {
  constexpr std::int64_t kSecond = 1'000'000;
  if (size != 16) return false;
  const auto micros = Load<std::int64_t>(p);
  return key.Put(fmt::format("{} mons {} days {} s {} us", Load<std::int32_t>(p + 12), Load<std::int32_t>(p + 8),
                             micros / kSecond, micros % kSecond),
                 out);
}

/// Puts the key of a string of bits: their number, and the bits in bytes.
bool PutBits(const ValueKey& key, const Byte* p, std::uint64_t size, FieldWriter& out) {
  if (size < 4) return false;
  const auto count = Load<std::int32_t>(p);
  if (count < 0 || size - 4 != (static_cast<std::uint64_t>(count) + 7) / 8) return false;
  std::string text;
  for (std::int32_t i = 0; i < count; ++i) text += (p[4 + i / 8] >> (7 - i % 8) & 1) != 0 ? '1' : '0';
  return key.Put(text, out);
}

bool PutUuid(const ValueKey& key, const Byte* p, std::uint64_t size, FieldWriter& out) {
  return size == 16 && key.Put(HexOf(std::as_bytes(std::span(p, size))), out);
}

constexpr std::int64_t kDaysTo2000 = 10957, kSecondsTo2000 = kDaysTo2000 * 86400;

bool PutDate(const ValueKey& key, std::int32_t days, FieldWriter& out) {
  using Limits = std::numeric_limits<std::int32_t>;
  const bool infinite = days == Limits::max() || days == Limits::min();
  if (!infinite && days >= Limits::max() - kDaysTo2000) return false;
  key.PutDays(infinite ? days : days + static_cast<std::int32_t>(kDaysTo2000), out);
  return true;
}

class PgCopyBinaryFormat : public TableFormat {
 public:
  using TableFormat::TableFormat;

  bool newlines() const override { return false; }
  std::string Ending(RecordSpan, RecordSpan) const override { return {}; }
  bool has_header() const override { return true; }
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override {
    const Byte* const p = AsBytes(front.data());
    const std::uint64_t size = front.size();
    const std::string_view signature(kSignature, sizeof(kSignature));
    if (std::string_view(reinterpret_cast<const char*>(p), size).substr(0, signature.size()) !=
        signature.substr(0, size)) {
      throw BadRecord(0, "it does not begin as COPY ... WITH (FORMAT binary) does");
    }
    if (size >= kExtensionAt) {
      const auto flags = Load<std::uint32_t>(p + kFlagsAt);
      if ((flags & kCritical & ~kHasOids) != 0) throw BadRecord(kFlagsAt, "its header has unknown flags");
      const auto extension = Load<std::int32_t>(p + kFlagsAt + 4);
      if (extension < 0) throw BadRecord(kFlagsAt + 4, "the length in its header is negative");
      if (size - kExtensionAt >= static_cast<std::uint64_t>(extension)) {
        return kExtensionAt + static_cast<std::uint64_t>(extension);
      }
    }
    if (all) throw BadRecord(size, "it ends inside its header");
    return std::nullopt;
  }
  void ReadHeader(RecordSpan header) override {
    const Byte* const p = AsBytes(header.data());
    oids_ = header.size() >= kExtensionAt && (Load<std::uint32_t>(p + kFlagsAt) & kHasOids) != 0 ? 1 : 0;
  }
  RecordFormat::Ends Scan(RecordSpan bytes, ScanState& state) const override {
    const Byte* const begin = AsBytes(bytes.data());
    const Byte* const end = begin + bytes.size();
    const Byte* p = begin;
    TupleState tuple(state);
    Ends ends;
    const auto fail = [&](const Byte* at, const std::string& why) {
      throw BadRecord(at < begin ? 0 : static_cast<std::uint64_t>(at - begin), why);
    };
    // Returns the next `size` bytes, or null if they go on after `bytes`. They may have begun before `bytes`.
    const auto take = [&](std::size_t size) -> const Byte* {
      if (state.held.empty() && static_cast<std::size_t>(end - p) >= size) return (p += size) - size;
      const std::size_t more = std::min(size - state.held.size(), static_cast<std::size_t>(end - p));
      state.held.append(reinterpret_cast<const char*>(p), more);
      p += more;
      return state.held.size() == size ? reinterpret_cast<const Byte*>(state.held.data()) : nullptr;
    };
    while (p != end) {
      switch (tuple.next) {
        case TupleState::kTuple: {
          const Byte* const token = take(2);
          if (token == nullptr) break;
          const int count = Load<std::int16_t>(token);
          state.held.clear();
          if (count < 0) {
            if (count < -1) fail(p - 2, "a tuple of " + std::to_string(count) + " fields");
            tuple.next = TupleState::kEnd;
            break;
          }
          const auto columns = static_cast<std::uint32_t>(count) + 1;
          if (tuple.columns != 0 && tuple.columns != columns) {
            fail(p - 2, "a tuple of " + std::to_string(count) + " fields after a tuple of " +
                            std::to_string(tuple.columns - 1));
          }
          tuple.columns = columns;
          tuple.fields = static_cast<std::uint32_t>(count) + oids_;
          tuple.next = TupleState::kLength;
          break;
        }
        case TupleState::kLength: {
          const Byte* const token = take(4);
          if (token == nullptr) break;
          const auto length = Load<std::int32_t>(token);
          state.held.clear();
          if (length < -1) fail(p - 4, "a field of " + std::to_string(length) + " bytes");
          --tuple.fields;
          tuple.left = length < 0 ? 0 : static_cast<std::uint32_t>(length);
          if (tuple.left > 0) tuple.next = TupleState::kData;
          break;
        }
        case TupleState::kData: {
          const auto here =
              static_cast<std::uint32_t>(std::min<std::uint64_t>(tuple.left, static_cast<std::uint64_t>(end - p)));
          p += here;
          tuple.left -= here;
          if (tuple.left == 0) tuple.next = TupleState::kLength;
          break;
        }
        case TupleState::kEnd:
          fail(p, "there are more bytes after the trailer");
      }
      if (tuple.next != TupleState::kLength || tuple.fields > 0) continue;
      tuple.next = TupleState::kTuple;
      ends.Add(p - begin);
    }
    tuple.Store(state);
    tuple.next = TupleState::kTuple;
    tuple.fields = tuple.left = 0;
    tuple.Store(ends.state);
    return ends;
  }
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override {
    const TupleState tuple(state);
    if (tuple.next == TupleState::kEnd) return 0;
    throw BadRecord(open.size(), open.empty() ? "the trailer is missing" : "the input ends inside a tuple");
  }
  ScanState NextInput(const ScanState& end) const override {
    TupleState tuple{ScanState{}};
    tuple.columns = TupleState(end).columns;
    ScanState state;
    tuple.Store(state);
    return state;
  }
  bool has_trailer() const override { return true; }
  unsigned modes() const override { return 0; }

 protected:
  std::uint64_t PutKeys(RecordSpan records, ScanState&, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override {
    const Byte* const begin = AsBytes(records.data());
    const Byte* p = begin + 2;
    const auto& columns = wanted_.by_column;
    const auto count = static_cast<unsigned>(Load<std::int16_t>(begin));
    std::vector<Field>& fields = scratch.fields;
    fields.assign(keys_.size(), {});
    std::size_t next = 0;  // the index in `columns`
    for (unsigned i = 0; i < count + oids_; ++i) {
      const auto length = Load<std::int32_t>(p);
      p += 4;
      Field field;
      field.at = static_cast<std::uint64_t>(p - begin);
      field.is = length < 0 ? Field::kNull : Field::kValue;
      if (length > 0) field.text = {reinterpret_cast<const char*>(p), static_cast<std::size_t>(length)};
      p += field.text.size();
      if (i < oids_) continue;
      if (keys_.empty()) PutWhole(field, out);
      for (; next < columns.size() && columns[next].column == i - oids_; ++next) fields[columns[next].key] = field;
    }
    for (std::size_t key = 0; key < keys_.size(); ++key) PutKey(key, fields[key], out, tally);
    return static_cast<std::uint64_t>(p - begin);
  }
  bool PutValue(std::size_t number, const Field& field, FieldWriter& out, KeyTally& tally) const override {
    const ValueKey& key = keys_[number];
    const auto* const p = reinterpret_cast<const Byte*>(field.text.data());
    const std::uint64_t size = field.text.size();
    switch (key.rule().type) {
      case ValueType::kText:
      case ValueType::kNoCase:
      case ValueType::kNatural:
      case ValueType::kLocale:
      case ValueType::kBytesHex:
        key.PutBytes(field.text, out);
        return true;
      case ValueType::kInt:
        if (size != 2 && size != 4 && size != 8) return false;
        key.PutInt(size == 2 ? Load<std::int16_t>(p) : size == 4 ? Load<std::int32_t>(p) : Load<std::int64_t>(p), out);
        return true;
      case ValueType::kNumber:  // PostgreSQL's money: a number of cents
        if (size != 8) return false;
        key.PutInt(Load<std::int64_t>(p), out);
        return true;
      case ValueType::kDecimal:
        return PutNumeric(key, p, size, out);
      case ValueType::kFloat:
        if (size != 4 && size != 8) return false;
        key.PutFloat(size == 4 ? static_cast<double>(std::bit_cast<float>(Load<std::uint32_t>(p)))
                               : std::bit_cast<double>(Load<std::uint64_t>(p)),
                     out);
        return true;
      case ValueType::kBool:
        if (size != 1) return false;
        key.PutBool(*p != 0, out);
        return true;
      case ValueType::kDate:
        if (!key.rule().time_format.empty()) return TableFormat::PutValue(number, field, out, tally);
        return size == 4 && PutDate(key, Load<std::int32_t>(p), out);
      case ValueType::kTimestamp:
        // With a format, the value is read as text.
        if (!key.rule().time_format.empty()) return TableFormat::PutValue(number, field, out, tally);
        if (size != 8) return false;
        key.PutMicros(Load<std::int64_t>(p), out, kSecondsTo2000);
        return true;
      case ValueType::kIp:
        return PutAddress(key, p, size, out);
      case ValueType::kUuid:
        return PutUuid(key, p, size, out);
      case ValueType::kTime:
        return PutTime(key, p, size, out);
      case ValueType::kInterval:
        return PutInterval(key, p, size, out);
      case ValueType::kMacAddress:
        return (size == 6 || size == 8) && key.Put(HexOf(std::as_bytes(std::span(p, size))), out);
      case ValueType::kBits:
        return PutBits(key, p, size, out);
      case ValueType::kSeverity:
      case ValueType::kEnum:
      case ValueType::kSet:
      case ValueType::kOrder:
        return TableFormat::PutValue(number, field, out, tally);
    }
    return false;
  }

 private:
  /// The number of fields of a row before its first column: 1 if the header says that rows have OIDs, otherwise 0.
  unsigned oids_ = 0;
};

}  // namespace

std::unique_ptr<TableFormat> MakePgCopyBinaryFormat(const JobSpec& spec) {
  return std::make_unique<PgCopyBinaryFormat>(spec);
}

}  // namespace gpusort

// labels: no_tsan
// Compares the encodings of keys with the values themselves: integers as integers, floats by std::strong_order (IEEE
// totalOrder), bytes by lexicographical comparison.
#include "kernels/records/key.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "records.hpp"

namespace gpusort {
namespace {

using testing::Bytes;

int Sign(int x) { return (x > 0) - (x < 0); }
template <typename Ordering>
int Sign(Ordering order) {
  return (order > 0) - (order < 0);
}

template <typename T>
int CompareAs(const Byte* a, const Byte* b, bool big_endian) {
  Byte x[sizeof(T)], y[sizeof(T)];
  std::memcpy(x, a, sizeof(T));
  std::memcpy(y, b, sizeof(T));
  if (big_endian) {
    std::reverse(x, x + sizeof(T));
    std::reverse(y, y + sizeof(T));
  }
  T u, v;
  std::memcpy(&u, x, sizeof(T));
  std::memcpy(&v, y, sizeof(T));
  return Sign(std::strong_order(u, v));
}

/// Returns the order that the type of a field promises, from the values.
int OracleField(const Byte* a, const Byte* b, const KeyField& field) {
  const Byte* x = a + field.offset;
  const Byte* y = b + field.offset;
  int order = 0;
  const bool be = field.big_endian;
  if (field.type == KeyType::kBytes) {
    order = Sign(std::lexicographical_compare_three_way(x, x + field.length, y, y + field.length));
  } else if (field.type == KeyType::kFloat) {
    order = field.length == 4 ? CompareAs<float>(x, y, be) : CompareAs<double>(x, y, be);
  } else if (field.type == KeyType::kSigned) {
    order = field.length == 1   ? CompareAs<std::int8_t>(x, y, be)
            : field.length == 2 ? CompareAs<std::int16_t>(x, y, be)
            : field.length == 4 ? CompareAs<std::int32_t>(x, y, be)
                                : CompareAs<std::int64_t>(x, y, be);
  } else {
    order = field.length == 1   ? CompareAs<std::uint8_t>(x, y, be)
            : field.length == 2 ? CompareAs<std::uint16_t>(x, y, be)
            : field.length == 4 ? CompareAs<std::uint32_t>(x, y, be)
                                : CompareAs<std::uint64_t>(x, y, be);
  }
  return field.descending ? -order : order;
}

int Oracle(const Byte* a, const Byte* b, const RecordLayout& layout) {
  for (std::uint32_t f = 0; f < layout.field_count; ++f) {
    const int order = OracleField(a, b, layout.fields[f]);
    if (order != 0) return order;
  }
  return 0;
}

Bytes NormalizedKey(const Byte* record, const RecordLayout& layout) {
  Bytes key;
  for (std::uint64_t at = 0; at < layout.key_bytes; at += 8) {
    const std::uint64_t word = KeyWord(record, layout, at);
    for (std::uint64_t i = 0; i < 8 && at + i < layout.key_bytes; ++i) {
      key.push_back(static_cast<Byte>(word >> (56 - 8 * i)));
    }
  }
  return key;
}

/// Returns fields of every kind at `offset`: types, lengths, byte orders, directions.
std::vector<KeyField> AllFields(std::uint64_t offset) {
  std::vector<KeyField> fields;
  for (const bool descending : {false, true}) {
    for (const bool big_endian : {false, true}) {
      for (const std::uint32_t length : {1u, 2u, 4u, 8u}) {
        fields.push_back({offset, length, KeyType::kUnsigned, big_endian, descending});
        fields.push_back({offset, length, KeyType::kSigned, big_endian, descending});
        if (length >= 4) fields.push_back({offset, length, KeyType::kFloat, big_endian, descending});
      }
    }
    for (const std::uint32_t length : {1u, 3u, 4u, 7u, 8u, 9u, 12u, 13u, 16u, 21u}) {
      fields.push_back({offset, length, KeyType::kBytes, false, descending});
    }
  }
  return fields;
}

/// Returns bit patterns at the limits of every type, with NaNs with payloads and both zeros.
std::vector<std::uint64_t> SpecialPatterns() {
  std::vector<std::uint64_t> patterns = {0, 1, 2, 0x7F, 0x80, 0x81, 0xFF, 0x7FFF, 0x8000, 0xFFFF};
  for (const std::uint64_t bits : {0x7F800000u, 0x7F800001u, 0x7FC00000u, 0x7FC12345u, 0x7FFFFFFFu, 0x80000000u,
                                   0x80000001u, 0xFF800000u, 0xFF800001u, 0xFFC00000u, 0xFFFFFFFFu, 0x3F800000u}) {
    patterns.push_back(bits);
    patterns.push_back(std::uint64_t{bits} << 32);
    patterns.push_back(std::uint64_t{bits} << 32 | 1);
  }
  for (const double value : {0.0, -0.0, 1.0, -1.0, std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::denorm_min()}) {
    patterns.push_back(std::bit_cast<std::uint64_t>(value));
  }
  for (const std::uint64_t bits : {0x7FF0000000000001u, 0x7FF8000000000000u, 0x7FF8DEADBEEF0001u, 0xFFF8000000000000u,
                                   0xFFF0000000000123u, 0x8000000000000000u, 0x7FFFFFFFFFFFFFFFu}) {
    patterns.push_back(bits);
  }
  patterns.push_back(~std::uint64_t{0});
  return patterns;
}

/// Returns records whose fields contain special patterns or random bits, in the field's byte order.
std::vector<Bytes> RecordsFor(const RecordLayout& layout, std::size_t random_count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<std::uint64_t> patterns = SpecialPatterns();
  std::vector<Bytes> records;
  for (std::size_t i = 0; i < patterns.size() + random_count; ++i) {
    Bytes record(layout.stride);
    for (Byte& byte : record) byte = static_cast<Byte>(random());
    for (std::uint32_t f = 0; f < layout.field_count; ++f) {
      const KeyField& field = layout.fields[f];
      // Some later records repeat earlier values, so that ties occur.
      const std::uint64_t bits = i < patterns.size() ? patterns[(i + f) % patterns.size()]
                                 : random() % 3 == 0 ? patterns[random() % patterns.size()]
                                                     : random();
      for (std::uint32_t b = 0; b < std::min(field.length, 8u); ++b) {
        record[field.offset + (field.big_endian ? std::min(field.length, 8u) - 1 - b : b)] =
            static_cast<Byte>(bits >> (8 * b));
      }
    }
    records.push_back(record);
  }
  return records;
}

void CheckAllPairs(const RecordLayout& layout, const std::vector<Bytes>& records) {
  std::vector<Bytes> keys;
  for (const Bytes& record : records) keys.push_back(NormalizedKey(record.data(), layout));
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (std::size_t j = 0; j < records.size(); ++j) {
      const int expected = Oracle(records[i].data(), records[j].data(), layout);
      ASSERT_EQ(Sign(CompareKeys(records[i].data(), records[j].data(), layout)), expected) << i << " " << j;
      ASSERT_EQ(Sign(std::memcmp(keys[i].data(), keys[j].data(), keys[i].size())), expected) << i << " " << j;
    }
  }
}

TEST(CompareKeys, AgreesWithTheValuesAndWithTheNormalizedBytesForEveryFieldType) {
  for (const KeyField& field : AllFields(3)) {
    SCOPED_TRACE(::testing::Message() << "type " << static_cast<int>(field.type) << " length " << field.length
                                      << " big-endian " << field.big_endian << " descending " << field.descending);
    const RecordLayout layout = MakeFixedLayout(27, KeySpec{{field}});
    CheckAllPairs(layout, RecordsFor(layout, 60, field.length));
  }
}

TEST(CompareKeys, TakesFieldsMostSignificantFirst) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 60; ++round) {
    KeySpec spec;
    for (std::size_t f = 0, n = 1 + random() % 6; f < n; ++f) {
      const std::vector<KeyField> fields = AllFields(random() % 20);
      spec.fields.push_back(fields[random() % fields.size()]);
    }
    const RecordLayout layout = MakeFixedLayout(48, spec);
    std::vector<Bytes> records = RecordsFor(layout, 20, random());
    // Records that agree in all fields except the last, so that the last field decides.
    for (int i = 0; i < 10; ++i) {
      Bytes record = records.back();
      const KeyField& last = layout.fields[layout.field_count - 1];
      record[last.offset + random() % last.length] ^= static_cast<Byte>(random());
      records.push_back(record);
    }
    CheckAllPairs(layout, records);
  }
}

TEST(CompareKeys, FromALaterByteIsTheSameWhenTheBytesBeforeAreEqual) {
  std::mt19937_64 random(12);
  const std::vector<KeyField> fields = AllFields(0);
  for (int round = 0; round < 3000; ++round) {
    KeySpec spec;
    for (std::uint64_t at = 0; at < 24;) {
      KeyField field = fields[random() % fields.size()];
      field.offset = at;
      at += field.length;
      spec.fields.push_back(field);
    }
    const RecordLayout layout = MakeFixedLayout(48, spec);
    Bytes a(48), b;
    for (Byte& byte : a) byte = static_cast<Byte>(random());
    b = a;
    b[random() % 48] ^= static_cast<Byte>(1 + random() % 255);
    const Bytes x = NormalizedKey(a.data(), layout), y = NormalizedKey(b.data(), layout);
    const auto common = static_cast<std::uint64_t>(std::mismatch(x.begin(), x.end(), y.begin()).first - x.begin());
    for (std::uint64_t begin = 0; begin <= common; ++begin) {
      ASSERT_EQ(Sign(CompareKeys(a.data(), b.data(), layout, begin)), Oracle(a.data(), b.data(), layout)) << begin;
    }
  }
}

TEST(KeyWord, IsAWindowIntoTheNormalizedKeyAtEveryByte) {
  std::mt19937_64 random(13);
  for (int round = 0; round < 200; ++round) {
    KeySpec spec;
    for (std::size_t f = 0, n = 1 + random() % 8; f < n; ++f) {
      const std::vector<KeyField> fields = AllFields(random() % 20);
      spec.fields.push_back(fields[random() % fields.size()]);
    }
    const RecordLayout layout = MakeFixedLayout(48, spec);
    Bytes record(48);
    for (Byte& byte : record) byte = static_cast<Byte>(random());
    // Collects the key byte by byte: byte `at` is the top byte of KeyWord(at).
    Bytes key;
    for (std::uint64_t at = 0; at < layout.key_bytes; ++at) {
      key.push_back(static_cast<Byte>(KeyWord(record.data(), layout, at) >> 56));
    }
    EXPECT_EQ(key, NormalizedKey(record.data(), layout));
    key.resize(key.size() + 16, 0);
    for (std::uint64_t at = 0; at < layout.key_bytes + 8; ++at) {
      std::uint64_t expected = 0;
      for (int i = 0; i < 8; ++i) expected = expected << 8 | key[at + i];
      ASSERT_EQ(KeyWord(record.data(), layout, at), expected) << at;
    }
  }
}

template <typename U>
void CheckNumberMap() {
  std::mt19937_64 random(14);
  std::vector<U> numbers;
  for (const std::uint64_t pattern : SpecialPatterns()) {
    numbers.push_back(static_cast<U>(pattern));
    numbers.push_back(static_cast<U>(pattern >> (64 - 8 * sizeof(U))));
    numbers.push_back(NumberMap<U>::Swap(static_cast<U>(pattern)));
  }
  for (int i = 0; i < 100; ++i) numbers.push_back(static_cast<U>(random()));
  for (const KeyField& field : AllFields(0)) {
    if (field.length != sizeof(U)) continue;
    const NumberMap<U> map = MakeNumberMap<U>(field);
    const RecordLayout layout = MakeFixedLayout(sizeof(U), KeySpec{{field}});
    for (const U x : numbers) {
      ASSERT_EQ(map.Unmap(map.Map(x)), x);
      ASSERT_EQ(map.Map(map.Unmap(x)), x);
      if (map.identity()) {
        ASSERT_EQ(map.Map(x), x);
      }
      for (const U y : numbers) {
        Byte a[sizeof(U)], b[sizeof(U)];
        std::memcpy(a, &x, sizeof(U));
        std::memcpy(b, &y, sizeof(U));
        ASSERT_EQ(Sign(map.Map(x) <=> map.Map(y)), Oracle(a, b, layout));
      }
    }
  }
}

TEST(NumberMap, KeepsTheOrderAndItsInverseGivesEveryBitBack) {
  CheckNumberMap<std::uint32_t>();
  CheckNumberMap<std::uint64_t>();
}

TEST(Entry, OrdersLikeKeysBehindACommonPrefixThenByRow) {
  std::mt19937_64 random(15);
  for (const std::uint32_t key_bytes : {1u, 7u, 8u, 11u, 12u, 13u, 20u, 40u}) {
    for (std::uint64_t skip = 0; skip < key_bytes; skip += 1 + random() % 5) {
      const RecordLayout layout = MakeFixedLayout(41, KeySpec{{KeyField{1, key_bytes, KeyType::kBytes, false, false}}});
      const std::uint32_t count = 60;
      Bytes records(count * layout.stride);
      for (Byte& byte : records) byte = static_cast<Byte>(random() % 2);
      std::vector<Entry> entries;
      for (std::uint32_t row = 0; row < count; ++row) {
        std::fill_n(records.begin() + static_cast<std::ptrdiff_t>(row * layout.stride + 1), skip, Byte{9});
        entries.push_back(MakeEntry(&records[row * layout.stride], layout, skip, row));
      }
      const PrefixEntryLess prefix_less{records.data(), &layout, skip + kEntryKeyBytes};
      for (const Entry& a : entries) {
        for (const Entry& b : entries) {
          const int order = Oracle(&records[a.row() * layout.stride], &records[b.row() * layout.stride], layout);
          const bool expected = order != 0 ? order < 0 : a.row() < b.row();
          ASSERT_EQ(prefix_less(a, b), expected);
          if (skip + kEntryKeyBytes >= key_bytes) {
            ASSERT_EQ(ExactEntryLess()(a, b), expected);
          }
        }
      }
    }
  }
}

TEST(MakeFixedLayout, RefusesFieldsThatDoNotFit) {
  const auto code = [](std::uint64_t bytes, KeyField field) {
    try {
      MakeFixedLayout(bytes, KeySpec{{field}});
    } catch (const Error& error) {
      return static_cast<int>(error.code());
    }
    return 0;
  };
  constexpr int kUsage = static_cast<int>(ErrorCode::kUsage);
  EXPECT_EQ(code(8, {0, 8, KeyType::kSigned}), 0);
  EXPECT_EQ(code(8, {1, 8, KeyType::kSigned}), kUsage);
  EXPECT_EQ(code(8, {~std::uint64_t{0}, 2, KeyType::kSigned}), kUsage);
  EXPECT_EQ(code(8, {0, 3, KeyType::kSigned}), kUsage);
  EXPECT_EQ(code(8, {0, 2, KeyType::kFloat}), kUsage);
  EXPECT_EQ(code(8, {0, 0, KeyType::kBytes}), kUsage);
  EXPECT_EQ(code(0, {0, 1, KeyType::kBytes}), kUsage);
}

}  // namespace
}  // namespace gpusort

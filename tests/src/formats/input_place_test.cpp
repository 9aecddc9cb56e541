// Tests the place of a record as a field of a keyed record.
#include "formats/input_place.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace gpusort::testing {
namespace {

using PlaceBytes = std::vector<std::byte>;

/// Returns a number of any size up to 2^64 - 1, small ones as often as large ones.
std::uint64_t AnyNumber() { return *rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(0, 64); }

InputPlace AnyPlace() { return {AnyNumber(), AnyNumber()}; }

/// Returns a keyed record with the place `place`.
PlaceBytes Keyed(const std::string& key, const InputPlace& place, const std::string& record) {
  PlaceBytes keyed{std::byte{kKeyedHead}, static_cast<std::byte>(kKeyEnd)};
  FieldWriter writer(keyed);
  writer.Begin(key.size() * 2 + 1);
  for (const char c : key) writer.Put(static_cast<unsigned char>(c));
  writer.End();
  place.Append(keyed);
  const auto bytes = std::as_bytes(std::span(record));
  StoreBody(bytes, 0, keyed);
  return keyed;
}

RC_GTEST_PROP(InputPlace, FieldsCompareAsPlaces, ()) {
  const InputPlace a = AnyPlace(), b = AnyPlace();
  PlaceBytes of_a, of_b;
  a.Append(of_a);
  b.Append(of_b);
  RC_ASSERT((of_a < of_b) == (a < b));
  RC_ASSERT((of_a == of_b) == (a == b));
  RC_ASSERT(of_a.size() <= InputPlace::kMostBytes);
}

RC_GTEST_PROP(InputPlace, IsReadFromAKeyedRecord, (const std::string& key, const std::string& record)) {
  const InputPlace place = AnyPlace();
  RC_ASSERT(InputPlace::Of(Keyed(key, place, record)) == place);
}

RC_GTEST_PROP(InputPlace, ReplacesTheKeysOfRecords, (const std::vector<std::string>& lines)) {
  PlaceBytes keyed, want;
  RecordLayout placed;
  placed.delimiter = '\n';
  placed.keys = kPlacedKeys;
  RecordLayout left = placed;
  left.keys = kTableKeys;
  std::vector<InputPlace> places;
  for (const std::string& line : lines) {
    places.push_back(AnyPlace());
    const PlaceBytes record = Keyed(line, places.back(), line);
    keyed.insert(keyed.end(), record.begin(), record.end());
  }
  const std::span<std::byte> records = KeysToPlaces(keyed);
  std::size_t i = 0;
  PlaceBytes scratch;
  ForEachRecord(records, left, [&](RecordSpan record) {
    const RecordSpan own = OwnBytes(record, left, scratch);
    const auto line = std::as_bytes(std::span(lines.at(i)));
    RC_ASSERT(std::equal(own.begin(), own.end(), line.begin(), line.end()));
    PlaceBytes place;
    places.at(i++).Append(place);
    RC_ASSERT(std::equal(place.begin(), place.end(), record.begin() + 2));
  });
  RC_ASSERT(i == lines.size());
}

RC_GTEST_PROP(InputPlace, StaysBeforeAnotherText, (const std::string& key, const std::string& line)) {
  const InputPlace place = AnyPlace();
  PlaceBytes keyed = Keyed(key, place, line), again;
  const auto text = *rc::gen::arbitrary<std::string>();
  AppendWithPlaceOf(KeysToPlaces(keyed), std::as_bytes(std::span(text)), again);
  PlaceBytes want{std::byte{kKeyedHead}, static_cast<std::byte>(kKeyEnd)};
  place.Append(want);
  StoreBody(std::as_bytes(std::span(text)), 0, want);
  RC_ASSERT(again == want);
}

TEST(InputPlace, IsMissingInOtherRecords) {
  const std::string text = "@\1key\1no place\n";
  const auto bytes = std::as_bytes(std::span(text));
  EXPECT_THROW(InputPlace::Of(bytes.first(3)), WrongResult);
  EXPECT_THROW(InputPlace::Of(bytes.first(7)), WrongResult);
  EXPECT_THROW(InputPlace::Of({}), WrongResult);
}

}  // namespace
}  // namespace gpusort::testing

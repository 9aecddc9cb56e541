// Tests the mark with the places of values that stands before a record.
#include "formats/value_place.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "formats/keyed_record.hpp"

namespace gpusort::testing {
namespace {

/// Returns a place in a record of any size up to 2^60 bytes, small ones as often as large ones.
ValuePlace AnyValuePlace() {
  ValuePlace place;
  place.known = *rc::gen::arbitrary<bool>();
  if (!place.known) {
    place.flaw = static_cast<ValuePlace::Flaw>(*rc::gen::inRange(0, 7));
    return place;
  }
  place.at = (*rc::gen::arbitrary<std::uint64_t>() >> 4) >> *rc::gen::inRange(0, 60);
  place.size = (*rc::gen::arbitrary<std::uint64_t>() >> 4) >> *rc::gen::inRange(0, 60);
  place.null = *rc::gen::arbitrary<bool>();
  place.quoted = *rc::gen::arbitrary<bool>();
  return place;
}

RC_GTEST_PROP(ValuePlace, ComesBackFromTheMark, ()) {
  const auto count = *rc::gen::inRange(0, 5);
  std::vector<ValuePlace> places;
  for (int i = 0; i < count; ++i) places.push_back(AnyValuePlace());
  std::vector<std::byte> marked;
  for (const ValuePlace& place : places) {
    const std::size_t before = marked.size();
    place.Append(marked);
    RC_ASSERT(marked.size() - before <= ValuePlace::kMostBytes);
  }
  EndMark(marked);
  const std::byte newline{'\n'};
  RC_ASSERT(std::ranges::find(marked, newline) == marked.end());
  RC_ASSERT(std::ranges::find(marked, BodyUnescaper::kEscape) == marked.end());
  RC_ASSERT(std::ranges::find(marked, static_cast<std::byte>(kKeyEnd)) == marked.end());
  const auto record = *rc::gen::arbitrary<std::string>();
  const auto bytes = std::as_bytes(std::span(record));
  marked.insert(marked.end(), bytes.begin(), bytes.end());

  MarkedRecord parts(marked);
  RC_ASSERT(std::ranges::equal(parts.record, bytes));
  for (const ValuePlace& place : places) RC_ASSERT(ValuePlace::Take(parts.mark) == place);
  RC_ASSERT(parts.mark.empty());
  RC_ASSERT_THROWS_AS(ValuePlace::Take(parts.mark), WrongResult);
}

TEST(MarkedRecord, RefusesRecordsWithoutAMark) {
  for (const std::string text : {"", "\x81", "a", "\x81\x82", "\x81 1,2~"}) {
    EXPECT_THROW(MarkedRecord(std::as_bytes(std::span(text))), WrongResult) << text;
  }
}

}  // namespace
}  // namespace gpusort::testing

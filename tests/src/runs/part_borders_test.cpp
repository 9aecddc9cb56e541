#include "runs/part_borders.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "records.hpp"
#include "test_job.hpp"

namespace gpusort::testing {
namespace {

/// Records of a key and three more bytes.
RecordLayout Layout() {
  KeySpec spec;
  spec.fields.push_back({0, 1, KeyType::kUnsigned});
  return MakeFixedLayout(4, spec);
}

/// Returns the part of each record. The records are passed in pieces of up to `piece` records.
std::vector<unsigned> PartsOf(const std::vector<unsigned char>& keys, unsigned parts, std::uint64_t bytes,
                              std::size_t piece, std::uint64_t top = 0, bool unique = false) {
  TestJob on(Layout());
  on.spec.target.split = parts;
  on.spec.order.top = top;
  on.spec.order.unique = unique;
  on.job.groups = on.spec.order.layout;
  Bytes records(keys.size() * 4);
  for (std::size_t i = 0; i < keys.size(); ++i) records[4 * i] = keys[i];
  PartBorders borders(on.job, bytes);
  std::vector<unsigned> result;
  for (RecordSpan rest = View(records); !rest.empty();) {
    const std::uint64_t count = borders.Take(rest.first(std::min(rest.size(), 4 * piece)));
    result.insert(result.end(), count / 4, borders.part());
    rest = rest.subspan(count);
  }
  return result;
}

RC_GTEST_PROP(PartBorders, EndPartsWhereTheKeyChangesBehindTheirShare, ()) {
  auto keys = *rc::gen::container<std::vector<unsigned char>>(rc::gen::inRange<unsigned char>(0, 40));
  std::sort(keys.begin(), keys.end());
  const unsigned parts = *rc::gen::inRange(1u, 9u);
  const std::vector<unsigned> got = PartsOf(keys, parts, keys.size() * 4, *rc::gen::inRange<std::size_t>(1, 50));
  RC_ASSERT(got.size() == keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto begin = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), keys[i]) - keys.begin());
    RC_ASSERT(got[i] == begin * parts / keys.size());
  }
}

TEST(PartBorders, HaveSharesOfWhatTopLeaves) {
  std::vector<unsigned char> keys(100);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<unsigned char>(i / 2);
  const std::uint64_t bytes = keys.size() * 4;
  EXPECT_EQ(PartsOf(keys, 2, bytes, 100)[49], 0u);
  EXPECT_EQ(PartsOf(keys, 2, bytes, 100)[50], 1u);
  EXPECT_EQ(PartsOf(keys, 2, bytes, 10, 20)[9], 0u);
  EXPECT_EQ(PartsOf(keys, 2, bytes, 10, 20)[10], 1u);
  EXPECT_EQ(PartsOf(keys, 2, bytes, 10, 20, true)[19], 0u);  // 20 different keys are in 40 records
  EXPECT_EQ(PartsOf(keys, 2, bytes, 10, 20, true)[20], 1u);
  EXPECT_EQ(PartsOf(keys, 2, bytes, 10, 1000), PartsOf(keys, 2, bytes, 10));
}

}  // namespace
}  // namespace gpusort::testing

// Tests the keys of --shuffle: every order of the records is equally likely over many seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "formats/registry.hpp"

namespace gpusort::testing {
namespace {

/// Returns the order in which the seed puts `records` equal lines of `inputs` inputs.
std::vector<std::size_t> Shuffled(std::uint64_t seed, std::size_t records, std::uint32_t inputs = 1) {
  JobSpec spec;
  spec.source.table.emplace();
  spec.source.table->name = kTypedLines.name;
  spec.source.table->shuffle = seed;
  static const LineOrderView kWholeLines;
  spec.order.layout = MakeLineLayout('\n', kWholeLines);
  const std::unique_ptr<TableFormat> format = MakeTableFormat(spec);
  const std::unique_ptr<KeyEncoder> encoder = format->MakeEncoder();
  const std::string line = "line\n";
  std::vector<std::vector<std::byte>> keyed(records);
  KeyTally tally;
  ScanState state;
  for (std::size_t i = 0; i < records; ++i) {
    if (i == records / inputs) {
      ++tally.input;
      tally.offset = 0;
    }
    tally.offset += encoder->Append(std::as_bytes(std::span(line)), state, keyed[i], tally);
  }
  std::vector<std::size_t> order(records);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return keyed[a] < keyed[b]; });
  return order;
}

TEST(Shuffle, EveryOrderIsEquallyLikely) {
  constexpr std::uint64_t kSeeds = 24000, kOrders = 120;
  for (const std::uint32_t inputs : {1, 2}) {
    std::map<std::vector<std::size_t>, std::uint64_t> seen;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) ++seen[Shuffled(seed, 5, inputs)];
    ASSERT_EQ(seen.size(), kOrders);
    const double expected = static_cast<double>(kSeeds) / kOrders;
    double chi_square = 0;
    for (const auto& [order, count] : seen) {
      chi_square += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected) / expected;
    }
    // The mean is 119 and the standard deviation 15.4.
    EXPECT_LT(chi_square, 119 + 4 * 15.4);
    EXPECT_GT(chi_square, 119 - 4 * 15.4);
  }
}

TEST(Shuffle, ARecordComesToEveryPlaceEquallyOften) {
  constexpr std::uint64_t kSeeds = 4000, kRecords = 20;
  std::vector<std::uint64_t> seen(kRecords * kRecords);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<std::size_t> order = Shuffled(seed << 32, kRecords);
    for (std::size_t i = 0; i < kRecords; ++i) ++seen[i * kRecords + order[i]];
  }
  const double expected = static_cast<double>(kSeeds) / kRecords;
  double chi_square = 0;
  for (const std::uint64_t count : seen) {
    chi_square += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected) / expected;
  }
  // The mean is 361, because each record and each place is counted once for each seed. The standard deviation is 27.
  EXPECT_LT(chi_square, 361 * 20.0 / 19 + 4 * 27);
  EXPECT_GT(chi_square, 361 - 4 * 27);
}

}  // namespace
}  // namespace gpusort::testing

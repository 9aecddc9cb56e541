// labels: no_tsan
#include "data/proof.hpp"

#include <gtest/gtest.h>

#include <random>

#include "data/short_sum.hpp"
#include "kernels/error.hpp"
#include "records.hpp"

namespace gpusort::testing {
namespace {

std::span<const std::byte> View(const Bytes& bytes) {
  return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
}

RecordLayout Layout(std::uint64_t stride) { return MakeFixedLayout(stride, {}); }

TEST(RecordSum, DoesNotDependOnOrderOrGrouping) {
  for (const std::uint64_t stride : {1, 3, 4, 8, 13, 16, 17, 100}) {
    const RecordLayout layout = Layout(stride);
    const Bytes records = MakeRecords(layout, 1000, Keys::kRandom, stride);
    RecordSum parts = SumRecords(View(records).first(stride * 333), stride);
    parts += SumRecords(View(records).subspan(stride * 333), stride);
    EXPECT_EQ(parts, SumRecords(View(records), stride));
    EXPECT_EQ(parts, SumRecords(View(StableSorted(records, layout)), stride)) << stride;
    EXPECT_EQ(parts.records, 1000u);
  }
}

TEST(RecordSum, SeesEveryFlippedBitAndEveryExchangeOfEqualBytes) {
  for (const std::uint64_t stride : {1, 4, 8, 12, 16, 40}) {
    Bytes records = MakeRecords(Layout(stride), 50, Keys::kRandom, stride + 7);
    const RecordSum sum = SumRecords(View(records), stride);
    for (std::size_t bit = 0; bit < records.size() * 8; ++bit) {
      records[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
      EXPECT_FALSE(sum == SumRecords(View(records), stride)) << stride << " bit " << bit;
      records[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    }
  }
  // {1, 4} and {2, 3} have the same sum of bytes, but are different records.
  EXPECT_FALSE(SumRecords(View({1, 4}), 1) == SumRecords(View({2, 3}), 1));
}

TEST(RecordSum, AddsModulo128Bits) {
  RecordSum sum{~std::uint64_t{0}, 5, 1};
  sum += RecordSum{1, 0, 1};
  EXPECT_EQ(sum, (RecordSum{0, 6, 2}));
}

TEST(RecordSum, OfNumbersEqualsTheSumOfSingles) {
  for (const std::uint64_t stride : {4, 8}) {
    const Bytes records = MakeRecords(Layout(stride), 777, Keys::kRandom, 3);
    RecordSum singles;
    for (std::size_t i = 0; i < 777; ++i) singles += SumRecords(View(records).subspan(i * stride, stride), stride);
    EXPECT_EQ(singles, SumRecords(View(records), stride));
  }
}

TEST(SumShortRecords, IsTheSameByAllInstructionsOfThisMachine) {
  std::mt19937_64 random(5);
  const std::vector<SumShort> ways = SumShortWays();
  for (std::uint64_t stride = 1; stride <= kMostShortRecord; ++stride) {
    for (const std::uint64_t records : {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 1000}) {
      Bytes bytes(records * stride);
      for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
      const RecordSum portable = ways.back()(View(bytes).data(), records, stride);
      for (const SumShort way : ways) EXPECT_EQ(way(View(bytes).data(), records, stride), portable) << stride;
    }
  }
}

// Folders of jobs that continue contain these sums, also on another machine. The expected values come from an AES
// written in Python for this test.
TEST(SumShortRecords, IsThreeRoundsOfAes) {
  const Bytes record{1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (const SumShort way : SumShortWays()) {
    EXPECT_EQ(way(View(record).data(), 1, 9), (RecordSum{0xf0dfc9ef90a56f35u, 0xeee9c335f3b34d51u, 1}));
    EXPECT_EQ(way(View(record).data(), 1, 8), (RecordSum{0x3b71f17b3907654cu, 0xe7c599c7699b1bf2u, 1}));
  }
}

TEST(FirstDisorder, FindsEveryPlace) {
  KeySpec spec;
  spec.fields = {{0, 8, KeyType::kFloat, false, true}};
  for (const RecordLayout& layout : {Layout(8), Layout(5), MakeFixedLayout(8, spec)}) {
    const Bytes sorted = StableSorted(MakeRecords(layout, 9000, Keys::kRandom, 1), layout);
    EXPECT_EQ(FirstDisorder(View(sorted), layout, false), kInOrder);
    for (std::size_t at = 1; at < 9000; at += 509) {
      Bytes broken = sorted;
      std::swap_ranges(broken.begin() + (at - 1) * layout.stride, broken.begin() + at * layout.stride,
                       broken.begin() + at * layout.stride);
      EXPECT_EQ(FirstDisorder(View(broken), layout, false), at * layout.stride);
    }
  }
}

TEST(OutputProof, LooksAtAllWhereverItsPartsMeet) {
  for (const std::uint64_t stride : {4, 8, 100, 70000}) {
    const RecordLayout layout = MakeFixedLayout(stride, [] {
      KeySpec spec;
      spec.fields = {{0, 4, KeyType::kUnsigned}};
      return spec;
    }());
    const std::size_t records = 300000 / stride + 3;
    const Bytes sorted = StableSorted(MakeRecords(layout, records, Keys::kRandom, 1), layout);
    const OutputProof proof(layout, false);
    EXPECT_EQ(proof.Look(View(sorted)).disorder, kInOrder);
    // Around each multiple of 32 KiB, and at the ends.
    for (std::size_t byte = 0; byte < sorted.size(); byte += 1 << 15) {
      for (std::size_t at = std::max<std::size_t>(byte / stride, 2) - 1; at < std::min(records, byte / stride + 2);
           ++at) {
        Bytes broken = sorted;
        std::swap_ranges(broken.begin() + (at - 1) * stride, broken.begin() + at * stride,
                         broken.begin() + at * stride);
        const OutputProof::Seen seen = proof.Look(View(broken));
        EXPECT_EQ(seen.disorder, FirstDisorder(View(broken), layout, false)) << stride << " record " << at;
        EXPECT_EQ(seen.sum, SumRecords(View(sorted), stride));
      }
    }
  }
}

class OutputProofTest : public ::testing::Test {
 protected:
  const RecordLayout layout_ = Layout(6);
  const Bytes records_ = StableSorted(MakeRecords(layout_, 500, Keys::kRandom, 2), layout_);

  /// Passes chunks of random sizes in random order, without chunk `lost` (-1: passes all chunks).
  void Hand(OutputProof& proof, const Bytes& records, int lost) {
    std::mt19937 random(4);
    std::vector<std::pair<std::size_t, std::size_t>> chunks;
    for (std::size_t at = 0; at < records.size();) {
      const std::size_t count = std::min(records.size() - at, 6 * (1 + random() % 40));
      chunks.emplace_back(at, count);
      at += count;
    }
    if (lost >= 0) chunks.erase(chunks.begin() + lost);
    std::shuffle(chunks.begin(), chunks.end(), random);
    for (const auto& [at, count] : chunks) proof.Add(at, View(records).subspan(at, count));
  }
};

TEST_F(OutputProofTest, AcceptsChunksInAnyOrder) {
  OutputProof proof(layout_, false);
  Hand(proof, records_, -1);
  proof.Check(SumRecords(View(records_), 6));
}

TEST_F(OutputProofTest, SeesALostChunk) {
  OutputProof proof(layout_, false);
  Hand(proof, records_, 3);
  EXPECT_THROW(proof.Check(SumRecords(View(records_), 6)), Error);
}

TEST_F(OutputProofTest, SeesAChangedRecord) {
  OutputProof proof(layout_, false);
  Hand(proof, records_, -1);
  Bytes other = records_;
  other[5] ^= 1;
  EXPECT_THROW(proof.Check(SumRecords(View(other), 6)), Error);
}

TEST_F(OutputProofTest, SeesDisorderAtABorderWhicheverSideComesFirst) {
  for (const bool left_first : {true, false}) {
    OutputProof proof(layout_, false);
    const auto left = View(records_).subspan(600, 600), right = View(records_).first(600);
    EXPECT_THROW(
        {
          proof.Add(left_first ? 0 : 600, left_first ? left : right);
          proof.Add(left_first ? 600 : 0, left_first ? right : left);
        },
        Error);
  }
}

TEST_F(OutputProofTest, CountsWhatWasDroppedOnPurpose) {
  OutputProof proof(layout_, true);
  proof.Add(0, View(records_).first(600));
  EXPECT_THROW(proof.Check(SumRecords(View(records_), 6)), Error);
  proof.AddDropped(SumRecords(View(records_).subspan(600), 6));
  proof.Check(SumRecords(View(records_), 6));
}

TEST_F(OutputProofTest, SeesValuesThatWereAddedWrongly) {
  const auto sums = [](const std::vector<std::string>& texts) {
    ColumnSums made(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      DecimalSum::Number number;
      EXPECT_EQ(DecimalSum::ReadNumber(texts[i], {}, number), DecimalSum::Read::kNumber);
      made[i].Add(number);
    }
    return made;
  };
  OutputProof proof(layout_, false);
  Hand(proof, records_, -1);
  proof.AddSummed(sums({"1.5", "2"}), sums({"0.5", "2.00"}));
  EXPECT_THROW(proof.Check(SumRecords(View(records_), 6)), Error);
  proof.AddSummed({}, sums({"1", "1e-30"}));
  EXPECT_THROW(proof.Check(SumRecords(View(records_), 6)), Error);
  proof.AddSummed(sums({"0", "1e-30"}), {});
  proof.Check(SumRecords(View(records_), 6));
}

TEST_F(OutputProofTest, TakesWhatWasSeenBeforeItsPlaceWasKnown) {
  OutputProof proof(layout_, false);
  const OutputProof::Seen back = proof.Look(View(records_).subspan(600));
  proof.Add(600, back);
  proof.Add(300, proof.Look(View(records_).subspan(300, 300)));  // the rest of the cut chunk is inspected again
  EXPECT_THROW(proof.Check(SumRecords(View(records_), 6)), Error);
  proof.Add(0, proof.Look(View(records_).first(300)));
  proof.Check(SumRecords(View(records_), 6));
}

TEST_F(OutputProofTest, GoesOnFromTheFrontOfAnother) {
  for (const std::size_t split : {0, 600, 606, 2994, 3000}) {
    OutputProof before(layout_, true);
    before.Add(0, View(records_).first(split));
    before.AddDropped({1, 2, 3});
    OutputProof proof(layout_, true);
    proof.GoOnFrom(before.front());
    EXPECT_EQ(proof.sum(), before.sum());
    proof.Add(split, View(records_).subspan(split));
    RecordSum all = SumRecords(View(records_), 6);
    all += {1, 2, 3};
    proof.Check(all);
    EXPECT_EQ(proof.front().bytes, records_.size());
    // Records that belong before the cut are refused.
    OutputProof other(layout_, true);
    other.GoOnFrom(before.front());
    if (split > 0) {
      EXPECT_THROW(other.Add(split, View(records_).first(6)), Error);
    }
  }
  OutputProof gap(layout_, false);
  gap.Add(600, View(records_).subspan(600));
  EXPECT_THROW(gap.front(), Error);
}

TEST_F(OutputProofTest, StrictRefusesEqualNeighbours) {
  const Bytes twice(12, 1);
  OutputProof inside(layout_, true);
  EXPECT_THROW(inside.Add(0, View(twice)), Error);
  OutputProof border(layout_, true);
  border.Add(0, View(twice).first(6));
  EXPECT_THROW(border.Add(6, View(twice).first(6)), Error);
}

TEST(SumRecords, CountsEmptyLinesAsItDoesAnyOthers) {
  const LineOrder order;
  const LineOrderView view = order.view();
  const RecordLayout layout = MakeLineLayout('\n', view);
  for (const std::size_t empty : {0u, 1u, 2u, 1000u}) {
    const std::string text = "a\n" + std::string(empty, '\n') + "bc\n";
    RecordSum expected;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at) + 1;
      PartSum part(layout);
      part.Add(std::as_bytes(std::span(text)).subspan(at, end - at));
      expected += part.End();
      at = end;
    }
    EXPECT_EQ(SumRecords(std::as_bytes(std::span(text)), layout), expected) << empty;
  }
}

}  // namespace
}  // namespace gpusort::testing

// labels: no_tsan
#include "runs/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/lines/line_order.hpp"
#include "records.hpp"
#include "sorted_runs.hpp"

namespace gpusort::testing {
namespace {

RecordLayout PairLayout() {
  KeySpec spec;
  spec.fields.push_back({0, 4, KeyType::kUnsigned});
  return MakeFixedLayout(12, spec);
}
const LineOrderView kRunLines{};
RecordLayout RunLineLayout() { return MakeLineLayout('\n', kRunLines); }
RecordLayout Layout(bool lines) { return lines ? RunLineLayout() : PairLayout(); }

/// Returns sorted records with groups of equal keys. Some lines are longer than one step of a search reads.
Bytes MakeSorted(bool lines, std::size_t count, std::uint64_t seed) {
  if (!lines) return StableSorted(MakeRecords(PairLayout(), count, Keys::kCommonPrefix, seed), PairLayout());
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  Bytes bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes.insert(bytes.end(), random() % 20 == 0 ? random() % 30000 : random() % 4,
                 static_cast<unsigned char>('a' + random() % 3));
    bytes.push_back('\n');
  }
  return StableSortedRecords(View(bytes), RunLineLayout());
}

/// Returns where records end, beginning with 0.
std::vector<std::uint64_t> Ends(RecordSpan bytes, const RecordLayout& layout) {
  std::vector<std::uint64_t> ends{0};
  for (const RecordSpan record : SplitRecords(bytes, layout)) ends.push_back(ends.back() + record.size());
  return ends;
}

TEST(FrontCounter, CountsAsOneWhoLooksAtEachRecord) {
  for (const bool lines : {false, true}) {
    const RecordLayout layout = Layout(lines);
    const Bytes bytes = MakeSorted(lines, 200, 5);
    const std::vector<RecordSpan> records = SplitRecords(View(bytes), layout);
    for (const bool unique : {false, true}) {
      for (std::uint64_t count = 0; count <= records.size() + 1; count += 1 + count / 4) {
        std::uint64_t front = 0, front_bytes = 0, keys = 0;
        for (; front < records.size(); ++front) {
          if (!unique || front == 0 || CompareRecords(records[front - 1], records[front], layout) != 0) ++keys;
          if (keys > count) break;
          front_bytes += records[front].size();
        }
        for (const std::size_t step : {std::size_t{1}, std::size_t{7}, records.size()}) {
          FrontCounter counter(count, unique, layout);
          std::uint64_t taken = 0;
          for (std::size_t i = 0; i < records.size(); i += step) {
            const std::size_t last = std::min(i + step, records.size()) - 1;
            const RecordSpan piece(records[i].data(), records[last].data() + records[last].size());
            taken += counter.Take(piece);
          }
          EXPECT_EQ(taken, front_bytes) << "lines " << lines << " unique " << unique << ", " << count << " by " << step;
          EXPECT_EQ(counter.records(), front);
          if (front < records.size()) {
            EXPECT_TRUE(counter.done());
          }
        }
        for (const bool on_device : {false, true}) {
          const auto all =
              TakeFront(std::make_unique<RecordsInMemory>(bytes, layout, on_device), count, unique, layout);
          EXPECT_EQ(all->bytes(), front_bytes);
          EXPECT_EQ(all->records(), front);
          EXPECT_EQ(all->on_device(), on_device);
        }
      }
    }
  }
}

TEST(RunView, FindsBordersAsOneWhoLooksAtEachRecord) {
  for (const bool lines : {false, true}) {
    const RecordLayout layout = Layout(lines);
    const Bytes bytes = MakeSorted(lines, 300, 6);
    const std::vector<std::uint64_t> ends = Ends(View(bytes), layout);
    for (const bool on_device : {false, true}) {
      const RecordsInMemory records(bytes, layout, on_device);
      const RunView view(records, layout);
      std::mt19937_64 random(1);
      std::vector<std::byte> copy;
      for (int i = 0; i < 2000; ++i) {
        const std::size_t first = random() % (ends.size() - 1);
        const std::uint64_t begin = ends[first];
        EXPECT_EQ(view.RecordEnd(begin), ends[first + 1]);
        const RecordSpan record = view.RecordAt(begin, copy);
        EXPECT_EQ(Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                        bytes.begin() + static_cast<std::ptrdiff_t>(ends[first + 1])),
                  [&] {
                    Bytes seen;
                    Append(seen, record);
                    return seen;
                  }());
        const std::uint64_t end = begin + random() % (std::min<std::uint64_t>(bytes.size() - begin, 70000) + 1);
        const auto behind = std::upper_bound(ends.begin(), ends.end(), end);
        const std::uint64_t whole = std::max(begin, *std::prev(behind));
        EXPECT_EQ(view.WholeEnd(begin, end), whole);
        const RunView::Last last = view.LastBefore(begin, end, copy);
        EXPECT_EQ(last.end, whole);
        const std::uint64_t last_size = whole == begin ? 0 : whole - *std::prev(behind, 2);
        ASSERT_EQ(last.record.size(), last_size) << begin << " " << end;
        if (last_size > 0) {
          EXPECT_EQ(std::memcmp(last.record.data(), &bytes[whole - last_size], last_size), 0);
        }
        EXPECT_EQ(view.BlockEnd(begin, end - begin), whole > begin ? whole : ends[first + 1]);
      }
    }
  }
}

TEST(CutBlocks, FillsBlocksWithWholeRecords) {
  for (const bool lines : {false, true}) {
    const RecordLayout layout = Layout(lines);
    const Bytes bytes = MakeSorted(lines, 400, 7);
    const std::vector<std::uint64_t> ends = Ends(View(bytes), layout);
    const RecordsInMemory records(bytes, layout);
    for (const std::uint64_t payload : {12, 120, 5000, 8128, 1 << 20}) {
      const auto blocks = CutBlocks(records, payload, layout);
      std::uint64_t at = 0;
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const RunBlock block = blocks[i];
        EXPECT_EQ(block.begin, at);
        const auto first = std::lower_bound(ends.begin(), ends.end(), at);
        at += block.bytes;
        const auto last = std::lower_bound(ends.begin(), ends.end(), at);
        ASSERT_TRUE(last != ends.end() && *last == at) << "a block ends inside a record";
        if (block.bytes > payload) {
          EXPECT_EQ(last - first, 1) << "a longer record is a block by itself";
        }
        if (std::next(last) != ends.end()) {
          EXPECT_GT(*std::next(last) - block.begin, payload) << "one more fits";
        }
      }
      EXPECT_EQ(at, bytes.size());
    }
  }
}

TEST(InputBlocks, LieWhereTheirRecordsAre) {
  for (const bool lines : {false, true}) {
    const RecordLayout layout = Layout(lines);
    const Bytes bytes = MakeSorted(lines, 400, 8);
    const std::vector<std::uint64_t> ends = Ends(View(bytes), layout);
    const RecordsInMemory records(bytes, layout);
    // The batch was read from three places.
    const std::uint64_t first = ends[100], second = ends[101];
    const std::vector<InputRange> ranges = {{3, 480, first}, {4, 0, second - first}, {7, 24, bytes.size() - second}};
    for (const std::uint64_t payload : {12, 5000, 1 << 20}) {
      const auto blocks = InputBlocks(ranges, records, payload, layout);
      std::uint64_t at = 0;
      std::vector<std::uint64_t> covered(ranges.size());
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const RunBlock block = blocks[i];
        EXPECT_EQ(block.begin, at);
        at += block.bytes;
        ASSERT_TRUE(std::binary_search(ends.begin(), ends.end(), at)) << "a block ends inside a record";
        const auto last = std::lower_bound(ends.begin(), ends.end(), at);
        EXPECT_TRUE(block.forecast);
        EXPECT_EQ(block.last, MakeForecast(View(bytes).subspan(*std::prev(last), at - *std::prev(last)), layout));
        const InputRange place = std::get<InputRange>(block.place);
        EXPECT_EQ(place.bytes, block.bytes);
        const std::size_t range = place.input == 3 ? 0 : place.input == 4 ? 1 : 2;
        EXPECT_EQ(place.offset, ranges[range].offset + covered[range]);
        covered[range] += block.bytes;
      }
      for (std::size_t r = 0; r < ranges.size(); ++r) EXPECT_EQ(covered[r], ranges[r].bytes);
    }
  }
}

}  // namespace
}  // namespace gpusort::testing

// Tests lines on a CUDA lane against std::stable_sort by CompareLines: every order that a device supports, lines with
// long common prefixes, NULs that encoded keys do not show, batches and merges.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/error.hpp"
#include "kernels/lines/line_order.hpp"
#include "kernels/records/record.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kSlotBytes = std::uint64_t{4} << 20;

class OneBlock : public BatchSource {
 public:
  explicit OneBlock(const std::string& text) : text_(text) {}
  std::unique_ptr<InputBlock> Next() override {
    if (std::exchange(given_, true)) return nullptr;
    return std::make_unique<Block>(text_);
  }

 private:
  class Block : public InputBlock {
   public:
    explicit Block(const std::string& text) : text_(text) {}
    std::span<const std::byte> bytes() const override { return std::as_bytes(std::span(text_)); }

   private:
    const std::string& text_;
  };
  const std::string& text_;
  bool given_ = false;
};

class CudaLines : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      backend_ = OpenCudaBackend(0);
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  static std::vector<std::string> Lines(int pattern, std::size_t count, std::mt19937_64& random) {
    const std::vector<std::string> words = {"a",  "b",   "A",    " ",  "\t",  "10", "9", "-3",  ".5",
                                            "1K", "jan", "Dec.", "v1", "x:y", "~",  "_", "\xff"};
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < count; ++i) {
      std::string line = pattern == 1 ? std::string(60, 'p') : "";
      if (pattern == 2) {
        line = std::string(random() % 3 * 40, 'q') + std::to_string(random() % 20) + std::string(100, 'r');
      } else {
        for (std::uint64_t w = random() % 12; w > 0; --w) {
          line += pattern == 3 && random() % 3 == 0 ? std::string(random() % 3, random() % 2)
                                                    : words[random() % words.size()];
        }
      }
      lines.push_back(line);
    }
    return lines;
  }

  static std::string Join(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + '\n';
    return text;
  }

  static std::vector<std::string> Sorted(std::vector<std::string> lines, const LineOrderView& view) {
    std::stable_sort(lines.begin(), lines.end(), [&](const std::string& a, const std::string& b) {
      return CompareLines(reinterpret_cast<const Byte*>(a.data()), a.size(), reinterpret_cast<const Byte*>(b.data()),
                          b.size(), view) < 0;
    });
    return lines;
  }

  /// Merges the runs, one piece for each, and returns the result.
  static std::string Merged(Lane& lane, const std::vector<std::string>& runs) {
    std::vector<RunPiece> pieces;
    std::size_t size = 0;
    for (const std::string& run : runs) {
      const auto bytes = std::as_bytes(std::span(run));
      pieces.push_back({bytes.data(), bytes.size(), static_cast<std::uint32_t>(pieces.size())});
      size += bytes.size();
    }
    std::string result(size, '?');
    lane.Merge(pieces, reinterpret_cast<std::byte*>(result.data()));
    return result;
  }

  static std::vector<LineOrder> Orders() {
    std::vector<LineOrder> orders(1);
    orders.emplace_back().last_resort_reverse = true;
    for (const LineOrdering ordering : {LineOrdering::kBytes, LineOrdering::kNumeric, LineOrdering::kHuman,
                                        LineOrdering::kMonth, LineOrdering::kVersion, LineOrdering::kRandom}) {
      for (const bool stable : {false, true}) {
        LineOrder order;
        LineKey key;
        key.ordering = ordering;
        key.begin_field = 1;
        key.reverse = stable;
        order.keys.push_back(key);
        key.begin_field = 0;
        key.end_field = 0;
        key.reverse = false;
        key.fold_case = key.dictionary_order = ordering == LineOrdering::kBytes;
        if (!stable) order.keys.push_back(key);
        order.last_resort = !stable;
        orders.push_back(order);
      }
    }
    // Keys that are compared unchanged, followed by other keys.
    for (const bool stable : {false, true}) {
      LineOrder order;
      order.separator = stable ? ':' : -1;
      order.last_resort = !stable;
      for (const std::uint64_t field : {1, 0, 2}) {
        LineKey key;
        key.begin_field = key.end_field = field;
        key.reverse = field == 0;
        order.keys.push_back(key);
      }
      orders.push_back(order);
    }
    return orders;
  }

  std::unique_ptr<Lane> OpenLane(const RecordLayout& layout) {
    ArenaShape shape;
    shape.layout = layout;
    shape.slot_bytes = kSlotBytes;
    shape.slots = 6;
    backend_->MakeArena(shape, memory_);
    return backend_->OpenLane();
  }

  HostMemory memory_{std::uint64_t{1} << 30};
  std::unique_ptr<Backend> backend_;
};

TEST_F(CudaLines, AreSortedAsByAStableSort) {
  std::mt19937_64 random(1);
  for (const LineOrder& order : Orders()) {
    const LineOrderView view = order.view();
    const std::unique_ptr<Lane> lane = OpenLane(MakeLineLayout('\n', view));
    for (int pattern = 0; pattern < 4; ++pattern) {
      for (const std::size_t count : {1, 2, 300, 20000}) {
        const std::vector<std::string> lines = Lines(pattern, count, random);
        const std::string text = Join(lines), expected = Join(Sorted(lines, view));
        OneBlock source(text);
        const std::unique_ptr<SortedRecords> sorted = lane->Sort(source);
        std::string result(text.size(), '?');
        sorted->Read(0, std::as_writable_bytes(std::span(result)));
        ASSERT_EQ(sorted->records(), count);
        ASSERT_TRUE(result == expected) << "pattern " << pattern << ", " << count << " lines";
        ASSERT_EQ(sorted->was_sorted(), text == expected);
      }
    }
  }
}

TEST_F(CudaLines, AreMergedStably) {
  std::mt19937_64 random(2);
  for (const LineOrder& order : Orders()) {
    const LineOrderView view = order.view();
    const std::unique_ptr<Lane> lane = OpenLane(MakeLineLayout('\n', view));
    for (int pattern = 0; pattern < 4; ++pattern) {
      std::vector<std::string> all;
      std::vector<std::string> runs;
      for (std::size_t r = 0; r < 5; ++r) {
        const std::vector<std::string> run = Sorted(Lines(pattern, r == 2 ? 0 : 3000, random), view);
        all.insert(all.end(), run.begin(), run.end());
        runs.push_back(Join(run));
      }
      ASSERT_TRUE(Merged(*lane, runs) == Join(Sorted(all, view))) << "pattern " << pattern;
    }
  }
}

TEST_F(CudaLines, OfManyRunsOfFewLinesThatAgreeForLongAreMerged) {
  std::mt19937_64 random(5);
  for (const LineOrder& order : Orders()) {
    const LineOrderView view = order.view();
    const std::unique_ptr<Lane> lane = OpenLane(MakeLineLayout('\n', view));
    // Fields after the first 64 and 128 bytes, and lines that are all equal.
    for (const std::uint64_t differs : {0, 1, 3}) {
      std::vector<std::string> all, runs;
      for (std::size_t r = 0; r < 300; ++r) {
        std::vector<std::string> run(1 + random() % 3);
        for (std::string& line : run) {
          line = std::string(130, 'f') + (random() % 2 == 0 ? " :" : "\t: ") + std::string(70, 'g') + ' ' +
                 std::to_string(random() % (10 * differs + 1)) + " :" + std::string(differs * 40, 'h');
        }
        run = Sorted(run, view);
        all.insert(all.end(), run.begin(), run.end());
        runs.push_back(Join(run));
      }
      ASSERT_TRUE(Merged(*lane, runs) == Join(Sorted(all, view))) << differs;
    }
  }
}

TEST_F(CudaLines, MoreThanALaneIndexesAreMergedInParts) {
  std::mt19937_64 random(4);
  const LineOrder order;
  const LineOrderView view = order.view();
  const std::unique_ptr<Lane> lane = OpenLane(MakeLineLayout('\n', view));
  for (const unsigned letters : {1, 3, 26}) {
    std::vector<std::string> runs(4);
    std::string all;
    for (std::string& run : runs) {
      // Lines have two bytes, so there are twice as many lines as fit the memory of a lane.
      std::vector<std::string> lines(kSlotBytes / 2 / runs.size());
      for (std::string& line : lines) line = std::string(1, static_cast<char>('a' + random() % letters));
      run = Join(Sorted(lines, order.view()));
      all += run;
    }
    std::vector<RunPiece> pieces;
    for (const std::string& run : runs) {
      const auto bytes = std::as_bytes(std::span(run));
      // Two pieces for each run, as at the border of blocks.
      const std::uint64_t half = bytes.size() / 4 * 2;
      const auto number = static_cast<std::uint32_t>(pieces.size() / 2);
      pieces.push_back({bytes.data(), half, number});
      pieces.push_back({bytes.data() + half, bytes.size() - half, number});
    }
    std::string result(all.size(), '?');
    lane->Merge(pieces, reinterpret_cast<std::byte*>(result.data()));
    std::string expected;
    for (char c = 'a'; c <= 'z'; ++c) {
      for (auto n = std::count(all.begin(), all.end(), c); n > 0; --n) expected += std::string(1, c) + '\n';
    }
    ASSERT_TRUE(result == expected) << letters << " letters";
  }
}

TEST_F(CudaLines, AreCountedInFrontOfACut) {
  std::mt19937_64 random(3);
  LineOrder order;
  order.keys.emplace_back().begin_field = 1;  // words contain blanks; if the keys are equal, the whole line decides
  const LineOrderView view = order.view();
  const std::unique_ptr<Lane> lane = OpenLane(MakeLineLayout('\n', view));
  const std::vector<std::string> lines = Sorted(Lines(0, 2000, random), view);
  const std::string text = Join(lines);
  OneBlock source(text);
  const std::unique_ptr<SortedRecords> sorted = lane->Sort(source);
  for (const std::string& cut : {lines.front(), lines[777], lines.back(), std::string("zzz"), std::string(9001, 'm')}) {
    for (const bool inclusive : {false, true}) {
      std::uint64_t expected = 0;
      for (const std::string& line : lines) {
        const int compared = CompareLines(reinterpret_cast<const Byte*>(line.data()), line.size(),
                                          reinterpret_cast<const Byte*>(cut.data()), cut.size(), view);
        expected += compared < 0 || (inclusive && compared == 0) ? line.size() + 1 : 0;
      }
      const std::string record = cut + '\n';
      const SearchRange range{sorted->data(), text.size(), inclusive};
      EXPECT_EQ(backend_->BytesBefore({&range, 1}, std::as_bytes(std::span(record))).at(0), expected) << cut;
    }
  }
}

}  // namespace
}  // namespace gpusort

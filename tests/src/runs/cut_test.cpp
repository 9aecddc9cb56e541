// labels: no_tsan
#include "runs/cut.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/lines/line_order.hpp"
#include "line_files.hpp"
#include "records.hpp"
#include "sorted_runs.hpp"

namespace gpusort::testing {
namespace {

/// Records of a key, and a number that distinguishes records with equal keys.
constexpr std::uint64_t kStride = 8;
RecordLayout Numbers() {
  KeySpec spec;
  spec.fields.push_back({0, 4, KeyType::kUnsigned});
  return MakeFixedLayout(kStride, spec);
}

enum class Place { kMemory, kDevice, kBlocks };

/// Sorted runs that are merged window by window.
class Merging {
 public:
  Merging(const RecordLayout& layout, std::vector<Bytes> runs, const std::vector<Place>& places,
          std::size_t block_records)
      : layout_(layout), backend_(OpenCpuBackend(1)), bytes_(std::move(runs)), runs_(bytes_.size()) {
    for (const Bytes& run : bytes_) Append(input_, View(run));
    backend_->MakeArena({layout, std::max<std::uint64_t>(LeastRecordBytes(layout), 64), 1, 1}, memory_);
    cursors_.resize(runs_.size());
    unread_.resize(runs_.size());
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      runs_[i].bytes = bytes_[i].size();
      cursors_[i].run = &runs_[i];
      if (places[i] != Place::kBlocks) {
        runs_[i].records = std::make_shared<RecordsInMemory>(bytes_[i], layout, places[i] == Place::kDevice);
        cursors_[i].loaded = bytes_[i].size();
        continue;
      }
      RecordSpan block;
      const std::vector<RecordSpan> records = SplitRecords(View(bytes_[i]), layout);
      for (std::size_t r = 0; r < records.size(); ++r) {
        block = r % block_records == 0 ? records[r] : RecordSpan(block.data(), block.size() + records[r].size());
        if ((r + 1) % block_records == 0 || r + 1 == records.size()) unread_[i].push_back(block);
      }
    }
  }

  /// Loads blocks until every run has ahead() blocks, at least one, or all its blocks.
  void Load(const std::function<std::size_t()>& ahead) {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      for (std::size_t want = std::max<std::size_t>(ahead(), 1); cursors_[i].blocks.size() < want;) {
        if (unread_[i].empty()) break;
        auto block = std::make_shared<LoadedBlock>();
        block->begin = cursors_[i].loaded;
        block->bytes = unread_[i].front();
        cursors_[i].loaded += block->bytes.size();
        cursors_[i].blocks.push_back(std::move(block));
        unread_[i].pop_front();
      }
    }
  }
  void LoadAll() {
    Load([] { return ~std::size_t{0}; });
  }

  std::uint64_t left() const {
    std::uint64_t bytes = 0;
    for (const Cursor& cursor : cursors_) bytes += cursor.run->bytes - cursor.taken;
    return bytes;
  }

  /// Cuts the next window and merges it in the simplest way. Returns its bytes.
  std::uint64_t MergeWindow(std::uint64_t limit) {
    const std::uint64_t before = left();
    const std::uint64_t cut = cutter_.Cut(limit);
    const WindowPieces window = cutter_.Take();
    std::uint64_t bytes = 0;
    std::uint32_t run = 0;
    Bytes records;
    for (const RunPiece& piece : window.pieces) {
      EXPECT_GE(piece.run, run) << "pieces come in the order of runs";
      run = piece.run;
      EXPECT_EQ(piece.on_device(), runs_[run].on_device());
      EXPECT_GT(piece.bytes, 0u);
      Append(records, {piece.data, piece.bytes});
      bytes += piece.bytes;
    }
    EXPECT_EQ(bytes, cut);
    EXPECT_EQ(before - left(), cut);
    EXPECT_GT(cut, 0u);
    EXPECT_LE(cut, limit);
    Append(output_, View(StableSortedRecords(View(records), layout_)));
    return cut;
  }

  /// Returns true if the output is the stable merge of the runs. All records of a window then come before all remaining
  /// records, and equal keys stay in the order of the runs.
  bool Right() const { return output_ == StableSortedRecords(View(input_), layout_); }

 private:
  const RecordLayout layout_;
  HostMemory memory_{std::uint64_t{1} << 30};
  const std::unique_ptr<Backend> backend_;
  const std::vector<Bytes> bytes_;
  std::vector<Run> runs_;
  std::vector<Cursor> cursors_;
  std::vector<std::deque<RecordSpan>> unread_;
  Bytes input_, output_;
  Cutter cutter_{layout_, *backend_, cursors_};
};

/// Returns a sorted run of these keys. The part of a record outside the key counts on from `number`.
Bytes NumberRun(std::vector<std::uint32_t> keys, std::uint32_t& number) {
  std::sort(keys.begin(), keys.end());
  Bytes run(keys.size() * kStride);
  for (std::size_t i = 0; i < keys.size(); ++i, ++number) {
    std::memcpy(&run[i * kStride], &keys[i], 4);
    std::memcpy(&run[i * kStride + 4], &number, 4);
  }
  return run;
}

struct CutShape {
  const char* name;
  std::size_t runs, records;  ///< the number of runs, and of records in each
  std::function<std::uint32_t(std::size_t run, std::size_t record, std::mt19937& random)> key;
};

std::vector<Bytes> MakeRuns(const CutShape& shape) {
  std::mt19937 random(1);
  std::vector<Bytes> runs;
  std::uint32_t number = 0;
  for (std::size_t r = 0; r < shape.runs; ++r) {
    std::vector<std::uint32_t> keys(shape.records);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = shape.key(r, i, random);
    runs.push_back(NumberRun(std::move(keys), number));
    runs.emplace_back();  // empty runs do not hinder the others
  }
  return runs;
}

using Keys32 = std::uint32_t;
const CutShape kShapes[] = {
    {"random", 8, 5000, [](auto, auto, auto& random) { return static_cast<Keys32>(random()); }},
    {"all equal", 8, 5000, [](auto, auto, auto&) { return 7u; }},
    {"one huge group", 8, 5000,
     [](auto run, auto i, auto&) { return i < 4900 ? 500u : static_cast<Keys32>(run * 97 + i % 7 * 250); }},
    {"two keys", 8, 5000, [](auto, auto i, auto&) { return static_cast<Keys32>(i % 2); }},
    {"disjoint, ascending", 20, 2000, [](auto run, auto i, auto&) { return static_cast<Keys32>(run * 2000 + i); }},
    {"disjoint, descending", 20, 2000,
     [](auto run, auto i, auto&) { return static_cast<Keys32>((20 - run) * 2000 + i); }},
    {"many runs", 300, 130, [](auto, auto, auto& random) { return static_cast<Keys32>(random()); }},
    {"one run", 1, 40000, [](auto, auto i, auto&) { return static_cast<Keys32>(i); }},
    {"long and short runs with the same keys", 8, 5000,
     [](auto run, auto i, auto&) { return static_cast<Keys32>(run < 7 ? i : i / 50); }},
};

TEST(Cutter, CutsFullWindowsOfRunsOfAnyShape) {
  constexpr std::uint64_t kLimit = 4000 * kStride;
  for (const CutShape& shape : kShapes) {
    for (const Place place : {Place::kMemory, Place::kDevice, Place::kBlocks}) {
      std::vector<Bytes> runs = MakeRuns(shape);
      const std::vector<Place> places(runs.size(), place);
      Merging merging(Numbers(), std::move(runs), places, 100);
      merging.LoadAll();
      while (merging.left() > 0) {
        const std::uint64_t left = merging.left();
        EXPECT_GE(merging.MergeWindow(kLimit), std::min(left, kLimit / 4 * 3))
            << shape.name << ", place " << static_cast<int>(place) << ", " << left << " bytes left";
        if (HasFailure()) return;
      }
      EXPECT_TRUE(merging.Right()) << shape.name << ", place " << static_cast<int>(place);
    }
  }
}

TEST(Cutter, TakesWhatIsLoadedAndNoMore) {
  const CutShape& shape = kShapes[0];
  std::vector<Bytes> runs = MakeRuns(shape);
  const std::vector<Place> places(runs.size(), Place::kBlocks);
  Merging merging(Numbers(), std::move(runs), places, 100);
  while (merging.left() > 0) {
    // With one block for each run, every window empties at least one run, so that the next block can be read to its
    // buffer.
    merging.Load([] { return 1; });
    ASSERT_LE(merging.MergeWindow(1 << 20), shape.runs * 100 * kStride);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_TRUE(merging.Right());
}

TEST(Cutter, GoesOnByRecordsWhereTheWindowHasFewerThanThereAreRuns) {
  std::vector<Bytes> runs = MakeRuns(kShapes[6]);
  const std::vector<Place> places(runs.size(), Place::kMemory);
  Merging merging(Numbers(), std::move(runs), places, 1);
  for (int i = 0; i < 500; ++i) ASSERT_LE(merging.MergeWindow(3 * kStride), 3 * kStride);
  while (merging.left() > 0) merging.MergeWindow(1000 * kStride);
  EXPECT_TRUE(merging.Right());
}

TEST(Cutter, PassesALineThatIsLongerThanTheShareOfItsRunAtItsPlace) {
  const LineOrder order;
  const LineOrderView view = order.view();
  const RecordLayout layout = MakeLineLayout('\n', view);
  for (const char first : {'a', 'm', 'z'}) {
    std::vector<Bytes> runs(9);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      for (char c = 'a'; c <= 'z'; ++c) {
        for (int i = 0; i < 20; ++i) runs[r].insert(runs[r].end(), {static_cast<unsigned char>(c), '\n'});
        if (c != first || r % 3 != 1) continue;
        runs[r].insert(runs[r].end(), 3000, static_cast<unsigned char>(c));
        runs[r].push_back('\n');
      }
    }
    for (const Place place : {Place::kMemory, Place::kDevice, Place::kBlocks}) {
      Merging merging(layout, runs, std::vector<Place>(runs.size(), place), 7);
      std::uint64_t windows = 0;
      for (merging.LoadAll(); merging.left() > 0; ++windows) {
        merging.MergeWindow(3200);  // a run's share is a ninth of this
        ASSERT_FALSE(HasFailure());
      }
      EXPECT_TRUE(merging.Right()) << first << ", place " << static_cast<int>(place);
      // The runs have 9360 bytes of short lines, and three long lines that nearly fill a window each.
      EXPECT_LE(windows, 9u) << first << ", place " << static_cast<int>(place);
    }
  }
}

TEST(Cutter, CutsFullWindowsOfLinesByOneSearchEach) {
  const LineOrder order;
  const LineOrderView view = order.view();
  const RecordLayout layout = MakeLineLayout('\n', view);
  std::mt19937 random(3);
  for (const bool in_turn : {false, true}) {  // the lines of a key are in one run after the other, or in all runs
    std::vector<Bytes> runs(5);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      std::vector<std::string> lines;
      for (int i = 0; i < 20000; ++i) {
        const std::string key = std::to_string(in_turn ? i / 2000 : random() % 1000000) + " ";
        lines.push_back(key + std::to_string(r) + " " + std::to_string(random()) + std::string(random() % 20, 'x'));
      }
      std::sort(lines.begin(), lines.end());
      runs[r] = JoinLines(lines, '\n');
    }
    for (const Place place : {Place::kMemory, Place::kDevice}) {
      Merging merging(layout, runs, std::vector<Place>(runs.size(), place), 7);
      constexpr std::uint64_t kLimit = 200000;
      while (merging.left() > 0) {
        const std::uint64_t left = merging.left();
        EXPECT_GE(merging.MergeWindow(kLimit), std::min(left, kLimit / 4 * 3)) << in_turn;
        if (HasFailure()) return;
      }
      EXPECT_TRUE(merging.Right()) << in_turn;
    }
  }
}

/// Checks runs with few keys or many, long, short and empty ones, in blocks of any size, loaded in any order.
void CheckAnyRuns(const RecordLayout& layout, std::vector<Bytes> runs, std::uint64_t longest) {
  std::vector<Place> places(runs.size());
  for (Place& place : places) place = *rc::gen::element(Place::kMemory, Place::kDevice, Place::kBlocks, Place::kBlocks);
  const std::uint64_t limit = longest + *rc::gen::inRange<std::uint64_t>(0, 60) * 8;
  Merging merging(layout, std::move(runs), places, *rc::gen::inRange<std::size_t>(1, 20));
  std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
  while (merging.left() > 0) {
    merging.Load([&] { return random() % 4; });
    merging.MergeWindow(limit);
    RC_ASSERT_FALSE(::testing::Test::HasFailure());
  }
  RC_ASSERT(merging.Right());
}

RC_GTEST_PROP(Cutter, CutsAnyNumbersAsAStableSortDoes, ()) {
  std::vector<Bytes> runs(*rc::gen::inRange<std::size_t>(1, 20));
  const auto keys = *rc::gen::element<std::uint32_t>(1, 3, 40, 1u << 31);
  std::uint32_t number = 0;
  for (Bytes& run : runs) {
    run = NumberRun(*rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, keys)), number);
  }
  CheckAnyRuns(Numbers(), std::move(runs), kStride);
}

RC_GTEST_PROP(Cutter, CutsAnyLinesAsAStableSortDoes, ()) {
  // The order is by the first byte alone, so that the later bytes show the order of equal lines.
  LineOrder order;
  order.keys.emplace_back();
  order.keys.back().end_field = 0;
  order.keys.back().end_char = 1;
  order.last_resort = false;
  const LineOrderView view = order.view();
  const RecordLayout layout = MakeLineLayout('\n', view);
  std::vector<Bytes> runs(*rc::gen::inRange<std::size_t>(1, 12));
  std::uint64_t longest = 1, number = 0;
  for (Bytes& run : runs) {
    const auto lines = *rc::gen::container<std::vector<std::pair<char, std::size_t>>>(
        rc::gen::pair(rc::gen::inRange('a', 'f'),
                      rc::gen::weightedOneOf<std::size_t>(
                          {{9, rc::gen::inRange<std::size_t>(0, 12)}, {1, rc::gen::inRange<std::size_t>(100, 400)}})));
    Bytes unsorted;
    for (const auto& [key, length] : lines) {
      const std::string line = key + std::to_string(number++) + std::string(length, '.') + '\n';
      longest = std::max<std::uint64_t>(longest, line.size());
      unsorted.insert(unsorted.end(), line.begin(), line.end());
    }
    run = StableSortedRecords(View(unsorted), layout);
  }
  CheckAnyRuns(layout, std::move(runs), longest);
}

}  // namespace
}  // namespace gpusort::testing

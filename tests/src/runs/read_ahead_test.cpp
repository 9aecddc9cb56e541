#include "runs/read_ahead.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/lines/line_order.hpp"
#include "records.hpp"
#include "sorted_runs.hpp"
#include "test_job.hpp"

namespace gpusort::testing {
namespace {

RecordLayout Pairs() {
  KeySpec spec;
  spec.fields.push_back({0, 4, KeyType::kUnsigned});
  return MakeFixedLayout(16, spec);
}

/// Merges runs as MergeRuns does, in the simplest way and on this thread.
struct Merge {
  Merge(TestJob& on, std::vector<gpusort::Run>& runs) : on_(on), cursors_(runs.size()), pipeline_(on.cancel) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      cursors_[i].run = &runs[i];
      cursors_[i].loaded = runs[i].records ? runs[i].bytes : 0;
      left_ += runs[i].bytes;
    }
  }

  /// Merges in windows of at most `limit` bytes, until `enough` bytes are merged. Throws the errors of a merge.
  Bytes Read(std::uint64_t limit, bool free_as_read, bool verify_order = false,
             std::uint64_t enough = ~std::uint64_t{0}) {
    const std::unique_ptr<Backend> backend = OpenCpuBackend(1);
    Bytes output;
    ReadAhead read_ahead(on_.job, pipeline_, cursors_, verify_order ? RunOrder::kVerified : RunOrder::kTrusted,
                         free_as_read ? SpillSpace::kFreedAsRead : SpillSpace::kKept);
    const Pipeline::Guard guard(pipeline_);
    pipeline_.StartRest();
    Cutter cutter(on_.spec.order.layout, *backend, cursors_);
    while (left_ > 0 && output.size() < enough) {
      WindowPieces window;
      try {
        std::unique_lock lock(read_ahead.mutex());
        read_ahead.WaitForWindow(lock);
        const std::uint64_t bytes = cutter.Cut(limit);
        EXPECT_LE(bytes, limit);
        left_ -= bytes;
        window = cutter.Take();
      } catch (const Error&) {
        pipeline_.Join();  // throws the cause
        throw;
      }
      Bytes records;
      for (const RunPiece& piece : window.pieces) Append(records, {piece.data, piece.bytes});
      Append(output, View(StableSortedRecords(View(records), on_.spec.order.layout)));
    }
    if (left_ > 0) read_ahead.Stop();
    pipeline_.Join();
    read_ahead.FreeUnread();
    return output;
  }

 private:
  TestJob& on_;
  std::vector<Cursor> cursors_;
  Pipeline pipeline_;
  std::uint64_t left_ = 0;
};

enum class RunShape { kRandom, kAllEqual, kDisjoint, kDisjointBackwards, kUneven, kWithRunsInMemory };
constexpr RunShape kRunShapes[] = {RunShape::kRandom,   RunShape::kAllEqual,
                                   RunShape::kDisjoint, RunShape::kDisjointBackwards,
                                   RunShape::kUneven,   RunShape::kWithRunsInMemory};

/// Runs in the spill, and the result of merging them.
struct Spilled {
  std::vector<gpusort::Run> runs;
  Bytes sorted;
};
Spilled MakeSpilled(TestJob& on, RunShape shape, std::size_t count) {
  const RecordLayout& layout = on.spec.order.layout;
  const bool disjoint = shape == RunShape::kDisjoint || shape == RunShape::kDisjointBackwards;
  Spilled made;
  Bytes input;
  for (std::size_t r = 0; r < count; ++r) {
    const std::size_t records = shape == RunShape::kUneven ? r % 3 * 2500 : 2500;  // 508 records fill a block
    Bytes run = StableSorted(
        MakeRecords(layout, records, shape == RunShape::kAllEqual ? Keys::kAllEqual : Keys::kRandom, r + 1), layout);
    for (std::size_t i = 0; disjoint && i < records; ++i) {
      run[i * layout.stride + 3] = static_cast<unsigned char>(shape == RunShape::kDisjoint ? r : count - r);
    }
    if (disjoint) run = StableSorted(run, layout);
    if (shape == RunShape::kWithRunsInMemory && r % 2 == 0) {
      made.runs.emplace_back();
      made.runs.back().bytes = run.size();
      made.runs.back().records = std::make_shared<RecordsInMemory>(run, layout);
    } else {
      made.runs.push_back(SpillRun(on, View(run)));
    }
    Append(input, View(run));
  }
  made.sorted = StableSorted(input, layout);
  return made;
}

/// Delays each read by a different time, so that blocks do not arrive in the order of the requests.
class UnevenReads : public SystemCalls {
 public:
  ssize_t Read(int fd, std::byte* data, std::size_t bytes, std::uint64_t offset) override {
    std::this_thread::sleep_for(std::chrono::microseconds(offset / TestJob::kBlockBytes * 7919 % 5 * 100));
    return SystemCalls::Read(fd, data, bytes, offset);
  }
};

TEST(ReadAhead, LoadsWhatTheCutNeedsHoweverBlocksArrive) {
  for (const RunShape shape : kRunShapes) {
    TestJob on(Pairs());
    FileSystem uneven(std::make_shared<UnevenReads>());
    RunStore store(on.spec, uneven, on.memory, on.cancel, {on.folder.path()}, {});
    store.Open(on.job.plan, 1);
    on.job.store = &store;
    Spilled made = MakeSpilled(on, shape, 6);
    EXPECT_EQ(Merge(on, made.runs).Read(20000, true), made.sorted) << "shape " << static_cast<int>(shape);
    EXPECT_EQ(store.bytes_in_use(), 0u);
  }
}

TEST(ReadAhead, DoesNotStarveWithAsFewBuffersAsMayBe) {
  for (const RunShape shape : kRunShapes) {
    for (const std::uint64_t limit : {16, 1000, 8128, 100000}) {
      if (limit == 16 && shape != RunShape::kRandom && shape != RunShape::kDisjoint)
        continue;  // windows of one record take long
      TestJob on(Pairs());
      on.job.plan.merge_blocks = 0;
      Spilled made = MakeSpilled(on, shape, limit == 16 ? 3 : 9);
      const std::uint64_t before = on.memory.used();
      EXPECT_TRUE(Merge(on, made.runs).Read(limit, true) == made.sorted)
          << "shape " << static_cast<int>(shape) << ", windows of " << limit;
      EXPECT_EQ(on.memory.used(), before);
    }
  }
}

TEST(ReadAhead, ReadsLinesThatAreLongerThanABlock) {
  const LineOrderView view;
  const RecordLayout layout = MakeLineLayout('\n', view);
  TestJob on(layout);
  on.job.plan.merge_blocks = 0;
  std::vector<gpusort::Run> runs;
  Bytes input;
  for (std::size_t r = 0; r < 5; ++r) {
    Bytes lines;
    for (std::size_t i = 0; i < 300; ++i) {
      lines.push_back(static_cast<unsigned char>('a' + (i * 31 + r) % 26));
      lines.insert(lines.end(), i % 100 == 7 ? 10000 * (r + 1) : i * 37 % 90, static_cast<unsigned char>('a' + r));
      lines.push_back('\n');
    }
    lines = StableSortedRecords(View(lines), layout);
    Append(input, View(lines));
    runs.push_back(SpillRun(on, View(lines)));
  }
  EXPECT_TRUE(Merge(on, runs).Read(60000, true) == StableSortedRecords(View(input), layout));
  EXPECT_EQ(on.store.bytes_in_use(), 0u);
}

TEST(ReadAhead, FreesWhatNobodyWillReadAgainAndNothingElse) {
  for (const bool free_as_read : {true, false}) {
    for (const std::uint64_t enough : {std::uint64_t{20000}, ~std::uint64_t{0}}) {
      TestJob on(Pairs());
      Spilled made = MakeSpilled(on, RunShape::kRandom, 5);
      const std::uint64_t before = on.store.bytes_in_use();
      const Bytes output = Merge(on, made.runs).Read(4000, free_as_read, false, enough);
      // The output is the front of the sorted records, with --top not much longer than requested.
      EXPECT_TRUE(std::equal(output.begin(), output.end(), made.sorted.begin()));
      EXPECT_LT(output.size(), enough == 20000 ? 24000 : made.sorted.size() + 1);
      EXPECT_EQ(on.store.bytes_in_use(), free_as_read ? 0 : before);
      if (free_as_read) continue;
      // All runs are still there for another attempt.
      EXPECT_TRUE(Merge(on, made.runs).Read(50000, true) == made.sorted);
      EXPECT_EQ(on.store.bytes_in_use(), 0u);
    }
  }
}

TEST(ReadAhead, AnErrorEndsTheMergeAndLendsNothing) {
  struct Row {
    Fault fault;
    ErrorCode code;
  };
  for (const Row& row : {Row{{Call::kRead, 9, true, Effect::kError, EIO}, ErrorCode::kIo},
                         Row{{Call::kRead, 1, true, Effect::kError, EIO}, ErrorCode::kIo},
                         Row{{Call::kRead, 9, true, Effect::kFlipBit, 8 * 100}, ErrorCode::kIntegrity},
                         Row{{Call::kRead, 9, true, Effect::kShort, 0}, ErrorCode{}}}) {
    TestJob on(Pairs());
    Spilled made = MakeSpilled(on, RunShape::kRandom, 5);
    const std::uint64_t before = on.memory.used();
    on.files.Clear();
    on.files.Add(row.fault);
    ErrorCode code{};
    try {
      EXPECT_TRUE(Merge(on, made.runs).Read(30000, false) == made.sorted);
    } catch (const Error& error) {
      code = error.code();
    }
    EXPECT_EQ(code, row.code);
    EXPECT_EQ(on.memory.used(), before);
    // All runs are still there when the disk works again.
    on.files.Clear();
    EXPECT_TRUE(Merge(on, made.runs).Read(30000, true) == made.sorted);
  }
}

TEST(ReadAhead, AJobThatIsCancelledEnds) {
  TestJob on(Pairs());
  Spilled made = MakeSpilled(on, RunShape::kRandom, 5);
  on.cancel.Request();
  try {
    Merge(on, made.runs).Read(30000, true);
    ADD_FAILURE() << "it went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
}

}  // namespace
}  // namespace gpusort::testing

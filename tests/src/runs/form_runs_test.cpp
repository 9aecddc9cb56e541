#include "runs/form_runs.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "job/open_job.hpp"
#include "line_files.hpp"
#include "records.hpp"
#include "sort_files.hpp"

namespace gpusort::testing {
namespace {

/// Reads standard input in blocks of 512 bytes.
struct Feeding {
  FileSystem files;
  CancelFlag cancel;
  HostMemory memory{std::uint64_t{1} << 24};
  RecordLayout layout = Parse({"--type", "u64", "-", "-"}).order.layout;
  PlainFormat format{layout};
  Inputs inputs{files, {"-"}, {format}, layout, cancel};
  StageClock clock{"form runs"};
  Ring ring{16384, 8, 512, 8, 1};
  BatchFeeder feeder{cancel, memory, inputs, ring, {}, layout, clock};
  Pipeline waiter{cancel};

  std::unique_ptr<BatchFeeder::Batch> Batch() {
    std::unique_ptr<BatchFeeder::Batch> batch = feeder.Next(waiter, 1024, 1024, false);
    while (batch && batch->Next()) {
    }
    return batch;
  }
};

TEST(BatchFeeder, EndsBehindTheFirstBatchOnlyIfThereIsNoOther) {
  const TempFolder folder;
  for (const std::size_t bytes : {1024, 1032, 2048}) {
    WriteFile(folder / "in", Bytes(bytes));
    for (const bool others_read : {false, true}) {
      const StandardInput in(folder / "in");
      Feeding job;
      const std::unique_ptr<BatchFeeder::Batch> first = job.Batch();
      ASSERT_TRUE(first);
      // Another lane reads the rest while the lane with the first batch sorts.
      if (others_read) {
        while (job.Batch()) {
        }
      }
      EXPECT_EQ(job.feeder.Ended(job.waiter), bytes == 1024) << bytes << " bytes, the others read: " << others_read;
    }
  }
}

/// A key maker that makes the key stage run out of memory while its reader looks at the first block.
class ThrowingKeys : public RecordFormat, public KeyScheme {
 public:
  ThrowingKeys(const RecordLayout& layout, const HostMemory& memory) : layout_(layout), memory_(memory) {}
  RecordLayout layout() const override { return layout_; }
  std::uint64_t most_added(std::uint64_t) const override { return 0; }
  void LimitKeys(std::uint64_t) override {
    while (!looks_) std::this_thread::yield();
    throw std::bad_alloc();
  }
  Guess LookAhead(RecordSpan) const override {
    const std::uint64_t before = memory_.used();
    looks_ = true;
    // Leaves time for an error: if the key stage does not wait for the reader, it drops the reader's memory now.
    for (int i = 0; i < 200 && memory_.used() == before; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    dropped_ = dropped_ || memory_.used() != before;
    return {};
  }
  std::string Ending(RecordSpan, RecordSpan) const override { return {}; }
  Ends Scan(RecordSpan, ScanState&) const override { return {}; }
  std::unique_ptr<KeyEncoder> MakeEncoder() const override { return nullptr; }
  bool dropped() const { return dropped_; }

 private:
  const RecordLayout layout_;
  const HostMemory& memory_;
  mutable std::atomic<bool> looks_{false}, dropped_{false};
};

TEST(BatchFeeder, WaitsForItsReaderWhereItCannotBeMade) {
  const TempFolder folder;
  WriteFile(folder / "in", Bytes(4096));
  FileSystem files;
  CancelFlag cancel;
  HostMemory memory{std::uint64_t{1} << 24};
  const RecordLayout layout = Parse({"--type", "u64", folder / "in", "-"}).order.layout;
  ThrowingKeys keys(layout, memory);
  Inputs inputs{files, {folder / "in"}, {keys}, layout, cancel};
  StageClock clock{"form runs"};
  EXPECT_THROW(BatchFeeder(cancel, memory, inputs, Ring{16384, 8, 512, 8, 1}, inputs.Ranges(), layout, clock, &keys,
                           MakeKeyShape(memory.limit(), 1, false)),
               std::bad_alloc);
  EXPECT_FALSE(keys.dropped());
}

// Each place of the input gives about an equal part, and all parts together give the records in their order.
TEST(BatchFeeder, SeveralPlacesOfTheInputGiveEachRecordOnce) {
  const TempFolder folder;
  std::mt19937_64 random(11);
  const LineOrder order;
  const LineOrderView view = order.view();
  for (const std::uint64_t stride : {0, 4, 8, 7, 16, 100, 250}) {
    const RecordLayout layout = stride == 0 ? MakeLineLayout('\n', view) : MakeFixedLayout(stride, {});
    std::vector<std::string> names;
    Bytes all;
    for (const std::uint64_t records : {random() % 3000, std::uint64_t{0}, random() % 20000, std::uint64_t{1}}) {
      const Bytes bytes = stride == 0 ? MakeLines(Lines::kRandom, records, '\n', random())
                                      : MakeRecords(layout, records, Keys::kRandom, random());
      all.insert(all.end(), bytes.begin(), bytes.end());
      names.push_back(folder / ("in" + std::to_string(names.size())));
      WriteFile(names.back(), bytes);
    }
    FileSystem files;
    CancelFlag cancel;
    HostMemory memory{std::uint64_t{1} << 26};
    const PlainFormat format(layout);
    Inputs inputs(files, names, {format}, layout, cancel);
    StageClock clock{"form runs"};
    const std::uint64_t unit = LeastRecordBytes(layout);
    const Ring ring{65536 + kReadSlack,
                    24,
                    65536 / unit * unit,
                    65536,
                    false,
                    3,
                    stride == 0 ? 0 : kReadSlack + 16 * stride + random() % 5000,
                    3};
    const auto ring_memory = std::make_shared<PinnedBuffer>(memory, ring.bytes());
    const std::vector<std::vector<InputRange>> parts = DivideRanges(inputs, inputs.Ranges(), layout, 3, memory);
    ASSERT_LE(parts.size(), 3u);
    std::vector<std::unique_ptr<BatchFeeder>> feeders;
    for (const std::vector<InputRange>& part : parts) {
      EXPECT_LE(TotalBytes(part), all.size() / 3 + 100000) << stride;
      feeders.push_back(std::make_unique<BatchFeeder>(cancel, memory, inputs, ring.Part(), part, layout, clock, nullptr,
                                                      KeyShape{}, NeededOrder::kNone, ring_memory, 8 * feeders.size()));
    }
    const Pipeline waiter{cancel};
    Bytes got;
    RecordSum sum;
    for (const auto& feeder : feeders) {
      while (const auto batch = feeder->Next(waiter, 77777 / unit * unit, 80000, false)) {
        while (const std::unique_ptr<InputBlock> block = batch->Next()) {
          const auto* const bytes = reinterpret_cast<const unsigned char*>(block->bytes().data());
          got.insert(got.end(), bytes, bytes + block->bytes().size());
        }
        sum += batch->sum();
      }
    }
    EXPECT_EQ(got, all) << stride;
    EXPECT_EQ(sum, SumRecords(std::as_bytes(std::span(all)), layout)) << stride;
  }
}

/// The open inputs of a job, and what else a BatchFeeder for all of them needs.
struct OpenInputs {
  explicit OpenInputs(const std::vector<std::string>& args)
      : spec(Parse(args)),
        ordered(spec, true),
        inputs(files, spec.source.inputs, MakeInputOptions(spec, memory, ordered.format()), ordered.plain, cancel) {}

  const JobSpec spec;
  FileSystem files;
  CancelFlag cancel;
  HostMemory memory{std::uint64_t{1} << 26};
  const Ordered ordered;
  Inputs inputs;
  StageClock clock{"form runs"};
  const Ring ring{16384 + kReadSlack, 40, 16384, 100000, false, 2};
};

// Progress counts these bytes: each byte of the input files is in one batch, whatever happens to its record.
TEST(BatchFeeder, BatchesHaveEachStoredByteOnce) {
  const TempFolder folder;
  const std::string csv = folder / "in.csv";
  {
    std::ofstream out(csv);
    out << "id,name\n";
    for (int i = 0; i < 3000; ++i) {
      // Some records take several blocks, before and after they get keys.
      out << i * 7919 % 6007 << ",\"x,\n" << i << std::string(i % 1000 == 0 ? 40000 : 0, 'x') << "\"\n";
    }
  }
  WriteFile(folder / "in.txt", MakeLines(Lines::kRandom, 4000, '\n', 1));
  WriteFile(folder / "in.u64", MakeRecords(MakeFixedLayout(8, {}), 20000, Keys::kRandom, 2));
  Bytes cut = ReadFile(folder / "in.txt");
  cut.pop_back();  // the reader adds the missing newline
  WriteFile(folder / "cut.txt", cut);
  ASSERT_EQ(std::system(("gzip -k " + csv + " " + folder / "in.txt").c_str()), 0);
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"--type", "u64", folder / "in.u64"},
                                             {"--type", "u64", folder / "in.u64", folder / "in.u64"},
                                             {folder / "in.txt"},
                                             {folder / "in.txt.gz"},
                                             {folder / "cut.txt", folder / "in.txt.gz", folder / "cut.txt"},
                                             {"-k", "id:int", csv},
                                             {"-k", "id:int", csv, csv},
                                             {"-k", "id:int", csv + ".gz", csv}}) {
    SCOPED_TRACE(args.back());
    std::vector<std::string> all = args;
    all.insert(all.end(), {"-o", folder / "out"});
    OpenInputs open(all);
    KeyShape keys;
    if (open.ordered.table) keys = {2, 16384};
    BatchFeeder feeder(open.cancel, open.memory, open.inputs, open.ring, open.inputs.Ranges(), open.ordered.plain,
                       open.clock, open.ordered.column_keys(), keys);
    Pipeline waiter{open.cancel};
    std::uint64_t stored = 0, batches = 0;
    while (const auto batch = feeder.Next(waiter, 50000, 200000, false)) {
      while (batch->Next()) {
      }
      stored += batch->stored();
      ++batches;
    }
    EXPECT_EQ(stored, open.inputs.stored_bytes());
    EXPECT_GE(batches, 2u);
  }
}

// A batch that fails may have taken the first part of a line. The rest of the line must not begin another run, which
// would be kept for a later process.
TEST(BatchFeeder, GivesNoBatchAfterOneThatFailed) {
  const TempFolder folder;
  WriteFile(folder / "in.txt", MakeLines(Lines::kRandom, 4000, '\n', 1));
  OpenInputs open({folder / "in.txt", folder / "out"});
  BatchFeeder feeder(open.cancel, open.memory, open.inputs, open.ring, open.inputs.Ranges(), open.ordered.plain,
                     open.clock, nullptr, {});
  Pipeline lanes{open.cancel};
  const auto batch = feeder.Next(lanes, 1000, 200000, false);
  ASSERT_TRUE(batch && batch->Next());
  lanes.Fail(std::make_exception_ptr(std::bad_alloc()));
  feeder.Return(*batch);
  EXPECT_THROW(feeder.Next(lanes, 1000, 200000, false), Error);
}

}  // namespace
}  // namespace gpusort::testing

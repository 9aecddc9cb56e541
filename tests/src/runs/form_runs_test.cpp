#include "runs/form_runs.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "records.hpp"
#include "sort_files.hpp"

namespace gpusort::testing {
namespace {

/// Reads standard input in blocks of 512 bytes.
struct Feeding {
  FileSystem files;
  CancelFlag cancel;
  HostMemory memory{std::uint64_t{1} << 24};
  RecordLayout layout = Parse({"--type", "u64", "-", "-"}).layout;
  InputOptions how;
  Inputs inputs{files, {"-"}, how, layout, cancel};
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
      // By another lane, while the one that has the first batch sorts.
      if (others_read) {
        while (job.Batch()) {
        }
      }
      EXPECT_EQ(job.feeder.Ended(job.waiter), bytes == 1024) << bytes << " bytes, the others read: " << others_read;
    }
  }
}

}  // namespace
}  // namespace gpusort::testing

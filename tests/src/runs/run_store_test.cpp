#include "runs/run_store.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <utility>
#include <variant>

#include "kernels/error.hpp"
#include "records.hpp"
#include "sorted_runs.hpp"

namespace gpusort::testing {
namespace {

TEST(RunStore, TakesNothingUntilAPlanSpillsAndStaysOpenThen) {
  const TempFolder folder;
  FileSystem files;
  HostMemory memory(1 << 24);
  CancelFlag cancel;
  JobSpec spec;
  spec.limits.temp_dirs = {folder / "none"};
  RunStore store(spec, files, memory, cancel, spec.limits.temp_dirs, {});
  Plan plan;
  EXPECT_THROW(store.Open(plan, 1), Error) << "asked for by name";
  spec.dialect.strict = false;
  store.Open(plan, 1);
  EXPECT_FALSE(store.open());
  EXPECT_EQ(store.peak_bytes() + store.written_bytes() + store.taken_bytes(), 0u);
  EXPECT_EQ(store.codec(), Codec::kNone);
  plan.spills = true;
  plan.block_bytes = 8192;
  plan.temp_bytes = 1 << 20;
  store.Open(plan, 1);
  EXPECT_TRUE(store.open());
  plan.block_bytes = 0;
  store.Open(plan, 1);
  EXPECT_EQ(memory.used(), 0u);
  store.Close();
  EXPECT_FALSE(store.open());
}

TEST(RunStore, GivesABlockBackAsItWas) {
  constexpr std::uint64_t kBlock = 8192, kCapacity = kBlock - kSpillHeaderBytes;
  const LineOrderView whole_lines{};
  const RecordLayout layout = MakeLineLayout('\n', whole_lines);
  Plan plan;
  plan.spills = true;
  plan.block_bytes = kBlock;
  plan.temp_workspaces = 1;
  for (const Codec codec : {Codec::kNone, Codec::kZst}) {
    const TempFolder folder;
    FileSystem files;
    HostMemory memory(1 << 24);
    CancelFlag cancel;
    JobSpec spec;
    spec.limits.temp_codec = codec;
    RunStore store(spec, files, memory, cancel, {folder.path()}, {});
    store.Open(plan, 1);
    for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{100}, kCapacity - 1, kCapacity, kCapacity + 1,
                                     3 * kCapacity, 3 * kCapacity + 1}) {
      // The block holds short lines, or one line that takes several extents.
      Bytes lines(size, 'x');
      lines.back() = '\n';
      for (std::size_t i = 80; size <= kCapacity && i < size; i += 81) lines[i] = '\n';
      RunBlock block;
      block.bytes = size;
      const HostBuffer write(memory, kBlock);
      const auto read = [&](std::uint64_t at, std::span<std::byte> out) {
        std::memcpy(out.data(), &lines[at], out.size());
      };
      store.Write(5, 9, {write.data(), write.size()}, block, layout, read);
      EXPECT_EQ(block.more.size(), (size - 1) / kCapacity);
      EXPECT_TRUE(block.forecast);
      EXPECT_EQ(
          block.last,
          MakeForecast(size <= kCapacity ? LastRecord(View(lines), layout) : View(lines).first(kCapacity), layout));
      const HostBuffer buffer(memory, (1 + block.more.size()) * kBlock);
      const std::span<std::byte> room{buffer.data(), buffer.size()};
      Bytes back;
      Append(back, store.Load(5, 9, room, block));
      EXPECT_EQ(back, lines) << size;
      // Load never accepts a block of another run.
      EXPECT_THROW(store.Load(6, 9, room, block), Error);
      EXPECT_THROW(store.Load(5, 8, room, block), Error);
      if (!block.more.empty()) {
        RunBlock swapped = block;
        std::swap(std::get<SpillExtent>(swapped.place), swapped.more.back());
        EXPECT_THROW(store.Load(5, 9, room, swapped), Error) << "parts in another order";
      }
      store.Free(block);
      EXPECT_EQ(store.bytes_in_use(), 0u);
    }
  }
}

}  // namespace
}  // namespace gpusort::testing

// Fuzzes the runs that one process leaves and another process finds. If byte 0 is even, the rest damages the file with
// the runs. Each block must then have its original bytes, or the error is kIntegrity. If byte 0 is odd, the rest is the
// index of a run, with a correct checksum, and the manifest's facts about the run. Each block that is found must then
// be inside the file and be found only once, or the error is kIntegrity.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "kernels/error.hpp"
#include "kernels/lines/line_order.hpp"
#include "require.hpp"
#include "runs/journal.hpp"
#include "runs/run_store.hpp"

namespace {

namespace fs = std::filesystem;
using namespace gpusort;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kBlock = 4096, kMemory = 1 << 24;

/// Skips syncs, because this test is not about power failures.
class QuickCalls : public SystemCalls {
 public:
  int Sync(int) override { return 0; }
};

struct Store {
  explicit Store(const std::string& folder) : journal(files, folder) {
    KeptJob job;
    job.id = 1;
    job.block_bytes = kBlock;
    job.partial = ".gpusort-1.partial";
    if (!journal.resumes()) journal.Begin(job, {}, {});
    Plan plan;
    plan.spills = true;
    plan.block_bytes = kBlock;
    plan.temp_workspaces = 1;
    spec.dialect.strict = false;
    store = std::make_unique<RunStore>(spec, files, memory, cancel, std::vector<std::string>{}, nullptr, &journal);
    store->Open(plan, 1);
  }

  FileSystem files{std::make_shared<QuickCalls>()};
  JobSpec spec;
  HostMemory memory{kMemory};
  CancelFlag cancel;
  Journal journal;
  std::unique_ptr<RunStore> store;
};

/// Two runs of lines, 1 and 2, with lines longer than a block, compressed where that helps.
struct Kept {
  Kept() {
    std::string pattern = (fs::temp_directory_path() / "gpusort-fuzz-XXXXXX").string();
    Require(mkdtemp(pattern.data()) != nullptr, "no folder");
    root = pattern;
    folder = root + "/d";
    Store made(folder);
    const HostBuffer memory(made.memory, kBlock);
    const std::span<std::byte> buffer(memory.data(), memory.size());
    for (std::uint64_t id = 1; id <= 2; ++id) {
      Run run;
      run.id = id;
      run.origin = {{0, 1000 * id, 500}};
      run.blocks = RunBlocks(layout);
      for (const std::uint64_t size : {10, 3000, 9000, 1, 4032}) {
        Bytes bytes(size, std::byte{'\n'});
        for (std::size_t i = 0; i + 1 < size; ++i) bytes[i] = static_cast<std::byte>('a' + i * i * (i + id) % 23);
        RunBlock block;
        block.begin = run.bytes;
        block.bytes = size;
        made.store->Write(
            id, run.blocks.size(), buffer, block, layout,
            [&](std::uint64_t at, std::span<std::byte> out) { std::memcpy(out.data(), &bytes[at], out.size()); });
        run.blocks.Set(run.blocks.size(), block);
        run.bytes += size;
        contents.push_back(std::move(bytes));
      }
      made.store->Keep(run, layout, buffer);
      run_bytes = run.bytes;
    }
    manifest = Read(folder + "/gpusort.manifest");
    runs = Read(folder + "/gpusort.runs");
  }
  ~Kept() { fs::remove_all(root); }

  static Bytes Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }
  void Write(const char* name, const Bytes& bytes) const {
    std::ofstream file(folder + "/" + name, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  const LineOrderView whole_lines{};
  const RecordLayout layout = MakeLineLayout('\n', whole_lines);
  std::string root, folder;
  Bytes manifest, runs;
  std::uint64_t run_bytes = 0;
  std::vector<Bytes> contents;  ///< the contents of the blocks of the two runs
};

/// Takes numbers from the front of the input. After the end of the input all numbers are 0.
struct ByteSource {
  std::span<const std::uint8_t> bytes;
  template <typename T>
  T Take() {
    T value{};
    const std::size_t count = std::min(sizeof value, bytes.size());
    if (count > 0) std::memcpy(&value, bytes.data(), count);
    bytes = bytes.subspan(count);
    return value;
  }
};

Bytes Damaged(Bytes runs, ByteSource source) {
  const std::uint64_t blocks = runs.size() / kBlock;
  const auto block = [&] {
    return runs.begin() + static_cast<std::ptrdiff_t>(source.Take<std::uint8_t>() % blocks * kBlock);
  };
  while (!source.bytes.empty()) {
    const auto what = source.Take<std::uint8_t>() % 6;
    const auto at = source.Take<std::uint16_t>() * std::uint64_t{3} % runs.size();
    if (what < 2) {
      runs[at] ^= source.Take<std::byte>();
    } else if (what == 2) {
      const auto from = block(), to = block();
      std::swap_ranges(from, from + kBlock, to);
    } else if (what == 3) {
      const auto from = block(), to = block();
      std::copy_n(from, kBlock, to);
    } else if (what == 4) {  // a torn block
      const auto to = block();
      std::fill(to + static_cast<std::ptrdiff_t>(at % kBlock), to + kBlock, std::byte{});
    } else {
      // Changes the size of the file, so that some blocks end after the end of the file, with holes or without.
      Bytes other = runs;
      other.resize(at);
      if (source.Take<std::uint8_t>() % 2 != 0) other.resize(runs.size());
      return other;
    }
  }
  return runs;
}

/// Loads the blocks of all runs, with the memory that a merge would use.
void Load(Store& found, std::vector<Run>& runs, const std::vector<Bytes>* contents) {
  std::size_t number = 0;
  for (const Run& run : runs) {
    Require(run.blocks.MostLoadBytes(kBlock) <= kMemory / 2, "a buffer larger than the file");
    const HostBuffer buffer(found.memory, run.blocks.MostLoadBytes(kBlock));
    for (std::size_t b = 0; b < run.blocks.size(); ++b, ++number) {
      const RunBlock block = run.blocks[b];
      const auto bytes = found.store->Load(run.id, b, {buffer.data(), buffer.size()}, block);
      Require(bytes.size() == block.bytes, "a block of another length");
      Require(contents == nullptr ||
                  std::equal(bytes.begin(), bytes.end(), contents->at(number).begin(), contents->at(number).end()),
              "a damaged block was taken");
    }
  }
}

void FindAndLoad(const Kept& kept, const std::vector<Bytes>* contents) {
  try {
    Store found(kept.folder);
    std::vector<Run> runs = KeptRuns(found.journal.manifest());
    found.store->FindBlocks(runs, kept.layout);
    std::set<std::uint64_t> slots;
    for (const Run& run : runs) {
      for (std::size_t b = 0; b < run.blocks.size(); ++b) {
        const RunBlock block = run.blocks[b];
        std::vector<SpillExtent> extents = block.more;
        extents.push_back(std::get<SpillExtent>(block.place));
        for (const SpillExtent& extent : extents) {
          Require(extent.offset + extent.payload_bytes <= kept.runs.size() + 2 * kBlock, "a block behind the end");
          Require(slots.insert(extent.offset / kBlock).second, "two blocks in one place");
        }
      }
    }
    Load(found, runs, contents);
  } catch (const Error& error) {
    Require(error.code() == ErrorCode::kIntegrity, error.what());
  }
}

/// Makes a manifest with one run. The bytes of `source` are the index and the facts of the run.
void Forge(const Kept& kept, ByteSource source) {
  fs::remove(kept.folder + "/gpusort.manifest");
  KeptRun run;
  run.id = 1;
  const auto near = [&](std::uint64_t right) {
    const auto choice = source.Take<std::uint8_t>();
    return choice < 200 ? right + choice % 3 : source.Take<std::uint64_t>() % kMaxSize;
  };
  run.bytes = near(kept.run_bytes);
  run.blocks = std::min(near(5), run.bytes);
  run.longest = std::min(near(9000), run.bytes);
  run.origin = {{0, 1000, 500}};
  Store made(kept.folder);  // removes the runs of a job that this store does not know
  kept.Write("gpusort.runs", kept.runs);
  SpillStore spill(made.files, {kept.folder}, kBlock, false, {}, made.journal.spill());
  // The index comes after all other blocks.
  spill.Claim({0, 1, kept.runs.size() - kBlock, Codec::kNone});
  const HostBuffer memory(made.memory, kBlock);
  const std::span<std::byte> buffer(memory.data(), memory.size());
  for (std::uint64_t number = std::uint64_t{1} << 47; !source.bytes.empty(); ++number) {
    const std::uint64_t count = std::min<std::uint64_t>(source.bytes.size(), spill.payload_capacity());
    std::memcpy(buffer.data() + kSpillHeaderBytes, source.bytes.data(), count);
    run.index.push_back(spill.Write(run.id, number, buffer, count));
    source.bytes = source.bytes.subspan(count);
  }
  made.journal.Add(run, {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  static const Kept kept;
  ByteSource source{{bytes, count}};
  const bool forged = source.Take<std::uint8_t>() % 2 != 0;
  if (forged) {
    Forge(kept, source);
    FindAndLoad(kept, nullptr);
  } else {
    kept.Write("gpusort.manifest", kept.manifest);
    kept.Write("gpusort.runs", Damaged(kept.runs, source));
    FindAndLoad(kept, &kept.contents);
  }
  return 0;
}

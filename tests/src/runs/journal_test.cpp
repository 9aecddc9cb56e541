#include "runs/journal.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "faulty_file_system.hpp"
#include "kernels/error.hpp"
#include "line_files.hpp"
#include "records.hpp"
#include "runs/run_store.hpp"
#include "sorted_runs.hpp"

namespace gpusort::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "gpusort.manifest";

std::string ReadText(const std::string& path) {
  const Bytes bytes = ReadFile(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

KeptRun SomeRun(std::uint64_t id) {
  return {id,
          100 * id,
          static_cast<std::uint32_t>(id / 5),
          {id, ~id, id + 1},
          {{0, 10 * id, 10}},
          id,
          1,
          {{0, 7, 65536 * id}}};
}

KeptJob SomeJob() {
  KeptJob job;
  job.block_bytes = 65536;
  job.partial = ".gpusort-1.partial";
  job.input = "in";
  job.output = "out";
  job.input_bytes = 1000;
  job.fingerprint = {{"--key", "2,2"}, {"the size of in", "1000"}};
  return job;
}

/// Returns all facts of a manifest as text.
std::string Facts(const Manifest& manifest) {
  std::string text = manifest.job ? "job " + std::to_string(manifest.job->block_bytes) : "nothing";
  text += ", " + std::to_string(manifest.attempts.size()) + " attempts,";
  for (const auto& [id, run] : manifest.runs) {
    text += " " + std::to_string(id) + ":" + std::to_string(run.bytes) + "/" + std::to_string(run.sum.hi) + "/" +
            std::to_string(run.origin.at(0).offset) + "/" + std::to_string(run.index.at(0).offset);
  }
  if (manifest.merge) {
    text += " merged " + std::to_string(manifest.merge->output_bytes) + "/" +
            std::to_string(manifest.merge->front.dropped.hi) + "/" + std::to_string(manifest.merge->front.last.size()) +
            "/" + std::to_string(manifest.merge->taken.at(5));
  }
  return text + (manifest.formed ? " formed" : "") + std::to_string(manifest.trailer.size()) +
         (manifest.publishing ? " publishing " + std::to_string(manifest.publishing->mtime_ns) : "") +
         (manifest.done ? " done" : "");
}

/// Returns a manifest with every kind of line.
std::string SomeManifest(const TempFolder& folder) {
  FileSystem files;
  Journal journal(files, folder / "d");
  journal.Begin(SomeJob(), {}, {folder.path()});
  for (const std::uint64_t id : {1, 2, 3}) journal.Add(SomeRun(id), {});
  journal.Add(SomeRun(5), {1, 2});
  journal.SetFormed({std::byte{0}, std::byte{0xAB}});
  for (const std::uint64_t bytes : {70, 80})
    journal.SetMerged({bytes, {60, {1, 2, 3}, {4, 5, 6}, {std::byte{7}}}, {{3, 9}, {5, bytes}}});
  journal.ForgetMerge();
  journal.DropRuns();
  journal.Add(SomeRun(9), {});
  journal.SetPublishing({1, 2, 3, 4});
  journal.Finish(true);
  return ReadText(folder / "d" + "/" + kManifest);
}

TEST(Journal, SaysWhatWasWritten) {
  const TempFolder folder;
  FileSystem files;
  {
    Journal journal(files, folder / "d/");
    EXPECT_FALSE(journal.resumes());
    EXPECT_EQ(journal.folder(), folder / "d");
    journal.Begin(SomeJob(), {}, {});
    EXPECT_EQ(journal.directories(), std::vector{folder / "d"});
    for (const std::uint64_t id : {1, 2, 3}) journal.Add(SomeRun(id), {});
    journal.Add(SomeRun(7), {1, 2});
  }
  fs::create_directory(folder / "temp");
  Journal journal(files, folder / "d");
  ASSERT_TRUE(journal.resumes());
  const Manifest& manifest = journal.manifest();
  EXPECT_EQ(manifest.job->fingerprint, SomeJob().fingerprint);
  ASSERT_EQ(manifest.runs.size(), 2u);
  const KeptRun &run = manifest.runs.at(7), expected = SomeRun(7);
  EXPECT_EQ(run.bytes, expected.bytes);
  EXPECT_EQ(run.level, expected.level);
  EXPECT_EQ(run.sum, expected.sum);
  EXPECT_EQ(run.blocks, expected.blocks);
  EXPECT_EQ(run.index, expected.index);
  EXPECT_EQ(manifest.attempts.at(0).runs_made, 3u);
  EXPECT_EQ(manifest.attempts.at(0).bytes_read, 30u);
  // Blocks refer to folders by number, so earlier folders keep their numbers.
  journal.Begin(SomeJob(), {}, {folder / "temp"});
  ASSERT_EQ(journal.directories().size(), 2u);
  EXPECT_EQ(journal.directories()[0], folder / "d");
  EXPECT_EQ(fs::path(journal.directories()[1]).parent_path(), folder / "temp");
  EXPECT_EQ(manifest.attempts.at(1).runs_kept, 2u);
  journal.Finish(false);
  EXPECT_EQ(folder.Names(), std::vector<std::string>{"temp"});
  EXPECT_TRUE(fs::is_empty(folder / "temp"));
}

TEST(Journal, TornAnywhereSaysWhatItsWholeLinesSay) {
  const TempFolder folder;
  const std::string text = SomeManifest(folder);
  std::string facts = Facts({});
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const Manifest manifest = ReadManifest(text.substr(0, size), "name");
    if (size > 0 && text[size - 1] == '\n') {
      EXPECT_EQ(manifest.bytes, size);
      EXPECT_NE(Facts(manifest), facts);
      facts = Facts(manifest);
    }
    ASSERT_EQ(Facts(manifest), facts) << size;
  }
  EXPECT_NE(facts.find("done"), std::string::npos);
}

TEST(Journal, DamagedAnywhereIsNeverTakenForWhatItWasNot) {
  const TempFolder folder;
  const std::string text = SomeManifest(folder);
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
  // Without the newline before the last line, the last two lines become one line, which counts as torn.
  const std::size_t last_but_one = text.rfind('\n', last - 2) + 1;
  std::uint32_t random = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    random = random * 1664525 + 1013904223;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 + (random >> 8) % 255));
    try {
      const Manifest manifest = ReadManifest(damaged, "name");
      ASSERT_GE(at + 1, last) << "line in front of the last one";
      const std::size_t whole = at < last ? last_but_one : last;
      ASSERT_EQ(Facts(manifest), Facts(ReadManifest(text.substr(0, whole), "name"))) << at;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::kIntegrity) << at << ": " << error.what();
      ASSERT_NE(std::string(error.what()).find("name: line "), std::string::npos);
    }
  }
  // Lines are left out, repeated, or put in another order.
  std::vector<std::string> lines = SplitLines(ReadFile(folder / "d" + "/" + kManifest), '\n');
  const auto join = [](const std::vector<std::string>& parts) {
    std::string all;
    for (const std::string& part : parts) all += part + "\n";
    return all;
  };
  for (std::size_t i = 0; i + 2 < lines.size(); ++i) {
    auto without = lines, twice = lines, swapped = lines;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    std::swap(swapped[i], swapped[i + 1]);
    for (const auto& bad : {without, twice, swapped}) EXPECT_THROW(ReadManifest(join(bad), "name"), Error) << i;
  }
}

TEST(Journal, IsGoneOnWithBehindATornLine) {
  const TempFolder folder;
  FileSystem files;
  {
    Journal journal(files, folder / "d");
    journal.Begin(SomeJob(), {}, {});
    journal.Add(SomeRun(1), {});
  }
  std::ofstream(folder / "d" + "/" + kManifest, std::ios::app) << "{\"run\":{\"id\":2,";
  {
    Journal journal(files, folder / "d");
    journal.Begin(SomeJob(), {}, {});
    journal.Add(SomeRun(3), {});
  }
  Journal journal(files, folder / "d");
  EXPECT_EQ(journal.manifest().runs.size(), 2u);
  EXPECT_EQ(journal.manifest().attempts.size(), 2u);
}

TEST(Journal, RelyOnNothingThatMayNotBeOnTheDisk) {
  for (const Call call : {Call::kWrite, Call::kSync}) {
    const TempFolder folder;
    FaultyFileSystem files;
    Journal journal(files, folder / "d");
    journal.Begin(SomeJob(), {}, {});
    journal.Add(SomeRun(1), {});
    files.Clear();
    files.Fail(call, 1, ENOSPC);
    EXPECT_THROW(journal.Add(SomeRun(2), {}), Error);
    EXPECT_THROW(journal.Add(SomeRun(3), {}), Error) << "behind a line that nobody knows of";
    EXPECT_EQ(journal.manifest().runs.size(), 1u);
    // Another process must not see the run either. The kernel does not report the error to that process again.
    EXPECT_EQ(ReadManifest(ReadText(folder / "d" + "/" + kManifest), "name").runs.size(), 1u);
  }
}

TEST(Journal, RefusesACheckpointThatSaysNothingOfARun) {
  const TempFolder folder;
  FileSystem files;
  {
    Journal journal(files, folder / "d");
    journal.Begin(SomeJob(), {}, {});
    for (const std::uint64_t id : {1, 2}) journal.Add(SomeRun(id), {});
    EXPECT_THROW(journal.SetMerged({70, {60, {1, 2, 3}, {}, {}}, {{2, 9}}}), Error);
  }
  try {
    Journal journal(files, folder / "d");
    ADD_FAILURE() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIntegrity);
  }
}

TEST(Journal, SyncsWhatItReadsBeforeItReliesOnIt) {
  const TempFolder folder;
  {
    FileSystem files;
    Journal(files, folder / "d").Begin(SomeJob(), {}, {});
  }
  std::uint64_t syncs = 0;
  {
    FaultyFileSystem files;
    const Journal journal(files, folder / "d");
    syncs = files.Count(Call::kSync);
  }
  EXPECT_EQ(syncs, 3u) << "the folder's name, the manifest and its name";
  for (std::uint64_t n = 1; n <= syncs; ++n) {
    FaultyFileSystem files;
    files.Fail(Call::kSync, n, EIO);
    EXPECT_THROW(Journal(files, folder / "d"), Error) << n;
  }
}

TEST(Journal, DoesNotGoOnWhereADiskWithRunsIsNotMounted) {
  const TempFolder folder;
  FileSystem files;
  fs::create_directory(folder / "disk");
  {
    Journal journal(files, folder / "d");
    journal.Begin(SomeJob(), {}, {folder / "disk"});
    journal.Add(SomeRun(1), {});
  }
  fs::rename(folder / "disk", folder / "away");
  fs::create_directory(folder / "disk");
  for (int attempt = 0; attempt < 2; ++attempt) {
    Journal journal(files, folder / "d");
    try {
      journal.Begin(SomeJob(), {}, {folder / "disk"});
      ADD_FAILURE() << "it went on without the disk";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIo);
      EXPECT_NE(std::string(error.what()).find("mount it"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(fs::is_empty(folder / "disk"));
  }
  fs::remove(folder / "disk");
  fs::rename(folder / "away", folder / "disk");
  Journal journal(files, folder / "d");
  journal.Begin(SomeJob(), {}, {folder / "disk"});
  EXPECT_EQ(journal.manifest().runs.size(), 1u);
}

void ExpectRefused(const std::string& folder, const std::string& word) {
  FileSystem files;
  try {
    Journal journal(files, folder);
    ADD_FAILURE() << folder << " was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

TEST(Journal, IsOneJobsAlone) {
  const TempFolder folder;
  FileSystem files;
  {
    Journal journal(files, folder / "d");
    ExpectRefused(folder / "d", "process " + std::to_string(getpid()));
    journal.Begin(SomeJob(), {}, {});
    const std::string status = DescribeJob(files, folder / "d");
    EXPECT_NE(status.find("running: process " + std::to_string(getpid())), std::string::npos) << status;
  }
  EXPECT_NE(DescribeJob(files, folder / "d").find("stopped"), std::string::npos);
  fs::create_directory_symlink(folder / "d", folder / "link");
  ExpectRefused(folder / "link", "link");
  ExpectRefused(folder / "link/", "link");
  ExpectRefused(folder / "link/.", "link");
  ExpectRefused(folder / "link/.//./", "link");
  std::ofstream(folder / "file") << "x";
  ExpectRefused(folder / "file", "no folder");
  fs::create_directory(folder / "open");
  chmod((folder / "open").c_str(), 0770);
  ExpectRefused(folder / "open", "others can write");
  chmod((folder / "open").c_str(), 0755);
  fs::create_symlink(folder / "file", folder / "open" + "/" + kManifest);
  FileSystem other;
  EXPECT_THROW(Journal(other, folder / "open"), Error);
  fs::remove(folder / "open" + "/" + kManifest);
  std::ofstream(folder / "open" + "/" + kManifest) << "mine";
  EXPECT_THROW(Journal(other, folder / "open"), Error);
  EXPECT_EQ(ReadText(folder / "open" + "/" + kManifest), "mine");
  EXPECT_EQ(ReadText(folder / "file"), "x");
  EXPECT_THROW(DescribeJob(other, folder / "none"), Error);
  // A lock that others hold open by another name, or that is not a regular file.
  const std::string lock = folder / "open" + "/gpusort.lock";
  fs::remove(lock);
  fs::create_hard_link(folder / "file", lock);
  ExpectRefused(folder / "open", "gpusort.lock: it is no file");
  EXPECT_EQ(ReadText(folder / "file"), "x");
  fs::remove(lock);
  ASSERT_EQ(mkfifo(lock.c_str(), 0600), 0);
  ExpectRefused(folder / "open", "gpusort.lock: it is no file");
}

TEST(Journal, LeavesNothingOfAJobThatDidNotBegin) {
  const TempFolder folder;
  FileSystem files;
  { Journal journal(files, folder / "d"); }
  EXPECT_TRUE(folder.Names().empty());
  fs::create_directory(folder / "mine");
  { Journal journal(files, folder / "mine"); }
  EXPECT_TRUE(fs::is_empty(folder / "mine"));
}

TEST(Journal, NamesTheFirstThingThatDiffers) {
  const TempFolder folder;
  FileSystem files;
  { Journal(files, folder / "d").Begin(SomeJob(), {}, {}); }
  const Journal journal(files, folder / "d");
  journal.RequireSame(SomeJob().fingerprint);
  const auto expect = [&](const Fingerprint& now, const std::string& words) {
    try {
      journal.RequireSame(now);
      ADD_FAILURE() << "not refused: " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  expect({{"--key", "3,3"}, {"the size of in", "1"}}, "--key was '2,2', and is now '3,3'");
  expect({{"the size of in", "1000"}}, "--key was '2,2', and is now not given");
  expect({{"--key", "2,2"}, {"the size of in", "1000"}, {"--unique", "given"}},
         "--unique was not given, and is now given");
}

/// Runs of lines, some longer than a block, that are kept in a folder.
class KeptRuns : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kBlock = 8192;
  struct Store {
    explicit Store(KeptRuns& test) : journal(test.files_, test.folder_ / "d") {
      KeptJob job;
      job.block_bytes = kBlock;
      job.partial = ".gpusort-1.partial";
      journal.Begin(job, {}, {});
      Plan plan;
      plan.spills = true;
      plan.block_bytes = kBlock;
      plan.temp_workspaces = 1;
      store = std::make_unique<RunStore>(test.spec_, test.files_, test.memory_, test.cancel_,
                                         std::vector<std::string>{}, nullptr, &journal);
      store->Open(plan, 1);
    }
    Journal journal;
    std::unique_ptr<RunStore> store;
  };

  KeptRuns() {
    spec_.limits.temp_codec = Codec::kZst;
    Store made(*this);
    const HostBuffer buffer(memory_, kBlock);
    for (std::uint64_t id = 1; id <= 3; ++id) {
      gpusort::Run& run = runs_.emplace_back();
      run.id = id;
      run.origin = {{0, 1000 * (4 - id), 500}};  // the ids are not in order
      run.sum = {id, id, id};
      run.blocks = RunBlocks(layout_);
      for (const std::uint64_t size : {10, 20'000, 4'000, 8'000, 100'000, 1}) {
        Bytes bytes(size, '\n');
        for (std::size_t i = 0; i + 1 < size; ++i) bytes[i] = static_cast<unsigned char>('a' + i * i * (i + id) % 23);
        RunBlock block;
        block.begin = run.bytes;
        block.bytes = size;
        made.store->Write(
            id, run.blocks.size(), {buffer.data(), buffer.size()}, block, layout_,
            [&](std::uint64_t at, std::span<std::byte> out) { std::memcpy(out.data(), &bytes[at], out.size()); });
        run.blocks.Set(run.blocks.size(), block);
        run.bytes += size;
        contents_[id].push_back(bytes);
      }
      made.store->Keep(run, layout_, {buffer.data(), buffer.size()});
    }
    // A block that no run keeps.
    RunBlock block;
    block.bytes = 10;
    made.store->Write(9, 0, {buffer.data(), buffer.size()}, block, layout_,
                      [](std::uint64_t, std::span<std::byte> out) { std::memset(out.data(), '\n', out.size()); });
    in_use_ = made.store->bytes_in_use();
  }

  const LineOrderView whole_lines_{};
  const RecordLayout layout_ = MakeLineLayout('\n', whole_lines_);
  TempFolder folder_;
  FaultyFileSystem files_;
  HostMemory memory_{1 << 24};
  CancelFlag cancel_;
  JobSpec spec_;
  std::vector<gpusort::Run> runs_;
  std::map<std::uint64_t, std::vector<Bytes>> contents_;
  std::uint64_t in_use_ = 0;
};

TEST_F(KeptRuns, AreFoundByAnotherProcess) {
  Store found(*this);
  std::vector<gpusort::Run> runs = gpusort::KeptRuns(found.journal.manifest());
  ASSERT_EQ(runs.size(), 3u);
  found.store->FindBlocks(runs, layout_);
  const HostBuffer buffer(memory_, 16 * kBlock);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const gpusort::Run &run = runs[i], &expected = runs_[2 - i];
    EXPECT_EQ(run.id, expected.id) << "not in the order of the input";
    EXPECT_EQ(run.bytes, expected.bytes);
    EXPECT_EQ(run.sum, expected.sum);
    ASSERT_EQ(run.blocks.size(), expected.blocks.size());
    for (std::size_t b = 0; b < run.blocks.size(); ++b) {
      const RunBlock block = run.blocks[b], was = expected.blocks[b];
      EXPECT_EQ(block.begin, was.begin);
      EXPECT_EQ(std::get<SpillExtent>(block.place), std::get<SpillExtent>(was.place));
      EXPECT_EQ(block.more, was.more);
      EXPECT_EQ(block.last, was.last);
      const auto bytes = found.store->Load(run.id, b, {buffer.data(), buffer.size()}, block);
      EXPECT_TRUE(
          std::equal(bytes.begin(), bytes.end(), View(contents_[run.id][b]).begin(), View(contents_[run.id][b]).end()));
    }
  }
  EXPECT_LT(found.store->bytes_in_use(), in_use_) << "blocks that belong to no run";
  // Slots of dropped runs are used again. Slots of kept runs are used again only after they are freed.
  const std::uint64_t size = fs::file_size(folder_ / "d/gpusort.runs");
  for (const gpusort::Run& run : runs) found.store->Free(run);
  EXPECT_EQ(found.store->bytes_in_use(), 0u);
  EXPECT_LE(fs::file_size(folder_ / "d/gpusort.runs"), size);
}

TEST_F(KeptRuns, ThatAreDamagedAreNotUsed) {
  const std::string path = folder_ / "d/gpusort.runs";
  const Bytes whole = ReadFile(path);
  const auto outcome = [&] {
    try {
      Store found(*this);
      std::vector<gpusort::Run> runs = gpusort::KeptRuns(found.journal.manifest());
      found.store->FindBlocks(runs, layout_);
      const HostBuffer buffer(memory_, 16 * kBlock);
      for (const gpusort::Run& run : runs) {
        for (std::size_t b = 0; b < run.blocks.size(); ++b) {
          const auto bytes = found.store->Load(run.id, b, {buffer.data(), buffer.size()}, run.blocks[b]);
          const Bytes& was = contents_[run.id][b];
          EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), View(was).begin(), View(was).end()));
        }
      }
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("gpusort.runs"), std::string::npos) << error.what();
      return error.code();
    }
    return ErrorCode{};
  };
  EXPECT_EQ(outcome(), ErrorCode{});
  for (std::uint64_t cut = 0; cut < whole.size() - kBlock; cut += 11 * kBlock + 777) {
    WriteFile(path, whole);
    fs::resize_file(path, cut);
    EXPECT_EQ(outcome(), ErrorCode::kIntegrity) << cut;
  }
  for (std::uint64_t at = 0; at < whole.size(); at += 4999) {
    Bytes damaged = whole;
    damaged[at] ^= 0x10;
    WriteFile(path, damaged);
    const ErrorCode code = outcome();  // padding may have any value
    EXPECT_TRUE(code == ErrorCode::kIntegrity || code == ErrorCode{}) << at << ": " << static_cast<int>(code);
  }
  fs::remove(path);
  EXPECT_EQ(outcome(), ErrorCode::kIntegrity);
}

}  // namespace
}  // namespace gpusort::testing

#include "data/output_parts.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <iterator>
#include <string>
#include <vector>

#include "data/output.hpp"
#include "faulty_file_system.hpp"
#include "kernels/error.hpp"
#include "records.hpp"
#include "sorted_runs.hpp"

namespace gpusort::testing {
namespace {

constexpr const char* kNames[] = {"out-0.txt", "out-1.txt", "out.manifest.json"};

/// Returns the content of each of the files above ("" for a missing file) after the `nth` call of a synced publication
/// fails.
std::vector<std::string> PublishedUntil(Call call, std::uint64_t nth) {
  const TempFolder folder;
  for (const char* name : kNames) WriteFile(folder / name, {'o', 'l', 'd'});
  JobSpec spec;
  spec.source.format = Format::kLines;
  spec.source.inputs = {"in.txt"};
  spec.target.output = folder / "out";
  spec.target.split = 2;
  FaultyFileSystem files;
  CancelFlag cancel;
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  bool failed = false;
  {
    Output output = Output::Open(files, spec, cancel);
    const Bytes line = {'n', 'e', 'w', '\n'};
    output.parts()->Begin({});
    for (unsigned part = 0; part < 2; ++part) {
      output.parts()->Write(part, output.parts()->Add(part, 4, SumRecord(View(line)), View(line), View(line)),
                            View(line));
    }
    output.parts()->End({});
    output.Finish(8);
    files.Clear();
    files.Fail(call, nth, EIO);
    try {
      output.Publish(true);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIo);
      failed = true;
    }
    EXPECT_EQ(failed, files.Count(call) >= nth);
  }
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  std::vector<std::string> content;
  for (const char* name : kNames) {
    const Bytes bytes = ReadFile(folder / name);
    content.emplace_back(bytes.begin(), bytes.begin() + 3);
  }
  EXPECT_EQ(folder.Names(), std::vector<std::string>(std::begin(kNames), std::end(kNames)));
  return content;
}

TEST(OutputParts, GetTheirNamesWhenAllAreSyncedAndTheManifestLast) {
  using Content = std::vector<std::string>;
  for (std::uint64_t nth = 1; nth <= 3; ++nth) {
    EXPECT_EQ(PublishedUntil(Call::kSync, nth), (Content{"old", "old", "old"})) << "sync " << nth;
  }
  EXPECT_EQ(PublishedUntil(Call::kSync, 4), (Content{"new", "new", "old"}));  // the sync of their directory fails
  EXPECT_EQ(PublishedUntil(Call::kSync, 5), (Content{"new", "new", "{\n "}));
  EXPECT_EQ(PublishedUntil(Call::kSync, 6), (Content{"new", "new", "{\n "}));
  EXPECT_EQ(PublishedUntil(Call::kRename, 1), (Content{"old", "old", "old"}));
  EXPECT_EQ(PublishedUntil(Call::kRename, 2), (Content{"new", "old", "old"}));
  EXPECT_EQ(PublishedUntil(Call::kRename, 3), (Content{"new", "new", "old"}));
}

}  // namespace
}  // namespace gpusort::testing

#include "job/expect.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "base/text.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using SteadyClock = std::chrono::steady_clock;

double Since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

double SecondsFor(double bytes, double per_second) { return per_second > 0 ? bytes / per_second : 0; }

/// What a phase uses, in seconds of each.
class Uses {
 public:
  explicit Uses(double cores) : cores_(cores) {}

  void Read(const FolderSpeed& folder, double bytes) { Add(folder, SecondsFor(bytes, folder.read), true); }
  void Write(const FolderSpeed& folder, double bytes) { Add(folder, SecondsFor(bytes, folder.write), false); }

  ExpectedPhase Phase(std::string name, bool gpu) const {
    ExpectedPhase phase{std::move(name), cores_, gpu ? "GPU" : "cores"};
    for (const Disk& disk : disks_) {
      if (disk.read + disk.write <= phase.seconds) continue;
      phase.seconds = disk.read + disk.write;
      phase.limit = disk.read > disk.write ? "disk read" : "disk write";
    }
    return phase;
  }

 private:
  struct Disk {
    std::uint64_t device;
    double read = 0, write = 0;
  };
  void Add(const FolderSpeed& folder, double seconds, bool read) {
    // A sample in memory has it already.
    if (folder.memory) return;
    auto disk = std::find_if(disks_.begin(), disks_.end(), [&](const Disk& d) { return d.device == folder.device; });
    if (disk == disks_.end()) disk = disks_.insert(disk, {folder.device});
    (read ? disk->read : disk->write) += seconds;
  }

  const double cores_;
  std::vector<Disk> disks_;
};

}  // namespace

std::vector<ExpectedPhase> Expect(const ExpectFacts& facts) {
  std::vector<ExpectedPhase> phases;
  if (facts.open > 0) phases.push_back({"start", facts.open, "GPU"});
  if (facts.form > 0) {
    Uses form(SecondsFor(facts.input, facts.form));
    form.Read(facts.input_folder, facts.input);
    form.Write(facts.temp_folder, facts.spilled);
    phases.push_back(form.Phase("form runs", facts.gpu));
  }
  const double share = facts.input > 0 ? facts.between / facts.input : 0;
  Uses merge(SecondsFor(facts.input * (1 + share), facts.merge));
  merge.Read(facts.temp_folder, facts.spilled + facts.between);
  merge.Write(facts.temp_folder, facts.between);
  merge.Write(facts.output_folder, facts.output);
  phases.push_back(merge.Phase("merge runs", facts.gpu));
  if (facts.verifies) {
    Uses verify(0);
    verify.Read(facts.output_folder, facts.output);
    if (ExpectedPhase phase = verify.Phase("verify output", facts.gpu); phase.seconds > 0) phases.push_back(phase);
  }
  return phases;
}

std::string Describe(const std::vector<ExpectedPhase>& phases) {
  double all = 0;
  std::string text;
  for (const ExpectedPhase& phase : phases) {
    all += phase.seconds;
    text += (text.empty() ? ": " : ", ") + phase.name + " " + FormatDuration(phase.seconds) + " (" + phase.limit + ")";
  }
  return "expected            " + FormatDuration(all) + text + "\n";
}

FolderSpeed ProbeFolder(FileSystem& files, const std::string& directory, bool direct) {
  constexpr std::uint64_t kBlock = std::uint64_t{4} << 20, kMost = std::uint64_t{512} << 20;
  constexpr double kSeconds = 0.08;
  FolderSpeed speed;
  struct stat facts {};
  if (::stat(directory.c_str(), &facts) == 0) speed.device = facts.st_dev;
  try {
    speed.memory = files.IsTmpfs(directory);
    if (speed.memory) return speed;
    const std::unique_ptr<File> file = files.OpenTemp(directory, direct);
    const std::unique_ptr<std::byte, decltype(&std::free)> block(
        static_cast<std::byte*>(std::aligned_alloc(4096, kBlock)), std::free);
    if (!block) return speed;
    // What a disk might compress, it compresses badly.
    std::uint64_t random = 1;
    for (std::uint64_t i = 0; i < kBlock; i += sizeof random) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      std::memcpy(block.get() + i, &random, sizeof random);
    }
    const std::span<std::byte> bytes(block.get(), kBlock);
    const std::uint64_t most = std::min(kMost, files.FreeSpace(directory) / 4);
    std::uint64_t written = 0;
    SteadyClock::time_point begin = SteadyClock::now();
    while (written < most && Since(begin) < kSeconds) {
      file->WriteAt(written, bytes);
      written += kBlock;
    }
    if (!file->direct()) file->Sync();
    speed.write = static_cast<double>(written) / Since(begin);
    if (!file->direct()) file->DropCache();
    std::uint64_t read = 0;
    begin = SteadyClock::now();
    while (read < written && Since(begin) < kSeconds) {
      if (file->ReadAt(read, bytes) == 0) break;
      read += kBlock;
    }
    if (read > 0) speed.read = static_cast<double>(read) / Since(begin);
  } catch (const Error&) {
    // Full, say: the job itself says what is wrong with the folder.
  }
  return speed;
}

}  // namespace gpusort

#include "job/expect.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "base/text.hpp"
#include "io/path.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using SteadyClock = std::chrono::steady_clock;

double Since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

double SecondsFor(double bytes, double per_second) { return per_second > 0 ? bytes / per_second : 0; }

/// The seconds of each resource that a phase uses.
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
    // The measured speed of the cores already contains memory.
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
    // Random bytes, in case the disk compresses.
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
    // The folder is full, for example. The job itself reports such an error.
  }
  return speed;
}

std::vector<JobPart> ExpectedParts(const Job& job, bool merging) {
  const Inputs& inputs = job.inputs;
  const JobSpec& spec = job.spec;
  const bool spills = job.plan.spills && (job.plan.runs == 0 || job.plan.runs > job.plan.resident_runs);
  const double in = static_cast<double>(inputs.stored_bytes());
  const bool expands = !inputs.rereadable();
  std::vector<JobPart> parts;
  if (!merging) {
    parts.push_back({"form runs", inputs.stored_bytes(), in, in, spills ? in : 0, expands});
  }
  // How little --top merges is not known.
  const double merged = spec.order.top > 0 ? 0 : in + static_cast<double>(job.plan.level_bytes);
  // Merging takes less of the cores than sorting: 0.6 to 0.8 of it if runs were spilled, otherwise half of it. With a
  // GPU, making keys is nearly all of the work of the cores.
  const bool from_disk = spills || merging;
  const double work = job.plan.gpu && job.layout.keyed() ? 0.2 : from_disk ? 0.75 : 0.5;
  const bool to_disk = spills && !job.plan.direct_temp && !spec.target.no_fsync && !IsStreamTarget(spec.target.output);
  parts.push_back({"merge runs", 0, work * merged, from_disk ? merged : 0, merged, expands, to_disk});
  if (spec.order.top > 0 || IsStreamTarget(spec.target.output)) return parts;
  if (spec.target.verify) parts.push_back({"verify output", 0, 0.25 * in, in, 0, expands});
  return parts;
}

}  // namespace gpusort

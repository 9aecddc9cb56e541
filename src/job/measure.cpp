#include "job/measure.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "io/path.hpp"
#include "job/sort_job.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "watch/summary.hpp"

namespace gpusort {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// How long each part of the measuring may take, in seconds: reading a sample, sorting a sample, and each of writing
/// and reading a file in a folder. Together they take about a second. A part that has begun to wait for a disk ends
/// later.
constexpr double kReadSeconds = 0.25, kSortSeconds = 0.3, kProbeSeconds = 0.08;
/// The number of bytes that are sorted to learn how many bytes can be sorted in kSortSeconds.
constexpr std::uint64_t kFirstSample = std::uint64_t{1} << 20, kFirstSampleOfGpu = std::uint64_t{32} << 20;
/// The largest sample. A GPU job has larger fixed costs and a higher rate, so it needs a larger sample to show its
/// rate.
constexpr std::uint64_t kMostSample = std::uint64_t{48} << 20, kMostSampleOfGpu = std::uint64_t{256} << 20;

double Since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

double SecondsFor(double bytes, double per_second) { return per_second > 0 ? bytes / per_second : 0; }

/// How many seconds a phase uses each resource. Reading, sorting and writing happen at the same time. The time of the
/// phase is therefore the longest of these times.
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
    // The measured speed of the cores already includes copying in memory.
    if (folder.memory) return;
    auto disk = std::find_if(disks_.begin(), disks_.end(), [&](const Disk& d) { return d.device == folder.device; });
    if (disk == disks_.end()) disk = disks_.insert(disk, {folder.device});
    (read ? disk->read : disk->write) += seconds;
  }

  const double cores_;
  std::vector<Disk> disks_;
};

/// A file in memory with whole records of the input.
class InputSample {
 public:
  /// Reads records from the beginning, the middle and the end of all inputs: about `sampled` bytes, or as many as can
  /// be read in kReadSeconds, and at least one record. In formats whose records can only be found from the beginning of
  /// an input, reads from there.
  InputSample(SortContext& context, std::uint64_t sampled)
      : inputs_(context.open.inputs),
        plain_(context.open.ordered.plain),
        format_(context.open.ordered.format()),
        buffer_(context.open.memory, context.ring.block_bytes),
        piece_(!context.open.ordered.table && context.layout.fixed() ? context.ring.piece_bytes
                                                                     : context.ring.block_bytes - kReadSlack),
        file_(::memfd_create("sample", MFD_CLOEXEC)) {
    if (!file_.open()) throw Error(ErrorCode::kIo, "no memory file can be made");
    Put(inputs_.header());
    whole_ = end_;
    const std::uint64_t places = context.open.ordered.table || inputs_.bytes() <= sampled ? 1 : 3;
    const std::uint64_t most = std::min(sampled / places, inputs_.bytes());
    for (std::uint64_t place = 0; place < places; ++place) {
      const SteadyClock::time_point begin = SteadyClock::now();
      std::uint64_t at = (inputs_.bytes() - most) / 2 * place, left = most;
      for (std::uint32_t input = 0; left > 0 && input < inputs_.count(); ++input) {
        const std::uint64_t size = inputs_.size(input);
        const std::uint64_t skip = std::min(at, size), count = std::min(left, size - skip);
        Take(input, skip, skip + count, begin, kReadSeconds / static_cast<double>(places));
        at -= skip;
        left -= count;
      }
    }
    // If records are longer than the sample, one of them is read.
    for (std::uint32_t input = 0; whole_ == inputs_.header().size() && input < inputs_.count(); ++input) {
      Take(input, 0, std::min(kMostSample, inputs_.size(input)), SteadyClock::now(), 0);
    }
    if (whole_ == inputs_.header().size()) throw Error(ErrorCode::kIo, "no record ends in a sample of the input");
    if (::ftruncate(file_.get(), static_cast<off_t>(whole_)) != 0) {
      throw Error(ErrorCode::kIo, "a memory file is stuck");
    }
  }

  std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }
  double bytes() const { return static_cast<double>(whole_); }
  /// The speed at which the input was read.
  double bytes_per_second() const { return seconds_ > 0 ? read_ / seconds_ : 0; }

 private:
  void Put(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(end_));
      if (count <= 0) throw Error(ErrorCode::kIo, "memory for it is refused");
      end_ += static_cast<std::uint64_t>(count);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }

  /// Adds the whole records between the bytes `at` and `stop` of an input. Stops `limit` seconds after `begin_place`,
  /// unless the sample has no record yet.
  void Take(std::uint32_t input, std::uint64_t at, const std::uint64_t stop, SteadyClock::time_point begin_place,
            double limit) {
    ScanState state;
    if (plain_.fixed()) at -= at % plain_.stride;
    bool inside = at > 0 && !plain_.fixed();
    while (at < stop && (whole_ == inputs_.header().size() || Since(begin_place) < limit)) {
      const std::uint64_t count = std::min(piece_, stop - at);
      const auto begin = StageClock::SteadyNow();
      RecordSpan bytes = inputs_.Read({input, at, count}, {buffer_.data(), buffer_.size()});
      seconds_ += InSeconds(StageClock::SteadyNow() - begin);
      read_ += static_cast<double>(count);
      at += count;
      if (inside) {
        const std::uint64_t first = FirstRecordBytes(bytes, plain_);
        if (first == 0) continue;
        bytes = bytes.subspan(first);
        inside = false;
      }
      if (at == count && format_.learns()) {
        format_.BeginInput(inputs_.Front(input, RecordFormat::kFrontBytes), input, state);
      }
      const std::uint64_t before = end_;
      Put(bytes);
      const std::uint64_t last = format_.Scan(bytes, state).last;
      if (last > 0) whole_ = before + last;
    }
    end_ = whole_;
  }

  const Inputs& inputs_;
  const RecordLayout& plain_;
  const RecordFormat& format_;
  const HostBuffer buffer_;
  const std::uint64_t piece_;
  const detail::Fd file_;
  std::uint64_t end_ = 0, whole_ = 0;  ///< the size of the file, and of the whole records in it
  double seconds_ = 0, read_ = 0;
};

/// Returns a small job like that of `context`: it sorts the sample in memory, and merges about as many runs.
JobSpec SampleJob(const SortContext& context, const InputSample& sample) {
  constexpr char kMemoryFolder[] = "/dev/shm";
  const PlanFacts& facts = context.facts;
  const Plan& plan = context.job.plan;
  Source source = context.open.spec.source;
  source.inputs = {sample.path()};
  source.codec = Codec::kNone;
  source.force_format = true;
  Target target = context.open.spec.target;
  target.output = "/dev/null";
  target.verify = target.no_fsync = false;
  target.no_space_check = true;
  target.split = 0;
  JobSpec job = SubJob(context.open.spec, std::move(source), std::move(target));
  job.order.merge = false;
  job.reports.stats.clear();
  job.reports.progress = When::kNever;
  job.dialect.strict = false;
  job.limits.memory = Size{context.open.memory.limit(), false};
  job.limits.device = facts.machine.gpu ? DeviceChoice::kGpu : DeviceChoice::kCpu;
  if (context.open.files.IsTmpfs(kMemoryFolder)) job.limits.temp_dirs = {kMemoryFolder};
  if (plan.merges_only || (plan.spills && plan.runs > plan.resident_runs)) {
    const std::uint64_t runs = std::clamp<std::uint64_t>(plan.runs, 2, std::min<std::uint64_t>(16, plan.fan_in));
    const double scale = static_cast<double>(facts.input.bytes) / static_cast<double>(context.open.inputs.bytes());
    const std::uint64_t batch = static_cast<std::uint64_t>(sample.bytes() * scale) / runs;
    job.limits.batch_bytes = plan.batch_bytes > 0 ? std::min(plan.batch_bytes, batch) : batch;
    job.limits.max_fan_in = static_cast<unsigned>(std::min<std::uint64_t>(plan.fan_in, 1u << 20));
  }
  return job;
}

/// Measures the speeds of sorting and merging `sample`. Returns how many seconds both take, without the start, in which
/// a GPU is opened.
double MeasureBackend(SortContext& context, const InputSample& sample, ExpectFacts& expected) {
  const JobSpec spec = SampleJob(context, sample);
  const QuietLog quiet;
  Output nowhere(std::make_unique<PipeWriter>(spec.target.output, context.open.cancel));
  SortContext small(spec, context.open.cancel, context.open.files, std::move(nowhere), {}, context.sorting.gpus,
                    nullptr);
  SortJob(small);
  double all = 0;
  for (const PhaseTimes& phase : small.clock.phases()) {
    const double seconds = InSeconds(phase.wall);
    if (phase.name == "form runs" && seconds > 0) expected.form = sample.bytes() / seconds;
    if (phase.name == "merge runs" && seconds > 0) expected.merge = sample.bytes() / seconds;
    if (phase.name == "form runs" || phase.name == "merge runs") all += seconds;
  }
  return all;
}

/// Measures the speeds of sorting and merging with a sample that takes about kSortSeconds. Returns the sample. The
/// first job on a GPU also loads the kernels, which matters little in a long job, so the second one counts.
std::unique_ptr<InputSample> MeasureSorting(SortContext& context, ExpectFacts& expected) {
  const bool gpu = context.facts.machine.gpu;
  const std::uint64_t first = gpu ? kFirstSampleOfGpu : kFirstSample;
  auto sample = std::make_unique<InputSample>(context, first);
  const double seconds = MeasureBackend(context, *sample, expected);
  const std::uint64_t most = std::min(context.open.inputs.bytes(), gpu ? kMostSampleOfGpu : kMostSample);
  const std::uint64_t more = SampleBytes(sample->bytes(), seconds, most);
  if (!gpu && static_cast<double>(more) <= sample->bytes()) return sample;
  sample.reset();  // frees its memory
  sample = std::make_unique<InputSample>(context, more);
  MeasureBackend(context, *sample, expected);
  return sample;
}

/// Sets the bytes that the job will move.
void CountBytes(const SortContext& context, ExpectFacts& expected) {
  const Plan& plan = context.job.plan;
  const JobSpec& spec = context.open.spec;
  const double runs = static_cast<double>(std::max<std::uint64_t>(1, plan.runs));
  const double records = static_cast<double>(context.facts.input.bytes);
  const double spilled = !plan.spills ? 0 : 1 - std::min(runs, static_cast<double>(plan.resident_runs)) / runs;
  expected.input = static_cast<double>(context.open.inputs.bytes());
  expected.spilled = spec.order.front() > 0 ? 0 : plan.merges_only ? expected.input : records * spilled;
  expected.between = static_cast<double>(plan.level_bytes);
  expected.output = spec.order.top > 0 || IsStreamTarget(spec.target.output) ? 0 : expected.input;
}

/// Sets the speeds of the folders of inputs, runs and output.
void ProbeFolders(const SortContext& context, const InputSample& sample, ExpectFacts& expected) {
  const JobSpec& spec = context.open.spec;
  const Plan& plan = context.job.plan;
  const PlanFacts& facts = context.facts;
  FileSystem& files = context.open.files;
  const std::string& first = context.open.inputs.path(0);
  struct stat input {};
  if (::stat(first.c_str(), &input) == 0) expected.input_folder.device = input.st_dev;
  const std::string folder = std::filesystem::path(first).parent_path().string();
  expected.input_folder.memory = files.IsTmpfs(folder.empty() ? "." : folder);
  expected.input_folder.read = sample.bytes_per_second();
  if (plan.merges_only) {
    expected.temp_folder = expected.input_folder;
  } else if (plan.direct_temp || facts.asked.keeps) {
    // Runs that are kept for a later process are synced. They lie in the folder of the job, which may not exist yet.
    std::filesystem::path place = TempDirectories(spec.limits.temp_dirs, context.output.file()).front();
    if (facts.asked.keeps && spec.limits.temp_dirs.empty()) place = std::filesystem::absolute(spec.survival.dir);
    while (!std::filesystem::exists(place)) place = place.parent_path();
    expected.temp_folder = ProbeFolder(files, place.string(), plan.direct_temp);
  } else {
    expected.temp_folder.memory = true;  // the page cache has room for it
  }
  if (context.output.file() == nullptr) return;
  expected.output_folder.memory = spec.target.no_fsync && !DirectOutput(facts);
  if (!expected.output_folder.memory) {
    expected.output_folder = ProbeFolder(files, context.output.file()->directory(), true);
  }
}

std::string MeasuredText(const ExpectFacts& expected, const InputSample& sample) {
  const auto speed = [](double per_second) { return FormatBytes(static_cast<std::uint64_t>(per_second)) + "/s"; };
  std::string text = "input " + speed(expected.input_folder.read);
  if (expected.temp_folder.write > 0) {
    text += ", temp " + speed(expected.temp_folder.write) + " written, " + speed(expected.temp_folder.read) + " read";
  }
  if (expected.output_folder.write > 0) text += ", output " + speed(expected.output_folder.write);
  text += ", " + FormatBytes(static_cast<std::uint64_t>(sample.bytes())) + " of the input";
  if (expected.form > 0) text += " sorted at " + speed(expected.form) + ",";
  return TableRow("measured", text + " merged at " + speed(expected.merge));
}

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

std::string Conclude(const std::vector<ExpectedPhase>& phases) {
  double all = 0;
  const ExpectedPhase* longest = &phases.front();
  for (const ExpectedPhase& phase : phases) {
    all += phase.seconds;
    if (phase.seconds > longest->seconds) longest = &phase;
  }
  return "about " + FormatDuration(all) + ", limited by " + ResourceText(longest->limit);
}

std::string Describe(const std::vector<ExpectedPhase>& phases) {
  double all = 0;
  std::string text;
  for (const ExpectedPhase& phase : phases) {
    all += phase.seconds;
    text += (text.empty() ? ": " : ", ") + phase.name + " " + FormatDuration(phase.seconds) + " (" + phase.limit + ")";
  }
  return TableRow("expected", FormatDuration(all) + text);
}

std::uint64_t SampleBytes(double bytes, double seconds, std::uint64_t most) {
  const double wanted = seconds > 0 ? bytes * kSortSeconds / seconds : static_cast<double>(most);
  const double least = std::min(bytes, static_cast<double>(most));
  return static_cast<std::uint64_t>(std::clamp(wanted, least, static_cast<double>(most)));
}

FolderSpeed ProbeFolder(FileSystem& files, const std::string& directory, bool direct) {
  constexpr std::uint64_t kBlock = std::uint64_t{4} << 20, kMost = std::uint64_t{512} << 20;
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
    // The bytes are random, because the disk may compress them.
    std::uint64_t random = 1;
    for (std::uint64_t i = 0; i < kBlock; i += sizeof random) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      std::memcpy(block.get() + i, &random, sizeof random);
    }
    const std::span<std::byte> bytes(block.get(), kBlock);
    const std::uint64_t most = std::min(kMost, files.FreeSpace(directory) / 4);
    std::uint64_t written = 0;
    SteadyClock::time_point begin = SteadyClock::now();
    // The page cache takes far more bytes in this time than a slow disk can write, so each step is synced. Steps grow,
    // because a sync takes time of its own.
    for (std::uint64_t step = kBlock; written < most; step *= 2) {
      for (const std::uint64_t end = written + step; written < end; written += kBlock) file->WriteAt(written, bytes);
      if (!file->direct()) file->Sync();
      // The next step takes as long as all steps so far.
      if (2 * Since(begin) >= kProbeSeconds) break;
    }
    speed.write = static_cast<double>(written) / Since(begin);
    if (!file->direct()) file->DropCache();
    std::uint64_t read = 0;
    begin = SteadyClock::now();
    while (read < written && Since(begin) < kProbeSeconds) {
      if (file->ReadAt(read, bytes) == 0) break;
      read += kBlock;
    }
    if (read > 0) speed.read = static_cast<double>(read) / Since(begin);
  } catch (const Error&) {
    // The folder is full, for example. The job itself reports such an error.
  }
  return speed;
}

Estimate MeasureJob(SortContext& context) {
  const auto nothing = [](const std::string& why) { return Estimate{.why_not = why}; };
  const Inputs& inputs = context.open.inputs;
  if (inputs.of_columns())
    return nothing("the input is a file of columns, whose decoded size is not known before the job");
  if (!inputs.rereadable()) return nothing("the input is a stream or compressed");
  if (inputs.bytes() == 0) return nothing("the input is empty");
  try {
    ExpectFacts expected;
    const std::unique_ptr<InputSample> sample = MeasureSorting(context, expected);
    CountBytes(context, expected);
    ProbeFolders(context, *sample, expected);
    if (context.job.plan.merges_only) expected.form = 0;
    expected.gpu = context.facts.machine.gpu;
    if (expected.gpu) expected.open = context.sorting.stats.open_seconds;
    expected.verifies = context.open.spec.target.verify;
    const std::vector<ExpectedPhase> phases = Expect(expected);
    return {.conclusion = Conclude(phases), .rows = Describe(phases) + MeasuredText(expected, *sample)};
  } catch (const Error& error) {
    if (context.open.cancel.requested()) throw;
    return nothing(error.what());
  }
}

}  // namespace gpusort

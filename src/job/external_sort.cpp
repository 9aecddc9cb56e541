#include "job/external_sort.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/out_of_memory.hpp"
#include "base/text.hpp"
#include "formats/annotator.hpp"
#include "formats/table_format.hpp"
#include "io/output_file.hpp"
#include "io/path.hpp"
#include "job/attempt.hpp"
#include "job/check_sorted.hpp"
#include "job/expect.hpp"
#include "job/find_facts.hpp"
#include "job/order.hpp"
#include "job/recovery.hpp"
#include "job/resume.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

class Sorter {
 public:
  /// `output`: no stream if the sort is only to be explained.
  Sorter(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus, FileSystem& files, Output output,
         StreamFronts fronts = {}, JobRecord* record = nullptr)
      : spec_(spec),
        ordered_(spec, spec.limits.device == DeviceChoice::kGpu ||
                           (gpus.lines && spec.limits.device == DeviceChoice::kAuto && gpus.likely())),
        cancel_(cancel),
        host_(FindMemory()),
        memory_choice_(ChooseMemory(spec.limits.memory, host_)),
        cores_(spec.limits.threads != 0 ? CoreFacts{spec.limits.threads} : FindCores()),
        files_(files),
        memory_(memory_choice_.bytes, spec.dialect.grows),
        inputs_(files_, spec.source.inputs, MakeInputOptions(spec, memory_, ordered_.format(), output.overwritten()),
                ordered_.plain, cancel, std::move(fronts)),
        journal_(OpenJournal(spec, files_, inputs_)),
        facts_(FindFacts(spec, ordered_, inputs_, memory_.limit(), journal_.get())),
        layout_(MakesKeys(facts_.input, memory_.limit()) ? facts_.input.keyed : facts_.input.plain),
        clock_("start"),
        progress_(spec.reports.progress, clock_),
        job_{spec_, layout_, cancel_, memory_, inputs_, clock_, progress_},
        sorting_{job_, ordered_, gpus, facts_},
        output_(std::move(output)),
        store_(
            spec_, files_, memory_, cancel_, TempDirectories(spec_.limits.temp_dirs, output_.file()),
            [this](const std::string& warning) { sorting_.Note(warning); }, journal_.get()),
        record_(record) {
    past_.only_gpu = spec.limits.device == DeviceChoice::kGpu;
    job_.store = &store_;
    job_.groups = ordered_.groups;
    if (!memory_choice_.warning.empty()) LogWarn(memory_choice_.warning);
    if (!memory_choice_.bound.empty()) LogInfo("memory is bounded: " + memory_choice_.bound);
    if (!cores_.limited_by.empty()) LogInfo("threads are bounded: " + ThreadBound());
    if (spec_.limits.gpu_memory && spec_.limits.device == DeviceChoice::kCpu) {
      LogWarn("--gpu-memory has no effect with --device cpu");
    }
    if (spec.order.debug) {
      job_.format = [&spec](RecordSpan line, std::string& out) { Annotate(line, spec.order.lines->order, out); };
    }
    if (spec.order.debug && spec.target.verify) {
      throw Error(ErrorCode::kUsage, "--verify-output has no meaning with --debug: the output is more than the lines");
    }
    const bool takes = layout_.fixed() || (gpus.lines && !NeedsHost(*layout_.lines));
    if (!takes && spec.limits.device == DeviceChoice::kGpu) {
      throw Error(ErrorCode::kUsage, std::string("--device gpu: this order (") +
                                         (spec.order.locale ? "a locale's" : "-g") +
                                         ") is known on the CPU only; give --device cpu or auto");
    }
    const bool would = spec.limits.device == DeviceChoice::kAuto && takes && facts_.input.expected >= gpus.min_bytes;
    const bool use_gpu = spec.limits.device == DeviceChoice::kGpu || (would && gpus.likely());
    if (would && !use_gpu) {
      if (const std::string why = WhyGpuIsUnused(); !why.empty()) LogInfo(why);
    }
    // A key that names no column is known before any work, where the header is.
    if (ordered_.table && !inputs_.header().empty()) ordered_.keyed->ReadHeader(inputs_.header());
    facts_.machine.threads = FittingThreads(cores_.cores);
    facts_.machine.free_ram = host_.available > memory_.limit() ? host_.available - memory_.limit() : 0;
    facts_.machine.gpu = use_gpu;
    ShareAll();
    ring_ = MakeRing(facts_, sorting_.shares);
    // Memory for the header is reserved already. The stage that makes keys reserves its own.
    memory_.Reserve(sorting_.shares.beside - sorting_.shares.keys.bytes() - memory_.used());
  }

  ~Sorter() {
    sorting_.runs.clear();  // before the backend: they lie in its slots
    if (record_ == nullptr) return;
    try {
      FillStats();
      record_->Leave(job_.plan.memory > 0 ? PlanText() : "", sorting_.stats);
    } catch (...) {
      // Out of memory: the record says less.
    }
  }

  std::string Explain() {
    attempt_.emplace(sorting_);
    attempt_->OpenBackend();
    attempt_->MakePlan(ring_);
    store_.CheckDirectories(job_.plan);
    const std::string unknown = "expected            --explain=full measures how long it will take\n";
    return PlanText() + (spec_.probes ? Measure() : unknown);
  }

  std::vector<PhaseTimes> phases() const { return clock_.phases(); }

  SortResult Sort() {
    if (!journal_) return SortAll();
    try {
      return SortAll();
    } catch (const Error& error) {
      const bool stopped = error.code() == ErrorCode::kCancelled && cancel_.requested();
      const bool damaged = error.code() == ErrorCode::kIntegrity;
      const std::string folder = EscapeName(journal_->folder());
      std::string text = "kept in " + folder + ": " + journal_->Progress();
      text += damaged ? ". To begin anew, remove it" : ". The same command goes on from there";
      if (gave_up_runs_) text = "nothing that was kept in " + folder + " is relied on. The same command begins anew";
      if (!journal_->manifest().job) text = "nothing was done yet that is kept";
      if (stopped) throw Error(ErrorCode::kStopped, "stopped by a signal; " + text);
      if (journal_->manifest().job) LogWarn(text);
      throw;
    }
  }

 private:
  std::string PlanText() const {
    std::string text = "record              " + spec_.source.type_note + "\n";
    const std::string files = std::to_string(inputs_.count()) + (inputs_.count() == 1 ? " file" : " files");
    text += "input               ";
    if (inputs_.rereadable()) {
      text += FormatBytes(inputs_.bytes()) + " in " + files +
              (inputs_.direct() ? ", read past the page cache" : ", read through the page cache");
    } else if (inputs_.stored_bytes() > 0) {
      text += FormatBytes(inputs_.stored_bytes()) + " in " + files + ", compressed: expanded as a stream";
    } else {
      text += inputs_.compressed() ? "a stream, compressed" : "a stream";
    }
    text += "\n";
    if (spec_.order.merge && !sorting_.merging())
      text += "merge               streams are sorted anew, which gives the same bytes\n";
    if (spec_.source.header > 0)
      text += "header              " + std::to_string(spec_.source.header) + " lines stay on top\n";
    if (spec_.order.top > 0) text += "top                 " + std::to_string(spec_.order.top) + " records\n";
    if (spec_.target.split > 0)
      text += "parts               " + std::to_string(spec_.target.split) + ", by ranges of keys\n";
    if (spec_.target.codec != Codec::kNone) {
      text += "compression         " + std::string(CodecName(spec_.target.codec)) + ", " +
              std::to_string(sorting_.shares.encoder_threads) + (sorting_.shares.encoder_threads == 1 ? " thread" : " threads") + "\n";
    }
    if (!memory_choice_.bound.empty()) text += "memory bound        " + memory_choice_.bound + "\n";
    if (!cores_.limited_by.empty()) text += "thread bound        " + ThreadBound() + "\n";
    const std::string backend = job_.backend != nullptr ? job_.backend->limits().name : "lost";
    return text + "backend             " + backend + "\n" + Describe(job_.plan);
  }

  SortResult SortAll() {
    clock_.LogPhases();
    if (record_ != nullptr) {
      record_->Begin(
          clock_, ReportMemory(true, false, memory_.limit()), facts_.machine.threads, [this] { return memory_.used(); },
          [this] {
            const std::lock_guard lock(store_mutex_);
            return store_.bytes_in_use();
          });
      job_.recorder = record_->recorder();
    }
    LogInfo("records: " + spec_.source.type_note);
    // What no plan can be made for is refused before the output takes space. A GPU's memory is not known yet.
    if (!facts_.machine.gpu) MakePlan(facts_, sorting_.shares, ring_);
    // The backend opens (0.35 s for a GPU) while the first blocks are read.
    attempt_.emplace(sorting_);
    std::future<void> opening;
    if (facts_.machine.gpu) opening = RunBeside([this] { attempt_->OpenBackend(); });
    const bool formed = TakeKeptRuns();
    if (!sorting_.merging() && !formed) attempt_->StartReading(RangesToRead(), ring_);
    PrepareOutput();
    opening.valid() ? opening.get() : attempt_->OpenBackend();
    for (;;) {
      try {
        attempt_->Prepare();
        if (spec_.dialect.strict && job_.plan.temp_bytes > 0)
          output_.FinishReserving();  // what the output has is not there for runs
        OpenStore();
        attempt_->FormRuns();
        SayWhatWasNoValue();
        if (journal_) KeepAllRuns();
        output_.FinishReserving();
        output_.ReleaseForParts();
        if (!spec_.target.headless) output_.SetHeader(inputs_.header());
        output_.SetTrailer(spec_.target.trailer.empty() ? sorting_.trailer : spec_.target.trailer);
        output_bytes_ = attempt_->MergeRuns(output_);
        break;
      } catch (const Error& error) {
        inputs_.BlameChange(error);
        StartOver(error);
      }
    }
    Publish();
    const RecordSum sum = attempt_->proof().sum();
    auto [first, last] = attempt_->proof().Ends(ordered_.table);
    return {sum.records, sorting_.stats.stored_bytes, sorting_.stats.base_runs, store_.written_bytes(), sum,
            attempt_->read(), std::move(first), std::move(last), sorting_.trailer, output_.header(),
            sorting_.tally};
  }

  /// Records of the input, in memory, and how fast they were read.
  struct Sample {
    detail::Fd file;
    double bytes = 0;
    double bytes_per_second = 0;
  };

  /// From the front, the middle and the end of all inputs; of records that are found only from the front on, from
  /// there.
  Sample TakeSample() {
    // What is the same for any size counts little: a GPU is quick, and has more of that.
    const std::uint64_t sampled = (facts_.machine.gpu ? std::uint64_t{256} : std::uint64_t{48}) << 20;
    Sample sample;
    sample.file = detail::Fd(::memfd_create("sample", MFD_CLOEXEC));
    if (!sample.file.open()) throw Error(ErrorCode::kIo, "no memory file can be made");
    std::uint64_t end = 0, whole = 0;
    const auto put = [&](std::span<const std::byte> bytes) {
      for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t count =
            ::pwrite(sample.file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(end));
        if (count <= 0) throw Error(ErrorCode::kIo, "memory for it is refused");
        end += static_cast<std::uint64_t>(count);
        done += static_cast<std::size_t>(count);
      }
    };
    put(inputs_.header());
    whole = end;
    const std::uint64_t places = ordered_.table || inputs_.bytes() <= sampled ? 1 : 3;
    const std::uint64_t most = std::min(sampled / places, inputs_.bytes());
    const HostBuffer buffer(memory_, ring_.block_bytes);
    const std::uint64_t piece =
        !ordered_.table && layout_.fixed() ? ring_.piece_bytes : ring_.block_bytes - kReadSlack;
    double seconds = 0, read = 0;
    const auto take = [&](std::uint32_t input, std::uint64_t at, const std::uint64_t stop) {
      ScanState state;
      if (ordered_.plain.fixed()) at -= at % ordered_.plain.stride;
      bool inside = at > 0 && !ordered_.plain.fixed();
      while (at < stop) {
        const std::uint64_t count = std::min(piece, stop - at);
        const auto begin = StageClock::SteadyNow();
        std::span<const std::byte> bytes = inputs_.Read({input, at, count}, {buffer.data(), buffer.size()});
        seconds += InSeconds(StageClock::SteadyNow() - begin);
        read += static_cast<double>(count);
        at += count;
        if (inside) {
          const std::uint64_t first = FirstRecordBytes(bytes, ordered_.plain);
          if (first == 0) continue;
          bytes = bytes.subspan(first);
          inside = false;
        }
        const std::uint64_t before = end;
        put(bytes);
        const std::uint64_t last = ordered_.format().Scan(bytes, state).last;
        if (last > 0) whole = before + last;
      }
      end = whole;
    };
    for (std::uint64_t place = 0; place < places; ++place) {
      std::uint64_t at = (inputs_.bytes() - most) / 2 * place, left = most;
      for (std::uint32_t input = 0; left > 0 && input < inputs_.count(); ++input) {
        const std::uint64_t size = inputs_.size(input);
        const std::uint64_t skip = std::min(at, size), count = std::min(left, size - skip);
        take(input, skip, skip + count);
        at -= skip;
        left -= count;
      }
    }
    if (whole == inputs_.header().size()) throw Error(ErrorCode::kIo, "no record ends in a sample of the input");
    if (::ftruncate(sample.file.get(), static_cast<off_t>(whole)) != 0)
      throw Error(ErrorCode::kIo, "a memory file is stuck");
    sample.bytes = static_cast<double>(whole);
    sample.bytes_per_second = seconds > 0 ? read / seconds : 0;
    return sample;
  }

  /// The job in little, in memory: what it takes where nobody waits for a disk.
  JobSpec SampleJob(const Sample& sample) {
    constexpr char kMemoryFolder[] = "/dev/shm";
    JobSpec job = spec_;
    job.action = Action::kSort;
    job.probes = false;
    job.source.inputs = {"/proc/self/fd/" + std::to_string(sample.file.get())};
    job.target.output = "/dev/null";
    job.source.codec = Codec::kNone;
    job.order.merge = job.target.verify = false;
    job.target.split = 0;
    job.reports.stats.clear();
    job.survival.dir.clear();
    job.reports.progress = When::kNever;
    job.dialect.strict = false;
    job.source.force_format = true;
    job.target.no_fsync = false;
    job.target.no_space_check = true;
    job.limits.memory = Size{memory_.limit(), false};
    job.limits.device = facts_.machine.gpu ? DeviceChoice::kGpu : DeviceChoice::kCpu;
    if (files_.IsTmpfs(kMemoryFolder)) job.limits.temp_dirs = {kMemoryFolder};
    const Plan& plan = job_.plan;
    if (plan.merges_only || (plan.spills && plan.runs > plan.resident_runs)) {
      const std::uint64_t runs = std::clamp<std::uint64_t>(plan.runs, 2, std::min<std::uint64_t>(16, plan.fan_in));
      const double scale = static_cast<double>(facts_.input.bytes) / static_cast<double>(inputs_.bytes());
      const std::uint64_t batch = static_cast<std::uint64_t>(sample.bytes * scale) / runs;
      job.limits.batch_bytes = plan.batch_bytes > 0 ? std::min(plan.batch_bytes, batch) : batch;
      job.limits.max_fan_in = static_cast<unsigned>(std::min<std::uint64_t>(plan.fan_in, 1u << 20));
    }
    return job;
  }

  /// A row of the plan.
  std::string Measure() {
    const std::string row = "expected            ";
    if (!inputs_.rereadable() || inputs_.bytes() == 0) {
      return row + "nothing can be said: the input is " + (inputs_.rereadable() ? "empty" : "a stream or compressed") +
             "\n";
    }
    try {
      const Sample sample = TakeSample();
      const JobSpec spec = SampleJob(sample);
      ExpectFacts expected;
      // The first job on a GPU also loads its kernels, which a long one does not notice.
      for (int jobs = facts_.machine.gpu ? 2 : 1; jobs > 0; --jobs) {
        const QuietLog quiet;
        Sorter sorter(spec, cancel_, sorting_.gpus, files_,
                      Output(std::make_unique<PipeWriter>(spec.target.output, cancel_)));
        sorter.Sort();
        for (const PhaseTimes& phase : sorter.phases()) {
          const double seconds = InSeconds(phase.wall);
          if (phase.name == "form runs" && seconds > 0) expected.form = sample.bytes / seconds;
          if (phase.name == "merge runs" && seconds > 0) expected.merge = sample.bytes / seconds;
        }
      }
      const Plan& plan = job_.plan;
      const std::uint64_t runs = std::max<std::uint64_t>(1, plan.runs);
      const double records = static_cast<double>(facts_.input.bytes);
      const double spilled =
          !plan.spills ? 0 : 1 - static_cast<double>(std::min(runs, plan.resident_runs)) / static_cast<double>(runs);
      expected.input = static_cast<double>(inputs_.bytes());
      expected.spilled = spec_.order.top > 0 ? 0 : plan.merges_only ? expected.input : records * spilled;
      expected.between = static_cast<double>(plan.level_bytes);
      expected.output = spec_.order.top > 0 || IsStreamTarget(spec_.target.output) ? 0 : expected.input;
      if (plan.merges_only) expected.form = 0;
      expected.gpu = facts_.machine.gpu;
      if (facts_.machine.gpu) expected.open = sorting_.stats.open_seconds;
      expected.verifies = spec_.target.verify;
      struct stat input {};
      if (::stat(inputs_.path(0).c_str(), &input) == 0) expected.input_folder.device = input.st_dev;
      const std::string folder = std::filesystem::path(inputs_.path(0)).parent_path().string();
      expected.input_folder.memory = files_.IsTmpfs(folder.empty() ? "." : folder);
      expected.input_folder.read = sample.bytes_per_second;
      const std::vector<std::string> temp = TempDirectories(spec_.limits.temp_dirs, output_.file());
      if (plan.merges_only) {
        expected.temp_folder = expected.input_folder;
      } else if (plan.direct_temp || facts_.asked.keeps) {
        // Runs that are kept are synced, and lie in the job's folder, which may not be there yet.
        std::filesystem::path place = temp.front();
        if (facts_.asked.keeps && spec_.limits.temp_dirs.empty()) place = std::filesystem::absolute(spec_.survival.dir);
        while (!std::filesystem::exists(place)) place = place.parent_path();
        expected.temp_folder = ProbeFolder(files_, place.string(), plan.direct_temp);
      } else {
        expected.temp_folder.memory = true;  // the page cache has room for it
      }
      if (output_.file() != nullptr) {
        expected.output_folder.memory = spec_.target.no_fsync && !DirectOutput(facts_);
        if (!expected.output_folder.memory)
          expected.output_folder = ProbeFolder(files_, output_.file()->directory(), true);
      }
      std::string text = gpusort::Describe(Expect(expected));
      const auto speed = [](double per_second) { return FormatBytes(static_cast<std::uint64_t>(per_second)) + "/s"; };
      text += "measured            input " + speed(expected.input_folder.read);
      if (expected.temp_folder.write > 0) {
        text +=
            ", temp " + speed(expected.temp_folder.write) + " written, " + speed(expected.temp_folder.read) + " read";
      }
      if (expected.output_folder.write > 0) text += ", output " + speed(expected.output_folder.write);
      text += ", " + FormatBytes(static_cast<std::uint64_t>(sample.bytes)) + " of the input";
      if (expected.form > 0) text += " sorted at " + speed(expected.form) + ",";
      return text + " merged at " + speed(expected.merge) + "\n";
    } catch (const Error& error) {
      if (cancel_.requested()) throw;
      return row + "nothing can be said: " + error.what() + "\n";
    }
  }

  /// What a process before this one has done; true if all of the input is in runs.
  bool TakeKeptRuns() {
    if (!journal_ || !journal_->resumes()) return false;
    sorting_.runs = RunsToGoOnWith(*journal_, inputs_);
    if (!sorting_.runs.empty() && !KeptRunsAreOfInputs()) {
      sorting_.runs.clear();
      journal_->DropRuns();
      return false;
    }
    if (!sorting_.runs.empty()) past_.suspect = "who made the runs that were kept";
    sorting_.trailer = journal_->manifest().trailer;
    LogInfo("going on with " + journal_->Progress());
    return journal_->manifest().formed;
  }

  /// Whether the inputs are what the kept runs were made of. An input whose ctime alone is another is read again as far
  /// as runs have it. Runs with keys do not know their places in it, and are given up.
  bool KeptRunsAreOfInputs() {
    const std::vector<std::uint32_t> touched = InputsWithOtherCtime(*journal_, inputs_);
    if (touched.empty()) return true;
    const std::string what = EscapeName(inputs_.path(touched[0])) +
                             (touched.size() > 1 ? " and " + std::to_string(touched.size() - 1) + " more" : "") +
                             ": its ctime has changed since the last attempt, its size and mtime have not";
    if (layout_.keyed()) {
      LogWarn(what + "; its content may have changed, so the job begins anew");
      return false;
    }
    std::vector<const Run*> runs;
    std::uint64_t bytes = 0;
    for (const Run& run : sorting_.runs) {
      const bool of_touched = std::any_of(run.origin.begin(), run.origin.end(), [&](const InputRange& range) {
        return std::binary_search(touched.begin(), touched.end(), range.input);
      });
      if (!of_touched) continue;
      runs.push_back(&run);
      bytes += TotalBytes(run.origin);
    }
    progress_.SetPhase("check inputs", bytes);
    for (const Run* run : runs) {
      if (HasRecordsOf(*run, inputs_, layout_, facts_.earlier.longest, memory_, cancel_, progress_)) continue;
      LogWarn(what + "; its content has changed, so the job begins anew");
      return false;
    }
    LogInfo(what + "; its records that were sorted are the same");
    return true;
  }

  /// Those of records with keys, which do not know their places in the input, count only when all are there.
  void KeepAllRuns() {
    const HostBuffer buffer(memory_, job_.plan.block_bytes);
    for (const Run& run : sorting_.runs) {
      if (journal_->manifest().runs.contains(run.id)) continue;
      store_.Keep(run, layout_, {buffer.data(), buffer.size()});
    }
    journal_->SetFormed(sorting_.trailer);
  }

  std::vector<InputRange> RangesToRead() const {
    return job_.rereadable() ? MissingRanges(inputs_.Ranges(), sorting_.runs) : inputs_.Ranges();
  }

  std::string ThreadBound() const { return std::to_string(cores_.cores) + " by " + cores_.limited_by; }

  /// Measures keys and divides the memory.
  void ShareAll() {
    // Keys are planned for first: the threads that fit depend on how long records get with them.
    if (layout_.keyed()) MeasureKeys(facts_.input, *ordered_.keyed, inputs_, memory_);
    sorting_.shares = ShareMemory(facts_);
    const unsigned planned = sorting_.shares.threads, most = facts_.machine.threads;
    if (most < cores_.cores) {
      LogInfo("the limit on addresses (ulimit -v, -d) leaves room for " + std::to_string(most) + " threads");
    }
    if (planned < most) {
      LogInfo("the memory is enough for " + std::to_string(planned) + (planned == 1 ? " thread" : " threads"));
    }
  }

  void OpenStore() {
    const std::lock_guard lock(store_mutex_);
    const bool first = journal_ && !store_.open();
    if (first) BeginJournal();
    store_.Open(job_.plan, sorting_.shares.threads);
    if (!store_.open()) return;
    if (first) store_.FindBlocks(sorting_.runs, layout_);
    facts_.earlier.temp_places = job_.plan.temp_places;
    facts_.earlier.block_bytes = job_.plan.block_bytes;
  }

  void BeginJournal() {
    if (journal_->resumes() && sorting_.runs.empty()) journal_->DropRuns();
    KeptJob job;
    job.block_bytes = job_.plan.block_bytes;
    job.keyed = layout_.keyed();
    job.partial = PartialName(spec_);
    job.input = EscapeName(inputs_.path(0));
    if (inputs_.count() > 1) job.input += " and " + std::to_string(inputs_.count() - 1) + " more";
    job.output = EscapeName(spec_.target.output);
    job.input_bytes = inputs_.bytes();
    if (!journal_->resumes()) job.fingerprint = MakeFingerprint(spec_, files_, inputs_);
    KeptAttempt attempt;
    attempt.compresses = job_.plan.temp_places > 0;
    for (std::uint32_t i = 0; i < inputs_.count(); ++i) {
      attempt.ctimes.push_back(static_cast<std::uint64_t>(inputs_.facts(i).ctime_ns));
    }
    journal_->Begin(std::move(job), attempt, spec_.limits.temp_dirs);
    if (journal_->manifest().job->block_bytes != job_.plan.block_bytes) {
      throw Error(ErrorCode::kInternal, "blocks of " + std::to_string(job_.plan.block_bytes) + " bytes do not go on " +
                                            "those of " + std::to_string(journal_->manifest().job->block_bytes));
    }
    // No id is used twice, so that no block of a run that was given up passes for one of another.
    job_.next_run_id = journal_->manifest().attempts.size() << 32;
  }

  /// Says it once, whatever attempts the job takes. Throws Error(kBadInput) if a key has no value at all.
  void SayWhatWasNoValue() {
    if (!ordered_.table || std::exchange(said_no_values_, true)) return;
    // A slice may lack the values that other slices have: the task that cuts parts looks at all.
    if (spec_.source.ranges.empty() && !spec_.source.force_format) RefuseNoValues(spec_, sorting_.tally);
    for (const std::string& line : DescribeTally(spec_, sorting_.tally)) sorting_.Note(line);
  }

  /// What is written of the output stays, too, where that is one file, as it will be, from its front on.
  void TakeUpOutput() {
    OutputFile* const file = output_.file();
    if (!journal_ || file == nullptr || !file->in_place().empty() || output_.parts() != nullptr ||
        spec_.target.codec != Codec::kNone || spec_.order.top > 0 || spec_.order.debug) {
      return;
    }
    const bool goes_on = journal_->resumes() && journal_->manifest().merge;
    const std::uint64_t bytes = goes_on ? journal_->manifest().merge->output_bytes : 0;
    bool whole = file->TakeUp(journal_->resumes() ? journal_->manifest().job->partial : PartialName(spec_), bytes);
    if (goes_on && whole) {
      output_.SetHeader(inputs_.header());
      whole = output_.HasFront(bytes, journal_->manifest().merge->front, ordered_.plain, ordered_.format(), ordered_.column_keys(),
                               spec_.order.unique, facts_.earlier.longest, memory_, cancel_, progress_);
    }
    if (!whole) {
      sorting_.Note("what was written of the output is not there, or damaged: it is written anew");
      file->Release();
      journal_->ForgetMerge();
    }
    job_.checkpoints = journal_.get();
  }

  void PrepareOutput() {
    TakeUpOutput();
    if (output_.file() != nullptr && DirectOutput(facts_)) output_.file()->MakeDirect();
    if (spec_.target.codec != Codec::kNone) {
      EncoderOptions options;
      options.threads = sorting_.shares.encoder_threads;
      output_.Compress(spec_.target.codec, options, clock_);
    } else if (output_.file() != nullptr && inputs_.rereadable() && !spec_.order.debug && !spec_.order.unique &&
               spec_.order.top == 0 && !spec_.target.no_space_check) {
      output_.Reserve(files_, inputs_.bytes());
    }
  }

  /// The attempt after one that failed. Runs that are not on the device stay, the rest of the input is sorted again;
  /// what a stream's reader holds goes on. Records that are given keys are all read again if one was lost: which part
  /// of the input they come from is not known. If what was sorted is wrong, nobody knows in which run, and none stays.
  /// Rethrows what cannot be helped.
  void StartOver(const Error& error) {
    if (facts_.machine.gpu) {
      past_.suspect = attempt_->backend().limits().full_name();
      past_.of_gpu = true;
    }
    past_.only_once = output_.sent()          ? "the output, a stream, has taken a part of it"
                      : !inputs_.rereadable() ? "an input is a stream or compressed, and is not read twice"
                                              : "";
    std::optional<Recovery> recovery;
    if (!cancel_.requested()) recovery = Recover(error, facts_, past_);
    if (!recovery && dynamic_cast<const WrongResult*>(&error) != nullptr) {
      GiveUpKeptRuns();
      throw WrongResult(Blame(error, past_));
    }
    if (!recovery) throw;
    Reading stream = attempt_->TakeReading();
    const bool all_read = !stream.feeder;
    const std::size_t runs = sorting_.runs.size();
    if (inputs_.rereadable()) stream.feeder.reset();
    // Always a fresh backend: lanes of the old one were cancelled for good.
    attempt_.reset();
    const bool lost = !all_read || sorting_.runs.size() < runs;
    const bool wrong = recovery->way == Recovery::Way::kAnew;
    const bool anew = wrong || (layout_.keyed() && inputs_.rereadable() && lost);
    if (sorting_.merging() || anew) store_.Drop(sorting_.runs);
    sorting_.Note(recovery->note);
    facts_ = std::move(recovery->facts);
    if (recovery->way == Recovery::Way::kSmaller) ++past_.smaller;
    if (wrong) {
      past_.suspect.clear();
      output_.Restart();
    }
    if (recovery->way == Recovery::Way::kSort) {
      {
        const std::lock_guard lock(store_mutex_);
        store_.Close();
      }
      CheckEachInput();
      sorting_.shares.memory = memory_.left();
      facts_.earlier.block_bytes = 0;
    }
    attempt_.emplace(sorting_, std::move(stream));
    attempt_->OpenBackend();
    if (sorting_.merging()) return;
    const std::vector<InputRange> missing = anew || job_.rereadable() ? RangesToRead() : std::vector<InputRange>{};
    if (!missing.empty()) attempt_->StartReading(missing, MakeRing(facts_, sorting_.shares));
  }

  /// Else the same command would merge them again, with the same end.
  void GiveUpKeptRuns() {
    if (!journal_ || !store_.open()) return;
    try {
      journal_->DropRuns();
      gave_up_runs_ = true;
    } catch (const Error& error) {
      LogWarn(std::string("the runs in --resume-dir are not to be relied on, but could not be dropped: ") +
              error.what());
    }
  }

  /// Of -m: what is sorted in place of it must be in order all the same.
  void CheckEachInput() {
    for (const std::string& input : spec_.source.inputs) {
      JobSpec one = spec_;
      one.source.inputs = {input};
      one.order.unique = false;
      one.limits.memory = Size{memory_.left(), false};
      one.source.max_record = job_.plan.ring.max_record;
      try {
        CheckSorted(one, cancel_);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kNotSorted) throw;
        throw Error(ErrorCode::kBadInput, std::string(error.what()) + SortInstead(ordered_.plain));
      }
    }
  }

  void VerifyOutput() {
    try {
      output_.Verify(ordered_.plain, ordered_.format(), ordered_.column_keys(), spec_.order.unique, job_.plan.ring.max_record,
                     attempt_->proof().sum(), spec_.target.state, memory_, cancel_, progress_);
    } catch (const Error& error) {
      if (job_.checkpoints != nullptr && error.code() == ErrorCode::kIntegrity) {
        output_.file()->Release();
        journal_->ForgetMerge();
      }
      throw;
    }
  }

  void Publish() {
    clock_.BeginPhase("publish");
    const std::uint64_t stored = output_.Finish(output_bytes_);
    sorting_.stats.stored_bytes = stored;
    if (spec_.target.no_fsync) sorting_.Note("--no-fsync: the output may be lost if the machine stops now");
    if (output_.file() != nullptr) {
      if (spec_.target.verify) {
        VerifyOutput();
      }
      cancel_.ThrowIfRequested();
      progress_.SetPhase("publish", 0);
    }
    if (journal_) {
      output_.Complete(!spec_.target.no_fsync);
      const FileFacts facts = output_.file()->Facts();
      journal_->SetPublishing(
          {facts.ino, facts.size, static_cast<std::uint64_t>(facts.mtime_ns), attempt_->proof().sum().records});
    }
    output_.Publish(!spec_.target.no_fsync);
    SetOutOfMemoryText("out of memory; the output is in place");
    progress_.Finish();
    for (const std::string& text : output_.Lost()) sorting_.Note(text);
    if (journal_) FinishJournal();
    sorting_.stats.records_out = attempt_->proof().sum().records;
    if (sorting_.stats.records_out == 0 && IsAllHeader(spec_, inputs_)) sorting_.Note(kAllHeader);
    sorting_.stats.bytes = output_bytes_;
    FillStats();
    if (!spec_.reports.stats.empty()) WriteStatsFile(spec_.reports.stats, sorting_.stats);
  }

  /// The output is in place: nothing that fails now is worth an error.
  void FinishJournal() {
    const std::vector<KeptAttempt>& attempts = journal_->manifest().attempts;
    sorting_.stats.attempts.assign(attempts.begin(), attempts.end());
    try {
      journal_->Finish(spec_.survival.keep);
    } catch (const Error& error) {
      sorting_.Note(std::string("the output is in place, but --resume-dir was not ended: ") + error.what());
    }
  }

  /// As far as the job came.
  void FillStats() {
    SortStats& stats = sorting_.stats;
    if (job_.backend != nullptr) {
      stats.backend = job_.backend->limits().name;
      stats.device_peak = std::max(stats.device_peak, job_.backend->device_peak());
    }
    stats.gpu = facts_.machine.gpu;
    stats.top = spec_.order.top;
    stats.header_lines = output_.header().empty() ? 0 : CountRecords(output_.header(), ordered_.plain);
    stats.host_peak = memory_.peak();
    stats.host_limit = memory_.limit();
    stats.temp_peak = store_.peak_bytes();
    stats.temp_written = store_.written_bytes();
    stats.temp_codec = CodecName(store_.codec());
    const Plan& plan = job_.plan;
    stats.plan = {plan.gpu ? plan.gpus : 0, plan.fan_in,        plan.slot_bytes, plan.block_bytes,
                  plan.window_bytes,        plan.device_memory, plan.temp_bytes};
    stats.phases = clock_.phases();
  }

  const JobSpec& spec_;
  const Ordered ordered_;
  CancelFlag& cancel_;
  const MemoryFacts host_;
  const MemoryChoice memory_choice_;
  const CoreFacts cores_;
  FileSystem& files_;
  HostMemory memory_;
  Inputs inputs_;
  const std::unique_ptr<Journal> journal_;
  PlanFacts facts_;
  const RecordLayout layout_;  ///< of runs
  StageClock clock_;
  Progress progress_;
  Job job_;
  Sorting sorting_;
  Ring ring_;               ///< of the first attempt
  Past past_;
  bool gave_up_runs_ = false;
  bool said_no_values_ = false;
  Output output_;
  RunStore store_;
  std::mutex store_mutex_;  ///< while it is opened and closed: a recorder looks at it
  JobRecord* const record_;
  std::optional<Attempt> attempt_;
  std::uint64_t output_bytes_ = 0;
};

}  // namespace

SortResult ExternalSort(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus, JobRecord* record) {
  FileSystem files;
  if (const std::optional<KeptOutput> done = FinishPublished(spec, files)) return {done->records, done->bytes};
  return ExternalSort(spec, cancel, files, Output::Open(files, spec, cancel), {}, gpus, record);
}

SortResult ExternalSort(const JobSpec& spec, CancelFlag& cancel, FileSystem& files, Output output, StreamFronts fronts,
                        const GpuSource& gpus, JobRecord* record) {
  return Sorter(spec, cancel, gpus, files, std::move(output), std::move(fronts), record).Sort();
}

std::string ExplainSort(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus) {
  FileSystem files;
  // So that what the job would find wrong with it is found. It has no name yet and is dropped; a pipe would be opened.
  Output output;
  if (!IsStreamTarget(spec.target.output)) output = Output::Open(files, spec, cancel);
  return Sorter(spec, cancel, gpus, files, std::move(output)).Explain();
}

}  // namespace gpusort

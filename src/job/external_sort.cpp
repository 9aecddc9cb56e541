#include "job/external_sort.hpp"

#include <algorithm>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "error.hpp"
#include "formats/annotator.hpp"
#include "formats/table_format.hpp"
#include "job/attempt.hpp"
#include "job/check_sorted.hpp"
#include "job/memory_shares.hpp"
#include "job/order.hpp"
#include "job/recovery.hpp"
#include "job/resume.hpp"
#include "records/records.hpp"
#include "support/log.hpp"
#include "support/machine.hpp"
#include "thread.hpp"

namespace gpusort {
namespace {

class Sorter {
 public:
  /// `output`: no stream if the sort is only to be explained.
  Sorter(const Options& options, CancelFlag& cancel, const GpuSource& gpus, FileSystem& files, Output output,
         StreamFronts fronts = {})
      : options_(options),
        ordered_(options, options.device == DeviceChoice::kGpu ||
                              (gpus.lines && options.device == DeviceChoice::kAuto && gpus.likely())),
        cancel_(cancel),
        host_(FindMemory()),
        files_(files),
        memory_(options.memory ? std::max<std::uint64_t>(1, options.memory->Resolve(host_.limit))
                               : std::min(host_.limit, host_.available) / 2,
                options.grows),
        inputs_(files_, options.inputs, MakeInputOptions(options, memory_, ordered_.format(), output.overwritten()),
                ordered_.plain, cancel, std::move(fronts)),
        journal_(OpenJournal(options, files_, inputs_)),
        shares_(options, ordered_, inputs_, FittingThreads(ThreadsAsked(options)),
                options.merge && inputs_.rereadable() && !ordered_.table, ShapeOfKept(journal_.get())),
        layout_(shares_.LayoutAt(memory_.limit())),
        clock_("start"),
        progress_(options.progress, clock_),
        job_{options_, layout_, cancel_, memory_, inputs_, clock_, progress_},
        sorting_{job_, ordered_, gpus},
        output_(std::move(output)),
        store_(
            options_, files_, memory_, cancel_, TempDirectories(options_.temp_dirs, output_.file()),
            [this](const std::string& warning) { sorting_.Note(warning); }, journal_.get()) {
    job_.store = &store_;
    job_.groups = ordered_.groups;
    if (options_.memory && memory_.limit() > host_.limit) {
      LogWarn("--memory " + FormatBytes(memory_.limit()) + " is more than this process can have (" +
              FormatBytes(host_.limit) + ")");
    }
    if (options_.gpu_memory && options_.device == DeviceChoice::kCpu) {
      LogWarn("--gpu-memory has no effect with --device cpu");
    }
    if (options.debug) {
      job_.format = [&options](RecordSpan line, std::string& out) { Annotate(line, options.lines->order, out); };
    }
    if (options.debug && options.verify_output) {
      throw Error(ErrorCode::kUsage, "--verify-output has no meaning with --debug: the output is more than the lines");
    }
    const bool takes = layout_.fixed() || (gpus.lines && !NeedsHost(*layout_.lines));
    if (!takes && options.device == DeviceChoice::kGpu) {
      throw Error(ErrorCode::kUsage, std::string("--device gpu: this order (") +
                                         (options.locale ? "a locale's" : "-g") +
                                         ") is known on the CPU only; give --device cpu or auto");
    }
    const bool use_gpu =
        options.device == DeviceChoice::kGpu ||
        (options.device == DeviceChoice::kAuto && takes && gpus.likely() && shares_.LeastExpected() >= gpus.min_bytes);
    // A key that names no column is known before any work, where the header is.
    if (ordered_.table && !inputs_.header().empty()) ordered_.keyed->ReadHeader(inputs_.header());
    FindFacts(use_gpu);
    ring_ = MakeRing(facts());
    // The header's is reserved, and that for keys is for who makes them.
    memory_.Reserve(facts().codec_memory - sorting_.keys.bytes() - memory_.used());
  }

  ~Sorter() { sorting_.runs.clear(); }  // before the backend: they lie in its slots

  std::string Explain() {
    attempt_.emplace(sorting_);
    attempt_->OpenBackend();
    job_.plan = MakePlan(facts(), ring_);
    store_.CheckDirectories(job_.plan);
    std::string text = "record              " + options_.type_note + "\n";
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
    if (options_.merge && !sorting_.merging())
      text += "merge               streams are sorted anew, which gives the same bytes\n";
    if (options_.header > 0) text += "header              " + std::to_string(options_.header) + " lines stay on top\n";
    if (options_.top > 0) text += "top                 " + std::to_string(options_.top) + " records\n";
    if (options_.split > 0) text += "parts               " + std::to_string(options_.split) + ", by ranges of keys\n";
    if (options_.output_codec != Codec::kNone) {
      const EncoderOptions encoder = shares_.EncoderAt(memory_.limit());
      text += "compression         " + std::string(CodecName(options_.output_codec)) + ", " +
              std::to_string(encoder.threads) + (encoder.threads == 1 ? " thread" : " threads") + "\n";
    }
    return text + "backend             " + job_.backend->limits().name + "\n" + Describe(job_.plan);
  }

  SortResult Sort() {
    if (!journal_) return SortAll();
    try {
      return SortAll();
    } catch (const Error& error) {
      const bool stopped = error.code() == ErrorCode::kCancelled && cancel_.requested();
      const bool damaged = error.code() == ErrorCode::kIntegrity;
      std::string text = "kept in " + EscapeName(journal_->folder()) + ": " + journal_->Progress();
      text += damaged ? ". To begin anew, remove it" : ". The same command goes on from there";
      if (!journal_->manifest().job) text = "nothing was done yet that is kept";
      if (stopped) throw Error(ErrorCode::kStopped, "stopped by a signal; " + text);
      if (journal_->manifest().job) LogWarn(text);
      throw;
    }
  }

 private:
  SortResult SortAll() {
    LogInfo("records: " + options_.type_note);
    // What no plan can be made for is refused before the output takes space. A GPU's memory is not known yet.
    if (!facts().gpu) MakePlan(facts(), ring_);
    // The backend opens (0.35 s for a GPU) while the first blocks are read.
    attempt_.emplace(sorting_);
    std::future<void> opening;
    if (facts().gpu) opening = RunBeside([this] { attempt_->OpenBackend(); });
    const bool formed = TakeKeptRuns();
    if (!sorting_.merging() && !formed) attempt_->StartReading(RangesToRead(), ring_);
    PrepareOutput();
    opening.valid() ? opening.get() : attempt_->OpenBackend();
    for (;;) {
      try {
        attempt_->Prepare();
        if (options_.strict && job_.plan.temp_bytes > 0)
          output_.FinishReserving();  // what the output has is not there for runs
        OpenStore();
        attempt_->FormRuns();
        if (journal_) journal_->SetFormed(sorting_.trailer);
        SayWhatWasNoValue();
        output_.FinishReserving();
        output_.ReleaseForParts();
        output_.SetHeader(inputs_.header());
        output_.SetTrailer(sorting_.trailer);
        output_bytes_ = attempt_->MergeRuns(output_);
        break;
      } catch (const Error& error) {
        inputs_.BlameChange(error);
        StartOver(error);
      }
    }
    Publish();
    return {attempt_->proof().sum().records, sorting_.stats.stored_bytes};
  }

  PlanFacts& facts() { return sorting_.facts; }

  /// What a process before this one has done; true if all of the input is in runs.
  bool TakeKeptRuns() {
    if (!journal_ || !journal_->resumes()) return false;
    sorting_.runs = RunsToGoOnWith(*journal_, inputs_);
    sorting_.trailer = journal_->manifest().trailer;
    LogInfo("going on with " + journal_->Progress());
    return journal_->manifest().formed;
  }

  std::vector<InputRange> RangesToRead() const {
    return job_.rereadable() ? MissingRanges(inputs_.Ranges(), sorting_.runs) : inputs_.Ranges();
  }

  static unsigned ThreadsAsked(const Options& options) {
    return options.threads != 0 ? options.threads : AvailableCores();
  }

  void FindFacts(bool use_gpu) {
    PlanFacts& facts = sorting_.facts;
    facts.layout = layout_;
    facts.input_bytes = inputs_.bytes();
    facts.input_known = inputs_.rereadable();
    facts.rereadable = inputs_.rereadable();
    for (std::uint32_t i = 0; options_.merge && inputs_.rereadable() && !ordered_.table && i < inputs_.count(); ++i) {
      facts.sorted_inputs.push_back(inputs_.size(i));
    }
    facts.free_ram = host_.available > memory_.limit() ? host_.available - memory_.limit() : 0;
    facts.output_file = !IsStreamTarget(options_.output) && options_.output_codec == Codec::kNone && !layout_.keyed() &&
                        !options_.debug && options_.split == 0;
    facts.unique = options_.unique;
    facts.top = options_.top;
    facts.gpu = use_gpu;
    facts.batch_bytes = options_.batch_bytes;
    facts.block_bytes = options_.block_bytes;
    facts.fan_in = options_.max_fan_in;
    facts.max_record = options_.max_record;
    facts.keeps = !options_.resume_dir.empty();
    if (journal_) TakeOver(*journal_, facts);
    facts.grows = options_.grows;
    facts.at_limit = [this](std::uint64_t limit) {
      PlanFacts other = sorting_.facts;
      shares_.Share(other, limit);
      return other;
    };
    sorting_.keys = shares_.Share(facts, memory_.limit());
    if (shares_.threads() < ThreadsAsked(options_)) {
      LogInfo("the limit on addresses (ulimit -v) leaves room for " + std::to_string(shares_.threads()) + " threads");
    }
    if (facts.threads < shares_.threads()) {
      LogInfo("the memory is enough for " + std::to_string(facts.threads) + " threads");
    }
    if (layout_.keyed()) PlanKeys(facts, *ordered_.keyed, inputs_, memory_);
  }

  void OpenStore() {
    const bool first = journal_ && !store_.open();
    if (first) BeginJournal();
    store_.Open(job_.plan, facts().threads);
    if (!store_.open()) return;
    if (first) store_.FindBlocks(sorting_.runs, layout_);
    facts().temp_places = job_.plan.temp_places;
    facts().block_bytes = job_.plan.block_bytes;
  }

  void BeginJournal() {
    if (journal_->resumes() && sorting_.runs.empty()) journal_->DropRuns();
    KeptJob job;
    job.block_bytes = job_.plan.block_bytes;
    job.keyed = layout_.keyed();
    job.partial = PartialName(options_);
    job.input = EscapeName(inputs_.path(0));
    if (inputs_.count() > 1) job.input += " and " + std::to_string(inputs_.count() - 1) + " more";
    job.output = EscapeName(options_.output);
    job.input_bytes = inputs_.bytes();
    if (!journal_->resumes()) job.fingerprint = MakeFingerprint(options_, files_, inputs_);
    KeptAttempt attempt;
    attempt.compresses = job_.plan.temp_places > 0;
    journal_->Begin(std::move(job), attempt, options_.temp_dirs);
    if (journal_->manifest().job->block_bytes != job_.plan.block_bytes) {
      throw Error(ErrorCode::kInternal, "blocks of " + std::to_string(job_.plan.block_bytes) + " bytes do not go on " +
                                            "those of " + std::to_string(journal_->manifest().job->block_bytes));
    }
    // No id is used twice, so that no block of a run that was given up passes for one of another.
    job_.next_run_id = journal_->manifest().attempts.size() << 32;
  }

  /// Once, whatever attempts it takes.
  void SayWhatWasNoValue() {
    if (!ordered_.table || std::exchange(said_no_values_, true)) return;
    for (const std::string& line : DescribeTally(options_, sorting_.tally)) sorting_.Note(line);
  }

  /// What is written of the output stays, too, where that is one file, as it will be, from its front on.
  void TakeUpOutput() {
    OutputFile* const file = output_.file();
    if (!journal_ || file == nullptr || !file->in_place().empty() || output_.parts() != nullptr ||
        options_.output_codec != Codec::kNone || options_.top > 0 || options_.debug) {
      return;
    }
    const bool goes_on = journal_->resumes() && journal_->manifest().merge;
    const std::uint64_t bytes = goes_on ? journal_->manifest().merge->output_bytes : 0;
    bool whole = file->TakeUp(journal_->resumes() ? journal_->manifest().job->partial : PartialName(options_), bytes);
    if (goes_on && whole) {
      output_.SetHeader(inputs_.header());
      whole = output_.HasFront(bytes, journal_->manifest().merge->front, ordered_.plain, ordered_.format(),
                               options_.unique, facts().kept_record, memory_, cancel_, progress_);
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
    if (output_.file() != nullptr && DirectOutput(facts())) output_.file()->MakeDirect();
    if (options_.output_codec != Codec::kNone) {
      output_.Compress(options_.output_codec, shares_.EncoderAt(memory_.limit()), clock_);
    } else if (output_.file() != nullptr && inputs_.rereadable() && !options_.debug && !options_.unique &&
               options_.top == 0 && !options_.no_space_check) {
      output_.Reserve(files_, inputs_.bytes());
    }
  }

  /// The attempt after one that failed. Runs that are not on the device stay, the rest of the input is sorted again;
  /// what a stream's reader holds goes on. Records that are given keys are all read again if one was lost: which part
  /// of the input they come from is not known. Rethrows what cannot be helped.
  void StartOver(const Error& error) {
    std::optional<Recovery> recovery;
    if (!cancel_.requested()) {
      recovery = Recover(error, facts(), smaller_plans_, options_.device == DeviceChoice::kGpu);
    }
    if (!recovery) throw;
    Reading stream = attempt_->TakeReading();
    const bool all_read = !stream.feeder;
    const std::size_t runs = sorting_.runs.size();
    if (inputs_.rereadable()) stream.feeder.reset();
    // Always a fresh backend: lanes of the old one were cancelled for good.
    attempt_.reset();
    const bool lost = !all_read || sorting_.runs.size() < runs;
    const bool anew = layout_.keyed() && inputs_.rereadable() && lost;
    if (sorting_.merging() || anew) store_.Drop(sorting_.runs);
    sorting_.Note(recovery->note);
    facts() = std::move(recovery->facts);
    if (recovery->way == Recovery::Way::kSmaller) ++smaller_plans_;
    if (recovery->way == Recovery::Way::kSort) {
      store_.Close();
      CheckEachInput();
      facts().memory = memory_.left();
      facts().block_bytes = options_.block_bytes;
    }
    attempt_.emplace(sorting_, std::move(stream));
    attempt_->OpenBackend();
    if (sorting_.merging()) return;
    const std::vector<InputRange> missing = anew || job_.rereadable() ? RangesToRead() : std::vector<InputRange>{};
    if (!missing.empty()) attempt_->StartReading(missing, MakeRing(facts()));
  }

  /// Of -m: what is sorted in place of it must be in order all the same.
  void CheckEachInput() {
    for (const std::string& input : options_.inputs) {
      Options one = options_;
      one.inputs = {input};
      one.unique = false;
      one.memory = Size{memory_.left(), false};
      one.max_record = job_.plan.ring.max_record;
      try {
        CheckSorted(one, cancel_);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kNotSorted) throw;
        throw Error(ErrorCode::kBadInput, std::string(error.what()) + "; sort it without -m");
      }
    }
  }

  void VerifyOutput() {
    try {
      output_.Verify(ordered_.plain, ordered_.format(), options_.unique, job_.plan.ring.max_record,
                     attempt_->proof().sum(), memory_, cancel_, progress_);
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
    if (options_.no_fsync) sorting_.Note("--no-fsync: the output may be lost if the machine stops now");
    if (output_.file() != nullptr) {
      if (options_.verify_output) {
        VerifyOutput();
      }
      cancel_.ThrowIfRequested();
      progress_.SetPhase(
          options_.no_fsync ? "publish" : "publish: waiting for the disk to have all of " + FormatBytes(stored), 0);
    }
    if (journal_) {
      output_.file()->Complete(stored, !options_.no_fsync);
      const FileFacts facts = output_.file()->Facts();
      journal_->SetPublishing(
          {facts.ino, facts.size, static_cast<std::uint64_t>(facts.mtime_ns), attempt_->proof().sum().records});
    }
    output_.Publish(!options_.no_fsync);
    if (journal_) FinishJournal();
    if (!options_.stats_file.empty()) WriteStats();
  }

  /// The output is in place: nothing that fails now is worth an error.
  void FinishJournal() {
    sorting_.stats.attempts = journal_->manifest().attempts;
    try {
      journal_->Finish(options_.keep_resume_dir);
    } catch (const Error& error) {
      sorting_.Note(std::string("the output is in place, but --resume-dir was not ended: ") + error.what());
    }
  }

  void WriteStats() {
    SortStats& stats = sorting_.stats;
    stats.backend = attempt_->backend().limits().name;
    stats.gpu = facts().gpu;
    stats.records_out = attempt_->proof().sum().records;
    stats.bytes = output_bytes_;
    stats.top = options_.top;
    stats.header_lines = output_.header().empty() ? 0 : CountRecords(output_.header(), ordered_.plain);
    stats.host_peak = memory_.peak();
    stats.host_limit = memory_.limit();
    stats.device_peak = std::max(stats.device_peak, attempt_->backend().device_peak());
    stats.temp_peak = store_.peak_bytes();
    stats.temp_written = store_.written_bytes();
    stats.temp_codec = CodecName(store_.codec());
    stats.phases = clock_.phases();
    WriteStatsFile(options_.stats_file, stats, job_.plan);
  }

  const Options& options_;
  const Ordered ordered_;
  CancelFlag& cancel_;
  const MemoryFacts host_;
  FileSystem& files_;
  HostMemory memory_;
  Inputs inputs_;
  const std::unique_ptr<Journal> journal_;
  const MemoryShares shares_;
  const RecordLayout layout_;  ///< of runs
  StageClock clock_;
  Progress progress_;
  Job job_;
  Sorting sorting_;
  Ring ring_;  ///< of the first attempt
  unsigned smaller_plans_ = 0;
  bool said_no_values_ = false;
  Output output_;
  RunStore store_;
  std::optional<Attempt> attempt_;
  std::uint64_t output_bytes_ = 0;
};

}  // namespace

SortResult ExternalSort(const Options& options, CancelFlag& cancel, const GpuSource& gpus) {
  FileSystem files;
  if (const std::optional<KeptOutput> done = FinishPublished(options, files)) return {done->records, done->bytes};
  return ExternalSort(options, cancel, files, Output::Open(files, options, cancel), {}, gpus);
}

SortResult ExternalSort(const Options& options, CancelFlag& cancel, FileSystem& files, Output output,
                        StreamFronts fronts, const GpuSource& gpus) {
  return Sorter(options, cancel, gpus, files, std::move(output), std::move(fronts)).Sort();
}

std::string ExplainSort(const Options& options, CancelFlag& cancel, const GpuSource& gpus) {
  FileSystem files;
  // So that what the job would find wrong with it is found. It has no name yet and is dropped; a pipe would be opened.
  Output output;
  if (!IsStreamTarget(options.output)) output = Output::Open(files, options, cancel);
  return Sorter(options, cancel, gpus, files, std::move(output)).Explain();
}

}  // namespace gpusort

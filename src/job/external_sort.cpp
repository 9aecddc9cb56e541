#include "job/external_sort.hpp"

#include <algorithm>
#include <cstring>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <sstream>
#include <utility>
#include <vector>

#include "data/keyed_lines.hpp"
#include "data/output.hpp"
#include "data/proof.hpp"
#include "error.hpp"
#include "formats/annotator.hpp"
#include "formats/locale_keys.hpp"
#include "job/make_plan.hpp"
#include "job/stats.hpp"
#include "records/records.hpp"
#include "runs/form_runs.hpp"
#include "runs/job.hpp"
#include "runs/merge_runs.hpp"
#include "support/log.hpp"
#include "support/machine.hpp"
#include "thread.hpp"

namespace gpusort {
namespace {

/// How often GPU memory may be refused before the CPU takes over.
constexpr int kSmallerPlans = 2;
/// With less memory lines are compared as they lie: what makes keys would take too much of it.
constexpr std::uint64_t kLeastForKeys = std::uint64_t{8} << 20;
/// Unasked, a plan's blocks are no smaller and no larger.
constexpr std::uint64_t kLeastTempBlock = std::uint64_t{64} << 10, kUsualTempBlock = std::uint64_t{4} << 20;

EncoderOptions MakeEncoderOptions(Codec codec, unsigned threads, std::uint64_t memory) {
  EncoderOptions options;
  options.threads = threads;
  while (options.threads > 1 && EncoderMemoryBytes(codec, options) > memory / 4) --options.threads;
  return options;
}

/// A compressed output, read back and expanded piece by piece at the front of `buffer`.
class ExpandedOutput {
 public:
  ExpandedOutput(OutputTarget& target, const HostBuffer& buffer)
      : buffer_{buffer.data(), buffer.size()},
        decoder_(target.codec, EscapeName(target.file->path()),
                 [&target, at = std::uint64_t{0}](std::span<std::byte> out) mutable {
                   const std::uint64_t count = std::min<std::uint64_t>(out.size(), target.stored - at);
                   const std::uint64_t got = target.file->ReadAt(at, out.first(count));
                   at += got;
                   return got;
                 }) {}

  /// Reads on until the buffer holds `count` bytes or the output ends; returns how many it holds.
  std::uint64_t Fill(std::uint64_t count) {
    while (held_ < count) {
      const std::uint64_t got = Read(buffer_.subspan(held_, count - held_));
      if (got == 0) break;
      held_ += got;
    }
    return held_;
  }
  /// Takes bytes off the front.
  void Drop(std::uint64_t count) {
    held_ -= count;
    std::memmove(buffer_.data(), buffer_.data() + count, held_);
  }
  /// Sees the checksum of the last member, too.
  void RequireEnd() {
    if (held_ > 0 || Read(buffer_) > 0) {
      throw Error(ErrorCode::kIntegrity, "the output read back has more than was written");
    }
  }

 private:
  std::uint64_t Read(std::span<std::byte> out) {
    try {
      return decoder_.Read(out);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
      throw Error(ErrorCode::kIntegrity, std::string("the output read back: ") + error.what());
    }
  }

  const std::span<std::byte> buffer_;
  Decoder decoder_;
  std::uint64_t held_ = 0;
};

class Sorter {
 public:
  /// `target`: no stream if the sort is only to be explained.
  Sorter(const Options& options, CancelFlag& cancel, const GpuSource& gpus, FileSystem& files, OutputTarget target,
         StreamFronts fronts = {})
      : options_(options),
        ordered_(options),
        cancel_(cancel),
        gpus_(gpus),
        host_(FindMemory()),
        files_(files),
        memory_(options.memory ? std::max<std::uint64_t>(1, options.memory->Resolve(host_.limit))
                               : std::min(host_.limit, host_.available) / 2,
                options.grows),
        inputs_(files_, options.inputs, MakeInputOptions(options, memory_, target.overwritten()), ordered_.plain,
                cancel, std::move(fronts)),
        merging_(options.merge && inputs_.rereadable()),
        layout_(LayoutAt(memory_.limit())),
        clock_("start"),
        progress_(options.progress, clock_),
        job_{options_, layout_, cancel_, memory_, inputs_, clock_, progress_},
        target_(std::move(target)) {
    if (options_.memory && memory_.limit() > host_.limit) {
      LogWarn("--memory " + FormatBytes(memory_.limit()) + " is more than this process can have (" +
              FormatBytes(host_.limit) + ")");
    }
    if (options_.gpu_memory && options_.device == DeviceChoice::kCpu) {
      LogWarn("--gpu-memory has no effect with --device cpu");
    }
    if (options.debug) {
      const LineOrder& order = options.lines->order;
      annotator_.emplace(order, order.keys.empty() || order.last_resort);
      job_.formatter = &*annotator_;
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
    const bool use_gpu = options.device == DeviceChoice::kGpu || (options.device == DeviceChoice::kAuto && takes &&
                                                                  gpus.likely() && LeastExpected() >= gpus.min_bytes);
    facts_.layout = layout_;
    facts_.input_bytes = inputs_.bytes();
    facts_.input_known = inputs_.rereadable();
    facts_.rereadable = job_.rereadable();
    for (std::uint32_t i = 0; merging_ && i < inputs_.count(); ++i) {
      facts_.sorted_inputs.push_back(inputs_.size(i));
    }
    facts_.free_ram = host_.available > memory_.limit() ? host_.available - memory_.limit() : 0;
    target_.codec = options.output_codec;
    facts_.output_file =
        !IsStreamTarget(options.output) && target_.codec == Codec::kNone && !layout_.keyed() && !options.debug;
    facts_.unique = options.unique;
    facts_.top = options.top;
    facts_.gpu = use_gpu;
    const unsigned wanted = options.threads != 0 ? options.threads : AvailableCores();
    most_threads_ = FittingThreads(wanted);
    if (most_threads_ < wanted) {
      LogInfo("the limit on addresses (ulimit -v) leaves room for " + std::to_string(most_threads_) + " threads");
    }
    facts_.batch_bytes = options.batch_bytes;
    facts_.block_bytes = options.block_bytes;
    facts_.fan_in = options.max_fan_in;
    facts_.max_record = options.max_record;
    facts_.grows = options.grows;
    key_shape_ = ShareMemory(facts_, memory_.limit());
    facts_.at_limit = [this](std::uint64_t limit) {
      PlanFacts other = facts_;
      ShareMemory(other, limit);
      return other;
    };
    if (facts_.threads < most_threads_) {
      LogInfo("the memory is enough for " + std::to_string(facts_.threads) + " threads");
    }
    if (layout_.keyed()) PlanKeys();
    ring_ = MakeRing(facts_);
    encoder_options_ = MakeEncoderOptions(target_.codec, most_threads_, memory_.limit());
    // The header's is reserved, and that for keys is for who makes them.
    memory_.Reserve(facts_.codec_memory - key_shape_.bytes() - memory_.used());
  }

  ~Sorter() {
    feeder_.reset();
    runs_.clear();  // before the backend: they lie in its slots
    DropBackend();
  }

  std::string Explain() {
    OpenBackend();
    job_.plan = MakePlan(facts_, ring_);
    CheckTempDirectories();
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
    if (options_.merge && !merging_)
      text += "merge               streams are sorted anew, which gives the same bytes\n";
    if (options_.header > 0) text += "header              " + std::to_string(options_.header) + " lines stay on top\n";
    if (options_.top > 0) text += "top                 " + std::to_string(options_.top) + " records\n";
    if (target_.codec != Codec::kNone) {
      text += "compression         " + std::string(CodecName(target_.codec)) + ", " +
              std::to_string(encoder_options_.threads) + (encoder_options_.threads == 1 ? " thread" : " threads") +
              "\n";
    }
    return text + "backend             " + job_.backend->limits().name + "\n" + Describe(job_.plan);
  }

  SortResult Sort() {
    LogInfo("records: " + options_.type_note);
    // What no plan can be made for is refused before the output takes space. A GPU's memory is not known yet.
    if (!facts_.gpu) MakePlan(facts_, ring_);
    // The backend opens (0.35 s for a GPU) while the first blocks are read.
    std::future<void> opening;
    if (facts_.gpu) opening = RunBeside([this] { OpenBackend(); });
    if (!merging_) StartReading(inputs_.Ranges());
    PrepareOutput();
    ReserveOutput();
    opening.valid() ? opening.get() : OpenBackend();
    for (;;) {
      try {
        Prepare();
        FormAll();
        FinishReserving();
        MergeAll();
        job_.ring_memory.reset();
        break;
      } catch (const Error& error) {
        inputs_.BlameChange(error);
        Degrade(error);
      }
    }
    Publish();
    return {proof_->sum().records, stats_.stored_bytes};
  }

 private:
  /// Bytes of the records, as far as one can tell; a stream may have any number.
  std::uint64_t LeastExpected() const {
    constexpr std::uint64_t kUsualRatio = 4;
    if (inputs_.rereadable()) return inputs_.bytes();
    return inputs_.stored_bytes() > 0 ? kUsualRatio * inputs_.stored_bytes() : kMaxSize;
  }

  std::optional<Codec> TempCodecAsked() const {
    return options_.temp_program.empty() ? options_.temp_codec : Codec::kProgram;
  }

  /// Without a codec asked for: only what will not fit in spare RAM anyway, with memory to spare.
  bool CompressesTemp(std::uint64_t limit) const {
    constexpr std::uint64_t kLeastMemory = std::uint64_t{64} << 20;
    if (const std::optional<Codec> asked = TempCodecAsked()) return *asked != Codec::kNone;
    return limit >= kLeastMemory && 2 * LeastExpected() > facts_.free_ram;
  }

  /// Everything in `facts` that hangs on the limit on all memory. Returns what making keys takes of it.
  KeyShape ShareMemory(PlanFacts& facts, std::uint64_t limit) const {
    facts.temp_place_bytes = 0;
    if (CompressesTemp(limit)) {
      // The largest that the plan may make: of what was asked for, of a record, of the memory.
      const std::uint64_t least = std::max(options_.block_bytes, LeastRecordBytes(ordered_.plain) + kReadSlack);
      const std::uint64_t block_bytes = std::max((least + kSpillAlignment - 1) / kSpillAlignment * kSpillAlignment,
                                                 std::clamp(limit / 32, kLeastTempBlock, kUsualTempBlock));
      facts.temp_place_bytes = TempCodec::PlaceBytes(TempCodecAsked(), block_bytes);
    }
    // Inputs are expanded before the output is compressed.
    const EncoderOptions encoder = MakeEncoderOptions(target_.codec, most_threads_, limit);
    facts.codec_memory = HeaderMemory(options_, limit) +
                         std::max(inputs_.DecoderBytes(limit), EncoderMemoryBytes(target_.codec, encoder));
    facts.limit = limit;
    facts.memory = limit - std::min(limit, facts.codec_memory);
    facts.threads = most_threads_;
    // Each takes memory for lines of its own: with less than this for each, lines of --max-record do not fit.
    constexpr std::uint64_t kLeastForThread = std::uint64_t{6} << 20;
    if (!layout_.fixed()) {
      const std::uint64_t most = std::max<std::uint64_t>(1, facts.memory / kLeastForThread);
      facts.threads = static_cast<unsigned>(std::min<std::uint64_t>(most_threads_, most));
    }
    facts.layout = LayoutAt(limit);
    KeyShape keys;
    if (facts.layout.keyed()) keys = MakeKeyShape(facts.memory, facts.threads);
    facts.memory -= std::min(facts.memory, keys.bytes());
    facts.codec_memory += keys.bytes();
    if (!facts.gpu) {
      facts.lane_bytes = [layout = facts.layout, threads = facts.threads](std::uint64_t slot) {
        return CpuLaneBytes(layout, slot, threads);
      };
    }
    return keys;
  }

  /// Of runs. With little memory lines are compared as they lie.
  RecordLayout LayoutAt(std::uint64_t limit) const {
    const bool keyed = ordered_.keyed && !merging_ && limit >= kLeastForKeys;
    return keyed ? ordered_.keyed->layout(options_.layout.delimiter) : ordered_.plain;
  }

  /// Keyed lines are longer than lines: how much is seen in some from everywhere.
  void PlanKeys() {
    facts_.key_bytes = ordered_.keyed->most_added();
    if (!facts_.input_known) return;
    constexpr std::uint64_t kSample = std::uint64_t{64} << 10;
    std::uint64_t lines = 0, keyed = 0;
    std::vector<std::byte> out;
    HostBuffer buffer(memory_, kSample + kReadSlack);
    for (std::uint32_t i = 0; i < std::min<std::size_t>(inputs_.count(), 4); ++i) {
      const std::span<const std::byte> bytes =
          inputs_.Read({i, 0, std::min(kSample, inputs_.size(i))}, {buffer.data(), buffer.size()});
      const RecordSpan whole = bytes.first(WholeRecordBytes(bytes, ordered_.plain));
      if (lines == 0) ordered_.keyed->Tune(whole, layout_.delimiter);
      lines += whole.size();
      out.clear();
      ForEachRecord(whole, ordered_.plain, [&](RecordSpan line) { ordered_.keyed->AppendKeyed(line, out); });
      keyed += out.size();
    }
    if (lines > 0) facts_.input_bytes = inputs_.bytes() / lines * keyed + inputs_.bytes() % lines * keyed / lines;
    facts_.key_bytes = ordered_.keyed->most_added();  // once it is tuned
  }

  void StartReading(const std::vector<InputRange>& ranges) {
    if (layout_.keyed()) {
      feeder_ = std::make_unique<BatchFeeder>(cancel_, memory_, inputs_, ring_, ranges, ordered_.plain, clock_,
                                              *ordered_.keyed, key_shape_);
    } else {
      feeder_ = std::make_unique<BatchFeeder>(cancel_, memory_, inputs_, ring_, ranges, layout_, clock_);
    }
  }

  void OpenBackend() {
    const Nanoseconds begin = StageClock::SteadyNow();
    if (facts_.gpu) {
      try {
        backend_ = gpus_.open(options_.gpu_ordinal);
      } catch (const Error& error) {
        if (options_.device == DeviceChoice::kGpu) throw;
        Note(std::string("no GPU: ") + error.what() + "; sorting on the CPU");
        facts_.gpu = false;
      }
    }
    if (!backend_) backend_ = OpenCpuBackend(facts_.threads);
    job_.backend = backend_.get();
    const std::uint64_t free_bytes = backend_->limits().device_bytes;
    facts_.device_memory = !facts_.gpu           ? 0
                           : options_.gpu_memory ? std::min(options_.gpu_memory->Resolve(free_bytes), free_bytes)
                                                 : free_bytes / 10 * 9;
    facts_.lane_bytes = [backend = backend_.get(), layout = layout_](std::uint64_t slot) {
      return backend->LaneBytes(layout, slot);
    };
    LogInfo("backend: " + backend_->limits().name);
    stats_.open_seconds += std::chrono::duration<double>(StageClock::SteadyNow() - begin).count();
  }

  /// Plan, memory and temp space. Runs that an earlier attempt made stay.
  void Prepare() {
    if (ready_) return;
    // The plan counts the ring and the places for temp data anew, also those of an earlier attempt.
    facts_.memory = memory_.left() + (feeder_ ? ring_.bytes() : 0) -
                    (feeder_ ? key_shape_.bytes() - key_shape_.pool_bytes() : 0) +
                    (temp_codec_ ? temp_codec_->taken_bytes() : 0);
    job_.plan = MakePlan(facts_, feeder_ ? ring_ : MakeRing(facts_));
    std::istringstream plan_lines(Describe(job_.plan));
    for (std::string line; std::getline(plan_lines, line);) LogInfo("plan: " + line);
    const bool small_arena = merging_ || (formed_ && !facts_.gpu);
    MakeArena(small_arena);
    if (feeder_ && facts_.gpu) feeder_->ring().memory()->Pin(*backend_);
    if (!spill_) MakeSpill();
    ready_ = true;
  }

  /// `merging`: on the CPU nothing is resident in slots, so lanes get just what merging windows needs.
  void MakeArena(bool merging) {
    ArenaShape shape;
    shape.layout = layout_;
    shape.slot_bytes = merging && !facts_.gpu ? job_.plan.window_bytes : job_.plan.slot_bytes;
    shape.slots = merging && !facts_.gpu ? 0 : job_.plan.slots;
    shape.lanes = merging ? job_.plan.merge_lanes : job_.plan.lanes;
    shape.grows = job_.plan.ring.grows && !facts_.gpu;
    backend_->MakeArena(shape, memory_);
  }

  /// Asked for by name, a directory that cannot be used is an error even if nothing is spilled.
  void CheckTempDirectories() const {
    if (!options_.strict) return;  // the first block that is written will tell
    for (const std::string& directory : options_.temp_dirs) CheckTempDirectory(directory);
    // Of a stream nobody knows yet whether it will spill, and of lines that should fit in memory.
    if (!facts_.input_known || job_.plan.temp_bytes == 0) return;
    for (const std::string& directory : TempDirectories(options_.temp_dirs, target_.file.get())) {
      CheckTempDirectory(directory);
    }
  }

  void MakeSpill() {
    const std::vector<std::string> directories = TempDirectories(options_.temp_dirs, target_.file.get());
    CheckTempDirectories();
    if (!job_.plan.spills) return;
    std::function<void()> check = [this, directories] {
      if (!options_.strict) return;
      for (const std::string& directory : directories) {
        CheckTempDirectory(directory);
        if (files_.IsTmpfs(directory)) {
          LogWarn("the temp directory " + EscapeName(directory) +
                  " is in memory (tmpfs): what is spilled there takes RAM");
        }
      }
    };
    if (facts_.input_known && job_.plan.temp_bytes > 0) std::exchange(check, nullptr)();
    if (options_.strict && !options_.no_space_check && job_.plan.temp_bytes > 0) {
      FinishReserving();  // what the output has is not there for runs
      RequireSpace(files_, directories, job_.plan.temp_bytes, "temporary runs");
    }
    spill_ = std::make_unique<SpillStore>(files_, directories, job_.plan.block_bytes, job_.plan.direct_temp, check);
    job_.spill = spill_.get();
    temp_codec_ = std::make_unique<TempCodec>(memory_, job_.plan.block_bytes, job_.plan.temp_places, TempCodecAsked(),
                                              facts_.threads, &program_codec_);
    job_.temp_codec = temp_codec_.get();
    facts_.temp_places = job_.plan.temp_places;
    facts_.block_bytes = job_.plan.block_bytes;
  }

  void PrepareOutput() {
    if (target_.file && DirectOutput(facts_)) target_.file->MakeDirect();
    if (target_.codec == Codec::kNone) return;
    target_.encoder =
        std::make_unique<Encoder>(target_.codec, encoder_options_, [this](std::span<const std::byte> data) {
          const Busy busy(clock_, Resource::kDiskWrite, data.size());
          if (target_.file) {
            target_.file->WriteAt(target_.stored, data);
          } else {
            target_.stream->WriteAll(data);
          }
          target_.stored += data.size();
        });
  }

  /// So that a full disk ends the job at once, not after hours. A tmpfs takes as long as for writing: if it has the
  /// room now, the input is read meanwhile.
  void ReserveOutput() {
    const bool sized = target_.file && target_.codec == Codec::kNone && inputs_.rereadable() && !options_.debug &&
                       !options_.unique && options_.top == 0 && !options_.no_space_check;
    if (!sized) return;
    const auto reserve = [this] { target_.file->Allocate(inputs_.bytes()); };
    const std::string& directory = target_.file->directory();
    if (files_.IsTmpfs(directory) && files_.FreeSpace(directory) >= inputs_.bytes()) {
      reserving_ = RunBeside(reserve);
    } else {
      reserve();
    }
  }
  void FinishReserving() {
    if (reserving_.valid()) reserving_.get();
  }

  void FormAll() {
    if (merging_) {
      stats_.base_runs = inputs_.count();
      if (!runs_.empty()) return;
      for (const InputRange& range : inputs_.Ranges()) {
        Run run;
        run.id = job_.next_run_id++;
        run.bytes = range.bytes;
        run.origin = {range};
        // Lines are read beyond their block to the end of the last one.
        run.blocks = RunBlocks(range, layout_.fixed() ? job_.input_payload() : job_.input_payload() / 8 * 7);
        runs_.push_back(std::move(run));
      }
      return;
    }
    if (formed_) return;
    clock_.BeginPhase("form runs");
    progress_.SetPhase("form runs", inputs_.stored_bytes(),
                       inputs_.rereadable() ? inputs_.bytes() + job_.plan.level_bytes : 0);
    FormRuns(job_, *feeder_, runs_);
    if (job_.rereadable() && !MissingRanges().empty()) {
      throw Error(ErrorCode::kIntegrity, "a part of the input is in no run");
    }
    if (const RecordSum* read = feeder_->keyed_sum()) {
      RecordSum formed;
      for (const Run& run : runs_) formed += run.sum;
      if (!(formed == *read)) throw Error(ErrorCode::kIntegrity, "lines were changed when they got keys");
    }
    formed_ = true;
    if (job_.plan.windows_in_ring) job_.ring_memory = feeder_->ring().memory();
    feeder_.reset();
    inputs_.VerifyUnchanged();
    stats_.base_runs = runs_.size();
    if (!facts_.gpu && backend_->free_slots() == job_.plan.slots) MakeArena(true);
  }

  void MergeAll() {
    clock_.BeginPhase("merge runs");
    for (Run& run : runs_) {
      if (merging_) run.sum = {};
      if (run.on_device()) ++stats_.device_runs;
      if (run.records && !run.on_device()) ++stats_.host_runs;
      if (run.spilled()) ++stats_.temp_runs;
      if (!run.records && !run.spilled()) ++stats_.input_runs;
    }
    target_.header.assign(inputs_.header().begin(), inputs_.header().end());
    proof_ = std::make_unique<OutputProof>(layout_, options_.unique);
    output_bytes_ = MergeRuns(job_, runs_, target_, *proof_, merging_);
    RecordSum total;
    for (const Run& run : runs_) {
      total += run.sum;
      stats_.levels = std::max(stats_.levels, run.level + 1);
    }
    if (merging_ || stats_.input_runs > 0) inputs_.VerifyUnchanged();
    // Where fewer than N went out nothing was left out, and all can be proved.
    const bool left_out =
        options_.top > 0 && total.records > options_.top && !(options_.unique && proof_->sum().records < options_.top);
    if (left_out) {
      proof_->CheckCount(options_.top);
    } else {
      proof_->Check(total);
    }
    stats_.records_in = total.records;
    if (const unsigned refused = job_.backend->refused_threads(); refused > 0) {
      Note("the system refused " + std::to_string(refused) + " of " + std::to_string(facts_.threads) +
           " threads (ulimit -u, pids.max of the control group, or memory); sorted with the rest");
    }
  }

  /// What a failed attempt leaves: runs that are not on the device. The rest of the input is sorted again, with a
  /// smaller plan if memory was refused, on the CPU if the GPU is lost. Rethrows what cannot be helped.
  void Degrade(const Error& error) {
    const bool refused = error.code() == ErrorCode::kOutOfMemory;
    if (refused && merging_ && !facts_.gpu && !layout_.fixed() && !cancel_.requested()) {
      SortInstead(error);
      return;
    }
    // Slots on a GPU do not grow.
    const bool too_long = job_.plan.ring.grows && dynamic_cast<const LineTooLong*>(&error) != nullptr;
    const bool helped = error.code() == ErrorCode::kGpuLost || refused || too_long;
    if (!facts_.gpu || cancel_.requested() || !helped) throw;
    const bool smaller = refused && smaller_plans_ < kSmallerPlans;
    if (!smaller && options_.device == DeviceChoice::kGpu) throw;
    // In both cases the device runs go, and a fresh backend comes: lanes of the old one were cancelled for good.
    DropBackend();
    if (smaller) {
      ++smaller_plans_;
      facts_.device_memory /= 2;
      Note(std::string("memory was refused: ") + error.what() + "; trying again with " +
           FormatBytes(facts_.device_memory) + " of the GPU's");
      const std::uint64_t device_memory = facts_.device_memory;
      OpenBackend();
      facts_.device_memory = std::min(facts_.device_memory, device_memory);
    } else {
      Note(std::string("the GPU failed: ") + error.what() + "; going on with the CPU");
      facts_.gpu = false;
      OpenBackend();
    }
    ready_ = false;
    // Gaps between kept runs can make more runs than there would be slots for: what is left over spills.
    facts_.spilled = true;
    proof_.reset();
    stats_.device_runs = stats_.host_runs = stats_.temp_runs = stats_.input_runs = 0;
    if (merging_) {
      for (const Run& run : runs_) {
        if (run.spilled()) FreeBlocks(run, *spill_);
      }
      runs_.clear();
      return;
    }
    if (!job_.rereadable()) return;
    feeder_.reset();
    const std::vector<InputRange> missing = MissingRanges();
    formed_ = missing.empty();
    if (!formed_) {
      ring_ = MakeRing(facts_);
      StartReading(missing);
    }
  }

  /// Of -m, where heads of inputs with long lines do not fit in memory side by side. Sorting gives the same bytes.
  void SortInstead(const Error& error) {
    Note(std::string("merging all inputs at once was refused memory: ") + error.what() +
         "; sorting them instead, once they are checked");
    proof_.reset();
    runs_.clear();
    spill_.reset();
    temp_codec_.reset();
    job_.spill = nullptr;
    job_.temp_codec = nullptr;
    DropBackend();
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
    merging_ = ready_ = false;
    facts_.sorted_inputs.clear();
    facts_.memory = memory_.left();
    facts_.block_bytes = options_.block_bytes;
    facts_.temp_places = 0;
    stats_.device_runs = stats_.host_runs = stats_.temp_runs = stats_.input_runs = 0;
    OpenBackend();
    ring_ = MakeRing(facts_);
    StartReading(inputs_.Ranges());
  }

  /// The parts of the input that no run holds.
  std::vector<InputRange> MissingRanges() const {
    std::vector<InputRange> held;
    for (const Run& run : runs_) held.insert(held.end(), run.origin.begin(), run.origin.end());
    std::sort(held.begin(), held.end(), [](const InputRange& a, const InputRange& b) {
      return std::pair(a.input, a.offset) < std::pair(b.input, b.offset);
    });
    std::vector<InputRange> missing;
    auto next = held.begin();
    for (const InputRange& whole : inputs_.Ranges()) {
      std::uint64_t at = 0;
      for (; next != held.end() && next->input == whole.input; ++next) {
        if (next->offset > at) missing.push_back({whole.input, at, next->offset - at});
        at = next->offset + next->bytes;
      }
      if (at < whole.bytes) missing.push_back({whole.input, at, whole.bytes - at});
    }
    return missing;
  }

  void Publish() {
    clock_.BeginPhase("publish");
    const std::uint64_t stored = StoreRest();
    if (options_.no_fsync) Note("--no-fsync: the output may be lost if the machine stops now");
    if (target_.file) {
      if (options_.verify_output) VerifyOutput();
      cancel_.ThrowIfRequested();
      progress_.SetPhase(
          options_.no_fsync ? "publish" : "publish: waiting for the disk to have all of " + FormatBytes(stored), 0);
      target_.file->Publish(stored, !options_.no_fsync);
    } else {
      target_.stream->Close();
    }
    if (!options_.stats_file.empty()) WriteStats();
  }

  /// The bytes of the output as it is stored.
  std::uint64_t StoreRest() {
    stats_.stored_bytes = output_bytes_;
    if (!target_.encoder) return output_bytes_;
    {
      const Busy busy(clock_, Resource::kCodec);
      target_.encoder->Finish();
    }
    target_.encoder.reset();
    stats_.stored_bytes = target_.stored;
    return target_.stored;
  }

  /// Reads the output back from the disk and compares it with what was handed to write.
  void VerifyOutput() {
    progress_.SetPhase("verify output", output_bytes_);
    target_.file->DropCache();
    OutputProof read_back(ordered_.plain, options_.unique);
    const std::uint64_t least = ordered_.plain.fixed() ? ordered_.plain.stride : job_.plan.ring.max_record;
    const std::uint64_t unit = LeastRecordBytes(ordered_.plain);
    const std::uint64_t room = (memory_.left()) / 2;
    const std::uint64_t step = std::max(least, std::min(room, std::uint64_t{4} << 20) / unit * unit);
    HostBuffer buffer(memory_, (step + 2 * kReadSlack) / 4096 * 4096);
    const std::uint64_t alignment = target_.file->alignment();
    const RecordSpan header = target_.header;
    const std::uint64_t records_begin = header.size();
    std::optional<ExpandedOutput> expanded;
    if (target_.codec != Codec::kNone) expanded.emplace(target_, buffer);
    for (std::uint64_t done = 0; done < output_bytes_;) {
      cancel_.ThrowIfRequested();
      const std::uint64_t count = std::min(step, (done < records_begin ? records_begin : output_bytes_) - done);
      const std::uint64_t begin = expanded ? done : done / alignment * alignment;
      const std::uint64_t end = (done + count + alignment - 1) / alignment * alignment;
      const std::uint64_t got =
          expanded ? expanded->Fill(count) : target_.file->ReadAt(begin, {buffer.data(), end - begin});
      if (got < done - begin + count) {
        throw Error(ErrorCode::kIntegrity, "the output read back ends at byte " + std::to_string(begin + got) +
                                               ", it should have " + std::to_string(output_bytes_));
      }
      const RecordSpan bytes{buffer.data() + (done - begin), count};
      if (done < records_begin) {
        if (!std::equal(bytes.begin(), bytes.end(), header.begin() + static_cast<std::ptrdiff_t>(done))) {
          throw Error(ErrorCode::kIntegrity, "the header of the output read back is not what was written");
        }
        done += count;
        if (expanded) expanded->Drop(count);
        continue;
      }
      const std::uint64_t whole = WholeRecordBytes(bytes, ordered_.plain);
      if (whole == 0)
        throw Error(ErrorCode::kIntegrity, "the output read back has an endless line at byte " + std::to_string(done));
      read_back.Add(done - records_begin, bytes.first(whole));
      progress_.Advance(whole);
      done += whole;
      if (expanded) expanded->Drop(whole);
    }
    if (expanded) expanded->RequireEnd();
    read_back.Check(proof_->sum());
  }

  void WriteStats() {
    stats_.backend = backend_->limits().name;
    stats_.gpu = facts_.gpu;
    stats_.records_out = proof_->sum().records;
    stats_.bytes = output_bytes_;
    stats_.top = options_.top;
    stats_.header_lines = target_.header.empty() ? 0 : CountRecords(target_.header, ordered_.plain);
    stats_.host_peak = memory_.peak();
    stats_.host_limit = memory_.limit();
    stats_.device_peak = std::max(stats_.device_peak, backend_->device_peak());
    stats_.temp_peak = spill_ ? spill_->peak_bytes() : 0;
    stats_.temp_written = spill_ ? spill_->written_bytes() : 0;
    if (temp_codec_) stats_.temp_codec = CodecName(temp_codec_->codec());
    stats_.phases = clock_.phases();
    WriteStatsFile(options_.stats_file, stats_, job_.plan);
  }

  /// From any thread.
  void Note(const std::string& text) {
    LogWarn(text);
    const std::lock_guard lock(notes_mutex_);
    stats_.notes.push_back(text);
  }

  void DropBackend() {
    std::erase_if(runs_, [](const Run& run) { return run.on_device(); });
    if (backend_) stats_.device_peak = std::max(stats_.device_peak, backend_->device_peak());
    job_.backend = nullptr;
    if (feeder_) feeder_->ring().memory()->Unpin();
    job_.ring_memory.reset();
    backend_.reset();
  }

  const Options& options_;
  const Ordered ordered_;
  CancelFlag& cancel_;
  const GpuSource& gpus_;
  const MemoryFacts host_;
  FileSystem& files_;
  HostMemory memory_;
  Inputs inputs_;
  bool merging_ = false;       ///< -m of inputs that are runs as they are; streams are sorted
  const RecordLayout layout_;  ///< of runs
  StageClock clock_;
  Progress progress_;
  Job job_;
  std::optional<Annotator> annotator_;  ///< of --debug
  PlanFacts facts_;
  Ring ring_;
  KeyShape key_shape_;
  EncoderOptions encoder_options_;
  bool ready_ = false;   ///< Prepare is done for this attempt
  bool formed_ = false;  ///< every record is in a run
  int smaller_plans_ = 0;
  unsigned most_threads_ = 1;
  OutputTarget target_;
  std::future<void> reserving_;
  std::unique_ptr<SpillStore> spill_;
  ProgramCodec program_codec_{
      options_.temp_program, options_.ignore_sigpipe, cancel_,
      [this](const std::string& warning) { options_.say ? options_.say(warning) : Note(warning); }};
  std::unique_ptr<TempCodec> temp_codec_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<BatchFeeder> feeder_;
  std::vector<Run> runs_;
  std::unique_ptr<OutputProof> proof_;
  std::uint64_t output_bytes_ = 0;
  std::mutex notes_mutex_;
  SortStats stats_;
};

}  // namespace

Ordered::Ordered(const Options& options) : plain(options.layout) {
  if (plain.fixed()) return;
  if (options.locale) keys = MakeLocaleKeys(options.lines->order);
  if (!keys) keys = MakeKeys(*plain.lines);
  if (!keys) return;
  keyed = std::make_unique<KeyedOrder>(*keys);
  plain.lines = &keyed->plain();
}

SortResult ExternalSort(const Options& options, CancelFlag& cancel, const GpuSource& gpus) {
  FileSystem files;
  OutputTarget target = OpenTarget(files, options, cancel);
  return ExternalSort(options, cancel, files, std::move(target), {}, gpus);
}

SortResult ExternalSort(const Options& options, CancelFlag& cancel, FileSystem& files, OutputTarget target,
                        StreamFronts fronts, const GpuSource& gpus) {
  return Sorter(options, cancel, gpus, files, std::move(target), std::move(fronts)).Sort();
}

std::string ExplainSort(const Options& options, CancelFlag& cancel, const GpuSource& gpus) {
  FileSystem files;
  // So that what the job would find wrong with it is found. It has no name yet and is dropped; a pipe would be opened.
  OutputTarget target;
  if (!IsStreamTarget(options.output)) target = OpenTarget(files, options, cancel);
  return Sorter(options, cancel, gpus, files, std::move(target)).Explain();
}

void CheckSorted(const Options& options, CancelFlag& cancel) {
  FileSystem files;
  const MemoryFacts host = FindMemory();
  HostMemory memory(options.memory ? options.memory->Resolve(host.limit) : std::min(host.limit, host.available) / 2);
  const Ordered ordered(options);
  const RecordLayout& layout = ordered.plain;
  Inputs inputs(files, options.inputs, MakeInputOptions(options, memory), layout, cancel);
  StageClock clock("check");
  Progress progress(options.progress, clock);
  progress.SetPhase("check", inputs.stored_bytes());
  PlanFacts facts;
  facts.layout = layout;
  facts.threads = 4;
  facts.checks = true;
  facts.rereadable = inputs.rereadable();
  facts.input_known = inputs.rereadable();
  facts.input_bytes = inputs.bytes();
  facts.max_record = options.max_record;
  facts.at_limit = [&facts, &options, &inputs](std::uint64_t limit) {
    PlanFacts other = facts;
    other.limit = limit;
    other.codec_memory = HeaderMemory(options, limit) + inputs.DecoderBytes(limit);
    other.memory = limit - std::min(limit, other.codec_memory);
    return other;
  };
  facts = facts.at_limit(memory.limit());
  const Ring ring = MakeRing(facts);
  memory.Reserve(facts.codec_memory - memory.used());
  BatchFeeder feeder(cancel, memory, inputs, ring, inputs.Ranges(), layout, clock);
  Pipeline waiter(cancel);
  OrderCheck order(layout, options.unique);
  try {
    while (const std::unique_ptr<BatchFeeder::Batch> batch =
               feeder.Next(waiter, ring.piece_bytes, ring.piece_bytes, false)) {
      while (const std::unique_ptr<InputBlock> block = batch->Next()) {
        progress.Advance(inputs.rereadable() ? block->bytes().size() : inputs.TakeStoredBytesRead());
        if (std::optional<OrderCheck::Disorder> disorder = order.Add(block->bytes())) {
          disorder->offset += inputs.header_bytes(0);
          if (options.header > 0) disorder->record += CountRecords(inputs.header(), layout);
          inputs.VerifyUnchanged();
          const std::string message = NotSorted(options.inputs.front(), layout, *disorder) +
                                      (options.unique ? "or equals " : "") + "the one in front of it";
          throw Error(ErrorCode::kNotSorted, message);
        }
      }
    }
  } catch (const Error& error) {
    inputs.BlameChange(error);
    if (error.code() == ErrorCode::kCancelled) feeder.RethrowIfFailed();
    throw;
  }
  inputs.VerifyUnchanged();
}

}  // namespace gpusort

#include "line_path.hpp"

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "external_sort.hpp"
#include "file.hpp"
#include "gpusort/error.hpp"
#include "inputs.hpp"
#include "line_sorter.hpp"
#include "locale_keys.hpp"
#include "log.hpp"
#include "machine.hpp"
#include "output.hpp"
#include "plan.hpp"
#include "progress.hpp"
#include "proof.hpp"
#include "sort_debug.hpp"
#include "spill.hpp"
#include "stats.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kReadBytes = std::uint64_t{1} << 18;
constexpr std::uint64_t kLeastMemory = std::uint64_t{1} << 20;
constexpr unsigned kMostThreads = 16;

/// What the lines of one sequence add up to, whatever pieces they come in.
class LineSum {
 public:
  /// Lines are added to `total` when they are whole.
  LineSum(RecordSum& total, const RecordLayout& layout, std::uint64_t max_record = 0)
      : sum_(total), layout_(layout), max_record_(max_record) {}

  /// False if a line is longer than allowed; then at() is where it begins.
  bool Add(RecordSpan bytes) {
    while (!bytes.empty()) {
      const std::uint64_t line = FirstRecordBytes(bytes, layout_);
      const std::uint64_t count = line > 0 ? line : bytes.size();
      part_.Add(bytes.first(count));
      if (max_record_ != 0 && part_.bytes() > max_record_) return false;
      if (line > 0) {
        at_ += part_.bytes();
        sum_ += part_.End();
      }
      bytes = bytes.subspan(count);
    }
    return true;
  }
  void BeginInput() { at_ = 0; }
  std::uint64_t at() const { return at_; }
  const RecordSum& sum() const { return sum_; }

 private:
  RecordSum& sum_;
  const RecordLayout layout_;
  const std::uint64_t max_record_;
  PartSum part_;
  std::uint64_t at_ = 0;
};

/// The job: what all the parts below share.
struct LineJob {
  const Options& options;
  CancelFlag& cancel;
  FileSystem files;
  OutputTarget target;
  HostMemory memory;
  Inputs inputs;
  StageClock clock;
  Progress progress;
  RecordSum read;

  LineJob(const Options& given, CancelFlag& flag, const MemoryFacts& host)
      : options(given),
        cancel(flag),
        target(given.action == Action::kSort ? OpenTarget(files, given, flag) : OutputTarget{}),
        memory(given.memory ? std::max(kLeastMemory, given.memory->Resolve(host.limit))
                            : std::max(kLeastMemory, std::min(host.limit, host.available) / 2)),
        inputs(files, given.inputs, MakeInputOptions(given, memory, target.overwritten()), given.layout, flag),
        clock("sort lines"),
        progress(given.progress, clock) {
    ReserveForCodecs(memory, inputs.decoder_bytes());
  }
};

/// Bytes of the inputs, one behind the other or just one, with the header taken off and the last newline added.
class InputSource : public ByteSource {
 public:
  /// `only`: this input, which is a file; else all of them.
  InputSource(LineJob& job, std::optional<std::uint32_t> only)
      : job_(job),
        only_(only),
        buffer_(job.memory, kReadBytes + kReadSlack),
        max_record_(job.options.max_record != 0 ? job.options.max_record : UsualMaxRecord(job.memory.limit())),
        sum_(job.read, job.options.layout, max_record_) {}

  std::size_t Read(std::span<std::byte> out) override {
    job_.cancel.ThrowIfRequested();
    if (rest_.empty() && !Refill()) return 0;
    const std::size_t count = std::min(out.size(), rest_.size());
    std::memcpy(out.data(), rest_.data(), count);
    rest_ = rest_.subspan(count);
    return count;
  }

 private:
  bool Refill() {
    InputRange range;
    {
      const Busy busy(job_.clock, Resource::kDiskRead);
      if (only_) {
        range = {*only_, at_, std::min(kReadBytes, job_.inputs.size(*only_) - at_)};
        if (range.bytes == 0) return false;
        rest_ = job_.inputs.Read(range, {buffer_.data(), buffer_.size()});
        at_ += range.bytes;
      } else {
        const std::optional<InputRange> next = job_.inputs.ReadStream({buffer_.data(), buffer_.size()}, kReadBytes);
        if (!next) return false;
        range = *next;
        rest_ = {buffer_.data(), range.bytes};
      }
    }
    job_.progress.Advance(range.bytes);
    if (range.offset == 0) sum_.BeginInput();
    if (!sum_.Add(rest_)) {
      throw Error(ErrorCode::kBadInput, LineTooLong(job_.inputs.path(range.input),
                                                    job_.inputs.header_bytes(range.input) + sum_.at(), max_record_));
    }
    return true;
  }

  LineJob& job_;
  const std::optional<std::uint32_t> only_;
  HostBuffer buffer_;
  const std::uint64_t max_record_;
  LineSum sum_;
  std::uint64_t at_ = 0;
  std::span<const std::byte> rest_;
};

class TargetSink : public ByteSink {
 public:
  TargetSink(LineJob& job, OutputTarget& target, std::uint64_t& bytes) : job_(job), target_(target), bytes_(bytes) {
    Write(target.header);
  }
  void Write(std::span<const std::byte> data) override {
    job_.cancel.ThrowIfRequested();
    const Busy busy(job_.clock, Resource::kDiskWrite, data.size());
    if (target_.file) {
      target_.file->WriteAt(bytes_, data);
    } else {
      target_.stream->WriteAll(data);
    }
    bytes_ += data.size();
  }
  void Close() override {}

 private:
  LineJob& job_;
  OutputTarget& target_;
  std::uint64_t& bytes_;
};

/// Counts the lines that go through, and lets no more than `top` pass.
template <typename Base>
class CountingWriter : public Base {
 public:
  template <typename... Arguments>
  CountingWriter(std::uint64_t top, LineSum& sum, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...), top_(top), sum_(sum) {}
  void Put(const Byte* line, std::uint64_t bytes) override {
    if (top_ != 0 && sum_.sum().records == top_) return;
    sum_.Add({reinterpret_cast<const std::byte*>(line), bytes});
    Base::Put(line, bytes);
  }

 private:
  const std::uint64_t top_;
  LineSum& sum_;
};

/// Reads the output back.
class OutputSource : public ByteSource {
 public:
  OutputSource(LineJob& job, OutputFile& file, std::uint64_t begin, std::uint64_t end, LineSum& sum)
      : job_(job), file_(file), at_(begin), end_(end), sum_(sum) {}
  std::size_t Read(std::span<std::byte> out) override {
    job_.cancel.ThrowIfRequested();
    const std::span<std::byte> part = out.first(std::min<std::uint64_t>(out.size(), end_ - at_));
    if (part.empty()) return 0;
    const std::uint64_t got = file_.ReadAt(at_, part);
    sum_.Add(part.first(got));
    at_ += got;
    return got;
  }

 private:
  LineJob& job_;
  OutputFile& file_;
  std::uint64_t at_;
  const std::uint64_t end_;
  LineSum& sum_;
};

/// The order of the options, by the bytes of lines or by those of the locale.
struct Order {
  std::unique_ptr<LineKeyMaker> keys;
  LineSortSettings settings;

  Order(const Options& options, std::uint64_t memory) {
    const LineOrder& order = options.lines->order;
    if (options.locale) keys = MakeLocaleKeys(order);
    settings.key_maker = keys.get();
    settings.order = options.lines->view;
    if (keys != nullptr) {
      settings.order = LineOrderView{};
      settings.order.last_resort_reverse = ReversesFirst(order);
    }
    settings.delimiter = static_cast<char>(options.layout.delimiter);
    settings.unique = options.unique;
    settings.memory_bytes = memory;
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    settings.threads = std::min(options.threads != 0 ? options.threads : cores, kMostThreads);
    settings.run_fan_in = static_cast<unsigned>(std::clamp<std::uint64_t>(memory >> 20, 16, 128));
    if (options.max_fan_in != 0) settings.fan_in = settings.run_fan_in = options.max_fan_in;
    // Each input of a merge has a buffer.
    const std::uint64_t inputs = std::max<std::uint64_t>(2, memory / (4 * (kReadBytes + kReadSlack)));
    settings.fan_in = static_cast<unsigned>(std::min<std::uint64_t>(settings.fan_in, inputs));
  }
};

/// Without --max-record lines are short for the memory.
void RequireRoom(const LineJob& job, const Order& order) {
  PlanFacts facts;
  facts.layout = job.options.layout;
  facts.memory = job.memory.limit();
  facts.input_known = job.inputs.rereadable();
  facts.input_bytes = job.inputs.bytes();
  facts.max_record = job.options.max_record;
  const std::uint64_t longest = facts.input_known ? std::min(facts.max_record, facts.input_bytes) : facts.max_record;
  // Measured: 6 times the line, and 18 times with the keys of a locale.
  RequireMemory(facts, longest * (order.keys != nullptr ? 20 : 8));
}

/// What the line sorter has no use for must not be ignored.
void RefuseUnused(const Options& options) {
  const std::string what = options.debug ? "--debug" : "--locale";
  const auto refuse = [&](bool given, const std::string& option) {
    if (given) throw Error(ErrorCode::kUsage, option + " has no meaning with " + what + ", which sorts on the CPU");
  };
  refuse(options.device == DeviceChoice::kGpu, "--device gpu");
  refuse(options.gpu_memory.has_value(), "--gpu-memory");
  refuse(options.batch_bytes != 0, "--batch-bytes");
  refuse(options.block_bytes != 0, "--block-size");
  refuse(options.temp_codec.value_or(Codec::kNone) != Codec::kNone, "--compress-temp or --compress-program");
  if (options.output_codec != Codec::kNone) {
    throw Error(ErrorCode::kUsage,
                what + " writes no compressed output yet: write it plain, or pipe it to the codec's program");
  }
  if (options.debug && options.verify_output) {
    throw Error(ErrorCode::kUsage, "--verify-output has no meaning with --debug: the output is more than the lines");
  }
}

void SayDoubts(const Options& options) {
  GnuOptions typed;
  typed.keys = options.keys;
  typed.ordering = options.ordering;
  typed.separator = options.lines->order.separator;
  typed.stable = options.stable;
  typed.unique = options.unique;
  for (const std::string& doubt : DebugWarnings(typed, ResolveKeys(typed.keys, typed.ordering), true)) {
    std::fprintf(stderr, "gpusort: %s\n", EscapeName(doubt).c_str());
  }
}

void Prove(const Options& options, const RecordSum& in, const RecordSum& out) {
  const bool some = options.unique || (options.top != 0 && in.records > options.top);
  const std::uint64_t most = options.top != 0 ? std::min(in.records, options.top) : in.records;
  const std::uint64_t least = options.unique ? std::min<std::uint64_t>(in.records, 1) : most;
  if (out.records > most || out.records < least) {
    throw Error(ErrorCode::kIntegrity, "lines were lost or doubled: " + std::to_string(in.records) + " were read, " +
                                           std::to_string(out.records) + " would be written");
  }
  if (!some && !(in == out)) {
    throw Error(ErrorCode::kIntegrity,
                "lines were changed: the multiset of what was read differs from what would be written");
  }
}

/// The line sorter merges whatever it is given.
void RequireSorted(LineJob& job, const Order& order, std::uint32_t input) {
  LineSortSettings settings = order.settings;
  settings.unique = false;
  const std::optional<Disorder> disorder = FindDisorder(settings, std::make_unique<InputSource>(job, input));
  if (!disorder) return;
  const std::uint64_t number = disorder->line_number + CountRecords(job.inputs.header(), job.options.layout);
  throw Error(ErrorCode::kBadInput, EscapeName(job.inputs.path(input)) + ": not sorted: line " +
                                        std::to_string(number) +
                                        " orders before the one in front of it; sort it without -m");
}

/// Reads the output back from the disk: the same lines, in order.
void VerifyOutput(LineJob& job, const Order& order, OutputTarget& target, std::uint64_t bytes, const RecordSum& sum) {
  job.progress.SetPhase("verify output", bytes);
  target.file->DropCache();
  std::vector<std::byte> header(target.header.size());
  const std::uint64_t got = header.empty() ? 0 : target.file->ReadAt(0, header);
  RecordSum read;
  LineSum read_back(read, job.options.layout);
  const std::optional<Disorder> disorder =
      FindDisorder(order.settings, std::make_unique<OutputSource>(job, *target.file, got, bytes, read_back));
  if (header != target.header || !(read == sum)) {
    throw Error(ErrorCode::kIntegrity, "the output read back is not what was written");
  }
  if (disorder) {
    throw Error(ErrorCode::kIntegrity, "the output is out of order at line " + std::to_string(disorder->line_number) +
                                           "; nothing was published");
  }
}

}  // namespace

void UseLocale() {
  // Not what numbers of messages look like in other categories.
  for (const int category : {LC_COLLATE, LC_CTYPE, LC_NUMERIC, LC_TIME}) {
    if (std::setlocale(category, "") != nullptr) continue;
    throw Error(ErrorCode::kUsage,
                "--locale: the system does not have the locale that LC_ALL, LC_COLLATE or LANG names");
  }
}

bool NeedsLineSorter(const Options& options) {
  if (options.format != Format::kLines) return false;
  return options.debug || (options.locale && MakeLocaleKeys(options.lines->order) != nullptr);
}

SortResult SortByLineSorter(const Options& options, CancelFlag& cancel) {
  RefuseUnused(options);
  std::optional<SignalBlock> block;
  block.emplace();  // progress starts a thread
  LineJob job(options, cancel, FindMemory());
  block.reset();
  if (options.merge && !job.inputs.rereadable()) {
    throw Error(ErrorCode::kUsage,
                "-m needs regular files here, neither compressed nor written in place; sort others without -m");
  }
  if (options.debug) SayDoubts(options);
  const Order order(options, job.memory.limit() - std::min(job.memory.limit() / 2, job.memory.used() + kReadBytes));
  OutputTarget& target = job.target;
  for (const std::string& directory : options.temp_dirs) CheckTempDirectory(directory);
  TempRuns temp(TempDirectories(options.temp_dirs, target.file.get()), "", true,
                [](const std::string& text) { LogWarn(text); });

  RequireRoom(job, order);

  SortStats stats;
  stats.backend = "line sorter, " + std::to_string(order.settings.threads) + " threads";
  stats.notes.emplace_back("sorted by the line sorter, which counts no runs");
  LogInfo("records: " + options.type_note + "; " + stats.notes.back());
  job.progress.SetPhase("sort lines", job.inputs.bytes(), job.inputs.bytes());
  std::uint64_t bytes = 0;
  RecordSum sum;
  LineSum written(sum, options.layout);
  const OpenOutput open_output = [&]() -> std::unique_ptr<LineWriter> {
    // By now all is read, or, with -m, the header is known from the files.
    target.header.assign(job.inputs.header().begin(), job.inputs.header().end());
    auto sink = std::make_unique<TargetSink>(job, target, bytes);
    if (!options.debug) return std::make_unique<CountingWriter<LineWriter>>(options.top, written, std::move(sink));
    const LineOrder& lines = options.lines->order;
    const bool whole_line = lines.keys.empty() || lines.last_resort;
    return std::make_unique<CountingWriter<DebugWriter>>(options.top, written, std::move(sink), lines, whole_line);
  };
  const OpenInput open_input = [&](std::size_t i) -> std::unique_ptr<ByteSource> {
    return std::make_unique<InputSource>(job,
                                         options.merge ? std::optional(static_cast<std::uint32_t>(i)) : std::nullopt);
  };
  if (options.merge) {
    std::vector<MergeInput> inputs;
    for (std::uint32_t i = 0; i < job.inputs.count(); ++i) {
      RequireSorted(job, order, i);
      inputs.push_back({i, {}});
    }
    job.read = {};
    MergeLines(order.settings, std::move(inputs), open_input, temp, open_output);
  } else {
    SortLines(order.settings, 1, open_input, temp, open_output);
  }
  job.inputs.VerifyUnchanged();
  Prove(options, job.read, sum);

  job.clock.BeginPhase("publish");
  if (options.no_fsync) LogWarn("--no-fsync: the output may be lost if the machine stops now");
  if (target.file) {
    if (options.verify_output) VerifyOutput(job, order, target, bytes, sum);
    cancel.ThrowIfRequested();
    target.file->Publish(bytes, !options.no_fsync);
  } else {
    target.stream->Close();
  }
  const SortResult result{sum.records, bytes};
  if (options.stats_file.empty()) return result;
  stats.records_in = job.read.records;
  stats.records_out = sum.records;
  stats.bytes = stats.stored_bytes = bytes;
  stats.host_peak = job.memory.peak();
  stats.top = options.top;
  stats.header_lines = CountRecords(target.header, options.layout);
  stats.host_limit = job.memory.limit();
  stats.phases = job.clock.phases();
  WriteStatsFile(options.stats_file, stats, Plan{});
  return result;
}

std::string ExplainLineSorter(const Options& options, CancelFlag& cancel) {
  RefuseUnused(options);
  const LineJob job(options, cancel, FindMemory());
  const Order order(options, job.memory.limit());
  return "record              " + options.type_note + "\nbackend             the line sorter, " +
         std::to_string(order.settings.threads) + " threads\nhost memory         " + FormatBytes(job.memory.limit()) +
         "\nfan-in              " + std::to_string(order.settings.run_fan_in) + "\n";
}

void CheckByLineSorter(const Options& options, CancelFlag& cancel) {
  LineJob job(options, cancel, FindMemory());
  job.progress.SetPhase("check", job.inputs.bytes());
  const Order order(options, job.memory.limit() / 2);
  RequireRoom(job, order);
  const std::optional<Disorder> disorder =
      FindDisorder(order.settings, std::make_unique<InputSource>(job, std::nullopt));
  job.inputs.VerifyUnchanged();
  if (disorder) {
    const std::uint64_t number = disorder->line_number + CountRecords(job.inputs.header(), options.layout);
    throw Error(ErrorCode::kNotSorted, EscapeName(options.inputs.front()) + ": not sorted: line " +
                                           std::to_string(number) + " orders before " +
                                           (options.unique ? "or equals " : "") + "the one in front of it");
  }
}

}  // namespace gpusort

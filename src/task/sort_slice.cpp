#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/own_folder.hpp"
#include "base/text.hpp"
#include "data/inputs.hpp"
#include "formats/locale_keys.hpp"
#include "formats/registry.hpp"
#include "io/path.hpp"
#include "job/open_job.hpp"
#include "job/sort_job.hpp"
#include "kernels/error.hpp"
#include "task/job_folder.hpp"
#include "task/run_file.hpp"
#include "task/tasks.hpp"
#include "version.hpp"

namespace gpusort {
namespace {

[[noreturn]] void RefuseTask(const std::string& why) { throw Error(ErrorCode::kUsage, why); }

/// Returns a text that must be the same for all tasks, so that they have one order and the same checksums.
std::string Version() {
  constexpr const char* kFormat = ", format 10";  // the version of the files that tasks share
  return std::string(GPUSORT_VERSION) + kFormat + ", locale " + LocaleName();
}

/// Returns the files that decide about the order, in the order in which ReadNamedFiles() reads them.
std::vector<TaskJob::OrderFile> OrderFiles(const JobSpec& spec) {
  std::vector<TaskJob::OrderFile> files;
  for (std::size_t i = 0; spec.source.table && i < spec.source.table->keys.size(); ++i) {
    const ValueRule& rule = spec.source.table->keys[i].rule;
    if (rule.order_file.empty()) continue;
    // An empty line at the front keeps a byte order mark in the first value.
    std::string values = "\n";
    for (const std::string& value : rule.labels) values += value + '\n';
    files.push_back({rule.order_file, std::move(values)});
  }
  if (spec.order.random) {
    const auto& salt = spec.order.lines->order.salt;
    files.push_back({spec.order.random_source, {reinterpret_cast<const char*>(&salt[0]), sizeof salt}});
  }
  return files;
}

const std::string& MakeFolder(const std::string& path) {
  const std::string name = WithoutSlashes(path);
  if (::mkdir(name.c_str(), 0700) == 0 || errno == EEXIST) return path;
  const int error = errno;
  // A read-only network folder may report another error although the folder exists.
  struct stat facts;
  if (::lstat(name.c_str(), &facts) == 0) return path;
  throw Error(detail::OpenErrorCode(error), EscapeName(path) + ": cannot make the folder: " + detail::ErrnoText(error));
}

/// Returns how many slices a job must have: one for --minus, one for each file of --intersect, and one for the other
/// inputs.
std::uint64_t LeastSlices(const Order& order) { return (order.minus > 0 ? 1 : 0) + order.intersect + 1; }

/// Divides the bytes of all inputs into slices of about equal size, and finds the records that begin in each slice. The
/// slices of --minus, of each file of --intersect and of the other inputs have no records of the others. Each file of
/// --intersect is one slice.
class Slices {
 public:
  /// `open`, `order` and `folder` must outlive this object. `count` is the number of slices, from LeastSlices() to
  /// 2^20.
  Slices(const OpenJob& open, const TaskOrder& order, JobFolder& folder, std::uint64_t count)
      : spec_(open.spec),
        files_(open.files),
        inputs_(open.inputs),
        order_(order),
        folder_(folder),
        stride_(spec_.source.table ? spec_.source.table->record_size : order.ordered().plain.stride),
        modes_(stride_ > 0 ? 1 : order.ordered().format().modes()) {
    const Order& sets = spec_.order;
    const std::uint64_t least = LeastSlices(sets);
    const auto bytes_of = [&](std::uint32_t begin, std::uint32_t end) {
      std::uint64_t bytes = 0;
      for (std::uint32_t i = begin; i < end; ++i) bytes += inputs_.facts(i).size;
      return bytes;
    };
    const std::uint64_t minus = bytes_of(0, sets.minus), others = bytes_of(sets.set_inputs(), inputs_.count());
    std::uint64_t minus_slices = sets.minus > 0 ? 1 : 0;
    if (minus > 0) {
      minus_slices +=
          static_cast<std::uint64_t>(static_cast<unsigned __int128>(count - least) * minus / (minus + others));
    }
    AddSlices(minus, minus_slices);
    for (std::uint32_t i = sets.minus; i < sets.set_inputs(); ++i) AddSlices(bytes_of(i, i + 1), 1);
    set_slices_ = borders_.size() - 1;
    AddSlices(others, count - set_slices_);
  }

  /// The inputs that contain records of a slice, and the byte range of each. A compressed input belongs to one slice.
  struct Records {
    std::vector<std::string> paths;
    std::vector<ByteRange> ranges;
    std::vector<TaskRun::Range> places;  ///< the same ranges, to be checked when the runs are cut
  };
  Records Of(std::uint64_t number) {
    Records records;
    for (const Bytes& bytes : BytesOf(number)) {
      const std::uint64_t size = inputs_.facts(bytes.input).size;
      ByteRange range;
      if (whole(bytes.input)) {
        if (bytes.begin > 0) continue;
      } else {
        if (bytes.begin > 0) {
          Place place = Border(bytes.input, bytes.begin, number);
          range.begin = place.at;
          range.state = std::move(place.state);
        } else if (learns()) {
          // One slice can have too few bytes to find out the format.
          range.state = order_.Save(FrontState(bytes.input));
        }
        if (bytes.end < size) range.end = Border(bytes.input, bytes.end, number + 1).at;
        range.inside = range.end < size;
        // The trailer of an input belongs to the slice of the last record.
        if (range.begin >= (range.inside ? range.end : size)) continue;
      }
      records.paths.push_back(inputs_.path(bytes.input));
      records.places.push_back({bytes.input, range.begin, range.end});
      records.ranges.push_back(std::move(range));
    }
    return records;
  }

  /// Returns the state at the beginning of an input.
  ScanState FrontState(std::uint32_t input) const {
    ScanState state;
    if (learns()) {
      order_.ordered().format().BeginInput(inputs_.Front(input, RecordFormat::kFrontBytes), input, state);
    }
    return state;
  }
  /// Returns how many slices have the records of files of --minus and --intersect. They are the first slices.
  std::uint64_t set_slices() const { return set_slices_; }
  /// Returns the input whose header a slice without records gets.
  std::uint32_t HeaderInput(std::uint64_t number) const { return number < set_slices_ ? 0 : spec_.order.set_inputs(); }
  /// Returns true if the format of an input is found out from its first bytes.
  bool learns() const { return spec_.source.table && !RowOf(*spec_.source.table).again; }

  /// Returns true if the end of a record can be found only with the bytes before the record.
  bool depend() const { return modes_ != 1; }
  /// Scans a slice for the slices after it. If the whole input must be scanned, scans all inputs that begin in the
  /// slice. Call this only if depend() returns true.
  std::vector<TaskScan> Scan(std::uint64_t number) {
    std::vector<TaskScan> scans;
    for (const Bytes& bytes : BytesOf(number)) {
      if (whole(bytes.input)) continue;
      if (modes_ == 0) {
        if (bytes.begin == 0) std::ranges::move(ScanFromFront(bytes.input, number), std::back_inserter(scans));
        continue;
      }
      TaskScan scan{bytes.input, ScanFrom(bytes), std::max<std::uint64_t>(bytes.end, 1) - 1, {}};
      if (scan.begin >= scan.end) continue;
      const std::unique_ptr<File> file = files_.OpenInput(inputs_.path(bytes.input), false);
      for (std::uint32_t mode = 0; mode < modes_; ++mode) scan.after.push_back(mode);
      // The scans for different modes soon reach the same mode, inside or outside of quotes. From there on, one scan is
      // enough.
      for (std::uint64_t from = scan.begin, piece = 4096; from < scan.end; piece = kScanPiece) {
        const std::uint64_t to = std::min(scan.end, from + piece);
        std::vector<std::optional<unsigned>> known(modes_ + 1);
        known[modes_] = modes_;
        for (std::uint32_t& after : scan.after) {
          std::optional<unsigned>& mode = known[after];
          if (!mode) mode = ModeAfter(*file, bytes.input, from, to, after);
          after = *mode;
        }
        from = to;
      }
      scans.push_back(std::move(scan));
    }
    return scans;
  }

 private:
  /// The bytes of an input that belong to a slice. They do not begin or end with records yet, and may contain the
  /// header.
  struct Bytes {
    std::uint32_t input;
    std::uint64_t begin, end;
  };
  /// Adds `count` slices, which have the next `bytes` bytes of the inputs.
  void AddSlices(std::uint64_t bytes, std::uint64_t count) {
    const std::uint64_t begin = borders_.back();
    for (std::uint64_t i = 1; i <= count; ++i) {
      borders_.push_back(begin + bytes / count * i + bytes % count * i / count);  // 2^20 slices: no product overflows
    }
  }

  std::vector<Bytes> BytesOf(std::uint64_t number) const {
    const std::uint64_t begin = borders_[number], end = borders_[number + 1];
    std::vector<Bytes> bytes;
    std::uint64_t at = 0;
    for (std::uint32_t i = 0; i < inputs_.count(); ++i) {
      const std::uint64_t first = at;
      at += inputs_.facts(i).size;
      if (at <= begin || first >= end) continue;
      bytes.push_back({i, std::max(begin, first) - first, std::min(end, at) - first});
    }
    return bytes;
  }

  bool whole(std::uint32_t input) const {
    return spec_.source.codec.value_or(CodecOfPath(inputs_.path(input))) != Codec::kNone;
  }
  /// A place where a record begins, and the format's state there (see TaskOrder::Save).
  struct Place {
    std::uint64_t at = 0;
    std::string state{};
  };
  /// Returns the first place at or after byte `at` where a record begins. Slice `number` begins at `at`.
  Place Border(std::uint32_t input, std::uint64_t at, std::uint64_t number) {
    const std::uint64_t begin = inputs_.begin(input), size = inputs_.facts(input).size;
    if (at <= begin) return {begin};
    const std::unique_ptr<File> file = files_.OpenInput(inputs_.path(input), false);
    if (stride_ > 0) return {std::min(size, begin + (at - begin + stride_ - 1) / stride_ * stride_)};
    if (!depend()) return {DelimitedBorder(*file, begin, at, size, order_.ordered().plain)};
    if (const auto border = ScannedBorder(input, at, number)) return *border;
    return BorderAfter(*file, input, at - 1, StateAt(*file, input, at - 1, number));
  }

  /// Returns where a scan of `bytes` begins. The byte before them is needed to find a border at their beginning.
  std::uint64_t ScanFrom(const Bytes& bytes) const {
    return std::max(bytes.begin - std::min<std::uint64_t>(bytes.begin, 1), inputs_.begin(bytes.input));
  }
  /// Replaces `state`, the format's state at byte `from`, by the state at byte `to`.
  void Walk(File& file, std::uint32_t input, std::uint64_t from, std::uint64_t to, ScanState& state) {
    while (from < to) {
      const std::uint64_t end = std::min(to, from + kScanPiece);
      ScanBytes(file, input, from, end, state);
      from = end;
    }
  }

  /// Returns the first place after byte `from` where a record begins. `state` is the format's state at `from`. The
  /// result must not depend on how the bytes are divided for the scan: otherwise two slices could have the same
  /// records.
  Place BorderAfter(File& file, std::uint32_t input, std::uint64_t from, ScanState state) {
    const std::uint64_t size = inputs_.facts(input).size;
    const bool log = order_.ordered().format().learns();
    bool after = false;  // a record that begins at `from` counts
    for (std::uint64_t look = kScanLook; from < size;) {
      const std::uint64_t to = std::min(size, from + look);
      ScanState there = state;
      const RecordFormat::Ends ends = ScanBytes(file, input, from, to, state);
      if (after && ends.at_front) return {from, order_.Save(there)};
      if (ends.first > 0 && IsDump(spec_)) return DumpBorder(file, input, from, to, there);
      if (ends.first > 0) {
        ScanBytes(file, input, from, from + ends.first, there);
        return {from + ends.first, order_.Save(there)};
      }
      std::uint64_t next = to;
      if (log && ends.at_front) {
        // The scan has looked for no other record than that at `from`.
        next = from + 1;
      } else if (log && to < size && !state.held.empty() && state.held.size() <= to - from) {
        // A line that is not read to its end may begin a record. It is scanned again as a whole.
        next = to - state.held.size();
        if (next == from && after) {
          state = std::move(there);
          look *= 2;
          continue;
        }
        if (next == from) next = to;
      }
      if (next < to) {
        state = std::move(there);
        ScanBytes(file, input, from, next, state);
      }
      from = next;
      after = true;
      look = kScanLook;
    }
    return {size};
  }

  /// Returns the end of a record in the bytes [from, to) of a dump, which have such an end. `state` is the format's
  /// state at `from`. Where a record ends can depend on bytes after it, such as a comment before the next INSERT. Looks
  /// for the first byte that makes the end of a record known. If it makes several ends known, returns the last one.
  Place DumpBorder(File& file, std::uint32_t input, std::uint64_t from, std::uint64_t to, const ScanState& state) {
    const auto scan = [&](std::uint64_t end) {
      ScanState there = state;
      return ScanBytes(file, input, from, end, there);
    };
    std::uint64_t unknown = from, known = to;
    while (unknown + 1 < known) {
      const std::uint64_t middle = unknown + (known - unknown) / 2;
      (scan(middle).last > 0 ? known : unknown) = middle;
    }
    const RecordFormat::Ends ends = scan(known);
    return {from + ends.last, order_.Save(ends.state)};
  }

  /// Returns the mode after the bytes [begin, end), if `mode` is the mode before them. If no record can follow `mode`,
  /// returns the number of modes. A task that begins there reports the reason.
  unsigned ModeAfter(File& file, std::uint32_t input, std::uint64_t begin, std::uint64_t end, unsigned mode) {
    ScanState state;
    state.mode = mode;
    try {
      ScanBytes(file, input, begin, end, state);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
      return modes_;
    }
    return std::min(state.mode, modes_);
  }

  ScanState StateAt(File& file, std::uint32_t input, std::uint64_t at, std::uint64_t number) {
    ScanState state = FrontState(input);
    std::uint64_t from = inputs_.begin(input);
    for (std::uint64_t slice = 0; slice < number && from < at; ++slice) {
      for (const Bytes& bytes : BytesOf(slice)) {
        const std::uint64_t end = std::min(at, bytes.end - 1);
        if (bytes.input != input || end <= from) continue;
        if (const auto scans = folder_.FindScan(slice)) {
          const auto scan = std::find_if(scans->begin(), scans->end(), [&](const TaskScan& candidate) {
            return candidate.input == input && candidate.begin == from && candidate.end == end;
          });
          if (scan != scans->end() && state.mode < scan->after.size() && scan->after[state.mode] < modes_) {
            state.mode = scan->after[state.mode];
            from = scan->end;
          }
        }
        Walk(file, input, from, end, state);
        from = end;
      }
    }
    return state;
  }

  /// Returns the place for `at` that was found when the input was scanned from its beginning. The task of the slice in
  /// which the input begins has done that.
  std::optional<Place> ScannedBorder(std::uint32_t input, std::uint64_t at, std::uint64_t number) {
    if (modes_ != 0) return std::nullopt;
    for (std::uint64_t slice = 0; slice < number; ++slice) {
      const std::vector<Bytes> all = BytesOf(slice);
      if (std::none_of(all.begin(), all.end(), [&](const Bytes& bytes) { return bytes.input == input; })) continue;
      for (const TaskScan& scan : folder_.FindScan(slice).value_or(std::vector<TaskScan>())) {
        if (scan.input == input && scan.begin == at) return Place{scan.end, scan.state};
      }
      break;
    }
    return std::nullopt;
  }

  std::vector<TaskScan> ScanFromFront(std::uint32_t input, std::uint64_t number) {
    std::vector<TaskScan> scans;
    const std::unique_ptr<File> file = files_.OpenInput(inputs_.path(input), false);
    ScanState state = FrontState(input);
    std::uint64_t from = inputs_.begin(input), end = 0;
    for (std::uint64_t slice = number; end < inputs_.facts(input).size; ++slice) {
      for (const Bytes& bytes : BytesOf(slice)) {
        if (bytes.input != input) continue;
        end = bytes.end;
        if (end <= from) continue;
        Walk(*file, input, from, end - 1, state);
        from = end - 1;
        Place border = BorderAfter(*file, input, from, state);
        scans.push_back({input, end, border.at, {}, std::move(border.state)});
      }
    }
    return scans;
  }

  RecordFormat::Ends ScanBytes(File& file, std::uint32_t input, std::uint64_t begin, std::uint64_t end,
                               ScanState& state) {
    try {
      return order_.ordered().format().Scan(ReadBytes(file, begin, end), state);
    } catch (const BadRecord& bad) {
      throw Error(ErrorCode::kBadInput,
                  EscapeName(inputs_.path(input)) + ": byte " + std::to_string(begin + bad.at()) + ": " + bad.what());
    }
  }

  static constexpr std::uint64_t kScanPiece = std::uint64_t{1} << 20, kScanLook = std::uint64_t{64} << 10;

  const JobSpec& spec_;
  FileSystem& files_;
  const Inputs& inputs_;
  const TaskOrder& order_;
  JobFolder& folder_;
  const std::uint64_t stride_;             ///< the size of a record; 0: sizes differ
  const unsigned modes_;                   ///< the result of RecordFormat::modes()
  std::vector<std::uint64_t> borders_{0};  ///< where the slices begin and end, in the bytes of all inputs
  std::uint64_t set_slices_ = 0;
};

/// Returns `spec` without --verify-output if it sorts a dump. MakeDumpFences() reads all of a run of a dump anyway.
JobSpec WithoutVerify(JobSpec spec) {
  if (IsDump(spec)) spec.target.verify = false;
  return spec;
}

/// Returns the job `spec` for a task that works on one of `count` slices. Throws Error(kUsage) if there are too few.
JobSpec SpecOfSlices(const JobSpec& spec, std::uint64_t count) {
  if (const std::uint64_t least = LeastSlices(spec.order); count < least) {
    RefuseTask("--slice: the files of --minus and --intersect need slices of their own: give at least " +
               std::to_string(least) + " slices instead of " + std::to_string(count));
  }
  return WithoutVerify(spec);
}

/// Returns the job that sorts a slice of `spec`. It keeps all records of a group of equal records, because other slices
/// may have more of them: the parts count them, add up their values, and compare sets. The keys of --sum stay, so that
/// a value that is no number is noticed here, and so that the checksums of runs and parts cover the same bytes.
JobSpec WithoutGroups(JobSpec spec) {
  Order& order = spec.order;
  if (order.set_inputs() > 0) {
    order.minus = order.intersect = 0;
    order.top = 0;
  }
  if (!order.needs_groups()) return spec;
  order.unique = order.count = order.sum = order.by_count = false;
  order.groups = KeptGroups::kAll;
  order.top = 0;
  return spec;
}

/// The inputs and the folder of a job, for a task that works on a slice. Makes the folder after the inputs are opened.
struct SliceTask {
  SliceTask(const JobSpec& given, const std::vector<std::string>& arguments, std::uint64_t count,
            const std::string& path, CancelFlag& cancel)
      : spec(SpecOfSlices(given, count)),
        open(spec, cancel, files),
        folder(files, MakeFolder(path)),
        slices(open, order, folder, count) {
    const Inputs& inputs = open.inputs;
    open.ordered.ReadHeader(inputs.header());
    TaskJob job{Version(), arguments, OrderFiles(spec), {}, count, slices.set_slices()};
    const bool names = spec.source.table && spec.source.table->prefix_name;
    for (std::uint32_t i = 0; i < inputs.count(); ++i) {
      job.inputs.push_back({std::filesystem::absolute(inputs.path(i)).lexically_normal().string(), inputs.facts(i).size,
                            static_cast<std::uint64_t>(inputs.facts(i).mtime_ns), inputs.facts(i),
                            i < spec.order.set_inputs(), names ? inputs.path(i) : ""});
    }
    folder.Begin(job);
  }

  const JobSpec spec;
  FileSystem files;
  OpenJob open;
  const TaskOrder order{open.ordered};
  JobFolder folder;
  Slices slices;
};

/// Returns true if a task has sorted the slice before, and all of its files are complete.
bool IsRunThere(SliceTask& task, std::uint64_t number, const TaskRun& run) {
  try {
    RunFile(task.files, task.folder, number, run.header.size(), run.trailer.size(), run.bytes, task.order, {});
    ReadFences(task.files, task.folder, number, run);
    return true;
  } catch (const Error&) {
    return false;  // the run is written again, which reports an error of writing
  }
}

}  // namespace

void CheckTaskOptions(const JobSpec& spec) {
  if (spec.order.merge) RefuseTask("-m has no meaning here: slices are sorted, and parts merged");
  if (spec.order.has_union) RefuseTask("--union has no meaning here: give -u, and the file as an input");
  if (spec.order.keeps_input_order) {
    RefuseTask("--keep-order has no meaning here: the order depends on the places of the records in all of the input");
  }
  if (spec.source.table && spec.source.table->shuffle) {
    RefuseTask("--shuffle has no meaning here: the order depends on the places of the records in all of the input");
  }
  if (spec.source.table) {
    const TableOptions& table = *spec.source.table;
    if (IsColumnFile(RowOf(table).codec)) {
      RefuseTask("--format " + table.name + " cannot be sorted by tasks yet: give gpusort");
    }
    if ((RowOf(table).takes & kTakesTime) != 0 && table.zone.empty()) {
      RefuseTask("--format " + table.name + " needs --timezone: the zones of the machines may differ");
    }
  }
  if (spec.target.output == "-") RefuseTask("standard output has no place for parts: give a file, or a folder");
  if (spec.target.split > 0)
    RefuseTask(std::string(spec.target.part_bytes > 0 ? "--target-size" : "--split") +
               " has no meaning here: gpusort_task cut --parts says how many parts there are");
  if (spec.target.index) RefuseTask("--index has no meaning here: bgzip -r OUTPUT writes the index of a whole output");
  if (!spec.source.header_prefixes.empty() && spec.source.table &&
      RowOf(*spec.source.table).names == ColumnNames::kHeader) {
    RefuseTask("--header-prefix cannot be given here with --format " + spec.source.table->name +
               ": tasks read the header of runs again, and the first records of a run may begin so, too: take these " +
               "lines off the inputs, and put them before the output");
  }
  if (spec.order.debug) RefuseTask("--debug has no meaning here");
  if (!spec.survival.dir.empty()) RefuseTask("--resume-dir has no meaning here: a task is given again as a whole");
  if (spec.order.random && spec.order.random_source.empty()) {
    RefuseTask("-R needs --random-source: else every task has another order");
  }
  for (const std::string& input : spec.source.inputs) {
    if (IsStreamSource(input)) {
      RefuseTask("input " + EscapeName(input) + " is a stream, and each slice has to find its place in it: write it " +
                 "to a file first");
    }
  }
}

void ScanSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
               const std::string& folder, CancelFlag& cancel) {
  SliceTask task(spec, arguments, slice.count, folder, cancel);
  // In formats such as CSV, the ends of records depend on all bytes before them.
  if (!task.slices.depend() || task.folder.FindScan(slice.number)) return;
  task.folder.Write(slice.number, task.slices.Scan(slice.number));
}

std::optional<SortResult> SortSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
                                    const std::string& folder, CancelFlag& cancel, JobRecord& record) {
  Slices::Records records;
  {
    SliceTask task(spec, arguments, slice.count, folder, cancel);
    if (const std::optional<TaskRun> run = task.folder.FindRun(slice.number)) {
      if (IsRunThere(task, slice.number, *run)) {
        LogInfo("run " + std::to_string(slice.number) + " is there already");
        return std::nullopt;
      }
    }
    records = task.slices.Of(slice.number);
    // A slice without records still gets the header, if the header can be found without records. An empty input may
    // lack a header.
    const Inputs& inputs = task.open.inputs;
    if (records.paths.empty() && inputs.rereadable()) {
      const std::uint32_t input = task.slices.HeaderInput(slice.number);
      records.paths.push_back(inputs.path(input));
      records.ranges.push_back({inputs.begin(input), inputs.begin(input), inputs.facts(input).size > 0});
    }
  }
  FileSystem files;
  JobFolder there(files, folder);
  const std::string path = there.RunPath(slice.number);
  SortResult result;
  const bool keyed = HasKeyedRuns(spec), dump = IsDump(spec);
  const std::string state = records.ranges.empty() ? "" : records.ranges[0].state;
  const RunLabel label = there.LabelOf(slice.number);
  std::unique_ptr<OutputFile> run = CreateOwn(files, path);
  if (records.paths.empty()) {
    WriteWhole(std::move(run), std::as_bytes(std::span(&label, 1)));
  } else {
    Source source = spec.source;
    source.inputs = std::move(records.paths);
    source.ranges = std::move(records.ranges);
    if (keyed && !dump) {
      source.table->checked = true;
      source.table->placed = false;  // the places of records in the runs count, which the parts know
    }
    Target target = spec.target;
    target.output = path;
    target.state = state;
    target.codec = Codec::kNone;
    target.keyed = keyed;
    const JobSpec job = WithoutGroups(WithoutVerify(SubJob(spec, std::move(source), std::move(target))));
    run->Append(std::as_bytes(std::span(&label, 1)));
    if (!spec.target.no_fsync) run->WriteBackEarly();
    sigset_t signals;  // publishing blocks the signals that end a process, and fences are yet to be made
    pthread_sigmask(SIG_SETMASK, nullptr, &signals);
    result = SortJob(job, cancel, files, Output(std::move(run)), {}, {}, &record);
    pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  }
  const JobSpec runs = SpecOfRuns(spec);
  const Ordered ordered(runs, true);
  ordered.ReadHeader(result.header);
  const TaskOrder order(ordered);
  const std::uint64_t bytes = result.bytes + sizeof label;
  RunFile file(files, there, slice.number, result.header.size(), result.trailer.size(), bytes, order, {});
  std::uint64_t fields = 0;
  DumpGaps gaps;
  RecordSum with_keys;
  const std::vector<Fence> found = keyed ? file.MakeKeyedFences(result.sum, dump ? &gaps : nullptr, with_keys)
                                         : file.MakeFences(order.Load(state), fields);
  const std::vector<std::byte> fences = PackFences(found, gaps.Save(), label);
  WriteWhole(CreateOwn(files, there.FencesPath(slice.number)), fences);
  there.Write(slice.number,
              TaskRun{bytes, result.header, result.trailer, fields, keyed ? "" : state, fences.size(), HashOf(fences),
                      dump ? with_keys : result.sum, std::move(records.places), result.tally});
  return result;
}

void CheckTaskVersion(const std::string& folder) {
  FileSystem files;
  const std::string version = JobFolder(files, folder).ReadJob().version;
  if (version != Version()) {
    RefuseTask(EscapeName(folder) + ": a job with another version or locale (" + EscapeName(version) + ") is there");
  }
}

JobCommand CommandOf(const std::string& folder) {
  FileSystem files;
  TaskJob job = JobFolder(files, folder).ReadJob();
  JobCommand command{std::move(job.arguments), {}};
  command.arguments.push_back("--");
  for (TaskJob::Input& input : job.inputs) {
    if (!input.of_set) command.arguments.push_back(std::move(input.path));  // options name the files of sets
  }
  for (TaskJob::OrderFile& file : job.order_files) command.contents.push_back(std::move(file.content));
  return command;
}

}  // namespace gpusort

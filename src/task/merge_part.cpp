#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <utility>

#include "base/log.hpp"
#include "base/own_folder.hpp"
#include "formats/count_form.hpp"
#include "formats/gap_key.hpp"
#include "formats/registry.hpp"
#include "formats/table_format.hpp"
#include "job/open_job.hpp"
#include "job/sort_job.hpp"
#include "kernels/error.hpp"
#include "kernels/thread.hpp"
#include "task/part_files.hpp"
#include "task/run_file.hpp"
#include "task/tasks.hpp"

namespace gpusort {
namespace {

/// Returns true if the part and all later ones have no records. Part 0 counts as having records.
bool IsPastEnd(const TaskCut& cut, std::uint64_t part) {
  return part > 0 && (part >= cut.parts || cut.starts[part - 1].run >= cut.runs);
}

/// Returns the offset at which a part begins in a single output. Part 0 begins with the header.
std::uint64_t OffsetInOutput(const TaskCut& cut, std::uint64_t part) {
  if (part == 0 || IsPastEnd(cut, part)) return 0;
  const std::optional<std::uint64_t> before = cut.starts[part - 1].bytes_before;
  if (!before) {
    throw Error(ErrorCode::kUsage,
                "it is not known where parts begin in one output (" +
                    std::string("with -u, --minus and other options that leave records out, and ") +
                    "with a cut by fences only): give a folder, with a '/' after its name, or compress it");
  }
  return cut.header.size() + *before;
}

/// Calls todo(0) to todo(count - 1) on several threads, because the reads of one call wait for each other.
template <typename Do>
void ForEach(std::uint64_t count, Do todo) {
  constexpr std::uint64_t kThreads = 16;
  std::atomic<std::uint64_t> next = 0;
  RunTogether(std::min(kThreads, count), [&] {
    for (std::uint64_t at; (at = next++) < count;) todo(at);
  });
}

/// Finds the bytes of each run's file that belong to a part.
class PartRanges {
 public:
  PartRanges(OpenCut& open, std::uint64_t part, bool unique)
      : open_(open),
        cut_(open.cut),
        part_(part),
        unique_(unique),
        starts_(open.folder.ReadBegins(cut_, 0)),
        begins_(open.folder.ReadBegins(cut_, part)),
        ends_(open.folder.ReadBegins(cut_, part + 1)),
        sizes_(open.folder.ReadBegins(cut_, cut_.parts)) {}

  std::vector<ByteRange> All() const {
    std::vector<ByteRange> ranges(cut_.runs);
    ForEach(cut_.runs, [&](std::uint64_t run) { ranges[run] = Of(run); });
    return ranges;
  }

  /// Returns what comes before the part in all runs of a dump. `ranges` are the result of All().
  DumpBefore CountBefore(const std::vector<ByteRange>& ranges) const {
    const std::uint64_t part = PartOfDump(cut_.starts[part_ - 1].record);
    std::vector<DumpBefore> before(cut_.runs);
    ForEach(cut_.runs, [&](std::uint64_t run) {
      const TaskRun facts = open_.folder.ReadRun(run);
      const std::vector<Fence> fences = ReadFences(open_.files, open_.folder, run, facts);
      RunFile file(open_.files, open_.folder, run, 0, facts.trailer.size(), facts.bytes, open_.order, fences);
      before[run] = BeforePart(file.PlaceAt(ranges[run].begin), part);
    });
    DumpBefore sum;
    for (const DumpBefore& one : before) sum += one;
    return sum;
  }

 private:
  ByteRange Of(std::uint64_t run) const {
    if (begins_[run][0] == ends_[run][1]) return {begins_[run][0], ends_[run][1]};
    JobFolder& folder = open_.folder;
    const std::uint64_t trailer = cut_.trailer.empty() ? 0 : folder.ReadRun(run).trailer.size();
    const bool known = begins_[run][0] == begins_[run][1] && ends_[run][0] == ends_[run][1];
    std::vector<Fence> fences;
    if (open_.order.depends() && !known) fences = ReadFences(open_.files, folder, run, folder.ReadRun(run));
    const std::uint64_t bytes = sizes_[run][0] + trailer + sizeof(RunLabel);
    RunFile file(open_.files, folder, run, starts_[run][0], trailer, bytes, open_.order, fences);
    const auto border = [&](const RunOffsets& begins, std::uint64_t part) {
      const auto [low, high] = begins[run];
      return low == high ? low : file.Find(cut_.starts[part - 1], run, unique_, low, high);
    };
    const ByteRange range{border(begins_, part_), border(ends_, part_ + 1)};
    if (range.begin > range.end) throw Error(ErrorCode::kIntegrity, "the parts' borders are out of order");
    return range;
  }

  OpenCut& open_;
  const TaskCut& cut_;
  const std::uint64_t part_;
  const bool unique_;
  const RunOffsets starts_, begins_, ends_, sizes_;
};

/// Returns the format's state before the records of a part in a run. The part has all records of the runs after the run
/// of its start. In a run before that one, only rows of the same block come before the part.
std::string StateBefore(JobFolder& folder, const TaskCut& cut, std::uint64_t part, std::uint64_t run) {
  if (part == 0 || run > cut.starts[part - 1].run) return folder.ReadRun(run).state;
  return cut.starts[part - 1].state;
}

/// Returns true if the trailer of the output belongs to the part, because it is the last part that can have records.
bool HasTrailer(const TaskCut& cut, std::uint64_t part) { return IsPastEnd(cut, part + 1) && !IsPastEnd(cut, part); }

/// Returns the records of a part as inputs: a range of the file of each run that has some. `ranges` has the range of
/// each run, unless the runs are pieces. The first `set_runs` inputs are those of the first runs, also without records,
/// so that the number of an input tells whether it is of --minus or of --intersect.
Source PartSource(OpenCut& open, std::uint64_t part, const PartPieces& pieces, const std::vector<ByteRange>& ranges,
                  std::uint64_t set_runs) {
  Source source = RunSource(open, {}, {});
  std::optional<std::size_t> first;  // the first input with records
  for (std::uint64_t run = 0; run < open.cut.runs; ++run) {
    std::string input = open.folder.RunPath(run);
    ByteRange range;
    if (pieces.folder.empty()) {
      range = ranges[run];
    } else {
      input = pieces.folder + input.substr(input.rfind('/'));
      RequireOwnFile(input);
      const std::uint64_t begin = open.folder.ReadRun(run).header.size();
      const std::optional<FileFacts> piece = open.files.Identify(input);
      range = {begin, piece ? piece->size : begin};
    }
    const bool empty = range.begin == range.end;
    if (empty && run >= set_runs) continue;
    if (!empty && !first) first = source.inputs.size();
    range.inside = true;
    if (open.order.depends()) range.state = StateBefore(open.folder, open.cut, part, run);
    source.inputs.push_back(std::move(input));
    source.ranges.push_back(range);
  }
  if (!first) {
    source.inputs.clear();
    source.ranges.clear();
  }
  // A run without records may have no header. An empty range of another run has one.
  for (std::size_t i = 0; i < source.inputs.size(); ++i) {
    if (source.ranges[i].begin < source.ranges[i].end) continue;
    source.inputs[i] = source.inputs[*first];
    source.ranges[i] = source.ranges[*first];
    source.ranges[i].end = source.ranges[i].begin;
  }
  return source;
}

/// Returns the numbers in the form of --offset.
std::string Shown(const DumpBefore& before) {
  std::string text = std::to_string(before.bytes);
  for (const std::uint64_t number : {before.rows, before.separators, before.statements}) {
    text += ":" + std::to_string(number);
  }
  return text;
}

/// What a part of the output of a dump needs to know beside its records.
struct DumpPart {
  std::string front;        ///< see Target::gaps
  std::uint64_t begin = 0;  ///< the offset of the part in the output
};
/// `before` is what comes before the part in all runs.
DumpPart DescribeDumpPart(OpenCut& open, std::uint64_t part, const DumpBefore& before) {
  const TaskCut& cut = open.cut;
  DumpGaps gaps = DumpGaps::Load(open.folder.ReadGaps(cut));
  // The gaps of the part of the dump that a part of the output begins in. Null: it has none, or there are no records.
  const auto gaps_at = [&](std::uint64_t number) -> const GapList* {
    if (number == 0 || IsPastEnd(cut, number)) return nullptr;
    return gaps.Find(PartOfDump(cut.starts[number - 1].record));
  };
  const GapList* const here = gaps_at(part);
  if (here != nullptr &&
      before.separators * here->separator.size() + before.statements * (here->head.size() + here->tail.size()) >
          before.bytes) {
    throw Error(ErrorCode::kUsage, "--offset: '" + Shown(before) + "' has more separators and statements than bytes");
  }
  GapFront front;
  front.row = before.rows;
  front.goes_on = gaps_at(part + 1) != nullptr;
  if (here != nullptr) front.list = *here;
  return {front.Save(gaps.texts), cut.header.size() + OutputBytes(before, here, gaps.texts)};
}

/// Throws Error(kUsage) if the numbers of --offset cannot be those of the part.
void CheckOffset(OpenCut& open, std::uint64_t part, const PartPieces& pieces, bool dump) {
  if (!pieces.offset || part == 0 || IsPastEnd(open.cut, part)) return;
  const PartStart& start = open.cut.starts[part - 1];
  const std::string given = dump ? Shown(*pieces.before) : std::to_string(*pieces.offset);
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kUsage, "--offset: '" + given + "' is given, and " + why);
  };
  std::optional<std::string> known;
  if (dump && start.before) known = Shown(*start.before);
  if (!dump && start.bytes_before) known = std::to_string(open.cut.header.size() + *start.bytes_before);
  if (known && *known != given) refuse("part " + std::to_string(part) + " begins at " + *known);
  std::uint64_t most = open.cut.header.size();
  for (std::uint64_t run = 0; run < open.cut.runs; ++run) most += open.folder.ReadRun(run).bytes;
  if (*pieces.offset > most) refuse("all runs have only " + std::to_string(most) + " bytes");
  if (!dump) return;
  const DumpBefore& before = *pieces.before;
  if (before.rows > before.bytes || before.separators > before.rows || before.statements > before.rows) {
    refuse(
        "these are no numbers of bytes, rows, separators and statements: each byte has at most one row, and each row "
        "at most one separator or statement");
  }
}

/// Returns what comes before the next part of a dump, without the number of its bytes: `before`, which comes before
/// this part, and what `source` has, the pieces of this part. No value: no records follow.
std::optional<DumpBefore> CountAfter(OpenCut& open, std::uint64_t part, const Source& source, const DumpBefore& before,
                                     const CancelFlag& cancel) {
  const TaskCut& cut = open.cut;
  if (IsPastEnd(cut, part + 1)) return std::nullopt;
  const std::uint64_t here = part == 0 ? 0 : PartOfDump(cut.starts[part - 1].record);
  const std::uint64_t next = PartOfDump(cut.starts[part].record);
  std::vector<DumpBefore> counts(source.inputs.size());
  ForEach(counts.size(), [&](std::uint64_t piece) {
    const std::unique_ptr<File> file = open.files.OpenInput(source.inputs[piece], false);
    RunPlace place;
    place.part = here;
    KeyedRunReader reader(open.order.keyed_layout(), place);
    std::uint64_t block = std::uint64_t{1} << 20;
    for (ByteRange left = source.ranges[piece]; left.begin < left.end;) {
      cancel.ThrowIfRequested();
      const std::uint64_t end = std::min(left.end, left.begin + block);
      const std::vector<std::byte> bytes = ReadBytes(*file, left.begin, end);
      const auto newline = std::find(bytes.rbegin(), bytes.rend(), std::byte{'\n'});
      const auto whole = end == left.end ? bytes.size() : static_cast<std::size_t>(bytes.rend() - newline);
      if (whole == 0) {
        block *= 2;
        continue;
      }
      reader.Take(RecordSpan(bytes).first(whole));
      left.begin += whole;
    }
    counts[piece] = BeforePart(reader.place(), next);
  });
  DumpBefore sum = here == next ? before : DumpBefore();
  for (const DumpBefore& one : counts) sum += one;
  sum.bytes = 0;
  return sum;
}

/// Returns the size of a part of the output if the runs have sort keys, and if the cut knows where the part and the
/// next one begin. `around` is the size of its header and trailer.
std::optional<std::uint64_t> SizeWithoutKeys(const TaskCut& cut, std::uint64_t part, std::uint64_t around) {
  const auto begin = [&](std::uint64_t number) {
    return number == 0 ? std::optional<std::uint64_t>(0) : cut.starts[number - 1].bytes_before;
  };
  if (part + 1 == cut.parts || !begin(part) || !begin(part + 1)) return std::nullopt;
  return *begin(part + 1) - *begin(part) + around;
}

/// Implements --verify-output for a part of a dump: compares its file with the checksums of what was written.
void VerifyPieces(FileSystem& files, const std::string& path, const TaskPart& part) {
  const std::unique_ptr<File> file = files.OpenInput(path, false);
  for (const PieceSum& piece : part.pieces) {
    if (HashOfPiece(ReadBytes(*file, piece.offset, piece.offset + piece.bytes)) == piece.hash) continue;
    throw WrongResult(EscapeName(path) + ": bytes " + std::to_string(piece.offset) + " to " +
                      std::to_string(piece.offset + piece.bytes) + " are not what was written");
  }
}

std::vector<std::byte> Compressed(Codec codec, std::span<const std::byte> bytes) {
  std::vector<std::byte> out;
  Encoder encoder(codec, {}, [&](std::span<const std::byte> more) { out.insert(out.end(), more.begin(), more.end()); });
  encoder.Write(bytes);
  encoder.Finish();
  return out;
}

/// Runs `job`, whose inputs are runs or their `pieces`. Throws Error(kIntegrity) if an input was changed after it was
/// written: the tasks of runs have refused records that cannot be read, and have sorted the others.
SortResult MergeRunFiles(const JobSpec& job, CancelFlag& cancel, FileSystem& files, Output output, JobRecord& record,
                         const PartPieces& pieces) {
  try {
    return SortJob(job, cancel, files, std::move(output), {}, {}, &record);
  } catch (const BadSum&) {
    throw;  // whether the output gets a record without a number is known only here
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput) throw;
    if (pieces.folder.empty()) FailChangedRun(error.what());
    throw Error(ErrorCode::kIntegrity,
                std::string(error.what()) + ": it was changed, or is no piece of this part: copy it again");
  }
}

}  // namespace

std::optional<SortResult> MergePart(const JobSpec& spec, TaskNumber part, const std::string& folder,
                                    const std::string& output, const PartPieces& pieces, CancelFlag& cancel,
                                    JobRecord& record) {
  OpenCut open(spec, folder, part.count);
  const TaskCut& cut = open.cut;
  const PartFiles part_files(open.files, spec, output, cut);
  const std::string path = part_files.PathOf(part.number);
  const bool dump = IsDump(spec);
  std::vector<ByteRange> ranges;
  DumpPart of_dump;
  const bool empty = IsPastEnd(cut, part.number);
  std::optional<PartRanges> places;  // not with pieces: their ranges were found where the runs are
  if (pieces.folder.empty()) {
    places.emplace(open, part.number, KeepsGroups(spec));
    ranges = places->All();
  }
  if (!pieces.folder.empty()) CheckOffset(open, part.number, pieces, dump);
  DumpBefore before;
  if (dump && !empty) {
    if (part.number > 0 && cut.starts[part.number - 1].before) {
      before = *cut.starts[part.number - 1].before;
    } else if (!places) {
      before = pieces.before.value_or(DumpBefore());
    } else if (part.number > 0) {
      before = places->CountBefore(ranges);
    }
    of_dump = DescribeDumpPart(open, part.number, before);
  }
  TaskPart made;
  if (!part_files.own_files()) {
    made.offset = dump && !pieces.folder.empty() ? of_dump.begin
                  : pieces.offset                ? *pieces.offset
                                                 : OffsetInOutput(cut, part.number);
  }
  if (const std::optional<TaskPart> found = open.folder.FindPart(part.number, part.count)) {
    // If the parts are proved already, the output has its name. A hidden file written now would never be removed.
    const bool proved = part_files.joins() ? part_files.IsJoined(open.folder)
                                           : !part_files.apart() && part_files.IsThere(*found, output);
    if (found->offset == made.offset && (proved || part_files.IsThere(*found, path))) {
      LogInfo("part " + std::to_string(part.number) + " is there already");
      return std::nullopt;
    }
  }
  if (!part_files.apart() && spec.target.verify) {
    throw Error(ErrorCode::kUsage,
                "--verify-output reads files of parts back: give a folder, with a '/' after its name");
  }
  if (!pieces.folder.empty()) OpenOwnFolder("--pieces ", pieces.folder);

  Target target = spec.target;
  if (part.number > 0) target.state = cut.starts[part.number - 1].state;  // the state before the first record
  target.headless = !part_files.apart() && part.number > 0;
  if (part_files.apart() || HasTrailer(cut, part.number)) target.trailer = cut.trailer;
  target.gaps = of_dump.front;
  if (dump) target.verify = false;  // the format cannot read a part of a dump: VerifyPieces() does it
  const bool sets = spec.order.set_inputs() > 0;
  // The runs of the part may have another header than the first run, such as one with a byte order mark.
  target.header = spec.order.count ? CountForm(spec).HeaderOf(cut.header) : cut.header;
  const std::uint64_t set_runs = sets ? open.folder.ReadJob().set_slices : 0;
  JobSpec job = SubJob(open.runs, PartSource(open, part.number, pieces, ranges, set_runs), std::move(target));
  if (sets) job.order.minus = static_cast<std::uint32_t>(set_runs) - spec.order.intersect;
  if (dump && !empty && !pieces.folder.empty()) {
    made.before = before;
    made.after = CountAfter(open, part.number, job.source, before, cancel);
  }
  if (job.limits.temp_dirs.empty()) job.limits.temp_dirs = {pieces.folder.empty() ? folder : pieces.folder};
  job.order.merge = true;
  std::vector<std::byte> around;  // the bytes before and after the records; a part without records has only these
  if (!job.target.headless) around = *job.target.header;
  around.insert(around.end(), job.target.trailer.begin(), job.target.trailer.end());

  SortResult result;
  PieceSums sums;
  if (part_files.own_files()) {
    std::unique_ptr<OutputFile> file = part_files.Create(part.number);
    file->SumPieces(&sums);
    if (job.source.inputs.empty()) {
      if (job.target.codec != Codec::kNone) around = Compressed(job.target.codec, around);
      WriteWhole(std::move(file), around);
      result.bytes = around.size();
    } else {
      job.target.output = path;
      if (!spec.target.no_fsync) file->WriteBackEarly();
      result = MergeRunFiles(job, cancel, open.files, Output(std::move(file)), record, pieces);
    }
    made.inode = open.files.Identify(path)->ino;
  } else {
    const detail::Fd shared = part_files.OpenShared(made.offset);
    auto writer = std::make_unique<PipeWriter>(shared.get(), path, cancel);
    writer->SumPieces(&sums);
    std::optional<std::uint64_t> bytes = around.size();
    for (const ByteRange& range : job.source.ranges) *bytes += range.end - range.begin;
    if (HasKeyedRuns(spec)) bytes = SizeWithoutKeys(cut, part.number, around.size());
    if (job.source.inputs.empty()) {
      writer->WriteAll(around);
      result.bytes = around.size();
    } else {
      job.target.output = "/dev/fd/" + std::to_string(shared.get());
      result = MergeRunFiles(job, cancel, open.files, Output(std::move(writer)), record, pieces);
    }
    if (!spec.target.no_fsync && Uninterrupted([&] { return ::fsync(shared.get()); }) != 0) {
      PartFailed(path, "sync it");
    }
    made.inode = FactsOf(shared.get()).ino;
    if (spec.order.top == 0 && !KeepsGroups(spec) && bytes && result.bytes != *bytes) {
      throw WrongResult("part " + std::to_string(part.number) + " has " + std::to_string(result.bytes) +
                        " bytes and should have " + std::to_string(*bytes));
    }
  }
  made.birth_ns = BirthOf(path);
  made.pieces = sums.Cover(result.bytes);
  made.bytes = result.bytes;
  made.dump_begin = of_dump.begin;
  made.dump_end = of_dump.begin + result.plain_bytes;
  made.sum = result.sum;
  made.read = result.read;
  made.first = result.first;
  made.last = result.last;
  if (dump && spec.target.verify) VerifyPieces(open.files, path, made);
  open.folder.Write(part.number, part.count, made);
  return result;
}

}  // namespace gpusort

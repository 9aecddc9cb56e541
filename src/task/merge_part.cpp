#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <utility>

#include "base/log.hpp"
#include "base/own_folder.hpp"
#include "job/open_job.hpp"
#include "job/sort_job.hpp"
#include "kernels/error.hpp"
#include "kernels/thread.hpp"
#include "task/part_files.hpp"
#include "task/run_file.hpp"
#include "task/tasks.hpp"

namespace gpusort {
namespace {

/// Returns the offset at which a part begins in a single output. Part 0 begins with the header.
std::uint64_t OffsetInOutput(const TaskCut& cut, std::uint64_t part) {
  if (part == 0 || cut.starts[part - 1].run >= cut.runs) return 0;  // the part has no records
  const std::optional<std::uint64_t> before = cut.starts[part - 1].bytes_before;
  if (!before) {
    throw Error(ErrorCode::kUsage, "it is not known where parts begin in one output (" +
                                       std::string("with -u, and with a cut by fences only)") +
                                       ": give a folder, with a '/' after its name, or compress it");
  }
  return cut.header.size() + *before;
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

  /// Searches several runs at the same time, because the reads of one search wait for each other.
  std::vector<ByteRange> All() const {
    constexpr std::uint64_t kThreads = 16;
    std::vector<ByteRange> ranges(cut_.runs);
    std::atomic<std::uint64_t> next = 0;
    RunTogether(std::min(kThreads, cut_.runs), [&] {
      for (std::uint64_t run; (run = next++) < ranges.size();) ranges[run] = Of(run);
    });
    return ranges;
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
bool HasTrailer(const TaskCut& cut, std::uint64_t part) {
  const auto is_end = [&](std::uint64_t border) {
    return border + 1 == cut.parts || cut.starts[border].run >= cut.runs;
  };
  return is_end(part) && (part == 0 || !is_end(part - 1));
}

/// Returns the records of a part as inputs: a range of the file of each run that has some.
Source PartSource(OpenCut& open, const JobSpec& spec, std::uint64_t part, const PartPieces& pieces) {
  Source source = spec.source;
  source.inputs.clear();
  source.codec = Codec::kNone;
  source.force_format = true;  // the inputs were checked already, and runs are not ordered as the inputs were
  std::vector<ByteRange> ranges;
  if (pieces.folder.empty()) ranges = PartRanges(open, part, spec.order.unique).All();
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
    if (range.begin == range.end) continue;
    range.inside = true;
    if (open.order.depends()) range.state = StateBefore(open.folder, open.cut, part, run);
    source.inputs.push_back(std::move(input));
    source.ranges.push_back(range);
  }
  return source;
}

std::vector<std::byte> Compressed(Codec codec, std::span<const std::byte> bytes) {
  std::vector<std::byte> out;
  Encoder encoder(codec, {}, [&](std::span<const std::byte> more) { out.insert(out.end(), more.begin(), more.end()); });
  encoder.Write(bytes);
  encoder.Finish();
  return out;
}

}  // namespace

std::optional<SortResult> MergePart(const JobSpec& spec, TaskNumber part, const std::string& folder,
                                    const std::string& output, const PartPieces& pieces, CancelFlag& cancel,
                                    JobRecord& record) {
  OpenCut open(spec, folder, part.count);
  const TaskCut& cut = open.cut;
  const PartFiles part_files(open.files, spec, output, cut);
  const std::string path = part_files.PathOf(part.number);
  TaskPart made;
  if (!part_files.own_files()) made.offset = pieces.offset ? *pieces.offset : OffsetInOutput(cut, part.number);
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
  JobSpec job = SubJob(spec, PartSource(open, spec, part.number, pieces), std::move(target));
  if (job.limits.temp_dirs.empty()) job.limits.temp_dirs = {pieces.folder.empty() ? folder : pieces.folder};
  job.order.merge = true;
  std::vector<std::byte> around;  // the bytes before and after the records; a part without records has only these
  if (!job.target.headless) around = cut.header;
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
      result = SortJob(job, cancel, open.files, Output(std::move(file)), {}, {}, &record);
    }
    made.inode = open.files.Identify(path)->ino;
  } else {
    const detail::Fd shared = part_files.OpenShared(made.offset);
    auto writer = std::make_unique<PipeWriter>(shared.get(), path, cancel);
    writer->SumPieces(&sums);
    std::uint64_t bytes = around.size();
    for (const ByteRange& range : job.source.ranges) bytes += range.end - range.begin;
    if (job.source.inputs.empty()) {
      writer->WriteAll(around);
      result.bytes = around.size();
    } else {
      job.target.output = "/dev/fd/" + std::to_string(shared.get());
      result = SortJob(job, cancel, open.files, Output(std::move(writer)), {}, {}, &record);
    }
    if (!spec.target.no_fsync && ::fsync(shared.get()) != 0) PartFailed(path, "sync it");
    made.inode = FactsOf(shared.get()).ino;
    if (spec.order.top == 0 && !spec.order.unique && result.bytes != bytes) {
      throw WrongResult("part " + std::to_string(part.number) + " has " + std::to_string(result.bytes) +
                        " bytes and should have " + std::to_string(bytes));
    }
  }
  made.birth_ns = BirthOf(path);
  made.pieces = sums.Cover(result.bytes);
  made.bytes = result.bytes;
  made.sum = result.sum;
  made.read = result.read;
  made.first = result.first;
  made.last = result.last;
  open.folder.Write(part.number, part.count, made);
  return result;
}

}  // namespace gpusort

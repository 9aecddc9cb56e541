#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <future>
#include <memory>
#include <span>
#include <utility>

#include "error.hpp"
#include "job/external_sort.hpp"
#include "support/log.hpp"
#include "task/run_file.hpp"
#include "task/tasks.hpp"
#include "thread.hpp"

namespace gpusort {
namespace {

bool IsFolderName(const std::string& output) { return output.ends_with('/'); }

/// The one output, as it is replaced in the end.
std::unique_ptr<OutputFile> OpenOutput(FileSystem& files, const Options& options, const std::string& output) {
  std::unique_ptr<OutputFile> file =
      files.CreateOutput(output, false, options.no_clobber ? OldFile::kKeep : OldFile::kReplaceOrRewrite);
  if (!file->in_place().empty()) {
    throw Error(ErrorCode::kUsage, EscapeName(output) + " cannot be replaced (" + file->in_place() +
                                       "): give another name, or a folder");
  }
  return file;
}

/// Where parts of it are put together until all are there. Another job's lie elsewhere: its bytes are not the same.
std::string HiddenName(JobFolder& folder, const OutputFile& output) {
  const std::string name = folder.Id() + std::filesystem::path(output.path()).filename().string();
  return ".gpusort-" + Hex(HashOf(std::as_bytes(std::span(name)))) + ".parts";
}

[[noreturn]] void PartFailed(const std::string& path, const char* verb) {
  throw Error(errno == ENOSPC || errno == EDQUOT ? ErrorCode::kNoSpace : ErrorCode::kIo,
              EscapeName(path) + ": cannot " + verb + ": " + detail::ErrnoText(errno));
}

/// The shared file, at the byte where a part begins.
detail::Fd OpenShared(const std::string& path, std::uint64_t at) {
  detail::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.open()) PartFailed(path, "open it");
  struct stat facts;
  if (::fstat(fd.get(), &facts) != 0) PartFailed(path, "look at it");
  if (!S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid()) {
    throw Error(ErrorCode::kUsage, EscapeName(path) + ": it is no file of this user");
  }
  if (::lseek(fd.get(), static_cast<off_t>(at), SEEK_SET) < 0) PartFailed(path, "seek in it");
  return fd;
}

/// The front of the output that is no record is part 0's.
std::uint64_t PlaceInOutput(const TaskCut& cut, std::uint64_t part) {
  if (part == 0 || cut.places[part - 1].run >= cut.runs) return 0;  // there is nothing behind all records
  const std::optional<std::uint64_t> before = cut.places[part - 1].bytes_before;
  if (!before) {
    throw Error(ErrorCode::kUsage, "where parts begin in one output is not known (" +
                                       std::string("with -u, and with a cut by fences only)") +
                                       ": give a folder, with a '/' behind its name");
  }
  return cut.header.size() + *before;
}

/// What a part has of each run's file.
class PartRanges {
 public:
  PartRanges(FileSystem& files, JobFolder& folder, const TaskCut& cut, std::uint64_t part, bool unique,
             const TaskOrder& order)
      : files_(files), folder_(folder), cut_(cut), part_(part), unique_(unique), order_(order),
        starts_(folder.ReadBegins(cut, 0)), begins_(folder.ReadBegins(cut, part)),
        ends_(folder.ReadBegins(cut, part + 1)), sizes_(folder.ReadBegins(cut, cut.parts)) {}

  /// Of all runs, side by side: what is looked up in each takes reads that wait for one another.
  std::vector<ByteRange> All() const {
    constexpr std::uint64_t kThreads = 16;
    std::vector<ByteRange> ranges(cut_.runs);
    std::atomic<std::uint64_t> next = 0;
    const auto look = [&] {
      for (std::uint64_t run; (run = next++) < ranges.size();) ranges[run] = Of(run);
    };
    std::vector<std::future<void>> beside;
    while (beside.size() + 1 < std::min(kThreads, cut_.runs)) beside.push_back(RunBeside(look));
    look();
    for (std::future<void>& thread : beside) thread.get();
    return ranges;
  }

 private:
  ByteRange Of(std::uint64_t run) const {
    if (begins_[run][0] == ends_[run][1]) return {begins_[run][0], ends_[run][1]};
    RunFile file(files_, folder_.RunPath(run), starts_[run][0], sizes_[run][0], order_);
    const auto border = [&](const PartBegins& begins, std::uint64_t part) {
      const auto [low, high] = begins[run];
      return low == high ? low : file.Find(cut_.places[part - 1], run, unique_, low, high);
    };
    const ByteRange range{border(begins_, part_), border(ends_, part_ + 1)};
    if (range.begin > range.end) throw Error(ErrorCode::kIntegrity, "the parts' borders are out of order");
    return range;
  }

  FileSystem& files_;
  JobFolder& folder_;
  const TaskCut& cut_;
  const std::uint64_t part_;
  const bool unique_;
  const TaskOrder& order_;
  const PartBegins starts_, begins_, ends_, sizes_;
};

bool IsThere(FileSystem& files, const TaskPart& part, const std::string& path) {
  const std::optional<FileFacts> facts = files.Identify(path);
  return facts && facts->ino == part.inode && facts->size >= part.offset + part.bytes;
}

}  // namespace

std::vector<std::uint64_t> PartBorders(const Options& options, std::uint64_t parts, std::uint64_t run,
                                       const std::string& folder) {
  FileSystem files;
  TaskOrder order(options);
  JobFolder job(files, folder);
  const TaskCut cut = job.ReadCut(parts);
  order.ReadHeader(cut.header);
  if (run >= cut.runs) {
    throw Error(ErrorCode::kUsage, "run " + std::to_string(run) + ": there are " + std::to_string(cut.runs));
  }
  const TaskRun facts = job.ReadRun(run);
  const std::vector<Fence> fences = ReadFences(files, job.FencesPath(run), facts);
  RunFile file(files, job.RunPath(run), facts.header.size(), facts.bytes, order);
  std::vector<std::uint64_t> borders{file.begin()};
  for (const CutPlace& place : cut.places) {
    borders.push_back(place.run >= cut.runs ? file.end() : file.Find(place, run, options.unique, fences));
  }
  borders.push_back(file.end());
  return borders;
}

void MergePart(const Options& options, TaskNumber part, const std::string& folder, const std::string& output,
               const PartPieces& pieces, CancelFlag& cancel) {
  FileSystem files;
  TaskOrder order(options);
  JobFolder all(files, folder);
  const TaskCut cut = all.ReadCut(part.count);
  order.ReadHeader(cut.header);
  const bool apart = IsFolderName(output);
  std::string path = output + PartFileName(part.number, part.count);
  if (!apart) {
    const std::unique_ptr<OutputFile> whole = OpenOutput(files, options, output);
    path = whole->directory() + "/" + HiddenName(all, *whole);
  }
  TaskPart made;
  if (!apart) made.offset = pieces.offset ? *pieces.offset : PlaceInOutput(cut, part.number);
  if (const std::optional<TaskPart> there = all.FindPart(part.number, part.count)) {
    // Proved already, it has the output's name: a hidden file anew would stay.
    const bool proved = !apart && IsThere(files, *there, output);
    if (there->offset == made.offset && (proved || IsThere(files, *there, path))) {
      LogInfo("part " + std::to_string(part.number) + " is there already");
      return;
    }
  }
  if (!apart && options.verify_output) {
    throw Error(ErrorCode::kUsage, "--verify-output reads files of parts back: give a folder, with a '/' behind its name");
  }
  Options job = options;
  if (job.temp_dirs.empty()) job.temp_dirs = {pieces.folder.empty() ? folder : pieces.folder};
  job.inputs.clear();
  job.input_codec = Codec::kNone;
  job.merge = true;
  std::vector<ByteRange> ranges;
  if (pieces.folder.empty()) ranges = PartRanges(files, all, cut, part.number, options.unique, order).All();
  std::uint64_t bytes = 0;
  for (std::uint64_t run = 0; run < cut.runs; ++run) {
    std::string input = all.RunPath(run);
    ByteRange range;
    if (pieces.folder.empty()) {
      range = ranges[run];
    } else {
      input = pieces.folder + input.substr(input.rfind('/'));
      const std::uint64_t begin = all.ReadRun(run).header.size();
      const std::optional<FileFacts> piece = files.Identify(input);
      range = {begin, piece ? piece->size : begin};
    }
    if (range.begin == range.end) continue;
    bytes += range.end - range.begin;
    job.inputs.push_back(std::move(input));
    job.ranges.push_back(range);
  }
  SortResult result;
  const std::vector<std::byte>& header = cut.header;
  if (apart) {
    std::error_code made_folder;  // whether it is there is seen next
    std::filesystem::create_directory(output, made_folder);
    if (job.inputs.empty()) {
      WriteWhole(files, path, header);
      result.bytes = header.size();
    } else {
      job.output = path;
      result = ExternalSort(job, cancel);
    }
    made.inode = files.Identify(path)->ino;
  } else {
    job.headless = part.number > 0;
    const detail::Fd shared = OpenShared(path, made.offset);
    const std::uint64_t front = job.headless ? 0 : header.size();
    if (job.inputs.empty()) {
      PipeWriter(shared.get(), path, cancel).WriteAll(RecordSpan(header).first(front));
      result.bytes = front;
    } else {
      job.output = "/dev/fd/" + std::to_string(shared.get());
      result = ExternalSort(job, cancel, files, Output(std::make_unique<PipeWriter>(shared.get(), path, cancel)), {});
    }
    if (!options.no_fsync && ::fsync(shared.get()) != 0) PartFailed(path, "sync it");
    made.inode = FactsOf(shared.get()).ino;
    if (options.top == 0 && !options.unique && result.bytes != front + bytes) {
      throw WrongResult("part " + std::to_string(part.number) + " has " + std::to_string(result.bytes) +
                        " bytes and should have " + std::to_string(front + bytes));
    }
  }
  made.bytes = result.bytes;
  made.sum = result.sum;
  made.read = result.read;
  made.first = std::move(result.first);
  made.last = std::move(result.last);
  all.Write(part.number, part.count, made);
}

std::uint64_t ProveParts(const Options& options, std::uint64_t parts, const std::string& folder,
                         const std::string& output) {
  FileSystem files;
  TaskOrder order(options);
  JobFolder all(files, folder);
  const TaskCut cut = all.ReadCut(parts);
  order.ReadHeader(cut.header);
  const bool apart = IsFolderName(output);
  const std::unique_ptr<OutputFile> file = apart ? nullptr : OpenOutput(files, options, output);
  const std::string hidden = apart ? "" : HiddenName(all, *file);
  RecordSum read, merged, made;
  for (std::uint64_t run = 0; run < cut.runs; ++run) read += all.ReadRun(run).sum;
  std::uint64_t end = 0;
  std::vector<std::byte> last;
  for (std::uint64_t number = 0; number < parts; ++number) {
    const TaskPart part = all.ReadPart(number, parts);
    const std::string name = "part " + std::to_string(number);
    const std::string path = apart ? output + PartFileName(number, parts) : file->directory() + "/" + hidden;
    if (!apart && files.Identify(output) && !files.Identify(path)) {
      throw Error(ErrorCode::kUsage, EscapeName(output) + " is there, and what tasks write in its place is not: " +
                                         "it may be proved already");
    }
    if (!apart && part.bytes == 0) continue;
    if (!IsThere(files, part, path)) {
      throw Error(ErrorCode::kIntegrity, EscapeName(path) + ": " + name + " was written, and is not there: remove " +
                                             "its .json in " + EscapeName(folder) + " and give its task again");
    }
    if (!apart && part.offset != end) throw WrongResult(name + " does not begin where the one in front of it ends");
    end = part.offset + part.bytes;
    made += part.sum;
    merged += part.read;
    if (part.first.empty()) continue;
    const std::vector<std::byte> first = order.Comparable(part.first).value_or(TaskOrder::First{}).comparable;
    if (first.empty()) throw Error(ErrorCode::kIntegrity, name + ": its first record is none");
    const int compared = last.empty() ? -1 : order.Compare(last, first);
    if (compared > 0 || (compared == 0 && options.unique)) {
      throw WrongResult(name + " begins with a record that orders before the last one in front of it");
    }
    last = order.Comparable(part.last).value_or(TaskOrder::First{}).comparable;
  }
  if (options.top == 0 && (!(read == merged) || (!options.unique && !(read == made)))) {
    throw WrongResult("records were lost, doubled or changed: the runs have " + std::to_string(read.records) +
                      ", the parts were merged from " + std::to_string(merged.records) + " and have " +
                      std::to_string(made.records));
  }
  if (options.top > 0 && made.records > options.top) throw WrongResult("there are more records than --top asks for");
  if (!apart) {
    if (!file->TakeUp(hidden, end)) throw WrongResult("the parts are shorter than they were written");
    file->Keep(end);
    file->Publish(end, !options.no_fsync);
  }
  LogInfo("proved: " + std::to_string(made.records) + " records in " + std::to_string(parts) + " parts");
  return made.records;
}

}  // namespace gpusort

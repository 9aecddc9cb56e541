#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "error.hpp"
#include "job/external_sort.hpp"
#include "support/log.hpp"
#include "task/task_runs.hpp"
#include "task/tasks.hpp"

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
std::uint64_t PlaceInOutput(const TaskRuns& runs, const TaskCut& cut, std::uint64_t part) {
  if (part == 0 || cut.places[part - 1].run >= runs.count()) return 0;  // there is nothing behind all records
  const std::optional<std::uint64_t> before = cut.places[part - 1].bytes_before;
  if (!before) {
    throw Error(ErrorCode::kUsage, "where parts begin in one output is not known (" +
                                       std::string("with -u, and with a cut by fences only)") +
                                       ": give a folder, with a '/' behind its name");
  }
  return runs.header().size() + *before;
}

std::uint64_t PartBegin(TaskRuns& runs, const TaskCut& cut, std::uint64_t part, std::size_t run, bool unique) {
  if (part == 0) return runs.begin(run);
  return part == cut.parts ? runs.end(run) : runs.Border(cut.places[part - 1], run, unique);
}

bool IsThere(FileSystem& files, const TaskPart& part, const std::string& path) {
  const std::optional<FileFacts> facts = files.Identify(path);
  return facts && facts->ino == part.inode && facts->size >= part.offset + part.bytes;
}

}  // namespace

std::vector<std::uint64_t> PartBorders(const Options& options, std::uint64_t parts, std::uint64_t run,
                                       const std::string& folder) {
  FileSystem files;
  TaskOrder order(options);
  TaskRuns runs(files, folder, order);
  if (run >= runs.count()) {
    throw Error(ErrorCode::kUsage, "run " + std::to_string(run) + ": there are " + std::to_string(runs.count()));
  }
  const TaskCut cut = runs.folder().ReadCut(parts);
  std::vector<std::uint64_t> borders;
  for (std::uint64_t part = 0; part <= parts; ++part) borders.push_back(PartBegin(runs, cut, part, run, options.unique));
  return borders;
}

void MergePart(const Options& options, TaskNumber part, const std::string& folder, const std::string& output,
               const PartPieces& pieces, CancelFlag& cancel) {
  FileSystem files;
  TaskOrder order(options);
  TaskRuns runs(files, folder, order);
  const TaskCut cut = runs.folder().ReadCut(part.count);
  const bool apart = IsFolderName(output);
  std::string path = output + PartFileName(part.number, part.count);
  if (!apart) {
    const std::unique_ptr<OutputFile> whole = OpenOutput(files, options, output);
    path = whole->directory() + "/" + HiddenName(runs.folder(), *whole);
  }
  TaskPart made;
  if (!apart) made.offset = pieces.offset ? *pieces.offset : PlaceInOutput(runs, cut, part.number);
  if (const std::optional<TaskPart> there = runs.folder().FindPart(part.number, part.count)) {
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
  std::uint64_t bytes = 0;
  for (std::size_t run = 0; run < runs.count(); ++run) {
    std::string input = runs.folder().RunPath(run);
    ByteRange range;
    if (pieces.folder.empty()) {
      range = {PartBegin(runs, cut, part.number, run, options.unique),
               PartBegin(runs, cut, part.number + 1, run, options.unique)};
      if (range.begin > range.end) throw Error(ErrorCode::kIntegrity, "the parts' borders are out of order");
    } else {
      input = pieces.folder + input.substr(input.rfind('/'));
      const std::optional<FileFacts> piece = files.Identify(input);
      range = {runs.begin(run), piece ? piece->size : runs.begin(run)};
    }
    if (range.begin == range.end) continue;
    bytes += range.end - range.begin;
    job.inputs.push_back(std::move(input));
    job.ranges.push_back(range);
  }
  SortResult result;
  const std::vector<std::byte>& header = runs.header();
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
  runs.folder().Write(part.number, part.count, made);
}

std::uint64_t ProveParts(const Options& options, std::uint64_t parts, const std::string& folder,
                         const std::string& output) {
  FileSystem files;
  TaskOrder order(options);
  TaskRuns runs(files, folder, order);
  const TaskCut cut = runs.folder().ReadCut(parts);
  const bool apart = IsFolderName(output);
  const std::unique_ptr<OutputFile> file = apart ? nullptr : OpenOutput(files, options, output);
  const std::string hidden = apart ? "" : HiddenName(runs.folder(), *file);
  RecordSum read, merged, made;
  for (std::size_t run = 0; run < runs.count(); ++run) read += runs.sum(run);
  std::uint64_t end = 0;
  std::vector<std::byte> last;
  for (std::uint64_t number = 0; number < parts; ++number) {
    const TaskPart part = runs.folder().ReadPart(number, parts);
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

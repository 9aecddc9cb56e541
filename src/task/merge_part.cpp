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

#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/own_folder.hpp"
#include "io/output_file.hpp"
#include "job/external_sort.hpp"
#include "kernels/error.hpp"
#include "kernels/thread.hpp"
#include "task/run_file.hpp"
#include "task/tasks.hpp"

namespace gpusort {
namespace {

bool IsFolderName(const std::string& output) { return output.ends_with('/'); }

/// The one output, as it is replaced in the end.
std::unique_ptr<OutputFile> OpenOutput(FileSystem& files, const JobSpec& spec, const std::string& output) {
  std::unique_ptr<OutputFile> file =
      files.CreateOutput(output, false, spec.target.no_clobber ? OldFile::kKeep : OldFile::kReplaceOrRewrite);
  if (!file->in_place().empty()) {
    throw Error(ErrorCode::kUsage, EscapeName(output) + " cannot be replaced (" + file->in_place() +
                                       "): give another name, or a folder");
  }
  return file;
}

/// Where parts of the output are put together until all are there. Another job's lie elsewhere: its bytes are not the same.
/// The folder may be one that others can write in, so nobody can tell the name before it is there.
std::string HiddenName(const TaskCut& cut, const OutputFile& output) {
  const std::string name = Hex(cut.secret) + std::filesystem::path(output.path()).filename().string();
  return ".gpusort-" + Hex(HashOf(std::as_bytes(std::span(name)))) + ".parts";
}

[[noreturn]] void PartFailed(const std::string& path, const char* verb) {
  throw Error(errno == ENOSPC || errno == EDQUOT ? ErrorCode::kNoSpace : ErrorCode::kIo,
              EscapeName(path) + ": cannot " + verb + ": " + detail::ErrnoText(errno));
}

/// The shared file, at the byte where a part begins. Whichever part comes first makes the file.
detail::Fd OpenShared(const std::string& path, std::uint64_t at) {
  constexpr int kFlags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  detail::Fd fd(detail::OpenPath(path.c_str(), kFlags));
  if (!fd.open() && errno == ENOENT) {
    fd = detail::Fd(detail::OpenPath(path.c_str(), kFlags | O_CREAT | O_EXCL, 0600));
    if (!fd.open() && errno == EEXIST) fd = detail::Fd(detail::OpenPath(path.c_str(), kFlags));
  }
  if (!fd.open()) PartFailed(path, "open it");
  struct stat facts;
  if (::fstat(fd.get(), &facts) != 0) PartFailed(path, "look at it");
  if (!S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid() || facts.st_nlink != 1 || (facts.st_mode & 077) != 0) {
    throw Error(ErrorCode::kUsage, EscapeName(path) + ": it is no file that only this user can open: remove it");
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
                                       ": give a folder, with a '/' behind its name, or compress it");
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
    const std::uint64_t trailer = cut_.trailer.empty() ? 0 : folder_.ReadRun(run).trailer.size();
    const bool known = begins_[run][0] == begins_[run][1] && ends_[run][0] == ends_[run][1];
    std::vector<Fence> fences;
    if (order_.depends() && !known) fences = ReadFences(files_, folder_, run, folder_.ReadRun(run));
    const std::uint64_t bytes = sizes_[run][0] + trailer + sizeof(RunLabel);
    RunFile file(files_, folder_, run, starts_[run][0], trailer, bytes, order_, fences);
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

/// In front of what a part has of a run. A run behind that of the part's place has nothing in front of it but what the
/// part has not; one in front of that has rows of the same block at most.
std::string StateInFront(JobFolder& folder, const TaskCut& cut, std::uint64_t part, std::uint64_t run) {
  if (part == 0 || run > cut.places[part - 1].run) return folder.ReadRun(run).state;
  return cut.places[part - 1].state;
}

/// Whether the output's trailer is the part's: there are no records behind it, but behind the one in front of it.
bool HasTrailer(const TaskCut& cut, std::uint64_t part) {
  const auto is_end = [&](std::uint64_t border) {
    return border + 1 == cut.parts || cut.places[border].run >= cut.runs;
  };
  return is_end(part) && (part == 0 || !is_end(part - 1));
}

/// When the file was made, in ns; 0 where the file system does not say.
std::uint64_t BirthOf(const std::string& path) {
  struct statx facts;
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_BTIME, &facts) != 0 || (facts.stx_mask & STATX_BTIME) == 0) return 0;
  return static_cast<std::uint64_t>(facts.stx_btime.tv_sec) * 1'000'000'000 + facts.stx_btime.tv_nsec;
}

/// Whether the part's file is the one that was written. A file made later may have the inode number of a removed one.
bool IsThere(FileSystem& files, const TaskPart& part, const std::string& path) {
  const std::optional<FileFacts> facts = files.Identify(path);
  if (!facts || facts->ino != part.inode || facts->size < part.offset + part.bytes) return false;
  const std::uint64_t birth = BirthOf(path);
  return birth == 0 || part.birth_ns == 0 || birth == part.birth_ns;
}

/// Where parts of an output lie until it is proved: compressed ones, whose sizes nobody knows before, in files that the
/// proof joins.
class PartPlaces {
 public:
  PartPlaces(FileSystem& files, const JobSpec& spec, const std::string& output, const TaskCut& cut)
      : output_(output),
        codec_(spec.target.codec),
        whole_(IsFolderName(output) ? nullptr : OpenOutput(files, spec, output)) {
    if (whole_) hidden_ = whole_->directory() + "/" + HiddenName(cut, *whole_);
  }

  /// The output is a folder.
  bool apart() const { return !whole_; }
  bool joins() const { return whole_ && codec_ != Codec::kNone; }
  /// Parts are files of their own.
  bool own_files() const { return apart() || joins(); }
  /// Of own files.
  std::string folder() const { return apart() ? output_ : hidden_ + "/"; }
  std::string PathOf(std::uint64_t part, std::uint64_t parts) const {
    if (!own_files()) return hidden_;
    return folder() + PartFileName(part, parts) + (codec_ == Codec::kNone ? "" : "." + std::string(CodecName(codec_)));
  }
  /// Null of a folder.
  OutputFile* whole() const { return whole_.get(); }
  /// Its name in the output's folder.
  std::string hidden_name() const { return hidden_.substr(hidden_.rfind('/') + 1); }

 private:
  const std::string output_;
  const Codec codec_;
  const std::unique_ptr<OutputFile> whole_;
  std::string hidden_;
};

/// For files of parts. What is hidden is nobody else's to see.
void MakePartFolder(const PartPlaces& places) {
  const std::string folder = WithoutSlashes(places.folder());
  if (::mkdir(folder.c_str(), places.apart() ? 0755 : 0700) != 0 && errno != EEXIST) PartFailed(folder, "make it");
  OpenOwnFolder("", folder);
}

/// A part's own file.
std::unique_ptr<OutputFile> CreatePart(FileSystem& files, const PartPlaces& places, const JobSpec& spec,
                                       const std::string& path) {
  if (!places.apart()) return CreateOwn(files, path);
  RequireOwnFile(path, true);
  return files.CreateOutput(path, false, spec.target.no_clobber ? OldFile::kKeep : OldFile::kReplaceOrRewrite);
}

std::vector<std::byte> Compressed(Codec codec, std::span<const std::byte> bytes) {
  std::vector<std::byte> out;
  Encoder encoder(codec, {}, [&](std::span<const std::byte> more) { out.insert(out.end(), more.begin(), more.end()); });
  encoder.Write(bytes);
  encoder.Finish();
  return out;
}

/// Whether the proof has joined the parts: the first then says that it is in the output.
bool IsJoined(FileSystem& files, const PartPlaces& places, JobFolder& folder, const std::string& output,
              std::uint64_t parts) {
  if (!places.joins()) return false;
  const std::optional<TaskPart> first = folder.FindPart(0, parts);
  return first && IsThere(files, *first, output);
}

[[noreturn]] void Damaged(const std::string& path, const std::string& what, const JobFolder& folder) {
  throw Error(ErrorCode::kIntegrity, EscapeName(path) + ": " + what + ": remove the part's .json in " +
                                         EscapeName(folder.path()) + " and give its task again");
}

/// Reads all parts on all cores, and compares each piece with the checksum of what was written.
void ReadParts(FileSystem& files, const PartPlaces& places, const std::vector<TaskPart>& parts, const JobFolder& folder,
               unsigned threads, const CancelFlag& cancel) {
  struct At {
    std::uint64_t part, piece;
  };
  std::vector<At> pieces;
  for (std::uint64_t part = 0; part < parts.size(); ++part) {
    std::uint64_t end = 0;
    for (std::uint64_t i = 0; i < parts[part].pieces.size(); ++i) {
      const PieceSum& piece = parts[part].pieces[i];
      if (piece.offset <= end) end = std::max(end, piece.offset + piece.bytes);
      pieces.push_back({part, i});
    }
    if (end != parts[part].bytes) Damaged(places.PathOf(part, parts.size()), "not all of it has a checksum", folder);
  }
  std::atomic<std::uint64_t> next = 0;
  const auto read = [&] {
    std::unique_ptr<File> file;
    std::uint64_t open = parts.size();
    std::vector<std::byte> bytes;
    for (std::uint64_t at; (at = next++) < pieces.size();) {
      cancel.ThrowIfRequested();
      const TaskPart& part = parts[pieces[at].part];
      const PieceSum& piece = part.pieces[pieces[at].piece];
      const std::string path = places.PathOf(pieces[at].part, parts.size());
      if (open != pieces[at].part) {
        RequireOwnFile(path, places.apart());
        file = files.OpenInput(path, false);
        open = pieces[at].part;
      }
      bytes.resize(piece.bytes);
      const std::uint64_t begin = part.offset + piece.offset;
      if (file->ReadAt(begin, bytes) == piece.bytes && HashOfPiece(bytes) == piece.hash) continue;
      next = pieces.size();
      Damaged(path, "bytes " + std::to_string(begin) + " to " + std::to_string(begin + piece.bytes) + ", of part " +
                        std::to_string(open) + ", are not what was written", folder);
    }
  };
  std::vector<std::future<void>> beside;
  while (beside.size() + 1 < std::min<std::uint64_t>(threads, pieces.size())) beside.push_back(RunBeside(read));
  read();
  for (std::future<void>& thread : beside) thread.get();
}

/// Puts the parts one behind the other; returns their bytes.
std::uint64_t JoinParts(FileSystem& files, const PartPlaces& places, const std::vector<TaskPart>& parts) {
  constexpr std::uint64_t kPiece = std::uint64_t{8} << 20;
  OutputFile& whole = *places.whole();
  std::uint64_t bytes = 0;
  for (const TaskPart& part : parts) bytes += part.bytes;
  whole.Allocate(bytes);
  std::uint64_t end = 0;
  for (std::uint64_t number = 0; number < parts.size(); ++number) {
    const std::unique_ptr<File> file = files.OpenInput(places.PathOf(number, parts.size()), false);
    for (std::uint64_t at = 0; at < parts[number].bytes; at += kPiece) {
      const std::vector<std::byte> piece = ReadBytes(*file, at, std::min(parts[number].bytes, at + kPiece));
      whole.WriteAt(end, piece);
      end += piece.size();
    }
  }
  return end;
}

}  // namespace

std::vector<std::uint64_t> PartBorders(const JobSpec& spec, std::uint64_t parts, std::uint64_t run,
                                       const std::string& folder) {
  FileSystem files;
  TaskOrder order(spec);
  JobFolder job(files, folder);
  const TaskCut cut = job.ReadCut(parts);
  order.ReadHeader(cut.header);
  if (run >= cut.runs) {
    throw Error(ErrorCode::kUsage, "run " + std::to_string(run) + ": there are " + std::to_string(cut.runs));
  }
  const TaskRun facts = job.ReadRun(run);
  const std::vector<Fence> fences = ReadFences(files, job, run, facts);
  RunFile file(files, job, run, facts.header.size(), facts.trailer.size(), facts.bytes, order, fences);
  std::vector<std::uint64_t> borders{file.begin()};
  for (const CutPlace& place : cut.places) {
    borders.push_back(place.run >= cut.runs ? file.end() : file.Find(place, run, spec.order.unique));
  }
  borders.push_back(file.end());
  return borders;
}

std::optional<SortResult> MergePart(const JobSpec& spec, TaskNumber part, const std::string& folder,
                                    const std::string& output, const PartPieces& pieces, CancelFlag& cancel,
                                    JobRecord& record) {
  FileSystem files;
  TaskOrder order(spec);
  JobFolder there(files, folder);
  const TaskCut cut = there.ReadCut(part.count);
  order.ReadHeader(cut.header);
  const PartPlaces places(files, spec, output, cut);
  const std::string path = places.PathOf(part.number, part.count);
  TaskPart made;
  if (!places.own_files()) made.offset = pieces.offset ? *pieces.offset : PlaceInOutput(cut, part.number);
  if (const std::optional<TaskPart> found = there.FindPart(part.number, part.count)) {
    // Proved already, it has the output's name: a hidden file anew would stay.
    const bool proved = places.joins() ? IsJoined(files, places, there, output, part.count)
                                       : !places.apart() && IsThere(files, *found, output);
    if (found->offset == made.offset && (proved || IsThere(files, *found, path))) {
      LogInfo("part " + std::to_string(part.number) + " is there already");
      return std::nullopt;
    }
  }
  if (!places.apart() && spec.target.verify) {
    throw Error(ErrorCode::kUsage, "--verify-output reads files of parts back: give a folder, with a '/' behind its name");
  }
  if (!pieces.folder.empty()) OpenOwnFolder("--pieces ", pieces.folder);
  JobSpec job = spec;
  if (job.limits.temp_dirs.empty()) job.limits.temp_dirs = {pieces.folder.empty() ? folder : pieces.folder};
  job.source.inputs.clear();
  job.source.codec = Codec::kNone;
  job.source.force_format = true;  // the kinds of the inputs were checked, and the order of a run's records is another
  job.order.merge = true;
  std::vector<ByteRange> ranges;
  if (pieces.folder.empty()) ranges = PartRanges(files, there, cut, part.number, spec.order.unique, order).All();
  std::uint64_t bytes = 0;
  for (std::uint64_t run = 0; run < cut.runs; ++run) {
    std::string input = there.RunPath(run);
    ByteRange range;
    if (pieces.folder.empty()) {
      range = ranges[run];
    } else {
      input = pieces.folder + input.substr(input.rfind('/'));
      RequireOwnFile(input);
      const std::uint64_t begin = there.ReadRun(run).header.size();
      const std::optional<FileFacts> piece = files.Identify(input);
      range = {begin, piece ? piece->size : begin};
    }
    if (range.begin == range.end) continue;
    range.inside = true;
    if (order.depends()) range.state = StateInFront(there, cut, part.number, run);
    bytes += range.end - range.begin;
    job.source.inputs.push_back(std::move(input));
    job.source.ranges.push_back(range);
  }
  if (part.number > 0) job.target.state = cut.places[part.number - 1].state;  // its first record is that one
  job.target.headless = !places.apart() && part.number > 0;
  if (places.apart() || HasTrailer(cut, part.number)) job.target.trailer = cut.trailer;
  std::vector<std::byte> around;  // the records: all that a part without any has
  if (!job.target.headless) around = cut.header;
  around.insert(around.end(), job.target.trailer.begin(), job.target.trailer.end());
  SortResult result;
  PieceSums sums;
  if (places.own_files()) {
    MakePartFolder(places);
    std::unique_ptr<OutputFile> file = CreatePart(files, places, spec, path);
    file->SumPieces(&sums);
    if (job.source.inputs.empty()) {
      if (job.target.codec != Codec::kNone) around = Compressed(job.target.codec, around);
      WriteWhole(std::move(file), around);
      result.bytes = around.size();
    } else {
      job.target.output = path;
      if (!spec.target.no_fsync) file->WriteBackEarly();
      result = ExternalSort(job, cancel, files, Output(std::move(file)), {}, {}, &record);
    }
    made.inode = files.Identify(path)->ino;
  } else {
    const detail::Fd shared = OpenShared(path, made.offset);
    auto writer = std::make_unique<PipeWriter>(shared.get(), path, cancel);
    writer->SumPieces(&sums);
    if (job.source.inputs.empty()) {
      writer->WriteAll(around);
      result.bytes = around.size();
    } else {
      job.target.output = "/dev/fd/" + std::to_string(shared.get());
      result = ExternalSort(job, cancel, files, Output(std::move(writer)), {}, {}, &record);
    }
    if (!spec.target.no_fsync && ::fsync(shared.get()) != 0) PartFailed(path, "sync it");
    made.inode = FactsOf(shared.get()).ino;
    bytes += around.size();
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
  there.Write(part.number, part.count, made);
  return result;
}

void ProveParts(const JobSpec& spec, std::uint64_t parts, const std::string& folder, const std::string& output,
                bool trust, const CancelFlag& cancel) {
  FileSystem files;
  TaskOrder order(spec);
  JobFolder there(files, folder);
  const TaskCut cut = there.ReadCut(parts);
  order.ReadHeader(cut.header);
  const PartPlaces places(files, spec, output, cut);
  std::error_code left;  // of what the output does not need any more
  if (IsJoined(files, places, there, output, parts)) {
    std::filesystem::remove_all(places.folder(), left);
    LogInfo("it is proved already");
    return;
  }
  if (places.own_files()) OpenOwnFolder("", places.folder());
  RecordSum read, merged, made;
  for (std::uint64_t run = 0; run < cut.runs; ++run) read += there.ReadRun(run).sum;
  std::uint64_t end = 0;
  std::vector<std::byte> last;
  std::vector<TaskPart> all;
  for (std::uint64_t number = 0; number < parts; ++number) {
    const TaskPart& part = all.emplace_back(there.ReadPart(number, parts));
    const std::string name = "part " + std::to_string(number);
    const std::string path = places.PathOf(number, parts);
    if (!places.apart() && files.Identify(output) && !files.Identify(path)) {
      throw Error(ErrorCode::kUsage, EscapeName(output) + " is there, and what tasks write in its place is not: " +
                                         "it may be proved already");
    }
    if (!places.own_files() && part.bytes == 0) continue;
    if (!IsThere(files, part, path)) {
      throw Error(ErrorCode::kIntegrity, EscapeName(path) + ": " + name + " was written, and is not there: remove " +
                                             "its .json in " + EscapeName(folder) + " and give its task again");
    }
    if (!places.own_files() && part.offset != end) {
      throw WrongResult(name + " does not begin where the one in front of it ends");
    }
    if (const std::uint64_t size = files.Identify(path)->size; places.own_files() && size != part.bytes) {
      Damaged(path, "it has " + std::to_string(size) + " bytes, and was written with " + std::to_string(part.bytes),
              there);
    }
    end = part.offset + part.bytes;
    made += part.sum;
    merged += part.read;
    if (part.first.empty()) continue;
    const int compared = last.empty() ? -1 : order.Compare(last, part.first);
    if (compared > 0 || (compared == 0 && spec.order.unique)) {
      throw WrongResult(name + " begins with a record that orders before the last one in front of it");
    }
    last = part.last;
  }
  if (spec.order.top == 0 && (!(read == merged) || (!spec.order.unique && !(read == made)))) {
    throw WrongResult("records were lost, doubled or changed: the runs have " + std::to_string(read.records) +
                      ", the parts were merged from " + std::to_string(merged.records) + " and have " +
                      std::to_string(made.records));
  }
  if (spec.order.top > 0 && made.records > spec.order.top)
    throw WrongResult("there are more records than --top asks for");
  if (const auto facts = places.own_files() ? std::nullopt : files.Identify(places.PathOf(0, parts));
      facts && facts->size != end) {
    // No task makes the file shorter.
    throw Error(ErrorCode::kIntegrity,
                EscapeName(places.PathOf(0, parts)) + ": it has " + std::to_string(facts->size) +
                    " bytes, and was written with " + std::to_string(end) +
                    ": remove it and the .json of all parts in " + EscapeName(there.path()) +
                    ", and give the tasks of all parts again");
  }
  if (!trust) {
    ReadParts(files, places, all, there, spec.limits.threads > 0 ? spec.limits.threads : FindCores().cores, cancel);
  }
  if (OutputFile* const whole = places.whole()) {
    if (places.joins()) {
      end = JoinParts(files, places, all);
    } else {
      if (!whole->TakeUp(places.hidden_name(), end)) throw WrongResult("the parts are shorter than they were written");
      whole->Keep(end);
    }
    whole->Publish(end, !spec.target.no_fsync);
    if (places.joins()) {
      all[0].inode = whole->Facts().ino;  // for IsJoined
      all[0].birth_ns = BirthOf(output);
      there.Write(0, parts, all[0]);
      std::filesystem::remove_all(places.folder(), left);
    }
  }
  LogInfo("proved: " + std::to_string(made.records) + " records in " + std::to_string(parts) + " parts");
}

}  // namespace gpusort

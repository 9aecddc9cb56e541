#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/log.hpp"
#include "base/own_folder.hpp"
#include "formats/registry.hpp"
#include "job/open_job.hpp"
#include "job/sort_job.hpp"
#include "kernels/error.hpp"
#include "kernels/thread.hpp"
#include "task/part_files.hpp"
#include "task/run_file.hpp"
#include "task/tasks.hpp"

namespace gpusort {
namespace {

[[noreturn]] void Damaged(const std::string& path, const std::string& what, const JobFolder& folder) {
  throw Error(ErrorCode::kIntegrity, EscapeName(path) + ": " + what + ": remove the part's .json in " +
                                         EscapeName(folder.path()) + " and give its task again");
}

/// Reads all parts on all cores, and compares each piece with the checksum of the bytes that were written.
void ReadParts(FileSystem& files, const PartFiles& part_files, const std::vector<TaskPart>& parts,
               const JobFolder& folder, unsigned threads, const CancelFlag& cancel) {
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
    if (end != parts[part].bytes) Damaged(part_files.PathOf(part), "not all of it has a checksum", folder);
  }
  std::atomic<std::uint64_t> next = 0;
  RunTogether(std::min<std::uint64_t>(threads, pieces.size()), [&] {
    std::unique_ptr<File> file;
    std::uint64_t open = parts.size();
    std::vector<std::byte> bytes;
    for (std::uint64_t at; (at = next++) < pieces.size();) {
      cancel.ThrowIfRequested();
      const TaskPart& part = parts[pieces[at].part];
      const PieceSum& piece = part.pieces[pieces[at].piece];
      const std::string path = part_files.PathOf(pieces[at].part);
      if (open != pieces[at].part) {
        RequireOwnFile(path, part_files.apart());
        file = files.OpenInput(path, false);
        open = pieces[at].part;
      }
      bytes.resize(piece.bytes);
      const std::uint64_t begin = part.offset + piece.offset;
      if (file->ReadAt(begin, bytes) == piece.bytes && HashOfPiece(bytes) == piece.hash) continue;
      next = pieces.size();
      Damaged(path,
              "bytes " + std::to_string(begin) + " to " + std::to_string(begin + piece.bytes) + ", of part " +
                  std::to_string(open) + ", are not what was written",
              folder);
    }
  });
}

/// Reads all runs again. Throws Error(kIntegrity) if the records of a run are not those that its task has sorted. Does
/// nothing for dumps, whose runs have texts for several parts.
void FindChangedRun(OpenCut& open, CancelFlag& cancel) {
  if (open.runs.source.keyed && !open.runs.source.table) return;
  const QuietLog quiet;
  for (std::uint64_t run = 0; run < open.cut.runs; ++run) {
    const TaskRun facts = open.folder.ReadRun(run);
    const std::uint64_t begin = facts.header.size();
    const std::uint64_t end = facts.bytes - facts.trailer.size() - sizeof(RunLabel);
    const std::string path = open.folder.RunPath(run);
    // Machines that share no folder for runs do not have all of them.
    if (begin == end || !open.files.Identify(path)) continue;
    Target target;
    target.output = "/dev/null";
    JobSpec job = SubJob(open.runs, RunSource(open, {path}, {{begin, end, true, facts.state}}), std::move(target));
    job.order.merge = true;
    job.order.minus = job.order.intersect = 0;
    job.order.top = 0;
    job.order.by_count = false;
    if (job.limits.temp_dirs.empty()) job.limits.temp_dirs = {open.folder.path()};
    Output none = Output::Open(open.files, job, cancel);
    bool same = false;
    try {
      same = SortJob(job, cancel, open.files, std::move(none), {}, {}, nullptr).read == facts.sum;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
    }
    if (same) continue;
    throw Error(ErrorCode::kIntegrity,
                EscapeName(path) +
                    ": it was changed after its task had written it: remove it, its .json and the .json " +
                    "of all parts, and give the tasks of the run and of all parts again");
  }
}

/// Writes the parts one after the other to the output. Returns their total size in bytes.
std::uint64_t JoinParts(FileSystem& files, const PartFiles& part_files, const std::vector<TaskPart>& parts) {
  constexpr std::uint64_t kPiece = std::uint64_t{8} << 20;
  OutputFile& whole = *part_files.whole();
  std::uint64_t bytes = 0;
  for (const TaskPart& part : parts) bytes += part.bytes;
  whole.Allocate(bytes);
  std::uint64_t end = 0;
  for (std::uint64_t number = 0; number < parts.size(); ++number) {
    const std::unique_ptr<File> file = files.OpenInput(part_files.PathOf(number), false);
    for (std::uint64_t at = 0; at < parts[number].bytes; at += kPiece) {
      const std::vector<std::byte> piece = ReadBytes(*file, at, std::min(parts[number].bytes, at + kPiece));
      whole.WriteAt(end, piece);
      end += piece.size();
    }
  }
  return end;
}

}  // namespace

void ProveParts(const JobSpec& spec, std::uint64_t parts, const std::string& folder, const std::string& output,
                bool trust, CancelFlag& cancel) {
  OpenCut open(spec, folder, parts);
  FileSystem& files = open.files;
  JobFolder& there = open.folder;
  const PartFiles part_files(files, spec, output, open.cut);
  std::error_code ignored;  // hidden files that cannot be removed do no harm: the output does not need them any more
  if (part_files.IsJoined(there)) {
    std::filesystem::remove_all(part_files.folder(), ignored);
    LogInfo("it is proved already");
    return;
  }
  if (part_files.IsRenamed(there)) {
    // The process that renamed the output may have been killed before the sync of the folder.
    if (!spec.target.no_fsync) files.SyncDirectory(part_files.whole()->directory());
    LogInfo("it is proved already");
    return;
  }
  if (part_files.own_files()) OpenOwnFolder("", part_files.folder());
  RecordSum read, merged, made;
  for (std::uint64_t run = 0; run < open.cut.runs; ++run) read += there.ReadRun(run).sum;
  const bool dump = IsDump(spec);
  std::uint64_t end = 0, dump_end = open.cut.header.size();
  std::vector<std::byte> last;
  std::optional<DumpBefore> before;  // what comes before the part, without its bytes
  std::vector<TaskPart> all;
  for (std::uint64_t number = 0; number < parts; ++number) {
    const TaskPart& part = all.emplace_back(there.ReadPart(number, parts));
    const std::string name = "part " + std::to_string(number);
    const std::string path = part_files.PathOf(number);
    made += part.sum;
    merged += part.read;
    if (!part.first.empty()) {
      const int compared = last.empty() ? -1 : open.order.Compare(last, part.first);
      if (compared > 0 || (compared == 0 && KeepsGroups(spec))) {
        throw WrongResult(name + " begins with a record that sorts before the last record of the part before it");
      }
      last = part.last;
    }
    const auto require_begin = [&](bool begins_there) {
      if (!begins_there) throw WrongResult(name + " does not begin where the part before it ends");
    };
    // A task that was given a wrong beginning puts texts between rows at wrong places. Wrong numbers of rows and
    // separators can cancel each other out in the number of bytes.
    if (before && part.before) {
      before->bytes = part.before->bytes;
      require_begin(*before == *part.before);
    }
    before = part.after;
    if (dump && part.read.records > 0) {
      require_begin(part.dump_begin == std::exchange(dump_end, part.dump_end));
    }
    // A part of a dump can have records that put no bytes into it: texts whose places are in other parts.
    if (!part_files.own_files() && part.bytes == 0) continue;
    if (!part_files.IsThere(part, path)) {
      throw Error(ErrorCode::kIntegrity, EscapeName(path) + ": " + name + " was written, and is not there: remove " +
                                             "its .json in " + EscapeName(folder) + " and give its task again");
    }
    if (!part_files.own_files()) require_begin(part.offset == end);
    if (const std::uint64_t size = files.Identify(path)->size; part_files.own_files() && size != part.bytes) {
      Damaged(path, "it has " + std::to_string(size) + " bytes, and was written with " + std::to_string(part.bytes),
              there);
    }
    end = part.offset + part.bytes;
  }
  // With --top, a part can end before it has read all records.
  const bool reads_all = spec.order.top == 0 || spec.order.by_count || merged.records == read.records;
  if (reads_all && (!(read == merged) || (spec.order.top == 0 && !KeepsGroups(spec) && !(read == made)))) {
    FindChangedRun(open, cancel);
    throw WrongResult("records were lost, doubled or changed: the runs have " + std::to_string(read.records) +
                      ", the parts were merged from " + std::to_string(merged.records) + " and have " +
                      std::to_string(made.records) + ": remove the .json of all parts in " + EscapeName(there.path()) +
                      ", and give the tasks of all parts again");
  }
  if (spec.order.top > 0 && made.records > spec.order.top)
    throw WrongResult("there are more records than --top asks for");
  if (const auto facts = part_files.own_files() ? std::nullopt : files.Identify(part_files.PathOf(0));
      facts && facts->size != end) {
    // No task makes the file shorter.
    throw Error(ErrorCode::kIntegrity, EscapeName(part_files.PathOf(0)) + ": it has " + std::to_string(facts->size) +
                                           " bytes, and was written with " + std::to_string(end) +
                                           ": remove it and the .json of all parts in " + EscapeName(there.path()) +
                                           ", and give the tasks of all parts again");
  }
  if (!trust) {
    ReadParts(files, part_files, all, there, CoresFor(spec.limits).cores, cancel);
  }
  if (OutputFile* const whole = part_files.whole()) {
    if (part_files.joins()) {
      end = JoinParts(files, part_files, all);
    } else {
      if (!whole->TakeUp(part_files.hidden_name(), end))
        throw WrongResult("the parts are shorter than they were written");
      whole->Keep(end);
    }
    whole->Publish(end, !spec.target.no_fsync);
    if (part_files.joins()) {
      all[0].inode = whole->Facts().ino;  // read by IsJoined
      all[0].birth_ns = BirthOf(output);
      there.Write(0, parts, all[0]);
      std::filesystem::remove_all(part_files.folder(), ignored);
    }
  }
  LogInfo("proved: " + std::to_string(made.records) + " records in " + std::to_string(parts) + " parts");
}

}  // namespace gpusort
